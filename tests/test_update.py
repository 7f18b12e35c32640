"""Updating the course: real clones with a learner's work in them, and a newer course. Nothing is lost."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course.desk.build import solve, write
from course.desk.update import UpdateError, bring, carry, main, update
from course.lesson import ROOT, read

NAME = "01_embeddings.ipynb"
OTHER = "00_start_here.ipynb"
ANSWER = "def trigrams(word):\n    return ['mine']"
NOTE = "I think it is 3."
Edit = Callable[[dict[str, Any]], object]


def git(folder: Path, *arguments: str) -> str:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")
    run = subprocess.run(
        ["git", *who, *arguments], cwd=folder, env=os.environ | own, text=True, capture_output=True
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def edit(path: Path, change: Edit) -> None:
    """Change the cells of a notebook, by id."""
    notebook = read(path)
    change({cell.id: cell for cell in notebook.cells})
    write(notebook, path)


def add(path: Path, after: str, source: str) -> None:
    """What *Insert cell below* does in JupyterLab."""
    notebook = read(path)
    index = next(i for i, cell in enumerate(notebook.cells) if cell.id == after)
    notebook.cells.insert(index + 1, nbformat.v4.new_markdown_cell(source))
    write(notebook, path)


def sources(path: Path) -> dict[str, str]:
    return {cell.id: cell.source for cell in read(path).cells}


@dataclass(frozen=True)
class Course:
    origin: Path
    clone: Path

    @property
    def notebook(self) -> Path:
        return self.clone / "notebooks" / NAME

    def publish(self, change: Edit = lambda cells: None) -> None:
        """A newer version of the course."""
        edit(self.origin / "notebooks" / NAME, change)
        solved = read(self.origin / "notebooks" / NAME)
        for cell in solved.cells:
            if "exercise" in cell.metadata.get("tags", []):
                cell.metadata["memlab"]["stub"], cell.source = cell.source, "answered"
        write(solved, self.origin / "solutions" / NAME)
        (self.origin / "README.md").write_text("newer")
        git(self.origin, "add", "-A")
        git(self.origin, "commit", "-q", "-m", "Newer")


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course of two notebooks, and a learner's clone of it in which there is work."""
    origin = tmp_path / "course"
    for folder in ("notebooks", "solutions"):
        (origin / folder).mkdir(parents=True)
    for name in (NAME, OTHER):
        shutil.copy(ROOT / "notebooks" / name, origin / "notebooks")
        write(solve(read(ROOT / "notebooks" / name), name), origin / "solutions" / name)
    (origin / "README.md").write_text("old")
    shutil.copy(ROOT / ".gitignore", origin)
    git(origin, "init", "-q")
    git(origin, "add", "-A")
    git(origin, "commit", "-q", "-m", "Course")
    git(tmp_path, "clone", "-q", str(origin), "a clone")
    found = Course(origin, tmp_path / "a clone")
    work(found.notebook)
    return found


def work(path: Path) -> None:
    """An answer, its output, a note in a cell of the course, and a cell of one's own."""

    def change(cells: dict[str, Any]) -> None:
        cells["01-trigrams-stub"].source = ANSWER
        cells["01-trigrams-stub"].outputs = [nbformat.v4.new_output("stream", text="ran")]
        cells["01-trigrams-stub"].execution_count = 3
        cells["01-sec-words"].source += f"\n\n{NOTE}"

    edit(path, change)
    add(path, "01-trigrams-check", "A cell of my own.")


def assert_the_work_is_there(path: Path) -> None:
    cells = read(path).cells
    by_id = {cell.id: cell for cell in cells}
    assert by_id["01-trigrams-stub"].source == ANSWER
    assert by_id["01-trigrams-stub"].outputs[0].text == "ran"
    assert by_id["01-sec-words"].source.endswith(NOTE)
    ids = [cell.id for cell in cells]
    assert cells[ids.index("01-trigrams-check") + 1].source == "A cell of my own."
    nbformat.validate(read(path))


def test_a_notebook_that_the_course_left_alone_keeps_its_very_bytes(course: Course) -> None:
    (course.origin / "README.md").write_text("newer")
    git(course.origin, "commit", "-q", "-a", "-m", "Newer")
    before = course.notebook.read_bytes()
    update(course.clone)
    assert course.notebook.read_bytes() == before
    assert (course.clone / "README.md").read_text() == "newer"


def test_changes_of_the_course_elsewhere_in_the_notebook_come_in_and_the_work_stays(course: Course) -> None:
    course.publish(lambda cells: cells["01-recap"].update(source="A new recap."))
    before = course.notebook.read_bytes()
    said = update(course.clone)
    assert sources(course.notebook)["01-recap"] == "A new recap."
    assert_the_work_is_there(course.notebook)
    assert any(NAME in line and "your work is in it" in line for line in said)
    [kept] = (course.clone / "backup").rglob(NAME)
    assert kept.read_bytes() == before
    assert git(course.clone, "rev-parse", "HEAD") == git(course.origin, "rev-parse", "HEAD")


def test_what_both_changed_stands_below_the_courses_new_cell(course: Course) -> None:
    def change(cells: dict[str, Any]) -> None:
        cells["01-trigrams-stub"].source += "  # changed"
        cells["01-sec-words"].source = "Another text."

    course.publish(change)
    said = update(course.clone)
    cells = read(course.notebook).cells
    ids = [cell.id for cell in cells]
    for cell_id, theirs, mine in (
        ("01-trigrams-stub", "  # changed", ANSWER),
        ("01-sec-words", "Another text.", NOTE),
    ):
        index = ids.index(cell_id)
        assert cells[index].source.endswith(theirs)
        assert cells[index + 1].source.endswith(mine)
        assert any(cell_id in line for line in said)
    tagged = [cell for cell in cells if cell.metadata.get("memlab", {}).get("exercise") == "01-trigrams"]
    assert len(tagged) == 1


def test_an_answer_to_an_exercise_that_the_course_dropped_is_kept(course: Course) -> None:
    notebook = read(course.origin / "notebooks" / NAME)
    notebook.cells = [cell for cell in notebook.cells if not cell.id.startswith("01-trigrams-")]
    write(notebook, course.origin / "notebooks" / NAME)
    course.publish()
    update(course.clone)
    texts = list(sources(course.notebook).values())
    assert ANSWER in texts
    assert "A cell of my own." in texts
    assert texts.index("A cell of my own.") == texts.index(ANSWER) + 1


def test_a_second_update_changes_nothing_more(course: Course) -> None:
    course.publish(lambda cells: cells["01-trigrams-stub"].update(source="def trigrams(word): ..."))
    update(course.clone)
    before = course.notebook.read_bytes()
    assert update(course.clone) == ["The course is up to date."]
    course.publish(lambda cells: cells["01-recap"].update(source="Yet another recap."))
    update(course.clone)
    assert sources(course.notebook)["01-recap"] == "Yet another recap."
    again = [text for text in sources(course.notebook).values() if text == ANSWER]
    assert len(again) == 1
    assert before != course.notebook.read_bytes()


def test_other_files_of_the_learner_are_put_aside_and_named(course: Course) -> None:
    (course.clone / "README.md").write_text("my notes on the README")
    (course.clone / "extra.md").write_text("untracked, and mine")
    (course.clone / "my_memory.py").write_text("ignored, and mine")
    git(course.clone, "add", "README.md")
    for name in ("extra.md", "my_memory.py"):
        (course.origin / name).write_text("the course's")
    git(course.origin, "add", "-f", "extra.md", "my_memory.py")
    course.publish()
    said = " ".join(update(course.clone))
    for name, mine in (
        ("README.md", "my notes on the README"),
        ("extra.md", "untracked, and mine"),
        ("my_memory.py", "ignored, and mine"),
    ):
        [kept] = (course.clone / "backup").rglob(name)
        assert kept.read_text() == mine
        assert kept.relative_to(course.clone).as_posix() in said.replace("\\", "/")
    assert (course.clone / "README.md").read_text() == "newer"


def test_an_unreadable_notebook_of_the_learner_is_kept_aside(course: Course) -> None:
    course.notebook.write_text("<<<<<<< broken")
    course.publish(lambda cells: cells["01-recap"].update(source="A new recap."))
    said = " ".join(update(course.clone))
    assert "cannot be read" in said
    [kept] = (course.clone / "backup").rglob(NAME)
    assert kept.read_text() == "<<<<<<< broken"
    assert sources(course.notebook)["01-recap"] == "A new recap."


def test_an_odd_notebook_costs_no_other_notebook_its_work(course: Course) -> None:
    edit(course.clone / "notebooks" / OTHER, lambda cells: next(iter(cells.values())).update(source=NOTE))
    odd = json.loads(course.notebook.read_text(encoding="utf-8"))
    odd["cells"][0]["foo"] = 1
    odd["cells"][1]["metadata"]["memlab"] = ["x"]
    course.notebook.write_text(json.dumps(odd), encoding="utf-8")
    before = course.notebook.read_bytes()
    added = nbformat.v4.new_markdown_cell("New.", id="new")
    other = read(course.origin / "notebooks" / OTHER)
    other.cells.append(added)
    write(other, course.origin / "notebooks" / OTHER)
    course.publish(lambda cells: cells["01-recap"].update(source="A new recap."))
    said = update(course.clone)
    [kept] = (course.clone / "backup").rglob(NAME)
    assert kept.read_bytes() == before
    assert any(NAME in line and "cannot be read" in line and str(kept) in line for line in said)
    assert {NOTE, "New."} <= set(sources(course.clone / "notebooks" / OTHER).values())


def test_a_notebook_that_the_course_renamed_is_put_aside_and_named(course: Course) -> None:
    git(course.origin, "mv", f"notebooks/{NAME}", "notebooks/01_vectors.ipynb")
    git(course.origin, "commit", "-q", "-m", "Renamed")
    before = course.notebook.read_bytes()
    said = update(course.clone)
    [kept] = (course.clone / "backup").rglob(NAME)
    assert kept.read_bytes() == before
    assert any(f"notebooks/{NAME}: the course has it no more" in line for line in said)
    assert (course.clone / "notebooks" / "01_vectors.ipynb").exists()


def test_work_follows_a_notebook_that_the_course_renamed(course: Course, tmp_path: Path) -> None:
    shutil.copytree(course.clone, tmp_path / "kept")
    for folder in ("notebooks", "solutions"):
        git(course.origin, "mv", f"{folder}/{NAME}", f"{folder}/01_vectors.ipynb")
    git(course.origin, "commit", "-q", "-m", "Renamed")
    said = "\n".join(update(course.clone))
    assert f"notebooks/{NAME} is now notebooks/01_vectors.ipynb. " in said
    assert_the_work_is_there(course.clone / "notebooks" / "01_vectors.ipynb")
    shutil.copytree(course.origin, tmp_path / "new")
    assert f"notebooks/{NAME} is now notebooks/01_vectors.ipynb" in bring(tmp_path / "kept", tmp_path / "new")
    assert_the_work_is_there(tmp_path / "new" / "notebooks" / "01_vectors.ipynb")


def test_a_copied_stub_does_not_take_the_answers_place() -> None:
    new = read(ROOT / "notebooks" / NAME)
    mine = copy.deepcopy(new)
    at = next(i for i, cell in enumerate(mine.cells) if cell.id == "01-trigrams-stub")
    mine.cells.insert(at, copy.deepcopy(mine.cells[at]))
    mine.cells[at].id, mine.cells[at + 1].source = "pasted", ANSWER
    carried, _ = carry(mine, {cell.id: cell.source for cell in new.cells}, new)
    marked = [c for c in carried.cells if c.metadata.get("memlab", {}).get("exercise") == "01-trigrams"]
    assert [cell.source for cell in marked] == [ANSWER]


def test_commits_of_ones_own_are_left_to_their_author(course: Course) -> None:
    git(course.clone, "commit", "-q", "-a", "-m", "My answers")
    course.publish(lambda cells: cells["01-recap"].update(source="A new recap."))
    before = course.notebook.read_bytes()
    with pytest.raises(UpdateError, match="1 commits of your own"):
        update(course.clone)
    assert course.notebook.read_bytes() == before
    assert git(course.clone, "status", "--porcelain") == ""


def test_when_git_cannot_go_forward_everything_is_as_it_was(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    from course.desk import update as module

    course.publish(lambda cells: cells["01-recap"].update(source="A new recap."))
    before, real = course.notebook.read_bytes(), module._git

    def failing(root: Path, *arguments: str) -> str:
        if arguments[0] == "merge":
            raise UpdateError("git merge says: no")
        return real(root, *arguments)

    monkeypatch.setattr(module, "_git", failing)
    with pytest.raises(UpdateError, match="no"):
        update(course.clone)
    assert course.notebook.read_bytes() == before


def test_without_git_the_way_out_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], tmp_path) == 1
    assert "make update FROM=" in capsys.readouterr().err
    assert main(["--from", str(tmp_path / "nowhere")], tmp_path) == 1
    assert "name the folder of your older copy" in capsys.readouterr().err


# Without git: the new course unpacked beside the old folder


def unpacked(course: Course, change: Edit) -> Path:
    """The newer course as an archive gives it: no git."""
    course.publish(change)
    target = course.origin.with_name("new")
    shutil.copytree(course.origin, target, ignore=shutil.ignore_patterns(".git"))
    return target


def test_work_is_carried_from_an_older_folder_which_does_not_change(course: Course) -> None:
    new = unpacked(course, lambda cells: cells["01-recap"].update(source="A new recap."))
    shutil.rmtree(course.clone / ".git")
    (course.clone / "my_memory.py").write_text("mine")
    (course.clone / "mine").mkdir()
    (course.clone / "mine" / "memory_system.py").write_text("mine")
    (course.clone / "notebooks" / "scratch.ipynb").write_text("{}")
    before = {file: file.read_bytes() for file in course.clone.rglob("*") if file.is_file()}
    assert main(["--from", str(course.clone)], new) == 0
    assert {file: file.read_bytes() for file in course.clone.rglob("*") if file.is_file()} == before
    assert_the_work_is_there(new / "notebooks" / NAME)
    assert sources(new / "notebooks" / NAME)["01-recap"] == "A new recap."
    assert (new / "my_memory.py").read_text() == (new / "mine" / "memory_system.py").read_text() == "mine"
    assert (new / "notebooks" / "scratch.ipynb").exists()
    assert sources(new / "notebooks" / OTHER) == sources(course.origin / "notebooks" / OTHER)


def test_a_stub_that_nobody_filled_follows_the_course(course: Course) -> None:
    new = unpacked(course, lambda cells: cells["01-bucket-stub"].update(source="def bucket(): ..."))
    bring(course.clone, new)
    found = list(sources(new / "notebooks" / NAME).values())
    assert found.count("def bucket(): ...") == 1
    assert sources(course.notebook)["01-bucket-stub"] not in found


def test_carrying_twice_leaves_newer_work_alone(course: Course) -> None:
    new = unpacked(course, lambda cells: None)
    bring(course.clone, new)
    once = sources(new / "notebooks" / NAME)
    bring(course.clone, new)
    assert sources(new / "notebooks" / NAME) == once
    better = "def trigrams(word):\n    return ['better']"
    edit(new / "notebooks" / NAME, lambda cells: cells["01-trigrams-stub"].update(source=better))
    before = (new / "notebooks" / NAME).read_bytes()
    assert any(NAME in line and "left alone" in line for line in bring(course.clone, new))
    assert (new / "notebooks" / NAME).read_bytes() == before


def test_a_broken_file_in_the_older_folder_is_named_and_the_rest_is_carried(course: Course) -> None:
    new = unpacked(course, lambda cells: cells["01-recap"].update(source="A new recap."))
    (course.clone / "solutions" / NAME).write_text("broken")
    (course.clone / "notebooks" / OTHER).write_text('{"nbformat": 99, "metadata": {}, "cells": []}')
    said = bring(course.clone, new)
    assert any(OTHER in line and "yours cannot be read" in line for line in said)
    assert any(f"{NAME} cannot be read" in line and "counts as your work" in line for line in said)
    assert ANSWER in sources(new / "notebooks" / NAME).values()


def test_a_notebook_whose_cell_ids_were_lost_is_matched_by_exercise_and_text(course: Course) -> None:
    notebook = copy.deepcopy(read(course.notebook))
    for number, cell in enumerate(notebook.cells):
        cell.id = f"other-{number}"
    write(notebook, course.notebook)
    new = unpacked(course, lambda cells: cells["01-recap"].update(source="A new recap."))
    bring(course.clone, new)
    found = sources(new / "notebooks" / NAME)
    assert ANSWER in found.values()
    assert "A cell of my own." in found.values()
    assert found["01-recap"] == "A new recap."
