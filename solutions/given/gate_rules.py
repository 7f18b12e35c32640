"""The rules of the write gate: what each of them asks, and the order in which they are asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from solutions.given.gate_patterns import (
    FREE_OF,
    INSTRUCTIONS,
    OWED,
    PLEASANTRIES,
    PRIVATE_MATTERS,
    STAFF_AGREED,
)
from solutions.given.proposals import MOST, SLOTS, Inspection, Proposal

STORE = "store"
ASSISTANT = "assistant claims are not facts"
SECRET = "payment detail or secret"
PROMISE = "unverified claim about Crumb; flag for staff"
TRIVIA = "not worth keeping"
INSTRUCTION = "an instruction, not a memory; flag for staff"
NOT_THEIRS = "not this customer's to say; flag for staff"
PRIVATE = "more than we need to know; keep the need only"
UNKNOWN_SLOT = "unknown slot; take one of the list"
TOO_LONG = "too long to inspect; propose one sentence"
UNREADABLE = "could not be inspected"
FLAGGED = (PROMISE, INSTRUCTION, NOT_THEIRS)
"""Reasons that call a member of staff."""


@dataclass(frozen=True)
class Verdict:
    """What the gate decided. `flagged`: a person should look at it."""

    stored: bool
    reason: str
    flagged: bool


@dataclass(frozen=True)
class Review:
    """A flagged candidate: whose it is, why it waits, what staff decided, and who did."""

    number: int
    user_id: str
    candidate: object
    reason: str
    status: Literal["waiting", "accepted", "refused"] = "waiting"
    by: str = ""


class Rule(NamedTuple):
    """When it objects to what is inspected, and the reason that it then gives."""

    objects: Callable[[Inspection], object]
    reason: str


Judge = Callable[[Any], Verdict]
"""From a candidate to what becomes of it."""


def owes_something(text: str) -> bool:
    """True when the legible `text` speaks of something the business would give away or owe.

    "Free" counts only where it means without payment: not sugar-free, free-range, feel free, free on Sunday.

    Example:
    >>> owes_something("free delivery for life"), owes_something("wants sugar-free cake")
    (True, False)
    """
    return bool(OWED.search(FREE_OF.sub(" ", text)))


def too_long(seen: Inspection) -> bool:
    """No field may be longer than MOST: it could hide anything."""
    return seen.any(lambda field: len(field) > MOST)


def said_by_assistant(seen: Inspection) -> bool:
    """The assistant is no source: it would remember its own guesses."""
    return seen.proposal.source == "assistant_said"


def instruction(seen: Inspection) -> bool:
    """Nothing that tells the assistant what to do, or closes the block that memories are shown in."""
    return seen.any(INSTRUCTIONS.search)


def private_matter(seen: Inspection) -> bool:
    """No diagnosis, religion or money matter: the need is enough."""
    return seen.any(PRIVATE_MATTERS.search)


def promise(seen: Inspection) -> bool:
    """What Crumb owes, Crumb says: a tool's result or a member of staff, not the customer."""
    return not seen.verified and (seen.proposal.claims_crumb_owes_something or seen.any(owes_something))


def trivia(seen: Inspection) -> bool:
    """What a good employee would not want to know next time."""
    text = seen.fields[0]
    empty = not any(character.isalpha() for character in text)
    return seen.proposal.importance < 2 or empty or bool(PLEASANTRIES.search(text))


def unknown_slot(seen: Inspection) -> bool:
    """A slot outside the list would never be replaced."""
    return seen.proposal.slot not in SLOTS


def rules_with(
    holds_secret: Callable[[str], object], speaks_for_others: Callable[[Proposal], object]
) -> tuple[Rule, ...]:
    """All rules in their order; the arguments answer for a legible text, and for a whole proposal.

    Secrets come before all that is flagged: what staff are shown must not hold one either.

    Example:
    >>> [rule.reason for rule in rules_with(str.isdigit, bool)][2]
    'payment detail or secret'
    """

    def secret_or_payment(seen: Inspection) -> bool:
        """Nothing that opens an account, a door or a wallet."""
        return seen.any(holds_secret)

    def not_theirs(seen: Inspection) -> object:
        """Neither other customers nor everybody; nor, unless verified, what our own people agreed to."""
        return speaks_for_others(seen.proposal) or (not seen.verified and seen.any(STAFF_AGREED.search))

    return (
        Rule(too_long, TOO_LONG),
        Rule(said_by_assistant, ASSISTANT),
        Rule(secret_or_payment, SECRET),
        Rule(instruction, INSTRUCTION),
        Rule(private_matter, PRIVATE),
        Rule(promise, PROMISE),
        Rule(not_theirs, NOT_THEIRS),
        Rule(trivia, TRIVIA),
        Rule(unknown_slot, UNKNOWN_SLOT),
    )
