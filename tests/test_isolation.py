"""No read path gives one owner what belongs to another, whatever was written and however ids are spelt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import HOSTILE_IDS

from memlab import clock
from memlab.records import MemoryRecord, Source
from memlab.store import MemoryStore

MADE = Source("bootstrapped", "crm")
SAID = Source("user_explicit", "s1")
TURNS = [{"role": "user", "content": "I'm here"}]

ALL = ("user", "session", "app")
Owner = tuple[str, str]

owners = st.tuples(
    st.sampled_from(["u_ada", "U_ADA", "u%", "u_bo"]), st.sampled_from(["default", "DEFAULT", "d%"])
)
places = st.sampled_from(
    [("user", None), ("session", "s1"), ("session", "S1"), ("session", "s%"), ("app", None)]
)
steps = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "tombstone", "talk", "revoke", "remove", "erase"]),
        owners,
        places,
    ),
    min_size=5,
    max_size=30,
)


@pytest.fixture(autouse=True)
def _frozen_clock() -> Iterator[None]:
    clock.freeze("2026-08-06T20:11:27Z")
    yield
    clock.unfreeze()


def written(steps: list[tuple[str, Owner, tuple[Any, Any]]]) -> MemoryStore:
    """A store after `steps`; every content, topic, source and message says whose it is."""
    store = MemoryStore()
    for number, (action, owner, (scope, session_id)) in enumerate(steps):
        whose = f"{owner}"
        said = Source("user_explicit", f"{whose} {number}")
        if action in ("put", "tombstone"):
            gone = clock.now() if action == "tombstone" else None
            store.put(
                MemoryRecord(f"{whose} {scope} {session_id}", *owner, scope=scope, session_id=session_id,
                             topic="all", sources=[MADE], invalidated_at=gone, memory_id=f"m{number}")
            )  # fmt: skip
        elif action == "talk":
            turns = [{"role": "user", "content": whose}]
            store.put_conversation(turns, said, user_id=owner[0], app_name=owner[1])
        elif action == "revoke":
            store.revoke(said.source_id, *owner)
        elif action == "remove":
            store.remove(f"m{number // 2}", *owner)
        else:
            store.erase_user(*owner)
        store.search("warm the block", *owner)
    return store


def belongs(record: MemoryRecord, owner: Owner, session_id: str | None) -> bool:
    """The isolation model in one sentence: the app's, one's own, and of sessions only the one named."""
    if record.app_name != owner[1]:
        return False
    if record.scope == "app":
        return True
    return record.user_id == owner[0] and record.session_id in (None, session_id)


def scanned(store: MemoryStore, owner: Owner, session_id: str | None) -> list[MemoryRecord]:
    return store.scan(*owner, ALL, session_id, include_invalid=True)


def scanned_by_topic(store: MemoryStore, owner: Owner, session_id: str | None) -> list[MemoryRecord]:
    return store.scan(*owner, ALL, session_id, include_invalid=True, topic="all")


def scanned_as_of(store: MemoryStore, owner: Owner, session_id: str | None) -> list[MemoryRecord]:
    return store.scan(*owner, ALL, session_id, as_of=clock.now())


def searched(store: MemoryStore, owner: Owner, session_id: str | None) -> list[MemoryRecord]:
    matches = store.search("u_ada default user", *owner, ALL, session_id)
    return matches.records(range(len(matches)))


def searched_as_of(store: MemoryStore, owner: Owner, session_id: str | None) -> list[MemoryRecord]:
    matches = store.search("u_ada default user", *owner, ALL, session_id, as_of=clock.now())
    return matches.records(range(len(matches)))


def got(store: MemoryStore, owner: Owner, session_id: str | None) -> list[MemoryRecord]:
    tried = (store.get(f"m{number}", *owner, session_id=session_id) for number in range(30))
    return [record for record in tried if record is not None]


READS: list[Callable[[MemoryStore, Owner, str | None], list[MemoryRecord]]]
READS = [scanned, scanned_by_topic, scanned_as_of, searched, searched_as_of, got]


@pytest.mark.parametrize("read", READS)
@given(steps=steps, reader=owners, session_id=st.sampled_from([None, "s1", "S1", "s%", "s2"]))
def test_a_read_path_gives_its_caller_all_they_may_see_and_nothing_else(
    read: Callable[[MemoryStore, Owner, str | None], list[MemoryRecord]],
    steps: list[tuple[str, Owner, tuple[Any, Any]]],
    reader: Owner,
    session_id: str | None,
) -> None:
    store = written(steps)
    seen = read(store, reader, session_id)
    assert all(belongs(record, reader, session_id) for record in seen)
    everything = [
        MemoryRecord.from_json(text) for (text,) in store._db.rows("SELECT record FROM memories ORDER BY seq")
    ]
    mine = [record for record in everything if belongs(record, reader, session_id)]
    if read in (scanned_as_of, searched, searched_as_of):
        mine = [record for record in mine if record.active()]
    assert {record.memory_id for record in seen} == {record.memory_id for record in mine}


@given(steps=steps, reader=owners)
def test_what_somebody_owns_is_theirs_in_every_session_and_never_the_apps(steps: Any, reader: Owner) -> None:
    for record in written(steps).owned(*reader):
        assert (record.user_id, record.app_name) == reader
        assert record.scope != "app"


@given(steps=steps, reader=owners)
def test_conversations_are_ones_own(steps: Any, reader: Owner) -> None:
    for talk in written(steps).conversations(*reader):
        assert talk.messages == [{"role": "user", "content": f"{reader}"}]
        assert talk.source.source_id.startswith(f"{reader}")


@given(steps=steps, reader=owners)
def test_revoked_sources_are_ones_own(steps: Any, reader: Owner) -> None:
    assert all(source_id.startswith(f"{reader}") for source_id in written(steps).revoked(*reader))


@pytest.fixture(scope="module")
def crowd() -> MemoryStore:
    """A store in which every hostile id owns one memory, as user, as app and as session."""
    store = MemoryStore()
    for number, name in enumerate(HOSTILE_IDS):
        for kind, place in enumerate((
            {"user_id": name},
            {"user_id": "u", "app_name": name},
            {"user_id": "u", "scope": "session", "session_id": name},
        )):  # fmt: skip
            record = MemoryRecord(f"{kind} {name}", memory_id=f"m{kind}-{number}", topic=name, **place)  # type: ignore[arg-type]
            store.put(record)
        store.put_conversation(TURNS, Source("user_explicit", name), user_id=name)
        store.revoke(f"r {name}", name)
    return store


@pytest.mark.parametrize("name", HOSTILE_IDS)
def test_a_hostile_id_is_a_name_and_never_a_pattern_or_sql(crowd: MemoryStore, name: str) -> None:
    for seen in (
        scanned(crowd, (name, "default"), None),
        searched(crowd, (name, "default"), None),
        crowd.owned(name),
    ):
        assert [record.content for record in seen] == [f"0 {name}"]
    for seen in (
        scanned(crowd, ("u", name), None),
        searched(crowd, ("u", name), None),
        crowd.owned("u", name),
    ):
        assert [record.content for record in seen] == [f"1 {name}"]
    for seen in (scanned(crowd, ("u", "default"), name), searched(crowd, ("u", "default"), name)):
        assert [record.content for record in seen] == [f"2 {name}"]
    assert [talk.source.source_id for talk in crowd.conversations(name)] == [name]
    assert crowd.revoked(name) == {f"r {name}"}
    assert [record.content for record in crowd.scan(name, topic=name)] == [f"0 {name}"]
    assert crowd.get(name, "u_ada") is None
    assert crowd.remove(name, name) is False


@pytest.mark.parametrize("name", HOSTILE_IDS)
def test_erasing_a_hostile_id_erases_that_owner_alone(name: str) -> None:
    store = MemoryStore()
    for other in HOSTILE_IDS:
        store.put(MemoryRecord("A fact.", other))
        store.put_conversation(TURNS, SAID, user_id=other)
    assert store.erase_user(name) == 1
    assert [other for other in HOSTILE_IDS if not store.owned(other)] == [name]
    assert [other for other in HOSTILE_IDS if not store.conversations(other)] == [name]


def test_bob_cannot_find_change_or_delete_alices_memory_by_its_id() -> None:
    """xorbitsai/xagent #818 and mem0ai/mem0 #6342."""
    store = MemoryStore()
    alice = MemoryRecord("Alice's.", "alice", memory_id="m")
    store.put(alice)
    assert store.remove("m", "bob") is False
    assert store.remove("m", "alice", "other") is False
    assert store.get("m", "bob") is None
    with pytest.raises(ValueError, match="belongs to another owner"):
        store.put(MemoryRecord("Bob's.", "bob", memory_id="m"))
    assert store.owned("alice") == [alice]


def test_a_session_is_seen_from_itself_alone_and_only_when_asked_for() -> None:
    store = MemoryStore()
    store.put(MemoryRecord("Booking.", "u_ada", scope="session", session_id="s1", memory_id="m"))
    assert (
        store.scan("u_ada")
        == store.scan("u_ada", scopes=ALL)
        == store.scan("u_ada", scopes=ALL, session_id="s2")
        == []
    )
    assert store.scan("u_ada", session_id="s1") == []
    assert (
        len(store.search("q", "u_ada", session_id="s1")) == len(store.search("q", "u_ada", scopes=ALL)) == 0
    )
    assert store.get("m", "u_ada") is None
    assert store.get("m", "u_bo", session_id="s1") is None
    assert len(store.scan("u_ada", scopes=("session",), session_id="s1")) == 1
    assert len(store.search("q", "u_ada", scopes=("session",), session_id="s1")) == 1
    assert store.get("m", "u_ada", session_id="s1") is not None


WITHOUT_OWNER: list[Callable[[MemoryStore, Any], object]] = [
    lambda store, name: store.get("m", name),
    lambda store, name: store.get("m", "u", name),
    lambda store, name: store.scan(name),
    lambda store, name: store.scan("u", name),
    lambda store, name: store.search("q", name),
    lambda store, name: store.search("q", "u", name),
    lambda store, name: store.owned(name),
    lambda store, name: store.owned("u", name),
    lambda store, name: store.conversations(name),
    lambda store, name: store.conversations("u", name),
    lambda store, name: store.revoked(name),
    lambda store, name: store.revoked("u", name),
    lambda store, name: store.remove("m", name),
    lambda store, name: store.remove("m", "u", name),
    lambda store, name: store.revoke("s", name),
    lambda store, name: store.revoke("s", "u", name),
    lambda store, name: store.erase_user(name),
    lambda store, name: store.erase_user("u", name),
    lambda store, name: store.put_conversation(TURNS, SAID, user_id=name),
    lambda store, name: store.put_conversation(TURNS, SAID, user_id="u", app_name=name),
]


@pytest.mark.parametrize("name", [None, "", " ", "u ", 7, ["u"], "a\0b", "\ud800", {"$ne": ""}])
def test_no_path_works_without_naming_an_owner(name: Any) -> None:
    store = MemoryStore()
    store.put(MemoryRecord("A fact.", "u", memory_id="m"))
    for use in WITHOUT_OWNER:
        with pytest.raises((ValueError, TypeError), match=r"^(user_id|app_name)="):
            use(store, name)
    assert len(store.owned("u")) == 1
