"""Naive curves in rational arithmetic: slow, obvious, exact.  The truth that the fast code is tested against."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import mpmath

Point = tuple[Fraction, Fraction]

DIGITS = 80


@cache
def power_of_e(epsilon: float) -> Fraction:
    """e^epsilon as a rational, with 80 digits of its distance to 1."""
    with mpmath.workdps(DIGITS + (max(0, -math.frexp(epsilon)[1]) if epsilon else 0)):
        return rational(mpmath.exp(mpmath.mpf(epsilon)))


def rational(number: mpmath.mpf) -> Fraction:
    sign, mantissa, exponent, _ = number._mpf_
    value = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -value if sign else value


def logarithm(number: Fraction) -> mpmath.mpf:
    """log to 80 digits."""
    with mpmath.workdps(DIGITS):
        return mpmath.log(mpmath.mpf(number.numerator)) - mpmath.log(mpmath.mpf(number.denominator))


def lower_hull(points: Sequence[Point]) -> list[Point]:
    """Vertices of the lower convex hull, left to right."""
    best: dict[Fraction, Fraction] = {}
    for x, y in points:
        best[x] = min(y, best.get(x, y))
    hull: list[Point] = []
    for x, y in sorted(best.items()):
        while len(hull) > 1:
            (a, p), (b, q) = hull[-2:]
            if (q - p) * (x - b) < (y - q) * (b - a):
                break
            hull.pop()
        hull.append((x, y))
    return hull


def interpolate(chain: Sequence[Point], x: Fraction) -> Fraction:
    for (a, p), (b, q) in itertools.pairwise(chain):
        if a <= x <= b:
            return p + (q - p) * (x - a) / (b - a)
    raise AssertionError("outside the chain")


class ExactProfile:
    """D(t) from points (t, delta), by definition."""

    def __init__(self, points: Sequence[Point], symmetric: bool) -> None:
        self.symmetric = symmetric
        anchor = (Fraction(-1 if symmetric else 0), Fraction(1))
        hull = lower_hull([anchor, *points])
        bottom = min(range(len(hull)), key=lambda i: hull[i][1])
        self.chain = hull[: bottom + 1]

    def knots(self) -> list[Fraction]:
        inner = [t for t, _ in self.chain[1:]]
        return sorted({*inner, *(1 / t for t in inner)}) if self.symmetric else inner

    def delta(self, t: Fraction) -> Fraction:
        if self.symmetric and t < 1:
            return 1 - t + (t * self.delta(1 / t) if t > 0 else 0)
        end, lowest = self.chain[-1]
        return lowest if t >= end else interpolate(self.chain, t)

    def smallest_t(self, delta: Fraction) -> Fraction | None:
        """The smallest t >= 1 with D(t) <= delta."""
        if self.delta(Fraction(1)) <= delta:
            return Fraction(1)
        for (a, p), (b, q) in zip(self.chain, self.chain[1:], strict=False):
            if q <= delta < p:
                return max(Fraction(1), b - (b - a) * (delta - q) / (p - q))
        return None

    def beta(self, alpha: Fraction) -> Fraction:
        values = [1 - self.delta(t) - t * alpha for t in self.knots()]
        return max([Fraction(0), *values])


class ExactTradeOff:
    """f(alpha) through vertices, by definition."""

    def __init__(self, points: Sequence[Point]) -> None:
        self.chain = lower_hull(points)

    def beta(self, alpha: Fraction) -> Fraction:
        return interpolate(self.chain, alpha)

    def delta(self, t: Fraction) -> Fraction:
        return max(1 - b - t * a for a, b in self.chain)

    def smallest_t(self, delta: Fraction) -> Fraction | None:
        if 1 - self.chain[0][1] > delta:
            return None
        return max([Fraction(1), *((1 - b - delta) / a for a, b in self.chain if a > 0)])

    def profile(self) -> ExactProfile:
        slopes = [(p - q) / (b - a) for (a, p), (b, q) in zip(self.chain, self.chain[1:], strict=False)]
        return ExactProfile([(s, self.delta(s)) for s in slopes if s > 0], symmetric=False)


def tradeoff_of(profile: ExactProfile) -> ExactTradeOff:
    """Intersections of neighbouring supporting lines."""
    lines = [*[(t, 1 - profile.delta(t)) for t in profile.knots()][::-1], (Fraction(0), Fraction(0))]
    vertices = [(Fraction(0), lines[0][1])]
    for (s, c), (t, d) in itertools.pairwise(lines):
        alpha = (c - d) / (s - t)
        vertices.append((alpha, c - s * alpha))
    return ExactTradeOff([*vertices, (Fraction(1), Fraction(0))])


def between(lower: float, truth: Fraction, upper: float) -> bool:
    """lower <= truth <= upper, exactly; infinite ends allowed."""
    below = lower == float("-inf") or (lower != float("inf") and Fraction(lower) <= truth)
    above = upper == float("inf") or (upper != float("-inf") and truth <= Fraction(upper))
    return below and above


def log_between(lower: float, t: Fraction | None, upper: float) -> bool:
    """The same for log t, where None stands for infinity."""
    if t is None:
        return upper == float("inf")
    value = rational(logarithm(t)) if t != 1 else Fraction(0)
    blur = Fraction(1, 10**70)  # e^epsilon and its logarithm carry 80 digits
    return between(lower, value + blur, float("inf")) and between(float("-inf"), value - blur, upper)
