"""Lesson 02, records and the store: the checks of its exercises, and the pictures and tables it shows.

The checks compare with plain specifications written here; they never import the answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from course.check import Cases, Function, Misconception, Row, Shown, call, exercise, refused
from course.lessons.isolation_attacks import ATTACKS, ID, OWNED, erased_by, seen_by
from course.lessons.isolation_attacks import attack_table as attack_table
from course.pictures.views import BLUE, GREY, ORANGE, Picture, Table, as_picture, new_figure, sources_text
from memlab import clock
from memlab.records import TRUST, MemoryRecord, Source

# --- Confidence: what holds, the call, what comes back, the sentence for who gets it wrong, known mistakes

SAID, FETCHED = Source("user_implicit", "s1"), Source("tool_output", "t1")
# fmt: off
STARTING = [
    ("an optimist is capped by the source", call(0.95, SAID), 0.65,
     "The extractor claims 0.95, the source is trusted 0.65: the smaller of the two counts.",
     (0.95, "You took the extractor at its word: nothing stops it from claiming 1.0 every time."),
     (0.95 * 0.65, "You multiplied: a cautious claim about a good source is then cut twice."),
     ((0.95 + 0.65) / 2, "You took the mean: claiming more would still buy more confidence.")),
    ("a doubter stays in doubt", call(0.2, SAID), 0.2,
     "A trusted source does not make a doubtful reading of it surer: 0.2 stays 0.2.",
     (0.65, "You gave every memory the trust of its source: the extractor's doubt is lost.")),
    ("no doubt is too great", call(0.0, SAID), 0.0,
     "0 is a claim as well, and means: not sure at all. `claimed or …` takes it for no claim."),
    ("a tool never gets past 0.30", call(1.0, FETCHED), 0.30,
     "Look the kind of source up in TRUST: `tool_output` is trusted 0.30."),
    ("a claim above 1 is refused", call(90, SAID), refused(""),
     "Somebody wrote per cent: `check_fraction(name, value)` turns down 90."),
]

DECAYED = [
    ("nothing is lost on the first day", call(0.8, 0, 30), 0.8,
     "At age 0 all of the confidence is still there.",
     (1.0, "You gave back the share that is left: multiply it by the confidence."),
     (0.0, "At age 0 you are at nothing: age and half-life have changed places.")),
    ("half is left after one half-life", call(0.8, 30, 30), 0.4,
     "After exactly one half-life, half of 0.8 is left.",
     (0.8 / math.e, "You used `exp(-age / half_life)`, leaving 37 %, not half: the base is 2."),
     (0.8, "Nothing has decayed after a whole half-life.")),
    ("a quarter after two", call(0.8, 60, 30), 0.2, "After a second half-life, half of the half is left.",
     (0.0, "You draw a straight line, and a memory dies after two half-lives. Halve again."),
     (0.8 / 3, "1 / (1 + age) falls ever more slowly; a half-life takes half each time.")),
    ("days in between count", call(0.8, 15, 30), 0.8 * 0.5**0.5,
     "Half a half-life leaves the square root of a half.",
     (0.8, "You count whole half-lives only (`//` or `int`): confidence would fall in steps.")),
    ("hours count too", call(0.8, 0.5, 1), 0.8 * 0.5**0.5,
     "An age of half a day is an age: do not cut it to whole days."),
    ("there is no floor", call(0.8, 300, 30), 0.8 * 0.5**10,
     "Ten half-lives leave less than a thousandth, and that is what is left: no floor, no rounding."),
    ("a half-life of 0 is refused", call(0.8, 1, 0), refused(""),
     "Let `check_positive` turn down a half-life of 0."),
    ("and one below 0", call(0.8, 1, -30), refused(""),
     "With a half-life below 0 a memory grows surer with age: refuse it as well."),
]
# fmt: on


def _claim_told(claimed: float, source: Source) -> str:
    kind = source.source_type
    return f"starting_confidence({claimed}, Source({kind!r}, …)), a source trusted {TRUST[kind]:.2f}"


@exercise("02-starting-confidence")
def _(case: Cases, starting_confidence: Function) -> None:
    case.table(starting_confidence, STARTING, told=_claim_told)


exercise("02-decayed")(lambda case, decayed: case.table(decayed, DECAYED))

# --- Lineage ----------------------------------------------------------------------------------------


class _StillWalking(BaseException):
    """Not an Exception, so that no learner's `except` swallows it."""


class _Watched(MemoryRecord):
    """A record that counts how often somebody asks what replaced it."""

    looks = 0

    def __getattribute__(self, name: str) -> Any:
        if name in ("superseded_by", "memory_id"):
            _Watched.looks += 1
            if _Watched.looks > 10_000:
                raise _StillWalking
        return super().__getattribute__(name)


def _memory(name: str, replaced_by: str | None = None, at: float = 1.0, **ends: Any) -> MemoryRecord:
    times = {"created_at": at, "updated_at": at} | ends
    return _Watched(f"{name}.", "ada", memory_id=name, superseded_by=replaced_by, **times)


def _ids(records: object) -> list[str]:
    if not isinstance(records, (list, tuple)) or not all(isinstance(r, MemoryRecord) for r in records):
        raise Misconception("Give back a list of records.", expected=Shown("list[MemoryRecord]"), got=records)
    return [record.memory_id for record in records]


def _chain_told(records: Sequence[MemoryRecord], memory_id: str) -> str:
    replaced = [f"{r.memory_id} replaced by {r.superseded_by}" for r in records if r.superseded_by]
    alone = [r.memory_id for r in records if not r.superseded_by]
    return f"lineage of {memory_id}, among [{', '.join([*alone, *replaced])}]"


FISH, VEG, VEGAN = _memory("fish", at=3.0), _memory("veg", "fish", at=2.0), _memory("vegan", "veg")
CIRCLE = [_memory("hen", "egg"), _memory("egg", "hen")]
FORK = [
    _memory("one", at=4.0),
    _memory("b", "one", at=3.0),
    _memory("a", "one", at=2.0),
    _memory("oldest", "a"),
]
HUNG, RECURSED = Shown("still walking after 10,000 looks at the records"), Shown("RecursionError")
# fmt: off
LINEAGE: list[Row] = [
    ("a memory that replaced nothing stands alone", call([FISH, _memory("seat")], "fish"), ["fish"],
     "The lineage of a memory that replaced nothing is the memory itself.",
     ([], "You left out the memory itself: it stands last.")),
    ("what it replaced stands before it", call([FISH, VEG], "fish"), ["veg", "fish"],
     "Search for the records whose `superseded_by` is this memory's id.",
     (["fish"], "You followed `superseded_by` forward, into the future: fish has none. Ask who points *at* "
      "fish."),
     (["fish", "veg"], "Oldest first: you walked back in time, so turn the list round.")),
    ("the walk does not stop after one step", call([FISH, VEGAN, VEG], "fish"), ["vegan", "veg", "fish"],
     "Walk on from each record that you find, until nothing points at it.",
     (["veg", "fish"], "You took one step back only: what veg replaced belongs to the story."),
     (["vegan", "fish", "veg"], "You kept the order of the input; each must precede its successor.")),
    ("what came later is another question", call([FISH, VEG, VEGAN], "veg"), ["vegan", "veg"],
     "Why veg was believed has nothing to do with fish, which came later.",
     (["vegan", "veg", "fish"], "You gave the whole chain. Fish came after veg: it is no reason for it.")),
    ("one memory may replace several", call(FORK, "one"), ["oldest, a and b, then one; oldest before a"],
     "One memory may replace several, so the way back branches: you followed one branch only."),
    ("the clock may have been set back", call([_memory("new"), _memory("old", "new", at=9.0)], "new"),
     ["old", "new"],
     "The order is that of replacing. Sorting by `created_at` fails when a clock was set back: old is dated "
     "later here."),
    ("a circle is refused", call(CIRCLE, "hen"), Shown("ValueError"),
     "Hen and egg replace each other: raise a ValueError.",
     (HUNG, "Hen and egg replace each other. A damaged store must not hang your program: raise ValueError."),
     (RECURSED, "Hen, egg, hen …: each call makes another. Notice the circle, and raise a ValueError.")),
    ("a circle elsewhere is no concern", call([*CIRCLE, FISH, VEG], "fish"), ["veg", "fish"],
     "The circle of hen and egg has no part in the story of fish, which is sound: tell it."),
]
# fmt: on


@exercise("02-lineage")
def _(case: Cases, lineage: Function) -> None:
    def chain(records: Iterable[MemoryRecord], memory_id: str) -> object:
        try:
            ids = _ids(lineage(records, memory_id))
        except (ValueError, RecursionError) as error:
            return Shown(type(error).__name__)
        except _StillWalking:
            return HUNG
        finally:
            _Watched.looks = 0
        in_order = sorted(ids) == ["a", "b", "oldest", "one"] and ids.index("oldest") < ids.index("a")
        return ["oldest, a and b, then one; oldest before a"] if in_order and ids[-1] == "one" else ids

    case.table(chain, LINEAGE, told=_chain_told)
    got = chain(iter([FISH, VEG]), "fish")
    sentence = (
        "`records` is an Iterable, and you walked through it twice: some can be walked once only. Keep what "
        "you need, as `by_id` does, and walk through that."
    )
    given = "lineage of fish, where veg was replaced by fish; the records come from a generator"
    case.holds("the records may come one by one", got == ["veg", "fish"], sentence, given=given, got=got)
    sentence = "An id that is not there must raise a ValueError whose message contains the id."
    given = "lineage of mem_404, among [fish]"
    case.refuses("an unknown id is refused", lineage, [FISH], "mem_404", mentions="mem_404", given=given,
                 otherwise=sentence)  # fmt: skip


# --- Time -------------------------------------------------------------------------------------------

MARCH, JUNE, JULY, AUGUST = (
    clock.timestamp(f"2026-{month}-01T00:00:00Z") for month in ("03", "06", "07", "08")
)
MADE = _memory("made in March", at=MARCH)
TOMBSTONED, EXPIRES = replace(MADE, invalidated_at=AUGUST), replace(MADE, expires_at=AUGUST)
# fmt: off
HELD: list[Row] = [
    ("a tombstone set later does not reach back", call(TOMBSTONED, JUNE), True,
     "In June nobody knew of August: what was replaced *later* still held.",
     (1, "That is right but for its type: give back True or False, not a number.")),
    ("nothing is known before it was learned", call(TOMBSTONED, MARCH - 1), False,
     "A memory cannot hold before it was made: compare with `created_at` too."),
    ("it holds from the instant it was made", call(TOMBSTONED, MARCH), True,
     "It holds from `created_at` on, that instant included: use `<=`."),
    ("a tombstone holds for good", call(TOMBSTONED, AUGUST + 9), False,
     "After its tombstone a memory no longer holds."),
    ("its successor takes over at the tombstone's instant", call(TOMBSTONED, AUGUST), False,
     "At the instant of the tombstone its successor holds; with `<=` both would hold at once."),
    ("what was confirmed later held before", call(replace(MADE, updated_at=JULY), JUNE), True,
     "It was confirmed in July and made in March: `created_at` counts, not `updated_at`."),
    ("what expires later still holds", call(EXPIRES, JUNE), True, "It expires in August: in June it holds."),
    ("expiry ends it too", call(EXPIRES, AUGUST + 9), False,
     "An expired memory has no tombstone: look at `expires_at` as well."),
    ("from its own instant on", call(EXPIRES, AUGUST), False,
     "An end is not included: at the very instant of `expires_at` the memory no longer holds."),
    ("what came first ends it", call(replace(TOMBSTONED, invalidated_at=JUNE, expires_at=AUGUST), JUNE + 1),
     False, "Tombstoned in June, to expire in August: the earlier end counts."),
    ("whichever of the two it is", call(replace(TOMBSTONED, expires_at=JUNE), JUNE + 1), False,
     "Expired in June, tombstoned in August: the tombstone does not make it hold any longer."),
    ("an end at 0.0 is an end", call(_memory("x", at=-9.0, invalidated_at=0.0), 5.0), False,
     "0.0 is the first instant of 1970, and falsy: ask whether an end `is not None`."),
    ("of either kind", call(_memory("x", at=-9.0, expires_at=0.0), 5.0), False,
     "An expiry at 0.0 is an expiry: ask whether `expires_at is not None`."),
    ("today's clock plays no part", call(_memory("y"), 2.0), True,
     "Compare with `at`, not with `clock.now()`."),
    ("an instant may be text", call(TOMBSTONED, "2026-06-01T02:00:00+02:00"), True,
     "Let `clock.timestamp(at, 'at')` turn text and datetimes into seconds first."),
]
# fmt: on


def _held_told(record: MemoryRecord, at: object) -> str:
    dates = {"made": record.created_at, "confirmed": record.updated_at}
    ends = {"tombstoned": record.invalidated_at, "expires": record.expires_at}
    if record.updated_at == record.created_at:
        del dates["confirmed"]
    story = [f"{name} {clock.stamp(date)}" for name, date in (dates | ends).items() if date is not None]
    return f"{', '.join(story)}; asked for {at if isinstance(at, str) else clock.stamp(at)}"  # type: ignore[arg-type]


exercise("02-held-at")(lambda case, held_at: case.table(held_at, HELD, told=_held_told))

# --- Isolation: see `isolation_attacks` -------------------------------------------------------------

# fmt: off
REFUSED: list[Row] = [
    ("a missing owner is refused", call("", "shop", ("user",), None), refused("user_id"),
     "No owner was named: `check_owner` raises before any SQL is written."),
    ("a padded id is refused", call("ada ", "shop", ("user",), None), refused("user_id"),
     "Do not repair an id by trimming it: `check_owner` refuses `ada `, aloud."),
    ("so is a session that is no id", call("ada", "shop", ("session",), ""), refused("session_id"),
     "An empty session id is a bug of the caller's, not a session: keep the scaffold's `check_id`."),
    ("an unknown scope is refused", call("ada", "shop", ("users",), None), refused("scopes"),
     "A misspelt scope must not quietly mean nothing: `check_scopes` turns it down."),
]
# fmt: on


@exercise("02-visible-to")
def _(case: Cases, visible_to: Function) -> None:
    seen_by(visible_to).survives(case, ("user", "session", "app"), tuple(ID), ATTACKS)
    case.table(visible_to, REFUSED)


@exercise("02-owned-by")
def _(case: Cases, owned_by: Function) -> None:
    erased_by(owned_by).survives(case, ("user", "session"), ("user_id", "app_name"), OWNED)
    sentence = "Erasing without naming whom: `check_owner` must turn it down first."
    case.table(owned_by, [("a missing owner is refused", call("", "shop"), refused("user_id"), sentence)])


# --- What the lesson shows --------------------------------------------------------------------------

CURVES = ((BLUE, "-"), (ORANGE, "--"), ("#009e73", "-."), ("#cc79a7", ":"))
"""Colours of Okabe and Ito with a dash of their own each."""


def record_card(record: MemoryRecord, why: Mapping[str, str]) -> Table:
    """The fields of `record` that `why` names, with their values and what each is there for."""
    rows = [(name, _value(name, getattr(record, name)), reason) for name, reason in why.items()]
    return Table(["field", "value", "what it is for"], rows)


def why_table(records: Iterable[MemoryRecord]) -> Table:
    """A belief and what went before it: when, what, and the very words it rests on."""
    rows = []
    for record in records:
        own = record.own_sources()
        words = own[-1].excerpt if own and own[-1].excerpt else "–"
        until = "now" if record.invalidated_at is None else _date(record.invalidated_at)
        end = "the current belief" if record.invalidated_at is None else record.history[-1]
        rows.append((_date(record.created_at), until, record.content, f"“{words}”", end))
    return Table(["from", "until", "belief", "because the user said", "and it ended because"], rows)


def decay_picture(
    decayed: Callable[[float, float, float], float],
    half_lives: Mapping[str, float],
    confidence: float = 0.9,
    days: int = 730,
) -> Picture:
    """How one confidence fades over `days` for several half-lives (days), one curve and label each."""
    figure = new_figure(9, 3.9)
    axes = figure.add_subplot()
    ends = []
    for (name, half_life), (colour, dash) in zip(half_lives.items(), CURVES, strict=False):
        values = [decayed(confidence, day, half_life) for day in range(days + 1)]
        axes.plot(range(days + 1), values, color=colour, linestyle=dash, linewidth=2.2)
        if half_life <= days:
            axes.plot([half_life], [decayed(confidence, half_life, half_life)], "o", color=colour)
        end = f" {name}: half-life {half_life:,.0f} days, {values[-1]:.2f} left"
        axes.text(days, values[-1], end, color=colour, va="center", fontsize=10)
        ends.append(f"{name} {values[-1]:.2f}")
    axes.axhline(confidence / 2, color=GREY, linewidth=0.9)
    axes.text(days, confidence / 2 + 0.012, "half", color="#555555", fontsize=9, ha="right")
    axes.set_xlim(0, days)
    axes.set_ylim(0, 1)
    axes.set_xticks(range(0, days + 1, 90))
    axes.set_xlabel("days since the memory was last confirmed")
    axes.set_ylabel("confidence")
    axes.spines[["top", "right"]].set_visible(False)
    return as_picture(figure, f"Confidence {confidence} after {days} days: {', '.join(ends)}.")


def timeline(
    records: Sequence[MemoryRecord], held_at: Callable[[MemoryRecord, float], bool], at: str
) -> Picture:
    """Each record as a bar from the day it was made to the day it ended; those held at `at` stand out."""
    moment = clock.timestamp(at)
    held = [held_at(record, moment) for record in records]
    figure = new_figure(9, 0.55 * len(records) + 1.5)
    axes = figure.add_subplot()
    for place, (record, holds) in enumerate(zip(records, held, strict=True)):
        start, end = record.created_at, _end(record)
        axes.barh(
            -place,
            (end - start) / clock.DAY,
            left=_day(start),
            height=0.72,
            edgecolor="black",
            color=BLUE if holds else "#d9d9d9",
            hatch=None if holds else "///",
            linewidth=0.6,
        )
    axes.axvline(_day(moment), color=ORANGE, linewidth=2)
    axes.text(_day(moment), 0.62, f" {at[:10]}:  ● held  ○ not", color=ORANGE, fontsize=10, fontweight="bold")
    labels = [
        f"{record.content}  {'●' if holds else '○'}" for record, holds in zip(records, held, strict=True)
    ]
    axes.set_yticks([-place for place in range(len(records))], labels, fontsize=10)
    axes.tick_params(axis="y", length=0)
    _months(axes, records)
    names = ", ".join(record.content for record, holds in zip(records, held, strict=True) if holds)
    return as_picture(figure, f"Held on {at[:10]} (● and solid): {names or 'nothing'}")


def _months(axes: Any, records: Sequence[MemoryRecord]) -> None:
    starts = [f"{year}-{month:02}-01T00:00:00Z" for year in (2025, 2026, 2027) for month in range(1, 13, 2)]
    first, last = min(r.created_at for r in records), max(map(_end, records))
    ticks = [day for day in starts if first - 60 * clock.DAY <= clock.timestamp(day) <= last + 30 * clock.DAY]
    axes.set_xticks([_day(clock.timestamp(day)) for day in ticks], [day[:7] for day in ticks])
    axes.set_xlim(_day(first) - 10, _day(last) + 10)
    axes.set_ylim(-len(records) + 0.4, 1.15)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _date(at: float) -> str:
    """The day, in hyphens at which a narrow table does not break the line."""
    return clock.stamp(at)[:10].replace("-", "\u2011")


def _day(at: float) -> float:
    return at / clock.DAY


def _end(record: MemoryRecord) -> float:
    return min(at for at in (record.invalidated_at, record.expires_at, clock.now()) if at is not None)


def _value(name: str, value: object) -> str:
    if name == "sources":
        return sources_text(value)  # type: ignore[arg-type]
    if name.endswith("_at") and isinstance(value, float):
        return clock.stamp(value)
    return "–" if value is None else str(value)
