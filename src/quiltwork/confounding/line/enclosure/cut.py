"""The certified enclosure of E_t(p||q) = integral of (p - t q)_+ for two mixtures of unimodal densities on the line.

The line is cut into cells.  Where the sign of p - t q is certain on a cell, neighbouring cells of one sign are joined,
and the difference of probabilities of the whole run is exact up to rounding.  Where it is not certain, the cell is
split at a zero of p - t q (found in plain floats, only to suggest where to cut) into cells that shrink towards it, and
elsewhere evenly.  A cell I that stays uncertain adds between max(0, P(I) - t Q(I)) and min(|I| max (p - t q)_+, P(I)),
a tail of unknown sign between 0 and its P.  The gap of a cell at a zero is of second order in its length: few remain.

Rounding: see `difference` for signs and `shapes` for probabilities; a split point is a double and so exact, whatever it
was meant to be.  Refining stops when what is left is below the width asked for, or is rounding itself.

Reference: theory/confounding.md section 1.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.line.enclosure.difference import Cells, Difference, TwoLaws
from quiltwork.confounding.line.enclosure.tails import TailOrder, revealed
from quiltwork.confounding.line.laws.components import Mixture
from quiltwork.errors import NotCertified
from quiltwork.numbers.rounding import UNIT

GRADES = 2.0 ** -np.array([2.0, 4.0, 7.0, 11.0, 17.0, 27.0])  # distances of cells from a zero, over the cell's length
EVEN = np.linspace(0.0, 1.0, 2 * GRADES.size + 2)
POLISH = 5
ROUNDS = 60
MOST_CELLS = 100_000
STRETCH = 60  # how often a tail may be doubled
DEEPEST = 20_000  # cells beyond which that is given up
LEAST = 1e-290
BLIND = 1e-3  # relative error of a density beyond which a tail is given up
MAX_EPSILON = 1e9  # epsilons beyond are answered from here
DEEPER = 40  # how often a smaller width may be tried, for the sake of a small delta


@attrs.frozen(eq=False)
class Cut:
    """What is known at one epsilon, each from both sides.

    `delta` is E_t(p||q); `rest` the integral of min(p, t q), that is 1 - delta without cancellation; `first` = Q(W) and
    `second` = P(not W) the errors of the test that rejects q on W, the cells where p - t q is certainly positive;
    `slope` is t Q(W), in plain floats the rate at which delta falls with epsilon; `positive` says that delta > 0 is
    proven, even where it is below the smallest float.
    """

    epsilon: float
    delta: tuple[float, float]
    rest: tuple[float, float]
    first: tuple[float, float]
    second: tuple[float, float]
    slope: float
    positive: bool
    cells: int


class _Sweep:
    """The cells at one epsilon while they are refined."""

    def __init__(self, difference: Difference, orders: tuple[TailOrder, TailOrder]) -> None:
        self.difference, self.orders = difference, orders
        places, *known = difference.laws.grid
        self.done: list[tuple[FloatArray, ...]] = []  # a, b, sign, and both bounds on the integral
        self.count, self.positive = 0, False
        self.ends = [float(places[0]), float(places[-1])]
        self.tail_sign = [0, 0]
        self.middle, self.reach = 0.5 * (self.ends[0] + self.ends[1]), 0.5 * (self.ends[1] - self.ends[0])
        self.open = self._sorted_out(difference.cells(places[None, :], (known[0], known[1], known[2])))

    def _sorted_out(self, cells: Cells) -> Cells:
        """Keep the certain cells, return the others."""
        self.count += cells.a.size
        self.positive |= bool(np.any((cells.low > 0) & (cells.b > cells.a)))
        sign = np.where(cells.low >= 0, 1, np.where(cells.high <= 0, -1, 0))
        sign = np.where((sign == 0) & (cells.most == 0), -1, sign)
        kept = cells.b > cells.a
        sure = kept & (sign != 0)
        plus = sign > 0
        bounds = np.where(plus, cells.least, 0.0), np.where(plus, cells.most, 0.0)
        self.done.append((cells.a[sure], cells.b[sure], sign[sure], bounds[0][sure], bounds[1][sure]))
        return _picked(cells, kept & (sign == 0))

    def refine(self, target: float, most: int = MOST_CELLS) -> None:
        """Split cells until what is uncertain is below the target, or nothing helps any more."""
        for side in (0, 1):
            self._stretch(side, target / 8.0)
        for _ in range(ROUNDS):
            gaps = self.open.most
            if not gaps.size or float(gaps.sum()) <= target / 2.0 or self.count > most:
                return
            useful = (gaps > target / (8.0 * gaps.size)) & ~self.open.stalled
            if not bool(useful.any()):
                return
            allowed = (most - self.count) // EVEN.size
            if int(useful.sum()) > allowed:  # the widest first
                useful &= gaps >= np.sort(gaps[useful])[-max(allowed, 1)]
            split = _picked(self.open, useful)
            kept = _picked(self.open, ~useful)
            fresh = self._sorted_out(self.difference.cells(self._cuts(split)))
            self.open = _joined(kept, fresh)

    def _cuts(self, cells: Cells) -> FloatArray:
        """Where to split: towards the zero where the ends differ in sign, evenly elsewhere."""
        a, b, length = cells.a[:, None], cells.b[:, None], (cells.b - cells.a)[:, None]
        points = a + length * EVEN
        crossing = np.flatnonzero(cells.left * cells.right < 0)
        if crossing.size:
            zero = self._zeros(_picked(cells, crossing))[:, None]
            steps = length[crossing] * np.concatenate((-GRADES, GRADES[::-1]))
            inner = np.clip(zero + steps, a[crossing], b[crossing])
            points[crossing] = np.concatenate((a[crossing], np.sort(inner, axis=1), b[crossing]), axis=1)
        points[:, 0], points[:, -1] = cells.a, cells.b
        return np.maximum.accumulate(np.clip(points, a, b), axis=1)

    def _zeros(self, cells: Cells) -> FloatArray:
        """Zeros by the Illinois rule on the log odds, which are nearly linear: suggestions only."""
        a, b = cells.a.copy(), cells.b.copy()
        at = self.difference.log_odds(np.concatenate((a, b)))
        f, g = at[: a.size], at[a.size :]
        found = 0.5 * (a + b)
        for _ in range(POLISH):
            with np.errstate(divide="ignore", invalid="ignore"):
                found = b - g * ((b - a) / (g - f))
            found = np.where(np.isfinite(found), np.clip(found, np.minimum(a, b), np.maximum(a, b)), 0.5 * (a + b))
            value = self.difference.log_odds(found)
            turned = value * g < 0
            a, f = np.where(turned, b, a), np.where(turned, g, 0.5 * f)
            b, g = found, value
        return found

    def _stretch(self, side: int, target: float) -> None:
        """Decide the sign of a tail, or move it out until its probability is below the target."""
        for _ in range(STRETCH):
            if self.tail_sign[side]:
                return
            self.tail_sign[side] = self.orders[side].sign(self.difference, self.ends[side])
            if self.tail_sign[side] or (target > 0 and self._tail(side) <= max(target, LEAST)):
                return
            if float(self.difference.laws.log_density(np.array([self.ends[side]]))[1].max()) > BLIND:
                return
            self.reach *= 2.0
            old, new = self.ends[side], self.middle + (2 * side - 1) * self.reach
            points = old + (new - old) * np.linspace(0.0, 1.0, 17) ** 2
            points[-1] = new
            self.ends[side] = new
            self.open = _joined(self.open, self._sorted_out(self.difference.cells(np.sort(points)[None, :])))

    def _tail(self, side: int) -> float:
        a, b = self._tail_ends(side)
        return float(self.difference.runs(np.array([a]), np.array([b])).p[1][0])

    def _tail_ends(self, side: int) -> tuple[float, float]:
        return (self.ends[1], math.inf) if side else (-math.inf, self.ends[0])

    def result(self) -> Cut:
        """Sum up: runs of certain cells, uncertain cells, tails."""
        tails, unsure = [self._tail_ends(side) for side in (0, 1)], self.open
        nothing = np.zeros(unsure.a.size)
        parts = [
            *self.done,
            (unsure.a, unsure.b, nothing, nothing, unsure.most),
            (*np.array(tails).T, np.array(self.tail_sign, dtype=float), np.zeros(2), np.full(2, np.inf)),
        ]
        a, b, sign, least, most = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(a, kind="stable")
        a, b, sign, least, most = a[order], b[order], sign[order], least[order], most[order]
        if not np.array_equal(b[:-1], a[1:]):
            raise NotCertified("an enclosure", "the cells do not cover the line: please report this as a bug")
        starts = np.flatnonzero(np.concatenate(([True], (sign[1:] != sign[:-1]) | (sign[1:] == 0))))
        least, most = np.add.reduceat(least, starts), np.add.reduceat(most, starts)
        a, b, sign = a[starts], b[np.append(starts[1:], a.size) - 1], sign[starts]
        many, grow = 1.0 + (order.size + 8.0) * UNIT, 1.0 + (a.size + 8.0) * UNIT
        least, most = least / many, most * many
        runs = self.difference.runs(a, b)
        if any(bool(np.isnan(end).any()) for ends in (runs.p, runs.q, runs.scaled, runs.gain) for end in ends):
            raise NotCertified("a probability", "it is not a number: please report this as a bug")
        (p_low, p_high), (q_low, q_high), (s_low, s_high), (gain_low, gain_high) = (
            (np.maximum(low, 0.0), np.maximum(high, 0.0)) for low, high in (runs.p, runs.q, runs.scaled, runs.gain)
        )
        plus, minus, unsure_runs = sign > 0, sign < 0, sign == 0
        left = np.minimum(most, p_high)
        gain_low = np.minimum(np.maximum(gain_low, least), left)
        delta = (
            float(gain_low[~minus].sum()) / grow,
            float(np.minimum(gain_high, left)[plus].sum() + left[unsure_runs].sum()) * grow,
        )
        small = np.minimum(p_high, s_high)
        rest = (
            float(p_low[minus].sum() + s_low[plus].sum() + np.maximum(p_low - left, 0.0)[unsure_runs].sum()) / grow,
            float(p_high[minus].sum() + s_high[plus].sum() + small[unsure_runs].sum()) * grow,
        )
        delta = (max(delta[0], 1.0 - rest[1] - 4e-16, 0.0), min(delta[1], 1.0))
        return Cut(
            self.difference.epsilon,
            delta,
            (max(rest[0], 0.0), min(rest[1], 1.0)),
            (float(q_low[plus].sum()) / grow, min(float(q_high[plus].sum()) * grow, 1.0)),
            (float(p_low[~plus].sum()) / grow, min(float(p_high[~plus].sum()) * grow, 1.0)),
            float(s_high[plus].sum()),
            self.positive,
            self.count,
        )


def _picked(cells: Cells, which: np.ndarray) -> Cells:
    return Cells(*(getattr(cells, field.name)[which] for field in attrs.fields(Cells)))


def _joined(one: Cells, two: Cells) -> Cells:
    return Cells(*(np.concatenate((getattr(one, f.name), getattr(two, f.name))) for f in attrs.fields(Cells)))


def cut(laws: TwoLaws, epsilon: float, width: float = 1e-11, rtol: float = 1e-6, *, pure: bool = False) -> Cut:
    """The enclosure at one epsilon: delta to within `width` and, where rounding allows, to within rtol of itself.

    With `pure` nothing uncertain is left if that is possible at all: for the question whether delta is zero.
    """
    if math.isinf(epsilon):
        low, high = revealed(laws) if epsilon > 0 else (1.0, 1.0)
        rest = (1.0 - high, 1.0 - low) if epsilon > 0 else (0.0, 0.0)
        return Cut(epsilon, (low, high), rest, (0.0, 1.0), (0.0, 1.0), 0.0, low > 0.0, 0)
    if abs(epsilon) > MAX_EPSILON:
        return _far(cut(laws, math.copysign(MAX_EPSILON, epsilon), width, rtol, pure=pure), laws, epsilon)
    difference = Difference(laws, epsilon)
    if not bool(difference.used.any()):
        return Cut(epsilon, (0.0, 0.0), (1.0, 1.0), (0.0, 0.0), (1.0, 1.0), 0.0, False, 0)
    sweep, target = _Sweep(difference, _orders(laws)), 0.0 if pure else width
    sweep.refine(target, MOST_CELLS // 10 if pure else MOST_CELLS)
    found = sweep.result()
    for _ in range(DEEPER):
        low, high = found.delta
        if pure or high - low <= min(width, rtol * high) or sweep.count > DEEPEST:
            break
        target = max(min(width, rtol * low), 1e-9 * high, LEAST)
        sweep.refine(target)
        before, found = found, sweep.result()
        if found.delta[1] - found.delta[0] > 0.5 * (before.delta[1] - before.delta[0]):
            break  # what is left is rounding
    return found


def _far(near: Cut, laws: TwoLaws, epsilon: float) -> Cut:
    """At an epsilon whose rounding alone would hide everything: delta falls with epsilon, the rest rises."""
    if epsilon < 0:
        return attrs.evolve(near, epsilon=epsilon, delta=(near.delta[0], 1.0), rest=(0.0, near.rest[1]), slope=0.0)
    hidden = revealed(laws)[0]
    return attrs.evolve(
        near, epsilon=epsilon, delta=(min(hidden, near.delta[1]), near.delta[1]),
        rest=(near.rest[0], min(1.0 - hidden + UNIT, 1.0)), slope=0.0, positive=hidden > 0.0,
    )  # fmt: skip


def _orders(laws: TwoLaws) -> tuple[TailOrder, TailOrder]:
    found = laws.__dict__.get("_orders")
    if found is None:
        found = laws.__dict__["_orders"] = (TailOrder(laws, -1), TailOrder(laws, 1))
    return found


def stick(first: Any, second: Any, epsilon: float, width: float = 1e-11) -> tuple[float, float]:
    """Both ends of E_t(p||q), t = e^epsilon; epsilon may be any number, also infinite.

    >>> from quiltwork.confounding.line.laws.components import Normal
    >>> low, high = stick(Normal(1.0, 1.0), Normal(0.0, 1.0), 0.0)
    >>> round(low, 12), high - low < 1e-11
    (0.382924922548, True)
    """
    place = float(checks.numbers("epsilon", epsilon, "a number, not NaN", -math.inf, math.inf))
    found = cut(TwoLaws(Mixture.of(first), Mixture.of(second)), place, checks.positive("width", width))
    return found.delta
