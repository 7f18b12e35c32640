"""Grades learners' notebooks: `python -m course.desk.grade [--csv FILE] PATH…`.

    PATH          a notebook, a learner's folder of notebooks, or a class folder with one folder per learner
    --csv FILE    write every row to FILE as well (learner, notebook, exercise, status, sentence)

Each notebook runs top to bottom in a fresh kernel, as a copy in a temporary folder: the learner's own files
are only read. The checks are the course's, taken from the solved notebooks of this installation, whatever
the learner's check cells say. A status is one of

    passed, failed, not yet   what the check says, with its sentence
    error                     the learner's cell raised, or ended the kernel; the sentence says how
    timed out                 a cell or its check ran longer than --cell-seconds, or the notebook too long
    missing                   nothing defines what the exercise asks for

The exit status is 0 when all was graded, however badly, and 2 when the arguments name nothing to grade.

The notebooks run with your rights. No key, address or setting of yours reaches them, their home folder is an
empty one, a mistake costs one exercise, and what it replaces in the checks is put back. But this is no prison
for code that means harm, since it runs in the process that checks it. Grade the work of strangers in a
container.
"""

from __future__ import annotations

import argparse
import ast
import csv
import dis
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any, Literal

from jupyter_client.manager import KernelManager

from course import check as _checks
from course.desk.trial import sentence
from course.lesson import ROOT, Cell, LessonError, checks, exercise_of, read

Status = Literal["passed", "failed", "not yet", "error", "timed out", "missing"]

START = 60.0
"""Seconds for a kernel to load the course."""
GRACE = 3.0
"""Seconds that an interrupted cell has to end in, before its kernel is killed."""
WORKERS = max(1, min(4, (os.cpu_count() or 2) // 2))
"""Notebooks at a time: they compute, and a slow one must not run into its limit because of the others."""
PASSED_ON = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR")
"""What of the caller's environment a kernel gets: enough to start, and nothing that is worth stealing."""
OURS = f"""
import sys; sys.path.insert(0, {str(ROOT)!r}); import memlab, solutions
import course.desk.grade; course.desk.grade.keep_checks({{lesson!r}})
"""
"""Run first, so that a memlab.py or a solutions folder of the learner's is never taken for the course's."""
LONGEST = 1000
"""Characters of a sentence: an error may quote megabytes."""
CHECK = """
import json as _json
from course.desk.grade import kept_check as _check
_answers = [{names}]
_home = str(getattr(_answers[0], "__module__", ""))
if _home.startswith(("memlab.", "solutions.")):
    _verdict = ["missing", "{first} is the course's own, imported from " + _home + "; no cell defines it."]
else:
    _result = _check("{id}", *_answers)
    _verdict = [_result.status, _result.message]
_verdict = _json.dumps(_verdict)
"""


class GradeError(Exception):
    """There is nothing to grade at the path given; the message names it and the way out."""


@dataclass(frozen=True)
class Grade:
    """One row of the table: how one learner stands with one exercise, and the sentence that says why."""

    learner: str
    notebook: str
    exercise: str
    status: Status
    sentence: str


@dataclass(frozen=True)
class Task:
    """One exercise of the course: the objects its check is given, and the exercises it builds upon."""

    id: str
    names: tuple[str, ...]
    cell_id: str
    after: tuple[str, ...]


@dataclass(frozen=True)
class HandIn:
    """One learner's notebooks, by the course's name for each (such as "03_extraction.ipynb").

    passed_over: further files of those names, which are not graded.
    """

    learner: str
    notebooks: Mapping[str, Path]
    passed_over: tuple[Path, ...] = ()


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


# The checks, in the kernel

_kept: dict[str, dict[str, Any]] = {}


def keep_checks(lesson: str) -> None:
    """Remember the checks of `lesson` ("01") as they are now, before any code of the learner's has run."""
    _checks.registered(lesson)
    _kept.update(module=dict(vars(_checks)), registry=dict(_checks._REGISTRY))


def kept_check(exercise_id: str, *answers: object) -> _checks.CheckResult:
    """What `check` says, with all that the learner's code replaced in it put back."""
    vars(_checks).update(_kept["module"])
    _checks._REGISTRY.clear()
    _checks._REGISTRY.update(_kept["registry"])
    return _checks.check(exercise_id, *answers)


# What the course asks for, and what learners handed in


def course(root: Path = ROOT) -> list[str]:
    """The names of the course's notebooks, as the solved ones have them: nobody edits those."""
    return sorted(path.name for path in (root / "solutions").glob("[0-9][0-9]_*.ipynb"))


@cache
def tasks(name: str, root: Path = ROOT) -> tuple[Task, ...]:
    """The exercises of the notebook `name`, in order."""
    solved = read(root / "solutions" / name)
    data = {cell.metadata.get("memlab", {}).get("exercise"): cell for cell in solved.cells}
    return tuple(
        Task(check.id, check.names, data[check.id].id, tuple(data[check.id].metadata.memlab.get("after", ())))
        for check in checks(solved)
        if check.id in data
    )


@cache
def given(name: str, root: Path = ROOT) -> Mapping[str, str]:
    """The sources of the code cells that are no exercise, by cell id."""
    cells = [cell for cell in read(root / "solutions" / name).cells if cell.cell_type == "code"]
    return {c.id: c.source for c in cells if "exercise" not in c.metadata.get("tags", [])}


def hand_ins(path: Path, root: Path = ROOT) -> list[HandIn]:
    """What there is to grade at `path`: a notebook, a learner's folder, or a folder of such folders.

    Raises GradeError when there is none of the course's notebooks.
    """
    known = ", ".join(course(root)) or "none; run make notebooks"
    if path.is_file():
        name = _course_name(path, root)
        if name is None:
            raise GradeError(f"{path}: not a notebook of the course; name it as it was ({known})")
        return [HandIn(_learner(path.parent), {name: path})]
    if not path.is_dir():
        raise GradeError(f"{path}: there is no such file or folder; give a notebook or a folder of notebooks")
    folders = [folder for folder in sorted(path.iterdir()) if folder.is_dir() and not _ignored(folder.name)]
    found = [_hand_in(folder.name, folder, root) for folder in folders]
    direct = [file for file in sorted(path.glob("*.ipynb")) if _course_name(file, root)]
    if any(_course_name(file, root) for file in (path / "notebooks").glob("*.ipynb")):
        return [_hand_in(_learner(path), path, root)]
    if direct:
        _one_learners(path, direct, [hand_in for hand_in in found if hand_in.notebooks], root)
        return [_hand_in(_learner(path), path, root)]
    if not any(learner.notebooks for learner in found):
        raise GradeError(f"{path}: no notebook of the course in it or one folder below (looked for {known})")
    return found


def gathered(paths: Iterable[Path], root: Path = ROOT) -> list[HandIn]:
    """What there is to grade at all of `paths`; notebooks named one by one from one folder are one learner's.

    Raises GradeError.
    """
    found: list[HandIn] = []
    loose: dict[Path, HandIn] = {}
    for path in paths:
        for hand_in in hand_ins(path, root):
            if path.is_file():
                before = loose.get(path.parent, HandIn(hand_in.learner, {})).notebooks
                if twice := [before[name] for name in hand_in.notebooks if before.get(name, path) != path]:
                    raise GradeError(f"{twice[0]} and {path} are one notebook; grade one at a time")
                loose[path.parent] = HandIn(hand_in.learner, {**before, **hand_in.notebooks})
            else:
                found.append(hand_in)
    return [*found, *loose.values()]


def _one_learners(folder: Path, direct: Sequence[Path], below: Sequence[HandIn], root: Path) -> None:
    """Raises GradeError when `folder` has notebooks of several learners, or of one beside a whole class."""
    if below:
        raise GradeError(
            f"{direct[0]} is beside folders that have notebooks too ({', '.join(h.learner for h in below)}); "
            "move it into its learner's folder, or name the folders or notebooks to grade one by one"
        )
    before: dict[str, tuple[str, Path]] = {}
    for file in direct:
        name = _course_name(file, root) or ""
        who = file.stem.partition(Path(name).stem)[0]
        if who and before.setdefault(name, (who, file))[0] != who:
            raise GradeError(
                f"{before[name][1]} and {file.name} seem to be two learners' in one folder; "
                "give each learner a folder of their own"
            )


def _hand_in(learner: str, folder: Path, root: Path) -> HandIn:
    """The course's notebooks in `folder`, wherever; of two, the one whose name is exact, then the topmost."""
    found: dict[str, list[Path]] = {}
    for place, inner, files in os.walk(folder):
        inner[:] = sorted(name for name in inner if not _ignored(name))
        for file in files:
            if name := _course_name(Path(place, file), root):
                found.setdefault(name, []).append(Path(place, file))
    rank = {name: lambda path, name=name: (path.name != name, len(path.parts), path) for name in found}
    kept = {name: min(paths, key=rank[name]) for name, paths in sorted(found.items())}
    return HandIn(
        learner, kept, tuple(sorted(p for n, paths in found.items() for p in paths if p != kept[n]))
    )


def _ignored(folder: str) -> bool:
    """A learner's clone has the course's solved notebooks too, and what `update` put aside."""
    return folder.startswith((".", "_")) or folder in ("solutions", "backup")


def _course_name(path: Path, root: Path) -> str | None:
    """ "03_extraction.ipynb" for a file so called, or "ada_03_extraction (1).ipynb"; else None."""
    if path.suffix != ".ipynb" or "-checkpoint" in path.name or re.search(r"-Copy\d+", path.name):
        return None
    return next((name for name in course(root) if Path(name).stem in path.stem), None)


def _learner(folder: Path) -> str:
    folder = folder.resolve()
    return folder.parent.name if folder.name == "notebooks" else folder.name


# One kernel


class KernelEnded(Exception):
    """The kernel is gone; the verdict says whether it died or had to be killed."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.sentence)
        self.verdict = verdict


class NoKernel(Exception):
    """A kernel did not come up, or cannot load the course; the message says why."""


class Kernel:
    """A fresh kernel that works in `folder`, with an empty home and nothing of the caller's environment.

    lesson: the notebook's number, such as "01". What it prints is never read: that may be endless.
    Raises NoKernel when it does not come up.
    """

    def __init__(self, folder: Path, scratch: Path, lesson: str) -> None:
        self._manager = KernelManager(kernel_name="python3")
        self._manager.start_kernel(
            env=_environment(scratch), cwd=str(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._client = self._manager.client()
        self._client.start_channels(iopub=False, stdin=False, hb=False)
        try:
            reply, _ = self.run(OURS.format(lesson=lesson), START)
        except KernelEnded as ended:
            self.close()
            raise NoKernel(str(ended)) from ended
        if reply["status"] != "ok":
            self.close()
            raise NoKernel(_error(reply))

    def run(self, code: str, seconds: float, ask: str = "") -> tuple[dict[str, Any], bool]:
        """The kernel's reply to `code`, with the value of the name `ask`, and whether it was interrupted.

        Raises KernelEnded: it died, had to be killed, or the code asked it to end.
        """
        expressions = {"asked": ask} if ask else {}
        sent = self._client.execute(
            code, user_expressions=expressions, allow_stdin=False, stop_on_error=False
        )
        limit, late = time.monotonic() + seconds, False
        while (reply := self._reply(sent, min(limit, time.monotonic() + 0.5))) is None:
            if not self._manager.is_alive():
                raise KernelEnded(Verdict("error", "The kernel died: it crashed, or something ended it."))
            if time.monotonic() < limit:
                continue
            if late:
                raise KernelEnded(
                    Verdict("timed out", f"It ran for more than {seconds:.0f} s and cannot be interrupted.")
                )
            self._manager.interrupt_kernel()
            limit, late = time.monotonic() + GRACE, True
        if any(payload.get("source") == "ask_exit" for payload in reply.get("payload", [])):
            raise KernelEnded(Verdict("error", "It ended the kernel with `exit()`."))
        return reply, late

    def _reply(self, sent: str, until: float) -> dict[str, Any] | None:
        """The content of the reply to the message `sent`; None when it has not come by then."""
        while True:
            try:
                message = self._client.get_shell_msg(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                return None
            if message["parent_header"].get("msg_id") == sent:
                content: dict[str, Any] = message["content"]
                return content

    def close(self) -> None:
        """End the kernel, whatever it is doing."""
        group = getattr(self._manager.provisioner, "pgid", None)
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        if group:  # servers that the notebook started, and did not stop, belong to the kernel's own group
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


def _environment(scratch: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    own = {name: str(scratch) for name in ("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP")}
    return (
        kept
        | own
        | {
            "IPYTHONDIR": str(scratch / "ipython"),
            "MPLCONFIGDIR": str(
                scratch.parent / "matplotlib"
            ),  # shared: matplotlib reads all fonts to make it
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": str(ROOT),
        }
    )


# One notebook


class Run:
    """One learner's notebook, run cell by cell and checked; a kernel that ends is followed by another."""

    def __init__(self, cells: Sequence[Cell], name: str, limits: Limits, root: Path = ROOT) -> None:
        self.tasks, self.limits, self.lesson = tasks(name, root), limits, name[:2]
        self.given = dict(given(name, root))
        code = {index: escaped(cell.source) for index, cell in enumerate(cells) if cell.cell_type == "code"}
        self.code = _needed(code, frozenset(self.given.values()))
        self.home = {task.id: _home(task, cells, self.code) for task in self.tasks}
        self.ids = {index: str(cell.get("id")) for index, cell in enumerate(cells)}
        self.failed: dict[int, Verdict] = {}
        self.verdicts: dict[str, Verdict] = {}
        self.final: set[str] = set()

    def grade(self, folder: Path, scratch: Path) -> dict[str, Verdict]:
        """The verdict on every exercise, by id."""
        self.deadline = time.monotonic() + self.limits.notebook
        while not self._once(folder, scratch):
            pass
        late = f"The notebook had used up its {self.limits.notebook:g} s before this exercise."
        found = {task.id: self.verdicts.get(task.id, Verdict("timed out", late)) for task in self.tasks}
        return {task.id: _with_causes(task, found) for task in self.tasks}

    def _once(self, folder: Path, scratch: Path) -> bool:
        """Run every cell and check at which no earlier kernel ended; False when this one ended as well."""
        kernel = Kernel(folder, scratch, self.lesson)
        try:
            for index in self.code:
                self._cell(kernel, index)
                for task in self.tasks:
                    if self.home[task.id] == index and task.id not in self.verdicts:
                        self._check(kernel, task)
            for task in self.tasks:  # once more: what an answer uses may be defined below it
                if task.id not in self.final:
                    self._check(kernel, task)
        except KernelEnded:
            return False
        finally:
            kernel.close()
        return True

    def _left(self) -> float:
        """Seconds that the next cell has."""
        return min(self.limits.cell, self.deadline - time.monotonic())

    def _cell(self, kernel: Kernel, index: int) -> None:
        if self._left() <= 0:
            return
        try:
            reply, late = kernel.run(self.code[index], self._left())
        except KernelEnded as ended:
            self._never_again(index, ended.verdict)
            raise
        if late:
            self._never_again(index, Verdict("timed out", "Its cell was still running at the limit."))
        elif reply["status"] != "ok":
            self.failed[index] = Verdict("error", f"Its cell raised {_error(reply)}")

    def _never_again(self, index: int, verdict: Verdict) -> None:
        """The cell costs its exercise; the next kernel runs the course's cell of that id instead, if any."""
        self.code[index] = self.given.pop(self.ids[index], "")
        for task in self.tasks:
            if self.home[task.id] == index:
                self._settle(task, verdict)

    def _check(self, kernel: Kernel, task: Task) -> None:
        if self._left() <= 0:
            return
        code = CHECK.format(id=task.id, names=", ".join(task.names), first=task.names[0])
        try:
            reply, late = kernel.run(code, self._left(), ask="_verdict")
        except KernelEnded as ended:
            self._settle(
                task, Verdict(ended.verdict.status, f"While it was checked: {ended.verdict.sentence}")
            )
            raise
        before = self.verdicts.get(task.id)
        verdict = Verdict("timed out", "It was still running at the limit: what should have ended the loop?")
        if not late:
            verdict = self._verdict(task, reply)
        if late or verdict.status == "passed":
            self._settle(task, verdict)
        elif before is None or before.status in ("missing", "error"):
            self.verdicts[task.id] = verdict

    def _verdict(self, task: Task, reply: dict[str, Any]) -> Verdict:
        if reply["status"] == "ok":
            return Verdict(
                *json.loads(ast.literal_eval(reply["user_expressions"]["asked"]["data"]["text/plain"]))
            )
        if reply["ename"] != "NameError":
            return Verdict("error", f"Its check was stopped by {_error(reply)}")
        home = self.home[task.id]
        if home in self.failed:
            return self.failed[home]
        missing = next((name for name in task.names if f"'{name}'" in reply["evalue"]), task.names[0])
        return Verdict("missing", f"No cell defines `{missing}`.")

    def _settle(self, task: Task, verdict: Verdict) -> None:
        self.verdicts[task.id] = verdict
        self.final.add(task.id)


def _needed(code: Mapping[int, str], given: frozenset[str]) -> dict[int, str]:
    """The cells to run: the learner's, and of the course's own those that define what these use.

    Most cells of a lesson only show what an answer does; running them all takes many times as long.
    """
    names = {index: _names(text) for index, text in code.items()}
    runs = {index for index, text in code.items() if text not in given or names[index] is None}
    grown = 0
    while grown != len(runs):
        grown = len(runs)
        used = set[str]().union(*(found[0] for index in runs if (found := names[index])))
        runs |= {index for index, found in names.items() if found and found[1] & used}
    return {index: text for index, text in code.items() if index in runs}


def _names(text: str) -> tuple[set[str], set[str]] | None:
    """The global names that a cell uses and those it defines; None when it is not plain Python."""
    try:
        waiting, used, defined = [compile(text, "cell", "exec", dont_inherit=True)], set[str](), set[str]()
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # the last two: nested too deeply
        return None
    while waiting:
        code = waiting.pop()
        waiting += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"):
                used.add(step.argval)
            elif step.opname in ("STORE_NAME", "STORE_GLOBAL"):
                defined.add(step.argval)
    return used, defined


def _home(task: Task, cells: Sequence[Cell], code: dict[int, str]) -> int | None:
    """The learner's cell for the exercise: by its metadata, else its id, else by what it defines."""
    defines = re.compile(rf"^(?:async )?(?:def|class) {re.escape(task.names[0])}\b", re.MULTILINE)
    signs: list[Callable[[int], object]] = [
        lambda index: exercise_of(cells[index]) == task.id,
        lambda index: cells[index].get("id") == task.cell_id,
        lambda index: defines.search(code[index]),
    ]
    return next((index for sign in signs for index in reversed(code) if sign(index)), None)


def _with_causes(task: Task, found: Mapping[str, Verdict]) -> Verdict:
    verdict = found[task.id]
    open_ = [other for other in task.after if other in found and found[other].status != "passed"]
    if verdict.status == "passed" or not open_:
        return verdict
    return Verdict(
        verdict.status, f"{verdict.sentence} (It builds on {', '.join(open_)}, not passed.)".strip()
    )


def _error(reply: Mapping[str, Any]) -> str:
    return " ".join(f"{reply['ename']}: {reply['evalue']}".split())


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
    return [Grade(learner, stem, id_, v.status, _short(escaped(v.sentence))) for id_, v in found.items()]


def escaped(text: str) -> str:
    r"""The text with what no file can hold spelt out: halves of characters, bytes of names that are no UTF-8.

    Example:
    >>> escaped("ä" + chr(0xD800))
    'ä\\ud800'
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def _graded(path: Path, name: str, limits: Limits, root: Path) -> dict[str, Verdict]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder, scratch = Path(place, "work"), Path(place, "home")
        folder.mkdir()
        scratch.mkdir()
        try:
            for file in [path, *path.parent.glob("*.py")]:  # with the modules that they wrote beside it
                shutil.copyfile(file, folder / file.name)
            run = Run(read(folder / path.name).cells, name, limits, root)
        except Exception as error:  # a file may be broken in any way; it must not cost the class its table
            said = error if isinstance(error, LessonError) else sentence(error)
            why = Verdict(
                "error", f"{path.name} cannot be read as a notebook: {said}; hand it in anew from JupyterLab"
            )
            return dict.fromkeys([task.id for task in tasks(name, root)], why)
        try:
            return run.grade(folder, scratch)
        except NoKernel as error:
            why = Verdict(
                "error", f"No kernel started for {path.name}: {error}; run python -m course.desk.doctor"
            )
        except Exception as error:
            why = Verdict("error", f"Grading {path.name} ended with {sentence(error)}; run it in JupyterLab")
    return dict.fromkeys([task.id for task in tasks(name, root)], why)


def grade_all(found: Sequence[HandIn], limits: Limits = LIMITS, root: Path = ROOT) -> Iterator[list[Grade]]:
    """The rows of every learner and notebook, notebook by notebook; what some handed in is asked of all."""
    asked = sorted({name for hand_in in found for name in hand_in.notebooks if tasks(name, root)})
    pairs = [(hand_in, name) for hand_in in found for name in asked]
    with ThreadPoolExecutor(WORKERS) as pool:
        yield from pool.map(lambda pair: grade(pair[0], pair[1], limits, root), pairs)


def table(rows: Sequence[Grade], width: int) -> str:
    """The rows as text, each on one line of at most `width` characters."""
    head = [Grade("learner", "notebook", "exercise", "status", "what the check says")]  # type: ignore[arg-type]
    cells = [list(asdict(row).values()) for row in [*head, *rows]]
    for line in cells[1:]:
        line[4] = "" if line[3] == "passed" else line[4]
    return _aligned(cells, width)


def summary(rows: Sequence[Grade], width: int) -> str:
    """Exercise by exercise: how many of the class passed, and what is most often in the others' way."""
    cells = [["exercise", "passed", "most often in the way"]]
    for exercise in dict.fromkeys(row.exercise for row in rows):
        own = [row for row in rows if row.exercise == exercise]
        others = Counter((row.status, row.sentence) for row in own if row.status != "passed")
        worst = [f"{count} × {status}: {said}" for (status, said), count in others.most_common(1)]
        cells.append([exercise, f"{len(own) - others.total()} of {len(own)}", *(worst or [""])])
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
    parser = argparse.ArgumentParser(prog="python -m course.desk.grade", description=_first_line())
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="notebook, learner's or class folder"
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write every row to FILE too")
    parser.add_argument(
        "--cell-seconds", type=float, default=LIMITS.cell, metavar="S", help="limit of one cell (%(default)g)"
    )
    parser.add_argument(
        "--notebook-seconds",
        type=float,
        default=LIMITS.notebook,
        metavar="S",
        help="limit of a notebook (%(default)g)",
    )
    options = parser.parse_args(argv)
    if options.cell_seconds <= 0 or options.notebook_seconds <= 0:
        parser.error(
            "a limit of no seconds grades nothing; give --cell-seconds and --notebook-seconds above 0"
        )
    if options.csv and (options.csv.suffix != ".csv" or not options.csv.parent.is_dir()):
        parser.error(f"--csv {options.csv}: name a file that ends in .csv, in a folder that exists")
    try:
        found = gathered(options.paths, root)
    except GradeError as error:
        parser.error(str(error))
    for hand_in in found:
        for path in hand_in.passed_over:
            print(
                escaped(f"{hand_in.learner}: {path} is not graded: there is another; name it to grade it"),
                file=sys.stderr,
            )
    rows = []
    for graded in grade_all(found, Limits(options.cell_seconds, options.notebook_seconds), root):
        rows += graded
        passed = sum(row.status == "passed" for row in graded)
        print(f"{graded[0].learner} {graded[0].notebook}: {passed} of {len(graded)} passed", file=sys.stderr)
    report(rows, options.csv)
    return 0


def report(rows: Sequence[Grade], file: Path | None) -> None:
    """Print the table, of a class its summary too, and write the CSV."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000
    print(table(rows, width))
    if len({row.learner for row in rows}) > 1:
        print(f"\n{summary(rows, width)}")
    if file is not None:
        write_csv(rows, file)


def _first_line() -> str:
    return (__doc__ or "").splitlines()[0]


if __name__ == "__main__":
    sys.exit(main())
