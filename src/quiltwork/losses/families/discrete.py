"""Noise on the integers, whose losses live on a lattice.

The discrete Gaussian has mass at x proportional to e^(-x^2 / 2 sigma^2), the discrete Laplace law (two-sided geometric)
mass proportional to e^(-|x| / scale).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.dominating_pair import Lattice, Pair
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.family import ASSUMED, POSITIVE, WHOLE, Costs, Family, marked, parameter
from quiltwork.losses.transforms.discrete_gaussian import LEAST_SIGMA, DiscreteGaussianTransform
from quiltwork.losses.transforms.transform import TooCostly, Transform
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import typed

MOST_ATOMS = 500_000
LEAST_NOISE = 1e9  # the sensitivity over the noise is at most this: beyond, nothing is hidden
CELLS = 8_000  # of a law that is too wide to list
SPAN = 38.7  # standard deviations kept: beyond, e^(-x^2/2) is below the least double


class TooWide(Unsupported, TooCostly):
    """A list that is too long: methods that want one decline, and what cannot do without it is refused."""


class DiscreteGaussianPair(FinitePair):
    """Discrete Gaussian noise of any sigma: known by its transform, its values listed only when they are asked for."""

    whole, high, low = False, math.inf, -math.inf
    reveal = vanish = loss_error = faintest = 0.0
    stated, stated_masses = False, None

    def __init__(self, sigma: float, sensitivity: int) -> None:
        self.sigma, self.sensitivity = sigma, sensitivity
        self.step = Fraction(sensitivity) / typed(sigma) ** 2
        self.relative = UNIT * (20 + 2 * (SPAN + 2.0 + sensitivity / sigma) ** 2 + 4 * abs(math.log(sigma)))

    @cached_property
    def _columns(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, Lattice]:
        """Losses, masses under P and Q, log masses under P, and the lattice."""
        sigma, shift = self.sigma, self.sensitivity
        if not self.listable:
            raise TooWide(
                f"the list of values of discrete Gaussian noise of sigma {sigma:g}",
                f"there are more than {MOST_ATOMS}",
                "compose it, or sample it, or use the continuous family",
            )
        reach = math.ceil(SPAN * sigma) + 1
        x = np.arange(-reach, reach + 1)
        x = np.union1d(x, x + shift)  # far apart, nothing between them has mass
        log_weight = -0.5 * (x / sigma) ** 2
        log_total = math.log(math.fsum(np.exp(log_weight)))
        log_p = log_weight - log_total
        p, q = np.exp(log_p), np.exp(-0.5 * ((x - shift) / sigma) ** 2 - log_total)
        order = np.nonzero((p > 0) | (q > 0))[0][::-1]  # the loss falls with x
        indices = (shift - 2 * x[order]).astype(np.int64)
        p, q, log_p = p[order], q[order], log_p[order]
        return float(self.step / 2) * indices, p, q, log_p, Lattice(Fraction(0), self.step / 2, indices, p)

    @property
    def listable(self) -> bool:
        """Whether there are few enough values."""
        return min(4 * SPAN * self.sigma, 2 * SPAN * self.sigma + self.sensitivity) <= MOST_ATOMS

    def in_cells(self, dominating: bool) -> FinitePair:
        """Runs of m neighbouring outputs as one: what they tell together, or a pair that dominates.

        Together they tell no more (post-processing). Splitting a run's masses onto its two outermost losses, both kept,
        tells no less: D is convex in e^eps. With t = x/sigma^2 at its centre x a run has the mass f(x) S(t), where
        S(t) = sum of w_i e^(-it) and w_i = e^(-i^2/2 sigma^2) is between 1 - h and 1, h = m^2 / 8 sigma^2. Its loss is
        that of x plus log S(t) - log S(t - b): dropping the w_i moves the mean of i, which is the slope of log S, by no
        more than m h, and the loss by no more than m h b.
        """
        sigma, shift, step = self.sigma, self.sensitivity, float(self.step)
        m = math.ceil(2 * SPAN * sigma / CELLS) | 1
        reach = math.ceil((SPAN * sigma + 1) / m)
        x = m * np.arange(-reach, reach + 1.0)
        x = np.union1d(x, x + (m * round(shift / m) if shift < 4 * reach * m else shift))[::-1]  # the loss falls
        h = (m / sigma) ** 2 / 8
        runs = [_log_run(y / sigma / sigma, m) for y in (x, x - shift)]
        log_total = math.log(sigma) + 0.5 * math.log(2 * math.pi)
        log_p, log_q = (
            -0.5 * (y / sigma) ** 2 - log_total + run - h / 2 for y, run in zip((x, x - shift), runs, strict=True)
        )
        moved = runs[0] - runs[1]
        wrong = m * h * step + 64 * UNIT * math.log(m + 1)
        losses = step * (0.5 * shift - x)
        relative = 0.51 * h + UNIT * (64 + 8 * min(float(np.abs(log_p).max()), 745.0)) + wrong
        if dominating:
            half = 0.5 * (m - 1) * step
            share = np.expm1(-np.clip(half + moved + wrong, 0.0, 2 * half)) / math.expm1(-2 * half)
            losses = np.concatenate((losses - half, losses + half))
            with np.errstate(divide="ignore"):
                log_p = np.concatenate((log_p + np.log1p(-share), log_p + np.log(share)))
            order = np.argsort(losses, kind="stable")
            losses, log_p = losses[order], log_p[order]
            log_q = log_p - losses
        else:
            losses = losses + moved - wrong
        p, q = np.exp(log_p), np.exp(log_q)
        kept = (p > 0) | (q > 0)
        return FinitePair(
            losses[kept],
            p[kept],
            q[kept],
            log_p=log_p[kept],
            relative=relative,
            ends=(-math.inf, math.inf),
        )

    @property
    def losses(self) -> FloatArray:  # type: ignore[override]
        return self._columns[0]

    @property
    def p(self) -> FloatArray:  # type: ignore[override]
        return self._columns[1]

    @property
    def q(self) -> FloatArray:  # type: ignore[override]
        return self._columns[2]

    @property
    def log_p(self) -> FloatArray:  # type: ignore[override]
        return self._columns[3]

    def lattice(self) -> Lattice | None:
        return self._columns[4]

    @property
    def rounding(self) -> float:
        return 8 * UNIT * float(self.step) * (SPAN * self.sigma + 1 + self.sensitivity / 2)

    def swapped(self) -> DiscreteGaussianPair:
        return self

    def transform(self, count: int) -> Transform:
        if self.sigma < LEAST_SIGMA:
            return super().transform(count)
        return DiscreteGaussianTransform(self.sigma, self.sensitivity, count)


def _log_run(t: FloatArray, m: int) -> FloatArray:
    """log of sum of e^(-it) over the m whole numbers around 0: sinh(mt/2) / sinh(t/2)."""
    size = np.maximum(np.abs(t), 1e-290)
    value: FloatArray = 0.5 * (m - 1) * size + np.log(np.expm1(-m * size) / np.expm1(-size))
    return value


def _too_many(name: str, value: float, atoms: float) -> None:
    if atoms > MOST_ATOMS:
        raise InvalidParameter(name, value, f"small enough for {MOST_ATOMS} atoms", "use the continuous family instead")


def _too_little(name: str, value: float, sensitivity: int) -> None:
    if sensitivity / LEAST_NOISE > value:
        raise InvalidParameter(name, value, f"at least {sensitivity / LEAST_NOISE:.3g} at sensitivity {sensitivity}")


class DiscreteFamily(Family):
    """Whole steps only: the sensitivity is an integer."""

    sensitivity: int

    def group(self, size: int) -> Family:
        return attrs.evolve(self, **{"sensitivity": self.sensitivity * size})

    def attained(self, distance: float) -> Family:
        return self.grown(distance)


@attrs.frozen
class DiscreteGaussian(DiscreteFamily):
    """Discrete Gaussian noise on an integer query."""

    kind: ClassVar[str] = "discrete_gaussian"
    words: ClassVar[str] = "discrete Gaussian noise, sigma {sigma:g}, sensitivity {sensitivity}"
    label: ClassVar[str] = "Discrete Gaussian noise"
    dial: ClassVar[str] = "sigma"
    tabulated: ClassVar[str] = "sigma"
    because: ClassVar[str] = "discrete Gaussian mechanism, exact loss lattice (Canonne, Kamath and Steinke 2020)"
    sigma: float = attrs.field(**parameter("sigma", POSITIVE, "Standard deviation (sigma)", "40"))
    sensitivity: int = attrs.field(
        default=marked(1, ASSUMED), **parameter("sensitivity", WHOLE, "Sensitivity (whole)", "1")
    )

    def __attrs_post_init__(self) -> None:
        _too_little("sigma", self.sigma, self.sensitivity)

    def pairs(self) -> dict[str, Pair]:
        return {"both": _gaussian_pair(self)}

    @property
    def listable(self) -> bool:
        """Whether it has few enough values for a list."""
        return _gaussian_pair(self).listable

    def costs(self) -> Costs:
        """(sensitivity / sigma)^2 / 2 of zCDP (Canonne, Kamath and Steinke 2020, Theorem 4)."""
        return Costs(rho=(self.sensitivity / typed(self.sigma)) ** 2 / 2)

    def has_moment(self, tilt: float, rate: float = 1.0) -> bool:
        """Whether what lies beyond SPAN deviations does not matter.

        p^alpha q^(1-alpha) is a Gaussian of the same width, shifted by no more than a = alpha sensitivity / sigma
        deviations, and of mass e^(a^2/2) at most. What is left out there must be below e^-35 of the moment, which is at
        least 1; for the test of q against a mixture of weight `rate`, (1 - rate)^-tilt times the tail of q is left out.
        """
        shift = (1 + tilt) * self.sensitivity / self.sigma
        left = (SPAN - shift) ** 2 / 2 if shift < SPAN else 0.0
        if rate == 1:
            return left >= 36
        return left >= 36 + shift**2 / 2 and tilt * -math.log1p(-rate) <= 700


@lru_cache(maxsize=8)  # a list may take 16 MB
def _gaussian_pair(family: DiscreteGaussian) -> DiscreteGaussianPair:
    return DiscreteGaussianPair(family.sigma, family.sensitivity)


@attrs.frozen
class DiscreteLaplace(DiscreteFamily):
    """Discrete Laplace (geometric) noise on an integer query."""

    kind: ClassVar[str] = "discrete_laplace"
    words: ClassVar[str] = "discrete Laplace noise, scale {scale:g}, sensitivity {sensitivity}"
    label: ClassVar[str] = "Discrete Laplace noise"
    dial: ClassVar[str] = "scale"
    tabulated: ClassVar[str] = "sensitivity"
    because: ClassVar[str] = "geometric mechanism, exact loss lattice (Ghosh, Roughgarden and Sundararajan 2009)"
    scale: float = attrs.field(**parameter("scale", POSITIVE, "Scale", "40"))
    sensitivity: int = attrs.field(
        default=marked(1, ASSUMED), **parameter("sensitivity", WHOLE, "Sensitivity (whole)", "1")
    )

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

    def costs(self) -> Costs:
        return Costs(epsilon=self.sensitivity / typed(self.scale))
