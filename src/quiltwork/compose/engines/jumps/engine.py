"""Few or rare Gaussian releases, jumps apart on the contour: which cut, and where epsilon is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.characteristic import ContourEngine
from quiltwork.compose.engines.closed import SingleEngine
from quiltwork.compose.engines.engine import Declined, Engine
from quiltwork.compose.engines.jumps.cut import UNLIKELY, Cut
from quiltwork.compose.engines.jumps.plan import Plan, Sight, Way
from quiltwork.compose.engines.views.solve import SteeredEngine
from quiltwork.compose.releases import Counted
from quiltwork.curves.curve import Ends
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.poisson import PoissonPair
from quiltwork.losses.transforms.transform import TooCostly
from quiltwork.numbers.rounding import UNIT

RATIOS = (1.3, 1.8, 2.5, 3.5, 5.0, 7.0, 10.0, 15.0)  # of epsilon to the loss where jumps begin
WIDTHS, FINE_WIDTHS = (0.12, 0.06, 0.03), (0.015, 0.007)  # of the cut-off, in units of sigma
FINEST = 0.004  # of those, themselves: nodes are as dense
RATE = 0.05  # the largest rate
SELDOM, OFTEN = 1.5, 80.0  # how often all releases together draw the record: no tilt sees both worlds, or one may
FEW = 3  # questions at once: each has a line of its own
NARROW = 1e-4  # width of D, relative, that is good enough
CLOSE = 1e-6  # and from which on no other cut is looked at where epsilon was found
CHEAP, FAIR, COSTLY = 1.5e3, 5e3, 1e10  # period times cutoff
LIGHT = 1e-3  # what usual losses add, of delta, from which on another cut is likely to do without their line
HOPELESS = 1e5  # what they add, of delta, with cut-offs that are too wide
TRIED = 3  # views of one width
VIEWS, STEPS, MOST_PLANS = 8, 40, 120
IN_SIGHT = 0.2  # how far, relatively, a view may be asked beside where it was aimed
TOLD = 1e-5  # a relative step from which on the difference of two logs tells the slope
STARTS, FAR = np.geomspace(1e-6, 600.0, 60), 2.0  # epsilons of one release; how far all may be from it
SEVERAL = (1.0, 1e3, 1e7, 1e12)


class JumpContourEngine(SteeredEngine):
    """Gaussian releases of one kind on small samples, the record removed."""

    method = "characteristic function"

    def __init__(self, pairs: Counted, sigma: float, rate: float, count: int) -> None:
        self.pairs, self.sigma, self.rate, self.count = pairs, sigma, rate, count
        self.plans = 0  # made for one question

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
        self.plans = 0
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
        sight, self.plans = None, 0
        for _ in range(VIEWS):
            aimed = x
            try:
                sight = self._aim(aimed, delta, sight)
            except Declined:  # one release alone costs less than all: look further out
                if sight is not None:
                    break
                x = 1.25 * aimed
                continue
            x = _root(sight, delta, aimed)
            off = abs(x / aimed - 1)
            if off < 0.03 or (off < IN_SIGHT and _width(sight, x) <= CLOSE * delta):
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
            fine = [width for width in FINE_WIDTHS if width * self.sigma >= FINEST] if blunt else []
            for width in widths if widths is WIDTHS else fine:
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
        self.plans += 1
        if self.plans > MOST_PLANS:
            return None
        try:
            return Plan.of(Cut(self.sigma, self.rate, self.count, epsilon, ratio, width, unlikely), epsilon, delta)
        except (TooCostly, OverflowError):
            return None


# ---- roots


def _middle(sight: Sight, epsilon: float) -> float:
    low, high = sight(epsilon)
    return 0.5 * (low + high)


def _width(sight: Sight, epsilon: float) -> float:
    try:
        low, high = sight(epsilon)
    except TooCostly:
        return math.inf
    return high - low


def _slope(sight: Sight, epsilon: float) -> float:
    step = 1e-5 * epsilon
    return (_middle(sight, epsilon + step) - _middle(sight, epsilon - step)) / (2 * step)


def _root(sight: Sight, delta: float, x: float) -> float:
    """Secants of log D, while steps get shorter, the first slope by a short one; they steer."""
    first, last, before, slope = x, math.inf, math.nan, math.nan
    height = math.nan
    for _ in range(STEPS):
        try:
            middle = _middle(sight, x)
            if math.isnan(slope):
                slope = _slope(sight, x) / middle if middle > 0 else math.nan
        except TooCostly:
            return x
        if middle <= 0:
            x, before = 0.7 * x, math.nan
            continue
        found = math.log(middle / delta)
        if abs(x - before) > TOLD * x:
            slope = (found - height) / (x - before)
        before, height = x, found
        after = min(max(x - (found / slope if slope < 0 else 0.0), 0.3 * x), 1.6 * x)
        size, last = last, abs(after - x)
        if last <= 1e-13 * x or (last >= 0.5 * size and last < 1e-6 * x):
            return after if last < size else x
        x = after
        if abs(x / first - 1) > IN_SIGHT:
            return x  # look again
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
