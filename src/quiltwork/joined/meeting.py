"""Where two copies of a law on a tree differ, when they are coupled outward from one entry.

Along each edge both copies take the same value with the largest chance there is; once met they stay together, so that
the copies differ on a random connected part of the tree around the entry, and an entry that only shows its state
through an emission may agree even there. What counts of a set of ticks is a `Pattern`: how many of each kind, and which
ticks share queries with others. So laws of patterns are short sums, followed from the leaves inward along every edge in
both directions; a law with too many patterns gives the rarest of them up to the whole branch.

Chances are rounded up: a mean of costs then only grows.

Reference: theory/joining.md section 2, Theorem 3 and "Other priors" (trees, hidden chains).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.joined.patterns import Pattern, Patterns
from quiltwork.joined.sides import Kernel
from quiltwork.numbers.rounding import UNIT

MAX_PATTERNS = 1500  # of one branch that are kept apart
MAX_PAIRED_STATES = 5  # states up to which pairs of copies are followed; beyond, the largest chance to part is taken

Edge = tuple[int, int]
Law = dict[Pattern, float]


def residual(matrix: FloatArray, error: float, first: int, second: int) -> tuple[float, list[tuple[float, int, int]]]:
    """The chance to meet, and the pairs of different values otherwise, each with its chance; all rounded up."""
    one, two = matrix[first], matrix[second]
    slack = 2.0 * error + 8.0 * (one.size + 4) * UNIT
    rest, other = np.maximum(one - two, 0.0), np.maximum(two - one, 0.0)
    parted = max(float(rest.sum()), float(other.sum()))
    met = min(float(np.minimum(one, two).sum()) + slack, 1.0)
    if parted <= 0.0:
        return met, []
    grown = 1.0 + slack
    pairs = [
        (float(rest[y] * other[z] / parted) * grown + slack / rest.size**2, y, z)
        for y in np.flatnonzero(rest).tolist()
        for z in np.flatnonzero(other).tolist()
    ]
    return met, pairs


@attrs.frozen(eq=False)
class Meeting:
    """A tree of entries: neighbours, the law of a neighbour given an entry, how likely entries themselves differ.

    `differs` is None where the entries are the states, else a table: given two states, the chance that what they emit
    is different.
    """

    patterns: Patterns
    neighbours: Sequence[Sequence[int]]
    kernel: Callable[[int, int], Kernel]
    differs: FloatArray | None = None
    _branches: dict[Edge, list[list[Law]]] = attrs.field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        for edge in self._inward():
            self._branches[edge] = self._met(edge)

    def around(self, entry: int, first: int, second: int) -> Law:
        """The law of the pattern outside an entry whose copies have these two states."""
        found: Law = {self.patterns.none: 1.0}
        for other in self.neighbours[entry]:
            found = self._joined(found, self._branches[entry, other][first][second], entry)
        return found

    def own(self, entry: int, first: int, second: int) -> Law:
        """Whether the entry itself differs, when its states do."""
        if self.differs is None:
            return {self.patterns.at(entry): 1.0}
        chance = float(self.differs[first, second])
        return {self.patterns.at(entry): chance, self.patterns.none: min(1.0 - chance + 16.0 * UNIT, 1.0)}

    def _inward(self) -> list[Edge]:
        """Edges in both directions, those with less behind them first."""
        count, root = len(self.neighbours), 0
        parent, order = {root: -1}, [root]
        for node in order:  # grows while it is read
            for other in self.neighbours[node]:
                if other not in parent:
                    parent[other] = node
                    order.append(other)
        below = [1] * count
        for node in reversed(order[1:]):
            below[parent[node]] += below[node]
        edges = [(below[node], (parent[node], node)) for node in order[1:]]
        edges += [(count - below[node], (node, parent[node])) for node in order[1:]]
        return [edge for _, edge in sorted(edges)]

    def _met(self, edge: Edge) -> list[list[Law]]:
        """What lies beyond an edge: for every two states of its near end."""
        near, far = edge
        step = self.kernel(near, far)
        size = len(step.matrix)
        empty: Law = {self.patterns.none: 1.0}
        if size > MAX_PAIRED_STATES:
            return self._contracted(edge, step, size)
        beyond = self._beyond(edge, size)
        found = [[empty] * size for _ in range(size)]
        for a in range(size):
            for b in range(size):
                if a == b:
                    continue
                met, pairs = residual(step.matrix, step.error, a, b)
                law: Law = {self.patterns.none: met}
                for chance, y, z in pairs:
                    for pattern, weight in beyond[y][z].items():
                        law[pattern] = law.get(pattern, 0.0) + chance * weight
                found[a][b] = self._short(law, far, near)
        return found

    def _beyond(self, edge: Edge, size: int) -> list[list[Law]]:
        """The far end itself and what lies behind it, for every two of its states."""
        near, far = edge
        found: list[list[Law]] = [[{} for _ in range(size)] for _ in range(size)]
        for y in range(size):
            for z in range(size):
                if y == z:
                    continue
                law = self.own(far, y, z)
                for other in self.neighbours[far]:
                    if other != near:
                        law = self._joined(law, self._branches[far, other][y][z], far)
                found[y][z] = self._short(law, far, near)
        return found

    def _contracted(self, edge: Edge, step: Kernel, size: int) -> list[list[Law]]:
        """Any two states part with at most the largest total variation between two rows."""
        near, far = edge
        widest = max(0.5 * float(np.abs(step.matrix - row).sum(axis=1).max()) for row in step.matrix)
        parted = min(widest + 2.0 * step.error + 8.0 * (size + 4) * UNIT, 1.0)
        law: Law = {self.patterns.at(far): 1.0}
        for other in self.neighbours[far]:
            if other != near:
                law = self._joined(law, self._branches[far, other][0][1], far)
        found = {pattern: weight * parted for pattern, weight in law.items()}
        found[self.patterns.none] = found.get(self.patterns.none, 0.0) + min(1.0 - parted + 16.0 * UNIT, 1.0)
        found = self._short(found, far, near)
        return [[found] * size for _ in range(size)]

    def _joined(self, one: Law, two: Law, node: int) -> Law:
        """Both, independent given the states."""
        found: Law = {}
        for pattern, weight in one.items():
            for other, more in two.items():
                both = pattern + other
                found[both] = found.get(both, 0.0) + weight * more
        return self._short(found, node, None)

    def _short(self, law: Law, node: int, away: int | None) -> Law:
        """The law itself, or its likeliest patterns with the rest on everything."""
        if len(law) <= MAX_PATTERNS:
            return law
        kept = dict(sorted(law.items(), key=lambda item: -item[1])[: MAX_PATTERNS // 2])
        rest = sum(weight for pattern, weight in law.items() if pattern not in kept)
        whole = self._whole(node, away)
        kept[whole] = kept.get(whole, 0.0) + rest
        return kept

    def _whole(self, node: int, away: int | None) -> Pattern:
        """All ticks on this side of an edge, or of the tree."""
        found, seen, waiting = self.patterns.at(node), {node, away}, [node]
        while waiting:
            for other in self.neighbours[waiting.pop()]:
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
                    found = found + self.patterns.at(other)
        return found
