"""Distances on the values of some columns, for d-privacy: how far one record may move.

Reference: theory/granularity.md section 5; Andrés et al. 2013 (geo-indistinguishability).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.tables.columns import Ordered

if TYPE_CHECKING:
    from quiltwork.tables.table import Table

__all__ = ["Distance", "euclidean", "geo", "manhattan"]

EARTH = 6_371_008.8  # mean radius, metres


@attrs.frozen
class Distance:
    """A metric on the listed columns."""

    name: str
    columns: tuple[str, ...]

    @property
    def what(self) -> str:
        """What it measures, in words."""
        return "position" if self.name == "geo" else " and ".join(self.columns)

    def check(self, table: Table) -> None:
        """The columns must be numbers or days."""
        table.names(self.columns, "distance")
        for name in self.columns:
            if not isinstance(table.columns[name], Ordered):
                raise InvalidParameter(name, table.columns[name], "an ordered column")

    def between(self, one: Mapping[str, Any], two: Mapping[str, Any]) -> float:
        """The distance of two records (metres for geo)."""
        first, second = ([float(record[name]) for name in self.columns] for record in (one, two))
        if self.name == "geo":
            return _great_circle(first, second)
        gaps = [abs(a - b) for a, b in zip(first, second, strict=True)]
        return math.fsum(gaps) if self.name == "manhattan" else math.hypot(*gaps)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.columns)})"


def euclidean(*columns: str) -> Distance:
    """Straight-line distance."""
    return Distance("euclidean", _some(columns))


def manhattan(*columns: str) -> Distance:
    """Sum of the absolute differences."""
    return Distance("manhattan", _some(columns))


def geo(latitude: str, longitude: str) -> Distance:
    """Great-circle distance in metres, from degrees."""
    return Distance("geo", _some((latitude, longitude)))


def _some(columns: Sequence[str]) -> tuple[str, ...]:
    found = tuple(checks.text("columns", name) for name in columns)
    if not found or len(set(found)) != len(found):
        raise InvalidParameter("columns", columns, "at least one column name, none twice")
    return found


def _great_circle(one: Sequence[float], two: Sequence[float]) -> float:
    (a, b), (c, d) = ([math.radians(x) for x in point] for point in (one, two))
    haversine = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * EARTH * math.asin(math.sqrt(min(haversine, 1.0)))
