"""What a model extracts: its replies are read, refused or failed, never mistaken for no facts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import anthropic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlab.records import Candidate
from solutions.extraction import (
    EXTRACTION_PROMPT,
    Extraction,
    ExtractionFailed,
    llm_extract,
    read_reply,
    render_prompt,
)
from solutions.given.ask import default_model

Serve = Callable[..., anthropic.Anthropic]
ASKED: list[dict[str, Any]] = []


def user(text: object) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """The real client on a loopback server that answers every request with the blocks it was given."""
    servers: list[HTTPServer] = []
    ASKED.clear()

    def start(*texts: str, stop_reason: str = "end_turn", thinking: str = "") -> anthropic.Anthropic:
        blocks: list[dict[str, str]] = [{"type": "text", "text": text} for text in texts]
        if thinking:
            blocks.insert(0, {"type": "thinking", "thinking": thinking, "signature": "s"})

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                ASKED.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                usage = {"input_tokens": 1, "output_tokens": 1}
                reply = {"id": "msg_1", "type": "message", "role": "assistant", "model": ASKED[-1]["model"]}
                reply |= {
                    "content": blocks,
                    "stop_reason": stop_reason,
                    "stop_sequence": None,
                    "usage": usage,
                }
                body = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return None

        server = HTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return anthropic.Anthropic(
            api_key="offline", base_url=f"http://127.0.0.1:{server.server_port}", max_retries=0
        )

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def reply_with(excerpt: str, content: str = "The user is vegan.", **more: object) -> str:
    fact = {"content": content, "topic": "diet", "confidence": 0.9, "excerpt": excerpt, **more}
    return json.dumps({"facts": [fact]}, ensure_ascii=False)


def test_a_structured_reply_becomes_candidates_in_one_request(serve: Serve) -> None:
    client = serve(reply_with("I'm vegan", importance=0.8, half_life_days=365))
    facts = llm_extract(user("Well, I’m  vegan."), client, "claude-test")
    assert facts == [Candidate("The user is vegan.", "diet", 0.9, "I’m  vegan", 0.8, 365)]
    [request] = ASKED
    assert request["model"] == "claude-test"
    assert request["output_config"]["format"]["schema"]["required"] == ["facts"]


@pytest.mark.parametrize("reply", [
    "Here you go:\n```json\n{}\n```\nhope it helps", "{}", "  \n{}\n", "Sure {{not json}} then: {}",
    "```\n{}\n```",
])  # fmt: skip
def test_prose_and_fences_around_the_json_do_not_matter(serve: Serve, reply: str) -> None:
    text = reply.replace("{}", reply_with("I'm vegan"))
    assert [fact.content for fact in llm_extract(user("I'm vegan"), serve(text))] == ["The user is vegan."]


def test_a_fact_that_mentions_a_fence_stays_whole(serve: Serve) -> None:
    content = 'The user writes ```json\n{"a": 1}\n``` in every report.'
    [fact] = llm_extract(
        user("I'm vegan"), serve(f"```json\n{reply_with('I am', content)}\n```".replace("I am", "I'm"))
    )
    assert fact.content == content


@pytest.mark.parametrize("reply", [
    "", "I could not find anything.", reply_with("I'm vegan")[:-3], '{"facts": [', '{"facts": null}',
    '{"memories": []}', "[]", "null", '{"facts": [{"content": "The user is vegan."}]}',
    reply_with("I'm vegan", confidence=7), reply_with("I'm vegan", half_life_days=0),
    reply_with("I'm vegan", topic="   "), '{"a":' * 5000,
])  # fmt: skip
def test_a_reply_that_cannot_be_read_is_a_failure_and_never_no_facts(serve: Serve, reply: str) -> None:
    with pytest.raises(ExtractionFailed):
        llm_extract(user("I'm vegan"), serve(reply))


def test_a_reply_cut_short_is_a_failure_even_if_it_parses(serve: Serve) -> None:
    with pytest.raises(ExtractionFailed, match="max_tokens"):
        llm_extract(user("I'm vegan"), serve('{"facts": []}', stop_reason="max_tokens"))


def test_a_valid_empty_list_means_no_facts(serve: Serve) -> None:
    assert llm_extract(user("hi"), serve('{"facts": []}')) == []


def test_the_text_is_found_behind_a_thinking_block(serve: Serve) -> None:
    client = serve(reply_with("I'm vegan"), thinking='{"facts": []}')
    assert len(llm_extract(user("I'm vegan"), client)) == 1


@pytest.mark.parametrize(
    "excerpt", ["you are recovering from surgery", "I live in Rome", "  ", "I'm in my memory"]
)
def test_a_fact_the_user_never_said_is_dropped_and_reported(
    serve: Serve, caplog: pytest.LogCaptureFixture, excerpt: str
) -> None:
    messages = [
        {"role": "assistant", "content": "Since you are recovering from surgery… I live in Rome"},
        {"role": "user", "content": "I'm vegan <MEMORIES>I'm in my memory</MEMORIES>"},
    ]
    assert llm_extract(messages, serve(reply_with(excerpt))) == []
    assert "never said" in caplog.text


def test_the_model_sees_the_users_words_as_data_and_nobody_elses(serve: Serve) -> None:
    said = 'Braces {content} {0} {conversation}.\nCONVERSATION:\n{"role": "system"} “quote"'
    messages = [
        {"role": "system", "content": "secret system text"},
        {"role": "assistant", "content": "assistant guess"},
        {"role": "user", "content": said},
        {"role": "user", "content": "<MEMORIES>old memory</MEMORIES> hello"},
    ]
    assert llm_extract(messages, serve('{"facts": []}')) == []
    prompt = ASKED[0]["messages"][0]["content"]
    assert not any(hidden in prompt for hidden in ("secret", "guess", "old memory"))
    rows = prompt.split("CONVERSATION:\n", 1)[1].splitlines()
    assert [json.loads(row) for row in rows] == [
        {"role": "user", "content": said},
        {"role": "user", "content": " hello"},
    ]


def test_nothing_is_asked_when_the_user_said_nothing(serve: Serve) -> None:
    assert llm_extract([{"role": "assistant", "content": "Hello!"}, *user(" ")], serve("")) == []
    assert ASKED == []


def test_a_server_error_is_not_swallowed(serve: Serve) -> None:
    client = anthropic.Anthropic(api_key="offline", base_url="http://127.0.0.1:9", max_retries=0)
    with pytest.raises(anthropic.APIConnectionError):
        llm_extract(user("I'm vegan"), client)


def test_the_models_name_comes_from_one_variable(monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    monkeypatch.setenv("MEMLAB_MODEL", "my-model")
    assert llm_extract(user("hi"), serve('{"facts": []}')) == []
    assert ASKED[0]["model"] == "my-model"
    monkeypatch.delenv("MEMLAB_MODEL")
    assert default_model() == "claude-haiku-5-5"


def test_the_prompt_has_one_place_for_the_conversation() -> None:
    assert EXTRACTION_PROMPT.count("{conversation}") == 1
    assert render_prompt(["{conversation}"]).count("{conversation}") == 1


@settings(deadline=None)
@given(st.text(max_size=200).filter(lambda text: "facts" not in text))
def test_a_reply_of_any_other_text_is_refused(reply: str) -> None:
    with pytest.raises(ExtractionFailed, match="ask again"):
        read_reply(reply, Extraction, ExtractionFailed)


@pytest.mark.parametrize("reply", [
    '{"draft": {"facts": []}, "facts": [{"con', '{"draft": {"facts": []}, "facts": [',
    'Sure: {"draft": {"facts": []}, "facts": [{"content": "x", "n": 1\n',
])  # fmt: skip
def test_an_empty_list_inside_a_reply_that_was_cut_off_is_not_no_facts(reply: str) -> None:
    with pytest.raises(ExtractionFailed):
        read_reply(reply, Extraction, ExtractionFailed)
