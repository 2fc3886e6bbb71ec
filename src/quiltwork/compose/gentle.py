"""Composition on a grid at one gentle tilt, for few releases that rarely tell much.

A sampled Gaussian hardly ever touches the record: its loss sits near zero, with a thin tail of rare large values. A
tilt steep enough for a small delta jumps over to that tail, where nothing that is asked for happens. For deltas far
above the rounding of a transform no tilt is needed at all: one transform at theta = 1 sees every epsilon at once.

The bounds are those of `grid`; only tilt, step and cut differ.

Reference: theory/engine.md sections 3, 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.convolve import LatticeView, convolve
from quiltwork.compose.engine import View
from quiltwork.compose.grid import GridEngine, GridView, Sides, support
from quiltwork.compose.questions import Case, Declined, delta
from quiltwork.losses.pair import UNIT, Pair
from quiltwork.losses.transform import TooCostly

TILT = 1.0
CUT = 1e-20  # tail mass of all releases that goes to infinity: far below every delta that this method can see
CELLS, FIRST, MOST = 1 << 17, 1 << 14, 1 << 18  # of the window; of one release, at first and at most
MOST_RELEASES = 2000
PLACES = 1e-4 * np.sinh(np.linspace(-12.9, 12.9, 8001))  # epsilons to -20 and 20, dense where f bends


class GentleGridEngine(GridEngine):
    """One view for every epsilon; for the complement, and beyond its sight, the tilted grid goes on."""

    def __init__(self, parts: Sequence[tuple[Pair, int]]) -> None:
        if sum(count for _, count in parts) > MOST_RELEASES:
            raise TooCostly
        self.parts = parts
        spans = [support(pair, CUT / count) for pair, count in parts]
        self.coarse = max(high - low for low, high in spans) / FIRST or 1.0
        # the whole reach, unlike the tilted grid: there thin tails may be longer than any grid of its step
        self.steering = self._sides(self.coarse, CUT)
        self._seen: View | None = self._one_view()

    def everywhere(self, complement: bool) -> View | None:
        return None if complement else self._seen

    def _one_view(self) -> View | None:
        """The step follows from the window that the composition really needs."""
        rough = convolve(self.steering.upper, TILT)
        if rough is None:
            return None
        window = float(rough.losses[-1] - rough.losses[0])
        return _looked(self._sides(max(window / CELLS, self.coarse * FIRST / MOST), CUT))


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


def _looked(sides: Sides) -> View | None:
    upper, lower = convolve(sides.upper, TILT), convolve(sides.lower, TILT)
    return None if upper is None or lower is None else GridView(LatticeView(upper, lower), sides)
