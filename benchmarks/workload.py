"""The texts, vectors, questions and conversations on which all are measured; always the same ones."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.embedding import VOCABULARY, sentences
from memlab.embedding import DIM, hash_embed

Vectors = NDArray[np.float32]

DAY = 86_400.0
SAYINGS = {
    "I like {}.": ["green tea", "jazz", "chess", "long walks", "old maps", "coffee", "mangoes", "tall ships"],
    "I'm allergic to {}.": ["peanuts", "shellfish", "pollen", "penicillin", "dust", "latex", "soy", "kiwi"],
    "I live in {} now.": ["Pune", "Lyon", "Oslo", "Quito", "Porto", "Leeds", "Turin", "Perth"],
    "{}": ["What a day it was!", "Could you check the weather?", "Thanks, that helps.", "How far is it?"],
}
"""What users say in a conversation: two things that add up, one of which only the last holds, and one that is
nothing to remember."""


@dataclass(frozen=True)
class Workload:
    """`each` memories of each of `users`; the first user is the one whose memories are asked for.

    Memories lie in the order of writing: the users take turns, as they do in a file that many share.
    """

    each: int
    users: int = 1

    def __len__(self) -> int:
        return self.each * self.users

    @cached_property
    def texts(self) -> list[str]:
        """What each memory says; no two say the same."""
        return [f"{text[:-1]} {number}." for number, text in enumerate(sentences(len(self)))]

    @cached_property
    def vectors(self) -> Vectors:
        """The unit vector of each text, one row a memory."""
        found = np.empty((len(self), DIM), np.float32)
        for row, text in zip(found, self.texts, strict=True):
            row[:] = hash_embed(text)
        return found

    @property
    def owners(self) -> list[str]:
        """The user to whom each memory belongs."""
        return [user(number % self.users) for number in range(len(self))]

    @cached_property
    def numbers(self) -> list[tuple[float, float, float]]:
        """Of each memory the importance, the half-life in days, and the age in days."""
        draw = random.Random(7)
        return [
            (round(draw.uniform(0, 0.9), 3), draw.choice([30.0, 90.0, 180.0, 365.0]), draw.uniform(0, 300))
            for _ in range(len(self))
        ]


def user(number: int = 0) -> str:
    """The id of a user."""
    return f"u_{number}"


def questions(count: int = 40) -> list[tuple[str, list[float]]]:
    """`count` different questions, each with its vector."""
    draw = random.Random(11)
    texts = [" ".join(draw.choices(VOCABULARY.split(), k=6)) + "?" for _ in range(count)]
    return [(text, hash_embed(text)) for text in texts]


def session(number: int) -> list[dict[str, Any]]:
    """One conversation: a message of each kind in SAYINGS, in other words than the one before."""
    return [
        {"role": "user", "content": saying.format(choices[(number + number // 20) % len(choices)])}
        for saying, choices in SAYINGS.items()
    ]
