"""The grading command, on a class of learners who did all that learners do."""

from __future__ import annotations

import builtins
import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from nbformat.v4 import new_code_cell

from course.desk import grade
from course.desk.build import solve, write
from course.desk.engine import Engine
from course.desk.grade import Grade, Limits, main, summary, table
from course.desk.hand_in import (
    HandIn,
    NothingHandedIn,
    course,
    gathered,
    given,
    global_names,
    hand_ins,
    home,
    plain,
    recognised,
    tasks,
)
from course.lesson import ROOT, exercises, read

NAME = "01_embeddings.ipynb"
LESSON = read(ROOT / "notebooks" / NAME)
KEPT = ("01-setup", "01-texts")
SOLVED = solve(LESSON, NAME)
ANSWERS = {e.id: SOLVED.cells[e.index].source for e in exercises(LESSON, NAME)}
TRIGRAMS_SOURCE = next(iter(ANSWERS.values()))
TRIGRAMS, BUCKET, COSINE, WORDS, EMBED = ANSWERS


def notebook(path: Path, edit: Callable[[Any], object] = lambda cells: None, **sources: str) -> Path:
    """A learner's notebook 01 at `path`, without its demos; `sources` stand in place of answers."""
    handed_in = solve(LESSON, NAME)
    tasks = {e.id: handed_in.cells[e.index] for e in exercises(LESSON, NAME)}
    for cell in tasks.values():
        cell.metadata.pop("nbgrader")
        key = cell.metadata.memlab.exercise.removeprefix("01-").replace("-", "_")
        cell.source = sources.get(key, cell.source)
    wanted = [*KEPT, *(cell.id for cell in tasks.values()), *(f"{id_}-check" for id_ in tasks)]
    handed_in.cells = [cell for cell in handed_in.cells if cell.id in wanted]
    edit({cell.id: cell for cell in handed_in.cells})
    path.parent.mkdir(parents=True, exist_ok=True)
    write(handed_in, path)
    return path


def state(folder: Path) -> dict[Path, tuple[bytes, int]]:
    """Bytes and time of change of every file below `folder`."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


STUB = LESSON.cells[exercises(LESSON, NAME)[0].index].source
ENDLESS = "def bucket(feature, dim=256):\n    while True:\n        print('memory ' * 200)"
NO_SYNTAX = "def cosine(a, b):\n    return sum(x * y for x, y in zip(a, b)"
LEAVES = ANSWERS[WORDS] + "\n\nexit()"
STUBBORN = "from itertools import count\n\n\ndef cosine(a, b):\n    return sum(count())"
DIES = "import os\ndef words(text):\n    os._exit(3)"
AT_HOME = (
    "import os\nfrom pathlib import Path\nPath('notes.txt').write_text('mine')\n"
    "def bucket(feature, dim=256):\n"
    "    found = sorted(key for key in os.environ if 'KEY' in key or 'TOKEN' in key)\n"
    "    raise ValueError(f'{found} {list(Path.home().glob(\"*.secret\"))} \\ud800 {input}')"
)


PATCHED = """
import course.check as _c
_c.check = _c._check = lambda id_, *answers: _c.CheckResult(id_, "passed", "")
for _id in _c._REGISTRY:
    _c._REGISTRY[_id] = lambda case, *answers: None
"""
NO_NOTEBOOKS = {
    "ed": "{",
    "fo": '{"nbformat": 99, "nbformat_minor": 0, "metadata": {}, "cells": []}',
    "gu": '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [3]}',
    "hy": '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": null}',
}


def edit_as_bo_did(cells: dict[str, Any]) -> None:
    cells["01-trigrams-check"].source = 'print("01-trigrams  passed")'
    cells["01-cosine-check"].source = ""
    cells["01-setup"].source += "\nwhile True:\n    pass"


def edit_as_cy_did(cells: dict[str, Any]) -> None:
    cells["01-setup"].source += '\ncheck = lambda *_: "passed"\n' + PATCHED
    for number, cell in enumerate(cells.values()):
        cell.metadata.clear()
        cell.id = f"mine-{number}"


@dataclass(frozen=True)
class Graded:
    rows: dict[tuple[str, str], dict[str, str]]
    printed: str
    remarks: str
    untouched: bool


pytestmark = pytest.mark.xdist_group("grade")  # one process makes what all share


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """A class of eight, graded once."""
    place = tmp_path_factory.mktemp("grading")
    group = place / "group"
    notebook(group / "ada" / "clone" / "notebooks" / NAME)
    notebook(group / "ada" / "clone" / "solutions" / NAME, trigrams=STUB)
    bo = {"trigrams": STUB, "bucket": ENDLESS, "cosine": NO_SYNTAX, "words": LEAVES}
    notebook(group / "bo" / "bo_01_embeddings (1).ipynb", edit_as_bo_did, **bo)
    (group / "bo" / "memlab.py").write_text("raise RuntimeError('this is not the course')")
    cy = {"trigrams": "from memlab.embedding import trigrams", "bucket": AT_HOME}
    notebook(group / "cy" / NAME, edit_as_cy_did, **cy, cosine=STUBBORN, words=DIES, hash_embed="# later")
    (group / "di").mkdir()
    notebook(group / "ada" / "clone" / "notebooks" / "01_embeddings (1).ipynb", trigrams=STUB)
    for name, text in NO_NOTEBOOKS.items():
        (group / name).mkdir()
        (group / name / NAME).write_text(text)
    before = state(group)
    command = [sys.executable, "-m", "course.desk.grade", str(group), "--csv", str(place / "all.csv")]
    secrets = {"ANTHROPIC_API_KEY": "k", "GITHUB_TOKEN": "t", "AWS_SECRET_ACCESS_KEY": "s"}
    run = subprocess.run(
        [*command, "--cell-seconds", "2"],
        env=os.environ | secrets,
        text=True,
        capture_output=True,
        timeout=240,
    )
    assert run.returncode == 0, run.stderr
    with (place / "all.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["learner"], row["exercise"]): row for row in csv.DictReader(file)}
    return Graded(rows, run.stdout, run.stderr, state(group) == before)


@pytest.mark.parametrize("exercise", list(ANSWERS))
def test_right_answers_pass(graded: Graded, exercise: str) -> None:
    assert graded.rows["ada", exercise]["status"] == "passed", graded.rows["ada", exercise]


@pytest.mark.parametrize(
    ("learner", "exercise", "status", "said"),
    [
        pytest.param("bo", TRIGRAMS, "not yet", "", id="a stub whose check cell says passed"),
        pytest.param("bo", BUCKET, "timed out", "still running at the limit", id="an endless loop"),
        pytest.param("bo", COSINE, "error", "Its cell raised SyntaxError", id="no Python"),
        pytest.param("bo", WORDS, "error", "ended the kernel with `exit()`", id="exit in the cell"),
        pytest.param(
            "bo", EMBED, "failed", "builds on 01-trigrams, 01-bucket, 01-words", id="what builds on these"
        ),
        pytest.param("cy", TRIGRAMS, "missing", "the course's own", id="the course's own function"),
        pytest.param(
            "cy", BUCKET, "failed", "Your code raised `ValueError: [] []", id="keys and home are empty"
        ),
        pytest.param("cy", COSINE, "timed out", "cannot be interrupted", id="a loop that no interrupt ends"),
        pytest.param("cy", WORDS, "error", "The kernel died", id="a kernel that dies"),
        pytest.param("cy", EMBED, "missing", "No cell defines `hash_embed`", id="no answer at all"),
        pytest.param("di", COSINE, "missing", f"{NAME} was not handed in", id="an empty folder"),
        pytest.param("ed", COSINE, "error", "cannot be read as a notebook", id="a broken file"),
        pytest.param("fo", COSINE, "error", "cannot be read as a notebook", id="a later format"),
        pytest.param("gu", COSINE, "error", "cannot be read as a notebook", id="a cell that is none"),
        pytest.param("hy", COSINE, "error", "cannot be read as a notebook", id="no list of cells"),
        pytest.param("cy", BUCKET, "failed", "\\ud800", id="half a character, though its checks are patched"),
    ],
)
def test_a_fault_costs_its_own_exercise_and_is_named(
    graded: Graded, learner: str, exercise: str, status: str, said: str
) -> None:
    row = graded.rows[learner, exercise]
    assert (row["status"], said in row["sentence"]) == (status, True), row


def test_nothing_of_the_learners_changes(graded: Graded) -> None:
    assert graded.untouched


def test_the_table_has_a_line_for_every_learner_and_exercise_and_sums_up_the_class(graded: Graded) -> None:
    lines = graded.printed.splitlines()
    assert len([line for line in lines if f" {COSINE} " in line and "01_embeddings" in line]) == 8
    assert len(graded.rows) == 8 * len(ANSWERS)
    assert any(line.split()[:4] == [COSINE, "1", "of", "8"] for line in lines)


def test_a_file_that_is_not_graded_is_named(graded: Graded) -> None:
    [remark] = [line for line in graded.remarks.splitlines() if "is not graded" in line]
    assert remark.startswith("ada: ")
    assert "01_embeddings (1).ipynb" in remark


def test_a_cell_nested_too_deeply_for_python_is_left_to_the_kernel() -> None:
    assert global_names("x=" + "-" * 60_000 + "1") is None


def test_a_sentence_of_megabytes_is_cut_and_a_name_that_is_no_text_spelt_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    verdict = grade.Verdict("error", "long" * 100_000)
    monkeypatch.setattr(grade, "_graded", lambda *_: {COSINE: verdict})
    [row] = grade.grade(HandIn("ad\udcff", {NAME: tmp_path}), NAME)
    assert row.sentence.endswith("… (400000 characters)")
    assert len(row.sentence) < 1100
    grade.write_csv([row], tmp_path / "all.csv")
    assert "\nad\\udcff,01_embeddings," in (tmp_path / "all.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["01_embeddings - Ada L.ipynb", "01_embeddings - Bo D.ipynb"], r"Ada.* and .*Bo.*two learners'"),
        ([f"ada_{NAME}", "bo_02_records_and_store.ipynb"], r"ada_.* and bo_.*two learners'"),
        ([NAME, f"ada/{NAME}", f"bo/{NAME}"], r"beside folders that have notebooks too \(ada, bo\).*move it"),
        ([f"ada_{NAME}", f"bo_{NAME}"], r"ada_.* and bo_.*two learners'.*a folder of their own"),
    ],
)
def test_a_folder_of_several_learners_is_not_taken_for_one(
    files: list[str], said: str, tmp_path: Path
) -> None:
    for file in files:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("{}")
    with pytest.raises(NothingHandedIn, match=said):
        hand_ins(tmp_path)


def test_two_files_named_for_one_notebook_are_refused(tmp_path: Path) -> None:
    files = [tmp_path / f"{who}_{NAME}" for who in ("ada", "bo")]
    for file in files:
        file.write_text("{}")
    with pytest.raises(NothingHandedIn, match="grade one at a time"):
        gathered(files)


def test_the_summary_names_what_stops_most() -> None:
    said = ["Divide by both lengths.", "", "Divide by both lengths.", "It does not end."]
    rows = [Grade(name, "01", COSINE, "failed", text) for name, text in zip("abcd", said, strict=True)]
    rows.append(Grade("e", "01", COSINE, "passed", "6 cases passed"))
    assert summary(rows, 200).splitlines()[1] == f"{COSINE}  1 of 5  2 × failed: Divide by both lengths."
    rows += [Grade(name, "01", COSINE, "missing", f"{NAME} was not handed in.") for name in "fgh"]
    rows += [Grade("i", "01", COSINE, "not yet", "")]
    said = summary(rows, 200).splitlines()[1]
    assert said == f"{COSINE}  1 of 9 (4 not begun)  2 × failed: Divide by both lengths."


def test_a_row_fits_its_line_and_hides_what_a_passed_check_counted() -> None:
    rows = [
        Grade("ada", "01", COSINE, "failed", "long " * 50),
        Grade("bo", "01", COSINE, "passed", "6 cases"),
    ]
    lines = table(rows, 60).splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[1].endswith("…")
    assert "6 cases" not in lines[2]


def test_a_notebook_out_of_time_says_so_of_the_rest(tmp_path: Path) -> None:
    path = notebook(tmp_path / NAME, bucket=ENDLESS)
    rows = grade.grade(hand_ins(path)[0], NAME, Limits(cell=30, notebook=3))
    found = {row.exercise: row for row in rows}
    assert found[BUCKET].status == found[EMBED].status == "timed out"
    assert "had used up its 3 s" in found[EMBED].sentence


def test_an_answer_may_use_what_stands_below_it(tmp_path: Path) -> None:
    uses = "def bucket(feature, dim=256):\n    return helper(feature, dim)"
    below = ANSWERS[BUCKET].replace("def bucket", "def helper")

    def edit(cells: dict[str, Any]) -> None:
        cells["01-cosine-stub"].source = f"{below}\n\n{ANSWERS[COSINE]}"

    path = notebook(tmp_path / "eve" / "notebooks" / NAME, edit, bucket=uses)
    found = {row.exercise: row for row in grade.grade(hand_ins(path)[0], NAME)}
    assert {row.status for row in found.values()} == {"passed"}
    assert {row.learner for row in found.values()} == {"eve"}


def test_of_the_courses_cells_only_those_run_that_the_learners_use() -> None:
    given = {"setup": "import re\nSIGNS = '.!'", "shows": "words('a b')", "unused": "shown = words('c')"}
    mine = "def words(text: str) -> list[str]:\n    return re.split(SIGNS, text)"
    own = {"magic": "%time words('a')", "extra": "helper = 3", "broken": "def ("}
    cells = dict(enumerate([*given.values(), mine, *own.values()]))
    kept = grade._needed(cells, frozenset(given.values()))
    assert list(kept.values()) == [given["setup"], mine, *own.values()]


@pytest.mark.parametrize("name", course())
def test_what_an_answer_uses_is_defined_in_the_cells_that_the_grader_runs(name: str) -> None:
    code = {i: c.source for i, c in enumerate(read(ROOT / "solutions" / name).cells) if c.cell_type == "code"}
    kept = grade._needed(code, frozenset(given(name).values()))
    defined, used = set[str](), set[str]()
    for found in filter(None, map(global_names, kept.values())):
        used |= found[0] - defined - set(dir(builtins))
        defined |= found[1]
    assert used - defined == set()


def test_every_solved_notebook_is_known_to_the_grader_with_all_its_exercises() -> None:
    for name in course():
        ids = [e.id for e in exercises(read(ROOT / "notebooks" / name), name)]
        assert [task.id for task in tasks(name)] == ids


@pytest.mark.parametrize(
    ("arguments", "way_out"),
    [
        (["nowhere"], "there is no such file or folder"),
        (["empty"], "no notebook of the course"),
        (["mine.ipynb"], "not a notebook of the course; name it as it was"),
        ([NAME, "--csv", "nowhere/all.csv"], "in a folder that exists"),
        ([NAME, "--csv", NAME], "ends in .csv"),
        ([NAME, "--cell-seconds", "0"], "above 0"),
        ([], "PATH"),
    ],
)
def test_bad_arguments_are_refused_with_the_way_out(
    arguments: list[str],
    way_out: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "mine.ipynb").write_text(json.dumps({}))
    notebook(tmp_path / NAME)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert way_out in capsys.readouterr().err


def test_notebooks_named_one_by_one_are_one_learners(tmp_path: Path) -> None:
    files = [notebook(tmp_path / "ada" / NAME), tmp_path / "ada" / "02_records_and_store.ipynb"]
    shutil.copyfile(ROOT / "notebooks" / files[1].name, files[1])
    expected = {file.name: file for file in files}
    assert gathered(files) == [HandIn("ada", expected)]


@pytest.mark.parametrize(
    "name",
    ["01_embeddings-Copy1.ipynb", "01_Embeddings.ipynb", "Aufgabe 1 final.ipynb", "a.IPYNB", "a.ipynb.json"],
)
def test_a_file_is_the_notebook_that_is_in_it_whatever_its_name(name: str, tmp_path: Path) -> None:
    path = notebook(tmp_path / "ada" / name)
    assert hand_ins(tmp_path / "ada")[0].notebooks == {NAME: path}
    assert hand_ins(path)[0].notebooks == {NAME: path}


def test_without_marks_and_ids_what_a_file_defines_tells_its_notebook(tmp_path: Path) -> None:
    path = notebook(tmp_path / "mine.ipynb", edit_as_cy_did)
    assert recognised(path) == NAME
    notebook(path, edit_as_cy_did, trigrams="", bucket="", cosine="", words="")
    assert recognised(path) is None


def test_of_two_files_that_are_one_notebook_the_one_with_more_answers_counts(tmp_path: Path) -> None:
    names = (NAME, "01_embeddings-Copy1.ipynb", "Aufgabe 1.ipynb", "checked/01_embeddings.ipynb")
    empty, copy, half, below = (tmp_path / "ada" / name for name in names)
    shutil.copyfile(ROOT / "notebooks" / NAME, notebook(empty))
    [notebook(path) for path in (copy, below)]
    notebook(half, trigrams=STUB)
    [hand_in] = hand_ins(tmp_path)
    assert hand_in.notebooks == {NAME: below}  # as many answers as the copy, and the exact name
    assert set(hand_in.passed_over) == {empty, copy, half}


def test_a_zip_is_read_for_what_is_in_it(tmp_path: Path) -> None:
    for who in ("ada", "bo"):
        folder = notebook(tmp_path / who / "work" / "Aufgabe 1.ipynb").parent
        (folder / "helper.py").write_text("x = 1")
        shutil.make_archive(str(tmp_path / "class" / who / "work"), "zip", folder)
        shutil.make_archive(str(tmp_path / "flat" / who), "zip", folder)
    for place in ("class", "flat"):
        both = hand_ins(tmp_path / place)
        assert [hand_in.learner for hand_in in both] == ["ada", "bo"]
        assert [path.name for hand_in in both for path in hand_in.notebooks.values()] == [
            "Aufgabe 1.ipynb"
        ] * 2
    [alone] = hand_ins(tmp_path / "flat" / "ada.zip")
    assert (alone.learner, sorted(path.name for path in alone.notebooks[NAME].parent.iterdir())) == (
        "ada", ["Aufgabe 1.ipynb", "helper.py"],
    )  # fmt: skip


def test_checkpoints_and_what_a_mac_leaves_are_not_graded(tmp_path: Path) -> None:
    for name in ("._01_embeddings.ipynb", ".ipynb_checkpoints/01_embeddings-checkpoint.ipynb"):
        notebook(tmp_path / name)
    with pytest.raises(NothingHandedIn, match="no notebook of the course"):
        hand_ins(tmp_path)
    notebook(tmp_path / NAME)
    assert hand_ins(tmp_path)[0].notebooks == {NAME: tmp_path / NAME}


@pytest.mark.parametrize(
    ("magic", "plainly"),
    [
        ("%%time\ndef f():\n    return 1", "\ndef f():\n    return 1"),
        ("def f():\n    !ls\n    return 1\nf?", "def f():\n    pass\n    return 1\n"),
        ("%matplotlib inline\nx = '% % !ls'", "\nx = '% % !ls'"),
        ("%%bash\nls", ""),
        ("x = (1\n % 2)", "x = (1\n % 2)"),
    ],
)
def test_a_cell_is_read_without_its_magics(magic: str, plainly: str) -> None:
    assert plain(magic) == plainly


def test_an_answer_beside_its_stub_counts_and_a_second_stub_does_not() -> None:
    cells = read(ROOT / "notebooks" / NAME).cells
    task = tasks(NAME)[0]
    at = next(i for i, cell in enumerate(cells) if cell.id == task.cell_id)
    assert home(task, cells) == at
    own = new_code_cell("%%time\n" + TRIGRAMS_SOURCE)
    assert home(task, [*cells, own]) == len(cells)
    cells[at].source = TRIGRAMS_SOURCE
    assert home(task, [*cells, new_code_cell(STUB, metadata=cells[at].metadata)]) == at


def test_interrupted_it_prints_and_writes_what_was_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook(tmp_path / NAME)
    rows = [[Grade("ada", "01_embeddings", COSINE, "failed", grade.escaped("\x1b[2JDivide.\u202e"))]]

    def interrupted(*_: object) -> Iterator[list[Grade]]:
        yield from rows
        raise KeyboardInterrupt

    monkeypatch.setattr(grade, "grade_all", interrupted)
    monkeypatch.setattr(grade, "shared", Engine)  # it is closed
    assert main([str(tmp_path / NAME), "--csv", str(tmp_path / "all.csv")]) == 130
    assert "\\x1b[2JDivide.\\u202e" in capsys.readouterr().out
    assert "Divide." in (tmp_path / "all.csv").read_text(encoding="utf-8")


def test_a_terminal_that_does_not_know_a_letter_gets_a_table_all_the_same(tmp_path: Path) -> None:
    path = notebook(tmp_path / "李雷" / NAME, trigrams=STUB)
    run = subprocess.run(
        [sys.executable, "-m", "course.desk.grade", str(path)],
        env=os.environ | {"PYTHONIOENCODING": "cp1252"}, capture_output=True, timeout=240,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "\\u674e\\u96f7" in run.stdout.decode("cp1252")
