"""The workbook as a learner meets it: the server of `make lab`, and a browser that opens its notebooks.

Run as a program it makes sure that there is a browser: `python tests/browser.py`.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Page, Request, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
ARTEFACTS = ROOT / "artefacts"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
"""Browsers to look for on the PATH; without one of them, Playwright's own is taken."""

FLAGS = ["--disable-gpu", "--disable-background-networking", "--disable-component-update"]
HARMLESS: tuple[tuple[str, str], ...] = ()
"""Errors that JupyterLab logs by itself in the browser's console: (pattern, why it is harmless)."""

START = 60.0  # seconds for the server to come up
RUN = 240.0  # seconds for a notebook to run
SETTLE = 1000  # milliseconds: widgets and pictures are drawn, and complain, after the kernel is done

CELLS = """() => jupyterapp.shell.currentWidget.content.model.toJSON().cells.filter(
    cell => cell.cell_type === 'code' && [cell.source].flat().join('').trim())"""
STATUS = "() => jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status"


def browser_on_path() -> str | None:
    """The path of the first browser of NAMES, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def lab_command() -> list[str]:
    """The command line of `make lab`, as make prints it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    printed = subprocess.run(
        ["make", "--no-print-directory", "-n", "lab"], cwd=ROOT, env=clean, text=True, capture_output=True
    )
    assert printed.returncode == 0, printed.stderr
    return shlex.split(printed.stdout.strip().splitlines()[-1])


@dataclass
class Notebook:
    """An open notebook, and what the browser complained of while it was open."""

    page: Page
    name: str
    complaints: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def run_all(self) -> list[dict[str, Any]]:
        """Run > Run All Cells; the code cells as nbformat dicts once the kernel is idle, or one failed."""
        menu = self.page.get_by_role("menubar").get_by_role("menuitem", name="Run", exact=True)
        menu.click()
        self.page.get_by_role("menuitem", name=re.compile(r"^Run All Cells")).click()
        deadline = time.monotonic() + RUN
        while time.monotonic() < deadline:
            cells: list[dict[str, Any]] = self.page.evaluate(CELLS)
            done = all(cell["execution_count"] for cell in cells)
            failed = errors([cell for cell in cells if not goes_on(cell)])
            if failed or (done and self.page.evaluate(STATUS) == "idle"):
                self.page.wait_for_timeout(SETTLE)
                return cells
            self.page.wait_for_timeout(200)
        waiting = next((cell["source"] for cell in cells if not cell["execution_count"]), "(kernel busy)")
        raise TimeoutError(f"{self.name} did not finish in {RUN:.0f} s; it waits at: {waiting}")

    def screenshot(self) -> Path:
        """Save what is on the screen under artefacts/, and say where."""
        ARTEFACTS.mkdir(exist_ok=True)
        file = ARTEFACTS / f"{self.name.replace('/', '-').removesuffix('.ipynb')}.png"
        self.page.screenshot(path=file)
        return file

    def listen(self) -> None:
        """From now on, note console errors, uncaught exceptions, and requests that leave this machine."""
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        self.page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        harmless = any(re.search(pattern, message.text) for pattern, _ in HARMLESS)
        if message.type == "error" and not harmless:
            self.complaints.append(f"{message.text} ({message.location.get('url', '')})")

    def _request(self, request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme in ("http", "https", "ws", "wss") and url.hostname not in ("localhost", "127.0.0.1"):
            self.outside.append(request.url)


def errors(cells: list[dict[str, Any]]) -> list[str]:
    """What went wrong in the cells: `Name: message` of each error output."""
    outputs = [output for cell in cells for output in cell["outputs"]]
    return [f"{out['ename']}: {out['evalue']}" for out in outputs if out["output_type"] == "error"]


def goes_on(cell: dict[str, Any]) -> bool:
    """Whether a run goes on below the cell when it stops with an error."""
    return "raises-exception" in cell["metadata"].get("tags", [])


@dataclass
class Lab:
    """A running JupyterLab on a copy of the workbook."""

    url: str
    token: str
    folder: Path

    @contextmanager
    def open(self, name: str) -> Iterator[Notebook]:
        """The notebook `name` (a path in the workbook) in a fresh browser, its kernel ready."""
        with sync_playwright() as playwright:
            flags = [*FLAGS, "--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else FLAGS
            browser = playwright.chromium.launch(executable_path=browser_on_path(), args=flags)
            page = browser.new_page(viewport={"width": 1280, "height": 1600})
            notebook = Notebook(page, name)
            notebook.listen()
            page.goto(f"{self.url}lab/tree/{name}?token={self.token}&reset")
            page.wait_for_function(
                f"() => window.jupyterapp && ({STATUS})() === 'idle'", timeout=START * 1000
            )
            try:
                yield notebook
            finally:
                notebook.screenshot()
                browser.close()


@contextmanager
def run_lab(folder: Path) -> Iterator[Lab]:
    """The server of `make lab` on a copy of the workbook in `folder`, with no settings of this machine."""
    for part in ("notebooks", "solutions", "data", "benchmarks"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", ".ipynb*"))
    own = {f"JUPYTER_{kind}_DIR": str(folder / f".{kind.lower()}") for kind in ("CONFIG", "DATA", "RUNTIME")}
    with socket.create_server(("127.0.0.1", 0)) as free:  # two that start at once may both choose 8888
        port = free.getsockname()[1]
    command = [
        *lab_command(),
        "--no-browser",
        "--LabApp.expose_app_in_browser=True",
        f"--ServerApp.port={port}",
    ]
    with (folder / "server.log").open("w") as log:
        environment = os.environ | own | {"IPYTHONDIR": str(folder / ".ipython")}
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            yield _wait_for_server(server, folder)
        finally:
            server.terminate()
            server.wait(timeout=30)


def _wait_for_server(server: subprocess.Popen[bytes], folder: Path) -> Lab:
    deadline = time.monotonic() + START
    while time.monotonic() < deadline and server.poll() is None:
        for file in (folder / ".runtime").glob("jpserver-*.json"):
            found = json.loads(file.read_text() or "{}")
            if found:
                return Lab(found["url"], found["token"], folder)
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start: {(folder / 'server.log').read_text()[-2000:]}")


def ensure_browser() -> int:
    """Fetch Playwright's browser if there is none on the PATH; the exit code."""
    if browser_on_path():
        return 0
    with sync_playwright() as playwright:
        if Path(playwright.chromium.executable_path).exists():
            return 0
    code = subprocess.call([sys.executable, "-m", "playwright", "install", "chromium"])
    if code:
        print(f"No browser. Cure: install one, so that the PATH has {' or '.join(NAMES)}.")
    return code


if __name__ == "__main__":
    sys.exit(ensure_browser())
