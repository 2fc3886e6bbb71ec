"""Composition on a grid at one gentle tilt, for releases that rarely tell much.

A sampled Gaussian hardly ever touches the record: its loss sits near zero, with a thin tail of rare large values. A
tilt steep enough for a small delta jumps over to that tail, where nothing that is asked for happens. For deltas far
above the rounding of a transform no steep tilt is needed: one transform sees every epsilon at once.

The bounds are those of `grid`; only tilt, step and cut differ. The tail sets the step: cut at less mass, the same
number of cells covers a shorter window more finely, so that there are two cuts, for usual deltas and for small ones.

Reference: theory/engine.md sections 3, 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.accountant.solve import Case, Declined, delta
from quiltwork.compose.engines.engine import View
from quiltwork.compose.engines.fft import LatticeView, Measure, convolve
from quiltwork.compose.engines.grid import MOST_CELLS, GridEngine, GridView, support
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.transforms.transform import TooCostly
from quiltwork.numbers.rounding import UNIT

TILTS = 2.0 ** np.arange(31)
FLAT = 1.5  # spreads by which a gentle tilt moves the law at most, and how much it widens it
USUAL, SMALL = 1e-13, 1e-20  # tail mass of all releases that goes to infinity, for usual deltas and for small ones
CELLS = 1 << 17  # of the window
FIRST = 1 << 14  # cells of one release, to find the window
WIDTH, ROUNDS = 2e-5, 4  # of log D at the gentle tilt; finer steps would only sum up rounding
MOST_RELEASES = 10_000_000
PLACES = 1e-4 * np.sinh(np.linspace(-12.9, 12.9, 8001))  # epsilons to -20 and 20, dense where f bends


class GentleGridEngine(GridEngine):
    """One view for every epsilon; for the complement, and beyond its sight, the tilted grid goes on."""

    def __init__(self, parts: Sequence[tuple[Pair, int]], cut: float = SMALL) -> None:
        if sum(count for _, count in parts) > MOST_RELEASES:
            raise TooCostly
        self.parts = parts
        spans = [support(pair, cut / count) for pair, count in parts]
        self.coarse = max(high - low for low, high in spans) / FIRST or 1.0
        # the whole reach, unlike the tilted grid: there thin tails may be longer than any grid of its step
        self.steering = self._sides(self.coarse, cut)
        self._seen: View | None = self._one_view(cut)

    def everywhere(self, complement: bool) -> View | None:
        return None if complement else self._seen

    def _one_view(self, cut: float) -> View | None:
        """The step follows from what it costs, as far as the window that the composition really needs allows."""
        rough = convolve(self.steering.upper, 1.0)
        if rough is None:
            return None
        finest = max(float(rough.losses[-1] - rough.losses[0]) / CELLS, self.coarse * FIRST / MOST_CELLS)
        tilt, step, sides = gentle_tilt(self.steering.upper), self.coarse, self.steering
        width = self._width(sides, tilt, WIDTH)[0]
        for _ in range(ROUNDS):
            if 0 <= width <= WIDTH or step <= finest:
                break
            step = max(finest, step * (math.sqrt(0.5 * WIDTH / width) if 0 < width < math.inf else 0.0))
            finer = self._sides(step, cut)
            before, width = width, self._width(finer, tilt, WIDTH)[0]
            if 0 < before <= width:
                break  # rounding wins from here on
            sides = finer
        upper, lower = convolve(sides.upper, tilt), convolve(sides.lower, tilt)
        return None if upper is None or lower is None else GridView(LatticeView(upper, lower), sides)


def beta(case: Case, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    """f(a) = sup_t 1 - D(t) - t a from D at many t.

    D is convex: from t_i on it falls at most as fast as between t_(i-1) and t_i, and never faster than 1 - t does. So
    1 - D(t) - t a is at most its value at t_i plus (-slope - a)+ (t - t_i) before t_(i+1), t (1 - a) before the first
    t, and what the reveal mass leaves beyond the last.
    """
    epsilon = PLACES[case.top > PLACES] if math.isfinite(case.top) else PLACES
    if not epsilon.size:
        raise Declined
    below, above = delta(case, epsilon, 1e-3)
    t = np.exp(epsilon)
    steps = np.diff(t)
    falls = np.append(1.0, np.minimum((above[:-1] - below[1:]) / steps * (1 + 8 * UNIT) + 8 * UNIT, 1.0))
    lower, upper = np.zeros(alpha.size), np.zeros(alpha.size)
    for index, one in enumerate(alpha.tolist()):
        room = 16 * UNIT * (1.0 + t * one)
        lower[index] = float((1.0 - above - t * one - room).max())
        at = 1.0 - below - t * one + room
        between = at[:-1] + np.maximum(falls[:-1] - one, 0.0) * steps * (1 + 8 * UNIT)
        beyond = 1.0 - case.reveal[0] - t[-1] * one + room[-1]
        upper[index] = max(float(between.max()), beyond, t[0] * (1.0 - one) * (1 + 8 * UNIT))
    lower, straight = np.maximum(lower, 0.0), np.nextafter(1.0 - alpha, 2.0)
    return np.minimum(lower, np.maximum(straight, 0.0)), np.clip(upper, lower, straight)


def gentle_tilt(law: Measure) -> float:
    """The steepest tilt that leaves the law where it is: the steeper, the less the rounding of a transform shows."""
    _, mean, variance = law.moments(np.append(0.0, TILTS))
    spread = np.sqrt(np.maximum(variance, 1e-300))
    most = FLAT * spread[0]
    gentle = (TILTS * spread[0] <= FLAT) & (spread[1:] <= most) & (np.abs(mean[1:] - mean[0]) <= most)
    return float(TILTS[max(int(np.argmin(np.append(gentle, False))), 1) - 1])
