"""The one clock: every time in the workbook comes from `now()`.

Times are POSIX seconds (UTC) as floats, so no answer depends on the machine's time zone. A demo freezes
the clock to print the same text everywhere, and travels to let memories age.
"""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from numbers import Real

DAY = 86_400.0
LATEST = 1e11  # the year 5138: later times are milliseconds, taken for seconds

Instant = float | str | datetime

_frozen: float | None = None
_travelled = 0.0


def now() -> float:
    """The current time in POSIX seconds (UTC): frozen, travelled or real."""
    return (time.time() if _frozen is None else _frozen) + _travelled


def freeze(at: Instant) -> Restore:
    """Stop the clock at `at` (POSIX seconds, aware datetime, or ISO 8601 text with an offset).

    As a plain call it holds until `unfreeze()`; in a `with` block, until the block ends.
    Raises ValueError or TypeError for a time that is not one instant everywhere.

    Example:
    >>> with freeze("1970-01-03T00:00:00Z"):
    ...     now() / DAY
    2.0
    """
    restore = Restore()
    _set(timestamp(at), 0.0)
    return restore


def travel(days: float = 0.0) -> Restore:
    """Move the clock by `days` (negative: back); frozen or not, later calls start from there.

    Example:
    >>> with freeze(0):
    ...     _ = travel(days=1.5)
    ...     now()
    129600.0
    """
    restore = Restore()
    shift = number(days, "days", "a number of days") * DAY
    number(now() + shift, "now()", "a time on the calendar", most=LATEST)
    _set(_frozen, _travelled + shift)
    return restore


def unfreeze() -> None:
    """Return to the machine's clock, undoing every `freeze` and `travel`."""
    _set(None, 0.0)


class Restore:
    """What `freeze` and `travel` give back: a `with` block that puts the clock back when it ends."""

    def __init__(self) -> None:
        self._before = (_frozen, _travelled)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        _set(*self._before)


def timestamp(value: Instant, field: str = "at") -> float:
    """POSIX seconds for a number, an aware datetime, or ISO 8601 text with an offset.

    Raises TypeError or ValueError that names `field`. A naive datetime is refused, because it means
    another instant on every machine.

    Example:
    >>> timestamp("1970-01-02T00:00:00Z")
    86400.0
    """
    if isinstance(value, str):
        value = _parse(value, field)
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise ValueError(f"{field}={value!r} has no time zone; add one, e.g. tzinfo=datetime.UTC")
        value = value.timestamp()
    return number(value, field, "POSIX seconds (UTC) or an aware datetime", most=LATEST)


def stamp(at: float) -> str:
    """`at` (POSIX seconds) as UTC text for people.

    Example:
    >>> stamp(0)
    '1970-01-01 00:00:00'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _parse(text: str, field: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{field}={text[:60]!r} is not a time; write it in ISO 8601, like '2026-08-06T20:11:27Z'"
        ) from None


def number(value: object, field: str, wanted: str, *, most: float = math.inf) -> float:
    """`value` as a finite float within ±`most`; raises TypeError or ValueError that names `field`."""
    if type(value) is float and -most < value < most:
        return value
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{field}={value!r:.60} is no number; pass {wanted}")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result) or abs(result) > most:
        raise ValueError(f"{field}={value!r:.60} is out of range; pass {wanted}")
    return result


def _set(frozen: float | None, travelled: float) -> None:
    global _frozen, _travelled
    _frozen, _travelled = frozen, travelled
