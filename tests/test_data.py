"""Every data file fits its schema; the labels of retrieval.json mean what the data card says they mean."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from course.scenarios import Kind, LabelledMemory, Person, Question, fill, load_retrieval
from memlab import clock
from memlab.embedding import RecordedEmbedder, words
from memlab.store import MemoryStore
from solutions.demo import load_conversations
from solutions.retrieval import PINNED

DATA = Path(__file__).resolve().parents[1] / "data"
CONVERSATIONS = sorted((DATA / "conversations").glob("*.json"))
FILES = {
    DATA / "gate_cases.json": "gate_cases",
    DATA / "retrieval.json": "retrieval",
    DATA / "labelled_messages.json": "labelled_messages",
    DATA / "minilm" / "recording.json": "recording",
    **dict.fromkeys(CONVERSATIONS, "conversations"),
}
PEOPLE = load_retrieval()
MEMORIES = [memory for person in PEOPLE for memory in person.memories]
QUESTIONS = [question for person in PEOPLE for question in person.questions]
BY_ID = {memory.id: memory for memory in MEMORIES}

FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a after all am an and another any are as at be been before being but by can could did do does done
        down each every for from get go goes going gone had has have having he her his how i if in into is it
        its just let many may me might mine more most much must my no nor not now of off on one only or other
        our out over s should shall she so some such t than that the their them then there these they this
        those to too under until up us user very was we were what when where which who whom whose why will
        with would you your""",
    )
)
"""Words that carry no topic; with the person's own name, they do not count as shared."""


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def schema(name: str) -> Any:
    return read(DATA / "schema" / f"{name}.json")


def said(text: str, person: Person) -> set[str]:
    """The words of `text` that carry a topic."""
    return set(words(text)) - FUNCTION_WORDS - {person.name.lower()}


def asked(kind: Kind) -> list[tuple[Person, Question]]:
    return [(person, q) for person in PEOPLE for q in person.questions if q.kind == kind]


def relevant(question: Question) -> list[LabelledMemory]:
    return [BY_ID[memory_id] for memory_id in question.relevant]


@pytest.mark.parametrize(("path", "name"), FILES.items(), ids=[path.name for path in FILES])
def test_a_data_file_fits_its_schema(path: Path, name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))
    problems = list(jsonschema.Draft202012Validator(schema(name)).iter_errors(read(path)))
    assert [f"{problem.json_path}: {problem.message}" for problem in problems] == []


def test_every_data_file_has_a_schema() -> None:
    found = {path for path in DATA.rglob("*.json") if path.parent != DATA / "schema"}
    assert found == set(FILES)


@pytest.mark.parametrize(
    "damage",
    [
        lambda person: person.update(part="test"),
        lambda person: person["memories"][0].update(importance=1.01),
        lambda person: person["memories"][0].update(half_life_days=0),
        lambda person: person["memories"][0].update(content="It ends in a space. "),
        lambda person: person["memories"][0].pop("subject"),
        lambda person: person["memories"][0].update(note="by hand"),
        lambda person: person["questions"][0].update(relevant=[]),
        lambda person: person["questions"][0].update(kind="nothing relevant"),
        lambda person: person["questions"][0].update(kind="safe"),
    ],
)
def test_the_schema_of_the_labels_refuses_a_damaged_entry(damage: Any) -> None:
    raw = read(DATA / "retrieval.json")
    damage(raw["people"][0])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(raw, schema("retrieval"))


def test_there_are_enough_people_memories_and_questions() -> None:
    assert len(PEOPLE) >= 8
    assert len(MEMORIES) >= 160
    assert len(QUESTIONS) >= 210


def test_no_id_stands_twice_and_each_begins_with_its_person() -> None:
    assert len(BY_ID) == len(MEMORIES)
    assert len({person.user_id for person in PEOPLE}) == len(PEOPLE)
    for person in PEOPLE:
        assert {memory.id.partition("/")[0] for memory in person.memories} == {person.name.lower()}


def test_no_question_and_no_memory_is_worded_twice() -> None:
    for texts in ([q.text for q in QUESTIONS], [memory.content for memory in MEMORIES]):
        folded = Counter(unicodedata.normalize("NFKC", text).casefold() for text in texts)
        assert [text for text, times in folded.items() if times > 1] == []


def test_what_should_come_back_is_the_persons_own_and_still_holds() -> None:
    for person in PEOPLE:
        active = {memory.id for memory in person.memories if memory.superseded_by is None}
        for question in person.questions:
            assert set(question.relevant) <= active, question.text


def test_a_tombstone_is_followed_by_a_newer_memory_of_the_same_topic_and_subject() -> None:
    for old in MEMORIES:
        if old.superseded_by is not None:
            new = BY_ID[old.superseded_by]
            assert new.superseded_by is None
            assert (new.topic, new.subject) == (old.topic, old.subject)
            assert new.age_days < old.age_days
            assert new.id.partition("/")[0] == old.id.partition("/")[0]


@pytest.mark.parametrize("part", ["tune", "held_out"])
def test_each_part_has_at_least_ten_questions_of_every_kind(part: str) -> None:
    counts = Counter(q.kind for person in PEOPLE if person.part == part for q in person.questions)
    assert set(counts) == set(get_args(Kind))
    assert min(counts.values()) >= 10


def test_no_question_has_a_twin_in_the_other_part() -> None:
    tune, held_out = (
        [(q.text, said(q.text, person)) for person in load_retrieval(part) for q in person.questions]
        for part in ("tune", "held_out")
    )
    twins = [
        (a, b) for (a, said_a), (b, said_b) in product(tune, held_out) if said_a == said_b and len(said_a) > 1
    ]
    assert twins == []


def test_a_question_of_the_same_words_shares_a_word_with_what_it_should_find() -> None:
    for person, question in asked("same words"):
        for memory in relevant(question):
            assert said(question.text, person) & said(memory.content, person), question.text


def test_a_paraphrase_shares_no_word_with_what_it_should_find() -> None:
    for person, question in asked("paraphrase"):
        for memory in relevant(question):
            assert not said(question.text, person) & said(memory.content, person), question.text


def test_a_question_about_someone_else_should_find_what_is_about_someone_else() -> None:
    for _, question in asked("about someone else"):
        assert all(memory.subject != "user" for memory in relevant(question)), question.text


def test_a_question_about_a_changed_fact_should_find_what_replaced_a_tombstone() -> None:
    replaced = {memory.superseded_by for memory in MEMORIES}
    for _, question in asked("changed fact"):
        assert set(question.relevant) <= replaced, question.text


def test_a_safety_question_should_find_an_important_memory_and_few_of_them_are_pins() -> None:
    for _, question in asked("safety"):
        assert max(memory.importance for memory in relevant(question)) >= 0.6, question.text
    pins = [memory for memory in MEMORIES if memory.importance >= PINNED]
    assert 2 <= len(pins) <= len(PEOPLE)


def test_both_parts_have_memories_of_a_few_words_and_of_many() -> None:
    for part in ("tune", "held_out"):
        lengths = [
            len(m.content.split()) for person in PEOPLE if person.part == part for m in person.memories
        ]
        assert min(lengths) <= 3
        assert max(lengths) >= 15


def test_every_memory_and_question_is_recorded() -> None:
    recorded = set(RecordedEmbedder().texts)
    texts = [memory.content for memory in MEMORIES] + [question.text for question in QUESTIONS]
    assert [text for text in texts if unicodedata.normalize("NFC", text) not in recorded] == []


def test_a_filled_store_shows_each_person_their_active_memories_at_their_ages() -> None:
    with clock.freeze(read(DATA / "retrieval.json")["at"]), MemoryStore() as store:
        fill(store, PEOPLE)
        for person in PEOPLE:
            active = {m.id: m.age_days for m in person.memories if m.superseded_by is None}
            shown = {record.memory_id: record.age_days() for record in store.scan(person.user_id)}
            assert shown == pytest.approx(active)
            assert len(store.owned(person.user_id)) == len(person.memories)


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(ValueError, match=r"part='test' is not known; pass 'tune', 'held_out'"):
        load_retrieval("test")  # type: ignore[arg-type]


def test_the_bakerys_conversations_are_those_of_sunita_rohan_and_farah() -> None:
    talks = load_conversations(DATA / "conversations" / "bakery.json")
    assert {talk.user_id for talk in talks} == {"u_sunita", "u_rohan", "u_farah"}
    assert {talk.app_name for talk in talks} == {"crumb"}


@pytest.mark.parametrize("path", CONVERSATIONS, ids=[path.name for path in CONVERSATIONS])
def test_the_conversations_of_a_file_load_with_ids_of_their_own_oldest_first(path: Path) -> None:
    talks = load_conversations(path)
    assert len({talk.source.source_id for talk in talks}) == len(talks)
    for user_id in {talk.user_id for talk in talks}:
        times = [talk.source.at for talk in talks if talk.user_id == user_id]
        assert times == sorted(times)


def row(kind: str, questions: list[tuple[str, Question]]) -> str:
    counts = Counter(part for part, _ in questions)
    return f"| {kind} | {counts['tune']} | {counts['held_out']} |"


def test_the_data_card_counts_what_the_data_holds() -> None:
    card = (DATA / "README.md").read_text(encoding="utf-8")
    asked_in = [(person.part, q) for person in PEOPLE for q in person.questions]
    for kind in get_args(Kind):
        line = row(kind, [(part, q) for part, q in asked_in if q.kind == kind])
        assert line in re.sub(r" — [^|]*\|", " |", card), line
    tombstones = sum(memory.superseded_by is not None for memory in MEMORIES)
    total = f"{len(PEOPLE)} people, {len(MEMORIES)} memories ({tombstones} of them tombstones), "
    assert total + f"{len(QUESTIONS)} questions" in card
