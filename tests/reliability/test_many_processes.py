"""Eight processes at work on one file lose nothing, and nobody ever sees half an operation."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event

from aids import assert_sound, assert_whole, finish, needs_fork, start
from pipeline import Teller
from strategies import undone

from memlab.records import MemoryRecord, Source
from memlab.store import MemoryStore
from solutions.forgetting import expire, forget_source, forget_user
from solutions.injection import remember_session
from solutions.retrieval import retrieve

PROCESSES, OPERATIONS = 8, 500
CHANGES = 60
DIETS = {
    "I'm a vegetarian.": "The user follows a vegetarian diet.",
    "I'm vegan.": "The user follows a vegan diet.",
    "I've started eating fish again.": "The user eats fish again.",
}
EVERYBODY = "everybody"

pytestmark = needs_fork


@dataclass
class Ledger:
    """What must be in the file when one worker has ended."""

    user_id: str
    facts: dict[str, str] = field(default_factory=dict)
    tastes: dict[str, str] = field(default_factory=dict)
    diet: str = ""
    talks: set[str] = field(default_factory=set)
    revoked: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)

    def active(self) -> list[str]:
        return sorted([*self.facts.values(), *self.tastes.values(), *([self.diet] if self.diet else [])])


class Worker:
    """Mixed operations of one user, each noted in the ledger once the store has taken it."""

    def __init__(self, path: Path, number: int) -> None:
        self.path, self.random = path, random.Random(number)
        self.ledger, self.store = Ledger(f"u{number}"), MemoryStore(path)
        self.done = 0
        self.operations: dict[Callable[[], None], int] = {
            self.put: 20, self.change: 10, self.share: 10, self.learn: 10, self.change_diet: 12,
            self.recall: 20, self.scan: 15, self.give_up: 8, self.remove: 5, self.close_session: 5,
            self.expire: 5, self.reopen: 3, self.forget: 3, self.erase: 1,
        }  # fmt: skip

    def work(self) -> None:
        names = self.random.choices(list(self.operations), list(self.operations.values()), k=OPERATIONS)
        for self.done, operation in enumerate(names):
            operation()
        self.store.close()

    @property
    def teller(self) -> Teller:
        return Teller(self.store, self.ledger.user_id)

    def put(self) -> None:
        record = MemoryRecord(f"Fact {self.done} of {self.ledger.user_id}.", self.ledger.user_id)
        self.store.put(record)
        self.ledger.facts[record.memory_id] = record.content

    def change(self) -> None:
        for memory_id in self.ledger.facts and [self.random.choice(list(self.ledger.facts))]:
            record = self.store.get(memory_id, self.ledger.user_id)
            assert record is not None
            before, record.content = record.content, f"Changed at {self.done}."
            self.store.put(record)
            assert repr(before) in record.history[-1]
            self.ledger.facts[memory_id] = record.content

    def share(self) -> None:
        record = MemoryRecord(f"Of {self.ledger.user_id}: {self.done}.", EVERYBODY)
        self.store.put(record)
        self.ledger.shared.add(record.memory_id)

    def learn(self) -> None:
        source_id = f"taste{self.done}"
        self.teller(source_id, f"I like dish{self.done}.")
        self.ledger.talks.add(source_id)
        self.ledger.tastes[source_id] = f"The user likes dish{self.done}."

    def change_diet(self) -> None:
        source_id, said = f"diet{self.done}", self.random.choice(list(DIETS))
        self.teller(source_id, said)
        self.ledger.talks.add(source_id)
        self.ledger.diet = DIETS[said]

    def recall(self) -> None:
        hits = retrieve(self.store, "which dish and diet?", user_id=self.ledger.user_id, k=10)
        assert len(hits) == min(10, len(self.ledger.active()))
        assert {hit.record.content for hit in hits} <= set(self.ledger.active())

    def scan(self) -> None:
        assert sorted(self.teller.active()) == self.ledger.active()

    def give_up(self) -> None:
        with undone(self.store):
            self.store.put(MemoryRecord("Never kept.", self.ledger.user_id))
            self.teller(f"lost{self.done}", "I hate waiting.")

    def remove(self) -> None:
        for memory_id in self.ledger.facts and [self.random.choice(list(self.ledger.facts))]:
            assert self.store.remove(memory_id, self.ledger.user_id)
            del self.ledger.facts[memory_id]

    def close_session(self) -> None:
        said = [{"role": "user", "content": f"Step {self.done}."}]
        remember_session(self.store, said, Source("user_implicit", "session"), user_id=self.ledger.user_id)

    def expire(self) -> None:
        assert expire(self.store, user_id=self.ledger.user_id) == []

    def reopen(self) -> None:
        self.store.close()
        self.store = MemoryStore(self.path)

    def forget(self) -> None:
        for source_id in self.ledger.tastes and [self.random.choice(list(self.ledger.tastes))]:
            assert len(forget_source(self.store, source_id, self.ledger.user_id).erased) == 1
            del self.ledger.tastes[source_id]
            self.ledger.talks.remove(source_id)
            self.ledger.revoked.add(source_id)

    def erase(self) -> None:
        user_id = f"{self.ledger.user_id}-guest"
        Teller(self.store, user_id)("s1", "I'm vegan.", "Call me Ada.")
        assert forget_user(self.store, user_id) == 2
        assert self.store.owned(user_id) == []


def _work(path: Path, number: int, connection: Connection) -> None:
    worker = Worker(path, number)
    worker.work()
    connection.send(worker.ledger)


def test_eight_processes_of_five_hundred_operations_lose_none_and_none_fails(tmp_path: Path) -> None:
    """Each keeps its own ledger; the file does not exist when they start."""
    path = tmp_path / "memories.db"
    workers = [start(_work, path, number) for number in range(PROCESSES)]
    ledgers: list[Ledger] = [connection.recv() for _, connection in workers]
    assert [finish(child) for child, _ in workers] == [0] * PROCESSES
    assert_sound(path)
    with MemoryStore(path) as store:
        for ledger in ledgers:
            records = store.scan(ledger.user_id, scopes=("user",))
            assert sorted(record.content for record in records) == ledger.active()
            assert {talk.source.source_id for talk in store.conversations(ledger.user_id)} == ledger.talks
            assert store.revoked(ledger.user_id) == ledger.revoked
            assert len(ledger.shared) + len(ledger.talks) > OPERATIONS // 10
        shared = {record.memory_id for record in store.scan(EVERYBODY)}
        assert shared == set().union(*(ledger.shared for ledger in ledgers))
        assert_whole(store, [EVERYBODY, *(ledger.user_id for ledger in ledgers)])


# Readers beside a writer


def keep_changing_diet(store: MemoryStore, times: int) -> None:
    """Supersede one fact again and again; each time with its conversation, in one transaction."""
    for number in range(1, times):
        Teller(store)(f"s{number}", list(DIETS)[number % 3])


def _assert_one_diet(store: MemoryStore) -> None:
    [record] = store.scan("u_ada")
    assert record.content in DIETS.values()
    [hit] = retrieve(store, "diet", user_id="u_ada")
    assert hit.record.active()
    [found] = store.search("diet", "u_ada").records([0])
    assert found.content in DIETS.values()
    assert_whole(store, ["u_ada"])
    with store.snapshot():
        assert len(store.owned("u_ada")) == len(store.conversations("u_ada"))


def _watch(path: Path, connection: Connection) -> None:
    with MemoryStore(path) as store:
        looks = 0
        while not connection.poll():
            _assert_one_diet(store)
            looks += 1
        connection.send(looks)


def test_a_superseding_is_seen_wholly_or_not_at_all_by_other_processes_and_threads(tmp_path: Path) -> None:
    path, done = tmp_path / "memories.db", Event()
    with MemoryStore(path) as store:
        keep_changing_diet(store, 2)

        def watch() -> int:
            looks = 0
            while not done.is_set() or not looks:
                _assert_one_diet(store)
                looks += 1
            return looks

        watcher, connection = start(_watch, path)
        with ThreadPoolExecutor(2) as pool:
            thread = pool.submit(watch)
            pool.submit(keep_changing_diet, store, CHANGES).result()
            done.set()
            looks_of_thread = thread.result()
        assert len(store.conversations("u_ada")) == CHANGES - 1
    connection.send("stop")
    assert min(looks_of_thread, connection.recv()) > 3
    assert finish(watcher) == 0
