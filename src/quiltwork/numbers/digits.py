"""Numbers as readable texts: a few digits, rounded to the safe side, and both ends of an interval."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext

NOISE = 1e-12  # a relative excess that outward rounding alone can leave on a number that is a short decimal

SHOWN_DIGITS = 3  # what readers are shown of one end of a bracket; documents keep all digits

_EQUAL_DIGITS = 12  # digits shown when both ends are the same number
_DOUBLE_DIGITS = 17  # digits that tell every double apart
_NARROW = Decimal("1e-6")  # relative width below which an interval is one number and its width
_PLAIN = range(-5, 7)  # decimal exponents written without "e"


def single(value: float) -> str:
    """A number with enough digits to be read, not to be reproduced.

    >>> single(0.1 + 0.2), single(math.inf)
    ('0.3', 'inf')
    """
    return f"{value:.{_EQUAL_DIGITS}g}"


def at_most(value: float, digits: int = SHOWN_DIGITS, noise: float = 0.0) -> str:
    """A few significant digits, rounded up: true after "at most".

    In running text a relative excess below `noise` is not rounded up to a whole digit.

    >>> at_most(0.12341), at_least(0.12349), at_most(math.inf)
    ('0.124', '0.123', 'inf')
    >>> at_most(0.5000000000000007), at_most(0.5000000000000007, noise=NOISE)
    ('0.501', '0.5')
    """
    return _rounded(value * (1.0 - noise), digits, ROUND_CEILING)


def at_least(value: float, digits: int = SHOWN_DIGITS) -> str:
    """A few significant digits, rounded down: true after "at least"."""
    return _rounded(value, digits, ROUND_FLOOR)


def pair(lower: float, upper: float) -> str:
    """An interval, rounded outward at the second digit of its width; a narrow one as its upper end and a width.

    >>> pair(14.37569, 14.38467), pair(2.0, 2.0), pair(1.0, math.inf), pair(0.5, 0.5 + 1e-12)
    ('[14.3756, 14.3847]', '2', '[1, inf]', '0.50000000000100, within 1.0e-12')
    """
    if lower == upper:
        return single(lower)
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return f"[{single(lower)}, {single(upper)}]"
    with localcontext() as context:
        context.prec = 2000  # doubles are exact decimals of at most 1075 digits
        low, high = Decimal(lower), Decimal(upper)
        largest = max(low, high, key=abs)
        exponent = largest.adjusted()
        place = max((high - low).adjusted() - 1, exponent - _DOUBLE_DIGITS + 1)
        quantum = Decimal(1).scaleb(place)
        low, high = low.quantize(quantum, ROUND_FLOOR), high.quantize(quantum, ROUND_CEILING)
        width = high - low
        shift, tail = (0, "") if exponent in _PLAIN else (exponent, f"e{exponent}")
        one, two = (f"{value.scaleb(-shift):.{max(shift - place, 0)}f}{tail}" for value in (low, high))
    if width > _NARROW * abs(largest):
        return f"[{one}, {two}]"
    return f"{two}, within {Context(prec=2, rounding=ROUND_CEILING).plus(width):.1e}"


def _rounded(value: float, digits: int, rounding: str) -> str:
    if not math.isfinite(value):
        return str(value)
    short = Context(prec=digits, rounding=rounding).plus(Decimal(value))
    short = short.normalize()
    return f"{short:f}" if not short or short.adjusted() in _PLAIN else f"{short:e}"
