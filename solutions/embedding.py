"""Text to vectors, the plain version: what notebook 01 asks for, in as few steps as it takes.

`memlab.embedding` has a faster `words` and `hash_embed`, which everything else uses: it finds ASCII words
with one pattern, remembers the buckets of words that it has seen, and squares only what is not 0. Both give
the same vectors to the last bit: they add the same weights in the same order, and 0.0 changes no sum.
"""

from __future__ import annotations

import math
import unicodedata
from itertools import groupby, pairwise

from memlab.embedding import DIM, STOPWORDS, TRIGRAM_WEIGHT, UNSPACED, bucket, trigrams
from memlab.fields import check_whole
from memlab.text import fold


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
    found: list[str] = []
    for kind, run in groupby(fold(text), kind_of):  # fold: NFKC and lower case
        characters = list(run)
        if kind == "word":
            found.append("".join(characters))
        elif kind:  # a symbol, or a script without spaces: each character is a token
            found += characters
        if kind == "unspaced":  # and so is each pair of neighbours
            found += [a + b for a, b in pairwise(characters)]
    return found


def kind_of(character: str) -> str:
    """What a character is part of: a word, an unspaced run, a symbol, or nothing ("").

    Example:
    >>> [kind_of(character) for character in "a我🎂,"]
    ['word', 'unspaced', 'symbol', '']
    """
    category = unicodedata.category(character)
    if category[0] in "LMN" and category != "Me":  # Me: a ring drawn around an emoji is no part of a word
        return "unspaced" if UNSPACED.match(character) else "word"
    return "symbol" if category == "So" else ""


def hash_embed(text: str, dim: int = DIM) -> list[float]:
    """The unit vector (`dim` floats) of a text: 1.0 for each word and 0.35 for each trigram, hashed.

    A text with no usable word gives the zero vector. `memlab.embedding` has a faster one, which adds the
    same weights in the same order: each word, then its trigrams. Raises TypeError unless `text` is a str,
    ValueError for a `dim` below 1.

    Example:
    >>> vector = hash_embed("The user follows a vegetarian diet.")
    >>> len(vector), round(sum(v * v for v in vector), 6)
    (256, 1.0)
    """
    vector = [0.0] * check_whole("dim", dim, least=1)
    for word in words(text):
        if word not in STOPWORDS:
            vector[bucket(word, dim)] += 1.0
            for gram in trigrams(word):
                vector[bucket(gram, dim)] += TRIGRAM_WEIGHT
    # to length 1: a long text is not nearer to everything
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length else vector
