"""Where a mechanism's guarantee holds, and how far one step of the table moves what it sees.

`on_input(notion)`: for neighbours of the query's own input, after filter and map (M* in seed 001). `on_table(notion)`:
for neighbours of the whole table (M). Confusing the two is Example II.9, the most dangerous error of the subject, so
that there is no default.

One step of the table changes the input of a query in one of three ways: one row comes or goes (`one`), one row turns
into another (`both`), or several rows of one person come or go (`many`). `Response` holds the distances, after the
notion in which the mechanism was stated.

dist(G1, G2) says how many steps of one notion make up one step of another: a mechanism that is G1-private is G2-private
at dist(G1, G2) times the distance; infinity means that no number of steps leads there. Every rule is an upper bound
that is attained on the full domain of the table.

Reference: seed 001, section III-B; theory/granularity.md sections 0.5, 1 and 2 (table of distances).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import attrs

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.stated import typed, typed_above
from quiltwork.tables.notions.neighbors import (
    RECORD_STEPS,
    SWAP_STEPS,
    AddRemove,
    Edge,
    Entry,
    FreeLunch,
    Metric,
    Node,
    Notion,
    ReplaceOne,
    User,
    Window,
)
from quiltwork.tables.notions.spaces import stability_product
from quiltwork.tables.notions.transformations import ClipRows, FlatMap, Via
from quiltwork.tables.schema.predicates import opaque_parts

if TYPE_CHECKING:
    from quiltwork.compose.loss import Loss
    from quiltwork.tables.query import Query
    from quiltwork.tables.schema.table import Table


# ---- distances between notions


def ratio(one: float, two: float) -> float:
    """one / two of numbers as they were typed, never rounded down."""
    return typed_above(typed(one) / typed(two))


def dist(stated: Notion, wanted: Notion, table: Table) -> float:
    """The most steps of `stated` that one step of `wanted` takes, infinity when it cannot be reached."""
    for notion in (stated, wanted):
        if not isinstance(notion, Notion):
            raise InvalidParameter("notion", notion, "a notion of neighbour such as add_remove()")
        notion.check(table)
    if stated == wanted or isinstance(stated, FreeLunch):
        return 1.0
    if isinstance(wanted, FreeLunch):
        return _whole_table(stated, table)
    if isinstance(wanted, RECORD_STEPS):
        return _record(stated)
    if isinstance(wanted, User):
        return _person(stated, wanted)
    if isinstance(wanted, Window):
        return _stretch(stated, wanted)
    if isinstance(wanted, Node):
        return _rewired(stated, wanted)
    if isinstance(wanted, ReplaceOne):
        return _changed(stated, set(table.columns) - wanted.fixed, table)
    if isinstance(wanted, Entry):
        singles = wanted.columns or set(table.columns)
        return max(_changed(stated, {column}, table) for column in singles)
    if isinstance(wanted, Metric):
        if isinstance(stated, Metric) and (stated.distance, stated.unit) == (wanted.distance, wanted.unit):
            return ratio(wanted.within, stated.within)
        return _changed(stated, set(wanted.distance.columns), table)
    return math.inf


def _record(stated: Notion) -> float:
    """Adding or removing one record."""
    if isinstance(stated, (AddRemove, Edge, Window)):
        return 1.0
    if isinstance(stated, Node):  # a node that only joins or leaves must leave, and come back with its other edges
        return 1.0 if stated.rewire or stated.max_degree == 1 else 2.0
    if isinstance(stated, User):  # the person leaves, and comes back with the other records
        return 1.0 if stated.max_records == 1 else 2.0
    return math.inf


def _person(stated: Notion, wanted: User) -> float:
    if isinstance(stated, (AddRemove, Edge, Window, Node)):
        return stability_product(_record(stated), wanted.max_records)
    if isinstance(stated, User) and stated.id == wanted.id:
        return 1.0 if _covers(stated, wanted) else math.inf
    return math.inf


def _covers(stated: User, wanted: User) -> bool:
    """Whether every person that `wanted` allows is one that `stated` speaks of."""
    caps = dict(wanted.max_per)
    return stated.max_records >= wanted.max_records and all(caps.get(c, math.inf) <= cap for c, cap in stated.max_per)


def _stretch(stated: Notion, wanted: Window) -> float:
    if isinstance(stated, (AddRemove, Edge, Node)):
        return stability_product(_record(stated), wanted.max_records)
    if isinstance(stated, Window) and stated.column == wanted.column:
        lengths = math.ceil(wanted.length / stated.length)
        if math.isinf(stated.max_records):
            return float(lengths)
        return stability_product(float(lengths), _ceil(wanted.max_records / stated.max_records))
    return math.inf


def _ceil(value: float) -> float:
    return value if math.isinf(value) else float(math.ceil(value))


def _rewired(stated: Notion, wanted: Node) -> float:
    if isinstance(stated, RECORD_STEPS):
        return wanted.records
    if isinstance(stated, Node) and stated.max_degree >= wanted.max_degree:
        return 1.0 if stated.rewire or not wanted.rewire else 2.0
    return math.inf


def _changed(stated: Notion, columns: set[str], table: Table) -> float:
    """One record in which only these columns change."""
    if isinstance(stated, (AddRemove, Edge, Node)):
        return 2 * _record(stated)
    if isinstance(stated, ReplaceOne):
        return 1.0 if not columns & stated.fixed else math.inf
    if isinstance(stated, Entry):
        return float(len(columns)) if not stated.columns or columns <= stated.columns else math.inf
    if isinstance(stated, Window):
        return 2.0 if stated.column in columns or stated.max_records < 2 else 1.0
    if isinstance(stated, User):
        # one person leaves and comes back changed; two of them when the record goes to another one
        return 4.0 if stated.id in columns and stated.max_records > 1 else 2.0
    return math.inf


def _whole_table(stated: Notion, table: Table) -> float:
    """Any table to any other: the farthest pair has no record in common."""
    if isinstance(stated, (AddRemove, Edge, User, Window)):
        return 2 * table.most
    if isinstance(stated, ReplaceOne) and not stated.fixed and table.fixed_size:
        return table.most
    if isinstance(stated, Entry) and not stated.columns and table.fixed_size:
        return stability_product(table.most, len(table.columns))
    return math.inf


# ---- where a loss holds


@attrs.frozen
class Holds:
    """`input` says whether the query's own input is meant; without a notion, the plan's own is."""

    input: bool
    notion: Notion | None = None

    def __call__(self, notion: Notion) -> Holds:
        """on_table(notion): stated for the whole table under another notion than the plan's."""
        if self.input or self.notion is not None:
            raise InvalidParameter("holds", self, "called once, as on_table(notion)")
        return Holds(False, _notion(notion))

    def under(self, plan: Notion) -> Holds:
        """With the plan's notion filled in."""
        return self if self.notion is not None else attrs.evolve(self, notion=plan)

    @property
    def words(self) -> str:
        """For which neighbours it is stated, for people."""
        where = "in what the query reads" if self.input else "in the table"
        return f"stated for {self.notion.protects} {where}" if self.notion else "stated for the plan's own neighbours"

    def __str__(self) -> str:
        return f"on_input({self.notion})" if self.input else f"on_table({self.notion or ''})"


on_table = Holds(input=False)


def on_input(notion: Notion) -> Holds:
    """The guarantee holds for neighbours of what the query itself reads.

    Parameters
    ----------
    notion
        A neighbouring relation.

    Returns
    -------
    Holds
        For `holds=` of a query.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> from quiltwork import add_remove
    >>> on_input(add_remove()).words
    'stated for one record, added or removed in what the query reads'
    """
    return Holds(True, _notion(notion))


def _notion(value: Any) -> Notion:
    if not isinstance(value, Notion):
        raise InvalidParameter("notion", value, "a notion such as add_remove()", "write add_remove(), with parentheses")
    return value


# ---- how far a query's input moves


@attrs.frozen
class Response:
    """Distances of one query's input after one step of the table.

    `signed`: the direction is known, removed rows make the mechanism's pair (P, Q) and added ones (Q, P); otherwise any
    query may go either way. `sure`: a step that moves the input moves it exactly so far; otherwise these are bounds,
    and what is certain is that an input that changes is at least one step of the statement away.
    """

    one: float
    both: float
    each: float  # for every record of a person
    least: float  # as soon as one record of a person is touched
    most: float  # whatever the number of records
    signed: bool
    sure: bool = False
    inside: Loss | None = None  # at the distance `both`, where less than two records is known

    def many(self, records: float) -> float:
        """The distance when `records` of a person's records are touched."""
        if records == 0:
            return 0.0
        return min(max(stability_product(self.each, records) if self.each else 0.0, self.least), self.most)


def response(query: Query, step: Notion, table: Table) -> Response:
    """How the query's input moves under one step of the table."""
    holds = query.holds
    stated = holds.notion
    if stated is None:
        raise InvalidParameter("holds", holds, "one with a notion")
    if holds.input:
        return _of_input(query, stated, step, table)
    if isinstance(stated, RECORD_STEPS) and not isinstance(step, FreeLunch):
        # record by record, as on the input: every change of a filtered table lifts to one of the whole table
        plain = query.record_by_record
        sure = plain and query.via is None
        return Response(1.0, 2.0, 1.0, 0.0, math.inf, signed=one_way(step) and plain, sure=sure)
    far = dist(stated, step, table)
    if isinstance(stated, Entry) and isinstance(step, (ReplaceOne, Metric)) and query.looks_at is not None:
        seen = changeable(step, table) & query.looks_at  # columns that the query does not look at change for free
        if not stated.columns or seen <= stated.columns:
            far = float(len(seen))
    return Response(far, far, 0.0, far, far, signed=False)


def occurring(query: Query, step: Notion, table: Table) -> set[float]:
    """The distances that one step can give this query, by itself."""
    found = response(query, step, table)
    if isinstance(step, RECORD_STEPS):
        return {found.one}
    if isinstance(step, SWAP_STEPS):
        return {found.one} if query.counts else {found.one, found.both}
    records = step.records if isinstance(step, Node) else getattr(step, "max_records", math.inf)
    return {found.many(records)}


def _of_input(query: Query, stated: Notion, step: Notion, table: Table) -> Response:
    rows = query.stability
    if isinstance(step, FreeLunch) and isinstance(stated, RECORD_STEPS):
        far = stability_product(rows, dist(stated, step, table))
        return Response(far, far, 0.0, far, far, signed=False)
    if isinstance(stated, RECORD_STEPS):
        clipped = _clipped(query, step)
        each, most = (rows, math.inf) if clipped is None else (1.0, float(clipped))
        one, both = _rows_moved(query, step, table)
        plain = query.record_by_record
        known = isinstance(step, SWAP_STEPS) and query.via is None and rows == 1
        return Response(
            one, both, each, 0.0, most, signed=one_way(step) and plain, sure=plain or clipped is not None,
            inside=query.inside if known else None,
        )  # fmt: skip
    if isinstance(stated, FreeLunch):
        return Response(1.0, 1.0, 0.0, 1.0, 1.0, signed=False)
    one, both, whole = math.inf, math.inf, math.inf
    if not opaque_parts(query.where):
        if query.via is None:
            one, both = _single(stated, step, table, query.reads)
            whole = _several(stated, step, table)
        elif isinstance(stated, User):
            one, both, whole = _mapped(query.via, stated, step, table)
    return Response(one, both, 0.0, whole, whole, signed=False)


def _rows_moved(query: Query, step: Notion, table: Table) -> tuple[float, float]:
    """Rows of its input, one by one added or removed, when a record comes or goes; and when one that it keeps changes.

    What only counts its rows sees a row that takes another's place as nothing. Of a person whose record changes, and
    stays theirs, a clip exchanges one row for another; when it goes to another person, one of each.
    """
    rows, via = query.stability, query.via
    if via is None or opaque_parts(query.where):
        return rows, 2 * rows
    if isinstance(via, ClipRows):
        persons = 2.0 if isinstance(step, SWAP_STEPS) and via.id in changeable(step, table) else 1.0
        if not query.counted:
            return rows, persons * rows
        return 1.0, persons if query.filtered_last else 1.0
    if not query.counted:
        return rows, 2 * rows
    return (rows, rows) if isinstance(via, FlatMap) else (rows / 2, rows)


def one_way(step: Notion) -> bool:
    """Whether everything that a step changes is removed, or everything is added, or each side is known."""
    return not isinstance(step, (Node, Window, FreeLunch)) or (isinstance(step, Node) and not step.rewire)


def _clipped(query: Query, step: Notion) -> int | None:
    """How many rows of the one person who comes or goes are kept, when rows are clipped by that person."""
    via = query.via
    if not isinstance(via, ClipRows) or not isinstance(step, User) or via.id != step.id:
        return None
    return None if opaque_parts(query.where) else via.most


def _mapped(via: Via, stated: User, step: Notion, table: Table) -> tuple[float, float, float]:
    """A guarantee for whole persons, of rows that a map made: they must still be the rows of that person.

    A clip may push out one row of the person for another: two steps, whatever the cap.
    """
    if isinstance(via, ClipRows) and via.id == stated.id:
        moved = isinstance(step, SWAP_STEPS) and stated.id in changeable(step, table)
        one, both = 2.0, 4.0 if moved else 2.0
        most = float(via.most)
    elif isinstance(via, FlatMap) and not stated.max_per:
        spoken = math.isinf(stated.max_records) or via.max_out == 1  # of persons with several rows
        one, both = _single(attrs.evolve(stated, max_records=math.inf), step, table) if spoken else (math.inf, math.inf)
        most = math.inf
    else:
        return math.inf, math.inf, math.inf
    if not isinstance(step, User) or step.id != stated.id:
        return one, both, math.inf
    rows = (
        min(step.max_records, most) if isinstance(via, ClipRows) else stability_product(via.stability, step.max_records)
    )
    return one, both, dist(stated, attrs.evolve(step, max_records=rows), table)


def _single(stated: Notion, step: Notion, table: Table, reads: frozenset[str] | None = None) -> tuple[float, float]:
    """One row comes or goes; one row turns into another, in what the query reads of it."""
    changed = changeable(step, table) & (frozenset(table.columns) if reads is None else reads)
    if isinstance(stated, ReplaceOne):
        return math.inf, 1.0 if not changed & stated.fixed else math.inf
    if isinstance(stated, Entry):
        allowed = not stated.columns or changed <= stated.columns
        width = 1 if isinstance(step, Entry) else len(changed)
        return math.inf, float(width) if allowed else math.inf
    if isinstance(stated, (User, Window, Node)):
        swapped = dist(stated, step, table) if isinstance(step, SWAP_STEPS) else math.inf
        return dist(stated, AddRemove(), table), swapped
    if isinstance(stated, Metric):
        return _moved(stated, step)
    return math.inf, math.inf


def _moved(stated: Metric, step: Notion) -> tuple[float, float]:
    """A metric guarantee: how far the input moves, in units of the statement."""
    widest = math.inf if stated.diameter is None else ratio(stated.diameter, stated.within)
    if isinstance(step, Metric) and (step.distance, step.unit) == (stated.distance, stated.unit):
        return widest, min(ratio(step.within, stated.within), widest)
    return widest, widest


def _several(stated: Notion, step: Notion, table: Table) -> float:
    """Rows of one person come or go."""
    alike = any(isinstance(stated, kinds) and isinstance(step, kinds) for kinds in ((User, Window), Node))
    return dist(stated, step, table) if alike else math.inf


def changeable(step: Notion, table: Table) -> frozenset[str]:
    """The columns in which a replaced record may differ."""
    if isinstance(step, ReplaceOne):
        return frozenset(table.columns) - step.fixed
    if isinstance(step, Entry):
        return step.columns or frozenset(table.columns)
    if isinstance(step, Metric):
        return frozenset(step.distance.columns)
    return frozenset(table.columns)


# ---- as a document


def _read(input: bool, notion: Any = None) -> Holds:
    if checks.flag("input", input):
        return on_input(notion)
    return on_table if notion is None else on_table(notion)


document("holds/1", fields="input", optional="notion", read=_read)(Holds)
