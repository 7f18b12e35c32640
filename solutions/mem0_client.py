"""mem0's own client, unchanged but for its clock: offline, quiet, and with all its files in one folder.

With ANTHROPIC_API_KEY set, the same client asks the real service. Embeddings stay on this machine.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from course.model_server import Model, ModelServer, mem0_model
from memlab.embedding import Embedder, hash_embed
from memlab.records import check_list, check_text, one_of
from solutions.extraction import ExtractionFailed, rule_extract
from solutions.given.ask import default_model
from solutions.given.mem0_setup import load_mem0

if TYPE_CHECKING:
    from mem0 import Memory  # type: ignore[import-untyped]

COLLECTION = "memories"
MAX_TOKENS = 4096  # what llm_extract allows; mem0's own 2000 cut long replies short


def build_memory(
    folder: str | os.PathLike[str],
    *,
    store: Literal["chroma", "qdrant"] = "chroma",
    model: Model | None = None,
    embed: Embedder = hash_embed,
) -> Memory:
    """mem0's own client, with all its files below `folder`; its `close()` also stops what was started for it.

    model: what answers mem0's prompts, on this machine. None: the real service if ANTHROPIC_API_KEY is set,
    else ANTHROPIC_BASE_URL, else our rules. Embeddings come from `embed` on this machine in every case, since
    Anthropic offers none. Raises ValueError for any other store.
    """
    one_of("store", store, ("chroma", "qdrant"))
    path, dim = Path(folder), len(embed("length"))
    mem0 = load_mem0(path)
    if store == "chroma":
        _complete_rewritings(path / store)
    with ExitStack() as opened:
        server = opened.enter_context(ModelServer(model or mem0_model(rule_extract), embed))
        config = {
            "vector_store": {"provider": store, "config": _vectors(store, path, dim)},
            "llm": {"provider": "anthropic", "config": _llm(server.url, local=model is not None)},
            "embedder": {"provider": "openai", "config": _embedder(server.url, dim)},
            "history_db_path": str(path / "history.db"),
        }
        memory = mem0.Memory.from_config(config)
        clients = memory.llm.client, memory.embedding_model.client, memory.vector_store.client
        for resource in (*clients, memory.db):
            opened.callback(resource.close)
        memory.close = opened.pop_all().close  # mem0's own closes the history alone
    return memory


def _complete_rewritings(folder: Path) -> None:
    """What an erasure that was killed has left: mem0 would open an empty collection beside it."""
    from solutions.given.chroma import complete_rewritings, folder_client  # only where Chroma is used

    if folder.exists():
        client: Any = folder_client(folder)  # Any: Chroma's own type does not mention close()
        with closing(client):
            complete_rewritings(client)


def _vectors(store: str, path: Path, dim: int) -> dict[str, Any]:
    place: dict[str, Any] = {"collection_name": COLLECTION, "path": str(path / store)}
    return place | {"embedding_model_dims": dim} if store == "qdrant" else place


def _llm(here: str, *, local: bool) -> dict[str, Any]:
    key, elsewhere = os.environ.get("ANTHROPIC_API_KEY"), os.environ.get("ANTHROPIC_BASE_URL")
    address = (
        elsewhere if (key or elsewhere) and not local else here
    )  # a key alone: the service's own address
    return {
        "model": default_model(),
        "max_tokens": MAX_TOKENS,
        "api_key": "offline" if local or not key else key,
        "anthropic_base_url": address,
        # By default mem0 sends `temperature`, an argument that the anthropic client no longer has.
        "enable_sampling_parameters": False,
    }


def _embedder(here: str, dim: int) -> dict[str, Any]:
    return {
        "model": "hash_embed",
        "api_key": "offline",
        "embedding_dims": dim,
        "openai_base_url": f"{here}/v1",
    }


def loud(memory: Memory) -> Memory:
    """The client, changed so that a reply which it cannot read makes `add` raise, with nothing kept.

    mem0 logs such a reply and goes on with "no facts". Here the error comes out of mem0 as an LLMError, whose
    cause is our ExtractionFailed. It works with any model, since it looks at the reply itself.
    """
    ask = memory.llm.generate_response

    def checked(*args: Any, **kwargs: Any) -> Any:
        reply = ask(*args, **kwargs)
        if kwargs.get("response_format") == {"type": "json_object"}:
            read_memories(reply)
        return reply

    memory.llm.generate_response = checked
    return memory


def read_memories(reply: str) -> list[str]:
    """The texts in a model's reply to mem0's extraction prompt, [] when it says that there are none.

    Raises ExtractionFailed for a reply out of which mem0 would make an empty list by mistake.
    """
    from mem0.memory.utils import extract_json, remove_code_blocks  # type: ignore[import-untyped]

    text = remove_code_blocks(reply)
    for attempt in (text, extract_json(text)):
        try:
            found = json.loads(attempt, strict=False)["memory"]
            return [check_text("text", fact["text"]) for fact in check_list("memory", found, dict)]
        except (ValueError, TypeError, KeyError) as error:
            problem = f"{type(error).__name__}: {error}"
    raise ExtractionFailed(f"reply={reply[:80]!r} does not hold memories as JSON ({problem}); ask again")
