"""The total of Gaussian mechanisms on one statistic, its certified curve, and the largest AUC that it allows.

For members drawn exchangeably or independently, with equal rates: a pooled AUC, as well as each person's own, is that
of tests between worlds that differ in one membership, and G_mu allows Phi(mu / sqrt 2).

Reference: theory/game.md section 5; theory/confounding.md, verdict on Table VIII; Dong, Roth and Su 2022 (Gaussian
mechanisms compose by mu^2); `quiltwork.curves.auc_ceiling`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from quiltwork.compose.constructors import gdp
from quiltwork.compose.loss import Loss
from quiltwork.curves.auc_ceiling import auc_ceiling_of
from quiltwork.curves.bracket import Bracket
from quiltwork.errors import InvalidParameter
from quiltwork.game.gaussian.correlations import positives, square
from quiltwork.numbers.stated import above, exactly, root, typed_above, typed_below

__all__ = ["as_loss", "composed_auc_ceiling", "total"]

EXISTING = "one epsilon for each mechanism"


def total(existing: Any, correlation: Any = None) -> Bracket:
    """sqrt(e'R^-1 e): what the mechanisms amount to together, in the unit of their epsilons.

    Mechanism i adds Gaussian noise of variance C / eps_i^2 to the same statistic, so that its mu is eps_i times a
    constant.  `correlation` of the noises: None (independent), one number for all pairs, or an n x n matrix.

    >>> print(total([1, 1, 1, 1, 1]))
    cost = 2.236067977499789[3, 9] (closed form)
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
