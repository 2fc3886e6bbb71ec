"""Stochastic matrices: checks, stationary laws, powers, each with a bound on its rounding error.

Products of nonnegative numbers lose no relative accuracy: after d multiplications by a k x k matrix every entry is
known to a relative error of d (k + 6) units of roundoff.  Zeros are followed exactly, by the graph of what
is possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from itertools import islice
from typing import Any, TypeVar

import attrs
import numpy as np
from scipy.sparse.csgraph import connected_components

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.laws import doubles, probabilities
from quiltwork.numbers.rounding import UNIT

TINY = 1e-280  # below this a product may have lost digits to underflow
FAR = 1e300  # stands for the log of nothing; infinite minus infinite would be NaN
FIRST_COLUMNS = 4  # of each row, looked at before all others

Made = TypeVar("Made")
_STORED: ContextVar[bool] = ContextVar("stored", default=False)


def made_as_stored(cls: type[Made], fields: Mapping[str, Any]) -> Made:
    """The object with these fields; laws that were divided by their sums before they were written stay as they are.

    The float sum of k such numbers is off by at most 2k units of roundoff; a law that is farther off was never divided.
    """
    token = _STORED.set(True)
    try:
        return cls(**fields)
    finally:
        _STORED.reset(token)


def _divided(rows: FloatArray, sums: FloatArray) -> FloatArray:
    """Rows divided by their sums, unless that was done before."""
    divided = rows / sums[:, None]
    if not _STORED.get():
        return divided
    near = np.abs(sums - 1.0) <= 2.0 * rows.shape[1] * UNIT
    return np.where(near[:, None], rows, divided)


def stochastic(name: str, value: Any, *, square: bool = True) -> FloatArray:
    """A matrix of probabilities whose rows sum to one, normalised to the last digit."""
    allowed = "a square matrix" if square else "a matrix"
    matrix = doubles(probabilities(name, value, 2, allowed))
    if square and matrix.shape[0] != matrix.shape[1]:
        raise InvalidParameter(f"the shape of {name}", matrix.shape, allowed)
    return _divided(matrix, matrix.sum(axis=1))


def law(name: str, value: Any, size: int) -> FloatArray:
    """A probability vector of this size."""
    allowed = f"({size},), one probability a state"
    vector = doubles(probabilities(name, value, 1, allowed))
    if vector.shape != (size,):
        raise InvalidParameter(f"the shape of {name}", vector.shape, allowed)
    return np.asarray(_divided(vector[None, :], np.array([float(vector.sum())]))[0])


def recurrent(matrix: FloatArray) -> np.ndarray:
    """The states of the one closed class; with several closed classes there is no single stationary law."""
    count, labels = connected_components(matrix > 0, directed=True, connection="strong")
    leaves = np.zeros(count, dtype=bool)
    rows, columns = np.nonzero(matrix)
    leaves[labels[rows[labels[rows] != labels[columns]]]] = True
    closed = np.nonzero(~leaves)[0]
    if closed.size > 1:
        raise InvalidParameter(
            "transition",
            f"{closed.size} separate closed classes of states",
            "a chain with one stationary law",
            "give initial=<probabilities> and a length, or split the chain",
        )
    return np.nonzero(labels == closed[0])[0]


def stationary(matrix: FloatArray) -> FloatArray:
    """The stationary law of an irreducible chain, by elimination without subtraction: every digit is relative.

    Reference: Grassmann, Taksar and Heyman (1985); O'Cinneide (1993) bounds its error entry by entry.
    """
    work = np.array(matrix)
    size = len(work)
    lost = False
    for last in range(size - 1, 0, -1):
        left = float(work[last, :last].sum())
        lost = lost or left <= TINY
        work[:last, last] /= max(left, TINY)
        work[:last, :last] += np.outer(work[:last, last], work[last, :last])
    weights = np.ones(size)
    for state in range(1, size):
        weights[state] = weights[:state] @ work[:state, state]
    found = weights / weights.sum()
    if lost or not bool(np.all(found > TINY)):
        raise InvalidParameter(
            "transition",
            "a state with probability below 1e-280",
            "states that are not lost to underflow",
            "merge states",
        )
    return np.asarray(found)


def stationary_error(size: int) -> float:
    """Relative error of each stationary probability: elimination (cubic) and the rounding of the matrix (2k a unit)."""
    return (10.0 * size**3 + 20.0 * size) * UNIT


def refuse_lost(table: FloatArray, possible: np.ndarray) -> None:
    """Refuse a law in which possible data have lost their digits: they would count as impossible."""
    if bool(np.any(possible & (table < TINY))):
        raise InvalidParameter(
            "the law of all data", "possible data with a probability below 1e-280", "probabilities that can be computed"
        )


@attrs.frozen(eq=False)
class Powers:
    """P, P^2, ..., with the relative error of every entry and which entries are possible at all."""

    matrices: FloatArray  # (D, k, k)
    possible: np.ndarray  # (D, k, k) bool
    error: float  # of one factor: power d has d times this

    @property
    def depth(self) -> int:
        """The largest power."""
        return len(self.matrices)


def powers(matrix: FloatArray, depth: int, entry_error: float = 4 * UNIT) -> Powers:
    """The first `depth` powers of a square matrix whose entries have this relative error."""
    matrices, possible = zip(*islice(each_power(matrix), depth), strict=True)
    return Powers(np.array(matrices), np.array(possible), power_error(matrix, entry_error))


def each_power(matrix: FloatArray) -> Iterator[tuple[FloatArray, np.ndarray]]:
    """P, P^2, ... without end, and which entries are possible."""
    step = (matrix > 0).astype(np.float32)
    now, reach = np.eye(len(matrix)), np.eye(len(matrix), dtype=bool)
    while True:
        now, reach = now @ matrix, (reach.astype(np.float32) @ step) > 0
        yield now, reach


def power_error(matrix: FloatArray, entry_error: float = 4 * UNIT) -> float:
    """Relative error of every entry of the first power; that of power d is d times this."""
    return (len(matrix) + 2) * UNIT + entry_error


def log_ratios(matrix: FloatArray, possible: np.ndarray, error: float) -> FloatArray:
    """max over y of log M[u, y] / M[v, y] for every two rows, rounded up; +inf where only u can reach y.

    `error` bounds the relative error of the entries.  A row that reaches nothing has -inf.
    """
    logs = np.log(np.maximum(matrix, TINY))
    # where digits may be lost to underflow, the numerator is taken too large and the denominator as nothing
    top, bottom = np.where(possible, logs, -np.inf), np.where(possible & (matrix > TINY), logs, -FAR)
    best = _largest_differences(top, bottom)
    np.fill_diagonal(best, 0.0)
    best = np.where(best > FAR / 2, np.inf, best)
    deepest = float(np.abs(top[possible]).max(initial=0.0))
    slack = 2.0 * error + 4.0 * UNIT * deepest + 8.0 * UNIT
    with np.errstate(invalid="ignore"):
        found = np.where(np.isfinite(best), best + slack + 8.0 * UNIT * np.abs(best), best)
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def _largest_differences(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """max over y of top[u, y] - bottom[v, y] for every u and other v, to the last digit what looking at every y gives.

    Column y gives at most top[u, y] less the least bottom of it.  The columns where this is largest are looked at
    first, and the others only for pairs to which they could still give more: in a lazy chain, hardly any.
    """
    if top.shape[1] <= 4 * FIRST_COLUMNS:
        return np.array([(row - bottom).max(axis=1) for row in top])
    seen = bottom > -FAR
    room = top - np.where(seen, bottom, np.inf).min(axis=0)
    rows, best = np.arange(len(top)), np.full((len(top), len(bottom)), -np.inf)
    for _ in range(FIRST_COLUMNS):
        y = room.argmax(axis=1)
        np.maximum(best, top[rows, y][:, None] - bottom[:, y].T, out=best)
        room[rows, y] = -np.inf
    if not seen.all():  # u reaches what v does not
        best[(top > -np.inf).astype(np.float32) @ (~seen).T.astype(np.float32) > 0] = FAR
    missing = best < room.max(axis=1)[:, None]
    np.fill_diagonal(missing, False)  # a row against itself is not asked
    for u in np.flatnonzero(missing.any(axis=1)):
        others: Any = np.flatnonzero(missing[u])
        if 2 * len(others) > len(bottom):
            others = slice(None)
        best[u, others] = (top[u] - bottom[others]).max(axis=1)
    return best
