"""Lesson 01, embeddings: the checks of its exercises, and the pictures and tables that it shows.

The checks compare with plain specifications written here; they never import the answers.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from course.check import Cases, Function, Mistake, Shown, call, exercise, refused
from course.pictures.explorer import Bucket, Features, compare
from course.pictures.views import BLUE, GREY, ORANGE, Picture, as_picture, new_figure
from memlab.embedding import UNSPACED

# --- What the checks compare with -------------------------------------------------------------------


def _number(feature: str, size: int = 8, order: Any = "big", signed: bool = False) -> int:
    digest = hashlib.blake2b(feature.encode(), digest_size=size).digest()
    return int.from_bytes(digest, order, signed=signed)


def _raw(
    text: str, dim: int, *, own: float = 1.0, weight: float = 0.35, marks: str = "^$", adds: bool = True
) -> list[float]:
    """The specification of hash_embed before its last step: the plain, slow loop over bare words."""
    vector = [0.0] * dim
    for word in text.split():
        padded = f"{marks[:1]}{word}{marks[1:]}"
        grams = [padded[start : start + 3] for start in range(len(padded) - 2)]
        for feature, value in [(word, own), *((gram, weight) for gram in grams)]:
            at = _number(feature) % dim
            vector[at] = vector[at] + value if adds else value
    return vector


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector]


def _no_number(got: object) -> bool:
    values = got if isinstance(got, Sequence) else [got]
    return any(value != value for value in values)


# A crash by division is one of the mistakes that a row knows.
CRASHED = Shown("ZeroDivisionError")


def _crash_told(function: Function) -> Function:
    @functools.wraps(function)
    def answer(*values: Any) -> Any:
        try:
            return function(*values)
        except ZeroDivisionError:
            return CRASHED

    return answer


# --- The checks: what holds, the call, what comes back, the sentence for who gets it wrong, known mistakes

# fmt: off
TRIGRAMS = [
    ("both ends are marked, neighbours overlap", "diet", ["^di", "die", "iet", "et$"],
     "Put `^` before the word and `$` after it, then take every run of three characters, in order.",
     (["die", "iet"], "You slid the window over the bare word: mark its two ends first."),
     (["^di", "die", "iet"], "The window stops one step early: the last trigram ends on the `$`."),
     (["^di", "et$"], "The window jumps by three: neighbouring trigrams must overlap."),
     (lambda got: any("^^" in gram for gram in got), "One mark at each end is enough: `^diet$`."),
     (lambda got: any(len(gram) != 3 for gram in got), "Every piece must be three characters long."),
     (lambda got: set(got) == {"^di", "die", "iet", "et$"},
      "A list in the order of the word is wanted, not a set.")),
    ("one letter is a word too", "a", ["^a$"],
     "A word of one letter has one trigram: the letter between its two marks."),
    ("a trigram said twice stands twice", "aaaa", ["^aa", "aaa", "aaa", "aa$"],
     "Keep the trigrams as they come.",
     (lambda got: len(got) == 3, "You dropped a repeated trigram: each one adds its weight.")),
]


def _other_buckets(feature: str, dim: int) -> list[Mistake]:
    data = feature.encode()
    return [
        (hash(feature) % dim, "That is `hash()`: Python salts it anew in every process. Use blake2b."),
        (sum(data) % dim, "You added up the characters: `diet`, `edit` and `tide` would share one bucket."),
        (lambda got: isinstance(got, str | bytes), "A digest is no bucket yet: make a whole number of it."),
        (lambda got: not 0 <= got < dim, "That is no bucket: take the remainder by `dim`."),
        (_number(feature, order="little") % dim, "You read the bytes little-endian; big-endian is agreed."),
        (_number(feature, size=64) % dim, "You read all 64 bytes of the digest: ask for `digest_size=8`."),
        (_number(feature, signed=True) % dim, "You read the bytes as a signed number: half of them are "
         "negative then. Leave `signed` alone."),
        (int.from_bytes(hashlib.md5(data).digest(), "big") % dim, "That is md5; blake2b is agreed on."),
    ]


BUCKET = [
    ("the bucket is the same on every machine", call("diet"), _number("diet") % 256,
     "Take blake2b with `digest_size=8`, read its bytes as one big-endian number, then `% dim`.",
     *_other_buckets("diet", 256)),
    ("dim decides how many buckets there are", call("dietary", 1000), _number("dietary") % 1000,
     "The remainder must be taken by `dim`, whatever it is.",
     (_number("dietary") % 256, "You always divide by 256: use the `dim` that was passed."),
     *_other_buckets("dietary", 1000)),
    ("every script has a bucket", call("犬", 1000), _number("犬") % 1000,
     "Encode the feature as UTF-8 and lose nothing of it: a dropped character is a lost word.",
     *_other_buckets("犬", 1000)),
]

_FISH = _raw("fish", 32)
_KNOWN = [
    (_FISH, "The vector is not divided by its length, so long texts would win every comparison."),
    ([value / sum(_FISH) for value in _FISH],
     "You divided by the sum of the numbers: the length is the root of the sum of their squares."),
    ([value / max(_FISH) for value in _FISH], "You divided by the largest number, not by the length."),
    (_unit(_raw("fish", 32, weight=0.0)), "The trigrams are missing: related words stay strangers."),
    (_unit(_raw("fish", 32, weight=1.0)), "Each trigram weighs as much as the word: it gets 0.35."),
    (_unit(_raw("fish", 32, marks="")), "Your trigrams know nothing of the word's two ends."),
    (lambda got: len(got) != 32, "The vector has another number of buckets than `dim` says."),
]
HASH_EMBED = [
    ("an empty text gives the zero vector", call("", 4), [0.0] * 4,
     "Nothing was said, so all `dim` numbers stay 0.0.",
     (CRASHED, "You divided by a length of 0: a text without words keeps the zero vector."),
     (_no_number, "0 / 0 is no number: leave the zero vector as it is.")),
    ("stop words add nothing", call("the user", 4), [0.0] * 4,
     "Words in STOPWORDS must add nothing, neither themselves nor their trigrams.",
     (_unit(_raw("the user", 4, own=0.0)), "You skipped the stop word itself but still added its trigrams.")),
    ("a word weighs 1.0, its trigrams 0.35", call("fish", 32), _unit(_FISH),
     "Add 1.0 to the bucket of the word and 0.35 to the bucket of each trigram, then divide by the length.",
     *_KNOWN),
    ("what shares a bucket adds up", call("fish", 2), _unit(_raw("fish", 2)),
     "Two features in one bucket add their weights.",
     (_unit(_raw("fish", 2, adds=False)), "A bucket that is hit again must grow: write `+=`, not `=`.")),
    ("a trigram said twice counts twice", call("banana", 64), _unit(_raw("banana", 64)),
     "`ana` stands twice in `banana`, and counts twice: go through the list of trigrams, not through a set."),
    ("a word said twice counts twice", call("fish fish diet", 64), _unit(_raw("fish fish diet", 64)),
     "Walk over every word of the text, in order.",
     (_unit(_raw("fish diet", 64)), "You counted each word once: a set forgets how often it was said."),
     (_unit(_raw("fish", 64)), "You stopped after the first word.")),
    ("capitals and full stops do not matter", call("Fish!", 32), _unit(_FISH),
     "`Fish!` and `fish` say the same: let `words(text)` cut the text, not `text.split()`."),
    ("256 buckets are the default", call("The user follows a vegetarian diet."),
     _unit(_raw("follows vegetarian diet", 256)), "The parts are right, the whole sentence is not."),
    ("dim reaches every bucket", call("fish diet", 1000), _unit(_raw("fish diet", 1000)),
     "With 1000 buckets the features lie elsewhere than with 256: hand `dim` on to `bucket`, for the word "
     "and for its trigrams."),
    ("one bucket is enough", call("fish", 1), [1.0],
     "With one bucket all features meet in it: that is allowed."),
    ("a dim below 1 is refused", call("fish", 0), refused("dim"),
     "Keep the scaffold's first line: no buckets must raise a ValueError that names `dim`."),
]

_EPSILON = (lambda got: 0.99 < abs(got) < 1.0,
            "You added a little to the divisor, and that shifts every cosine: test for a length of 0.")
COSINE = [
    ("equal vectors give 1", call([3.0, 4.0], [3.0, 4.0]), 1.0,
     "Two equal vectors point the same way, so their cosine is 1.",
     (25.0, "That is the dot product: divide it by the length of `a` and by the length of `b`."),
     (5.0, "You divided by one length only: divide by both."),
     (0.04, "You divided by the squares of the lengths: take their roots."),
     (0.0, "That is a distance, small for near vectors: a similarity grows as they get nearer."), _EPSILON),
    ("a right angle gives 0", call([1.0, 0.0], [0.0, 2.0]), 0.0,
     "Vectors with nothing in common have the cosine 0."),
    ("only the direction counts", call([1.0, 2.0], [20.0, 10.0]), 0.8,
     "Making a vector ten times longer must change nothing.",
     (lambda got: got > 1, "You trust both vectors to have length 1: divide by both lengths.")),
    ("opposite vectors give -1", call([1.0, 0.0], [-1.0, 0.0]), -1.0, "Opposite vectors have the cosine -1.",
     (1.0, "You lost the sign: opposite is not the same."),
     (0.0, "You cut off what lies below 0: -1 says more than 0."), _EPSILON),
    ("nothing is rounded", call([1.0, 1.0], [1.0, 0.0]), math.sqrt(0.5),
     "The cosine of 45° is the root of a half: give it back unrounded, or near memories become ties."),
    ("a zero vector matches nothing", call([1.0, 0.0], [0.0, 0.0]), 0.0,
     "A zero vector says nothing, so it is like nothing: 0.0.",
     (CRASHED, "You divided by a length of 0: when either vector is all zeros, the answer is 0.0."),
     (_no_number, "0 / 0 is no number, and one in a list of scores spoils its order: give 0.0.")),
    ("not even another zero vector", call([0.0, 0.0], [0.0, 0.0]), 0.0,
     "Two texts that say nothing do not say the same: 0.0."),
    ("a short vector still points somewhere", call([1e-6, 0.0], [1e-6, 0.0]), 1.0,
     "Only a length of exactly 0 is no direction: a short vector has one."),
    ("vectors of unequal length are refused", call([1.0], [1.0, 0.0]), refused(""),
     "These came from two embedders: `zip` cuts the longer one silently. Raise a ValueError."),
]

WORDS = [
    ("plain English stays as it was", "It's Ada_2!", ["it", "s", "ada", "2"],
     "For ASCII text the published rule still holds: runs of `[a-z0-9]`, in lower case.",
     (["it", "s", "ada_2"], "`\\w` takes the underscore for a letter."),
     (lambda got: "Ada" in "".join(got), "Lower case first: `Ada` and `ada` are one word.")),
    ("a word said twice stands twice", "tea, tea", ["tea", "tea"],
     "Keep the words as they come: what is said twice counts twice."),
    ("an accent does not cut a word", "caf\u00e9", ["caf\u00e9"], "`café` is one word of four letters.",
     (["caf"], "Only a to z count as letters in your rule, and the é is lost."),
     (["cafe"], "You removed the accent: in many languages that makes another word."),
     (["cafe\u0301"], "That is an e with an accent of its own: NFKD takes `é` apart. Use NFKC.")),
    ("two ways to write é are one", "cafe\u0301", ["caf\u00e9"],
     "An e followed by an accent must become é first: `unicodedata.normalize`."),
    ("full-width letters are letters", "Ａｄａ", ["ada"],
     "Normalise to NFKC, not NFC: only the K forms turn `Ａ` into `A`."),
    ("NFKC comes before lower case", "№3", ["no3"], "`№` becomes `No`, and its 3 belongs to it.",
     (["No3"], "NFKC makes `No` of `№`, with a capital: lower case must come after it.")),
    ("vowel signs belong to their word", "मैं", ["मैं"],
     "Marks (category M) are part of a word: without them Hindi falls to pieces."),
    ("unspaced scripts give characters and pairs", "我叫", ["我", "叫", "我叫"],
     "Give every character of the run, then every pair of neighbours.",
     (["我叫"], "A whole Chinese sentence would be one word, and match only itself."),
     (["我", "叫"], "The pairs are missing: most Chinese words have two characters."),
     (["我叫", "我", "叫"], "First the characters, then the pairs.")),
    ("scripts may stand side by side", "我是Foy", ["我", "是", "我是", "foy"],
     "Where one kind of character ends and another begins, a token ends."),
    ("every emoji is a token", "ok 🎂🎂", ["ok", "🎂", "🎂"], "A symbol (category So) is a token by itself.",
     (["ok"], "The cakes are gone: a message of emoji alone would be the zero vector."),
     (["ok", "🎂🎂"], "You joined two emoji: each is a token of its own.")),
    ("a price is no emoji", "€5 + tip", ["5", "tip"],
     "Only symbols of category So are tokens: `€` (Sc) and `+` (Sm) separate, as `,` does."),
    ("unspaced scripts have punctuation too", "茶・酒", ["茶", "酒"],
     "`・` is a dot between words (category Po), though `unspaced` says True of it: ask the category first."),
    ("and prices", "฿50", ["50"], "The sign of the baht is of category Sc: it separates, as `€` does."),
    ("nothing gives nothing", " …\n", [], "Spaces and punctuation give no token."),
    ("what is no text is refused", None, refused("text", TypeError),
     "Keep the scaffold's first lines: None must raise a TypeError that names `text`."),
]
# fmt: on


exercise("01-trigrams")(lambda case, trigrams: case.table(trigrams, TRIGRAMS))
exercise("01-bucket")(lambda case, bucket: case.table(bucket, BUCKET))
exercise("01-cosine")(lambda case, cosine: case.table(_crash_told(cosine), COSINE))


@exercise("01-words")
def _(case: Cases, words: Function) -> None:
    case.table(words, WORDS, told=lambda text: f"words({text!r})".replace("\u0301", "\\u0301"))


@exercise("01-hash-embed")
def _(case: Cases, hash_embed: Function) -> None:
    case.table(_crash_told(hash_embed), HASH_EMBED)
    got = hash_embed("fish", 4)
    sentence = "The stub promises a list of floats: `.tolist()` makes one of a numpy array."
    case.holds("a plain list comes back", isinstance(got, list), sentence, got=Shown(str(type(got))))


# --- What the lesson shows, in colours that all eyes tell apart, each with a label or a hatch -------------


def unspaced(character: str) -> bool:
    """True for a character of a script that puts no spaces between words: Thai, Khmer, kana, Han, …

    Example:
    >>> unspaced("我"), unspaced("é")
    (True, False)
    """
    return UNSPACED.match(character) is not None


def exact_cosine(a: Features, b: Features) -> float:
    """The cosine of two bags of features with a place of its own for each feature: no collisions.

    Example:
    >>> exact_cosine({"fish": 1.0}, {"fish": 1.0}), exact_cosine({"fish": 1.0}, {"diet": 1.0})
    (1.0, 0.0)
    """
    lengths = math.sqrt(sum(w * w for w in a.values())) * math.sqrt(sum(w * w for w in b.values()))
    return sum(weight * b.get(feature, 0.0) for feature, weight in a.items()) / lengths if lengths else 0.0


KINDS = {"said by both": (BLUE, None), "collision": (ORANGE, "////"), "alone": (GREY, None)}


def bucket_picture(
    above: tuple[str, Features], below: tuple[str, Features], bucket: Bucket, dim: int = 256
) -> Picture:
    """Two texts' features in their buckets, one text above the line and one below.

    above, below: the text, and its features with their weights. What both texts say is blue; where
    different features met in one bucket it is orange and hatched.
    """
    (text_a, a), (text_b, b) = above, below
    found = compare(a, b, bucket, dim)
    met = {meeting.bucket: meeting for meeting in found.meetings}
    figure = new_figure(11, 4.2)
    axes = figure.add_subplot()
    for side, upright, bars in ((1, "bottom", found.above), (-1, "top", found.below)):
        for index, weight in bars.items():
            _draw_bar(axes, index, side * weight, met[index].kind if index in met else "alone", dim)
            if index in met:
                names = " ".join(met[index].above if side > 0 else met[index].below)
                place = {"rotation": 90, "ha": "center", "va": upright}
                axes.text(index, side * (weight + 0.06), names, fontsize=8, family="monospace", **place)
    _finish_buckets(axes, found.title, text_a, text_b, dim)
    return as_picture(figure, f"{text_a!r} above, {text_b!r} below, in {dim} buckets: {found.title}.")


def _draw_bar(axes: Any, index: int, height: float, kind: str, dim: int) -> None:
    colour, hatch = KINDS[kind]
    edge = "white" if hatch else colour
    axes.bar(index, height, width=max(0.8, dim / 200), color=colour, hatch=hatch, edgecolor=edge)


def _finish_buckets(axes: Any, title: str, text_a: str, text_b: str, dim: int) -> None:
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xlim(-dim / 100, dim + dim / 100)
    axes.set_ylim(-2.3, 2.3)
    axes.set_yticks([-1, 0, 1], ["1", "0", "1"])
    axes.set_ylabel("weight")
    axes.set_xlabel("bucket")
    axes.set_title(title, loc="left", fontsize=11)
    for text, height, upright in ((text_a, 2.2, "top"), (text_b, -2.2, "bottom")):
        axes.text(0, height, text, va=upright, fontsize=10, style="italic", bbox={"color": "white", "pad": 1})
    for kind, (colour, hatch) in KINDS.items():
        axes.bar([0], [0], color=colour, hatch=hatch, edgecolor="white", label=kind)
    axes.legend(loc="upper right", ncols=3, frameon=False, fontsize=9)


def collision_picture(features: set[str], bucket: Bucket, dims: Sequence[int]) -> Picture:
    """How many of `features` do not have their bucket to themselves, for each number of buckets."""
    counts = [Counter(bucket(feature, dim) for feature in features) for dim in dims]
    shares = [sum(n for n in count.values() if n > 1) / len(features) for count in counts]
    steps = [min(dims) * (max(dims) / min(dims)) ** (step / 100) for step in range(101)]
    chance = [1 - (1 - 1 / dim) ** (len(features) - 1) for dim in steps]
    figure = new_figure(8, 3.6)
    axes = figure.add_subplot()
    axes.plot(steps, chance, color=GREY, linestyle="--", label="what chance predicts")
    axes.plot(dims, shares, color=BLUE, marker="o", linestyle="", label="counted")
    for dim, share in zip(dims, shares, strict=True):
        axes.annotate(f"{share:.0%}", (dim, share), textcoords="offset points", xytext=(6, 6), fontsize=9)
    axes.set_xscale("log", base=2)
    axes.set_xticks(dims, [str(dim) for dim in dims])
    axes.set_ylim(0, 1.12)
    axes.set_yticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
    axes.set_xlabel("buckets (dim)")
    axes.set_title(f"{len(features)} features: how many share their bucket", loc="left", fontsize=11)
    axes.legend(frameon=False)
    listed = ", ".join(f"{share:.0%} at {dim}" for dim, share in zip(dims, shares, strict=True))
    return as_picture(figure, f"Share of {len(features)} features that share a bucket: {listed}.")


def heatmaps(texts: Sequence[str], embedders: Mapping[str, Function], cosine: Function) -> Picture:
    """How alike each pair of `texts` is, one square of similarities for each embedder, by its name."""
    figure = new_figure(4.4 * len(embedders) + 3.2, 4.6)
    panels = figure.subplots(1, len(embedders), sharey=True, squeeze=False)[0]
    for axes, (name, embed) in zip(panels, embedders.items(), strict=True):
        vectors = [embed(text) for text in texts]
        values = [[cosine(a, b) for b in vectors] for a in vectors]
        axes.imshow(values, cmap="cividis", vmin=0, vmax=1)
        for row, line in enumerate(values):
            for column, value in enumerate(line):
                ink = "black" if value > 0.45 else "white"
                text = f"{abs(value) if abs(value) < 0.005 else value:.2f}"
                axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=8)
        axes.set_title(name, fontsize=11)
        axes.set_xticks(range(len(texts)), [str(number + 1) for number in range(len(texts))])
        axes.set_yticks(range(len(texts)), [f"{text}  {number + 1}" for number, text in enumerate(texts)])
        axes.tick_params(length=0)
    return as_picture(
        figure, f"Similarity of {len(texts)} sentences to each other: {' and '.join(embedders)}."
    )
