"""One cut planned: which tilt, which period, one line or two. It only steers; bounds are those of `cut` and `line`."""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.jumps.cut import ROOM, Cells, Cut, Light
from quiltwork.compose.engines.jumps.line import MOST_FREQUENCIES, Line
from quiltwork.numbers.rounding import UNIT

TILTS = np.geomspace(0.3, 900.0, 30)  # times epsilon, as are cutoffs
CUTOFFS, USUAL_CUTOFFS = np.geomspace(4.0, 2e4, 18), np.geomspace(4.0, 1e5, 40)
ACCURACY = 1e-7  # of D, that is aimed at
LOST = math.log(1e6)  # how far above delta the integrand may start
HEAVY, LEAST = 1e3, 1e-300  # what usual losses may add, of delta, and at all, for a line of their own


@attrs.frozen(eq=False)
class Sight:
    """D near one epsilon: D_C closed, D_F on its line, D_(A^T) bounded or on a line of its own."""

    cut: Cut
    tilts: FloatArray
    jumps: tuple[Line, FloatArray]
    usual: tuple[Line, FloatArray] | None
    light: Light

    def __call__(self, epsilon: float) -> tuple[float, float]:
        """Ends of D."""
        low, high = self.cut.far(epsilon)
        line, logs = self.jumps
        first = line.read(epsilon, self.tilts, logs)
        if self.usual is None:
            second = 0.0, self.light(epsilon)
        else:
            second = self.usual[0].read(epsilon, self.tilts, self.usual[1])
        low, high = low + first[0] + max(second[0], 0.0), high + first[1] + second[1]
        return low - 8 * UNIT * abs(low), high * (1 + 8 * UNIT)


@attrs.frozen(eq=False)
class Aimed:
    """A line that was planned, and its price: period times cutoff, more where digits get lost."""

    rung: int
    period: float
    cutoff: float
    tail: float
    price: float


@attrs.frozen(eq=False, slots=False)
class Plan:
    """One cut with its moments on a ladder of tilts, and the cheapest line for F."""

    cells: Cells
    epsilon: float
    delta: float
    tilts: FloatArray
    a: FloatArray
    b: FloatArray
    log_a: FloatArray  # of A^T, above
    log_f: FloatArray  # of F, above
    light: Light
    jumps: Aimed

    @cached_property
    def bound(self) -> float:
        """What sums of usual losses add at most."""
        return self.light(self.epsilon)

    @cached_property
    def ways(self) -> list[Way]:
        """Without and with a line for the usual losses, the cheaper first; each where it can do."""
        bound, found = self.bound, list[Way]()
        if bound <= 0.3 * ACCURACY * self.delta:
            found.append(Way(self, None))
        if LEAST < bound <= HEAVY * self.delta and (usual := self.usual) is not None:
            found.append(Way(self, usual))
        return sorted(found, key=lambda way: way.price)

    @classmethod
    def of(cls, cut: Cut, epsilon: float, delta: float) -> Plan | None:
        """None where no line for F is short enough."""
        cells, tilts = Cells(cut), TILTS / max(epsilon, 1e-12)
        with np.errstate(all="ignore"):
            a, b = cells.above(tilts)
            log_a = cut.count * (np.log(a) + ROOM)
            x = cut.count * np.log1p(b / a) * (1 + ROOM)
            log_f = log_a + np.where(x < 30, np.log(np.expm1(np.minimum(x, 30.0))), x) + ROOM
        log_a, log_f = (np.where(np.isnan(logs), np.inf, logs) for logs in (log_a, log_f))
        light = Light(cells, tilts, log_a + _log_peak(tilts))
        jumps = _chosen(cells, epsilon, delta, tilts, a, log_a, log_f)
        return None if jumps is None else cls(cells, epsilon, delta, tilts, a, b, log_a, log_f, light, jumps)

    def line(self, aimed: Aimed, parts: int) -> tuple[Line, FloatArray]:
        """The line of F (two parts) or of A^T (one), and logs of the bounds of its aliases."""
        logs, rung = self.log_f if parts == 2 else self.log_a, aimed.rung
        slack = math.log(self.cells.cut.count) + 4.0 - math.log(ACCURACY * self.delta)
        need = float(logs[rung]) - float(self.tilts[rung]) * self.epsilon + slack
        sizes = (float(self.a[rung]), float(self.b[rung]))[:parts]
        theta = float(self.tilts[rung])
        line = Line(self.cells, theta, aimed.period, aimed.cutoff, aimed.tail, sizes, max(need, 20.0))
        return line, logs + _log_peak(self.tilts)

    @property
    def usual(self) -> Aimed | None:
        """The cheapest line for A^T."""
        cut, epsilon, tilts = self.cells.cut, self.epsilon, self.tilts
        goal = math.log(ACCURACY * self.delta) + tilts * epsilon - 1.5
        periods = _periods(cut, epsilon, tilts, self.log_a, goal)
        lost = self.log_a - tilts * epsilon - math.log(self.delta)
        able = np.isfinite(periods) & np.isfinite(lost) & (lost < LOST + 6)
        cost = np.where(able, periods * (10 + np.maximum(lost, 0.0)), np.inf)
        for rung in np.argsort(cost)[:4].tolist():
            if not math.isfinite(cost[rung]):
                break
            cutoff = USUAL_CUTOFFS / epsilon
            fade = self.cells.fading(float(tilts[rung]), float(self.a[rung]), cutoff)
            tail = self.log_a[rung] + cut.count * fade - np.log(math.pi * cutoff) + ROOM
            good = np.flatnonzero(tail <= goal[rung])
            if good.size and periods[rung] * cutoff[good[0]] / 6.28 <= MOST_FREQUENCIES:
                end, period = float(cutoff[good[0]]), float(periods[rung])
                return Aimed(rung, period, end, math.exp(float(tail[good[0]])) * (1 + 1e-9), period * end)
        return None


@attrs.frozen(eq=False)
class Way:
    """A plan, with a second line for the usual losses or with their bound alone."""

    plan: Plan
    usual: Aimed | None

    @property
    def price(self) -> float:
        """Of its lines together."""
        return self.plan.jumps.price + (0.0 if self.usual is None else self.usual.price)

    def sight(self) -> Sight:
        """Both lines computed."""
        plan, second = self.plan, None if self.usual is None else self.plan.line(self.usual, 1)
        return Sight(plan.cells.cut, plan.tilts, plan.line(plan.jumps, 2), second, plan.light)


def _log_peak(tilts: FloatArray) -> FloatArray:
    """log of max over y of e^(-ty)(1 - e^-y)+, nudged up."""
    peak: FloatArray = -tilts * np.log1p(1 / tilts) - np.log1p(tilts) + ROOM
    return peak


def _periods(cut: Cut, epsilon: float, tilts: FloatArray, logs: FloatArray, goal: FloatArray) -> FloatArray:
    """For every tilt a period that makes right aliases small enough, and left ones known."""
    s = tilts[None, :] - tilts[:, None]
    with np.errstate(all="ignore"):
        reach = ((logs + _log_peak(tilts))[None, :] - goal[:, None]) / s
    reach = np.where((s > 0.06 * tilts[:, None]) & np.isfinite(logs)[None, :], reach, np.inf)
    periods: FloatArray = np.maximum(1.02 * (reach.min(axis=1) - epsilon), 1.05 * (epsilon - cut.floor))
    return periods


def _chosen(
    cells: Cells, epsilon: float, delta: float, tilts: FloatArray, a: FloatArray, log_a: FloatArray, log_f: FloatArray
) -> Aimed | None:
    """The cheapest line for F."""
    count = cells.cut.count
    goal = math.log(ACCURACY * delta) + tilts * epsilon - 1.5
    periods = _periods(cells.cut, epsilon, tilts, log_f, goal)
    lost = log_f - tilts * epsilon - math.log(delta)
    with np.errstate(all="ignore"):
        cost = periods * (20 + np.maximum(lost, 0.0)) * np.exp(np.maximum(lost - LOST, 0.0))
    cost = np.where(np.isfinite(periods) & np.isfinite(lost), cost, np.inf)
    for rung in np.argsort(cost)[:3].tolist():
        if not math.isfinite(cost[rung]):
            break
        cutoff = CUTOFFS / epsilon
        with np.errstate(all="ignore"):
            x = count * np.log1p(cells.decay(float(tilts[rung]), cutoff) / a[rung]) * (1 + ROOM)
            tail = log_a[rung] + np.where(x < 30, np.log(np.expm1(np.minimum(x, 30.0))), x) - np.log(math.pi * cutoff)
            good = np.flatnonzero(tail <= goal[rung])
        if good.size:
            at = int(good[0])
            price = float(periods[rung] * cutoff[at] * math.exp(max(float(lost[rung]) - LOST, 0.0)))
            return Aimed(rung, float(periods[rung]), float(cutoff[at]), math.exp(float(tail[at])) * (1 + 1e-8), price)
    return None
