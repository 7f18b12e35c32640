"""A process killed at any moment leaves the old fact or the new one: never neither, never both."""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from pipeline import ADA, Teller

from memlab.store import MemoryStore
from solutions.forgetting import forget_source, regenerate

VEGETARIAN, FISH = "I'm a vegetarian.", "I've started eating fish again."
KILLS = 12

pytestmark = pytest.mark.skipif(
    "forkserver" not in multiprocessing.get_all_start_methods(), reason="needs kill -9, so not on Windows"
)


def keep_learning(tell: Teller, number: int) -> None:
    """Change one's mind again and again."""
    tell(f"s{number}", (FISH, VEGETARIAN)[number % 2])


def keep_revoking(tell: Teller, number: int) -> None:
    """Say something under a new source, then take the source back."""
    tell(f"s{number}", f"{VEGETARIAN} Call me Ada.")
    forget_source(tell.store, f"s{number}", ADA)


def keep_regenerating(tell: Teller, number: int) -> None:
    """Contradict the first session, then take the contradiction back."""
    tell(f"s{number}", FISH)
    forget_source(tell.store, f"s{number}", ADA)
    regenerate(tell.store, ADA)


def _child(path: Path, work: Callable[[Teller, int], None], ready: Connection) -> None:
    with MemoryStore(path) as store:
        ready.send(True)
        for number in range(1, 100_000):
            work(Teller(store), number)


def _killed_at_random(path: Path, work: Callable[[Teller, int], None], seed: int) -> None:
    """A store that holds one fact, after a process that worked on it was killed."""
    with MemoryStore(path) as store:
        Teller(store)("s0", VEGETARIAN)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["numpy", "solutions.forgetting"])
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(path, work, there))
    child.start()
    assert here.poll(30)
    time.sleep(random.Random(seed).uniform(0.0, 0.08))
    child.kill()
    child.join(30)
    assert child.exitcode == -9
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def _assert_chains_are_whole(store: MemoryStore) -> None:
    owned = {record.memory_id: record for record in store.owned(ADA)}
    for record in owned.values():
        assert record.superseded_by is None or record.superseded_by in owned
        assert record.active() or record.superseded_by or record.needs_regeneration


def _assert_revoked_sources_are_gone(store: MemoryStore) -> None:
    revoked = store.revoked(ADA)
    assert not revoked & {talk.source.source_id for talk in store.conversations(ADA)}
    assert not revoked & {source.source_id for record in store.owned(ADA) for source in record.sources}


@pytest.mark.parametrize("seed", range(KILLS))
def test_killed_while_learning_one_fact_is_active_and_every_conversation_has_its_effect(
    tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "m.db"
    _killed_at_random(path, keep_learning, seed)
    with MemoryStore(path) as store:
        assert len(store.scan(ADA)) == 1
        _assert_chains_are_whole(store)
        talks = [talk.source.source_id for talk in store.conversations(ADA)]
        assert [source.source_id for r in store.owned(ADA) for source in r.own_sources()] == talks
        Teller(store)("later", FISH, kind="user_explicit")
        assert Teller(store).active() == ["The user eats fish again."]


@pytest.mark.parametrize("seed", range(KILLS))
def test_killed_while_revoking_a_source_is_gone_altogether_or_there_altogether(
    tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "m.db"
    _killed_at_random(path, keep_revoking, seed)
    with MemoryStore(path) as store:
        _assert_revoked_sources_are_gone(store)
        talks = {talk.source.source_id for talk in store.conversations(ADA)}
        diet = Teller(store).record("The user follows a vegetarian diet.")
        assert diet.active()
        assert {source.source_id for source in diet.sources} == talks
        assert diet.confidence == (0.65 if talks == {"s0"} else 0.70)


@pytest.mark.parametrize("seed", range(KILLS))
def test_killed_while_regenerating_there_are_never_two_and_the_next_run_completes_it(
    tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "m.db"
    _killed_at_random(path, keep_regenerating, seed)
    with MemoryStore(path) as store:
        _assert_revoked_sources_are_gone(store)
        _assert_chains_are_whole(store)
        assert len(store.scan(ADA)) <= 1
        regenerate(store, ADA)
        [survivor] = store.scan(ADA)
        assert survivor.content in ("The user follows a vegetarian diet.", "The user eats fish again.")
        assert not any(record.needs_regeneration for record in store.owned(ADA))
