"""One way to fold text: the many ways to write the same thing become one, and what nobody sees is dropped.

`fold` is for comparing: what reads alike comes out alike. `fold_with_offsets` is for finding: it keeps the
case, and remembers where each character stood, so that what was found can be cut from the text as typed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("’‘‛ʼ´`′", "'")
    | dict.fromkeys("“”„‟«»″", '"')
    | dict.fromkeys("\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", "\n")
)


class Folded(NamedTuple):
    """A folded text, and where it came from: text[i] began at offsets[i] of the original.

    There is one offset more than there are characters: the length of the original.
    """

    text: str
    offsets: Sequence[int]


def fold(text: str) -> str:
    """`text` in one form: compatibility forms unified (NFKC), case folded, invisible characters dropped.

    Example:
    >>> fold("ＣＡＦE\u0301\u200b, №3")
    'café, no3'
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return folded if folded.isascii() else "".join(c for c in folded if not invisible(c))


def fold_with_offsets(text: str) -> Folded:
    """`text` in NFKC with plain quotes and newlines and nothing invisible, and where each character began.

    Example:
    >>> said = fold_with_offsets("Well… I’m vegan")
    >>> said.text, said.offsets[said.text.index("I'm")]
    ("Well... I'm vegan", 6)
    """
    plain = text.translate(_TYPOGRAPHY)  # one character for one: offsets still fit
    if plain.isascii() or (unicodedata.is_normalized("NFKC", plain) and not any(map(invisible, plain))):
        return Folded(plain, range(len(text) + 1))
    pieces, offsets, start = [], [], 0
    while start < len(plain):
        # a piece is a letter with its accents: they must fold together, or "Zoe¨" loses one
        end = start + 1
        while end < len(plain) and end - start < 32 and unicodedata.combining(plain[end]):
            end += 1
        normal = unicodedata.normalize("NFKC", plain[start:end])
        piece = "".join(c for c in normal if not invisible(c))
        # a piece may become longer (… is three dots) or nothing: all of it began where the piece began
        pieces.append(piece)
        offsets += [start] * len(piece)
        start = end
    return Folded("".join(pieces), [*offsets, len(text)])


@lru_cache(maxsize=10_000)
def invisible(character: str) -> bool:
    """True for what a reader does not see: format characters, such as a zero-width space, and selectors.

    Example:
    >>> invisible("\u200b"), invisible("a")
    (True, False)
    """
    return unicodedata.category(character) == "Cf" or "\ufe00" <= character <= "\ufe0f"
