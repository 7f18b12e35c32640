"""The README shows what the demo prints. Run as a program this brings it up to date."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BEGIN = "<!-- demo output -->\n```text\n"
END = "```\n<!-- end of demo output -->"


def demo_output() -> str:
    """What `python -m solutions.demo` prints; raises CalledProcessError if it fails."""
    run = subprocess.run([sys.executable, "-m", "solutions.demo"], cwd=ROOT, capture_output=True, check=True)
    return run.stdout.decode("utf-8").replace("\r\n", "\n")


def shown_output() -> str:
    """What the README shows between its marks; raises IndexError if they are missing."""
    return README.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]


def update() -> None:
    """Put the demo's output into the README."""
    text = README.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    README.write_text(head + BEGIN + demo_output() + END + rest.split(END)[1], encoding="utf-8", newline="\n")


if __name__ == "__main__":
    update()
