"""Numbers of finite games: fractions where everything given is exact, doubles otherwise.

Fractions, whole numbers and texts such as "1/4" are exact; one float among them makes a table one of doubles, whose
rows are then divided by their sums.  Logarithms of fractions come with both ends.
"""

from __future__ import annotations

import math
import numbers
from fractions import Fraction
from typing import Any

import numpy as np

from quiltwork.errors import InvalidParameter
from quiltwork.numbers.rounding import UNIT, down, up

__all__ = [
    "Number",
    "Table",
    "above",
    "below",
    "doubles",
    "exact",
    "fractions",
    "is_exact",
    "laws",
    "log_ends",
    "number",
    "typed",
]

Number = Fraction | float
Table = np.ndarray[Any, np.dtype[Any]]  # of Fractions (dtype object) or of doubles

TOLERANCE = 1e-9  # how far the sum of a row of floats may be from one before it is taken for a mistake
LONGEST = 400  # characters of a number given as a text; also the largest power of ten
_LOG2 = math.log(2.0)
_ALLOWED = "a number: a fraction, a whole number, a text such as '1/4' or a finite float"


def number(name: str, value: Any) -> Number:
    """One number, as it was given: a Fraction if exact, otherwise a finite float."""
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            raise InvalidParameter(name, value, _ALLOWED)
        return float(value)
    found = _rational(value)
    if found is None:
        raise InvalidParameter(name, value, _ALLOWED)
    return found


def typed(name: str, value: Any) -> Fraction:
    """One number as a fraction; of a float, the shortest decimal that reads as it."""
    found = number(name, value)
    return found if isinstance(found, Fraction) else Fraction(repr(found))


def exact(value: Number) -> Fraction:
    """The same number as a fraction; of a float, the double itself."""
    return Fraction(value)


def _rational(value: Any) -> Fraction | None:
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, str):
        mantissa, _, power = value.lower().partition("e")
        digits = power.strip().replace("_", "").lstrip("+-")
        if len(mantissa) > LONGEST or (digits.isdecimal() and int(digits) > LONGEST):
            return None
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            return None
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return None


def fractions(name: str, value: Any, dimensions: int, allowed: str) -> Table:
    """A table of so many axes: of Fractions if every entry is exact, otherwise of doubles."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise InvalidParameter(name, value, allowed)
    if isinstance(value, np.ndarray) and value.ndim != dimensions:
        raise InvalidParameter(f"the shape of {name}", value.shape, allowed)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        given = value
        if not bool(np.all(np.isfinite(given))):
            raise InvalidParameter(name, "a table with entries that are not finite", allowed)
    else:
        try:
            given = np.array([list(row) if _iterable(row) else row for row in value], dtype=object)
        except ValueError:
            raise InvalidParameter(name, "rows of several lengths", allowed) from None
    if given.ndim != dimensions or not given.size:
        raise InvalidParameter(f"the shape of {name}", given.shape, allowed)
    if given.dtype.kind == "f":
        return np.array(given, dtype=float)
    entries = [number(f"an entry of {name}", entry) for entry in given.ravel().tolist()]
    if any(isinstance(entry, float) for entry in entries):
        return np.array([float(entry) for entry in entries]).reshape(given.shape)
    read = np.empty(len(entries), dtype=object)
    read[:] = entries
    return read.reshape(given.shape)


def _iterable(row: Any) -> bool:
    return hasattr(row, "__iter__") and not isinstance(row, (str, bytes))


def laws(name: str, value: Any, dimensions: int, allowed: str) -> Table:
    """Laws along the last axis: none negative, each of sum one (floats: up to 1e-9, and then divided by the sum)."""
    table = fractions(name, value, dimensions, allowed)
    if bool((table < 0).any()):
        raise InvalidParameter(f"the least entry of {name}", table.min(), "at least 0")
    rows = table.reshape(-1, table.shape[-1])
    if is_exact(table):
        for index, row in enumerate(rows):
            if row.sum() != 1:
                raise InvalidParameter(f"the sum of law {index} of {name}", str(row.sum()), "1 exactly")
        return table
    sums = np.array([math.fsum(row) for row in rows])
    worst = int(np.argmax(np.abs(sums - 1.0)))
    if abs(sums[worst] - 1.0) > TOLERANCE:
        raise InvalidParameter(f"the sum of law {worst} of {name}", float(sums[worst]), "1", "divide it by its sum")
    return np.asarray((rows / sums[:, None]).reshape(table.shape))


def is_exact(table: Table) -> bool:
    """Whether the entries are fractions."""
    return table.dtype == object


def doubles(table: Table) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The same table in floats, each the nearest double."""
    return np.asarray(table, dtype=np.float64)


def below(value: Fraction) -> float:
    """The largest double that is at most the value."""
    near = _nearest(value)
    return near if math.isinf(near) or Fraction(near) <= value else float(down(near))


def above(value: Fraction) -> float:
    """The smallest double that is at least the value."""
    return -below(-value)


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float(np.finfo(float).max) if value > 0 else -math.inf


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
