"""The Bayes-weighted membership advantage of a decision rule, as expected counts.

Reference: seed 004 equation (2); theory/game.md section 0 item 6: the paper's TPR and FPR are expected counts.
"""

from __future__ import annotations

import attrs

from quiltwork.game.finite.rationals import Number

__all__ = ["ExpectedCounts"]


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
