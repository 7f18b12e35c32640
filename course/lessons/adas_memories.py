"""What the checks of consolidation are made of: Ada's memories, and stores that fail or watch.

Memories carry ids that say what they are, so that a failed check can name them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from course.check import Function, Misconception
from memlab.records import Candidate, MemoryRecord, Operation, Source, SourceType
from memlab.store import MemoryStore

LEARNED_AT = 1_000_000.0


def a_source(kind: SourceType, source_id: str, **fields: Any) -> Source:
    return Source(kind, source_id, **({"at": LEARNED_AT} | fields))


CHAT, OTHER_CHAT = a_source("user_implicit", "s1"), a_source("user_implicit", "s9")
FORM, TOOL = a_source("user_explicit", "f9"), a_source("tool_output", "t9")
FROM_TOOL, FROM_FORM = (replace(source, inherited=True) for source in (TOOL, FORM))


def a_memory(name: str, content: str, topic: str = "diet", *sources: Source, **fields: Any) -> MemoryRecord:
    """A memory of Ada's whose id is mem_`name`; unless given, its one source is s1, a chat of hers."""
    usual: dict[str, Any] = {
        "user_id": "ada", "created_at": LEARNED_AT, "updated_at": LEARNED_AT, "confidence": 0.65,
        "sources": list(sources or (CHAT,)),
    }  # fmt: skip
    return MemoryRecord(content, topic=topic, memory_id=f"mem_{name}", **usual | fields)


VEGETARIAN = a_memory("vegetarian", "The user follows a vegetarian diet.")
EATS_FISH = a_memory("fish", "The user eats fish again.")
EATS_MEAT = a_memory("meat", "The user eats meat again.", "diet", OTHER_CHAT)
VEGAN = a_memory("vegan", "The user follows a vegan diet.", "diet", FORM)
WIFE = a_memory("wife", "The user's wife follows a vegan diet.", subject="wife")
AISLE = a_memory("aisle", "The user prefers aisle seating on flights.", "travel")
TRAINS = a_memory("trains", "The user prefers aisle seating on trains.", "travel")
SEATING = a_memory("seating", AISLE.content, "seating")
EXPORT = a_memory("export", "The user reported a failing export/upload.", "issue")
NEW_FISH = replace(EATS_FISH, sources=[FORM])

FISH = Candidate(EATS_FISH.content, "diet", 0.9, "I've started eating fish again.")
WINDOW = Candidate("The user prefers window seating on flights.", "travel", 0.85, "the window seat, please")
STEAK = Candidate("The user ate steak once.", "diet", 0.3, "I had steak for dinner")
LOGIN = Candidate("The user cannot log in.", "issue", 0.7, "")
DETAIL = Candidate("The export fails on Windows only.", "issue", 0.7, "")
HIKING = Candidate("The user likes hiking.", "taste:hiking", 0.8, "")
REASON = "contradicts mem_vegetarian"
AGREES = Operation("NOOP", "mem_fish", EATS_FISH.content, "identical to an existing memory")


def bos(record: MemoryRecord) -> MemoryRecord:
    return replace(record, user_id="bo", memory_id="mem_of_bo")


def apps(record: MemoryRecord) -> MemoryRecord:
    source = a_source("bootstrapped", "crm")
    return replace(record, scope="app", user_id="ops", memory_id="mem_of_the_app", sources=[source])


def dead(record: MemoryRecord) -> MemoryRecord:
    return replace(record, invalidated_at=LEARNED_AT, memory_id="mem_tombstone")


def names(got: object) -> list[str]:
    """Memories as the names in their ids; raises Misconception for what is no list of memories."""
    if not isinstance(got, list | tuple) or not all(isinstance(item, MemoryRecord) for item in got):
        raise Misconception("Give back a list of memories, which may be empty.", got=got)
    return [item.memory_id.removeprefix("mem_") for item in got]


def told(*args: Any, **kwargs: Any) -> str:
    """The values of a row in words; what only serves the check is left out."""
    shown = {name: value for name, value in kwargs.items() if name not in ("look", "fails", "embedder")}
    return ", ".join([*map(words, args), *(f"{name} {words(value)}" for name, value in shown.items())])


def words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(words, value))}]"
    if isinstance(value, MemoryRecord):
        return f"{names([value])[0]} from {' + '.join(map(words, value.sources)) or 'nobody'}"
    if isinstance(value, Source):
        return f"{value.source_type} {value.source_id}{' (inherited)' if value.inherited else ''}"
    if isinstance(value, Candidate):
        return f"{value.content!r}/{value.topic}"
    if isinstance(value, Operation | Proposal):
        return f"{value.action} {value.target_id} {value.content!r}"
    if isinstance(value, dict) and "content" in value:
        return repr(value["content"])
    return value.__name__.strip("_") if callable(value) else repr(value)


@dataclass(frozen=True)
class Proposal:
    """What a model answered, field by field as in `Decision`."""

    action: str
    target_id: str | None
    content: str = FISH.content
    reason: str = "because"


class PowerCut(Exception):
    """What a `FailingStore` raises in place of its power going out."""


class FailingStore(MemoryStore):
    """A store whose power goes out just before write number `writes` (1 for the first)."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self.left = writes

    def put(self, record: MemoryRecord) -> None:
        self.left -= 1
        if self.left == 0:
            raise PowerCut
        super().put(record)


def after_a_power_cut(
    replace_old: Callable[[MemoryStore, MemoryRecord, MemoryRecord], None],
    old: MemoryRecord,
    new: MemoryRecord,
    write: int,
) -> list[MemoryRecord]:
    """What holds when the power goes out before write number `write` of `replace_old(store, old, new)`."""
    return cut_off(lambda store, olds, new: replace_old(store, olds[0], new), [old], new, write)


def cut_off(
    replace_all: Function, olds: list[MemoryRecord], new: MemoryRecord, write: int
) -> list[MemoryRecord]:
    with FailingStore(len(olds) + write) as store:
        for old in olds:
            store.put(copy.deepcopy(old))
        with suppress(PowerCut):  # the store is then looked at as the next process finds it
            replace_all(store, copy.deepcopy(olds), copy.deepcopy(new))
        return store.scan(new.user_id, new.app_name)


class WatchedStore(MemoryStore):
    """A store that keeps the names of the reads and writes that stand in no transaction of its caller's."""

    depth = 0

    def __init__(self) -> None:
        super().__init__()
        self.outside: list[str] = []

    @contextmanager
    def transaction(self) -> Iterator[None]:
        WatchedStore.depth += 1
        try:
            with super().transaction():
                yield
        finally:
            WatchedStore.depth -= 1

    def __getattribute__(self, name: str) -> Any:
        if name in ("put", "get", "scan", "search") and not WatchedStore.depth:
            object.__getattribute__(self, "outside").append(name)
        return super().__getattribute__(name)


def in_a_store(function: Function) -> Function:
    """Calls `function(store, *args, user_id="ada")` on a store that holds `stored`, and looks at the result.

    before: the arguments of calls that come first. revoked: ids of sources. fails: what may be raised.
    look: from the store and the result to what is compared.
    """

    def run(
        stored: Sequence[MemoryRecord], *args: Any, look: Function, before: Sequence[Any] = (),
        revoked: Sequence[str] = (), fails: tuple[type[Exception], ...] = (), **kwargs: Any,
    ) -> Any:  # fmt: skip
        store = WatchedStore()
        with store:
            for record in stored:
                store.put(record)
            for earlier in before:
                function(store, *earlier, user_id="ada", **kwargs)
            for source_id in revoked:
                store.revoke(source_id, "ada")
            store.outside.clear()
            result = None
            with suppress(*fails):
                result = function(store, *args, user_id="ada", **kwargs)
            return look(store, result)

    return run
