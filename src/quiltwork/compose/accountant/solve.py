"""epsilon and delta of one direction of a composition, for scalars and vectors, from as few views as possible.

Inversion of certified monotone functions: the epsilon at which log D falls, or log C rises, to a target.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.engine import (
    Engine,
    Landmarks,
    Logs,
    View,
    inner_tilt,
    inner_tilt_for_complement,
    landmarks,
    tilt_for_delta,
    tilt_for_epsilon,
)
from quiltwork.numbers.rounding import UNIT

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


LEAST = 1e-300  # below this a lower end is reported as zero
VIEWS = 60
AHEAD = 3.5  # spreads between the first of many questions and the centre of the view that answers them


class Declined(Exception):
    """Internal: this method has no certified answer here; the router tries the next one."""


@attrs.frozen(eq=False)
class Case:
    """A method with the parts of the composition that it need not compute: reveal mass and largest possible loss."""

    engine: Engine
    reveal: tuple[float, float]
    top: float
    log_top_mass: float = -math.inf  # at least this much P mass (log) sits at the largest loss
    top_room: float = 0.0  # rounding of the largest loss

    @property
    def method(self) -> str:
        return self.engine.method


def _look(engine: Engine, theta: float, log_width: float) -> View:
    view = engine.view(theta, log_width)
    if view is None:
        raise Declined
    return view


# ---- delta


def delta(case: Case, epsilon: FloatArray, rtol: float) -> tuple[FloatArray, FloatArray]:
    """Certified ends of delta at each epsilon (any order, finite)."""
    beyond = epsilon >= case.top
    if beyond.any():  # past the largest loss only the reveal mass is left
        lower, upper = np.full(epsilon.size, case.reveal[0]), np.full(epsilon.size, case.reveal[1])
        if not beyond.all():
            lower[~beyond], upper[~beyond] = delta(case, epsilon[~beyond], rtol)
        return lower, upper
    lower, upper = np.zeros(epsilon.size), np.ones(epsilon.size)
    engine = case.engine
    view = engine.everywhere(False)
    if view is not None:
        return _read_delta(case, view, epsilon)
    place = landmarks(engine)
    complement = (epsilon < place.mean - place.spread) & place.split
    todo = np.ones(epsilon.size, dtype=bool)
    order = np.argsort(epsilon, kind="stable")
    for round_ in range(VIEWS):
        waiting = order[todo[order]]
        if not waiting.size:
            break
        # from the left, each view serving what lies ahead; if there are too many, the rest is halved again and again
        first = waiting[0] if round_ < VIEWS // 2 else waiting[waiting.size // 2]
        view = _delta_view(engine, place, float(epsilon[first]), bool(complement[first]), rtol, waiting.size > 1)
        served = waiting[complement[waiting] == complement[first]]
        near = np.abs(epsilon[served] - view.centre) <= 6 * view.spread
        served = served[near | (served == first)]
        low, high = _read_delta(case, view, epsilon[served])
        good = high - low <= rtol * high
        at = int(np.flatnonzero(served == first)[0])
        if not good[at] and waiting.size > 1:
            view = _delta_view(engine, place, float(epsilon[first]), bool(complement[first]), rtol, False)
            one_low, one_high = _read_delta(case, view, epsilon[served[at : at + 1]])
            low[at], high[at] = max(low[at], one_low[0]), min(high[at], one_high[0])
        good[at] = True
        lower[served], upper[served] = np.maximum(lower[served], low), np.minimum(upper[served], high)
        todo[served[good]] = False
    # D falls: what is known at a neighbour bounds what had to be left
    lower[order] = np.maximum.accumulate(lower[order][::-1])[::-1]
    upper[order] = np.minimum.accumulate(upper[order])
    return lower, upper


def _delta_view(engine: Engine, place: Landmarks, epsilon: float, complement: bool, rtol: float, ahead: bool) -> View:
    """A view for the smallest waiting epsilon, aimed ahead when others wait behind it."""
    if complement:
        return _look(engine, inner_tilt(engine, place, epsilon), rtol)
    theta = tilt_for_epsilon(engine, place, epsilon)
    if ahead:
        _, _, variance = engine.moments(np.array([theta]))
        theta = tilt_for_epsilon(engine, place, epsilon + AHEAD * math.sqrt(float(variance[0])))
    return _look(engine, theta, rtol)


def _read_delta(case: Case, view: View, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
    low, high = left_log_space(view.logs(epsilon))
    if view.theta < 0:
        return _clean(np.maximum((1.0 - high) * (1 - 2 * UNIT), case.reveal[0]), 1.0 - low, epsilon)
    return _clean(low + case.reveal[0], high + case.reveal[1], epsilon)


def left_log_space(logs: Logs) -> tuple[FloatArray, FloatArray]:
    """e^low and e^high, at most 1, outward: a logarithm of size x is itself off by x units of roundoff."""
    with np.errstate(invalid="ignore", over="ignore"):
        low = np.minimum(logs.low, 0.0) - np.where(np.isfinite(logs.low), (2 + 2 * np.abs(logs.low)) * UNIT, 0.0)
        high = np.minimum(logs.high, 0.0) + np.where(np.isfinite(logs.high), (2 + 2 * np.abs(logs.high)) * UNIT, 0.0)
    return np.exp(low), np.minimum(np.exp(high), 1.0)


def _clean(low: FloatArray, high: FloatArray, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Outward by a rounding, inside [max(0, 1 - e^eps), 1]."""
    if bool(np.any(low > high + 1e-9 * np.abs(high))):
        raise Declined  # a method that contradicts itself has nothing to say
    floor = -np.expm1(np.minimum(epsilon, 0.0)) * (1 - 4 * UNIT)
    low = np.maximum(low * (1 - 4 * UNIT), floor)
    high = np.clip(high * (1 + 4 * UNIT), low, 1.0)
    return np.where(low < LEAST, 0.0, np.minimum(low, 1.0)), np.where(high < LEAST, LEAST, high)


# ---- epsilon


def epsilon(case: Case, delta: FloatArray, rtol: float) -> tuple[FloatArray, FloatArray]:
    """Certified ends of the smallest epsilon >= 0 with D(epsilon) <= delta, for deltas in (0, 1)."""
    lower, upper = np.zeros(delta.size), np.full(delta.size, case.top)
    hopeless = delta < case.reveal[0]
    lower[hopeless] = upper[hopeless] = np.inf
    # at the reveal mass itself only the largest loss will do; a hair above it bounds epsilon from below
    asked, edge = delta, (delta <= case.reveal[1] * (1 + 1e-12)) & ~hopeless
    delta = np.where(edge, case.reveal[1] * (1 + 1e-9), delta)
    room = delta - case.reveal[1] * (1 + 2 * UNIT)
    todo = (room > 0) & ~hopeless
    engine = case.engine
    place = landmarks(engine)
    views = 0
    while todo.any():
        waiting = np.nonzero(todo)[0]
        first = int(waiting[np.argmax(delta[waiting])])
        complement = bool(place.split and delta[first] > 0.5)
        view = engine.everywhere(complement) or _epsilon_view(
            engine, place, float(delta[first]), float(room[first]), complement, rtol, waiting.size > 1
        )
        views += 1
        chosen = waiting[(delta[waiting] > 0.5) == complement] if place.split else waiting
        low, high = _invert(case, view, delta[chosen], complement)
        with np.errstate(invalid="ignore"):
            good = (high - low <= rtol * high + 1e-12) | (engine.everywhere(complement) is not None)
        at = int(np.nonzero(chosen == first)[0][0])
        if not good[at] and waiting.size > 1:
            view = _epsilon_view(engine, place, float(delta[first]), float(room[first]), complement, rtol, False)
            one_low, one_high = _invert(case, view, delta[[first]], complement)
            low[at], high[at] = max(low[at], one_low[0]), min(high[at], one_high[0])
        good[at] = True
        if views >= VIEWS:
            good[:] = True
        done = chosen[good]
        lower[done], upper[done] = np.maximum(lower[done], low[good]), np.minimum(upper[done], high[good])
        todo[done] = False
    upper = np.where(edge, np.where(asked < case.reveal[1], np.inf, case.top), upper)
    return np.minimum(np.maximum(lower, 0.0), upper), upper


def _epsilon_view(
    engine: Engine, place: Landmarks, delta: float, room: float, complement: bool, rtol: float, ahead: bool
) -> View:
    if complement:
        theta = inner_tilt_for_complement(engine, place, math.log1p(-delta))
    else:
        theta = tilt_for_delta(engine, place, math.log(room))
        if ahead:
            _, mean, variance = engine.moments(np.array([theta]))
            theta = tilt_for_epsilon(engine, place, float(mean[0]) + AHEAD * math.sqrt(float(variance[0])))
    _, mean, variance = engine.moments(np.array([theta]))
    size = max(abs(float(mean[0])), 0.05 * math.sqrt(float(variance[0])))
    return _look(engine, theta, min(rtol * size * abs(theta), 0.3))


def _invert(case: Case, view: View, delta: FloatArray, complement: bool) -> tuple[FloatArray, FloatArray]:
    if complement:
        with np.errstate(divide="ignore"):
            rest = np.log1p(-delta)
            # 1 - delta, whether delta is read as typed or as its double
            hair = 4 * UNIT * (1 + np.abs(rest)) + 2 * UNIT * delta / (1 - delta)
        low, high = enclosures(view, rest + hair, rest - hair)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            strict = np.log(np.maximum(delta - case.reveal[1] * (1 + 2 * UNIT), 1e-320))
            loose = np.log(np.maximum(delta - case.reveal[0] * (1 - 2 * UNIT), 1e-320))
        room = [4 * UNIT * (1 + np.abs(target)) for target in (strict, loose)]
        low, high = enclosures(view, strict - room[0], loose + room[1])
        # a delta that epsilon = 0 already meets may have no root at all
        high = np.where(view.logs(np.zeros(1)).high[0] <= strict - room[0], np.minimum(high, 0.0), high)
    high = np.minimum(np.maximum(high + 2 * UNIT * np.abs(high), 0.0), case.top)
    low = np.clip(low - 2 * UNIT * np.abs(low), 0.0, high)
    return low, high
