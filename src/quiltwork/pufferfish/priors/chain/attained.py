"""What some mechanism really attains under a Markov chain: lower ends.

Count the entries that the first state favours, those with P^d[u, x_t] > P^d[v, x_t] at distance d.
One entry changes the count by at most 1, so that the count with noise is a legal release, and its laws under the two
secrets are known.  For two states this count is the worst query of all (theory 3.4).

Reference: theory/pufferfish.md 3.4.
"""

from __future__ import annotations

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.numbers.rounding import UNIT
from quiltwork.pufferfish.priors.chain.influence import Place

FARTHEST = 4000  # entries on each side that a witness reads
COUNTED = 64  # entries on each side that the query reads


def reversed_chain(matrix: FloatArray, stationary: FloatArray) -> FloatArray:
    """The chain read backwards from its stationary law."""
    backward = matrix.T * stationary[None, :] / stationary[:, None]
    return np.asarray(backward / backward.sum(axis=1, keepdims=True))


def attained(
    matrix: FloatArray, stationary: FloatArray, first: int, second: int, epsilon: float, place: Place
) -> float:
    """What one mechanism leaks: its likelihood has a factor e^epsilon for each entry that the first state favours.

    V(x) = e^(epsilon * number of entries with P^d[u, x_t] > P^d[v, x_t]) is per-entry private, and such outputs exist.
    For two states it is the worst of all (theory/pufferfish.md 3.4).
    """
    total = epsilon = min(epsilon, 600.0)  # a smaller factor is legal as well, and does not overflow
    for kernel, count in ((reversed_chain(matrix, stationary), place.before), (matrix, place.after)):
        depth = FARTHEST if count is None else min(count, FARTHEST)
        rows, factors = np.stack((kernel[first], kernel[second])), []
        for _ in range(depth):
            if float(np.abs(rows[0] - rows[1]).max()) < 1e-15:
                break  # further entries are read with equal chances
            factors.append(np.where(rows[0] > rows[1], np.exp(epsilon), 1.0))
            rows = rows @ kernel
        value = np.ones(len(matrix))
        for factor in reversed(factors):
            value = kernel @ (factor * value)
            value /= value.max()
        if factors and value[second] > 0.0 < value[first]:
            total += max(float(np.log(value[first]) - np.log(value[second])), 0.0)
        total -= 16.0 * UNIT * (len(matrix) + 4) * (len(factors) + 2)  # digits that logarithms near 0 have lost
    return total - 1e-11 * (1.0 + total) * min(1.0, epsilon)


def favoured_counts(
    matrix: FloatArray, stationary: FloatArray, first: int, second: int, before: int | None, after: int | None
) -> tuple[FloatArray, FloatArray]:
    """The law of the number of favoured entries, given the first and given the second state."""
    laws = [np.array([0.0, 1.0]), np.array([1.0, 0.0])]  # the entry itself
    for kernel, count in ((reversed_chain(matrix, stationary), before), (matrix, after)):
        depth = COUNTED if count is None else min(count, COUNTED)
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
