"""Forgetting on purpose: revoke a source, rebuild what it touched, prune, expire, erase.

After "Mini-project 5: build a memory system", Part 8, and its exercises 3 and 4.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from memlab import clock
from memlab.embedding import Embedder, hash_embed
from memlab.fields import check_fraction, check_text
from memlab.records import Candidate, MemoryRecord, Source
from memlab.store import MemoryStore
from solutions.consolidation import (
    CORROBORATION,
    WEAK,
    Extractor,
    consolidate,
    is_exclusive,
    same_fact,
    trust_of,
)
from solutions.extraction import rule_extract
from solutions.given.regeneration import (
    Statement,
    about,
    chain_end,
    in_order,
    over_for_good,
    put_by_hand,
    reconciled,
    without,
)


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
    onto what comes after them. Returns the memories that this changed, flagged where they can be rebuilt.

    What the source had added to a memory's confidence goes with it. Changes the records in place; no store
    is written.

    Example:
    >>> sources = [Source("user_explicit", "s1"), Source("user_explicit", "s2")]
    >>> diet = MemoryRecord("The user follows a vegan diet.", "u_ada", confidence=0.95, sources=sources)
    >>> detach("s1", [diet], []) == [diet], diet.confidence, diet.needs_regeneration
    (True, 0.9, True)
    """
    next_of = {record.memory_id: record.superseded_by for record in erased}
    touched = []
    for record in left:
        freed = record.superseded_by in next_of
        if freed:  # it may come back, so it is no end for good
            record.superseded_by = chain_end(record.superseded_by, next_of)
            record.needs_regeneration = True
        if freed or any(source.source_id == source_id for source in record.sources):
            touched.append(record)
    over = {record.memory_id for record in over_for_good(left)}
    for record in touched:
        stated = any(source.source_id == source_id for source in record.own_sources())
        record.sources = [source for source in record.sources if source.source_id != source_id]
        if stated:
            rest = min(record.confidence - CORROBORATION, trust_of(record))
            record.confidence = max(0.0, round(rest, 6))
        record.note(f"source {source_id} revoked")
        record.needs_regeneration = record.memory_id not in over
    return touched


def in_doubt(
    owned: list[MemoryRecord], over: list[MemoryRecord], said: list[Statement]
) -> tuple[list[MemoryRecord], list[Statement]]:
    """The memories and the statements of the groups to be rebuilt, without the memories that are `over`.

    Those are the groups of flagged memories, and those in which something was said and no active memory is
    held: there, what was revoked may have kept the rest out. Only what is shared by all sessions (scope
    "user") is held, or given back: no conversation rebuilds the memory of a session.

    Example:
    >>> tea = Candidate("The user likes tea.", "taste:tea", 0.8, "I like tea.")
    >>> stored, said = in_doubt([], [], [(Source("user_implicit", "s1"), tea)])
    >>> stored, [candidate.content for _, candidate in said]
    ([], ['The user likes tea.'])
    """
    shared = [record for record in owned if record.scope == "user"]
    held = {about(record) for record in shared if record.active()}
    unheld = {about(candidate) for _, candidate in said} - held
    groups = unheld | {about(record) for record in owned if record.needs_regeneration}
    ended = {record.memory_id for record in over}
    stored = [record for record in shared if about(record) in groups and record.memory_id not in ended]
    return stored, [statement for statement in said if about(statement[1]) in groups]


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
        over = over_for_good(owned)
        said = [
            (replace(talk.source, excerpt=candidate.excerpt), candidate)
            for talk in store.conversations(user_id, app_name)
            for candidate in extract(talk.messages)
        ]
        stored, said = in_doubt(owned, over, without(said, witnessed(over), same_fact))
        all_said = in_order(said, without(witnessed(stored), said, same_fact))
        rebuilt = replay(
            all_said, user_id=user_id, app_name=app_name, beside=put_by_hand(stored), embedder=store.embedder
        )
        changed, gone = reconciled(owned, stored, rebuilt, same_fact)
        for record in gone:
            store.remove(record.memory_id, user_id, app_name)
        for record in changed:
            store.put(record)
        return changed


def witnessed(records: Iterable[MemoryRecord]) -> list[Statement]:
    """What the records themselves still say, whose conversation may not be kept: one statement for each
    source that states one, in the order of the records.

    Example:
    >>> sources = [Source("user_explicit", "s1", "I like tea.")]
    >>> tea = MemoryRecord("The user likes tea.", "u_ada", sources=sources)
    >>> [(source.source_id, candidate.excerpt) for source, candidate in witnessed([tea])]
    [('s1', 'I like tea.')]
    """
    return [(source, _testimony(record, source)) for record in records for source in record.own_sources()]


def _testimony(record: MemoryRecord, source: Source) -> Candidate:
    corroborations = len({own.source_id for own in record.own_sources()}) - 1
    start = max(0.0, record.confidence - corroborations * CORROBORATION)
    if is_exclusive(record.topic):  # it was believed, so it was no mere dispute, whoever said it
        start = max(start, WEAK)
    return Candidate(
        record.content, record.topic, start, source.excerpt,
        record.importance, record.half_life_days, record.subject,
    )  # fmt: skip


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
    with MemoryStore(embedder=embedder) as scratch:
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
        faded = [r for r in standing if not r.pinned and r.decayed_confidence() < floor]
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
    expired = []
    with store.transaction():
        for record in store.owned(user_id, app_name):
            if record.invalidated_at is not None or record.expires_at is None:
                continue
            if record.expires_at <= clock.now():
                tombstone(store, record, f"expired at {clock.stamp(record.expires_at)}")
                expired.append(record)
    return expired


def tombstone(store: MemoryStore, record: MemoryRecord, reason: str) -> None:
    """End a memory: it is kept, with the reason in its history, and never retrieved again."""
    record.invalidated_at = clock.now()
    record.needs_regeneration = False  # nothing that was said before brings it back
    record.note(reason)
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
