"""Two worlds that differ in few entries: bridges of a chain, coupled so that they meet.

Outside an interval H both worlds agree (that is what is conditioned on); inside it they are two bridges of the same
chain, one from u and one from v, to the same far end y.  Coupled step by step they meet, and once they have met they
stay together, so that they mostly differ in far fewer than b entries.  By joint convexity of the hockey stick

    delta(eps) <= sum over y, d of P(y | u) P(d | y) delta_d(eps - log P(y | u) / P(y | v)),

for any coupling, where d counts the entries in which the two worlds differ and delta_d is the profile for d entries.
This sharpens theory/pufferfish.md 3.6 (ii), in which d = b.

Proof.  Let (x, x') be the coupled data given y.  For every event E: P(E | x) <= e^t P(E | x') + delta_d(t), with d the
number of entries in which x and x' differ and t = eps - l(y).  Average over the coupling: the first term is
e^t P(E | v, y) since x' has the law of the second world.  Average over y with its weight under u.
"""

from __future__ import annotations

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.curves.rounding import UNIT
from quiltwork.pufferfish.stochastic import Powers

__all__ = ["differing"]


def differing(steps: Powers, first: int, second: int, distance: int) -> FloatArray:
    """P(the two bridges differ in c inner entries), for each far end: (ends, distance), rounded up.

    An end that only one of the two can reach is given up: all its mass is at the largest count.
    """
    size = len(steps.matrices[0])
    found = np.zeros((size, distance))
    for end in range(size):
        if distance == 1:
            found[end, 0] = 1.0
        elif not (steps.possible[distance - 1, first, end] and steps.possible[distance - 1, second, end]):
            found[end, -1] = 1.0
        else:
            found[end] = _met(steps, first, second, distance, end)
    return found


def _met(steps: Powers, first: int, second: int, distance: int, end: int) -> FloatArray:
    size = len(steps.matrices[0])
    apart = np.zeros((size * size, distance))  # mass of pairs that have not met, by how many entries differed so far
    apart[first * size + second, 0] = 1.0
    met = np.zeros(distance)
    for step in range(1, distance):
        meet, move = _coupled(_bridge(steps, distance - step, end))
        met += meet.ravel() @ apart
        apart = np.roll(move.T @ apart, 1, axis=1)
        apart[:, 0] = 0.0
    total = (met + apart.sum(axis=0)) * (1.0 + 1e-12 * distance)
    # Rows are off by a small total variation; where the true bridges leave those computed, all entries may differ.
    total[-1] += distance * (8.0 * distance * steps.error + 8.0 * size * UNIT)
    return np.asarray(total)


def _bridge(steps: Powers, left: int, end: int) -> FloatArray:
    """The next step of a chain that will be at `end` after `left` more steps."""
    weights = steps.matrices[0] * steps.matrices[left - 1][:, end][None, :]
    sums = weights.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0))


def _coupled(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For every pair of rows: the chance to meet, and where the two go otherwise (independently)."""
    size = len(rows)
    common = np.minimum(rows[:, None, :], rows[None, :, :])
    own, other = rows[:, None, :] - common, rows[None, :, :] - common
    miss = np.maximum(own.sum(axis=2), 1e-300)
    move = own[:, :, :, None] * other[:, :, None, :] / miss[:, :, None, None]
    return np.asarray(common.sum(axis=2)), np.asarray(move.reshape(size * size, size * size))
