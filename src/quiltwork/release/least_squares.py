"""Totals that add up: published counts and sums moved as little as possible until the parts of a whole make the whole.

Every number y_q is a sum of unknown cells plus noise of known size. The least squares fit, each number weighted by one
over its noise variance, is post-processing: it looks at published numbers alone and costs nothing. Fits are also nearer
to the truth, in mean square, than the numbers themselves. With `nonnegative` no cell is below zero, which moves small
numbers upward on average. Intervals stay those of the numbers as they were drawn.

Reference: theory/release.md section 9 (post-processing).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.mechanisms.noise import Laplace
from quiltwork.release.classes import MOST_CELLS, Classes
from quiltwork.release.released import Released
from quiltwork.release.run import plan_hash
from quiltwork.tables.schema.columns import BoolArray
from quiltwork.tables.schema.table import Table
from quiltwork.tables.statistics.statistic import Statistic

if TYPE_CHECKING:
    from quiltwork.tables.plan import Plan

MOST_NUMBERS = 2000  # of one family, fitted together
SAID = (
    "The column `consistent` is post-processing: counts and sums moved as little as noise allows, so that parts add up"
)


def consistent(released: Released, plan: Plan, *, nonnegative: bool = False) -> Released:
    """The same numbers with a column `consistent`: counts and sums in which parts add up to their whole.

    Post-processing of published numbers by least squares, which costs nothing; None for what does not add up,
    such as quantiles. `nonnegative`: no cell is below zero, which moves small numbers upward on average.
    """
    if released.plan_hash != plan_hash(plan):
        raise InvalidParameter("plan", plan, "the plan that was released", "its numbers stand for other records")
    nonnegative = checks.flag("nonnegative", nonnegative)
    fitted: dict[int, float] = {}
    for family in _families(plan.statistics):
        places = [place for one in family for place, row in enumerate(released.rows) if row["query"] == one.name]
        values = np.array([float(released.rows[place]["value"]) for place in places])
        least = nonnegative and all(one.verb == "count" or (one.clip or (0.0,))[0] >= 0 for one in family)
        fitted |= dict(zip(places, _fit(family, plan.table, values, nonnegative=least), strict=True))
    rows = tuple({**row, "consistent": fitted.get(place)} for place, row in enumerate(released.rows))
    words = (
        f"{SAID}{', and no cell is below zero' if nonnegative else ''}. Intervals are those of the numbers as drawn."
    )
    return attrs.evolve(released, rows=rows, words=(*released.words, words))


def _families(statistics: Sequence[Statistic]) -> Iterator[list[Statistic]]:
    """Counts together, and sums of the same values."""
    adding = [one for one in statistics if one.verb in ("count", "sum")]
    key = [(one.verb, str(one.of), one.clip or ()) for one in adding]
    for _, group in itertools.groupby(sorted(zip(key, range(len(adding)), strict=True)), lambda pair: pair[0]):
        yield [adding[place] for _, place in group]


def _fit(family: list[Statistic], table: Table, values: FloatArray, *, nonnegative: bool) -> list[float]:
    """The least squares fit of the numbers of a family, as a sum over cells for each number."""
    sets = _patterns(family, table)
    sizes = [one.noise.size * (2**0.5 if isinstance(one.noise, Laplace) else 1) for one in family]  # type: ignore[union-attr]
    weights = 1 / np.repeat(sizes, [len(one.groups(table)) for one in family])
    design = sets * weights[:, None]
    if nonnegative:
        from scipy.optimize import nnls

        cells: FloatArray = np.asarray(nnls(design, values * weights, maxiter=30 * sets.shape[1] + 100)[0])
    else:
        cells = np.asarray(np.linalg.lstsq(design, values * weights, rcond=None)[0], dtype=float)
    return [float(value) for value in sets @ cells]


def _patterns(family: list[Statistic], table: Table) -> FloatArray:
    """Which numbers a cell is part of: a column for each set of numbers that some record can be in."""
    wheres = [where for one in family for where in one.groups(table).values()]
    classes = Classes.of(table, wheres)
    if len(wheres) > MOST_NUMBERS or classes.cells > MOST_CELLS:
        raise Unsupported(
            f"a fit of {len(wheres):,} numbers on {classes.cells:,} cells",
            f"at most {MOST_NUMBERS:,} numbers on {MOST_CELLS:,} cells are fitted", "make plans of fewer groups",
        )  # fmt: skip
    cells = classes.spread(np.arange(classes.cells))
    there: BoolArray = np.ones(cells.size, dtype=bool)
    for axis, pick in zip(classes.axes, cells.picks, strict=True):
        if not getattr(table.columns[axis.column], "nullable", False):
            there &= pick > 0  # such records are left out
    touched = np.array([cells.kept(where)[there] for where in wheres])
    found = np.unique(touched, axis=1)
    return found[:, found.any(axis=0)].astype(float)
