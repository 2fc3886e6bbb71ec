"""epsilon and delta of one direction of a composition, for scalars and vectors, from as few views as possible.

A tilt is chosen by the saddle-point estimate of log D or log C at its own mean. At that tilt the certified monotone
function is inverted: the epsilon at which log D falls, or log C rises, to a target.

Reference: theory/engine.md sections 2 and 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import attrs
import numpy as np
from scipy.special import erfcx

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.engine import Declined, Engine, Logs, Root, View
from quiltwork.compose.releases import Known
from quiltwork.curves.curve import Ends
from quiltwork.numbers.rounding import UNIT

Moments = Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]
ROOT2 = math.sqrt(2.0)
STEEPEST_TILT = 1e7
COARSE_TILTS = 1.6 ** np.arange(8)
FINE_TILTS = 1.6 ** np.linspace(0.0, 1.0, 6)
SPREADS = np.linspace(-5.0, 5.0, 21)  # from the centre of a view, where roots are looked for first
MAX_ROUNDS = 60  # of a search for a root
NOISE = 1e-8  # of a log: differences below it may be rounding, and tell neither a slope nor a better root
MAX_VIEWS = 60  # for one array of questions
LEAST = 1e-300  # below this a lower end is reported as zero
AHEAD = 3.5  # spreads between the first of many questions and the centre of the view that answers them


# ---- tilts


@attrs.frozen(eq=False)
class Landmarks:
    """Where the loss lives: its mean under P (theta = 0), under Q (theta = -1), and its spread under P."""

    mean: float
    mirror: float
    spread: float

    @property
    def split(self) -> bool:
        """Whether the two worlds are far enough apart for C to be worth its own tilt."""
        return self.spread > 2.0


def landmarks(engine: Engine) -> Landmarks:
    """Mean and spread at both ends of the strip."""
    _, mean, variance = engine.moments(np.array([0.0, -1.0]))
    least = 1e-6 * abs(float(mean[0])) + 1e-150  # a loss that never varies still needs a scale
    return Landmarks(float(mean[0]), float(mean[1]), max(math.sqrt(max(float(variance[0]), 0.0)), least))


def _saddle(moments: Moments, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Saddle-point estimate of log D (or log C) at the tilt's own mean, and that mean.

    Two Mills ratios: the normal integral of e^(-theta y)(1 - e^-y)+, or of e^(-theta y) min(1, e^-y).
    """
    log_mgf, mean, variance = moments(theta)
    spread = np.sqrt(variance)
    first, second = erfcx(np.abs(theta) * spread / ROOT2), erfcx(np.abs(theta + 1) * spread / ROOT2)
    kernel = 0.5 * np.where(theta > 0, first - second, first + second)
    return log_mgf - theta * mean + np.log(np.maximum(kernel, 1e-300)), mean


def search(value: Callable[[FloatArray], FloatArray], target: float, start: float) -> float:
    """theta with value(theta) = target for a falling function; a few percent suffice."""
    low = start
    while True:
        grid = low * COARSE_TILTS
        found = value(grid)
        below = np.nonzero(~(found > target))[0]
        if below.size or low >= STEEPEST_TILT:
            break
        low = float(grid[-1])
    if not below.size:
        return float(grid[-1])
    if below[0] == 0:
        return low
    fine = grid[below[0] - 1] * FINE_TILTS
    found = value(fine)
    i = int(np.clip(np.nonzero(~(found > target))[0][:1].sum(), 1, FINE_TILTS.size - 1))
    a, b = math.log(fine[i - 1]), math.log(fine[i])
    fa, fb = float(found[i - 1]) - target, float(found[i]) - target
    share = 0.5 if not (math.isfinite(fa) and math.isfinite(fb)) or fa == fb else fa / (fa - fb)
    return math.exp(a + (b - a) * min(max(share, 0.0), 1.0))


def tilt_for_delta(engine: Engine, place: Landmarks, log_delta: float) -> float:
    """A positive tilt whose saddle gives about this log D."""
    least = 0.8 / place.spread
    return search(lambda theta: _saddle(engine.moments, theta)[0], log_delta, least)


def tilt_for_epsilon(engine: Engine, place: Landmarks, epsilon: float) -> float:
    """A positive tilt whose mean is about epsilon."""
    least = 0.8 / place.spread
    return search(lambda theta: -engine.moments(theta)[1], -epsilon, least)


def inner_tilt(engine: Engine, place: Landmarks, epsilon: float) -> float:
    """A tilt in (-1, 0) whose mean is about epsilon, kept off the poles at both ends."""
    margin = min(0.4, 0.8 / place.spread)
    grid = np.linspace(-1.0 + margin, -margin, 9)
    _, mean, _ = engine.moments(grid)
    return float(np.interp(epsilon, mean, grid))


def inner_tilt_for_complement(engine: Engine, place: Landmarks, log_complement: float) -> float:
    """A tilt in (-1, 0) whose saddle gives about this log C."""
    margin = min(0.4, 0.8 / place.spread)
    grid = np.linspace(-1.0 + margin, -margin, 9)
    logs, _ = _saddle(engine.moments, grid)
    order = np.maximum.accumulate(logs)
    return float(np.interp(log_complement, order, grid))


# ---- inversion


def roots(view: View, target: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Estimates of the epsilons where the middle log equals each target, and the slopes there (D falls, C rises)."""
    sign = 1.0 if view.theta > 0 else -1.0

    def height(x: FloatArray) -> FloatArray:
        return sign * (view.middle(x) - target)

    scan = view.centre + view.spread * SPREADS
    values = sign * view.middle(scan)
    goal = sign * target
    values, middle = np.where(np.isnan(values), np.inf, values), scan.size // 2
    # it falls; far from the centre it is noise, which must not hide what the centre knows
    left_side, right_side = np.maximum.accumulate(values[middle::-1])[::-1], np.minimum.accumulate(values[middle:])
    fall = np.concatenate((left_side, right_side[1:]))
    i = np.clip(np.searchsorted(-fall, -goal), 1, scan.size - 1)
    left, right = scan[i - 1].copy(), scan[i].copy()
    high, low = fall[i - 1] - goal, fall[i] - goal
    for _ in range(MAX_ROUNDS):  # targets beyond the scan: widen geometrically
        out = low > 0
        if not out.any():
            break
        left, high = np.where(out, right, left), np.where(out, low, high)
        right = np.where(out, right + 2 * np.abs(right - view.centre) + view.spread, right)
        low = np.where(out, height(right), low)
    for _ in range(MAX_ROUNDS):
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
    for _ in range(MAX_ROUNDS):
        x = x1 - f1 * (x1 - x0) / (f1 - f0) if f1 != f0 else math.nan
        if not left < x < right:
            x = 0.5 * (left + right)
        value = float(height(np.array([x]))[0])
        left, right = (x, right) if value > 0 else (left, x)
        told = abs(value - f1) > NOISE
        if told and x != x1 and (moved := (value - f1) / (x - x1)) < 0 and math.isfinite(moved):
            slope = moved
        stuck = 0.7 * abs(f1) < abs(value) < NOISE and abs(f1) < NOISE
        x0, f0, x1, f1 = x1, f1, x, value
        if abs(value) <= close or stuck or right - left <= 4 * UNIT * abs(x):
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
    stuck = np.zeros(left.size, dtype=bool)
    with np.errstate(all="ignore"):
        slope = (f1 - f0) / (x1 - x0)
        for _ in range(MAX_ROUNDS):
            x = x1 - f1 * (x1 - x0) / (f1 - f0)
            x = np.where((x > left) & (x < right), x, 0.5 * (left + right))
            x = np.where((np.abs(f1) <= close) | stuck, x1, x)  # what has converged stays
            value = height(x)
            above = value > 0
            left, right = np.where(above, x, left), np.where(above, right, x)
            moved = np.where(np.abs(value - f1) > NOISE, (value - f1) / (x - x1), slope)
            slope = np.where(np.isfinite(moved) & (moved < 0), moved, slope)
            stuck |= (np.maximum(np.abs(f1), np.abs(value)) < NOISE) & (np.abs(value) > 0.7 * np.abs(f1))
            x0, f0, x1, f1 = x1, f1, x, value
            if bool(np.all((np.abs(value) <= close) | stuck | (right - left <= 4 * UNIT * np.abs(x)))):
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
    ends = np.concatenate((x + step_up, x - step_down))
    steps, size = np.concatenate((step_up, -step_down)), x.size
    for _ in range(MAX_ROUNDS):
        at = view.logs(ends)
        above, below = (at.high, at.low) if falling else (-at.low, -at.high)
        sign = 1.0 if falling else -1.0
        bad = np.concatenate((~(above[:size] <= sign * upper_target), ~(below[size:] >= sign * lower_target)))
        if not bad.any():
            break
        steps = np.where(bad, 2 * steps + np.copysign(1e-300, steps), steps)
        ends = np.where(bad, np.tile(x, 2) + steps, ends)
    else:
        ends = np.where(bad, np.copysign(np.inf, steps), ends)
    return ends[size:], ends[:size]


def ends_beside(view: View, root: Root, strict: float, loose: float) -> tuple[float, float]:
    """The same for one question whose root is known already; log D is to fall from `loose` to `strict` between them."""
    steep, apart = max(-root.slope, 1e-300), loose - strict
    up, down = (1.1 * max(apart + miss, 0.0) / steep + 4 * UNIT * abs(root.at) for miss in (root.above, root.below))
    up, down = (step if math.isfinite(step) else view.spread for step in (up, down))
    for _ in range(MAX_ROUNDS):
        at = view.logs(np.array((root.at + up, root.at - down)))
        above, below = bool(at.high[0] <= strict), bool(at.low[1] >= loose)
        if above and below:
            return root.at - down, root.at + up
        up, down = up if above else 2 * up + 1e-300, down if below else 2 * down + 1e-300
    return (root.at - down if below else -math.inf), (root.at + up if above else math.inf)


# ---- answers


class SteeredEngine(Engine):
    """An engine whose views answer for epsilon and delta."""

    @cached_property
    def known(self) -> Known:
        return Known.of(self.pairs)

    def everywhere(self, complement: bool) -> View | None:
        return None

    def view(self, theta: float, log_width: float) -> View | None:
        return self.everywhere(theta < 0)

    def delta(self, epsilon: FloatArray, rtol: float) -> Ends:
        known = self.known
        beyond = epsilon >= known.top
        if beyond.any():  # past the largest loss only the reveal mass is left
            lower, upper = np.full(epsilon.size, known.reveal[0]), np.full(epsilon.size, known.reveal[1])
            if not beyond.all():
                within = self.delta(epsilon[~beyond], rtol)
                lower[~beyond], upper[~beyond] = within.lower, within.upper
            return Ends(lower, upper, self.method)
        lower, upper = np.zeros(epsilon.size), np.ones(epsilon.size)
        view = self.everywhere(False)
        if view is not None:
            return Ends(*self._read_delta(view, epsilon), self.method)
        place = landmarks(self)
        complement = (epsilon < place.mean - place.spread) & place.split
        todo = np.ones(epsilon.size, dtype=bool)
        order = np.argsort(epsilon, kind="stable")
        for round_ in range(MAX_VIEWS):
            waiting = order[todo[order]]
            if not waiting.size:
                break
            # from the left, each view serving what lies ahead; if too many wait, the rest is halved again and again
            first = waiting[0] if round_ < MAX_VIEWS // 2 else waiting[waiting.size // 2]
            view = self._delta_view(place, float(epsilon[first]), bool(complement[first]), rtol, waiting.size > 1)
            served = waiting[complement[waiting] == complement[first]]
            near = np.abs(epsilon[served] - view.centre) <= 6 * view.spread
            served = served[near | (served == first)]
            low, high = self._read_delta(view, epsilon[served])
            good = high - low <= rtol * high
            at = int(np.flatnonzero(served == first)[0])
            if not good[at] and waiting.size > 1:
                view = self._delta_view(place, float(epsilon[first]), bool(complement[first]), rtol, False)
                one_low, one_high = self._read_delta(view, epsilon[served[at : at + 1]])
                low[at], high[at] = max(low[at], one_low[0]), min(high[at], one_high[0])
            good[at] = True
            lower[served], upper[served] = np.maximum(lower[served], low), np.minimum(upper[served], high)
            todo[served[good]] = False
        # D falls: what is known at a neighbour bounds what had to be left
        lower[order] = np.maximum.accumulate(lower[order][::-1])[::-1]
        upper[order] = np.minimum.accumulate(upper[order])
        return Ends(lower, upper, self.method)

    def _delta_view(self, place: Landmarks, epsilon: float, complement: bool, rtol: float, ahead: bool) -> View:
        """A view for the smallest waiting epsilon, aimed ahead when others wait behind it."""
        if complement:
            return self._look(inner_tilt(self, place, epsilon), rtol)
        theta = tilt_for_epsilon(self, place, epsilon)
        if ahead:
            _, _, variance = self.moments(np.array([theta]))
            theta = tilt_for_epsilon(self, place, epsilon + AHEAD * math.sqrt(float(variance[0])))
        return self._look(theta, rtol)

    def _look(self, theta: float, log_width: float) -> View:
        view = self.view(theta, log_width)
        if view is None:
            raise Declined
        return view

    def _read_delta(self, view: View, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        low, high = left_log_space(view.logs(epsilon))
        reveal = self.known.reveal
        if view.theta < 0:
            return _clean(np.maximum((1.0 - high) * (1 - 2 * UNIT), reveal[0]), 1.0 - low, epsilon)
        return _clean(low + reveal[0], high + reveal[1], epsilon)

    def epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        known = self.known
        lower, upper = np.zeros(delta.size), np.full(delta.size, known.top)
        hopeless = delta < known.jump[0]
        lower[hopeless] = upper[hopeless] = np.inf
        # at the reveal mass itself only the largest loss will do; a hair above it bounds epsilon from below
        asked, edge = delta, (delta <= known.reveal[1] * (1 + 1e-12)) & ~hopeless
        delta = np.where(edge, known.reveal[1] * (1 + 1e-9), delta)
        room = delta - known.reveal[1] * (1 + 2 * UNIT)
        on_jump = (asked == known.jump[0]) & (asked == known.jump[1])
        lower[on_jump] = known.least_top
        todo = (room > 0) & ~hopeless & ~(on_jump & (known.least_top > 0))
        place = landmarks(self)
        views = 0
        while todo.any():
            waiting = np.nonzero(todo)[0]
            first = int(waiting[np.argmax(delta[waiting])])
            complement = bool(place.split and delta[first] > 0.5)
            sharp, one = self.everywhere(complement), (float(delta[first]), float(room[first]), complement, rtol)
            view = sharp or self._epsilon_view(place, *one, waiting.size > 1)
            views += 1
            chosen = waiting[(delta[waiting] > 0.5) == complement] if place.split else waiting
            low, high = self._invert(view, delta[chosen], complement)
            with np.errstate(invalid="ignore"):
                good = (high - low <= rtol * high + 1e-12) | (sharp is not None)
            at = int(np.nonzero(chosen == first)[0][0])
            if not good[at] and waiting.size > 1:
                view = self._epsilon_view(place, *one, False)
                one_low, one_high = self._invert(view, delta[[first]], complement)
                low[at], high[at] = max(low[at], one_low[0]), min(high[at], one_high[0])
            good[at] = True
            if views >= MAX_VIEWS:
                good[:] = True
            done = chosen[good]
            lower[done], upper[done] = np.maximum(lower[done], low[good]), np.minimum(upper[done], high[good])
            todo[done] = False
        upper = np.where(edge, np.where(asked < known.jump[1], np.inf, known.top), upper)
        return Ends(np.minimum(np.maximum(lower, 0.0), upper), upper, self.method)

    def _epsilon_view(
        self, place: Landmarks, delta: float, room: float, complement: bool, rtol: float, ahead: bool
    ) -> View:
        if complement:
            theta = inner_tilt_for_complement(self, place, math.log1p(-delta))
        else:
            theta = tilt_for_delta(self, place, math.log(room))
            if ahead:
                _, mean, variance = self.moments(np.array([theta]))
                theta = tilt_for_epsilon(self, place, float(mean[0]) + AHEAD * math.sqrt(float(variance[0])))
        _, mean, variance = self.moments(np.array([theta]))
        size = max(abs(float(mean[0])), 0.05 * math.sqrt(float(variance[0])))
        return self._look(theta, min(rtol * size * abs(theta), 0.3))

    def _invert(self, view: View, delta: FloatArray, complement: bool) -> tuple[FloatArray, FloatArray]:
        if complement:
            with np.errstate(divide="ignore"):
                rest = np.log1p(-delta)
                # 1 - delta, whether delta is read as typed or as its double
                hair = 4 * UNIT * (1 + np.abs(rest)) + 2 * UNIT * delta / (1 - delta)
            low, high = enclosures(view, rest + hair, rest - hair)
        else:
            strict, loose = log_targets(delta, self.known.reveal)
            low, high = enclosures(view, strict, loose)
            # a delta that epsilon = 0 already meets may have no root at all
            high = np.where(view.logs(np.zeros(1)).high[0] <= strict, np.minimum(high, 0.0), high)
        high = np.minimum(np.maximum(high + 2 * UNIT * np.abs(high), 0.0), self.known.top)
        low = np.clip(low - 2 * UNIT * np.abs(low), 0.0, high)
        return low, high


def log_targets(delta: FloatArray, reveal: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
    """What log D must not exceed at an upper end of epsilon, and must reach at a lower one, beside the reveal mass."""
    with np.errstate(divide="ignore", invalid="ignore"):
        strict = np.log(np.maximum(delta - reveal[1] * (1 + 2 * UNIT), 1e-320))
        loose = np.log(np.maximum(delta - reveal[0] * (1 - 2 * UNIT), 1e-320))
    return strict - 4 * UNIT * (1 + np.abs(strict)), loose + 4 * UNIT * (1 + np.abs(loose))


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
