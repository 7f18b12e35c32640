"""`MemoryStore`'s contract, kept by Chroma: the pipeline of the other lessons runs on it unchanged.

Three things are Chroma's to give and are missing, so they are made here:

- *Transactions.* Writes are collected and land at the end. Several of them are first written down as one
  intent; a process killed while it applies them leaves the intent, and the next opening completes it.
- *Order.* Rows carry the moment at which they were first written.
- *One writer.* Stores of one process take turns. Between processes, which share data through a server,
  each row is written whole and none is lost, but two that change the *same* memory at once do not see
  each other: the later write wins, and a reader may see a transaction half applied (the new fact beside
  the one it replaces, never neither).
"""

from __future__ import annotations

import json
import threading
import time
import uuid
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from chromadb.api import ClientAPI
from chromadb.api.models.Collection import Collection

from memlab import clock
from memlab.embedding import Embedder, hash_embed
from memlab.engine.blocks import Floats, Matches
from memlab.engine.vectors import identity_of
from memlab.fields import check_id, check_kind, check_owner
from memlab.messages import news, read_messages
from memlab.records import SCOPES, Conversation, MemoryRecord, Source
from memlab.store import DEFAULT_SCOPES, MemoryStore, StoreError, check_scopes
from solutions.chroma_tools import where_all, where_any
from solutions.given.chroma import (
    NO_EMBEDDER,
    NO_VECTOR,
    Metadata,
    Where,
    find_collection,
    open_collection,
    purge,
    rewrite,
)

GRACE = 10.0  # seconds, far more than a transaction takes to land

NO_END = 2 * clock.LATEST
"""Stands for None in columns of time: Chroma cannot ask for a key that is missing."""

Table = Literal["memories", "ledger"]


class BytesRemain(UserWarning):
    """Rows are deleted, but their bytes are still on the disk of a server that we cannot reach."""


@dataclass(frozen=True)
class Row:
    """One row of a collection, as it is or as it shall become."""

    id: str
    document: str
    metadata: Metadata
    vector: list[float]


def visible_where(user_id: str, app_name: str, scopes: Iterable[str], session_id: str | None) -> Where:
    """The whole isolation model as a Chroma filter; it means what `memlab.store.visible_to` means in SQL.

    Example:
    >>> visible_where("u_ada", "concierge", ["app"], None)
    {'$and': [{'app_name': 'concierge'}, {'scope': 'app'}]}
    """
    check_owner(user_id, app_name)
    if session_id is not None:
        check_id("session_id", session_id)
    app, user = {"app_name": app_name}, {"user_id": user_id}
    conditions = {
        "user": where_all(app, user, {"scope": "user"}),
        "session": where_all(app, user, {"scope": "session"}, {"session_id": session_id or ""}),
        "app": where_all(app, {"scope": "app"}),
    }
    return _some(where_any(*(_some(conditions[scope]) for scope in check_scopes(scopes))))


def owned_where(user_id: str, app_name: str) -> Where:
    """The filter for all that belongs to one user, in every session; never what the app shares."""
    check_owner(user_id, app_name)
    return _some(
        where_all({"app_name": app_name}, {"user_id": user_id}, {"scope": {"$in": ["user", "session"]}})
    )


class ChromaMemoryStore(MemoryStore):
    """Memories and their conversations in two Chroma collections; see the top of this module.

    client: from `solutions.given.chroma`: in memory, on a folder, or of a server; closing it is up to you.
    collection: the name of the memories' collection; what is kept beside them is in NAME-ledger.
    Raises StoreError for a collection that was built with another embedder.

    Example:
    >>> from solutions.given.chroma import memory_client
    >>> store = ChromaMemoryStore(memory_client())
    >>> store.put(MemoryRecord("The user goes by Ada.", "u_ada"))
    >>> [record.content for record in store.scan("u_ada")], store.scan("u_bo")
    (['The user goes by Ada.'], [])
    """

    _lock = threading.RLock()

    def __init__(
        self, client: ClientAPI, embedder: Embedder = hash_embed, collection: str = "memories"
    ) -> None:
        self.client, self.embedder, self._identity = client, embedder, identity_of(embedder)
        self._names: dict[Table, str] = {"memories": collection, "ledger": f"{collection}-ledger"}
        self._pending: dict[tuple[Table, str], Row | None] = {}
        self._depth, self._closed, self._stamp = 0, False, 0
        open_collection(client, self._names["memories"], self._identity)
        open_collection(client, self._names["ledger"], NO_EMBEDDER)
        self._complete_intents()

    @property
    def path(self) -> str:
        """Where the data live: a folder, "host:port" of a server, or ":memory:"."""
        settings = self.client.get_settings()
        if settings.chroma_server_host:
            return f"{settings.chroma_server_host}:{settings.chroma_server_http_port}"
        return settings.persist_directory if settings.is_persistent else ":memory:"

    # Writing; `put` is the inherited one

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A `with` block whose writes land together or not at all, also if the process is killed: then
        the next opening completes what had begun to land. A block inside a block is undone alone."""
        with self._lock:
            self._open()
            if not self._depth:
                self._complete_intents()
            before = dict(self._pending)
            self._depth += 1
            try:
                yield
                if self._depth == 1:
                    self._land()
            except BaseException:
                self._pending = before
                raise
            finally:
                self._depth -= 1

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A `with` block in which the stores of this process wait; those of others do not."""
        with self._lock:
            yield

    def put_conversation(
        self, messages: list[dict[str, Any]], source: Source, *, user_id: str, app_name: str = "default"
    ) -> None:
        check_owner(user_id, app_name)
        check_kind("source", source, Source)
        source.validate()
        said = [{"role": role, "content": text} for role, text in read_messages(messages)]
        with self.transaction():
            self._check_not_revoked([source], user_id, app_name)
            kept = self._ledger("conversation", user_id, app_name, source.source_id)
            before = json.loads(kept[0].document) if kept else []
            first = {"source_type": source.source_type, "at": source.at}
            self._note(
                "conversation", user_id, app_name, source.source_id,
                kept[0].metadata if kept else first, before + news(before, said),
            )  # fmt: skip

    def remove(self, memory_id: str, user_id: str, app_name: str = "default") -> bool:
        check_id("memory_id", memory_id)
        with self.transaction():
            condition = where_all({"memory_id": memory_id}, owned_where(user_id, app_name))
            return self._delete("memories", self._rows("memories", condition)) > 0

    def revoke(self, source_id: str, user_id: str, app_name: str = "default") -> None:
        check_id("source_id", source_id)
        check_owner(user_id, app_name)
        with self.transaction():
            self._delete("ledger", self._ledger("conversation", user_id, app_name, source_id))
            self._note("revoked", user_id, app_name, source_id, {"at": clock.now()})

    def erase_user(self, user_id: str, app_name: str = "default") -> int:
        """Erase all that one user owns; the number of memories erased. Then as `purge`."""
        self._outside("erase_user")
        with self.transaction():
            erased = self._delete("memories", self._rows("memories", owned_where(user_id, app_name)))
            self._delete("ledger", self._ledger(None, user_id, app_name))
        self.purge()
        return erased

    def purge(self) -> None:
        """Leave no byte of deleted text, and no deleted vector, in the folder.

        Every collection of the folder is written anew: this takes time in proportion to all that is kept.
        A server's folder is out of reach: BytesRemain warns, and its operator has to purge it.
        """
        self._outside("purge")
        with self._lock:
            self._open()
            settings = self.client.get_settings()
            if settings.chroma_server_host:
                cure = (
                    "stop the server, then purge(folder_client(PATH)) of solutions.given.chroma where it ran"
                )
                warnings.warn(f"{self.path} still has deleted bytes; {cure}", BytesRemain, stacklevel=2)
            elif settings.is_persistent:
                purge(self.client)

    def reembed(self, embedder: Embedder) -> None:
        """Switch to `embedder`: make every vector anew. Other stores on the collection must be reopened."""
        self._outside("reembed")
        with self._lock:
            self._open()
            before, self.embedder, self._identity = (
                (self.embedder, self._identity), embedder, identity_of(embedder),
            )  # fmt: skip

            def vectors(texts: list[str]) -> list[list[float]]:
                return [self._vector(text, "content").tolist() for text in texts]

            try:
                rewrite(self.client, self._names["memories"], embedder=self._identity, revector=vectors)
            except BaseException:
                self.embedder, self._identity = before
                raise

    # Reading

    def get(
        self, memory_id: str, user_id: str, app_name: str = "default", *, session_id: str | None = None
    ) -> MemoryRecord | None:
        check_id("memory_id", memory_id)
        seen = visible_where(user_id, app_name, SCOPES, session_id)
        return next(iter(self._found(where_all({"memory_id": memory_id}, seen))), None)

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
        conditions = [visible_where(user_id, app_name, scopes, session_id)]
        if topic is not None:
            conditions.append({"topic": check_id("topic", topic)})
        if not include_invalid:
            conditions += _held(as_of)
        return self._found(where_all(*conditions))

    def owned(self, user_id: str, app_name: str = "default") -> list[MemoryRecord]:
        return self._found(owned_where(user_id, app_name))

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
        """What ranking needs of every visible, active memory, as arrays.

        Chroma filters, and hands over the owner's vectors; the cosines are computed here. Its index would
        give the k nearest, approximately: ranking needs every memory, since a pin may be the farthest.
        """
        seen = visible_where(user_id, app_name, scopes, session_id)
        vector = self._vector(query, "query")
        now = clock.now() if as_of is None else clock.timestamp(as_of, "as_of")
        rows = self._rows("memories", where_all(seen, *_held(as_of)))

        def still(positions: Iterable[int]) -> dict[int, Row]:
            at = {rows[position].id: position for position in positions}
            wanted = where_all(seen, {"memory_id": {"$in": list(at)}})
            return {at[row.id]: row for row in self._rows("memories", wanted)} if at else {}

        return Matches(
            np.arange(len(rows)),
            np.array([row.vector for row in rows], np.float32).reshape(len(rows), -1) @ vector
            if rows else np.empty(0, np.float32),
            _numbers(rows, "importance"),
            _numbers(rows, "half_life_days"),
            np.maximum(now - _numbers(rows, "updated_at"), 0.0) / clock.DAY,
            lambda positions: {at: _record(row) for at, row in still(positions).items()},
            lambda: {at: row.document for at, row in still(range(len(rows))).items()},
        )  # fmt: skip

    def conversations(
        self, user_id: str, app_name: str = "default", *, source_id: str | None = None
    ) -> list[Conversation]:
        if source_id is not None:
            check_id("source_id", source_id)
        return [
            Conversation(
                Source(row.metadata["source_type"], row.metadata["source_id"], at=row.metadata["at"]),
                json.loads(row.document),
            )
            for row in self._ledger("conversation", user_id, app_name, source_id)
        ]

    def revoked(self, user_id: str, app_name: str = "default") -> set[str]:
        return {row.metadata["source_id"] for row in self._ledger("revoked", user_id, app_name)}

    def close(self) -> None:
        """Use this store no more; the client stays open."""
        self._closed = True

    # Inside: what the inherited `put` asks for

    def _follow(self) -> None:
        """Nothing is cached, so there is nothing to notice."""

    def _stored(self, record: MemoryRecord) -> MemoryRecord | None:
        owner = {"memory_id": record.memory_id} | _owner(record)
        found = self._found(where_all(*({key: value} for key, value in owner.items())))
        return found[0] if found else None

    def _write(self, record: MemoryRecord) -> None:
        stored = self._rows("memories", {"memory_id": record.memory_id})
        if stored and any(stored[0].metadata[key] != value for key, value in _owner(record).items()):
            raise ValueError(
                f"memory_id={record.memory_id!r} belongs to another owner, scope or session; "
                "make a new record and let its id be chosen"
            )
        seq = stored[0].metadata["seq"] if stored else self._next()
        # Every key is always there: an upsert leaves the old value of a key that it does not name.
        metadata = _owner(record) | {
            "memory_id": record.memory_id, "seq": seq, "topic": record.topic,
            "created_at": record.created_at, "updated_at": record.updated_at,
            "expires_at": NO_END if record.expires_at is None else record.expires_at,
            "invalidated_at": NO_END if record.invalidated_at is None else record.invalidated_at,
            "importance": record.importance, "half_life_days": record.half_life_days,
            "record": record.to_json(),
        }  # fmt: skip
        self._set("memories", Row(record.memory_id, record.content, metadata, record.embedding))

    # Inside: rows, with those of the open transaction

    def _open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.path} is closed; open it again with ChromaMemoryStore(client)")

    def _outside(self, action: str) -> None:
        with self._lock:
            if self._depth:
                raise StoreError(f"{action} inside transaction(): call it after the block has ended")

    def _collection(self, table: Table) -> Collection:
        """Asked for by name each time, since a rewritten collection is another one."""
        found = find_collection(self.client, self._names[table])
        if found is None:
            raise StoreError(f"{self.path}: collection {self._names[table]!r} is gone; open the store again")
        return found

    def _rows(self, table: Table, where: Where | None) -> list[Row]:
        """The rows that meet `where`, in the order in which they were first written."""
        with self._lock:
            self._open()
            found = self._collection(table).get(where=where, include=["embeddings", "documents", "metadatas"])
            columns: Any = (found["ids"], found["documents"], found["metadatas"], found["embeddings"])
            rows = {
                id: Row(id, text, dict(about), list(vector))
                for id, text, about, vector in zip(*columns, strict=True)
            }
            for (where_to, id), row in self._pending.items():
                if where_to == table:
                    rows.pop(id, None)
                    if row is not None and meets(row.metadata, where):
                        rows[id] = row
        return sorted(rows.values(), key=lambda row: (row.metadata["seq"], row.id))

    def _found(self, where: Where | None) -> list[MemoryRecord]:
        return [_record(row) for row in self._rows("memories", where)]

    def _ledger(
        self, kind: str | None, user_id: str, app_name: str, source_id: str | None = None
    ) -> list[Row]:
        """The user's conversations or revoked sources, or both; of one source, or of all."""
        check_owner(user_id, app_name)
        given = {"app_name": app_name, "user_id": user_id, "kind": kind, "source_id": source_id}
        return self._rows("ledger", where_all(*({k: v} for k, v in given.items() if v is not None)))

    def _note(
        self, kind: str, user_id: str, app_name: str, source_id: str, about: Metadata, content: object = None
    ) -> None:
        owner = {"app_name": app_name, "user_id": user_id, "kind": kind, "source_id": source_id}
        metadata = {"seq": self._next()} | about | owner
        id = json.dumps([kind, app_name, user_id, source_id])
        self._set("ledger", Row(id, json.dumps(content, ensure_ascii=False), metadata, NO_VECTOR))

    def _set(self, table: Table, row: Row) -> None:
        self._pending[table, row.id] = row

    def _delete(self, table: Table, rows: list[Row]) -> int:
        for row in rows:
            self._pending[table, row.id] = None
        return len(rows)

    def _next(self) -> int:
        """A number above all before it, also those of other processes and of a time before a restart. It is
        the machine's time, since the workbook's clock may stand still."""
        with self._lock:
            self._stamp = max(time.time_ns(), self._stamp + 1)
            return self._stamp

    # Inside: landing

    def _land(self) -> None:
        """Apply what the transaction has collected; several changes under an intent, one by itself."""
        changes, self._pending = self._pending, {}
        if not changes:
            return
        written = self._next()
        for row in changes.values():
            if row is not None:
                row.metadata["written"] = written
        ledger, intent = self._collection("ledger"), f"intent-{uuid.uuid4().hex}"
        if len(changes) > 1:
            text = json.dumps([[*key, vars(row) if row else None] for key, row in changes.items()])
            ledger.upsert([intent], NO_VECTOR, [{"kind": "intent", "seq": written}], [text])
        self._apply(changes)
        if len(changes) > 1:
            ledger.delete([intent])

    def _apply(self, changes: dict[tuple[Table, str], Row | None]) -> None:
        """Write new rows before tombstones, and delete last: cut short anywhere, no fact is missing."""
        tables: tuple[Table, Table] = ("memories", "ledger")
        for table in tables:
            rows = [row for (where_to, _), row in changes.items() if where_to == table and row is not None]
            rows.sort(key=lambda row: float(row.metadata.get("invalidated_at", NO_END)) < NO_END)
            for some in _batches(rows, self.client.get_max_batch_size()):
                self._collection(table).upsert(
                    [row.id for row in some],
                    [row.vector for row in some],
                    [row.metadata for row in some],
                    [row.document for row in some],
                )
        for table in tables:
            ids = [id for (where_to, id), row in changes.items() if where_to == table and row is None]
            for some in _batches(ids, self.client.get_max_batch_size()):
                self._collection(table).delete(some)

    def _complete_intents(self) -> None:
        """Apply what a killed process had begun; rows that were written after it stay as they are.

        On a server an intent may belong to a process that is at work: it is left alone for GRACE seconds.
        """
        with self._lock:
            grace = GRACE * 1e9 if self.client.get_settings().chroma_server_host else 0
            ripe: Where = {"seq": {"$lte": time.time_ns() - int(grace)}}
            for intent in self._rows("ledger", where_all({"kind": "intent"}, ripe)):
                changes: dict[tuple[Table, str], Row | None] = {}
                for table, id, row in json.loads(intent.document):
                    if not self._written_after(table, id, intent.metadata["seq"]):
                        changes[table, id] = Row(**row) if row else None
                self._apply(changes)
                self._collection("ledger").delete([intent.id])

    def _written_after(self, table: Table, id: str, moment: int) -> bool:
        found = self._collection(table).get([id], include=["metadatas"])["metadatas"]
        return any(int(about["written"]) > moment for about in found or [])  # type: ignore[arg-type]


def meets(metadata: Metadata, where: Where | None) -> bool:
    """True if Chroma would find a row with this metadata by the filter `where` of this module.

    Example:
    >>> meets({"topic": "diet", "at": 5.0}, {"$and": [{"topic": "diet"}, {"at": {"$gt": 4.0}}]})
    True
    """
    if where is None:
        return True
    [(key, wanted)] = where.items()
    if key in ("$and", "$or"):
        return (all if key == "$and" else any)(meets(metadata, part) for part in wanted)
    [(operator, value)] = wanted.items() if isinstance(wanted, dict) else [("$eq", wanted)]
    held = metadata.get(key)
    if operator in ("$gt", "$lte"):
        return held is not None and (held > value) is (operator == "$gt")
    return held in (value if operator == "$in" else [value])


def _held(as_of: clock.Instant | None) -> list[Where]:
    """The conditions for what holds now, or held at another time; as in `memlab.store`."""
    if as_of is None:
        return [{"invalidated_at": NO_END}, {"expires_at": {"$gt": clock.now()}}]
    at = clock.timestamp(as_of, "as_of")
    return [{"created_at": {"$lte": at}}, {"invalidated_at": {"$gt": at}}, {"expires_at": {"$gt": at}}]


def _owner(record: MemoryRecord) -> Metadata:
    return {
        "app_name": record.app_name, "user_id": record.user_id, "scope": record.scope,
        "session_id": record.session_id or "",
    }  # fmt: skip


def _record(row: Row) -> MemoryRecord:
    record = MemoryRecord.from_json(row.metadata["record"])
    record.embedding = [float(number) for number in row.vector]
    return record


def _numbers(rows: list[Row], name: str) -> Floats:
    return np.array([row.metadata[name] for row in rows], np.float64)


def _batches(items: list[Any], size: int) -> Iterator[list[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _some(where: Where | None) -> Where:
    """`where`, which must not be empty: to Chroma no filter means everything."""
    if where is None:
        raise ValueError("a filter without conditions would find everybody's memories; name an owner")
    return where
