"""From cells to compositions: the ones that no other dominates, and a bound for the cells that were left out.

Reference: theory/granularity.md section 4.5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.dominance import Ladders, distinct, front
from quiltwork.compose.engines.characteristic import log_peak
from quiltwork.compose.loss import Loss
from quiltwork.losses.families.pure import Pure
from quiltwork.tables.cells.cells import Arrangement, Cells, Sweep, rounding
from quiltwork.tables.cells.heaviest import SHARES, heaviest
from quiltwork.tables.worst_step.additive import TILTS, loss_moments, renyi_bound
from quiltwork.tables.worst_step.vectors import Bound

MOST_LISTED = 20_000_000  # cells times queries, when all cells are looked at
MOST_COMPARED = 3_000  # distinct cells
MOST_PLACES = 60_000  # distinct places along one column: most of them are dominated by a place nearby
MOST_INCOMPARABLE = 300  # when nearly every loss is another: few dominate each other, and composing them is slow
USUAL_DELTA = 1e-6  # for which the search is laid out; every other is answered too


@attrs.frozen(eq=False)
class Front:
    """Undominated cells, their strength vectors, and a bound for all others when some were left out."""

    cells: Cells
    ladders: Ladders
    strengths: FloatArray
    bound: Bound | None


def strongest(arrangement: Arrangement, losses: Sequence[Loss | None]) -> Front:
    """Cells such that every cell is dominated by one of them or lies below the bound."""
    ladders = Ladders.of(loss for loss in losses if loss is not None)
    up, down = ladders.strength(losses, up=True), ladders.strength(losses, up=False)
    everyone = arrangement.all_cells()
    if everyone is not None and everyone.touched.size <= MOST_LISTED:
        weight = everyone.touched.astype(float)
        rows = weight @ up
        first = distinct(ladders, rows)
        if first.size <= MOST_COMPARED:
            kept = first[_front(rows[first], weight[first] @ down, everyone.exact[first])]
            return Front(everyone.only(kept), ladders, rows[kept], None)
    rates = Rates.of(losses)
    shares = np.array([SHARES[0], *[SHARES[1]] * (rates.costs.shape[1] - 1)])
    found = heaviest(arrangement, rates.costs, up, shares, merge=not ladders.coarse)
    first = distinct(ladders, found.strengths)
    order = first[np.argsort(-found.sums[first, 0], kind="stable")]
    rest, most = found.rest, MOST_INCOMPARABLE if ladders.coarse else MOST_COMPARED
    if order.size > most:
        rest = np.maximum(rest, found.sums[order[most:]].max(axis=0) * (1 + 1e-12))
    cells, rows = arrangement.cells(found.picks[order[:most]]), found.strengths[order[:most]]
    kept = _front(rows, cells.touched.astype(float) @ down, cells.exact)
    # when all losses are equal only their number counts, and the largest was among those looked at
    alike = len({loss for loss in losses if loss is not None}) == 1
    comparable = alike and bool(cells.exact.all()) and bool(rest[0] <= found.sums[:, 0].max())
    bound = None if comparable or not rest.any() else Bound(rates.bound(rest), "the cells that were left out")
    return Front(cells.only(kept), ladders, rows[kept], bound)


def strongest_along(sweep: Sweep, losses: Sequence[Loss | None]) -> Front:
    """The same along one ordered column; the only pick of a cell is its place."""
    ladders = Ladders.of(loss for loss in losses if loss is not None)
    up, down = ladders.strength(losses, up=True), ladders.strength(losses, up=False)
    rows = sweep.sums(up)  # whole numbers: running sums are exact
    order, bound = distinct(ladders, rows), None
    most = MOST_INCOMPARABLE if ladders.coarse else MOST_PLACES
    if order.size > most:
        rates = Rates.of(losses)
        sums = sweep.sums(rates.costs) + rounding(len(sweep.names), rates.costs)
        order = order[np.argsort(-sums[order, 0], kind="stable")]
        bound = Bound(rates.bound(sums[order[most:]].max(axis=0)), "the cells that were left out")
        order = order[:most]
    kept = order[front(rows[order], sweep.sums(down)[order])]
    touched = np.array([sweep.touched(int(place)) for place in kept]).reshape(kept.size, len(losses))
    return Front(
        Cells(touched, kept[:, None].astype(np.int64), np.ones(kept.size, dtype=bool)), ladders, rows[kept], bound
    )


def _front(up: FloatArray, down: FloatArray, exact: np.ndarray) -> np.ndarray:
    """Undominated rows; a cell in which no record can lie dominates nothing, so that witnesses stay."""
    return front(up, np.where(exact[:, None], down, -1.0))


@attrs.frozen(eq=False)
class Rates:
    """One cost that adds up over queries, and what a bound on it says about every other: each per unit of the cost.

    The cost is the log moment at one tilt plus the reveal mass, so that no release that tells anything is free.
    """

    cost: FloatArray
    moments: FloatArray  # at TILTS
    hidden: float
    largest: FloatArray | None  # the largest loss of each query, when all are finite

    @classmethod
    def of(cls, losses: Sequence[Loss | None]) -> Rates:
        known = {loss: loss_moments(loss) for loss in dict.fromkeys(losses)}
        table = [known[loss] for loss in losses]
        moments = np.array([row.logs for row in table])
        hidden = np.array([row.hidden for row in table])
        largest = np.array([row.largest for row in table])
        cost = moments[:, _tilt(moments)] + hidden
        if not np.isfinite(cost).all():
            cost = np.ones(len(table))  # no order is known for all of them: count
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = np.where(moments > 0, moments / cost[:, None], 0.0).max(axis=0)
            rate = float(np.where(hidden > 0, hidden / cost, 0.0).max())
        return cls(cost, rates, rate, largest if np.isfinite(largest).all() else None)

    @property
    def costs(self) -> FloatArray:
        """Columns to search by: the moment, and the largest loss when there is one."""
        return np.stack([self.cost] if self.largest is None else [self.cost, self.largest], axis=1)

    def bound(self, rest: FloatArray) -> tuple[Loss, ...]:
        """Losses above every cell whose costs stay below `rest`."""
        known = np.isfinite(self.moments)
        totals = (self.moments * rest[0])[known] * (1 + 1e-12)
        found = [renyi_bound(TILTS[known], totals, self.hidden * float(rest[0]) * (1 + 1e-12))]
        return tuple(found if self.largest is None else [*found, Loss.of(Pure(float(rest[1])))])


def _tilt(moments: FloatArray) -> int:
    """The tilt that converts best when about a tenth of the queries are touched."""
    with np.errstate(invalid="ignore"):
        total = moments.mean(axis=0) * max(moments.shape[0] / 10, 1.0)
        return int(np.argmin((total + log_peak(TILTS) - math.log(USUAL_DELTA)) / TILTS))
