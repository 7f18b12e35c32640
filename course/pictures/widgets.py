"""The frame of a live widget: keyboard, screen reader, and a line for pages that run no code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

LIVE = "memlab-live"
"""The class of an HTML widget whose changes a screen reader reads out."""

# ipywidgets 8 gives a slider's handle no name and speaks a choice as its number; JupyterLab takes the keys of
# its command mode away from drop-downs and sliders: ↓ would go to the next cell, b would insert one.
_HELP = """
const set = (node, name, value) => {
  if (node && value && node.getAttribute(name) !== value) node.setAttribute(name, value);
};
const help = root => {
  for (const control of root.querySelectorAll('select, input, button, [role=slider]')) {
    set(control, 'data-lm-suppress-shortcuts', 'true');
  }
  for (const slider of root.querySelectorAll('.widget-slider')) {
    const handle = slider.querySelector('[role=slider]');
    set(handle, 'aria-label', slider.querySelector('.widget-label')?.textContent);
    set(handle, 'aria-valuetext', slider.querySelector('.widget-readout')?.textContent);
  }
  root.querySelectorAll('.memlab-live .widget-html-content').forEach(node => set(node, 'role', 'status'));
};
const start = tries => {
  const root = (element[0] ?? element).closest('.memlab-panel');
  if (!root) return tries && setTimeout(start, 100, tries - 1);  // it is not on the page yet
  new MutationObserver(() => help(root)).observe(
    root, {childList: true, subtree: true, characterData: true}
  );
  help(root);
};
start(100);
"""


def panel(children: Sequence[Any], without_kernel: str) -> Any:
    """A VBox of `children` that keyboard and screen reader can use; where no code runs, `without_kernel`.

    Changes of an HTML widget with the class LIVE are announced to screen readers.
    """
    # slow to import, and what is drawn does not need it
    import ipywidgets  # type: ignore[import-untyped]

    class Panel(ipywidgets.VBox):  # type: ignore[misc]
        def __repr__(self) -> str:
            return without_kernel

    data = {"application/javascript": _HELP}
    help_ = ipywidgets.Output(
        outputs=({"output_type": "display_data", "data": data, "metadata": {}},),
        layout=ipywidgets.Layout(display="none"),
    )
    framed = Panel([*children, help_])
    framed.add_class("memlab-panel")
    return framed
