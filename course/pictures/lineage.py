"""The lineage of a belief as a picture: what replaced what, when, why, and on whose word."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from course.pictures.views import BLUE, GREY, short, sources_text, state_text
from memlab import clock
from memlab.records import MemoryRecord, Source

WIDTH, LEFT, BOX = 860, 300, 520
LINE = 18
FONT = "font-family:system-ui,-apple-system,'Segoe UI',sans-serif"


@dataclass(frozen=True)
class Drawing:
    """An SVG picture with the text that says what it shows."""

    svg: str
    alt: str

    def __repr__(self) -> str:
        return self.alt

    def _repr_svg_(self) -> str:
        return self.svg


def belief(chain: Sequence[MemoryRecord]) -> Drawing:
    """A belief from its oldest form, at the top, to its present one; on the left, whose word each rests on.

    chain: as `memlab.records.lineage` gives it. The arrow between two memories says why one replaced the
    other. Inherited sources are set in brackets and dashed. Raises ValueError for an empty chain.

    Example:
    >>> belief([MemoryRecord("Vegetarian.", "u_ada", topic="diet", created_at=0.0)])
    1970-01-01  Vegetarian.  (● active, confidence 0.60; sources: none)
    """
    if not chain:
        raise ValueError("chain=[] is empty; pass what lineage(records, memory_id) gives")
    parts, top = [], 14
    for place, record in enumerate(chain):
        drawn, bottom = _memory(record, top)
        parts.append(drawn)
        top = bottom
        if place + 1 < len(chain):
            arrow, top = _reason(record, bottom)
            parts.append(arrow)
    alt = "\n".join(line for record in chain for line in _told(record))
    return Drawing(_svg("".join(parts), top + 14, alt), alt)


def _memory(record: MemoryRecord, top: int) -> tuple[str, int]:
    """One memory as a box with its sources beside it, and where it ends."""
    content = wrap(record.content, 58) or [""]
    rows = max(len(content) + 1, len(record.sources))
    height = rows * LINE + 20
    holds = record.active()
    frame = f'fill="#dcecf7" stroke="{BLUE}"' if holds else f'fill="#eeeeee" stroke="{GREY}" {_DASH}'
    box = f'<rect x="{LEFT}" y="{top}" width="{BOX}" height="{height}" rx="8" stroke-width="2" {frame}/>'
    lines = [_text(LEFT + 14, top + 24 + LINE * i, line, bold=True) for i, line in enumerate(content)]
    since = clock.stamp(record.created_at)[:10]
    sure = f"confidence {record.confidence:.2f}"
    facts = f"{short(record.memory_id)} · since {since} · {state_text(record)} · {sure}"
    lines.append(_text(LEFT + 14, top + 24 + LINE * len(content), facts))
    sources = [_source(source, top + 24 + LINE * i) for i, source in enumerate(record.sources)]
    return box + "".join(lines + sources), top + height


def _source(source: Source, y: int) -> str:
    name = f"({source.source_id})" if source.inherited else source.source_id
    said = f"{source.source_type} {name}"
    stroke = f'stroke="{GREY}" {_DASH}' if source.inherited else f'stroke="{BLUE}"'
    line = f'<line x1="{LEFT - 46}" y1="{y - 5}" x2="{LEFT - 6}" y2="{y - 5}" stroke-width="2" {stroke}/>'
    return _text(LEFT - 54, y, said, end=True) + line


def _reason(record: MemoryRecord, top: int) -> tuple[str, int]:
    """The arrow down to what replaced `record`, with the reason, and where it ends."""
    lines = wrap(_why(record), 66)
    bottom = top + max(2, len(lines)) * LINE + 16
    x = LEFT + 30
    arrow = (
        f'<line x1="{x}" y1="{top + 2}" x2="{x}" y2="{bottom - 10}" stroke="#000000" stroke-width="2"/>'
        f'<path d="M{x - 6} {bottom - 11} L{x + 6} {bottom - 11} L{x} {bottom - 1} Z" fill="#000000"/>'
    )
    texts = [_text(x + 16, top + 22 + LINE * i, line) for i, line in enumerate(lines)]
    return arrow + "".join(texts), bottom


def _why(record: MemoryRecord) -> str:
    """The last line of history, without its time: a tombstone ends with why it became one."""
    line = record.history[-1] if record.history else "replaced; no reason was noted"
    return short(line.split(" ", 2)[-1] if line[:2].isdigit() else line)


def _told(record: MemoryRecord) -> list[str]:
    since, state = clock.stamp(record.created_at)[:10], state_text(record)
    told = f"{state}, confidence {record.confidence:.2f}; sources: {sources_text(record.sources)}"
    lines = [f"{since}  {record.content}  ({told})"]
    return [*lines, f"  ↓ {_why(record)}"] if record.superseded_by else lines


_DASH = 'stroke-dasharray="5 4"'


def _text(x: int, y: int, text: str, *, bold: bool = False, end: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    anchor = ' text-anchor="end"' if end else ""
    return f'<text x="{x}" y="{y}" font-size="13" fill="#111111"{weight}{anchor}>{html.escape(text)}</text>'


def _svg(parts: str, height: int, alt: str) -> str:
    legend = "left: whose word it rests on; dashed and in brackets: inherited from what it replaced"
    note = _text(14, height + 12, legend)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {height + 26}" '
        f'width="{WIDTH}" style="max-width:100%;height:auto;{FONT}"><title>{html.escape(alt)}</title>'
        f'<rect width="100%" height="100%" fill="#ffffff"/>{parts}{note}</svg>'
    )
