"""Gaussian noise on a total."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from quiltwork import checks
from quiltwork.compose.constructors import discrete_gaussian, zcdp
from quiltwork.compose.loss import Loss
from quiltwork.losses.families.discrete import MOST_ATOMS, SPAN
from quiltwork.mechanisms import sampling
from quiltwork.mechanisms.laplace import total_of
from quiltwork.mechanisms.release import Noise, Release
from quiltwork.mechanisms.scales import certified_sigma, exact_decimal, stated
from quiltwork.mechanisms.totals import Total, whole
from quiltwork.numbers.stated import Stated, above, typed

__all__ = ["gaussian", "gaussian_loss", "gaussian_sigma", "integer_sigma"]


def _listed(sigma: float, sensitivity: int) -> bool:
    """Whether the exact loss has few enough atoms to be listed, with room for the rounding of sigma."""
    return 2 * SPAN * sigma * 1.001 + sensitivity < MOST_ATOMS


def integer_sigma(sigma: float, sensitivity: int) -> float:
    """The sigma that is drawn on integers: exact in decimals where the exact loss is claimed."""
    return exact_decimal(sigma) if _listed(sigma, sensitivity) else Stated(sigma).above


def gaussian_loss(sigma: Any, sensitivity: Any) -> Loss:
    """The loss of Gaussian noise on a total of this sensitivity; an int says that the total is an integer.

    Integers: the discrete Gaussian's exact loss, of the sigma that is drawn (`exact_decimal`: up to 5e-5 above the one
    given, from 1 on). A smaller shift is never worse, since likelihood ratios are monotone. With more than half a
    million atoms (sigma above about 6450), and for floats, only zero-concentrated privacy is claimed, with
    rho = sensitivity^2 / (2 sigma^2), which discrete Gaussian noise has on every lattice.

    Reference: Canonne, Kamath and Steinke 2020, Theorem 4.
    """
    sigma = stated("sigma", sigma)
    if whole(sensitivity):
        step = checks.count("sensitivity", sensitivity, least=1)
        if _listed(sigma, step):
            return discrete_gaussian(exact_decimal(sigma), step)
        reach = Fraction(step)
    else:
        number = checks.moderate("sensitivity", sensitivity)
        reach = Stated(number).most
    return zcdp(above((reach / typed(sigma)) ** 2 / 2))


def gaussian(total: int | float | Total, sigma: float, sensitivity: int | float | None = None) -> Release[int | float]:
    """The total plus Gaussian noise of this standard deviation.

    An int total needs an int sensitivity, a float total a float one. Everything is checked, and the loss is known,
    before anything is drawn.
    """
    given = total_of(total, sensitivity)
    sigma = stated("sigma", sigma)
    loss = gaussian_loss(sigma, given.sensitivity)
    if whole(given.value):
        size = integer_sigma(sigma, int(given.sensitivity))
        value: int | float = sampling.discrete_gaussian([int(given.value)], size)[0]
        return Release(value, loss, Noise("discrete Gaussian", size))
    size = Stated(sigma).above
    value = sampling.lattice_gaussian(float(given.value), size)
    return Release(value, loss, Noise("Gaussian on multiples of 2^-1074", size))


def gaussian_sigma(epsilon: Any, delta: Any, sensitivity: Any) -> float:
    """Nearly the least sigma whose certified epsilon at delta is at most the one asked for."""
    start = float(checks.moderate("sensitivity", sensitivity))
    return certified_sigma(lambda sigma: gaussian_loss(sigma, sensitivity), epsilon, delta, start)
