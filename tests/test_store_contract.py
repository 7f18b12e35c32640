"""The same behaviours on SQLite, on Chroma in memory and in a folder, and on a Chroma server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contract import StoreContract
from pipeline import frozen

from memlab.store import MemoryStore
from solutions.chroma_store import ChromaMemoryStore
from solutions.given.chroma import folder_client, local_server, memory_client, server_client


@pytest.fixture(autouse=True)
def _frozen_clock() -> Iterator[None]:
    with frozen():
        yield


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with local_server(tmp_path_factory.mktemp("chroma")) as port:
        yield port


@pytest.mark.xdist_group("sqlite-contract")
class TestSqlite(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> MemoryStore:
        return MemoryStore(tmp_path / "memory.db")


@pytest.mark.xdist_group("chroma-contract")
class TestChromaInMemory(StoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return ChromaMemoryStore(memory_client())


@pytest.mark.xdist_group("chroma-contract")
class TestChromaInAFolder(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[MemoryStore]:
        client = folder_client(tmp_path)
        yield ChromaMemoryStore(client)
        client.close()


@pytest.mark.xdist_group("chroma-server")
@pytest.mark.filterwarnings("ignore::solutions.chroma_store.BytesRemain")  # true there, and tested elsewhere
class TestChromaServer(StoreContract):
    @pytest.fixture
    def store(self, port: int) -> Iterator[MemoryStore]:
        client = server_client(port)
        yield ChromaMemoryStore(client)
        for collection in client.list_collections():
            client.delete_collection(collection.name)
