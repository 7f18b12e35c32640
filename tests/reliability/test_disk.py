"""A full disk and a read-only place: an error that names the cure, and nothing half written."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from aids import assert_sound, assert_whole, everything, finish, needs_fork, start
from pipeline import ADA, Teller, bytes_of
from strategies import refusal as refusal_of

from memlab.records import MemoryRecord
from memlab.store import MemoryStore, StoreError
from solutions.forgetting import forget_user

FULL = "is full; make room and try again"
SECRET = "the blue parrot"
DIETS = ("I'm a vegetarian.", "I've started eating fish again.")

pytestmark = needs_fork


# Full


def fill_up(store: MemoryStore) -> tuple[int, str]:
    """Learn until the disk refuses; how many conversations it took, and the refusal. Nothing of the last."""
    for number in range(10_000):
        before = everything(store, ADA)
        try:
            Teller(store)(f"s{number}", DIETS[number % 2], f"I like {SECRET} number {number}.")
        except StoreError as error:
            refusal = str(error)
            break
    assert everything(store, ADA) == before, "half an operation was written"
    assert_whole(store, [ADA])
    return number, refusal


def _on_a_full_disk(store: MemoryStore, make_room: Callable[[], None], connection: Connection) -> None:
    """Fill the disk, look at what is left, make room, and go on with the same store."""
    learned, refusal = fill_up(store)
    trouble = refusal_of(lambda: forget_user(store, ADA))
    assert trouble is None or "make room" in trouble
    make_room()
    if trouble is not None:
        assert len(store.conversations(ADA)) in (0, learned), "half of a user was erased"
        forget_user(store, ADA)
    assert SECRET.encode() not in bytes_of(Path(store.path))
    Teller(store)("after", *DIETS)
    store.close()
    connection.send((learned, refusal))


def _under_a_limit(path: Path, room: int, connection: Connection) -> None:
    import resource

    with MemoryStore(path) as store:
        unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, unlimited[1]))
        _on_a_full_disk(store, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, unlimited), connection)


@pytest.mark.parametrize("room", range(80_000, 400_000, 39_500))
def test_a_file_that_may_not_grow_keeps_what_it_has_and_goes_on_once_there_is_room(
    tmp_path: Path, room: int
) -> None:
    path = tmp_path / "memories.db"
    child, connection = start(_under_a_limit, path, room)
    learned, refusal = connection.recv()
    assert finish(child) == 0
    assert learned > 0
    assert FULL in refusal
    _assert_it_went_on(path)


def _assert_it_went_on(path: Path) -> None:
    assert_sound(path)
    with MemoryStore(path) as store:
        assert Teller(store).active() == ["The user eats fish again."]
        assert_whole(store, [ADA])


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A small file system of its own on `folder`; the test is skipped where nobody may mount one."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("this machine lets us mount no file system; the limit on a file's size stands in for it")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _on_a_small_disk(folder: Path, connection: Connection) -> None:
    (folder / "ballast").write_bytes(bytes(300_000))
    with MemoryStore(folder / "memories.db") as store:
        _on_a_full_disk(store, lambda: (folder / "ballast").unlink(), connection)


def test_a_disk_without_room_is_named_and_what_is_stored_stays_whole(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=700k") as folder:
        child, connection = start(_on_a_small_disk, folder)
        learned, refusal = connection.recv()
        assert finish(child) == 0
        assert learned > 0
        assert FULL in refusal
        _assert_it_went_on(folder / "memories.db")


# Read-only


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody may enter, as tmp_path is not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_nobody(action: Callable[[], object]) -> str:
    """The StoreError that `action` raises when it is done by somebody who is not root."""
    child, connection = start(_as_nobody, action)
    message: str = connection.recv()
    assert finish(child) == 0
    return message


def _as_nobody(action: Callable[[], object], connection: Connection) -> None:
    if os.geteuid() == 0:
        os.setuid(65534)
    try:
        action()
    except StoreError as error:
        connection.send(str(error))
    else:
        connection.send("no error")


@pytest.mark.parametrize(
    ("file_mode", "folder_mode", "cure"),
    [
        (0o444, 0o555, "read-only; make both writable"),
        (0o444, 0o777, "read-only; make both writable"),
        (0o666, 0o555, "read-only; make both writable"),
        (0o222, 0o777, "cannot be opened here"),
    ],
    ids=lambda value: oct(value) if isinstance(value, int) else "",
)
def test_a_store_that_may_not_be_written_is_refused_with_the_cure_and_not_touched(
    folder: Path, file_mode: int, folder_mode: int, cure: str
) -> None:
    path = folder / "memories.db"
    with MemoryStore(path) as store:
        store.put(MemoryRecord("A fact.", ADA))
    before = path.read_bytes()
    path.chmod(file_mode)
    folder.chmod(folder_mode)
    assert cure in as_nobody(lambda: MemoryStore(path))
    assert path.read_bytes() == before
    assert list(folder.iterdir()) == [path]


def test_a_new_store_in_a_read_only_folder_is_refused_with_the_cure(folder: Path) -> None:
    folder.chmod(0o555)
    cure = "check that the folder exists and is writable"
    assert cure in as_nobody(lambda: MemoryStore(folder / "new.db"))
    assert list(folder.iterdir()) == []


def test_a_read_only_disk_is_refused_with_the_cure_even_for_root(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=1m") as disk:
        MemoryStore(disk / "memories.db").close()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(StoreError, match="read-only; make both writable, or copy the file elsewhere"):
            MemoryStore(disk / "memories.db")
        with pytest.raises(StoreError, match="check that the folder exists and is writable"):
            MemoryStore(disk / "new.db")
