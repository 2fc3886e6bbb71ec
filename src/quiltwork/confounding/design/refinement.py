"""The cheapest next release, by sign-consistent partition refinement.

For every pair p and new output z the old outputs y are kept in cells, with one hinge for each cell in place of one
for each y.  Since (a + b)_+ <= a_+ + b_+ this relaxes the problem, and its optimum is a lower bound.  Every cell in
which the current answer has both signs is split by that sign; without such a cell the relaxed hinges are the true
ones and the answer is optimal.  At every moment there is a feasible channel: delta is convex in the channel, so a
mixture with a constant one meets the target.

Neither side trusts the solver: the upper side evaluates `problem.deltas` of the channel that is returned, the lower
side evaluates a dual point (`lower_bound`), in floats, less their stated rounding.

Reference: theory/confounding.md section 4.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable

import attrs
import numpy as np

from quiltwork.checks import FloatArray, non_negative
from quiltwork.confounding.design.program import Answer, Problem, Program
from quiltwork.errors import Unreachable
from quiltwork.numbers.rounding import UNIT
from quiltwork.progress import Progress

Report = Callable[[int, float, float, int], None]  # round, lower, upper, cells

ZERO_COST = 1e-6  # costs this far below the largest possible one count as zero in the relative gap
EXACT, ROUNDING = 1e-12, 1e-9  # a share of repair, and a part of the largest cost, that are put down to rounding
NEGLIGIBLE = 1e-17  # a hinge that a cell hides is not worth a split below this
MIN_SPLIT_SHARE = 1e-3  # nor below this part of the largest: measured, as many rounds with 4 to 9 % fewer cells
NEWTON_STEPS = 60  # for one pair; a handful is usual
NUDGES = (0.0, *(4e-16 * 32.0**k for k in range(9)))  # added to a share until the plain floats agree


@attrs.frozen(eq=False)
class Refined:
    """A feasible channel, its cost, and a cost that no feasible channel undercuts."""

    channel: FloatArray  # (X, Z)
    cost: float
    lower_bound: float
    rounds: int
    cells: int
    finished: bool  # the gap is closed, or no cell is left to split
    seconds: float


def reporter(progress: Progress | None, gap: float) -> Report | None:
    """What `refine` reports, as progress: how far the gap has closed, which goes about evenly in logarithms."""
    if progress is None:
        return None
    first: list[float] = []

    def report(rounds: int, lower: float, upper: float, cells: int) -> None:
        now = (upper - lower) / max(abs(upper), sys.float_info.min) if math.isfinite(upper - lower) else math.inf
        first.append(now)
        words = f"designing: round {rounds}, {cells} cells, cost {lower:.5g} to {upper:.5g}"
        progress(round(100.0 * closed_share(first[0], now, gap)), 100, words)

    return report


def closed_share(first: float, now: float, gap: float) -> float:
    """The share of the way from the first gap to the wanted one, in logarithms.

    >>> closed_share(1e-1, 1e-2, 1e-3), closed_share(1e-1, 1e-4, 1e-3), closed_share(math.inf, 1.0, 1e-3)
    (0.5, 1.0, 0.0)
    """
    if not math.isfinite(first) or not math.isfinite(now):
        return 0.0
    least = max(gap, 1e-15)
    if now <= least:
        return 1.0
    return max(0.0, math.log(first / now) / math.log(first / least)) if first > now else 0.0


def refine(
    problem: Problem,
    *,
    gap: float = 1e-6,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Refined:
    """Refine until (cost - lower bound) <= gap * cost, nothing is left to split, or the time is over.

    The returned channel satisfies problem.deltas(channel).max() <= problem.delta in plain floats; where the constant
    channel itself misses the target by no more than rounding, its value takes the place of the target.
    `report(round, lower, upper, cells)` is called after every round.
    """
    started = time.perf_counter()
    gap = non_negative("gap", gap)
    if time_limit is not None:
        time_limit = non_negative("time_limit", time_limit)
    limit = _limit(problem)
    channel = problem.constant()
    upper, lower = problem.cost(channel), _plain_bound(problem)
    size = float(np.abs(problem.weights).max(axis=2).sum(axis=1).max())
    partition: _Partition | None = None
    rounds, finished = 0, False

    def remaining() -> float | None:
        return None if time_limit is None else time_limit - (time.perf_counter() - started)

    def closed() -> bool:
        return upper - lower <= gap * max(abs(upper), ZERO_COST * size)

    while not (finished := closed()):
        left = remaining()
        if left is not None and left <= 0:
            break
        if partition is None:
            partition = _Partition(problem)
        answer = partition.program.solve(left)
        if answer is None:
            break
        rounds += 1
        lower = max(lower, lower_bound(problem, partition.labels, answer))
        seen = _seen(problem, answer.channel)
        mixed, share = _repaired(problem, answer.channel, seen, limit, upper)
        if mixed is not None:
            channel, upper = mixed, problem.cost(mixed)
        if report is not None:
            report(rounds, lower, upper, partition.program.size)
        if not answer.optimal:
            finished = closed()
            break
        # an optimum of the relaxed program that needs no repair is one of the problem: only rounding is left
        settled = share <= EXACT and upper - lower <= ROUNDING * size
        if finished := closed() or settled or not partition.split(seen):
            break
    cells = 0 if partition is None else partition.program.size
    return Refined(channel, upper, lower, rounds, cells, finished, time.perf_counter() - started)


class _Partition:
    """labels[p, z, y]: the number of the cell of y, and the program with one hinge for each cell."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.program = problem, Program(problem)
        outputs, old = problem.outputs, problem.joint.shape[2]
        self.labels = np.empty((len(problem.pairs), outputs, old), dtype=np.int32)
        mass = problem.joint.sum(axis=1)
        for p, (first, second) in enumerate(problem.pairs):
            # the signs that a constant channel shows
            positive = mass[first] - problem.odds * mass[second] > 0
            for side in (positive, ~positive):
                if side.any():
                    members = np.broadcast_to(side, (outputs, old))
                    self._cut(p, np.arange(outputs), members, np.full(outputs, -1))

    def split(self, seen: list[FloatArray]) -> int:
        """Split the cells with both signs under what the current channel shows; how many were split."""
        size = self.program.size
        hidden, found = np.zeros(size), []
        for labels, (first, second) in zip(self.labels, self.problem.pairs, strict=True):
            values = seen[first] - self.problem.odds * seen[second]
            cells, flat = labels.ravel(), values.ravel()
            above = np.bincount(cells, np.maximum(flat, 0.0), size)
            below = np.bincount(cells, np.maximum(-flat, 0.0), size)
            hidden += np.minimum(above, below)
            found.append(values > 0)
        split = hidden > max(NEGLIGIBLE, MIN_SPLIT_SHARE * hidden.max(initial=0.0))
        for p, positive in enumerate(found):
            moved = positive & split[self.labels[p]]
            outputs, old = np.nonzero(moved)
            parents, index = np.unique(self.labels[p][outputs, old], return_inverse=True)
            if len(parents):
                members = np.zeros((len(parents), moved.shape[1]), dtype=bool)
                members[index, old] = True
                where = np.empty(len(parents), dtype=int)
                where[index] = outputs
                self._cut(p, where, members, parents)
        return int(split.sum())

    def _cut(self, pair: int, outputs: np.ndarray, members: np.ndarray, parents: np.ndarray) -> None:
        first, second = self.problem.pairs[pair]
        chosen = members.T.astype(float)
        gained, lost = self.problem.joint[first] @ chosen, self.problem.odds * (self.problem.joint[second] @ chosen)
        sums, sizes = (gained - lost).T, (gained + lost).max(axis=0)
        numbers = self.program.cut(np.full(len(outputs), pair), outputs, sums, sizes, parents)
        for output, member, number in zip(outputs, members, numbers, strict=True):
            self.labels[pair, output, member] = number


def lower_bound(problem: Problem, labels: np.ndarray, answer: Answer) -> float:
    """A cost that no feasible channel undercuts, from prices of the cells and of the priors.

    Let nu[p, z, y] >= 0, mu_p = max nu[p, ., .] and lambda in the simplex.  For a feasible g, with v[p, y, z] for
    what the hinges see and a[p, y, x] = M[i, x, y] - odds M[j, x, y],

        max_t cost_t(g) >= sum_t lambda_t cost_t(g) + sum_p mu_p (sum_yz v_+[p, y, z] - delta)
                        >= sum_xz g[x, z] (sum_t lambda_t w[t, x, z] + sum_py nu[p, z, y] a[p, y, x]) - delta sum_p mu_p
                        >= sum_x min_z (the bracket) - delta sum_p mu_p,

    since the second sum of the first line is not positive, mu v_+ >= nu v, and each g[x, .] is a law.  Prices of cells
    are the case of nu constant on each; nothing is asked of the partition or of the solver that proposed them.

    Rounding: every product passes at most n = T + P + R + X + Y + 16 roundings, so the floats are off by at most
    n u / (1 - n u) times the same expression with absolute values; 2 n u times a float of it is subtracted.
    """
    weights, joint, odds = problem.weights, problem.joint, problem.odds
    budget = 0.0
    bracket = np.tensordot(answer.priors, weights, axes=1)
    size = np.tensordot(answer.priors, np.abs(weights), axes=1).max(axis=1)
    prices = np.zeros((len(joint), problem.outputs, joint.shape[2]))
    tops = np.zeros((len(joint), joint.shape[2]))
    for p, (first, second) in enumerate(problem.pairs):
        each = np.maximum(answer.cells, 0.0)[labels[p]]
        top = each.max(axis=0)
        budget += problem.delta * float(top.max())
        prices[first] += each
        tops[first] += top
        prices[second] -= odds * each
        tops[second] += odds * top
    for row, price, top in zip(joint, prices, tops, strict=True):
        bracket = bracket + row @ price.T
        size = size + row @ top
    n = len(weights) + len(problem.pairs) + sum(joint.shape) + 16
    return float(bracket.min(axis=1).sum() - budget - 2 * n * UNIT * (size.sum() + budget))


def _plain_bound(problem: Problem) -> float:
    """The bound without any price on privacy, the best over the priors."""
    n = problem.inputs + 1
    least, size = problem.weights.min(axis=2).sum(axis=1), np.abs(problem.weights).max(axis=2).sum(axis=1)
    return float((least - 2 * n * UNIT * size).max())


def _limit(problem: Problem) -> float:
    """The target, or what the constant channel shows when only rounding lies between."""
    shown = float(problem.deltas(problem.constant()).max(initial=0.0))
    if shown > problem.delta + (problem.inputs + 64) * 2 * UNIT * (1 + problem.odds):
        raise Unreachable(
            f"delta {problem.delta!r} at odds {problem.odds!r}",
            "all channels",
            f"what was released before already has delta {shown!r}, and nothing added to it can take that back",
        )
    return max(problem.delta, shown)


def _seen(problem: Problem, channel: FloatArray) -> list[FloatArray]:
    """For each row its (Z, Y) law of the new and the old outputs."""
    turned = np.ascontiguousarray(channel.T)
    return [turned @ row for row in problem.joint]


def _repaired(
    problem: Problem, channel: FloatArray, seen: list[FloatArray], limit: float, upper: float
) -> tuple[FloatArray | None, float]:
    """The cheapest mixture with a constant channel that meets the limit and costs less than `upper`, and its share.

    Two constants are tried: the channel's own law of outputs, which moves every new output towards the ratios of the
    constant and so repairs delta = 0 too, and the cheapest single output.
    """
    law = problem.joint.sum(axis=2).mean(axis=0) @ channel
    best, least = None, 1.0
    for constant in (law / law.sum(), problem.constant()[0]):
        share = _share(problem, channel, seen, constant, limit, upper)
        if share is None:
            continue
        for nudge in NUDGES:
            candidate = _mixed(channel, constant, min(share + nudge, 1.0))
            cost = problem.cost(candidate)
            if cost >= upper:
                break
            if problem.deltas(candidate).max(initial=0.0) <= limit:
                best, upper, least = candidate, cost, share + nudge
                break
    return best, least


def _share(
    problem: Problem, channel: FloatArray, seen: list[FloatArray], constant: FloatArray, limit: float, upper: float
) -> float | None:
    """The least share of the constant at which every pair meets the limit; None once that costs no less than `upper`.

    Along the mixture each delta is convex, so Newton steps from the side where it is too large never pass the root.
    """
    mass = problem.joint.sum(axis=1)
    share = 0.0
    for first, second in problem.pairs:
        start = seen[first] - problem.odds * seen[second]
        end = constant[:, None] * (mass[first] - problem.odds * mass[second])
        able = (start > 0) | (end > 0)
        start, slope = start[able], (end - start)[able]
        for _ in range(NEWTON_STEPS):
            value = start + share * slope
            positive = value > 0
            excess, fall = float(value[positive].sum()) - limit, -float(slope[positive].sum())
            if excess <= 0 or fall <= 0 or share + excess / fall <= share:
                break
            share += excess / fall
            if share >= 1 or problem.cost(_mixed(channel, constant, share)) >= upper:
                return None
    return share


def _mixed(channel: FloatArray, constant: FloatArray, share: float) -> FloatArray:
    return (1.0 - share) * channel + share * constant
