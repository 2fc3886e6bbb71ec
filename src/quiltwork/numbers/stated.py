"""Numbers as they were typed, and doubles on the safe side of exact numbers.

A stated 0.3 is three tenths, not the double nearest to it.  A double that is handed on may be read by others as the
double or as the decimal that it prints as, so `below` and `above` hold for both readings.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.rounding import UNIT, down, up

DIGITS = 50  # carried by decimals before a result is rounded once
SPARE = Fraction(1, 10 ** (DIGITS - 10))  # a Decimal result of DIGITS digits is off by far less, relatively
LONGEST_TEXT = 1000  # characters, and size of the exponent, of a number given as a text
_LOG2 = math.log(2.0)


# ---- from what was typed to exact numbers


def typed(value: Any) -> Fraction:
    """A number that was checked already, as it was typed; fractions, decimals and whole numbers are kept."""
    if isinstance(value, float):
        return Fraction(float.__repr__(value))  # also of numpy's doubles, whose own repr is longer
    if isinstance(value, (int, Fraction, Decimal)):
        return Fraction(value)
    return Fraction(int(value)) if isinstance(value, np.integer) else Fraction(repr(float(value)))


def typed_decimal(number: float) -> Decimal:
    """The same as a Decimal: the shortest one that rounds to this double."""
    return Decimal(repr(number))


def exactly(name: str, value: Any, hint: str = "") -> Fraction:
    """A positive number in [1e-100, 1e100], as it was typed."""
    checks.moderate(name, value, hint)
    return typed(value)


def fraction(value: Any) -> Fraction | None:
    """The rational number that was typed, also as a text such as "1/3"; None for anything that is none."""
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (float, np.floating)):
        return typed(float(value)) if math.isfinite(value) else None
    if isinstance(value, (str, Decimal)):
        value = str(value)
        if len(value) > LONGEST_TEXT or not -LONGEST_TEXT <= _exponent(value) <= LONGEST_TEXT:
            return None
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            return None
    return Fraction(int(value.numerator), int(value.denominator)) if isinstance(value, numbers.Rational) else None


def rational(name: str, value: Any, allowed: str, holds: Callable[[Fraction], bool] = lambda number: True) -> Fraction:
    """The rational number that was typed, in a range that `allowed` says in words."""
    found = fraction(value)
    if found is None or not holds(found):
        raise InvalidParameter(name, value, allowed)
    return found


def _exponent(text: str) -> int:
    """The power of ten in a text such as "1e-5", which would otherwise be unfolded into its digits."""
    _, _, power = text.lower().partition("e")
    digits = power.strip().replace("_", "")
    return int(digits) if digits.lstrip("+-").isdecimal() else 0


@attrs.frozen
class Stated:
    """A finite double that may stand for itself or for the decimal that was typed.

    >>> Stated(0.5).below, Stated(0.1).below == 0.1 - 2.0**-56, Stated(0.1).above, Stated(0.3).above > 0.3
    (0.5, True, 0.1, True)
    """

    number: float

    @property
    def exact(self) -> Fraction:
        """The decimal that was typed."""
        return typed(self.number)

    @property
    def readings(self) -> tuple[Fraction, Fraction]:
        """The double as it is and as the decimal it prints as."""
        return Fraction(self.number), typed(self.number)

    @property
    def least(self) -> Fraction:
        """The smaller reading."""
        return min(self.readings)

    @property
    def most(self) -> Fraction:
        """The larger reading."""
        return max(self.readings)

    @property
    def below(self) -> float:
        """The greatest double whose own value is no larger than either reading."""
        return self.number if Decimal(self.number) <= typed_decimal(self.number) else down(self.number)

    @property
    def above(self) -> float:
        """The least double whose own value is no smaller than either reading."""
        return self.number if Decimal(self.number) >= typed_decimal(self.number) else up(self.number)


# ---- from exact numbers to doubles


def below(exact: Fraction) -> float:
    """The greatest double that is no larger in both readings."""
    return _first(exact, -math.inf, lambda number: Stated(number).most <= exact)


def above(exact: Fraction) -> float:
    """The least double that is no smaller in both readings; infinite past the largest."""
    return _first(exact, math.inf, lambda number: Stated(number).least >= exact)


def typed_below(exact: Fraction) -> float:
    """The greatest double that, read as typed, is no larger: a bound that was stated as a double stays that double."""
    return _first(exact, -math.inf, lambda number: typed(number) <= exact)


def typed_above(exact: Fraction) -> float:
    """The least double that, read as typed, is no smaller; infinite past the largest."""
    return _first(exact, math.inf, lambda number: typed(number) >= exact)


def double_below(exact: Fraction) -> float:
    """The greatest double that is no larger as it is."""
    return _first(exact, -math.inf, lambda number: Fraction(number) <= exact)


def double_above(exact: Fraction) -> float:
    """The least double that is no smaller as it is; infinite past the largest."""
    return _first(exact, math.inf, lambda number: Fraction(number) >= exact)


def times(count: int | Fraction, number: float) -> float:
    """A multiple of a stated number, as one would state it; never smaller."""
    return typed_above(count * typed(number))


def error_level(confidence: float) -> float:
    """1 - confidence, no larger in either reading of the confidence."""
    return double_below(1 - Stated(confidence).most)


def _first(exact: Fraction, towards: float, good: Callable[[float], bool]) -> float:
    """From the nearest double to the first one, in this direction, that will do."""
    try:
        number = float(exact)
    except OverflowError:
        far = math.inf if exact > 0 else -math.inf
        return far if far == towards else math.nextafter(far, towards)
    while math.isfinite(number) and not good(number):
        number = math.nextafter(number, towards)
    return number


# ---- square roots and logarithms of exact numbers


def root(square: Fraction, bits: int = 256) -> tuple[Fraction, Fraction]:
    """Two rationals, 2^-bits of themselves apart, with the square root between them; one when it is that rational.

    >>> root(Fraction(9, 4))
    (Fraction(3, 2), Fraction(3, 2))
    """
    if square == 0:
        return Fraction(0), Fraction(0)
    shift = (square.denominator.bit_length() - square.numerator.bit_length()) // 2 + bits + 1
    scaled, unit = square * Fraction(4) ** shift, Fraction(2) ** -shift
    floor = math.isqrt(scaled.numerator // scaled.denominator)
    whole = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    return (whole, whole) if whole**2 == square else (floor * unit, (floor + 1) * unit)


def log_above(ratio: Fraction) -> float:
    """A double no smaller than log(ratio), for ratio >= 1.

    The quotient is rounded first: that moves the logarithm by an absolute error, which the second term covers.
    """
    with localcontext(prec=DIGITS):
        value = Fraction((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln())
    return above(value * (1 + SPARE) + SPARE)


def log_ends(ratio: Fraction) -> tuple[Fraction, Fraction]:
    """Two ends of log(ratio), for ratio > 0, less than 4 + 4 |log2 ratio| units of roundoff apart from the truth.

    With ratio = m 2^s and m in (1/2, 2): the quotient of two whole numbers is rounded correctly (a unit), the
    logarithm of m is off by two units at most, s log 2 by two of its own, and the sum by one.
    """
    if ratio == 1:
        return Fraction(0), Fraction(0)
    top, bottom = ratio.numerator, ratio.denominator
    shift = 0 if bottom <= 2 * top and top <= 2 * bottom else top.bit_length() - bottom.bit_length()
    scaled = (top << -shift) / bottom if shift < 0 else top / (bottom << shift)
    value = math.log(scaled) + shift * _LOG2
    error = UNIT * (4.0 + 4.0 * abs(shift))
    return Fraction(down(value - error)), Fraction(up(value + error))
