"""One file, many threads and processes. Many more, and killed ones: tests/reliability."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from strategies import undone

from memlab.embedding import hash_embed
from memlab.records import MemoryRecord
from memlab.store import MemoryStore, StoreError

ROOT = Path(__file__).resolve().parents[1]
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def start(code: str, *args: object) -> subprocess.Popen[str]:
    """A Python of its own that runs `code`."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        env=os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(child: subprocess.Popen[str]) -> str:
    """What a child printed; its own error if it failed."""
    out, error = child.communicate(timeout=60)
    assert child.returncode == 0, error
    return out


def in_fork(action: Callable[[], object]) -> int:
    """The exit code of a forked child that does `action`: 0 unless it fails or hangs."""
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        code = 1
        try:
            action()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("where", ["file", ":memory:"])
def test_ten_threads_of_fifty_writes_make_five_hundred_rows(tmp_path: Path, where: str) -> None:
    """buildingjoshbetter/TrueMemory #256."""
    store = MemoryStore(tmp_path / "memories.db" if where == "file" else where)

    def write(thread: int) -> None:
        for number in range(50):
            store.put(MemoryRecord(f"Fact {thread}-{number}", "u_ada"))
            assert store.search("fact", "u_ada").records([-1])[0] is not None

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(write, range(10)))
    assert len({record.content for record in store.scan("u_ada")}) == 500
    assert len(store.search("fact", "u_ada")) == len(store.owned("u_ada")) == 500


def test_threads_that_read_never_see_half_an_operation(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "memories.db")
    done = Event()

    def move(thread: int) -> None:
        for number in range(40):
            with store.transaction():
                store.put(MemoryRecord(f"left {number}", f"u{thread}"))
                store.search("left", f"u{thread}")
                store.put(MemoryRecord(f"right {number}", f"u{thread}"))
            with undone(store):
                store.put(MemoryRecord("lost", f"u{thread}"))

    def watch() -> int:
        looks = 0
        while not done.is_set() or not looks:
            for user_id in ("u0", "u1"):
                assert len(store.scan(user_id)) % 2 == 0
                assert len(store.search("left", user_id)) % 2 == 0
            looks += 1
        return looks

    with ThreadPoolExecutor(4) as pool:
        watchers = [pool.submit(watch) for _ in range(2)]
        for mover in [pool.submit(move, thread) for thread in range(2)]:
            mover.result()
        done.set()
        assert all(watcher.result() for watcher in watchers)
    assert [len(store.scan(f"u{thread}")) for thread in range(2)] == [80, 80]


def test_threads_that_search_while_the_embedder_is_switched_see_one_or_the_other() -> None:
    store = MemoryStore()
    for number in range(50):
        store.put(MemoryRecord(f"Fact {number}", "u_ada"))

    def search(_: int) -> int:
        return min(len(store.search("fact", "u_ada")) for _ in range(60))

    with ThreadPoolExecutor(4) as pool:
        found = pool.map(search, range(3))
        for dim in (16, 32, 64):
            store.reembed(lambda text, dim=dim: hash_embed(text, dim))  # type: ignore[misc]
        assert set(found) == {50}


WRITE = """
import sys
from memlab.records import MemoryRecord, Source
from memlab.store import MemoryStore
path, who = sys.argv[1:]
with MemoryStore(path) as store:
    for number in range(25):
        store.put(MemoryRecord(f"Fact {who}-{number}", "u_ada"))
        source = Source("user_explicit", f"s{who}-{number}")
        store.put_conversation([{"role": "user", "content": "hi"}], source, user_id="u_ada")
    if who == "0":
        store.purge()
"""

READ = """
import sys, time
from memlab.store import MemoryStore
with MemoryStore(sys.argv[1]) as store:
    seen, deadline = 0, time.monotonic() + 30
    while seen < 100 and time.monotonic() < deadline:
        now = len(store.search("fact", "u_ada"))
        assert now >= seen and len(store.scan("u_ada")) >= now
        seen = now
    print(seen)
"""


def test_processes_share_a_new_file_and_none_fails_or_loses_a_write(tmp_path: Path) -> None:
    """mem0ai/mem0 #7196: all of them open a file that is not there yet."""
    path = tmp_path / "memories.db"
    writers = [start(WRITE, path, who) for who in range(4)]
    readers = [start(READ, path) for _ in range(2)]
    for writer in writers:
        finish(writer)
    assert [finish(reader).strip() for reader in readers] == ["100", "100"]
    with MemoryStore(path) as store:
        assert len({record.content for record in store.scan("u_ada")}) == 100
        assert len(store.conversations("u_ada")) == 100


OPEN = """
import sys, time
from memlab.store import MemoryStore
from memlab.records import MemoryRecord
time.sleep(max(0.0, float(sys.argv[2]) - time.time()))
for number in range(20):
    with MemoryStore(f"{sys.argv[1]}/{number}.db") as store:
        store.put(MemoryRecord("A fact.", "u_ada"))
"""


def test_processes_that_open_the_same_new_files_at_one_instant_all_succeed(tmp_path: Path) -> None:
    begin = time.time() + 1.0
    for child in [start(OPEN, tmp_path, begin) for _ in range(4)]:
        finish(child)
    for number in range(20):
        with MemoryStore(tmp_path / f"{number}.db") as store:
            assert len(store.scan("u_ada")) == 4


@needs_fork
def test_a_fork_with_an_open_store_reads_and_writes_beside_its_parent(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "memories.db")
    store.put(MemoryRecord("Of the parent.", "u_ada"))
    assert len(store.search("fact", "u_ada")) == 1

    def use() -> None:
        assert len(store.search("fact", "u_ada")) == 1
        store.put(MemoryRecord("Of the child.", "u_ada"))
        assert in_fork(lambda: store.put(MemoryRecord("Of the grandchild.", "u_ada"))) == 0
        assert len(store.search("fact", "u_ada")) == 3
        store.close()

    assert in_fork(use) == 0
    assert len(store.scan("u_ada")) == len(store.search("fact", "u_ada")) == 3
    store.put(MemoryRecord("After.", "u_ada"))
    assert store.erase_user("u_ada") == 4


@needs_fork
def test_a_fork_that_only_closes_its_store_leaves_its_parent_at_work(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "memories.db")
    store.put(MemoryRecord("Before.", "u_ada"))
    assert in_fork(store.close) == 0
    store.put(MemoryRecord("After.", "u_ada"))
    with MemoryStore(tmp_path / "memories.db") as other:
        assert len(other.scan("u_ada")) == 2


@needs_fork
def test_a_fork_sees_nothing_of_a_transaction_that_a_thread_of_its_parent_has_open(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "memories.db")
    store.put(MemoryRecord("Kept.", "u_ada"))
    inside, leave = Event(), Event()

    def hold() -> None:
        with undone(store):
            store.put(MemoryRecord("Never kept.", "u_ada"))
            assert len(store.search("fact", "u_ada")) == 2
            inside.set()
            leave.wait(20)

    def look() -> None:
        assert len(store.search("fact", "u_ada")) == len(store.scan("u_ada")) == 1

    with ThreadPoolExecutor(1) as pool:
        holder = pool.submit(hold)
        inside.wait(20)
        try:
            assert in_fork(look) == 0
        finally:
            leave.set()
        holder.result()


@needs_fork
def test_a_store_in_memory_says_that_it_does_not_survive_a_fork() -> None:
    store = MemoryStore()
    store.put(MemoryRecord("A fact.", "u_ada"))

    def use() -> None:
        for _ in range(2):
            with pytest.raises(StoreError, match="cannot be used after a fork; give it a file path"):
                store.scan("u_ada")

    assert in_fork(use) == 0
    assert len(store.scan("u_ada")) == 1
