"""nbgrader itself, on the solved notebooks: it makes the learner's version from them, and grades it."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from course.lesson import ROOT, exercises, functions, read

GRADED = "06_injection.ipynb"
ASSIGNMENTS = {"more": ["01_embeddings.ipynb", "08_write_gate.ipynb"], "one": [GRADED]}
RELEASED = [(assignment, name) for assignment, names in ASSIGNMENTS.items() for name in names]
WRONG = "06-session"
HERE = "# YOUR CODE HERE\n    raise NotImplementedError()"


def nbgrader(course: Path, home: Path) -> None:
    """In a process of its own: release two assignments, then grade what three learners submitted."""
    from nbgrader.apps import NbGraderAPI
    from traitlets.config import Config

    config = Config({"CourseDirectory": {"root": str(course), "course_id": "memlab"}})
    api = NbGraderAPI(config=config)
    results = [api.generate_assignment(assignment) for assignment in ASSIGNMENTS]
    submit(course, "solved", course / "source" / "one" / GRADED)
    submit(course, "empty", course / "release" / "one" / GRADED)
    wrong = read(course / "source" / "one" / GRADED)
    for cell in wrong.cells:
        if cell.metadata.get("memlab", {}).get("exercise") == WRONG:
            cell.source = f"def {ast.parse(cell.source).body[0].name}(*given, **named):\n    return []"
        elif cell.metadata.get("nbgrader", {}).get("grade_id") == f"{WRONG}-check":
            cell.source = "print('passed')"  # what a learner can do to a check, and nbgrader undoes
    edited = home / GRADED
    edited.write_text(json.dumps(wrong), encoding="utf-8")
    submit(course, "wrong", edited)
    results += [api.autograde("one", learner) for learner in ("solved", "empty", "wrong")]
    with api.gradebook as book:
        found = {who: book.find_submission("one", who) for who in ("solved", "empty", "wrong")}
        grades = {
            who: {grade.cell.name: grade.score for notebook in done.notebooks for grade in notebook.grades}
            for who, done in found.items()
        }
    failed = [result.get("error") or result["log"] for result in results if not result["success"]]
    print(json.dumps({"failed": failed, "grades": grades}))


def submit(course: Path, learner: str, notebook: Path) -> None:
    """Put `notebook` where nbgrader looks for what `learner` handed in."""
    folder = course / "submitted" / learner / "one"
    folder.mkdir(parents=True)
    shutil.copyfile(notebook, folder / GRADED)


@dataclass(frozen=True)
class Graded:
    course: Path
    grades: dict[str, dict[str, float]]


pytestmark = pytest.mark.xdist_group("nbgrader")  # one process makes what all share


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """nbgrader's run in a folder of its own, with an empty home."""
    place = tmp_path_factory.mktemp("nbgrader")
    course, home = place / "course", place / "home"
    home.mkdir()
    for assignment, names in ASSIGNMENTS.items():
        (course / "source" / assignment).mkdir(parents=True)
        for name in names:
            shutil.copyfile(ROOT / "solutions" / name, course / "source" / assignment / name)
    folders = ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    # nbgrader calls alembic by its bare name: as in an activated environment, it must be on the PATH.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | dict.fromkeys(folders, str(home)) | {"PATH": path}
    run = subprocess.run(
        [sys.executable, __file__, str(course), str(home)],
        cwd=place,
        env=environment,
        text=True,
        capture_output=True,
        timeout=240,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    said = json.loads(run.stdout.splitlines()[-1])
    assert said["failed"] == []
    return Graded(course, said["grades"])


def promise(cell: Any) -> list[str]:
    """Name, signature and docstring of every function in an exercise cell; a class's name and docstring."""
    [node] = [n for n in ast.parse(cell.source).body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    shown = [f"{f.name}{ast.unparse(f.args)} {ast.get_docstring(f)}" for f in functions(node)]
    return [node.name, ast.get_docstring(node) or "", *shown]


def answer_lines(source: str) -> set[str]:
    """The lines between the marks in a solved cell."""
    found, inside = set(), False
    for line in source.splitlines():
        if "# END SOLUTION" in line or "# BEGIN SOLUTION" in line:
            inside = "BEGIN" in line
        elif inside and len(line.strip()) > 12:
            found.add(line.strip())
    return found


@pytest.mark.parametrize(("assignment", "name"), RELEASED)
def test_the_release_is_the_learners_notebook_with_nbgraders_stubs(
    graded: Graded, assignment: str, name: str
) -> None:
    learner, released = read(ROOT / "notebooks" / name), read(graded.course / "release" / assignment / name)
    solved = read(ROOT / "solutions" / name)
    tasks = {exercise.index for exercise in exercises(learner, name)}
    assert [cell.id for cell in released.cells] == [cell.id for cell in learner.cells]
    for index, (ours, theirs) in enumerate(zip(learner.cells, released.cells, strict=True)):
        if index not in tasks:
            assert theirs.source == ours.source
            continue
        assert promise(theirs) == promise(ours)
        assert theirs.source.rstrip().endswith(HERE) or isinstance(
            ast.parse(ours.source).body[0], ast.ClassDef
        )
        assert answer_lines(solved.cells[index].source)
        left = [
            line
            for line in theirs.source.splitlines()
            if line.strip() in answer_lines(solved.cells[index].source)
        ]
        assert left == []
        assert ast.parse(theirs.source).body[1:] == []


@pytest.mark.parametrize(("assignment", "name"), RELEASED)
def test_checks_are_locked_in_the_release_and_nothing_of_the_run_is_left(
    graded: Graded, assignment: str, name: str
) -> None:
    released = read(graded.course / "release" / assignment / name)
    checks = [cell for cell in released.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert len(checks) == len(exercises(read(ROOT / "notebooks" / name), name))
    assert all(cell.metadata.nbgrader.locked and cell.metadata.editable is False for cell in checks)
    assert [cell.id for cell in released.cells if cell.get("outputs")] == []


def test_a_solved_submission_gets_every_point_and_an_empty_one_none(graded: Graded) -> None:
    ids = [f"{e.id}-check" for e in exercises(read(ROOT / "notebooks" / GRADED), GRADED)]
    assert graded.grades["solved"] == dict.fromkeys(ids, 1.0)
    assert graded.grades["empty"] == dict.fromkeys(ids, 0.0)


def test_one_wrong_answer_loses_its_own_point_whatever_its_check_cell_says(graded: Graded) -> None:
    lost = {check for check, score in graded.grades["wrong"].items() if score == 0}
    assert lost == {f"{WRONG}-check"}


def test_what_nbgrader_kept_shows_the_learner_why(graded: Graded) -> None:
    marked = read(graded.course / "autograded" / "wrong" / "one" / GRADED)
    [check] = [c for c in marked.cells if c.metadata.get("nbgrader", {}).get("grade_id") == f"{WRONG}-check"]
    assert check.source.startswith(f'check("{WRONG}"')
    assert any(output.get("ename") == "AssertionError" and WRONG in output.evalue for output in check.outputs)


if __name__ == "__main__":
    nbgrader(Path(sys.argv[1]), Path(sys.argv[2]))
