"""What every composition method offers, so that the questions need not know which one answers.

The finite part of a composed loss S (total reveal mass apart) is asked for one of two logs, chosen by the sign of the
tilt theta, so that small things are never computed as one minus a large thing:

    theta > 0        D(eps) = E_P[(1 - e^(eps-S))+]     the hockey stick, small for large eps
    -1 < theta < 0   C(eps) = E_P[min(1, e^(eps-S))]    its complement 1 - D - reveal, small for small eps

Reference: theory/engine.md sections 2 and 10.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import attrs
import numpy as np
from scipy.special import erfcx

from quiltwork.checks import FloatArray

Moments = Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]
ROOT2 = math.sqrt(2.0)
STEEPEST = 1e7  # no tilt beyond
COARSE = 1.6 ** np.arange(8)
FINE = 1.6 ** np.linspace(0.0, 1.0, 6)


@attrs.frozen(eq=False)
class Logs:
    """log of D or C: an estimate and certified ends."""

    middle: FloatArray
    low: FloatArray
    high: FloatArray


class View(Protocol):
    """A composition seen at one tilt: sharp near `centre`, valid everywhere."""

    @property
    def theta(self) -> float: ...
    @property
    def centre(self) -> float: ...
    @property
    def spread(self) -> float: ...

    def middle(self, epsilon: FloatArray) -> FloatArray:
        """The estimate alone, for steering."""
        ...

    def logs(self, epsilon: FloatArray) -> Logs:
        """log D (theta > 0) or log C (theta < 0)."""
        ...


class Engine(Protocol):
    """One composition method applied to one direction of one composition."""

    @property
    def method(self) -> str: ...

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """log M, mean and variance of the tilted loss: they steer."""
        ...

    def everywhere(self, complement: bool) -> View | None:
        """A view that is sharp for every epsilon, when the method has one (closed forms)."""
        ...

    def view(self, theta: float, log_width: float) -> View | None:
        """Look at tilt theta, with log D known to about log_width near the centre; None when this method declines."""
        ...


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
        grid = low * COARSE
        found = value(grid)
        below = np.nonzero(~(found > target))[0]
        if below.size or low >= STEEPEST:
            break
        low = float(grid[-1])
    if not below.size:
        return float(grid[-1])
    if below[0] == 0:
        return low
    fine = grid[below[0] - 1] * FINE
    found = value(fine)
    i = int(np.clip(np.nonzero(~(found > target))[0][:1].sum(), 1, FINE.size - 1))
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
