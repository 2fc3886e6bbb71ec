"""Tables of probabilities: one law a row, every entry known between two ends.

An entry lies in [low, high] 2^exponent, with one exponent a column, so that a thousand small factors do not underflow;
zero is exact and means impossible.  Tables given as fractions, or as decimals whose rows sum to one exactly, can also
be asked for in rational arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import fraction

__all__ = ["Laws", "laws", "outward"]

TOLERANCE = 1e-9  # how far a row of floats may be from one before it is taken for a mistake
LEAST = float(np.finfo(float).smallest_subnormal)
STATED = 5.0  # units of roundoff of a decimal read as a double, and divided by its row's sum
SHOWN = 60  # characters of a refused value

Exact = np.ndarray[Any, np.dtype[np.object_]]


def outward(low: FloatArray, high: FloatArray, units: float, possible: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Ends moved apart by `units` of roundoff and by what underflow may have taken; impossible stays zero.

    What is done here is rounded too: the factor, the product and the difference add a unit each.
    """
    relative, absolute = (units + 3.0) * UNIT, (units + 1.0) * LEAST
    lower = np.maximum(low * (1.0 - relative) - absolute, 0.0)
    upper = high * (1.0 + relative) + absolute
    return np.where(possible, lower, 0.0), np.where(possible, upper, 0.0)


class Laws:
    """Rows of probabilities, known from both sides."""

    def __init__(
        self,
        low: FloatArray,
        high: FloatArray,
        exponents: np.ndarray | None = None,
        exact: Callable[[], Exact | None] | None = None,
        uses: tuple[Laws, int] | None = None,
    ) -> None:
        self.low, self.high = low, high
        self.uses = uses  # the table and how often it is used, where this one counts the outputs of all uses
        self.exponents = np.zeros(low.shape[1], dtype=np.int64) if exponents is None else exponents
        self._exact = exact
        for array in (self.low, self.high, self.exponents):
            array.setflags(write=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.low.shape[0], self.low.shape[1]

    @cached_property
    def exact(self) -> Exact | None:
        """The same table in fractions, when it was given as such; otherwise None."""
        return None if self._exact is None else self._exact()

    @cached_property
    def possible(self) -> np.ndarray:
        """Which entries are not zero."""
        return self.high > 0

    @cached_property
    def masses(self) -> tuple[FloatArray, FloatArray]:
        """Both ends as plain probabilities."""
        if not self.exponents.any():
            return self.low, self.high
        with np.errstate(under="ignore"):
            low, high = np.ldexp(self.low, self.exponents), np.ldexp(self.high, self.exponents)
        low = np.maximum(low - LEAST, 0.0) if bool((self.exponents < 0).any()) else low
        return low, np.where(self.possible, np.minimum(high + LEAST, 1.0), 0.0)

    @cached_property
    def values(self) -> FloatArray:
        """Plain floats for display and for solvers; no bound."""
        low, high = self.masses
        return 0.5 * (low + high)

    def rows(self, which: Any) -> Laws:
        """Some of the rows."""
        exact = self._exact
        return Laws(
            self.low[which], self.high[which], self.exponents, None if exact is None else lambda: _rows(self, which)
        )

    def through(self, channel: Laws) -> Laws:
        """The laws of the outputs when each row is the input law of this channel: b = A K."""
        low, high = self.masses
        with np.errstate(under="ignore"):
            lower, upper = low @ channel.low, high @ channel.high
        possible = (self.possible.astype(float) @ channel.possible.astype(float)) > 0
        ends = outward(lower, upper, low.shape[1] + 4.0, possible)
        return Laws(*ends, channel.exponents, lambda: _product(self, channel))

    def beside(self, other: Laws) -> Laws:
        """Both outputs, drawn independently given the row: columns in the order of itertools.product."""
        count = len(self.low)
        one, two = (_levelled(part.low, part.high, part.exponents, lambda: None) for part in (self, other))
        with np.errstate(under="ignore"):
            low = (one.low[:, :, None] * two.low[:, None, :]).reshape(count, -1)
            high = (one.high[:, :, None] * two.high[:, None, :]).reshape(count, -1)
        possible = (one.possible[:, :, None] & two.possible[:, None, :]).reshape(count, -1)
        exponents = (one.exponents[:, None] + two.exponents[None, :]).ravel()
        return _levelled(*outward(low, high, 1.0, possible), exponents, lambda: _beside(self, other))


def _levelled(low: FloatArray, high: FloatArray, exponents: np.ndarray, exact: Callable[[], Exact | None]) -> Laws:
    """Columns brought near one where they have become small; powers of two are exact."""
    _, shift = np.frexp(high.max(axis=0))
    shift = np.where(shift < -200, shift, 0)  # columns that are far from underflow stay as they are
    if shift.any():
        low, high = np.ldexp(low, -shift), np.ldexp(high, -shift)
    return Laws(low, high, exponents + shift, exact)


def _rows(table: Laws, which: Any) -> Exact | None:
    return None if table.exact is None else np.asarray(table.exact[which])


def _product(one: Laws, two: Laws) -> Exact | None:
    return None if one.exact is None or two.exact is None else np.asarray(one.exact @ two.exact)


def _beside(one: Laws, two: Laws) -> Exact | None:
    if one.exact is None or two.exact is None:
        return None
    return np.asarray((one.exact[:, :, None] * two.exact[:, None, :]).reshape(len(one.exact), -1))


def laws(name: str, value: Any, rows: int | None = None, *, row_word: str = "row") -> Laws:
    """A table of laws from floats, whole numbers, fractions or texts such as "1/3"."""
    if isinstance(value, Laws):
        return _sized(name, value, rows, row_word)
    given = value if isinstance(value, np.ndarray) else np.array(_listed(name, value), dtype=object)
    if given.ndim != 2 or not given.size:
        allowed = f"a table of probabilities, one law a {row_word}"
        raise InvalidParameter(f"the shape of {name}", given.shape, allowed)
    if given.dtype != object:
        # a law that was divided by its sum may have an entry a hair above one
        ends = (0.0, 1.0 + TOLERANCE)
        table = checks.numbers(name, given, "probabilities in [0, 1]", *ends) if given.dtype != bool else None
        if table is None:
            raise InvalidParameter(name, _short(value), "probabilities in [0, 1]", "True and False are no numbers")
        return _sized(name, _from_floats(name, table, lambda: _decimals(given)), rows, row_word)
    read = [[fraction(entry) for entry in row] for row in given]
    if any(entry is None for row in read for entry in row):
        wrong = next(entry for row in given for entry in row if fraction(entry) is None)
        raise InvalidParameter(name, _short(wrong), "probabilities: numbers, fractions or texts such as '1/3'")
    floats = any(isinstance(entry, (float, np.floating)) for row in given for entry in row)
    most = Fraction(1.0 + TOLERANCE) if floats else Fraction(1)
    if any(not 0 <= entry <= most for row in read for entry in row if entry is not None):
        wrong = next(entry for row in read for entry in row if entry is not None and not 0 <= entry <= most)
        raise InvalidParameter(name, float(wrong) if floats else str(wrong), "probabilities in [0, 1]")
    if floats:
        plain = np.array([[float(entry) for entry in row if entry is not None] for row in read])
        return _sized(name, _from_floats(name, plain, lambda: _decimals(given)), rows, row_word)
    exact = np.empty(given.shape, dtype=object)
    exact[:] = read
    return _sized(name, _from_fractions(name, exact), rows, row_word)


def _listed(name: str, value: Any) -> Any:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise InvalidParameter(name, _short(value), "a table of probabilities")
    rows = [row if isinstance(row, (str, bytes)) or not hasattr(row, "__iter__") else list(row) for row in value]
    if any(not isinstance(row, list) or len(row) != len(rows[0]) for row in rows if isinstance(rows[0], list)):
        raise InvalidParameter(f"the rows of {name}", "rows of several lengths", "rows of one length")
    if not rows or not isinstance(rows[0], list):
        raise InvalidParameter(name, _short(value), "a table of probabilities: a list of rows")
    return rows


def _from_floats(name: str, table: FloatArray, exact: Callable[[], Exact | None]) -> Laws:
    sums = np.array([math.fsum(row) for row in table])
    if bool(np.any(np.abs(sums - 1.0) > TOLERANCE)):
        worst = int(np.argmax(np.abs(sums - 1.0)))
        raise InvalidParameter(
            f"the sum of row {worst} of {name}", float(sums[worst]), "1", "divide each row by its sum"
        )
    values = table / sums[:, None]
    return Laws(*outward(values, values, STATED, table > 0), None, exact)


def _decimals(table: np.ndarray) -> Exact | None:
    """The typed decimals, when each row of them sums to one exactly."""
    exact = np.empty(table.shape, dtype=object)
    exact[:] = [[fraction(entry) for entry in row] for row in table]
    return exact if all(sum(row) == 1 for row in exact) else None


def _from_fractions(name: str, table: Exact) -> Laws:
    for index, row in enumerate(table):
        if sum(row) != 1:
            raise InvalidParameter(f"the sum of row {index} of {name}", str(sum(row)), "1 exactly")
    values = table.astype(float)
    possible = np.array([[entry > 0 for entry in row] for row in table])
    return Laws(*outward(values, values, 1.0, possible), None, lambda: table)


def _sized(name: str, table: Laws, rows: int | None, row_word: str) -> Laws:
    if rows is not None and table.shape[0] != rows:
        raise InvalidParameter(f"the rows of {name}", table.shape[0], f"{rows}, one for each {row_word}")
    return table


def _short(value: Any) -> Any:
    """The value itself, or the beginning of what would fill the message."""
    text = repr(value)
    return value if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
