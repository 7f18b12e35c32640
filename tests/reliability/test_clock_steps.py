"""A clock that is set back breaks nothing: no order, no expiry, no score, no history."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from aids import assert_whole, everything
from pipeline import ADA, Teller, frozen, said

from memlab import clock
from memlab.records import SCOPES, Candidate, MemoryRecord, Source
from memlab.store import MemoryStore
from solutions.consolidation import consolidate
from solutions.forgetting import expire, forget_source, prune, regenerate
from solutions.injection import inject, remember_session
from solutions.retrieval import retrieve

VEGETARIAN, FISH, VEGAN = "I'm a vegetarian.", "I've started eating fish again.", "I'm vegan."
STEPS = (-1 / 86_400, -1.0, -400.0, -20_000.0)  # a second, a day, a year, and to before 1972


@pytest.fixture(autouse=True)
def _frozen_clock() -> Iterator[None]:
    with frozen():
        yield


@pytest.fixture(params=STEPS, ids=lambda days: f"{days:.5g} days")
def days(request: pytest.FixtureRequest) -> float:
    return float(request.param)


def test_what_was_learned_later_stands_though_its_clock_says_earlier(days: float) -> None:
    store = MemoryStore()
    tell = Teller(store)
    tell("s1", VEGETARIAN)
    clock.travel(days=days)
    tell("s2", FISH)
    clock.travel(days=days)
    tell("s3", VEGAN, "Call me Ada.")
    assert tell.active() == ["The user follows a vegan diet.", "The user goes by Ada."]
    assert [record.sources[-1].source_id for record in store.owned(ADA)] == ["s1", "s2", "s3", "s3"]
    assert [talk.source.source_id for talk in store.conversations(ADA)] == ["s1", "s2", "s3"]
    assert_whole(store, [ADA])
    for record in store.owned(ADA):
        assert record.invalidated_at is None or record.invalidated_at >= record.created_at
        assert record.history or record.content == "The user goes by Ada."


@pytest.mark.parametrize("by_hand", [False, True], ids=["from conversations", "from what records witness"])
def test_regenerating_keeps_the_order_in_which_things_were_learned(days: float, by_hand: bool) -> None:
    store = MemoryStore()
    for source_id, sentence in (("s1", VEGETARIAN), ("s2", FISH), ("s3", VEGAN)):
        source = Source("user_implicit", source_id)
        if by_hand:
            candidate = Candidate(f"Diet: {sentence}", "diet", 0.9, sentence)
            consolidate(store, candidate, source, user_id=ADA)
        else:
            Teller(store)(source_id, sentence)
        clock.travel(days=days)
    forget_source(store, "s3", ADA)
    regenerate(store, ADA)
    [diet] = store.scan(ADA)
    assert diet.content in ("The user eats fish again.", f"Diet: {FISH}")
    assert [record.superseded_by for record in store.owned(ADA)] == [diet.memory_id, None]
    assert_whole(store, [ADA])


def test_nothing_expires_or_comes_back_because_the_clock_was_set_back(days: float) -> None:
    store = MemoryStore()
    store.put(MemoryRecord("Holds for a day.", ADA, expires_at=clock.now() + clock.DAY))
    store.put(MemoryRecord("Tombstoned.", ADA, invalidated_at=clock.now()))
    store.put(MemoryRecord("Expired.", ADA, expires_at=clock.now()))
    assert [record.content for record in expire(store, user_id=ADA)] == ["Expired."]
    clock.travel(days=days)
    assert expire(store, user_id=ADA) == []
    assert prune(store, 0.5, user_id=ADA) == []
    assert [record.content for record in store.scan(ADA)] == ["Holds for a day."]
    assert [hit.record.content for hit in retrieve(store, "day", user_id=ADA)] == ["Holds for a day."]


def test_a_memory_from_the_future_is_as_fresh_as_one_of_now_and_no_fresher(days: float) -> None:
    store = MemoryStore()
    store.put(MemoryRecord("Tea, please.", ADA, confidence=0.8))
    store.put(MemoryRecord("Coffee, please.", ADA, confidence=0.8))
    before = retrieve(store, "please", user_id=ADA)
    clock.travel(days=days)
    hits = retrieve(store, "please", user_id=ADA)
    assert [(hit.record, hit.score, hit.recency) for hit in hits] == [
        (h.record, h.score, 1.0) for h in before
    ]
    assert all(hit.record.decayed_confidence() == 0.8 for hit in hits)
    assert "[confidence: high" in inject("", hits)


def test_hearing_it_again_and_changing_it_keep_the_newest_date_and_all_of_the_history(days: float) -> None:
    store = MemoryStore()
    tell = Teller(store)
    tell("s1", VEGETARIAN)
    first = store.scan(ADA)[0]
    clock.travel(days=days)
    tell("s2", VEGETARIAN)
    again = store.scan(ADA)[0]
    assert again.updated_at == first.updated_at
    assert again.confidence == pytest.approx(0.70)
    assert again.history[: len(first.history)] == first.history
    assert len(again.history) == len(first.history) + 1


def test_a_session_that_goes_on_after_the_step_has_one_memory(days: float) -> None:
    store = MemoryStore()
    for turns in (1, 2, 3):
        messages = said(*(f"Turn {turn}." for turn in range(turns)))
        remember_session(store, messages, Source("user_implicit", "s1"), user_id=ADA)
        clock.travel(days=days)
    [memory] = store.scan(ADA, scopes=("session",), session_id="s1")
    assert 'The user last said: "Turn 2."' in memory.content
    assert len(store.scan(ADA, scopes=SCOPES, session_id="s1", include_invalid=True)) == 3


def test_learning_forgetting_and_reading_work_on_every_day_of_a_clock_that_jumps() -> None:
    store = MemoryStore()
    tell = Teller(store)
    for number, days in enumerate([0, -1, 5, -400, 30, -2, 900, -900, 0.5, -0.5] * 3):
        clock.travel(days=days)
        tell(f"s{number}", (VEGETARIAN, FISH, VEGAN)[number % 3], f"I like dish{number}.")
        if number % 4 == 3:
            forget_source(store, f"s{number - 1}", ADA)
            regenerate(store, ADA)
        assert_whole(store, [ADA])
        assert len(store.scan(ADA, topic="diet")) == 1
        for hit in retrieve(store, "diet", user_id=ADA, k=99):
            assert 0.0 <= hit.recency <= 1.0
            assert hit.score <= 1.0
    before = everything(store, ADA)
    assert regenerate(store, ADA) == []
    assert everything(store, ADA) == before
