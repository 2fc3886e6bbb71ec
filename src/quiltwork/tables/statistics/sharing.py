"""One budget shared among noises: the sizes that make the weighted squared errors least.

What one change of the table moves is a vector v of shifts, one for each statistic; every vector that some change can
reach bounds the sizes. With precisions x_i = 1 / sigma_i^2 (Gaussian) or x_i = 1 / b_i (Laplace) the task is

    minimise sum_i a_i x_i^(-p)   subject to   sum_i M_vi x_i <= 1 for every vector,

p = 1, a = w, M = (v / mu)^2, or p = 2, a = 2 w, M = v / epsilon: convex, with linear constraints. Multipliers l >= 0 of
the vectors give x_i = (p a_i / (M'l)_i)^(1/(p+1)), and a lower bound; x scaled down to the constraints is an upper one,
so that the gap between them is known at every step. One vector is solved at once: sigma_i^2 = (A_i / sqrt(w_i)) sum_j
sqrt(w_j) A_j / mu^2.

Nothing rests on the shares: the total of a plan is certified afterwards.

Reference: theory/release.md section 6 (Lagrange; multiplicative weights).
"""

from __future__ import annotations

import attrs
import numpy as np

from quiltwork.checks import FloatArray

GAP = 1e-6  # relative, at which the search ends
MOST_STEPS = 5_000


@attrs.frozen(eq=False)
class Shares:
    """Sizes of the noises, their weighted squared error, and how much less another choice could have, relative."""

    sizes: FloatArray
    error: float
    gap: float


def gaussian_shares(moves: FloatArray, weights: FloatArray, mu: float, gap: float = GAP) -> Shares:
    """Standard deviations with sum_i (v_i / sigma_i)^2 <= mu^2 for every row v, and the least sum_i w_i sigma_i^2."""
    inverse, error, found = _least((moves / mu) ** 2, weights, 1, gap)
    return Shares(1 / np.sqrt(inverse), error, found)


def laplace_shares(moves: FloatArray, weights: FloatArray, epsilon: float, gap: float = GAP) -> Shares:
    """Scales with sum_i v_i / b_i <= epsilon for every row v, and the least sum_i 2 w_i b_i^2."""
    inverse, error, found = _least(moves / epsilon, 2 * weights, 2, gap)
    return Shares(1 / inverse, error, found)


def _least(rows: FloatArray, costs: FloatArray, power: int, gap: float) -> tuple[FloatArray, float, float]:
    """The x of least cost that was found, its cost, and its distance from a lower bound."""
    root = 1 / (power + 1)
    multipliers = np.full(len(rows), 1 / len(rows))
    best, lower = (np.inf, np.empty(0)), 0.0
    for _ in range(MOST_STEPS):
        pull = multipliers @ rows
        x = (power * costs / pull) ** root
        # the best multiple of the multipliers: the dual s^(p/(p+1)) G - s L is greatest at s = (p G / ((p+1) L))^(p+1)
        whole = (power + 1) * power ** (-power * root) * float(np.sum(costs**root * pull ** (power * root)))
        scale = (power * root * whole / float(multipliers.sum())) ** (power + 1)
        lower = max(lower, scale * float(multipliers.sum()) / power)
        loads = rows @ x
        most = float(loads.max())
        cost = float(np.sum(costs * (x / most) ** -float(power)))
        if cost < best[0]:
            best = cost, x / most
        if best[0] - lower <= gap * best[0]:
            break
        multipliers = multipliers * (loads / most)
        multipliers /= multipliers.sum()
    return best[1], best[0], max(best[0] - lower, 0.0) / best[0]
