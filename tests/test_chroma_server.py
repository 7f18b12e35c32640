"""A real Chroma server on loopback: two processes write at once, it is restarted, and nothing is lost."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, suppress
from multiprocessing.connection import Connection
from pathlib import Path

import httpx
import pytest
from chromadb.errors import InternalError
from contract import ADAS, FISH, VEGETARIAN, contents, fact
from pipeline import ADA, Teller, frozen

from memlab.store import StoreError
from solutions import chroma_store
from solutions.chroma_store import BytesRemain, ChromaMemoryStore
from solutions.given import chroma
from solutions.given.chroma import folder_client, folder_holding, local_server, purge, server_client
from solutions.policy_store import PolicyStore

WRITES = 40

pytestmark = pytest.mark.xdist_group("chroma-server")


def _write(port: int, name: str, told: Connection) -> None:
    """Put memories under one user shared by all, and one's own; wait for a server that is away."""
    client = server_client(port)
    store, bakery = ChromaMemoryStore(client), PolicyStore(client, "crumb")
    for number in range(WRITES):
        told.send(number)
        record = fact(f"{name} {number}", memory_id=f"mem_{name}_{number}")
        while True:
            try:
                with store.transaction():
                    store.put(record)
                    store.put(fact(f"{name} {number} beside", name, memory_id=f"mem_{name}_{number}_b"))
                bakery.remember(name, f"Lives in street {number}.", "fact", 4, slot="address")
                break
            except httpx.TransportError:
                time.sleep(0.05)
    told.send("done")


def test_two_processes_write_at_once_across_a_restart_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = multiprocessing.get_context("spawn")
    names = ("one", "two")
    with local_server(tmp_path) as port:
        pipes = [context.Pipe(duplex=False) for _ in names]
        children = [
            context.Process(target=_write, args=(port, name, there))
            for name, (_, there) in zip(names, pipes, strict=True)
        ]
        for child in children:
            child.start()
        for here, _ in pipes:  # both are at work
            assert here.poll(60)
            while here.recv() < WRITES // 4:
                assert here.poll(60)
    assert all(child.is_alive() for child in children)
    with local_server(tmp_path, port) as again:
        assert again == port
        for child in children:
            child.join(120)
        assert [child.exitcode for child in children] == [0, 0]
        monkeypatch.setattr(chroma_store, "GRACE", 0.0)
        client = server_client(port)
        store, bakery = ChromaMemoryStore(client), PolicyStore(client, "crumb")
        assert sorted(contents(store.owned(ADA))) == sorted(
            f"{name} {number}" for name in names for number in range(WRITES)
        )
        for name in names:
            assert contents(store.owned(name)) == [f"{name} {number} beside" for number in range(WRITES)]
            last = [memory.text for memory in bakery.what_do_you_remember(name)]
            assert last == [f"Lives in street {WRITES - 1}."]


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    with local_server(tmp_path) as port:
        yield port


def test_two_clients_see_each_others_writes_at_once(port: int) -> None:
    with frozen():
        one, other = ChromaMemoryStore(server_client(port)), ChromaMemoryStore(server_client(port))
        Teller(one)("s1", "I'm a vegetarian.")
        assert contents(other.scan(ADA)) == [VEGETARIAN]
        Teller(other)("s2", "I've started eating fish again.", kind="user_explicit")
        assert contents(one.scan(ADA)) == [FISH]
        with pytest.raises(ValueError, match="belongs to another owner"):
            other.put(fact(memory_id=one.scan(ADA)[0].memory_id, user_id="u_bo"))


def test_erasing_on_a_server_says_what_remains_and_the_operator_can_remove_it(tmp_path: Path) -> None:
    with local_server(tmp_path) as port:
        store = ChromaMemoryStore(server_client(port))
        store.put(fact("The PIN is qzx4321jv."))
        store.put(fact(ADAS, "u_bo"))
        with pytest.warns(BytesRemain, match=r"stop the server, then purge"):
            assert store.erase_user(ADA) == 1
        assert store.owned(ADA) == []
        with pytest.raises(StoreError, match="stop it"):
            purge(store.client)
    assert "chroma.sqlite3" in folder_holding(tmp_path, "qzx4321jv")
    with closing(folder_client(tmp_path)) as client:
        purge(client)
    assert folder_holding(tmp_path, "qzx4321jv") == []
    with local_server(tmp_path) as port, warnings.catch_warnings():
        assert contents(ChromaMemoryStore(server_client(port)).owned("u_bo")) == [ADAS]


@pytest.mark.parametrize(
    ("path", "said", "asked"),
    [
        ("/c/get", "Nothing found on disk", 3),
        ("/c/query", "Error executing plan: Nothing found on disk", 3),
        ("/c/count", "Nothing found on disk", 3),
        ("/c/upsert", "Nothing found on disk", 1),
        ("/c/get", "the disk is full", 1),
    ],
)
def test_only_a_read_that_a_writing_server_could_not_answer_is_asked_again(
    path: str, said: str, asked: int
) -> None:
    calls: list[str] = []

    def ask(method: str, path: str) -> str:
        calls.append(path)
        if len(calls) < 3:
            raise InternalError(said)
        return "found"

    with suppress(InternalError):
        assert chroma._asking_again(ask)("POST", path) == "found"
    assert len(calls) == asked


def test_a_read_that_never_succeeds_ends_in_the_servers_own_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chroma, "HICCUP", 0.1)

    def ask(method: str, path: str) -> str:
        raise InternalError("Nothing found on disk")

    with pytest.raises(InternalError, match="Nothing found on disk"):
        chroma._asking_again(ask)("POST", "/c/get")


def test_an_intent_of_a_process_that_may_be_at_work_is_left_alone_for_a_while(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ChromaMemoryStore(server_client(port))
    monkeypatch.setattr(store, "_apply", lambda changes: (_ for _ in ()).throw(KeyboardInterrupt))
    with suppress(KeyboardInterrupt), store.transaction():
        store.put(fact(FISH))
        store.put(fact(ADAS))
    assert ChromaMemoryStore(server_client(port)).owned(ADA) == []
    monkeypatch.setattr(chroma_store, "GRACE", 0.0)
    assert contents(ChromaMemoryStore(server_client(port)).owned(ADA)) == [FISH, ADAS]


def test_a_folder_that_cannot_be_served_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    with pytest.raises(StoreError, match="did not answer"), local_server(file):
        pytest.fail("it answered")
