from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.examples import examples

from quiltwork.confounding.design.exact import simplex as rational_simplex
from quiltwork.confounding.design.exact.simplex import Optimum, Program, optimal, program
from quiltwork.errors import Unreachable, Unsupported

Rows = list[dict[int, Fraction]]


def F(text: str | int) -> Fraction:  # noqa: N802
    return Fraction(text)


def checked(rows: Rows, right: list[Fraction], costs: list[Fraction], found: Optimum) -> Fraction:
    """The cost, after primal and dual feasibility and equality of the two were verified from the given numbers."""
    assert all(value >= 0 for value in found.values)
    for row, limit in zip(rows, right, strict=True):
        assert sum((v * found.values[c] for c, v in row.items()), Fraction(0)) <= limit
    assert all(price >= 0 for price in found.prices)
    for column, cost in enumerate(costs):
        paid = sum((p * row.get(column, 0) for p, row in zip(found.prices, rows, strict=True)), Fraction(0))
        assert cost + paid >= 0
    cost = sum((c * v for c, v in zip(costs, found.values, strict=True)), Fraction(0))
    assert cost == -sum((p * b for p, b in zip(found.prices, right, strict=True)), Fraction(0))
    return cost


ROWS: Rows = [{0: F(1), 1: F("1/3")}, {0: F("2/7"), 1: F(1), 2: F(1)}, {0: F(-1), 2: F("-1/2")}]
RIGHT = [F(2), F(3), F("-1/5")]
COSTS = [F(-1), F("-3/2"), F("1/9")]


def test_every_basis_ends_at_the_same_optimum() -> None:
    given = program(ROWS, RIGHT, COSTS)
    best = checked(ROWS, RIGHT, COSTS, optimal(given))
    pivots = []
    for basis in itertools.combinations(range(6), 3):
        found = optimal(given, basis)
        assert checked(ROWS, RIGHT, COSTS, found) == best
        pivots.append(found.pivots)
    assert min(pivots) == 0  # the optimal basis itself
    assert max(pivots) >= 2


@pytest.mark.parametrize("basis", [(), (0,), (0, 0, 1), (0, 1, 99), (-1, 0, 1), (0, 1, 2, 3)])
def test_a_suggestion_that_is_no_basis_is_ignored(basis: tuple[int, ...]) -> None:
    given = program(ROWS, RIGHT, COSTS)
    assert optimal(given, basis) == optimal(given)


def test_programs_that_cycle_under_the_steepest_rule_end(monkeypatch: pytest.MonkeyPatch) -> None:
    # Beale's example, on which the steepest reduced cost goes round for ever; kept in fractions, since whole rows
    # would change which reduced cost is the steepest
    rows: Rows = [
        {0: F("1/4"), 1: F(-60), 2: F("-1/25"), 3: F(9)},
        {0: F("1/2"), 1: F(-90), 2: F("-1/50"), 3: F(3)},
        {2: F(1)},
    ]
    right, costs = [F(0), F(0), F(1)], [F("-3/4"), F(150), F("-1/50"), F(6)]
    columns: Any = tuple({index: row[c] for index, row in enumerate(rows) if c in row} for c in range(4))
    unscaled: Any = (columns, tuple(right), tuple(costs), (1, 1, 1), 1)
    given = Program(*unscaled)
    assert checked(rows, right, costs, optimal(given)) == F("-1/20")
    monkeypatch.setattr(rational_simplex, "WORK", 300)
    entering = rational_simplex._State._entering
    monkeypatch.setattr(rational_simplex._State, "_entering", lambda state, moved: entering(state, True))
    with pytest.raises(Unsupported):
        optimal(given)


def test_no_solution_and_no_least_cost_are_said() -> None:
    with pytest.raises(Unreachable, match="every inequality"):
        optimal(program([{0: F(1)}, {0: F(-1)}], [F(1), F(-2)], [F(0)]))
    with pytest.raises(Unreachable, match="without end"):
        optimal(program([{0: F(-1)}], [F(1)], [F(-1)]))


def test_too_many_pivots_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rational_simplex, "WORK", 3)
    with pytest.raises(Unsupported, match="use floats"):
        optimal(program(ROWS, RIGHT, COSTS))


@settings(max_examples=examples(120), deadline=None)
@given(st.data())
def test_random_programs_agree_with_floats(data: st.DataObject) -> None:
    small = st.fractions(-3, 3, max_denominator=6)
    height, width = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    rows = [{c: data.draw(small) for c in range(width)} for _ in range(height)]
    rows.append({c: Fraction(1) for c in range(width)})  # bounded
    right = [data.draw(small) for _ in range(height)] + [Fraction(2)]
    costs = [data.draw(small) for _ in range(width)]
    basis = data.draw(st.permutations(range(width + height + 1)))[: height + 1]
    given: Program = program(rows, right, costs)
    matrix, floats = [[float(row[c]) for c in range(width)] for row in rows], [float(c) for c in costs]
    try:
        found = optimal(given, basis)
    except Unreachable:
        # a little tighter, so that the tolerance of the float solver cannot hide that nothing fits
        assert linprog(floats, matrix, [float(b) - 1e-5 for b in right]).status == 2
        return
    cost = checked(rows, right, costs, found)
    truth = linprog(floats, matrix, [float(b) + 1e-9 for b in right])
    assert truth.status == 0
    assert float(cost) == pytest.approx(truth.fun, abs=1e-6)
