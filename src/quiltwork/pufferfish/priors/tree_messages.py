"""Messages along the edges of a tree: what lies beyond a neighbour can tell at most this much.

From entry a look along an edge at its neighbour b, with the law K of x_b given x_a (towards the root, Bayes' rule gives
it).  If everything beyond b varies by at most s as a function of x_b, then a sees it vary by at most Psi_K(s):

    message(a -> b) = Psi_K(own entry of b + messages from b to its other neighbours).

Reference: theory/pufferfish.md 3.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.matrices import refuse_lost
from quiltwork.numbers.rounding import UNIT
from quiltwork.pufferfish.translation.propagation import Spread

__all__ = ["Edge", "Messages", "TreeEdges", "order_of", "total"]

RAREST = 1e-250  # a value that is rarer cannot be divided by

Edge = tuple[int, int]
Messages = dict[Edge, FloatArray]
Parents = tuple[int | None, ...]
Kernels = tuple[FloatArray | None, ...]


@attrs.frozen(eq=False)
class TreeEdges:
    """The edges of a tree in both directions, with Psi of their laws on the values that can occur."""

    parents: Parents
    order: list[int]  # parents before children
    neighbours: list[list[int]]
    possible: list[np.ndarray]  # indices of the values that each entry can take
    spreads: dict[Edge, Spread]

    @classmethod
    def of(cls, parents: Parents, kernels: Kernels, root: FloatArray) -> TreeEdges:
        """Follow the law of each entry from the root to the leaves, and turn every edge around."""
        order = order_of(parents)
        neighbours: list[list[int]] = [[] for _ in parents]
        # what is possible is followed by itself, since products may underflow
        possible, laws, depth = [np.nonzero(root)[0]] * len(parents), [root] * len(parents), [1] * len(parents)
        spreads: dict[Edge, Spread] = {}
        for child in order[1:]:
            parent, kernel = cast(int, parents[child]), cast(FloatArray, kernels[child])  # only the root has none
            neighbours[child].append(parent)
            neighbours[parent].append(child)
            depth[child] = depth[parent] + 1
            possible[child] = np.nonzero((kernel[possible[parent]] > 0).any(axis=0))[0]
            laws[child] = laws[parent] @ kernel
            rare = float(laws[child][possible[child]].min())
            if rare < RAREST:
                raise InvalidParameter(f"the least probability of entry {child}", rare, f"0 or at least {RAREST:g}")
            inner = kernel[np.ix_(possible[parent], possible[child])]
            joint = laws[parent][possible[parent]][:, None] * inner
            refuse_lost(joint, inner > 0)
            # sums and products of k numbers, once for each generation: relative errors only add up
            error = (2 * depth[child] + 2) * (len(kernel) + 6) * UNIT
            spreads[parent, child] = Spread.of(inner, inner > 0, 4 * UNIT)
            spreads[child, parent] = Spread.of((joint / joint.sum(axis=0)).T, (inner > 0).T, error)
        return cls(parents, order, neighbours, possible, spreads)

    def messages(self, own: Sequence[FloatArray]) -> Messages:
        """All messages, where the value of each entry itself adds `own`: from the leaves to the root, then back."""
        found: Messages = {}
        for node in reversed(self.order[1:]):
            parent = cast(int, self.parents[node])
            below = [found[node, other] for other in self.neighbours[node] if other != parent]
            found[parent, node] = self._through((parent, node), own[node] + total(below, own[node].shape))
        for node in self.order:
            others = self.neighbours[node]
            known = [found[node, other] for other in others]
            for other, rest in zip(others, _all_but_one(known, own[node].shape), strict=True):
                if other != self.parents[node]:
                    found[other, node] = self._through((other, node), own[node] + rest)
        return found

    def rings(self) -> Iterator[tuple[Messages, dict[Edge, int]]]:
        """For balls of radius 0, 1, ...: what is told from outside the ball along each edge, and its entries there.

        Inside, one's own entry adds nothing; at the border Psi is at its limit.
        """
        told: Messages = {edge: spread.limit for edge, spread in self.spreads.items()}
        sizes = dict.fromkeys(told, 0)
        while True:
            yield told, sizes
            wider, larger = {}, {}
            for node, others in enumerate(self.neighbours):
                shape = (self.possible[node].size, self.possible[node].size)
                whole = 1 + sum(sizes[node, other] for other in others)
                rests = _all_but_one([told[node, other] for other in others], shape)
                for other, rest in zip(others, rests, strict=True):
                    wider[other, node] = self._through((other, node), rest)
                    larger[other, node] = whole - sizes[node, other]
            told, sizes = wider, larger

    def _through(self, edge: Edge, slope: FloatArray) -> FloatArray:
        """Psi of one edge; a neighbour with a single value tells nothing."""
        spread = self.spreads[edge]
        if len(slope) == 1:
            return np.zeros(spread.limit.shape)
        return spread.directed(slope) if len(slope) == 2 else spread.anchored(slope)


def order_of(parents: Parents) -> list[int]:
    """Parents before children; entries on a cycle are left out."""
    children: list[list[int]] = [[] for _ in parents]
    for child, parent in enumerate(parents):
        if parent is not None:
            children[parent].append(child)
    found = [parents.index(None)]
    for node in found:  # grows while it is read
        found.extend(children[node])
    return found


def total(parts: Sequence[FloatArray], shape: tuple[int, ...]) -> FloatArray:
    """The sum, rounded up: each addition is off by half a unit at most."""
    return np.asarray(sum(parts, np.zeros(shape)) * (1.0 + 2.0 * (len(parts) + 1) * UNIT))


def _all_but_one(parts: Sequence[FloatArray], shape: tuple[int, ...]) -> list[FloatArray]:
    """For each part the sum of the others, rounded up; from both ends, since a difference would lose digits."""
    before, after = [np.zeros(shape)], [np.zeros(shape)]
    for part, mirrored in zip(parts, reversed(parts), strict=True):
        before.append(before[-1] + part)
        after.append(after[-1] + mirrored)
    grown = 1.0 + 2.0 * (len(parts) + 1) * UNIT
    return [(before[i] + after[len(parts) - 1 - i]) * grown for i in range(len(parts))]
