"""Spark: the same expressions on a cluster, or on the cores of one machine.

A session that is started here keeps to itself: no web page, little log on the screen, and on one machine no port that
others can reach.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quiltwork.data.engines import engine as optional
from quiltwork.data.engines.engine import Engine, fresh, opening
from quiltwork.errors import InvalidParameter, Unsupported

QUIET = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n
"""
CSV = {
    "header": True,
    "inferSchema": False,
    "sep": ",",
    "quote": '"',
    "escape": '"',
    "encoding": "UTF-8",
    "multiLine": True,  # a quoted text may hold a line break
    "mode": "FAILFAST",  # a row of another width is an error, not a row of nulls
    "enforceSchema": False,  # each file's own header is read, not assumed to be that of the first
}


class SparkEngine(Engine):
    """Counts on Spark."""

    name = "spark"

    @classmethod
    def started(cls, place: str, settings: Mapping[str, Any], progress: bool | None) -> SparkEngine:
        """Spark at that place, started unless it runs already."""
        with contextlib.ExitStack() as undo:
            session, mine = opening(lambda: start(master_of(place), settings), f"spark://{place}")
            if mine:
                undo.callback(session.stop)
            return cls(optional.spark_backend().connect(session), progress=progress, undo=undo.pop_all())

    @property
    def session(self) -> Any:
        """The SparkSession behind the connection."""
        return self.connection.raw_sql("SELECT 1").sparkSession

    @contextlib.contextmanager
    def unlogged(self) -> Iterator[None]:
        """Spark writes rows that it cannot read into its log; of tasks that end after a failure, too."""
        context = getattr(self.session, "sparkContext", None)
        if context is None:  # Spark Connect: its log is the server's
            yield
            return
        level = context._jvm.org.apache.logging.log4j.LogManager.getRootLogger().getLevel().toString()
        context.setLogLevel("OFF")
        yield
        context.setLogLevel(level)

    def kept(self, table: Any) -> Any:
        """A cached table, in memory or on the disks of the workers."""
        frame = self.connection.raw_sql(self.connection.compile(table)).cache()
        self._undo.callback(frame.unpersist)
        return self._named(frame)

    def fetch(self, expression: Any) -> Any:
        """The answer as an Arrow table; the way of ibis goes through pandas, and warns about its newer versions."""
        return self.connection.raw_sql(self.connection.compile(expression)).toArrow()

    def arrow(self, table: Any) -> Any:
        """A table that is in memory; Spark's own reader fails on lists where there is no row."""
        if table.num_rows:
            return self._named(self.session.createDataFrame(table))
        schema = optional.spark_types().from_arrow_schema(table.schema)
        return self._named(self.session.createDataFrame([], schema))

    def parquet(self, paths: Sequence[str]) -> Any:
        return self._named(self.session.read.parquet(*map(_literal, paths)))

    def csv(self, paths: Sequence[str]) -> Any:
        return self._named(self.session.read.csv([_literal(path) for path in paths], **CSV))

    def _named(self, frame: Any) -> Any:
        name = fresh()
        frame.createOrReplaceTempView(name)
        self._undo.callback(frame.sparkSession.catalog.dropTempView, name)
        return self.connection.table(name)


def _literal(path: str) -> str:
    """The path as a pattern that matches only itself; a name that Spark would silently leave out is refused."""
    if "://" in path:
        return path
    if Path(path).name.startswith(("_", ".")):
        raise InvalidParameter("source", path, "a file whose name does not begin with _ or .", "Spark skips those")
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


def master_of(place: str) -> str:
    """Spark's own name of a place: `local`, `local[2]`, `local[*]` on this machine, else a standalone cluster."""
    place = place.rstrip("/") or "local[*]"
    return place if place == "local" or place.startswith("local[") else f"spark://{place}"


def start(master: str, settings: Mapping[str, Any]) -> tuple[Any, bool]:
    """A session on that master, and whether it is the caller's to stop.

    One process has one Spark: where it already runs on the same master, this gives a session of its own on it (own
    settings, own tables), which nobody needs to stop.
    """
    sql = optional.pyspark_sql()
    running = sql.SparkSession.getActiveSession()
    if running is not None:
        if running.sparkContext.master != master:
            raise InvalidParameter(
                "url",
                f"spark://{master}",
                f"the Spark that runs in this process, {running.sparkContext.master}",
                "stop that one, or give its ibis connection to Engine.using",
            )
        session = running.newSession()
        for key, value in {**_tuning(master), **settings}.items():
            if session.conf.isModifiable(key):
                session.conf.set(key, str(value))
        return session, False
    java()
    builder = sql.SparkSession.builder.master(master).appName("quiltwork")
    for key, value in {**_fixed(master, home()), **_tuning(master), **settings}.items():
        builder = builder.config(key, str(value))
    return builder.getOrCreate(), True


@functools.cache
def home() -> Path:
    """One private folder for the life of the process: Java outlives a stopped Spark, and keeps to its first folder."""
    directory = tempfile.mkdtemp(prefix="quiltwork-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return Path(directory)


def java() -> str:
    """The Java that Spark will start; a missing one is said before Spark fails in its own words."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if found is None:
        raise Unsupported(
            "Spark", "no Java runtime was found", "install one (17 or later), set JAVA_HOME, or use duckdb://"
        )
    return found


def _fixed(master: str, directory: Path) -> dict[str, str]:
    """What must be known before Java starts."""
    log = directory / "log4j2.properties"
    log.write_text(QUIET, encoding="utf-8")
    fixed = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log.as_uri()}",
    }
    if master.startswith("local"):
        fixed |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.local.dir": str(directory),
        }
    return fixed


def _tuning(master: str) -> dict[str, str]:
    """Few, large pieces on one machine: 200 shuffle partitions, the default, are overhead there."""
    return {"spark.sql.shuffle.partitions": "8"} if master.startswith("local") else {}
