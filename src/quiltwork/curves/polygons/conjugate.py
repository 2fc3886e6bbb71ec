"""From profile to trade-off function: the convex conjugate of a piecewise-linear profile.

Each knot (epsilon_j, delta_j) of D is a supporting line of f,  1 - delta_j - e^epsilon_j alpha,  and when the guarantee
is symmetric also its mirror image  e^-epsilon_j (1 - delta_j - alpha).  f is the largest of these lines and 0.

Reference: seed 002, eq. (2); theory/multi-constraints.md, section 2.

A certified inverse of a decreasing function that is known from both sides.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork.checks import FloatArray
from quiltwork.numbers.rounding import UNIT, difference, down, scaled, up

IndexArray = NDArray[np.intp]


@attrs.frozen(eq=False)
class Lines:
    """Lines  e^scale (level - alpha e^slope), steepest first, and the alphas where one hands over to the next."""

    scale: FloatArray  # log of the factor: 0 for a direct line, -epsilon for a mirrored one
    slope: FloatArray  # log of the slope inside the bracket: epsilon, or 0
    level: FloatArray  # 1 - delta, rounded
    rest: FloatArray  # what that rounding took away
    breaks: FloatArray  # alpha where line j meets line j + 1; the last line meets beta = 0
    breaks_error: FloatArray
    rooms: FloatArray  # 1 - alpha there, without cancellation
    rooms_error: FloatArray
    heights: FloatArray  # beta there
    heights_error: FloatArray
    powers: FloatArray  # 1 - beta there; relative error 32 units where beta > 1/2
    reveal: float  # 1 - f(0)

    @classmethod
    def of(cls, epsilons: FloatArray, deltas: FloatArray, symmetric: bool) -> Lines:
        """Lines of the profile with these knots (epsilons ascending)."""
        if not epsilons.size:
            none = np.zeros(0)
            return cls(none, none, none, none, none, none, none, none, none, none, none, 1.0)
        steep, low = epsilons[::-1], deltas[::-1]
        level, rest = difference(1.0, low)
        # Between two knots alpha = -dD/dt and power = delta + t alpha: positive terms, differences of epsilons only.
        gone = -np.expm1(steep[1:] - steep[:-1])
        lift = (low[1:] - low[:-1]) / gone
        # the distance of two stated numbers is known to a unit of each
        wide = UNIT * (np.abs(steep[1:]) + np.abs(steep[:-1])) / gone
        alphas, alphas_error = scaled(-steep[:-1], lift)
        alphas_error = alphas_error + (32.0 * UNIT + wide) * alphas
        powers = low[:-1] + lift * (1.0 + wide)
        heights = np.maximum(1.0 - powers, 0.0)
        heights_error = 32.0 * UNIT * (powers + heights) + 2.0 * wide * lift
        zero = np.zeros_like(steep)
        if not symmetric:
            end, end_error = scaled(-steep[-1:], level[-1:])
            breaks, errors = np.append(alphas, end), np.append(alphas_error, end_error + 8.0 * UNIT * end)
            return cls(
                zero,
                steep,
                level,
                rest,
                breaks,
                errors,
                1.0 - breaks,
                errors + UNIT,
                np.append(heights, 0.0),
                np.append(heights_error, 0.0),
                np.append(powers, 1.0),
                float(low[0]),
            )
        own_mirror = bool(steep[-1] == 0)  # at epsilon = 0 a line is its own mirror image
        turned = slice(-2, None, -1) if own_mirror else slice(None, None, -1)
        near = np.exp(-steep[-1:])
        middle = np.zeros(0) if own_mirror else level[-1:] * near / (1.0 + near)
        near_error = (32.0 + float(steep[-1])) * UNIT
        power_errors = 32.0 * UNIT * powers + 2.0 * wide * lift
        tiny = 2.0 * np.finfo(float).smallest_subnormal
        return cls(
            np.concatenate((zero, -steep[turned])),
            np.concatenate((steep, np.zeros_like(steep[turned]))),
            np.concatenate((level, level[turned])),
            np.concatenate((rest, rest[turned])),
            np.concatenate((alphas, middle, heights[::-1], level[:1])),
            np.concatenate((alphas_error, near_error * middle + tiny, heights_error[::-1], np.abs(rest[:1]))),
            np.concatenate((1.0 - alphas, 1.0 - middle, powers[::-1], low[:1])),
            np.concatenate((alphas_error + UNIT, near_error * middle + UNIT, power_errors[::-1], [0.0])),
            np.concatenate((heights, middle, alphas[::-1], [0.0])),
            np.concatenate((heights_error, near_error * middle + tiny, alphas_error[::-1], [0.0])),
            np.concatenate((powers, 1.0 - middle, 1.0 - alphas[::-1], [1.0])),
            float(low[0]),
        )

    def vertices(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(alpha, beta, 1 - beta) of the vertices of f, each moved down and left by its error.

        The old vertex then lies above and right of the new one, hence inside the new region: f never grows.
        """
        exact = self.breaks_error == 0
        alphas = np.clip(np.where(exact, self.breaks, down(self.breaks - self.breaks_error)), 0.0, 1.0)
        betas = np.maximum(down(self.heights - self.heights_error), 0.0)
        # two knots a hair apart leave a vertex uncertain by more than rounding: its power moves as its beta does
        wide = np.where(self.heights_error > 64.0 * UNIT, self.heights_error, 0.0)
        powers = np.minimum(up(self.powers * (1.0 + 32.0 * UNIT) + wide), 1.0)
        start = 0.0 if not self.level.size else float(self.level[0] if self.rest[0] >= 0 else down(self.level[0]))
        return (
            np.concatenate(([0.0], alphas, [1.0])),
            np.concatenate(([start], betas, [0.0])),
            np.concatenate(([self.reveal], powers, [1.0])),
        )

    def beta(self, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
        """f(alpha) from below and above.

        The active line lies between the last surely and the last possibly passed break.  When more than two lines
        are possible, one not looked at exceeds those looked at by at most (distance to breaks) * (steepest slope).
        """
        count = self.level.size
        room, more = difference(1.0, alpha)
        near, far = (self.breaks, self.breaks_error, alpha), (-self.rooms, self.rooms_error, -room)
        right = alpha >= 0.5  # there 1 - alpha is exact, and breaks are told apart by their distance to 1
        (least, most), (least_far, most_far) = _passed(*near), _passed(*far)
        least, most = np.where(right, least_far, least), np.where(right, most_far, most)
        lower, upper = np.zeros_like(alpha), np.zeros_like(alpha)
        for index in (least, np.minimum(least + 1, most), most):
            low, high = self._line(np.minimum(index, count - 1), alpha) if count else (lower, upper)
            on = index < count
            lower, upper = np.where(on, np.maximum(lower, low), lower), np.where(on, np.maximum(upper, high), upper)
        if count:
            first = np.minimum(least, count - 1)
            reach = np.exp(self.scale[first]) * (1.0 + np.minimum(scaled(self.slope[first], alpha)[0], 2.0))
            upper = np.where(most - least > 1, up(upper + 256.0 * UNIT * reach), upper)
        return lower, np.maximum(np.minimum(upper, np.where(more > 0, up(room), room)), lower)

    def _line(self, index: IndexArray, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
        taken, error = scaled(self.slope[index], alpha)
        error = np.where((self.slope[index] == 0) | (taken > 2.0), 0.0, error)
        left, more = difference(self.level[index], np.minimum(taken, 2.0))
        more = more + self.rest[index]
        value = left + more
        error = error + np.where(more == 0, 0.0, 2.0 * UNIT * np.abs(value))
        exact = (self.scale[index] == 0) & (error == 0)
        low, low_error = scaled(self.scale[index], np.maximum(value - error, 0.0))
        high, high_error = scaled(self.scale[index], np.maximum(value + error, 0.0))
        return (
            np.where(exact, low, np.maximum(down(low - low_error, 2), 0.0)),
            np.where(exact, high, up(high + high_error, 2)),
        )


def _passed(breaks: FloatArray, error: FloatArray, place: FloatArray) -> tuple[IndexArray, IndexArray]:
    """How many breaks lie surely, and how many possibly, left of each place."""
    least = np.searchsorted(np.maximum.accumulate(breaks + error), place, side="left")
    most = np.searchsorted(np.maximum.accumulate(breaks - error), place, side="right")
    return np.asarray(least), np.asarray(most)


_WIDENINGS = 40


def certified_epsilon(
    bounds: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    delta: FloatArray,
    guess: FloatArray,
    radius: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """A bracket of the smallest epsilon >= 0 whose delta is at most `delta`.

    A guess is only a suggestion: an upper end counts once the upper bound of D there is at most delta, a lower end once
    the lower bound of D there exceeds delta (or the end is 0).  Ends that fail move out, four times as far each time;
    what never holds becomes 0 or infinity.
    """
    lower, upper = np.maximum(guess - radius, 0.0), np.maximum(guess + radius, 0.0)
    reach = radius
    for _ in range(_WIDENINGS):
        high, low = bounds(upper)[1] > delta, (bounds(lower)[0] <= delta) & (lower > 0)
        if not (high.any() or low.any()):
            return lower, upper
        reach = 4.0 * reach
        upper = np.where(high, np.maximum(guess + reach, 0.0), upper)
        lower = np.where(low, np.maximum(guess - reach, 0.0), lower)
    high, low = bounds(upper)[1] > delta, bounds(lower)[0] <= delta
    return np.where(low, 0.0, lower), np.where(high, np.inf, upper)
