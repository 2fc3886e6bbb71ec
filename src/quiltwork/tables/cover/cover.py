"""The most that m records of one person can cost: maximum coverage, bounded from both sides.

The problem is NP-hard, and greedy choice falls short of the optimum, so it bounds nothing from above. Bounds from above
come from prices (`price_bound`), from branching over prices, both in exact integers, and from HiGHS.

Reference: theory/granularity.md section 4 item 4.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.numbers.stated import double_above, double_below
from quiltwork.tables.cells.cells import Arrangement, Cells, IntArray
from quiltwork.tables.cells.heaviest import ascended, heaviest
from quiltwork.tables.cover.branch_and_bound import search
from quiltwork.tables.cover.problem import Problem, allowed, cost, greedy, price_bound, problem
from quiltwork.tables.cover.programs import EFFORT, integer_program, neat_prices, suggested_prices

ENUMERATED = "exact enumeration"
PRICED = "linear programming duality in exact rationals"
BRANCHED = "branching in exact rationals"
SOLVED = "HiGHS dual bound"
SEARCHED = "linear programming duality, the dearest cell searched"

PAIRS = 200_000_000  # pairs of cells that share a query, up to which subsets are looked for
AT_ONCE = 5_000_000  # of these pairs
PRICING_ROUNDS = 3  # of column generation
GOOD_GAP = 1e-3  # a relative gap at which no better prices are looked for
LEAST_EFFORT = EFFORT // 4  # that the linear program may take, however small the effort


@attrs.frozen(eq=False)
class Cover:
    """The cost of the worst choice of records, between `lower` and `upper`.

    `upper`: no choice costs more; rounded up, by the method named. `lower`: what `chosen` costs, rounded down. `prices`
    prove `rational` by `price_bound` and nothing else; `upper` is never above it.
    """

    upper: float
    lower: float
    chosen: tuple[int, ...]
    prices: tuple[Fraction, ...]
    rational: float
    method: str


def cover(
    touched: Any,
    reward: Any,
    slope: Any,
    records: int,
    groups: Any = None,
    capacities: Any = None,
    *,
    effort: int = EFFORT,
) -> Cover:
    """Certified bounds on the most that `records` records can cost.

    maximise sum_i reward_i [n_i >= 1] + sum_i slope_i n_i, where n_i counts the records in cells that touch query i.
    `touched` is a boolean array, cells x queries; `groups` gives the group of each cell, `capacities` how many records
    each group holds. `effort` counts additions, those of HiGHS by its iterations, half of them for prices while
    branching; with 0 its integer program is left out, and every bound is proved here. No clock is asked: the same
    instance has the same bounds on every machine, busy or not.

    >>> found = cover(np.array([[1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 0, 1]], bool), [1] * 6, [0] * 6, 2)
    >>> found.lower, found.upper, found.chosen
    (6.0, 6.0, (1, 2))
    """
    effort = checks.count("effort", effort)
    given = problem(touched, reward, slope, records, groups, capacities)
    kept = maximal_cells(given)
    small = given.only(kept)
    chosen = greedy(small)
    least = cost(small, chosen)
    proof = cheapest(given, rules_of_thumb(given))
    if proof.bound > least:
        suggested = suggested_prices(small, max(effort, LEAST_EFFORT)).prices
        if suggested is not None:
            proof = cheapest(given, [neat_prices(given, suggested), suggested, proof.prices])
    most, method = proof.bound, PRICED
    if most > least:
        found = search(small, proof.prices, chosen, effort // 2)
        chosen, least = found.chosen, cost(small, found.chosen)
        if found.bound == least:
            most, method = least, ENUMERATED
        elif found.bound < most:
            most, method = found.bound, BRANCHED
    if most > least and effort > 0:
        bound, picks = integer_program(small, effort // 2)
        if allowed(small, picks) and cost(small, picks) > least:
            chosen, least = picks, cost(small, picks)
        if bound is not None and least <= bound < most:  # below what is attained, the solver has failed
            most, method = bound, SOLVED
    return Cover(
        upper=double_above(most),
        lower=double_below(least),
        chosen=tuple(sorted(kept[cell] for cell in chosen)),
        prices=proof.prices,
        rational=double_above(proof.bound),
        method=method,
    )


# ---- cells


def maximal_cells(given: Problem) -> list[int]:
    """Cells that no other cell of their group contains; of equal cells the first. Costs are >= 0, so these suffice."""
    from scipy.sparse import csr_array

    size = given.touched.sum(axis=1)
    group = np.array(given.group, dtype=np.intp)
    room = np.array(given.capacity, dtype=np.int64)[group] > 0
    useful = np.flatnonzero((size > 0) & room)
    size, group = size[useful], group[useful]
    incidence = csr_array(given.touched[useful].astype(np.int32))
    work = incidence @ incidence.sum(axis=0)  # pairs that each cell takes part in
    if work.sum() > PAIRS:  # dropping cells saves time and nothing else
        return [int(cell) for cell in useful]
    dropped = np.zeros(useful.size, dtype=bool)
    part = np.cumsum(work) // AT_ONCE
    for begin, end in itertools.pairwise([*np.flatnonzero(np.diff(part, prepend=-1)).tolist(), useful.size]):
        shared = (incidence[begin:end] @ incidence.T).tocoo()
        inner, outer = shared.row + begin, shared.col
        inside = (shared.data == size[inner]) & (group[inner] == group[outer])
        smaller = (size[inner] < size[outer]) | (outer < inner)
        dropped[inner[inside & smaller]] = True
    return [int(cell) for cell in useful[~dropped]]


# ---- prices


class Proof(NamedTuple):
    """Prices and the bound that they prove."""

    bound: Fraction
    prices: tuple[Fraction, ...]


def cheapest(given: Problem, candidates: Sequence[Sequence[Fraction]]) -> Proof:
    """The candidate that proves most, over all cells, none left out."""
    return min(
        (Proof(price_bound(given, prices), tuple(prices)) for prices in candidates), key=lambda proof: proof.bound
    )


def rules_of_thumb(given: Problem) -> list[list[Fraction]]:
    """Prices that need no solver: sequential, m times parallel, and between."""
    rewards = [reward * given.step for reward in given.reward]
    met = np.any(given.touched, axis=0)  # what no cell touches is priced away
    return [
        [reward * share if seen else reward for reward, seen in zip(rewards, met, strict=True)]
        for share in (Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, max(given.records, 1)))
    ]


# ---- cells that are too many to list


@attrs.frozen(eq=False)
class Pooled:
    """A bound on the cost of any choice, and the best choice among the cells of the pool."""

    upper: float
    chosen: Cells


def pooled(arrangement: Arrangement, reward: FloatArray, slope: FloatArray, records: int) -> Pooled:
    """Bounds as `cover` gives them, without caps, over all cells: only the dearest cell at given prices must be found.

    For prices lambda >= 0, sum_i max(0, reward_i - lambda_i) + m max_c (lambda + slope)(c) is above every choice of m
    records, and the dearest cell comes from the search over columns. Good prices come from a small pool of cells; the
    dearest cell joins the pool and the prices are set anew, a few times.

    Reference: theory/granularity.md section 4.4 (column generation).
    """
    picks = _pool(arrangement, reward, slope, records)
    best, chosen = np.inf, picks[:1]
    for _ in range(PRICING_ROUNDS):
        cells = arrangement.cells(picks)
        small = cover(cells.touched, reward, slope, records, effort=0)
        chosen = picks[list(small.chosen)] if small.chosen else picks[:1]
        prices = np.array([float(price) for price in small.prices])
        largest, dearest = _dearest(arrangement, prices + slope)
        kept = float(np.maximum(reward - prices, 0.0).sum())
        best = min(best, (kept + records * largest) * (1 + 1e-11))
        if best <= small.lower * (1 + GOOD_GAP) or bool((picks == dearest).all(axis=1).any()):
            break
        picks = np.vstack([picks, dearest])
    return Pooled(best, arrangement.cells(chosen))


def _dearest(arrangement: Arrangement, costs: FloatArray) -> tuple[float, IntArray]:
    """A number that no cell's cost passes, and the dearest cell that was seen."""
    nothing = np.zeros((costs.size, 1))
    # a little above the best so far, so that the many cells of equal cost are left out and only bounded
    found = heaviest(arrangement, costs[:, None], nothing, np.array([1 + 1e-9]), merge=True)
    at = int(np.argmax(found.sums[:, 0]))
    return max(float(found.sums[at, 0]), float(found.rest[0])) * (1 + 1e-12), found.picks[at]


def _pool(arrangement: Arrangement, reward: FloatArray, slope: FloatArray, records: int) -> IntArray:
    """Cells that a greedy choice would take: what was rewarded once is not rewarded again."""
    picks = [np.zeros(len(arrangement.sheets), dtype=np.int64)]
    left = reward.copy()
    for _ in range(min(records, 32)):
        found = ascended(arrangement, left + slope, picks[-1])
        picks.append(found)
        left = np.where(arrangement.cells(found[None, :]).touched[0], 0.0, left)
    return np.unique(np.array(picks), axis=0)
