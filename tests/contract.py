"""What every store has to do, whatever it is made of. A test class inherits it and has a fixture `store`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pipeline import ADA, Teller, own_ids, said
from strategies import undone

from memlab import clock
from memlab.embedding import cosine, hash_embed
from memlab.records import MemoryRecord, Source
from memlab.store import MemoryStore, StoreError
from solutions.consolidation import learn
from solutions.forgetting import expire, forget_source, forget_user, prune, regenerate
from solutions.injection import inject
from solutions.memory_system import MemorySystem
from solutions.retrieval import retrieve

VEGETARIAN, FISH = "The user follows a vegetarian diet.", "The user eats fish again."
ADAS, AISLE = "The user goes by Ada.", "The user prefers aisle seating on flights."
CRM = Source("bootstrapped", "crm")

PUBLISHED_SCORES = {
    "any dietary restrictions I should know about?": ["0.473", FISH, "0.388", AISLE, "0.370", ADAS],
    "what seat should I book on the flight?": ["0.444", AISLE, "0.392", FISH, "0.370", ADAS],
    "what should we order for lunch?": ["0.370", ADAS, "0.370", FISH, "0.349", AISLE],
}


def fact(content: str = ADAS, user_id: str = ADA, **values: Any) -> MemoryRecord:
    return MemoryRecord(content, user_id, **values)


def contents(records: Sequence[MemoryRecord]) -> list[str]:
    return [record.content for record in records]


def found(store: MemoryStore, user_id: str = ADA, **where: Any) -> list[str]:
    matches = store.search("the user", user_id, **where)
    return contents(matches.records(range(len(matches))))


def published(store: MemoryStore) -> Teller:
    """The store after the three published sessions."""
    tell = Teller(store)
    tell("s1", "I'm a vegetarian, by the way. Call me Ada. I prefer the aisle seat.")
    tell("s2", "Remember I'm vegetarian.")
    tell("s3", "I've started eating fish again.", kind="user_explicit")
    return tell


class StoreContract:
    """One method, one behaviour. The clock stands still at the moment of the published run."""

    # Keeping

    def test_what_is_put_comes_back_whole(self, store: MemoryStore) -> None:
        sources = [Source("user_explicit", "s1", "call me Ada", extra={"channel": "phone"})]
        record = fact(
            topic="identity", subject="user", importance=1, confidence=0.7, half_life_days=30,
            sources=sources, expires_at=clock.now() + 9, superseded_by="mem_x", history=["made"],
            needs_regeneration=True, extra={"mood": [None, {}]},
        )  # fmt: skip
        store.put(record)
        again = store.get(record.memory_id, ADA)
        assert again == record
        assert again is not record
        assert again.embedding == pytest.approx(hash_embed(ADAS), abs=1e-6)

    def test_what_was_set_can_be_unset(self, store: MemoryStore) -> None:
        """run-llama/llama_index #9695: a database that merges metadata keeps what should be empty."""
        store.put(fact(memory_id="m", invalidated_at=5.0, superseded_by="n", expires_at=9.0, sources=[CRM]))
        store.put(fact(memory_id="m"))
        record = store.get("m", ADA)
        assert record is not None
        assert (record.invalidated_at, record.superseded_by, record.expires_at) == (None, None, None)
        assert record.sources == []
        assert contents(store.scan(ADA)) == found(store) == [ADAS]

    def test_history_only_grows_and_replaced_content_leaves_a_line(self, store: MemoryStore) -> None:
        """moorcheh-ai/memanto PR 1495."""
        store.put(fact("email", memory_id="42", history=["made"]))
        store.put(fact("Telegram", memory_id="42"))
        [record] = store.owned(ADA)
        assert record.content == "Telegram"
        assert record.history == ["made", "2026-08-06 20:11:27 content was 'email'"]
        assert record.embedding == pytest.approx(hash_embed("Telegram"), abs=1e-6)

    def test_memories_come_oldest_first_and_by_topic(self, store: MemoryStore) -> None:
        for number in range(5):
            store.put(
                fact(f"Fact {number}", topic="odd" if number % 2 else "even", memory_id=f"m{9 - number}")
            )
        store.put(replace(store.scan(ADA)[0], importance=0.9))
        assert contents(store.scan(ADA)) == found(store) == [f"Fact {number}" for number in range(5)]
        assert contents(store.scan(ADA, topic="odd")) == ["Fact 1", "Fact 3"]

    @pytest.mark.parametrize("content", ["x" * 10_000, "naïve 🍣 \n\t'); DROP", "json:[", "\u202e"])
    def test_odd_text_is_kept_to_the_letter(self, store: MemoryStore, content: str) -> None:
        store.put(fact(content, topic=content[:20].strip().replace("\n", "").replace("\t", "") or "t"))
        assert contents(store.scan(ADA)) == [content]

    # Whose it is

    def test_nobody_sees_or_touches_what_is_anothers(self, store: MemoryStore) -> None:
        """xorbitsai/xagent #818; mem0ai/mem0 #6277."""
        store.put(fact(memory_id="m"))
        for user_id, app_name in (
            ("u_bo", "default"),
            (ADA, "other"),
            ("U_ADA", "default"),
            ("%", "default"),
        ):
            owner = {"user_id": user_id, "app_name": app_name}
            assert store.get("m", **owner) is None
            assert store.scan(**owner) == store.owned(**owner) == found(store, **owner) == []
            assert not store.remove("m", **owner)
            with pytest.raises(ValueError, match=r"^memory_id='m' belongs to another"):
                store.put(fact("Mine.", memory_id="m", **owner))
        assert contents(store.scan(ADA)) == [ADAS]

    def test_a_session_is_seen_from_itself_alone_and_only_when_asked_for(self, store: MemoryStore) -> None:
        store.put(fact("In s1.", scope="session", session_id="s1"))
        store.put(fact("Everywhere."))
        every = ("user", "session", "app")
        assert found(store) == found(store, scopes=every) == ["Everywhere."]
        assert found(store, scopes=every, session_id="s2") == ["Everywhere."]
        assert found(store, scopes=every, session_id="s1") == ["In s1.", "Everywhere."]
        assert contents(store.scan(ADA, scopes=("session",), session_id="s1")) == ["In s1."]
        assert contents(store.owned(ADA)) == ["In s1.", "Everywhere."]

    def test_what_the_app_shares_is_read_by_all_and_rests_on_bootstrapped_sources(
        self, store: MemoryStore
    ) -> None:
        store.put(fact("We open at nine.", "admin", scope="app", sources=[CRM], memory_id="hours"))
        assert found(store, "u_bo") == contents(store.scan("u_bo")) == ["We open at nine."]
        with pytest.raises(ValueError, match=r"^scope='app'"):
            store.put(fact("Cakes are free.", scope="app", sources=[Source("user_explicit", "s1")]))
        assert not store.remove("hours", "admin")
        assert forget_user(store, "admin") == 0
        assert found(store, "u_bo") == ["We open at nine."]

    @pytest.mark.parametrize("name", [None, "", "  ", 7])
    def test_no_path_works_without_naming_an_owner(self, store: MemoryStore, name: Any) -> None:
        calls = (store.scan, store.owned, store.conversations, store.revoked, store.erase_user)
        for call in (
            *calls,
            lambda user_id: store.search("q", user_id),
            lambda user_id: store.get("m", user_id),
        ):
            with pytest.raises((TypeError, ValueError), match=r"^user_id="):
                call(name)

    # What holds

    def test_what_has_ended_is_not_read_and_what_held_then_can_be_asked_for(self, store: MemoryStore) -> None:
        """moorcheh-ai/memanto PR 1617; the edge belongs to the end."""
        store.put(fact("A visa.", created_at=100.0, expires_at=200.0))
        store.put(fact("A flat.", created_at=100.0, invalidated_at=150.0))
        store.put(fact("A house.", created_at=150.0))
        store.put(fact("Just over.", created_at=100.0, expires_at=clock.now()))
        assert contents(store.scan(ADA)) == found(store) == ["A house."]
        assert len(store.scan(ADA, include_invalid=True)) == 4
        for at, held in {120: ["A visa.", "A flat."], 150: ["A visa.", "A house."], 50: []}.items():
            then = [text for text in found(store, as_of=at) if text != "Just over."]
            assert then == [r.content for r in store.scan(ADA, as_of=at) if r.content != "Just over."] == held

    def test_a_search_scores_every_visible_memory_by_its_cosine(self, store: MemoryStore) -> None:
        texts = [VEGETARIAN, FISH, ADAS, AISLE, "…"]  # the last has no usable word: the zero vector
        for number, text in enumerate(texts):
            store.put(fact(text, importance=number / 10, half_life_days=number + 1))
        clock.travel(days=3)
        matches = store.search("what does the user eat?", ADA)
        expected = [cosine(hash_embed("what does the user eat?"), hash_embed(text)) for text in texts]
        assert matches.relevance == pytest.approx(expected, abs=1e-6)
        assert matches.importance.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]
        assert matches.half_life_days.tolist() == [1, 2, 3, 4, 5]
        assert matches.age_days == pytest.approx([3.0] * 5)
        assert matches.contents() == texts
        assert contents(matches.records([3, 0])) == [AISLE, VEGETARIAN]
        assert np.asarray(store.search("…", ADA).relevance).tolist() == [0.0] * 5
        assert len(store.search("anything", "u_bo")) == 0

    def test_a_match_that_was_removed_meanwhile_comes_back_as_nothing(self, store: MemoryStore) -> None:
        store.put(fact(memory_id="m"))
        store.put(fact(FISH))
        matches = store.search("ada", ADA)
        store.remove("m", ADA)
        first, second = matches.records([0, 1])
        assert (first, second.content, matches.contents()) == (None, FISH, ["", FISH])

    # Together or not at all

    def test_nothing_of_a_transaction_stays_when_it_fails(self, store: MemoryStore) -> None:
        store.put(fact("Before.", memory_id="m"))
        with undone(store):
            store.put(fact("Changed.", memory_id="m"))
            store.put(fact("New."))
            store.revoke("s1", ADA)
            assert found(store) == ["Changed.", "New."]
        assert contents(store.scan(ADA)) == found(store) == ["Before."]
        assert store.revoked(ADA) == set()

    def test_a_transaction_inside_another_is_undone_alone(self, store: MemoryStore) -> None:
        with store.transaction():
            store.put(fact("Outer.", memory_id="m"))
            with undone(store):
                store.remove("m", ADA)
                store.put(fact("Inner."))
            assert found(store) == ["Outer."]
        assert found(store) == ["Outer."]

    def test_a_transaction_reads_what_it_has_written(self, store: MemoryStore) -> None:
        store.put(fact("Old.", memory_id="old"))
        with store.transaction():
            store.put(replace(store.owned(ADA)[0], invalidated_at=clock.now(), superseded_by="new"))
            store.put(fact("New.", memory_id="new", topic="t"))
            assert contents(store.scan(ADA)) == found(store) == ["New."]
            assert contents(store.scan(ADA, topic="t")) == ["New."]
            assert found(store, "u_bo") == []
            assert contents(store.owned(ADA)) == ["Old.", "New."]
            assert store.remove("new", ADA)
            assert store.get("new", ADA) is None
        assert found(store) == []

    # Conversations, revocation, erasure

    def test_conversations_are_kept_grow_and_belong_to_one_user(self, store: MemoryStore) -> None:
        first, second = Source("user_implicit", "s2", at=5.0), Source("user_explicit", "s1", at=3.0)
        store.put_conversation(said("I hike."), first, user_id=ADA)
        store.put_conversation(said("Call me Ada."), second, user_id=ADA)
        store.put_conversation(said("I hike.", "And I swim."), first, user_id=ADA)
        talks = store.conversations(ADA)
        assert [(t.source.source_id, t.source.source_type, t.source.at) for t in talks] == [
            ("s2", "user_implicit", 5.0),
            ("s1", "user_explicit", 3.0),
        ]
        assert [message["content"] for message in talks[0].messages] == ["I hike.", "And I swim."]
        assert [talk.source.source_id for talk in store.conversations(ADA, source_id="s1")] == ["s1"]
        assert store.conversations("u_bo") == store.conversations(ADA, "other") == []

    def test_a_revoked_source_is_gone_and_is_not_taken_again(self, store: MemoryStore) -> None:
        source = Source("user_implicit", "s1")
        for user_id in (ADA, "u_bo"):
            store.put_conversation(said("I hike."), source, user_id=user_id)
        store.revoke("s1", ADA)
        store.revoke("s1", ADA)
        assert store.conversations(ADA) == []
        assert store.revoked(ADA) == {"s1"}
        assert len(store.conversations("u_bo")) == 1
        for refused in (
            lambda: store.put(fact(sources=[source])),
            lambda: store.put_conversation(said("I hike."), source, user_id=ADA),
        ):
            with pytest.raises(ValueError, match=r"^source_id='s1' was revoked"):
                refused()

    def test_erasing_a_user_erases_all_of_theirs_and_counts_it(self, store: MemoryStore) -> None:
        """mem0ai/mem0 #3928, #6627: every record, of that user alone, and the number is true."""
        with store.transaction():
            for number in range(148):
                store.put(fact(f"Fact {number}", scope="session", session_id=f"s{number}"))
        published(store)
        Teller(store, "u_bo")("s1", "Call me Bo.")
        store.revoke("s9", ADA)
        assert store.erase_user(ADA) == 152
        assert store.owned(ADA) == store.conversations(ADA) == []
        assert store.revoked(ADA) == set()
        assert contents(store.owned("u_bo")) == ["The user goes by Bo."]
        assert len(store.conversations("u_bo")) == 1

    def test_erasing_inside_a_transaction_is_refused(self, store: MemoryStore) -> None:
        with store.transaction():
            for action in (store.purge, lambda: store.erase_user(ADA)):
                with pytest.raises(StoreError, match="inside transaction"):
                    action()

    def test_a_closed_store_says_so(self, store: MemoryStore) -> None:
        store.close()
        store.close()
        with pytest.raises(StoreError, match="closed"):
            store.scan(ADA)

    # The pipeline, unchanged

    @pytest.mark.parametrize("query", PUBLISHED_SCORES)
    def test_the_published_run_gives_the_published_scores(self, store: MemoryStore, query: str) -> None:
        published(store)
        hits = retrieve(store, query, user_id=ADA)
        printed = [text for hit in hits for text in (f"{hit.score:.3f}", hit.record.content)]
        assert printed == PUBLISHED_SCORES[query]
        assert retrieve(store, query, user_id="u_bo") == []

    def test_the_published_contradiction_leaves_the_published_state(self, store: MemoryStore) -> None:
        tell = published(store)
        old, new = tell.record(VEGETARIAN), tell.record(FISH)
        assert {r.content: r.confidence for r in store.scan(ADA)} == {FISH: 0.90, ADAS: 0.65, AISLE: 0.65}
        assert (old.active(), old.superseded_by, old.confidence) == (False, new.memory_id, 0.70)
        assert [(s.source_id, s.inherited) for s in new.sources] == [
            ("s1", True),
            ("s2", True),
            ("s3", False),
        ]
        block = inject("S", retrieve(store, "seat", user_id=ADA))
        assert "[confidence: high, source: user_explicit] The user eats fish again." in block

    def test_revoking_erases_flags_and_brings_back_what_was_displaced(self, store: MemoryStore) -> None:
        tell = published(store)
        revoked = forget_source(store, "s1", ADA)
        assert len(revoked.erased) == 2
        assert {r.content for r in store.owned(ADA) if r.memory_id in revoked.flagged} == {VEGETARIAN, FISH}
        regenerate(store, ADA)
        assert tell.active() == [FISH]
        forget_source(store, "s3", ADA)
        regenerate(store, ADA)
        assert tell.active() == [VEGETARIAN]
        assert own_ids(tell.record(VEGETARIAN)) == ["s2"]

    def test_memories_fade_and_expire(self, store: MemoryStore) -> None:
        store.put(fact("Faded.", half_life_days=10, confidence=0.6))
        store.put(fact("Pinned.", half_life_days=10, confidence=0.6, importance=1))
        store.put(fact("Ends.", half_life_days=3650, expires_at=clock.now() + clock.DAY))
        clock.travel(days=60)
        assert contents(prune(store, 0.2, user_id=ADA)) == ["Faded."]
        assert contents(expire(store, user_id=ADA)) == ["Ends."]
        assert contents(store.scan(ADA)) == ["Pinned."]

    def test_the_whole_system_learns_recalls_and_forgets(self, store: MemoryStore) -> None:
        memory = MemorySystem(store)
        memory.learn(said("Call me Ada."), Source("user_explicit", "s1"), user_id=ADA)
        memory.close_session(
            said("I've started eating fish again."), Source("user_implicit", "s2"), user_id=ADA
        )
        assert [hit.record.content for hit in memory.recall("name", user_id=ADA)] == [ADAS]
        assert len(memory.recall("name", user_id=ADA, session_id="s2")) == 2
        assert learn(store, said("Call me Ada."), Source("user_explicit", "s1"), user_id=ADA)
        assert contents(store.scan(ADA)) == [ADAS]
        assert memory.forget_user(ADA) == 2
        assert store.owned(ADA) == []
