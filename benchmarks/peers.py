"""What is measured, each behind the same four methods. Every peer gets the same texts and the same vectors.

A peer's imports happen in `prepare`, before its clock starts. Nothing here is made slower than it comes, and
where a peer could be spared something it is: Chroma, sqlite-vec and numpy are handed the question's vector.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import sqlite3
import time
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.workload import DAY, Workload, session, user

TOP = 5
BATCH = 5_000
USERS = 20  # that conversations are learned from


class Peer:
    """One way to keep memories and to ask for them; `folder` holds all its files."""

    name: ClassVar[str]

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def prepare(self) -> None:
        """Import what the peer needs."""

    def fill(self, work: Workload) -> None:
        """Write all of `work`, and close."""
        raise NotImplementedError

    def open(self) -> None:
        """Open what `fill` wrote."""
        raise NotImplementedError

    def recall(self, text: str, vector: list[float]) -> list[str]:
        """The texts of the first user's TOP memories for the question `text`, whose vector is `vector`."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the files."""

    def learn(self, number: int) -> int:
        """Learn conversation `number`, committed; how many messages it had."""
        raise NotImplementedError


class Numpy(Peer):
    """The floor: the product of one block with the question, and the top of it. It keeps no memories."""

    name = "bare numpy"

    def fill(self, work: Workload) -> None:
        np.save(self.folder / "vectors.npy", work.vectors[:: work.users])
        (self.folder / "texts.json").write_text(json.dumps(work.texts[:: work.users]), encoding="utf-8")

    def open(self) -> None:
        self.block = np.load(self.folder / "vectors.npy")
        self.texts = json.loads((self.folder / "texts.json").read_text(encoding="utf-8"))
        self.asked: dict[str, Any] = {}

    def recall(self, text: str, vector: list[float]) -> list[str]:
        if text not in self.asked:  # the product of float32 with float32, and no conversion in it
            self.asked[text] = np.array(vector, np.float32)
        scores = self.block @ self.asked[text]
        best = np.argpartition(scores, -TOP)[-TOP:]
        return [self.texts[at] for at in best[np.argsort(-scores[best])]]


class Memlab(Peer):
    """The workbook's store and ranking, through their public functions."""

    name = "memlab"

    def prepare(self) -> None:
        from memlab import store
        from solutions import consolidation, retrieval

        self.store_module, self.retrieve, self.consolidate = store, retrieval.retrieve, consolidation.learn

    def fill(self, work: Workload) -> None:
        from memlab.records import MemoryRecord, Source

        self.open()
        now, about = time.time(), zip(work.texts, work.owners, work.numbers, strict=True)
        with self.store.transaction():
            for number, (text, owner, (importance, half_life, age)) in enumerate(about):
                told = now - age * DAY
                record = MemoryRecord(
                    text, owner, topic=f"topic:{number % 50}", importance=importance,
                    half_life_days=half_life, sources=[Source("user_implicit", f"s{number // 5}", at=told)],
                    created_at=told, updated_at=told,
                )  # fmt: skip
                self.store.put(record)
        self.close()

    def open(self) -> None:
        self.store = self.store_module.MemoryStore(self.folder / "memory.db")

    def recall(self, text: str, vector: list[float]) -> list[str]:
        # It embeds the question itself, checks whether the file has changed, and parses the winners.
        return [hit.record.content for hit in self.retrieve(self.store, text, user_id=user(), k=TOP)]

    def close(self) -> None:
        self.store.close()

    def write(self, number: int) -> None:
        """One more memory of the first user, committed."""
        from memlab.records import MemoryRecord

        self.store.put(MemoryRecord(f"The user wrote note {number}.", user()))

    def learn(self, number: int) -> int:
        from memlab.records import Source

        said = session(number)
        self.consolidate(
            self.store, said, Source("user_implicit", f"s{number}"), user_id=user(number % USERS)
        )
        return len(said)


class MemlabLoopback(Memlab):
    """The same, with the facts from a loopback model: through the Anthropic client, over HTTP."""

    name = "memlab, loopback model"

    def prepare(self) -> None:
        super().prepare()
        from course.model_server import connect, extraction_model
        from solutions.extraction import llm_extract, rule_extract

        client = connect(extraction_model(rule_extract), local=True)
        learn = self.consolidate

        def ask(messages: list[dict[str, Any]]) -> Any:
            return llm_extract(messages, client)

        self.consolidate = lambda *args, **named: learn(*args, **named, extract=ask)


class LinearScan(Peer):
    """The published store."""

    name = "published scan"

    def prepare(self) -> None:
        from benchmarks.linear_scan import PublishedStore

        self.kind = PublishedStore

    def fill(self, work: Workload) -> None:
        self.open()
        columns = zip(work.texts, work.owners, work.numbers, work.vectors.tolist(), strict=True)
        self.store.put(
            {
                "memory_id": f"mem_{number:08x}", "user_id": owner, "app_name": "default", "scope": "user",
                "session_id": None, "topic": f"topic:{number % 50}", "content": text, "confidence": 0.6,
                "importance": importance, "half_life_days": half_life, "embedding": vector,
                "sources": [{"source_type": "user_implicit", "source_id": f"s{number // 5}", "excerpt": ""}],
                "created_at": time.time() - age * DAY, "updated_at": time.time() - age * DAY,
                "invalidated_at": None, "superseded_by": None, "history": [],
            }
            for number, (text, owner, (importance, half_life, age), vector) in enumerate(columns)
        )  # fmt: skip
        self.close()

    def open(self) -> None:
        self.store = self.kind(str(self.folder / "published.db"))

    def recall(self, text: str, vector: list[float]) -> list[str]:
        return [memory.content for _, memory in self.store.retrieve(text, user_id=user(), k=TOP)]

    def close(self) -> None:
        self.store.db.close()


class Chroma(Peer):
    """Chroma in a folder, with the filter that isolation and tombstones need."""

    name = "Chroma"
    where: ClassVar[dict[str, Any]] = {"$and": [{"user_id": user()}, {"active": True}]}

    def prepare(self) -> None:
        from solutions.given.chroma import folder_client, open_collection

        self.connect, self.open_collection = folder_client, open_collection

    def fill(self, work: Workload) -> None:
        self.open()
        owners = work.owners
        for start in range(0, len(work), BATCH):
            part = slice(start, start + BATCH)
            self.collection.add(
                ids=[f"mem_{number:08x}" for number in range(len(work))[part]],
                embeddings=work.vectors[part],
                documents=work.texts[part],
                metadatas=[{"user_id": owner, "active": True} for owner in owners[part]],
            )
        self.close()

    def open(self) -> None:
        self.client: Any = self.connect(self.folder)
        self.collection = self.open_collection(self.client, "memories", ("hash_embed", 256))

    def recall(self, text: str, vector: list[float]) -> list[str]:
        found = self.collection.query(query_embeddings=[vector], n_results=TOP, where=self.where)
        return list(found["documents"][0])

    def close(self) -> None:
        self.client.close()


class SqliteVec(Peer):
    """sqlite-vec: exact search in SQLite, one partition a user."""

    name = "sqlite-vec"

    def prepare(self) -> None:
        import sqlite_vec

        self.load = sqlite_vec.load
        if not hasattr(sqlite3.Connection, "enable_load_extension"):
            _preload(Path(sqlite_vec.__file__).parent)

    def fill(self, work: Workload) -> None:
        self.open()
        self.db.execute(
            "CREATE VIRTUAL TABLE memories USING vec0(user_id TEXT PARTITION KEY, active INTEGER,"
            " embedding FLOAT[256] distance_metric=cosine, +content TEXT)"
        )
        columns = zip(work.owners, work.vectors, work.texts, strict=True)
        with self.db:
            self.db.executemany(
                "INSERT INTO memories (user_id, active, embedding, content) VALUES (?, 1, ?, ?)",
                ((owner, vector.tobytes(), text) for owner, vector, text in columns),
            )
        self.close()

    def open(self) -> None:
        self.db = sqlite3.connect(self.folder / "vectors.db")
        if hasattr(self.db, "enable_load_extension"):
            self.db.enable_load_extension(True)
            self.load(self.db)

    def recall(self, text: str, vector: list[float]) -> list[str]:
        sql = (
            "SELECT content FROM memories WHERE embedding MATCH ? AND k = ? AND user_id = ? AND active = 1"
            " ORDER BY distance"
        )
        rows = self.db.execute(sql, (np.array(vector, np.float32).tobytes(), TOP, user())).fetchall()
        return [content for (content,) in rows]

    def close(self) -> None:
        self.db.close()


class Mem0Chroma(Peer):
    """mem0's client on Chroma; model and embedder answer at once, on this machine."""

    name = "mem0 on Chroma"
    provider: ClassVar[Any] = "chroma"

    def prepare(self) -> None:
        from benchmarks.systems import mem0_client
        from solutions.given.mem0_setup import load_mem0

        load_mem0(self.folder)
        for module in ("anthropic", "chromadb", "openai", "qdrant_client"):  # mem0 imports them when opened
            import_module(module)
        self.build = lambda: mem0_client(self.folder, store=self.provider)

    def fill(self, work: Workload) -> None:
        # Straight into the vector store that mem0 opened: its own `add` would take hours.
        self.open()
        for start in range(0, len(work), BATCH):
            part = slice(start, start + BATCH)
            stated = zip(work.texts[part], work.owners[part], strict=True)
            self.memory.vector_store.insert(
                vectors=work.vectors[part].tolist(),
                payloads=[
                    {"data": text, "user_id": owner, "created_at": "2026-01-01"} for text, owner in stated
                ],
                ids=[f"00000000-0000-0000-0000-{number:012x}" for number in range(len(work))[part]],
            )
        self.close()

    def open(self) -> None:
        self.memory = self.build()

    def recall(self, text: str, vector: list[float]) -> list[str]:
        found = self.memory.search(text, filters={"user_id": user()}, top_k=TOP, threshold=0.0)
        return [row["memory"] for row in found["results"]]

    def close(self) -> None:
        self.memory.close()

    def learn(self, number: int) -> int:
        said = session(number)
        self.memory.add(said, user_id=user(number % USERS))
        return len(said)


class Mem0Qdrant(Mem0Chroma):
    """mem0's client on Qdrant, in a folder."""

    name = "mem0 on Qdrant"
    provider = "qdrant"


PEERS: dict[str, type[Peer]] = {
    kind.name: kind
    for kind in (
        Numpy, Memlab, MemlabLoopback, LinearScan, Chroma, SqliteVec, Mem0Chroma, Mem0Qdrant
    )
}  # fmt: skip
"""Every peer by its name."""


def _preload(package: Path) -> None:
    """Hand sqlite-vec to the SQLite library itself, for a Python built without loadable extensions."""
    library, extension = ctypes.util.find_library("sqlite3"), next(package.glob("vec0.*"))
    if library is None:
        raise RuntimeError("this Python loads no SQLite extensions; measure with one that does")
    ctypes.CDLL(library).sqlite3_auto_extension(ctypes.CDLL(str(extension)).sqlite3_vec_init)


def bytes_in(folder: Path) -> int:
    """The size of all files in `folder`."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
