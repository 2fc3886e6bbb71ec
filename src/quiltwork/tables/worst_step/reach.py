"""From a notion of neighbour to the vectors that its steps can reach.

Reference: theory/granularity.md sections 3 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from quiltwork.errors import Unsupported
from quiltwork.numbers.stated import typed
from quiltwork.tables.cells.cells import Arrangement, Sheet, Sweep
from quiltwork.tables.notions.neighbors import RECORD_STEPS, SWAP_STEPS, FreeLunch, Node, Notion, User, Window
from quiltwork.tables.notions.sensitivity import Response, changeable, occurring, response
from quiltwork.tables.query import Query
from quiltwork.tables.schema.columns import Ordered
from quiltwork.tables.schema.table import Table
from quiltwork.tables.worst_step.fronts import strongest, strongest_along
from quiltwork.tables.worst_step.many_records import people
from quiltwork.tables.worst_step.one_record import swaps
from quiltwork.tables.worst_step.vectors import LIMIT_NOTE, Pricing, Reach, everything, refuse


def reach(table: Table, queries: Sequence[Query], step: Notion) -> Reach:
    """The vectors of one step; `Unbounded` when one of them is infinite."""
    if not queries:
        return Reach((Pricing([], []).vector({}, "any record, nothing was released"),))
    queries = _followed(queries, step)
    responses = [response(query, step, table) for query in queries]
    pricing = Pricing(queries, responses)
    if isinstance(step, RECORD_STEPS):
        return _single(table, queries, responses, pricing)
    if isinstance(step, SWAP_STEPS):
        return swaps(table, queries, responses, pricing, step)
    if isinstance(step, User) and step.max_records == 1:
        return _single(table, queries, [attrs.evolve(found, one=found.many(1)) for found in responses], pricing)
    if isinstance(step, User):
        arrangement = Arrangement.of(table, queries, records=3, whole=[column for column, _ in step.max_per])
        return people(arrangement, responses, pricing, step.max_records, dict(step.max_per))
    if isinstance(step, Node):
        arrangement = Arrangement.of(table, queries, records=3)
        return _around(arrangement, queries, responses, pricing, step)
    if isinstance(step, Window):
        return _window(table, queries, responses, pricing, step)
    if isinstance(step, FreeLunch):
        arrangement = Arrangement.of(table, queries)
        # a table of bounded size cannot change everywhere at once: what is stated for single records is only bounded
        single = all(found.one == 1 for found in responses) and math.isinf(table.most)
        return everything(arrangement, responses, pricing, "two tables with nothing in common", exact=single)
    raise TypeError(f"no rule for {step}")


def _followed(queries: Sequence[Query], step: Notion) -> list[Query]:
    """Queries whose condition comes after a clip or a join count as touching every record: it may push others out.

    A whole person who comes or goes takes along only rows of that person, whatever the order is.
    """
    return [
        attrs.evolve(query, adaptive=True)
        if query.filtered_last and not (isinstance(step, User) and getattr(query.via, "id", None) == step.id)
        else query
        for query in queries
    ]


def may_refuse(table: Table, queries: Sequence[Query], step: Notion) -> bool:
    """Whether some query, by itself, may move infinitely far, or has no loss at a distance: then the search decides.

    Looks at no cell. Of the plans that are not refused it doubts those with a condition that is true, or false, of
    every record, and those whose distances no reachable choice of records attains.
    """
    queries = _followed(queries, step)
    pricing = Pricing(queries, [response(query, step, table) for query in queries])
    try:
        for i, query in enumerate(queries):
            if isinstance(step, SWAP_STEPS):
                far = _swap_distances(query, pricing.responses[i], changeable(step, table))
                if query.opaque and not pricing.symmetric[i]:
                    return True
            else:
                far = occurring(query, step, table)
            if math.inf in far:
                return True
            for distance in far:
                pricing.at(i, distance)
    except Unsupported:
        return True
    return False


def _swap_distances(query: Query, found: Response, changes: frozenset[str]) -> set[float]:
    """How far a changed record can move a query: across its filter, and inside it."""
    crossing = query.opaque or bool(query.where.columns & changes)
    reading = query.opaque or query.reads_any(changes)
    return ({found.one} if crossing else set()) | ({found.both} if reading else set())


def _single(table: Table, queries: Sequence[Query], responses: Sequence[Response], pricing: Pricing) -> Reach:
    """One record comes or goes: all queries of its cell are touched, in the same direction."""
    place = Sweep.of(table, queries) or Arrangement.of(table, queries)
    refuse(place.possible & np.isinf([found.one for found in responses]))
    losses = [pricing.at(i, found.one) for i, found in enumerate(responses)]
    found = strongest_along(place, losses) if isinstance(place, Sweep) else strongest(place, losses)
    cells = found.cells
    vectors = [
        pricing.vector(
            {int(i): responses[int(i)].one for i in np.flatnonzero(touched)},
            f"a record with {place.describe(picks)}",
            exact=bool(exact),
        )
        for touched, picks, exact in zip(cells.touched, cells.picks, cells.exact, strict=True)
    ]
    notes = () if found.bound is None and bool(cells.exact.all()) else (LIMIT_NOTE,)
    return Reach(tuple(vectors), () if found.bound is None else (found.bound,), notes)


def _around(
    arrangement: Arrangement, queries: Sequence[Query], responses: Sequence[Response], pricing: Pricing, step: Node
) -> Reach:
    """The edges of one node. When some go and others come, what they do together is bounded; some may also only go."""
    if not step.rewire:
        return people(arrangement, responses, pricing, step.max_degree, {})
    both = people(arrangement, _netted(queries, responses, step), pricing, step.records, {})
    going = people(arrangement, responses, pricing, step.max_degree, {})
    bounded = tuple(attrs.evolve(vector, exact=False) for vector in both.vectors)
    certain = tuple(vector for vector in going.vectors if vector.exact)
    return Reach((*bounded, *certain), both.bounds, both.notes)


def _netted(queries: Sequence[Query], responses: Sequence[Response], step: Node) -> list[Response]:
    """A rewired node's count changes by what came minus what went: never by more than one side."""
    return [
        attrs.evolve(found, most=min(found.most, step.max_degree * found.each))
        if query.counts and found.each
        else found
        for query, found in zip(queries, responses, strict=True)
    ]


def _window(
    table: Table, queries: Sequence[Query], responses: Sequence[Response], pricing: Pricing, step: Window
) -> Reach:
    """Every stretch of the column: the classes that it meets, and what the records there can touch."""
    arrangement = Arrangement.of(table, queries, records=3, whole=[step.column])
    sheet = next(sheet for sheet in arrangement.sheets if sheet.column == step.column)
    column = table.columns[step.column]
    discrete = isinstance(column, Ordered) and column.discrete
    found: list[Reach] = []
    for classes, sure in stretches(sheet, step.length, discrete=discrete):
        inside = arrangement.within(step.column, classes)
        where = f"{step.column} within {sheet.names[classes[0]]} to {sheet.names[classes[-1]]}"
        if math.isinf(step.max_records):
            here = everything(inside, responses, pricing, f"the records with {where}", exact=sure)
        else:
            here = people(inside, responses, pricing, step.max_records, {}, f" with {where}")
        reached = tuple(vector if sure else attrs.evolve(vector, exact=False) for vector in here.vectors)
        found.append(attrs.evolve(here, vectors=reached))
    notes = dict.fromkeys(note for one in found for note in one.notes)
    vectors = tuple(vector for one in found for vector in one.vectors)
    return Reach(vectors, tuple(bound for one in found for bound in one.bounds), tuple(notes))


def stretches(sheet: Sheet, length: float, *, discrete: bool) -> list[tuple[list[int], bool]]:
    """Runs of classes that one window can meet, and whether it surely can: it is best to start at the end of a class.

    The last value of class j and `length` values from there: all classes that begin before that. A real number has no
    last value before it, so that a class which begins exactly there may be met or not. NULL has no place in time and
    is a stretch of its own.
    """
    runs: list[tuple[list[int], bool]] = []
    spans = [(i, span) for i, span in enumerate(sheet.spans) if span is not None]
    for at, (first, (_, end)) in enumerate(spans):
        last = typed(end[0]) + typed(length) - (1 if discrete else 0)
        begins = [(i, typed(start[0])) for i, (start, _) in spans[at + 1 :]]
        run = [first, *(i for i, start in begins if start < last or (not discrete and start == last))]
        if not runs or not set(run) <= set(runs[-1][0]):
            runs.append((run, discrete or all(start != last for _, start in begins)))
    return runs + [([i], True) for i, span in enumerate(sheet.spans) if span is None]
