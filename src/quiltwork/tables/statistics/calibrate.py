"""Noise for a whole plan: one budget shared among all statistics whose noise is `auto`.

Shares first: with precisions x = 1 / sigma^2 the weighted relative errors are least where sigma_i^2 is proportional to
A_i / sqrt(w_i) (Gaussian), scale_i to (A_i / w_i)^(1/3) (Laplace), A_i what one record moves. Then one factor for all
of them, found on the certified total of the plan, so that what is promised does not rest on the shares.

Reference: theory/release.md section 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import Any, TypeVar

import attrs

from quiltwork import checks
from quiltwork.compose.calibrate import calibrate
from quiltwork.errors import InvalidParameter, Unreachable
from quiltwork.mechanisms.noise import Auto, Gaussian, Laplace, Noise
from quiltwork.tables.notions.neighbors import Notion
from quiltwork.tables.schema.table import Table
from quiltwork.tables.statistics.price import Units, of_persons
from quiltwork.tables.statistics.statistic import Statistic, contribution

DIGITS = 3  # of the sizes that are chosen, rounded up
TRIES = 60  # of factors a little larger, until the rounded sizes keep the target
Guaranteed = TypeVar("Guaranteed", bound=Any)


def shares(statistics: Sequence[Statistic], table: Table, neighbors: Notion, *, pure: bool) -> list[Noise]:
    """Noise of every statistic, in proportion; fixed noises stay as they are."""
    return [
        _share(one, table, neighbors, pure=pure) if isinstance(one.noise, Auto) else one.noise for one in statistics
    ]


def _share(one: Statistic, table: Table, neighbors: Notion, *, pure: bool) -> Noise:
    moved = 1.0
    if one.verb in ("sum", "mean"):
        units = Units.of(one, table)
        moved = (units.farthest if one.verb == "sum" else units.width) / units.factor
    elif one.verb == "quantiles":
        moved = float(len(one.q))
    if not of_persons(one, neighbors):
        records = contribution(neighbors)
        moved *= records if math.isfinite(records) else 1.0
    weight = one.noise.weight if isinstance(one.noise, Auto) else 1.0
    laplace = pure or one.verb == "quantiles" or (one.verb == "keys" and contribution(neighbors) <= 2)
    return Laplace(moved / weight ** (1 / 3)) if laplace else Gaussian(moved / weight ** (1 / 4))


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
    fixed = [one for one in statistics if one.ready]
    if not float(guarantee(fixed).epsilon(delta).upper) <= epsilon:
        names = ", ".join(one.name for one in fixed) or "the stated losses"
        raise Unreachable(f"epsilon {epsilon!r} at delta {delta!r}", f"a plan with {names}, which costs more by itself")
    noises = shares(statistics, table, neighbors, pure=delta == 0)
    start = 1.0 / epsilon if delta == 0 else math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    factor = calibrate(lambda f: guarantee(times(noises, statistics, f)), epsilon, delta, start=start, tolerance=1e-4)
    for _ in range(TRIES):
        found = times(noises, statistics, factor)
        if float(guarantee(found).epsilon(delta).upper) <= epsilon:
            return found
        factor *= 1.002
    raise Unreachable(f"epsilon {epsilon!r} at delta {delta!r}", "noises up to an eighth above the least")
