"""The planner: which cut, which tilt, which period. It only steers; every bound is that of `cut` and `line`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.characteristic import ContourEngine
from quiltwork.compose.engines.closed import SingleEngine
from quiltwork.compose.engines.engine import Declined, Engine
from quiltwork.compose.engines.jumps.cut import ROOM, UNLIKELY, Cells, Cut, Light
from quiltwork.compose.engines.jumps.line import MOST_FREQUENCIES, Line
from quiltwork.compose.engines.views.solve import SteeredEngine
from quiltwork.compose.releases import Counted
from quiltwork.curves.curve import Ends
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.poisson import PoissonPair
from quiltwork.losses.transforms.transform import TooCostly
from quiltwork.numbers.rounding import UNIT

RATIOS = (1.3, 1.8, 2.5, 3.5, 5.0, 7.0, 10.0, 15.0)  # of epsilon to the loss where jumps begin
WIDTHS, FINE_WIDTHS = (0.12, 0.06, 0.03), (0.015, 0.007)  # of the cut-off, in units of sigma
TILTS = np.geomspace(0.3, 900.0, 30)  # times epsilon
RATE = 0.05  # the largest rate
SELDOM, OFTEN = 1.5, 30.0  # how often all releases together draw the record: no tilt sees both worlds, or one may
FEW = 3  # questions at once: each has a line of its own
ACCURACY = 1e-7  # of D, that is aimed at
LOST = math.log(1e6)  # how far above delta the integrand may start
NARROW = 1e-4  # width of D, relative, that is good enough
CHEAP, FAIR, COSTLY = 1.5e3, 5e3, 1e10  # period times cutoff
LIGHT = 1e-3  # what usual losses add, of delta, from which on another cut is likely to do without their line
HOPELESS = 1e5  # what they add, of delta, with cut-offs that are too wide
HEAVY, LEAST = 1e3, 1e-300  # what they may add, of delta, and at all, for a line of their own
TRIED = 3  # views of one width
VIEWS, STEPS = 8, 40
STARTS, FAR = np.geomspace(1e-6, 600.0, 60), 2.0  # epsilons of one release; how far all may be from it
SEVERAL = (1.0, 1e3, 1e7, 1e12)


class JumpContourEngine(SteeredEngine):
    """Gaussian releases of one kind on small samples, the record removed."""

    method = "characteristic function"

    def __init__(self, pairs: Counted, sigma: float, rate: float, count: int) -> None:
        self.pairs, self.sigma, self.rate, self.count = pairs, sigma, rate, count

    @classmethod
    def of(cls, pairs: Counted, least: float = 0.0, most: float = OFTEN) -> JumpContourEngine | None:
        """None where the record is drawn less or more often, or noise is not Gaussian."""
        pair, count = pairs[0]
        if not (isinstance(pair, PoissonPair) and isinstance(pair.base, GaussianPair) and pair.removed):
            return None
        able = count > 1 and pair.rate <= RATE and least < count * pair.rate <= most and 0.02 < pair.base.mu < 12
        return cls(pairs, 1 / pair.base.mu, pair.rate, count) if able else None

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        raise Declined

    def beta(self, alpha: FloatArray, mirror: Callable[[], Engine]) -> Ends:
        raise Declined

    def delta(self, epsilon: FloatArray, rtol: float) -> Ends:
        if epsilon.size > FEW or bool((epsilon <= 0).any()):
            raise Declined
        found = []
        for one in epsilon.tolist():
            rough = min(self.count * float(self._single.delta(np.array([one]), 1e-3).upper[0]), 0.5)
            if not rough > 1e-290:
                raise Declined
            low, high = self._divergence(one, rough)
            found.append((max(low, 0.0), min(high, 1.0)))
        lower, upper = np.array(found).T
        return Ends(lower, upper, self.method)

    def _divergence(self, epsilon: float, rough: float) -> tuple[float, float]:
        """From one jump alone, which may be far less than what several tell."""
        for factor in SEVERAL:
            try:
                return self._aim(epsilon, min(rough * factor, 0.5))(epsilon)
            except Declined:
                continue
        raise Declined

    def epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        if delta.size > FEW:
            raise Declined
        lower, upper = np.array([self._epsilon(one) for one in delta.tolist()]).T
        return Ends(lower, upper, self.method)

    @property
    def _single(self) -> SingleEngine:
        return SingleEngine(self.pairs[0][0])

    def _start(self, delta: float) -> float:
        """Where one release has its share of delta, or a normal law of the usual losses all of it, if that is further.

        Between this and Chernoff's bound where they are close.
        """
        logs = np.log(np.maximum(self._single.delta(STARTS, 1e-3).upper, 1e-300))
        one = math.exp(float(np.interp(-math.log(delta / self.count), -logs, np.log(STARTS))))
        usual = self.rate * math.sqrt(self.count * math.expm1(min(self.sigma**-2, 1.0)))
        one = max(one, 0.9 * usual * math.sqrt(2 * math.log(max(usual / delta, 1.0))))
        try:
            most = ContourEngine.of(self.pairs)
            all_ = float(most.chernoff_epsilon(np.array([delta]), np.array([one]))[0]) if most else math.inf
        except (TooCostly, OverflowError):
            all_ = math.inf
        return math.sqrt(one * all_) if one < all_ < FAR * one else one

    def _epsilon(self, delta: float) -> tuple[float, float]:
        x = aimed = self._start(delta)
        sight = None
        for _ in range(VIEWS):
            aimed = x
            try:
                sight = self._aim(aimed, delta, sight)
            except Declined:  # one release alone costs less than all: look further out
                x = 1.25 * aimed
                continue
            x = _root(sight, delta, aimed)
            if abs(x / aimed - 1) < 0.03:
                break
        if sight is None:
            raise Declined
        return _enclosed(sight, delta, x)

    def _aim(self, epsilon: float, delta: float, before: Sight | None = None) -> Sight:
        """The first view that is narrow enough, or the narrowest."""
        seen: list[tuple[float, Sight]] = []

        def narrow(way: Way) -> bool:
            try:
                sight = way.sight()
                low, high = sight(epsilon)
            except (TooCostly, OverflowError, FloatingPointError):
                return False
            if high - low < math.inf:
                seen.append(((high - low) / (high + delta), sight))
            return high - low <= NARROW * (high + delta)

        for ways in self._ways(epsilon, delta, before):
            for way in ways[:TRIED]:
                if narrow(way):
                    return seen[-1][1]
        if not seen:
            raise Declined
        return min(seen, key=lambda one: one[0])[1]

    def _ways(self, epsilon: float, delta: float, before: Sight | None) -> Iterator[list[Way]]:
        """Those of the cut that served before, then those of each width, the cheapest first.

        The further left jumps begin, the more frequencies they need, and the less is left to the usual losses: once
        that no longer pays, the next width is looked at.
        """
        unlikely = UNLIKELY - math.log(delta)
        if before is not None:
            plan = self._plan(epsilon, delta, before.cut.ratio, before.cut.width, unlikely)
            yield [] if plan is None else plan.ways
        blunt = False
        for most, widths in ((FAIR, WIDTHS), (FAIR, FINE_WIDTHS), (COSTLY, WIDTHS)):
            for width in widths if blunt or widths is WIDTHS else ():
                found, least = list[Way](), math.inf
                for ratio in RATIOS:
                    plan = self._plan(epsilon, delta, ratio, width, unlikely)
                    if plan is None:
                        continue
                    found += plan.ways
                    price = min((way.price for way in plan.ways), default=math.inf)
                    light = plan.bound <= LIGHT * delta
                    hopeless = most == FAIR and plan.bound > HOPELESS * delta
                    dear, blunt = plan.jumps.price > (COSTLY if light else most), blunt or hopeless
                    if price <= CHEAP or price >= least < math.inf or hopeless or dear:
                        break
                    least = price
                yield sorted(found, key=lambda way: way.price)

    def _plan(self, epsilon: float, delta: float, ratio: float, width: float, unlikely: float) -> Plan | None:
        try:
            return Plan.of(Cut(self.sigma, self.rate, self.count, epsilon, ratio, width, unlikely), epsilon, delta)
        except (TooCostly, OverflowError):
            return None


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
            cutoff = np.geomspace(4.0, 1e5, 40) / epsilon
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
        cutoff = np.geomspace(4.0, 2e4, 18) / epsilon
        with np.errstate(all="ignore"):
            x = count * np.log1p(cells.decay(float(tilts[rung]), cutoff) / a[rung]) * (1 + ROOM)
            tail = log_a[rung] + np.where(x < 30, np.log(np.expm1(np.minimum(x, 30.0))), x) - np.log(math.pi * cutoff)
            good = np.flatnonzero(tail <= goal[rung])
        if good.size:
            at = int(good[0])
            price = float(periods[rung] * cutoff[at] * math.exp(max(float(lost[rung]) - LOST, 0.0)))
            return Aimed(rung, float(periods[rung]), float(cutoff[at]), math.exp(float(tail[at])) * (1 + 1e-8), price)
    return None


# ---- roots


def _middle(sight: Sight, epsilon: float) -> float:
    low, high = sight(epsilon)
    return 0.5 * (low + high)


def _slope(sight: Sight, epsilon: float) -> float:
    step = 1e-5 * epsilon
    return (_middle(sight, epsilon + step) - _middle(sight, epsilon - step)) / (2 * step)


def _root(sight: Sight, delta: float, x: float) -> float:
    """Newton's steps on log D, while they get shorter; they steer."""
    first, last = x, math.inf
    for _ in range(STEPS):
        try:
            middle = _middle(sight, x)
            slope = _slope(sight, x)
        except TooCostly:
            return x
        if middle <= 0:
            x *= 0.7
            continue
        move = middle * math.log(middle / delta) / slope if slope < 0 else 0.0
        after = min(max(x - move, 0.3 * x), 1.6 * x)
        size, last = last, abs(after - x)
        if last <= 1e-13 * x or (last >= 0.5 * size and last < 1e-6 * x):
            return after if last < size else x
        x = after
        if abs(x / first - 1) > 0.2:
            return x  # out of sight: look again
    return x


def _enclosed(sight: Sight, delta: float, x: float) -> tuple[float, float]:
    """Epsilons with certified D(upper) <= delta <= D(lower)."""
    try:
        (low, high), rate = sight(x), max(-_slope(sight, x) / delta, 1e-300)
        up, down = (1.3 * max(miss, 1e-14) / rate + 4 * UNIT * x for miss in (high / delta - 1, 1 - low / delta))
        upper = lower = math.nan
        for _ in range(STEPS):
            if math.isnan(upper):
                upper = x + up if sight(x + up)[1] <= delta * (1 - 4 * UNIT) else math.nan
            if math.isnan(lower):
                down = min(down, 0.9 * x)
                lower = x - down if sight(x - down)[0] >= delta * (1 + 4 * UNIT) else math.nan
            if not (math.isnan(upper) or math.isnan(lower)):
                return lower, upper
            up, down = 2 * up, 2 * down
    except (TooCostly, OverflowError):
        pass
    raise Declined
