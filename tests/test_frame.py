"""The frame around the code: the way imports point, the pinned environment, make, and the README."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from browser import NAMES
from readme import demo_output, shown_output

ROOT = Path(__file__).resolve().parent.parent
GENERATED = {"__pycache__", "artefacts", "build", "node_modules"}
HEAVY = {
    "anthropic",
    "chromadb",
    "IPython",
    "ipywidgets",
    "jupyter_client",
    "matplotlib",
    "mem0",
    "openai",
    "torch",
}

needs_make = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no make; its route is in the README"
)


# How imports point


def imported(file: Path) -> set[str]:
    """The dotted names that a source file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = file.relative_to(ROOT).parts[: -node.level] if node.level else ()
            module = ".".join([*package, *filter(None, [node.module])])
            names |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    return names


def reaches(names: set[str], package: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for name in names)


FORBIDDEN = {
    "memlab": {"solutions", "course", "benchmarks", "tests", "chromadb", "mem0", "anthropic", "ipywidgets"},
    "course": {"solutions", "benchmarks", "tests"},
    "solutions": {"course", "benchmarks", "tests"},
    "solutions.given": {
        f"solutions.{file.stem}" for file in (ROOT / "solutions").glob("*.py") if file.stem != "__init__"
    },
}
"""What a package never imports: imports point one way only."""


@pytest.mark.parametrize("package", FORBIDDEN)
def test_imports_point_one_way_only(package: str) -> None:
    files = sorted(ROOT.joinpath(*package.split(".")).rglob("*.py"))
    assert len(files) > 2
    wrong = [
        f"{file.relative_to(ROOT)} imports {other}"
        for file in files
        for other in sorted(FORBIDDEN[package])
        if reaches(imported(file), other)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("statement", "heavy"),
    [
        ("import memlab", HEAVY | {"numpy"}),
        ("import memlab.clock, memlab.embedding, memlab.records, memlab.store", HEAVY),
        ("import course.desk.doctor", HEAVY | {"numpy"}),
    ],
)
def test_importing_the_core_loads_nothing_heavy(statement: str, heavy: set[str]) -> None:
    code = f"{statement}; import sys; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, check=True)
    assert heavy & set(run.stdout.split()) == set()


# The pinned environment


def plain(name: str) -> str:
    """A package name in its one normal spelling."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", name).group()).lower()  # type: ignore[union-attr]


def locked() -> list[str]:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def test_the_lock_pins_every_dependency_and_holds_no_address() -> None:
    assert [line for line in locked() if not re.match(r"[\w.-]+==[\w.]+( ;|$)", line)] == []
    assert "://" not in (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_the_lock_covers_every_dependency_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    assert {plain(line) for line in wanted} <= {plain(line) for line in locked()}


def test_the_conda_environment_is_a_thin_door_to_the_lock() -> None:
    door = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert door == {
        "name": "memlab",
        "channels": ["conda-forge"],
        "dependencies": ["python>=3.11", "pip", {"pip": ["-r requirements.lock", "-e ."]}],
    }


# What a clone holds


def texts() -> Iterator[tuple[str, str]]:
    """Every text file that a clone would hold, as (path, text)."""
    for folder, inner, files in os.walk(ROOT):
        inner[:] = [
            name
            for name in inner
            if name == ".ci" or not (name.startswith(".") or name in GENERATED or name.endswith(".egg-info"))
        ]
        for name in files:
            file = Path(folder, name)
            try:
                yield file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                assert file.suffix not in {".py", ".md", ".ipynb", ".toml", ".yml", ".json"}, (
                    f"{file}: not UTF-8"
                )


ADDRESS = re.compile(
    r"pypi\.org|pythonhosted\.org|conda\.anaconda\.org|npmjs\.org|(?:extra-)?index-url\s+\S*:/"
)
# The folder of Ada, whom the course made up, stands in tests that look for such paths.
MACHINE = re.compile(r"(?<![\w.:/~])/(?:work|root|tmp|home|Users|opt)/(?!ada\b)\w|[A-Z]:\\+Users\\+\w")


def test_no_file_names_a_registry_or_a_path_of_one_machine() -> None:
    found = [
        f"{path}: {match.group()}"
        for path, text in texts()
        for pattern in (ADDRESS, MACHINE)
        for match in pattern.finditer(text)
    ]
    assert found == []


def test_that_search_finds_what_it_looks_for() -> None:
    assert ADDRESS.search("https:" + "//files.python" + "hosted.org/x")
    assert MACHINE.search('File "' + "/" + 'home/bo/memory.py"')
    assert MACHINE.search("C:" + "\\Users\\bo")
    assert not MACHINE.search("https://example.org/home/page and ~/tmp/x")


def test_the_build_machine_runs_make_test_and_knows_the_browsers_that_the_tests_know() -> None:
    script = ROOT / ".ci" / "run"
    text = script.read_text(encoding="utf-8")
    assert os.access(script, os.X_OK)
    assert "set -euo pipefail" in text
    assert "\nmake test" in text
    assert f"for name in {' '.join(NAMES)}; do" in text


def test_the_readme_names_the_two_commands_and_only_files_that_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "\nmake lab\n" in text
    assert "\nmake demo\n" in text
    for page in ("README.md", "CONTRIBUTING.md"):
        links = re.findall(r"\]\((?!http|#)([^)#]+)", (ROOT / page).read_text(encoding="utf-8"))
        assert links
        assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_readme_shows_what_the_demo_prints() -> None:
    assert shown_output() == demo_output(), "bring it up to date: make notebooks"


# make: each target sets itself up, once. A fake Python keeps the books instead of installing.

FAKE = """#!/bin/sh
echo "$@" >> "{log}"
case "$*" in
  "-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
  *"{fails}"*) exit 1 ;;
esac
"""


class Clone:
    """A folder with the Makefile and a Python that only writes down what it is asked."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log"
        for name in ("Makefile", "requirements.lock", "pyproject.toml"):
            shutil.copy(ROOT / name, folder)

    def make(self, *arguments: str, fails: str = "nothing") -> subprocess.CompletedProcess[str]:
        python = self.folder / "fake-python"
        python.write_text(FAKE.format(log=self.log, fails=fails))
        python.chmod(0o755)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        command = ["make", f"PYTHON={python}", *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=clean, text=True, capture_output=True, check=False
        )

    def asked(self) -> list[str]:
        """What the Python was asked since the last look, without the version checks."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return [line for line in lines if not line.startswith("-c")]


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    folder = tmp_path / "a folder with spaces"
    folder.mkdir()
    return Clone(folder)


@needs_make
def test_the_first_make_sets_up_and_the_second_repeats_nothing(clone: Clone) -> None:
    assert clone.make("demo").returncode == 0
    first = clone.asked()
    assert first[0] == "-m venv --clear .venv"
    assert any("-r requirements.lock" in line for line in first)
    assert first[-1] == "-m solutions.demo"
    assert clone.make("demo").returncode == 0
    assert clone.asked() == ["-m solutions.demo"]


LEARNERS_NEED_NO = (
    "@jupyterlab/apputils-extension:announcements",
    "@jupyter/nbgrader",
    "@jupyter-notebook/lab-extension",
)


@needs_make
def test_the_set_up_keeps_what_instructors_use_out_of_the_learners_jupyterlab(clone: Clone) -> None:
    clone.make("demo")
    asked = clone.asked()
    [lab] = [line for line in asked if line.startswith("-m jupyterlab.labextensions disable")]
    [server] = [line for line in asked if "serverextension disable" in line]
    assert lab.split()[-3:] == list(LEARNERS_NEED_NO)
    assert all("sys" in line and "prefix" in line for line in (lab, server))
    assert server.count(" nbgrader.server_extensions.") == 4


@needs_make
@pytest.mark.skipif(not (ROOT / ".venv" / ".ready").exists(), reason="not an installation that make made")
def test_this_installation_shows_and_starts_nothing_of_nbgrader() -> None:
    settings = ROOT / ".venv" / "etc" / "jupyter"
    page = json.loads((settings / "labconfig" / "page_config.json").read_text(encoding="utf-8"))
    assert {name for name, off in page["disabledExtensions"].items() if off} >= set(LEARNERS_NEED_NO)
    started: dict[str, bool] = {}
    for file in sorted((settings / "jupyter_server_config.d").glob("*.json")):  # the last one counts
        started |= json.loads(file.read_text(encoding="utf-8"))["ServerApp"]["jpserver_extensions"]
    on = {name for name, enabled in started.items() if enabled}
    assert "jupyterlab" in on
    assert not any(name == "notebook" or name.startswith("nbgrader") for name in on)


@needs_make
def test_make_hands_folders_with_spaces_to_grading_and_updating(clone: Clone) -> None:
    clone.make("demo")
    clone.asked()
    assert clone.make("grade", "WORK=a class", "CSV=all of it.csv").returncode == 0
    assert clone.make("grade").returncode == 0
    assert clone.make("update", "FROM=old copy").returncode == 0
    assert clone.asked() == [
        "-m course.desk.grade a class --csv all of it.csv",
        "-m course.desk.grade notebooks",
        "-m course.desk.update --from old copy",
    ]


@needs_make
def test_a_new_lock_is_installed_into_the_environment_there_is(clone: Clone) -> None:
    clone.make("demo")
    clone.asked()
    os.utime(clone.folder / "requirements.lock", (2e9, 2e9))
    assert clone.make("demo").returncode == 0
    again = clone.asked()
    assert not any("venv" in line for line in again)
    assert any("-r requirements.lock" in line for line in again)


@needs_make
def test_an_interrupted_set_up_is_taken_up_again(clone: Clone) -> None:
    assert clone.make("demo", fails="pip install").returncode != 0
    assert not any("solutions.demo" in line for line in clone.asked())
    (clone.folder / ".venv" / "bin" / "python").unlink()
    assert clone.make("demo").returncode == 0
    assert clone.asked()[0] == "-m venv --clear .venv"


@needs_make
def test_a_copied_installation_is_made_again(clone: Clone) -> None:
    clone.make("demo")
    moved = clone.folder.with_name("moved")
    clone.folder.rename(moved)
    clone.folder, clone.log = moved, moved / "log"
    assert clone.make("demo").returncode == 0
    assert any("-e ." in line for line in clone.asked())


@needs_make
def test_without_a_python_make_says_what_to_do(clone: Clone) -> None:
    run = clone.make("demo", fails="sys.version_info")
    assert run.returncode != 0
    assert "No Python 3.11 or newer" in run.stdout
    assert "make PYTHON=" in run.stdout


@needs_make
def test_without_the_venv_module_make_says_what_to_install(clone: Clone) -> None:
    run = clone.make("demo", fails="ensurepip")
    assert run.returncode != 0
    assert "sudo apt install python3-venv" in run.stdout


@needs_make
def test_a_failing_step_fails_the_target(clone: Clone) -> None:
    assert clone.make("test", fails="mypy").returncode != 0
    assert not any("pytest" in line for line in clone.asked())


# The benchmark


def test_the_benchmark_fails_when_a_single_bit_differs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import embedding

    monkeypatch.setattr(embedding, "TEXTS", 50)
    monkeypatch.setattr(embedding, "ROUNDS", 1)
    assert embedding.main() == 0
    assert "times as fast" in capsys.readouterr().out
    monkeypatch.setattr(embedding, "hash_embed", lambda text: [v + 1e-17 for v in embedding.published(text)])
    assert embedding.main() == 1
    assert "vectors differ" in capsys.readouterr().out
