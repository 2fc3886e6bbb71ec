"""What Gaussian mechanisms on one statistic amount to together, exactly, also when their noises are correlated.

Mechanism i releases f + z_i with Var z_i = C / eps_i^2 and Corr(z_i, z_j) = R_ij, in each coordinate alike.  The shift
of f by a vector of length Delta is then tested with

    mu^2 = Delta^2 / C * e'R^-1 e,        e = (eps_1, ..., eps_n).

For one more mechanism with correlations r to the others, Schur's complement (Q = R^-1, s = 1 - r'Qr) gives

    (e, x)' R_(n+1)^-1 (e, x) = e'Qe + (x - r'Qe)^2 / s,

so three numbers are all that is needed of the others.  Equal correlations rho have the closed form
Q = (I - rho / (1 + (n-1) rho) 11') / (1 - rho); other matrices are eliminated over the integers, without division
(Bareiss 1968).

Reference: theory/game.md section 5 (mu^2 = Delta^2 1'Sigma^-1 1); theory/confounding.md, verdict on Table VIII; Dong,
Roth and Su 2022 (Gaussian mechanisms compose by mu^2); `quiltwork.curves.auc_ceiling`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.compose.constructors import gdp
from quiltwork.compose.loss import Loss
from quiltwork.curves.auc_ceiling import auc_ceiling_of
from quiltwork.curves.bracket import Bracket
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.rational_linear import inverse_products
from quiltwork.numbers.stated import above, exactly, root, typed, typed_above, typed_below

MAX_MECHANISMS = 10_000  # on one statistic
MAX_ROWS = 64  # rows of a matrix that is eliminated exactly
_MATRIX = "a number, or a symmetric positive definite matrix with ones on its diagonal"

Rows = tuple[tuple[Fraction, ...], ...]


@document("next_forms/1")
@attrs.frozen
class Forms:
    """What the existing mechanisms leave to the next one: total^2 = spent + (x - pull)^2 / rest."""

    spent: Fraction  # e'Qe
    pull: Fraction  # r'Qe
    rest: Fraction  # 1 - r'Qr, positive

    def square(self, epsilon: Fraction) -> Fraction:
        """The square of the total with one more mechanism."""
        return self.spent + (epsilon - self.pull) ** 2 / self.rest

    def room(self, target: Fraction) -> Fraction:
        """(x - pull)^2 may be this much; negative when nothing will do."""
        return self.rest * (target**2 - self.spent)


def square(existing: Sequence[Fraction], correlation: Any) -> Fraction:
    """e'R^-1 e for a correlation that is None, one number for all pairs, or an n x n matrix."""
    given = read(correlation, len(existing))
    if not isinstance(given, Fraction):
        return eliminated(given, existing).spent
    total = sum(existing, Fraction(0))
    squares = sum((value * value for value in existing), Fraction(0))
    return (squares - given / (1 + (len(existing) - 1) * given) * total**2) / (1 - given)


def forms(existing: Sequence[Fraction], correlation: Any) -> Forms:
    """The three numbers for one more mechanism; a matrix has its correlations in the last row and column."""
    size = len(existing)
    given = read(correlation, size + 1)
    if not isinstance(given, Fraction):
        column = [row[size] for row in given[:size]]
        return eliminated(tuple(row[:size] for row in given[:size]), existing, column)
    spread = 1 + (size - 1) * given
    total = sum(existing, Fraction(0))
    return Forms(square(existing, given), given * total / spread, (1 - given) * (1 + size * given) / spread)


# ---- reading


def read(correlation: Any, size: int) -> Fraction | Rows:
    """One number for all pairs (None is 0), or the rows of a matrix of this size."""
    if correlation is None:
        return Fraction(0)
    if isinstance(correlation, (list, tuple)) or (isinstance(correlation, np.ndarray) and correlation.ndim > 0):
        return _matrix(correlation, size)
    checks.real("correlation", correlation, _MATRIX)
    rho = typed(correlation)
    if not -1 < rho < 1 or 1 + (size - 1) * rho <= 0:
        least = f"-1/{size - 1}" if size > 2 else "-1"
        hint = f"{size} noises cannot all have this correlation, or some combination of them has no noise at all"
        raise InvalidParameter("correlation", correlation, f"in ({least}, 1) for {size} mechanisms", hint)
    return rho


def positives(name: str, values: Any, hint: str = "") -> tuple[Fraction, ...]:
    """One or more positive numbers, exactly; each in [1e-100, 1e100]."""
    found = _entries(name, values, "a list of positive numbers")
    if not found:
        raise InvalidParameter(name, values, "one number or more", hint)
    if len(found) > MAX_MECHANISMS:
        raise InvalidParameter(name, f"{len(found)} numbers", f"at most {MAX_MECHANISMS}")
    return tuple(exactly(name, value, hint) for value in found)


def _entries(name: str, values: Any, allowed: str) -> list[Any]:
    """The entries of a list, tuple or one-dimensional array."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind == "b":
            raise InvalidParameter(name, f"{values.dtype} of shape {values.shape}", allowed)
        return list(values)
    if not isinstance(values, (list, tuple)):
        raise InvalidParameter(name, values, allowed)
    return list(values)


def _matrix(value: Any, size: int) -> Rows:
    listed = list(value) if isinstance(value, np.ndarray) and value.ndim == 2 else value
    found = [_entries("correlation", row, _MATRIX) for row in _entries("correlation", listed, _MATRIX)]
    if len(found) != size or any(len(row) != size for row in found):
        shape = f"{len(found)} rows of {sorted({len(row) for row in found})} entries"
        raise InvalidParameter("correlation", shape, f"a {size} x {size} matrix, one row and column a mechanism")
    if size > MAX_ROWS:
        raise Unsupported(
            f"a correlation matrix of {size} mechanisms",
            f"it is eliminated exactly, for at most {MAX_ROWS} of them",
            "a single number, for equal correlations, has no such limit",
        )
    for row in found:
        for entry in row:
            checks.real("correlation", entry, _MATRIX)
    rows = tuple(tuple(typed(entry) for entry in row) for row in found)
    for i in range(size):
        if rows[i][i] != 1:
            raise InvalidParameter("the diagonal of correlation", found[i][i], "1", "scales are not part of it")
        for j in range(i):
            if rows[i][j] != rows[j][i]:
                raise InvalidParameter(f"correlation[{i}][{j}]", found[i][j], f"{found[j][i]!r}, as [{j}][{i}] is")
    return rows


# ---- elimination


def eliminated(matrix: Rows, right: Sequence[Fraction], column: Sequence[Fraction] | None = None) -> Forms:
    """e'Qe, r'Qe and 1 - r'Qr, where r is nothing unless it is given."""
    found = inverse_products(matrix, [right, [Fraction(0)] * len(matrix) if column is None else column])
    if found is None or found[1] or found[0][1][1] >= 1:
        hint = "some combination of the noises would have no variance, or a negative one"
        raise InvalidParameter("correlation", "a matrix that is not positive definite", "positive definite", hint)
    (spent, pull), (_, explained) = found[0]
    return Forms(spent, pull, 1 - explained)


EXISTING = "one epsilon for each mechanism"


def total(existing: Any, correlation: Any = None) -> Bracket:
    """sqrt(e'R^-1 e): what the mechanisms amount to together, in the unit of their epsilons.

    Mechanism i adds Gaussian noise of variance C / eps_i^2 to the same statistic, so that its mu is eps_i times a
    constant.  `correlation` of the noises: None (independent), one number for all pairs, or an n x n matrix.

    >>> print(total([1, 1, 1, 1, 1]))
    cost = 2.2360679774997899, within 6.0e-16 (closed form)
    >>> total([3, 4]).upper, total([1, 1], 0.5).upper < total([1, 1]).upper < total([1, 1], -0.5).upper
    (5.0, True)
    """
    return bracket(square(positives("existing", existing, EXISTING), correlation))


def as_loss(existing: Any, correlation: Any = None, *, sensitivity: float = 1.0, constant: float = 1.0) -> Loss:
    """The certified curve of all mechanisms together: G_mu, with mu rounded up.

    mu^2 = sensitivity^2 / constant * e'R^-1 e, where `sensitivity` is the l2 distance by which the statistic differs
    between the worlds that are to look alike, and `constant` is the C of Var = C / eps^2.

    >>> as_loss([0.1, 0.1, 0.1, 0.1, 0.458], sensitivity=4.0).epsilon(1e-5).upper < gdp(2.0).epsilon(1e-5).upper
    True
    """
    return strong(square(positives("existing", existing, EXISTING), correlation), sensitivity, constant)


def bracket(exact_square: Fraction) -> Bracket:
    """Doubles around the root of an exact square."""
    low, high = root(exact_square)
    return Bracket(typed_below(low), typed_above(high), "cost", method="closed form")


def strong(exact_square: Fraction, sensitivity: Any, constant: Any) -> Loss:
    """G_mu with mu^2 = sensitivity^2 / constant times this square, rounded up."""
    scale = exactly("sensitivity", sensitivity) ** 2 / exactly("constant", constant)
    mu = above(root(exact_square * scale)[1])
    if not 1e-100 <= mu <= 1e100 or math.isinf(mu):
        raise InvalidParameter("mu of the composition", mu, "in [1e-100, 1e100]")
    return gdp(mu)


def composed_auc_ceiling(
    existing: Any, correlation: Any = None, *, sensitivity: float = 1.0, constant: float = 1.0
) -> float:
    """The AUC ceiling of all mechanisms together, rounded up; arguments as in `as_loss`.

    >>> round(composed_auc_ceiling([0.6, 0.8]), 4)
    0.7603
    """
    return auc_ceiling_of(as_loss(existing, correlation, sensitivity=sensitivity, constant=constant))
