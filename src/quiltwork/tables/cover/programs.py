"""What HiGHS suggests for a cover: prices from the linear program, a bound and a choice from the integer program.

Reference: theory/granularity.md section 4 item 4.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quiltwork.tables.cover.problem import Problem

TOLERANCE = 1e-6  # for each query and each record: ten times the dual feasibility tolerance of HiGHS
NEAR_SIMPLE_SHARE = Fraction(1, 10**7)  # a share this near to a simple one is taken for it


class _Program(NamedTuple):
    """Least costs @ x for 0 <= x <= most and matrix @ x <= limits, where x holds z, then y."""

    costs: NDArray[np.float64]
    matrix: Any
    limits: NDArray[np.float64]
    most: NDArray[np.float64]
    scale: Fraction  # the cost that counts as 1


def _program(given: Problem) -> _Program:
    """z_i, the share of query i that counts as met, is at most the sum of y_c over the cells that touch it.

    The sum of y is at most `records`, and in each group at most its capacity.
    """
    from scipy.sparse import block_array, coo_array, csr_array, eye_array

    cells, queries = given.touched.shape
    top = max((*given.reward, *given.rent)) or 1
    group = np.array(given.group, dtype=np.intp)
    members = coo_array((np.ones(cells), (group, np.arange(cells))), shape=(len(given.capacity), cells))
    blocks: Any = [
        [eye_array(queries), -csr_array(given.touched.T.astype(float))],
        [None, members],
        [None, coo_array(np.ones((1, cells)))],
    ]
    held = np.array(given.capacity, dtype=float)
    return _Program(
        costs=-np.array([value / top for value in (*given.reward, *given.rent)]),
        matrix=block_array(blocks, format="csr"),
        limits=np.array([*np.zeros(queries), *held, given.records]),
        most=np.concatenate([np.ones(queries), np.minimum(held[group], given.records)]),
        scale=top * given.step,
    )


def suggested_prices(given: Problem, seconds: float) -> list[Fraction] | None:
    """Prices from the linear program; None when the solver fails.

    Any prices >= 0 prove a bound, so nothing that the solver says of itself is relied upon.
    """
    from scipy.optimize import linprog

    program = _program(given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result: Any = linprog(
            program.costs,
            A_ub=program.matrix,
            b_ub=program.limits,
            bounds=[(0.0, most) for most in program.most.tolist()],
            method="highs",
            options={"time_limit": seconds},
        )
    marginals = getattr(result.get("ineqlin"), "marginals", None)
    if marginals is None or np.size(marginals) != program.limits.size or not np.all(np.isfinite(marginals)):
        return None
    scaled = np.maximum(0.0, -np.asarray(marginals, dtype=float)[: len(given.reward)])
    return [Fraction(price) * program.scale for price in scaled.tolist()]


def neat_prices(given: Problem, prices: Sequence[Fraction]) -> list[Fraction]:
    """The same prices, those near a simple share of their reward moved to it: what a solver rounded is exact again."""
    return [_neat(price, reward * given.step) for price, reward in zip(prices, given.reward, strict=True)]


def _neat(price: Fraction, reward: Fraction) -> Fraction:
    if reward == 0:
        return reward
    share = price / reward
    simple = share.limit_denominator(64)
    return simple * reward if abs(simple - share) < NEAR_SIMPLE_SHARE else price


def integer_program(given: Problem, seconds: float) -> tuple[Fraction | None, tuple[int, ...]]:
    """The dual bound of HiGHS, moved outward, and the cells it chose; the bound is None when there is none.

    The largest cost counts as 1 and the variables add up to at most queries + records: reduced costs that are wrong by
    TOLERANCE, costs rounded to doubles and branches pruned within TOLERANCE of the incumbent are all within
    TOLERANCE (queries + records + 1). The incumbent itself bounds nothing from above.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    program = _program(given)
    queries = len(given.reward)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result: Any = milp(
            program.costs,
            integrality=np.repeat([0, 1], [queries, len(given.rows)]),
            bounds=Bounds(0.0, program.most),
            constraints=LinearConstraint(program.matrix, -np.inf, program.limits),
            options={"time_limit": seconds},
        )
    picks: tuple[int, ...] = ()
    if result.x is not None and np.all(np.isfinite(result.x)):
        counts = np.clip(np.rint(result.x[queries:]), 0, program.most[queries:]).astype(int)
        picks = tuple(np.repeat(np.arange(counts.size), counts).tolist())
    dual = result.get("mip_dual_bound")
    if dual is None or not math.isfinite(dual):
        return None, picks
    margin = Fraction(TOLERANCE) * (queries + given.records + 1)
    return (Fraction(-float(dual)) + margin) * program.scale, picks
