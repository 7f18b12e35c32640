"""Each peer in a process of its own, so that nothing one does warms or slows another; they take turns."""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from benchmarks.peers import PEERS, Memlab, Peer
from benchmarks.workload import Workload, questions


class Bench:
    """A peer and the stopwatch, in the peer's process. Times are seconds, sizes bytes."""

    def __init__(self, name: str, folder: Path) -> None:
        self.peer: Peer = PEERS[name](folder)
        self.peer.prepare()
        self.questions = questions()
        self.asked = 0

    def fill(self, work: Workload) -> float:
        """Write the workload; how long it took."""
        work.vectors  # noqa: B018 - embedding is not what is measured here
        started = time.perf_counter()
        self.peer.fill(work)
        return time.perf_counter() - started

    def first(self) -> tuple[float, int]:
        """Open and ask the first question: how long it took, and by how much the process has grown."""
        before = psutil.Process().memory_info().rss
        started = time.perf_counter()
        self.peer.open()
        self._ask()
        taken = time.perf_counter() - started
        return taken, psutil.Process().memory_info().rss - before

    def warm(self, budget: float, most: int) -> list[float]:
        """The time of each of up to `most` questions, at least one, until `budget` seconds have gone."""
        times: list[float] = []
        end = time.perf_counter() + budget
        while not times or (len(times) < most and time.perf_counter() < end):
            started = time.perf_counter()
            self._ask()
            times.append(time.perf_counter() - started)
        return times

    def amended(self, rounds: int) -> tuple[list[float], list[float]]:
        """The times of the question that follows a write, and of the one after it."""
        if not isinstance(self.peer, Memlab):
            raise TypeError(f"peer={self.peer.name!r} is not measured so; ask memlab")
        after, warm = [], []
        for number in range(rounds):
            self.peer.write(number)
            after += self.warm(0, 1)
            warm += self.warm(0, 1)
        return after, warm

    def learn(self, numbers: range) -> float:
        """Messages learned per second in these conversations."""
        started = time.perf_counter()
        messages = sum(self.peer.learn(number) for number in numbers)
        return messages / (time.perf_counter() - started)

    def open(self) -> None:
        """Open an empty peer."""
        self.peer.open()

    def close(self) -> None:
        """Close the peer."""
        self.peer.close()

    def _ask(self) -> None:
        text, vector = self.questions[self.asked % len(self.questions)]
        self.asked += 1
        self.peer.recall(text, vector)


class Remote:
    """A `Bench` in a process of its own: `ask("warm", 0.1, 20)` calls its method and waits for the answer.

    Raises what the method raised, as RuntimeError with its text.
    """

    def __init__(self, name: str, folder: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.name = name
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, name, folder), daemon=True)
        self._process.start()
        theirs.close()
        self._take()

    def ask(self, method: str, *arguments: Any) -> Any:
        """What the method of the other process's `Bench` gave back."""
        self._ours.send((method, arguments))
        return self._take()

    def stop(self) -> None:
        """Close the peer and end its process."""
        self.ask("close")
        self.end()

    def end(self) -> None:
        """End the process of a peer that is closed."""
        self._ours.send(None)
        self._process.join()

    def _take(self) -> Any:
        try:
            failed, answer = self._ours.recv()
        except EOFError:
            raise RuntimeError(f"{self.name}: its process ended; see what it printed above") from None
        if failed:
            raise RuntimeError(f"{self.name}: {answer}")
        return answer


def _serve(connection: Connection, name: str, folder: Path) -> None:
    bench = Bench(name, folder)
    connection.send((False, None))
    while (request := connection.recv()) is not None:
        method, arguments = request
        try:
            connection.send((False, getattr(bench, method)(*arguments)))
        except Exception as error:  # it is raised again in the process that asked
            connection.send((True, f"{type(error).__name__}: {error}"))
