"""Where lessons run: without a network, and with an empty home folder.

Every Python refuses the network and notes who asked for it. Native code, such as the core of Chroma, is not
held by that: where the machine allows it, the whole process has no network but loopback.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import matplotlib

# Loaded by every Python that is started. What is refused is noted, even if its error is swallowed.
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

ISOLATED = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


@cache
def isolated() -> list[str]:
    """What to put before a command so that it runs without a network; [] where this machine forbids it."""
    try:
        allowed = subprocess.run([*ISOLATED, "true"], capture_output=True, timeout=30).returncode == 0
    except OSError:
        return []
    return ISOLATED if allowed else []


@dataclass(frozen=True)
class Offline:
    """A folder for the guard, its notes and an empty home; `problems()` says what was tried or left there."""

    folder: Path

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True)
        self.log.touch()
        (self.folder / "sitecustomize.py").write_text(GUARD.format(log=str(self.log)), encoding="utf-8")

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def log(self) -> Path:
        return self.folder / "attempts.txt"

    def environment(self, **changes: str) -> dict[str, str]:
        """For a child process: the guard on its path, the home empty, matplotlib's font list as it is."""
        path = [str(self.folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        kept = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
        homes = {"HOME": str(self.home), "USERPROFILE": str(self.home)}
        fonts = {"MPLCONFIGDIR": matplotlib.get_cachedir()}
        return kept | homes | fonts | {"PYTHONPATH": os.pathsep.join(path)} | changes

    def problems(self) -> Iterator[str]:
        """One line for every call to the outside, and for every file left in the home folder."""
        for line in self.log.read_text(encoding="utf-8").splitlines():
            yield f"tried to reach the network: {line}"
        for path in sorted(self.home.rglob("*")):
            yield f"left in the home folder: {path.relative_to(self.home)}"
