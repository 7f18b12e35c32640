"""Lesson 05, retrieval: the checks of its exercises, what it measures on labelled data, and its pictures.

The checks compare with plain specifications written here; they never import the answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course.check import Cases, Function, Shown, exercise
from course.pictures.tuning import Bench, Mix, Owner, Setting, metrics
from course.pictures.views import AMBER, BLUE, GREEN, GREY, ORANGE, Picture, Table, as_picture, new_figure
from course.scenarios import Person
from memlab import clock
from memlab.embedding import STOPWORDS, words
from memlab.engine.blocks import Floats, Matches
from memlab.records import MemoryRecord

Reached = tuple[float, float]
"""Recall@k and MRR."""

Measured = Mapping[Mix, Reached]
"""What each mix of weights reaches."""

STANDARD = Mix()

KeywordScores = Callable[[str, Sequence[str]], Floats]
HybridRelevance = Callable[[Floats, Floats], Floats]

# --- Columns by hand ---------------------------------------------------------------------------------


def columns(
    relevance: Sequence[float],
    importance: Sequence[float],
    age_days: Sequence[float],
    half_life_days: Sequence[float],
) -> Matches:
    """`Matches` as a store would give them, from numbers; they have no records behind them."""
    return Matches(
        np.arange(len(relevance)),
        np.array(relevance, np.float64),
        np.array(importance, np.float64),
        np.array(half_life_days, np.float64),
        np.array(age_days, np.float64),
        load=lambda _: {},
        read=dict,
    )


# --- The checks: one ranking -------------------------------------------------------------------------

AGEING = "Recency is 1 at age 0, one half after one half-life, a quarter after two: `recency(matches)`."


@exercise("05-blended")
def _(case: Cases, blended_score: Function) -> None:
    fresh = columns([0.5], [0.0], [0], [10])
    case(
        "relevance is weighted",
        blended_score,
        fresh,
        Mix(0.6, 0.0, 0.0),
        expect=[0.3],
        given="relevance 0.5; weights 0.6, 0, 0",
        otherwise="Weight times part, for each of the three parts, and then the sum.",
        mistakes=[
            ([1.5], "Each part is multiplied by its weight before you add."),
            ([0.5], "You divided by the sum of the weights: weight times part, and no more."),
            ([0.0], "You multiplied the three parts: one part of 0 must not wipe out the others."),
            (None, "Nothing came back: does your last line say `return`?"),
            (lambda got: not np.ndim(got), "One score for each memory is wanted: an array, not a number."),
        ],
    )
    old = columns([0.0], [0.0], [20], [10])
    case(
        "recency halves with every half-life",
        blended_score,
        old,
        Mix(0.0, 1.0, 0.0),
        expect=[0.25],
        given="age 20 days, half-life 10 days; weights 0, 1, 0",
        otherwise=AGEING,
        mistakes=[
            ([20.0], "You weighted the age itself, so the oldest memory wins. " + AGEING),
            (
                [math.exp(-2)],
                "That is e to the power of minus two: a half-life halves, 2 ** -(age / half-life).",
            ),
            ([2.0], "You divided age by half-life and stopped there. " + AGEING),
            ([4.0], "The sign is lost: your memories grow fresher with age."),
        ],
    )
    case(
        "weights need not sum to 1",
        blended_score,
        columns([1.0], [0.5], [0], [10]),
        Mix(2.0, 0.0, 1.0),
        expect=[2.5],
        given="relevance 1, importance 0.5; weights 2, 0, 1",
        otherwise="Importance has its own weight, whatever the other two are.",
        mistakes=[
            ([2.5 / 3], "You divided by the sum of the weights: that is nobody's business here."),
            ([1.0], "You cut the score off at 1: two good memories would come out the same."),
        ],
    )
    case(
        "each memory has its own half-life",
        blended_score,
        columns([0.4, 0.0], [0.5, 1.0], [30, 30], [30, 60]),
        Mix(0.5, 0.2, 0.3),
        expect=[0.45, 0.2 * 0.5**0.5 + 0.3],
        given="two memories of 30 days, half-lives of 30 and 60 days; weights 0.5, 0.2, 0.3",
        otherwise="The parts are right, the whole is not: work on the columns, entry by entry.",
    )
    case(
        "no memories, no scores",
        blended_score,
        columns([], [], [], []),
        Mix(),
        expect=[],
        given="no memories",
        otherwise="An owner without memories has an empty array of scores.",
    )
    got = blended_score(fresh, Mix())
    case.holds(
        "an array comes back",
        isinstance(got, np.ndarray),
        "The numbers are right, but no array: section 2 picks entries out of it by a whole column.",
        given="one memory",
        expected=Shown("a numpy array"),
        got=got,
    )
    case.holds(
        "the columns stay as they were",
        fresh.relevance.tolist() == [0.5] and old.age_days.tolist() == [20.0],
        "You changed a column in place: `*=` and `+=` write into the memories' own numbers.",
        given="relevance 0.5 before the call",
        expected=[0.5],
        got=fresh.relevance,
    )


@exercise("05-top-k")
def _(case: Cases, top_k: Function) -> None:
    case(
        "the best stand first",
        top_k,
        np.array([0.2, 0.9, 0.5]),
        2,
        expect=[1, 2],
        otherwise="Positions of the k highest scores, the highest first.",
        mistakes=[
            ([0, 2], "That is the lowest first: `argsort` sorts upwards, so sort the negated scores."),
            ([0.9, 0.5], "Those are the scores; their positions are wanted."),
            ([2, 1], "The right two, in the wrong order: `argpartition` does not sort what it finds."),
        ],
    )
    case(
        "equal scores keep their order",
        top_k,
        np.array([0.5, 0.5, 0.9]),
        3,
        expect=[2, 0, 1],
        otherwise="Of two equal scores the earlier position stands first.",
        mistakes=[([2, 1, 0], "`[::-1]` turns equal scores round: sort the negated ones, `kind='stable'`.")],
    )
    tied = np.tile([0.5, 0.2, 0.5, 0.9], 25)
    ranking = sorted(range(100), key=lambda at: -tied[at])
    case(
        "however many they are",
        top_k,
        tied,
        100,
        expect=ranking,
        given="25 times 0.5, 0.2, 0.5, 0.9; k=100",
        otherwise="A few equal scores keep their order by chance, many do not: sort with `kind='stable'`.",
    )
    case(
        "a tie at the edge goes to the earlier",
        top_k,
        tied,
        30,
        expect=ranking[:30],
        given="25 times 0.5, 0.2, 0.5, 0.9; k=30",
        otherwise="`argpartition` takes any of the equal ones, which differs by machine. Take the first.",
    )
    case(
        "noise in the last bits is no difference",
        top_k,
        np.array([0.3, 0.3 + 1e-9]),
        2,
        expect=[0, 1],
        otherwise="Round to six decimals first: two machines differ in the last bits of a matrix product.",
    )
    case(
        "a k of 0 brings nothing",
        top_k,
        np.array([0.2, 0.9]),
        0,
        expect=[],
        otherwise="No places, no positions: `[-0:]` is the whole list.",
    )
    case(
        "a k beyond the end brings all",
        top_k,
        np.array([0.2, 0.9]),
        5,
        expect=[1, 0],
        otherwise="Two scores and k=5 give two positions.",
    )
    case("no scores, no positions", top_k, np.array([]), 3, expect=[], otherwise="Nothing in, nothing out.")


@exercise("05-pins")
def _(case: Cases, pins_first: Function) -> None:
    scores, importance = np.array([0.9, 0.1, 0.8, 0.7]), np.array([0.5, 1.0, 0.5, 0.5])
    case(
        "the pin stands first and takes no place",
        pins_first,
        scores,
        importance,
        2,
        expect=[1, 0, 2],
        given="scores 0.9, 0.1, 0.8, 0.7; the second is a pin; k=2",
        otherwise="All pins first, then the k best of the others.",
        mistakes=[
            ([0, 2], "The pin is not there: it had to win its place, which is what a pin need not do."),
            ([1, 0], "The pin took one of the k places: it costs none."),
            ([0, 2, 1], "The pin is there, but last: what is cut off later is the end."),
            (
                lambda got: len(set(got)) < len(got),
                "A memory stands twice: rank only those that are no pins.",
            ),
            ([1, 0, 2, 3], "You brought everything back: after the pins, k others."),
        ],
    )
    case(
        "a pin that scores best stands once",
        pins_first,
        np.array([0.9, 0.8]),
        np.array([1.0, 0.5]),
        2,
        expect=[0, 1],
        given="scores 0.9, 0.8; the first is a pin; k=2",
        otherwise="The pin must not be ranked a second time among the others.",
    )
    case(
        "several pins, the best first",
        pins_first,
        np.array([0.1, 0.9, 0.5]),
        np.array([1.0, 0.2, 1.0]),
        1,
        expect=[2, 0, 1],
        given="scores 0.1, 0.9, 0.5; first and last are pins; k=1",
        otherwise="Order the pins among themselves by score.",
        mistakes=[([0, 2, 1], "The pins came in the order of the store: let `top_k` order them too.")],
    )
    case(
        "almost important is not pinned",
        pins_first,
        np.array([0.9, 0.1]),
        np.array([0.2, 0.99]),
        1,
        expect=[0],
        given="scores 0.9, 0.1; importance 0.2, 0.99; k=1",
        otherwise="A pin is a decision that somebody took: importance PINNED or more, not merely high.",
    )
    case(
        "with no places there are still the pins",
        pins_first,
        scores,
        importance,
        0,
        expect=[1],
        given="the first case with k=0",
        otherwise="k counts the others only; the pins come back whatever k is.",
    )
    case(
        "no pins, plain top-k",
        pins_first,
        np.array([0.2, 0.9]),
        np.array([0.5, 0.5]),
        1,
        expect=[1],
        given="scores 0.2, 0.9; no pins; k=1",
        otherwise="Without pins the k best are left.",
    )


# --- The checks: measuring ---------------------------------------------------------------------------


@exercise("05-recall")
def _(case: Cases, recall_at_k: Function) -> None:
    case(
        "one of one is found",
        recall_at_k,
        ["a", "b", "c"],
        {"a"},
        2,
        expect=1.0,
        otherwise="The only relevant memory is among the first two: everything was found.",
        mistakes=[
            (0.5, "You divided by k: that is precision, the share of what came back that was relevant."),
            (1, "A share is a float: 1.0."),
        ],
    )
    case(
        "what stands beyond k does not count",
        recall_at_k,
        ["a", "b", "c"],
        {"c"},
        2,
        expect=0.0,
        otherwise="The only relevant memory stands in place 3, and k is 2: it was not found.",
        mistakes=[(1.0, "You looked at the whole ranking: cut it at k.")],
    )
    case(
        "half of what is relevant is half",
        recall_at_k,
        ["a", "b", "c", "d"],
        {"a", "d"},
        3,
        expect=0.5,
        otherwise="Two are relevant, one of them is among the first three.",
        mistakes=[
            (1.0, "One hit is not all: divide by how many are relevant."),
            (1 / 3, "You divided by k: that is precision."),
            (1 / 4, "You divided by the length of the ranking."),
        ],
    )
    case(
        "three wanted, one place",
        recall_at_k,
        ["a", "b", "c"],
        {"a", "b", "c"},
        1,
        expect=1 / 3,
        otherwise="Divide by all that is relevant, even where k leaves no room for it.",
        mistakes=[(1.0, "You divided by min(k, relevant), which hides that two of three stayed away.")],
    )
    case(
        "a list with a repeated id is a set",
        recall_at_k,
        ["a", "b"],
        ["a", "a", "z"],
        2,
        expect=0.5,
        otherwise="`relevant` may be any collection, and an id counts once.",
    )
    case.refuses(
        "nothing relevant has no recall",
        recall_at_k,
        ["a"],
        set(),
        1,
        mentions="relevant",
        otherwise="0 of 0 is neither 0 nor 1: raise a ValueError that names `relevant`.",
    )
    case.refuses(
        "a k of 0 is refused",
        recall_at_k,
        ["a"],
        {"a"},
        0,
        mentions="k",
        otherwise="Keep the scaffold's lines: recall at k=0 is refused.",
    )


@exercise("05-mrr")
def _(case: Cases, mean_reciprocal_rank: Function) -> None:
    case(
        "second place is one half",
        mean_reciprocal_rank,
        [["a", "b", "c"]],
        [{"b"}],
        expect=0.5,
        otherwise="The first relevant id stands in place 2, and 1/2 is 0.5.",
        mistakes=[
            (1.0, "You counted places from 0: the first place is 1."),
            (1 / 3, "Places count from 1: the second place gives 1/2."),
            (2.0, "That is the place itself: take 1 / place."),
        ],
    )
    case(
        "the first relevant one decides",
        mean_reciprocal_rank,
        [["a", "b", "c"]],
        [{"b", "c"}],
        expect=0.5,
        otherwise="Two are relevant: only the better placed counts.",
        mistakes=[
            (
                1 / 2 + 1 / 3,
                "You added up all relevant ids: only the first one counts, recall sees the others.",
            ),
            (1 / 3, "You took the last relevant id: the user reads from the top."),
            ((1 / 2 + 1 / 3) / 2, "You took the mean over the relevant ids: only the first one counts."),
        ],
    )
    case(
        "a mean over the questions",
        mean_reciprocal_rank,
        [["a", "b"], ["a", "b"]],
        [{"a"}, {"b"}],
        expect=0.75,
        otherwise="(1 + 1/2) / 2.",
        mistakes=[
            (1.5, "That is the sum: divide by the number of questions."),
            (2 / 3, "You inverted the mean place: take the mean of the inverted places."),
        ],
    )
    case(
        "what never came back counts as 0",
        mean_reciprocal_rank,
        [["a", "b"], ["a", "b"]],
        [{"a"}, {"z"}],
        expect=0.5,
        otherwise="One question is answered in first place, one not at all: (1 + 0) / 2.",
        mistakes=[(1.0, "You left out the question that was not answered, which flatters the mean.")],
    )
    case.refuses(
        "one ranking for each question",
        mean_reciprocal_rank,
        [["a"], ["b"]],
        [{"a"}],
        otherwise="Two rankings, one set of relevant ids: `zip` would drop one silently. Raise a ValueError.",
    )
    case.refuses(
        "no questions, no mean",
        mean_reciprocal_rank,
        [],
        [],
        otherwise="The mean of nothing is undefined: raise a ValueError, not a ZeroDivisionError.",
    )


# --- The checks: keywords ----------------------------------------------------------------------------

K1, B = 1.2, 0.75


def bm25(query: str, texts: Sequence[str], *, k1: float = K1, b: float = B, rare: bool = True) -> list[float]:
    """The specification of BM25: the plain, slow loop, one text and one word at a time.

    Example:
    >>> [round(score, 2) for score in bm25("peanut", ["Peanut.", "Likes tea."])]
    [0.8, 0.0]
    """
    documents = [[word for word in words(text) if word not in STOPWORDS] for text in texts]
    average = sum(map(len, documents)) / max(1, len(documents))
    scores = []
    for document in documents:
        score = 0.0
        for word in {word for word in words(query) if word not in STOPWORDS}:
            holding = sum(word in other for other in documents)
            rarity = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5)) if rare else 1.0
            count = document.count(word)
            if count:
                length = 1 - b + b * len(document) / average
                score += rarity * count * (k1 + 1) / (count + k1 * length)
        scores.append(score)
    return scores


@exercise("05-bm25")
def _(case: Cases, keyword_scores: Function) -> None:
    case(
        "no word in common, no score",
        keyword_scores,
        "lunch",
        ["Likes tea.", "Likes coffee."],
        expect=[0.0, 0.0],
        otherwise="A text that shares no word with the query scores 0.",
    )
    texts = ["Wants a birthday card.", "Drives a red car.", "Likes tea."]
    got = [float(score) for score in keyword_scores("car", texts)]
    case.holds(
        "a word is a word, not a run of letters",
        got[0] == got[2] == 0 < abs(got[1]),
        "`car` was found inside `card`: count in the list of keywords, not in the text."
        if got[0]
        else "Only the text that holds the word itself has a score.",
        given=f"keyword_scores('car', {texts})",
        expected=bm25("car", texts),
        got=got,
    )
    _saturating(keyword_scores, case)
    _weighing(case, keyword_scores)
    _counting(case, keyword_scores)
    case(
        "stop words say nothing",
        keyword_scores,
        "the user",
        ["The user likes tea.", "Tea is fine."],
        expect=[0.0, 0.0],
        otherwise="`the` and `user` stand everywhere: let `keywords` drop them, on both sides.",
    )
    case(
        "a word asked twice counts once",
        keyword_scores,
        "tea, tea!",
        ["Likes tea.", "Likes coffee."],
        expect=bm25("tea", ["Likes tea.", "Likes coffee."]),
        otherwise="Walk over the distinct words of the query.",
        mistakes=[(lambda got: got[0] > 1, "A word that is asked twice counted twice.")],
    )
    case(
        "texts without a keyword do no harm",
        keyword_scores,
        "tea",
        ["the user", ""],
        expect=[0.0, 0.0],
        otherwise="All texts are empty, so their mean length is 0: nothing may be divided by it.",
        mistakes=[
            (lambda got: any(value != value for value in got), "0 / 0 is no number: guard the mean length.")
        ],
    )
    case(
        "no texts, no scores", keyword_scores, "tea", [], expect=[], otherwise="No texts give an empty array."
    )


def _weighing(case: Cases, keyword_scores: Function) -> None:
    texts = ["Allergy to peanut.", "Likes peanut bars.", "Likes tea."]
    query = "peanut allergy"
    case(
        "a rare word weighs more",
        keyword_scores,
        query,
        texts,
        expect=bm25(query, texts),
        otherwise="`log(1 + (N - n + 0.5) / (n + 0.5))` for each word, times "
        "`count * (k1 + 1) / (count + k1 * length)`.",
        mistakes=[
            (bm25(query, texts, rare=False), "Every word weighs the same: `allergy` is rarer than `peanut`."),
            (bm25(query, texts, b=0.0), "The length of the texts does not count: where is `b`?"),
            (lambda got: min(got) < 0, "A score is below 0: the 1 inside the logarithm is missing."),
            (
                [score / (K1 + 1) for score in bm25(query, texts)],
                "The factor `k1 + 1` is missing: then no count of 1 gets its word's full weight.",
            ),
            (
                [score / math.log(10) for score in bm25(query, texts)],
                "That is the logarithm to base 10: take the natural one.",
            ),
        ],
    )


def _saturating(keyword_scores: Function, case: Cases) -> None:
    texts = ["Tea, tea, tea, tea.", "Likes tea very much.", "Likes coffee with milk."]
    often, once, _ = (float(score) for score in keyword_scores("tea", texts))
    wanted = 4 * (K1 + 1) / (4 + K1)
    case.holds(
        "the fourth mention adds little",
        math.isclose(often, wanted * once, rel_tol=1e-6),
        "A second mention adds something: use the count, not merely `in`."
        if often == once
        else "Four mentions gave four times the score: let the count saturate, above and below the line.",
        given=f"keyword_scores('tea', {texts})",
        expected=bm25("tea", texts),
        got=[often, once, 0.0],
    )


def _counting(case: Cases, keyword_scores: Function) -> None:
    texts = ["Tea, tea, tea, tea.", "Likes tea very much.", "Likes coffee with milk."]
    case(
        "rarity counts texts, not mentions",
        keyword_scores,
        "tea",
        texts,
        expect=bm25("tea", texts),
        otherwise="n is the number of *texts* that hold the word, however often each of them says it.",
    )
    texts = ["Likes tea.", "Likes coffee.", ""]
    case(
        "a text without a keyword counts in the mean",
        keyword_scores,
        "tea",
        texts,
        expect=bm25("tea", texts),
        otherwise="The mean length is that of all texts, and the third has one as well: 0.",
    )


@exercise("05-hybrid")
def _(case: Cases, hybrid_relevance: Function) -> None:
    cosines = np.array([0.6, 0.6])
    case(
        "the best keyword match gains its share",
        hybrid_relevance,
        cosines,
        np.array([4.0, 0.0]),
        share=0.5,
        expect=[1.1 / 1.5, 0.4],
        otherwise="Cosine plus share times the keyword score over its maximum, all divided by 1 + share.",
        mistakes=[
            ([2.6 / 1.5, 0.4], "BM25 has no upper end: divide it by its maximum before you add."),
            ([2.6, 0.6], "BM25 has no upper end: divide it by its maximum before you add."),
            (
                [1.1, 0.6],
                "The sum can pass 1, and then relevance outweighs the other parts: divide by 1 + share.",
            ),
            (
                [0.8, 0.3],
                "You took share of one and 1 - share of the other: here the cosine keeps its full weight.",
            ),
        ],
    )
    case(
        "no keyword, no difference",
        hybrid_relevance,
        cosines,
        np.zeros(2),
        share=0.5,
        expect=[0.4, 0.4],
        otherwise="Without a keyword match the order of the cosines stays.",
        mistakes=[
            (
                [0.6, 0.6],
                "Without a match, divide by 1 + share too: or relevance would weigh more in just those "
                "questions.",
            ),
            (
                lambda got: any(value != value for value in got),
                "0 / 0 is no number: no match has no maximum to divide by.",
            ),
        ],
    )
    case(
        "a share of 0 is the cosine",
        hybrid_relevance,
        np.array([0.2, 0.9]),
        np.array([3.0, 1.0]),
        share=0.0,
        expect=[0.2, 0.9],
        otherwise="With share=0 keywords must not count.",
        mistakes=[([0.7 / 1.5, (0.9 + 0.5 / 3) / 1.5], "You ignore `share`.")],
    )
    case(
        "the standard share is a half",
        hybrid_relevance,
        np.array([0.0, 0.4]),
        np.array([2.0, 1.0]),
        expect=[1 / 3, 0.65 / 1.5],
        otherwise="Keep the signature's default, KEYWORD_SHARE.",
    )
    case(
        "no memories, no relevance",
        hybrid_relevance,
        np.array([]),
        np.array([]),
        expect=[],
        otherwise="An owner without memories: `max` of an empty array needs `initial=0.0`.",
    )


# --- Measuring ---------------------------------------------------------------------------------------


def weight_grid(steps: int = 10) -> list[Mix]:
    """All weights in steps of 1/steps that sum to 1.

    Example:
    >>> len(weight_grid(2)), weight_grid(2)[1]
    (6, Mix(relevance=0.5, recency=0.5, importance=0.0))
    """
    return [
        Mix((steps - recency - importance) / steps, recency / steps, importance / steps)
        for importance in range(steps + 1)
        for recency in range(steps + 1 - importance)
    ]


def measured(bench: Bench, embedder: str, *, k: int = 3, steps: int = 10) -> Measured:
    """Recall@k and MRR on the bench for the standard weights and every mix of `weight_grid(steps)`."""
    return {mix: metrics(bench, Setting(embedder, mix, k)) for mix in [STANDARD, *weight_grid(steps)]}


def best_mix(reached: Measured) -> Mix:
    """The weights with the highest recall, of equal ones those with the highest MRR.

    Example:
    >>> best_mix({Mix(1, 0, 0): (0.5, 0.4), Mix(0, 1, 0): (0.5, 0.3)})
    Mix(relevance=1, recency=0, importance=0)
    """
    return max(reached, key=lambda mix: tuple(round(value, 6) for value in reached[mix]))


def per_question(bench: Bench, setting: Setting) -> dict[str, Reached]:
    """Recall@k and 1 / place of the first relevant memory, for each question that has an answer."""
    return {
        owner.questions[row]: metrics(replace(bench, owners=[_only(owner, row)]), setting)
        for owner, row in bench.asked()
        if owner.relevant[row].any()
    }


def _only(owner: Owner, row: int) -> Owner:
    cosines = {name: values[[row]] for name, values in owner.cosines.items()}
    return replace(owner, questions=[owner.questions[row]], relevant=owner.relevant[[row]], cosines=cosines)


def with_keywords(bench: Bench, keyword_scores: KeywordScores, hybrid_relevance: HybridRelevance) -> Bench:
    """The bench with further relevances to choose where an embedder is chosen.

    They are "BM25", over its maximum, and "X + BM25" for every embedder X, fused by `hybrid_relevance`.
    """
    return replace(bench, owners=[_with(owner, keyword_scores, hybrid_relevance) for owner in bench.owners])


def _with(owner: Owner, keyword_scores: KeywordScores, fused: HybridRelevance) -> Owner:
    by_keyword = np.array([keyword_scores(question, owner.contents) for question in owner.questions])
    tops = by_keyword.max(axis=1, keepdims=True)
    added = {"BM25": by_keyword / np.where(tops > 0, tops, 1.0)}
    for name, cosines in owner.cosines.items():
        rows = zip(cosines, by_keyword, strict=True)
        added[f"{name} + BM25"] = np.array([fused(cosine, keyword) for cosine, keyword in rows])
    return replace(owner, cosines={**owner.cosines, **added})


@dataclass(frozen=True)
class Gain:
    """What one setting has over another: the mean over the questions, how sure that is, and each person's.

    low, high: the middle 95 % of the means of questions drawn anew.
    """

    mean: float
    low: float
    high: float
    by_person: Mapping[str, float]


def gain(bench: Bench, before: Setting, after: Setting, *, draws: int = 5000) -> Gain:
    """How much recall@k rises from `before` to `after`, question by question (a paired bootstrap).

    The draws are the same on every run.
    """
    old, new = (per_question(bench, setting) for setting in (before, after))
    rises = {question: new[question][0] - old[question][0] for question in old}
    values = np.array(list(rises.values()))
    drawn = np.random.default_rng(5).integers(len(values), size=(draws, len(values)))
    low, high = np.percentile(values[drawn].mean(axis=1), [2.5, 97.5])
    people: dict[str, list[float]] = {}
    for question, rise in rises.items():
        people.setdefault(bench.find(question)[0].name, []).append(rise)
    by_person = {name: float(np.mean(some)) for name, some in people.items()}
    return Gain(float(values.mean()), float(low), float(high), by_person)


# --- Tables ------------------------------------------------------------------------------------------


def ranking_table(
    contents: Sequence[str], scores: Sequence[float] | Floats, positions: Iterable[int]
) -> Table:
    """The memories at `positions`, in that order, with their scores."""
    rows = [[place, contents[at], float(scores[at])] for place, at in enumerate(map(int, positions), start=1)]
    return Table(["", "memory", "score"], rows)


def kinds_table(bench: Bench, people: Iterable[Person], settings: Mapping[str, Setting]) -> Table:
    """Mean recall@k for each kind of question, one column a setting; the best of each row is marked.

    settings: all of them with the same k.
    """
    kinds = {asked.text: asked.kind for person in people for asked in person.questions}
    reached = {name: per_question(bench, setting) for name, setting in settings.items()}
    questions = next(iter(reached.values()))
    [k] = {setting.k for setting in settings.values()}
    rows: list[list[object]] = []
    for kind in dict.fromkeys(kinds[question] for question in questions):
        some = [question for question in questions if kinds[question] == kind]
        means = [float(np.mean([of[question][0] for question in some])) for of in reached.values()]
        rows.append([kind, len(some), *means])
    return Table([f"recall@{k} by kind of question", "questions", *settings], rows, best=True)


def parts_table(
    bench: Bench, question: str, shared: Callable[[str], Collection[str]], names: Sequence[str], top: int = 4
) -> Table:
    """A question's memories, best first by the last of `names`: the words in common, and each relevance."""
    owner, row = bench.find(question)
    asked = shared(question)
    order = np.argsort(-owner.cosines[names[-1]][row], kind="stable")
    wanted = [at for at in order[top:] if owner.relevant[row, at]]
    rows: list[list[object]] = [
        [
            ("★ " if owner.relevant[row, at] else "") + owner.contents[at],
            " ".join(word for word in dict.fromkeys(asked) if word in shared(owner.contents[at])) or "none",
            *(float(owner.cosines[name][row, at]) for name in names),
        ]
        for at in [*order[:top], *wanted]
    ]
    return Table([f"“{question}”", "words in common", *names], rows)


def as_records(
    contents: Mapping[str, tuple[float, float]], user_id: str, **fields: Any
) -> list[MemoryRecord]:
    """Records from content → (age in days, importance); `fields` are those of every record.

    Example:
    >>> [record] = as_records({"Likes tea.": (7, 0.5)}, "u_bo")
    >>> round(record.age_days()), record.importance
    (7, 0.5)
    """
    records = []
    for content, (days, importance) in contents.items():
        at = clock.now() - days * clock.DAY
        known = fields | {"importance": importance, "created_at": at, "updated_at": at}
        records.append(MemoryRecord(content, user_id, **known))
    return records


# --- Pictures ----------------------------------------------------------------------------------------

HEIGHT = math.sqrt(3) / 2
"""Of a triangle whose sides are 1 long."""


def weights_map(maps: Mapping[str, Measured]) -> Picture:
    """Recall for all weights as a triangle, one for each embedder; a corner is one part alone.

    ★ marks the best weights, ○ the standard ones.
    """
    figure = new_figure(5.4 * len(maps), 4.7)
    told = []
    for axes, (name, reached) in zip(
        figure.subplots(1, len(maps), squeeze=False)[0], maps.items(), strict=True
    ):
        x, y = _corners([mix for mix in reached if mix != STANDARD])
        recalls = [recall for mix, (recall, _) in reached.items() if mix != STANDARD]
        best = best_mix(reached)
        floor = reached[best][0] - 0.25  # or the dark corners would take all the colours
        shown = axes.scatter(x, y, c=recalls, cmap="cividis", marker="h", s=340, linewidths=0, vmin=floor)
        figure.colorbar(shown, ax=axes, shrink=0.75, label="recall", extend="min")
        for mix, mark, size in ((best, "*", 260), (STANDARD, "o", 120)):
            face = "none" if mark == "o" else "white"
            axes.scatter(
                *_corners([mix]), marker=mark, s=size, facecolors=face, edgecolors=ORANGE, linewidths=2
            )
        _name_corners(axes)
        axes.set_title(f"{name}: ★ best {reached[best][0]:.3f} at {_three(best)}", fontsize=11)
        told.append(f"{name} best {reached[best][0]:.3f} at {_three(best)}, lowest {min(recalls):.3f}")
    return as_picture(figure, f"Recall for all weights (relevance, recency, importance). {'; '.join(told)}.")


def transfer_picture(parts: Mapping[str, tuple[Measured, Measured]]) -> Picture:
    """Each mix of weights as a dot: its recall on the part to tune on, and on the part held out.

    parts: for each embedder both measurements. ★ is the best of the left part, ○ the standard weights.
    """
    figure = new_figure(5.0 * len(parts), 4.2)
    told = []
    for axes, (name, (tune, held)) in zip(
        figure.subplots(1, len(parts), squeeze=False)[0], parts.items(), strict=True
    ):
        axes.scatter([tune[m][0] for m in tune], [held[m][0] for m in tune], color=BLUE, alpha=0.45, s=28)
        best = best_mix(tune)
        at = {"best on the tuning part": (best, "*", ORANGE, 240)}
        at["standard"] = (STANDARD, "o", GREEN, 110)
        at["relevance alone"] = (Mix(1.0, 0.0, 0.0), "s", AMBER, 80)
        for label, (mix, mark, colour, size) in at.items():
            axes.scatter(
                tune[mix][0],
                held[mix][0],
                marker=mark,
                color=colour,
                edgecolors="black",
                s=size,
                label=label,
                zorder=3,
            )
        axes.set_title(name, fontsize=11)
        axes.set_xlabel("recall, part to tune on")
        axes.set_ylabel("recall, held-out part")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=9)
        told.append(f"{name}: best on the tuning part {tune[best][0]:.3f}, held out {held[best][0]:.3f}")
    return as_picture(figure, f"One dot for each mix of weights. {'; '.join(told)}.")


def gains_picture(gains: Mapping[str, Gain]) -> Picture:
    """Each gain as its mean with the middle 95 % of redrawn means, and one small dot for each person."""
    figure = new_figure(8.5, 0.62 * len(gains) + 1.1)
    axes = figure.add_subplot()
    for place, one in enumerate(gains.values()):
        axes.plot(
            [one.low, one.high], [place, place], color=BLUE, linewidth=5, solid_capstyle="butt", alpha=0.5
        )
        axes.scatter(one.mean, place, color=BLUE, marker="D", s=60, zorder=3)
        people = list(one.by_person.values())
        axes.scatter(people, [place + 0.27] * len(people), color=ORANGE, marker="|", s=110, linewidths=2)
        axes.text(one.mean, place - 0.2, f"{one.mean:+.3f}", ha="center", va="bottom", fontsize=10)
    axes.axvline(0, color=GREY, linewidth=1.2)
    axes.set_yticks(range(len(gains)), list(gains), fontsize=10)
    axes.set_ylim(len(gains) - 0.4, -0.75)
    axes.set_xlabel(
        "change of recall    ◆ mean, band: 95 % of redrawn means    | one person", loc="left", fontsize=9
    )
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    told = [f"{name} {one.mean:+.3f} ({one.low:+.3f} to {one.high:+.3f})" for name, one in gains.items()]
    return as_picture(figure, f"Change of recall. {'; '.join(told)}.")


def share_curve(curves: Mapping[str, Mapping[float, Reached]]) -> Picture:
    """Recall and MRR against the share that keywords get, one line for each embedder."""
    figure = new_figure(9.5, 3.4)
    styles = ((BLUE, "o", "-"), (ORANGE, "s", "--"), (GREEN, "^", ":"))
    for axes, (at, measure) in zip(figure.subplots(1, 2), enumerate(("recall", "MRR")), strict=True):
        for (name, curve), (colour, mark, style) in zip(curves.items(), styles, strict=False):
            values = [reached[at] for reached in curve.values()]
            axes.plot(
                list(curve), values, color=colour, marker=mark, linestyle=style, linewidth=2, label=name
            )
        axes.set_ylim(top=1.0)
        axes.set_xlabel("share of the keywords", loc="left")
        axes.set_ylabel(measure)
        axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    told = [
        f"{name}: "
        + ", ".join(f"{share:g} → {recall:.3f}/{mrr:.3f}" for share, (recall, mrr) in curve.items())
        for name, curve in curves.items()
    ]
    return as_picture(figure, f"Recall/MRR by share of the keywords. {'; '.join(told)}.")


def _corners(mixes: Sequence[Mix]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Where weights stand in a triangle: recency lower left, importance lower right, relevance on top."""
    shares = np.array([(mix.relevance, mix.recency, mix.importance) for mix in mixes])
    shares = shares / shares.sum(axis=1, keepdims=True)
    return shares[:, 2] + shares[:, 0] / 2, shares[:, 0] * HEIGHT


def _name_corners(axes: Any) -> None:
    axes.text(0.5, HEIGHT + 0.07, "relevance alone", ha="center", fontsize=10)
    axes.text(0.0, -0.13, "recency alone", ha="center", fontsize=10)
    axes.text(1.0, -0.13, "importance alone", ha="center", fontsize=10)
    axes.set_xlim(-0.25, 1.25)
    axes.set_ylim(-0.18, HEIGHT + 0.14)
    axes.set_aspect("equal")
    axes.axis("off")


def _three(mix: Mix) -> str:
    return f"({mix.relevance:g}, {mix.recency:g}, {mix.importance:g})"
