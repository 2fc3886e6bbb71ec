"""Exact shortcuts: one Gaussian (any composition of Gaussians is one), and a single release of any family.

Both know D and C for every epsilon from exact tails, so there is nothing to steer.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.atoms import enumerate_atoms
from quiltwork.compose.engines.engine import Engine, Logs, View
from quiltwork.compose.engines.listed import ExactLaw, listed_beta
from quiltwork.compose.engines.views.solve import LEAST
from quiltwork.compose.engines.views.tradeoff import ViewEngine
from quiltwork.compose.releases import Counted
from quiltwork.curves.curve import Ends
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.families.gaussian import GaussianPair, log_stick
from quiltwork.numbers.rounding import UNIT

MAX_VALUES = 100_000  # of a single finite release that are listed


@attrs.frozen(eq=False)
class GaussianView(View):
    """G_mu in closed form."""

    mu: float
    theta: float
    centre: float
    spread: float

    def middle(self, epsilon: FloatArray) -> FloatArray:
        return log_stick(self.mu, epsilon)[0] if self.theta > 0 else self.logs(epsilon).middle

    def logs(self, epsilon: FloatArray) -> Logs:
        mu = self.mu
        if self.theta > 0:
            value, error = log_stick(mu, epsilon)
            # D <= Phi(a), and D <= D(0) <= mu / sqrt(2 pi): all that is left when mu is below the roundoff
            most = np.where(epsilon >= 0, math.log(mu) - 0.9189385332, np.inf)
            most = np.minimum(most, log_ndtr(mu / 2 - epsilon / mu) * (1 - 1e-12) + 1e-12)
            value = np.minimum(value, most)
            return Logs(value, value - error, np.fmin(value + error, most))
        else:
            a, b = epsilon / mu - mu / 2, -epsilon / mu - mu / 2
            value = np.logaddexp(log_ndtr(a), epsilon + log_ndtr(b))
            size = 8 * (np.abs(a) + np.abs(b) + 1.0) * (mu / 2 + np.abs(epsilon) / mu)
            error = UNIT * (64 + size + 8 * np.abs(epsilon))
        return Logs(value, value - error, value + error)


class GaussianEngine(ViewEngine):
    """All releases Gaussian: mu^2 adds."""

    method = "closed form"

    def __init__(self, mu: float) -> None:
        self.mu, self.pairs = mu, [(GaussianPair(mu), 1)]

    @classmethod
    def of(cls, pairs: Counted) -> GaussianEngine | None:
        """Of copies of one Gaussian."""
        pair, count = pairs[0]
        return cls(pair.mu * math.sqrt(count)) if isinstance(pair, GaussianPair) else None

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        v = self.mu**2
        return v / 2 * theta * (theta + 1), v * (theta + 0.5), np.full_like(theta, v)

    def everywhere(self, complement: bool) -> View:
        return GaussianView(self.mu, -0.5 if complement else 1.0, self.mu**2 / 2, self.mu)

    def beta(self, alpha: FloatArray, mirror: Callable[[], Engine]) -> Ends:
        lower, upper, todo = self.beta_edges(alpha)
        lower[todo], upper[todo] = self._beta(alpha[todo], mirror)
        return Ends(np.minimum(lower, upper), np.where(todo, np.maximum(upper, LEAST), upper), self.method)

    def _beta(self, alpha: FloatArray, mirror: Callable[[], Engine]) -> tuple[FloatArray, FloatArray]:
        """Phi(Phi^-1(1 - alpha) - mu), with the quantile's error pushed through the steepest slope."""
        mu = self.mu
        with np.errstate(divide="ignore"):
            quantile = np.where(alpha < 0.5, -ndtri_exp(np.log(alpha)), ndtri_exp(np.log1p(-alpha)))
        x = quantile - mu
        wrong = 16 * UNIT * (1 + np.abs(quantile) + mu) + 1e-14 * np.abs(quantile)
        return np.exp(log_ndtr(x - wrong)) * (1 - 64 * UNIT), np.exp(log_ndtr(x + wrong)) * (1 + 64 * UNIT)


@attrs.frozen(eq=False)
class SingleView(View):
    """One release, from its tails."""

    pair: Pair
    theta: float
    centre: float
    spread: float

    def middle(self, epsilon: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return np.log(self.pair.stick(epsilon)) if self.theta > 0 else self._complement(epsilon, 0)

    def logs(self, epsilon: FloatArray) -> Logs:
        # losses of atoms are rounded: D falls and C rises with epsilon, so look a hair to the certified side
        hair = 4 * UNIT * np.abs(epsilon) + self.pair.rounding
        with np.errstate(all="ignore"):
            if self.theta > 0 and isinstance(self.pair, FinitePair) and self.pair.stated:
                # stated losses compare with a stated epsilon as typed; only the distances to those above are rounded
                value, room = self.pair.stick(epsilon), hair * self.pair.above(epsilon)[0]
                room = (room + value * self.pair.stick_error(epsilon)) * (1 + 1e-9)
                return Logs(np.log(value), np.log(np.maximum(value - room, 0.0)), np.log(value + room))
            if self.theta > 0:
                below, above = self.pair.stick_ends(np.concatenate((epsilon + hair, epsilon - hair)))
                (low, _), (_, high) = np.split(below, 2), np.split(above, 2)
                return Logs(self.middle(epsilon), np.log(low), np.log(high))
            return Logs(self._complement(epsilon, 0), self._complement(epsilon - hair, -1),
                        self._complement(epsilon + hair, 1))  # fmt: skip

    def _complement(self, epsilon: FloatArray, direction: int) -> FloatArray:
        """log C = log(P(L <= eps) + e^eps Q(L > eps)), moved by its error."""
        below, above = np.log(self.pair.below(epsilon)[0]), np.log(self.pair.above(epsilon)[1])
        error = self.pair.tail_error(epsilon) + UNIT * (16 + 4 * np.abs(epsilon))
        value: FloatArray = np.logaddexp(below, epsilon + above) + direction * error
        return value


class SingleEngine(ViewEngine):
    """One release of any pair, exactly."""

    method = "exact tails"

    def __init__(self, pair: Pair) -> None:
        self.pair, self.pairs = pair, [(pair, 1)]

    @classmethod
    def of(cls, pairs: Counted) -> SingleEngine:
        """Of the only release."""
        return cls(pairs[0][0])

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return np.zeros_like(theta), np.zeros_like(theta), np.ones_like(theta)

    def everywhere(self, complement: bool) -> View:
        reach = 4 * self.pair.scale
        low = self.pair.low if math.isfinite(self.pair.low) else -reach
        high = self.pair.high if math.isfinite(self.pair.high) else reach
        centre = (low + high) / 2
        spread = max((high - low) / 8, abs(centre) / 64, 1e-300)  # a loss that never varies is as wide as it is large
        return SingleView(self.pair, -0.5 if complement else 1.0, centre, spread)

    def _beta(self, alpha: FloatArray, mirror: Callable[[], Engine]) -> tuple[FloatArray, FloatArray]:
        atoms = enumerate_atoms(self.pairs, MAX_VALUES)
        return _single_beta(self.pair, alpha) if atoms is None else listed_beta(ExactLaw(atoms), self.vanish, alpha)


def _single_beta(pair: Pair, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    """One release: the threshold by bisection on Q's tail; below by c there, above by the two tests next to it.

    Levels are kept as gap = Q(L > eps) - alpha, from the upper tail for small alpha and from the lower tail
    (1 - vanish - alpha - Q(L <= eps)) for large alpha, so that neither end loses digits.
    """
    small = alpha <= 0.5
    rest = 1.0 - alpha - pair.vanish

    def gap(loss: FloatArray, direction: float) -> FloatArray:
        wrong = direction * 2 * pair.tail_error(loss)
        upper, lower = pair.above(loss)[1] * (1 + wrong), pair.below(loss)[1] * (1 - wrong)
        slack = direction * 8 * UNIT
        return np.where(small, upper - alpha * (1 - slack), rest * (1 + slack) + slack * pair.vanish - lower)

    left, right = np.full(alpha.size, -1.0), np.full(alpha.size, 1.0)
    for _ in range(40):
        left = np.where(gap(left, 1.0) <= 0, 4 * left, left)
        right = np.where(gap(right, 1.0) > 0, 4 * right, right)
    for _ in range(110):
        middle = 0.5 * (left + right)
        over = gap(middle, 1.0) > 0
        left, right = np.where(over, middle, left), np.where(over, right, middle)
    hair = 8 * UNIT * (1 + np.abs(right)) + pair.rounding
    left, right = left - hair, right + hair
    with np.errstate(over="ignore", invalid="ignore"):
        wrong = 2 * pair.tail_error(right)
        below, t = pair.below(right)[0], np.exp(right)
        slope = t * (1 + 8 * UNIT * (1 + np.abs(right)))  # the gap is negative there: steeper is safer
        lower = below * (1 - wrong) + slope * np.minimum(gap(right, -1.0), 0.0)
        # tests with levels on both sides of alpha: their mixture has exactly level alpha
        gap_1, gap_0 = gap(right, 1.0), gap(left, 1.0)
        miss_1, miss_0 = below * (1 + wrong), pair.below(left)[0] * (1 + 2 * pair.tail_error(left))
        share = np.clip(gap_0 / (gap_0 - gap_1), 0.0, 1.0)
        mixed = miss_0 + share * (miss_1 - miss_0)
    usable = (gap_1 <= 0) & (gap_0 >= 0) & np.isfinite(mixed)
    upper = np.where(usable, mixed * (1 + 8 * UNIT), np.where(gap_1 <= 0, miss_1, 1.0))
    return np.maximum(np.where(np.isfinite(lower), lower, 0.0), 0.0), upper
