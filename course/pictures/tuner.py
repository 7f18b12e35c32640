"""The weight tuner of lesson 05: a ranking that one can see, and the measures that say whether it is good.

All figures come from `bench.rank` and `bench.metrics`. `ranking_html` shows one ranking, `weight_tuner` is
the widget that shows it again when something is moved, and `tuner_picture` serves a page that runs no code.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from textwrap import fill
from typing import Any

from course.pictures.tuning import PARTS, Bench, Mix, Row, Setting, answerable, margin, metrics, rank
from course.pictures.views import AMBER, BLUE, GREEN, GREY, Picture, Weighting, as_picture, new_figure
from course.pictures.widgets import LIVE, panel

Three = tuple[float, float, float]
Reached = tuple[float, float]

OWN = 0.0  # each memory's own half-life; a SelectionSlider takes no None
HALF_LIVES = {"its own": OWN, **{f"{days} d": float(days) for days in (7, 30, 90, 180, 365)}}
MOST_K = 10
NEXT = 2  # places shown below the k that come back

HATCHES = {"relevance": (BLUE, ""), "recency": (AMBER, "//"), "importance": (GREEN, "..")}
FILLS = {
    "relevance": f"background:{BLUE}",
    "recency": f"background:repeating-linear-gradient(135deg,{AMBER} 0 5px,#ffffff 5px 7px)",
    "importance": f"background:radial-gradient(#ffffff 1px,transparent 1.5px) 0 0/6px 6px {GREEN}",
}
INK = "color:var(--jp-ui-font-color1,inherit)"
CELL = "text-align:left;padding:2px 12px 2px 0;vertical-align:middle"
HEAD = f"{CELL};white-space:nowrap"


def rebalanced(weights: Three, moved: int, value: float) -> Three:
    """Three weights, in hundredths, that sum to 1 after one of them was moved to `value` (0..1).

    The other two share the rest in the proportion that they have in `weights`; equally, if both are 0.

    Example:
    >>> rebalanced((0.6, 0.3, 0.1), 0, 0.2)
    (0.2, 0.6, 0.2)
    """
    first, second = (index for index in range(3) if index != moved)
    both = weights[first] + weights[second]
    result = [round(value, 2)] * 3
    result[first] = round((1 - result[moved]) * (weights[first] / both if both else 0.5), 2)
    result[second] = abs(round(1 - result[moved] - result[first], 2))  # abs: no minus before a 0
    return result[0], result[1], result[2]


def shown(rows: Sequence[Row], k: int) -> list[Row]:
    """The rows worth a look: what comes back, the NEXT places, and the relevant ones further down."""
    return [row for row in rows if row.place is None or row.place <= k + NEXT or row.relevant]


def ranking_html(rows: Sequence[Row], k: int) -> str:
    """A ranking as a table: each score as a bar stacked from its parts, and the parts as numbers.

    A ★ marks what should come back; a dashed line stands below the k that do.
    """
    widest = max([1.0, *(row.score for row in rows)])
    body, last = [], 0
    for row in shown(rows, k):
        place = row.place or 0
        if place > last + 1:
            body.append(_note("⋯", ""))
        if place > k >= last:
            body.append(_note(f"not brought back at k = {k}", ";border-top:2px dashed currentColor"))
        body.append(_row_html(row, widest))
        last = place
    names = ("", "memory", "score", "", *PARTS)
    head = "".join(f'<th scope="col" style="{HEAD}">{_swatch(name)}{name}</th>' for name in names)
    return (
        f'<table style="border-collapse:collapse;line-height:1.4;{INK}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )


def summary_html(
    rows: Sequence[Row], setting: Setting, reached: Reached, best: tuple[Reached, Setting], questions: int
) -> str:
    """The ranking's margin, the metrics over so many `questions`, and the best so far at this k."""
    ahead = margin(rows)
    told = "fewer than two to rank" if ahead is None else f"margin between first and second: {ahead:.3f}"
    if not any(row.relevant for row in rows):
        told += " · ★ none: nothing here answers this question, and yet something stands first"
    lines = (
        told,
        f"over {questions} questions to tune on: <strong>{_measures(reached, setting.k)}</strong>",
        f"your best at k = {setting.k}: {_measures(best[0], setting.k)} · {html.escape(str(best[1]))}",
    )
    inside = "".join(f"<div>{line}</div>" for line in lines)
    return f'<div style="line-height:1.7;margin-top:.5em;{INK}">{inside}</div>'


def tuner_picture(bench: Bench, question: str, setting: Setting) -> Picture:
    """One ranking as the tuner shows it, for a page that runs no code.

    Raises ValueError for a question or an embedder that is not on the bench.
    """
    rows = shown(rank(bench, question, setting), setting.k)
    figure = new_figure(10, 0.42 * len(rows) + 1.5)
    axes = figure.add_subplot()
    _draw_bars(axes, rows)
    back = sum(row.place is None or row.place <= setting.k for row in rows)
    axes.axhline(back - 0.5, color=GREY, linestyle="--", linewidth=1.2)
    axes.set_title(f"“{question}”", loc="left", fontsize=11, style="italic")
    axes.set_xlabel(f"★ should come back    dashed: k = {setting.k}\n{setting}", loc="left", fontsize=9)
    figure.legend(loc="outside upper right", ncols=3, frameon=False, fontsize=10)
    told = ", ".join(f"{_label(row)} {row.score:.3f}" for row in rows)
    return as_picture(figure, f"Ranking for {question!r} ({setting}): {told}.")


def weight_tuner(bench: Bench, setting: Setting | None = None) -> Any:
    """The widget: a control for each part of a `Setting`, one question's ranking, and the metrics over all.

    The three weights keep their sum at 1 until that is unticked. Tab goes from control to control, the arrow
    keys move the one that has the focus. An error in a function under test is raised, not swallowed.
    setting: where the controls stand at first, and after a reset.
    """
    return _Tuner(bench, setting or Setting(bench.embedders[0])).panel


class _Tuner:
    """The controls, and what happens when one is moved."""

    def __init__(self, bench: Bench, setting: Setting) -> None:
        import ipywidgets  # type: ignore[import-untyped]

        self.bench, self.start, self.questions = bench, setting, answerable(bench)
        self.best: dict[int, tuple[Reached, Setting]] = {}
        self.ratio, self.moved, self.ours = _three(setting.weights), -1, False
        self.question = _question(bench)
        self.weights = [_slider("FloatSlider", part, min=0, max=1, step=0.01) for part in PARTS]
        self.linked = ipywidgets.Checkbox(description="keep the sum at 1", indent=False)
        self.k = _slider("IntSlider", "k", min=1, max=max(MOST_K, setting.k))
        self.half_life = _slider("SelectionSlider", "half-life", options=_half_lives(setting))
        self.embedder = _slider("Dropdown", "embedder", options=bench.embedders)
        self.pins = ipywidgets.Checkbox(description="pins first", indent=False)
        self.reset = ipywidgets.Button(description="reset", tooltip="Put every control back to its start")
        self.ranking, self.summary = ipywidgets.HTML(), ipywidgets.HTML()
        self.summary.add_class(LIVE)
        self.panel = self._layout()
        self._put(setting)
        self._listen()
        self.draw()

    def setting(self) -> Setting:
        """Where the controls stand."""
        weights = Mix(*(slider.value for slider in self.weights))
        days = self.half_life.value or None
        return Setting(self.embedder.value, weights, self.k.value, days, self.pins.value)

    def draw(self, _: object = None) -> None:
        """Show the ranking and the metrics for where the controls stand."""
        if self.ours:
            return
        setting = self.setting()
        if not any(_three(setting.weights)):
            self.ranking.value = (
                f'<div style="{INK}">All three weights are 0: give one of them a value.</div>'
            )
            self.summary.value = ""
            return
        rows = rank(self.bench, self.question.value, setting)
        reached = metrics(self.bench, setting)
        best = self.best.get(setting.k)
        if best is None or _rounded(reached) > _rounded(best[0]):
            best = self.best[setting.k] = reached, setting
        self.ranking.value = ranking_html(rows, setting.k)
        self.summary.value = summary_html(rows, setting, reached, best, self.questions)

    def _weigh(self, change: Any) -> None:
        """One weight was moved: move the other two along, unless they are free."""
        if self.ours:
            return
        moved = self.weights.index(change["owner"])
        if moved != self.moved:  # a drag to 1 and back must find the proportion that it started from
            now = [slider.value for slider in self.weights]
            self.ratio, self.moved = (now[0], now[1], now[2]), moved
        if self.linked.value:
            self._set_weights(rebalanced(self.ratio, moved, change["new"]))
        self.draw()

    def _link(self, change: Any) -> None:
        """The sum is to be 1 again, or no longer."""
        self.moved = -1
        if change["new"]:
            now = self.weights[0].value, self.weights[1].value, self.weights[2].value
            total = sum(now)
            self._set_weights(rebalanced(now, 0, now[0] / total) if total else _three(Mix()))
        self.draw()

    def _reset(self, _: object) -> None:
        self._put(self.start)
        self.draw()

    def _put(self, setting: Setting) -> None:
        self.moved = -1
        self.ours = True
        try:
            self.linked.value = round(sum(_three(setting.weights)), 6) == 1
            self.embedder.value, self.pins.value = setting.embedder, setting.pins
            self.half_life.value, self.k.value = setting.half_life or OWN, setting.k
        finally:
            self.ours = False
        self._set_weights(_three(setting.weights))

    def _set_weights(self, weights: Three) -> None:
        self.ours = True
        try:
            for slider, value in zip(self.weights, weights, strict=True):
                slider.value = value
        finally:
            self.ours = False

    def _listen(self) -> None:
        for slider in self.weights:
            slider.observe(self._weigh, names="value")
        self.linked.observe(self._link, names="value")
        for control in (self.question, self.embedder, self.pins, self.half_life, self.k):
            control.observe(self.draw, names="value")
        self.reset.on_click(self._reset)

    def _layout(self) -> Any:
        from ipywidgets import HBox, Layout, VBox

        self.linked.layout = self.pins.layout = Layout(width="max-content", margin="0 2em 0 6.5em")
        left = VBox([*self.weights, HBox([self.linked, self.reset])], layout=Layout(margin="0 2em 0 0"))
        right = VBox([self.k, self.half_life, self.embedder, self.pins])
        knobs = HBox([left, right], layout=Layout(flex_flow="row wrap"))
        without_kernel = "[sliders for the weights, k and the half-life: run this notebook to move them]"
        return panel([self.question, knobs, self.ranking, self.summary], without_kernel)


def _slider(kind: str, name: str, **options: Any) -> Any:
    import ipywidgets

    style, layout = {"description_width": "6em"}, ipywidgets.Layout(width="25em")
    return getattr(ipywidgets, kind)(description=name, style=style, layout=layout, **options)


def _question(bench: Bench) -> Any:
    from ipywidgets import Dropdown, Layout

    asked = [(owner.name, owner.questions[row]) for owner, row in bench.asked()]
    return Dropdown(
        options=[(f"{name}: {text}", text) for name, text in asked],
        description="question",
        style={"description_width": "6em"},
        layout=Layout(width="min(52em, 98%)"),
    )


def _half_lives(setting: Setting) -> list[tuple[str, float]]:
    days = setting.half_life or OWN
    own = {} if days in HALF_LIVES.values() else {f"{days:g} d": days}
    return list((HALF_LIVES | own).items())


def _three(weights: Weighting) -> Three:
    return weights.relevance, weights.recency, weights.importance


def _rounded(reached: Reached) -> Reached:
    """To six decimals, so that no noise in the last bit makes a new best."""
    return round(reached[0], 6), round(reached[1], 6)


def _measures(reached: Reached, k: int) -> str:
    return f"recall@{k} {reached[0]:.3f} · MRR {reached[1]:.3f}"


def _label(row: Row) -> str:
    return f"{'pin' if row.place is None else row.place} {'★ ' if row.relevant else ''}{row.content}"


def _swatch(name: str) -> str:
    style = f"{FILLS.get(name)};display:inline-block;width:1.6em;height:.9em;margin-right:.4em"
    return f'<span aria-hidden="true" style="{style}"></span>' if name in FILLS else ""


def _row_html(row: Row, widest: float) -> str:
    bars = "".join(
        f'<span style="{FILLS[part]};width:{max(0.0, added) / widest:.2%}"></span>'
        for part, added in row.parts.items()
    )
    frame = "display:flex;width:14em;height:1em;background:var(--jp-layout-color2,#eeeeee)"
    weight = ";font-weight:bold" if row.relevant else ""
    cells = (
        html.escape(_label(row)).split(" ", 1),
        [f"{row.score:.3f}", f'<span aria-hidden="true" style="{frame}">{bars}</span>'],
        [f"{added:.3f}" for added in row.parts.values()],
    )
    inside = "".join(f'<td style="{CELL}">{cell}</td>' for some in cells for cell in some)
    return f'<tr style="background:none{weight}">{inside}</tr>'


def _note(text: str, style: str) -> str:
    return f'<tr style="background:none"><td colspan="7" style="{CELL};opacity:.75{style}">{text}</td></tr>'


def _draw_bars(axes: Any, rows: Sequence[Row]) -> None:
    left = [0.0] * len(rows)
    for part, (colour, hatch) in HATCHES.items():
        widths = [max(0.0, row.parts[part]) for row in rows]
        style = {"color": colour, "hatch": hatch, "edgecolor": "white", "height": 0.7, "label": part}
        axes.barh(range(len(rows)), widths, left=left, **style)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    for place, (end, row) in enumerate(zip(left, rows, strict=True)):
        axes.text(end + 0.008, place, f"{row.score:.3f}", va="center", fontsize=10, fontweight="bold")
    axes.set_yticks(range(len(rows)), [fill(_label(row), 60) for row in rows], fontsize=10)
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.tick_params(length=0)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.set_xticks([])
