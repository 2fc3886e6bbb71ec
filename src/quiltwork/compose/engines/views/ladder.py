"""A ladder of tilts: one evaluation of the moments that says where epsilon is, and which line has the fewest nodes.

Between the rungs the saddle-point estimate of log D says where D falls to delta.  For a line through rung j that is to
be right to an absolute error in D, the aliases at eps + mW are bounded by Chernoff's inequality with the other rungs
as exponents, and with theta = 0, where log M is 0; the rung with the fewest frequencies W sqrt(2 need) / sd is taken.

It only steers, apart from `aliases`, whose exponents and logs are those of `Window`.

Reference: theory/engine-faster.md section 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np
from scipy.special import erfcx

from quiltwork.checks import FloatArray

RUNGS = np.linspace(0.0, 1.0, 20)
MOST_NEED = 42.0  # of the logarithm of what is aimed at: beyond it there is rounding
MARGIN = 0.1  # spreads that epsilon may lie beside where the ladder sees it
ROOT2 = math.sqrt(2.0)
Moments = Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]


@attrs.frozen(eq=False)
class Aim:
    """A line: its tilt, mean and spread there, and what the aliases and the cutoff are to be kept below."""

    rung: int
    theta: float
    centre: float
    spread: float
    period: float
    need: float  # -log of the error of H that is aimed at


@attrs.frozen(eq=False)
class Ladder:
    """log M, mean and variance at rising positive tilts."""

    theta: FloatArray
    log_mgf: FloatArray
    mean: FloatArray
    variance: FloatArray

    @classmethod
    def of(cls, moments: Moments, log_delta: float) -> Ladder | None:
        """Around the tilts of a normal law with the spreads that the loss has under P and under Q."""
        _, _, variance = moments(np.array([0.0, -1.0]))
        theta = cls.tilts(variance, log_delta) if bool(np.all(variance > 0)) else None
        return None if theta is None else cls(theta, *moments(theta))

    @staticmethod
    def tilts(
        variance: FloatArray, log_delta: float, steepest: Callable[[float], float] = lambda theta: theta
    ) -> FloatArray | None:
        """Around those of normal laws of these variances; None where they would be too steep."""
        steep = np.sqrt(-2.0 * log_delta / variance)
        first, last = 0.15 * float(steep.min()), steepest(1.7 * float(steep.max()))
        first = min(first, last / 10)
        return first * (last / first) ** RUNGS if first > 0 and last < 1e5 else None

    def epsilon(self, log_delta: float) -> float | None:
        """Where D falls to delta, by the saddle points of two neighbouring rungs; None when it is not between rungs."""
        spread = np.sqrt(self.variance)
        near, far = erfcx(self.theta * spread / ROOT2), erfcx((self.theta + 1.0) * spread / ROOT2)
        logs = self.log_mgf - self.theta * self.mean + np.log(np.maximum(0.5 * (near - far), 1e-300))
        below = np.flatnonzero(~(logs > log_delta))
        if not below.size or below[0] == 0:
            return None
        i = int(below[0])
        share = float((logs[i - 1] - log_delta) / (logs[i - 1] - logs[i]))
        found = float(self.mean[i - 1] + share * (self.mean[i] - self.mean[i - 1]))
        return found if math.isfinite(found) and found > 0 else None

    def aim(self, epsilon: float, log_delta: float, accuracy: float, room: float) -> Aim | None:
        """The line with the fewest frequencies for log D at this epsilon to the accuracy; None without any."""
        theta, log_mgf = self.theta, self.log_mgf
        need = log_mgf - theta * epsilon - log_delta - math.log(accuracy)
        able = (need <= MOST_NEED) & (need > 0)
        if not able.any():
            return None
        apart = theta[None, :] - theta[:, None]
        steps = np.where(apart == 0, 1.0, np.abs(apart))  # a rung is no step from itself, and left out below
        reach = (log_mgf[None, :] - log_mgf[:, None] + room + need[:, None] + 1.0) / steps
        right = np.where(apart > 0, reach, np.inf).min(axis=1) - epsilon
        left = np.where(apart < 0, reach, np.inf).min(axis=1)
        left = np.minimum(left, (need + 1.0 + room - log_mgf) / theta) + epsilon
        spread = np.sqrt(self.variance)
        period = 1.02 * np.maximum(np.maximum(right, left), spread) + MARGIN * spread
        cost = np.where(able & np.isfinite(period), period * np.sqrt(need) / spread, np.inf)
        j = int(np.argmin(cost))
        if not math.isfinite(cost[j]):
            return None
        return Aim(j, float(theta[j]), float(self.mean[j]), float(spread[j]), float(period[j]), float(need[j]))
