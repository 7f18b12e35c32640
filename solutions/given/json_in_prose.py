"""Where JSON may begin in a model's prose, and where to look on when what began there was none."""

from __future__ import annotations

import json
import re

OBJECT = re.compile(r'\{(?=\s*["}])')
"""Where a JSON object may begin: other braces are not tried, or a reply of braces alone takes seconds."""


def look_on_at(reply: str, start: int, error: json.JSONDecodeError | RecursionError) -> int:
    """Where to look for the next object, when the one that begins at `start` cannot be read for `error`.

    Behind its brace; but at the end of the reply if the reply breaks off within that object (or if it nests
    too deep): what stands inside an object is not the answer.

    Example:
    >>> def where(reply: str) -> int:
    ...     try:
    ...         return json.JSONDecoder().raw_decode(reply)[1]
    ...     except json.JSONDecodeError as error:
    ...         return look_on_at(reply, 0, error)
    >>> where('{"oops} {"facts": []}'), where('{"draft": {"facts": []}, "facts": [')
    (1, 35)
    """
    if isinstance(error, RecursionError):
        return len(reply)
    cut_off = error.pos >= len(reply.rstrip()) or error.msg.startswith("Unterminated")
    return len(reply) if cut_off else start + 1
