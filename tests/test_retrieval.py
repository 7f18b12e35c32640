"""Retrieval: the owner's memories only, pins first, then the blended score."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pipeline import ADA, Teller, frozen

from memlab import clock
from memlab.embedding import cosine, hash_embed
from memlab.records import MemoryRecord, Source
from memlab.store import MemoryStore
from solutions.forgetting import expire
from solutions.retrieval import PINNED, Weights, mean_reciprocal_rank, recall_at_k, retrieve, top_k


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def put(store: MemoryStore, content: str, user_id: str = ADA, **fields: Any) -> MemoryRecord:
    record = MemoryRecord(content, user_id, **fields)
    store.put(record)
    return record


def contents(store: MemoryStore, query: str, user_id: str = ADA, **options: Any) -> list[str]:
    return [hit.record.content for hit in retrieve(store, query, user_id=user_id, **options)]


# The score


def test_the_score_is_the_weighted_sum_of_its_three_parts(store: MemoryStore) -> None:
    with frozen():
        put(store, "The user likes green tea.", importance=0.4, half_life_days=10)
        clock.travel(days=20)
        [hit] = retrieve(store, "green tea?", user_id=ADA, weights=Weights(0.5, 0.3, 0.2))
    relevance = cosine(hash_embed("green tea?"), hash_embed("The user likes green tea."))
    assert hit.relevance == pytest.approx(relevance, abs=1e-6)
    assert (hit.recency, hit.importance) == (0.25, 0.4)
    assert hit.score == pytest.approx(0.5 * relevance + 0.3 * 0.25 + 0.2 * 0.4, abs=1e-6)


def test_equal_scores_come_back_oldest_first_every_time(store: MemoryStore) -> None:
    with frozen():
        for number in range(30):
            put(store, f"The user owns {number}.", importance=0.5)
        first = contents(store, "?", k=30)
        assert first == [f"The user owns {number}." for number in range(30)]
        assert all(contents(store, "?", k=k) == first[:k] for k in range(31))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9]), max_size=40), st.integers(0, 45))
def test_top_k_is_a_stable_sort_cut_off_at_k(scores: list[float], k: int) -> None:
    expected = sorted(range(len(scores)), key=lambda i: -scores[i])[:k]
    assert top_k(np.array(scores, np.float64), k).tolist() == expected


def test_k_counts_from_none_to_more_than_there_are(store: MemoryStore) -> None:
    put(store, "The user likes tea.")
    assert contents(store, "tea", k=0) == []
    assert contents(store, "tea", k=1000) == ["The user likes tea."]


def test_a_query_without_a_word_ranks_by_recency_and_importance_alone(store: MemoryStore) -> None:
    put(store, "The user likes tea.", importance=0.2)
    put(store, "The user likes cake.", importance=0.7)
    hits = retrieve(store, "?!", user_id=ADA)
    assert [hit.record.content for hit in hits] == ["The user likes cake.", "The user likes tea."]
    assert {hit.relevance for hit in hits} == {0.0}


def test_an_empty_store_brings_back_nothing(store: MemoryStore) -> None:
    assert retrieve(store, "anything", user_id=ADA) == []


# Pins


def test_a_pin_comes_back_whatever_is_asked_and_however_old_it_is(store: MemoryStore) -> None:
    """The allergy that loses to the hamper."""
    with frozen():
        put(store, "The user is allergic to peanuts.", importance=PINNED, half_life_days=1)
        clock.travel(days=4000)
        for number in range(20):
            put(store, f"The user asked about hamper number {number}.")
        found = contents(store, "hamper number 3", k=2)
    assert found[0] == "The user is allergic to peanuts."
    assert len(found) == 3


def test_pins_take_no_place_of_the_ranked_ones(store: MemoryStore) -> None:
    for number in range(4):
        put(store, f"Pin {number}.", importance=1.0)
        put(store, f"Note {number}.")
    assert len(contents(store, "note", k=2)) == 6
    assert contents(store, "pin", k=0) == [f"Pin {number}." for number in (0, 1, 2, 3)]


def test_a_pin_stands_once_even_if_another_memory_has_its_text(store: MemoryStore) -> None:
    """Pins are matched by id, never by their text."""
    put(store, "The user is allergic to nuts.", importance=1.0)
    put(store, "The user is allergic to nuts.", importance=0.3)
    hits = retrieve(store, "nuts", user_id=ADA)
    assert [hit.pinned for hit in hits] == [True, False]


def test_an_expired_pin_is_not_shown(store: MemoryStore) -> None:
    with frozen():
        put(store, "The user wears a cast.", importance=1.0, expires_at=clock.now() + clock.DAY)
        assert contents(store, "anything") == ["The user wears a cast."]
        clock.travel(days=1)
        assert contents(store, "anything") == []


def test_a_tombstoned_pin_is_not_shown(store: MemoryStore) -> None:
    tell = Teller(store)
    tell("s1", "I'm allergic to nuts.")
    tell("s2", "I'm not allergic to nuts.")
    assert contents(store, "nuts") == ["The user is not allergic to nuts."]


def test_the_pin_of_another_user_is_not_shown(store: MemoryStore) -> None:
    put(store, "Bo is allergic to nuts.", "u_bo", importance=1.0)
    assert contents(store, "nuts") == []


# Whose, and when


def test_each_user_gets_their_own_home(store: MemoryStore) -> None:
    """CaviraOSS/LongMemory #97"""
    put(store, "The user lives in the USA.", "user1")
    put(store, "The user lives in France.", "user2")
    assert contents(store, "where do I live, the USA?", "user2") == ["The user lives in France."]


def test_only_the_current_employer_comes_back_and_the_former_is_history(store: MemoryStore) -> None:
    """mem0ai/mem0 #4896"""
    with frozen():
        tell = Teller(store)
        tell("s1", "I work at Acme.")
        clock.travel(days=90)
        tell("s2", "I work at Initech.")
        assert contents(store, "where do I work?") == ["The user works at Initech."]
        earlier = contents(store, "where do I work?", as_of=clock.now() - 10 * clock.DAY)
    assert earlier == ["The user works at Acme."]
    assert len(store.scan(ADA, include_invalid=True)) == 2


def test_only_the_last_drink_comes_back(store: MemoryStore) -> None:
    """getzep/graphiti #139"""
    tell = Teller(store)
    for number, drink in enumerate(["drinks green tea", "stopped drinking green tea", "drinks coffee"]):
        tell.fact(f"s{number}", f"The user {drink}.", "diet")
    assert contents(store, "what do I drink now, green tea?") == ["The user drinks coffee."]


def test_what_held_in_march_is_found_in_december(store: MemoryStore) -> None:
    """moorcheh-ai/memanto PR 1617"""
    with clock.freeze("2026-01-10T00:00:00Z"):
        put(store, "The user tries out skiing.", expires_at=clock.timestamp("2026-07-01T00:00:00Z"))
    with clock.freeze("2026-12-01T00:00:00Z"):
        expire(store, user_id=ADA)
        assert contents(store, "trial?") == []
        assert contents(store, "trial?", as_of="2026-03-01T00:00:00Z") == ["The user tries out skiing."]
        assert contents(store, "trial?", as_of="2026-01-01T00:00:00Z") == []


def test_a_question_in_chinese_finds_its_memory(store: MemoryStore) -> None:
    """google/adk-python #5601"""
    put(store, "你好，我是 Foy")
    [hit] = retrieve(store, "我叫什么", user_id=ADA)
    assert hit.relevance > 0.1


def test_a_session_memory_is_seen_in_its_session_alone(store: MemoryStore) -> None:
    put(store, "Seat 12A is on hold.", scope="session", session_id="s1")
    everywhere = {"scopes": ("user", "session", "app")}
    assert contents(store, "seat", session_id="s1", **everywhere) == ["Seat 12A is on hold."]
    assert contents(store, "seat", session_id="s2", **everywhere) == []
    assert contents(store, "seat", session_id="S1", **everywhere) == []
    assert contents(store, "seat", **everywhere) == []
    assert contents(store, "seat", session_id="s1") == []
    assert contents(store, "seat", "u_bo", session_id="s1", **everywhere) == []


def test_what_the_app_shares_reaches_all_of_its_users_and_no_other_app(store: MemoryStore) -> None:
    crm = Source("bootstrapped", "crm")
    put(store, "The shop closes at 6 pm.", "operator", scope="app", sources=[crm], app_name="bakery")
    assert contents(store, "open?", app_name="bakery") == ["The shop closes at 6 pm."]
    assert contents(store, "open?") == []


def test_a_clock_set_back_neither_lifts_nor_loses_a_memory(store: MemoryStore) -> None:
    with frozen():
        put(store, "The user likes tea.")
        clock.travel(days=-400)
        [hit] = retrieve(store, "tea", user_id=ADA)
    assert hit.recency == 1.0


# Bad input


@pytest.mark.parametrize("k", [-1, True, False, 2.0, "5", None, float("nan")])
def test_a_k_that_is_no_count_is_refused(store: MemoryStore, k: Any) -> None:
    with pytest.raises(ValueError, match="k="):
        retrieve(store, "tea", user_id=ADA, k=k)


@pytest.mark.parametrize(
    ("weights", "field"),
    [
        ((float("nan"), 0, 0), "relevance"),
        ((0.5, float("inf"), 0), "recency"),
        ((0.5, 0.5, -0.1), "importance"),
        ((True, 0, 0), "relevance"),
        (("1", 0, 0), "relevance"),
        ((None, 0, 0), "relevance"),
        ((0, 0, 0), "all weights are 0"),
    ],
)
def test_weights_that_weigh_nothing_are_refused(weights: Any, field: str) -> None:
    with pytest.raises((ValueError, TypeError), match=field):
        Weights(*weights)


BAD_CALLS: dict[str, dict[str, Any]] = {
    "no query": {"query": None},
    "bytes": {"query": b"tea"},
    "no user": {"user_id": None},
    "an empty user": {"user_id": ""},
    "a blank user": {"user_id": " "},
    "an app of the wrong type": {"app_name": 7},
    "an unknown scope": {"scopes": ("user", "everyone")},
    "text for scopes": {"scopes": "user"},
    "no scope": {"scopes": ()},
    "an empty session": {"session_id": ""},
    "a tuple of weights": {"weights": (0.6, 0.25, 0.15)},
    "an unknown relevance": {"relevance": "magic"},
    "a naive time": {"as_of": "2026-03-01T00:00:00"},
}


@pytest.mark.parametrize("bad", BAD_CALLS.values(), ids=BAD_CALLS)
def test_bad_input_is_named(store: MemoryStore, bad: dict[str, Any]) -> None:
    arguments = {"query": "tea", "user_id": ADA} | bad
    [field] = bad
    with pytest.raises((ValueError, TypeError), match=f"{field}="):
        retrieve(store, arguments.pop("query"), **arguments)


@pytest.mark.parametrize("query", ["", " ", "a" * 100_000, "NUL \0 here", "half \ud83d pair", "' OR 1=1 --"])
def test_odd_queries_are_only_text(store: MemoryStore, query: str) -> None:
    put(store, "The user likes tea.")
    assert contents(store, query) == ["The user likes tea."]


def test_a_bare_id_is_not_taken_for_a_set_of_ids() -> None:
    """A string is a collection too: of its letters."""
    with pytest.raises(TypeError, match=r"^relevant='m1' is one id"):
        recall_at_k(["m1"], "m1", 1)
    with pytest.raises(TypeError, match=r"^relevant holds 'm10'"):
        mean_reciprocal_rank([["m1", "m10"]], ["m10"])
