"""Answers to lesson 09 that its checks must tell apart, and right ones that look different."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from memlab import clock
from memlab.fields import check_id, check_whole
from memlab.records import new_id
from solutions.policy_store import check_memory, score

Answer = Callable[..., Any]

# --- right, and written differently -------------------------------------------------------------------


def from_a_table(distance: float, space: str = "cosine") -> float:
    scale = {"cosine": 1.0, "ip": 1.0, "l2": 0.5}
    if space not in scale:
        raise ValueError(f"space={space!r} is none of {sorted(scale)}")
    return 1 - scale[space] * distance


def by_length(*conditions: dict[str, Any]) -> dict[str, Any] | None:
    match conditions:
        case ():
            return None
        case (only,):
            return only
    return {"$and": [*conditions]}


def with_json_alone(fields: Mapping[str, object], *, update: bool = False) -> dict[str, Any]:
    def packed(name: str, value: object) -> object:
        if isinstance(value, list | dict) or str(value).startswith("json:"):
            try:
                return "json:" + json.dumps(value, allow_nan=False)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{name}: {error}") from None
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} is no number to filter by")
        if value is not None and not isinstance(value, str | int | float):
            raise TypeError(f"{name} is no JSON")
        return value

    return {name: packed(name, value) for name, value in fields.items() if update or value is not None}


def filtered_in_python(collection: Any, user_id: str, topic: str) -> Any:
    check_id("topic", topic)
    rows = collection.get(where={"user_id": check_id("user_id", user_id)})
    pairs = zip(rows["documents"], rows["metadatas"], strict=True)
    return [(text, dict(about)) for text, about in pairs if about["topic"] == topic]


def by_upsert(
    store: Any, user_id: str, text: str, kind: str, importance: int, *, slot: str = "", ttl_days: float = 0,
    sources: Iterable[str] = (),
) -> str:  # fmt: skip
    check_memory(user_id, text, kind, importance, slot, ttl_days, sources)
    rivals = [row for row in store.rows(user_id) if slot and row.slot == slot]
    about = {
        "user_id": user_id, "kind": kind, "importance": importance, "slot": slot, "created_at": clock.now(),
        "expires_at": clock.now() + ttl_days * 86_400 if ttl_days else 0.0,
        "generation": sorted([0, *(row.generation for row in rivals)])[-1] + 1,
        "sources": "json:" + json.dumps([*sources]),
    }  # fmt: skip
    name = new_id()
    store.memories.upsert(ids=[name], embeddings=[store.embedder(text)], documents=[text], metadatas=[about])
    if rivals:
        store.retire(user_id, rivals, "replaced")
    return name


def everything_at_once(store: Any, user_id: str, query: str, k: int = 3, *, overfetch: int = 10) -> list[str]:
    check_whole("k", k)
    cosines = dict(store.similar(user_id, query, 10_000))
    live = store.what_do_you_remember(user_id)
    pins = [memory.text for memory in live if memory.importance == 5]
    rest = [memory for memory in live if memory.importance < 5]
    rest.sort(key=lambda memory: score(memory, cosines[memory.memory_id]), reverse=True)
    return pins + [memory.text for memory in rest][:k]


RIGHT: dict[str, list[Answer]] = {
    "09-similarity": [from_a_table],
    "09-where": [by_length],
    "09-metadata": [with_json_alone],
    "09-topic-sweep": [filtered_in_python],
    "09-remember": [by_upsert],
    "09-recall": [everything_at_once],
}

# --- wrong, as edits of the reference -------------------------------------------------------------------

# fmt: off
FORMULA = 'return 1 - distance / 2 if space == "l2" else 1 - distance =>'
JOINED = 'return {"$and": list(conditions)} =>'
PLAIN = "plain_value(name, value) =>"
PAIRS = "return [(document, dict(metadata)) for document, metadata in pairs] =>"
CHECK = "check_memory(user_id, text, kind, importance, slot, ttl_days, sources)"
RETIRE = 'store.retire(user_id, old, f"replaced by {memory_id}")'
NAMED = "memory_id = new_id()"
HIGHEST = "max((memory.generation for memory in old), default=0)"

WRONG: dict[str, list[tuple[str, str]]] = {
    "09-similarity": [
        (f"{FORMULA} return distance", "*smallest* number is the best match"),
        (f"{FORMULA} return 1 / (1 + distance)", "it is no cosine"),
        (f"{FORMULA} return 1 - distance / 2", "no squared length"),
        (f"{FORMULA} return 1 - distance", "holds for the space cosine"),
        ("distance / 2 if => distance**2 / 2 if", "squared already"),
        ("else 1 - distance => else max(0.0, 1 - distance)", "cut off at 0"),
        ('if space not in ("cosine", "ip", "l2"): => if False:', "names `space`"),
    ],
    "09-where": [
        ("if len(conditions) < 2: => if False:", "An empty `$and`"),
        ("if conditions else None => if conditions else {}", "`{}` is refused"),
        ('return conditions[0] if => return {"$and": list(conditions)} if', "`$and` of one"),
        (f"{JOINED} return conditions[0] | conditions[1]", "One dict with two keys"),
        (f'{JOINED} return {{"$or": list(conditions)}}', "everybody's active memories"),
        (f'{JOINED} return {{"$and": [conditions[0], where_all(*conditions[1:])]}}', "do not nest"),
        (f'{JOINED} return {{"$and": conditions}}', "Make it a list"),
        (f'{JOINED} copies = [dict(c) for c in conditions]\n    conditions[0].clear()\n'
         '    return {"$and": copies}', "belongs to the caller"),
    ],
    "09-metadata": [
        ("if update: => if True:", "None is still in there"),
        ('if update: => if not update:\n                metadata[name] = "None"\n            else:',
         "'None' is a text"),
        ("if value is None: => if not value:", "are values"),
        ("if update: => if False:", "keeps its old value"),
        ("for name, value in fields.items(): => if update:\n        return dict(fields)\n"
         "    for name, value in fields.items():", "no more than `add` does"),
        (f"isinstance(value, list | dict) => isinstance(value, dict) ;; {PLAIN} value", "A list must become"),
        ("elif isinstance => elif value == []:\n            pass\n        elif isinstance",
         "empty list went missing"),
        (" or (isinstance(value, str) and value.startswith(JSON)) => ", "begins with `json:`"),
        (f"{PLAIN} value", "no comparison finds it"),
        (f"{PLAIN} value if value == float('inf') else plain_value(name, value)", "Infinity is no JSON"),
        (f"{PLAIN} value if isinstance(value, set) else plain_value(name, value)", "What is no JSON"),
        ("json_text(name, value) => __import__('json').dumps(value)", "`allow_nan=False`"),
        ("json_text(name, value) => json_text(name if 'nan' in str(value) else '?', value)",
         "cannot know the field"),
        ("isinstance(value, list | dict) => isinstance(value, list | dict | bool)", "A bool as JSON text"),
        ("for name, value in fields.items(): => kept = list(fields.items())\n    fields.clear()\n"
         "    for name, value in kept:", "belongs to the caller"),
    ],
    "09-topic-sweep": [
        ('{"user_id": check_id("user_id", user_id)}, => ', "Bo's memory came back"),
        (', {"topic": check_id("topic", topic)} => ', "aisle is not on diet"),
        ('where_all( => where_all({"active": True}, ', "tombstone is missing"),
        ('rows["documents"], => rows["ids"],', "These are the ids"),
        (f"{PAIRS} return list(dict(pairs).items())", "made one of them"),
        ("get(where=wanted) => get(where=wanted, limit=100)", "or a page"),
        (f'{PAIRS} return rows["documents"]', "list of pairs"),
        ('check_id("user_id", user_id) => user_id', "refuses an empty user_id"),
        ('check_id("topic", topic) => topic', "refuses an empty topic"),
    ],
    "09-remember": [
        ("clock.DAY if ttl_days else NEVER => clock.DAY", "0 stands for never"),
        (f"1 + {HIGHEST} => {HIGHEST}", "first value of a slot is generation 1"),
        ('"sources": list(sources) => "sources": []', "The sources are lost"),
        ('"importance": importance => "importance": 4', "Not every argument"),
        ("ttl_days * clock.DAY => ttl_days", "seven days from now"),
        ("now + ttl_days => now + int(ttl_days)", "need not be whole"),
        ("store.embedder(text) => hash_embed(text)", "not the store's own"),
        ("return memory_id => return text", "you give back its id"),
        (f"{RETIRE} => store.retire(user_id, store.rows(user_id), '')", "looked the old values up after"),
        (f"{CHECK} => ", "refuses this and names importance"),
        (f"{CHECK} => check_memory(user_id, text, kind, importance, slot, ttl_days)", "two ids, its letters"),
        (f"{CHECK} => pass ;; {RETIRE} => {CHECK}\n    {RETIRE}", "check before you write"),
        (f"{RETIRE} => ", "Baner is still there"),
        (f"{NAMED} => memory_id = old[0].memory_id if old else new_id()", "the id of the old one"),
        (f"{NAMED} => {NAMED}\n    store.retire(user_id, old, '') ;; {RETIRE} => ", "For a moment Rohan"),
        ('store.rows(user_id, {"slot": slot}) if slot => store.rows(user_id) if slot', "His delivery time"),
        (f"{RETIRE} => {RETIRE}\n    for name in store.memories.get(where={{'slot': slot}})['ids']:\n"
         "        if slot and name != memory_id:\n            store.memories.delete([name])",
         "Sunita's address went"),
        (f"{RETIRE} => for memory in old:\n        store.memories.delete([memory.memory_id])",
         "without a trace"),
        (f"1 + {HIGHEST} => 1", "one above the old"),
        (f"{HIGHEST} => (old[0].generation if old else 0)", "one above the *highest*"),
        ("retire(user_id, old, => retire(user_id, old[-1:],", "not all of them are retired"),
        (" if slot else [] => ", "An empty slot is no slot"),
        (f"{NAMED} => for memory in store.rows(user_id):\n        if memory.text == text:\n"
         f"            return memory.memory_id\n    {NAMED}", "The same words came"),
    ],
    "09-recall": [
        ("[memory.text for memory in pins] +  => ", "had to compete and lost"),
        ("scored[:k] => scored[:max(0, k - len(pins))]", "used up the place"),
        ("[memory.text for memory in pins] + [memory.text for _, memory in scored[:k]] => "
         "[memory.text for _, memory in scored[:k]] + [memory.text for memory in pins]", "Pins come first"),
        ("live if memory.importance < SAFETY => live", "came back twice"),
        ("for memory in pins => for memory in pins[::-1]", "the oldest first"),
        ("pins = [memory for memory in live => pins = [memory for memory in store.rows(user_id)",
         "Pinned or not"),
        ("live if memory.importance < => store.rows(user_id) if memory.importance <",
         "out of the ranking, too"),
        ("cosine), others => 1 - cosine), others", "turns it round"),
        ("score(others[name], cosine) => cosine", "You took the k nearest"),
        ("overfetch) + spare => 5) + spare", "score `overfetch` of them at least"),
        ("max(k, overfetch) => max(k, 10)", "says how many to score"),
        ("max(k, overfetch) => overfetch", "fetch k of them at least"),
        (" + spare => ", "nothing was left to rank"),
        ("- len(others) => - len(others) - len(pins)", "were all pins"),
        ("if name in others => if name in others and others[name].text not in [pin.text for pin in pins]",
         "told memories apart by their text"),
        ("in scored[:k] => in list({m.text: (s, m) for s, m in scored}.values())[:k]", "what occurs twice"),
        ('check_whole("k", k) => ', "A slice to -1"),
    ],
}

FIELD = "the error still names the field"
COLUMNS = "the two lists that Chroma gives are of one length"
ENOUGH = "`overfetch` at least are scored: more take longer, and lose nothing"
SPARED: dict[str, dict[str, str]] = {
    "09-where": {
        "return conditions[0] if conditions => return conditions[-1] if conditions":
            "of one condition, the first is the last",
    },
    "09-topic-sweep": {
        "rows['metadatas'], strict=True) => rows['metadatas'])": COLUMNS,
        "rows['metadatas'], strict=True) => rows['metadatas'], strict=False)": COLUMNS,
        "check_id('user_id', user_id)}, => check_id('user_idX', user_id)},": FIELD,
        "check_id('topic', topic)}) => check_id('topicX', topic)})": FIELD,
    },
    "09-recall": {
        "overfetch: int=10) -> list[str]: => overfetch: int=11) -> list[str]:": ENOUGH,
        "overfetch: int=10) -> list[str]: => overfetch: int=20) -> list[str]:": ENOUGH,
        "len(store.rows(user_id)) - len(others) => len(store.rows(user_id)) + len(others)": ENOUGH,
    },
}
# fmt: on
