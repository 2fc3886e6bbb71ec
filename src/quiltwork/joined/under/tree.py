"""Trees, hidden chains and independent entries: couplings outward from an entry (`meeting`), propagation by edges.

For a hidden state the copies of the hidden chain are coupled, and what they emit wherever they differ. For an emission
as the secret, the laws of its hidden state given the two values are coupled first.

Reference: theory/joining.md section 2 ("Other priors"); theory/pufferfish.md 3.5.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.joined.meeting import Law, Meeting, residual
from quiltwork.joined.patterns import Pattern, Patterns
from quiltwork.joined.revealing import HIDDEN, REVEALED, Revealed, merged, told_by, windows
from quiltwork.joined.sides import Kernel, Sides
from quiltwork.joined.under.prior import Correlated
from quiltwork.numbers.matrices import stationary_error
from quiltwork.numbers.rounding import UNIT, up
from quiltwork.pufferfish.prior import Prior
from quiltwork.pufferfish.priors.blocks import Blocks
from quiltwork.pufferfish.priors.hidden_chain import HiddenMarkov
from quiltwork.pufferfish.priors.tree import Tree, total

MET = (
    "coupling: two copies of the entries differ on a random part around one of them, and cost what it costs on average"
)
CARRIED = "propagation: each edge lets through what its transition law allows"
TRANSLATED = "the prior's own theorem, for what one entry costs at most"


class Listed(Correlated):
    """Cases with a law of patterns each, listed one by one."""

    because: tuple[str, ...] = (MET, TRANSLATED, REVEALED)

    def __init__(self, patterns: Patterns, prior: Prior) -> None:
        self.patterns, self.prior = patterns, prior
        self._reveals: dict[int, tuple[Revealed, ...]] = {}

    @cached_property
    def laws(self) -> list[tuple[str, Law]]:
        """The words and the law of every case."""
        raise NotImplementedError

    def reveals(self, case: int) -> tuple[Revealed, ...]:
        if case not in self._reveals:
            self._reveals[case] = self._revealed(case)
        return self._reveals[case]

    def _revealed(self, case: int) -> tuple[Revealed, ...]:
        """Hidden sets of a case, with what the rest tells."""
        return ()

    @cached_property
    def _matrix(self) -> tuple[np.ndarray, FloatArray]:
        known: dict[Pattern, int] = {}
        for _, law in self.laws:
            for pattern in law:
                known.setdefault(pattern, self.patterns.number(pattern))
        numbers = np.unique(list(known.values()))
        weights = np.zeros((len(self.laws), numbers.size))
        for row, (_, law) in zip(weights, self.laws, strict=True):
            for pattern, weight in law.items():
                row[np.searchsorted(numbers, known[pattern])] += weight
        return numbers, weights

    @property
    def numbers(self) -> np.ndarray:
        return self._matrix[0]

    @property
    def weights(self) -> FloatArray:
        return self._matrix[1]

    def words(self, case: int, number: int) -> str:
        words, law = self.laws[case]
        most = max((p for p in law if self.patterns.number(p) == number), key=lambda pattern: law[pattern])
        count = sum(most.counts) + len(most.sharing)
        return f"{self.patterns.when} {words}; what weighs most is a change at {count} of them"

    def kappa(self, c: float) -> float:
        """What the prior's theorems make of the largest cost of one tick."""
        own = max(self.cost(self.patterns.window(t, t), c) for t in range(len(self.patterns.ticks)))
        if not np.isfinite(own):
            return float(own)
        return min(
            (float(np.max(one.epsilons(own), initial=0.0)) for one in self.prior.translations()),
            default=self.cost(self.patterns.everything, c),
        )

    def named(self, tick: int, first: Any, second: Any) -> str:
        """A case in words."""
        return f"{self.patterns.tick_names[tick]}, {first} against {second}"


class Apart(Listed):
    """Independent entries: only the entry itself differs."""

    because = ("entries are independent, so that only the row itself tells about it",)

    @property
    def told(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(range(len(self.patterns.ticks)))

    @cached_property
    def laws(self) -> list[tuple[str, Law]]:
        at = self.patterns.at
        return [(f"{name}, any two values", {at(t): 1.0}) for t, name in enumerate(self.patterns.tick_names)]


class OnTree(Listed):
    """The entries of a tree are the ticks, in their order."""

    because = (MET, CARRIED, REVEALED)
    prior: Tree

    @cached_property
    def kernels(self) -> dict[tuple[int, int], Kernel]:
        """The law of a neighbour given an entry, along every edge in both directions."""
        prior, found = self.prior, dict[tuple[int, int], Kernel]()
        laws = {prior.edges.order[0]: prior.root}
        depth = {prior.edges.order[0]: 1}
        for child in prior.edges.order[1:]:
            parent = cast(int, prior.parents[child])  # only the root has none
            matrix = prior.transition[child]
            laws[child], depth[child] = laws[parent] @ matrix, depth[parent] + 1
            error = (2 * depth[child] + 2) * (len(matrix) + 6) * UNIT
            joint = laws[parent][:, None] * matrix
            sums = joint.sum(axis=0)
            back = np.where(sums > 0, joint / np.where(sums > 0, sums, 1.0), laws[parent][:, None]).T
            found[parent, child] = Kernel(matrix, matrix > 0, 4 * UNIT)
            found[child, parent] = Kernel(back, joint.T > 0, error)
        return found

    @cached_property
    def cases(self) -> list[tuple[int, int, int]]:
        """(entry, u, v)."""
        return [(i, u, v) for i, seen in enumerate(self.prior.edges.possible) for u, v in _pairs(seen.tolist())]

    @cached_property
    def laws(self) -> list[tuple[str, Law]]:
        meeting = Meeting(self.patterns, self.prior.edges.neighbours, lambda near, far: self.kernels[near, far])
        states, found = self.prior.states, []
        for i, u, v in self.cases:
            law, own = meeting.around(i, u, v), self.patterns.at(i)
            words = self.named(i, states[u], states[v])
            found.append((words, {own + pattern: weight for pattern, weight in law.items()}))
        return found

    def _revealed(self, case: int) -> tuple[Revealed, ...]:
        i, u, v = self.cases[case]
        ones = np.eye(len(self.prior.states))
        atoms = told_by([self.kernels[i, other] for other in self.prior.edges.neighbours[i]], ones[u], ones[v])
        return () if atoms is None else (Revealed.of(self.patterns.number(self.patterns.at(i)), atoms),)

    @property
    def told(self) -> tuple[int, ...]:  # type: ignore[override]
        if self.patterns.contents != len(self.prior.states):
            return ()
        return tuple(i for i, seen in enumerate(self.prior.edges.possible) if seen.size == len(self.prior.states))

    @property
    def attained(self) -> bool:  # type: ignore[override]
        """Two values, ticks with queries of their own: a product of one factor for each entry is the worst event."""
        return len(self.prior.states) == 2 and len(self.told) == self.prior.entries and self.patterns.plain

    def kappa(self, c: float) -> float:
        """Messages along the edges, each tick with what it costs by itself."""
        edges = self.prior.edges
        costs = [self.cost(self.patterns.window(t, t), c) for t in range(len(self.patterns.ticks))]
        own = [
            np.where(np.eye(seen.size, dtype=bool), 0.0, cost) for cost, seen in zip(costs, edges.possible, strict=True)
        ]
        messages, worst = edges.messages(own), 0.0
        for i, others in enumerate(edges.neighbours):
            around = total([messages[i, other] for other in others], own[i].shape)
            apart = ~np.eye(len(around), dtype=bool)  # also where the entry itself costs nothing: others tell of it
            worst = max(worst, float(np.max(up(own[i] + around, 2), where=apart, initial=0.0)))
        return worst


class Hidden(Listed):
    """Entries that a hidden chain emits, one for each tick; the secret is a hidden state, or an emission."""

    prior: HiddenMarkov

    @property
    def told(self) -> tuple[int, ...]:  # type: ignore[override]
        shown = self.prior.secret == "emission" and bool((self.emitted > 0).any(axis=0).all())
        all_told = shown and self.patterns.contents == len(self.prior.symbols)
        return tuple(range(len(self.patterns.ticks))) if all_told else ()

    @property
    def emitted(self) -> FloatArray:
        """The law of what each state that occurs emits."""
        return np.asarray(self.prior.emission[self.prior.chain.occurring])

    @cached_property
    def sides(self) -> Sides:
        """The hidden chain from an entry outward."""
        return Sides(self.prior.chain, len(self.patterns.ticks))

    @cached_property
    def given(self) -> tuple[list[tuple[int, int]], FloatArray, float]:
        """The pairs of secrets at any entry, the law of the hidden state given each secret, and its error."""
        size, emitted = len(self.emitted), self.emitted
        if self.prior.secret == "hidden":
            return _pairs(range(size)), np.eye(size), 0.0
        weights = self.prior.chain.stationary[:, None] * emitted
        seen = np.flatnonzero(weights.sum(axis=0) > 0).tolist()
        posterior = np.zeros((emitted.shape[1], size))
        posterior[seen] = (weights[:, seen] / weights[:, seen].sum(axis=0)).T
        return _pairs(seen), posterior, 2.2 * stationary_error(size) + (size + 8) * UNIT

    def _revealed(self, case: int) -> tuple[Revealed, ...]:
        pairs, laws, error = self.given
        i, (first, second) = case // len(pairs), pairs[case % len(pairs)]
        left, right = self.sides.left(i), self.sides.right(i)
        return windows(self.patterns, left, right, i, laws[first], laws[second], error)

    @cached_property
    def laws(self) -> list[tuple[str, Law]]:
        prior, length, sides = self.prior, len(self.patterns.ticks), self.sides
        emitted = self.emitted
        apart = 0.5 * np.abs(emitted[:, None, :] - emitted[None, :, :]).sum(axis=2) + (emitted.shape[1] + 8) * UNIT
        neighbours = [[t for t in (i - 1, i + 1) if 0 <= t < length] for i in range(length)]

        def kernel(near: int, far: int) -> Kernel:
            steps = sides.right(near) if far > near else sides.left(near)
            if steps is None:
                raise AssertionError("a hidden chain is stationary")
            return steps[0]

        meeting = Meeting(self.patterns, neighbours, kernel, np.minimum(apart, 1.0))
        if prior.secret == "hidden":
            return self._hidden(meeting)
        return self._shown(meeting, emitted)

    def _hidden(self, meeting: Meeting) -> list[tuple[str, Law]]:
        states, found = [self.prior.states[i] for i in self.prior.chain.occurring], []
        for i in range(len(self.patterns.ticks)):
            for u, v in self.given[0]:
                law: Law = {}
                _add(law, meeting.around(i, u, v), meeting.own(i, u, v), 1.0)
                found.append((self.named(i, states[u], states[v]), law))
        return found

    def _shown(self, meeting: Meeting, emitted: FloatArray) -> list[tuple[str, Law]]:
        pairs_seen, posterior, error = self.given
        found = []
        around = {
            (i, y, z): meeting.around(i, y, z)
            for i in range(len(self.patterns.ticks))
            for y, z in _pairs(range(len(emitted)))
        }
        for i in range(len(self.patterns.ticks)):
            for first, second in pairs_seen:
                met, pairs = residual(posterior, error, first, second)
                own = self.patterns.at(i)
                law: Law = {own: met}
                for chance, y, z in pairs:
                    _add(law, around[i, y, z], {own: 1.0}, chance)
                found.append((self.named(i, self.prior.symbols[first], self.prior.symbols[second]), law))
        return found


class InBlocks(Listed):
    """Blocks of consecutive ticks, each block an urn: the same uniform number draws for both copies.

    With s ones in the second copy and d places in which the copies differ, the next entry is 1 in both with chance
    (alpha + s) / N, differs with chance d / N and is 0 in both with the rest, N = alpha + beta + entries drawn.
    """

    prior: Blocks

    @cached_property
    def laws(self) -> list[tuple[str, Law]]:
        known: dict[tuple[Pattern, ...], Law] = {}
        found = []
        for i in range(len(self.patterns.ticks)):
            start = i - i % self.prior.size
            rest = [t for t in range(start, start + self.prior.size) if t != i]
            key = tuple(map(self.patterns.at, (i, *rest)))
            if key not in known:
                known[key] = self._drawn(key)
            found += [(self.named(i, *values), known[key]) for values in ((1, 0), (0, 1))]
        return found

    @property
    def told(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(range(len(self.patterns.ticks))) if self.patterns.contents == 2 else ()

    def _revealed(self, case: int) -> tuple[Revealed, ...]:
        i, size, found = case // 2, self.prior.size, []
        others = [t for t in range(i - i % size, i - i % size + size) if t != i]
        for hidden in sorted({min(size, one) for one in HIDDEN}):
            atoms = self.prior.atoms(1 - case % 2, hidden)
            number = self.patterns.number(self.patterns.all_of((i, *others[: hidden - 1])))
            found.append(Revealed.of(number, merged(atoms.weights, atoms.losses)))
        return tuple(found)

    def _drawn(self, ticks: tuple[Pattern, ...]) -> Law:
        alpha, beta = self.prior.alpha, self.prior.beta
        whole = sum(ticks, start=self.patterns.none)
        states: dict[tuple[int, int], Law] = {(0, 1): {ticks[0]: 1.0}}
        for n, tick in enumerate(ticks[1:], start=1):
            size, grown = alpha + beta + n, dict[tuple[int, int], Law]()
            for (ones, apart), law in states.items():
                for state, chance, extra in (
                    ((ones + 1, apart), (alpha + ones) / size, self.patterns.none),
                    ((ones, apart + 1), apart / size, tick),
                    ((ones, apart), (beta + n - ones - apart) / size, self.patterns.none),
                ):
                    _add(grown.setdefault(state, {}), law, {extra: 1.0}, chance)
            states = {state: _capped(law, whole) for state, law in grown.items()}
        found: Law = {}
        for law in states.values():
            _add(found, law, {self.patterns.none: 1.0}, 1.0 + 64.0 * len(ticks) * UNIT)
        return found


MAX_DRAWN = 400  # patterns of one state of an urn that are kept apart


def _capped(law: Law, whole: Pattern) -> Law:
    if len(law) <= MAX_DRAWN:
        return law
    kept = dict(sorted(law.items(), key=lambda item: -item[1])[: MAX_DRAWN // 2])
    kept[whole] = kept.get(whole, 0.0) + sum(weight for pattern, weight in law.items() if pattern not in kept)
    return kept


def _pairs(values: Any) -> list[tuple[int, int]]:
    return [(u, v) for u in values for v in values if u != v]


def _add(found: Law, one: Law, two: Law, chance: float) -> None:
    """Both, with this chance, to what was found."""
    for pattern, weight in one.items():
        for other, more in two.items():
            both = pattern + other
            found[both] = found.get(both, 0.0) + chance * weight * more
