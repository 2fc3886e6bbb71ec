"""Unimodal densities, many of one kind at once, in logarithms and with stated errors.

Each kind gives, for k components and n places, (k, n) arrays of

- the log density and its absolute error, that is the relative error of the density;
- the log of the tail away from the centre (the survival function right of it, the distribution function left of it):
  probabilities come from the smaller tail and never as 1 - x;
- the slope of the log density, and a bound on how far it falls a unit: logs are concave, except for the user's own.

Errors are in units of roundoff u = 2^-53.  A stated location m, spread s or scale b may be read as the decimal typed or
as its double (one unit either way; two for a square root), so z = (x - m)/s is known to 4u|z| + u|m|/s, and a log
density with slope z moves by z times that.  erfcx and log_ndtr are taken to be right to 16 units.

Reference: theory/confounding.md section 1; Reed 2006 for the sum of a normal and a Laplace variable.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from scipy.special import erf, erfcx, log_ndtr

from quiltwork.checks import FloatArray
from quiltwork.numbers.rounding import UNIT

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


class NormalLaplaceShapes(Shapes):
    """The law of a normal plus an independent Laplace variable.

    With y = x - mean, z = y/s, kappa = s/b (Reed 2006, symmetric case):

        f = e^(-z^2/2) [ erfcx((kappa - z)/sqrt 2) + erfcx((kappa + z)/sqrt 2) ] / (4b).

    Where an argument is negative, e^(-z^2/2) erfcx = e^(kappa^2/2 - y/b) erfc, which does not overflow.
    """

    def __init__(self, means: Sequence[float], sds: Sequence[float], scales: Sequence[float]) -> None:
        self.place(as_column(means))
        self.sd, self.scale = as_column(sds), as_column(scales)
        self.kappa = self.sd / self.scale
        self.spread = np.sqrt(self.sd**2 + 2.0 * self.scale**2)
        self._height = -np.log(4.0 * self.scale)
        self.peak = self._height + np.log(2.0 * erfcx(self.kappa / ROOT2))
        self._base = 96.0 + 4.0 * np.abs(self._height)
        self._shift = np.abs(self.centre) / self.sd
        self.slope_error = 8.0 * UNIT * self._shift / self.sd

    def _distances(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """z, y/b and the common part of both errors: logs of density and tail have slopes up to min(z + 1, kappa)/s."""
        y = np.abs(x - self.centre)
        z, rate = y / self.sd, y / self.scale
        slope = np.minimum(z + 1.0, self.kappa)
        with np.errstate(over="ignore", invalid="ignore"):
            error = 32.0 * np.minimum(z * z, rate) + 4.0 * slope * self._shift
        return z, rate, error

    def _near(self, z: FloatArray, rate: FloatArray) -> FloatArray:
        """log of e^(-z^2/2) erfcx((kappa - z)/sqrt 2): the exponential tail, for z >= 0."""
        ahead = self.kappa - z
        with np.errstate(over="ignore", invalid="ignore"):
            inside = -0.5 * z * z + np.log(erfcx(np.maximum(ahead, 0.0) / ROOT2))
            outside = 0.5 * self.kappa**2 - rate + math.log(2.0) + log_ndtr(-np.minimum(ahead, 0.0))
        return np.where(ahead >= 0, inside, outside)

    def log_density(self, x: FloatArray) -> Pair:
        z, rate, error = self._distances(x)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            far = -0.5 * z * z + np.log(erfcx((self.kappa + z) / ROOT2))
            found = self._height + np.logaddexp(self._near(z, rate), far)
        return np.where(np.isinf(z), -np.inf, found), UNIT * np.where(np.isinf(z), 0.0, self._base + error)

    def log_slope(self, x: FloatArray) -> FloatArray:
        """The derivative of the log density: -(1/b) tanh((log near - log far)/2), near and far the two terms of f."""
        z, rate, _ = self._distances(x)
        far = -0.5 * z * z + np.log(erfcx((self.kappa + z) / ROOT2))
        return -np.sign(x - self.centre) * np.tanh(0.5 * (self._near(z, rate) - far)) / self.scale

    def log_tail(self, x: FloatArray) -> Pair:
        """Beyond y >= 0: e^(-z^2/2)/2 [erfcx(z/sqrt 2) - erfcx((z + kappa)/sqrt 2)/2] + near/4, all terms positive."""
        z, rate, error = self._distances(x)
        with np.errstate(invalid="ignore", divide="ignore"):
            normal = 0.5 * (erfcx(z / ROOT2) - 0.5 * erfcx((z + self.kappa) / ROOT2))
            first = -0.5 * z * z + np.log(normal)
            second = self._near(z, rate) - math.log(4.0)
            found = np.where(np.isinf(z), -np.inf, np.logaddexp(first, second))
        return sure(found, 128.0 + error)

    def log_bend(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """At most 1/s^2, since (log f)'' = -1/s^2 + Var(Laplace part | x)/s^4; and less in the tails.

        With phi the normal density, f - b^2 f'' = phi.  As |(log f)'| <= 1/b, that leaves -(log f)'' <= phi/(b^2 f),
        which falls away from the centre: there the Laplace part is on the side of x.
        """
        near = np.where(a > self.centre, a, np.where(b < self.centre, b, self.centre))
        value, error = self.log_density(near)
        z = np.abs(near - self.centre) / self.sd
        log_phi = -0.5 * z * z - np.log(self.sd) - ROOT2PI
        wrong = error + UNIT * (64.0 + self._base + 16.0 * z * z + 4.0 * z * self._shift)
        with np.errstate(over="ignore", under="ignore"):
            tail = np.exp(log_phi - value + wrong) / self.scale**2
        return np.asarray(np.minimum(tail * (1.0 + 1e-9), 1.0 / self.sd**2))

    def ceiling(self, x: FloatArray) -> FloatArray:
        """An upper end of log(e^(|y|/b) f) on the tail beyond x, over its value at x; a column.

        The tail falls by less than 1/b a unit, so that it rises to its asymptote e^(kappa^2/2 - |y|/b)/(2b).
        """
        value, error = self.log_density(x)
        rate = np.abs(x - self.centre) / self.scale
        units = 64.0 + 4.0 * np.abs(self._height) + 16.0 * (self.kappa**2 + rate) + 4.0 * self._shift * self.kappa
        found = 0.5 * self.kappa**2 - rate + self._height + math.log(2.0) - value
        return np.asarray(np.maximum(found, 0.0) + error + UNIT * units)

    def landmarks(self, count: int) -> FloatArray:
        steps = np.linspace(-1.0, 1.0, max(count, 3))
        return (self.centre + 8.0 * self.sd * steps + self.scale * 0.5 * np.sinh(4.9 * steps)).ravel()
