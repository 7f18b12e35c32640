"""Answers to lesson 10 that its checks must tell apart, and right ones that look different."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from memlab import clock
from memlab.records import Candidate, MemoryRecord, Operation, Source, check_id
from solutions.consolidation import decide, take_note
from solutions.extraction import ExtractionFailed
from solutions.mem0_port import (
    affected_memories,
    holding,
    new_memory,
    owner_filter,
    record_of,
    records,
    rivals,
    rows,
    save,
    supersede,
)

Answer = Callable[..., Any]
Wrong = list[tuple[Answer, str]]


# --- 10-read-memories -------------------------------------------------------------------------------


def as_mem0_does(reply: str) -> list[str]:
    try:
        return [fact["text"] for fact in json.loads(_json_of(reply)).get("memory", [])]
    except ValueError:
        return []


def get_or_nothing(reply: str) -> list[str]:
    if not reply:
        raise ExtractionFailed("reply='' is empty")
    try:
        return [fact["text"] for fact in json.loads(_json_of(reply)).get("memory", [])]
    except ValueError as error:
        raise ExtractionFailed(f"reply={reply!r}: {error}") from None


def empty_is_nothing(reply: str) -> list[str]:
    return with_a_pattern(reply) if reply else []


def no_fences(reply: str) -> list[str]:
    try:
        return [fact["text"] for fact in json.loads(reply)["memory"]]
    except (ValueError, KeyError) as error:
        raise ExtractionFailed(f"reply={reply!r}: {error}") from None


def the_dicts(reply: str) -> list[Any]:
    found: list[Any] = json.loads(_json_of(reply))["memory"]
    return found


def those_with_a_text(reply: str) -> list[str]:
    found = json.loads(_checked_json(reply))["memory"]
    return [fact["text"] for fact in found if "text" in fact]


def nothing_is_a_failure(reply: str) -> list[str]:
    found = with_a_pattern(reply)
    if not found:
        raise ExtractionFailed(f"reply={reply!r} holds no memories")
    return found


def any_shape(reply: str) -> list[str]:
    found = json.loads(_checked_json(reply))["memory"]
    if isinstance(found, dict):
        return [str(value) for value in found.values()]
    return with_a_pattern(reply)


def with_a_pattern(reply: str) -> list[str]:
    found = json.loads(_checked_json(reply))["memory"]
    if not isinstance(found, list) or not all(isinstance(fact.get("text"), str) for fact in found):
        raise ExtractionFailed(f"reply={reply[:80]!r} has a memory without a text")
    return [fact["text"] for fact in found]


def _json_of(reply: str) -> str:
    match = re.search(r"\{.*\}", reply, re.DOTALL)
    return match[0] if match else reply


def _checked_json(reply: str) -> str:
    try:
        if "memory" in json.loads(_json_of(reply)):
            return _json_of(reply)
    except ValueError:
        pass
    raise ExtractionFailed(f"reply={reply[:80]!r} does not hold memories as JSON")


# --- 10-owner-filter --------------------------------------------------------------------------------


def no_questions(user_id: str, app_name: str = "default", **equal: str) -> dict[str, Any]:
    return {"user_id": user_id, "agent_id": app_name, **equal}


def user_only(user_id: str, app_name: str = "default", **equal: str) -> dict[str, Any]:
    return {"user_id": user_id, **equal}


def our_own_name(user_id: str, app_name: str = "default", **equal: str) -> dict[str, Any]:
    return {"user_id": user_id, "app_name": app_name, **equal}


def a_star_for_the_user(user_id: str, app_name: str = "default", **equal: str) -> dict[str, Any]:
    if check_id("user_id", user_id) == "*":
        raise ValueError("user_id='*' is everybody")
    return no_questions(user_id, app_name, **equal)


def stars_in_ids_only(user_id: str, app_name: str = "default", **equal: str) -> dict[str, Any]:
    for name, value in (("user_id", user_id), ("app_name", app_name)):
        if check_id(name, value) == "*":
            raise ValueError(f"{name}='*' is everybody")
    return no_questions(user_id, app_name, **equal)


def text_of_anything(user_id: Any, app_name: Any = "default", **equal: Any) -> dict[str, Any]:
    if not user_id:
        raise ValueError("user_id is missing")
    for name, value in {"user_id": user_id, "app_name": app_name, **equal}.items():
        if str(value) == "*":
            raise ValueError(f"{name}='*' is everybody")
    return no_questions(str(user_id), str(app_name), **equal)


def capitals_only(user_id: str, app_name: str = "default", **equal: str) -> dict[str, Any]:
    for name in equal:
        if name in ("AND", "OR", "NOT"):
            raise ValueError(f"{name} overrides the owner")
    return stars_anywhere(user_id, app_name, **equal)


def stars_anywhere(user_id: str, app_name: str = "default", **equal: str) -> dict[str, Any]:
    for name, value in {"user_id": user_id, "app_name": app_name, **equal}.items():
        if check_id(name, value) == "*":
            raise ValueError(f"{name}='*' is everybody")
    return no_questions(user_id, app_name, **equal)


def operators(user_id: str, app_name: str = "default", **equal: str) -> dict[str, Any]:
    for name in equal:
        if re.fullmatch(r"\$.*|and|or|not", name, re.IGNORECASE):
            raise ValueError(f"{name} overrides the owner")
    return stars_anywhere(user_id, app_name, **equal)


def no_space_anywhere(user_id: str, app_name: str = "default", **equal: str) -> dict[str, Any]:
    for name, value in {"user_id": user_id, "app_name": app_name, **equal}.items():
        if " " in str(value) or str(value).endswith("#ledger"):
            raise ValueError(f"{name}={value!r} cannot be an id")
    return operators(user_id, app_name, **equal)


def the_ledger_is_open(user_id: str, app_name: str = "default", **equal: str) -> dict[str, Any]:
    found = operators(user_id, app_name, **equal)
    for name, value in (("user_id", user_id), ("app_name", app_name)):
        if " " in value:
            raise ValueError(f"{name}={value!r} holds a space")
    return found


def one_question_at_a_time(user_id: str, app_name: str = "default", **equal: str) -> dict[str, Any]:
    for name, value in (("user_id", user_id), ("app_name", app_name)):
        check_id(name, value)
        if len(value.split()) != 1 or value.endswith("#ledger"):
            raise ValueError(f"{name}={value!r} cannot be an id")
    return operators(user_id, app_name, **equal)


# --- 10-owned-row -----------------------------------------------------------------------------------


def asks_nobody(memory: Any, memory_id: str, *, user_id: str, app_name: str = "default") -> Any:
    return _by_our_id(memory, memory_id, user_id, app_name) or memory.get(memory_id)


def by_mem0s_id_only(memory: Any, memory_id: str, *, user_id: str, app_name: str = "default") -> Any:
    owner_filter(user_id, app_name)
    row = memory.get(memory_id)
    return row if row and (row["user_id"], row["agent_id"]) == (user_id, app_name) else None


def by_our_id_only(memory: Any, memory_id: str, *, user_id: str, app_name: str = "default") -> Any:
    return _by_our_id(memory, memory_id, user_id, app_name)


def whatever_the_app(memory: Any, memory_id: str, *, user_id: str, app_name: str = "default") -> Any:
    owner_filter(user_id, app_name)
    found = memory.get_all(filters={"user_id": user_id}, top_k=1000)["results"]
    ours = [row for row in found if memory_id in (row["id"], (row["metadata"] or {}).get("memory_id"))]
    return ours[0] if ours else None


def unknown_raises(memory: Any, memory_id: str, *, user_id: str, app_name: str = "default") -> Any:
    found = _by_our_id(memory, memory_id, user_id, app_name)
    row = found or memory.get(memory_id)
    return row if (row["user_id"], row["agent_id"]) == (user_id, app_name) else None


def the_text(memory: Any, memory_id: str, *, user_id: str, app_name: str = "default") -> Any:
    row = from_the_list(memory, memory_id, user_id=user_id, app_name=app_name)
    return row and row["memory"]


def a_star_looks_everywhere(memory: Any, memory_id: str, *, user_id: str, app_name: str = "default") -> Any:
    found = memory.get_all(filters={"user_id": user_id, "agent_id": app_name}, top_k=1000)["results"]
    ours = [row for row in found if memory_id in (row["id"], (row["metadata"] or {}).get("memory_id"))]
    return ours[0] if ours else None


def from_the_list(memory: Any, memory_id: str, *, user_id: str, app_name: str = "default") -> Any:
    for row in rows(memory, owner_filter(user_id, app_name)):
        if memory_id in (row["id"], record_of(row).memory_id):
            return row
    return None


def _by_our_id(memory: Any, memory_id: str, user_id: str, app_name: str) -> Any:
    found = rows(memory, owner_filter(user_id, app_name, memory_id=memory_id))
    return found[0] if found else None


# --- 10-topic-sweep ---------------------------------------------------------------------------------


def by_resemblance(memory: Any, candidate: Candidate, *, user_id: str, app_name: str = "default") -> Any:
    filters = {**owner_filter(user_id, app_name), "topic": candidate.topic, "subject": candidate.subject}
    found = memory.search(candidate.content, filters=filters, top_k=5)["results"]
    return [record_of(row) for row in found if row["score"] > 0.5]


def whatever_the_subject(
    memory: Any, candidate: Candidate, *, user_id: str, app_name: str = "default"
) -> Any:
    return _in_user_scope(holding(records(memory, user_id, app_name, topic=candidate.topic)))


def whatever_the_topic(memory: Any, candidate: Candidate, *, user_id: str, app_name: str = "default") -> Any:
    return _in_user_scope(holding(records(memory, user_id, app_name, subject=candidate.subject)))


def tombstones_too(memory: Any, candidate: Candidate, *, user_id: str, app_name: str = "default") -> Any:
    return _in_user_scope(_on_topic(memory, candidate, user_id, app_name))


def sessions_too(memory: Any, candidate: Candidate, *, user_id: str, app_name: str = "default") -> Any:
    return holding(_on_topic(memory, candidate, user_id, app_name))


def everybodys(memory: Any, candidate: Candidate, *, user_id: str, app_name: str = "default") -> Any:
    wanted = {"user_id": "*", "topic": candidate.topic, "subject": candidate.subject}
    found = memory.get_all(filters=wanted, top_k=1000)["results"]
    found.sort(key=lambda row: row["metadata"]["written"])
    return _in_user_scope(holding([record_of(row) for row in found]))


def the_first_twenty(memory: Any, candidate: Candidate, *, user_id: str, app_name: str = "default") -> Any:
    wanted = owner_filter(user_id, app_name, topic=candidate.topic, subject=candidate.subject)
    found = memory.get_all(filters=wanted)["results"]
    found.sort(key=lambda row: row["metadata"]["written"])
    return _in_user_scope(holding([record_of(row) for row in found]))


def newest_first(memory: Any, candidate: Candidate, *, user_id: str, app_name: str = "default") -> Any:
    return _in_user_scope(holding(_on_topic(memory, candidate, user_id, app_name)))[::-1]


def active_ones(memory: Any, candidate: Candidate, *, user_id: str, app_name: str = "default") -> Any:
    found = _on_topic(memory, candidate, user_id, app_name)
    return _in_user_scope([record for record in found if record.active()])


def of_any_app(memory: Any, candidate: Candidate, *, user_id: str, app_name: str = "default") -> Any:
    return _in_user_scope(holding(_on_topic(memory, candidate, user_id, "default")))


def in_a_loop(memory: Any, candidate: Candidate, *, user_id: str, app_name: str = "default") -> Any:
    swept = []
    for record in holding(records(memory, user_id, app_name)):
        about = (record.topic, record.subject, record.scope)
        if about == (candidate.topic, candidate.subject, "user"):
            swept.append(record)
    return swept


def _on_topic(memory: Any, candidate: Candidate, user_id: str, app_name: str) -> list[MemoryRecord]:
    return records(memory, user_id, app_name, topic=candidate.topic, subject=candidate.subject)


def _in_user_scope(found: list[MemoryRecord]) -> list[MemoryRecord]:
    return [record for record in found if record.scope == "user"]


# --- 10-supersede -----------------------------------------------------------------------------------


def _inherit(new: MemoryRecord, displaced: list[MemoryRecord], reason: str) -> None:
    for old in displaced:
        known = {source.source_id for source in new.sources}
        new.sources = [
            replace(s, inherited=True) for s in old.sources if s.source_id not in known
        ] + new.sources
        new.note(reason)


def _end(memory: Any, old: MemoryRecord, new: MemoryRecord, reason: str) -> None:
    old.invalidated_at, old.superseded_by = clock.now(), new.memory_id
    old.note(reason)
    save(memory, old)


def ends_first(memory: Any, displaced: list[MemoryRecord], new: MemoryRecord, reason: str) -> None:
    _inherit(new, displaced, reason)
    for old in displaced:
        _end(memory, old, new, reason)
    save(memory, new)


def deletes_the_old(memory: Any, displaced: list[MemoryRecord], new: MemoryRecord, reason: str) -> None:
    _inherit(new, displaced, reason)
    save(memory, new)
    for old in displaced:
        for row in rows(memory, owner_filter(old.user_id, old.app_name, memory_id=old.memory_id)):
            memory.delete(row["id"])


def ends_nothing(memory: Any, displaced: list[MemoryRecord], new: MemoryRecord, reason: str) -> None:
    _inherit(new, displaced, reason)
    save(memory, new)


def writes_nothing(memory: Any, displaced: list[MemoryRecord], new: MemoryRecord, reason: str) -> None:
    for old in displaced:
        _end(memory, old, new, reason)


def no_pointer(memory: Any, displaced: list[MemoryRecord], new: MemoryRecord, reason: str) -> None:
    ends_nothing(memory, displaced, new, reason)
    for old in displaced:
        old.invalidated_at = clock.now()
        old.note(reason)
        save(memory, old)


def no_reason(memory: Any, displaced: list[MemoryRecord], new: MemoryRecord, reason: str) -> None:
    _inherit(new, displaced, "replaced")
    save(memory, new)
    for old in displaced:
        _end(memory, old, new, "replaced")


def the_first_only(memory: Any, displaced: list[MemoryRecord], new: MemoryRecord, reason: str) -> None:
    _inherit(new, displaced, reason)
    save(memory, new)
    for old in displaced[:1]:
        _end(memory, old, new, reason)


def inherits_nothing(memory: Any, displaced: list[MemoryRecord], new: MemoryRecord, reason: str) -> None:
    new.note(reason)
    save(memory, new)
    for old in displaced:
        _end(memory, old, new, reason)


def launders(memory: Any, displaced: list[MemoryRecord], new: MemoryRecord, reason: str) -> None:
    known = {source.source_id for source in new.sources}
    new.sources = [s for old in displaced for s in old.sources if s.source_id not in known] + new.sources
    inherits_nothing(memory, displaced, new, reason)


def inherits_its_own(memory: Any, displaced: list[MemoryRecord], new: MemoryRecord, reason: str) -> None:
    new.sources = [replace(s, inherited=True) for old in displaced for s in old.sources] + new.sources
    inherits_nothing(memory, displaced, new, reason)


def marks_the_old(memory: Any, displaced: list[MemoryRecord], new: MemoryRecord, reason: str) -> None:
    known = {source.source_id for source in new.sources}
    for old in displaced:
        old.sources = [replace(source, inherited=True) for source in old.sources]
        new.sources = [s for s in old.sources if s.source_id not in known] + new.sources
    inherits_nothing(memory, displaced, new, reason)


def only_with_rivals(memory: Any, displaced: list[MemoryRecord], new: MemoryRecord, reason: str) -> None:
    if displaced:
        in_one_go(memory, displaced, new, reason)


def in_one_go(memory: Any, displaced: list[MemoryRecord], new: MemoryRecord, reason: str) -> None:
    own = {source.source_id for source in new.sources}
    lent = {s.source_id: s for old in displaced for s in old.sources if s.source_id not in own}
    new = replace(
        new,
        sources=[*(replace(source, inherited=True) for source in lent.values()), *new.sources],
        history=[*new.history, f"instead of {len(displaced)} others: {reason}"],
    )
    save(memory, new)
    for old in displaced:
        note = [*old.history, f"gave way to {new.memory_id}: {reason}"]
        save(
            memory,
            replace(old, invalidated_at=clock.now(), superseded_by=new.memory_id, history=note),
        )


# --- 10-trust-gate ----------------------------------------------------------------------------------


def _decided(
    memory: Any, candidate: Candidate, source: Source, user_id: str, app_name: str
) -> tuple[list[MemoryRecord], Operation]:
    affected = affected_memories(memory, candidate, user_id=user_id, app_name=app_name)
    return affected, decide(candidate, affected, source)


def adds_first(
    memory: Any, candidate: Candidate, source: Source, *, user_id: str, app_name: str = "default"
) -> Operation:
    _, operation = _decided(memory, candidate, source, user_id, app_name)
    new = new_memory(candidate, source, user_id, app_name)
    save(memory, new)
    if operation.action == "NOOP":
        for row in rows(memory, owner_filter(user_id, app_name, memory_id=new.memory_id)):
            memory.delete(row["id"])
    return operation


def believes_everybody(
    memory: Any, candidate: Candidate, source: Source, *, user_id: str, app_name: str = "default"
) -> Operation:
    trusted = replace(source, source_type="user_explicit")
    affected, operation = _decided(memory, candidate, trusted, user_id, app_name)
    supersede(memory, affected, new_memory(candidate, source, user_id, app_name), operation.reason)
    return operation


def adds_no_note(
    memory: Any, candidate: Candidate, source: Source, *, user_id: str, app_name: str = "default"
) -> Operation:
    _, operation = _decided(memory, candidate, source, user_id, app_name)
    if operation.action != "NOOP":
        new = new_memory(candidate, source, user_id, app_name)
        supersede(memory, rivals(memory, new), new, operation.reason)
    return operation


def supports_what_it_rejects(
    memory: Any, candidate: Candidate, source: Source, *, user_id: str, app_name: str = "default"
) -> Operation:
    affected, operation = _decided(memory, candidate, source, user_id, app_name)
    if operation.action == "NOOP":
        [target] = [record for record in affected if record.memory_id == operation.target_id]
        target.sources.append(source)
        target.confidence += 0.05
        save(memory, target)
        return operation
    return with_a_table(memory, candidate, source, user_id=user_id, app_name=app_name)


def notes_all(
    memory: Any, candidate: Candidate, source: Source, *, user_id: str, app_name: str = "default"
) -> Operation:
    _, operation = _decided(memory, candidate, source, user_id, app_name)
    if operation.action == "NOOP":
        for target in records(memory, user_id, app_name):
            take_note(target, operation, source)
            save(memory, target)
        return operation
    return with_a_table(memory, candidate, source, user_id=user_id, app_name=app_name)


def note_not_saved(
    memory: Any, candidate: Candidate, source: Source, *, user_id: str, app_name: str = "default"
) -> Operation:
    affected, operation = _decided(memory, candidate, source, user_id, app_name)
    if operation.action == "NOOP":
        for target in affected:
            if source.source_type == "tool_output":
                target.note(f"kept against {source.source_id}")
                save(memory, target)
            else:
                take_note(target, operation, source)
        return operation
    return with_a_table(memory, candidate, source, user_id=user_id, app_name=app_name)


def only_adds(
    memory: Any, candidate: Candidate, source: Source, *, user_id: str, app_name: str = "default"
) -> Operation:
    _, operation = _decided(memory, candidate, source, user_id, app_name)
    if operation.action == "NOOP":
        return with_a_table(memory, candidate, source, user_id=user_id, app_name=app_name)
    save(memory, new_memory(candidate, source, user_id, app_name))
    return operation


def ends_the_named_one(
    memory: Any, candidate: Candidate, source: Source, *, user_id: str, app_name: str = "default"
) -> Operation:
    affected, operation = _decided(memory, candidate, source, user_id, app_name)
    if operation.action == "NOOP":
        return with_a_table(memory, candidate, source, user_id=user_id, app_name=app_name)
    named = [record for record in affected if record.memory_id == operation.target_id]
    supersede(memory, named, new_memory(candidate, source, user_id, app_name), operation.reason)
    return operation


def gives_back_the_memory(
    memory: Any, candidate: Candidate, source: Source, *, user_id: str, app_name: str = "default"
) -> Any:
    with_a_table(memory, candidate, source, user_id=user_id, app_name=app_name)
    return records(memory, user_id, app_name)[-1]


def as_sure_as_the_model(
    memory: Any, candidate: Candidate, source: Source, *, user_id: str, app_name: str = "default"
) -> Operation:
    _, operation = _decided(memory, candidate, source, user_id, app_name)
    new = new_memory(candidate, source, user_id, app_name)
    new.confidence = candidate.confidence
    supersede(memory, rivals(memory, new), new, operation.reason)
    return operation


def with_a_table(
    memory: Any, candidate: Candidate, source: Source, *, user_id: str, app_name: str = "default"
) -> Operation:
    affected, operation = _decided(memory, candidate, source, user_id, app_name)
    if operation.action != "NOOP":
        new = new_memory(candidate, source, user_id, app_name)
        supersede(memory, rivals(memory, new), new, operation.reason)
    elif operation.target_id:
        target = {record.memory_id: record for record in affected}[operation.target_id]
        take_note(target, operation, source)
        save(memory, target)
    return operation


WRONG: dict[str, Wrong] = {
    "10-read-memories": [
        (the_dicts, "not the dicts"),
        (nothing_is_a_failure, "that is an answer"),
        (no_fences, "prose and fences"),
        (as_mem0_does, "middle of a word"),
        (empty_is_nothing, "empty reply for no facts"),
        (get_or_nothing, "under another name"),
        (those_with_a_text, "Half a reply"),
        (any_shape, "stands a dict"),
    ],
    "10-owner-filter": [
        (user_only, "another product's"),
        (our_own_name, "`agent_id`"),
        (no_questions, "is everybody"),
        (a_star_for_the_user, "means all apps"),
        (stars_in_ids_only, "means all topics"),
        (text_of_anything, "a whole range"),
        (stars_anywhere, "OR and NOT"),
        (capitals_only, "own spelling"),
        (operators, "with a space inside"),
        (the_ledger_is_open, "#ledger"),
        (no_space_anywhere, "`ValueError: topic="),
    ],
    "10-owned-row": [
        (by_our_id_only, "plain mem0 wrote"),
        (by_mem0s_id_only, "in the metadata"),
        (asks_nobody, "asks nobody"),
        (whatever_the_app, "of another app"),
        (unknown_raises, "`TypeError"),
        (the_text, "a dict with"),
        (a_star_looks_everywhere, "everybody's memories were read"),
    ],
    "10-topic-sweep": [
        (by_resemblance, "do not search by vectors"),
        (whatever_the_subject, "the son eats"),
        (whatever_the_topic, "filter by topic"),
        (tombstones_too, "leaves these out"),
        (sessions_too, "one session's"),
        (everybodys, "Bo's diet"),
        (active_ones, "only the newest holds"),
        (the_first_twenty, "stops at 20"),
        (newest_first, "not in the order"),
        (of_any_app, "pass `app_name` on"),
    ],
    "10-supersede": [
        (writes_nothing, "`save` it"),
        (deletes_the_old, "gone for good"),
        (ends_nothing, "still holds"),
        (no_pointer, "`superseded_by`"),
        (no_reason, "note the reason"),
        (ends_first, "no diet at all"),
        (the_first_only, "Only one of the two"),
        (inherits_nothing, "s1 is lost"),
        (launders, "laundering"),
        (inherits_its_own, "second time"),
        (marks_the_old, "Make a copy"),
        (only_with_rivals, "Without anything to displace"),
    ],
    "10-trust-gate": [
        (gives_back_the_memory, "Give back the operation"),
        (as_sure_as_the_model, "Confidence starts"),
        (believes_everybody, "was not asked"),
        (adds_first, "judged afterwards"),
        (supports_what_it_rejects, "gained by it"),
        (adds_no_note, "said otherwise"),
        (note_not_saved, "never hears"),
        (notes_all, "The aisle was noted"),
        (only_adds, "Both hold"),
        (ends_the_named_one, "A crash had left"),
    ],
}

RIGHT: dict[str, list[Answer]] = {
    "10-read-memories": [with_a_pattern],
    "10-owner-filter": [one_question_at_a_time],
    "10-owned-row": [from_the_list],
    "10-topic-sweep": [in_a_loop],
    "10-supersede": [in_one_go],
    "10-trust-gate": [with_a_table],
}
