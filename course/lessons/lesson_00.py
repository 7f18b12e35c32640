"""Lesson 00, start here: the check of its warm-up."""

from __future__ import annotations

import math

from course.check import Cases, Function, Mistake, exercise

RETURNED_NOTHING: Mistake = (
    None,
    "Nothing came back. A function that prints, or that ends without `return`, gives `None`.",
)


@exercise("00-warm-up")
def _(case: Cases, confidence_band: Function) -> None:
    _has_three_bands(case, confidence_band)
    _is_exact_at_the_edges(case, confidence_band)
    _refuses_what_is_no_fraction(case, confidence_band)


def _has_three_bands(case: Cases, band: Function) -> None:
    case(
        "a sure memory is high",
        band,
        0.9,
        expect="high",
        otherwise="A confidence of 0.9 lies above 0.75, so its band is `high`.",
        mistakes=[
            RETURNED_NOTHING,
            (
                lambda got: got.strip().lower() == "high",
                "The right band, spelled differently: the words are `high`, `medium` and `low`, exactly so.",
            ),
            (
                "low",
                "Confidence runs from 0 to 1: compare with 0.75, not with 75, and mind which end is high.",
            ),
        ],
    )
    case(
        "a fair one is medium",
        band,
        0.6,
        expect="medium",
        otherwise="Between 0.5 and 0.75 there is a third band, `medium`.",
        mistakes=[RETURNED_NOTHING],
    )
    case(
        "a doubtful one is low",
        band,
        0.2,
        expect="low",
        otherwise="Whatever is below 0.5 is `low`.",
        mistakes=[RETURNED_NOTHING],
    )
    case(
        "zero is low", band, 0.0, expect="low", otherwise="0 is a confidence as well: none at all, so `low`."
    )


def _is_exact_at_the_edges(case: Cases, band: Function) -> None:
    for edge, above, below in ((0.75, "high", "medium"), (0.5, "medium", "low")):
        case(
            f"{edge} belongs to {above}",
            band,
            edge,
            expect=above,
            otherwise=f"{edge} is the first value of `{above}`.",
            mistakes=[(below, f"“From {edge}” takes {edge} in: `>` leaves the edge out, `>=` does not.")],
        )
        case(
            f"just below {edge} is {below}",
            band,
            math.nextafter(edge, 0.0),
            expect=below,
            otherwise=f"Everything below {edge}, however close, is `{below}`.",
            mistakes=[
                (above, "You rounded before you compared, and that lifts a memory into a better band.")
            ],
        )


def _refuses_what_is_no_fraction(case: Cases, band: Function) -> None:
    case.refuses(
        "more than 1 is refused",
        band,
        1.2,
        otherwise="Nothing is more than certain: raise ValueError above 1, or a bug elsewhere stays hidden.",
    )
    case.refuses(
        "less than 0 is refused",
        band,
        -0.1,
        otherwise="A confidence below 0 is the caller's mistake, not a doubtful memory: raise ValueError.",
    )
    case.refuses(
        "nan is refused",
        band,
        math.nan,
        otherwise="`nan` slips through, since every comparison with it is False: test `0 <= confidence <= 1` "
        "and raise unless it holds.",
    )
