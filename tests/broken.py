"""A tiny lesson, and the ways in which copies of it are broken on purpose to test the rules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nbformat import from_dict

from course.lesson import read

TINY = Path(__file__).parent / "tiny"
NAME = "99_tiny.ipynb"
Change = Callable[[Any], None]


def tiny() -> Any:
    return read(TINY / "notebooks" / NAME)


def cell(notebook: Any, cell_id: str) -> Any:
    return next(c for c in notebook.cells if c.id == cell_id)


def replace(cell_id: str, old: str, new: str) -> Change:
    def change(notebook: Any) -> None:
        assert old in cell(notebook, cell_id).source
        cell(notebook, cell_id).source = cell(notebook, cell_id).source.replace(old, new)

    return change


def remove(cell_id: str) -> Change:
    return lambda notebook: notebook.cells.remove(cell(notebook, cell_id))


def meta(cell_id: str, **values: Any) -> Change:
    return lambda notebook: cell(notebook, cell_id).metadata["memlab"].update(values)


def tags(cell_id: str, *values: str) -> Change:
    return lambda notebook: cell(notebook, cell_id).metadata.update(tags=list(values))


def set_on(cell_id: str, key: str, value: Any) -> Change:
    return lambda notebook: cell(notebook, cell_id).update({key: value})


def move_to_the_end(cell_id: str) -> Change:
    return lambda notebook: notebook.cells.append(
        notebook.cells.pop(notebook.cells.index(cell(notebook, cell_id)))
    )


def second_check(notebook: Any) -> None:
    copy = from_dict(dict(cell(notebook, "double-check")) | {"id": "again"})
    notebook.cells.insert(notebook.cells.index(cell(notebook, "double-check")), copy)


def another_kernel(notebook: Any) -> None:
    notebook.metadata.kernelspec = from_dict(
        {"name": "my-env", "display_name": "my-env", "language": "python"}
    )


def check_first(notebook: Any) -> None:
    at = notebook.cells.index(cell(notebook, "double-stub"))
    notebook.cells.insert(at, notebook.cells.pop(at + 1))


def swap_the_last_sections(notebook: Any) -> None:
    for old, new in [("## Recap", "## X"), ("## Key point", "## Recap"), ("## X", "## Key point")]:
        replace("closing", old, new)(notebook)


OUTPUT = from_dict({"output_type": "stream", "name": "stdout", "text": "42\n"})

# Each: the change that breaks the lesson, and a piece of the message that must reject it.
BROKEN: dict[str, tuple[Change, str]] = {
    "outputs": (set_on("double-demo", "outputs", [OUTPUT]), "(double-demo): has outputs; run: python"),
    "execution count": (set_on("imports", "execution_count", 3), "(imports): has an execution count"),
    "no cell id": (lambda nb: cell(nb, "closing").pop("id"), "has no cell id"),
    "another kernel": (another_kernel, "the kernel is not the plain python3"),
    "this machine's Python": (
        lambda nb: nb.metadata.language_info.update(version="3.11.9"),
        "names this machine",
    ),
    "no title": (replace("opening", "# 99 · A tiny lesson", ""), "does not open with a title"),
    "no goal": (replace("opening", "will be able", "learn"), "what the learner will be able to do"),
    "no time": (
        replace("opening", "20 min, of which 5 min are three exercises", "soon"),
        "how long it takes",
    ),
    "another sum": (replace("opening", "5 min", "6 min"), "6 min of exercises, but their heads sum to 5"),
    "no time to read": (replace("opening", "20 min", "19 min"), "state at least 20"),
    "stops a run": (
        tags("double-demo", "needs:99-double"),
        "(double-demo): lacks the tag 'raises-exception'",
    ),
    "runs on past an error": (
        tags("imports", "raises-exception"),
        "(imports): needs no exercise, yet has the tag 'raises-exception'; run: python",
    ),
    "no needs": (replace("opening", "You need", "Needs"), "what it needs"),
    "no recap": (replace("closing", "## Recap", ""), "no section '## Recap'"),
    "no key point": (replace("closing", "## Key point", ""), "no section '## Key point'"),
    "no next": (replace("closing", "## What breaks next", ""), "no section '## What breaks next'"),
    "out of order": (
        swap_the_last_sections,
        "out of order",
    ),
    "two questions": (replace("closing", "3. Why?\n<details>", "3. Why?\n"), "has 2 folded answers"),
    "no exercise id": (meta("double-stub", exercise=None), "(double-stub): no exercise id"),
    "stub is no Python": (replace("double-stub", "def", "deff"), "the stub is not Python"),
    "two things in a stub": (
        replace("double-stub", "def double", "import os\n\ndef double"),
        "exactly one function",
    ),
    "answer nowhere": (
        replace("double-stub", "def double", "def twice"),
        "is defined in 0 of the answer modules",
    ),
    "answer module gone": (
        meta("double-stub", answer="answers.gone:double"),
        "'answers.gone' is not in the repos",
    ),
    "answer name gone": (meta("double-stub", answer="answers.arithmetic:gone"), "defines no 'gone'"),
    "answer a constant": (meta("double-stub", answer="answers.arithmetic:STEP"), "defines no 'STEP'"),
    "helper gone": (meta("double-stub", **{"with": ["_gone"]}), "defines no '_gone'; correct \"with\""),
    "id twice": (meta("counter-stub", exercise="99-double"), "the id 99-double is used twice"),
    "another lesson's id": (meta("counter-stub", exercise="98-counter"), "98-counter is not this notebook's"),
    "unregistered": (meta("counter-stub", exercise="99-tally"), "99-tally has no check; write one in"),
    "unknown need": (tags("double-demo", "needs:99-duoble"), "'needs:99-duoble' names no exercise"),
    "unknown after": (meta("quadruple-stub", after=["99-twice"]), "comes after '99-twice'"),
    "no check": (remove("double-check"), "99-double has 0 check cells"),
    "two checks": (second_check, "99-double has 2 check cells"),
    "check first": (check_first, "the check of 99-double stands before its exercise"),
    "check of nothing": (
        replace("double-check", "99-double", "99-duoble"),
        "checks '99-duoble', which is no",
    ),
    "check of another": (
        replace("double-check", ", double", ", quadruple"),
        'write check("99-double", double)',
    ),
    "check of a stranger": (replace("double-check", ", double", ", double, STEP"), "passes STEP, which no"),
    "stub runs on": (
        replace("double-stub", 'raise NotImplementedError("99-double")', "return 0"),
        "does not end in",
    ),
    "stub names another": (
        replace("double-stub", 'Error("99-double', 'Error("99-duoble'),
        "does not end in raise",
    ),
    "docstring": (replace("double-stub", "Twice", "Double"), "(double-stub): the docstring differs from"),
    "signature": (replace("double-stub", "number: int", "n: int"), "the signature of double differs"),
    "return type": (replace("double-stub", "-> int", "-> float"), "the signature of double differs"),
    "method signature": (
        replace("counter-stub", "step(self)", "step(self, n)"),
        "the signature of step differs",
    ),
    "method docstring": (replace("counter-stub", "next count", "count"), "the docstring of step differs"),
    "method unknown": (replace("counter-stub", "def step", "def steps"), "the signature of steps differs"),
    "another kind": (meta("counter-stub", answer="answers.arithmetic:double"), "the stub is no FunctionDef"),
    "no heading": (remove("double-task"), "write '### 99-double · title"),
    "no difficulty": (replace("double-task", "●○○", "easy"), "(double-stub): no heading"),
    "no minutes": (replace("double-task", "2 min", ""), "(double-stub): no heading"),
    "no hints": (remove("double-hints"), "hints missing below it: nudge, idea, answer"),
    "two hints": (replace("counter-hints", "The idea", "More"), "hints missing below it: idea"),
}
