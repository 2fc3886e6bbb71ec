"""Libraries that only this room needs, imported when a table is opened."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Iterator
from typing import Any

from quiltwork.errors import MissingExtra

__all__ = ["calm", "ibis", "pyarrow", "pyspark_sql", "spark_backend"]


def _module(name: str, package: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtra(package, extra) from None


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
    _module("duckdb", "duckdb", "data")
    return _module("ibis", "ibis-framework", "data")


def pyarrow() -> Any:
    """Tables in memory."""
    return _module("pyarrow", "pyarrow", "data")


def pyspark_sql() -> Any:
    """Spark's own door."""
    with calm():
        return _module("pyspark.sql", "pyspark", "spark")


def spark_backend() -> Any:
    """The Spark backend of ibis."""
    with calm():
        _module("ibis.backends.pyspark", "pyspark", "spark")
    return ibis().pyspark
