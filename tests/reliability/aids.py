"""What the reliability tests share: forked processes, and what must hold in any store at any time."""

from __future__ import annotations

import multiprocessing
import sqlite3
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from memlab.records import SCOPES
from memlab.store import MemoryStore
from solutions.consolidation import is_exclusive
from solutions.extraction import rule_extract

needs_fork = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods() or sys.platform == "darwin",
    reason="forks processes that have everything imported already, which this system cannot",
)


def start(work: Callable[..., Any], *args: object) -> tuple[Any, Connection]:
    """A forked process that does `work(*args, connection)`, and our end of the connection."""
    _warm_up()
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=work, args=(*args, there), daemon=True)
    child.start()
    there.close()
    return child, here


@cache
def _warm_up() -> None:
    """Compile every rule here, once, rather than in each process for half a second."""
    rule_extract([{"role": "user", "content": "I'm a vegetarian."}])


def finish(child: Any, seconds: float = 120.0) -> int:
    """The exit code of a process: 0 if it ended well, 1 if it raised, -9 if it was killed."""
    child.join(seconds)
    if child.exitcode is None:
        child.kill()
        child.join()
        pytest.fail(f"a process did not end within {seconds:.0f} s")
    return int(child.exitcode)


def assert_sound(path: Path) -> None:
    """Fail unless SQLite finds every page, index and constraint of the file in order."""
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def assert_whole(store: MemoryStore, users: Iterable[str]) -> None:
    """Fail unless what is stored of these users fits together."""
    for user_id in users:
        with store.snapshot():
            owned = {record.memory_id: record for record in store.owned(user_id)}
            talks = {talk.source.source_id for talk in store.conversations(user_id)}
            revoked, shown = store.revoked(user_id), store.scan(user_id, scopes=("user",))
            found = store.search("anything", user_id, scopes=("user",)).records(range(len(shown)))
        for record in owned.values():
            assert record.superseded_by is None or record.superseded_by in owned, "a chain has lost its end"
            assert record.superseded_by is None or record.invalidated_at is not None, "half superseded"
        values = {(r.subject, r.topic, r.content) for r in shown if is_exclusive(r.topic)}
        held = [value[:2] for value in values]
        assert len(held) == len(set(held)), "two values at once on an exclusive topic"
        assert found == shown, "search and scan disagree"
        assert not revoked & talks, "a revoked conversation is kept"
        sources = {source.source_id for record in owned.values() for source in record.sources}
        assert not revoked & sources, "a memory rests on a revoked source"


def everything(store: MemoryStore, user_id: str) -> tuple[Any, ...]:
    """All that a store holds of one user, to be compared."""
    sessions = store.scan(user_id, scopes=SCOPES, include_invalid=True)
    return sessions, store.owned(user_id), store.conversations(user_id), store.revoked(user_id)
