"""Runs a lesson's cells in a fresh process and says which of them did what they must not."""

from __future__ import annotations

import atexit
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from offline import Offline, isolated

from course.desk.engine import Engine
from course.lesson import ROOT, Exercise, checks, exercises, place

LIMIT = 300.0
"""Seconds for a whole lesson."""


@dataclass(frozen=True)
class Outcome:
    """What running one code cell gave: an error's type and message, or a check's status and message."""

    index: int
    error: str = ""
    status: str = ""
    message: str = ""


@dataclass(frozen=True)
class Room:
    """An engine without a network, and what notes who asked for one."""

    engine: Engine
    offline: Offline
    folder: tempfile.TemporaryDirectory[str]


@cache
def room() -> Room:
    """One for all lessons: what is heavy loads once."""
    folder = tempfile.TemporaryDirectory()
    offline = Offline(Path(folder.name, "offline"))
    ours = offline.environment()
    kept = {name: ours[name] for name in ("PYTHONPATH", "MPLCONFIGDIR")}
    kept["PYTHONPATH"] += f"{os.pathsep}{ROOT}"
    engine = Engine(kept, isolated())
    atexit.register(engine.close)
    return Room(engine, offline, folder)


def run(notebook: Any, folder: Path) -> list[Outcome]:
    """Run every code cell in order in a process of its own, going on after errors.

    The process finds no network and an empty home folder, and must leave both alone.
    """
    cells = [(index, cell.source) for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    outcomes, until = [], time.monotonic() + LIMIT
    offline = room().offline
    offline.log.write_text("", encoding="utf-8")
    with room().engine.session(folder) as session:
        for index, source in cells:
            outcome = session.run(source, until - time.monotonic())
            assert not outcome.late, f"cell {index + 1} was still running after {LIMIT:g} s in all"
            outcomes.append(Outcome(index, outcome.error, outcome.status, outcome.message))
        left = [f"left in the home folder: {path.relative_to(session.home)}"
                for path in sorted(session.home.rglob("*"))]  # fmt: skip
    problems = [*offline.problems(), *left]
    assert not problems, "\n".join(problems)
    return outcomes


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
