"""What ranking needs of one owner's memories, kept in memory as arrays."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memlab.clock import DAY

if TYPE_CHECKING:
    from memlab.records import MemoryRecord

Floats = NDArray[np.floating[Any]]
Columns = tuple[NDArray[np.int64], Floats, Floats, Floats, Floats]
Row = tuple[int, bytes, float, float, float, float | None, str | None]

COLUMNS = "seq, embedding, importance, half_life_days, updated_at, expires_at, session_id"
"""The columns of a block's rows, in the order in which `Block` takes them."""

MOST_ROWS = 250_000  # of all cached blocks together: 256 MB at 256 dimensions

SPARE_ROWS = 256  # room for rows that are added after a block was loaded

TILE = 4_000  # rows that are multiplied at once: what is read for them stays in the processor's cache

_NO_SESSION = -1
_NOTHING: Columns = (np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0), np.empty(0), np.empty(0))


@dataclass(frozen=True)
class Matches:
    """The visible, active memories as arrays: entry i of each belongs to memory i, oldest first.

    relevance: cosine with the query, -1..1. importance: 0..1. age_days, half_life_days: days.
    seq, importance and half_life_days are read-only, since they look into the block that the next search
    reads: `importance *= 2` in place raises ValueError, `importance * 2` is an array of your own.
    """

    seq: NDArray[np.int64]
    relevance: Floats
    importance: Floats
    half_life_days: Floats
    age_days: Floats
    load: Callable[[list[int]], dict[int, Any]]
    read: Callable[[], dict[int, str]]

    def __post_init__(self) -> None:
        for name in ("seq", "importance", "half_life_days"):
            column = getattr(self, name).view()
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    def __len__(self) -> int:
        return len(self.seq)

    def records(self, positions: Iterable[int]) -> list[Any]:
        """The records at `positions`, in that order; one that was deleted meanwhile comes back as None."""
        wanted = [int(self.seq[position]) for position in positions]
        found = self.load(wanted) if wanted else {}
        return [found.get(seq) for seq in wanted]

    def take(self, positions: Sequence[int]) -> Matches:
        """The memories at `positions` alone, in that order."""
        at = np.asarray(positions, np.intp)
        return replace(
            self,
            seq=self.seq[at],
            relevance=self.relevance[at],
            importance=self.importance[at],
            half_life_days=self.half_life_days[at],
            age_days=self.age_days[at],
        )

    def contents(self) -> list[str]:
        """What each memory says, in order; "" for one that was deleted meanwhile."""
        found = self.read()
        return [found.get(int(seq), "") for seq in self.seq]

    @classmethod
    def joined(
        cls,
        parts: list[Columns],
        load: Callable[[list[int]], dict[int, Any]],
        read: Callable[[], dict[int, str]],
    ) -> Matches:
        """One `Matches` from the columns that each block gave."""
        filled = [part for part in parts if len(part[0])] or parts[:1]
        columns = filled[0] if len(filled) == 1 else _concatenated(filled)
        return cls(*columns, load, read)


class Block:
    """The rows of one owner, or of what one app shares. Rows are appended, changed or struck in place."""

    def __init__(self, rows: Sequence[Row] = ()) -> None:
        self._size = 0
        self._codes: dict[str, int] = {}
        self._position: dict[int, int] = {}
        self._reserve(0, 0)
        if rows:
            self._fill(rows)

    def __len__(self) -> int:
        return self._size

    def match(self, query: Floats, now: float, plain: bool, session_id: str | None) -> Columns:
        """The columns of `Matches` for the rows that hold at `now`: those of no session if `plain`, and
        those of `session_id` if one is given."""
        size = self._size
        if not size:
            return _NOTHING
        keep = self._alive[:size] & (self._expires[:size] > now)
        if self._codes or not plain:
            own = self._session[:size]
            keep &= ((own == _NO_SESSION) & plain) | (own == self._codes.get(session_id or "", -2))
        relevance = _products(self._vectors[:, :size], query)
        columns = [self._seq[:size], relevance, *self._numbers[:, :size]]
        if not keep.all():
            columns = [column[keep] for column in columns]
        seq, relevance, importance, half_life, updated = columns
        age = np.maximum(now - updated, 0.0)
        age /= DAY
        return seq, relevance, importance, half_life, age

    def set(self, row: Row) -> None:
        """Add the row, or replace the one with its seq."""
        seq, vector, importance, half_life, updated, expires, session = row
        at = self._position.get(seq)
        if at is None:
            at = self._position[seq] = self._append(len(vector) // 4)
        self._seq[at] = seq
        self._vectors[:, at] = np.frombuffer(vector, np.float32)
        self._numbers[:, at] = importance, half_life, updated
        self._expires[at] = np.inf if expires is None else expires
        self._session[at] = self._code(session)
        self._alive[at] = True

    def takes(self, seq: int) -> bool:
        """True if `set` keeps the rows in the order of their seq: a revived row may belong in between."""
        return seq in self._position or self._size == 0 or seq > self._seq[self._size - 1]

    def strike(self, seq: int) -> None:
        """Leave the row out from now on, if there is one."""
        if seq in self._position:
            self._alive[self._position[seq]] = False

    def _fill(self, rows: Sequence[Row]) -> None:
        seqs, vectors, *numbers, expiries, sessions = zip(*rows, strict=True)
        size = self._size = len(rows)
        self._reserve(size + SPARE_ROWS, len(vectors[0]) // 4)
        for start in range(0, size, 64):  # in tiles, or every number would be fetched from afar
            tile = vectors[start : start + 64]
            stored = np.frombuffer(b"".join(tile), np.float32).reshape(len(tile), -1)
            if not -1.01 < stored.min() <= stored.max() < 1.01:  # nor for NaN
                raise ValueError("a stored vector is not a unit vector")
            self._vectors[:, start : start + len(tile)] = stored.T
        self._seq[:size] = seqs
        self._numbers[:, :size] = numbers
        self._expires[:size] = [np.inf if at is None else at for at in expiries]
        self._session[:size] = [self._code(session) for session in sessions]
        self._alive[:size] = True
        self._position = {seq: at for at, seq in enumerate(seqs)}

    def _append(self, dim: int) -> int:
        if self._size == len(self._seq):
            kept = self._by_row()
            self._reserve(2 * self._size + SPARE_ROWS, dim)
            if self._size:
                for larger, smaller in zip(self._by_row(), kept, strict=True):
                    larger[: self._size] = smaller
        self._size += 1
        return self._size - 1

    def _reserve(self, rows: int, dim: int) -> None:
        self._seq = np.zeros(rows, np.int64)
        self._vectors = np.zeros((dim, rows), np.float32)  # a row for each dimension: see _products
        self._numbers = np.zeros((3, rows), np.float64)  # importance, half-life, updated at
        self._expires = np.zeros(rows, np.float64)
        self._session = np.zeros(rows, np.int64)
        self._alive = np.zeros(rows, bool)

    def _by_row(self) -> tuple[NDArray[Any], ...]:
        return self._seq, self._expires, self._session, self._alive, self._vectors.T, self._numbers.T

    def _code(self, session: str | None) -> int:
        return _NO_SESSION if session is None else self._codes.setdefault(session, len(self._codes))


class BlockCache:
    """The blocks in use, the least recently used dropped first once they hold MOST_ROWS together."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[tuple[str, str | None], Block] = OrderedDict()

    def get(self, key: tuple[str, str | None], load: Callable[[], Block]) -> Block:
        """The block under `key` (app, user; None for what the app shares), loaded if it is not here."""
        if key not in self._blocks:
            self._blocks[key] = load()
            while len(self._blocks) > 1 and sum(map(len, self._blocks.values())) > MOST_ROWS:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(key)
        return self._blocks[key]

    def amend(self, seq: int, record: MemoryRecord, vector: bytes) -> None:
        """Follow the write of `record` to the row `seq`: its block, if it is here, says the same."""
        key = (record.app_name, None if record.scope == "app" else record.user_id)
        block = self._blocks.get(key)
        if block is None:
            return
        if record.invalidated_at is not None:
            block.strike(seq)
        elif block.takes(seq):
            numbers = (record.importance, record.half_life_days, record.updated_at)
            block.set((seq, vector, *numbers, record.expires_at, record.session_id))
        else:
            self.drop(key)

    def drop(self, key: tuple[str, str | None]) -> None:
        """Forget one block; it is loaded anew when it is needed."""
        self._blocks.pop(key, None)

    def clear(self) -> None:
        """Forget all blocks."""
        self._blocks.clear()


def _products(vectors: Floats, query: Floats) -> Floats:
    """The product of each column of `vectors` with `query`.

    A hash embedder leaves most dimensions of a question at 0: their rows need not be read. What remains is
    too little for BLAS, whose threads wait for one another on a busy machine.
    """
    used = np.flatnonzero(query)
    if 4 * len(used) > len(query):
        return np.asarray(query @ vectors)
    weights, found = query[used], np.empty(vectors.shape[1], np.float32)
    for start in range(0, len(found), TILE):
        part = slice(start, start + TILE)
        np.einsum("d,dn->n", weights, vectors[:, part][used], out=found[part])
    return found


def _concatenated(parts: list[Columns]) -> Columns:
    seq, relevance, importance, half_life, age = (np.concatenate(c) for c in zip(*parts, strict=True))
    return seq, relevance, importance, half_life, age
