"""The stepper: a conversation played one message at a time, through the functions it is given.

`play` runs it and gives a list of steps, `step_view` shows one, `strip` shows all of them on a page that
runs no code, and `stepper` is the widget: buttons, a slider, and `step_view`.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from course.pictures.views import Rich, Table, dialogue, operations_table, short, store_table
from course.pictures.widgets import LIVE, panel
from memlab import clock
from memlab.messages import read_messages
from memlab.records import Candidate, Conversation, MemoryRecord, Operation, Source
from memlab.store import MemoryStore

Extract = Callable[[list[dict[str, Any]]], list[Candidate]]
Affected = Callable[..., list[MemoryRecord]]
Decide = Callable[[Candidate, list[MemoryRecord], Source], Operation]
Apply = Callable[..., object]


@dataclass(frozen=True)
class Learned:
    """What became of one candidate: the memories it might affect, and the decision."""

    candidate: Candidate
    affected: list[MemoryRecord]
    operation: Operation


@dataclass(frozen=True)
class Step:
    """One message, what was learned from it, and all memories afterwards, tombstones included."""

    source: Source
    message: dict[str, Any]
    learned: list[Learned]
    store: list[MemoryRecord]


@dataclass(frozen=True)
class Panel:
    """Tables under one another, each with a heading."""

    title: str
    parts: Sequence[tuple[str, Table]]

    def __repr__(self) -> str:
        return "\n\n".join([self.title, *(f"{head}\n{table!r}" for head, table in self.parts)])

    def _repr_html_(self) -> str:
        shown = [f"<p><em>{html.escape(head)}</em></p>{table._repr_html_()}" for head, table in self.parts]
        return f"<p><strong>{html.escape(self.title)}</strong></p>{''.join(shown)}"


def play(
    conversations: Iterable[Conversation],
    *,
    extract: Extract,
    affected_memories: Affected,
    decide: Decide,
    apply: Apply,
    user_id: str = "u_ada",
) -> list[Step]:
    """Learn the conversations, message by message, in a fresh store; one step a message.

    Each is learned at the time of its source. Raises what the functions raise, and ValueError when there
    is no message at all.
    """
    steps = []
    with MemoryStore() as store:
        for conversation in conversations:
            with clock.freeze(conversation.source.at):
                for message in conversation.messages:
                    learned = []
                    for candidate in extract([message]):
                        source = replace(conversation.source, excerpt=candidate.excerpt)
                        affected = affected_memories(store, candidate, user_id=user_id)
                        operation = decide(candidate, affected, source)
                        apply(store, operation, candidate, source, user_id=user_id)
                        learned.append(Learned(candidate, affected, operation))
                    steps.append(Step(conversation.source, message, learned, store.owned(user_id)))
    if not steps:
        raise ValueError("conversations hold no message; pass at least one")
    return steps


def step_view(steps: Sequence[Step], number: int) -> Panel:
    """Step `number` (1 for the first): the message, candidates, affected memories, decisions, the store.

    Raises ValueError for a number that is no step.
    """
    if not 1 <= number <= len(steps):
        raise ValueError(f"number={number!r} is no step; pass 1 to {len(steps)}")
    step = steps[number - 1]
    title = f"Step {number} of {len(steps)} · session {step.source.source_id} ({step.source.source_type})"
    excerpts = [learned.candidate.excerpt for learned in step.learned]
    found = [[c.candidate.topic, c.candidate.content, _named(c.affected)] for c in step.learned]
    return Panel(
        title,
        [
            ("Message", dialogue([step.message], excerpts)),
            (
                "Candidates",
                Table(["topic", "candidate", "may affect"], found or [["–", "nothing to remember", "–"]]),
            ),
            ("Decisions", operations_table(learned.operation for learned in step.learned)),
            ("Store afterwards", store_table(step.store)),
        ],
    )


def strip(steps: Sequence[Step]) -> Table:
    """All steps at once: who spoke, and for each candidate what it affected, the decision, and the store."""
    rows = []
    for number, step in enumerate(steps, 1):
        [(role, text)] = read_messages([step.message])
        told = (str(number), f"{step.source.source_id} {role}: {text}")
        for place, learned in enumerate(step.learned or [None]):
            head = told if place == 0 else ("", "")
            rows.append([*head, *_outcome(learned), _held(step.store) if place == 0 else ""])
    return Table(["step", "message", "candidate", "affected", "decision", "held afterwards"], rows)


def stepper(steps: Sequence[Step]) -> Any:
    """The widget: a slider over the steps, a button back and one on, and below them the step's view.

    Tab reaches all three; Enter or Space presses a button, the arrow keys move the slider.
    """
    # slow to import, and a step's view does not need it
    from ipywidgets import HTML, Button, HBox, IntSlider, Layout  # type: ignore[import-untyped]

    slider = IntSlider(value=1, min=1, max=len(steps), description="step", layout=Layout(width="24em"))
    back = Button(description="◀ previous", tooltip="Show the message before")
    on = Button(description="next ▶", tooltip="Show the next message")
    view = HTML()
    view.add_class(LIVE)

    def show(number: int) -> None:
        view.value = step_view(steps, number)._repr_html_()
        back.disabled, on.disabled = number == 1, number == len(steps)

    slider.observe(lambda change: show(change["new"]), names="value")
    back.on_click(lambda _: _move(slider, -1))
    on.on_click(lambda _: _move(slider, +1))
    show(slider.value)
    static = f"[stepper: {len(steps)} steps, to be moved through in a running notebook]"
    return panel([HBox([back, on, slider]), view], static)


def _move(slider: Any, by: int) -> None:
    slider.value = min(max(slider.value + by, slider.min), slider.max)


def _outcome(learned: Learned | None) -> tuple[str, str, str | Rich]:
    if learned is None:
        return "–", "–", "–"
    operation = learned.operation
    done = f"{operation.action} {short(operation.target_id or '')}".strip()
    unbroken = f'<span style="white-space:nowrap">{html.escape(done)}</span>'
    return learned.candidate.content, _named(learned.affected), Rich(done, unbroken)


def _named(records: Iterable[MemoryRecord]) -> str:
    return "; ".join(f"{short(record.memory_id)} {record.content}" for record in records) or "nothing"


def _held(records: Iterable[MemoryRecord]) -> Rich:
    held = [f"● {record.content}" for record in records if record.active()] or ["nothing"]
    return Rich(" ".join(held), "<br>".join(map(html.escape, held)))
