"""A Markov chain along the ticks: couplings that differ in windows, and propagation with the costs of windows.

Reference: theory/joining.md section 2.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.joined.coupling import numbers_apart, survival
from quiltwork.joined.noisy_total import noisy_totals
from quiltwork.joined.patterns import Patterns
from quiltwork.joined.propagation import Propagation
from quiltwork.joined.revealing import REVEALED, Revealed, windows
from quiltwork.joined.sides import Sides
from quiltwork.joined.under.prior import Correlated
from quiltwork.joined.weighted_sum import Floor, weighted_sums
from quiltwork.pufferfish.priors.chain.chain import MarkovChain

MOST_TERMS = 2_000_000  # windows over all entries; of longer sides the rest counts as everything
MOST_WEIGHTS = 40_000_000  # numbers in the matrix of weights; beyond, one case of an entry stands for all of its pairs
COUPLED = (
    "coupling: two copies of the sequence differ in a random window, and the plan loses on average what that window "
    "costs"
)
PROPAGATED = "propagation: each side of an entry lets through what its transition law allows, a window pays once"


class AlongChain(Correlated):
    """The cases are entries and ordered pairs of states that can occur there."""

    because = (COUPLED, PROPAGATED, REVEALED)

    def __init__(self, patterns: Patterns, chain: MarkovChain) -> None:
        self.patterns, self.chain = patterns, chain
        self.sides = Sides(chain, len(patterns.ticks))
        self.propagation = Propagation(self.sides)
        self._reveals: dict[int, tuple[Revealed, ...]] = {}
        all_asked = self.sides.possible.all(axis=1) & (len(chain.states) == self.sides.states)
        if patterns.contents == self.sides.states:
            self.told = tuple(np.flatnonzero(all_asked).tolist())

    @property
    def attained(self) -> bool:  # type: ignore[override]
        """Two states, hours with queries of their own: a product of one factor for each entry is the worst event."""
        known = self.sides.states == 2 and self.sides.left(0) is not None
        return known and len(self.told) == self.sides.length and self.patterns.plain

    @cached_property
    def floors(self) -> tuple[Floor, ...]:
        alone = self.patterns.apart
        own = () if alone is None else AlongChain(alone, self.chain).floors
        return (*own, *weighted_sums(self), *noisy_totals(self))

    # ---- windows

    def _sides_of(self, entry: int) -> tuple[int, int]:
        """How many entries on each side are followed one by one."""
        length = self.sides.length
        most = max(4, int(math.sqrt(MOST_TERMS / length)))
        return min(entry, most), min(length - 1 - entry, most)

    def _places(self, entry: int) -> tuple[list[int], list[int]]:
        """The first and last ticks of windows, by how many entries differ to the left and to the right."""
        (left, right), end = self._sides_of(entry), self.sides.length - 1
        firsts = [entry - n if n < left or left == entry else 0 for n in range(left + 1)]
        lasts = [entry + n if n < right or right == end - entry else end for n in range(right + 1)]
        return firsts, lasts

    @cached_property
    def _index(self) -> list[np.ndarray]:
        """The profile of each window around each entry."""
        found = []
        for i in range(self.sides.length):
            firsts, lasts = self._places(i)
            found.append(np.array([[self.patterns.window(first, last) for last in lasts] for first in firsts]))
        return found

    @cached_property
    def numbers(self) -> np.ndarray:
        return np.unique(np.concatenate([index.ravel() for index in self._index]))

    # ---- couple

    def _chances(self, entry: int) -> tuple[FloatArray, FloatArray]:
        """How many entries differ on each side: (n, u, v)."""
        left, right = self._sides_of(entry)
        both = (self.sides.left(entry), left), (self.sides.right(entry), right)
        one, two = (survival(steps, count, self.sides.states) for steps, count in both)
        if self._merged:
            one, two = (side.max(axis=(1, 2), keepdims=True) for side in (one, two))
        return numbers_apart(one), numbers_apart(two)

    @cached_property
    def cases(self) -> list[tuple[int, int, int]]:
        """(entry, u, v)."""
        found = []
        for i, seen in enumerate(self.sides.possible):
            there = np.flatnonzero(seen).tolist()
            found += [(i, u, v) for u in there for v in there if u != v]
        return found

    @property
    def _merged(self) -> bool:
        """Whether there are so many pairs that the worst of an entry's stands for all."""
        return len(self.cases) * len(self.numbers) > MOST_WEIGHTS

    @cached_property
    def weights(self) -> FloatArray:
        rows: list[FloatArray] = []
        for i, index in enumerate(self._index):
            left, right = self._chances(i)
            terms = np.einsum("luv,ruv->lruv", left, right)
            found = np.zeros((len(self.numbers), *terms.shape[2:]))
            np.add.at(found, np.searchsorted(self.numbers, index).ravel(), terms.reshape(-1, *terms.shape[2:]))
            there = np.flatnonzero(self.sides.possible[i]).tolist()
            if self._merged:
                rows += [found[:, 0, 0]] * (len(there) > 1)
            else:
                rows += [found[:, u, v] for u in there for v in there if u != v]
        return np.array(rows).reshape(len(rows), len(self.numbers))

    def words(self, case: int, number: int) -> str:
        i, u, v = self.cases[case] if not self._merged else (case, 0, 1)
        (firsts, lasts), (left, right) = self._places(i), self._chances(i)
        pair = (0, 0) if self._merged else (u, v)
        chance = np.multiply.outer(left[:, *pair], right[:, *pair]) * (self._index[i] == number)
        before, after = divmod(int(np.argmax(chance)), len(lasts))
        names = [self.chain.states[self.chain.occurring[one]] for one in (u, v)]
        ticks = self.patterns.tick_names
        told = "" if self._merged else f", {names[0]} against {names[1]}"
        return (
            f"{self.patterns.when} {ticks[i]}{told}; what weighs most is a change from {ticks[firsts[before]]} to "
            f"{ticks[lasts[after]]}"
        )

    # ---- reveal

    def reveals(self, case: int) -> tuple[Revealed, ...]:
        if self._merged:
            return ()
        if case not in self._reveals:
            i, u, v = self.cases[case]
            ones = np.eye(self.sides.states)
            self._reveals[case] = windows(self.patterns, self.sides.left(i), self.sides.right(i), i, ones[u], ones[v])
        return self._reveals[case]

    # ---- propagate

    def kappa(self, c: float) -> float:
        known: dict[int, float] = {}

        def cost(first: int, last: int) -> float:
            number = self.patterns.window(first, last)
            if number not in known:
                known[number] = self.cost(number, c)
            return known[number]

        if not math.isfinite(cost(0, self.sides.length - 1)) and c == 0.0 and self._unbounded:
            return math.inf
        kappas, seen = self.propagation.worst(cost), self.sides.possible
        apart = ~np.eye(self.sides.states, dtype=bool)
        return float(np.max(kappas, where=seen[:, :, None] & seen[:, None, :] & apart, initial=0.0))

    @cached_property
    def _unbounded(self) -> bool:
        """Whether some tick alone, at an entry with a secret, has an unbounded loss: then there is no pure bound."""
        several = np.flatnonzero(self.sides.possible.sum(axis=1) > 1).tolist()
        return any(math.isinf(self.cost(self.patterns.window(t, t), 0.0)) for t in several)
