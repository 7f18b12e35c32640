"""Lesson 05, retrieval: the checks of its exercises; its demos measure by `retrieval_measures`.

The checks compare with plain specifications written here; they never import the answers.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from course.check import Cases, Function, Shown, call, exercise, refused, same, shown
from course.pictures.tuning import Mix
from memlab import clock
from memlab.embedding import STOPWORDS, words
from memlab.engine.blocks import Matches
from memlab.records import MemoryRecord
from memlab.store import MemoryStore

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
FRESH, OLD = columns([0.5], [0.0], [0], [10]), columns([0.0], [0.0], [20], [10])

# what holds, the call, what comes back, the sentence for who gets it wrong, and known mistakes
# fmt: off
BLENDED = [
    ("relevance is weighted", call(FRESH, Mix(0.6, 0.0, 0.0)), [0.3],
     "Weight times part, for each of the three parts, and then the sum.",
     ([1.5], "Each part is multiplied by its weight before you add."),
     ([0.5], "You divided by the sum of the weights: weight times part, and no more."),
     ([0.0], "You multiplied the three parts: one part of 0 must not wipe out the others."),
     (None, "Nothing came back: does your last line say `return`?"),
     (lambda got: not np.ndim(got), "One score for each memory is wanted: an array, not a number.")),
    ("recency halves with every half-life", call(OLD, Mix(0.0, 1.0, 0.0)), [0.25], AGEING,
     ([20.0], "You weighted the age itself, so the oldest memory wins. " + AGEING),
     ([math.exp(-2)], "That is e to the power of minus two: a half-life halves, 2 ** -(age / half-life)."),
     ([2.0], "You divided age by half-life and stopped there. " + AGEING),
     ([4.0], "The sign is lost: your memories grow fresher with age."),
     ([0.0], "Recency has the weight of another part: `weights.recency` belongs to `recency(matches)`.")),
    ("weights need not sum to 1", call(columns([1.0], [0.5], [0], [10]), Mix(2.0, 0.0, 1.0)), [2.5],
     "Importance has its own weight, whatever the other two are.",
     ([2.5 / 3], "You divided by the sum of the weights: that is nobody's business here."),
     ([1.0], "You cut the score off at 1: two good memories would come out the same.")),
    ("each memory has its own half-life",
     call(columns([0.4, 0.0], [0.5, 1.0], [30, 30], [30, 60]), Mix(0.5, 0.2, 0.3)),
     [0.45, 0.2 * 0.5**0.5 + 0.3],
     "The parts are right, the whole is not: work on the columns, entry by entry."),
    ("no memories, no scores", call(columns([], [], [], []), Mix()), [],
     "An owner without memories has an empty array of scores."),
]
# fmt: on


def _in_columns(matches: Matches, weights: Mix) -> str:
    """What a row gives to `blended_score`, in words."""
    named = ("relevance", "importance", "age_days", "half_life_days")
    parts = [f"{name} {getattr(matches, name).tolist()}" for name in named]
    return f"{', '.join(parts)}; weights {weights.relevance:g}, {weights.recency:g}, {weights.importance:g}"


@exercise("05-blended")
def _(case: Cases, blended_score: Function) -> None:
    case.table(blended_score, BLENDED, _in_columns)
    one = columns([0.5], [0.3], [20], [10])
    before = {name: values.tolist() for name, values in vars(one).items() if isinstance(values, np.ndarray)}
    got = blended_score(one, Mix())
    case.holds(
        "an array comes back", isinstance(got, np.ndarray),
        "The numbers are right, but no array: section 2 picks entries out of it by a whole column.",
        given="one memory", expected=Shown("a numpy array"), got=got,
    )  # fmt: skip
    after = {name: getattr(one, name).tolist() for name in before}
    case.holds(
        "the columns stay as they were", after == before,
        "You changed a column in place: `*=` and `+=` write into the memories' own numbers.",
        given=_in_columns(columns([0.5], [0.3], [20], [10]), Mix()), expected=before, got=after,
    )  # fmt: skip


TIED = np.tile([0.5, 0.2, 0.5, 0.9], 25)
RANKING = sorted(range(100), key=lambda at: -TIED[at])

# fmt: off
TOP_K = [
    ("the best stand first", call(np.array([0.2, 0.9, 0.5]), 2), [1, 2],
     "Positions of the k highest scores, the highest first.",
     ([0, 2], "That is the lowest first: `argsort` sorts upwards, so sort the negated scores."),
     ([0.9, 0.5], "Those are the scores; their positions are wanted."),
     ([2, 1], "The right two, in the wrong order: `argpartition` does not sort what it finds."),
     ([1, 2, 0], "All of them came back: cut at k."),
     ([0, 1], "Those count within the scores that you picked: map them back, `positions[…]`."),
     ([1], "The k-th score itself belongs in: `>=`, not `>`.")),
    ("equal scores keep their order", call(np.array([0.5, 0.5, 0.9]), 3), [2, 0, 1],
     "Of two equal scores the earlier position stands first.",
     ([2, 1, 0], "`[::-1]` turns equal scores round: sort the negated ones, `kind='stable'`.")),
    ("however many they are", call(TIED, 100), RANKING,
     "A few equal scores keep their order by chance, many do not: sort with `kind='stable'`."),
    ("a tie at the edge goes to the earlier", call(TIED, 30), RANKING[:30],
     "Of the equal ones at the edge take the first: `argpartition` takes any, which differs by machine."),
    ("noise in the last bits is no difference", call(np.array([0.3, 0.3 + 4e-7]), 2), [0, 1],
     "Round to six decimals first: two machines differ in the last bits of a matrix product."),
    ("not at the edge either", call(np.array([0.3, 0.1, 0.3 + 1e-9]), 1), [0],
     "The second is higher by noise alone: what rounding makes equal must get past the edge, too."),
    ("what differs in the sixth place is no tie", call(np.array([0.3, 0.300002]), 1), [1],
     "These two differ after rounding, so the higher one wins."),
    ("a k of 0 brings nothing", call(np.array([0.2, 0.9]), 0), [],
     "No places, no positions: `[-0:]` is the whole list."),
    ("a k of 1 brings the best", call(np.array([0.2, 0.9, 0.9]), 1), [1],
     "One place, and the earlier one takes it."),
    ("a k beyond the end brings all", call(np.array([0.2, 0.9]), 5), [1, 0],
     "Two scores and k=5 give two positions."),
    ("as many as there are", call(np.array([0.2, 0.9]), 2), [1, 0], "Two scores and k=2 give both."),
    ("a plain list will do", call([0.2, 0.9], 1), [1], "`np.asarray` takes a list of numbers as well."),
    ("no scores, no positions", call(np.array([]), 3), [], "Nothing in, nothing out."),
]
FOUR, ONE_PIN = np.array([0.9, 0.1, 0.8, 0.7]), np.array([0.5, 1.0, 0.5, 0.5])
PINS = [
    ("the pin stands first and takes no place", call(FOUR, ONE_PIN, 2), [1, 0, 2],
     "All pins first, then the k best of the others.",
     ([0, 2], "The pin is not there: it had to win its place, which is what a pin need not do."),
     ([1, 0], "The pin took one of the k places: it costs none."),
     ([0, 2, 1], "The pin is there, but last: what is cut off later is the end."),
     (lambda got: got[:2] == [0, 0],
      "`top_k` counts within what it is handed: map its positions back, `others[top_k(…)]`."),
     (lambda got: len(set(got)) < len(got), "A memory stands twice: rank only those that are no pins."),
     ([1, 0, 2, 3], "You brought everything back: after the pins, k others.")),
    ("a pin that scores best costs no place", call(np.array([0.9, 0.8, 0.7]), np.array([1.0, 0.5, 0.5]), 2),
     [0, 1, 2],
     "The k best of the *others*: leave the pins out before you cut at k.",
     (lambda got: len(set(got)) < len(got), "The pin must not be ranked a second time among the others."),
     ([0, 1], "The pin took one of the k places after all: you cut at k, and then left the pins out.")),
    ("several pins, the best first", call(np.array([0.1, 0.9, 0.5]), np.array([1.0, 0.2, 1.0]), 1), [2, 0, 1],
     "Order the pins among themselves by score.",
     ([0, 2, 1], "The pins came in the order of the store: let `top_k` order them too.")),
    ("almost important is not pinned", call(np.array([0.9, 0.1]), np.array([0.2, 0.99]), 1), [0],
     "A pin is a decision that somebody took: importance PINNED or more, not merely high."),
    ("with no places there are still the pins", call(FOUR, ONE_PIN, 0), [1],
     "k counts the others only; the pins come back whatever k is."),
    ("no pins, plain top-k", call(np.array([0.2, 0.9]), np.array([0.5, 0.5]), 1), [1],
     "Without pins the k best are left."),
]
# fmt: on


@exercise("05-top-k")
def _(case: Cases, top_k: Function) -> None:
    case.table(top_k, TOP_K, lambda scores, k: f"{len(scores)} scores, {shown(list(scores[:4]))}…; k={k}")


@exercise("05-pins")
def _(case: Cases, pins_first: Function) -> None:
    case.table(pins_first, PINS)


# --- The checks: measuring ---------------------------------------------------------------------------

# fmt: off
RECALL = [
    ("one of one is found", call(["a", "b", "c"], {"a"}, 2), 1.0,
     "The only relevant memory is among the first two: everything was found.",
     (0.5, "You divided by k: that is precision, the share of what came back that was relevant.")),
    ("what stands beyond k does not count", call(["a", "b", "c"], {"c"}, 2), 0.0,
     "The only relevant memory stands in place 3, and k is 2: it was not found.",
     (1.0, "You looked at the whole ranking: cut it at k.")),
    ("half of what is relevant is half", call(["a", "b", "c", "d"], {"a", "d"}, 3), 0.5,
     "Two are relevant, one of them is among the first three.",
     (1.0, "One hit is not all: divide by how many are relevant."),
     (0, "`//` cuts a share of one half off to 0: divide with `/`."),
     (1 / 3, "You divided by k: that is precision."),
     (1 / 4, "You divided by the length of the ranking.")),
    ("three wanted, one place", call(["a", "b", "c"], {"a", "b", "c"}, 1), 1 / 3,
     "Divide by all that is relevant, even where k leaves no room for it.",
     (1.0, "You divided by min(k, relevant), which hides that two of three stayed away.")),
    ("a list with a repeated id is a set", call(["a", "b"], ["a", "a", "z"], 2), 0.5,
     "`relevant` may be any collection, and an id counts once."),
    ("nothing relevant has no recall", call(["a"], set(), 1), refused("relevant"),
     "0 of 0 is neither 0 nor 1: raise a ValueError that names `relevant`."),
    ("one id is no set of them", call(["ab"], "ab", 1), refused("relevant", TypeError),
     "Keep the scaffold's lines: the letters of a text would be taken for ids."),
    ("a k of 0 is refused", call(["a"], {"a"}, 0), refused("k="),
     "Keep the scaffold's lines: recall at k=0 is refused."),
]
MRR = [
    ("second place is one half", call([["a", "b", "c"]], [{"b"}]), 0.5,
     "The first relevant id stands in place 2, and 1/2 is 0.5.",
     (1.0, "You counted places from 0: the first place is 1."),
     (1 / 3, "Places count from 1: the second place gives 1/2."),
     (2.0, "That is the place itself: take 1 / place.")),
    ("the first relevant one decides", call([["a", "b", "c"]], [["b", "c"]]), 0.5,
     "Two are relevant: only the better placed counts.",
     (1 / 2 + 1 / 3, "You added up all relevant ids: only the first one counts, recall sees the others."),
     (1 / 3, "You took the last relevant id: the user reads from the top."),
     ((1 / 2 + 1 / 3) / 2, "You took the mean over the relevant ids: only the first one counts.")),
    ("in whichever order they are listed", call([["a", "b", "c"]], [["c", "b"]]), 0.5,
     "Walk down the ranking, not through `relevant`: its order says nothing."),
    ("a mean over the questions", call([["a", "b"], ["a", "b"]], [{"a"}, {"b"}]), 0.75, "(1 + 1/2) / 2.",
     (1.5, "That is the sum: divide by the number of questions."),
     (2 / 3, "You inverted the mean place: take the mean of the inverted places.")),
    ("what never came back counts as 0", call([["a", "b"], ["a", "b"]], [{"a"}, {"z"}]), 0.5,
     "One question is answered in first place, one not at all: (1 + 0) / 2.",
     (1.0, "You left out the question that was not answered, which flatters the mean.")),
    ("one ranking for each question", call([["a"], ["b"]], [{"a"}]), refused("2 rankings"),
     "Two rankings, one set of relevant ids: `zip` would drop one silently. Raise a ValueError."),
    ("no questions, no mean", call([], []), refused("0 rankings"),
     "The mean of nothing is undefined: raise a ValueError that says so, not a ZeroDivisionError."),
    ("one id is no set of them", call([["ab"]], ["ab"]), refused("relevant", TypeError),
     "Keep the scaffold's lines: parts of a text would be taken for ids."),
]
# fmt: on


@exercise("05-recall")
def _(case: Cases, recall_at_k: Function) -> None:
    case.table(recall_at_k, RECALL)


@exercise("05-mrr")
def _(case: Cases, mean_reciprocal_rank: Function) -> None:
    case.table(mean_reciprocal_rank, MRR)


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


CARDS = ["Wants a birthday card.", "Drives a red car.", "Likes tea."]
TEAS = ["Tea, tea, tea, tea.", "Likes tea very much.", "Likes coffee with milk."]
PEANUTS, ALLERGY = ["Allergy to peanut.", "Likes peanut bars.", "Likes tea."], "peanut allergy"
BLANK = ["Likes tea.", "Likes coffee.", ""]
OFTEN = 4 * (K1 + 1) / (4 + K1)  # what four mentions weigh, in a text of the mean length, where one weighs 1


# fmt: off
FOUND = [
    ("no word in common, no score", call("lunch", ["Likes tea.", "Likes coffee."]), [False, False],
     "A text that shares no word with the query scores 0."),
    ("a word is a word, not a run of letters", call("car", CARDS), [False, True, False],
     "Only the text that holds the word itself has a score.",
     (lambda got: got[0], "`car` was found inside `card`: count in the list of keywords, not in the text.")),
    ("stop words say nothing", call("the user", ["The user likes tea.", "Tea is fine."]), [False, False],
     "`the` and `user` stand everywhere: let `keywords` drop them, on both sides."),
]
RATIO = [
    ("the fourth mention adds little", call("tea", TEAS), OFTEN,
     "Both texts are of the same length, counted in keywords, not in characters.",
     (lambda got: abs(got - 1) < 0.1, "A second mention adds something: use the count, not merely `in`."),
     (4 * (B + 1) / (4 + B), "k1 and b are in each other's place."),
     (lambda got: got > 2 * OFTEN,
      "Four mentions gave four times the score: let the count saturate, above and below the line.")),
]
BM25 = [
    ("a rare word weighs more", call(ALLERGY, PEANUTS), bm25(ALLERGY, PEANUTS),
     "`log(1 + (N - n + 0.5) / (n + 0.5))` for each word, times `count * (k1 + 1) / (count + k1 * length)`.",
     (bm25(ALLERGY, PEANUTS, rare=False), "Every word weighs the same: `allergy` is rarer than `peanut`."),
     (bm25(ALLERGY, PEANUTS, b=0.0), "The length of the texts does not count: where is `b`?"),
     (lambda got: min(got) < 0, "A score is below 0: the 1 inside the logarithm is missing."),
     ([score / (K1 + 1) for score in bm25(ALLERGY, PEANUTS)],
      "The factor `k1 + 1` is missing: then no count of 1 gets its word's full weight."),
     ([score / math.log(10) for score in bm25(ALLERGY, PEANUTS)],
      "That is the logarithm to base 10: take the natural one.")),
    ("rarity counts texts, not mentions", call("tea", TEAS), bm25("tea", TEAS),
     "n is the number of *texts* that hold the word, however often each of them says it."),
    ("a text without a keyword counts in the mean", call("tea", BLANK), bm25("tea", BLANK),
     "The mean length is that of all texts, and the third has one as well: 0."),
    ("a word asked twice counts once", call("tea, tea!", BLANK[:2]), bm25("tea", BLANK[:2]),
     "Walk over the distinct words of the query.",
     (lambda got: got[0] > 1, "A word that is asked twice counted twice.")),
    ("texts without a keyword do no harm", call("tea", ["the user", ""]), [0.0, 0.0],
     "All texts are empty, so their mean length is 0: nothing may be divided by it.",
     (lambda got: any(value != value for value in got), "0 / 0 is no number: guard the mean length.")),
    ("no texts, no scores", call("tea", []), [], "No texts give an empty array."),
]
SAME = np.array([0.6, 0.6])
HYBRID = [
    ("the best keyword match gains its share", call(SAME, np.array([4.0, 0.0]), share=0.5), [1.1 / 1.5, 0.4],
     "Cosine plus share times the keyword score over its maximum, all divided by 1 + share.",
     ([2.6 / 1.5, 0.4], "BM25 has no upper end: divide it by its maximum before you add."),
     ([2.6, 0.6], "BM25 has no upper end: divide it by its maximum before you add."),
     ([1.1, 0.6], "The sum can pass 1, and then relevance outweighs the other parts: divide by 1 + share."),
     ([0.8, 0.3], "You took share of one, 1 - share of the other: here the cosine keeps its full weight.")),
    ("no keyword, no difference", call(SAME, np.zeros(2), share=0.5), [0.4, 0.4],
     "Without a keyword match the order of the cosines stays.",
     ([0.6, 0.6],
      "Without a match, divide by 1 + share too: or relevance would weigh more in just those questions."),
     (lambda got: any(value != value for value in got),
      "0 / 0 is no number: no match has no maximum to divide by.")),
    ("a share of 0 is the cosine", call(np.array([0.2, 0.9]), np.array([3.0, 1.0]), share=0.0), [0.2, 0.9],
     "With share=0 keywords must not count.",
     ([0.7 / 1.5, (0.9 + 0.5 / 3) / 1.5], "You ignore `share`.")),
    ("each keeps its part of the best", call(np.array([0.0, 0.4]), np.array([2.0, 1.0]), share=0.5),
     [1 / 3, 0.65 / 1.5], "The best match has 1, and half of its score has one half.",
     ([0.5 * 2 / 3 / 1.5, (0.4 + 0.5 / 3) / 1.5],
      "You divided by the sum: by the maximum, the best match has 1 however many others there are."),
     ([1 / 3, 0.4 / 1.5],
      "You stretched the scores between minimum and maximum: the lowest match is a match, too.")),
    ("faint matches count as well", call(np.zeros(2), np.array([0.5, 0.25]), share=1.0), [0.5, 0.25],
     "The best match has 1, however low its score is: divide whenever there is a match."),
    ("the standard share is a half", call(np.array([0.0, 0.4]), np.array([2.0, 1.0])), [1 / 3, 0.65 / 1.5],
     "Keep the signature's default, KEYWORD_SHARE."),
    ("no memories, no relevance", call(np.array([]), np.array([])), [],
     "An owner without memories: `max` of an empty array needs `initial=0.0`."),
]
# fmt: on


@exercise("05-bm25")
def _(case: Cases, keyword_scores: Function) -> None:
    def scores(query: str, texts: Sequence[str]) -> list[float]:
        return [float(score) for score in keyword_scores(query, texts)]

    def told(query: str, texts: Sequence[str]) -> str:
        return f"keyword_scores({query!r}, {texts})"

    case.table(lambda query, texts: [score != 0 for score in scores(query, texts)], FOUND, told)
    case.table(lambda query, texts: scores(query, texts)[0] / scores(query, texts)[1], RATIO, told)
    case.table(scores, BM25, told)


@exercise("05-hybrid")
def _(case: Cases, hybrid_relevance: Function) -> None:
    case.table(hybrid_relevance, HYBRID)
    cosines, by_keyword = np.array([0.6]), np.array([4.0])
    hybrid_relevance(cosines, by_keyword)
    case.holds(
        "its arrays stay as they were", (cosines[0], by_keyword[0]) == (0.6, 4.0),
        "You changed an array in place: `/=` and `+=` write into the caller's own numbers.",
        given="cosines [0.6], keyword scores [4]", got=[cosines, by_keyword],
    )  # fmt: skip


# --- The checks: all of it in one call ----------------------------------------------------------------

TODAY = 1_000_000_000.0


def _one(name: str, content: str, importance: float = 0.5, days: float = 0.0, **fields: Any) -> MemoryRecord:
    """A memory of Ada's called `name`, last confirmed `days` ago."""
    at = TODAY - days * clock.DAY
    usual: dict[str, Any] = {"user_id": "ada", "created_at": at, "updated_at": at, "half_life_days": 10.0}
    return MemoryRecord(content, memory_id=name, importance=importance, **usual | fields)


TEA = _one("tea", "The user likes green tea.", days=20)
ROOM = _one("room", "The user sleeps in room 16.", importance=0.2, days=5)
NEW = _one("new", "Something else altogether.", importance=0.3)
PIN = _one("pin", "Allergic to peanuts.", importance=1.0, days=40)
BOS = _one("bo", "Bo likes green tea.", user_id="bo")
SEAT = _one("seat", "Holds a seat for tea.", scope="session", session_id="s7")
GONE = _one("gone", "The user likes black tea.", days=30, invalidated_at=TODAY - clock.DAY)
SEVEN = [_one(f"m{number}", "Likes tea.", importance=0.9 - number / 10) for number in range(7)]
INVOICES = [
    _one("orders", "Orders, ordered, ordering, orderly."),
    _one("invoice", "The invoice with the number 4711 went to the accountant in March."),
]
NEAREST = Mix(1.0, 0.0, 0.0)
ALL = [TEA, ROOM, NEW, PIN, BOS, SEAT, GONE]

# fmt: off
RETRIEVE = [
    ("the best comes first, after the pins", call(ALL, "green tea", k=1), "pin tea",
     "`search`, `blended_score`, `pins_first`, and the hits of what is left, in that order.",
     (lambda got: got.count(" ") > 1, "More than k others came back: hand `k` on."),
     ("tea", "The pin is missing: `pins_first` chooses, not `top_k`."),
     ("tea pin", "The hits came back in the order of the store: `matches.take(best)` puts them in yours.")),
    ("as many others as you ask for", call(ALL, "green tea", k=2), "pin tea new",
     "Two others after the pin."),
    ("five unless you say otherwise", call(SEVEN, "tea"), "m0 m1 m2 m3 m4",
     "Keep the signature's default: k=5."),
    ("your weights decide", call(ALL, "green tea", k=1, weights=Mix(0.0, 1.0, 0.0)), "pin new",
     "With recency alone the newest comes first: hand `weights` to `blended_score`."),
    ("the standard weights are relevance, recency, importance", call([TEA, NEW], "green tea", k=2), "tea new",
     "Keep the signature's default, Weights()."),
    ("other owners are never seen", call(ALL, "green tea", k=9, user_id="bo"), "bo",
     "Search with the `user_id` that was passed."),
    ("every app is a store of its own", call(ALL, "green tea", k=9, app_name="bank"), "",
     "What Ada told another app came back at the bank: hand `app_name` on."),
    ("a session is seen when it is named",
     call(ALL, "tea", k=9, scopes=("session",), session_id="s7"), "seat",
     "Hand `scopes` and `session_id` on."),
    ("another day's memories, ranked as they were",
     call(ALL, "black tea", k=1, as_of=TODAY - 2 * clock.DAY), "pin gone",
     "What was replaced since then held on that day: hand `as_of` on."),
    ("without being asked, vectors alone", call(INVOICES, "order 4711", k=1, weights=NEAREST), "orders",
     "Keywords join in when `relevance` is \"hybrid\", and only then."),
    ("keywords count when they are asked for",
     call(INVOICES, "order 4711", k=1, weights=NEAREST, relevance="hybrid"), "invoice",
     "Hybrid: BM25 over `matches.contents()`, then `hybrid_relevance`, in place of `matches.relevance`."),
    ("an owner without memories has no hits", call([], "tea", relevance="hybrid"), "",
     "An empty store gives an empty list."),
    ("a k below 0 is refused", call(ALL, "tea", k=-1), refused("k="), "Keep the scaffold's line for `k`."),
    ("another relevance is refused", call(ALL, "tea", relevance="keywords"), refused("relevance="),
     "Keep the scaffold's line for `relevance`: a slip must not rank by vectors in silence."),
    ("weights are weights", call(ALL, "tea", weights=(1, 0, 0)), refused("weights=", TypeError),
     "Keep the scaffold's line for `weights`."),
]
# fmt: on


class Watched(MemoryStore):
    """A store that knows whether it was searched while it stood still."""

    still, searched_still = 0, False

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with super().snapshot():
            self.still += 1
            yield
            self.still -= 1

    transaction = snapshot

    def search(self, *args: Any, **kwargs: Any) -> Matches:
        matches = super().search(*args, **kwargs)
        began, load = self.still > 0, matches.load

        def watched(*positions: Any) -> Any:
            self.searched_still = began and self.still > 0
            return load(*positions)

        return replace(matches, load=watched)


def _retrieved(retrieve: Function, stored: Sequence[MemoryRecord], query: str, **options: Any) -> list[Any]:
    if isinstance(options.get("weights"), Mix):
        options["weights"] = _as_weights(retrieve, options["weights"])
    with clock.freeze(TODAY), MemoryStore() as store:
        for record in stored:
            store.put(record)
        return list(retrieve(store, query, **{"user_id": "ada"} | options))


def _as_weights(retrieve: Function, mix: Mix) -> Any:
    """`mix` as the kind of weights that `retrieve` has for a default, which this module must not import."""
    kind = type(inspect.signature(retrieve).parameters["weights"].default)
    return kind(mix.relevance, mix.recency, mix.importance)


@exercise("05-retrieve")
def _(case: Cases, retrieve: Function) -> None:
    def names(stored: Sequence[MemoryRecord], query: str, **options: Any) -> str:
        return " ".join(hit.record.memory_id for hit in _retrieved(retrieve, stored, query, **options))

    def told(stored: Sequence[MemoryRecord], query: str, **options: Any) -> str:
        asked = "".join(f", {name}={value}" for name, value in options.items())
        return f"{query!r}{asked}, of [{', '.join(record.memory_id for record in stored)}]"

    case.table(names, RETRIEVE, told)
    hits = _retrieved(retrieve, [ROOM, TEA], "green tea")
    sums = [0.6 * hit.relevance + 0.25 * hit.recency + 0.15 * hit.record.importance for hit in hits]
    case.holds(
        "a hit says what its score is made of", same([hit.score for hit in hits], sums, 1e-6),
        "The score of a hit is that of its own memory: `scores[best]`, in the order of `matches.take(best)`.",
        given="'green tea', of [room, tea]", expected=sums, got=[hit.score for hit in hits],
    )  # fmt: skip
    store = Watched()
    with clock.freeze(TODAY), store:
        store.put(TEA)
        retrieve(store, "tea", user_id="ada", relevance="hybrid")
    case.holds(
        "ranked and read at one moment", store.searched_still,
        "Between ranking and reading another process may supersede what you ranked: do both inside "
        "`with store.snapshot():`.",
        given="a store that others write to",
    )  # fmt: skip
    case.refuses(
        "a store is a store", retrieve, [TEA], "tea", user_id="ada", error=TypeError, mentions="store=",
        otherwise="Keep the scaffold's line for `store`.", given="a list of memories in place of a store",
    )  # fmt: skip
