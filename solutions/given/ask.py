"""Asking a model: one request with the real client, and what may be wrong with a reply to it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types import Message


class ReplyFailed(ValueError):
    """What came back is no reply that can be read."""


def default_model() -> str:
    """The model's name: MEMLAB_MODEL, or a small model that is good enough for extraction."""
    return os.environ.get("MEMLAB_MODEL") or "claude-haiku-5-5"


def reply_of(client: Anthropic, failure: type[ReplyFailed] = ReplyFailed, **request: Any) -> Message:
    """The service's reply to one request, its blocks complete; never an empty one.

    request: what `client.messages.create` takes. Raises `failure` for what is no such reply: an empty body,
    JSON that is cut off or says something else, a web page; and what the client raises when nothing came
    back or the service refused.
    """
    try:
        reply: Message = client.messages.create(**request)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise failure(f"the reply is empty, cut off or no JSON ({error}); ask again") from error
    except UnicodeEncodeError as error:
        raise ValueError(
            f"model, system or messages hold half of a surrogate pair ({error}); remove it, e.g. with "
            "text.encode('utf-8', 'ignore').decode()"
        ) from None
    blocks = getattr(reply, "content", None)
    if not isinstance(blocks, list) or not all(map(_complete, blocks)):
        raise failure(f"reply={str(reply)[:80]!r} is no message of a model; is the client's base_url right?")
    if not blocks and reply.stop_reason not in ("max_tokens", "refusal"):
        raise failure(f"the reply is empty (stop_reason={reply.stop_reason!r}); ask again")
    return reply


def _complete(block: object) -> bool:
    kind = getattr(block, "type", None)
    needed = {"text": ("text",), "tool_use": ("id", "name")}.get(str(kind), ())
    return isinstance(kind, str) and all(isinstance(getattr(block, name, None), str) for name in needed)


def ask(
    client: Anthropic,
    prompt: str,
    shape: type[BaseModel],
    *,
    model: str | None = None,
    max_tokens: int = 4096,
    failure: type[ReplyFailed] = ReplyFailed,
) -> str:
    """The text of a model's reply to one prompt, asked for as JSON of the form `shape`; unread as yet.

    model: by default `default_model()`. Raises `failure` for a reply that is cut short or no reply, and what
    the client raises when nothing came back.
    """
    import anthropic  # here, so that learners who stay with the rules need not wait for it

    reply = reply_of(
        client,
        failure,
        model=model or default_model(),
        max_tokens=max_tokens,
        messages=[{"role": "user", "content": prompt}],
        output_config={"format": {"type": "json_schema", "schema": anthropic.transform_schema(shape)}},
    )
    if reply.stop_reason in ("max_tokens", "refusal"):
        raise failure(f"stop_reason={reply.stop_reason!r}: the reply is cut short; send less text at once")
    return "".join(block.text for block in reply.content if block.type == "text")
