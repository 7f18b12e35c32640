"""Checks of notebook 09: Chroma's distances, filters and metadata, and a store with policies.

They work on a real Chroma in memory. `Shelf` stands in for the store that the learner's functions get: as
small as it can be, and it looks on while they write.
"""

from __future__ import annotations

import contextlib
import json
import math
import uuid
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from course.check import Cases, Function, Misconception, Shown, exercise
from memlab import clock
from memlab.embedding import hash_embed
from memlab.records import check_id

TODAY = "2026-08-06T12:00:00Z"
MARK = "json:"


# --- Distances --------------------------------------------------------------------------------------


@exercise("09-similarity")
def _(case: Cases, similarity: Function) -> None:
    case(
        "the cosine distance is 1 minus the cosine",
        similarity,
        0.525,
        expect=0.475,
        otherwise="For the space cosine, similarity is `1 - distance`.",
        mistakes=[
            (0.525, "You gave the distance back: there the *smallest* number is the best match."),
            (
                1 / 1.525,
                "1 / (1 + d) also falls with distance, but it is no cosine: orthogonal texts would "
                "get 0.5 and pass every threshold.",
            ),
            (1 - 0.525 / 2, "You halved a distance that is no squared length: the space is cosine."),
        ],
    )
    case(
        "l2 is the squared length of the difference",
        similarity,
        1.655,
        "l2",
        expect=0.1725,
        otherwise="For unit vectors the squared length of a - b is 2 - 2·cosine; solve for the cosine.",
        mistakes=[
            (
                1 - 1.655,
                "`1 - distance` holds for the space cosine. In l2 this pair would be opposites, and "
                "they share words.",
            ),
            (1 - 1.655**2 / 2, "Chroma's l2 is squared already; you squared it once more."),
        ],
    )
    case(
        "ip counts as cosine does",
        similarity,
        0.3,
        "ip",
        expect=0.7,
        otherwise="Chroma's ip is 1 minus the inner product, which of unit vectors is the cosine.",
    )
    got = [similarity(distance) for distance in (0.41, 1.32, 1.45)]
    case.holds(
        "it goes on falling below zero",
        got[0] > got[1] > got[2],
        "You cut off at 0: two texts that differ come out the same, and their order is lost.",
        given="distances 0.41, 1.32, 1.45",
        expected=Shown("0.59, -0.32, -0.45"),
        got=got,
    )
    case.refuses(
        "an unknown space is refused",
        similarity,
        0.5,
        "euclid",
        mentions="space",
        otherwise="A space that you do not know must raise a ValueError that names `space`: guessing a "
        "formula gives numbers that look right.",
    )


# --- Filters ----------------------------------------------------------------------------------------


@exercise("09-where")
def _(case: Cases, where_all: Function) -> None:
    ada, active = {"user_id": "u_ada"}, {"active": True}
    case(
        "no condition is no filter",
        where_all,
        expect=None,
        otherwise="Without conditions give back None: that is Chroma's word for no filter.",
        mistakes=[
            ({}, "`{}` is refused: *Expected where to have exactly one operator*."),
            ({"$and": []}, "An empty `$and` is refused."),
        ],
    )
    case(
        "a single condition stands bare",
        where_all,
        ada,
        expect=ada,
        otherwise="One condition is a filter by itself: give back that very condition.",
        mistakes=[({"$and": [ada]}, "An `$and` of one is refused: *at least two where expressions*.")],
    )
    case(
        "two are joined by $and",
        where_all,
        ada,
        active,
        expect={"$and": [ada, active]},
        otherwise="Two or more go into a list under `$and`, in the order given.",
        mistakes=[
            ({**ada, **active}, "One dict with two keys is refused: *exactly one operator*."),
            ({"$or": [ada, active]}, "`$or` finds what meets *any* of them: everybody's active memories."),
            (ada, "Only the first condition is left."),
            (active, "Only the last condition is left: whose memories are these?"),
        ],
    )
    late, early = {"at": {"$gt": 1}}, {"at": {"$lte": 5}}
    case(
        "the same key may stand twice",
        where_all,
        ada,
        late,
        early,
        expect={"$and": [ada, late, early]},
        otherwise="A range is two conditions on one key; neither may swallow the other.",
        mistakes=[({"$and": [ada, {"$and": [late, early]}]}, "Do not nest: one list holds them all.")],
    )
    case.holds(
        "the conditions stay as they were",
        (ada, late) == ({"user_id": "u_ada"}, {"at": {"$gt": 1}}),
        "You changed the caller's own dict; it will be used again.",
        expected=Shown("unchanged"),
        got=ada,
    )


# --- Metadata ---------------------------------------------------------------------------------------


def _decoded(value: Any) -> Any:
    return (
        json.loads(value.removeprefix(MARK)) if isinstance(value, str) and value.startswith(MARK) else value
    )


@exercise("09-metadata")
def _(case: Cases, to_metadata: Function) -> None:
    plain = {"slot": "address", "importance": 5, "age": 0.5, "active": True}
    case(
        "text, numbers and bools stay",
        to_metadata,
        plain,
        expect=plain,
        otherwise="Chroma holds these as they are.",
        mistakes=[
            (
                lambda got: isinstance(got, dict) and got.get("active") == "json:true",
                "A bool as JSON text is text: `where={'active': True}` would not find it any more.",
            )
        ],
    )
    case(
        "what is None is left out",
        to_metadata,
        {"slot": "address", "superseded_by": None},
        expect={"slot": "address"},
        otherwise="`add` refuses None: leave the key out.",
        mistakes=[
            ({"slot": "address", "superseded_by": None}, "None is still in there, and `add` refuses it."),
            (
                {"slot": "address", "superseded_by": "None"},
                "'None' is a text, and a true one: every reader would take it for the id of a memory.",
            ),
            (
                {"slot": "address", "superseded_by": ""},
                "An empty text is not None: what comes back must be what was put in.",
            ),
        ],
    )
    case(
        "nothing else is left out",
        to_metadata,
        {"slot": "", "expires_at": 0, "active": False},
        expect={"slot": "", "expires_at": 0, "active": False},
        otherwise="Only None goes. Zero, False and the empty text are values: test `is not None`.",
    )
    case(
        "for an update None stays None",
        lambda fields: to_metadata(fields, update=True),
        {"superseded_by": None},
        expect={"superseded_by": None},
        given="to_metadata({'superseded_by': None}, update=True)",
        otherwise="Chroma merges an update into what is there: a key that you leave out keeps its old "
        "value. "
        "Only None removes it.",
    )
    kinds: list[tuple[str, Any]] = [
        ("a list", ["m1", "m2"]),
        ("the empty list", []),
        ("a dict", {"by": ["s1", 2]}),
    ]
    for name, value in kinds:
        got = to_metadata({"sources": value}).get("sources", "no such key")
        case.holds(
            f"{name} comes back",
            isinstance(got, str) and _decoded(got) == value and got != value,
            "The empty list went missing: Chroma refuses it, so it has to be text as well."
            if value == []
            else f"{name.capitalize()} must become JSON text behind the mark `json:`, or it cannot be "
            f"told from text.",
            given=f"to_metadata({{'sources': {value!r}}})",
            expected=Shown(f"'json:' and {json.dumps(value)}"),
            got=got,
        )
    tricky = to_metadata({"slot": 'json:["x"]'})["slot"]
    case.holds(
        "text that looks like ours stays text",
        tricky != 'json:["x"]' and _decoded(tricky) == 'json:["x"]',
        "A *text* that begins with `json:` would come back as a list: encode it as well.",
        given="to_metadata({'slot': 'json:[\"x\"]'})",
        got=tricky,
    )
    case.refuses(
        "NaN is refused by name",
        to_metadata,
        {"importance": math.nan},
        mentions="importance",
        otherwise="NaN is no number to filter by: no comparison finds it. Refuse it, naming the field.",
    )
    case.refuses(
        "a set is refused by name",
        to_metadata,
        {"sources": {"m1"}},
        error=TypeError,
        mentions="sources",
        given="to_metadata({'sources': {'m1'}})",
        otherwise="What is no JSON must raise a TypeError that names the field, before Chroma sees it.",
    )
    case.refuses(
        "so is NaN in a list",
        to_metadata,
        {"scores": [math.nan]},
        mentions="scores",
        given="to_metadata({'scores': [nan]})",
        otherwise="`json.dumps` wrote NaN, which is no JSON: `allow_nan=False` makes it refuse. Add the "
        "field's name.",
    )
    case.refuses(
        "and a set in a list",
        to_metadata,
        {"sources": [{"m1"}]},
        error=TypeError,
        mentions="sources",
        given="to_metadata({'sources': [{'m1'}]})",
        otherwise="`json.dumps` refuses the set, but cannot know the field: catch its TypeError, raise one "
        "that names it.",
    )


# --- The sweep --------------------------------------------------------------------------------------


def _client() -> Any:
    import chromadb  # here, since nobody should wait for it who only lists the exercises
    from chromadb.config import Settings

    settings = Settings(anonymized_telemetry=False)
    name = f"check-{uuid.uuid4().hex}"
    chromadb.AdminClient(settings).create_database(name)
    return chromadb.EphemeralClient(Settings(anonymized_telemetry=False), database=name)


def _collection(*rows: tuple[str, str, dict[str, Any]]) -> Any:
    """A fresh collection with rows (id, text, metadata)."""
    found = _client().create_collection(
        "memories", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    for name, text, about in rows:
        found.add([name], [hash_embed(text)], [about], [text])
    return found


@exercise("09-topic-sweep")
def _(case: Cases, topic_sweep: Function) -> None:
    def row(name: str, user_id: str, topic: str, active: bool) -> tuple[str, str, dict[str, Any]]:
        return name, name, {"user_id": user_id, "topic": topic, "active": active}

    rows = (
        row("vegetarian", "ada", "diet", False),
        row("aisle", "ada", "travel", True),
        row("vegan", "bo", "diet", True),
        row("fish", "ada", "diet", True),
    )
    memories = _collection(*rows)
    given = "Ada: vegetarian (a tombstone), aisle, fish · Bo: vegan"

    def swept(user_id: str, topic: str) -> Any:
        got = topic_sweep(memories, user_id, topic)
        pairs = isinstance(got, list) and all(
            isinstance(pair, tuple | list) and len(pair) == 2 for pair in got
        )
        if not pairs or not all(isinstance(pair[1], dict) for pair in got):
            raise Misconception(
                "Give back a list of pairs: the document, and its metadata as a dict.", given=given, got=got
            )
        return [text for text, _ in got]

    case(
        "all on the topic, however unlike",
        swept,
        "ada",
        "diet",
        expect=["vegetarian", "fish"],
        given=given,
        otherwise="Ada has two memories on diet.",
        mistakes=[
            (lambda got: "vegan" in got, "Bo's memory came back: the owner belongs into the filter."),
            (lambda got: "aisle" in got, "aisle is not on diet: the topic belongs into the filter."),
            (["fish"], "The tombstone is missing: do not filter by `active` here."),
        ],
    )
    case(
        "nobody else's",
        swept,
        "bo",
        "diet",
        expect=["vegan"],
        given=given,
        otherwise="Bo has one memory on diet.",
    )
    case(
        "a topic is a name, not a part of one",
        swept,
        "ada",
        "die",
        expect=[],
        given=given,
        otherwise="No memory has the topic 'die'.",
    )
    many = _collection(*(row(f"fact {number}", "ada", "diet", True) for number in range(30)))
    case.holds(
        "however many there are",
        len(topic_sweep(many, "ada", "diet")) == 30,
        "You asked for the nearest few. A sweep is `get(where=…)`: it ranks nothing and leaves nothing out.",
        given="30 memories on diet",
        expected=30,
        got=len(topic_sweep(many, "ada", "diet")),
    )
    for name, arguments in (("user_id", ("", "diet")), ("topic", ("ada", ""))):
        case.refuses(
            f"an empty {name} is refused",
            topic_sweep,
            memories,
            *arguments,
            mentions=name,
            given=f"topic_sweep(memories, {', '.join(map(repr, arguments))})",
            otherwise=f"`check_id` refuses an empty {name} with a message that names it.",
        )


# --- The policy store -------------------------------------------------------------------------------


class Shelf:
    """What `remember` and `recall` need of a store, on a fresh collection; it notes what stands there
    after each call that writes."""

    def __init__(self) -> None:
        self.moments: list[list[str]] = []
        self.retired: list[str] = []
        self.memories = _Watched(_collection(), self)
        self.embedder = hash_embed

    def rows(self, user_id: str, *conditions: dict[str, Any]) -> list[Any]:
        parts = [{"user_id": check_id("user_id", user_id)}, *conditions]
        found = self.memories.get(where={"$and": parts} if len(parts) > 1 else parts[0])
        pairs = zip(found["ids"], found["documents"], found["metadatas"], strict=True)
        rows = [SimpleNamespace(memory_id=name, text=text, **about) for name, text, about in pairs]
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

    def seed(self, text: str, user_id: str = "sunita", **about: Any) -> None:
        plain = {
            "kind": "fact",
            "importance": 3,
            "created_at": clock.now(),
            "expires_at": 0.0,
            "slot": "",
            "generation": 1,
            "sources": "json:[]",
        }
        self.memories.add(
            [uuid.uuid4().hex], [hash_embed(text)], [plain | {"user_id": user_id} | about], [text]
        )


class _Watched:
    """A collection that notes, after every call that writes, whose slots have which values."""

    def __init__(self, collection: Any, shelf: Shelf) -> None:
        self._collection, self._shelf = collection, shelf

    def __getattr__(self, name: str) -> Any:
        really = getattr(self._collection, name)
        if name not in ("add", "upsert", "update", "delete"):
            return really

        def call(*args: Any, **kwargs: Any) -> Any:
            result = really(*args, **kwargs)
            self._shelf.moments.append(self._collection.get()["documents"])
            return result

        return call


@contextlib.contextmanager
def _at_noon() -> Iterator[float]:
    with clock.freeze(TODAY):
        yield clock.now()


BANER, KOTHRUD = "Lives in Baner.", "Lives in Kothrud."


@exercise("09-remember")
def _(case: Cases, remember: Function) -> None:
    with _at_noon() as now:
        shelf = Shelf()
        name = remember(shelf, "rohan", BANER, "fact", 4, slot="address")
        found = shelf.memories.get(include=["documents", "metadatas", "embeddings"])
        case.holds(
            "one row is written, under the id given back",
            found["ids"] == [name],
            "The collection must hold one row afterwards, and you give back its id."
            if found["ids"]
            else "The row is gone again: you looked the old values up after writing, and retired it.",
            given=f"remember(store, 'rohan', {BANER!r}, 'fact', 4, slot='address')",
            expected=[name],
            got=found["ids"],
        )
        about = found["metadatas"][0] or {}
        expected = {
            "user_id": "rohan",
            "kind": "fact",
            "importance": 4,
            "slot": "address",
            "created_at": now,
            "expires_at": 0.0,
            "generation": 1,
            "sources": "json:[]",
        }
        wrong = {key: about.get(key) for key in expected if about.get(key, "no key") != expected[key]}
        case.holds(
            "with all its fields",
            not wrong,
            _field_mistake(wrong, now),
            given="the first value of a slot, no ttl, no sources",
            expected=Shown(", ".join(f"{key}={expected[key]!r}" for key in wrong)),
            got=wrong,
        )
        case.holds(
            "and its own vector",
            abs(float(found["embeddings"][0] @ hash_embed(BANER)) - 1) < 1e-5,
            "The vector is not that of the text: pass `store.embedder(text)`.",
        )
        _replacing(case, remember)
        shelf = Shelf()
        remember(shelf, "sunita", "Away.", "episode", 3, ttl_days=7)
        ends = shelf.rows("sunita")[0].expires_at
        case.holds(
            "it expires after days",
            math.isclose(ends, now + 7 * clock.DAY),
            "The expiry is not seven days from now; times are seconds, `clock.DAY` of them a day.",
            given="ttl_days=7",
            expected=now + 7 * clock.DAY,
            got=ends,
        )
        for field, arguments in (
            ("importance", ("rohan", BANER, "fact", 6)),
            ("text", ("rohan", "", "fact", 4)),
        ):
            case.refuses(
                f"a wrong {field} is refused",
                remember,
                shelf,
                *arguments,
                mentions=field,
                given=f"remember(store, {', '.join(map(repr, arguments))})",
                otherwise=f"`check_memory`, which is given, refuses this and names {field}: call it first.",
            )


def _field_mistake(wrong: dict[str, Any], now: float) -> str:
    if wrong.get("expires_at") == now:
        return "Without a ttl it expires this very second: 0 stands for never."
    if "generation" in wrong:
        return "The first value of a slot is generation 1: readers tell by it which one is newer."
    return f"The metadata are not complete: look at {', '.join(wrong)}."


def _replacing(case: Cases, remember: Function) -> None:
    shelf = Shelf()
    shelf.seed(BANER, "rohan", slot="address")
    shelf.seed("Likes tea.", "rohan")
    shelf.seed("After six.", "rohan", slot="delivery_time")
    shelf.seed("Lives in Aundh.", "sunita", slot="address")
    shelf.moments.clear()
    remember(shelf, "rohan", KOTHRUD, "fact", 4, slot="address")
    given = "Rohan: address Baner, likes tea, delivery_time · Sunita: address Aundh; Rohan moves to Kothrud"
    left = shelf.texts()
    case.holds(
        "the slot has its new value only",
        BANER not in left,
        "Baner is still there: `store.retire` the old values of the slot.",
        given=given,
        got=left,
    )
    case.holds(
        "the new value is not retired with the old",
        KOTHRUD in left,
        "Kothrud is gone: you looked the old values up after writing, and retired the new one with them.",
        given=given,
        got=left,
    )
    case.holds(
        "at every moment there was a value",
        all(BANER in moment or KOTHRUD in moment for moment in shelf.moments),
        "For a moment Rohan had no address, and a crash makes that moment for ever. Write the new "
        "value "
        "first, then retire the old.",
        given=given,
        expected=Shown("Baner, then both, then Kothrud"),
        got=shelf.moments,
    )
    case.holds(
        "other slots are left alone",
        "After six." in left,
        "His delivery time went with the old address: the slot belongs into the filter.",
        given=given,
        got=left,
    )
    case.holds(
        "memories without a slot stay",
        "Likes tea." in left,
        "Likes tea. has no slot, and is gone.",
        given=given,
        got=left,
    )
    case.holds(
        "another customer's slot stays",
        shelf.texts("sunita") == ["Lives in Aundh."],
        "Sunita's address went when Rohan moved: a slot belongs to one customer.",
        given=given,
        expected=["Lives in Aundh."],
        got=shelf.texts("sunita"),
    )
    case.holds(
        "the old value is logged",
        shelf.retired == [BANER],
        "Baner was deleted without a trace: `store.retire` logs what it deletes.",
        given=given,
        expected=[BANER],
        got=shelf.retired,
    )
    [row] = [row for row in shelf.rows("rohan") if row.text == KOTHRUD]
    case.holds(
        "it is the next generation",
        row.generation == 2,
        "While both are there, readers take the highest generation: the new one must be one above the old.",
        given=given,
        expected=2,
        got=row.generation,
    )
    remember(shelf, "rohan", "Lives in Wakad.", "fact", 4, slot="address")
    [row] = [row for row in shelf.rows("rohan") if row.slot == "address"]
    case.holds(
        "and the next one after that",
        row.generation == 3,
        "How many values there are does not say how many there were: go one above the *highest* generation.",
        given="Rohan moves once more, to Wakad",
        expected=3,
        got=row.generation,
    )
    shelf = Shelf()
    shelf.seed("Likes tea.", "rohan")
    remember(shelf, "rohan", "Likes brownies.", "preference", 3)
    case.holds(
        "without a slot nothing is replaced",
        shelf.texts() == ["Likes tea.", "Likes brownies."],
        "An empty slot is no slot. You treated '' as a name, and all memories without a slot as its values.",
        given="two memories, neither has a slot",
        expected=["Likes tea.", "Likes brownies."],
        got=shelf.texts(),
    )


ALLERGY = "Allergic to peanuts."


@exercise("09-recall")
def _(case: Cases, recall: Function) -> None:
    def recalled(*rows: tuple[str, dict[str, Any]], query: str = "diwali hamper", k: int = 1) -> Any:
        shelf = Shelf()
        for text, about in rows:
            shelf.seed(text, **about)
        return recall(shelf, "sunita", query, k)

    with _at_noon() as now:
        hamper: tuple[str, dict[str, Any]] = ("The Diwali hamper was late.", {})
        pin = (ALLERGY, {"importance": 5})
        case(
            "the pin is there whatever is asked",
            recalled,
            hamper,
            pin,
            k=0,
            expect=[ALLERGY],
            given="an allergy of importance 5 and a hamper; asked about the hamper, k=0",
            otherwise="What is pinned comes back on every turn.",
            mistakes=[([], "The allergy had to compete and lost. Pins stand outside the ranking.")],
        )
        case(
            "pins first, and they take no place",
            recalled,
            hamper,
            pin,
            k=1,
            expect=[ALLERGY, hamper[0]],
            given="the same, k=1",
            otherwise="One pin, then k others.",
            mistakes=[
                ([ALLERGY], "The pin used up the place of the hamper: k counts the others."),
                ([hamper[0], ALLERGY], "Pins come first."),
            ],
        )
        case(
            "a pin comes back once",
            recalled,
            hamper,
            pin,
            k=2,
            expect=[ALLERGY, hamper[0]],
            given="the same, k=2",
            otherwise="The pin came back twice: it is in the ranking as well.",
        )
        over = {"expires_at": now - 1}
        case(
            "an expired pin is not shown",
            recalled,
            (ALLERGY, {"importance": 5} | over),
            expect=[],
            given="a pin that expired a second ago",
            otherwise="Pinned or not, what has expired is over: draw on `what_do_you_remember`.",
        )
        case(
            "what expired is not ranked",
            recalled,
            (hamper[0], over),
            expect=[],
            given="a hamper that expired a second ago",
            otherwise="It is still in the collection, and no longer true: leave it out of the ranking, too.",
        )
        case(
            "the score decides, not the distance",
            recalled,
            ("Asked about a Diwali hamper.", {"importance": 1}),
            ("Wants the Diwali hamper without nuts.", {"importance": 4}),
            expect=["Wants the Diwali hamper without nuts."],
            given="a near one of importance 1, a farther one of importance 4; k=1",
            otherwise="Sort by `score(memory, cosine)`, the highest first.",
            mistakes=[
                (
                    ["Asked about a Diwali hamper."],
                    "You took the k nearest. Over-fetch, re-score, *then* cut to k.",
                )
            ],
        )
        crowd = [(f"Diwali hamper {number}.", over) for number in range(15)]
        case(
            "what no longer holds crowds out nothing",
            recalled,
            *crowd,
            ("Likes tea.", {}),
            expect=["Likes tea."],
            given="15 expired memories of hampers, and 'Likes tea.'; asked about the hamper",
            otherwise="The nearest ten were all expired, so nothing was left to rank: fetch as many more as "
            "there are that do not count.",
        )
        case(
            "nobody else's memory comes back",
            recalled,
            ("Bo's Diwali hamper.", {"user_id": "bo"}),
            expect=[],
            given="a memory of Bo's; Sunita asks",
            otherwise="The owner belongs into every filter.",
        )
        twins = [(ALLERGY, {"importance": 5}), (ALLERGY, {"importance": 2})]
        case(
            "equal words are two memories",
            recalled,
            *twins,
            expect=[ALLERGY, ALLERGY],
            given="the same sentence as a pin, and as an episode of importance 2",
            otherwise="You told memories apart by their text. Two may say the same: compare ids.",
        )
        case(
            "in the ranking, too",
            recalled,
            hamper,
            hamper,
            k=2,
            expect=[hamper[0]] * 2,
            given="two memories of the same words, none of them pinned; k=2",
            otherwise="You ranked texts and dropped what occurs twice: two memories may say the same.",
        )
        case(
            "fewer than k come as they are",
            recalled,
            hamper,
            k=10,
            expect=[hamper[0]],
            given="one memory, k=10",
            otherwise="There is one, so one comes back.",
        )
