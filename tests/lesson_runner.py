"""Runs a lesson's cells in a fresh process and says which of them did what they must not.

In-process IPython in place of a kernel: one run for each exercise has to be cheap.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offline import Offline, isolated

from course.lesson import Exercise, checks, exercises, place

CHILD = Path(__file__).with_name("lesson_child.py")


@dataclass(frozen=True)
class Outcome:
    """What running one code cell gave: an error's type and message, or a check's status and message."""

    index: int
    error: str = ""
    status: str = ""
    message: str = ""


def run(notebook: Any, folder: Path) -> list[Outcome]:
    """Run every code cell in order in a process of its own, going on after errors.

    The process finds no network and an empty home folder, and must leave both alone.
    """
    cells = [(index, cell.source) for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    with tempfile.TemporaryDirectory() as scratch:
        given, answer = Path(scratch, "cells.json"), Path(scratch, "outcomes.json")
        given.write_text(json.dumps(cells), encoding="utf-8")
        offline = Offline(Path(scratch, "offline"))
        env = offline.environment(MPLBACKEND="agg", IPYTHONDIR=scratch, PYTHONHASHSEED="0")
        command = [*isolated(), sys.executable, str(CHILD), str(given), str(answer)]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-2000:]
        problems = list(offline.problems())
        assert not problems, "\n".join(problems)
        return [Outcome(**outcome) for outcome in json.loads(answer.read_text(encoding="utf-8"))]


def with_what_it_calls(exercise: Exercise, all_exercises: Sequence[Exercise]) -> set[str]:
    """The exercise's id and those of the exercises that its answer builds upon."""
    by_id = {other.id: other for other in all_exercises}
    return {exercise.id}.union(*(with_what_it_calls(by_id[id_], all_exercises) for id_ in exercise.after))


def last_use(notebook: Any, filled: set[str]) -> int:
    """The index of the last cell that checks or needs one of the exercises `filled`."""
    uses = [check.index for check in checks(notebook) if check.id in filled]
    needed = {f"needs:{exercise_id}" for exercise_id in filled}
    uses += [i for i, cell in enumerate(notebook.cells) if needed & set(cell.metadata.get("tags", []))]
    return max(uses)


def faults(
    outcomes: Sequence[Outcome], notebook: Any, name: str, filled: set[str], root: Path
) -> Iterator[str]:
    """Cells that broke the rules when just the exercises `filled` were answered.

    Their checks must have passed and all others must say "not yet"; only a cell tagged `needs:` an
    unanswered exercise may stop, and only because of it.
    """
    open_ids = {exercise.id for exercise in exercises(notebook, name, root)} - filled
    check_at = {check.index: check.id for check in checks(notebook)}
    for outcome in outcomes:
        cell = notebook.cells[outcome.index]
        where = place(name, cell, outcome.index)
        needed = {tag.removeprefix("needs:") for tag in cell.metadata.get("tags", [])} & open_ids
        if outcome.error and not (needed and outcome.error in ("NotImplementedError", "NameError")):
            yield f"{where} raised {outcome.error}: {outcome.message}"
        if outcome.index in check_at:
            wanted = "passed" if check_at[outcome.index] in filled else "not yet"
            if outcome.status != wanted:
                yield f"{where} says {outcome.status!r}, not {wanted!r}: {outcome.message}"
