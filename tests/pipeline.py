"""What the tests of the pipeline share: short ways to tell, to look, and to compare whole files."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memlab import clock
from memlab.records import Candidate, MemoryRecord, Operation, Source, SourceType
from memlab.store import MemoryStore
from solutions.consolidation import Extractor, consolidate, learn
from solutions.extraction import rule_extract

PUBLISHED_AT = "2026-08-06T20:11:27Z"
ADA = "u_ada"


def said(*texts: str) -> list[dict[str, Any]]:
    """A conversation in which the user says `texts`."""
    return [{"role": "user", "content": text} for text in texts]


@dataclass
class Teller:
    """Tells one store what a user says, under a source id and a kind of source."""

    store: MemoryStore
    user_id: str = ADA
    app_name: str = "default"
    extract: Extractor = rule_extract

    def __call__(self, source_id: str, *texts: str, kind: SourceType = "user_implicit") -> list[Operation]:
        source = Source(kind, source_id)
        return learn(
            self.store, said(*texts), source,
            user_id=self.user_id, app_name=self.app_name, extract=self.extract,
        )  # fmt: skip

    def fact(
        self, source_id: str, content: str, topic: str, kind: SourceType = "user_implicit", **fields: Any
    ) -> Operation:
        """Consolidate one candidate, without a conversation."""
        candidate = Candidate(content, topic, fields.pop("confidence", 0.9), content, **fields)
        source = Source(kind, source_id, excerpt=content)
        return consolidate(self.store, candidate, source, user_id=self.user_id, app_name=self.app_name)

    def active(self) -> list[str]:
        """The contents of the active user-scope memories, oldest first."""
        return [record.content for record in self.store.scan(self.user_id, self.app_name, ("user",))]

    def record(self, content: str) -> MemoryRecord:
        """The user's one memory with this content, tombstone or not."""
        [found] = [r for r in self.store.owned(self.user_id, self.app_name) if r.content == content]
        return found


def own_ids(record: MemoryRecord) -> list[str]:
    """The ids of the sources that state the memory themselves."""
    return [source.source_id for source in record.own_sources()]


def dump(path: Path) -> list[str]:
    """All that a database file holds, as SQL."""
    with closing(sqlite3.connect(path)) as database:
        return list(database.iterdump())


def bytes_of(path: Path) -> bytes:
    """The bytes of a database file, its log and its index."""
    files = sorted(path.parent.glob(path.name + "*"))
    return b"".join(file.read_bytes() for file in files)


def frozen() -> clock.Restore:
    """The clock, stopped at the moment of the published run."""
    return clock.freeze(PUBLISHED_AT)
