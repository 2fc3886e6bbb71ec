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

import math
from collections.abc import Sequence
from functools import reduce

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.joined.patterns import Patterns, Profile
from quiltwork.joined.sides import Kernel
from quiltwork.numbers.rounding import UNIT, down, up
from quiltwork.pufferfish.prior import Atoms

REVEALED = "revealing: what lies outside a set of rows is told outright, and the plan loses what that set costs"
REACHES = (0, 1, 2, 4)  # entries on each side of the secret one that are hidden with it
HIDDEN = (1, 2, 3, 4, 6, 8, 12, 16)  # entries that are hidden where any may be chosen
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
        if finite.any():
            found[finite] = profile.deltas(down(epsilon - losses[finite], 2))
        return float(up(weights @ np.minimum(found, 1.0), 2 * losses.size + 4))


def product(steps: Sequence[Kernel]) -> Kernel:
    """Several steps as one."""

    def after(one: Kernel, two: Kernel) -> Kernel:
        possible = (one.possible.astype(int) @ two.possible.astype(int)) > 0
        return Kernel(one.matrix @ two.matrix, possible, one.error + two.error + (len(one.matrix) + 2) * UNIT)

    return reduce(after, steps)


def told_by(sides: Sequence[Kernel], first: FloatArray, second: FloatArray, error: float = 0.0) -> Atoms | None:
    """What entries tell that are independent given a state with one of these laws; None if they tell too many things.

    `error` is relative, of the laws.
    """
    if math.prod(len(side.matrix) for side in sides) > MAX_ATOMS:
        return None
    error += sum(side.error for side in sides) + (len(first) + 4) * UNIT
    p, q = (_seen(sides, law) for law in (first, second))
    there = _seen([attrs.evolve(side, matrix=side.possible.astype(float)) for side in sides], first) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.where((p > 0) & (q > 0), np.log(p / q), np.inf)
    return merged(up(p * (1.0 + error), 4)[there] + LEAST, up(losses + 2.0 * error, 4)[there])


def _seen(sides: Sequence[Kernel], law: FloatArray) -> FloatArray:
    """The law of what is next to a state, all sides together."""
    found = law[:, None]
    for side in sides:
        found = (found[:, :, None] * side.matrix[:, None, :]).reshape(len(law), -1)
    return np.asarray(found.sum(axis=0))


def merged(weights: FloatArray, losses: FloatArray) -> Atoms:
    """Equal losses as one; of too many the largest stands for all."""
    losses, place = np.unique(losses, return_inverse=True)
    sums: FloatArray = np.bincount(place, weights).astype(float)
    weights = up(sums, len(place))
    return Atoms(weights, losses) if losses.size <= MAX_ATOMS else Atoms(np.ones(1), losses[-1:])


def windows(
    patterns: Patterns, left: Sequence[Kernel] | None, right: Sequence[Kernel], entry: int,
    first: FloatArray, second: FloatArray, error: float = 0.0,
) -> tuple[Revealed, ...]:  # fmt: skip
    """Windows around an entry of a chain whose state has one of two laws; beyond an end nothing is told.

    Where no law of the left side is known, all of it is hidden.
    """
    found, end = [], len(patterns.ticks) - 1
    for reach in REACHES:
        start = 0 if left is None else max(entry - reach, 0)
        last = min(entry + reach, end)
        sides = [product(left[: entry - start + 1])] if left and start > 0 else []
        sides += [product(right[: last - entry + 1])] if last < end else []
        atoms = told_by(sides, first, second, error)
        if atoms is not None:
            found.append(Revealed.of(patterns.window(start, last), atoms))
    return tuple(dict.fromkeys(found))
