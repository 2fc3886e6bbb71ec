"""Fewer outputs: clusters of similar ones, and what that can hide at most.

Merging outputs that are not proportional is a garbling, so it makes a composition look more private than it is.  Let
Khat be the table in which each cluster is spread again by common weights.  For every g,

    delta <= delta of the clusters + sum_x |A_s(x) - t A_s'(x)| TV(K_x, Khat_x),

since (u + v)_+ <= u_+ + v_+, the residuals sum to zero in a cluster (so that their positive part is half the sum of
their sizes), and each row of g sums to one.  The second term does not depend on g: design for delta - eta, and delta
holds.

Reference: theory/confounding.md section 4, scaling (ii).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.finite.channels import channel, grouped
from quiltwork.curves.finite import odds_ends
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.laws import Laws, outward
from quiltwork.numbers.rounding import UNIT, up

if TYPE_CHECKING:
    from quiltwork.confounding.world import World

LLOYD_ROUNDS = 12  # of Lloyd's algorithm; more change little
BLOCK_ENTRIES = 1 << 22


@document("clustered/1")
@attrs.frozen(eq=False)
class Clustered:
    """A table with its outputs in clusters, and how far each row is from one that only shows the cluster."""

    table: Laws
    labels: np.ndarray
    distances: FloatArray  # TV(K_x, Khat_x), from above

    def eta(self, world: World, epsilon: float) -> float:
        """What the clusters can hide at this epsilon, for the worst pair, rounded up."""
        low, high = world.laws.masses
        if len(self.distances) != low.shape[1]:
            raise InvalidParameter("world", f"{low.shape[1]} values", f"{len(self.distances)}, the rows of the channel")
        below, above = (float(end) for end in odds_ends(np.array(checks.real("epsilon", epsilon))))
        worst = 0.0
        for first, second in world.ordered:
            size = np.maximum(np.abs(high[first] - below * low[second]), np.abs(low[first] - above * high[second]))
            worst = max(worst, math.fsum(size * (1.0 + 16.0 * UNIT) * self.distances))
        return min(up(worst * (1.0 + 16.0 * UNIT)), 1.0)


def clustered(value: Any, count: int, *, seed: int = 0) -> Clustered:
    """The outputs of a channel in at most `count` clusters of similar columns (k-means on the roots of their rays)."""
    table, count = channel("channel", value), checks.count("count", count, least=1)
    labels = _labels(table.values, count, seed)
    low, high = table.masses
    sums = [grouped(end, labels) for end in (low, high)]
    whole = Laws(*outward(sums[0], sums[1], low.shape[1] + 1.0, sums[1] > 0))
    values = table.values
    weights = values.sum(axis=0)
    totals = np.bincount(labels, weights)[labels]
    share = np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)
    spread = grouped(values, labels)[:, labels] * share
    gaps = np.abs(values - spread) + (high - low) + 32.0 * UNIT * low.shape[1] * (values + spread)
    distances = np.array([up(0.5 * math.fsum(row) * (1.0 + 8.0 * UNIT)) for row in gaps])
    return Clustered(whole, labels, np.minimum(distances, 1.0))


def _labels(values: FloatArray, count: int, seed: int) -> np.ndarray:
    weights = values.sum(axis=0)
    rays = np.sqrt(values / np.where(weights > 0, weights, 1.0)).T
    rng = np.random.default_rng(checks.count("seed", seed))
    if count >= len(rays):
        return np.arange(len(rays))
    chance = weights / weights.sum()
    filled = int((chance > 0).sum())
    centres = rays[rng.choice(len(rays), size=min(count, filled), replace=False, p=chance)]
    labels = np.zeros(len(rays), dtype=np.int64)
    for _ in range(LLOYD_ROUNDS):
        labels = _nearest(rays, centres)
        totals = np.bincount(labels, weights, len(centres))
        moved = np.zeros_like(centres)
        np.add.at(moved, labels, rays * weights[:, None])
        centres = np.where(totals[:, None] > 0, moved / np.where(totals > 0, totals, 1.0)[:, None], centres)
    return np.unique(_nearest(rays, centres), return_inverse=True)[1].ravel()


def _nearest(rays: FloatArray, centres: FloatArray) -> np.ndarray:
    sizes = (centres**2).sum(axis=1)
    rows = max(1, BLOCK_ENTRIES // len(centres))
    parts = [
        np.argmin(sizes - 2.0 * rays[start : start + rows] @ centres.T, axis=1) for start in range(0, len(rays), rows)
    ]
    return np.concatenate(parts)
