"""What the store holds: memories with provenance. Every value is checked when it is made.

The design follows "Mini-project 5: build a memory system", Part 2: a list of sources rather than one,
tombstones rather than deletion, a half-life and a confidence on each record.
"""

from __future__ import annotations

import json
import math
import random
import re
import reprlib
import uuid
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Literal

from memlab import clock

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
MAX_ID = 200
MAX_CONTENT = 10_000
MAX_LINE = 11 * MAX_CONTENT  # a line of history may quote a whole content, each character escaped

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ORDINARY_ID = re.compile(rf"[!-~](?:[ -~]{{0,{MAX_ID - 2}}}[!-~])?")

_ids: random.Random | None = None


def seed_ids(seed: str | None) -> None:
    """Draw the ids of new records from `seed`, so that a demo prints the same ids; None: random again."""
    global _ids
    _ids = None if seed is None else random.Random(check_text("seed", seed, empty=True))


def new_id() -> str:
    """A fresh memory id: `mem_` and 12 hex digits."""
    return f"mem_{_ids.getrandbits(48):012x}" if _ids else "mem_" + uuid.uuid4().hex[:12]


@dataclass
class Source:
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

    def __post_init__(self) -> None:
        self.validate()

    def validate(self) -> None:
        one_of("source_type", self.source_type, SOURCE_TYPES)
        check_id("source_id", self.source_id)
        check_text("excerpt", self.excerpt, empty=True)
        self.at = clock.timestamp(self.at, "at")
        check_bool("inherited", self.inherited)
        check_extra(self.extra)


@dataclass
class MemoryRecord:
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

    def __post_init__(self) -> None:
        self.validate()

    def validate(self) -> None:
        """Check every field, as on creation; the store calls it again before it writes."""
        check_text("content", self.content)
        check_owner(self.user_id, self.app_name)
        one_of("scope", self.scope, SCOPES)
        if self.session_id is not None:
            check_id("session_id", self.session_id)
        if (self.scope == "session") != (self.session_id is not None):
            raise ValueError(
                f"session_id={self.session_id!r} does not fit scope={self.scope!r}; "
                "a session-scoped memory names its session, any other leaves session_id=None"
            )
        for name in ("topic", "subject", "memory_id"):
            check_id(name, getattr(self, name))
        for name in ("importance", "confidence"):
            setattr(self, name, check_fraction(name, getattr(self, name)))
        self.half_life_days = check_positive("half_life_days", self.half_life_days)
        for name in ("created_at", "updated_at"):
            setattr(self, name, clock.timestamp(getattr(self, name), name))
        for name in ("expires_at", "invalidated_at"):
            if getattr(self, name) is not None:
                setattr(self, name, clock.timestamp(getattr(self, name), name))
        if self.superseded_by is not None:
            check_id("superseded_by", self.superseded_by)
        check_bool("needs_regeneration", self.needs_regeneration)
        for source in check_list("sources", self.sources, Source):
            source.validate()
        for line in check_list("history", self.history, str):
            check_text("history", line, most=MAX_LINE)
        check_extra(self.extra)

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
        """Add `line`, with the time before it, to the history.

        Example:
        >>> record = MemoryRecord("The user goes by Ada.", "u_ada")
        >>> with clock.freeze("2026-11-30T09:00:00Z"):
        ...     record.note("corroborated by user_implicit")
        >>> record.history
        ['2026-11-30 09:00:00 corroborated by user_implicit']
        """
        self.history.append(f"{clock.stamp(clock.now())} {line}")

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
class Candidate:
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

    def __post_init__(self) -> None:
        check_text("content", self.content)
        check_text("excerpt", self.excerpt, empty=True)
        check_id("topic", self.topic)
        check_id("subject", self.subject)
        self.confidence = check_fraction("confidence", self.confidence)
        self.importance = check_fraction("importance", self.importance)
        self.half_life_days = check_positive("half_life_days", self.half_life_days)


@dataclass
class Conversation:
    """What was said, and the source under which it was learned; messages as [{"role", "content"}]."""

    source: Source
    messages: list[dict[str, str]]


@dataclass
class Operation:
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

    def __post_init__(self) -> None:
        one_of("action", self.action, ACTIONS)
        if self.target_id is not None:
            check_id("target_id", self.target_id)
        check_text("content", self.content)
        check_text("reason", self.reason)


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


def check_text(name: str, value: object, *, empty: bool = False, most: int = MAX_CONTENT) -> str:
    """`value` if it is storable text; raises TypeError or ValueError that names the field `name`."""
    if not isinstance(value, str):
        raise TypeError(f"{name}={value!r:.60} is not text; pass a str")
    if not empty and not value.strip():
        raise ValueError(f"{name}={value[:60]!r} is empty; say something in it")
    if len(value) > most:
        raise ValueError(
            f"{name}={value[:40]!r}… has {len(value):,} characters, the most is {most:,}; shorten it"
        )
    if "\0" in value or not (value.isascii() or _encodable(value)):
        raise ValueError(
            f"{name}={value[:60]!r} holds a NUL or half of a surrogate pair; remove it, "
            "e.g. text.encode('utf-8', 'ignore').decode().replace('\\0', '')"
        )
    return value


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_id(name: str, value: object) -> str:
    """`value` if it can name something: non-empty text, no space around it, no control characters."""
    if isinstance(value, str) and _ORDINARY_ID.fullmatch(value):
        return value  # nearly all; eight ids are checked for every record that is loaded
    text = check_text(name, value, most=MAX_ID)
    if text != text.strip():
        raise ValueError(f"{name}={text!r} has space around it; pass {text.strip()!r}")
    if _CONTROL.search(text):
        raise ValueError(f"{name}={text!r} holds a control character; use printable characters only")
    return text


def check_owner(user_id: object, app_name: object) -> None:
    """Raise unless both ids are given: no memory is read or written without naming its owner."""
    check_id("user_id", user_id)
    check_id("app_name", app_name)


def check_number(name: str, value: object) -> float:
    """`value` as a finite float; raises TypeError or ValueError that names the field `name`."""
    return clock.number(value, name, "an ordinary number")


def check_fraction(name: str, value: object) -> float:
    """`value` as a float in 0..1; raises as `check_number` does."""
    number = check_number(name, value)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name}={value!r:.60} lies outside 0..1; pass a fraction")
    return number


def check_positive(name: str, value: object) -> float:
    """`value` as a float above 0; raises as `check_number` does."""
    number = check_number(name, value)
    if number <= 0.0:
        raise ValueError(f"{name}={value!r:.60} is not above 0; pass a positive number")
    return number


def check_whole(name: str, value: object, least: int = 0) -> int:
    """`value` if it is a whole number of `least` or more; raises ValueError that names the field `name`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name}={value!r:.60} is not a whole number of {least} or more; pass one")
    return value


def check_bool(name: str, value: object) -> bool:
    """`value` if it is True or False; raises TypeError that names the field `name`."""
    if not isinstance(value, bool):
        raise TypeError(f"{name}={value!r:.60} is not True or False; pass a bool")
    return value


def check_kind(name: str, value: object, kind: type[Any]) -> None:
    """Raise TypeError that names the field `name` unless `value` is a `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"{name}={reprlib.repr(value)} is not a {kind.__name__}; make one first")


def check_list(name: str, value: object, kind: type[Any]) -> list[Any]:
    """`value` if it is a list of `kind`; raises TypeError that names the field `name`."""
    if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
        raise TypeError(f"{name}={value!r:.60} is not a list of {kind.__name__}; pass one")
    return value


def check_extra(value: object) -> None:
    """Raise ValueError unless `value`, the keys of a newer version, is a dict that JSON can hold."""
    try:
        if value == {} or (isinstance(value, dict) and _encodable(json.dumps(value, ensure_ascii=False))):
            return
    except (TypeError, ValueError, RecursionError):
        pass  # it is refused below, like all else that is no JSON
    raise ValueError(f"extra={value!r:.60} cannot be kept; pass a dict of text, numbers, lists and dicts")


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise ValueError that names the field `name` unless `value` is one of `allowed`."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name}={value!r:.60} is not known; pass one of {', '.join(allowed)}")


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
