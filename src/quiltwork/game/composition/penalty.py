"""The paper's penalty method, for comparison: it pulls towards the target and does not stop at it.

Minimised by Adam (Kingma and Ba 2015) over log x, x the new epsilon, with fresh samples in each step:

    weight * mean(eps_i^2) / x^2 + (quantile of the log-odds of everything - quantile of the target alone)_+

Reference: seed 004, appendix P.6; theory/game.md section 5 (32 % too little at weight 0.001, and at weight 100 a total
of 1.118 times the target: never a bare penalty).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.game.composition.sampled import Approximate, LogOdds, generator

__all__ = ["penalty_method"]


def penalty_method(
    existing: Any,
    target: Any,
    rng: np.random.Generator,
    *,
    correlation: Any = None,
    sensitivity: Any = 1.0,
    constant: Any = 1.0,
    weight: Any = 1.0,
    steps: int = 800,
    samples: int = 4000,
    quantile: float = 0.95,
    rate: float = 0.05,
) -> Approximate:
    """The new epsilon where the penalty method ends, beside the exact one; approximate, whatever it says.

    `weight` is the price of noise.  Its mu is sensitivity / sqrt(constant) times epsilon.

    >>> found = penalty_method([0.1] * 4, 0.5, np.random.default_rng(0), sensitivity=4.0, weight=100.0)
    >>> found.status, found.meets, found.ratio > 1.05
    ('approximate', False, True)
    """
    odds = LogOdds.of(existing, target, correlation, sensitivity, constant, quantile)
    draws, price = generator(rng), checks.positive("weight", weight)
    count, size = checks.count("steps", steps, 1), checks.count("samples", samples, 2)
    pace = checks.rate("rate", rate)
    typical = float(np.mean([float(one) ** 2 for one in odds.exact.existing]))
    place, mean, square = 0.5 * math.log(typical), 0.0, 0.0
    for step in range(1, count + 1):
        x = math.exp(place)
        reached, slope = odds.sampled(x, draws.standard_normal((size, 2)))
        gradient = -2.0 * price * typical / (x * x) + (x * slope if reached > odds.wanted else 0.0)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient * gradient
        away = math.sqrt(square / (1.0 - 0.999**step)) + 1e-8
        place -= pace * mean / (1.0 - 0.9**step) / away
    return Approximate(f"penalty method, weight {price:g}", math.exp(place), odds.exact)
