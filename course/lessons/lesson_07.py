"""Lesson 07, forgetting: the checks of its exercises, on small stores made by hand."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from course.check import Cases, Function, Misconception, Shown, exercise
from memlab import clock
from memlab.embedding import hash_embed
from memlab.records import Candidate, MemoryRecord, Source
from memlab.store import MemoryStore

TODAY = "2026-08-06T20:11:27Z"


def _sources(ids: str) -> list[Source]:
    """ "(s1) s3" gives s1, inherited, and s3."""
    return [Source("user_implicit", i.strip("()"), f"words of {i}", inherited="(" in i) for i in ids.split()]


def _memory(name: str, sources: str, user_id: str = "ada", **fields: Any) -> MemoryRecord:
    record = MemoryRecord(f"{name}.", user_id, memory_id=name, sources=_sources(sources), **fields)
    if record.superseded_by:
        record.invalidated_at = record.created_at
    return record


def _holding(*records: MemoryRecord) -> MemoryStore:
    store = MemoryStore()
    for record in records:
        store.put(record)
    return store


def _left(store: MemoryStore, user_id: str = "ada") -> list[str]:
    return [record.memory_id for record in store.owned(user_id)]


def _ids(records: object, what: str) -> list[str]:
    if not isinstance(records, (list, tuple)) or not all(isinstance(r, MemoryRecord) for r in records):
        raise Misconception(
            f"Give back the memories {what}, as a list of records.",
            expected=Shown("list[MemoryRecord]"),
            got=records,
        )
    return [record.memory_id for record in records]


# --- What rests on what -----------------------------------------------------------------------------


# fmt: off
@exercise("07-rests-only")
def _(case: Cases, rests_only_on: Function) -> None:
    def asks(name: str, sources: str, source_id: str, expect: bool, otherwise: str,
             mistakes: Sequence[tuple[object, str]] = ()) -> None:
        case(name, rests_only_on, _memory("m", sources), source_id, expect=expect, otherwise=otherwise,
             mistakes=mistakes, given=f"sources {sources or 'none'}, asked for {source_id}")

    asks("its one source holds it up", "s1", "s1", True, "Only s1 states it, so it rests on s1 alone.")
    asks("a second source holds it up too", "s1 s2", "s1", False,
         "s2 states it too. This is the naive deletion: whatever the source touched is gone.")
    asks("of two sources it does not matter which is asked for", "s1 s2", "s2", False,
         "s1 states it too: compare all source ids, not just the first.")
    asks("another source is none of its business", "s1", "s2", False, "s2 never said it at all.",
         [(True, "You counted sources: it has one, but is that the one asked for?")])
    asks("what it inherited does not hold it up", "(s1) (s2) s3", "s3", True,
         "s1 and s2 said the *opposite*: fish only replaced what they said. Inherited sources do not count.")
    asks("a memory does not rest on what it inherited", "(s1) s3", "s1", False,
         "s3 states it; from s1 it only inherited.")
    asks("hearing it twice in one source is still one", "s1 s1", "s1", True,
         "s1 said it twice. That makes two entries in the list, and one source: compare ids, not counts.")
    asks("a memory without any source rests on none", "", "s1", False,
         "It has no source, so it does not rest on s1; `all(…)` of nothing is True.")


# fmt: on

# --- Revoking ---------------------------------------------------------------------------------------


@exercise("07-forget-source")
def _(case: Cases, forget_source: Function) -> None:
    _erases_and_flags(case, forget_source)
    _reaches_what_is_displaced(case, forget_source)
    _reaches_this_user_only(case, forget_source)
    _ends_the_conversation(case, forget_source)
    _reaches_the_app_named(case, forget_source)
    _is_all_or_nothing(case, forget_source)
    _leaves_no_bytes(case, forget_source)


def _revoked(forget_source: Function, source_id: str, *args: Any) -> Function:
    """Revoke on a store, and give back what was erased and flagged, as two lists of ids."""

    def revoke(store: MemoryStore) -> list[list[str]]:
        result = forget_source(store, source_id, "ada", *args)
        if result is ... or not hasattr(result, "erased") or not hasattr(result, "flagged"):
            sentence = "Give back `Revocation(erased, flagged)`, two lists of memory ids."
            raise Misconception(sentence, expected=Shown("Revocation"), got=result)
        return [list(result.erased), list(result.flagged)]

    return revoke


# fmt: off
def _erases_and_flags(case: Cases, forget_source: Function) -> None:
    store = _holding(_memory("name", "s1"), _memory("seat", "s2"))
    given = "name from s1, seat from s2; revoke s1"
    case("what rests on it alone is erased", _revoked(forget_source, "s1"), store,
         expect=[["name"], []], given=given, otherwise="Only s1 says name; seat has nothing to do with s1.")
    case.holds("and its row is gone", _left(store) == ["seat"],
               "You set a tombstone, which keeps every word. Revoking is erasing: `store.remove`.",
               given=given, expected=["seat"], got=_left(store))
    store = _holding(_memory("diet", "s1 s2", confidence=0.70))
    given = "diet from s1 and s2, confidence 0.70; revoke s1"
    case("what others say too is flagged", _revoked(forget_source, "s1"), store, expect=[[], ["diet"]],
         given=given, otherwise="s2 says diet too: flag it for regeneration.",
         mistakes=[([["diet"], []], "You erased a fact that s2 had confirmed, and s2 was never revoked.")])
    diet = store.get("diet", "ada")
    case.holds("it stays in the store", diet is not None, "Flagged is not erased.", given=given)
    assert diet is not None
    case.holds("without the revoked source", [s.source_id for s in diet.sources] == ["s2"],
               "The memory still names s1 and quotes it: `detach` takes the source out; then `put` it.",
               given=given, expected=["s2"], got=[s.source_id for s in diet.sources])
    case.holds("less sure, and marked for regeneration", diet.confidence < 0.70 and diet.needs_regeneration,
               "What s1 added to our confidence goes with it, and `needs_regeneration` is set.",
               given=given, expected=Shown("below 0.70, flagged"), got=diet.confidence)


def _reaches_what_is_displaced(case: Cases, forget_source: Function) -> None:
    store = _holding(_memory("veg", "s1", superseded_by="fish"), _memory("fish", "(s1) s3"))
    given = "veg from s1 was replaced by fish from s3, which inherited s1; revoke s3"
    case("a belief does not outlive the source that stated it", _revoked(forget_source, "s3"), store,
         expect=[["fish"], ["veg"]], given=given,
         otherwise="fish goes, and veg, which it had displaced, is flagged so that it can come back.",
         mistakes=[([[], ["fish"]], "fish stays though nobody is left who said so: inherited sources count "
                    "for nothing here."),
                   ([["fish"], []], "veg still lies under a stone that nobody holds in place: pass what you "
                    "erase to `detach`, which frees what it had displaced.")])
    veg = store.get("veg", "ada")
    case.holds("what it had displaced is free", veg is not None and veg.superseded_by is None,
               "veg points to fish, and there is no fish: write back what `detach` changed.",
               given=given, expected=None, got=veg and veg.superseded_by)
    store = _holding(_memory("veg", "s1", superseded_by="fish"), _memory("fish", "(s1) s3"))
    case("tombstones are reached as well", _revoked(forget_source, "s1"), store, expect=[["veg"], ["fish"]],
         given="the same two memories; revoke s1", otherwise="veg is a tombstone, all of it from s1.",
         mistakes=[([[], ["fish"]], "You looked at active memories only. A tombstone still holds the words: "
                    "`store.owned` gives all of them.")])


def _reaches_this_user_only(case: Cases, forget_source: Function) -> None:
    note = _memory("note", "s1", scope="session", session_id="s1")
    other = _memory("other", "s1", scope="session", session_id="s9")
    case("every session of this user is reached", _revoked(forget_source, "s1"), _holding(note, other),
         expect=[["note", "other"], []], given="session memories of s1 and s9, both from s1; revoke s1",
         otherwise="`scan` sees one session at most. Take `store.owned`: all of them.")
    shared = MemoryRecord("Open at nine.", "ada", scope="app", memory_id="hours",
                          sources=[Source("bootstrapped", "s1")])
    store = _holding(_memory("bo", "s1", "bo"), shared, _memory("bank", "s1", app_name="bank"))
    given = "Bo's memory, the app's, and Ada's in another app, all from a source called s1; Ada revokes s1"
    case("nobody else's memory is touched", _revoked(forget_source, "s1"), store, expect=[[], []],
         given=given, otherwise="None of the three is Ada's own in this app.")
    kept = [*_left(store, "bo"), *(r.memory_id for r in store.scan("ada")),
            *(r.memory_id for r in store.owned("ada", "bank"))]
    case.holds("neither Bo's, nor the app's, nor another app's", kept == ["bo", "hours", "bank"],
               "A source id is unique within one user's data only: two people may both have an s1.",
               given=given, expected=["bo", "hours", "bank"], got=kept)


def _ends_the_conversation(case: Cases, forget_source: Function) -> None:
    store = _holding()
    for source_id in ("s1", "s2"):
        said = [{"role": "user", "content": f"words of {source_id}"}]
        store.put_conversation(said, Source("user_implicit", source_id), user_id="ada")
    forget_source(store, "s1", "ada")
    kept = [talk.source.source_id for talk in store.conversations("ada")]
    case.holds("its transcript is gone, and only its own", kept == ["s2"],
               "The whole conversation is still kept, word for word: `store.revoke` deletes it.",
               given="conversations s1 and s2; revoke s1", expected=["s2"], got=kept)
    case.holds("it is never taken again", store.revoked("ada") == {"s1"},
               "Nothing remembers that s1 was revoked, so tomorrow's import learns it again: `store.revoke`.",
               given="revoke s1", expected={"s1"}, got=store.revoked("ada"))


def _reaches_the_app_named(case: Cases, forget_source: Function) -> None:
    store = _holding(_memory("home", "s1"), _memory("name", "s1", app_name="bank"),
                     _memory("diet", "s1 s2", app_name="bank"))
    given = "in the app 'bank' name from s1 and diet from s1 and s2; revoke s1 in 'bank'"
    case("another app's memories are found there", _revoked(forget_source, "s1", "bank"), store,
         expect=[["name"], ["diet"]], given=given,
         otherwise="`owned` was asked without `app_name`, so it looked into the default app.")
    left = [*_left(store), *(record.memory_id for record in store.owned("ada", "bank"))]
    case.holds("and removed there", left == ["home", "diet"],
               "name is reported as erased, and still there: without `app_name`, `store.remove` looks for it "
               "in the default app, finds nothing, and says so only by `False`.",
               given=given, expected=["home", "diet"], got=left)
    revoked = {app: sorted(store.revoked("ada", app)) for app in ("bank", "default")}
    case.holds("and revoked there", revoked == {"bank": ["s1"], "default": []},
               "You revoked s1 in the default app, so the next import into 'bank' learns it again: pass "
               "`app_name` to `store.revoke` too.",
               given=given, expected={"bank": ["s1"], "default": []}, got=revoked)


# fmt: on
class _PowerCut(RuntimeError):
    pass


class _FailingStore(MemoryStore):
    """Writes nothing any more once it is told to fail: the power goes out at the first `put`."""

    failing = False

    def put(self, record: MemoryRecord) -> None:
        if self.failing:
            raise _PowerCut("power cut")
        super().put(record)


def _is_all_or_nothing(case: Cases, forget_source: Function) -> None:
    store = _FailingStore()
    store.put(_memory("name", "s1"))
    store.put(_memory("diet", "s1 s2"))
    store.failing = True
    with contextlib.suppress(_PowerCut):
        forget_source(store, "s1", "ada")
    state = (_left(store), sorted(store.revoked("ada")))
    case.holds(
        "a power cut leaves all or nothing",
        state == (["name", "diet"], []),
        "The power went out before diet was written, and half of the work was done already: put all writes "
        "into one `with store.transaction():`.",
        given="name from s1, diet from s1 and s2; revoke s1; the write of diet fails",
        expected=Shown("['name', 'diet'], nothing revoked"),
        got=Shown(f"{state[0]}, revoked: {state[1]}"),
    )


def _leaves_no_bytes(case: Cases, forget_source: Function) -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder, "memory.db")) as store:
        store.put(_memory("The PIN is 4321", "s1"))
        forget_source(store, "s1", "ada")
        holding = [path.name for path in sorted(Path(folder).iterdir()) if b"4321" in path.read_bytes()]
    case.holds(
        "no byte of it is left on disk",
        not holding,
        "The row is gone and its text still stands in the file: call `store.purge()` after the transaction.",
        given="'The PIN is 4321.' from s1, in a file; revoke s1; search the bytes for 4321",
        expected=[],
        got=holding,
    )


# --- Replay -----------------------------------------------------------------------------------------

VEG = Candidate("The user follows a vegetarian diet.", "diet", 0.9, "I'm a vegetarian", 0.8, 365)
FISH = Candidate("The user eats fish again.", "diet", 0.9, "I've started eating fish again", 0.8, 365)
NAME = Candidate("The user goes by Ada.", "identity", 0.95, "Call me Ada", 0.8, 3650)


def _said(candidate: Candidate, source_id: str, day: float) -> tuple[Source, Candidate]:
    return Source("user_implicit", source_id, candidate.excerpt, day * clock.DAY), candidate


def _outcome(records: object) -> list[str]:
    """Each memory in a few words: its last noun, its state, its sources and its confidence."""
    words = {VEG.content: "veg", FISH.content: "fish", NAME.content: "name"}
    _ids(records, "of the scratch store")
    told = []
    for record in records:  # type: ignore[attr-defined]
        state = "active" if record.invalidated_at is None else "tombstone"
        own = " ".join(source.source_id for source in record.own_sources())
        told.append(f"{words.get(record.content, record.content)} {state} {own} {record.confidence:.2f}")
    return told


# fmt: off
@exercise("07-replay")
def _(case: Cases, replay: Function) -> None:
    def replayed(*statements: tuple[Source, Candidate]) -> list[str]:
        return _outcome(replay(list(statements), user_id="ada"))

    case("what one source says becomes one memory", replayed, _said(VEG, "s1", 1),
         expect=["veg active s1 0.65"], given="s1: vegetarian",
         otherwise="One statement from s1 gives one active memory that rests on s1, trusted 0.65.")
    case("two sources that agree make one memory", replayed, _said(VEG, "s1", 1), _said(VEG, "s2", 2),
         expect=["veg active s1 s2 0.70"], given="s1: vegetarian; s2: vegetarian",
         otherwise="s2 corroborates s1: one memory, two sources, 0.70.",
         mistakes=[(lambda got: len(got) == 2, "Two copies: you made records yourself. Let `consolidate` "
                    "decide, as it did when the conversations were new."),
                   (["veg active s2 s1 0.70"], "You replayed backwards: s2 is named before s1."),
                   (lambda got: got == ["veg active s1 0.65"], "s2 went unheard: pass each statement's own "
                    "source.")])
    case("a contradiction leaves a tombstone", replayed, _said(VEG, "s1", 1), _said(FISH, "s3", 3),
         expect=["veg tombstone s1 0.65", "fish active s3 0.65"], given="s1: vegetarian; then s3: eats fish",
         otherwise="fish replaces veg, and both come back: one active, one a tombstone.",
         mistakes=[(["fish active s3 0.65"], "You left the tombstones out: without them nobody knows what "
                    "fish replaced. `owned` gives all, `scan` the active ones.")])
    case("the order given is the order replayed", replayed, _said(FISH, "s3", 3), _said(VEG, "s1", 1),
         expect=["fish tombstone s3 0.65", "veg active s1 0.65"],
         given="s3: eats fish (day 3); then s1: vegetarian (day 1, but learned later)",
         otherwise="Replay in the order given: who calls you knows in which order things were learned.")
    case("nothing said, nothing remembered", replayed, expect=[], given="no statements",
         otherwise="No statements give no memories. Does your scratch store outlive the call?",
         mistakes=[(lambda got: len(got) > 0, "Memories of an earlier call came back: every replay needs an "
                    "empty store of its own.")])
    _replay_keeps_its_frame(case, replay)


# fmt: on
def _replay_keeps_its_frame(case: Cases, replay: Function) -> None:
    by_hand = _memory("pin", "", importance=1.0)
    got = _ids(replay([_said(NAME, "s1", 1)], user_id="ada", beside=[by_hand]), "of the scratch store")
    case.holds(
        "what stands beside is there from the start",
        got[:1] == ["pin"] and len(got) == 2,
        "`beside` goes into the scratch store first: these memories take part in every decision.",
        given="s1: name; beside: a pin put by hand",
        expected=Shown("[pin, name]"),
        got=got,
    )
    asked: list[str] = []

    def embedder(text: str) -> list[float]:
        asked.append(text)
        return hash_embed(text)

    found = replay([_said(NAME, "s1", 1)], user_id="bo", app_name="bank", embedder=embedder)
    case.holds(
        "what is written to an app is read from it",
        len(found) == 1,
        "You lost `app_name` on the way: `consolidate` writes to one app and `owned` reads from another.",
        given="s1: name; user_id='bo', app_name='bank'",
        expected=Shown("[name]"),
        got=_ids(found, "of the scratch store"),
    )
    record = found[0]
    case.holds(
        "the memories belong to the user and app named",
        (record.user_id, record.app_name) == ("bo", "bank"),
        "Pass `user_id` and `app_name` on: the memory was made for another owner.",
        given="user_id='bo', app_name='bank'",
        expected=("bo", "bank"),
        got=(record.user_id, record.app_name),
    )
    case.holds(
        "the embedder is the one given",
        NAME.content in asked,
        "The scratch store embeds in its own way: similarity then decides otherwise than in the real store.",
        given="embedder=…",
    )


# --- Prune and expire -------------------------------------------------------------------------------


@contextlib.contextmanager
def _at_noon() -> Iterator[float]:
    with clock.freeze(TODAY):
        yield clock.now()


def _aged(name: str, days: float, user_id: str = "ada", **fields: Any) -> MemoryRecord:
    """A memory of confidence 0.8 and a half-life of 30 days, last confirmed `days` ago."""
    then = clock.now() - days * clock.DAY
    settings = {"half_life_days": 30.0, "confidence": 0.8, "created_at": then, "updated_at": then}
    return _memory(name, "s1", user_id, **(settings | fields))


def _lines(store: MemoryStore) -> list[str]:
    return [line for record in store.owned("ada") for line in record.history]


# fmt: off
@exercise("07-prune")
def _(case: Cases, prune: Function) -> None:
    with _at_noon():
        def pruned(*records: MemoryRecord, floor: float = 0.25) -> list[str]:
            return _ids(prune(_holding(*records), floor, user_id="ada"), "that were pruned")

        case("what has faded below the floor is pruned", pruned, _aged("old", 60), _aged("new", 1),
             expect=["old"], given="0.8 with a half-life of 30 days, 60 days and 1 day old; floor 0.25",
             otherwise="old is at 0.20 by now, new at 0.78.",
             mistakes=[([], "Stored confidence does not change with time: compare `decayed_confidence()`."),
                       (["new"], "The comparison is the wrong way round."),
                       (["old", "new"], "new is at 0.78, far above the floor.")])
        case("what stands at the floor stays", pruned, _aged("edge", 30), floor=0.4, expect=[],
             given="exactly 0.40, floor 0.40", otherwise="Only what is *below* the floor goes: use `<`.")
        case("a pin stays, however old", pruned, _aged("allergy", 9999, importance=1.0), expect=[],
             given="importance 1.0, 9999 days old; floor 0.25",
             otherwise="An allergy does not fade because nobody mentions it: pins are outside decay.")
        case("what was never sure goes as well", pruned, _aged("rumour", 0, confidence=0.1),
             expect=["rumour"], given="0.1 from the first day on; floor 0.25",
             otherwise="It is the confidence that counts, not the age.")
        _ends_softly(case, "pruned", lambda store: prune(store, 0.25, user_id="ada"), _aged("old", 60))
        case("a tombstone is not pruned again", pruned, _aged("veg", 60, superseded_by="fish"), expect=[],
             given="replaced 60 days ago; floor 0.25",
             otherwise="veg ended when fish replaced it; pruning would overwrite when and why.")
        _only_this_users(case, lambda store: prune(store, 0.25, user_id="ada"),
                         lambda **fields: _aged("x", 60, **fields))
        case.refuses("a floor of 20 is refused", prune, _holding(), 20, user_id="ada", mentions="floor",
                     given="prune(store, 20, user_id='ada')",
                     otherwise="Somebody wrote per cent, and all would go: `check_fraction` refuses 20.")


@exercise("07-expire")
def _(case: Cases, expire: Function) -> None:
    with _at_noon() as now:
        def expired(*records: MemoryRecord) -> list[str]:
            return _ids(expire(_holding(*records), user_id="ada"), "that expired")

        case("what is over is expired", expired, _memory("over", "s1", expires_at=now - 1),
             _memory("later", "s1", expires_at=now + 1), expect=["over"],
             given="one expired a second ago, one expires in a second",
             otherwise="over has ended, later has not.",
             mistakes=[(["later"], "The comparison is the wrong way round."),
                       (["over", "later"], "later holds for one more second.")])
        case("it ends at that very instant", expired, _memory("edge", "s1", expires_at=now), expect=["edge"],
             given="expires_at is now",
             otherwise="`expires_at` is the first instant at which it no longer holds: use `<=`.")
        case("without an end it never expires", expired, _memory("name", "s1"), expect=[],
             given="expires_at=None", otherwise="No `expires_at` means no end.")
        case("a pin expires too", expired, _memory("visa", "s1", expires_at=now - 1, importance=1.0),
             expect=["visa"], given="importance 1.0, expired a second ago",
             otherwise="A pin is outside decay, not outside the calendar: a visa that ran out is not shown.")
        over = _memory("over", "s1", expires_at=now - 1)
        _ends_softly(case, "expired", lambda store: expire(store, user_id="ada"), over)
        replaced = _memory("veg", "s1", expires_at=now - 1, superseded_by="fish")
        case("a tombstone does not expire again", expired, replaced, expect=[],
             given="replaced first, then its end came",
             otherwise="It ended when it was replaced; expiring it would overwrite when and why.")
        _only_this_users(case, lambda store: expire(store, user_id="ada"),
                         lambda **fields: _memory("x", "s1", expires_at=now - 1, **fields))


def _ends_softly(case: Cases, word: str, end: Function, record: MemoryRecord) -> None:
    """The memory is a tombstone afterwards, with a reason, unchanged otherwise; a second run does nothing."""
    store, before = _holding(record), (record.confidence, record.updated_at)
    end(store)
    after = store.get(record.memory_id, "ada")
    given = f"a memory that is {word}"
    case.holds("it is a tombstone, not a hole", after is not None,
               f"The row is gone, so nobody can say what was {word} and why: set a tombstone instead.",
               given=given)
    assert after is not None
    case.holds("it is not retrieved any more", after.invalidated_at == clock.now(),
               "It is still active in the store: set `invalidated_at`, and `put` it; `tombstone` does both.",
               given=given, expected=clock.now(), got=after.invalidated_at)
    case.holds("its history says why", any(word in line for line in after.history),
               f"Its history does not say that it was {word}: give `tombstone` a reason with that word.",
               given=given, expected=Shown(f"a line with {word!r}"), got=after.history)
    case.holds("nothing else about it changes", (after.confidence, after.updated_at) == before,
               "You wrote the decayed number into the record: it would decay twice from now on.",
               given=given, expected=before, got=(after.confidence, after.updated_at))
    again = _ids(end(store), f"that were {word} this time")
    case.holds("a second run does nothing", again == [] and len(_lines(store)) == 1,
               "The second run ended it once more: skip what has `invalidated_at`.",
               given="the same call twice", expected=[], got=again)


def _only_this_users(case: Cases, end: Function, make: Callable[..., MemoryRecord]) -> None:
    session = make(scope="session", session_id="s9")
    ended = _ids(end(_holding(session)), "that ended")
    case.holds("session memories are reached as well", ended == ["x"],
               "A memory of session s9 was left out: `scan` sees no sessions, `store.owned` all of them.",
               given="a session memory of this user", expected=["x"], got=ended)
    shared = make(scope="app")
    shared.sources = [Source("bootstrapped", "crm")]
    for name, record, sentence, given in (
        ("what the app shares stays", shared,
         "You ended a memory that the whole app reads. One user's clean-up touches that user's only.",
         "an app-scope memory; the call is for Ada"),
        ("other users' memories stay", make(user_id="bo"), "Bo's memory was ended on Ada's behalf.",
         "a memory of Bo's; the call is for Ada"),
    ):
        store = _holding(record)
        end(store)
        kept = store.get("x", "bo")
        case.holds(name, kept is not None and kept.invalidated_at is None, sentence, given=given)


# --- Proof ------------------------------------------------------------------------------------------

SECRET = "The PIN is 4321."


@exercise("07-proof")
def _(case: Cases, files_holding: Function) -> None:
    def found(text: str, *files: tuple[str, bytes]) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files:
                Path(folder, name).write_bytes(content)
            return files_holding(Path(folder, "memory.db"), text)

    noise = bytes(range(256))
    clean = ("memory.db", noise)
    secret = noise + SECRET.encode() + noise
    case("text in the file is found among other bytes", found, SECRET, ("memory.db", secret),
         expect=["memory.db"], given="memory.db holds it between bytes that are no text",
         otherwise="The file holds it. Read bytes, and search for `text.encode()`; give back its *name*.",
         mistakes=[(lambda got: bool(got) and not isinstance(got[0], str), "Give back names, not paths.")])
    case("a clean file is clean", found, SECRET, clean, expect=[], given="memory.db does not hold it",
         otherwise="The file does not hold it.")
    case("the write-ahead log counts", found, SECRET, clean, ("memory.db-wal", secret),
         expect=["memory.db-wal"], given="memory.db is clean, memory.db-wal holds it",
         otherwise="SQLite keeps what was written lately in `-wal`: look there as well.")
    case("so does the rollback journal", found, SECRET, clean, ("memory.db-journal", secret),
         expect=["memory.db-journal"], given="memory.db is clean, memory.db-journal holds it",
         otherwise="`-journal` holds the pages as they were before the last change: look there as well.")
    case("all places are named", found, SECRET, ("memory.db", secret), ("memory.db-wal", secret),
         expect=["memory.db", "memory.db-wal"], given="memory.db and memory.db-wal hold it",
         otherwise="Name all that hold it, the file itself first; do not stop at the first.")
    case("text is searched as UTF-8", found, "Zoë", ("memory.db", noise + "Zoë".encode() + noise),
         expect=["memory.db"], given="memory.db holds 'Zoë' in UTF-8",
         otherwise="SQLite stores UTF-8: `text.encode()`.")
    case("another database is another matter", found, SECRET, clean, ("memory.db2", secret), expect=[],
         given="memory.db is clean, memory.db2 holds it",
         otherwise="memory.db2 is another database: look at `-wal`, `-shm` and `-journal`, not at all names.")
    case.refuses("an empty text is refused", found, "", clean, mentions="text", given="text=''",
                 otherwise="The empty text stands in every file, or in none: refuse it, naming `text`.")
    case.refuses("a missing file is no proof", found, SECRET, mentions="path", given="there is no memory.db",
                 otherwise="Nothing is found where nothing is, and that proves nothing: a wrong path must "
                           "raise a ValueError that names `path`.")


# fmt: on
