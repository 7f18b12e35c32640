"""Lesson 04, consolidation: the checks of its exercises; those of its joints stand in lesson_04_joints."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from course.check import Cases, Function, Misconception, Row, call, exercise, refused
from course.lessons import lesson_04_joints as lesson_04_joints  # their checks are registered there
from course.lessons.adas_memories import (
    AGREES,
    AISLE,
    CHAT,
    DETAIL,
    EATS_FISH,
    EATS_MEAT,
    EXPORT,
    FISH,
    FORM,
    FROM_FORM,
    FROM_TOOL,
    HIKING,
    LEARNED_AT,
    LOGIN,
    NEW_FISH,
    OTHER_CHAT,
    REASON,
    SEATING,
    STEAK,
    TOOL,
    TRAINS,
    VEGAN,
    VEGETARIAN,
    WIFE,
    WINDOW,
    Proposal,
    a_memory,
    apps,
    bos,
    cut_off,
    dead,
    names,
    told,
)
from course.lessons.adas_memories import after_a_power_cut as after_a_power_cut
from memlab.embedding import hash_embed
from memlab.records import Candidate, MemoryRecord, Operation, Source
from memlab.store import MemoryStore

# --- Finding: what a candidate may affect -------------------------------------------------------------


def _half_way(text: str) -> list[float]:
    """Vectors by which WINDOW has with every other text a cosine of 0.5, to the last bit."""
    return [1.0, 0.0, 0.0, 0.0] if text == WINDOW.content else [0.5, 0.5, 0.5, 0.5]


# fmt: off
OTHER_APP: Row = ("every app is a store of its own", call([VEGETARIAN, EATS_MEAT], FISH, app_name="bank"), [],
             "What Ada told another app came back at the bank: hand on `app_name` wherever you ask.")
BAD_THRESHOLD = ("a threshold outside 0..1 is refused", call([VEGETARIAN], FISH, threshold=55),
                 refused("threshold"),
                 "A threshold of 55 is a slip for 0.55: call `check_fraction` before you search.")
NO_CANDIDATE = ("what is no candidate is refused", call([VEGETARIAN], "Fish!"), refused("candidate",
TypeError),
                "Text is no candidate: leave the line with `check_kind` where it stands.")

SIMILAR = [
    ("a neighbour is found", call([VEGETARIAN, AISLE], WINDOW), ["aisle"],
     "Keep the memories whose cosine with `candidate.content` is at least `threshold`.",
     ([], "The aisle seat has a cosine of 0.80 with the candidate: it belongs in."),
     (["vegetarian"], "You kept what lies **below** the threshold."),
     (lambda got: len(got) == 2, "You gave back every memory: compare each cosine with `threshold`.")),
    ("nearest first", call([TRAINS, AISLE], WINDOW), ["aisle", "trains"],
     "Sort by cosine, the nearest memory first.",
     (["aisle"], "You gave back the nearest only: all that are near enough belong in."),
     (["trains", "aisle"], "That is the order in which they were stored, or the farthest first: sort by "
      "cosine, descending.")),
    ("the threshold is obeyed", call([TRAINS, AISLE], WINDOW, threshold=0.7), ["aisle"],
     "With threshold=0.7 only the aisle seat on flights (0.80) is near enough, not the trains (0.61).",
     (["aisle", "trains"], "You compare with a fixed number: use the `threshold` that was passed.")),
    ("the threshold itself is near enough", call([AISLE], WINDOW, threshold=0.5, embedder=_half_way),
     ["aisle"],
     "A cosine of exactly `threshold` is at least `threshold`: `>` leaves it out, `>=` does not."),
    ("other owners are never seen", call([bos(AISLE)], WINDOW), [],
     "That memory is Bo's: search with `user_id`, so that the store filters before you compare."),
    ("tombstones stay down", call([dead(AISLE)], WINDOW), [],
     "A tombstone came back: what was replaced long ago affects nothing any more."),
    ("what the app shares is left alone", call([apps(AISLE)], WINDOW), [],
     "That memory is the app's, read by all users: nothing that one of them says may touch it. Pass "
     '`scopes=("user",)`.'),
    ("a text that says nothing is near to nothing",
     call([VEGETARIAN], Candidate("the user", "diet", 0.9, ""), threshold=0.0), [],
     "The candidate has the zero vector, and 0 >= 0 let everything in: ask for a cosine above 0 too."),
    OTHER_APP, BAD_THRESHOLD, NO_CANDIDATE,
]

SWEEP = [
    ("the contradiction is found", call([VEGETARIAN, AISLE], FISH), ["vegetarian"],
     "Unite the neighbours with what is stored on the candidate's topic.",
     ([], "Similarity alone again: no neighbour, so no contradiction. Sweep the topic as well."),
     (["vegetarian", "aisle"], "You swept every topic: only `candidate.topic` is affected.")),
    ("a neighbour on another topic stays", call([SEATING], WINDOW), ["seating"],
     "You kept only the candidate's topic: that is an intersection, and a union is wanted. Extractors name "
     "one topic in two ways."),
    ("and one about somebody else", call([replace(SEATING, subject="wife")], WINDOW), ["seating"],
     "You threw out a neighbour because of its `subject`: only the sweep compares it."),
    ("neighbours first, no memory twice", call([VEGETARIAN, EATS_MEAT], FISH), ["meat", "vegetarian"],
     "First the neighbours, nearest first, then the rest of the topic.",
     (lambda got: got.count("meat") > 1,
      "The neighbour is on the topic too, so you listed it twice: remember the ids you have."),
     (["vegetarian", "meat"], "You put the sweep before the neighbours: the nearest comes first."),
     (["vegetarian"], "The neighbour got lost: a union keeps both sides.")),
    ("the threshold is passed on", call([SEATING], WINDOW, threshold=0.95), [],
     "With threshold=0.95 the aisle is no neighbour: hand your `threshold` on to `similar_memories`."),
    ("other subjects are left alone", call([replace(VEGAN, subject="son")], FISH), [],
     "It is the **son** who is vegan, and the user who eats fish: compare `subject` as well."),
    ("other owners are never seen", call([bos(VEGETARIAN)], FISH), [],
     "You swept the diets of the whole app: Bo's came back for Ada. Scan with `user_id`."),
    ("tombstones stay down", call([dead(VEGETARIAN)], FISH), [],
     "The sweep woke a tombstone: scan the active memories only."),
    ("what the app shares is left alone", call([apps(VEGETARIAN)], FISH), [],
     'The sweep reached an app-scope memory: pass `scopes=("user",)`, as for the neighbours.'),
    OTHER_APP, BAD_THRESHOLD,
]
# fmt: on


def _finding(function: Function) -> Function:
    def found(stored: list[MemoryRecord], candidate: Any, embedder: Any = hash_embed, **kwargs: Any) -> Any:
        with MemoryStore(embedder=embedder) as store:
            for record in stored:
                store.put(record)
            return names(function(store, candidate, user_id="ada", **kwargs))

    return found


@exercise("04-similar")
def _(case: Cases, similar_memories: Function) -> None:
    case.table(_finding(similar_memories), SIMILAR, told)


@exercise("04-topic-sweep")
def _(case: Cases, affected_memories: Function) -> None:
    case.table(_finding(affected_memories), SWEEP, told)


# --- Judging: who contradicts, who vouches, what to do ------------------------------------------------

# fmt: off
LIKES = (a_memory("chinese", "The user likes Chinese food.", "taste:chinese food"),
         a_memory("hiking", "The user likes hiking.", "taste:hiking"))
OCTOBER = a_memory("october_15", "The deadline is 15 October.", "deadline")

RIVALS = [
    ("another value contradicts", call(FISH, [VEGETARIAN]), ["vegetarian"],
     "One person has one diet: another value on an exclusive topic is a contradiction."),
    ("the same fact does not", call(FISH, [EATS_FISH]), [],
     "A memory that says the same confirms the candidate: leave out what `same_fact` recognises."),
    ("nor does it in other capitals", call(replace(FISH, content="the user  eats FISH again"), [EATS_FISH]),
     [],
     "You compare the texts with `==`: case, spacing and a full stop make no new fact. `same_fact` knows."),
    ("one digit makes another fact", call(Candidate("The deadline is 16 October.", "deadline", 0.9, ""),
     [OCTOBER]), ["october_15"], "15 and 16 October are two dates, however alike the sentences are."),
    ("an open topic holds many", call(LOGIN, [EXPORT]), [],
     "A user can have two problems at once: only exclusive topics contradict."),
    ("each taste is a topic of its own", call(Candidate("The user dislikes Chinese food.",
     "taste:chinese food", 0.9, ""), list(LIKES)), ["chinese"],
     "Like and dislike of one thing contradict each other.",
     ([], "`topic in EXCLUSIVE_TOPICS` misses the families such as `taste:*`: ask `is_exclusive`."),
     (["chinese", "hiking"], "Hiking is no Chinese food: compare the whole topic.")),
    ("other topics are left alone", call(FISH, [AISLE]), [],
     "A seat contradicts no diet: both must be on the same topic."),
    ("other subjects are left alone", call(FISH, [WIFE]), [],
     "His wife's diet says nothing about the user's: compare `subject` too."),
    ("every rival is named", call(FISH, [VEGETARIAN, EATS_MEAT]), ["vegetarian", "meat"],
     "Two stored values contradict this candidate: give back both, in their order."),
]

TRUSTED = [
    ("one source gives its trust", VEGETARIAN, 0.65, "Look the kind of source up in TRUST.",
     ("user_implicit", "That is the kind of source; TRUST knows how far it is believed.")),
    ("the strongest of its own counts", replace(VEGETARIAN, sources=[FORM, TOOL]), 0.90,
     "The user said it herself: 0.90.",
     (0.30, "You took the weakest (or the last) source: one tool result that agrees would strip the memory "
      "of its protection."),
     (0.60, "You took the average: agreement of a weak source must not weaken a strong one.")),
    ("order does not matter", replace(VEGETARIAN, sources=[TOOL, FORM]), 0.90,
     "You look at the first source only."),
    ("inherited sources do not weaken", replace(VEGETARIAN, sources=[FROM_TOOL, CHAT]), 0.65,
     "The tool's word came over from what was replaced. It does not speak for this memory."),
    ("nor do they strengthen", replace(VEGETARIAN, sources=[FROM_FORM, TOOL]), 0.30,
     "The user's word was for the memory that was **replaced**. This one rests on a tool alone: leave "
     "inherited sources out."),
    ("no source, no trust", replace(VEGETARIAN, sources=[]), 0.0, "Nobody vouches for this memory: 0.0.",
     ("a crash", "A memory without a source of its own crashed it: `max(…, default=0.0)`.")),
]

DECISIONS = [
    ("a new fact is created", call(FISH, [], OTHER_CHAT), "CREATE", "Nothing is affected: CREATE it."),
    ("a known fact is not stored again", call(FISH, [EATS_FISH], OTHER_CHAT), "NOOP fish",
     "The memory says the same: NOOP, with its id, so that it can be corroborated.",
     ("CREATE", "Now the same fact is stored twice: look for `same_fact` first."),
     ("UPDATE fish", "A memory is no rival of itself: a fact that is known needs no UPDATE."),
     ("NOOP", "Name the memory that says the same: without an id nothing can be corroborated.")),
    ("nor in small letters", call(replace(FISH, content="the user eats fish again"), [EATS_FISH], OTHER_CHAT),
     "NOOP fish", "Without its capital and its full stop it is still the same fact: find `same` with "
     "`same_fact`, not with `==`."),
    ("a contradiction is resolved", call(FISH, [VEGETARIAN], FORM), "UPDATE vegetarian",
     "Both are diets of one person: UPDATE the memory that the candidate contradicts.",
     ("CREATE", "Both diets would be active, and the model picks one at random every turn."),
     ("NOOP vegetarian", "The profile form is trusted more than a remark in a chat: it wins.")),
    ("between equals the newer wins", call(FISH, [VEGETARIAN], OTHER_CHAT), "UPDATE vegetarian",
     "Equal trust is enough, people change their minds: refuse only what is **weaker**."),
    ("a weaker source never wins", call(FISH, [VEGETARIAN], TOOL), "NOOP vegetarian",
     "A tool result must not displace what the user said: compare `trust_of` with TRUST.",
     ("UPDATE vegetarian", "A tool result displaced what the user said: nobody compared the trust."),
     ("CREATE", "It lost, so it must not be stored beside the winner: NOOP.")),
    ("an inherited tool is no weak spot", call(FISH, [replace(VEGETARIAN, sources=[FROM_TOOL, FORM])], TOOL),
     "NOOP vegetarian", "The laundering is back: `trust_of` leaves inherited sources out."),
    ("all memories are looked at first", call(FISH, [VEGETARIAN, EATS_FISH], FORM), "NOOP fish",
     "You decided at the first memory in the list. A later one says the very same: look at all first."),
    ("the strongest rival decides", call(FISH, [VEGETARIAN, VEGAN], OTHER_CHAT), "NOOP vegan",
     "One of the two rivals rests on a stronger source. Losing against one is enough: NOOP."),
    ("of several rivals the first is named", call(FISH, [VEGETARIAN, EATS_MEAT], FORM), "UPDATE vegetarian",
     "Both rivals give way, and the UPDATE names the **first** of them."),
    ("an open topic grows", call(LOGIN, [EXPORT], OTHER_CHAT), "CREATE",
     "Two problems do not exclude each other: CREATE the second."),
    ("other subjects are left alone", call(FISH, [WIFE], FORM), "CREATE",
     "The wife's diet was replaced by the user's: let `contradicted` find the rivals."),
    ("one meal is no diet", call(STEAK, [VEGETARIAN, EATS_MEAT], FORM), "NOOP vegetarian",
     "A confidence below WEAK changes nothing on an exclusive topic: NOOP on the first that it disputes.",
     ("UPDATE vegetarian", "One steak made her a meat eater: below WEAK nothing is changed.")),
    ("nor the beginning of one", call(STEAK, [], FORM), "NOOP",
     "Below WEAK nothing is learned on an exclusive topic, rival or not: NOOP, with no target.",
     ("CREATE", "One steak became her diet, only because none was known: NOOP, with no target.")),
    ("WEAK itself is not weak", call(replace(STEAK, confidence=0.4), [VEGETARIAN], FORM), "UPDATE vegetarian",
     "0.4 is not below WEAK: `<=` takes the edge in, `<` does not."),
    ("a known fact may be whispered", call(replace(FISH, confidence=0.3), [EATS_FISH], OTHER_CHAT),
     "NOOP fish",
     "It is weak, but it says the same: it is known before it is weak."),
    ("an open topic takes weak facts", call(replace(LOGIN, confidence=0.3), [], OTHER_CHAT), "CREATE",
     "WEAK guards exclusive topics only: nothing can be displaced here."),
    ("what is no candidate is refused", call("Fish!", [], FORM), refused("candidate", TypeError),
     "Text is no candidate: leave the two lines with `check_kind` where they stand."),
    ("nor is an id a source", call(FISH, [], "f9"), refused("source", TypeError),
     "An id is no source: leave the two lines with `check_kind` where they stand."),
]
# fmt: on


@exercise("04-exclusive")
def _(case: Cases, contradicted: Function) -> None:
    case.table(lambda candidate, affected: names(contradicted(candidate, affected)), RIVALS, told)


@exercise("04-trust")
def _(case: Cases, trust_of: Function) -> None:
    def trust(record: MemoryRecord) -> object:
        try:
            return trust_of(record)
        except (ValueError, IndexError):
            if record.sources:
                raise
            return "a crash"

    case.table(trust, TRUSTED, told)


@exercise("04-decide")
def _(case: Cases, decide: Function) -> None:
    def decided(candidate: Candidate, affected: list[MemoryRecord], source: Source) -> str:
        return _decision(decide(candidate, affected, source), getattr(candidate, "content", ""))

    case.table(decided, DECISIONS, told)


def _decision(got: object, content: str) -> str:
    """An operation as "UPDATE vegetarian"; raises Misconception for one that is not fit to be applied."""
    if not isinstance(got, Operation):
        raise Misconception("Give back an `Operation` on every path.", got=got)
    if content and got.content != content:
        raise Misconception(
            "The operation must carry the candidate's content.", expected=content, got=got.content
        )
    return f"{got.action} {got.target_id.removeprefix('mem_')}" if got.target_id else got.action


# --- Writing: one in place of another, and witnesses --------------------------------------------------


def _sources(record: MemoryRecord) -> list[str]:
    return [f"({source.source_id})" if source.inherited else source.source_id for source in record.sources]


def _ends(olds: list[MemoryRecord], new: MemoryRecord) -> float | None:
    return olds[0].invalidated_at


def _lineage(olds: list[MemoryRecord], new: MemoryRecord) -> list[str]:
    return _sources(new)


# fmt: off
REPLACED = [
    ("the new memory is stored", call([VEGETARIAN], NEW_FISH, look=lambda olds, new: new and new.active()),
     True,
     "The new memory is not in the store: `put` it as well."),
    ("the old one is kept", call([VEGETARIAN], NEW_FISH, look=lambda olds,
     new: [r and r.content for r in olds]),
     [VEGETARIAN.content],
     "The old memory is gone or rewritten: it must keep its content, as a tombstone."),
    ("it is a tombstone", call([VEGETARIAN], NEW_FISH, look=lambda olds, new: olds[0].active()), False,
     "The old memory still holds: set `invalidated_at`."),
    ("it names what replaced it", call([VEGETARIAN], NEW_FISH, look=lambda olds, new: olds[0].superseded_by),
     "mem_fish", "`superseded_by` must be the new memory's id: otherwise nobody finds out what replaced it."),
    ("its own sources stay its own", call([VEGETARIAN], NEW_FISH, look=lambda olds, new: _sources(olds[0])),
     ["s1"], "You marked the **old** memory's sources as inherited: both lists share them. Make copies: "
     "`dataclasses.replace(source, inherited=True)`."),
    ("lineage is kept, and says so", call([VEGETARIAN], NEW_FISH, look=_lineage), ["(s1)", "f9"],
     "The new memory has `s1` as inherited, then `f9` of its own.",
     (["f9"], "The new memory knows nothing of s1: revoke that conversation, and it would look innocent."),
     (["(s1)"], "The new memory lost its own source."),
     (lambda got: sorted(got) == ["f9", "s1"] or "(f9)" in got,
      "Only what came over from the old memory is `inherited=True`; else trust can be laundered."),
     (["f9", "(s1)"], "The inherited sources stand in front of those that `new` has of its own.")),
    ("both sides know why", call([VEGETARIAN], NEW_FISH, look=lambda olds, new: [
        any(REASON in line for line in record.history) for record in (*olds, new)]), [True, True],
     "The reason must stand in the history of **both**: it answers “why do you believe this?”"),
    ("a source stands there once", call([VEGETARIAN], EATS_FISH, look=_lineage), ["s1"],
     "s1 said both. The new memory rests on s1 itself, so it does not inherit it too."),
    ("a belief ends when the next one begins", call([replace(VEGETARIAN, created_at=100.0)],
     replace(NEW_FISH, created_at=200.0), look=_ends), 200.0,
     "The old memory ends when the new one began, at `new.created_at`, perhaps long ago. By the clock both "
     "would have held until today."),
    ("but never before it began", call([replace(VEGETARIAN, created_at=300.0)],
     replace(NEW_FISH, created_at=200.0), look=_ends), 300.0,
     "An old conversation, imported late, ended a memory before it was made: take the later of "
     "`old.created_at` and `new.created_at`."),
    ("all that is displaced is replaced", call([VEGETARIAN, EATS_MEAT], NEW_FISH,
     look=lambda olds, new: [r.superseded_by for r in olds]), ["mem_fish", "mem_fish"],
     "Two memories were displaced, and not both became tombstones."),
    ("what two of them share is inherited once", call([VEGETARIAN, replace(EATS_MEAT, sources=[CHAT])],
     NEW_FISH, look=_lineage), ["(s1)", "f9"],
     "Both displaced memories rest on s1, and it came over twice: ask anew **for each** of them what the new "
     "memory rests on by now."),
    ("all lineage is kept", call([VEGETARIAN, EATS_MEAT], NEW_FISH,
     look=lambda olds, new: sorted(_sources(new))), ["(s1)", "(s9)", "f9"],
     "The new memory must inherit from **each** of those it replaced."),
    ("with nothing to displace it is stored", call([], NEW_FISH, look=_lineage), ["f9"],
     "When `displaced` is empty, the new memory is simply stored."),
]
ALL_OR_NOTHING = "Half of the work stayed: put all writes into **one** `with store.transaction():`."
LOST = "The fact is lost: neither diet holds. Put all writes into one `with store.transaction():`."
POWER_CUTS: list[Row] = [
    (f"power cut before write {write} of {len(olds) + 1}", call(olds, NEW_FISH, write), names(olds),
     ALL_OR_NOTHING, ([], LOST))
    for olds, write in (([VEGETARIAN], 1), ([VEGETARIAN], 2), ([VEGETARIAN, EATS_MEAT], 3))
]

LOST_TO_IT = Operation("NOOP", "mem_fish", VEGAN.content, "lower-trust source")


def _sure(memory: MemoryRecord) -> float:
    return memory.confidence


def _standing(memory: MemoryRecord) -> tuple[float, list[str], int]:
    return memory.confidence, _sources(memory), len(memory.history)


NOTED = [
    ("an independent source raises confidence", call(EATS_FISH, AGREES, OTHER_CHAT, look=_sure), 0.70,
     "A second witness says the same: add CORROBORATION (0.05)."),
    ("it is kept as a source", call(EATS_FISH, AGREES, OTHER_CHAT, look=_sources), ["s1", "s9"],
     "Append the new source: else the same witness can be counted again tomorrow."),
    ("retelling changes nothing", call(EATS_FISH, AGREES, CHAT, look=_standing), (0.65, ["s1"], 0),
     "s1 repeated itself, and it counted. If it does, saying a thing often makes it true.",
     ((0.65, ["s1"], 1), "s1 repeated itself, and that is worth no line: leave the memory alone.")),
    ("in other words from the same source, too", call(EATS_FISH, AGREES, replace(CHAT, excerpt="fish!"),
     look=_standing), (0.65, ["s1"], 0),
     "s1 said it in other words, and counted as a second witness: compare `source_id` alone."),
    ("a contradiction that lost raises nothing", call(EATS_FISH, LOST_TO_IT, TOOL, look=_sure), 0.65,
     "The vegan claim **lost** against this memory, and made it surer. Compare the contents with `same_fact` "
     "before you call it corroboration."),
    ("nor is it a source", call(EATS_FISH, LOST_TO_IT, TOOL, look=_sources), ["s1"],
     "The source that contradicted must not stand among those that support."),
    ("but it leaves a line", call(EATS_FISH, LOST_TO_IT, TOOL, look=lambda memory: [
        "lower-trust source" in line for line in memory.history]), [True],
     "The attempt left no trace: one line of history, with the operation's reason."),
    ("and so does the agreement", call(EATS_FISH, AGREES, OTHER_CHAT,
     look=lambda memory: len(memory.history)), 1,
     "Confidence rose and the history does not say why: `note` one line about the new witness."),
    ("a lost full stop is no contradiction", call(EATS_FISH, replace(AGREES,
     content="the user eats fish again"),
     OTHER_CHAT, look=_sure), 0.70,
     "Without its full stop it is the same fact, and a second witness: compare with `same_fact`, not with "
     "`!=`."),
    ("nothing is more than certain", call(replace(EATS_FISH, confidence=0.98), AGREES, OTHER_CHAT,
     look=_sure),
     1.0, "0.98 + 0.05 is no confidence: stop at 1.0."),
    ("it counts as fresh again", call(EATS_FISH, AGREES, replace(OTHER_CHAT, at=LEARNED_AT + 60.0),
     look=lambda memory: memory.updated_at), LEARNED_AT + 60.0,
     "It was confirmed at the source's time: move `updated_at` there, or it decays as if unheard."),
    ("but never staler", call(EATS_FISH, AGREES, replace(OTHER_CHAT, at=LEARNED_AT - 60.0),
     look=lambda memory: memory.updated_at), LEARNED_AT,
     "An older conversation, imported late, moved `updated_at` back: take the later of the two."),
    ("a witness counts as the memory's own", call(EATS_FISH, AGREES, replace(OTHER_CHAT, inherited=True),
     look=_sources), ["s1", "s9"],
     "The source came marked as inherited by another memory, and kept the mark. Here s9 says it itself: "
     "`replace(source, inherited=False)`."),
    ("what was inherited may be said anew", call(replace(EATS_FISH, sources=[FROM_FORM, CHAT]), AGREES, FORM,
     look=_sure), 0.70,
     "f9 stood there as lineage only, and now says it itself: look for it among `own_sources()`."),
]
# fmt: on


@exercise("04-supersede")
def _(case: Cases, supersede: Function) -> None:
    def after(displaced: list[MemoryRecord], new: MemoryRecord, look: Function) -> object:
        with MemoryStore() as store:
            for record in displaced:
                store.put(record)
            supersede(store, copy.deepcopy(displaced), copy.deepcopy(new), REASON)
            records = {record.memory_id: record for record in store.owned("ada")}
            return look([records.get(old.memory_id) for old in displaced], records.get(new.memory_id))

    def left_after(displaced: list[MemoryRecord], new: MemoryRecord, write: int) -> list[str]:
        return names(cut_off(lambda s, olds, new: supersede(s, olds, new, REASON), displaced, new, write))

    case.table(after, REPLACED, told)
    case.table(left_after, POWER_CUTS, told)


@exercise("04-corroborate")
def _(case: Cases, take_note: Function) -> None:
    def noted(memory: MemoryRecord, operation: Operation, source: Source, look: Function) -> object:
        take_note(memory, operation, source)
        return look(memory)

    case.table(noted, NOTED, told)


# --- A model decides: the fence -----------------------------------------------------------------------

# fmt: off
SHOWN = [VEGETARIAN, AISLE]
TO_FISH = Proposal("UPDATE", "mem_vegetarian")
TO_DETAIL = Proposal("UPDATE", "mem_export", DETAIL.content)

FENCED = [
    ("a sound proposal passes", call(TO_FISH, FISH, SHOWN, FORM), "allowed",
     "This UPDATE is right: give back `None`."),
    ("an invented id is refused", call(Proposal("UPDATE", "mem_000000000012"), FISH, SHOWN, FORM), "refused",
     "The model was never shown this id. Look it up among `affected`, and nowhere else."),
    ("in a NOOP as well", call(Proposal("NOOP", "mem_000000000012"), FISH, SHOWN, FORM), "refused",
     "A NOOP on an id that was never shown would corroborate somebody else's memory."),
    ("an action there is none of is refused", call(Proposal("DELETE", "mem_vegetarian"), FISH, SHOWN, FORM),
     "refused", "There is no DELETE here: only what is in ACTIONS may pass."),
    ("other words are refused", call(replace(TO_FISH, content="The user is an admin."), FISH, SHOWN, FORM),
     "refused", "The model smuggled in a content of its own: it must be the `same_fact` as the candidate's."),
    ("a lost full stop is forgiven", call(replace(TO_FISH, content="The user eats fish again"), FISH, SHOWN,
     FORM), "allowed", "Models drop full stops. Compare with `same_fact`, not with `==`."),
    ("no contradiction is left standing", call(Proposal("CREATE", None), FISH, SHOWN, FORM), "refused",
     "Vegetarian and fish would both be active: a CREATE is refused where `decide` says UPDATE."),
    ("a weaker source wins nothing", call(TO_FISH, FISH, SHOWN, TOOL), "refused",
     "The model let a tool overrule the user: an UPDATE is refused where `decide` says NOOP."),
    ("nor is it put beside", call(Proposal("CREATE", None), FISH, SHOWN, TOOL), "refused",
     "It lost, and was stored beside the winner: refuse a CREATE where `decide` says NOOP."),
    ("but both may say NOOP", call(Proposal("NOOP", "mem_vegetarian"), FISH, SHOWN, TOOL), "allowed",
     "The model says NOOP, as the rules do: nothing is bolder about that."),
    ("what is about something else stays", call(Proposal("UPDATE", "mem_aisle"), FISH, SHOWN, FORM),
     "refused",
     "A diet replaced a seat: the target must share the candidate's subject and topic."),
    ("and what is about somebody else", call(Proposal("UPDATE", "mem_wife"), FISH, [VEGETARIAN, WIFE], FORM),
     "refused", "The user's diet replaced his wife's: a shared topic is not enough, compare `subject` too."),
    ("even where the rules replace nothing", call(replace(TO_FISH, content=HIKING.content), HIKING, SHOWN,
     FORM),
     "refused", "A hobby replaced the diet. The rules say CREATE here, so no target of theirs stands in its "
     "way: "
     "compare subject and topic for every UPDATE."),
    ("an UPDATE names its target", call(Proposal("UPDATE", None), FISH, SHOWN, FORM), "refused",
     "An UPDATE of nothing cannot be applied: it must name what it replaces."),
    ("a model may be careful", call(Proposal("NOOP", "mem_vegetarian"), FISH, SHOWN, FORM), "allowed",
     "It wants to wait for more than one remark. More careful is fine, bolder is not."),
    ("even without naming a memory", call(Proposal("NOOP", None), FISH, SHOWN, FORM), "allowed",
     "A NOOP without an id touches nothing, so nothing speaks against it."),
    ("the id in a CREATE is ignored", call(Proposal("CREATE", "mem_new", HIKING.content), HIKING, SHOWN,
     FORM),
     "allowed", "A CREATE overwrites nothing, so its id does no harm; refusing it would lose the fact."),
    ("an open topic may be refined", call(TO_DETAIL, DETAIL, [EXPORT], OTHER_CHAT), "allowed",
     "Same subject, same topic, equal trust: the model may replace a vague memory by an exact one."),
    ("but not against a stronger source", call(TO_DETAIL, DETAIL, [EXPORT], TOOL), "refused",
     "`decide` knows no rival on an open topic, so nobody compared the trust: do it for the target."),
]
# fmt: on


@exercise("04-fence")
def _(case: Cases, objection: Function) -> None:
    case.table(lambda *asked: _verdict(objection(*asked)), FENCED, told)


def _verdict(got: object) -> str:
    if got is None:
        return "allowed"
    if isinstance(got, str) and got.strip():
        return "refused"
    raise Misconception(
        "Give back the reason as text, or `None` when there is no objection: it goes into the log.", got=got
    )


# --- What the lesson shows ----------------------------------------------------------------------------


def as_decided(
    target_of: Function, new_memory: Function, take_note: Function, supersede: Function
) -> Function:
    """An `apply` made of these parts that does exactly what was decided, and looks at nothing else."""

    def apply(
        store: MemoryStore, operation: Operation, candidate: Candidate, source: Source, *, user_id: str
    ) -> None:
        target = target_of(store, operation, user_id, "default")
        if operation.action != "NOOP":
            new = new_memory(operation, candidate, source, user_id, "default")
            supersede(store, [target] if target else [], new, operation.reason)
        elif target is not None:
            take_note(target, operation, source)
            store.put(target)

    return apply
