"""What one threshold on a weighted sum of noisy counts tells about one entry of a chain: a lower end at delta > 0.

With two states and Gaussian releases that each belong to one tick, S = sum_t w_t (noisy count of t) is normal given the
sequence. For every threshold s the event {S > s} is one that an attacker may look at, so that

    delta(epsilon) >= P(S > s | x_i = u) - e^epsilon P(S > s | x_i = v).

Both chances are means of normal tails over the sequences around i. Any weights and thresholds are allowed; weights that
fall as the correlation does come near the best. Only ticks near the entry are summed: leaving others out is
post-processing.

Reference: theory/joining.md section 2, table ("lower") and Algorithm (5).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs
import numpy as np
from scipy.special import ndtr

from quiltwork.checks import FloatArray
from quiltwork.losses.families.gaussian import Gaussian, GaussianPrivacy

if TYPE_CHECKING:
    from quiltwork.joined.sides import Kernel
    from quiltwork.joined.under.chain import AlongChain

MOST_TICKS = 11  # that are summed: each doubles the number of sequences
THRESHOLDS, WEIGHTS = 400, (0.25, 0.5, 0.75, 1.0)  # powers of the correlation that are tried
SLACK = 1e-10  # relative: what the chances of sequences and normal tails may be wrong by together


@attrs.frozen(eq=False)
class Floor:
    """The chances of some events, each given one value of an entry (rounded down) and given another one (up)."""

    above: FloatArray
    below: FloatArray

    def delta(self, epsilon: FloatArray) -> FloatArray:
        """A lower end."""
        grown = np.exp(np.minimum(epsilon, 600.0))[:, None] * (1 + SLACK)
        return np.asarray(np.maximum((self.above - grown * self.below).max(axis=1), 0.0))

    def epsilon(self, delta: FloatArray) -> FloatArray:
        """A lower end: log((P - delta) / Q)."""
        room = np.maximum(self.above - delta[:, None], 0.0)
        with np.errstate(divide="ignore"):
            found = np.log(room) - np.log(self.below)
        return np.asarray(np.maximum(found.max(axis=1) - SLACK, 0.0))


def weighted_sums(law: AlongChain) -> Iterator[Floor]:
    """Where every tick has Gaussian releases of its own, and all that is told is what the states are."""
    if law.attained and all(_mu(law, tick) > 0.0 for tick in range(law.sides.length)):
        yield Floor(*_tails(law))


def _mu(law: AlongChain, tick: int) -> float:
    """How many standard deviations a change of this tick moves what is told of it; 0 where that is not Gaussian."""
    (loss,) = law.patterns.losses((tick,))
    mus = [(part.count, part.family.mu) for part in loss.parts if isinstance(part.family, (Gaussian, GaussianPrivacy))]
    return math.sqrt(math.fsum(count * mu**2 for count, mu in mus)) if len(mus) == len(loss.parts) else 0.0


def _tails(law: AlongChain) -> tuple[FloatArray, FloatArray]:
    length = law.sides.length
    entry = length // 2
    before = min(entry, MOST_TICKS // 2)
    after = min(length - 1 - entry, MOST_TICKS - 1 - before)
    left = _side((law.sides.left(entry) or [])[:before])
    right = _side(law.sides.right(entry)[:after])
    mus = np.array([_mu(law, tick) for tick in range(entry - before, entry + after + 1)])
    own = np.abs(np.arange(len(mus)) - before)
    matrix = law.sides.forward.matrix
    falling = abs(float(matrix[0, 0] - matrix[1, 0]))
    above, below = [], []
    for power in WEIGHTS:
        weights = mus * falling ** (power * own) if falling > 0 else mus * (own == 0)
        moved = weights * mus / float(np.sqrt((weights**2).sum()))
        chances, sums = [], []
        for value in (1, 0):
            (p, x), (q, y) = left[value], right[value]
            far = (x @ moved[:before][::-1])[:, None] + (y @ moved[before + 1 :])[None, :]
            sums.append((far + value * moved[before]).ravel())
            chances.append(np.multiply.outer(p, q).ravel())
        grid = np.linspace(min(one.min() for one in sums) - 6.0, max(one.max() for one in sums) + 6.0, THRESHOLDS)
        for first, second, sign in ((0, 1, 1.0), (1, 0, -1.0)):  # S > s tells of 1, S < s of 0
            tails = [chances[k] @ ndtr(sign * (sums[k][:, None] - grid[None, :])) for k in (first, second)]
            above.append(tails[0] * (1 - SLACK))
            below.append(tails[1] * (1 + SLACK) + 1e-300)
    return np.concatenate(above), np.concatenate(below)


def _side(steps: list[Kernel]) -> list[tuple[FloatArray, FloatArray]]:
    """For each value of the entry: the chances of all sequences of one side, nearest tick first, and the sequences."""
    found: list[tuple[FloatArray, FloatArray]] = []
    for value in (0, 1):
        chances, rows = np.ones(1), np.zeros((1, 0))
        last = np.full(1, value)
        for step in steps:
            chances = np.concatenate([chances * step.matrix[last, state] for state in (0, 1)])
            rows = np.concatenate([np.column_stack([rows, np.full(len(rows), state)]) for state in (0, 1)])
            last = rows[:, -1].astype(int)
        found.append((chances, rows))
    return found
