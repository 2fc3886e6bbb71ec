"""One ordered column: walk along it, adding a query where its interval begins and dropping it where it ends.

O(k log k) for k intervals, whatever their overlap; no table of cells and boxes is made.

Reference: theory/granularity.md section 4.2.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.numbers.rounding import UNIT
from quiltwork.tables.cells.cells import IntArray
from quiltwork.tables.query import Query
from quiltwork.tables.schema.columns import BoolArray, Ordered
from quiltwork.tables.schema.selectors import HIGHEST, LOWEST, Cut, Null, Selector, Spans
from quiltwork.tables.schema.table import Table

MIN_QUERIES = 200  # queries; below, the table of cells is as fast and names every class


@attrs.frozen(eq=False)
class Sweep:
    """Places along a column and the intervals of the queries, as indices of places: from `first` up to before `last`.

    The last place is NULL, when the column has it.
    """

    column: str
    names: tuple[str, ...]
    first: IntArray
    last: IntArray
    owner: IntArray
    always: BoolArray

    @classmethod
    def of(cls, table: Table, queries: Sequence[Query]) -> Sweep | None:
        """None unless all conditions are intervals of one ordered column, one box for each query."""
        columns = {column for query in queries for box in query.boxes or () for column in box}
        if len(queries) < MIN_QUERIES or len(columns) != 1:
            return None
        (name,) = columns
        column = table.columns[name]
        if not isinstance(column, Ordered) or any(len(query.boxes or ()) > 1 for query in queries):
            return None
        low, high = column.domain
        found: list[tuple[Cut | None, Cut | None, int]] = []
        for i, query in enumerate(queries):
            for box in query.boxes or ():
                found += [(start, end, i) for start, end in _intervals(box.get(name, ()), low, high)]
        cuts = sorted({low, high, *(cut for start, end, _ in found for cut in (start, end) if cut is not None)})
        place = {cut: j for j, cut in enumerate(cuts)}
        null = len(cuts) - 1
        first = [null if start is None else place[start] for start, _, _ in found]
        last = [null + 1 if end is None else place[end] for _, end, _ in found]
        names = [column.name_of(a, b) for a, b in itertools.pairwise(cuts)]
        always = [query.boxes is None or any(not box for box in query.boxes) for query in queries]
        return cls(
            name,
            (*names, "NULL") if getattr(column, "nullable", False) else tuple(names),
            np.array(first, dtype=np.int64),
            np.array(last, dtype=np.int64),
            np.array([i for _, _, i in found], dtype=np.int64),
            np.array(always, dtype=bool),
        )

    def sums(self, weights: FloatArray) -> FloatArray:
        """For each place, the sum of the rows of weights (queries x anything) of the queries that keep it."""
        steps = np.zeros((len(self.names) + 2, weights.shape[1]))
        np.add.at(steps, self.first, weights[self.owner])
        np.add.at(steps, self.last, -weights[self.owner])
        found: FloatArray = np.cumsum(steps, axis=0)[: len(self.names)] + weights[self.always].sum(axis=0)
        return found

    @property
    def possible(self) -> BoolArray:
        """Queries that some record can touch."""
        found = self.always.copy()
        found[self.owner] = True
        return found

    def describe(self, picks: IntArray) -> str:
        """A place in words."""
        return f"{self.column} = {self.names[int(picks[0])]}"

    def touched(self, place: int) -> BoolArray:
        """Queries that keep the records of a place."""
        found = self.always.copy()
        found[self.owner[(self.first <= place) & (place < self.last)]] = True
        return found


def _intervals(selectors: Sequence[Selector], low: Cut, high: Cut) -> list[tuple[Cut | None, Cut | None]]:
    """The values that satisfy all selectors, as spans inside the domain; (None, None) is NULL."""
    if not selectors:
        return []  # no condition on the column: the query keeps every record
    if any(isinstance(selector, Null) and selector.null for selector in selectors):
        return [(None, None)] if all(isinstance(s, Null) and s.null for s in selectors) else []
    spans: list[tuple[Cut, Cut]] = [(max(low, LOWEST), min(high, HIGHEST))]
    for selector in selectors:
        if isinstance(selector, Spans):
            spans = [(max(a, c), min(b, d)) for a, b in spans for c, d in selector.spans if max(a, c) < min(b, d)]
    return list(spans)


def rounding(places: int, weights: FloatArray) -> FloatArray:
    """How far a running sum may lie from the true one: every place and every query rounds a partial sum."""
    found: FloatArray = 4 * (places + 2 * weights.shape[0] + 2) * UNIT * np.abs(weights).sum(axis=0)
    return found
