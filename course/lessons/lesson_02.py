"""Lesson 02, records and the store: the checks of its exercises, and the pictures and tables it shows.

The checks compare with plain specifications written here; they never import the answers.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from course.check import Cases, Function, Misconception, Shown, exercise
from course.pictures.views import BLUE, GREY, ORANGE, Picture, Table, as_picture, new_figure, sources_text
from memlab import clock
from memlab.records import MemoryRecord, Source

# --- Confidence -------------------------------------------------------------------------------------


@exercise("02-starting-confidence")
def _(case: Cases, starting_confidence: Function) -> None:
    said: Source = Source("user_implicit", "s1")
    case(
        "an optimist is capped by the source",
        starting_confidence,
        0.95,
        said,
        expect=0.65,
        given="starting_confidence(0.95, Source('user_implicit', 's1')), trusted 0.65",
        otherwise="The extractor claims 0.95, the source is trusted 0.65: the smaller of the two counts.",
        mistakes=[
            (0.95, "You took the extractor at its word: nothing stops it from claiming 1.0 every time."),
            (0.95 * 0.65, "You multiplied: a cautious claim about a good source is then cut twice."),
            ((0.95 + 0.65) / 2, "You took the mean: claiming more would still buy more confidence."),
        ],
    )
    case(
        "a doubter stays in doubt",
        starting_confidence,
        0.2,
        said,
        expect=0.2,
        given="starting_confidence(0.2, Source('user_implicit', 's1')), trusted 0.65",
        otherwise="A trusted source does not make a doubtful reading of it surer: 0.2 stays 0.2.",
        mistakes=[(0.65, "You gave every memory the trust of its source: the extractor's doubt is lost.")],
    )
    case(
        "a tool never gets past 0.30",
        starting_confidence,
        1.0,
        Source("tool_output", "t1"),
        expect=0.30,
        given="starting_confidence(1.0, Source('tool_output', 't1')), trusted 0.30",
        otherwise="Look the kind of source up in TRUST: `tool_output` is trusted 0.30.",
    )
    case.refuses(
        "a claim above 1 is refused",
        starting_confidence,
        90,
        said,
        mentions="claimed",
        given="starting_confidence(90, Source('user_implicit', 's1'))",
        otherwise="Somebody wrote per cent: `check_fraction` turns down 90 and names the field `claimed`.",
    )


# fmt: off
@exercise("02-decayed")
def _(case: Cases, decayed: Function) -> None:
    case("nothing is lost on the first day", decayed, 0.8, 0, 30, expect=0.8,
         otherwise="At age 0 all of the confidence is still there.",
         mistakes=[(1.0, "You gave back the share that is left: multiply it by the confidence."),
                   (0.0, "At age 0 you are at nothing: age and half-life have changed places.")])
    case("half is left after one half-life", decayed, 0.8, 30, 30, expect=0.4,
         otherwise="After exactly one half-life, half of 0.8 is left.",
         mistakes=[(0.8 / math.e, "You used `exp(-age / half_life)`, leaving 37 %, not half: the base is 2."),
                   (0.8, "Nothing has decayed after a whole half-life.")])
    case("a quarter after two", decayed, 0.8, 60, 30, expect=0.2,
         otherwise="After a second half-life, half of the half is left.",
         mistakes=[(0.0, "You draw a straight line, and a memory dies after two half-lives. Halve again."),
                   (0.8 / 3, "1 / (1 + age) falls ever more slowly; a half-life takes half each time.")])
    case("days in between count", decayed, 0.8, 15, 30, expect=0.8 * 0.5**0.5,
         otherwise="Half a half-life leaves the square root of a half.",
         mistakes=[(0.8, "You count whole half-lives only (`//` or `int`): confidence would fall in steps.")])
    case.refuses("a half-life of 0 is refused", decayed, 0.8, 1, 0, mentions="half_life_days",
                 otherwise="Let `check_positive` turn down a half-life of 0: it names the field.")
    case.refuses("and one below 0", decayed, 0.8, 1, -30, mentions="half_life_days",
                 otherwise="With a half-life below 0 a memory grows surer with age: refuse it as well.")


# fmt: on

# --- Lineage and time -------------------------------------------------------------------------------


def _memory(name: str, replaced_by: str | None = None, **fields: Any) -> MemoryRecord:
    return MemoryRecord(f"{name}.", "ada", memory_id=name, superseded_by=replaced_by, **fields)


def _ids(records: object) -> list[str]:
    if not isinstance(records, (list, tuple)) or not all(isinstance(r, MemoryRecord) for r in records):
        raise Misconception("Give back a list of records.", expected=Shown("list[MemoryRecord]"), got=records)
    return [record.memory_id for record in records]


# fmt: off
@exercise("02-lineage")
def _(case: Cases, lineage: Function) -> None:
    def chain(records: Sequence[MemoryRecord], memory_id: str) -> list[str]:
        return _ids(lineage(records, memory_id))

    fish, veg = _memory("fish", created_at=3.0), _memory("veg", "fish", created_at=2.0)
    vegan = _memory("vegan", "veg", created_at=1.0)
    case("a memory that replaced nothing stands alone", chain, [fish, _memory("seat")], "fish",
         expect=["fish"], given="two memories, none replaced; lineage of fish",
         otherwise="The lineage of a memory that replaced nothing is the memory itself.",
         mistakes=[([], "You left out the memory itself: it stands last.")])
    case("what it replaced stands before it", chain, [fish, veg], "fish", expect=["veg", "fish"],
         otherwise="Search for the records whose `superseded_by` is this memory's id.",
         mistakes=[(["fish"], "You followed `superseded_by` forward, into the future: fish has none. "
                              "Ask who points *at* fish."),
                   (["fish", "veg"], "Oldest first: you walked back in time, so turn the list round."),
                   (["veg"], "You left out the memory itself: it stands last.")],
         given="lineage of fish, where veg was replaced by fish")
    case("the walk does not stop after one step", chain, [fish, vegan, veg], "fish",
         expect=["vegan", "veg", "fish"],
         otherwise="Walk on from each record that you find, until nothing points at it.",
         mistakes=[(["veg", "fish"], "You took one step back only: what veg replaced belongs to the story."),
                   (["vegan", "fish", "veg"],
                    "You kept the order of the input; each must precede its successor.")],
         given="lineage of fish, where vegan was replaced by veg, veg by fish")
    case("what came later is another question", chain, [fish, veg, vegan], "veg", expect=["vegan", "veg"],
         given="lineage of veg, where vegan was replaced by veg, veg by fish",
         otherwise="Why veg was believed has nothing to do with fish, which came later.",
         mistakes=[(["vegan", "veg", "fish"],
                    "You gave the whole chain. Fish came after veg: it is no reason for it.")])
    _one_memory_replaced_two(case, lineage)
    case("the clock may have been set back", chain,
         [_memory("new", created_at=1.0), _memory("old", "new", created_at=9.0)], "new",
         expect=["old", "new"],
         otherwise="The order is that of replacing. Sorting by `created_at` fails when a clock was set back.",
         given="lineage of new, where old was replaced by new, but old is dated later")
    case("the records may come one by one", chain, iter([fish, veg]), "fish", expect=["veg", "fish"],
         given="lineage of fish, where veg was replaced by fish; the records come from a generator",
         otherwise="`records` is an Iterable, and you walked through it twice: some can be walked once only. "
                   "Keep what you need, as `by_id` does, and walk through that.")
    _refuses_circles(case, lineage)
    case.refuses("an unknown id is refused", lineage, [fish], "mem_404", mentions="mem_404",
                 given="lineage of mem_404, among [fish]",
                 otherwise="An id that is not there must raise a ValueError whose message contains the id.")


# fmt: on
def _one_memory_replaced_two(case: Cases, lineage: Function) -> None:
    records = [_memory("one", created_at=4.0), _memory("b", "one", created_at=3.0)]
    records += [_memory("a", "one", created_at=2.0), _memory("oldest", "a", created_at=1.0)]
    got = _ids(lineage(records, "one"))
    case.holds(
        "one memory may replace several",
        sorted(got) == ["a", "b", "oldest", "one"] and got.index("oldest") < got.index("a"),
        "One memory may replace several, so the way back branches: you followed one branch only.",
        given="lineage of one, where a and b were both replaced by one, and oldest by a",
        expected=["b", "oldest", "a", "one"],
        got=got,
    )


def _refuses_circles(case: Cases, lineage: Function) -> None:
    circle = [_memory("hen", "egg"), _memory("egg", "hen")]
    sentence = (
        "Hen and egg replace each other. A damaged store must not hang your program: raise a ValueError."
    )
    given = "hen was replaced by egg, and egg by hen"
    try:
        case.refuses("a circle is refused", _counted(lineage), circle, "hen", given=given, otherwise=sentence)
    except _StillWalking as walk:
        if walk.recursive:
            sentence = "Hen, egg, hen …: each call makes another. Notice the circle, and raise a ValueError."
        got = Shown("RecursionError" if walk.recursive else "still walking after 10,000 looks at the records")
        raise Misconception(sentence, given=given, expected=Shown("ValueError"), got=got) from None


class _StillWalking(BaseException):
    """Not an Exception, so that no learner's `except` swallows it."""

    def __init__(self, *, recursive: bool = False) -> None:
        super().__init__()
        self.recursive = recursive


class _Watched(MemoryRecord):
    """A record that counts how often somebody asks what replaced it."""

    looks = 0

    def __getattribute__(self, name: str) -> Any:
        if name in ("superseded_by", "memory_id"):
            _Watched.looks += 1
            if _Watched.looks > 10_000:
                raise _StillWalking
        return super().__getattribute__(name)


def _counted(lineage: Function) -> Function:
    def walked(records: Sequence[MemoryRecord], memory_id: str) -> Any:
        _Watched.looks = 0
        watched = [
            _Watched(r.content, r.user_id, memory_id=r.memory_id, superseded_by=r.superseded_by)
            for r in records
        ]
        try:
            return lineage(watched, memory_id)
        except RecursionError:
            raise _StillWalking(recursive=True) from None

    return walked


# fmt: off
@exercise("02-held-at")
def _(case: Cases, held_at: Function) -> None:
    march, june, august = (clock.timestamp(f"2026-{month}-01T00:00:00Z") for month in ("03", "06", "08"))
    veg = _memory("veg", "fish", created_at=march, invalidated_at=august)
    trip = _memory("trip", created_at=march, expires_at=august)

    def asks(name: str, record: MemoryRecord, at: object, expect: bool, otherwise: str, given: str) -> None:
        case(name, held_at, record, at, expect=expect, otherwise=otherwise, given=given)

    asks("a tombstone set later does not reach back", veg, june, True,
         "In June nobody knew of August: what was replaced *later* still held.",
         "made in March, tombstoned in August, asked for June")
    asks("nothing is known before it was learned", veg, march - 1, False,
         "A memory cannot hold before it was made: compare with `created_at` too.",
         "made in March, asked for the second before")
    asks("it holds from the instant it was made", veg, march, True,
         "It holds from `created_at` on, that instant included: use `<=`.",
         "made on 1 March at 00:00, asked for that very instant")
    asks("its successor takes over at the tombstone's instant", veg, august, False,
         "At the instant of the tombstone its successor holds; with `<=` both would hold at once.",
         "tombstoned on 1 August at 00:00, asked for that very instant")
    asks("a tombstone holds for good", veg, august + 9, False,
         "After its tombstone a memory no longer holds.",
         "made in March, tombstoned in August, asked for later")
    asks("what expires later still holds", trip, june, True, "It expires in August: in June it holds.",
         "made in March, expires in August, asked for June")
    asks("expiry ends it too", trip, august, False,
         "An expired memory has no tombstone: look at `expires_at` as well.",
         "made in March, expires on 1 August at 00:00, asked for that instant")
    both = _memory("x", created_at=march, invalidated_at=june, expires_at=august)
    asks("what came first ends it", both, june + 1, False,
         "Tombstoned in June, to expire in August: the earlier end counts.",
         "made in March, tombstoned on 1 June, expires in August, asked for the second after")
    gone = _memory("x", created_at=march, expires_at=june, invalidated_at=august)
    asks("whichever of the two it is", gone, june + 1, False,
         "Expired in June, tombstoned in August: the tombstone does not make it hold any longer.",
         "made in March, expired on 1 June, tombstoned in August, asked for the second after")
    asks("today's clock plays no part", _memory("y", created_at=1.0), 2.0, True,
         "Compare with `at`, not with `clock.now()`.", "made in 1970 and never ended, asked for 1970")
    asks("an instant may be text", veg, "2026-06-01T02:00:00+02:00", True,
         "Let `clock.timestamp(at, 'at')` turn text and datetimes into seconds first.",
         "at='2026-06-01T02:00:00+02:00'")


# fmt: on

# --- Isolation: a table of attacks ------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One row of the attacked table, as far as isolation is concerned."""

    user_id: str
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

    user_id: str
    scopes: tuple[str, ...] = ("user",)
    session_id: str | None = None
    app_name: str = "shop"

    def __str__(self) -> str:
        return f"visible_to({self.user_id!r}, {self.app_name!r}, {self.scopes!r}, {self.session_id!r})"

    def may_see(self, row: Row) -> bool:
        """The specification of `visible_to`: one row, one caller, no SQL."""
        if row.app_name != self.app_name or row.scope not in self.scopes:
            return False
        if row.scope == "app":
            return True
        if row.user_id != self.user_id:
            return False
        return row.scope == "user" or (self.session_id is not None and row.session_id == self.session_id)


@dataclass(frozen=True)
class Attack:
    """A table of few rows, a caller, and the sentence for the predicate that lets a wrong row out.

    missing: the sentence for one that keeps a row from its owner.
    """

    name: str
    rows: tuple[Row, ...]
    caller: Caller
    sentence: str
    missing: str = "A row of the caller's own did not come back."


ADA, BO = Row("ada"), Row("bo")
QUOTED = "x' OR 'a'='a"

# fmt: off
ATTACKS = (
    Attack("another user's memories", (ADA, BO), Caller("ada"), "Bo's memory came back: compare `user_id`."),
    Attack("the same user in another app", (ADA, Row("ada", app_name="bank")), Caller("ada"),
           "What Ada told the bank came back in the shop: compare `app_name` too."),
    Attack("scopes that were not asked for", (ADA, Row("ada", "session", "s1"), Row("ops", "app")),
           Caller("ada"),
           "Only the scope `user` was asked for: you forgot to compare `scope`."),
    Attack("what the app shares", (ADA, Row("ops", "app")), Caller("ada", ("user", "app")),
           "Something else than Ada's own and the app's came back.",
           "App memories are for every user of the app, so do not compare their `user_id`."),
    Attack("what another app shares", (Row("ops", "app"), Row("ops", "app", app_name="bank")),
           Caller("ada", ("app",)),
           "The app-scope row of another app came back: `OR scope = 'app'` needs its own `app_name`."),
    Attack("your other session", (Row("ada", "session", "s1"), Row("ada", "session", "s2")),
           Caller("ada", ("session",), "s1"),
           "Session memories of another session came back: s2 is Ada's as well, but this is s1."),
    Attack("another user in a session of the same name",
           (Row("ada", "session", "s1"), Row("bo", "session", "s1")), Caller("ada", ("session",), "s1"),
           "Bo's session came back: a session id says which session, not whose. Compare `user_id` too."),
    Attack("your session in another app",
           (Row("ada", "session", "s1"), Row("ada", "session", "s1", app_name="bank")),
           Caller("ada", ("session",), "s1"),
           "A session of the same name at the bank came back: the session's rule needs `app_name` too."),
    Attack("no session named", (ADA, Row("ada", "session", "s1")), Caller("ada", ("user", "session")),
           "No session was named, and you opened them all: without a session no session row is visible."),
    Attack("a session named, nothing lost", (ADA, Row("ada", "session", "s1"), Row("ops", "app")),
           Caller("ada", ("user", "session", "app"), "s1"), "More came back than Ada may see.",
           "Asked for all three scopes in s1, Ada must get all three rows: give each scope its own rule."),
    Attack("a condition put behind yours", (ADA, Row("ada", tombstoned=True), Row("ops", "app")),
           Caller("ada", ("user", "app")),
           "The store adds `AND invalidated_at IS NULL`, and a tombstone came back: AND binds more tightly "
           "than OR. Put parentheses around the whole condition."),
    Attack("SQL in an id", (ADA, BO), Caller(QUOTED),
           "You put the id into the SQL text: the quote in it ends your string, and the rest is run as SQL. "
           "Write a placeholder (`:user_id`) and pass the id as a parameter."),
    Attack("SQL in a session id", (Row("ada", "session", "s1"), Row("ada", "session", "s2")),
           Caller("ada", ("session",), QUOTED),
           "The session id went into the SQL text: it needs a placeholder too."),
    Attack("SQL in an app's name", (ADA, Row("ada", app_name="bank")), Caller("ada", app_name=QUOTED),
           "The app's name went into the SQL text: it needs a placeholder too."),
    Attack("an honest quote in an id", (Row("o'neil"), Row('say "hi"')), Caller("o'neil"),
           "O'Neil was given somebody else's row.",
           "O'Neil does not see his own memory: no quote may matter."),
    Attack("the wildcard %", (ADA, BO), Caller("%"),
           "`LIKE` treats % as a wildcard, so the user called % reads everybody. Compare with `=`."),
    Attack("the wildcard _", (Row("b_"), BO), Caller("b_"), "_ is a wildcard too: b_ and bo are two users."),
    Attack("the wildcard *", (ADA, BO), Caller("*"),
           "`GLOB` has wildcards as well: * reads everybody. Use `=`."),
    Attack("letter case", (ADA, Row("Ada")), Caller("ada"),
           "ada and Ada are two users: ids are compared as they are, never in lower case."),
    Attack("a space that came from elsewhere", (ADA, Row("ada ")), Caller("ada"),
           "`ada` and `ada ` are two users: do not trim what is stored."),
)
# fmt: on
"""From the plainest to the slyest; the first that gets through is the one that is shown."""


# fmt: off
@exercise("02-visible-to")
def _(case: Cases, visible_to: Function) -> None:
    for attack in ATTACKS:
        _withstand(case, visible_to, attack)
    case.refuses("a missing owner is refused", visible_to, "", "shop", ("user",), None, mentions="user_id",
                 otherwise="No owner was named: `check_owner` raises before any SQL is written.")
    case.refuses("a padded id is refused", visible_to, "ada ", "shop", ("user",), None, mentions="user_id",
                 otherwise="Do not repair an id by trimming it: `check_owner` refuses `ada `, aloud.")
    case.refuses("an unknown scope is refused", visible_to, "ada", "shop", ("users",), None,
                 mentions="scopes",
                 otherwise="A misspelt scope must not quietly mean nothing: `check_scopes` turns it down.")


# fmt: on
def _withstand(case: Cases, visible_to: Function, attack: Attack) -> None:
    caller = attack.caller
    given = f"{caller} on the rows [{', '.join(map(str, attack.rows))}]"
    pair = visible_to(caller.user_id, caller.app_name, caller.scopes, caller.session_id)
    wanted = [row for row in attack.rows if caller.may_see(row) and not row.tombstoned]
    try:
        got = rows_for(pair, attack.rows)
    except sqlite3.Error as error:
        raise Misconception(_sql_trouble(error, caller), given=given, got=Shown(_told(pair))) from None
    extra = [row for row in got if row not in wanted]
    case.holds(
        attack.name,
        got == wanted,
        attack.sentence if extra else attack.missing,
        given=given,
        expected=_listed(wanted),
        got=_listed(got),
    )


def rows_for(pair: object, rows: Sequence[Row]) -> list[Row]:
    """The rows that an SQL condition and its parameters let out of a real table that holds `rows`.

    As in the store, a second condition is put behind the first: tombstones stay inside. Raises
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
        statement = f"SELECT seq FROM memories WHERE {sql} AND invalidated_at IS NULL ORDER BY seq"
        return [rows[seq] for (seq,) in database.execute(statement, parameters)]
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


def _told(pair: object) -> str:
    return repr(pair[0]) if isinstance(pair, tuple) and pair else repr(pair)


def _listed(rows: Iterable[Row]) -> Shown:
    return Shown(f"[{', '.join(map(str, rows))}]")


def attack_table(visible_to: Function) -> Table:
    """Every attack on `visible_to`, run on a real SQLite table: what came back, and whether it should."""
    lines = []
    for attack in ATTACKS:
        caller = attack.caller
        pair = visible_to(caller.user_id, caller.app_name, caller.scopes, caller.session_id)
        wanted = [row for row in attack.rows if caller.may_see(row) and not row.tombstoned]
        try:
            got = rows_for(pair, attack.rows)
        except sqlite3.Error as error:
            lines.append([attack.name, _who(caller), f"SQLite: {error}", "✗ broken"])
            continue
        leaked = [row for row in got if row not in wanted]
        verdict = "✗ LEAK" if leaked else "✓ held" if got == wanted else "✗ row lost"
        shown = leaked or got
        lines.append([attack.name, _who(caller), "; ".join(map(str, shown)) or "nothing", verdict])
    return Table(["attack", "who asks, for which scopes", "what came back", "verdict"], lines)


def _who(caller: Caller) -> str:
    session = f" in {caller.session_id}" if caller.session_id else ""
    return f"{caller.user_id}{session}: {', '.join(caller.scopes)}"


# fmt: off
@exercise("02-owned-by")
def _(case: Cases, owned_by: Function) -> None:
    def owned(*rows: Row, user_id: str = "ada") -> Shown:
        pair = owned_by(user_id, "shop")
        try:
            return _listed(rows_for(pair, rows))
        except sqlite3.Error as error:
            raise Misconception(_sql_trouble(error, Caller(user_id)), got=Shown(_told(pair))) from None

    def asks(name: str, rows: list[Row], keep: list[Row], sentence: str, user_id: str = "ada") -> None:
        given = f"owned_by({user_id!r}, 'shop') on the rows [{', '.join(map(str, rows))}]"
        got = owned(*rows, user_id=user_id)
        wanted = _listed(keep)
        case.holds(name, got == wanted, sentence, given=given, expected=wanted, got=got)

    sessions = [ADA, Row("ada", "session", "s1"), Row("ada", "session", "s2")]
    asks("other users keep theirs", [ADA, BO], [ADA], "Bo's memory would be erased along with Ada's.")
    asks("every session is included", sessions, sessions,
         "Session memories would survive the erasure: all of Ada's sessions belong to her.")
    asks("and nobody else's", [*sessions, Row("bo", "session", "s1")], sessions,
         "Bo's session would be erased too: AND binds more tightly than OR, so an `OR scope = …` stands "
         "alone. Write `scope IN ('user', 'session')`.")
    asks("what all read is nobody's to erase", [ADA, Row("ops", "app")], [ADA],
         "Ada reads what the app shares, but does not own it: erasing Ada must not take it from everybody.")
    asks("not even in the name of its author", [ADA, Row("ada", "app")], [ADA],
         "This app row was put in by Ada. It is still read by all: the scope decides, not the author.")
    asks("another app is another store", [ADA, Row("ada", app_name="bank")], [ADA],
         "Leaving the shop would close Ada's account at the bank: compare `app_name`.")
    ended = Row("ada", "session", "s1", tombstoned=True)
    asks("a condition put behind yours still counts", [ADA, ended], [ADA],
         "The `AND` that the store puts behind your condition reached only its last part: add parentheses.")
    asks("SQL in an id stays an id", [ADA, BO], [],
         "You put the id into the SQL text, so a user with this name erases everybody.", user_id=QUOTED)
    asks("an honest quote in an id", [Row("o'neil"), BO], [Row("o'neil")],
         "O'Neil's memories are not found: no quote may matter.", user_id="o'neil")
    asks("an id is no pattern", [ADA, BO], [],
         "`LIKE` and % would erase everybody: compare with `=`.", user_id="%")
    case.refuses("a missing owner is refused", owned_by, "", "shop", mentions="user_id",
                 otherwise="Erasing without naming whom: `check_owner` must turn it down first.")


# fmt: on

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
