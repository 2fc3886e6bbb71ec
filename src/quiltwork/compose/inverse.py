"""Inversion of certified monotone functions: the epsilon at which log D falls, or log C rises, to a target."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.engine import View
from quiltwork.losses.pair import UNIT

SCAN = np.linspace(-5.0, 5.0, 21)
ROUNDS = 60


def roots(view: View, target: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Estimates of the epsilons where the middle log equals each target, and the slopes there (D falls, C rises)."""
    sign = 1.0 if view.theta > 0 else -1.0

    def height(x: FloatArray) -> FloatArray:
        return sign * (view.middle(x) - target)

    scan = view.centre + view.spread * SCAN
    values = sign * view.middle(scan)
    goal = sign * target
    fall = np.minimum.accumulate(np.where(np.isnan(values), np.inf, values))
    i = np.clip(np.searchsorted(-fall, -goal), 1, scan.size - 1)
    left, right = scan[i - 1].copy(), scan[i].copy()
    high, low = fall[i - 1] - goal, fall[i] - goal
    for _ in range(ROUNDS):  # targets beyond the scan: widen geometrically
        out = low > 0
        if not out.any():
            break
        left, high = np.where(out, right, left), np.where(out, low, high)
        right = np.where(out, right + 2 * np.abs(right - view.centre) + view.spread, right)
        low = np.where(out, height(right), low)
    for _ in range(ROUNDS):
        out = high < 0
        if not out.any():
            break
        right, low = np.where(out, left, right), np.where(out, high, low)
        left = np.where(out, left - 2 * np.abs(left - view.centre) - view.spread, left)
        high = np.where(out, height(left), high)
    if target.size == 1:
        ends, heights = (float(left[0]), float(right[0])), (float(high[0]), float(low[0]))
        x, slope = _scalar_secant(height, ends, heights, 1e-14 * (1 + abs(float(target[0]))))
        return np.array([x]), np.array([slope])
    return _secant(height, left, right, high, low, 1e-12 * (1.0 + np.abs(target)))


def _scalar_secant(
    height: Callable[[FloatArray], FloatArray], ends: tuple[float, float], heights: tuple[float, float], close: float
) -> tuple[float, float]:
    """The same steps for one question, without the cost of arrays."""
    (left, right), (x0, x1), (f0, f1) = ends, ends, heights
    slope = (f1 - f0) / (x1 - x0) if x1 != x0 else -1.0
    for _ in range(ROUNDS):
        x = x1 - f1 * (x1 - x0) / (f1 - f0) if f1 != f0 else math.nan
        if not left < x < right:
            x = 0.5 * (left + right)
        value = float(height(np.array([x]))[0])
        left, right = (x, right) if value > 0 else (left, x)
        if x != x1 and (moved := (value - f1) / (x - x1)) < 0 and math.isfinite(moved):
            slope = moved
        x0, f0, x1, f1 = x1, f1, x, value
        if abs(value) <= close or right - left <= 4 * UNIT * abs(x):
            break
    return x1, slope


def _secant(
    height: Callable[[FloatArray], FloatArray],
    left: FloatArray,
    right: FloatArray,
    high: FloatArray,
    low: FloatArray,
    close: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Secant steps kept inside a shrinking bracket, vectorised; returns roots and last slopes."""
    x0, f0, x1, f1 = left, high, right, low
    with np.errstate(all="ignore"):
        slope = (f1 - f0) / (x1 - x0)
        for _ in range(ROUNDS):
            x = x1 - f1 * (x1 - x0) / (f1 - f0)
            x = np.where((x > left) & (x < right), x, 0.5 * (left + right))
            x = np.where(np.abs(f1) <= close, x1, x)  # what has converged stays
            value = height(x)
            above = value > 0
            left, right = np.where(above, x, left), np.where(above, right, x)
            moved = np.where(x != x1, (value - f1) / (x - x1), slope)
            slope = np.where(np.isfinite(moved) & (moved < 0), moved, slope)
            x0, f0, x1, f1 = x1, f1, x, value
            if bool(np.all((np.abs(value) <= close) | (right - left <= 4 * UNIT * np.abs(x)))):
                break
    return x1, slope


def enclosures(view: View, upper_target: FloatArray, lower_target: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Epsilons (lower, upper) with certified log D(upper) <= upper_target and log D(lower) >= lower_target.

    For a complement view: log C(upper) >= upper_target and log C(lower) <= lower_target. -inf and +inf where a
    certificate is not to be had.
    """
    falling = view.theta > 0
    x, slope = roots(view, 0.5 * (upper_target + lower_target))
    at = view.logs(x)
    with np.errstate(all="ignore"):
        over = np.where(falling, at.high - upper_target, upper_target - at.low)
        under = np.where(falling, lower_target - at.low, at.high - lower_target)
        steep = np.maximum(-slope, 1e-300)
        step_up, step_down = (np.maximum(miss, 0.0) / steep * 1.1 + 4 * UNIT * np.abs(x) for miss in (over, under))
    step_up, step_down = (np.where(np.isfinite(step), step, view.spread) for step in (step_up, step_down))
    upper, lower = x + step_up, x - step_down
    for _ in range(ROUNDS):
        at = view.logs(upper)
        bad = ~(at.high <= upper_target) if falling else ~(at.low >= upper_target)
        if not bad.any():
            break
        step_up = np.where(bad, 2 * step_up + 1e-300, step_up)
        upper = np.where(bad, x + step_up, upper)
    else:
        upper = np.where(bad, np.inf, upper)
    for _ in range(ROUNDS):
        at = view.logs(lower)
        bad = ~(at.low >= lower_target) if falling else ~(at.high <= lower_target)
        if not bad.any():
            break
        step_down = np.where(bad, 2 * step_down + 1e-300, step_down)
        lower = np.where(bad, x - step_down, lower)
    else:
        lower = np.where(bad, -np.inf, lower)
    return lower, upper
