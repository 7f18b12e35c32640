"""What lesson 03 shows: sentences as guards see them, and what an extractor finds in labelled messages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.pictures.views import Table

Function = Callable[..., Any]


def said(text: str, role: str = "user") -> dict[str, Any]:
    """One message of a conversation.

    Example:
    >>> said("Call me Ada.")
    {'role': 'user', 'content': 'Call me Ada.'}
    """
    return {"role": role, "content": text}


@dataclass(frozen=True)
class Seen:
    """What a guard sees of a sentence: what stands before the match, its clause, and what comes after."""

    before: str
    clause: str
    after: str


def seen(marked: str) -> Seen:
    """What a guard sees of a sentence in which the match stands in brackets.

    Example:
    >>> seen("Well, if [I'm vegan], what then?")
    Seen(before='Well, if ', clause=' if ', after=', what then?')
    """
    before, rest = marked.split("[")
    return Seen(before, re.split(r"[,;:()—–…]", before)[-1], rest.split("]")[1])


def seen_table(sentences: Iterable[str]) -> Table:
    """The parts of sentences, each with its match in brackets, as guards see them."""
    rows = []
    for marked in sentences:
        parts = seen(marked)
        match = marked[marked.index("[") + 1 : marked.index("]")]
        rows.append([f"«{text}»" for text in (parts.before, parts.clause, match, parts.after)])
    return Table(["before", "clause", "match", "after"], rows)


def guard_table(sentences: Iterable[str], **guards: Function) -> Table:
    """What each guard says to each sentence, its match in brackets: ● drops it, – lets it pass."""
    rows = [[s, *("● drops it" if g(seen(s)) else "–" for g in guards.values())] for s in sentences]
    return Table(["sentence, its match in brackets", *guards], rows)


@dataclass(frozen=True)
class Labelled:
    """A message of the user, and what a careful person would keep of it: phrases a candidate must contain."""

    content: str
    facts: list[str]


def load_labelled(path: Path) -> list[Labelled]:
    """The labelled messages in a JSON file."""
    return [Labelled(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


@dataclass
class Count:
    """How an extractor did: the true facts it found and missed, and the contents that are noise."""

    found: list[str]
    missed: list[str]
    noise: list[str]


def count(extract: Function, labelled: Iterable[Labelled]) -> Count:
    """What `extract` finds in each message alone, held against its labels."""
    total = Count([], [], [])
    for message in labelled:
        contents = [candidate.content for candidate in extract([said(message.content)])]
        for fact in message.facts:
            hit = any(fact in content.lower() for content in contents)
            (total.found if hit else total.missed).append(fact)
        total.noise += [c for c in contents if not any(fact in c.lower() for fact in message.facts)]
    return total
