"""The rules of lesson 03: what a user may say about themselves, and the fact that it states.

Patterns are made of named parts, so that `<i am>` stands for all the ways to say it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property


def any_of(words: str) -> str:
    """A pattern for any one of `words`; an underscore is a space.

    Example:
    >>> any_of("if as_if unless")
    '(?:if|as if|unless)'
    """
    return "(?:" + "|".join(words.split()).replace("_", " ") + ")"


def around(pattern: str) -> re.Pattern[str]:
    """`pattern` compiled; letter case does not matter."""
    return re.compile(pattern, re.IGNORECASE)


_RELATIVE = any_of(
    """
    wife husband partner spouse fianc[eé]e? girlfriend boyfriend son daughter child kid baby toddler
    mother father mum mom dad brother sister grandmother grandfather grandma grandpa granddaughter
    grandson aunt uncle niece nephew cousin dog cat
    """
)
_ADVERB = any_of(
    """
    now also still do actually really currently basically already just recently definitely absolutely
    totally completely truly always usually generally normally typically very quite deathly severely
    highly extremely terribly seriously mildly slightly badly super officially both personally
    especially particularly simply genuinely secretly rather much kind_of sort_of a_bit
    """
)
_MEAT = any_of(
    """
    steak chicken beef pork bacon lamb ham turkey salmon tuna cod fish meat sausages? prawns shrimps?
    duck veal
    """
)
_JOB_KIND = any_of(
    """
    senior junior lead head chief principal registered primary secondary high school freelance software
    hardware data machine learning product project web civil mechanical electrical professional
    qualified trained full-time part-time pastry sous line night bus lorry truck taxi train graphic
    interior landscape maths music history science english veterinary dental
    """
)
_JOB = any_of(
    """
    nurse doctor gp teacher baker chef cook engineer developer programmer designer architect lawyer
    solicitor accountant writer journalist editor translator scientist researcher professor lecturer
    manager consultant analyst electrician plumber carpenter mechanic driver pilot farmer gardener
    musician actor artist painter photographer dentist pharmacist vet veterinarian paramedic firefighter
    librarian barista waiter waitress bartender cashier hairdresser butcher florist tailor therapist
    psychologist psychiatrist surgeon midwife physiotherapist social_worker civil_servant police_officer
    soldier sailor bookkeeper banker economist
    """
)
_MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    "oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_CAPITAL = r"(?-i:(?!I\b|I')[^\W\d_a-z][\w'.&-]*+)"

PARTS: dict[str, str] = {
    "adv": f"(?:{_ADVERB},? ){{0,3}}",
    "i": r"\bi <adv>",
    "i am": r"\bi(?:'m| am|m) <adv>",
    "i have": r"\bi(?:'ve| have|ve)? <adv>",
    "do not": "(?:don't|do not|dont|never|no longer) <adv>",
    "we": r"\b(?:i|we)",
    # diet
    "diet": (
        r"(?:an? )?(?:(?:strict|lifelong|life-long|committed|proud|ethical|devout) )?"
        r"(?P<diet>vegetarian|vegan|pescatarian)(?![\w'-])"
        r"(?! (?:chef|cook|bak|restaurant|caf|food|blog|wannabe|adjacent|curious|friendly|until|or|"
        r"on (?:week|mon|tues|wednes|thurs|fri|satur|sun)|"
        r"for (?:(?:the|a|one|\d+) (?:day|week|month)|lent|january)))"
    ),
    "food": r"(?P<food>fish|meat|dairy)\b",
    "meal": (
        rf"(?:an? |some |the )?(?:(?:nice|big|rare|good|grilled|fried|roast|smoked|whole) )?(?P<meal>{_MEAT})"
        r"(?=(?: (?:sandwich|burger|curry|soup))?"
        r"(?: (?:for|last|yesterday|today|tonight|again|once|and|but|with|at|on)|[.!,;]|$))"
    ),
    # allergies
    "i have an allergy": (
        r"(?:<i have> (?:got|have|suffer from|developed|(?:was|been) diagnosed with) "
        r"|\bi(?:'ve| have|ve) <adv>(?:had )?|\bmy (?!<relative>'?s ))"
    ),
    "severity": (
        "(?:an? )?(?:(?:severe|bad|mild|serious|terrible|slight|strong|nasty|deadly|life-threatening) )?"
    ),
    "allergic to": (
        "allergic to:? (?:(?:all|any|both|most|some|certain|various) )?(?:(?:kinds?|types?|sorts?) of )?"
    ),
    "not gone": "(?! (?:is|has) (?:gone|over|cured|disappeared))",
    "allergen": r"(?P<thing>[\w-]+(?: [\w-]+){0,3}?)",
    # free text, proper names, people
    "word": r"\w[\w'&+#./-]*+",
    "thing": (
        r"(?P<thing>\.?<word>(?: (?:<word>|&)){0,7}"
        r"(?:(?:, <word>(?: <word>){0,2}){1,8},? (?:and|or) <word>(?: <word>){0,2}"
        r"|(?:, <word>){2,8}(?=[!?]|$))?)"
    ),
    "name": (
        rf"(?P<name>(?:the )?{_CAPITAL}(?: (?:(?:de|del|della|da|do|dos|la|le|les|of|on|upon|am|an der|der|"
        rf"den|van|von|al|el|sur|&) )?{_CAPITAL}){{0,3}}"
        rf"(?: and {_CAPITAL}(?=[.,;!?]|$))?)"
    ),
    "person": rf"(?P<person>(?:(?:mr|mrs|ms|miss|dr|prof)\.? )?{_CAPITAL}(?: {_CAPITAL}){{0,2}})",
    "capital": _CAPITAL,
    "relative": (  # not "my ex wife", nor "my friends son" for "my friend's son"
        rf"(?:\w+ years? old )?(?:(?!(?:ex|former)\b)[\w-]+(?<!s) ){{0,2}}?(?P<who>{_RELATIVE})"
    ),
    "my relative": rf"\b(?:my|our) <relative>(?:,? {_CAPITAL},?)?",
    # work and dates
    "job": rf"(?P<job>an? (?:{_JOB_KIND} ){{0,3}}{_JOB})(?![\w'-])",
    "date": (
        rf"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,? (?:the )?)?"
        rf"(?P<date>\d{{4}}-\d\d-\d\d|\d{{1,2}}[/.]\d{{1,2}}(?:[/.]\d{{2,4}})?|\d\d?-\d\d?-\d{{4}}|"
        rf"{_DAY}(?: of)? {_MONTH}\b(?:,? \d{{4}})?|{_MONTH}\.? (?:the )?{_DAY}\b(?:,? \d{{4}})?)"
    ),
    "is now": (
        r"(?: is|'s|:| is now| (?:has|has been|was|got) <moved> to| <moved> to) "
        r"(?:on )?(?:the )?"
    ),
    "moved": "(?:moved|changed|extended|postponed|pushed(?: back)?|brought forward)",
    "what": (
        rf"(?!(?:it|he|she|i|we|they|baby|new|final|hard|real|next|there|{_RELATIVE})\b)"
        r"(?P<what><noun>(?: <noun>){0,2}?)"
    ),
    "noun": r"(?!(?:the|my|our|this|that|which|what|who)\b)[\w&+#-]+",
    # tastes
    "like": "(?:like|love|enjoy|adore)",
    "hate": "(?:hate|dislike|detest|loathe|can't stand|cannot stand|cant stand|can't bear)",
    "not a seat": r"(?!(?:an? |the )?(?:window|aisle|middle)\b)",
    "big": "(?:an? )?(?:(?:big|huge|massive|great|real) )?",
}
"""The vocabulary of RULES: `<i am>` in a pattern stands for PARTS["i am"]."""


def expand(pattern: str) -> re.Pattern[str]:
    """`pattern` compiled, its `<parts>` filled in from PARTS, each space standing for one to three.

    Raises KeyError for a part that is not there.

    Example:
    >>> expand("<i am> ready").search("OK, I'm  really ready").group()
    "I'm  really ready"
    """
    while part := re.search(r"(?<!P)<([a-z ]+)>", pattern):
        # a part that ends in optional adverbs brings its own space
        spaced = part[1] == "adv" or PARTS[part[1]].endswith((" ", "<adv>"))
        rest = pattern[part.end() :]
        pattern = pattern[: part.start()] + PARTS[part[1]] + (rest.removeprefix(" ") if spaced else rest)
    return re.compile(pattern.replace(" ", "(?:[ \t]{1,3})"), re.IGNORECASE)


@dataclass(frozen=True)
class Rule:
    """A way to say something, and the fact that it states.

    pattern: a regular expression with `<parts>`. Its groups fill `topic`, `template` and `subject`. The
    group `thing` is free text and may be a list ("tea and cake", one fact each); `name` and `person` are
    proper names. The numbers are those of Candidate.
    """

    pattern: str
    topic: str
    template: str
    confidence: float
    half_life_days: float
    importance: float = 0.5
    subject: str = "user"

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return expand(self.pattern)


_FOLLOWS = "The user follows a {diet} diet."
_STOPPED = "The user no longer follows a {diet} diet."
_SEAT = "The user prefers {seat} seating on flights."
_GOES_BY = "The user goes by {person}."
_WORKS_AT = "The user works at {name}."
_WORKS_AS = "The user works as {job}."
_LIVES_IN = "The user lives in {name}."
_CALLED = "The user's {who} is called {person}."
_DUE = "The deadline for the {what} is {date}."
_ALLERGIC = ("allergy:{thing}", "The user is allergic to {thing}.", 0.95, 3650, 1.0)
_INTOLERANT = ("allergy:{thing}", "The user is intolerant to {thing}.", 0.95, 3650, 1.0)
_COELIAC = ("allergy:gluten", "The user has {disease} disease.", 0.95, 3650, 1.0)
_NOT_ALLERGIC = ("allergy:{thing}", "The user is not allergic to {thing}.", 0.9, 3650)
_ALLERGIC_RELATIVE = ("allergy:{thing}", "The user's {who} is allergic to {thing}.", 0.95, 3650, 1.0, "{who}")
_LIKES = ("taste:{thing}", "The user likes {thing}.", 0.8, 365)
_DISLIKES = ("taste:{thing}", "The user dislikes {thing}.", 0.8, 365)

# fmt: off
RULES: tuple[Rule, ...] = (
    # diet; one meal is weak evidence, hence 0.3
    Rule(r"<i am> <diet>", "diet", _FOLLOWS, 0.9, 365, 0.8),
    Rule(r"<i have> (?:become|became|turned|gone|went|been) <adv> <diet>", "diet", _FOLLOWS, 0.9, 365, 0.8),
    Rule(r"(?:<i> (?:eat|follow|keep(?: to)?|stick to)|<i am> on) <diet>", "diet", _FOLLOWS, 0.9, 365, 0.8),
    Rule(r"<i am> no longer <diet>", "diet", _STOPPED, 0.9, 365, 0.8),
    Rule(r"<i am> not <adv> <diet> any ?more", "diet", _STOPPED, 0.9, 365, 0.8),
    Rule(r"<i have> (?:stopped|quit|given up|gave up) being <diet>", "diet", _STOPPED, 0.9, 365, 0.8),
    Rule(r"<i have> (?:started|begun|gone back to|went back to|resumed) (?:eating|to eat) (?:some )?<food>",
         "diet", "The user eats {food} again.", 0.9, 365, 0.8),
    Rule(r"(?:<i> eat|<i am> (?:back to )?eating) <food> (?:again|now)\b",
         "diet", "The user eats {food} again.", 0.9, 365, 0.8),
    Rule(r"<i have> (?:had|ate|eaten) <meal>", "diet", "The user ate {meal} once.", 0.3, 30, 0.3),
    Rule(r"<my relative>(?:'s| is) <adv> <diet>", "diet", "The user's {who} follows a {diet} diet.",
         0.9, 365, 0.8, subject="{who}"),
    # allergies are pins: no score should decide whether they are shown
    Rule(r"(?:<i am> |<i have> been <adv>|^\W*(?:(?:and|oh|ps|fyi|btw),? )*<adv>)<allergic to><thing>",
         *_ALLERGIC),
    Rule(r"<i have an allergy><severity><allergen> allerg(?:y|ies)\b(?! to )<not gone>", *_ALLERGIC),
    Rule(r"<i have an allergy><severity>allerg(?:y|ies) to <thing>", *_ALLERGIC),
    Rule(r"<i am> (?P<thing>[\w-]+)(?:-| )intolerant\b", *_INTOLERANT),
    Rule(r"<i have an allergy><severity>(?P<thing>[\w-]+) intolerance\b<not gone>", *_INTOLERANT),
    Rule(r"(?:<i am> (?:a )?|<i have an allergy>(?=\w+ disease))(?P<disease>co?eliac)\b", *_COELIAC),
    Rule(r"<my relative>(?:'s| is) <adv> <allergic to><thing>", *_ALLERGIC_RELATIVE),
    Rule(r"<my relative> (?:has|suffers from)(?: got)? <severity><allergen> allerg(?:y|ies)\b(?! to )",
         *_ALLERGIC_RELATIVE),
    Rule(r"<my relative> (?:has|suffers from)(?: got)? <severity>allerg(?:y|ies) to <thing>",
         *_ALLERGIC_RELATIVE),
    Rule(r"<i am> (?:not|no longer) <adv> <allergic to><thing>", *_NOT_ALLERGIC),
    Rule(r"<i> <do not> have <severity><allergen> allergy\b", *_NOT_ALLERGIC),
    Rule(r"<i am> (?:not|no longer) <adv>(?P<thing>[\w-]+)(?:-| )intolerant\b",
         "allergy:{thing}", "The user is not intolerant to {thing}.", 0.9, 3650),
    Rule(r"<my relative>(?:'s| is)(?:n't| not| no longer) <adv> <allergic to><thing>",
         "allergy:{thing}", "The user's {who} is not allergic to {thing}.", 0.9, 3650, 0.5, "{who}"),
    # travel, identity, issues
    Rule(r"\bi(?:'d| would|d)? <adv>(?:prefer|like|want|love|need|take|choose|pick|book|rather have) "
         r"(?:to (?:have|book|sit in) )?(?:the |an? |my )?(?P<seat>window|aisle|middle) seat(?:s|ing)?\b",
         "travel", _SEAT, 0.85, 365),
    Rule(r"<i> prefer (?:the |an? )?(?P<seat>window|aisle)"
         r"(?=[.!,;]|$| (?:on|when|if|please|for|to|over|because|since|but)\b)", "travel", _SEAT, 0.85, 365),
    Rule(r"(?:\bcall|\bevery(?:one|body) calls) me <person>", "identity", _GOES_BY, 0.95, 3650, 0.8),
    Rule(r"(?:(?:\bmy (?:(?:first|full|real) )?|^\W*)name(?:'?s| is)|\bi go by|<i am> called) <person>",
         "identity", _GOES_BY, 0.95, 3650, 0.8),
    Rule(r"(?<!\bno\s)\b(?:export|upload|sync)s? "
         r"(?:(?:keeps?(?: on)?|is|are|(?:has|have) been) )?<adv>"
         r"(?:failing|fails|failed|timing out|timed out|times out)\b",
         "issue", "The user reported a failing export/upload.", 0.7, 30),
    # work and home
    Rule(r"<i> work (?:(?:as an? <word>(?: <word>){0,3}?|in <word>(?: <word>)?|part-time|full-time) )?"
         r"(?:at|for) <name>", "employer", _WORKS_AT, 0.85, 730, 0.6),
    Rule(r"<i am> <job> (?:at|for) <name>", "employer", _WORKS_AT, 0.85, 730, 0.6),
    Rule(r"(?:<i am> (?:working (?:at|for)|employed (?:at|by))|\bmy employer is"
         r"|\bi(?:'?ve| have) (?:been working|worked) (?:at|for)) <name>",
         "employer", _WORKS_AT, 0.85, 730, 0.6),
    Rule(r"<i have> (?:joined|started at|started working (?:at|for)) <name>"
         r"(?! for (?:lunch|dinner|a|coffee|drinks)\b)",
         "employer", _WORKS_AT, 0.85, 730, 0.6),
    Rule(r"<i am> <job>", "occupation", _WORKS_AS, 0.85, 730, 0.6),
    Rule(r"(?:<i> work|<i am> working|\bi(?:'ve| have) been working) as (?P<job>an? <word>(?: <word>){0,3})",
         "occupation", _WORKS_AS, 0.85, 730, 0.6),
    Rule(r"(?:<we> <adv>(?:live|reside) in|\bmy home (?:city|town) is) <name>",
         "home", _LIVES_IN, 0.9, 730, 0.6),
    Rule(r"<we>(?:'m|'re| am| are|m) <adv>(?:based (?:in|out of)|living in) <name>",
         "home", _LIVES_IN, 0.9, 730, 0.6),
    Rule(r"<we>(?:'?ve| have) <adv>(?:lived|been living) in <name>(?= (?:for|since|all)\b)",
         "home", _LIVES_IN, 0.9, 730, 0.6),
    Rule(r"<we>(?:'?ve| have)? <adv>(?:moved|relocated) (?:(?:back|over|out|down|up) )?"
         r"(?:from <capital>(?: <capital>)? )?to <name>", "home", _LIVES_IN, 0.9, 730, 0.6),
    # family
    Rule(r"\b(?:my|our) <relative>(?:(?:'s| is) (?:called|named)|'?s name(?:'?s| is)|,)? <person>",
         "family", _CALLED, 0.9, 3650, 0.6, subject="{who}"),
    Rule(r"<i have> (?:have |got )?an? <relative>(?: called| named|,) <person>",
         "family", _CALLED, 0.9, 3650, 0.6, subject="{who}"),
    # deadlines
    Rule(r"(?:^\W*|\b(?:the|my|our|a|and|but) )(?:(?:new|final|hard|real|next) )?deadline<is now><date>",
         "deadline", "The deadline is {date}.", 0.8, 30, 0.6),
    Rule(r"\b(?:i|we) have an? deadline (?:on|of) (?:the )?<date>",
         "deadline", "The deadline is {date}.", 0.8, 30, 0.6),
    Rule(r"\b(?:the|my|our) <what> deadline<is now><date>", "deadline:{what}", _DUE, 0.8, 30, 0.6),
    Rule(r"\bdeadline for (?:(?:the|my|our|this) )?<what><is now><date>",
         "deadline:{what}", _DUE, 0.8, 30, 0.6),
    Rule(r"(?:^\W*|\b(?:the|my|our|this) )<what>(?: is|'s| are)(?: now)? due (?:on |by )?(?:the )?<date>",
         "deadline:{what}", _DUE, 0.8, 30, 0.6),
    # tastes
    Rule(r"<i> <like> <not a seat><thing>", *_LIKES),
    Rule(r"<i am> <big>(?:fan|lover) of <thing>", *_LIKES),
    Rule(r"<i> <hate> <thing>", *_DISLIKES),
    Rule(r"<i> <do not> <like>d? <not a seat><thing>", *_DISLIKES),
    Rule(r"<i am> (?:not|no) <adv> <big>(?:fan of|into|fond of|keen on) <thing>", *_DISLIKES),
)
# fmt: on
"""What the extractor can notice. A match is only a proposal: guards decide whether it was meant."""
