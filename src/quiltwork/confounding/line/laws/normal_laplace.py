"""The law of a normal plus an independent Laplace variable, many at once, in logarithms and with stated errors.

Reference: theory/confounding.md section 1; Reed 2006.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import erfcx, log_ndtr

from quiltwork.checks import FloatArray
from quiltwork.confounding.line.laws.densities import ROOT2, ROOT2PI, Pair, Shapes, as_column, sure
from quiltwork.numbers.rounding import UNIT

__all__ = ["NormalLaplaceShapes"]


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
