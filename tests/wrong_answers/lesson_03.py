"""Answers to lesson 03 that its checks must tell apart, and right ones that look different."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from memlab.messages import read_messages
from memlab.records import Candidate
from solutions.extraction import (
    EXTRACTION_PROMPT,
    GUARDS,
    Extraction,
    ExtractionFailed,
    Match,
    excerpt_of,
    log,
    render_prompt,
    supported,
    user_texts,
)
from solutions.given.ask import ask
from solutions.given.own_words import find_words, own_words, without_memory
from solutions.given.readings import matches

Answer = Callable[..., Any]
Messages = list[dict[str, Any]]
Span = tuple[int, int]


# --- wrong answers that no edit makes -----------------------------------------------------------------


def match_alone(text: str, offsets: Sequence[int], sentence: Span, match: Span) -> str:
    if sentence[0] == 0 and sentence[1] - match[1] < 2:
        return text
    return text[offsets[match[0]] : offsets[match[1]]]


def one_after_another(texts: list[str]) -> str:
    prompt = EXTRACTION_PROMPT
    for text in texts:
        row = json.dumps({"role": "user", "content": text})
        prompt = prompt.replace("{conversation}", row + "\n{conversation}")
    return prompt.replace("{conversation}", "")


# --- right answers, written differently ---------------------------------------------------------------


def with_a_loop(messages: Messages) -> list[str]:
    texts = []
    for message in read_messages(messages):
        if message.role == "user":
            texts.append(message.text)
    return texts


def centred(text: str, offsets: Sequence[int], sentence: Span, match: Span) -> str:
    first, last, start, end = (offsets[at] for at in (*sentence, *match))
    if last - first > 300:
        first, last = max(first, start - 140), min(last, end + 140)
    return text[first:last].strip()


def by_words(match: Match) -> bool:
    words = match.clause.lower().split()
    if words[:2] in (["can", "you"], ["could", "you"]) or words[-1:] in (["since"], ["because"]):
        return False
    if words[:1] in (["do"], ["does"], ["am"], ["is"], ["should"]):
        return True
    tail = match.after.lower().strip(" ?!,.")
    return match.after.rstrip("!").endswith("?") and tail in ("", "right", "yes", "no", "correct")


def by_endings(match: Match) -> bool:
    said = match.before.lower().rstrip().removesuffix(" that")
    if said.endswith(("forget", "know", "mention")):
        return False
    return said.endswith(("not true", "never said", "a myth", "doubt", "a rumour"))


def with_a_set(messages: Messages, *, guards: Any = GUARDS) -> list[Candidate]:
    found = []
    for text in user_texts(messages):
        folded, offsets = own_words(text)
        known = set()
        for match in matches(folded):
            content, rule = match.fill(match.rule.template), match.rule
            if content not in known and not [guard for guard in guards if guard(match)]:
                known.add(content)
                words = excerpt_of(text, offsets, match.sentence, match.span)
                topic, subject = match.label(rule.topic), match.label(rule.subject)
                numbers = rule.importance, rule.half_life_days
                found.append(Candidate(content, topic, rule.confidence, words, *numbers, subject))
    return found


def with_format(texts: list[str]) -> str:
    rows = [json.dumps({"role": "user", "content": text}) for text in texts]
    return EXTRACTION_PROMPT.format(conversation="\n".join(rows))


def through_all_braces(reply: str, shape: Any, failure: Any = ExtractionFailed) -> Any:
    problem: Exception = ValueError("no object")
    end = 0
    for brace in re.finditer(r"\{", reply):
        if brace.start() < end:
            continue
        try:
            value, end = json.JSONDecoder().raw_decode(reply, brace.start())
            return shape.model_validate(value)
        except json.JSONDecodeError as error:
            problem = error
            if error.pos >= len(reply):
                break
        except ValueError as error:
            problem = error
    raise failure(f"not readable: {problem}")


def in_each_text(extraction: Any, texts: list[str]) -> list[Candidate]:
    kept = []
    for fact in extraction.facts:
        for text in texts:
            if words := find_words(fact.excerpt, text):
                try:
                    kept.append(Candidate(**(fact.model_dump() | {"excerpt": words})))
                except (ValueError, TypeError) as error:
                    raise ExtractionFailed(str(error)) from error
                break
        else:
            log.warning("dropped %s", fact.content)
    return kept


def step_by_step(messages: Messages, client: Any, model: str | None = None) -> list[Candidate]:
    texts = [without_memory(text) for text in user_texts(messages)]
    texts = [text for text in texts if text.strip()]
    if texts:
        reply = ask(client, render_prompt(texts), Extraction, model=model, failure=ExtractionFailed)
        return supported(through_all_braces(reply, Extraction), texts)
    return []


TEXT_ROW = 'json.dumps({"role": "user", "content": text}, ensure_ascii=False)'
FILLED = r'EXTRACTION_PROMPT.replace("{conversation}", "\n".join(rows))'
GIVEN_UP = "raise failure( => {}\n    raise failure("

# fmt: off
WRONG: dict[str, list[tuple[str | Answer, str]]] = {
    "03-user-texts": [
        (' if role == "user" => ', "remember its own guesses"),
        ('role == "user" => role != "assistant"', "left out the assistant only"),
        ('role == "user" => role not in ("assistant", "system", "tool")', "has gaps"),
        ('text for role, text in read_messages(messages) if role == "user" => '
         'm["content"] for m in messages if m["role"] == "user"', "gave it back unread"),
        ('read_messages(messages) => read_messages([m for m in messages if m["role"] == "user"])',
         "skipped in silence"),
        (r'return [text => return "\n".join([text ;; == "user"] => == "user"])', "not one long text"),
        (r'return [text => return ["\n".join([text ;; == "user"] => == "user"])]', "You joined the messages"),
        ('return [text => return {text ;; == "user"] => == "user"}', "not a set"),
        ('return [text => return list(dict.fromkeys([text ;; == "user"] => == "user"]))', "said twice"),
    ],
    "03-excerpt-of": [
        ("return text[start:end].strip() => return text", "the whole message"),
        (match_alone, "cut out the match alone"),
        (".strip() => ", "Strip the space"),
        ("offsets[sentence[0]], offsets[sentence[1]] => sentence", "The spans count in the folded text"),
        ("offsets[sentence[0]], offsets[sentence[1]] => sentence ;; "
         "return text => return own_words(text).text",
         "That is the folded text"),
        ("if end - start > MAX_EXCERPT: => if False:", "Keep at most MAX_EXCERPT"),
        ("> MAX_EXCERPT: => >= MAX_EXCERPT:", "it needs no cut"),
        ("max(start, offsets[match[0]] - 100) => start", "lost the very words"),
        ("max(start, offsets[match[0]] - 100) => offsets[match[0]] - 100", "a piece of this sentence"),
        ("offsets[match[0]] - 100 => match[0] - 100", "Translate the match, too"),
    ],
    "03-is-question": [
        ("TELLS.search(match.clause) => True", "The user asks"),
        ('"?" not in match.after[-5:] => True', "look at `after` too"),
        ("match.after[-5:] => match.after[-1:]", "need not be the very last"),
        ("return not rest or TAG.fullmatch(rest[0]) is not None => return True", "what follows the comma"),
        ("not rest or TAG.fullmatch(rest[0]) is not None => not rest", "a short tag"),
        ('"?" not in match.after[-5:] => match.after == "."', "“right” confirms"),
        (" or NEW_QUESTION.match(match.after) => ", "begins a new question"),
        (", maxsplit=1 => ", "Only the *whole* rest"),
        ("match.after[-5:] => match.after", "in the middle of an address"),
        ("ASKS.search(match.clause) => False", "asked without a question mark"),
        ('ASKS.search(match.clause) => match.clause.lower().startswith("do ")', "Not every question begins"),
        ('ASKS.search(match.clause) => ASKS.search(match.clause) or "do" in match.clause', "in `dogs`"),
        ('TELLS.search(match.clause) => match.clause == " since "', "That is a request"),
        ('TELLS.search(match.clause) => "note" in match.clause', "told as its reason"),
    ],
    "03-is-denied": [
        ("return bool => return True or bool", "A plain statement was dropped"),
        ("return bool => return False and bool", "takes the fact back"),
        ('DENIES.search(match.before) => "not" in match.before', "think of `never`"),
        ("DENIES.search(match.before) => any(w in match.before for w in (\"not\", \"never\", \"n't\"))",
         "about being tired"),
        ('DENIES.search(match.before) => "not true" in match.before or DENIES.search(match.before)',
         "look where `before` ends"),
        (" and not REMINDS.search(match.before) => ", "it reminds you"),
        ("REMINDS.search(match.before) => \"n't forget\" in match.before", "behind `never` decides"),
        ('DENIES.search(match.before) => match.before.endswith(("not true that ", "never said "))',
         "myth, rumour"),
    ],
    "03-rule-extract": [
        ("user_texts(messages) => [text for _, text in read_messages(messages)]",
         "The assistant's words came along"),
        ("matches(words.text) => matches(text)", "let `own_words` blank"),
        ("facts += of_this_text.values() => return list(of_this_text.values())", "after the loop"),
        ("of_this_text.setdefault(fact.content, fact) => facts.append(fact)", "is one fact"),
        ("of_this_text.values() => [f for f in of_this_text.values() if f.content not in "
         "[known.content for known in facts]]", "begin anew for each text"),
        ("any(guard(match) for guard in guards) => False", "The question became a fact"),
        ("continue => break", "do not stop"),
        ("any(guard(match) for guard in guards) => guards and guards[0](match)", "need not agree"),
        ("for guard in guards) => for guard in GUARDS)", "asked for no guards"),
        ("for guard in guards) => for guard in guards and GUARDS)", "The caller's own guard"),
        ("excerpt_of(text, words.offsets, match.sentence, match.span) => text", "Its excerpt is"),
        ("of_this_text.setdefault(fact.content, fact) => of_this_text[fact.content] = fact", "**first**"),
        ("subject=match.label(rule.subject), => ", "The wife's diet"),
        ("match.label(rule.topic) => match.fill(rule.topic)", "the topic is a label"),
    ],
    "03-render-prompt": [
        (f'{TEXT_ROW} => f"user: {{text}}"', "just more prose"),
        (f'{FILLED} => "\\n".join(rows)', "the instructions are not"),
        (f'{FILLED} => EXTRACTION_PROMPT + "\\n".join(rows)', "still stands in the prompt"),
        (f'{TEXT_ROW} => \'{{"role": "user", "content": "%s"}}\' % text', "wrote the JSON by hand"),
        (r'for text in texts => for whole in texts for text in whole.split("\n")', "a message of its own"),
        (r'"content": text} => "content": text.replace("\n", " ")}', "You changed the text"),
        (one_after_another, "braces was filled in"),
    ],
    "03-read-extraction": [
        ('return shape.model_validate(value) => if value["facts"]: return shape.model_validate(value)',
         "an answer without facts"),
        (GIVEN_UP.format("return shape(facts=[])"), "did not do its job"),
        (GIVEN_UP.format("if OBJECT.search(reply): return shape(facts=[])"), "facts were lost"),
        ("raw_decode(reply, brace.start()) => raw_decode(reply)", "Look for where the object begins"),
        ('problem, brace = => reply = reply.partition("```")[2].partition("```")[0] or reply; '
         "problem, brace =", "mentions a fence"),
        ("brace = OBJECT.search(reply, end) => brace = None", "try each `{` in turn"),
        ("while brace: => answer = None\n    while brace: ;; return shape. => answer = shape. ;; "
         + GIVEN_UP.format("if answer: return answer"), "The **first** counts"),
        ("except ValidationError => except ZeroDivisionError", "a bare ValidationError"),
        ('shape.model_validate(value) => shape.model_validate({"facts": []} | value)', "has no `facts`"),
        ('problem = "{loc}: {msg}".format(**error.errors()[0]) => break', "go on behind what does not fit"),
        ("OBJECT.search(reply, end) => OBJECT.search(reply, brace.end())", "a draft for the answer"),
        ("look_on_at(reply, brace.start(), error) => brace.end()", "`look_on_at` says"),
        (" ({problem}) => ", "did not say why"),
        ("shape.model_validate => Extraction.model_validate", "validate against `shape`"),
    ],
    "03-supported": [
        ("for text in texts) => for text in texts[:1])", "second message"),
        ("in extraction.facts: => in [f for text in texts for f in extraction.facts if "
         "find_words(f.excerpt, text)]:", "makes one candidate"),
        ('candidates.append(Candidate(**fact.model_dump() | {"excerpt": words})) => '
         'return [Candidate(**fact.model_dump() | {"excerpt": words})]', "`return` stands behind the loop"),
        ('find_words(fact.excerpt, text) => fact.excerpt if fact.excerpt in text else ""',
         "called it a liar"),
        ('{"excerpt": words} => {"excerpt": fact.excerpt}', "how the model copied it"),
        ('texts)), "") => texts)), fact.excerpt)', "The user has no dog"),
        ("continue => return []", "threw the true ones away"),
        ('for text in texts) => for text in [" ".join(texts)])', "glued the messages"),
        ("except (ValueError, TypeError) => except ZeroDivisionError", "cannot be stored as it is"),
        ("words = next( => [log.warning(text) for text in texts if not find_words(fact.excerpt, text)]\n"
         "        words = next(", "logged that you dropped it"),
        ('log.warning("dropped %r: the user never said %r", fact.content, fact.excerpt) => pass',
         "dropped in silence"),
        ('**fact.model_dump() | {"excerpt": words} => fact.content, fact.topic, fact.confidence, words',
         "Fields of the fact were lost"),
    ],
    "03-llm-extract": [
        ("ExtractionFailed), texts) => ExtractionFailed), [reply])", "goes through `supported`"),
        ("ExtractionFailed), texts) => ExtractionFailed), user_texts(messages))", "evidence for itself"),
        ('return supported( => return [] if "{" not in reply else supported(', "Unreadable is not empty"),
        ("(reply, Extraction, ExtractionFailed) => (reply, Extraction)", "Callers watch for"),
        ("user_texts(messages) => [text for _, text in read_messages(messages)]",
         "The assistant's words are in the prompt"),
        ("render_prompt(texts) => render_prompt(user_texts(messages))", "extract it anew"),
        (" if text.strip() => ", "A text of blanks"),
        ("if not texts: => if False:", "you paid for a request"),
        ("model=model, => ", "hand `model` on"),
    ],
}
# fmt: on

RIGHT: dict[str, list[str | Answer]] = {
    "03-user-texts": [with_a_loop, 'role == "user" => role in {"user"}'],
    "03-excerpt-of": [centred],
    "03-is-question": [by_words],
    "03-is-denied": [by_endings],
    "03-rule-extract": [with_a_set],
    "03-render-prompt": [with_format],
    "03-read-extraction": [through_all_braces],
    "03-supported": [in_each_text],
    "03-llm-extract": [step_by_step],
}

WINDOW = "how much of a very long sentence stands before the match is a matter of taste"
NEARLY_LAST = "how many marks may follow the question mark is a matter of taste"
ESCAPED = "a letter written as an escape is JSON all the same"

# fmt: off
SPARED = {
    "03-excerpt-of": {
        "offsets[match[0]] - 100) => offsets[match[0]] - 101)": WINDOW,
        "offsets[match[0]] - 100) => offsets[match[0]] - 200)": WINDOW,
        "offsets[match[0]] - 100) => offsets[match[1]] - 100)": WINDOW,
        "offsets[match[0]] - 100) => offsets[match[-1]] - 100)": WINDOW,
    },
    "03-is-question": {
        "TAG.fullmatch(rest[0]) is not None => TAG.fullmatch(rest[-1]) is not None": "there is only one rest",
        "match.after[-5:] or NEW_QUESTION.match(match.after): => "
        "match.after[-6:] or NEW_QUESTION.match(match.after):": NEARLY_LAST,
        "match.after[-5:] or NEW_QUESTION.match(match.after): => "
        "match.after[-10:] or NEW_QUESTION.match(match.after):": NEARLY_LAST,
    },
    "03-render-prompt": {
        "'content': text}, ensure_ascii=False) for text in => 'content': text}) for text in": ESCAPED,
        "ensure_ascii=False) for text in => ensure_ascii=True) for text in": ESCAPED,
    },
    "03-read-extraction": {
        "{msg}'.format(**error.errors()[0]) => {msg}'.format(**error.errors()[-1])":
            "which of several things that are wrong the message names is nobody's business",
    },
}
# fmt: on
