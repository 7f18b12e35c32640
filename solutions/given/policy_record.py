"""The record of what your own code remembers, such as a form; each field is checked before a write."""

from __future__ import annotations

from dataclasses import replace

from memlab import clock
from memlab.fields import check_kind, check_number, check_text, one_of
from memlab.records import TRUST, MemoryRecord, Source


def policy_record(
    text: str,
    user_id: str,
    app_name: str = "default",
    *,
    topic: str = "general",
    importance: float = 0.5,
    ttl_days: float = 0,
    session_id: str | None = None,
    source: Source | None = None,
) -> MemoryRecord:
    """A memory that your own code writes; nothing is stored yet.

    importance: 0..1; 1.0 is a pin. ttl_days: days until it expires, 0 for never. session_id: the only
    session that sees it. source: where it comes from, by default the business's own policy; the confidence
    is the trust in it. Raises ValueError or TypeError that names the field for what does not fit.

    Example:
    >>> voucher = policy_record("Has a voucher.", "u_ada", ttl_days=30)
    >>> voucher.scope, voucher.confidence, [source.source_id for source in voucher.sources]
    ('user', 0.95, ['policy'])
    """
    check_text("text", text)
    source = Source("bootstrapped", "policy") if source is None else source
    check_kind("source", source, Source)
    one_of("source_type", source.source_type, tuple(TRUST))
    if check_number("ttl_days", ttl_days) < 0:
        raise ValueError(f"ttl_days={ttl_days!r} is below 0; pass days until it expires, or 0 for never")
    return MemoryRecord(
        text, user_id, app_name,
        scope="user" if session_id is None else "session", session_id=session_id,
        topic=topic, importance=importance, confidence=TRUST[source.source_type],
        sources=[replace(source, excerpt=source.excerpt or text, inherited=False)],
        created_at=source.at, updated_at=source.at,
        expires_at=clock.now() + ttl_days * clock.DAY if ttl_days else None,
    )  # fmt: skip


def as_it_is(new: MemoryRecord) -> MemoryRecord:
    """`new`: nobody has anything to say against it."""
    return new
