"""Columns of whole numbers: what is added up for sums, means and variances, candidates of quantiles, and keys.

Reference: theory/release.md section 3.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quiltwork.data.engines.engine import Engine
from quiltwork.release.classes import IntArray
from quiltwork.release.enforce import Expression, clamped, rounded
from quiltwork.tables.schema.columns import Cat, Float, Int
from quiltwork.tables.schema.table import Table
from quiltwork.tables.statistics.price import MOST_BINS, UNITS, Units
from quiltwork.tables.statistics.statistic import Statistic


def numbers(
    engine: Engine, rows: Expression, table: Table, statistics: Sequence[Statistic], values: dict[str, Expression]
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Columns with the integers of sums, and with the candidates of quantiles and keys; equal ones are made once."""
    sums: dict[str, tuple[str, ...]] = {}
    bins: dict[str, str] = {}
    made: dict[Any, tuple[str, ...]] = {}
    for one in statistics:
        if one.verb in ("count", "distinct"):
            continue
        kind = "sum" if one.verb in ("sum", "mean") else "bin" if one.verb in ("quantiles", "keys") else "square"
        key = (kind, one.of, one.clip)
        if key not in made:
            found = _squares(engine, rows, one) if kind == "square" else (_integers(engine, rows, table, one),)
            made[key] = tuple(f"{kind}{len(values) + place}" for place in range(len(found)))
            values |= dict(zip(made[key], found, strict=True))
        if kind == "bin":
            bins[one.name] = made[key][0]
        else:
            sums[one.name] = made[key]
    return sums, bins


def _squares(engine: Engine, rows: Expression, one: Statistic) -> tuple[Expression, Expression]:
    """(1 - t)^2 and t^2 in whole numbers that are together at most UNITS, t the share of the way through the clip.

    Differences and quotients of doubles round without changing an order, so that t is in [0, 1]; both roundings up
    could make one too many.
    """
    if one.clip is None:
        raise TypeError(f"{one.verb} has no clip")
    low, high = (float(end) for end in one.clip)
    share = (clamped(rows[str(one.of)].cast("float64"), low, high) - low) / (high - low)
    far = rounded(engine, share * share * float(UNITS)).cast("int64")
    rest = 1.0 - share
    near = rounded(engine, rest * rest * float(UNITS)).cast("int64")
    return clamped(near, 0, UNITS - far), far


def _integers(engine: Engine, rows: Expression, table: Table, one: Statistic) -> Expression:
    column: Any = table.columns[str(one.of)]
    value = rows[str(one.of)]
    if one.verb == "keys":
        return value if isinstance(column, Cat) else value.cast("string")
    if one.clip is None:
        raise TypeError(f"{one.verb} has no clip")
    low, high = one.clip
    inside = value if (low, high) == (column.low, column.high) else clamped(value, low, high)  # it is in its range
    if isinstance(column, Int):
        return inside if one.verb != "quantiles" or high - low < MOST_BINS else _bin(inside, low, high)
    if one.verb == "quantiles":
        return _bin(inside, low, high)
    factor = Units.of(one, table).factor
    return rounded(engine, inside * factor).cast("int64")


def _bin(value: Expression, low: float, high: float) -> Expression:
    """Which of equally wide bins it is in, from 0 on."""
    place = ((value - low) / ((high - low) / MOST_BINS)).floor().cast("int64")
    return clamped(place, 0, MOST_BINS - 1)


def candidates(one: Statistic, table: Table) -> tuple[IntArray, Callable[[int], float]]:
    """The candidates of a quantile, and the value that each stands for: itself, or the middle of its bin."""
    low, high = one.clip or (0, 0)
    if isinstance(table.columns[str(one.of)], Int) and high - low < MOST_BINS:
        return np.arange(int(low), int(high) + 1), lambda place: place
    width = (high - low) / MOST_BINS
    middle = (lambda place: low + (place + 0.5) * width) if isinstance(table.columns[str(one.of)], Float) else None
    return np.arange(MOST_BINS), middle or (lambda place: math.floor(low + (place + 0.5) * width))
