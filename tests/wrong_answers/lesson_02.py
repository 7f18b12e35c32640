"""Answers to lesson 02 that its checks must tell apart, and right ones that look different."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from memlab import clock
from memlab.fields import check_fraction, check_id, check_owner
from memlab.records import TRUST, MemoryRecord, Source
from memlab.store import check_scopes

Answer = Callable[..., Any]


def recurses_in_circles(records: Iterable[MemoryRecord], memory_id: str) -> list[MemoryRecord]:
    known = {record.memory_id: record for record in records}
    older = [record.memory_id for record in known.values() if record.superseded_by == memory_id]
    before = [record for each in older for record in recurses_in_circles(known.values(), each)]
    return [*before, known[memory_id]]


def with_an_if(claimed: float, source: Source) -> float:
    check_fraction("claimed", claimed)
    ceiling = TRUST[source.source_type]
    if claimed > ceiling:
        return ceiling
    return claimed


def by_logarithm(confidence: float, age_days: float, half_life_days: float) -> float:
    if half_life_days <= 0:
        raise ValueError("it must be above 0")
    return confidence * math.exp(-math.log(2) / half_life_days * age_days)


def through_a_stack(records: Iterable[MemoryRecord], memory_id: str) -> list[MemoryRecord]:
    by_id = {record.memory_id: record for record in records}

    def story(current: str, later: frozenset[str]) -> list[MemoryRecord]:
        if current in later:
            raise ValueError(f"superseded_by of {current!r} closes a circle")
        told = []
        for record in by_id.values():
            if record.superseded_by == current:
                told += story(record.memory_id, later | {current})
        return [*told, by_id[current]]

    if memory_id not in by_id:
        raise ValueError(f"unknown {memory_id}")
    return story(memory_id, frozenset())


def in_one_interval(record: MemoryRecord, at: clock.Instant) -> bool:
    end = min(math.inf if end is None else end for end in (record.invalidated_at, record.expires_at))
    return record.created_at <= clock.timestamp(at, "at") < end


def numbered_marks(user_id: str, app_name: str, scopes: Iterable[str], session_id: str | None) -> Any:
    check_owner(user_id, app_name)
    if session_id is not None:
        check_id("session_id", session_id)
    wanted = check_scopes(scopes)
    sql = f"scope IN ({', '.join('?' * len(wanted))}) AND app_name = ? AND CASE scope WHEN 'app' THEN 1"
    sql += " WHEN 'user' THEN user_id = ? ELSE user_id = ? AND session_id IS NOT NULL AND session_id IS ? END"
    return f"({sql})", [*wanted, app_name, user_id, user_id, session_id]


def owned_by_marks(user_id: str, app_name: str) -> Any:
    check_owner(user_id, app_name)
    return "(app_name = ? AND user_id = ? AND scope <> 'app')", [app_name, user_id]


CLAIM, TRUSTED = 'check_fraction("claimed", claimed)', "TRUST[source.source_type]"
HALF_LIFE = 'check_positive("half_life_days", half_life_days)'
ENDS = "(record.invalidated_at, record.expires_at)"
START = "found = [by_id[memory_id]]"
# the rules of the three scopes, and the owner's condition
APP = "(app_name = :app_name AND scope = 'app')"
USER = "user_id = :user_id AND scope = 'user'"
SESSION = "user_id = :user_id AND scope = 'session'"
S1 = '" AND session_id = :session_id)"'
OWN = "app_name = :app_name AND user_id = :user_id AND scope"
# fmt: off
WRONG: dict[str, list[tuple[Any, str]]] = {
    "02-starting-confidence": [
        (f"min({CLAIM}, {TRUSTED}) => claimed", "at its word"),
        (f"min({CLAIM}, {TRUSTED}) => claimed * {TRUSTED}", "You multiplied"),
        (f"min({CLAIM}, {TRUSTED}) => (claimed + {TRUSTED}) / 2", "the mean"),
        (f"min({CLAIM}, {TRUSTED}) => {TRUSTED}", "the trust of its source"),
        (f"{CLAIM} => {CLAIM} or 1.0", "takes it for no claim"),
        (f"{CLAIM} => claimed", "per cent"),
    ],
    "02-decayed": [
        ("confidence * math => math", "multiply it by the confidence"),
        ("exp2 => exp", "the base is 2"),
        ("math.exp2( => max(0.0, 1 + 0.5 * ", "a straight line"),
        (f"-age_days / {HALF_LIFE} => -(age_days // half_life_days)", "in steps"),
        (f"-age_days / {HALF_LIFE} => -half_life_days / (age_days or 1e-9)", "changed places"),
        ("math.exp2(-age_days => 1 / (1 + age_days", "ever more slowly"),
        ("-age_days => -int(age_days)", "do not cut it to whole days"),
        ("return confidence => return max(0.01, confidence ;; half_life_days)) => half_life_days)))",
         "no floor"),
        (f"{HALF_LIFE}) => half_life_days) if half_life_days else 0.0", "`check_positive`"),
        (f'{HALF_LIFE} => (half_life_days or check_positive("half_life_days", 0))', "surer with age"),
        (f"{HALF_LIFE} => half_life_days", "raised `ZeroDivisionError"),
    ],
    "02-lineage": [
        ("older.superseded_by == newer.memory_id => older.memory_id == newer.superseded_by",
         "forward, into the future"),
        ("for newer in found: => for newer in found[:1]:", "one step back only"),
        ("found[::-1] => found", "turn the list round"),
        ("found[::-1] => found[:0:-1]", "left out the memory itself"),
        (f"{START} => {START}\n    while found[0].superseded_by: found = [by_id[found[0].superseded_by]]",
         "You gave the whole chain"),
        ("== newer.memory_id] => == newer.memory_id][:1]", "one branch only"),
        ("found[::-1] => sorted(found, key=lambda record: record.created_at)", "Sorting by `created_at`"),
        ("in by_id.values() if => in records if", "walked through it twice"),
        ("if len(found) > len(by_id): => if False:", "must not hang your program"),
        (recurses_in_circles, "each call makes another"),
        (f"{START} => {START}\n    if any(r.superseded_by in by_id and by_id[r.superseded_by].superseded_by"
         " == r.memory_id for r in by_id.values()):\n        raise ValueError", "which is sound"),
        ("if memory_id not in by_id: => if False:", "raised `KeyError"),
        ("if memory_id not in by_id: => if memory_id not in by_id:\n        return []\n    if False:",
         "An id that is not there"),
    ],
    "02-held-at": [
        ("return record => return record.invalidated_at is None and record", "nobody knew of August"),
        ("return record => return int(record ;; in ends) => in ends))", "for its type"),
        ("record.created_at <= moment and => ", "before it was made"),
        ("<= moment => < moment", "use `<=`"),
        ("moment < end => moment <= end", "both would hold at once"),
        ("record.created_at => record.updated_at", "not `updated_at`"),
        (f"{ENDS} => (record.expires_at,)", "After its tombstone"),
        (f"{ENDS} => (record.invalidated_at,)", "look at `expires_at`"),
        ("moment < end => moment < end or moment == record.expires_at", "An end is not included"),
        (f"{ENDS} => (record.expires_at or record.invalidated_at,)", "the earlier end counts"),
        (f"{ENDS} => (record.invalidated_at or record.expires_at,)", "hold any longer"),
        ("if end is not None => if end", "0.0 is the first instant"),
        (f"{ENDS} => (record.invalidated_at, record.expires_at or None)", "An expiry at 0.0"),
        ('clock.timestamp(at, "at") => math.nan if isinstance(at, str) else at', "turn text and datetimes"),
    ],
    "02-visible-to": [
        (f"{USER} => scope = 'user'", "Bo's memory came back"),
        (f"(app_name = :app_name AND {USER} => ({USER}", "told the bank"),
        (f"{USER} => user_id = :user_id", "you forgot to compare `scope`"),
        ('" OR ".join => " AND ".join', "join their rules with `OR`"),
        (f'"{APP}" => "(app_name = :app_name)"', "gave away Bo's own"),
        (f'"{APP}" => "(scope = \'app\')"', "app-scope row of another app"),
        (f'"{APP}" => "(app_name = :app_name AND user_id = :user_id AND scope = \'app\')"',
         "do not compare their `user_id`"),
        (f'{S1} => ")"', "Session memories of another session came back"),
        (f"{SESSION} => scope = 'session'", "which session, not whose"),
        (f"(app_name = :app_name AND {SESSION} => ({SESSION}", "at the bank came back"),
        (f'{S1} => " AND (:session_id IS NULL OR session_id = :session_id))"', "opened them all"),
        ('f"({sql})" => f"(({sql}) AND session_id IS :session_id)"', "give each scope its own rule"),
        ('f"({sql})" => sql', "parentheses around the whole condition"),
        (f"{USER} => user_id = '\" + user_id + \"' AND scope = 'user'", "You put the user's id"),
        (f"{USER} => user_id = \" + user_id + \" AND scope = 'user'", "takes it for a column"),
        (f"{S1} => f\" AND session_id = '{{session_id}}')\"", "You put the session's id"),
        (f'"{APP}" => f"(app_name = \'{{app_name}}\' AND scope = \'app\')"', "You put the app's name"),
        (f"{USER} => user_id LIKE :user_id AND scope = 'user'", "any user's id would do"),
        (f'{S1} => " AND session_id LIKE :session_id)"', "any session's id would do"),
        (f'"{APP}" => "(app_name LIKE :app_name AND scope = \'app\')"', "any app's name would do"),
        (f"{USER} => user_id LIKE replace(:user_id, '%', '') AND scope = 'user'", "_ is a wildcard"),
        (f"{USER} => user_id GLOB :user_id AND scope = 'user'", "`GLOB` has wildcards"),
        (f"{USER} => user_id = :user_id COLLATE NOCASE AND scope = 'user'", "and fits one in capitals"),
        ('"user_id": user_id, => "user_id": user_id.lower(),', "and fits one in lower case"),
        (f"{USER} => trim(user_id) = :user_id AND scope = 'user'", "do not trim what is stored"),
        ('"user_id": user_id, => "user_id": __import__("unicodedata").normalize("NFC", user_id),',
         "no text to be normalised"),
        ('return f"({sql})", { => return f"({sql})" or {', "Give back two things"),
        ('{"app_name": app_name, "user_id": user_id, "session_id": session_id} => {}', "do not fit together"),
        (f"{USER} => userid = :user_id AND scope = 'user'", "SQLite cannot run your condition"),
        ('check_owner(user_id, app_name) => user_id = user_id or "anyone"', "before any SQL is written"),
        ("check_owner(user_id, app_name) => user_id = user_id.strip()\n    check_owner(user_id, app_name)",
         "Do not repair an id"),
        ('check_id("session_id", session_id) => pass', "An empty session id"),
        ("check_scopes(scopes) => scopes if scope in conditions", "A misspelt scope"),
    ],
    "02-owned-by": [
        (" AND user_id = :user_id => ", "erased along with Ada's"),
        ("scope IN ('user', 'session') => scope = 'user'", "would survive the erasure"),
        ("scope IN ('user', 'session') => scope = 'user' OR scope = 'session'", "Bo's session would be"),
        ("scope IN ('user', 'session') => scope <> 'app' OR app_name = :app_name AND scope = 'app'",
         "does not own it"),
        (" AND scope IN ('user', 'session') => ", "the scope decides, not the author"),
        ("app_name = :app_name AND  => ", "account at the bank"),
        (f"({OWN} IN ('user', 'session')) => {OWN} = 'session' OR {OWN} = 'user'", "reached only one part"),
        ("user_id = :user_id => user_id = '\" + user_id + \"'", "You put the user's id"),
        ("app_name = :app_name => app_name = '\" + app_name + \"'", "You put the app's name"),
        ("user_id = :user_id => user_id LIKE :user_id", "any user's id would do"),
        ("app_name = :app_name => app_name LIKE :app_name", "any app's name would do"),
        ("user_id = :user_id => user_id = :user_id COLLATE NOCASE", "and fits one in capitals"),
        ("check_owner(user_id, app_name) => ", "without naming whom"),
    ],
}

RIGHT: dict[str, list[Answer]] = {
    "02-starting-confidence": [with_an_if],
    "02-decayed": [by_logarithm],
    "02-lineage": [through_a_stack],
    "02-held-at": [in_one_interval],
    "02-visible-to": [numbered_marks],
    "02-owned-by": [owned_by_marks],
}

FIELD = "the error still names the field"
SPARED: dict[str, dict[str, str]] = {
    "02-starting-confidence": {
        "min(check_fraction('claimed', claimed), => min(check_fraction('claimedX', claimed),": FIELD,
    },
    "02-decayed": {
        "check_positive('half_life_days', half_life_days)) => "
        "check_positive('half_life_daysX', half_life_days))": FIELD,
    },
    "02-held-at": {"clock.timestamp(at, 'at') => clock.timestamp(at, 'atX')": FIELD},
    "02-visible-to": {
        "check_id('session_id', session_id) => check_id('session_idX', session_id)": FIELD,
    },
}
# fmt: on
