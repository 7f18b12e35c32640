"""The words by which a sentence asks, denies, supposes or reports; and the guards that no exercise asks for.

A guard sees a Match and says whether the words were not meant as a statement of the user's.
"""

from __future__ import annotations

from collections.abc import Callable

from solutions.given.readings import SEPARATOR as SEPARATOR  # is_question splits at it, too
from solutions.given.readings import Match
from solutions.given.rules import any_of, around

Guard = Callable[[Match], bool]

_AUXILIARY = any_of("do does did is are was were am have has had should shall can could would will")
_ANYONE = any_of("you i it he she they we there people anyone everyone this that")
_NOT = r"(?:\b(?:not|never|(?:do|does|did|is|are|was|were|has|have|would|could|should|wo|ca)nt)|n't)"
_SAYS = any_of(
    """
    said says saying told tells thinks? thought claims? claimed believes? believed wrote writes insists?
    insisted assumes? assumed heard joked jokes suspects? guessed guesses swears replied answered shouted
    (?:was|is)_like according_to reads has_it
    """
)
_NOT_SO = any_of(
    """
    that like because as_if as_though saying true the_case to_say sure certain think say said mean
    claim(?:ing|ed)? believe
    """
)
_FICTION = any_of(
    "story novel dream dreams game film movie book play example exercise scenario sketch poem song theory"
)
_DOCTOR = any_of("doctor gp allergist dermatologist dietitian pa?ediatrician specialist tests? blood_test")

# --- is it asked? -------------------------------------------------------------------------------------

_OPENING = r"^\W*(?:(?:and|so|but|well|hey|hi|ok|okay|then|also|please) )*"
ASKS = around(
    rf"{_OPENING}(?:{_AUXILIARY}(?:n't)? {_ANYONE}\b|how come\b"
    r"|(?:is|are|was|were|do|does|did|has|can|could|will|would|should) (?:the|my|our|any)\b"
    rf"|(?:what|who|how|why|where|when|which)(?: come)? (?:{_AUXILIARY}|makes)\b)"
    r"|(?<!\byou )\b(?:do|does|did|should|shall|would|could|can|will|am|have|had)\s*$"
)
"""How the clause of a question begins, or ends right before the match: "do", "is it true that"."""
TELLS = around(
    rf"{_OPENING}(?:can|could|would|will) (?:you|someone|(?:the|your) \w+) (?:please |kindly |just |also )*"
    r"(?:(?:note|remember|keep in mind|bear in mind|record|save)(?: that)?)?\s*$"
    r"|\b(?:because|since|as|given(?: that)?|considering(?: that)?|now that)\s*$"
)
"""A clause that tells, whatever the sentence asks: "can you note that", "since"."""
NEW_QUESTION = around(
    r"\s*(?:(?:and|so|but|then) )?"
    rf"(?:(?:what|which|where|who|how|any)\b|{_AUXILIARY} (?:i|you|we|there|it)\b)"
)
"""After the match, a question begins that is about something else: "and what can I eat?"."""
TAG = around(
    r"\W*(?:right|correct|yes|no|true|huh|yeah|eh|or not|am i(?: not| right)?|do i|"
    r"(?:are|do|is|ai)n't (?:i|it)|is (?:that|it)(?: right| correct)?)\W*"
)
"""A tag that asks for the fact itself: "right?", "am I?"."""

# --- is it denied? ------------------------------------------------------------------------------------

DENIES = around(
    rf"{_NOT}(?: \w+){{0,2}}? {_NOT_SO}(?: that)?\s*$"
    r"|\b(?:doubt|deny|denied|false|untrue|wrong|myth|lied?|rumou?r|joked?|used to)(?: to say)?(?: that)?\s*$"
    r"|\b(?:don'?t|do not|never|stop|nobody|no one)(?: \w+)?\s*$"
    r"|\b(?:nor|outgr[eo]wn?|got over|not (?:one|a single))\s*$"
    r"|\b(?:dare|hates? (?:it )?(?:when|that))(?: \w+)?\s*$"
)
"""What stands before the match takes it back: "it's not true that", "I never said", "a myth that"."""
REMINDS = around(
    rf"{_NOT}(?: \w+){{0,2}}? (?:forget|know|reali[sz]e|mention(?:ed)?|tell|told)"
    r"(?: \w+)?(?: that)?\s*$"
    r"|\bcan(?:'t|not) believe(?: that)?\s*$"
)
"""A negation that confirms: "don't forget that", "I can't believe"."""

# --- is it supposed, or said by others? ---------------------------------------------------------------

_SUPPOSES = around(
    r"\b(?:if(?! (?:possible|available|needed|(?:it|that) helps)\b)|"
    r"unless|whether|wish(?:es|ed)?|as though|maybe|perhaps|possibly|not sure|wonder(?:ing)?|"
    r"(?:may|might|could|would) be)\b"
)
_SUPPOSES_ON = around(
    r"\b(?:imagin(?:e|ing)|suppos(?:e|ing)|assum(?:e|ing)|pretend(?:ing)?|hypothetically|role-?play|"
    r"act(?:ing)? as|let's say|for the sake of|dream(?:ed|t)|had a dream|translat(?:e|ion)|(?:re|para)phrase|"
    rf"rewrite|proofread|(?:in|for) (?:my|the|this|a|that) (?:\w+ )?{_FICTION}|"
    rf"(?:write|tell|invent|make up|generate) (?:\w+ ){{0,3}}(?:{_FICTION}|sentences?)|spell-? ?check|"
    r"picture this|"
    r"(?:the|my) (?:character|narrator|hero|protagonist|sentence|phrase|line|words?|lyrics))\b|^\W*say\b"
)
_SUPPOSES_AFTER = around(
    rf"^[^.]{{0,40}}\b(?:in (?:(?:this|that|the|my|a) )?{_FICTION}|hypothetically|just kidding)\b"
)
_NOT_YET = around(
    r"\b(?:when|whenever|once|until|till|before|by the time|in case|provided|hope|hoping|dream(?: is)?)"
    r"(?: that| an?)?\s*$"
)
_SPEAKS_FOR_USER = around(
    r"\bi(?:'ve|'m| have| am| was|'d| had| can't| cannot)?(?: already| just| also| once)? "
    r"(?:said|say|saying|tell|told|telling|wrote|think|thought|believe|admit|claim|guess)\b"
    rf"|\b(?:my|the) {_DOCTOR}(?: has| have)? (?:said|says|say|told|confirmed)\b"
)
_REPORTS = around(rf"\b{_SAYS}\b")
_REPORTS_JUST_BEFORE = around(
    rf"\b{_SAYS}(?: to)?(?: (?:me|us|him|her|them|you|everyone|people|(?:my|the) \w+))?(?: that)?\s*[,:]?\s*$"
)
_REPORTS_AFTER = around(
    rf"^[^.,]{{0,40}},\W*(?:(?!i\b)\w+|(?:my|the|a) \w+) {_SAYS}\b"
    r"|^[^.,]{0,40},\W*(?:said|says|wrote|replied) (?!i\b)\w+"
)
_DESCRIBES = around(
    rf"^\W*(?!these days|the other day)(?:(?:and|but|so) )?(?:(?:some|any|every|no)(?:one|thing|body)|"
    rf"{any_of('the all every any what whatever those these things? people one an?')})\b"
    r"(?!.*\b(?:and|but|so|is|was|is that)\s*$)"
)


def is_hypothetical(match: Match) -> bool:
    """Supposed, wished, dreamt or yet to come: "if I'm vegan", "imagine I'm vegan"."""
    return bool(
        _SUPPOSES.search(match.clause)
        or _SUPPOSES_ON.search(match.before)
        or _SUPPOSES_AFTER.search(match.after)
        or _NOT_YET.search(match.clause)
    )


def is_reported(match: Match) -> bool:
    """In somebody else's mouth: "she said I'm vegan"; not "I told you I'm vegan"."""
    clause, before = (_SPEAKS_FOR_USER.sub("", text) for text in (match.clause, match.before))
    return bool(
        _REPORTS.search(clause) or _REPORTS_JUST_BEFORE.search(before) or _REPORTS_AFTER.search(match.after)
    )


def is_relative_clause(match: Match) -> bool:
    """A taste inside a description: "the city I love most"."""
    return match.rule.topic.startswith("taste") and bool(_DESCRIBES.search(match.clause))


FURTHER_GUARDS: tuple[Guard, ...] = (is_hypothetical, is_reported, is_relative_clause)
"""The guards that no exercise asks for."""
