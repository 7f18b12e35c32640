"""The stepper of lesson 04: what it plays, what it shows, and that its controls do what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ipywidgets import HTML, Button, HBox, IntSlider, VBox

from course.pictures.stepper import Step, play, step_view, stepper, strip
from memlab.records import Candidate, Conversation, MemoryRecord, Source
from solutions.consolidation import affected_memories, apply, decide, similar_memories
from solutions.demo import ADA, load_conversations
from solutions.extraction import rule_extract

TALKS = [Conversation(talk.source, talk.messages) for talk in load_conversations(ADA)]


def played(affected: Callable[..., list[MemoryRecord]] = affected_memories, **kwargs: Any) -> list[Step]:
    functions = {"extract": rule_extract, "decide": decide, "apply": apply} | kwargs
    return play(TALKS, affected_memories=affected, **functions)


STEPS = played()


def controls(widget: VBox) -> tuple[Button, Button, IntSlider, HTML]:
    bar, view, _ = widget.children
    assert isinstance(bar, HBox)
    back, on, slider = bar.children
    return back, on, slider, view


def test_there_is_a_step_for_each_message_of_each_conversation() -> None:
    assert len(STEPS) == sum(len(talk.messages) for talk in TALKS)


def test_the_store_of_a_step_is_the_one_right_after_its_message() -> None:
    sizes = [len(step.store) for step in STEPS]
    assert sizes == sorted(sizes)
    assert sizes[0] == 0
    assert sizes[-1] == 4


def test_the_topic_sweep_finds_the_vegetarian_and_similarity_alone_does_not() -> None:
    swept, similar = (
        [step for step in played(found) if step.learned][-1]
        for found in (affected_memories, similar_memories)
    )
    assert [operation.operation.action for operation in swept.learned] == ["UPDATE"]
    assert [operation.operation.action for operation in similar.learned] == ["CREATE"]
    assert [record.content for record in swept.learned[0].affected] == ["The user follows a vegetarian diet."]
    assert similar.learned[0].affected == []


def test_nothing_said_is_refused() -> None:
    with pytest.raises(ValueError, match="conversations hold no message"):
        play([], extract=rule_extract, affected_memories=affected_memories, decide=decide, apply=apply)


def test_what_a_function_under_work_raises_is_not_hidden() -> None:
    def unfinished(*_: object) -> Any:
        raise NotImplementedError("04-decide")

    with pytest.raises(NotImplementedError, match="04-decide"):
        played(decide=unfinished)


@pytest.mark.parametrize("number", range(1, len(STEPS) + 1))
def test_every_step_is_shown_with_its_message_and_its_store(number: int) -> None:
    shown = repr(step_view(STEPS, number))
    step = STEPS[number - 1]
    assert f"Step {number} of {len(STEPS)}" in shown
    assert all(learned.operation.action in shown for learned in step.learned)
    assert all(record.content in shown for record in step.store)


@pytest.mark.parametrize("number", [0, -1, len(STEPS) + 1])
def test_a_number_that_is_no_step_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="is no step; pass 1 to"):
        step_view(STEPS, number)


def test_the_strip_shows_every_message_once_and_every_decision() -> None:
    rows = strip(STEPS).rows
    assert [row[0] for row in rows if row[0]] == [str(n) for n in range(1, len(STEPS) + 1)]
    decisions = [learned.operation.action for step in STEPS for learned in step.learned]
    assert [str(row[4]).split()[0] for row in rows if row[4] != "–"] == decisions


@pytest.mark.parametrize("number", [2, 4, len(STEPS), 1])
def test_moving_the_slider_shows_that_step(number: int) -> None:
    _, _, slider, view = controls(stepper(STEPS))
    slider.value = number
    assert step_view(STEPS, number)._repr_html_() in view.value


def test_the_buttons_walk_through_all_steps_and_stop_at_both_ends() -> None:
    back, on, slider, view = controls(stepper(STEPS))
    assert back.disabled
    for number in range(2, len(STEPS) + 1):
        on.click()
        assert slider.value == number
        assert f"Step {number} of" in view.value
    assert on.disabled
    on.click()
    assert slider.value == len(STEPS)
    for _ in STEPS:
        back.click()
    assert slider.value == 1
    assert not on.disabled


def test_each_control_says_what_it_is() -> None:
    back, on, slider, _ = controls(stepper(STEPS))
    assert all([back.description, back.tooltip, on.description, on.tooltip, slider.description])


def test_a_conversation_of_one_message_has_nowhere_to_go() -> None:
    talk = Conversation(Source("user_implicit", "s1", at=0.0), [{"role": "user", "content": "hello"}])
    steps = play(
        [talk], extract=rule_extract, affected_memories=affected_memories, decide=decide, apply=apply
    )
    back, on, slider, _ = controls(stepper(steps))
    on.click()
    back.click()
    assert (slider.value, back.disabled, on.disabled) == (1, True, True)


def test_markup_in_a_message_stays_text() -> None:
    said = "<img src=x onerror=alert(1)>"
    talk = Conversation(Source("user_implicit", "s1", at=0.0), [{"role": "user", "content": said}])
    steps = play(
        [talk],
        extract=lambda _: [Candidate(said, "general", 0.9, said)],
        affected_memories=affected_memories,
        decide=decide,
        apply=apply,
    )
    for shown in (step_view(steps, 1)._repr_html_(), strip(steps)._repr_html_()):
        assert "<img" not in shown
        assert "&lt;img" in shown
