"""A service for lesson 06 whose model is played, and which objects to requests as the real one does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from course.model_server import Request


def reads_the_result(request: Request) -> str:
    """Knows an answer if "Likes tea." was sent."""
    return "Tea." if "Likes tea." in json.dumps(request["messages"]) else "I do not know."


def calls_whenever_it_may(request: Request) -> str:
    """Gives up only where the request allows no tool."""
    return "Enough." if request.get("tool_choice", {}).get("type") == "none" else "?tea"


class Service:
    """A model that gives its replies in turn, the last one again and again, behind the service's rules.

    A reply is a text, or "?tea" for a call of recall(query='tea'), or a list of such and of whole blocks.
    objection: the first sentence about a request that the real service, or the exercise, does not allow.
    """

    def __init__(
        self,
        system: str,
        question: str,
        replies: Sequence[Any],
        model: str | None = None,
        max_rounds: int = 4,
    ) -> None:
        self.system, self.question, self.replies = system, question, replies
        self.model, self.most = model, max(1, max_rounds)
        self.said: list[list[dict[str, Any]]] = []
        self.objection = ""

    def __call__(self, request: Request) -> list[dict[str, Any]]:
        self.objection = _objection(request, self)
        if self.objection:
            raise ValueError(self.objection)
        reply = self.replies[min(len(self.said), len(self.replies) - 1)]
        reply = reply(request) if callable(reply) else reply
        self.said.append([self._block(part) for part in ([reply] if isinstance(reply, str) else reply)])
        return self.said[-1]

    def _block(self, part: Any) -> dict[str, Any]:
        if part[:1] != "?":
            return {"type": "text", "text": part} if isinstance(part, str) else part[0]
        number = f"toolu_{len(self.said)}_{part[1:]}"
        return {"type": "tool_use", "id": number, "name": "recall", "input": {"query": part[1:]}}


def _objection(request: Request, service: Service) -> str:
    """The first of these sentences that is true of the next request, or ""."""
    messages, said = request["messages"], service.said
    replies, results = [_ids(reply["content"]) for reply in messages[1::2]], messages[2::2]
    # fmt: off
    rules = (
        (said and _calls(said[-1]) == [], "One request is enough when no tool is called."),
        (len(said) == service.most,
         "It went on beyond `max_rounds`: a model that never stops would spend your money all night."),
        (service.model not in (None, request["model"]) or not request["model"],
         "Hand on the `model` that you are asked for, or else `default_model()`."),
        (request.get("system") != service.system, "The system prompt was not sent."),
        ([tool.get("name") for tool in request.get("tools", [])] != ["recall"],
         "The model cannot call what it is not told of: `tools=`, in the last request too, for the service "
         "refuses calls in the messages of a request without tools."),
        (request.get("tool_choice", {"type": "auto"}).get("type") not in ("auto", "none"),
         "`tool_choice` says `auto` (the model may call) or, in the last request, `none`."),
        (service.question not in str(messages[0]["content"]), "The first message is the question."),
        (len(messages) > 2 * len(said) + 1,
         "You send a message for each result: put all results of one reply into **one** user message."),
        (any(message["role"] != ("user", "assistant")[n % 2] for n, message in enumerate(messages)),
         "Two messages of one role in a row: the model's calls belong between question and results."),
        (len(replies) < len(said),
         "An earlier look-up is gone: the messages grow, and each request sends the whole exchange again."),
        ([_ids(result["content"]) for result in results] != [_calls(reply) for reply in said],
         "The service refuses this request: put the model's whole reply into the messages, then **one** user "
         "message with a result for each of its calls."),
        (replies != [_ids(reply) for reply in said],
         "Append the model's *whole* reply, `reply.content`: what it said beside its calls is missing."),
    )
    # fmt: on
    return next((sentence for broken, sentence in rules if broken), "")


def _calls(blocks: list[dict[str, Any]]) -> list[str]:
    return [block["id"] for block in blocks if block["type"] == "tool_use"]


def _ids(content: Any) -> list[str]:
    """What tells a message's blocks apart: their text, or the id of their call."""
    return [block.get("text") or block.get("id") or block.get("tool_use_id") for block in content]


def told(*replies: Any, **options: Any) -> str:
    """A conversation with a service in words."""
    turns = [str(getattr(reply, "__name__", reply)).replace("_", " ") for reply in replies]
    return f"a model that replies: {', then '.join(turns)} (? is a call) {options or ''}"
