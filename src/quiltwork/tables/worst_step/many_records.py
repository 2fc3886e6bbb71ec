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

import numpy as np

from quiltwork.compose.dominance import Ladders, front
from quiltwork.compose.loss import Loss
from quiltwork.tables.cells.cells import Arrangement, Cells, IntArray
from quiltwork.tables.cover.column_generation import METHOD, pooled
from quiltwork.tables.cover.cover import Cover, cover
from quiltwork.tables.notions.sensitivity import Response
from quiltwork.tables.schema.columns import BoolArray
from quiltwork.tables.worst_step.additive import quantities
from quiltwork.tables.worst_step.touched import LIMIT_NOTE, everything, possible, refuse_infinite
from quiltwork.tables.worst_step.vectors import Bound, Pricing, Reach, Vector

MOST_CHOICES = 3_000
MOST_LISTED = 20_000_000  # cells times queries, when all cells are looked at
COVER_NOTE = "the worst choice of records was bounded by prices, not listed"


def people(
    arrangement: Arrangement,
    responses: Sequence[Response],
    pricing: Pricing,
    records: float,
    caps: Mapping[str, int],
    where: str = "",
) -> Reach:
    """Vectors of up to `records` records that come or go together; `caps` limit those with one value of a column."""
    can = [int(i) for i in np.flatnonzero(possible(arrangement))]
    capacity = {column: _capacities(arrangement, column, cap) for column, cap in caps.items()}
    records = min([records, *(float(limits.sum()) for limits in capacity.values())])
    if math.isinf(records):
        return everything(arrangement, responses, pricing, f"a person with any number of records{where}")
    refuse_infinite(can, [responses[i].many(records) for i in can])
    everyone = arrangement.all_cells()
    if everyone is None or everyone.touched.size > MOST_LISTED:
        return _searched(arrangement, responses, pricing, int(records), capacity, where)
    cells = _maximal_cells(arrangement, everyone, list(caps))
    choices = _choices(arrangement, cells, int(records), capacity)
    if choices is not None:
        return _listed(arrangement, cells, choices, responses, pricing, where)
    return _bounded(arrangement, cells, responses, pricing, int(records), capacity, where)


def _capacities(arrangement: Arrangement, column: str, cap: int) -> np.ndarray:
    sheet = next(sheet for sheet in arrangement.sheets if sheet.column == column)
    return sheet.sizes * cap


def _maximal_cells(arrangement: Arrangement, everyone: Cells, capped: Sequence[str]) -> Cells:
    """Cells whose queries are not all touched by another cell with the same values of the capped columns."""
    places = [i for i, sheet in enumerate(arrangement.sheets) if sheet.column in capped]
    keys = everyone.picks[:, places]
    groups = (np.flatnonzero((keys == key).all(axis=1)) for key in np.unique(keys, axis=0))
    kept = np.concatenate([group[_inclusion_maximal(everyone.touched[group])] for group in groups])
    return Cells(everyone.touched[kept], everyone.picks[kept], everyone.exact[kept])


def _inclusion_maximal(touched: BoolArray) -> IntArray:
    """Rows that are contained in no other; of equal rows the first."""
    first = np.sort(np.unique(touched, axis=0, return_index=True)[1])
    rows = touched[first].astype(np.float32)
    sizes = rows.sum(axis=1)
    kept = np.ones(first.size, dtype=bool)
    for start in range(0, first.size, 2_000):
        block = slice(start, start + 2_000)
        inside = (rows[block] @ rows.T == sizes[block, None]) & (sizes[block, None] < sizes[None, :])
        kept[block] = ~inside.any(axis=1)
    return first[kept].astype(np.int64)


def _choices(
    arrangement: Arrangement, cells: Cells, records: int, capacity: Mapping[str, np.ndarray]
) -> list[tuple[int, ...]] | None:
    """Every multiset of cells that a person can have, largest ones only; None when there are too many."""
    number = cells.touched.shape[0]
    if math.comb(number + records - 1, records) > MOST_CHOICES:
        return None
    limits = [
        (cells.picks[:, place], capacity[sheet.column])
        for place, sheet in enumerate(arrangement.sheets)
        if sheet.column in capacity
    ]

    def allowed(choice: tuple[int, ...]) -> bool:
        return all(
            bool((np.bincount(picks[list(choice)], minlength=most.size) <= most).all()) for picks, most in limits
        )

    if not limits:
        return list(itertools.combinations_with_replacement(range(number), records))
    sizes = range(1, records + 1)  # with caps, fewer records may be all that fits
    found = [c for size in sizes for c in itertools.combinations_with_replacement(range(number), size) if allowed(c)]
    return found if len(found) <= MOST_CHOICES else None


def _listed(
    arrangement: Arrangement,
    cells: Cells,
    choices: Sequence[tuple[int, ...]],
    responses: Sequence[Response],
    pricing: Pricing,
    where: str,
) -> Reach:
    counts = np.array([cells.touched[list(choice)].sum(axis=0) for choice in choices])
    kept = _undominated(counts, responses, pricing)
    vectors = []
    for index in kept:
        choice = choices[index]
        vectors.append(_vector(arrangement, cells, choice, responses, pricing, where))
    return Reach(tuple(vectors), notes=() if bool(cells.exact.all()) else (LIMIT_NOTE,))


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


def _vector(
    arrangement: Arrangement,
    cells: Cells,
    choice: Sequence[int],
    responses: Sequence[Response],
    pricing: Pricing,
    where: str,
) -> Vector:
    counts = cells.touched[list(choice)].sum(axis=0)
    distances = {int(i): responses[int(i)].many(int(counts[i])) for i in np.flatnonzero(counts)}
    parts = {cell: list(choice).count(cell) for cell in choice}
    text = "; ".join(f"{n} with {arrangement.describe(cells.picks[cell])}" for cell, n in parts.items())
    exact = bool(cells.exact[list(choice)].all())
    return pricing.vector(distances, f"{len(choice)} records{where}: {text}", exact=exact)


def _bounded(
    arrangement: Arrangement,
    cells: Cells,
    responses: Sequence[Response],
    pricing: Pricing,
    records: int,
    capacity: Mapping[str, np.ndarray],
    where: str,
) -> Reach:
    """Bounds from prices for each additive quantity, and the best choices they came with."""
    groups, limits = None, None
    for place, sheet in enumerate(arrangement.sheets):
        if sheet.column in capacity:  # the other caps are left out: that only allows more
            groups, limits = cells.picks[:, place], capacity[sheet.column]
            break
    most = _most_records(arrangement, records, capacity)
    found: list[Cover] = []
    losses: list[Loss] = []
    methods: list[str] = []
    for quantity in quantities(pricing, responses, most):
        bounds = []
        for reward, slope in quantity.costs:
            one = cover(cells.touched, reward, slope, records, groups, limits, effort=quantity.effort)
            found.append(one)
            bounds.append(one.upper)
            methods.append(one.method)
        losses.append(quantity.loss(bounds))
    vectors: dict[Loss, Vector] = {}
    for one in found:
        choice = [c for c in one.chosen if cells.exact[c]]
        if choice and _fits(arrangement, cells, choice, capacity):
            vector = _vector(arrangement, cells, choice, responses, pricing, where)
            vectors.setdefault(vector.loss, vector)
    notes = (COVER_NOTE, *(() if bool(cells.exact.all()) else (LIMIT_NOTE,)))
    return Reach(tuple(vectors.values()), (Bound(tuple(losses), "; ".join(dict.fromkeys(methods))),), notes)


def _searched(
    arrangement: Arrangement,
    responses: Sequence[Response],
    pricing: Pricing,
    records: int,
    capacity: Mapping[str, np.ndarray],
    where: str,
) -> Reach:
    """Too many cells to list: prices again, but the dearest cell is searched. Caps count only in the chords."""
    losses: list[Loss] = []
    vectors: dict[Loss, Vector] = {}
    for quantity in quantities(pricing, responses, _most_records(arrangement, records, capacity)):
        found = [pooled(arrangement, reward, slope, records) for reward, slope in quantity.costs]
        losses.append(quantity.loss([one.upper for one in found]))
        for cells in (one.chosen for one in found):
            choice = list(range(cells.touched.shape[0]))
            if bool(cells.exact.all()) and _fits(arrangement, cells, choice, capacity):
                vector = _vector(arrangement, cells, choice, responses, pricing, where)
                vectors.setdefault(vector.loss, vector)
    return Reach(tuple(vectors.values()), (Bound(tuple(losses), METHOD),), (COVER_NOTE, LIMIT_NOTE))


def _fits(arrangement: Arrangement, cells: Cells, choice: Sequence[int], capacity: Mapping[str, np.ndarray]) -> bool:
    return all(
        bool(
            (np.bincount(cells.picks[list(choice), place], minlength=len(sheet.names)) <= capacity[sheet.column]).all()
        )
        for place, sheet in enumerate(arrangement.sheets)
        if sheet.column in capacity
    )


def _most_records(arrangement: Arrangement, records: int, capacity: Mapping[str, np.ndarray]) -> np.ndarray:
    """How many of a person's records each query can keep at most."""
    most = np.full(arrangement.queries, float(records))
    for sheet in arrangement.sheets:
        if sheet.column in capacity:
            reached = np.array([arrangement.touched(row[None, :])[0] for row in sheet.true])
            most = np.minimum(most, np.where(reached, capacity[sheet.column][:, None], 0.0).sum(axis=0))
    found: np.ndarray = np.maximum(most, 1.0)
    return found
