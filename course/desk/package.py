"""A learner's pieces of Python, spliced into the modules of a package."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import re
import tokenize
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from course.desk.hand_in import global_names, plain
from course.lesson import Definition, first_line

CHANGES = (
    "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "sort",
    "update",
)  # fmt: skip
"""Methods that change the object they belong to."""
DIGESTS = ".written.json"
"""Digests of the files of a package as they were written: what differs now was edited since."""


@dataclass(frozen=True)
class Piece:
    """One statement at the top of a cell, with the comments above it.

    at: its cell and its place there. used, defined: global names. fills: names whose objects it changes as it
    runs. imports: the module that it imports from, "" for all else.
    """

    at: tuple[int, int]
    source: str
    used: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()
    fills: frozenset[str] = frozenset()
    imports: str = ""

    def only(self, name: str) -> Piece:
        """An import of `name` alone; any other piece as it is."""
        if not self.imports:
            return self
        node = ast.parse(self.source).body[0]
        assert isinstance(node, (ast.Import, ast.ImportFrom))
        node.names = [a for a in node.names if (a.asname or a.name.partition(".")[0]) == name]
        return replace(self, source=ast.unparse(node), defined=frozenset([name]))


@dataclass(frozen=True)
class Splice:
    """An answer to put in the place of the definition of `name`, below the helpers that it uses."""

    id: str
    name: str
    answer: tuple[Piece, ...]
    helpers: tuple[Piece, ...] = ()


def pieces(source: str, index: int) -> list[Piece]:
    """The statements of a cell, or of a module. Raises what NO_PYTHON names.

    Example:
    >>> [(p.source, sorted(p.defined)) for p in pieces("# why\\na = 1\\n%time f(a)\\ndef f(x): return x", 0)]
    [('# why\\na = 1', ['a']), ('def f(x): return x', ['f'])]
    """
    text, end, found = plain(source), 0, []
    lines = text.splitlines()
    for number, node in enumerate(ast.parse(text).body):
        chunk = "\n".join(lines[end : node.end_lineno]).strip("\n")
        end = node.end_lineno or end
        used, defined = global_names(ast.unparse(node)) or (set(), set())
        module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        module = node.names[0].name if isinstance(node, ast.Import) else module
        if module != "__future__":
            parts = frozenset(used), frozenset(defined), frozenset(_fills(node)), module
            found.append(Piece((index, number), chunk, *parts))
    return found


def _fills(node: ast.stmt) -> Iterator[str]:
    """The names whose objects a statement changes: `UNITS[key] = 1`, `UNITS.append(1)`."""
    if isinstance(node, Definition):
        return
    for part in ast.walk(node):
        target: ast.AST = part
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in CHANGES:
            target = part.func.value
        elif not isinstance(part, (ast.Subscript, ast.Attribute)) or isinstance(part.ctx, ast.Load):
            continue
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
        if isinstance(target, ast.Name):
            yield target.id


def spliced(text: str, splices: Sequence[Splice], marks: Mapping[str, str]) -> tuple[str, frozenset[int]]:
    """The module `text` with each splice in its place, and the numbers of the lines that are the learner's.

    marks: a comment for each answer's name. Where a helper has the name of something in the module, the
    module's own gets another: each keeps its meaning.
    """
    nodes = {name: node for node in ast.parse(text).body for name in _names(node)}
    answers = {splice.name for splice in splices}
    blocks: dict[str, list[Piece]] = {name: [] for name in marks}
    placed = _copies([piece for splice in splices for piece in splice.helpers], nodes)
    for splice in sorted(splices, key=lambda splice: nodes[splice.name].lineno):
        for piece in (*splice.helpers, *splice.answer):
            if piece not in placed:
                blocks.setdefault(splice.name, []).append(piece)
                placed.append(piece)
    theirs = frozenset().union(*(piece.defined for block in blocks.values() for piece in block)) - answers
    lines = _renamed(text, theirs).splitlines()
    made, yours, end = list[str](), set[int](), 0
    for name in sorted(blocks, key=lambda name: nodes[name].lineno):
        node, own = nodes[name], "\n\n\n".join(piece.source for piece in blocks[name]).splitlines()
        made += [*lines[end : first_line(node) - 1], *([marks[name]] if name in marks else [])]
        yours |= set(range(len(made) + 1, len(made) + len(own) + 1))
        end = (node.end_lineno or 0) if own else first_line(node) - 1
        made += own
    return "\n".join([*made, *lines[end:]]) + "\n", frozenset(yours)


def _copies(helpers: Sequence[Piece], nodes: Mapping[str, ast.stmt]) -> list[Piece]:
    """The helpers that are what the module has already, and use nothing that differs from it."""
    known = {ast.dump(node) for node in nodes.values()}
    copies = [piece for piece in helpers if ast.dump(ast.parse(piece.source).body[0]) in known]
    while True:
        own = frozenset().union(*(piece.defined for piece in helpers if piece not in copies))
        if not any(piece.used & own for piece in copies):
            return copies
        copies = [piece for piece in copies if not piece.used & own]


def _renamed(text: str, names: Collection[str]) -> str:
    """The module with `name_given` for each of `names`, its lines as they were."""
    if not names:
        return text
    lines, before = text.splitlines(), ""
    imports = {n for node in ast.parse(text).body if isinstance(node, (ast.Import, ast.ImportFrom))
               for n in range(node.lineno, (node.end_lineno or 0) + 1)}  # fmt: skip
    places = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        formatted = (
            token.type == tokenize.STRING and "f" in token.string.lower().partition(token.string[-1])[0]
        )
        if (token.type == tokenize.NAME and token.string in names and before != ".") or formatted:
            places.append((token, formatted))
        before = token.string
    for token, formatted in reversed(places):
        (row, start), (last, end) = token.start, token.end
        new = f"{token.string} as {token.string}_given" if row in imports else f"{token.string}_given"
        if formatted:
            new = re.sub(rf"(?<![\w.])({'|'.join(names)})(?!\w)", r"\1_given", token.string)
        whole = lines[row - 1][:start] + new + lines[last - 1][end:]
        lines[row - 1 : last] = whole.splitlines()
    return "\n".join(lines)


def _names(node: ast.stmt) -> list[str]:
    """What a statement of a module defines that a learner's may take the place of."""
    if isinstance(node, Definition):
        return [node.name]
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    return [target.id for target in targets if isinstance(target, ast.Name)]


def digest(text: str) -> str:
    """A short digest; an editor that changes line ends or strips the last blanks has edited nothing."""
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return hashlib.sha256(lines.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def write(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Write `files` into `folder`, but for those that were edited since; the names of these."""
    notes = folder / DIGESTS
    before: dict[str, str] = json.loads(notes.read_text(encoding="utf-8")) if notes.exists() else {}
    kept, written = [], dict(before)
    for name, text in files.items():
        file = folder / name
        if file.exists() and digest(file.read_bytes().decode("utf-8", "replace")) != before.get(name):
            kept.append(name)
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        written[name] = digest(text)
    notes.write_text(json.dumps(written, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return kept
