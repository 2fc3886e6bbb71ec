"""Lower convex hulls of chains of points, without losing a vertex to rounding.

A point on or above a chord of two others is no vertex, so all such points may leave at once; sweeps of that kind are
vectorised.  Chains that would need many sweeps (two dense chains joined by one long bridge) end in a stack scan.

Exact convexity of three points of a trade-off function: floats first, double-doubles next, rationals last.

A vertex is (alpha, y) with y = beta where beta <= 1/2 and y = 1 - power elsewhere: whichever of the two is small is
held to full relative precision, and y is an exact rational number either way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork.checks import FloatArray
from quiltwork.numbers.rounding import UNIT, difference

IndexArray = NDArray[np.intp]

_SPLIT = 2.0**27 + 1.0
_SMALLEST = 1e-120  # below, products of differences lose their low halves to underflow


def falls(betas: FloatArray, powers: FloatArray, start: IndexArray, stop: IndexArray) -> FloatArray:
    """y[start] - y[stop] to a few units of relative accuracy, from whichever of beta and power is exact."""
    high, low = betas[start] > 0.5, betas[stop] > 0.5
    rest, tail = difference(1.0, powers[start])  # y[start] exactly, when start is high
    across, more = difference(rest, betas[stop])
    both = np.where(high, powers[stop] - powers[start], betas[start] - betas[stop])
    return np.asarray(np.where(high & ~low, across + (more + tail), both))


def convex(
    alphas: FloatArray, betas: FloatArray, powers: FloatArray, left: IndexArray, middle: IndexArray, right: IndexArray
) -> NDArray[np.bool_]:
    """Whether each middle point lies strictly below the chord of its neighbours, decided exactly."""
    with np.errstate(over="ignore", divide="ignore", under="ignore", invalid="ignore"):
        before = falls(betas, powers, left, middle) / (alphas[middle] - alphas[left])
        after = falls(betas, powers, middle, right) / (alphas[right] - alphas[middle])
        sure = np.abs(before - after) > 32.0 * UNIT * np.maximum(before, after)
        sure &= np.isfinite(before + after) & (np.minimum(before, after) > 1e-290)
    answer = before > after
    unsure = np.flatnonzero(~sure)
    if unsure.size:
        left, middle, right = left[unsure], middle[unsure], right[unsure]
        gap, known = _gap(alphas, betas, powers, left, middle, right)
        answer[unsure] = gap > 0
        for k in np.flatnonzero(~known):
            answer[unsure[k]] = convex_one(alphas, betas, powers, int(left[k]), int(middle[k]), int(right[k]))
    return np.asarray(answer)


def convex_one(alphas: FloatArray, betas: FloatArray, powers: FloatArray, left: int, middle: int, right: int) -> bool:
    """The same for one point: floats when they suffice, otherwise rational arithmetic."""
    points = (left, middle, right)
    a, b, c = (float(alphas[i]) for i in points)
    low = [bool(betas[i] <= 0.5) for i in points]
    if low[0] == low[2]:
        p, q, r = (float(betas[i]) if low[0] else -float(powers[i]) for i in points)
        before, after = (p - q) / (b - a), (q - r) / (c - b)
        if abs(before - after) > 32.0 * UNIT * max(before, after) and min(before, after) > 1e-290:
            return before > after
    x, y, z = Fraction(a), Fraction(b), Fraction(c)
    u, v, w = (Fraction(float(betas[i])) if low[k] else 1 - Fraction(float(powers[i])) for k, i in enumerate(points))
    return (u - v) * (z - y) > (v - w) * (y - x)


def _gap(
    alphas: FloatArray, betas: FloatArray, powers: FloatArray, left: IndexArray, middle: IndexArray, right: IndexArray
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """(p - q)(c - b) - (q - r)(b - a) in double-double, and where its sign is beyond doubt."""
    high = betas[middle] > 0.5
    alike = ((betas[left] > 0.5) == high) & ((betas[right] > 0.5) == high)
    y = [np.where(high, -powers[i], betas[i]) for i in (left, middle, right)]
    first, first_error = _product(difference(y[0], y[1]), difference(alphas[right], alphas[middle]))
    second, second_error = _product(difference(y[1], y[2]), difference(alphas[middle], alphas[left]))
    gap, rest = difference(first, second)
    gap = gap + (rest + (first_error - second_error))
    size = np.abs(first) + np.abs(second)
    known = alike & (size > _SMALLEST) & (np.abs(gap) > 2.0**-96 * size)
    return gap, known


def _product(x: tuple[FloatArray, FloatArray], y: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Product of two double-doubles (Dekker): high part and low part."""
    high = x[0] * y[0]
    (a, b), (c, d) = _halves(x[0]), _halves(y[0])
    low = ((a * c - high) + a * d + b * c) + b * d
    return high, low + (x[0] * y[1] + x[1] * y[0])


def _halves(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    big = _SPLIT * x
    upper = big - (big - x)
    return upper, x - upper


Turns = Callable[[IndexArray, IndexArray, IndexArray], FloatArray]
Turn = Callable[[int, int, int], float]

_SWEEPS = 200
_AT_ONCE = 1 << 17  # points that are looked at together: what they need fits into a cache


def _reduce(index: IndexArray, turns: Turns, turn: Turn) -> IndexArray:
    """Keep the two ends and every point that the predicate does not surely reject (negative = reject).

    Only neighbours of a point that left are looked at again.
    """
    ask = np.ones(len(index), dtype=bool)
    for _ in range(_SWEEPS):
        ask[:1] = ask[-1:] = False
        asked = np.flatnonzero(ask)
        parts = (asked[i : i + _AT_ONCE] for i in range(0, asked.size, _AT_ONCE))
        out = np.concatenate(
            [asked[:0], *(part[turns(index[part - 1], index[part], index[part + 1]) < 0] for part in parts)]
        )
        if not out.size:
            return index
        ask[:] = False
        ask[out - 1] = ask[out + 1] = True
        keep = np.ones(len(index), dtype=bool)
        keep[out] = False
        ask, index = ask[keep], index[keep]
    stack: list[int] = []
    for point in index.tolist():
        while len(stack) > 1 and turn(stack[-2], stack[-1], point) < 0:
            stack.pop()
        stack.append(point)
    return np.array(stack, dtype=np.intp)


def profile_slopes(
    epsilons: FloatArray, deltas: FloatArray, left: IndexArray, middle: IndexArray, right: IndexArray, symmetric: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Slopes -dD/dt to the left and right of a knot, both times its t, and their relative error.

    Index 0 is the anchor: t = 0 (epsilon = -inf) or, when symmetric, t = -1; its delta is 1.  Every exponent is a
    difference of epsilons, so nothing overflows (theory/multi-constraints.md, section 2).
    """
    with np.errstate(over="ignore", under="ignore"):
        ahead = epsilons[right] - epsilons[middle]
        span = -np.expm1(epsilons[left] - epsilons[middle])
        if symmetric:
            span = np.where(left == 0, 1.0 + np.exp(-epsilons[middle]), span)
        before = (deltas[left] - deltas[middle]) / span
        after = (deltas[middle] - deltas[right]) / np.expm1(ahead)
    return before, after, _margin(np.minimum(ahead, 1000.0))


def _margin(ahead: Any) -> Any:
    """Relative error of the two slopes; e^x - 1 turns an error of x into one of x times it."""
    return (32.0 + 4.0 * ahead) * UNIT


def profile_hull(epsilons: FloatArray, deltas: FloatArray, symmetric: bool) -> tuple[IndexArray, float]:
    """Active points of a profile, and by how much (relative) dropping them may have raised it.

    Epsilons ascend, deltas descend strictly below 1, index 0 is the anchor.  Points that the float comparison cannot
    tell from the chord of their neighbours are dropped: that only raises D.  No two neighbours leave in one sweep, so
    each sweep raises D(t) by a factor of at most 1 + margin: on the triangle over a dropped point B with neighbours A
    and C the rise is at most margin * (D(t) - D_C).
    """
    index = np.arange(len(epsilons), dtype=np.intp)
    slack = 0.0

    def sure(left: IndexArray, middle: IndexArray, right: IndexArray) -> FloatArray:
        before, after, margin = profile_slopes(epsilons, deltas, left, middle, right, symmetric)
        with np.errstate(invalid="ignore"):  # two infinite slopes say nothing, until the left one is gone
            return before - after * (1.0 - margin)

    lists: list[list[float]] = []  # made when a scan by hand is needed: they take four times the memory

    def sure_one(left: int, middle: int, right: int) -> float:
        if not lists:
            lists.extend((epsilons.tolist(), deltas.tolist()))
        places, values = lists
        ahead = places[right] - places[middle]
        anchored = symmetric and left == 0
        span = 1.0 + math.exp(-places[middle]) if anchored else -math.expm1(places[left] - places[middle])
        after = (values[middle] - values[right]) / math.expm1(ahead) if ahead < 700.0 else 0.0
        return float((values[left] - values[middle]) / span - after * (1.0 - _margin(ahead)))

    while True:
        index = _reduce(index, sure, sure_one)
        if len(index) < 3:
            return index, slack
        before, after, margin = profile_slopes(epsilons, deltas, index[:-2], index[1:-1], index[2:], symmetric)
        unsure = np.concatenate(([False], before <= after * (1.0 + margin), [False]))
        if not unsure.any():
            return index, slack
        leave = drops(unsure)
        slack += 2.0 * float(np.max(margin[leave[1:-1]]))
        index = index[~leave]


def drops(unsure: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Every other member of each run of `unsure`: no two neighbours leave together."""
    position = np.arange(len(unsure))
    start = np.maximum.accumulate(np.where(unsure, -1, position))
    return np.asarray(unsure & ((position - start) % 2 == 1))


def tradeoff_hull(alphas: FloatArray, betas: FloatArray, powers: FloatArray) -> IndexArray:
    """Vertices of the exact lower hull of the points of a trade-off function; see `orient`."""

    def turns(left: IndexArray, middle: IndexArray, right: IndexArray) -> FloatArray:
        return np.where(convex(alphas, betas, powers, left, middle, right), 1.0, -1.0)

    def turn(left: int, middle: int, right: int) -> float:
        return 1.0 if convex_one(alphas, betas, powers, left, middle, right) else -1.0

    return _reduce(np.arange(len(alphas), dtype=np.intp), turns, turn)
