"""Linear programs in rational arithmetic: min c x subject to A x <= b, x >= 0, from a suggested basis.

A basis names as many columns of [A I] as there are rows.  The suggested one (usually that of a float solver) is
solved exactly; when it is primal and dual feasible nothing else is done.  Otherwise one artificial column makes it
feasible, and exact pivots of the primal simplex method end at an optimum: the steepest reduced cost after a step that
moved, Bland's rule after one that did not, so that no cycle is possible.

Reference: Bland 1977, "New finite pivoting rules for the simplex method"; Applegate, Cook, Dash and Espinoza 2007,
"Exact solutions to linear programming problems" (float basis first, exact verification after).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import attrs

from quiltwork.errors import Unreachable, Unsupported
from quiltwork.numbers.rational_linear import Singular, Square

WORK = 1_000_000  # rows times exact pivots before the answer is left to floats: minutes at most


@attrs.frozen(eq=False)
class Program:
    """The program in whole numbers: each row and the objective were multiplied by a positive number of their own."""

    columns: tuple[Mapping[int, int], ...]
    right: tuple[int, ...]
    costs: tuple[int, ...]
    row_scales: tuple[int, ...]
    cost_scale: int

    @property
    def rows(self) -> int:
        """How many inequalities there are."""
        return len(self.right)

    @property
    def width(self) -> int:
        """How many columns [A I] has."""
        return len(self.columns) + self.rows

    def column(self, index: int) -> Mapping[int, int]:
        """A column of [A I]."""
        count = len(self.columns)
        return self.columns[index] if index < count else {index - count: 1}

    def cost(self, index: int) -> int:
        """Its cost; slacks are free."""
        return self.costs[index] if index < len(self.columns) else 0


@attrs.frozen
class Optimum:
    """x and the prices of the rows (>= 0), in the units of the program as it was given."""

    values: tuple[Fraction, ...]
    prices: tuple[Fraction, ...]
    pivots: int


def program(rows: Sequence[Mapping[int, Fraction]], right: Sequence[Fraction], costs: Sequence[Fraction]) -> Program:
    """A program given in fractions."""
    columns: list[dict[int, int]] = [{} for _ in costs]
    scales, whole = [], []
    for index, (row, limit) in enumerate(zip(rows, right, strict=True)):
        scale = math.lcm(limit.denominator, *(value.denominator for value in row.values()))
        scales.append(scale)
        whole.append(int(limit * scale))
        for column, value in row.items():
            if value:
                columns[column][index] = int(value * scale)
    unit = math.lcm(*(value.denominator for value in costs))
    prices = tuple(int(value * unit) for value in costs)
    return Program(tuple(columns), tuple(whole), prices, tuple(scales), unit)


def optimal(given: Program, basis: Sequence[int] | None = None) -> Optimum:
    """An exact optimum; the basis is only a suggestion, and one that is none is replaced by the slacks."""
    state = _State(given, basis)
    state.make_feasible()
    state.descend()
    values = [Fraction(0)] * len(given.columns)
    for index, value in zip(state.basis, state.values, strict=True):
        if index < len(values):
            values[index] = value
    scales = [Fraction(scale, given.cost_scale) for scale in given.row_scales]
    prices = tuple(-price * scale for price, scale in zip(state.prices(), scales, strict=True))
    return Optimum(tuple(values), prices, state.pivots)


class _State:
    """A basis, its values, and at times one artificial column numbered after all others."""

    def __init__(self, given: Program, basis: Sequence[int] | None) -> None:
        self.given = given
        self.artificial: dict[int, int] | None = None
        self.pivots = 0
        chosen = list(range(len(given.columns), given.width))
        if basis is not None and len(basis) == given.rows == len(set(basis)) and set(basis) <= set(range(given.width)):
            chosen = [int(index) for index in basis]
        self.basis = chosen
        try:
            self.square = self._square()
        except Singular:
            self.basis = list(range(len(given.columns), given.width))
            self.square = self._square()
        self.values = self.square.solve(given.right)

    def _square(self) -> Square:
        return Square([self._column(index) for index in self.basis])

    def _column(self, index: int) -> Mapping[int, int]:
        if index == self.given.width:
            return self.artificial or {}
        return self.given.column(index)

    def _cost(self, index: int) -> int:
        if self.artificial is not None:
            return int(index == self.given.width)
        return self.given.cost(index)

    def prices(self) -> list[Fraction]:
        """y with y B = the costs of the basis."""
        return self.square.solve_transposed([self._cost(index) for index in self.basis])

    def make_feasible(self) -> None:
        """Phase one: a column whose one unit lifts every negative basic value by one, driven out again."""
        worst = min(range(len(self.values)), key=self.values.__getitem__, default=None)
        if worst is None or self.values[worst] >= 0:
            return
        column: dict[int, int] = {}
        for index, value in zip(self.basis, self.values, strict=True):
            if value < 0:
                for row, entry in self.given.column(index).items():
                    column[row] = column.get(row, 0) - entry
        self.artificial = column
        lift = -self.values[worst]
        self.values = [value + lift if value < 0 else value for value in self.values]
        self.basis[worst], self.values[worst] = self.given.width, lift
        self.square = self._square()
        self.descend()
        self.artificial = None

    def descend(self) -> None:
        """Primal pivots until no reduced cost is negative, or until the artificial column has left."""
        moved = True
        while True:
            entering = self._entering(moved)
            if entering is None:
                if self.artificial is not None:
                    raise Unreachable("every inequality at once", "the non-negative vectors")
                return
            step = self._pivot(entering)
            moved = step > 0
            if self.artificial is not None and self.given.width not in self.basis:
                return

    def _entering(self, moved: bool) -> int | None:
        prices, inside = self.prices(), set(self.basis)
        best, least = None, Fraction(0)
        for index in range(self.given.width):
            if index in inside:
                continue
            reduced = self._cost(index) - sum(entry * prices[row] for row, entry in self._column(index).items())
            if reduced < least:
                if not moved:
                    return index
                best, least = index, Fraction(reduced)
        return best

    def _pivot(self, entering: int) -> Fraction:
        """Let a column enter; returns how far it moved."""
        self.pivots += 1
        if self.pivots * self.given.rows > WORK:
            because = f"{self.pivots} exact pivots on {self.given.rows} rows did not end at one"
            raise Unsupported("an exact optimum", because, "use floats, whose answers are certified too")
        dense = [0] * self.given.rows
        for row, entry in self._column(entering).items():
            dense[row] = entry
        direction = self.square.solve(dense)
        ratios = [
            # the artificial column leaves first among equals, then the smallest index (Bland)
            (value / slope, index != self.given.width, index, place)
            for place, (index, value, slope) in enumerate(zip(self.basis, self.values, direction, strict=True))
            if slope > 0
        ]
        if not ratios:
            raise Unreachable("a least cost", "the feasible vectors", "the cost falls without end")
        step, _, _, place = min(ratios)
        self.values = [value - step * slope for value, slope in zip(self.values, direction, strict=True)]
        self.basis[place], self.values[place] = entering, step
        self.square = self._square()
        return step
