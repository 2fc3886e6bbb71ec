"""The law of a published row given the image it is of: class probabilities, noise on each, and clipping.

A number strictly inside (0, 1) has the density of the noise; a number clipped to an end has the probability of that
event.  Both refer to one base measure, so that ratios between candidates are exact.

Reference: theory/game.md section 3 (threat model T1: the attacker knows the mechanism).
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from scipy.special import log_ndtr

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.defenders.noise import Gaussian, Laplace
from quiltwork.game.people.priors import Members

__all__ = ["LEAST_NOISE", "MOST_NOISE", "RowLaw", "others", "relative"]

LEAST_NOISE, MOST_NOISE = 1e-6, 1e6  # squares of distances in these units stay far from overflow


@attrs.frozen(eq=False)
class RowLaw:
    """Noise of one family and size on each entry of a row."""

    family: str
    size: float
    clip: bool

    @classmethod
    def of(cls, noise: Gaussian | Laplace, clip: bool) -> RowLaw:
        """The law that a defender's options stand for."""
        if not isinstance(noise, (Gaussian, Laplace)):
            raise InvalidParameter("noise", noise, "Gaussian(sigma) or Laplace(scale)")
        if noise.weights is not None:
            raise InvalidParameter("noise", noise, "noise without weights: a row is matched as a whole")
        size = noise.sigma if isinstance(noise, Gaussian) else noise.scale
        if not LEAST_NOISE <= size <= MOST_NOISE:
            hint = "less noise hides nothing, more leaves nothing"
            raise InvalidParameter("noise", noise, f"noise from {LEAST_NOISE:g} to {MOST_NOISE:g}", hint)
        return cls("gaussian" if isinstance(noise, Gaussian) else "laplace", float(size), clip)

    def draw(self, exact: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Simulated rows, clipped if so asked; a negative zero becomes a zero, so that equal numbers are the same."""
        noise = rng.standard_normal(exact.shape) if self.family == "gaussian" else rng.laplace(size=exact.shape)
        noisy = exact + self.size * noise
        return (np.clip(noisy, 0.0, 1.0) if self.clip else noisy) + 0.0

    def log_likelihoods(self, tables: FloatArray, rows: FloatArray) -> FloatArray:
        """log p(row i of the table | candidate k): tables are B x n x C, rows K x C, the result B x n x K."""
        low, high = (tables <= 0.0, tables >= 1.0) if self.clip else (None, None)
        inner = np.ones(tables.shape) if low is None or high is None else (~(low | high)).astype(float)
        rate, norm = self._constants()
        total = np.repeat(-norm * inner.sum(axis=2)[:, :, None], len(rows), axis=2)
        if low is not None and high is not None:
            total += low.astype(float) @ self._log_tail(rows).T
            total += high.astype(float) @ self._log_tail(1.0 - rows).T
        for column in range(rows.shape[1]):
            gap = tables[:, :, column, None] - rows[:, column]
            gap = np.square(gap, out=gap) if self.family == "gaussian" else np.abs(gap, out=gap)
            gap *= -rate * inner[:, :, column, None]
            total += gap
        return total

    def _constants(self) -> tuple[float, float]:
        """The density is e^(-rate gap^2 - norm) or e^(-rate |gap| - norm)."""
        if self.family == "gaussian":
            return 0.5 / self.size**2, math.log(self.size) + 0.5 * math.log(2.0 * math.pi)
        return 1.0 / self.size, math.log(2.0 * self.size)

    def _log_tail(self, distance: FloatArray) -> FloatArray:
        """Log-probability that noise passes an end of [0, 1] at this distance >= 0."""
        if self.family == "gaussian":
            return np.asarray(log_ndtr(-distance / self.size))
        return -distance / self.size - math.log(2.0)


def others(values: FloatArray, axis: int) -> FloatArray:
    """For each entry the sum of all others along the axis, to a few units: values >= 0.

    Total minus entry is accurate unless the entry is more than half of the total; only the largest can be, and its
    others are summed by themselves.
    """
    rest = values.sum(axis=axis, keepdims=True) - values
    top = values.argmax(axis=axis, keepdims=True)
    hidden = values.copy()
    np.put_along_axis(hidden, top, 0.0, axis=axis)
    np.put_along_axis(rest, top, hidden.sum(axis=axis, keepdims=True), axis=axis)
    return np.asarray(rest)


def relative(logs: FloatArray, filled: Members, floor: float) -> FloatArray:
    """Likelihoods of a row relative to its best candidate, at least e^floor; 0 for rows that are only padding."""
    shares = np.exp(np.maximum(logs - logs.max(axis=2, keepdims=True), floor))
    return np.asarray(shares * filled[:, :, None])
