"""What a method claims, and what is said of its answer beside the truth; the same words on every page."""

from __future__ import annotations

import math
from typing import Any

BOTH, UPPER = "both, rounding counted", "upper, rounding counted"
BOTH_IDEAL, UPPER_IDEAL = "both, in exact arithmetic", "upper, in exact arithmetic"
NO = "no"
ROUNDED = 1e-13  # a peer that is below the truth by less (relative; of curves, absolute) is right up to rounding
OUR_ROUNDING = 1e-15  # of the truth itself, as a double; our brackets get no more than that
SLIGHT = 1e-9  # below the truth by less than this is said, but does not hide how accurate a method is
WIDE = 1e-3  # a bracket of ours that is wider has missed what it promises by default
BY_ROUNDING = " by rounding"


def beside(low: float, high: float, truth: float, rounding: float = ROUNDED, below: str = "below truth") -> str:
    """What is wrong with an interval, or with an upper end alone (low = -inf); nothing is ""."""
    if math.isnan(high):
        return "nan"
    if math.isinf(high):
        return "inf"
    under, over = 1 - high / truth, low / truth - 1
    if under > rounding:
        return below + (BY_ROUNDING if under < SLIGHT else "")
    if over > rounding:
        return "truth below the interval" + (BY_ROUNDING if over < SLIGHT else "")
    return ""


def slight(words: str) -> bool:
    """Whether this is a matter of rounding."""
    return words.endswith(BY_ROUNDING)


def ends(value: Any) -> tuple[float, float]:
    """Of a bracket, of an interval, or of an upper bound alone; nan where the answer is something else."""
    if hasattr(value, "lower"):
        return float(value.lower), float(value.upper)
    if isinstance(value, tuple):
        return float(value[0]), float(value[1])
    return (-math.inf, float(value)) if isinstance(value, int | float) else (math.nan, math.nan)
