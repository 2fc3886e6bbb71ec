"""dist(G1, G2): how many steps of one notion make up one step of another.

A mechanism that is G1-private is G2-private at dist(G1, G2) times the distance; infinity means that no number of steps
leads there. Every rule is an upper bound that is attained on the full domain of the table.

Reference: seed 001, section III-B; theory/granularity.md section 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quiltwork.errors import InvalidParameter
from quiltwork.numbers.stated import typed, typed_above
from quiltwork.tables.notions.neighbors import (
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

if TYPE_CHECKING:
    from quiltwork.tables.schema.table import Table

__all__ = ["dist", "ratio"]


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
    if isinstance(wanted, (AddRemove, Edge)):
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
    if isinstance(stated, (AddRemove, Edge)):
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
        one_person = 2.0  # leaves, comes back changed
        if stated.id not in columns:
            return one_person
        return 2.0 if stated.max_records == 1 else 4.0
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
