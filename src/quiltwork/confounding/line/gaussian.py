"""Normal data with one covariance for all secrets: everything is one number mu, computed in rational arithmetic.

Given the secret s the observations are y ~ N(W m_s, C) with C = W Sigma W' + N.  The test between two secrets is that
of N(mu, 1) against N(0, 1) with

    mu^2 = D' C^-1 D,   D = W (m_s - m_s'),

and of the least norm when C is singular: a direction without noise that separates the means makes mu infinite.  Numbers
are read as the decimals typed, so mu^2 is an exact fraction; its root is rounded once, outward both ways.

Ignoring the confounder replaces C by its diagonal, and the sign of D'(C^-1 - diag(C)^-1)D decides for every epsilon and
delta at once whether that claims too little or too much.

Reference: theory/confounding.md 2.1, 2.2(5) and 5; Dong, Roth and Su 2022 for mu.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from quiltwork.compose.constructors import gdp
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.curve import BaseCurve, Ends, Question
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.digits import pair
from quiltwork.numbers.rational_linear import inverse_products
from quiltwork.numbers.rounding import down, up
from quiltwork.numbers.stated import root, typed

Vector = Sequence[Fraction]
Matrix = Sequence[Sequence[Fraction]]
Squares = list[list[Fraction | None]]  # None stands for infinite

MIN_MU, MAX_MU = 1e-100, 1e100  # what the engine takes for mu


def product(left: Matrix, right: Matrix) -> list[list[Fraction]]:
    """The matrix product, exactly."""
    columns = list(zip(*right, strict=True))
    return [[sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns] for row in left]


def separations(covariance: Matrix, means: Sequence[Vector]) -> Squares:
    """D' C^-1 D for the means of any two secrets; C must be positive semidefinite, and may be singular.

    Means that differ in a direction without noise are infinitely far apart.

    >>> one, half = Fraction(1), Fraction(1, 2)
    >>> separations([[one, half], [half, one]], [[Fraction(0), Fraction(0)], [one, Fraction(0)]])[0][1]
    Fraction(4, 3)
    """
    moved = [[value - base for value, base in zip(mean, means[0], strict=True)] for mean in means]
    found = inverse_products(covariance, moved)
    if found is None:
        raise InvalidParameter("the covariance", "a matrix with a negative direction", "positive semidefinite")
    gram, lacking = found

    def square(i: int, j: int) -> Fraction | None:
        apart = any(parts[i] != parts[j] for parts in lacking)
        return None if apart else gram[i][i] - 2 * gram[i][j] + gram[j][j]

    return [[square(i, j) for j in range(len(means))] for i in range(len(means))]


def marginal_separations(covariance: Matrix, means: Sequence[Vector]) -> Squares:
    """The same with the diagonal of C only: what composing each observation on its own would say."""
    diagonal = [covariance[k][k] for k in range(len(covariance))]

    def square(one: Vector, two: Vector) -> Fraction | None:
        total = Fraction(0)
        for a, b, variance in zip(one, two, diagonal, strict=True):
            if a != b and variance == 0:
                return None
            total += (a - b) ** 2 / variance if a != b else 0
        return total

    return [[square(one, two) for two in means] for one in means]


def worst_square(squares: Squares, pairs: Any) -> Fraction | None:
    """The largest over ordered pairs; None is infinite."""
    found = [squares[int(i)][int(j)] for i, j in pairs]
    finite = [value for value in found if value is not None]
    return max(finite) if len(finite) == len(found) else None


def root_ends(square: Fraction) -> tuple[float, float]:
    """Doubles on both sides of the square root that stay there when they are read as decimals."""
    if square == 0:
        return 0.0, 0.0
    near = float(root(square)[0])
    if typed(near) ** 2 == square:
        return near, near
    return down(near, 2), up(near, 2)


class GaussianCurve(BaseCurve):
    """The curve of N(mu, 1) against N(0, 1) with mu^2 an exact fraction, or infinite (None)."""

    def __init__(self, square: Fraction | None, method: str = "closed form", *, certified: bool = True) -> None:
        self.square, self.method, self.certified = square, method, certified

    def __repr__(self) -> str:
        return f"<GaussianCurve mu = {pair(*self.mu)}: {self.method}>"

    @cached_property
    def mu(self) -> tuple[float, float]:
        """Both ends of mu."""
        return (math.inf, math.inf) if self.square is None else root_ends(self.square)

    def _ends(self, question: Question) -> Ends:
        """From the engine at both ends of mu; what lies outside its range is answered from the nearest mu in it."""
        low, high = self.mu
        nothing, everything = _extremes(question)
        less = gdp(min(low, MAX_MU))._answer(question) if low >= MIN_MU else nothing
        more = nothing
        if high > 0:
            more = gdp(max(high, MIN_MU))._answer(question) if high <= MAX_MU else everything
        if math.isinf(low):
            less = everything
        lower, upper = (more.lower, less.upper) if question.quantity == "beta" else (less.lower, more.upper)
        return Ends(np.asarray(lower), np.asarray(upper), self.method, self.certified)


def _extremes(question: Question) -> tuple[Bracket, Bracket]:
    """What is true when nothing is told (mu = 0), and when everything is."""
    quantity, asked = question.quantity, question.values
    zero, one = np.zeros(asked.shape), np.ones(asked.shape)
    if quantity == "epsilon":
        most = np.where(asked < 1, np.inf, 0.0)
        return Bracket(zero, zero, quantity), Bracket(most, most, quantity)
    if quantity == "delta":
        rest = -np.expm1(np.minimum(asked, 0.0))
        low, high = np.where(asked < 0, down(rest, 4), 0.0), np.where(asked < 0, up(rest, 4), 0.0)
        return Bracket(low, high, quantity), Bracket(one, one, quantity)
    return Bracket(down(1.0 - asked), up(1.0 - asked), quantity), Bracket(zero, zero, quantity)


# ---- as a document


def _read(method: str, certified: bool, square: Any = None) -> GaussianCurve:
    return GaussianCurve(square, str(method), certified=certified is True)


document("gaussian_curve/1", fields="method certified", optional="square", read=_read)(GaussianCurve)
