"""Answers to the exercises of lesson 05 that the checks must tell apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from memlab.engine.blocks import Matches
from memlab.records import PINNED
from memlab.store import MemoryStore
from solutions.retrieval import (
    KEYWORD_SHARE,
    Array,
    Hit,
    Weights,
    hybrid_relevance,
    keyword_scores,
    keywords,
    recency,
    top_k,
)

Answer = Callable[..., Any]

STANDARD = Weights()

# fmt: off
RANKED = 'positions[np.argsort(-rounded, kind="stable")]'
PINS = "pins[top_k(scores[pins], len(pins))]"
MEAN = "sum(1 / place for place in places) / len(places)"
PLACE = "next((place for place, found in enumerate(ranked, start=1) if found in wanted), math.inf)"

WRONG: dict[str, list[tuple[str, str]]] = {
    "05-blended": [
        ("weights.relevance * matches => matches ;; weights.recency * recency => recency"
         " ;; weights.importance * matches => matches", "multiplied by its weight"),
        ("+ weights.recency => * weights.recency ;; + weights.importance => * weights.importance",
         "must not wipe out the others"),
        ("return np => np", "Nothing came back"),
        ("np.float64,\n    ) => np.float64,\n    ).sum()", "One score for each memory"),
        ("recency(matches) => matches.age_days", "the oldest memory wins"),
        ("recency(matches) => np.exp(-matches.age_days / matches.half_life_days)",
         "e to the power of minus two"),
        ("recency(matches) => (matches.age_days / matches.half_life_days)", "stopped there"),
        ("recency(matches) => np.exp2(matches.age_days / matches.half_life_days)", "fresher with age"),
        ("weights.recency * recency => weights.importance * recency"
         " ;; weights.importance * matches => weights.recency * matches", "has the weight of another part"),
        ("np.float64,\n    ) => np.float64,\n    )"
         " / (weights.relevance + weights.recency + weights.importance)",
         "sum of the weights"),
        ("recency(matches) => np.exp2(-matches.age_days / matches.half_life_days[:1])", "entry by entry"),
        ("np.float64,\n    ) => np.float64,\n    ).clip(max=1.0)", "cut the score off"),
        ("np.float64,\n    ) => np.float64,\n    ).tolist()", "but no array"),
        ("    return =>     relevance = matches.relevance\n    relevance *= weights.relevance\n    return"
         " ;; weights.relevance * matches.relevance\n => relevance\n", "changed a column in place"),
    ],
    "05-top-k": [
        ("0 < k < len(scores) => False ;; -rounded => rounded", "the lowest first"),
        (f"return {RANKED} => return np.sort(scores)[::-1]", "their positions are wanted"),
        (f"return {RANKED} => return np.argpartition(scores, -k)[-k:] if 0 < k < len(scores) else {RANKED}",
         "`argpartition` does not sort"),
        ('np.argsort(-rounded, kind="stable") => np.argsort(rounded, kind="stable")[::-1]',
         "turns equal scores round"),
        (', kind="stable" => ', "keep their order by chance"),
        ("np.flatnonzero(scores >= np.partition(scores, -k)[-k] - 2e-6)"
         " => np.sort(np.argpartition(np.round(scores, 6), -k)[-k:])", "Of the equal ones at the edge"),
        ("np.round(scores[positions], 6) => scores[positions]", "Round to six decimals"),
        ("[-k] - 2e-6 => [-k]", "past the edge, too"),
        (f"0 < k < len(scores) => False ;; {RANKED}[:k] => np.lexsort((-positions, rounded))[-k:][::-1]",
         "`[-0:]` is the whole list"),
        ("0 < k < len(scores) => False ;; [:k] => ", "cut at k"),
        (f"{RANKED} => {RANKED[len('positions['):-1]}", "map them back"),
        ("scores >= np.partition(scores, -k)[-k] - 2e-6 => scores > np.partition(scores, -k)[-k]", "not `>`"),
    ],
    "05-pins": [
        (f"[*map(int, {PINS}), *others[:k]] => list(map(int, top_k(scores, k)))", "had to win its place"),
        ("*others[:k]] => *others[:k]][:k]", "took one of the k places: it costs"),
        (f"[*map(int, {PINS}), *others[:k]] => [*others[:k], *map(int, {PINS})]",
         "The pin is there, but last"),
        ("k + len(pins) => len(scores) ;; others[:k] => others", "You brought everything back"),
        ("best if importance[position] < PINNED => top_k(scores, k)", "ranked a second time"),
        ("k + len(pins) => k", "you cut at k, and then"),
        (f"{PINS} => pins", "in the order of the store"),
        (f"{PINS} => top_k(scores[pins], len(pins))", "map its positions back"),
        ("importance >= PINNED => importance > 0.9 ;; [position] < PINNED => [position] <= 0.9",
         "a decision that somebody took"),
    ],
    "05-recall": [
        ("/ len(set(relevant)) => / k", "that is precision"),
        ("len(set(ranked[:k]) & set(relevant)) / len(set(relevant))"
         " => float(bool(set(ranked[:k]) & set(relevant)))", "One hit is not all"),
        ("ranked[:k] => ranked", "cut it at k"),
        ("/ len(set(relevant)) => / min(k, len(set(relevant)))", "min(k, relevant)"),
        ("/ len(set(relevant)) => / len(ranked)", "everything was found"),
        ("/ len(set(relevant)) => / len(relevant)", "an id counts once"),
        ("/ len(set => // len(set", "`//` cuts a share"),
        ('raise ValueError("relevant is empty, so recall is undefined; leave such questions out of the mean")'
         " => return 0.0", "0 of 0"),
    ],
    "05-mrr": [
        ("1 / place for => 1 / max(1, place - 1) for", "counted places from 0"),
        ("1 / place for => (0.0 if place == math.inf else float(place)) for", "That is the place itself"),
        (f"{PLACE} => 1 / (sum(1 / place for place, one in enumerate(ranked, 1) if one in wanted) or 1e-99)",
         "only the first one counts, recall"),
        ("next((place for => max((place for ;; wanted), math.inf) => wanted), default=math.inf)",
         "reads from the top"),
        (f"{PLACE} => (lambda one: ranked.index(one) + 1 if one in ranked else math.inf)(next(iter(wanted)))",
         "not through `relevant`"),
        (f"return {MEAN} => values = [1 / place for place in places if place < math.inf]\n"
         "    return sum(values) / len(values)", "flatters the mean"),
        (f"{MEAN} => sum(1 / place for place in places)", "That is the sum"),
        (f"{MEAN} => len(places) / sum(places)", "You inverted the mean place"),
        (" or len(rankings) != len(relevant): => : ;; strict=True => strict=False", "drop one silently"),
    ],
    "05-bm25": [
        ("document.count(word) for document in documents => text.lower().count(word) for text in texts",
         "found inside `card`"),
        ("fromkeys(keywords(query)) => fromkeys(words(query)) ;; [keywords(text) for => [words(text) for",
         "stand everywhere"),
        ("rarity * counts => counts", "`allergy` is rarer"),
        ("1 - LENGTH_PENALTY + LENGTH_PENALTY * lengths / mean => np.ones(len(texts))", "where is `b`"),
        ("(SATURATION + 1) => (LENGTH_PENALTY + 1) ;; SATURATION * penalty => LENGTH_PENALTY * penalty"
         " ;; 1 - LENGTH_PENALTY + LENGTH_PENALTY * lengths => 1 - SATURATION + SATURATION * lengths",
         "in each other's place"),
        ("np.log(1 + (len(texts) - holding + 0.5) / => np.log((len(texts) - holding + 0.5) /", "below 0"),
        (" * (SATURATION + 1) => ", "The factor `k1 + 1`"),
        ("np.log( => np.log10(", "base 10"),
        ("(counts + SATURATION * penalty) => (SATURATION * penalty)", "count saturate"),
        ("document.count(word) => (word in document)", "merely `in`"),
        ("len(document) for document in documents => len(text) for text in texts", "not in characters"),
        ("dict.fromkeys(keywords(query)) => keywords(query)", "counted twice"),
        ("lengths.mean() if lengths.any() else 1.0 => lengths.sum() / max(1, len(texts))",
         "guard the mean length"),
        ("np.count_nonzero(counts) => counts.sum()", "number of *texts*"),
        ("lengths.mean() if lengths.any() else 1.0 => lengths.sum() / max(1, np.count_nonzero(lengths))",
         "has one as well"),
    ],
    "05-hybrid": [
        ("by_keyword / best if best > 0 else by_keyword => by_keyword", "BM25 has no upper end"),
        (" / (1 + share) => ", "divide by 1 + share."),
        ("(cosines + share * normalised) / (1 + share) => (1 - share) * cosines + share * normalised",
         "keeps its full weight"),
        (" if best > 0 else by_keyword => ", "0 / 0 is no number"),
        ("share * normalised => 0.5 * normalised ;; (1 + share) => 1.5", "You ignore `share`"),
        ("    normalised =>     if not by_keyword.any():\n        return cosines\n    normalised",
         "divide by 1 + share too"),
        ("by_keyword.max(initial=0.0) => by_keyword.sum()", "You divided by the sum"),
        ("by_keyword / best => (by_keyword - by_keyword.min()) / (best - by_keyword.min())", "You stretched"),
        ("= KEYWORD_SHARE => = 0.3", "KEYWORD_SHARE"),
        ("initial=0.0 => ", "zero-size array"),
        ("    return =>     cosines += share * normalised\n    return"
         " ;; cosines + share * normalised) => cosines)",
         "You changed an array in place"),
    ],
    "05-retrieve": [
        ("pins_first(scores, matches.importance, k) => top_k(scores, k).tolist()", "The pin is missing"),
        ("take(best) => take(sorted(best))", "in the order of the store"),
        ("importance, k) => importance, 5)", "hand `k` on"),
        ("blended_score(matches, weights) => blended_score(matches, Weights())", "hand `weights`"),
        ("query, user_id => query, 'ada'", "`user_id` that was passed"),
        ("user_id, app_name, scopes => user_id, 'default', scopes", "at the bank"),
        ("app_name, scopes, session_id, as_of => app_name, DEFAULT_SCOPES, None, as_of", "`session_id` on"),
        (", as_of=as_of => ", "hand `as_of` on"),
        ('if relevance == "hybrid" => if False', "Hybrid: BM25 over"),
        ("with store.snapshot() => if True", "with store.snapshot():"),
        ("scores[best]) => scores[: len(best)])", "that of its own memory"),
    ],
}
# fmt: on

# --- right answers, written differently


def listed(matches: Matches, weights: Any) -> list[float]:
    columns = zip(
        matches.relevance, matches.age_days, matches.half_life_days, matches.importance, strict=True
    )
    return [
        float(weights.relevance * r + weights.recency * 2 ** -(age / half) + weights.importance * i)
        for r, age, half, i in columns
    ]


def one_by_one(matches: Matches, weights: Any) -> Any:
    return np.array(listed(matches, weights))


def as_a_product(matches: Matches, weights: Any) -> Any:
    parts = np.stack(
        [matches.relevance, 0.5 ** (matches.age_days / matches.half_life_days), matches.importance]
    )
    return np.array([weights.relevance, weights.recency, weights.importance]) @ parts


def plain_sort(scores: Array, k: int) -> list[int]:
    return sorted(range(len(scores)), key=lambda at: (-round(float(scores[at]), 6), at))[:k]


def pins_by_hand(scores: Array, importance: Array, k: int) -> list[int]:
    order = [int(at) for at in top_k(scores, len(scores))]
    pins = [at for at in order if importance[at] >= PINNED]
    return pins + [at for at in order if at not in pins][:k]


def by_counting(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    if not relevant or k < 1:
        raise ValueError(f"relevant={relevant}, k={k}: neither may be empty")
    if isinstance(relevant, str):
        raise TypeError("relevant is one id")
    wanted = set(relevant)
    return sum(memory_id in ranked[:k] for memory_id in wanted) / len(wanted)


def in_a_loop(rankings: Sequence[Sequence[str]], relevant: Sequence[Collection[str]]) -> float:
    if not rankings or len(rankings) != len(relevant):
        raise ValueError(f"{len(rankings)} rankings, {len(relevant)} sets")
    total = 0.0
    for ranked, wanted in zip(rankings, relevant, strict=True):
        if isinstance(wanted, str):
            raise TypeError("relevant is one id")
        for place, memory_id in enumerate(ranked):
            if memory_id in wanted:
                total += 1 / (place + 1)
                break
    return total / len(rankings)


def scaled_apart(cosines: Array, by_keyword: Array, *, share: float = KEYWORD_SHARE) -> Any:
    top = max([*by_keyword, 0.0]) or 1.0
    return cosines / (1 + share) + share / (1 + share) * by_keyword / top


def one_hit_at_a_time(
    store: MemoryStore,
    query: str,
    *,
    user_id: str,
    app_name: str = "default",
    scopes: Any = ("user", "app"),
    session_id: str | None = None,
    k: int = 5,
    weights: Weights = STANDARD,
    relevance: str = "vector",
    as_of: Any = None,
) -> list[Hit]:
    if not isinstance(store, MemoryStore) or not isinstance(weights, Weights):
        raise TypeError(f"store={store!r:.60} or weights={weights!r:.60} is of another kind")
    if k < 0 or relevance not in ("vector", "hybrid"):
        raise ValueError(f"k={k} or relevance={relevance!r} does not fit")
    with store.transaction():
        matches = store.search(query, user_id, app_name, scopes, session_id, as_of=as_of)
        nearness = matches.relevance
        if relevance == "hybrid":
            nearness = hybrid_relevance(nearness, keyword_scores(query, matches.contents()))
        fresh = recency(matches)
        scores = (
            weights.relevance * nearness + weights.recency * fresh + weights.importance * matches.importance
        )
        places = pins_by_hand(scores, matches.importance, k)
        return [
            Hit(
                float(scores[at]),
                record,
                float(nearness[at]),
                float(fresh[at]),
                float(matches.importance[at]),
            )
            for at, record in zip(places, matches.records(places), strict=True)
            if record is not None
        ]


def as_fractions(query: str, texts: Sequence[str]) -> list[float]:
    """The same with counters, and the formula turned round."""
    bags = [Counter(keywords(text)) for text in texts]
    average = sum(bag.total() for bag in bags) / max(1, len(bags))
    result: list[float] = []
    for bag in bags:
        score = 0.0
        for word in set(keywords(query)) & set(bag):
            n = sum(word in other for other in bags)
            rarity = math.log((len(bags) + 1) / (n + 0.5))
            score += rarity * 2.2 / (1 + 1.2 * (0.25 + 0.75 * bag.total() / average) / bag[word])
        result.append(score)
    return result


RIGHT: dict[str, list[Answer]] = {
    "05-blended": [one_by_one, as_a_product],
    "05-top-k": [plain_sort],
    "05-pins": [pins_by_hand],
    "05-recall": [by_counting],
    "05-mrr": [in_a_loop],
    "05-bm25": [as_fractions],
    "05-hybrid": [scaled_apart],
    "05-retrieve": [one_hit_at_a_time],
}

# fmt: off
SPARED: dict[str, dict[str, str]] = {
    "05-top-k": {
        **dict.fromkeys([
            "if 0 < k < len(scores): positions = np.flatnonzero(scores >= np.partition(scores, -k)[-k]"
            " - 2e-06) => pass",
            "if 0 < k < len(scores): => if False:",
            "positions = np.flatnonzero(scores >= np.partition(scores, -k)[-k] - 2e-06) => pass",
            "if 0 < k < len(scores): => if 0 <= k < len(scores):",
            "if 0 < k < len(scores): => if 0 < k <= len(scores):",
            "if 0 < k < len(scores): => if 1 < k < len(scores):",
            "if 0 < k < len(scores): => if -1 < k < len(scores):",
            "np.flatnonzero(scores >= np.partition(scores, => np.flatnonzero(scores > np.partition(scores,",
            "np.partition(scores, -k)[-k] - 2e-06) => np.partition(scores, -k)[-k] - 1.000002)",
            "np.partition(scores, -k)[-k] - 2e-06) => np.partition(scores, -k)[-k] - 4e-06)",
        ], "what is left out before sorting only saves time; the sort decides"),
        "kind='stable')][:k] => kind='stableX')][:k]": "numpy reads the first letter of the kind",
    },
    "05-mrr": dict.fromkeys([
        "zip(rankings, relevant, strict=True)] => zip(rankings, relevant)]",
        "relevant, strict=True)] => relevant, strict=False)]",
    ], "their lengths were compared above"),
    "05-bm25": {"lengths.any() else 1.0 => lengths.any() else 2.0": "all scores are 0 then"},
    "05-hybrid": {"by_keyword.max(initial=0.0) => by_keyword.max(initial=-1)": "no score lies below 0"},
}
# fmt: on
