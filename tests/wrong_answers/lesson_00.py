"""Answers to the exercise of lesson 00 that its check must tell apart."""

from __future__ import annotations

from bisect import bisect
from typing import Any


def looked_up(confidence: float) -> str:
    if not 0 <= confidence <= 1:
        raise ValueError("a confidence lies between 0 and 1")
    return ("low", "medium", "high")[bisect((0.5, 0.75), confidence)]


GUARD = 'check_fraction("confidence", confidence)'
WRONG: dict[str, list[tuple[Any, str]]] = {
    "00-warm-up": [
        (">= 0.75 => > 0.75", "takes 0.75 in"),
        (">= 0.75 => >= 75 ;; >= 0.5 => >= 50", "not with 75"),
        ('"medium" if confidence >= 0.5 else "low" => "low"', "a third band"),
        ('return "high" => "high"', "Nothing came back"),
        ('return "high" => return "High"', "spelled differently"),
        (f"{GUARD} => {GUARD}\n    confidence = round(confidence, 2)", "You rounded"),
        (f"{GUARD} => ", "more than certain"),
        (f"{GUARD} => if confidence > 1: raise ValueError", "not a doubtful memory"),
        (f"{GUARD} => assert 0 <= confidence <= 1", "raised `AssertionError"),
        (f"{GUARD} => if confidence < 0 or confidence > 1: raise ValueError", "every comparison with it"),
    ]
}
RIGHT = {"00-warm-up": [looked_up]}

FIELD = "the error still names the field"
CONFIDENCE = "check_fraction('confidence', confidence) => check_fraction('confidenceX', confidence)"
SPARED = {"00-warm-up": {CONFIDENCE: FIELD}}
