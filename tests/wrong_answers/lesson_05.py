"""Answers to the exercises of lesson 05 that the checks must tell apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from memlab.embedding import words
from memlab.engine.blocks import Matches
from solutions.retrieval import KEYWORD_SHARE, PINNED, Array, keywords, recency, top_k

Answer = Callable[..., Any]

# --- 05-blended


def unweighted(matches: Matches, weights: Any) -> Any:
    return matches.relevance + recency(matches) + matches.importance


def multiplied(matches: Matches, weights: Any) -> Any:
    return (
        weights.relevance
        * matches.relevance
        * weights.recency
        * recency(matches)
        * weights.importance
        * matches.importance
    )


def scored(fresh: Callable[[Matches], Any], scale: Callable[[Any], float] = lambda _: 1.0) -> Answer:
    def blended_score(matches: Matches, weights: Any) -> Any:
        total = weights.relevance * matches.relevance + weights.recency * fresh(matches)
        return (total + weights.importance * matches.importance) / scale(weights)

    return blended_score


def summed_up(matches: Matches, weights: Any) -> Any:
    return scored(recency)(matches, weights).sum()


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


def nothing(matches: Matches, weights: Any) -> None:
    scored(recency)(matches, weights)


def at_most_1(matches: Matches, weights: Any) -> Any:
    return np.minimum(scored(recency)(matches, weights), 1.0)


def in_place(matches: Matches, weights: Any) -> Any:
    total = matches.relevance
    total *= weights.relevance
    total += weights.recency * recency(matches) + weights.importance * matches.importance
    return total


def as_a_product(matches: Matches, weights: Any) -> Any:
    parts = np.stack(
        [matches.relevance, 0.5 ** (matches.age_days / matches.half_life_days), matches.importance]
    )
    return np.array([weights.relevance, weights.recency, weights.importance]) @ parts


# --- 05-top-k


def ascending(scores: Array, k: int) -> Any:
    return np.argsort(np.round(scores, 6), kind="stable")[:k]


def values(scores: Array, k: int) -> Any:
    return np.sort(scores)[::-1][:k]


def reversed_sort(scores: Array, k: int) -> Any:
    return np.argsort(np.round(scores, 6), kind="stable")[::-1][:k]


def unsorted(scores: Array, k: int) -> Any:
    return np.argpartition(scores, -k)[-k:] if 0 < k < len(scores) else np.argsort(-scores)[:k]


def without_rounding(scores: Array, k: int) -> Any:
    return np.argsort(-np.asarray(scores), kind="stable")[:k]


def unstable(scores: Array, k: int) -> Any:
    return np.argsort(-np.round(scores, 6))[:k]


def last_k(scores: Array, k: int) -> Any:
    rounded = np.round(scores, 6)
    order = np.lexsort((-np.arange(len(rounded)), rounded))
    return order[-k:][::-1]


def tie_at_the_edge(scores: Array, k: int) -> Any:
    scores = np.round(scores, 6)
    if not 0 < k < len(scores):
        return np.argsort(-scores, kind="stable")[:k]
    some = np.sort(np.argpartition(scores, -k)[-k:])
    return some[np.argsort(-scores[some], kind="stable")]


def plain_sort(scores: Array, k: int) -> list[int]:
    return sorted(range(len(scores)), key=lambda at: (-round(float(scores[at]), 6), at))[:k]


# --- 05-pins


def ranked_only(scores: Array, importance: Array, k: int) -> list[int]:
    return [int(at) for at in top_k(scores, k)]


def inside_k(scores: Array, importance: Array, k: int) -> list[int]:
    return pins_by_hand(scores, importance, k)[:k]


def pins_last(scores: Array, importance: Array, k: int) -> list[int]:
    best = pins_by_hand(scores, importance, k)
    return sorted(best, key=lambda at: bool(importance[at] >= PINNED))


def twice(scores: Array, importance: Array, k: int) -> list[int]:
    pins = [at for at in range(len(scores)) if importance[at] >= PINNED]
    return [*pins, *(int(at) for at in top_k(scores, k))]


def everything(scores: Array, importance: Array, k: int) -> list[int]:
    return pins_by_hand(scores, importance, len(scores))


def in_store_order(scores: Array, importance: Array, k: int) -> list[int]:
    pins = [at for at in range(len(scores)) if importance[at] >= PINNED]
    return pins + [at for at in pins_by_hand(scores, importance, k) if at not in pins]


def merely_important(scores: Array, importance: Array, k: int) -> list[int]:
    return pins_by_hand(scores, np.where(importance > 0.9, 1.0, importance), k)


def pins_by_hand(scores: Array, importance: Array, k: int) -> list[int]:
    order = [int(at) for at in top_k(scores, len(scores))]
    pins = [at for at in order if importance[at] >= PINNED]
    return pins + [at for at in order if at not in pins][:k]


# --- 05-recall


def refusing(recall: Answer) -> Answer:
    def recall_at_k(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
        if not relevant:
            raise ValueError("relevant is empty")
        if k < 1:
            raise ValueError(f"k={k}")
        return float(recall(ranked, relevant, k))

    return recall_at_k


def found(ranked: Sequence[str], relevant: Collection[str], k: int) -> int:
    return len(set(ranked[:k]) & set(relevant))


precision = refusing(lambda ranked, relevant, k: found(ranked, relevant, k) / k)
any_hit = refusing(lambda ranked, relevant, k: found(ranked, relevant, k) > 0)
capped = refusing(lambda ranked, relevant, k: found(ranked, relevant, k) / min(k, len(set(relevant))))
of_the_ranking = refusing(lambda ranked, relevant, k: found(ranked, relevant, k) / len(ranked))
no_cut = refusing(lambda ranked, relevant, k: found(ranked, relevant, len(ranked)) / len(set(relevant)))
counted_twice = refusing(lambda ranked, relevant, k: found(ranked, relevant, k) / len(relevant))


def zero_of_zero(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    return found(ranked, relevant, k) / len(set(relevant)) if relevant else 0.0


@refusing
def by_counting(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    wanted = set(relevant)
    return sum(memory_id in ranked[:k] for memory_id in wanted) / len(wanted)


# --- 05-mrr


def averaged(reciprocal: Callable[[list[int]], float]) -> Answer:
    """places of the relevant ids of one question, counted from 1 → its value."""

    def mean_reciprocal_rank(rankings: Sequence[Sequence[str]], relevant: Sequence[Collection[str]]) -> float:
        if not rankings or len(rankings) != len(relevant):
            raise ValueError("pass one set of relevant ids for each ranking")
        return sum(places_of(rankings, relevant, reciprocal)) / len(rankings)

    return mean_reciprocal_rank


def places_of(rankings: Any, relevant: Any, reciprocal: Callable[[list[int]], float]) -> list[float]:
    return [
        reciprocal([place for place, one in enumerate(ranked, start=1) if one in wanted])
        for ranked, wanted in zip(rankings, relevant, strict=False)
    ]


from_zero = averaged(lambda places: 1 / max(1, places[0] - 1) if places else 0.0)
added_up = averaged(lambda places: sum(1 / place for place in places))
last_one = averaged(lambda places: 1 / places[-1] if places else 0.0)
place_itself = averaged(lambda places: float(places[0]) if places else 0.0)
right_mrr = averaged(lambda places: max((1 / place for place in places), default=0.0))


def leaves_out(rankings: Any, relevant: Any) -> float:
    values = [value for value in places_of(rankings, relevant, lambda p: 1 / p[0] if p else 0.0) if value]
    return sum(values) / len(values)


def total(rankings: Any, relevant: Any) -> float:
    summed: float = right_mrr(rankings, relevant) * len(rankings)
    return summed


def inverted_mean(rankings: Any, relevant: Any) -> float:
    return len(rankings) / sum(places_of(rankings, relevant, lambda p: p[0] if p else math.inf))


def zips_silently(rankings: Any, relevant: Any) -> float:
    values = places_of(rankings, relevant, lambda p: 1 / p[0] if p else 0.0)
    return sum(values) / max(1, len(rankings))


# --- 05-bm25


def weighed(
    *,
    k1: float = 1.2,
    b: float = 0.75,
    log: Callable[[float], float] = math.log,
    one: float = 1.0,
    factor: float | None = None,
    rare: bool = True,
    count: Callable[[str, str], float] = lambda word, text: keywords(text).count(word),
    query_words: Callable[[str], Collection[str]] = lambda query: dict.fromkeys(keywords(query)),
    holding_of: Callable[[list[float]], float] = np.count_nonzero,
    mean_of: Callable[[list[int]], float] = lambda lengths: sum(lengths) / max(1, len(lengths)),
) -> Answer:
    """BM25 one text at a time; each argument is a way to get it wrong."""

    def keyword_scores(query: str, texts: Sequence[str]) -> list[float]:
        lengths = [len(keywords(text)) for text in texts]
        mean = max(mean_of(lengths), 1e-9)
        scores = [0.0] * len(texts)
        for word in query_words(query):
            counts = [count(word, text) for text in texts]
            holding = holding_of(counts)
            rarity = log(one + (len(texts) - holding + 0.5) / (holding + 0.5)) if rare else 1.0
            for at, value in enumerate(counts):
                bound = value + k1 * (1 - b + b * lengths[at] / mean)
                top = k1 + 1 if factor is None else factor
                scores[at] += rarity * value * top / bound if value else 0.0
        return scores

    return keyword_scores


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


def no_number(query: str, texts: Sequence[str]) -> list[float]:
    scores: list[float] = weighed()(query, texts)
    return scores if not texts or any(map(keywords, texts)) else [math.nan] * len(texts)


# --- 05-hybrid


def fused(mix: Callable[[Any, Any, float], Any]) -> Answer:
    def hybrid_relevance(cosines: Array, by_keyword: Array, *, share: float = KEYWORD_SHARE) -> Any:
        best = by_keyword.max(initial=0.0)
        return mix(cosines, by_keyword / best if best > 0 else by_keyword, share)

    return hybrid_relevance


def raw_keywords(cosines: Array, by_keyword: Array, *, share: float = KEYWORD_SHARE) -> Any:
    return (cosines + share * by_keyword) / (1 + share)


def without_guard(cosines: Array, by_keyword: Array, *, share: float = KEYWORD_SHARE) -> Any:
    with np.errstate(invalid="ignore"):
        return (cosines + share * by_keyword / by_keyword.max()) / (1 + share)


def only_with_a_match(cosines: Array, by_keyword: Array, *, share: float = KEYWORD_SHARE) -> Any:
    if not by_keyword.any():
        return cosines
    return (cosines + share * by_keyword / by_keyword.max()) / (1 + share)


def another_standard(cosines: Array, by_keyword: Array, *, share: float = 0.3) -> Any:
    return fused(lambda c, n, s: (c + s * n) / (1 + s))(cosines, by_keyword, share=share)


def fails_on_nothing(cosines: Array, by_keyword: Array, *, share: float = KEYWORD_SHARE) -> Any:
    best = max(by_keyword) if len(by_keyword) else by_keyword[0]
    return (cosines + share * by_keyword / (best or 1.0)) / (1 + share)


WRONG: dict[str, list[tuple[Answer, str]]] = {
    "05-blended": [
        (unweighted, "multiplied by its weight"),
        (multiplied, "must not wipe out the others"),
        (nothing, "Nothing came back"),
        (summed_up, "One score for each memory"),
        (scored(lambda m: m.age_days), "the oldest memory wins"),
        (scored(lambda m: np.exp(-m.age_days / m.half_life_days)), "e to the power of minus two"),
        (scored(lambda m: m.age_days / m.half_life_days), "stopped there"),
        (scored(lambda m: np.exp2(m.age_days / m.half_life_days)), "fresher with age"),
        (scored(recency, lambda w: w.relevance + w.recency + w.importance), "sum of the weights"),
        (scored(lambda m: np.exp2(-m.age_days / m.half_life_days[:1])), "entry by entry"),
        (at_most_1, "cut the score off"),
        (listed, "but no array"),
        (in_place, "changed a column in place"),
    ],
    "05-top-k": [
        (ascending, "the lowest first"),
        (values, "their positions are wanted"),
        (unsorted, "`argpartition` does not sort"),
        (reversed_sort, "turns equal scores round"),
        (unstable, "keep their order by chance"),
        (tie_at_the_edge, "Take the first"),
        (without_rounding, "Round to six decimals"),
        (last_k, "`[-0:]` is the whole list"),
    ],
    "05-pins": [
        (ranked_only, "had to win its place"),
        (inside_k, "took one of the k places"),
        (pins_last, "The pin is there, but last"),
        (everything, "You brought everything back"),
        (twice, "ranked a second time"),
        (in_store_order, "in the order of the store"),
        (merely_important, "a decision that somebody took"),
    ],
    "05-recall": [
        (precision, "that is precision"),
        (any_hit, "One hit is not all"),
        (no_cut, "cut it at k"),
        (capped, "min(k, relevant)"),
        (of_the_ranking, "everything was found"),
        (counted_twice, "an id counts once"),
        (zero_of_zero, "0 of 0"),
    ],
    "05-mrr": [
        (from_zero, "counted places from 0"),
        (place_itself, "That is the place itself"),
        (added_up, "only the first one counts"),
        (last_one, "reads from the top"),
        (leaves_out, "flatters the mean"),
        (total, "That is the sum"),
        (inverted_mean, "You inverted the mean place"),
        (zips_silently, "drop one silently"),
    ],
    "05-bm25": [
        (weighed(count=lambda word, text: text.lower().count(word)), "found inside `card`"),
        (weighed(rare=False), "`allergy` is rarer"),
        (weighed(b=0.0), "where is `b`"),
        (weighed(one=0.0), "below 0"),
        (weighed(factor=1.0), "The factor `k1 + 1`"),
        (weighed(log=math.log10), "base 10"),
        (weighed(k1=1e6), "count saturate"),
        (weighed(count=lambda word, text: word in keywords(text)), "merely `in`"),
        (weighed(query_words=words, count=lambda word, text: words(text).count(word)), "stand everywhere"),
        (weighed(query_words=keywords), "counted twice"),
        (no_number, "guard the mean length"),
        (weighed(holding_of=sum), "number of *texts*"),
        (
            weighed(mean_of=lambda lengths: sum(lengths) / max(1, np.count_nonzero(lengths))),
            "has one as well",
        ),
    ],
    "05-hybrid": [
        (raw_keywords, "BM25 has no upper end"),
        (fused(lambda c, n, s: c + s * n), "divide by 1 + share"),
        (fused(lambda c, n, s: (1 - s) * c + s * n), "keeps its full weight"),
        (without_guard, "0 / 0 is no number"),
        (fused(lambda c, n, s: (c + 0.5 * n) / 1.5), "You ignore `share`"),
        (only_with_a_match, "divide by 1 + share too"),
        (another_standard, "KEYWORD_SHARE"),
        (fails_on_nothing, "IndexError"),
    ],
}

RIGHT: dict[str, list[Answer]] = {
    "05-blended": [one_by_one, as_a_product],
    "05-top-k": [plain_sort],
    "05-pins": [pins_by_hand],
    "05-recall": [by_counting],
    "05-mrr": [right_mrr],
    "05-bm25": [weighed(), as_fractions],
    "05-hybrid": [fused(lambda c, n, s: c / (1 + s) + s / (1 + s) * n)],
}
