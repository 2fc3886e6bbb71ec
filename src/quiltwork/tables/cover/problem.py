"""What a person's records can cost at most: the problem in whole numbers, and the bound that prices prove.

A person has at most m records, y_c of them in cell c; a record in cell c touches the queries S_c. With n_i the records
that touch query i, the cost is sum_i reward_i [n_i >= 1] + sum_i slope_i n_i. Every cell lies in one group (a day, say)
that holds at most capacity_g of the records.

Costs are doubles, read exactly: all of them are multiples of one step, and sums of integers have no rounding.

Reference: theory/granularity.md section 4 item 4.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.errors import InvalidParameter

BoolArray = NDArray[np.bool_]
MOST_RECORDS = 10**6  # each may be listed by name


@attrs.frozen(eq=False)
class Problem:
    """Cells, queries and costs; `reward` and `slope` are counted in steps, so every cost is a whole number of them."""

    touched: BoolArray  # cells x queries
    reward: tuple[int, ...]
    slope: tuple[int, ...]
    step: Fraction
    records: int
    group: tuple[int, ...]  # of each cell
    capacity: tuple[int, ...]  # of each group
    rows: tuple[tuple[int, ...], ...]  # the queries that each cell touches
    rent: tuple[int, ...]  # what one record in each cell pays by slope alone

    def only(self, cells: Sequence[int]) -> Problem:
        """The same problem with these cells alone."""
        return attrs.evolve(
            self,
            touched=self.touched[np.asarray(cells, dtype=np.intp)],
            group=tuple(self.group[cell] for cell in cells),
            rows=tuple(self.rows[cell] for cell in cells),
            rent=tuple(self.rent[cell] for cell in cells),
        )

    def after(self, chosen: Sequence[int]) -> Problem:
        """What is left when these records are chosen: queries that they meet have no reward any more."""
        room, reward = list(self.capacity), list(self.reward)
        for cell in chosen:
            room[self.group[cell]] -= 1
            for query in self.rows[cell]:
                reward[query] = 0
        return attrs.evolve(self, reward=tuple(reward), capacity=tuple(room), records=self.records - len(chosen))


# ---- reading


def problem(touched: Any, reward: Any, slope: Any, records: Any, groups: Any = None, capacities: Any = None) -> Problem:
    """Checked input as integers. Without capacities, groups mean nothing."""
    incidence = _incidence(touched)
    cells, queries = incidence.shape
    count = checks.count("records", records)
    if count > MOST_RECORDS:
        raise InvalidParameter("records", records, f"an integer from 0 to {MOST_RECORDS}")
    rewards, slopes = _costs("reward", reward, queries), _costs("slope", slope, queries)
    group, capacity = _groups(groups, capacities, cells, count)
    step = _step([*rewards, *slopes])
    rates = tuple(int(cost / step) for cost in slopes)
    rows = _rows(incidence)
    return Problem(
        touched=incidence,
        reward=tuple(int(cost / step) for cost in rewards),
        slope=rates,
        step=step,
        records=count,
        group=group,
        capacity=capacity,
        rows=rows,
        rent=totals(rows, rates),
    )


def _incidence(touched: Any) -> BoolArray:
    array = np.asarray(touched)
    if array.ndim != 2 or array.dtype != np.bool_:
        given = f"{array.dtype} of shape {array.shape}"
        raise InvalidParameter("touched", given, "a boolean array with one row a cell and one column a query")
    return array


def _costs(name: str, costs: Any, queries: int) -> list[Fraction]:
    allowed = f"{queries} finite numbers >= 0, one a query"
    array = np.asarray(costs)
    if array.shape != (queries,):
        raise InvalidParameter(name, f"shape {array.shape}", allowed)
    if queries and (array.dtype.kind not in "fiu" or array.dtype.itemsize > 8):
        raise InvalidParameter(name, f"type {array.dtype}", allowed)
    for cost in array.tolist():
        if not (math.isfinite(cost) and cost >= 0):
            raise InvalidParameter(name, cost, allowed, "a query without a finite cost has no finite cover")
    return [Fraction(cost) for cost in array.tolist()]


def _groups(groups: Any, capacities: Any, cells: int, records: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if groups is None and capacities is not None:
        raise InvalidParameter("groups", groups, "given when capacities are", "capacities bound groups of cells")
    array = np.zeros(cells, dtype=int) if groups is None else np.asarray(groups)
    if array.shape != (cells,) or (cells and array.dtype.kind not in "iu"):
        given = f"{array.dtype} of shape {array.shape}"
        raise InvalidParameter("groups", given, f"{cells} integers, the group of each cell")
    if capacities is None:
        return (0,) * cells, (records,)
    if np.ndim(capacities) != 1:
        raise InvalidParameter("capacities", capacities, "a list of integers or infinities, one a group")
    held = tuple(_capacity(capacity, records) for capacity in capacities)
    for group in array.tolist():
        if not 0 <= group < len(held):
            raise InvalidParameter("groups", group, f"from 0 to {len(held) - 1}", "capacities has one entry a group")
    # what holds every record is no restriction: all such groups are one, and share their best cell
    return tuple(len(held) if held[group] == records else group for group in array.tolist()), (*held, records)


def _capacity(capacity: Any, records: int) -> int:
    if isinstance(capacity, (float, np.floating)):
        if capacity == math.inf:
            return records
        if float(capacity).is_integer():  # an array with an infinity in it has no integers
            capacity = int(capacity)
    return min(checks.count("capacities", capacity), records)


def _step(costs: Sequence[Fraction]) -> Fraction:
    """The largest number of which all costs are multiples; 1 when all are zero."""
    whole = math.lcm(1, *(cost.denominator for cost in costs))
    return Fraction(math.gcd(*(int(cost * whole) for cost in costs)), whole) or Fraction(1)


def _rows(touched: BoolArray) -> tuple[tuple[int, ...], ...]:
    cell, query = np.nonzero(touched)
    ends = np.searchsorted(cell, np.arange(len(touched) + 1)).tolist()
    queries = query.tolist()
    return tuple(tuple(queries[begin:end]) for begin, end in itertools.pairwise(ends))


# ---- costs and bounds, exact


def totals(rows: Iterable[Sequence[int]], values: Sequence[int]) -> tuple[int, ...]:
    """The sum of the values over each row."""
    value = values.__getitem__
    return tuple(sum(map(value, row)) for row in rows)


def steps(given: Problem, chosen: Sequence[int]) -> int:
    """What these cells, with repetition, cost, in steps; no check that they are allowed."""
    met = {query for cell in set(chosen) for query in given.rows[cell]}
    return sum(given.reward[query] for query in met) + sum(given.rent[cell] for cell in chosen)


def cost(given: Problem, chosen: Sequence[int]) -> Fraction:
    """What these cells, with repetition, cost; no check that they are allowed."""
    return steps(given, chosen) * given.step


def allowed(given: Problem, chosen: Sequence[int]) -> bool:
    """Whether the records and the capacities suffice for these cells."""
    left = given.after(chosen)
    return left.records >= 0 and min(left.capacity) >= 0


def price_bound(given: Problem, prices: Sequence[Fraction]) -> Fraction:
    """UB(lambda) = sum_i max(0, reward_i - lambda_i) + max over allowed y of sum_c y_c (lambda + slope)(S_c).

    No choice of records costs more, for any lambda >= 0. Proof: reward_i [n_i >= 1] <= max(0, reward_i - lambda_i) +
    lambda_i n_i, both for n_i = 0 and for n_i >= 1. Sum over the queries: sum_i (lambda_i + slope_i) n_i is
    sum_c y_c (lambda + slope)(S_c), which the maximum bounds. QED.
    lambda = 0 is sequential composition, lambda = reward is m times parallel, the least over lambda is the LP bound.
    """
    if len(prices) != len(given.reward) or any(price < 0 for price in prices):
        raise InvalidParameter("prices", list(prices), f"{len(given.reward)} numbers >= 0")
    counted = [price / given.step for price in prices]
    parts = math.lcm(1, *(price.denominator for price in counted))  # of a step, for whole numbers
    paid = [price.numerator * (parts // price.denominator) for price in counted]
    slack = sum(max(0, parts * most - price) for most, price in zip(given.reward, paid, strict=True))
    values = totals(given.rows, [price + parts * rate for price, rate in zip(paid, given.slope, strict=True)])
    return Fraction(slack + best_records(values, given.group, given.capacity, given.records), parts) * given.step


def best_records(values: Iterable[int], groups: Iterable[int], capacity: Sequence[int], records: int) -> int:
    """The most that `records` records earn when cell c pays values_c for each: best groups first, best cell in each.

    Exact: within a group nothing beats its best cell, and records of equal standing are taken in order of pay.
    """
    best: dict[int, int] = {}
    for value, group in zip(values, groups, strict=True):
        if value > best.get(group, 0):
            best[group] = value
    total = 0
    for group, value in sorted(best.items(), key=lambda item: item[1], reverse=True):
        taken = min(records, capacity[group])
        total += taken * value
        records -= taken
    return total


def greedy(given: Problem) -> tuple[int, ...]:
    """Cells taken one by one, each the one that costs most next to those before; a lower bound only."""
    room, left, worth = list(given.capacity), given.records, list(given.reward)
    gains = zip(totals(given.rows, worth), given.rent, itertools.count(), strict=False)
    stale = [(-gain - rent, cell) for gain, rent, cell in gains]
    heapq.heapify(stale)
    taken: list[int] = []
    while left and stale:
        known, best = stale[0]
        group, row = given.group[best], given.rows[best]
        gain = given.rent[best] + sum(worth[query] for query in row)
        if room[group] == 0 or gain == 0:
            heapq.heappop(stale)
        elif gain < -known:  # gains only fall, so the others need no second look
            heapq.heapreplace(stale, (-gain, best))
        else:
            # once a record meets no new query, the next ones in its cell are worth as much
            count = min(left if gain == given.rent[best] else 1, room[group])
            taken += [best] * count
            left -= count
            room[group] -= count
            for query in row:
                worth[query] = 0
    return tuple(taken)
