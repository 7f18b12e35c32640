"""What Chroma does in silence, and what our stores do instead; crashes, and the proof that erased is gone."""

from __future__ import annotations

import json
import multiprocessing
import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromadb.api import ClientAPI
from contract import ADAS, AISLE, FISH, VEGETARIAN, contents, fact
from hypothesis import given, settings
from hypothesis import strategies as st
from pipeline import ADA, Teller, frozen, said

from memlab.embedding import hash_embed
from memlab.records import MemoryRecord, Source
from memlab.store import MemoryStore, StoreError
from solutions import chroma_store
from solutions.chroma_store import ChromaMemoryStore, meets, visible_where
from solutions.chroma_tools import similarity, to_metadata, topic_sweep, where_all, where_any
from solutions.forgetting import forget_source, regenerate
from solutions.given.chroma import (
    NO_EMBEDDER,
    find_collection,
    folder_client,
    folder_holding,
    from_metadata,
    memory_client,
    open_collection,
    purge,
    rewrite,
)

HASH = ("hash_embed", 256)
QUERY = "any dietary restrictions I should know about?"


@pytest.fixture(autouse=True)
def _frozen_clock() -> Iterator[None]:
    with frozen():
        yield


@pytest.fixture
def client() -> ClientAPI:
    return memory_client()


def short_embed(text: str) -> list[float]:
    """Another embedder."""
    return hash_embed(text, 64)


# Part 9, as published


def test_the_published_distances_and_the_published_sweep(client: ClientAPI) -> None:
    memories = client.create_collection("memories", embedding_function=None)  # Chroma's default space
    rows: list[tuple[str, str, dict[str, Any]]] = [
        ("mem_1", VEGETARIAN, {"topic": "diet", "active": False, "superseded_by": "mem_4"}),
        ("mem_2", AISLE, {"topic": "travel", "active": True}),
        ("mem_3", ADAS, {"topic": "identity", "active": True}),
        ("mem_4", FISH, {"topic": "diet", "active": True}),
    ]
    for memory_id, text, about in rows:
        memories.upsert([memory_id], [hash_embed(text)], [about | {"user_id": ADA}], [text])
    where = where_all({"user_id": ADA}, {"active": True})
    hits = memories.query([hash_embed(QUERY)], n_results=3, where=where)
    assert hits["documents"] == [[FISH, AISLE, ADAS]]
    assert hits["distances"] is not None
    assert [f"{distance:.3f}" for distance in hits["distances"][0]] == ["1.655", "1.789", "2.000"]
    sweep = [(text, about["active"]) for text, about in topic_sweep(memories, ADA, "diet")]
    assert sweep == [(VEGETARIAN, False), (FISH, True)]
    assert topic_sweep(memories, "u_bo", "diet") == topic_sweep(memories, ADA, "die") == []


# Filters, metadata, distances


def test_a_filter_fits_its_number_of_conditions(client: ClientAPI) -> None:
    """chroma-core/chroma #825, #1586; mem0ai/mem0 #2479."""
    rows = open_collection(client, "rows", NO_EMBEDDER)
    rows.add(["a", "b"], [[1.0], [1.0]], [{"user_id": ADA, "on": True}, {"user_id": "u_bo", "on": True}])
    assert rows.get(where=where_all())["ids"] == ["a", "b"]
    assert rows.get(where=where_all({"user_id": ADA}))["ids"] == ["a"]
    assert rows.get(where=where_all({"user_id": ADA}, {"on": True}))["ids"] == ["a"]
    assert rows.get(where=where_any({"user_id": ADA}, {"user_id": "u_bo"}))["ids"] == ["a", "b"]
    for refused in ({}, {"$and": [{"on": True}]}):
        with pytest.raises(ValueError, match="Expected where"):
            rows.get(where=refused)  # type: ignore[arg-type]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["slot", "sources", "superseded_by"]), json_values, max_size=3))
@settings(deadline=None)
def test_metadata_come_back_as_they_were_with_none_as_a_missing_key(fields: dict[str, Any]) -> None:
    """run-llama/llama_index #9695; chroma-core/chroma #1552, #3644."""
    rows = open_collection(memory_client(), "rows", NO_EMBEDDER)
    rows.add(["a"], [[1.0]], [to_metadata(fields) | {"kept": 1}])
    kept: Any = rows.get(["a"])["metadatas"]
    expected = {name: value for name, value in fields.items() if value is not None}
    assert from_metadata(kept[0]) == expected | {"kept": 1}


def test_a_field_is_emptied_only_by_an_update_that_says_none(client: ClientAPI) -> None:
    rows = open_collection(client, "rows", NO_EMBEDDER)
    rows.add(["a"], [[1.0]], [to_metadata({"superseded_by": "b", "kept": 1})])
    rows.update(["a"], metadatas=[to_metadata({"superseded_by": None, "kept": 2})])
    assert rows.get(["a"])["metadatas"] == [{"superseded_by": "b", "kept": 2}]  # merged, not replaced
    rows.update(["a"], metadatas=[to_metadata({"superseded_by": None}, update=True)])
    assert rows.get(["a"])["metadatas"] == [{"kept": 2}]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object(), [object()], [float("nan")]])
def test_what_is_no_json_is_refused_by_the_name_of_its_field(value: object) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^sources="):
        to_metadata({"sources": value})


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=3).filter(lambda v: np.linalg.norm(v) > 0.1))
@settings(max_examples=20, deadline=None)
def test_in_every_space_the_distance_becomes_the_cosine(vector: list[float]) -> None:
    client, unit = memory_client(), np.array(vector) / np.linalg.norm(vector)
    for space in ("cosine", "ip", "l2"):
        rows = open_collection(client, f"in-{space}", ("test", 3), space)
        rows.add(["a"], [unit.tolist()])
        distances = rows.query([[1.0, 0.0, 0.0]], n_results=1)["distances"]
        assert distances is not None
        assert similarity(distances[0][0], space) == pytest.approx(unit[0], abs=1e-5)
    with pytest.raises(ValueError, match=r"^space='euclid'"):
        similarity(0.5, "euclid")


# Opening


def test_another_embedder_is_refused_with_both_sizes_and_memories_move_from_sqlite_whole(
    client: ClientAPI,
) -> None:
    """odysseus-dev/odysseus #2889; open-webui/open-webui PR 28344."""
    sqlite = MemoryStore()
    Teller(sqlite)("s1", "I'm a vegetarian. Call me Ada.")
    ChromaMemoryStore(client, short_embed)
    with pytest.raises(StoreError, match=r"\(64 numbers\), not with .*\(256\)"):
        ChromaMemoryStore(client)
    moved = ChromaMemoryStore(client, collection="memories-256")
    for record in sqlite.owned(ADA):
        moved.put(record)
    assert moved.owned(ADA) == sqlite.owned(ADA)


def test_a_collection_that_we_did_not_make_or_that_measures_otherwise_is_refused(client: ClientAPI) -> None:
    """54yyyu/zotero-mcp PR 42; microsoft/autogen PR 2854."""
    client.create_collection("theirs", embedding_function=None)
    with pytest.raises(StoreError, match=r"built with the embedder None"):
        open_collection(client, "theirs", HASH)
    open_collection(client, "ours", HASH, "l2")
    with pytest.raises(StoreError, match="measures l2, not cosine"):
        open_collection(client, "ours", HASH)
    for name in ("ab", "a b c", "-abc", None, "x" * 513):
        with pytest.raises(ValueError, match=r"^name="):
            open_collection(client, name, HASH)  # type: ignore[arg-type]


def test_nothing_is_embedded_behind_our_backs(client: ClientAPI) -> None:
    """chroma-core/chroma #2910: without vectors Chroma would download a model."""
    for prepare in (lambda: None, lambda: rewrite(client, "rows")):
        open_collection(client, "rows", HASH).upsert(["m"], [hash_embed("x")])
        prepare()
        rows = open_collection(client, "rows", HASH)
        for call in (
            lambda rows=rows: rows.add(["a"], documents=["x"]),
            lambda rows=rows: rows.query(query_texts=["x"]),
        ):
            with pytest.raises(ValueError, match="must provide an embedding function"):
                call()


def test_clients_in_memory_share_nothing_whatever_was_opened_before(tmp_path: Path) -> None:
    folder_client(tmp_path).close()
    one, other = ChromaMemoryStore(memory_client()), ChromaMemoryStore(memory_client())
    one.put(fact())
    assert other.owned(ADA) == []


def test_reembedding_changes_every_vector_and_the_collection_remembers_it(client: ClientAPI) -> None:
    store = ChromaMemoryStore(client)
    for text in (VEGETARIAN, FISH, ADAS):
        store.put(fact(text))
    before = store.owned(ADA)
    store.reembed(short_embed)
    assert store.owned(ADA) == before
    assert [len(record.embedding) for record in store.owned(ADA)] == [64, 64, 64]
    ChromaMemoryStore(client, short_embed)
    with pytest.raises(StoreError, match="64 numbers"):
        ChromaMemoryStore(client)


def test_a_failing_embedder_leaves_the_store_with_the_one_it_had(client: ClientAPI) -> None:
    store = ChromaMemoryStore(client)
    store.put(fact())
    vectors = iter([[1.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="gave 2 numbers"):
        store.reembed(lambda text: next(vectors))
    assert contents(store.scan(ADA)) == [ADAS]
    assert store.search("Ada", ADA).relevance[0] > 0.5
    store.put(fact(FISH))


@pytest.mark.parametrize("moment", ["delete_collection", "modify"])
def test_a_rewriting_that_was_cut_short_loses_nothing(
    client: ClientAPI, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    store = ChromaMemoryStore(client)
    store.put(fact())

    def cut(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    owner = client if moment == "delete_collection" else chroma_store.Collection
    with monkeypatch.context() as patch:
        patch.setattr(owner, moment, cut)
        with pytest.raises(KeyboardInterrupt):
            rewrite(client, "memories")
    assert contents(ChromaMemoryStore(client).scan(ADA)) == [ADAS]
    rewrite(client, "memories")
    assert contents(store.scan(ADA)) == [ADAS]
    assert find_collection(client, "memories.copy") is None


def test_a_purge_completes_or_drops_what_rewritings_cut_short_have_left(tmp_path: Path) -> None:
    with closing(folder_client(tmp_path)) as client:
        store = ChromaMemoryStore(client)
        store.put(fact())
        store.put(fact("Likes rum.", "u_bo"))
        client.create_collection("memories.copy")  # killed before the rows were in it
        client.get_collection("memories-ledger").modify(name="memories-ledger.copy")  # before the last step
        assert store.erase_user("u_bo") == 1
        assert contents(store.scan(ADA)) == [ADAS]
        assert {made.name for made in client.list_collections()} == {"memories", "memories-ledger"}


def test_more_rows_than_one_call_takes_are_written_and_rewritten(
    client: ClientAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "get_max_batch_size", lambda: 7)
    store = ChromaMemoryStore(client)
    with store.transaction():
        for number in range(40):
            store.put(fact(f"Fact {number}"))
    rewrite(client, "memories")
    assert contents(store.owned(ADA)) == [f"Fact {number}" for number in range(40)]
    assert store.erase_user(ADA) == 40


# One predicate


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.sampled_from(["user", "app", "s1", "s2"])),
        max_size=6,
    ),
    st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.sampled_from([None, "s1", "s2"])),
    st.lists(st.sampled_from(["user", "session", "app"]), min_size=1, unique=True),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_chroma_shows_what_sqlite_shows_inside_a_transaction_and_after_it(
    rows: list[tuple[str, str, str]], reader: tuple[str, str, str | None], scopes: list[str], open: bool
) -> None:
    user_id, app_name, session_id = reader
    stores = MemoryStore(), ChromaMemoryStore(memory_client())
    for store in stores:
        seen: list[list[str]] = []
        with store.transaction():
            for number, (owner, app, kind) in enumerate(rows):
                session = kind if kind in ("s1", "s2") else None
                scope: Any = "session" if session else kind
                sources = [Source("bootstrapped", "crm")] if kind == "app" else []
                store.put(
                    MemoryRecord(
                        str(number), owner, app, scope, session, sources=sources, memory_id=f"m{number}"
                    )
                )
            seen.append(contents(store.scan(user_id, app_name, scopes, session_id)))
        seen.append(contents(store.scan(user_id, app_name, scopes, session_id)))
        expected = [
            str(number)
            for number, (owner, app, kind) in enumerate(rows)
            if app == app_name
            and (
                (kind == "app" and "app" in scopes)
                or (kind == "user" and owner == user_id and "user" in scopes)
                or (kind == session_id and owner == user_id and "session" in scopes)
            )
        ]
        assert seen == [expected, expected]


def test_a_filter_is_never_empty() -> None:
    for scopes in ((), "user", ("users",)):
        with pytest.raises((TypeError, ValueError), match=r"^scopes="):
            visible_where(ADA, "default", scopes, None)
    assert meets({"at": 1.0}, None)
    assert not meets({}, {"at": {"$gt": 0}})


# Crashes


def keep_learning(tell: Teller, number: int) -> None:
    tell(f"s{number}", ("I've started eating fish again.", "I'm a vegetarian.")[number % 2])


def keep_revoking(tell: Teller, number: int) -> None:
    tell(f"s{number}", "I'm a vegetarian. Call me Ada.")
    forget_source(tell.store, f"s{number}", ADA)


def _child(path: Path, work: Callable[[Teller, int], None], ready: Connection) -> None:
    store = ChromaMemoryStore(folder_client(path))
    ready.send(True)
    for number in range(1, 100_000):
        work(Teller(store), number)


@pytest.fixture
def killed_while(tmp_path: Path) -> Iterator[Callable[[Callable[[Teller, int], None], float], MemoryStore]]:
    clients = []

    def run(work: Callable[[Teller, int], None], seconds: float) -> MemoryStore:
        with closing(folder_client(tmp_path)) as before:
            Teller(ChromaMemoryStore(before))("s0", "I'm a vegetarian.")
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=_child, args=(tmp_path, work, there))
        child.start()
        assert here.poll(60)
        time.sleep(seconds)
        child.kill()
        child.join(30)
        clients.append(folder_client(tmp_path))
        return ChromaMemoryStore(clients[-1])

    yield run
    for client in clients:
        client.close()


@pytest.mark.parametrize("seed", range(3))
def test_killed_while_learning_one_fact_is_active_and_every_conversation_has_its_effect(
    killed_while: Callable[..., MemoryStore], seed: int
) -> None:
    store = killed_while(keep_learning, random.Random(seed).uniform(0.0, 0.4))
    assert len(store.scan(ADA)) == 1
    owned = {record.memory_id: record for record in store.owned(ADA)}
    assert all(r.active() or r.superseded_by in owned for r in owned.values())
    talks = [talk.source.source_id for talk in store.conversations(ADA)]
    assert [source.source_id for r in owned.values() for source in r.own_sources()] == talks
    Teller(store)("later", "I've started eating fish again.", kind="user_explicit")
    assert contents(store.scan(ADA)) == [FISH]


@pytest.mark.parametrize("seed", range(2))
def test_killed_while_revoking_a_source_is_gone_altogether_or_there_altogether(
    killed_while: Callable[..., MemoryStore], seed: int
) -> None:
    store = killed_while(keep_revoking, random.Random(seed).uniform(0.1, 0.8))
    talks = {talk.source.source_id for talk in store.conversations(ADA)}
    assert not store.revoked(ADA) & talks
    diet = Teller(store).record(VEGETARIAN)
    assert diet.active()
    assert {source.source_id for source in diet.sources} == talks


class Power(BaseException):
    """It is gone."""


@pytest.mark.parametrize("cut_at", range(1, 6))
def test_cut_at_every_single_call_to_chroma_the_old_fact_or_the_new_one_is_there(
    client: ClientAPI, monkeypatch: pytest.MonkeyPatch, cut_at: int
) -> None:
    """One supersession and one deletion are five calls: intent, memories, ledger, deletion, intent."""
    store = ChromaMemoryStore(client)
    store.put(fact(VEGETARIAN, memory_id="old"))
    store.put(fact(ADAS, memory_id="gone"))
    calls = 0

    def counting(really: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == cut_at:
                raise Power
            return really(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for name in ("upsert", "delete"):
            patch.setattr(chroma_store.Collection, name, counting(getattr(chroma_store.Collection, name)))
        with suppress(Power), store.transaction():
            store.put(replace(store.owned(ADA)[0], invalidated_at=1.0, superseded_by="new"))
            store.put(fact(FISH, memory_id="new"))
            store.put_conversation(said("Fish!"), Source("user_explicit", "s3"), user_id=ADA)
            store.remove("gone", ADA)
        assert calls == cut_at
    again = ChromaMemoryStore(client)
    if cut_at == 1:
        assert contents(again.scan(ADA)) == [VEGETARIAN, ADAS]
        assert again.conversations(ADA) == []
    else:
        assert contents(again.scan(ADA)) == [FISH]
        assert len(again.conversations(ADA)) == 1
    assert client.get_collection("memories-ledger").get(where={"kind": "intent"})["ids"] == []


def test_an_intent_that_is_completed_late_undoes_nothing_that_was_written_since(client: ClientAPI) -> None:
    store = ChromaMemoryStore(client)
    with store.transaction():
        store.put(fact("First.", memory_id="a"))
        store.put(fact("Second.", memory_id="b"))
    ledger = client.get_collection("memories-ledger", embedding_function=None)
    changes = [
        ["memories", row.id, vars(row) | {"document": "Late."}] for row in store._rows("memories", None)
    ]
    ledger.add(["intent-x"], [[1.0]], [{"kind": "intent", "seq": 5}], [json.dumps(changes)])
    again = ChromaMemoryStore(client)
    assert client.get_collection("memories").get()["documents"] == ["First.", "Second."]
    assert contents(again.scan(ADA)) == ["First.", "Second."]
    assert ledger.get()["ids"] == []


# Erased is gone

SECRET = "The PIN is qzx4321jv."


@pytest.mark.parametrize("others", [3, 1200])
def test_erasing_a_user_leaves_no_byte_of_theirs_and_all_of_everybody_elses(
    tmp_path: Path, others: int
) -> None:
    """mem0ai/mem0 #6512. With many rows Chroma writes index files, which keep deleted vectors and ids."""
    with closing(folder_client(tmp_path)) as client:
        store = ChromaMemoryStore(client)
        secret = Source("user_explicit", "s5", excerpt=SECRET)
        record = fact(SECRET, topic="secret", sources=[secret], memory_id="mem_erase_me")
        store.put_conversation(said(SECRET), secret, user_id=ADA)
        store.put(record)
        with store.transaction():
            for number in range(others):
                store.put(fact(f"Bo has {number} bicycles.", "u_bo"))
        traces = [SECRET, "qzx", "x4321j", ADA, "mem_erase_me"]
        traces.append(np.array(record.embedding, np.float32).tobytes())
        assert all(folder_holding(tmp_path, trace) for trace in traces)
        assert store.erase_user(ADA) == 1
        assert {trace: folder_holding(tmp_path, trace) for trace in traces} == {trace: [] for trace in traces}
        assert len(store.owned("u_bo")) == others
        assert contents(store.owned("u_bo"))[:2] == ["Bo has 0 bicycles.", "Bo has 1 bicycles."]
        store.put(fact("Back again."))
    with closing(folder_client(tmp_path)) as client:
        assert contents(ChromaMemoryStore(client).owned(ADA)) == ["Back again."]


def test_a_revoked_source_leaves_no_byte_either(tmp_path: Path) -> None:
    with closing(folder_client(tmp_path)) as client:
        tell = Teller(ChromaMemoryStore(client))
        tell("s1", "Please call me Xanthippe.")
        tell("s2", "I'm a vegetarian.")
        assert folder_holding(tmp_path, "Xanthippe")
        forget_source(tell.store, "s1", ADA)
        regenerate(tell.store, ADA)
        assert folder_holding(tmp_path, "Xanthippe") == []
        assert tell.active() == [VEGETARIAN]


def test_a_proof_that_looks_nowhere_or_for_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\x00Zo\xc3\xab\x00")
    assert folder_holding(tmp_path, "Zoë") == ["file"]
    for path, needle in ((tmp_path, ""), (tmp_path, b""), (tmp_path / "nowhere", "x")):
        with pytest.raises(ValueError, match=r"^needle="):
            folder_holding(path, needle)


def test_what_has_no_folder_cannot_be_purged(client: ClientAPI) -> None:
    with pytest.raises(StoreError, match="only a folder"):
        purge(client)
    ChromaMemoryStore(client).purge()  # in memory there are no bytes to be left
