"""Composition on a grid, for whatever the sharper methods decline; also an independent check of them.

The step follows from the asked width without a trial convolution: by the envelope theorem log D differs between the
two sides by K_upper(theta) - K_lower(theta), and both are second order in the step.

Reference: theory/engine.md sections 3, 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.convolve import LONGEST, LatticePart, LatticeView, Measure, convolve
from quiltwork.compose.discretise import discretise
from quiltwork.compose.engine import Logs, View
from quiltwork.losses.pair import UNIT, Pair
from quiltwork.losses.transform import TooCostly

COARSE = 256
MOST_CELLS = 1 << 21
ROUNDS = 5


@attrs.frozen(eq=False)
class Sides:
    """A measure above and one below, and a bound on the mass that the upper one sends to infinity."""

    upper: Measure
    lower: Measure
    revealed: float


@attrs.frozen(eq=False)
class GridView:
    """A lattice view whose upper end also carries the cut right tails."""

    inner: LatticeView
    revealed: float

    @property
    def theta(self) -> float:
        return self.inner.theta

    @property
    def centre(self) -> float:
        return self.inner.centre

    @property
    def spread(self) -> float:
        return self.inner.spread

    def logs(self, epsilon: FloatArray) -> Logs:
        logs = self.inner.logs(epsilon)
        if self.revealed == 0 or self.theta < 0:
            return logs
        return Logs(logs.middle, logs.low, np.logaddexp(logs.high, math.log(self.revealed) + 1e-12))


class GridEngine:
    """Chord above, lowered knots below, one tilted FFT a side."""

    method = "grid"

    def __init__(self, parts: Sequence[tuple[Pair, int]]) -> None:
        self.parts = parts
        spans = [_support(pair, 1e-4 / math.sqrt(count)) for pair, count in parts]
        self.coarse = max(high - low for low, high in spans) / COARSE or 1.0
        self.steering = self._sides(self.coarse, 1e-12)

    def _sides(self, step: float, tail: float) -> Sides:
        upper: list[LatticePart] = []
        lower: list[LatticePart] = []
        log_hidden = 0.0
        for pair, count in self.parts:
            low, high = _support(pair, tail / count)
            if (high - low) / step > MOST_CELLS:
                raise TooCostly
            found = discretise(pair, step, low, high)
            for masses, side in ((found.upper, upper), (found.lower, lower)):
                side.append(_part(found.origin, found.first, masses, count))
            log_hidden += count * math.log1p(-min(found.revealed, 1.0 - 2**-53))
        return Sides(Measure(step, tuple(upper)), Measure(step, tuple(lower)), -math.expm1(log_hidden) * (1 + 1e-12))

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.steering.upper.moments(theta)

    def everywhere(self, complement: bool) -> View | None:
        return None

    def view(self, theta: float, log_width: float) -> View | None:
        try:
            return self._view(theta, log_width)
        except (TooCostly, OverflowError):
            return None

    def _view(self, theta: float, log_width: float) -> View | None:
        step, sides = self.coarse, self.steering
        for _ in range(ROUNDS):
            at = np.array([theta])
            top, mean, variance = (float(v[0]) for v in sides.upper.moments(at))
            width = top - float(sides.lower.moments(at)[0][0])
            size = top - theta * mean - math.log1p((1 + abs(theta)) * math.sqrt(variance))
            tail = math.exp(min(max(size + math.log(1e-3 * log_width), -690.0), 0.0))
            if 0 <= width <= 0.8 * log_width and sides is not self.steering:
                break
            shrink = math.sqrt(0.6 * log_width / max(width, 1e-12))
            step *= min(max(shrink, 0.05), 0.8) if not 0 <= width <= 0.8 * log_width else 1.0
            if 30 * math.sqrt(variance) / step > LONGEST:
                return None
            sides = self._sides(step, tail)
        upper, lower = convolve(sides.upper, theta), convolve(sides.lower, theta)
        if upper is None or lower is None:
            return None
        ordered = LatticeView(upper, lower) if theta > 0 else LatticeView(lower, upper)
        return GridView(ordered, sides.revealed)


def _part(origin: float, first: int, masses: FloatArray, count: int) -> LatticePart:
    live = np.nonzero(masses > 0)[0]
    if not live.size:
        live, masses = np.zeros(1, dtype=np.int64), np.full(1, 1e-300)
    size = abs(origin) + 1e-300
    return LatticePart(origin, (first + live).astype(np.int64), np.log(masses[live]), count, 16 * UNIT, 8 * UNIT * size)


def _support(pair: Pair, tail: float) -> tuple[float, float]:
    """[low, high] with P(L < low) <= tail and hockey stick(high) <= tail, by bisection on the exact tails."""
    return (
        -_reach(lambda x: float(pair.below(np.array([-x]))[0][0]), -pair.low, tail),
        _reach(lambda x: float(pair.stick(np.array([x]))[0]), pair.high, tail),
    )


def _reach(tail_at, end: float, tail: float) -> float:  # type: ignore[no-untyped-def]
    """The least x (to a few percent) beyond which the tail is small enough, at most the end of the support."""
    right = 1e-6
    while right < end and tail_at(right) > tail:
        right *= 2
    if right >= end:
        return end
    left = right / 2 if right > 1e-6 else -right
    for _ in range(5):
        middle = 0.5 * (left + right)
        left, right = (middle, right) if tail_at(middle) > tail else (left, middle)
    return right
