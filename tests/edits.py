"""Wrong answers as edits of the reference: "old => new", several parted by " ;; "."""

from __future__ import annotations

import importlib
from typing import Any

from course.lesson import Exercise, answer, segment


def edited(exercise: Exercise, edit: str) -> Any:
    """The reference answer with `edit` made in its source, where each old text must stand just once."""
    module_source, node = answer(exercise)
    source = segment(module_source, node)
    for part in edit.split(" ;; "):
        old, arrow, new = part.partition(" => ")
        assert arrow, f"{exercise.id}: {part!r} is not 'old => new'"
        assert source.count(old) == 1, (
            f"{exercise.id}: {old!r} stands {source.count(old)} times in the answer"
        )
        source = source.replace(old, new)
    space = dict(vars(importlib.import_module(exercise.module)))
    exec(compile("from __future__ import annotations\n" + source, exercise.id, "exec"), space)
    return space[exercise.name]
