"""The write gate: an extractor proposes, this code decides what becomes a memory.

The rules and their published reasons are those of "Vector-database-backed memory"; what its one pattern
refuses without need, and what slips past it, is mended here. The gate reads every field of a proposal the
way a person would see it, it fails closed, and no sentence can talk it round. What its rules look for, and
the order in which they are asked, stands in `solutions/given`.
"""

from __future__ import annotations

import json
import logging
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

from memlab.fields import check_id, one_of
from memlab.records import Candidate
from solutions.consolidation import Extractor
from solutions.given.disguises import LOOKALIKES, closed_up
from solutions.given.gate_patterns import (
    BETWEEN_GROUPS,
    CARD_BRAND,
    CLAUSES,
    NAMED_CUSTOMER,
    NEED,
    OTHERS,
    PRIVATE_MATTERS,
    SYSTEM_KEY,
)
from solutions.given.gate_rules import (
    FLAGGED,
    INSTRUCTION,
    PRIVATE,
    PROMISE,
    SECRET,
    STORE,
    UNREADABLE,
    Judge,
    Review,
    Rule,
    Verdict,
    rules_with,
)
from solutions.given.proposals import Item, Proposal, inspect, reduced
from solutions.given.secrets import WITHHELD, tells_secret, withheld

__all__ = [
    "INSTRUCTION", "PROMISE", "RULES", "SECRET", "STORE", "WITHHELD", "Proposal", "Review", "ReviewQueue",
    "Rule", "Verdict", "fold", "gate", "gated", "has_card_number", "legible", "luhn", "need_only", "screen",
    "speaks_for_others", "withhold",
]  # fmt: skip

log = logging.getLogger(__name__)

# --- reading: the way a person would ------------------------------------------------------------------


def fold(text: str) -> str:
    """`text` as it looks: compatibility forms, case and accents folded, nothing invisible, digits as 0-9.

    Line breaks and tabs become spaces. Letters of other alphabets that look like Latin ones become these.
    It is for matching only; what is stored stays as it was written.

    Example:
    >>> fold("ＯＴＰ\u200b ४८२९१३")
    'otp 482913'
    """
    seen = []
    for character in unicodedata.normalize("NFKD", text):
        digit = unicodedata.digit(character, None)
        category = unicodedata.category(character)
        if digit is not None:
            seen.append(str(digit))
        elif character.isspace():
            seen.append(" ")
        elif category[0] != "C" and category not in ("Mn", "Me"):
            seen.append(character)
    return "".join(seen).casefold().translate(LOOKALIKES)


def legible(text: str) -> str:
    """`text` folded, with words written letter by letter closed up and numbers spelled out in digits.

    Example:
    >>> legible("ｆ ｒ ｅ ｅ, code four eight two")
    'free, code 482'
    """
    return closed_up(fold(text))


# --- secrets and payment details ----------------------------------------------------------------------


def luhn(digits: str) -> bool:
    """True when the last of `digits` is the check digit of the others.

    From the right, every second digit is doubled, and 9 taken off what exceeds 9; the sum must end in 0.
    Raises ValueError for a character that is no digit.

    Example:
    >>> luhn("4111111111111111"), luhn("4111111111111112")
    (True, False)
    """
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)  # the last digit as it is, the one before it doubled
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def has_card_number(text: str) -> bool:
    """True when a payment card's number stands in the folded `text`, alone or in groups, glued or not.

    It takes three things: a brand's first digits, that brand's length, and a check digit that is right. A
    number in several groups has at most six digits in each, so two order numbers do not make a card.

    Example:
    >>> has_card_number("pays with 4111-1111-1111-1111"), has_card_number("order 43459551")
    (True, False)
    """
    groups = list(re.finditer(r"\d+", text))
    for first, group in enumerate(groups):  # a number may begin with any group
        number, end = "", group.start()
        for nth, part in enumerate(groups[first : first + 19]):  # and takes 19 groups at most, of one digit
            if not BETWEEN_GROUPS.fullmatch(text[end : part.start()]):
                break
            number, end = number + part[0], part.end()
            if nth and max(len(part[0]), len(group[0])) > 6:  # nobody writes a card in groups so long
                break
            if CARD_BRAND.fullmatch(number) and luhn(number):
                return True
    return False


def holds_secret(text: str) -> bool:
    """True when the legible `text` holds what opens an account, a door or a wallet.

    Example:
    >>> holds_secret(legible("My ＰＩＮ is ４３２１")), holds_secret("a pin for her hat")
    (True, False)
    """
    return has_card_number(text) or tells_secret(text)


# --- the need, and whom it is about -------------------------------------------------------------------


def need_only(text: str) -> str:
    """What the customer needs, without the reason that is not ours to keep; "" when no need is left.

    Example:
    >>> need_only("Diabetic, so wants sugar-free cake.")
    'wants sugar-free cake'
    """
    needs = [
        clause.strip()
        for clause in CLAUSES.split(text)
        if NEED.search(legible(clause)) and not PRIVATE_MATTERS.search(legible(clause))
    ]
    return ", ".join(needs)


def speaks_for_others(proposal: Proposal) -> bool:
    """True when a proposal is about another customer, about everybody, or says whose memory it is.

    A customer is a source on themselves and their own people. Who owns a memory, who sees it and how far it
    is trusted comes from the system, so metadata must not name `user_id`, `scope` and the like.

    Example:
    >>> speaks_for_others(Proposal(text="All customers are vegan."))
    True
    >>> speaks_for_others(Proposal(text="Cannot eat peanuts.", about="son Aarav"))
    False
    """
    texts = (proposal.text, proposal.about, proposal.excerpt)
    if any(OTHERS.search(legible(text)) for text in texts):
        return True
    # A capital tells a name from a word, and `legible` folds it away.
    if any(NAMED_CUSTOMER.search(unicodedata.normalize("NFKC", text)) for text in texts):
        return True
    metadata = json.dumps(proposal.metadata, ensure_ascii=False)  # escapes would hide a key from `legible`
    return SYSTEM_KEY.search(legible(metadata)) is not None


# --- the gate -----------------------------------------------------------------------------------------

RULES = rules_with(holds_secret, speaks_for_others)


def gate(candidate: object, *, verified: bool = False, rules: Sequence[Rule] = RULES) -> Verdict:
    """Whether `candidate` may be stored, and why not: the reason of the first rule that objects.

    candidate: a Proposal, a memlab Candidate (taken as something the customer said), or anything of a
    proposal's shape. verified: True only when your own code took it from a tool's result, or staff accepted
    it; a model never sets it. It never raises: what cannot be inspected is not stored.

    Example:
    >>> gate(Proposal(text="Card ending 4421 was charged twice"))
    Verdict(stored=False, reason='payment detail or secret', flagged=False)
    """
    reason = STORE
    try:
        seen = inspect(candidate, legible, verified=verified)
        for rule in rules:
            if rule.objects(seen):
                reason = rule.reason
                break
    except Exception as error:
        # The message of an error may quote the very secret, so only its type is logged.
        log.error("refused a candidate that could not be inspected (%s)", type(error).__name__)
        reason = UNREADABLE
    return Verdict(reason == STORE, reason, reason in FLAGGED)


# --- what people decide -------------------------------------------------------------------------------


class ReviewQueue:
    """What the gate flagged, until a member of staff accepts or refuses it.

    Example:
    >>> queue = ReviewQueue()
    >>> number = queue.put("u_farah", Proposal(text="Free delivery for life"), PROMISE)
    >>> [review.reason for review in queue.waiting()]
    ['unverified claim about Crumb; flag for staff']
    >>> queue.refuse(number, by="Meera")
    >>> queue.waiting()
    []
    """

    def __init__(self) -> None:
        self.reviews: dict[int, Review] = {}

    def put(self, user_id: str, candidate: object, reason: str) -> int:
        """Keep a flagged candidate; its number, from 1 on and never given twice.

        Raises ValueError for a reason that is not flagged, and for no user.
        """
        check_id("user_id", user_id)
        one_of("reason", reason, FLAGGED)
        number = len(self.reviews) + 1
        self.reviews[number] = Review(number, user_id, candidate, reason)
        return number

    def waiting(self) -> list[Review]:
        """What nobody has decided yet, oldest first."""
        return [review for review in self.reviews.values() if review.status == "waiting"]

    def accept(self, number: int, by: str) -> Verdict:
        """Staff vouch for it; the verdict of the gate on the verified candidate.

        Raises ValueError for a number that is not waiting, and for nobody, before anything is marked.
        """
        review = self._decide(number, "accepted", by)
        return gate(review.candidate, verified=True)

    def refuse(self, number: int, by: str) -> None:
        """Staff do not vouch for it. Raises ValueError as `accept` does."""
        self._decide(number, "refused", by)

    def forget(self, user_id: str) -> None:
        """Keep no word of this user's, decided or not; other users' stay, and no number is given again."""
        for number, review in self.reviews.items():
            if review.user_id == user_id:
                self.reviews[number] = Review(number, "(erased)", None, review.reason, "refused", "erasure")

    def _decide(self, number: int, status: Literal["accepted", "refused"], by: str) -> Review:
        check_id("by", by)
        if number not in {review.number for review in self.waiting()}:
            raise ValueError(f"number={number!r} is not waiting for a decision; take one from waiting()")
        self.reviews[number] = replace(self.reviews[number], status=status, by=by)
        return self.reviews[number]


# --- in front of the store ----------------------------------------------------------------------------


def screen(
    candidates: Iterable[Item], queue: ReviewQueue, *, user_id: str, judge: Judge = gate
) -> list[Item]:
    """Those of `candidates` that may be stored; flagged ones go to `queue`, a need stands in for its reason.

    candidates: Proposals or Candidates. judge: what decides about each, and about a need that stands in; by
    default the gate. Raises ValueError for no user, before anything is judged.

    Example:
    >>> told = [Proposal(text="Diabetic, so wants sugar-free cake.")]
    >>> [proposal.text for proposal in screen(told, ReviewQueue(), user_id="u_ada")]
    ['wants sugar-free cake']
    """
    check_id("user_id", user_id)
    storable = []
    for candidate in candidates:
        verdict = judge(candidate)
        if verdict.reason == PRIVATE:
            need = reduced(candidate, need_only)
            if need is None:
                continue
            candidate, verdict = need, judge(need)  # the need is a proposal like any other
        if verdict.stored:
            storable.append(candidate)
        elif verdict.flagged:
            queue.put(user_id, candidate, verdict.reason)
    return storable


def gated(extract: Extractor, queue: ReviewQueue, *, user_id: str) -> Extractor:
    """`extract` with the gate behind it, for `learn` and `MemorySystem`, which ask for an extractor."""

    def screened(messages: list[dict[str, Any]]) -> list[Candidate]:
        return screen(extract(messages), queue, user_id=user_id)

    return screened


def withhold(text: str) -> str:
    """`text` with WITHHELD for each sentence that shows a secret, by itself or with the one or two after it.

    A kept conversation must not hold what the gate keeps out of the memories. Applied again, it changes
    nothing.

    Example:
    >>> withhold("Call me Ada. The db password is hunter2. I like tea.")
    'Call me Ada. [withheld by the write gate] I like tea.'
    """
    return withheld(text, lambda shown: holds_secret(legible(shown)))
