"""No threshold parts what contradicts from what goes together: facts in pairs, and their cosines.

`cosine_table` lists them under each embedder, `threshold_picture` draws them on a line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from course.pictures.views import BLUE, ORANGE, Picture, Table, as_picture, new_figure
from memlab.embedding import Embedder


@dataclass(frozen=True)
class Pair:
    """Two facts, and whether they contradict each other."""

    a: str
    b: str
    contradict: bool


# fmt: off
PAIRS = [
    Pair("The user follows a vegetarian diet.", "The user eats fish again.", True),
    Pair("The user follows a pescatarian diet.", "The user eats meat again.", True),
    Pair("The user works as a nurse.", "The user works as a baker.", True),
    Pair("The user lives in Paris.", "The user lives in Rome.", True),
    Pair("The user likes Chinese food.", "The user dislikes Chinese food.", True),
    Pair("The deadline is 15 October.", "The deadline is 16 October.", True),
    Pair("The user is allergic to peanuts.", "The user's son is allergic to peanuts.", False),
    Pair("The user follows a vegetarian diet.", "The user's wife follows a vegan diet.", False),
    Pair("The user works at Acme.", "The user works as a nurse.", False),
    Pair("The user likes hiking.", "The user likes Chinese food.", False),
    Pair("The user eats fish again.", "The user prefers aisle seating on flights.", False),
]
# fmt: on
"""Facts that exclude each other, and facts that go together: all worded as the extraction rules word them."""


def cosine_table(pairs: Sequence[Pair], cosines: Mapping[str, Callable[[str, str], float]]) -> Table:
    """For each pair its cosine under each name in `cosines`."""
    rows = [
        [
            pair.a,
            pair.b,
            "contradict" if pair.contradict else "go together",
            *(f(pair.a, pair.b) for f in cosines.values()),
        ]
        for pair in pairs
    ]
    return Table(["fact", "fact", "they", *cosines], rows)


def threshold_picture(
    pairs: Sequence[Pair], cosines: Mapping[str, Callable[[str, str], float]], threshold: float = 0.55
) -> Picture:
    """The pairs on a line of cosines for each embedder: those that contradict above those that do not.

    A threshold that worked would be a vertical line with all ● right of it and all ○ left.
    """
    figure = new_figure(10, 1.5 * len(cosines) + 1.0)
    panels = figure.subplots(len(cosines), 1, sharex=True, squeeze=False)[:, 0]
    told = []
    for axes, (name, cosine) in zip(panels, cosines.items(), strict=True):
        for height, contradict, colour, face in ((1, True, ORANGE, ORANGE), (0, False, BLUE, "white")):
            values = [cosine(pair.a, pair.b) for pair in pairs if pair.contradict == contradict]
            axes.scatter(values, [height] * len(values), s=95, color=face, edgecolor=colour, linewidth=2)
        axes.axvline(threshold, color="black", linestyle="--", linewidth=1.4)
        axes.set_yticks([1, 0], ["● contradict", "○ go together"], fontsize=10)
        axes.set_ylim(-0.6, 1.6)
        axes.set_xlim(-0.03, 1.03)
        wrong = f"{least_errors(pairs, cosine)} of {len(pairs)} pairs"
        axes.set_title(f"{name}: the best threshold is wrong for {wrong}", loc="left", fontsize=11)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        told.append(f"{name}: at best wrong for {wrong}")
    panels[-1].set_xlabel(f"cosine of the two facts (dashed: the default threshold, {threshold})")
    return as_picture(figure, f"Cosines of contradicting and of compatible facts overlap. {'; '.join(told)}.")


def least_errors(pairs: Sequence[Pair], cosine: Callable[[str, str], float]) -> int:
    """How many pairs the best possible threshold gets wrong: contradictions below it, others at or above.

    Example:
    >>> least_errors([Pair("a", "b", True), Pair("a", "c", False)], lambda a, b: 0.5)
    1
    """
    scored = [(cosine(pair.a, pair.b), pair.contradict) for pair in pairs]
    thresholds = [value for value, _ in scored] + [2.0]
    return min(sum((value >= limit) != contradict for value, contradict in scored) for limit in thresholds)


def between(embed: Embedder, cosine: Callable[..., Any]) -> Callable[[str, str], float]:
    """The cosine of two texts under one embedder."""
    return lambda a, b: float(cosine(embed(a), embed(b)))
