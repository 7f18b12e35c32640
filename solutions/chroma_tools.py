"""The port to Chroma, as notebook 09 builds it: from distances to similarities, filters and metadata without
surprises, and the topic sweep as a filter. What Chroma needs besides stands in `solutions.given.chroma`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chromadb.api.models.Collection import Collection

from memlab.fields import check_id
from solutions.given.chroma import JSON, Metadata, Where, json_text, plain_value


def similarity(distance: float, space: str = "cosine") -> float:
    """The cosine similarity, -1..1, of two unit vectors that Chroma finds `distance` apart.

    space: "cosine", "ip", or "l2", which is Chroma's default and means the *squared* length of the
    difference. Raises ValueError for any other space.

    Example:
    >>> round(similarity(0.525), 3), round(similarity(1.655, "l2"), 4), similarity(2.0, "l2")
    (0.475, 0.1725, 0.0)
    """
    if space not in ("cosine", "ip", "l2"):
        raise ValueError(f"space={space!r:.60} is not known; pass 'cosine', 'ip' or 'l2'")
    return 1 - distance / 2 if space == "l2" else 1 - distance


def where_all(*conditions: Where) -> Where | None:
    """A filter that asks for all `conditions`: None without any, the bare one, or an `$and`.

    None means "no filter" to Chroma; `{}` and an `$and` of a single condition are refused.

    Example:
    >>> where_all(), where_all({"user_id": "u_ada"})
    (None, {'user_id': 'u_ada'})
    >>> where_all({"user_id": "u_ada"}, {"active": True})
    {'$and': [{'user_id': 'u_ada'}, {'active': True}]}
    """
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return {"$and": list(conditions)}


def where_any(*conditions: Where) -> Where | None:
    """A filter that asks for at least one of `conditions`; otherwise as `where_all`.

    Example:
    >>> where_any({"scope": "user"}, {"scope": "app"})
    {'$or': [{'scope': 'user'}, {'scope': 'app'}]}
    """
    return {"$or": list(conditions)} if len(conditions) > 1 else where_all(*conditions)


def to_metadata(fields: Mapping[str, object], *, update: bool = False) -> Metadata:
    """`fields` as Chroma can hold them; `from_metadata` gives them back.

    Lists and dicts, empty ones too, become JSON text with a mark in front. None becomes a missing key;
    with `update=True` it stays None, which makes Chroma remove the key that is there. Raises TypeError or
    ValueError, naming the field, for what is no JSON and for NaN.

    Example:
    >>> to_metadata({"slot": "address", "superseded_by": None, "sources": []})
    {'slot': 'address', 'sources': 'json:[]'}
    >>> to_metadata({"superseded_by": None}, update=True)
    {'superseded_by': None}
    """
    metadata: Metadata = {}
    for name, value in fields.items():
        if value is None:
            if update:
                metadata[name] = None
        elif isinstance(value, list | dict) or (isinstance(value, str) and value.startswith(JSON)):
            metadata[name] = JSON + json_text(name, value)
        else:
            metadata[name] = plain_value(name, value)
    return metadata


def topic_sweep(collection: Collection, user_id: str, topic: str) -> list[tuple[str, Metadata]]:
    """(document, metadata) of all that this user has on `topic`, however little it resembles anything.

    Tombstones are among them: who contradicts must know what was contradicted before.
    Raises ValueError or TypeError for an empty id or topic.
    """
    wanted = where_all({"user_id": check_id("user_id", user_id)}, {"topic": check_id("topic", topic)})
    rows: Any = collection.get(where=wanted)
    pairs = zip(rows["documents"], rows["metadatas"], strict=True)
    return [(document, dict(metadata)) for document, metadata in pairs]
