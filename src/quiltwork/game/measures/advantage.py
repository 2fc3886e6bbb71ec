"""The Bayes-weighted membership advantage: the attacker's payoff with a price on false alarms, in expected counts.

    BWMA(gamma) = (1 - gamma) E[sum_k s_k b_k] - gamma E[sum_k s_k (1 - b_k)],

with s_k the decision and b_k the membership of person k.  The sums are counts of people in a release, not rates: with
rates the paper's Proposition 1 is false.

Reference: seed 004 Definition 2, equation (2) and Proposition 1; theory/game.md sections 0 (item 6) and 1.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.game.measures.roc import aligned
from quiltwork.kinds import document
from quiltwork.numbers.laws import Number

__all__ = [
    "Bwma",
    "ExpectedCounts",
    "bwma",
    "expected_false_positives",
    "expected_true_positives",
    "threshold_decisions",
]


@document("bwma/1")
@attrs.frozen
class Bwma:
    """The payoff and the two expected counts it is made of."""

    gamma: float
    expected_true_positives: float
    expected_false_positives: float

    @property
    def advantage(self) -> float:
        """(1 - gamma) true positives - gamma false positives."""
        return (1.0 - self.gamma) * self.expected_true_positives - self.gamma * self.expected_false_positives


def bwma(decisions: Any, membership: Any, gamma: Any) -> Bwma:
    """The payoff of decisions in [0, 1] (1: called a member; between: at random), releases x people.

    >>> bwma([[1, 1, 0]], [[1, 0, 0]], 0.25).advantage
    0.5
    """
    price = checks.probability("gamma", gamma)
    found, alarms = _counts(decisions, membership)
    return Bwma(price, found, alarms)


def expected_true_positives(decisions: Any, membership: Any) -> float:
    """E[sum_k s_k b_k]: members of a release that are called members, on average."""
    return _counts(decisions, membership)[0]


def expected_false_positives(decisions: Any, membership: Any) -> float:
    """E[sum_k s_k (1 - b_k)]: others that are called members, on average."""
    return _counts(decisions, membership)[1]


def _counts(decisions: Any, membership: Any) -> tuple[float, float]:
    called = checks.numbers("decisions", decisions, "in [0, 1]", 0.0, 1.0)
    values, inside = aligned(called, membership)
    return float(np.mean((values * inside).sum(axis=1))), float(np.mean((values * ~inside).sum(axis=1)))


def threshold_decisions(posteriors: Any, gamma: Any) -> Any:
    """The best decisions for given posteriors: a member is called where P(b_k = 1 | x) > gamma (Proposition 1)."""
    price = checks.probability("gamma", gamma)
    beliefs = checks.numbers("posteriors", posteriors, "in [0, 1]", 0.0, 1.0)
    if beliefs.ndim == 0:
        raise InvalidParameter("posteriors", posteriors, "an array")
    return (beliefs > price).astype(float)


@document("expected_counts/1")
@attrs.frozen
class ExpectedCounts:
    """E[sum_k s_k b_k] and E[sum_k s_k (1 - b_k)]: numbers of people, not rates."""

    expected_true_positives: Number
    expected_false_positives: Number
    gamma: Number

    @property
    def advantage(self) -> Number:
        """BWMA(gamma) = (1 - gamma) E[true positives] - gamma E[false positives]."""
        return (1 - self.gamma) * self.expected_true_positives - self.gamma * self.expected_false_positives
