"""A learner's answers, as their notebooks hold them: pieces of Python, with the helpers that they use."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from course.desk.engine import sentence
from course.desk.hand_in import NO_PYTHON, Task, answered, claim, given, home, tasks
from course.desk.package import Piece, Splice, pieces
from course.lesson import ROOT, Notebook, defined, place, read

STUB = "still a stub"


@dataclass(frozen=True)
class Answer:
    """What a learner's notebook holds for a task: its pieces, or why they do not count; and what was odd."""

    task: Task
    module: str
    splice: Splice | None = None
    reason: str = ""
    remark: str = ""

    @property
    def fate(self) -> str:
        """Whose definition stands in the package, and why."""
        whose = "yours" if self.splice is not None else f"the reference's: {self.reason}"
        return f"{whose} ({self.remark})" if self.remark else whose


# --- What stands in a learner's notebooks -----------------------------------------------------------------


def found_in(name: str, files: Sequence[Path], notebooks: Path, root: Path = ROOT) -> list[Answer]:
    """The learner's answer to each task of a notebook, or the reason why there is none; nothing is run."""
    wanted = [Answer(task, module_of(task, root)) for task in tasks(name, root)]
    try:
        own = Notes(read(files[0] if files else notebooks / name), name, root)
        return [own.answer(answer) for answer in wanted]
    except FileNotFoundError:
        return [replace(answer, reason=f"{name} is missing") for answer in wanted]
    except Exception as error:  # a file may be broken in any way
        return [replace(answer, reason=f"{name} cannot be read ({sentence(error)})") for answer in wanted]


def module_of(task: Task, root: Path) -> str:
    """The module that holds the reference's answer to a task."""
    return next(module for module in task.modules if task.answer in defined(module, root))


class Notes:
    """A learner's notebook: its cells as pieces of Python, theirs apart from those that the course gave."""

    def __init__(self, notebook: Notebook, name: str, root: Path) -> None:
        self.name, self.root, self.cells = name, root, notebook.cells
        self.courses = frozenset(given(name, root).values())
        self.answers = {task.names[0] for task in tasks(name, root)}

    @cached_property
    def pieces(self) -> dict[int, list[Piece]]:
        """The pieces of each cell that is Python; none of the others."""
        return {
            i: found
            for i, cell in enumerate(self.cells)
            if cell.cell_type == "code" and (found := self._read(i))
        }

    def _read(self, index: int) -> list[Piece]:
        try:
            return pieces(self.cells[index].source, index)
        except NO_PYTHON:  # it would stop the learner as well
            return []

    def answer(self, open_: Answer) -> Answer:
        """The task's answer in its last cell that is answered; else why there is none."""
        task, at = open_.task, home(open_.task, self.cells, self.courses)
        if at is None:
            return replace(open_, reason=f"its cell is gone from {self.name}")
        where, source = place(self.name, self.cells[at], at), self.cells[at].source
        open_ = replace(open_, remark=self._remark(task, at))
        if not answered(task, source):
            return replace(open_, reason=STUB)
        try:
            own = [piece for piece in pieces(source, at) if task.names[0] in piece.defined | piece.fills]
        except NO_PYTHON as error:
            said = f"{error.msg}, line {error.lineno}" if isinstance(error, SyntaxError) else sentence(error)
            return replace(open_, reason=f"{where} is not Python ({said})")
        if not own:
            return replace(open_, reason=f"{where} does not define {task.names[0]}")
        if own[0].imports:
            return replace(open_, reason=f"{where} takes {task.names[0]} from {own[0].imports}")
        helpers = self._used_by(own, at, bound(open_.module, self.root))
        if foreign := [p.imports for p in helpers if p.imports.partition(".")[0] in ("course", "benchmarks")]:
            return replace(open_, reason=f"{where} needs {foreign[0]}, which belongs to the course alone")
        return replace(open_, splice=Splice(task.id, task.answer, tuple(own), tuple(helpers)))

    def _remark(self, task: Task, at: int) -> str:
        same = [c for c in self.cells if c.cell_type == "code" and claim(task, c, self.courses) == 0]
        if claim(task, self.cells[at]) != 0:
            beside = "beside its stub" if same else "which has lost its mark"
            return f"from {place(self.name, self.cells[at], at)}, {beside}"
        return (
            f"{len(same)} cells of {self.name} are {task.id}; the last one answered counts"
            if len(same) > 1
            else ""
        )

    def _used_by(self, own: Sequence[Piece], at: int, known: frozenset[str]) -> list[Piece]:
        """What the pieces of an answer use of other pieces, in the notebook's order."""
        helpers: list[Piece] = []
        waiting = [*own]
        while waiting:
            for name in sorted(waiting.pop().used - self.answers - set(dir(builtins))):
                new = [p for p in self._providers(name, at, known) if p not in helpers and p not in own]
                helpers += new
                waiting += new
        return sorted(helpers, key=lambda piece: piece.at)

    def _providers(self, name: str, at: int, known: frozenset[str]) -> Iterator[Piece]:
        """The pieces that define a name, and the learner's that fill what it holds.

        They stand in the answer's cell, else in the learner's last cell that has them, else in the course's;
        there only what the module does not know itself.
        """
        mine = {i: found for i, found in self.pieces.items() if self.cells[i].source not in self.courses}
        given_ = {i: found for i, found in self.pieces.items() if i not in mine and name not in known}
        for cells in ({at: mine.get(at, [])}, mine, given_):
            holders = [
                i
                for i, found in cells.items()
                for p in found
                if name in p.defined and not (p.imports and name in known)
            ]
            if holders:
                for piece in self.pieces[holders[-1]]:
                    if name in piece.defined:
                        yield piece.only(name)
                yield from (p for found in mine.values() for p in found if name in p.fills and not p.imports)
                return


def bound(module: str, root: Path) -> frozenset[str]:
    """What a module defines at its top, imports included."""
    text = root.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
    return frozenset().union(*(piece.defined for piece in pieces(text, 0)))
