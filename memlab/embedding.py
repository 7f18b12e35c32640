"""Text to vectors without a network: words and character trigrams, hashed into buckets.

The algorithm is the one of "Mini-project 5: build a memory system", Part 1: for ASCII text the vectors
are the same to the last bit. For every other script, where that one gives the zero vector, words are
found by Unicode category. A hash embedder knows spelling, not meaning: it sees that "diet" and
"dietary" are related, and cannot see that "lunch" and "vegetarian" are.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import compress, groupby, pairwise
from typing import Protocol

from memlab.engine.recordings import RecordedEmbedder as RecordedEmbedder
from memlab.engine.recordings import UnrecordedText as UnrecordedText
from memlab.text import fold

DIM = 256
TRIGRAM_WEIGHT = 0.35

STOPWORDS = frozenset(["the", "user", "i", "on", "for", "a", "an", "to", "of", "is", "in", "and"])
"""Words that say nothing about what a memory is about; every memory here is about "the user"."""

_ASCII_WORD = re.compile(r"[a-z0-9]+")
# Scripts written without spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, kana, Han.
UNSPACED = re.compile(
    "[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


class Embedder(Protocol):
    """Anything that turns a text into a vector: always of one length, for equal texts equal.

    A `name` attribute, where there is one, tells a store which embedder its vectors came from.
    """

    def __call__(self, text: str, /) -> Sequence[float]: ...


def words(text: str) -> list[str]:
    """The tokens of `text`, in order: lower-case words; in unspaced scripts, characters and pairs.

    Compatibility forms are unified first (NFKC), so full-width letters and decomposed accents give the
    words that the plain forms give. Every emoji is a token. Raises TypeError unless `text` is a str.

    Example:
    >>> words("It's the Café, №3!")
    ['it', 's', 'the', 'café', 'no3']
    >>> words("我叫")
    ['我', '叫', '我叫']
    """
    if not isinstance(text, str):
        raise TypeError(f"text={text!r:.60} is not text; pass a str")
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    found: list[str] = []
    for kind, run in groupby(fold(text), _kind):
        if kind == "word":
            found.append("".join(run))
        elif kind:
            characters = list(run)
            found += characters
            found += [a + b for a, b in pairwise(characters)] if kind == "unspaced" else []
    return found


def trigrams(word: str) -> list[str]:
    """The character trigrams of `word`, its ends marked; related words share some of them.

    Example:
    >>> trigrams("diet")
    ['^di', 'die', 'iet', 'et$']
    """
    padded = f"^{word}$"
    return [padded[i : i + 3] for i in range(len(padded) - 2)]


def bucket(feature: str, dim: int = DIM) -> int:
    """The bucket, 0..dim-1, of a word or trigram: the same on every machine, unlike `hash()`.

    Example:
    >>> bucket("diet") == bucket("diet")
    True
    """
    digest = hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % dim


def word_features(word: str, dim: int = DIM) -> tuple[tuple[int, float], ...]:
    """What `word` adds to a vector, as (bucket, weight): 1.0 for itself, then 0.35 for each trigram.

    The order is part of the algorithm: floats added in another order differ in the last bit. A stop
    word adds nothing.

    Example:
    >>> [weight for _, weight in word_features("diet")]
    [1.0, 0.35, 0.35, 0.35, 0.35]
    """
    if word in STOPWORDS:
        return ()
    own = (bucket(word, dim), 1.0)
    return (own, *((bucket(gram, dim), TRIGRAM_WEIGHT) for gram in trigrams(word)))


class _Features(dict[str, tuple[tuple[int, float], ...]]):
    """`word_features` at one `dim`, kept for the words seen so far: texts reuse their words."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self._dim = dim

    def __missing__(self, word: str) -> tuple[tuple[int, float], ...]:
        features = word_features(word, self._dim)
        if len(word) <= 40 and len(self) < 50_000:  # a bound on the memory that hostile text can take
            self[word] = features
        return features


_features = lru_cache(maxsize=16)(_Features)


def hash_embed(text: str, dim: int = DIM) -> list[float]:
    """The unit vector (`dim` floats) of a text: 1.0 for each word and 0.35 for each trigram, hashed.

    A text with no usable word gives the zero vector. Raises TypeError unless `text` is a str,
    ValueError for a `dim` below 1.

    Example:
    >>> vector = hash_embed("The user follows a vegetarian diet.")
    >>> len(vector), round(sum(v * v for v in vector), 6)
    (256, 1.0)
    """
    if not isinstance(dim, int) or isinstance(dim, bool) or dim < 1:
        raise ValueError(f"dim={dim!r} is not a positive whole number; pass e.g. dim={DIM}")
    # 1. every word, and every trigram of it, is a weight in some bucket
    features = _features(dim)
    touched: list[tuple[int, float]] = []
    for word in words(text):
        touched += features[word]
    # 2. weights that fell into one bucket add up
    vector = [0.0] * dim
    for index, weight in touched:
        vector[index] += weight
    # 3. to length 1: a long text is not nearer to everything (most buckets are 0, and need no work)
    used = list(compress(range(dim), vector))
    norm = math.sqrt(sum([vector[index] * vector[index] for index in used]))
    for index in used:
        vector[index] /= norm
    return vector


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """How alike two vectors of one length point, -1..1; 0.0 if either is all zeros.

    Raises ValueError when the lengths differ.

    Example:
    >>> cosine([3.0, 4.0], [3.0, 4.0]), cosine([1.0, 0.0], [0.0, 0.0])
    (1.0, 0.0)
    """
    if len(a) != len(b):
        raise ValueError(f"a has {len(a)} numbers and b has {len(b)}; embed both texts with one embedder")
    lengths = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0


@lru_cache(maxsize=10_000)
def _kind(character: str) -> str:
    """What a character of folded text is part of: a word, an unspaced run, a symbol, or nothing ("")."""
    category = unicodedata.category(character)
    if category[0] in "LMN" and category != "Me":
        return "unspaced" if UNSPACED.match(character) else "word"
    return "symbol" if category == "So" else ""
