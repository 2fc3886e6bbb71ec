"""Stated numbers as the decimals that were typed: 0.3 is three tenths, not the double nearest to it."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

DIGITS = 50  # carried before a result is rounded once


def typed(number: float) -> Decimal:
    """The decimal that was typed: the shortest one that rounds to this double."""
    return Decimal(repr(number))


def at_least(exact: Fraction) -> float:
    """The least double that, read as typed, is no smaller than this number; infinite past the largest."""
    try:
        number = float(exact)
    except OverflowError:
        return math.inf
    return number if Fraction(repr(number)) >= exact else math.nextafter(number, math.inf)


def times(count: int | Fraction, number: float) -> float:
    """A multiple of a stated number, as one would state it; never smaller."""
    return at_least(count * Fraction(repr(number)))
