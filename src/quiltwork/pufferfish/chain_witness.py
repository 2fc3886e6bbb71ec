"""Mechanisms that really leak: lower ends for what is promised on a chain.

Count the entries that the first state favours: those with P^d[u, x_t] > P^d[v, x_t] at distance d.  One entry changes
the count by at most 1, so that the count with noise is a legal release, and its laws under the two secrets are known.

Reference: theory/pufferfish.md 3.4 (for two states this count is the worst query of all).
"""

from __future__ import annotations

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.pufferfish.chain_translation import reversed_chain

__all__ = ["favoured_counts"]

REACH = 64  # entries on each side that the query reads


def favoured_counts(
    matrix: FloatArray, stationary: FloatArray, first: int, second: int, before: int | None, after: int | None
) -> tuple[FloatArray, FloatArray]:
    """The law of the number of favoured entries, given the first and given the second state."""
    laws = [np.array([0.0, 1.0]), np.array([1.0, 0.0])]  # the entry itself
    for kernel, count in ((reversed_chain(matrix, stationary), before), (matrix, after)):
        depth = REACH if count is None else min(count, REACH)
        found = _side(kernel, first, second, depth)
        laws = [np.convolve(law, side) for law, side in zip(laws, found, strict=True)]
    return laws[0], laws[1]


def _side(kernel: FloatArray, first: int, second: int, depth: int) -> tuple[FloatArray, FloatArray]:
    states = len(kernel)
    rows, masks = np.stack((kernel[first], kernel[second])), []
    for _ in range(depth):
        masks.append(rows[0] > rows[1])
        rows = rows @ kernel
    now = np.zeros((2, states, depth + 1))
    now[0, first, 0] = now[1, second, 0] = 1.0
    for mask in masks:
        now = np.einsum("syc,yz->szc", now, kernel)
        now[:, mask] = np.roll(now[:, mask], 1, axis=-1)
    return now[0].sum(axis=0), now[1].sum(axis=0)
