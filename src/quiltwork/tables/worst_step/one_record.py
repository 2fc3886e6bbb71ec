"""One record turns into another: replaced, changed in one cell, or moved.

The record leaves the queries of its old cell and enters those of its new one. A query that keeps both is moved only if
it reads a column that changed: a count is not. All pairs of cells are looked at (`pairs`), unless there are millions;
then two of the strongest cells stand above every pair, and the result says so.

Reference: theory/granularity.md sections 2 (table), 3.3 (directions) and 4.3.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from quiltwork.compose.dominance import MOST_RUNGS, first_of_each
from quiltwork.compose.loss import Loss
from quiltwork.compose.scaling import total, turned
from quiltwork.errors import Unsupported
from quiltwork.tables.cells.cells import Arrangement, Cells, IntArray
from quiltwork.tables.cells.heaviest import ascended
from quiltwork.tables.notions.neighbors import Entry, Metric, Notion
from quiltwork.tables.notions.sensitivity import Response, changeable
from quiltwork.tables.query import Query
from quiltwork.tables.schema.columns import BoolArray
from quiltwork.tables.schema.table import Table
from quiltwork.tables.worst_step.fronts import Front, Rates, strongest
from quiltwork.tables.worst_step.pairs import Pairs, States
from quiltwork.tables.worst_step.vectors import Bound, Pricing, Reach, refuse

MOST_PAIRS = 60_000_000  # of cells, times the kinds of losses that are told apart
MOST_ELEMENTS = 8  # cells of one side whose pairs are composed one by one
MOST_PARTNERS = 4  # strong cells for which the best other cell is looked for
MOST_WITNESSES = 40  # strong cells whose pairs are tried when not all can be
PAIR_NOTE = "too many pairs of cells to list: two of the strongest cells stand above every pair"


def swaps(
    table: Table, queries: Sequence[Query], responses: Sequence[Response], pricing: Pricing, step: Notion
) -> Reach:
    """Vectors of one changed record."""
    queries, certain = _readable(table, queries)
    one = np.array([found.one for found in responses])
    always = np.array([query.opaque for query in queries])
    changes = changeable(step, table)
    reading = [query.opaque or query.reads_any(changes) for query in queries]
    both = np.array([found.both if reads else 0.0 for found, reads in zip(responses, reading, strict=True)])
    # a filter that is not known may keep both records, one or none: a count moves by one at most, the rest by `both`
    only = np.array([query.only_counts for query in queries])
    states = States(one, np.where(always, np.where(only, one, np.maximum(one, both)), both), always)
    if any(hidden and not plain for hidden, plain in zip(always, pricing.symmetric, strict=True)):
        raise Unsupported(
            "a query that is not symmetric and whose filter is not known",
            "a changed record may come or go there",
            "state it with a symmetric loss",
        )
    moved = list(step.distance.columns) if isinstance(step, Metric) else []
    arrangement = Arrangement.of(table, queries, records=2, whole=moved)
    sets = [frozenset((column,)) for column in sorted(changes)] if isinstance(step, Entry) else [changes]
    refuse(always & np.isinf(states.both))
    bounds: tuple[Bound, ...] = ()
    notes: tuple[str, ...] = ()
    cells = arrangement.all_cells()
    if cells is not None:
        cells = _told_apart(arrangement, cells, queries, sets, moved)
    kinds = min(len({query.loss for query in queries}), MOST_RUNGS)
    if cells is None or cells.touched.shape[0] ** 2 * len(sets) * kinds > MOST_PAIRS:
        fronts, bounds = _above(arrangement, queries, pricing, states, frozenset().union(*sets))
        strong = _exact(fronts)
        partners = [_partners(arrangement, strong, pricing, states, columns) for columns in sets]
        cells, notes = arrangement.cells(np.unique(np.concatenate([strong.picks, *partners]), axis=0)), (PAIR_NOTE,)
    search = Pairs(table, arrangement, cells, queries, pricing, states, step, certain)
    for columns in sets:
        search.look(columns)
    return Reach(search.vectors(), (*bounds, *search.bounds()), notes)


def _readable(table: Table, queries: Sequence[Query]) -> tuple[Sequence[Query], bool]:
    """Queries whose filter can be followed through a change; the others count as filters that are not known.

    One class that stands for all sets is above what a record touches, but not above what it leaves and enters.
    """
    sheets = Arrangement.of(table, queries, records=2).sheets
    lost = frozenset(sheet.column for sheet in sheets if not sheet.exact)
    if not lost:
        return queries, True
    return [attrs.evolve(query, adaptive=True) if query.where.columns & lost else query for query in queries], False


def _told_apart(
    arrangement: Arrangement,
    cells: Cells,
    queries: Sequence[Query],
    sets: Sequence[frozenset[str]],
    moved: Sequence[str],
) -> Cells:
    """One cell of each kind: equal queries, and equal classes wherever these decide what a change shows.

    A column decides when it cannot change in some step, or when someone reads it and a class of it holds one value; and
    how far a record may move depends on all of its classes.
    """
    deciding = []
    for s, sheet in enumerate(arrangement.sheets):
        free = all(sheet.column in columns for columns in sets)
        read = any(query.reads_any(frozenset((sheet.column,))) for query in queries)
        if not free or sheet.column in moved or (read and bool((sheet.sizes <= 1).any())):
            deciding.append(s)
    keys = np.concatenate([cells.touched.astype(np.int64), cells.picks[:, deciding]], axis=1)
    return cells.only(first_of_each(keys))


def _exact(fronts: Sequence[Cells]) -> Cells:
    """Cells that records can lie in, of all fronts: pairs of them are witnesses."""
    kept = [cells.only(np.flatnonzero(cells.exact)[:MOST_WITNESSES]) for cells in fronts]
    return Cells(*(np.concatenate([getattr(one, name) for one in kept]) for name in ("touched", "picks", "exact")))


def _partners(
    arrangement: Arrangement, strong: Cells, pricing: Pricing, states: States, columns: frozenset[str]
) -> IntArray:
    """For the strongest cells another one that costs much beside it; a query that both keep is lost or doubled.

    What this finds is only a witness, never a bound.
    """
    count = range(states.one.size)
    one, both = (Rates.of([pricing.at(i, float(far[i])) for i in count]).cost for far in (states.one, states.both))
    both = np.where(states.both > 0, both, 0.0)
    found = []
    for cell in np.argsort(-(strong.touched @ one), kind="stable")[:MOST_PARTNERS]:
        gains = np.where(strong.touched[cell], both - one, one)
        found.append(ascended(arrangement, gains, strong.picks[cell], columns))
    return np.array(found, dtype=np.int64).reshape(len(found), len(arrangement.sheets))


def _above(
    arrangement: Arrangement, queries: Sequence[Query], pricing: Pricing, states: States, columns: frozenset[str]
) -> tuple[list[Cells], tuple[Bound, ...]]:
    r"""Two strong cells above every pair: the old one at its heaviest (changed or left), the new one entered.

    A pair moves T \ T' and T' \ T by `one` and what both keep by `both`. The first and the last of these lie below T
    at the larger of the two distances, the middle one below T' at `one`.
    """
    can = arrangement.possible | states.always
    crossing = can & np.array([bool(query.where.columns & columns) or query.opaque for query in queries])
    reading = can & np.array([query.reads_any(columns) or query.opaque for query in queries])
    refuse((crossing & np.isinf(states.one)) | (reading & np.isinf(states.both)))
    one = np.where(crossing, states.one, 0.0)
    heavy = np.maximum(one, np.where(reading, states.both, 0.0))
    losses = [[pricing.at(i, float(d)) for i, d in enumerate(side)] for side in (heavy, one)]
    if not all(pricing.symmetric):
        raise Unsupported(
            "a plan with so many cells and releases that are not symmetric",
            "every pair of cells would have to be composed in its own direction",
            "state them with a symmetric loss",
        )
    first = strongest(arrangement, losses[0])
    fronts = [first, first if losses[0] == losses[1] else strongest(arrangement, losses[1])]  # equal for counts
    leaving = _elements(fronts[0], losses[0], np.ones_like(states.always))
    entering = [tuple(map(turned, element)) for element in _elements(fronts[1], losses[1], ~states.always)]
    above = [
        tuple(first[min(k, len(first) - 1)] + second[min(k, len(second) - 1)] for k in range(2))
        for first in leaving
        for second in entering
    ]
    bounds = tuple(Bound(tuple(dict.fromkeys(pair)), "two strongest cells") for pair in dict.fromkeys(above))
    return [found.cells for found in fronts], bounds


def _elements(found: Front, losses: Sequence[Loss | None], counted: BoolArray) -> list[tuple[Loss, ...]]:
    """Losses above every cell: those of a small front, or the envelope of a large one; and of the cells left out."""
    if found.cells.touched.shape[0] <= MOST_ELEMENTS:
        elements = [
            (total((loss, 1) for i in np.flatnonzero(row & counted) if (loss := losses[int(i)]) is not None),)
            for row in found.cells.touched
        ]
    else:
        elements = [(found.ladders.loss(found.strengths.max(axis=0)),)]
    return [*elements, *(() if found.bound is None else (found.bound.losses,))]
