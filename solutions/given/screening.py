"""The write gate at work in a memory system: on a transcript, on what was extracted, on what code writes.

The gate, its queue and its patterns come in as functions, so that it may be anybody's gate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from memlab.fields import check_list
from memlab.messages import read_messages
from memlab.records import Candidate, MemoryRecord
from solutions.given.own_words import find_words

Message = dict[str, Any]
Extractor = Callable[[list[Message]], list[Candidate]]


class Decided(Protocol):
    """What a gate says about one candidate."""

    @property
    def reason(self) -> str: ...


Gate = Callable[..., Any]
"""From a candidate, and verified=True when it is vouched for, to a verdict."""
Screen = Callable[..., Sequence[Candidate]]
"""From candidates, and judge=…, to those that may be stored; it keeps the flagged ones for staff."""


class Refused(ValueError):
    """The write gate keeps a text out. The message says why, and does not quote it: it may be a secret."""


def withheld_from(messages: list[Message], withhold: Callable[[str], str]) -> list[Message]:
    """Copies of the messages, each text as `withhold` gives it back; what it leaves alone stays as it is.

    Raises TypeError or ValueError for malformed messages.

    Example:
    >>> withheld_from([{"role": "user", "content": "Open sesame."}], lambda text: "[…]")
    [{'role': 'user', 'content': '[…]'}]
    """
    talk = []
    for message, (role, text) in zip(messages, read_messages(messages), strict=True):
        shown = withhold(text)
        talk.append(dict(message) if shown == text else {"role": role, "content": shown})
    return talk


def hide_words(talk: list[Message], words: str, mark: str) -> None:
    """Put `mark` in place of the messages in which `words` stand; of all of them when none shows it."""
    texts = [text for _, text in read_messages(talk)]
    showing = [message for message, text in zip(talk, texts, strict=True) if find_words(words, text)]
    for message in showing or talk:
        message["content"] = mark


def screened(
    extract: Extractor, screen: Screen, gate: Gate, *, secret: str, hide: Callable[[str], None]
) -> Extractor:
    """`extract` with the gate behind it.

    secret: the gate's reason for keeping a secret out. hide: called with the words in which a secret only
    shows once it was extracted, so that they can be taken out of the transcript before that is kept.
    """

    def judge(candidate: Candidate) -> Decided:
        verdict: Decided = gate(candidate)
        if verdict.reason == secret:
            hide(candidate.excerpt)
        return verdict

    def extract_behind_gate(messages: list[Message]) -> list[Candidate]:
        proposed = check_list("candidates", extract(messages), Candidate)
        return list(screen(proposed, judge=judge))

    return extract_behind_gate


def let_in(new: MemoryRecord, screen: Screen, gate: Gate, *, vouched: bool) -> MemoryRecord:
    """`new` as the gate lets it pass: perhaps with the need alone. Raises Refused.

    vouched: whether somebody other than the user answers for what it promises.
    """
    [told] = new.sources
    asked = Candidate(new.content, new.topic, new.confidence, told.excerpt, new.importance)
    judge = partial(gate, verified=vouched)
    passed = screen([asked], judge=judge)
    if not passed:
        reason = judge(asked).reason
        raise Refused(f"text: the write gate keeps it out ({reason}); leave that out of it")
    return replace(new, content=passed[0].content, sources=[replace(told, excerpt=passed[0].excerpt)])
