"""Forgetting on purpose: revoke a source, rebuild what it touched, prune, expire, erase.

After "Mini-project 5: build a memory system", Part 8, and its exercises 3 and 4.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from memlab import clock
from memlab.embedding import Embedder, hash_embed
from memlab.records import (
    PINNED,
    TRUST,
    Candidate,
    MemoryRecord,
    Source,
    check_fraction,
    check_id,
    check_text,
)
from memlab.store import MemoryStore
from solutions.consolidation import CORROBORATION, WEAK, Extractor, consolidate, is_exclusive, same_fact
from solutions.extraction import rule_extract

Group = tuple[str, str]
"""A subject and a topic: what a fact is about, and so what it may contradict."""

Statement = tuple[Source, Candidate]
"""What a source said."""


class Revocation(NamedTuple):
    """What revoking a source did: ids of the memories erased and of those to be regenerated, oldest
    first."""

    erased: list[str]
    flagged: list[str]


def forget_source(store: MemoryStore, source_id: str, user_id: str, app_name: str = "default") -> Revocation:
    """Erase what rests on this source alone, and flag for regeneration what merely touched it.

    The user's conversation of that source goes too, and is not learned again. Reaches every session of
    this user, nothing of anyone else's, and nothing that the app shares. The bytes are gone afterwards.
    Raises ValueError or TypeError for an id that names nothing.

    Example:
    >>> store, sources = MemoryStore(), [Source("user_implicit", "s1")]
    >>> store.put(MemoryRecord("The user goes by Ada.", "u_ada", memory_id="mem_1", sources=sources))
    >>> forget_source(store, "s1", "u_ada")
    Revocation(erased=['mem_1'], flagged=[])
    """
    check_id("source_id", source_id)
    with store.transaction():
        owned = store.owned(user_id, app_name)
        erased = [record for record in owned if rests_only_on(record, source_id)]
        left = [record for record in owned if not rests_only_on(record, source_id)]
        touched = detach(source_id, left, erased)
        store.revoke(source_id, user_id, app_name)
        for record in erased:
            store.remove(record.memory_id, user_id, app_name)
        for record in touched:
            store.put(record)
    store.purge()
    flagged = [record.memory_id for record in touched if record.needs_regeneration]
    return Revocation([record.memory_id for record in erased], flagged)


def rests_only_on(record: MemoryRecord, source_id: str) -> bool:
    """True when no other source states this memory itself; what it inherited does not hold it up.

    Example:
    >>> sources = [Source("user_implicit", "s1", inherited=True), Source("user_explicit", "s3")]
    >>> fish = MemoryRecord("The user eats fish again.", "u_ada", sources=sources)
    >>> rests_only_on(fish, "s3"), rests_only_on(fish, "s1")
    (True, False)
    """
    return {source.source_id for source in record.own_sources()} == {source_id}


def detach(source_id: str, left: list[MemoryRecord], erased: list[MemoryRecord]) -> list[MemoryRecord]:
    """Take the source out of the memories that are left, and hook those that erased ones had displaced
    onto what comes after them. Returns the memories that this changed, flagged where they can be rebuilt;
    it writes nothing.
    """
    freed = _release(erased, left)
    touched = [record for record in left if record.memory_id in freed or _rests(record, source_id)]
    closed = _closed(left, freed)
    for record in touched:
        _strip(record, source_id)
        record.needs_regeneration = record.memory_id not in closed
    return touched


def regenerate(
    store: MemoryStore, user_id: str, app_name: str = "default", *, extract: Extractor = rule_extract
) -> list[MemoryRecord]:
    """Rebuild what is flagged from the sources that remain, as if the revoked ones had never been heard.

    Replays, group by group, what the remaining conversations say and what the records still witness: a
    memory that a revoked source had displaced comes back, and one that it had kept out comes in. Pass the
    `extract` that the conversations were learned with. Returns the memories that changed; a second run
    changes nothing. Raises ValueError or TypeError for a missing owner, and what `extract` raises.

    Example:
    >>> store = MemoryStore()
    >>> for source_id, diet in (("s1", "vegetarian"), ("s2", "vegan")):
    ...     candidate = Candidate(f"The user follows a {diet} diet.", "diet", 0.9, "")
    ...     _ = consolidate(store, candidate, Source("user_explicit", source_id), user_id="u_ada")
    >>> _ = forget_source(store, "s2", "u_ada")
    >>> [record.content for record in regenerate(store, "u_ada")]
    ['The user follows a vegetarian diet.']
    """
    with store.transaction():
        owned = store.owned(user_id, app_name)
        closed = _closed(owned, _ids(record for record in owned if record.needs_regeneration))
        said = _said(store, [r for r in owned if r.memory_id in closed], user_id, app_name, extract)
        wanted = _groups_to_rebuild(owned, said)
        old = [r for r in owned if r.scope == "user" and _group(r) in wanted and r.memory_id not in closed]
        said = [statement for statement in said if _group(statement[1]) in wanted]
        rebuilt = _rebuild(store, old, said, user_id, app_name)
        changed = _reconcile(store, old, rebuilt)
        return changed + _unflag(store, [r for r in owned if r.memory_id not in _ids(old)])


def replay(
    statements: Iterable[Statement],
    *,
    user_id: str,
    app_name: str = "default",
    beside: Iterable[MemoryRecord] = (),
    embedder: Embedder = hash_embed,
) -> list[MemoryRecord]:
    """The memories that come of consolidating `statements`, in this order, on an empty store.

    Tombstones are among them, oldest memory first. `beside` are memories that stand in that store from
    the start. No other store is read or written.
    """
    with MemoryStore(":memory:", embedder) as scratch:
        for record in beside:
            scratch.put(record)
        for source, candidate in statements:
            consolidate(scratch, candidate, source, user_id=user_id, app_name=app_name)
        return scratch.owned(user_id, app_name)


def prune(
    store: MemoryStore, floor: float = 0.2, *, user_id: str, app_name: str = "default"
) -> list[MemoryRecord]:
    """Tombstone the user's memories whose decayed confidence is below `floor` (0..1); those pruned.

    Pins are outside decay and stay. Raises ValueError for a floor outside 0..1.

    Example:
    >>> store = MemoryStore()
    >>> store.put(MemoryRecord("An export fails.", "u_ada", confidence=0.7, half_life_days=30))
    >>> with clock.travel(days=60):
    ...     [record.content for record in prune(store, 0.2, user_id="u_ada")]
    ['An export fails.']
    """
    check_fraction("floor", floor)
    with store.transaction():
        standing = [r for r in store.owned(user_id, app_name) if r.invalidated_at is None]
        faded = [r for r in standing if r.importance < PINNED and r.decayed_confidence() < floor]
        for record in faded:
            why = f"pruned: confidence {record.decayed_confidence():.2f} is below {floor:.2f}"
            tombstone(store, record, why)
        return faded


def expire(store: MemoryStore, *, user_id: str, app_name: str = "default") -> list[MemoryRecord]:
    """Tombstone the user's memories whose `expires_at` has come, pins included; those expired.

    Reading already leaves them out; this clears them away. Raises ValueError for a missing owner.

    Example:
    >>> store = MemoryStore()
    >>> store.put(MemoryRecord("Has a voucher.", "u_ada", expires_at=clock.now() + clock.DAY))
    >>> with clock.travel(days=2):
    ...     [record.content for record in expire(store, user_id="u_ada")]
    ['Has a voucher.']
    """
    with store.transaction():
        standing = [r for r in store.owned(user_id, app_name) if r.invalidated_at is None]
        due = [r for r in standing if r.expires_at is not None and r.expires_at <= clock.now()]
        for record in due:
            tombstone(store, record, f"expired at {clock.stamp(record.expires_at or 0.0)}")
        return due


def tombstone(store: MemoryStore, record: MemoryRecord, reason: str) -> None:
    """End a memory: it is kept, with the reason in its history, and never retrieved again."""
    record.invalidated_at = clock.now()
    record.history.append(f"{clock.stamp(record.invalidated_at)} {reason}")
    store.put(record)


def forget_user(store: MemoryStore, user_id: str, app_name: str = "default") -> int:
    """Erase all that one user owns, down to the bytes of the file; the number of memories erased.

    Raises as `MemoryStore.erase_user` does.

    Example:
    >>> store = MemoryStore()
    >>> store.put(MemoryRecord("The user goes by Ada.", "u_ada"))
    >>> forget_user(store, "u_ada"), forget_user(store, "u_ada")
    (1, 0)
    """
    return store.erase_user(user_id, app_name)


def files_holding(path: str | os.PathLike[str], text: str) -> list[str]:
    """Names of the files of the SQLite database at `path` in whose bytes `text` still stands.

    Looks into the file itself and into what SQLite keeps beside it: write-ahead log, its index, journal.
    An empty list is a proof only for this very spelling, in UTF-8. Raises ValueError for an empty text,
    and for a path where there is no file: nothing is found there either, and nothing is proved.
    """
    check_text("text", text)
    if not os.path.isfile(path):
        raise ValueError(f"path={os.fspath(path)!r} is no file; pass the path that the store was opened with")
    files = [Path(f"{os.fspath(path)}{suffix}") for suffix in ("", "-wal", "-shm", "-journal")]
    return [file.name for file in files if file.exists() and text.encode() in file.read_bytes()]


def _group(fact: Candidate | MemoryRecord) -> Group:
    return fact.subject, fact.topic


def _rests(record: MemoryRecord, source_id: str) -> bool:
    return any(source.source_id == source_id for source in record.sources)


def _ids(records: Iterable[MemoryRecord]) -> set[str]:
    return {record.memory_id for record in records}


def _release(erased: list[MemoryRecord], left: list[MemoryRecord]) -> set[str]:
    """Hook the memories that erased ones had displaced onto what displaced those in turn, if anything
    did. Returns the ids of those with a new place in their chain."""
    successor = {record.memory_id: record.superseded_by for record in erased}
    freed = [record for record in left if record.superseded_by in successor]
    for record in freed:
        while record.superseded_by in successor:
            record.superseded_by = successor[record.superseded_by]
    return _ids(freed)


def _closed(owned: list[MemoryRecord], open_ends: set[str]) -> set[str]:
    """Ids of the memories that are history for good: their chain ends in one that was pruned or has
    expired, and is not among `open_ends`; so nothing that was said before brings them back."""
    by_id = {record.memory_id: record for record in owned}
    closed = set()
    for record in owned:
        last = record
        while last.superseded_by in by_id:
            last = by_id[last.superseded_by]
        if last.invalidated_at is not None and last.memory_id not in open_ends:
            closed.add(record.memory_id)
    return closed


def _strip(record: MemoryRecord, source_id: str) -> None:
    """Take the source out at once, with its words; what it added to our confidence goes with it."""
    if any(source.source_id == source_id for source in record.own_sources()):
        others = [TRUST[s.source_type] for s in record.own_sources() if s.source_id != source_id]
        rest = max(others, default=0.0)
        record.confidence = round(max(0.0, min(record.confidence - CORROBORATION, rest)), 6)
    record.sources = [source for source in record.sources if source.source_id != source_id]
    record.note(f"source {source_id} revoked")


def _said(
    store: MemoryStore, closed: list[MemoryRecord], user_id: str, app_name: str, extract: Extractor
) -> list[Statement]:
    """What the remaining conversations say, in the order in which they were learned; without what they
    said for a memory that is closed."""
    over = [(source.source_id, record) for record in closed for source in record.own_sources()]
    return [
        (replace(conversation.source, excerpt=candidate.excerpt), candidate)
        for conversation in store.conversations(user_id, app_name)
        for candidate in extract(conversation.messages)
        if not any(
            conversation.source.source_id == source_id and same_fact(candidate.content, record.content)
            for source_id, record in over
        )
    ]


def _groups_to_rebuild(owned: list[MemoryRecord], said: list[Statement]) -> set[Group]:
    """The groups of flagged memories, and those in which something was said and nothing is held: there,
    what was revoked may have kept the rest out."""
    flagged = {_group(record) for record in owned if record.needs_regeneration}
    held = {_group(record) for record in owned if record.scope == "user" and record.active()}
    return flagged | {_group(candidate) for _, candidate in said} - held


def _witnessed(old: list[MemoryRecord], said: list[Statement]) -> list[Statement]:
    """What the records themselves still witness, of sources whose conversation is not kept; in the order of
    the records, not of dates: a clock may have been set back between two of them."""
    return [
        (source, _testimony(record, source))
        for record in old
        for source in record.own_sources()
        if not any(s.source_id == source.source_id and same_fact(c.content, record.content) for s, c in said)
    ]


def _testimony(record: MemoryRecord, source: Source) -> Candidate:
    corroborations = len({own.source_id for own in record.own_sources()}) - 1
    start = max(0.0, record.confidence - corroborations * CORROBORATION)
    return Candidate(
        record.content,
        record.topic,
        # It was believed, so it was no mere dispute, however little its source is trusted.
        max(start, WEAK) if is_exclusive(record.topic) else start,
        source.excerpt,
        record.importance,
        record.half_life_days,
        record.subject,
    )


def _rebuild(
    store: MemoryStore, old: list[MemoryRecord], said: list[Statement], user_id: str, app_name: str
) -> list[MemoryRecord]:
    by_hand = [r for r in old if not r.own_sources()]  # they stand on their own
    return replay(
        _in_order(_witnessed(old, said), said),
        user_id=user_id,
        app_name=app_name,
        beside=[replace(r, invalidated_at=None, superseded_by=None, history=[]) for r in by_hand],
        embedder=store.embedder,
    )


def _in_order(witnessed: list[Statement], said: list[Statement]) -> Iterator[Statement]:
    """Both lists merged by time, each in its own order: what was learned late counts as said late."""
    waiting = list(witnessed)
    for statement in said:
        while waiting and waiting[0][0].at <= statement[0].at:
            yield waiting.pop(0)
        yield statement
    yield from waiting


def _reconcile(
    store: MemoryStore, old: list[MemoryRecord], rebuilt: list[MemoryRecord]
) -> list[MemoryRecord]:
    """Bring the stored memories into the rebuilt state, keeping their ids, histories and first dates."""
    pairs = _paired(old, rebuilt)
    ids = {new.memory_id: before.memory_id if before else new.memory_id for new, before in pairs}
    kept, changed = set(ids.values()), []
    for record in old:
        if record.memory_id not in kept:
            store.remove(record.memory_id, record.user_id, record.app_name)
    for new, before in pairs:
        record = _carried_over(new, before, ids)
        if before is None or record != before:
            record.note(_change(record, before))
            store.put(record)
            changed.append(record)
    return changed


def _unflag(store: MemoryStore, records: list[MemoryRecord]) -> list[MemoryRecord]:
    """Records that no conversation rebuilds, such as those of a session: stripped is all they can be."""
    flagged = [record for record in records if record.needs_regeneration]
    for record in flagged:
        record.needs_regeneration = False
        store.put(record)
    return flagged


def _paired(
    old: list[MemoryRecord], rebuilt: list[MemoryRecord]
) -> list[tuple[MemoryRecord, MemoryRecord | None]]:
    """Each rebuilt memory with the stored one that says the same, if there is one; each used once."""
    free = list(old)
    pairs: list[tuple[MemoryRecord, MemoryRecord | None]] = []
    for new in rebuilt:
        before = next((r for r in free if r.topic == new.topic and same_fact(r.content, new.content)), None)
        if before is not None:
            free.remove(before)
        pairs.append((new, before))
    return pairs


def _carried_over(new: MemoryRecord, before: MemoryRecord | None, ids: dict[str, str]) -> MemoryRecord:
    successor = ids[new.superseded_by] if new.superseded_by else None
    if before is None:
        return replace(new, superseded_by=successor, history=[])
    return replace(
        before,
        sources=new.sources,
        confidence=new.confidence,
        updated_at=new.updated_at,
        invalidated_at=new.invalidated_at,
        superseded_by=successor,
        needs_regeneration=False,
        history=list(before.history),
    )


def _change(record: MemoryRecord, before: MemoryRecord | None) -> str:
    if record.invalidated_at is not None:
        return f"regenerated: superseded by {record.superseded_by}"
    if before is not None and before.invalidated_at is not None:
        return "revived: what had displaced it rests on no source any more"
    return "regenerated from " + ", ".join(source.source_id for source in record.own_sources())
