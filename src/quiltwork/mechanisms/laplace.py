"""Laplace noise on a total."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from quiltwork import checks
from quiltwork.compose.constructors import discrete_laplace
from quiltwork.compose.constructors import laplace as continuous_laplace
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.discrete import MOST_ATOMS
from quiltwork.mechanisms import sampling
from quiltwork.mechanisms.release import Noise, Release
from quiltwork.mechanisms.scales import certified_scale, stated
from quiltwork.mechanisms.totals import Total, whole
from quiltwork.numbers.stated import Stated, typed

__all__ = ["laplace", "laplace_loss", "laplace_scale", "total_of"]


def total_of(total: Any, sensitivity: Any) -> Total:
    """The total and its sensitivity, checked to be of one kind."""
    if isinstance(total, Total):
        if sensitivity is not None:
            raise InvalidParameter("sensitivity", sensitivity, "left out", "the total brings its own")
        return total
    if sensitivity is None:
        allowed = "the most that one changed entry moves the total"
        raise InvalidParameter("sensitivity", None, allowed, "or give the total as bounded_sum(values, low, high)")
    return Total(total, sensitivity)


def laplace_loss(scale: Any, sensitivity: Any) -> Loss:
    """The loss of Laplace noise on a total of this sensitivity; an int says that the total is an integer.

    Integers: the discrete Laplace, exactly. More scale is never worse (the noise is then the sum of the noise of the
    smaller scale and another), nor is a smaller shift (likelihood ratios are monotone).
    Floats: discrete noise on a lattice of step h. With e = sensitivity / scale and a = h / scale, its privacy profile
    meets the Laplace profile 1 - e^((x - e) / 2) at losses x that are 2a apart, and is linear in u = e^x between. The
    chord of sqrt(u) there is at least sqrt(u) / cosh(a / 2), and 2 log cosh(a / 2) <= min(a, a^2 / 4): so the Laplace
    mechanism of sensitivity + min(h, h a / 4) dominates. It is what is claimed, with the sensitivity rounded up; also
    for integers of sensitivity 500000 and more.
    """
    scale = stated("scale", scale)
    if whole(sensitivity):
        step = checks.count("sensitivity", sensitivity, least=1)
        if step < MOST_ATOMS:
            return discrete_laplace(scale, step)
        return _dominating(scale, Fraction(step) + min(Fraction(1), 1 / (4 * typed(scale))))
    reach = checks.moderate("sensitivity", sensitivity)
    return _dominating(scale, Stated(reach).most + Fraction(sampling.GRANULARITY))


def _dominating(scale: float, sensitivity: Fraction) -> Loss:
    """A Laplace mechanism whose epsilon is no smaller than sensitivity / scale, in doubles and in decimals."""
    least = sensitivity / typed(scale)
    reach = float(sensitivity)
    while Fraction(reach / scale) < least or typed(reach) / typed(scale) < least:
        reach = math.nextafter(reach, math.inf)
    return continuous_laplace(scale, reach)


def laplace(total: int | float | Total, scale: float, sensitivity: int | float | None = None) -> Release[int | float]:
    """The total plus Laplace noise of this scale.

    An int total needs an int sensitivity, a float total a float one. Everything is checked, and the loss is known,
    before anything is drawn.
    """
    given = total_of(total, sensitivity)
    scale = stated("scale", scale)
    loss = laplace_loss(scale, given.sensitivity)
    size = Stated(scale).above
    if whole(given.value):
        value: int | float = sampling.discrete_laplace([int(given.value)], size)[0]
        return Release(value, loss, Noise("discrete Laplace", size))
    value = sampling.lattice_laplace(float(given.value), size)
    return Release(value, loss, Noise("Laplace on multiples of 2^-1074", size))


def laplace_scale(epsilon: Any, sensitivity: Any) -> float:
    """The least scale, up to a few units in the last place, whose certified epsilon is at most the one asked for."""
    epsilon = checks.moderate("epsilon", epsilon)
    reach = (
        checks.count("sensitivity", sensitivity, least=1)
        if whole(sensitivity)
        else float(checks.moderate("sensitivity", sensitivity))
    )
    exact = typed(reach) / typed(epsilon)
    stated("scale", float(exact))
    return certified_scale(lambda scale: laplace_loss(scale, reach), exact, epsilon)
