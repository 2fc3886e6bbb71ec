"""Cells: the sets of queries that one record can touch, found from the conditions alone.

Values of a column that no condition tells apart form a class; one class of each column is a cell. A condition is a
union of boxes, and a box is true in a cell when it is true in each of its classes, so that the boxes of a cell are an
intersection of rows, one for each column. No data are looked at.

Intervals of one ordered column need no table of cells and boxes (`Sweep`).

Reference: theory/granularity.md sections 4.1 and 4.2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork.checks import FloatArray, settle
from quiltwork.compose.dominance import first_of_each
from quiltwork.numbers.rounding import UNIT
from quiltwork.tables.query import Query
from quiltwork.tables.schema.columns import BoolArray, Classes, Ordered
from quiltwork.tables.schema.predicates import members
from quiltwork.tables.schema.selectors import HIGHEST, LOWEST, Cut, Has, Null, Selector, Spans
from quiltwork.tables.schema.table import Table

MOST_CELLS = 50_000  # when all of them are listed
MOST_WORK = 100_000_000  # cells times boxes
MIN_SWEPT = 200  # queries; below, the table of cells is as fast and names every class
REMEMBERED = 16  # sets of boxes
IntArray = NDArray[np.int64]


@attrs.frozen(eq=False)
class Sheet:
    """The classes of one column and the boxes that are true in each of them."""

    column: str
    names: tuple[str, ...]
    sizes: FloatArray
    true: BoolArray  # classes x boxes
    spans: tuple[tuple[Cut, Cut] | None, ...]
    exact: bool
    asked: BoolArray = attrs.field(init=False)  # boxes that the column tells apart

    def __attrs_post_init__(self) -> None:
        settle(self, asked=~self.true.all(axis=0))


@attrs.frozen(eq=False)
class Narrowed:
    """Classes whose true boxes are not all true in another class, the boxes that are told apart, and who has which."""

    classes: IntArray
    asked: IntArray
    rows: FloatArray  # classes x asked


@attrs.frozen(eq=False)
class Cells:
    """Touched queries, one row for each cell; which class of each sheet it is; and whether a record can lie there."""

    touched: BoolArray
    picks: IntArray  # cells x sheets
    exact: BoolArray

    def only(self, kept: np.ndarray) -> Cells:
        """These cells alone."""
        return Cells(self.touched[kept], self.picks[kept], self.exact[kept])


@attrs.frozen(eq=False)
class Arrangement:
    """All conditions of a plan, cut up column by column."""

    sheets: tuple[Sheet, ...]
    owner: IntArray  # which query each box belongs to
    always: BoolArray  # queries that every record touches: no condition, or one that cannot be analysed
    queries: int
    known: dict[tuple[int, bytes], Narrowed] = attrs.field(factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, table: Table, queries: Sequence[Query], *, records: int = 1, whole: Sequence[str] = ()) -> Arrangement:
        """Alike members of a set are exchanged for up to two `records` at once; `whole` columns keep their classes."""
        boxes = [(i, box) for i, query in enumerate(queries) if query.boxes is not None for box in query.boxes]
        owner = np.array([i for i, _ in boxes], dtype=np.int64)
        always = np.array([query.boxes is None for query in queries], dtype=bool)
        used = dict.fromkeys([*(column for _, box in boxes for column in box), *whole])
        sheets = []
        for column in used:
            asked = [box.get(column, ()) for _, box in boxes]
            selectors: list[Selector] = list(dict.fromkeys(s for group in asked for s in group))
            alike = _alike(column, queries) if records <= 2 else None
            classes = table.columns[column].classes(selectors, alike, records)
            place = {selector: j for j, selector in enumerate(selectors)}
            true = np.ones((len(classes.names), len(boxes)), dtype=bool)
            for b, group in enumerate(asked):
                for selector in group:
                    true[:, b] &= classes.selected[:, place[selector]]
            sheets.append(_sheet(column, classes, true, merge=column not in whole))
        return cls(tuple(sheets), owner, always, len(queries))

    def touched(self, boxes: BoolArray) -> BoolArray:
        """Queries of which some box is true; rows of boxes to rows of queries."""
        found = np.zeros((boxes.shape[0], self.queries), dtype=bool)
        for b in range(boxes.shape[1]) if self.several else ():
            found[:, self.owner[b]] |= boxes[:, b]
        if not self.several:
            found[:, self.owner] = boxes
        return found | self.always

    @property
    def possible(self) -> BoolArray:
        """Queries that some record can touch: a box needs one fitting class in each column, and columns are free."""
        boxes = np.ones((1, self.owner.size), dtype=bool)
        for sheet in self.sheets:
            boxes &= sheet.true.any(axis=0)
        return np.asarray(self.touched(boxes)[0])

    @property
    def several(self) -> bool:
        """Whether some query has more than one box."""
        return bool(np.unique(self.owner).size < self.owner.size)

    def within(self, column: str, classes: Sequence[int]) -> Arrangement:
        """Only records whose value of a column lies in these classes."""
        kept = list(classes)
        sheets = tuple(
            attrs.evolve(
                sheet,
                names=tuple(sheet.names[i] for i in kept),
                sizes=sheet.sizes[kept],
                true=sheet.true[kept],
                spans=tuple(sheet.spans[i] for i in kept),
            )
            if sheet.column == column
            else sheet
            for sheet in self.sheets
        )
        return attrs.evolve(self, sheets=sheets)

    def narrowed(self, sheet: int, active: IntArray) -> Narrowed:
        """The classes of a column that matter, and the active boxes that it tells apart.

        These boxes are often the same from one branch of a search to the next, so that a few are remembered.
        """
        found = self.sheets[sheet]
        asked = active[found.asked[active]]
        key = (sheet, asked.tobytes())
        if key not in self.known:
            if len(self.known) >= REMEMBERED:
                self.known.clear()
            rows = found.true[:, asked]
            kept = maximal_rows(rows)
            self.known[key] = Narrowed(kept, asked, rows[kept].astype(float))
        return self.known[key]

    def describe(self, picks: IntArray) -> str:
        """A cell in words: the classes that matter."""
        shown = [
            f"{sheet.column} = {sheet.names[pick]}"
            for sheet, pick in zip(self.sheets, picks, strict=True)
            if len(sheet.names) > 1
        ]
        return ", ".join(shown) or "any record"

    def all_cells(self) -> Cells | None:
        """Every cell, or None when there are too many; cells that touch the same queries stay apart."""
        shape = [len(sheet.names) for sheet in self.sheets]
        if math.prod(shape) > MOST_CELLS or math.prod(shape) * max(self.owner.size, 1) > MOST_WORK:
            return None
        return self.cells(self.combinations())

    def combinations(self) -> IntArray:
        """One class of each column, in every way."""
        shape = [len(sheet.names) for sheet in self.sheets]
        picks = np.indices(shape).reshape(len(shape), -1).T if shape else np.zeros((1, 0), dtype=np.int64)
        return picks.astype(np.int64)

    def cells(self, picks: IntArray) -> Cells:
        """Cells given by their classes."""
        boxes = np.ones((picks.shape[0], self.owner.size), dtype=bool)
        for s, sheet in enumerate(self.sheets):
            boxes &= sheet.true[picks[:, s]]
        exact = np.full(picks.shape[0], all(sheet.exact for sheet in self.sheets))
        return Cells(self.touched(boxes), picks, exact)


def _sheet(column: str, classes: Classes, true: BoolArray, *, merge: bool) -> Sheet:
    sizes = np.array(classes.sizes, dtype=float)
    if not merge or true.shape[0] < 2:
        return Sheet(column, classes.names, sizes, true, classes.spans, classes.exact)
    _, first, group = np.unique(true, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    group = rank[group.ravel()]
    first = first[order]
    together = np.bincount(group, weights=sizes).astype(float)
    count = np.bincount(group)
    names = tuple(
        classes.names[i] + (f" (or {n - 1} more)" if n > 1 else "") for i, n in zip(first, count, strict=True)
    )
    return Sheet(column, names, together, true[first], tuple(classes.spans[i] for i in first), classes.exact)


def _alike(column: str, queries: Sequence[Query]) -> Mapping[Any, Hashable]:
    """Members of a set-valued column that the plan treats alike: exchanging them maps the plan to itself.

    A member's key lists the queries that ask for it, with everything but the member. One that appears beside another
    member in a box, or in a query with several boxes, is like no other.
    """
    keys: dict[Any, list[Hashable]] = {}
    single: set[Any] = set()
    for query in queries:
        for box in query.boxes or ():
            here = {member for name, member in members(box) if name == column}
            if len(here) > 1 or (here and len(query.boxes or ()) > 1):
                single |= here
            for member in here:
                rest = frozenset(
                    (name, selector) for name, group in box.items() if name != column for selector in group
                )
                own = frozenset(attrs.evolve(s, member=None) if isinstance(s, Has) else s for s in box[column])
                keys.setdefault(member, []).append((query.loss, query.holds, query.reads, query.via, rest, own))
    return {
        member: ("itself", member) if member in single else frozenset((k, found.count(k)) for k in found)
        for member, found in keys.items()
    }


def inclusion_maximal(touched: BoolArray) -> IntArray:
    """Rows that are contained in no other; of equal rows the first."""
    first = first_of_each(touched)
    rows = touched[first].astype(np.float32)
    sizes = rows.sum(axis=1)
    kept = np.ones(first.size, dtype=bool)
    for start in range(0, first.size, 2_000):
        block = slice(start, start + 2_000)
        inside = (rows[block] @ rows.T == sizes[block, None]) & (sizes[block, None] < sizes[None, :])
        kept[block] = ~inside.any(axis=1)
    return first[kept].astype(np.int64)


def maximal_rows(rows: BoolArray) -> IntArray:
    """The same, quickly; where many rows are left, some of them may be contained in others."""
    kept = first_of_each(rows)
    while kept.size > 1:  # neighbours first: for spans that is nearly all there is to do
        held = rows[kept]
        inside = (held[:-1] <= held[1:]).all(axis=1)
        after = (held[1:] <= held[:-1]).all(axis=1)
        drop = np.concatenate((inside, [False])) | np.concatenate(([False], after & ~inside))
        if not drop.any():
            break
        kept = kept[~drop]
    if 1 < kept.size <= 200:
        kept = kept[inclusion_maximal(rows[kept])]
    return kept.astype(np.int64)


# ---- intervals of one ordered column


@attrs.frozen(eq=False)
class Sweep:
    """Places along a column and the intervals of the queries, as indices of places: from `first` up to before `last`.

    A walk along it adds a query where its interval begins and drops it where it ends: O(k log k) for k intervals.

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
        if len(queries) < MIN_SWEPT or len(columns) != 1:
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
        return np.asarray(np.cumsum(steps, axis=0)[: len(self.names)] + weights[self.always].sum(axis=0))

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
    return np.asarray(4 * (places + 2 * weights.shape[0] + 2) * UNIT * np.abs(weights).sum(axis=0))
