"""Gaussian noise, and Gaussian differential privacy G_mu: the pair N(mu, 1) against N(0, 1).

The loss is N(mu^2/2, mu^2) under P and N(-mu^2/2, mu^2) under Q; compositions add mu^2.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

import attrs
import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.losses.dominating_pair import TAIL_ULPS, Cells, Pair, tail_cells
from quiltwork.losses.family import ASSUMED, POSITIVE, Costs, Family, marked, parameter
from quiltwork.losses.transforms.transform import Spectrum, Transform
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import times, typed

ROOT2 = math.sqrt(2.0)


def log_stick(mu: float, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log of the hockey stick of G_mu and its absolute error.

    D = Phi(a) - e^l Phi(b) with a = mu/2 - l/mu, b = a - mu; for a < 0 as Phi(a)(1 - R), R a ratio of erfcx, so that
    nothing underflows. The error is that of the arguments (times |a|) and of the difference 1 - R.
    """
    a, b = mu / 2 - loss / mu, -mu / 2 - loss / mu
    with np.errstate(all="ignore"):
        ratio = np.where(a < 0, erfcx(-b / ROOT2) / erfcx(-np.minimum(a, 0.0) / ROOT2), 0.0)
        left = np.where(a < 0, 0.0, ndtr(a))
        right = np.where(a < 0, 0.0, np.exp(loss + log_ndtr(b)))  # e^l alone may overflow
        plain = np.maximum(left - right, 0.0)
        value = np.where(a < 0, log_ndtr(a) + np.log1p(-ratio), np.log(plain))
        loss_of_digits = np.where(a < 0, 1.0 / (1.0 - ratio), (left + right) / plain)
        arguments = 8 * (np.abs(a) + 1.0) * (mu / 2 + np.abs(loss) / mu)
        error = UNIT * (32 * loss_of_digits + arguments + 32 + 8 * np.abs(loss))
    return value, np.where(np.isfinite(error), error, np.inf)


class GaussianPair(Pair):
    """N(mu, 1) against N(0, 1)."""

    low, high = -math.inf, math.inf

    def __init__(self, mu: float) -> None:
        self.mu = mu

    def above(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        return ndtr(self.mu / 2 - loss / self.mu), ndtr(-self.mu / 2 - loss / self.mu)

    def below(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        return ndtr(loss / self.mu - self.mu / 2), ndtr(loss / self.mu + self.mu / 2)

    def stick(self, loss: FloatArray) -> FloatArray:
        value: FloatArray = np.exp(log_stick(self.mu, loss)[0])
        return value

    def stick_error(self, loss: FloatArray) -> FloatArray:
        return np.expm1(np.minimum(log_stick(self.mu, loss)[1], 50.0))

    def tail_error(self, loss: FloatArray) -> FloatArray:
        """ndtr far out is e^(-a^2/2) of a rounded argument: it loses about a^2 ulps."""
        size = self.mu / 2 + np.abs(loss) / self.mu
        return np.where(np.isfinite(size), UNIT * (TAIL_ULPS + 24 * np.minimum(size, 1e150) ** 2), TAIL_ULPS * UNIT)

    def hazard(self, loss: FloatArray) -> FloatArray:
        """A bound on how fast the log of a tail moves with the loss."""
        return (1.0 + self.mu / 2 + np.abs(loss) / self.mu) / self.mu

    def swapped(self) -> Pair:
        return self

    def cells(self, edges: FloatArray) -> Cells:
        p_mass, q_mass, p_error, q_error = tail_cells(self, edges)
        with np.errstate(over="ignore", invalid="ignore"):
            growth = np.where(q_mass > 0, np.exp(edges[:-1]), 0.0)
        stick = np.clip(p_mass - growth * q_mass, 0.0, p_mass)
        return Cells(p_mass, stick, p_error, p_error + growth * (q_error + 4 * UNIT * q_mass))

    def transform(self, count: int) -> Transform:
        return GaussianTransform(count * self.mu**2)


class GaussianTransform:
    """M(z) = exp(v z(z+1)/2), v = count * mu^2: exact, and decaying as exp(-v u^2 / 2)."""

    reach = math.inf

    def __init__(self, variance: float) -> None:
        self.variance = variance

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        v = self.variance
        return v / 2 * theta * (theta + 1), v * (theta + 0.5), np.full_like(theta, v)

    @property
    def moments_error(self) -> float:
        return 0.0  # a product: relative

    def spectrum(self, theta: float, frequencies: FloatArray) -> Spectrum:
        v, u = self.variance, frequencies
        size = abs(theta) + 1
        log_phi = -v / 2 * u * u + 1j * u * v * (theta + 0.5)
        error = 8 * UNIT * v * (u * u + u * size)
        return Spectrum(v / 2 * theta * (theta + 1), log_phi, 8 * UNIT * v * size * size, error)

    def decay(self, theta: float) -> Callable[[FloatArray], FloatArray]:
        return lambda cutoff: -0.5 * self.variance * cutoff * cutoff * (1 - 1e-14)


class GaussianFamily(Family):
    """A family whose dominating pair is N(mu, 1) against N(0, 1): mu^2 adds up, whatever the releases."""

    linear: ClassVar[bool] = True

    @property
    @abstractmethod
    def mu(self) -> float:
        """The distance of the two means."""

    def pairs(self) -> dict[str, Pair]:
        return {"both": GaussianPair(self.mu)}

    @property
    def square(self) -> float:
        return self.mu**2

    @property
    def attained_mu(self) -> float:
        return self.mu

    def rung(self) -> tuple[object, float]:
        return "gaussian", self.mu


@attrs.frozen
class Gaussian(GaussianFamily):
    """Gaussian noise of standard deviation sigma on a query of the given l2 sensitivity."""

    kind: ClassVar[str] = "gaussian"
    words: ClassVar[str] = "Gaussian noise, sigma {sigma:g}, sensitivity {sensitivity:g}"
    label: ClassVar[str] = "Gaussian noise"
    dial: ClassVar[str] = "sigma"
    because: ClassVar[str] = "Gaussian mechanism: loss N(mu^2/2, mu^2), exact profile (Balle and Wang 2018)"
    sigma: float = attrs.field(
        **parameter("sigma", POSITIVE, "Standard deviation (sigma)", "40", hint="it is the noise's standard deviation")
    )
    sensitivity: float = attrs.field(
        default=marked(1.0, ASSUMED), **parameter("sensitivity", POSITIVE, "Sensitivity (l2)", "1")
    )

    def __attrs_post_init__(self) -> None:
        checks.moderate("sensitivity / sigma", self.sensitivity / self.sigma)

    @property
    def mu(self) -> float:
        """Signal to noise: the parameter of the equivalent G_mu."""
        return self.sensitivity / self.sigma

    def at(self, distance: Fraction) -> Family:
        return attrs.evolve(self, sensitivity=times(distance, self.sensitivity))

    def costs(self) -> Costs:
        half = (typed(self.sensitivity) / typed(self.sigma)) ** 2 / 2
        return Costs(rho=half, half_square=half)


@attrs.frozen
class GaussianPrivacy(GaussianFamily):
    """A mu-GDP release."""

    kind: ClassVar[str] = "gdp"
    words: ClassVar[str] = "Gaussian privacy, mu {mu:g}"
    label: ClassVar[str] = "Any release with a mu (GDP)"
    dial: ClassVar[str] = "mu"
    because: ClassVar[str] = "Gaussian differential privacy (Dong, Roth and Su 2022)"
    mu: float = attrs.field(**parameter("mu", POSITIVE, "Mu", "0.1", check=checks.moderate))

    def at(self, distance: Fraction) -> Family:
        """mu scales linearly: G_mu composed with itself along a path of n steps is G_(n mu)."""
        return GaussianPrivacy(times(distance, self.mu))

    def costs(self) -> Costs:
        half = typed(self.mu) ** 2 / 2
        return Costs(rho=half, half_square=half)
