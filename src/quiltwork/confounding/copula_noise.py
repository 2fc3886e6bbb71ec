"""Noises tied together by a Gaussian copula, with the guarantee that they really have.

Appendix G of seed 000 draws z_1 = eta(s) + sd n_1 and z_2, and turns them into noises by the distribution functions of
z_1 and of rho z_1 + sqrt(1 - rho^2) z_2.  These contain eta(s) again, so that it cancels: the noises are a Gaussian
copula of correlation

    r = rho sd / sqrt(rho^2 sd^2 + 1 - rho^2),

whatever the secret is.  The copula tells nothing, (0, 0), and protects nothing: what leaks is what the sums
y_i = q_i + noise_i say together.  When q given s is Gaussian with a mean that moves by Delta and a covariance C that
does not, that is exactly the test G_mu with mu^2 = Delta' (C + N)^-1 Delta, N the covariance of the noises.

The finite form, `gaussian_copula`, ties two tables P(y_1 | x), P(y_2 | x) together by such a copula.

Reference: theory/confounding.md section 5; seed 000, appendix G (Theorem 4 (ii) and Proposition 3 are false).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import gdp
from quiltwork.compose.loss import Loss, compose
from quiltwork.confounding.finite.copula import gaussian_copula
from quiltwork.curves.curve import BaseCurve, Ends, Question
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.rounding import down, up
from quiltwork.numbers.stated import fraction

__all__ = ["CopulaCurve", "CopulaPerturbation", "effective_correlation", "gaussian_copula"]

_BITS = 200  # of the enclosure of r, at first


def effective_correlation(rho: float, sd: float) -> float:
    """The correlation of the copula that the construction of appendix G makes; nearly 1 as soon as rho sd is large.

    >>> round(effective_correlation(0.5, 2 * math.log(100.0) / 0.1), 5)
    0.99982
    """
    slant, spread = _slant(rho), _spread(sd)
    return slant * spread / math.hypot(slant * spread, math.sqrt((1.0 - slant) * (1.0 + slant)))


def _slant(value: Any) -> float:
    rho = checks.real("rho", value, "in (-1, 1)")
    if not -1 < rho < 1:
        raise InvalidParameter("rho", value, "in (-1, 1)", "at the ends the two noises are one")
    return rho


def _spread(value: Any) -> float:
    return checks.moderate("sd", value)


def _noises(value: Any) -> tuple[float, float]:
    found = tuple(checks.moderate("noises", sd) for sd in _pair("noises", value))
    return found[0], found[1]


def _pair(name: str, value: Any) -> Sequence[Any]:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__") or len(value) != 2:
        raise InvalidParameter(name, value, "two numbers")
    return list(value)


@document("copula/1")
@attrs.frozen
class CopulaPerturbation:
    """Two Gaussian noises of standard deviations `noises`, tied by the construction with parameters `rho` and `sd`.

    >>> tied = CopulaPerturbation(0.5, 2.0, noises=(1.0, 1.0))
    >>> round(tied.correlation, 6), round(tied.curve((1.0, -1.0)).epsilon(0.06).safe, 3)
    (0.755929, 7.76)
    """

    rho: float = attrs.field(converter=_slant)
    sd: float = attrs.field(converter=_spread)
    noises: tuple[float, float] = attrs.field(converter=_noises)

    @property
    def correlation(self) -> float:
        """The correlation of the noises, nearest float."""
        return effective_correlation(self.rho, self.sd)

    @property
    def covariance(self) -> FloatArray:
        """The covariance of the noises, nearest floats."""
        first, second = self.noises
        shared = self.correlation * first * second
        return np.array([[first**2, shared], [shared, second**2]])

    def sample(self, rng: np.random.Generator, size: int, state: float = 0.0) -> FloatArray:
        """(size, 2) draws of the noises by the construction: for simulation, not for protecting people.

        `state` is eta(s).  It enters z_1, and the distribution functions take it out again.
        """
        if not isinstance(rng, np.random.Generator):
            raise InvalidParameter("rng", rng, "a numpy random Generator")
        count, mean = checks.count("size", size), checks.real("state", state)
        first = mean + self.sd * rng.standard_normal(count)
        second = rng.standard_normal(count)
        rest = math.sqrt((1.0 - self.rho) * (1.0 + self.rho))
        moved = self.rho * (first - mean)
        # for Gaussian noises the inverse distribution functions only change the scale
        scores = ((first - mean) / self.sd, (moved + rest * second) / math.hypot(self.rho * self.sd, rest))
        return np.column_stack([sd * score for sd, score in zip(self.noises, scores, strict=True)])

    def mu_squared(self, shift: Any, covariance_given_secret: Any = None) -> tuple[Fraction, Fraction]:
        """Rational ends around Delta' (C + N)^-1 Delta; floats are read as the decimals that were typed.

        r^2 is rational, so the square is (u + v r) / (w + z r) with rational u, v, w, z.  Such a ratio is monotone in
        r as long as its denominator, the determinant, keeps its sign: the ends of an enclosure of r give its ends.
        """
        one, two = _shift(shift)
        known = _covariance(covariance_given_secret)
        a, b = (_exact("noises", sd) for sd in self.noises)
        slant, spread = _exact("rho", self.rho), _exact("sd", self.sd)
        square = (slant * spread) ** 2 / ((slant * spread) ** 2 + 1 - slant**2)
        first, second, shared = known[0] + a**2, known[1] + b**2, known[2]
        u, v = one**2 * second + two**2 * first - 2 * one * two * shared, -2 * one * two * a * b
        w, z = first * second - shared**2 - square * (a * b) ** 2, -2 * shared * a * b
        bits = _BITS
        while True:
            low, high = _root(square, bits)
            ends = (low, high) if slant >= 0 else (-high, -low)
            determinants = [w + z * end for end in ends]
            if min(determinants) > 0:  # and so between them; in truth it is at least (1 - r^2) a^2 b^2
                found = [(u + v * end) / bottom for end, bottom in zip(ends, determinants, strict=True)]
                if 2**64 * (max(found) - min(found)) <= max(found):
                    return min(found), max(found)
            bits *= 2

    def mu(self, shift: Any, covariance_given_secret: Any = None) -> tuple[float, float]:
        """Floats around the square root of `mu_squared`."""
        return _mu(self.mu_squared(shift, covariance_given_secret))

    def curve(self, shift: Any, covariance_given_secret: Any = None) -> CopulaCurve:
        """What both noisy values tell about two secrets whose means differ by `shift`; exact up to rounding."""
        return CopulaCurve(*self.mu(shift, covariance_given_secret))

    def guarantee(self, shift: Any, covariance_given_secret: Any = None) -> Guarantee:
        """That curve with its words."""
        return Guarantee(
            self.curve(shift, covariance_given_secret),
            protects="two secrets whose mean answers differ by the given shift, or by a part of it",
            assumes=(
                "the answers given the secret are Gaussian, with a covariance that does not depend on it",
                "the noises are drawn once, from the stated copula, and both noisy answers are seen",
            ),
            because=("two Gaussian laws of one covariance are a test G_mu (theory/confounding.md section 5)",),
        )


@document("copula_curve/1")
@attrs.frozen
class CopulaCurve(BaseCurve):
    """G_mu for a mu between two floats: every answer holds for all of them."""

    least: float
    most: float

    def _losses(self) -> tuple[Loss, Loss]:
        least, most = (gdp(mu) if mu > 0 else compose() for mu in (self.least, self.most))
        return least, most

    def _ends(self, question: Question) -> Ends:
        low, high = (loss._answer(question) for loss in self._losses())
        lower, upper = (high.lower, low.upper) if question.quantity == "beta" else (low.lower, high.upper)
        return Ends(np.asarray(lower), np.asarray(upper), high.method)


def _exact(name: str, value: Any) -> Fraction:
    found = fraction(value)
    if found is None:
        raise InvalidParameter(name, value, "a finite number or a fraction")
    return found


def _shift(value: Any) -> tuple[Fraction, Fraction]:
    one, two = (_exact("shift", part) for part in _pair("shift", value))
    return one, two


def _covariance(value: Any) -> tuple[Fraction, Fraction, Fraction]:
    """Both variances and the covariance of the answers given the secret."""
    if value is None:
        return Fraction(0), Fraction(0), Fraction(0)
    (a, b), (c, d) = (_pair("covariance_given_secret", row) for row in _pair("covariance_given_secret", value))
    first, shared, mirrored, second = (_exact("covariance_given_secret", entry) for entry in (a, b, c, d))
    if shared != mirrored or first < 0 or second < 0 or first * second < shared**2:
        raise InvalidParameter("covariance_given_secret", value, "symmetric and positive semidefinite")
    return first, second, shared


def _root(square: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Two rationals, 2^-bits apart, with the square root between them; one when it is that rational."""
    scaled = square * 4**bits
    floor = math.isqrt(scaled.numerator // scaled.denominator)
    exact = floor * floor == scaled
    return Fraction(floor, 2**bits), Fraction(floor if exact else floor + 1, 2**bits)


def _mu(squares: tuple[Fraction, Fraction]) -> tuple[float, float]:
    low, high = squares
    if high == 0:
        return 0.0, 0.0
    try:
        ends = float(low), float(high)
    except OverflowError:
        raise InvalidParameter("mu", "above 1e154", "at most 1e100") from None
    # a rounded square and its rounded root: two units, and one for a reader who takes mu as the decimal it prints as
    return max(down(math.sqrt(ends[0]), 3), 0.0), up(math.sqrt(ends[1]), 3)
