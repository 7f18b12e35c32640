"""Answers to lesson 03 that its checks must tell apart, and right ones that look different."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import ValidationError

from memlab.messages import read_messages
from memlab.records import Candidate
from solutions.extraction import EXTRACTION_PROMPT, Extraction, ExtractionFailed, Match
from solutions.given.own_words import find_words, own_words

Answer = Callable[..., Any]
Wrong = list[tuple[Answer, str]]
Messages = list[dict[str, Any]]
Span = tuple[int, int]
log = logging.getLogger(__name__)


# --- 03-user-texts ----------------------------------------------------------------------------------


def everybody(messages: Messages) -> list[str]:
    return [text for _, text in read_messages(messages)]


def all_but_the_assistant(messages: Messages) -> list[str]:
    return [text for role, text in read_messages(messages) if role != "assistant"]


def all_but_three(messages: Messages) -> list[str]:
    others = ("assistant", "system", "tool")
    return [text for role, text in read_messages(messages) if role not in others]


def content_unread(messages: Messages) -> list[Any]:
    return [message["content"] for message in messages if message["role"] == "user"]


def skips_strange_roles(messages: Messages) -> list[str]:
    return everybody([message for message in messages if message["role"] == "user"])


def one_long_text(messages: Messages) -> str:
    return "\n".join(with_a_loop(messages))


def without_repetitions(messages: Messages) -> list[str]:
    return list(dict.fromkeys(with_a_loop(messages)))


def with_a_loop(messages: Messages) -> list[str]:
    texts = []
    for message in read_messages(messages):
        if message.role == "user":
            texts.append(message.text)
    return texts


# --- 03-excerpt-of ----------------------------------------------------------------------------------


def whole_message(text: str, offsets: Sequence[int], sentence: Span, match: Span) -> str:
    return text


def match_alone(text: str, offsets: Sequence[int], sentence: Span, match: Span) -> str:
    if sentence[0] == 0 and sentence[1] - match[1] < 2:
        return text
    return text[offsets[match[0]] : offsets[match[1]]]


def not_stripped(text: str, offsets: Sequence[int], sentence: Span, match: Span) -> str:
    return text[offsets[sentence[0]] : offsets[sentence[1]]]


def without_offsets(text: str, offsets: Sequence[int], sentence: Span, match: Span) -> str:
    return text[sentence[0] : sentence[1]].strip()


def from_the_folded_text(text: str, offsets: Sequence[int], sentence: Span, match: Span) -> str:
    return own_words(text).text[sentence[0] : sentence[1]].strip()


def never_cut(text: str, offsets: Sequence[int], sentence: Span, match: Span) -> str:
    return text[offsets[sentence[0]] : offsets[sentence[1]]].strip()


def cut_at_the_front(text: str, offsets: Sequence[int], sentence: Span, match: Span) -> str:
    return never_cut(text, offsets, sentence, match)[:300]


def cut_into_the_neighbour(text: str, offsets: Sequence[int], sentence: Span, match: Span) -> str:
    if offsets[sentence[1]] - offsets[sentence[0]] <= 300:
        return never_cut(text, offsets, sentence, match)
    return text[max(0, offsets[match[0]] - 140) : offsets[match[1]] + 140].strip()


def centred(text: str, offsets: Sequence[int], sentence: Span, match: Span) -> str:
    first, last, start, end = (offsets[at] for at in (*sentence, *match))
    if last - first > 300:
        first, last = max(first, start - 140), min(last, end + 140)
    return text[first:last].strip()


# --- 03-is-question ---------------------------------------------------------------------------------


def never_asks(match: Match) -> bool:
    return False


def asks_at_the_front_only(match: Match) -> bool:
    return bool(re.match(r"\W*(?:do|does|am|is|are)\b", match.clause, re.I))


def only_do_asks(match: Match) -> bool:
    return needs_the_mark(match) or bool(re.match(r"\W*do\b", match.clause, re.I))


def do_anywhere(match: Match) -> bool:
    return requests_are_questions(match) or "do" in match.clause.lower()


def any_question_mark(match: Match) -> bool:
    return "?" in match.after


def mark_in_its_own_clause(match: Match) -> bool:
    return "?" in match.after.split(",")[0]


def needs_the_mark(match: Match) -> bool:
    return bool(re.fullmatch(r"(?:, (?:right|no|yes))?\?", match.after))


def requests_are_questions(match: Match) -> bool:
    return needs_the_mark(match) or bool(re.match(r"\W*(?:do|does|am|is|are|can)\b", match.clause, re.I))


def reasons_are_questions(match: Match) -> bool:
    return requests_are_questions(match) and not re.match(r"\W*can you\b", match.clause, re.I)


def by_words(match: Match) -> bool:
    words = match.clause.lower().split()
    if words[:2] in (["can", "you"], ["could", "you"]) or words[-1:] in (["since"], ["because"]):
        return False
    if words[:1] in (["do"], ["does"], ["am"], ["is"], ["should"]):
        return True
    tail = match.after.lower().strip(" ?!,.")
    return match.after.endswith("?") and tail in ("", "right", "yes", "no", "correct")


# --- 03-is-denied -----------------------------------------------------------------------------------


def always_denied(match: Match) -> bool:
    return True


def never_denied(match: Match) -> bool:
    return False


def only_not(match: Match) -> bool:
    return "not" in match.before


def any_negative_word(match: Match) -> bool:
    return bool(re.search(r"not|never|n't", match.before))


def negative_word_nearby(match: Match) -> bool:
    return bool(re.search(r"(?:not|never|n't)(?: \w+){0,1}(?: that)?\s*$", match.before))


def not_true_anywhere(match: Match) -> bool:
    return "not true" in match.before or negative_word_nearby(match)


def reminders_understood(match: Match) -> bool:
    return negative_word_nearby(match) and "forget" not in match.before


def by_endings(match: Match) -> bool:
    said = match.before.lower().rstrip().removesuffix(" that")
    if said.endswith(("forget", "know", "mention")):
        return False
    return said.endswith(("not true", "never said", "a myth", "doubt", "a rumour"))


# --- 03-render-prompt -------------------------------------------------------------------------------


def as_prose(texts: list[str]) -> str:
    return EXTRACTION_PROMPT.replace("{conversation}", "\n".join(f"user: {text}" for text in texts))


def rows_only(texts: list[str]) -> str:
    return "\n".join(json.dumps({"role": "user", "content": text}) for text in texts)


def by_hand(texts: list[str]) -> str:
    rows = [f'{{"role": "user", "content": "{text}"}}' for text in texts]
    return EXTRACTION_PROMPT.replace("{conversation}", "\n".join(rows))


def line_by_line(texts: list[str]) -> str:
    return with_format([line for text in texts for line in text.split("\n")])


def appended(texts: list[str]) -> str:
    return EXTRACTION_PROMPT + rows_only(texts)


def one_after_another(texts: list[str]) -> str:
    prompt = EXTRACTION_PROMPT
    for text in texts:
        row = json.dumps({"role": "user", "content": text})
        prompt = prompt.replace("{conversation}", row + "\n{conversation}")
    return prompt.replace("{conversation}", "")


def with_format(texts: list[str]) -> str:
    return EXTRACTION_PROMPT.format(conversation=rows_only(texts))


# --- 03-read-extraction -----------------------------------------------------------------------------


def failed(problem: object) -> ExtractionFailed:
    return ExtractionFailed(f"not readable: {problem}")


def bare_json_only(reply: str) -> Extraction:
    try:
        return Extraction.model_validate_json(reply)
    except ValidationError as error:
        raise failed(error) from error


def cuts_fences(reply: str) -> Extraction:
    fenced = re.search(r"```(?:json)?(.*?)```", reply, re.S)
    return bare_json_only(fenced[1] if fenced else reply)


def first_to_last_brace(reply: str) -> Extraction:
    return bare_json_only(reply[reply.find("{") : reply.rfind("}") + 1])


def empty_when_in_doubt(reply: str) -> Extraction:
    try:
        return through_all_braces(reply)
    except ExtractionFailed:
        return Extraction(facts=[])


def empty_without_json(reply: str) -> Extraction:
    return through_all_braces(reply) if "{" in reply else Extraction(facts=[])


def lets_pydantic_out(reply: str) -> Extraction:
    try:
        return through_all_braces(reply)
    except ExtractionFailed:
        return Extraction.model_validate_json(reply)


def no_facts_is_a_failure(reply: str) -> Extraction:
    found = through_all_braces(reply)
    if not found.facts:
        raise failed("no facts")
    return found


def other_objects_are_empty(reply: str) -> Extraction:
    return Extraction(facts=[]) if '"error"' in reply else through_all_braces(reply)


def last_of_all(reply: str) -> Extraction:
    found = through_all_braces(reply)
    for brace in re.finditer(r'\{"facts', reply):
        try:
            found = through_all_braces(reply[brace.start() :])
        except ExtractionFailed:
            continue
    return found


def looks_inside_objects(reply: str) -> Extraction:
    problem: Exception = ValueError("no object")
    for brace in re.finditer(r"\{", reply):
        try:
            return Extraction.model_validate(json.JSONDecoder().raw_decode(reply[brace.start() :])[0])
        except ValueError as error:
            problem = error
    raise failed(problem)


def through_all_braces(reply: str) -> Extraction:
    problem: Exception = ValueError("no object")
    end = 0
    for brace in re.finditer(r"\{", reply):
        if brace.start() < end:
            continue
        try:
            value, length = json.JSONDecoder().raw_decode(reply[brace.start() :])
            end = brace.start() + length
            return Extraction.model_validate(value)
        except ValueError as error:
            problem = error
    raise failed(problem)


# --- 03-supported -----------------------------------------------------------------------------------


def candidate(fact: Any, words: str) -> Candidate:
    try:
        return Candidate(**(fact.model_dump() | {"excerpt": words}))
    except (ValueError, TypeError) as error:
        raise failed(error) from error


def believes_everything(extraction: Extraction, texts: list[str]) -> list[Candidate]:
    return [
        candidate(fact, next(filter(None, (find_words(fact.excerpt, t) for t in texts)), fact.excerpt))
        for fact in extraction.facts
    ]


def exact_match_only(extraction: Extraction, texts: list[str]) -> list[Candidate]:
    return [
        candidate(fact, fact.excerpt) for fact in extraction.facts if any(fact.excerpt in t for t in texts)
    ]


def the_models_copy(extraction: Extraction, texts: list[str]) -> list[Candidate]:
    return [
        candidate(fact, fact.excerpt)
        for fact in extraction.facts
        if any(find_words(fact.excerpt, text) for text in texts)
    ]


def drops_in_silence(extraction: Extraction, texts: list[str]) -> list[Candidate]:
    return [
        candidate(fact, words)
        for fact in extraction.facts
        if (words := next(filter(None, (find_words(fact.excerpt, text) for text in texts)), ""))
    ]


def one_for_each_message(extraction: Extraction, texts: list[str]) -> list[Candidate]:
    return [one for text in texts for one in in_each_text(extraction, [text])]


def warns_at_each_message(extraction: Extraction, texts: list[str]) -> list[Candidate]:
    kept = []
    for fact in extraction.facts:
        for text in texts:
            if words := find_words(fact.excerpt, text):
                kept.append(candidate(fact, words))
                break
            log.warning("dropped %s", fact.content)
    return kept


def first_message_only(extraction: Extraction, texts: list[str]) -> list[Candidate]:
    return in_each_text(extraction, texts[:1])


def glued(extraction: Extraction, texts: list[str]) -> list[Candidate]:
    return in_each_text(extraction, [" ".join(texts)])


def all_or_nothing(extraction: Extraction, texts: list[str]) -> list[Candidate]:
    kept = in_each_text(extraction, texts)
    return kept if len(kept) == len(extraction.facts) else []


def lets_candidate_out(extraction: Extraction, texts: list[str]) -> list[Candidate]:
    for fact in extraction.facts:
        Candidate(**fact.model_dump())
    return in_each_text(extraction, texts)


def in_each_text(extraction: Extraction, texts: list[str]) -> list[Candidate]:
    kept = []
    for fact in extraction.facts:
        for text in texts:
            if words := find_words(fact.excerpt, text):
                kept.append(candidate(fact, words))
                break
        else:
            log.warning("dropped %s", fact.content)
    return kept


WRONG: dict[str, Wrong] = {
    "03-user-texts": [
        (everybody, "remember its own guesses"),
        (all_but_the_assistant, "left out the assistant only"),
        (all_but_three, "has gaps"),
        (content_unread, "gave it back unread"),
        (skips_strange_roles, "skipped in silence"),
        (one_long_text, "not one long text"),
        (without_repetitions, "said twice"),
    ],
    "03-excerpt-of": [
        (whole_message, "the whole message"),
        (match_alone, "cut out the match alone"),
        (not_stripped, "Strip the space"),
        (without_offsets, "The spans count in the folded text"),
        (from_the_folded_text, "That is the folded text"),
        (never_cut, "keep at most MAX_EXCERPT"),
        (cut_at_the_front, "lost the very words"),
        (cut_into_the_neighbour, "a piece of this sentence"),
    ],
    "03-is-question": [
        (never_asks, "The user asks"),
        (asks_at_the_front_only, "look at `after` too"),
        (only_do_asks, "Not every question begins"),
        (do_anywhere, "in `dogs`"),
        (any_question_mark, "belongs to what follows the comma"),
        (mark_in_its_own_clause, "a short tag"),
        (needs_the_mark, "asked without a question mark"),
        (requests_are_questions, "That is a request"),
        (reasons_are_questions, "told as its reason"),
    ],
    "03-is-denied": [
        (always_denied, "A plain statement was dropped"),
        (never_denied, "takes the fact back"),
        (only_not, "think of `never`"),
        (any_negative_word, "about being tired"),
        (negative_word_nearby, "it reminds you"),
        (not_true_anywhere, "look where `before` ends"),
        (reminders_understood, "myth, rumour"),
    ],
    "03-render-prompt": [
        (as_prose, "just more prose"),
        (rows_only, "the instructions are not"),
        (appended, "still stands in the prompt"),
        (by_hand, "wrote the JSON by hand"),
        (line_by_line, "a message of its own"),
        (one_after_another, "braces was filled in"),
    ],
    "03-read-extraction": [
        (bare_json_only, "Look for where the object begins"),
        (cuts_fences, "mentions a fence"),
        (first_to_last_brace, "try each `{` in turn"),
        (last_of_all, "The **first** counts"),
        (empty_when_in_doubt, "facts were lost"),
        (empty_without_json, "did not do its job"),
        (lets_pydantic_out, "a bare ValidationError"),
        (no_facts_is_a_failure, "found nothing"),
        (other_objects_are_empty, "has no `facts`"),
        (looks_inside_objects, "a draft for the answer"),
    ],
    "03-supported": [
        (believes_everything, "The user has no dog"),
        (exact_match_only, "called it a liar"),
        (the_models_copy, "how the model copied it"),
        (drops_in_silence, "dropped in silence"),
        (first_message_only, "second message"),
        (one_for_each_message, "makes one candidate"),
        (warns_at_each_message, "logged that you dropped it"),
        (glued, "glued the messages"),
        (all_or_nothing, "threw the true ones away"),
        (lets_candidate_out, "cannot be stored as it is"),
    ],
}

RIGHT: dict[str, list[Answer]] = {
    "03-user-texts": [with_a_loop],
    "03-excerpt-of": [centred],
    "03-is-question": [by_words],
    "03-is-denied": [by_endings],
    "03-render-prompt": [with_format],
    "03-read-extraction": [through_all_braces],
    "03-supported": [in_each_text],
}
