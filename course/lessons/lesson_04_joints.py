"""The checks of the joints of lesson 04: new_memory, apply, consolidate and learn.

A row says what the store holds, what the joint is called with, and what to look at afterwards; of a new
memory, which field to look at.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from course.check import Cases, Function, Misconception, Row, call, exercise, refused
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
    LEARNED_AT,
    OTHER_CHAT,
    REASON,
    TOOL,
    VEGAN,
    VEGETARIAN,
    PowerCut,
    WatchedStore,
    bos,
    in_a_store,
    names,
    told,
    words,
)
from memlab.records import Candidate, MemoryRecord, Operation, Source
from memlab.store import MemoryStore

KNOWN = {r.content: names([r])[0] for r in (VEGETARIAN, EATS_FISH, EATS_MEAT, VEGAN, AISLE, EXPORT)}


def _held(
    store: MemoryStore, result: object = None, user_id: str = "ada", app_name: str = "default"
) -> list[str]:
    """What a user holds, by name where it is one of the memories above."""
    return [KNOWN.get(r.content, r.content) for r in store.scan(user_id, app_name, ("user",))]


def _at_the_bank(store: MemoryStore, result: object) -> tuple[list[str], list[str]]:
    return _held(store), _held(store, app_name="bank")


def _bos_too(store: MemoryStore, result: object) -> tuple[list[str], list[str]]:
    return _held(store), _held(store, user_id="bo")


def _back(store: MemoryStore, result: object) -> str | None:
    return KNOWN.get(result.content) if isinstance(result, MemoryRecord) else result  # type: ignore[return-value]


def _outside(store: WatchedStore, result: object) -> list[str]:
    return store.outside


def _confidence(store: MemoryStore, result: object) -> float:
    return store.owned("ada")[0].confidence


# fmt: off
NUTS = Candidate("No nuts for the daughter.", "allergy:nuts", 0.8, "nuts make my daughter ill", 0.9, 365,
                 "daughter")
DECIDED = Operation("CREATE", None, "The user's daughter is allergic to nuts.", "a model's words")
MADE: list[Row] = [  # what of the memory is looked at (for another source than a chat), and what it must be
    ("it says what was decided", "content", DECIDED.content, "Not what was decided: `operation.content`.",
     (NUTS.content, "A model decided, and put it in better words than the candidate: "
      "`content=operation.content`."),
     (NUTS.excerpt, "What she said is the excerpt of the source; the memory says `operation.content`.")),
    ("it is this user's", "user_id", "ada", "It is Ada's: pass `user_id`."),
    ("it is this app's", "app_name", "bank", "The bank's memory went to another app: pass `app_name`."),
    ("it keeps its topic", "topic", "allergy:nuts",
     "No topic sweep will ever find it: `topic=candidate.topic`."),
    ("it keeps its subject", "subject", "daughter",
     "Now the *user* is allergic to nuts: `subject=candidate.subject`."),
    ("it is as important", "importance", 0.9,
     "An allergy became as important as small talk: `candidate.importance`."),
    ("it fades as slowly", "half_life_days", 365,
     "An allergy fades like small talk: `half_life_days=candidate.half_life_days`."),
    ("it is no surer than its source is trusted", "confidence", 0.65,
     "The candidate says 0.80, and a chat is trusted 0.65: `starting_confidence(candidate.confidence, "
     "source)`.",
     (0.6, "Nobody set its confidence, so it is the default of 0.60.")),
    ("nor surer than the extractor was", call("confidence", FORM), 0.8,
     "A form is trusted 0.90, and the extractor was sure by 0.80 only: the smaller of the two."),
    ("it rests on its source", "sources", ["user_implicit s1"], "It rests on `source`, and on nothing else.",
     ([], "Nobody can say why this is believed: `sources=[…]` is missing.")),
    ("which states it itself", call("sources", FROM_FORM), ["user_explicit f9"],
     "The form states *this* memory itself; inherited, it would count for nothing: `replace(source, "
     "inherited=False)`."),
    ("and is quoted", call("excerpt", replace(CHAT, excerpt="nuts")), "nuts",
     "The source lost its words: copy it with `replace`, which keeps all other fields."),
    ("your source is left as it is", call("given", FROM_FORM), ["user_explicit f9 (inherited)"],
     "You changed the source that you were given, and with it all that hold it: `replace` makes a copy."),
    ("it begins when it was said", "created_at", LEARNED_AT,
     "It began when your code ran, and “since when do you believe this?” gets a wrong answer: "
     "`created_at=source.at`."),
    ("and fades from then on", "updated_at", LEARNED_AT,
     "Old words, as fresh as if said today: confidence fades from `updated_at`, which is `source.at`."),
]


def _made(new_memory: Function) -> Function:
    def made(field: str, source: Source = CHAT) -> Any:
        record = new_memory(DECIDED, NUTS, source, "ada", "bank")
        if not isinstance(record, MemoryRecord):
            raise Misconception("Give back a `MemoryRecord`.", got=record)
        if field == "excerpt":
            return record.sources[0].excerpt
        if field in ("sources", "given"):
            return [words(each) for each in (record.sources if field == "sources" else [source])]
        return getattr(record, field)

    return made


CREATE = Operation("CREATE", None, FISH.content, "the model saw no contradiction")
UPDATE = Operation("UPDATE", "mem_vegetarian", FISH.content, REASON)
REFINE = Operation("UPDATE", "mem_export", DETAIL.content, "more exact")
NO_SUCH = Operation("UPDATE", "mem_000000000012", FISH.content, "made up")
NOTHING = Operation("NOOP", None, FISH.content, "too weak")

APPLIED = [
    ("a CREATE stores the memory", call([], CREATE, FISH, FORM, look=_held), ["fish"],
     "Nothing was stored: make the memory with `new_memory`, and let `supersede` store it."),
    ("it is given back", call([], CREATE, FISH, FORM, look=_back), "fish",
     "Give back the memory that was made."),
    ("an UPDATE replaces its target", call([VEGETARIAN], UPDATE, FISH, FORM, look=_held), ["fish"],
     "The vegetarian still holds: `supersede` it with the new memory."),
    ("its reason is written down", call([VEGETARIAN], UPDATE, FISH, FORM, look=lambda store, result: [
        any(REASON in line for line in record.history) for record in store.owned("ada")]), [True, True],
     "Nobody will know why: hand `operation.reason` to `supersede`."),
    ("on an open topic as well", call([EXPORT], REFINE, DETAIL, CHAT, look=_held), [DETAIL.content],
     "On an open topic only the operation names what is replaced: hand `target=target` to `displaced_by`."),
    ("a CREATE leaves no contradiction standing", call([VEGETARIAN], CREATE, FISH, FORM, look=_held),
     ["fish"],
     "The decision was wrong, and now two diets hold. Whatever it says, ask `displaced_by` about all that "
     "the "
     "user holds on the topic."),
    ("nor does an UPDATE", call([VEGETARIAN, EATS_MEAT], UPDATE, FISH, FORM, look=_held), ["fish"],
     "The UPDATE named one of two rivals, and the other still holds: ask `displaced_by`, not the target "
     "alone."),
    ("a NOOP stores nothing new", call([VEGETARIAN], replace(UPDATE, action="NOOP"), FISH, FORM, look=_held),
     ["vegetarian"], "The candidate lost, and was stored all the same: a NOOP ends before `new_memory`."),
    ("but the line that it leaves", call([VEGETARIAN], replace(UPDATE, action="NOOP"), FISH, TOOL,
     look=lambda store, result: len(store.owned("ada")[0].history)), 1,
     "What `take_note` wrote stands on a copy only: `put` the memory back into the store."),
    ("who says it again is a witness", call([EATS_FISH], AGREES, FISH, OTHER_CHAT, look=_confidence), 0.70,
     "A NOOP on the same fact: `take_note` of it, and `put` the memory back."),
    ("what a NOOP concerns is given back", call([EATS_FISH], AGREES, FISH, OTHER_CHAT, look=_back), "fish",
     "Give back the memory that was touched."),
    ("a NOOP on nothing does nothing", call([], NOTHING, FISH, CHAT, look=_back), None,
     "There is no target, so there is nothing to note: give back None."),
    ("another user's memory is out of reach", call([bos(VEGETARIAN)], CREATE, FISH, FORM, look=_bos_too),
     (["fish"], ["vegetarian"]), "Ada's new diet ended Bo's: scan with her `user_id`."),
    ("every app is a store of its own", call([VEGETARIAN], CREATE, FISH, FORM, app_name="bank",
     look=_at_the_bank), (["vegetarian"], ["fish"]),
     "It was the bank's to store: hand `app_name` on to all of your parts."),
    ("an invented id is refused", call([VEGETARIAN], NO_SUCH, FISH, FORM, look=_back), refused("target_id"),
     "Nobody holds mem_000000000012: let `target_of` look it up, and raise."),
    ("and in another app it is invented", call([VEGETARIAN], UPDATE, FISH, FORM, app_name="bank", look=_back),
     refused("target_id"), "The target is not the bank's: hand `app_name` on to `target_of`."),
    ("a weaker source displaces nothing", call([VEGETARIAN], CREATE, FISH, TOOL, look=_back),
     refused("weaker"),
     "A tool result displaced what the user said: let `displaced_by` raise, before anything is written."),
    ("what is no operation is refused", call([], None, FISH, FORM, look=_back),
     refused("operation", TypeError), "None is no operation: leave the line with `check_parts` where it "
     "stands."),
    ("what it looks at cannot change meanwhile", call([VEGETARIAN], UPDATE, FISH, FORM, look=_outside), [],
     "Another process can write between your look and your write: do all of it within one "
     "`with store.transaction():`."),
    ("nor may a NOOP's", call([EATS_FISH], AGREES, FISH, OTHER_CHAT, look=_outside), [],
     "Look the target up within the transaction: what you note is written back over it."),
]


def _waits(candidate: Candidate, affected: list[MemoryRecord], source: Source) -> Operation:
    """Decides nothing, and says in its reason what it was shown."""
    return Operation("NOOP", None, candidate.content, f"{', '.join(names(affected))}; {source.source_id}")


def _breaks(*args: Any) -> Any:
    raise PowerCut


def _decided(store: MemoryStore, result: Any) -> tuple[str, list[str]]:
    return result.action, _held(store)


CONSOLIDATED = [
    ("a new fact is stored", call([], FISH, FORM, look=_held), ["fish"],
     "It was decided and not carried out: `apply` the operation."),
    ("the decision comes back", call([VEGETARIAN], FISH, FORM, look=_decided), ("UPDATE", ["fish"]),
     "Give back the operation that `decide` made, once it is applied.",
     (lambda got: got[0] == "CREATE", "`decide` was not shown the vegetarian: pass it what "
      "`affected_memories` gives.")),
    ("a known fact has one witness more", call([EATS_FISH], FISH, OTHER_CHAT, look=_confidence), 0.70,
     "The fact is known, and its second witness left no trace: `apply` a NOOP, too."),
    ("somebody else may decide", call([VEGETARIAN], FISH, FORM, decide=_waits, look=_held), ["vegetarian"],
     "Another `decide` was passed, as a model's will be: call the one that you were given."),
    ("it is shown what it needs", call([VEGETARIAN, AISLE], FISH, FORM, decide=_waits,
     look=lambda store, result: result.reason), "vegetarian; f9",
     "`decide` gets the candidate, the affected memories and the source."),
    ("every app is a store of its own", call([VEGETARIAN], FISH, FORM, app_name="bank", look=_at_the_bank),
     (["vegetarian"], ["fish"]),
     "The bank's fact belongs to the bank: hand `app_name` on to `affected_memories` and to `apply`."),
    ("a decision that fails leaves nothing", call([VEGETARIAN], FISH, FORM, decide=_breaks, fails=(PowerCut,),
     look=_held), ["vegetarian"], "`decide` raised, and still something was stored."),
    ("between look and write nobody comes in", call([VEGETARIAN], FISH, FORM, look=_outside), [],
     "Two processes can both see no rival, and store a diet each: look, decide and write in **one** "
     "`with store.transaction():`."),
]


def _said(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


def _parrot(messages: list[dict[str, Any]]) -> list[Candidate]:
    """Takes each message for a fact, on a topic that is open; for "fish", the fish."""
    asides = {"fish": FISH}
    return [asides.get(m["content"], Candidate(m["content"], "note", 0.9, m["content"])) for m in messages]


def _shouts(messages: list[dict[str, Any]]) -> Any:
    return ["FISH!"]


def _unhurried(messages: list[dict[str, Any]]) -> list[Candidate]:
    """A model that takes its time, and fails when somebody has to wait for it."""
    return [Candidate("Nobody waits.", "note", 0.9, "")] if not WatchedStore.depth else []


def _contents(store: MemoryStore, result: Any) -> list[str]:
    return [f"{operation.action} {operation.content}" for operation in result]


def _kept(store: MemoryStore, result: Any) -> list[str]:
    return [m["content"] for talk in store.conversations("ada") for m in talk.messages]


def _all_kept(store: MemoryStore, result: Any) -> tuple[list[str], list[str]]:
    return _kept(store, result), _held(store)


def _only_says_why(store: MemoryStore, result: Any) -> list[Any]:
    return [(operation.action, operation.target_id) for operation in result or []]


def _fails_at_b(candidate: Candidate, affected: list[MemoryRecord], source: Source) -> Operation:
    return _breaks() if candidate.content == "B" else Operation("CREATE", None, candidate.content, "new")


LEARNED = [
    ("each fact is decided", call([], _said("A", "B"), CHAT, extract=_parrot, look=_contents),
     ["CREATE A", "CREATE B"], "Give back one operation for each candidate, in their order."),
    ("and stored", call([], _said("A", "fish"), CHAT, extract=_parrot, look=_held), ["A", "fish"],
     "Nothing was learned: `consolidate` each candidate."),
    ("the conversation is kept", call([], _said("A", "B"), CHAT, extract=_parrot, look=_kept), ["A", "B"],
     "What was said is lost, and nothing can be rebuilt from it: `store.put_conversation`."),
    ("also when it teaches nothing", call([], _said("Hello!"), CHAT, extract=lambda messages: [], look=_kept),
     ["Hello!"], "Nothing was found in it, and it was not kept: another extractor may find more."),
    ("a fact quotes its own words", call([], _said("A", "fish"), CHAT, extract=_parrot,
     look=lambda store, result: [r.sources[0].excerpt for r in store.owned("ada")]), ["A", FISH.excerpt],
     "Each memory must quote what it was drawn from: `replace(source, excerpt=candidate.excerpt)`."),
    ("an empty conversation is no error", call([], [], CHAT, extract=_parrot, look=_contents), [],
     "Where nothing was said there is nothing to say about it: give back an empty list."),
    ("nothing is learned twice", call([], _said("A", "B"), CHAT, before=[(_said("A", "B"), CHAT)],
     extract=_parrot, look=_only_says_why), [("NOOP", None)],
     "The same conversation came again. One `nothing_learned` says so, and that is all."),
    ("what went on is learned from there", call([], _said("A", "B"), CHAT, before=[(_said("A"), CHAT)],
     extract=_parrot, look=_contents), ["CREATE B"],
     "The conversation went on, and you learned its beginning again: extract from what is `unheard`."),
    ("and kept in full", call([], _said("A", "B", "A"), CHAT, before=[(_said("A", "B"), CHAT)],
     extract=_parrot, look=_kept), ["A", "B", "A"],
     "What was said again is missing from the conversation: hand all `messages` to the store."),
    ("a revoked source stays silent", call([], _said("A"), CHAT, revoked=["s1"], extract=_parrot,
     fails=(ValueError,), look=_only_says_why), [("NOOP", None)],
     "Ada revoked s1. Look among `store.revoked(user_id, app_name)` first, and give back one "
     "`nothing_learned`."),
    ("nobody extracts from it", call([], _said("A"), CHAT, revoked=["s1"], extract=_breaks,
     fails=(PowerCut,), look=_only_says_why), [("NOOP", None)],
     "What Ada revoked went to the extractor, perhaps to a model far away: look before you extract."),
    ("a revocation counts in its own app", call([], _said("A"), CHAT, revoked=["s1"], extract=_parrot,
     app_name="bank", look=_at_the_bank), ([], ["A"]),
     "s1 was revoked elsewhere, not at the bank: hand `app_name` on wherever you ask the store."),
    ("and so does what was heard", call([], _said("A"), CHAT, extract=_parrot, app_name="bank",
     before=[(_said("A"), CHAT)], look=_only_says_why), [("NOOP", None)],
     "The bank has heard this before: hand `app_name` on to `unheard` and `put_conversation`."),
    ("somebody else may decide", call([VEGETARIAN], _said("fish"), FORM, extract=_parrot, decide=_waits,
     look=_held), ["vegetarian"], "Another `decide` was passed: hand it on to `consolidate`."),
    ("half a conversation is never kept", call([], _said("A", "B"), CHAT, extract=_parrot, decide=_fails_at_b,
     fails=(PowerCut,), look=_all_kept), ([], []),
     "It failed at the second fact, and the first is learned or the conversation kept: tried again, the rest "
     "will never be learned. Put all writes into one `with store.transaction():`."),
    ("nobody waits for the extractor", call([], _said("A"), CHAT, extract=_unhurried, look=_contents),
     ["CREATE Nobody waits."],
     "A model took its time while the store was locked for all others: extract **before** the transaction."),
    ("what is no candidate is refused", call([], _said("fish"), CHAT, extract=_shouts, look=_held),
     refused("candidates", TypeError),
     "The extractor gave text, and nobody looked: `check_list` its candidates before anything is written."),
    ("an id is no source", call([], _said("fish"), "s1", extract=_parrot, look=_held),
     refused("source", TypeError), "An id is no source: leave the line with `check_kind` where it stands."),
]
# fmt: on


@exercise("04-new-memory")
def _(case: Cases, new_memory: Function) -> None:
    case.table(_made(new_memory), MADE, lambda field, source=CHAT: (
        f"{words(DECIDED)}; {words(NUTS)}; {words(source)}; look at: {field}"))  # fmt: skip


@exercise("04-apply")
def _(case: Cases, apply: Function) -> None:
    case.table(in_a_store(apply), APPLIED, told)


@exercise("04-consolidate")
def _(case: Cases, consolidate: Function) -> None:
    case.table(in_a_store(consolidate), CONSOLIDATED, told)


@exercise("04-learn")
def _(case: Cases, learn: Function) -> None:
    case.table(in_a_store(learn), LEARNED, told)
