"""From parts to one module: the definitions that some functions need, gathered into a file a person can read.

A *space* is where a name is looked up: a module, a notebook, a cell. An *item* is a name in a space, with the
statements that bind it. `Weaver` follows the names from item to item, across modules, and writes out

- every answer to an exercise (the learner's, or the reference in its place),
- what calls an answer, however indirectly, so that the answers really use each other,
- a learner's own helpers.

Everything else is imported. Where two lessons use one name for two things, the later one gets its lesson's
number: `RULES` and `RULES_08`. All of it works on text: nothing of the learner's runs here.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from course.lesson import ROOT, first_line

Key = tuple[str, str]
"""A space's label and a name in it; for what is imported from outside, the module and the name there."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
COMPREHENSION = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
CHANGES = frozenset(
    {
        *("add", "append", "appendleft", "clear", "discard", "extend"),
        *("insert", "pop", "remove", "setdefault", "sort", "update"),
    }
)
"""The methods by which lists, sets and dicts are filled."""
FUTURE = "from __future__ import annotations"
WIDTH = 110


@dataclass(frozen=True)
class Import:
    """What an import statement binds: `name` of `module`, or the module itself when `name` is ""."""

    module: str
    name: str
    for_types: bool = False


@dataclass(frozen=True)
class Statement:
    """One top-level statement and the line on which it begins in its cell or module, counted from 1."""

    source: str
    line: int


@dataclass
class Space:
    """The names that a module, a notebook or a cell binds at its top level; the rest is its parent's.

    answers: names that stand for the answers to exercises, with the answers' keys. Those come first.
    """

    label: str
    statements: dict[str, list[Statement]] = field(default_factory=dict)
    imports: dict[str, Import] = field(default_factory=dict)
    answers: Mapping[str, Key] = field(default_factory=dict)
    parent: Space | None = None

    def add(self, source: str) -> None:
        """Take in what `source` binds; a name bound anew is replaced. Raises SyntaxError, adding nothing."""
        source = source.replace("\r\n", "\n").replace("\r", "\n")
        lines = source.split("\n")  # as Python counts them; str.splitlines knows more line breaks
        for node in ast.parse(source).body:
            if not self._add_imports(node):
                text = "\n".join(lines[first_line(node) - 1 : node.end_lineno])
                self._add_statement(node, Statement(text, first_line(node)))

    def _add_statement(self, node: ast.stmt, statement: Statement) -> None:
        anew = isinstance(node, (Function, ast.ClassDef, ast.Assign, ast.AnnAssign))
        bound, filled = stored([node]), filled_by(node) & set(self.statements)
        if filled and isinstance(node, (ast.For, ast.While, ast.With)):
            bound = set()  # the loop's own names stay its own: it is written once, with what it fills
        for name in bound | filled:
            keeps = not anew or name not in bound or mentions(node, name)
            before = self.statements.get(name, []) if keeps else []
            self.statements[name] = [*before, statement]
            self.imports.pop(name, None)

    def _add_imports(self, node: ast.stmt, for_types: bool = False) -> bool:
        """Take in what an import statement binds; whether it is one, or a block for type checkers."""
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for inner in node.body:
                self._add_imports(inner, True)
            return True
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            return False
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                name, imported = alias.asname or alias.name, Import(str(node.module), alias.name, for_types)
            else:
                name = alias.asname or alias.name.partition(".")[0]
                imported = Import(alias.name, "", for_types)
            if imported.module != "__future__":
                self.imports[name] = imported
                self.statements.pop(name, None)
        return True


def module_path(label: str, root: Path) -> Path:
    """Where a module of the repository stands."""
    return root.joinpath(*label.split(".")).with_suffix(".py")


def module_space(label: str, root: Path = ROOT) -> Space:
    """What a module of the repository binds. It is shared: only read it."""
    return _parsed(label, module_path(label, root).read_text(encoding="utf-8"))


@lru_cache(maxsize=64)
def _parsed(label: str, source: str) -> Space:
    space = Space(label)
    space.add(source)
    return space


@dataclass
class Item:
    """A name's statements, where their names are looked up, and what it is: shown above it in the file."""

    statements: list[Statement]
    space: Space
    note: str = ""


class Weaver:
    """Writes the module that `roots` need. Raises LookupError for a root that is not there.

    answers: the items of the exercises, by key; an item that the learner wrote carries its own space.
    lessons: the answers' modules, each with the number of its lesson ("04"), in order. alone: what calls an
    answer is not wanted.
    """

    def __init__(
        self,
        answers: Mapping[Key, Item],
        lessons: Mapping[str, str],
        roots: Sequence[Key],
        *,
        root: Path = ROOT,
        alone: bool = False,
    ) -> None:
        self.answers, self.root, self.roots = answers, root, roots
        self.modules: dict[str, Space] = {}
        self.lessons = dict(lessons)
        self.items: dict[Key, Item] = {}
        self.links: dict[Key, dict[str, Key]] = {}
        self.outside: dict[Key, Import] = {}
        self.wanted: dict[Key, str] = {}
        for key in roots:
            self._follow(key)
        goals = {*answers, *self._own()}
        self.written = goals & set(self.items) if alone else self._reaching(goals)
        self.used = list(self._used())
        self.names = self._named()

    # --- Following names ---------------------------------------------------------------------------

    def module(self, label: str) -> Space | None:
        """The space of a module of the repository, None for any other module."""
        if label not in self.modules:
            if not label.startswith("solutions.") or not module_path(label, self.root).is_file():
                return None
            self.modules[label] = module_space(label, self.root)
        return self.modules[label]

    def _follow(self, key: Key) -> None:
        """Find the item of `key`, and all that it leads to."""
        if key in self.items or key in self.outside:
            return
        item = self.answers.get(key) or self._item(key)
        if item is None:
            raise LookupError(f"{key[0]} defines no {key[1]!r}")
        self.items[key], self.wanted[key], self.links[key] = item, key[1], {}
        names = dict.fromkeys(name.id for name in names_of(item.statements))
        for name in names:
            if (found := self._resolve(item.space, name)) is not None:
                self.links[key][name] = found
                if found not in self.outside:
                    self._follow(found)

    def _item(self, key: Key) -> Item | None:
        space = self.module(key[0]) or self._spaces.get(key[0])
        return Item(space.statements[key[1]], space) if space and key[1] in space.statements else None

    @property
    def _spaces(self) -> dict[str, Space]:
        """The learner's spaces by label: cells, and the notebooks around them."""
        cells = [item.space for item in self.answers.values()]
        return {space.label: space for cell in cells for space in (cell, cell.parent) if space}

    def _resolve(self, space: Space | None, name: str) -> Key | None:
        while space is not None:
            if name in space.answers:
                return space.answers[name]
            if name in space.statements:
                around = space.parent  # what a cell binds and no later cell binds anew is the notebook's
                own = space.statements[name]
                same = around is not None and around.statements.get(name, [])[: len(own)] == own
                return (around if around is not None and same else space).label, name
            if name in space.imports:
                return self._imported(space.imports[name], name)
            space = space.parent
        return None

    def _imported(self, imported: Import, name: str) -> Key:
        home = self.module(imported.module)
        if home is not None and imported.name:
            found = self._resolve(home, imported.name)
            if found is not None:
                return found
        key = imported.module, imported.name
        kept = self.outside.get(key, imported)
        self.outside[key] = imported if kept.for_types else kept
        self.wanted.setdefault(key, name)
        return key

    # --- What is written, and what imported ----------------------------------------------------------

    def _own(self) -> set[Key]:
        """What no module holds: a learner's own helpers."""
        return {key for key in self.items if key[0] not in self.modules}

    def _reaching(self, goals: set[Key]) -> set[Key]:
        """`goals`, and every item from which one of them is reached."""
        callers: dict[Key, set[Key]] = {}
        for key, links in self.links.items():
            for other in links.values():
                callers.setdefault(other, set()).add(key)
        found, todo = set(), [key for key in goals if key in self.items]
        while todo:
            if (key := todo.pop()) not in found:
                found.add(key)
                todo += callers.get(key, ())
        return found

    def _used(self) -> Iterator[Key]:
        """What the written items need, each once: they themselves first, in the order of the file."""
        ordered = sorted(self.written, key=self._position)
        yield from ordered
        yield from dict.fromkeys(
            other for key in ordered for other in self.links[key].values() if other not in self.written
        )

    def _position(self, key: Key) -> tuple[str, int, int]:
        home = self.module(key[0])
        if home is None:  # a helper stands before what its notebook answers
            return key[0][:2], -1, self.items[key].statements[0].line
        lesson = self.lesson(key[0])
        line = home.statements[key[1]][0].line if key[1] in home.statements else 0
        return lesson, list(self.lessons).index(key[0]), line

    def lesson(self, label: str) -> str:
        """The number of a module's lesson; of a module without one, the last of those that it imports."""
        if label not in self.lessons:
            home = self.module(label)
            imported = {found.module for found in home.imports.values()} if home else set()
            others = [self.lesson(other) for other in sorted(imported) if self.module(other)]
            self.lessons[label] = max(others, default="00") if home else label[:2]
        return self.lessons[label]

    def _named(self) -> dict[Key, str]:
        """A name for each item, unlike all others: an earlier lesson keeps its own, a helper gives way."""
        names: dict[Key, str] = {}
        taken = {*dir(builtins), *self._loop_names()}
        for key in sorted(self.used, key=lambda key: key in self.items and key[0] not in self.modules):
            wanted = self.wanted[key]
            suffix = self.lesson(key[0]) if key in self.items else key[0].partition(".")[0]
            names[key] = next(name for name in _variants(wanted, suffix) if name not in taken)
            taken.add(names[key])
        return names

    def _loop_names(self) -> Iterator[str]:
        """What the loops that fill a table bind as they run: nothing else may have such a name."""
        for key in self.written:
            for statement in self.items[key].statements:
                for node in ast.parse(statement.source).body:
                    if isinstance(node, (ast.For, ast.While, ast.With)) and key[1] in filled_by(node):
                        yield from stored([node]) - set(self.links[key])

    # --- Writing ---------------------------------------------------------------------------------------

    def order(self) -> list[Key]:
        """The written items: by lesson, and what a definition needs at once before it."""
        ordered: list[Key] = []
        seen: set[Key] = set()

        def emit(key: Key, deep: bool) -> None:
            if key in seen or key not in self.written:
                return
            seen.add(key)
            links = self.links[key]
            soon = {name.id for name in names_of(self.items[key].statements, at_once=True)}
            for name, other in links.items():
                if deep or name in soon:
                    emit(other, True)
            ordered.append(key)

        for key in self.used:
            emit(key, False)
        return ordered

    def statements(self, key: Key) -> list[Statement]:
        """The statements of a written item, with the names that they have in this file."""
        new = {name: self.names[other] for name, other in self.links[key].items() if other in self.names}
        new[key[1]] = self.names[key]
        changed = {old: name for old, name in new.items() if old != name}
        return [Statement(rename(known.source, changed), known.line) for known in self.items[key].statements]

    def source(self, key: Key) -> str:
        """The same as text."""
        return "\n".join(statement.source for statement in self.statements(key))

    def imports(self) -> str:
        """The import statements: the libraries' first, then memlab's, then what is given of the answers."""
        given = [key for key in self.used if key not in self.written]
        typed = [key for key in given if key in self.outside and self.outside[key].for_types]
        blocks = _blocks([key for key in given if key not in typed], self.names)
        if typed:
            blocks[0].append("from typing import TYPE_CHECKING")
            lines = [
                line for block in _blocks(typed, self.names) for text in block for line in text.split("\n")
            ]
            blocks.append(["if TYPE_CHECKING:", *(f"    {line}" for line in lines)])
        return "\n\n".join("\n".join(block) for block in blocks if block)

    def text(self, titles: Mapping[str, str]) -> str:
        """The whole module, without a docstring. titles: a heading for each lesson's number."""
        parts, lesson, note = [f"{FUTURE}\n\n{self.imports()}"], "", ""
        for key in self.order():
            marks = []
            if (mine := self.lesson(key[0])) != lesson:
                lesson, note = mine, ""
                marks.append(f"# {'=' * 98}\n# {lesson} · {titles.get(lesson, '')}\n")
            if (said := self._note(key)) != note:
                note = said
                marks.append(f"# {note}")
            parts.append("\n".join([*marks, self.source(key)]))
        return "\n\n\n".join(parts) + "\n"

    def _note(self, key: Key) -> str:
        if self.items[key].note:
            return self.items[key].note
        if key[0] in self.modules:
            return f"given, since it calls what you answered: {key[0].replace('.', '/')}.py"
        return "yours: what your answers below use"


def stored(body: Iterable[ast.AST]) -> set[str]:
    """The names that these statements bind in their own scope."""
    names: set[str] = set()
    elsewhere: set[str] = set()
    todo = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, (Function, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, COMPREHENSION):  # its own names stay inside, those of := do not
            names |= {walrus.target.id for walrus in ast.walk(node) if isinstance(walrus, ast.NamedExpr)}
        elif not isinstance(node, ast.Lambda):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                names.add(node.id)
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                elsewhere.update(node.names)
            elif isinstance(node, ast.alias):
                names.add(node.asname or node.name.partition(".")[0])
            elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
                names.add(node.name)
            elif isinstance(node, ast.MatchMapping) and node.rest:
                names.add(node.rest)
            todo += ast.iter_child_nodes(node)
    return names - elsewhere


def filled_by(node: ast.stmt) -> set[str]:
    """The names whose objects a statement changes as it runs: `UNITS[key] = 1`, `UNITS.append(1)`.

    Example:
    >>> sorted(filled_by(ast.parse("for n in NAMES: UNITS[n] = LOG.append(n)").body[0]))
    ['LOG', 'UNITS']
    """
    names: set[str] = set()
    todo: list[ast.AST] = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, (Function, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(part, (ast.Subscript, ast.Attribute)) and not isinstance(part.ctx, ast.Load):
            names |= _owner(part.value)
        elif (
            isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in CHANGES
        ):
            names |= _owner(part.func.value)
        todo += ast.iter_child_nodes(part)
    return names


def _owner(node: ast.expr) -> set[str]:
    """The name at the root of `NAME[0].part`."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


class _Names(ast.NodeVisitor):
    """The names that a top-level statement looks up in its module: when it runs, and when it is called."""

    def __init__(self) -> None:
        self.at_once: list[ast.Name] = []
        self.later: list[ast.Name] = []
        self.scopes: list[tuple[set[str], bool]] = []  # names bound there, and whether it is a class

    def visit_Name(self, node: ast.Name) -> None:
        if not any(node.id in names for names, _ in self.scopes):
            called = any(not is_class for _, is_class in self.scopes)
            (self.later if called else self.at_once).append(node)

    def _inside(self, nodes: Iterable[ast.AST], names: set[str], is_class: bool = False) -> None:
        outer = self.scopes
        kept = [scope for scope in outer if not scope[1]]  # a method does not see its class's names
        self.scopes = [*kept, (names, is_class)]
        for node in nodes:
            self.visit(node)
        self.scopes = outer

    def _function(self, node: Function | ast.Lambda) -> None:
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        names = {argument.arg for argument in every} | {p.name for p in getattr(node, "type_params", [])}
        for default in [*arguments.defaults, *(d for d in arguments.kw_defaults if d)]:
            self.visit(default)
        # Annotations are not evaluated, so what they name may come later in the file.
        annotations = [argument.annotation for argument in every if argument.annotation]
        if not isinstance(node, ast.Lambda):
            annotations += [node.returns] if node.returns else []
            for decorator in node.decorator_list:
                self.visit(decorator)
        self._inside(annotations, {p.name for p in getattr(node, "type_params", [])})
        self._inside(body, names | stored(body))

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for outer in [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]:
            self.visit(outer)
        self._inside(node.body, stored(node.body), is_class=True)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        names = stored([generator.target for generator in node.generators])
        self.scopes = [*self.scopes, (names, True)]  # it runs at once, as a class's body does
        self.generic_visit(node)
        self.scopes = self.scopes[:-1]

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension


def names_of(statements: Iterable[Statement], *, at_once: bool = False) -> list[ast.Name]:
    """The names that statements look up at module level, or only those `at_once`, before any call."""
    visitor = _Names()
    for statement in statements:
        visitor.visit(ast.parse(statement.source))
    return visitor.at_once if at_once else visitor.at_once + visitor.later


def mentions(node: ast.stmt, name: str) -> bool:
    """Whether an assignment uses the earlier value of the name that it binds, as `f = cache(f)` does."""
    value = getattr(node, "value", None)
    return value is not None and name in {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}


def rename(source: str, new: Mapping[str, str]) -> str:
    """`source` with module-level names replaced, its comments and layout kept.

    Example:
    >>> rename("def f(a): return a + RULES  # all RULES", {"RULES": "RULES_08", "a": "b"})
    'def f(a): return a + RULES_08  # all RULES'
    """
    if not new:
        return source
    lines = source.encode().splitlines(keepends=True)
    places = [(n.lineno - 1, n.col_offset, n.id) for n in names_of([Statement(source, 1)]) if n.id in new]
    for node in ast.parse(source).body:
        if isinstance(node, (Function, ast.ClassDef)) and node.name in new:
            head = re.match(rb"\s*(?:async\s+def|def|class)\s+", lines[node.lineno - 1])
            places.append((node.lineno - 1, head.end() if head else 0, node.name))
    for row, column, name in sorted(set(places), reverse=True):
        old = name.encode()
        if lines[row][column : column + len(old)] != old:
            return _renamed(source, new)  # Python 3.11 misplaces names in some f-strings
        lines[row] = lines[row][:column] + new[name].encode() + lines[row][column + len(old) :]
    return b"".join(lines).decode()


def _renamed(source: str, new: Mapping[str, str]) -> str:
    """The same without the layout: the statement is written out from its tree."""
    tree = ast.parse(source)
    visitor = _Names()
    visitor.visit(tree)
    for name in visitor.at_once + visitor.later:
        name.id = new.get(name.id, name.id)
    for node in tree.body:
        if isinstance(node, (Function, ast.ClassDef)):
            node.name = new.get(node.name, node.name)
    return ast.unparse(tree)


def _variants(name: str, suffix: str) -> Iterator[str]:
    yield name
    yield f"{name}_{suffix}"
    count = 2
    while True:
        yield f"{name}_{suffix}_{count}"
        count += 1


def _blocks(keys: Iterable[Key], names: Mapping[Key, str]) -> list[list[str]]:
    """Import lines in three blocks, each sorted: libraries, memlab, solutions."""
    modules: dict[str, list[str]] = {}
    blocks: list[list[str]] = [[], [], []]
    for module, name in sorted(keys):
        block = blocks[("memlab", "solutions").index(home) + 1 if (home := _home(module)) else 0]
        local = names[module, name]
        if name:
            modules.setdefault(module, []).append(name if name == local else f"{name} as {local}")
        else:
            block.append(
                f"import {module}" if local == module.partition(".")[0] else f"import {module} as {local}"
            )
    for module, wanted in modules.items():
        line = f"from {module} import {', '.join(wanted)}"
        folded = f"from {module} import (\n    " + ",\n    ".join(wanted) + ",\n)"
        block = blocks[("memlab", "solutions").index(home) + 1 if (home := _home(module)) else 0]
        block.append(line if len(line) <= WIDTH - 4 else folded)
    return blocks


def _home(module: str) -> str:
    home = module.partition(".")[0]
    return home if home in ("memlab", "solutions") else ""
