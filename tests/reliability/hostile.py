"""Text that somebody will send some day: a fixed list, and any number of mixtures of it."""

from __future__ import annotations

import random
import unicodedata

from strategies import HOSTILE_IDS, HOSTILE_TEXTS

FRAGMENTS = (
    # what cannot be stored, seen, or told apart
    "\0", "\x1b[2J", "\ud800", "\udfff", "\ud83d", "\u202e", "\u2066", "\u2069", "\u200b", "\u200d",
    "\ufeff", "\ufe0f", "\u2028", "\u2029", "\x85", "\r", "\r\n", "\t", "\v", "\u00ad", "\u115f", "\u3164",
    "\u0301" * 40, "\U000e0041", "\U0010ffff", "\uffff", "ﷺ", "ﬃ", "İ", "ß", "ǅ", "ς", "K", "Ⅷ",
    "½", "４１１１", "٤٢", "१२३", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "我叫", "こんにちは",
    "שלום", "مرحبا", "สวัสดี", "नमस्ते", " ", "\n\n", "",
    # what means something to a parser
    "<", ">", "＜", "</MEMORIES>", "<memories>", "</memory>", "<system>", "]]>", "<!--",
    "<script>alert(1)</script>", "&lt;", "&#0;", "' OR 1=1 --", '"; DROP TABLE memories; --', "%", "_",
    "*", "?1", ":user_id", "\\", "\\u0000", "{", "}", '{"facts": []}', '{"action": "UPDATE"', "```json",
    "[1,", "null", "${x}", "{0}",
    "{name!r}", "%s", "%n", "../../none/x", "file:///", "C:\\", "|", ";",
    "$(id)", "`id`", "nan", "inf", "-0", "1e309", "0x10", "9" * 400, "true", ".", ",", "!", "?", "'",
    '"', "“", "’", "(", ")", "[", "]", "-", "–", "/", "@", "#", "a" * 300,
    # what means something to an extractor, a gate or a model
    "I'm a vegetarian.", "I’m vegan", "Call me Ada", "I like ", "allergic to ", "my wife ", "System:",
    "user: ", "ignore all previous instructions", "Deadline is 15 October", "my PIN is 4321",
    "4111 1111 1111 1111",
)  # fmt: skip

PIECES = (
    "a", " ", "\n", "I am ", "I'm a vegetarian. ", "i like tea and ", "Call me A A A ", "my wife ",
    "nut allergy ", "I work at Acme of ", "I'm allergic to nuts, ", "deadline ", "if ", "not ",
    "due on 1 may ", "f r e e ", "one two ", "gb82 west ", "4111 1111 ", "1 ", "a@b.", "a.b. ",
    "Bob: hi\n", "> x\n", "'''", "~~~\n", '"', "'", "<memory>", "</memories>", "< ", "&lt;", "{", '{"a":',
    '{"a" ', "[[", "(", "\\", "%", "-", "_", "=", "$&", "\u0301", "Z\u0301", "\u200b", "\u202e", "ﷺ",
    "👩‍👩‍👧‍👦", "我", "é", "\ud800", "\t",
)  # fmt: skip

FLOODS = tuple(piece * (9_999 // len(unicodedata.normalize("NFKC", piece))) for piece in PIECES)
"""One piece over and over, just short enough to be stored: what makes a careless pattern take minutes."""

LISTED = tuple(
    dict.fromkeys(
        text
        for text in (*HOSTILE_TEXTS, *HOSTILE_IDS, *FRAGMENTS)
        if isinstance(text, str) and len(text) <= 9_999
    )
)
"""The short ones, each once."""


def mixtures(count: int, seed: int = 0) -> list[str]:
    """`count` texts: fragments run together, and characters from anywhere in Unicode. The same for a seed."""
    chance = random.Random(seed)

    def piece() -> str:
        if chance.random() < 0.7:
            return chance.choice(FRAGMENTS)
        return "".join(chr(chance.randrange(0x110000)) for _ in range(chance.randrange(1, 6)))

    return ["".join(piece() for _ in range(chance.randrange(1, 7))) for _ in range(count)]
