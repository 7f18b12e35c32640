"""The demo: the published run as text, and a user's own conversations."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pipeline import ADA, dump

from memlab import clock
from memlab.records import new_id
from memlab.store import MemoryStore
from solutions.demo import main

ROOT = Path(__file__).parents[1]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "solutions.demo", *arguments],
        cwd=ROOT, env=os.environ | environment, capture_output=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def published() -> str:
    result = run()
    assert (result.returncode, result.stderr) == (0, b"")
    return result.stdout.decode()


# The published run


def test_the_figures_are_the_published_ones(published: str) -> None:
    scores = re.findall(r"^  (0\.\d{3})  (.+)$", published, re.M)
    fish, aisle, name = (
        "The user eats fish again.", "The user prefers aisle seating on flights.", "The user goes by Ada.",
    )  # fmt: skip
    assert scores == [
        ("0.473", fish), ("0.388", aisle), ("0.370", name),
        ("0.444", aisle), ("0.392", fish), ("0.370", name),
        ("0.370", name), ("0.370", fish), ("0.349", aisle),
    ]  # fmt: skip
    assert re.findall(r"conf=(\S+)  (.+)", published.partition("RIGHT TO ERASURE")[0]) == [
        ("0.90", fish), ("0.65", name), ("0.65", aisle),
    ]  # fmt: skip


def test_revocation_prints_two_erased_and_two_flagged_then_the_revival(published: str) -> None:
    parts = re.split(r"^(?:RIGHT TO ERASURE|REGENERATION).*$", published, flags=re.M)
    revoked, _, _, revived = parts[1:]
    lines = re.findall(r"^   mem_\w+(.*)$", revoked.partition("remaining active")[0], re.M)
    assert lines == ["", "", " (needs regeneration)", " (needs regeneration)"]
    assert "The user follows a vegetarian diet.\n       active, conf=0.65, sources: s2" in revived


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "1"},
        {"TZ": "America/St_Johns", "PYTHONHASHSEED": "42"},
        {"TZ": "Asia/Kolkata", "PYTHONHASHSEED": "random", "LC_ALL": "C"},
    ],
)
def test_every_run_prints_the_same_text(published: str, environment: dict[str, str]) -> None:
    assert run(**environment).stdout.decode() == published


def test_the_published_run_leaves_the_clock_and_the_ids_free(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    first = capsys.readouterr().out
    assert main([]) == 0
    assert capsys.readouterr().out == first
    assert clock.now() == pytest.approx(time.time(), abs=60)
    assert new_id() not in first


def test_a_reader_that_has_enough_hears_no_complaint() -> None:
    reads, writes = os.pipe()
    os.close(reads)
    demo = [sys.executable, "-m", "solutions.demo"]
    result = subprocess.run(demo, cwd=ROOT, stdout=writes, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writes)
    assert (result.returncode, result.stderr) == (0, b"")


# A user's own conversations

TALKS: list[dict[str, Any]] = [
    {"user_id": ADA, "messages": [{"role": "user", "content": "I'm a vegetarian. Call me Zoë."}]},
    {"user_id": "u_bo", "app_name": "bakery", "messages": [{"role": "user", "content": "I'm vegan."}]},
    {
        "user_id": ADA,
        "source_id": "chat-7",
        "source_type": "user_explicit",
        "at": "2026-08-06T20:11:27+02:00",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "I've started eating fish."}]}],
    },
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "talks.json"
    path.write_text(json.dumps(TALKS), encoding="utf-8")
    return path


def test_own_conversations_are_learned_kept_and_asked(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "own.db"
    assert main(["--db", str(database), str(file), "--ask", "what may I cook?"]) == 0
    printed = capsys.readouterr().out
    assert "WHAT IS KNOWN ABOUT u_ada:" in printed
    assert "query: 'what may I cook?'" in printed
    with MemoryStore(database) as store:
        assert [r.content for r in store.scan(ADA)] == ["The user goes by Zoë.", "The user eats fish again."]
        assert [r.content for r in store.scan("u_bo", "bakery")] == ["The user follows a vegan diet."]
        assert [c.source.source_id for c in store.conversations(ADA)] == ["s1", "chat-7"]


def test_running_the_same_file_again_changes_nothing(tmp_path: Path, file: Path) -> None:
    database = tmp_path / "own.db"
    assert main(["--db", str(database), str(file)]) == 0
    before = dump(database)
    assert main(["--db", str(database), str(file)]) == 0
    assert dump(database) == before


def test_a_terminal_that_knows_ascii_only_is_no_obstacle(tmp_path: Path, file: Path) -> None:
    result = run(str(file), PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"Zo\\xeb" in result.stdout


MESSAGES = [{"role": "user", "content": "I'm vegan."}]


def told(content: Any = "I'm vegan.", role: str = "user", **fields: Any) -> list[dict[str, Any]]:
    """A file with one conversation of one message."""
    return [{"user_id": ADA, "messages": [{"role": role, "content": content}]} | fields]


BAD_FILES: dict[str, tuple[Any, str]] = {
    "no JSON": (b"[{", "not JSON"),
    "not UTF-8": (b'[{"user_id": "\xff"}]', "not JSON in UTF-8"),
    "nested too deep": (b"[" * 100_000, "not JSON"),
    "no list": ({"user_id": ADA, "messages": MESSAGES}, "no list"),
    "no object": (["hello"], "conversation 1 of 1: is no object"),
    "no user": ([{"messages": MESSAGES}], "user_id missing"),
    "neither": ([{}], "messages and user_id missing"),
    "an unknown field": ([{"user": ADA, "user_id": ADA, "messages": MESSAGES}], "user not known"),
    "a null user": ([{"user_id": None, "messages": MESSAGES}], "user_id=None"),
    "a blank user": ([{"user_id": " ", "messages": MESSAGES}], "user_id="),
    "a naive time": (told(at="2026-08-06T20:11:27"), "at="),
    "no time": (told(at="yesterday"), "at='yesterday'"),
    "an unknown source type": (
        told(source_type="rumour"),
        "source_type=",
    ),
    "a number for a source": (told(source_id=7), "source_id=7"),
    "text for messages": (told(messages="I'm vegan."), "messages="),
    "an unknown role": (
        told(role="Ada"),
        "messages[0].role=",
    ),
    "no content": ([{"user_id": ADA, "messages": [{"role": "user"}]}], "messages[0].content is missing"),
    "a NUL": (told("a\0b"), "messages[0].content="),
    "half a pair": (
        told("\ud83d"),
        "messages[0].content=",
    ),
    "an error in the last": (
        [*TALKS, {"user_id": ADA, "messages": None}],
        "conversation 4 of 4: messages=None",
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_named_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    content, message = BAD_FILES[name]
    file, database = tmp_path / "bad.json", tmp_path / "own.db"
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    assert main(["--db", str(database), str(file)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert str(file) in printed.err
    assert "Traceback" not in printed.err
    assert len(printed.err) < 1000
    assert not database.exists()


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        assert main([str(path)]) == 2
        assert str(path) in capsys.readouterr().err


def test_another_programs_database_is_refused_and_left_alone(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "other.db"
    database.write_bytes(b"not a database at all, and long enough to look at" * 40)
    before = database.read_bytes()
    assert main(["--db", str(database), str(file)]) == 2
    assert "choose another path" in capsys.readouterr().err
    assert database.read_bytes() == before


@pytest.mark.parametrize("arguments", [["--db", "x.db"], ["--ask", "what?"], ["--unknown"]])
def test_a_wrong_command_line_is_explained(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "usage:" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
