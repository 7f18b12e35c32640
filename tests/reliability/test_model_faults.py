"""A model that answers late, badly or not at all: an error that says so, no "no facts", no half a write."""

from __future__ import annotations

import json
import re
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anthropic
import pytest
from aids import everything
from pipeline import ADA, said

from memlab.records import Candidate, MemoryRecord, Source
from memlab.store import MemoryStore
from solutions.consolidation import learn, llm_decide
from solutions.extraction import ExtractionFailed, llm_extract
from solutions.given.ask import ReplyFailed
from solutions.given.model_decides import DecisionFailed
from solutions.injection import answer_with_tool

KEY = "sk-ant-api03-never-to-be-shown"


@dataclass
class Answer:
    """What the server sends after `delay` seconds: a status, a type and a body, or its first `sent` bytes."""

    body: bytes = b""
    status: int = 200
    type: str = "application/json"
    sent: int | None = None
    delay: float = 0.0
    requests: list[bytes] = field(default_factory=list)


@pytest.fixture(scope="module")
def answer() -> Iterator[Answer]:
    """The answer that a server on this machine gives to everything; its `url` is an attribute."""
    now = Answer()
    released = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            now.requests.append(self.rfile.read(int(self.headers["content-length"])))
            if now.delay:
                released.wait(now.delay)
            self.send_response(now.status)
            self.send_header("content-type", now.type)
            self.send_header("content-length", str(len(now.body)))
            self.end_headers()
            self.wfile.write(now.body[: now.sent])

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    now.url = f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
    yield now
    released.set()
    server.shutdown()
    server.server_close()


MESSAGE: dict[str, Any] = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "any", "stop_reason": "end_turn",
    "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    "content": [{"type": "text", "text": '{"facts": []}'}],
}  # fmt: skip


def message(**changes: Any) -> Answer:
    """A reply of a model that has nothing to say, with `changes`."""
    return Answer(json.dumps(MESSAGE | changes).encode())


def text(reply: str) -> Answer:
    return message(content=[{"type": "text", "text": reply}])


FAULTS: dict[str, tuple[Answer, type[Exception], str]] = {
    "late": (Answer(MESSAGE["id"].encode(), delay=30.0), anthropic.APITimeoutError, "timed out"),
    "429": (
        Answer(b'{"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}', 429),
        anthropic.RateLimitError,
        "429.*slow down",
    ),
    "500": (Answer(b"{}", 500), anthropic.InternalServerError, "500"),
    "500 as a page": (Answer(b"<h1>Oops</h1>", 500, "text/html"), anthropic.InternalServerError, "Oops"),
    "529": (Answer(b'{"error": {"message": "Overloaded"}}', 529), anthropic.InternalServerError, "529"),
    "401": (Answer(b'{"error": {"message": "no such key"}}', 401), anthropic.AuthenticationError, "401"),
    "a redirection": (Answer(b"", 302), anthropic.APIStatusError, "302"),
    "an empty body": (Answer(), ValueError, "the reply is empty, cut off or no JSON"),
    "no content": (Answer(status=204), ValueError, "the reply is empty, cut off or no JSON"),
    "a connection that breaks off": (
        Answer(message().body, sent=60),
        anthropic.APIConnectionError,
        "Connection",
    ),
    "JSON cut off": (Answer(message().body[:60]), ValueError, "the reply is empty, cut off or no JSON"),
    "broken UTF-8": (Answer(b'{"content": "\xff"}'), ValueError, "the reply is empty, cut off or no JSON"),
    "nesting without end": (Answer(b"[" * 100_000), ValueError, "the reply is empty, cut off or no JSON"),
    "another object": (Answer(b'{"hello": 1}'), ValueError, "is no message of a model"),
    "an error with status 200": (
        Answer(b'{"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}'),
        ValueError,
        "is no message of a model",
    ),
    "a list": (Answer(b"[]"), ValueError, "is no message of a model"),
    "null": (Answer(b"null"), ValueError, "is no message of a model"),
    "a word": (Answer(b'"hello"'), ValueError, "is no message of a model"),
    "a web page": (Answer(b"<h1>Welcome</h1>", type="text/html"), ValueError, "Welcome.*is no message"),
    "content null": (message(content=None), ValueError, "is no message of a model"),
    "content as text": (message(content="hello"), ValueError, "is no message of a model"),
    "a block that is null": (message(content=[None]), ValueError, "is no message of a model"),
    "a block without type": (message(content=[{"text": "x"}]), ValueError, "is no message of a model"),
    "a block without text": (message(content=[{"type": "text"}]), ValueError, "is no message of a model"),
    "a number for text": (
        message(content=[{"type": "text", "text": 7}]),
        ValueError,
        "is no message of a model",
    ),
    "no block": (message(content=[]), ValueError, "the reply is empty"),
}
"""What goes wrong on the wire; what is raised, and what it says."""

UNREADABLE: dict[str, Answer] = {
    "prose": text("Sure, I'd be happy to help!"),
    "cut-off facts": text('{"facts": [{"content": "The user is veg'),
    "cut-off decision": text('{"action": "UPDATE", "target_id": "mem_'),
    "another object in it": text('{"memories": []}'),
    "wrong types": text('{"facts": "none", "action": 7, "content": []}'),
    "a number": text("42"),
    "an empty text": text(""),
    "cut short by the limit": message(content=MESSAGE["content"], stop_reason="max_tokens"),
    "refused": message(content=[], stop_reason="refusal"),
}
"""Replies that arrive whole, and say nothing that extraction or a decision could use."""

VEGETARIAN = MemoryRecord(
    "The user follows a vegetarian diet.", ADA, topic="diet", memory_id="mem_1",
    sources=[Source("user_implicit", "s1")],
)  # fmt: skip
FISH = Candidate("The user eats fish again.", "diet", 0.9, "I've started eating fish again.")
SAID = said("I've started eating fish again.", "Call me Ada.")

Use = Callable[[anthropic.Anthropic, MemoryStore], object]


def extract(client: anthropic.Anthropic, store: MemoryStore) -> object:
    """Learn with a model that extracts."""
    extractor = partial(llm_extract, client=client)
    return learn(store, SAID, Source("user_implicit", "s2"), user_id=ADA, extract=extractor)


def decide(client: anthropic.Anthropic, store: MemoryStore) -> object:
    """Learn by rules with a model that decides."""
    decider = partial(llm_decide, client=client)
    return learn(store, SAID, Source("user_implicit", "s2"), user_id=ADA, decide=decider)


def answer_from_memory(client: anthropic.Anthropic, store: MemoryStore) -> object:
    """Ask a model that may look something up."""
    return answer_with_tool(client, "What do I eat?", lambda query: [], system="Be brief.")


@pytest.fixture
def ask(answer: Answer) -> Callable[[Use, Answer], Exception]:
    """What a use raises when the server gives an answer; the store must not have changed."""

    def raised(use: Use, given: Answer) -> Exception:
        vars(answer).update(vars(given) | {"requests": []})
        store = MemoryStore()
        store.put(VEGETARIAN)
        before = everything(store, ADA)
        with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is for the tests to say
            use(client_of(answer), store)
        assert everything(store, ADA) == before, "half an operation was written"
        assert len(answer.requests) == 1
        shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
        assert KEY not in shown
        return caught.value

    return raised


def client_of(answer: Answer, seconds: float = 20.0, retries: int = 0) -> anthropic.Anthropic:
    timeout = 0.25 if answer.delay else seconds
    return anthropic.Anthropic(api_key=KEY, base_url=answer.url, max_retries=retries, timeout=timeout)  # type: ignore[attr-defined]


@pytest.mark.parametrize("use", [extract, decide, answer_from_memory])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_on_the_wire_is_named_and_nothing_is_written(
    ask: Callable[[Use, Answer], Exception], use: Use, fault: str
) -> None:
    given, kind, says = FAULTS[fault]
    error = ask(use, given)
    assert isinstance(error, kind)
    assert re.search(says, f"{error} {getattr(error, 'body', '')}")
    if kind is ValueError:
        wanted = {extract: ExtractionFailed, decide: DecisionFailed, answer_from_memory: ReplyFailed}
        assert type(error) is wanted[use]


@pytest.mark.parametrize("reply", UNREADABLE)
def test_a_reply_that_says_nothing_of_use_is_a_failure_and_never_no_facts(
    ask: Callable[[Use, Answer], Exception], reply: str
) -> None:
    for use, kind in ((extract, ExtractionFailed), (decide, DecisionFailed)):
        error = ask(use, UNREADABLE[reply])
        assert type(error) is kind
        assert "reply" in str(error)
        assert str(error).endswith(("ask again", "send less text at once"))


def test_a_service_that_recovers_is_asked_again_by_the_client(answer: Answer) -> None:
    """The client's own retries, which connect() leaves out, cost no fact either."""
    vars(answer).update(vars(Answer(b"{}", 500)))
    answer.requests = Recovering(answer)
    assert llm_extract(said("Hello there."), client_of(answer, retries=2)) == []
    assert len(answer.requests) == 2


class Recovering(list[bytes]):
    """Requests of a server that answers well from the second on."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer

    def append(self, request: bytes) -> None:
        super().append(request)
        if len(self) == 2:
            vars(self.answer).update(vars(message()) | {"requests": self})
