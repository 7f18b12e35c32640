"""Which memories to bring back: the owner's only, pins first, then by a blended score.

The score is that of "Mini-project 5: build a memory system", Part 6, after the "Generative Agents" paper
(Park et al., 2023): relevance, recency and importance. Pins are from "Vector-database-backed memory".
Keywords are weighed by BM25 (Robertson and Zaragoza, 2009).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memlab import clock
from memlab.embedding import STOPWORDS, words
from memlab.engine.blocks import Matches
from memlab.fields import check_kind, check_number, check_whole, one_of
from memlab.records import PINNED, MemoryRecord
from memlab.store import DEFAULT_SCOPES, MemoryStore

SATURATION, LENGTH_PENALTY = 1.2, 0.75
"""BM25's k1 and b, at the values that Lucene ships: repeats soon stop counting, long texts count less."""

KEYWORD_SHARE = 0.5
"""How much the best keyword match adds to a cosine of 1.

A half serves raw turns of long dialogues; with a good model on short memories, less is better: notebook 05.
"""

CONTRACTED = frozenset({"d", "ll", "m", "re", "s", "t", "ve"})
"""What `words` leaves of "what's" or "don't" after the apostrophe; "user's" must not match "what's"."""

UNTELLING = STOPWORDS | CONTRACTED

Relevance = Literal["vector", "hybrid"]
Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Weights:
    """How much each part counts in the blended score.

    Raises TypeError or ValueError that names the weight, unless all are numbers of 0 or more and not all 0.

    Example:
    >>> Weights(relevance=1.0)
    Weights(relevance=1.0, recency=0.25, importance=0.15)
    """

    relevance: float = 0.6
    recency: float = 0.25
    importance: float = 0.15

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if check_number(name, value) < 0:
                raise ValueError(f"{name}={value!r} is below 0; pass a weight of 0 or more")
        if not any(vars(self).values()):
            raise ValueError("all weights are 0; give at least one of them a value above 0")


@dataclass(frozen=True)
class Hit:
    """A memory that was brought back, its score, and the three parts before they are weighted.

    Example:
    >>> Hit(0.41, MemoryRecord("Allergic to peanuts.", "u_ada"), 0.2, 0.5, importance=1.0).pinned
    True
    """

    score: float
    record: MemoryRecord
    relevance: float
    recency: float
    importance: float

    @property
    def pinned(self) -> bool:
        """True when the memory is shown whatever its score is."""
        return self.importance >= PINNED


def as_hits(matches: Matches, scores: Array) -> list[Hit]:
    """The memories behind `matches`, in their order, each with its score and the three parts of it."""
    columns = (scores, matches.relevance, recency(matches), matches.importance)
    rows = zip(matches.records(range(len(matches))), *(column.tolist() for column in columns), strict=True)
    return [Hit(score, record, *parts) for record, score, *parts in rows if record is not None]


def recency(matches: Matches) -> Array:
    """0..1 for each memory: 1 when it was just confirmed, one half after its half-life."""
    return np.asarray(np.exp2(-matches.age_days / matches.half_life_days), np.float64)


def blended_score(matches: Matches, weights: Weights) -> Array:
    """The weighted sum of relevance, recency and importance for each memory."""
    return np.asarray(
        weights.relevance * matches.relevance
        + weights.recency * recency(matches)
        + weights.importance * matches.importance,
        np.float64,
    )


def top_k(scores: Array, k: int) -> NDArray[np.intp]:
    """The positions of the k highest scores, best first; equal ones, to six decimals, in their order.

    Example:
    >>> top_k(np.array([0.2, 0.9, 0.2, 0.5]), 3).tolist()
    [1, 3, 0]
    """
    scores = np.asarray(scores, np.float64)
    positions = np.arange(len(scores))
    if 0 < k < len(scores):
        positions = np.flatnonzero(scores >= np.partition(scores, -k)[-k] - 2e-6)  # rounding may tie these
    # Matrix products differ in the last bits from machine to machine; a ranking must not.
    rounded = np.round(scores[positions], 6)
    return positions[np.argsort(-rounded, kind="stable")][:k]


def pins_first(scores: Array, importance: Array, k: int) -> list[int]:
    """The positions of all pins, best first, then of the k best others: a pin takes none of their places.

    Example:
    >>> pins_first(np.array([0.9, 0.1, 0.8, 0.7]), np.array([0.5, 1.0, 0.5, 0.5]), 2)
    [1, 0, 2]
    """
    pins = np.flatnonzero(importance >= PINNED)
    best = top_k(scores, k + len(pins))  # among so many there are k others
    others = [int(position) for position in best if importance[position] < PINNED]
    return [*map(int, pins[top_k(scores[pins], len(pins))]), *others[:k]]


def keyword_scores(query: str, texts: Sequence[str]) -> Array:
    """The BM25 score of each text for `query`: 0 without a common word, higher for rarer common words.

    How rare a word is is judged among `texts` alone.

    Example:
    >>> texts = ["Allergy to peanut.", "Likes peanut bars.", "Likes tea."]
    >>> keyword_scores("peanut allergy", texts).round(2).tolist()
    [1.54, 0.42, 0.0]
    """
    documents = [keywords(text) for text in texts]
    lengths = np.array([len(document) for document in documents], np.float64)
    mean = lengths.mean() if lengths.any() else 1.0  # without a keyword anywhere there is nothing to compare
    penalty = 1 - LENGTH_PENALTY + LENGTH_PENALTY * lengths / mean
    scores = np.zeros(len(texts))
    for word in dict.fromkeys(keywords(query)):
        counts = np.array([document.count(word) for document in documents], np.float64)
        holding = np.count_nonzero(counts)
        rarity = np.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
        scores += rarity * counts * (SATURATION + 1) / (counts + SATURATION * penalty)
    return scores


def keywords(text: str) -> list[str]:
    """The words of `text` that can tell one memory from another: no stop words.

    Example:
    >>> keywords("The user's mother likes tea.")
    ['mother', 'likes', 'tea']
    """
    return [word for word in words(text) if word not in UNTELLING]


def hybrid_relevance(cosines: Array, by_keyword: Array, *, share: float = KEYWORD_SHARE) -> Array:
    """Cosine plus `share` times the keyword score over its maximum, scaled back to at most 1.

    Example:
    >>> hybrid_relevance(np.array([0.6, 0.6]), np.array([4.0, 0.0])).round(3).tolist()
    [0.733, 0.4]
    """
    best = by_keyword.max(initial=0.0)
    normalised = by_keyword / best if best > 0 else by_keyword
    return np.asarray((cosines + share * normalised) / (1 + share), np.float64)


def recall_at_k(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """The share, 0..1, of the `relevant` ids that stand among the first k of `ranked`.

    Raises ValueError when nothing is relevant, since then there is nothing to find, and for a k below 1.

    Example:
    >>> recall_at_k(["a", "b", "c"], {"a", "c"}, 2)
    0.5
    """
    if not relevant:
        raise ValueError("relevant is empty, so recall is undefined; leave such questions out of the mean")
    if isinstance(relevant, str):  # its letters would be taken for ids
        raise TypeError(f"relevant={relevant!r} is one id; pass a set of ids")
    check_whole("k", k, least=1)
    return len(set(ranked[:k]) & set(relevant)) / len(set(relevant))


def mean_reciprocal_rank(rankings: Sequence[Sequence[str]], relevant: Sequence[Collection[str]]) -> float:
    """The mean, 0..1, of 1 / place of the first relevant id in each ranking; 0 where none comes back.

    Raises ValueError for no rankings, or not as many as there are sets of relevant ids.

    Example:
    >>> mean_reciprocal_rank([["a", "b"], ["a", "b"]], [{"a"}, {"b"}])
    0.75
    """
    if not rankings or len(rankings) != len(relevant):
        raise ValueError(
            f"{len(rankings)} rankings and {len(relevant)} sets of relevant ids; pass one for one"
        )
    for wanted in relevant:
        if isinstance(wanted, str):  # parts of its text would be taken for ids
            raise TypeError(f"relevant holds {wanted!r}, which is one id; pass a set of ids for each ranking")
    places = [
        next((place for place, found in enumerate(ranked, start=1) if found in wanted), math.inf)
        for ranked, wanted in zip(rankings, relevant, strict=True)
    ]
    return sum(1 / place for place in places) / len(places)


def retrieve(
    store: MemoryStore,
    query: str,
    *,
    user_id: str,
    app_name: str = "default",
    scopes: Iterable[str] = DEFAULT_SCOPES,
    session_id: str | None = None,
    k: int = 5,
    weights: Weights = Weights(),
    relevance: Relevance = "vector",
    as_of: clock.Instant | None = None,
) -> list[Hit]:
    """All pins, then the k best-scoring of the other memories that the caller may see.

    relevance: "vector" is the cosine; "hybrid" adds keywords, weighed among these memories only, so no
    other owner's memories change a score. `as_of` ranks what held at another time, as it was ranked then.
    Raises ValueError or TypeError for a missing store or owner, an unknown scope, a k below 0, or a query
    that is not text.

    Example:
    >>> store = MemoryStore()
    >>> store.put(MemoryRecord("The user likes tea.", "u_ada"))
    >>> store.put(MemoryRecord("The user is allergic to peanuts.", "u_ada", importance=1.0))
    >>> [hit.record.content for hit in retrieve(store, "tea?", user_id="u_ada", k=1)]
    ['The user is allergic to peanuts.', 'The user likes tea.']
    """
    check_kind("store", store, MemoryStore)
    check_kind("weights", weights, Weights)
    check_whole("k", k)
    one_of("relevance", relevance, ("vector", "hybrid"))
    with store.snapshot():  # or what is ranked could be superseded before it is read
        matches = store.search(query, user_id, app_name, scopes, session_id, as_of=as_of)
        if relevance == "hybrid":
            by_keyword = keyword_scores(query, matches.contents())
            matches = replace(matches, relevance=hybrid_relevance(matches.relevance, by_keyword))
        scores = blended_score(matches, weights)
        best = pins_first(scores, matches.importance, k)
        return as_hits(matches.take(best), scores[best])
