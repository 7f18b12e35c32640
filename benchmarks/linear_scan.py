"""The published store: JSON in SQLite, and a cosine in Python for every memory on every question.

From "Mini-project 5: build a memory system", Parts 1, 3 and 6: the table, `scan`, `cosine` and `retrieve` are
its, word for word but for types; `put` and `_hydrate`, which it leaves out, keep the record as JSON.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from benchmarks.embedding import published as hash_embed


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b))  # noqa: B905 - both are unit vectors


class Record(SimpleNamespace):
    """A memory as the published code keeps it."""

    def active(self) -> bool:
        return self.invalidated_at is None

    def age_days(self, now: float) -> float:
        return (now - self.updated_at) / 86400


class PublishedStore:
    def __init__(self, path: str = ":memory:") -> None:
        self.db = sqlite3.connect(path, check_same_thread=False)
        self.db.execute("""CREATE TABLE IF NOT EXISTS memories (
            memory_id TEXT PRIMARY KEY, user_id TEXT NOT NULL,
            app_name TEXT NOT NULL, scope TEXT NOT NULL, blob TEXT NOT NULL)""")
        self.db.execute("CREATE INDEX IF NOT EXISTS ix_owner ON memories(user_id, app_name, scope)")
        self.db.commit()

    def put(self, records: Iterable[dict[str, Any]]) -> None:
        rows = [
            (r["memory_id"], r["user_id"], r["app_name"], r["scope"], json.dumps(r)) for r in records
        ]  # one commit for all, which the published code does not have
        with self.db:
            self.db.executemany("INSERT OR REPLACE INTO memories VALUES (?, ?, ?, ?, ?)", rows)

    def scan(
        self,
        user_id: str,
        app_name: str = "default",
        scopes: Iterable[str] = ("user", "app"),
        include_invalid: bool = False,
    ) -> list[Record]:
        scopes = tuple(scopes)
        q = (
            "SELECT blob FROM memories WHERE app_name=? AND scope IN "
            f"({','.join('?' * len(scopes))}) AND (user_id=? OR scope='app')"
        )
        rows = self.db.execute(q, (app_name, *scopes, user_id)).fetchall()
        out = [self._hydrate(r[0]) for r in rows]
        return out if include_invalid else [m for m in out if m.active()]

    def retrieve(
        self,
        query: str,
        *,
        user_id: str,
        app_name: str = "default",
        scopes: Iterable[str] = ("user", "app"),
        k: int = 5,
        w: tuple[float, float, float] = (0.6, 0.25, 0.15),
    ) -> list[tuple[float, Record]]:
        now = time.time()
        qe = hash_embed(query)
        wr, wrec, wimp = w
        scored = []
        for m in self.scan(user_id, app_name, scopes):
            relevance = cosine(qe, m.embedding)
            recency = 0.5 ** (m.age_days(now) / m.half_life_days)
            scored.append((wr * relevance + wrec * recency + wimp * m.importance, m))
        scored.sort(key=lambda p: -p[0])
        return scored[:k]

    def _hydrate(self, blob: str) -> Record:
        return Record(**json.loads(blob))
