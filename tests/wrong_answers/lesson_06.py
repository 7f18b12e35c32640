"""Answers to lesson 06 that its checks must tell apart, and right ones that look different."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from memlab.records import TRUST, MemoryRecord, Source
from memlab.store import MemoryStore
from solutions.extraction import user_texts
from solutions.given.ask import default_model, reply_of
from solutions.given.own_words import without_memory
from solutions.injection import INTRODUCTION, RECALL_TOOL, confidence_band, escape, inject, recall_result
from solutions.retrieval import Hit

Answer = Callable[..., Any]

# --- right, and written differently -------------------------------------------------------------------


def letter_by_letter(text: str) -> str:
    names = {"<": "&lt;", ">": "&gt;"}
    pieces = []
    for letter in text:
        plain = unicodedata.normalize("NFKC", letter)
        blank = letter.isspace() or unicodedata.category(letter) == "Cc"
        pieces.append(" " if blank else names.get(plain, letter))
    return "".join(pieces).strip()


def by_html(text: str) -> str:
    return html.escape(" ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text).split()), quote=False).translate(
        {ord("＜"): "&lt;", ord("﹤"): "&lt;", ord("＞"): "&gt;", ord("﹥"): "&gt;"}
    )


def rendered_by_sorting(hit: Hit) -> str:
    record = hit.record
    own = [source for source in record.sources if not source.inherited]
    own.sort(key=lambda source: -TRUST.get(source.source_type, 0))
    kind = own[0].source_type if own else "unknown"
    age = 0 if hit.pinned else record.age_days()
    band = confidence_band(record.confidence * 0.5 ** (age / record.half_life_days))
    return "- [confidence: {}, source: {}] {}".format(band, *map(letter_by_letter, (kind, record.content)))


def two_passes(system: str, hits: Sequence[Hit], *, max_chars: int | None = None) -> str:
    if max_chars is not None and (not isinstance(max_chars, int) or max_chars < 0):
        raise ValueError(f"max_chars={max_chars!r}")
    used, shown = 0, set()
    for place, hit in enumerate(hits):
        size = 0 if hit.pinned else len(rendered_by_sorting(hit))
        if hit.pinned or max_chars is None or used + size <= max_chars:
            used += size
            shown.add(place)
    lines = [rendered_by_sorting(hit) for place, hit in enumerate(hits) if place in shown]
    frame = [f"{system}\n\n<MEMORIES>", INTRODUCTION, *lines, "</MEMORIES>"]
    return "\n".join(frame) if lines else system


@wraps(inject)
def decorated(*args: Any, **more: Any) -> str:
    """Its own module may know no Hit."""
    return inject(*args, **more)


def answered_step_by_step(call: Any, recall: Answer) -> Any:
    query, why = call.input.get("query"), ""
    if call.name != "recall":
        why = "the only tool is recall"
    elif list(call.input) != ["query"]:
        why = "pass a query and nothing else"
    elif not isinstance(query, str) or not 0 < len(query.strip()) <= 1000:
        why = "pass a few words as the query"
    answer: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id, "is_error": bool(why)}
    if why:
        return answer | {"content": why}
    hits = recall(query)
    return answer | {"content": inject("", hits) if hits else "I found nothing."}


def recursive(
    client: Any, question: str, recall: Answer, *, system: str, model: Any = None, max_rounds: int = 4
) -> str:
    if max_rounds < 1 or not question.strip():
        raise ValueError(f"max_rounds={max_rounds}, question={question}")

    def turn(messages: list[Any], left: int) -> str:
        if left == 0:
            raise RuntimeError("no answer")
        more: dict[str, Any] = {"tool_choice": {"type": "none"}} if left == 1 else {}
        reply = reply_of(
            client, model=model or default_model(), max_tokens=100, system=system, messages=messages,
            tools=[RECALL_TOOL], **more,
        )  # fmt: skip
        results = [recall_result(block, recall) for block in reply.content if block.type == "tool_use"]
        if not results:
            return "".join(block.text for block in reply.content if block.type == "text")
        said = [{"role": "assistant", "content": [block.model_dump() for block in reply.content]}]
        return turn([*messages, *said, {"role": "user", "content": results}], left - 1)

    return turn([{"role": "user", "content": question}], max_rounds)


def by_hand(
    store: MemoryStore, messages: list[Any], source: Source, *,
    user_id: str, app_name: str = "default", extract: Answer,
) -> MemoryRecord:  # fmt: skip
    spoken = [text.strip() for text in map(without_memory, user_texts(messages)) if not text.isspace()]
    if not any(spoken):
        raise ValueError("messages hold no words of the user")
    facts = "; ".join(fact.content for fact in extract(messages))
    memory = MemoryRecord(
        f"So far: {facts[:1500]} / last words: {[text for text in spoken if text][-1][-300:]}", user_id,
        app_name, scope="session", session_id=source.source_id, importance=1.0, topic="so far",
        sources=[source], confidence=TRUST[source.source_type],
    )  # fmt: skip
    with store.transaction():
        store.put(memory)
        for old in store.scan(user_id, app_name, ("session",), source.source_id, topic="so far"):
            if old.memory_id != memory.memory_id:
                old.invalidated_at, old.superseded_by = memory.created_at, memory.memory_id
                store.put(old)
    return memory


SOURCE = 'source = max(kinds, key=lambda kind: TRUST.get(kind, 0.0), default="unknown")'
OLD = 'store.scan(user_id, app_name, ("session",), source.source_id, topic="conversation")'

# fmt: off
WRONG: dict[str, list[tuple[Any, str]]] = {
    "06-escape": [
        (html.escape, "`html.escape` spells out quotes"),
        (".translate(_BRACKETS) => ", "The tag came through whole"),
        ('.strip() => .replace("&", "&amp;").strip()', "spelled out again"),
        ('.translate(_BRACKETS) => .replace("<", "&lt;")', "one bracket of the two"),
        ('.translate(_BRACKETS) => .replace("<", "").replace(">", "")', "You deleted something"),
        ('.translate(_BRACKETS) => .replace("</MEMORIES>", "&lt;/MEMORIES&gt;")', "one spelling of the tag"),
        ('_BREAKS.sub(" ", _HIDDEN.sub("", text)) => text', "stands at the start of a line"),
        (r'_BREAKS.sub(" ", => re.sub(r"\n", " ",', r"`\r` starts a new line"),
        (r'_BREAKS.sub(" ", => re.sub(r"[ \t\n\r\x0b\x0c\x1c-\x1e]+", " ",', r"`\x85` starts a new line"),
        ('_BREAKS.sub(" ", _HIDDEN.sub("", text)) => "".join(text.splitlines())', "two words run together"),
        (r'_BREAKS.sub(" ", => re.sub(r"\s+", " ",', "no control character stays"),
        ('.translate(_BRACKETS) => .translate({60: "&lt;", 62: "&gt;"})', "full-width brackets came through"),
        (lambda text: escape(unicodedata.normalize("NFKC", text)), "You normalised the whole text"),
        (lambda text: escape(unicodedata.normalize("NFC", text)), "Normalising changes letters"),
        (lambda text: "".join(" " if unicodedata.category(c)[0] == "C" else c for c in escape(text)),
         "The family fell apart"),
        (".strip() => .strip()[:200]", "not shortening"),
    ],
    "06-render": [
        ("confidence: {band} => confidence: {record.decayed_confidence():.2f}", "You print the number"),
        (" if hit.pinned else record.decayed_confidence() => ", "which never ages"),
        (f"{SOURCE} => source = kinds[0]", "an accident of order"),
        (f"{SOURCE} => source = kinds[-1]", "You named the last source"),
        (f'{SOURCE} => source = " and ".join(kinds)', "You named all of them"),
        ("record.own_sources() => record.sources", "borrow the standing"),
        ("record.confidence if hit.pinned else  => ", "does not decay"),
        ('confidence_band(record.confidence if => "high" if hit.pinned else confidence_band(0 if',
         "not always sure"),
        ('default="unknown" => default="None"', "say `source: unknown`"),
        ("{escape(record.content)} => {record.content}", "The content must go through"),
        ("TRUST.get(kind, 0.0) => TRUST[kind]", "it counts 0, `TRUST.get"),
        ("{escape(source)} => {source}", "and not the source"),
        ("own_sources()] => own_sources() if source.source_type in TRUST]", "the only source"),
        ("TRUST.get(kind, 0.0) => TRUST.get(kind, 1.0)", "TRUST knows nothing"),
    ],
    "06-inject": [
        ("if not lines: => if False:", "an invitation to invent"),
        ("INTRODUCTION,  => ", "INTRODUCTION"),
        ('[f"{system} => [f"{system.strip()}', "neither escaped nor trimmed"),
        ("in hits: => in sorted(hits, key=lambda hit: -hit.score):", "Keep the order"),
        ('"</MEMORIES>"]) => "</MEMORIES>"])[:max_chars]', "The block is not closed"),
        ("if len(line) => if 1 + len(line) ;; left -= len(line) => left -= len(line) + 1",
         "count no line breaks"),
        ("len(line) > left => len(line) >= left", "use `<=`"),
        ("len(line) > left => len(line.encode()) > left", "however many bytes"),
        ("len(line) > left => len(hit.record.content) > left", "with its label"),
        ("continue => line = line[: int(left)]", "You cut a line short"),
        ("left -= len(line) => pass", "taken off the budget"),
        ("continue => break", "You stop at the first line"),
        ('float("inf") if max_chars is None else max_chars => max_chars or float("inf")',
         "taken for `no budget`"),
        ("if not lines: => if not hits:", "ask for lines"),
        ("if not hit.pinned: => if True:", "threw the allergy out"),
        ("            left -= len(line) =>         left -= len(line)", "You charged the pin"),
        ("if max_chars is not None and (type(max_chars) is not int or max_chars < 0): => if False:",
         "is no number of characters"),
    ],
    "06-tool-result": [
        ('return result | {"content": inject => return {"content": inject', "Give back one block"),
        ("recall(query) => recall(f\"the user's {query}\")", "as it is"),
        ("call.id => call.name", "Say which call this answers"),
        ('inject("", recall(query)).strip() => "; ".join(hit.record.content for hit in recall(query))',
         "no safer by this door"),
        ('about this."} => about this.", "is_error": True}', "marked a good answer"),
        ('.strip() => .strip().replace("&lt;", "<").replace("&gt;", ">")', "reached the model unescaped"),
        (' or "Nothing is known about this." => ', "leaves the model to guess"),
        ('inject("", recall(query)).strip() or "Nothing is known about this."} => '
         '(block := inject("", recall(query)).strip()) or "Nothing.", "is_error": not block}',
         "try again and again"),
        ("most=1000 => most=999", "still a query"),
        ('one_of("tool", call.name, (RECALL_TOOL["name"],)) => ', "There is no such tool"),
        ("except (TypeError, ValueError) => except LookupError", "stopped your program"),
        ('str(mistake) => "error"', "An error without a reason"),
        ('set(call.input) != {"query"} => len(call.input) > 1 ;; call.input["query"] => '
         'call.input.get("query", "everything")', "Without a query"),
        ('set(call.input) != {"query"} => len(call.input) != 1 ;; call.input["query"] => '
         "[*call.input.values()][0]", "stands under `q`"),
        ('check_text("query", call.input["query"], most=1000) => str(call.input["query"])',
         "A list is no query"),
        ("most=1000 => most=1000, empty=True", "whatever is on top"),
        (", most=1000 => ", "is one too long"),
        ('set(call.input) != {"query"} => "query" not in call.input', "somebody else's memories"),
        ("most=1000) => most=1000)\n        hits = recall(query) ;; , recall(query)) => , hits)",
         "caught a failure of the store"),
    ],
    "06-tool-loop": [
        ("tools=[RECALL_TOOL],  => ", "cannot call what it is not told of"),
        ("system=system,  => ", "The system prompt was not sent"),
        ('"".join(block.text for block in reply.content if block.type == "text") => reply.content[0].text',
         "need not be the answer"),
        ("if not calls: => if not calls and left < max_rounds - 1:", "One request is enough"),
        ('[block for block in reply.content if block.type == "tool_use"] => []', "Look up the model's query"),
        ('messages.append({"role": "assistant", "content": reply.content}) => '
         'return recall_result(calls[0], recall)["content"]', "Send the result to the model"),
        ('messages.append({"role": "assistant", "content": reply.content}) => ', "Two messages of one role"),
        ('messages.append({"role": "user", "content": [recall_result(call, recall) for call in calls]}) => '
         'messages += [{"role": "user", "content": [recall_result(call, recall)]} for call in calls]',
         "a message for each result"),
        ("for call in calls] => for call in calls[:1]]", "with a result for each of its calls"),
        ('"content": reply.content} => "content": calls}', "the model's *whole* reply"),
        ('messages.append({"role": "assistant", => messages = messages[:1]\n'
         '        messages.append({"role": "assistant",', "An earlier look-up is gone"),
        ("in reversed(range(max_rounds)): => in (1, 1):", "you need a loop"),
        ("model=model or default_model() => model=default_model()", "Hand on the `model`"),
        ("range(max_rounds) => range(50)", "beyond `max_rounds`"),
        ("range(max_rounds) => range(max_rounds - 1)", "You stopped before"),
        (' if left else {"type": "none"} => ', "still allows the tool"),
        ('{"type": "auto"} if left => {"type": "any"} if left', "says `auto`"),
        ("raise RuntimeError( => return str(", "raise a RuntimeError"),
        ("or max_rounds < 1: => or False:", "No request is ever sent"),
        ('check_text("question", question, most=100_000) => ', "There is no question"),
        ("reply_of(\n            client, => client.messages.create(", "gave it out as the answer"),
    ],
    "06-session": [
        ('scope="session", session_id=source.source_id,  => ', "follow the user"),
        ("content[:2000], user_id, app_name, => content[:2000], user_id,", "landed in `default`"),
        ("importance=PINNED => importance=0.5", "pin it"),
        ("sources=[source] => sources=[]", "`sources=[source]`"),
        ("TRUST[source.source_type] => 0.65", "another trust"),
        ("*facts,  => ", "Say what `extract` found"),
        ("*facts, last] => *facts]", "the user's **last** words"),
        ('*facts, last] => *facts, last, str(messages[-1]["content"])]', "The assistant's words are in it"),
        ("*facts, last] => *facts, *said]", "You kept everything"),
        ("map(without_memory, user_texts(messages)) => user_texts(messages)",
         "came back as the user's words"),
        (" if text.strip()] => ]", "cut the blocks out first"),
        ('user_texts(messages) => [str(m["content"]) for m in messages if m["role"] == "user"]',
         "reads both"),
        ('if not said: => said = said or ["…"]\n    if False:', "The user has said nothing"),
        ("[:300] => ", "keep 300 characters"),
        ("content[:2000] => content", "However much was learned"),
        ("store.put(memory) => pass", "did not put it into the store"),
        ('source.source_id, topic="conversation"): => source.source_id):', "A memory of another topic"),
        (f'{OLD} => [r for r in store.owned(user_id) if r.active() and r.topic == "conversation"]',
         "another conversation"),
        ("store.scan(user_id, app_name, => store.scan(user_id, \"default\",", "a memory of another app"),
        ("store.put(old) => pass", "are active"),
        ("store.put(old) => store.remove(old.memory_id, user_id, app_name)", "Nothing is deleted"),
        ("memory.created_at, memory => old.created_at, memory", "holds until the new one"),
        ("with store.transaction(): => if True:", "before write 2"),
        ('if not said:\n => if not said:\n        store.put(MemoryRecord("Hello!", user_id, app_name))\n',
         "before you checked"),
    ],
}

RIGHT: dict[str, list[Answer]] = {
    "06-escape": [letter_by_letter, by_html],
    "06-render": [rendered_by_sorting],
    "06-inject": [two_passes, decorated],
    "06-tool-result": [answered_step_by_step],
    "06-tool-loop": [recursive],
    "06-session": [by_hand],
}

DOOR = "not asked for by the stub: the package's own door, held by tests/test_injection.py"
GIVEN = "a line that the stub gives"
SIZE = "how long a reply may be is no rule of the lesson"
FIELD = "the error still names the field"
LESS = "no trust is below 0, so 0 and less rank alike"
FRAME = "how the last words are framed is free"
PIN = "a pin does not fade, so its half-life changes nothing"
HISTORY = "the exercise asks for no line of history; tests/test_injection.py holds the package to one"
SPARED: dict[str, dict[str, str]] = {
    "06-render": {
        "TRUST.get(kind, 0.0), default='unknown') => TRUST.get(kind, -1), default='unknown')": LESS,
    },
    "06-inject": dict.fromkeys([
        "check_text('system', system, empty=True, most=1000000) => pass",
        "check_kind('hits', hits, Sequence) => pass",
        "check_list('hits', list(hits), Hit) => pass",
        "check_text('system', system, empty=True, most=1000000) => "
        "check_text('system', system, most=1000000)",
        "system, empty=True, most=1000000) => system, empty=True)",
        "check_text('system', system, empty=True, => check_text('systemX', system, empty=True,",
        "check_kind('hits', hits, Sequence) => check_kind('hitsX', hits, Sequence)",
        "check_list('hits', list(hits), => check_list('hitsX', list(hits),",
        "check_list('hits', list(hits), Hit) => check_list('hits', hits, Hit)",
        "system, empty=True, most=1000000) => system, empty=False, most=1000000)",
        "empty=True, most=1000000) => empty=True, most=1000001)",
        "empty=True, most=1000000) => empty=True, most=2000000)",
    ], DOOR),
    "06-tool-result": dict.fromkeys([
        "one_of('tool', call.name, => one_of('toolX', call.name,",
        "check_text('query', call.input['query'], => check_text('queryX', call.input['query'],",
    ], FIELD),
    "06-tool-loop": {
        "check_text('question', question, most=100000) => check_text('question', question)": GIVEN,
        "if type(max_rounds) is not int or max_rounds < => if max_rounds <": GIVEN,
        "check_text('question', question, => check_text('questionX', question,": FIELD,
        "question, most=100000) => question, most=100001)": GIVEN,
        "question, most=100000) => question, most=200000)": GIVEN,
        "max_tokens=1024, system=system, => max_tokens=1025, system=system,": SIZE,
        "default_model(), max_tokens=1024, system=system, => "
        "default_model(), max_tokens=2048, system=system,": SIZE,
    },
    "06-session": {
        "check_kind('source', source, Source) => pass": DOOR,
        "check_kind('source', source, Source) => check_kind('sourceX', source, Source)": DOOR,
        "importance=PINNED, half_life_days=30, confidence=TRUST[source.source_type], => "
        "importance=PINNED, confidence=TRUST[source.source_type],": PIN,
        "half_life_days=30, confidence=TRUST[source.source_type], => "
        "half_life_days=31, confidence=TRUST[source.source_type],": PIN,
        "half_life_days=30, confidence=TRUST[source.source_type], => "
        "half_life_days=60, confidence=TRUST[source.source_type],": PIN,
        "old.note(f'superseded by {memory.memory_id}: the conversation went on') => pass": HISTORY,
        "\"{said[-1][:300]}\"' => \"{said[-1][:300]}\"X'": FRAME,
    },
}
# fmt: on
