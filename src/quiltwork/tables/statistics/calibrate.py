"""Noise for a whole plan: one budget shared among all statistics whose noise is `auto`.

Shares first (`sharing`): the sizes whose weighted relative errors are least, given every set of statistics that one
record can touch; Laplace noise for all of them where that errs less without any delta than Gaussian noise does with it.
Then one factor for all, found on the certified total of the plan, so that what is promised does not rest on the shares:
the certified epsilon at the target's delta is at most the target, whichever noise was chosen, and as near as the sizes'
digits allow.

Reference: theory/release.md section 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, Decimal
from statistics import NormalDist
from typing import Any, TypeVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import laplace
from quiltwork.errors import InvalidParameter, Unreachable
from quiltwork.mechanisms.noise import Auto, Gaussian, Laplace, Noise
from quiltwork.tables.cells.cells import Arrangement
from quiltwork.tables.notions.neighbors import Notion, add_remove
from quiltwork.tables.notions.sensitivity import on_input
from quiltwork.tables.query import Query
from quiltwork.tables.schema.predicates import Everything
from quiltwork.tables.schema.table import Table
from quiltwork.tables.statistics.price import Units, level, of_persons, rank_range
from quiltwork.tables.statistics.sharing import gaussian_shares, laplace_shares
from quiltwork.tables.statistics.statistic import Statistic, contribution

DIGITS = 6  # of the sizes that are chosen, rounded up
SHARED = 1e-4  # how near the best shares are, relative
MOST_ENTRIES = 100_000  # sets of groups times statistics, for which shares are worked out
NORMAL = NormalDist()
NEAR = 1e-4  # how much of the target may be left, relative
NEARLY = 1e-2  # the same where a size is only to be named
GRID = 1e-6  # of factors, relative: nearer ones have the same rounded sizes
TRIES = 60  # of factors
FARTHEST = 30.0  # log of a factor
Guaranteed = TypeVar("Guaranteed", bound=Any)


def shares(
    statistics: Sequence[Statistic], table: Table, neighbors: Notion, epsilon: float, delta: float
) -> list[Noise]:
    """Noise of every statistic, in proportion; fixed noises stay as they are."""
    asked = [one for one in statistics if isinstance(one.noise, Auto)]
    touched = _touched(asked, table)
    moves = [(one, column, table, neighbors) for one, column in zip(asked, touched.T, strict=True)]
    sums, roots = (np.array([_moves(*given, norm) for given in moves]) for norm in (1, 2))
    weights = np.array([one.noise.weight for one in asked if isinstance(one.noise, Auto)])
    farthest = sums.max(axis=1)
    pure = laplace_shares(sums.T, weights / farthest**2, epsilon, SHARED)
    noises: list[Noise] = [Laplace(float(size)) for size in pure.sizes]
    if delta > 0:
        alone = np.array([_laplace(one, neighbors) for one in asked])
        mixed = gaussian_shares(roots.T, weights / roots.max(axis=1) ** 2, gaussian_mu(epsilon, delta), SHARED)
        error = weights / farthest**2 @ (np.where(alone, 2, 1) * mixed.sizes**2)
        fixed = any(one.verb == "keys" or isinstance(one.noise, Gaussian) for one in statistics)
        if error < pure.error or fixed:
            noises = [
                Laplace(float(size)) if only else Gaussian(float(size))
                for only, size in zip(alone, mixed.sizes, strict=True)
            ]
    found = iter(noises)
    return [next(found) if isinstance(one.noise, Auto) else one.noise for one in statistics]


def _laplace(one: Statistic, neighbors: Notion) -> bool:
    """Whether it takes Laplace noise beside Gaussian, too."""
    return one.verb == "quantiles" or (one.verb == "keys" and contribution(neighbors) <= 2)


def _moves(one: Statistic, touched: FloatArray, table: Table, neighbors: Notion, norm: int) -> FloatArray:
    """By how much the groups of a statistic move together when so many of them are touched: in all, or as a root of
    squares.
    """
    records = contribution(neighbors)
    records = records if math.isfinite(records) else 1.0
    if of_persons(one, neighbors):  # one for each group or key that a person is in
        several = records if one.verb == "keys" else min(records, float(max(touched.max(), one.size(table))))
        return np.asarray(np.where(touched > 0, several ** (1 / norm), 0.0))
    moved = 1.0
    if one.verb in ("sum", "mean"):
        units = Units.of(one, table)
        moved = (units.farthest if one.verb == "sum" else units.width) / units.factor
    elif one.verb == "variance" and one.clip is not None:
        moved = (one.clip[1] - one.clip[0]) ** 2
    elif one.verb == "quantiles":
        ranges = [float(rank_range(level(q))) for q in one.q]
        moved = sum(ranges) if norm == 1 else math.hypot(*ranges) / 2  # of a bounded range e: e^2 / 8 concentrated
    return np.asarray(records * moved * touched ** (1 / norm))


def _touched(statistics: Sequence[Statistic], table: Table) -> FloatArray:
    """How many groups of each statistic one record touches, a row for every set of groups that some record can."""
    sample = [attrs.evolve(one, noise=Laplace(1.0), q=one.q[:1]) for one in statistics]
    made = [
        Query(f"{number}", laplace(1.0), on_input(add_remove()), Everything() if where is None else where)
        for number, one in enumerate(sample)
        for where in one.groups(table).values()
    ]
    cells = Arrangement.of(table, made).all_cells()
    if cells is None:  # too many to list: one record that touches everything
        return np.ones((1, len(sample)))
    sizes = [len(one.groups(table)) for one in sample]
    rows = np.add.reduceat(cells.touched, np.cumsum([0, *sizes[:-1]]), axis=1, dtype=float)
    rows = np.unique(rows, axis=0)
    if rows.size > MOST_ENTRIES:
        return np.asarray(np.maximum(rows.max(axis=0, keepdims=True), 1.0), dtype=float)
    untouched = rows.max(axis=0) == 0
    return np.vstack([rows, np.where(untouched, 1.0, 0.0)]) if untouched.any() else rows


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Nearly the largest mu that is (epsilon, delta), by halving; for shares alone."""
    low, high = 0.0, 2 * math.sqrt(epsilon) + epsilon + 40.0
    for _ in range(60):
        mu = (low + high) / 2
        above, below = NORMAL.cdf(-epsilon / mu + mu / 2), NORMAL.cdf(-epsilon / mu - mu / 2)
        fits = above - math.exp(min(epsilon, 700.0)) * below <= delta
        low, high = (mu, high) if fits else (low, mu)
    return max(low, 1e-6)


def times(noises: Sequence[Noise], statistics: Sequence[Statistic], factor: float) -> list[Statistic]:
    """Every automatic noise so many times its share, rounded up to a few digits."""
    return [
        one
        if isinstance(noise, Auto) or not isinstance(one.noise, Auto)
        else attrs.evolve(one, noise=type(noise)(_rounded(noise.size * factor)))
        for one, noise in zip(statistics, noises, strict=True)
    ]


def _rounded(size: float) -> float:
    exact = Decimal(repr(size))
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - DIGITS + 1), rounding=ROUND_CEILING))


def calibrated(
    statistics: Sequence[Statistic],
    table: Table,
    neighbors: Notion,
    guarantee: Callable[[Sequence[Statistic]], Guaranteed],
    epsilon: Any,
    delta: Any,
) -> list[Statistic]:
    """The statistics with every automatic noise chosen; `guarantee` is that of the whole plan with such statistics."""
    epsilon, delta = checks.moderate("epsilon", epsilon), checks.probability("delta", delta)
    if all(one.ready for one in statistics):
        raise InvalidParameter("noise", "chosen already", "auto() for at least one statistic", "nothing to calibrate")

    def cost(asked: Sequence[Statistic]) -> float:
        """At the default width, at which it will be asked for again."""
        return float(guarantee(asked).epsilon(delta).upper)

    fixed = [one for one in statistics if one.ready]
    if not cost(fixed) <= epsilon:
        names = ", ".join(one.name for one in fixed) or "the stated losses"
        raise Unreachable(f"epsilon {epsilon!r} at delta {delta!r}", f"a plan with {names}, which costs more by itself")
    noises = shares(statistics, table, neighbors, epsilon, delta)
    factor = _least_factor(lambda f: cost(times(noises, statistics, f)) / epsilon)
    if factor is None:
        raise Unreachable(f"epsilon {epsilon!r} at delta {delta!r}", "any size of the noise that is to be chosen")
    return times(noises, statistics, factor)


def scaled(
    statistics: Sequence[Statistic], guarantee: Callable[[Sequence[Statistic]], Guaranteed], epsilon: Any, delta: Any
) -> list[Statistic]:
    """The statistics with one factor on every noise, so that the whole costs at most the target, or a little less."""
    epsilon, delta = checks.moderate("epsilon", epsilon), checks.probability("delta", delta)
    noises, asked = [one.noise for one in statistics], [attrs.evolve(one, noise=Auto(1.0)) for one in statistics]

    def spent(asked: Sequence[Statistic]) -> float:
        share: float = float(guarantee(asked).epsilon(delta).upper) / epsilon
        return share

    factor = None
    if spent([]) <= 1 and math.isfinite(spent(statistics)):  # an infinite loss is infinite for every size of the noise
        factor = _least_factor(lambda f: spent(times(noises, asked, f)), NEARLY)
    if factor is None:
        raise Unreachable(f"epsilon {epsilon!r} at delta {delta!r}", "any multiple of the noise of this plan")
    return times(noises, asked, factor)


def _least_factor(spent: Callable[[float], float], near: float = NEAR) -> float | None:
    """The least factor that was found at which at most 1 is spent; what it leaves is at most `near`, where that exists.

    Shares are nearly right, and epsilon falls about as one over the factor: the next try is this factor times what it
    spends, later the secant, within what is known to be too little and enough, and otherwise the middle.
    """
    few, enough = -math.inf, math.inf  # logs of factors
    here = 0.0
    before: tuple[float, float] | None = None  # the last try, with the log of what it spends
    for _ in range(TRIES):
        value = spent(math.exp(here))
        over = math.log(max(value, 1e-300))
        if value <= 1:
            enough = min(enough, here)
        else:
            few = max(few, here)
        if (value <= 1 and over >= -near) or enough - few <= GRID:
            break
        slope = -1.0
        if before is not None and math.isfinite(over + before[1]) and here != before[0]:
            slope = min((over - before[1]) / (here - before[0]), -0.05)
        before = here, over
        guess = here + ((-near / 4 - over) / slope if math.isfinite(over) else 2.0)
        if math.isinf(enough):
            here = min(max(guess, few + GRID), few + 3.0)
        elif math.isinf(few):
            here = max(min(guess, enough - GRID), enough - 3.0)
        else:
            here = guess if few < guess < enough else (few + enough) / 2
        if abs(here) > FARTHEST:
            break
    return None if math.isinf(enough) else math.exp(enough)
