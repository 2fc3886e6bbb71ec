"""Exact shortcuts: one Gaussian (any composition of Gaussians is one), and a single release of any family.

Both know D and C for every epsilon from exact tails, so there is nothing to steer.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from scipy.special import log_ndtr

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.engine import Logs, View
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.families.gaussian import log_stick
from quiltwork.numbers.rounding import UNIT


@attrs.frozen(eq=False)
class GaussianView:
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


class GaussianEngine:
    """All releases Gaussian: mu^2 adds."""

    method = "closed form"

    def __init__(self, mu: float) -> None:
        self.mu = mu

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        v = self.mu**2
        return v / 2 * theta * (theta + 1), v * (theta + 0.5), np.full_like(theta, v)

    def everywhere(self, complement: bool) -> View:
        return GaussianView(self.mu, -0.5 if complement else 1.0, self.mu**2 / 2, self.mu)

    def view(self, theta: float, log_width: float) -> View:
        return self.everywhere(theta < 0)


@attrs.frozen(eq=False)
class SingleView:
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
                at_low, at_high = epsilon + hair, epsilon - hair
                low, high = np.log(self.pair.stick(at_low)), np.log(self.pair.stick(at_high))
                low = low + np.log1p(-np.minimum(self.pair.stick_error(at_low), 1.0))
                high = high + np.log1p(self.pair.stick_error(at_high))
                return Logs(self.middle(epsilon), np.where(np.isnan(low), -np.inf, low), high)
            return Logs(self._complement(epsilon, 0), self._complement(epsilon - hair, -1),
                        self._complement(epsilon + hair, 1))  # fmt: skip

    def _complement(self, epsilon: FloatArray, direction: int) -> FloatArray:
        """log C = log(P(L <= eps) + e^eps Q(L > eps)), moved by its error."""
        below, above = np.log(self.pair.below(epsilon)[0]), np.log(self.pair.above(epsilon)[1])
        error = self.pair.tail_error(epsilon) + UNIT * (16 + 4 * np.abs(epsilon))
        value: FloatArray = np.logaddexp(below, epsilon + above) + direction * error
        return value


class SingleEngine:
    """One release of any pair, exactly."""

    method = "exact tails"

    def __init__(self, pair: Pair) -> None:
        self.pair = pair

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return np.zeros_like(theta), np.zeros_like(theta), np.ones_like(theta)

    def everywhere(self, complement: bool) -> View:
        low = self.pair.low if math.isfinite(self.pair.low) else -8.0
        high = self.pair.high if math.isfinite(self.pair.high) else 8.0
        return SingleView(self.pair, -0.5 if complement else 1.0, (low + high) / 2, max((high - low) / 8, 1e-300))

    def view(self, theta: float, log_width: float) -> View:
        return self.everywhere(theta < 0)
