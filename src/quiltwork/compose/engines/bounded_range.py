"""Adaptive releases of bounded range, such as exponential mechanisms: the worst analyst by dynamic programming.

The analyst picks each release after the results before it.  Given what is to come, the worst release of range eps has
two outcomes, with losses t and t - eps, so that

    D_0(x) = (1 - e^x)+,   D_k(x) = max over t in [0, eps] of p_t D_(k-1)(x - t) + (1 - p_t) D_(k-1)(x - t + eps),
    p_t = (e^eps - e^t) / (e^eps - 1).

Below: t and x on one lattice of step eps/m, whose values are attained.  Above: D is convex in e^x and so below its
chords; for t in a cell of the lattice that bound is c + a e^t + b e^-t, largest at the ends or at e^t = sqrt(b/a) with
the value c - 2 sqrt(ab), a, b < 0.  Both are second order in 1/m.  One release is known in closed form.

Reference: theory/sampling.md section 2.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.discretise import convex
from quiltwork.compose.engines.engine import Declined, Engine, View
from quiltwork.compose.engines.listed import ExactEngine
from quiltwork.compose.releases import Counted, Known
from quiltwork.curves.curve import Ends
from quiltwork.losses.dominating_pair import Lattice, Pair
from quiltwork.losses.families.exponential import AttainedRangePair, BoundedRangePair
from quiltwork.losses.families.finite import FinitePair
from quiltwork.numbers.rounding import UNIT

MAX_RELEASES, MAX_RANGE = 200, 50.0  # e^range squared must stay far from overflow
MAX_REACH = 300.0  # of the total loss of a block
COARSE, SIZES = 1000, (3, 8, 32, 100, MAX_RELEASES)  # cells of a block in all, and the blocks that are computed
LATTICE, LEAST_CELLS, MOST_CELLS = 3000, 16, 400  # cells of all releases together, and of one
ROUNDING = 64 * UNIT
MOST_ROUNDED = 1e-4  # of a profile, by the recursion of a block
LEAST, LARGER = 1e-300, 1e-299


class Recursion:
    """D_k on a lattice, from below and from above, k up to `count`."""

    def __init__(self, epsilon: float, count: int, lattice: int) -> None:
        self.range, self.count = epsilon, count
        self.cells = min(max(lattice // count, LEAST_CELLS), MOST_CELLS)
        self.step = epsilon / self.cells
        size = (count + 1) * self.cells
        self.x = np.arange(-size, size + 1) * self.step
        self.none = -np.expm1(np.minimum(self.x, 0.0))  # D_0

    def _continued(self, values: FloatArray) -> FloatArray:
        """Beyond the lattice: 1 - e^x on the left, where everything is told apart, and nothing on the right."""
        left = -np.expm1(self.x[0] - self.step * np.arange(self.cells, 0, -1))
        return np.concatenate((left, values, np.zeros(self.cells)))

    def _shifted(self, full: FloatArray, t: int) -> tuple[FloatArray, FloatArray]:
        """D at x - t and at x - t + eps."""
        size, m = self.x.size, self.cells
        return full[m - t : m - t + size], full[2 * m - t : 2 * m - t + size]

    def _chance(self, t: int) -> float:
        """p_t, small where t is near eps."""
        return -math.expm1((t - self.cells) * self.step) / -math.expm1(-self.range)

    def lower(self, values: FloatArray) -> FloatArray:
        full, best = self._continued(values), np.zeros(values.size)
        for t in range(self.cells + 1):
            near, far = self._shifted(full, t)
            chance = self._chance(t)
            np.maximum(best, chance * near + (1 - chance) * far, out=best)
        return best * (1 - ROUNDING)

    def upper(self, values: FloatArray) -> FloatArray:
        full, best = self._continued(values) * (1 + 4 * UNIT), np.zeros(values.size)
        grown = math.exp(self.range)
        e, f = grown / (grown - 1), 1 / (grown - 1)  # p_t = e - f e^t
        for t in range(self.cells):  # a1 is the largest of the four, and as large as what any of them is off by
            (a0, c0), (a1, c1) = self._shifted(full, t), self._shifted(full, t + 1)
            first, second = math.exp(t * self.step), math.exp((t + 1) * self.step)
            u = 1 / (1 / first - 1 / second)
            v = u / second
            bend = (a0 - a1) - (c0 - c1)
            b = u * (c0 - c1) + e * u * bend
            a = -f * (a1 - c1) + f * v * bend
            c = c1 - v * (c0 - c1) + e * (a1 - c1) - (e * v + f * u) * bend
            # terms of these sizes were added up: their rounding, at e^t up to e^eps
            size = 1 + v + e + 2 * (e * v + f * u) + grown * f * (1 + 2 * v) + u * (1 + 2 * e)
            # where rounding hides that the largest value lies between the ends, it is above them by less than that
            hidden = UNIT * size * a1
            for chance, near, far in ((self._chance(t), a0, c0), (self._chance(t + 1), a1, c1)):
                np.maximum(best, (chance * near + (1 - chance) * far) * (1 + ROUNDING) + hidden, out=best)
            with np.errstate(all="ignore"):
                place = np.sqrt(b / a)
                inner = (a < 0) & (b < 0) & (place > first * (1 - 1e-6)) & (place < second * (1 + 1e-6))
                value = np.where(inner, c - 2 * np.sqrt(a * b) + ROUNDING * size * a1, 0.0)
            np.maximum(best, value, out=best)
        return np.minimum(best, 1.0)


class BoundedRangeEngine(Engine):
    """Copies of one release of bounded range."""

    method = "worst adaptive choice"
    below_pairs = True

    def __init__(self, epsilon: float, count: int, pairs: Counted) -> None:
        self.range, self.count, self.pairs = epsilon, count, pairs
        self.lattice = Recursion(epsilon, count, LATTICE)
        self.x, self.step, self.cells = self.lattice.x, self.lattice.step, self.lattice.cells
        self.low, self.high = self._composed()

    @classmethod
    def of(cls, pairs: Counted) -> BoundedRangeEngine | None:
        """Declines more releases than the recursion is worth, and other pairs."""
        pair, count = pairs[0]
        if not isinstance(pair, (BoundedRangePair, AttainedRangePair)) or pair.top > MAX_RANGE:
            return None
        return cls(pair.top, count, pairs)

    @property
    def known(self) -> Known:
        return Known.of([(BoundedRangePair(self.range), self.count)])

    def _composed(self) -> tuple[FloatArray, FloatArray]:
        if self.count == 1:
            low, high = BoundedRangePair(self.range).stick_ends(self.x)
            return low, np.minimum(high, 1.0)
        low, high = self.lattice.none * (1 - 4 * UNIT), self.lattice.none * (1 + 4 * UNIT)
        for _ in range(self.count):
            low, high = self.lattice.lower(low), self.lattice.upper(high)
        return low, np.minimum(high, 1.0)

    # ---- answers

    def delta(self, epsilon: FloatArray, rtol: float) -> Ends:
        """In closed form, or from the lattice."""
        if self.count == 1:
            pair = BoundedRangePair(self.range)
            at = epsilon + 4 * UNIT * np.abs(epsilon), epsilon - 4 * UNIT * np.abs(epsilon)
            low, high = (pair.stick_ends(x)[i] for i, x in enumerate(at))
            high = np.where(epsilon >= self.range, 0.0, np.minimum(high, 1.0))
            return Ends(np.minimum(low, high), high, self.method)
        hair = 8 * UNIT * (np.abs(epsilon) + self.count * self.range)  # of the lattice, whose step is rounded
        lower, upper = self._between(epsilon + hair)[0], self._between(epsilon - hair)[1]
        # never a zero that is only an underflow
        upper = np.where(epsilon >= self.count * self.range * (1 + 4 * UNIT), 0.0, np.maximum(upper, LEAST))
        lower = np.maximum(lower, -np.expm1(np.minimum(epsilon, 0.0)) * (1 - ROUNDING))
        return Ends(np.minimum(lower, upper), np.minimum(upper, 1.0), self.method)

    def _between(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Between lattice points: below chords in e^x, above their continuation."""
        place = np.clip(np.searchsorted(self.x, epsilon, side="right") - 1, 0, self.x.size - 3)
        at, cell = np.clip(epsilon, self.x[0], self.x[-1]), math.expm1(self.step)
        share = np.clip(np.expm1(at - self.x[place]) / cell, 0.0, 1.0)
        wide = 1e-12  # rounding of the share
        upper = self.high[place] * np.minimum(1 - share + wide, 1.0) + self.high[place + 1] * share
        fall = np.maximum(self.low[place + 1] - self.high[place + 2], 0.0)
        lower = self.low[place + 1] + fall * np.maximum(-np.expm1(at - self.x[place + 1]), 0.0) / cell * (1 - 1e-9)
        plain = -np.expm1(np.minimum(epsilon, 0.0))
        lower = np.where(epsilon >= self.x[-1], 0.0, np.where(epsilon < self.x[0], plain, lower))
        upper = np.where(epsilon >= self.x[-1], 0.0, np.where(epsilon < self.x[0], plain, upper))
        return lower * (1 - ROUNDING), upper * (1 + ROUNDING)

    def epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        """By bisection of both ends of delta, which fall."""
        lower, upper = np.zeros(delta.size), np.full(delta.size, self.count * self.range * (1 + 4 * UNIT))
        ends = [(lower.copy(), upper.copy()), (lower.copy(), upper.copy())]
        for _ in range(64):
            for side, (left, right) in enumerate(ends):
                middle = 0.5 * (left + right)
                found = self.delta(middle, rtol)
                above = (found.lower if side == 0 else found.upper) > delta
                np.copyto(left, middle, where=above)
                np.copyto(right, middle, where=~above)
        low, high = ends[0][0], ends[1][1]
        zero = self.delta(np.zeros(1), rtol)
        low = np.where(zero.lower[0] <= delta, 0.0, low * (1 - 4 * UNIT))
        return Ends(low, np.where(zero.upper[0] <= delta, 0.0, np.maximum(high, low)), self.method)

    def beta(self, alpha: FloatArray, mirror: Callable[[], Engine]) -> Ends:
        """One release in closed form; of several, what the response among them attains, and nothing else is known."""
        if self.count == 1:
            value = (1.0 - alpha) / (1.0 + math.expm1(self.range) * alpha)
            return Ends(value * (1 - ROUNDING), np.minimum(value * (1 + ROUNDING), 1.0), self.method)
        pair = self.pairs[0][0]
        response = (
            ExactEngine.of([(pair.response, self.count)], self.x.size) if isinstance(pair, AttainedRangePair) else None
        )
        if response is None:
            raise Declined
        return response.beta(alpha, lambda: response)

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        raise Declined

    def everywhere(self, complement: bool) -> View | None:
        return None

    def view(self, theta: float, log_width: float) -> View | None:
        return None


# ---- among other releases, and more than the recursion is worth


def adaptive_pairs(pairs: Counted) -> Counted | None:
    """Those of bounded range that tell most, as pairs of what an adaptive analyst gains; None where nothing changes.

    Whoever has seen all other releases chooses best, so that D(x) = E D_k(x - S), S the others' loss: a composition
    with the pair that has the profile D_k.  Its chords on the lattice lie above D_k.  More than MAX_RELEASES are
    blocks, each with a D_k of its own.  Releases of other ranges stay the pairs that dominate them.
    """
    several = [(pair, count) for pair, count in pairs if isinstance(pair, BoundedRangePair) and count > 1]
    ranges = [
        (pair, count)
        for pair, count in several
        if pair.top <= MAX_RANGE and pair.top * min(count, MAX_RELEASES) <= MAX_REACH and _sharp(pair.top, count)
    ]
    if not ranges:
        return None
    pair, count = max(ranges, key=lambda one: one[1] * one[0].top ** 2)
    if len(pairs) == 1 and count <= MAX_RELEASES:
        return None
    return [*_blocks(pair.top, count), *((other, n) for other, n in pairs if other is not pair)]


def _sharp(epsilon: float, count: int) -> bool:
    """Whether the rounding of the recursion, which grows as ranges shrink, is less than what adaptive choices save."""
    size = next(most for most in SIZES if most >= min(count, MAX_RELEASES))
    cells = min(max(COARSE // size, LEAST_CELLS), MOST_CELLS)
    return 4 * UNIT * size * cells <= MOST_ROUNDED * epsilon**2


@lru_cache(maxsize=16)
def _blocks(epsilon: float, count: int) -> tuple[tuple[Pair, int], ...]:
    size = min(count, MAX_RELEASES)
    times, rest = divmod(count, size)
    lattice, values = _all_up_to(epsilon, next(most for most in SIZES if most >= size))
    found: list[tuple[Pair, int]] = [(_pair_of(lattice, values[rest], rest), 1)] if rest else []
    return (*found, (_pair_of(lattice, values[size], size), times))


@lru_cache(maxsize=4)
def _all_up_to(epsilon: float, size: int) -> tuple[Recursion, list[FloatArray]]:
    """D_0, D_1, ... from above, for compositions that grow one by one."""
    lattice = Recursion(epsilon, size, COARSE)
    values = [lattice.none * (1 + 4 * UNIT)]
    for _ in range(size):
        values.append(lattice.upper(values[-1]))
    return lattice, values


def _pair_of(lattice: Recursion, values: FloatArray, told: int) -> FinitePair:
    """The pair whose profile is the convex hull of these values on the lattice: D_k is convex in e^x, and below them.

    Its masses are what slopes in e^x differ by: that of loss x > 0 under P is the slope to the right of x less that to
    the left, times e^x.  Ranges know no direction, so that loss -x has the masses of x exchanged, and loss 0 the rest.
    Where rounding makes them more than 1 together the least losses lose theirs: chords between x and -x lie above D_k.
    """
    end, middle = told * lattice.cells, lattice.x.size // 2  # the largest loss, beyond which nothing is left
    x, high = lattice.x[middle : middle + end + 1], np.minimum(values[middle : middle + end + 1], 1.0)
    fall, cell = np.diff(high), math.expm1(lattice.step)
    right, left = np.append(fall / cell, 0.0), np.append(-2.0 / cell, fall / -math.expm1(-lattice.step))
    rounding = 8 * UNIT * (high + np.append(high[0], high[:-1])) / -math.expm1(-lattice.step)
    p = np.maximum(convex(right - left, lattice.step), 0.0) + rounding
    p[end] += float(p[p <= LEAST].sum()) + LARGER  # which takes what is too faint
    p[p <= LEAST] = p[0] = 0.0
    both = p * (1 + np.exp(-x))
    beyond = np.cumsum(both[::-1])[::-1] - both
    p *= np.minimum(both, np.maximum(1.0 - beyond, 0.0)) / np.where(both > 0, both, 1.0)
    q = p * np.exp(-x)
    p = np.concatenate((q[:0:-1], [max(1.0 - float((p + q).sum()), 0.0)], p[1:]))
    live = np.flatnonzero(p > LEAST)
    losses, p = np.concatenate((-x[:0:-1], x))[live], p[live]
    step, first = Fraction(lattice.range) / lattice.cells, int(live[0]) - end
    indices = live - live[0]
    return FinitePair(
        losses,
        p,
        p * np.exp(-losses),
        lattice=Lattice(first * step, step, indices, p),
        relative=ROUNDING,
        loss_error=8 * UNIT * float(np.abs(losses).max()),
    )
