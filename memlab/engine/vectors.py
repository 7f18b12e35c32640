"""The vectors of one file all come from one embedder: who that is, and what it may give."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np

from memlab.embedding import Embedder
from memlab.engine.blocks import Floats
from memlab.engine.database import Database, StoreError

Identity = tuple[str, int]
"""What a file remembers of its embedder: a name, and the length of its vectors."""


def identity_of(embedder: Embedder) -> Identity:
    """What a file remembers of its embedder: a name, and the length of its vectors.

    An embedder that has a `name` and a `dim` is taken at its word; of any other, one vector is looked at.
    """
    if not callable(embedder):
        raise TypeError(f"embedder={embedder!r:.60} cannot be called; pass a function from text to a vector")
    name, dim = getattr(embedder, "name", None), getattr(embedder, "dim", None)
    if isinstance(name, str) and isinstance(dim, int):
        return name, dim
    vector = np.asarray(embedder("memory"), np.float64)
    digest = hashlib.blake2b(np.round(vector, 3).tobytes(), digest_size=4).hexdigest()
    kind = getattr(embedder, "__qualname__", type(embedder).__qualname__)
    return f"{kind} {digest}", vector.size


def unit_vector(embedder: Embedder, text: Any, name: str, dim: int) -> Floats:
    """The unit vector of `text`, `dim` long; the zero vector stays zero.

    name: what the text is, for messages. Raises as the embedder does, TypeError for what is not text, and
    ValueError when what the embedder gives is not a vector of this length.
    """
    if not isinstance(text, str):
        raise TypeError(f"{name}={text!r:.60} is not text; pass a str")
    vector = np.asarray(embedder(text), np.float64)
    norm = math.sqrt(vector @ vector) if vector.ndim == 1 else math.nan
    if not vector.size or not math.isfinite(norm):  # nor is it for a vector that holds a NaN
        raise ValueError(f"the embedder gave no vector of finite numbers for {name}={text[:60]!r}; mend it")
    if vector.size != dim:
        raise ValueError(
            f"the embedder gave {vector.size} numbers for {name}={text[:60]!r}, this file holds vectors "
            f"of {dim}; use the embedder that built it, or call reembed()"
        )
    return (vector / (norm or 1.0)).astype(np.float32)


def adopt(db: Database, identity: Identity) -> None:
    """Make the embedder this file's; raise StoreError if the file has another."""
    name, dim = identity
    settings = dict(db.rows("SELECT name, value FROM settings"))
    if not settings:
        with db.transaction():
            db.execute("INSERT OR IGNORE INTO settings VALUES ('embedder', ?), ('dim', ?)", (name, str(dim)))
            settings = dict(db.rows("SELECT name, value FROM settings"))
    with db.reading():
        built_with = settings["embedder"], settings["dim"]
    if built_with != (name, str(dim)):
        raise StoreError(
            f"{db.path} was built with the embedder {built_with[0]} ({built_with[1]} numbers), not "
            f"with {name} ({dim}); open it with the first and call reembed(embedder), or use a new file"
        )


def make_anew(db: Database, embedder: Embedder, identity: Identity) -> None:
    """Make every vector of the file anew with `embedder`, in one transaction."""
    with db.transaction():
        db.execute("DELETE FROM settings")
        adopt(db, identity)
        for seq, content in db.rows("SELECT seq, json_extract(record, '$.content') FROM memories"):
            vector = unit_vector(embedder, content, "content", identity[1])
            db.execute("UPDATE memories SET embedding = ? WHERE seq = ?", (vector.tobytes(), seq))
