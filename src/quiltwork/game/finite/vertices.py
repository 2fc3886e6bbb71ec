"""The trade-off function of two finite laws: least type II error of a test, for each type I error.

Outputs are rejected in the order of their likelihood ratio; between two vertices one output is rejected by a coin.

Reference: Neyman and Pearson 1933; theory/game.md section 1, Proposition 2 corrected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from quiltwork.curves import TradeOff
from quiltwork.curves.rounding import UNIT
from quiltwork.game.finite.rationals import Number, Table, above, below, exact, is_exact

__all__ = ["Vertex", "beta_at", "trade_off_of", "vertices_of"]

Vertex = tuple[Number, Number]


def _steps(other: Table, member: Table) -> list[tuple[Number, Number]]:
    """Masses (other, member) of the outputs, merged where the ratio is the same, largest member/other first."""
    masses: dict[Number, tuple[Number, Number]] = {}
    for q, p in zip(other.tolist(), member.tolist(), strict=True):
        if q == 0 and p == 0:
            continue
        ratio: Number = math.inf if q == 0 else p / q
        before = masses.get(ratio, (q - q, p - p))
        masses[ratio] = (before[0] + q, before[1] + p)
    return [masses[ratio] for ratio in sorted(masses, reverse=True)]


def vertices_of(other: Table, member: Table) -> tuple[Vertex, ...]:
    """(alpha, beta) from (0, f(0)) to (alpha, 0) with alpha <= 1; fractions stay fractions."""
    steps = _steps(other, member)
    zero: Number = other[0] - other[0]
    alphas, powers = [zero], [zero]
    for q, p in steps:
        alphas.append(alphas[-1] + q)
        powers.append(powers[-1] + p)
    # a beta is summed from its small end, not taken from one, so that floats keep it
    betas = [zero]
    for _, p in reversed(steps):
        betas.append(betas[-1] + p)
    betas.reverse()
    found = list(zip(alphas, betas, strict=True))
    if len(found) > 1 and found[1][0] == 0:
        found = found[1:]  # outputs that only a member's data give cost no error of type I
    last = next(index for index, (_, beta) in enumerate(found) if beta == 0)
    return tuple(found[: last + 1])


def beta_at(vertices: Sequence[Vertex], alpha: Number) -> Number:
    """The function at alpha, by interpolation; zero beyond the last vertex."""
    for (a, f), (b, g) in pairwise(vertices):
        if a <= alpha < b:
            return f + (g - f) * (alpha - a) / (b - a)
    return vertices[-1][1] if alpha >= vertices[-1][0] else vertices[0][1]


def trade_off_of(other: Table, member: Table) -> TradeOff:
    """A curve of floats that is nowhere above the function.

    Vertices are moved left and down.  A decreasing convex function below the moved vertices is below the others too:
    f'(a) <= f'(a') <= b' <= b, and between two vertices because it is convex.
    """
    vertices = vertices_of(other, member)
    # what masses of floats and their sums may be off, relatively; fractions are exact
    slack = exact(0.0 if is_exact(other) else (4.0 * len(other) + 16.0) * UNIT)
    alphas = np.array([below(exact(a) * (1 - slack)) for a, _ in vertices])
    betas = np.array([below(exact(b) * (1 - slack)) for _, b in vertices])
    powers = np.array([min(above((1 - exact(b)) * (1 + slack) + slack * exact(b)), 1.0) for _, b in vertices])
    powers[betas == 0] = 1.0
    return TradeOff(alphas, betas, powers, hull=True)
