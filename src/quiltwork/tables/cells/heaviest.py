"""The cells that cost most, when there are too many to list.

The queries of a cell are an intersection over columns, and a cost that adds up over queries is a product of tables:
for two columns, all sums at once are one matrix product. The other columns are fixed class by class, and a branch is
left out when even the queries that are still possible cost less than a share of the best cell found. What is left out
is bounded: no cell there costs more than that share. Classes whose boxes are all true in another class are not needed.

Reference: theory/granularity.md sections 4.1, 4.2 and 4.5 (the sum at one order bounds every order).
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.dominance import first_of_each
from quiltwork.numbers.rounding import UNIT
from quiltwork.tables.cells.cells import Arrangement, IntArray
from quiltwork.tables.schema.columns import BoolArray

SHARES = (0.75, 0.95)  # of the best cell: looked at down to here; tightened when there are too many cells
MOST_KEPT = 40_000  # cells held at once
MOST_NODES = 4_000  # branches
MOST_ROUNDS = 8  # of ascent
MOST_SUMS = 4_000_000_000  # multiplications


@attrs.frozen(eq=False)
class Heaviest:
    """Cells by their classes, their costs and strengths; for each cost, a number that no other cell passes."""

    picks: IntArray
    sums: FloatArray
    strengths: FloatArray
    rest: FloatArray


def heaviest(
    arrangement: Arrangement, costs: FloatArray, strengths: FloatArray, shares: FloatArray, *, merge: bool
) -> Heaviest:
    """Cells whose cost passes a share of the largest, for at least one of the costs (queries x costs).

    With `merge`, of cells with equal strengths (sums over queries x strengths) one is kept.
    """
    search = _Search(arrangement, costs, strengths, shares, merge)
    search.branch(np.arange(arrangement.owner.size), np.full(len(arrangement.sheets), -1, dtype=np.int64), 0)
    return search.result()


class _Search:
    def __init__(
        self, arrangement: Arrangement, costs: FloatArray, strengths: FloatArray, shares: FloatArray, merge: bool
    ) -> None:
        self.arrangement, self.costs, self.strength, self.shares = arrangement, costs, strengths, shares
        self.merge = merge
        self.base = costs[arrangement.always].sum(axis=0)
        self.always = strengths[arrangement.always].sum(axis=0)
        sheets = arrangement.sheets
        self.order = sorted(range(len(sheets)), key=lambda s: len(sheets[s].names))
        # a good cell to start from for each cost, found by ascent: no cell that is looked for costs much less
        start = np.zeros(len(sheets), dtype=np.int64)
        self.seeds = arrangement.cells(np.array([ascended(arrangement, column, start) for column in costs.T]))
        self.best = (self.seeds.touched.astype(float) @ costs).max(axis=0)
        self.rest = np.zeros(costs.shape[1])
        self.strengths: list[FloatArray] = []
        self.picks: list[IntArray] = []
        self.sums: list[FloatArray] = []
        self.nodes, self.work, self.held = 0, 0, 0

    # ---- sums over queries

    def _owned(self, rows: BoolArray, active: IntArray) -> tuple[BoolArray, IntArray]:
        """Rows of boxes as rows of the queries that own them."""
        owners = self.arrangement.owner[active]
        if not self.arrangement.several:
            return rows, owners
        distinct, place = np.unique(owners, return_inverse=True)
        seen = np.zeros((rows.shape[0], distinct.size), dtype=bool)
        for b, q in enumerate(place.ravel()):
            seen[:, q] |= rows[:, b]
        return seen, distinct

    def _sums(self, rows: BoolArray, active: IntArray) -> FloatArray:
        seen, owners = self._owned(rows, active)
        return np.asarray(self.base + seen.astype(float) @ self.costs[owners])

    def _along(self, s: int, active: IntArray) -> tuple[IntArray, FloatArray]:
        """The classes of a column that matter, and for each the sum of all active boxes that stay possible in it."""
        found = self.arrangement.narrowed(s, active)
        if self.arrangement.several:
            rows = self.arrangement.sheets[s].true[np.ix_(found.classes, active)]
            return found.classes, self._sums(rows, active)
        owner = self.arrangement.owner
        others = active[~self.arrangement.sheets[s].asked[active]]
        always = self.base + self.costs[owner[others]].sum(axis=0)
        return found.classes, always + found.rows @ self.costs[owner[found.asked]]

    # ---- branches

    def branch(self, active: IntArray, picks: IntArray, depth: int) -> None:
        if depth >= max(len(self.order) - 2, 0):
            for block in self._blocks(self.order[depth:], active):
                self._keep(*block, active, picks)
            return
        if self.nodes >= MOST_NODES or self.work > MOST_SUMS:
            self.rest = np.maximum(self.rest, self._ceiling(active, depth))
            return
        self.nodes += 1
        s = self.order[depth]
        true = self.arrangement.sheets[s].true
        kept, sums = self._along(s, active)
        for k in kept[np.argsort(-sums[:, 0], kind="stable")]:
            child = active[true[k, active]]
            chosen = picks.copy()
            chosen[s] = k
            ceiling = self._ceiling(child, depth + 1)
            if bool((ceiling < self._floor).all()):
                self.rest = np.maximum(self.rest, ceiling)
            else:
                self.branch(child, chosen, depth + 1)

    @property
    def _floor(self) -> FloatArray:
        return np.asarray(self.shares * self.best)

    def _ceiling(self, active: IntArray, depth: int) -> FloatArray:
        """The most that a cell of this branch can cost: over each column that is left, its best class."""
        found: FloatArray = self._sums(np.ones((1, active.size), dtype=bool), active)[0]
        for s in self.order[depth:]:
            found = np.minimum(found, self._along(s, active)[1].max(axis=0))
        return found

    # ---- the last two columns

    def _blocks(
        self, last: list[int], active: IntArray
    ) -> Iterator[tuple[BoolArray, FloatArray, list[tuple[int, IntArray]]]]:
        """Cells of the last columns: their boxes, their sums, and their classes."""
        if not last:
            boxes = np.ones((1, active.size), dtype=bool)
            yield boxes, self._sums(boxes, active), []
            return
        true = [self.arrangement.sheets[s].true for s in last]
        kept = [self.arrangement.narrowed(s, active).classes for s in last]
        if len(last) == 1:
            rows = true[0][np.ix_(kept[0], active)]
            yield rows, self._sums(rows, active), [(last[0], kept[0])]
        elif self.arrangement.several:  # a query counts once, however many of its boxes are true: row by row
            for k in kept[0]:
                boxes = true[1][np.ix_(kept[1], active)] & true[0][k, active]
                self.work += boxes.size
                yield boxes, self._sums(boxes, active), [(last[0], np.full(kept[1].size, k)), (last[1], kept[1])]
        else:
            yield from self._products(last, active)

    def _products(
        self, last: list[int], active: IntArray
    ) -> Iterator[tuple[BoolArray, FloatArray, list[tuple[int, IntArray]]]]:
        """All pairs of classes of two columns by one matrix product; those that pass the floor are yielded."""
        one, two = (self.arrangement.narrowed(s, active) for s in last)
        first = self.arrangement.sheets[last[0]].true[np.ix_(one.classes, active)]
        told = self.arrangement.sheets[last[1]].asked[active]  # what the second column tells apart; the rest is common
        owners = self.arrangement.owner[active]
        self.work += first.shape[0] * two.rows.size
        grids = []
        for j, base in enumerate(self.base):
            weighted = first * self.costs[owners, j]
            grids.append(base + weighted[:, ~told].sum(axis=1)[:, None] + weighted[:, told] @ two.rows.T)
        self.best = np.maximum(self.best, [float(grid.max()) for grid in grids])
        above = np.logical_or.reduce([grid >= floor for grid, floor in zip(grids, self._floor, strict=True)])
        if not above.all():
            self.rest = np.maximum(self.rest, [float(grid[~above].max()) for grid in grids])
        at = np.nonzero(above)
        if at[0].size:
            picked = [one.classes[at[0]], two.classes[at[1]]]
            boxes = first[at[0]] & self.arrangement.sheets[last[1]].true[np.ix_(picked[1], active)]
            yield boxes, np.stack([grid[at] for grid in grids], axis=1), list(zip(last, picked, strict=True))

    def _keep(
        self, boxes: BoolArray, sums: FloatArray, classes: list[tuple[int, IntArray]], active: IntArray, picks: IntArray
    ) -> None:
        self.best = np.maximum(self.best, sums.max(axis=0))
        passing = (sums >= self._floor).any(axis=1)
        if not passing.all():
            self.rest = np.maximum(self.rest, sums[~passing].max(axis=0))
        if not passing.any():
            return
        seen, owners = self._owned(boxes[passing], active)
        strength = self.always + seen.astype(float) @ self.strength[owners]
        first = first_of_each(strength) if self.merge else np.arange(strength.shape[0])
        chosen = np.tile(picks, (first.size, 1))
        for s, kept in classes:
            chosen[:, s] = kept[passing][first]
        self.strengths.append(strength[first])
        self.picks.append(chosen)
        self.sums.append(sums[passing][first])
        self.held += first.size
        if self.held > MOST_KEPT:
            self._tighten()

    def _tighten(self) -> None:
        """Too many cells: raise the shares until half of them are left."""
        sums = np.concatenate(self.sums)
        ratio = (sums / np.maximum(self.best, 1e-300)).max(axis=1)
        cut = float(np.median(ratio))
        self.shares = np.maximum(self.shares, cut)
        keep = ratio > cut
        self.rest = np.maximum(self.rest, sums[~keep].max(axis=0))
        self.strengths, self.picks = [np.concatenate(self.strengths)[keep]], [np.concatenate(self.picks)[keep]]
        self.sums, self.held = [sums[keep]], int(keep.sum())

    def result(self) -> Heaviest:
        seeds = self.seeds.touched.astype(float)
        picks = np.concatenate([*self.picks, self.seeds.picks])
        sums = np.concatenate([*self.sums, seeds @ self.costs])
        strengths = np.concatenate([*self.strengths, seeds @ self.strength])
        room = 1 + 1e-12 + 8 * UNIT * self.arrangement.queries  # every term rounds
        return Heaviest(picks, sums, strengths, self.rest * room)


def ascended(
    arrangement: Arrangement, costs: FloatArray, start: IntArray, columns: frozenset[str] | None = None
) -> IntArray:
    """A cell of high cost: the best class of one column after another, until none is better. Costs may be negative."""
    sheets, picks = arrangement.sheets, start.copy()
    for _ in range(MOST_ROUNDS):
        before = picks.copy()
        for s, sheet in enumerate(sheets):
            if columns is not None and sheet.column not in columns:
                continue
            others = np.ones(arrangement.owner.size, dtype=bool)
            for r, other in enumerate(sheets):
                if r != s:
                    others &= other.true[picks[r]]
            picks[s] = int(np.argmax(arrangement.touched(sheet.true & others).astype(float) @ costs))
        if (picks == before).all():
            break
    return picks
