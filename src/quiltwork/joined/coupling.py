"""Two copies of a chain, told apart at one entry, that meet again: where do they differ?

Given x_i = u and x_i = v walk outward on each side. At every step both copies take the same value with the largest
chance there is, the sum of the smaller of their two probabilities; if they do not meet, each goes on from what is left
of its own law. Once met they stay together. So they differ in a random window around i, and

    delta(epsilon) <= E[delta_W(epsilon)],   W the window in which the copies differ:

what a plan loses about x_i is at most what it loses about changes inside W, averaged. No term for the correlation is
left. `survival` is the chance that the copies still differ after so many steps, rounded up; since delta_W grows with W,
a chance that is too large only costs tightness.

Reference: theory/joining.md section 2, Theorems 2 and 3 (couple).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.joined.sides import Kernel
from quiltwork.numbers.rounding import UNIT

MOST_PAIR_STATES = 24  # states up to which pairs of copies are followed; beyond, the largest chance to part is taken


def survival(steps: Sequence[Kernel] | None, count: int, states: int) -> FloatArray:
    """P(the copies still differ after n steps), n = 0 .. count, for every ordered pair of states: (count + 1, k, k).

    Nothing is known of a side without kernels: there the copies may differ everywhere.
    """
    found = np.ones((count + 1, states, states))
    if steps is not None:
        if states <= MOST_PAIR_STATES:
            _followed(steps, found)
        else:
            _contracted(steps, found)
    for pairs in found:
        np.fill_diagonal(pairs, 0.0)
    return np.minimum(found, 1.0)


def _followed(steps: Sequence[Kernel], found: FloatArray) -> None:
    """Backwards from each number of steps: s_n(a, b) = sum over what is left of both laws of s_(n-1)(y, z).

    Equal kernels in a row are the usual case: then s_n follows from s_(n-1) by one more step.
    """
    if all(step is steps[0] for step in steps):
        for n in range(1, len(found)):
            found[n] = _one_step(steps[0], found[n - 1])
        return
    for n in range(1, len(found)):
        now = found[0]
        for step in reversed(steps[:n]):
            now = _one_step(step, now)
        found[n] = now


def _one_step(step: Kernel, beyond: FloatArray) -> FloatArray:
    """One step nearer; `beyond` says how likely pairs of states are still apart later."""
    matrix, size = step.matrix, len(step.matrix)
    slack = 2.0 * step.error + 8.0 * (size + 4) * UNIT  # of the probabilities, and so of what is left of each law
    now = np.zeros((size, size))
    for a in range(size):
        rest = np.maximum(matrix[a] - matrix, 0.0)  # of the first copy's law, for every second copy
        other = np.maximum(matrix - matrix[a], 0.0)
        parted = np.maximum(rest.sum(axis=1), other.sum(axis=1))
        with np.errstate(invalid="ignore", divide="ignore"):
            later = np.einsum("by,yz,bz->b", rest, beyond, other) / parted
        now[a] = np.where(parted > 0, later, 0.0) + slack
    capped = np.minimum(now * (1.0 + slack), 1.0)
    np.fill_diagonal(capped, 0.0)
    return np.asarray(capped)


def _contracted(steps: Sequence[Kernel], found: FloatArray) -> None:
    """Dobrushin: each step parts any two copies with at most the largest total variation between two rows."""
    apart = 1.0
    for n in range(1, len(found)):
        matrix = steps[n - 1].matrix
        widest = max(0.5 * float(np.abs(matrix - row).sum(axis=1).max()) for row in matrix)
        apart *= min(widest + 2.0 * steps[n - 1].error + 8.0 * (len(matrix) + 4) * UNIT, 1.0)
        found[n] = apart


def numbers_apart(chances: FloatArray) -> FloatArray:
    """P(exactly n entries of a side differ), n along axis 0, from survival; raised past the rounding of differences."""
    falling = np.minimum.accumulate(chances, axis=0)
    after = np.concatenate([falling[1:], np.zeros_like(falling[:1])])
    return np.asarray(falling - after + 4.0 * UNIT * falling)
