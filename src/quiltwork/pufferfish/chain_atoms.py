"""What the two nearest entries outside an interval tell, as a finite law.

Given x_i the left and the right neighbour are independent: the loss of both is the sum of two losses.

Reference: theory/pufferfish.md 3.6 (ii).
"""

from __future__ import annotations

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.curves.rounding import UNIT, up
from quiltwork.pufferfish.chain_translation import reversed_chain
from quiltwork.pufferfish.prior import Atoms
from quiltwork.pufferfish.stochastic import Powers, powers, stationary_error

__all__ = ["chain_atoms", "told"]


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
