"""Balls of Arb, exact numbers, and the precision they are computed with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import attrs

from quiltwork.errors import InvalidParameter, MissingExtra

BITS = 400
LONGEST = 400  # characters of a number, and size of the exponent of one given as text
NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?\s*", re.IGNORECASE)


def flint() -> Any:
    """python-flint, or the hint how to get it."""
    try:
        import flint as found
    except ImportError:
        raise MissingExtra("python-flint", "proof") from None
    return found


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """So many bits while it lasts: the precision of python-flint is global."""
    context = flint().ctx
    before, context.prec = context.prec, bits
    try:
        yield
    finally:
        context.prec = before


def stated(name: str, value: Any) -> Fraction:
    """A finite number as typed: a text by its digits, a double by its shortest decimal."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Fraction)):
        raise InvalidParameter(name, value, "a finite number, or its decimals as a text")
    if isinstance(value, Fraction):
        return value
    try:
        text = repr(float(value)) if isinstance(value, float) else str(value)
        if not NUMBER.fullmatch(text) or len(text) > LONGEST:
            raise ValueError
        _, _, power = text.lower().partition("e")
        if isinstance(value, str) and abs(int(power or 0)) > LONGEST:
            raise ValueError
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InvalidParameter(name, value, "a finite number, or its decimals as a text") from None


def ball(number: Any) -> Any:
    """A ball that contains the exact number; balls are kept."""
    parts = flint()
    if isinstance(number, Fraction):
        return parts.arb(parts.fmpq(number.numerator, number.denominator))
    return number if isinstance(number, parts.arb) else parts.arb(number)


def guess(number: Any) -> float:
    """A double near it, to steer by."""
    if isinstance(number, Fraction):
        return float(number)
    return float(ball(number).mid())


def shown(number: Any, digits: int = 12) -> str:
    """For people."""
    return str(ball(number).str(digits, radius=False))


@attrs.frozen
class Enclosure:
    """Both ends of a divergence at one epsilon, and how they were found."""

    low: Any
    high: Any
    method: str
    bits: int = BITS
    falls: bool | None = None  # whether D falls strictly just left of epsilon; None: not known

    @classmethod
    def of(cls, value: Any, method: str, bits: int = BITS, falls: bool | None = None) -> Enclosure:
        """Of a ball."""
        return cls(value.lower(), value.upper(), method, bits, falls)

    def __str__(self) -> str:
        return f"D in [{shown(self.low)}, {shown(self.high)}], {self.method}, {self.bits} bits"


def normal_tail(x: Any) -> Any:
    """P(N > x)."""
    return (x / ball(2).sqrt()).erfc() / 2
