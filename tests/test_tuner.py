"""The weight tuner of lesson 05: its rankings are those of a real store, and its callbacks fail loudly."""

from __future__ import annotations

import hashlib
import itertools
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from course.pictures.tuner import OWN, ranking_html, rebalanced, shown, tuner_picture, weight_tuner
from course.pictures.tuning import Bench, Mix, Setting, make_bench, margin, metrics, rank
from course.scenarios import LabelledMemory, Person, Question, load_retrieval
from memlab import clock
from memlab.embedding import Embedder, RecordedEmbedder, hash_embed
from memlab.store import MemoryStore
from solutions.retrieval import (
    Weights,
    blended_score,
    mean_reciprocal_rank,
    recall_at_k,
    retrieve,
    top_k,
)

NOW = "2026-08-06T20:11:27Z"
EMBEDDERS: dict[str, Embedder] = {"hash": hash_embed, "MiniLM": RecordedEmbedder()}
FUNCTIONS: dict[str, Any] = {
    "blended_score": blended_score,
    "top_k": top_k,
    "recall_at_k": recall_at_k,
    "mean_reciprocal_rank": mean_reciprocal_rank,
}
MIXES = [Weights(), Weights(1, 0, 0), Weights(0, 1, 0), Weights(0.2, 0.3, 0.5), Weights(2, 0.5, 0)]


def memory(memory_id: str, content: str, importance: float, age: float, half_life: float) -> LabelledMemory:
    return LabelledMemory(memory_id, content, "general", "user", age, importance, half_life)


def asked(text: str, *relevant: str) -> Question:
    return Question(text, "paraphrase", relevant)


def person(name: str, memories: Sequence[LabelledMemory], questions: Sequence[Question]) -> Person:
    return Person(name, name, "", "tune", tuple(memories), tuple(questions))


ADA = person(
    "Ada",
    [
        replace(
            memory("ada/veg", "The user follows a vegetarian diet.", 0.8, 60, 365), superseded_by="ada/fish"
        ),
        memory("ada/fish", "The user eats fish again.", 0.8, 3, 365),
        memory("ada/aisle", "The user prefers aisle seating on flights.", 0.5, 90, 180),
        memory("ada/name", "The user goes by Ada.", 1.0, 200, 3650),
    ],
    [
        asked("any dietary restrictions I should know about?", "ada/fish"),
        asked("what seat should I book on the flight?", "ada/aisle"),
        asked("diet"),
    ],
)
BO = person(
    "Bo",
    [
        memory("bo/one", "I am vegetarian", 0.4, 500, 30),
        memory("bo/two", "vegetarian", 0.9, 1, 30),
        memory("bo/three", "automobile", 0.1, 0, 30),
        memory("bo/four", "flight", 0.6, 10, 5),
    ],
    [
        asked("what should we order for lunch?", "bo/one", "bo/two"),
        asked("car", "bo/three"),
    ],
)
TEXTS = [question.text for one in (ADA, BO) for question in one.questions]
DIETARY, SEAT, DIET, LUNCH, CAR = TEXTS


@pytest.fixture(scope="module")
def bench() -> Bench:
    return make_bench([ADA, BO], EMBEDDERS, **FUNCTIONS)


@pytest.fixture(scope="module")
def large() -> Bench:
    return make_bench([crowd(150, 120)], {"hash": random_vector, "MiniLM": random_vector}, **FUNCTIONS)


def crowd(memories: int, questions: int) -> Person:
    rng = np.random.default_rng(5)
    held = [
        memory(f"m{i}", f"memory {i}", *rng.uniform([0, 0, 1], [0.99, 400, 400]).tolist())
        for i in range(memories)
    ]
    return person("Everybody", held, [asked(f"question {i}", f"m{i}") for i in range(questions)])


def random_vector(text: str, /) -> list[float]:
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
    vector: list[float] = np.random.default_rng(seed).normal(size=64).tolist()
    return vector


def stored(people: Sequence[Person], embedder: Embedder, half_life: float | None) -> MemoryStore:
    store = MemoryStore(embedder=embedder)
    for one in people:
        for record in one.records():
            store.put(replace(record, half_life_days=half_life or record.half_life_days))
    return store


@pytest.fixture(autouse=True)
def frozen() -> Iterator[None]:
    with clock.freeze(NOW):
        yield


# --- The bench ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("half_life", [None, 20.0])
@pytest.mark.parametrize("weights", MIXES)
@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_it_ranks_as_retrieve_does_on_a_real_store(
    bench: Bench, embedder: str, weights: Weights, half_life: float | None
) -> None:
    setting = Setting(embedder, weights, half_life=half_life)
    with stored([ADA, BO], EMBEDDERS[embedder], half_life) as store:
        for owner, question in [(p, q.text) for p in (ADA, BO) for q in p.questions]:
            hits = retrieve(store, question, user_id=owner.name, k=99, weights=weights)
            rows = rank(bench, question, setting)
            assert [row.memory_id for row in rows] == [hit.record.memory_id for hit in hits]
            assert [row.score for row in rows] == pytest.approx([hit.score for hit in hits], abs=1e-6)
            assert [row.place is None for row in rows] == [hit.pinned for hit in hits]


def test_it_ranks_the_labelled_people_as_retrieve_does() -> None:
    people = load_retrieval()
    everybody = make_bench(people, {"hash": hash_embed}, **FUNCTIONS)
    with stored(people, hash_embed, None) as store:
        for owner, question in [(one, question.text) for one in people for question in one.questions]:
            hits = retrieve(store, question, user_id=owner.user_id, k=99)
            rows = rank(everybody, question, Setting("hash"))
            assert [row.memory_id for row in rows] == [hit.record.memory_id for hit in hits]


@pytest.mark.parametrize("k", [1, 3, 10])
def test_it_ranks_150_memories_as_retrieve_does(large: Bench, k: int) -> None:
    with stored([crowd(150, 1)], random_vector, None) as store:
        hits = retrieve(store, "question 0", user_id="Everybody", k=k)
    rows = rank(large, "question 0", Setting("hash", k=k))[:k]
    assert [row.memory_id for row in rows] == [hit.record.memory_id for hit in hits]


@pytest.mark.parametrize("weights", MIXES)
def test_the_parts_sum_to_the_score(bench: Bench, weights: Weights) -> None:
    for question in TEXTS:
        for row in rank(bench, question, Setting("MiniLM", weights)):
            assert sum(row.parts.values()) == pytest.approx(row.score)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_its_metrics_are_the_functions_on_what_retrieve_brings_back(
    bench: Bench, embedder: str, k: int
) -> None:
    rankings, wanted = [], []
    with stored([ADA, BO], EMBEDDERS[embedder], None) as store:
        for owner in (ADA, BO):
            for question in filter(lambda question: question.relevant, owner.questions):
                hits = retrieve(store, question.text, user_id=owner.name, k=99)
                rankings.append([h.record.memory_id for h in hits if not h.pinned])
                wanted.append(question.relevant)
    recalls = [recall_at_k(ranked, some, k) for ranked, some in zip(rankings, wanted, strict=True)]
    recall, reciprocal = metrics(bench, Setting(embedder, k=k))
    assert recall == pytest.approx(sum(recalls) / len(recalls))
    assert reciprocal == pytest.approx(mean_reciprocal_rank(rankings, wanted))


def test_a_relevant_pin_counts_as_found_first_and_another_takes_no_place() -> None:
    pinned = replace(ADA.memories[3], importance=1.0)
    questions = [asked(DIETARY, "ada/name"), asked(SEAT, "ada/aisle")]
    one = make_bench([person("Ada", [*ADA.memories[:3], pinned], questions)], EMBEDDERS, **FUNCTIONS)
    weights = Weights(1, 0, 0)
    assert metrics(one, Setting("MiniLM", weights, k=1)) == (1.0, 1.0)
    assert metrics(one, Setting("MiniLM", weights, k=1, pins=False)) < (1.0, 1.0)


def test_with_pins_off_a_pin_competes(bench: Bench) -> None:
    first, *_ = rank(bench, SEAT, Setting("hash"))
    assert (first.place, first.memory_id) == (None, "ada/name")
    competing = rank(bench, SEAT, Setting("hash", pins=False))
    assert [row.place for row in competing] == [1, 2, 3]
    assert competing[0].memory_id == "ada/name"
    assert rank(bench, SEAT, Setting("hash", Weights(1, 0, 0), pins=False))[0].memory_id == "ada/aisle"


def test_the_margin_is_between_the_first_two_places_and_leaves_pins_out(bench: Bench) -> None:
    pin, first, second = rank(bench, SEAT, Setting("hash"))
    assert margin([pin, first, second]) == first.score - second.score
    assert margin([pin, first]) is None


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (lambda bench: rank(bench, "who?", Setting("hash")), "question='who?'"),
        (lambda bench: rank(bench, SEAT, Setting("minilm")), "pass 'hash' or 'MiniLM'"),
        (lambda bench: Setting("hash", k=0), "k=0"),
        (lambda bench: Setting("hash", half_life=0), "half_life=0"),
        (lambda bench: make_bench([], EMBEDDERS, **FUNCTIONS), "people"),
        (lambda bench: make_bench([ADA], {}, **FUNCTIONS), "embedders"),
        (lambda bench: make_bench([ADA, ADA], EMBEDDERS, **FUNCTIONS), "asked twice"),
        (lambda bench: make_bench([replace(ADA, memories=())], EMBEDDERS, **FUNCTIONS), "Ada has no"),
        (
            lambda bench: metrics(
                make_bench([replace(ADA, questions=ADA.questions[2:])], EMBEDDERS, **FUNCTIONS),
                Setting("hash"),
            ),
            "no question on the bench",
        ),
    ],
)
def test_bad_input_is_refused_with_the_field_and_the_way_out(bench: Bench, wrong: Any, named: str) -> None:
    with pytest.raises(ValueError, match=re.escape(named)):
        wrong(bench)


# --- What is shown -----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 0.01, 0.33, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("moved", [0, 1, 2])
@pytest.mark.parametrize("weights", [(0.6, 0.25, 0.15), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.33, 0.33, 0.34)])
def test_three_linked_weights_always_sum_to_one(
    weights: tuple[float, float, float], moved: int, value: float
) -> None:
    result = rebalanced(weights, moved, value)
    assert round(sum(result), 9) == 1
    assert result[moved] == value
    assert all(0 <= weight <= 1 for weight in result)
    others = [index for index in range(3) if index != moved]
    before, after = ([some[index] for index in others] for some in (weights, result))
    if sum(before):
        assert after[0] == pytest.approx((1 - value) * before[0] / sum(before), abs=0.006)


def test_what_comes_back_is_shown_and_the_relevant_ones_further_down(large: Bench) -> None:
    rows = shown(rank(large, "question 7", Setting("hash", k=2)), 2)
    assert [row.place for row in rows[:4]] == [1, 2, 3, 4]
    assert [row.memory_id for row in rows if row.relevant] == ["m7"]


def test_the_table_marks_what_should_come_back_and_where_the_cut_is(bench: Bench) -> None:
    shown_html = ranking_html(rank(bench, LUNCH, Setting("MiniLM", k=2)), 2)
    assert shown_html.count("★") == 2
    assert "not brought back at k = 2" in shown_html
    for part in ("relevance", "recency", "importance"):
        assert f"{part}</th>" in shown_html


def test_what_a_memory_says_cannot_add_markup() -> None:
    held = memory("m", "<img src=x> & co", 0.5, 0, 1)
    one = make_bench([person("P", [held], [asked("q", "m")])], {"hash": hash_embed}, **FUNCTIONS)
    shown_html = ranking_html(rank(one, "q", Setting("hash")), 3)
    assert "<img" not in shown_html
    assert "&lt;img src=x&gt; &amp; co" in shown_html


def test_the_picture_says_in_words_what_it_shows_and_is_the_same_every_time(bench: Bench) -> None:
    picture = tuner_picture(bench, SEAT, Setting("hash", Weights(), k=1))
    _, first, second = rank(bench, SEAT, Setting("hash"))
    assert f"1 {first.content} {first.score:.3f}, 2 ★ {second.content} {second.score:.3f}" in picture.alt
    assert picture.png.startswith(b"\x89PNG")
    assert picture == tuner_picture(bench, SEAT, Setting("hash", Weights(), k=1))


# --- The widget --------------------------------------------------------------------------------------


class Knobs:
    """The tuner's controls by their labels."""

    def __init__(self, widget: Any) -> None:
        found, queue = [], [widget]
        while queue:
            child = queue.pop(0)
            found.append(child)
            queue += getattr(child, "children", ())
        self.by_label = {child.description: child for child in found if getattr(child, "description", "")}
        self.ranking, self.summary = widget.children[2:4]

    def __getitem__(self, label: str) -> Any:
        return self.by_label[label]

    @property
    def weights(self) -> tuple[float, ...]:
        return tuple(self[part].value for part in ("relevance", "recency", "importance"))


def expected(bench: Bench, question: str, setting: Setting) -> tuple[str, str, str]:
    rows = rank(bench, question, setting)
    recall, reciprocal = metrics(bench, setting)
    ahead = margin(rows)
    told = "fewer than two" if ahead is None else f"second: {ahead:.3f}"
    return ranking_html(rows, setting.k), told, f"recall@{setting.k} {recall:.3f} · MRR {reciprocal:.3f}"


def assert_shows(knobs: Knobs, bench: Bench, question: str, setting: Setting) -> None:
    table, told, measured = expected(bench, question, setting)
    assert knobs.ranking.value == table
    assert told in knobs.summary.value
    assert f"<strong>{measured}</strong>" in knobs.summary.value


@pytest.mark.parametrize("part", ["relevance", "recency", "importance"])
@pytest.mark.parametrize("value", [0.0, 0.07, 0.5, 1.0])
def test_moving_a_weight_takes_the_others_along_and_shows_that_ranking(
    bench: Bench, part: str, value: float
) -> None:
    knobs = Knobs(weight_tuner(bench))
    knobs[part].value = value
    assert knobs[part].value == value
    assert round(sum(knobs.weights), 9) == 1
    assert_shows(knobs, bench, DIETARY, Setting("hash", Mix(*knobs.weights)))


def test_a_drag_to_the_end_and_back_finds_the_old_proportion(bench: Bench) -> None:
    knobs = Knobs(weight_tuner(bench))
    for value in [0.8, 0.95, 1.0, 0.9, 0.6]:
        knobs["relevance"].value = value
    assert knobs.weights == (0.6, 0.25, 0.15)


def test_two_weights_moved_in_turn_each_keep_the_proportion_of_the_rest(bench: Bench) -> None:
    knobs = Knobs(weight_tuner(bench))
    knobs["relevance"].value = 0.2
    assert knobs.weights == (0.2, 0.5, 0.3)
    knobs["recency"].value = 0.0
    assert knobs.weights == (0.4, 0.0, 0.6)


def test_a_freed_weight_moves_alone_until_the_sum_is_kept_again(bench: Bench) -> None:
    knobs = Knobs(weight_tuner(bench))
    knobs["keep the sum at 1"].value = False
    knobs["relevance"].value = 1.0
    assert knobs.weights == (1.0, 0.25, 0.15)
    assert_shows(knobs, bench, DIETARY, Setting("hash", Weights(1.0, 0.25, 0.15)))
    knobs["keep the sum at 1"].value = True
    assert round(sum(knobs.weights), 9) == 1
    assert_shows(knobs, bench, DIETARY, Setting("hash", Mix(*knobs.weights)))


def test_weights_that_are_all_zero_get_advice_instead_of_a_ranking(bench: Bench) -> None:
    knobs = Knobs(weight_tuner(bench))
    knobs["keep the sum at 1"].value = False
    for part in ("relevance", "recency", "importance"):
        knobs[part].value = 0.0
    assert "give one of them a value" in knobs.ranking.value
    knobs["keep the sum at 1"].value = True
    assert_shows(knobs, bench, DIETARY, Setting("hash", Mix(*knobs.weights)))


@pytest.mark.parametrize(
    ("question", "embedder", "k", "half_life", "pins"),
    [
        *itertools.product(TEXTS, EMBEDDERS, [1, 10], [None], [True]),
        (SEAT, "hash", 2, 7, True),
        (SEAT, "MiniLM", 3, 365, False),
        (CAR, "MiniLM", 1, 30, False),
    ],
)
def test_every_other_control_shows_the_ranking_of_its_value(
    bench: Bench, question: str, embedder: str, k: int, half_life: float | None, pins: bool
) -> None:
    knobs = Knobs(weight_tuner(bench))
    knobs["question"].value, knobs["embedder"].value = question, embedder
    knobs["k"].value, knobs["half-life"].value, knobs["pins first"].value = k, half_life or OWN, pins
    assert_shows(knobs, bench, question, Setting(embedder, Mix(), k, half_life, pins))


def test_reset_puts_everything_back(bench: Bench) -> None:
    start = Setting("MiniLM", Weights(0.5, 0.2, 0.3), k=2, half_life=45, pins=False)
    knobs = Knobs(weight_tuner(bench, start))
    knobs["relevance"].value, knobs["k"].value, knobs["embedder"].value = 0.1, 7, "hash"
    knobs["half-life"].value, knobs["pins first"].value, knobs["keep the sum at 1"].value = OWN, True, False
    knobs["reset"].click()
    assert knobs.weights == (0.5, 0.2, 0.3)
    assert_shows(knobs, bench, DIETARY, start)


def test_the_best_so_far_stays_when_things_get_worse(bench: Bench) -> None:
    knobs = Knobs(weight_tuner(bench, Setting("MiniLM", Weights(0, 1, 0), k=1)))
    tried = []
    for value in [0.0, 0.5, 1.0, 0.2]:
        knobs["relevance"].value = value
        tried.append((metrics(bench, Setting("MiniLM", Mix(*knobs.weights), k=1)), knobs.weights))
    (recall, reciprocal), weights = max(tried, key=lambda entry: entry[0])
    best = knobs.summary.value.split("your best")[1]
    assert f"recall@1 {recall:.3f} · MRR {reciprocal:.3f}" in best
    assert f"relevance {weights[0]:.2f}, recency {weights[1]:.2f}, importance {weights[2]:.2f}" in best
    assert tried[-1][0] < (recall, reciprocal)


def test_the_best_at_one_k_is_not_compared_with_another(bench: Bench) -> None:
    knobs = Knobs(weight_tuner(bench))
    knobs["k"].value = 10
    assert "your best at k = 10: recall@10 1.000" in knobs.summary.value
    knobs["k"].value = 1
    recall, _ = metrics(bench, Setting("hash", k=1))
    assert f"your best at k = 1: recall@1 {recall:.3f}" in knobs.summary.value


def test_a_question_that_nothing_answers_says_so(bench: Bench) -> None:
    knobs = Knobs(weight_tuner(bench))
    knobs["question"].value = DIET
    assert "★ none" in knobs.summary.value
    assert "★" not in knobs.ranking.value


@pytest.mark.parametrize("control", ["relevance", "k", "question", "embedder", "half-life", "pins first"])
def test_an_error_in_a_function_under_test_reaches_whoever_moved_a_control(control: str) -> None:
    works = True

    def breaking(matches: Any, weights: Any) -> Any:
        if not works:
            raise NotImplementedError("05-blended-score")
        return blended_score(matches, weights)

    knobs = Knobs(weight_tuner(make_bench([ADA, BO], EMBEDDERS, **FUNCTIONS | {"blended_score": breaking})))
    works = False
    other = {
        "relevance": 0.1,
        "k": 1,
        "question": CAR,
        "embedder": "MiniLM",
        "half-life": 7,
        "pins first": False,
    }
    with pytest.raises(NotImplementedError, match="05-blended-score"):
        knobs[control].value = other[control]


def test_a_redraw_takes_less_than_a_tenth_of_a_second_at_150_memories_and_120_questions(large: Bench) -> None:
    knobs, spent = Knobs(weight_tuner(large)), []
    for value in [0.1, 0.9, 0.4, 0.7, 0.2]:
        start = time.process_time()
        knobs["relevance"].value = value
        spent.append(time.process_time() - start)
    assert min(spent) < 0.1


def test_every_control_has_a_label(bench: Bench) -> None:
    controls = {"question", "relevance", "recency", "importance", "k", "half-life", "embedder"}
    assert {"keep the sum at 1", "pins first", "reset"} | controls == set(Knobs(weight_tuner(bench)).by_label)


def test_without_a_kernel_it_says_how_to_move_the_sliders(bench: Bench) -> None:
    assert "run this notebook" in repr(weight_tuner(bench))
