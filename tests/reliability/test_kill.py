"""A process killed at any moment leaves the old state or the new one: never neither, never both."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from aids import assert_sound, assert_whole, everything, needs_fork, start
from pipeline import ADA, Teller, bytes_of, said

from memlab.records import MemoryRecord, Source
from memlab.store import MemoryStore
from solutions.consolidation import supersede
from solutions.forgetting import forget_source, forget_user, regenerate
from solutions.injection import remember_session

VEGETARIAN, FISH = "I'm a vegetarian.", "I've started eating fish again."
LIVES = 25  # of a writer that is started again and again on one file
SECRET = "the blue parrot"

pytestmark = needs_fork

Work = Callable[[MemoryStore, int], None]


def _live(path: Path, work: Work, first: int, connection: Connection) -> None:
    with MemoryStore(path) as store:
        for number in range(first, first + 100_000):
            work(store, number)
            connection.send(number)


def killed_at_random(path: Path, work: Work, first: int, moments: random.Random) -> list[int]:
    """The numbers that a writer reported as done before it was killed: after some of them, at any point."""
    child, connection = start(_live, path, work, first)
    done: list[int] = []
    wanted = moments.randrange(4)
    try:
        while len(done) < wanted:
            done.append(connection.recv())
        time.sleep(moments.uniform(0.0, 0.008))
        child.kill()
        while True:
            done.append(connection.recv())
    except EOFError:
        child.join()
    assert child.exitcode == -9, "the writer did not live until it was killed"
    return done


# What the writers do, and what must hold whenever they are gone


def learn(store: MemoryStore, number: int) -> None:
    """Change one's mind again and again."""
    Teller(store)(f"s{number}", (FISH, VEGETARIAN)[number % 2])


def every_conversation_has_its_effect(store: MemoryStore, done: list[int]) -> None:
    talks = [talk.source.source_id for talk in store.conversations(ADA)]
    assert [source.source_id for r in store.owned(ADA) for source in r.own_sources()] == talks
    assert set(talks) >= {f"s{number}" for number in done}
    assert len(store.scan(ADA)) == bool(talks)


def revoke(store: MemoryStore, number: int) -> None:
    """Say something under a new source, then take the source back."""
    if number % 2 == 0:
        Teller(store)(f"s{number}", f"{VEGETARIAN} Call me Ada.")
    else:
        forget_source(store, f"s{number - 1}", ADA)


def a_source_is_there_altogether_or_gone(store: MemoryStore, done: list[int]) -> None:
    talks = {talk.source.source_id for talk in store.conversations(ADA)}
    for record in store.owned(ADA):
        assert {source.source_id for source in record.sources} == talks
        assert record.confidence < 0.601 + 0.05 * len(talks)
    assert len(store.owned(ADA)) == (2 if talks else 0)
    assert store.revoked(ADA) >= {f"s{number - 1}" for number in done if number % 2}


def regain(store: MemoryStore, number: int) -> None:
    """Contradict the first session, then take the contradiction back."""
    if not store.conversations(ADA):
        Teller(store)("s", VEGETARIAN)
    Teller(store)(f"s{number}", FISH)
    forget_source(store, f"s{number}", ADA)
    regenerate(store, ADA)


def the_next_run_completes_what_was_cut_short(store: MemoryStore, done: list[int]) -> None:
    assert len(store.scan(ADA)) <= 1
    regenerate(store, ADA)
    for survivor in store.scan(ADA):
        assert survivor.content in ("The user follows a vegetarian diet.", "The user eats fish again.")
    assert len(store.scan(ADA)) == bool(store.conversations(ADA))
    assert not any(record.needs_regeneration for record in store.owned(ADA))


def write_by_hand(store: MemoryStore, number: int) -> None:
    """Two facts in one transaction, the second in place of the one before; and a session's memory."""
    new = MemoryRecord(f"Seat {number}.", ADA, topic="travel", memory_id=f"m{number}")
    with store.transaction():
        store.put(MemoryRecord(f"Note {number}.", ADA, topic="note"))
        supersede(store, store.scan(ADA, topic="travel"), new, "a newer one")
    remember_session(store, said(f"Step {number}."), Source("user_implicit", "session"), user_id=ADA)


def both_facts_or_none(store: MemoryStore, done: list[int]) -> None:
    notes, seats = store.scan(ADA, topic="note"), store.scan(ADA, topic="travel", include_invalid=True)
    assert [note.content[5:] for note in notes] == [seat.content[5:] for seat in seats]
    assert {seat.memory_id for seat in seats} >= {f"m{number}" for number in done}
    assert len(store.scan(ADA, topic="travel")) == bool(seats)
    sessions = store.scan(ADA, scopes=("session",), session_id="session", include_invalid=True)
    assert sum(record.active() for record in sessions) == bool(sessions)
    assert len(seats) - LIVES <= len(sessions) <= len(seats)


def erase(store: MemoryStore, number: int) -> None:
    """Tell a secret, then have all of it erased."""
    if number % 2 == 0:
        Teller(store)(f"s{number}", f"I like {SECRET}.", VEGETARIAN)
        store.put(MemoryRecord(f"Likes {SECRET}.", ADA))
    else:
        forget_user(store, ADA)


def erasing_again_leaves_no_byte(store: MemoryStore, done: list[int]) -> None:
    assert len(store.owned(ADA)) in (0, 2, 3)
    assert len(store.conversations(ADA)) == bool(store.owned(ADA))
    forget_user(store, ADA)
    assert SECRET.encode() not in bytes_of(Path(store.path))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("work", "check"),
    [
        (learn, every_conversation_has_its_effect),
        (revoke, a_source_is_there_altogether_or_gone),
        (regain, the_next_run_completes_what_was_cut_short),
        (write_by_hand, both_facts_or_none),
        (erase, erasing_again_leaves_no_byte),
    ],
    ids=lambda function: function.__name__,
)
def test_a_writer_killed_again_and_again_never_leaves_half_an_operation(
    tmp_path: Path, work: Work, check: Callable[[MemoryStore, list[int]], None], seed: int
) -> None:
    path, moments = tmp_path / "memories.db", random.Random(seed)
    done: list[int] = []
    for life in range(LIVES):
        done += killed_at_random(path, work, 1000 * life, moments)
        assert_sound(path)
        with MemoryStore(path) as store:
            assert_whole(store, [ADA])
            check(store, done)
    assert len(done) >= LIVES // 2, "too few operations between the kills to prove anything"


def test_a_file_whose_first_process_was_killed_while_making_it_is_whole_or_not_there(tmp_path: Path) -> None:
    moments = random.Random(1)
    for number in range(60):
        path = tmp_path / f"{number}.db"
        done = (
            killed_at_random(path, learn, 0, moments) if number % 2 else _killed_while_opening(path, moments)
        )
        with MemoryStore(path) as store:
            every_conversation_has_its_effect(store, done)
            before = everything(store, ADA)
        assert_sound(path)
        with MemoryStore(path) as store:
            assert everything(store, ADA) == before


def _open(path: Path, connection: Connection) -> None:
    connection.send("ready")
    while True:
        MemoryStore(path).close()


def _killed_while_opening(path: Path, moments: random.Random) -> list[int]:
    child, connection = start(_open, path)
    assert connection.recv() == "ready"
    time.sleep(moments.uniform(0.0, 0.004))
    child.kill()
    child.join()
    assert child.exitcode == -9
    return []
