"""What the two nearest entries outside an interval tell, as a finite law.

Given x_i the left and the right neighbour are independent: the loss of both is the sum of two losses.

Reference: theory/pufferfish.md 3.6 (ii).

Mechanisms that really leak: lower ends for what is promised on a chain.

Count the entries that the first state favours: those with P^d[u, x_t] > P^d[v, x_t] at distance d.  One entry changes
the count by at most 1, so that the count with noise is a legal release, and its laws under the two secrets are known.

Reference: theory/pufferfish.md 3.4 (for two states this count is the worst query of all).
"""

from __future__ import annotations

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.numbers.matrices import Powers, powers, stationary_error
from quiltwork.numbers.rounding import UNIT, up
from quiltwork.pufferfish.prior import Atoms
from quiltwork.pufferfish.priors.chain.stationary import reversed_chain

__all__ = ["chain_atoms", "favoured_counts", "told"]

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


def told(own: FloatArray, other: FloatArray, error: float) -> tuple[FloatArray, FloatArray]:
    """Weights of one law and log ratios against the other, both rounded up; `error` is relative."""
    seen = own > 0
    with np.errstate(divide="ignore"):
        losses = np.log(own[seen]) - np.log(other[seen])
    with np.errstate(invalid="ignore"):
        slack = np.where(np.isfinite(losses), 2.2 * error + 8.0 * UNIT * (1.0 + np.abs(losses)), 0.0)
    return np.asarray(up(own[seen] * (1.0 + 1.1 * error))), np.asarray(losses + slack)


def chain_atoms(forward: Powers, stationary: FloatArray, first: int, second: int, size: int) -> Atoms:
    """The law for the interval of this size that tells least, given `first` against `second`."""
    matrix = forward.matrices[0]
    entry_error = 4 * UNIT + 2.2 * stationary_error(len(matrix))
    backward = powers(reversed_chain(matrix, stationary), size, entry_error)

    def both(left: int) -> list[tuple[FloatArray, FloatArray]]:
        found = []
        for steps, distance in ((backward, left), (forward, size + 1 - left)):
            rows = steps.matrices[distance - 1]
            found.append(told(rows[first], rows[second], distance * steps.error))
        return found

    near, far = min((both(left) for left in range(1, size + 1)), key=lambda pair: pair[0][1].max() + pair[1][1].max())
    weights = up(np.multiply.outer(near[0], far[0]).ravel())
    return Atoms(weights, up(np.add.outer(near[1], far[1]).ravel()))
