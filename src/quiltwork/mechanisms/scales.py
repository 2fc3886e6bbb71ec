"""Scales that are safe both as the decimal that was typed and as the double that the sampler reads.

quiltwork reads a stated number as its decimal (0.3 is three tenths); OpenDP reads the exact value of the double, which
for 0.3 is a little less. A scale is therefore raised until what is drawn is covered by what is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from quiltwork import checks
from quiltwork.compose.calibrate import calibrate
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter, Unreachable
from quiltwork.numbers.stated import Stated, above

ULPS_TRIED = (0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 256, 1024)  # units in the last place, about
LEAST_SIGMA = 2.0**-23  # the least power of two whose shortest decimal is exact


def stated(name: str, scale: Any) -> float:
    """A scale as typed: a finite number in [1e-100, 1e100]."""
    return checks.moderate(name, scale, "it is the scale of the noise")


def exact_decimal(sigma: float) -> float:
    """The next number up whose decimal and binary forms agree: what is claimed is then exactly what is drawn.

    For discrete Gaussian noise no proof is used that more noise is always better, so the two must be one number.
    Such numbers j / 2^m lie within 5e-5 (relative) above any sigma from 1 to 10000.

    >>> exact_decimal(2.5), exact_decimal(7.3)
    (2.5, 7.3000030517578125)
    """
    least = max(Stated(sigma).most, Fraction(LEAST_SIGMA))
    if least == Stated(sigma).least:
        return sigma
    for bits in range(53 - math.frexp(float(least))[1], -1, -1):
        found = Fraction(math.ceil(least * 2**bits), 2**bits)
        number = float(found)
        if Stated(number).readings == (found, found):
            return number
    raise InvalidParameter("sigma", sigma, "at most 1e15", "so that it can be written exactly")


def certified_scale(make_loss: Callable[[float], Loss], exact: Fraction, epsilon: float) -> float:
    """A scale whose certified epsilon is at most `epsilon`: the first that passes, a few units above `exact`."""
    stated("scale", float(exact))
    for units in ULPS_TRIED:
        scale = above(exact * (1 + Fraction(units, 2**52)))
        if float(make_loss(scale).epsilon(0.0).upper) <= epsilon:
            return scale
    raise Unreachable(f"epsilon {epsilon!r}", f"scales just above {float(exact)!r}", "ask for a more usual epsilon")


def certified_sigma(make_loss: Callable[[float], Loss], epsilon: Any, delta: Any, start: float) -> float:
    """A sigma whose certified epsilon at delta is at most `epsilon`, and nearly the least one."""
    epsilon = checks.moderate("epsilon", epsilon)
    delta = checks.probability("delta", delta)
    if not 0 < delta < 1:
        raise InvalidParameter("delta", delta, "in (0, 1)", "Gaussian noise has no epsilon at delta = 0")
    guess = calibrate(make_loss, epsilon, delta, start=start, tolerance=1e-6)
    for units in range(20):
        sigma = above(Fraction(guess) * (1 + Fraction(units, 10**6)))
        if float(make_loss(sigma).epsilon(delta).upper) <= epsilon:
            return sigma
    raise Unreachable(f"epsilon {epsilon!r} at delta {delta!r}", f"sigmas near {guess!r}")
