"""The widgets in a real JupyterLab: moved by keyboard and mouse, they show what the functions give.

What should be on the page is asked of the notebook's own kernel, by calling the plain function there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from browser import ARTEFACTS, Lab, Notebook, errors
from playwright.sync_api import Locator

pytestmark = pytest.mark.xdist_group("browser")

PATIENCE = 20.0  # seconds for a redraw to reach the page; it takes far less on an idle machine

CELL = """id => {
    const notebook = jupyterapp.shell.currentWidget.content;
    const index = notebook.widgets.findIndex(cell => cell.model.id === id);
    notebook.activeCellIndex = index;
    notebook.scrollToItem(index, 'start');
    notebook.widgets[index].node.dataset.cell = id;
}"""
ASK = """async code => {
    const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    const future = kernel.requestExecute({code, store_history: false});
    let printed = '';
    future.onIOPub = message => {
        if (message.header.msg_type === 'stream') printed += message.content.text;
        if (message.header.msg_type === 'error') printed += message.content.evalue;
    };
    await future.done;
    return printed;
}"""
TEXT = """html => {
    const page = document.createElement('div');
    page.innerHTML = html;
    return page.textContent.trim();
}"""
COUNT = "() => jupyterapp.shell.currentWidget.content.widgets.length"
THEME = "theme => jupyterapp.commands.execute('apputils:change-theme', {theme})"

TOLD = """
from course.pictures.tuning import margin, rank
from course.pictures.tuner import ranking_html

def told(question, setting):
    rows = rank(TUNE, question, setting)
    recall, reciprocal = metrics(TUNE, setting)
    print(ranking_html(rows, setting.k))
    print(f"margin between first and second: {margin(rows):.3f}")
    print(f"recall@{setting.k} {recall:.3f} · MRR {reciprocal:.3f}")
"""


@contextmanager
def running(lab: Lab, name: str) -> Iterator[Notebook]:
    """The notebook with all its cells run; it must not complain, now or later."""
    with lab.open(name) as notebook:
        assert errors(notebook.run_all()) == []
        yield notebook
        assert notebook.complaints == []
        assert notebook.outside == []


def widget_of(notebook: Notebook, cell_id: str) -> Locator:
    notebook.page.evaluate(CELL, cell_id)
    widget = notebook.page.locator(f"[data-cell='{cell_id}'] .jp-OutputArea-output").first
    widget.scroll_into_view_if_needed()
    return widget


def ask(notebook: Notebook, code: str) -> str:
    answer: str = notebook.page.evaluate(ASK, code)
    return answer.strip()


def text(notebook: Notebook, html: str) -> str:
    shown: str = notebook.page.evaluate(TEXT, html)
    return shown


def slider(widget: Locator, label: str) -> Locator:
    return widget.locator(".widget-slider").filter(has_text=label).get_by_role("slider")


def readout(widget: Locator, label: str) -> str:
    return widget.locator(".widget-slider").filter(has_text=label).locator(".widget-readout").inner_text()


def press(control: Locator, *keys: str) -> None:
    control.focus()
    for key in keys:
        control.press(key)


def drag(notebook: Notebook, handle: Locator, by: float) -> None:
    """Take the slider's handle and move it by so many pixels."""
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    notebook.page.mouse.move(x, y)
    notebook.page.mouse.down()
    notebook.page.mouse.move(x + by, y, steps=8)
    notebook.page.mouse.up()


def assert_page_says(widget: Locator, *expected: str) -> None:
    """Wait until all of the texts stand in the widget."""
    deadline = time.monotonic() + PATIENCE
    shown = widget.text_content() or ""
    while not all(part in shown for part in expected) and time.monotonic() < deadline:
        time.sleep(0.1)
        shown = widget.text_content() or ""
    for part in expected:
        assert part in shown


def pictures(notebook: Notebook, widget: Locator, name: str) -> None:
    """Save the widget under artefacts/, in both themes."""
    ARTEFACTS.mkdir(exist_ok=True)
    for theme in ("Dark", "Light"):
        notebook.page.evaluate(THEME, f"JupyterLab {theme}")
        notebook.page.wait_for_timeout(1500)  # its style sheet is loaded after the command has returned
        widget.screenshot(path=ARTEFACTS / f"{name}-{theme.lower()}.png")


# --- The stepper of lesson 04 ------------------------------------------------------------------------


def assert_step(notebook: Notebook, widget: Locator, number: int) -> None:
    html = ask(notebook, f"print(step_view(mine, {number})._repr_html_())")
    assert f"Step {number} of" in html
    assert_page_says(widget, text(notebook, html))


def test_the_stepper_shows_the_step_that_keyboard_and_mouse_go_to(lab: Lab) -> None:
    with running(lab, "solutions/04_consolidation.ipynb") as notebook:
        widget = widget_of(notebook, "04-stepper")
        assert_step(notebook, widget, 1)
        press(slider(widget, "step"), "ArrowRight", "ArrowRight")
        assert_step(notebook, widget, 3)
        press(widget.get_by_role("button", name="previous"), "Enter")
        assert_step(notebook, widget, 2)
        widget.get_by_role("button", name="next").click()
        assert_step(notebook, widget, 3)
        drag(notebook, slider(widget, "step"), +60)
        number = int(readout(widget, "step"))
        assert number > 3
        assert_step(notebook, widget, number)
        pictures(notebook, widget, "stepper")


# --- The time slider of lesson 07 --------------------------------------------------------------------


def assert_day(notebook: Notebook, widget: Locator, day: int, floor: float) -> None:
    html = ask(notebook, f"print(fading(year, {day}, floor={floor}, band=confidence_band)._repr_html_())")
    assert f"day {day}:" in html
    assert_page_says(widget, text(notebook, html))


def test_the_time_slider_shows_the_day_that_keyboard_and_mouse_go_to(lab: Lab) -> None:
    with running(lab, "solutions/07_forgetting.ipynb") as notebook:
        ask(notebook, "from course.pictures.time_slider import fading")
        widget = widget_of(notebook, "07-slider-widget")
        assert_day(notebook, widget, 0, 0.2)
        press(slider(widget, "day"), *["ArrowRight"] * 3)
        assert_day(notebook, widget, 3, 0.2)
        drag(notebook, slider(widget, "day"), +90)
        day = int(readout(widget, "day"))
        assert day > 30
        assert_day(notebook, widget, day, 0.2)
        press(slider(widget, "floor"), *["ArrowRight"] * 5)
        assert_day(notebook, widget, day, 0.25)
        drag(notebook, slider(widget, "floor"), +80)
        floor = float(readout(widget, "floor"))
        assert floor > 0.3
        assert_day(notebook, widget, day, floor)
        pictures(notebook, widget, "time-slider")


# --- The explorer of lesson 01 -----------------------------------------------------------------------


def test_the_explorer_compares_what_is_typed(lab: Lab) -> None:
    with running(lab, "solutions/01_embeddings.ipynb") as notebook:
        ask(notebook, "from course.pictures.explorer import compare")
        widget = widget_of(notebook, "01-explorer")
        boxes = widget.get_by_label("text above"), widget.get_by_label("text below")
        boxes[0].fill("a walnut cake")
        press(boxes[0], "Tab")
        notebook.page.keyboard.press("ControlOrMeta+a")
        notebook.page.keyboard.type("the walk to the lake")
        assert boxes[1].input_value() == "the walk to the lake"
        for keys, dim in [([], 256), (["ArrowLeft", "ArrowLeft"], 16), (["End"], 16384)]:
            press(widget.get_by_role("slider", name="buckets"), *keys)
            call = f"compare(weights('a walnut cake'), weights('the walk to the lake'), bucket, {dim})"
            assert_page_says(widget, ask(notebook, f"print({call}.title)"))
            assert_page_says(widget, text(notebook, ask(notebook, f"print({call}._repr_html_())")))
        pictures(notebook, widget, "explorer")


# --- The weight tuner of lesson 05 -------------------------------------------------------------------


def weights_on(widget: Locator) -> list[float]:
    return [float(readout(widget, part)) for part in ("relevance", "recency", "importance")]


def assert_ranking(notebook: Notebook, widget: Locator, **other: object) -> str:
    """Wait until ranking, margin and metrics are those of the weights on the page; give them back."""
    chosen = widget.get_by_label("question").locator("option:checked").text_content() or ""
    question = chosen.replace("\N{NO-BREAK SPACE}", " ").split(": ", 1)[1]
    values: dict[str, object] = {"embedder": "MiniLM", "k": 3} | other
    given = ", ".join(f"{name}={value!r}" for name, value in values.items())
    weights = ", ".join(map(str, settled_weights(notebook, widget)))
    told = ask(notebook, f"told({question!r}, Setting(weights=Mix({weights}), {given}))")
    table, ahead, measured = told.rsplit("\n", 2)
    assert_page_says(widget, text(notebook, table), ahead, measured)
    return told


def settled_weights(notebook: Notebook, widget: Locator) -> list[float]:
    """The weights on the page, once the kernel has answered every move and they no longer change."""
    before, now = [], weights_on(widget)
    while before != now:
        ask(notebook, "pass")
        notebook.page.wait_for_timeout(500)
        before, now = now, weights_on(widget)
    return now


@pytest.fixture(scope="module")
def lesson_05(lab: Lab) -> Iterator[Notebook]:
    with running(lab, "solutions/05_retrieval.ipynb") as notebook:
        assert ask(notebook, TOLD) == ""
        yield notebook


@pytest.fixture
def tuner(lesson_05: Notebook) -> Locator:
    widget = widget_of(lesson_05, "05-tuner")
    widget.get_by_role("button", name="reset").click()
    return widget


def test_the_tuner_ranks_anew_when_a_weight_is_moved_by_keyboard_or_mouse(
    lesson_05: Notebook, tuner: Locator
) -> None:
    seen = [assert_ranking(lesson_05, tuner)]
    press(tuner.get_by_role("slider", name="relevance"), *["ArrowRight"] * 5)
    seen.append(assert_ranking(lesson_05, tuner))
    assert weights_on(tuner) == [0.65, 0.22, 0.13]
    drag(lesson_05, tuner.get_by_role("slider", name="recency"), +60)
    seen.append(assert_ranking(lesson_05, tuner))
    relevance, recency, importance = weights_on(tuner)
    assert recency > 0.4
    assert round(relevance + recency + importance, 9) == 1
    tuner.get_by_label("keep the sum at 1").uncheck()
    press(tuner.get_by_role("slider", name="importance"), "End")
    seen.append(assert_ranking(lesson_05, tuner))
    assert weights_on(tuner) == [relevance, recency, 1.0]
    press(tuner.get_by_role("button", name="reset"), "Enter")
    assert assert_ranking(lesson_05, tuner) == seen[0]
    assert weights_on(tuner) == [0.6, 0.25, 0.15]
    assert len(set(seen)) == len(seen)


def test_the_tuner_ranks_anew_when_anything_else_is_chosen(lesson_05: Notebook, tuner: Locator) -> None:
    start = assert_ranking(lesson_05, tuner)
    press(tuner.get_by_role("slider", name="k"), "ArrowRight", "ArrowRight")
    assert assert_ranking(lesson_05, tuner, k=5) != start
    press(tuner.get_by_role("slider", name="half-life"), "ArrowRight")
    assert_ranking(lesson_05, tuner, k=5, half_life=7.0)
    tuner.get_by_label("embedder").select_option("hash")
    now = {"k": 5, "half_life": 7.0, "embedder": "hash"}
    before = assert_ranking(lesson_05, tuner, **now)
    press(tuner.get_by_label("question"), "ArrowDown")
    assert assert_ranking(lesson_05, tuner, **now) != before
    press(tuner.get_by_label("pins first"), "Space")
    assert_ranking(lesson_05, tuner, **now, pins=False)
    pictures(lesson_05, tuner, "tuner")


def test_a_screen_reader_hears_each_slider_and_every_new_measure(lesson_05: Notebook, tuner: Locator) -> None:
    names = [handle.get_attribute("aria-label") for handle in tuner.get_by_role("slider").all()]
    assert names == ["relevance", "recency", "importance", "k", "half-life"]
    assert tuner.get_by_role("slider", name="half-life").get_attribute("aria-valuetext") == "its own"
    assert "recall@3" in tuner.get_by_role("status").inner_text()


def test_keys_that_are_meant_for_the_tuner_do_nothing_to_the_notebook(
    lesson_05: Notebook, tuner: Locator
) -> None:
    cells = lesson_05.page.evaluate(COUNT)
    press(tuner.get_by_role("slider", name="relevance"), "ArrowUp", "b")
    press(tuner.get_by_label("question"), "a")
    assert_ranking(lesson_05, tuner)
    assert weights_on(tuner)[0] == 0.61
    assert lesson_05.page.evaluate(COUNT) == cells
