"""Tasks after releases with continuous noise, on finite data or on data read in bins: certified on the line.

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
import time
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.design.certificate import Counts, counted, without_faint
from quiltwork.confounding.design.refinement import Refined, refine
from quiltwork.confounding.design.task import Target, Task, finished_task, refuse_violated
from quiltwork.confounding.finite.joint import Joint
from quiltwork.confounding.line.binned.law import STATED, Slice
from quiltwork.confounding.line.enclosure.cut import cut
from quiltwork.confounding.line.enclosure.difference import TwoLaws
from quiltwork.confounding.line.laws.components import Component, Mixture, Normal, Point
from quiltwork.confounding.line.release import Readout
from quiltwork.curves.curve import Curve
from quiltwork.curves.from_delta import FromDelta
from quiltwork.errors import InvalidParameter, NotCertified, Unreachable, Unsupported
from quiltwork.numbers.laws import outward
from quiltwork.numbers.rounding import UNIT, down, up

if TYPE_CHECKING:
    from quiltwork.confounding.design.program import Problem
    from quiltwork.confounding.line.world import ContinuousWorld
    from quiltwork.confounding.world import World

ENCLOSURE_WIDTH = 1e-6  # of delta: where two laws nearly tie, more digits would take very many cells
MIN_ENCLOSURE_WIDTH = 1e-22  # the same, whatever delta is
STEPS_BACK = (1e-8, 1e-6, 1e-4, 1e-2, 0.1, 0.5)  # steps back from an epsilon that holds
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


class NoisyAfter(FromDelta):
    """Everything together after a new mechanism: the sum over its outputs of sticks on the line."""

    method = METHOD
    close = 1e-7

    def __init__(self, task: NoisyTask, table: FloatArray, width: float) -> None:
        self.pieces, self.pairs, self.table = task.pieces, task.world.ordered, table
        self.before = task.before
        self.pure, self.width = width == 0.0, max(width, MIN_ENCLOSURE_WIDTH) / table.shape[1]

    def __repr__(self) -> str:
        outputs = self.table.shape[1]
        return f"<NoisyAfter of {len(self.pairs)} ordered pairs: a number on the line, and {outputs} outputs>"

    @cached_property
    def _tests(self) -> list[list[tuple[float, float, TwoLaws | None]]]:
        """For each pair and new output: both masses, and both laws of y."""
        rows = np.unique(self.pairs).tolist()
        parts = {row: [self.pieces.part(row, shares) for shares in self.table.T] for row in rows}
        return [
            [
                (p, q, None if one is None or two is None else TwoLaws(one, two))
                for (p, one), (q, two) in zip(parts[first], parts[second], strict=True)
            ]
            for first, second in self.pairs.tolist()
        ]

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
        return np.array([self.end(value, 0) for value in epsilon.tolist()])

    def _lower_epsilon(self, delta: FloatArray) -> FloatArray:
        return np.array([self._below(value) for value in delta.tolist()])

    def _upper_beta(self, alpha: FloatArray) -> FloatArray:
        # an attacker may ignore the new output
        return np.asarray(self.before.beta(alpha).upper)

    def _below(self, delta: float) -> float:
        """An epsilon at which delta is certainly exceeded, near where the search ends."""
        found = self._search(delta)
        if math.isinf(found):
            return 0.0
        for part in STEPS_BACK:
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
        return self.curve if table.silent else NoisyAfter(self, table.channel, ENCLOSURE_WIDTH * self.delta)

    def in_fractions(self, after: Any) -> bool:
        """Never: the laws on the line are not rational."""
        return False

    def excess(self, channel: FloatArray) -> float:
        """By how much delta is above the target with this channel, at most."""
        return NoisyAfter(self, channel, ENCLOSURE_WIDTH * self.delta).end(self.epsilon, 1) - self.delta

    @property
    def before(self) -> Curve:
        """The curve of what was released before."""
        return self.curve


SLOW_LAW_CELLS, QUICK_LAW_CELLS = 256, 1024  # of the line for the solver: of laws that are slow, or quick, to evaluate
MAX_SOLVES = 6
MIN_SAVING = 1e-4  # of the cost: what is worth another evaluation
EXCESS_MARGIN = 1.02  # how much more than the excess is taken off delta before it is solved again
MIN_PROBABILITY = 1e-280  # probabilities below this are counted as a whole, on the safe side


def noisy_task(
    world: World, existing: Readout, target: Target, cells: int | None = None, pieces: Pieces | None = None
) -> NoisyTask:
    """The task of designing after a release with continuous noise; the solver sees it in so many cells."""
    if existing.curve is None:
        raise Unsupported("a design after this release", existing.why, "release one number with Gaussian noise")
    if target.reads != "data":
        raise Unsupported(
            f"a mechanism that reads {target.reads}", "the earlier outputs are continuous", "reads='data'"
        )
    if pieces is None:
        if existing.world.finite is not world:
            raise InvalidParameter("existing", existing, "a release of this same world")
        pieces = finite_pieces(world, existing)
        cells = QUICK_LAW_CELLS if cells is None else cells
    count = SLOW_LAW_CELLS if cells is None else checks.count("clusters", cells, least=1)
    plain = finished_task(world, world.release(), target, cells_of(pieces, count))
    fields = {name.name: getattr(plain, name.name) for name in attrs.fields(Task)}
    task = NoisyTask(**fields, pieces=pieces, curve=existing.curve)
    refuse_violated(task, existing.curve)
    return task


def finite_pieces(world: World, existing: Readout) -> Pieces:
    """Each value of the data with its own law of the noisy output."""
    laws = tuple(Mixture.of(Point.of(value)) for value in world.exact_values)
    reduced = attrs.evolve(existing.world, laws=laws).reduced(existing.readings)
    if not isinstance(reduced, tuple):
        raise Unsupported("a design after this release", "its outputs do not reduce to one number")
    parts = tuple(law.components[0] for law in reduced)
    (low, high), count = world.laws.masses, len(world.laws.low)
    known = low > MIN_PROBABILITY
    error = STATED + float(np.max((high[known] - low[known]) / low[known], initial=0.0))
    lost = float(np.where(known, 0.0, high).sum(axis=1).max())
    rows = np.where(known, world.laws.values, 0.0)
    return Pieces(tuple(rows), (np.arange(len(parts)),) * count, (parts,) * count, len(parts), error, lost)


def binned_pieces(world: ContinuousWorld, existing: Readout, edges: FloatArray) -> Pieces:
    """The law of the noisy output given the bin of the data, for normal mixtures and Gaussian noise."""
    line = existing.readings.direction()
    if line is None or not existing.readings.gaussian or world.dimension != 1:
        raise Unsupported("a design after this release", "it is written for Gaussian noise on one number")
    (factor, *_), factors = line
    precision = existing.readings.precision(factors)
    if precision is None:
        raise Unsupported("a design after this release", "it shows the data themselves")
    variance = 1 / (precision * factor**2)
    borders = [Fraction(float(edge)) if np.isfinite(edge) else None for edge in edges]
    rows, error, lost = [], STATED, 0.0
    for law in world.read([Fraction(1)]):
        row: list[tuple[float, int, Slice]] = []
        for weight, part in zip(law.weights, law.components, strict=True):
            if not isinstance(part, Normal):
                raise Unsupported("a design after this release", "the data are no mixture of normal laws")
            low, high = (weight * end for end in part.probability(edges[:-1], edges[1:]))
            known = low > MIN_PROBABILITY
            lost += float(high[~known].sum())
            for place in np.flatnonzero(known).tolist():
                seen = Slice.of(part.exact[0], part.exact[1], borders[place], borders[place + 1], variance)
                row.append((0.5 * (low[place] + high[place]), place, seen))
                error = max(error, STATED + float((high[place] - low[place]) / low[place]))
        chances, bins, slices = zip(*row, strict=True)
        rows.append((np.array(chances), np.array(bins), slices))
    weights, places, parts = zip(*rows, strict=True)
    return Pieces(weights, places, parts, edges.size - 1, error, lost)


def noisy_answer(
    task: NoisyTask, problem: Problem, found: Refined, bits: int, time_limit: float | None, options: dict[str, Any]
) -> tuple[Counts, Refined]:
    """A certified table: solved again with as much less delta as the cells hid, at last mixed with a constant."""
    started = time.perf_counter() - found.seconds
    asked, best, table, excess = problem.delta, found, counted(task.cheapest(), bits), 0.0

    def left() -> float | None:
        return None if time_limit is None else max(time_limit - (time.perf_counter() - started), 0.0)

    for _ in range(MAX_SOLVES):
        remaining = left()
        if remaining == 0.0:
            break
        table = counted(without_faint(best.channel), bits)
        excess = 0.0 if table.silent else task.excess(table.channel)
        if excess <= 0:
            break
        asked -= EXCESS_MARGIN * excess
        if asked <= 0:
            break
        try:
            best = refine(attrs.evolve(problem, delta=asked), time_limit=left(), **options)
        except Unreachable:  # the cells of the earlier release alone need more: mixing must do
            break
    if excess > 0:
        table = _mixed(task, table, excess, bits, left)
    if table.silent and left() != 0.0:  # the solver may have failed: from the best output of each input
        plain = counted(np.eye(task.weights.shape[2])[task.weights.sum(axis=0).argmin(axis=1)], bits)
        excess = 0.0 if plain.silent else task.excess(plain.channel)
        plain = plain if excess <= 0 else _mixed(task, plain, excess, bits, left)
        table = min(table, plain, key=lambda answer: task.price(answer.channel))
    rounds, seconds = found.rounds + best.rounds, time.perf_counter() - started
    return table, attrs.evolve(best, lower_bound=found.lower_bound, rounds=rounds, seconds=seconds)


def _mixed(task: NoisyTask, table: Counts, excess: float, bits: int, left: Callable[[], float | None]) -> Counts:
    """The table mixed with a constant: delta is convex along the way, and at its end that of the earlier release.

    So a share of excess/(excess + room) is enough; where that is much, less is tried by bisection.
    """
    room, step = task.delta - float(task.curve.delta(task.epsilon).upper), 2.0 ** -min(30, bits - 1)
    enough = min(excess / (excess + room) + step, 1.0) if room > 0 else 1.0
    answers = [counted(task.cheapest(), bits)]
    for constant in sorted(task.silent(table.channel), key=task.price):
        if left() == 0.0 and len(answers) > 1:
            break
        shares = [share for share in (enough, 2.0 * enough, 8.0 * enough) if share < 1.0]
        mixes = {share: counted((1.0 - share) * table.channel + share * constant, bits) for share in shares}
        high = next((share for share in shares if task.holds(mixes[share])), 1.0)
        saved = abs(task.price(constant) - task.price(table.channel))
        low, best = step, mixes.get(high, counted(constant, bits))
        while (high - low) * saved > MIN_SAVING * task.price(best.channel) and high > 1.1 * low and left() != 0.0:
            middle = math.sqrt(low * high)
            nearer = counted((1.0 - middle) * table.channel + middle * constant, bits)
            if task.holds(nearer):
                high, best = middle, nearer
            else:
                low = middle
        answers.append(best)
    return min(answers, key=lambda answer: task.price(answer.channel))
