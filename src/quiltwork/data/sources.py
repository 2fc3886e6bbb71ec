"""What can be counted: files, frames, Arrow tables and ibis tables, all as an ibis table of one engine."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quiltwork.data import optional
from quiltwork.data.engines import Engine, asked
from quiltwork.errors import InvalidParameter

__all__ = ["opened", "present"]

ALLOWED = "a path, a list of paths, a data frame, an Arrow table, a dict of columns or an ibis table"
KINDS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".csv.gz": "csv"}


def opened(engine: Engine, source: Any, columns: Sequence[str]) -> tuple[Any, bool]:
    """The source as an ibis table that has the columns, and whether all it holds is text."""
    if isinstance(source, (str, os.PathLike)) or _is_list_of_paths(source):
        kind, paths = files(source)
        read = {"parquet": engine.parquet, "csv": engine.csv}[kind]
        table = reading(read, (paths,), source)
    elif isinstance(source, optional.ibis().Table):
        kind, table = "ibis", _own(engine, source)
    else:
        kind, table = "arrow", engine.arrow(_arrow(source, columns))
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


def _arrow(source: Any, columns: Sequence[str]) -> Any:
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
            table = arrow.table(source)
        else:
            raise InvalidParameter("source", source, ALLOWED)
        present(columns, table.column_names)
        return _plain(table.select(list(dict.fromkeys(columns))))
    except (arrow.ArrowException, TypeError, OverflowError) as error:
        raise InvalidParameter("source", type(source).__name__, ALLOWED, str(error).splitlines()[0]) from error


def _plain(table: Any) -> Any:
    """Types that both engines know: categories as their values, unsigned numbers as signed ones, nothing as numbers."""
    arrow = optional.pyarrow()
    for place, field in enumerate(table.schema):
        kind = field.type
        if arrow.types.is_dictionary(kind):
            kind = kind.value_type
        if arrow.types.is_unsigned_integer(kind) or arrow.types.is_null(kind):
            kind = arrow.int64()  # safe: a number that does not fit is an error
        if kind != field.type:
            table = table.set_column(place, field.name, table.column(place).cast(kind))
    return table
