"""Tables of probabilities as documents: the shortest form from which the same two ends are computed again.

A table of fractions is written as texts such as 1/3, one of decimals as numbers, one that counts the uses of another by
that other one; what comes from a computation is written as its two ends, to the last digit, with the fractions beside
them where they are known.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from quiltwork.confounding.finite.channels import repeated
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.laws import Laws, laws

__all__ = ["overlapping", "same"]

MOST_EXACT = 20_000  # entries of a computed table whose fractions are worth writing
SLACK = 1e-6  # by which the sums of ends may miss one; a computed table of a million columns stays within


def same(one: Laws, two: Laws) -> bool:
    """Whether two tables have the same ends, to the last digit."""
    return bool(
        np.array_equal(one.low, two.low)
        and np.array_equal(one.high, two.high)
        and np.array_equal(one.exponents, two.exponents)
        and (one.uses is None) == (two.uses is None)
    )


def _written(value: Laws) -> dict[str, Any]:
    """The fields of a table."""
    if value.uses is not None and same(repeated(*value.uses), value):
        return {"of": value.uses[0], "times": value.uses[1]}
    exact = value.exact if value.low.size <= MOST_EXACT else None
    if exact is not None:
        texts = [[str(entry) for entry in row] for row in exact]
        if same(laws("table", texts), value):
            return {"table": texts}
        floats = [[float(entry) for entry in row] for row in exact]
        if same(laws("table", np.array(floats)), value):
            return {"table": floats}
    scaled = bool(value.exponents.any())
    return {
        "low": value.low,
        "high": value.high,
        "exponents": value.exponents if scaled else None,
        "exact": exact,
    }


def _read(
    table: Any = None, low: Any = None, high: Any = None, exponents: Any = None, exact: Any = None, of: Any = None,
    times: Any = None,
) -> Laws:  # fmt: skip
    """The table with these fields."""
    if of is not None:
        if not isinstance(of, Laws) or type(times) is not int or times < 1:
            raise InvalidParameter("of", of, "a table, and times, how often it is used")
        return repeated(of, times)
    if table is not None:
        plain = all(isinstance(entry, float) for row in table for entry in row)
        return laws("table", np.array(table) if plain else table)
    if not isinstance(low, np.ndarray) or not isinstance(high, np.ndarray):
        raise InvalidParameter("table", None, "rows of probabilities, or the arrays low and high")
    powers = np.zeros(low.shape[-1], dtype=np.int64) if exponents is None else np.asarray(exponents)
    _checked(low, high, powers)
    if exact is not None:
        _inside(exact, low, high, powers)
    return Laws(low, high, powers, None if exact is None else lambda: exact)


def _checked(low: np.ndarray, high: np.ndarray, powers: np.ndarray) -> None:
    """Both ends must be those of laws: ordered, none negative, and sums of one between them."""
    plain = low.ndim == 2 and low.shape == high.shape and low.dtype == high.dtype == np.float64 and low.size > 0
    if not plain or powers.shape != low.shape[1:] or powers.dtype.kind != "i":
        raise InvalidParameter("low", low.shape, "two tables of floats of one shape, and a whole exponent a column")
    if not bool(np.all((low >= 0) & (low <= high) & np.isfinite(high))):
        raise InvalidParameter("low", "other numbers", "ends with 0 <= low <= high")
    with np.errstate(under="ignore", over="ignore"):
        least, most = np.ldexp(low, powers).sum(axis=1), np.ldexp(high, powers).sum(axis=1)
    if not bool(np.all((least <= 1 + SLACK) & (most >= 1 - SLACK) & (most - least <= 1))):
        raise InvalidParameter("high", most.tolist()[:3], "rows that sum to 1, between their two ends")


def _inside(exact: Any, low: np.ndarray, high: np.ndarray, powers: np.ndarray) -> None:
    if not isinstance(exact, np.ndarray) or exact.dtype != object or exact.shape != low.shape:
        raise InvalidParameter("exact", "another table", "fractions, one for each entry")
    for row, below, above in zip(exact, low, high, strict=True):
        scale = [Fraction(2) ** int(power) for power in powers]
        inside = (Fraction(a) * s <= x <= Fraction(b) * s for x, a, b, s in zip(row, below, above, scale, strict=True))
        if sum(row) != 1 or not all(inside):
            raise InvalidParameter("exact", "a row that does not fit", "fractions between both ends, of sum 1")


def overlapping(one: Laws, two: Laws) -> None:
    """Refuse laws that cannot be those of the same release."""
    if one.shape != two.shape:
        raise InvalidParameter("laws", one.shape, f"a table of shape {two.shape}, as its channel gives")
    (low, high), (other_low, other_high) = one.masses, two.masses
    if not bool(np.all((low <= other_high) & (other_low <= high))):
        raise InvalidParameter("laws", "other numbers", "what the world and the channel give, up to rounding")


document("laws/1", fields="", optional="table low high exponents exact of times", write=_written, read=_read)(Laws)
