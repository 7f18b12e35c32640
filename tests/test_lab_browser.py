"""What a learner does first: `make lab`, a notebook opens in the browser, Run All Cells."""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import urlopen

import nbformat
import pytest
from browser import ROOT, Lab, errors, goes_on

pytestmark = pytest.mark.xdist_group("browser")

FIRST = "notebooks/00_start_here.ipynb"
WITH_WIDGETS = ("01", "04", "05", "07")  # test_widgets_browser.py runs these, and asks the same of them
SOLVED = sorted(
    file.relative_to(ROOT).as_posix()
    for file in ROOT.glob("solutions/[0-9]*.ipynb")
    if file.name[:2] not in WITH_WIDGETS
)


@pytest.mark.parametrize("name", [FIRST, *SOLVED])
def test_a_notebook_runs_in_jupyterlab_without_an_error_or_a_call_to_the_outside(lab: Lab, name: str) -> None:
    with lab.open(name) as notebook:
        cells = notebook.run_all()
    assert errors(cells) == []
    assert cells, f"{name} has no code cell"
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert notebook.complaints == []
    assert notebook.outside == []


def test_an_open_exercise_does_not_stop_a_run(lab: Lab) -> None:
    with lab.open("notebooks/01_embeddings.ipynb") as notebook:
        cells = notebook.run_all()
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    stopped = [cell for cell in cells if errors([cell])]
    assert stopped
    assert all(goes_on(cell) for cell in stopped)


def test_the_server_opens_on_the_first_notebook(lab: Lab) -> None:
    with urlopen(f"{lab.url}?token={lab.token}") as page:
        assert urlsplit(page.url).path == f"/lab/tree/{FIRST}"


def test_this_harness_sees_an_error_a_complaint_and_a_call_to_the_outside(lab: Lab) -> None:
    broken = nbformat.v4.new_notebook(
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )
    broken.cells = [
        nbformat.v4.new_code_cell("from IPython.display import HTML, Javascript"),
        nbformat.v4.new_code_cell("Javascript(\"console.error('no widget here')\")"),
        nbformat.v4.new_code_cell("HTML('<img src=\"http://elsewhere.invalid/pixel.png\">')"),
        nbformat.v4.new_code_cell("1 / 0"),
    ]
    nbformat.write(broken, lab.folder / "notebooks" / "broken.ipynb")
    with lab.open("notebooks/broken.ipynb") as notebook:
        cells = notebook.run_all()
    assert errors(cells) == ["ZeroDivisionError: division by zero"]
    assert any("no widget here" in complaint for complaint in notebook.complaints)
    assert set(notebook.outside) == {"http://elsewhere.invalid/pixel.png"}
