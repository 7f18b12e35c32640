"""How a memory stands in mem0: its rows and their metadata, and what stays of a row that is deleted.

A memory travels in mem0's metadata: as JSON of its record, beside the columns that we filter by. Filters and
rows come in from code that has checked whose they are: `owner` is what `owner_filter` gave.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memlab import clock
from memlab.fields import MAX_CONTENT, check_kind
from memlab.records import TRUST, Candidate, Conversation, MemoryRecord, Source, starting_confidence

if TYPE_CHECKING:
    from mem0 import Memory  # type: ignore[import-untyped]

Row = dict[str, Any]
"""A memory as mem0 gives it back: "id", "memory" (its text), "metadata", "user_id", "agent_id", "run_id"."""

Filters = dict[str, str]

LEDGER = "#ledger"  # what is kept beside an app's memories belongs, to mem0, to another agent
OVERRIDING = ("and", "or", "not", "agent_id")  # as columns of a filter, they could change whose it asks for
EVERYTHING = 1_000_000  # get_all gives 20 unless told otherwise


# --- rows and records ---------------------------------------------------------------------------------


def rows(memory: Memory, filters: Filters) -> list[Row]:
    """All that mem0 holds under `filters`, also what it hides as expired, in the order of writing."""
    found: list[Row] = memory.get_all(filters=filters, top_k=EVERYTHING, show_expired=True)["results"]
    return sorted(found, key=lambda row: (row.get("metadata") or {}).get("written", 0))


def holds_text(row: Row) -> bool:
    """False for the texts that plain mem0 keeps and no record can: blank ones, and those with a NUL."""
    text = row["memory"]
    return bool(text[:MAX_CONTENT].strip()) and "\0" not in text


def id_of(row: Row) -> str:
    """The id of the memory in a row, ours or mem0's."""
    about = row.get("metadata") or {}
    return str(about["memory_id"] if "record" in about else row["id"])


def row_ids(memory: Memory, memory_ids: set[str], owner: Filters) -> list[str]:
    """mem0's ids of the owner's memories with these ids."""
    return [row["id"] for row in rows(memory, owner) if id_of(row) in memory_ids]


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


def add_row(memory: Memory, text: str, owner: Filters, about: dict[str, Any], **more: Any) -> None:
    """Have mem0 add `text` as it stands, for the owner in the filter."""
    about = about | {"written": time.time_ns()}  # the order of writing, as no lesson's clock can give it
    memory.add(text, infer=False, metadata=about, **owner, **more)


def write_record(memory: Memory, record: MemoryRecord, row: Row | None, owner: Filters) -> None:
    """Write `record` over mem0's `row`, or as a new row of the owner in the filter.

    mem0 hides a memory from the day after its expiration date: so a tombstone's is yesterday.
    """
    record.validate()
    ends = record.expires_at if record.invalidated_at is None else clock.now() - clock.DAY
    until = None if ends is None else datetime.fromtimestamp(ends, UTC).date()
    about = {"topic": record.topic, "subject": record.subject, "memory_id": record.memory_id}
    about |= {"record": record.to_json()}
    if row is not None:
        memory.update(row["id"], text=record.content, metadata=about, expiration_date=until)
    else:
        # mem0 takes no space in a run's id; the record keeps the session's own.
        run = record.session_id and re.sub(r"\s", "%20", record.session_id)
        add_row(memory, record.content, owner, about, run_id=run, expiration_date=until)


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


# --- how near ------------------------------------------------------------------------------------------


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
    return {id_of(row): cosine_of(memory, row) for row in found}


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


# --- what was said, and what was taken back -----------------------------------------------------------
# mem0 keeps the last ten messages of a scope and no sources. So whole conversations, and the ids of revoked
# sources, are kept as memories of another agent, which no search for the app's own ever reaches.


def ledger(memory: Memory, kind: str, owner: Filters) -> list[Row]:
    """What is kept beside this owner's memories: rows of the kind "conversation" or "revoked"."""
    return rows(memory, beside(owner) | {"kind": kind})


def beside(owner: Filters) -> Filters:
    """Where the ledger of an owner stands."""
    return {"user_id": owner["user_id"], "agent_id": owner["agent_id"] + LEDGER}


def conversations(memory: Memory, owner: Filters) -> list[Conversation]:
    """What this user said, conversation by conversation, in the order in which they were learned."""
    return [
        Conversation(
            Source(row["metadata"]["source_type"], row["metadata"]["source_id"], at=row["metadata"]["at"]),
            json.loads(row["memory"]),
        )
        for row in ledger(memory, "conversation", owner)
    ]


def keep_conversation(memory: Memory, messages: list[dict[str, Any]], source: Source, owner: Filters) -> None:
    """Keep what was said under its source, in place of what was kept of it before."""
    kept = ledger(memory, "conversation", owner)
    before = [row for row in kept if row["metadata"]["source_id"] == source.source_id]
    about = {"source_id": source.source_id, "source_type": source.source_type, "at": source.at}
    text = json.dumps(messages, ensure_ascii=False)
    if before:
        memory.update(before[0]["id"], text=text)
    elif messages:
        add_row(memory, text, beside(owner), about | {"kind": "conversation"})


def revoked(memory: Memory, owner: Filters) -> set[str]:
    """The ids of the sources that this user has revoked."""
    return {row["memory"] for row in ledger(memory, "revoked", owner)}


def revoke(memory: Memory, source_id: str, owner: Filters) -> None:
    """Note that a source is revoked, and delete what was said in it."""
    if source_id not in revoked(memory, owner):
        add_row(memory, source_id, beside(owner), {"kind": "revoked"})
    kept, gone = ledger(memory, "conversation", owner), revoked(memory, owner)
    delete_rows(memory, [row["id"] for row in kept if row["metadata"]["source_id"] in gone])


# --- what stays of a deleted row -----------------------------------------------------------------------


def delete_rows(memory: Memory, row_ids: list[str]) -> None:
    """Delete rows, their history first: killed in between, mem0 keeps no text of a row that is gone."""
    drop_history(memory, row_ids)
    for row_id in row_ids:
        memory.delete(row_id)


def drop_history(memory: Memory, row_ids: list[str]) -> None:
    """Delete what mem0's history says of these rows."""
    with memory.db._lock, memory.db.connection as db:
        db.executemany("DELETE FROM history WHERE memory_id = ?", [(row_id,) for row_id in row_ids])


def clear_leftovers(memory: Memory, user_id: str, app_name: str) -> None:
    """Delete what mem0 keeps beside the vectors: the history of all that is deleted, since it does not say
    whose a text was, and this user's messages; then the file's free pages."""
    with memory.db._lock, memory.db.connection as db:
        db.execute("DELETE FROM history WHERE memory_id IN (SELECT memory_id FROM history WHERE is_deleted)")
        scopes = [scope for (scope,) in db.execute("SELECT DISTINCT session_scope FROM messages")]
        theirs = [(scope,) for scope in scopes if is_theirs(scope, user_id, app_name)]
        db.executemany("DELETE FROM messages WHERE session_scope = ?", theirs)
    memory.db.connection.execute("VACUUM")


def is_theirs(scope: str, user_id: str, app_name: str) -> bool:
    """Whether messages under mem0's key `scope`, "agent_id=default&user_id=u_ada", are this user's."""
    parts = dict(part.split("=", 1) for part in scope.split("&"))
    named = {name: re.sub("%(25|26|3D)", lambda m: chr(int(m[1], 16)), text) for name, text in parts.items()}
    return named.get("user_id") == user_id and named.get("agent_id") in (None, app_name, app_name + LEDGER)
