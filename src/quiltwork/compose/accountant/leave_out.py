"""Bounds by leaving releases out: for answers that stay wide because few releases rarely tell a lot.

Let R be some of the releases, S the others, and t at least the total variation of R.  Then P_R = (1 - t) C + t A and
Q_R = (1 - t) C + t B, and the hockey-stick divergence is jointly convex, so

    delta_S(eps) <= delta(eps) <= t + (1 - t) delta_S(eps)          beta_S(a) >= beta(a) >= (1 - t) beta_S(a / (1 - t)).

The left sides are post-processing: they hold for any S, also for one release alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.accountant.methods import RARE_RATE
from quiltwork.compose.engines.closed import SingleEngine
from quiltwork.compose.releases import Counted
from quiltwork.curves.curve import Ends
from quiltwork.losses.families.poisson import PoissonPair
from quiltwork.numbers.rounding import UNIT

Alone = Callable[[Counted, FloatArray], Ends]  # what is certified of some of the releases, at these values
WIDTH = 1e-3  # what is asked of them
OUTWARD = 1 + 64 * UNIT  # a handful of roundings


@attrs.frozen(eq=False)
class Apart:
    """Releases on small samples, the others, and what the former tell at most (total variation)."""

    rare: Counted
    rest: Counted
    telling: float

    @classmethod
    def of(cls, pairs: Counted) -> Apart | None:
        """None if no release is on a small sample."""
        small = [isinstance(pair, PoissonPair) and pair.rate < RARE_RATE for pair, _ in pairs]
        rare = [one for one, is_small in zip(pairs, small, strict=True) if is_small]
        rest = [one for one, is_small in zip(pairs, small, strict=True) if not is_small]
        if not rare:
            return None
        with np.errstate(all="ignore"):
            ends = [(SingleEngine(pair).delta(np.zeros(1), WIDTH), count) for pair, count in rare]
        told = math.fsum(count * float(found.upper[0]) for found, count in ends)
        return cls(rare, rest, min(told * OUTWARD, 1.0))

    @property
    def subsets(self) -> list[Counted]:
        """The others, and each of the rare ones once: what all cost together is no less."""
        return [*([self.rest] if self.rest else []), *([(pair, 1)] for pair, _ in self.rare)]

    def epsilon_ends(self, delta: FloatArray, alone: Alone) -> tuple[FloatArray, FloatArray]:
        """Ends of the smallest epsilon; the upper one only where more delta is asked than the rare releases tell."""
        high, able = np.full(delta.size, math.inf), delta > self.telling
        if able.any():
            left = (delta[able] - self.telling) / (1 - self.telling) / OUTWARD
            high[able] = alone(self.rest, left).upper if self.rest else 0.0
        return np.maximum.reduce([alone(pairs, delta).lower for pairs in self.subsets]), high

    def delta_ends(self, epsilon: FloatArray, alone: Alone) -> tuple[FloatArray, FloatArray]:
        """Ends of the hockey-stick divergence."""
        perfect = np.maximum(-np.expm1(np.minimum(epsilon, 0.0)), 0.0)
        others = alone(self.rest, epsilon).upper if self.rest else perfect * OUTWARD
        high = np.minimum((self.telling + (1 - self.telling) * others) * OUTWARD, 1.0)
        return np.maximum.reduce([alone(pairs, epsilon).lower for pairs in self.subsets]), high

    def beta_ends(self, alpha: FloatArray, alone: Alone) -> tuple[FloatArray, FloatArray]:
        """Ends of the trade-off function."""
        low: FloatArray = np.zeros(alpha.size)
        if self.telling < 1:
            moved = np.minimum(alpha / (1 - self.telling) * OUTWARD, 1.0)
            others = alone(self.rest, moved).lower if self.rest else np.maximum(1 - moved, 0.0)
            low = (1 - self.telling) * others / OUTWARD
        return low, np.minimum.reduce([alone(pairs, alpha).upper for pairs in self.subsets])
