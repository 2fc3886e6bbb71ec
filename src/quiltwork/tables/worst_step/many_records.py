"""Several records at once: all records of a person, the edges of a node, what happened within a window.

A query stated for single records is moved once for each record it keeps; one stated for whole persons is moved as soon
as it keeps any. Small cases are listed. Beyond, finding the worst choice is maximum coverage, which is NP-hard: then
prices bound it (cover.py), once for each quantity that adds up, and the best choice found is reported beside the bound.

Reference: theory/granularity.md section 4.4.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.dominance import Ladders, front
from quiltwork.compose.loss import Loss
from quiltwork.tables.cells.cells import Arrangement, Cells, IntArray, inclusion_maximal
from quiltwork.tables.cover.cover import SEARCHED, cover, pooled
from quiltwork.tables.notions.sensitivity import Response
from quiltwork.tables.worst_step.additive import quantities
from quiltwork.tables.worst_step.vectors import LIMIT_NOTE, Bound, Pricing, Reach, Vector, everything, refuse

MOST_CHOICES = 3_000
MOST_LISTED = 20_000_000  # cells times queries, when all cells are looked at
COVER_NOTE = "all choices of records at once are bounded by linear programming duality, in exact fractions"


def people(
    arrangement: Arrangement,
    responses: Sequence[Response],
    pricing: Pricing,
    records: float,
    caps: Mapping[str, int],
    where: str = "",
) -> Reach:
    """Vectors of up to `records` records that come or go together; `caps` limit those with one value of a column."""
    sheets = {sheet.column: (place, sheet) for place, sheet in enumerate(arrangement.sheets)}
    capacity = {sheets[column][0]: sheets[column][1].sizes * cap for column, cap in caps.items()}
    records = min([records, *(float(limits.sum()) for limits in capacity.values())])
    if math.isinf(records):
        return everything(arrangement, responses, pricing, f"a person with any number of records{where}")
    refuse(arrangement.possible & np.isinf([found.many(records) for found in responses]))
    person = _Person(arrangement, responses, pricing, int(records), dict(sorted(capacity.items())), where)
    everyone = arrangement.all_cells()
    if everyone is None or everyone.touched.size > MOST_LISTED:
        return person.searched()
    cells = _maximal_cells(everyone, list(person.capacity))
    choices = person.choices(cells)
    return person.bounded(cells) if choices is None else person.listed(cells, choices)


def _maximal_cells(everyone: Cells, capped: Sequence[int]) -> Cells:
    """Cells whose queries are not all touched by another cell with the same values of the capped columns."""
    keys = everyone.picks[:, capped]
    groups = (np.flatnonzero((keys == key).all(axis=1)) for key in np.unique(keys, axis=0))
    return everyone.only(np.concatenate([group[inclusion_maximal(everyone.touched[group])] for group in groups]))


def _undominated(counts: np.ndarray, responses: Sequence[Response], pricing: Pricing) -> IntArray:
    """Choices that no other dominates, by the strengths of their losses."""
    states = [(i, int(n)) for i in range(counts.shape[1]) for n in np.unique(counts[:, i]) if n]
    losses = [pricing.at(i, responses[i].many(n)) for i, n in states]
    ladders = Ladders.of(loss for loss in losses if loss is not None)
    up, down = ladders.strength(losses, up=True), ladders.strength(losses, up=False)
    rows_up, rows_down = np.zeros((counts.shape[0], up.shape[1])), np.zeros((counts.shape[0], up.shape[1]))
    for (i, n), above, below in zip(states, up, down, strict=True):
        here = counts[:, i] == n
        rows_up[here] += above
        rows_down[here] += below
    return front(rows_up, rows_down)


@attrs.frozen(eq=False)
class _Person:
    """Up to `records` records that come or go together; `capacity` limits, by sheet, those of each class."""

    arrangement: Arrangement
    responses: Sequence[Response]
    pricing: Pricing
    records: int
    capacity: Mapping[int, FloatArray]
    where: str

    def fits(self, cells: Cells, choice: Sequence[int]) -> bool:
        """Whether so many records of each class are allowed."""
        picks = cells.picks[list(choice)]
        return all(
            bool((np.bincount(picks[:, place], minlength=most.size) <= most).all())
            for place, most in self.capacity.items()
        )

    def choices(self, cells: Cells) -> list[tuple[int, ...]] | None:
        """Every multiset of cells that a person can have, largest ones only; None when there are too many."""
        number = cells.touched.shape[0]
        if math.comb(number + self.records - 1, self.records) > MOST_CHOICES:
            return None
        if not self.capacity:
            return list(itertools.combinations_with_replacement(range(number), self.records))
        sizes = range(1, self.records + 1)  # with caps, fewer records may be all that fits
        every = (c for size in sizes for c in itertools.combinations_with_replacement(range(number), size))
        found = [choice for choice in every if self.fits(cells, choice)]
        return found if len(found) <= MOST_CHOICES else None

    def vector(self, cells: Cells, choice: Sequence[int]) -> Vector:
        """What these records do."""
        counts = cells.touched[list(choice)].sum(axis=0)
        distances = {int(i): self.responses[int(i)].many(int(counts[i])) for i in np.flatnonzero(counts)}
        parts = {cell: list(choice).count(cell) for cell in choice}
        text = "; ".join(f"{n} with {self.arrangement.describe(cells.picks[cell])}" for cell, n in parts.items())
        exact = bool(cells.exact[list(choice)].all())
        return self.pricing.vector(distances, f"{len(choice)} records{self.where}: {text}", exact=exact)

    def listed(self, cells: Cells, choices: Sequence[tuple[int, ...]]) -> Reach:
        """The choices that no other dominates."""
        counts = np.array(
            [np.bincount(choice, minlength=cells.touched.shape[0]) for choice in choices]
        ) @ cells.touched.astype(int)
        vectors = [self.vector(cells, choices[i]) for i in _undominated(counts, self.responses, self.pricing)]
        return Reach(tuple(vectors), notes=() if bool(cells.exact.all()) else (LIMIT_NOTE,))

    def bounded(self, cells: Cells) -> Reach:
        """Bounds from prices for each additive quantity, and the best choices they came with."""
        # the caps of one column; the others are left out: that only allows more
        place, limits = next(iter(self.capacity.items()), (None, None))
        groups = None if place is None else cells.picks[:, place]
        losses: list[Loss] = []
        methods: list[str] = []
        vectors: dict[Loss, Vector] = {}
        for quantity in quantities(self.pricing, self.responses, self.most_records()):
            found = [
                cover(cells.touched, reward, slope, self.records, groups, limits, effort=quantity.effort)
                for reward, slope in quantity.costs
            ]
            losses.append(quantity.loss([one.upper for one in found]))
            methods += [one.method for one in found]
            for one in found:
                self._witness(vectors, cells, [c for c in one.chosen if cells.exact[c]])
        notes = (COVER_NOTE, *(() if bool(cells.exact.all()) else (LIMIT_NOTE,)))
        return Reach(tuple(vectors.values()), (Bound(tuple(losses), "; ".join(dict.fromkeys(methods))),), notes)

    def searched(self) -> Reach:
        """Too many cells to list: prices again, but the dearest cell is searched. Caps count only in the chords."""
        losses: list[Loss] = []
        vectors: dict[Loss, Vector] = {}
        for quantity in quantities(self.pricing, self.responses, self.most_records()):
            found = [pooled(self.arrangement, reward, slope, self.records) for reward, slope in quantity.costs]
            losses.append(quantity.loss([one.upper for one in found]))
            for cells in (one.chosen for one in found):
                self._witness(vectors, cells, range(cells.touched.shape[0]) if bool(cells.exact.all()) else ())
        return Reach(tuple(vectors.values()), (Bound(tuple(losses), SEARCHED),), (COVER_NOTE, LIMIT_NOTE))

    def _witness(self, vectors: dict[Loss, Vector], cells: Cells, choice: Sequence[int]) -> None:
        """Keep what an allowed choice really does, once for each loss."""
        if choice and self.fits(cells, choice):
            vector = self.vector(cells, choice)
            vectors.setdefault(vector.loss, vector)

    def most_records(self) -> FloatArray:
        """How many of a person's records each query can keep at most."""
        most = np.full(self.arrangement.queries, float(self.records))
        for place, limits in self.capacity.items():
            true = self.arrangement.sheets[place].true
            reached = np.array([self.arrangement.touched(row[None, :])[0] for row in true])
            most = np.minimum(most, np.where(reached, limits[:, None], 0.0).sum(axis=0))
        return np.asarray(np.maximum(most, 1.0))
