"""Answers to lesson 08 that its checks must tell apart, and right ones that look different."""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from memlab.fields import check_id, one_of
from solutions.given.disguises import LOOKALIKES
from solutions.given.gate_patterns import CARD_BRAND, CLAUSES, NAMED_CUSTOMER, NEED, OTHERS, PRIVATE_MATTERS
from solutions.given.gate_rules import FLAGGED, PRIVATE, STORE, UNREADABLE, Review, Rule, Verdict
from solutions.given.proposals import inspect, reduced
from solutions.write_gate import RULES, gate, legible, luhn, need_only

Answer = Callable[..., Any]
log = logging.getLogger(__name__)

# --- wrong in a way that no edit makes ----------------------------------------------------------------


def skips_broken_rules(
    candidate: object, *, verified: bool = False, rules: Sequence[Rule] = RULES
) -> Verdict:
    for rule in rules:
        verdict = gate(candidate, verified=verified, rules=[rule])
        if verdict.reason not in (STORE, UNREADABLE) or len(rules) == 1:
            return verdict
    return Verdict(True, STORE, False)


# --- right, and written differently -------------------------------------------------------------------


def by_steps(text: str) -> str:
    spaced = re.sub(r"\s", " ", unicodedata.normalize("NFKD", text))
    seen = "".join(c for c in spaced if not re.match("C|Mn|Me", unicodedata.category(c)))
    return re.sub(r"\d", lambda digit: str(int(digit[0])), seen).lower().translate(LOOKALIKES)


def by_table(digits: str) -> bool:
    doubled = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
    return sum(doubled[int(d)] if at % 2 else int(d) for at, d in enumerate(digits[::-1])) % 10 == 0


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


def with_a_loop(text: str) -> str:
    needs: list[str] = []
    for clause in CLAUSES.split(text):
        read = legible(clause)
        if PRIVATE_MATTERS.search(read) is None and NEED.search(read) is not None:
            needs.append(clause.strip())
    return ", ".join(needs)


def by_next(candidate: object, *, verified: bool = False, rules: Sequence[Rule] = RULES) -> Verdict:
    try:
        seen = inspect(candidate, legible, verified=verified)
        reason = next((reason for objects, reason in rules if objects(seen)), "")
    except Exception as error:
        log.warning(type(error))
        return Verdict(False, UNREADABLE, False)
    return Verdict(False, reason, reason in FLAGGED) if reason else Verdict(True, STORE, False)


class ByLists:
    """A right queue, on a list, whose errors are worded its own way."""

    def __init__(self) -> None:
        self.claims: list[Review] = []

    @property
    def reviews(self) -> dict[int, Review]:
        return {review.number: review for review in self.claims}

    def put(self, user_id: str, candidate: object, reason: str) -> int:
        one_of("reason", reason, FLAGGED)
        self.claims.append(Review(len(self.claims) + 1, check_id("user_id", user_id), candidate, reason))
        return len(self.claims)

    def waiting(self) -> list[Review]:
        return [review for review in self.claims if review.status == "waiting"]

    def accept(self, number: int, by: str) -> Verdict:
        return gate(self.decide(number, "accepted", by), verified=True)

    def refuse(self, number: int, by: str) -> None:
        self.decide(number, "refused", by)

    def forget(self, user_id: str) -> None:
        empty = Review(0, "", None, "", "refused", "nobody")
        self.claims = [
            replace(empty, number=claim.number) if claim.user_id == user_id else claim
            for claim in self.claims
        ]

    def decide(self, number: int, status: Any, by: str) -> object:
        check_id("by", by)
        for place, review in enumerate(self.claims):
            if review.number == number and review.status == "waiting":
                self.claims[place] = replace(review, status=status, by=by)
                return review.candidate
        raise ValueError(f"{number} was decided already")


def by_parts(candidates: Any, queue: Any, *, user_id: str, judge: Answer = gate) -> list[Any]:
    check_id("user_id", user_id)
    judged = [(candidate, judge(candidate)) for candidate in candidates]
    for at, (candidate, verdict) in enumerate(judged):
        if verdict.reason == PRIVATE and (need := reduced(candidate, need_only)):
            judged[at] = (need, judge(need))
    for candidate, verdict in judged:
        if verdict.flagged:
            queue.put(user_id, candidate, verdict.reason)
    return [candidate for candidate, verdict in judged if verdict.stored]


def by_walking(proposal: Any) -> bool:
    system = {
        "user_id", "app_name", "scope", "session_id", "owner", "tenant", "source", "trust", "confidence",
        "pinned", "verified",
    }  # fmt: skip

    def keys(value: object) -> set[str]:
        if isinstance(value, dict):
            return {legible(key) for key in value}.union(*map(keys, value.values()))
        return set().union(*map(keys, value)) if isinstance(value, list) else set()

    texts = (proposal.text, proposal.about, proposal.excerpt)
    named = [NAMED_CUSTOMER.search(unicodedata.normalize("NFKC", text)) for text in texts]
    return any(named) or any(OTHERS.search(legible(text)) for text in texts) or bool(
        system & keys(proposal.metadata)
    )  # fmt: skip


# fmt: off
WRONG: dict[str, list[tuple[Any, str]]] = {
    "08-fold": [
        (lambda text: text, "Fold the case"),
        (str.lower, "Full-width forms look"),
        ("if digit is not None => if False", "leaves the digits of other scripts alone"),
        ('if category[0] != "C" and category not in ("Mn", "Me") => if category[0] != "M"',
         "no pattern gets past them"),
        ("elif character.isspace(): => elif character == ' ':", "can be *seen*"),
        ('seen.append(" ") => seen.append(character)', "still there; make each a space"),
        ('category[0] != "C" => category != "Cf"', "more than category Cf"),
        ("if digit is not None => if digit", "is falsy"),
        (' and category not in ("Mn", "Me") => ', "until you decompose it"),
        ('("Mn", "Me") => ("Mn",)', "circle drawn around"),
        (".translate(LOOKALIKES) => ", "are Cyrillic. "),
        (".casefold().translate(LOOKALIKES) => .translate(LOOKALIKES).casefold()", "then translate"),
        ('("NFKD", text) => ("NFKD", text.casefold()) ;; .casefold().translate => .translate',
         "normalise first"),
        ('("NFKD", text) => ("NFKD", re.sub("[²³¹]", "", text))', "NFKC makes ² a 2"),
    ],
    "08-luhn": [
        ("total % 10 == 0 => total % 10", "not the remainder"),
        ("return total % 10 == 0 => return True", "the sum is 1"),
        ("place % 2) => (place + 1) % 2)", "not the last one"),
        ("value - 9 if value > 9 else value => value", "take 9 off"),
        ("enumerate(reversed(digits)) => enumerate(digits, 1)", "from the left"),
        ("return total % 10 == 0 => return False", "0 ends in 0"),
    ],
    "08-card": [
        ("return True\n => return False\n", "as banks publish it"),
        ("CARD_BRAND.fullmatch(number) and luhn(number) => len(number) > 7", "belong to no brand"),
        (" and luhn(number) => ", "ask `luhn`"),
        ("CARD_BRAND.fullmatch(number) and luhn(number) => len(number) > 12 and luhn(number)",
         "ask `CARD_BRAND`"),
        ("CARD_BRAND.fullmatch => CARD_BRAND.match", "Twenty digits"),
        ("first + 19 => first + 1", "written in groups"),
        ('(r"\\d+", text) => (r"\\b\\d+\\b", text)', "glued to letters"),
        ("in enumerate(groups): => in [*enumerate(groups)][:1]:", "Try each group"),
        (" > 6: => > 4:", "fifteen digits"),
        ("first + 19 => first + 5", "spoken one by one"),
        ("            if CARD_BRAND => \n        if CARD_BRAND", "date of expiry follows"),
        ("if not BETWEEN_GROUPS.fullmatch(text[end : part.start()]): => if False:", "Join groups only where"),
        ("not BETWEEN_GROUPS.fullmatch(text[end : part.start()]) => part.start() - end > 4",
         "A short word is still"),
        ("if nth and max(len(part[0]), len(group[0])) > 6: => if False:", "At most six"),
        (" > 6: => > 7:", "Groups of seven"),
        ("max(len(part[0]), len(group[0])) > 6 => len(part[0]) > 6", "The long group stands first"),
    ],
    "08-need": [
        (lambda text: text, "still in it"),
        (lambda text: "" if PRIVATE_MATTERS.search(legible(text)) else text, "threw the need away"),
        (r'CLAUSES.split(text) => re.split(r"[,;.]|\bso\b", text)', "can come last"),
        ('return ", ".join(needs) => return ", ".join(needs) or text', "nothing to keep"),
        ("NEED.search(legible(clause)) and  => clause.strip() and ", "is not a need"),
        (" and not PRIVATE_MATTERS.search(legible(clause)) => ", "When in doubt"),
        ('", ".join(needs) => "".join(needs[:1])', "the first need only"),
        ("not PRIVATE_MATTERS.search(legible(clause)) => not PRIVATE_MATTERS.search(clause.lower())",
         "hid the diagnosis"),
        ("if NEED.search(legible(clause)) => if NEED.search(clause.lower())", "The need is in full-width"),
        ("clause.strip() => legible(clause).strip()", "for matching only"),
        ("clause.strip() => clause", "blanks around it"),
        ('", ".join => " ".join', "run together"),
    ],
    "08-gate": [
        ("in rules: => in RULES:", "not through `RULES`"),
        ("in rules: => in rules[:1]:", "the first rule only"),
        ("reason in FLAGGED) => reason != STORE)", "need a person"),
        ("reason in FLAGGED) => False)", "somebody should look"),
        ("                break => ", "order of the rules"),
        ("in rules:\n            if rule.objects(seen): => "
         "in [rule for rule in rules if rule.objects(seen)]:\n            if rule:", "so staff never see"),
        (", verified=verified => ", "did not reach the rules"),
        ("reason = UNREADABLE => raise", "An exception came out"),
        ("reason = UNREADABLE => reason = STORE", "failing *open*"),
        ("reason = UNREADABLE => reason = str(error)", "quotes the error, and"),
        (skips_broken_rules, "was skipped"),
        ("inspect(candidate, => inspect(candidate or {'text': 'No text.'},", "inside the `try`"),
        ("except Exception as error => except BaseException as error", "interrupt button"),
        ("log.error( => log.exception(", "whole traceback"),
        ("type(error).__name__ => error", "log quotes the memory"),
        ("log.error( => log.debug(", "that a rule is broken"),
    ],
    "08-queue": [
        ("        return number => \n        return number - 1", "from 1 on"),
        ("self.reviews.values() if => reversed(self.reviews.values()) if", "oldest first"),
        (", verified=True => ", "verified=True"),
        (' if review.status == "waiting"] => ]', "accepted and still waits"),
        ('"accepted", by) => "done", by)', "spelled like this"),
        (", by=by) => )", "does not say who decided"),
        ("        return self.reviews[number] => \n        return self.reviews.pop(number)",
         "The review is gone"),
        ("if number not in {review.number for review in self.waiting()}: => if number not in self.reviews:",
         "Arjun refuses it"),
        ("        if number not in {review.number for review in self.waiting()}: => \n"
         "        if number not in self.reviews:\n            return Review(0, '', {}, '')\n"
         "        if self.reviews[number].status != 'waiting':", "Nothing has this number"),
        ("return gate(review.candidate, verified=True) => return Verdict(review is not None, STORE, False)",
         "tired staff"),
        ('self._decide(number, "refused", by) => '
         'one_of("number", str(number), [str(review.number) for review in self.waiting()])',
         "refused and still waits"),
        ('self._decide(number, "refused", by) => self._decide(number, "accepted", by)',
         "told from what they accepted"),
        ("len(self.reviews) + 1 => len(self.waiting()) + 1", "Two claims now have one number"),
        ('one_of("reason", reason, FLAGGED) => ', "for all staff to read"),
        ('check_id("user_id", user_id) => ', "A claim of nobody's waits"),
        ('check_id("by", by) => by = by or "somebody"', "Nobody accepted it"),
        ('check_id("by", by) =>  ;; return self.reviews[number] => '
         'return check_id("by", by) and self.reviews[number]', "check first, mark then"),
        ("if review.user_id == user_id: => if False:", "still waits for staff"),
        ("if review.user_id == user_id: => if True:", "all users with Farah"),
        ('if review.user_id == user_id: => if review.user_id == user_id and review.status == "waiting":',
         "it stayed"),
        ("for number, review in self.reviews.items(): => for number, review in [*self.reviews.items()]: ;; "
         'self.reviews[number] = Review(number, "(erased)", None, review.reason, "refused", "erasure") => '
         "del self.reviews[number]", "You deleted the review"),
    ],
    "08-screen": [
        ("return storable => return storable[::-1]", "in their order"),
        ("if verdict.stored: => if not verdict.flagged:", "what the judge refused"),
        ("elif verdict.flagged: => else:", "only what is *flagged*"),
        ("queue.put(user_id, candidate, verdict.reason) => pass", "nobody will ever look"),
        ("queue.put(user_id, candidate, verdict.reason) => break", "You stopped at the claim"),
        ("queue.put(user_id, candidate, => queue.put(user_id, candidate.content and candidates[0],",
         "The diagnosis went into the queue"),
        ("verdict = judge(candidate) => verdict = gate(candidate)", "and not the `judge`"),
        ("if verdict.reason == PRIVATE: => if False:", "lost with its reason"),
        ("candidate, verdict = need, judge(need) => verdict = judge(need)", "You stored the diagnosis"),
        ("need = reduced(candidate, need_only) => need = "
         "need_only(candidate.content) and replace(candidate, content=need_only(candidate.content)) or None",
         "stands in the excerpt"),
        ("candidate, verdict = need, judge(need) => storable.append(need)\n            continue",
         "stored the need unseen"),
        ("if verdict.reason == PRIVATE: => needs = verdict.reason == PRIVATE\n        if needs: ;; "
         "elif verdict.flagged: => elif verdict.flagged and not needs:", "the second verdict may flag it"),
        ("                continue => \n                break", "without a need: go on"),
        ("if need is None: => if False:", "asked the judge about None"),
        ('check_id("user_id", user_id) => ', "Whose memories are these"),
    ],
    "08-others": [
        (lambda proposal: "customer" in proposal.text.lower(), "is about this customer"),
        (lambda proposal: False, "told of all customers"),
        (lambda proposal: "all customers" in proposal.text.lower(), "Every customer: as many"),
        (lambda proposal: re.search("all|every", proposal.text.lower()) is not None, "*three children*"),
        ("if any(NAMED_CUSTOMER => if False and any(NAMED_CUSTOMER", "another customer's address"),
        (lambda proposal: bool(re.search("(?i)all customers|every |customer.*address", proposal.text)),
         "no name follows"),
        ("if any(OTHERS => if proposal.about != 'customer' or any(OTHERS", "A son"),
        ("(proposal.text, proposal.about, proposal.excerpt) => (proposal.text,)", "look at every field"),
        ("(proposal.text, proposal.about, proposal.excerpt) => (proposal.text, proposal.about)",
         "in the excerpt"),
        ("any(OTHERS.search(legible(text)) for text in texts) => OTHERS.search(legible(' '.join(texts)))",
         "not of all as one"),
        ('"NFKC", text)) for text in texts => "NFKC", text)) for text in texts[:1]',
         "looks at every field as well"),
        ("return SYSTEM_KEY.search(legible(metadata)) is not None => return False", "show it to everybody"),
        ("return SYSTEM_KEY.search(legible(metadata)) is not None => return 'scope' in proposal.metadata",
         "one level deeper"),
        ("return SYSTEM_KEY.search(legible(metadata)) => return re.search('scope|user_id', metadata)",
         "is a value here"),
        ("OTHERS.search(legible(text)) => OTHERS.search(text.lower())", "Full-width letters: match"),
        ('unicodedata.normalize("NFKC", text) => text', "keeps capitals"),
        (", ensure_ascii=False => ", "`ensure_ascii=False`"),
        ("SYSTEM_KEY.search( => re.search('\"(scope|user_id)\":', ", "Only the system sets"),
    ],
}

RIGHT: dict[str, list[Answer]] = {
    "08-fold": [by_steps],
    "08-luhn": [by_table],
    "08-card": [by_regex],
    "08-need": [with_a_loop],
    "08-gate": [by_next],
    "08-queue": [ByLists],
    "08-screen": [by_parts],
    "08-others": [by_walking],
}

GROUPS = "a bound for speed: no brand has a number of more than 19 digits"
FIELD = "the error still names the field"
ERASED = "what stands in the place of an erased review is free, as long as it is none of their words"
SPARED: dict[str, dict[str, str]] = {
    "08-card": {
        "enumerate(groups[first:first + 19]): => enumerate(groups[first:]):": GROUPS,
        "enumerate(groups[first:first + 19]): => enumerate(groups[first:first + 20]):": GROUPS,
        "enumerate(groups[first:first + 19]): => enumerate(groups[first:first + 38]):": GROUPS,
    },
    "08-queue": {
        "check_id('user_id', user_id) => check_id('user_idX', user_id)": FIELD,
        "one_of('reason', reason, FLAGGED) => one_of('reasonX', reason, FLAGGED)": FIELD,
        "check_id('by', by) => check_id('byX', by)": FIELD,
        "Review(number, '(erased)', None, review.reason, => Review(number, '(erased)X', None, review.reason,":
            ERASED,
        "review.reason, 'refused', 'erasure') => review.reason, 'refusedX', 'erasure')": ERASED,
        "'refused', 'erasure') => 'refused', 'erasureX')": ERASED,
    },
    "08-screen": {"check_id('user_id', user_id) => check_id('user_idX', user_id)": FIELD},
}
# fmt: on
