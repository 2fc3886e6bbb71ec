"""The largest AUC that any attacker can have against several Gaussian mechanisms on one statistic.

For members drawn exchangeably or independently, with equal rates: a pooled AUC, as well as each person's own, is that
of tests between worlds that differ in one membership, and G_mu allows Phi(mu / sqrt 2).

Reference: `quiltwork.curves.ceiling`; theory/game.md section 5; theory/confounding.md, verdict on Table VIII.
"""

from __future__ import annotations

from typing import Any

from quiltwork.curves.ceiling import auc_ceiling_of
from quiltwork.game.composition.totals import as_loss

__all__ = ["composed_auc_ceiling"]


def composed_auc_ceiling(
    existing: Any, correlation: Any = None, *, sensitivity: float = 1.0, constant: float = 1.0
) -> float:
    """The AUC ceiling of all mechanisms together, rounded up; arguments as in `as_loss`.

    >>> round(composed_auc_ceiling([0.6, 0.8]), 4)
    0.7603
    """
    return auc_ceiling_of(as_loss(existing, correlation, sensitivity=sensitivity, constant=constant))
