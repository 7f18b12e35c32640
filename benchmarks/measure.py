"""The measurements. Peers take turns in every round, so that a busy moment of the machine hits all alike."""

from __future__ import annotations

import cProfile
import pstats
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import embedding
from benchmarks.peers import PEERS, bytes_in
from benchmarks.remote import Remote
from benchmarks.workload import Workload
from memlab.embedding import hash_embed

ROOT = Path(__file__).resolve().parent.parent

Figures = dict[str, Any]
Case = tuple[str, Workload]
"""A peer's name, and what it is filled with."""


@dataclass(frozen=True)
class Plan:
    """How much is measured. sizes: for each number of memories of one user, the peers that take part.

    crowd: how many users share a file, and how many memories each has. budget: seconds a peer's turn lasts.
    """

    sizes: dict[int, tuple[str, ...]]
    crowd: tuple[int, int]
    crowd_peers: tuple[str, ...]
    amended: int
    learners: tuple[str, ...]
    firsts: int = 3
    rounds: int = 8
    budget: float = 0.2
    conversations: int = 20
    passes: int = 7


EXACT = ("bare numpy", "memlab", "sqlite-vec", "Chroma")
MEM0 = ("mem0 on Chroma", "mem0 on Qdrant")
LEARNERS = ("memlab", "memlab, loopback model", *MEM0)

FULL = Plan(
    sizes={
        1_000: (*EXACT, "published scan", *MEM0),
        5_000: (*EXACT, "published scan"),  # filling mem0, one request a memory, would take minutes
        20_000: (*EXACT, "published scan"),
        100_000: EXACT,
    },
    crowd=(1_000, 200),
    crowd_peers=EXACT[1:],
    amended=20_000,
    learners=LEARNERS,
)
QUICK = Plan(
    sizes={1_000: EXACT, 5_000: (*EXACT, "published scan"), 20_000: ("bare numpy", "memlab", "Chroma")},
    crowd=(50, 200),
    crowd_peers=("memlab",),
    amended=5_000,
    learners=LEARNERS[:3],
    firsts=2,
    rounds=5,
    budget=0.1,
    conversations=10,
    passes=5,
)


def summary(values: Sequence[float]) -> Figures:
    """Median and spread: how many values there are, the quartiles, and the 95th percentile.

    Example:
    >>> summary([3.0, 1.0, 2.0])["p50"]
    2.0
    """
    cuts = statistics.quantiles(values, n=20, method="inclusive") if len(values) > 1 else [values[0]] * 19
    return {"n": len(values), "p25": cuts[4], "p50": cuts[9], "p75": cuts[14], "p95": cuts[18]}


def say(text: str) -> None:
    """Tell whoever waits what is being done."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def _folders(cases: Sequence[Case]) -> Iterator[list[Path]]:
    with TemporaryDirectory(prefix="memlab-bench-") as top:
        folders = [Path(top) / str(place) for place in range(len(cases))]
        for folder in folders:
            folder.mkdir()
        yield folders


def recalls(cases: Sequence[Case], plan: Plan) -> list[Figures]:
    """Latency, size and memory of each case: filled, opened by fresh processes, then asked, all in turn."""
    with _folders(cases) as folders:
        with ThreadPoolExecutor(2) as pool:
            fills = list(pool.map(_fill, cases, folders))
        firsts: list[list[tuple[float, int]]] = [[] for _ in cases]
        for _ in range(plan.firsts - 1):
            for place, remote in enumerate(_opened(cases, folders, firsts)):
                remote.stop()
                say(f"    opened {cases[place][0]}")
        remotes = list(_opened(cases, folders, firsts))
        warm: list[list[float]] = [[] for _ in cases]
        for turn in range(-1, plan.rounds):  # the round before the first only warms up
            for place, remote in enumerate(remotes):
                times = remote.ask("warm", plan.budget, 25)
                warm[place] += times if turn >= 0 else []
        for remote in remotes:
            remote.stop()
        return [
            {
                "peer": peer, "users": work.users, "memories": work.each,
                "first": summary([seconds for seconds, _ in firsts[place]]),
                "warm": summary(warm[place]),
                "grown": summary([float(grown) for _, grown in firsts[place]]),
                "bytes": bytes_in(folders[place]) / len(work), "fill": fills[place],
            }
            for place, (peer, work) in enumerate(cases)
        ]  # fmt: skip


def _fill(case: Case, folder: Path) -> float:
    peer, work = case
    remote = Remote(peer, folder)
    taken: float = remote.ask("fill", work)
    remote.end()
    say(f"    filled {peer}: {len(work):,} memories in {taken:.0f} s")
    return taken


def _opened(
    cases: Sequence[Case], folders: Sequence[Path], firsts: list[list[tuple[float, int]]]
) -> Iterator[Remote]:
    for (peer, _), folder, times in zip(cases, folders, firsts, strict=True):
        remote = Remote(peer, folder)
        times.append(remote.ask("first"))
        yield remote


def by_size(plan: Plan) -> list[Figures]:
    """`recalls` of one user, size by size."""
    found = []
    for size, peers in plan.sizes.items():
        say(f"  {size:,} memories of one user")
        found += recalls([(peer, Workload(size)) for peer in peers], plan)
    return found


def in_a_crowd(plan: Plan) -> list[Figures]:
    """`recalls` of one user among many in one file, and of memlab's with that user alone."""
    users, each = plan.crowd
    say(f"  {users:,} users with {each:,} memories each")
    alone = [("memlab", Workload(each))]
    return recalls(alone + [(peer, Workload(each, users)) for peer in plan.crowd_peers], plan)


def amended(plan: Plan) -> Figures:
    """The recall after one write, and the one after that."""
    say(f"  one write between two recalls, {plan.amended:,} memories")
    with _folders([("memlab", Workload(0))]) as (folder,):
        _fill(("memlab", Workload(plan.amended)), folder)
        remote = Remote("memlab", folder)
        remote.ask("first")
        after, warm = remote.ask("amended", 20 * plan.rounds)
        remote.stop()
    return {"memories": plan.amended, "after": summary(after), "warm": summary(warm)}


def learning(plan: Plan) -> list[Figures]:
    """Messages per second of each learner, on the same conversations, through to the commit."""
    say("  learning")
    with _folders([(peer, Workload(0)) for peer in plan.learners]) as folders:
        remotes = [Remote(peer, folder) for peer, folder in zip(plan.learners, folders, strict=True)]
        for remote in remotes:
            remote.ask("open")
        rates: list[list[float]] = [[] for _ in remotes]
        for turn in range(-1, plan.rounds):
            numbers = range((turn + 1) * plan.conversations, (turn + 2) * plan.conversations)
            for place, remote in enumerate(remotes):
                rate = remote.ask("learn", numbers)
                rates[place] += [rate] if turn >= 0 else []
        for remote in remotes:
            remote.stop()
    return [
        {"peer": peer, "messages_per_second": summary(found)}
        for peer, found in zip(plan.learners, rates, strict=True)
    ]


def learning_by_module(plan: Plan) -> dict[str, float]:
    """The share of memlab's time, 0..1, that each module takes while it learns, the largest first.

    What a module spends in C, as in SQLite, counts as its own.
    """
    with _folders([("memlab", Workload(0))]) as (folder,):
        peer = PEERS["memlab"](folder)
        peer.prepare()
        peer.open()
        for number in range(plan.conversations):  # the first compiles what all others use
            peer.learn(number)
        profile = cProfile.Profile(builtins=False)
        profile.enable()
        for number in range(plan.conversations, (1 + plan.rounds) * plan.conversations):
            peer.learn(number)
        profile.disable()
        peer.close()
    spent: Counter[str] = Counter()
    for (file, _, _), (_, _, own, _, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        spent[Path(file).stem] += own
    return {module: own / spent.total() for module, own in spent.most_common(12)}


def embedders(plan: Plan) -> Figures:
    """Seconds a text of the published embedder and of `hash_embed`, and whether all bits agree."""
    texts = embedding.sentences(embedding.TEXTS)
    same = all(embedding.published(text) == hash_embed(text) for text in texts)
    passes = [
        (embedding.microseconds(embedding.published, texts), embedding.microseconds(hash_embed, texts))
        for _ in range(plan.passes)
    ]
    published, ours = ([1e-6 * taken for taken in column] for column in zip(*passes, strict=True))
    return {"published": summary(published), "memlab": summary(ours), "same_bits": same}


def start_up(plan: Plan) -> Figures:
    """Seconds that an import takes in a fresh process."""
    times: dict[str, list[float]] = {"memlab": [], "memlab.store": [], "solutions.memory_system": []}
    for _ in range(plan.passes):
        for module, taken in times.items():
            code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
            run = subprocess.run(
                [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
            )
            taken.append(float(run.stdout))
    return {module: summary(taken) for module, taken in times.items()}


def workbook() -> Figures:
    """Seconds in which all solved notebooks are made and run, two at a time; and those of each."""
    from course.desk import build

    say("  the solved notebooks; this takes minutes")
    names = build.names()
    started = time.perf_counter()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        each = dict(zip(names, pool.map(_run_notebook, names), strict=True))
    return {"seconds": time.perf_counter() - started, "notebooks": each}


def _run_notebook(name: str) -> float:
    from course import lesson
    from course.desk import build

    started = time.perf_counter()
    folder = lesson.ROOT / "notebooks"
    build.execute(build.solve(lesson.read(folder / name), name), name, folder)
    return time.perf_counter() - started
