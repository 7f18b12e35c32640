"""The time slider of lesson 07: what a day shows, and that its callbacks fail loudly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from course.pictures.time_slider import Day, days_picture, decay_curves, fading, time_slider
from memlab import clock
from memlab.records import MemoryRecord


def word(confidence: float) -> str:
    return "high" if confidence >= 0.75 else "medium" if confidence >= 0.5 else "low"


@pytest.fixture(autouse=True)
def frozen() -> Iterator[None]:
    with clock.freeze("2026-08-06T20:11:27Z"):
        yield


@pytest.fixture
def records() -> list[MemoryRecord]:
    return [
        MemoryRecord("The user goes by Ada.", "u_ada", half_life_days=3650, confidence=0.9),
        MemoryRecord("An <export> fails.", "u_ada", half_life_days=30, confidence=0.8),
        MemoryRecord("Allergic to nuts.", "u_ada", half_life_days=30, confidence=0.9, importance=1.0),
    ]


def states(day: Day) -> list[str]:
    return [row.state for row in day.rows]


def sliders(widget: Any) -> tuple[Any, Any, Any]:
    day, floor, picture, _ = widget.children
    return day, floor, picture


@pytest.mark.parametrize(
    ("day", "issue"), [(0, "high"), (15, "medium"), (30, "low"), (59, "low"), (61, "pruned"), (365, "pruned")]
)
def test_an_issue_falls_through_the_bands_to_the_floor(
    records: list[MemoryRecord], day: int, issue: str
) -> None:
    assert states(fading(records, day, floor=0.2, band=word)) == ["high", issue, "pin"]


def test_a_memory_at_the_floor_itself_is_kept(records: list[MemoryRecord]) -> None:
    assert states(fading(records, 60, floor=0.2, band=word))[1] == "low"


def test_a_pin_neither_decays_nor_is_pruned(records: list[MemoryRecord]) -> None:
    assert fading(records, 3650, floor=1.0, band=word).rows[2].confidence == 0.9


def test_drawing_a_day_changes_no_memory(records: list[MemoryRecord]) -> None:
    before = [record.to_json() for record in records]
    fading(records, 365, floor=0.5, band=word)
    assert [record.to_json() for record in records] == before


def test_a_pruned_memory_is_struck_out_and_says_so_in_words(records: list[MemoryRecord]) -> None:
    shown = fading(records, 90, floor=0.2, band=word)
    assert "<s " in shown._repr_html_()
    assert "✗ pruned" in shown._repr_html_()
    assert "day 90: 2 of 3 memories left" in repr(shown)


def test_what_a_memory_says_cannot_add_markup(records: list[MemoryRecord]) -> None:
    assert "<export>" not in fading(records, 0, floor=0.2, band=word)._repr_html_()


@pytest.mark.parametrize("floor", [-0.1, 20, float("nan")])
def test_a_floor_that_is_no_fraction_is_refused(records: list[MemoryRecord], floor: float) -> None:
    with pytest.raises(ValueError, match="floor"):
        fading(records, 0, floor=floor, band=word)


@pytest.mark.parametrize("day", [0, 1, 30, 90, 180, 365])
@pytest.mark.parametrize("floor", [0.0, 0.2, 1.0])
def test_moving_the_sliders_redraws_that_day(records: list[MemoryRecord], day: int, floor: float) -> None:
    widget = time_slider(records, floor=0.2, band=word)
    day_slider, floor_slider, picture = sliders(widget)
    day_slider.value, floor_slider.value = day, floor
    assert fading(records, day, floor=floor, band=word)._repr_html_() in picture.value


def test_an_error_while_drawing_reaches_whoever_moved_the_slider(records: list[MemoryRecord]) -> None:
    def broken(confidence: float) -> str:
        if confidence < 0.5:
            raise RuntimeError("no word for it")
        return "high"

    day_slider, _, _ = sliders(time_slider(records, floor=0.0, band=broken))
    with pytest.raises(RuntimeError, match="no word for it"):
        day_slider.value = 365


def test_every_slider_has_a_label_and_can_be_moved_by_keyboard(records: list[MemoryRecord]) -> None:
    day_slider, floor_slider, _ = sliders(time_slider(records, floor=0.2, band=word))
    for slider in (day_slider, floor_slider):
        assert slider.description
        assert slider.tooltip
        assert slider.step
        assert not slider.disabled


def test_without_a_kernel_the_slider_says_how_to_move_it(records: list[MemoryRecord]) -> None:
    assert "run this notebook" in repr(time_slider(records, floor=0.2, band=word))


def test_the_pictures_say_in_words_what_they_show(records: list[MemoryRecord]) -> None:
    days = days_picture(records, [0, 90], floor=0.2, band=word)
    assert re.search(r"day 90: 2 of 3 .*An <export> fails. 0.10 pruned", days.alt)
    curves = decay_curves(records, floor=0.2)
    assert "The user goes by Ada. 0.84" in curves.alt
    assert curves.png.startswith(b"\x89PNG")


def test_the_pictures_are_the_same_bytes_every_time(records: list[MemoryRecord]) -> None:
    assert days_picture(records, [0, 30], floor=0.2, band=word) == days_picture(
        records, [0, 30], floor=0.2, band=word
    )
    assert decay_curves(records, floor=0.2).png == decay_curves(records, floor=0.2).png
