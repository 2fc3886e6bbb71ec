"""Everything outside a window of entries is told outright: how much that says, and what the plan loses about the rest.

Let c be what lies outside a set H of entries that contains the secret one, p and q its laws given the two values. Both
copies have the same c and differ inside H only, so that

    delta(epsilon) <= sum_c p(c) delta_H(epsilon - log p(c)/q(c)),        (q(c) = 0: the term is p(c)).

Along a chain c counts through the entries next to H alone, independent of each other given the secret. Where entries
hardly tell about each other, and single rows lose much, this is below coupling; and it asks for no coupling at all.

Weights and losses are rounded up.

Reference: theory/joining.md section 2, Theorems 2 and 3 (reveal).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.joined.patterns import Patterns, Profile
from quiltwork.joined.sides import Kernel
from quiltwork.numbers.rounding import UNIT, down, up
from quiltwork.pufferfish.prior import Atoms

REACHES = (0, 1, 2, 4)  # entries on each side of the secret one that are hidden with it
MAX_ATOMS = 256  # contents of the entries next to a window that are told apart
LEAST = 1e-300  # a chance that may have underflowed


@attrs.frozen
class Revealed:
    """The profile of a hidden set, and what is told of the rest: its chances and the losses that go with them."""

    number: int
    weights: tuple[float, ...]
    losses: tuple[float, ...]

    @classmethod
    def of(cls, number: int, atoms: Atoms) -> Revealed:
        """Of a law of losses, rounded up already."""
        return cls(number, tuple(atoms.weights.tolist()), tuple(atoms.losses.tolist()))

    def delta(self, profile: Profile, epsilon: float) -> float:
        """The bound at one epsilon, rounded up."""
        weights, losses = np.array(self.weights), np.array(self.losses)
        finite = np.isfinite(losses)
        found = np.ones(losses.size)
        found[finite] = profile.deltas(down(epsilon - losses[finite], 2))
        return float(up(weights @ np.minimum(found, 1.0), 2 * losses.size + 4))


def product(steps: Sequence[Kernel]) -> Kernel:
    """Several steps as one."""

    def after(one: Kernel, two: Kernel) -> Kernel:
        possible = (one.possible.astype(int) @ two.possible.astype(int)) > 0
        return Kernel(one.matrix @ two.matrix, possible, one.error + two.error + (len(one.matrix) + 2) * UNIT)

    return reduce(after, steps)


def told_by(sides: Sequence[Kernel], first: int, second: int) -> Atoms | None:
    """What entries tell that are independent given the secret one, each by its own kernel; None if of too many."""
    weights, losses = np.ones(1), np.zeros(1)
    for side in sides:
        p, q = side.matrix[first], side.matrix[second]
        there = side.possible[first]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(side.possible[second] & (q > 0) & (p > 0), np.log(p / q), np.inf)
        own = up(p * (1.0 + side.error), 4)[there] + LEAST
        loss = up(ratio + 2.0 * side.error + 4 * UNIT, 4)[there]
        weights, losses = np.outer(weights, own).ravel(), np.add.outer(losses, loss).ravel()
        if losses.size > MAX_ATOMS:
            return None
    return _merged(up(weights, 2 * len(sides)), up(losses, 2 * len(sides)))


def _merged(weights: FloatArray, losses: FloatArray) -> Atoms:
    losses, place = np.unique(losses, return_inverse=True)
    return Atoms(up(np.bincount(place, weights), weights.size), losses)


def windows(
    patterns: Patterns, left: Sequence[Kernel] | None, right: Sequence[Kernel], entry: int, first: int, second: int
) -> tuple[Revealed, ...]:
    """Windows around an entry of a chain; nothing beyond an end is told, nor of a side of which no law is known."""
    found, end = [], len(patterns.ticks) - 1
    for reach in REACHES:
        start = 0 if left is None else max(entry - reach, 0)
        last = min(entry + reach, end)
        sides = [product(left[: entry - start + 1])] if left and start > 0 else []
        sides += [product(right[: last - entry + 1])] if last < end else []
        atoms = told_by(sides, first, second)
        if atoms is not None:
            found.append(Revealed.of(patterns.window(start, last), atoms))
    return tuple(dict.fromkeys(found))
