"""One SQLite file: opened with care, safe from several threads and processes, atomic, erasable."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

APPLICATION_ID = 0x6D656D6C  # "meml": tells our files from others
SCHEMA_VERSION = 1
BUSY_SECONDS = 60.0
CHECKED_AT_ONCE = 16_000_000  # bytes; larger files are checked before the first write, not when opened
READ_ONLY = "the file or its folder is read-only; make both writable, or copy the file elsewhere"
DAMAGED = (
    "the file is damaged; restore a backup, without the -wal and -shm files that stand beside it, "
    "or start with a new file"
)

SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE memories (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    memory_id TEXT NOT NULL UNIQUE,
    app_name TEXT NOT NULL, user_id TEXT NOT NULL, scope TEXT NOT NULL, session_id TEXT,
    topic TEXT NOT NULL,
    created_at REAL NOT NULL, updated_at REAL NOT NULL, expires_at REAL, invalidated_at REAL,
    importance REAL NOT NULL, half_life_days REAL NOT NULL,
    embedding BLOB NOT NULL, record TEXT NOT NULL);
CREATE INDEX memories_of_owner ON memories (app_name, user_id, scope, session_id, topic);
CREATE INDEX memories_of_app ON memories (app_name, topic) WHERE scope = 'app';
CREATE TABLE conversations (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    app_name TEXT NOT NULL, user_id TEXT NOT NULL, source_id TEXT NOT NULL,
    source_type TEXT NOT NULL, at REAL NOT NULL, messages TEXT NOT NULL,
    UNIQUE (app_name, user_id, source_id));
CREATE TABLE revoked (
    app_name TEXT NOT NULL, user_id TEXT NOT NULL, source_id TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (app_name, user_id, source_id)) WITHOUT ROWID;
"""

PRAGMAS = """
PRAGMA secure_delete = ON;
PRAGMA temp_store = MEMORY;
PRAGMA synchronous = NORMAL;
"""

CHECK = "PRAGMA quick_check(1)"  # the structure, in milliseconds; a check of the indexes takes seconds

FAULTS = (sqlite3.Error, UnicodeDecodeError)  # of a damaged file, even SQLite's own message may be unreadable

Values = Sequence[Any] | Mapping[str, Any]


class StoreError(ValueError):
    """The file cannot serve as a store; the message names it and the way out."""


class Database:
    """A connection to the store's file, shared by threads under one lock.

    Write-ahead logging lets others read during a write; a write waits up to BUSY_SECONDS for another
    process's. Deleted content is overwritten with zeros. Raises StoreError, before anything is written,
    for a path that cannot be opened and a file that is foreign, newer or damaged; what no check can see,
    such as a damaged record, is named when it is read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = _check_path(path)
        self.on_stale: Callable[[], None] = lambda: None
        self._lock = threading.RLock()
        self._depth = 0
        self._checked = False
        self._db: sqlite3.Connection | None = None
        self._of_parents: list[sqlite3.Connection | None] = []
        self._pid = os.getpid()
        self._connect()

    @property
    def lock(self) -> threading.RLock:
        """The lock under which threads take turns; whoever holds it may use the connection."""
        if self._pid != os.getpid():
            self._leave_parent()
        return self._lock

    def rows(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """All rows that `sql` gives."""
        with self.lock:
            try:
                return self._connection().execute(sql, values).fetchall()
            except sqlite3.IntegrityError:
                raise
            except FAULTS as error:  # damage may show only in a later row
                raise self._explained(error) from error

    def execute(self, sql: str, values: Values = ()) -> sqlite3.Cursor:
        """Run one statement; SQLite's errors come back as StoreError with the cure."""
        with self.lock:
            try:
                return self._connection().execute(sql, values)
            except sqlite3.IntegrityError:
                raise
            except FAULTS as error:
                raise self._explained(error) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All writes in the block land together or not at all, also if the process is killed.

        Other writers wait. A block inside a block is undone alone when it fails.
        """
        with self.lock:
            name = f"s{self._depth}"
            begin, commit, undo = ("BEGIN IMMEDIATE", "COMMIT", ["ROLLBACK"])
            if self._depth:
                begin, commit = f"SAVEPOINT {name}", f"RELEASE {name}"
                undo = [f"ROLLBACK TO {name}", f"RELEASE {name}"]
            if not self._checked:
                self._check_whole()
            self.execute(begin)
            self._depth += 1
            try:
                yield
                self.execute(commit)
            except BaseException:
                self._roll_back(undo)
                raise
            finally:
                self._depth -= 1

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All reads in the block see the file as it is at one moment, whatever others write meanwhile."""
        with self.lock:
            if self._depth:  # inside a transaction it is so anyway
                yield
                return
            self.execute("BEGIN")
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._db is not None and self._db.in_transaction:
                    self._db.execute("COMMIT")

    def version(self) -> int:
        """A number that changes when another connection has changed the file."""
        return int(self.rows("PRAGMA data_version")[0][0])

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn what goes wrong while stored values are read into a StoreError: they were whole once."""
        try:
            yield
        except (KeyError, ValueError, TypeError) as error:
            raise StoreError(f"{self.path}: {DAMAGED} ({str(error)[:60]})") from error

    def check_outside_transaction(self, action: str) -> None:
        """Raise StoreError inside a transaction: bytes can be erased only once it has ended."""
        with self.lock:
            if self._depth:
                raise StoreError(f"{action} inside transaction(): call it after the block has ended")

    def purge(self) -> None:
        """Rewrite the file without its free pages and empty the write-ahead log."""
        self.check_outside_transaction("purge")
        with self.lock:
            self.execute("VACUUM")
            deadline = time.monotonic() + BUSY_SECONDS
            # SQLite waits for readers here, but not for another process that empties the log.
            while self.rows("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]:
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"{self.path}: deleted text is still in the log, because another process reads "
                        "the file; close it there, then call purge() again"
                    )
                time.sleep(0.01)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with self.lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            if self._of_parents and self.path == ":memory:":
                raise StoreError("a store in memory cannot be used after a fork; give it a file path")
            raise StoreError(f"{self.path} is closed; open it again with MemoryStore(path)")
        return self._db

    def _leave_parent(self) -> None:
        """In a forked child: connect anew. The parent's connection must not be used here, nor closed, and
        its lock may be held by a thread that does not exist here."""
        self._of_parents.append(self._db)
        was_open, self._db = self._db is not None, None
        self._pid, self._depth, self._lock = os.getpid(), 0, threading.RLock()
        self.on_stale()
        if was_open and self.path != ":memory:":
            self._connect()

    def _connect(self) -> None:
        try:
            self._inspect_log()
            self._db = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._refuse_foreign()
            if _size(self.path) <= CHECKED_AT_ONCE:
                self._check_whole()
            self._db.executescript(PRAGMAS)
            self._use_write_ahead_log()
            self._create_schema()
        except FAULTS as error:
            self.close()
            raise self._explained(error) from error
        except OSError as error:
            raise StoreError(f"{self.path} cannot be opened here ({error}); make it readable") from error
        except StoreError:
            self.close()
            raise

    def _inspect_log(self) -> None:
        """Raise StoreError if the log beside the file is not its own: SQLite would write it into the file."""
        log = f"{self.path}-wal"
        if self.path == ":memory:" or not _size(log):
            return
        if not _size(self.path):
            raise StoreError(f"{self.path} is empty or gone, its log is not; restore it, or move {log} away")
        uri = f"{Path(self.path).as_uri()}?mode=ro"  # read-only: closing it writes nothing either
        with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)) as seen_through_log:
            own, seen = _stamp_of(self.path), seen_through_log.execute("PRAGMA user_version").fetchone()[0]
            if own and own != seen:
                raise StoreError(f"{self.path}: the log beside it belongs to another file; move {log} away")
            if _size(self.path) <= CHECKED_AT_ONCE:
                _refuse_damaged(self.path, seen_through_log.execute(CHECK).fetchone()[0])

    def _check_whole(self) -> None:
        """Raise StoreError if the file's structure is damaged anywhere, also where nobody has read yet."""
        _refuse_damaged(self.path, self.rows(CHECK)[0][0])
        self._checked = True

    def _refuse_foreign(self) -> None:
        # One statement, one moment: another process may be creating this very file.
        sql = (
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
            " FROM pragma_application_id, pragma_user_version"
        )
        owner, stamp, tables = self._connection().execute(sql).fetchone()
        version = stamp % 256
        if owner == APPLICATION_ID and version > SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} was written by a newer version (format {version}, this one knows "
                f"{SCHEMA_VERSION}); update the workbook, or open another file"
            )
        if owner != APPLICATION_ID and (owner or stamp or tables):
            raise StoreError(f"{self.path} is another program's database; choose another path for the store")

    def _use_write_ahead_log(self) -> None:
        # SQLite does not wait when several processes switch the mode at once, so we do.
        deadline = time.monotonic() + BUSY_SECONDS
        while self.path != ":memory:" and self._value("PRAGMA journal_mode") != "wal":
            try:
                if self._value("PRAGMA journal_mode = WAL") != "wal":
                    raise StoreError(f"{self.path}: this disk cannot keep a log; choose a local folder")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _create_schema(self) -> None:
        if self._value("PRAGMA application_id") == APPLICATION_ID:
            return
        with self.transaction():
            if self._value("PRAGMA application_id") != APPLICATION_ID:
                for statement in SCHEMA.split(";"):
                    self.execute(statement)
                self.execute(f"PRAGMA user_version = {_new_stamp()}")
                self.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def _value(self, sql: str) -> Any:
        return self._connection().execute(sql).fetchone()[0]

    def _roll_back(self, statements: list[str]) -> None:
        self.on_stale()
        # SQLite has already rolled back by itself after a full disk or an I/O error.
        if self._db is not None and self._db.in_transaction:
            for statement in statements:
                self._db.execute(statement)

    def _explained(self, error: Exception) -> StoreError:
        text = str(error)
        cures = {
            "not a database": "it is not a memory store; choose another path for the store",
            "malformed": DAMAGED,
            "unsupported file format": DAMAGED,
            "Could not decode": DAMAGED,
            "can't decode": DAMAGED,
            "no such": DAMAGED,
            "disk I/O error": "the disk failed or is full; make room and try again",
            "is full": "the disk is full; make room and try again",
            "readonly": READ_ONLY,
            "unable to open": "it cannot be opened here; check that the folder exists and is writable",
            "locked": "another process has been writing for too long; let it finish and try again",
        }
        cure = next((cure for sign, cure in cures.items() if sign in text), "see SQLite's message")
        return StoreError(f"{self.path}: {cure} ({text[:60]})")  # some quote what a whole row says


def _new_stamp() -> int:
    """The file's `user_version`: the format in its last byte, above it a number that tells files apart."""
    return int.from_bytes(os.urandom(3), "big") // 2 * 256 + SCHEMA_VERSION


def _stamp_of(path: str) -> int:
    """The `user_version` of a database file itself, whatever its log says."""
    with open(path, "rb") as file:
        return int.from_bytes(file.read(64)[60:], "big", signed=True)


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0  # not there; why it cannot be opened, if it cannot, is for SQLite to say


def _refuse_damaged(path: str, verdict: str) -> None:
    if verdict != "ok":
        raise StoreError(f"{path}: {DAMAGED} ({verdict.splitlines()[-1][:60]})")


def _check_path(path: str | os.PathLike[str]) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path={path!r:.60} is not a path; pass a file name or ':memory:'")
    text = os.fspath(path)
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise ValueError(f"path={text!r} names no file; pass a file name or ':memory:'")
    if text == ":memory:":
        return text
    try:
        path = Path(text).resolve()
        if path.is_dir():
            raise StoreError(f"{text} is a folder; pass the path of a file in it")
        if not path.parent.is_dir():
            raise StoreError(f"{text}: there is no folder {path.parent}; make it first")
        if path.exists() and not os.access(path, os.W_OK):
            raise StoreError(f"{path}: {READ_ONLY}")
        os.fsencode(path)
    except (OSError, UnicodeError, RuntimeError) as error:
        raise StoreError(f"path={text[:60]!r} cannot be opened ({error}); pass another path") from None
    return str(path)
