"""Services that tests talk to: a missing one is a skip on a laptop and a failure where it was promised."""

import os

import pytest

from quiltwork.data.engines.spark import java
from quiltwork.errors import QuiltworkError


def lacking(what):
    """Skip, or fail when QUILTWORK_REQUIRE_SERVICES=1 says that every service is there."""
    if os.environ.get("QUILTWORK_REQUIRE_SERVICES") == "1":
        pytest.fail(f"{what}, and QUILTWORK_REQUIRE_SERVICES=1 promises that it is there")
    pytest.skip(what)


def need_spark():
    """Java and pyspark, or a skip."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        lacking("pyspark is not installed")
    try:
        java()
    except QuiltworkError as error:
        lacking(str(error))
