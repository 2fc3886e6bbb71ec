"""Unimodal densities, many of one kind at once, in logarithms and with stated errors.

Each kind gives, for k components and n places, (k, n) arrays of

- the log density and its absolute error, that is the relative error of the density;
- the log of the tail away from the centre (the survival function right of it, the distribution function left of it):
  probabilities come from the smaller tail and never as 1 - x;
- the slope of the log density, and a bound on how far it falls a unit: logs are concave, except for the user's own.

Errors are in units of roundoff u = 2^-53.  A stated location m, spread s or scale b may be read as the decimal typed or
as its double (one unit either way; two for a square root), so z = (x - m)/s is known to 4u|z| + u|m|/s, and a log
density with slope z moves by z times that.  erfcx and log_ndtr are taken to be right to 16 units.

Reference: theory/confounding.md section 1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from scipy.special import erf, log_ndtr

from quiltwork.checks import FloatArray
from quiltwork.numbers.rounding import UNIT

__all__ = [
    "KINK",
    "ROOT2",
    "ROOT2PI",
    "LaplaceShapes",
    "NormalShapes",
    "Shapes",
    "UniformShapes",
    "as_column",
    "sure",
]

ROOT2 = math.sqrt(2.0)
ROOT2PI = math.log(math.sqrt(2.0 * math.pi))
KINK = 1e200  # stands for "no bound"

Pair = tuple[FloatArray, FloatArray]


def as_column(values: Sequence[float]) -> FloatArray:
    """Numbers, one below the other."""
    return np.asarray(values, dtype=float)[:, None]


class Shapes(ABC):
    """k components of one kind; every attribute is a column of k numbers."""

    centre: FloatArray  # tails are taken away from here
    mode_low: FloatArray  # the density is largest between these two places
    mode_high: FloatArray
    peak: FloatArray  # log of the largest density
    spread: FloatArray  # a length on which the density changes
    tail_error: FloatArray  # absolute error of a tail, besides its relative one
    slope_error: FloatArray  # absolute error of a slope of the log density: how far it moves with the location

    @abstractmethod
    def log_density(self, x: FloatArray) -> Pair:
        """Log densities at the places x, and their absolute errors."""

    @abstractmethod
    def log_tail(self, x: FloatArray) -> Pair:
        """Log of the tail beyond x, away from the centre, and its absolute error; x may be infinite."""

    def from_centre(self, x: FloatArray) -> Pair:
        """The probability between the centre and x, and its absolute error."""
        tail, error = self.log_tail(x)
        away = np.exp(tail)
        return np.maximum(0.5 - away, 0.0), away * error + 2.0 * UNIT

    @abstractmethod
    def log_slope(self, x: FloatArray) -> FloatArray:
        """Derivatives of the log densities, right to 1e-9 of their size and `slope_error`."""

    @abstractmethod
    def log_bend(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """A bound on -(log f)'' on each cell [a, b], where log f is concave and smooth; otherwise KINK."""

    def landmarks(self, count: int) -> FloatArray:
        """About `count` places a component where cells may begin."""
        return (self.centre + self.spread * self._steps(count)).ravel()

    def kinks(self) -> FloatArray:
        """Both sides of every kink or jump: cells must not cross them."""
        return np.zeros(0)

    def _steps(self, count: int) -> FloatArray:
        return np.linspace(-9.0, 9.0, max(count, 3))

    def place(self, centre: FloatArray) -> None:
        """One centre, which is also the mode; its double is a unit from the decimal typed."""
        self.centre, room = centre, 2.0 * UNIT * np.abs(centre)
        self.mode_low, self.mode_high = centre - room, centre + room
        self.tail_error, self.slope_error = np.zeros_like(centre), np.zeros_like(centre)


def sure(value: FloatArray, units: FloatArray) -> Pair:
    """An error in units of roundoff; none where the value is an exact zero (its log is minus infinity)."""
    return value, np.where(np.isfinite(value), UNIT * units, 0.0)


class NormalShapes(Shapes):
    """N(mean, sd^2)."""

    def __init__(self, means: Sequence[float], sds: Sequence[float]) -> None:
        self.place(as_column(means))
        self.spread = as_column(sds)
        self.peak = -np.log(self.spread) - ROOT2PI
        self._shift = np.abs(self.centre) / self.spread
        self.slope_error = 8.0 * UNIT * self._shift / self.spread
        self._base = 16.0 + 4.0 * np.abs(self.peak)

    def log_density(self, x: FloatArray) -> Pair:
        z = np.abs(x - self.centre) / self.spread
        return self.peak - 0.5 * z * z, UNIT * (self._base + z * (8.0 * z + 2.0 * self._shift))

    def log_tail(self, x: FloatArray) -> Pair:
        z = np.abs(x - self.centre) / self.spread
        with np.errstate(invalid="ignore"):
            units = 48.0 + 16.0 * z * z + 4.0 * (1.0 + z) * self._shift
        return sure(log_ndtr(-z), units)

    def from_centre(self, x: FloatArray) -> Pair:
        z = np.abs(x - self.centre) / self.spread
        found = 0.5 * erf(z / ROOT2)
        return found, UNIT * (16.0 * found + 2.0 * self._shift)

    def log_slope(self, x: FloatArray) -> FloatArray:
        return -(x - self.centre) / self.spread**2

    def log_bend(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return np.broadcast_to(1.0 / self.spread**2, (self.centre.size, a.size))


class LaplaceShapes(Shapes):
    """exp(-|x - mean| / scale) / (2 scale)."""

    def __init__(self, means: Sequence[float], scales: Sequence[float]) -> None:
        self.place(as_column(means))
        self.spread = as_column(scales)
        self.peak = -np.log(2.0 * self.spread)
        self._shift = np.abs(self.centre) / self.spread
        self._base = 16.0 + 4.0 * np.abs(self.peak)

    def log_density(self, x: FloatArray) -> Pair:
        z = np.abs(x - self.centre) / self.spread
        return self.peak - z, UNIT * (self._base + 6.0 * z + 2.0 * self._shift)

    def log_tail(self, x: FloatArray) -> Pair:
        z = np.abs(x - self.centre) / self.spread
        return sure(-math.log(2.0) - z, 16.0 + 6.0 * z + 2.0 * self._shift)

    def from_centre(self, x: FloatArray) -> Pair:
        found = -0.5 * np.expm1(-np.abs(x - self.centre) / self.spread)
        return found, UNIT * (16.0 * found + 2.0 * self._shift)

    def log_slope(self, x: FloatArray) -> FloatArray:
        return -np.sign(x - self.centre) / self.spread

    def log_bend(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return np.where((a <= self.mode_high) & (b >= self.mode_low), KINK, 0.0)

    def kinks(self) -> FloatArray:
        return np.concatenate([np.nextafter(self.mode_low, -np.inf), np.nextafter(self.mode_high, np.inf)]).ravel()

    def _steps(self, count: int) -> FloatArray:
        return 0.5 * np.sinh(np.linspace(-4.9, 4.9, max(count, 3)))


class UniformShapes(Shapes):
    """Constant between two ends, and nothing outside."""

    def __init__(self, lows: Sequence[float], highs: Sequence[float]) -> None:
        self.low, self.high = as_column(lows), as_column(highs)
        self.width = self.high - self.low
        self.centre, self.spread = 0.5 * self.low + 0.5 * self.high, self.width
        room = 2.0 * UNIT * np.maximum(np.abs(self.low), np.abs(self.high))
        self.mode_low, self.mode_high = self.low - room, self.high + room
        self._inner_low, self._inner_high = self.low + room, self.high - room
        self.tail_error, self.slope_error = 4.0 * room / self.width, np.zeros_like(room)
        self.peak = -np.log(self.width)
        self._base = 16.0 + 4.0 * np.abs(self.peak) + 4.0 * room / (UNIT * self.width)

    def log_density(self, x: FloatArray) -> Pair:
        inside = (x > self._inner_low) & (x < self._inner_high)  # where it may be either, zero: cells look further
        return np.where(inside, self.peak, -np.inf), np.broadcast_to(UNIT * self._base, inside.shape)

    def log_tail(self, x: FloatArray) -> Pair:
        left = np.where(x >= self.centre, self.high - x, x - self.low) / self.width
        left = np.clip(left, self.tail_error, 0.5 + 4.0 * UNIT)
        with np.errstate(divide="ignore"):
            found = np.log(np.where((x > self.mode_high) | (x < self.mode_low), 0.0, left))
        return sure(found, np.broadcast_to(self._base, found.shape))

    def log_slope(self, x: FloatArray) -> FloatArray:
        return np.zeros((self.centre.size, x.size))

    def log_bend(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Zero, unless an end may lie in the cell."""
        inside = (a > self._inner_low) & (b < self._inner_high)
        outside = (b < self.mode_low) | (a > self.mode_high)
        return np.where(inside | outside, 0.0, KINK)

    def kinks(self) -> FloatArray:
        below, above = (self.mode_low, self._inner_high), (self._inner_low, self.mode_high)
        ends = [np.nextafter(end, -np.inf) for end in below] + [np.nextafter(end, np.inf) for end in above]
        return np.concatenate(ends).ravel()

    def _steps(self, count: int) -> FloatArray:
        return np.linspace(-1.0, 1.0, max(count, 3))
