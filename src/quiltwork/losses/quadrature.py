"""Composite Gauss-Legendre rules on [-e, e] with a proven error.

For f analytic in the Bernstein ellipse of parameter rho around a panel of half-width r and |f| <= B there, the
n-point rule errs by at most r (64/15) B rho^(-2(n-1)) / (1 - rho^-2) (Trefethen, Approximation Theory and
Approximation Practice, Theorem 19.3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from quiltwork.checks import FloatArray

POINTS = 24
RADII = (1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0, 40.0, 80.0)


@lru_cache(maxsize=1)
def _rule() -> tuple[FloatArray, FloatArray]:
    x, weight = np.polynomial.legendre.leggauss(POINTS)
    return x, np.log(weight)


def panel_rule(top: float, panels: int) -> tuple[FloatArray, FloatArray]:
    """Nodes on [-top, top] and the logs of their weights."""
    x, log_weight = _rule()
    radius = top / panels
    centres = -top + radius * (2 * np.arange(panels) + 1)
    return (centres[:, None] + radius * x[None, :]).ravel(), np.tile(log_weight + math.log(radius), panels)


def panels_needed(
    top: float, log_bound: Callable[[FloatArray, float, float, float], FloatArray], target: float, most: int
) -> tuple[int, float]:
    """The fewest panels (a power of two) whose log error is below the target, and that log error.

    `log_bound(centres, radius, along, across)` bounds log |f| on the ellipses with these semi-axes; it may return
    +inf where f is not analytic.
    """
    panels, best = 1, math.inf
    while True:
        radius = top / panels
        centres = -top + radius * (2 * np.arange(panels) + 1)
        best = math.inf
        for rho in RADII:
            along, across = radius * (rho + 1 / rho) / 2, radius * (rho - 1 / rho) / 2
            logs = log_bound(centres, radius, along, across)
            size = float(np.max(logs))
            if not math.isfinite(size):
                continue
            total = size + math.log(float(np.exp(logs - size).sum()))
            error = total + math.log(64 / 15 * radius) - 2 * (POINTS - 1) * math.log(rho) - math.log1p(-(rho**-2))
            best = min(best, error)
        if best <= target or 2 * panels > most:
            return panels, best
        panels *= 2
