"""Composition on a grid, for whatever the sharper methods decline; also an independent check of them.

The step follows from the asked width without a trial convolution: by the envelope theorem log D differs between the
two sides by K_upper(theta) - K_lower(theta), and both are second order in the step.

Reference: theory/engine.md sections 3, 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.discretise import discretise
from quiltwork.compose.engines.engine import Declined, Engine, Logs, View
from quiltwork.compose.engines.fft import LONGEST, LatticePart, LatticeView, Measure, convolve
from quiltwork.compose.engines.views.solve import SteeredEngine
from quiltwork.compose.engines.views.tradeoff import ViewEngine
from quiltwork.compose.releases import Counted
from quiltwork.curves.curve import Ends
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.transforms.transform import TooCostly
from quiltwork.numbers.rounding import UNIT

COARSE = 1024
DOUBLINGS = 1e-6 * 2.0 ** np.arange(60)
MOST_CELLS = 1 << 19
ROUNDS = 8
USUAL, NARROW = 1e-3, 1e-6  # widths of one epsilon: asked first, and needed
MASS = 1e-9  # rounding of a whole measure, relative; a lost cell is more


@attrs.frozen(eq=False)
class Sides:
    """A measure above and one below, the mass that the upper one sends to infinity, and what their masses are off by.

    Lemma 1 orders D. Its complement C = mass - D also needs the masses: `missing` is what the lower side lacks,
    `excess` what the upper side has too much, against the finite mass of the composition.
    """

    upper: Measure
    lower: Measure
    revealed: float
    missing: float
    excess: float


@attrs.frozen(eq=False)
class GridView(View):
    """A lattice view whose upper end also carries the cut right tails."""

    inner: LatticeView
    sides: Sides

    @property
    def theta(self) -> float:
        return self.inner.theta

    @property
    def centre(self) -> float:
        return self.inner.centre

    @property
    def spread(self) -> float:
        return self.inner.spread

    def middle(self, epsilon: FloatArray) -> FloatArray:
        return self.inner.middle(epsilon)

    def logs(self, epsilon: FloatArray) -> Logs:
        logs, sides = self.inner.logs(epsilon), self.sides
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.theta > 0:
                return Logs(logs.middle, logs.low, np.logaddexp(logs.high, np.log(sides.revealed) + 1e-12))
            low = np.log(np.maximum(np.exp(np.minimum(logs.low, 0.0)) - sides.excess, 0.0))
            return Logs(logs.middle, low, np.logaddexp(logs.high, np.log(sides.missing)))


class GridEngine(ViewEngine):
    """Chord above, lowered knots below, one tilted FFT a side."""

    method = "grid"

    def __init__(self, pairs: Counted) -> None:
        self.pairs = pairs
        spans = [support(pair, 1e-4 / math.sqrt(count)) for pair, count in pairs]
        self.coarse = max(high - low for low, high in spans) / COARSE or 1.0
        self.steering = self._sides(self.coarse, 1e-12)

    def _sides(self, step: float, tail: float) -> Sides:
        upper: list[LatticePart] = []
        lower: list[LatticePart] = []
        logs, shown = np.zeros(3), 0.0  # logs of the finite mass: true, below, above; and what is revealed beside it
        for pair, count in self.pairs:
            low, high = support(pair, tail / count)
            if (high - low) / step > MOST_CELLS:
                raise TooCostly
            found = discretise(pair, step, low, high)
            for masses, side in ((found.upper, upper), (found.lower, lower)):
                side.append(lattice_part(found.origin, found.first, masses, count, pair.rounding))
            below, above = max(math.fsum(found.lower), 1e-300), max(math.fsum(found.upper), 1e-300)
            if above + found.revealed < (1.0 - pair.reveal) * (1 - MASS):
                raise TooCostly  # what dominates has at least the mass: this would not
            logs += count * np.log([max(1.0 - pair.reveal, 1e-300), below, above])
            shown += count * math.log1p(found.revealed / above)
        true, below, above = (math.exp(min(log, 700.0)) for log in logs.tolist())
        revealed = above * math.expm1(shown) * (1 + 1e-12)
        slack = 1e-15 * (4 + sum(count for _, count in self.pairs))  # rounding of the masses themselves
        return Sides(
            Measure(step, tuple(upper)),
            Measure(step, tuple(lower)),
            revealed=revealed,
            missing=max(true - below, 0.0) + slack,
            excess=max(above + revealed - true, 0.0) + slack,
        )

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.steering.upper.moments(theta)

    @staticmethod
    def _width(sides: Sides, theta: float, log_width: float) -> tuple[float, float, float]:
        """The predicted width of log D, the spread, and the tail mass that may be cut without widening it."""
        at = np.array([theta])
        top, mean, variance = (float(v[0]) for v in sides.upper.moments(at))
        width = top - float(sides.lower.moments(at)[0][0])
        size = top - theta * mean - math.log1p((1 + abs(theta)) * math.sqrt(variance))
        tail = math.exp(min(max(size + math.log(1e-3 * log_width), -690.0), 0.0))
        return (width if math.isfinite(width) else math.inf), math.sqrt(variance), tail

    def view(self, theta: float, log_width: float) -> View | None:
        try:
            return self._view(theta, log_width)
        except (TooCostly, OverflowError):
            return None

    def _view(self, theta: float, log_width: float) -> View | None:
        step, sides, best = self.coarse, self.steering, math.inf
        for _ in range(ROUNDS):
            width, spread, tail = self._width(sides, theta, log_width)
            little_cut = sides.revealed <= 100 * tail * len(self.pairs)
            if sides is not self.steering and little_cut and (0 <= width <= 0.8 * log_width or width >= best):
                break  # good enough, or rounding wins from here on
            if sides is not self.steering:
                best, kept = width, sides
            shrink = math.sqrt(0.6 * log_width / max(width, 1e-12)) if width > 0.8 * log_width or width < 0 else 1.0
            step *= min(max(shrink, 0.2), 1.0)
            if 30 * spread / step > LONGEST:
                break
            sides = self._sides(step, tail)
        if self._width(sides, theta, log_width)[0] > best:
            sides = kept
        upper, lower = convolve(sides.upper, theta), convolve(sides.lower, theta)
        if upper is None or lower is None:
            return None
        ordered = LatticeView(upper, lower) if theta > 0 else LatticeView(lower, upper)
        return GridView(ordered, sides)


class OneGridEngine(SteeredEngine):
    """One epsilon of noise with atoms, known to 1e-6 or declined: atoms on knots cost nothing, and cells are few."""

    method = "grid"

    def __init__(self, pairs: Counted) -> None:
        self.pairs = pairs

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        raise Declined

    def epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        if delta.size > 1:
            raise Declined
        grid = GridEngine(self.pairs)
        for width in USUAL, NARROW:  # the coarsest cells that will do
            found = grid.epsilon(delta, width)
            if bool(np.all(found.upper - found.lower <= NARROW * found.upper)):
                return found
        raise Declined

    def delta(self, epsilon: FloatArray, rtol: float) -> Ends:
        raise Declined

    def beta(self, alpha: FloatArray, mirror: Callable[[], Engine]) -> Ends:
        raise Declined


def lattice_part(origin: float, first: int, masses: FloatArray, count: int, rounding: float) -> LatticePart:
    live = np.nonzero(masses > 0)[0]
    if not live.size:
        live, masses = np.zeros(1, dtype=np.int64), np.full(1, 1e-300)
    error = 8 * UNIT * abs(origin) + rounding
    return LatticePart(origin, (first + live).astype(np.int64), np.log(masses[live]), count, 16 * UNIT, error)


def support(pair: Pair, tail: float) -> tuple[float, float]:
    """[low, high] with P(L < low) <= tail and hockey stick(high) <= tail, found on the exact tails."""
    below, stick = _doubled(pair)
    low = -_reach(lambda x: pair.below(-x)[0], below, -pair.low, tail)
    high = _reach(pair.stick, stick, pair.high, tail)
    return min(low, high), high  # nearly all mass may sit on one atom, which both ends may pass


@lru_cache(maxsize=32)
def _doubled(pair: Pair) -> tuple[FloatArray, FloatArray]:
    """Both tails at the same few places: one pair is asked for its support again and again."""
    with np.errstate(all="ignore"):
        return pair.below(-DOUBLINGS)[0], pair.stick(DOUBLINGS)


def _reach(tail_at: Callable[[FloatArray], FloatArray], doubled: FloatArray, end: float, tail: float) -> float:
    """The least x (to a few percent) beyond which the tail is small enough, at most the end of the support."""
    with np.errstate(all="ignore"):
        small = np.nonzero(doubled <= tail)[0]
        if not small.size or DOUBLINGS[small[0]] >= end:
            return end if math.isfinite(end) else float(DOUBLINGS[-1])
        right = float(DOUBLINGS[small[0]])
        fine = right * np.linspace(0.5 if small[0] else -1.0, 1.0, 33)[1:]
        return min(float(fine[np.nonzero(tail_at(fine) <= tail)[0][0]]), end)
