"""Answers to the exercises of lesson 01 that the checks must tell apart."""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from course.lessons.lesson_01 import unspaced
from memlab import embedding as given


def zipped(word: str) -> list[str]:
    padded = f"^{word}$"
    return ["".join(gram) for gram in zip(padded, padded[1:], padded[2:], strict=False)]


def from_hexadecimal(feature: str, dim: int = 256) -> int:
    return int(hashlib.blake2b(feature.encode(), digest_size=8).hexdigest(), 16) % dim


def counted_with_numpy(text: str, dim: int = 256) -> list[float]:
    if not isinstance(dim, int) or dim < 1:
        raise ValueError(f"dim={dim!r} is no number of buckets")
    vector = np.zeros(dim)
    for word, times in Counter(given.words(text)).items():
        if word not in given.STOPWORDS:
            vector[given.bucket(word, dim)] += times
            np.add.at(vector, [given.bucket(gram, dim) for gram in given.trigrams(word)], 0.35 * times)
    return (vector / (np.linalg.norm(vector) or 1.0)).tolist()  # type: ignore[no-any-return]


def of_unit_vectors(a: Sequence[float], b: Sequence[float]) -> float:
    if len(a) != len(b):
        raise ValueError(f"lengths {len(a)} and {len(b)}")
    left, right = np.array(a, dtype=float), np.array(b, dtype=float)
    for vector in (left, right):
        if vector.any():
            vector /= np.linalg.norm(vector)
    return float(left @ right)


def with_a_state_machine(text: str) -> list[str]:
    if not isinstance(text, str):
        raise TypeError(f"text={text!r} is not text")
    found: list[str] = []
    word, run = "", ""
    for character in unicodedata.normalize("NFKC", text).casefold() + " ":
        category = unicodedata.category(character)
        in_run = unspaced(character) and category[0] in "LMN"
        if run and not in_run:
            found += [*run, *(run[i : i + 2] for i in range(len(run) - 1))]
            run = ""
        if category[0] in "LMN" and not in_run:
            word += character
            continue
        if word:
            found, word = [*found, word], ""
        if in_run:
            run += character
        elif category == "So":
            found.append(character)
    return found


# fmt: off
WRONG: dict[str, list[tuple[Any, str]]] = {
    "01-trigrams": [
        ('f"^{word}$" => word', "over the bare word"),
        ("len(padded) - 2 => len(padded) - 3", "stops one step early"),
        ("len(padded) - 2 => len(padded)", "three characters long"),
        ("^{word}$ => ^^{word}$$", "One mark at each end"),
        ("range(len(padded) - 2) => range(0, len(padded) - 2, 3)", "jumps by three"),
        ("return [padded => return list(dict.fromkeys([padded ;; - 2)] => - 2)]))", "dropped a repeated"),
        ("return [padded => return {padded ;; - 2)] => - 2)}", "not a set"),
    ],
    "01-bucket": [
        ('int.from_bytes(digest, "big") => hash(feature)', "Python salts it"),
        ('int.from_bytes(digest, "big") => sum(feature.encode())', "added up the characters"),
        ('int.from_bytes(digest, "big") % dim => digest.hex()', "make a whole number of it"),
        (" % dim => ", "take the remainder"),
        ("% dim => % 256", "always divide by 256"),
        ('"big" => "little"', "little-endian"),
        ('"big" => "big", signed=True', "a signed number"),
        (", digest_size=8 => ", "all 64 bytes"),
        ("blake2b( => md5( ;; , digest_size=8 => ", "That is md5"),
        ('"utf-8", "surrogatepass" => "ascii", "ignore"', "Encode the feature as UTF-8"),
    ],
    "01-hash-embed": [
        (" if length else vector => ", "You divided by a length of 0"),
        ("else vector => else [math.nan] * dim", "0 / 0 is no number"),
        ("if word not in STOPWORDS: => if True:", "Words in STOPWORDS must add nothing"),
        ("            for gram in trigrams(word):\n                vector[ => "
         "        for gram in trigrams(word):\n            vector[", "still added its trigrams"),
        ("[value / length for value in vector] if length else vector => vector", "not divided by its length"),
        ("math.sqrt(sum(value * value for value in vector)) => sum(vector)", "divided by the sum"),
        ("vector[bucket(gram, dim)] += TRIGRAM_WEIGHT => pass", "The trigrams are missing"),
        ("+= TRIGRAM_WEIGHT => += 1.0", "weighs as much as the word"),
        ("+= 1.0 => = 1.0 ;; += TRIGRAM_WEIGHT => = TRIGRAM_WEIGHT", "write `+=`"),
        ("in trigrams(word): => in set(trigrams(word)):", "not through a set"),
        ("in words(text): => in dict.fromkeys(words(text)):", "counted each word once"),
        ("in words(text): => in text.split():", "not `text.split()`"),
        ("(word, dim)] => (word) % dim] ;; (gram, dim)] => (gram) % dim]", "hand `dim` on"),
        ('check_whole("dim", dim, least=1) => dim', "no buckets must raise"),
        ("[value / length for value in vector] if length else vector => "
         "__import__('numpy').array(vector) / (length or 1.0)", "promises a list of floats"),
    ],
    "01-cosine": [
        (" / lengths if lengths else 0.0 => ", "That is the dot product"),
        (" * math.sqrt(sum(y * y for y in b)) => ", "one length only"),
        ("math.sqrt(sum(x * x for x in a)) => sum(x * x for x in a) ;; "
         "math.sqrt(sum(y * y for y in b)) => sum(y * y for y in b)", "squares of the lengths"),
        (math.dist, "That is a distance"),
        (" if lengths else 0.0 => ", "You divided by a length of 0"),
        ("else 0.0 => else math.nan", "0 / 0 is no number"),
        ("return sum( => return 1.0 if a == b else sum(", "Two texts that say nothing"),
        ("return sum( => return abs(sum( ;; else 0.0 => else 0.0)", "lost the sign"),
        ("return sum( => return max(0.0, sum( ;; else 0.0 => else 0.0)", "cut off what lies below 0"),
        ("/ lengths if lengths else 0.0 => / (lengths + 1e-9)", "shifts every cosine"),
        ("return sum( => return round(sum( ;; else 0.0 => else 0.0, 6)", "give it back unrounded"),
        ("if lengths else => if lengths > 1e-3 else", "a length of exactly 0"),
        ("if len(a) != len(b): => if False: ;; strict=True => strict=False", "two embedders"),
    ],
    "01-words": [
        ('fold(text), kind_of => text.lower(), lambda c: "word" if c.isascii() and c.isalnum() else ""',
         "Only a to z count"),
        ('kind_of): => lambda c: "word" if c == "_" else kind_of(c)):', "takes the underscore"),
        ("fold(text), => filter(str.isascii, unicodedata.normalize('NFKD', fold(text))),",
         "removed the accent"),
        ('fold(text), => unicodedata.normalize("NFKC", text),', "Lower case first"),
        ("return found => return list(dict.fromkeys(found))", "said twice counts twice"),
        ("fold(text), => text.lower(),", "must become é first"),
        ('fold(text), => unicodedata.normalize("NFC", text).lower(),', "only the K forms"),
        ('fold(text), => unicodedata.normalize("NFKD", text).lower(),', "takes `é` apart"),
        ('fold(text), => unicodedata.normalize("NFKC", text.lower()),', "must come after it"),
        ('kind_of): => lambda c: kind_of(c) or "symbol" * (unicodedata.category(c)[0] == "S")):',
         "Only symbols of category So"),
        ('kind_of): => lambda c: "" if unicodedata.category(c)[0] == "M" else kind_of(c)):',
         "Hindi falls to pieces"),
        ('if kind == "word": => if kind in ("word", "unspaced"): ;; if kind == "unspaced": => if False:',
         "would be one word"),
        ('if kind == "unspaced": => if False:', "The pairs are missing"),
        ('elif kind: => elif kind == "unspaced":', "The cakes are gone"),
        ('if kind == "word": => if kind in ("word", "symbol"):', "You joined two emoji"),
        ('kind_of): => lambda c: "unspaced" if UNSPACED.match(c) and c != "฿" else kind_of(c)):',
         "ask the category first"),
        ('kind_of): => lambda c: "unspaced" if c == "฿" else kind_of(c)):', "The sign of the baht"),
        ("if not isinstance(text, str): => text = str(text)\n    if False:", "None must raise"),
    ],
}

RIGHT: dict[str, list[Any]] = {
    "01-trigrams": [zipped],
    "01-bucket": [from_hexadecimal],
    "01-hash-embed": [given.hash_embed, counted_with_numpy],
    "01-cosine": [of_unit_vectors],
    "01-words": [given.words, with_a_state_machine],
}

TWICE = "either of the two, the first line and the strict zip, refuses vectors of unequal length"
LENGTHS = ("if len(a) != len(b): raise ValueError(f'a has {len(a)} numbers and b has {len(b)}; "
           "embed both texts with one embedder')")
SPARED: dict[str, dict[str, str]] = {
    "01-bucket": {
        "'surrogatepass'), digest_size=8).digest() => 'surrogatepassX'), digest_size=8).digest()":
            "half of a surrogate pair is no text: what becomes of it is the package's business",
    },
    "01-hash-embed": {
        "check_whole('dim', dim, least=1) => check_whole('dimX', dim, least=1)":
            "the error still names the field",
    },
    "01-cosine": {
        f"{LENGTHS} => pass": TWICE,
        "if len(a) != len(b): => if False:": TWICE,
        "y in zip(a, b, strict=True))) / lengths => y in zip(a, b))) / lengths": TWICE,
        "zip(a, b, strict=True))) / lengths => zip(a, b, strict=False))) / lengths": TWICE,
    },
}
# fmt: on
