"""A certified inverse of a decreasing function that is known from both sides."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from quiltwork.checks import FloatArray

__all__ = ["certified_epsilon"]

_WIDENINGS = 40


def certified_epsilon(
    bounds: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    delta: FloatArray,
    guess: FloatArray,
    radius: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """A bracket of the smallest epsilon >= 0 whose delta is at most `delta`.

    A guess is only a suggestion: an upper end counts once the upper bound of D there is at most delta, a lower end once
    the lower bound of D there exceeds delta (or the end is 0).  Ends that fail move out, four times as far each time;
    what never holds becomes 0 or infinity.
    """
    lower, upper = np.maximum(guess - radius, 0.0), np.maximum(guess + radius, 0.0)
    reach = radius
    for _ in range(_WIDENINGS):
        high, low = bounds(upper)[1] > delta, (bounds(lower)[0] <= delta) & (lower > 0)
        if not (high.any() or low.any()):
            return lower, upper
        reach = 4.0 * reach
        upper = np.where(high, np.maximum(guess + reach, 0.0), upper)
        lower = np.where(low, np.maximum(guess - reach, 0.0), lower)
    high, low = bounds(upper)[1] > delta, bounds(lower)[0] <= delta
    return np.where(low, 0.0, lower), np.where(high, np.inf, upper)
