"""Prices for cells that are too many to list: only the dearest cell at given prices must be found.

The bound of `cover` needs no list: for prices lambda >= 0,

    sum_i max(0, reward_i - lambda_i) + m max_c (lambda + slope)(c)

is above every choice of m records, and the dearest cell comes from the search over columns. Good prices come from a
small pool of cells; the dearest cell joins the pool and the prices are set anew, a few times.

Reference: theory/granularity.md section 4.4 (column generation).
"""

from __future__ import annotations

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.tables.cells.cells import Arrangement, Cells, IntArray
from quiltwork.tables.cells.heaviest import ascended, heaviest
from quiltwork.tables.cover.cover import cover

PRICING_ROUNDS = 3
GOOD_GAP = 1e-3  # a relative gap at which no better prices are looked for
METHOD = "prices, the dearest cell searched"


@attrs.frozen(eq=False)
class Pooled:
    """A bound on the cost of any choice, and the best choice among the cells of the pool."""

    upper: float
    chosen: Cells


def pooled(arrangement: Arrangement, reward: FloatArray, slope: FloatArray, records: int) -> Pooled:
    """Bounds as `cover` gives them, without caps, over all cells."""
    picks = _pool(arrangement, reward, slope, records)
    best, chosen = np.inf, picks[:1]
    for _ in range(PRICING_ROUNDS):
        cells = arrangement.cells(picks)
        small = cover(cells.touched, reward, slope, records, seconds=0.0)
        chosen = picks[list(small.chosen)] if small.chosen else picks[:1]
        prices = np.array([float(price) for price in small.prices])
        largest, dearest = _dearest(arrangement, prices + slope)
        best = min(best, _total(reward, prices, records, largest))
        if best <= small.lower * (1 + GOOD_GAP) or bool((picks == dearest).all(axis=1).any()):
            break
        picks = np.vstack([picks, dearest])
    return Pooled(best, arrangement.cells(chosen))


def _total(reward: FloatArray, prices: FloatArray, records: int, largest: float) -> float:
    kept = float(np.maximum(reward - prices, 0.0).sum())
    return (kept + records * largest) * (1 + 1e-11)


def _dearest(arrangement: Arrangement, costs: FloatArray) -> tuple[float, IntArray]:
    """A number that no cell's cost passes, and the dearest cell that was seen."""
    nothing = np.zeros((costs.size, 1))
    # a little above the best so far, so that the many cells of equal cost are left out and only bounded
    found = heaviest(arrangement, costs[:, None], nothing, np.array([1 + 1e-9]), merge=True)
    at = int(np.argmax(found.sums[:, 0]))
    return max(float(found.sums[at, 0]), float(found.rest[0])) * (1 + 1e-12), found.picks[at]


def _pool(arrangement: Arrangement, reward: FloatArray, slope: FloatArray, records: int) -> IntArray:
    """Cells that a greedy choice would take: what was rewarded once is not rewarded again."""
    picks = [np.zeros(len(arrangement.sheets), dtype=np.int64)]
    left = reward.copy()
    for _ in range(min(records, 32)):
        found = ascended(arrangement, left + slope, picks[-1])
        picks.append(found)
        left = np.where(arrangement.cells(found[None, :]).touched[0], 0.0, left)
    return np.unique(np.array(picks), axis=0)
