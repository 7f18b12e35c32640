"""A year in a minute: a slider on which confidence decays, bands fall, and memories reach the floor.

`fading` draws one day from plain values; the widget only calls it again when a slider moves, and
`days_picture` and `decay_curves` show the same on a page that runs no code.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from course.pictures.views import Picture, as_picture, new_figure
from course.pictures.widgets import LIVE, panel
from memlab import clock
from memlab.fields import check_fraction, check_positive
from memlab.records import PINNED, MemoryRecord

Band = Callable[[float], str]
"""From a confidence, 0..1, to a word such as "high"."""

COLOURS = {"high": "#0072b2", "medium": "#56b4e9", "low": "#e69f00", "pruned": "#9a9a9a", "pin": "#009e73"}
LINES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class Faded:
    """How one memory stands on one day: what is left of its confidence, and the word for that."""

    content: str
    confidence: float
    state: str

    @property
    def gone(self) -> bool:
        """True once pruning would have ended it."""
        return self.state == "pruned"


@dataclass(frozen=True)
class Day:
    """All memories on one day, as a table of bars that JupyterLab and a terminal can show."""

    day: float
    floor: float
    rows: Sequence[Faded]

    @property
    def title(self) -> str:
        """What a reader has to know first: the day, and how many memories are left."""
        left = sum(not row.gone for row in self.rows)
        return f"day {self.day:g}: {left} of {len(self.rows)} memories left, floor {self.floor:.2f}"

    def __repr__(self) -> str:
        lines = [f"{row.state:<7} {row.confidence:.2f}  {row.content}" for row in self.rows]
        return "\n".join([self.title, *lines])

    def _repr_html_(self) -> str:
        head = "".join(
            f'<th style="text-align:left">{name}</th>' for name in ("memory", "confidence", "band")
        )
        body = "".join(self._row(row) for row in self.rows)
        return (
            f'<table aria-label="{html.escape(self.title)}"><caption style="text-align:left">{self.title}'
            f"</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _row(self, row: Faded) -> str:
        text = html.escape(row.content)
        memory = f'<s style="opacity:.65">{text}</s>' if row.gone else text
        fill = f"display:block;height:100%;width:{row.confidence:.1%};background:{COLOURS[row.state]}"
        line = f"position:absolute;top:0;bottom:0;left:{self.floor:.1%};border-left:2px dashed currentColor"
        frame = "position:relative;display:inline-block;width:200px;height:.9em;border:1px solid #999999"
        inside = f'<span style="{fill}"></span><span style="{line}"></span>'
        bar = f'<span style="{frame}" aria-hidden="true">{inside}</span>'
        cells = (memory, f"{bar} {row.confidence:.2f}", ("✗ " if row.gone else "") + row.state)
        return "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in cells) + "</tr>"


def fading(records: Sequence[MemoryRecord], day: float, *, floor: float, band: Band) -> Day:
    """How the memories stand `day` days from now, if none is confirmed meanwhile.

    What is below `floor` (0..1) counts as pruned; a pin neither decays nor is pruned. Nothing is written.
    Raises ValueError for a floor outside 0..1, and as `band` does.

    Example:
    >>> record = MemoryRecord("An export fails.", "u_ada", half_life_days=30, confidence=0.8)
    >>> fading([record], 60, floor=0.25, band=lambda confidence: "low")
    day 60: 0 of 1 memories left, floor 0.25
    pruned  0.20  An export fails.
    """
    check_fraction("floor", floor)
    at = clock.now() + clock.number(day, "day", "a number of days") * clock.DAY
    return Day(day, floor, [_faded(record, at, floor, band) for record in records])


def days_picture(
    records: Sequence[MemoryRecord], days: Sequence[float], *, floor: float, band: Band
) -> Picture:
    """The slider at several days side by side, for a page that runs no code."""
    shown = [fading(records, day, floor=floor, band=band) for day in days]
    figure = new_figure(2.1 * len(days) + 3.4, 0.42 * len(records) + 1.3)
    panels = figure.subplots(1, len(days), sharey=True, squeeze=False)[0]
    for axes, day in zip(panels, shown, strict=True):
        _bars(axes, day)
    panels[0].set_yticks(range(len(records)), [record.content for record in records], fontsize=10)
    panels[0].invert_yaxis()
    return as_picture(figure, "Confidence bars and bands. " + "; ".join(map(_told, shown)) + ".")


def decay_curves(records: Sequence[MemoryRecord], *, floor: float, days: float = 365) -> Picture:
    """The confidence of each memory over the coming `days`, and the floor at which it would be pruned."""
    check_fraction("floor", floor)
    ticks = [check_positive("days", days) * step / 200 for step in range(201)]
    figure = new_figure(10, 4.4)
    axes = figure.add_subplot()
    ends = [_left(record, clock.now() + days * clock.DAY) for record in records]
    for place, (record, end, label_at) in enumerate(zip(records, ends, _spread(ends), strict=True)):
        colour, line = _CYCLE[place % len(_CYCLE)], LINES[place % len(LINES)]
        heights = [_left(record, clock.now() + tick * clock.DAY) for tick in ticks]
        axes.plot(ticks, heights, line, color=colour, linewidth=2)
        axes.plot([days, days * 1.03], [end, label_at], color=colour, linewidth=0.8, clip_on=False)
        axes.text(days * 1.035, label_at, f"{record.content} ({_pace(record)})", va="center", fontsize=9)
    axes.axhline(floor, color="#d55e00", linestyle=(0, (2, 2)), linewidth=1.4)
    axes.text(days * 0.995, floor + 0.012, f"floor {floor:.2f}", ha="right", color="#b04a00", fontsize=10)
    axes.set_xlim(0, days)
    axes.set_ylim(0, 1)
    axes.set_xlabel("days without confirmation")
    axes.set_ylabel("confidence")
    axes.spines[["top", "right"]].set_visible(False)
    told = ", ".join(f"{record.content} {end:.2f}" for record, end in zip(records, ends, strict=True))
    return as_picture(figure, f"Decay curves; after {days:g} days, floor {floor:.2f}: {told}")


def time_slider(records: Sequence[MemoryRecord], *, floor: float, band: Band, days: int = 365) -> Any:
    """A slider for the day and one for the floor, above the table of `fading`.

    Arrow keys move the slider that has the focus. An error in drawing is raised, not swallowed.
    """
    # slow to import, and drawing does not need it
    import ipywidgets  # type: ignore[import-untyped]

    wide = ipywidgets.Layout(width="480px")
    day = ipywidgets.IntSlider(
        value=0, min=0, max=days, step=1, description="day", layout=wide, tooltip="days without confirmation"
    )
    lowest = ipywidgets.FloatSlider(
        value=floor, min=0.0, max=1.0, step=0.01, description="floor", layout=wide,
        tooltip="confidence below which a memory is pruned",
    )  # fmt: skip
    picture = ipywidgets.HTML()
    picture.add_class(LIVE)

    def draw(_: object = None) -> None:
        picture.value = fading(records, day.value, floor=lowest.value, band=band)._repr_html_()

    day.observe(draw, names="value")
    lowest.observe(draw, names="value")
    draw()
    return panel([day, lowest, picture], "[two sliders, day and floor: run this notebook to move them]")


_CYCLE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#8a6d00", "#000000")


def _left(record: MemoryRecord, at: float) -> float:
    return record.confidence if record.importance >= PINNED else record.decayed_confidence(at)


def _spread(heights: Sequence[float], gap: float = 0.06) -> list[float]:
    """Heights for the labels of curves that end at `heights`: the same order, at least `gap` apart."""
    spread, lowest = [0.0] * len(heights), 0.0
    for place in sorted(range(len(heights)), key=lambda place: heights[place]):
        spread[place] = max(heights[place], lowest)
        lowest = spread[place] + gap
    return spread


def _faded(record: MemoryRecord, at: float, floor: float, band: Band) -> Faded:
    left = _left(record, at)
    if record.importance >= PINNED:
        return Faded(record.content, left, "pin")
    return Faded(record.content, left, "pruned" if left < floor else band(left))


def _bars(axes: Any, day: Day) -> None:
    for place, row in enumerate(day.rows):
        axes.barh(place, row.confidence, color=COLOURS[row.state], height=0.66)
        sign = "✗ " if row.gone else ""
        axes.text(max(row.confidence, day.floor) + 0.03, place, f"{sign}{row.state}", va="center", fontsize=9)
    axes.axvline(day.floor, color="#d55e00", linestyle=(0, (2, 2)), linewidth=1.4)
    axes.set_xlim(0, 1.35)
    axes.set_xticks([])
    axes.set_title(f"day {day.day:g}", fontsize=11)
    axes.tick_params(length=0)
    axes.spines[["top", "right", "bottom"]].set_visible(False)


def _told(day: Day) -> str:
    return f"{day.title}: " + ", ".join(f"{row.content} {row.confidence:.2f} {row.state}" for row in day.rows)


def _pace(record: MemoryRecord) -> str:
    return "pin" if record.importance >= PINNED else f"half-life {record.half_life_days:g} d"
