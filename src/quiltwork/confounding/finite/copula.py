"""Two channels tied together by a Gaussian copula: the joint table that is released.

The copula of discrete outputs is not unique, so the table is the definition: given x, both outputs are read off two
standard normals of the given correlation, cut at the quantiles of the two rows.

Probabilities of rectangles under two correlated standard normals, all at once and without cancellation.

With s = sqrt(1 - r^2), Z_2 given Z_1 = x is N(r x, s^2), so that

    P(a < Z_1 < b, c < Z_2 < d) = integral over (a, b) of phi(x) [Phi((d - r x)/s) - Phi((c - r x)/s)] dx.

Each term is positive: a rectangle of probability 1e-30 keeps its first digits, which a difference of four distribution
functions would lose.  Gauss-Legendre panels end at the edges a, b, are at most 1 long and at most 1.5 s / |r| where the
bracket moves; there both factors are entire functions that 16 nodes resolve: to 1e-15, and to 1e-11 of what
is above 1e-15 (measured against 25 digits).

Reference: Owen 1956 for the conditional form; theory/confounding.md section 5 for the use.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.laws import Laws, laws
from quiltwork.numbers.stated import typed

__all__ = ["gaussian_copula", "rectangles"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_REACH = 10.0  # beyond the last edge and 0: Phi(-10) is 8e-24 of what is left
_WINDOW = np.linspace(-9.0, 9.0, 13)  # where Phi moves, in panels of 1.5
_LONGEST = 1.0
_CHUNK = 4_000_000  # numbers held at once


def rectangles(first: FloatArray, second: FloatArray, correlation: float) -> FloatArray:
    """(n, m) probabilities between consecutive edges of Z_1 and Z_2; edges rise and may be infinite, |r| < 1.

    >>> edges = np.array([-np.inf, 0.0, np.inf])
    >>> rectangles(edges, edges, 0.5).round(8)
    array([[0.33333333, 0.16666667],
           [0.16666667, 0.33333333]])
    """
    if correlation == 0.0:
        return np.outer(_between(first), _between(second))
    rest = math.sqrt((1.0 - correlation) * (1.0 + correlation))
    ends = _panels(first, second, correlation, rest)
    half, middle = 0.5 * np.diff(ends), 0.5 * (ends[1:] + ends[:-1])
    cell = np.searchsorted(first, middle) - 1
    found = np.zeros((len(first) - 1, len(second) - 1))
    chunk = max(1, _CHUNK // (_NODES.size * len(second)))
    for at in range(0, middle.size, chunk):
        part = slice(at, at + chunk)
        places = middle[part, None] + half[part, None] * _NODES
        with np.errstate(under="ignore"):
            weights = half[part, None] * _WEIGHTS * np.exp(-0.5 * places**2) / math.sqrt(2.0 * math.pi)
            given = _between((second - correlation * places[:, :, None]) / rest)
            np.add.at(found, cell[part], np.einsum("pn,pnm->pm", weights, given))
    return found


def _between(edges: FloatArray) -> FloatArray:
    """Phi(t_j+1) - Phi(t_j) along the last axis, from the tail that is nearer."""
    below, above = ndtr(edges), ndtr(-edges)
    right = edges[..., :-1] > 0
    answer: FloatArray = np.where(right, above[..., :-1] - above[..., 1:], below[..., 1:] - below[..., :-1])
    return answer


def _panels(first: FloatArray, second: FloatArray, correlation: float, rest: float) -> FloatArray:
    """Ends of the panels: the edges, a mesh, and windows around second / r when these are fewer than a fine mesh."""
    inner = first[np.isfinite(first)]
    low, high = min(float(np.min(inner, initial=0.0)), 0.0), max(float(np.max(inner, initial=0.0)), 0.0)
    low = low - _REACH if first[0] == -np.inf else float(first[0])
    high = high + _REACH if first[-1] == np.inf else float(first[-1])
    scale = rest / abs(correlation)
    turns = second[np.isfinite(second)]
    step = min(_LONGEST, 1.5 * scale)
    extra: FloatArray = np.zeros(0)
    if (high - low) / step > (high - low) / _LONGEST + _WINDOW.size * turns.size:
        step, extra = _LONGEST, (turns[:, None] / correlation + scale * _WINDOW).ravel()
    mesh = np.linspace(low, high, 1 + math.ceil((high - low) / step))
    ends = np.unique(np.concatenate((mesh, inner, extra)))
    return ends[(ends >= low) & (ends <= high)]


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
    rows = [typed(entry) for entry in p]
    columns = [typed(entry) for entry in (q if correlation > 0 else q[::-1])]
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
