"""Every small edit of a reference answer: what a check must tell from the right one.

A comparison is turned, a condition, an argument or a statement dropped, a transaction taken away, a constant
moved; one edit at a time. Docstrings, types and `raise` statements stay as they are.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib
import io
import signal
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

from course.check import check
from course.lesson import Definition, Exercise, answer
from memlab import clock

SECONDS = 5
"""How long a check may take with one edit: then it is interrupted, and counts as rejected."""

OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or,
    ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
WRAPPERS = ("sorted", "round", "set", "list", "tuple", "dict.fromkeys", "reversed", "abs")
KEPT = (ast.Return, ast.FunctionDef, ast.Raise)

Edit = Callable[[Any], Any]
"""Changes a node in place, or gives back what takes its place."""


class Mutant(NamedTuple):
    """The definition with one small edit, and that edit as "before => after".

    wording: the edit only changes a text with a blank in it, such as a person reads; nobody's business.
    """

    edit: str
    source: str
    wording: bool


def mutants(definition: Definition) -> Iterator[Mutant]:
    """The definition with each small edit in turn."""
    untouched = _untouched(definition)
    before, seen, names = ast.unparse(definition), set(), set()
    for index, node in enumerate(ast.walk(definition)):
        for edit in () if id(node) in untouched else _edits(node, untouched):
            tree = copy.deepcopy(definition)
            twin = list(ast.walk(tree))[index]
            taken = edit(twin)
            if taken is not None:
                tree = _Replaced(twin, taken).visit(tree)
            source = ast.unparse(ast.fix_missing_locations(tree))
            if source == before or source in seen:
                continue
            seen.add(source)
            name = stem = _difference(before, source)
            while name in names:
                name = f"{stem} #{int(name.rpartition(' #')[2]) + 1 if name != stem else 2}"
            names.add(name)
            wording = isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
            yield Mutant(name, source, wording)


def _untouched(definition: Definition) -> set[int]:
    """Ids of the nodes that no edit touches: docstrings, types, and what is raised."""
    parts: list[ast.AST] = []
    for node in ast.walk(definition):
        parts += [part for name in ("annotation", "returns") if (part := getattr(node, name, None))]
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            parts.append(node.body[0])
        if isinstance(node, ast.Raise):
            parts.append(node)
    return {id(node) for part in parts for node in ast.walk(part)}


def _edits(node: ast.AST, untouched: set[int]) -> Iterator[Edit]:
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            if type(op) in OTHER:
                yield _set(lambda n, k=k, op=op: n.ops.__setitem__(k, OTHER[type(op)]()))
    elif isinstance(node, ast.BoolOp):
        yield _set(lambda n: setattr(n, "op", OTHER[type(n.op)]()))
        for k in range(len(node.values)):
            yield _set(lambda n, k=k: n.values.pop(k))
    elif isinstance(node, ast.BinOp) and type(node.op) in OTHER:
        yield _set(lambda n: setattr(n, "op", OTHER[type(n.op)]()))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield lambda n: n.operand
    elif isinstance(node, ast.Constant):
        for value in _moved(node.value):
            yield _set(lambda n, value=value: setattr(n, "value", value))
    elif isinstance(node, ast.Call):
        for k in range(len(node.keywords)):
            yield _set(lambda n, k=k: n.keywords.pop(k))
        if len(node.args) == 1 and not node.keywords and ast.unparse(node.func) in WRAPPERS:
            yield lambda n: n.args[0]
    elif isinstance(node, ast.comprehension):
        for k in range(len(node.ifs)):
            yield _set(lambda n, k=k: n.ifs.pop(k))
    elif isinstance(node, (ast.If, ast.IfExp)):
        for value in (True, False):
            yield _set(lambda n, value=value: setattr(n, "test", ast.Constant(value)))
    elif isinstance(node, ast.Slice):
        for part in ("lower", "upper", "step"):
            if getattr(node, part) is not None:
                yield _set(lambda n, part=part: setattr(n, part, None))
    yield from _statement_edits(node, untouched)


def _statement_edits(node: ast.AST, untouched: set[int]) -> Iterator[Edit]:
    for part in ("body", "orelse"):
        statements = getattr(node, part, None)
        for k, statement in enumerate(statements if isinstance(statements, list) else []):
            if isinstance(statement, ast.stmt) and not isinstance(statement, KEPT):
                if id(statement) not in untouched:
                    yield _set(lambda n, part=part, k=k: getattr(n, part).__setitem__(k, ast.Pass()))
                if isinstance(statement, ast.With):
                    inner = len(statement.body)
                    yield _set(
                        lambda n, part=part, k=k, inner=inner: getattr(n, part).__setitem__(
                            slice(k, k + 1), getattr(n, part)[k].body[:inner]
                        )
                    )


def _set(change: Callable[[Any], object]) -> Edit:
    """An edit in place, which gives back nothing to put there instead."""

    def edit(node: Any) -> None:
        change(node)

    return edit


def _moved(value: object) -> Sequence[object]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        return [value + 1, value * 2 if value else -1]
    return [f"{value}X"] if isinstance(value, str) and value else []


class _Replaced(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


def _difference(before: str, after: str) -> str:
    """The lines that differ, without what they share at both ends but for the word next to it."""
    old, new = before.splitlines(), after.splitlines()
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    a, b = (" ".join(line.strip() for line in lines) for lines in (old, new))
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    start = max(0, a.rfind(" ", 0, max(0, start - 12)) + 1)
    a, b = a[start:], b[start:]
    most = min(len(a), len(b))
    end = next((i for i in range(most) if a[-1 - i] != b[-1 - i]), most)
    cut = a.find(" ", len(a) - end + 12) if end else -1
    tail = len(a) - cut if cut >= 0 else 0
    return f"{a[: len(a) - tail]} => {b[: len(b) - tail]}"


def survivors(exercise: Exercise, others: Sequence[object]) -> list[Mutant]:
    """The edits of the answer that its check lets pass; others: what it is given besides the answer."""
    return [mutant for mutant in mutants(answer(exercise)[1]) if _passes(mutant, exercise, others)]


def _passes(mutant: Mutant, exercise: Exercise, others: Sequence[object]) -> bool:
    space = dict(vars(importlib.import_module(exercise.module)))
    silent = io.StringIO()
    previous = signal.signal(signal.SIGALRM, _interrupt)
    signal.alarm(SECONDS)
    try:
        with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
            exec(compile(f"from __future__ import annotations\n{mutant.source}", exercise.id, "exec"), space)
            return check(exercise.id, space[exercise.name], *others).status == "passed"
    except (Exception, KeyboardInterrupt, SystemExit):  # the edit made a definition that cannot even be read
        return False
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
        clock.unfreeze()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
