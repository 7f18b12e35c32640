"""Is this machine ready for the workbook? `python -m course.desk.doctor` says, with the cure for what is not.

It imports nothing heavy and calls nobody, so that it also runs where the installation is half done.
"""

from __future__ import annotations

import ast
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("jupyterlab", "ipywidgets", "chromadb", "numpy", "anthropic", "mem0ai", "matplotlib", "pydantic")
INSTALL = "run `make lab`, or `python -m pip install -r requirements.lock` in the workbook's folder"
OLDEST_PYTHON = (3, 11)
OLDEST_SQLITE = (3, 35)


@dataclass(frozen=True)
class Check:
    """What one look at the machine found; `cure` says what to do when `ok` is False.

    Example:
    >>> print(Check("SQLite", False, "3.7.0", "install a newer Python"))
    [FAIL] SQLite: 3.7.0
           cure: install a newer Python
    """

    name: str
    ok: bool
    detail: str
    cure: str

    def __str__(self) -> str:
        line = f"[{'OK' if self.ok else 'FAIL'}] {self.name}: {self.detail}"
        return line if self.ok else f"{line}\n       cure: {self.cure}"


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, to compare.

    Example:
    >>> numbers("1.5.9") < numbers("2")
    True
    """
    return tuple(int(part) for part in re.findall(r"\d+", version))


def in_range(version: str, wanted: str) -> bool:
    """True if `version` meets every clause of `wanted` (clauses `>=` and `<`, joined by commas).

    Raises ValueError for another kind of clause.

    Example:
    >>> in_range("2.14.1", ">=2.14,<3"), in_range("3.0", ">=2.14,<3")
    (True, False)
    """
    for clause in filter(None, wanted.split(",")):
        if clause.startswith(">="):
            fits = numbers(version) >= numbers(clause)
        elif re.match(r"<\d", clause):
            fits = numbers(version) < numbers(clause)
        else:
            raise ValueError(f"wanted={wanted!r} has the clause {clause!r}; write it with >= and <")
        if not fits:
            return False
    return True


def required() -> dict[str, str]:
    """The version range of each dependency in pyproject.toml, by package name."""
    import tomllib  # here, so that the doctor still starts on an older Python to say that it is too old

    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lines: list[str] = tomllib.loads(text)["project"]["dependencies"]
    return dict(re.split(r"(?=[<>])", line, maxsplit=1) for line in lines)


def check_python(version: tuple[int, ...] = sys.version_info[:3]) -> Check:
    """Is this Python new enough?"""
    oldest = ".".join(map(str, OLDEST_PYTHON))
    return Check(
        "Python",
        version >= OLDEST_PYTHON,
        ".".join(map(str, version)),
        f"install Python {oldest} or newer, then `make clean` and `make PYTHON=python{oldest} lab`",
    )


def check_package(name: str, wanted: str, installed: Callable[[str], str] = metadata.version) -> Check:
    """Is the package `name` installed, in a version that fits `wanted`? It is not imported."""
    try:
        found = installed(name)
    except metadata.PackageNotFoundError:
        return Check(name, False, "not installed", INSTALL)
    return Check(name, in_range(found, wanted), f"{found} (wanted {wanted})", INSTALL)


def check_sqlite(folder: Path = ROOT, version: str = sqlite3.sqlite_version) -> Check:
    """Is SQLite new enough, and do its JSON functions and write-ahead log work in `folder`?"""
    cure = "use a Python with a newer SQLite (python.org or conda), and a folder on a local disk"
    if numbers(version) < OLDEST_SQLITE:
        return Check("SQLite", False, f"{version} is older than {'.'.join(map(str, OLDEST_SQLITE))}", cure)
    try:
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            mode, one = _try_sqlite(Path(scratch) / "try.db")
    except (OSError, sqlite3.Error) as error:
        return Check("SQLite", False, f"{version}, but in {folder}: {error}", cure)
    if (mode, one) != ("wal", 1):
        return Check("SQLite", False, f"{version}, but its journal mode is {mode!r} in {folder}", cure)
    return Check("SQLite", True, f"{version}, with JSON and a write-ahead log", cure)


def _try_sqlite(file: Path) -> tuple[str, int]:
    database = sqlite3.connect(file)
    try:
        mode: str = database.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        one: int = database.execute("""SELECT json_extract('{"a": 1}', '$.a')""").fetchone()[0]
    finally:
        database.close()
    return mode, one


def check_folder(folder: Path = ROOT / "notebooks") -> Check:
    """Can a notebook be saved in `folder`?"""
    cure = "copy the workbook into a folder of your own (your home), and open it there"
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"memory")
    except OSError as error:
        return Check("folder", False, str(error), cure)
    return Check("folder", True, f"{folder} can be written", cure)


def check_kernel(ask: Callable[[], tuple[str, str]] | None = None) -> Check:
    """Does a real kernel start in notebooks/, run this very Python, and import this very memlab?"""
    cure = f"{INSTALL}; start JupyterLab from the same environment as this doctor"
    try:
        prefix, package = (ask or _ask_kernel)()
    except Exception as error:  # a kernel fails in many ways, and each of them is a finding here
        return Check("kernel", False, f"{type(error).__name__}: {error}", cure)
    if Path(prefix).resolve() != Path(sys.prefix).resolve():
        return Check("kernel", False, f"it runs the Python of {prefix}, not of {sys.prefix}", cure)
    if Path(package).resolve() != ROOT / "memlab":
        moved = "`make clean`, then `make lab`; without make: `python -m pip install --no-deps -e .`"
        return Check("kernel", False, f"it imports memlab from {package}, not from {ROOT}", moved)
    return Check("kernel", True, "it starts, and runs this Python and this memlab", cure)


def _ask_kernel() -> tuple[str, str]:
    """The `sys.prefix` of a new kernel, and the folder that it imports memlab from."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(
        startup_timeout=60, kernel_name="python3", cwd=str(ROOT / "notebooks"), stderr=subprocess.DEVNULL
    )
    try:
        reply = client.execute(
            "import sys, memlab.clock",
            user_expressions={"prefix": "sys.prefix", "module": "memlab.clock.__file__"},
            reply=True,
            timeout=60,
        )["content"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    if reply["status"] != "ok":
        raise RuntimeError(f"{reply['ename']}: {reply['evalue']}")
    prefix, module = (
        ast.literal_eval(reply["user_expressions"][name]["data"]["text/plain"])
        for name in ("prefix", "module")
    )
    return prefix, str(Path(module).parent)


def check_widgets(folders: Iterable[str | Path] | None = None) -> Check:
    """Can JupyterLab show widgets: does it have their extension, and ipywidgets the same protocol?"""
    cure = f"{INSTALL}, then reload the page in the browser"
    name = Path("@jupyter-widgets", "jupyterlab-manager", "package.json")
    try:
        found = [Path(folder) / name for folder in (_labextensions() if folders is None else folders)]
        manifest = next((file for file in found if file.is_file()), None)
    except ImportError as error:
        return Check("widgets", False, str(error), cure)
    if manifest is None:
        return Check("widgets", False, "JupyterLab has no jupyterlab_widgets extension", cure)
    version = json.loads(manifest.read_text(encoding="utf-8"))["version"]
    return Check("widgets", True, f"JupyterLab shows them (extension {version})", cure)


def _labextensions() -> list[str]:
    from jupyter_core.paths import jupyter_path

    return jupyter_path("labextensions")


def checks() -> list[Check]:
    """Every check, in the order in which a cure helps the next."""
    python = check_python()
    if not python.ok:
        return [python]
    wanted = required()
    packages = [check_package(name, wanted[name]) for name in PACKAGES]
    return [python, *packages, check_sqlite(), check_folder(), check_kernel(), check_widgets()]


def main() -> int:
    """Print every check; 0 if all are well, else 1."""
    found = checks()
    print(*found, sep="\n")
    ill = sum(not check.ok for check in found)
    print(f"\n{ill} of {len(found)} need attention" if ill else "\nAll is well: open the workbook.")
    return 1 if ill else 0


if __name__ == "__main__":
    sys.exit(main())
