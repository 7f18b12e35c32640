"""The store: what is kept, what is refused, what a search sees, and that erasing erases."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from strategies import HOSTILE_TEXTS, any_text, records, refusal, undone

from memlab import clock
from memlab.embedding import cosine, hash_embed
from memlab.engine import blocks
from memlab.records import MemoryRecord, Source
from memlab.store import MemoryStore, StoreError

MADE = Source("bootstrapped", "crm")


@pytest.fixture(autouse=True)
def _frozen_clock() -> Iterator[None]:
    clock.freeze("2026-08-06T20:11:27Z")
    yield
    clock.unfreeze()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.db"


def fact(content: str = "The user goes by Ada.", user_id: str = "u_ada", **values: Any) -> MemoryRecord:
    return MemoryRecord(content, user_id, **values)


def contents(records: Sequence[MemoryRecord]) -> list[str]:
    return [record.content for record in records]


def found(store: MemoryStore, user_id: str = "u_ada", **where: Any) -> list[str]:
    matches = store.search("the user", user_id, **where)
    return contents(matches.records(range(len(matches))))


def every_byte(path: Path) -> bytes:
    return b"".join(
        Path(f"{path}{end}").read_bytes() for end in ("", "-wal", "-shm") if Path(f"{path}{end}").exists()
    )


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def short_embed(text: str) -> list[float]:
    """Another embedder."""
    return hash_embed(text, 64)


# Keeping


@given(records())
def test_what_is_put_comes_back_whole(record: MemoryRecord) -> None:
    store = MemoryStore()
    if record.scope == "app":
        record.sources = [MADE]
    store.put(record)
    again = store.get(record.memory_id, record.user_id, record.app_name, session_id=record.session_id)
    assert again == record
    assert again is not record
    assert again.embedding == pytest.approx(hash_embed(record.content), abs=1e-6)


def test_a_file_keeps_what_was_put_when_it_is_opened_again(path: Path) -> None:
    record = fact(extra={"mood": [1]}, sources=[Source("user_explicit", "s1", extra={"channel": "phone"})])
    with MemoryStore(path) as store:
        store.put(record)
        store.put_conversation([{"role": "user", "content": "I'm Ada"}], record.sources[0], user_id="u_ada")
        store.revoke("s0", "u_ada")
    with MemoryStore(str(path)) as store:
        assert store.scan("u_ada") == [record]
        assert store.conversations("u_ada")[0].messages == [{"role": "user", "content": "I'm Ada"}]
        assert store.revoked("u_ada") == {"s0"}


def test_a_returned_record_is_a_copy(path: Path) -> None:
    store = MemoryStore(path)
    store.put(fact(memory_id="m"))
    taken = store.get("m", "u_ada")
    assert taken is not None
    taken.content = "changed"
    taken.sources.append(MADE)
    assert contents(store.scan("u_ada")) == ["The user goes by Ada."]
    assert store.scan("u_ada")[0].sources == []


def test_changed_content_leaves_one_line_of_history() -> None:
    """moorcheh-ai/memanto PR 1495: putting the same key again updates, and says what it was."""
    store = MemoryStore()
    store.put(fact("email", memory_id="42"))
    store.put(fact("Telegram", memory_id="42"))
    store.put(fact("Telegram", memory_id="42"))
    [record] = store.owned("u_ada")
    assert record.content == "Telegram"
    assert record.history == ["2026-08-06 20:11:27 content was 'email'"]
    assert record.embedding == pytest.approx(hash_embed("Telegram"), abs=1e-6)


@pytest.mark.parametrize("content", ["x" * 10_000, "\n" * 9_999 + "x", "\U000e0100" * 9_999 + "x"])
def test_the_longest_content_can_be_replaced_and_is_still_readable(content: str) -> None:
    store = MemoryStore()
    store.put(fact(content, memory_id="m"))
    store.put(fact("short", memory_id="m"))
    assert contents(store.scan("u_ada")) == ["short"]
    store.put(store.scan("u_ada")[0])


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.lists(st.sampled_from(["x", "y", "z"]), max_size=3)), max_size=8
    )
)
def test_history_only_grows_whatever_is_put(puts: list[tuple[str, list[str]]]) -> None:
    store = MemoryStore()
    before: list[str] = []
    for content, history in puts:
        store.put(fact(content, memory_id="m", history=list(history)))
        [record] = store.owned("u_ada")
        assert record.history[: len(before)] == before
        before = record.history


def test_two_who_changed_the_same_record_both_leave_their_line() -> None:
    store = MemoryStore()
    store.put(fact(memory_id="m", history=["made"]))
    mine, yours = store.owned("u_ada")[0], store.owned("u_ada")[0]
    mine.history.append("mine")
    yours.history.append("yours")
    store.put(mine)
    store.put(yours)
    assert store.owned("u_ada")[0].history == ["made", "mine", "yours"]


def test_memories_come_oldest_first_and_by_topic() -> None:
    store = MemoryStore()
    for number in range(5):
        store.put(fact(f"Fact {number}", topic="odd" if number % 2 else "even"))
    assert contents(store.scan("u_ada")) == found(store) == [f"Fact {number}" for number in range(5)]
    assert contents(store.scan("u_ada", topic="odd")) == ["Fact 1", "Fact 3"]
    assert store.scan("u_ada", topic="o%") == []
    with pytest.raises(ValueError, match=r"^topic="):
        store.scan("u_ada", topic=" ")


def test_what_held_at_another_time_is_found_by_asking_for_that_time() -> None:
    """moorcheh-ai/memanto PR 1617: made in January, expired in July, asked in December about March."""
    store = MemoryStore()
    with clock.freeze("2026-01-10T00:00:00Z"):
        store.put(fact("A visa.", expires_at="2026-07-01T00:00:00Z"))
        store.put(fact("A flat.", memory_id="flat"))
    with clock.freeze("2026-04-01T00:00:00Z"):
        store.put(replace(store.scan("u_ada")[1], invalidated_at=clock.now()))
        store.put(fact("A house."))
    clock.freeze("2026-12-10T00:00:00Z")
    assert contents(store.scan("u_ada")) == found(store) == ["A house."]
    for at, held in {
        "2026-03-01": ["A visa.", "A flat."],
        "2026-05-01": ["A visa.", "A house."],
        "2025-12-31": [],
    }.items():
        assert contents(store.scan("u_ada", as_of=f"{at}T00:00:00Z")) == held
        assert found(store, as_of=f"{at}T00:00:00Z") == held
    assert store.search("visa", "u_ada", as_of="2026-03-01T00:00:00Z").age_days[0] == 50
    with pytest.raises(ValueError, match=r"^as_of=.*no time zone"):
        store.search("visa", "u_ada", as_of="2026-03-01")


def test_a_clock_set_back_raises_no_tombstone_and_makes_no_negative_age() -> None:
    store = MemoryStore()
    store.put(fact("old", memory_id="m", invalidated_at=clock.now()))
    store.put(fact("new"))
    clock.travel(days=-400)
    assert contents(store.scan("u_ada")) == found(store) == ["new"]
    assert store.search("new", "u_ada").age_days.tolist() == [0.0]
    store.put(fact("newer"))
    assert found(store) == ["new", "newer"]


def test_a_search_scores_as_the_plain_cosine_of_every_visible_memory() -> None:
    store = MemoryStore()
    for number in range(300):
        store.put(
            fact(f"Fact {number} about topic {number % 7} and {number % 3} fish", half_life_days=1 + number)
        )
    matches = store.search("topic 3 fish", "u_ada")
    plain = [cosine(hash_embed("topic 3 fish"), hash_embed(record.content)) for record in store.scan("u_ada")]
    assert matches.relevance.tolist() == pytest.approx(plain, abs=1e-6)
    assert matches.half_life_days.tolist() == [1 + number for number in range(300)]
    assert store.search("?!", "u_ada").relevance.tolist() == [0.0] * 300


def test_all_of_a_large_block_can_be_turned_into_records() -> None:
    store = MemoryStore(embedder=lambda text: [1.0, float(len(text))])
    with store.transaction():
        for number in range(10_050):
            store.put(fact(f"Fact {number}"))
    matches = store.search("fact", "u_ada")
    assert contents(matches.records(range(len(matches) - 1, -1, -1)))[::5025] == ["Fact 10049", "Fact 5024"]
    assert matches.records([]) == []


def test_a_match_that_was_removed_meanwhile_comes_back_as_nothing() -> None:
    store = MemoryStore()
    store.put(fact("one", memory_id="1"))
    store.put(fact("two", memory_id="2"))
    matches = store.search("one", "u_ada")
    assert store.remove("1", "u_ada") is True
    assert store.remove("1", "u_ada") is False
    assert [record and record.content for record in matches.records([1, 0])] == ["two", None]


# Refusing


def test_an_error_inside_a_transaction_reaches_its_caller() -> None:
    with pytest.raises(KeyError), MemoryStore().transaction():
        raise KeyError


def test_nothing_of_a_transaction_stays_when_it_fails() -> None:
    store = MemoryStore()
    store.put(fact("kept"))
    assert found(store) == ["kept"]
    with undone(store):
        store.put(fact("lost"))
        assert found(store) == ["kept", "lost"]
    assert contents(store.owned("u_ada")) == found(store) == ["kept"]


def test_a_transaction_inside_another_is_undone_alone() -> None:
    store = MemoryStore()
    with store.transaction():
        store.put(fact("outer"))
        with undone(store):
            store.put(fact("inner"))
            assert found(store) == ["outer", "inner"]
        store.put(fact("after"))
    assert contents(store.scan("u_ada")) == found(store) == ["outer", "after"]


@pytest.mark.parametrize(
    "other", [{"user_id": "u_bo"}, {"app_name": "other"}, {"scope": "session", "session_id": "s"}]
)
def test_the_id_of_another_owner_is_refused(other: dict[str, Any]) -> None:
    """mem0ai/mem0 #6277: naming another owner on somebody's memory does not take it over."""
    store = MemoryStore()
    store.put(fact(memory_id="m"))
    with pytest.raises(
        ValueError, match=r"memory_id='m' belongs to another owner, scope or session; make a new"
    ):
        store.put(replace(fact("Stolen.", memory_id="m"), **other))
    assert store.owned("u_ada") == [fact(memory_id="m")]
    assert store.owned("u_bo") == store.owned("u_ada", "other") == []


@pytest.mark.parametrize("kind", ["user_explicit", "user_implicit", "tool_output", None])
def test_what_all_users_read_rests_on_bootstrapped_sources_only(kind: Any) -> None:
    store = MemoryStore()
    store.put(fact("Open from nine.", memory_id="m", scope="app", sources=[MADE]))
    sources = [MADE, Source(kind, "s1")] if kind else []
    with pytest.raises(ValueError, match=r"^scope='app' with sources"):
        store.put(fact("Open all night.", memory_id="m", scope="app", sources=sources))
    assert contents(store.scan("u_bo")) == ["Open from nine."]


def test_nothing_a_user_does_changes_what_the_app_shares() -> None:
    store = MemoryStore()
    shared = fact("Open from nine.", "system", memory_id="m", scope="app", sources=[MADE])
    store.put(shared)
    for user_id in ("u_ada", "system"):
        assert store.remove("m", user_id) is False
        assert store.owned(user_id) == []
        store.revoke("crm", user_id)
        assert store.erase_user(user_id) == 0
    with pytest.raises(ValueError, match="belongs to another owner"):
        store.put(fact("Closed.", "u_ada", memory_id="m", invalidated_at=clock.now()))
    assert store.scan("u_ada") == store.scan("u_bo") == [shared]
    assert found(store) == ["Open from nine."]


def test_a_revoked_source_is_not_taken_again() -> None:
    store = MemoryStore()
    said, source = [{"role": "user", "content": "I'm Ada"}], Source("user_explicit", "s1")
    store.put_conversation(said, source, user_id="u_ada")
    store.revoke("s1", "u_ada")
    store.revoke("s1", "u_ada")
    for write in (
        lambda: store.put_conversation(said, source, user_id="u_ada"),
        lambda: store.put(fact(sources=[MADE, source])),
    ):
        with pytest.raises(
            ValueError, match=r"source_id='s1' was revoked by its user .*; learn new statements"
        ):
            write()
    assert store.owned("u_ada") == store.conversations("u_ada") == []
    store.put(fact(user_id="u_bo", sources=[source]))


def test_a_conversation_grows_and_its_retelling_adds_nothing() -> None:
    store = MemoryStore()
    turns = [{"role": "user", "content": text} for text in ("I'm Ada", "I hike", "I cook")]
    for said in (turns[:1], turns[:2], turns[:2], [], turns[2:]):
        store.put_conversation(said, Source("user_explicit", "s1"), user_id="u_ada")
    assert [talk.messages for talk in store.conversations("u_ada")] == [turns]


@pytest.mark.parametrize("value", HOSTILE_TEXTS, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize(
    "place", ["content", "user_id", "query", "message", "topic", "memory_id", "source_id"]
)
def test_a_hostile_text_is_stored_whole_or_refused_with_nothing_written(value: Any, place: str) -> None:
    store = MemoryStore()
    store.put(fact(memory_id="before"))

    def use() -> None:
        if place == "query":
            assert len(store.search(value, "u_ada")) == 1
        elif place == "message":
            turns = [{"role": "user", "content": value}]
            store.put_conversation(turns, Source("user_explicit", "s1"), user_id="u_ada")
            assert store.conversations("u_ada")[0].messages == turns
        elif place == "source_id":
            store.revoke(value, "u_ada")
            assert store.revoked("u_ada") == {value}
        else:
            record = fact()
            setattr(record, place, value)
            store.put(record)
            assert store.get(record.memory_id, record.user_id) == record

    message = refusal(use)
    if message is not None:
        assert place.removesuffix("_id") in message
        assert store.owned("u_ada") == [fact(memory_id="before")]
        assert store.conversations("u_ada") == []
        assert store.revoked("u_ada") == set()


@given(any_text)
def test_any_text_can_be_searched_for(query: str) -> None:
    store = MemoryStore()
    store.put(fact(memory_id="m"))
    assert np.isfinite(store.search(query, "u_ada").relevance).all()


@pytest.mark.parametrize("scopes", [(), "user", None, ("all",), ("user", None), [["user"]], 7])
def test_an_unknown_scope_is_refused_on_every_path(scopes: Any) -> None:
    store = MemoryStore()
    for read in (
        lambda: store.scan("u_ada", scopes=scopes),
        lambda: store.search("q", "u_ada", scopes=scopes),
    ):
        with pytest.raises((ValueError, TypeError), match=r"^scopes="):
            read()


def test_what_is_no_record_source_or_embedder_is_refused() -> None:
    store = MemoryStore()
    with pytest.raises(TypeError, match=r"^record="):
        store.put({"content": "c"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^source="):
        store.put_conversation([], "s1", user_id="u_ada")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^embedder="):
        MemoryStore(embedder=None)  # type: ignore[arg-type]
    spoilt = Source("user_explicit", "s1")
    spoilt.source_id = " "
    with pytest.raises(ValueError, match=r"^source_id="):
        store.put_conversation([], spoilt, user_id="u_ada")


@pytest.mark.parametrize("vector", [[float("nan")] * 256, [1.0] * 3, [[1.0] * 256], [], None])
def test_a_faulty_vector_is_refused_before_anything_is_written(vector: Any) -> None:
    answers = {"memory": hash_embed("memory")}
    store = MemoryStore(embedder=lambda text: answers.get(text, vector))
    for use in (lambda: store.put(fact()), lambda: store.search("query", "u_ada")):
        with pytest.raises(ValueError, match="the embedder gave"):
            use()
    assert store.owned("u_ada") == []


# Files that are refused


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    other.close()


def newer(path: Path) -> None:
    MemoryStore(path).close()
    with sqlite3.connect(path) as store:
        store.execute("PRAGMA user_version = 99")
    store.close()


def other_embedder(path: Path) -> None:
    MemoryStore(path, short_embed).close()


def damaged(path: Path) -> None:
    with MemoryStore(path) as store:
        store.put(fact())
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * (path.stat().st_size - 16))


def truncated(path: Path) -> None:
    with MemoryStore(path) as store:
        for number in range(200):
            store.put(fact(f"Fact {number}"))
    os.truncate(path, path.stat().st_size // 2)


def notes(path: Path) -> None:
    path.write_text("Dear diary, this is no database. " * 40)


def a_word(path: Path) -> None:
    path.write_text("hello")


@pytest.mark.parametrize(
    ("make", "cure"),
    [
        (foreign, "another program's database; choose another path"),
        (newer, "newer version .format 99, this one knows 1.; update the workbook"),
        (other_embedder, r"built with the embedder short_embed .*open it with the first and call reembed"),
        (damaged, "choose another path|the file is damaged; restore a backup"),
        (truncated, "the file is damaged; restore a backup"),
        (notes, "not a memory store; choose another path"),
        (a_word, "not a memory store; choose another path"),
    ],
)
def test_a_file_that_is_no_store_of_ours_is_refused_and_not_touched(
    path: Path, make: Callable[[Path], None], cure: str
) -> None:
    make(path)
    before = digest(path)
    with pytest.raises(StoreError, match=cure) as refused:
        MemoryStore(path)
    assert str(path) in str(refused.value)
    assert digest(path) == before


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        (".", "is a folder; pass the path of a file"),
        ("missing/memories.db", "there is no folder .*missing; make it first"),
        ("x" * 300, "cannot be opened"),
        ("\ud800", "cannot be opened"),
    ],
)
def test_a_path_that_names_no_file_is_refused(tmp_path: Path, name: str, cure: str) -> None:
    with pytest.raises(StoreError, match=cure):
        MemoryStore(f"{tmp_path}/{name}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", [None, 7, "", " ", "a\0b", b"memories.db", ["x"]])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"^path="):
        MemoryStore(path)


def test_a_closed_store_says_so_and_closes_twice(path: Path) -> None:
    store = MemoryStore(path)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed; open it again"):
        store.scan("u_ada")


# What a caller may do to what goes in and comes out


@pytest.mark.parametrize("column", ["seq", "importance", "half_life_days"])
@pytest.mark.parametrize("own", [True, False])
def test_changing_an_array_of_a_search_in_place_is_refused_and_reaches_no_later_search(
    column: str, own: bool
) -> None:
    store = MemoryStore()
    for number in range(3):
        record = fact(f"Fact {number}", importance=0.25)
        store.put(record if own or number else fact("Shared", scope="app", sources=[MADE]))
    for matches in (store.search("fact", "u_ada"), store.search("fact", "u_ada").take([1, 0])):
        before = getattr(store.search("fact", "u_ada"), column).tolist()
        with pytest.raises(ValueError, match="read-only"):
            getattr(matches, column)[:] = 7
        assert getattr(store.search("fact", "u_ada"), column).tolist() == before


def test_a_refused_put_leaves_the_record_as_the_caller_made_it() -> None:
    def no_vector(text: str) -> list[float]:
        return [float("nan")] * 64 if text == "Strange" else short_embed(text)

    store = MemoryStore(embedder=no_vector)
    store.put(fact("Of another", "u_bo", memory_id="mem_1"))
    store.put(fact("One", memory_id="mem_2", history=["learned"]))
    store.revoke("s_gone", "u_ada")
    refused = [
        fact("Mine", memory_id="mem_1"),
        fact("Two", memory_id="mem_2", sources=[Source("user_explicit", "s_gone")]),
        fact("Strange", memory_id="mem_2"),
        fact("Mine", memory_id="mem_2", scope="session", session_id="s1"),
    ]
    for record in refused:
        before = record.copy()
        with pytest.raises(ValueError, match=r"belongs to another|was revoked|no vector"):
            store.put(record)
        assert vars(record) == vars(before)
    accepted = fact("Two", memory_id="mem_2")
    store.put(accepted)
    assert len(accepted.embedding) == 64
    assert accepted.history == store.scan("u_ada")[0].history


# Another embedder


def test_reembedding_changes_every_vector_and_the_file_remembers_it(path: Path) -> None:
    with MemoryStore(path) as store:
        for number in range(20):
            store.put(fact(f"Fact {number}", invalidated_at=None if number else clock.now()))
        assert len(found(store)) == 19
        before = store.owned("u_ada")
        store.reembed(short_embed)
        assert store.owned("u_ada") == before
        assert {len(record.embedding) for record in store.owned("u_ada")} == {64}
        assert len(found(store)) == 19
        store.put(fact("One more"))
    with MemoryStore(path, short_embed) as store:
        assert len(found(store)) == 20
    with pytest.raises(StoreError, match="reembed"):
        MemoryStore(path)


def test_a_failing_embedder_leaves_the_store_with_the_one_it_had(path: Path) -> None:
    def failing(text: str) -> list[float]:
        if "7" in text:
            raise KeyError(text)
        return [1.0, 2.0]

    with MemoryStore(path) as store:
        for number in range(10):
            store.put(fact(f"Fact {number}"))
        with pytest.raises(KeyError):
            store.reembed(failing)
        assert len(found(store)) == 10
        store.put(fact("One more"))
    with MemoryStore(path) as store:
        assert {len(record.embedding) for record in store.owned("u_ada")} == {256}


def test_a_store_that_was_open_while_another_reembedded_refuses_to_mix_vectors(path: Path) -> None:
    with MemoryStore(path) as mine, MemoryStore(path) as yours:
        mine.put(fact("One"))
        assert found(mine) == ["One"]
        yours.reembed(short_embed)
        for use in (lambda: mine.put(fact("Two")), lambda: mine.search("q", "u_ada")):
            with pytest.raises(StoreError, match="built with the embedder short_embed"):
                use()
        assert contents(yours.scan("u_ada")) == found(yours) == ["One"]


# Erasing


def test_erasing_a_user_leaves_no_byte_of_theirs_and_all_of_everybody_elses(path: Path) -> None:
    """mem0ai/mem0 #6627 (148 records, one call) and #6512 (grep the file)."""
    store, reader = MemoryStore(path), MemoryStore(path)
    for number in range(148):
        record = fact(
            f"PIN ZQXJ{number:04} {'pad ' * (number % 40)}",
            memory_id=f"memZQXJ{number}",
            topic=f"tZQXJ{number % 5}",
        )
        for change in range(4):
            record.content = f"PIN ZQXJ{number:04} changed {change}"
            record.sources = [Source("user_explicit", f"sZQXJ{change}", excerpt=f"said ZQXJ {number}")]
            record.invalidated_at = clock.now() if number % 3 == 0 else None
            store.put(record)
        store.put(fact(f"Bo keeps {number}", "u_bo"))
    for number in range(30):
        source, other = Source("user_explicit", f"cZQXJ{number}"), Source("user_explicit", f"c{number}")
        store.put_conversation([{"role": "user", "content": "ZQXJ " * 900}], source, user_id="u_ada")
        store.put_conversation([{"role": "user", "content": "Bo talks"}], other, user_id="u_bo")
    store.revoke("cZQXJ3", "u_ada")
    store.put(fact("Open from nine.", "system", scope="app", sources=[MADE]))
    bo = store.owned("u_bo"), store.conversations("u_bo")
    assert len(found(reader)) == 99
    assert b"ZQXJ" in every_byte(path)

    assert store.erase_user("u_ada") == 148

    assert b"ZQXJ" not in every_byte(path)
    assert store.owned("u_ada") == store.conversations("u_ada") == []
    assert store.revoked("u_ada") == set()
    assert found(store) == found(reader) == ["Open from nine."]
    assert (store.owned("u_bo"), store.conversations("u_bo")) == bo
    assert store.erase_user("u_ada") == 0


def test_removed_and_revoked_text_is_gone_from_the_file_after_a_purge(path: Path) -> None:
    store = MemoryStore(path)
    store.put(fact("Secret ZQXJ", memory_id="m"))
    store.put_conversation(
        [{"role": "user", "content": "ZQXJ"}], Source("user_explicit", "s1"), user_id="u_ada"
    )
    store.remove("m", "u_ada")
    store.revoke("s1", "u_ada")
    store.purge()
    assert b"ZQXJ" not in every_byte(path)
    store.close()
    assert b"ZQXJ" not in every_byte(path)


def test_bytes_are_not_erased_inside_a_transaction(path: Path) -> None:
    store = MemoryStore(path)
    store.put(fact())
    for action in (lambda: store.erase_user("u_ada"), store.purge):
        with (
            store.transaction(),
            pytest.raises(StoreError, match=r"inside transaction.*after the block has ended"),
        ):
            action()
    assert len(store.owned("u_ada")) == 1


def test_erasing_gives_the_space_back(path: Path) -> None:
    with MemoryStore(path) as store:
        store.purge()
        before = path.stat().st_size
        for number in range(100):
            store.put(fact(f"Fact {number}"))
        store.erase_user("u_ada")
        assert path.stat().st_size == before


def test_erasing_a_user_stays_within_one_app(path: Path) -> None:
    store = MemoryStore(path)
    store.put(fact("Here."))
    store.put(fact("There.", app_name="other"))
    assert store.erase_user("u_ada") == 1
    assert contents(store.owned("u_ada", "other")) == ["There."]


# The blocks that are kept in memory


OWNERS = st.tuples(st.sampled_from(["u_ada", "u_bo"]), st.sampled_from(["default", "other"]))
SCOPE = st.sampled_from([("user", None), ("session", "s1"), ("session", "s2"), ("app", None)])
NUMBERS = st.sampled_from([0.0, 0.25, 0.5, 1.0])


class CachedBlocks(RuleBasedStateMachine):
    """Two stores on one file, used in any order, always find what a store that was just opened finds."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "memories.db"
        clock.freeze(1_000_000)
        self.stores = [MemoryStore(self.path), MemoryStore(self.path)]
        self.ids: list[tuple[str, str, str]] = []
        self.count = 0

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        self.folder.cleanup()
        clock.unfreeze()

    @rule(
        which=st.integers(0, 1),
        owner=OWNERS,
        scope=SCOPE,
        importance=NUMBERS,
        lasts=st.sampled_from([None, 1, 5]),
    )
    def make(
        self, which: int, owner: tuple[str, str], scope: Any, importance: float, lasts: int | None
    ) -> None:
        self.count += 1
        record = MemoryRecord(
            f"Fact {self.count} about fish", *owner, scope=scope[0], session_id=scope[1],
            importance=importance, expires_at=lasts and clock.now() + lasts * clock.DAY,
            sources=[MADE], memory_id=f"m{self.count}",
        )  # fmt: skip
        self.stores[which].put(record)
        self.ids.append((record.memory_id, *owner))

    def pick(self, which: int, at: int) -> MemoryRecord | None:
        memory_id, *owner = self.ids[at % len(self.ids)]
        shared = self.stores[which].scan(*owner, scopes=("app",), include_invalid=True)
        return next(
            (r for r in [*self.stores[which].owned(*owner), *shared] if r.memory_id == memory_id), None
        )

    @precondition(lambda self: self.ids)
    @rule(
        which=st.integers(0, 1),
        at=st.integers(0, 99),
        half_life=st.sampled_from([1.0, 90.0]),
        dead=st.booleans(),
        word=st.sampled_from(["", " aisle"]),
    )
    def change(self, which: int, at: int, half_life: float, dead: bool, word: str) -> None:
        record = self.pick(which, at)
        if record is not None:
            record.half_life_days, record.content = half_life, record.content + word
            record.invalidated_at = clock.now() if dead else None
            record.updated_at = clock.now()
            self.stores[which].put(record)

    @precondition(lambda self: self.ids)
    @rule(which=st.integers(0, 1), at=st.integers(0, 99))
    def remove(self, which: int, at: int) -> None:
        self.stores[which].remove(*self.ids[at % len(self.ids)])

    @rule(which=st.integers(0, 1), owner=OWNERS)
    def erase(self, which: int, owner: tuple[str, str]) -> None:
        self.stores[which].erase_user(*owner)

    @rule(which=st.integers(0, 1), owner=OWNERS, scope=SCOPE)
    def fail(self, which: int, owner: tuple[str, str], scope: Any) -> None:
        with undone(self.stores[which]):
            self.make(which, owner, scope, 0.5, None)
            self.stores[which].search("fish", *owner)
            self.remove(which, 0)
        self.ids.pop()

    @rule(days=st.sampled_from([-2.0, 0.5, 3.0]))
    def wait(self, days: float) -> None:
        clock.travel(days=days)

    @rule(which=st.integers(0, 1), owner=OWNERS)
    def read(self, which: int, owner: tuple[str, str]) -> None:
        self.same(self.stores[which], *owner)

    @invariant()
    def both_find_what_a_new_store_finds(self) -> None:
        for store in self.stores[self.count % 2 :]:
            self.same(store, "u_ada", "default")

    def same(self, store: MemoryStore, user_id: str, app_name: str) -> None:
        with MemoryStore(self.path) as fresh:
            for scopes, session_id in (
                (("user", "app"), None),
                (("user", "session", "app"), "s1"),
                (("session",), None),
            ):
                place = (user_id, app_name, scopes, session_id)
                cached, loaded = (s.search("fish on the aisle", *place) for s in (store, fresh))
                for name in ("seq", "importance", "half_life_days", "age_days"):
                    assert getattr(cached, name).tolist() == getattr(loaded, name).tolist()
                assert cached.relevance.tolist() == pytest.approx(loaded.relevance.tolist(), abs=1e-6)
                visible = {record.memory_id for record in store.scan(*place)}
                assert {record.memory_id for record in cached.records(range(len(cached)))} == visible


CachedBlocks.TestCase.settings = settings(max_examples=25, stateful_step_count=25)
TestCachedBlocks = CachedBlocks.TestCase


def test_two_stores_on_one_file_see_each_others_writes(path: Path) -> None:
    mine, yours = MemoryStore(path), MemoryStore(path)
    for number in range(5):
        for writer, reader in ((mine, yours), (yours, mine)):
            record = fact(f"Fact {number}")
            writer.put(record)
            assert found(reader)[-1] == f"Fact {number}"
            writer.remove(record.memory_id, "u_ada")
            assert found(reader) == found(writer)


def test_blocks_that_no_longer_fit_in_memory_are_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MOST_ROWS", 5)
    store = MemoryStore()
    for number in range(12):
        store.put(fact(f"Fact {number}", f"u{number % 3}"))
        for user in range(3):
            assert found(store, f"u{user}") == contents(store.scan(f"u{user}"))


def test_a_revived_memory_takes_its_old_place_in_the_order() -> None:
    store = MemoryStore()
    for number in range(3):
        store.put(
            fact(f"Fact {number}", memory_id=f"m{number}", invalidated_at=None if number else clock.now())
        )
    assert found(store) == ["Fact 1", "Fact 2"]
    store.put(fact("Fact 0", memory_id="m0"))
    assert found(store) == ["Fact 0", "Fact 1", "Fact 2"]
