"""Square linear systems in rational arithmetic: sparse elimination, then p-adic lifting of the dense rest.

Rows and columns with one or two entries are eliminated over the fractions, which fills in little.  What is left, a
dense integer matrix K, is inverted modulo a prime p once; K x = b is then solved modulo p, p^2, p^3, ... (one product
with the inverse a digit) until the numerators and denominators can be read off, and the answer is checked by
multiplication.  The work depends on the size of the answer, not on the size of the determinants.

Quadratic forms in the inverse of a covariance come from elimination without fractions (`inverse_products`).

Reference: Dixon 1982, "Exact solution of linear equations using p-adic expansions", Numerische Mathematik 40; Bareiss
1968, "Sylvester's identity and multistep integer-preserving Gaussian elimination".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork.errors import Unsupported

Entry = Fraction | int
Integers = np.ndarray[Any, np.dtype[np.object_]]

# The largest primes below 2^26: a sum of 1024 products of residues stays below 2^62, so that int64 holds it.
PRIMES = (67108859, 67108837, 67108819, 67108777, 67108763)
DENSE_LIMIT = 1024


class Singular(ArithmeticError):
    """The columns are dependent (or look so modulo five primes): there is no such basis."""


@attrs.frozen
class _Step:
    """One pivot: row and column leave, the rest of the pivot row and what was subtracted elsewhere are kept."""

    row: int
    column: int
    pivot: Entry
    others: tuple[tuple[int, Entry], ...]  # the rest of the pivot row
    factors: tuple[tuple[int, Fraction], ...]  # rows from which a multiple of the pivot row was taken


class Square:
    """A nonsingular matrix given by sparse integer columns, ready to be solved from both sides.

    >>> square = Square([{0: 2, 1: 1}, {1: 3}])
    >>> square.solve([Fraction(1), Fraction(2)]), square.solve_transposed([Fraction(1), Fraction(0)])
    ([Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 2), Fraction(0, 1)])
    """

    def __init__(self, columns: Sequence[Mapping[int, int]]) -> None:
        self.size = len(columns)
        rows = _eliminated(columns)
        self._steps = rows.steps
        self._rows, self._columns = sorted(rows.active), sorted(rows.at)
        if len(self._rows) > DENSE_LIMIT:
            because = f"{len(self._rows)} dense equations are more than {DENSE_LIMIT}"
            raise Unsupported("an exact solution of this size", because, "use floats, whose answers are certified too")
        place = {column: index for index, column in enumerate(self._columns)}
        dense = np.zeros((len(self._rows), len(self._rows)), dtype=object)
        self._scales: list[int] = []
        for index, row in enumerate(self._rows):
            entries = rows.active[row]
            scale = math.lcm(*(Fraction(value).denominator for value in entries.values()))
            self._scales.append(scale)
            for column, value in entries.items():
                dense[index, place[column]] = int(value * scale)
        self._rest = _Lifted(dense)

    @property
    def dense_size(self) -> int:
        """Rows that the sparse elimination left over."""
        return len(self._rows)

    def solve(self, right: Sequence[Entry]) -> list[Fraction]:
        """The x with B x = right."""
        given = [Fraction(value) for value in right]
        for step in self._steps:
            value = given[step.row]
            if value:
                for row, factor in step.factors:
                    given[row] -= factor * value
        found = [Fraction(0)] * self.size
        rest = self._rest.solve([given[row] * scale for row, scale in zip(self._rows, self._scales, strict=True)])
        for column, value in zip(self._columns, rest, strict=True):
            found[column] = value
        for step in reversed(self._steps):
            value = given[step.row]
            for column, entry in step.others:
                if found[column]:
                    value -= entry * found[column]
            found[step.column] = value / step.pivot
        return found

    def solve_transposed(self, right: Sequence[Entry]) -> list[Fraction]:
        """The y with y B = right."""
        given = [Fraction(value) for value in right]
        found = [Fraction(0)] * self.size
        for step in self._steps:
            value = given[step.column] / step.pivot
            found[step.row] = value
            if value:
                for column, entry in step.others:
                    given[column] -= entry * value
        rest = self._rest.solve([given[column] for column in self._columns], transposed=True)
        for row, scale, value in zip(self._rows, self._scales, rest, strict=True):
            found[row] = value * scale
        for step in reversed(self._steps):
            for row, factor in step.factors:
                if found[row]:
                    found[step.row] -= factor * found[row]
        return found


class _Eliminated:
    """The rows that are still active, the rows in which each active column has an entry, and the pivots so far."""

    def __init__(self, columns: Sequence[Mapping[int, int]]) -> None:
        self.active: dict[int, dict[int, Entry]] = {row: {} for row in range(len(columns))}
        self.at: dict[int, set[int]] = {}
        self.steps: list[_Step] = []
        for column, entries in enumerate(columns):
            self.at[column] = set()
            for row, value in entries.items():
                if value:
                    self.active[row][column] = value
                    self.at[column].add(row)
        self._check(self.active, self.at)

    def _check(self, rows: Any, columns: Any) -> None:
        if any(not self.active[row] for row in rows) or any(not self.at[column] for column in columns):
            raise Singular("a row or a column of the basis is empty")

    def pivot(self, row: int, column: int) -> None:
        """Solve this row for this column and put it into the other rows."""
        others = self.active.pop(row)
        pivot = others.pop(column)
        rest = self.at.pop(column) - {row}
        for other in others:
            self.at[other].discard(row)
        factors = []
        for target in rest:
            entries = self.active[target]
            factor = Fraction(entries.pop(column)) / pivot
            factors.append((target, factor))
            for other, value in others.items():
                left = entries.get(other, 0) - factor * value
                if left:
                    entries[other] = left
                    self.at[other].add(target)
                elif other in entries:
                    del entries[other]
                    self.at[other].discard(target)
        self.steps.append(_Step(row, column, pivot, tuple(others.items()), tuple(factors)))
        self._check(rest, others)


def _eliminated(columns: Sequence[Mapping[int, int]]) -> _Eliminated:
    """Pivots on rows and columns with one entry, then with two, as long as there are any."""
    state = _Eliminated(columns)
    short = True
    while short:
        short = False
        for most in (1, 2):
            for column in list(state.at):
                if column in state.at and len(state.at[column]) <= most:
                    state.pivot(min(state.at[column], key=lambda row: (len(state.active[row]), row)), column)
                    short = True
            for row in list(state.active):
                if row in state.active and len(state.active[row]) <= most:
                    state.pivot(row, min(state.active[row], key=lambda column: (len(state.at[column]), column)))
                    short = True
            if short:
                break
    return state


class _Lifted:
    """A dense integer matrix and its inverse modulo a prime."""

    def __init__(self, matrix: Integers) -> None:
        self.matrix = matrix
        for prime in PRIMES:
            inverse = _inverse(matrix, prime)
            if inverse is not None:
                self.prime, self.inverse = prime, inverse
                return
        raise Singular("the basis is singular modulo five primes")

    def solve(self, right: Sequence[Fraction], transposed: bool = False) -> list[Fraction]:
        """The x with K x = right, or with x K = right."""
        if not right:
            return []
        matrix, inverse = (self.matrix.T, self.inverse.T) if transposed else (self.matrix, self.inverse)
        unit = math.lcm(*(value.denominator for value in right))
        target = np.array([int(value * unit) for value in right], dtype=object)
        for residues, modulus in _expansion(matrix, inverse, target, self.prime):
            read = _read(residues, modulus)
            if read is not None and bool(np.all(matrix @ read[0] == read[1] * target)):
                numerators, denominator = read
                return [Fraction(value, denominator * unit) for value in numerators]
        raise AssertionError("the expansion has no end")


def _expansion(matrix: Integers, inverse: np.ndarray, target: Integers, prime: int) -> Iterator[tuple[list[int], int]]:
    """The solution modulo p^n for n = 2, 3, 5, 8, 12, ..."""
    rest, found, modulus = target, np.zeros(len(target), dtype=object), 1
    digits, stop = 0, 2
    while True:
        digit = inverse @ (rest % prime).astype(np.int64) % prime
        exact = digit.astype(object)
        found = found + exact * modulus
        rest = (rest - matrix @ exact) // prime
        modulus *= prime
        digits += 1
        if digits == stop:
            stop += 1 + stop // 2
            yield found.tolist(), modulus


def _read(residues: Sequence[int], modulus: int) -> tuple[Integers, int] | None:
    """Numerators and one denominator, both below sqrt(modulus / 2), or None when the modulus is too small."""
    bound = math.isqrt(modulus // 2)
    denominator = 1
    for residue in residues:
        value = residue * denominator % modulus
        if min(value, modulus - value) <= bound:
            continue
        # Euclid's remainders r = s value + (multiple of the modulus): the first r <= bound gives value = r / s
        before, after, scale_before, scale = modulus, value, 0, 1
        while after > bound:
            quotient = before // after
            before, after = after, before - quotient * after
            scale_before, scale = scale, scale_before - quotient * scale
        denominator *= abs(scale)
        if denominator > bound:
            return None
    numerators = np.empty(len(residues), dtype=object)
    for index, residue in enumerate(residues):
        value = residue * denominator % modulus
        numerators[index] = value if value <= bound else value - modulus
    return numerators, denominator


def _inverse(matrix: Integers, prime: int) -> np.ndarray | None:
    """Gauss-Jordan in int64; None when the matrix is singular modulo the prime."""
    size = len(matrix)
    work = np.zeros((size, 2 * size), dtype=np.int64)
    if size:
        work[:, :size] = (matrix % prime).astype(np.int64)
    work[np.arange(size), size + np.arange(size)] = 1
    for column in range(size):
        candidates = np.flatnonzero(work[column:, column])
        if not candidates.size:
            return None
        row = column + int(candidates[0])
        if row != column:
            work[[row, column]] = work[[column, row]]
        work[column] = work[column] * pow(int(work[column, column]), -1, prime) % prime
        factors = work[:, column].copy()
        factors[column] = 0
        touched = np.flatnonzero(factors)
        work[touched] = (work[touched] - factors[touched, None] * work[column][None, :]) % prime
    return work[:, size:]


def inverse_products(
    matrix: Sequence[Sequence[Fraction]], vectors: Sequence[Sequence[Fraction]]
) -> tuple[list[list[Fraction]], list[list[int]]] | None:
    """v_i' C^-1 v_j for any two vectors, and their parts in each direction that C lacks; None unless C >= 0.

    Elimination of C in [[C, V], [V', 0]] leaves -V' C^-1 V.  The pivots are leading minors times a positive number, so
    that all are positive where C is positive definite (Sylvester); a zero pivot must come with a zero row.

    >>> one, half = Fraction(1), Fraction(1, 2)
    >>> inverse_products([[one, half], [half, one]], [[one, Fraction(0)]])
    ([[Fraction(4, 3)]], [])
    """
    size, every = len(matrix), len(matrix) + len(vectors)
    scale = math.lcm(*(entry.denominator for row in matrix for entry in row))
    unit = math.lcm(*(entry.denominator for vector in vectors for entry in vector))
    rows = [[int(entry * scale) for entry in row] for row in matrix]
    rows = [[*row, *(int(vector[k] * unit) for vector in vectors)] for k, row in enumerate(rows)]
    rows += [[0] * every for _ in vectors]
    last, lacking = 1, []
    for k in range(size):
        first = rows[k]
        pivot = first[k]
        if pivot < 0 or (pivot == 0 and any(first[k + 1 : size])):
            return None
        if pivot == 0:
            lacking.append(first[size:])
            continue
        for i in range(k + 1, every):
            factor, row = first[i], rows[i]
            rows[i] = [(row[j] * pivot - factor * first[j]) // last if j >= i else 0 for j in range(every)]
        last = pivot
    share, places = Fraction(scale, last * unit * unit), range(size, every)
    return [[-share * rows[min(i, j)][max(i, j)] for j in places] for i in places], lacking
