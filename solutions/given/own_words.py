"""A message in its writer's own words: without quotations, pasted lines and memory blocks.

Extraction learns only from what the user says for themselves. Here the rest is blanked, and what a model
copied from a message is found again in it, as typed.
"""

from __future__ import annotations

import re

from memlab.text import Folded, fold_with_offsets


def word_set(text: str) -> frozenset[str]:
    """The words of `text`, for tables that are read more often than written."""
    return frozenset(text.split())


_BLANK = "\ufffc"

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


def own_words(text: str) -> Folded:
    """What a message says in its writer's own words, ready for matching; as long as the folded message.

    Folded (full-width letters, curly apostrophes), and blanked where it is not the writer's own: memory
    blocks, code, quoted lines, quotations of more than a word, other speakers' lines.

    Example:
    >>> own_words('> I am vegan\\nShe said “I hate tea”. I’m Ada').text.split()
    ['She', 'said', '￼￼￼￼￼￼￼￼￼￼￼￼.', "I'm", 'Ada']
    """
    folded, offsets = fold_with_offsets(text)
    for start, end in _memory_blocks(folded):
        folded = folded[:start] + "\n" * (end - start) + folded[end:]
    folded = _LINES_OF_OTHERS.sub(lambda match: "\n" * len(match[0]), folded)
    folded = _LABELLED.sub(_blank_other_speaker, folded)
    return Folded(_QUOTATION.sub(_blank_quotation, folded), offsets)


def without_memory(text: str) -> str:
    """`text` with every memory block cut out, closed or not, so that nothing is learned from it again.

    Example:
    >>> without_memory("Hi. <MEMORIES>- The user is vegan.</MEMORIES> Bye.")
    'Hi.  Bye.'
    """
    folded, offsets = fold_with_offsets(text)
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
    folded, offsets = fold_with_offsets(text)
    pattern = r"\s+".join(re.escape(word) for word in fold_with_offsets(words).text.split())
    match = re.search(pattern, folded, re.IGNORECASE) if pattern else None
    return text[offsets[match.start()] : offsets[match.end()]] if match else ""


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
