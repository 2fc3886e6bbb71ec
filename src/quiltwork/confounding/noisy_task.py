"""Design after a release with continuous outputs: suggested on cells, certified on the line.

Let the earlier outputs reduce to one number y, and let r(y | x) be its law for each input.  The new mechanism g splits
the law of y into one part for each new output z, so that

    delta = sum_z E_t( sum_x P(x | s) g(z | x) r(. | x)  ||  the same for s' ),

a hockey stick of two mixtures on the line for each z, which the certified cells enclose.  No cell of y enters the
certificate.  The linear program sees y in cells: that is a garbling, so its lower bound is one of the true problem, and
its answer is moved until the certificate holds.

Continuous data are binned at the input of g only: given the bin, y keeps its own law, so nothing about privacy is
approximated.

Reference: theory/confounding.md section 4, scaling (iv) and (v).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.confounding.certificate import Counts
from quiltwork.confounding.components import Component, Mixture
from quiltwork.confounding.difference import TwoLaws
from quiltwork.confounding.enclosure import cut
from quiltwork.confounding.joint import Joint
from quiltwork.confounding.laws import outward
from quiltwork.confounding.searched import Searched
from quiltwork.confounding.task import Task
from quiltwork.curves.curve import Curve
from quiltwork.curves.rounding import UNIT, down, up

__all__ = ["NoisyAfter", "NoisyTask", "Pieces", "cells_of"]

FINE = 1e-10  # width of each enclosure
METHOD = "certified cells, one for each new output"


@attrs.frozen(eq=False)
class Pieces:
    """The law of (x, y) given each row: `weights[r]` and `places[r]` (the input x) of components of y."""

    weights: tuple[FloatArray, ...]
    places: tuple[np.ndarray, ...]
    components: tuple[tuple[Component, ...], ...]
    inputs: int
    error: float  # relative, of each weight
    lost: float = 0.0  # probability of what is left out, at most

    def part(self, row: int, shares: FloatArray) -> tuple[float, Mixture | None]:
        """The mass of a new output with these chances for each input, and the law of y then."""
        weights = self.weights[row] * shares[self.places[row]]
        total = math.fsum(weights)
        if not total > 0:
            return 0.0, None
        kept = np.flatnonzero(weights > 0)
        law = weights[kept] / math.fsum(weights[kept])
        return total, Mixture(law, [self.components[row][index] for index in kept])


def cells_of(pieces: Pieces, count: int) -> Joint:
    """P(x, cell of y | row) from both sides, for cells of about equal probability."""
    edges = _edges(pieces, count)
    low = np.zeros((len(pieces.weights), pieces.inputs, edges.size - 1))
    high = np.zeros_like(low)
    known: dict[int, tuple[FloatArray, FloatArray]] = {}
    for row, (weights, places, parts) in enumerate(zip(pieces.weights, pieces.places, pieces.components, strict=True)):
        for weight, place, part in zip(weights, places, parts, strict=True):
            if id(part) not in known:
                known[id(part)] = part.probability(edges[:-1], edges[1:])
            below, above = known[id(part)]
            low[row, place] += weight * below
            high[row, place] += weight * above
    most = max(weights.size for weights in pieces.weights)
    low, high = outward(low, high, pieces.error / UNIT + 2.0 * most, high > 0)
    if pieces.lost:
        high = high + pieces.lost  # it may lie anywhere
    return Joint(low, high, lambda: None)


def _edges(pieces: Pieces, count: int) -> FloatArray:
    """Quantiles of all components together, from their own quantiles."""
    parts = list({id(part): part for row in pieces.components for part in row}.values())
    shapes = [part.shapes([part]) for part in parts]
    places = np.unique(np.concatenate([shape.landmarks(41) for shape in shapes]))
    places = places[np.isfinite(places)]
    picked = np.unique(np.quantile(places, np.linspace(0.0, 1.0, max(count - 1, 2))))
    return np.concatenate([[-np.inf], picked, [np.inf]])


class NoisyAfter(Searched):
    """Everything together after a new mechanism: the sum over its outputs of sticks on the line."""

    method = METHOD

    def __init__(self, pieces: Pieces, pairs: np.ndarray, table: FloatArray) -> None:
        self.pieces, self.pairs, self.table = pieces, pairs, table

    @cached_property
    def _tests(self) -> list[list[tuple[float, float, TwoLaws | None]]]:
        """For each pair and new output: both masses, and both laws of y."""
        parts: dict[int, list[tuple[float, Mixture | None]]] = {}
        for row in np.unique(self.pairs).tolist():
            parts[row] = [self.pieces.part(row, shares) for shares in self.table.T]
        found = []
        for first, second in self.pairs.tolist():
            tests = []
            for (p, one), (q, two) in zip(parts[first], parts[second], strict=True):
                tests.append((p, q, None if one is None or two is None else TwoLaws(one, two)))
            found.append(tests)
        return found

    def ends(self, epsilon: float) -> tuple[float, float]:
        """delta from both sides, the worst over the pairs.

        With weights off by a relative e, p' - t q' <= (1 + e)(p - t (1 - e)/(1 + e) q): the odds move by 2e.
        """
        lower = upper = 0.0
        error = self.pieces.error + 16.0 * UNIT  # and of its product with the table, and of dividing by the sum
        for tests in self._tests:
            sums = [[0.0], [0.0]]
            for p, q, laws in tests:
                if laws is None:
                    sums[0].append(p if q == 0 else 0.0)
                    sums[1].append(p)
                    continue
                shift = math.log(q / p)
                blur = 4.0 * error + 8.0 * UNIT * (abs(shift) + min(abs(epsilon), 1e9))
                sums[0].append(p * cut(laws, epsilon + shift + blur, FINE, 1.0).delta[0])
                sums[1].append(p * cut(laws, epsilon + shift - blur, FINE, 1.0).delta[1])
            lower = max(lower, math.fsum(sums[0]) * (1.0 - 2.0 * error) - self._gone(epsilon))
            upper = max(upper, math.fsum(sums[1]) * (1.0 + 2.0 * error) + self.pieces.lost)
        return max(down(lower), 0.0), min(up(upper), 1.0) if upper > 0 else 0.0

    def _gone(self, epsilon: float) -> float:
        """What the part that is left out can take off delta."""
        return self.pieces.lost * (1.0 + math.exp(min(epsilon, 700.0))) if self.pieces.lost else 0.0

    def _upper(self, epsilon: float) -> float:
        return self.ends(epsilon)[1]

    def _lower_delta(self, epsilon: FloatArray) -> FloatArray:
        flat = [self.ends(float(value))[0] for value in np.ravel(epsilon)]
        return np.array(flat).reshape(np.shape(epsilon))


@attrs.frozen(eq=False)
class NoisyTask(Task):
    """A task whose earlier outputs are continuous: cells for the solver, the line for the certificate."""

    pieces: Pieces = attrs.field(kw_only=True)
    curve: Curve = attrs.field(kw_only=True)

    @property
    def mergeable(self) -> bool:
        """Cells of the line are kept as they are."""
        return False

    def after(self, table: Counts) -> Any:
        """The curve of everything together."""
        return self.curve if table.silent else NoisyAfter(self.pieces, self.world.ordered, table.channel)

    def in_fractions(self, after: Any) -> bool:
        """Never: the laws on the line are not rational."""
        return False

    def excess(self, channel: FloatArray) -> float:
        """By how much delta is above the target with this channel, at most."""
        return NoisyAfter(self.pieces, self.world.ordered, channel).ends(self.epsilon)[1] - self.delta

    @property
    def before(self) -> Curve:
        """The curve of what was released before."""
        return self.curve
