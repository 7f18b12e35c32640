"""What lesson 05 measures on labelled data, with the pictures of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course.pictures.tuning import Bench, Mix, Owner, Setting, metrics
from course.pictures.views import AMBER, BLUE, GREEN, GREY, ORANGE, Picture, Table, as_picture, new_figure
from course.scenarios import Person
from memlab import clock
from memlab.engine.blocks import Floats
from memlab.records import MemoryRecord

Reached = tuple[float, float]
"""Recall@k and MRR."""

Measured = Mapping[Mix, Reached]
"""What each mix of weights reaches."""

STANDARD = Mix()

KeywordScores = Callable[[str, Sequence[str]], Floats]
HybridRelevance = Callable[[Floats, Floats], Floats]

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
