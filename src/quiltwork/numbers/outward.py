"""Stated numbers rounded to the safe side, whether the double is read as itself or as the decimal that was typed."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.decimals import DIGITS, at_least

SPARE = Fraction(1, 10 ** (DIGITS - 10))  # a Decimal result of DIGITS digits is off by far less, relatively


def least(number: float) -> Fraction:
    """The smaller of the two numbers that a double may stand for."""
    return min(Fraction(number), Fraction(repr(number)))


def most(number: float) -> Fraction:
    """The larger of the two numbers that a double may stand for."""
    return max(Fraction(number), Fraction(repr(number)))


def no_smaller(exact: Fraction) -> float:
    """A double next to this number that is no smaller in either reading; infinite past the largest."""
    number = at_least(exact)
    while math.isfinite(number) and least(number) < exact:
        number = math.nextafter(number, math.inf)
    return number


def no_larger(exact: Fraction) -> float:
    """A double next to this number that is no larger in either reading."""
    return -no_smaller(-exact)


def root(exact: Fraction) -> float:
    """A double no smaller than the square root."""
    with localcontext(prec=DIGITS):
        value = Fraction((Decimal(exact.numerator) / Decimal(exact.denominator)).sqrt())
    return no_smaller(value * (1 + SPARE))


def logarithm(exact: Fraction) -> float:
    """A double no smaller than log(exact), for exact >= 1.

    The quotient is rounded first: that moves the logarithm by an absolute error, which the second term covers.
    """
    with localcontext(prec=DIGITS):
        value = Fraction((Decimal(exact.numerator) / Decimal(exact.denominator)).ln())
    return no_smaller(value * (1 + SPARE) + SPARE)


def whole(name: str, value: Any, least: int = 0) -> int:
    """A count; one that is too long to print is named by its length."""
    if isinstance(value, int) and value.bit_length() > 256:
        allowed = f"an integer from {least} to 2**53"
        raise InvalidParameter(name, f"an integer of {value.bit_length()} bits", allowed)
    return checks.count(name, value, least)
