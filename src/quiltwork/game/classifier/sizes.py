"""What the published number of queries alone tells: the log-odds of each candidate given that there are n members.

Under equal rates n of K members are an exchangeable set: odds n / (K - n).  Under other rates the odds are those of
independent coins tilted until n are expected, P(k) = w_k t / (1 + w_k t), which is the law given n to first order.

Reference: theory/game.md section 1 (odds against the prior); Chen, Dempster and Liu 1994 for coins given their sum.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from quiltwork.checks import FloatArray

__all__ = ["CERTAIN", "size_odds"]

CERTAIN = 1000.0  # log-odds where nobody, or everybody, is a member
_STEPS = 80


def size_odds(rates: FloatArray) -> FloatArray:
    """Log-odds of membership, one row a size from 0 to K.

    >>> np.round(np.exp(size_odds(np.array([0.5, 0.5, 0.5]))[1:3]), 3)
    array([[0.5, 0.5, 0.5],
           [2. , 2. , 2. ]])
    """
    people = len(rates)
    sizes = np.arange(1, people)
    weights = np.asarray(logit(rates))
    odds = np.full((people + 1, people), CERTAIN)
    odds[0] = -CERTAIN
    # each P(k) is n / K for some tilt between these two, which puts the tilt for the sum between them
    plain = logit(sizes / people)
    low, high = plain - weights.max(), plain - weights.min()
    for _ in range(_STEPS if weights.max() > weights.min() else 0):
        middle = 0.5 * (low + high)
        short = expit(weights + middle[:, None]).sum(axis=1) < sizes
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    odds[1:people] = weights + (0.5 * (low + high))[:, None]
    return odds
