"""What a learner hands in: which notebook of the course a file is, and which of its cells is whose.

One rule, for grading, gathering and update. A cell is an exercise's by its `memlab` metadata, else by its id,
else by what it defines; of several, the last one that is answered counts. A file is the notebook whose cells
it holds, whatever it is called: `Aufgabe 4 final.ipynb`, a Duplicate, `.ipynb.json`, a notebook in a zip.
Only where it holds none of the course's cells, or cannot be read, its name decides. Of several files that are
one notebook the one with more answered exercises counts.
"""

from __future__ import annotations

import ast
import dis
import json
import os
import re
import tempfile
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import CodeType

from course.lesson import ROOT, Cell, Notebook, checks, exercise_of, read

NO_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What reading a cell as Python may raise."""
PYTHON_INSIDE = ("time", "timeit", "capture", "prun")
"""The magics whose cell is Python all the same."""
LARGEST = 50_000_000
"""Bytes of a file in an archive: no notebook is larger."""
COPY = re.compile(r"-copy\d*|[\W\d_]+|\b(final|copy|kopie|new|neu|old|alt|v|version)\b", re.IGNORECASE)
"""What a name may have beside the notebook's without being a person's."""


@dataclass(frozen=True)
class Task:
    """One exercise of the course, as the notebook has it that nobody edits.

    names: the objects its check is given, its own first. modules: where the answer may stand; answer: its
    name there. after: exercises it builds upon.
    """

    id: str
    notebook: str
    cell_id: str
    names: tuple[str, ...]
    answer: str
    modules: tuple[str, ...]
    after: tuple[str, ...] = ()


def course(root: Path = ROOT) -> list[str]:
    """The names of the course's notebooks, as the solved ones have them: nobody edits those."""
    return sorted(path.name for path in (root / "solutions").glob("[0-9][0-9]_*.ipynb"))


@cache
def tasks(name: str, root: Path = ROOT) -> tuple[Task, ...]:
    """The exercises of the course's notebook `name`, in order."""
    return tasks_in(read(root / "solutions" / name), name)


def tasks_in(notebook: Notebook, name: str) -> tuple[Task, ...]:
    """The exercises of one of the course's notebooks, solved or not."""
    cells = {exercise_of(cell): cell for cell in notebook.cells if exercise_of(cell)}
    listed = notebook.metadata.get("memlab", {}).get("answers", [])
    found = []
    for check in checks(notebook):
        if (cell := cells.get(check.id)) is not None:
            module, _, answer = cell.metadata.memlab.get("answer", "").partition(":")
            modules, after = (
                tuple([module] if module else listed),
                tuple(cell.metadata.memlab.get("after", ())),
            )
            found.append(
                Task(check.id, name, cell.get("id"), check.names, answer or check.names[0], modules, after)
            )
    return tuple(found)


@cache
def given(name: str, root: Path = ROOT) -> Mapping[str, str]:
    """The sources of the course's code cells that are no exercise, by cell id."""
    cells = [cell for cell in read(root / "solutions" / name).cells if cell.cell_type == "code"]
    return {c.id: c.source for c in cells if "exercise" not in c.metadata.get("tags", [])}


# --- Cells ------------------------------------------------------------------------------------------------


def claim(task: Task, cell: Cell, courses: Collection[str] = ()) -> int | None:
    """How a cell shows that it is the task's: 0 by metadata, 1 by its id, 2 by what it defines; else None.

    courses: sources of cells that the learner did not write.
    """
    if exercise_of(cell) == task.id:
        return 0
    if cell.get("id") == task.cell_id:
        return 1
    return 2 if cell.source not in courses and _defines(task.names[0]).search(cell.source) else None


def home(task: Task, cells: Sequence[Cell], courses: Collection[str] = ()) -> int | None:
    """The index of the cell that is the learner's answer, else of the task's stub, else None."""
    claims = {
        index: how
        for index, cell in enumerate(cells)
        if cell.cell_type == "code" and (how := claim(task, cell, courses)) is not None
    }
    ranks = {index: (not answered(task, cells[index].source), how, -index) for index, how in claims.items()}
    return min(ranks, key=ranks.__getitem__, default=None)


@cache
def _defines(name: str) -> re.Pattern[str]:
    return re.compile(
        rf"^((async +)?def|class) +{re.escape(name)}\b|^{re.escape(name)}\b[^=\n(]*=(?!=)", re.MULTILINE
    )


def answered(task: Task, source: str) -> bool:
    """Whether the cell holds more than the stub. What is no Python was meant as an answer."""
    try:
        tree = ast.parse(plain(source))
    except NO_PYTHON:
        return True
    return bool(tree.body) and not any(
        _ends_as_stub(node, task.id)
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    )


def _ends_as_stub(function: ast.FunctionDef | ast.AsyncFunctionDef, exercise_id: str) -> bool:
    """Whether it can end in nothing but `raise NotImplementedError("id")`; the check judges all else."""
    last = ast.unparse(function.body[-1]) == f"raise NotImplementedError({exercise_id!r})"
    answers = (ast.Return, ast.Yield, ast.YieldFrom)
    return last and not any(isinstance(node, answers) for node in ast.walk(function))


def global_names(text: str) -> tuple[set[str], set[str]] | None:
    """The global names that code uses and those it defines; None when it is not plain Python."""
    try:
        waiting, used, defined = [compile(text, "cell", "exec", dont_inherit=True)], set[str](), set[str]()
    except NO_PYTHON:  # the last two: nested too deeply
        return None
    while waiting:
        code = waiting.pop()
        waiting += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"):
                used.add(step.argval)
            elif step.opname == "STORE_GLOBAL" or (
                step.opname == "STORE_NAME" and code.co_name == "<module>"
            ):
                defined.add(step.argval)
    return used, defined


def plain(source: str) -> str:
    """A cell without its magics, each other line in its place. Raises what NO_PYTHON names.

    Example:
    >>> plain("%%time\\ndef f():\\n    !echo hi\\n    return 1\\nf?")
    '\\ndef f():\\n    pass\\n    return 1\\n'
    """
    try:
        ast.parse(source)
        return source
    except SyntaxError:
        first, _, rest = source.partition("\n")
        if (magic := re.match(r"\s*%%(\w+)", first)) is not None:
            return "\n" + plain(rest) if magic[1] in PYTHON_INSIDE else ""
    from IPython.core.inputtransformer2 import TransformerManager

    text = TransformerManager().transform_cell(source)  # type: ignore[no-untyped-call]
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Expr, ast.Assign)) and "get_ipython()." in ast.unparse(node.value):
            lines[node.lineno - 1] = " " * node.col_offset + "pass" if node.col_offset else ""
    return "\n".join(lines)


# --- Files ------------------------------------------------------------------------------------------------


def recognised(path: Path, root: Path = ROOT) -> str | None:
    """The course's name for the notebook that a file holds, such as "03_extraction.ipynb"; else None."""
    if not re.search(r"\.ipynb(\.\w+)?$", path.name, re.IGNORECASE) or path.name.startswith("."):
        return None
    if "-checkpoint" in path.name:
        return None
    marks, source = _marks(path)
    known = {name: len(marks & _all_marks(name, root)) for name in course(root)}
    if any(known.values()):
        return max(known, key=known.__getitem__)
    called = next((name for name in known if Path(name).stem in path.name.lower()), None)
    return called or next((name for name in known if _defines_half(source, tasks(name, root))), None)


def _marks(path: Path) -> tuple[set[str], str]:
    """Every exercise and every cell id in a file, and its code; nothing when it cannot be read."""
    marks, code = set[str](), list[str]()
    try:
        for cell in json.loads(path.read_bytes())["cells"]:
            data = cell.get("metadata", {}).get("memlab")
            marks |= {str(cell.get("id")), str(data.get("exercise") if isinstance(data, dict) else None)}
            code.append("".join(cell["source"]) if cell["cell_type"] == "code" else "")
    except Exception:  # a file may be broken in any way, and is then known by its name
        return set(), ""
    return marks, "\n".join(code)


@cache
def _all_marks(name: str, root: Path) -> frozenset[str]:
    cells = read(root / "solutions" / name).cells
    return frozenset({cell.id for cell in cells} | {str(exercise_of(cell)) for cell in cells}) - {"None"}


def _defines_half(source: str, wanted: Sequence[Task]) -> bool:
    return bool(wanted) and 2 * sum(bool(_defines(t.names[0]).search(source)) for t in wanted) > len(wanted)


def sorted_out(files: Iterable[Path], root: Path = ROOT) -> dict[str, list[Path]]:
    """The files that are notebooks of the course, by its name for each; the one that counts comes first."""
    found: dict[str, list[Path]] = {}
    for file in files:
        if name := recognised(file, root):
            found.setdefault(name, []).append(file)
    return {name: sorted(same, key=_rank(name, root)) for name, same in sorted(found.items())}


def _rank(name: str, root: Path) -> Callable[[Path], tuple[int, bool, int, Path]]:
    """The order of files that are one notebook: most answers first, then the exact name, then the topmost."""
    return lambda file: (-_done(file, name, root), file.name != name, len(file.parts), file)


def _done(file: Path, name: str, root: Path) -> int:
    """How many exercises are answered in a file; -1 when it cannot be read."""
    try:
        cells = read(file).cells
        homes = [(task, home(task, cells)) for task in tasks(name, root)]
        return sum(at is not None and answered(task, cells[at].source) for task, at in homes)
    except Exception:  # it may be broken in any way
        return -1


# --- Learners ---------------------------------------------------------------------------------------------


class NothingHandedIn(Exception):
    """There is no notebook at the path given; the message names it and the way out."""


@dataclass(frozen=True)
class HandIn:
    """One learner's notebooks, by the course's name for each.

    passed_over: further files that are one of them. unpacked: where archives lie until this is gone.
    """

    learner: str
    notebooks: Mapping[str, Path]
    passed_over: tuple[Path, ...] = ()
    unpacked: object = field(default=None, compare=False, repr=False)


def hand_ins(path: Path, root: Path = ROOT) -> list[HandIn]:
    """What there is at `path`: a notebook, an archive, a learner's folder, or one with all of theirs.

    Raises NothingHandedIn when none of the course's notebooks is there, or several learners' in one folder.
    """
    if path.is_file() and not zipfile.is_zipfile(path):
        name = recognised(path, root)
        if name is None:
            known = ", ".join(course(root)) or "none; run make notebooks"
            raise NothingHandedIn(f"{path}: not a notebook of the course; name it as it was ({known})")
        return [HandIn(_learner(path.parent), {name: path})]
    if not path.exists():
        raise NothingHandedIn(
            f"{path}: there is no such file or folder; give a notebook or a folder of notebooks"
        )
    place = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    folder = path if path.is_dir() else _unpack(path, Path(place.name))
    return [replace(hand_in, unpacked=place) for hand_in in _learners(folder, Path(place.name), root)]


def _learners(folder: Path, place: Path, root: Path) -> list[HandIn]:
    inside = [entry for entry in sorted(folder.iterdir()) if not _ignored(entry.name)]
    direct = [file for file in inside if file.is_file() and recognised(file, root)]
    archives = [file for file in inside if file.is_file() and zipfile.is_zipfile(file)]
    if (folder / "notebooks").is_dir() or (len(archives) == 1 and len(inside) == 1):
        own = _hand_in(_learner(folder), folder, place, root)
        if own.notebooks:
            return [own]
    below = [_hand_in(entry.stem if entry in archives else entry.name, entry, place, root)
             for entry in inside if entry.is_dir() or (entry in archives and not direct)]  # fmt: skip
    if direct:
        _one_learners(direct, [hand_in.learner for hand_in in below if hand_in.notebooks], root)
        return [_hand_in(_learner(folder), folder, place, root)]
    if not any(hand_in.notebooks for hand_in in below):
        known = ", ".join(course(root)) or "none; run make notebooks"
        raise NothingHandedIn(
            f"{folder}: no notebook of the course in it or one folder below (looked for {known})"
        )
    return below


def gathered(paths: Iterable[Path], root: Path = ROOT) -> list[HandIn]:
    """What there is at all of `paths`; notebooks named one by one from one folder are one learner's.

    Raises NothingHandedIn.
    """
    found: list[HandIn] = []
    loose: dict[Path, HandIn] = {}
    for path in paths:
        for hand_in in hand_ins(path, root):
            if path not in hand_in.notebooks.values():
                found.append(hand_in)
                continue
            before = loose.get(path.parent, HandIn(hand_in.learner, {})).notebooks
            if twice := [before[name] for name in hand_in.notebooks if before.get(name, path) != path]:
                raise NothingHandedIn(f"{twice[0]} and {path} are one notebook; grade one at a time")
            loose[path.parent] = HandIn(hand_in.learner, {**before, **hand_in.notebooks})
    return [*found, *loose.values()]


def _one_learners(direct: Sequence[Path], below: Sequence[str], root: Path) -> None:
    """Raises NothingHandedIn for notebooks of several learners, or of one beside a whole class."""
    if below:
        raise NothingHandedIn(
            f"{direct[0]} is beside folders that have notebooks too ({', '.join(below)}); "
            "move it into its learner's folder, or name the folders or notebooks to grade one by one"
        )
    people: dict[str, Path] = {}
    for file in direct:
        stem = Path(recognised(file, root) or "").stem
        before, stands, after = re.split(r"\.ipynb", file.name.lower())[0].partition(stem)
        if stands and (who := COPY.sub("", before + after)):
            people.setdefault(who, file)
    if len(people) > 1:
        first, second, *_ = people.values()
        raise NothingHandedIn(
            f"{first} and {second.name} seem to be two learners' in one folder; "
            "give each learner a folder of their own"
        )


def _hand_in(learner: str, entry: Path, place: Path, root: Path) -> HandIn:
    """The course's notebooks in a folder or an archive, wherever in it."""
    found = sorted_out(_files(entry, place), root)
    return HandIn(
        learner,
        {name: same[0] for name, same in found.items()},
        tuple(sorted(file for same in found.values() for file in same[1:])),
    )


def _files(entry: Path, place: Path) -> Iterator[Path]:
    """Every file in a folder, those in its archives as well."""
    folder = entry if entry.is_dir() else _unpack(entry, place)
    for at, inner, files in os.walk(folder):
        inner[:] = sorted(name for name in inner if not _ignored(name))
        for file in sorted(Path(at, name) for name in files if not _ignored(name)):
            if file.suffix.lower() == ".zip" and zipfile.is_zipfile(file) and place not in file.parents:
                yield from _files(file, place)
            else:
                yield file


def _unpack(archive: Path, place: Path) -> Path:
    """The notebooks and modules of a zip, in a folder of its name below `place`."""
    folder = Path(tempfile.mkdtemp(dir=place), archive.stem)
    folder.mkdir()
    with zipfile.ZipFile(archive) as packed:
        for item in packed.infolist():
            if (
                re.search(r"\.ipynb(\.\w+)?$|\.py$", item.filename, re.IGNORECASE)
                and item.file_size < LARGEST
            ):
                try:
                    packed.extract(item, folder)
                except (RuntimeError, zipfile.BadZipFile, OSError) as error:
                    raise NothingHandedIn(
                        f"{archive}: {item.filename} cannot be unpacked ({error})"
                    ) from None
    return folder


def _ignored(name: str) -> bool:
    """A learner's clone has the course's solved notebooks too, and what `update` put aside."""
    return name.startswith((".", "__")) or name in ("solutions", "backup")


def _learner(folder: Path) -> str:
    folder = folder.resolve()
    return folder.parent.name if folder.name == "notebooks" else folder.name
