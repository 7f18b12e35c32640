"""A damaged file is named as such, and not a byte of it is written."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memlab.engine import database
from memlab.records import MemoryRecord, Source
from memlab.store import MemoryStore, StoreError

DAMAGED = (
    "the file is damaged; restore a backup|is not a memory store|another program's database|newer version"
)
FACTS = 40


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a store with FACTS memories and as many conversations."""
    path = tmp_path_factory.mktemp("whole") / "memories.db"
    fill(path, FACTS)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.db"


def fill(path: Path, facts: int, user_id: str = "u_ada") -> None:
    with MemoryStore(path) as store, store.transaction():
        for number in range(facts):
            source = Source("user_implicit", f"s{number}", excerpt="Wörter.")
            store.put(MemoryRecord(f"Fact {number}: über dies und das.", user_id, sources=[source]))
            store.put_conversation([{"role": "user", "content": "Wörter."}], source, user_id=user_id)


def reads(store: MemoryStore) -> Iterator[object]:
    """What every way to read gives."""
    yield store.scan("u_ada", include_invalid=True)
    yield store.owned("u_ada")
    found = store.search("fact", "u_ada")
    yield found.records(range(len(found))), found.contents()
    yield store.conversations("u_ada"), store.revoked("u_ada")
    yield len(store.search("fact", "u_ada", as_of=4e9))


def complaint(path: Path) -> str:
    """What the store says about the file when it is opened, read and written; "" if it is content.

    Whatever else it raises comes through, as does a change of the file by one that complained.
    """
    before, said = path.read_bytes(), ""
    try:
        with MemoryStore(path) as store:
            for seen in reads(store):
                assert seen is not None
            store.put(MemoryRecord("One more.", "u_ada"))
    except StoreError as error:
        said = str(error)
    assert not said or path.read_bytes() == before, "a file that was called damaged has changed"
    assert not said or str(path) in said
    assert len(said) < len(str(path)) + 250, "the message quotes what is stored"
    return said


def test_a_file_cut_off_anywhere_is_called_damaged_and_left_alone(whole: bytes, path: Path) -> None:
    for size in [*range(2, len(whole), 1021), *range(4096, len(whole), 4096), *range(-9, 0)]:
        path.write_bytes(whole[:size])
        assert any(sign in complaint(path) for sign in DAMAGED.split("|")), size


def test_an_empty_file_is_a_new_store(path: Path) -> None:
    path.touch()
    assert complaint(path) == ""


def test_a_page_that_was_lost_is_found_when_the_file_is_opened(whole: bytes, path: Path) -> None:
    for start in range(0, len(whole), 4096):
        for lost in (bytes(4096), b"\xff" * 4096, random.Random(start).randbytes(4096)):
            path.write_bytes(whole[:start] + lost + whole[start + 4096 :])
            with pytest.raises(StoreError, match=DAMAGED):
                MemoryStore(path)
            assert path.read_bytes() == whole[:start] + lost + whole[start + 4096 :]


def test_any_byte_of_the_header_may_be_wrong(whole: bytes, path: Path) -> None:
    for place in range(100):
        for flip in (0x01, 0xFF):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
            complaint(path)


def test_flipped_bits_give_values_or_a_complaint_and_never_another_error(whole: bytes, path: Path) -> None:
    chance, complaints = random.Random(7), 0
    for _ in range(120):
        damaged = bytearray(whole)
        for _ in range(chance.choice([1, 5, 50])):
            damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        complaints += complaint(path) != ""
    assert complaints > 25


def test_a_large_file_is_checked_where_it_is_read_and_as_a_whole_before_it_is_first_written(
    whole: bytes, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "CHECKED_AT_ONCE", 0)
    damaged = bytearray(whole)
    for page in range(8 * 4096, len(whole), 4096):
        damaged[page : page + 64] = b"\xff" * 64
    path.write_bytes(damaged)
    with MemoryStore(path) as store:
        with pytest.raises(StoreError, match="the file is damaged"):
            store.owned("u_ada")
        with pytest.raises(StoreError, match="the file is damaged"):
            store.put(MemoryRecord("One more.", "u_bo"))
    assert path.read_bytes() == damaged


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE memories SET record = substr(record, 1, 99)",
        "UPDATE memories SET record = replace(record, 'user_implicit', 'user_implicat')",
        "UPDATE memories SET record = replace(record, '\"content\"', '\"contend\"')",
        "UPDATE memories SET record = CAST(X'7BFF7D' AS TEXT)",
        "UPDATE memories SET record = 7",
        "UPDATE memories SET embedding = zeroblob(3)",
        "UPDATE memories SET embedding = zeroblob(8) WHERE seq = 5",
        "UPDATE memories SET embedding = CAST(X'0000C07F' || zeroblob(1020) AS BLOB) WHERE seq = 5",
        "UPDATE memories SET embedding = 'text'",
        "UPDATE memories SET importance = 'high'",
        "UPDATE memories SET updated_at = X'00'",
        "UPDATE conversations SET messages = substr(messages, 1, 9)",
        "UPDATE conversations SET source_id = CAST(source_id AS BLOB)",
        "UPDATE conversations SET source_type = 'user_implicat'",
        "DROP TABLE revoked",
        "DELETE FROM settings WHERE name = 'dim'",
    ],
)
def test_a_damaged_row_is_named_by_whoever_reads_it(whole: bytes, path: Path, damage: str) -> None:
    path.write_bytes(whole)
    with closing(sqlite3.connect(path)) as other, other:
        other.execute(damage)
    assert "the file is damaged" in complaint(path)


# A log that does not belong


def with_live_log(folder: Path, facts: int) -> Path:
    """A store as a killed process leaves it: its newest memories are in the log alone."""
    folder.mkdir()
    with MemoryStore(folder / "live.db") as store:
        for number in range(facts):
            store.put(MemoryRecord(f"Live {number}.", "u_ada"))
        for suffix in ("", "-wal"):
            shutil.copy(f"{store.path}{suffix}", f"{folder}/left.db{suffix}")
    return folder / "left.db"


def log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def test_a_log_of_its_own_is_taken_up(tmp_path: Path) -> None:
    with MemoryStore(with_live_log(tmp_path / "a", 5)) as store:
        assert len(store.scan("u_ada")) == 5


def test_a_log_from_elsewhere_is_refused_and_nothing_of_it_gets_into_the_file(
    whole: bytes, path: Path, tmp_path: Path
) -> None:
    path.write_bytes(whole)
    log = log_of(path)
    foreign = log_of(with_live_log(tmp_path / "b", 5)).read_bytes()
    log.write_bytes(foreign)
    for _ in range(2):
        with pytest.raises(StoreError, match=f"belongs to another file; move {log} away"):
            MemoryStore(path)
        assert (path.read_bytes(), log.read_bytes()) == (whole, foreign)
    log.unlink()
    with MemoryStore(path) as store:
        assert len(store.scan("u_ada")) == FACTS


def test_a_log_that_is_no_log_does_no_harm(whole: bytes, path: Path) -> None:
    for log in (b"x", b"hello " * 1000, random.Random(3).randbytes(50_000)):
        path.write_bytes(whole)
        log_of(path).write_bytes(log)
        with MemoryStore(path) as store:
            assert len(store.scan("u_ada")) == FACTS


@pytest.mark.parametrize("leave", [lambda path: path.unlink(), lambda path: path.write_bytes(b"")])
def test_a_log_without_its_file_is_refused_rather_than_thrown_away(
    tmp_path: Path, leave: Callable[[Path], object]
) -> None:
    path = with_live_log(tmp_path / "a", 3)
    kept = log_of(path).read_bytes()
    leave(path)
    with pytest.raises(StoreError, match="empty or gone, its log is not"):
        MemoryStore(path)
    assert log_of(path).read_bytes() == kept


def test_a_backup_beside_a_newer_log_is_either_whole_or_called_damaged(tmp_path: Path) -> None:
    """The log holds the pages that changed since: with an older file they may or may not make sense."""
    path, backup = tmp_path / "memories.db", tmp_path / "backup.db"
    fill(path, 10)
    shutil.copy(path, backup)
    fill(path, 300)
    with MemoryStore(path) as store:
        for number in range(5):
            store.put(MemoryRecord(f"Newest {number}.", "u_ada"))
        shutil.copy(log_of(path), log_of(backup))
    assert "the file is damaged; restore a backup, without the -wal" in complaint(backup)
