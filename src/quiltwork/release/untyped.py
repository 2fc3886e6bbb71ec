"""Python's own values as their column is declared: a type that is inferred from values would be told by one of them.

A list, or a column of objects in a pandas frame, has no type until all its values are looked at: one text among
numbers would then be an error, or turn all other values into texts. So each value becomes what its column holds by
itself, and None where it cannot.

Reference: theory/release.md sections 2.1 and 10 (types inferred from values: off).
"""

from __future__ import annotations

import datetime
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from quiltwork.data.engines.engine import pyarrow
from quiltwork.errors import InvalidParameter
from quiltwork.release.enforce import NUMBER, SEPARATOR
from quiltwork.tables.schema.columns import Cat, Column, Date, Float, Int, SubsetOf
from quiltwork.tables.schema.table import Table

ALLOWED = "a path, a list of paths, a data frame, an Arrow table, a dict of columns or an ibis table"


STREAM = "__arrow_c_stream__"


def _is_path(source: Any) -> bool:
    return isinstance(source, str) or hasattr(source, "__fspath__")


def _from(source: Any, *libraries: str) -> bool:
    return type(source).__module__.partition(".")[0] in libraries


def once(source: Any) -> bool:
    """Whether it may be a stream, whose rows are gone when they were looked at."""
    return hasattr(source, STREAM) and not _from(source, "pandas", "polars", "ibis")


def held(source: Any) -> Any:
    """The same in memory, where it may be a stream: it is looked at before it is paid for, and counted afterwards."""
    return pyarrow().table(source) if once(source) else source


def typed(source: Any, table: Table, names: Iterable[str]) -> Any:
    """The source, with a type for each of these columns that has none; other sources as they are."""
    pandas = sys.modules.get("pandas")  # a pandas frame cannot exist unless its library is loaded
    frame = pandas is not None and isinstance(source, pandas.DataFrame)
    if not frame and not isinstance(source, Mapping):
        paths = isinstance(source, (list, tuple)) and all(_is_path(one) for one in source)
        if not (paths or _is_path(source) or _from(source, "ibis") or hasattr(source, STREAM)):
            raise InvalidParameter("source", type(source).__name__, ALLOWED)  # and not what is in it
        return source
    columns = list(source.columns) if frame else list(source)
    if any(columns.count(name) != 1 for name in names):
        return source  # refused by who opens it
    found = {name: _column(source[name], table.columns[name]) for name in names}
    sizes = {name: len(column) for name, column in found.items()}
    if len(set(sizes.values())) > 1:
        raise InvalidParameter("source", sizes, "columns of one length")
    return found


def _column(values: Any, column: Column) -> Any:
    kind: Any = getattr(values, "dtype", None)
    if kind is None and (hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__")):
        return values
    if getattr(kind, "name", "object") == "category":
        kind, values = None, list(values)  # the type of the categories follows from which values there are
    if kind is not None and (getattr(kind, "name", "object") != "object" or getattr(kind, "kind", "O") != "O"):
        return values  # a type of its own
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidParameter("source", f"a column of type {type(values).__name__}", "columns with one value a row")
    arrow = pyarrow()
    convert, name = _conversion(column)
    found = [_total(convert, one) for one in values]
    return arrow.array(found, type=getattr(arrow, name)() if name else arrow.list_(arrow.string()))


def _total(convert: Callable[[Any], Any], value: Any) -> Any:
    """None for every object that is not what the column holds, whatever it does when it is asked."""
    try:
        return convert(value)
    except Exception:  # an error would tell that there is such an object: arrays, NA, numbers too long to be written
        return None


def _conversion(column: Column) -> tuple[Callable[[Any], Any], str]:
    """What makes a value of the column's own type of any object, and the name of that type in Arrow."""
    if isinstance(column, Int):
        low, high = column.low, column.high
        return lambda value: _whole(value, low, high), "int64"
    if isinstance(column, Float):
        return _number, "float64"
    if isinstance(column, Date):
        return _day, "string"
    if isinstance(column, SubsetOf):
        return _members, ""
    if isinstance(column, Cat) and {type(value) for value in column.categories} <= {int, float}:
        return _number, "float64"
    return _text, "string"


def _text(value: Any) -> str | None:
    """A whole number is written without a point, so that 1 and 1.0 are one person."""
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bytes):
        return value.hex()
    return str(value).encode().decode()  # half a letter is no text, and would be another person's question mark


def _exact(value: Any) -> Any:
    """A number of Python's own as it is; of a text only what reads as a number; None for all else."""
    if isinstance(value, str):
        return float(value) if re.match(NUMBER, value) else None
    if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    return value if isinstance(value, (bool, int, float, Decimal, Fraction)) else None


def _number(value: Any) -> float | None:
    number = _exact(value)
    if number is None or number != number:
        return None
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _whole(value: Any, low: int, high: int) -> int | None:
    """The nearest whole number within the declared range, so that it fits."""
    number = _exact(value)
    if number is None or number != number:
        return None
    whole: int = round(min(max(number, low), high))
    return whole


def _day(value: Any) -> str | None:
    if isinstance(value, datetime.datetime):
        if value != value:
            return None
        moment = value.astimezone(datetime.UTC) if value.tzinfo is not None else value
        return moment.date().isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    return _text(value)


def _members(value: Any) -> list[str | None] | None:
    if isinstance(value, str):
        return [_text(one) for one in value.split(SEPARATOR)]
    if isinstance(value, (list, tuple, set, frozenset)) or getattr(value, "ndim", 0) == 1:
        return [_text(one) for one in value]
    return None
