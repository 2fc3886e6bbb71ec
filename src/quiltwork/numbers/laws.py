"""Tables of numbers and of probabilities: how they are read, and laws whose entries are known between two ends.

Fractions, whole numbers and texts such as "1/4" are exact; floats may be read as the decimals typed or as doubles.
Laws of exact numbers must sum to one exactly, laws with floats up to TOLERANCE.

An entry of `Laws` lies in [low, high] 2^exponent, with one exponent a column, so that a thousand small factors do not
underflow; zero is exact and means impossible.  Tables given as fractions, or as decimals whose rows sum to one exactly,
can also be asked for in rational arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import fraction, typed

TOLERANCE = 1e-9  # how far the sum of a law with floats may be from one before it is taken for a mistake
LEAST = float(np.finfo(float).smallest_subnormal)
STATED = 5.0  # units of roundoff of a decimal read as a double, and divided by its row's sum

Exact = np.ndarray[Any, np.dtype[np.object_]]
Number = Fraction | float
Table = np.ndarray[Any, np.dtype[Any]]  # of Fractions (dtype object) or of doubles

# ---- how numbers and tables of them are read


def number(name: str, value: Any, allowed: str = "a number") -> Number:
    """One number, as it was given: a Fraction if exact, otherwise a finite float."""
    if isinstance(value, (float, np.floating)) and math.isfinite(value):
        return float(value)
    found = fraction(value)
    if found is None:
        hint = "True and False are no numbers" if isinstance(value, (bool, np.bool_)) else ""
        allowed += ": a fraction, a whole number, a text such as '1/4' or a finite float"
        raise InvalidParameter(name, value, allowed, hint)
    return found


def entries(name: str, value: Any, dimensions: int | tuple[int, ...], allowed: str, each: str = "a number") -> Table:
    """A table of so many axes, each entry as it was given: Fractions if exact, otherwise floats; never empty."""
    if isinstance(value, (str, bytes, Mapping)) or not (hasattr(value, "__iter__") or hasattr(value, "__array__")):
        raise InvalidParameter(name, value, allowed)
    given = np.asarray(value) if hasattr(value, "__array__") else _listed(name, value)
    if given.ndim not in (dimensions if isinstance(dimensions, tuple) else (dimensions,)) or not given.size:
        raise InvalidParameter(f"the shape of {name}", given.shape, allowed)
    if given.dtype.kind == "f":
        if not bool(np.all(np.isfinite(given))):
            raise InvalidParameter(name, "a table with entries that are not finite", allowed)
        return np.array(given, dtype=float)
    found = np.empty(given.size, dtype=object)
    found[:] = [number(f"an entry of {name}", entry, each) for entry in given.ravel().tolist()]
    return found.reshape(given.shape)


def _listed(name: str, value: Any) -> Table:
    rows = [list(row) if hasattr(row, "__iter__") and not isinstance(row, (str, bytes)) else row for row in value]
    if len({len(row) if isinstance(row, list) else -1 for row in rows}) > 1:
        raise InvalidParameter(f"the rows of {name}", "rows of several lengths", "rows of one length")
    return np.array(rows, dtype=object)


def read_table(name: str, value: Any, dimensions: int, allowed: str) -> Table:
    """A table of Fractions if every entry is exact, otherwise of doubles."""
    return _uniform(entries(name, value, dimensions, allowed))


def _uniform(found: Table) -> Table:
    return found if all(isinstance(entry, Fraction) for entry in found.flat) else doubles(found)


def is_exact(found: Table) -> bool:
    """Whether the entries are fractions."""
    return found.dtype == object


def doubles(found: Table) -> FloatArray:
    """The same table in floats, each the nearest double."""
    return np.asarray(found, dtype=np.float64)


def probabilities(
    name: str, value: Any, dimensions: int | tuple[int, ...], allowed: str, *, tolerance: float = TOLERANCE
) -> Table:
    """Laws along the last axis, as they were given: probabilities that sum to one, exactly or up to the tolerance.

    A law that was divided by its sum may have an entry a hair above one.
    """
    found = entries(name, value, dimensions, allowed, "a probability in [0, 1]")
    rows = found.reshape(-1, found.shape[-1])
    floats = not is_exact(found) or any(isinstance(entry, float) for entry in found.flat)
    wrong = found[(found < 0) | (found > (1.0 + tolerance if floats else 1))]
    if wrong.size:
        shown = float(wrong[0]) if floats else str(wrong[0])
        raise InvalidParameter(f"an entry of {name}", shown, "a probability in [0, 1]")
    sums = [math.fsum(row) for row in rows] if floats else rows.sum(axis=1).tolist()
    worst = max(range(len(sums)), key=lambda index: abs(sums[index] - 1))
    if abs(sums[worst] - 1) > (tolerance if floats else 0):
        which = f"the sum of {name}" if found.ndim == 1 else f"the sum of row {worst} of {name}"
        if floats:
            raise InvalidParameter(which, sums[worst], "1", "divide what should sum to 1 by its sum")
        raise InvalidParameter(which, str(sums[worst]), "1 exactly", "fractions and whole numbers must sum to 1")
    return found


def read_laws(name: str, value: Any, dimensions: int, allowed: str) -> Table:
    """The same as Fractions if every entry is exact, otherwise as doubles that are divided by the sum of their law."""
    found = _uniform(probabilities(name, value, dimensions, allowed))
    if is_exact(found):
        return found
    sums = np.array([math.fsum(row) for row in found.reshape(-1, found.shape[-1])])
    return np.asarray(found / sums.reshape(*found.shape[:-1], 1))


# ---- laws whose entries are known between two ends


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
        exact = None if self._exact is None else lambda: _if_exact(lambda one: one[which], self)
        return Laws(self.low[which], self.high[which], self.exponents, exact)

    def through(self, channel: Laws) -> Laws:
        """The laws of the outputs when each row is the input law of this channel: b = A K."""
        low, high = self.masses
        with np.errstate(under="ignore"):
            lower, upper = low @ channel.low, high @ channel.high
        possible = (self.possible.astype(float) @ channel.possible.astype(float)) > 0
        ends = outward(lower, upper, low.shape[1] + 4.0, possible)
        return Laws(*ends, channel.exponents, lambda: _if_exact(np.matmul, self, channel))

    def beside(self, other: Laws) -> Laws:
        """Both outputs, drawn independently given the row: columns in the order of itertools.product."""
        one, two = (_levelled(part.low, part.high, part.exponents, lambda: None) for part in (self, other))
        with np.errstate(under="ignore"):
            low, high = _pairs(one.low, two.low), _pairs(one.high, two.high)
        possible = _pairs(one.possible, two.possible)
        exponents = (one.exponents[:, None] + two.exponents[None, :]).ravel()
        return _levelled(*outward(low, high, 1.0, possible), exponents, lambda: _if_exact(_pairs, self, other))


def _levelled(low: FloatArray, high: FloatArray, exponents: np.ndarray, exact: Callable[[], Exact | None]) -> Laws:
    """Columns brought near one where they have become small; powers of two are exact."""
    _, shift = np.frexp(high.max(axis=0))
    shift = np.where(shift < -200, shift, 0)  # columns that are far from underflow stay as they are
    if shift.any():
        low, high = np.ldexp(low, -shift), np.ldexp(high, -shift)
    return Laws(low, high, exponents + shift, exact)


def _if_exact(work: Callable[..., Any], *tables: Laws) -> Exact | None:
    """What is made of tables in fractions, when all of them were given as such."""
    exact = [table.exact for table in tables]
    return None if any(one is None for one in exact) else np.asarray(work(*exact))


def _pairs(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Every entry of a row of one times every entry of that row of the other."""
    return np.asarray((one[:, :, None] * two[:, None, :]).reshape(len(one), -1))


def laws(name: str, value: Any, rows: int | None = None, *, row_word: str = "row") -> Laws:
    """A table of laws from floats, whole numbers, fractions or texts such as "1/3"."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        value = value.astype(float)  # an array is one of doubles
    allowed = f"a table of probabilities, one law a {row_word}"
    found = value if isinstance(value, Laws) else _two_ended(probabilities(name, value, 2, allowed))
    if rows is not None and found.shape[0] != rows:
        raise InvalidParameter(f"the rows of {name}", found.shape[0], f"{rows}, one for each {row_word}")
    return found


def _two_ended(given: Table) -> Laws:
    if is_exact(_uniform(given)):
        values, possible = doubles(given), np.asarray(given > 0, dtype=bool)
        return Laws(*outward(values, values, 1.0, possible), None, lambda: given)
    values = doubles(given)
    possible = values > 0
    values = values / np.array([math.fsum(row) for row in values])[:, None]
    return Laws(*outward(values, values, STATED, possible), None, lambda: _decimals(given))


def _decimals(given: Table) -> Exact | None:
    """The typed decimals, when each row of them sums to one exactly."""
    exact = np.empty(given.shape, dtype=object)
    exact[:] = [[typed(entry) for entry in row] for row in given]
    return exact if all(sum(row) == 1 for row in exact) else None
