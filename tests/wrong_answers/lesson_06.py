"""Answers to the exercises of lesson 06 that the checks must tell apart."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import ContextDecorator
from dataclasses import replace
from typing import Any

from memlab import clock
from memlab.records import TRUST, MemoryRecord, Source
from memlab.store import MemoryStore
from solutions.extraction import user_texts
from solutions.given.own_words import without_memory
from solutions.injection import INTRODUCTION, RECALL_TOOL, confidence_band
from solutions.injection import escape as right_escape
from solutions.injection import inject as right_inject
from solutions.injection import recall_result as right_result
from solutions.injection import remember_session as right_session
from solutions.injection import render as right_render
from solutions.retrieval import Hit

Answer = Callable[..., Any]

# --- 06-escape


def html_escape(text: str) -> str:
    return html.escape(text)


def untouched(text: str) -> str:
    return text.strip()


def one_bracket(text: str) -> str:
    return " ".join(text.split()).replace("<", "&lt;")


def deletes_brackets(text: str) -> str:
    return re.sub(r"[<>]", "", text)


def one_spelling(text: str) -> str:
    return text.replace("</MEMORIES>", "&lt;/MEMORIES&gt;")


def keeps_line_breaks(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


def one_line_break(text: str) -> str:
    return keeps_line_breaks(text).replace("\n", " ")


def ascii_spaces(text: str) -> str:
    return re.sub(r"[ \t\n\r\x0b\x0c\x1c-\x1e]+", " ", keeps_line_breaks(text))


def drops_line_breaks(text: str) -> str:
    return keeps_line_breaks("".join(text.splitlines()))


def keeps_control_characters(text: str) -> str:
    return " ".join(keeps_line_breaks(text).split())


def ascii_brackets(text: str) -> str:
    return re.sub(r"[\s\x00-\x1f\x7f-\x9f]+", " ", keeps_line_breaks(text))


def normalises_everything(text: str) -> str:
    return ascii_brackets(unicodedata.normalize("NFKC", text))


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


# --- 06-render


def line(band: str, source: str, content: str) -> str:
    return f"- [confidence: {band}, source: {source}] {content}"


def band_of(hit: Hit) -> str:
    return confidence_band(hit.record.confidence if hit.pinned else hit.record.decayed_confidence())


def best(record: MemoryRecord) -> str:
    kinds = [source.source_type for source in record.own_sources()]
    return max(kinds, key=lambda kind: TRUST.get(kind, 0.0), default="unknown")


def prints_the_number(hit: Hit) -> str:
    return line(f"{hit.record.decayed_confidence():.2f}", best(hit.record), right_escape(hit.record.content))


def stored_confidence(hit: Hit) -> str:
    return line(confidence_band(hit.record.confidence), best(hit.record), right_escape(hit.record.content))


def decays_pins(hit: Hit) -> str:
    band = confidence_band(hit.record.decayed_confidence())
    return line(band, right_escape(best(hit.record)), right_escape(hit.record.content))


def first_source(hit: Hit) -> str:
    return line(band_of(hit), hit.record.sources[0].source_type, right_escape(hit.record.content))


def last_source(hit: Hit) -> str:
    return line(band_of(hit), hit.record.sources[-1].source_type, right_escape(hit.record.content))


def all_sources(hit: Hit) -> str:
    kinds = " and ".join(source.source_type for source in hit.record.sources)
    return line(band_of(hit), kinds, right_escape(hit.record.content))


def borrows_standing(hit: Hit) -> str:
    kind = max((s.source_type for s in hit.record.sources), key=lambda kind: TRUST.get(kind, 0.0))
    return line(band_of(hit), kind, right_escape(hit.record.content))


def says_none(hit: Hit) -> str:
    kinds = [source.source_type for source in hit.record.own_sources()]
    source = max(kinds, key=lambda kind: TRUST.get(kind, 0.0), default=None)
    return line(band_of(hit), str(source), right_escape(hit.record.content))


def raw_content(hit: Hit) -> str:
    return line(band_of(hit), right_escape(best(hit.record)), hit.record.content)


def raw_source(hit: Hit) -> str:
    return line(band_of(hit), best(hit.record), right_escape(hit.record.content))


def trusts_only_what_it_knows(hit: Hit) -> str:
    kinds = [source.source_type for source in hit.record.own_sources()]
    source = max(kinds, key=lambda kind: TRUST[kind], default="unknown")
    return line(band_of(hit), right_escape(source), right_escape(hit.record.content))


def rendered_by_sorting(hit: Hit) -> str:
    record = hit.record
    own = [source for source in record.sources if not source.inherited]
    own.sort(key=lambda source: -TRUST.get(source.source_type, 0))
    kind = own[0].source_type if own else "unknown"
    age = 0 if hit.pinned else record.age_days()
    band = confidence_band(record.confidence * 0.5 ** (age / record.half_life_days))
    return "- [confidence: {}, source: {}] {}".format(band, *map(letter_by_letter, (kind, record.content)))


# --- 06-inject


def block(system: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{system}\n\n<MEMORIES>", INTRODUCTION, *lines, "</MEMORIES>"])


def checked(max_chars: object) -> None:
    if max_chars is not None and (not isinstance(max_chars, int) or max_chars < 0):
        raise ValueError(f"max_chars={max_chars!r}")


def empty_block(system: str, hits: Sequence[Hit], *, max_chars: int | None = None) -> str:
    return block(system, [right_render(hit) for hit in hits])


def slices(system: str, hits: Sequence[Hit], *, max_chars: int | None = None) -> str:
    whole = right_inject(system, hits)
    return whole if max_chars is None else whole[:max_chars]


def without_introduction(system: str, hits: Sequence[Hit], *, max_chars: int | None = None) -> str:
    lines = "\n".join(right_render(hit) for hit in hits)
    return f"{system}\n<MEMORIES>\n{lines}\n</MEMORIES>" if hits else system


def reordered(system: str, hits: Sequence[Hit], *, max_chars: int | None = None) -> str:
    return right_inject(system, sorted(hits, key=lambda hit: -len(hit.record.content)), max_chars=max_chars)


def filled(
    system: str, hits: Sequence[Hit], limit: float, *, at_limit: bool = True, skip: bool = True,
    pins_outside: bool = True, pins_free: bool = True, subtract: bool = True,
) -> str:  # fmt: skip
    lines = []
    for hit in hits:
        text = right_render(hit)
        fits = len(text) <= limit if at_limit else len(text) < limit
        if fits or (pins_outside and hit.pinned):
            lines.append(text)
            if subtract and not (pins_free and hit.pinned):
                limit -= len(text)
        elif not skip:
            break
    return block(system, lines) if lines else system


def filling(**mistake: bool) -> Answer:
    def inject(system: str, hits: Sequence[Hit], *, max_chars: int | None = None) -> str:
        checked(max_chars)
        return filled(system, hits, float("inf") if max_chars is None else max_chars, **mistake)

    return inject


def cuts_a_line(system: str, hits: Sequence[Hit], *, max_chars: int | None = None) -> str:
    lines = "\n".join(right_render(hit) for hit in hits)
    room = len(lines) if max_chars is None else max_chars + len(hits) - 1
    return block(system, lines[:room].split("\n")) if lines else system


def zero_is_no_limit(system: str, hits: Sequence[Hit], *, max_chars: int | None = None) -> str:
    pinned_only = max_chars == 0 and any(hit.pinned for hit in hits)
    return filled(system, hits, 0 if pinned_only else max_chars or float("inf"))


def takes_any_number(system: str, hits: Sequence[Hit], *, max_chars: Any = None) -> str:
    return filled(system, hits, float("inf") if max_chars is None else max_chars)


def two_passes(system: str, hits: Sequence[Hit], *, max_chars: int | None = None) -> str:
    checked(max_chars)
    used, shown = 0, set()
    for place, hit in enumerate(hits):
        size = 0 if hit.pinned else len(rendered_by_sorting(hit))
        if hit.pinned or max_chars is None or used + size <= max_chars:
            used += size
            shown.add(place)
    lines = [rendered_by_sorting(hit) for place, hit in enumerate(hits) if place in shown]
    return block(system, lines) if lines else system


class Timed(ContextDecorator):
    """A decorator whose wrapper lives in a module that knows no Hit."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


decorated = Timed()(right_inject)


# --- 06-tool-result


def result(call: Any, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call.id, "content": content} | more


def found(call: Any, recall: Answer, **more: Any) -> dict[str, Any]:
    content = right_inject("", recall(call.input["query"])).strip() or "Nothing is known."
    return result(call, content, **more)


def bare_text(call: Any, recall: Answer) -> Any:
    return right_result(call, recall)["content"]


def rewrites_the_query(call: Any, recall: Answer) -> Any:
    return right_result(call, lambda query: recall(f"the user's {query}"))


def wrong_id(call: Any, recall: Answer) -> Any:
    return right_result(call, recall) | {"tool_use_id": call.name}


def unfenced(call: Any, recall: Answer) -> Any:
    return result(call, "\n".join(hit.record.content for hit in recall(call.input["query"])))


def raw_in_a_block(call: Any, recall: Answer) -> Any:
    lines = [line("high", "user_explicit", hit.record.content) for hit in recall(call.input["query"])]
    return result(call, block("", lines))


def always_an_error(call: Any, recall: Answer) -> Any:
    return found(call, recall, is_error=True)


def silent_when_empty(call: Any, recall: Answer) -> Any:
    return result(call, right_inject("", recall(call.input["query"])).strip())


def empty_is_an_error(call: Any, recall: Answer) -> Any:
    hits = recall(call.input["query"])
    return result(call, right_inject("", hits).strip() or "Nothing is known.", is_error=not hits)


def any_tool(call: Any, recall: Answer) -> Any:
    return found(call, recall)


def lets_it_raise(call: Any, recall: Answer) -> Any:
    if call.name != "recall":
        return result(call, "There is no such tool.", is_error=True)
    return found(call, recall)


def takes_a_default(call: Any, recall: Answer) -> Any:
    if call.name != "recall":
        return result(call, "There is no such tool.", is_error=True)
    return result(call, right_inject("", recall(call.input.get("query", "everything"))).strip() or "Nothing.")


def ignores_what_it_does_not_know(call: Any, recall: Answer) -> Any:
    call.input.pop("user_id", None)
    return right_result(call, recall)


def wordless(call: Any, recall: Answer) -> Any:
    block = right_result(call, recall)
    return block | {"content": ""} if block.get("is_error") else block


def any_length(call: Any, recall: Answer) -> Any:
    query = call.input.get("query")
    if isinstance(query, str) and len(query) > 1000:
        return found(call, recall)
    return right_result(call, recall)


def catches_everything(call: Any, recall: Answer) -> Any:
    try:
        return right_result(call, recall)
    except Exception as error:
        return result(call, str(error), is_error=True)


def answered_step_by_step(call: Any, recall: Answer) -> Any:
    query = call.input.get("query")
    why = ""
    if call.name != "recall":
        why = "the only tool is recall"
    elif list(call.input) != ["query"]:
        why = "pass a query and nothing else"
    elif not isinstance(query, str) or not 0 < len(query.strip()) <= 1000:
        why = "pass a few words as the query"
    if why:
        return result(call, why, is_error=True)
    hits = recall(query)
    return result(call, right_inject("", hits) if hits else "I found nothing.", is_error=False)


# --- 06-tool-loop


def sent(client: Any, system: str, messages: list[Any], **more: Any) -> Any:
    return client.messages.create(
        model="any", max_tokens=100, system=system, messages=messages, **{"tools": [RECALL_TOOL]} | more
    )


def calls_in(reply: Any) -> list[Any]:
    return [block for block in reply.content if block.type == "tool_use"]


def text_of(reply: Any) -> str:
    return "".join(block.text for block in reply.content if block.type == "text")


def asked(question: str) -> list[Any]:
    return [{"role": "user", "content": question}]


def looping(
    *, first_call_only: bool = False, one_message_each: bool = False, without_reply: bool = False,
    rounds: int | None = None, last_may_call: bool = False, gives_up: bool = True, unchecked: bool = False,
    early: int = 0, more: dict[str, Any] | None = None, no_system: bool = False,
    first_block: bool = False,
) -> Answer:  # fmt: skip
    def answer_with_tool(
        client: Any, question: str, recall: Answer, *, system: str, model: Any = None, max_rounds: int = 4
    ) -> str:
        if max_rounds < 1 and not unchecked:
            raise ValueError("max_rounds")
        messages = asked(question)
        count = rounds or max_rounds - early
        for left in reversed(range(count)):
            choice = {"type": "auto"} if left or last_may_call else {"type": "none"}
            options = {"tool_choice": choice} if more is None else more
            reply = sent(client, "" if no_system else system, messages, **options)
            calls = calls_in(reply)[: 1 if first_call_only else None]
            if not calls:
                return str(reply.content[0].text) if first_block else text_of(reply)
            if not without_reply:
                messages.append({"role": "assistant", "content": reply.content})
            results = [right_result(call, recall) for call in calls]
            if one_message_each:
                messages += [{"role": "user", "content": [block]} for block in results]
            else:
                messages.append({"role": "user", "content": results})
        if gives_up:
            raise RuntimeError("no answer")
        return ""

    return answer_with_tool


def never_calls(client: Any, question: str, recall: Answer, *, system: str, max_rounds: int = 4) -> str:
    return text_of(sent(client, system, asked(question)))


def asks_twice(client: Any, question: str, recall: Answer, *, system: str, max_rounds: int = 4) -> str:
    sent(client, system, asked(question))
    return text_of(sent(client, system, asked(question)))


def looks_up_once(client: Any, question: str, recall: Answer, *, system: str, max_rounds: int = 4) -> str:
    twice = looping(rounds=2, gives_up=False, last_may_call=True)
    return str(twice(client, question, recall, system=system))


def reads_it_itself(client: Any, question: str, recall: Answer, *, system: str, max_rounds: int = 4) -> str:
    reply = sent(client, system, asked(question))
    return text_of(reply) or "".join(right_result(call, recall)["content"] for call in calls_in(reply))


def recursive(
    client: Any, question: str, recall: Answer, *, system: str, model: Any = None, max_rounds: int = 4
) -> str:
    if max_rounds < 1:
        raise ValueError(f"max_rounds={max_rounds}")

    def turn(messages: list[Any], left: int) -> str:
        if left == 0:
            raise RuntimeError("no answer")
        more: dict[str, Any] = {"tool_choice": {"type": "none"}} if left == 1 else {}
        reply = sent(client, system, messages, **more)
        results = [right_result(call, recall) for call in calls_in(reply)]
        if not results:
            return text_of(reply)
        said = [{"role": "assistant", "content": [block.model_dump() for block in reply.content]}]
        return turn([*messages, *said, {"role": "user", "content": results}], left - 1)

    return turn(asked(question), max_rounds)


# --- 06-session


def changed(**fields: Any) -> Answer:
    """The right answer, whose memory was stored with other fields."""

    def remember_session(
        store: MemoryStore, messages: list[Any], source: Source, *, user_id: str, extract: Answer
    ) -> Any:
        made = right_session(MemoryStore(), messages, source, user_id=user_id, extract=extract)
        memory = replace(made, **{name: f(made, messages) for name, f in fields.items()})
        _bury(store, memory)
        store.put(memory)
        return memory

    return remember_session


def _bury(store: MemoryStore, memory: MemoryRecord) -> None:
    if memory.session_id is None:
        return
    for old in store.scan(memory.user_id, scopes=("session",), session_id=memory.session_id):
        old.invalidated_at, old.superseded_by = clock.now(), memory.memory_id
        store.put(old)


def only_made(store: MemoryStore, messages: list[Any], source: Source, **more: Any) -> Any:
    return right_session(MemoryStore(), messages, source, **more)


def last_message(memory: MemoryRecord, messages: list[Any]) -> str:
    if all(message["role"] == "assistant" for message in messages):
        raise ValueError("nothing was said")
    return f"{memory.content} Last: {messages[-1]['content']}"


def whole_talk(memory: MemoryRecord, messages: list[Any]) -> str:
    return f"{memory.content} {' '.join(user_texts(messages))}"


def echoed(memory: MemoryRecord, messages: list[Any]) -> str:
    return f"{memory.content} {user_texts(messages)[-1]}"[:2000]


def endless(memory: MemoryRecord, messages: list[Any]) -> str:
    return f"{memory.content} {without_memory(user_texts(messages)[-1])}"


def two_active(store: MemoryStore, messages: list[Any], source: Source, **more: Any) -> Any:
    memory = right_session(MemoryStore(), messages, source, **more)
    store.put(memory)
    return memory


def deletes_the_old(store: MemoryStore, messages: list[Any], source: Source, **more: Any) -> Any:
    memory = right_session(MemoryStore(), messages, source, **more)
    for old in store.scan(memory.user_id, scopes=("session",), session_id=memory.session_id):
        store.remove(old.memory_id, old.user_id)
    store.put(memory)
    return memory


def one_for_all_sessions(store: MemoryStore, messages: list[Any], source: Source, **more: Any) -> Any:
    memory = right_session(store, messages, source, **more)
    for old in store.owned(memory.user_id):
        if old.active() and old.memory_id != memory.memory_id:
            old.invalidated_at, old.superseded_by = clock.now(), memory.memory_id
            store.put(old)
    return memory


def remembers_silence(store: MemoryStore, messages: list[Any], source: Source, **more: Any) -> Any:
    said = messages if user_texts(messages) else [{"role": "user", "content": "…"}]
    return right_session(store, said, source, **more)


def writes_first(store: MemoryStore, messages: list[Any], source: Source, **more: Any) -> Any:
    if not user_texts(messages):
        right_session(store, [{"role": "user", "content": "…"}], source, **more)
    return right_session(store, messages, source, **more)


def by_hand(
    store: MemoryStore, messages: list[Any], source: Source, *, user_id: str, extract: Answer
) -> MemoryRecord:
    said = [without_memory(text).strip() for text in user_texts(messages)]
    spoken = [text for text in said if text]
    if not spoken:
        raise ValueError("messages hold no words of the user")
    facts = "; ".join(fact.content for fact in extract(messages))
    memory = MemoryRecord(
        f"So far: {facts[:1500]} / last words: {spoken[-1][:300]}", user_id, scope="session",
        session_id=source.source_id, importance=1.0, sources=[source], confidence=TRUST[source.source_type],
    )  # fmt: skip
    with store.transaction():
        _bury(store, memory)
        store.put(memory)
    return memory


WRONG: dict[str, list[tuple[Answer, str]]] = {
    "06-escape": [
        (html_escape, "`html.escape` spells out quotes"),
        (untouched, "The tag came through whole"),
        (one_bracket, "one bracket of the two"),
        (deletes_brackets, "You deleted something"),
        (one_spelling, "one spelling of the tag"),
        (keeps_line_breaks, "stands at the start of a line"),
        (one_line_break, r"`\r` starts a new line"),
        (ascii_spaces, r"`\x85` starts a new line"),
        (drops_line_breaks, "two words run together"),
        (keeps_control_characters, "An escape character"),
        (ascii_brackets, "full-width brackets came through"),
        (normalises_everything, "You normalised the whole text"),
    ],
    "06-render": [
        (prints_the_number, "You print the number"),
        (stored_confidence, "which never ages"),
        (first_source, "an accident of order"),
        (last_source, "You named the last source"),
        (all_sources, "You named all of them"),
        (borrows_standing, "borrow the standing"),
        (decays_pins, "does not decay"),
        (says_none, "say `source: unknown`"),
        (raw_content, "The content must go through"),
        (trusts_only_what_it_knows, "it counts 0"),
        (raw_source, "and not the source"),
    ],
    "06-inject": [
        (empty_block, "an invitation to invent"),
        (without_introduction, "INTRODUCTION"),
        (reordered, "Keep the order"),
        (slices, "The block is not closed"),
        (filling(at_limit=False), "use `<=`"),
        (cuts_a_line, "You cut a line short"),
        (filling(subtract=False), "taken off the budget"),
        (filling(skip=False), "You stop at the first line"),
        (filling(pins_outside=False), "threw the allergy out"),
        (filling(pins_free=False), "You charged the pin"),
        (zero_is_no_limit, "taken for `no budget`"),
        (takes_any_number, "is no number of characters"),
    ],
    "06-tool-result": [
        (bare_text, "Give back one block"),
        (rewrites_the_query, "as it is"),
        (wrong_id, "Say which call this answers"),
        (unfenced, "no safer by this door"),
        (always_an_error, "marked a good answer"),
        (raw_in_a_block, "reached the model unescaped"),
        (silent_when_empty, "leaves the model to guess"),
        (empty_is_an_error, "try again and again"),
        (any_tool, "There is no such tool"),
        (lets_it_raise, "stopped your program"),
        (takes_a_default, "Without a query"),
        (any_length, "20,000 characters"),
        (ignores_what_it_does_not_know, "somebody else's memories"),
        (wordless, "An error without a word"),
        (catches_everything, "caught a failure of the store"),
    ],
    "06-tool-loop": [
        (looping(more={"tools": []}), "cannot call what it is not told of"),
        (looping(no_system=True), "The system prompt was not sent"),
        (looping(first_block=True), "need not be the answer"),
        (asks_twice, "One request is enough"),
        (never_calls, "Look up the model's query"),
        (reads_it_itself, "Send the result to the model"),
        (looping(without_reply=True), "Two messages of one role"),
        (looping(first_call_only=True), "with a result for each of its calls"),
        (looks_up_once, "you need a loop"),
        (looping(rounds=50), "beyond `max_rounds`"),
        (looping(early=1), "You stopped before"),
        (looping(last_may_call=True), "still allows the tool"),
        (looping(gives_up=False), "raise a RuntimeError"),
        (looping(unchecked=True), "No request is ever sent"),
    ],
    "06-session": [
        (changed(scope=lambda *_: "user", session_id=lambda *_: None), "follow the user"),
        (only_made, "did not put it into the store"),
        (changed(content=lambda *_: 'The user last said: "Take the quiet one."'), "Say what `extract` found"),
        (changed(content=lambda *_: "The user flies on Friday."), "the user's **last** words"),
        (changed(content=last_message), "The assistant's words are in it"),
        (changed(content=whole_talk), "You kept everything"),
        (changed(importance=lambda *_: 0.5), "pin it"),
        (changed(sources=lambda *_: []), "`sources=[source]`"),
        (two_active, "are active"),
        (deletes_the_old, "Nothing is deleted"),
        (one_for_all_sessions, "another conversation"),
        (remembers_silence, "The user has said nothing"),
        (writes_first, "before you checked"),
        (changed(content=echoed), "came back as the user's words"),
        (changed(content=endless), "keep it to 2000 characters"),
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
