from __future__ import annotations

import random
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.examples import examples

from quiltwork.confounding.design.exact import design as rational
from quiltwork.confounding.design.exact.design import RationalSolution, lower_bound, solve_exactly
from quiltwork.confounding.design.exact.program import Duals, Written, hinges_of, rows_needed, signed, written
from quiltwork.confounding.design.exact.simplex import Optimum
from quiltwork.errors import InvalidParameter, MissingExtra, NotCertified, Unreachable, Unsupported
from quiltwork.numbers.rational_linear import Singular

Table = np.ndarray[Any, np.dtype[np.object_]]


def fractions(rows: Any) -> Table:
    return np.array([[Fraction(entry) for entry in row] for row in rows], dtype=object)


def both_orders(rows: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(rows) for j in range(rows) if i != j]


def joint_of(data: Table, channel: Table) -> Table:
    return data[:, :, None] * channel[None]


def costs(data: Table, loss: Callable[[int, int], int], outputs: int) -> Table:
    """P(x) loss(x, z) under the uniform prior of the secrets."""
    mass = data.sum(axis=0) / len(data)
    return np.array([[[m * loss(x, z) for z in range(outputs)] for x, m in enumerate(mass)]], dtype=object)


def far(x: int, z: int) -> int:
    return abs(x - z)


def other(x: int, z: int) -> int:
    return int(x != z)


TWO = fractions([("1/2", "3/10", "3/20", "1/20"), ("1/20", "3/20", "3/10", "1/2")])
THREE = fractions([TWO[0], ("1/5", "3/10", "3/10", "1/5"), TWO[1]])
BINARY = fractions([("3/5", "2/5"), ("11/20", "9/20"), ("9/20", "11/20"), ("2/5", "3/5")])
SECOND = fractions([("11/20", "9/20"), ("1/2", "1/2"), ("1/2", "1/2"), ("9/20", "11/20")])
JOINT4 = (BINARY[:, :, None] * SECOND[:, None, :]).reshape(4, 4)
NOTHING = fractions([[1]] * 4)

# reference/confounding.json, "lp"; the optimal channel of the four cases flips the two ends with this probability
REFERENCE = {
    "lp_binary_abs": (TWO, BINARY, far, Fraction(1, 20), Fraction(627, 1240), Fraction(19, 62)),
    "lp_binary_01": (TWO, BINARY, other, Fraction(1, 20), Fraction(209, 1240), Fraction(19, 62)),
    "lp_no_existing": (TWO, NOTHING, far, Fraction(0), Fraction(22, 45), Fraction(8, 27)),
    "lp_ternary_abs": (THREE, JOINT4, far, Fraction(1, 20), Fraction(57, 124), Fraction(19, 62)),
}


def test_the_ternary_case_is_the_reference_one() -> None:
    assert JOINT4[0].tolist() == [Fraction(33, 100), Fraction(27, 100), Fraction(22, 100), Fraction(18, 100)]
    assert JOINT4[1].tolist() == [Fraction(11, 40), Fraction(11, 40), Fraction(9, 40), Fraction(9, 40)]


def naive(joint: Table, pairs: Any, odds: Fraction, channel: Any) -> Fraction:
    """The delta of the whole composition by four plain loops."""
    worst = Fraction(0)
    inputs, before = joint.shape[1:]
    for i, j in pairs:
        total = Fraction(0)
        for y in range(before):
            for z in range(len(channel[0])):
                p, q = (sum(joint[r, x, y] * channel[x][z] for x in range(inputs)) for r in (i, j))
                total += max(p - odds * q, Fraction(0))
        worst = max(worst, total)
    return worst


def checked(joint: Table, pairs: Any, odds: Fraction, delta: Fraction, weights: Table) -> RationalSolution:
    """Solve, and verify everything the answer claims without the code under test."""
    found = solve_exactly(joint, pairs, odds, delta, weights)
    assert found.gap == 0
    assert isinstance(found.cost, Fraction)
    assert all(entry >= 0 for row in found.channel for entry in row)
    assert all(sum(row) == 1 for row in found.channel)
    assert found.delta == naive(joint, pairs, odds, found.channel) <= delta
    places = [(x, z) for x in range(weights.shape[1]) for z in range(weights.shape[2])]
    sums = [sum(prior[x][z] * found.channel[x][z] for x, z in places) for prior in weights]
    assert found.cost == max(sums)
    assert found.lower_bound == naive_bound(joint, pairs, odds, delta, weights, found.duals)
    return found


def naive_bound(joint: Table, pairs: Any, odds: Fraction, delta: Fraction, weights: Table, duals: Duals) -> Fraction:
    assert sum(duals.priors) == 1
    assert min(duals.priors) >= 0
    total = -delta * sum(duals.pairs)
    for x in range(joint.shape[1]):
        brackets = []
        for z in range(weights.shape[2]):
            bracket = sum(share * prior[x][z] for share, prior in zip(duals.priors, weights, strict=True))
            for (i, j), most, table in zip(pairs, duals.pairs, duals.hinges, strict=True):
                for y in range(joint.shape[2]):
                    assert 0 <= table[y][z] <= most
                    bracket += table[y][z] * (joint[i, x, y] - odds * joint[j, x, y])
            brackets.append(bracket)
        total += min(brackets)
    return Fraction(total)


@pytest.mark.parametrize("name", REFERENCE)
def test_the_reference_programs_have_gap_exactly_zero(name: str) -> None:
    data, channel, loss, delta, optimum, flip = REFERENCE[name]
    joint, pairs = joint_of(data, channel), both_orders(len(data))
    found = checked(joint, pairs, Fraction(2), delta, costs(data, loss, 4))
    assert found.cost == found.lower_bound == optimum
    assert found.delta == delta
    # the channel need not be the reference's: it is checked that that one costs the same and is private
    stated = fractions([(1 - flip, 0, 0, flip), (0, 1, 0, 0), (0, 0, 1, 0), (flip, 0, 0, 1 - flip)])
    assert (costs(data, loss, 4)[0] * stated).sum() == optimum
    assert naive(joint, pairs, Fraction(2), stated) == delta


def wrong(kind: str) -> Callable[[Written], list[int] | None]:
    right = rational._suggested

    def basis(system: Written) -> list[int] | None:
        count, rows = len(system.costs), len(system.rows)
        if kind == "none":
            return None
        if kind == "random":
            return random.Random(4).sample(range(count + rows), rows)
        good = right(system)
        assert good is not None
        if kind == "too short":
            return good[:-1]
        # every slack that can be taken in for a variable of g without becoming singular
        for place, index in enumerate(good):
            slack = next((s for s in range(count, count + rows) if s not in good), None)
            if index < count and slack is not None and _regular(system, [*good[:place], slack, *good[place + 1 :]]):
                good[place] = slack
        return good

    return basis


def _regular(system: Written, basis: list[int]) -> bool:
    matrix = np.zeros((len(system.rows), len(system.costs)))
    for index, row in enumerate(system.rows):
        for column, value in row.items():
            matrix[index, column] = float(value)
    full = np.hstack([matrix, np.eye(len(system.rows))])
    return bool(np.linalg.matrix_rank(full[:, basis]) == len(basis))


@pytest.mark.parametrize("kind", ["none", "random", "too short", "moved"])
@pytest.mark.parametrize("name", REFERENCE)
def test_a_wrong_basis_still_ends_exactly_optimal(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rational, "_suggested", wrong(kind))
    data, channel, loss, delta, optimum, _ = REFERENCE[name]
    found = checked(joint_of(data, channel), both_orders(len(data)), Fraction(2), delta, costs(data, loss, 4))
    assert found.cost == optimum
    assert found.pivots > 0


def test_numbers_below_the_tolerance_of_the_float_solver_are_not_lost() -> None:
    # probabilities down to 1e-14 at odds 3: the float basis is not optimal, exact pivots finish the work
    pivots, generator = 0, np.random.default_rng(0)

    def law(size: int) -> list[Fraction]:
        parts = [10 ** int(k) for k in generator.integers(0, 14, size)]
        return [Fraction(part, sum(parts)) for part in parts]

    for _ in range(12):
        data, channel = fractions([law(4), law(4)]), fractions([law(3) for _ in range(4)])
        joint, weights = joint_of(data, channel), costs(data, far, 4)
        delta = min(naive(joint, both_orders(2), Fraction(3), [[Fraction(1)]] * 4) + Fraction(1, 10), Fraction(1))
        pivots += checked(joint, both_orders(2), Fraction(3), delta, weights).pivots
    assert pivots > 0


def test_several_priors_pay_for_the_worst() -> None:
    weights = np.concatenate([costs(TWO[:1], far, 4), costs(TWO[1:], far, 4)])
    joint, pairs, odds, delta = joint_of(TWO, BINARY), both_orders(2), Fraction(2), Fraction(1, 20)
    both = checked(joint, pairs, odds, delta, weights)
    tables, unit = signed(joint, pairs, odds)
    hinges = [hinges_of(table, unit, delta) for table in tables]
    assert rows_needed(hinges, weights.shape) == len(written(hinges, weights).rows) == 24
    alone = [checked(joint, pairs, odds, delta, weights[t : t + 1]).cost for t in range(2)]
    mixed = checked(joint, pairs, odds, delta, weights.mean(axis=0, keepdims=True)).cost
    assert max(alone) < both.cost
    assert mixed <= both.cost  # a law over the priors is one of the bounds that the duals choose from
    assert min(both.duals.priors) > 0


@pytest.mark.parametrize("level", [Fraction(0), Fraction(5), Fraction(-7, 3)])
def test_degenerate_costs(level: Fraction) -> None:
    # the cost is the same whatever is released; two priors that agree; a free optimum
    weights = np.full((2, 4, 3), level, dtype=object)
    found = checked(joint_of(TWO, BINARY), both_orders(2), Fraction(2), Fraction(0), weights)
    assert found.cost == 4 * level


def test_delta_zero_with_outputs_that_reveal_and_outputs_that_cannot_occur() -> None:
    channel = fractions([(1, 0, 0), (0, 1, 0), (0, 1, 0), (0, 1, 0)])
    data = fractions([("1/4", "1/4", "1/4", "1/4"), ("1/4", "1/2", "1/8", "1/8")])
    found = checked(joint_of(data, channel), both_orders(2), Fraction(3, 2), Fraction(0), costs(data, far, 4))
    assert found.delta == 0
    # without a limit the identity is free; so it is when delta is one
    free = checked(joint_of(data, channel), both_orders(2), Fraction(1), Fraction(1), costs(data, far, 4))
    assert free.cost == 0


def test_hinges_that_are_always_positive_take_from_the_room() -> None:
    # row 0 alone can show output 0: its hinge sums to 1/10 whatever is released next
    joint = np.array(
        [
            [[Fraction(1, 10), Fraction(2, 5)], [Fraction(0), Fraction(1, 2)]],
            [[Fraction(0), Fraction(1, 4)], [Fraction(0), Fraction(3, 4)]],
        ],
        dtype=object,
    )
    weights = np.array([[[0, 1], [1, 0]]], dtype=object) * Fraction(1, 2)
    tables, unit = signed(joint, [(0, 1)], Fraction(1))
    hinges = hinges_of(tables[0], unit, Fraction(1, 4))
    assert hinges.always == (0,)
    assert hinges.room == Fraction(3, 20)
    for delta in (Fraction(1, 10), Fraction(1, 5), Fraction(1, 4)):
        checked(joint, both_orders(2), Fraction(1), delta, weights)
    with pytest.raises(Unreachable, match="1/10"):
        solve_exactly(joint, both_orders(2), 1, Fraction(9, 100), weights)


def test_proportional_outputs_are_one_hinge_and_change_nothing() -> None:
    split = fractions([(a / 3, b, 2 * a / 3, 0) for a, b in BINARY])  # output 0 in two parts, and an impossible one
    tables, unit = signed(joint_of(TWO, split), [(0, 1)], Fraction(2))
    hinges = hinges_of(tables[0], unit, Fraction(1, 20))
    assert len(hinges.rays) == 2
    assert sorted(hinges.members) == [(0, 2), (1,)]
    found = checked(joint_of(TWO, split), both_orders(2), Fraction(2), Fraction(1, 20), costs(TWO, far, 4))
    assert found.cost == Fraction(627, 1240)


def test_one_output_and_one_input() -> None:
    weights = costs(TWO, far, 1)
    found = checked(joint_of(TWO, BINARY), both_orders(2), Fraction(2), Fraction(1, 20), weights)
    assert found.channel == ((Fraction(1),),) * 4
    single = np.array([[["1/2", "1/2"]], [["1/4", "3/4"]]], dtype=object)
    assert solve_exactly(single, both_orders(2), 2, 0, [[["1/3", 0, 1]]]).cost == 0


def full_program(joint: Table, pairs: Any, odds: float, delta: float, weights: Table) -> float:
    """The unreduced program of theory section 4 in floats: g, u and the worst cost."""
    inputs, before = joint.shape[1:]
    outputs, count = weights.shape[2], len(pairs) * before * weights.shape[2]
    width = inputs * outputs + count + 1
    matrix, right = [], []
    for p, (i, j) in enumerate(pairs):
        total = np.zeros(width)
        for y in range(before):
            for z in range(outputs):
                u = inputs * outputs + (p * before + y) * outputs + z
                row = np.zeros(width)
                row[[x * outputs + z for x in range(inputs)]] = (joint[i, :, y] - odds * joint[j, :, y]).astype(float)
                row[u], total[u] = -1.0, 1.0
                matrix.append(row)
                right.append(0.0)
        matrix.append(total)
        right.append(delta)
    for prior in weights:
        matrix.append(np.concatenate([prior.astype(float).ravel(), np.zeros(count), [-1.0]]))
        right.append(0.0)
    equal = np.zeros((inputs, width))
    for x in range(inputs):
        equal[x, x * outputs : (x + 1) * outputs] = 1.0
    bounds = [(0, None)] * (width - 1) + [(None, None)]
    objective = np.eye(width)[-1]
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(objective, np.array(matrix), right, equal, np.ones(inputs), bounds, options=tight)
    assert found.status == 0
    return float(found.fun)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Table, list[tuple[int, int]], Fraction, Fraction, Table]:
    rows, inputs, before = draw(st.integers(2, 3)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    outputs, priors = draw(st.integers(1, 4)), draw(st.integers(1, 3))

    def law(size: int) -> list[Fraction]:
        parts = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any))
        return [Fraction(part, sum(parts)) for part in parts]

    joint = np.array([[law(before)] * inputs for _ in range(rows)], dtype=object)
    for row in joint:
        for x, mass in enumerate(law(inputs)):
            row[x] = [mass * entry for entry in law(before)]
    size = priors * inputs * outputs
    values = draw(st.lists(st.fractions(-2, 2, max_denominator=5), min_size=size, max_size=size))
    weights = np.array(values, dtype=object).reshape(priors, inputs, outputs)
    pairs = draw(st.lists(st.sampled_from(both_orders(rows)), min_size=1, max_size=4))
    odds, slack = draw(st.fractions(1, 4, max_denominator=4)), draw(st.sampled_from(["0", "1/50", "1/7"]))
    constant = [[Fraction(1)]] * inputs
    delta = min(naive(joint, pairs, odds, constant) + Fraction(slack), Fraction(1))
    return joint, pairs, odds, delta, weights


@settings(max_examples=examples(60), deadline=None)
@given(problems())
def test_random_problems_agree_with_floats(problem: Any) -> None:
    joint, pairs, odds, delta, weights = problem
    found = checked(joint, pairs, odds, delta, weights)
    # the same program in floats, where a tolerance of 1e-10 is worth that times a multiplier
    truth = full_program(joint, pairs, float(odds), float(delta), weights)
    assert float(found.cost) == pytest.approx(truth, abs=1e-7)


def test_ordinary_problems_agree_with_floats_to_nine_digits() -> None:
    generator = np.random.default_rng(5)

    def law(size: int) -> list[Fraction]:
        parts = generator.integers(1, 30, size)
        return [Fraction(int(part), int(parts.sum())) for part in parts]

    for rows in (2, 3, 2, 3):
        data, channel = fractions([law(5) for _ in range(rows)]), fractions([law(3) for _ in range(5)])
        joint, pairs, weights = joint_of(data, channel), both_orders(rows), costs(data, far, 5)
        found = checked(joint, pairs, Fraction(3, 2), Fraction(1, 5), weights)
        assert float(found.cost) == pytest.approx(full_program(joint, pairs, 1.5, 0.2, weights), abs=1e-9)


@settings(max_examples=examples(30), deadline=None)
@given(problems(), st.data())
def test_any_multipliers_give_a_lower_bound(problem: Any, data: st.DataObject) -> None:
    joint, pairs, odds, delta, weights = problem
    cost = solve_exactly(joint, pairs, odds, delta, weights).cost
    share = st.fractions(0, 1, max_denominator=4)
    most = [data.draw(st.fractions(0, 3, max_denominator=4)) for _ in pairs]
    table = tuple(
        tuple(tuple(m * data.draw(share) for _ in range(weights.shape[2])) for _ in range(joint.shape[2])) for m in most
    )
    priors = (Fraction(1), *[Fraction(0)] * (len(weights) - 1))
    assert lower_bound(joint, pairs, odds, delta, weights, Duals(priors, tuple(most), table)) <= cost


def test_multipliers_outside_their_range_prove_nothing() -> None:
    joint, weights = joint_of(TWO, NOTHING), costs(TWO, far, 4)
    good = solve_exactly(joint, [(0, 1)], 2, 0, weights).duals
    nothing = tuple(tuple((Fraction(-1),) * 4 for _ in range(1)) for _ in range(1))
    for bad in (
        Duals((Fraction(2),), good.pairs, good.hinges),
        Duals((Fraction(2), Fraction(-1)), good.pairs, good.hinges),
        Duals(good.priors, good.pairs, nothing),
        Duals(good.priors, (Fraction(0),), good.hinges),
    ):
        with pytest.raises(NotCertified):
            lower_bound(joint, [(0, 1)], Fraction(2), Fraction(0), weights, bad)


def test_an_existing_violation_is_refused_with_its_delta() -> None:
    joint = joint_of(TWO, fractions([(1, 0), (1, 0), (0, 1), (0, 1)]))
    # the released bit alone has delta 4/5 - 2/5 at odds 2
    with pytest.raises(Unreachable, match="already has delta 2/5"):
        solve_exactly(joint, both_orders(2), 2, Fraction(399, 1000), costs(TWO, far, 4))
    checked(joint, both_orders(2), Fraction(2), Fraction(2, 5), costs(TWO, far, 4))


def test_sizes_past_the_limit_are_left_to_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = (joint_of(TWO, BINARY), both_orders(2), 2, Fraction(1, 20), costs(TWO, far, 4))
    monkeypatch.setattr(rational, "MAX_EXACT_ROWS", 21)  # 4 laws, 2 x 2 x 4 hinges and 2 sums are 22
    with pytest.raises(Unsupported, match="22 inequalities are more than 21; use floats"):
        solve_exactly(*arguments)
    monkeypatch.setattr(rational, "MAX_EXACT_ROWS", 22)
    assert solve_exactly(*arguments).gap == 0
    monkeypatch.setattr(rational, "ENTRIES", 63)
    with pytest.raises(Unsupported, match="use floats"):
        solve_exactly(*arguments)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 100)])
def test_odds_past_the_largest_float(delta: Fraction) -> None:
    data = fractions([("1/2", "1/2", 0), ("1/4", "1/4", "1/2")])
    arguments = (joint_of(data, NOTHING[:3]), both_orders(2), Fraction(10**400), delta, costs(data, far, 3))
    found = checked(*arguments)
    assert 0 < found.cost < 1
    assert float(found.delta) == pytest.approx(float(delta), abs=1e-12)
    reveals = joint_of(data, fractions([(1, 0), (1, 0), (0, 1)]))
    with pytest.raises(Unreachable, match=r"odds about 1.00000000e\+400"):
        solve_exactly(reveals, both_orders(2), Fraction(10**400), delta, costs(data, far, 3))


@pytest.mark.parametrize("shift", ["1/100", "1"])
def test_what_the_pivots_return_is_not_trusted(shift: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = rational.optimal

    def wrong_optimum(*arguments: Any) -> Optimum:
        found = honest(*arguments)
        return attrs.evolve(found, values=tuple(value - Fraction(shift) * bool(value) for value in found.values))

    monkeypatch.setattr(rational, "optimal", wrong_optimum)
    with pytest.raises(NotCertified):
        solve_exactly(joint_of(TWO, BINARY), both_orders(2), 2, Fraction(1, 20), costs(TWO, far, 4))


def test_a_basis_that_stays_singular_is_left_to_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    def singular(*_: Any) -> Optimum:
        raise Singular("modulo five primes")

    monkeypatch.setattr(rational, "optimal", singular)
    with pytest.raises(Unsupported, match="five primes; use floats"):
        solve_exactly(joint_of(TWO, BINARY), both_orders(2), 2, Fraction(1, 20), costs(TWO, far, 4))


def test_a_missing_solver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(MissingExtra, match=r"highspy.*design"):
        solve_exactly(joint_of(TWO, BINARY), both_orders(2), 2, Fraction(1, 20), costs(TWO, far, 4))


GOOD: dict[str, Any] = {
    "joint": [[["1/2"], ["1/2"]], [["1/4"], ["3/4"]]],
    "pairs": [(0, 1), (1, 0)],
    "odds": 2,
    "delta": 0,
    "weights": [[[0, 1], [1, 0]]],
}


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("joint", [[[0.5], [0.5]], [[0.25], [0.75]]], r"Fraction\('0.1'\)"),
        ("joint", [[["1/2"], ["1/3"]], [["1/4"], ["3/4"]]], "sum of row 0"),
        ("joint", [[["3/2"], ["-1/2"]], [["1/4"], ["3/4"]]], "none negative"),
        ("joint", [[["1/2"], ["1/2", "0"]], [["1/4"], ["3/4"]]], "shape of joint"),
        ("joint", [np.ones((2, 1), dtype=int), np.ones((2, 2), dtype=int)], "shape of joint"),
        ("joint", [["1/2", "1/2"], ["1/4", "3/4"]], "three axes"),
        ("joint", [], "three axes"),
        ("joint", [[[True], [False]], [["1/4"], ["3/4"]]], "an entry of joint"),
        ("joint", [[["x"], ["1/2"]], [["1/4"], ["3/4"]]], "an entry of joint"),
        ("joint", [[[None], ["1/2"]], [["1/4"], ["3/4"]]], "an entry of joint"),
        ("joint", [[[float("nan")], ["1/2"]], [["1/4"], ["3/4"]]], "an entry of joint"),
        ("pairs", [], "nothing is protected"),
        ("pairs", [(0, 0)], "a pair"),
        ("pairs", [(0, 2)], "a pair"),
        ("pairs", [(0, 1, 1)], "a pair"),
        ("pairs", [(0, True)], "a secret in pairs"),
        ("pairs", [(0, -1)], "a secret in pairs"),
        ("pairs", None, "pairs"),
        ("odds", Fraction(99, 100), "odds"),
        ("odds", 2.0, "odds"),
        ("odds", Fraction(1, 10**5000), "about 1e-5000"),
        ("odds", True, "odds"),
        ("delta", Fraction(-1, 100), "delta"),
        ("delta", Fraction(101, 100), "delta"),
        ("delta", 0.1, "delta"),
        ("weights", [[[0, 1]]], "shape of weights"),
        ("weights", [[[0, 1], [1, float("inf")]]], "an entry of weights"),
        ("weights", [[0, 1], [1, 0]], "three axes"),
    ],
)
def test_bad_input_is_refused(name: str, value: Any, match: str) -> None:
    assert solve_exactly(**GOOD).gap == 0
    with pytest.raises(InvalidParameter, match=match):
        solve_exactly(**{**GOOD, name: value})
