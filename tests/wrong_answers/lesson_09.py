"""Answers to lesson 09 that its checks must tell apart, and right ones that look different."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from memlab import clock
from memlab.records import check_id, new_id
from solutions.policy_store import check_memory, score

Answer = Callable[..., Any]
Wrong = list[tuple[Answer, str]]


# --- 09-similarity ----------------------------------------------------------------------------------


def the_distance_itself(distance: float, space: str = "cosine") -> float:
    return distance


def one_over_one_plus(distance: float, space: str = "cosine") -> float:
    return 1 / (1 + distance)


def one_minus_in_every_space(distance: float, space: str = "cosine") -> float:
    return 1 - distance


def squared_again(distance: float, space: str = "cosine") -> float:
    return 1 - distance**2 / 2 if space == "l2" else 1 - distance


def cut_off_at_zero(distance: float, space: str = "cosine") -> float:
    return max(0.0, 1 - distance / 2 if space == "l2" else 1 - distance)


def any_space(distance: float, space: str = "cosine") -> float:
    return 1 - distance / 2 if space == "l2" else 1 - distance


def from_a_table(distance: float, space: str = "cosine") -> float:
    scale = {"cosine": 1.0, "ip": 1.0, "l2": 0.5}
    if space not in scale:
        raise ValueError(f"space={space!r} is none of {sorted(scale)}")
    return 1 - scale[space] * distance


# --- 09-where ---------------------------------------------------------------------------------------


def always_and(*conditions: dict[str, Any]) -> dict[str, Any]:
    return {"$and": list(conditions)}


def empty_for_none(*conditions: dict[str, Any]) -> dict[str, Any]:
    return (
        {"$and": list(conditions)}
        if len(conditions) > 1
        else {k: v for c in conditions for k, v in c.items()}
    )


def and_of_one(*conditions: dict[str, Any]) -> dict[str, Any] | None:
    return {"$and": list(conditions)} if conditions else None


def merged(*conditions: dict[str, Any]) -> dict[str, Any] | None:
    return {key: value for condition in conditions for key, value in condition.items()} or None


def any_of(*conditions: dict[str, Any]) -> dict[str, Any] | None:
    return {"$or": list(conditions)} if len(conditions) > 1 else next(iter(conditions), None)


def nested(*conditions: dict[str, Any]) -> dict[str, Any] | None:
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return {"$and": [conditions[0], nested(*conditions[1:])]}


def by_length(*conditions: dict[str, Any]) -> dict[str, Any] | None:
    match conditions:
        case ():
            return None
        case (only,):
            return only
    return {"$and": [*conditions]}


# --- 09-metadata ------------------------------------------------------------------------------------


def _dumped(name: str, value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


def _encode(name: str, value: Any, dumped: Callable[[str, Any], str] = _dumped) -> Any:
    if isinstance(value, list | dict) or (isinstance(value, str) and value.startswith("json:")):
        return "json:" + dumped(name, value)
    if isinstance(value, float) and math.isnan(value):
        raise ValueError(f"{name} is NaN")
    if value is not None and not isinstance(value, str | int | float):
        raise TypeError(f"{name} is no JSON")
    return value


def with_a_loop(
    fields: Mapping[str, object], *, update: bool = False, dumped: Callable[[str, Any], str] = _dumped
) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    for name, value in fields.items():
        if value is None and not update:
            continue
        metadata[name] = _encode(name, value, dumped)
    return metadata


def nan_in_a_list(fields: Mapping[str, object], *, update: bool = False) -> dict[str, Any]:
    return with_a_loop(fields, update=update, dumped=lambda name, value: json.dumps(value))


def unnamed_in_a_list(fields: Mapping[str, object], *, update: bool = False) -> dict[str, Any]:
    def dumped(name: str, value: Any) -> str:
        if isinstance(value, list) and math.nan in value:
            raise ValueError(name)
        return json.dumps(value)

    return with_a_loop(fields, update=update, dumped=dumped)


def keeps_none(fields: Mapping[str, object], *, update: bool = False) -> dict[str, Any]:
    return with_a_loop(fields, update=True)


def none_as_text(fields: Mapping[str, object], *, update: bool = False) -> dict[str, Any]:
    return with_a_loop({name: str(value) if value is None else value for name, value in fields.items()})


def never_none(fields: Mapping[str, object], *, update: bool = False) -> dict[str, Any]:
    return with_a_loop(fields)


def drops_what_is_falsy(fields: Mapping[str, object], *, update: bool = False) -> dict[str, Any]:
    return {k: v for k, v in with_a_loop(fields, update=update).items() if v or v is None}


def lists_as_they_are(fields: Mapping[str, object], *, update: bool = False) -> dict[str, Any]:
    plain = {k: v for k, v in fields.items() if not isinstance(v, list)}
    return with_a_loop(plain, update=update) | {k: v for k, v in fields.items() if isinstance(v, list)}


def no_empty_lists(fields: Mapping[str, object], *, update: bool = False) -> dict[str, Any]:
    return with_a_loop({k: v for k, v in fields.items() if v != []}, update=update)


def text_untouched(fields: Mapping[str, object], *, update: bool = False) -> dict[str, Any]:
    texts = {k: v for k, v in fields.items() if isinstance(v, str)}
    return with_a_loop(fields, update=update) | texts


def all_as_json(fields: Mapping[str, object], *, update: bool = False) -> dict[str, Any]:
    kept = {k: v for k, v in fields.items() if v is not None or update}
    return {
        k: v if isinstance(v, str | None) or type(v) in (int, float) else "json:" + json.dumps(v)
        for k, v in kept.items()
    }


# --- 09-topic-sweep ---------------------------------------------------------------------------------


def _pairs(found: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(text, dict(about)) for text, about in zip(found["documents"], found["metadatas"], strict=True)]


def _checked(user_id: str, topic: str) -> dict[str, Any]:
    return {"$and": [{"user_id": check_id("user_id", user_id)}, {"topic": check_id("topic", topic)}]}


def everybodys(collection: Any, user_id: str, topic: str) -> Any:
    return _pairs(collection.get(where={"topic": topic}))


def every_topic(collection: Any, user_id: str, topic: str) -> Any:
    return _pairs(collection.get(where={"user_id": user_id}))


def active_only(collection: Any, user_id: str, topic: str) -> Any:
    return [pair for pair in _pairs(collection.get(where=_checked(user_id, topic))) if pair[1]["active"]]


def nearest_ten(collection: Any, user_id: str, topic: str) -> Any:
    found = collection.get(where=_checked(user_id, topic), limit=10)
    return _pairs(found)


def texts_only(collection: Any, user_id: str, topic: str) -> Any:
    return collection.get(where=_checked(user_id, topic))["documents"]


def unchecked(collection: Any, user_id: str, topic: str) -> Any:
    return _pairs(collection.get(where={"$and": [{"user_id": user_id}, {"topic": topic}]}))


def filtered_in_python(collection: Any, user_id: str, topic: str) -> Any:
    check_id("topic", topic)
    mine = _pairs(collection.get(where={"user_id": check_id("user_id", user_id)}))
    return [(text, about) for text, about in mine if about["topic"] == topic]


# --- 09-remember ------------------------------------------------------------------------------------


def _written(
    store: Any, user_id: str, text: str, kind: str, importance: int, slot: str, ttl_days: float,
    sources: Iterable[str], generation: int = 1, day: float = clock.DAY,
) -> str:  # fmt: skip
    now, name = clock.now(), new_id()
    about = {
        "user_id": user_id, "kind": kind, "importance": importance, "slot": slot, "created_at": now,
        "expires_at": now + ttl_days * day if ttl_days else 0.0, "generation": generation,
        "sources": "json:" + json.dumps(list(sources)),
    }  # fmt: skip
    store.memories.upsert(ids=[name], embeddings=[store.embedder(text)], documents=[text], metadatas=[about])
    return name


def _remember(
    *,
    check: bool = True,
    find: Callable[[Any, str, str], list[Any]] = lambda store, user_id, slot: (
        store.rows(user_id, {"slot": slot}) if slot else []
    ),
    first: bool = False,
    generation_after: Callable[[list[Any]], int] = lambda old: (
        1 + max((row.generation for row in old), default=0)
    ),
    late: bool = False,
    log: bool = True,
    retire: bool = True,
    day: float = clock.DAY,
) -> Answer:
    def remember(
        store: Any, user_id: str, text: str, kind: str, importance: int, *, slot: str = "",
        ttl_days: float = 0, sources: Iterable[str] = (),
    ) -> str:  # fmt: skip
        if check:
            check_memory(user_id, text, kind, importance, slot, ttl_days)
        old = find(store, user_id, slot)
        generation = generation_after(old)
        if first:
            store.retire(user_id, old, "replaced")
        name = _written(store, user_id, text, kind, importance, slot, ttl_days, sources, generation, day)
        if late:
            old = find(store, user_id, slot)
        if not log:
            for row in old:
                store.memories.delete(ids=[row.memory_id])
        elif retire and not first:
            store.retire(user_id, old, "replaced")
        return name

    return remember


def _everybodys_slot(store: Any, user_id: str, slot: str) -> list[Any]:
    return store.rows(user_id, {"slot": slot}) + store.rows("sunita", {"slot": slot}) if slot else []


def _retires_for_all(store: Any, user_id: str, text: str, *about: Any, slot: str = "", **how: Any) -> str:
    name: str = _remember()(store, user_id, text, *about, slot=slot, **how)
    if slot:
        others = store.memories.get(where={"slot": slot})["ids"]
        if len(others) > 1:
            store.memories.delete(ids=[other for other in others if other != name])
    return name


def never_is_now(store: Any, user_id: str, *rest: Any, ttl_days: float = 0, **how: Any) -> str:
    name: str = _remember()(store, user_id, *rest, ttl_days=ttl_days, **how)
    if not ttl_days:
        store.memories.update(ids=[name], metadatas=[{"expires_at": clock.now()}])
    return name


# --- 09-recall --------------------------------------------------------------------------------------


def _recall(
    *,
    pins_from: Callable[[Any, str], list[Any]] = lambda store, user_id: store.what_do_you_remember(user_id),
    rank_from: Callable[[Any, str], list[Any]] = lambda store, user_id: store.what_do_you_remember(user_id),
    pinned: Callable[[Any], bool] = lambda memory: memory.importance >= 5,
    both: bool = False,
    rank: Callable[[Any, float], float] = score,
    spare: bool = True,
    cut: Callable[[list[str], list[str], int], list[str]] = lambda pins, others, k: pins + others[:k],
) -> Answer:
    def recall(store: Any, user_id: str, query: str, k: int = 3, *, overfetch: int = 10) -> list[str]:
        pins = [memory for memory in pins_from(store, user_id) if pinned(memory)]
        others = {m.memory_id: m for m in rank_from(store, user_id) if both or not pinned(m)}
        most = max(k, overfetch) + (len(store.rows(user_id)) if spare else 0)
        near = store.similar(user_id, query, most)
        scored = sorted(
            ((rank(others[name], cosine), others[name].text) for name, cosine in near if name in others),
            key=lambda pair: -pair[0],
        )
        return cut([pin.text for pin in pins], [text for _, text in scored], k)

    return recall


def by_text(store: Any, user_id: str, query: str, k: int = 3, *, overfetch: int = 10) -> list[str]:
    pins = [m.text for m in store.what_do_you_remember(user_id) if m.importance >= 5]
    ranked: list[str] = _recall(pinned=lambda _: False)(store, user_id, query, 100)
    return pins + [text for text in ranked if text not in pins][:k]


def everything_at_once(store: Any, user_id: str, query: str, k: int = 3, *, overfetch: int = 10) -> list[str]:
    cosines = dict(store.similar(user_id, query, 10_000))
    live = store.what_do_you_remember(user_id)
    pins = [memory.text for memory in live if memory.importance == 5]
    rest = [memory for memory in live if memory.importance < 5]
    rest.sort(key=lambda memory: score(memory, cosines[memory.memory_id]), reverse=True)
    return pins + [memory.text for memory in rest][:k]


WRONG: dict[str, Wrong] = {
    "09-similarity": [
        (the_distance_itself, "*smallest* number is the best match"),
        (one_over_one_plus, "it is no cosine"),
        (one_minus_in_every_space, "holds for the space cosine"),
        (squared_again, "squared already"),
        (cut_off_at_zero, "cut off at 0"),
        (any_space, "names `space`"),
    ],
    "09-where": [
        (always_and, "An empty `$and`"),
        (empty_for_none, "`{}` is refused"),
        (and_of_one, "`$and` of one"),
        (merged, "One dict with two keys"),
        (any_of, "everybody's active memories"),
        (nested, "Do not nest"),
    ],
    "09-metadata": [
        (keeps_none, "None is still in there"),
        (none_as_text, "'None' is a text"),
        (drops_what_is_falsy, "are values"),
        (never_none, "keeps its old value"),
        (lists_as_they_are, "A list must become JSON text"),
        (no_empty_lists, "empty list went missing"),
        (text_untouched, "begins with `json:`"),
        (nan_in_a_list, "`allow_nan=False`"),
        (unnamed_in_a_list, "cannot know the field"),
        (all_as_json, "A bool as JSON text"),
    ],
    "09-topic-sweep": [
        (everybodys, "Bo's memory came back"),
        (every_topic, "aisle is not on diet"),
        (active_only, "tombstone is missing"),
        (nearest_ten, "nearest few"),
        (texts_only, "list of pairs"),
        (unchecked, "refuses an empty user_id"),
    ],
    "09-remember": [
        (never_is_now, "0 stands for never"),
        (_remember(retire=False), "Baner is still there"),
        (_remember(late=True), "looked the old values up after writing"),
        (_remember(first=True), "For a moment Rohan had no address"),
        (_remember(find=lambda s, user_id, slot: s.rows(user_id) if slot else []), "His delivery time"),
        (_retires_for_all, "Sunita's address went"),
        (_remember(log=False), "without a trace"),
        (_remember(generation_after=lambda old: 1), "one above the old"),
        (_remember(generation_after=lambda old: 1 + len(old)), "one above the *highest*"),
        (
            _remember(find=lambda s, user_id, slot: s.rows(user_id, {"slot": slot})),
            "An empty slot is no slot",
        ),
        (_remember(day=1.0), "seven days from now"),
        (_remember(check=False), "`check_memory`, which is given, refuses this and names importance"),
    ],
    "09-recall": [
        (_recall(pins_from=lambda *_: []), "had to compete and lost"),
        (_recall(cut=lambda pins, others, k: (pins + others)[: max(k, len(pins))]), "used up the place"),
        (_recall(cut=lambda pins, others, k: others[:k] + pins), "Pins come first"),
        (_recall(both=True), "came back twice"),
        (_recall(pins_from=lambda s, user_id: s.rows(user_id)), "Pinned or not"),
        (_recall(rank_from=lambda s, user_id: s.rows(user_id)), "out of the ranking, too"),
        (_recall(rank=lambda memory, cosine: cosine), "You took the k nearest"),
        (_recall(spare=False), "nothing was left to rank"),
        (by_text, "told memories apart by their text"),
        (_recall(cut=lambda pins, others, k: pins + list(dict.fromkeys(others))[:k]), "what occurs twice"),
    ],
}

RIGHT: dict[str, list[Answer]] = {
    "09-similarity": [from_a_table],
    "09-where": [by_length],
    "09-metadata": [with_a_loop],
    "09-topic-sweep": [filtered_in_python],
    "09-remember": [_remember()],
    "09-recall": [everything_at_once],
}
