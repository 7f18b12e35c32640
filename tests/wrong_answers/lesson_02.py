"""Answers to lesson 02 that its checks must tell apart, and right ones that look different."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from memlab import clock
from memlab.records import (
    TRUST,
    MemoryRecord,
    Source,
    check_fraction,
    check_id,
    check_owner,
    check_positive,
)
from memlab.store import check_scopes

Answer = Callable[..., Any]
Wrong = list[tuple[Answer, str]]


# --- 02-starting-confidence -------------------------------------------------------------------------


def takes_the_extractors_word(claimed: float, source: Source) -> float:
    return check_fraction("claimed", claimed)


def multiplies(claimed: float, source: Source) -> float:
    return claimed * TRUST[source.source_type]


def takes_the_mean(claimed: float, source: Source) -> float:
    return (claimed + TRUST[source.source_type]) / 2


def gives_the_trust(claimed: float, source: Source) -> float:
    return TRUST[source.source_type]


def takes_per_cent(claimed: float, source: Source) -> float:
    return min(claimed, TRUST[source.source_type])


def with_an_if(claimed: float, source: Source) -> float:
    check_fraction("claimed", claimed)
    ceiling = TRUST[source.source_type]
    if claimed > ceiling:
        return ceiling
    return claimed


# --- 02-decayed -------------------------------------------------------------------------------------


def share_only(confidence: float, age_days: float, half_life_days: float) -> float:
    return 0.5 ** (age_days / half_life_days)


def base_e(confidence: float, age_days: float, half_life_days: float) -> float:
    return confidence * math.exp(-age_days / half_life_days)


def straight_line(confidence: float, age_days: float, half_life_days: float) -> float:
    return max(0.0, confidence * (1 - age_days / (2 * half_life_days)))


def whole_half_lives(confidence: float, age_days: float, half_life_days: float) -> float:
    return confidence * 0.5 ** (age_days // half_life_days)


def upside_down(confidence: float, age_days: float, half_life_days: float) -> float:
    return confidence * 0.5 ** (half_life_days / age_days if age_days else math.inf)


def hyperbola(confidence: float, age_days: float, half_life_days: float) -> float:
    return confidence / (1 + age_days / half_life_days)


def unguarded(confidence: float, age_days: float, half_life_days: float) -> float:
    return confidence * 0.5 ** (age_days / half_life_days) if half_life_days else 0.0


def divides_by_nothing(confidence: float, age_days: float, half_life_days: float) -> float:
    return confidence * 0.5 ** (age_days / half_life_days)


def turned_round(confidence: float, age_days: float, half_life_days: float) -> float:
    if half_life_days == 0:
        raise ValueError("half_life_days is 0")
    return unguarded(confidence, age_days, half_life_days)


def by_logarithm(confidence: float, age_days: float, half_life_days: float) -> float:
    rate = math.log(2) / check_positive("half_life_days", half_life_days)
    return confidence * math.exp(-rate * age_days)


# --- 02-lineage -------------------------------------------------------------------------------------


def walks_forward(records: Iterable[MemoryRecord], memory_id: str) -> list[MemoryRecord]:
    by_id = {record.memory_id: record for record in records}
    found = [by_id[memory_id]]
    while found[-1].superseded_by:
        found.append(by_id[found[-1].superseded_by])
    return found


def one_step(records: Iterable[MemoryRecord], memory_id: str) -> list[MemoryRecord]:
    known = list(records)
    older = [record for record in known if record.superseded_by == memory_id]
    return older + [record for record in known if record.memory_id == memory_id]


def newest_first(records: Iterable[MemoryRecord], memory_id: str) -> list[MemoryRecord]:
    return through_a_stack(records, memory_id)[::-1]


def without_itself(records: Iterable[MemoryRecord], memory_id: str) -> list[MemoryRecord]:
    return through_a_stack(records, memory_id)[:-1]


def one_branch(records: Iterable[MemoryRecord], memory_id: str) -> list[MemoryRecord]:
    by_id = {record.memory_id: record for record in records}
    before = {record.superseded_by: record for record in by_id.values()}
    found = [by_id[memory_id]]
    while found[0].memory_id in before:
        found.insert(0, before[found[0].memory_id])
    return found


def sorted_by_date(records: Iterable[MemoryRecord], memory_id: str) -> list[MemoryRecord]:
    found = through_a_stack(records, memory_id)
    return sorted(found, key=lambda record: record.created_at)


def walks_in_circles(records: Iterable[MemoryRecord], memory_id: str) -> list[MemoryRecord]:
    known = list(records)
    found = [record for record in known if record.memory_id == memory_id]
    for newer in found:
        found += [older for older in known if older.superseded_by == newer.memory_id]
    return found[::-1]


def recurses_in_circles(records: Iterable[MemoryRecord], memory_id: str) -> list[MemoryRecord]:
    known = {record.memory_id: record for record in records}
    older = [record.memory_id for record in known.values() if record.superseded_by == memory_id]
    before = [record for each in older for record in recurses_in_circles(known.values(), each)]
    return [*before, known[memory_id]]


def walks_twice(records: Iterable[MemoryRecord], memory_id: str) -> list[MemoryRecord]:
    found = [{record.memory_id: record for record in records}[memory_id]]
    known = list(records)
    for newer in found:
        found += [older for older in known if older.superseded_by == newer.memory_id]
    return found[::-1]


def unknown_key(records: Iterable[MemoryRecord], memory_id: str) -> list[MemoryRecord]:
    known = list(records)
    return through_a_stack(known, {record.memory_id: record for record in known}[memory_id].memory_id)


def empty_for_unknown(records: Iterable[MemoryRecord], memory_id: str) -> list[MemoryRecord]:
    known = list(records)
    return through_a_stack(known, memory_id) if memory_id in {r.memory_id for r in known} else []


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


# --- 02-held-at -------------------------------------------------------------------------------------


def only_what_is_active(record: MemoryRecord, at: clock.Instant) -> bool:
    return record.invalidated_at is None and (
        record.expires_at is None or clock.timestamp(at) < record.expires_at
    )


def never_made(record: MemoryRecord, at: clock.Instant) -> bool:
    return record.invalidated_at is None or clock.timestamp(at) < record.invalidated_at


def not_at_its_first_instant(record: MemoryRecord, at: clock.Instant) -> bool:
    return record.created_at < clock.timestamp(at) and in_one_interval(record, at)


def both_at_once(record: MemoryRecord, at: clock.Instant) -> bool:
    moment = clock.timestamp(at)
    ended = record.invalidated_at is not None and moment > record.invalidated_at
    return record.created_at <= moment and not ended


def blind_to_expiry(record: MemoryRecord, at: clock.Instant) -> bool:
    moment = clock.timestamp(at)
    return record.created_at <= moment < (record.invalidated_at or math.inf)


def one_end_only(record: MemoryRecord, at: clock.Instant) -> bool:
    end = record.expires_at or record.invalidated_at or math.inf
    return record.created_at <= clock.timestamp(at) < end


def tombstone_first(record: MemoryRecord, at: clock.Instant) -> bool:
    end = record.invalidated_at or record.expires_at or math.inf
    return record.created_at <= clock.timestamp(at) < end


def seconds_only(record: MemoryRecord, at: Any) -> bool:
    moment = at.timestamp() if isinstance(at, datetime) else float("nan") if isinstance(at, str) else at
    return in_one_interval(record, moment) if moment == moment else False


def in_one_interval(record: MemoryRecord, at: clock.Instant) -> bool:
    end = min(math.inf if end is None else end for end in (record.invalidated_at, record.expires_at))
    return record.created_at <= clock.timestamp(at, "at") < end


# --- 02-visible-to ----------------------------------------------------------------------------------


def checked(condition: Answer) -> Answer:
    """The condition behind the checks of the scaffold, so that it fails for its own reason only."""

    def visible_to(user_id: str, app_name: str, scopes: Iterable[str], session_id: str | None) -> Any:
        check_owner(user_id, app_name)
        if session_id is not None:
            check_id("session_id", session_id)
        return condition(user_id, app_name, check_scopes(scopes), session_id)

    return visible_to


def marks(scopes: tuple[str, ...]) -> str:
    return ", ".join("?" * len(scopes))


@checked
def as_published(user: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
    sql = f"(app_name = ? AND scope IN ({marks(scopes)}) AND (user_id = ? OR scope = 'app'))"
    return sql, (app, *scopes, user)


@checked
def no_owner(user: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
    return f"(app_name = ? AND scope IN ({marks(scopes)}))", [app, *scopes]


@checked
def no_app(user: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
    return f"(scope IN ({marks(scopes)}) AND (user_id = ? OR scope = 'app'))", [*scopes, user]


@checked
def no_scope(user: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
    return "(app_name = ? AND (user_id = ? OR scope = 'app'))", [app, user]


def template(compare: str, user: str = ":user", shared: str = "app_name = :app AND scope = 'app'") -> Answer:
    """A right condition but for the way it compares a column with the user, and for what is shared."""

    @checked
    def visible_to(user_id: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
        own = compare.format(user)
        parts = {
            "user": f"(app_name = :app AND {own} AND scope = 'user')",
            "session": f"(app_name = :app AND {own} AND scope = 'session' AND session_id = :session)",
            "app": f"({shared})",
        }
        values = {"app": app, "user": user_id, "session": session}
        return f"({' OR '.join(parts[scope] for scope in scopes)})", values

    return visible_to


@checked
def session_is_owner(user: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
    sql, values = as_published(user, app, scopes, session)
    return f"({sql} AND scope <> 'session' OR app_name = ? AND scope = 'session' AND session_id = ?"\
           f" AND {int('session' in scopes)})", (*values, app, session)  # fmt: skip


@checked
def session_in_any_app(user: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
    sql, values = template("user_id = {}")(user, app, scopes, session)
    in_app, mine = "app_name = :app AND ", "user_id = :user AND scope = 'session'"
    return sql.replace(in_app + mine, mine), values


@checked
def no_session_is_every_session(user: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
    sql, values = as_published(user, app, scopes, session)
    return f"({sql} AND (scope <> 'session' OR ? IS NULL OR session_id = ?))", (*values, session, session)


@checked
def session_hides_the_rest(user: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
    sql, values = as_published(user, app, scopes, session)
    return f"({sql} AND session_id IS ?)", (*values, session)


@checked
def shared_by_author(user: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
    return f"(app_name = ? AND scope IN ({marks(scopes)}) AND user_id = ?)", (app, *scopes, user)


def no_parentheses(*arguments: Any) -> Any:
    sql, values = template("user_id = {}")(*arguments)
    return sql[1:-1], values


@checked
def ids_in_the_text(user: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
    return template("user_id = {}", f"'{user}'")(user, app, scopes, session)


@checked
def ids_without_quotes(user: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
    return template("user_id = {}", user)(user, app, scopes, session)


@checked
def session_in_the_text(user: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
    sql, values = in_one_condition(user, app, scopes, session)
    return sql.replace("session_id = :session", f"session_id = '{session}'"), values


def only_the_text(*arguments: Any) -> Any:
    return template("user_id = {}")(*arguments)[0]


def parameters_forgotten(*arguments: Any) -> Any:
    return template("user_id = {}")(*arguments)[0], {}


def misspelt_column(*arguments: Any) -> Any:
    return template("userid = {}")(*arguments)


def unchecked_owner(user: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
    return template("user_id = {}")(user or "anyone", app, scopes, session)


def trims_first(user: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
    return template("user_id = {}")(user.strip(), app, scopes, session)


def skips_unknown_scopes(user: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
    known = tuple(scope for scope in scopes if scope in ("user", "session", "app")) or ("user",)
    return template("user_id = {}")(user, app, known, session)


@checked
def in_one_condition(user: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
    wanted = {f"scope{number}": scope for number, scope in enumerate(scopes)}
    sql = (
        f"(app_name = :app AND scope IN ({', '.join(f':{name}' for name in wanted)}) AND (scope = 'app' OR"
        " user_id = :user) AND (scope <> 'session' OR session_id = :session))"
    )
    return sql, wanted | {"app": app, "user": user, "session": session}


@checked
def numbered_marks(user: str, app: str, scopes: tuple[str, ...], session: str | None) -> Any:
    sql = f"scope IN ({marks(scopes)}) AND app_name = ? AND CASE scope WHEN 'app' THEN 1"
    sql += " WHEN 'user' THEN user_id = ? ELSE user_id = ? AND session_id IS NOT NULL AND session_id IS ? END"
    return f"({sql})", [*scopes, app, user, user, session]


# --- 02-owned-by ------------------------------------------------------------------------------------


def owned(sql: str) -> Answer:
    def owned_by(user_id: str, app_name: str) -> Any:
        check_owner(user_id, app_name)
        return sql.replace("'{user}'", f"'{user_id}'"), {"user": user_id, "app": app_name}

    return owned_by


def owned_by_nobody(user_id: str, app_name: str) -> Any:
    return "(app_name = ? AND user_id = ? AND scope <> 'app')", [app_name, user_id]


def owned_by_marks(user_id: str, app_name: str) -> Any:
    check_owner(user_id, app_name)
    return "(app_name = ? AND user_id = ? AND scope <> 'app')", [app_name, user_id]


APP = "app_name = :app AND scope = 'app'"

WRONG: dict[str, Wrong] = {
    "02-starting-confidence": [
        (takes_the_extractors_word, "at its word"),
        (multiplies, "You multiplied"),
        (takes_the_mean, "the mean"),
        (gives_the_trust, "the trust of its source"),
        (takes_per_cent, "per cent"),
    ],
    "02-decayed": [
        (share_only, "multiply it by the confidence"),
        (base_e, "the base is 2"),
        (straight_line, "a straight line"),
        (whole_half_lives, "in steps"),
        (upside_down, "changed places"),
        (hyperbola, "ever more slowly"),
        (unguarded, "`check_positive`"),
        (turned_round, "surer with age"),
        (divides_by_nothing, "raised `ZeroDivisionError"),
    ],
    "02-lineage": [
        (walks_forward, "forward, into the future"),
        (one_step, "one step back only"),
        (newest_first, "turn the list round"),
        (without_itself, "left out the memory itself"),
        (one_branch, "one branch only"),
        (sorted_by_date, "Sorting by `created_at`"),
        (walks_twice, "walked through it twice"),
        (walks_in_circles, "must not hang your program"),
        (recurses_in_circles, "each call makes another"),
        (unknown_key, "raised `KeyError"),
        (empty_for_unknown, "An id that is not there"),
    ],
    "02-held-at": [
        (only_what_is_active, "nobody knew of August"),
        (never_made, "before it was made"),
        (not_at_its_first_instant, "use `<=`"),
        (both_at_once, "both would hold at once"),
        (blind_to_expiry, "look at `expires_at`"),
        (one_end_only, "the earlier end counts"),
        (tombstone_first, "hold any longer"),
        (seconds_only, "turn text and datetimes into seconds"),
    ],
    "02-visible-to": [
        (no_owner, "Bo's memory came back"),
        (no_app, "told the bank"),
        (no_scope, "you forgot to compare `scope`"),
        (as_published, "Session memories of another session came back"),
        (template("user_id = {}", shared="scope = 'app'"), "app-scope row of another app"),
        (shared_by_author, "do not compare their `user_id`"),
        (session_is_owner, "which session, not whose"),
        (session_in_any_app, "at the bank came back"),
        (no_session_is_every_session, "you opened them all"),
        (session_hides_the_rest, "give each scope its own rule"),
        (no_parentheses, "parentheses around the whole condition"),
        (ids_in_the_text, "the rest is run as SQL"),
        (ids_without_quotes, "takes it for a column"),
        (session_in_the_text, "The session id went into the SQL text"),
        (template("user_id LIKE {}"), "treats % as a wildcard"),
        (template("user_id GLOB {}"), "`GLOB` has wildcards"),
        (template("user_id = {} COLLATE NOCASE"), "never in lower case"),
        (template("trim(user_id) = {}"), "do not trim what is stored"),
        (only_the_text, "Give back two things"),
        (parameters_forgotten, "do not fit together"),
        (misspelt_column, "SQLite cannot run your condition"),
        (unchecked_owner, "before any SQL is written"),
        (trims_first, "Do not repair an id"),
        (skips_unknown_scopes, "A misspelt scope"),
    ],
    "02-owned-by": [
        (owned("(app_name = :app AND scope IN ('user', 'session'))"), "erased along with Ada's"),
        (owned("(app_name = :app AND user_id = :user AND scope = 'user')"), "would survive the erasure"),
        (owned("(app_name = :app AND user_id = :user AND scope = 'user' OR scope = 'session')"),
         "Bo's session would be erased"),
        (owned(f"(app_name = :app AND user_id = :user OR {APP})"), "does not own it"),
        (owned("(app_name = :app AND user_id = :user)"), "the scope decides, not the author"),
        (owned("(user_id = :user AND scope <> 'app')"), "account at the bank"),
        (owned("app_name = :app AND user_id = :user AND scope = 'session'"
               " OR app_name = :app AND user_id = :user AND scope = 'user'"), "reached only its last part"),
        (owned("(app_name = :app AND user_id = '{user}' AND scope <> 'app')"), "erases everybody"),
        (owned("(app_name = :app AND user_id LIKE :user AND scope <> 'app')"), "`LIKE` and %"),
        (owned_by_nobody, "without naming whom"),
    ],
}  # fmt: skip

RIGHT: dict[str, list[Answer]] = {
    "02-starting-confidence": [with_an_if],
    "02-decayed": [by_logarithm],
    "02-lineage": [through_a_stack],
    "02-held-at": [in_one_interval],
    "02-visible-to": [in_one_condition, numbered_marks],
    "02-owned-by": [owned_by_marks],
}
