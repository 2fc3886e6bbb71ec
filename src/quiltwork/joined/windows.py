"""What a plan loses when the rows of one person change in a window of ticks, and nowhere else.

Every person has one row for each tick of a column such as `hour`. A change inside a window replaces the rows of its
ticks, one after the other, person and tick unchanged: each tick moves the queries by one of the distance vectors of
`replace_one(fixed=...)`, and along a path of single rows distances add up. The losses of a window are those of all
sums of such vectors; what one sum dominates is left out. A larger window never loses less.

Reference: theory/joining.md section 2 (patterns W), theory/granularity.md section 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.dominance import Ladders
from quiltwork.compose.loss import Loss
from quiltwork.compose.scaling import total
from quiltwork.errors import InvalidParameter, UnboundedLossError, Unsupported
from quiltwork.tables.guarantee import unbounded
from quiltwork.tables.notions.neighbors import ReplaceOne
from quiltwork.tables.notions.sensitivity import response
from quiltwork.tables.query import Query
from quiltwork.tables.schema.columns import Cat, Column, Date, Id, Int
from quiltwork.tables.schema.table import Table
from quiltwork.tables.worst_step.reach import reach
from quiltwork.tables.worst_step.vectors import Pricing, Unbounded

MOST_TICKS = 5000
MOST_SUMS = 64  # vectors of one window that are kept apart; more are replaced by one above them

Distances = tuple[tuple[int, float], ...]


@attrs.frozen
class Sum:
    """Queries that one tick alone touches, as their loss; of those that several ticks touch, the distance so far."""

    own: Loss
    shared: Distances

    def plus(self, other: Sum) -> Sum:
        """Both changes."""
        moved = dict(self.shared)
        for query, distance in other.shared:
            moved[query] = moved.get(query, 0.0) + distance
        return Sum(self.own + other.own, tuple(sorted(moved.items())))


@attrs.frozen(eq=False, slots=False)
class Windows:
    """The losses of a plan's queries for changes inside each window of ticks."""

    table: Table
    queries: tuple[Query, ...]
    when: str
    changes: frozenset[str]
    _fronts: dict[tuple[int, int], tuple[Sum, ...]] = attrs.field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        if len(self.ticks) > MOST_TICKS:
            raise InvalidParameter("when", self.when, f"a column with at most {MOST_TICKS} values")

    @cached_property
    def ticks(self) -> tuple[Column, ...]:
        """The column `when` narrowed to each of its values, in order."""
        column = self.table.columns[self.when]
        if getattr(column, "nullable", False):
            raise InvalidParameter("when", self.when, "a column without NULL", "every row must have its tick")
        if isinstance(column, Cat):
            return tuple(Cat(value) for value in column.categories)
        if isinstance(column, (Int, Date)):
            first, last = int(column.domain[0][0]), int(column.domain[1][0])
            if last - first > MOST_TICKS:
                raise InvalidParameter("when", self.when, f"a column with at most {MOST_TICKS} values")
            if isinstance(column, Int):
                return tuple(Int(value, value) for value in range(first, last))
            return tuple(Date(day, day) for day in map(column.low.fromordinal, range(first, last)))
        raise InvalidParameter("when", self.when, "a column of whole numbers, days or categories in their order")

    @cached_property
    def tick_names(self) -> tuple[str, ...]:
        """The values of `when`, in words."""
        return tuple(self.table[self.when].parts())

    @property
    def step(self) -> ReplaceOne:
        """One row changes, its person and its tick unchanged."""
        return ReplaceOne(frozenset(self.table.columns) - self.changes)

    @cached_property
    def _pricing(self) -> Pricing:
        return Pricing(self.queries, [response(query, self.step, self.table) for query in self.queries])

    @cached_property
    def _moves(self) -> tuple[tuple[Distances, ...], ...]:
        """The distance vectors of one changed row at each tick."""
        if not all(self._pricing.symmetric):
            raise Unsupported(
                "a plan under a prior with a release that is not symmetric",
                "a row may change either way, and what was seen before may decide which",
                "state it with a symmetric loss",
            )
        found = []
        for tick in self.ticks:
            table = Table(**{**self.table.columns, self.when: tick}).rows(self.table.least, _most(self.table))
            try:
                here = reach(table, self.queries, self.step)
            except Unbounded as stopped:
                raise self._refused(stopped) from None
            if here.bounds:
                raise Unsupported(
                    "a plan under a prior with so many kinds of rows", "not every change of a row can be listed",
                    "give changes=[...], the columns that may change, or split the plan",
                )  # fmt: skip
            found.append(tuple(dict.fromkeys(vector.distances for vector in here.vectors)))
        return tuple(found)

    def _refused(self, stopped: Unbounded) -> UnboundedLossError:
        return unbounded(self.table, self.queries, self.step, stopped.queries)

    @cached_property
    def _touching(self) -> dict[int, int]:
        """How many ticks touch each query."""
        found: dict[int, int] = {}
        for moves in self._moves:
            for query in {query for vector in moves for query, _ in vector}:
                found[query] = found.get(query, 0) + 1
        return found

    @cached_property
    def _sums(self) -> tuple[tuple[Sum, ...], ...]:
        """The changes of each tick, queries of its own priced already."""
        touching, found = self._touching, []
        for moves in self._moves:
            sums = []
            for vector in moves:
                own = self._loss((q, d) for q, d in vector if touching[q] == 1)
                sums.append(Sum(own, tuple((q, d) for q, d in vector if touching[q] > 1)))
            found.append(_undominated(sums))
        return tuple(found)

    def _loss(self, distances: Iterable[tuple[int, float]]) -> Loss:
        priced = [self._pricing.at(query, distance) for query, distance in distances]
        return total((loss, 1) for loss in priced if loss is not None)

    def front(self, first: int, last: int) -> tuple[Sum, ...]:
        """All sums of one change at each tick of a window that no other sum dominates."""
        key = (first, last)
        if key not in self._fronts:
            here = self._sums[last]
            if last > first:
                here = _undominated([one.plus(more) for one in self.front(first, last - 1) for more in here])
            self._fronts[key] = here
        return self._fronts[key]

    def losses(self, first: int, last: int) -> tuple[Loss, ...]:
        """Losses one of which is at least that of any change inside the window."""
        for start in range(first, last):  # shorter windows first: a long one is built without deep recursion
            self.front(first, start)
        return tuple(dict.fromkeys(one.own + self._loss(one.shared) for one in self.front(first, last)))

    def alone(self, tick: int) -> tuple[Loss, ...]:
        """What queries really lose that no other tick touches, for each change of this tick: they tell of it alone."""
        own = {query for vector in self._moves[tick] for query, _ in vector if self._touching[query] == 1}
        vectors = [{query: distance for query, distance in vector if query in own} for vector in self._moves[tick]]
        return tuple(dict.fromkeys(self._pricing.vector(one, "").attained for one in vectors if one))


def _most(table: Table) -> int | None:
    return None if math.isinf(table.most) else int(table.most)


def _undominated(sums: Sequence[Sum]) -> tuple[Sum, ...]:
    """The sums that matter; too many are replaced by one above them all."""
    found = list(dict.fromkeys(sums))
    if len(found) == 1:
        return tuple(found)
    queries = sorted({query for one in found for query, _ in one.shared})
    far = np.array([[dict(one.shared).get(query, 0.0) for query in queries] for one in found]).reshape(len(found), -1)
    ladders = Ladders.of(one.own for one in found)
    high = ladders.strength([one.own for one in found], up=True)
    low = ladders.strength([one.own for one in found], up=False)
    kept: list[int] = []
    for i in np.argsort(-(far.sum(axis=1) + 1e-9 * high.sum(axis=1)), kind="stable"):
        if not any(_above(far[j], low[j], far[i], high[i]) or found[j] == found[i] for j in kept):
            kept.append(int(i))
    if len(kept) <= MOST_SUMS:
        return tuple(found[i] for i in kept)
    envelope = tuple((query, float(distance)) for query, distance in zip(queries, far.max(axis=0), strict=True))
    return (Sum(ladders.loss(high.max(axis=0)), envelope),)


def _above(far: FloatArray, low: FloatArray, other: FloatArray, high: FloatArray) -> bool:
    return bool(np.all(far >= other) and np.all(low >= high))


def windows_of(
    table: Table, queries: Sequence[Query], person: str, when: str, changes: Sequence[str] | None
) -> Windows:
    """The windows of a plan; `changes` are the columns of a row that may change, by default all but these two."""
    if not isinstance(table.columns[person], Id):
        raise InvalidParameter("person", person, "an Id column of the table", "it says whose row it is")
    if person == when:
        raise InvalidParameter("when", when, "another column than person")
    rest = frozenset(table.columns) - {person, when}
    chosen = rest if changes is None else frozenset(table.names(changes, "changes"))
    if not chosen or not chosen <= rest:
        raise InvalidParameter("changes", sorted(chosen), f"columns besides {person} and {when}: {sorted(rest)}")
    return Windows(table, tuple(queries), when, chosen)
