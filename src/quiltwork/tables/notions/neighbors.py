"""Notions of neighbour: which change of the table is to be hidden.

Each notion is a frozen value. `protects` says it in words; `sensitivity.dist` says how far one's step is for another.

Reference: seed 001, section II; theory/granularity.md sections 1, 2 and 4.6.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.tables.notions.metrics import Distance
from quiltwork.tables.schema.columns import Id, Ordered
from quiltwork.tables.schema.table import Reference, column_name

if TYPE_CHECKING:
    from quiltwork.tables.schema.table import Table


class Notion(ABC):
    """A symmetric relation between tables."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def protects(self) -> str:
        """The protected change, in words."""

    def check(self, table: Table) -> None:
        """Refuse a notion that speaks of columns the table does not have; most speak of none."""
        return None

    def __str__(self) -> str:
        return f"{self.kind}()"


@document("add_remove/1")
@attrs.frozen
class AddRemove(Notion):
    """One record is added or removed."""

    kind: ClassVar[str] = "add_remove"

    @property
    def protects(self) -> str:
        return "one record, added or removed"


@attrs.frozen
class ReplaceOne(Notion):
    """One record is replaced by another; the `fixed` columns cannot change."""

    kind: ClassVar[str] = "replace_one"
    fixed: frozenset[str] = frozenset()

    @property
    def protects(self) -> str:
        kept = f", its {' and '.join(sorted(self.fixed))} unchanged" if self.fixed else ""
        return f"one record, replaced by any other{kept}"

    def check(self, table: Table) -> None:
        table.names(sorted(self.fixed), "fixed")
        if self.fixed == set(table.columns):
            raise InvalidParameter(
                "fixed", sorted(self.fixed), "fewer columns", "with every column fixed nothing changes"
            )

    def __str__(self) -> str:
        return f"replace_one(fixed={sorted(self.fixed)})" if self.fixed else "replace_one()"


@attrs.frozen
class User(Notion):
    """All records of one person are added or removed: at most `max_records`, at most `max_per[c]` for a value of c."""

    kind: ClassVar[str] = "user"
    id: str
    max_records: float = math.inf
    max_per: tuple[tuple[str, int], ...] = ()

    @property
    def protects(self) -> str:
        many = "all records" if math.isinf(self.max_records) else f"all records (at most {self.max_records:g})"
        caps = "".join(f", at most {cap} for each {column}" for column, cap in self.max_per)
        return f"{many} of one {self.id}{caps}, added or removed"

    def check(self, table: Table) -> None:
        table.names([self.id], "id")
        if not isinstance(table.columns[self.id], Id):
            raise InvalidParameter("id", self.id, "an Id column", "it says whose record it is")
        table.names([column for column, _ in self.max_per], "max_per")
        for column, _ in self.max_per:
            if isinstance(table.columns[column], Id):
                raise InvalidParameter("max_per", column, "a column that is no Id")

    def __str__(self) -> str:
        return f"user({self.id!r}, {self.max_records:g}{f', max_per={dict(self.max_per)}' if self.max_per else ''})"


@attrs.frozen
class Entry(Notion):
    """One cell of one record changes: any column, or one of those listed."""

    kind: ClassVar[str] = "entry"
    columns: frozenset[str] = frozenset()

    @property
    def protects(self) -> str:
        return "one cell of one record" + (f", in {' or '.join(sorted(self.columns))}" if self.columns else "")

    def check(self, table: Table) -> None:
        table.names(sorted(self.columns), "columns")

    def __str__(self) -> str:
        return f"entry({', '.join(map(repr, sorted(self.columns)))})"


@attrs.frozen
class Window(Notion):
    """The records that fall into any `length` consecutive values of a column: at most `max_records` come or go."""

    kind: ClassVar[str] = "window"
    column: str
    length: float
    max_records: float = math.inf

    @property
    def protects(self) -> str:
        many = "everything" if math.isinf(self.max_records) else f"up to {self.max_records:g} records"
        return f"{many} within any {self.length:g} consecutive values of {self.column}"

    def check(self, table: Table) -> None:
        table.names([self.column], "window")
        column = table.columns[self.column]
        if not isinstance(column, Ordered):
            raise InvalidParameter(self.column, column, "an ordered column (Int, Float or Date)")
        if column.discrete and self.length != int(self.length):
            raise InvalidParameter("length", self.length, "a whole number of values")

    def __str__(self) -> str:
        many = "" if math.isinf(self.max_records) else f", max_records={self.max_records:g}"
        return f"window({self.column!r}, {self.length:g}{many})"


@document("edge/1")
@attrs.frozen
class Edge(Notion):
    """One edge is added or removed; the records of the table are edges."""

    kind: ClassVar[str] = "edge"

    @property
    def protects(self) -> str:
        return "one edge, added or removed"


@attrs.frozen
class Node(Notion):
    """One node is rewired: up to `max_degree` of its edges go and up to as many come; or it only joins or leaves."""

    kind: ClassVar[str] = "node"
    max_degree: float = math.inf
    rewire: bool = True
    nodes: float = math.inf

    @property
    def records(self) -> float:
        """How many edges one step changes at most; edges carry labels, so that one may go and come back changed."""
        return 2 * self.max_degree if self.rewire else self.max_degree

    @property
    def protects(self) -> str:
        how = "rewired" if self.rewire else "which joins or leaves with its edges"
        return f"one node of degree at most {self.max_degree:g}, {how}"

    def __str__(self) -> str:
        return f"node({self.max_degree:g}{'' if self.rewire else ', rewire=False'})"


@document("free_lunch/1")
@attrs.frozen
class FreeLunch(Notion):
    """Any two tables."""

    kind: ClassVar[str] = "free_lunch"

    @property
    def protects(self) -> str:
        return "the whole table"


@attrs.frozen
class Metric(Notion):
    """One record moves by at most `within` units of a distance on some of its columns (d-privacy)."""

    kind: ClassVar[str] = "metric"
    distance: Distance
    unit: str
    within: float = 1.0
    diameter: float | None = None

    @property
    def protects(self) -> str:
        return f"the {self.distance.what} of one record, moved by at most {self.within:g} {self.unit}"

    def check(self, table: Table) -> None:
        self.distance.check(table)

    def __str__(self) -> str:
        return f"metric({self.distance}, unit={self.unit!r}, within={self.within:g})"


RECORD_STEPS = (AddRemove, Edge)  # one record comes or goes
SWAP_STEPS = (ReplaceOne, Entry, Metric)  # one record turns into another


def add_remove() -> AddRemove:
    """One record added or removed (unbounded neighbours).

    Returns
    -------
    AddRemove
        A neighbouring relation.

    Examples
    --------
    >>> print(add_remove().protects)
    one record, added or removed
    """
    return AddRemove()


def replace_one(fixed: Iterable[str | Reference] = ()) -> ReplaceOne:
    """One record replaced (bounded neighbours); the values of the `fixed` columns are public and cannot change.

    Parameters
    ----------
    fixed
        Columns whose values are public and cannot change.

    Returns
    -------
    ReplaceOne
        A neighbouring relation.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> print(replace_one(["region"]).protects)
    one record, replaced by any other, its region unchanged
    """
    return ReplaceOne(_names("fixed", fixed))


def local() -> ReplaceOne:
    """Local differential privacy: each person's one record is the whole database, and any two of them are neighbours.

    It is `replace_one()` of a table with one record; a plan says what is computed from one person's answer.
    """
    return ReplaceOne()


def user(id: str | Reference, max_records: int | None = None, max_per: Mapping[str, int] | None = None) -> User:
    """All records of one person added or removed; caps on how many there are, in all and for each value of a column.

    Parameters
    ----------
    id
        The `Id` column that says whose record it is.
    max_records
        The most records of one person.
    max_per
        The most records of one person for each value of a column.

    Returns
    -------
    User
        A neighbouring relation.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> print(user("patient", max_records=4).protects)
    all records (at most 4) of one patient, added or removed
    """
    caps = dict(max_per or {})
    limit = math.inf if max_records is None else checks.count("max_records", max_records, least=1)
    found = tuple(sorted((checks.text("max_per", c), checks.count("max_per", cap, least=1)) for c, cap in caps.items()))
    return User(column_name("id", id), limit, found)


def entry(*columns: str | Reference) -> Entry:
    """One cell of one record changes.

    Parameters
    ----------
    *columns
        Columns that may change; all if none is named.

    Returns
    -------
    Entry
        A neighbouring relation.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> print(entry("age", "diagnosis").protects)
    one cell of one record, in age or diagnosis
    """
    return Entry(_names("columns", columns))


def window(column: str | Reference, length: float, max_records: int | None = None) -> Window:
    """What happens within any `length` consecutive values of an ordered column (w-event privacy).

    Parameters
    ----------
    column
        An ordered column, such as a day.
    length
        How many consecutive values.
    max_records
        The most records inside a window.

    Returns
    -------
    Window
        A neighbouring relation.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> print(window("day", 7).protects)
    everything within any 7 consecutive values of day
    """
    limit = math.inf if max_records is None else checks.count("max_records", max_records, least=1)
    return Window(column_name("column", column), checks.positive("length", length), limit)


def edge() -> Edge:
    """One edge of a graph, whose edges are the records.

    Returns
    -------
    Edge
        A neighbouring relation.

    Examples
    --------
    >>> print(edge().protects)
    one edge, added or removed
    """
    return Edge()


def node(max_degree: int | None = None, *, rewire: bool = True, nodes: int | None = None) -> Node:
    """One node of a graph, whose edges are the records; `nodes` is their public number, if there is one.

    Parameters
    ----------
    max_degree
        The most edges of one node.
    rewire
        Whether a node may keep its place and change its edges; if not it joins or leaves.
    nodes
        The public number of nodes.

    Returns
    -------
    Node
        A neighbouring relation.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> print(node(max_degree=10).protects)
    one node of degree at most 10, rewired
    """
    degree = math.inf if max_degree is None else checks.count("max_degree", max_degree, least=1)
    number = math.inf if nodes is None else checks.count("nodes", nodes, least=2)
    return Node(min(degree, number - 1), checks.flag("rewire", rewire), number)


def free_lunch() -> FreeLunch:
    """Any change at all.

    Returns
    -------
    FreeLunch
        A neighbouring relation.

    Examples
    --------
    >>> print(free_lunch().protects)
    the whole table
    """
    return FreeLunch()


def metric(distance: Distance, unit: str, *, within: float = 1.0, diameter: float | None = None) -> Metric:
    """One record moves by at most `within` units; `diameter` bounds how far apart two inputs of a query ever are.

    Parameters
    ----------
    distance
        `euclidean`, `manhattan` or `geo` of some columns.
    unit
        What one unit is called.
    within
        How far the record moves.
    diameter
        The largest distance of two inputs of a query, if it is known.

    Returns
    -------
    Metric
        A neighbouring relation (d-privacy).

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> from quiltwork import manhattan
    >>> print(metric(manhattan("age"), "years", within=2.0).protects)
    the age of one record, moved by at most 2 years
    """
    if not isinstance(distance, Distance):
        raise InvalidParameter("distance", distance, "euclidean(...), manhattan(...) or geo(latitude, longitude)")
    widest = None if diameter is None else checks.positive("diameter", diameter)
    return Metric(distance, checks.text("unit", unit), checks.positive("within", within), widest)


def _names(name: str, values: Iterable[str | Reference]) -> frozenset[str]:
    if isinstance(values, (str, Reference)) or not isinstance(values, Iterable):
        raise InvalidParameter(name, values, "a list of column names")
    return frozenset(column_name(name, value) for value in values)


def _limits(*names: str) -> Callable[[Any], dict[str, Any]]:
    """The attributes with these names; no limit is written as none."""
    return lambda value: {name: None if (found := getattr(value, name)) == math.inf else found for name in names}


# what a constructor would take unchecked is built by the function that checks it
document("replace_one/1", fields="", optional="fixed", read=replace_one)(ReplaceOne)
document(
    "user/1",
    fields="id",
    optional="max_records max_per",
    write=_limits("id", "max_records", "max_per"),
    read=lambda id, max_records=None, max_per=(): user(id, max_records, dict(max_per)),
)(User)
document("entry_notion/1", fields="", optional="columns", read=lambda columns=(): entry(*columns))(Entry)
document(
    "window/1",
    fields="column length",
    optional="max_records",
    write=_limits("column", "length", "max_records"),
    read=window,
)(Window)
document(
    "node/1", fields="", optional="max_degree rewire nodes", write=_limits("max_degree", "rewire", "nodes"), read=node
)(Node)
document(
    "metric/1",
    fields="distance unit",
    optional="within diameter",
    write=_limits("distance", "unit", "within", "diameter"),
    read=metric,
)(Metric)
