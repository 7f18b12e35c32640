"""Checks of notebook 09: Chroma's distances, filters and metadata, and a store with policies.

They work on a real Chroma in memory. `Shelf` stands in for the store that the learner's functions get: as
small as it can be, and it looks on while they write.
"""

from __future__ import annotations

import functools
import json
import math
import uuid
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, NamedTuple

from course.check import Cases, Function, Misconception, Row, call, exercise, refused
from memlab import clock
from memlab.embedding import Embedder, hash_embed
from memlab.fields import check_id

NOON = clock.timestamp("2026-08-06T12:00:00Z", "NOON")
MARK = "json:"
UNCHANGED = "You changed what belongs to the caller; it will be used again."


def handed_over(function: Function) -> Function:
    """Calls `function`, and gives back its arguments as it left them."""

    def arguments(*args: Any) -> list[Any]:
        function(*args)
        return list(args)

    return arguments


# --- Distances and filters --------------------------------------------------------------------------

ADA, ACTIVE = {"user_id": "u_ada"}, {"active": True}
LATE, EARLY = {"at": {"$gt": 1}}, {"at": {"$lte": 5}}
NESTED = "Chroma would take it. But do not nest: one list holds them all, in their order."

# what holds, the call, what comes back, the sentence for who gets it wrong, and known mistakes
# fmt: off
SIMILARITY = [
    ("the cosine distance is 1 minus the cosine", 0.525, 0.475, "For the space cosine it is `1 - distance`.",
     (0.525, "You gave the distance back: there the *smallest* number is the best match."),
     (1 / 1.525, "1 / (1 + d) also falls with distance, but it is no cosine: orthogonal texts would get 0.5 "
      "and pass every threshold."),
     (1 - 0.525 / 2, "You halved a distance that is no squared length: the space is cosine.")),
    ("l2 is the squared length of the difference", call(1.655, "l2"), 0.1725,
     "For unit vectors the squared length of a - b is 2 - 2·cosine; solve for the cosine.",
     (1 - 1.655, "`1 - distance` holds for the space cosine. In l2 this pair would be opposites, and they "
      "share words."),
     (1 - 1.655**2 / 2, "Chroma's l2 is squared already; you squared it once more.")),
    ("ip counts as cosine does", call(0.3, "ip"), 0.7,
     "Chroma's ip is 1 minus the inner product, which of unit vectors is the cosine."),
    ("it goes on falling below zero", 1.45, -0.45, "For the space cosine it is `1 - distance`.",
     (0.0, "You cut off at 0: two texts that differ come out the same, and their order is lost.")),
    ("an unknown space is refused", call(0.5, "euclid"), refused("space"),
     "A space that you do not know must raise a ValueError that names `space`: guessing a formula gives "
     "numbers that look right."),
]

WHERE: list[Row] = [
    ("no condition is no filter", call(), None, "None is Chroma's word for no filter.",
     ({}, "`{}` is refused: *Expected where to have exactly one operator*."),
     ({"$and": []}, "An empty `$and` is refused.")),
    ("a single condition stands bare", ADA, ADA, "One condition is a filter by itself: give it back.",
     ({"$and": [ADA]}, "An `$and` of one is refused: *at least two where expressions*.")),
    ("two are joined by $and", call(ADA, ACTIVE), {"$and": [ADA, ACTIVE]},
     "Two or more go into a list under `$and`, in the order given.",
     ({**ADA, **ACTIVE}, "One dict with two keys is refused: *exactly one operator*."),
     ({"$or": [ADA, ACTIVE]}, "`$or` finds what meets *any* of them: everybody's active memories."),
     (ADA, "Only the first condition is left."),
     (ACTIVE, "Only the last condition is left: whose memories are these?")),
    ("the same key may stand twice", call(ADA, LATE, EARLY), {"$and": [ADA, LATE, EARLY]},
     "A range is two conditions on one key; neither may swallow the other.",
     ({"$and": [ADA, {"$and": [LATE, EARLY]}]}, NESTED), ({"$and": [{"$and": [ADA, LATE]}, EARLY]}, NESTED)),
]
# fmt: on

exercise("09-similarity")(lambda case, similarity: case.table(similarity, SIMILARITY))


@exercise("09-where")
def _(case: Cases, where_all: Function) -> None:
    case.table(where_all, WHERE)
    sentence = "Chroma refuses a tuple under `$and`: *Expected where value … to be a list*. Make it a list."
    listed = [("and they stand in a list", call(ADA, ACTIVE), "list", sentence)]
    case.table(lambda *conditions: type(where_all(*conditions)["$and"]).__name__, listed)
    unchanged = [("the conditions stay as they were", call(ADA, LATE), [ADA, LATE], UNCHANGED)]
    case.table(handed_over(where_all), unchanged)


# --- Metadata ---------------------------------------------------------------------------------------


class Json(NamedTuple):
    """What stands as JSON text behind the mark."""

    value: object


def unpacked(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata with each JSON text behind the mark as Json: how it is spaced is free."""
    return {name: _unpacked(value) for name, value in metadata.items()}


def _unpacked(value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith(MARK):
        return value
    try:
        return Json(json.loads(value.removeprefix(MARK)))
    except ValueError:
        return value


PLAIN = {"slot": "address", "importance": 5, "age": 0.5, "active": True}
FALSY = {"slot": "", "expires_at": 0, "active": False}
BEHIND = "It must become JSON text behind the mark `json:`, or it cannot be told from text."
NONE = {"superseded_by": None}

# what holds, the fields, what Chroma gets, the sentence for who gets it wrong, and known mistakes
# fmt: off
METADATA: list[Row] = [
    ("text, numbers and bools stay", PLAIN, PLAIN, "Chroma holds these as they are.",
     (lambda got: got["active"] == Json(True),
      "A bool as JSON text is text: `where={'active': True}` would not find it any more.")),
    ("what is None is left out", {"slot": "address", **NONE}, {"slot": "address"},
     "`add` refuses None: leave the key out.",
     ({"slot": "address", **NONE}, "None is still in there, and `add` refuses it."),
     ({"slot": "address", "superseded_by": "None"},
      "'None' is a text, and a true one: every reader would take it for the id of a memory."),
     ({"slot": "address", "superseded_by": ""},
      "An empty text is not None: what comes back must be what was put in.")),
    ("nothing else is left out", FALSY, FALSY,
     "Only None goes. Zero, False and the empty text are values: test `is not None`."),
    ("for an update None stays None", call(NONE, update=True), NONE,
     "Chroma merges an update into what is there: a key that you leave out keeps its old value. Only None "
     "removes it."),
    ("a list comes back", {"sources": ["m1", "m2"]}, {"sources": Json(["m1", "m2"])}, f"A list: {BEHIND}",
     ({"sources": ["m1", "m2"]}, "A list must become JSON text behind the mark `json:`.")),
    ("the empty list comes back", {"sources": []}, {"sources": Json([])}, BEHIND,
     ({}, "The empty list went missing: Chroma refuses it, so it has to be text as well.")),
    ("a dict comes back", {"by": {"by": ["s1", 2]}}, {"by": Json({"by": ["s1", 2]})}, f"A dict: {BEHIND}"),
    ("for an update the rest is packed too", call({"slot": "", "sources": ["m1"]}, update=True),
     {"slot": "", "sources": Json(["m1"])}, "An update holds no more than `add` does."),
    ("text that looks like ours stays text", {"slot": 'json:["x"]'}, {"slot": Json('json:["x"]')},
     "A *text* that begins with `json:` would come back as a list: encode it as well."),
    ("NaN is refused by name", {"importance": math.nan}, refused("importance"),
     "NaN is no number to filter by: no comparison finds it. Refuse it, naming the field."),
    ("so is infinity", {"importance": math.inf}, refused("importance"),
     "Infinity is no JSON and no number to filter by: `plain_value` refuses it, naming the field."),
    ("a set is refused by name", {"sources": {"m1"}}, refused("sources", TypeError),
     "What is no JSON must raise a TypeError that names the field, before Chroma sees it."),
    ("so is NaN in a list", {"scores": [math.nan]}, refused("scores"),
     "`json.dumps` wrote NaN, which is no JSON. `json_text` says `allow_nan=False`, and names the field."),
    ("and a set in a list", {"sources": [{"m1"}]}, refused("sources", TypeError),
     "`json.dumps` refuses the set, but cannot know the field: `json_text` raises one that names it."),
]
# fmt: on


@exercise("09-metadata")
def _(case: Cases, to_metadata: Function) -> None:
    @functools.wraps(to_metadata)
    def read_back(fields: dict[str, Any], **more: Any) -> dict[str, Any]:
        return unpacked(to_metadata(fields, **more))

    case.table(read_back, METADATA)
    unchanged: list[Row] = [("the caller's fields stay as they were", NONE, [NONE], UNCHANGED)]
    case.table(handed_over(to_metadata), unchanged)


# --- The sweep --------------------------------------------------------------------------------------


def _collection() -> Any:
    """A fresh collection in a database of its own."""
    import chromadb  # here, since nobody should wait for it who only lists the exercises
    from chromadb.config import Settings

    name = f"check-{uuid.uuid4().hex}"
    chromadb.AdminClient(Settings(anonymized_telemetry=False)).create_database(name)
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False), database=name)
    cosine: Any = {"hnsw": {"space": "cosine"}}
    return client.create_collection("memories", embedding_function=None, configuration=cosine)


MEMORIES = [  # id, text, owner, topic, active
    ("m1", "vegetarian", "ada", "diet", False), ("m2", "aisle", "ada", "travel", True),
    ("m3", "vegan", "bo", "diet", True), ("m4", "fish", "ada", "diet", True),
    ("m5", "no nuts", "cy", "diet", False), ("m6", "no nuts", "cy", "diet", True),
]  # fmt: skip
OWNER = "Bo's memory came back: the owner belongs into the filter. (Does your `where_all` join by `$and`?)"

# what holds, owner and topic, (text, active) of what is found, the sentence, and known mistakes
# fmt: off
SWEEP = [
    ("all on the topic, however unlike", call("ada", "diet"), [("fish", True), ("vegetarian", False)],
     "Ada has two memories on diet, each with its own metadata.",
     (lambda got: "vegan" in dict(got), OWNER),
     (lambda got: "aisle" in dict(got), "aisle is not on diet: the topic belongs into the filter."),
     (lambda got: "m4" in dict(got), "These are the ids. The text of a row stands in `[\"documents\"]`."),
     ([("fish", True)], "The tombstone is missing: do not filter by `active` here.")),
    ("nobody else's", call("bo", "diet"), [("vegan", True)], "Bo has one memory on diet."),
    ("equal words are two memories", call("cy", "diet"), [("no nuts", False), ("no nuts", True)],
     "Two memories say the same, and you made one of them: a dict keeps a text once."),
    ("a topic is a name, not a part of one", call("ada", "die"), [], "No memory has the topic 'die'."),
    ("an empty user_id is refused", call("", "diet"), refused("user_id"),
     "`check_id` refuses an empty user_id with a message that names it."),
    ("an empty topic is refused", call("ada", ""), refused("topic"),
     "`check_id` refuses an empty topic with a message that names it."),
]
# fmt: on


@exercise("09-topic-sweep")
def _(case: Cases, topic_sweep: Function) -> None:
    memories = _collection()

    def told(user_id: str, topic: str) -> str:
        return f"topic_sweep(memories, {user_id!r}, {topic!r})"

    def swept(user_id: str, topic: str) -> list[tuple[str, object]]:
        pairs = topic_sweep(memories, user_id, topic)
        try:
            return sorted((text, dict(about)["active"]) for text, about in list(pairs))
        except (TypeError, ValueError, KeyError):
            sentence = "Give back a list of pairs: the document, and its metadata as a dict."
            raise Misconception(sentence, given=told(user_id, topic), got=pairs) from None

    def fill(rows: list[tuple[str, str, str, str, bool]]) -> None:
        about = [{"user_id": row[2], "topic": row[3], "active": row[4]} for row in rows]
        texts = [row[1] for row in rows]
        memories.add([row[0] for row in rows], [hash_embed(text) for text in texts], about, texts)

    fill(MEMORIES)
    case.table(swept, SWEEP, told)
    fill([(f"f{number}", f"fact {number}", "dee", "diet", True) for number in range(120)])
    sentence = "You asked for the nearest few, or a page. A sweep is `get(where=…)`: it leaves nothing out."
    case.table(lambda: len(swept("dee", "diet")), [("however many there are", call(), 120, sentence)])


# --- The policy store -------------------------------------------------------------------------------


FIRST: dict[str, Any] = {
    "user_id": "rohan", "kind": "fact", "importance": 3, "expires_at": 0.0, "slot": "", "generation": 1,
}  # fmt: skip
Stored = tuple[str, dict[str, Any]]
"""What stands on a shelf: a text, and how its fields differ from FIRST."""


def backwards(text: str) -> list[float]:
    """An embedder of another kind."""
    return hash_embed(text[::-1])


class Shelf:
    """What `remember` and `recall` need of a store, on a fresh collection; it notes what stands there
    after each call that writes."""

    def __init__(self, *rows: Stored, embedder: Embedder = hash_embed) -> None:
        self.moments: list[list[str]] = []
        self.retired: list[str] = []
        self.before: list[str] = []
        self.embedder = embedder
        collection, plain = _collection(), {**FIRST, "created_at": clock.now(), "sources": "json:[]"}
        if rows:
            texts, ids = [text for text, _ in rows], [uuid.uuid4().hex for _ in rows]
            metadata = [plain | about for _, about in rows]
            collection.add(ids, [embedder(text) for text in texts], metadata, texts)
        self.memories = _Watched(collection, self.moments)

    def rows(self, user_id: str, *conditions: dict[str, Any]) -> list[Any]:
        parts = [{"user_id": check_id("user_id", user_id)}, *conditions]
        found = self.memories.get(where={"$and": parts} if len(parts) > 1 else parts[0])
        columns = zip(found["ids"], found["documents"], found["metadatas"], strict=True)
        rows = [SimpleNamespace(memory_id=name, text=text, **about) for name, text, about in columns]
        return sorted(rows, key=lambda row: row.created_at)

    def what_do_you_remember(self, user_id: str) -> list[Any]:
        rows = self.rows(user_id)
        best = {row.slot: max(r.generation for r in rows if r.slot == row.slot) for row in rows}
        newest = [row for row in rows if not row.slot or row.generation == best[row.slot]]
        return [row for row in newest if not row.expires_at or clock.now() < row.expires_at]

    def similar(self, user_id: str, query: str, most: int | None = None) -> list[tuple[str, float]]:
        size = max(1, self.memories.count() if most is None else most)
        hits = self.memories.query([self.embedder(query)], n_results=size, where={"user_id": user_id})
        return [(name, 1 - far) for name, far in zip(hits["ids"][0], hits["distances"][0], strict=True)]

    def retire(self, user_id: str, old: Iterable[Any], reason: str) -> int:
        going = list(old)
        self.retired += [row.text for row in going]
        for row in going:
            self.memories.delete(ids=[row.memory_id], where={"user_id": user_id})
        return len(going)

    def texts(self, user_id: str = "rohan") -> list[str]:
        return [row.text for row in self.rows(user_id)]


class _Watched:
    """A collection that notes, after every call that writes, which texts stand there."""

    def __init__(self, collection: Any, moments: list[list[str]]) -> None:
        self._collection, self._moments = collection, moments

    def __getattr__(self, name: str) -> Any:
        really = getattr(self._collection, name)
        if name not in ("add", "upsert", "update", "delete"):
            return really

        def noted(*args: Any, **kwargs: Any) -> Any:
            result = really(*args, **kwargs)
            self._moments.append(self._collection.get()["documents"])
            return result

        return noted


BANER, KOTHRUD, TEA, ADDRESS = "Lives in Baner.", "Lives in Kothrud.", "Likes tea.", {"slot": "address"}


def _fields(**given: Any) -> dict[str, Any]:
    return {**FIRST, "created_at": NOON, "sources": Json([]), **given}


def _but(**given: Any) -> Callable[[Any], bool]:
    """Recognises a row by what its fields are instead."""
    return lambda got: all(got[name] == value for name, value in given.items())


# what holds, the call of `remember`, the row's metadata, the sentence, and known mistakes
# fmt: off
FIELDS = [
    ("the row has all its fields", call("rohan", BANER, "fact", 4, slot="address"),
     _fields(importance=4, slot="address"), "The metadata are not complete: compare them one by one.",
     (_but(expires_at=NOON), "Without a ttl it expires this very second: 0 stands for never."),
     (lambda got: got["generation"] != 1,
      "The first value of a slot is generation 1: readers tell by it which one is newer.")),
    ("as they were handed over", call("sunita", "Away.", "episode", 2, sources=("m1", "m2")),
     _fields(user_id="sunita", kind="episode", importance=2, sources=Json(["m1", "m2"])),
     "Not every argument reached the row: compare them one by one.",
     (_but(sources=Json([])), "The sources are lost, and with them what the memory was drawn from.")),
    ("it expires after days", call("rohan", "Away.", "fact", 3, ttl_days=7),
     _fields(expires_at=NOON + 7 * clock.DAY),
     "The expiry is not seven days from now; times are seconds, `clock.DAY` of them a day."),
    ("half a day is half a day", call("rohan", "Out.", "fact", 3, ttl_days=0.5),
     _fields(expires_at=NOON + clock.DAY / 2), "`ttl_days` need not be whole: half a day was lost."),
]

BAD = [
    ("a wrong importance is refused", call("rohan", BANER, "fact", 6), refused("importance"),
     "`check_memory`, which is given, refuses this and names importance: call it first."),
    ("an empty text is refused", call("rohan", "", "fact", 4), refused("text"),
     "`check_memory`, which is given, refuses this and names text: call it first."),
    ("one id is no list of ids", call("rohan", BANER, "fact", 4, sources="m1"), refused("sources", TypeError),
     "Of \"m1\", `list` makes two ids, its letters. `check_memory` refuses it if you hand `sources` on."),
]

# Rohan moves to Kothrud: what holds, where to look, what is there, the sentence, and known mistakes
MOVED = [
    ("the slot has its new value only", lambda shelf, new: BANER in shelf.texts(), False,
     "Baner is still there: `store.retire` the old values of the slot."),
    ("the new value has an id of its own", lambda shelf, new: new in shelf.before, False,
     "You gave the new value the id of the old one: `add` ignores an id that is there."),
    ("the new value is not retired with the old", lambda shelf, new: KOTHRUD in shelf.texts(), True,
     "Kothrud is gone: you looked the old values up after writing, and retired the new one with them."),
    ("at every moment there was a value",
     lambda shelf, new: [texts for texts in shelf.moments if BANER not in texts and KOTHRUD not in texts], [],
     "For a moment Rohan had no address, and a crash makes that moment for ever. Write the new value first, "
     "then retire the old."),
    ("other slots are left alone", lambda shelf, new: "After six." in shelf.texts(), True,
     "His delivery time went with the old address: the slot belongs into the filter."),
    ("memories without a slot stay", lambda shelf, new: TEA in shelf.texts(), True,
     "Likes tea. has no slot, and is gone."),
    ("another customer's slot stays", lambda shelf, new: shelf.texts("sunita"), ["Lives in Aundh."],
     "Sunita's address went when Rohan moved: a slot belongs to one customer."),
    ("the old value is logged", lambda shelf, new: shelf.retired, [BANER],
     "Baner was deleted without a trace: `store.retire` logs what it deletes."),
    ("it is the next generation", lambda shelf, new: shelf.rows("rohan")[-1].generation, 2,
     "While both are there, readers take the highest generation: the new one must be one above the old."),
]

# what holds, what stands there before (generations of the address, or none), what after, and the sentence
SLOTS = [
    ("above the highest of several", call(1, 4, 2), [("new", 5)],
     "A replacement was cut short, so there are several old values. How many there are does not say how many "
     "there were, nor does the first or the last one: go one above the *highest* generation.",
     (lambda got: len(got) > 1, "Several old values were there, and not all of them are retired.")),
    ("without a slot nothing is replaced", call(), [("old", 1), ("new", 1)],
     "An empty slot is no slot. You treated '' as a name, and all memories without a slot as its values."),
]
# fmt: on


@exercise("09-remember")
def _(case: Cases, remember: Function) -> None:
    def written(*args: Any, **more: Any) -> dict[str, Any]:
        shelf = Shelf(embedder=backwards)
        name = remember(shelf, *args, **more)
        found = shelf.memories.get(include=["documents", "metadatas", "embeddings"])
        given = f"remember(store, *{args}, **{more})"
        if not found["ids"]:
            sentence = "The row is gone: you looked the old values up after writing, and retired it."
            raise Misconception(sentence, given=given)
        if found["ids"] != [name] or found["documents"] != [args[1]]:
            sentence = "The collection must hold one row with the text; you give back its id."
            raise Misconception(sentence, given=given, expected=found["ids"], got=name)
        if abs(float(found["embeddings"][0] @ backwards(args[1])) - 1) > 1e-5:
            raise Misconception("It is not the store's own vector: `store.embedder(text)`.", given=given)
        return {name: unpacked(found["metadatas"][0]).get(name, "no such key") for name in _fields()}

    with clock.freeze(NOON):
        case.table(written, FIELDS, lambda *args, **more: f"remember(store, *{args}, **{more})")
        shelf = Shelf()
        case.table(functools.partial(remember, shelf), BAD, lambda *args, **more: f"{args}, {more}")
        sentence = "You refused it, and the row is in the store: check before you write."
        case.holds("before anything is written", not shelf.moments, sentence, got=shelf.moments)
        _replaces(case, remember)


def _replaces(case: Cases, remember: Function) -> None:
    shelf = Shelf((BANER, ADDRESS), (TEA, {}), ("After six.", {"slot": "delivery_time"}),
                  ("Lives in Aundh.", {"user_id": "sunita", **ADDRESS}))  # fmt: skip
    shelf.before = [row.memory_id for row in shelf.rows("rohan")]
    with clock.travel(days=1):
        new = remember(shelf, "rohan", KOTHRUD, "fact", 4, slot="address")
    given = "Rohan: address Baner, likes tea, delivery_time · Sunita: address Aundh; Rohan moves to Kothrud"
    case.table(lambda look: look(shelf, new), MOVED, lambda look: given)

    def after(*generations: int) -> list[tuple[str, int]]:
        slot = "address" if generations else ""
        shelf = Shelf(*(("old", {"slot": slot, "generation": number}) for number in generations or (1,)))
        with clock.travel(days=1):
            remember(shelf, "rohan", "new", "fact", 4, slot=slot)
        return [(row.text, row.generation) for row in shelf.rows("rohan")]

    case.table(after, SLOTS, lambda *old: f"generations in the slot: {old}" if old else "no slot, one memory")
    shelf = Shelf((BANER, ADDRESS))
    remember(shelf, "rohan", BANER, "fact", 5, slot="address", ttl_days=1)
    now = [(row.importance, row.expires_at) for row in shelf.rows("rohan")]
    sentence = "The same words came with another importance and a ttl, and the old row stayed: write it."
    case.holds("the same words are written anew", now == [(5, NOON + clock.DAY)], sentence, got=now)


# --- Reading ----------------------------------------------------------------------------------------

HAMPER: Stored = ("The Diwali hamper was late.", {})
PIN: Stored = ("Allergic to peanuts.", {"importance": 5})
OVER, OLD = {"expires_at": NOON - 1}, {"importance": 5, "created_at": NOON - 9 * clock.DAY}
FAR: Stored = ("Wants the Diwali hamper without nuts.", {"importance": 4})
CROWD = [(f"Diwali hamper {n}.", {"importance": 1, "created_at": NOON - 300 * clock.DAY}) for n in range(15)]

# what holds, what is stored (text, fields) and asked, what comes back, the sentence, and known mistakes
# fmt: off
RECALL = [
    ("the pin is there whatever is asked", call(HAMPER, PIN, k=0), [PIN[0]],
     "What is pinned comes back on every turn.",
     ([], "The allergy had to compete and lost. Pins stand outside the ranking.")),
    ("pins first, and they take no place", call(HAMPER, PIN, k=1), [PIN[0], HAMPER[0]],
     "One pin, then k others.",
     ([PIN[0]], "The pin used up the place of the hamper: k counts the others."),
     ([HAMPER[0], PIN[0]], "Pins come first.")),
    ("a pin comes back once", call(HAMPER, PIN, k=2), [PIN[0], HAMPER[0]],
     "The pin came back twice: it is in the ranking as well."),
    ("the oldest pin first", call(PIN, ("Coeliac.", OLD), k=0), ["Coeliac.", PIN[0]],
     "Keep the pins in the order in which `what_do_you_remember` gives them: the oldest first."),
    ("an expired pin is not shown", call((PIN[0], PIN[1] | OVER)), [],
     "Pinned or not, what has expired is over: draw on `what_do_you_remember`."),
    ("what expired is not ranked", call((HAMPER[0], OVER)), [],
     "It is still in the collection, and no longer true: leave it out of the ranking, too."),
    ("the nearer one counts for more", call((TEA, {"importance": 4}), HAMPER, k=2), [HAMPER[0], TEA],
     "Relevance is lost: rank by `score(memory, cosine)`, where the cosine is what `store.similar` gives for "
     "this query; a distance, 1 - cosine, turns it round."),
    ("the score decides, not the distance",
     call(("Asked about a Diwali hamper.", {"importance": 1}), FAR, k=1), [FAR[0]],
     "Sort by `score(memory, cosine)`, the highest first.",
     (["Asked about a Diwali hamper."], "You took the k nearest. Over-fetch, re-score, *then* cut to k.")),
    ("equal words are two memories", call(PIN, (PIN[0], {"importance": 2})), [PIN[0]] * 2,
     "You told memories apart by their text. Two may say the same: compare ids."),
    ("in the ranking, too", call(HAMPER, HAMPER, k=2), [HAMPER[0]] * 2,
     "You ranked texts and dropped what occurs twice: two memories may say the same."),
    ("ten are scored", call(*CROWD[:9], FAR, k=1), [FAR[0]],
     "It is the tenth by cosine and the first by score: score `overfetch` of them at least."),
    ("or as many as `overfetch` says", call(*CROWD, FAR, k=1, overfetch=16), [FAR[0]],
     "It is the sixteenth by cosine and the first by score: `overfetch` says how many to score."),
    ("or as k asks for", call(*[HAMPER] * 15, k=15), [HAMPER[0]] * 15,
     "Fifteen were asked for, and fifteen are there: fetch k of them at least."),
    ("three come without a k", call(*[HAMPER] * 4), [HAMPER[0]] * 3, "The stub says `k: int = 3`."),
    ("what no longer holds crowds out nothing",
     call(*[(text, OVER) for text, _ in CROWD * 2], FAR, k=1), [FAR[0]],
     "The nearest ten were all expired, so nothing was left to rank: fetch as many more as there are that do "
     "not count."),
    ("nor do pins", call(*[("Diwali hamper!", {"importance": 5})] * 11, FAR, k=1),
     ["Diwali hamper!"] * 11 + [FAR[0]], "The nearest ten were all pins: fetch as many more as there are."),
    ("nobody else's memory comes back", call(("Bo's Diwali hamper.", {"user_id": "bo"})), [],
     "The owner belongs into every filter."),
    ("fewer than k come as they are", call(HAMPER, k=10), [HAMPER[0]], "There is one, so one comes back."),
    ("a k below 0 is refused", call(HAMPER, k=-1), refused("k="),
     "A slice to -1 drops the last one, in silence: `check_whole(\"k\", k)` refuses it."),
]
# fmt: on


@exercise("09-recall")
def _(case: Cases, recall: Function) -> None:
    def recalled(*rows: Stored, **more: Any) -> Any:
        return recall(Shelf(*rows), "rohan", "diwali hamper", **more)

    def told(*rows: Stored, **more: Any) -> str:
        stored = " · ".join(f"{text} {about or ''}" for text, about in rows[:3])
        many = f" … {len(rows)} memories, the last: {rows[-1][0]}" if len(rows) > 3 else ""
        return f"{stored}{many}; recall(store, 'rohan', 'diwali hamper', **{more})"

    with clock.freeze(NOON):
        case.table(recalled, RECALL, told)
