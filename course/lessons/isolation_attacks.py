"""The attacks of lesson 02 on a condition that keeps users apart, each run on a real SQLite table."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from course.check import Cases, Function, Misconception, Shown
from course.pictures.views import Table


@dataclass(frozen=True)
class Stored:
    """One row of the attacked table, as far as isolation is concerned."""

    user_id: str = "ada"
    scope: str = "user"
    session_id: str | None = None
    app_name: str = "shop"
    tombstoned: bool = False

    def __str__(self) -> str:
        owner = self.user_id if self.scope != "app" else "for all"
        session = f" {self.session_id}" if self.session_id else ""
        return f"{owner} · {self.scope}{session}{' · tombstone' * self.tombstoned} · {self.app_name}"


@dataclass(frozen=True)
class Caller:
    """Who asks, and for what."""

    user_id: str = "ada"
    scopes: tuple[str, ...] = ("user",)
    session_id: str | None = None
    app_name: str = "shop"

    def __str__(self) -> str:
        return f"visible_to({self.user_id!r}, {self.app_name!r}, {self.scopes!r}, {self.session_id!r})"

    def may_see(self, row: Stored) -> bool:
        """The specification of `visible_to`: one row, one caller, no SQL."""
        if row.app_name != self.app_name or row.scope not in self.scopes:
            return False
        if row.scope == "session" and (self.session_id is None or row.session_id != self.session_id):
            return False
        return row.scope == "app" or row.user_id == self.user_id


@dataclass(frozen=True)
class Attack:
    """A table of few rows, a caller, and the sentence for the predicate that lets a wrong row out.

    missing: the sentence for one that keeps a row from its owner.
    """

    name: str
    rows: tuple[Stored, ...]
    caller: Caller
    sentence: str
    missing: str = "A row of the caller's own did not come back."


ADA, BO, SHARED = Stored(), Stored("bo"), Stored("ops", "app")
ADAS_S1, ADAS_S2, BOS_S1 = (
    Stored("ada", "session", "s1"),
    Stored("ada", "session", "s2"),
    Stored("bo", "session", "s1"),
)
AT_THE_BANK = replace(ADA, app_name="bank")
# fmt: off
ATTACKS = [
    Attack("another user's memories", (ADA, BO), Caller(), "Bo's memory came back: compare `user_id`."),
    Attack("the same user in another app", (ADA, AT_THE_BANK), Caller(),
           "What Ada told the bank came back in the shop: compare `app_name` too."),
    Attack("scopes that were not asked for", (ADA, ADAS_S1, SHARED), Caller(),
           "Only the scope `user` was asked for: you forgot to compare `scope`."),
    Attack("what the app shares", (ADA, SHARED), Caller(scopes=("user", "app")),
           "Something else than Ada's own and the app's came back.",
           "App memories are for every user of the app, so do not compare their `user_id`."),
    Attack("what others did not share", (BO, BOS_S1, SHARED), Caller(scopes=("app",)),
           "Asked for what the app shares, you gave away Bo's own: the rule for `app` compares `scope` too."),
    Attack("what another app shares", (SHARED, replace(SHARED, app_name="bank")), Caller(scopes=("app",)),
           "The app-scope row of another app came back: `OR scope = 'app'` needs its own `app_name`."),
    Attack("your other session", (ADAS_S1, ADAS_S2), Caller(scopes=("session",), session_id="s1"),
           "Session memories of another session came back: s2 is Ada's as well, but this is s1."),
    Attack("another user in a session of the same name", (ADAS_S1, BOS_S1),
           Caller(scopes=("session",), session_id="s1"),
           "Bo's session came back: a session id says which session, not whose. Compare `user_id` too."),
    Attack("your session in another app", (ADAS_S1, replace(ADAS_S1, app_name="bank")),
           Caller(scopes=("session",), session_id="s1"),
           "A session of the same name at the bank came back: the session's rule needs `app_name` too."),
    Attack("no session named", (ADA, ADAS_S1), Caller(scopes=("user", "session")),
           "No session was named, and you opened them all: without a session no session row is visible."),
    Attack("a session named, nothing lost", (ADA, ADAS_S1, SHARED),
           Caller(scopes=("user", "session", "app"), session_id="s1"), "More came back than Ada may see.",
           "Asked for all three scopes in s1, Ada must get all three rows: give each scope its own rule."),
    Attack("a condition put around yours", (ADA, replace(ADA, tombstoned=True), SHARED),
           Caller(scopes=("user", "app")),
           "The store adds `AND invalidated_at IS NULL`, and a tombstone came back: AND binds more tightly "
           "than OR. Put parentheses around the whole condition."),
]
"""From the plainest to the slyest; the first that gets through is the one that is shown."""


ID = {"user_id": "user's id", "app_name": "app's name", "session_id": "session's id"}
# what is tried with each of them: what is stored ({} is an honest id), what is asked for, the sentence
TRICKS = [
    ("SQL in an id", "{}", "x' OR 'a'='a",
     "You put the {} into the SQL text: the quote in it ends your string, and the rest is run as SQL. Write "
     "a placeholder (`:{}`) and pass the id as a parameter."),
    ("the wildcard %", "{}", "%", "`LIKE` takes % for a wildcard: any {} would do. Compare `{}` with `=`."),
    ("the wildcard _", "{}1", "{}_", "_ is a wildcard in the {} too. Compare `{}` with `=`."),
    ("the wildcard *", "{}", "*", "`GLOB` has wildcards as well: any {} fits *. Compare `{}` with `=`."),
    ("letter case in what is stored", "{}A", "{}a",
     "The {} was asked for in lower case, and fits one in capitals: compare `{}` as it is."),
    ("letter case in what is asked for", "{}a", "{}A",
     "The {} was asked for in capitals, and fits one in lower case: hand `{}` on as it came."),
    ("a space that came from elsewhere", "{} ", "{}",
     "A space behind the {} makes another one: do not trim what is stored in `{}`."),
    ("two ways to write é", "{}\u00e9", "{}e\u0301",
     "The {} is no text to be normalised: two ways to write é are two ids. Hand `{}` on as it came."),
]
QUOTE = Attack("an honest quote in an id", (Stored("o'neil"), Stored('say "hi"')), Caller("o'neil"),
               "O'Neil was given somebody else's row.",
               "O'Neil's memories are not found: no quote may matter.")


def _erases(name: str, rows: Sequence[Stored], sentence: str) -> Attack:
    return Attack(name, tuple(rows), Caller(), sentence, sentence)


OWNED = [
    _erases("other users keep theirs", [ADA, BO], "Bo's memory would be erased along with Ada's."),
    _erases("every session is included", [ADA, ADAS_S1, ADAS_S2],
            "Session memories would survive the erasure: all of Ada's sessions belong to her."),
    _erases("and nobody else's", [ADA, ADAS_S1, ADAS_S2, BOS_S1],
            "Bo's session would be erased too: AND binds more tightly than OR, so an `OR scope = …` stands "
            "alone. Write `scope IN ('user', 'session')`."),
    _erases("what all read is nobody's to erase", [ADA, SHARED],
            "Ada reads what the app shares, but does not own it: erasing Ada must take it from nobody."),
    _erases("not even in the name of its author", [ADA, Stored("ada", "app")],
            "This app row was put in by Ada. It is still read by all: the scope decides, not the author."),
    _erases("another app is another store", [ADA, AT_THE_BANK],
            "Leaving the shop would close Ada's account at the bank: compare `app_name`."),
    _erases("conditions put around yours still count",
            [ADA, replace(ADA, tombstoned=True), replace(ADAS_S1, tombstoned=True)],
            "What the store puts before and behind your condition (`memory_id = … AND`, `AND invalidated_at "
            "IS NULL`) reached only one part of it: add parentheses around the whole."),
]
# fmt: on


def _tricks(trick: tuple[str, str, str, str], scopes: Iterable[str], columns: Iterable[str]) -> list[Attack]:
    """The trick tried on each of these ids, in each scope whose rule compares it."""
    name, stored, asked, sentence = trick
    honest, attacks = {"user_id": "ada", "app_name": "shop", "session_id": "s1"}, []
    compared = {"user": {"user_id", "app_name"}, "session": set(honest), "app": {"app_name"}}
    for column, scope in [(column, scope) for column in columns for scope in scopes]:
        if column in compared[scope]:
            session = "s1" if scope == "session" else None
            row = replace(Stored("ada", scope, session), **{column: stored.format(honest[column])})  # type: ignore[arg-type]
            caller = replace(Caller("ada", (scope,), session), **{column: asked.format(honest[column])})  # type: ignore[arg-type]
            attacks.append(Attack(name, (row,), caller, sentence.format(ID[column], column)))
    return attacks


@dataclass(frozen=True)
class Condition:
    """A learner's condition: how it is called, how the call reads, and which rows it must let out."""

    asked: Callable[[Caller], object]
    told: Callable[[Caller], str]
    may: Callable[[Caller, Stored], bool]

    def wanted(self, attack: Attack) -> list[Stored]:
        return [row for row in attack.rows if not row.tombstoned and self.may(attack.caller, row)]

    def withstands(self, attack: Attack) -> None:
        """Raises Misconception when a wrong row gets out, or a right one does not."""
        wanted, pair = self.wanted(attack), self.asked(attack.caller)
        given = f"{self.told(attack.caller)} on the rows {_listed(attack.rows)}"
        try:
            got = rows_for(pair, attack.rows)
        except sqlite3.Error as error:
            trouble, sql = _sql_trouble(error, attack.caller), pair[0]  # type: ignore[index]
            raise Misconception(trouble, given=given, got=sql) from None
        if got != wanted:
            sentence = attack.sentence if set(got) - set(wanted) else attack.missing
            if not got and len(attack.caller.scopes) > 1:
                sentence = (
                    "Several scopes, and no row: each row has one scope, so join their rules with `OR`."
                )
            raise Misconception(sentence, given=given, expected=_listed(wanted), got=_listed(got))

    def survives(
        self, case: Cases, scopes: Sequence[str], columns: Sequence[str], plain: list[Attack]
    ) -> None:
        """The plain attacks, and each trick in each place; one case for each name."""
        tricks = [_tricks(trick, scopes, columns) for trick in TRICKS]
        for attacks in [*([attack] for attack in plain), *tricks, [QUOTE]]:
            for attack in attacks:
                self.withstands(attack)
            case.holds(attacks[0].name, True, "")


def rows_for(pair: object, rows: Sequence[Stored]) -> list[Stored]:
    """The rows that an SQL condition and its parameters let out of a real table that holds `rows`.

    As in the store, a second condition is put before or behind it: tombstones stay inside. Raises
    Misconception for what is no such pair, and sqlite3.Error for what SQLite cannot run.
    """
    sql, parameters = _as_pair(pair)
    database = sqlite3.connect(":memory:")
    try:
        database.execute(
            "CREATE TABLE memories (seq INTEGER PRIMARY KEY, memory_id TEXT, app_name TEXT,"
            " user_id TEXT, scope TEXT, session_id TEXT, topic TEXT, invalidated_at REAL)"
        )
        for seq, row in enumerate(rows):
            ended = 1.0 if row.tombstoned else None
            values = (seq, f"mem_{seq}", row.app_name, row.user_id, row.scope, row.session_id, "diet", ended)
            database.execute("INSERT INTO memories VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        out: set[int] = set()
        for around in (f"{sql} AND invalidated_at IS NULL", f"invalidated_at IS NULL AND {sql}"):
            out |= {
                seq for (seq,) in database.execute(f"SELECT seq FROM memories WHERE {around}", parameters)
            }
        return [rows[seq] for seq in sorted(out)]
    finally:
        database.close()


def _as_pair(pair: object) -> tuple[str, Any]:
    if isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str):
        sql, parameters = pair
        if isinstance(parameters, Mapping):
            return sql, dict(parameters)
        if isinstance(parameters, Sequence) and not isinstance(parameters, str):
            return sql, tuple(parameters)
    raise Misconception(
        "Give back two things: the SQL text, and the parameters for its placeholders.",
        expected=Shown("('(user_id = :user_id AND …)', {'user_id': …})"),
        got=pair,
    )


def _sql_trouble(error: sqlite3.Error, caller: Caller) -> str:
    if isinstance(error, (sqlite3.ProgrammingError, sqlite3.InterfaceError)):
        return f"Placeholders and parameters do not fit together ({error})."
    ids = (caller.user_id, caller.app_name, caller.session_id or "")
    if any(name and f"no such column: {name}" in str(error) for name in ids):
        return (
            "You put the id into the SQL text, and SQLite takes it for a column. Write a placeholder, "
            "`:user_id`, and pass the id as a parameter."
        )
    if any("'" in name for name in ids):
        return "You put the id into the SQL text: the quote in it ends the string. Write a placeholder."
    return f"SQLite cannot run your condition ({error})."


def _listed(rows: Iterable[Stored]) -> Shown:
    return Shown(f"[{', '.join(map(str, rows))}]")


def seen_by(visible_to: Function) -> Condition:
    """A learner's `visible_to`, as a condition to attack."""
    return Condition(
        lambda who: visible_to(who.user_id, who.app_name, who.scopes, who.session_id), str, Caller.may_see
    )


def erased_by(owned_by: Function) -> Condition:
    """A learner's `owned_by`, as a condition to attack."""
    return Condition(
        lambda who: owned_by(who.user_id, who.app_name),
        lambda who: f"owned_by({who.user_id!r}, {who.app_name!r})",
        lambda who, row: row.scope != "app" and (row.user_id, row.app_name) == (who.user_id, who.app_name),
    )


def attack_table(visible_to: Function) -> Table:
    """Every attack on `visible_to`, run on a real SQLite table: what came back, and whether it should."""
    condition, lines = seen_by(visible_to), []
    on_users = [attack for trick in TRICKS for attack in _tricks(trick, ("user",), ("user_id",))]
    for attack in [*ATTACKS, *on_users, QUOTE]:
        who, wanted = attack.caller, condition.wanted(attack)
        asks = f"{who.user_id}{f' in {who.session_id}' * bool(who.session_id)}: {', '.join(who.scopes)}"
        try:
            got = rows_for(condition.asked(who), attack.rows)
        except sqlite3.Error as error:
            lines.append([attack.name, asks, f"SQLite: {error}", "✗ broken"])
            continue
        leaked = [row for row in got if row not in wanted]
        verdict = "✗ LEAK" if leaked else "✓ held" if got == wanted else "✗ row lost"
        lines.append([attack.name, asks, "; ".join(map(str, leaked or got)) or "nothing", verdict])
    return Table(["attack", "who asks, for which scopes", "what came back", "verdict"], lines)
