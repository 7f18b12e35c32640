"""The capstone's system, held to the acceptance suite and to the attacks of its notebook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from course.acceptance import Extractor, accept
from course.attacks import ATTACKS, Attack, Gullible, attack_table
from memlab import clock
from memlab.records import MemoryRecord, Source
from memlab.store import MemoryStore
from solutions.capstone import evict, poison, shard_of
from solutions.extraction import rule_extract
from solutions.memory_system import MemorySystem, remember


def opened(folder: Path, extract: Extractor | None = None) -> MemorySystem:
    return MemorySystem(MemoryStore(folder / "memory.db"), extract=extract or rule_extract)


def fate(make: Callable[[], Any], attack: Attack) -> str:
    return str(attack_table(make, [attack]).rows[0][1])


def test_what_the_capstone_assembles_passes_the_acceptance_suite() -> None:
    report = accept(opened)
    assert report.passed, report


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_only_the_flood_gets_through_an_assembled_system(attack: Attack) -> None:
    got_through = fate(lambda: MemorySystem(MemoryStore()), attack) == "✗ got through"
    assert got_through == (attack.name == "floods the store")


class Naive(MemorySystem):
    """Keeps every line that anybody says, for everyone, takes it for a diet, and pastes it in."""

    def learn(self, messages: Any, source: Source, *, user_id: str, app_name: str = "default") -> Any:
        self.store.put_conversation(messages, source, user_id=user_id)
        for line in "".join(message["content"] for message in messages).split(". "):
            for owner in (user_id, "u_bo"):
                self.store.put(MemoryRecord(f"{line} The user follows a vegan diet.", owner))

    def context(self, system: str, query: str, **whose: Any) -> str:
        lines = [record.content for record in self.memories(whose["user_id"])]
        return "\n".join([system, "<MEMORIES>", *lines, "</MEMORIES>"])


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_every_attack_gets_through_a_naive_system(attack: Attack) -> None:
    assert fate(lambda: Naive(MemoryStore()), attack) == "✗ got through"


def test_the_poisonous_conversations_do_nothing_to_the_assembled_system() -> None:
    system, weak = MemorySystem(MemoryStore()), Gullible()
    lie = "Refunds are unlimited."
    for number, talk in enumerate([poison("everyone", lie), poison("command", lie)]):
        weak.learn(talk, user_id="u_mallory")
        system.learn(talk, Source("user_explicit", f"s{number}"), user_id="u_mallory")
    for user_id in ("u_mallory", "u_bo"):
        assert lie in weak.context("Be brief.", user_id=user_id)
        assert system.context("Be brief.", "refunds", user_id=user_id) == "Be brief."


def test_a_write_that_is_refused_leaves_the_slot_as_it_was() -> None:
    store = MemoryStore()
    remember(store, "Lives in Baner.", user_id="u_ada", slot="address")
    for wrong in ({"ttl_days": -1}, {"importance": 7.0}, {"source": Source("tool_output", "t1")}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            remember(store, "Lives in Pune.", user_id="u_ada", slot="address", **wrong)
    assert [record.content for record in store.owned("u_ada")] == ["Lives in Baner."]


def test_eviction_is_undone_as_a_whole_when_the_disk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    with clock.freeze("2026-08-06T20:11:27Z"):
        for number in range(3):
            store.put(MemoryRecord(f"Fact {number}.", "u_ada"))
        put, calls = store.put, list[str]()

        def failing(record: MemoryRecord) -> None:
            calls.append(record.content)
            if len(calls) == 2:
                raise OSError("no space left on device")
            put(record)

        monkeypatch.setattr(store, "put", failing)
        with pytest.raises(OSError, match="no space"):
            evict(store, user_id="u_ada", keep=1)
        assert len(store.scan("u_ada")) == 3


def test_a_shard_that_is_taken_away_moves_only_its_own_users() -> None:
    shards = ["a", "b", "c"]
    for user_id in map("u_{}".format, range(300)):
        before, after = shard_of(user_id, shards), shard_of(user_id, ["c", "a"])
        assert before in ("b", after)
