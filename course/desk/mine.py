"""Gathers a learner's own memory system into one file: `python -m course.desk.mine`, or `make mine`.

It reads the notebooks from 03 on and takes each exercise that is answered, with what that answer uses. An
answer has to pass its exercise's check, in a process of its own and within a time limit; where it does not,
the reference stands in, and the file says why. Nothing in a notebook can stop the gathering.

What you write in my_memory.py below its line `# Your own part: …` is kept. The part above is written anew
each time, unless you have edited it: then nothing is written until you say so.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import html
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import count, groupby
from pathlib import Path
from textwrap import shorten, wrap
from typing import Literal

from course.desk.trial import LIMIT, START, Trial, sentence, try_out
from course.desk.weave import Function, Item, Key, Space, Statement, Weaver, module_space, names_of
from course.lesson import ROOT, Cell, LessonError, Notebook, checks, place, read

FIRST = "03"
LINE = "# Your own part: make mine keeps everything below this line"
MARK = "# Gathered by make mine, digest "
USERS = (("solutions.policy_store", "PolicyStore"),)
"""What puts answers to use that the memory system of the last notebook does not need."""

BEGINNING = f"""{LINE}
#
# What you define here wins over what stands above. To change a function of the system, write it here under
# the same name; to change the class, say `class MemorySystem(MemorySystem): …`.
"""

STUB = "still a stub"
NO_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What reading a cell as Python may raise."""

Status = Literal["yours", "reference"]


class Edited(LessonError):
    """The gathered part of the file was changed by hand; the message says how to keep that."""


@dataclass(frozen=True)
class Task:
    """An exercise as the course has it: its notebook, the name of the answer and the answer's module.

    given: further objects of the module that stand beside the answer.
    """

    id: str
    notebook: str
    name: str
    module: str
    cell_id: str
    given: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        return self.module, self.name


@dataclass(frozen=True)
class Answer:
    """What a learner's notebook holds for a task: its item, or why there is none; and what was odd."""

    task: Task
    item: Item | None = None
    reason: str = ""
    remark: str = ""


@dataclass(frozen=True)
class Row:
    """One exercise in the gathered file: whose answer stands there, and why it is not the learner's."""

    exercise: str
    notebook: str
    status: Status
    reason: str = ""
    remark: str = ""


@dataclass(frozen=True)
class Gathered:
    """The file that was written, and a row for each exercise."""

    path: Path
    rows: tuple[Row, ...]
    saved: Path | None = None

    def yours(self) -> list[str]:
        """The ids of the exercises that are the learner's own."""
        return [row.exercise for row in self.rows if row.status == "yours"]

    def lines(self) -> list[tuple[str, str, str]]:
        """Notebook, exercises and what became of them: those of one fate together."""
        found = []
        for (notebook, fate), rows in groupby(self.rows, lambda row: (row.notebook, _fate(row))):
            found.append((notebook, ", ".join(row.exercise for row in rows), fate))
        return found

    def __repr__(self) -> str:
        lines = [f"{len(self.yours())} of {len(self.rows)} exercises are yours."]
        lines += [f"  {ids}\n      {fate}" for _, ids, fate in self.lines()]
        if self.saved is not None:
            lines.append(f"Your edited file was saved as {self.saved.name}.")
        return "\n".join([*lines, f"Written: {self.path.name}"])

    def _repr_html_(self) -> str:
        cell = '<td style="text-align:left">'
        rows = "".join(
            "<tr>" + "".join(f"{cell}{html.escape(text)}</td>" for text in line) + "</tr>"
            for line in self.lines()
        )
        head = "".join(
            f'<th style="text-align:left">{name}</th>' for name in ("notebook", "exercises", "in the file")
        )
        count = f"{len(self.yours())} of {len(self.rows)} exercises are yours."
        return f"<p>{count}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def gather(
    notebooks: Path | None = None,
    path: Path | None = None,
    *,
    force: bool = False,
    limit: float = LIMIT,
    root: Path = ROOT,
) -> Gathered:
    """Write `path` (my_memory.py) from the learner's `notebooks`; what stands in it, and why.

    limit: seconds for the check of one answer. force: an edited file is saved beside it first, and written
    anew. Raises Edited, with nothing written, for an edited file without `force`, and LessonError for a file
    that is no text.
    """
    notebooks, path = notebooks or root / "notebooks", path or root / "my_memory.py"
    own_part, edited = _kept(path)
    if edited and not force:
        raise Edited(
            f"{path.name} was {edited}, and would be written anew. What you write below the line {LINE!r} is "
            "kept, and wins over what stands above: move your change there. Or run make mine FORCE=1, which "
            f"first saves the file as {path.name}.bak"
        )
    everything = tasks(root)
    course = Course(everything, root)
    answers = course.judged(found_in(everything, notebooks), limit)
    saved = _saved(path) if edited else None
    _write(path, _whole(course.file(answers), answers, own_part))
    return Gathered(path, tuple(map(_row, answers)), saved)


def _row(answer: Answer) -> Row:
    status: Status = "reference" if answer.item is None else "yours"
    return Row(answer.task.id, answer.task.notebook, status, answer.reason, answer.remark)


def _fate(row: Row) -> str:
    fate = "yours" if row.status == "yours" else f"from the reference: {row.reason}"
    return f"{fate} ({row.remark})" if row.remark else fate


def tasks(root: Path = ROOT) -> list[Task]:
    """Every exercise from notebook 03 on, as the solved notebooks have it."""
    found: list[Task] = []
    for path in sorted((root / "solutions").glob("[0-9][0-9]_*.ipynb")):
        if path.name[:2] >= FIRST and "-Copy" not in path.name:
            found += _tasks(read(path), path.name, root)
    if not found:
        raise LessonError(
            "there are no solved notebooks in solutions/; bring them back, or run: make notebooks"
        )
    return found


def _tasks(solved: Notebook, name: str, root: Path) -> Iterator[Task]:
    modules = solved.metadata.get("memlab", {}).get("answers", [])
    names = {check.id: check.names[0] for check in checks(solved)}
    for cell in solved.cells:
        data = cell.metadata.get("memlab", {})
        if (exercise := data.get("exercise")) is None:
            continue
        module, _, answer = data.get("answer", "").partition(":")
        answer = answer or names[exercise]
        module = module or next(m for m in modules if answer in module_space(m, root).statements)
        yield Task(exercise, name, answer, module, cell.id, tuple(data.get("with", ())))


# --- What stands in a learner's notebooks -----------------------------------------------------------------


def found_in(everything: Sequence[Task], notebooks: Path) -> list[Answer]:
    """The learner's answer to each task, or the reason why there is none; nothing is run."""
    answers: list[Answer] = []
    for name, group in groupby(everything, lambda task: task.notebook):
        wanted = list(group)
        try:
            answers += _answers_in(notebooks / name, wanted)
        except FileNotFoundError:
            answers += [Answer(task, reason=f"{name} is missing") for task in wanted]
        except Exception as error:  # a file may be broken in any way
            answers += [Answer(task, reason=f"{name} cannot be read ({sentence(error)})") for task in wanted]
    return answers


def _answers_in(path: Path, wanted: Sequence[Task]) -> list[Answer]:
    notebook = read(path)
    around = Space(path.name, answers={task.name: task.key for task in wanted})
    for cell in notebook.cells:
        if cell.cell_type == "code":
            with suppress(*NO_PYTHON):  # a magic, or a cell that would stop the learner as well
                _add(around, cell.source)
    return [_answer(task, notebook, around) for task in wanted]


def _add(space: Space, source: str) -> None:
    names_of([Statement(source, 1)])  # fails on code too deep to be followed
    space.add(source)


def _answer(task: Task, notebook: Notebook, around: Space) -> Answer:
    """The last cell of this exercise that is answered; else why there is none."""
    cells, remark = _cells(task, notebook)
    tried = [_read_cell(task, index, cell, around) for index, cell in cells]
    if not tried:
        return Answer(task, reason=f"its cell is gone from {task.notebook}")
    if tried[-1].reason == STUB and all(answer.item is None for answer in tried):
        beside, said = _beside(task, notebook)
        again = [_read_cell(task, index, cell, around) for index, cell in beside]
        if any(answer.item is not None for answer in again):
            tried, remark = again, said
    kept = next((answer for answer in reversed(tried) if answer.item is not None), tried[-1])
    return replace(kept, remark=remark)


def _beside(task: Task, notebook: Notebook) -> tuple[list[tuple[int, Cell]], str]:
    """The cells without a mark that define the answer, as beside a stub that the course changed."""
    code = [(index, cell) for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    found = [(i, cell) for i, cell in code if not _metadata(cell) and _defines(cell.source, task.name)]
    return (
        found,
        f"{task.notebook} has the answer in a cell of its own, beside the stub; move it into the stub's",
    )


def _cells(task: Task, notebook: Notebook) -> tuple[list[tuple[int, Cell]], str]:
    """The cells of an exercise, with a remark where they are not as the course had them."""
    code = [(index, cell) for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    marked = [pair for pair in code if _metadata(pair[1]).get("exercise") == task.id]
    if len(marked) > 1:
        return marked, f"{len(marked)} cells of {task.notebook} are {task.id}; the last one answered counts"
    if marked:
        index, cell = marked[0]
        lost = "exercise" not in cell.metadata.get("tags", [])
        return marked, f"{place(task.notebook, cell, index)} has lost the tag 'exercise'" if lost else ""
    same = [pair for pair in code if pair[1].get("id") == task.cell_id]
    same = same or [pair for pair in code if _defines(pair[1].source, task.name)]
    if not same:
        return [], ""
    index, cell = same[-1]
    return same[-1:], f"{place(task.notebook, cell, index)} has lost its mark, but defines {task.name}"


def _metadata(cell: Cell) -> Mapping[str, object]:
    data = cell.metadata.get("memlab", {})
    return data if isinstance(data, dict) else {}


def _defines(source: str, name: str) -> bool:
    space = Space("")
    with suppress(*NO_PYTHON):
        space.add(source)
    return name in space.statements


def _read_cell(task: Task, index: int, cell: Cell, around: Space) -> Answer:
    where = place(task.notebook, cell, index)
    own = Space(where, answers=around.answers, parent=around)
    try:
        _add(own, cell.source)
    except NO_PYTHON as error:
        said = f"{error.msg}, line {error.lineno}" if isinstance(error, SyntaxError) else sentence(error)
        return Answer(task, reason=f"{where} is not Python ({said})")
    if task.name not in own.statements:
        return Answer(task, reason=f"{where} does not define {task.name}")
    if is_stub(own.statements[task.name], task.id):
        return Answer(task, reason=STUB)
    return Answer(task, Item(own.statements[task.name], own))


def is_stub(statements: Sequence[Statement], exercise_id: str) -> bool:
    """Whether a function there can end in nothing but the stub's own `raise NotImplementedError("id")`.

    Anything else is for the check to judge, such as that line left standing below a `return`.
    """
    nodes = [node for statement in statements for node in ast.walk(ast.parse(statement.source))]
    functions = [node for node in nodes if isinstance(node, Function)]
    return any(_ends_as_stub(function, exercise_id) for function in functions)


def _ends_as_stub(function: ast.FunctionDef | ast.AsyncFunctionDef, exercise_id: str) -> bool:
    last = ast.unparse(function.body[-1]) == f"raise NotImplementedError({exercise_id!r})"
    answers = (ast.Return, ast.Yield, ast.YieldFrom)
    return last and not any(isinstance(node, answers) for node in ast.walk(function))


# --- The file ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Course:
    """The exercises of the workbook, and the file that answers to them make."""

    tasks: Sequence[Task]
    root: Path = ROOT

    @cached_property
    def lessons(self) -> dict[str, str]:
        """Each module that holds answers and the number of its lesson, in order."""
        return {task.module: task.notebook[:2] for task in self.tasks}

    @cached_property
    def solved(self) -> dict[str, Notebook]:
        """The solved notebooks by name."""
        names = dict.fromkeys(task.notebook for task in self.tasks)
        return {name: read(self.root / "solutions" / name) for name in names}

    @cached_property
    def titles(self) -> dict[str, str]:
        """The heading of each lesson, by its number."""
        heads = {name[:2]: solved.cells[0].source.splitlines()[0] for name, solved in self.solved.items()}
        return {lesson: head.partition(" · ")[2] for lesson, head in heads.items()}

    @cached_property
    def imports(self) -> dict[str, str]:
        """The imports of each notebook: a check may look for the names that it would find in the kernel."""
        return {name: "\n".join(_imports(solved)) for name, solved in self.solved.items()}

    def file(self, answers: Iterable[Answer]) -> str:
        """The gathered part without its head: every exercise, and what uses it."""
        items: dict[Key, Item] = {}
        for answer in answers:
            if answer.item is None:
                why = shorten(answer.reason, 80, placeholder=" …")
                items |= self._reference(answer.task, f"{answer.task.id} · from the reference: {why}")
            else:
                items[answer.task.key] = replace(answer.item, note=f"{answer.task.id} · yours")
        roots = dict.fromkeys([*(task.key for task in self.tasks), *USERS])
        return Weaver(items, self.lessons, list(roots), root=self.root).text(self.titles)

    def judged(self, answers: Sequence[Answer], limit: float) -> list[Answer]:
        """The answers without those that fail their check, or with which the file does not load."""
        kept = _without(answers, self._checked([a for a in answers if a.item is not None], limit))
        if any(answer.item is not None for answer in kept) and self._unloadable(kept):
            mine = [answer for answer in kept if answer.item is not None]
            alone = {a.task.id: self._unloadable(_only(kept, a)) for a in mine}
            kept = _without(
                kept, {id_: f"the file does not load with it ({why})" for id_, why in alone.items() if why}
            )
        return kept

    def _checked(self, mine: Sequence[Answer], limit: float) -> dict[str, str]:
        """What is wrong with which answer. Those of a notebook share a process; two such run at once."""
        groups = [list(group) for _, group in groupby(mine, lambda answer: answer.task.notebook)]
        with ThreadPoolExecutor(2) as pool:
            found = pool.map(partial(self._tried, limit=limit), groups)
            faults = [fault for faults in found for fault in faults]
        return {answer.task.id: fault for answer, fault in zip(mine, faults, strict=True) if fault}

    def _tried(self, group: Sequence[Answer], limit: float) -> list[str]:
        trials = [self._trial(answer) for answer in group]
        return try_out(trials, limit, imports=self.imports[group[0].task.notebook])

    def _unloadable(self, answers: Sequence[Answer]) -> str:
        return try_out([Trial("my_memory", before=self.file(answers))], START)[0]

    def _trial(self, answer: Answer) -> Trial:
        """One answer with its own helpers; whatever else it calls is the reference's."""
        assert answer.item is not None
        key = answer.task.key
        weaver = Weaver({key: answer.item}, self.lessons, [key], root=self.root, alone=True)
        helpers = [weaver.source(other) for other in weaver.order() if other != key]
        before = "\n".join([self.imports[answer.task.notebook], weaver.imports(), *helpers])
        statements = [(part.line, part.source) for part in weaver.statements(key)]
        return Trial(answer.task.id, answer.task.name, before, statements)

    def _reference(self, task: Task, note: str) -> dict[Key, Item]:
        space = module_space(task.module, self.root)
        names = (*task.given, task.name)
        return {(task.module, name): Item(space.statements[name], space, note) for name in names}


def _imports(solved: Notebook) -> Iterator[str]:
    for cell in solved.cells:
        if cell.cell_type == "code":
            for node in ast.parse(cell.source).body:
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    yield ast.unparse(node)


def _without(answers: Sequence[Answer], faults: Mapping[str, str]) -> list[Answer]:
    return [replace(a, item=None, reason=faults[a.task.id]) if a.task.id in faults else a for a in answers]


def _only(answers: Sequence[Answer], one: Answer) -> list[Answer]:
    return [answer if answer is one else replace(answer, item=None) for answer in answers]


def _kept(path: Path) -> tuple[str, str]:
    """The learner's own part of the file, and what was done to the part above it: "" for nothing."""
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return BEGINNING, ""
    except (OSError, UnicodeDecodeError) as error:
        raise LessonError(
            f"{path.name} cannot be read ({sentence(error)}); rename it, then run: make mine"
        ) from None
    above, line, below = text.partition(LINE)
    head, _, rest = above.partition("\n")
    if not line or not head.startswith(MARK):
        return (line + below or BEGINNING), "not written by make mine"
    same = head.rstrip("\r") == MARK + _digest(rest)
    return line + below, "" if same else "edited above its line"


def _digest(text: str) -> str:
    """A short digest; an editor that changes line ends or strips the last blanks has edited nothing."""
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return hashlib.sha256(lines.encode()).hexdigest()[:16]


def _whole(gathered: str, answers: Sequence[Answer], own_part: str) -> str:
    mine = [answer.task.id for answer in answers if answer.item is not None]
    given = [answer.task.id for answer in answers if answer.item is None]
    head = [
        '"""My memory system: what I built in the notebooks, in one file.',
        "",
        *_folded(f"Mine: {', '.join(mine) or 'nothing yet'}."),
        *_folded(f"From the reference: {', '.join(given) or 'nothing'}."),
        "",
        "Try it: python -m course.acceptance my_memory.py",
        '"""',
    ]
    above = "\n".join([*head, "", gathered, "", ""])
    return f"{MARK}{_digest(above)}\n{above}{own_part}"


def _folded(text: str) -> list[str]:
    return wrap(text, 108, subsequent_indent="    ", break_on_hyphens=False)


def _saved(path: Path) -> Path:
    """A copy of the file beside it, under a name that is free."""
    names = (path.with_name(f"{path.name}.bak{number or ''}") for number in count())
    copy = next(name for name in names if not name.exists())
    shutil.copy2(path, copy)
    return copy


def _write(path: Path, text: str) -> None:
    """All of the file, or the file as it was."""
    path = path.resolve()  # a link stays one
    names = (path.with_name(f"{path.name}.new{number or ''}") for number in count())
    new = next(name for name in names if not name.exists())
    new.write_bytes(text.encode())
    os.replace(new, path)


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """The command line; gives back the exit status."""
    parser = argparse.ArgumentParser(prog="python -m course.desk.mine", description=__doc__.splitlines()[0])
    parser.add_argument("--notebooks", type=Path, help="the folder of your notebooks; default: notebooks/")
    parser.add_argument("--to", type=Path, help="the file to write; default: my_memory.py")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for the check of one answer")
    parser.add_argument(
        "--force", action="store_true", help="save an edited file beside it, and write it anew"
    )
    options = parser.parse_args(argv)
    if options.limit <= 0:
        parser.error(f"--limit {options.limit:g}: give the seconds that a check may take, above 0")
    if options.to and not options.to.parent.is_dir():
        parser.error(f"--to {options.to}: name a file in a folder that exists")
    try:
        print(gather(options.notebooks, options.to, force=options.force, limit=options.limit, root=root))
    except LessonError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
