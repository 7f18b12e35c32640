"""One acceptance suite for a memory system, whoever built it: six abilities, six policies, twelve answers.

It takes a factory, makes itself empty systems, and tries them. It imports no answer and no product.

    python -m course.acceptance mine
"""

from __future__ import annotations

import _thread
import argparse
import html
import importlib
import importlib.util
import re
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, Literal, cast, get_args

from course import abilities, policies
from course.pictures.views import MARK, Rich, Table
from course.trial import Bench, Extractor, Factory, Failed, Unbuilt, sentence
from course.trial import NotOffered as NotOffered
from course.trial import System as System
from course.trial import files_with as files_with
from memlab import clock
from memlab.store import MemoryStore

Status = Literal["pass", "fail", "not offered"]
FROZEN_AT = "2026-08-06T20:11:27Z"


@dataclass(frozen=True)
class Result:
    """One ability of one system: whether it is there, and if not, what happened."""

    ability: str
    status: Status
    reason: str = ""


Row = Callable[[Bench], None]
ROWS: dict[str, Row] = {
    "extract": abilities.try_extract,
    "provenance": abilities.try_provenance,
    "contradiction": abilities.try_contradiction,
    "retrieval": abilities.try_retrieval,
    "injection": abilities.try_injection,
    "revocation": abilities.try_revocation,
    "gate": policies.try_gate,
    "pins": policies.try_pins,
    "slots": policies.try_slots,
    "expiry": policies.try_expiry,
    "erasure": policies.try_erasure,
    "isolation": policies.try_isolation,
}
PATIENCE = 120.0
"""Seconds that one ability may take; a system on mem0 needs about ten."""
ABILITIES = tuple(ROWS)
"""The six abilities of a memory system, then its six policies; the rows of the table."""


@dataclass(frozen=True)
class Report:
    """What one system can do: a Result for each ability. Shows itself as a table."""

    results: tuple[Result, ...]

    @property
    def passed(self) -> bool:
        """True when every ability is there."""
        return all(result.status == "pass" for result in self.results)

    def __getitem__(self, ability: str) -> Result:
        return {result.ability: result for result in self.results}[ability]

    def __repr__(self) -> str:
        return f"{self._table()}\n{self._count()}"

    def _repr_html_(self) -> str:
        return f"{self._table()._repr_html_()}<p>{self._count()}</p>"

    def _table(self) -> Table:
        rows = [(result.ability, _cell(result), result.reason) for result in self.results]
        return Table(["ability", "result", "what happened"], rows)

    def _count(self) -> str:
        counts = Counter(result.status for result in self.results)
        parts = [f"{counts[status]} {status}" for status in get_args(Status) if counts[status]]
        return f"{len(self.results)} abilities: {', '.join(parts)}"


Note = tuple[int, str]
"""A number in the table, and the reason that it stands for."""


@dataclass(frozen=True)
class Comparison:
    """The reports on several systems, by name: as a table in text and HTML, and in Markdown."""

    reports: dict[str, Report]

    def __repr__(self) -> str:
        rows, notes = self._cells(lambda result, number: f"{result.status}{number and f' [{number}]'}")
        return "\n".join([repr(Table(self._head(), rows)), *(f"[{n}] {note}" for n, note in notes)])

    def _repr_html_(self) -> str:
        rows, notes = self._cells(lambda result, number: _cell(result, f"<sup>{number}</sup>"))
        items = "".join(f"<li>{html.escape(note)}</li>" for _, note in notes)
        return f"{Table(self._head(), rows)._repr_html_()}<ol>{items}</ol>"

    def markdown(self) -> str:
        """The table in Markdown, and below it the numbered reasons."""
        rows, notes = self._cells(_markdown_cell)
        lines = [self._head(), ["---"] * len(self._head()), *([str(cell) for cell in row] for row in rows)]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return "\n".join([table, "", *(f"{n}. {_plain_markdown(note)}" for n, note in notes), ""])

    def _head(self) -> list[str]:
        return ["ability", *self.reports]

    def _cells(self, cell: Callable[[Result, str], object]) -> tuple[list[list[object]], list[Note]]:
        """The rows of the table, and the reasons of all that is no pass, numbered from 1."""
        rows: list[list[object]] = []
        notes: list[Note] = []
        for ability in dict.fromkeys(r.ability for report in self.reports.values() for r in report.results):
            row: list[object] = [ability]
            for name, report in self.reports.items():
                if (result := report[ability]).status != "pass":
                    notes.append((len(notes) + 1, f"{name}, {ability}: {result.reason}"))
                row.append(cell(result, "" if result.status == "pass" else str(len(notes))))
            rows.append(row)
        return rows, notes


def accept(factory: Factory) -> Report:
    """Try a system in all its abilities, each on fresh systems from `factory`; never raises on their account.

    The clock stands still meanwhile, and goes on as it was. An ability that takes longer than PATIENCE
    seconds is ended, and fails by name. An interrupt by hand (Ctrl-C, the stop button) is raised.
    """
    return Report(tuple(_tried(factory, ability) for ability in ABILITIES))


def compare(factories: Mapping[str, Factory]) -> Comparison:
    """The same for several systems, by name."""
    return Comparison({name: accept(factory) for name, factory in factories.items()})


def _tried(factory: Factory, ability: str) -> Result:
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, clock.freeze(FROZEN_AT):
        bench = Bench(factory, Path(folder))
        outcome = _outcome(lambda: ROWS[ability](bench), bench.folder)
        closed = _outcome(bench.close, bench.folder)
    status, reason = closed if outcome[0] == "pass" and closed[0] == "fail" else outcome
    return Result(ability, status, reason)


def _outcome(run: Callable[[], None], folder: Path) -> tuple[Status, str]:
    try:
        with _patience():
            run()
    except NotOffered as missing:
        return "not offered", str(missing)
    except (Failed, Unbuilt) as failure:
        return "fail", str(failure)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # such as SystemExit or asyncio's CancelledError; the suite goes on
        return "fail", sentence(error, folder)
    return "pass", ""


@contextmanager
def _patience() -> Iterator[None]:
    """A block that ends with Failed when it takes too long; in the main thread, the only one to interrupt."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    watch = _Watch(PATIENCE)
    watch.start()
    try:
        yield
    except BaseException as error:  # the interrupt itself, or what the system made of it
        if not watch.stop():
            raise
        raise Failed(f"it gave no answer in {PATIENCE:g} s") from error
    if watch.stop():
        raise Failed(f"it gave no answer in {PATIENCE:g} s")


class _Watch(threading.Thread):
    """Interrupts the main thread after `seconds`, and again each second, in case the system swallows that."""

    def __init__(self, seconds: float) -> None:
        super().__init__(daemon=True)
        self.seconds, self.fired = seconds, False
        self._over = threading.Event()
        self._lock = threading.Lock()

    def run(self) -> None:
        wait = self.seconds
        while not self._over.wait(wait):
            with self._lock:
                if self._over.is_set():
                    return
                self.fired, wait = True, 1.0
                if hasattr(signal, "pthread_kill"):  # ends a sleep, too
                    signal.pthread_kill(cast(int, threading.main_thread().ident), signal.SIGINT)
                else:
                    _thread.interrupt_main()

    def stop(self) -> bool:
        """End the watch; whether it had to interrupt."""
        try:
            with self._lock:
                self._over.set()
        except KeyboardInterrupt:  # the last one was still on its way
            self._over.set()
        return self.fired


MARKS = {"pass": "✓", "fail": "✗", "not offered": "–"}


def _cell(result: Result, note: str = "") -> Rich:
    text = f"{MARKS[result.status]} {result.status}"
    style = f' style="{MARK}"' if result.status == "fail" else ""
    return Rich(text, f"<span{style}>{text}</span>{note}")


def _markdown_cell(result: Result, number: str) -> str:
    raised = number.translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"**fail**{raised}" if result.status == "fail" else f"{result.status}{raised}"


def _plain_markdown(text: str) -> str:
    return re.sub(r"([\\*_<>\[\]|])", r"\\\1", text)


# --- in a terminal ----------------------------------------------------------------------------------


def load_factory(path: Path) -> Factory:
    """The factory that a Python file or a package such as mine/ defines: `open_system(folder, extract)`, or a
    class `MemorySystem`, in a package that of its module `memory_system`.

    The class is called as MemorySystem(store), with extract=… when the suite scripts the extractor. Raises
    ValueError for what cannot be imported or defines neither.
    """
    module = _module(path)
    if callable(opening := getattr(module, "open_system", None)):
        return cast(Factory, opening)
    made: Any = getattr(module, "MemorySystem", None)
    if not callable(made):
        raise ValueError(f"{path} defines no MemorySystem; write the class, or open_system(folder, extract)")

    def factory(folder: Path, extract: Extractor | None) -> System:
        options = {} if extract is None else {"extract": extract}
        return cast(System, made(MemoryStore(folder / "memory.db"), **options))

    return factory


def _module(path: Path) -> ModuleType:
    """The module to try, imported. Raises ValueError."""
    path = path.resolve()
    package = path.is_dir() and (path / "memory_system.py").is_file()
    if not package and not (path.is_file() and path.suffix == ".py"):
        raise ValueError(f"{path} is no Python file, and no package with a memory_system.py; pass e.g. mine")
    try:
        if package:
            sys.path.insert(0, str(path.parent))
            return importlib.import_module(f"{path.name}.memory_system")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
        return module
    except (Exception, SystemExit) as error:
        why = sentence(error, path.parent)
        raise ValueError(f"{path} cannot be run: {why}; mend it first") from error


def main(arguments: list[str] | None = None) -> int:
    """Run the suite; 0 when the system passes, 1 when it does not, 2 with the reason when it cannot run."""
    parser = argparse.ArgumentParser(prog="python -m course.acceptance", description=__doc__)
    parser.add_argument("system", type=Path, help="mine, or a file with MemorySystem or open_system")
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may not know every letter
    try:
        report = accept(load_factory(options.system))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(report)
    return 0 if report.passed else 1


if __name__ == "__main__":
    raise SystemExit(main())
