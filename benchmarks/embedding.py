"""`hash_embed` against the code of "Mini-project 5: build a memory system", Part 1, on the same texts.

Run it with `make bench`. It compares every bit first: a faster embedder of other vectors is no gain.
"""

from __future__ import annotations

import hashlib
import math
import random
import re
import sys
import time
from collections.abc import Callable

from memlab.embedding import STOPWORDS, hash_embed

Embed = Callable[[str], list[float]]

VOCABULARY = """
    the user prefers aisle window seating on flights follows a vegetarian vegan diet eats fish again
    goes by Ada lives in Pune Lyon works for bakery hospital allergic to peanuts likes dislikes green
    tea coffee cilantro deadline is 15 October her son plays football and sister teaches music
"""
TEXTS, WORDS, ROUNDS = 2000, 8, 5


def published(text: str, dim: int = 256) -> list[float]:
    """The published algorithm, word for word."""

    def bucket(s: str) -> int:
        return int(hashlib.blake2b(s.encode(), digest_size=8).hexdigest(), 16) % dim

    vec = [0.0] * dim
    for tok in re.findall(r"[a-z0-9]+", text.lower()):
        if tok in STOPWORDS:
            continue
        vec[bucket(tok)] += 1.0
        padded = f"^{tok}$"
        for i in range(len(padded) - 2):
            vec[bucket(padded[i : i + 3])] += 0.35
    norm = math.sqrt(sum(v * v for v in vec)) or 1.0
    return [v / norm for v in vec]


def sentences(count: int) -> list[str]:
    """`count` different mixtures of one small vocabulary, as a user's memories are; always the same."""
    draw = random.Random(5)
    return [" ".join(draw.choices(VOCABULARY.split(), k=WORDS)) + "." for _ in range(count)]


def microseconds(embed: Embed, texts: list[str]) -> float:
    """Time per text of one pass over `texts`."""
    start = time.perf_counter()
    for text in texts:
        embed(text)
    return (time.perf_counter() - start) / len(texts) * 1e6


def main() -> int:
    """Print both times and their ratio; 1 if a vector differs in any bit, else 0."""
    texts = sentences(TEXTS)
    differing = [text for text in texts if published(text) != hash_embed(text)]
    if differing:
        print(f"{len(differing)} of {len(texts)} vectors differ, the first of: {differing[0]!r}")
        return 1
    # The passes take turns and the best counts, so that a busy moment of the machine hits neither side.
    passes = [(microseconds(published, texts), microseconds(hash_embed, texts)) for _ in range(ROUNDS)]
    before, after = (min(times) for times in zip(*passes, strict=True))
    print(f"hash_embed, {TEXTS} texts of {WORDS} words out of a small vocabulary, best of {ROUNDS} passes")
    print(f"  published   {before:7.1f} µs per text")
    print(f"  memlab      {after:7.1f} µs per text   {before / after:.1f} times as fast, every bit the same")
    return 0


if __name__ == "__main__":
    sys.exit(main())
