"""The last disguises of a text: letters that look like others, words with gaps, numbers in words."""

from __future__ import annotations

import re

LOOKALIKES = str.maketrans("авеорсухкмнтіјѕԁɡոαορνι", "abeopcyxkmhtijsdgnaopvi", "\u115f\u1160\u2800")
"""From letters of other alphabets to the Latin ones they look like; fillers that look like nothing go."""

_SPACED = re.compile(r"\b(?:[a-z][ .*_-]){2,}[a-z]\b")
_DIGIT_WORDS = {
    word: str(value % 10)
    for value, word in enumerate(re.findall(r"\w+", "oh one two three four five six seven eight nine zero"))
}
_SPELLED = re.compile(rf"\b(?:{'|'.join(_DIGIT_WORDS)})(?:[\s,-]+(?:{'|'.join(_DIGIT_WORDS)})){{2,}}\b")


def closed_up(folded: str) -> str:
    """The folded text with words written letter by letter closed up, and spelled numbers in digits.

    Example:
    >>> closed_up("f r e e, code four eight two")
    'free, code 482'
    """
    closed = _SPACED.sub(lambda match: re.sub(r"[ .*_-]", "", match[0]), folded)
    return _SPELLED.sub(
        lambda match: "".join(_DIGIT_WORDS[word] for word in re.findall("[a-z]+", match[0])), closed
    )
