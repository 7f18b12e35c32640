"""Memories in one SQLite file. The store is the isolation boundary: nothing is read without an owner.

The layout follows "Mini-project 5: build a memory system", Part 3: what a WHERE clause needs is a column,
the rest is JSON. Ranking needs its numbers as columns too; they stay in memory, one block an owner,
until the database changes.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import numpy as np

from memlab import clock
from memlab.embedding import Embedder, hash_embed
from memlab.engine.blocks import COLUMNS, Block, BlockCache, Floats, Matches
from memlab.engine.conversations import Conversations, said_by
from memlab.engine.database import Database, StoreError
from memlab.engine.vectors import adopt, identity_of, make_anew, unit_vector
from memlab.fields import check_id, check_kind, check_owner
from memlab.records import SCOPES, MemoryRecord

__all__ = ["MemoryStore", "StoreError", "owned_by", "visible_to"]

DEFAULT_SCOPES = ("user", "app")

WRITTEN = (
    "memory_id", "app_name", "user_id", "scope", "session_id", "topic", "created_at", "updated_at",
    "expires_at", "invalidated_at", "importance", "half_life_days", "embedding", "record",
)  # fmt: skip
# The condition makes an id of another owner return no row instead of being overwritten.
PUT = (
    f"INSERT INTO memories ({', '.join(WRITTEN)}) VALUES ({', '.join(f':{name}' for name in WRITTEN)})"
    f" ON CONFLICT (memory_id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in WRITTEN[1:])}"
    " WHERE app_name = excluded.app_name AND user_id = excluded.user_id AND scope = excluded.scope"
    " AND session_id IS excluded.session_id RETURNING seq"
)

# What holds now is not judged by when it was made or tombstoned: the clock may have been set back.
HOLDS_NOW = "invalidated_at IS NULL AND (expires_at IS NULL OR expires_at > :now)"
HELD_THEN = (
    "created_at <= :now AND (invalidated_at IS NULL OR invalidated_at > :now)"
    " AND (expires_at IS NULL OR expires_at > :now)"
)


def visible_to(
    user_id: str, app_name: str, scopes: Iterable[str], session_id: str | None
) -> tuple[str, dict[str, str | None]]:
    """The whole isolation model: an SQL condition on a memory's columns, and its parameters.

    A caller sees their own user-scoped memories, those of the one session they name, and the app's.
    Without a session no session-scoped memory is visible. Ids are compared as they are: never as
    patterns, never folded. Raises ValueError or TypeError for what is no id, and for an unknown scope.

    Example:
    >>> visible_to("u_ada", "concierge", ["app"], None)[0]
    "((app_name = :app_name AND scope = 'app'))"
    """
    check_owner(user_id, app_name)
    if session_id is not None:
        check_id("session_id", session_id)
    conditions = {
        "user": "(app_name = :app_name AND user_id = :user_id AND scope = 'user')",
        "session": "(app_name = :app_name AND user_id = :user_id AND scope = 'session'"
        " AND session_id = :session_id)",
        "app": "(app_name = :app_name AND scope = 'app')",
    }
    sql = " OR ".join(conditions[scope] for scope in check_scopes(scopes))
    return f"({sql})", {"app_name": app_name, "user_id": user_id, "session_id": session_id}


def owned_by(user_id: str, app_name: str) -> tuple[str, dict[str, str | None]]:
    """The condition for all that belongs to one user, in every session; never what the app shares.

    Example:
    >>> owned_by("u_ada", "concierge")[1]
    {'app_name': 'concierge', 'user_id': 'u_ada'}
    """
    check_owner(user_id, app_name)
    sql = "(app_name = :app_name AND user_id = :user_id AND scope IN ('user', 'session'))"
    return sql, {"app_name": app_name, "user_id": user_id}


def check_scopes(scopes: Iterable[str]) -> tuple[str, ...]:
    """`scopes` as a tuple; raises ValueError or TypeError unless it is some of user, session and app."""
    if isinstance(scopes, str) or not isinstance(scopes, Iterable):
        raise TypeError(f"scopes={scopes!r:.60} is not a tuple of scopes; pass e.g. ('user', 'app')")
    wanted = tuple(scopes)
    if not wanted or any(scope not in SCOPES for scope in wanted):
        raise ValueError(f"scopes={wanted!r:.60} is not known; pass some of {', '.join(SCOPES)}")
    return wanted


class MemoryStore(Conversations):
    """Memories and the conversations they came from, in one file; safe for threads and processes.

    path: a file, made if it is missing, or ":memory:". embedder: text -> vector, the same one for the
    whole life of a file. Raises StoreError for a file that is not a store, is newer than this code,
    damaged, read-only, or was built with another embedder.

    Example:
    >>> store = MemoryStore()
    >>> store.put(MemoryRecord("The user goes by Ada.", "u_ada"))
    >>> [record.content for record in store.scan("u_ada")], store.scan("u_bo")
    (['The user goes by Ada.'], [])
    """

    def __init__(self, path: str | os.PathLike[str] = ":memory:", embedder: Embedder = hash_embed) -> None:
        self._identity = identity_of(embedder)
        self.embedder = embedder
        self._blocks = BlockCache()
        # Pins, and what a conversation is about, are read again and again: the same text is parsed once.
        self._parsed = lru_cache(maxsize=1_000)(MemoryRecord.from_json)
        self._version = -1
        self._db = Database(path)
        self._db.on_stale = self._blocks.clear
        try:
            self._follow()
        except BaseException:
            self.close()
            raise

    @property
    def path(self) -> str:
        """The absolute path of the file, or ":memory:"."""
        return self._db.path

    def transaction(self) -> AbstractContextManager[None]:
        """A `with` block whose writes land together or not at all, also if the process is killed.

        Other threads and processes wait. A block inside a block is undone alone when it fails.

        Example:
        >>> store = MemoryStore()
        >>> with store.transaction():
        ...     store.put(MemoryRecord("The user goes by Ada.", "u_ada"))
        ...     store.put(MemoryRecord("The user likes tea.", "u_ada"))
        >>> len(store.scan("u_ada"))
        2
        """
        return self._db.transaction()

    def snapshot(self) -> AbstractContextManager[None]:
        """A `with` block in which all reads see the store at one moment, whatever others write meanwhile.

        Example:
        >>> store = MemoryStore()
        >>> store.put(MemoryRecord("The user likes tea.", "u_ada"))
        >>> with store.snapshot():
        ...     len(store.search("tea", "u_ada")) == len(store.scan("u_ada"))
        True
        """
        return self._db.snapshot()

    # Writing

    def put(self, record: MemoryRecord) -> None:
        """Insert `record`, or replace the one with its id, in one transaction.

        History only grows: the stored lines are kept, and replaced content leaves one. Raises
        ValueError or TypeError, before anything is written, for invalid fields, an id that belongs to
        another owner, an app-scoped record that rests on anything but bootstrapped sources, or a source
        that this user has revoked.

        Example:
        >>> store = MemoryStore()
        >>> store.put(MemoryRecord("The user goes by Ada.", "u_ada", memory_id="mem_1"))
        >>> store.put(MemoryRecord("The user goes by Al.", "u_ada", memory_id="mem_1"))
        >>> [line[20:] for line in store.get("mem_1", "u_ada").history]
        ["content was 'The user goes by Ada.'"]
        """
        check_kind("record", record, MemoryRecord)
        record.validate()
        _check_app_scope(record)
        written = record.copy()  # the caller's own is changed only when the write has landed
        with self.transaction():
            self._follow()  # has another process written?
            if record.scope != "app":
                self._check_not_revoked(record.sources, record.user_id, record.app_name)
            old = self._stored(record)
            if old is not None and old.content == record.content:  # the same words, the same vector
                written.embedding = old.embedding
            else:
                written.embedding = self._vector(record.content, "content").tolist()
            if old is not None:
                written.continue_history_of(old)
            self._write(written)
        record.embedding, record.history = written.embedding, written.history

    def remove(self, memory_id: str, user_id: str, app_name: str = "default") -> bool:
        """Delete one of the user's own memories, content and all; True if there was one."""
        check_id("memory_id", memory_id)
        condition, values = owned_by(user_id, app_name)
        with self.transaction():
            self._blocks.drop((app_name, user_id))
            sql = f"DELETE FROM memories WHERE memory_id = :memory_id AND {condition}"
            return self._db.execute(sql, values | {"memory_id": memory_id}).rowcount > 0

    def erase_user(self, user_id: str, app_name: str = "default") -> int:
        """Erase all that one user owns, down to the bytes of the file; the number of memories erased.

        What the app shares stays. Raises StoreError when another process keeps old pages alive: the
        rows are gone, but `purge()` has to be called again.

        Example:
        >>> store = MemoryStore()
        >>> store.put(MemoryRecord("The user goes by Ada.", "u_ada"))
        >>> store.erase_user("u_ada"), store.owned("u_ada")
        (1, [])
        """
        condition, values = owned_by(user_id, app_name)
        self._db.check_outside_transaction("erase_user")
        with self.transaction():
            self._blocks.drop((app_name, user_id))
            erased = self._db.execute(f"DELETE FROM memories WHERE {condition}", values).rowcount
            condition, values = said_by(user_id, app_name)
            for table in ("conversations", "revoked"):
                self._db.execute(f"DELETE FROM {table} WHERE {condition}", values)
        self.purge()
        return erased

    def purge(self) -> None:
        """Leave no byte of deleted text in the file or its log. Raises StoreError if another process
        reads for so long that the log cannot be emptied."""
        self._parsed.cache_clear()
        self._db.purge()

    def reembed(self, embedder: Embedder) -> None:
        """Switch to `embedder`: make every vector anew, in one transaction; if it fails, nothing changes.

        Example:
        >>> store = MemoryStore()
        >>> store.put(MemoryRecord("The user goes by Ada.", "u_ada"))
        >>> store.reembed(lambda text: hash_embed(text, 64))
        >>> len(store.scan("u_ada")[0].embedding)
        64
        """
        identity = identity_of(embedder)
        with self._db.lock:
            try:
                make_anew(self._db, embedder, identity)
                self.embedder, self._identity = embedder, identity
            finally:
                self._blocks.clear()

    # Reading

    def get(
        self, memory_id: str, user_id: str, app_name: str = "default", *, session_id: str | None = None
    ) -> MemoryRecord | None:
        """The memory with this id if the caller may see it, tombstone or not; otherwise None.

        Raises ValueError or TypeError for an id that names nothing.

        Example:
        >>> store = MemoryStore()
        >>> store.put(MemoryRecord("The user goes by Ada.", "u_ada", memory_id="mem_1"))
        >>> store.get("mem_1", "u_ada").content, store.get("mem_1", "u_bo")
        ('The user goes by Ada.', None)
        """
        check_id("memory_id", memory_id)
        return self._with_id(memory_id, *visible_to(user_id, app_name, SCOPES, session_id))

    def scan(
        self,
        user_id: str,
        app_name: str = "default",
        scopes: Iterable[str] = DEFAULT_SCOPES,
        session_id: str | None = None,
        include_invalid: bool = False,
        *,
        topic: str | None = None,
        as_of: clock.Instant | None = None,
    ) -> list[MemoryRecord]:
        """The memories that the caller may see, oldest first: the active ones, or all of them.

        Scopes are enforced here, in the WHERE clause, never in a prompt. `topic` narrows to one topic.
        `as_of` asks what held at another time, by the tombstones and expiry of that instant.
        Raises ValueError or TypeError for a missing owner and an unknown scope.

        Example:
        >>> store = MemoryStore()
        >>> store.put(MemoryRecord("Wants two nights.", "u_ada", scope="session", session_id="s1"))
        >>> [len(store.scan("u_ada", scopes=["session"], session_id=s)) for s in ("s1", "s2", None)]
        [1, 0, 0]
        """
        condition, values = visible_to(user_id, app_name, scopes, session_id)
        if topic is not None:
            condition, values["topic"] = f"{condition} AND topic = :topic", check_id("topic", topic)
        if include_invalid:
            return list(self._records(condition, values).values())
        held, now = _when(as_of)
        return list(self._records(f"{condition} AND {held}", values | {"now": now}).values())

    def owned(self, user_id: str, app_name: str = "default") -> list[MemoryRecord]:
        """All that belongs to the user, of every session, tombstones included, oldest first."""
        return list(self._records(*owned_by(user_id, app_name)).values())

    def search(
        self,
        query: str,
        user_id: str,
        app_name: str = "default",
        scopes: Iterable[str] = DEFAULT_SCOPES,
        session_id: str | None = None,
        *,
        as_of: clock.Instant | None = None,
    ) -> Matches:
        """What ranking needs of every visible, active memory, as arrays with one entry a memory.

        The owner filter comes first: no similarity is computed for a memory that the caller may not
        see. `Matches.records` turns the winners into records. Raises as `scan` does, and TypeError for a
        query that is not text.

        Example:
        >>> store = MemoryStore()
        >>> store.put(MemoryRecord("The user likes tea.", "u_ada"))
        >>> found = store.search("tea", "u_ada")
        >>> [record.content for record in found.records([0])], len(store.search("tea", "u_bo"))
        (['The user likes tea.'], 0)
        """
        scopes = check_scopes(scopes)
        condition, values = visible_to(user_id, app_name, scopes, session_id)
        held, now = _when(as_of)
        with self._db.lock:
            self._follow()  # has another process written?
            vector = self._vector(query, "query")
            # two blocks of rows: what the user owns, and what the app shares
            if as_of is None:
                own, shared = self._block(app_name, user_id), self._block(app_name, None)
            else:
                own = self._load(*owned_by(user_id, app_name), held, now)
                shared = self._load(*visible_to(user_id, app_name, ("app",), None), held, now)
            session = session_id if "session" in scopes else None
            parts = [  # of each block, the rows of the scopes that were asked for
                own.match(vector, now, "user" in scopes, session),
                shared.match(vector, now, "app" in scopes, None),
            ]

        def load(seqs: list[int]) -> dict[int, MemoryRecord]:
            # The cross join keeps SQLite from reading all of the owner's memories to find these few.
            table = "json_each(:seqs) CROSS JOIN memories ON seq = json_each.value"
            sql = f"SELECT seq, record, embedding FROM {table} WHERE {condition}"
            rows = self._db.rows(sql, values | {"seqs": json.dumps(seqs)})
            with self._db.reading():
                return {seq: self._record(text, vector) for seq, text, vector in rows}

        def read() -> dict[int, str]:
            sql = f"SELECT seq, json_extract(record, '$.content') FROM memories WHERE {condition}"
            return dict(self._db.rows(sql, values))

        return Matches.joined(parts, load, read)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._db.close()

    def __enter__(self) -> MemoryStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Inside

    def _follow(self) -> None:
        """Take notice of what another connection has written: cached blocks go, the embedder must stay."""
        with self._db.lock:
            version = self._db.version()
            if version != self._version:
                self._blocks.clear()
                adopt(self._db, self._identity)
                self._version = version

    def _records(self, condition: str, values: dict[str, Any]) -> dict[int, MemoryRecord]:
        sql = f"SELECT seq, record, embedding FROM memories WHERE {condition} ORDER BY seq"
        rows = self._db.rows(sql, values)
        with self._db.reading():
            return {seq: self._record(text, vector) for seq, text, vector in rows}

    def _stored(self, record: MemoryRecord) -> MemoryRecord | None:
        """What is stored under the record's id for the very owner that the record names."""
        owner = visible_to(record.user_id, record.app_name, [record.scope], record.session_id)
        return self._with_id(record.memory_id, *owner)

    def _with_id(self, memory_id: str, condition: str, values: dict[str, Any]) -> MemoryRecord | None:
        records = self._records(f"memory_id = :memory_id AND {condition}", values | {"memory_id": memory_id})
        return next(iter(records.values()), None)

    def _record(self, text: str, vector: bytes) -> MemoryRecord:
        record = self._parsed(text).copy()
        record.embedding = array("f", vector).tolist()
        return record

    def _write(self, record: MemoryRecord) -> None:
        vector = np.array(record.embedding, np.float32).tobytes()
        columns = vars(record) | {"embedding": vector, "record": record.to_json()}
        rows = self._db.rows(PUT, {name: columns[name] for name in WRITTEN})
        if not rows:
            raise ValueError(
                f"memory_id={record.memory_id!r} belongs to another owner, scope or session; "
                "make a new record and let its id be chosen"
            )
        self._blocks.amend(rows[0][0], record, vector)

    def _block(self, app_name: str, user_id: str | None) -> Block:
        def load() -> Block:
            if user_id is None:
                condition = visible_to("anyone", app_name, ("app",), None)
            else:
                condition = owned_by(user_id, app_name)
            return self._load(*condition, "invalidated_at IS NULL", clock.now())

        return self._blocks.get((app_name, user_id), load)

    def _load(self, condition: str, values: dict[str, Any], held: str, now: float) -> Block:
        sql = f"SELECT {COLUMNS} FROM memories WHERE {condition} AND {held} ORDER BY seq"
        rows = self._db.rows(sql, values | {"now": now})
        with self._db.reading():
            return Block(rows)

    def _vector(self, text: str, name: str) -> Floats:
        return unit_vector(self.embedder, text, name, self._identity[1])


def _when(as_of: clock.Instant | None) -> tuple[str, float]:
    if as_of is None:
        return HOLDS_NOW, clock.now()
    return HELD_THEN, clock.timestamp(as_of, "as_of")


def _check_app_scope(record: MemoryRecord) -> None:
    kinds = [source.source_type for source in record.sources]
    if record.scope == "app" and (not kinds or set(kinds) != {"bootstrapped"}):
        raise ValueError(
            f"scope='app' with sources {kinds!r}: what all users read is written from bootstrapped sources "
            "only; use scope='user', or name the system of record it comes from"
        )
