"""Bounds by leaving releases out: for answers that stay wide because few releases rarely tell a lot.

Let R be some of the releases, S the others, and t at least the total variation of R.  Then P_R = (1 - t) C + t A and
Q_R = (1 - t) C + t B, and the hockey-stick divergence is jointly convex, so

    delta_S(eps) <= delta(eps) <= t + (1 - t) delta_S(eps)          beta_S(a) >= beta(a) >= (1 - t) beta_S(a / (1 - t)).

The left sides are post-processing: they hold for any S, also for one release alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.accountant import methods as route
from quiltwork.compose.accountant.methods import Counted, Ends
from quiltwork.compose.accountant.solve import Declined
from quiltwork.losses.families.poisson import PoissonPair
from quiltwork.numbers.rounding import UNIT

WIDTH = 1e-3  # what is asked of the parts
GENTLY = 1 + 64 * UNIT  # a handful of roundings, outward


@attrs.frozen(eq=False)
class Apart:
    """Releases on small samples, the others, and what the former tell at most (total variation)."""

    rare: Counted
    rest: Counted
    telling: float

    @classmethod
    def of(cls, parts: Counted) -> Apart | None:
        """None if no release is on a small sample."""
        small = [isinstance(pair, PoissonPair) and pair.rate < route.RARE for pair, _ in parts]
        rare = [part for part, is_small in zip(parts, small, strict=True) if is_small]
        rest = [part for part, is_small in zip(parts, small, strict=True) if not is_small]
        if not rare:
            return None
        at_zero = np.zeros(1)
        told = math.fsum(count * float(route.delta([(pair, 1)], at_zero, WIDTH)[1][0]) for pair, count in rare)
        return cls(rare, rest, min(told * GENTLY, 1.0))

    def delta_ends(self, epsilon: FloatArray) -> Ends:
        """Ends of the profile."""
        perfect = np.maximum(-np.expm1(np.minimum(epsilon, 0.0)), 0.0)
        low, high = np.zeros(epsilon.size), np.ones(epsilon.size)
        for parts in self._alone():
            low = np.maximum(low, _end(0, partial(route.delta, parts, epsilon, WIDTH), low))
        others = _end(1, partial(route.delta, self.rest, epsilon, WIDTH), high) if self.rest else perfect * GENTLY
        return low, np.minimum((self.telling + (1 - self.telling) * others) * GENTLY, 1.0)

    def epsilon_ends(self, delta: FloatArray) -> Ends:
        """Ends of the smallest epsilon; the upper one only where more delta is asked than the rare releases tell."""
        low, high = np.zeros(delta.size), np.full(delta.size, math.inf)
        for parts in self._alone():
            low = np.maximum(low, _end(0, partial(route.epsilon, parts, delta, WIDTH), low))
        able = delta > self.telling
        if able.any() and not self.rest:
            high[able] = 0.0
        elif able.any():
            left = (delta[able] - self.telling) / (1 - self.telling) / GENTLY
            high[able] = _end(1, partial(route.epsilon, self.rest, left, WIDTH), high[able])
        return low, high

    def beta_ends(self, alpha: FloatArray) -> Ends:
        """Ends of the trade-off function."""
        low: FloatArray = np.zeros(alpha.size)
        high: FloatArray = np.nextafter(1.0 - alpha, 2.0)
        for parts in self._alone():
            high = np.minimum(high, _end(1, partial(route.beta, parts, alpha), high))
        if self.telling < 1:
            moved = np.minimum(alpha / (1 - self.telling) * GENTLY, 1.0)
            others = _end(0, partial(route.beta, self.rest, moved), low) if self.rest else np.maximum(1 - moved, 0.0)
            low = (1 - self.telling) * others / GENTLY
        return low, high

    def _alone(self) -> list[Counted]:
        """The others, and each of the rare ones once: what all cost together is no less."""
        return [*([self.rest] if self.rest else []), *([(pair, 1)] for pair, _ in self.rare)]


def _end(which: int, ask: Callable[[], route.Answer], otherwise: FloatArray) -> FloatArray:
    """The lower (0) or upper (1) end, if some method has one."""
    try:
        low, high, _ = ask()
    except Declined:
        return otherwise
    return high if which else low
