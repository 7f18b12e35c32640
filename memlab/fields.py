"""What fits in a field: the checks that every door uses. Each names the field, the value and the way out.

Each takes the field's name, for the message, and a value; it gives back the value as it is kept. Which check
belongs to which field of a record stands in `memlab.records.FIELDS`.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Callable
from typing import Any

from memlab import clock

Check = Callable[[str, Any], Any]
"""From a field's name and a value to the value as it is kept; raises TypeError or ValueError."""

MAX_ID = 200
MAX_CONTENT = 10_000

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def check_text(name: str, value: object, *, empty: bool = False, most: int = MAX_CONTENT) -> str:
    """`value` if it is storable text; raises TypeError or ValueError that names the field `name`.

    Example:
    >>> check_text("content", "The user goes by Ada."), check_text("excerpt", "", empty=True)
    ('The user goes by Ada.', '')
    """
    if not isinstance(value, str):
        raise TypeError(f"{name}={value!r:.60} is not text; pass a str")
    if not empty and not value.strip():
        raise ValueError(f"{name}={value[:60]!r} is empty; say something in it")
    if len(value) > most:
        raise ValueError(
            f"{name}={value[:40]!r}… has {len(value):,} characters, the most is {most:,}; shorten it"
        )
    if "\0" in value or not (value.isascii() or _encodable(value)):
        raise ValueError(
            f"{name}={value[:60]!r} holds a NUL or half of a surrogate pair; remove it, "
            "e.g. text.encode('utf-8', 'ignore').decode().replace('\\0', '')"
        )
    return value


def check_excerpt(name: str, value: object) -> str:
    """`value` if it is storable text or nothing; raises as `check_text` does."""
    return check_text(name, value, empty=True)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_id(name: str, value: object) -> str:
    """`value` if it can name something: non-empty text, no space around it, no control characters.

    Example:
    >>> check_id("user_id", "u_ada")
    'u_ada'
    >>> check_id("user_id", " u_ada")
    Traceback (most recent call last):
        ...
    ValueError: user_id=' u_ada' has space around it; pass 'u_ada'
    """
    if (
        isinstance(value, str)
        and 0 < len(value) <= MAX_ID
        and value.isascii()
        and value.isprintable()
        and value == value.strip()
    ):
        return value  # nearly all; eight ids are checked for every record that is loaded
    text = check_text(name, value, most=MAX_ID)
    if text != text.strip():
        raise ValueError(f"{name}={text!r} has space around it; pass {text.strip()!r}")
    if _CONTROL.search(text):
        raise ValueError(f"{name}={text!r} holds a control character; use printable characters only")
    return text


def check_owner(user_id: object, app_name: object) -> None:
    """Raise unless both ids are given: no memory is read or written without naming its owner."""
    check_id("user_id", user_id)
    check_id("app_name", app_name)


def check_time(name: str, value: clock.Instant) -> float:
    """`value` as POSIX seconds; raises as `clock.timestamp` does.

    Example:
    >>> check_time("at", "1970-01-02T00:00:00Z")
    86400.0
    """
    if type(value) is float and -clock.LATEST < value < clock.LATEST:
        return value  # nearly all, here and in the two below: each is checked again and again
    return clock.timestamp(value, name)


def check_number(name: str, value: object) -> float:
    """`value` as a finite float; raises TypeError or ValueError that names the field `name`.

    Example:
    >>> check_number("score", 2)
    2.0
    """
    return clock.number(value, name, "an ordinary number")


def check_fraction(name: str, value: object) -> float:
    """`value` as a float in 0..1; raises as `check_number` does.

    Example:
    >>> check_fraction("confidence", 1)
    1.0
    """
    if type(value) is float and 0.0 <= value <= 1.0:
        return value
    number = check_number(name, value)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name}={value!r:.60} lies outside 0..1; pass a fraction")
    return number


def check_positive(name: str, value: object) -> float:
    """`value` as a float above 0; raises as `check_number` does.

    Example:
    >>> check_positive("half_life_days", 30)
    30.0
    """
    if type(value) is float and 0.0 < value < math.inf:
        return value
    number = check_number(name, value)
    if number <= 0.0:
        raise ValueError(f"{name}={value!r:.60} is not above 0; pass a positive number")
    return number


def check_whole(name: str, value: object, least: int = 0) -> int:
    """`value` if it is a whole number of `least` or more; raises ValueError that names the field `name`.

    Example:
    >>> check_whole("k", 5, least=1)
    5
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name}={value!r:.60} is not a whole number of {least} or more; pass one")
    return value


def check_bool(name: str, value: object) -> bool:
    """`value` if it is True or False; raises TypeError that names the field `name`.

    Example:
    >>> check_bool("inherited", False)
    False
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name}={value!r:.60} is not True or False; pass a bool")
    return value


def check_kind(name: str, value: object, kind: type[Any]) -> None:
    """Raise TypeError that names the field `name` unless `value` is a `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"{name}={reprlib.repr(value)} is not a {kind.__name__}; make one first")


def check_list(name: str, value: object, kind: type[Any]) -> list[Any]:
    """`value` if it is a list of `kind`; raises TypeError that names the field `name`.

    Example:
    >>> check_list("history", ["a line"], str)
    ['a line']
    """
    if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
        raise TypeError(f"{name}={value!r:.60} is not a list of {kind.__name__}; pass one")
    return value


def check_extra(name: str, value: object) -> dict[str, Any]:
    """`value`, the keys of a newer version, if it is a dict that JSON can hold; raises ValueError.

    Example:
    >>> check_extra("extra", {"colour": "red"})
    {'colour': 'red'}
    """
    try:
        if isinstance(value, dict) and (not value or _encodable(json.dumps(value, ensure_ascii=False))):
            return value
    except (TypeError, ValueError, RecursionError):
        pass  # it is refused below, like all else that is no JSON
    raise ValueError(f"{name}={value!r:.60} cannot be kept; pass a dict of text, numbers, lists and dicts")


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """`value` if it is one of `allowed`; raises ValueError that names the field `name`.

    Example:
    >>> one_of("scope", "user", ("user", "app"))
    'user'
    """
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name}={value!r:.60} is not known; pass one of {', '.join(allowed)}")
    return value


def choice(allowed: tuple[str, ...]) -> Check:
    """The check that lets one of `allowed` pass: see `one_of`.

    Example:
    >>> choice(("user", "app"))("scope", "app")
    'app'
    """

    def check(name: str, value: Any) -> Any:
        return value if type(value) is str and value in allowed else one_of(name, value, allowed)

    return check


def optional(check: Check) -> Check:
    """The check that lets None pass, and gives any other value to `check`.

    Example:
    >>> optional(check_id)("session_id", None), optional(check_id)("session_id", "s1")
    (None, 's1')
    """
    return lambda name, value: None if value is None else check(name, value)
