"""Distances on the values of some columns, for d-privacy: how far one record may move.

Reference: theory/granularity.md section 5; Andrés et al. 2013 (geo-indistinguishability).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.tables.schema.columns import Ordered
from quiltwork.tables.schema.table import Reference, column_name

if TYPE_CHECKING:
    from quiltwork.tables.cells.cells import Arrangement
    from quiltwork.tables.notions.neighbors import Metric
    from quiltwork.tables.schema.table import Table

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


def euclidean(*columns: str | Reference) -> Distance:
    """Straight-line distance.

    Parameters
    ----------
    *columns
        Names of ordered columns, or the columns.

    Returns
    -------
    Distance
        For `metric`.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> print(euclidean("x", "y"))
    euclidean(x, y)
    """
    return Distance("euclidean", _some(columns))


def manhattan(*columns: str | Reference) -> Distance:
    """Sum of the absolute differences.

    Parameters
    ----------
    *columns
        Names of ordered columns, or the columns.

    Returns
    -------
    Distance
        For `metric`.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> print(manhattan("age"))
    manhattan(age)
    """
    return Distance("manhattan", _some(columns))


def geo(latitude: str | Reference, longitude: str | Reference) -> Distance:
    """Great-circle distance in metres, from degrees.

    Parameters
    ----------
    latitude
        Column of degrees north.
    longitude
        Column of degrees east.

    Returns
    -------
    Distance
        For `metric`, in metres.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> print(geo("lat", "lon"))
    geo(lat, lon)
    """
    return Distance("geo", _some((latitude, longitude)))


def _some(columns: Sequence[str | Reference]) -> tuple[str, ...]:
    found = tuple(column_name("columns", name) for name in columns)
    if not found or len(set(found)) != len(found):
        raise InvalidParameter("columns", columns, "at least one column name, none twice")
    return found


def _great_circle(one: Sequence[float], two: Sequence[float]) -> float:
    (a, b), (c, d) = ([math.radians(x) for x in point] for point in (one, two))
    haversine = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * EARTH * math.asin(math.sqrt(min(haversine, 1.0)))


def within_reach(
    arrangement: Arrangement, picks: NDArray[np.int64], cell: int, others: NDArray[np.int64], step: Metric
) -> NDArray[np.bool_]:
    """Cells that a record may enter by moving at most `within`: the gaps of their spans are no longer than that.

    Great-circle distances are not taken apart by column, so that there everything counts as within reach.
    """
    if step.distance.name == "geo":
        return np.ones(others.size, dtype=bool)
    total = np.zeros(others.size)
    for s, sheet in enumerate(arrangement.sheets):
        if sheet.column in step.distance.columns:
            ends = [(math.nan, math.nan) if span is None else (span[0][0], span[1][0]) for span in sheet.spans]
            low, high = np.array(ends).T
            here, there = picks[cell, s], picks[others, s]
            gap = np.maximum(np.maximum(low[there] - high[here], low[here] - high[there]), 0.0)
            gap = np.where(there == here, 0.0, np.where(np.isnan(gap), math.inf, gap))  # NULL is nowhere near
            total += gap if step.distance.name == "manhattan" else gap**2
    length = total if step.distance.name == "manhattan" else np.sqrt(total)
    return np.asarray(length <= step.within * (1 + 1e-9))


def longest_move(arrangement: Arrangement, table: Table, picks: NDArray[np.int64], step: Metric) -> float:
    """A length, at most `within`, by which a record of the first of two cells really moves into the second; 0: none.

    Real columns take every length between the shortest and the longest gap of their spans, whole numbers whole ones.
    Where several columns move, all of them are real: then one is moved far, the others a hair beyond their gap.
    """
    columns = [table.columns[name] for name in step.distance.columns]
    if step.distance.name == "geo" or not all(isinstance(column, Ordered) for column in columns):
        return 0.0
    discrete = any(isinstance(column, Ordered) and column.discrete for column in columns)
    if discrete and len(columns) > 1:
        return 0.0
    sheets = {sheet.column: s for s, sheet in enumerate(arrangement.sheets)}
    gaps = []
    for name in step.distance.columns:
        s = sheets[name]
        spans = [arrangement.sheets[s].spans[int(pick)] for pick in picks[:, s]]
        ends = [(span[0][0], span[1][0] - discrete) for span in spans if span is not None]
        if len(ends) < 2:
            return 0.0
        (low, high), (start, end) = ends
        gaps.append((max(start - high, low - end, 0), max(end - low, high - start)))
    return max(_stretched(gaps, chosen, step, discrete) for chosen in range(len(gaps)))


def _stretched(gaps: Sequence[tuple[float, float]], chosen: int, step: Metric, discrete: bool) -> float:
    """The length of a move that closes all gaps and goes farther in the chosen column, never above `within`."""
    power = 1 if step.distance.name == "manhattan" else 2
    rest = sum(gap**power for k, (gap, _) in enumerate(gaps) if k != chosen)
    room = step.within**power - rest
    least, most = gaps[chosen]
    if room < least**power:
        return 0.0
    if not rest:  # nothing else moves: no rounding
        far = min(step.within, most)
        return float(math.floor(far)) if discrete else float(far)
    far = min(room ** (1 / power), most)
    return float((rest + far**power) ** (1 / power) * (1 - 1e-12))


# ---- as a document


def _read(name: str, columns: tuple[str, ...]) -> Distance:
    if name not in ("euclidean", "manhattan", "geo") or (name == "geo" and len(columns) != 2):
        raise InvalidParameter("name", name, "euclidean or manhattan of some columns, or geo of two")
    return Distance(name, _some(columns))


document("distance/1", fields="name columns", read=_read)(Distance)
