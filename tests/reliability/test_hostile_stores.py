"""Hostile texts through the stores whose calls take milliseconds: Chroma's two, and mem0 behind its adapter.

Each text takes every place that a text can take. It is stored as it came or refused by an error that names
a field, and nobody else's memories are touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hostile import FLOODS, LISTED, mixtures
from pipeline import frozen, said
from strategies import refusal

from memlab.records import MemoryRecord, Source
from solutions.chroma_store import ChromaMemoryStore
from solutions.chroma_tools import folder_client
from solutions.mem0_client import build_memory
from solutions.mem0_port import Mem0Adapter
from solutions.policy_store import PolicyStore

TEXTS = ["\udfff", *LISTED[::3], *FLOODS[::20], *mixtures(20)]
BO = "The user of Bo's account likes tea."


@pytest.fixture(autouse=True)
def _frozen() -> Iterator[None]:
    with frozen():
        yield


def assert_named(refusals: list[str | None], *fields: str) -> None:
    """Fail unless each refusal names one of `fields` or says what the value must be."""
    vague = [text for text in refusals if text is not None and not any(field in text for field in fields)]
    assert vague == []


def test_the_chroma_store_keeps_a_text_as_it_came_or_names_what_it_refuses(tmp_path: Path) -> None:
    client: Any = folder_client(tmp_path)
    with closing(client), closing(ChromaMemoryStore(client)) as store:
        store.put(MemoryRecord(BO, "u_bo", memory_id="mem_bo"))
        kept = []
        for number, text in enumerate(TEXTS):
            source = Source("user_implicit", f"s{number}")
            refused = refusal(lambda text=text, source=source: store.put(record(text, source)))
            kept += [text] if refused is None else []
            calls: list[Callable[[], object]] = [
                lambda text=text, source=source: store.put_conversation(said(text), source, user_id="u_ada"),
                lambda text=text: store.search(text, "u_ada").contents(),
                lambda text=text: store.get(text, "u_ada"),
                lambda text=text: store.scan("u_ada", topic=text),
                lambda text=text: store.scan(text, text),
                lambda text=text: store.remove(text, "u_ada"),
                lambda text=text: store.revoke(text, "u_cy"),
            ]
            assert_named(
                [refused, *map(refusal, calls)],
                "content", "excerpt", "messages", "query", "memory_id", "topic", "user_id", "source_id",
            )  # fmt: skip
        assert [found.content for found in store.owned("u_ada")] == kept
        assert [found.content for found in store.owned("u_bo")] == [BO]


def record(text: str, source: Source) -> MemoryRecord:
    return MemoryRecord(text, "u_ada", sources=[source])


def test_the_policy_store_keeps_a_text_as_it_came_or_names_what_it_refuses(tmp_path: Path) -> None:
    client: Any = folder_client(tmp_path)
    with closing(client):
        store = PolicyStore(client, "crumb")
        store.remember("bo", BO, "fact", 3)
        kept = []
        for text in TEXTS:
            refused = refusal(lambda text=text: store.remember("ada", text, "fact", 3))
            kept += [text] if refused is None else []
            calls: list[Callable[[], object]] = [
                lambda text=text: store.remember(text, "Likes tea.", "fact", 3),
                lambda text=text: store.remember("cy", "Lives in Baner.", "fact", 3, slot=text),
                lambda text=text: store.recall("ada", text),
                lambda text=text: store.consolidate("bo", text, "; ".join),
                lambda text=text: store.what_do_you_remember(text),
                lambda text=text: store.what_was_replaced(text),
                lambda text=text: store.forget_user(text),
                lambda text=text: PolicyStore(client, text) if len(text) < 3 else None,
            ]
            assert_named(
                [refused, *map(refusal, calls)], "text", "user_id", "slot", "query", "about", "business"
            )
        assert [memory.text for memory in store.what_do_you_remember("ada")] == kept
        assert [memory.text for memory in store.what_do_you_remember("bo")] == [BO]


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect")
@pytest.mark.xdist_group("mem0")
def test_mem0_behind_its_adapter_keeps_a_text_as_it_came_or_names_what_it_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "MEMLAB_MODEL"):
        monkeypatch.delenv(name, raising=False)
    system = Mem0Adapter(build_memory(tmp_path))
    with closing(system):
        system.remember(BO, user_id="u_bo")
        for number, text in enumerate(TEXTS[::3]):  # each is a dozen requests
            source = Source("user_implicit", f"s{number}")
            calls: list[Callable[[], object]] = [
                lambda text=text: system.remember(text, user_id="u_ada"),
                lambda text=text, source=source: system.learn(said(text), source, user_id="u_ada"),
                lambda text=text: system.recall(text, user_id="u_ada"),
                lambda text=text: system.context(text, user_id="u_ada"),
                lambda text=text: system.memories(text),
                lambda text=text: system.forget_source(text, "u_ada"),
            ]
            assert_named(
                [*map(refusal, calls)],
                "content", "text", "messages", "query", "user_id", "source_id", "excerpt",
            )  # fmt: skip
        assert {memory.user_id for memory in system.memories("u_ada")} <= {"u_ada"}
        assert [memory.content for memory in system.memories("u_bo")] == [BO]
