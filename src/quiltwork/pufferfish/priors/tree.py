"""Laws on a tree: each entry depends on its parent alone (households, contact trees, branching logs).

From entry a look along an edge at its neighbour b, with the law K of x_b given x_a (towards the root, Bayes' rule gives
it).  If everything beyond b varies by at most s as a function of x_b, then a sees it vary by at most Psi_K(s):

    message(a -> b) = Psi_K(own entry of b + messages from b to its other neighbours),
    bound at an entry = its own epsilon + the messages from it to all of its neighbours.

Two passes give all messages.  With two values directions are followed one by one, and an event that is a product of one
factor for each entry attains the bound.  For the influence curve H takes from each branch around the entry those within
some distance, and what lies at the border may tell all that its edge lets through.

Reference: theory/pufferfish.md 3.5 ("Tree: sum over children") and 4.4.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any, cast

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.matrices import law, made_as_stored, refuse_lost, stochastic
from quiltwork.numbers.rounding import UNIT, up
from quiltwork.pufferfish.prior import Translation
from quiltwork.pufferfish.priors.joint.law import JointLaw
from quiltwork.pufferfish.priors.same_states import SameStates
from quiltwork.pufferfish.secrets import AskedPairs, Secrets
from quiltwork.pufferfish.translation.influence import InfluenceCurve
from quiltwork.pufferfish.translation.propagation import Spread

RAREST = 1e-250  # a value that is rarer cannot be divided by

Edge = tuple[int, int]
Messages = dict[Edge, FloatArray]
Parents = tuple[int | None, ...]
Kernels = tuple[FloatArray | None, ...]
BECAUSE = "Lipschitz propagation along the tree: each edge lets through what its transition law allows"
METHOD = "balls within each branch of a tree (theory 4.4)"
MAX_BALL, NEGLIGIBLE_REST = 64, 1e-5  # balls grow to this size, or until the rest of their branch tells so little
MOST_CELLS = 2e7  # numbers in the per-case table; beyond it fewer sizes are kept
MOST_EXACT = 2000  # entries of a tree whose lower end is claimed


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
            found[parent, node] = self.spreads[parent, node].through(own[node] + total(below, own[node].shape))
        for node in self.order:
            others = self.neighbours[node]
            known = [found[node, other] for other in others]
            for other, rest in zip(others, _all_but_one(known, own[node].shape), strict=True):
                if other != self.parents[node]:
                    found[other, node] = self.spreads[other, node].through(own[node] + rest)
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
                    wider[other, node] = self.spreads[other, node].through(rest)
                    larger[other, node] = whole - sizes[node, other]
            told, sizes = wider, larger


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


@attrs.frozen(eq=False, repr=False)
class Tree(SameStates):
    """Entries on a tree: `parents[i]` is the parent of entry i, None for the root, which has the law `root`.

    `transition` is one matrix (row: the parent's value) for every edge, or a list with one matrix for each entry and
    None for the root.

    >>> star = Tree([None, 0, 0, 0], [[0.8, 0.2], [0.2, 0.8]], [0.5, 0.5])
    >>> [round(float(value), 4) for value in star.influence().values]
    [4.1589, 2.7726, 1.3863, 0.0]
    """

    parents: tuple[int | None, ...] = attrs.field()
    transition: Any
    root: FloatArray
    states: tuple[Hashable, ...] = attrs.field(default=None)

    def __attrs_post_init__(self) -> None:
        parents = _parents(self.parents)
        kernels = _kernels(self.transition, parents)
        count = next((len(kernel) for kernel in kernels if kernel is not None), int(np.size(self.root)))
        given: Any = self.states
        names = tuple(range(count)) if given is None else tuple(given)
        if len(names) != count or len(set(names)) != count:
            raise InvalidParameter("states", given, f"{count} different names")
        if count < 2:
            raise InvalidParameter("the number of states", count, "at least 2", "one state has no secret")
        checks.settle(self, parents=parents, transition=kernels, root=law("root", self.root, count), states=names)
        _ = self.edges  # refuses values that are too rare at once

    @property
    def entries(self) -> int:
        return len(self.parents)

    @property
    def words(self) -> str:
        return f"the {self.entries} entries follow the given law on a tree, each of {len(self.states)} states"

    def __repr__(self) -> str:
        return f"<Tree {self.entries} entries, {len(self.states)} states>"

    @cached_property
    def edges(self) -> TreeEdges:
        """The laws along every edge, in both directions."""
        return TreeEdges.of(self.parents, self.transition, self.root)

    # ---- translation

    def translations(self, secrets: Secrets | None = None) -> tuple[Translation, ...]:
        """Propagation; exact when every entry has two values at most."""
        view = self._view(secrets)
        if view is None:
            return self.joint().translations(secrets)
        edges = self.edges

        def epsilons(epsilon: float) -> FloatArray:
            own = [epsilon * (1.0 - np.eye(values.size)) for values in edges.possible]
            told = edges.messages(own)
            bounds = []
            for i in self._asked(view):
                around = total([told[i, other] for other in edges.neighbours[i]], own[i].shape)
                bounds.append(self._pick(i, up(own[i] + around), view))
            return np.asarray(np.minimum(np.concatenate(bounds), up(self.entries * epsilon)))

        # roundings add up along deep trees, so that the lower end of large ones is not claimed
        exact = all(values.size <= 2 for values in edges.possible) and self.entries <= MOST_EXACT
        return (Translation("propagation", BECAUSE, epsilons, exact=exact),)

    def tells_itself(self, secrets: Secrets | None = None) -> bool:
        """Whether some entry can have both values of some pair."""
        view = self._view(secrets)
        if view is None:
            return super().tells_itself(secrets)
        told = [
            np.isin(view.first, self.edges.possible[i]) & np.isin(view.second, self.edges.possible[i])
            for i in self._asked(view)
        ]
        return bool(np.any(told))

    # ---- influence

    def influence(self, max_size: int | None = None, secrets: Secrets | None = None) -> InfluenceCurve:
        """a(b) for b = 1 .. max_size, from sets that are balls within each branch; 0 for all entries."""
        view = self._view(secrets)
        if view is None:
            return self.joint().influence(max_size, secrets)
        count = self.entries
        largest = min(MAX_BALL if max_size is None else checks.count("max_size", max_size, least=1), count)
        options = self._options(largest, view)
        room = max(int(MOST_CELLS / (len(self._asked(view)) * view.first.size)), 1)
        kept = np.unique(np.linspace(1, largest, min(largest, room)).astype(int))
        cases = np.concatenate([self._least(i, options, largest, view)[kept - 1].T for i in self._asked(view)])
        if max_size is None or max_size >= count:  # H is everything
            kept, cases = np.append(kept[kept < count], count), cases[:, kept < count]
            cases = np.concatenate((cases, np.zeros((len(cases), 1))), axis=1)
        names = [f"entry {i}" for i in self._asked(view)]
        return InfluenceCurve(kept, cases, "certified", name_of=lambda index: view.name(index, names), method=METHOD)

    def _options(self, largest: int, view: AskedPairs) -> dict[Edge, list[tuple[int, FloatArray]]]:
        """For each branch around the entries asked for: how many entries H may take, and what the rest then tells."""
        found: dict[Edge, list[tuple[int, FloatArray]]] = {
            (i, j): [] for i in self._asked(view) for j in self.edges.neighbours[i]
        }
        growing = set(found)
        for told, sizes in self.edges.rings():
            for edge in tuple(growing):
                options = found[edge]
                if sizes[edge] >= largest or (options and sizes[edge] == options[-1][0]):
                    growing.discard(edge)  # too large, or the branch is at its end already
                    continue
                options.append((sizes[edge], told[edge]))
                if float(told[edge].max()) <= NEGLIGIBLE_REST:
                    growing.discard(edge)
            if not growing:
                break
        return found

    def _least(
        self, entry: int, options: dict[Edge, list[tuple[int, FloatArray]]], largest: int, view: AskedPairs
    ) -> FloatArray:
        """The least sum over the branches of one entry, when H has b entries: (sizes, pairs)."""
        count, others = self.edges.possible[entry].size, self.edges.neighbours[entry]
        best = np.zeros((largest, count, count))
        for other in others:
            grown = np.full_like(best, np.inf)
            for size, told in options[entry, other]:
                grown[size:] = np.minimum(grown[size:], best[: largest - size] + told)
            best = grown
        return self._pick(entry, best * (1.0 + 2.0 * (len(others) + 1) * UNIT), view)

    # ---- secrets

    def joint(self) -> JointLaw:
        """The explicit law of all entries, for small trees and for secrets about several entries."""
        count, size, lists = self.entries, len(self.states), self._lists()
        table, possible = np.ones((size,) * count), np.ones((size,) * count, dtype=bool)
        for node, parent in enumerate(self.parents):
            factor, axes = (self.root, [node]) if parent is None else (self.transition[node], [parent, node])
            shape = [size if axis in axes else 1 for axis in range(count)]
            factor = (factor if axes == sorted(axes) else factor.T).reshape(shape)
            table, possible = table * factor, possible & (factor > 0)
        refuse_lost(table, possible)
        return JointLaw(table / table.sum(), values=lists, relative_error=(4 * count + 8) * UNIT)

    def _pick(self, entry: int, table: FloatArray, view: AskedPairs) -> FloatArray:
        """The pairs that are asked for; 0 where one of the two cannot occur, since there is nothing to tell apart."""
        full = np.zeros((*table.shape[:-2], len(self.states), len(self.states)))
        full[..., self.edges.possible[entry][:, None], self.edges.possible[entry]] = table
        return np.asarray(full[..., view.first, view.second])


def _parents(value: Any) -> tuple[int | None, ...]:
    allowed = "a list with the parent of each entry, None for the root"
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise InvalidParameter("parents", value, allowed)
    found = tuple(None if parent is None else checks.count("a parent", parent) for parent in value)
    if found.count(None) != 1:
        raise InvalidParameter("parents", value, allowed, f"exactly one root, not {found.count(None)}")
    if any(parent is not None and parent >= len(found) for parent in found):
        raise InvalidParameter("parents", value, f"entries from 0 to {len(found) - 1}")
    if len(order_of(found)) < len(found):
        raise InvalidParameter("parents", value, allowed, "some entries never reach the root: there is a cycle")
    return found


def _kernels(value: Any, parents: tuple[int | None, ...]) -> tuple[FloatArray | None, ...]:
    """One matrix for each entry but the root."""
    if isinstance(value, (list, tuple)) and any(matrix is None for matrix in value):
        if len(value) != len(parents) or any((m is None) != (p is None) for m, p in zip(value, parents, strict=True)):
            raise InvalidParameter("transition", value, f"{len(parents)} matrices, None for the root alone")
        found = [None if matrix is None else stochastic("transition", matrix) for matrix in value]
    else:
        shared = stochastic("transition", value)
        found = [None if parent is None else shared for parent in parents]
    shapes = {matrix.shape for matrix in found if matrix is not None}
    if len(shapes) > 1:
        raise InvalidParameter("the shapes of transition", shapes, "the same for every entry")
    return tuple(found)


# ---- as a document


def _written(tree: Tree) -> dict[str, Any]:
    """One matrix when every edge has the same."""
    found = [matrix for matrix in tree.transition if matrix is not None]
    shared = bool(found) and all(np.array_equal(matrix, found[0]) for matrix in found)
    return {
        "parents": tree.parents,
        "transition": found[0] if shared else tree.transition,
        "root": tree.root,
        "states": tree.states,
    }


document(
    "tree/1",
    fields="parents transition root",
    optional="states",
    write=_written,
    read=lambda **said: made_as_stored(Tree, said),
)(Tree)
