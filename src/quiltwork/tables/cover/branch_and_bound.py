"""Branch and bound for a cover: the optimum, proved in integers, or a bound below that of the first prices.

Reference: theory/granularity.md section 4 item 4.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from quiltwork.tables.cover.problem import Problem, best_records, greedy, steps, totals
from quiltwork.tables.cover.programs import suggested_prices

FREE_ADDITIONS = 200_000  # before the linear program is asked again: by then it costs less than more branches
LONE_ADDITIONS = 20_000_000  # where no solver is asked: a second or two
BITS = 40  # prices are rounded to this fraction of a step


class Found(NamedTuple):
    """The best choice seen, and what no choice exceeds."""

    chosen: tuple[int, ...]
    bound: Fraction


class _Node(NamedTuple):
    """All choices that hold `chosen` and, apart from these, only records in `cells`."""

    chosen: tuple[int, ...]
    cells: tuple[int, ...]
    prices: tuple[int, ...]
    own: bool = False  # whether the prices were made for this node


def search(given: Problem, prices: Sequence[Fraction], chosen: Sequence[int], effort: int) -> Found:
    """Branch on the cell of highest price: one more record in it, or none. The largest bound goes first.

    With records chosen, what is left is a problem of the same kind (`Problem.after`), so any prices bound it, and with
    the rewards as prices the bound is exact for one last record. Costs are whole steps, so bounds are rounded down to
    steps. Ended early, after `effort` additions, the largest bound of the open nodes holds. With 0 no solver is asked.
    """
    most_additions = max(effort, FREE_ADDITIONS) if effort else LONE_ADDITIONS
    tree = _Tree(given, chosen)
    tree.grow(_Node((), tuple(range(len(given.rows))), tree.whole(prices), own=True), None)
    while tree.open and -tree.open[0][0] > tree.value:
        if tree.work > most_additions:
            break
        negative, _, cell, node = heapq.heappop(tree.open)
        if tree.work > FREE_ADDITIONS and effort and not node.own:
            tree.grow(tree.repriced(node, most_additions - tree.work), -negative)
            continue
        tree.grow(node._replace(chosen=(*node.chosen, cell), own=False), -negative)
        tree.grow(node._replace(cells=tuple(other for other in node.cells if other != cell), own=False), -negative)
    most = max(tree.value, -tree.open[0][0]) if tree.open else tree.value
    return Found(tree.chosen, most * given.step)


class _Tree:
    """The open nodes, largest bound first, and the best choice so far; costs are in steps, prices in 2^-BITS of one."""

    def __init__(self, given: Problem, chosen: Sequence[int]) -> None:
        self.given = given
        self.chosen, self.value = tuple(chosen), steps(given, chosen)
        self.open: list[tuple[int, int, int, _Node]] = []
        self.born = itertools.count()
        self.work = 0  # additions

    def whole(self, prices: Sequence[Fraction]) -> tuple[int, ...]:
        """Prices as whole numbers; rounding makes other prices of them, not wrong ones."""
        return tuple(int((price / self.given.step) * (1 << BITS)) for price in prices)

    def grow(self, node: _Node, above: int | None) -> None:
        """Bound a node, learn from its best next record, and keep it open if it may beat the best choice."""
        rest = self.given.after(node.chosen)
        value = steps(self.given, node.chosen)
        self._learn(node.chosen, value)
        cells = [cell for cell in node.cells if rest.capacity[rest.group[cell]] > 0]
        if not cells or rest.records == 0:
            return
        rows, groups = [rest.rows[cell] for cell in cells], [rest.group[cell] for cell in cells]
        self.work += 2 * sum(map(len, rows)) + len(rest.reward) + len(node.chosen)
        gains = [gain + rest.rent[cell] for gain, cell in zip(totals(rows, rest.reward), cells, strict=True)]
        top = max(range(len(cells)), key=gains.__getitem__)
        self._learn((*node.chosen, cells[top]), value + gains[top])
        if rest.records == 1:
            return
        fine = [reward << BITS for reward in rest.reward]
        prices = [min(price, reward) for price, reward in zip(node.prices, fine, strict=True)]
        slack = sum(fine) - sum(prices)
        paid = totals(rows, prices)
        values = [price + (rest.rent[cell] << BITS) for price, cell in zip(paid, cells, strict=True)]
        bound = value + min(
            best_records(gains, groups, rest.capacity, rest.records),
            (slack + best_records(values, groups, rest.capacity, rest.records)) >> BITS,
        )
        bound = bound if above is None else min(bound, above)
        if bound <= self.value:
            return
        # a record in a cell leaves one less for the others: cells with which the best stays out of reach are dropped
        others = slack + best_records(values, groups, rest.capacity, rest.records - 1)
        kept = [
            (price, cell)
            for price, cell in zip(values, cells, strict=True)
            if (price + others) >> BITS > self.value - value
        ]
        if kept:
            node = node._replace(cells=tuple(cell for _, cell in kept))
            heapq.heappush(self.open, (-bound, next(self.born), max(kept)[1], node))

    def repriced(self, node: _Node, effort: int) -> _Node:
        """The node with prices of its own, if the solver has any; what greedy choice adds to it is learnt."""
        rest = self.given.after(node.chosen).only(node.cells)
        more = tuple(node.cells[place] for place in greedy(rest))
        self._learn((*node.chosen, *more), steps(self.given, (*node.chosen, *more)))
        suggested = suggested_prices(rest, max(effort, FREE_ADDITIONS))
        self.work += suggested.effort
        prices = node.prices if suggested.prices is None else self.whole(suggested.prices)
        return node._replace(prices=prices, own=True)

    def _learn(self, chosen: tuple[int, ...], value: int) -> None:
        if value > self.value:
            self.chosen, self.value = chosen, value
