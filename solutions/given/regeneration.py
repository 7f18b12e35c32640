"""The fine print of regeneration: what hangs together, what is over for good, and what has changed.

Nothing here reads or writes a store: `solutions.forgetting` does.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from memlab.records import Candidate, MemoryRecord, Source

Group = tuple[str, str]
"""A subject and a topic: what a fact is about, and so what it may contradict."""

Statement = tuple[Source, Candidate]
"""What a source said."""

SameFact = Callable[[str, str], bool]
"""Whether two contents say the same, as consolidation sees it."""

REBUILT = ("sources", "confidence", "updated_at", "invalidated_at", "superseded_by")
"""What a replay decides anew. The rest of a memory stays: its id, its words, its history, its first date."""


def about(fact: Candidate | MemoryRecord) -> Group:
    """What a fact is about.

    Example:
    >>> about(Candidate("The user eats fish again.", "diet", 0.9, ""))
    ('user', 'diet')
    """
    return fact.subject, fact.topic


def chain_end(memory_id: str | None, next_of: Mapping[str, str | None]) -> str | None:
    """The first id outside of `next_of` that the chain leads to from `memory_id`.

    next_of: `superseded_by` of each memory by its id. None where the chain ends inside, or is a circle.

    Example:
    >>> chain_end("mem_1", {"mem_1": "mem_2", "mem_2": "mem_3"})
    'mem_3'
    """
    seen = set()
    while memory_id is not None and memory_id in next_of:
        if memory_id in seen:
            return None
        seen.add(memory_id)
        memory_id = next_of[memory_id]
    return memory_id


def over_for_good(records: list[MemoryRecord]) -> list[MemoryRecord]:
    """The memories that nothing said before brings back: those pruned or expired, and what they displaced.

    A tombstone at the end of its chain that is flagged for regeneration was freed, and is not among them.

    Example:
    >>> old = MemoryRecord("Vegetarian.", "u_ada", memory_id="mem_1", superseded_by="mem_2")
    >>> pruned = MemoryRecord("Eats fish again.", "u_ada", memory_id="mem_2", invalidated_at=9.0)
    >>> [record.memory_id for record in over_for_good([old, pruned])]
    ['mem_2', 'mem_1']
    """
    displaced_by, ids = defaultdict(list), {record.memory_id for record in records}
    for record in records:
        displaced_by[record.superseded_by].append(record)
    ends = [record for record in records if record.superseded_by not in ids]
    over = [r for r in ends if r.invalidated_at is not None and not r.needs_regeneration]
    for newer in over:  # grows while it is walked; a circle has no end from which to get into it
        over += displaced_by[newer.memory_id]
    return over


def without(statements: list[Statement], others: list[Statement], same_fact: SameFact) -> list[Statement]:
    """Those of `statements` that are not among `others`: the same fact from the same source.

    Example:
    >>> said = [(Source("user_implicit", "s1"), Candidate("The user likes tea.", "taste:tea", 0.8, ""))]
    >>> without(said, said, str.__eq__)
    []
    """
    known = defaultdict(list)
    for source, candidate in others:
        known[source.source_id].append(candidate.content)
    return [
        (source, candidate)
        for source, candidate in statements
        if not any(same_fact(content, candidate.content) for content in known[source.source_id])
    ]


def in_order(said: list[Statement], witnessed: list[Statement]) -> Iterator[Statement]:
    """Both lists merged by time, each in its own order: what was learned late counts as said late.

    Neither is sorted by its dates: a clock may have been set back in between.
    """
    waiting = deque(witnessed)
    for statement in said:
        while waiting and waiting[0][0].at <= statement[0].at:
            yield waiting.popleft()
        yield statement
    yield from waiting


def put_by_hand(stored: list[MemoryRecord]) -> list[MemoryRecord]:
    """The memories that no source states, as they were before anything displaced them."""
    by_hand = [record for record in stored if not record.own_sources()]
    return [replace(record, invalidated_at=None, superseded_by=None, history=[]) for record in by_hand]


def reconciled(
    owned: list[MemoryRecord], stored: list[MemoryRecord], rebuilt: list[MemoryRecord], same_fact: SameFact
) -> tuple[list[MemoryRecord], list[MemoryRecord]]:
    """What brings the memories `stored` into the state `rebuilt`: those to be written, those to be removed.

    A memory that is in both keeps its id, its history and its first date. Of the others of `owned`, such as
    those of a session, no conversation rebuilds one: only their flag is taken away.
    """
    twins = _twins(stored, rebuilt, same_fact)
    ids = {new.memory_id: (before or new).memory_id for new, before in twins}
    changed = []
    for new, before in twins:
        record = _carried_over(new, before, ids)
        if record != before:
            record.note(_change(record, before))
            changed.append(record)
    kept, known = set(ids.values()), {record.memory_id for record in stored}
    others = [record for record in owned if record.memory_id not in known and record.needs_regeneration]
    changed += [replace(record, needs_regeneration=False) for record in others]
    return changed, [record for record in stored if record.memory_id not in kept]


def _twins(
    stored: Iterable[MemoryRecord], rebuilt: list[MemoryRecord], same_fact: SameFact
) -> list[tuple[MemoryRecord, MemoryRecord | None]]:
    """Each rebuilt memory with the stored one that says the same, if there is one; each used once."""
    free = {record.memory_id: record for record in stored}
    twins: list[tuple[MemoryRecord, MemoryRecord | None]] = []
    for new in rebuilt:
        same = [r for r in free.values() if about(r) == about(new) and same_fact(r.content, new.content)]
        twins.append((new, free.pop(same[0].memory_id) if same else None))
    return twins


def _carried_over(new: MemoryRecord, before: MemoryRecord | None, ids: Mapping[str, str]) -> MemoryRecord:
    """The memory `before` as the replay has it, the `new` one where there was none; no flag is left."""
    new = replace(new, superseded_by=ids[new.superseded_by] if new.superseded_by else None, history=[])
    if before is None:
        return new
    rebuilt = {field: getattr(new, field) for field in REBUILT}
    return replace(before.copy(), **rebuilt, needs_regeneration=False)


def _change(record: MemoryRecord, before: MemoryRecord | None) -> str:
    if record.invalidated_at is not None:
        return f"regenerated: superseded by {record.superseded_by}"
    if before is not None and before.invalidated_at is not None:
        return "revived: what had displaced it rests on no source any more"
    return "regenerated from " + ", ".join(source.source_id for source in record.own_sources())
