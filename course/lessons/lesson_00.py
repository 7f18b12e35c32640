"""Lesson 00, start here: the check of its warm-up."""

from __future__ import annotations

import math

from course.check import Mistake, Row, exercise, refused

NOTHING: Mistake = (
    None,
    "Nothing came back. A function that prints, or that ends without `return`, gives `None`.",
)

# what holds, the confidence, its band, the sentence for who gets it wrong, and known mistakes
# fmt: off
BANDS: list[Row] = [
    ("a sure memory is high", 0.9, "high", "A confidence of 0.9 lies above 0.75, so its band is `high`.",
     NOTHING,
     (lambda got: got.strip().lower() == "high",
      "The right band, spelled differently: the words are `high`, `medium` and `low`, exactly so."),
     ("low", "Confidence runs from 0 to 1: compare with 0.75, not with 75, and mind which end is high.")),
    ("a fair one is medium", 0.6, "medium", "Between 0.5 and 0.75 there is a third band, `medium`.", NOTHING),
    ("a doubtful one is low", 0.2, "low", "Whatever is below 0.5 is `low`.", NOTHING),
    ("zero is low", 0.0, "low", "0 is a confidence as well: none at all, so `low`."),
]
for edge, above, below in ((0.75, "high", "medium"), (0.5, "medium", "low")):
    BANDS += [
        (f"{edge} belongs to {above}", edge, above, f"{edge} is the first value of `{above}`.",
         (below, f"“From {edge}” takes {edge} in: `>` leaves the edge out, `>=` does not.")),
        (f"just below {edge} is {below}", math.nextafter(edge, 0.0), below,
         f"Everything below {edge}, however close, is `{below}`.",
         (above, "You rounded before you compared, and that lifts a memory into a better band.")),
    ]
BANDS += [
    ("more than 1 is refused", 1.2, refused(""),
     "Nothing is more than certain: raise ValueError above 1, or a bug elsewhere stays hidden."),
    ("less than 0 is refused", -0.1, refused(""),
     "A confidence below 0 is the caller's mistake, not a doubtful memory: raise ValueError."),
    ("nan is refused", math.nan, refused(""),
     "`nan` slips through, since every comparison with it is False: test `0 <= confidence <= 1` and raise "
     "unless it holds."),
]
# fmt: on


exercise("00-warm-up")(lambda case, confidence_band: case.table(confidence_band, BANDS))
