"""What a conversation is: messages as chat APIs send them, checked, as roles and plain text.

Text counts as somebody's words only if that role typed it. Images and tool results are not words, even
inside a user's message.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from memlab.fields import check_list, check_text, one_of

ROLES = ("user", "assistant", "system", "developer", "tool", "function")
MAX_MESSAGE = 500_000

T = TypeVar("T")


class Message(NamedTuple):
    """One turn: who spoke, and the text of it ("" when there were only images)."""

    role: str
    text: str


def read_messages(messages: list[dict[str, Any]]) -> list[Message]:
    """The turns of a conversation, in order; an empty list is an empty conversation.

    messages: dicts with `role` (one of ROLES) and `content`, text or a list of blocks. Text blocks are
    joined with a newline, all other blocks are left out. Raises TypeError or ValueError that names the
    place, such as `messages[3].content`, and the way out.

    Example:
    >>> blocks = [{"type": "text", "text": "I hike"}, {"type": "image", "source": {}}]
    >>> read_messages([{"role": "user", "content": blocks}])
    [Message(role='user', text='I hike')]
    """
    check_list("messages", messages, dict)
    return [_read(message, f"messages[{index}]") for index, message in enumerate(messages)]


def news(kept: list[T], said: list[T]) -> list[T]:
    """The end of `said` that goes beyond `kept`: what follows their overlap, or nothing if `kept` has it all.

    So a conversation may be sent again, in a longer version, or as a window of its last turns.

    Example:
    >>> news(["a", "b"], ["b", "c"]), news(["a", "b", "c"], ["b", "c"]), news(["a"], ["c"])
    (['c'], [], ['c'])
    """
    size = len(said)
    if any(kept[start : start + size] == said for start in range(len(kept) - size + 1)):
        return []
    most = min(len(kept), size)
    overlap = next(n for n in range(most, -1, -1) if kept[len(kept) - n :] == said[:n])
    return said[overlap:]


def _read(message: dict[str, Any], place: str) -> Message:
    for key in ("role", "content"):
        if key not in message:
            raise ValueError(f"{place}.{key} is missing; pass {{'role': 'user', 'content': 'what was said'}}")
    one_of(f"{place}.role", message["role"], ROLES)
    text = _text(message["content"], f"{place}.content")
    return Message(message["role"], check_text(f"{place}.content", text, empty=True, most=MAX_MESSAGE))


def _text(content: object, place: str) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise TypeError(
            f"{place}={content!r:.60} is neither text nor a list of blocks; pass a str ('' for none)"
        )
    pieces = []
    for index, block in enumerate(content):
        if isinstance(block, str):
            pieces.append(block)
        elif not isinstance(block, dict) or not isinstance(block.get("type"), str):
            raise TypeError(
                f"{place}[{index}]={str(block)[:60]!r} is not a block; pass {{'type': 'text', 'text': '…'}}"
            )
        elif block["type"] in ("text", "input_text"):
            pieces.append(_block_text(block, f"{place}[{index}]"))
    return "\n".join(pieces)


def _block_text(block: dict[str, Any], place: str) -> str:
    if not isinstance(block.get("text"), str):
        raise TypeError(f"{place}.text={block.get('text')!r:.60} is not text; pass a str")
    return str(block["text"])
