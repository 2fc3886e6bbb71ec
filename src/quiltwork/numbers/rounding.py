"""Outward rounding: a few units in the last place, in the direction that keeps a bound a bound."""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np

from quiltwork.checks import FloatArray

UNIT = 2.0**-53  # relative error of one correctly rounded operation


@overload
def down(x: float, ulps: int = 1) -> float: ...
@overload
def down(x: FloatArray, ulps: int = 1) -> FloatArray: ...
def down(x: Any, ulps: int = 1) -> Any:
    """The `ulps`-th float below x; infinities stay, since they are exact.

    A correctly rounded operation is off by at most half a unit, so one step down after it is a lower bound.

    >>> down(1.0) < 1.0 < up(1.0), down(0.0) < 0.0
    (True, True)
    """
    return _step(x, ulps, -np.inf)


@overload
def up(x: float, ulps: int = 1) -> float: ...
@overload
def up(x: FloatArray, ulps: int = 1) -> FloatArray: ...
def up(x: Any, ulps: int = 1) -> Any:
    """The `ulps`-th float above x; infinities stay, since they are exact."""
    return _step(x, ulps, np.inf)


def difference(a: Any, b: Any) -> tuple[FloatArray, FloatArray]:
    """a - b without loss: the rounded difference and the rest, which sum to a - b exactly (Knuth's two-sum)."""
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    rounded = first - second
    taken = rounded - first
    return np.asarray(rounded), np.asarray((first - (rounded - taken)) - (second + taken))


def log_sum(logs: FloatArray) -> float:
    """log of the sum of e^logs, the largest taken out."""
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


def scaled(log_scale: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """e^log_scale * x for x >= 0 and a bound on its absolute error, also where e^log_scale overflows.

    A stated log_scale may be read as the decimal typed or as its double: up to a unit of it either way.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        exponent = log_scale + np.log(x)
        far = np.abs(log_scale) > 700.0
        value = np.where(far, np.exp(exponent), np.exp(np.where(far, 0.0, log_scale)) * x)
        value = np.where(x == 0, 0.0, value)
        size = np.minimum(np.abs(log_scale), 1e9)
        far_size = size + np.minimum(np.abs(np.log(x)), 1e9)
        relative = np.where(far, 8.0 + 2.0 * far_size, np.where(size > 0, 8.0 + size, 8.0)) * UNIT
        error = np.where((x == 0) | np.isinf(value), 0.0, relative * value + 2.0 * np.finfo(float).smallest_subnormal)
    return value, error


def _step(x: Any, ulps: int, towards: float) -> Any:
    if isinstance(x, float):
        for _ in range(0 if math.isinf(x) else ulps):
            x = math.nextafter(x, towards)
        return float(x)
    moved = np.asarray(x, dtype=float)
    exact = np.isinf(moved)
    for _ in range(ulps):
        moved = np.where(exact, moved, np.nextafter(moved, towards))
    return float(moved) if moved.ndim == 0 else moved
