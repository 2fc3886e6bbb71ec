"""Bounds by leaving releases out: for answers that stay wide because few releases rarely tell a lot.

Let R be some of the releases, S the others, and t at least the total variation of R.  Then P_R = (1 - t) C + t A and
Q_R = (1 - t) C + t B, and the hockey-stick divergence is jointly convex, so

    delta_S(eps) <= delta(eps) <= t + (1 - t) delta_S(eps)          beta_S(a) >= beta(a) >= (1 - t) beta_S(a / (1 - t)).

The left sides are post-processing: they hold for any S, also for one release alone.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from quiltwork.compose.accountant.methods import RARE_RATE
from quiltwork.compose.engines.closed import SingleEngine
from quiltwork.compose.releases import Counted
from quiltwork.losses.dominating_pair import UNIT
from quiltwork.losses.families.poisson import PoissonPair

WIDTH = 1e-3  # what is asked of the parts
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
    def alone(self) -> list[Counted]:
        """The others, and each of the rare ones once: what all cost together is no less."""
        return [*([self.rest] if self.rest else []), *([(pair, 1)] for pair, _ in self.rare)]
