"""Numbers of finite games: fractions where everything given is exact, doubles otherwise.

Fractions, whole numbers and texts such as "1/4" are exact; one float among them makes a table one of doubles, whose
rows are then divided by their sums.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from quiltwork.errors import InvalidParameter
from quiltwork.numbers import stated

__all__ = [
    "Number",
    "Table",
    "doubles",
    "exact",
    "fractions",
    "is_exact",
    "laws",
    "number",
    "typed",
]

Number = Fraction | float
Table = np.ndarray[Any, np.dtype[Any]]  # of Fractions (dtype object) or of doubles

TOLERANCE = 1e-9  # how far the sum of a row of floats may be from one before it is taken for a mistake
_ALLOWED = "a number: a fraction, a whole number, a text such as '1/4' or a finite float"


def number(name: str, value: Any) -> Number:
    """One number, as it was given: a Fraction if exact, otherwise a finite float."""
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            raise InvalidParameter(name, value, _ALLOWED)
        return float(value)
    found = stated.fraction(value)
    if found is None:
        raise InvalidParameter(name, value, _ALLOWED)
    return found


def typed(name: str, value: Any) -> Fraction:
    """One number as a fraction; of a float, the shortest decimal that reads as it."""
    found = number(name, value)
    return found if isinstance(found, Fraction) else stated.typed(found)


def exact(value: Number) -> Fraction:
    """The same number as a fraction; of a float, the double itself."""
    return Fraction(value)


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
