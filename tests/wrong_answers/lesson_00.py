"""Answers to the exercise of lesson 00 that its check must tell apart."""

from __future__ import annotations

from bisect import bisect

from memlab.records import check_fraction


def edges_left_out(confidence: float) -> str:
    check_fraction("confidence", confidence)
    return "high" if confidence > 0.75 else "medium" if confidence > 0.5 else "low"


def in_percent(confidence: float) -> str:
    check_fraction("confidence", confidence)
    return "high" if confidence >= 75 else "medium" if confidence >= 50 else "low"


def two_bands(confidence: float) -> str:
    check_fraction("confidence", confidence)
    return "high" if confidence >= 0.75 else "low"


def printed(confidence: float) -> None:
    print("high" if confidence >= 0.75 else "medium" if confidence >= 0.5 else "low")


def capitals(confidence: float) -> str:
    return ("Low", "Medium", "High")[bisect((0.5, 0.75), confidence)]


def rounded(confidence: float) -> str:
    check_fraction("confidence", confidence)
    return ("low", "medium", "high")[bisect((0.5, 0.75), round(confidence, 2))]


def everything_else_is_low(confidence: float) -> str:
    return "high" if confidence >= 0.75 else "medium" if confidence >= 0.5 else "low"


def not_below_zero(confidence: float) -> str:
    if confidence > 1:
        raise ValueError(f"confidence={confidence!r} is above 1; pass a fraction")
    return everything_else_is_low(confidence)


def nan_passes(confidence: float) -> str:
    if confidence < 0 or confidence > 1:
        raise ValueError(f"confidence={confidence!r} lies outside 0..1; pass a fraction")
    return everything_else_is_low(confidence)


def asserted(confidence: float) -> str:
    assert 0 <= confidence <= 1, "outside 0..1"
    return everything_else_is_low(confidence)


def looked_up(confidence: float) -> str:
    if not 0 <= confidence <= 1:
        raise ValueError("a confidence lies between 0 and 1")
    return ("low", "medium", "high")[bisect((0.5, 0.75), confidence)]


WRONG = {
    "00-warm-up": [
        (edges_left_out, "takes 0.75 in"),
        (in_percent, "not with 75"),
        (two_bands, "a third band"),
        (printed, "Nothing came back"),
        (capitals, "spelled differently"),
        (rounded, "You rounded"),
        (everything_else_is_low, "more than certain"),
        (not_below_zero, "not a doubtful memory"),
        (asserted, "raised `AssertionError"),
        (nan_passes, "every comparison with it is False"),
    ]
}
RIGHT = {"00-warm-up": [looked_up]}
