"""Notebooks 08 and 09 call nobody beyond this machine: not for telemetry, not for a model, not by mistake."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from nbclient import NotebookClient

from memlab.teaching.build import solve
from memlab.teaching.lesson import ROOT, read

NOTEBOOKS = ["08_write_gate.ipynb", "09_chroma.ipynb"]

# Loaded by every Python that a notebook starts. What is refused is noted, even if its error is swallowed.
GUARD = """
import sys

HERE = ("127.0.0.1", "localhost", "::1", "0.0.0.0", "", None)

def guard(event, args):
    if event == "socket.getaddrinfo":
        host = args[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(args[1], tuple):
        host = args[1][0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host not in HERE:
        with open({log!r}, "a") as log:
            log.write(f"{{event}} {{host}}\\n")
        raise OSError(f"{{event}} to {{host}} is refused")

sys.addaudithook(guard)
"""

RUN = """
import sys
from test_no_network import run
run(sys.argv[1])
"""


def run(name: str) -> None:
    """Run the solved notebook as it would stand, in a fresh kernel; raises when a cell fails."""
    notebook = solve(read(ROOT / "notebooks" / name), name)
    for cell in notebook.cells:  # a cell that stops must stop the test
        cell.metadata["tags"] = [tag for tag in cell.metadata.get("tags", []) if tag != "raises-exception"]
    resources = {"metadata": {"path": str(ROOT / "notebooks")}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()


def _environment(**changes: str) -> dict[str, str]:
    folders = [changes.pop("first", ""), str(ROOT / "tests"), str(ROOT)]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))} | changes


@pytest.fixture
def guarded(tmp_path: Path) -> tuple[dict[str, str], Path]:
    """The environment in which every Python refuses the network, and the file where it notes attempts."""
    log = tmp_path / "attempts.txt"
    log.touch()
    (tmp_path / "sitecustomize.py").write_text(GUARD.format(log=str(log)))
    return _environment(first=str(tmp_path)), log


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_connects_to_nobody(guarded: tuple[dict[str, str], Path], name: str) -> None:
    environment, log = guarded
    ran = subprocess.run([sys.executable, "-c", RUN, name], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert log.read_text() == ""


def test_the_guard_sees_a_call_to_the_outside_even_when_its_error_is_swallowed(
    guarded: tuple[dict[str, str], Path],
) -> None:
    environment, log = guarded
    code = (
        "import urllib.request as u\ntry: u.urlopen('http://192.0.2.1/')\nexcept OSError: print('swallowed')"
    )
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert ran.stdout == "swallowed\n"
    assert "192.0.2.1" in log.read_text()


ISOLATED = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


def _can_isolate() -> bool:
    try:
        return subprocess.run([*ISOLATED, "true"], capture_output=True, timeout=30).returncode == 0
    except OSError:
        return False


@pytest.mark.skipif(not _can_isolate(), reason="this machine cannot take the network away from a process")
def test_chromas_own_server_and_library_work_where_there_is_no_network_at_all() -> None:
    """The guard sees Python's calls only; Chroma's core is native code."""
    command = [*ISOLATED, sys.executable, "-c", RUN, "09_chroma.ipynb"]
    ran = subprocess.run(command, env=_environment(), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
