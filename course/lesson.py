"""A lesson as data: the exercises of a notebook, and the source of their answers.

Answers are read as text, by path: the course never imports what learners build.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parents[1]
"""The repository, as `pip install --editable` leaves it."""

Notebook = Any
Cell = Any
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class LessonError(Exception):
    """A notebook breaks a rule of the workbook; the message names notebook, cell and cure."""


@dataclass(frozen=True)
class Exercise:
    """One exercise cell: its id, where it stands, the object it defines and where the answer is.

    module: dotted name of the answer's module; name: the answer's name there; extra: further objects
    of that module that the answer needs; after: exercises that must be filled in before this one works.
    """

    id: str
    index: int
    stub: Definition
    module: str
    name: str
    extra: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """One check cell: the exercise it belongs to and the names of the objects it is given."""

    id: str
    index: int
    names: tuple[str, ...]


def read(path: Path) -> Notebook:
    """The notebook at `path`; raises LessonError when it is not one."""
    try:
        return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except OSError:
        raise
    except Exception as error:  # nbformat trips over JSON of another shape in many ways
        raise LessonError(
            f"{path.name}: not a notebook ({str(error)[:80]}); save it from JupyterLab"
        ) from None


def place(notebook_name: str, cell: Cell, index: int) -> str:
    """How messages name a cell: notebook, number (as counted from 1) and cell id."""
    return f"{notebook_name} cell {index + 1} ({cell.get('id', 'no id')})"


def exercise_of(cell: Cell) -> object:
    """The exercise that a cell says it is, None for other cells; a learner may have put anything there."""
    data = cell.metadata.get("memlab")
    return data.get("exercise") if isinstance(data, dict) else None


def exercises(notebook: Notebook, name: str, root: Path = ROOT) -> list[Exercise]:
    """Every cell tagged `exercise`, in order. Raises LessonError for one that cannot be understood."""
    modules = notebook.metadata.get("memlab", {}).get("answers", [])
    found = []
    for index, cell in enumerate(notebook.cells):
        if "exercise" in cell.metadata.get("tags", []):
            found.append(_exercise(cell, index, place(name, cell, index), modules, root))
    return found


def checks(notebook: Notebook) -> Iterator[Check]:
    """Every cell that consists of `check("id", …)`, in order."""
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and (call := _check_call(cell.source)) is not None:
            names = tuple(arg.id if isinstance(arg, ast.Name) else ast.unparse(arg) for arg in call.args[1:])
            yield Check(str(ast.literal_eval(call.args[0])), index, names)


def defined(module: str, root: Path = ROOT) -> dict[str, ast.stmt]:
    """What a module of the repository defines at its top, by name. Raises LessonError."""
    return _module(root, module)[1]


def answer(exercise: Exercise, root: Path = ROOT) -> tuple[str, Definition]:
    """The source of the answer's module and the node of the answer in it. Raises LessonError."""
    source, nodes = _module(root, exercise.module)
    node = nodes.get(exercise.name)
    if not isinstance(node, Definition):
        raise LessonError(
            f"{exercise.id}: {exercise.module} defines no {exercise.name!r}; "
            'write it there, or name the answer in the cell\'s metadata: "answer": "module:name"'
        )
    return source, node


def extra_source(exercise: Exercise, root: Path = ROOT) -> list[str]:
    """The source of each object of `exercise.extra`, in the order listed. Raises LessonError."""
    source, nodes = _module(root, exercise.module)
    missing = [name for name in exercise.extra if name not in nodes]
    if missing:
        raise LessonError(
            f'{exercise.id}: {exercise.module} defines no {missing[0]!r}; correct "with" in its metadata'
        )
    return [segment(source, nodes[name]) for name in exercise.extra]


def segment(source: str, node: ast.stmt) -> str:
    """The lines of `node` in `source`, decorators included."""
    return "\n".join(source.splitlines()[first_line(node) - 1 : node.end_lineno])


def first_line(node: ast.stmt) -> int:
    """The number of the line on which `node` begins, counted from 1; a decorator's, if it has one."""
    decorators = node.decorator_list if isinstance(node, Definition) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def functions(node: Definition) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The function itself, or a class's methods."""
    if not isinstance(node, ast.ClassDef):
        return [node]
    return [method for method in node.body if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef))]


def _exercise(cell: Cell, index: int, where: str, modules: list[str], root: Path) -> Exercise:
    data = cell.metadata.get("memlab", {})
    exercise_id = data.get("exercise")
    if not isinstance(exercise_id, str) or not re.fullmatch(r"\d\d(-[a-z0-9]+)+", exercise_id):
        raise LessonError(
            f'{where}: no exercise id; add {{"memlab": {{"exercise": "01-cosine"}}}} to its metadata'
        )
    stub = _single_definition(cell.source, where)
    module, _, name = data.get("answer", "").partition(":")
    if not module:
        name = stub.name
        holders = [known for known in modules if name in _module(root, known)[1]]
        if len(holders) != 1:
            raise LessonError(
                f"{where}: {name!r} is defined in {len(holders)} of the answer modules {modules}; "
                'list its module in the notebook\'s metadata, or say "answer": "module:name" in the cell\'s'
            )
        module = holders[0]
    extra, after = tuple(data.get("with", ())), tuple(data.get("after", ()))
    return Exercise(exercise_id, index, stub, module, name or stub.name, extra, after)


def _single_definition(source: str, where: str) -> Definition:
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        raise LessonError(
            f"{where}: the stub is not Python ({error.msg}, line {error.lineno}); correct it"
        ) from None
    if len(body) != 1 or not isinstance(body[0], Definition):
        raise LessonError(
            f"{where}: an exercise cell holds exactly one function or class; move the rest to other cells"
        )
    return body[0]


def _check_call(source: str) -> ast.Call | None:
    try:
        body = ast.parse(source).body
    except SyntaxError:  # an IPython magic: not a check
        return None
    if len(body) != 1 or not isinstance(body[0], ast.Expr) or not isinstance(body[0].value, ast.Call):
        return None
    call = body[0].value
    is_check = isinstance(call.func, ast.Name) and call.func.id == "check"
    return call if is_check and call.args and isinstance(call.args[0], ast.Constant) else None


def _module(root: Path, module: str) -> tuple[str, dict[str, ast.stmt]]:
    stem = root.joinpath(*module.split("."))
    path = next((p for p in (stem.with_suffix(".py"), stem / "__init__.py") if p.is_file()), None)
    if path is None:
        raise LessonError(
            f"answer module {module!r} is not in the repository; correct the notebook's metadata"
        )
    source = path.read_text(encoding="utf-8")
    return source, _definitions(source)


@lru_cache(maxsize=64)
def _definitions(source: str) -> dict[str, ast.stmt]:
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(source).body:
        if isinstance(node, Definition):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            found |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
    return found
