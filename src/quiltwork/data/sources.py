"""What can be counted: files, frames, Arrow tables and ibis tables, all as an ibis table of one engine.

The three columns of a sequence, checked in one scan before anything is counted.
"""

from __future__ import annotations

import functools
import glob
import operator
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quiltwork.checks import text
from quiltwork.data.engines import engine as optional
from quiltwork.data.engines.engine import Engine, asked
from quiltwork.errors import InvalidParameter, imported

ALLOWED = "a path, a list of paths, a data frame, an Arrow table, a dict of columns or an ibis table"
FARTHEST = 100_000 * 366 * 86_400  # seconds from 1970 to the last moment that is told from later ones
KINDS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".csv.gz": "csv"}


def opened(engine: Engine, source: Any, columns: Sequence[str], *, narrow: bool = True) -> tuple[Any, bool]:
    """The source as an ibis table that has the columns, and whether all it holds is text.

    `narrow`: numbers of 64 bits without a sign are signed ones where all of them fit, which is told by their type.
    """
    if isinstance(source, (str, os.PathLike)) or _is_list_of_paths(source):
        kind, paths = files(source)
        read = {"parquet": engine.parquet, "csv": engine.csv}[kind]
        table = reading(read, (paths,), source)
    elif isinstance(source, optional.ibis().Table):
        kind, table = "ibis", _own(engine, source)
    else:
        kind, table = "arrow", engine.arrow(_arrow(source, columns, narrow=narrow))
    present(columns, table.columns)
    return table, kind == "csv"


def present(wanted: Iterable[str], columns: Iterable[Any]) -> None:
    """Refuse columns that are not there, and say which are."""
    there = list(columns)
    for name in wanted:
        if there.count(name) != 1:
            problem = "it is there more than once" if name in there else f"the columns are {there}"
            raise InvalidParameter("column", name, "one column of the source", problem)


def reading(read: Callable[..., Any], arguments: tuple[Any, ...], source: Any) -> Any:
    """Call what reads a source."""
    return asked(lambda: read(*arguments), "source", source, "something that the engine can read")


# ---- files


def _is_list_of_paths(source: Any) -> bool:
    return (
        isinstance(source, (list, tuple))
        and bool(source)
        and all(isinstance(item, (str, os.PathLike)) for item in source)
    )


def files(source: Any) -> tuple[str, list[str]]:
    """The kind of the files and their paths, folders and patterns resolved; addresses are left as they are."""
    items = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    paths = [path for item in items for path in _resolved(os.fspath(item))]
    kinds = {_kind(path) for path in paths}
    if len(kinds) != 1:
        raise InvalidParameter("source", source, "files of one kind", f"here are {sorted(kinds)}")
    return kinds.pop(), paths


def _kind(path: str) -> str:
    for suffix, kind in KINDS.items():
        if path.lower().endswith(suffix):
            return kind
    raise InvalidParameter("source", path, f"a file that ends in {', '.join(KINDS)}")


def _resolved(path: str) -> list[str]:
    if "://" in path:
        return [path]
    place = Path(path).expanduser()
    if place.is_file():  # a file whose name holds a star is that file
        return [str(place)]
    if place.is_dir():
        names = sorted(item.name for item in place.iterdir() if item.is_file())
        found = [
            str(place / name)
            for name in names
            if not name.startswith(("_", ".")) and name.lower().endswith(tuple(KINDS))
        ]
    else:
        found = sorted(item for item in glob.glob(str(place), recursive=True) if Path(item).is_file())
    if not found:
        raise InvalidParameter("source", path, "a file, folder or pattern with parquet or CSV files", "none is there")
    return found


# ---- in memory


def _own(engine: Engine, table: Any) -> Any:
    """An ibis table of this engine; one that is only in memory moves over."""
    operations = optional.ibis().expr.operations
    owners = {node.source for node in table.op().find((operations.DatabaseTable, operations.SQLQueryResult))}
    if owners - {engine.connection}:
        raise InvalidParameter("source", table, "an ibis table of this engine", "it belongs to another connection")
    if not owners:
        with Engine.open() as here:
            return engine.arrow(_plain(reading(here.fetch, (table,), table)))
    if engine.name == "spark" and table.op().find(operations.InMemoryTable):
        raise InvalidParameter("source", table, "a table of Spark alone", "one of its parts is only in memory")
    return table


def _arrow(source: Any, columns: Sequence[str], *, narrow: bool) -> Any:
    """Only the columns that are needed, as Arrow."""
    arrow = optional.pyarrow()
    pandas = sys.modules.get("pandas")  # a pandas frame cannot exist unless its library is loaded
    try:
        if pandas is not None and isinstance(source, pandas.DataFrame):
            present(columns, source.columns)
            table = arrow.Table.from_pandas(source[list(dict.fromkeys(columns))], preserve_index=False)
        elif isinstance(source, Mapping):
            present(columns, source)
            table = arrow.table({name: source[name] for name in columns})
        elif hasattr(source, "__arrow_c_stream__"):
            table = arrow.table(_without_objects(source, columns))
        else:
            raise InvalidParameter("source", source, ALLOWED)
        present(columns, table.column_names)
        return _plain(table.select(list(dict.fromkeys(columns))), narrow=narrow)
    except (arrow.ArrowException, TypeError, OverflowError) as error:
        raise InvalidParameter("source", type(source).__name__, ALLOWED, str(error).splitlines()[0]) from error


def _without_objects(source: Any, columns: Sequence[str]) -> Any:
    """Of a polars frame the columns that are needed; Python's own objects in one of them end the process there."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(source, polars.DataFrame):
        return source
    present(columns, source.columns)
    chosen = source.select(list(dict.fromkeys(columns)))
    if polars.Object in chosen.dtypes:
        raise InvalidParameter("source", "a polars column of objects", ALLOWED, "cast it to a type of polars")
    return chosen


def _plain(table: Any, *, narrow: bool = True) -> Any:
    """Types that both engines know: categories as their values, unsigned numbers as signed ones, nothing as numbers.

    No value is an error: where numbers of 64 bits without a sign do not fit they are decimals, and moments too far for
    microseconds are moved to the farthest.
    """
    arrow = optional.pyarrow()
    for place, field in enumerate(table.schema):
        column, kind = table.column(place), field.type
        if arrow.types.is_dictionary(kind):
            column = _decoded(column)
            kind = column.type
        if arrow.types.is_uint64(kind):
            fits = narrow and (imported("pyarrow.compute", "pyarrow", "data").max(column).as_py() or 0) < 2**63
            column = column.cast(arrow.int64() if fits else arrow.decimal128(20, 0))
        elif arrow.types.is_unsigned_integer(kind) or arrow.types.is_null(kind):
            column = column.cast(arrow.int64())
        elif arrow.types.is_float16(kind):
            column = column.cast(arrow.float32())
        elif arrow.types.is_decimal256(kind):
            column = column.cast(arrow.string())  # neither engine has so many digits
        elif arrow.types.is_timestamp(kind) and kind.unit != "us":
            column = _microseconds(column, kind)
        if column.type != field.type:
            table = table.set_column(place, field.name, column)
    return table


def _decoded(column: Any) -> Any:
    """Categories as their values; those of polars are texts of a kind that Arrow cannot look up, and copied first."""
    arrow, kind = optional.pyarrow(), column.type.value_type
    if kind != arrow.string_view():
        return column.cast(kind)
    texts = [
        arrow.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(arrow.string()))
        for chunk in column.chunks
    ]
    return arrow.chunked_array(texts, arrow.dictionary(column.type.index_type, arrow.string())).cast(arrow.string())


def _microseconds(column: Any, kind: Any) -> Any:
    arrow, compute = optional.pyarrow(), imported("pyarrow.compute", "pyarrow", "data")
    far = arrow.scalar({"s": FARTHEST, "ms": 10**3 * FARTHEST, "ns": 2**63 - 1}[kind.unit])
    number = compute.min_element_wise(column.cast(arrow.int64()), far, skip_nulls=False)
    number = compute.max_element_wise(number, compute.negate(far), skip_nulls=False)
    return number.cast(kind).cast(arrow.timestamp("us", kind.tz), safe=False)


WHOLE = r"^[+-]?[0-9]{1,18}$"
MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?Z?$"
NAMES = ("is_string", "is_integer", "is_boolean", "is_date")
# Identifiers as floats merge people once they pass 2**53; as texts, moments sort by their spelling.
TYPES = {
    "who": ((*NAMES, "is_uuid", "is_decimal"), "texts, whole numbers, dates or UUIDs"),
    "when": (("is_integer", "is_floating", "is_decimal", "is_date", "is_timestamp", "is_time"), "numbers or moments"),
    "state": (NAMES, "texts, whole numbers, booleans or dates"),
    "group": (NAMES, "texts, whole numbers, booleans or dates"),
}


def checked(engine: Engine, source: Any, columns: Mapping[str, str | None], missing: str) -> tuple[Any, int, int, bool]:
    """The table with columns named by their role, its rows, the rows left out, and whether it was read from text.

    One scan counts rows and missing values (NaN in a column of floats is missing too).
    """
    if missing not in ("error", "drop"):
        raise InvalidParameter("missing", missing, '"error" or "drop"')
    names = {
        role: text(role, name, "the name of a column")
        for role, name in columns.items()
        if role != "group" or name is not None
    }
    different = [names[role] for role in ("who", "when", "state")]
    if len(set(different)) < len(different):
        raise InvalidParameter("who, when, state", different, "three different columns")
    table, textual = opened(engine, source, list(names.values()))
    table = table.select(**{role: table[name] for role, name in names.items()})
    if textual:
        table = table.mutate(**{role: table[role].nullif("") for role in names})  # one engine says null, one says ""
    else:
        _typed(table, names)
    absent = {role: _absent(table[role]) for role in names}
    complete = ~functools.reduce(operator.or_, absent.values())
    scan = {f"no_{role}": lost.ifelse(1, 0).sum() for role, lost in absent.items()}
    scan |= {"rows": table.count(), "complete": complete.ifelse(1, 0).sum()}
    if textual:
        scan |= {f"not_{kind}": wrong.ifelse(1, 0).sum() for kind, wrong in _misread(table.when).items()}
    found = {
        key: values[0] or 0
        for key, values in reading(engine.fetch, (table.aggregate(**scan),), source).to_pydict().items()
    }
    lost = {names[role]: found[f"no_{role}"] for role in names if found[f"no_{role}"]}
    if lost and missing == "error":
        raise InvalidParameter(
            "source", lost, f"without missing values in its {found['rows']} rows", 'missing="drop" leaves such rows out'
        )
    if lost:
        table = table.filter(complete)
    if textual:
        table = table.mutate(when=_moment(table.when, names["when"], found))
    return table, found["complete"], found["rows"] - found["complete"], textual


def _typed(table: Any, names: Mapping[str, str]) -> None:
    for role, name in names.items():
        kind = table[role].type()
        tests, words = TYPES[role]
        if not any(getattr(kind, test)() for test in tests):
            hint = "cast the column, or make a frame with missing numbers Int64" if kind.is_floating() else ""
            raise InvalidParameter(f"{role} column {name!r}", str(kind), words, hint or "cast the column first")


def _absent(column: Any) -> Any:
    return column.isnull() | column.isnan() if column.type().is_floating() else column.isnull()


def _misread(column: Any) -> dict[str, Any]:
    """Which texts are not a whole number, which are not a moment; the casts of the engines alone forgive too much."""
    moment = column.re_search(MOMENT) & column.try_cast("timestamp").notnull()
    return {"whole": column.notnull() & ~column.re_search(WHOLE), "moment": column.notnull() & ~moment}


def _moment(column: Any, name: str, found: Mapping[str, int]) -> Any:
    if not found["not_whole"]:
        return column.cast("int64")
    if not found["not_moment"]:
        return column.cast("timestamp")
    raise InvalidParameter(
        f"when column {name!r}",
        f"{found['not_whole']} texts that are no whole number, {found['not_moment']} that are no moment",
        "all whole numbers, or all ISO moments such as 2026-11-16T08:00:00",
    )
