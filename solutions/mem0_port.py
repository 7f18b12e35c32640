"""The port to mem0 2.x with its real client: what it does, and what is still yours on top of it.

mem0 keeps texts with metadata, finds them again and deletes them. Since version 2 it only ever *adds*: what
contradicts what, who may be believed, and what goes when a source is revoked is written here, on its `add`,
`search`, `get_all`, `update`, `delete` and `history`. Each function takes mem0's client first.

A memory travels in mem0's metadata: as JSON of its record, beside the columns that we filter by.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
import time
import warnings
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from course.acceptance import NotOffered
from memlab import clock
from memlab.engine.blocks import Matches
from memlab.messages import news, read_messages
from memlab.records import (
    MAX_CONTENT,
    PINNED,
    TRUST,
    Candidate,
    Conversation,
    MemoryRecord,
    Operation,
    Source,
    SourceType,
    check_fraction,
    check_id,
    check_kind,
    new_id,
    starting_confidence,
)
from memlab.store import MemoryStore
from solutions import forgetting
from solutions.consolidation import Extractor, decide, is_exclusive, take_note
from solutions.extraction import llm_extract, rule_extract
from solutions.injection import remember_session
from solutions.mem0_client import build_memory as build_memory  # here too, beside what it is built for
from solutions.memory_system import Gate, MemorySystem, displaced_by, without_secrets
from solutions.retrieval import Hit, Weights, blended_score, pins_first, recency
from solutions.write_gate import ReviewQueue, gate

if TYPE_CHECKING:
    from mem0 import Memory  # type: ignore[import-untyped]

Row = dict[str, Any]
"""A memory as mem0 gives it back: "id", "memory" (its text), "metadata", "user_id", "agent_id", "run_id"."""

Filters = dict[str, str]

LEDGER = "#ledger"  # what is kept beside an app's memories belongs, to mem0, to another agent
EVERYTHING = 1_000_000  # get_all gives 20 unless told otherwise


# --- whose, and which ---------------------------------------------------------------------------------


def owner_filter(user_id: str, app_name: str = "default", **equal: str) -> Filters:
    """The one way to ask mem0 for memories: one user, one app (mem0's agent), and columns equal to a text.

    mem0 takes "*" for everybody, and lets an AND name another user. Raises ValueError or TypeError that names
    the field for "*", for AND, OR and NOT, for anything but plain text, and for an id with a space inside.

    Example:
    >>> owner_filter("u_ada", topic="diet")
    {'user_id': 'u_ada', 'agent_id': 'default', 'topic': 'diet'}
    """
    for name, value in {"user_id": user_id, "app_name": app_name, **equal}.items():
        check_id(name, value)
        if value == "*":
            raise ValueError(f"{name}='*' means everybody's to mem0; name one")
        if name.upper() in ("AND", "OR", "NOT") or name.startswith("$"):
            raise ValueError(f"{name}={value!r:.60} could override whose memories these are; leave it out")
    for name, value in (("user_id", user_id), ("app_name", app_name)):
        if any(character.isspace() for character in value) or value.endswith(LEDGER):
            raise ValueError(f"{name}={value!r:.60} holds a space or ends in {LEDGER}; use another id")
    return {"user_id": user_id, "agent_id": app_name, **equal}


def rows(memory: Memory, filters: Filters) -> list[Row]:
    """All that mem0 holds under `filters`, also what it hides as expired, in the order of writing."""
    found: list[Row] = memory.get_all(filters=filters, top_k=EVERYTHING, show_expired=True)["results"]
    return sorted(found, key=lambda row: (row.get("metadata") or {}).get("written", 0))


def records(memory: Memory, user_id: str, app_name: str = "default", **equal: str) -> list[MemoryRecord]:
    """The memories of this user in the order of writing: of all sessions, and tombstones too."""
    return [record_of(row) for row in rows(memory, owner_filter(user_id, app_name, **equal)) if _says(row)]


def _says(row: Row) -> bool:
    """False for the texts that plain mem0 keeps and no record can: blank ones, and those with a NUL."""
    text = row["memory"]
    return bool(text[:MAX_CONTENT].strip()) and "\0" not in text


def _id_of(row: Row) -> str:
    """The id of the memory in a row, ours or mem0's."""
    about = row.get("metadata") or {}
    return str(about["memory_id"] if "record" in about else row["id"])


def record_of(row: Row) -> MemoryRecord:
    """The memory in one of mem0's rows. What plain mem0 wrote has no topic, and of its source what its
    metadata say.

    Example:
    >>> record_of({"id": "5d1f", "memory": "Likes tea.", "user_id": "u_ada"}).sources
    []
    """
    about, session = row.get("metadata") or {}, row.get("run_id")
    if "record" in about:
        return replace(MemoryRecord.from_json(about["record"]), content=row["memory"])
    told = clock.timestamp(row["created_at"], "created_at") if row.get("created_at") else clock.now()
    kind, source_id = about.get("source_type"), about.get("source_id")
    return MemoryRecord(
        row["memory"][:MAX_CONTENT],
        row["user_id"],
        row.get("agent_id") or "default",
        scope="session" if session else "user",
        session_id=session,
        sources=[Source(kind, source_id, at=told)] if kind in TRUST and source_id else [],
        memory_id=row["id"],
        created_at=told,
        updated_at=told,
    )


def owned_row(memory: Memory, memory_id: str, *, user_id: str, app_name: str = "default") -> Row | None:
    """This user's row with that id, ours or mem0's; None when it is another's, or nobody's.

    mem0's own `get`, `update` and `delete` take an id and ask nobody whose memory it is.
    """
    owner = owner_filter(user_id, app_name, memory_id=memory_id)
    found = rows(memory, owner)
    if found:
        return found[0]
    row: Row | None = memory.get(memory_id)
    owns = row is not None and (row.get("user_id"), row.get("agent_id")) == (user_id, app_name)
    return row if owns else None


def save(memory: Memory, record: MemoryRecord) -> None:
    """Write `record` to mem0: as a new memory, or over this user's memory with its id.

    mem0 hides a memory from the day after its expiration date: so a tombstone's is yesterday.
    """
    record.validate()
    ends = record.expires_at if record.invalidated_at is None else clock.now() - clock.DAY
    until = None if ends is None else datetime.fromtimestamp(ends, UTC).date()
    about = {"topic": record.topic, "subject": record.subject, "memory_id": record.memory_id}
    about |= {"record": record.to_json()}
    owner = {"user_id": record.user_id, "app_name": record.app_name}
    row = owned_row(memory, record.memory_id, **owner)
    if row is not None:
        memory.update(row["id"], text=record.content, metadata=about, expiration_date=until)
    else:
        mine = owner_filter(**owner)
        # mem0 takes no space in a run's id; the record keeps the session's own.
        run = record.session_id and re.sub(r"\s", "%20", record.session_id)
        _add(memory, record.content, mine, about, run_id=run, expiration_date=until)


def _add(memory: Memory, text: str, owner: Filters, about: dict[str, Any], **more: Any) -> None:
    # The order of writing, as no lesson's clock can give it.
    about = about | {"written": time.time_ns()}
    memory.add(text, infer=False, metadata=about, **owner, **more)


def holding(found: Iterable[MemoryRecord]) -> list[MemoryRecord]:
    """Those of `found`, given in the order of writing, that hold: on an exclusive topic of a subject, or in
    a slot, only the newest. mem0 has no transactions: after a crash both the new value and the old are there.

    Example:
    >>> rome, paris = (MemoryRecord(f"Lives in {city}.", "u_ada", topic="home") for city in ("Rome", "Paris"))
    >>> [record.content for record in holding([rome, paris])]
    ['Lives in Paris.']
    """
    active = [record for record in found if record.active()]
    newest = {_place(record): record.memory_id for record in active}
    return [record for record in active if newest[_place(record)] == record.memory_id]


def _place(record: MemoryRecord) -> tuple[str | None, ...]:
    """What only one memory at a time can fill."""
    if is_exclusive(record.topic):
        return record.session_id, record.subject, record.topic
    return (record.memory_id,)


# --- learning -----------------------------------------------------------------------------------------


def topic_sweep(
    memory: Memory, candidate: Candidate, *, user_id: str, app_name: str = "default"
) -> list[MemoryRecord]:
    """What holds of this user on the candidate's subject and topic, however little it resembles it.

    In user scope, oldest first; no vector is asked. Raises ValueError as `owner_filter` does.
    """
    wanted = {"topic": candidate.topic, "subject": candidate.subject}
    swept = holding(records(memory, user_id, app_name, **wanted))
    return [record for record in swept if record.scope == "user"]


def affected_memories(
    memory: Memory,
    candidate: Candidate,
    *,
    user_id: str,
    app_name: str = "default",
    threshold: float = 0.55,
) -> list[MemoryRecord]:
    """Memories that `candidate` may repeat or contradict: mem0's neighbours, and those of the topic sweep.

    Neighbours at or above `threshold` (cosine, 0..1) first, the nearest first; no memory twice.
    Raises ValueError for a threshold outside 0..1.
    """
    check_fraction("threshold", threshold)
    near = relevance(memory, candidate.content, owner_filter(user_id, app_name))
    held = [record for record in holding(records(memory, user_id, app_name)) if record.scope == "user"]
    similar = [record for record in held if 0 < near.get(record.memory_id, 0.0) >= threshold]
    similar.sort(key=lambda record: -near[record.memory_id])
    seen = {record.memory_id for record in similar}
    swept = topic_sweep(memory, candidate, user_id=user_id, app_name=app_name)
    return similar + [record for record in swept if record.memory_id not in seen]


def consolidate(
    memory: Memory, candidate: Candidate, source: Source, *, user_id: str, app_name: str = "default"
) -> Operation:
    """Decide what becomes of `candidate`, and write it; mem0's `add` is called for nothing that was refused.

    The trust gate stands in `decide`: a weaker source leaves a line in the history of the memory that it
    would have displaced, and nothing else. What contradicts supersedes, what was heard again corroborates.
    """
    affected = affected_memories(memory, candidate, user_id=user_id, app_name=app_name)
    operation = decide(candidate, affected, source)
    if operation.action == "NOOP":
        for target in affected:
            if target.memory_id == operation.target_id:
                take_note(target, operation, source)
                save(memory, target)
        return operation
    new = new_memory(candidate, source, user_id, app_name)
    supersede(memory, rivals(memory, new), new, operation.reason)
    return operation


def rivals(memory: Memory, new: MemoryRecord) -> list[MemoryRecord]:
    """What cannot stand beside `new`: what says the same, and on an exclusive topic or in a slot all others;
    also what a crash has left there, which `holding` hides.

    Raises ValueError when one of them rests on a stronger source.
    """
    wanted = {"topic": new.topic, "subject": new.subject}
    return displaced_by(new, records(memory, new.user_id, new.app_name, **wanted))


def supersede(memory: Memory, displaced: list[MemoryRecord], new: MemoryRecord, reason: str) -> None:
    """Write `new`, then end the memories `displaced`: killed in between, both are there, and `holding` knows
    which one holds.

    A displaced memory becomes a tombstone (`invalidated_at`, `superseded_by`) and keeps its content; `new`
    inherits its sources, so that revoking one of them finds `new` too. Both sides note the reason.
    """
    for old in displaced:
        known = {source.source_id for source in new.sources}
        inherited = [replace(s, inherited=True) for s in old.sources if s.source_id not in known]
        new.sources = inherited + new.sources
        new.note(f"created from {old.memory_id}: {reason}")
    save(memory, new)
    for old in displaced:
        old.invalidated_at = max(old.created_at, new.created_at)
        old.superseded_by = new.memory_id
        old.note(f"superseded by {new.memory_id}: {reason}")
        save(memory, old)


def new_memory(candidate: Candidate, source: Source, user_id: str, app_name: str = "default") -> MemoryRecord:
    """The memory that `candidate` becomes: no surer than its source, which it names, and as old as that."""
    return MemoryRecord(
        candidate.content,
        user_id,
        app_name,
        topic=candidate.topic,
        subject=candidate.subject,
        importance=candidate.importance,
        half_life_days=candidate.half_life_days,
        confidence=starting_confidence(candidate.confidence, source),
        sources=[replace(source, inherited=False)],
        created_at=source.at,
        updated_at=source.at,
    )


# --- recalling ----------------------------------------------------------------------------------------


def relevance(memory: Memory, query: str, filters: Filters) -> dict[str, float]:
    """Memory id -> cosine with `query`, for all that mem0 finds under `filters`.

    mem0's threshold is of no use here: on Chroma no score is below 0.2, whatever is asked. A blank query
    is near to nothing. Raises TypeError for a query that is not text.
    """
    check_kind("query", query, str)
    query = query.encode("utf-8", "ignore").decode()  # half of a surrogate pair fits into no request
    size = len(rows(memory, filters))
    if size == 0 or not query.strip() or not any(memory.embedding_model.embed(query, "search")):
        return {}
    found = memory.search(query, filters=filters, top_k=size, threshold=0.0, explain=True, show_expired=True)[
        "results"
    ]
    return {_id_of(row): cosine_of(memory, row) for row in found}


def cosine_of(memory: Memory, row: Row) -> float:
    """The cosine, -1..1, behind the score of a row that `search(explain=True)` gave.

    Qdrant's score is the cosine. On Chroma it is 1 / (1 + d), and d is the squared distance, 2 - 2 · cosine.
    """
    score = float(row["score_details"]["semantic_score"])
    if memory.config.vector_store.provider != "chroma":
        return score
    distance = 1 / score - 1
    if abs(distance - 1) < 1e-6 and not any(memory.embedding_model.embed(row["memory"], "search")):
        return 0.0  # a text without a word has the zero vector, at distance 1 from all
    return 1 - distance / 2


def recall(
    memory: Memory,
    query: str,
    *,
    user_id: str,
    app_name: str = "default",
    session_id: str | None = None,
    k: int = 5,
    weights: Weights | None = None,
) -> list[Hit]:
    """All pins, then the k best of this user's other memories by the blended score; those of the session
    `session_id` are among them, those of any other are not.

    Raises ValueError or TypeError for a missing owner, a k below 0, or a query that is not text.
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise ValueError(f"k={k!r} is not a whole number of 0 or more; pass e.g. k=5")
    near = relevance(memory, query, owner_filter(user_id, app_name))
    seen = [r for r in holding(records(memory, user_id, app_name)) if r.session_id in (None, session_id)]
    matches = Matches(
        seq=np.arange(len(seen)),
        relevance=np.array([near.get(record.memory_id, 0.0) for record in seen]),
        importance=np.array([record.importance for record in seen]),
        half_life_days=np.array([record.half_life_days for record in seen]),
        age_days=np.array([record.age_days() for record in seen]),
        load=lambda positions: {position: seen[position] for position in positions},
        read=lambda: {position: record.content for position, record in enumerate(seen)},
    )
    scores, fresh = blended_score(matches, weights or Weights()), recency(matches)
    return [
        Hit(float(scores[i]), seen[i], float(matches.relevance[i]), float(fresh[i]), seen[i].importance)
        for i in pins_first(scores, matches.importance, k)
    ]


# --- what was said, and what was taken back -----------------------------------------------------------
# mem0 keeps the last ten messages of a scope and no sources. So whole conversations, and the ids of revoked
# sources, are kept as memories of another agent, which no search for the app's own ever reaches.


def ledger(memory: Memory, kind: str, *, user_id: str, app_name: str = "default") -> list[Row]:
    """What is kept beside this user's memories: rows of the kind "conversation" or "revoked"."""
    return rows(memory, owner_filter(user_id, app_name, kind=kind) | {"agent_id": app_name + LEDGER})


def conversations(memory: Memory, *, user_id: str, app_name: str = "default") -> list[Conversation]:
    """What this user said, conversation by conversation, in the order in which they were learned."""
    kept = ledger(memory, "conversation", user_id=user_id, app_name=app_name)
    return [
        Conversation(
            Source(row["metadata"]["source_type"], row["metadata"]["source_id"], at=row["metadata"]["at"]),
            json.loads(row["memory"]),
        )
        for row in kept
    ]


def revoked(memory: Memory, *, user_id: str, app_name: str = "default") -> set[str]:
    """The ids of the sources that this user has revoked."""
    return {row["memory"] for row in ledger(memory, "revoked", user_id=user_id, app_name=app_name)}


def keep_conversation(
    memory: Memory, messages: list[dict[str, Any]], source: Source, *, user_id: str, app_name: str = "default"
) -> None:
    """Keep what was said under its source, in place of what was kept of it before."""
    owner = {"user_id": user_id, "agent_id": app_name + LEDGER}
    kept = ledger(memory, "conversation", user_id=user_id, app_name=app_name)
    before = [row for row in kept if row["metadata"]["source_id"] == source.source_id]
    about = {"source_id": source.source_id, "source_type": source.source_type, "at": source.at}
    text = json.dumps(messages, ensure_ascii=False)
    if before:
        memory.update(before[0]["id"], text=text)
    elif messages:
        _add(memory, text, owner, about | {"kind": "conversation"})


# --- forgetting ---------------------------------------------------------------------------------------


def forget_source(
    memory: Memory,
    source_id: str,
    user_id: str,
    app_name: str = "default",
    *,
    extract: Extractor = rule_extract,
) -> forgetting.Revocation:
    """Revoke a source and rebuild what it touched: erased and flagged ids, as of notebook 07.

    The user's memories and conversations go into a store of that notebook, which does the work; then the
    difference is written to mem0, what is new or revived before what goes. The bytes are gone afterwards.
    A revocation that was cut short before, of whichever source, is completed.
    """
    check_id("source_id", source_id)
    owner = {"user_id": user_id, "app_name": app_name}
    before = {record.memory_id: record for record in records(memory, **owner)}
    with MemoryStore() as scratch:
        for record in before.values():
            scratch.put(record)
        for said in conversations(memory, **owner):
            scratch.put_conversation(said.messages, said.source, **owner)
        for gone in sorted(revoked(memory, **owner) - {source_id}):
            forgetting.forget_source(scratch, gone, **owner)
        revocation = forgetting.forget_source(scratch, source_id, **owner)
        forgetting.regenerate(scratch, **owner, extract=extract)
        after = {record.memory_id: record for record in scratch.owned(**owner)}
    _revoke(memory, source_id, user_id, app_name)
    changed = [record for record in after.values() if record != before.get(record.memory_id)]
    for record in changed:
        save(memory, record)
    _drop_history(memory, _row_ids(memory, {record.memory_id for record in changed}, **owner))
    erase(memory, _row_ids(memory, set(before) - set(after), **owner), **owner)
    return revocation


def _row_ids(memory: Memory, memory_ids: set[str], user_id: str, app_name: str) -> list[str]:
    return [row["id"] for row in rows(memory, owner_filter(user_id, app_name)) if _id_of(row) in memory_ids]


def _revoke(memory: Memory, source_id: str, user_id: str, app_name: str) -> None:
    owner = {"user_id": user_id, "app_name": app_name}
    if source_id not in revoked(memory, **owner):
        _add(memory, source_id, {"user_id": user_id, "agent_id": app_name + LEDGER}, {"kind": "revoked"})
    kept, gone = ledger(memory, "conversation", **owner), revoked(memory, **owner)
    _delete(memory, [row["id"] for row in kept if row["metadata"]["source_id"] in gone])


def forget_user(memory: Memory, user_id: str, app_name: str = "default") -> int:
    """Erase all that one user owns in this app, down to the bytes; the number of memories erased.

    What plain mem0 wrote for the user without an app belongs to it too. Raises as `owner_filter` does.
    """
    owner_filter(user_id, app_name)
    mine = [
        row
        for row in rows(memory, {"user_id": user_id})
        if row.get("agent_id") in (None, app_name, app_name + LEDGER)
    ]
    erase(memory, [row["id"] for row in mine], user_id=user_id, app_name=app_name)
    return sum(row.get("agent_id") != app_name + LEDGER for row in mine)


def erase(memory: Memory, row_ids: list[str], *, user_id: str, app_name: str = "default") -> None:
    """Delete these rows, and what mem0 leaves of deleted ones: history, messages, entities, free pages.

    Its history does not say whose a text was: so it goes for every memory that is deleted, by whomever.
    """
    _ = memory.entity_store  # once opened, mem0's delete also clears the names that it drew from a text
    _delete(memory, row_ids)
    with memory.db._lock, memory.db.connection as db:
        db.execute("DELETE FROM history WHERE memory_id IN (SELECT memory_id FROM history WHERE is_deleted)")
        scopes = [scope for (scope,) in db.execute("SELECT DISTINCT session_scope FROM messages")]
        theirs = [(scope,) for scope in scopes if _is_theirs(scope, user_id, app_name)]
        db.executemany("DELETE FROM messages WHERE session_scope = ?", theirs)
    memory.db.connection.execute("VACUUM")
    compact(memory)


def _delete(memory: Memory, row_ids: list[str]) -> None:
    """Delete rows, their history first: killed in between, mem0 keeps no text of a row that is gone."""
    _drop_history(memory, row_ids)
    for row_id in row_ids:
        memory.delete(row_id)


def _drop_history(memory: Memory, row_ids: list[str]) -> None:
    with memory.db._lock, memory.db.connection as db:
        db.executemany("DELETE FROM history WHERE memory_id = ?", [(row_id,) for row_id in row_ids])


def _is_theirs(scope: str, user_id: str, app_name: str) -> bool:
    """Whether messages under mem0's key `scope`, "agent_id=default&user_id=u_ada", are this user's."""
    parts = dict(part.split("=", 1) for part in scope.split("&"))
    named = {name: re.sub("%(25|26|3D)", lambda m: chr(int(m[1], 16)), text) for name, text in parts.items()}
    return named.get("user_id") == user_id and named.get("agent_id") in (None, app_name, app_name + LEDGER)


def compact(memory: Memory) -> None:
    """Leave no byte of deleted rows in the vector store's folder; a server's is out of reach, and warns."""
    settings = memory.config.vector_store
    if settings.provider == "chroma" and settings.config.path and not settings.config.host:
        from solutions.given.chroma import purge  # here, so that Chroma is imported only where it is used

        purge(memory.vector_store.client)
        # purge has put other collections in the place of those that mem0 knows
        for index in (memory.vector_store, memory.entity_store):
            index.collection = index.create_col(index.collection_name)
    elif settings.provider == "qdrant" and settings.config.path:
        for file in Path(settings.config.path).rglob("*.sqlite"):
            with closing(sqlite3.connect(file, timeout=60)) as db:
                db.execute("VACUUM")
    else:
        warnings.warn(f"{settings.provider} still has deleted bytes: compact it where it runs", stacklevel=2)


# --- the system ---------------------------------------------------------------------------------------


class Mem0Adapter(MemorySystem):
    """The system of the other notebooks, on mem0's client: its policies, with mem0 where the store was.

    memory: from `build_memory`, or a client of your own. extract: messages -> candidates; None asks the model
    that mem0 is configured with, by our prompt, since mem0's own asks for neither topics nor excerpts.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        extract: Extractor | None = None,
        weights: Weights | None = None,
        gate: Gate = gate,
    ) -> None:
        asked = partial(llm_extract, client=memory.llm.client, model=memory.llm.config.model)
        self.memory = memory
        self.extract: Extractor = extract or asked
        self.weights = weights or Weights()
        self.gate, self.review = gate, ReviewQueue()

    def learn(
        self, messages: list[dict[str, Any]], source: Source, *, user_id: str, app_name: str = "default"
    ) -> list[Operation]:
        """Learn what the user said and keep the conversation; what was decided, fact by fact.

        Raises when the extraction failed, with nothing written. Killed half-way, learn it again: what was
        written is then heard again under the same source, which changes nothing.
        """
        check_kind("source", source, Source)
        owner = {"user_id": user_id, "app_name": app_name}
        if source.source_id in revoked(self.memory, **owner):
            return [Operation("NOOP", None, "(nothing learned)", f"source {source.source_id} was revoked")]
        talk = without_secrets(messages)
        kept = {c.source.source_id: c.messages for c in conversations(self.memory, **owner)}
        before = kept.get(source.source_id, [])
        new = talk[len(talk) - len(news(before, _plain(talk))) :]
        candidates = self._screened(talk, user_id, self.review)(new) if new else []
        for candidate in candidates:  # all of them before the first is written
            owner_filter(**owner, topic=candidate.topic, subject=candidate.subject)
        done = [
            consolidate(self.memory, candidate, replace(source, excerpt=candidate.excerpt), **owner)
            for candidate in candidates
        ]
        keep_conversation(self.memory, before + _plain(new), source, **owner)
        return done

    def close_session(
        self, messages: list[dict[str, Any]], source: Source, *, user_id: str, app_name: str = "default"
    ) -> MemoryRecord:
        """Put a session-scoped memory in place of the transcript; the session is the source's id."""
        check_kind("source", source, Source)
        owner = {"user_id": user_id, "app_name": app_name}
        self._check_not_revoked(source.source_id, **owner)
        talk = without_secrets(messages)
        extract = self._screened(talk, user_id, self.review)
        with MemoryStore() as scratch:
            new = remember_session(scratch, talk, source, **owner, extract=extract)
        earlier = [r for r in records(self.memory, **owner, topic=new.topic) if r.active()]
        displaced = [record for record in earlier if record.session_id == new.session_id]
        supersede(self.memory, displaced, new, "the conversation went on")
        return new

    def recall(
        self,
        query: str,
        *,
        user_id: str,
        app_name: str = "default",
        session_id: str | None = None,
        k: int = 5,
    ) -> list[Hit]:
        """Pins, then the k best memories; those of a session too when `session_id` names it."""
        return recall(
            self.memory, query, user_id=user_id, app_name=app_name, session_id=session_id, k=k,
            weights=self.weights,
        )  # fmt: skip

    def memories(self, user_id: str, app_name: str = "default") -> list[MemoryRecord]:
        """What holds about this user now, whatever the session, oldest first."""
        return [r for r in holding(records(self.memory, user_id, app_name)) if r.scope == "user"]

    def get(self, memory_id: str, *, user_id: str, app_name: str = "default") -> MemoryRecord:
        """This user's memory with that id, ours or mem0's. Raises ValueError when this user has none."""
        return record_of(self._row(memory_id, user_id, app_name))

    def update(self, memory_id: str, text: str, *, user_id: str, app_name: str = "default") -> MemoryRecord:
        """Correct the text of this user's memory; the memory. Raises ValueError when this user has none.

        The correction is a source of its own, so that a later `forget_source` does not undo it.
        """
        record = self.get(memory_id, user_id=user_id, app_name=app_name)
        asked = Candidate(text, record.topic, record.confidence, text, record.importance)
        kept = self._admitted(asked, user_id, vouched=False)
        told = _correction(record, kept.excerpt)
        record.note(f"content corrected: {told.source_id}")  # not quoted: its source may be revoked
        sources = [*(replace(source, inherited=True) for source in record.sources), told]
        corrected = replace(record, content=kept.content, sources=sources, updated_at=told.at)
        save(self.memory, corrected)
        return corrected

    def delete(self, memory_id: str, *, user_id: str, app_name: str = "default") -> None:
        """Erase this user's memory, bytes too. Raises ValueError when this user has none."""
        row = self._row(memory_id, user_id, app_name)
        erase(self.memory, [row["id"]], user_id=user_id, app_name=app_name)

    def forget_source(self, source_id: str, user_id: str, app_name: str = "default") -> forgetting.Revocation:
        """Revoke a source and rebuild what it touched from the sources that remain."""
        extract = self._screened([], user_id, ReviewQueue())  # what is flagged again waits already
        return forget_source(self.memory, source_id, user_id, app_name, extract=extract)

    def forget_user(self, user_id: str, app_name: str = "default") -> int:
        """Erase all that one user owns, down to the bytes; the number of memories erased.

        What waits in `review` about them goes too.
        """
        erased = forget_user(self.memory, user_id, app_name)
        self.review.forget(user_id)
        return erased

    def close(self) -> None:
        """Close mem0's client and what was started for it; a second call does nothing."""
        self.memory.close()

    def _write(self, new: MemoryRecord, reason: str) -> None:
        self._check_not_revoked(new.sources[-1].source_id, new.user_id, new.app_name)
        supersede(self.memory, rivals(self.memory, new), new, reason)

    def _check_not_revoked(self, source_id: str, user_id: str, app_name: str) -> None:
        if source_id in revoked(self.memory, user_id=user_id, app_name=app_name):
            raise ValueError(f"source_id={source_id!r} was revoked by its user; use a new source id")

    def _row(self, memory_id: str, user_id: str, app_name: str) -> Row:
        row = owned_row(self.memory, memory_id, user_id=user_id, app_name=app_name)
        if row is None:
            raise ValueError(
                f"memory_id={memory_id!r} is no memory of user {user_id!r}; take an id from memories()"
            )
        return row


def _correction(record: MemoryRecord, excerpt: str) -> Source:
    """The source of a correction of `record`: as strong as what it corrects, and told after it."""
    kinds: list[SourceType] = [source.source_type for source in record.own_sources()] or ["user_explicit"]
    latest = max((source.at for source in record.sources), default=0.0)
    at = max(clock.now(), math.nextafter(latest, math.inf))
    return Source(max(kinds, key=TRUST.__getitem__), f"correction-{new_id()}", excerpt=excerpt, at=at)


def _plain(messages: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [{"role": role, "content": text} for role, text in read_messages(messages)]


class PlainMem0:
    """mem0 as it comes, behind the same methods: each is one call of its client, or is not offered."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def learn(
        self, messages: list[dict[str, Any]], source: Source, *, user_id: str, app_name: str = "default"
    ) -> object:
        """What mem0 added."""
        about = {"source_type": source.source_type, "source_id": source.source_id}
        return self.memory.add(messages, user_id=user_id, agent_id=app_name, metadata=about)

    def remember(
        self,
        text: str,
        *,
        user_id: str,
        app_name: str = "default",
        importance: float = 0.5,
        slot: str = "",
        ttl_days: float = 0,
        session_id: str | None = None,
        source: Source | None = None,
    ) -> object:
        """What mem0 added: the text as it stands. It expires at the end of a day, not at an instant."""
        if slot:
            raise NotOffered("mem0 adds; no value takes the place of another")
        if importance >= PINNED and not ttl_days:  # one that expires is written, to see what the date does
            raise NotOffered("mem0 has no memory that comes back whatever is asked")
        ends = datetime.fromtimestamp(clock.now() + ttl_days * clock.DAY, UTC).date() if ttl_days else None
        about = {"source_type": source.source_type, "source_id": source.source_id} if source else {}
        return self.memory.add(
            text, user_id=user_id, agent_id=app_name, run_id=session_id, infer=False, metadata=about,
            expiration_date=ends,
        )  # fmt: skip

    def recall(
        self,
        query: str,
        *,
        user_id: str,
        app_name: str = "default",
        session_id: str | None = None,
        k: int = 5,
    ) -> list[Hit]:
        """mem0's k best. A session (mem0's run) can be asked for; it cannot be left out."""
        scope = {"user_id": user_id, "agent_id": app_name} | ({"run_id": session_id} if session_id else {})
        found = self.memory.search(query, filters=scope, top_k=k)["results"]
        return [Hit(row["score"], record_of(row), row["score"], 0.0, 0.0) for row in found]

    def context(self, system: str, query: str, **_: object) -> str:
        """Not offered."""
        raise NotOffered("mem0 gives memories back and writes no prompt; it knows no confidence")

    def memories(self, user_id: str, app_name: str = "default") -> list[MemoryRecord]:
        """What mem0 lists for this user."""
        scope = {"user_id": user_id, "agent_id": app_name}
        found = self.memory.get_all(filters=scope, top_k=EVERYTHING)["results"]
        return [record for record in map(record_of, found) if record.scope == "user"]

    def forget_source(self, source_id: str, user_id: str, app_name: str = "default") -> object:
        """Not offered."""
        raise NotOffered("mem0 deletes by user, agent, run or id; it knows no source")

    def forget_user(self, user_id: str, app_name: str = "default") -> int:
        """mem0's delete_all; the number of memories it listed before."""
        scope = {"user_id": user_id, "agent_id": app_name}
        listed = self.memory.get_all(filters=scope, top_k=EVERYTHING, show_expired=True)["results"]
        self.memory.delete_all(**scope)
        return len(listed)

    def close(self) -> None:
        """Close mem0's client and what was started for it."""
        self.memory.close()
