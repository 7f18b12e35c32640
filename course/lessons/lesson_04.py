"""Lesson 04, consolidation: the checks of its exercises, and the picture of its cosines.

Memories in the checks carry ids that say what they are, so that a failed check can name them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from course.check import Cases, Function, Misconception, Mistake, Shown, exercise
from course.pictures.views import BLUE, ORANGE, Picture, Table, as_picture, new_figure
from memlab.embedding import Embedder, hash_embed
from memlab.records import (
    Candidate,
    MemoryRecord,
    Operation,
    Source,
    SourceType,
    starting_confidence,
)
from memlab.store import MemoryStore

# --- What the checks are made of --------------------------------------------------------------------

LEARNED_AT = 1_000_000.0


def _source(kind: SourceType, source_id: str = "s1", **fields: Any) -> Source:
    return Source(kind, source_id, at=LEARNED_AT, **fields)


IMPLICIT, EXPLICIT, TOOL = (
    _source("user_implicit"),
    _source("user_explicit", "f1"),
    _source("tool_output", "t1"),
)
FORM = _source("user_explicit", "f9")
CALL = _source("tool_output", "t9")
CHAT = _source("user_implicit", "s9")


def _memory(name: str, content: str, topic: str = "diet", *sources: Source, **fields: Any) -> MemoryRecord:
    """A memory of Ada's whose id is mem_`name`; unless given, its one source is s1, user_implicit."""
    usual: dict[str, Any] = {
        "user_id": "ada",
        "created_at": LEARNED_AT,
        "updated_at": LEARNED_AT,
        "confidence": 0.65,
        "sources": [replace(source) for source in sources or (IMPLICIT,)],
    }
    return MemoryRecord(content, topic=topic, memory_id=f"mem_{name}", **usual | fields)


def _vegetarian(*sources: Source, **fields: Any) -> MemoryRecord:
    return _memory("vegetarian", "The user follows a vegetarian diet.", "diet", *sources, **fields)


def _fish(*sources: Source, **fields: Any) -> MemoryRecord:
    return _memory("fish", "The user eats fish again.", "diet", *sources, **fields)


def _meat(**fields: Any) -> MemoryRecord:
    return _memory("meat", "The user eats meat again.", **fields)


def _aisle(**fields: Any) -> MemoryRecord:
    topic = fields.pop("topic", "travel")
    return _memory("aisle", "The user prefers aisle seating on flights.", topic, **fields)


def _bos(record: MemoryRecord) -> MemoryRecord:
    return replace(record, user_id="bo", memory_id="mem_of_bo")


def _shared(record: MemoryRecord) -> MemoryRecord:
    source = _source("bootstrapped", "crm")
    return replace(record, scope="app", user_id="ops", memory_id="mem_of_the_app", sources=[source])


def _dead(record: MemoryRecord) -> MemoryRecord:
    return replace(record, invalidated_at=LEARNED_AT, memory_id="mem_tombstone")


FISH = Candidate("The user eats fish again.", "diet", 0.9, "I've started eating fish again.")
WINDOW = Candidate("The user prefers window seating on flights.", "travel", 0.85, "the window seat, please")


def _names(got: object) -> list[str]:
    """Memories as the names in their ids; raises Misconception for what is no list of memories."""
    if not isinstance(got, list | tuple) or not all(isinstance(item, MemoryRecord) for item in got):
        raise Misconception("Give back a list of memories, which may be empty.", got=got)
    return [item.memory_id.removeprefix("mem_") for item in got]


def _finds(
    case: Cases,
    function: Function,
    name: str,
    stored: Sequence[MemoryRecord],
    candidate: Candidate,
    wanted: Sequence[str],
    otherwise: str,
    mistakes: Sequence[Mistake] = (),
    embedder: Embedder = hash_embed,
    **kwargs: Any,
) -> None:
    """`function` must find the memories `wanted`, by name and in order, in a store that holds `stored`."""

    def found() -> list[str]:
        with MemoryStore(embedder=embedder) as store:
            for record in stored:
                store.put(copy.deepcopy(record))
            return _names(function(store, candidate, user_id="ada", **kwargs))

    given = f"stored [{', '.join(_names(stored))}], candidate {candidate.content!r}/{candidate.topic}"
    given += "".join(f", {key}={value}" for key, value in kwargs.items())
    case(name, found, expect=list(wanted), otherwise=otherwise, mistakes=mistakes, given=given)


def _half_way(text: str) -> list[float]:
    """Vectors by which WINDOW has with every other text a cosine of 0.5, to the last bit."""
    return [1.0, 0.0, 0.0, 0.0] if text == WINDOW.content else [0.5, 0.5, 0.5, 0.5]


def _asks_the_named_app(case: Cases, function: Function) -> None:
    _finds(
        case,
        function,
        "every app is a store of its own",
        [_vegetarian(), _meat()],
        FISH,
        [],
        "What Ada told another app came back at the bank: hand `app_name` on wherever you ask the store.",
        app_name="bank",
    )


def _refuses_bad_thresholds(case: Cases, function: Function) -> None:
    with MemoryStore() as store:
        case.refuses(
            "a threshold outside 0..1 is refused",
            function,
            store,
            FISH,
            user_id="ada",
            threshold=55,
            mentions="threshold",
            otherwise="A threshold of 55 is a slip for 0.55: call `check_fraction` before you search.",
            given="threshold=55",
        )


# --- The checks -------------------------------------------------------------------------------------


@exercise("04-similar")
def _(case: Cases, similar: Function) -> None:
    both = [_vegetarian(), _aisle()]
    trains = _memory("trains", "The user prefers aisle seating on trains.", "travel")
    _finds(
        case,
        similar,
        "a neighbour is found",
        both,
        WINDOW,
        ["aisle"],
        "Keep the memories whose cosine with `candidate.content` is at least `threshold`.",
        [
            ([], "The aisle seat has a cosine of 0.80 with the candidate: it belongs in."),
            (["vegetarian"], "You kept what lies **below** the threshold."),
            (lambda got: len(got) == 2, "You gave back every memory: compare each cosine with `threshold`."),
        ],
    )
    _finds(
        case,
        similar,
        "nearest first",
        [trains, _aisle()],
        WINDOW,
        ["aisle", "trains"],
        "Sort by cosine, the nearest memory first.",
        [
            (
                ["trains", "aisle"],
                "That is the order in which they were stored, or the farthest first: "
                "sort by cosine, descending.",
            )
        ],
    )
    _finds(
        case,
        similar,
        "the threshold is obeyed",
        [trains, _aisle()],
        WINDOW,
        ["aisle"],
        "With threshold=0.7 only the aisle seat on flights (0.80) is near enough, not the trains (0.61).",
        [(["aisle", "trains"], "You compare with a fixed number: use the `threshold` that was passed.")],
        threshold=0.7,
    )
    _finds(
        case,
        similar,
        "the threshold itself is near enough",
        [_aisle()],
        WINDOW,
        ["aisle"],
        "A cosine of exactly `threshold` is at least `threshold`: `>` leaves it out, `>=` does not.",
        embedder=_half_way,
        threshold=0.5,
    )
    _finds(
        case,
        similar,
        "other owners are never seen",
        [_bos(_aisle())],
        WINDOW,
        [],
        "That memory is Bo's: search with `user_id`, so that the store filters before you compare.",
    )
    _finds(
        case,
        similar,
        "tombstones stay down",
        [_dead(_aisle())],
        WINDOW,
        [],
        "A tombstone came back: what was replaced long ago affects nothing any more.",
    )
    _finds(
        case,
        similar,
        "what the app shares is left alone",
        [_shared(_aisle())],
        WINDOW,
        [],
        "That memory is the app's, read by all users: nothing that one of them says may touch it. "
        'Pass `scopes=("user",)`.',
    )
    _finds(
        case,
        similar,
        "a text that says nothing is near to nothing",
        [_vegetarian()],
        Candidate("the user", "diet", 0.9, ""),
        [],
        "The candidate has the zero vector, and 0 >= 0 let everything in: ask for a cosine above 0 too.",
        threshold=0.0,
    )
    _asks_the_named_app(case, similar)
    _refuses_bad_thresholds(case, similar)


@exercise("04-topic-sweep")
def _(case: Cases, affected: Function) -> None:
    son = _memory("son", "The user's son follows a vegan diet.", subject="son")
    ours = [_vegetarian(), _aisle()]
    _finds(
        case,
        affected,
        "the contradiction is found",
        ours,
        FISH,
        ["vegetarian"],
        "Unite the neighbours with what is stored on the candidate's topic.",
        [
            ([], "Similarity alone again: no neighbour, so no contradiction. Sweep the topic as well."),
            (["vegetarian", "aisle"], "You swept every topic: only `candidate.topic` is affected."),
        ],
    )
    _finds(
        case,
        affected,
        "neighbours first, no memory twice",
        [_vegetarian(), _meat()],
        FISH,
        ["meat", "vegetarian"],
        "First the neighbours, nearest first, then the rest of the topic.",
        [
            (
                lambda got: got.count("meat") > 1,
                "The neighbour is on the topic too, so you listed it twice: remember the ids you have.",
            ),
            (["vegetarian", "meat"], "You put the sweep before the neighbours: the nearest comes first."),
            (["vegetarian"], "The neighbour got lost: a union keeps both sides."),
        ],
    )
    _finds(
        case,
        affected,
        "a neighbour on another topic stays",
        [_aisle(topic="seating")],
        WINDOW,
        ["aisle"],
        "You kept only the candidate's topic: that is an intersection, and a union is wanted. Extractors "
        "name one topic in two ways.",
    )
    _finds(
        case,
        affected,
        "the threshold is passed on",
        [_aisle(topic="seating")],
        WINDOW,
        [],
        "With threshold=0.95 the aisle is no neighbour: hand your `threshold` on to `similar_memories`.",
        threshold=0.95,
    )
    _finds(
        case,
        affected,
        "other subjects are left alone",
        [son],
        FISH,
        [],
        "It is the **son** who is vegan, and the user who eats fish: compare `subject` as well.",
    )
    _finds(
        case,
        affected,
        "other owners are never seen",
        [_bos(_vegetarian())],
        FISH,
        [],
        "You swept the diets of the whole app: Bo's came back for Ada. Scan with `user_id`.",
    )
    _finds(
        case,
        affected,
        "tombstones stay down",
        [_dead(_vegetarian())],
        FISH,
        [],
        "The sweep woke a tombstone: scan the active memories only.",
    )
    _finds(
        case,
        affected,
        "what the app shares is left alone",
        [_shared(_vegetarian())],
        FISH,
        [],
        'The sweep reached an app-scope memory: pass `scopes=("user",)`, as for the neighbours.',
    )
    _asks_the_named_app(case, affected)
    _refuses_bad_thresholds(case, affected)


@exercise("04-exclusive")
def _(case: Cases, contradicted: Function) -> None:
    def judge(
        name: str,
        candidate: Candidate,
        stored: Sequence[MemoryRecord],
        wanted: list[str],
        otherwise: str,
        mistakes: Sequence[Mistake] = (),
    ) -> None:
        given = f"{candidate.content!r}/{candidate.topic} against [{', '.join(r.content for r in stored)}]"
        case(
            name,
            lambda: _names(contradicted(candidate, list(stored))),
            expect=wanted,
            given=given,
            otherwise=otherwise,
            mistakes=mistakes,
        )

    october = _memory("october_15", "The deadline is 15 October.", "deadline")
    export = _memory("export", "The user reported a failing export/upload.", "issue")
    hiking = _memory("hiking", "The user likes hiking.", "taste:hiking")
    chinese = _memory("chinese", "The user likes Chinese food.", "taste:chinese food")
    judge(
        "another value contradicts",
        FISH,
        [_vegetarian()],
        ["vegetarian"],
        "One person has one diet: another value on an exclusive topic is a contradiction.",
    )
    judge(
        "the same fact does not",
        FISH,
        [_fish()],
        [],
        "A memory that says the same confirms the candidate: leave out what `same_fact` recognises.",
    )
    judge(
        "nor does it in other capitals",
        Candidate("the user  eats FISH again", "diet", 0.9, ""),
        [_fish()],
        [],
        "You compare the texts with `==`: case, spacing and a full stop make no new fact. `same_fact` knows.",
    )
    judge(
        "one digit makes another fact",
        Candidate("The deadline is 16 October.", "deadline", 0.9, ""),
        [october],
        ["october_15"],
        "15 and 16 October are two dates, however alike the sentences are.",
    )
    judge(
        "an open topic holds many",
        Candidate("The user cannot log in.", "issue", 0.7, ""),
        [export],
        [],
        "A user can have two problems at once: only exclusive topics contradict.",
    )
    judge(
        "each taste is a topic of its own",
        Candidate("The user dislikes Chinese food.", "taste:chinese food", 0.9, ""),
        [chinese, hiking],
        ["chinese"],
        "Like and dislike of one thing contradict each other.",
        [
            ([], "`topic in EXCLUSIVE_TOPICS` misses the families such as `taste:*`: ask `is_exclusive`."),
            (["chinese", "hiking"], "Hiking is no Chinese food: compare the whole topic."),
        ],
    )
    judge(
        "other topics are left alone",
        FISH,
        [_aisle()],
        [],
        "A seat contradicts no diet: both must be on the same topic.",
    )
    judge(
        "other subjects are left alone",
        FISH,
        [_vegetarian(subject="wife")],
        [],
        "His wife's diet says nothing about the user's: compare `subject` too.",
    )
    judge(
        "every rival is named",
        FISH,
        [_vegetarian(), _meat()],
        ["vegetarian", "meat"],
        "Two stored values contradict this candidate: give back both, in their order.",
    )


@exercise("04-trust")
def _(case: Cases, trust_of: Function) -> None:
    def trusts(
        name: str, sources: list[Source], wanted: float, otherwise: str, mistakes: Sequence[Mistake] = ()
    ) -> None:
        said = ", ".join(f"{s.source_type}{' (inherited)' if s.inherited else ''}" for s in sources)
        record = replace(_vegetarian(), sources=sources)
        case(
            name,
            trust_of,
            record,
            expect=wanted,
            given=f"a memory with the sources [{said}]",
            otherwise=otherwise,
            mistakes=mistakes,
        )

    from_tool = replace(TOOL, inherited=True)
    trusts(
        "one source gives its trust",
        [IMPLICIT],
        0.65,
        "Look the kind of source up in TRUST.",
        [("user_implicit", "That is the kind of source; TRUST knows how far it is believed.")],
    )
    trusts(
        "the strongest of its own counts",
        [EXPLICIT, TOOL],
        0.90,
        "The user said it herself: 0.90.",
        [
            (
                0.30,
                "You took the weakest (or the last) source: one tool result that agrees would strip the "
                "memory of its protection.",
            ),
            (0.60, "You took the average: agreement of a weak source must not weaken a strong one."),
        ],
    )
    trusts("order does not matter", [TOOL, EXPLICIT], 0.90, "You look at the first source only.")
    trusts(
        "inherited sources do not weaken",
        [from_tool, IMPLICIT],
        0.65,
        "The tool's word came over from what was replaced. It does not speak for this memory.",
    )
    trusts(
        "nor do they strengthen",
        [replace(EXPLICIT, inherited=True), TOOL],
        0.30,
        "The user's word was for the memory that was **replaced**. This one rests on a tool alone: leave "
        "inherited sources out.",
    )
    try:
        trust_of(replace(_vegetarian(), sources=[]))
    except (ValueError, IndexError):
        raise Misconception(
            "A memory without a source of its own crashed it: `max(…, default=0.0)`.",
            given="a memory without sources",
            expected=0.0,
        ) from None
    trusts("no source, no trust", [], 0.0, "Nobody vouches for this memory: 0.0.")


@exercise("04-decide")
def _(case: Cases, decide: Function) -> None:
    def decides(
        name: str,
        candidate: Candidate,
        affected: Sequence[MemoryRecord],
        source: Source,
        wanted: str,
        otherwise: str,
        mistakes: Sequence[Mistake] = (),
    ) -> None:
        stored = ", ".join(f"{_names([r])[0]} from {_kinds(r)}" for r in affected)
        case(
            name,
            lambda: _decision(decide(candidate, list(affected), source), candidate),
            expect=wanted,
            given=f"{candidate.content!r} from {source.source_type} against [{stored}]",
            otherwise=otherwise,
            mistakes=mistakes,
        )

    vegan = _memory("vegan", "The user follows a vegan diet.", "diet", EXPLICIT)
    export = _memory("export", "The user reported a failing export/upload.", "issue")
    steak = Candidate("The user ate steak once.", "diet", 0.3, "I had steak for dinner")
    decides("a new fact is created", FISH, [], CHAT, "CREATE", "Nothing is affected: CREATE it.")
    decides(
        "a known fact is not stored again",
        FISH,
        [_fish()],
        CHAT,
        "NOOP fish",
        "The memory says the same: NOOP, with its id, so that it can be corroborated.",
        [
            ("CREATE", "Now the same fact is stored twice: look for `same_fact` first."),
            ("UPDATE fish", "A memory is no rival of itself: a fact that is known needs no UPDATE."),
            ("NOOP", "Name the memory that says the same: without an id nothing can be corroborated."),
        ],
    )
    decides(
        "nor in small letters",
        Candidate("the user eats fish again", "diet", 0.9, ""),
        [_fish()],
        CHAT,
        "NOOP fish",
        "Without its capital and its full stop it is still the same fact: find `same` with `same_fact`, not "
        "with `==`.",
    )
    decides(
        "a contradiction is resolved",
        FISH,
        [_vegetarian()],
        FORM,
        "UPDATE vegetarian",
        "Both are diets of one person: UPDATE the memory that the candidate contradicts.",
        [
            ("CREATE", "Both diets would be active, and the model picks one at random every turn."),
            ("NOOP vegetarian", "The profile form is trusted more than a remark in a chat: it wins."),
        ],
    )
    decides(
        "between equals the newer wins",
        FISH,
        [_vegetarian()],
        CHAT,
        "UPDATE vegetarian",
        "Equal trust is enough, people change their minds: refuse only what is **weaker**.",
    )
    decides(
        "a weaker source never wins",
        FISH,
        [_vegetarian()],
        CALL,
        "NOOP vegetarian",
        "A tool result must not displace what the user said: compare `trust_of` with TRUST.",
        [
            ("UPDATE vegetarian", "A tool result displaced what the user said: nobody compared the trust."),
            ("CREATE", "It lost, so it must not be stored beside the winner: NOOP."),
        ],
    )
    decides(
        "an inherited tool is no weak spot",
        FISH,
        [_vegetarian(replace(TOOL, inherited=True), EXPLICIT)],
        CALL,
        "NOOP vegetarian",
        "The laundering is back: `trust_of` leaves inherited sources out.",
    )
    decides(
        "all memories are looked at first",
        FISH,
        [_vegetarian(), _fish()],
        FORM,
        "NOOP fish",
        "You decided at the first memory in the list. A later one says the very same: look at all first.",
    )
    decides(
        "the strongest rival decides",
        FISH,
        [_vegetarian(), vegan],
        CHAT,
        "NOOP vegan",
        "One of the two rivals rests on a stronger source. Losing against one is enough: NOOP.",
    )
    decides(
        "an open topic grows",
        Candidate("The user cannot log in.", "issue", 0.7, ""),
        [export],
        CHAT,
        "CREATE",
        "Two problems do not exclude each other: CREATE the second.",
    )
    decides(
        "other subjects are left alone",
        FISH,
        [_vegetarian(subject="wife")],
        FORM,
        "CREATE",
        "The wife's diet was replaced by the user's: let `contradicted` find the rivals.",
    )
    decides(
        "one meal is no diet",
        steak,
        [_vegetarian()],
        FORM,
        "NOOP vegetarian",
        "A confidence below WEAK changes nothing on an exclusive topic: NOOP on what it disputes.",
        [("UPDATE vegetarian", "One steak made her a meat eater: below WEAK nothing is changed.")],
    )
    decides(
        "nor the beginning of one",
        steak,
        [],
        FORM,
        "NOOP",
        "Below WEAK nothing is learned on an exclusive topic, rival or not: NOOP, with no target.",
        [("CREATE", "One steak became her diet, only because none was known: NOOP, with no target.")],
    )
    decides(
        "WEAK itself is not weak",
        replace(steak, confidence=0.4),
        [_vegetarian()],
        FORM,
        "UPDATE vegetarian",
        "0.4 is not below WEAK: `<=` takes the edge in, `<` does not.",
    )
    decides(
        "a known fact may be whispered",
        replace(FISH, confidence=0.3),
        [_fish()],
        CHAT,
        "NOOP fish",
        "It is weak, but it says the same: it is known before it is weak.",
    )
    decides(
        "an open topic takes weak facts",
        Candidate("The user cannot log in.", "issue", 0.3, ""),
        [],
        CHAT,
        "CREATE",
        "WEAK guards exclusive topics only: nothing can be displaced here.",
    )


def _kinds(record: MemoryRecord) -> str:
    return " + ".join(f"{s.source_type}{' (inherited)' if s.inherited else ''}" for s in record.sources)


def _decision(got: object, candidate: Candidate) -> str:
    """An operation as "UPDATE vegetarian"; raises Misconception for one that is not fit to be applied."""
    if not isinstance(got, Operation):
        raise Misconception("Give back an `Operation` on every path.", got=got)
    if got.content != candidate.content:
        raise Misconception(
            "The operation must carry the candidate's content.", expected=candidate.content, got=got.content
        )
    return f"{got.action} {got.target_id.removeprefix('mem_')}" if got.target_id else got.action


class PowerCut(Exception):
    """What a `FailingStore` raises in place of its power going out."""


class FailingStore(MemoryStore):
    """A store whose power goes out just before write number `writes` (1 for the first)."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self.left = writes

    def put(self, record: MemoryRecord) -> None:
        self.left -= 1
        if self.left == 0:
            raise PowerCut
        super().put(record)


def after_a_power_cut(
    replace_old: Callable[[MemoryStore, MemoryRecord, MemoryRecord], None],
    old: MemoryRecord,
    new: MemoryRecord,
    write: int,
) -> list[MemoryRecord]:
    """What holds when the power goes out before write number `write` of `replace_old(store, old, new)`."""
    with FailingStore(write + 1) as store:
        store.put(copy.deepcopy(old))
        with suppress(PowerCut):  # the store is then looked at as the next process finds it
            replace_old(store, copy.deepcopy(old), copy.deepcopy(new))
        return store.scan(old.user_id, old.app_name)


@exercise("04-supersede")
def _(case: Cases, supersede: Function) -> None:
    reason = "contradicts mem_vegetarian"

    def run(displaced: list[MemoryRecord], new: MemoryRecord) -> dict[str, MemoryRecord]:
        with MemoryStore() as store:
            for record in displaced:
                store.put(copy.deepcopy(record))
            supersede(store, copy.deepcopy(displaced), copy.deepcopy(new), reason)
            return {record.memory_id: record for record in store.owned("ada")}

    def told(records: Mapping[str, MemoryRecord], name: str) -> Shown:
        record = records.get(f"mem_{name}")
        return Shown(f"{name}: {_state(record)}" if record else f"no {name} in the store")

    given = "supersede(store, [vegetarian from s1], fish from f9, reason)"
    after = run([_vegetarian()], _fish(FORM))
    old, new = after.get("mem_vegetarian"), after.get("mem_fish")
    case.holds(
        "the new memory is stored",
        new is not None and new.active(),
        "The new memory is not in the store: `put` it as well.",
        given=given,
        got=told(after, "fish"),
    )
    case.holds(
        "the old one is kept",
        old is not None and old.content == _vegetarian().content,
        "The old memory is gone or rewritten: it must keep its content, as a tombstone.",
        given=given,
        got=told(after, "vegetarian"),
    )
    assert old is not None
    assert new is not None
    case.holds(
        "it is a tombstone",
        old.invalidated_at is not None,
        "The old memory still holds: set `invalidated_at`.",
        given=given,
        got=told(after, "vegetarian"),
    )
    case.holds(
        "it names what replaced it",
        old.superseded_by == "mem_fish",
        "`superseded_by` must be the new memory's id: otherwise nobody finds out what replaced it.",
        given=given,
        expected="mem_fish",
        got=old.superseded_by,
    )
    case.holds(
        "its own sources stay its own",
        not any(source.inherited for source in old.sources),
        "You marked the **old** memory's sources as inherited: both lists share them. Make "
        "copies: `dataclasses.replace(source, inherited=True)`.",
        given=given,
        got=old.sources,
    )
    ids = [source.source_id for source in new.sources]
    case.holds(
        "lineage is kept",
        "s1" in ids,
        "The new memory knows nothing of s1: revoke that conversation, and it would look innocent.",
        given=given,
        expected=["s1", "f9"],
        got=ids,
    )
    case.holds(
        "its own source is kept",
        "f9" in ids,
        "The new memory lost its own source.",
        given=given,
        expected=["s1", "f9"],
        got=ids,
    )
    flags = {source.source_id: source.inherited for source in new.sources}
    case.holds(
        "what is inherited says so",
        flags == {"s1": True, "f9": False},
        "Only what came over from the old memory is `inherited=True`; else trust can be laundered.",
        given=given,
        expected={"s1": True, "f9": False},
        got=flags,
    )
    case.holds(
        "what came first stands first",
        ids == ["s1", "f9"],
        "The inherited sources stand in front of those that `new` has of its own.",
        given=given,
        expected=["s1", "f9"],
        got=ids,
    )
    noted = [any(reason in line for line in record.history) for record in (old, new)]
    case.holds(
        "both sides know why",
        all(noted),
        "The reason must stand in the history of **both**: it answers “why do you believe this?”",
        given=given,
        got=Shown(f"old: {old.history}, new: {new.history}"),
    )
    _keeps_its_own_word(case, run)
    _ends_in_time(case, run)
    _replaces_several(case, run)
    _survives_power_cuts(case, supersede, reason)


def _keeps_its_own_word(case: Cases, run: Callable[..., dict[str, MemoryRecord]]) -> None:
    after = run([_vegetarian()], _fish(_source("user_implicit", "s1", excerpt="fish!")))
    flags = [(source.source_id, source.inherited) for source in after["mem_fish"].sources]
    case.holds(
        "a source stands there once",
        flags == [("s1", False)],
        "s1 said both. The new memory rests on s1 itself, so it does not inherit it too.",
        given="vegetarian and fish, both from s1",
        expected=[("s1", False)],
        got=flags,
    )


def _ends_in_time(case: Cases, run: Callable[..., dict[str, MemoryRecord]]) -> None:
    for name, made, expected, sentence in (
        (
            "a belief ends when the next one begins",
            100.0,
            200.0,
            "The old memory ends when the new one began, at `new.created_at`, perhaps long ago. By the clock "
            "both would have held until today.",
        ),
        (
            "but never before it began",
            300.0,
            300.0,
            "An old conversation, imported late, ended a memory before it was made: take the later of "
            "`old.created_at` and `new.created_at`.",
        ),
    ):
        after = run([_vegetarian(created_at=made)], _fish(FORM, created_at=200.0))
        got = after["mem_vegetarian"].invalidated_at
        given = f"vegetarian created at {made:g}, replaced by a fish created at 200"
        case.holds(name, got == expected, sentence, given=given, expected=expected, got=got)


def _replaces_several(case: Cases, run: Callable[..., dict[str, MemoryRecord]]) -> None:
    after = run([_vegetarian(), _meat(sources=[replace(CHAT)])], _fish(FORM))
    down = [name for name in ("vegetarian", "meat") if after[f"mem_{name}"].superseded_by == "mem_fish"]
    case.holds(
        "all that is displaced is replaced",
        down == ["vegetarian", "meat"],
        "Two memories were displaced, and not both became tombstones.",
        given="displaced [vegetarian, meat]",
        expected=["vegetarian", "meat"],
        got=down,
    )
    _shares_a_source(case, run)
    ids = {source.source_id for source in after["mem_fish"].sources}
    case.holds(
        "all lineage is kept",
        ids == {"s1", "s9", "f9"},
        "The new memory must inherit from **each** of those it replaced.",
        given="displaced [vegetarian from s1, meat from s9]",
        expected=["f9", "s1", "s9"],
        got=sorted(ids),
    )
    alone = run([], _fish(FORM))
    case.holds(
        "with nothing to displace it is stored",
        list(alone) == ["mem_fish"],
        "When `displaced` is empty, the new memory is simply stored.",
        given="displaced []",
        expected=["mem_fish"],
        got=list(alone),
    )


def _shares_a_source(case: Cases, run: Callable[..., dict[str, MemoryRecord]]) -> None:
    after = run([_vegetarian(), _meat()], _fish(FORM))
    flags = [(source.source_id, source.inherited) for source in after["mem_fish"].sources]
    case.holds(
        "what two of them share is inherited once",
        flags == [("s1", True), ("f9", False)],
        "Both displaced memories rest on s1, and it came over twice: ask anew **for each** of them what the "
        "new memory rests on by now.",
        given="displaced [vegetarian, meat], both from s1; fish from f9",
        expected=[("s1", True), ("f9", False)],
        got=flags,
    )


def _survives_power_cuts(case: Cases, supersede: Function, reason: str) -> None:
    for write in (1, 2):
        held = after_a_power_cut(
            lambda store, old, new: supersede(store, [old], new, reason), _vegetarian(), _fish(FORM), write
        )
        left = "half of the work stayed" if held else "the fact is lost: neither diet holds"
        case.holds(
            f"power cut before write {write}",
            _names(held) == ["vegetarian"],
            f"The power went out between two writes, and {left}. Put all writes into one "
            "`with store.transaction():`.",
            given=f"power cut before write {write}",
            expected=["vegetarian"],
            got=_names(held),
        )


def _state(record: MemoryRecord) -> str:
    ended = "active" if record.invalidated_at is None else "tombstone"
    return f"{ended}, {record.content!r}, superseded_by {record.superseded_by}"


@exercise("04-corroborate")
def _(case: Cases, take_note: Function) -> None:
    agrees = Operation("NOOP", "mem_fish", "The user eats fish again.", "identical to an existing memory")
    lost = Operation("NOOP", "mem_fish", "The user follows a vegan diet.", "lower-trust source")

    def note(memory: MemoryRecord, operation: Operation, source: Source) -> MemoryRecord:
        take_note(memory, operation, source)
        return memory

    given = "a fish memory from s1, confidence 0.65; s9 says the same"
    heard = note(_fish(), agrees, CHAT)
    case.holds(
        "an independent source raises confidence",
        _near(heard.confidence, 0.70),
        "A second witness says the same: add CORROBORATION (0.05).",
        given=given,
        expected=0.70,
        got=heard.confidence,
    )
    ids = [source.source_id for source in heard.sources]
    case.holds(
        "it is kept as a source",
        ids == ["s1", "s9"],
        "Append the new source: else the same witness can be counted again tomorrow.",
        given=given,
        expected=["s1", "s9"],
        got=ids,
    )
    same = note(_fish(), agrees, replace(CHAT, source_id="s1"))
    untouched = (len(same.sources), same.history) == (1, []) and _near(same.confidence, 0.65)
    case.holds(
        "retelling changes nothing",
        untouched,
        "s1 repeated itself, and it counted. If it does, saying a thing often makes it true.",
        given="a fish memory from s1; s1 says the same again",
        expected=Shown("confidence 0.65, sources [s1]"),
        got=_standing(same),
    )
    beaten = note(_fish(), lost, CALL)
    case.holds(
        "a contradiction that lost raises nothing",
        _near(beaten.confidence, 0.65),
        "The vegan claim **lost** against this memory, and made it surer. Compare the contents with "
        "`same_fact` before you call it corroboration.",
        given="a fish memory; t9 claims vegan, and lost",
        expected=0.65,
        got=beaten.confidence,
    )
    case.holds(
        "nor is it a source",
        len(beaten.sources) == 1,
        "The source that contradicted must not stand among those that support.",
        given="a fish memory; t9 claims vegan, and lost",
        expected=["s1"],
        got=[source.source_id for source in beaten.sources],
    )
    case.holds(
        "but it leaves a line",
        len(beaten.history) == 1 and "lower-trust source" in beaten.history[0],
        "The attempt left no trace: one line of history, with the operation's reason.",
        given="a fish memory; t9 claims vegan, and lost",
        got=beaten.history,
    )
    case.holds(
        "and so does the agreement",
        len(heard.history) == 1,
        "Confidence rose and the history does not say why: `note` one line about the new witness.",
        given=given,
        expected=Shown("one line of history"),
        got=heard.history,
    )
    full = note(_fish(confidence=0.98), agrees, CHAT)
    case.holds(
        "nothing is more than certain",
        _near(full.confidence, 1.0),
        "0.98 + 0.05 is no confidence: stop at 1.0.",
        given="a fish memory of confidence 0.98",
        expected=1.0,
        got=full.confidence,
    )
    later = note(_fish(), agrees, replace(CHAT, at=LEARNED_AT + 60.0))
    case.holds(
        "it counts as fresh again",
        later.updated_at == LEARNED_AT + 60.0,
        "It was confirmed at the source's time: move `updated_at` there, or it decays as if unheard.",
        given="confirmed 60 s after it was learned",
        expected=LEARNED_AT + 60.0,
        got=later.updated_at,
    )
    older = note(_fish(), agrees, replace(CHAT, at=LEARNED_AT - 60.0))
    case.holds(
        "but never staler",
        older.updated_at == LEARNED_AT,
        "An older conversation, imported late, moved `updated_at` back: take the later of the two.",
        given="confirmed by a conversation from 60 s before",
        expected=LEARNED_AT,
        got=older.updated_at,
    )
    lineage = note(_fish(), agrees, replace(CHAT, inherited=True))
    case.holds(
        "a witness counts as the memory's own",
        [source.source_id for source in lineage.own_sources()] == ["s1", "s9"],
        "The source came marked as inherited by another memory, and kept the mark. Here s9 says it itself: "
        "`replace(source, inherited=False)`.",
        given="a fish memory from s1; s9, which another memory inherited, says the same",
        expected=["s1", "s9"],
        got=[source.source_id for source in lineage.own_sources()],
    )


def _near(a: float, b: float) -> bool:
    return abs(a - b) < 1e-6


def _standing(record: MemoryRecord) -> Shown:
    ids = ", ".join(source.source_id for source in record.sources)
    return Shown(f"confidence {record.confidence:g}, sources [{ids}], history {record.history}")


@dataclass(frozen=True)
class Proposal:
    """What a model answered, field by field as in `Decision`."""

    action: str
    target_id: str | None
    content: str = FISH.content
    reason: str = "because"


@exercise("04-fence")
def _(case: Cases, objection: Function) -> None:
    def judges(
        name: str,
        proposal: Proposal,
        wanted: str,
        otherwise: str,
        candidate: Candidate = FISH,
        affected: Sequence[MemoryRecord] = (_vegetarian(), _aisle()),
        source: Source = FORM,
    ) -> None:
        content = f" {proposal.content!r}" if proposal.content != candidate.content else ""
        given = (
            f"the model says {proposal.action} {proposal.target_id}{content}; it was shown "
            f"[{', '.join(r.memory_id for r in affected)}]; {candidate.content!r} from {source.source_type}"
        )
        case(
            name,
            lambda: _verdict(objection(proposal, candidate, list(affected), source)),
            expect=wanted,
            otherwise=otherwise,
            given=given,
        )

    problem = Candidate("The export fails on Windows only.", "issue", 0.7, "")
    export = _memory("export", "The user reported a failing export/upload.", "issue")
    hiking = Candidate("The user likes hiking.", "taste:hiking", 0.8, "")
    update = Proposal("UPDATE", "mem_vegetarian")
    judges("a sound proposal passes", update, "allowed", "This UPDATE is right: give back `None`.")
    judges(
        "an invented id is refused",
        Proposal("UPDATE", "mem_000000000012"),
        "refused",
        "The model was never shown this id. Look it up among `affected`, and nowhere else.",
    )
    judges(
        "in a NOOP as well",
        Proposal("NOOP", "mem_000000000012"),
        "refused",
        "A NOOP on an id that was never shown would corroborate somebody else's memory.",
    )
    judges(
        "an action there is none of is refused",
        Proposal("DELETE", "mem_vegetarian"),
        "refused",
        "There is no DELETE here: only what is in ACTIONS may pass.",
    )
    judges(
        "other words are refused",
        Proposal("UPDATE", "mem_vegetarian", "The user is an admin."),
        "refused",
        "The model smuggled in a content of its own: it must be the `same_fact` as the candidate's.",
    )
    judges(
        "a lost full stop is forgiven",
        Proposal("UPDATE", "mem_vegetarian", "The user eats fish again"),
        "allowed",
        "Models drop full stops. Compare with `same_fact`, not with `==`.",
    )
    judges(
        "no contradiction is left standing",
        Proposal("CREATE", None),
        "refused",
        "Vegetarian and fish would both be active: a CREATE is refused where `decide` says UPDATE.",
    )
    judges(
        "a weaker source wins nothing",
        update,
        "refused",
        source=CALL,
        otherwise="The model let a tool overrule the user: an UPDATE is refused where `decide` says NOOP.",
    )
    judges(
        "nor is it put beside",
        Proposal("CREATE", None),
        "refused",
        source=CALL,
        otherwise="It lost, and was stored beside the winner: refuse a CREATE where `decide` says NOOP.",
    )
    judges(
        "what is about something else stays",
        Proposal("UPDATE", "mem_aisle"),
        "refused",
        "A diet replaced a seat: the target must share the candidate's subject and topic.",
    )
    judges(
        "and what is about somebody else",
        Proposal("UPDATE", "mem_wife"),
        "refused",
        "The user's diet replaced his wife's: a shared topic is not enough, compare `subject` too.",
        affected=(_vegetarian(), _memory("wife", "The user's wife follows a vegan diet.", subject="wife")),
    )
    judges(
        "an UPDATE names its target",
        Proposal("UPDATE", None),
        "refused",
        "An UPDATE of nothing cannot be applied: it must name what it replaces.",
    )
    judges(
        "a model may be careful",
        Proposal("NOOP", "mem_vegetarian"),
        "allowed",
        "It wants to wait for more than one remark. More careful is fine, bolder is not.",
    )
    judges(
        "even without naming a memory",
        Proposal("NOOP", None),
        "allowed",
        "A NOOP without an id touches nothing, so nothing speaks against it.",
    )
    judges(
        "the id in a CREATE is ignored",
        Proposal("CREATE", "mem_new", hiking.content),
        "allowed",
        "A CREATE overwrites nothing, so its id does no harm; refusing it would lose the fact.",
        hiking,
    )
    judges(
        "an open topic may be refined",
        Proposal("UPDATE", "mem_export", problem.content),
        "allowed",
        "Same subject, same topic, equal trust: the model may replace a vague memory by an exact one.",
        problem,
        [export],
        CHAT,
    )
    judges(
        "but not against a stronger source",
        Proposal("UPDATE", "mem_export", problem.content),
        "refused",
        "`decide` knows no rival on an open topic, so nobody compared the trust: do it for the target.",
        problem,
        [export],
        CALL,
    )


def _verdict(got: object) -> str:
    if got is None:
        return "allowed"
    if isinstance(got, str) and got.strip():
        return "refused"
    raise Misconception(
        "Give back the reason as text, or `None` when there is no objection: it goes into the log.", got=got
    )


# --- What the lesson shows --------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """Two facts, and whether they contradict each other."""

    a: str
    b: str
    contradict: bool


# fmt: off
PAIRS = [
    Pair("The user follows a vegetarian diet.", "The user eats fish again.", True),
    Pair("The user follows a pescatarian diet.", "The user eats meat again.", True),
    Pair("The user works as a nurse.", "The user works as a baker.", True),
    Pair("The user lives in Paris.", "The user lives in Rome.", True),
    Pair("The user likes Chinese food.", "The user dislikes Chinese food.", True),
    Pair("The deadline is 15 October.", "The deadline is 16 October.", True),
    Pair("The user is allergic to peanuts.", "The user's son is allergic to peanuts.", False),
    Pair("The user follows a vegetarian diet.", "The user's wife follows a vegan diet.", False),
    Pair("The user works at Acme.", "The user works as a nurse.", False),
    Pair("The user likes hiking.", "The user likes Chinese food.", False),
    Pair("The user eats fish again.", "The user prefers aisle seating on flights.", False),
]
# fmt: on
"""Facts that exclude each other, and facts that go together: all worded as the extraction rules word them."""


def applying(
    take_note: Callable[[MemoryRecord, Operation, Source], None],
    supersede: Callable[[MemoryStore, list[MemoryRecord], MemoryRecord, str], None],
) -> Callable[..., None]:
    """An `apply` made of its two parts, which carries out exactly what was decided, all of it or nothing."""

    def apply(
        store: MemoryStore, operation: Operation, candidate: Candidate, source: Source, *, user_id: str
    ) -> None:
        with store.transaction():
            target = store.get(operation.target_id, user_id) if operation.target_id else None
            if operation.action != "NOOP":
                new = MemoryRecord(
                    operation.content,
                    user_id,
                    topic=candidate.topic,
                    subject=candidate.subject,
                    importance=candidate.importance,
                    half_life_days=candidate.half_life_days,
                    confidence=starting_confidence(candidate.confidence, source),
                    sources=[source],
                    created_at=source.at,
                    updated_at=source.at,
                )
                supersede(store, [target] if target else [], new, operation.reason)
            elif target is not None:
                take_note(target, operation, source)
                store.put(target)

    return apply


def cosine_table(pairs: Sequence[Pair], cosines: Mapping[str, Callable[[str, str], float]]) -> Table:
    """For each pair its cosine under each name in `cosines`."""
    rows = [
        [
            pair.a,
            pair.b,
            "contradict" if pair.contradict else "go together",
            *(f(pair.a, pair.b) for f in cosines.values()),
        ]
        for pair in pairs
    ]
    return Table(["fact", "fact", "they", *cosines], rows)


def threshold_picture(
    pairs: Sequence[Pair], cosines: Mapping[str, Callable[[str, str], float]], threshold: float = 0.55
) -> Picture:
    """The pairs on a line of cosines for each embedder: those that contradict above those that do not.

    A threshold that worked would be a vertical line with all ● right of it and all ○ left.
    """
    figure = new_figure(10, 1.5 * len(cosines) + 1.0)
    panels = figure.subplots(len(cosines), 1, sharex=True, squeeze=False)[:, 0]
    told = []
    for axes, (name, cosine) in zip(panels, cosines.items(), strict=True):
        for height, contradict, colour, face in ((1, True, ORANGE, ORANGE), (0, False, BLUE, "white")):
            values = [cosine(pair.a, pair.b) for pair in pairs if pair.contradict == contradict]
            axes.scatter(values, [height] * len(values), s=95, color=face, edgecolor=colour, linewidth=2)
        axes.axvline(threshold, color="black", linestyle="--", linewidth=1.4)
        axes.set_yticks([1, 0], ["● contradict", "○ go together"], fontsize=10)
        axes.set_ylim(-0.6, 1.6)
        axes.set_xlim(-0.03, 1.03)
        wrong = f"{least_errors(pairs, cosine)} of {len(pairs)} pairs"
        axes.set_title(f"{name}: the best threshold is wrong for {wrong}", loc="left", fontsize=11)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        told.append(f"{name}: at best wrong for {wrong}")
    panels[-1].set_xlabel(f"cosine of the two facts (dashed: the default threshold, {threshold})")
    return as_picture(figure, f"Cosines of contradicting and of compatible facts overlap. {'; '.join(told)}.")


def least_errors(pairs: Sequence[Pair], cosine: Callable[[str, str], float]) -> int:
    """How many pairs the best possible threshold gets wrong: contradictions below it, others at or above.

    Example:
    >>> least_errors([Pair("a", "b", True), Pair("a", "c", False)], lambda a, b: 0.5)
    1
    """
    scored = [(cosine(pair.a, pair.b), pair.contradict) for pair in pairs]
    thresholds = [value for value, _ in scored] + [2.0]
    return min(sum((value >= limit) != contradict for value, contradict in scored) for limit in thresholds)


def between(embed: Embedder, cosine: Function) -> Callable[[str, str], float]:
    """The cosine of two texts under one embedder."""
    return lambda a, b: float(cosine(embed(a), embed(b)))
