"""Answers to the exercises of lesson 01 that the checks must tell apart."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from course.lessons.lesson_01 import unspaced
from memlab import embedding as given

# --- 01-trigrams


def bare_word(word: str) -> list[str]:
    return [word[i : i + 3] for i in range(len(word) - 2)]


def stops_early(word: str) -> list[str]:
    padded = f"^{word}$"
    return [padded[i : i + 3] for i in range(len(padded) - 3)]


def runs_over_the_end(word: str) -> list[str]:
    padded = f"^{word}$"
    return [padded[i : i + 3] for i in range(len(padded))]


def doubly_marked(word: str) -> list[str]:
    padded = f"^^{word}$$"
    return [padded[i : i + 3] for i in range(len(padded) - 2)]


def side_by_side(word: str) -> list[str]:
    padded = f"^{word}$"
    return (
        [padded[i : i + 3] for i in range(0, len(padded) - 2, 3)] if len(word) > 2 else given.trigrams(word)
    )


def each_once(word: str) -> list[str]:
    return list(dict.fromkeys(given.trigrams(word)))


def zipped(word: str) -> list[str]:
    padded = f"^{word}$"
    return ["".join(gram) for gram in zip(padded, padded[1:], padded[2:], strict=False)]


# --- 01-bucket


def salted(feature: str, dim: int = 256) -> int:
    return hash(feature) % dim


def summed(feature: str, dim: int = 256) -> int:
    return sum(feature.encode()) % dim


def hexadecimal(feature: str, dim: int = 256) -> str:
    return hashlib.blake2b(feature.encode(), digest_size=8).hexdigest()


def unbounded(feature: str, dim: int = 256) -> int:
    return int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "big")


def always_256(feature: str, dim: int = 256) -> int:
    return unbounded(feature) % 256


def little_endian(feature: str, dim: int = 256) -> int:
    return int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "little") % dim


def long_digest(feature: str, dim: int = 256) -> int:
    return int.from_bytes(hashlib.blake2b(feature.encode()).digest(), "big") % dim


def with_md5(feature: str, dim: int = 256) -> int:
    return int.from_bytes(hashlib.md5(feature.encode()).digest(), "big") % dim


def ascii_only(feature: str, dim: int = 256) -> int:
    data = feature.encode("ascii", "ignore")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big") % dim


def from_hexadecimal(feature: str, dim: int = 256) -> int:
    return int(hashlib.blake2b(feature.encode(), digest_size=8).hexdigest(), 16) % dim


# --- 01-hash-embed


def embedder(
    *,
    stop: bool = True,
    own: float = 1.0,
    weight: float = 0.35,
    cut: Callable[[str], Sequence[str]] = given.words,
    finish: Callable[[list[float]], list[float]],
    fixed: int | None = None,
) -> Callable[..., list[float]]:
    """An embedder that gets one thing wrong."""

    def hash_embed(text: str, dim: int = 256) -> list[float]:
        if dim < 1:
            raise ValueError(f"dim={dim}")
        dim = fixed or dim
        vector = [0.0] * dim
        for word in cut(text):
            if not (stop and word in given.STOPWORDS):
                vector[given.bucket(word, dim)] += own
                for gram in given.trigrams(word):
                    vector[given.bucket(gram, dim)] += weight
        return finish(vector)

    return hash_embed


def unit(vector: list[float]) -> list[float]:
    length = math.sqrt(sum(v * v for v in vector)) or 1.0
    return [v / length for v in vector]


def unit_or_crash(vector: list[float]) -> list[float]:
    length = math.sqrt(sum(v * v for v in vector))
    return [v / length for v in vector]


def unit_or_nan(vector: list[float]) -> list[float]:
    with np.errstate(invalid="ignore"):
        return list(np.array(vector) / np.linalg.norm(vector))


def divided_by_sum(vector: list[float]) -> list[float]:
    return [v / (sum(vector) or 1.0) for v in vector]


def overwriting(text: str, dim: int = 256) -> list[float]:
    vector = [0.0] * dim
    for word in given.words(text):
        if word not in given.STOPWORDS:
            vector[given.bucket(word, dim)] = 1.0
            for gram in given.trigrams(word):
                vector[given.bucket(gram, dim)] = 0.35
    return unit(vector)


def grams_of_stopwords(text: str, dim: int = 256) -> list[float]:
    vector = [0.0] * dim
    for word in given.words(text):
        if word not in given.STOPWORDS:
            vector[given.bucket(word, dim)] += 1.0
        for gram in given.trigrams(word):
            vector[given.bucket(gram, dim)] += 0.35
    return unit(vector)


def no_buckets_at_all(text: str, dim: int = 256) -> list[float]:
    return embedder(finish=unit)(text, dim) if dim else []


def counted_with_numpy(text: str, dim: int = 256) -> list[float]:
    if not isinstance(dim, int) or dim < 1:
        raise ValueError(f"dim={dim!r} is no number of buckets")
    vector = np.zeros(dim)
    for word, times in Counter(given.words(text)).items():
        if word not in given.STOPWORDS:
            vector[given.bucket(word, dim)] += times
            np.add.at(vector, [given.bucket(gram, dim) for gram in given.trigrams(word)], 0.35 * times)
    return (vector / (np.linalg.norm(vector) or 1.0)).tolist()  # type: ignore[no-any-return]


# --- 01-cosine


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def length(a: Sequence[float]) -> float:
    return math.sqrt(dot(a, a))


def one_length(a: Sequence[float], b: Sequence[float]) -> float:
    return dot(a, b) / length(a)


def squared_lengths(a: Sequence[float], b: Sequence[float]) -> float:
    return dot(a, b) / (dot(a, a) * dot(b, b))


def distance(a: Sequence[float], b: Sequence[float]) -> float:
    return math.dist(a, b)


def crashes_on_zero(a: Sequence[float], b: Sequence[float]) -> float:
    return dot(a, b) / (length(a) * length(b))


def nan_on_zero(a: Sequence[float], b: Sequence[float]) -> float:
    with np.errstate(invalid="ignore"):
        return float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)))


def equal_is_one(a: Sequence[float], b: Sequence[float]) -> float:
    return 1.0 if a == b else given.cosine(a, b)


def unsigned(a: Sequence[float], b: Sequence[float]) -> float:
    return abs(given.cosine(a, b))


def clipped(a: Sequence[float], b: Sequence[float]) -> float:
    return max(0.0, given.cosine(a, b))


def shifted(a: Sequence[float], b: Sequence[float]) -> float:
    return dot(a, b) / (length(a) * length(b) + 1e-9)


def cuts_the_longer(a: Sequence[float], b: Sequence[float]) -> float:
    size = min(len(a), len(b))
    return given.cosine(a[:size], b[:size])


def of_unit_vectors(a: Sequence[float], b: Sequence[float]) -> float:
    if len(a) != len(b):
        raise ValueError(f"lengths {len(a)} and {len(b)}")
    left, right = np.array(a, dtype=float), np.array(b, dtype=float)
    for vector in (left, right):
        if vector.any():
            vector /= np.linalg.norm(vector)
    return float(left @ right)


# --- 01-words


def published(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", _text(text).lower())


def regex_words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKC", _text(text)).lower())


def without_accents(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", _text(text)).lower()
    return re.findall(r"[a-z0-9]+", "".join(c for c in plain if not unicodedata.combining(c)))


def case_kept(text: str) -> list[str]:
    return re.findall(r"[A-Za-z0-9]+", _text(text))


def walker(
    form: str | None = "NFKC",
    *,
    marks: bool = True,
    pairs: bool = True,
    whole: bool = False,
    emoji: str = "each",
    signs: str = "So",
    lower_first: bool = False,
) -> Callable[[str], list[str]]:
    """A tokenizer that gets one thing wrong."""

    def kind(character: str) -> str:
        category = unicodedata.category(character)
        if category[0] in ("LMN" if marks else "LN"):
            return "unspaced" if unspaced(character) and not whole else "word"
        return "symbol" if category.startswith(signs) and emoji else ""

    def words(text: str) -> list[str]:
        found: list[str] = []
        text = _text(text).lower() if lower_first else _text(text)
        normal = unicodedata.normalize(form, text) if form else text  # type: ignore[arg-type]
        for of_kind, run in groupby(normal if lower_first else normal.lower(), kind):
            run_text = "".join(run)
            if of_kind == "word" or (of_kind == "symbol" and emoji == "joined"):
                found.append(run_text)
            elif of_kind:
                found += run_text
                if of_kind == "unspaced" and pairs:
                    found += ["".join(pair) for pair in pairwise(run_text)]
        return found

    return words


def anything_goes(text: Any) -> list[str]:
    return given.words(str(text))


def with_a_state_machine(text: str) -> list[str]:
    found: list[str] = []
    word, run = "", ""
    for character in unicodedata.normalize("NFKC", _text(text)).casefold() + " ":
        category = unicodedata.category(character)
        if run and not unspaced(character):
            found += [*run, *(run[i : i + 2] for i in range(len(run) - 1))]
            run = ""
        if category[0] in "LMN" and not unspaced(character):
            word += character
            continue
        if word:
            found, word = [*found, word], ""
        if unspaced(character):
            run += character
        elif category == "So":
            found.append(character)
    return found


def _text(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"text={text!r} is not text")
    return text


WRONG: dict[str, list[tuple[Any, str]]] = {
    "01-trigrams": [
        (bare_word, "over the bare word"),
        (stops_early, "stops one step early"),
        (runs_over_the_end, "three characters long"),
        (doubly_marked, "One mark at each end"),
        (side_by_side, "jumps by three"),
        (each_once, "dropped a repeated trigram"),
        (lambda word: set(given.trigrams(word)), "not a set"),
    ],
    "01-bucket": [
        (salted, "Python salts it"),
        (summed, "added up the characters"),
        (hexadecimal, "make a whole number of it"),
        (unbounded, "take the remainder"),
        (always_256, "always divide by 256"),
        (little_endian, "little-endian"),
        (long_digest, "all 64 bytes"),
        (with_md5, "That is md5"),
        (ascii_only, "Encode the feature as UTF-8"),
    ],
    "01-hash-embed": [
        (embedder(finish=unit_or_crash), "You divided by a length of 0"),
        (embedder(finish=unit_or_nan), "0 / 0 is no number"),
        (embedder(stop=False, finish=unit), "Words in STOPWORDS must add nothing"),
        (grams_of_stopwords, "still added its trigrams"),
        (embedder(finish=list), "not divided by its length"),
        (embedder(finish=divided_by_sum), "divided by the sum"),
        (embedder(weight=0.0, finish=unit), "The trigrams are missing"),
        (embedder(weight=1.0, finish=unit), "weighs as much as the word"),
        (overwriting, "write `+=`"),
        (embedder(cut=lambda text: dict.fromkeys(given.words(text)), finish=unit), "counted each word once"),  # type: ignore[arg-type, return-value]
        (embedder(cut=str.split, finish=unit), "not `text.split()`"),
        (no_buckets_at_all, "no buckets must raise"),
    ],
    "01-cosine": [
        (dot, "That is the dot product"),
        (one_length, "one length only"),
        (squared_lengths, "squares of the lengths"),
        (distance, "That is a distance"),
        (crashes_on_zero, "You divided by a length of 0"),
        (nan_on_zero, "0 / 0 is no number"),
        (equal_is_one, "Two texts that say nothing"),
        (unsigned, "lost the sign"),
        (clipped, "cut off what lies below 0"),
        (shifted, "shifts every cosine"),
        (cuts_the_longer, "two embedders"),
    ],
    "01-words": [
        (published, "Only a to z count"),
        (regex_words, "takes the underscore"),
        (without_accents, "removed the accent"),
        (case_kept, "Lower case first"),
        (walker(None), "must become é first"),
        (walker("NFC"), "only the K forms"),
        (walker("NFKD"), "takes `é` apart"),
        (walker(lower_first=True), "must come after it"),
        (walker(signs="S"), "Only symbols of category So"),
        (walker(marks=False), "Hindi falls to pieces"),
        (walker(whole=True), "would be one word"),
        (walker(pairs=False), "The pairs are missing"),
        (walker(emoji=""), "The cakes are gone"),
        (walker(emoji="joined"), "You joined two emoji"),
        (anything_goes, "None must raise"),
    ],
}

RIGHT: dict[str, list[Any]] = {
    "01-trigrams": [zipped],
    "01-bucket": [from_hexadecimal],
    "01-hash-embed": [embedder(finish=unit), counted_with_numpy],
    "01-cosine": [of_unit_vectors],
    "01-words": [walker(), with_a_state_machine],
}
