"""Loads mem0 so that it calls nobody, writes into one folder only, and lives by the workbook's clock; and
opens its own client on the addresses that it is given."""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from contextlib import ExitStack
from datetime import datetime, tzinfo
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, Protocol

from memlab import clock
from solutions.given.ask import default_model

if TYPE_CHECKING:
    from mem0 import Memory  # type: ignore[import-untyped]

Store = Literal["chroma", "qdrant"]
COLLECTION = "memories"
MAX_TOKENS = 4096  # what llm_extract allows; mem0's own 2000 cut long replies short
CHATTY = ("mem0.memory.main", "mem0.utils.spacy_models", "mem0.vector_stores.qdrant")


class Server(Protocol):
    """Answers POST /v1/messages as Anthropic does, or POST /v1/embeddings as OpenAI does, or both."""

    @property
    def url(self) -> str:
        """Its base address, such as http://127.0.0.1:8000."""
        ...


def open_client(
    folder: Path, store: Store, server: Server | None, embeddings: Server | None, dim: int
) -> Memory:
    """mem0's own client, as `build_memory` describes it; its `close()` closes all that it opened.

    Raises ValueError, before anything is opened, when an address is missing.
    """
    llm, embedder = _llm(server), _embedder(embeddings or server, dim)
    place: dict[str, Any] = {"collection_name": COLLECTION, "path": str(folder / store)}
    config = {
        "llm": {"provider": "anthropic", "config": llm},
        "embedder": {"provider": "openai", "config": embedder},
        "vector_store": {
            "provider": store,
            "config": place | ({"embedding_model_dims": dim} if store == "qdrant" else {}),
        },
        "history_db_path": str(folder / "history.db"),
    }
    memory = load_mem0(folder).Memory.from_config(config)
    opened = ExitStack()
    clients = memory.llm.client, memory.embedding_model.client, memory.vector_store.client
    for resource in (*clients, memory.db):
        opened.callback(resource.close)
    memory.close = opened.close  # mem0's own closes the history alone
    return memory


def _llm(server: Server | None) -> dict[str, Any]:
    key, address = os.environ.get("ANTHROPIC_API_KEY"), os.environ.get("ANTHROPIC_BASE_URL")
    if server is None and not (key or address):
        raise ValueError(
            "server=None asks the real service: set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL for a local "
            "model, or pass a server"
        )
    return {
        "model": default_model(),
        "max_tokens": MAX_TOKENS,
        "api_key": key if server is None and key else "offline",
        # None: the service's own address
        "anthropic_base_url": address if server is None else server.url,
        # By default mem0 sends `temperature`, an argument that the anthropic client no longer has.
        "enable_sampling_parameters": False,
    }


def _embedder(server: Server | None, dim: int) -> dict[str, Any]:
    if server is None:
        raise ValueError(
            "embeddings=None: the real service offers none, so they need an address too; pass what has a "
            "`url` and speaks OpenAI's format, such as the server"
        )
    url = f"{server.url}/v1"
    return {"model": "hash_embed", "api_key": "offline", "embedding_dims": dim, "openai_base_url": url}


def load_mem0(folder: Path) -> ModuleType:
    """The module mem0, imported so that it reports to nobody and writes its settings into `folder`.

    Its clock is the workbook's, so that a memory expires when a lesson travels. Raises RuntimeError when
    mem0 was imported before with its telemetry on.
    """
    if "mem0" not in sys.modules:
        # Both are read once, at the import: without them mem0 writes to the home folder and calls home.
        os.environ |= {"MEM0_DIR": str(folder.resolve() / "mem0"), "MEM0_TELEMETRY": "False"}
    import mem0
    from mem0.configs import prompts  # type: ignore[import-untyped]
    from mem0.memory import main, storage, telemetry  # type: ignore[import-untyped]

    if telemetry.MEM0_TELEMETRY:
        raise RuntimeError("mem0 was imported with telemetry on; restart the kernel and build_memory first")
    warnings.filterwarnings("ignore", "Payload indexes have no effect in the local Qdrant")
    for name in CHATTY:
        logging.getLogger(name).addFilter(_is_news)
    for module in (main, storage, prompts):
        module.datetime = _OurTime
    folder.mkdir(parents=True, exist_ok=True)
    return mem0  # type: ignore[no-any-return]


def _is_news(line: logging.LogRecord) -> bool:
    """False for what mem0 says each time about keyword search and spaCy, neither of which is installed:
    a search is by vectors alone. All else that mem0 logs is shown."""
    return not re.search("keyword search|spaCy", line.getMessage())


class _Instants(type):
    """Makes every datetime an `_OurTime`, since mem0 asks what it reads whether it is a `datetime`."""

    def __instancecheck__(cls, thing: object) -> bool:
        return isinstance(thing, datetime)


class _OurTime(datetime, metaclass=_Instants):
    """`datetime` for mem0, whose now() is the workbook's: frozen, travelled or real."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.fromtimestamp(clock.now(), tz)
