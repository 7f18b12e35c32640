"""The bakery's policies on Chroma: the published results, and the faults that the published code has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromadb.api.models.Collection import Collection
from hypothesis import given, settings
from hypothesis import strategies as st
from pipeline import frozen

from memlab import clock
from memlab.engine.recordings import RecordedEmbedder
from memlab.store import StoreError
from solutions.chroma_tools import similarity
from solutions.given.chroma import folder_client, folder_holding, memory_client, purge
from solutions.policy_store import Memory, PolicyStore, newest, recall, remember, score

ALLERGY = "Allergic to peanuts. Confirmed twice."
AFTER_SIX = "Prefers deliveries after 6 pm on weekdays."
HAMPER = "Oct 28: Diwali hamper arrived late; given a Rs 200 voucher."
CODES_QUERY = "Can she eat the Diwali hamper with peanut chikki?"
PROSES_QUERY = "Can I get the Diwali hamper with the peanut chikki?"


@pytest.fixture(autouse=True)
def _frozen_clock() -> Iterator[None]:
    with frozen():
        yield


@pytest.fixture
def store() -> PolicyStore:
    return PolicyStore(memory_client(), "crumb")


@pytest.fixture
def bakery() -> PolicyStore:
    """Step 3 of the published code, on the vectors of the published model."""
    store = PolicyStore(memory_client(), "crumb", RecordedEmbedder())
    store.remember("sunita", ALLERGY, "fact", 5, slot="allergy_self")
    store.remember("sunita", AFTER_SIX, "preference", 3, slot="delivery_time")
    store.remember("sunita", HAMPER, "episode", 3, ttl_days=180)
    store.remember("rohan", "Lives in Baner.", "fact", 4, slot="address")
    store.remember("rohan", "Lives in Kothrud.", "fact", 4, slot="address")
    return store


def texts(store: PolicyStore, user_id: str = "rohan") -> list[str]:
    return [memory.text for memory in store.what_do_you_remember(user_id)]


# As published


def test_step_3_prints_what_is_published(bakery: PolicyStore) -> None:
    assert bakery.recall("sunita", CODES_QUERY, k=1) == [ALLERGY, HAMPER]
    assert bakery.memories.get(where={"user_id": "rohan"})["documents"] == ["Lives in Kothrud."]
    assert (bakery.forget_user("sunita"), bakery.recall("sunita", "anything")) == (3, [])


@pytest.mark.parametrize(
    ("query", "distances", "scores"),
    [
        (CODES_QUERY, [0.525, 0.617, 0.828], [0.604, 0.625, 0.430]),
        (PROSES_QUERY, [0.458, 0.752, 0.800], [0.637, 0.558, 0.444]),
    ],
)
def test_distances_and_blended_scores_are_the_published_ones(
    bakery: PolicyStore, query: str, distances: list[float], scores: list[float]
) -> None:
    by_id = {memory.memory_id: memory for memory in bakery.rows("sunita")}
    near = {by_id[name].text: cosine for name, cosine in bakery.similar("sunita", query)}
    order = (HAMPER, ALLERGY, AFTER_SIX)
    assert [round(1 - near[text], 3) for text in order] == distances
    for text, days, expected in zip(order, (7, 40, 20), scores, strict=True):
        [memory] = [memory for memory in by_id.values() if memory.text == text]
        with clock.travel(days=days):
            # The published sums start from distances that are rounded to three digits.
            assert round(score(memory, round(near[text], 3)), 3) == expected


# Whose it is


def test_the_owner_filter_is_exact_and_never_a_matter_of_meaning(store: PolicyStore) -> None:
    for user_id in ("sunita", "sunita ", "Sunita", "sunita%"):
        if user_id == user_id.strip():
            store.remember(user_id, f"Sunita's allergies, by {user_id}.", "fact", 5)
    assert store.recall("sunita", "Sunita's allergies") == ["Sunita's allergies, by sunita."]
    for wrong in (" sunita", "", None, 7):
        for call in (store.recall, store.forget_user, store.what_do_you_remember, store.what_was_replaced):
            with pytest.raises((TypeError, ValueError), match=r"^user_id="):
                call(wrong, "q") if call == store.recall else call(wrong)  # type: ignore[call-arg, operator]


def test_every_business_has_collections_of_its_own() -> None:
    client = memory_client()
    crumb, franchise = PolicyStore(client, "crumb"), PolicyStore(client, "franchise")
    crumb.remember("sunita", ALLERGY, "fact", 5)
    assert franchise.recall("sunita", "allergy") == texts(franchise, "sunita") == []
    assert franchise.forget_user("sunita") == 0
    assert texts(crumb, "sunita") == [ALLERGY]
    assert {c.name for c in client.list_collections()} == {
        "crumb-memories", "crumb-history", "franchise-memories", "franchise-history",
    }  # fmt: skip


@pytest.mark.parametrize("business", ["", "crumb/1", "-crumb", "crumb bakery", None, "x" * 600])
def test_a_business_whose_name_fits_no_collection_is_refused(business: Any) -> None:
    with pytest.raises(ValueError, match=r"^business="):
        PolicyStore(memory_client(), business)


def test_another_embedder_on_the_same_business_is_refused() -> None:
    client = memory_client()
    PolicyStore(client, "crumb")
    with pytest.raises(StoreError, match=r"\(256 numbers\), not with .*\(384\)"):
        PolicyStore(client, "crumb", RecordedEmbedder())


def test_a_store_goes_on_after_a_purge_that_leaves_no_byte_of_the_forgotten(tmp_path: Path) -> None:
    store = PolicyStore(folder_client(tmp_path), "crumb")
    store.remember("sunita", ALLERGY, "fact", 5, slot="allergy_self")
    store.remember("sunita", "Allergic to sesame.", "fact", 5, slot="allergy_self")
    store.remember("rohan", "Lives in Baner.", "fact", 4, "address")
    assert store.forget_user("sunita") == 1
    purge(store.client)
    assert folder_holding(tmp_path, "peanuts") == folder_holding(tmp_path, "sesame") == []
    store.remember("rohan", "Lives in Kothrud.", "fact", 4, "address")
    assert texts(store) == ["Lives in Kothrud."]


# Slots


class Cut(Exception):
    """The process ends here."""


def test_a_slot_holds_a_value_at_every_moment_of_its_replacement(
    store: PolicyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deleting first, as published, loses the address if the process ends in between."""
    store.remember("rohan", "Lives in Baner.", "fact", 4, slot="address")
    seen = []
    for name in ("add", "delete"):
        really = getattr(Collection, name)

        def watched(*args: Any, really: Any = really, **kwargs: Any) -> Any:
            seen.append(texts(store))
            really(*args, **kwargs)
            seen.append(texts(store))

        monkeypatch.setattr(Collection, name, watched)
    store.remember("rohan", "Lives in Kothrud.", "fact", 4, slot="address")
    assert seen == [["Lives in Baner."]] + 3 * [["Lives in Kothrud."]]


@pytest.mark.parametrize("next_step", ["remember", "sweep"])
def test_a_replacement_that_was_cut_short_reads_right_and_is_completed_later(
    store: PolicyStore, monkeypatch: pytest.MonkeyPatch, next_step: str
) -> None:
    store.remember("rohan", "Lives in Baner.", "fact", 5, slot="address")
    with monkeypatch.context() as patch:
        patch.setattr(store, "retire", lambda *_: (_ for _ in ()).throw(Cut))
        with pytest.raises(Cut):
            store.remember("rohan", "Lives in Kothrud.", "fact", 5, slot="address", ttl_days=30)
    assert store.memories.count() == 2
    assert texts(store) == store.recall("rohan", "Baner") == ["Lives in Kothrud."]
    clock.travel(days=31)
    assert texts(store) == store.recall("rohan", "Baner") == []  # the old one does not come back
    if next_step == "remember":
        store.remember("rohan", "Lives in Aundh.", "fact", 4, slot="address")
        assert texts(store) == ["Lives in Aundh."]
    else:
        assert store.sweep() == 2
    assert store.memories.count() == len(texts(store))


def test_a_slot_belongs_to_one_customer_and_no_slot_replaces_nothing(store: PolicyStore) -> None:
    store.remember("rohan", "Lives in Baner.", "fact", 4, slot="address")
    store.remember("sunita", "Lives in Aundh.", "fact", 4, slot="address")
    store.remember("rohan", "Likes brownies.", "preference", 3)
    store.remember("rohan", "Likes tea.", "preference", 3)
    assert texts(store) == ["Lives in Baner.", "Likes brownies.", "Likes tea."]
    assert texts(store, "sunita") == ["Lives in Aundh."]


def test_what_was_replaced_stands_in_the_log_until_the_user_is_forgotten(store: PolicyStore) -> None:
    store.remember("rohan", "Lives in Baner.", "fact", 4, slot="address")
    new = store.remember("rohan", "Lives in Kothrud.", "fact", 4, slot="address")
    assert store.what_was_replaced("rohan") == [f"2026-08-06 20:11:27 replaced by {new}: Lives in Baner."]
    assert store.what_was_replaced("sunita") == []
    assert store.forget_user("rohan") == 1
    assert store.what_was_replaced("rohan") == []
    assert store.history.count() == store.memories.count() == 0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["", "s", "t"])), max_size=8))
def test_after_any_sequence_each_slot_has_its_last_value_and_nothing_else_is_lost(
    writes: list[tuple[str, str]],
) -> None:
    with frozen():
        store = PolicyStore(memory_client(), "crumb")
        for number, (user_id, slot) in enumerate(writes):
            store.remember(user_id, f"Fact {number}.", "fact", 3, slot=slot)
        for user_id in ("a", "b"):
            mine = [(n, slot) for n, (owner, slot) in enumerate(writes) if owner == user_id]
            last = {slot: n for n, slot in mine if slot}
            expected = [f"Fact {n}." for n, slot in mine if not slot or last[slot] == n]
            assert sorted(texts(store, user_id)) == sorted(expected)
            assert sorted(store.recall(user_id, "fact", k=9)) == sorted(expected)


def test_of_one_generation_written_twice_at_once_every_reader_picks_the_same() -> None:
    both = [Memory(name, name, "fact", 4, 0.0, slot="s", generation=2) for name in ("m1", "m2")]
    assert newest(both) == newest(both[::-1]) == [both[1]]


# Reading


def test_pins_come_first_whatever_is_asked_and_take_no_place(store: PolicyStore) -> None:
    for number in range(20):
        store.remember("sunita", f"Asked about the hamper, time {number}.", "episode", 2)
    store.remember("sunita", ALLERGY, "fact", 5)
    assert store.recall("sunita", "hamper", k=0) == [ALLERGY]
    found = store.recall("sunita", "hamper", k=3)
    assert found[0] == ALLERGY
    assert len(found) == 4


def test_a_pin_that_has_expired_is_not_shown_nor_swept_too_early(store: PolicyStore) -> None:
    store.remember("sunita", "In hospital this week.", "fact", 5, ttl_days=7)
    clock.travel(days=6.99)
    assert store.recall("sunita", "cake") == ["In hospital this week."]
    assert store.sweep() == 0
    clock.travel(days=0.01)
    assert store.recall("sunita", "cake") == texts(store, "sunita") == []
    assert store.memories.count() == 1
    assert store.sweep() == 1
    assert store.memories.count() == 0


def test_the_same_words_pinned_and_not_are_two_memories(store: PolicyStore) -> None:
    store.remember("sunita", ALLERGY, "fact", 5)
    store.remember("sunita", ALLERGY, "episode", 2)
    assert store.recall("sunita", "peanuts") == [ALLERGY, ALLERGY]


def test_what_no_longer_holds_crowds_out_nothing(store: PolicyStore) -> None:
    """Ten expired near hits would fill a plain over-fetch of ten."""
    for number in range(12):
        store.remember("sunita", f"Diwali hamper {number}.", "episode", 3, ttl_days=1)
    clock.travel(days=2)
    store.remember("sunita", "Likes tea.", "preference", 3)
    assert store.recall("sunita", "Diwali hamper", k=1) == ["Likes tea."]


def test_fewer_memories_than_asked_for_come_back_as_they_are(store: PolicyStore) -> None:
    """chroma-core/chroma #342: two rows, ten wanted."""
    store.remember("sunita", "Likes tea.", "preference", 3)
    store.remember("sunita", "Likes brownies.", "preference", 3)
    assert len(store.recall("sunita", "tea", k=10)) == 2
    assert store.recall("nobody", "tea", k=10) == []


def test_distances_become_strictly_decreasing_similarities() -> None:
    """agiresearch/A-mem #23; mem0ai/mem0 #4999."""
    values = [similarity(distance) for distance in (0.41, 1.32, 1.45)]
    assert values == pytest.approx([0.59, -0.32, -0.45])


# Consolidation


def test_many_small_episodes_become_one_fact_that_keeps_its_sources(store: PolicyStore) -> None:
    ids = [store.remember("sunita", f"Ordered walnut brownies, week {n}.", "episode", 2) for n in range(30)]
    store.remember("sunita", "Ordered walnut brownies: allergic!", "episode", 5)
    store.remember("sunita", "Hamper was late.", "episode", 3)
    store.remember("rohan", "Ordered walnut brownies, week 1.", "episode", 2)
    weekly = "Orders walnut brownies roughly weekly."
    given: list[list[str]] = []
    fact = store.consolidate("sunita", "ordered walnut brownies", lambda texts: given.append(texts) or weekly)
    assert given == [[f"Ordered walnut brownies, week {n}." for n in range(30)]]
    assert sorted(texts(store, "sunita")) == sorted(
        ["Ordered walnut brownies: allergic!", "Hamper was late.", weekly]
    )
    [summary] = [memory for memory in store.rows("sunita") if memory.memory_id == fact]
    assert (summary.kind, summary.importance, list(summary.sources)) == ("fact", 2, ids)
    assert len(store.what_was_replaced("sunita")) == 30
    assert len(texts(store)) == 1
    assert store.consolidate("sunita", "ordered walnut brownies", lambda _: weekly) is None


# What is refused


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("user_id", {"user_id": "  "}),
        ("text", {"text": ""}),
        ("text", {"text": None}),
        ("kind", {"kind": "rumour"}),
        ("importance", {"importance": 6}),
        ("importance", {"importance": 0}),
        ("importance", {"importance": True}),
        ("importance", {"importance": 4.5}),
        ("slot", {"slot": " address"}),
        ("slot", {"slot": None}),
        ("ttl_days", {"ttl_days": -1}),
        ("ttl_days", {"ttl_days": float("nan")}),
        ("sources", {"sources": "m1"}),
    ],
)
def test_what_does_not_fit_is_refused_by_name_before_anything_is_written(
    store: PolicyStore, field: str, change: dict[str, Any]
) -> None:
    good: dict[str, Any] = {"user_id": "sunita", "text": ALLERGY, "kind": "fact", "importance": 5}
    with pytest.raises((TypeError, ValueError), match=f"^{field}="):
        remember(store, **good | change)
    assert store.memories.count() == 0
    with pytest.raises((TypeError, ValueError), match=r"^query="):
        recall(store, "sunita", "")


@pytest.mark.parametrize("k", [-1, True, 1.5, "3", None])
def test_a_k_that_is_no_count_is_refused(store: PolicyStore, k: Any) -> None:
    for text in (AFTER_SIX, HAMPER):
        store.remember("sunita", text, "fact", 3)
    with pytest.raises(ValueError, match=r"^k="):
        store.recall("sunita", "hamper", k)
    assert store.recall("sunita", "hamper", 0) == []


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^client="):
        PolicyStore("agent_memory", "crumb")  # type: ignore[arg-type]
