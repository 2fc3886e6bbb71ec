"""From per-entry privacy to the secrets of a stationary Markov chain, with or without a veil of emissions.

eps(u, v) <= e + S_left(u, v) + S_right(u, v): condition on one side at a time, and pay one's own entry once.

Reference: theory/pufferfish.md 3.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.numbers.matrices import powers, stationary_error
from quiltwork.numbers.rounding import UNIT, up
from quiltwork.pufferfish.prior import Translation
from quiltwork.pufferfish.priors.chain.influence import Place
from quiltwork.pufferfish.translation.propagation import ENDLESS_ENTRIES, OneSide, Spread

__all__ = ["BECAUSE", "ChainTranslator", "one_side", "reversed_chain"]

BECAUSE = "Lipschitz propagation along the chain: each side lets through what its transition law allows"
MANY_STATES = 40
REACH = 4000  # entries on each side that a witness reads
STEPS, FEW_STEPS = (1, 2, 3, 4, 6, 8, 12, 16), (1, 2, 3, 4, 6, 8)


def one_side(matrix: FloatArray, entry_error: float = 4 * UNIT) -> OneSide:
    """The tables of one direction: two states need single steps only, others gain from longer ones."""
    size = len(matrix)
    steps = (1,) if size == 2 else STEPS if size <= MANY_STATES else FEW_STEPS
    found = powers(matrix, steps[-1], entry_error)
    spreads = [Spread.of(found.matrices[d - 1], found.possible[d - 1], d * found.error) for d in steps]
    return OneSide(tuple(spreads), steps)


def reversed_chain(matrix: FloatArray, stationary: FloatArray) -> FloatArray:
    """The chain read backwards from its stationary law."""
    backward = matrix.T * stationary[None, :] / stationary[:, None]
    return np.asarray(backward / backward.sum(axis=1, keepdims=True))


@attrs.frozen(eq=False, slots=False)
class ChainTranslator:
    """Translations of one stationary chain; `emission` hides its states behind what they emit."""

    matrix: FloatArray
    stationary: FloatArray
    length: int | None = None
    emission: Spread | None = None

    @cached_property
    def right(self) -> OneSide:
        """Entries after this one."""
        return one_side(self.matrix)

    @cached_property
    def left(self) -> OneSide:
        """Entries before this one."""
        error = 4 * UNIT + 2.2 * stationary_error(len(self.matrix))
        return one_side(reversed_chain(self.matrix, self.stationary), error)

    def own(self, epsilon: float) -> FloatArray:
        """What the entry itself tells about its state."""
        size = len(self.matrix)
        if self.emission is not None:
            return self.emission.each(epsilon)
        return np.asarray(epsilon * (1.0 - np.eye(size)))

    def at(self, epsilon: float, places: Sequence[tuple[int | None, int | None]]) -> list[FloatArray]:
        """The bounds for every ordered pair of states, with so many entries on each side (None for any number)."""
        own = self.own(epsilon)
        sides = []
        for side, counts in zip((self.left, self.right), zip(*places, strict=True), strict=True):
            known = [count for count in counts if count is not None and count <= ENDLESS_ENTRIES]
            finite = side.upto(own, max(known)) if known else []
            endless = side.settled(own) if len(known) < len(counts) else None
            sides.append([endless if count is None or count > ENDLESS_ENTRIES else finite[count] for count in counts])
        return [np.asarray(up(own + left + right, 2)) for left, right in zip(*sides, strict=True)]

    def translations(self, places: Sequence[Place], first: np.ndarray, second: np.ndarray) -> tuple[Translation, ...]:
        """Propagation at these places; two plain states make it exact."""

        def epsilons(epsilon: float) -> FloatArray:
            found = self.at(epsilon, [(place.before, place.after) for place in places])
            bound = np.concatenate([one[first, second] for one in found])
            return bound if self.length is None else np.minimum(bound, up(self.length * epsilon))

        def lower(epsilon: float) -> float:
            found = epsilons(epsilon)
            place, pair = divmod(int(np.argmax(found)), first.size)
            if self.emission is not None:
                return 0.0
            here = places[place]
            if self.length is not None and here.before is None:  # the middle entry
                here = attrs.evolve(here, before=(self.length - 1) // 2, after=self.length // 2)
            return attained(self.matrix, self.stationary, int(first[pair]), int(second[pair]), epsilon, here)

        return (Translation("propagation", BECAUSE, epsilons, lower=lower),)


def attained(
    matrix: FloatArray, stationary: FloatArray, first: int, second: int, epsilon: float, place: Place
) -> float:
    """What one mechanism leaks: its likelihood has a factor e^epsilon for each entry that the first state favours.

    V(x) = e^(epsilon * number of entries with P^d[u, x_t] > P^d[v, x_t]) is per-entry private, and such outputs exist.
    For two states it is the worst of all (theory/pufferfish.md 3.4).
    """
    total = epsilon = min(epsilon, 600.0)  # a smaller factor is legal as well, and does not overflow
    for kernel, count in ((reversed_chain(matrix, stationary), place.before), (matrix, place.after)):
        depth = REACH if count is None else min(count, REACH)
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
