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
EFFORT = 200_000_000  # additions for one cover, about twenty seconds of one core
SOLVE_EFFORT = 20_000  # additions that starting a solver amounts to
ROOT_EFFORT, NODE_EFFORT = 65_000, 1_000  # additions for each variable that the nodes of an integer program amount to
NEAR_SIMPLE_SHARE = Fraction(1, 10**7)  # a share this near to a simple one is taken for it


class _Program(NamedTuple):
    """Least costs @ x for 0 <= x <= most and matrix @ x <= limits, where x holds z, then y."""

    costs: NDArray[np.float64]
    matrix: Any
    limits: NDArray[np.float64]
    most: NDArray[np.float64]
    scale: Fraction  # the cost that counts as 1

    @property
    def iteration(self) -> int:
        """Additions that one iteration of the simplex method amounts to."""
        return 1 + self.costs.size // 2


class Suggested(NamedTuple):
    """Prices, if the solver had any, and the additions that asking amounts to."""

    prices: list[Fraction] | None
    effort: int


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


def suggested_prices(given: Problem, effort: int) -> Suggested:
    """Prices from the linear program; None when the solver fails or ends before it has any.

    Any prices >= 0 prove a bound, so nothing that the solver says of itself is relied upon. It stops after a number of
    iterations and never by the clock.
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
            options={"maxiter": max(1, effort // program.iteration)},
        )
    spent = SOLVE_EFFORT + int(result.get("nit") or 0) * program.iteration
    marginals = getattr(result.get("ineqlin"), "marginals", None)
    if marginals is None or np.size(marginals) != program.limits.size or not np.all(np.isfinite(marginals)):
        return Suggested(None, spent)
    scaled = np.maximum(0.0, -np.asarray(marginals, dtype=float)[: len(given.reward)])
    return Suggested([Fraction(price) * program.scale for price in scaled.tolist()], spent)


def neat_prices(given: Problem, prices: Sequence[Fraction]) -> list[Fraction]:
    """The same prices, those near a simple share of their reward moved to it: what a solver rounded is exact again."""
    return [_neat(price, reward * given.step) for price, reward in zip(prices, given.reward, strict=True)]


def _neat(price: Fraction, reward: Fraction) -> Fraction:
    if reward == 0:
        return reward
    share = price / reward
    simple = share.limit_denominator(64)
    return simple * reward if abs(simple - share) < NEAR_SIMPLE_SHARE else price


def integer_program(given: Problem, effort: int) -> tuple[Fraction | None, tuple[int, ...]]:
    """The dual bound of HiGHS, moved outward, and the cells it chose; the bound is None when there is none.

    It stops after a number of nodes; where the effort does not pay for the first one, nothing is asked.

    The largest cost counts as 1 and the variables add up to at most queries + records: reduced costs that are wrong by
    TOLERANCE, costs rounded to doubles and branches pruned within TOLERANCE of the incumbent are all within
    TOLERANCE (queries + records + 1). The incumbent itself bounds nothing from above.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    program = _program(given)
    queries = len(given.reward)
    nodes = (effort - ROOT_EFFORT * program.costs.size) // (NODE_EFFORT * program.costs.size)
    if nodes < 1:
        return None, ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result: Any = milp(
            program.costs,
            integrality=np.repeat([0, 1], [queries, len(given.rows)]),
            bounds=Bounds(0.0, program.most),
            constraints=LinearConstraint(program.matrix, -np.inf, program.limits),
            options={"node_limit": nodes},
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
