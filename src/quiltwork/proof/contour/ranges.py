"""Which mechanism of bounded range to compose: two outcomes of losses t and t - epsilon, any t in [0, epsilon].

Every t gives a lower end; floats choose.  For equal mechanisms alone the best of the non-adaptive ones is among
t = (x + (l + 1) epsilon)/(k + 1), l = 0..k (Dong, Durfee and Rogers 2020); beside others the t of the largest Chernoff
bound is taken.

Reference: theory/sampling.md section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy import special

TRIED = 48


def _divergence(epsilon: float, top: float, count: int, at: float) -> float:
    """D of `count` mechanisms with these two outcomes, by floats."""
    p = math.expm1(epsilon - top) * math.exp(top) / math.expm1(epsilon)
    if not 0 < p < 1:
        return 0.0
    j = np.arange(count + 1)
    gap = at - (count * top - (count - j) * epsilon)
    logs = special.gammaln(count + 1) - special.gammaln(j + 1) - special.gammaln(count - j + 1)
    logs = logs + j * math.log(p) + (count - j) * math.log1p(-p)
    return float(np.sum(np.exp(logs) * -np.expm1(np.minimum(gap, 0.0))))


def best_top(epsilon: Fraction, count: int, at: float) -> Fraction:
    """The best t of equal mechanisms: coarse, then every candidate near the best."""

    def top(place: int) -> Fraction:
        found = Fraction((at + (place + 1) * float(epsilon)) / (count + 1))
        return min(max(found, Fraction(0)), epsilon)

    low, high = 0, count
    while True:
        places = sorted({low + (high - low) * i // TRIED for i in range(TRIED + 1)})
        values = [_divergence(float(epsilon), float(top(place)), count, at) for place in places]
        best = int(np.argmax(values))
        if high - low <= TRIED:
            return top(places[best])
        low, high = places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)]


def likely_top(epsilon: Fraction, height: Callable[[Fraction], float]) -> Fraction:
    """The t of the largest bound, beside other releases."""
    return max((epsilon * i / TRIED for i in range(1, TRIED)), key=height)
