"""Noise on the integers: discrete Gaussian and discrete Laplace, whose losses live on a lattice."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.losses.dominating_pair import Lattice, Pair
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.family import Family, checked
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import typed

MOST_ATOMS = 500_000
LEAST_NOISE = 1e9  # the sensitivity over the noise is at most this: beyond, nothing is hidden
SPAN = 38.7  # standard deviations kept: beyond, e^(-x^2/2) is below the least double


def _too_many(name: str, value: float, atoms: float) -> None:
    if atoms > MOST_ATOMS:
        raise InvalidParameter(name, value, f"small enough for {MOST_ATOMS} atoms", "use the continuous family instead")


def _too_little(name: str, value: float, sensitivity: int) -> None:
    if sensitivity / LEAST_NOISE > value:
        raise InvalidParameter(name, value, f"at least {sensitivity / LEAST_NOISE:.3g} at sensitivity {sensitivity}")


@attrs.frozen
class DiscreteGaussian(Family):
    """Discrete Gaussian noise (mass at x proportional to e^(-x^2 / 2 sigma^2)) on an integer query."""

    kind: ClassVar[str] = "discrete_gaussian"
    because: ClassVar[str] = "discrete Gaussian mechanism, exact loss lattice (Canonne, Kamath and Steinke 2020)"
    sigma: float = checked(checks.positive, "sigma")
    sensitivity: int = checked(checks.count, "sensitivity", default=1, least=1)

    def __attrs_post_init__(self) -> None:
        _too_many("sigma", self.sigma, 2 * SPAN * self.sigma + self.sensitivity)
        _too_little("sigma", self.sigma, self.sensitivity)

    def pairs(self) -> dict[str, Pair]:
        shift, sigma = self.sensitivity, self.sigma
        reach = math.ceil(SPAN * sigma) + 1
        x = np.arange(-reach, reach + shift + 1)
        log_weight = -0.5 * (x / sigma) ** 2
        log_total = math.log(math.fsum(np.exp(log_weight)))
        log_p = log_weight - log_total
        log_q = -0.5 * ((x - shift) / sigma) ** 2 - log_total
        p, q = np.exp(log_p), np.exp(log_q)
        keep = (p > 0) | (q > 0)
        order = np.nonzero(keep)[0][::-1]  # the loss falls with x
        unit = Fraction(shift) / (2 * typed(sigma) ** 2)
        indices = (shift - 2 * x[order]).astype(np.int64)
        losses = float(unit) * indices
        relative = UNIT * (16 + 4 * float(np.abs(log_p[order]).max()))
        lattice = Lattice(Fraction(0), unit, indices, p[order])
        return {
            "both": FinitePair(
                losses,
                p[order],
                q[order],
                log_p=log_p[order],
                lattice=lattice,
                relative=relative,
                unbounded=True,
            )
        }

    def group(self, size: int) -> Family:
        return attrs.evolve(self, sensitivity=self.sensitivity * size)


@attrs.frozen
class DiscreteLaplace(Family):
    """Discrete Laplace (two-sided geometric) noise, mass proportional to e^(-|x| / scale), on an integer query."""

    kind: ClassVar[str] = "discrete_laplace"
    because: ClassVar[str] = "geometric mechanism, exact loss lattice (Ghosh, Roughgarden and Sundararajan 2009)"
    scale: float = checked(checks.positive, "scale")
    sensitivity: int = checked(checks.count, "sensitivity", default=1, least=1)

    def __attrs_post_init__(self) -> None:
        _too_many("sensitivity", self.sensitivity, self.sensitivity)
        _too_little("scale", self.scale, self.sensitivity)

    def pairs(self) -> dict[str, Pair]:
        shift = self.sensitivity
        exact = 1 / typed(self.scale)
        a = float(exact)
        j = np.arange(shift + 1)
        log_p = math.log(math.tanh(a / 2)) - a * j
        log_p[0] = -math.log1p(math.exp(-a))
        log_p[-1] = -math.log1p(math.exp(-a)) - a * shift
        log_p = log_p[::-1]
        p = np.exp(log_p)
        indices = (2 * np.arange(shift + 1) - shift).astype(np.int64)
        relative = UNIT * (16 + 4 * float(np.abs(log_p).max()))
        lattice = Lattice(Fraction(0), exact, indices, p)
        losses = a * indices
        return {"both": FinitePair(losses, p, p[::-1].copy(), log_p=log_p, lattice=lattice, relative=relative)}

    def group(self, size: int) -> Family:
        return attrs.evolve(self, sensitivity=self.sensitivity * size)
