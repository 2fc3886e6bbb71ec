"""The curve of two laws on the line: delta, epsilon and the trade-off function from certified cuts.

epsilon.  delta falls in epsilon at the rate t Q(W), so Newton's rule on log delta suggests where to look; an end counts
once the cut there proves it.

Trade-off.  For every t, f(alpha) >= 1 - D(t) - t alpha = rest(t) - t alpha; and the cut's own test has errors
(Q(W), P(not W)), so that f lies below the chords of those.  Where the two ends are apart, the slope of the chord is the
next t: the sandwich closes quadratically.

Reference: theory/confounding.md section 1; Neyman and Pearson 1933.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.line.enclosure.cut import Cut, cut
from quiltwork.confounding.line.enclosure.difference import TwoLaws
from quiltwork.confounding.line.enclosure.tails import revealed, unbounded
from quiltwork.confounding.line.laws.components import Mixture
from quiltwork.curves.maximum import Maximum
from quiltwork.kinds import not_written
from quiltwork.numbers.rounding import UNIT, up

METHOD = "certified cells"
MAX_EPSILON = 2.0**20  # epsilons beyond are not searched: the answer is then "above this"
STEPS = 200
CLOSE = 1e-10  # of an epsilon, relative beyond one
MAX_FINE_QUESTIONS = 8  # questions that are answered more finely than many
MAX_CUTS_KEPT = 4096  # cuts that are remembered
FINE = 1e-6  # relative width of a delta, at least


class LawTest:
    """The test between two laws p and q; every cut is remembered."""

    def __init__(self, laws: TwoLaws) -> None:
        self.laws = laws
        self._cuts: dict[float, tuple[float, Cut]] = {}

    def cut(self, epsilon: float, rtol: float = FINE, *, pure: bool = False) -> Cut:
        """What is known at this epsilon."""
        if pure:
            return cut(self.laws, epsilon, pure=True)
        fine = min(rtol, FINE)
        asked, found = self._cuts.get(epsilon, (math.inf, None))
        if found is None or asked > fine:
            if len(self._cuts) >= MAX_CUTS_KEPT:
                self._cuts.clear()
            found = cut(self.laws, epsilon, rtol=fine)
            self._cuts[epsilon] = fine, found
        return found

    def delta(self, epsilon: FloatArray, rtol: float) -> tuple[FloatArray, FloatArray]:
        """Both ends of E_t(p||q) at these epsilons."""
        ends = np.array([self.cut(place, rtol).delta for place in epsilon.tolist()])
        return ends[:, 0], ends[:, 1]

    def epsilon(self, delta: FloatArray, rtol: float) -> tuple[FloatArray, FloatArray]:
        """Both ends of the smallest epsilon >= 0 for each delta."""
        ends = np.array([self.smallest(value, min(rtol, CLOSE)) for value in delta.tolist()])
        return ends[:, 0], ends[:, 1]

    def smallest(self, delta: float, close: float = CLOSE) -> tuple[float, float]:
        """Both ends of the smallest epsilon >= 0 with E_t(p||q) <= delta."""
        pure = delta == 0.0
        start = self.cut(0.0, pure=pure)
        if start.delta[1] <= delta:
            return 0.0, 0.0
        if revealed(self.laws)[0] > delta or (pure and unbounded(self.laws)):
            return math.inf, math.inf
        low, high = 0.0, self._highest()
        place = self._next(start, delta, low, high, close)
        for _ in range(STEPS):
            if high - low <= close * max(1.0, low):
                break
            here = self.cut(place, pure=pure)
            if self._exceeds(here, delta):
                low = max(low, place)
            elif here.delta[1] <= delta:
                high = min(high, place)
            else:
                return self._around(here, delta, low, high, close)
            if low >= MAX_EPSILON:
                break
            place = self._next(here, delta, low, high, close)
        return low, high

    def _highest(self) -> float:
        """log of the largest w_j/v_j: with no component of its own, p is at most that many times q everywhere."""
        shares = self.laws.first > 0
        first, second = self.laws.first[shares], self.laws.second[shares]
        if bool(np.any(second <= 0)):
            return math.inf
        logs = np.log(first) - np.log(second)
        rough = (32.0 + 4.0 * self.laws.terms + 4.0 * (np.abs(np.log(first)) + np.abs(np.log(second)))) * UNIT
        return max(float(np.max(logs + rough)), 0.0)

    @staticmethod
    def _exceeds(here: Cut, delta: float) -> bool:
        return here.delta[0] > delta or (delta == 0.0 and here.positive)

    @staticmethod
    def _newton(here: Cut, delta: float) -> float:
        """Where log delta would be met if it went on as it does here; NaN when that cannot be said."""
        value = 0.5 * (here.delta[0] + here.delta[1])
        if not (value > 0 and delta > 0 and here.slope > 0):
            return math.nan
        return here.epsilon + (math.log(value) - math.log(delta)) * value / here.slope

    def _next(self, here: Cut, delta: float, low: float, high: float, close: float) -> float:
        room = 0.5 * close * max(1.0, here.epsilon)
        guess = self._newton(here, delta)
        if abs(guess - here.epsilon) <= room:  # the answer is near: prove the other end
            guess = here.epsilon + math.copysign(1.5 * room, 1.0 if low == here.epsilon else -1.0)
        if low < guess < high and guess <= 4.0 * low + 16.0:
            return guess
        return 2.0 * low + 1.0 if math.isinf(high) else 0.5 * (low + high)

    def _around(self, here: Cut, delta: float, low: float, high: float, close: float) -> tuple[float, float]:
        """Both ends near a place where the cut itself is too wide to tell."""
        place, width, pure = here.epsilon, here.delta[1] - here.delta[0], delta == 0.0
        reach = max(close * max(1.0, place), 2.0 * width / here.slope if here.slope > 0 else 0.0)
        for _ in range(30):
            left, right = place - reach, place + reach
            if left > low and self._exceeds(self.cut(left, pure=pure), delta):
                low = left
            if right < high and self.cut(right, pure=pure).delta[1] <= delta:
                high = right
            if (low > place - 8.0 * reach or left <= low) and high <= place + reach:
                break
            reach *= 4.0
        return low, high

    # ---- beta

    def beta(self, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Both ends of the least type II error at these type I errors (a flat array)."""
        asked = np.unique(alpha)
        inner = asked[(asked > 0) & (asked < 1)]
        fine = 1e-8 if inner.size <= MAX_FINE_QUESTIONS else (1e-6 if inner.size <= 8 * MAX_FINE_QUESTIONS else 1e-4)
        cuts = [self.cut(place) for place in self._thresholds(inner)]
        for _ in range(16):
            lower, upper, slope = _sandwich(cuts, inner)
            wide = upper - lower > fine * (upper + 1e-3)
            known = {here.epsilon for here in cuts}
            more = np.unique(slope[wide])
            fresh = [self.cut(place) for place in more.tolist() if place not in known and math.isfinite(place)]
            if not fresh or len(cuts) > 2000:
                break
            cuts += fresh
        ends = np.zeros(asked.size), np.zeros(asked.size)
        if inner.size:
            lower, upper, _ = _sandwich(cuts, inner)
            ends[0][(asked > 0) & (asked < 1)], ends[1][(asked > 0) & (asked < 1)] = lower, upper
        hidden = revealed(self.laws)
        ends[0][asked == 0], ends[1][asked == 0] = max(1.0 - hidden[1] - UNIT, 0.0), min(1.0 - hidden[0] + UNIT, 1.0)
        where = np.searchsorted(asked, alpha)
        return ends[0][where], ends[1][where]

    def _thresholds(self, alpha: FloatArray) -> list[float]:
        """Epsilons whose tests have about these type I errors, from plain sums over the first grid."""
        places, logs, _, _ = self.laws.grid
        with np.errstate(divide="ignore", under="ignore"):
            p = np.exp(logs) * self.laws.first[:, None]
            q = np.exp(logs) * self.laws.second[:, None]
            ratio = np.log(p.sum(axis=0) + 1e-300) - np.log(q.sum(axis=0) + 1e-300)
        order = np.argsort(-ratio)
        spent = np.cumsum((q.sum(axis=0) * np.gradient(places))[order])
        guesses = np.interp(alpha, spent / spent[-1], ratio[order]) if alpha.size else np.zeros(0)
        picked = guesses[np.linspace(0, guesses.size - 1, min(guesses.size, 48)).astype(int)]
        return sorted({0.0, *np.round(np.clip(picked, -600.0, 600.0), 6).tolist()})


def _sandwich(cuts: Sequence[Cut], alpha: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Lower end, upper end, and the log slope of the chord above each alpha."""
    if not alpha.size:
        return alpha, alpha, alpha
    lower = np.zeros(alpha.size)
    for here in cuts:
        with np.errstate(over="ignore"):
            spent = np.exp(here.epsilon) * alpha * (1.0 + (8.0 + 4.0 * abs(here.epsilon)) * UNIT)
        lower = np.maximum(lower, here.rest[0] * (1.0 - 4.0 * UNIT) - spent)
    points = sorted({(0.0, 1.0), (1.0, 0.0), *((here.first[1], here.second[1]) for here in cuts)})
    hull: list[tuple[float, float]] = []
    for point in points:
        if hull and point[1] >= hull[-1][1]:
            continue
        while len(hull) > 1 and _above(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    x, y = (np.array(column) for column in zip(*hull, strict=True))
    at = np.clip(np.searchsorted(x, alpha, side="right"), 1, x.size - 1)
    run, fall = x[at] - x[at - 1], y[at - 1] - y[at]
    share = (np.nextafter(alpha, 0.0) - x[at - 1]) / run  # alpha may be the decimal typed
    chord = np.where(share > 0.5, y[at] + (1.0 - share) * fall, y[at - 1] - share * fall)
    upper = up(chord + 8.0 * UNIT * y[at - 1], 4)
    return lower, np.maximum(np.minimum(upper, up(1.0 - alpha, 2)), lower), np.log(fall / run)


def _above(one: tuple[float, float], two: tuple[float, float], three: tuple[float, float]) -> bool:
    """Whether the middle point lies on or above the chord; dropping a point keeps the hull an upper end."""
    return (two[1] - one[1]) * (three[0] - one[0]) >= (three[1] - one[1]) * (two[0] - one[0])


@not_written("its cells are not data", "write the release that it is the curve of")
class EnclosedCurve(Maximum):
    """The worst of several tests between laws on the line, one for each ordered pair."""

    def __init__(self, tests: Sequence[LawTest], method: str = METHOD) -> None:
        self.tests, self.method = tuple(tests), method

    def _tests(self) -> tuple[LawTest, ...]:
        return self.tests

    def __repr__(self) -> str:
        return f"<EnclosedCurve of {len(self.tests)} ordered pairs: {self.method}>"

    @classmethod
    def of(cls, laws: Sequence[Mixture], pairs: Any, method: str = METHOD) -> EnclosedCurve:
        """Laws of the output given each secret, and the ordered pairs of them."""
        made: dict[tuple[int, int], TwoLaws] = {}
        for first, second in np.asarray(pairs).tolist():
            other = made.get((second, first))
            made[first, second] = TwoLaws(laws[first], laws[second]) if other is None else other.swapped()
        return cls([LawTest(two) for two in made.values()], method)


def odds_for(first: Any, second: Any, delta: float) -> tuple[float, float]:
    """Both ends of the smallest epsilon >= 0 (log odds) at which E_t(p||q) <= delta.

    >>> from quiltwork.confounding.line.laws.components import Normal
    >>> low, high = odds_for(Normal(1.0, 1.0), Normal(0.0, 1.0), 0.01)
    >>> round(low, 9), high - low < 1e-9
    (2.31778904, True)
    """
    share = checks.probability("delta", delta)
    return LawTest(TwoLaws(Mixture.of(first), Mixture.of(second))).smallest(share)
