"""The port to mem0 2.x with its real client: what it does, and what is still yours on top of it.

mem0 keeps texts with metadata, finds them again and deletes them. Since version 2 it only ever *adds*: what
contradicts what, who may be believed, and what goes when a source is revoked is written here, on its `add`,
`search`, `get_all`, `update`, `delete` and `history`. Each function takes mem0's client first.

How a memory stands in mem0's rows is given: `solutions/given/mem0_rows.py`.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import warnings
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab import clock
from memlab.engine.blocks import Matches
from memlab.fields import check_fraction, check_id, check_kind, check_list, check_text, check_whole, one_of
from memlab.messages import news, read_messages
from memlab.records import TRUST, Candidate, MemoryRecord, Operation, Source, SourceType, new_id
from memlab.store import MemoryStore
from solutions import forgetting
from solutions.consolidation import Extractor, decide, displaced_by, is_exclusive, take_note
from solutions.extraction import ExtractionFailed, llm_extract, rule_extract
from solutions.given.mem0_rows import (
    LEDGER,
    OVERRIDING,
    Filters,
    Row,
    clear_leftovers,
    conversations,
    delete_rows,
    drop_history,
    holds_text,
    keep_conversation,
    new_memory,
    record_of,
    relevance,
    revoke,
    revoked,
    row_ids,
    rows,
    write_record,
)
from solutions.given.mem0_setup import Server, Store, open_client
from solutions.given.policy_record import policy_record
from solutions.given.screening import Gate
from solutions.injection import remember_session
from solutions.memory_system import MemorySystem, admitted, behind_gate, topic_of, without_secrets
from solutions.retrieval import Hit, Weights, blended_score, pins_first, recency
from solutions.write_gate import ReviewQueue, gate

if TYPE_CHECKING:
    from mem0 import Memory  # type: ignore[import-untyped]


# --- the client ---------------------------------------------------------------------------------------


def build_memory(
    folder: str | os.PathLike[str],
    *,
    store: Store = "chroma",
    server: Server | None = None,
    embeddings: Server | None = None,
    dim: int = 256,
) -> Memory:
    """mem0's own client, with all its files below `folder`; close it when you are done.

    server: answers mem0's prompts and embeds texts: anything with a `url` that speaks both formats. Who
    started it closes it, after the client. None: the real service, by ANTHROPIC_API_KEY or by
    ANTHROPIC_BASE_URL.
    embeddings: embeds in the server's place, `dim` numbers a text; the real service has none, so without a
    server they need this address. Raises ValueError for any other store, and where an address is missing.
    """
    one_of("store", store, ("chroma", "qdrant"))
    if store == "chroma" and (Path(folder) / store).exists():
        from solutions.given.chroma import complete_rewritings, folder_client  # only where Chroma is used

        client: Any = folder_client(Path(folder) / store)  # Any: Chroma's own type does not mention close()
        with closing(client):
            complete_rewritings(client)  # or mem0 would open an empty collection after an erasure was killed
    return open_client(Path(folder), store, server, embeddings, dim)


def read_memories(reply: str) -> list[str]:
    """The texts in a model's reply to mem0's extraction prompt, [] when it says that there are none.

    Raises ExtractionFailed for a reply out of which mem0 would make an empty list by mistake.
    """
    from mem0.memory.utils import extract_json, remove_code_blocks  # type: ignore[import-untyped]

    text = remove_code_blocks(reply)
    for attempt in (text, extract_json(text)):
        try:
            found = json.loads(attempt, strict=False)["memory"]
            return [check_text("text", fact["text"]) for fact in check_list("memory", found, dict)]
        except (ValueError, TypeError, KeyError) as error:
            problem = f"{type(error).__name__}: {error}"
    raise ExtractionFailed(f"reply={reply[:80]!r} does not hold memories as JSON ({problem}); ask again")


def loud(memory: Memory) -> Memory:
    """The client, changed so that a reply which it cannot read makes `add` raise, with nothing kept.

    mem0 logs such a reply and goes on with "no facts". Here the error comes out of mem0 as an LLMError, whose
    cause is our ExtractionFailed. It works with any model, since it looks at the reply itself.
    """
    ask = memory.llm.generate_response

    def checked(*args: Any, **kwargs: Any) -> Any:
        reply = ask(*args, **kwargs)
        if kwargs.get("response_format") == {"type": "json_object"}:
            read_memories(reply)
        return reply

    memory.llm.generate_response = checked
    return memory


# --- whose, and which ---------------------------------------------------------------------------------


def owner_filter(user_id: str, app_name: str = "default", **equal: str) -> Filters:
    """The one way to ask mem0 for memories: one user, one app (mem0's agent), and columns equal to a text.

    mem0 takes "*" for everybody, and lets an AND name another user. Raises ValueError or TypeError that names
    the field for "*", for a column in OVERRIDING or with a `$` in front, for anything but plain text, and for
    an id with a space inside or LEDGER at its end.

    Example:
    >>> owner_filter("u_ada", topic="diet")
    {'user_id': 'u_ada', 'agent_id': 'default', 'topic': 'diet'}
    """
    for name, value in {"user_id": user_id, "app_name": app_name, **equal}.items():
        check_id(name, value)
        if value == "*":
            raise ValueError(f"{name}='*' means everybody's to mem0; name one")
        if name.lower() in OVERRIDING or name.startswith("$"):
            raise ValueError(f"{name}={value!r:.60} could override whose memories these are; leave it out")
        if name in ("user_id", "app_name") and (value.split() != [value] or value.endswith(LEDGER)):
            raise ValueError(f"{name}={value!r:.60} holds a space or ends in {LEDGER}; use another id")
    return {"user_id": user_id, "agent_id": app_name, **equal}


def records(memory: Memory, user_id: str, app_name: str = "default", **equal: str) -> list[MemoryRecord]:
    """The memories of this user in the order of writing: of all sessions, and tombstones too."""
    theirs = rows(memory, owner_filter(user_id, app_name, **equal))
    return [record_of(row) for row in theirs if holds_text(row)]


def owned_row(memory: Memory, memory_id: str, *, user_id: str, app_name: str = "default") -> Row | None:
    """This user's row with that id, ours or mem0's; None when it is another's, or nobody's.

    mem0's own `get`, `update` and `delete` take an id and ask nobody whose memory it is.
    """
    found = rows(memory, owner_filter(user_id, app_name, memory_id=memory_id))
    if found:
        return found[0]
    row: Row | None = memory.get(memory_id)
    owns = row is not None and (row.get("user_id"), row.get("agent_id")) == (user_id, app_name)
    return row if owns else None


def save(memory: Memory, record: MemoryRecord) -> None:
    """Write `record` to mem0: as a new memory, or over this user's memory with its id."""
    owner = {"user_id": record.user_id, "app_name": record.app_name}
    write_record(memory, record, owned_row(memory, record.memory_id, **owner), owner_filter(**owner))


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


# --- recalling ----------------------------------------------------------------------------------------


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
    check_whole("k", k, 0)
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
    owner, mine = {"user_id": user_id, "app_name": app_name}, owner_filter(user_id, app_name)
    before = {record.memory_id: record for record in records(memory, **owner)}
    with MemoryStore() as scratch:
        for record in before.values():
            scratch.put(record)
        for said in conversations(memory, mine):
            scratch.put_conversation(said.messages, said.source, **owner)
        for gone in sorted(revoked(memory, mine) - {source_id}):
            forgetting.forget_source(scratch, gone, **owner)
        revocation = forgetting.forget_source(scratch, source_id, **owner)
        forgetting.regenerate(scratch, **owner, extract=extract)
        after = {record.memory_id: record for record in scratch.owned(**owner)}
    revoke(memory, source_id, mine)
    changed = [record for record in after.values() if record != before.get(record.memory_id)]
    for record in changed:
        save(memory, record)
    drop_history(memory, row_ids(memory, {record.memory_id for record in changed}, mine))
    erase(memory, row_ids(memory, set(before) - set(after), mine), **owner)
    return revocation


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


def erase(memory: Memory, doomed: list[str], *, user_id: str, app_name: str = "default") -> None:
    """Delete these rows, and what mem0 leaves of deleted ones: history, messages, entities, free pages.

    Its history does not say whose a text was: so it goes for every memory that is deleted, by whomever.
    """
    _ = memory.entity_store  # once opened, mem0's delete also clears the names that it drew from a text
    delete_rows(memory, doomed)
    clear_leftovers(memory, user_id, app_name)
    compact(memory)


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
        owner, mine = {"user_id": user_id, "app_name": app_name}, owner_filter(user_id, app_name)
        if source.source_id in revoked(self.memory, mine):
            return [Operation("NOOP", None, "(nothing learned)", f"source {source.source_id} was revoked")]
        talk = without_secrets(messages)
        kept = {c.source.source_id: c.messages for c in conversations(self.memory, mine)}
        before = kept.get(source.source_id, [])
        new = talk[len(talk) - len(news(before, _plain(talk))) :]
        extract = behind_gate(self.extract, self.gate, self.review, talk, user_id=user_id)
        candidates = extract(new) if new else []
        for candidate in candidates:  # all of them before the first is written
            owner_filter(**owner, topic=candidate.topic, subject=candidate.subject)
        done = [
            consolidate(self.memory, candidate, replace(source, excerpt=candidate.excerpt), **owner)
            for candidate in candidates
        ]
        keep_conversation(self.memory, before + _plain(new), source, mine)
        return done

    def close_session(
        self, messages: list[dict[str, Any]], source: Source, *, user_id: str, app_name: str = "default"
    ) -> MemoryRecord:
        """Put a session-scoped memory in place of the transcript; the session is the source's id."""
        check_kind("source", source, Source)
        owner = {"user_id": user_id, "app_name": app_name}
        self._check_not_revoked(source.source_id, **owner)
        talk = without_secrets(messages)
        extract = behind_gate(self.extract, self.gate, self.review, talk, user_id=user_id)
        with MemoryStore() as scratch:
            new = remember_session(scratch, talk, source, **owner, extract=extract)
        earlier = [r for r in records(self.memory, **owner, topic=new.topic) if r.active()]
        displaced = [record for record in earlier if record.session_id == new.session_id]
        supersede(self.memory, displaced, new, "the conversation went on")
        return new

    def remember(
        self, text: str, *, source: Source | None = None, slot: str = "", **where_and_how: Any
    ) -> MemoryRecord:
        """Write one memory by your own code, if the gate lets it pass; see `memory_system.remember`."""
        asked = policy_record(text, source=source, topic=topic_of(slot), **where_and_how)
        new = admitted(asked, gate=self.gate, queue=self.review, source=source)
        self._check_not_revoked(new.sources[-1].source_id, new.user_id, new.app_name)
        supersede(self.memory, rivals(self.memory, new), new, f"one value at a time on {new.topic}")
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
        asked = replace(record, content=text, sources=[_correction(record, text)])
        kept = admitted(asked, gate=self.gate, queue=self.review)
        [told] = kept.sources
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
        waits_already = ReviewQueue()  # for what is flagged again
        extract = behind_gate(self.extract, self.gate, waits_already, [], user_id=user_id)
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

    def _check_not_revoked(self, source_id: str, user_id: str, app_name: str) -> None:
        if source_id in revoked(self.memory, owner_filter(user_id, app_name)):
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
