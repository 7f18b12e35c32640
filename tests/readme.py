"""The README shows what the demo and the comparison print. Run as a program this brings it up to date."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BLOCKS = {
    "solutions.demo": ("<!-- demo output -->\n```text\n", "```\n<!-- end of demo output -->"),
    "benchmarks.systems": ("<!-- comparison -->\n", "<!-- end of comparison -->"),
}
"""Each program with the marks between which the README shows what it prints."""


def printed(module: str) -> str:
    """What `python -m module` prints for the README; raises CalledProcessError if it fails."""
    options = ["--markdown"] if module == "benchmarks.systems" else []
    command = [sys.executable, "-m", module, *options]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return run.stdout.decode("utf-8").replace("\r\n", "\n")


def shown(module: str) -> str:
    """What the README shows between the marks of `module`; raises IndexError if they are missing."""
    begin, end = BLOCKS[module]
    return README.read_text(encoding="utf-8").split(begin)[1].split(end)[0]


def update() -> None:
    """Put what both programs print into the README."""
    for module, (begin, end) in BLOCKS.items():
        head, rest = README.read_text(encoding="utf-8").split(begin)
        text = head + begin + printed(module) + end + rest.split(end, 1)[1]
        README.write_text(text, encoding="utf-8", newline="\n")


def demo_output() -> str:
    """What `python -m solutions.demo` prints."""
    return printed("solutions.demo")


def shown_output() -> str:
    """What the README shows of the demo."""
    return shown("solutions.demo")


if __name__ == "__main__":
    update()
