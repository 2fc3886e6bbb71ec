"""Hockey sticks of finite laws in rational arithmetic.

D(t) = sum_y (p - t q)_+ is convex and piecewise linear in t, with a knot at each ratio p/q: between two knots
D(t) = P_j - t Q_j, where P_j and Q_j sum over the outcomes of larger ratio.

Reference: theory/confounding.md section 1.

Hockey sticks, their inverse and trade-off functions of finite laws whose entries are known between two ends.

Upper ends take p from above and q from below, lower ends the reverse; every sum has positive terms only, and its own
rounding is added.  The inverse solves the piecewise-linear equation in floats, then moves the answer until the direct
evaluation certifies it.

Reference: theory/confounding.md section 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.numbers.laws import LEAST, Laws
from quiltwork.numbers.rounding import UNIT, down, up
from quiltwork.numbers.stated import Stated

BLOCK = 1 << 22  # entries worked on at once
STEPS = 60  # doublings of the margin before an inverse gives up and says what holds at delta = 0
MOST = float(np.finfo(float).max)
FAINT = 2.0**-960  # products with masses below this may underflow


def odds_ends(epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
    """e^epsilon from below and above; a stated epsilon may be read as the decimal typed or as its double."""
    with np.errstate(over="ignore", under="ignore"):
        odds = np.exp(epsilon)
        error = (4.0 + 2.0 * np.minimum(np.abs(epsilon), 1e3)) * UNIT  # farther out, both ends are at 0 or infinite
        lower = np.where(np.isinf(odds), MOST, np.maximum(odds * (1.0 - error) - 2.0 * LEAST, 0.0))
        upper = odds * (1.0 + error) + 2.0 * LEAST
    # only an infinite epsilon has infinite odds, or odds of zero
    lower, upper = np.where(epsilon == np.inf, np.inf, lower), np.where(epsilon == -np.inf, 0.0, upper)
    known = epsilon == 0
    return np.where(known, 1.0, lower), np.where(known, 1.0, upper)


def _rounding(count: int) -> float:
    """Relative error of a sum of `count` positive numbers by pairwise summation in blocks."""
    return (80.0 + math.log2(count + 1) + count / 4096) * UNIT


@attrs.frozen(eq=False)
class FiniteTest:
    """Two laws on the same outcomes: `p` when the secret is the first, `q` when it is the second."""

    p_low: FloatArray
    p_high: FloatArray
    q_low: FloatArray
    q_high: FloatArray
    ratio_low: FloatArray  # of p to q, which keeps its digits where the masses underflow
    ratio_high: FloatArray

    @property
    def size(self) -> int:
        """How many outcomes there are."""
        return self.p_low.size

    @cached_property
    def faint(self) -> bool:
        """Whether some mass is so small that its multiples may lose digits to underflow."""
        return any(bool(np.any((end > 0) & (end < FAINT))) for end in (self.p_high, self.q_low, self.q_high))

    # ---- delta

    def upper(self, odds: FloatArray) -> FloatArray:
        """Upper ends of D at these odds (from below)."""
        found = self._sum(self.p_high, self.q_low, odds)
        largest = float(self.ratio_high.max())
        if math.isfinite(largest):  # beyond it no outcome is left, also where masses underflow
            found = np.where(odds >= largest, 0.0, found)
        return np.where(found > 0, np.minimum(up(found * (1.0 + _rounding(self.size))), 1.0), 0.0)

    def lower(self, odds: FloatArray) -> FloatArray:
        """Lower ends of D at these odds (from above)."""
        return np.maximum(down(self._sum(self.p_low, self.q_high, odds) * (1.0 - _rounding(self.size))), 0.0)

    def _sum(self, p: FloatArray, q: FloatArray, odds: FloatArray) -> FloatArray:
        flat, rows = np.ravel(odds), max(1, BLOCK // max(self.size, 1))
        found = np.empty(flat.size)
        side = 1.0 if p is self.p_high else -1.0  # upper ends, or lower ones
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            top, bottom = p * (1.0 + side * 4.0 * UNIT), q * (1.0 - side * 4.0 * UNIT)
            for start in range(0, flat.size, rows):
                taken = np.multiply.outer(flat[start : start + rows], bottom)
                taken = taken - side * LEAST if self.faint else taken
                taken = np.where(bottom > 0, np.maximum(taken, 0.0), 0.0)
                found[start : start + rows] = np.maximum(top - taken, 0.0).sum(axis=1)
        return found.reshape(np.shape(odds))

    def delta(self, epsilon: FloatArray, rtol: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Both ends of D at these epsilons; they are as narrow as the laws allow."""
        below, above = odds_ends(epsilon)
        return self.lower(above), self.upper(below)

    # ---- epsilon

    def epsilon(self, delta: FloatArray, rtol: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Both ends of the smallest epsilon >= 0 with D <= delta, as narrow as the laws allow."""
        read = [Stated(value) for value in delta.tolist()]
        lower, upper = [self._lowest(one.above) for one in read], [self._highest(one.below) for one in read]
        return np.array(lower), np.array(upper)

    def _highest(self, delta: float) -> float:
        pure = up(_log(float(self.ratio_high.max(initial=1.0))), 4)
        if delta >= 1.0:
            return 0.0
        if delta == 0.0:
            return max(pure, 0.0)
        odds, margin = max(_solved(self.p_high, self.q_low, delta), 1.0), 8.0 * UNIT
        if math.isinf(odds):
            return math.inf if float(self.upper(np.array(np.inf))) > delta else pure
        for _ in range(STEPS):
            if float(self.upper(np.array(odds))) <= delta:
                return min(up(_log(odds), 4), pure) if odds > 1.0 else 0.0
            odds, margin = odds * (1.0 + margin), 2.0 * margin
        return pure

    def _lowest(self, delta: float) -> float:
        if delta == 0.0:
            return max(down(_log(float(self.ratio_low.max(initial=1.0))), 4), 0.0)
        if float(self.lower(np.array(np.inf))) > delta:
            return math.inf
        odds, margin = _solved(self.p_low, self.q_high, delta), 8.0 * UNIT
        odds = min(odds, MOST)
        for _ in range(STEPS):
            if odds <= 1.0:
                return 0.0
            if float(self.lower(np.array(odds))) > delta:
                return max(down(_log(odds), 4), 0.0)
            odds, margin = odds * (1.0 - margin), 2.0 * margin
        return 0.0

    # ---- beta

    def beta(self, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Both ends of the least type II error at these type I errors.

        For every t >= 0 the power of a test is at most D(t) + t alpha; a real test bounds it from the other side.
        """
        read = np.array([(read.below, read.above) for read in map(Stated, alpha.tolist())])
        flat, most = read[:, 0], read[:, 1]
        order = np.argsort(-self.ratio_high, kind="stable")
        spent = np.cumsum(self.q_high[order]) * (1.0 + 2.0 * self.size * UNIT)
        gained = np.cumsum(self.p_low[order]) * (1.0 - 2.0 * self.size * UNIT)
        ratios = self.ratio_high[order]
        at = np.searchsorted(spent, flat, side="right")  # outcomes that are surely rejected
        last = np.minimum(at, self.size - 1)
        threshold = np.minimum(ratios[last], MOST)
        unique, where = np.unique(threshold, return_inverse=True)
        # t is ours to choose, so that it is exact
        with np.errstate(over="ignore"):
            power = self.upper(unique)[where] + threshold * most * (1.0 + 4.0 * UNIT)
        lower = np.maximum(down(1.0 - np.minimum(power, 1.0), 2), 0.0)
        base, cost = np.where(at > 0, gained[at - 1], 0.0), np.where(at > 0, spent[at - 1], 0.0)
        mass = self.q_high[order][last]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(mass > 0, np.clip((flat - cost) / mass, 0.0, 1.0), 1.0)
        base = base + np.where(at < self.size, share * self.p_low[order][last], 0.0)
        upper = np.minimum(up(1.0 - base * (1.0 - 8.0 * UNIT), 2), up(1.0 - flat, 2))
        upper = np.maximum(upper, lower)
        return lower, upper


def contrast(laws: Laws, first: int, second: int) -> FiniteTest:
    """The test between two rows; outcomes that neither can show are left out."""
    kept = laws.possible[first] | laws.possible[second]
    low, high = laws.masses
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio_high = _ratio(laws.high[first][kept], laws.low[second][kept]) * (1.0 + 4.0 * UNIT)
        ratio_low = _ratio(laws.low[first][kept], laws.high[second][kept]) * (1.0 - 4.0 * UNIT)
    # a quotient that overflows is large, and infinite only where the second law has no mass at all
    ratio_low = np.where(laws.possible[second][kept], np.minimum(ratio_low, MOST), ratio_low)
    return FiniteTest(
        low[first][kept], high[first][kept], low[second][kept], high[second][kept], ratio_low, ratio_high
    )  # fmt: skip


def _ratio(p: FloatArray, q: FloatArray) -> FloatArray:
    return np.where(p == 0, 0.0, p / np.where(q == 0, 1.0, q) * np.where(q == 0, np.inf, 1.0))


def _solved(p: FloatArray, q: FloatArray, delta: float) -> float:
    """The odds at which sum (p - t q)_+ = delta, in plain floats; infinite when none are large enough."""
    revealed = float(p[q == 0].sum())
    if revealed > delta:
        return math.inf
    kept = (q > 0) & (p > q)
    with np.errstate(over="ignore"):
        ratios = p[kept] / q[kept]
    order = np.argsort(-ratios)
    ratios = ratios[order]
    above, below = revealed + np.cumsum(p[kept][order]), np.cumsum(q[kept][order])
    if not ratios.size:
        return 1.0
    following = np.append(ratios[1:], 1.0)
    with np.errstate(over="ignore"):
        odds = (above - delta) / below
    found = np.flatnonzero(odds >= following)
    return float(odds[found[0]]) if found.size else 1.0


def _log(odds: float) -> float:
    return math.log1p(odds - 1.0) if 0.5 < odds < 2.0 else (math.log(odds) if odds > 0 else -math.inf)


def stick(p: Sequence[Fraction], q: Sequence[Fraction], odds: Fraction) -> Fraction:
    """The sum of (p - odds q)_+.

    >>> stick([Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 4), Fraction(3, 4)], Fraction(3, 2))
    Fraction(1, 8)
    """
    return sum((max(a - odds * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))


def odds_for(p: Sequence[Fraction], q: Sequence[Fraction], delta: Fraction) -> Fraction | None:
    """The smallest odds >= 1 at which the stick is at most delta; None when there are none.

    >>> odds_for([Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 4), Fraction(3, 4)], Fraction(0))
    Fraction(2, 1)
    """
    above = sum((a for a, b in zip(p, q, strict=True) if b == 0), Fraction(0))
    if above > delta:
        return None
    steps = sorted(((a / b, a, b) for a, b in zip(p, q, strict=True) if b > 0 and a > b), reverse=True)
    below = Fraction(0)
    for index, (_, a, b) in enumerate(steps):
        above, below = above + a, below + b
        least = steps[index + 1][0] if index + 1 < len(steps) else Fraction(1)
        odds = (above - delta) / below
        if odds >= least:
            return odds
    return Fraction(1)
