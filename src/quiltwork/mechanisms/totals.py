"""Totals of bounded entries, with how far one changed entry can move them."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.stated import above

__all__ = ["MAX_INTEGER", "MIN_INTEGER", "Total", "bounded_sum", "whole"]

MIN_INTEGER, MAX_INTEGER = -(2**63), 2**63 - 1  # what the sampler's integers hold
MAX_FLOAT_TOTAL = 1e300  # of a total of doubles, so that none overflows
MOST_INT = 10**300
EMPTY = "an empty list has no entry to protect"


@document("total/1")
@attrs.frozen
class Total:
    """A number computed from the data, and the most that one changed entry moves it: both int, or both float."""

    value: int | float
    sensitivity: int | float

    def __attrs_post_init__(self) -> None:
        if whole(self.value):
            checked_integer("total", self.value)
            checks.count("sensitivity", self.sensitivity, least=1)
        else:
            checked_float("total", self.value)
            if not isinstance(self.sensitivity, float):
                allowed = "a float, as the total is"
                raise InvalidParameter("sensitivity", self.sensitivity, allowed, "such as 1.0; integer totals take int")
            checks.moderate("sensitivity", self.sensitivity)


def whole(value: Any) -> bool:
    """Whether this is an integer and no boolean."""
    if isinstance(value, bool):
        return False
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def checked_integer(name: str, value: Any) -> int:
    """An integer that the sampler can hold."""
    if not whole(value) or not MIN_INTEGER <= operator.index(value) <= MAX_INTEGER:
        raise InvalidParameter(name, value, "an integer in [-2**63, 2**63 - 1]")
    return operator.index(value)


def checked_float(name: str, value: Any) -> float:
    """A finite float; other kinds of numbers would be rounded on the way in, which sensitivities do not know of."""
    try:
        number = float(value) if value.dtype.kind == "f" and value.ndim == 0 else math.nan
    except AttributeError:
        number = value if isinstance(value, float) else math.nan
    if not abs(number) <= MAX_FLOAT_TOTAL:
        raise InvalidParameter(name, value, "an int, or a finite float of size up to 1e300")
    return number


def bounded_sum(values: Iterable[Any], low: Any, high: Any) -> Total:
    """The sum of the entries, each first moved into [low, high].

    Integers (all of them, and both ends) are added exactly: sensitivity high - low. Floats are added exactly and
    rounded once; the two roundings of neighbouring sums add one unit in the last place of n max(|low|, |high|), which
    is counted in the sensitivity. The number n of entries is public, as it is when an entry is replaced.

    Reference: Casacuberta et al. 2022 (sums in floating point have more sensitivity than sums).

    >>> bounded_sum([3, -1, 12], 0, 10)
    Total(value=13, sensitivity=10)
    """
    try:
        entries = list(values)
    except TypeError:
        raise InvalidParameter("values", values, "a list of numbers") from None
    if not entries:
        raise InvalidParameter("values", values, "a list of numbers", EMPTY)
    if whole(low) and whole(high):
        return _integer_sum(entries, operator.index(low), operator.index(high))
    return _float_sum(entries, _number("low", low), _number("high", high))


def _number(name: str, value: Any) -> float:
    """An int or a float as a double; an int too large to be one exactly is rounded, entry by entry."""
    return float(min(max(operator.index(value), -MOST_INT), MOST_INT)) if whole(value) else checked_float(name, value)


def _ends(low: Any, high: Any) -> None:
    if not low < high:
        raise InvalidParameter("low and high", (low, high), "two different numbers in increasing order")


def _integer_sum(entries: list[Any], low: int, high: int) -> Total:
    _ends(low, high)
    if len(entries) * max(abs(low), abs(high)) > MAX_INTEGER:
        raise InvalidParameter("low and high", (low, high), "small enough for a sum below 2**63")
    if not all(whole(entry) for entry in entries):
        wrong = next(entry for entry in entries if not whole(entry))
        raise InvalidParameter("values", wrong, "integers", "with float ends, floats are added")
    return Total(sum(min(max(operator.index(entry), low), high) for entry in entries), high - low)


def _float_sum(entries: list[Any], low: float, high: float) -> Total:
    _ends(low, high)
    most = len(entries) * Fraction(max(abs(low), abs(high)))
    if most > Fraction(MAX_FLOAT_TOTAL):
        raise InvalidParameter("low and high", (low, high), "small enough for a sum below 1e300")
    clean = [min(max(_number("values", entry), low), high) for entry in entries]
    rounding = Fraction(math.ulp(above(most)))
    return Total(math.fsum(clean), above(Fraction(high) - Fraction(low) + rounding))
