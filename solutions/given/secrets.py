"""Secrets beside card numbers, and how a text is kept without the sentences that show one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from solutions.given.gate_patterns import IBAN_LENGTHS, SECRET_BY_NAME, TOKEN
from solutions.given.proposals import MOST

WITHHELD = "[withheld by the write gate]"
_PIECES = re.compile(r".{1,200}?(?:[.!?]\s+|\n+|\Z)|.{200}", re.DOTALL)

Shows = Callable[[str], object]
"""From a text, as it was written, to whether it shows a secret."""


def tells_secret(text: str) -> bool:
    """True when an account's number stands in the legible `text`, or a secret by its name or its shape.

    Example:
    >>> tells_secret("my pin is 4321"), tells_secret("a pin for her hat")
    (True, False)
    """
    return has_iban(text) or bool(SECRET_BY_NAME.search(text) or TOKEN.search(text))


def has_iban(text: str) -> bool:
    """True when an IBAN stands in the folded `text`: its country's length and its check digits fit.

    Example:
    >>> has_iban("from gb82 west 1234 5698 7654 32"), has_iban("gb82 west 1234 5698 7654 33")
    (True, False)
    """
    for match in re.finditer(r"(?=([a-z]{2}\d\d(?:[\W_]{0,2}[a-z0-9]){11,30}))", text):
        compact = re.sub(r"[^a-z0-9]", "", match[1])
        number = compact[: IBAN_LENGTHS.get(compact[:2], 0)]
        if sum(character.isdigit() for character in number) < 10:
            continue  # a word or two behind "be16", whose check digits fit by chance
        if len(number) == IBAN_LENGTHS.get(compact[:2]) and _mod_97(number[4:] + number[:4]) == 1:
            return True
    return False


def _mod_97(characters: str) -> int:
    """The remainder by 97 of a number in which letters stand for 10..35."""
    return int("".join(str(int(character, 36)) for character in characters)) % 97


def withheld(text: str, shows_secret: Shows) -> str:
    """`text` with WITHHELD for each sentence that shows a secret, by itself or with the one or two after it.

    Applied again, it changes nothing.

    Example:
    >>> withheld("Call me Ada. The password is hunter2. I like tea.", lambda text: "hunter2" in text)
    'Call me Ada. [withheld by the write gate] I like tea.'
    """
    pieces: list[str] = _PIECES.findall(text)
    hidden = {at for block in _blocks(pieces) for at in _secret_pieces(pieces, block, shows_secret)}
    return "".join(
        WITHHELD + piece[len(piece.rstrip()) :] if at in hidden else piece for at, piece in enumerate(pieces)
    )


def _blocks(pieces: Sequence[str]) -> Iterator[range]:
    """Runs of pieces, about as long as a field may be, so that patterns stay fast on a long message. The
    last two pieces of a run stand in the next one too: what runs over an edge is whole in one of them."""
    start = end = 0
    while end < len(pieces):
        size, end = 0, start
        while end < len(pieces) and size < MOST:
            size, end = size + len(pieces[end]), end + 1
        yield range(start, end)
        start = end - 2


def _secret_pieces(pieces: Sequence[str], block: range, shows_secret: Shows) -> set[int]:
    """Which pieces of the block to withhold: none, the shortest runs that show a secret, or all of them."""

    def shows(run: range) -> object:
        return shows_secret("".join(pieces[run.start : run.stop]))

    hidden: set[int] = set()
    if not shows(block):
        return hidden
    for width in (1, 2, 3):
        for start in range(block.start, block.stop - width + 1):
            run = range(start, start + width)
            if hidden.isdisjoint(run) and shows(run):
                hidden.update(run)
    announced = {at + 1 for at in hidden if pieces[at].rstrip().endswith((":", "="))}
    return hidden | announced or set(block)
