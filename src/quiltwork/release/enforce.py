"""Raw rows to declared ones: what the plan promises about values holds because it is made to hold.

Every map here works on one row alone and is total: no value of the data raises an error or chooses a message, and at
most one row comes out of one row. Hence neighbouring raw tables become neighbouring declared tables, or equal ones.

  out of range, infinite                   moved to the nearer end
  NULL, NaN, unreadable, unknown category  NULL where the column is nullable; otherwise the row is left out, or, where
                                           rows are replaced and never come or go, a fixed value of the domain
  too many members of a set                unknown ones go, then the first in the order of their names stay
  no person                                the row is left out: it is nobody's

Reference: theory/release.md section 2.1, Lemma 1.
"""

from __future__ import annotations

import datetime
import functools
import operator
from typing import Any

from quiltwork.data.engines.engine import Engine, ibis
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.release.classes import Axis, Classes
from quiltwork.tables.notions.neighbors import SWAP_STEPS, Metric, Notion
from quiltwork.tables.schema.columns import Cat, Column, Date, Float, Id, Int, SubsetOf
from quiltwork.tables.schema.table import Table

NUMBER = r"^\s*[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,3})?\s*$"
DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?$"
KEYS = ("string", "integer", "uuid", "decimal", "date", "boolean")  # types of persons
SEPARATOR = "|"  # between the members of a set that is written as text
Expression = Any


def declared(engine: Engine, raw: Expression, table: Table, names: frozenset[str], neighbors: Notion) -> Expression:
    """The rows of a raw table with the columns of these names, as the table declares them."""
    found, needed = {}, []
    swapped = isinstance(neighbors, SWAP_STEPS)
    for name in sorted(names):
        column = table.columns[name]
        value = _value(engine, raw[name], name, column, neighbors)
        if not isinstance(column, Id) and not getattr(column, "nullable", False):
            if swapped:
                value = value.coalesce(_fixed(column))
            else:
                needed.append(name)
        elif isinstance(column, Id) and name == getattr(neighbors, "id", None):
            needed.append(name)
        found[name] = value
    rows = raw.select(**found) if found else raw.select(one=ibis().literal(1))
    return rows.filter(*(rows[name].notnull() for name in needed)) if needed else rows


def _fixed(column: Column) -> Any:
    """The value that stands for an unusable one."""
    if isinstance(column, Cat):
        return 1
    if isinstance(column, SubsetOf):
        return ibis().array([], type="array<string>")
    return column.low  # type: ignore[attr-defined]


def _value(engine: Engine, raw: Expression, name: str, column: Column, neighbors: Notion) -> Expression:
    if isinstance(column, Cat):
        return _category(engine, raw, name, column)
    if isinstance(column, (Int, Float)):
        return _number(engine, raw, name, column, neighbors)
    if isinstance(column, Date):
        return _day(raw, name, column)
    if isinstance(column, SubsetOf):
        return _set(raw, name, column)
    return identifier(_person(raw, name))


def _person(raw: Expression, name: str) -> Expression:
    """Values of a type in which two that differ are never written alike: else two persons would be cut as one."""
    kind = raw.type()
    if not any(getattr(kind, f"is_{one}")() for one in KEYS):
        hint = "floats merge keys" if kind.is_floating() else "cast the column first"
        raise InvalidParameter(f"column {name!r}", str(kind), "texts, whole numbers or UUIDs", hint)
    return raw


def identifier(raw: Expression) -> Expression:
    """Who it is: whole numbers as they are, which are grouped and joined faster, all else as text."""
    return raw if raw.type().is_integer() else raw.cast("string")


def value_text(declared: Expression) -> Expression:
    """A declared value as a text that equal values share: 0 and -0 are equal."""
    if declared.type().is_floating():
        declared = (declared == 0).ifelse(0.0, declared)
    return declared.cast("string")


def _category(engine: Engine, raw: Expression, name: str, column: Cat) -> Expression:
    """Its place in the list, from 1 on."""
    kinds = {type(value) for value in column.categories}
    if kinds == {str}:  # engines look a text up once for each text of a dictionary, not once for each row
        return _list_position(engine.name)(ibis().array(list(column.categories)), raw.cast("string")).nullif(0)
    if kinds <= {int, float}:
        given = _as_float(raw, name)
        values: list[Any] = [float(value) for value in column.categories]
    elif kinds == {bool}:
        given, values = raw.cast("string").lower(), [str(value).lower() for value in column.categories]
    else:
        said = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise Unsupported(
            f"reading categories of types {said}", "texts, numbers or booleans are read", f"cast {name!r}"
        )
    return ibis().cases(*((given == value, place) for place, value in enumerate(values, 1)), else_=None)


def _as_float(raw: Expression, name: str) -> Expression:
    """A double, NULL for what is no number."""
    kind, null = raw.type(), ibis().null("float64")
    if kind.is_string():
        return raw.re_search(NUMBER).ifelse(raw.strip().try_cast("float64"), null)
    if kind.is_floating():
        double = raw.cast("float64")
        return double.isnan().ifelse(null, double)
    if kind.is_integer() or kind.is_decimal():
        return raw.cast("float64")
    if kind.is_boolean():
        return raw.ifelse(1.0, 0.0)
    raise InvalidParameter(f"column {name!r}", str(kind), "numbers, or texts that are numbers")


def clamped(value: Expression, low: Any, high: Any) -> Expression:
    """Moved to the nearer end; NULL stays NULL, where least and greatest would make it the lower end."""
    return ibis().cases((value < low, low), (value > high, high), else_=value)


def _inside(raw: Expression, name: str, low: float, high: float) -> Expression:
    """A double moved to the nearer end; NULL for what is no number. NaN is above all numbers, and asked for first."""
    if not raw.type().is_floating():
        return clamped(_as_float(raw, name), low, high)
    double = raw.cast("float64")
    missing = (double.isnan(), ibis().null("float64"))
    return ibis().cases(missing, (double < low, low), (double > high, high), else_=double)


def _number(engine: Engine, raw: Expression, name: str, column: Int | Float, neighbors: Notion) -> Expression:
    """Whole numbers are rounded; where values move by a distance down, so that they come no farther apart.

    Rounding to the nearest takes 0.5 and 1.5 to 0 and 2; rounding down never adds to a whole distance.
    """
    if isinstance(column, Int):
        if raw.type().is_integer():
            return clamped(raw, column.low, column.high).cast("int64")
        inside = _inside(raw, name, float(column.low), float(column.high))
        whole = inside.floor() if isinstance(neighbors, Metric) else rounded(engine, inside)
        return whole.cast("int64")
    return _inside(raw, name, float(column.low), float(column.high))


def _day(raw: Expression, name: str, column: Date) -> Expression:
    kind = raw.type()
    if kind.is_string():
        day = raw.re_search(DAY).ifelse(raw.substr(0, 10).try_cast("date"), ibis().null("date"))
    elif kind.is_date():
        day = raw
    elif kind.is_timestamp():
        day = raw.try_cast("date")  # a moment beyond the years that an engine knows is no day, and no error
    else:
        raise InvalidParameter(f"column {name!r}", str(kind), "dates, moments, or texts such as 2026-01-31")
    return clamped(day, _date(column.low), _date(column.high))


def _date(day: datetime.date) -> Expression:
    return ibis().date(day.isoformat())


def _set(raw: Expression, name: str, column: SubsetOf) -> Expression:
    """The listed members that it holds, at most `max_size` of them."""
    kind = raw.type()
    if kind.is_string():
        given = raw.split(SEPARATOR)
    elif kind.is_array():
        given = raw.map(lambda one: one.cast("string"))
    else:
        raise InvalidParameter(f"column {name!r}", str(kind), f"lists, or texts with {SEPARATOR!r} between members")
    members = [str(member) for member in column.members]
    kept = given.filter(lambda one: one.isin(members)).unique().sort()
    return kept if column.max_size >= len(members) else kept[: column.max_size]


def rounded(engine: Engine, value: Expression) -> Expression:
    """To the nearest whole number, ties to even, as a double; both engines agree to the last bit."""
    return _round_even()(value, 0) if engine.name == "duckdb" else _rint()(value)


@functools.cache
def _round_even() -> Any:
    @ibis().udf.scalar.builtin(name="round_even")  # type: ignore[untyped-decorator]
    def round_even(value: float, places: int) -> float:
        return value

    return round_even


@functools.cache
def _rint() -> Any:
    @ibis().udf.scalar.builtin(name="rint")  # type: ignore[untyped-decorator]
    def rint(value: float) -> float:
        return value

    return rint


@functools.cache
def _list_position(engine: str) -> Any:
    """The place of a text in a list of texts, 0 or NULL where it is not there."""

    @ibis().udf.scalar.builtin(name={"duckdb": "list_position", "spark": "array_position"}[engine])  # type: ignore[untyped-decorator]
    def list_position(values: list[str], value: str) -> int:
        return 0

    return list_position


@functools.cache
def md5() -> Any:
    """The hash by which rows of a person are chosen: the same on every engine."""

    @ibis().udf.scalar.builtin(name="md5")  # type: ignore[untyped-decorator]
    def md5(text: str) -> str:
        return text

    return md5


# ---- which cell a declared row is in


def cell_number(rows: Expression, classes: Classes, table: Table) -> Expression:
    """One whole number: the classes of all axes, the first one counting fastest."""
    terms, factor = [], 1
    for axis in classes.axes:
        terms.append(_class(rows[axis.column], axis, table.columns[axis.column]).cast("int64") * factor)
        factor *= axis.size
    return functools.reduce(operator.add, terms) if terms else ibis().literal(0, type="int64")


def _class(value: Expression, axis: Axis, column: Column) -> Expression:
    if axis.is_set:
        present = value.contains(str(axis.member)).ifelse(2, 1)
        return value.isnull().ifelse(0, present)
    if isinstance(column, Cat):
        if len(axis.categories) == len(column.categories):
            return value.coalesce(0)
        places = {one: place for place, one in enumerate(column.categories, 1)}
        cases = [
            (value.isin([places[one] for one in group]), number) for number, group in enumerate(axis.categories, 1)
        ]
        return ibis().cases(*cases, else_=0)
    return value.isnull().ifelse(0, _ladder(value, column, axis.starts[1:], 1))


def _ladder(value: Expression, column: Column, cuts: tuple[Any, ...], first: int) -> Expression:
    """Nested choices, log2 comparisons a row."""
    if not cuts:
        return ibis().literal(first)
    middle = len(cuts) // 2
    bound, after = cuts[middle]
    limit = _date(datetime.date.fromordinal(int(bound))) if isinstance(column, Date) else bound
    below = value <= limit if after else value < limit
    return below.ifelse(
        _ladder(value, column, cuts[:middle], first), _ladder(value, column, cuts[middle + 1 :], first + middle + 1)
    )
