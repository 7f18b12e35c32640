"""The write gate: an extractor proposes, this code decides what becomes a memory.

The rules and their published reasons are those of "Vector-database-backed memory"; what its one pattern
refuses without need, and what slips past it, is mended here. The gate reads every field of a proposal the
way a person would see it, it fails closed, and no sentence can talk it round.
"""

from __future__ import annotations

import json
import logging
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from memlab.records import Candidate, check_bool, check_id, check_text, one_of
from solutions.consolidation import Extractor
from solutions.given.gate_patterns import (
    BETWEEN_GROUPS,
    CARD_BRAND,
    CLAUSES,
    IBAN_LENGTHS,
    INSTRUCTIONS,
    NEED,
    OWED,
    PLEASANTRIES,
    PRIVATE_MATTERS,
    SECRET_BY_NAME,
    STAFF_AGREED,
    TOKEN,
    either,
)

log = logging.getLogger(__name__)

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

SLOTS = ("", "address", "allergy_self", "delivery_time", "diet", "language", "name", "phone")
"""The facts that have one value at a time; "" is for all others."""

SLOT_ALIASES = {
    "delivery_address": "address",
    "home": "address",
    "home_address": "address",
    "location": "address",
    "allergy": "allergy_self",
    "allergies": "allergy_self",
    "delivery_window": "delivery_time",
    "preferred_delivery_time": "delivery_time",
    "dietary_preference": "diet",
    "phone_number": "phone",
}
MOST = 1000  # characters in one field: a memory is a sentence, and patterns stay fast

Item = TypeVar("Item")


class Proposal(BaseModel):
    """What an extractor proposes. The importance is clamped to 1..5, other names of a slot are mapped.

    about: the customer, or who else, like "son Aarav". excerpt: the words it was drawn from. An unknown
    slot can be proposed, and is refused by the gate. `source` is set by the code that reads the
    conversation. Raises pydantic's ValidationError for a wrong type or an unknown field.

    Example:
    >>> proposal = Proposal(text="Lives in Kothrud.", slot="delivery_address", importance=99)
    >>> proposal.slot, proposal.importance, proposal.memory
    ('address', 5, '(customer) Lives in Kothrud.')
    """

    model_config = ConfigDict(extra="forbid", strict=True, revalidate_instances="always")

    text: str
    about: str = "customer"
    kind: Literal["fact", "preference", "episode"] = "fact"
    slot: str = Field(default="", json_schema_extra={"enum": list(SLOTS)})
    importance: int = 3
    source: Literal["customer_said", "assistant_said", "tool_output"] = "customer_said"
    claims_crumb_owes_something: bool = False
    excerpt: str = ""
    metadata: dict[str, Any] = {}

    @field_validator("importance")
    @classmethod
    def _clamped(cls, importance: int) -> int:
        return min(max(importance, 1), 5)

    @field_validator("slot")
    @classmethod
    def _of_the_list(cls, slot: str) -> str:
        name = re.sub(r"[\s-]+", "_", slot.strip().lower())
        return SLOT_ALIASES.get(name, name)

    @field_validator("text", "about", "excerpt")
    @classmethod
    def _storable(cls, text: str, info: ValidationInfo) -> str:
        return check_text(
            str(info.field_name), text, empty=info.field_name != "about", most=max(1, len(text))
        )

    @property
    def memory(self) -> str:
        """The text to store: who it is about stands in it, so that a son never becomes the customer."""
        return f"({self.about}) {self.text}"


@dataclass(frozen=True)
class Verdict:
    """What the gate decided. `flagged`: a person should look at it."""

    stored: bool
    reason: str
    flagged: bool


@dataclass(frozen=True)
class Inspection:
    """A proposal under inspection: `fields` holds every text in it, as `legible` gives it.

    verified: our own code, or staff, vouches for it.
    """

    proposal: Proposal
    fields: tuple[str, ...]
    verified: bool = False

    def shows(self, pattern: re.Pattern[str]) -> bool:
        """True when any field matches `pattern`."""
        return any(pattern.search(field) for field in self.fields)


Rule = Callable[[Inspection], str | None]
"""From an inspection to the reason for a refusal, or None."""

Judge = Callable[[Any], Verdict]
"""From a candidate to what becomes of it."""

# --- reading: the way a person would ------------------------------------------------------------------

# Letters of other alphabets that look like Latin ones, and fillers that look like nothing.
LOOKALIKES = str.maketrans("авеорсухкмнтіјѕԁɡոαορνι", "abeopcyxkmhtijsdgnaopvi", "\u115f\u1160\u2800")
_SPACED = re.compile(r"\b(?:[a-z][ .*_-]){2,}[a-z]\b")
_DIGIT_WORDS = {
    word: str(value % 10)
    for value, word in enumerate(re.findall(r"\w+", "oh one two three four five six seven eight nine zero"))
}
_SPELLED = re.compile(rf"\b(?:{'|'.join(_DIGIT_WORDS)})(?:[\s,-]+(?:{'|'.join(_DIGIT_WORDS)})){{2,}}\b")


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
    >>> legible("f r e e, code four eight two")
    'free, code 482'
    """
    closed = _SPACED.sub(lambda match: re.sub(r"[ .*_-]", "", match[0]), fold(text))
    return _SPELLED.sub(
        lambda match: "".join(_DIGIT_WORDS[word] for word in re.findall("[a-z]+", match[0])), closed
    )


# --- secrets and payment details ----------------------------------------------------------------------


def luhn(digits: str) -> bool:
    """True when the last of `digits` is the check digit of the others: of random numbers, one in ten is.

    From the right, every second digit is doubled, and 9 taken off what exceeds 9; the sum must end in 0.

    Example:
    >>> luhn("4111111111111111"), luhn("4111111111111112")
    (True, False)
    """
    if not digits.isascii() or not (digits + "0").isdigit():
        raise ValueError(f"digits={digits[:60]!r} holds more than the digits 0 to 9; fold the text first")
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
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
    for first, group in enumerate(groups):
        number, end = "", group.start()
        for nth, part in enumerate(groups[first : first + 19]):
            if nth and not BETWEEN_GROUPS.fullmatch(text[end : part.start()]):
                break
            number, end = number + part[0], part.end()
            if nth and max(len(part[0]), len(group[0])) > 6:
                break
            if CARD_BRAND.fullmatch(number) and luhn(number):
                return True
    return False


def has_iban(text: str) -> bool:
    """True when an IBAN stands in the folded `text`: its country's length and its check digits fit.

    Example:
    >>> has_iban("from gb82 west 1234 5698 7654 32"), has_iban("gb82 west 1234 5698 7654 33")
    (True, False)
    """
    for match in re.finditer(r"(?=([a-z]{2}\d\d(?:[\W_]{0,2}[a-z0-9]){11,30}))", text):
        compact = re.sub(r"[^a-z0-9]", "", match[1])
        number = compact[: IBAN_LENGTHS.get(compact[:2], 0)]
        if sum(character.isdigit() for character in number) < 10:
            continue  # a word or two behind "be16", whose check digits fit by chance
        if len(number) == IBAN_LENGTHS.get(compact[:2]) and _mod_97(number[4:] + number[:4]) == 1:
            return True
    return False


def _mod_97(characters: str) -> int:
    """The remainder by 97 of a number in which letters stand for 10..35."""
    return int("".join(str(int(character, 36)) for character in characters)) % 97


def holds_secret(text: str) -> bool:
    """True when the legible `text` holds what opens an account, a door or a wallet.

    Example:
    >>> holds_secret(legible("My ＰＩＮ is ４３２１")), holds_secret("a pin for her hat")
    (True, False)
    """
    by_number = has_card_number(text) or has_iban(text)
    return by_number or bool(SECRET_BY_NAME.search(text) or TOKEN.search(text))


# --- what a rule asks -------------------------------------------------------------------------------

FREE_OF = either(
    r"[a-z]{1,30}-free\b|\b(?:sugar|gluten|nut|egg|dairy|lactose|alcohol|onion|fat|toll|care|smoke) ?free\b",
    r"\bfree\W?(?:range|lanc\w*|hand|style|form)|\bfeel free|\bfree (?:of|from) (?!charge|cost)",
    r"^is free (?:after|before|until|till|between|at \d|on (?:\w+days?|weekends?)\b)",
    r"\bfree (?:time|slot|day|morning|afternoon|evening|weekend|hour)s?\b",
    r"(?:customer|user|\bs?he|\bwe|\bi|they|who)(?:'s|'m|'re| is| am| are) (?:\w+ )?free\b(?! of)",
)
"""Where "free" has nothing to do with payment."""

OTHERS = either(
    r"\bu_[a-z]",
    r"\b(?:another|other|different|previous|all(?: the| our| your)?(?: other)?|every|each) "
    r"(?:customer|user|client|account)s?\b(?! of (?:her|his|their|my))",
    r"\b(?:customer|user|client) (?:with )?(?:named|called|id|#)|\bevery(?:body|one) who",
    r"\bapp\W?(?:scope|wide)\b|\bglobal(?:ly)? (?:memory|scope|for)",
    r"^(?:everyone|everybody|all|others?)$",
)
"""Other customers, or all of them."""

NAMED_CUSTOMER = re.compile(r"\b(?:[Cc]ustomer|[Uu]ser|[Cc]lient) [A-Z][a-z]+")
IDENTITY = re.compile(
    r'"(?:user_?id|app(?:_?name)?|scope|session_?id|owner|tenant|source(?:_?type)?|trust|confidence|pinned|'
    r'verified)"\s*:'
)
"""Keys of metadata that only the system may set."""


def owes_something(text: str) -> bool:
    """True when the folded `text` speaks of something the business would give away or owe.

    "Free" counts only where it means without payment: not sugar-free, free-range, feel free, free on Sunday.

    Example:
    >>> owes_something("free delivery for life"), owes_something("wants sugar-free cake")
    (True, False)
    """
    return bool(OWED.search(FREE_OF.sub(" ", text)))


def need_only(text: str) -> str:
    """What the customer needs, without the reason that is not ours to keep; "" when no need is left.

    Example:
    >>> need_only("Diabetic, so wants sugar-free cake.")
    'wants sugar-free cake'
    """
    kept = [
        clause.strip()
        for clause in CLAUSES.split(text)
        if NEED.search(legible(clause)) and not PRIVATE_MATTERS.search(legible(clause))
    ]
    return ", ".join(kept)


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
    return (
        any(OTHERS.search(legible(text)) for text in texts)
        or any(NAMED_CUSTOMER.search(unicodedata.normalize("NFKC", text)) for text in texts)
        or bool(IDENTITY.search(legible(json.dumps(proposal.metadata, ensure_ascii=False))))
    )


# --- the rules, in the order in which they are asked --------------------------------------------------


def too_long(seen: Inspection) -> str | None:
    """No field may be longer than MOST: it could hide anything."""
    return TOO_LONG if any(len(field) > MOST for field in seen.fields) else None


def said_by_assistant(seen: Inspection) -> str | None:
    """The assistant is no source: it would remember its own guesses."""
    return ASSISTANT if seen.proposal.source == "assistant_said" else None


def secret_or_payment(seen: Inspection) -> str | None:
    """Nothing that opens an account, a door or a wallet."""
    return SECRET if any(map(holds_secret, seen.fields)) else None


def instruction(seen: Inspection) -> str | None:
    """Nothing that tells the assistant what to do, or closes the block that memories are shown in."""
    return INSTRUCTION if seen.shows(INSTRUCTIONS) else None


def private_matter(seen: Inspection) -> str | None:
    """No diagnosis, religion or money matter: the need is enough."""
    return PRIVATE if seen.shows(PRIVATE_MATTERS) else None


def promise(seen: Inspection) -> str | None:
    """What Crumb owes, Crumb says: a tool's result or a member of staff, not the customer."""
    owes = seen.proposal.claims_crumb_owes_something or any(map(owes_something, seen.fields))
    return PROMISE if owes and not seen.verified else None


def not_theirs(seen: Inspection) -> str | None:
    """Neither other customers, nor everybody; nor, unless verified, what our own people have agreed to."""
    if speaks_for_others(seen.proposal):
        return NOT_THEIRS
    return NOT_THEIRS if seen.shows(STAFF_AGREED) and not seen.verified else None


def trivia(seen: Inspection) -> str | None:
    """What a good employee would not want to know next time."""
    text = seen.fields[0]
    empty = not any(character.isalpha() for character in text)
    return TRIVIA if seen.proposal.importance < 2 or empty or PLEASANTRIES.search(text) else None


def unknown_slot(seen: Inspection) -> str | None:
    """A slot outside the list would never be replaced."""
    return UNKNOWN_SLOT if seen.proposal.slot not in SLOTS else None


RULES: tuple[Rule, ...] = (
    too_long,
    said_by_assistant,
    secret_or_payment,
    instruction,
    private_matter,
    promise,
    not_theirs,
    trivia,
    unknown_slot,
)
"""Secrets come before all that is flagged: what staff are shown must not hold one either."""


def inspect(candidate: object, *, verified: bool = False) -> Inspection:
    """`candidate` read as a Proposal, with every text in it made legible; metadata with its keys and numbers.

    candidate: a Proposal, a Candidate, a dict, or an object with a proposal's attributes. Raises
    ValidationError, or TypeError for metadata that is no JSON and for a `verified` that is no bool.
    """
    check_bool("verified", verified)
    if isinstance(candidate, Candidate):
        candidate = replace(candidate)  # checks its fields once more: they may have been changed since
        candidate = Proposal(
            text=candidate.content,
            about="customer" if candidate.subject == "user" else candidate.subject,
            importance=round(1 + 4 * candidate.importance),
            excerpt=candidate.excerpt,
            metadata={"topic": candidate.topic},
        )
    proposal = Proposal.model_validate(candidate, from_attributes=True)
    metadata = json.dumps(proposal.metadata, ensure_ascii=False)
    texts = (proposal.text, proposal.excerpt, proposal.about, proposal.slot, metadata)
    return Inspection(proposal, tuple(map(legible, texts)), verified)


def gate(candidate: object, *, verified: bool = False, rules: Sequence[Rule] = RULES) -> Verdict:
    """Whether `candidate` may be stored, and why not: the reason of the first rule that objects.

    candidate: a Proposal, a memlab Candidate (taken as something the customer said), or anything of a
    proposal's shape. verified: True only when your own code took it from a tool's result, or staff accepted
    it; a model never sets it. It never raises: what cannot be inspected is not stored.

    Example:
    >>> gate(Proposal(text="Card ending 4421 was charged twice"))
    Verdict(stored=False, reason='payment detail or secret', flagged=False)
    """
    try:
        seen = inspect(candidate, verified=verified)
        reasons = (rule(seen) for rule in rules)
        reason = next((reason for reason in reasons if reason is not None), STORE)
    except Exception as error:
        # The message of an error may quote the very secret, so only its type is logged.
        log.error("refused a candidate that could not be inspected (%s)", type(error).__name__)
        reason = UNREADABLE
    return Verdict(reason == STORE, reason, reason in FLAGGED)


# --- what people decide -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Review:
    """A flagged candidate: whose it is, why it waits, what staff decided, and who did."""

    number: int
    user_id: str
    candidate: object
    reason: str
    status: Literal["waiting", "accepted", "refused"] = "waiting"
    by: str = ""


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
        """Keep a flagged candidate; its number, from 1 on. Raises ValueError for any other reason."""
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

        Raises ValueError for a number that is not waiting.
        """
        review = self._decide(number, "accepted", by)
        return gate(review.candidate, verified=True)

    def refuse(self, number: int, by: str) -> None:
        """Staff do not vouch for it. Raises ValueError for a number that is not waiting."""
        self._decide(number, "refused", by)

    def forget(self, user_id: str) -> None:
        """Keep no word of this user's, decided or not; the numbers stay taken."""
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

    candidates: Proposals or Candidates. judge: what decides about each, by default the gate.

    Example:
    >>> kept = screen([Proposal(text="Diabetic, so wants sugar-free cake.")], ReviewQueue(), user_id="u_ada")
    >>> [proposal.text for proposal in kept]
    ['wants sugar-free cake']
    """
    check_id("user_id", user_id)
    kept = []
    for candidate in candidates:
        verdict = judge(candidate)
        if verdict.reason == PRIVATE and (reduced := _reduced(candidate)) is not None:
            candidate, verdict = reduced, judge(reduced)
        if verdict.stored:
            kept.append(candidate)
        elif verdict.flagged:
            queue.put(user_id, candidate, verdict.reason)
    return kept


def gated(extract: Extractor, queue: ReviewQueue, *, user_id: str) -> Extractor:
    """`extract` with the gate behind it, for `learn` and `MemorySystem`, which ask for an extractor."""

    def screened(messages: list[dict[str, Any]]) -> list[Candidate]:
        return screen(extract(messages), queue, user_id=user_id)

    return screened


WITHHELD = "[withheld by the write gate]"
_PIECES = re.compile(r".{1,200}?(?:[.!?]\s+|\n+|\Z)|.{200}", re.DOTALL)


def withhold(text: str) -> str:
    """`text` with WITHHELD for each sentence that shows a secret, by itself or with the one or two after it.

    A kept conversation must not hold what the gate keeps out of the memories. Applied again, it changes
    nothing.

    Example:
    >>> withhold("Call me Ada. The db password is hunter2. I like tea.")
    'Call me Ada. [withheld by the write gate] I like tea.'
    """
    pieces: list[str] = _PIECES.findall(text)
    hidden = {at for block in _blocks(pieces) for at in _secret_pieces(pieces, block)}
    return "".join(
        WITHHELD + piece[len(piece.rstrip()) :] if at in hidden else piece for at, piece in enumerate(pieces)
    )


def _blocks(pieces: Sequence[str]) -> Iterator[range]:
    """Runs of pieces, about as long as a field may be, so that patterns stay fast on a long message. The
    last two pieces of a run stand in the next one too: what runs over an edge is whole in one of them."""
    start = end = 0
    while end < len(pieces):
        size, end = 0, start
        while end < len(pieces) and size < MOST:
            size, end = size + len(pieces[end]), end + 1
        yield range(start, end)
        start = end - 2


def _secret_pieces(pieces: Sequence[str], block: range) -> set[int]:
    """Which pieces of the block to withhold: none, the shortest runs that show a secret, or all of them."""

    def shows(run: range) -> bool:
        return holds_secret(legible("".join(pieces[run.start : run.stop])))

    hidden: set[int] = set()
    if not shows(block):
        return hidden
    for width in (1, 2, 3):
        for start in range(block.start, block.stop - width + 1):
            run = range(start, start + width)
            if hidden.isdisjoint(run) and shows(run):
                hidden.update(run)
    announced = {at + 1 for at in hidden if pieces[at].rstrip().endswith((":", "="))}
    return hidden | announced or set(block)


def _reduced(candidate: Item) -> Item | None:
    """The candidate with its need alone, in text and excerpt; None when there is no need in its text."""
    if isinstance(candidate, Candidate):
        need, excerpt = need_only(candidate.content), need_only(candidate.excerpt)
        return replace(candidate, content=need, excerpt=excerpt) if need else None
    if isinstance(candidate, Proposal):
        need, excerpt = need_only(candidate.text), need_only(candidate.excerpt)
        return candidate.model_copy(update={"text": need, "excerpt": excerpt}) if need else None
    return None
