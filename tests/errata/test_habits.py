"""Habits of accounting code, each in a case where it promises too much, or too little."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.compose.naive import hockey_stick as exact_hockey_stick
from tests.errata import transform
from tests.truth import constraints as truth

import quiltwork as qw
from quiltwork.tables.notions.spaces import Space, add_remove, multisets
from quiltwork.tables.papers.small_channels import hockey_stick, joint, truncated_geometric

FIGURE_2 = (("0.3", "0"), ("0.15", "0.02"))
SAMPLED = qw.poisson(qw.pure(1.0), 0.5)


def brute(count, side, epsilon):
    """Randomized response with epsilon 1, its record in the sample half of the time, over all outputs."""
    likely = math.e / (1 + math.e)
    without, within = (1 - likely, likely), (0.5, 0.5)  # half and half of two mirrored laws is even
    p, q = (within, without) if side == "remove" else (without, within)
    total = 0.0
    for heads in range(count + 1):
        one, two = (law[0] ** heads * law[1] ** (count - heads) for law in (p, q))
        total += math.comb(count, heads) * max(one - math.exp(epsilon) * two, 0.0)
    return total


def test_the_removal_alone_is_no_guarantee():
    """Two releases, epsilon = .3: removing costs .152, adding .197; the engine answers with the larger."""
    removed, added = ((2 * SAMPLED).direction(side) for side in ("remove", "add"))
    assert removed.delta(0.3).upper == pytest.approx(0.1524, abs=1e-4)
    assert added.delta(0.3).lower == pytest.approx(0.1970, abs=1e-4)
    assert (2 * SAMPLED).delta(0.3).upper >= added.delta(0.3).lower
    assert removed.epsilon(0.15).upper == pytest.approx(0.324, abs=1e-3)
    assert added.epsilon(0.15).lower == pytest.approx(0.430, abs=1e-3)
    assert added.delta(removed.epsilon(0.15).upper).lower > 0.15  # the promise of one direction is broken


def test_which_direction_is_worse_changes_with_the_count():
    for count, worse in ((2, "add"), (3, "remove")):
        deltas = {side: (count * SAMPLED).direction(side).delta(0.3) for side in ("remove", "add")}
        for side, delta in deltas.items():
            assert delta.upper == pytest.approx(brute(count, side, 0.3), rel=1e-9)
        assert max(deltas, key=lambda side: deltas[side].lower) == worse
        assert (count * SAMPLED).delta(0.3).upper == pytest.approx(deltas[worse].upper, rel=1e-9)


def test_a_plain_transform_falls_below_the_truth():
    """100 releases of Fig. 2: the deltas at epsilon >= 20 are below 1e-24, the error of the transform is near 1e-16."""
    losses, masses = transform.composed(FIGURE_2, 0.15, 100)
    law, loss = truth.composed([(FIGURE_2, 100)]), 100 * qw.constraints([(0.3, 0.0), (0.15, 0.02)])
    assert transform.delta(losses, masses, 10.0) == pytest.approx(float(law.delta(10)), rel=1e-7)  # where it is large
    assert float(law.delta(24)) == pytest.approx(1.14e-39, rel=5e-3)
    below = lost = 0
    for place in range(134, 199):
        epsilon = 0.15 * place
        true = law.delta(truth.real(truth.exact("0.15") * place))
        found = transform.delta(losses, masses, epsilon)
        assert abs(found - float(true)) < 1e-13
        below, lost = below + (found < true), lost + (abs(found - float(true)) > true)
        bracket = loss.delta(epsilon)
        assert bracket.lower <= true * (1 + 1e-13)
        assert true * (1 - 1e-13) <= bracket.upper
        assert bracket.upper < 2 * true
    assert below > 0
    assert lost > 50  # of 65: no digit is left


def test_rounding_up_moves_losses_that_lie_on_the_grid():
    """ln(p/q) of a response in doubles, rounded up to a grid on which .3 and .15 are points."""
    step, moved = 1e-3, 0
    for epsilon, point in ((0.3, 300), (0.15, 150)):
        p, q = (math.exp(sign * epsilon) / (1 + math.exp(sign * epsilon)) for sign in (1, -1))
        landed = [math.ceil(math.log(one / two) / step) for one, two in ((p, q), (q, p))]
        moved += landed != [point, -point]
        if epsilon == 0.3:
            assert math.log(p / q) > epsilon
            assert landed[0] == 301
    assert moved >= 1
    found = (20 * qw.constraints([(0.3, 0.0), (0.15, 0.02)])).delta(1.0, rtol=1e-9)
    true = truth.composed([(FIGURE_2, 20)]).delta(1)
    assert found.lower <= true <= found.upper


def revealing(count, epsilon, delta):
    """A noisy count of up to two records, told exactly with probability delta."""
    told = np.eye(3)[count]
    return np.concatenate([(1 - delta) * truncated_geometric(count, 2, epsilon), delta * told])


def test_parallel_composition_has_a_delta():
    """Two parts with (1, .01) and (.5, .05): together (1, .05), the larger of each, not the sum (Theorem VI.6)."""
    epsilons, deltas = (1.0, 0.5), (0.01, 0.05)
    space = Space(multisets("ab", 2), add_remove)
    both = joint(
        [[revealing(table.count(part), *loss) for table in space.databases]
         for part, loss in zip("ab", zip(epsilons, deltas, strict=True), strict=True)]
    )  # fmt: skip
    found = {pair: hockey_stick(both[pair[0]], both[pair[1]], max(epsilons)) for pair in space.neighbours}
    assert max(found.values()) == pytest.approx(max(deltas), rel=1e-12)
    for i, j in itertools.permutations(range(len(space.databases)), 2):  # and further apart, with delta [d]_epsilon
        steps = space.distances[i, j]
        allowed = max(deltas) * math.expm1(max(epsilons) * steps) / math.expm1(max(epsilons))
        assert hockey_stick(both[i], both[j], max(epsilons) * steps) <= allowed * (1 + 1e-12)


def responses(odds):
    """All outputs of responses that are right with these odds, under both bits, in rationals."""
    laws = [(odd / (1 + odd), 1 / (1 + odd)) for odd in odds]
    picks = itertools.product((0, 1), repeat=len(odds))
    return [tuple(math.prod(law[bit ^ side] for law, bit in zip(laws, pick, strict=True)) for side in (0, 1))
            for pick in picks]  # fmt: skip


def test_the_largest_sum_is_not_the_worst_composition():
    """One response with e^eps = 3 for a record of N, three with 3/2 for one of S: each sum misses one end."""
    odds = {"N": [Fraction(3)], "S": [Fraction(3, 2)] * 3}
    outputs = {side: responses(some) for side, some in odds.items()}
    sums = {side: sum(math.log(one) for one in some) for side, some in odds.items()}
    squares = {side: sum(math.log(one) ** 2 for one in some) for side, some in odds.items()}
    assert (max(sums, key=sums.get), max(squares, key=squares.get)) == ("S", "N")
    exact = {
        t: {side: exact_hockey_stick(found, t) for side, found in outputs.items()} for t in (1, Fraction(31, 10))
    }  # fmt: skip
    assert exact[1] == {"N": Fraction(1, 2), "S": Fraction(37, 125)}  # the largest sum is not the worst
    assert exact[Fraction(31, 10)] == {"N": 0, "S": Fraction(11, 625)}  # nor is the largest sum of squares
    table = qw.Table(region=qw.Cat("N", "S"))
    plan = qw.Plan(table, qw.add_remove())
    for side, some in odds.items():
        for number, one in enumerate(some):
            loss, holds = qw.pure(math.log(one)), qw.on_input(qw.add_remove())
            plan.add(f"{side} {number}", where=table.region == side, count=True, loss=loss, holds=holds)
    for t, deltas in exact.items():
        assert plan.guarantee().delta(math.log(t), rtol=1e-9).upper == pytest.approx(float(max(deltas.values())))
