"""The finished systems, each made by one function, so that one suite can try them all.

python -m benchmarks.systems      the comparison: one row an ability, one column a system
"""

from __future__ import annotations

import argparse
import logging
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from course.acceptance import Extractor, Factory, NotOffered, System, compare
from course.model_server import Model, ModelServer, mem0_model
from memlab import clock
from memlab.records import PINNED, MemoryRecord, Source
from memlab.store import MemoryStore
from solutions.extraction import rule_extract
from solutions.given.mem0_rows import EVERYTHING, record_of
from solutions.given.mem0_setup import Store
from solutions.mem0_port import Mem0Adapter, build_memory
from solutions.memory_system import MemorySystem
from solutions.retrieval import Hit

if TYPE_CHECKING:
    from mem0 import Memory  # type: ignore[import-untyped]

OUR_RULES = mem0_model(rule_extract)
"""Answers mem0's prompts with what the rules of notebook 03 find."""


def sqlite_system(folder: Path, extract: Extractor | None = None) -> MemorySystem:
    """The memory system on one SQLite file in `folder`."""
    return MemorySystem(MemoryStore(folder / "memory.db"), extract=extract or rule_extract)


def chroma_system(folder: Path, extract: Extractor | None = None) -> MemorySystem:
    """The same system on Chroma, whose data live in `folder`."""
    from solutions.chroma_store import ChromaMemoryStore  # here: the other systems need not wait for Chroma
    from solutions.given.chroma import folder_client

    class OnChroma(MemorySystem):
        """Closes its client too, which nobody else uses."""

        def close(self) -> None:
            super().close()
            cast(Any, client).close()  # which Chroma's own type does not mention

    client = folder_client(folder)
    return OnChroma(ChromaMemoryStore(client), extract=extract or rule_extract)


def mem0_client(folder: Path, model: Model = OUR_RULES, store: Store = "chroma") -> Memory:
    """mem0's own client, on a loopback server whose model is `model`, whatever keys are set.

    Its `close()` stops that server too.
    """
    with ExitStack() as opened:
        memory = build_memory(folder, store=store, server=opened.enter_context(ModelServer(model)))
        opened.callback(memory.close)
        memory.close = opened.pop_all().close
    return memory


def mem0_alone(folder: Path, extract: Extractor | None = None) -> System:
    """mem0 as it comes, on a model that answers with what `extract` finds."""
    return PlainMem0(mem0_client(folder, mem0_model(extract or rule_extract)))


def mem0_system(folder: Path, extract: Extractor | None = None) -> System:
    """mem0 with the adapter of notebook 10 around it."""
    return Mem0Adapter(mem0_client(folder), extract=extract or rule_extract)


class PlainMem0:
    """mem0 as it comes, behind the same methods: each is one call of its client, or is not offered."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def learn(
        self, messages: list[dict[str, Any]], source: Source, *, user_id: str, app_name: str = "default"
    ) -> object:
        """What mem0 added."""
        about = {"source_type": source.source_type, "source_id": source.source_id}
        return self.memory.add(messages, user_id=user_id, agent_id=app_name, metadata=about)

    def remember(
        self,
        text: str,
        *,
        user_id: str,
        app_name: str = "default",
        importance: float = 0.5,
        slot: str = "",
        ttl_days: float = 0,
        session_id: str | None = None,
        source: Source | None = None,
    ) -> object:
        """What mem0 added: the text as it stands. It expires at the end of a day, not at an instant."""
        if slot:
            raise NotOffered("mem0 adds; no value takes the place of another")
        if importance >= PINNED and not ttl_days:  # one that expires is written, to see what the date does
            raise NotOffered("mem0 has no memory that comes back whatever is asked")
        ends = datetime.fromtimestamp(clock.now() + ttl_days * clock.DAY, UTC).date() if ttl_days else None
        about = {"source_type": source.source_type, "source_id": source.source_id} if source else {}
        return self.memory.add(
            text, user_id=user_id, agent_id=app_name, run_id=session_id, infer=False, metadata=about,
            expiration_date=ends,
        )  # fmt: skip

    def recall(
        self,
        query: str,
        *,
        user_id: str,
        app_name: str = "default",
        session_id: str | None = None,
        k: int = 5,
    ) -> list[Hit]:
        """mem0's k best. A session (mem0's run) can be asked for; it cannot be left out."""
        scope = {"user_id": user_id, "agent_id": app_name} | ({"run_id": session_id} if session_id else {})
        found = self.memory.search(query, filters=scope, top_k=k)["results"]
        return [Hit(row["score"], record_of(row), row["score"], 0.0, 0.0) for row in found]

    def context(self, system: str, query: str, **_: object) -> str:
        """Not offered."""
        raise NotOffered("mem0 gives memories back and writes no prompt; it knows no confidence")

    def memories(self, user_id: str, app_name: str = "default") -> list[MemoryRecord]:
        """What mem0 lists for this user."""
        scope = {"user_id": user_id, "agent_id": app_name}
        found = self.memory.get_all(filters=scope, top_k=EVERYTHING)["results"]
        return [record for record in map(record_of, found) if record.scope == "user"]

    def forget_source(self, source_id: str, user_id: str, app_name: str = "default") -> object:
        """Not offered."""
        raise NotOffered("mem0 deletes by user, agent, run or id; it knows no source")

    def forget_user(self, user_id: str, app_name: str = "default") -> int:
        """mem0's delete_all; the number of memories it listed before."""
        scope = {"user_id": user_id, "agent_id": app_name}
        listed = self.memory.get_all(filters=scope, top_k=EVERYTHING, show_expired=True)["results"]
        self.memory.delete_all(**scope)
        return len(listed)

    def close(self) -> None:
        """Close mem0's client and what was started for it."""
        self.memory.close()


SYSTEMS: dict[str, Factory] = {
    "SQLite": sqlite_system,
    "Chroma": chroma_system,
    "mem0 as it comes": mem0_alone,
    "mem0 + adapter": mem0_system,
}
"""The columns of the comparison."""


def main(arguments: list[str] | None = None) -> int:
    """Print the comparison of all systems."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.systems", description="Compare the systems.")
    parser.add_argument("--markdown", action="store_true", help="as a page such as the README has it")
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # for the README, whatever the terminal is set to
    logging.getLogger("mem0").setLevel(logging.CRITICAL)  # the suite makes extraction fail on purpose
    comparison = compare(SYSTEMS)
    print(comparison.markdown() if options.markdown else comparison)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
