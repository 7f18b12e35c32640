"""The bench of lesson 05: labelled questions and memories as columns, for ranking them again and again.

A `Bench` holds the columns and the functions under test; `rank` and `metrics` are plain functions of a bench
and a `Setting`. The weight tuner shows what they give.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course.pictures.views import Weighting
from course.scenarios import Person
from memlab.embedding import Embedder
from memlab.engine.blocks import Floats, Matches
from memlab.fields import check_positive
from memlab.records import PINNED

PARTS = ("relevance", "recency", "importance")

Positions = NDArray[np.intp]
BlendedScore = Callable[[Matches, Any], Floats]
TopK = Callable[[Any, int], Positions]
RecallAtK = Callable[[Sequence[str], Collection[str], int], float]
MeanReciprocalRank = Callable[[Sequence[Sequence[str]], Sequence[Collection[str]]], float]


@dataclass(frozen=True)
class Mix:
    """How much each part counts in a score: the weights, without their checks."""

    relevance: float = 0.6
    recency: float = 0.25
    importance: float = 0.15


@dataclass(frozen=True)
class Setting:
    """Where the knobs stand. half_life: days for every memory, or None for each memory's own.

    pins: whether memories of importance 1 are shown above the ranking, or have to compete.
    Raises ValueError for a k below 1 or a half-life that is not above 0.
    """

    embedder: str
    weights: Weighting = Mix()
    k: int = 3
    half_life: float | None = None
    pins: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise ValueError(f"k={self.k!r} is not a whole number of 1 or more; pass e.g. k=3")
        if self.half_life is not None:
            check_positive("half_life", self.half_life)

    def __str__(self) -> str:
        weighed = ", ".join(f"{part} {getattr(self.weights, part):.2f}" for part in PARTS)
        days = "own half-lives" if self.half_life is None else f"half-life {self.half_life:g} d"
        return f"{weighed}; {self.embedder}, {days}, pins {'first' if self.pins else 'compete'}"


@dataclass(frozen=True)
class Owner:
    """One person's memories as columns, one entry a memory, and the questions asked of them.

    relevant: True where a memory should come back, questions × memories. cosines: the same shape, for each
    embedder by its name. age_days, half_life_days: days.
    """

    name: str
    questions: Sequence[str]
    ids: Sequence[str]
    contents: Sequence[str]
    relevant: NDArray[np.bool_]
    cosines: Mapping[str, Floats]
    importance: Floats
    age_days: Floats
    half_life_days: Floats

    def matches(self, row: int, setting: Setting) -> Matches:
        """What `MemoryStore.search` would give for question `row`.

        Raises ValueError for an embedder that is not on the bench.
        """
        if setting.embedder not in self.cosines:
            known = " or ".join(map(repr, self.cosines))
            raise ValueError(f"embedder={setting.embedder!r} is not on the bench; pass {known}")
        days = setting.half_life
        half_lives = self.half_life_days if days is None else np.full_like(self.half_life_days, days)
        return Matches(
            np.arange(len(self.ids)),
            self.cosines[setting.embedder][row],
            self.importance,
            half_lives,
            self.age_days,
            lambda _: {},
            lambda: dict(enumerate(self.contents)),
        )

    def pinned(self, setting: Setting) -> NDArray[np.bool_]:
        """True for each memory that is shown whatever the question is."""
        return np.asarray((self.importance >= PINNED) & setting.pins)


@dataclass(frozen=True)
class Bench:
    """Labelled questions, the memories they are asked of, and the functions under test."""

    owners: Sequence[Owner]
    blended_score: BlendedScore
    top_k: TopK
    recall_at_k: RecallAtK
    mean_reciprocal_rank: MeanReciprocalRank

    @property
    def embedders(self) -> list[str]:
        """The names of the embedders to choose from."""
        return list(self.owners[0].cosines)

    def asked(self) -> Iterator[tuple[Owner, int]]:
        """Every question: whose memories it is asked of, and its row there."""
        return ((owner, row) for owner in self.owners for row in range(len(owner.questions)))

    def find(self, question: str) -> tuple[Owner, int]:
        """The owner and row of `question`. Raises ValueError for one that is not on the bench."""
        for owner, row in self.asked():
            if owner.questions[row] == question:
                return owner, row
        raise ValueError(f"question={question!r:.80} is not on the bench; pass one of its texts as it stands")


@dataclass(frozen=True)
class Row:
    """One memory in a ranking; a pin has no place. parts: what each part adds to the score, by name."""

    place: int | None
    memory_id: str
    content: str
    score: float
    parts: Mapping[str, float]
    relevant: bool


def make_bench(
    people: Iterable[Person],
    embedders: Mapping[str, Embedder],
    *,
    blended_score: BlendedScore,
    top_k: TopK,
    recall_at_k: RecallAtK,
    mean_reciprocal_rank: MeanReciprocalRank,
) -> Bench:
    """A bench of labelled people with every cosine computed; a memory that was replaced is left out.

    The functions are those of lesson 05: yours, or the reference's. Raises ValueError without people or
    embedders, and when two questions have the same text.
    """
    owners = [_owner(person, embedders) for person in people]
    if not owners or not embedders:
        raise ValueError("people or embedders is empty; pass at least one of each")
    bench = Bench(owners, blended_score, top_k, recall_at_k, mean_reciprocal_rank)
    texts = [owner.questions[row] for owner, row in bench.asked()]
    twice = next((text for place, text in enumerate(texts) if text in texts[:place]), None)
    if twice is not None:
        raise ValueError(f"question={twice!r:.80} is asked twice; word one of the two differently")
    return bench


def rank(bench: Bench, question: str, setting: Setting) -> list[Row]:
    """All memories of the question's owner, best first; with pins on, the pins stand above the places.

    Raises ValueError for a question or an embedder that is not on the bench.
    """
    owner, row = bench.find(question)
    matches = owner.matches(row, setting)
    scores = bench.blended_score(matches, setting.weights)
    added = {part: _part(bench, matches, setting.weights, part) for part in PARTS}
    pins, others = _best_first(bench, scores, owner.pinned(setting))
    places = [*[None] * len(pins), *range(1, len(others) + 1)]
    return [
        Row(
            place,
            owner.ids[at],
            owner.contents[at],
            float(scores[at]),
            {part: float(values[at]) for part, values in added.items()},
            bool(owner.relevant[row, at]),
        )
        for place, at in zip(places, [*pins, *others], strict=True)
    ]


def margin(rows: Sequence[Row]) -> float | None:
    """How far the first place is ahead of the second; None when there are not two."""
    scores = [row.score for row in rows if row.place is not None]
    return scores[0] - scores[1] if len(scores) > 1 else None


def answerable(bench: Bench) -> int:
    """How many questions on the bench have an answer; `metrics` is a mean over these."""
    return sum(bool(owner.relevant[row].any()) for owner, row in bench.asked())


def metrics(bench: Bench, setting: Setting) -> tuple[float, float]:
    """Mean recall@k and mean reciprocal rank, 0..1, over the questions that have an answer.

    A pin comes back whatever is asked: where it is relevant it counts as found first, elsewhere it takes no
    place. Raises ValueError when no question has an answer.
    """
    rankings: list[list[str]] = []
    wanted: list[list[str]] = []
    for owner, row in bench.asked():
        relevant = owner.relevant[row]
        if relevant.any():
            scores = bench.blended_score(owner.matches(row, setting), setting.weights)
            pins, others = _best_first(bench, scores, owner.pinned(setting))
            rankings.append([owner.ids[at] for at in [*(at for at in pins if relevant[at]), *others]])
            wanted.append([owner.ids[int(at)] for at in np.flatnonzero(relevant)])
    if not wanted:
        raise ValueError("no question on the bench has a relevant memory; add one that has")
    recalls = [bench.recall_at_k(r, some, setting.k) for r, some in zip(rankings, wanted, strict=True)]
    return sum(recalls) / len(recalls), bench.mean_reciprocal_rank(rankings, wanted)


def _best_first(bench: Bench, scores: Floats, pinned: NDArray[np.bool_]) -> tuple[list[int], list[int]]:
    """Positions of the pins and of the others, each best first."""
    pins, others = (_sorted(bench, scores, np.flatnonzero(some)) for some in (pinned, ~pinned))
    return pins, others


def _sorted(bench: Bench, scores: Floats, positions: Positions) -> list[int]:
    if not len(positions):
        return []
    return [int(at) for at in positions[bench.top_k(scores[positions], len(positions))]]


def _part(bench: Bench, matches: Matches, weights: Weighting, part: str) -> Floats:
    """What one part adds to each score: the score under test, with the other weights at 0."""
    weight = getattr(weights, part)
    if not weight:
        return np.zeros(len(matches))
    return bench.blended_score(matches, Mix(**{name: weight if name == part else 0.0 for name in PARTS}))


def _owner(person: Person, embedders: Mapping[str, Embedder]) -> Owner:
    memories = [memory for memory in person.memories if memory.superseded_by is None]
    questions = [asked.text for asked in person.questions]
    contents = [memory.content for memory in memories]
    if not questions or not contents:
        raise ValueError(f"{person.name} has no question or no active memory; leave this person out")
    ids = [memory.id for memory in memories]
    return Owner(
        person.name,
        questions,
        ids,
        contents,
        np.array([[memory_id in asked.relevant for memory_id in ids] for asked in person.questions]),
        {name: _vectors(embed, questions) @ _vectors(embed, contents).T for name, embed in embedders.items()},
        np.array([memory.importance for memory in memories]),
        np.array([memory.age_days for memory in memories]),
        np.array([memory.half_life_days for memory in memories]),
    )


def _vectors(embed: Embedder, texts: Sequence[str]) -> Floats:
    """The texts' vectors as rows, each of length 1 or all zeros, as a store keeps them."""
    rows = np.array([embed(text) for text in texts], np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))
