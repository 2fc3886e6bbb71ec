"""Bisection on the sampled log-odds, with the same random numbers at each epsilon: no weights to tune, and no proof.

Reference: theory/game.md section 5 (0.1 % below the closed form with 200,000 samples).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.game.composition.sampled import Approximate, LogOdds, generator

__all__ = ["sampled_bisection"]

_STEPS = 50


def sampled_bisection(
    existing: Any,
    target: Any,
    rng: np.random.Generator,
    *,
    correlation: Any = None,
    sensitivity: Any = 1.0,
    constant: Any = 1.0,
    samples: int = 200_000,
    quantile: float = 0.95,
) -> Approximate:
    """The new epsilon at which a sampled quantile of the log-odds meets that of the target; approximate.

    >>> found = sampled_bisection([1] * 4, 5, np.random.default_rng(0))
    >>> found.status, abs(found.error) < 0.02
    ('approximate', True)
    """
    odds = LogOdds.of(existing, target, correlation, sensitivity, constant, quantile)
    normals = generator(rng).standard_normal((checks.count("samples", samples, 2), 2))
    # above the pull the total grows with epsilon; below it lies the other root
    low = max(float(odds.exact.forms.pull), 1e-6 * odds.exact.upper)
    high = max(2.0 * low, odds.exact.upper)
    while odds.sampled(high, normals)[0] < odds.wanted:
        high *= 2.0
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if odds.sampled(middle, normals)[0] < odds.wanted:
            low = middle
        else:
            high = middle
    return Approximate(f"bisection on {len(normals)} samples", low, odds.exact)
