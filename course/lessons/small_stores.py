"""Small stores made by hand, and what is left in them, in words: for the checks of lesson 07."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from course.check import Cases, Function, Misconception, Shown
from memlab import clock
from memlab.records import Candidate, MemoryRecord, Source
from memlab.store import MemoryStore

NOW = clock.timestamp("2026-08-06T20:11:27Z")
KINDS: dict[str, Any] = {"u": "user_explicit", "t": "tool_output", "c": "bootstrapped"}
VEG = Candidate("The user follows a vegetarian diet.", "diet", 0.9, "I'm a vegetarian", 0.8, 365)
FISH = Candidate("The user eats fish again.", "diet", 0.9, "I've started eating fish again", 0.8, 365)
NAME = Candidate("The user goes by Ada.", "identity", 0.95, "Call me Ada", 0.8, 3650)
WORDS = {VEG.content: "veg", FISH.content: "fish", NAME.content: "name"}


def sources_of(ids: str) -> list[Source]:
    """ "(s1) s3" gives s1, inherited, and s3; a first letter u, t or c is another kind of source."""
    return [
        replace(source_of(word.strip("()")), excerpt=f"words of {word}", inherited="(" in word)
        for word in ids.split()
    ]


def source_of(source_id: str) -> Source:
    """s3 spoke on day 3."""
    kind = KINDS.get(source_id[0], "user_implicit")
    return Source(kind, source_id, at=int(source_id[1:]) * clock.DAY)


def memory(name: str, sources: str, user_id: str = "ada", **fields: Any) -> MemoryRecord:
    """The memory "name." with this id; one that is superseded is a tombstone."""
    if fields.get("superseded_by"):
        fields.setdefault("invalidated_at", NOW)
    content = fields.pop("content", f"{name}.")
    return MemoryRecord(content, user_id, memory_id=name, sources=sources_of(sources), **fields)


def memory_of(candidate: Candidate, name: str, sources: str, **fields: Any) -> MemoryRecord:
    """A memory of what `candidate` says."""
    return memory(name, sources, content=candidate.content, topic=candidate.topic, importance=0.8, **fields)


def store_of(*records: MemoryRecord, store: MemoryStore | None = None) -> MemoryStore:
    """A store that holds them."""
    store = store or MemoryStore()
    for record in records:
        store.put(record)
    return store


def checked(records: object, what: str) -> list[MemoryRecord]:
    """What an answer gave back, if it is a list of memories; else raises Misconception."""
    if not isinstance(records, (list, tuple)) or not all(isinstance(r, MemoryRecord) for r in records):
        sentence = f"Give back the memories {what}, as a list of records."
        raise Misconception(sentence, expected=Shown("list[MemoryRecord]"), got=records)
    return list(records)


def ids_of(records: object, what: str) -> list[str]:
    """The ids of what an answer gave back."""
    return [record.memory_id for record in checked(records, what)]


def in_words(records: object, what: str = "in the store") -> list[str]:
    """Each memory in a few words: what it says, its state, its sources and its confidence."""
    known = checked(records, what)
    names = {record.memory_id: WORDS.get(record.content, record.content.strip(".")) for record in known}
    lines = []
    for record in known:
        under = f"under {names.get(record.superseded_by or '', record.superseded_by or '')}"
        ended = under if record.superseded_by else "tombstone"
        state = "active" if record.invalidated_at is None and not record.superseded_by else ended
        sources = [f"({s.source_id})" if s.inherited else s.source_id for s in record.sources]
        flag = ["flagged"] if record.needs_regeneration else []
        words = [names[record.memory_id], state, *sources, f"{record.confidence:.2f}", *flag]
        lines.append(" ".join(words))
    return lines


def everything(store: MemoryStore) -> list[str]:
    """All memories in the store: Ada's, the app's, Bo's, and Ada's in another app."""
    shared = store.scan("ada", scopes=("app",), include_invalid=True)
    return in_words(store.owned("ada") + shared + store.owned("bo") + store.owned("ada", "bank"))


def in_a_line(records: Sequence[MemoryRecord]) -> str:
    """What is given, in words."""
    return ", ".join(in_words(list(records))) or "none"


class _PowerCut(RuntimeError):
    pass


class _FailingStore(MemoryStore):
    """The power goes out at the write after `left` more."""

    left = 99

    def put(self, record: MemoryRecord) -> None:
        self.left -= 1
        if self.left < 0:
            raise _PowerCut("power cut")
        super().put(record)


def is_all_or_nothing(case: Cases, change: Function, left: int, *records: MemoryRecord) -> None:
    """`change(store)` is cut short after `left` writes: the store is then as it was."""
    store = _FailingStore()
    before = everything(store_of(*records, store=store))
    store.left = left
    with contextlib.suppress(_PowerCut):
        change(store)
    after = [*everything(store), *(f"{source_id} revoked" for source_id in store.revoked("ada"))]
    case.holds("a power cut leaves all or nothing", after == before,
               "The power went out before all was written, and half of the work was done already: put all "
               "writes into one `with store.transaction():`.",
               given="a write fails halfway", expected=Shown(str(before)), got=Shown(str(after)))  # fmt: skip
