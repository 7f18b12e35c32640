"""The doctor finds each fault and names its cure; on a healthy machine it finds none."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from course.desk import doctor
from course.desk.doctor import Check


def ill(check: Check, *said: str) -> None:
    assert not check.ok
    for part in said:
        assert part in str(check)
    assert str(check).startswith("[FAIL]")
    assert "\n       cure: " in str(check)


def test_a_healthy_machine_passes_every_check_and_no_key_is_printed() -> None:
    secret = "sk-ant-do-not-print-me"
    run = subprocess.run(
        [sys.executable, "-m", "course.desk.doctor"],
        env=os.environ | {"ANTHROPIC_API_KEY": secret},
        text=True,
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout
    assert run.stdout.count("[OK]") == len(doctor.PACKAGES) + 5
    assert secret not in run.stdout + run.stderr


def test_an_old_python_is_named_before_anything_else_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    ill(doctor.check_python((3, 10, 4)), "3.10.4", "install Python 3.11 or newer")
    assert doctor.check_python((3, 14, 0)).ok
    old = doctor.check_python((3, 10, 4))
    monkeypatch.setattr(doctor, "check_python", lambda: old)
    assert doctor.checks() == [old]


def test_a_missing_package_is_named_with_the_command_that_installs_it() -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    ill(doctor.check_package("chromadb", ">=1.5,<2", missing), "chromadb: not installed", "requirements.lock")


@pytest.mark.parametrize("found", ["1.4.9", "2.0.0", "0.5"])
def test_a_package_outside_its_range_is_named_with_both_versions(found: str) -> None:
    ill(doctor.check_package("chromadb", ">=1.5,<2", lambda _: found), found, ">=1.5,<2", "make lab")


def test_a_range_is_compared_by_number_and_not_by_letter() -> None:
    assert doctor.in_range("1.10", ">=1.9,<2")
    assert doctor.in_range("3.11.2", "")
    with pytest.raises(ValueError, match=r"~=1\.4.*>= and <"):
        doctor.in_range("1.4", "~=1.4")


def test_every_package_the_doctor_looks_at_is_a_dependency_with_a_range_it_can_read() -> None:
    wanted = doctor.required()
    assert set(doctor.PACKAGES) <= set(wanted)
    assert all(doctor.in_range(metadata.version(name), text) for name, text in wanted.items())


def test_an_old_sqlite_is_named() -> None:
    ill(doctor.check_sqlite(version="3.7.17"), "3.7.17 is older than 3.35", "newer SQLite")


def test_a_folder_without_write_ahead_log_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "_try_sqlite", lambda _: ("delete", 1))
    ill(doctor.check_sqlite(tmp_path), "journal mode is 'delete'", "local disk")


def test_an_sqlite_without_json_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def no_json(_: Path) -> tuple[str, int]:
        raise sqlite3.OperationalError("no such function: json_extract")

    monkeypatch.setattr(doctor, "_try_sqlite", no_json)
    ill(doctor.check_sqlite(tmp_path), "json_extract", "newer SQLite")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    ill(doctor.check_folder(tmp_path / "gone"), "gone", "a folder of your own")
    ill(doctor.check_sqlite(tmp_path / "gone"), "gone", "local disk")


def test_the_checks_leave_nothing_behind(tmp_path: Path) -> None:
    assert doctor.check_folder(tmp_path).ok
    assert doctor.check_sqlite(tmp_path).ok
    assert list(tmp_path.iterdir()) == []


def test_a_kernel_that_does_not_start_is_named() -> None:
    def dies() -> tuple[str, str]:
        raise RuntimeError("Kernel died before replying")

    ill(doctor.check_kernel(dies), "Kernel died", "requirements.lock")


def test_a_kernel_of_another_python_is_named() -> None:
    ill(doctor.check_kernel(lambda: ("/elsewhere", "")), "/elsewhere", sys.prefix, "same environment")


def test_a_kernel_that_imports_another_copy_of_memlab_is_named(tmp_path: Path) -> None:
    moved = doctor.check_kernel(lambda: (sys.prefix, str(tmp_path / "memlab")))
    ill(moved, str(tmp_path), "make clean", "pip install --no-deps -e .")


def test_a_jupyterlab_without_the_widgets_extension_is_named(tmp_path: Path) -> None:
    ill(doctor.check_widgets([tmp_path]), "no jupyterlab_widgets extension", "reload the page")
    manifest = tmp_path / "@jupyter-widgets" / "jupyterlab-manager" / "package.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps({"version": "5.0.1"}))
    assert "5.0.1" in doctor.check_widgets([tmp_path]).detail


def test_one_fault_makes_the_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        doctor, "checks", lambda: [Check("a", True, "fine", ""), Check("b", False, "bad", "mend it")]
    )
    assert doctor.main() == 1
    assert capsys.readouterr().out.splitlines() == [
        "[OK] a: fine",
        "[FAIL] b: bad",
        "       cure: mend it",
        "",
        "1 of 2 need attention",
    ]


def test_the_doctor_starts_where_nothing_is_installed(tmp_path: Path) -> None:
    for package in ("memlab", "course"):
        plain = shutil.ignore_patterns("__pycache__")
        shutil.copytree(doctor.ROOT / package, tmp_path / package, ignore=plain)
    shutil.copy(doctor.ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "notebooks").mkdir()
    bare = [sys.executable, "-I", "-S", "-c", "import sys; sys.path.insert(0, '.'); "]
    bare[-1] += "from course.desk import doctor; sys.exit(doctor.main())"
    run = subprocess.run(bare, cwd=tmp_path, text=True, capture_output=True, check=False)
    assert run.returncode == 1, run.stderr
    assert "[FAIL] chromadb: not installed" in run.stdout
    assert "[FAIL] kernel" in run.stdout
    assert "[FAIL] widgets" in run.stdout
