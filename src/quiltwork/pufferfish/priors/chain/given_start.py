"""Propagation along a chain whose first entry has a given law: each step backwards has its own kernel.

Reference: theory/pufferfish.md 3.5, with the kernel P(x_(i-1) | x_i) of every entry in place of the reversed chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.numbers.matrices import TINY
from quiltwork.numbers.rounding import UNIT, up
from quiltwork.pufferfish.prior import Translation
from quiltwork.pufferfish.priors.chain.influence import Place
from quiltwork.pufferfish.priors.chain.stationary import BECAUSE, one_side
from quiltwork.pufferfish.translation.propagation import ENDLESS_ENTRIES, OneSide, Spread

__all__ = ["MOST_WORK", "GivenTranslator"]

MIN_PROBABILITY = 1e-250
MOST_WORK = 3e6  # entries times cubed states, beyond which only Theorem 6 is used


@attrs.frozen(eq=False, slots=False)
class GivenTranslator:
    """Translations for one chain, entry by entry; `laws` are those of the entries and which states are possible."""

    matrix: FloatArray
    laws: Sequence[tuple[FloatArray, np.ndarray]]

    @property
    def usable(self) -> bool:
        """Whether no possible state has a probability near underflow, where kernels backwards lose their digits."""
        moves = self.matrix > 0
        for law, possible in self.laws:
            joint = law[:, None] * self.matrix
            if bool(np.any(possible & (law < MIN_PROBABILITY))) or bool(
                np.any(possible[:, None] & moves & (joint < MIN_PROBABILITY))
            ):
                return False
        return True

    @cached_property
    def right(self) -> OneSide:
        """Entries after this one."""
        return one_side(self.matrix)

    @cached_property
    def backward(self) -> list[Spread]:
        """The kernel from each entry, the first one excepted, to the one before it."""
        found = []
        for i, (law, possible) in enumerate(self.laws[:-1]):
            weights = law[None, :] * self.matrix.T
            sums = weights.sum(axis=1, keepdims=True)
            # a state that cannot occur has no secret: its row may be any law
            rows = np.where(sums > TINY, weights / np.maximum(sums, TINY), law[None, :])
            reached = possible[None, :] & (self.matrix.T > 0)
            seen = np.where(reached.any(axis=1, keepdims=True), reached, possible[None, :])
            found.append(Spread.of(rows, seen, (2.0 * i + 6.0) * (len(law) + 6) * UNIT))
        return found

    def lefts(self, own: FloatArray) -> list[FloatArray]:
        """What the entries before each one can add."""
        found: list[FloatArray] = [np.zeros_like(own)]
        for spread in self.backward:
            slope = own + found[-1]
            found.append(spread.directed(slope) if len(own) == 2 else spread.anchored(slope))
        return found

    def bounds(self, epsilon: float) -> list[FloatArray]:
        """The bound for every ordered pair of states, at each entry."""
        size, count = len(self.matrix), len(self.laws)
        own = epsilon * (1.0 - np.eye(size))
        left, right = self.lefts(own), self.right.upto(own, count - 1)
        return [np.asarray(up(own + left[i] + right[count - 1 - i], 2)) for i in range(count)]

    def translations(
        self, places: Sequence[Place], silent: Sequence[np.ndarray], first: np.ndarray, second: np.ndarray
    ) -> tuple[Translation, ...]:
        """Propagation at these places; a place that stands for several entries takes the worst of them."""
        count = len(self.laws)
        if not self.usable or count > ENDLESS_ENTRIES:
            return ()

        def epsilons(epsilon: float) -> FloatArray:
            bounds = self.bounds(epsilon)
            found = []
            for place, quiet in zip(places, silent, strict=True):
                worst = np.max([bounds[i] for i in _entries(place, count)], axis=0)
                found.append(np.where(quiet, 0.0, np.minimum(worst[first, second], up(count * epsilon))))
            return np.concatenate(found)

        return (Translation("propagation", BECAUSE, epsilons),)


def _entries(place: Place, count: int) -> range:
    """The entries that a place stands for."""
    if place.before is None or place.after is None:
        return range(count)
    return range(place.before, count - place.after)
