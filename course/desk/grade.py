"""Grades learners' notebooks: `python -m course.desk.grade [--csv FILE] PATH…`.

    PATH          a notebook, a learner's folder or zip, or a class folder with one for each learner
    --csv FILE    write every row to FILE as well (learner, notebook, exercise, status, sentence)

A file is graded as the notebook whose cells it holds, whatever its name. It runs top to bottom in a fresh
process, as a copy in a temporary folder: the learner's own files are only read. The checks are the course's,
taken from the solved notebooks of this installation, whatever the learner's check cells say. A status is

    passed, failed, not yet   what the check says, with its sentence
    error                     the learner's cell raised, or ended the kernel; the sentence says how
    timed out                 a cell or its check ran longer than --cell-seconds, or the notebook too long
    missing                   nothing defines what the exercise asks for

The exit status is 0 when all was graded, however badly, 2 when the arguments name nothing to grade, and 130
when you stopped it with Ctrl+C; what was graded until then is printed and written all the same.

The notebooks run with your rights. No key, address or setting of yours reaches them, their home folder is an
empty one, a mistake costs one exercise, and what it replaces in the checks is put back. But this is no prison
for code that means harm, since it runs in the process that checks it. Grade the work of strangers in a
container.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import sys
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from io import TextIOWrapper
from pathlib import Path
from typing import Literal

from course.desk.engine import Ended, NoStart, Session, sentence, shared, short
from course.desk.hand_in import HandIn, NothingHandedIn, Task, gathered, given, global_names, home, tasks
from course.lesson import ROOT, Cell, LessonError, read

Status = Literal["passed", "failed", "not yet", "error", "timed out", "missing"]

STOPPED: tuple[Status, ...] = ("failed", "error", "timed out")
"""What has a sentence that a class can be told about; the rest has not begun."""
WORKERS = max(1, min(4, (os.cpu_count() or 2) // 2))
"""Notebooks at a time: they compute, and a slow one must not run into its limit because of the others."""


@dataclass(frozen=True)
class Grade:
    """One row of the table: how one learner stands with one exercise, and the sentence that says why."""

    learner: str
    notebook: str
    exercise: str
    status: Status
    sentence: str


@dataclass(frozen=True)
class Verdict:
    """How an exercise, or a cell that failed, came out."""

    status: Status
    sentence: str = ""


@dataclass(frozen=True)
class Limits:
    """Seconds that one cell (or check), and one notebook in all, may run."""

    cell: float = 20.0
    notebook: float = 300.0


LIMITS = Limits()


# One notebook


class Run:
    """One learner's notebook, run cell by cell and checked; a session that ends is followed by another."""

    def __init__(self, cells: Sequence[Cell], name: str, limits: Limits, root: Path = ROOT) -> None:
        self.tasks, self.limits, self.lesson = tasks(name, root), limits, name[:2]
        self.given = dict(given(name, root))
        courses = frozenset(self.given.values())
        code = {index: escaped(cell.source) for index, cell in enumerate(cells) if cell.cell_type == "code"}
        self.code = _needed(code, courses)
        self.home = {task.id: home(task, cells, courses) for task in self.tasks}
        self.ids = {index: str(cell.get("id")) for index, cell in enumerate(cells)}
        self.failed: dict[int, Verdict] = {}
        self.verdicts: dict[str, Verdict] = {}
        self.final: set[str] = set()

    def grade(self, folder: Path) -> dict[str, Verdict]:
        """The verdict on every exercise, by id. Raises NoStart."""
        self.deadline = time.monotonic() + self.limits.notebook
        while not self._once(folder):
            pass
        late = f"The notebook had used up its {self.limits.notebook:g} s before this exercise."
        found = {task.id: self.verdicts.get(task.id, Verdict("timed out", late)) for task in self.tasks}
        return {task.id: _with_causes(task, found) for task in self.tasks}

    def _once(self, folder: Path) -> bool:
        """Run every cell and check at which no earlier session ended; False when this one ended as well."""
        with shared().session(folder, self.lesson) as session:
            try:
                for index in self.code:
                    self._cell(session, index)
                    for task in self.tasks:
                        if self.home[task.id] == index and task.id not in self.verdicts:
                            self._check(session, task)
                for task in self.tasks:  # once more: what an answer uses may be defined below it
                    if task.id not in self.final:
                        self._check(session, task)
            except Ended:
                return False
        return True

    def _left(self) -> float:
        """Seconds that the next cell has."""
        return min(self.limits.cell, self.deadline - time.monotonic())

    def _cell(self, session: Session, index: int) -> None:
        if self._left() <= 0:
            return
        try:
            outcome = session.run(self.code[index], self._left())
        except Ended as ended:
            self._never_again(index, Verdict(ended.status, ended.sentence))
            raise
        if outcome.late:
            self._never_again(index, Verdict("timed out", "Its cell was still running at the limit."))
        elif outcome.error:
            self.failed[index] = Verdict("error", f"Its cell raised {outcome.fault}")

    def _never_again(self, index: int, verdict: Verdict) -> None:
        """The cell costs its exercise; the next session runs the course's cell of that id instead, if any."""
        self.code[index] = self.given.pop(self.ids[index], "")
        for task in self.tasks:
            if self.home[task.id] == index:
                self._settle(task, verdict)

    def _check(self, session: Session, task: Task) -> None:
        if self._left() <= 0:
            return
        try:
            outcome = session.check(task.id, task.names, self._left())
        except Ended as ended:
            self._settle(task, Verdict(ended.status, f"While it was checked: {ended.sentence}"))
            raise
        before = self.verdicts.get(task.id)
        if outcome.late:
            verdict = Verdict(
                "timed out", "It was still running at the limit: what should have ended the loop?"
            )
        elif outcome.error:
            verdict = self._stopped(task, outcome.error, outcome.message, outcome.fault)
        else:
            verdict = Verdict(outcome.status, outcome.message)  # type: ignore[arg-type]
        if outcome.late or verdict.status == "passed":
            self._settle(task, verdict)
        elif before is None or before.status in ("missing", "error"):
            self.verdicts[task.id] = verdict

    def _stopped(self, task: Task, error: str, message: str, fault: str) -> Verdict:
        """Why a check did not come to its verdict: most often, a name is not there."""
        if error != "NameError":
            return Verdict("error", f"Its check was stopped by {fault}")
        at = self.home[task.id]
        if at in self.failed:
            return self.failed[at]
        missing = next((name for name in task.names if f"'{name}'" in message), task.names[0])
        return Verdict("missing", f"No cell defines `{missing}`.")

    def _settle(self, task: Task, verdict: Verdict) -> None:
        self.verdicts[task.id] = verdict
        self.final.add(task.id)


def _needed(code: Mapping[int, str], courses: frozenset[str]) -> dict[int, str]:
    """The cells to run: the learner's, and of the course's own those that define what these use.

    Most cells of a lesson only show what an answer does; running them all takes many times as long.
    """
    names = {index: global_names(text) for index, text in code.items()}
    runs = {index for index, text in code.items() if text not in courses or names[index] is None}
    grown = 0
    while grown != len(runs):
        grown = len(runs)
        used = set[str]().union(*(found[0] for index in runs if (found := names[index])))
        runs |= {index for index, found in names.items() if found and found[1] & used}
    return {index: text for index, text in code.items() if index in runs}


def _with_causes(task: Task, found: Mapping[str, Verdict]) -> Verdict:
    verdict = found[task.id]
    open_ = [other for other in task.after if other in found and found[other].status != "passed"]
    if verdict.status == "passed" or not open_:
        return verdict
    return Verdict(
        verdict.status, f"{verdict.sentence} (It builds on {', '.join(open_)}, not passed.)".strip()
    )


# The class


def grade(hand_in: HandIn, name: str, limits: Limits = LIMITS, root: Path = ROOT) -> list[Grade]:
    """One row for each exercise of the notebook `name`; it changes no file of the learner's."""
    path = hand_in.notebooks.get(name)
    if path is None:
        missing = Verdict("missing", f"{name} was not handed in.")
        found = dict.fromkeys([task.id for task in tasks(name, root)], missing)
    else:
        found = _graded(path, name, limits, root)
    stem = Path(name).stem
    learner = escaped(hand_in.learner)
    return [Grade(learner, stem, id_, v.status, short(escaped(v.sentence))) for id_, v in found.items()]


def escaped(text: str) -> str:
    r"""The text with what no file can hold spelt out, and what would steer a terminal.

    Example:
    >>> escaped("ä" + chr(0xD800) + chr(27) + "[2J")
    'ä\\ud800\\x1b[2J'
    """
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    kinds = ((sign, unicodedata.category(sign)) for sign in text)
    return "".join(
        repr(sign)[1:-1] if kind in ("Cc", "Cf") and sign not in "\n\t" else sign for sign, kind in kinds
    )


def _graded(path: Path, name: str, limits: Limits, root: Path) -> dict[str, Verdict]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder = Path(place)
        try:
            for file in [path, *path.parent.glob("*.py")]:  # with the modules that they wrote beside it
                shutil.copyfile(file, folder / file.name)
            run = Run(read(folder / path.name).cells, name, limits, root)
        except Exception as error:  # a file may be broken in any way; it must not cost the class its table
            said = error if isinstance(error, LessonError) else sentence(error)
            why = f"{path.name} cannot be read as a notebook: {said}; hand it in anew from JupyterLab"
        else:
            try:
                return run.grade(folder)
            except NoStart as error:
                why = f"No kernel started for {path.name}: {error}; run python -m course.desk.doctor"
            except Exception as error:
                why = f"Grading {path.name} ended with {sentence(error)}; run it in JupyterLab"
    return dict.fromkeys([task.id for task in tasks(name, root)], Verdict("error", why))


def grade_all(found: Sequence[HandIn], limits: Limits = LIMITS, root: Path = ROOT) -> Iterator[list[Grade]]:
    """The rows of every learner and notebook, notebook by notebook; what some handed in is asked of all."""
    asked = sorted({name for hand_in in found for name in hand_in.notebooks if tasks(name, root)})
    pairs = [(hand_in, name) for hand_in in found for name in asked]
    pool = ThreadPoolExecutor(WORKERS)
    try:
        yield from pool.map(lambda pair: grade(pair[0], pair[1], limits, root), pairs)
    finally:  # stopped early: what has not begun never does
        pool.shutdown(wait=False, cancel_futures=True)


def table(rows: Sequence[Grade], width: int) -> str:
    """The rows as text, each on one line of at most `width` characters."""
    head = [Grade("learner", "notebook", "exercise", "status", "what the check says")]  # type: ignore[arg-type]
    cells = [list(asdict(row).values()) for row in [*head, *rows]]
    for line in cells[1:]:
        line[4] = "" if line[3] == "passed" else line[4]
    return _aligned(cells, width)


def summary(rows: Sequence[Grade], width: int) -> str:
    """Exercise by exercise: how many passed, and what is most often in the way of those who tried."""
    cells = [["exercise", "passed", "most often in the way"]]
    for exercise in dict.fromkeys(row.exercise for row in rows):
        own = [row for row in rows if row.exercise == exercise]
        idle = sum(row.status in ("missing", "not yet") for row in own)
        others = Counter((row.status, row.sentence) for row in own)
        stops = {(status, said): n for (status, said), n in others.items() if status in STOPPED}
        worst = [f"{stops[key]} × {': '.join(key)}" for key in sorted(stops, key=stops.__getitem__)[-1:]]
        passed = sum(row.status == "passed" for row in own)
        count = f"{passed} of {len(own)}" + (f" ({idle} not begun)" if idle else "")
        cells.append([exercise, count, *(worst or [""])])
    return _aligned(cells, width)


def _aligned(cells: Sequence[Sequence[str]], width: int) -> str:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.ljust(size) for cell, size in zip(line, widths, strict=True)) for line in cells]
    flat = [" ".join(line.splitlines()).rstrip() for line in lines]
    return "\n".join(line if len(line) <= width else f"{line[: width - 1]}…" for line in flat)


def write_csv(rows: Sequence[Grade], file: Path) -> None:
    """Every row, with a heading; UTF-8."""
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, [field.name for field in fields(Grade)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """The command line; gives back the exit status."""
    options = _options(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may not know every letter
    try:
        found = gathered(options.paths, root)
    except NothingHandedIn as error:
        print(escaped(str(error)), file=sys.stderr)
        raise SystemExit(2) from None
    for hand_in in found:
        for path in hand_in.passed_over:
            said = f"{hand_in.learner}: {path} is not graded: another counts; name it to grade it"
            print(escaped(said), file=sys.stderr)
    rows: list[Grade] = []
    status = 0
    try:
        for graded in grade_all(found, Limits(options.cell_seconds, options.notebook_seconds), root):
            rows += graded
            passed = sum(row.status == "passed" for row in graded)
            print(
                f"{graded[0].learner} {graded[0].notebook}: {passed} of {len(graded)} passed", file=sys.stderr
            )
    except KeyboardInterrupt:
        shared().close()
        print("Stopped: this is what was graded until then.", file=sys.stderr)
        status = 130
    report(rows, options.csv)
    return status


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line, read; what cannot be is refused with the way out."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m course.desk.grade", description=about)
    add = parser.add_argument
    add("paths", nargs="+", type=Path, metavar="PATH", help="notebook, learner's or class folder")
    add("--csv", type=Path, metavar="FILE", help="write every row to FILE too")
    for name, default in (("cell", LIMITS.cell), ("notebook", LIMITS.notebook)):
        about = f"limit of one {name} (%(default)g)"
        add(f"--{name}-seconds", type=float, default=default, metavar="S", help=about)
    options = parser.parse_args(argv)
    if options.cell_seconds <= 0 or options.notebook_seconds <= 0:
        parser.error(
            "a limit of no seconds grades nothing; give --cell-seconds and --notebook-seconds above 0"
        )
    if options.csv and (options.csv.suffix != ".csv" or not options.csv.parent.is_dir()):
        parser.error(f"--csv {options.csv}: name a file that ends in .csv, in a folder that exists")
    return options


def report(rows: Sequence[Grade], file: Path | None) -> None:
    """Print the table, of a class its summary too, and write the CSV."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000
    print(table(rows, width))
    if len({row.learner for row in rows}) > 1:
        print(f"\n{summary(rows, width)}")
    if file is not None:
        write_csv(rows, file)


if __name__ == "__main__":
    sys.exit(main())
