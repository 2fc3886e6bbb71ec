"""Exact convexity of three points of a trade-off function: floats first, double-doubles next, rationals last.

A vertex is (alpha, y) with y = beta where beta <= 1/2 and y = 1 - power elsewhere: whichever of the two is small is
held to full relative precision, and y is an exact rational number either way.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from quiltwork.checks import FloatArray
from quiltwork.curves.rounding import UNIT, difference

__all__ = ["convex", "convex_one", "falls"]

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
