"""Lipschitz propagation: what one side of an entry can add, whatever the mechanism.

A mechanism that is e-DP for every entry has a likelihood V that changes by at most a factor e^e when one entry changes.
Averaged over the entries beyond y, it is a function g of y alone, and log g varies by at most r.  Then

    Psi_M(r)[u, v] = max over g in [1, e^r]^k of log (M_u . g) / (M_v . g)

bounds what the law M of the next entry lets through; the best g is e^r on a set where M_u / M_v is large, 1 elsewhere.
The sort does not depend on r, so that each table is sorted once.

Reference: theory/pufferfish.md 3.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.numbers.matrices import log_ratios
from quiltwork.numbers.rounding import UNIT, up
from quiltwork.pufferfish.translation.kernels import Kernels
from quiltwork.pufferfish.translation.transport import Transport

MANY_COLUMNS = 40  # from which on each two rows are sorted once
FRONT_BLOCK = 1 << 18  # points whose hull is taken at a time
MAX_EXPONENT = 600.0  # beyond this e^r overflows, and the limit is as good
MAX_SLOPED_STATES, SLOPE_PASSES = 12, 6  # states up to which each pair's own slope is used, and how often
ENDLESS_ENTRIES = 4000  # entries on one side, from which on it is taken as endless
SHORT, SCALAR = 40, 12  # entries on one side that are taken one by one, with few and with many states
MAX_ROUNDS, NARROW = 4000, 1e-13
ROOMS = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 0.1, 1.0)  # by how much a limit is moved up until it is checked


@attrs.frozen(eq=False)
class Spread:
    """Psi_M of one matrix of laws, ready for many r."""

    above: FloatArray  # (rows, rows, columns): M_u of the first sets in falling order of M_u / M_v
    below: FloatArray  # M_v of the same sets
    first: np.ndarray  # (rows, rows): the column that u favours most against v
    limit: FloatArray  # r to infinity
    error: float
    front: tuple[FloatArray, FloatArray, float]  # (above, below) that can be the largest of all, and what it may miss
    ranked: tuple[np.ndarray, FloatArray, FloatArray] | None  # few columns: their order, and both laws in that order

    @classmethod
    def of(cls, matrix: FloatArray, possible: np.ndarray, error: float) -> Spread:
        """Sort once."""
        rows, columns = matrix.shape
        above, below = np.empty((rows, rows, columns)), np.empty((rows, rows, columns))
        first = np.zeros((rows, rows), dtype=np.int64)
        ranked = None
        if columns <= MAX_SLOPED_STATES:
            ranked = np.empty(above.shape, dtype=np.int64), np.empty(above.shape), np.empty(above.shape)
        half = columns > MANY_COLUMNS  # the order against a later row, read backwards, is that of the later row
        for u in range(rows):
            others = matrix[u:] if half else matrix
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                ratio = np.where(matrix[u] > 0, matrix[u] / others, 0.0)
            order = np.argsort(-ratio, axis=1, kind="quicksort" if half else "stable")
            own, other = matrix[u][order], np.take_along_axis(others, order, 1)
            here = slice(rows - len(others), None)
            above[u, here], below[u, here], first[u, here] = own.cumsum(axis=1), other.cumsum(axis=1), order[:, 0]
            if half:
                above[here, u], below[here, u] = other[:, ::-1].cumsum(axis=1), own[:, ::-1].cumsum(axis=1)
                first[here, u] = order[:, -1]
            if ranked is not None:
                ranked[0][u], ranked[1][u], ranked[2][u] = order, own, other
        limit = np.maximum(log_ratios(matrix, possible, error), 0.0)
        return cls(
            above,
            below,
            first,
            limit,
            error + (columns + 4) * UNIT,
            _front(above, below),
            ranked,
        )

    def largest(self, r: float) -> float:
        """The largest entry of Psi(r), rounded up."""
        if r > MAX_EXPONENT:
            return float(min(self.limit.max(), r))
        above, below, missed = self.front
        found = float(self._rounded(float(np.log1p(_gain(above, below, r).max(initial=0.0))), r))
        return up(found + missed * min(1.0, float(np.expm1(r))))

    def each(self, r: float) -> FloatArray:
        """Psi(r) for every ordered pair of rows, rounded up."""
        gain = np.full(self.limit.shape, r)
        if r <= MAX_EXPONENT:
            rows = [_gain(above, below, r).max(axis=-1) for above, below in zip(self.above, self.below, strict=True)]
            gain = self._rounded(np.log1p(np.maximum(rows, 0.0)), r)
        found = np.minimum(gain, self.limit)
        np.fill_diagonal(found, 0.0)
        return np.asarray(found)

    def through(self, slope: FloatArray) -> FloatArray:
        """The best bound for so many columns, with log g(y) / g(w) <= slope[y, w]; a single column tells nothing."""
        if len(slope) == 1:
            return np.zeros(self.limit.shape)
        return self.directed(slope) if len(slope) == 2 else self.anchored(slope)

    def directed(self, slope: FloatArray) -> FloatArray:
        """Two columns: g_0 / g_1 <= e^slope[0, 1] and g_1 / g_0 <= e^slope[1, 0] give the exact maximum."""
        r = np.asarray(slope)[self.first, 1 - self.first]
        z = np.expm1(np.minimum(r, MAX_EXPONENT))
        gain = np.log1p(z * (self.above[..., 0] - self.below[..., 0]) / (1.0 + z * self.below[..., 0]))
        gain = np.maximum(gain, 0.0)
        rounded = up(gain + 4.0 * np.minimum(1.0, z) * self.error + 8.0 * UNIT * gain, 2)
        found = np.minimum(np.where(r > MAX_EXPONENT, r, rounded), self.limit)
        np.fill_diagonal(found, 0.0)
        return np.asarray(found)

    def anchored(self, slope: FloatArray) -> FloatArray:
        """A sharper bound for few columns, when log g(y) / g(w) <= slope[y, w] is known for each two of them.

        Where g is least, at w, every other g(y) lies between g(w) and e^slope[y, w] g(w): a box for each w, and the
        best point of a box is again a set of the largest ratios.
        """
        if self.ranked is None or float(slope.max()) > MAX_EXPONENT:
            return self.each(float(slope.max()))
        order, own, other = self.ranked
        room = np.expm1(slope.T)[:, order]  # one box for each place of the least
        above, below = np.cumsum(room * own, axis=-1), np.cumsum(room * other, axis=-1)
        found = np.log1p(np.maximum(((above - below) / (1.0 + below)).max(axis=(0, -1)), 0.0))
        found = np.minimum(self._rounded(found, float(slope.max())), self.limit)
        np.fill_diagonal(found, 0.0)
        return np.asarray(found)

    def _rounded(self, value: Any, r: float) -> FloatArray:
        return np.asarray(up(value + 4.0 * min(1.0, float(np.expm1(r))) * self.error + 8.0 * UNIT * value, 2))


def _gain(above: FloatArray, below: FloatArray, r: float) -> FloatArray:
    """(1 + z above) / (1 + z below) - 1, z = e^r - 1, without cancellation; the logarithm is left for the largest."""
    z = float(np.expm1(r))
    return np.asarray(z * (above - below) / (1.0 + z * below))


def _front(above: FloatArray, below: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """The points that can be the largest for some r: corners of the concave hull of all of them.

    Whether (1 + z above) / (1 + z below) exceeds a level is linear in the point.  A point is dropped when it lies below
    a chord, up to a few units of rounding; one after another these may add up, and the third value bounds them.
    """
    corners: FloatArray = np.zeros((2, 0))
    missed = 0.0
    rows = max(1, FRONT_BLOCK // above[0].size)
    for start in range(0, len(above), rows):
        low, high = below[start : start + rows].ravel(), above[start : start + rows].ravel()
        if start:  # only what lies above the corners so far
            new = high > np.interp(low, corners[0], corners[1], left=-1.0) * (1 - 4 * UNIT)
            low, high = np.concatenate((corners[0], low[new])), np.concatenate((corners[1], high[new]))
        corners, lost = _corners(low, high)
        missed += lost
    return corners[1], corners[0], missed


def _corners(low: FloatArray, high: FloatArray) -> tuple[FloatArray, float]:
    """Corners of the concave hull in rising order, and what dropping one point after another may have missed."""
    order = np.argsort(low)
    low, high = low[order], high[order]
    kept = high > np.concatenate(([-1.0], np.maximum.accumulate(high)[:-1]))
    low, high, passes = _thinned(low[kept], high[kept])
    hull: list[tuple[float, float]] = []
    for point in zip(low.tolist(), high.tolist(), strict=True):
        while len(hull) > 1 and bool(_below(*hull[-2], *hull[-1], *point)):
            hull.pop()
        hull.append(point)
    return np.array(hull).T, 8.0 * UNIT * (low.size + passes)


def _thinned(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray, int]:
    """Without points below the line through their two neighbours: every second one at a time, all at once."""
    idle, passes = 0, 0
    while low.size > 200 and idle < 2:
        start = idle % 2
        middle = np.arange(start + 1, low.size - 1, 2)
        gone = _below(low[middle - 1], high[middle - 1], low[middle], high[middle], low[middle + 1], high[middle + 1])
        idle = idle + 1 if np.count_nonzero(gone) < low.size // 50 else 0
        stay = np.ones(low.size, dtype=bool)
        stay[middle[gone]] = False
        low, high, passes = low[stay], high[stay], passes + 1
    return low, high, passes


def _below(x1: Any, y1: Any, x2: Any, y2: Any, x3: Any, y3: Any) -> Any:
    """Whether the middle point lies strictly below the line through the others; points on it are kept."""
    return (y2 - y1) * (x3 - x1) < (y3 - y1) * (x2 - x1)


@attrs.frozen(eq=False)
class OneSide:
    """Everything on one side of an entry, one step after another: S <= (d - 1) e + Psi_{M^d}(e + S) for any d.

    Any S >= 0 that this maps to something no larger bounds a side of every length: a side of n entries follows from one
    of n - d, and an empty side adds nothing.  Iterating from 0 therefore gives every finite side, and its limit, moved
    up a little and checked, the infinite one.
    """

    spreads: Sequence[Spread]
    steps: tuple[int, ...]
    transport: Transport | None = None  # where few states follow each one

    @property
    def binary(self) -> bool:
        """Two states: directions are followed one by one, and the result is exact."""
        return len(self.spreads[0].above) == 2

    def after(self, own: FloatArray, count: int) -> FloatArray:
        """The bound for a side of `count` entries; `own` is what one entry's own value adds."""
        return self.settled(own) if count > ENDLESS_ENTRIES else self.upto(own, count)[count]

    def upto(self, own: FloatArray, count: int) -> list[FloatArray]:
        """The bounds for sides of 0, 1, ..., `count` entries."""
        if self.binary:
            return self._directed(own, count)
        few = self.spreads[0].ranked is not None
        found = self._stepwise(own, min(count, SHORT)) if few else self._scalar(own, min(count, SCALAR))
        if count <= 2:
            return found
        # an endless side bounds every other one
        cost, endless = float(own.max()), self.settled(own)
        more = range(len(found), count + 1)
        found = [np.asarray(np.minimum(one, endless)) for one in found]
        return found + [np.asarray(np.minimum(endless, up(n * cost) * (1.0 - np.eye(len(own))))) for n in more]

    def _directed(self, own: FloatArray, count: int) -> list[FloatArray]:
        found = [np.zeros_like(own)]
        for n in range(1, count + 1):
            most = up(n * float(own.max()))  # whole: behind emissions one direction may borrow from the other
            found.append(np.minimum(self.spreads[0].directed(own + found[-1]), most * (1.0 - np.eye(2))))
        return found

    def _scalar(self, own: FloatArray, count: int) -> list[FloatArray]:
        cost, sizes, found = float(own.max()), [0.0], [np.zeros_like(own)]
        for n in range(1, count + 1):
            found.append(self._each(cost, sizes[::-1], n))
            sizes.append(float(found[-1].max()))
        return found

    def _stepwise(self, own: FloatArray, count: int) -> list[FloatArray]:
        """Few states and a short side: every pair's own bound, one entry after another."""
        cost, found = float(own.max()), [np.zeros_like(own)]
        kernels = None if self.transport is None else Kernels.of(self.transport.matrix)
        for n in range(1, count + 1):
            steps = [up((d - 1) * cost + s.anchored(own + found[n - d]), 2) for s, d in self._within(min(n, 4))]
            if self.transport is not None:
                steps.append(self.transport.through(own + found[-1], kernels))
            now = np.minimum(np.minimum.reduce(steps), up(n * cost))
            np.fill_diagonal(now, 0.0)
            found.append(now)
        return found

    def settled(self, own: FloatArray) -> FloatArray:
        """The bound for a side of any length; infinite when none is found."""
        if self.binary:
            return self._settled_pairs(own)
        found = self._sharper(own, self._settled_scalar(own))
        return found if self.transport is None else self.transport.settled(own, found)

    def _sharper(self, own: FloatArray, found: FloatArray) -> FloatArray:
        """What holds for the entries further on holds, one step nearer, with each pair's own slope."""
        if self.spreads[0].ranked is None or not np.isfinite(found).all():
            return found
        cost = float(own.max())
        for _ in range(SLOPE_PASSES):
            steps = [up((d - 1) * cost + s.anchored(own + found), 2) for s, d in self._within(4)]
            new = np.minimum(found, np.minimum.reduce(steps))
            np.fill_diagonal(new, 0.0)
            if float((found - new).max()) <= 1e-6 * float(found.max()):
                return np.asarray(new)
            found = new
        return found

    def _settled_pairs(self, own: FloatArray) -> FloatArray:
        def image(sides: FloatArray) -> FloatArray:
            return self.spreads[0].directed(own + sides)

        settled = _above_fixed_point(image, np.zeros_like(own), ROOMS[:-2])
        return _infinite(own) if settled is None else image(settled)

    def _settled_scalar(self, own: FloatArray) -> FloatArray:
        cost = float(own.max())
        if cost == 0.0:
            return np.zeros_like(own)

        def image(size: float) -> float:
            least = np.inf
            for place, d in enumerate(self.steps):
                if (d - 1) * cost >= least:
                    break  # longer steps pay more for what they skip
                least = min(least, (d - 1) * cost + self.spreads[place].largest(cost + size))
            return up(least, 2)

        settled = _above_fixed_point(image, 0.0, ROOMS)
        return _infinite(own) if settled is None else self._each(cost, [settled] * (max(self.steps) + 1), np.inf)

    def _within(self, count: float) -> Iterator[tuple[Spread, int]]:
        return ((self.spreads[place], d) for place, d in enumerate(self.steps) if d <= count)

    def _each(self, cost: float, beyond: Sequence[float], count: float) -> FloatArray:
        """Every pair of a side of so many entries, after a step of d with at most beyond[d - 1] left behind it."""
        least = np.full((len(self.spreads[0].above),) * 2, np.inf)
        for s, d in self._within(count):
            if (d - 1) * cost >= float(least.max()):
                break  # longer steps pay more for what they skip
            least = np.minimum(least, up((d - 1) * cost + s.each(cost + beyond[d - 1]), 2))
        least = np.minimum(least, up(count * cost))
        np.fill_diagonal(least, 0.0)
        return np.asarray(least)


def _infinite(own: FloatArray) -> FloatArray:
    found = np.full_like(own, np.inf)
    np.fill_diagonal(found, 0.0)
    return found


def _above_fixed_point(image: Callable[[Any], Any], now: Any, rooms: Sequence[float]) -> Any:
    """A little above where iteration settles, with an image that is no larger; None when none is found.

    It jumps ahead by the ratio of steps, and back when it went too far.
    """
    for _ in range(MAX_ROUNDS):
        one = image(now)
        two = image(one)
        if not np.isfinite(two).all() or np.max(two) > 1e6:
            return None
        if np.max(two - one) <= NARROW * np.max(two):
            now = two
            break
        now = _ahead(now, one, two, lambda jump: bool(np.all(image(jump) >= jump)))
    tried = (now * (1.0 + room) for room in rooms)
    return next((trial for trial in tried if bool(np.all(image(trial) <= trial))), None)


def _ahead(now: Any, one: Any, two: Any, below: Callable[[Any], bool]) -> Any:
    """Where the steps seem to lead, or most of the way there, as long as that is still below the limit."""
    ratio = np.minimum(np.maximum((two - one) / np.maximum(one - now, 1e-300), 0.0), 1.0 - 1e-9)
    for share in (1.0, 0.9, 0.5):
        jump = two + share * (two - one) * ratio / (1.0 - ratio)
        if below(jump):
            return jump
    return two
