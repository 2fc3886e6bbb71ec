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
from quiltwork.confounding.enclosure import cut
from quiltwork.confounding.joint import Joint
from quiltwork.confounding.laws import outward
from quiltwork.confounding.searched import Searched
from quiltwork.confounding.task import Task
from quiltwork.confounding.two_laws import TwoLaws
from quiltwork.curves.curve import Curve
from quiltwork.curves.rounding import UNIT, down, up
from quiltwork.errors import NotCertified

__all__ = ["NoisyAfter", "NoisyTask", "Pieces", "cells_of"]

SHARE = 1e-6  # of delta that enclosures may be wide: where two laws nearly tie, more digits would take very many cells
NARROWEST = 1e-22  # the same, whatever delta is
BACK = (1e-8, 1e-6, 1e-4, 1e-2, 0.1, 0.5)  # steps back from an epsilon that holds
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
        return total, Mixture(law, [self.components[row][index] for index in kept], exact=())


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
    lower, upper = outward(low, high, pieces.error / UNIT + 2.0 * most, high > 0)
    if pieces.lost:
        upper = upper + pieces.lost  # it may lie anywhere
    return Joint(lower, upper, lambda: None)


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
    close = 1e-7

    def __init__(self, task: NoisyTask, table: FloatArray, width: float) -> None:
        self.pieces, self.pairs, self.table = task.pieces, task.world.ordered, table
        self.before = task.before
        self.pure, self.width = width == 0.0, max(width, NARROWEST) / table.shape[1]

    def __repr__(self) -> str:
        return (
            f"<NoisyAfter of {len(self.pairs)} ordered pairs: a number on the line, and {self.table.shape[1]} outputs>"
        )

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

    def end(self, epsilon: float, side: int) -> float:
        """delta from below (side 0) or above (side 1), the worst over the pairs.

        With weights off by a relative e, p' - t q' <= (1 + e)(p - t (1 - e)/(1 + e) q): the odds move by 2e.
        """
        worst, outwards = 0.0, 2.0 * side - 1.0
        error = self.pieces.error + 16.0 * UNIT  # and of its product with the table, and of dividing by the sum
        for tests in self._tests:
            parts = [0.0]
            for p, q, laws in tests:
                if laws is None:
                    parts.append(p if side or q == 0 else 0.0)
                    continue
                shift = math.log(q / p)
                blur = 4.0 * error + 8.0 * UNIT * (abs(shift) + min(abs(epsilon), 1e9))
                place = epsilon + shift - outwards * blur
                parts.append(p * cut(laws, place, self.width / p, 1.0, pure=self.pure).delta[side])
            found = math.fsum(parts) * (1.0 + outwards * 2.0 * error)
            if math.isnan(found):  # the larger of a number and NaN would be the number
                raise NotCertified("delta", "a bound came out as no number: please report this as a bug")
            worst = max(worst, found)
        if side:
            return min(up(worst + self.pieces.lost), 1.0) if worst > 0 or self.pieces.lost else 0.0
        return max(down(worst - self._gone(epsilon)), 0.0)

    def _gone(self, epsilon: float) -> float:
        """What the part that is left out can take off delta."""
        return self.pieces.lost * (1.0 + math.exp(min(epsilon, 700.0))) if self.pieces.lost else 0.0

    def _upper(self, epsilon: float) -> float:
        return self.end(epsilon, 1)

    def _lower_delta(self, epsilon: FloatArray) -> FloatArray:
        flat = [self.end(float(value), 0) for value in np.ravel(epsilon)]
        return np.array(flat).reshape(np.shape(epsilon))

    def _lower_epsilon(self, delta: FloatArray) -> FloatArray:
        flat = [self._below(float(value)) for value in np.ravel(delta)]
        return np.array(flat).reshape(np.shape(delta))

    def _upper_beta(self, alpha: FloatArray) -> FloatArray:
        # an attacker may ignore the new output
        return np.asarray(self.before.beta(alpha).upper)

    def _below(self, delta: float) -> float:
        """An epsilon at which delta is certainly exceeded, near where the search ends."""
        found = self._search(delta)
        if math.isinf(found):
            return 0.0
        for part in BACK:
            place = found * (1.0 - part)
            if place > 0 and self.end(place, 0) > delta:
                return place
        return 0.0


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
        return self.curve if table.silent else NoisyAfter(self, table.channel, SHARE * self.delta)

    def in_fractions(self, after: Any) -> bool:
        """Never: the laws on the line are not rational."""
        return False

    def excess(self, channel: FloatArray) -> float:
        """By how much delta is above the target with this channel, at most."""
        return NoisyAfter(self, channel, SHARE * self.delta).end(self.epsilon, 1) - self.delta

    @property
    def before(self) -> Curve:
        """The curve of what was released before."""
        return self.curve
