"""Lesson 07, forgetting: the checks of its exercises, on small stores made by hand."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from course.check import Cases, Function, Misconception, Row, Shown, call, exercise, refused
from course.lessons.small_stores import (
    FISH,
    NAME,
    NOW,
    VEG,
    WORDS,
    checked,
    everything,
    ids_of,
    in_a_line,
    in_words,
    is_all_or_nothing,
    memory,
    memory_of,
    source_of,
    store_of,
)
from memlab import clock
from memlab.embedding import hash_embed
from memlab.records import Candidate, MemoryRecord, Source
from memlab.store import MemoryStore

# fmt: off
# --- What rests on what -----------------------------------------------------------------------------

RESTS = [
    ("its one source holds it up", call("s1", "s1"), True, "Only s1 states it, so it rests on s1 alone."),
    ("a second source holds it up too", call("s1 s2", "s1"), False,
     "s2 states it too. This is the naive deletion: whatever the source touched is gone."),
    ("of two sources it does not matter which is asked for", call("s1 s2", "s2"), False,
     "s1 states it too: compare all source ids, not just the first."),
    ("another source is none of its business", call("s1", "s2"), False, "s2 never said it at all.",
     (True, "You counted sources: it has one, but is that the one asked for?")),
    ("what it inherited does not hold it up", call("(s1) (s2) s3", "s3"), True,
     "s1 and s2 said the *opposite*: fish only replaced what they said. Inherited sources do not count."),
    ("a memory does not rest on what it inherited", call("(s1) s3", "s1"), False,
     "s3 states it; from s1 it only inherited."),
    ("hearing it twice in one source is still one", call("s1 s1", "s1"), True,
     "s1 said it twice. That makes two entries in the list, and one source: compare ids, not counts."),
    ("a memory without any source rests on none", call("", "s1"), False,
     "It has no source, so it does not rest on s1; `all(…)` of nothing is True."),
]


@exercise("07-rests-only")
def _(case: Cases, rests_only_on: Function) -> None:
    case.table(lambda sources, source_id: rests_only_on(memory("m", sources), source_id), RESTS,
               lambda sources, source_id: f"sources {sources or 'none'}, asked for {source_id}")


# --- Taking a source out ----------------------------------------------------------------------------

UNDER_FISH = memory("veg", "s1", superseded_by="fish")
ERASED_FISH = memory("fish", "(s1) s3")
PRUNED = memory("fish", "s3", invalidated_at=NOW)
DETACH = [  # the source, the memories that are left, those that are erased
    ("what the source never touched is not given back", call("s1", [memory("name", "s2")], []), [],
     "name has nothing to do with s1: give back only what this changed."),
    ("the source goes, with what it had added", call("u1", [memory("diet", "u1 u2", confidence=0.85)], []),
     ["diet active u2 0.80 flagged"], "u2 says diet too: u1 goes, with the 0.05 it had added, and diet is "
     "flagged for regeneration.",
     (lambda got: "u1" in got[0], "The memory still names u1 and quotes it: take it out of `sources`."),
     (["diet active u2 0.85 flagged"], "What u1 had added to our confidence goes with it: `CORROBORATION`."),
     (["diet active u2 0.80"], "Nobody will rebuild diet: it is not flagged `needs_regeneration`.")),
    ("its trust goes with it", call("u1", [memory("diet", "u1 t1", confidence=0.95)], []),
     ["diet active t1 0.30 flagged"],
     "All that is left is a search, trusted 0.30: nothing is surer than `trust_of` its sources."),
    ("what is inherited goes, and had added nothing", call("s1", [memory("fish", "(s1) s3")], []),
     ["fish active s3 0.60 flagged"], "fish inherited s1: its words must go, too.",
     (["fish active s3 0.55 flagged"], "s1 never said fish, so it had added nothing to our confidence: ask "
      "`own_sources()` before you take it out."),
     ([], "You asked `own_sources()` only, and fish still quotes s1: what is inherited has to go as well.")),
    ("all that it said goes", call("s1", [memory("diet", "s1 s2 s1")], []), ["diet active s2 0.55 flagged"],
     "s1 stands in the list twice, with two excerpts: both go."),
    ("confidence ends at 0", call("s1", [memory("diet", "s1 s2", confidence=0.02)], []),
     ["diet active s2 0.00 flagged"], "0.02 less 0.05 is below 0, which no store takes: stop at 0."),
    ("what erased ones had displaced is free", call("s3", [UNDER_FISH], [ERASED_FISH]),
     ["veg tombstone s1 0.60 flagged"],
     "fish goes, so nothing lies on veg any more: `superseded_by` is None, and veg is flagged to come back.",
     (["veg under fish s1 0.60 flagged"], "veg still points to fish, and there is no fish any more."),
     ([], "You looked at sources only. veg has nothing to do with s3, and lies under fish, which goes.")),
    ("or hooked onto what comes after",
     call("s3", [UNDER_FISH, memory("vegan", "(s1) (s3) s4")],
          [memory("fish", "(s1) s3", superseded_by="vegan")]),
     ["veg under vegan s1 0.60 flagged", "vegan active (s1) s4 0.60 flagged"],
     "veg was under fish, fish under vegan: without fish, veg is under vegan.",
     (lambda got: got[0].startswith("veg tombstone"), "You freed veg, which would come back beside vegan: "
      "`chain_end` says what comes after fish.")),
    ("past all that go", call("s3", [UNDER_FISH], [memory("fish", "s3", superseded_by="tofu"),
                                                   memory("tofu", "s3")]),
     ["veg tombstone s1 0.60 flagged"], "fish and tofu both go: `chain_end` follows the chain."),
    ("a circle has an end", call("s3", [UNDER_FISH], [memory("fish", "s3", superseded_by="tofu"),
                                                      memory("tofu", "s3", superseded_by="fish")]),
     ["veg tombstone s1 0.60 flagged"], "fish and tofu name each other: `chain_end` ends all the same."),
    ("what is over for good is not flagged",
     call("s1", [memory("veg", "s1 s2", superseded_by="fish"), PRUNED], []), ["veg under fish s2 0.55"],
     "fish was pruned, and veg lies under it: nothing that was said before brings them back. Ask "
     "`over_for_good(left)` what is not to be flagged."),
    ("nor what now lies under it",
     call("s3", [UNDER_FISH, memory("vegan", "s4", invalidated_at=NOW)],
          [memory("fish", "s3", superseded_by="vegan")]),
     ["veg under vegan s1 0.60"], "vegan was pruned: what is hooked onto it is over for good as well."),
    ("what was freed before still waits",
     call("s1", [memory("veg", "s1 s2", invalidated_at=NOW, needs_regeneration=True)], []),
     ["veg tombstone s2 0.55 flagged"], "veg was freed by an earlier revocation, and not rebuilt yet."),
]


@exercise("07-detach")
def _(case: Cases, detach: Function) -> None:
    def detached(source_id: str, left: list[MemoryRecord], erased: list[MemoryRecord]) -> list[str]:
        return in_words(detach(source_id, left, erased), "that this changed")

    case.table(detached, DETACH, lambda source_id, left, erased: (
        f"revoke {source_id}; left: {in_a_line(left)}; erased: {in_a_line(erased)}"))
    [diet] = detach("s1", [memory("diet", "s1 s2")], [])
    case.holds("its history says so", any("s1" in line for line in diet.history),
               "Its history does not say why its confidence fell: `record.note(…)`, with the source's id.",
               given="diet from s1 and s2; revoke s1", expected=Shown("a line with s1"), got=diet.history)


# --- Revoking ---------------------------------------------------------------------------------------

FOOD = [UNDER_FISH, ERASED_FISH]
BANK: dict[str, Any] = {"app_name": "bank"}
OTHERS = [memory("hours", "c1", scope="app"), memory("bo", "c1", "bo"), memory("bank", "c1", **BANK)]
AS_THEY_WERE = ["hours active c1 0.60", "bo active c1 0.60", "bank active c1 0.60"]
REVOKE = [  # the source, all memories, conversations, the app; erased, flagged, and what is left
    ("what rests on it alone is erased", call("s1", [memory("name", "s1"), memory("seat", "s2")]),
     [["name"], [], ["seat active s2 0.60"]], "Only s1 says name; seat has nothing to do with s1.",
     (lambda got: got[1], "name is erased, so it is not left: give `detach` and `put` the others only."),
     (lambda got: len(got[2]) == 2, "You set a tombstone, or nothing, which keeps every word. Revoking is "
      "erasing: `store.remove`.")),
    ("what others say too is flagged, and stays", call("s1", [memory("diet", "s1 s2", confidence=0.70)]),
     [[], ["diet"], ["diet active s2 0.65 flagged"]], "s2 says diet too: flag it for regeneration.",
     (lambda got: got[0], "You erased a fact that s2 had confirmed, and s2 was never revoked."),
     (lambda got: not got[2], "Flagged is not erased."),
     (lambda got: "s1" in got[2][0], "The memory still names s1 and quotes it: `detach` takes the source "
      "out; then `put` it.")),
    ("a belief does not outlive the source that stated it", call("s3", FOOD),
     [["fish"], ["veg"], ["veg tombstone s1 0.60 flagged"]],
     "fish goes, and veg, which it had displaced, is flagged so that it can come back.",
     (lambda got: not got[0], "fish stays though nobody is left who said so: inherited sources count for "
      "nothing here."),
     (lambda got: not got[1], "veg still lies under a stone that nobody holds in place: pass what you erase "
      "to `detach`, which frees what it had displaced.")),
    ("tombstones are reached as well", call("s1", FOOD), [["veg"], ["fish"], ["fish active s3 0.60 flagged"]],
     "veg is a tombstone, all of it from s1.",
     (lambda got: not got[0], "You looked at active memories only. A tombstone still holds the words: "
      "`store.owned` gives all of them.")),
    ("what nothing can rebuild is changed, and not flagged",
     call("s1", [memory("veg", "s1 s2", invalidated_at=NOW)]), [[], [], ["veg tombstone s2 0.55"]],
     "veg was pruned, so `detach` did not flag it: `flagged` holds those with `needs_regeneration`."),
    ("every session of this user is reached",
     call("s1", [memory(name, "s1", scope="session", session_id=name) for name in ("s1", "s9")]),
     [["s1", "s9"], [], []], "`scan` sees one session at most. Take `store.owned`: all of them."),
    ("nobody else's memory is touched", call("c1", OTHERS), [[], [], AS_THEY_WERE],
     "A source id is unique within one user's data only: neither Bo's memory, nor the app's, nor Ada's in "
     "another app is Ada's own in this app, though all come from a c1."),
    ("its transcript goes, and it is never taken again", call("s1", [], ["s1", "s2"]),
     [[], [], ["s1 revoked", "s2 kept"]],
     "The whole conversation is still kept, word for word: `store.revoke` deletes it.",
     (lambda got: got[2] == ["s2 kept"], "Nothing remembers that s1 was revoked, so tomorrow's import learns "
      "it again: `store.revoke`.")),
    ("another app's memories are found and removed there",
     call("s1", [memory("home", "s1"), memory("name", "s1", **BANK), memory("diet", "s1 s2", **BANK)], [],
          "bank"), [["name"], ["diet"], ["home active s1 0.60", "diet active s2 0.55 flagged"]],
     "`owned` was asked without `app_name`, so it looked into the default app.",
     (lambda got: got[0] == ["name"], "name is reported as erased, and still there: without `app_name`, "
      "`store.remove` looks for it in the default app, finds nothing, and says so only by `False`.")),
    ("and revoked there", call("s1", [], ["s1"], "bank"), [[], [], ["s1 revoked"]],
     "You revoked s1 in the default app, so the next import into 'bank' learns it again: pass `app_name` to "
     "`store.revoke` too."),
]


def _revocation(result: Any) -> list[list[str]]:
    if result is ... or not hasattr(result, "erased") or not hasattr(result, "flagged"):
        sentence = "Give back `Revocation(erased, flagged)`, two lists of memory ids."
        raise Misconception(sentence, expected=Shown("Revocation"), got=result)
    return [list(result.erased), list(result.flagged)]


@exercise("07-forget-source")
def _(case: Cases, forget_source: Function) -> None:
    def revoked(
        source_id: str, records: list[MemoryRecord], talks: Sequence[str] = (), app_name: str = "default"
    ) -> list[list[str]]:
        store = _heard(dict.fromkeys(talks, "veg"), store_of(*records), app_name)
        erased, flagged = _revocation(forget_source(store, source_id, "ada", app_name))
        kept = [f"{talk.source.source_id} kept" for talk in store.conversations("ada", app_name)]
        ended = [f"{gone} revoked" for gone in store.revoked("ada", app_name)] if talks else []
        return [erased, flagged, everything(store) + ended + kept]

    case.table(revoked, REVOKE, lambda source_id, records, talks=(), app_name="default": (
        f"{in_a_line(records)}; conversations: {talks or 'none'}; revoke {source_id} in app {app_name!r}"))
    is_all_or_nothing(case, lambda store: forget_source(store, "s1", "ada"), 0,
                       memory("name", "s1"), memory("diet", "s1 s2"))
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder, "memory.db")) as store:
        store.put(memory("The PIN is 4321", "s1"))
        forget_source(store, "s1", "ada")
        holding = [path.name for path in sorted(Path(folder).iterdir()) if b"4321" in path.read_bytes()]
    case.holds("no byte of it is left on disk", not holding, "The row is gone and its text still stands in "
               "the file: call `store.purge()` after the transaction.",
               given="'The PIN is 4321.' from s1, in a file; revoke s1; search the bytes for 4321",
               expected=[], got=holding)


# --- Replay -----------------------------------------------------------------------------------------

def _said(candidate: Candidate, source_id: str) -> tuple[Source, Candidate]:
    return replace(source_of(source_id), excerpt=candidate.excerpt), candidate


REPLAY = [
    ("what one source says becomes one memory", call(_said(VEG, "s1")), ["veg active s1 0.65"],
     "One statement from s1 gives one active memory that rests on s1, trusted 0.65."),
    ("two sources that agree make one memory", call(_said(VEG, "s1"), _said(VEG, "s2")),
     ["veg active s1 s2 0.70"], "s2 corroborates s1: one memory, two sources, 0.70.",
     (lambda got: len(got) == 2, "Two copies: you made records yourself. Let `consolidate` decide, as it did "
      "when the conversations were new."),
     (["veg active s2 s1 0.70"], "You replayed backwards: s2 is named before s1."),
     (["veg active s1 0.65"], "s2 went unheard: pass each statement's own source.")),
    ("a contradiction leaves a tombstone", call(_said(VEG, "s1"), _said(FISH, "s3")),
     ["veg under fish s1 0.65", "fish active (s1) s3 0.65"],
     "fish replaces veg, and both come back: one active, one a tombstone.",
     (["fish active (s1) s3 0.65"], "You left the tombstones out: without them nobody knows what fish "
      "replaced. `owned` gives all, `scan` the active ones.")),
    ("the order given is the order replayed", call(_said(FISH, "s3"), _said(VEG, "s1")),
     ["fish under veg s3 0.65", "veg active (s3) s1 0.65"],
     "Replay in the order given: who calls you knows in which order things were learned."),
    ("what stands beside is there first",
     call(_said(NAME, "s1"), beside=[memory("pin", "", importance=1.0)]),
     ["pin active 0.60", "name active s1 0.65"],
     "`beside` goes into the scratch store first: these memories take part in every decision."),
    ("nothing said, nothing remembered", call(), [],
     "No statements give no memories. Does your scratch store outlive the call?",
     (lambda got: len(got) > 0, "Memories of an earlier call came back: every replay needs an empty store of "
      "its own.")),
]


@exercise("07-replay")
def _(case: Cases, replay: Function) -> None:
    def replayed(*statements: tuple[Source, Candidate], beside: Sequence[MemoryRecord] = ()) -> list[str]:
        return in_words(replay(list(statements), user_id="ada", beside=beside), "of the scratch store")

    case.table(replayed, REPLAY, lambda *statements, beside=(): (
        f"{'; then '.join(f'{s.source_id}: {WORDS[c.content]}' for s, c in statements) or 'no statements'}; "
        f"beside: {in_a_line(beside)}"))
    embed = _Embedder()
    case("the memories belong to the user and app named", lambda: [
        (record.user_id, record.app_name) for record in checked(
            replay([_said(NAME, "s1")], user_id="bo", app_name="bank", embedder=embed), "made")],
        expect=[("bo", "bank")], given="s1: name; user_id='bo', app_name='bank'",
        otherwise="Pass `user_id` and `app_name` on: the memory was made for another owner.",
        mistakes=[([], "You lost `app_name` on the way: `consolidate` writes to one app, `owned` reads from "
                   "another.")])
    case.holds("the embedder is the one given", embed.texts, "The scratch store embeds in its own way: "
               "similarity then decides otherwise than in the real store.", given="embedder=…")


class _Embedder:
    """hash_embed, which remembers what it was asked for."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, text: str) -> list[float]:
        self.texts.append(text)
        return hash_embed(text)


# --- In doubt ---------------------------------------------------------------------------------------

IN_VEG = memory_of(VEG, "veg", "s1", needs_regeneration=True)
KNOWN = memory_of(NAME, "name", "s1")
OF_A_SESSION = memory_of(VEG, "chat", "s9", scope="session", session_id="s9")
ENDED = memory_of(FISH, "fish", "s3", invalidated_at=NOW)
IN_DOUBT: list[Row] = [  # what is owned, ids of what of it is over, what is said; what is in doubt
    ("what is not flagged is not in doubt", call([KNOWN], [], []), [[], []],
     "name is not flagged, and nobody said anything that is not held."),
    ("nor what is said and held", call([KNOWN], [], [_said(NAME, "s1")]), [[], []],
     "s1 says name, and name is held: all is as it should be. Take `held` away from what was said."),
    ("what is flagged is, and what was said about it", call([IN_VEG], [], [_said(VEG, "s2")]),
     [["veg"], ["s2 veg"]], "veg is flagged, so all that is known of the diet is heard again.",
     ([[], []], "veg is flagged `needs_regeneration`, and you left it as it is."),
     ([["veg"], []], "Only the memory: what s2 says about the same group has to be heard as well.")),
    ("and its whole group", call([IN_VEG, memory_of(FISH, "fish", "s3")], [], []), [["veg", "fish"], []],
     "fish is not flagged, and its rival is: rebuilt alone, veg would stand beside it. Take all of it."),
    ("no other topic is", call([IN_VEG, KNOWN], [], [_said(NAME, "s1")]), [["veg"], []],
     "The diet is in doubt, the name is not: `about(fact)` says to which group a fact belongs.",
     ([["veg"], ["s1 name"]], "The name is not in doubt: leave it out of the statements as well.")),
    ("nor another subject", call([IN_VEG, memory_of(VEG, "wife", "s2", subject="wife")], [], []),
     [["veg"], []], "The wife's diet is another group: subject *and* topic, as `about` has it."),
    ("what was kept out is", call([KNOWN], [], [_said(NAME, "s1"), _said(VEG, "s1"), _said(FISH, "s3")]),
     [[], ["s1 veg", "s3 fish"]], "Two said something of the diet, and none is held: what was revoked kept "
     "them out.",
     ([[], []], "Nothing is flagged, and still: a diet was said, and none is held. Something kept it out.")),
    ("what is over for good is not rebuilt", call([ENDED, IN_VEG], ["fish"], []), [["veg"], []],
     "fish is among those that are `over`: leave it out, though its group is in doubt."),
    ("a tombstone holds nothing", call([ENDED], ["fish"], [_said(VEG, "s1")]), [[], ["s1 veg"]],
     "All that there is of the diet is a tombstone, so none is held: ask `record.active()`."),
    ("a session's memory holds nothing, and is not rebuilt", call([OF_A_SESSION], [], [_said(VEG, "s1")]),
     [[], ["s1 veg"]], "Only session s9 sees that diet, so in others none is held: ask for scope `user`.",
     ([["chat"], ["s1 veg"]], "No conversation rebuilds a session's memory, so it would be removed: give "
      "back those of scope `user`.")),
]


@exercise("07-in-doubt")
def _(case: Cases, in_doubt: Function) -> None:
    def doubtful(owned: list[MemoryRecord], ended: list[str], said: list[Any]) -> list[list[str]]:
        both = in_doubt(owned, [record for record in owned if record.memory_id in ended], said)
        if not isinstance(both, (tuple, list)) or len(both) != 2:
            raise Misconception("Give back two lists: the memories, and the statements.", got=both)
        return [ids_of(both[0], "in doubt"), _in_short(both[1])]

    case.table(doubtful, IN_DOUBT, lambda owned, ended, said: (
        f"owned: {in_a_line(owned)}; over: {ended or 'none'}; said: {_in_short(said) or 'nothing'}"))


def _in_short(statements: list[tuple[Source, Candidate]]) -> list[str]:
    return [f"{source.source_id} {WORDS[candidate.content]}" for source, candidate in statements]


# --- Regenerate -------------------------------------------------------------------------------------

FREED = memory_of(VEG, "veg", "s1 s2", invalidated_at=NOW, needs_regeneration=True, confidence=0.70)
HEARD = {"s1": "veg", "s2": "veg"}
NAMED = memory_of(NAME, "name", "s1", confidence=0.25)
FED = [memory_of(VEG, "veg", "u1", confidence=0.9, needs_regeneration=True), memory_of(FISH, "fish", "t2")]
REGENERATE: list[Row] = [  # the memories, what the kept conversations say; what changed, and what is left
    ("what was displaced comes back", call([FREED], HEARD), [["veg"], ["veg active s1 s2 0.70"]],
     "Both conversations say veg: replayed, that is one active memory, and the stored one becomes like it.",
     (lambda got: len(got[1]) == 2, "You wrote the replayed copy beside the stored memory: write what "
      "`reconciled` gives, which keeps its id."),
     (lambda got: "tombstone" in got[1][0], "veg still lies there: `put` what `reconciled` says changed."),
     (lambda got: not got[1], "You threw the stored memory away: it keeps its id and its history.")),
    ("so it does where no conversation was kept", call([FREED], {}), [["veg"], ["veg active s1 s2 0.70"]],
     "The transcripts are gone, and the memory still quotes s1 and s2: replay what is `witnessed` as well.",
     (lambda got: not got[1], "You removed what no conversation repeats: a record testifies for itself.")),
    ("what was kept out comes in", call([], {"s1": "veg"}), [["veg"], ["veg active s1 0.65"]],
     "s1 says veg, and nothing is held: something revoked had kept it out. Replay what conversations say."),
    ("all that is said is heard, in its order",
     call([memory_of(FISH, "fish", "s3", needs_regeneration=True)], {"s1": "veg", "s3": "fish"}),
     [["veg", "fish"], ["fish active (s1) s3 0.65", "veg under fish s1 0.65"]],
     "s1 said veg, then s3 fish: `in_order` merges what was said with what is witnessed."),
    ("also where one half is only witnessed",
     call([memory_of(VEG, "veg", "s1", needs_regeneration=True)], {"s3": "fish"}),
     [["veg", "fish"], ["veg under fish s1 0.60", "fish active (s1) s3 0.65"]],
     "s1 said veg, and its transcript is gone; then s3 said fish. Merge both with `in_order`."),
    ("what a replay does not give is removed", call(FED, {"u1": "veg"}), [["veg"], ["veg active u1 0.90"]],
     "A search said fish, which does not stand against the user's word: it is `gone`, so `store.remove` it."),
    ("what was put by hand stands beside",
     call([memory_of(VEG, "veg", "", invalidated_at=NOW, needs_regeneration=True)], {}),
     [["veg"], ["veg active 0.60"]],
     "No source states veg, so nobody says it in a replay: `put_by_hand(stored)` goes `beside`."),
    ("what is not in doubt stays as it is", call([NAMED, FREED], HEARD | {"s3": "name"}),
     [["veg"], ["name active s1 0.25", "veg active s1 s2 0.70"]],
     "Nothing about name was revoked: rebuild the groups that are `in_doubt`, and no other."),
    ("what is over for good stays down",
     call([memory_of(VEG, "veg", "s1", invalidated_at=NOW)], {"s1": "veg"}),
     [[], ["veg tombstone s1 0.60"]],
     "veg was pruned, and you brought it back: leave out what `over_for_good` memories had been told.",
     (lambda got: len(got[1]) == 2, "veg was pruned, and now stands beside its own tombstone: what was said "
      "for a memory that is over for good is `without` effect.")),
    ("no flag is left behind",
     call([memory("note", "s1", scope="session", session_id="s1", needs_regeneration=True)], {}),
     [["note"], ["note active s1 0.60"]], "No conversation rebuilds a session's memory, and its flag must "
     "go: give `reconciled` all that is owned first."),
    ("in another app, too", call([replace(record, **BANK) for record in FED], {"u1": "veg name"}, "bank"),
     [["veg", "name"], ["veg active u1 0.90", "name active u1 0.90"]],
     "Whatever takes `app_name` must be given it: `owned`, `conversations`, `replay` and `remove`."),
]


def _extract(messages: list[dict[str, str]]) -> list[Candidate]:
    """An extractor of its own words: "veg", "fish" and "name"."""
    return [c for c in (VEG, FISH, NAME) for message in messages if WORDS[c.content] in message["content"]]


def _heard(talks: dict[str, str], store: MemoryStore | None = None, app_name: str = "default") -> MemoryStore:
    """A store that keeps what was said."""
    store = store or MemoryStore()
    for source_id, words in talks.items():
        said = [{"role": "user", "content": words}]
        store.put_conversation(said, source_of(source_id), user_id="ada", app_name=app_name)
    return store


@exercise("07-regenerate")
def _(case: Cases, regenerate: Function) -> None:
    def regenerated(
        records: list[MemoryRecord], talks: dict[str, str], app_name: str = "default"
    ) -> list[list[str]]:
        store = _heard(talks, store_of(*records), app_name)
        changed = regenerate(store, "ada", app_name, extract=_extract)
        return [[line.split()[0] for line in in_words(changed, "that changed")], everything(store)]

    case.table(regenerated, REGENERATE, lambda records, talks, app_name="default": (
        f"stored in {app_name!r}: {in_a_line(records)}; conversations: {talks or 'none kept'}"))
    embed = _Embedder()
    store = store_of(FREED.copy(), store=MemoryStore(embedder=embed))
    embed.texts.clear()
    regenerate(_heard(HEARD, store), "ada", extract=_extract)
    [veg] = store.owned("ada")
    given = "veg from s1 and s2 was freed; both conversations are kept"
    case.holds("it stays the memory that it was", veg.memory_id == "veg" and veg.history,
               "veg has another id, or no history: write what `reconciled` gives, not the replayed copy.",
               given=given, expected="veg", got=veg.memory_id)
    case.holds("its words are quoted", [source.excerpt for source in veg.sources] == [VEG.excerpt] * 2,
               "Which words said so? Each statement's source needs its excerpt: `replace(talk.source, …)`.",
               given=given, expected=VEG.excerpt, got=[source.excerpt for source in veg.sources])
    case.holds("similarity is judged as in the store", embed.texts, "The replay embeds in its own way: hand "
               "`store.embedder` on.", given=given)
    again = ids_of(regenerate(store, "ada", extract=_extract), "that changed")
    case.holds("a second run changes nothing", again == [], "The second run changed something once more.",
               given="regenerate twice", expected=[], got=again)
    is_all_or_nothing(case, lambda store: regenerate(store, "ada", extract=_extract), 0, *FED)


# --- Prune and expire -------------------------------------------------------------------------------

def _aged(name: str, days: float, user_id: str = "ada", **fields: Any) -> MemoryRecord:
    """A memory of confidence 0.8 and a half-life of 30 days, last confirmed `days` before NOW."""
    then = NOW - days * clock.DAY
    settings = {"half_life_days": 30.0, "confidence": 0.8, "created_at": then, "updated_at": then}
    return memory(name, "c1", user_id, **(settings | fields))


PRUNE = [  # the floor, the memories; those pruned
    ("what has faded below the floor is pruned", call(0.25, _aged("old", 60), _aged("new", 1)), ["old"],
     "old is at 0.20 by now, new at 0.78.",
     ([], "Stored confidence does not change with time: compare `decayed_confidence()`."),
     (["new"], "The comparison is the wrong way round."), (["old", "new"], "new is at 0.78, far above.")),
    ("what stands at the floor stays", call(0.4, _aged("edge", 30)), [],
     "Exactly 0.40, and the floor is 0.40: only what is *below* the floor goes, so use `<`."),
    ("a pin stays, however old", call(0.25, _aged("allergy", 9999, importance=1.0)), [],
     "An allergy does not fade because nobody mentions it: pins are outside decay."),
    ("what was never sure goes as well", call(0.25, _aged("rumour", 0, confidence=0.1)), ["rumour"],
     "It is the confidence that counts, not the age."),
    ("a tombstone is not pruned again", call(0.25, _aged("veg", 60, superseded_by="fish")), [],
     "veg ended when fish replaced it; pruning would overwrite when and why."),
    ("a floor of 20 is refused", call(20), refused("floor"),
     "Somebody wrote per cent, and all would go: `check_fraction` refuses 20."),
]
EXPIRE = [  # the memories; those expired
    ("what is over is expired", call(memory("over", "c1", expires_at=NOW - 1),
                                     memory("later", "c1", expires_at=NOW + 1)), ["over"],
     "over ended a second ago, later holds for one more second.",
     ([], "`scan` leaves out what has expired, so you never saw over: `store.owned` gives all."),
     (["later"], "The comparison is the wrong way round."),
     (["over", "later"], "You ended later, which holds for one more second.")),
    ("it ends at that very instant", call(memory("edge", "c1", expires_at=NOW)), ["edge"],
     "`expires_at` is the first instant at which it no longer holds: use `<=`."),
    ("without an end it never expires", call(memory("name", "c1")), [], "No `expires_at` means no end."),
    ("a pin expires too", call(memory("visa", "c1", expires_at=NOW - 1, importance=1.0)), ["visa"],
     "A pin is outside decay, not outside the calendar: a visa that ran out is not shown."),
    ("a tombstone does not expire again",
     call(memory("veg", "c1", expires_at=NOW - 1, superseded_by="fish")), [],
     "It ended when it was replaced; expiring it would overwrite when and why."),
]


@exercise("07-prune")
def _(case: Cases, prune: Function) -> None:
    with clock.freeze(NOW):
        case.table(lambda floor, *records: ids_of(prune(store_of(*records), floor, user_id="ada"),
                                                "that were pruned"), PRUNE, lambda floor, *records: (
            f"today {', '.join(f'{r.memory_id} {r.decayed_confidence()}' for r in records)}; floor {floor}"))
        kept = store_of(_aged("above", 0, confidence=0.25), _aged("below", 0, confidence=0.15))
        case("the floor is 0.2 where none is said", lambda: ids_of(prune(kept, user_id="ada"), "pruned"),
             expect=["below"], given="0.25 and 0.15, no floor",
             otherwise="The stub's floor is 0.2, and stays so.")
        _ends(case, "pruned", lambda store, **owner: prune(store, 0.25, **owner),
              lambda name, user_id="ada", **fields: _aged(name, 60, user_id, **fields))


@exercise("07-expire")
def _(case: Cases, expire: Function) -> None:
    with clock.freeze(NOW):
        case.table(lambda *records: ids_of(expire(store_of(*records), user_id="ada"), "that expired"), EXPIRE,
                   lambda record, *_: f"{record.memory_id} ends at {record.expires_at}, and it is {NOW}")
        _ends(case, "expired", expire, lambda name, user_id="ada", **fields: (
            memory(name, "c1", user_id, expires_at=NOW - 1, **fields)))


def _ends(case: Cases, word: str, end: Function, make: Function) -> None:
    """What `end` ends is a tombstone, with a reason, unchanged otherwise; and it is this user's."""
    _ends_softly(case, word, lambda store: end(store, user_id="ada"), make("old"))
    store = store_of(make("x", scope="session", session_id="s9"))
    ended = ids_of(end(store, user_id="ada"), "that ended")
    case.holds("session memories are reached as well", ended == ["x"],
               "A memory of session s9 was left out: `scan` sees no sessions, `store.owned` all of them.",
               given="a session memory of this user", expected=["x"], got=ended)
    store = store_of(make("hours", scope="app"), make("bo", "bo"), make("bank", app_name="bank"))
    end(store, user_id="ada")
    over = [line.split()[0] for line in everything(store) if "tombstone" in line]
    case.holds("what belongs to others stays", not over,
               "You ended what the whole app reads, or what is another's: one user's clean-up touches that "
               "user's only, in the app named.",
               given="a memory of the app, one of Bo's, one of Ada's in 'bank'; the call is for Ada",
               expected=[], got=over)
    ended = ids_of(end(store, user_id="ada", app_name="bank"), "that ended")
    case.holds("in another app, too", ended == ["bank"], "Pass `app_name` to `store.owned`.",
               given="a memory in 'bank', and the call is for 'bank'", expected=["bank"], got=ended)
    is_all_or_nothing(case, lambda store: end(store, user_id="ada"), 1, make("one"), make("two"))


def _ends_softly(case: Cases, word: str, end: Function, record: MemoryRecord) -> None:
    store = store_of(record)
    [before] = in_words([record])

    def ended_twice() -> list[Any]:
        end(store)
        after = store.owned("ada")
        reasons = [line for ended in after for line in ended.history if word in line.lower()]
        return [in_words(after), len(reasons), [ended.updated_at for ended in after], len(end(store))]

    case("it is a tombstone that says why, and nothing else about it changes", ended_twice,
         expect=[[before.replace("active", "tombstone")], 1, [record.updated_at], 0],
         given=f"a memory that is {word}; the same call twice",
         otherwise="The second run ended it once more: skip what has `invalidated_at`.",
         mistakes=[
             (lambda got: not got[0], f"The row is gone, so nobody can say what was {word} and why: set a "
              "tombstone instead."),
             ([[before], 0, [record.updated_at], 1], "It is still active in the store: set `invalidated_at`, "
              "and `put` it; `tombstone` does both."),
             (lambda got: got[1] == 0, f"Its history does not say that it was {word}: give `tombstone` a "
              "reason with that word."),
             (lambda got: got[3] == 0, "You wrote the decayed number into the record: it would decay twice "
              "from now on.")])


# --- Proof ------------------------------------------------------------------------------------------

PIN = "The PIN is 4321."
NOISE = bytes(range(256))
CLEAN, FOUND = ("memory.db", NOISE), ("memory.db", NOISE + PIN.encode() + NOISE)
LOG = ("memory.db-wal", FOUND[1])
PROOF = [  # the text, the database's name, the files
    ("text in the file is found among other bytes", call(PIN, "memory.db", FOUND), ["memory.db"],
     "The file holds it. Read bytes, and search for `text.encode()`; give back its *name*.",
     (lambda got: bool(got) and not isinstance(got[0], str), "Give back names, not paths.")),
    ("a clean file is clean", call(PIN, "memory.db", CLEAN), [], "The file does not hold it."),
    ("the write-ahead log counts", call(PIN, "memory.db", CLEAN, LOG), ["memory.db-wal"],
     "SQLite keeps what was written lately in `-wal`: look there as well."),
    ("its index counts", call(PIN, "memory.db", CLEAN, ("memory.db-shm", FOUND[1])), ["memory.db-shm"],
     "`-shm` is a file like the others: look there as well."),
    ("so does the rollback journal", call(PIN, "memory.db", CLEAN, ("memory.db-journal", FOUND[1])),
     ["memory.db-journal"],
     "`-journal` holds the pages as they were before the last change: look there as well."),
    ("all places are named", call(PIN, "memory.db", FOUND, LOG), ["memory.db", "memory.db-wal"],
     "Name all that hold it, the file itself first; do not stop at the first."),
    ("whatever the database is called",
     call(PIN, "ada.store", ("ada.store", NOISE), ("ada.store-wal", FOUND[1])), ["ada.store-wal"],
     "The suffix goes behind the whole name: ada.store-wal, not ada.db-wal."),
    ("text is searched as UTF-8", call("Zoë", "memory.db", ("memory.db", NOISE + "Zoë".encode() + NOISE)),
     ["memory.db"], "SQLite stores UTF-8: `text.encode()`."),
    ("letter by letter", call("Zoë", "memory.db", ("memory.db", NOISE + b"Zo" + NOISE)), [],
     "The file holds Zo, not Zoë: leave no letter out, whatever ASCII thinks of it."),
    ("and not as text is read", call("a\r\nb", "memory.db", ("memory.db", NOISE + b"a\r\nb")), ["memory.db"],
     "Reading a file as *text* turns its line ends into others, and loses bytes: `read_bytes()`."),
    ("another database is another matter", call(PIN, "memory.db", CLEAN, ("memory.db2", FOUND[1])), [],
     "memory.db2 is another database: look at `-wal`, `-shm` and `-journal`, not at all names."),
    ("an empty text is refused", call("", "memory.db", CLEAN), refused("text"),
     "The empty text stands in every file, or in none: refuse it, naming `text`."),
    ("a missing file is no proof", call(PIN, "memory.db"), refused("path"),
     "Nothing is found where nothing is, and that proves nothing: a wrong path must raise a ValueError that "
     "names `path`."),
]


@exercise("07-proof")
def _(case: Cases, files_holding: Function) -> None:
    def holding(text: str, name: str, *files: tuple[str, bytes]) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            for file, content in files:
                Path(folder, file).write_bytes(content)
            return files_holding(Path(folder, name), text)

    case.table(holding, PROOF, lambda text, name, *files: (
        f"{text!r} in {name!r}; there are: {', '.join(file for file, _ in files) or 'no files'}"))


# fmt: on
