"""Answers to lesson 10 that its checks must tell apart, and right ones that look different."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from memlab import clock
from memlab.fields import check_id
from memlab.records import Candidate, MemoryRecord, Operation, Source
from solutions.consolidation import decide, take_note
from solutions.extraction import ExtractionFailed
from solutions.given.mem0_rows import new_memory, record_of, rows
from solutions.mem0_port import affected_memories, holding, owner_filter, records, rivals, save, supersede


def with_a_pattern(reply: str) -> list[str]:
    match = re.search(r"\{.*\}", reply, re.DOTALL)
    try:
        memories = json.loads(match[0] if match else reply, strict=False)["memory"]
    except (ValueError, KeyError, TypeError):
        memories = None
    if isinstance(memories, list):
        texts = [fact.get("text") for fact in memories]
        if all(isinstance(text, str) and text.strip() for text in texts):
            return texts
    raise ExtractionFailed(f"reply={reply[:80]!r} does not hold memories as JSON")


def one_question_at_a_time(user_id: str, app_name: str = "default", **equal: str) -> dict[str, str]:
    for name, value in (("user_id", user_id), ("app_name", app_name), *equal.items()):
        if check_id(name, value) == "*":
            raise ValueError(f"{name}='*' is everybody")
    for name, value in (("user_id", user_id), ("app_name", app_name)):
        if any(map(str.isspace, value)) or value.endswith("#ledger"):
            raise ValueError(f"{name}={value!r} cannot be an id")
    for name in equal:
        if re.fullmatch(r"\$.*|and|or|not|agent_id", name, re.IGNORECASE):
            raise ValueError(f"{name} overrides the owner")
    return {**equal, "agent_id": app_name, "user_id": user_id}


def from_the_list(memory: Any, memory_id: str, *, user_id: str, app_name: str = "default") -> Any:
    for row in rows(memory, owner_filter(user_id, app_name)):
        if memory_id in (row["id"], record_of(row).memory_id):
            return row
    return None


def by_resemblance(memory: Any, candidate: Candidate, *, user_id: str, app_name: str = "default") -> Any:
    filters = {**owner_filter(user_id, app_name), "topic": candidate.topic, "subject": candidate.subject}
    found = memory.search(candidate.content, filters=filters, top_k=5)["results"]
    return [record_of(row) for row in found if row["score"] > 0.5]


def in_a_loop(memory: Any, candidate: Candidate, *, user_id: str, app_name: str = "default") -> Any:
    swept = []
    for record in holding(records(memory, user_id, app_name)):
        about = (record.topic, record.subject, record.scope)
        if about == (candidate.topic, candidate.subject, "user"):
            swept.append(record)
    return swept


def in_one_go(memory: Any, displaced: list[MemoryRecord], new: MemoryRecord, reason: str) -> None:
    own = {source.source_id for source in new.sources}
    lent = {s.source_id: s for old in displaced for s in old.sources if s.source_id not in own}
    sources = [*(replace(source, inherited=True) for source in lent.values()), *new.sources]
    save(memory, replace(new, sources=sources, history=[*new.history, f"in place of others: {reason}"]))
    for old in displaced:
        history = [*old.history, f"gave way to {new.memory_id}: {reason}"]
        ended = replace(old, invalidated_at=clock.now(), superseded_by=new.memory_id, history=history)
        save(memory, ended)


def with_a_table(
    memory: Any, candidate: Candidate, source: Source, *, user_id: str, app_name: str = "default"
) -> Operation:
    affected = affected_memories(memory, candidate, user_id=user_id, app_name=app_name)
    operation = decide(candidate, affected, source)
    if operation.action != "NOOP":
        new = new_memory(candidate, source, user_id, app_name)
        supersede(memory, rivals(memory, new), new, operation.reason)
    elif operation.target_id:
        target = {record.memory_id: record for record in affected}[operation.target_id]
        take_note(target, operation, source)
        save(memory, target)
    return operation


# fmt: off
STR = (
    "check_id(name, value) => {} ;; value.split() != [value] => False ;; "
    "value.endswith => str(value).endswith"
)
SWEPT = "holding(records(memory, user_id, app_name, **wanted)) => "
ADDS_FIRST = (
    'if operation.action == "NOOP": => new = new_memory(candidate, source, user_id, app_name)\n'
    "    save(memory, new)\n"
    '    if operation.action == "NOOP":\n'
    "        memory.delete(owned_row(memory, new.memory_id, user_id=user_id)['id']) ;; "
    "new = new_memory(candidate, source, user_id, app_name)\n    supersede(memory, rivals(memory, new), => "
    "supersede(memory, [r for r in rivals(memory, new) if r.memory_id != new.memory_id],"
)

WRONG: dict[str, list[Any]] = {
    "10-read-memories": [
        ('[check_text("text", fact["text"]) for fact in check_list("memory", found, dict)] => found',
         "not the dicts"),
        ('strict=False)["memory"] => strict=False)["memory"] or None', "that is an answer"),
        ("remove_code_blocks(reply) => reply ;; (text, extract_json(text)) => (text,)", "prose and fences"),
        (", strict=False => ", "line break into a text"),
        ('raise ExtractionFailed(f"reply={reply[:80]!r} does not hold memories as JSON ({problem}); '
         'ask again") => return []', "middle of a word"),
        ("remove_code_blocks(reply) => remove_code_blocks(reply) or '{\"memory\": []}'",
         "empty reply for no facts"),
        ('["memory"] => .get("memory", [])', "under another name"),
        ('found, dict)] => found, dict) if "text" in fact]', "Half a reply"),
        ('check_text("text", fact["text"]) => fact["text"]', "second text is empty"),
        ('check_text("text", fact["text"]) => check_text("text", str(fact["text"]))', "refuses 5"),
        ('check_list("memory", found, dict) => found', "stands no list"),
    ],
    "10-owner-filter": [
        ('"agent_id": app_name, **equal => **equal', "another product's"),
        ('"agent_id": app_name, **equal => "app_name": app_name, **equal', "`agent_id`"),
        ('"agent_id": app_name, **equal => "agent_id": app_name', "into the same dict"),
        ('if value == "*": => if False:', "is everybody"),
        ('if value == "*": => if name == "user_id" and value == "*":', "means all apps"),
        ('if value == "*": => if name not in equal and value == "*":', "means all topics"),
        (STR.format("check_text(name, str(value))"), "None names nobody"),
        (STR.format("check_id(name, str(value) if isinstance(value, dict) else value)"), "a whole range"),
        (STR.format("check_id(name, str(value) if isinstance(value, list) else value)"), "two users"),
        ("check_id(name, value) => name in equal or check_id(name, value)", "All topics but one"),
        ("name.lower() in OVERRIDING or => ", "takes the place of Ada's"),
        ('name.lower() in OVERRIDING => name == "AND"', "OR and NOT"),
        ('name.lower() in OVERRIDING => name in ("AND", "OR", "NOT")', "any case"),
        (' or name.startswith("$") => ', "own spelling"),
        ("name.lower() in OVERRIDING => name.lower() in OVERRIDING[:3]", "took the place of the app"),
        ("value.split() != [value] or => ", "with a space inside"),
        ('name in ("user_id", "app_name") and => name == "user_id" and', "is an id as well"),
        ("value.split() != [value] => ' ' in value", "does not break a line"),
        (" or value.endswith(LEDGER) => ", "`default#ledger`"),
        ('if name in ("user_id", "app_name") and => if', "`ValueError: topic="),
    ],
    "10-owned-row": [
        ("return row if owns else None => return None", "plain mem0 wrote"),
        ("if found: => if False:", "in the metadata"),
        ("return row if owns else None => return row", "asks nobody"),
        ("owner_filter(user_id, app_name, memory_id=memory_id) => {'user_id': '*', 'memory_id': memory_id}",
         "by the id of its record"),
        ('(row.get("user_id"), row.get("agent_id")) == (user_id, app_name) => row.get("user_id") == user_id',
         "of another app"),
        ("user_id, app_name, memory_id=memory_id => user_id, memory_id=memory_id", "In the bakery"),
        ("row is not None and => ", "`AttributeError"),
        ('return found[0] => return found[0]["memory"]', "a dict with"),
        ("owner_filter(user_id, app_name, memory_id=memory_id) => "
         "{'user_id': user_id, 'agent_id': app_name, 'memory_id': memory_id}",
         "everybody's memories were read"),
    ],
    "10-topic-sweep": [
        (by_resemblance, "do not search by vectors"),
        (', "subject": candidate.subject => ', "the son eats"),
        ('"topic": candidate.topic, => ', "filter by topic"),
        (SWEPT + "records(memory, user_id, app_name, **wanted)", "leaves these out"),
        (' if record.scope == "user" => ', "one session's"),
        (SWEPT + 'holding([record_of(row) for row in rows(memory, {"user_id": "*"} | wanted)])', "Bo's diet"),
        (SWEPT + "[r for r in records(memory, user_id, app_name, **wanted) if r.active()]",
         "only the newest holds"),
        (SWEPT + "holding(map(record_of, sorted(memory.get_all("
         "filters=owner_filter(user_id, app_name, **wanted))['results'], "
         "key=lambda row: row['metadata']['written'])))",
         "stops at 20"),
        ("in swept if => in swept[::-1] if", "not in the order"),
        ("user_id, app_name, **wanted => user_id, **wanted", "pass `app_name` on"),
    ],
    "10-supersede": [
        ("save(memory, new) => pass", "`save` it"),
        ("save(memory, old) => memory.delete(owned_row(memory, old.memory_id, user_id=old.user_id)['id'])",
         "gone for good"),
        ("save(memory, old) => pass", "still holds"),
        ("old.superseded_by = new.memory_id => pass", "`superseded_by`"),
        ('f"created from {old.memory_id}: {reason}" => "created"', "note the reason"),
        ("save(memory, new) => pass ;; save(memory, old) => save(memory, old)\n    save(memory, new)",
         "no diet at all"),
        ("for old in displaced:\n        old.invalid => for old in displaced[:1]:\n        old.invalid",
         "Only one of the two"),
        ("new.sources = inherited + new.sources => pass", "s1 is lost"),
        ("[replace(s, inherited=True) for s => [s for s", "laundering"),
        (" if s.source_id not in known => ", "second time"),
        ("inherited = [replace => inherited = old.sources = [replace", "Make a copy"),
        ("save(memory, new) => displaced and save(memory, new)", "Without anything to displace"),
    ],
    "10-trust-gate": [
        ("operation.reason)\n    return operation => operation.reason)\n    return new",
         "Give back the operation"),
        ("new = new_memory(candidate, source, user_id, app_name) => "
         "new = replace(new_memory(candidate, source, user_id, app_name), confidence=candidate.confidence)",
         "Confidence starts"),
        ("affected, source) => affected, replace(source, source_type='user_explicit')) ;; "
         "rivals(memory, new), new => affected, new", "was not asked"),
        (ADDS_FIRST, "judged afterwards"),
        ("take_note(target, operation, source) => target.sources.append(source)", "gained by it"),
        ("take_note(target, operation, source) => pass", "said otherwise"),
        ("save(memory, target) => source.source_type == 'tool_output' and save(memory, target)",
         "never hears"),
        ("if target.memory_id == operation.target_id: => if True:", "The tap was noted"),
        ("rivals(memory, new), new => [], new", "Both hold"),
        ("rivals(memory, new), new => [r for r in affected if r.memory_id == operation.target_id], new",
         "A crash had left"),
        ("user_id=user_id, app_name=app_name => user_id=user_id", "what another app holds"),
        ("source, user_id, app_name) => source, user_id)", "In the bakery"),
    ],
}
# fmt: on

RIGHT: dict[str, list[Any]] = {
    "10-read-memories": [with_a_pattern],
    "10-owner-filter": [one_question_at_a_time],
    "10-owned-row": [from_the_list],
    "10-topic-sweep": [in_a_loop],
    "10-supersede": [in_one_go],
    "10-trust-gate": [with_a_table],
}

# fmt: off
SPARED: dict[str, dict[str, str]] = {
    "10-read-memories": {
        "[check_text('text', fact['text']) => [check_text('textX', fact['text'])":
            "a name in the error that our message quotes",
        "check_list('memory', found, dict)] => check_list('memoryX', found, dict)]":
            "a name in the error that our message quotes",
    },
    "10-owned-row": {"return found[0] => return found[-1]": "one row at most has this id"},
}
# fmt: on
