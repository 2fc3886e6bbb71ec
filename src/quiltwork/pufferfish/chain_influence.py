"""Influence curves of Markov chains, exact and independent of the length.

On a chain only the nearest entries outside H matter, one on each side.  With R_d[u, v] the largest log ratio of rows u
and v of P^d, and C_d[u, v] that of its columns,

    a(b) = min over dL + dR = b + 1 of C_dL[u, v] + R_dR[u, v] + log pi_i[v] / pi_i[u],

and near an end H may cover a whole side, which then tells nothing.

Reference: theory/pufferfish.md 4.1 and 4.2 (correcting seed 003 Theorem 8 for negative correlation).
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.curves.rounding import up
from quiltwork.pufferfish.stochastic import Powers, log_ratios

__all__ = ["Place", "Sides", "curve_at", "sides"]


@attrs.frozen(eq=False)
class Sides:
    """R_d and C_d for d = 1 .. D, each (D, k, k): what a neighbour at distance d tells."""

    right: FloatArray
    left: FloatArray

    @property
    def depth(self) -> int:
        """The largest distance."""
        return len(self.right)


@attrs.frozen(eq=False)
class Place:
    """An entry with so many entries on its left and right (None for any number), and log pi[v] / pi[u] there."""

    name: str
    before: int | None
    after: int | None
    shift: FloatArray


def sides(steps: Powers, start: np.ndarray | None = None) -> Sides:
    """The tables of both sides; `start` limits the states that an entry on the left can be in."""
    depth, size = steps.depth, len(steps.matrices[0])
    right, left = np.empty((depth, size, size)), np.empty((depth, size, size))
    kept = slice(None) if start is None else start
    for d in range(depth):
        matrix, possible, error = steps.matrices[d], steps.possible[d], (d + 1) * steps.error
        right[d] = log_ratios(matrix, possible, error)
        left[d] = log_ratios(matrix[kept].T, possible[kept].T, error)
    return Sides(right, left)


def curve_at(tables: Sides, place: Place, depth: int) -> FloatArray:
    """a(b) of every ordered pair of states at this place, b = 1 .. depth: (depth, k, k)."""
    before = math.inf if place.before is None else place.before
    after = math.inf if place.after is None else place.after
    size = tables.right.shape[1]
    with np.errstate(invalid="ignore"):
        shifted = tables.left + place.shift
        shifted = np.where(np.isnan(shifted), np.inf, shifted)  # -inf + inf: nothing is known
    # no ratio of two laws stays below 1; this also makes merged places safe (theory 4.2, Lemma)
    shifted = np.maximum(shifted, 0.0)
    found = np.full((depth, size, size), np.inf)
    for b in range(1, depth + 1):
        least = found[b - 2].copy() if b > 1 else found[0].copy()
        low, high = int(max(1, b + 1 - after)), int(min(before, b))
        if low <= high:  # left distances low .. high, right distances b + 1 - left
            both = shifted[low - 1 : high] + tables.right[b - high : b + 1 - low][::-1]
            least = np.minimum(least, both.min(axis=0))
        if b >= before + 1:
            right = int(b - before)
            least = np.minimum(least, tables.right[right - 1] if right <= after else 0.0)
        if b >= after + 1:
            left = int(b - after)
            least = np.minimum(least, shifted[left - 1] if left <= before else 0.0)
        found[b - 1] = least
    return np.maximum(up(found, 2), 0.0)
