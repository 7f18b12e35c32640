"""The embedding explorer of lesson 01: two texts, the buckets they share, and what the cosine is made of.

`compare` computes it from plain features, `explorer` is the widget: it compares again when you type.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from course.pictures.views import BLUE, GREY, ORANGE
from course.pictures.widgets import LIVE, panel

Features = Mapping[str, float]
Bucket = Callable[[str, int], int]

DIMS = (16, 64, 256, 1024, 4096, 16384)
_CELL = "text-align:left;padding:1px 12px 1px 0"
COLOURS = {"said by both": BLUE, "collision": ORANGE}


@dataclass(frozen=True)
class Meeting:
    """One bucket that both texts fill: the features of each in it, and what it adds to the cosine.

    said: the part that comes from features that both texts have; chance: the rest.
    """

    bucket: int
    above: Sequence[str]
    below: Sequence[str]
    said: float
    chance: float

    @property
    def kind(self) -> str:
        """Whether the texts have a feature in common here, or only the bucket."""
        return "said by both" if set(self.above) & set(self.below) else "collision"


@dataclass(frozen=True)
class Comparison:
    """Two hashed texts side by side, as JupyterLab and a terminal can show them.

    above, below: for each bucket a text fills, the weight in it. meetings: the largest part first.
    """

    dim: int
    above: Mapping[int, float]
    below: Mapping[int, float]
    meetings: Sequence[Meeting]

    @property
    def said(self) -> float:
        """The part of the cosine that the texts have earned, by features that both have."""
        return sum(meeting.said for meeting in self.meetings)

    @property
    def chance(self) -> float:
        """The part of the cosine that comes from different features in one bucket."""
        return sum(meeting.chance for meeting in self.meetings)

    @property
    def title(self) -> str:
        """The cosine, and what it is made of."""
        total, said = round(self.said + self.chance, 3), round(self.said, 3)
        return f"cosine {total:.3f} = {said:.3f} said by both + {total - said:.3f} collisions"

    def __repr__(self) -> str:
        lines = [f"{m.kind:<12} {' '.join(m.above)} | {' '.join(m.below)}" for m in self.meetings]
        return "\n".join([self.title, *lines])

    def _repr_html_(self) -> str:
        if not (self.above and self.below):
            note = "A text of which no word is left is the zero vector, and like nothing."
        else:
            note = "" if self.meetings else "No bucket in common."
        return f"<div>{_strip(self)}{f'<p>{note}</p>' if note else _table(self.meetings)}</div>"


def compare(a: Features, b: Features, bucket: Bucket, dim: int = 256) -> Comparison:
    """The buckets of two texts, given as features with their weights, in `dim` buckets.

    Raises ValueError for a `dim` below 1.

    Example:
    >>> compare({"fish": 1.0, "eel": 1.0}, {"fish": 1.0}, lambda feature, dim: len(feature), 8)
    cosine 0.707 = 0.707 said by both + 0.000 collisions
    said by both fish | fish
    """
    if isinstance(dim, bool) or not isinstance(dim, int) or dim < 1:
        raise ValueError(f"dim={dim!r} is not a positive whole number; pass e.g. dim=256")
    above, below = _in_buckets(a, bucket, dim), _in_buckets(b, bucket, dim)
    lengths = _length(above) * _length(below)
    found = []
    for index in above.keys() & below.keys():
        up, down = above[index], below[index]
        said = sum(up[feature] * down[feature] for feature in up.keys() & down.keys()) / lengths
        total = sum(up.values()) * sum(down.values()) / lengths
        found.append(Meeting(index, sorted(up), sorted(down), said, total - said))
    found.sort(key=lambda meeting: (-meeting.said - meeting.chance, meeting.bucket))
    return Comparison(dim, _weights(above), _weights(below), found)


def explorer(weights: Callable[[str], Features], bucket: Bucket, above: str, below: str) -> Any:
    """Two text boxes and a slider for the number of buckets, above what `compare` shows for them.

    weights: from a text to its features; bucket: from a feature and `dim` to its bucket. An error in
    either is raised, not swallowed.
    """
    import ipywidgets  # type: ignore[import-untyped]

    wide, style = ipywidgets.Layout(width="min(44em, 98%)"), {"description_width": "6em"}
    box_a = ipywidgets.Text(value=above, description="text above", layout=wide, style=style)
    box_b = ipywidgets.Text(value=below, description="text below", layout=wide, style=style)
    dim = ipywidgets.SelectionSlider(options=DIMS, value=256, description="buckets", style=style)
    total, view = ipywidgets.HTML(), ipywidgets.HTML()
    total.add_class(LIVE)

    def draw(_: object = None) -> None:
        found = compare(weights(box_a.value), weights(box_b.value), bucket, dim.value)
        total.value = f"<strong>{found.title}</strong>"
        view.value = found._repr_html_()

    for control in (box_a, box_b, dim):
        control.observe(draw, names="value")
    draw()
    return panel(
        [box_a, box_b, dim, total, view], "[two texts to compare: run this notebook to type your own]"
    )


def _in_buckets(features: Features, bucket: Bucket, dim: int) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for feature, weight in features.items():
        found.setdefault(bucket(feature, dim), {})[feature] = weight
    return found


def _weights(buckets: Mapping[int, Features]) -> dict[int, float]:
    return {index: sum(found.values()) for index, found in buckets.items()}


def _length(buckets: Mapping[int, Features]) -> float:
    return math.sqrt(sum(weight * weight for weight in _weights(buckets).values()))


def _table(meetings: Sequence[Meeting]) -> str:
    names = ("bucket", "above", "below", "", "adds")
    head = "".join(f'<th style="{_CELL}">{name}</th>' for name in names)
    body = "".join(map(_row, meetings))
    return f'<table style="line-height:1.4"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _row(meeting: Meeting) -> str:
    swatch = (
        f'<span aria-hidden="true" style="{_fill(meeting.kind)};display:inline-block;width:1em">&nbsp;</span>'
    )
    features = (f"<code>{html.escape(' '.join(found))}</code>" for found in (meeting.above, meeting.below))
    cells = (meeting.bucket, *features, f"{swatch} {meeting.kind}", f"{meeting.said + meeting.chance:.3f}")
    return "<tr>" + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells) + "</tr>"


def _fill(kind: str) -> str:
    colour = COLOURS[kind]
    if kind == "said by both":
        return f"background:{colour}"
    return f"background:repeating-linear-gradient(45deg,{colour} 0 3px,#ffffff 3px 5px)"


def _strip(found: Comparison) -> str:
    """The buckets from left to right: the text above grows upwards, the text below downwards."""
    met = {meeting.bucket: meeting.kind for meeting in found.meetings}
    tallest = max([*found.above.values(), *found.below.values(), 1.0])
    bars = "".join(
        _strip_bar(index, sign * weight / tallest, met.get(index, ""), found.dim)
        for sign, weights in ((-1, found.above), (1, found.below))
        for index, weight in sorted(weights.items())
    )
    hatch = (
        '<pattern id="memlab-hatch" width="5" height="5" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><rect width="5" height="5" fill="{ORANGE}"/>'
        '<rect width="2" height="5" fill="#ffffff"/></pattern>'
    )
    line = '<line x1="0" x2="1000" y1="60" y2="60" stroke="currentColor"/>'
    told = html.escape(f"{found.dim} buckets, {len(found.meetings)} of them filled by both texts")
    return (
        f'<svg viewBox="0 0 1000 120" role="img" aria-label="{told}" '
        f'style="width:100%;max-width:60em;display:block"><defs>{hatch}</defs>{bars}{line}</svg>'
    )


def _strip_bar(index: int, height: float, kind: str, dim: int) -> str:
    width = max(4.0, 1000 / dim - 1)
    left = min((index + 0.5) * 1000 / dim - width / 2, 1000 - width)
    top = 60 + min(0.0, height) * 56
    fill = {"said by both": BLUE, "collision": "url(#memlab-hatch)", "": GREY}[kind]
    return (
        f'<rect x="{max(left, 0):.1f}" y="{top:.1f}" width="{width:.1f}" height="{abs(height) * 56:.1f}" '
        f'fill="{fill}"/>'
    )
