"""What the store holds: memories with provenance. Every value is checked when it is made.

The design follows "Mini-project 5: build a memory system", Part 2: a list of sources rather than one,
tombstones rather than deletion, a half-life and a confidence on each record.
"""

from __future__ import annotations

import json
import math
import random
import uuid
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from memlab import clock
from memlab.fields import (
    MAX_CONTENT,
    Check,
    check_bool,
    check_excerpt,
    check_extra,
    check_fraction,
    check_id,
    check_list,
    check_positive,
    check_text,
    check_time,
    choice,
    optional,
)

SourceType = Literal["bootstrapped", "user_explicit", "user_implicit", "tool_output"]
Scope = Literal["user", "session", "app"]
Action = Literal["CREATE", "UPDATE", "NOOP"]

TRUST: dict[str, float] = {
    "bootstrapped": 0.95,
    "user_explicit": 0.90,
    "user_implicit": 0.65,
    "tool_output": 0.30,
}
"""How far a kind of source is believed, 0..1: the most confidence a memory from it can start with."""

SOURCE_TYPES = tuple(TRUST)
SCOPES: tuple[Scope, ...] = ("user", "session", "app")
ACTIONS: tuple[Action, ...] = ("CREATE", "UPDATE", "NOOP")

PINNED = 1.0
"""The importance from which a memory is a pin: shown whatever the question is, and outside decay."""

NOT_IN_JSON = ("extra", "embedding")
MAX_LINE = 11 * MAX_CONTENT  # a line of history may quote a whole content, each character escaped

_ids: random.Random | None = None


def seed_ids(seed: str | None) -> None:
    """Draw the ids of new records from `seed`, so that a demo prints the same ids; None: random again."""
    global _ids
    _ids = None if seed is None else random.Random(check_text("seed", seed, empty=True))


def new_id() -> str:
    """A fresh memory id: `mem_` and 12 hex digits."""
    return f"mem_{_ids.getrandbits(48):012x}" if _ids else "mem_" + uuid.uuid4().hex[:12]


def _valid_sources(name: str, value: object) -> list[Source]:
    sources = check_list(name, value, Source)
    for source in sources:
        source.validate()
    return sources


def _valid_lines(name: str, value: object) -> list[str]:
    lines = check_list(name, value, str)
    for line in lines:
        check_text(name, line, most=MAX_LINE)
    return lines


# fmt: off
FIELDS: dict[str, Check] = {
    # what a fact says
    "content": check_text, "topic": check_id, "subject": check_id,
    "importance": check_fraction, "confidence": check_fraction, "half_life_days": check_positive,
    # whose it is
    "user_id": check_id, "app_name": check_id, "scope": choice(SCOPES),
    "session_id": optional(check_id),
    # where it came from
    "source_type": choice(SOURCE_TYPES), "source_id": check_id,
    "excerpt": check_excerpt, "at": check_time, "inherited": check_bool,
    "sources": _valid_sources,
    # what became of it
    "memory_id": check_id, "created_at": check_time, "updated_at": check_time,
    "expires_at": optional(check_time), "invalidated_at": optional(check_time),
    "superseded_by": optional(check_id), "needs_regeneration": check_bool, "history": _valid_lines,
    # what was decided about it
    "action": choice(ACTIONS), "target_id": optional(check_id), "reason": check_text,
    # keys of a newer version
    "extra": check_extra,
}
# fmt: on
"""What a valid field is, of whatever it is a field: the check that its value passes."""


class Checked:
    """A dataclass whose fields hold what FIELDS says, from the moment that it is made."""

    _checks: ClassVar[list[tuple[str, Check]]]  # filled below, once the fields are known

    def __post_init__(self) -> None:
        self.validate()

    def validate(self) -> None:
        """Check every field, as on creation; the store calls it again before it writes."""
        values = self.__dict__
        for name, check in self._checks:
            given = values[name]
            valid = check(name, given)
            if valid is not given:  # such as the timestamp of a datetime
                values[name] = valid


@dataclass
class Source(Checked):
    """One thing that a memory was derived from. A memory can have several.

    source_type: a key of TRUST. source_id: the session, form or record it came from.
    excerpt: the words themselves, for auditing. at: POSIX seconds, or an aware datetime.
    inherited: True when the memory only took this source over from one it replaced. Such a source
    counts for revocation, not for how easily the memory may be overwritten.
    Raises ValueError or TypeError that names the field.

    Example:
    >>> Source("user_explicit", "s3", excerpt="Call me Ada.", at="1970-01-02T00:00:00Z").at
    86400.0
    """

    source_type: SourceType
    source_id: str
    excerpt: str = ""
    at: float = field(default_factory=clock.now)
    inherited: bool = False
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass
class MemoryRecord(Checked):
    """One fact about a user, with where it came from, how sure we are, and what became of it.

    importance and confidence lie in 0..1; half_life_days > 0; times are POSIX seconds or aware
    datetimes. `expires_at` is the first instant at which the memory no longer holds. A pin has
    importance 1.0. `subject` is who the fact is about: "user", or someone else such as "son".
    Raises ValueError or TypeError that names the field.

    Example:
    >>> record = MemoryRecord("The user goes by Ada.", "u_ada", topic="identity", confidence=0.65)
    >>> MemoryRecord.from_json(record.to_json()) == record
    True
    """

    content: str
    user_id: str
    app_name: str = "default"
    scope: Scope = "user"
    session_id: str | None = None
    topic: str = "general"
    subject: str = "user"
    importance: float = 0.5
    half_life_days: float = 180.0
    confidence: float = 0.6
    sources: list[Source] = field(default_factory=list)
    expires_at: float | None = None
    memory_id: str = field(default_factory=new_id)
    created_at: float = field(default_factory=clock.now)
    updated_at: float = field(default_factory=clock.now)
    invalidated_at: float | None = None
    superseded_by: str | None = None
    needs_regeneration: bool = False
    history: list[str] = field(default_factory=list)
    embedding: list[float] = field(default_factory=list, compare=False, repr=False)
    extra: dict[str, Any] = field(default_factory=dict, repr=False)

    def validate(self) -> None:
        """Check every field, as on creation; the store calls it again before it writes."""
        super().validate()
        if (self.scope == "session") != (self.session_id is not None):
            raise ValueError(
                f"session_id={self.session_id!r} does not fit scope={self.scope!r}; "
                "a session-scoped memory names its session, any other leaves session_id=None"
            )

    def active(self, now: float | None = None) -> bool:
        """True while the memory holds: not tombstoned, and not expired at `now`."""
        at = clock.now() if now is None else clock.timestamp(now, "now")
        return self.invalidated_at is None and (self.expires_at is None or at < self.expires_at)

    def age_days(self, now: float | None = None) -> float:
        """Days since the memory was last confirmed; never negative, even if a clock was set back."""
        at = clock.now() if now is None else clock.timestamp(now, "now")
        return max(0.0, at - self.updated_at) / clock.DAY

    def decayed_confidence(self, now: float | None = None) -> float:
        """Confidence at `now`, 0..1: it halves every `half_life_days`.

        Example:
        >>> record = MemoryRecord("The user goes by Ada.", "u_ada", half_life_days=30, confidence=0.8)
        >>> round(record.decayed_confidence(record.updated_at + 30 * 86_400), 3)
        0.4
        """
        return decayed(self.confidence, self.age_days(now), self.half_life_days)

    def own_sources(self) -> list[Source]:
        """The sources that state this memory themselves, without those it inherited."""
        return [source for source in self.sources if not source.inherited]

    @property
    def pinned(self) -> bool:
        """True for a pin: shown whatever the question is, and outside the ranking, the budget and decay."""
        return self.importance >= PINNED

    def note(self, line: str) -> None:
        """Add `line`, with the time before it, to the history; raises TypeError or ValueError for no text.

        Example:
        >>> record = MemoryRecord("The user goes by Ada.", "u_ada")
        >>> with clock.freeze("2026-11-30T09:00:00Z"):
        ...     record.note("corroborated by user_implicit")
        >>> record.history
        ['2026-11-30 09:00:00 corroborated by user_implicit']
        """
        self.history.append(f"{clock.stamp(clock.now())} {check_text('line', line, most=MAX_LINE - 20)}")

    def continue_history_of(self, old: MemoryRecord) -> None:
        """Put the lines of `old`, which this record replaces under its id, first: history only grows.

        Example:
        >>> old = MemoryRecord("The user goes by Ada.", "u_ada", history=["learned in s1"])
        >>> new = MemoryRecord("The user goes by Al.", "u_ada", history=["corrected in s2"])
        >>> new.continue_history_of(old)
        >>> new.history[:2], new.history[2][20:]
        (['learned in s1', 'corrected in s2'], "content was 'The user goes by Ada.'")
        """
        same = 0
        while same < len(old.history) and self.history[same : same + 1] == [old.history[same]]:
            same += 1
        self.history = old.history + self.history[same:]
        if old.content != self.content:
            self.note(f"content was {old.content!r}")

    def copy(self) -> MemoryRecord:
        """A record that says the same; changing one of the two leaves the other as it is.

        Example:
        >>> one = MemoryRecord("The user goes by Ada.", "u_ada", sources=[Source("user_implicit", "s1")])
        >>> two = one.copy()
        >>> two.sources[0].excerpt = "Call me Ada."
        >>> one.sources[0].excerpt, two == one.copy()
        ('', False)
        """
        twin: MemoryRecord = _twin(self)
        twin.sources = [_twin(source) for source in self.sources]
        twin.history, twin.embedding = self.history.copy(), self.embedding.copy()
        return twin

    def to_json(self) -> str:
        """JSON text of every field but the embedding, which the store can always make again."""
        sources = [_dump(source) for source in self.sources]
        return json.dumps(_dump(self) | {"sources": sources}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> MemoryRecord:
        """The record that `to_json` wrote; keys of a newer version are kept and written back.

        Raises ValueError when `text` is not the JSON of a record.
        """
        try:
            raw = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"text={text!r:.60} is not JSON ({error}); pass what to_json() gave") from None
        sources = raw.get("sources", []) if isinstance(raw, dict) else []
        if not isinstance(sources, list):
            raise ValueError(f"sources={sources!r:.60} is not a list of objects; pass what to_json() gave")
        if sources:
            raw["sources"] = [_load(Source, source) for source in sources]
        record: MemoryRecord = _load(cls, raw)
        return record


@dataclass
class Candidate(Checked):
    """A fact that an extractor proposes. It becomes a memory only if the code behind it agrees.

    excerpt: the words it was drawn from. Numbers as in MemoryRecord. Raises as MemoryRecord does.

    Example:
    >>> Candidate("The user goes by Ada.", "identity", 0.95, "Call me Ada.").subject
    'user'
    """

    content: str
    topic: str
    confidence: float
    excerpt: str
    importance: float = 0.5
    half_life_days: float = 180.0
    subject: str = "user"


@dataclass
class Conversation:
    """What was said, and the source under which it was learned; messages as [{"role", "content"}]."""

    source: Source
    messages: list[dict[str, str]]


@dataclass
class Operation(Checked):
    """What consolidation decided about a candidate, and why; `target_id` is the memory it concerns.

    action: one of ACTIONS. Raises ValueError or TypeError that names the field.

    Example:
    >>> Operation("CREATE", None, "The user goes by Ada.", "novel topic for this user").action
    'CREATE'
    """

    action: Action
    target_id: str | None
    content: str
    reason: str


def decayed(confidence: float, age_days: float, half_life_days: float) -> float:
    """What is left of `confidence` (0..1) at the age of `age_days`: it halves every `half_life_days`.

    Raises ValueError for a half-life that is not above 0.

    Example:
    >>> decayed(0.8, age_days=60, half_life_days=30)
    0.2
    """
    return confidence * math.exp2(-age_days / check_positive("half_life_days", half_life_days))


def starting_confidence(claimed: float, source: Source) -> float:
    """How sure a new memory may be, 0..1: as sure as is claimed, never surer than its source is trusted.

    claimed: the extractor's own confidence, 0..1; outside of that, raises ValueError.

    Example:
    >>> starting_confidence(0.95, Source("user_implicit", "s1"))
    0.65
    """
    return min(check_fraction("claimed", claimed), TRUST[source.source_type])


def held_at(record: MemoryRecord, at: clock.Instant) -> bool:
    """True if `record` held at the instant `at`: made by then, and neither tombstoned nor expired yet.

    at: POSIX seconds, an aware datetime, or ISO 8601 text. A tombstone or an expiry counts from its own
    instant on. Raises ValueError or TypeError for what is no instant.

    Example:
    >>> record = MemoryRecord("The user goes by Ada.", "u_ada", created_at=100.0, invalidated_at=200.0)
    >>> held_at(record, 150.0), held_at(record, 200.0)
    (True, False)
    """
    moment = clock.timestamp(at, "at")
    ends = [end for end in (record.invalidated_at, record.expires_at) if end is not None]
    return record.created_at <= moment and all(moment < end for end in ends)


def lineage(records: Iterable[MemoryRecord], memory_id: str) -> list[MemoryRecord]:
    """How a belief came about: the memory with this id and all it replaced, each before what replaced it.

    The memory itself stands last. Raises ValueError for an id that is not among `records`, and for
    memories that replace each other in a circle.

    Example:
    >>> old = MemoryRecord("Vegetarian.", "u_ada", memory_id="mem_1", superseded_by="mem_2")
    >>> new = MemoryRecord("Eats fish again.", "u_ada", memory_id="mem_2")
    >>> [record.content for record in lineage([new, old], "mem_2")]
    ['Vegetarian.', 'Eats fish again.']
    """
    by_id = {record.memory_id: record for record in records}
    if memory_id not in by_id:
        raise ValueError(f"memory_id={memory_id!r:.60} is not among the records; pass tombstones as well")
    found = [by_id[memory_id]]
    for newer in found:  # grows while it is walked
        found += [older for older in by_id.values() if older.superseded_by == newer.memory_id]
        if len(found) > len(by_id):
            raise ValueError(f"superseded_by of {newer.memory_id!r} closes a circle; mend that record")
    return found[::-1]


def _twin(thing: Any) -> Any:
    twin = object.__new__(type(thing))
    vars(twin).update(vars(thing), extra=deepcopy(thing.extra) if thing.extra else {})
    return twin


def _dump(thing: MemoryRecord | Source) -> dict[str, Any]:
    names = thing.__dataclass_fields__  # `fields()` is slow, and every recall loads records
    return thing.extra | {name: getattr(thing, name) for name in names if name not in NOT_IN_JSON}


def _load(cls: type[Any], raw: object) -> Any:
    if not isinstance(raw, dict):
        raise ValueError(f"{raw!r:.60} is not the JSON of a {cls.__name__}; pass what to_json() gave")
    names = _WRITTEN[cls]
    if not names.issuperset(raw):
        known = {key: value for key, value in raw.items() if key in names}
        raw = known | {"extra": {key: value for key, value in raw.items() if key not in names}}
    try:
        return cls(**raw)
    except TypeError as error:
        raise ValueError(f"not the JSON of a {cls.__name__}: {error}; pass what to_json() gave") from None


_WRITTEN = {kind: kind.__dataclass_fields__.keys() - NOT_IN_JSON for kind in (MemoryRecord, Source)}

for _kind in (Source, MemoryRecord, Candidate, Operation):
    _kind._checks = [(name, FIELDS[name]) for name in _kind.__dataclass_fields__ if name in FIELDS]
