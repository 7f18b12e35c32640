"""A model on this machine: a loopback server that speaks the wire formats of the real clients.

The notebooks use the real `anthropic` and `mem0` clients, unchanged. Without a key they talk to this server.
Its "model" is made of functions that the caller hands in, such as the learner's rules, and it says so in
every answer. With ANTHROPIC_API_KEY set, `connect` goes to the real service; with ANTHROPIC_BASE_URL alone,
to whatever local model listens there.

Formats: Anthropic Messages (POST /v1/messages) and OpenAI embeddings (POST /v1/embeddings).
"""

from __future__ import annotations

import base64
import json
import os
import re
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab.embedding import Embedder, hash_embed
from memlab.records import Candidate, MemoryRecord, Operation, Source

if TYPE_CHECKING:
    from anthropic import Anthropic

MODEL_NAME = "memlab-loopback (rules and hash_embed, no language model)"

Request = dict[str, Any]
Model = Callable[[Request], "str | list[dict[str, Any]]"]
"""From the body of a Messages request to the reply: text, or content blocks such as tool_use."""


class ModelServer:
    """A server on 127.0.0.1 that answers with `model` and embeds with `embed`, until `close()`.

    `requests` holds the bodies received, oldest first; headers, and so keys, are never kept.

    Example:
    >>> with ModelServer(lambda request: "hello") as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, model: Model, embed: Embedder = hash_embed) -> None:
        self.requests: list[Request] = []
        self._routes = {
            "/v1/messages": lambda body: _message(body, model(body), len(self.requests)),
            "/v1/embeddings": lambda body: _embeddings(body, embed),
        }
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        # The standard half a second would be what each close() waits for.
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        """The base address, for `base_url=`; the OpenAI client wants `/v1` behind it."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answer(self, path: str, body: bytes) -> tuple[int, Request]:
        """Status and JSON for one POST: 200, 404 for an unknown path, 400 for anything that goes wrong."""
        route = self._routes.get(path.split("?")[0])
        if route is None:
            return 404, _error("not_found_error", f"{path} is not served; use {' or '.join(self._routes)}")
        try:
            request = json.loads(body)
            if request.get("stream"):
                raise ValueError("stream=true is not served here; ask without streaming")
            self.requests.append(request)
            return 200, route(request)
        except Exception as error:
            # Whatever the learner's function raised is the answer: 400, since clients repeat a 500.
            return 400, _error("invalid_request_error", f"{type(error).__name__}: {error}")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer = self.answer

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else each answer waits for the client to confirm its headers

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                status, reply = answer(self.path, body)
                payload = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing: a lesson's output is its own."""

        return Handler


def connect(model: Model, *, local: bool = False) -> Anthropic:
    """A real Anthropic client: to the service if a key is set, else to ANTHROPIC_BASE_URL, else to `model`
    on this machine. local: to `model`, whatever is set, as for a model that misbehaves on purpose."""
    import anthropic

    if os.environ.get("ANTHROPIC_API_KEY") and not local:
        return anthropic.Anthropic()
    address = (not local and os.environ.get("ANTHROPIC_BASE_URL")) or ModelServer(model).url
    return anthropic.Anthropic(api_key="offline", base_url=address, max_retries=0)


def extraction_model(extract: Callable[[list[dict[str, Any]]], list[Candidate]]) -> Model:
    """A model that answers an extraction prompt with what `extract` finds in the messages listed in it."""

    def model(request: Request) -> str:
        said = [message for message in _json_lines(last_text(request)) if "role" in message]
        return json.dumps({"facts": [vars(candidate) for candidate in extract(said)]})

    return model


def mem0_model(extract: Callable[[list[dict[str, Any]]], list[Candidate]]) -> Model:
    """A model that answers mem0's extraction prompt with what `extract` finds in its new messages, and any
    other prompt as `extraction_model` does."""
    ours = extraction_model(extract)

    def model(request: Request) -> str | list[dict[str, Any]]:
        asked = _MEM0_MESSAGES.search(last_text(request))
        if asked is None:
            return ours(request)
        found = extract(_mem0_messages(asked["messages"]))
        facts = [{"text": candidate.content, "attributed_to": "user"} for candidate in found]
        return json.dumps({"memory": [{"id": str(i)} | fact for i, fact in enumerate(facts)]})

    return model


# The memories before them stand in one line, as JSON: so no memory can pose as a message.
_MEM0_MESSAGES = re.compile(
    r"^## Existing Memories\n\[.*\]\n\n## New Messages\n(?P<messages>[\s\S]*)\n\n## Observation Date$", re.M
)
_MEM0_ROLE = re.compile(r"^(user|assistant|system): ", re.M)


def _mem0_messages(text: str) -> list[dict[str, Any]]:
    """The messages as mem0 writes them, one after the other with the role in front. What stands at the start
    of a line inside a message like a role opens another, for us as for any model: nothing marks the end."""
    _, *parts = _MEM0_ROLE.split(text)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return [{"role": role, "content": content.removesuffix("\n")} for role, content in pairs]


def deciding_model(decide: Callable[[Candidate, list[MemoryRecord], Source], Operation]) -> Model:
    """A model that answers a decision prompt with what `decide` says about the facts listed in it."""

    def model(request: Request) -> str:
        rows = _json_lines(last_text(request))
        new = next(row for row in rows if "new_fact" in row)
        affected = [_shown_memory(row) for row in rows if "memory" in row]
        operation = decide(Candidate(**new["new_fact"]), affected, Source(new["source"], "prompt"))
        return json.dumps(vars(operation))

    return model


def tampering_model(model: Model, **changes: object) -> Model:
    """A model that misbehaves: the JSON that `model` answers, with `changes` made to it."""

    def tampered(request: Request) -> str:
        return json.dumps(json.loads(str(model(request))) | changes)

    return tampered


def recalling_model(tool: str = "recall") -> Model:
    """A model that first calls `tool` with the user's question, then answers from what the tool gave."""

    def model(request: Request) -> str | list[dict[str, Any]]:
        results = [block for block in _last_blocks(request) if block.get("type") == "tool_result"]
        if results:
            return f"From memory: {_plain(results[0].get('content', ''))}"
        if tool not in [offered["name"] for offered in request.get("tools", [])]:
            return f"I was given no {tool} tool, so I cannot look anything up."
        query = last_text(request)
        return [{"type": "tool_use", "id": "toolu_1", "name": tool, "input": {"query": query}}]

    return model


def last_text(request: Request) -> str:
    """The text of the last message in a Messages request."""
    return _plain(_last_blocks(request))


def _last_blocks(request: Request) -> list[dict[str, Any]]:
    content = request["messages"][-1]["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _shown_memory(row: dict[str, Any]) -> MemoryRecord:
    """A memory as far as a decision prompt shows it."""
    return MemoryRecord(
        row["content"],
        "prompt",
        topic=row["topic"],
        subject=row["subject"],
        memory_id=row["memory"],
        sources=[Source(kind, "prompt") for kind in row["sources"]],
    )


def _plain(content: str | Sequence[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block.get("type") == "text")


def _json_lines(text: str) -> list[dict[str, Any]]:
    found = []
    for line in text.split("\n"):  # not splitlines(): U+2028 inside a text ends no line of the prompt
        if line.startswith("{") and line.endswith("}"):
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:
                continue  # prose that happens to stand in braces
    return found


def _message(request: Request, reply: str | list[dict[str, Any]], number: int) -> Request:
    blocks = [{"type": "text", "text": reply}] if isinstance(reply, str) else reply
    calls = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": f"msg_loopback_{number}",
        "type": "message",
        "role": "assistant",
        "model": MODEL_NAME,
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": len(json.dumps(request.get("messages", ""))) // 4,
            "output_tokens": len(json.dumps(blocks)) // 4,
        },
    }


def _embeddings(request: Request, embed: Embedder) -> Request:
    texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
    vectors = [np.asarray(embed(text), np.float32) for text in texts]
    packed = request.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": i, "embedding": _base64(v) if packed else v.tolist()}
        for i, v in enumerate(vectors)
    ]
    usage = {"prompt_tokens": sum(map(len, texts)) // 4, "total_tokens": sum(map(len, texts)) // 4}
    return {"object": "list", "model": MODEL_NAME, "data": data, "usage": usage}


def _base64(vector: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def _error(kind: str, message: str) -> Request:
    return {"type": "error", "error": {"type": kind, "message": f"{MODEL_NAME}: {message}"}}
