"""Hostile text in what learners type and hand in: ids, answers, cells, files, and the tables about them."""

from __future__ import annotations

import copy
import csv
import json
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hostile import FLOODS, LISTED, mixtures

import course
from course.check import CheckResult, check
from course.desk import grade, hand_in, package
from course.desk.answers import STUB, found_in
from course.desk.engine import sentence
from course.desk.update import carry
from course.lesson import ROOT, LessonError, read
from course.pictures import prompts
from course.pictures.explorer import compare
from memlab.embedding import bucket, trigrams, words

NAME = "01_embeddings.ipynb"
TEXTS = (*LISTED, *mixtures(500))

HERE = (
    "answers",
    "check",
    "engine",
    "explorer",
    "grade",
    "hand_in",
    "lesson",
    "package",
    "prompts",
    "update",
)
ELSEWHERE = {
    **dict.fromkeys(["views", "lineage", "time_slider", "model_server"], "in test_hostile_stores.py"),
    "acceptance": "tries systems with texts of its own; takes the path of a module",
    "tuning": "ranks the labelled data of the course",
    "build": "reads the course's own notebooks",
    "doctor": "looks at this machine",
    "mine": "joins what `answers` reads and `package` writes",
    "lint": "reads the course's own notebooks",
    "minilm": "an embedder; the model's tokenizer takes what hash_embed takes",
    "scenarios": "reads the labelled data of the course",
    "stepper": "hands messages to functions that are tried themselves, and draws with views",
    "tuner": "offers the questions of the course to choose from",
    "widgets": "frames widgets that others made",
    **dict.fromkeys(["abilities", "attacks", "policies", "trial"], "try systems with texts of their own"),
    **dict.fromkeys(["gate_measures", "retrieval_measures", "thresholds"], "measure the course's own data"),
    **dict.fromkeys(["adas_memories", "small_stores"], "builders of what a check works on"),
    **dict.fromkeys(["guards", "isolation_attacks", "played_service"], "show or play the course's own texts"),
    "lesson_04_joints": "checks, which `check` runs",
    **dict.fromkeys([f"lesson_{number:02}" for number in range(12)], "checks, which `check` runs"),
}
"""Modules of the course that no text from outside reaches, or not here; and why."""


def test_every_module_for_teaching_is_tried_or_says_why_not() -> None:
    found = pkgutil.walk_packages(course.__path__, "course.")
    modules = {module.name.rpartition(".")[2] for module in found if not module.ispkg}
    assert modules == {*HERE, *ELSEWHERE}


def assert_presentable(result: CheckResult) -> None:
    """Fail unless a browser can be sent the note, and finds no element in it that is not ours."""
    assert repr(result).encode()
    page = result._repr_html_()
    assert page.encode()
    assert set(re.findall(r"<[/!?]?\s*([^\s>/]*)", page)) <= {"div", "span", "strong", "br", "em", "code"}


def test_a_check_of_any_name_is_answered_by_a_note() -> None:
    for text in (*TEXTS, *FLOODS):
        for name in (text, f"01-{text}", f"1.{text}"):
            result = check(name, len)
            assert result.status == "failed"
            assert_presentable(result)


def gives(text: str) -> Callable[..., Any]:
    return lambda *_: text


def raises(text: str) -> Callable[..., Any]:
    def answer(*_: Any) -> Any:
        raise ValueError(text)

    return answer


@pytest.mark.parametrize("answer", [gives, raises])
def test_a_check_tells_a_learner_what_an_answer_gave_or_raised_whatever_text_that_is(
    answer: Callable[[str], Callable[..., Any]],
) -> None:
    for text in (*TEXTS, *FLOODS[::8]):
        result = check("01-cosine", answer(text))
        assert result.status == "failed"
        assert_presentable(result)
        assert len(sentence(ValueError(text)).splitlines()) == 1


def test_a_file_is_a_notebook_or_the_error_names_it(tmp_path: Path) -> None:
    path, refused = tmp_path / NAME, 0
    for text in LISTED:
        shapes: list[Any] = [text, [text], {text: text}, {"nbformat": text}, {"cells": text, "nbformat": 4}]
        raw = [text.encode(errors="surrogatepass"), *(json.dumps(shape).encode() for shape in shapes)]
        for content in raw:
            path.write_bytes(content)
            try:
                found, complaint = read(path), ""
            except LessonError as error:
                found, complaint = None, str(error)
            assert isinstance(found, nbformat.NotebookNode) or NAME in complaint
            refused += found is None
    assert refused > 4 * len(LISTED)


PLACES: dict[str, Callable[[Any, str], object]] = {
    "source": lambda cell, text: cell.update(source=text),
    "below the answer": lambda cell, text: cell.update(source=f"{cell.source}\n{text}"),
    "memlab": lambda cell, text: cell.update(id="mine") or cell.metadata.update(memlab=text),
    "exercise": lambda cell, text: cell.metadata.memlab.update(exercise=text),
    "tags": lambda cell, text: cell.metadata.update(tags=[text]),
}
"""Where a learner may leave a text in the cell of an exercise."""


@pytest.mark.parametrize("place", PLACES)
def test_a_notebook_with_a_hostile_cell_is_carried_into_the_new_course_and_gathered(
    place: str, tmp_path: Path
) -> None:
    given, new = hand_in.given(NAME), read(ROOT / "notebooks" / NAME)
    wanted = list(hand_in.tasks(NAME))
    at = next(i for i, cell in enumerate(new.cells) if cell.metadata.get("memlab", {}).get("exercise"))
    for text in LISTED[::4]:
        theirs = copy.deepcopy(new)
        PLACES[place](theirs.cells[at], text)
        source = theirs.cells[at].source
        carried, _ = carry(theirs, given, new)
        assert not source.strip() or source in [cell.source for cell in carried.cells]
        (tmp_path / NAME).write_text(json.dumps(theirs))
        answers = found_in(NAME, [tmp_path / NAME], tmp_path)
        assert [answer.task for answer in answers] == wanted
        assert all(answer.splice is not None or NAME in answer.reason or answer.reason == STUB
                   for answer in answers)  # fmt: skip
        assert repr([(answer.reason, answer.remark) for answer in answers]).encode()


def test_what_is_no_python_is_refused_as_such_and_all_else_keeps_what_it_says() -> None:
    read_as_python = 0
    for text in TEXTS:
        try:
            found = package.pieces(text, 0)
        except hand_in.NO_PYTHON:
            continue
        if text[:1] not in (";", ",", "/"):  # with these IPython calls a function
            assert all(line in text for piece in found for line in piece.source.splitlines())
        read_as_python += 1
    assert read_as_python


def test_each_row_of_a_grading_is_one_line_and_comes_back_from_its_file(tmp_path: Path) -> None:
    rows = [
        grade.Grade(grade.escaped(text), "01", "01-cosine", "failed", grade.escaped(text)) for text in TEXTS
    ]
    assert len(grade.table(rows, 120).splitlines()) == len(rows) + 1
    assert len(grade.summary(rows, 120).splitlines()) == 2
    grade.write_csv(rows, tmp_path / "grades.csv")
    with (tmp_path / "grades.csv").open(encoding="utf-8", newline="") as file:
        assert [row["sentence"] for row in csv.DictReader(file)] == [row.sentence for row in rows]


def test_two_texts_are_compared_and_a_prompt_is_read_without_any_markup_of_theirs() -> None:
    for text in (*TEXTS, *FLOODS[::8]):
        features = {trigram: 1.0 for word in words(text) for trigram in trigrams(word)}
        shown = compare(features, features | {"tea": 1.0}, bucket)
        pages = [shown._repr_html_(), prompts.prompt_table(f"<MEMORIES>\n{text}\n</MEMORIES>")._repr_html_()]
        assert repr(shown).encode()
        for page in pages:
            assert not re.search(r"<(script|memor|system|/memor|!--)", page, re.IGNORECASE)
