"""Tasks after releases with continuous noise: on finite data, and on continuous data that are read in bins.

Reference: theory/confounding.md section 4, scaling (iv) and (v).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.certificate import Counts, counted, without_faint
from quiltwork.confounding.components import Mixture, Normal, Point
from quiltwork.confounding.laws import Laws
from quiltwork.confounding.noisy_task import NoisyTask, Pieces, cells_of
from quiltwork.confounding.readout import Readout
from quiltwork.confounding.refine import Refined, refine
from quiltwork.confounding.task import Target, Task, finished_task, refuse_violated, split_options
from quiltwork.curves.rounding import UNIT
from quiltwork.errors import InvalidParameter, Unreachable, Unsupported

if TYPE_CHECKING:
    from quiltwork.confounding.continuous import ContinuousWorld
    from quiltwork.confounding.design import Design
    from quiltwork.confounding.problem import Problem
    from quiltwork.confounding.world import World

__all__ = ["binned_pieces", "binned_table", "noisy_answer", "noisy_task"]

CELLS, FINE = 256, 1024  # of the line for the solver: of laws that are slow, or quick, to evaluate
ROUNDS = 6
WORTH = 1e-4  # of the cost: what is worth another evaluation
MARGIN = 1.02  # how much more than the excess is taken off delta before it is solved again
STATED = 64.0 * UNIT
FAINT = 1e-280  # probabilities below this are counted as a whole, on the safe side


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
        cells = FINE if cells is None else cells
    count = CELLS if cells is None else checks.count("clusters", cells, least=1)
    plain = finished_task(world, world.release(), target, cells_of(pieces, count))
    fields = {name.name: getattr(plain, name.name) for name in attrs.fields(Task)}
    task = NoisyTask(**fields, pieces=pieces, curve=existing.curve)
    refuse_violated(task, existing.curve)
    return task


def finite_pieces(world: World, existing: Readout) -> Pieces:
    """Each value of the data with its own law of the noisy output."""
    alone = attrs.evolve(
        existing.world, laws=tuple(Mixture.of(Point.of(value)) for value in world.exact_values)
    )  # fmt: skip
    reduced = alone.reduced(existing.readings)
    if not isinstance(reduced, tuple):
        raise Unsupported("a design after this release", "its outputs do not reduce to one number")
    parts = tuple(law.components[0] for law in reduced)
    (low, high), count = world.laws.masses, len(world.laws.low)
    known = low > FAINT
    error = STATED + float(np.max((high[known] - low[known]) / low[known], initial=0.0))
    lost = float(np.where(known, 0.0, high).sum(axis=1).max())
    rows = np.where(known, world.laws.values, 0.0)
    return Pieces(tuple(rows), (np.arange(len(parts)),) * count, (parts,) * count, len(parts), error, lost)


def binned_table(world: ContinuousWorld, edges: FloatArray) -> Laws:
    """P(bin | secret) from both sides."""
    low, high = np.zeros((world.count, edges.size - 1)), np.zeros((world.count, edges.size - 1))
    for row, law in enumerate(world.read([Fraction(1)])):
        for weight, part in zip(law.weights, law.components, strict=True):
            ends = part.probability(edges[:-1], edges[1:])
            low[row] += weight * ends[0]
            high[row] += weight * ends[1]
    slack = STATED + 4.0 * UNIT * max(len(law.weights) for law in world.read([Fraction(1)]))
    return Laws(low * (1.0 - slack), np.where(high > 0, high * (1.0 + slack), 0.0))


def binned_pieces(world: ContinuousWorld, existing: Readout, edges: FloatArray) -> Pieces:
    """The law of the noisy output given the bin of the data, for normal mixtures and Gaussian noise."""
    from quiltwork.confounding.slices import Slice

    line = existing.readings.direction()
    if line is None or not existing.readings.gaussian or world.dimension != 1:
        raise Unsupported("a design after this release", "it is written for Gaussian noise on one number")
    (factor, *_), factors = line
    precision = existing.readings.precision(factors)
    if precision is None:
        raise Unsupported("a design after this release", "it shows the data themselves")
    variance = 1 / (precision * factor**2)
    borders = [Fraction(float(edge)) if np.isfinite(edge) else None for edge in edges]
    weights, places, parts, error, lost = [], [], [], STATED, 0.0
    for law in world.read([Fraction(1)]):
        row: list[tuple[float, int, Any]] = []
        for weight, part in zip(law.weights, law.components, strict=True):
            if not isinstance(part, Normal):
                raise Unsupported("a design after this release", "the data are no mixture of normal laws")
            low, high = (weight * end for end in part.probability(edges[:-1], edges[1:]))
            known = low > FAINT
            lost += float(high[~known].sum())
            for place in np.flatnonzero(known).tolist():
                middle = 0.5 * (low[place] + high[place])
                row.append(
                    (
                        middle,
                        place,
                        Slice.of(part.exact[0], part.exact[1], borders[place], borders[place + 1], variance),
                    )
                )
                error = max(error, STATED + float((high[place] - low[place]) / low[place]))
        weights.append(np.array([entry[0] for entry in row]))
        places.append(np.array([entry[1] for entry in row]))
        parts.append(tuple(entry[2] for entry in row))
    return Pieces(tuple(weights), tuple(places), tuple(parts), edges.size - 1, error, lost)


def checked_edges(edges: Any) -> FloatArray:
    """Borders of bins, in order; the outer bins reach to infinity."""
    inner = checks.numbers("edges", edges, "finite numbers in rising order", -1e100, 1e100)
    if inner.ndim != 1 or not bool(np.all(np.diff(inner) > 0)):
        raise InvalidParameter("edges", edges, "finite numbers in rising order")
    return np.concatenate([[-np.inf], inner, [np.inf]])


def middles(edges: FloatArray) -> list[float]:
    """A number for each bin: its middle, and for the outer two as far beyond the border as their neighbours reach."""
    inner = edges[1:-1]
    if inner.size == 1:
        return [float(inner[0]) - 0.5, float(inner[0]) + 0.5]
    half = 0.5 * np.diff(inner)
    ends = [inner[0] - half[0]], inner[:-1] + half, [inner[-1] + half[-1]]
    return [float(value) for value in np.concatenate(ends)]


def binned_design(
    world: ContinuousWorld, existing: Readout | None, edges: Any, values: Any, options: dict[str, Any]
) -> Design:
    """A mechanism that reads the bin of continuous data, after a release with Gaussian noise or after nothing."""
    from quiltwork.confounding.design import design, searched

    finite = world.binned(edges, values=values)
    if existing is None:
        return design(finite, None, **options)
    if existing.world is not world:
        raise InvalidParameter("existing", existing, "a release of this same world")
    target, search = split_options(options)
    pieces = binned_pieces(world, existing, checked_edges(edges))
    return searched(noisy_task(finite, existing, target, search.get("clusters"), pieces), **search)


def noisy_answer(
    task: NoisyTask, problem: Problem, found: Refined, bits: int, time_limit: float | None, options: dict[str, Any]
) -> tuple[Counts, Refined]:
    """A certified table: solved again with as much less delta as the cells hid, at last mixed with a constant."""
    started = time.perf_counter() - found.seconds
    asked, best, table, excess = problem.delta, found, counted(task.cheapest(), bits), 0.0

    def left() -> float | None:
        return None if time_limit is None else max(time_limit - (time.perf_counter() - started), 0.0)

    for _ in range(ROUNDS):
        remaining = left()
        if remaining == 0.0:
            break
        table = counted(without_faint(best.channel), bits)
        excess = 0.0 if table.silent else task.excess(table.channel)
        if excess <= 0:
            break
        asked -= MARGIN * excess
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


def _mixed(
    task: NoisyTask, table: Counts, excess: float, bits: int, left: Callable[[], float | None]
) -> Counts:  # fmt: skip
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
        while (high - low) * saved > WORTH * task.price(best.channel) and high > 1.1 * low and left() != 0.0:
            middle = math.sqrt(low * high)
            nearer = counted((1.0 - middle) * table.channel + middle * constant, bits)
            if task.holds(nearer):
                high, best = middle, nearer
            else:
                low = middle
        answers.append(best)
    return min(answers, key=lambda answer: task.price(answer.channel))
