"""What the two nearest entries outside an interval tell, as a finite law.

Given x_i the left and the right neighbour are independent: the loss of both is the sum of two losses.

Reference: theory/pufferfish.md 3.6 (ii).
"""

from __future__ import annotations

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.curves.rounding import UNIT, up
from quiltwork.pufferfish.chain_translation import reversed_chain
from quiltwork.pufferfish.coupling import differing
from quiltwork.pufferfish.prior import Atoms
from quiltwork.pufferfish.stochastic import Powers, powers, stationary_error

__all__ = ["chain_atoms", "told"]

MOST_STATES = 12  # couplings look at pairs of pairs of states


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
    worst = [
        sum(_told(side, distance, first, second)[1].max() for side, distance in _sides(backward, forward, left, size))
        for left in range(1, size + 1)
    ]
    parts = []
    for side, distance in _sides(backward, forward, 1 + int(np.argmin(worst)), size):
        weights, losses, ends = _told(side, distance, first, second)
        if len(matrix) <= MOST_STATES:
            counts = differing(side, first, second, distance)[ends]
        else:
            counts = np.zeros((weights.size, distance))
            counts[:, -1] = 1.0
        parts.append((up(weights[:, None] * counts), losses))
    (left_mass, left_losses), (right_mass, right_losses) = parts
    losses = up(np.add.outer(left_losses, right_losses))
    masses, sizes = [], []
    for before in range(left_mass.shape[1]):
        for after in range(right_mass.shape[1]):
            masses.append(up(np.multiply.outer(left_mass[:, before], right_mass[:, after])).ravel())
            sizes.append(np.full(losses.size, 1 + before + after))
    return Atoms(np.concatenate(masses), np.tile(losses.ravel(), len(masses)), np.concatenate(sizes)).merged()


def _sides(backward: Powers, forward: Powers, left: int, size: int) -> tuple[tuple[Powers, int], tuple[Powers, int]]:
    return (backward, left), (forward, size + 1 - left)


def _told(steps: Powers, distance: int, first: int, second: int) -> tuple[FloatArray, FloatArray, np.ndarray]:
    rows = steps.matrices[distance - 1]
    weights, losses = told(rows[first], rows[second], distance * steps.error)
    return weights, losses, np.nonzero(rows[first] > 0)[0]
