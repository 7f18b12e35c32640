"""Every lesson of the workbook, held to its rules. One lesson: `pytest tests/test_lessons.py -k 01_`."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from functools import cache
from types import ModuleType
from typing import Any

import pytest
from edits import edited
from lesson_runner import faults, last_use, run, with_what_it_calls
from mutants import survivors

from course.check import CheckResult, check
from course.desk.build import differences, names, output_problems, solve
from course.desk.lint import problems
from course.lesson import ROOT, Check, Exercise, checks, exercises, read

LESSONS = names()
learner = cache(lambda name: read(ROOT / "notebooks" / name))


def all_exercises(name: str) -> list[Exercise]:
    return exercises(learner(name), name)


EXERCISES = [
    pytest.param(name, e.id, id=f"{name[:3]}{e.id}") for name in LESSONS for e in all_exercises(name)
]


def find(name: str, exercise_id: str) -> tuple[Exercise, Check]:
    exercise = next(e for e in all_exercises(name) if e.id == exercise_id)
    return exercise, next(c for c in checks(learner(name)) if c.id == exercise_id)


def reference(name: str, exercise_id: str) -> tuple[object, ...]:
    """The answers of whatever objects this exercise's check is given."""
    by_object = {e.stub.name: e for e in all_exercises(name)}
    wanted = [by_object[given] for given in find(name, exercise_id)[1].names]
    return tuple(getattr(importlib.import_module(e.module), e.name) for e in wanted)


def kept_answers(name: str) -> ModuleType:
    return importlib.import_module(f"wrong_answers.lesson_{name[:2]}")


def kept(table: str, name: str, exercise_id: str) -> Any:
    """The answers kept for an exercise in `table`, WRONG or RIGHT."""
    answers = getattr(kept_answers(name), table)
    file = f"tests/wrong_answers/lesson_{name[:2]}.py"
    assert exercise_id in answers, f"{file}: {table} has nothing for {exercise_id}; add an entry of that name"
    return answers[exercise_id]


def tried(name: str, exercise_id: str, entry: Any) -> CheckResult:
    """What the check says to an edit of the reference, to a function, or to several objects."""
    if isinstance(entry, str):
        entry = (edited(find(name, exercise_id)[0], entry), *reference(name, exercise_id)[1:])
    return check(exercise_id, *(entry if isinstance(entry, tuple) else (entry,)))


def assert_none(found: Iterable[str]) -> None:
    lines = list(found)
    assert not lines, "\n" + "\n".join(lines)


def test_the_workbook_has_lessons() -> None:
    assert LESSONS


@pytest.mark.parametrize("name", LESSONS)
def test_a_notebook_keeps_every_rule(name: str) -> None:
    assert_none(problems(learner(name), name))


@pytest.mark.parametrize("name", LESSONS)
def test_the_solved_notebook_is_what_its_sources_give(name: str) -> None:
    assert_none(differences(name))


@pytest.mark.parametrize("name", LESSONS)
def test_the_solved_notebook_shows_outputs_without_errors_or_machine_paths(name: str) -> None:
    assert_none(output_problems(read(ROOT / "solutions" / name), name))


@pytest.mark.parametrize("name", LESSONS)
def test_the_learners_notebook_stops_only_where_an_answer_is_missing(name: str) -> None:
    outcomes = run(learner(name), ROOT / "notebooks")
    assert_none(faults(outcomes, learner(name), name, set(), ROOT))


@pytest.mark.parametrize("name", LESSONS)
def test_with_every_answer_filled_in_nothing_fails_and_every_check_is_green(name: str) -> None:
    everything = {exercise.id for exercise in all_exercises(name)}
    outcomes = run(solve(learner(name), name), ROOT / "notebooks")
    assert_none(faults(outcomes, learner(name), name, everything, ROOT))


@pytest.mark.parametrize(("name", "exercise_id"), EXERCISES)
def test_filling_in_one_exercise_turns_exactly_its_check_green(name: str, exercise_id: str) -> None:
    filled = with_what_it_calls(find(name, exercise_id)[0], all_exercises(name))
    solved = solve(learner(name), name, only=sorted(filled))
    # What follows uses none of these answers, so it does what it did with the bare stubs.
    del solved.cells[last_use(learner(name), filled) + 1 :]
    outcomes = run(solved, ROOT / "notebooks")
    assert_none(faults(outcomes, learner(name), name, filled, ROOT))


@pytest.mark.parametrize(("name", "exercise_id"), EXERCISES)
def test_the_reference_answer_passes(name: str, exercise_id: str) -> None:
    result = check(exercise_id, *reference(name, exercise_id))
    assert result.status == "passed", result


@pytest.mark.parametrize(("name", "exercise_id"), EXERCISES)
def test_a_right_answer_written_differently_passes(name: str, exercise_id: str) -> None:
    others = kept("RIGHT", name, exercise_id)
    assert others, f"keep a second right answer for {exercise_id}"
    for entry in others:
        assert entry not in (reference(name, exercise_id), reference(name, exercise_id)[0])
        result = tried(name, exercise_id, entry)
        assert result.status == "passed", result


@pytest.mark.parametrize(("name", "exercise_id"), EXERCISES)
def test_each_wrong_answer_is_rejected_by_its_own_message(name: str, exercise_id: str) -> None:
    wrong = kept("WRONG", name, exercise_id)
    assert len(wrong) >= 3, f"keep three wrong answers for {exercise_id}"
    results = [tried(name, exercise_id, entry) for entry, _ in wrong]
    for result, (_, fragment) in zip(results, wrong, strict=True):
        assert result.status == "failed", result
        assert fragment in result.message, result
    assert len({fragment for _, fragment in wrong}) == len(wrong), "two wrong answers share a fragment"
    assert len({result.message for result in results}) == len(wrong), "two wrong answers share a message"


@pytest.mark.parametrize(("name", "exercise_id"), EXERCISES)
def test_every_small_edit_of_the_reference_is_rejected_or_spared_for_a_reason(
    name: str, exercise_id: str
) -> None:
    exercise, others = find(name, exercise_id)[0], reference(name, exercise_id)[1:]
    passed = [mutant.edit for mutant in survivors(exercise, others) if not mutant.wording]
    spared = getattr(kept_answers(name), "SPARED", {}).get(exercise_id, {})
    assert_none(f"{exercise_id} lets pass: {edit}" for edit in passed if edit not in spared)
    assert_none(f"{exercise_id} rejects, or no longer has: {edit}" for edit in set(spared) - set(passed))
    assert all(reason.strip() for reason in spared.values())


@pytest.mark.parametrize("name", LESSONS)
def test_no_kept_answer_belongs_to_an_exercise_that_is_gone(name: str) -> None:
    if not all_exercises(name):
        return
    ids = {exercise.id for exercise in all_exercises(name)}
    assert set(kept_answers(name).WRONG) == set(kept_answers(name).RIGHT) == ids
