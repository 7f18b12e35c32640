"""What RULES find in a text: each match, the sentence and the clause it stands in, and the values it states.

A match is a proposal. Whether it was meant, the guards decide.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from solutions.given.own_words import word_set
from solutions.given.rules import RULES, Rule, around

MAX_THING = 40
MAX_MATCHES = 100  # of one rule in one sentence: nobody says more, and a flood must not take minutes
WINDOW = 200  # how far a guard looks around a match: a message without full stops stays linear

Span = tuple[int, int]
"""Where something starts and ends in a text."""

SEPARATOR = around(r"[,;:()\[\]—–…]| - | (?=(?:but|so|because|although|though|while|whereas|since|as) )")
"""Where one clause of a sentence ends and the next begins."""


@dataclass(frozen=True)
class Match:
    """A rule's match and what surrounds it: all of it within one sentence, at most WINDOW characters.

    before: the sentence up to the match. clause: the part of `before` since the last comma or the like.
    after: the sentence from the end of the match on, with its final punctuation. values: what the groups of
    the rule's pattern hold. sentence, span: where the sentence and the match stand in the text.
    """

    rule: Rule
    before: str
    clause: str
    after: str
    values: dict[str, str] = field(default_factory=dict)
    sentence: Span = (0, 0)
    span: Span = (0, 0)

    def fill(self, template: str) -> str:
        """`template` with the match's values in its braces."""
        return template.format(**self.values)

    def label(self, template: str) -> str:
        """`template` with the match's values as topics and subjects know them: lower case, no article."""
        return template.format(**{key: _bare(value) for key, value in self.values.items()})


def matches(said: str) -> Iterator[Match]:
    """What the rules match in a text of one's own words, in order, meant or not.

    Example:
    >>> [(match.clause, match.fill(match.rule.template)) for match in matches("So, if I'm vegan, what then?")]
    [(' if ', 'The user follows a vegan diet.')]
    """
    for start, end in sentences(said):
        if _WORTH_READING.search(said[start:end]):
            yield from sorted(_matches(said[start:end], start), key=lambda match: match.span[0])


_WORTH_READING = re.compile(
    r"\b(?:i(?:m|ve|d)?|we|my|our|me|names?|allergic|deadline|due|exports?|uploads?|syncs?)\b", re.I
)


def _matches(sentence: str, offset: int) -> Iterator[Match]:
    """What each rule finds in a sentence that begins at `offset` of the text."""
    separators = [mark.end() for mark in SEPARATOR.finditer(sentence)]
    for rule in RULES:
        for match, readings in islice(_finds(rule, sentence), MAX_MATCHES):
            start = match.start()
            first = max(0, start - WINDOW)
            place = bisect.bisect_right(separators, start)
            clause = max(first, separators[place - 1] if place else 0)
            for end, values in readings:
                yield Match(
                    rule,
                    sentence[first:start],
                    sentence[clause:start],
                    sentence[end : end + WINDOW],
                    values,
                    (offset, offset + len(sentence)),
                    (offset + start, offset + end),
                )


_SENTENCE_END = re.compile(
    r"[.!?]+['\")\]]*(?=\s|$)|(?<=[a-z][a-z])[.!?](?=[A-Z][a-z' ])|[。！？]+|\.{3}|\n+"
)
_ABBREVIATION = re.compile(r"(?:\b(?:St|Mt|Ft|Dr|Mr|Mrs|Ms|Prof|Jr|Sr|vs|e\.g|i\.e|[A-Z]))\.$")


def sentences(said: str) -> Iterator[Span]:
    """Spans of sentences, each with its final punctuation; a line break ends a sentence too.

    Example:
    >>> list(sentences("Hi! I'm Ada."))
    [(0, 3), (3, 12), (12, 12)]
    """
    start = 0
    for stop in _SENTENCE_END.finditer(said):
        if stop[0] == "." and _ABBREVIATION.search(said[max(start, stop.end() - 8) : stop.end()]):
            continue
        yield start, stop.end()
        start = stop.end()
    yield start, len(said)


Reading = tuple[int, dict[str, str]]
"""A fact of a match: where it ends in the sentence, and the values of the rule's groups."""


def _finds(rule: Rule, sentence: str) -> Iterator[tuple[re.Match[str], list[Reading]]]:
    """Each match of `rule` with its readings; the next is sought where these end, not where the match does.

    The free text of a match may run into the next statement: "I'm allergic to nuts and I'm allergic to eggs".
    """
    start = 0
    while match := rule.regex.search(sentence, start):
        readings = list(_readings(match, allergy=rule.topic.startswith("allergy")))
        yield match, readings
        start = max((end for end, _ in readings), default=match.start() + 1)


# --- what the groups of a match hold ------------------------------------------------------------------


_STOP = word_set(
    """
    i im me my mine myself we us our you your yours yourself he him his she her hers it its they
    them their this that these those there here what which who whom whose when where why how if and
    or but so because although though while than then since as until unless except not no nor never
    please thanks thank is are was were be been am do does did have has had would could should can
    will might may must want wants need needs think hope know guess very really too also now today
    tomorrow yesterday tonight lately currently anymore any more most much better best less again
    always often sometimes at for in on during about after before to just only everything nothing
    anything something everyone someone anyone both all eat hate hates love loves live lives work
    works likes dislikes dont cant hasta asap back maybe soon later asking calling btw ok okay lol
    haha right anyways either neither still ever being especially particularly mainly
    mostly sadly unfortunately honestly obviously luckily tbh imo fyi thx pls sorry xd
    """
)
_NO_NAMES = word_set(  # but April, May, June, Will and Hope are
    """
    monday tuesday wednesday thursday friday saturday sunday january february march july september
    october november december christmas easter god by with from
    """
)
_NOT_ALLERGENS = word_set(
    """
    mornings mondays work people nonsense meetings exercise commitment responsibility bullshit drama
    stupidity fun hard food foods seasonal old former childhood bad severe new question friend friends
    colleagues guests
    """
)
_AS_TYPED = ("thing", "name", "person", "job", "what", "date")
_LOOSE_ENDS = word_set("with without of to by from into the a an")
_DESCRIPTION = word_set("i i'm you he she we they that which who where how less least")
_OBJECTS = word_set("it him her them me us my your his our their its this these those")
_PLURALS = {"tomato": "tomatoes", "strawberry": "strawberries"} | {
    one: one + "s" for one in word_set("egg cat dog prawn bee wasp kiwi oyster mussel lentil chickpea")
}
_NEVER_IN_A_NAME = (_STOP | _NO_NAMES) - word_set("will may hope")
_NEVER_IN_A_THING = _STOP - {"and"}  # lists are split before: what is left is "mac and cheese"
_LIST = re.compile(
    r"(, (?:and |or )?| (?:and|or|&) (?!(?:cheese|chips|roll|tonic|bass|butter|jelly|vinegar)\b))", re.I
)


def _readings(match: re.Match[str], *, allergy: bool) -> Iterator[Reading]:
    """The facts that one match states. allergy: whether its `thing` is an allergen."""
    values = {
        key: value if key in _AS_TYPED else value.lower()
        for key, value in match.groupdict().items()
        if value is not None
    }
    key = next((key for key in ("thing", "name", "person", "job") if key in values), None)
    if key is None:
        yield match.end(), values
        return
    if key in ("name", "person") and match[0].isupper():
        return  # "I LIVE IN FEAR": capitals tell a name from a word only where there are small letters
    parts = _things(values[key], described=allergy) if key == "thing" else _one_name(values[key], key)
    spans = [(kept, match.start(key) + start + len(kept)) for start, kept in parts]
    if match.end() > match.end(key) and match.end(key) not in (end for _, end in spans):
        return  # "a theory about nut allergy" is no allergy to theory
    for kept, end in spans:
        value = _allergen(kept) if allergy else kept
        if value:
            yield (match.end() if end == match.end(key) else end), values | {key: value}


def _one_name(text: str, kind: str) -> Iterator[tuple[int, str]]:
    kept = _until_stop(text, _STOP) if kind == "job" else _until_stop(text, _NEVER_IN_A_NAME, proper=True)
    if kind == "person":
        kept = re.sub(r"'s?(?: .*)?$", "", kept)  # "my sister Anna's flat"
    if len(kept.split()) > (kind == "job") and kept.lower() != "the":  # "a" alone is no job
        yield 0, kept


def _things(text: str, *, described: bool) -> Iterator[tuple[int, str]]:
    """The items of a list ("tea, cake and rock and roll") and where each starts, until it stops being one.

    described: whether "the way you sing" may pass as "the way".
    """
    start = 0
    for index, piece in enumerate(_LIST.split(text)):
        if index % 2 == 0:
            kept = _until_stop(piece, _NEVER_IN_A_THING)
            rest = piece[len(kept) :].lower().split()
            if not kept or (index and len(kept.split()) > 3):
                return
            if not described and _cut_short(kept, rest):
                return
            yield start, kept
            if rest and rest != ["."]:
                return
        start += len(piece)


def _cut_short(kept: str, rest: list[str]) -> bool:
    """True if `rest` takes back or completes what was kept: "the way | you sing", "seeing | her dance"."""
    stops_at = {*rest[:1]}
    return bool(
        _DESCRIPTION & stops_at
        or kept.split()[-1] in _LOOSE_ENDS
        or (kept.endswith("ing") and _OBJECTS & stops_at)
    )


def _until_stop(text: str, stop: frozenset[str], *, proper: bool = False) -> str:
    """The words of `text` before one of `stop`, at most MAX_THING characters; a proper name has capitals."""
    kept = ""
    for word in text.split():
        links = proper and word.isascii() and word[0].islower()  # "of", "de": the pattern let only these pass
        ends = word.split("'")[0].strip(".-/&").lower() in stop or (proper and word[0].islower())
        links = links or (word == "to" and kept.endswith("ing"))  # "going to the theatre"
        if (ends and not links) or len(kept) + len(word) >= MAX_THING:
            break
        kept = f"{kept} {word}" if kept else word
    if proper:
        kept = re.sub(r"(?: [a-z]+)+$", "", kept)  # "Acme on", of "Acme on Monday"
    return kept.strip(" -/&'").rstrip(".")


def _allergen(thing: str) -> str:
    """The allergen in the plural: "a nut allergy" and "allergic to nuts" are one topic; "" for a joke."""
    words = re.sub(r"^(?:the|an?) ", "", thing, flags=re.I).split()
    if any(word.lower() in _NOT_ALLERGENS for word in words):
        return ""
    last = words[-1].lower()
    plural = last + "s" if last.endswith("nut") else _PLURALS.get(last)
    return " ".join([*words[:-1], plural or words[-1]])


def _bare(value: str) -> str:
    """`value` without an article, in lower case."""
    return re.sub(r"^(?:the|an?) ", "", value.lower())
