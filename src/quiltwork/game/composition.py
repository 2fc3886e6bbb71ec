"""Composition of Gaussian mechanisms on one statistic: what they amount to, and how strong the next one may be.

`total`, `as_loss` and `composed_auc_ceiling` say what there is; `next_mechanism` and `next_sigma` choose the next
release, exactly, also for correlated noise; `penalty_method` and `sampled_bisection` are the searches that the closed
form replaces, kept for comparison.
"""

from __future__ import annotations

from quiltwork.game.gaussian.next_mechanism import NextMechanism, NextSigma, largest_mu, next_mechanism, next_sigma
from quiltwork.game.gaussian.total import as_loss, composed_auc_ceiling, total
from quiltwork.game.papers.sampled_searches import Approximate, penalty_method, sampled_bisection

__all__ = [
    "Approximate",
    "NextMechanism",
    "NextSigma",
    "as_loss",
    "composed_auc_ceiling",
    "largest_mu",
    "next_mechanism",
    "next_sigma",
    "penalty_method",
    "sampled_bisection",
    "total",
]
