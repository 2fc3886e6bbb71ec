"""All pairs of cells between which one record can go, many at a time.

With T the cells x queries table of what each cell touches, a pair moves T_i (1 - T_j) and (1 - T_i) T_j by one row each
and changes the rows of T_i T_j. Whatever adds up over queries is, for all pairs at once,

    left(T_i) + entered(T_j) + sum_q T_iq T_jq (kept_q [changed] - left_q - entered_q),

a matrix product. Strengths (`compose.dominance`) leave the pairs that no other dominates. Where nearly every loss is
another, strengths are rounded and few pairs dominate each other. Gaussian releases then are ordered by the sum of mu^2;
of others the pairs of the largest moment are kept, and a bound stands above the rest.

Reference: theory/granularity.md sections 2 (table), 3.3 (directions), 4.3 and 4.5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.dominance import Ladders, dominated, front
from quiltwork.compose.engines.characteristic import log_peak
from quiltwork.compose.loss import Loss
from quiltwork.compose.scaling import turned
from quiltwork.losses.families.gaussian import GaussianFamily, GaussianPrivacy
from quiltwork.losses.families.pure import Pure
from quiltwork.numbers.rounding import UNIT
from quiltwork.tables.cells.cells import Arrangement, Cells, IntArray
from quiltwork.tables.notions.metrics import longest_move, within_reach
from quiltwork.tables.notions.neighbors import Metric, Notion
from quiltwork.tables.query import Query
from quiltwork.tables.schema.columns import BoolArray
from quiltwork.tables.schema.table import Table
from quiltwork.tables.worst_step.additive import TILTS, loss_moments, renyi_bound
from quiltwork.tables.worst_step.vectors import Bound, Pricing, Vector, refuse

BLOCK = 2_000_000  # numbers of one product held at once
RANKED = {1e-2: 2_000, 1e-6: 500}  # deltas for which the search is laid out, and pairs kept for each where few dominate
DENSE = 0.1  # share of touched queries from which products are not sparse
STEPS = 2.0**36  # into which the largest mu^2 of a query is cut: sums of whole steps are exact


@attrs.frozen(eq=False)
class States:
    """Distances of every query: left or entered, kept and changed, and those whose filter cannot be analysed."""

    one: FloatArray
    both: FloatArray
    always: BoolArray


Weights = tuple[FloatArray, FloatArray, FloatArray]  # queries x numbers that add up: left, entered, kept and changed
Found = tuple[int, int, frozenset[str]]  # two cells, and the columns that may change between them


class Pairs:
    """Pairs of cells that differ in the changeable columns only; those that may be the worst are kept."""

    def __init__(
        self, table: Table, arrangement: Arrangement, cells: Cells, queries: Sequence[Query], pricing: Pricing,
        states: States, step: Notion, certain: bool,
    ) -> None:  # fmt: skip
        self.table, self.arrangement, self.cells, self.queries = table, arrangement, cells, queries
        self.pricing, self.states, self.step, self.certain = pricing, states, step, certain
        self.touched = cells.touched & ~states.always
        self.readers = {
            column: np.array([query.reads_any(frozenset((column,))) for query in queries]) for column in table.columns
        }
        count = range(len(queries))
        left = [pricing.at(i, float(states.one[i])) for i in count]
        kept = [pricing.at(i, float(states.both[i])) for i in count]
        losses = left, [None if loss is None else turned(loss) for loss in left], kept
        self.kept: _Undominated | _Largest | _Heaviest
        ladders = Ladders.of(loss for side in losses for loss in side if loss is not None)
        if not ladders.coarse:
            self.kept = _Undominated(ladders, losses)
        elif all(isinstance(part.family, GaussianFamily) for loss in (*left, *kept) if loss for part in loss.parts):
            self.kept = _Largest(losses)
        else:
            self.kept = _Heaviest(losses, self.touched)

    def look(self, columns: frozenset[str]) -> None:
        """All pairs that differ in these columns only."""
        fixed = [s for s, sheet in enumerate(self.arrangement.sheets) if sheet.column not in columns]
        _, group = np.unique(self.cells.picks[:, fixed], axis=0, return_inverse=True)
        group = group.ravel()
        for g in range(int(group.max()) + 1 if group.size else 0):
            members = np.flatnonzero(group == g)
            for here, there, allowed in self._blocks(members):
                self._refuse_infinite(here, there, allowed, columns)
                at = np.nonzero(allowed)
                ends = np.stack([here[at[0]], there[at[1]]], axis=1)
                self.kept.take(self._sums(here, there, columns, self.kept.weights)[at], ends, columns)

    def _blocks(self, members: IntArray) -> Iterator[tuple[IntArray, IntArray, BoolArray]]:
        """Some cells, those they are paired with, and which of these pairs are steps, each once."""
        rows = max(1, BLOCK // max(members.size * self.kept.weights[0].shape[1], 1))
        for start in range(0, members.size, rows):
            here, there = members[start : start + rows], members[start:]
            allowed = np.arange(there.size)[None, :] >= np.arange(here.size)[:, None]
            if isinstance(self.step, Metric):  # a record that moves reaches the cells nearby
                near = [within_reach(self.arrangement, self.cells.picks, int(c), there, self.step) for c in here]
                allowed &= np.array(near)
            yield here, there, allowed

    def _refuse_infinite(self, here: IntArray, there: IntArray, allowed: BoolArray, columns: frozenset[str]) -> None:
        """A query that some step moves infinitely far."""
        bad = np.zeros(len(self.queries), dtype=bool)
        for q in np.flatnonzero(np.isinf(self.states.one)):
            bad[q] = bool((allowed & (self.touched[here, q][:, None] != self.touched[there, q])).any())
        for q in np.flatnonzero(np.isinf(self.states.both)):
            both = self.touched[here, q][:, None] & self.touched[there, q]
            bad[q] |= bool((allowed & both & self._changed(here, there, self._reading(int(q), columns))).any())
        refuse(bad)

    def _sums(self, here: IntArray, there: IntArray, columns: frozenset[str], weights: Weights) -> FloatArray:
        """For every pair the sum over queries: cells x cells x numbers."""
        left, entered, kept = weights
        one, two = self.touched[here].astype(float), self.touched[there].astype(float)
        found: FloatArray = (
            (one @ left)[:, None, :] + (two @ entered)[None, :, :] + kept[self.states.always].sum(axis=0)
        )
        found += _products(one, two, -(left + entered))
        readers: dict[frozenset[str], list[int]] = {}
        for q in np.flatnonzero(kept.any(axis=1) & ~self.states.always):
            readers.setdefault(self._reading(int(q), columns), []).append(int(q))
        for read, group in readers.items():
            changed = self._changed(here, there, read)
            if changed.any():
                found += _products(one[:, group], two[:, group], kept[group]) * changed[:, :, None]
        return found

    def _reading(self, query: int, columns: frozenset[str]) -> frozenset[str]:
        """Those of these columns whose change the query sees."""
        return frozenset(column for column in columns if self.readers[column][query])

    def _changed(self, here: IntArray, there: IntArray, read: frozenset[str]) -> BoolArray:
        """Whether records of two cells differ in one of these columns, when they differ wherever they can."""
        sheets = {sheet.column: s for s, sheet in enumerate(self.arrangement.sheets)}
        seen = np.zeros((here.size, there.size), dtype=bool)
        for column in read:
            if column not in sheets:
                seen |= several(self.table, column)
                continue
            s = sheets[column]
            picks = self.cells.picks[here, s][:, None], self.cells.picks[there, s][None, :]
            seen |= (picks[0] != picks[1]) | (self.arrangement.sheets[s].sizes[picks[0]] > 1)
        return seen

    def vectors(self) -> tuple[Vector, ...]:
        """What the pairs that were kept do."""
        kept = self.kept.found()
        if not kept:
            return (self.pricing.vector({}, "no change is seen by any query"),)
        return tuple(self.kept.above(self._vector(*pair)) for pair in kept)

    def bounds(self) -> tuple[Bound, ...]:
        """What stands above the pairs that were not."""
        return self.kept.bounds()

    def _vector(self, cell: int, other: int, columns: frozenset[str]) -> Vector:
        here, there = self.cells.touched[cell], self.cells.touched[other]
        ends = np.array([cell, other])
        seen = {column for column in columns if self._changed(ends[:1], ends[1:], frozenset((column,)))[0, 0]}
        stayed = [int(i) for i in np.flatnonzero(here & there) if any(self.readers[column][i] for column in seen)]
        distances = {int(i): float(self.states.one[i]) for i in np.flatnonzero((here ^ there) & ~self.states.always)}
        distances |= {int(i): float(self.states.both[i]) for i in (*stayed, *np.flatnonzero(self.states.always))}
        added = frozenset(int(i) for i in np.flatnonzero(there & ~here))
        words = [self.arrangement.describe(self.cells.picks[c]) for c in ends]
        what = f"a record with {words[0]}"
        where = f"{what} that changes within it" if cell == other else f"{what} that becomes one with {words[1]}"
        exact, moved = self.certain and bool(self.cells.exact[ends].all()), 0.0
        if isinstance(self.step, Metric):
            moved = longest_move(self.arrangement, self.table, self.cells.picks[ends], self.step)
            exact &= moved > 0
        return self.pricing.vector(distances, where, added=added, exact=exact, moved=moved)


def several(table: Table, column: str) -> bool:
    """Whether a column has at least two values."""
    return sum(table.columns[column].classes([]).sizes) > 1


def _products(one: FloatArray, two: FloatArray, weights: FloatArray) -> FloatArray:
    """sum_q one_iq two_jq weights_qk for all i, j, k; whole numbers stay exact."""
    found = np.zeros((one.shape[0], two.shape[0], weights.shape[1]))
    used = np.flatnonzero(weights.any(axis=1))
    if not used.size:
        return found
    one, two, weights = one[:, used], two[:, used], weights[used]
    if float(one.mean()) < DENSE:
        from scipy.sparse import csr_array

        sparse, other = csr_array(one), csr_array(two.T)
        for k, column in enumerate(weights.T):
            found[:, :, k] = (sparse * column[None, :] @ other).toarray()
        return found
    for k, column in enumerate(weights.T):
        found[:, :, k] = (one * column) @ two.T
    return found


# ---- which pairs are kept


class _Undominated:
    """Strengths are exact: a pair that another dominates is left out, and of equal ones the first stays."""

    def __init__(self, ladders: Ladders, losses: Sequence[Sequence[Loss | None]]) -> None:
        left, entered, kept = (ladders.strength(side, up=True) for side in losses)
        self.weights: Weights = left, entered, kept
        self.rows = np.zeros((0, ladders.width))
        self.pairs: list[Found] = []

    def take(self, sums: FloatArray, ends: IntArray, columns: frozenset[str]) -> None:
        """Look at these pairs, the strongest first."""
        alive = np.flatnonzero(~dominated(sums, self.rows)) if self.pairs else np.arange(len(ends))
        while alive.size:
            best = alive[int(np.argmax(sums[alive].sum(axis=1)))]
            self.rows = np.vstack([self.rows, sums[best]])
            self.pairs.append((int(ends[best, 0]), int(ends[best, 1]), columns))
            alive = alive[~(sums[alive] <= sums[best]).all(axis=1)]

    def found(self) -> list[Found]:
        return [self.pairs[index] for index in front(self.rows, self.rows)]

    def above(self, vector: Vector) -> Vector:
        return vector

    def bounds(self) -> tuple[Bound, ...]:
        return ()


class _Largest:
    """Gaussian releases only: the sum of mu^2 says everything, and the pair with the largest one is the worst.

    Squares are rounded up to whole steps, so that their sums are exact and above; the loss of the worst pair is that of
    the rounded sum.
    """

    def __init__(self, losses: Sequence[Sequence[Loss | None]]) -> None:
        squares = [[_square(loss) for loss in side] for side in losses]
        self.unit = max(map(max, squares)) / STEPS
        left, entered, kept = (np.ceil(np.array(side) / self.unit * (1 + 4 * UNIT))[:, None] for side in squares)
        self.weights: Weights = left, entered, kept
        self.most = -1.0
        self.pairs: list[Found] = []

    def take(self, sums: FloatArray, ends: IntArray, columns: frozenset[str]) -> None:
        """Keep the largest."""
        if len(ends) and float(sums.max()) > self.most:
            best = int(np.argmax(sums[:, 0]))
            self.most, self.pairs = float(sums[best, 0]), [(int(ends[best, 0]), int(ends[best, 1]), columns)]

    def found(self) -> list[Found]:
        return self.pairs if self.most > 0 else []

    def above(self, vector: Vector) -> Vector:
        """The vector with a loss that stands above every pair, a hair above its own."""
        mu = math.sqrt(self.most * self.unit) * (1 + 8 * UNIT)
        return attrs.evolve(vector, loss=Loss.of(GaussianPrivacy(mu)), real=vector.attained)

    def bounds(self) -> tuple[Bound, ...]:
        return ()


class _Heaviest:
    """Losses of many kinds: for each of some deltas the pairs with the largest Chernoff bound, and one for the others.

    Log moments add up, at a few tilts that suit the heaviest cells; what is left out lies below its largest moments.
    """

    def __init__(self, losses: Sequence[Sequence[Loss | None]], touched: BoolArray) -> None:
        queries = len(losses[0])
        flat = [loss for side in losses for loss in side]
        known = {loss: loss_moments(loss) for loss in dict.fromkeys(flat)}
        rows = [known[loss] for loss in flat]
        self.moments = np.array([row.logs for row in rows])
        hidden, largest = np.array([row.hidden for row in rows]), np.array([row.largest for row in rows])
        heaviest = 2.0 * (touched.astype(float) @ np.nan_to_num(self.moments[:queries], posinf=1e300)).max(axis=0)
        usable = np.flatnonzero(np.isfinite(self.moments).all(axis=0))
        sized = (heaviest + log_peak(TILTS))[usable, None]
        best = (sized - np.log([*RANKED])) / TILTS[usable, None]
        self.tilts = np.unique(usable[best.argmin(axis=0)]) if usable.size else usable
        self.bounded = bool(np.isfinite(largest).all())
        ends = [hidden, largest] if self.bounded else [hidden]
        self.costs = np.column_stack([self.moments[:, self.tilts], *ends])
        left, entered, kept = np.split(self.costs, 3)
        self.weights: Weights = left, entered, kept
        self.room = 1 + 64 * UNIT * queries
        self.sums = np.zeros((0, left.shape[1]))
        self.rest = np.full(left.shape[1], -1.0)
        self.pairs: list[Found] = []

    def _ranks(self, sums: FloatArray) -> FloatArray:
        """Of every pair an epsilon that is not much too large, at each of the deltas; not a bound."""
        count, reveal = self.tilts.size, -np.expm1(-sums[:, self.tilts.size])
        found = np.full((len(sums), len(RANKED)), math.inf)
        if self.bounded:
            found = np.repeat(sums[:, -1:], len(RANKED), axis=1)
        for k, delta in enumerate(RANKED):
            room = np.log(np.maximum(delta - reveal, 1e-300))
            for t in range(count):
                tilt = TILTS[self.tilts[t]]
                found[:, k] = np.minimum(found[:, k], (sums[:, t] + log_peak(tilt) - room) / tilt)
        return found

    def take(self, sums: FloatArray, ends: IntArray, columns: frozenset[str]) -> None:
        """Keep the heaviest so far."""
        if not len(ends):
            return
        both = np.vstack([self.sums, sums])
        ranks, chosen = self._ranks(both), np.zeros(len(both), dtype=bool)
        for rank, most in zip(ranks.T, RANKED.values(), strict=True):
            most = min(most, len(both))
            chosen[np.argpartition(-rank, most - 1)[:most]] = True
        dropped = both[~chosen]
        if dropped.size:
            self.rest = np.maximum(self.rest, dropped.max(axis=0))
        before = len(self.pairs)
        kept = np.flatnonzero(chosen)
        self.pairs = [
            self.pairs[i] if i < before else (int(ends[i - before, 0]), int(ends[i - before, 1]), columns)
            for i in kept.tolist()
        ]
        self.sums = both[kept]

    def found(self) -> list[Found]:
        return self.pairs

    def above(self, vector: Vector) -> Vector:
        return vector

    def bounds(self) -> tuple[Bound, ...]:
        if (self.rest < 0).any():
            return ()
        slack = self.sums.max(axis=0) * (self.room - 1)  # differences of sums round at the size of these
        rest, count = (self.rest + slack) * self.room, self.tilts.size
        totals = np.full(TILTS.size, math.inf)
        for t, column in enumerate(self.tilts):  # what one tilt bounds, another does by the largest quotient
            with np.errstate(invalid="ignore", divide="ignore"):
                quotients = np.where(self.moments > 0, self.moments / self.moments[:, column][:, None], 0.0)
            totals = np.minimum(totals, quotients.max(axis=0) * rest[t] * (1 + 1e-12))
            totals[column] = min(totals[column], rest[t])
        known = np.isfinite(totals)
        losses = [renyi_bound(TILTS[known], totals[known], float(rest[count]))]
        if self.bounded:
            losses.append(Loss.of(Pure(float(rest[count + 1]))))
        return (Bound(tuple(losses), "the pairs of cells that were left out"),)


def _square(loss: Loss | None) -> float:
    """The sum of mu^2."""
    squares = [(part.count, part.family.square) for part in (loss.parts if loss is not None else ())]
    return math.fsum(math.inf if one is None else count * one for count, one in squares) * (1 + 4 * UNIT)
