"""The builder and the rules of notebooks, on a tiny lesson and on copies of it that are broken on purpose."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from broken import BROKEN, NAME, OUTPUT, TINY, Change, another_kernel, cell, remove, replace, tags, tiny
from lesson_runner import faults, run, with_what_it_calls
from nbformat import from_dict

from course.desk.build import differences, execute, main, names, output_problems, solve, tidy, write
from course.desk.lint import problems
from course.lesson import LessonError, exercises, read

sys.path.insert(0, str(TINY / "notebooks"))
import tiny_checks  # noqa: F401  (registers the checks of lesson 99)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workbook that holds nothing but the tiny lesson."""
    shutil.copytree(TINY, tmp_path / "book")
    (tmp_path / "book" / "solutions").mkdir()
    return tmp_path / "book"


def test_the_tiny_lesson_keeps_every_rule() -> None:
    assert problems(tiny(), NAME, TINY) == []


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_notebook_is_rejected_with_the_message_of_its_fault(fault: str) -> None:
    break_it, message = BROKEN[fault]
    notebook = tiny()
    break_it(notebook)
    assert any(message in line for line in problems(notebook, NAME, TINY)), problems(notebook, NAME, TINY)


def test_every_problem_names_its_notebook() -> None:
    for break_it, _ in BROKEN.values():
        notebook = tiny()
        break_it(notebook)
        assert all(line.startswith(NAME) for line in problems(notebook, NAME, TINY))


def test_a_file_that_is_no_notebook_is_named(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("{}")
    with pytest.raises(LessonError, match=r"99_tiny\.ipynb: not a notebook"):
        read(tmp_path / NAME)


def test_an_answer_stands_between_the_marks_and_its_promise_above_them() -> None:
    solved = solve(tiny(), NAME, root=TINY)
    assert cell(solved, "quadruple-stub").source == (
        'def quadruple(number: int) -> int:\n    """Four times `number`."""\n'
        "    # BEGIN SOLUTION\n    return double(double(number))\n    # END SOLUTION"
    )
    assert cell(solved, "counter-stub").source.count("# BEGIN SOLUTION") == 2
    extra = cell(solved, "double-stub").source
    assert extra.startswith("def double(")
    assert extra.index("# BEGIN SOLUTION") < extra.index("\n\n\nSTEP = 2\n\n\ndef _scaled(")
    assert extra.count("# END SOLUTION") == extra.endswith("\n\n\n# END SOLUTION") == 1
    assert "# a comment that belongs to the answer" in cell(solved, "double-stub").source


def test_without_the_marks_an_answer_is_the_modules_own_text() -> None:
    module = (TINY / "answers" / "arithmetic.py").read_text(encoding="utf-8")
    for cell_id in ("quadruple-stub", "counter-stub"):
        lines = cell(solve(tiny(), NAME, root=TINY), cell_id).source.splitlines()
        assert "\n".join(line for line in lines if "SOLUTION" not in line) in module


def test_solved_cells_carry_what_nbgrader_reads() -> None:
    solved = solve(tiny(), NAME, root=TINY)
    answer, check = (cell(solved, f"double-{part}").metadata["nbgrader"] for part in ("stub", "check"))
    assert (answer["grade_id"], answer["solution"], answer["grade"], answer["locked"]) == (
        "99-double",
        True,
        False,
        False,
    )
    assert (check["grade_id"], check["grade"], check["points"], check["locked"]) == (
        "99-double-check",
        True,
        1,
        True,
    )
    assert answer["schema_version"] == check["schema_version"] == 3


def test_solving_only_some_exercises_leaves_the_other_stubs() -> None:
    solved = solve(tiny(), NAME, only=["99-double"], root=TINY)
    assert "SOLUTION" in cell(solved, "double-stub").source
    assert cell(solved, "counter-stub").source == cell(tiny(), "counter-stub").source


def test_runs_go_on_past_an_open_exercise_but_not_past_an_error_of_the_solved_notebook() -> None:
    assert cell(tiny(), "double-demo").metadata["tags"] == ["needs:99-double", "raises-exception"]
    assert cell(solve(tiny(), NAME, root=TINY), "double-demo").metadata["tags"] == ["needs:99-double"]


def test_building_writes_the_same_bytes_every_time_with_outputs(root: Path) -> None:
    target = root / "solutions" / NAME
    assert main(["99"], root) == 0
    first = target.read_bytes()
    assert main([], root) == 0
    assert target.read_bytes() == first
    assert cell(read(target), "double-demo").outputs[0].text == "42\n"
    assert list(differences(NAME, root)) == list(output_problems(read(target), NAME)) == []
    assert main(["--check"], root) == 0


STALE: dict[str, tuple[Change, str]] = {
    "source": (replace("double-demo", "21", "22"), "(double-demo): source differs"),
    "metadata": (tags("double-demo"), "(double-demo): metadata differs"),
    "cells": (remove("double-demo"), "cells were added, removed or moved"),
    "notebook": (lambda nb: nb.metadata.update(memlab={}), "the notebook's metadata differs"),
}


@pytest.mark.parametrize("fault", STALE)
def test_checking_names_what_was_edited_by_hand_in_a_solved_notebook(
    root: Path, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    solved = solve(tiny(), NAME, root=root)
    STALE[fault][0](solved)
    write(solved, root / "solutions" / NAME)
    assert main(["--check"], root) == 1
    error = capsys.readouterr().err
    assert STALE[fault][1] in error
    assert "make notebooks" in error


def test_checking_notices_a_changed_answer(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(solve(tiny(), NAME, root=root), root / "solutions" / NAME)
    module = root / "answers" / "arithmetic.py"
    module.write_text(module.read_text().replace("double(double(number))", "4 * number"))
    assert main(["--check"], root) == 1
    assert "(quadruple-stub): source differs" in capsys.readouterr().err


def test_checking_names_missing_orphaned_and_unexecuted_notebooks(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tiny(), root / "solutions" / "98_gone.ipynb")
    assert main(["--check"], root) == 1
    error = capsys.readouterr().err
    assert f"solutions/{NAME} is missing" in error
    assert "98_gone.ipynb has no notebook behind it" in error
    write(solve(tiny(), NAME, root=root), root / "solutions" / NAME)
    assert main(["--check"], root) == 1
    assert "(imports): was not executed" in capsys.readouterr().err


def test_a_notebook_that_breaks_a_rule_is_not_built_and_its_cell_is_named(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = tiny()
    BROKEN["stub runs on"][0](notebook)
    write(notebook, root / "notebooks" / NAME)
    assert main([], root) == 1
    said = capsys.readouterr().err
    assert f"{NAME} cell" in said
    assert "(double-stub)" in said
    assert f"solutions/{NAME} was not written" in said
    assert not (root / "solutions" / NAME).exists()


def test_a_failing_cell_stops_the_build_and_is_named(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = tiny()
    replace("double-demo", "21", "'a'")(notebook)
    write(notebook, root / "notebooks" / NAME)
    assert main([], root) == 1
    error = capsys.readouterr().err
    assert "99_tiny.ipynb cell 7 (double-demo) stopped the run: TypeError: number='a' is text" in error
    assert not (root / "solutions" / NAME).exists()


SPOILT = {
    "error": (
        {"output_type": "error", "ename": "ValueError", "evalue": "x", "traceback": []},
        "shows the error",
    ),
    "stderr": ({"output_type": "stream", "name": "stderr", "text": "Warning: x"}, "writes to stderr"),
    "path": ({"output_type": "stream", "name": "stdout", "text": "/home/ada/x.db"}, "shows '/home/'"),
    "address": ({"output_type": "stream", "name": "stdout", "text": "<A at 0x7f00aabbcc>"}, "shows 'at 0x7f"),
    "html": (
        {"output_type": "display_data", "data": {"text/html": "<b>/home/ada</b>"}, "metadata": {}},
        "shows '/home/'",
    ),
}


@pytest.mark.parametrize("fault", SPOILT)
def test_an_output_that_must_not_be_shown_is_named(fault: str) -> None:
    notebook = tiny()
    cell(notebook, "double-demo").outputs = [from_dict(SPOILT[fault][0])]
    found = [line for line in output_problems(notebook, NAME) if "was not executed" not in line]
    assert len(found) == 1
    assert "(double-demo)" in found[0]
    assert SPOILT[fault][1] in found[0]


def test_a_run_sees_no_keys_of_the_caller(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "caller")
    notebook = solve(tiny(), NAME, root=root)
    cell(notebook, "double-demo").source = "import os\nprint(os.environ.get('ANTHROPIC_API_KEY'))"
    ran = execute(notebook, NAME, root / "notebooks")
    assert cell(ran, "double-demo").outputs[0].text == "None\n"


def test_tidying_clears_what_jupyter_leaves_behind(root: Path) -> None:
    notebook = tiny()
    cell(notebook, "double-demo").update(outputs=[OUTPUT], execution_count=4)
    cell(notebook, "imports").metadata["execution"] = {"iopub.status.busy": "2026-01-01"}
    another_kernel(notebook)
    tags("double-demo", "needs:99-double")(notebook)
    tags("imports", "raises-exception")(notebook)
    write(notebook, root / "notebooks" / NAME)
    assert main(["--tidy", "99"], root) == 0
    assert (root / "notebooks" / NAME).read_bytes() == (TINY / "notebooks" / NAME).read_bytes()
    assert tidy(tiny()) == tiny()


def test_a_notebook_is_found_by_its_number_and_an_unknown_one_is_refused(root: Path) -> None:
    assert names(["99"], root) == names(["99_tiny.ipynb"], root) == names((), root) == [NAME]
    with pytest.raises(LessonError, match=r"no notebook is called '07'; there are 99_tiny"):
        names(["07"], root)


@pytest.mark.parametrize("exercise_id", [None, "99-double", "99-quadruple", "99-counter"])
def test_filling_in_an_exercise_turns_its_check_green_and_those_it_calls(exercise_id: str | None) -> None:
    all_exercises = exercises(tiny(), NAME, TINY)
    chosen = [exercise for exercise in all_exercises if exercise.id == exercise_id]
    filled = set().union(*(with_what_it_calls(exercise, all_exercises) for exercise in chosen))
    outcomes = run(solve(tiny(), NAME, only=sorted(filled), root=TINY), TINY / "notebooks")
    assert list(faults(outcomes, tiny(), NAME, filled, TINY)) == []


def test_a_demo_that_fails_without_saying_what_it_needs_is_a_fault() -> None:
    notebook = tiny()
    tags("double-demo")(notebook)
    found = list(faults(run(notebook, TINY / "notebooks"), notebook, NAME, set(), TINY))
    assert found == ["99_tiny.ipynb cell 7 (double-demo) raised NotImplementedError: 99-double"]


def test_a_demo_that_fails_for_another_reason_is_a_fault() -> None:
    notebook = tiny()
    cell(notebook, "double-demo").source = "1 / 0"
    found = list(faults(run(notebook, TINY / "notebooks"), notebook, NAME, set(), TINY))
    assert found == ["99_tiny.ipynb cell 7 (double-demo) raised ZeroDivisionError: division by zero"]


def test_a_check_that_is_green_on_a_stub_is_a_fault() -> None:
    notebook = tiny()
    solved = solve(notebook, NAME, only=["99-counter"], root=TINY)
    found = list(faults(run(solved, TINY / "notebooks"), notebook, NAME, set(), TINY))
    assert len(found) == 1
    assert "says 'passed', not 'not yet'" in found[0]
