"""Reading a conversation: messages as chat APIs send them, checked, as roles and plain text.

Text counts as somebody's words only if that role typed it. Images and tool results are not words, even
inside a user's message.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from memlab.records import check_list, check_text, one_of

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


class OwnWords(NamedTuple):
    """What a message says in its writer's own words, ready for matching.

    text: compatibility forms folded (full-width letters, curly apostrophes), and everything that is not
    the writer's own blanked: memory blocks, code, quoted lines, quotations, other speakers' lines.
    offsets[i]: where text[i] stands in the original.
    """

    text: str
    offsets: Sequence[int]


def own_words(text: str) -> OwnWords:
    """`text` without what the writer only passes on: see OwnWords.

    Example:
    >>> own_words('> I am vegan\\nShe said “I hate tea”. I’m Ada').text.split()
    ['She', 'said', '￼￼￼￼￼￼￼￼￼￼￼￼.', "I'm", 'Ada']
    """
    folded, offsets = _fold(text)
    for start, end in _memory_blocks(folded):
        folded = folded[:start] + "\n" * (end - start) + folded[end:]
    folded = _LINES_OF_OTHERS.sub(lambda match: "\n" * len(match[0]), folded)
    folded = _LABELLED.sub(_blank_other_speaker, folded)
    return OwnWords(_QUOTATION.sub(_blank_quotation, folded), offsets)


def without_memory(text: str) -> str:
    """`text` with every memory block cut out, closed or not, so that nothing is learned from it again.

    Example:
    >>> without_memory("Hi. <MEMORIES>- The user is vegan.</MEMORIES> Bye.")
    'Hi.  Bye.'
    """
    folded, offsets = _fold(text)
    kept, done = "", 0
    for start, end in _memory_blocks(folded):
        kept, done = kept + text[done : offsets[start]], offsets[end]
    return kept + text[done:]


def find_words(words: str, text: str) -> str:
    """The part of `text` that reads like `words` but for case, spacing and typography; "" if none does.

    Example:
    >>> find_words("i'm  Vegan", "Well, I’m vegan.")
    'I’m vegan'
    """
    folded, offsets = _fold(text)
    pattern = r"\s+".join(re.escape(word) for word in _fold(words)[0].split())
    match = re.search(pattern, folded, re.IGNORECASE) if pattern else None
    return text[offsets[match.start()] : offsets[match.end()]] if match else ""


def word_set(text: str) -> frozenset[str]:
    """The words of `text`, for tables that are read more often than written."""
    return frozenset(text.split())


_BLANK = "\ufffc"
_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("’‘‛ʼ´`′", "'")
    | dict.fromkeys("“”„‟«»″", '"')
    | dict.fromkeys("\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", "\n")
)
_INVISIBLE = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")

_MEMORY_TAG = re.compile(  # also <user_memories> and <memory-context>
    r"<\s{0,9}(?P<close>/?)\s{0,9}(?:[a-z-]{1,30}[_-])?memor(?:y|ies)(?:[_-]\w{1,30})?\b[^<>]{0,99}>?", re.I
)
_LINES_OF_OTHERS = re.compile(r"'''[\s\S]*?(?:'''|\Z)|^[ \t]*~~~[\s\S]*?(?:^[ \t]*~~~|\Z)|^[ \t]*>.*$", re.M)
_QUOTATION = re.compile(
    r"""(?<!\d)"(?:[^"\n]|\n(?!\n))*+"|(?<!\d)"[^"\n]*+"""
    r"""|(?<![\w'])'(?=[^\s'])(?:[^'\n]|(?<=\w)'(?=\w))*+'(?!\w)"""
)
_LABELLED = re.compile(
    r"(?:^[ \t]*|(?<=[.!?\"] ))(?:\[[^\]\n]{1,30}\][ \t]*)?(?P<label>[^\W\d]\w{0,29}(?: "
    r"[^\W\d]\w{0,29})?)[ \t]?:[ \t].*$",
    re.M,
)
_MACHINE_LABELS = word_set(
    """
    assistant system user human customer ai bot agent tool developer function
    """
)
_OWN_LABELS = word_set(
    """
    note notes fyi ps update edit btw also reminder remember important correction diet food allergy
    allergies me about name answer question context background fact facts fun heads disclaimer
    warning yes no ok okay hi hey hello dear one two home city location work job employer occupation
    hobbies likes dislikes family travel seat deadline deadlines quick side just please my the i
    reason today now anyway first second third finally preference preferences profile bio summary
    truth
    """
)


def _fold(text: str) -> tuple[str, Sequence[int]]:
    """`text` in NFKC with plain quotes and newlines, and for each of its characters where it came from."""
    plain = text.translate(_TYPOGRAPHY)
    if plain.isascii() or (unicodedata.is_normalized("NFKC", plain) and not _INVISIBLE.search(plain)):
        return plain, range(len(text) + 1)
    pieces, offsets, start = [], [], 0
    while start < len(plain):
        end = start + 1
        while end < len(plain) and end - start < 32 and unicodedata.combining(plain[end]):
            end += 1  # an accent must fold together with its letter, or "Zoe¨" loses it
        piece = _INVISIBLE.sub("", unicodedata.normalize("NFKC", plain[start:end]))
        pieces.append(piece)
        offsets += [start] * len(piece)
        start = end
    return "".join(pieces), [*offsets, len(text)]


def _memory_blocks(folded: str) -> list[tuple[int, int]]:
    """Spans from an opening memory tag to its closing tag; nested tags count, an unclosed one runs on."""
    spans, depth, start = [], 0, 0
    for tag in _MEMORY_TAG.finditer(folded):
        if not tag["close"]:
            start = tag.start() if depth == 0 else start
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                spans.append((start, tag.end()))
    return [*spans, (start, len(folded))] if depth else spans


def _blank_other_speaker(match: re.Match[str]) -> str:
    """A pasted chat line ("Bob: I'm vegan") is somebody else's; a heading ("Note: I'm vegan") is not."""
    label = match["label"]
    first = label.split()[0].lower()
    is_name = all(word[0].isupper() for word in label.split()) and first not in _OWN_LABELS
    return "\n" * len(match[0]) if is_name or label.lower() in _MACHINE_LABELS else match[0]


def _blank_quotation(match: re.Match[str]) -> str:
    """One word in quotes is emphasis or a name (call me "Ada"); more is what somebody said."""
    inner = match[0][1:-1]
    if len(inner.split()) == 1 and match[0][0] == match[0][-1]:
        return f" {inner} "
    return _BLANK * len(match[0])
