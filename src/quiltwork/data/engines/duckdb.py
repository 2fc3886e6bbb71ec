"""DuckDB: the default, inside this process."""

from __future__ import annotations

import contextlib
import glob
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quiltwork.data.engines import engine as optional
from quiltwork.data.engines.engine import Engine, fresh, opening
from quiltwork.errors import InvalidParameter

__all__ = ["DuckEngine"]

CSV = {
    "header": True,
    "all_varchar": True,
    "delim": ",",
    "quote": '"',
    "escape": '"',
    "union_by_name": True,
    "hive_partitioning": False,
}


class DuckEngine(Engine):
    """Counts in this process."""

    name = "duckdb"

    @classmethod
    def started(cls, place: str, settings: Mapping[str, Any], progress: bool | None) -> DuckEngine:
        """A database in memory, or the file after duckdb:///."""
        ibis = optional.ibis()
        if place and not place.startswith("/"):
            raise InvalidParameter("url", f"duckdb://{place}", "duckdb:// or duckdb:///FILE", "a file takes three /")
        with contextlib.ExitStack() as undo:
            # DuckDB would spill into the working directory; a temporary one is for its owner's eyes only
            directory = undo.enter_context(tempfile.TemporaryDirectory(prefix="quiltwork-"))
            own = {"temp_directory": directory, "preserve_insertion_order": False, **settings}
            connection = opening(lambda: ibis.duckdb.connect(place or ":memory:", **own), f"duckdb://{place}")
            undo.callback(connection.disconnect)
            return cls(connection, progress=progress, undo=undo.pop_all())

    def kept(self, table: Any) -> Any:
        """A temporary table, which spills to disk when memory is short."""
        name = fresh()
        self.connection.raw_sql(f"CREATE TEMPORARY TABLE {name} AS {self.connection.compile(table)}")
        self._undo.callback(self.connection.raw_sql, f"DROP TABLE {name}")
        return self.table(name)

    def fetch(self, expression: Any) -> Any:
        """The answer as an Arrow table."""
        return self.connection.to_pyarrow(expression)

    def arrow(self, table: Any) -> Any:
        """A table that is in memory, not copied."""
        name = fresh()
        self.connection.con.register(name, table)
        self._undo.callback(self.connection.con.unregister, name)
        return self.table(name)

    def parquet(self, paths: Sequence[str]) -> Any:
        """Parquet files."""
        return self._read(self.connection.read_parquet, paths, {"hive_partitioning": False})

    def csv(self, paths: Sequence[str]) -> Any:
        """CSV files, every column as text."""
        return self._read(self.connection.read_csv, paths, CSV)

    def _read(self, read: Callable[..., Any], paths: Sequence[str], options: Mapping[str, Any]) -> Any:
        name = fresh()
        with optional.calm():
            table = read([_literal(path) for path in paths], table_name=name, **options)
        self._undo.callback(self.connection.raw_sql, f"DROP VIEW {name}")
        return table


def _literal(path: str) -> str:
    """The path as a pattern that matches only itself."""
    return path if "://" in path else glob.escape(path)
