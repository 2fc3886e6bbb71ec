"""Gaussian priors: one copy is the other one, shifted, so that every row moves by a known distance.

Given x_i = u and x_i = v the entries have the same covariance, and means that differ by (u - v) S_ti / S_ii at tick t.
So x' = x + (v - u) S_.i / S_ii couples them without chance: the plan loses what it loses when the row at each tick t
moves by d_t = gap |S_ti| / S_ii. Queries that are stated for distances (`metric`) pay for d_t; all others, counts above
a threshold for instance, pay as for the longest move of any row.

Reference: theory/joining.md section 2 ("AR(1) and any Gaussian prior").
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from quiltwork.checks import FloatArray, settle
from quiltwork.compose.loss import Loss
from quiltwork.compose.releases import Part
from quiltwork.curves.bracket import Quantity
from quiltwork.curves.curve import SameCurve
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.joined.patterns import Distances, Patterns
from quiltwork.kinds import not_written
from quiltwork.losses.families.gaussian import Gaussian, GaussianPrivacy
from quiltwork.numbers.rounding import up
from quiltwork.pufferfish.priors.gaussian.prior import AutoRegressive, GaussianPrior
from quiltwork.tables.notions.metrics import euclidean
from quiltwork.tables.notions.neighbors import Metric, Notion
from quiltwork.tables.notions.sensitivity import response
from quiltwork.tables.query import Query
from quiltwork.tables.worst_step.vectors import Vector
from quiltwork.tables.worst_step.worst import Worst

MOST_ENTRIES = 400  # that are looked at one by one
TINY = 1e-100  # shorter moves are taken as long as this
BECAUSE = (
    "coupling: the entries given one value are those given another, shifted by the covariance; every row moves by that"
)


def moved_by(prior: AutoRegressive | GaussianPrior, length: int) -> FloatArray:
    """How far the row of each tick moves when the entry moves by the gap: (entry, tick), rounded up."""
    if isinstance(prior, AutoRegressive):
        steps = np.abs(np.arange(length)[:, None] - np.arange(length)[None, :])
        factors = np.abs(prior.rho) ** steps.astype(float) * (1.0 + 1e-14 * (1.0 + steps))
        factors = np.where((steps > 0) & (prior.rho == 0), 0.0, np.maximum(factors, TINY))  # powers may underflow
    else:
        matrix = np.abs(np.asarray(prior.covariance, dtype=float))
        factors = matrix.T / np.diag(matrix)[:, None]
        factors = np.where(matrix.T > 0, np.maximum(factors, TINY), 0.0)
    found = np.where(factors > 0, up(prior.gap * factors, 8), 0.0)
    np.fill_diagonal(found, prior.gap)
    return found


@not_written("it knows its plan and its prior", "write the plan and the prior")
class Shifted(SameCurve):
    """A curve about a secret: what the plan loses at the distances of a shift, and no loss to be added up."""

    def __init__(self, worst: Worst) -> None:
        self.worst = worst

    def __repr__(self) -> str:
        return f"<what a plan tells about one entry: {self.worst!r}>"

    def _same(self, quantity: Quantity) -> Worst:
        return self.worst

    def worst_case(self, delta: float) -> str:
        """The entry of which most is told."""
        found = [float(vector.loss.epsilon(delta).upper) for vector in self.worst.vectors]
        return self.worst.vectors[int(np.argmax(found))].where


def shifted(patterns: Patterns, prior: AutoRegressive | GaussianPrior) -> Shifted:
    """The plan at the distances of a shift, for the worst entry."""
    length = len(patterns.ticks)
    if length > MOST_ENTRIES:
        raise InvalidParameter("when", patterns.when, f"at most {MOST_ENTRIES} values under a Gaussian prior")
    if len(patterns.changes) != 1:
        raise InvalidParameter("changes", sorted(patterns.changes), "the one column of numbers that follows the prior")
    moved = moved_by(prior, length)
    step = _step(patterns, float(moved.max()))  # a row of larger variance moves further than the gap
    whole = attrs.evolve(patterns, changed=step)
    shorter = _Shorter(patterns, step)
    vectors = []
    for entry, far in enumerate(moved.tolist()):
        here = attrs.evolve(whole)
        moves = tuple(
            tuple(shorter.of(vector, d) for vector in whole.moves[t]) if d else ((),) for t, d in enumerate(far)
        )
        settle(here, moves=moves)
        where = f"{patterns.when} {patterns.tick_names[entry]}"
        vectors += [Vector(_one_gaussian(loss), (), where, exact=False) for loss in here.losses(range(length))]
    return Shifted(Worst(vectors))


def _one_gaussian(loss: Loss) -> Loss:
    """The same with all Gaussian releases as one: their squares of mu add up."""
    mus = [(part.count, part.family.mu) for part in loss.parts if isinstance(part.family, (Gaussian, GaussianPrivacy))]
    if len(mus) < 2:
        return loss
    square = math.fsum(count * mu**2 for count, mu in mus)
    rest = tuple(part for part in loss.parts if not isinstance(part.family, (Gaussian, GaussianPrivacy)))
    return Loss((Part(GaussianPrivacy(up(math.sqrt(square), 8)), 1), *rest))


class _Shorter:
    """Vectors of moves by the gap, where queries that are stated for distances pay for a shorter one."""

    def __init__(self, patterns: Patterns, step: Metric) -> None:
        self.table, self.queries, self.step = patterns.table, patterns.queries, step
        self.known: dict[tuple[Notion | None, float], float] = {}
        self.kept = [self._kept(query) for query in self.queries]

    def _kept(self, query: Query) -> float:
        """How far a row that moves by the gap moves a query stated for distances, if it cannot also enter it so far."""
        found = response(query, self.step, self.table)
        plain = isinstance(query.holds.notion, Metric) and query.via is None and not query.opaque
        return found.both if plain and found.both != found.one else math.nan

    def of(self, vector: Distances, distance: float) -> Distances:
        """The vector of a move by this distance."""
        count = len(self.kept)  # beyond it, kept rows that change are counted
        return tuple((q, self._near(q, distance) if q < count and far == self.kept[q] else far) for q, far in vector)

    def _near(self, query: int, distance: float) -> float:
        key = self.queries[query].holds.notion, distance
        if key not in self.known:
            step = attrs.evolve(self.step, within=distance)
            self.known[key] = response(self.queries[query], step, self.table).both
        return self.known[key]


def _step(patterns: Patterns, gap: float) -> Metric:
    """A move of one row by the gap, in the unit that the queries are stated in."""
    (column,) = patterns.changes
    stated = dict.fromkeys(
        (query.holds.notion.distance, query.holds.notion.unit)
        for query in patterns.queries
        if isinstance(query.holds.notion, Metric)
    )
    if any(distance.columns != (column,) for distance, _ in stated) or len(stated) > 1:
        raise Unsupported(
            "a plan under a Gaussian prior with these metrics",
            "the shift is a distance on one column, in one unit",
            f"state all of them for metric(euclidean({column!r}), unit=...)",
        )
    distance, unit = next(iter(stated), (euclidean(column), "units"))
    found = Metric(distance, unit, gap)
    found.check(patterns.table)
    return found
