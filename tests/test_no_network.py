"""No notebook calls anybody beyond this machine: not for telemetry, not for a model, not by mistake.

`lesson_runner.run` holds every lesson to it; here it is tried itself.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lesson_runner import Outcome, run
from nbformat import from_dict
from nbformat.v4 import new_code_cell
from offline import Offline, isolated

from course.lesson import ROOT

SWALLOWED = """
import urllib.request
try:
    urllib.request.urlopen("http://192.0.2.1/")
except OSError:
    print("swallowed")
"""


def test_a_call_to_the_outside_is_seen_even_when_its_error_is_swallowed(tmp_path: Path) -> None:
    offline = Offline(tmp_path)
    ran = subprocess.run(
        [sys.executable, "-c", SWALLOWED], env=offline.environment(), capture_output=True, text=True
    )
    assert ran.stdout == "swallowed\n"
    [problem] = offline.problems()
    assert "192.0.2.1" in problem


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        pytest.param(SWALLOWED, "192.0.2.1", id="network"),
        pytest.param(
            "from pathlib import Path\n(Path.home() / '.mem0').mkdir()", "left in the home folder: .mem0",
            id="home",
        ),
    ],
)  # fmt: skip
def test_a_lesson_that_does_either_is_refused(code: str, problem: str) -> None:
    lesson = from_dict({"cells": [new_code_cell(code)]})
    with pytest.raises(AssertionError, match=problem):
        run(lesson, ROOT / "notebooks")


@pytest.mark.skipif(not isolated(), reason="this machine cannot take the network away from a process")
def test_a_lesson_has_no_network_at_all_but_this_machine_itself() -> None:
    interfaces = "import socket\nassert [name for _, name in socket.if_nameindex()] == ['lo']"
    serves = "with socket.create_server(('127.0.0.1', 0)) as s: socket.create_connection(s.getsockname())"
    lesson = from_dict({"cells": [new_code_cell(interfaces), new_code_cell(serves)]})
    assert run(lesson, ROOT / "notebooks") == [Outcome(0), Outcome(1)]
