"""The rules every notebook keeps, each with a message that names notebook, cell and cure.

`python -m course.desk.lint [NAMES…]` prints what is broken; `tests/test_lessons.py` runs the same rules.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from course.check import registered
from course.desk.build import GO_ON, KERNEL, names, needs
from course.lesson import (
    ROOT,
    Check,
    Definition,
    Exercise,
    LessonError,
    Notebook,
    answer,
    checks,
    exercises,
    extra_source,
    functions,
    place,
    read,
)

HEADING = re.compile(
    r"^#{2,4} (?P<id>\d\d[-a-z0-9]+) · .+ · (●○○|●●○|●●●) · (?P<minutes>\d+) min *$", re.MULTILINE
)
STATED = re.compile(r"\*\*Time\*\*\D*(?P<all>\d+) min(?:, of which (?P<exercises>\d+) min\b)?")
READING = 15
"""Minutes that every notebook takes at least besides its exercises."""
HINTS = ("nudge", "idea", "answer")
OPENING = {
    "a title (# 01 · …)": r"^# \d\d · \S",
    "what the learner will be able to do (**You will be able to**)": r"\*\*You will be able to\b",
    "how long it takes (**Time** · 60 minutes)": r"\d+ min",
    "what it needs (**You need**)": r"\*\*You need\b",
}
CLOSING = ("Recap", "Key point", "Check yourself", "What breaks next")


def problems(notebook: Notebook, name: str, root: Path = ROOT) -> list[str]:
    """Every rule that the learner's notebook `name` breaks, as sentences; an empty list is a clean one."""
    found = [*_clean(notebook, name), *_opening(notebook, name), *_closing(notebook, name)]
    try:
        all_exercises = exercises(notebook, name, root)
    except LessonError as error:
        return [*found, str(error)]
    found += _ids(all_exercises, notebook, name)
    found += _checks(all_exercises, notebook, name)
    found += _minutes(notebook, name)
    for exercise in all_exercises:
        where = place(name, notebook.cells[exercise.index], exercise.index)
        try:
            found += _stub(exercise, where, root)
        except LessonError as error:
            found.append(f"{where}: {error}")
        found += _frame(exercise, all_exercises, notebook, where)
    return found


def _clean(notebook: Notebook, name: str) -> Iterator[str]:
    tidy = "run: python -m course.desk.build --tidy"
    if notebook.metadata.get("kernelspec") != KERNEL:
        yield f"{name}: the kernel is not the plain python3; {tidy}"
    if set(notebook.metadata.get("language_info", {})) - {"name"}:
        yield f"{name}: its metadata names this machine's Python; {tidy}"
    for index, cell in enumerate(notebook.cells):
        if "id" not in cell:
            yield f"{place(name, cell, index)}: has no cell id; save the notebook in format 4.5"
        if cell.cell_type == "code" and cell.outputs:
            yield f"{place(name, cell, index)}: has outputs; {tidy}"
        if cell.cell_type == "code" and cell.execution_count is not None:
            yield f"{place(name, cell, index)}: has an execution count; {tidy}"
        if needs(cell) != (GO_ON in cell.metadata.get("tags", [])):
            fault = "lacks the tag" if needs(cell) else "needs no exercise, yet has the tag"
            yield f"{place(name, cell, index)}: {fault} {GO_ON!r}; {tidy}"


def _opening(notebook: Notebook, name: str) -> Iterator[str]:
    first = notebook.cells[0] if notebook.cells else None
    text = first.source if first is not None and first.cell_type == "markdown" else ""
    for what, pattern in OPENING.items():
        if not re.search(pattern, text, re.MULTILINE):
            yield f"{name} cell 1: does not open with {what}; add it to the first cell"


def _minutes(notebook: Notebook, name: str) -> Iterator[str]:
    """The stated minutes against the heads of the exercises."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    heads = sum(int(match["minutes"]) for text in texts for match in HEADING.finditer(text))
    stated = STATED.search(texts[0]) if texts else None
    if stated is None:
        return
    if stated["exercises"] is not None and int(stated["exercises"]) != heads:
        yield (
            f"{name} cell 1: states {stated['exercises']} min of exercises, but their heads sum to {heads}; "
            "correct one of the two"
        )
    if int(stated["all"]) < heads + READING:
        yield (
            f"{name} cell 1: states {stated['all']} min in all, which leaves less than {READING} beside "
            f"{heads} of exercises; state at least {heads + READING}"
        )


def _closing(notebook: Notebook, name: str) -> Iterator[str]:
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    found = {title: re.search(rf"^## {title}\b", text, re.MULTILINE) for title in CLOSING}
    for title, match in found.items():
        if match is None:
            yield f"{name}: has no section '## {title}'; close with {', '.join(CLOSING)}"
    places = [match.start() for match in found.values() if match is not None]
    if places != sorted(places):
        yield f"{name}: its last sections are out of order; close with {', '.join(CLOSING)}"
    questions, ending = found["Check yourself"], found["What breaks next"]
    if questions and ending:
        count = text[questions.start() : ending.start()].count("<details>")
        if count < 3:
            yield f"{name}: 'Check yourself' has {count} folded answers; ask at least three questions"


def _ids(all_exercises: list[Exercise], notebook: Notebook, name: str) -> Iterator[str]:
    seen: set[str] = set()
    known = registered(name[:2])
    for exercise in all_exercises:
        where = place(name, notebook.cells[exercise.index], exercise.index)
        if exercise.id in seen:
            yield f"{where}: the id {exercise.id} is used twice; give this exercise another"
        seen.add(exercise.id)
        if not exercise.id.startswith(f"{name[:2]}-"):
            yield f"{where}: the id {exercise.id} is not this notebook's; begin it with {name[:2]}-"
        elif exercise.id not in known:
            yield f"{where}: {exercise.id} has no check; write one in course/lessons/lesson_{name[:2]}.py"
    ids = {exercise.id for exercise in all_exercises}
    named = {tag: cell for cell in notebook.cells for tag in cell.metadata.get("tags", []) if ":" in tag}
    for tag in named:
        if tag.startswith("needs:") and tag.removeprefix("needs:") not in ids:
            yield f"{name}: the tag {tag!r} names no exercise of this notebook; correct or remove it"
    for exercise in all_exercises:
        for other in set(exercise.after) - ids:
            yield f'{name}: {exercise.id} comes after {other!r}, which is no exercise here; correct "after"'


def _checks(all_exercises: list[Exercise], notebook: Notebook, name: str) -> Iterator[str]:
    found = list(checks(notebook))
    objects = {exercise.stub.name for exercise in all_exercises}
    for exercise in all_exercises:
        where = place(name, notebook.cells[exercise.index], exercise.index)
        own = [check for check in found if check.id == exercise.id]
        wanted = f'check("{exercise.id}", {exercise.stub.name})'
        if len(own) != 1:
            yield f"{where}: {exercise.id} has {len(own)} check cells; have exactly one cell {wanted}"
        elif own[0].index < exercise.index:
            yield f"{where}: the check of {exercise.id} stands before its exercise; move it below"
        elif own[0].names[:1] != (exercise.stub.name,):
            yield f"{where}: its check is given {own[0].names}; write {wanted}"
    for check in found:
        yield from _check_cell(check, objects, {e.id for e in all_exercises}, notebook, name)


def _check_cell(
    check: Check, objects: set[str], ids: set[str], notebook: Notebook, name: str
) -> Iterator[str]:
    where = place(name, notebook.cells[check.index], check.index)
    if check.id not in ids:
        yield f"{where}: checks {check.id!r}, which is no exercise of this notebook; correct the id"
    for given in check.names:
        if given not in objects:
            yield f"{where}: passes {given}, which no exercise here defines; pass what the learner wrote"


def _stub(exercise: Exercise, where: str, root: Path) -> Iterator[str]:
    _, node = answer(exercise, root)
    extra_source(exercise, root)
    last = functions(exercise.stub)[-1].body[-1] if functions(exercise.stub) else None
    if last is None or ast.unparse(last) != f"raise NotImplementedError('{exercise.id}')":
        yield f'{where}: the stub does not end in raise NotImplementedError("{exercise.id}"); add that line'
    if type(node) is not type(exercise.stub):
        yield f"{where}: the stub is no {type(node).__name__} like its answer; write the same kind"
        return
    for part, stub_value, answer_value in _promises(exercise.stub, node):
        if stub_value != answer_value:
            yield (
                f"{where}: the {part} differs from {exercise.module}.{exercise.name}; "
                f"make them equal (stub: {stub_value!r}, answer: {answer_value!r})"
            )


def _promises(stub: Definition, node: Definition) -> Iterator[tuple[str, str | None, str | None]]:
    """Docstring and signature of the stub and its answer, pairwise; of a class, its methods' as well."""
    yield "docstring", ast.get_docstring(stub), ast.get_docstring(node)
    answers = {function.name: function for function in functions(node)}
    for function in functions(stub):
        other = answers.get(function.name) if isinstance(stub, ast.ClassDef) else functions(node)[0]
        yield f"signature of {function.name}", _signature(function), _signature(other) if other else None
        if isinstance(stub, ast.ClassDef) and other is not None:
            yield f"docstring of {function.name}", ast.get_docstring(function), ast.get_docstring(other)


def _signature(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    returns = ast.unparse(function.returns) if function.returns else "nothing said"
    return f"({ast.unparse(function.args)}) -> {returns}"


def _frame(
    exercise: Exercise, all_exercises: list[Exercise], notebook: Notebook, where: str
) -> Iterator[str]:
    """Heading above the stub and hints below it, within this exercise's own run of cells."""
    starts = [other.index for other in all_exercises]
    position = starts.index(exercise.index)
    begin = starts[position - 1] + 1 if position else 0
    end = starts[position + 1] if position + 1 < len(starts) else len(notebook.cells)
    above, below = (
        "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        for cells in (notebook.cells[begin : exercise.index], notebook.cells[exercise.index : end])
    )
    if exercise.id not in [match["id"] for match in HEADING.finditer(above)]:
        yield f"{where}: no heading; write '### {exercise.id} · title · ●○○ · 8 min' above it"
    following = re.search(rf"{HEADING.pattern}|^## ", below, re.MULTILINE)
    summaries = re.findall(r"<summary>(.*?)</summary>", below[: following.start() if following else None])
    hints = [hint for hint in HINTS if any(hint in summary.lower() for summary in summaries)]
    if hints != list(HINTS):
        missing = ", ".join(hint for hint in HINTS if hint not in hints)
        yield (
            f"{where}: folded hints missing below it: {missing}; write <details><summary>A nudge</summary>, "
            "then The idea, then Where the answer stands"
        )


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """The command line: print every problem of the notebooks named (or all); 1 when there is one."""
    try:
        found = [
            line
            for name in names(sys.argv[1:] if argv is None else argv, root)
            for line in problems(read(root / "notebooks" / name), name, root)
        ]
    except LessonError as error:
        found = [str(error)]
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
