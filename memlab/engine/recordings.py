"""Vectors of a real language model, recorded: meaning without a network."""

from __future__ import annotations

import difflib
import hashlib
import io
import json
import unicodedata
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

RECORDING = Path(__file__).resolve().parents[2] / "data" / "minilm"


class UnrecordedText(ValueError):
    """Raised for a text whose vector was never recorded; the message says what to do instead."""


class RecordedEmbedder:
    """Vectors of the real all-MiniLM-L6-v2 model, recorded in data/minilm: meaning without a network.

    A call takes a recorded text, as it was recorded, and gives a unit vector: 384 floats. Any other text is
    refused, since a made-up vector would teach something false. The files are read at the first call.
    Raises TypeError unless the text is a str; UnrecordedText (a ValueError) for a text that was not recorded;
    FileNotFoundError or ValueError when the recording is missing or was altered.

    Example:
    >>> from memlab.embedding import cosine
    >>> embed = RecordedEmbedder()
    >>> lunch = embed("what should we order for lunch?")
    >>> len(lunch), round(cosine(lunch, embed("The user follows a vegetarian diet.")), 3)
    (384, 0.211)
    """

    name = "all-MiniLM-L6-v2 (recorded)"
    dim = 384

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = RECORDING if path is None else Path(path)

    def __call__(self, text: str, /) -> list[float]:
        if not isinstance(text, str):
            raise TypeError(f"text={text!r} is not text; pass a str")
        # A composed and a decomposed é are one text to the model too: it drops accents.
        row = self._rows.get(unicodedata.normalize("NFC", text))
        if row is None:
            raise UnrecordedText(self._advice(text))
        vector: list[float] = self._vectors[row].tolist()
        return vector

    @property
    def texts(self) -> list[str]:
        """The recorded texts, sorted."""
        return list(self._rows)

    @staticmethod
    def digests(vectors: bytes, texts: object) -> dict[str, str]:
        """SHA-256 of the vectors file and of the texts as JSON: what a recording is checked against."""
        written = json.dumps(texts).encode()
        return {"vectors": hashlib.sha256(vectors).hexdigest(), "texts": hashlib.sha256(written).hexdigest()}

    @property
    def _rows(self) -> dict[str, int]:
        return self._recording[0]

    @property
    def _vectors(self) -> NDArray[np.float32]:
        return self._recording[1]

    @cached_property
    def _recording(self) -> tuple[dict[str, int], NDArray[np.float32]]:
        """The row of each text, and the vectors; two threads that both read them read the same."""
        try:
            about: Any = json.loads((self.path / "recording.json").read_text(encoding="utf-8"))
            vectors = (self.path / "vectors.npy").read_bytes()
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"path={str(self.path)!r} holds no recording ({Path(error.filename).name} is missing); "
                "pass the folder data/minilm of this workbook, or install it with `pip install -e .`"
            ) from None
        except ValueError as error:
            raise ValueError(self._altered(f"recording.json cannot be read, {error}")) from None
        if not isinstance(about, dict) or about.get("sha256") != self.digests(vectors, about.get("texts")):
            raise ValueError(self._altered("SHA-256 of vectors or texts does not match"))
        rows = {text: row for row, text in enumerate(about["texts"])}
        return rows, np.load(io.BytesIO(vectors), allow_pickle=False)

    def _altered(self, why: str) -> str:
        return (
            f"path={str(self.path)!r} was altered since it was recorded: {why}; "
            "restore it with `git checkout data/minilm`, or record it again, see data/README.md"
        )

    def _advice(self, text: str) -> str:
        near = difflib.get_close_matches(text[:200], self._rows, n=3, cutoff=0.0)
        return (
            f"text={text[:80]!r} was not recorded, so its vector is not known; the nearest of "
            f"{len(self._rows)} recorded texts: {'; '.join(repr(text[:80]) for text in near)}. "
            "Use one of them, or hash_embed for any text, "
            "or course.minilm.LocalMiniLM where Chroma's model is on this disk; "
            "to record this one, add it to data/minilm/texts.txt and follow data/README.md"
        )
