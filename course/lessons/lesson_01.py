"""Lesson 01, embeddings: the checks of its exercises, and the pictures and tables that it shows.

The checks compare with plain specifications written here; they never import the answers.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from course.check import Cases, Function, Misconception, Shown, exercise
from course.pictures.views import BLUE, GREY, ORANGE, Picture, as_picture, new_figure
from memlab.embedding import UNSPACED

# --- What the checks compare with -------------------------------------------------------------------

GRAM_WEIGHT = 0.35


def _digest(feature: str, size: int = 8) -> bytes:
    return hashlib.blake2b(feature.encode(), digest_size=size).digest()


def _bucket(feature: str, dim: int) -> int:
    return int.from_bytes(_digest(feature), "big") % dim


def _raw(
    words: Sequence[str], dim: int, *, own: float = 1.0, weight: float = GRAM_WEIGHT, marks: str = "^$"
) -> list[float]:
    """The specification of hash_embed before its last step: the plain, slow loop."""
    vector = [0.0] * dim
    for word in words:
        vector[_bucket(word, dim)] += own
        padded = f"{marks[:1]}{word}{marks[1:]}"
        for start in range(len(padded) - 2):
            vector[_bucket(padded[start : start + 3], dim)] += weight
    return vector


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector]


def _overwritten(words: Sequence[str], dim: int) -> list[float]:
    """What comes out when a bucket that is hit again is set instead of added to."""
    vector = [0.0] * dim
    for word in words:
        vector[_bucket(word, dim)] = 1.0
        padded = f"^{word}$"
        for start in range(len(padded) - 2):
            vector[_bucket(padded[start : start + 3], dim)] = GRAM_WEIGHT
    return _unit(vector)


def _a_hair_below_one(got: float) -> bool:
    return 0.99 < abs(got) < 1.0


EPSILON = "You added a little to the divisor, and that shifts every cosine: test the lengths for 0 instead."


def _no_number(got: object) -> bool:
    values = got if isinstance(got, Sequence) else [got]
    return any(value != value for value in values)


# --- The checks -------------------------------------------------------------------------------------


@exercise("01-trigrams")
def _(case: Cases, trigrams: Function) -> None:
    case(
        "both ends are marked",
        trigrams,
        "ab",
        expect=["^ab", "ab$"],
        otherwise="Put `^` before the word and `$` after it, then take every run of three characters.",
        mistakes=[
            ([], "You slid the window over the bare word: mark its two ends first."),
            (["^ab"], "The window stops one step early: the last trigram ends on the `$`."),
            (lambda got: any("^^" in gram for gram in got), "One mark at each end is enough: `^ab$`."),
            (lambda got: any(len(gram) != 3 for gram in got), "Every piece must be three characters long."),
            (lambda got: set(got) == {"^ab", "ab$"}, "A list in the order of the word is wanted, not a set."),
        ],
    )
    case(
        "neighbours overlap",
        trigrams,
        "diet",
        expect=["^di", "die", "iet", "et$"],
        otherwise="Move the window by one character each time, and keep the order.",
        mistakes=[(["^di", "et$"], "The window jumps by three: neighbouring trigrams must overlap.")],
    )
    case(
        "one letter is a word too",
        trigrams,
        "a",
        expect=["^a$"],
        otherwise="A word of one letter has one trigram: the letter between its two marks.",
    )
    case(
        "a trigram said twice stands twice",
        trigrams,
        "aaaa",
        expect=["^aa", "aaa", "aaa", "aa$"],
        otherwise="Keep the trigrams as they come.",
        mistakes=[(lambda got: len(got) == 3, "You dropped a repeated trigram: each one adds its weight.")],
    )


@exercise("01-bucket")
def _(case: Cases, bucket: Function) -> None:
    case(
        "the bucket is the same on every machine",
        bucket,
        "diet",
        expect=_bucket("diet", 256),
        otherwise="Take blake2b with `digest_size=8`, read its bytes as one big-endian number, then `% dim`.",
        mistakes=_bucket_mistakes("diet", 256),
    )
    case(
        "dim decides how many buckets there are",
        bucket,
        "dietary",
        1000,
        expect=_bucket("dietary", 1000),
        otherwise="The remainder must be taken by `dim`, whatever it is.",
        mistakes=[
            (_bucket("dietary", 256), "You always divide by 256: use the `dim` that was passed."),
            *_bucket_mistakes("dietary", 1000),
        ],
    )
    case(
        "every script has a bucket",
        bucket,
        "犬",
        1000,
        expect=_bucket("犬", 1000),
        otherwise="Encode the feature as UTF-8 and lose nothing of it: a dropped character is a lost word.",
    )


def _bucket_mistakes(feature: str, dim: int) -> list[tuple[object, str]]:
    data = feature.encode()
    little = int.from_bytes(_digest(feature), "little") % dim
    whole = int.from_bytes(_digest(feature, 64), "big") % dim
    md5 = int.from_bytes(hashlib.md5(data).digest(), "big") % dim
    return [
        (hash(feature) % dim, "That is `hash()`: Python salts it anew in every process. Use blake2b."),
        (sum(data) % dim, "You added up the characters: `diet`, `edit` and `tide` would share one bucket."),
        (lambda got: isinstance(got, str | bytes), "A digest is no bucket yet: make a whole number of it."),
        (lambda got: not 0 <= got < dim, "That is no bucket: take the remainder by `dim`."),
        (little, "You read the bytes little-endian; big-endian is agreed."),
        (whole, "You read all 64 bytes of the digest: ask for `digest_size=8`."),
        (md5, "That is md5; blake2b is the hash agreed on."),
    ]


@exercise("01-hash-embed")
def _(case: Cases, hash_embed: Function) -> None:
    _survives_nothing(hash_embed)
    case(
        "an empty text gives the zero vector",
        hash_embed,
        "",
        4,
        expect=[0.0] * 4,
        otherwise="Nothing was said, so all `dim` numbers stay 0.0.",
        mistakes=[(_no_number, "0 / 0 is no number: leave the zero vector as it is.")],
    )
    case(
        "stop words add nothing",
        hash_embed,
        "the user",
        4,
        expect=[0.0] * 4,
        otherwise="Words in STOPWORDS must add nothing, neither themselves nor their trigrams.",
        mistakes=[
            (
                _unit(_raw(["the", "user"], 4, own=0.0)),
                "You skipped the stop word itself but still added its trigrams.",
            )
        ],
    )
    fish = _raw(["fish"], 32)
    case(
        "a word weighs 1.0, its trigrams 0.35",
        hash_embed,
        "fish",
        32,
        expect=_unit(fish),
        otherwise="Add 1.0 to the bucket of the word and 0.35 to the bucket of each trigram, "
        "then divide by the length.",
        mistakes=[
            (fish, "The vector is not divided by its length, so long texts would win every comparison."),
            (
                [value / sum(fish) for value in fish],
                "You divided by the sum of the numbers: the length is the root of the sum of their squares.",
            ),
            ([value / max(fish) for value in fish], "You divided by the largest number, not by the length."),
            (
                _unit(_raw(["fish"], 32, weight=0.0)),
                "The trigrams are missing: related words stay strangers.",
            ),
            (_unit(_raw(["fish"], 32, weight=1.0)), "Each trigram weighs as much as the word: it gets 0.35."),
            (_unit(_raw(["fish"], 32, marks="")), "Your trigrams know nothing of the word's two ends."),
            (lambda got: len(got) != 32, "The vector has another number of buckets than `dim` says."),
        ],
    )
    case(
        "what shares a bucket adds up",
        hash_embed,
        "fish",
        2,
        expect=_unit(_raw(["fish"], 2)),
        otherwise="Two features in one bucket add their weights.",
        mistakes=[(_overwritten(["fish"], 2), "A bucket that is hit again must grow: write `+=`, not `=`.")],
    )
    case(
        "a word said twice counts twice",
        hash_embed,
        "fish fish diet",
        64,
        expect=_unit(_raw(["fish", "fish", "diet"], 64)),
        otherwise="Walk over every word of the text, in order.",
        mistakes=[
            (
                _unit(_raw(["fish", "diet"], 64)),
                "You counted each word once: a set forgets how often it was said.",
            ),
            (_unit(_raw(["fish"], 64)), "You stopped after the first word."),
        ],
    )
    case(
        "capitals and full stops do not matter",
        hash_embed,
        "Fish!",
        32,
        expect=_unit(fish),
        otherwise="`Fish!` and `fish` say the same: let `words(text)` cut the text, not `text.split()`.",
    )
    case(
        "256 buckets are the default",
        hash_embed,
        "The user follows a vegetarian diet.",
        expect=_unit(_raw(["follows", "vegetarian", "diet"], 256)),
        otherwise="The parts are right, the whole sentence is not.",
    )
    case.refuses(
        "a dim below 1 is refused",
        hash_embed,
        "fish",
        0,
        mentions="dim",
        otherwise="Keep the scaffold's first lines: no buckets must raise a ValueError that names `dim`.",
    )


def _survives_nothing(hash_embed: Function) -> None:
    try:
        hash_embed("", 4)
    except ZeroDivisionError:
        raise Misconception(
            "You divided by a length of 0: a text without words keeps the zero vector.",
            given="hash_embed('', 4)",
            expected=[0.0] * 4,
            got=Shown("ZeroDivisionError"),
        ) from None


@exercise("01-cosine")
def _(case: Cases, cosine: Function) -> None:
    case(
        "equal vectors give 1",
        cosine,
        [3.0, 4.0],
        [3.0, 4.0],
        expect=1.0,
        otherwise="Two equal vectors point the same way, so their cosine is 1.",
        mistakes=[
            (25.0, "That is the dot product: divide it by the length of `a` and by the length of `b`."),
            (5.0, "You divided by one length only: divide by both."),
            (0.04, "You divided by the squares of the lengths: take their roots."),
            (0.0, "That is a distance, small for near vectors: a similarity grows as they get nearer."),
            (_a_hair_below_one, EPSILON),
        ],
    )
    case(
        "a right angle gives 0",
        cosine,
        [1.0, 0.0],
        [0.0, 2.0],
        expect=0.0,
        otherwise="Vectors with nothing in common have the cosine 0.",
    )
    case(
        "only the direction counts",
        cosine,
        [1.0, 2.0],
        [20.0, 10.0],
        expect=0.8,
        otherwise="Making a vector ten times longer must change nothing.",
        mistakes=[(lambda got: got > 1, "You trust both vectors to have length 1: divide by both lengths.")],
    )
    case(
        "opposite vectors give -1",
        cosine,
        [1.0, 0.0],
        [-1.0, 0.0],
        expect=-1.0,
        otherwise="Opposite vectors have the cosine -1.",
        mistakes=[
            (1.0, "You lost the sign: opposite is not the same."),
            (0.0, "You cut off what lies below 0: -1 says more than 0."),
            (_a_hair_below_one, EPSILON),
        ],
    )
    _divides_by_no_zero(cosine)
    case(
        "a zero vector matches nothing",
        cosine,
        [1.0, 0.0],
        [0.0, 0.0],
        expect=0.0,
        otherwise="A zero vector says nothing, so it is like nothing: 0.0.",
        mistakes=[
            (_no_number, "0 / 0 is no number, and one in a list of scores spoils its order: give 0.0.")
        ],
    )
    case(
        "not even another zero vector",
        cosine,
        [0.0, 0.0],
        [0.0, 0.0],
        expect=0.0,
        otherwise="Two texts that say nothing do not say the same: 0.0.",
    )
    case.refuses(
        "vectors of unequal length are refused",
        cosine,
        [1.0],
        [1.0, 0.0],
        otherwise="These came from two embedders: `zip` cuts the longer one silently. Raise a ValueError.",
    )


def _divides_by_no_zero(cosine: Function) -> None:
    try:
        cosine([1.0, 0.0], [0.0, 0.0])
    except ZeroDivisionError:
        raise Misconception(
            "You divided by a length of 0: when either vector is all zeros, the answer is 0.0.",
            given="cosine([1.0, 0.0], [0.0, 0.0])",
            expected=0.0,
            got=Shown("ZeroDivisionError"),
        ) from None


@exercise("01-words")
def _(case: Cases, words: Function) -> None:
    case(
        "plain English stays as it was",
        words,
        "It's Ada_2!",
        expect=["it", "s", "ada", "2"],
        otherwise="For ASCII text the published rule still holds: runs of `[a-z0-9]`, in lower case.",
        mistakes=[
            (["it", "s", "ada_2"], "`\\w` takes the underscore for a letter."),
            (lambda got: "Ada" in "".join(got), "Lower case first: `Ada` and `ada` are one word."),
        ],
    )
    case(
        "an accent does not cut a word",
        words,
        "caf\u00e9",
        expect=["caf\u00e9"],
        otherwise="`café` is one word of four letters.",
        mistakes=[
            (["caf"], "Only a to z count as letters in your rule, and the é is lost."),
            (["cafe"], "You removed the accent: in many languages that makes another word."),
            (["cafe\u0301"], "That is an e with an accent of its own: NFKD takes `é` apart. Use NFKC."),
        ],
    )
    case(
        "two ways to write é are one",
        words,
        "cafe\u0301",
        expect=["caf\u00e9"],
        given="words('cafe' + '\\u0301'), where U+0301 is an accent of its own",
        otherwise="An e followed by an accent must become é first: `unicodedata.normalize`.",
    )
    case(
        "full-width letters are letters",
        words,
        "Ａｄａ",
        expect=["ada"],
        otherwise="Normalise to NFKC, not NFC: only the K forms turn `Ａ` into `A`.",
    )
    case(
        "NFKC comes before lower case",
        words,
        "№3",
        expect=["no3"],
        otherwise="`№` becomes `No`, and its 3 belongs to it.",
        mistakes=[(["No3"], "NFKC makes `No` of `№`, with a capital: lower case must come after it.")],
    )
    case(
        "vowel signs belong to their word",
        words,
        "मैं",
        expect=["मैं"],
        otherwise="Marks (category M) are part of a word: without them Hindi falls to pieces.",
    )
    case(
        "unspaced scripts give characters and pairs",
        words,
        "我叫",
        expect=["我", "叫", "我叫"],
        otherwise="Give every character of the run, then every pair of neighbours.",
        mistakes=[
            (["我叫"], "A whole Chinese sentence would be one word, and match only itself."),
            (["我", "叫"], "The pairs are missing: most Chinese words have two characters."),
            (["我叫", "我", "叫"], "First the characters, then the pairs."),
        ],
    )
    case(
        "scripts may stand side by side",
        words,
        "我是Foy",
        expect=["我", "是", "我是", "foy"],
        otherwise="Where one kind of character ends and another begins, a token ends.",
    )
    case(
        "every emoji is a token",
        words,
        "ok 🎂🎂",
        expect=["ok", "🎂", "🎂"],
        otherwise="A symbol (category So) is a token by itself.",
        mistakes=[
            (["ok"], "The cakes are gone: a message of emoji alone would be the zero vector."),
            (["ok", "🎂🎂"], "You joined two emoji: each is a token of its own."),
        ],
    )
    case(
        "a price is no emoji",
        words,
        "€5 + tip",
        expect=["5", "tip"],
        otherwise="Only symbols of category So are tokens: `€` (Sc) and `+` (Sm) separate, as `,` does.",
    )
    case("nothing gives nothing", words, " …\n", expect=[], otherwise="Spaces and punctuation give no token.")
    case.refuses(
        "what is no text is refused",
        words,
        None,
        error=TypeError,
        mentions="text",
        otherwise="Keep the scaffold's first lines: None must raise a TypeError that names `text`.",
    )


# --- What the lesson shows ---------------------------------------------------------------------------

"""Told apart by colour-blind readers (Okabe and Ito); every use carries a label or a hatch as well."""

Features = Mapping[str, float]


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


def bucket_picture(
    above: tuple[str, Features],
    below: tuple[str, Features],
    bucket: Callable[[str, int], int],
    dim: int = 256,
) -> Picture:
    """Two texts' features in their buckets, one text above the line and one below.

    above, below: the text, and its features with their weights. What both texts say is blue; where
    different features met in one bucket it is orange and hatched.
    """
    (text_a, a), (text_b, b) = above, below
    bars_a, bars_b = _in_buckets(a, bucket, dim), _in_buckets(b, bucket, dim)
    figure = new_figure(11, 4.2)
    axes = figure.add_subplot()
    for side, bars, other in ((1, bars_a, bars_b), (-1, bars_b, bars_a)):
        for index, found in bars.items():
            kind = _meeting(found, other.get(index, {}))
            _draw_bar(axes, index, side * sum(found.values()), kind, dim)
            if kind:
                _name(axes, index, side, found, dim)
    total, real = _contributions(a, b, bars_a, bars_b)
    chance = round(total, 3) - round(real, 3)
    title = f"cosine {total:.3f}  =  {real:.3f} said by both  +  {chance:.3f} collisions"
    _finish_buckets(axes, title, text_a, text_b, dim)
    return as_picture(figure, f"{text_a!r} above, {text_b!r} below, in {dim} buckets: {title}.")


def collision_picture(features: set[str], bucket: Callable[[str, int], int], dims: Sequence[int]) -> Picture:
    """How many of `features` do not have their bucket to themselves, for each number of buckets."""
    shares = [_crowded(features, bucket, dim) / len(features) for dim in dims]
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
    counts = ", ".join(f"{share:.0%} at {dim}" for dim, share in zip(dims, shares, strict=True))
    return as_picture(figure, f"Share of {len(features)} features that share a bucket: {counts}.")


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


def _in_buckets(
    features: Features, bucket: Callable[[str, int], int], dim: int
) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for feature, weight in features.items():
        found.setdefault(bucket(feature, dim), {})[feature] = weight
    return found


def _meeting(mine: Features, other: Features) -> str:
    if not other:
        return ""
    return "said by both" if mine.keys() & other.keys() else "collision"


def _contributions(
    a: Features, b: Features, bars_a: Mapping[int, Features], bars_b: Mapping[int, Features]
) -> tuple[float, float]:
    """The cosine of two hashed texts, and the part of it that features common to both bring."""
    lengths = _length(bars_a) * _length(bars_b) or 1.0
    total = sum(sum(bars_a[i].values()) * sum(bars_b[i].values()) for i in bars_a.keys() & bars_b.keys())
    return total / lengths, sum(a[feature] * b[feature] for feature in a.keys() & b.keys()) / lengths


def _length(bars: Mapping[int, Features]) -> float:
    return math.sqrt(sum(sum(found.values()) ** 2 for found in bars.values()))


def _crowded(features: set[str], bucket: Callable[[str, int], int], dim: int) -> int:
    found = _in_buckets(dict.fromkeys(features, 1.0), bucket, dim)
    return sum(len(together) for together in found.values() if len(together) > 1)


def _draw_bar(axes: Any, index: int, height: float, kind: str, dim: int) -> None:
    colour = {"said by both": BLUE, "collision": ORANGE, "": GREY}[kind]
    hatch = "////" if kind == "collision" else None
    width = max(0.8, dim / 200)
    axes.bar(index, height, width=width, color=colour, hatch=hatch, edgecolor="white" if hatch else colour)


def _name(axes: Any, index: int, side: int, found: Features, dim: int) -> None:
    height = side * (sum(found.values()) + 0.06)
    names = " ".join(sorted(found))
    upright = "bottom" if side > 0 else "top"
    axes.text(index, height, names, rotation=90, ha="center", va=upright, fontsize=8, family="monospace")


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
    for kind, colour, hatch in (
        ("said by both", BLUE, None),
        ("collision", ORANGE, "////"),
        ("alone", GREY, None),
    ):
        axes.bar([0], [0], color=colour, hatch=hatch, edgecolor="white", label=kind)
    axes.legend(loc="upper right", ncols=3, frameon=False, fontsize=9)
