"""Two channels tied together by a Gaussian copula: the joint table that is released.

The copula of discrete outputs is not unique, so the table is the definition: given x, both outputs are read off two
standard normals of the given correlation, cut at the quantiles of the two rows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import ndtri

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.binormal import rectangles
from quiltwork.confounding.laws import Laws, laws
from quiltwork.errors import InvalidParameter

__all__ = ["gaussian_copula"]

_SAME = Fraction(1, 2**50)  # more than the rounding of a row's sum


def gaussian_copula(first: Any, second: Any, correlation: float) -> FloatArray:
    """The joint table (X, Y_1 Y_2) of two channels whose noises are tied by a Gaussian copula given x.

    Row x holds the probabilities of the rectangles between the normal quantiles of the two rows' distribution
    functions, with the outputs in their given order; columns run over (y_1, y_2) like itertools.product.  Correlations
    1 and -1 are the comonotone and the countermonotone coupling.  The table is what is released and accounted: it is
    nonnegative, its rows sum to 1 and its marginals are the given ones up to rounding; what is below the least double
    is impossible in it.

    Reference: theory/confounding.md section 5.

    >>> gaussian_copula([[0.5, 0.5]], [[0.3, 0.7]], 1.0)
    array([[0.3, 0.2, 0. , 0.5]])
    """
    slant = checks.real("correlation", correlation, "in [-1, 1]")
    if not -1 <= slant <= 1:
        raise InvalidParameter("correlation", correlation, "in [-1, 1]")
    one = laws("first", first, row_word="value of the data")
    two = laws("second", second, one.shape[0], row_word="value of the data")
    couple = _coupled if abs(slant) == 1 else _tied
    rows = [couple(p, q, slant).ravel() for p, q in zip(_rows(one), _rows(two), strict=True)]
    return np.array([_whole(row) for row in rows])


def _whole(row: FloatArray) -> FloatArray:
    """The row divided by its sum; what rounding leaves of that goes to the largest entry, so that the sum is 1."""
    found = row / math.fsum(row)
    largest = np.argmax(found)
    for _ in range(3):  # above 1 doubles are twice as far apart as below
        found[largest] += 1.0 - math.fsum(found)
    return found


def _rows(table: Laws) -> Any:
    """The stated numbers where they are known exactly; floats otherwise."""
    return table.values if table.exact is None else table.exact


def _tied(p: Any, q: Any, correlation: float) -> FloatArray:
    rows, columns = p.astype(float), q.astype(float)
    table = rectangles(_quantiles(rows), _quantiles(columns), correlation)
    for _ in range(2):  # takes out the rounding of the quantiles: marginals as given
        table = table * _ratio(columns, table.sum(axis=0))
        table = table * _ratio(rows, table.sum(axis=1))[:, None]
    return table


def _quantiles(law: FloatArray) -> FloatArray:
    """Normal quantiles of the distribution function, each from the side on which it is small."""
    below = np.concatenate(([0.0], np.cumsum(law)))
    above = np.concatenate((np.cumsum(law[::-1])[::-1], [0.0]))
    left = np.where(below <= above, ndtri(np.minimum(below, 0.5)), -ndtri(np.minimum(above, 0.5)))
    return np.maximum.accumulate(left)


def _ratio(wanted: FloatArray, found: FloatArray) -> FloatArray:
    answer: FloatArray = np.where(found > 0, wanted / np.where(found > 0, found, 1.0), 0.0)
    return answer


def _coupled(p: Any, q: Any, correlation: float) -> FloatArray:
    """Mass handed out in order along p, and along q or against it."""
    rows = [_stated(entry) for entry in p]
    columns = [_stated(entry) for entry in (q if correlation > 0 else q[::-1])]
    table, i, j, left, right = np.zeros((len(rows), len(columns))), 0, 0, rows[0], columns[0]
    while True:
        mass = min(left, right)
        table[i, j] = float(mass)
        left, right = left - mass, right - mass
        row_done, column_done = _spent(left, rows[i]), _spent(right, columns[j])
        i, j = i + row_done, j + column_done
        if i == len(rows) or j == len(columns):
            return table if correlation > 0 else table[:, ::-1]
        left, right = rows[i] if row_done else left, columns[j] if column_done else right


def _spent(rest: Fraction, entry: Fraction) -> bool:
    """Whether an entry is used up.  A hair left of one that was used is the rounding of the table, not an outcome."""
    return rest == 0 or (rest <= _SAME and rest < entry)


def _stated(entry: Any) -> Fraction:
    return entry if isinstance(entry, Fraction) else Fraction(repr(float(entry)))
