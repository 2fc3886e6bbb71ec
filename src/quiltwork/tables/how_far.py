"""How far a plan tells two given tables apart: the distance vector of its queries, and what that costs.

A query whose loss holds for neighbours of its own input moves by the distance of what it reads of the two tables; one
whose loss holds for the whole table by the distance of the tables.  d of these steps cost the loss of a group of d, and
the queries compose (seed 001 Theorem III.3 and Corollary V.3 for a single pair).

This looks at data: it is for examples, tests, and tables that are public.  What it says about two tables of which one
is secret is as secret as that table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from quiltwork.compose.loss import Loss, compose
from quiltwork.errors import InvalidParameter, UnboundedLossError, Unsupported
from quiltwork.kinds import not_written
from quiltwork.tables.notions.between import Record, records, steps
from quiltwork.tables.notions.neighbors import AddRemove, Entry, Metric, Notion, ReplaceOne, User, Window
from quiltwork.tables.notions.spaces import stability_product
from quiltwork.tables.query import Query

if TYPE_CHECKING:
    from quiltwork.tables.plan import Plan

Pair = tuple[list[dict[str, Any]], list[dict[str, Any]]]


@not_written("it speaks of two tables", "keep the plan and the tables")
@attrs.frozen
class HowFar:
    """What lies between two tables: steps of the plan's neighbours, and of what each query is stated for."""

    steps: float
    vector: Mapping[str, float]
    parts: tuple[Loss, ...] = attrs.field(repr=False)

    @property
    def loss(self) -> Loss:
        """What all queries together lose between the two tables; refused where some query promises nothing."""
        far = tuple(name for name, moved in self.vector.items() if math.isinf(moved))
        if far:
            named = ", ".join(far)
            raise UnboundedLossError(f"no number of steps leads from one table to the other for {named}", far)
        if not self.parts:
            raise InvalidParameter("the two tables", "alike for every query", "different in what some query reads")
        return compose(*self.parts)


def how_far(plan: Plan, first: Iterable[Record], second: Iterable[Record]) -> HowFar:
    """The distance of two tables for a plan, query by query."""
    if plan.contribution is not None:
        reason = "which rows of a person are kept depends on the order of the table"
        raise Unsupported("two tables under a contribution bound", reason)
    tables = records(plan.table, "first", first), records(plan.table, "second", second)
    vector: dict[str, float] = {}
    parts: list[Loss] = []
    for query in plan.queries:
        moved = _moved(plan, query, tables)
        vector[query.name] = moved
        if 0 < moved < math.inf:
            parts.append(query.loss.group(math.ceil(moved)))
    between = steps(tables[0], tables[1], plan.neighbors, tuple(plan.table.columns))
    return HowFar(between, vector, tuple(parts))


def _moved(plan: Plan, query: Query, tables: Pair) -> float:
    """How far the input of a query moves, in steps of the notion for which its loss is stated."""
    notion = query.holds.under(plan.neighbors).notion or plan.neighbors
    every = tuple(plan.table.columns)
    if not query.holds.input:
        return steps(tables[0], tables[1], notion, every)
    one, two = (table if query.opaque else [row for row in table if query.where.keeps(row)] for table in tables)
    if query.via is not None or query.opaque:
        if not isinstance(notion, AddRemove):
            return 0.0 if steps(one, two, AddRemove(), every) == 0 else math.inf
        return stability_product(query.stability, steps(one, two, notion, every))
    kept = every if query.reads is None else tuple(c for c in every if c in query.reads | _needed(notion))
    return steps(one, two, notion, kept)


def _needed(notion: Notion) -> frozenset[str]:
    """The columns of which a notion speaks."""
    if isinstance(notion, User):
        return frozenset((notion.id, *(column for column, _ in notion.max_per)))
    if isinstance(notion, Window):
        return frozenset((notion.column,))
    if isinstance(notion, ReplaceOne):
        return notion.fixed
    if isinstance(notion, Entry):
        return notion.columns
    return frozenset(notion.distance.columns) if isinstance(notion, Metric) else frozenset()
