"""What the lessons show: tables and pictures of conversations, decisions, memories and scores.

Every function takes what it draws as an argument and gives back an object that JupyterLab shows. Colours
are those of Okabe and Ito, which all eyes tell apart, and none of them carries a meaning alone.
"""

from __future__ import annotations

import base64
import html
import io
import logging
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import fill
from typing import Any, Protocol

from memlab.clock import DAY
from memlab.messages import read_messages
from memlab.records import MemoryRecord, Operation, Source

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#9a9a9a"
AMBER, GREEN = "#e69f00", "#009e73"
MARK = "background:#f0e442;color:#000000"


class Weighed(Protocol):
    """What `score_bars` needs of a hit: the memory, its score, and the parts before they are weighted."""

    @property
    def score(self) -> float: ...
    @property
    def record(self) -> MemoryRecord: ...
    @property
    def relevance(self) -> float: ...
    @property
    def recency(self) -> float: ...
    @property
    def importance(self) -> float: ...


class Weighting(Protocol):
    """How much each part of a score counts."""

    @property
    def relevance(self) -> float: ...
    @property
    def recency(self) -> float: ...
    @property
    def importance(self) -> float: ...


@dataclass(frozen=True)
class Picture:
    """A PNG picture with the sentence that says what it shows, for those who cannot see it."""

    png: bytes
    alt: str

    def __repr__(self) -> str:
        return f"[picture: {self.alt}]"

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        data = {"image/png": base64.b64encode(self.png).decode(), "text/plain": repr(self)}
        return data, {"image/png": {"alt": self.alt}}


@dataclass(frozen=True)
class Rich:
    """The text of a table's cell that looks better in HTML, with that (safe) HTML.

    Example:
    >>> str(Rich("0.65", "<b>0.65</b>"))
    '0.65'
    """

    text: str
    html: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Table:
    """A small table: `head`, and rows of texts and numbers (shown with three decimals).

    best: in each row, mark the largest number. faded: positions of the rows that step back.

    Example:
    >>> Table(["text", "cosine"], [["diet", 0.5]])
    text  cosine
    diet  0.500
    >>> "<script>" in Table(["text"], [["<script>"]])._repr_html_()
    False
    """

    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    best: bool = False
    faded: Collection[int] = ()

    def __repr__(self) -> str:
        lines = [list(self.head), *([str(cell) for cell in self._cells(row)] for row in self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.head))]
        return "\n".join(
            "  ".join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    def _repr_html_(self) -> str:
        head = "".join(f'<th style="text-align:left">{html.escape(text)}</th>' for text in self.head)
        body = "".join(self._row(number, row) for number, row in enumerate(self.rows))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _row(self, number: int, row: Sequence[object]) -> str:
        style = ' style="opacity:.65"' if number in self.faded else ""
        cells = "".join(f'<td style="text-align:left">{cell.html}</td>' for cell in self._cells(row))
        return f"<tr{style}>{cells}</tr>"

    def _cells(self, row: Sequence[object]) -> list[Rich]:
        numbers = [round(cell, 3) for cell in row if isinstance(cell, float)]
        top = max(numbers, default=0.0) if self.best else math.inf
        return [_cell(cell, top) for cell in row]


def dialogue(messages: list[dict[str, Any]], remembered: Iterable[str] = ()) -> Table:
    """A conversation, turn by turn; the words of the user that stand in `remembered` are marked.

    Raises ValueError or TypeError for malformed messages.

    Example:
    >>> dialogue([{"role": "user", "content": "Hello. Call me Ada."}], ["Call me Ada."])
    who   what was said
    user  Hello. [Call me Ada.]
    """
    excerpts = [excerpt for excerpt in remembered if excerpt]
    turns = read_messages(messages)
    rows = [(role, _marked(text, excerpts if role == "user" else [])) for role, text in turns]
    return Table(["who", "what was said"], rows)


def operations_table(operations: Iterable[Operation]) -> Table:
    """What was decided about each candidate, which memory that concerns, and why.

    Example:
    >>> operations_table([Operation("NOOP", "mem_f54fa966a6f0", "Goes by Ada.", "known")])
    decision  candidate     concerns  because
    NOOP      Goes by Ada.  …a6f0     known
    """
    rows = [
        (
            operation.action,
            operation.content,
            _id(operation.target_id) if operation.target_id else "–",
            short(operation.reason),
        )
        for operation in operations
    ]
    return Table(["decision", "candidate", "concerns", "because"], rows)


def store_table(records: Iterable[MemoryRecord]) -> Table:
    """Memories: what each says, how sure we are, from which sources, and what became of it.

    Example:
    >>> store_table([MemoryRecord("Goes by Ada.", "u_ada", memory_id="mem_f54fa966a6f0")])
    id     topic    memory        confidence  sources  state
    …a6f0  general  Goes by Ada.  0.60        none     ● active
    """
    listed = list(records)
    rows = [
        (_id(r.memory_id), r.topic, r.content, _bar(r.confidence), sources_text(r.sources), state_text(r))
        for r in listed
    ]
    faded = {number for number, record in enumerate(listed) if not record.active()}
    return Table(["id", "topic", "memory", "confidence", "sources", "state"], rows, faded=faded)


def changes_table(before: Iterable[MemoryRecord], after: Iterable[MemoryRecord]) -> Table:
    """The same memories at two moments: state, confidence and sources; one that is gone was erased.

    Example:
    >>> changes_table([MemoryRecord("Goes by Ada.", "u_ada", memory_id="mem_f54fa966a6f0")], [])
    id     memory        before                after
    …a6f0  Goes by Ada.  ● active, 0.60; none  ✗ erased
    """
    old, new = ({record.memory_id: record for record in records} for records in (before, after))
    ids = list(old | new)
    rows = [
        (
            _id(key),
            (new.get(key) or old[key]).content,
            _standing(old.get(key), "–"),
            _standing(new.get(key), "✗ erased"),
        )
        for key in ids
    ]
    faded = {number for number, key in enumerate(ids) if key not in new}
    return Table(["id", "memory", "before", "after"], rows, faded=faded)


def sources_text(sources: Iterable[Source]) -> str:
    """Sources on one line, grouped by kind; those only taken over from an older memory in brackets.

    Example:
    >>> sources_text([Source("user_implicit", "s1", inherited=True), Source("user_explicit", "s3")])
    'user_implicit (s1), user_explicit s3'
    """
    kinds = [
        f"{kind} {' '.join(f'({s.source_id})' if s.inherited else s.source_id for s in group)}"
        for kind, group in groupby(sources, key=lambda source: source.source_type)
    ]
    return ", ".join(kinds) or "none"


def state_text(record: MemoryRecord) -> str:
    """Whether a memory holds, or what ended it.

    Example:
    >>> state_text(MemoryRecord("The user goes by Ada.", "u_ada"))
    '● active'
    """
    if record.superseded_by:
        return f"○ replaced by {short(record.superseded_by)}"
    if record.invalidated_at is not None:
        return "○ tombstone"
    return "● active" if record.active() else "○ expired"


def short(text: str) -> str:
    """`text` with each memory id in it cut to its last four digits.

    Example:
    >>> short("contradicts mem_f54fa966a6f0")
    'contradicts …a6f0'
    """
    return re.sub(r"\bmem_[0-9a-f]{8}([0-9a-f]{4})\b", r"…\1", text)


def score_bars(answers: Mapping[str, Sequence[Weighed]], weights: Weighting) -> Picture:
    """For each question its hits, best first, as bars stacked from the three weighted parts of the score.

    answers: the question and its hits. weights: those with which the hits were scored.
    """
    heights = [max(1, len(hits)) for hits in answers.values()]
    figure = new_figure(10, 0.42 * sum(heights) + 0.55 * len(heights) + 0.6)
    panels = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (question, hits) in zip(panels, answers.items(), strict=True):
        _stack(axes, hits, weights)
        axes.set_title(f"“{question}”", loc="left", fontsize=11, style="italic")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower right", ncols=3, frameon=False, fontsize=10)
    told = [
        f"{question!r}: " + (", ".join(f"{hit.score:.3f} {hit.record.content}" for hit in hits) or "nothing")
        for question, hits in answers.items()
    ]
    return as_picture(figure, f"Blended scores. {'; '.join(told)}")


def lineage_picture(chain: Sequence[MemoryRecord]) -> Picture:
    """A belief's past, each memory left of the one that replaced it, with the sources they rest on above.

    chain: as `memlab.records.lineage` gives it. Inherited sources hang on dashed arrows.

    Example:
    >>> lineage_picture([MemoryRecord("Goes by Ada.", "u_ada", sources=[Source("user_explicit", "s1")])])
    [picture: Lineage, oldest first; inherited sources in brackets: Goes by Ada. (user_explicit s1; ● active)]
    """
    figure = new_figure(4.2 * len(chain) + 1.0, 3.2)
    axes = figure.add_subplot()
    axes.set_xlim(-0.6, len(chain) - 0.4)
    axes.set_ylim(-0.45, 1.4)
    axes.axis("off")
    kinds = {source.source_id: source.source_type for record in chain for source in record.sources}
    step = len(chain) / max(1, len(kinds))
    above = {source_id: (place + 0.5) * step - 0.5 for place, source_id in enumerate(kinds)}
    at = {record.memory_id: place for place, record in enumerate(chain)}
    for record in chain:
        here = at[record.memory_id]
        for source in record.sources:
            _arrow(axes, (above[source.source_id], 1.12), (here, 0.4), inherited=source.inherited)
        if record.superseded_by in at:
            _succession(axes, here, at[record.superseded_by])
        _box(axes, here, record)
    for source_id, x in above.items():
        axes.text(x, 1.25, f"{source_id}\n{kinds[source_id]}", ha="center", va="center", fontsize=10)
    legend = "solid: the source says it itself    dashed: inherited from what was replaced"
    axes.text(len(chain) / 2 - 0.5, -0.4, legend, ha="center", fontsize=9, color="#555555")
    told = [f"{record.content} ({sources_text(record.sources)}; {state_text(record)})" for record in chain]
    return as_picture(figure, f"Lineage, oldest first; inherited sources in brackets: {' → '.join(told)}")


def bands_picture(
    memories: Mapping[str, MemoryRecord], band: Callable[[float], str], *, days: int, every: int = 2
) -> Picture:
    """How a reader is told to trust each memory, day by day from now: one bar a memory, one part a band.

    band: from decayed confidence to its word. A pin, of importance 1, does not decay.
    """
    figure = new_figure(9.0, 0.75 * len(memories) + 0.9)
    axes = figure.add_subplot()
    told = []
    for place, (name, record) in enumerate(memories.items()):
        spans = _spans(record, band, range(0, days + 1, every))
        for word, start, end in spans:
            colour, hatch = _BANDS.get(word, (GREY, ""))
            axes.barh(
                place, end - start, left=start, color=colour, hatch=hatch, edgecolor="white", height=0.6
            )
            if end - start > days / 14:
                box = {"facecolor": "white", "edgecolor": "none", "boxstyle": "round,pad=0.2"}
                axes.text((start + end) / 2, place, word, ha="center", va="center", fontsize=10, bbox=box)
        told.append(f"{name}: {', '.join(f'{word} until day {end}' for word, _, end in spans)}")
    axes.set_yticks(range(len(memories)), list(memories), fontsize=10)
    axes.invert_yaxis()
    axes.set_xlim(0, days)
    axes.set_xlabel("days since the memory was last confirmed")
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return as_picture(figure, f"Confidence bands over time. {'; '.join(told)}")


def growth_picture(lines: Mapping[str, Sequence[int]], *, step: str, unit: str) -> Picture:
    """What grows and what does not: one line each, labelled at its end."""
    figure = new_figure(8.0, 3.2)
    axes = figure.add_subplot()
    styles = ((BLUE, "o", "-"), (ORANGE, "s", "--"), (GREEN, "^", ":"))
    for (name, values), (colour, mark, style) in zip(lines.items(), styles, strict=False):
        steps = range(1, len(values) + 1)
        axes.plot(steps, values, color=colour, marker=mark, linestyle=style, linewidth=2)
        axes.annotate(
            f"   {name}: {values[-1]:,}", (len(values), values[-1]), va="center", fontsize=10, color=colour
        )
    longest = max(map(len, lines.values()))
    axes.set_xlim(0.8, longest * 1.45)
    axes.set_xticks(range(1, longest + 1))
    axes.set_ylim(bottom=0)
    axes.set_xlabel(step, loc="left")
    axes.set_ylabel(unit)
    axes.spines[["top", "right"]].set_visible(False)
    told = [f"{name} from {values[0]:,} to {values[-1]:,}" for name, values in lines.items()]
    return as_picture(figure, f"{unit} by {step}: {'; '.join(told)}")


def _cell(value: object, top: float) -> Rich:
    if isinstance(value, Rich):
        return value
    if not isinstance(value, float):
        return Rich(str(value), html.escape(str(value)))
    if round(value, 3) == top > 0:
        return Rich(f"▸ {value:.3f}", f"<strong>▸ {value:.3f}</strong>")
    return Rich(f"{value:.3f}", f"{value:.3f}")


def _marked(text: str, excerpts: list[str]) -> Rich:
    """`text` with each excerpt that stands in it set off: in brackets, or on yellow."""
    if not excerpts:
        return Rich(text, html.escape(text))
    longest_first = sorted(set(excerpts), key=len, reverse=True)
    parts = re.split(f"({'|'.join(map(re.escape, longest_first))})", text)
    return Rich(
        "".join(f"[{part}]" if place % 2 else part for place, part in enumerate(parts)),
        "".join(
            f'<mark style="{MARK}">{html.escape(part)}</mark>' if place % 2 else html.escape(part)
            for place, part in enumerate(parts)
        ),
    )


def _bar(confidence: float) -> Rich:
    text = f"{confidence:.2f}"
    bar = f'<span style="display:inline-block;width:{confidence * 48:.0f}px;height:.6em;background:{BLUE}">'
    frame = "display:inline-block;width:48px;line-height:1;border:1px solid #999999;margin-left:6px"
    return Rich(text, f'{text}<span style="{frame}" aria-hidden="true">{bar}</span></span>')


def _id(memory_id: str) -> Rich:
    return Rich(short(memory_id), f'<span style="white-space:nowrap">{html.escape(short(memory_id))}</span>')


def _standing(record: MemoryRecord | None, missing: str) -> Rich:
    if record is None:
        return Rich(missing, html.escape(missing))
    lines = f"{state_text(record)}, {record.confidence:.2f}", sources_text(record.sources)
    return Rich("; ".join(lines), "<br>".join(map(html.escape, lines)))


def _stack(axes: Any, hits: Sequence[Weighed], weights: Weighting) -> None:
    places = range(len(hits))
    left = [0.0] * len(hits)
    for part, colour, hatch in (
        ("relevance", BLUE, ""),
        ("recency", AMBER, "//"),
        ("importance", GREEN, ".."),
    ):
        widths = [getattr(weights, part) * getattr(hit, part) for hit in hits]
        axes.barh(
            places, widths, left=left, color=colour, hatch=hatch, edgecolor="white", height=0.7, label=part
        )
        left = [start + width for start, width in zip(left, widths, strict=True)]
    for place, (end, hit) in enumerate(zip(left, hits, strict=True)):
        axes.text(end + 0.008, place, f"{hit.score:.3f}", va="center", fontsize=10, fontweight="bold")
    axes.set_yticks(places, [hit.record.content for hit in hits], fontsize=10)
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.tick_params(length=0)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.set_xticks([])


def _arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], *, inherited: bool) -> None:
    style = {
        "arrowstyle": "-|>",
        "color": GREY if inherited else BLUE,
        "linestyle": "--" if inherited else "-",
        "linewidth": 1.4 if inherited else 2.0,
    }
    axes.annotate("", xy=end, xytext=start, arrowprops=style)


def _succession(axes: Any, old: int, new: int) -> None:
    bend = f"arc3,rad={0.25 * (new - old - 1)}"  # around what stands between them
    style = {"arrowstyle": "-|>", "color": "black", "linewidth": 2.0, "connectionstyle": bend}
    axes.annotate("", xy=(new - 0.31, 0.12), xytext=(old + 0.31, 0.12), arrowprops=style)
    axes.text(old + 0.5, 0.17, "replaced by", ha="center", fontsize=10)


def _box(axes: Any, at: int, record: MemoryRecord) -> None:
    holds = record.active()
    state = "● active" if holds else "○ tombstone"
    text = f"{fill(record.content, 28)}\n{state} · confidence {record.confidence:.2f}"
    frame = {
        "boxstyle": "round,pad=0.6",
        "facecolor": "#dcecf7" if holds else "#eeeeee",
        "edgecolor": BLUE if holds else GREY,
        "linestyle": "-" if holds else "--",
        "linewidth": 1.6,
    }
    axes.text(at, 0.1, text, ha="center", va="center", fontsize=10, bbox=frame, linespacing=1.5)


def new_figure(width: float, height: float) -> Any:
    """An empty white matplotlib figure, sizes in inches: legible in light and dark themes."""
    # It would otherwise warn, in red, when it builds its list of fonts for the first time.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    from matplotlib.figure import Figure  # slow to import, and a check does not need it

    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def as_picture(figure: Any, alt: str) -> Picture:
    """What `figure` shows, as PNG bytes that are the same on every run; `alt` says it in a sentence."""
    from matplotlib.text import Text

    axes = [axis for panel in figure.axes for axis in (panel.xaxis, panel.yaxis)]
    powers = [
        label for axis in axes if axis.get_scale() == "log" for label in axis.get_ticklabels(which="both")
    ]
    for text in figure.findobj(Text):
        if text not in powers:  # these are formulas: 10³
            text.set_parse_math(False)  # between two dollars matplotlib reads a formula, or fails
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100, metadata={"Software": None})
    return Picture(buffer.getvalue(), alt)


_BANDS = {"high": (BLUE, ""), "medium": (AMBER, "//"), "low": (GREY, "..")}


def _spans(
    record: MemoryRecord, band: Callable[[float], str], days: Sequence[int]
) -> list[tuple[str, int, int]]:
    """(band, first day, day on which the next one begins), in order of time."""

    def word(day: int) -> str:
        at = record.updated_at + day * DAY
        return band(record.confidence if record.importance >= 1.0 else record.decayed_confidence(at))

    runs = [(name, list(run)) for name, run in groupby(days, key=word)]
    starts = [run[0] for _, run in runs]
    return [
        (name, start, end)
        for (name, _), start, end in zip(runs, starts, [*starts[1:], days[-1]], strict=True)
    ]
