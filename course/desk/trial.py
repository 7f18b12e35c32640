"""Tries answers to exercises in a process of their own: whatever they do, only they come to harm.

The parent hands over sources and gets a sentence back for each. An answer that never ends is ended, with all
that it started; one that ends the process costs only itself, since the next begins in a new one.
"""

from __future__ import annotations

import json
import linecache
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import chain
from types import ModuleType

from course.check import check, registered

LIMIT = 20.0
"""Seconds that one trial may take."""
START = 120.0
"""Seconds until the process has imported what it needs."""


@dataclass(frozen=True)
class Trial:
    """Code to run, and the exercise whose check the object `name` must then pass; with no name, none.

    before: imports and helpers. answer: the statements of the answer, each with its line in its cell.
    """

    id: str
    name: str = ""
    before: str = ""
    answer: list[tuple[int, str]] = field(default_factory=list)


def try_out(trials: Sequence[Trial], limit: float = LIMIT, *, imports: str = "") -> list[str]:
    """What is wrong with each, as a sentence; "" for code that runs and passes its check.

    limit: seconds for each of them. imports: our own import statements, which are not on that time.

    Example:
    >>> try_out([Trial("broken", before="1 / 0"), Trial("fine", before="1 / 1")])
    ['its cell raises ZeroDivisionError: division by zero', '']
    """
    faults: list[str] = []
    while len(faults) < len(trials):
        faults += _in_one_process(trials[len(faults) :], limit, imports)
    return faults


def sentence(error: BaseException) -> str:
    """An error in one line of at most 200 characters: its type, and what it says."""
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}"[:200] if said else type(error).__name__


def _in_one_process(trials: Sequence[Trial], limit: float, imports: str) -> list[str]:
    """The faults in order; the last may be that of the trial that ended the process."""
    with tempfile.TemporaryDirectory() as folder:
        child = subprocess.Popen(
            [sys.executable, "-c", "from course.desk.trial import _child; _child()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=folder, env=_environment(folder), text=True, encoding="utf-8", start_new_session=True,
        )  # fmt: skip
        try:
            return _listen(child, trials, limit, imports)
        finally:
            _stop(child)


def _listen(child: subprocess.Popen[str], trials: Sequence[Trial], limit: float, imports: str) -> list[str]:
    assert child.stdin is not None
    assert child.stdout is not None
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_pump, args=(child.stdout, lines), daemon=True).start()
    child.stdin.write(json.dumps({"imports": imports, "trials": [asdict(trial) for trial in trials]}))
    child.stdin.close()
    if not lines.get(timeout=START):
        raise RuntimeError(f"{sys.executable} cannot import course.desk.trial; run: make lab")
    faults: list[str] = []
    try:
        while len(faults) < len(trials):
            line = lines.get(timeout=limit)
            if not line:
                return [*faults, "it ended the process in which it was checked"]
            faults.append(json.loads(line))
    except queue.Empty:
        return [*faults, f"its check did not end within {limit:g} s"]
    return faults


def _pump(lines: Iterable[str], into: queue.Queue[str]) -> None:
    for line in lines:
        into.put(line)
    into.put("")  # nothing more will come


def _stop(child: subprocess.Popen[str]) -> None:
    """End the process, and what the answers may have started in it."""
    if sys.platform == "win32":
        child.kill()
    else:
        with suppress(ProcessLookupError):  # it has ended, and left nobody behind
            os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for pipe in (child.stdin, child.stdout):
        assert pipe is not None
        pipe.close()


def _environment(folder: str) -> dict[str, str]:
    """No keys or addresses of services reach the answers, and what libraries leave lands in `folder`."""
    ours = ("ANTHROPIC_", "OPENAI_", "MEMLAB_", "MEM0_", "NBGRADER_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    return kept | {"MPLBACKEND": "agg", "MEM0_DIR": folder, "MEM0_TELEMETRY": "False"}


def _child() -> None:
    """The process: trials from stdin, and to stdout one line for each when it is done."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        given = json.load(sys.stdin)
        trials = [Trial(**fields) for fields in given["trials"]]
        for number, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
            os.dup2(os.open(os.devnull, mode), number)  # answers may print, and ask for input in vain
        registered(trials[0].id[:2])
        exec(given["imports"], {})
        for line in chain(["ready"], map(_fault, trials)):
            print(json.dumps(line), file=answers, flush=True)


def _fault(trial: Trial) -> str:
    module = ModuleType(f"trial_{trial.id}")
    sys.modules[module.__name__] = module  # where dataclasses look for it
    try:
        exec(compile(trial.before, f"<what {trial.id} uses>", "exec"), module.__dict__)
        for line, source in trial.answer:
            _run(f"<{trial.id}>", "\n" * (line - 1) + source + "\n", module)
        if not trial.name:
            return ""
        result = check(trial.id, getattr(module, trial.name))
    except BaseException as error:
        return f"its cell raises {sentence(error)}"
    if result.status == "not yet":
        return result.message or "still a stub"
    return "" if result.status == "passed" else f"its check says: {result.message}"


def _run(name: str, text: str, module: ModuleType) -> None:
    """Run a part of a cell so that messages quote its lines, by their numbers in that cell."""
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec"), module.__dict__)
