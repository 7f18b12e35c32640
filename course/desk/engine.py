"""Runs learners' code in a process of its own, cell by cell, with a limit of time.

Grading, gathering (`make mine`) and the tests of the lessons all use it.

One process loads what is heavy (numpy, matplotlib, the clients) and forks a child for each session; where a
platform cannot fork, each session is a fresh process. Either way the code finds an empty home and a folder
to work in, and no key, address or setting of yours. Cells run as IPython runs them, magics too, and a session
goes on after an error. What is printed goes nowhere, since it may be endless.

    with shared().session(folder, lesson="04") as session:
        session.run("%matplotlib inline\\nfrom memlab import clock", seconds=20)    # an Outcome
        session.check("04-trust", ["trust_of"], seconds=20)                     # the course's own verdict

A cell at its limit is interrupted; if that does not end it, the process is killed and `Ended` says so. This
is no prison for code that means harm: it runs with your rights, in the process that checks it.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal

from course import check as _checks
from course.lesson import ROOT

FORKS = hasattr(os, "fork")
START = 120.0
"""Seconds for a process to load the course."""
GRACE = 3.0
"""Seconds that an interrupted cell has to end in, before its process is killed."""
LONGEST = 1000
"""Characters of a message: an error may quote megabytes."""
HEAVY = (
    "numpy", "matplotlib.pyplot", "pydantic", "ipywidgets", "anthropic", "memlab.store", "solutions",
    "IPython.core.interactiveshell", "course.pictures.views",
)  # fmt: skip
"""Loaded first: it saves seconds a session, and no file of a learner's is taken for one of them."""
PASSED_ON = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR")
"""What of the caller's environment a session gets: enough to start, and nothing that is worth stealing."""
OWN = {
    "MPLBACKEND": "agg", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "MEM0_TELEMETRY": "False",
    "PYTHONIOENCODING": "utf-8:backslashreplace", "OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES",
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What running a cell, or a check, gave.

    error, message, line: of what it raised, the line counted in its cell (0 where there is none).
    status: of a check, with its sentence as the message. late: it had to be interrupted.
    """

    error: str = ""
    message: str = ""
    line: int = 0
    status: str = ""
    late: bool = False

    @property
    def fault(self) -> str:
        """The error in one line; "" when there was none."""
        return " ".join(f"{self.error}: {self.message}".split()) if self.error else ""


class Ended(Exception):
    """The process is gone; the message says whether it ended itself, died, or was killed at its limit."""

    def __init__(self, status: Literal["error", "timed out"], sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class NoStart(Exception):
    """A process did not come up, or cannot load the course; the message says why."""


def sentence(error: BaseException) -> str:
    """An error in one line of at most 200 characters: its type, and what it says."""
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}"[:200] if said else type(error).__name__


def short(text: str) -> str:
    """The text, cut where it is too long to read."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


# --- This side --------------------------------------------------------------------------------------------


class Engine:
    """Opens sessions. One process stands behind all of them where the platform can fork.

    environment: further variables for the code. command: put before the interpreter's, to confine it.
    """

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        command: Sequence[str] = (),
        *,
        forks: bool = FORKS,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ} | OWN
        self._environment |= (
            _homes(Path(self._folder.name)) | {"PYTHONPATH": str(ROOT)} | dict(environment or {})
        )
        self._environment.setdefault("MPLCONFIGDIR", str(Path(self._folder.name, "matplotlib")))
        self._command, self._forks = list(command), forks
        self._parent: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._lock, self._over = threading.Lock(), False

    def session(self, folder: Path, lesson: str = "") -> Session:
        """A fresh session that works in `folder`, with the checks of `lesson` ("04"). Raises NoStart."""
        if self._over:
            raise NoStart("the engine was stopped")
        return Session(self, folder, lesson)

    def close(self) -> None:
        """End the process behind the sessions, and all of them; no more are opened."""
        self._over = True
        if self._control is not None and self._parent is not None:
            self._control.close()  # at which it kills its children and goes
            self._parent.wait()
        self._control = self._parent = None

    def _start(self) -> tuple[IO[str], IO[str], subprocess.Popen[bytes] | None]:
        """Where to write commands and where to read replies; and the process, unless it is forked."""
        if not self._forks:
            child = self._popen("session()", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert child.stdin is not None
            assert child.stdout is not None
            return (
                _text(child.stdin.fileno(), "w", closefd=False),
                _text(child.stdout.fileno(), "r", False),
                child,
            )
        read_command, write_command = os.pipe()
        read_reply, write_reply = os.pipe()
        with self._lock:
            if self._parent is None or self._parent.poll() is not None:
                self._control, theirs = socket.socketpair()
                self._parent = self._popen(f"serve({theirs.fileno()})", pass_fds=[theirs.fileno()])
                theirs.close()
            assert self._control is not None
            socket.send_fds(self._control, [b"x"], [read_command, write_reply])
        os.close(read_command)
        os.close(write_reply)
        return _text(write_command, "w"), _text(read_reply, "r"), None

    def _popen(self, call: str, **options: Any) -> subprocess.Popen[bytes]:
        quiet: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
        }
        program = [*self._command, sys.executable, "-c", f"from course.desk import engine; engine.{call}"]
        return subprocess.Popen(
            program, env=self._environment, cwd=self._folder.name, start_new_session=True, **(quiet | options)
        )


@cache
def shared() -> Engine:
    """The engine that grading and gathering share; its process ends with ours."""
    engine = Engine()
    atexit.register(engine.close)
    return engine


def _homes(folder: Path) -> dict[str, str]:
    """Variables that make `folder` the home and the place for what libraries leave."""
    for name in ("home", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    home, spare = str(folder / "home"), str(folder / "tmp")
    return (
        dict.fromkeys(("HOME", "USERPROFILE"), home)
        | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), spare)
        | {"IPYTHONDIR": str(folder / "ipython"), "MEM0_DIR": str(folder / "mem0")}
    )


def _text(file: int, mode: str, closefd: bool = True) -> IO[str]:
    return os.fdopen(file, mode, encoding="utf-8", newline="\n", closefd=closefd)


class Session:
    """One process, from its first cell to its end: what it defines, the next cell finds."""

    def __init__(self, engine: Engine, folder: Path, lesson: str) -> None:
        self._place = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.home = Path(self._place.name, "home")
        environment = _homes(Path(self._place.name))
        self._replies: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.pid, self._closed = 0, False
        self._commands, replies, self._process = engine._start()
        threading.Thread(target=self._pump, args=(replies,), daemon=True).start()
        try:
            began = self._ask({"folder": str(folder), "environment": environment, "lesson": lesson}, START)
        except Ended as ended:
            self.close()
            raise NoStart(f"{sys.executable} cannot load the course; run: make lab ({ended})") from None
        self.pid = began["pid"]
        if fault := Outcome(**began["outcome"]).fault:
            self.close()
            raise NoStart(fault)

    def run(self, source: str, seconds: float) -> Outcome:
        """Run one cell. Raises Ended when that costs the process."""
        return self._outcome({"source": source}, seconds)

    def check(self, exercise_id: str, names: Sequence[str], seconds: float) -> Outcome:
        """What the course's check says of what these names hold, its own and unedited. Raises Ended."""
        return self._outcome({"check": exercise_id, "names": list(names)}, seconds)

    def close(self) -> None:
        """End the process and all that it started, whatever they are doing."""
        if self._closed:
            return
        self._closed, pid = True, self._process.pid if self._process else self.pid
        if sys.platform == "win32":
            assert self._process is not None
            self._process.kill()
        elif pid:
            with suppress(ProcessLookupError):  # it has ended, and left nobody behind
                os.killpg(pid, signal.SIGKILL)
        with suppress(OSError):  # a command that it did not read is still to be written
            self._commands.close()
        if self._process:
            self._process.communicate()
        self._place.cleanup()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def _outcome(self, command: dict[str, Any], seconds: float) -> Outcome:
        reply = self._ask(command, seconds)
        if reply.pop("left"):
            raise Ended("error", "It ended the kernel with `exit()`.")
        return Outcome(**reply)

    def _ask(self, command: dict[str, Any], seconds: float) -> dict[str, Any]:
        try:
            self._commands.write(json.dumps(command) + "\n")
            self._commands.flush()
            reply, late = self._replies.get(timeout=seconds), False
        except OSError:
            reply, late = None, False
        except queue.Empty:
            reply, late = self._interrupted(seconds), True
        if reply is None:
            raise Ended("error", "The kernel died: it crashed, or something ended it.")
        return reply | ({"late": True} if late else {})

    def _interrupted(self, seconds: float) -> dict[str, Any] | None:
        """The reply of a process that was asked to stop what it does. Raises Ended when it does not."""
        with suppress(queue.Empty, ProcessLookupError):
            if sys.platform != "win32" and self.pid:  # elsewhere there is no signal for one process
                os.kill(self.pid, signal.SIGINT)
                return self._replies.get(timeout=GRACE)
        self.close()
        raise Ended("timed out", f"It ran for more than {seconds:.0f} s and cannot be interrupted.")

    def _pump(self, replies: IO[str]) -> None:
        with replies, suppress(ValueError, OSError):  # what is no JSON was not written by us
            for line in replies:
                self._replies.put(json.loads(line))
        self._replies.put(None)  # nothing more will come


# --- The other side ---------------------------------------------------------------------------------------

_kept: dict[str, dict[str, Any]] = {}


def keep_checks(lesson: str) -> None:
    """Remember the checks of `lesson` ("01") as they are now, before any code of the learner's has run."""
    _checks.registered(lesson)
    _kept.update(module=dict(vars(_checks)), registry=dict(_checks._REGISTRY))


def kept_check(exercise_id: str, *answers: object) -> _checks.CheckResult:
    """What `check` says, with all that the learner's code replaced in it put back."""
    vars(_checks).update(_kept["module"])
    _checks._REGISTRY.clear()
    _checks._REGISTRY.update(_kept["registry"])
    return _checks.check(exercise_id, *answers)


def serve(file: int) -> None:
    """Load what is heavy, then fork a session for each pair of pipes that comes; with the caller, all end."""
    control, children = socket.socket(fileno=file), set[int]()
    _load()
    while True:
        message, pipes, _, _ = socket.recv_fds(control, 1, 2)
        if not message:
            break
        child = os.fork()
        if not child:
            control.close()
            os.setsid()
            _session(*pipes)
        for pipe in pipes:
            os.close(pipe)
        children = {pid for pid in children if os.waitpid(pid, os.WNOHANG) == (0, 0)} | {child}
    for pid in children:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def session() -> None:
    """A session in this process: where a platform cannot fork. Its pipes are stdin and stdout."""
    commands, replies = os.dup(0), os.dup(1)
    for number, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY)):
        os.dup2(os.open(os.devnull, mode), number)
    _load()
    _session(commands, replies)


def _load() -> None:
    for name in HEAVY:
        if importlib.util.find_spec(name.partition(".")[0]) is not None:
            importlib.import_module(name)


def _session(commands: int, replies: int) -> None:
    """Answer commands until there are no more, then end the process."""
    me, running = os.getpid(), False

    def interrupt(*_: object) -> None:
        if running:
            raise KeyboardInterrupt

    with _text(commands, "r") as lines, _text(replies, "w") as answers:
        given, notebook = json.loads(lines.readline()), None
        reply: dict[str, Any] = {"pid": me, "outcome": {}}
        try:
            notebook = Notebook(given)
        except Exception as error:
            reply["outcome"] = {"error": type(error).__name__, "message": str(error)}
        while (
            notebook is None or os.getpid() == me
        ):  # a copy of us that a cell forked has nothing to say here
            answers.write(json.dumps(reply) + "\n")
            answers.flush()
            if not (line := lines.readline()):
                break
            command = json.loads(line)
            signal.signal(signal.SIGINT, interrupt)
            assert notebook is not None
            running = True
            try:
                reply = notebook.answer(command)
            except KeyboardInterrupt:
                reply = {"error": "KeyboardInterrupt", "left": False}
            running = False
    os._exit(0)


class Notebook:
    """The kernel's part: IPython in this process, with the folder, home and checks of a session."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        os.environ.update(given["environment"])
        os.chdir(given["folder"])
        tempfile.tempdir = None  # it was the parent's
        sys.path[:] = [str(ROOT), "", *(entry for entry in sys.path if entry not in ("", str(ROOT)))]
        keep_checks(given["lesson"])
        self.shell, self.left = _shell(self), False

    def answer(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of an Outcome, and whether the code asked the kernel to end."""
        fields = self._cell(command["source"]) if "source" in command else self._check(**command)
        return fields | {"left": self.left}

    def _cell(self, source: str) -> dict[str, Any]:
        result = self.shell.run_cell(source, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            return _raised(error, self.shell.user_ns)
        if isinstance(result.result, _checks.CheckResult):
            return {"status": result.result.status, "message": short(result.result.message)}
        return {}

    def _check(self, check: str, names: Sequence[str]) -> dict[str, Any]:
        try:
            answers = [eval(name, self.shell.user_ns) for name in names]
            home = str(getattr(answers[0], "__module__", ""))
            if home.startswith(("memlab.", "solutions.")):
                said = f"{names[0]} is the course's own, imported from {home}; no cell defines it."
                return {"status": "missing", "message": said}
            result = kept_check(check, *answers)
            return {"status": result.status, "message": short(result.message)}
        except (Exception, SystemExit) as error:
            return _raised(error, self.shell.user_ns)


def _shell(notebook: Notebook) -> Any:
    """IPython as a kernel has it, but silent: nobody sees its tracebacks, and to write one takes long."""
    from IPython.core import page
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Shell(InteractiveShell):
        def ask_exit(self) -> None:
            notebook.left = True

        def showtraceback(self, *_: object, **__: object) -> None: ...

        showsyntaxerror = showindentationerror = enable_gui = showtraceback

    shell: Any = Shell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    pager: Any = page
    shell.set_hook("show_in_pager", pager.as_hook(pager.display_page), 90)  # `name?` waits for nobody
    return shell


def _raised(error: BaseException, namespace: object) -> dict[str, Any]:
    """What was raised, and on which line of its cell."""
    inner = [frame for frame in _frames(error) if frame.tb_frame.f_globals is namespace]
    cell = [
        frame for frame in inner if frame.tb_frame.f_code.co_filename == inner[0].tb_frame.f_code.co_filename
    ]
    line = cell[-1].tb_lineno if cell else getattr(error, "lineno", None)
    try:
        said = str(error)
    except Exception as another:  # a learner's __str__ may be the very thing that is broken
        said = f"its text raises {type(another).__name__}"
    return {"error": type(error).__name__, "message": short(said), "line": line or 0}


def _frames(error: BaseException) -> Iterator[TracebackType]:
    link = error.__traceback__
    while link is not None:
        yield link
        link = link.tb_next
