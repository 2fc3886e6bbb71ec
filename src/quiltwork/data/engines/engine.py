"""Where tables are counted: DuckDB in this process, or Spark, behind one door.

Every question is one ibis expression, written once; an engine only opens sources and fetches answers.  Tables are
never loaded into memory as a whole: both engines stream files and spill what does not fit into a private directory,
which is removed on close.

Libraries that only this room needs, imported when a table is opened.
"""

from __future__ import annotations

import contextlib
import glob
import tempfile
import uuid
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from quiltwork.checks import flag, text
from quiltwork.errors import InvalidParameter, QuiltworkError, Unsupported, imported
from quiltwork.kinds import not_written

CSV = {  # what is not said here DuckDB guesses from the rows: lines to skip, and what begins a comment
    "header": True,
    "skip": 0,
    "comment": "",
    "all_varchar": True,
    "delim": ",",
    "quote": '"',
    "escape": '"',
    "union_by_name": True,
    "hive_partitioning": False,
}


if TYPE_CHECKING:
    from quiltwork.data.sequences import Sequences


@contextlib.contextmanager
def calm() -> Iterator[None]:
    """Without two warnings that are about these libraries among themselves.

    pyspark about newer versions of pandas (here, tables enter and leave Spark as Arrow), and DuckDB about the name of
    a method that ibis calls.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        warnings.filterwarnings("ignore", message=r"fetch_arrow_table\(\) is deprecated", category=DeprecationWarning)
        yield


def ibis() -> Any:
    """The expression language, with DuckDB."""
    imported("duckdb", "duckdb", "data")
    return imported("ibis", "ibis-framework", "data")


def pyarrow() -> Any:
    """Tables in memory."""
    return imported("pyarrow", "pyarrow", "data")


def pyspark_sql() -> Any:
    """Spark's own door."""
    with calm():
        return imported("pyspark.sql", "pyspark", "spark")


def spark_types() -> Any:
    """Spark's types of Arrow's."""
    with calm():
        return imported("pyspark.sql.pandas.types", "pyspark", "spark")


def spark_backend() -> Any:
    """The Spark backend of ibis."""
    with calm():
        imported("ibis.backends.pyspark", "pyspark", "spark")
    return ibis().pyspark


URLS = "duckdb://, duckdb:///FILE, spark://local[2] or spark://HOST:PORT"


def asked(call: Callable[[], Any], name: str, given: Any, allowed: str) -> Any:
    """Call the engine; what it refuses is the fault of what was given, and its own words say why."""
    try:
        return call()
    except QuiltworkError:
        raise
    except Exception as error:  # each engine has its own family of errors, and neither may be imported here
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise InvalidParameter(name, given, allowed, lines[0]) from error


def opening(start: Callable[[], Any], url: str) -> Any:
    """Call what opens an engine."""
    return asked(start, "url", url, "an engine that can be opened with these settings")


def fresh() -> str:
    """A name that no table has, safe in any query."""
    return f"quiltwork_{uuid.uuid4().hex}"


@not_written("it is an open connection", "keep the address of its data")
class Engine(ABC):
    """A place that answers ibis expressions; close it, or use it as a context.

    >>> with Engine.open() as engine:
    ...     visits = {"person": [1, 1, 2], "day": [1, 2, 1], "place": ["home", "work", "home"]}
    ...     engine.sequences(visits, who="person", when="day", state="place").transition_counts().matrix.tolist()
    [[0, 1], [0, 0]]
    """

    name: ClassVar[str]

    def __init__(self, connection: Any, progress: bool | None, undo: contextlib.ExitStack) -> None:
        self.connection, self.progress, self._undo = connection, progress, undo
        self.closed = False

    @staticmethod
    def open(
        url: str = "duckdb://", *, settings: Mapping[str, Any] | None = None, progress: bool | None = None
    ) -> Engine:
        """The engine at a URL.

        duckdb:// is in memory, duckdb:///FILE a database file (its tables: `engine.table`), spark://local[2] Spark on
        two cores here, spark://HOST:PORT a standalone cluster.  `settings` are the engine's own (memory_limit and
        threads of DuckDB, spark.* of Spark).  `progress=None` shows a bar only on a terminal.
        """
        if progress is not None:
            flag("progress", progress)
        if not isinstance(settings, Mapping | None):
            raise InvalidParameter("settings", settings, "a dict of the engine's own settings")
        scheme, found, place = text("url", url, f"one of {URLS}").partition("://")
        if found and scheme == "duckdb":
            return DuckEngine.started(place, settings or {}, progress)
        if found and scheme in ("spark", "pyspark"):
            from quiltwork.data.engines.spark import SparkEngine

            return SparkEngine.started(place, settings or {}, progress)
        raise InvalidParameter("url", url, f"one of {URLS}")

    @staticmethod
    def using(connection: Any, *, progress: bool | None = None) -> Engine:
        """An ibis connection that is already open (a cluster with its own settings); close leaves it open."""
        from quiltwork.data.engines.spark import SparkEngine

        kinds: dict[str, type[Engine]] = {"duckdb": DuckEngine, "pyspark": SparkEngine}
        kind = kinds.get(getattr(connection, "name", ""))
        if kind is None:
            raise InvalidParameter("connection", connection, "an ibis connection to DuckDB or Spark")
        return kind(connection, progress, contextlib.ExitStack())

    def close(self) -> None:
        """Stop what `open` started and remove what it wrote; a second time does nothing."""
        self.closed = True
        self._undo.close()

    def alive(self) -> None:
        """Refuse questions to an engine that is closed."""
        if self.closed:
            raise Unsupported("a question to a closed engine", "what it read is gone", "open another one")

    def __repr__(self) -> str:
        return f"<Engine {self.name}{', closed' if self.closed else ''}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def table(self, name: str) -> Any:
        """A table of the database, as a source."""
        self.alive()
        with calm():
            return self.connection.table(text("name", name))

    def sequences(
        self, source: Any, *, who: str, when: str, state: str, group: str | None = None, missing: str = "error"
    ) -> Sequences:
        """The rows of a source as one sequence of states for each `who`, in order of `when`.

        source: a path or list of paths (parquet or CSV; folders and patterns like data/*.parquet too), a pandas or
        polars frame, an Arrow table, a dict of columns, or an ibis table of this engine.  All columns of a CSV file
        are texts, except `when`, which must hold whole numbers or ISO moments.  Rows with a missing value are an
        error; `missing="drop"` leaves them out, and the entries before and after then count as consecutive.
        """
        from quiltwork.data.sequences import Sequences

        self.alive()
        return Sequences.read(self, source, {"who": who, "when": when, "state": state, "group": group}, missing)

    def distrust_statistics(self) -> None:
        """From now on every value is looked at, whatever the statistics in a file claim about its values."""
        return None

    @contextlib.contextmanager
    def unlogged(self) -> Iterator[None]:
        """Without a log, in which an engine may quote values; silent from then on when what is done here fails."""
        yield

    @abstractmethod
    def kept(self, table: Any) -> Any:
        """The table computed once, for later questions; released on close."""

    @abstractmethod
    def fetch(self, expression: Any) -> Any:
        """The answer to an ibis expression, as an Arrow table: keep it small."""

    @abstractmethod
    def arrow(self, table: Any) -> Any:
        """An Arrow table as an ibis table."""

    @abstractmethod
    def parquet(self, paths: Sequence[str]) -> Any:
        """Parquet files as one ibis table."""

    @abstractmethod
    def csv(self, paths: Sequence[str]) -> Any:
        """CSV files with a header as one ibis table, every column as text."""


class DuckEngine(Engine):
    """DuckDB, the default: counts inside this process."""

    name = "duckdb"

    @classmethod
    def started(cls, place: str, settings: Mapping[str, Any], progress: bool | None) -> DuckEngine:
        """A database in memory, or the file after duckdb:///."""
        backend = ibis().duckdb
        if place and not place.startswith("/"):
            raise InvalidParameter("url", f"duckdb://{place}", "duckdb:// or duckdb:///FILE", "a file takes three /")
        with contextlib.ExitStack() as undo:
            # DuckDB would spill into the working directory; a temporary one is for its owner's eyes only
            directory = undo.enter_context(tempfile.TemporaryDirectory(prefix="quiltwork-"))
            own = {"temp_directory": directory, "preserve_insertion_order": False, **settings}
            connection = opening(lambda: backend.connect(place or ":memory:", **own), f"duckdb://{place}")
            undo.callback(connection.disconnect)
            # in a notebook a bar tells how far a scan has come; where it cannot be drawn it cannot be set either
            with contextlib.suppress(import_module("duckdb").InvalidInputException):
                connection.raw_sql("SET enable_progress_bar = false")
            return cls(connection, progress=progress, undo=undo.pop_all())

    def distrust_statistics(self) -> None:
        self.connection.raw_sql("SET disabled_optimizers = 'statistics_propagation'")

    def kept(self, table: Any) -> Any:
        """A temporary table, which spills to disk when memory is short."""
        name = fresh()
        self.connection.raw_sql(f"CREATE TEMPORARY TABLE {name} AS {self.connection.compile(table)}")
        self._undo.callback(self.connection.raw_sql, f"DROP TABLE {name}")
        return self.table(name)

    def fetch(self, expression: Any) -> Any:
        return self.connection.to_pyarrow(expression)

    def arrow(self, table: Any) -> Any:
        """A table that is in memory, not copied."""
        name = fresh()
        self.connection.con.register(name, table)
        self._undo.callback(self.connection.con.unregister, name)
        return self.table(name)

    def parquet(self, paths: Sequence[str]) -> Any:
        # statistics of a file leave NaN out: without the word DuckDB believes that there is none, and isnan says no
        return self._read(self.connection.read_parquet, paths, {"hive_partitioning": False, "can_have_nan": True})

    def csv(self, paths: Sequence[str]) -> Any:
        return self._read(self.connection.read_csv, paths, CSV)

    def _read(self, read: Callable[..., Any], paths: Sequence[str], options: Mapping[str, Any]) -> Any:
        name = fresh()
        with calm():
            table = read([_literal(path) for path in paths], table_name=name, **options)
        self._undo.callback(self.connection.raw_sql, f"DROP VIEW {name}")
        return table


def _literal(path: str) -> str:
    """The path as a pattern that matches only itself."""
    return path if "://" in path else glob.escape(path)
