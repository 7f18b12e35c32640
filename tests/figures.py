"""The README's pictures: the real widgets in a real JupyterLab. Run as a program this takes them anew."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from browser import ROOT, errors, run_lab

PICTURES = ROOT / "pictures"
WIDGETS = {  # picture: the notebook, the cell, and the keys that move the cell's first slider
    "weight-tuner.png": ("solutions/05_retrieval.ipynb", "05-tuner", []),
    "stepper.png": ("solutions/04_consolidation.ipynb", "04-stepper", ["End", "ArrowLeft", "ArrowLeft"]),
    "time-slider.png": ("solutions/07_forgetting.ipynb", "07-slider-widget", 36 * ["PageUp"]),
}
SHOW = """id => {
    const notebook = jupyterapp.shell.currentWidget.content;
    const index = notebook.widgets.findIndex(cell => cell.model.id === id);
    notebook.scrollToItem(index, 'start');
    notebook.widgets[index].node.dataset.cell = id;
}"""


def take() -> None:
    """Write every picture; raises RuntimeError for a notebook that does not run."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, run_lab(Path(folder)) as lab:
        for picture, (name, cell, keys) in WIDGETS.items():
            with lab.open(name) as notebook:
                if failed := errors(notebook.run_all()):
                    raise RuntimeError(f"{name}: {failed[0]}")
                notebook.page.evaluate(SHOW, cell)
                widget = notebook.page.locator(f"[data-cell='{cell}'] .memlab-panel").first
                widget.scroll_into_view_if_needed()
                for key in keys:
                    widget.get_by_role("slider").first.press(key)
                notebook.page.wait_for_timeout(1000)  # the kernel draws
                widget.screenshot(path=PICTURES / picture)


if __name__ == "__main__":
    sys.exit(take())
