"""Answers to lesson 08 that its checks must tell apart, and right ones that look different."""

from __future__ import annotations

import json
import logging
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from course.lessons.lesson_08 import Proposed
from memlab.records import check_id, one_of
from solutions.given.gate_patterns import BETWEEN_GROUPS, CARD_BRAND, CLAUSES, NEED, OWED, PRIVATE_MATTERS
from solutions.write_gate import (
    FLAGGED,
    FREE_OF,
    LOOKALIKES,
    RULES,
    STORE,
    UNREADABLE,
    Review,
    Rule,
    Verdict,
    inspect,
    legible,
    luhn,
)
from solutions.write_gate import gate as reference_gate

Answer = Callable[..., Any]
Wrong = list[tuple[Answer, str]]
log = logging.getLogger(__name__)

# --- 08-fold ----------------------------------------------------------------------------------------


def unchanged(text: str) -> str:
    return text


def lower_only(text: str) -> str:
    return text.lower()


def nfkc_only(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def with_digits(text: str) -> str:
    return "".join(str(unicodedata.digit(c, c)) for c in nfkc_only(text))


def without_controls(text: str) -> str:
    return "".join(c for c in with_digits(text) if not unicodedata.category(c).startswith("C"))


def accents_stay(text: str) -> str:
    return without_controls(re.sub(r"\s", " ", text))


def no_lookalikes(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    return accents_stay("".join(c for c in decomposed if not unicodedata.combining(c)))


def no_compatibility(text: str) -> str:
    letters = unicodedata.normalize("NFKC", re.sub("[²³¹]", "", text))
    return no_lookalikes(letters).translate(LOOKALIKES)


def folded(
    text: str,
    digit: Callable[[str], str | None] = lambda c: str(unicodedata.digit(c, "")) or None,
    hidden: Callable[[str], bool] = lambda category: category[0] == "C" or category in ("Mn", "Me"),
) -> str:
    """Folded all but for look-alikes; each argument is a way to get it wrong."""
    seen = []
    for c in unicodedata.normalize("NFKD", text):
        if value := digit(c):
            seen.append(value)
        elif c.isspace():
            seen.append(" ")
        elif not hidden(unicodedata.category(c)):
            seen.append(c)
    return "".join(seen)


def falsy_zero(text: str) -> str:
    value = folded(text, digit=lambda c: str(unicodedata.digit(c, 0) or "") or None)
    return value.casefold().translate(LOOKALIKES)


def format_only(text: str) -> str:
    value = folded(text, hidden=lambda category: category in ("Cf", "Mn", "Me"))
    return value.casefold().translate(LOOKALIKES)


def translated_first(text: str) -> str:
    return folded(text).translate(LOOKALIKES).casefold()


def by_steps(text: str) -> str:
    spaced = re.sub(r"\s", " ", unicodedata.normalize("NFKD", text))
    seen = "".join(c for c in spaced if not re.match("C|Mn|Me", unicodedata.category(c)))
    return re.sub(r"\d", lambda digit: str(int(digit[0])), seen).lower().translate(LOOKALIKES)


# --- 08-luhn ----------------------------------------------------------------------------------------


def remainder(digits: str) -> int:
    return luhn_sum(digits) % 10


def luhn_sum(digits: str) -> int:
    table = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
    return sum(table[int(d)] if at % 2 else int(d) for at, d in enumerate(digits[::-1]))


def always_true(*_: Any, **__: Any) -> bool:
    return True


def always_false(*_: Any, **__: Any) -> bool:
    return False


def plain_sum(digits: str) -> bool:
    return digits != "1" and sum(map(int, digits)) % 10 == 0


def nine_stays(digits: str) -> bool:
    return sum(int(d) * (1 + at % 2) for at, d in enumerate(digits[::-1])) % 10 == 0


def from_the_left(digits: str) -> bool:
    digits = digits if len(digits) > 1 else "0" + digits
    doubled = (int(d) * (2 - at % 2) for at, d in enumerate(digits))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def by_table(digits: str) -> bool:
    return luhn_sum(digits) % 10 == 0


# --- 08-card ----------------------------------------------------------------------------------------


def eight_digits(text: str) -> bool:
    return re.search(r"\d{4}[ -]?\d{4}", text) is not None


def sixteen_digits(text: str) -> bool:
    return re.search(r"\d{16}", text) is not None


def luhn_alone(text: str) -> bool:
    return any(len(number) > 12 and luhn(number) for number in re.findall(r"\d+", text))


def one_group(text: str) -> bool:
    return any(CARD_BRAND.fullmatch(n) and luhn(n) for n in re.findall(r"\d+", text))


def whole_words(text: str) -> bool:
    found = re.findall(r"\b\d(?:[ .-]?\d){12,18}\b", text)
    return any(CARD_BRAND.fullmatch(n) and luhn(n) for n in (re.sub(r"\D", "", f) for f in found))


def from_the_first(text: str) -> bool:
    number = re.sub(r"\D", "", text)
    return bool(CARD_BRAND.fullmatch(number)) and luhn(number)


def groups_of_four(text: str) -> bool:
    found = re.findall(r"\d{4}[ .-]?\d{4}[ .-]?\d{4}[ .-]?\d{4}", text)
    return any(CARD_BRAND.fullmatch(n) and luhn(n) for n in (re.sub(r"\D", "", f) for f in found))


def any_gap(text: str) -> bool:
    groups = re.findall(r"\d+", text)
    runs = ["".join(groups[i:j]) for i in range(len(groups)) for j in range(i + 1, len(groups) + 1)]
    return any(CARD_BRAND.fullmatch(run) and luhn(run) for run in runs)


def any_size(text: str) -> bool:
    found = list(re.finditer(r"\d+", text))
    for i in range(len(found)):
        for j in range(i, len(found)):
            gaps = (text[a.end() : b.start()] for a, b in zip(found[i:j], found[i + 1 : j + 1], strict=True))
            run = "".join(group[0] for group in found[i : j + 1])
            if all(BETWEEN_GROUPS.fullmatch(gap) for gap in gaps) and CARD_BRAND.fullmatch(run) and luhn(run):
                return True
    return False


def at_the_end(text: str) -> bool:
    return joined(text, lambda first, part: max(len(first), len(part)) > 6, last=True)


def new_group_only(text: str) -> bool:
    return joined(text, lambda first, part: len(part) > 6)


def joined(text: str, too_long: Callable[[str, str], bool], last: bool = False) -> bool:
    groups = list(re.finditer(r"\d+", text))
    for first in range(len(groups)):
        numbers = [groups[first][0]]
        for before, part in zip(groups[first:], groups[first + 1 :], strict=False):
            gap = text[before.end() : part.start()]
            if not BETWEEN_GROUPS.fullmatch(gap) or too_long(groups[first][0], part[0]):
                break
            numbers.append(numbers[-1] + part[0])
        if any(CARD_BRAND.fullmatch(n) and luhn(n) for n in (numbers[-1:] if last else numbers)):
            return True
    return False


def by_regex(text: str) -> bool:
    shape = r"(?<!\d)(?=(\d{13,19}(?!\d)|\d{1,6}(?:[\W_]{0,3}\d{1,6}){1,18}))"
    for match in re.finditer(shape, text):
        parts = re.findall(r"\d+", match[1])
        for last in range(1, len(parts) + 1):
            number = "".join(parts[:last])
            small = last == 1 or max(map(len, parts[:last])) <= 6
            if small and CARD_BRAND.fullmatch(number) and luhn(number):
                return True
    return False


# --- 08-promise -------------------------------------------------------------------------------------


def free_alone(text: str) -> bool:
    return "free" in text


def every_free(text: str) -> bool:
    return OWED.search(text) is not None


def unless_hyphen(text: str) -> bool:
    return OWED.search(re.sub(r"\w+-free", "", text)) is not None


def unless_food(text: str) -> bool:
    return "free" in re.sub(r"\w+-free|(?:sugar|gluten) free", "", text) or bool(OWED.search(text[:0]))


def longer_words(text: str) -> bool:
    return bool(OWED.search(re.sub(r"\w+-free|(?:sugar|gluten) free|free-?\w+", "", text)))


def free_on(text: str) -> bool:
    return longer_words(text.replace("free on", ""))


def stops_at_the_first(text: str) -> bool:
    return not FREE_OF.search(text) and bool(OWED.search(text))


def free_of_counts(text: str) -> bool:
    return "free of" in text or bool(OWED.search(FREE_OF.sub("", text)))


def never_free_of(text: str) -> bool:
    return "free of" not in text and bool(OWED.search(FREE_OF.sub("", text)))


def unless_discount(text: str) -> bool:
    return "discount" not in text and bool(OWED.search(FREE_OF.sub("", text)))


def unless_charge(text: str) -> bool:
    return by_hand(text, r"free of (?!charge)")


def by_hand(text: str, of: str = r"free of (?!charge|cost)") -> bool:
    food, work = r"\w+-free|(sugar|gluten) free", r"free-?(range|lance)"
    for sense in (food, work, r"customer is free", of):
        text = re.sub(sense, "", text)
    return OWED.search(text) is not None


# --- 08-need ----------------------------------------------------------------------------------------


def clauses(text: str) -> list[str]:
    return [clause.strip() for clause in CLAUSES.split(text) if clause.strip()]


def everything(text: str) -> str:
    return text


def all_or_nothing(text: str) -> str:
    return "" if PRIVATE_MATTERS.search(legible(text)) else text


def not_because(text: str) -> str:
    parts = map(str.strip, re.split(r"[,;.]|\bso\b", text))
    return ", ".join(c for c in parts if c and not private(c) and need(c)) or text


def private(clause: str) -> bool:
    return PRIVATE_MATTERS.search(legible(clause)) is not None


def need(clause: str) -> bool:
    return NEED.search(legible(clause)) is not None


def reason_stays(text: str) -> str:
    return ", ".join(c for c in clauses(text) if not private(c)) or text


def chat_stays(text: str) -> str:
    return ", ".join(c for c in clauses(text) if not private(c))


def need_wins(text: str) -> str:
    return ", ".join(c for c in clauses(text) if need(c))


def first_need(text: str) -> str:
    return next((c for c in clauses(text) if need(c) and not private(c)), "")


def not_legible(text: str) -> str:
    return ", ".join(c for c in clauses(text) if need(c) and not PRIVATE_MATTERS.search(c.lower()))


def run_together(text: str) -> str:
    return with_a_loop(text).replace(",", "")


def not_stripped(text: str) -> str:
    return ",".join(c for c in CLAUSES.split(text) if need(c) and not private(c))


def with_a_loop(text: str) -> str:
    kept: list[str] = []
    for clause in clauses(text):
        if private(clause) or not need(clause):
            continue
        kept.append(clause)
    return ", ".join(kept)


# --- 08-gate ----------------------------------------------------------------------------------------


def verdict(reason: str) -> Verdict:
    return Verdict(reason == STORE, reason, reason in FLAGGED)


def objections(candidate: object, verified: bool, rules: Sequence[Rule]) -> list[str]:
    seen = inspect(candidate, verified=verified)
    return [reason for rule in rules if (reason := rule(seen)) is not None]


def lets_errors_out(candidate: object, *, verified: bool = False, rules: Sequence[Rule] = RULES) -> Verdict:
    return verdict((objections(candidate, verified, rules) or [STORE])[0])


def fails_open(candidate: object, *, verified: bool = False, rules: Sequence[Rule] = RULES) -> Verdict:
    try:
        return lets_errors_out(candidate, verified=verified, rules=rules)
    except Exception:
        return verdict(STORE)


def quotes_the_error(candidate: object, *, verified: bool = False, rules: Sequence[Rule] = RULES) -> Verdict:
    try:
        return lets_errors_out(candidate, verified=verified, rules=rules)
    except Exception as error:
        return verdict(str(error))


def skips_broken_rules(
    candidate: object, *, verified: bool = False, rules: Sequence[Rule] = RULES
) -> Verdict:
    broken = []
    for rule in rules:
        try:
            if reason := rule(inspect(candidate, verified=verified)):
                return verdict(reason)
        except Exception as error:
            broken.append(error)
    return verdict(UNREADABLE if len(broken) == len(rules) else STORE)


def inspects_outside(candidate: object, *, verified: bool = False, rules: Sequence[Rule] = RULES) -> Verdict:
    if candidate is None:
        return verdict(STORE)
    return by_loop(candidate, verified=verified, rules=rules)


def first_rule_only(candidate: object, *, verified: bool = False, rules: Sequence[Rule] = RULES) -> Verdict:
    return by_loop(candidate, verified=verified, rules=rules[:1])


def last_reason(candidate: object, *, verified: bool = False, rules: Sequence[Rule] = RULES) -> Verdict:
    return by_loop(candidate, verified=verified, rules=rules[::-1])


def flags_everything(candidate: object, *, verified: bool = False, rules: Sequence[Rule] = RULES) -> Verdict:
    result = by_loop(candidate, verified=verified, rules=rules)
    return replace(result, flagged=not result.stored)


def flags_nothing(candidate: object, *, verified: bool = False, rules: Sequence[Rule] = RULES) -> Verdict:
    return replace(by_loop(candidate, verified=verified, rules=rules), flagged=False)


def never_verified(candidate: object, *, verified: bool = False, rules: Sequence[Rule] = RULES) -> Verdict:
    return by_loop(candidate, rules=rules)


def catches_interrupts(
    candidate: object, *, verified: bool = False, rules: Sequence[Rule] = RULES
) -> Verdict:
    try:
        return lets_errors_out(candidate, verified=verified, rules=rules)
    except BaseException:
        return verdict(UNREADABLE)


def by_loop(candidate: object, *, verified: bool = False, rules: Sequence[Rule] = RULES) -> Verdict:
    return logging_by(lambda error: log.warning(type(error)))(candidate, verified=verified, rules=rules)


def logging_by(tell: Callable[[Exception], None]) -> Answer:
    def gate(candidate: object, *, verified: bool = False, rules: Sequence[Rule] = RULES) -> Verdict:
        try:
            found = objections(candidate, verified, rules)
        except Exception as error:
            tell(error)
            return Verdict(False, UNREADABLE, False)
        return verdict(found[0]) if found else verdict(STORE)

    return gate


# --- 08-queue ---------------------------------------------------------------------------------------


class ByLists:
    """A right queue, on a list."""

    def __init__(self) -> None:
        self.kept: list[Review] = []

    @property
    def reviews(self) -> dict[int, Review]:
        return {review.number: review for review in self.kept}

    def put(self, user_id: str, candidate: object, reason: str) -> int:
        one_of("reason", reason, FLAGGED)
        self.kept.append(Review(len(self.kept) + 1, user_id, candidate, reason))
        return len(self.kept)

    def waiting(self) -> list[Review]:
        return [review for review in self.kept if review.status == "waiting"]

    def accept(self, number: int, by: str) -> Verdict:
        return reference_gate(self.decide(number, "accepted", by), verified=True)

    def refuse(self, number: int, by: str) -> None:
        self.decide(number, "refused", by)

    def decide(self, number: int, status: Any, by: str) -> object:
        check_id("by", by)
        for place, review in enumerate(self.kept):
            if review.number == number and review.status == "waiting":
                self.kept[place] = replace(review, status=status, by=by)
                return review.candidate
        raise ValueError(f"number={number} is not waiting")


class FromZero(ByLists):
    def put(self, user_id: str, candidate: object, reason: str) -> int:
        return super().put(user_id, candidate, reason) - 1


class NewestFirst(ByLists):
    def waiting(self) -> list[Review]:
        return super().waiting()[::-1]


class NotVerified(ByLists):
    def accept(self, number: int, by: str) -> Verdict:
        return reference_gate(self.decide(number, "accepted", by))


class StoresWhatStaffClick(ByLists):
    def accept(self, number: int, by: str) -> Verdict:
        self.decide(number, "accepted", by)
        return Verdict(True, STORE, False)


class GoesOnWaiting(ByLists):
    def waiting(self) -> list[Review]:
        return self.kept


class DecidesTwice(ByLists):
    def refuse(self, number: int, by: str) -> None:
        self.kept[number - 1] = replace(self.kept[number - 1], status="refused", by=by)


class RefusesNothing(ByLists):
    def refuse(self, number: int, by: str) -> None:
        if number not in {review.number for review in self.waiting()}:
            raise ValueError(f"number={number} is not waiting")


class KeepsSecrets(ByLists):
    def put(self, user_id: str, candidate: object, reason: str) -> int:
        self.kept.append(Review(len(self.kept) + 1, user_id, candidate, reason))
        return len(self.kept)


class ByNobody(ByLists):
    def decide(self, number: int, status: Any, by: str) -> object:
        return super().decide(number, status, by or "somebody")


class DeletesTheDecided(ByLists):
    def decide(self, number: int, status: Any, by: str) -> object:
        candidate = super().decide(number, status, by)
        self.kept = self.waiting()
        return candidate


class SaysDone(ByLists):
    def decide(self, number: int, status: Any, by: str) -> object:
        return super().decide(number, "done", by)


class RefusesAsAccepted(ByLists):
    def refuse(self, number: int, by: str) -> None:
        self.decide(number, "accepted", by)


class ForgetsWho(ByLists):
    def decide(self, number: int, status: Any, by: str) -> object:
        candidate = super().decide(number, status, by)
        self.kept[number - 1] = replace(self.kept[number - 1], by="")
        return candidate


# --- 08-others --------------------------------------------------------------------------------------

EVERYBODY = re.compile(r"\b(?:all|every|each|another|other) (?:customer|user|client)s?\b")
NAMED = re.compile(r"[Cc]ustomer [A-Z]")
KEYS = {
    "user_id", "app_name", "scope", "session_id", "owner", "tenant", "source", "trust", "confidence",
    "pinned", "verified",
}  # fmt: skip


def about_anyone(proposal: Any) -> bool:
    return "customer" in proposal.text.lower()


def all_of_them(proposal: Any) -> bool:
    return "all " in proposal.text.lower() or "every" in proposal.text.lower()


def never_named(proposal: Any) -> bool:
    return EVERYBODY.search(proposal.text) is not None or "all customers" in proposal.text.lower()


def any_name(proposal: Any) -> bool:
    return never_named(proposal) or re.search(r"[Cc]ustomer('s)? ?[A-Z]?.*address", proposal.text) is not None


def only_the_customer(proposal: Any) -> bool:
    return text_only(proposal) or proposal.about != "customer"


def text_only(proposal: Any) -> bool:
    return bool(EVERYBODY.search(proposal.text.lower()) or NAMED.search(proposal.text))


def no_excerpt(proposal: Any) -> bool:
    return text_only(proposal) or EVERYBODY.search(proposal.about) is not None


def no_metadata(proposal: Any) -> bool:
    return no_excerpt(proposal) or EVERYBODY.search(proposal.excerpt) is not None


def top_level(proposal: Any) -> bool:
    return no_metadata(proposal) or bool(KEYS & set(proposal.metadata))


def any_mention(proposal: Any) -> bool:
    return no_metadata(proposal) or any(key in json.dumps(proposal.metadata) for key in KEYS)


def no_disguise(proposal: Any) -> bool:
    return no_metadata(proposal) or any(f'"{key}":' in json.dumps(proposal.metadata) for key in KEYS)


def name_as_written(proposal: Any) -> bool:
    return by_walking(proposal, name=lambda text: text)


def key_as_escaped(proposal: Any) -> bool:
    plain = Proposed(proposal.text, proposal.about, proposal.excerpt)
    dumped = legible(json.dumps(proposal.metadata))
    return by_walking(plain) or any(f'"{key}":' in dumped for key in KEYS)


def three_keys(proposal: Any) -> bool:
    return by_walking(proposal, system={"user_id", "scope", "app_name"})


def by_walking(
    proposal: Any,
    name: Callable[[str], str] = lambda text: unicodedata.normalize("NFKC", text),
    system: set[str] = KEYS,
) -> bool:
    def keys(value: object) -> set[str]:
        if isinstance(value, dict):
            return {legible(key) for key in value}.union(*map(keys, value.values()))
        return set().union(*map(keys, value)) if isinstance(value, list) else set()

    texts = (proposal.text, proposal.about, proposal.excerpt)
    return (
        any(EVERYBODY.search(legible(text)) or NAMED.search(name(text)) for text in texts)
        or bool(system & keys(proposal.metadata))
    )  # fmt: skip


WRONG: dict[str, Wrong] = {
    "08-fold": [
        (unchanged, "Fold the case"),
        (lower_only, "Full-width forms look"),
        (nfkc_only, "leaves the digits of other scripts alone"),
        (with_digits, "no pattern gets past them"),
        (without_controls, "can be *seen*"),
        (format_only, "more than category Cf"),
        (falsy_zero, "is falsy"),
        (translated_first, "then translate"),
        (accents_stay, "until you decompose it"),
        (no_lookalikes, "are Cyrillic"),
        (no_compatibility, "NFKC makes ² a 2"),
    ],
    "08-luhn": [
        (remainder, "not the remainder"),
        (always_true, "the sum is 1"),
        (plain_sum, "not the last one"),
        (nine_stays, "take 9 off"),
        (from_the_left, "from the left"),
        (always_false, "0 ends in 0"),
    ],
    "08-card": [
        (always_false, "as banks publish it"),
        (eight_digits, "belong to no brand"),
        (sixteen_digits, "ask `luhn`"),
        (luhn_alone, "ask `CARD_BRAND`"),
        (one_group, "written in groups"),
        (whole_words, "glued to letters"),
        (from_the_first, "Try each group"),
        (groups_of_four, "fifteen digits"),
        (any_gap, "Join groups only where"),
        (any_size, "At most six"),
        (at_the_end, "date of expiry follows"),
        (new_group_only, "The long group stands first"),
    ],
    "08-promise": [
        (always_false, "for nothing"),
        (unless_discount, "did you search it"),
        (every_free, "not what she pays"),
        (unless_hyphen, "without the hyphen"),
        (longer_words, "the bread is not"),
        (free_on, "Who is free"),
        (stops_at_the_first, "You stopped"),
        (free_of_counts, "nothing is given away"),
        (never_free_of, "is not always a need"),
        (unless_charge, "means the same"),
    ],
    "08-need": [
        (everything, "still in it"),
        (all_or_nothing, "threw the need away"),
        (not_because, "can come last"),
        (reason_stays, "nothing to keep"),
        (chat_stays, "is not a need"),
        (need_wins, "When in doubt"),
        (first_need, "the first need only"),
        (not_legible, "hid the diagnosis"),
        (not_stripped, "blanks around it"),
        (run_together, "run together"),
    ],
    "08-gate": [
        (first_rule_only, "the first rule only"),
        (flags_everything, "need a person"),
        (flags_nothing, "somebody should look"),
        (last_reason, "order of the rules"),
        (never_verified, "did not reach the rules"),
        (lets_errors_out, "An exception came out"),
        (fails_open, "failing *open*"),
        (quotes_the_error, "quotes the error"),
        (skips_broken_rules, "was skipped"),
        (inspects_outside, "inside the `try`"),
        (catches_interrupts, "interrupt button"),
        (logging_by(log.exception), "whole traceback"),
        (logging_by(lambda error: log.warning("%s", error)), "log quotes the memory"),
        (logging_by(lambda error: None), "that a rule is broken"),
    ],
    "08-queue": [
        (FromZero, "from 1 on"),
        (NewestFirst, "oldest first"),
        (NotVerified, "verified=True"),
        (GoesOnWaiting, "accepted and still waits"),
        (DecidesTwice, "Which one holds"),
        (StoresWhatStaffClick, "tired staff"),
        (RefusesNothing, "refused and still waits"),
        (KeepsSecrets, "for all staff to read"),
        (ByNobody, "Nobody accepted it"),
        (DeletesTheDecided, "The review is gone"),
        (SaysDone, "spelled like this"),
        (ForgetsWho, "does not say who decided"),
        (RefusesAsAccepted, "told from what they accepted"),
    ],
    "08-others": [
        (about_anyone, "is about this customer"),
        (always_false, "told of all customers"),
        (all_of_them, "*three children*"),
        (never_named, "another customer's address"),
        (any_name, "no name follows"),
        (only_the_customer, "A son"),
        (text_only, "look at every field"),
        (no_excerpt, "in the excerpt"),
        (no_metadata, "show it to everybody"),
        (top_level, "one level deeper"),
        (any_mention, "is a value here"),
        (no_disguise, "Full-width letters: match"),
        (name_as_written, "keeps capitals"),
        (key_as_escaped, "`ensure_ascii=False`"),
        (three_keys, "The task lists more keys"),
    ],
}

RIGHT: dict[str, list[Answer]] = {
    "08-fold": [by_steps],
    "08-luhn": [by_table],
    "08-card": [by_regex],
    "08-promise": [by_hand],
    "08-need": [with_a_loop],
    "08-gate": [by_loop],
    "08-queue": [ByLists],
    "08-others": [by_walking],
}
