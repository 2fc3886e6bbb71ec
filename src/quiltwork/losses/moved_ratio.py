"""The privacy loss of two mixtures of one noise, moved to several places, at an output.

With r_k(x) = N(x - c_k) / N(x) and g_k = p_k - q_k, sum g_k = 0, the loss of P = sum p_k N(. - c_k) against
Q = sum q_k N(. - c_k) is

    L(x) = log1p(sum g_k (r_k - 1) / sum q_k r_k),

which keeps its digits for small sampling rates.  Noise on the integers has the ratios of the noise on the line.

Reference: theory/sampling.md sections 3 and 6.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from scipy.special import ndtr

from quiltwork.checks import FloatArray
from quiltwork.losses.dominating_pair import TAIL_ULPS
from quiltwork.numbers.rounding import UNIT

LARGE = 30.0  # ratios above e^30 are compared by their logarithms
FAR = 40.0  # a Gaussian has no double beyond it


class Noise(ABC):
    """A symmetric log-concave law on the line of which ratios to its own moves are known."""

    bounded: bool  # whether the ratio is constant beyond the outermost places
    reach: float  # beyond the outermost places by that much nothing is left, or nothing changes

    @abstractmethod
    def log_ratio(self, place: FloatArray, x: FloatArray) -> FloatArray:
        """log N(x - place) / N(x)."""

    @abstractmethod
    def log_ratio_ulps(self, place: FloatArray, x: FloatArray) -> FloatArray:
        """Absolute error of `log_ratio` in units of roundoff, for places that are rounded themselves."""

    @abstractmethod
    def slope(self, place: FloatArray, x: FloatArray) -> FloatArray:
        """Its derivative in x."""

    @abstractmethod
    def above(self, place: FloatArray, x: FloatArray) -> FloatArray:
        """The mass beyond x of the law at this place."""

    @abstractmethod
    def ulps(self, place: FloatArray, x: FloatArray) -> FloatArray:
        """Relative error of `above` in units of roundoff, also where it is small."""


class GaussianNoise(Noise):
    """Standard deviation 1."""

    bounded, reach = False, FAR

    def log_ratio(self, place: FloatArray, x: FloatArray) -> FloatArray:
        return place * (x - 0.5 * place)

    def log_ratio_ulps(self, place: FloatArray, x: FloatArray) -> FloatArray:
        found: FloatArray = 4.0 + 4.0 * np.abs(place) * (np.abs(x) + np.abs(place))
        return found

    def slope(self, place: FloatArray, x: FloatArray) -> FloatArray:
        return place + 0.0 * x

    def above(self, place: FloatArray, x: FloatArray) -> FloatArray:
        mass: FloatArray = ndtr(place - x)
        return mass

    def ulps(self, place: FloatArray, x: FloatArray) -> FloatArray:
        """ndtr far out is e^(-a^2/2) of a rounded argument: it loses about a^2 ulps."""
        return TAIL_ULPS + 24 * (np.abs(place) + np.minimum(np.abs(x), 1e6)) ** 2


class LaplaceNoise(Noise):
    """Scale 1."""

    bounded, reach = True, 0.0

    def log_ratio(self, place: FloatArray, x: FloatArray) -> FloatArray:
        return np.abs(x) - np.abs(x - place)

    def log_ratio_ulps(self, place: FloatArray, x: FloatArray) -> FloatArray:
        """x - place is rounded on the scale of both, however near to 0 the place is."""
        return 4.0 + 4.0 * (np.abs(x) + np.abs(place))

    def slope(self, place: FloatArray, x: FloatArray) -> FloatArray:
        return np.sign(x) - np.sign(x - place)

    def above(self, place: FloatArray, x: FloatArray) -> FloatArray:
        far = x - place
        return np.where(far > 0, 0.5 * np.exp(-np.maximum(far, 0.0)), 1.0 - 0.5 * np.exp(np.minimum(far, 0.0)))

    def ulps(self, place: FloatArray, x: FloatArray) -> FloatArray:
        return TAIL_ULPS + 4 * (np.abs(place) + np.minimum(np.abs(x), 1e6))


def _end(p: float, q: float, gap: float) -> float:
    """log p / q of the outermost component: the loss far out under Gaussian noise."""
    if p <= 0 or q <= 0:
        return -math.inf if p <= 0 else math.inf
    return math.log1p(gap / q) if gap > -0.5 * q else math.log(p) - math.log(q)


class MovedRatio:
    """Mixtures p and q of one noise at the same places; the likelihood ratio rises with the output."""

    def __init__(
        self,
        noise: Noise,
        places: FloatArray,
        p: FloatArray,
        q: FloatArray,
        gaps: FloatArray,
        reading: float = 0.0,
    ) -> None:
        """`gaps` are p - q, known to a few roundings also where p and q are nearly alike.

        `reading` is how many more roundings a weight may be off, by how the numbers behind it are read.
        """
        self.noise, self.places, self.p, self.q, self.gaps = noise, places, p, q, gaps
        self._c, self._p, self._q, self._g = (v[:, None] for v in (places, p, q, gaps))
        self.reading = reading
        self._terms = 4.0 + places.size + reading  # roundings of a sum over all components

    def far_ends(self) -> tuple[float, float]:
        """The losses far out under Gaussian noise, outward; weights that underflowed are not known to be 0."""
        low = _end(self.p[0], self.q[0], self.gaps[0]) if self.p[0] > 0 else -math.inf
        high = _end(self.p[-1], self.q[-1], self.gaps[-1]) if self.q[-1] > 0 else math.inf
        return low - self._end_room(low), high + self._end_room(high)

    def _end_room(self, end: float) -> float:
        """Rounding of a loss far out, and what two weights may be off."""
        return UNIT * (8 * abs(end) + 2 * self.reading) if math.isfinite(end) else 0.0

    def loss(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """L at each x and a bound on its rounding."""
        with np.errstate(all="ignore"):
            logs = self.noise.log_ratio(self._c, x)
            wrong = UNIT * self.noise.log_ratio_ulps(self._c, x)
            off = np.expm1(np.minimum(wrong, 700.0))  # of each ratio, relative
            grown, ratio = np.expm1(np.minimum(logs, LARGE)), np.exp(np.minimum(logs, LARGE))
            below = (self._q * ratio).sum(axis=0)
            change = (self._g * grown).sum(axis=0) / below
            blur = (np.abs(self._g) * (self._terms * UNIT * np.abs(grown) + off * ratio)).sum(axis=0) / below
            blur += np.abs(change) * (self._terms * UNIT + (self._q * ratio * off).sum(axis=0) / below)
            near = np.log1p(np.maximum(change, -0.5))
            room = 1.0 + np.maximum(change, -0.5) - blur
            near_wrong = np.where(room > 0, blur / room, np.inf) * (1 + 1e-9) + 2 * UNIT * np.abs(near)
            up, up_wrong = self.log_sum(self.p, logs, wrong)
            down, down_wrong = self.log_sum(self.q, logs, wrong)
        far_wrong = up_wrong + down_wrong + 2 * UNIT * np.abs(up - down)
        plain = (logs.max(axis=0) < LARGE) & (change > -0.5) & (change < 1e6) & np.isfinite(near_wrong)
        plain &= near_wrong < far_wrong
        return np.where(plain, near, up - down), np.where(plain, near_wrong, far_wrong)

    def log_sum(self, weights: FloatArray, logs: FloatArray, wrong: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log of a weighted sum; terms that are off by r each leave it off by log of the mean of e^r at most."""
        terms = np.log(weights)[:, None] + logs
        top = terms.max(axis=0)
        shares = np.exp(terms - top)
        total = shares.sum(axis=0)
        size = np.where(shares > 0, np.abs(terms) + np.abs(terms - top), 0.0)
        off = np.expm1(np.minimum(wrong + 2 * UNIT * (1.0 + size), 700.0))
        error = np.log1p((shares * off).sum(axis=0) / total) * (1 + 1e-9)
        return top + np.log(total), error + UNIT * (2 * self._terms + 4 * np.abs(top))
