"""Stated numbers as exact fractions, and doubles on a chosen side of exact numbers.

A stated 0.3 is three tenths.  A double that is handed back may be read by others as the double or as the decimal that
it prints as, so `below` and `above` hold for both readings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.errors import InvalidParameter

__all__ = ["above", "below", "entries", "positives", "readings", "root", "stated", "typed_ends"]

_BITS = 256  # relative precision of a square root
_LARGEST = 10_000  # mechanisms on one statistic


def stated(value: Any) -> Fraction:
    """A number that was checked already, as it was typed; fractions, decimals and whole numbers are kept."""
    if isinstance(value, (int, Fraction, Decimal, np.integer)):
        return Fraction(int(value)) if isinstance(value, np.integer) else Fraction(value)
    return Fraction(repr(float(value)))


def positives(name: str, values: Any, hint: str = "") -> tuple[Fraction, ...]:
    """One or more positive numbers, exactly; each in [1e-100, 1e100]."""
    found = entries(name, values, "a list of positive numbers")
    if not found:
        raise InvalidParameter(name, values, "one number or more", hint)
    if len(found) > _LARGEST:
        raise InvalidParameter(name, f"{len(found)} numbers", f"at most {_LARGEST}")
    return tuple(exactly(name, value, hint) for value in found)


def exactly(name: str, value: Any, hint: str = "") -> Fraction:
    """A positive number in [1e-100, 1e100], exactly."""
    checks.moderate(name, value, hint)
    return stated(value)


def entries(name: str, values: Any, allowed: str) -> list[Any]:
    """The entries of a list, tuple or one-dimensional array."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind == "b":
            raise InvalidParameter(name, f"{values.dtype} of shape {values.shape}", allowed)
        return list(values)
    if not isinstance(values, (list, tuple)):
        raise InvalidParameter(name, values, allowed)
    return list(values)


def root(square: Fraction) -> tuple[Fraction, Fraction]:
    """Two rationals, 2^-256 of themselves apart, with the square root between them; one when it is that rational.

    >>> root(Fraction(9, 4))
    (Fraction(3, 2), Fraction(3, 2))
    """
    if square == 0:
        return Fraction(0), Fraction(0)
    shift = (square.denominator.bit_length() - square.numerator.bit_length()) // 2 + _BITS + 1
    scaled, unit = square * Fraction(4) ** shift, Fraction(2) ** -shift
    floor = math.isqrt(scaled.numerator // scaled.denominator)
    exact = math.isqrt(square.numerator) ** 2 == square.numerator
    if exact and math.isqrt(square.denominator) ** 2 == square.denominator:
        whole = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
        return whole, whole
    return floor * unit, (floor + 1) * unit


def readings(number: float) -> tuple[Fraction, Fraction]:
    """A finite double as it is and as the decimal it prints as."""
    return Fraction(number), Fraction(repr(number))


def below(exact: Fraction) -> float:
    """The greatest double that is no larger in both readings."""
    return _nearest(exact, -math.inf, lambda number: max(readings(number)) <= exact)


def above(exact: Fraction) -> float:
    """The least double that is no smaller in both readings; infinite past the largest."""
    return _nearest(exact, math.inf, lambda number: min(readings(number)) >= exact)


def typed_ends(low: Fraction, high: Fraction) -> tuple[float, float]:
    """Doubles around an enclosure, read as typed: a bound that was stated as a double is kept as that double."""
    lower = _nearest(low, -math.inf, lambda number: Fraction(repr(number)) <= low)
    return lower, _nearest(high, math.inf, lambda number: Fraction(repr(number)) >= high)


def _nearest(exact: Fraction, towards: float, good: Callable[[float], bool]) -> float:
    """From the nearest double to the first one, in this direction, that will do."""
    try:
        number = float(exact)
    except OverflowError:  # past the largest double: positive here, as every number of this room
        return math.inf if towards > 0 else math.nextafter(math.inf, 0.0)
    while math.isfinite(number) and not good(number):
        number = math.nextafter(number, towards)
    return number
