"""The task in floats is relaxed, so that its lower bounds hold; certificates and prices are rounded outward."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.confounding.design_truth import Truth, smooth

from quiltwork.confounding.design.certificate import counted
from quiltwork.confounding.design.exact.design import solve_exactly
from quiltwork.confounding.design.refinement import refine
from quiltwork.confounding.design.task import Target, Task, relaxed, task_of
from quiltwork.confounding.world import World
from quiltwork.numbers.laws import Laws, laws

F = Fraction
DATA = [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]
CHANNEL = [[0.55, 0.45], [0.5, 0.5], [0.45, 0.55]]
ODDS = F(21, 20)


def task(world: World, *channels: Any, reads: str = "data", **target: Any) -> Task:
    given = {"epsilon": None, "delta": 0, "cost": "absolute", **target}
    return task_of(world, world.release(*channels), Target(reads=reads, **given))


@pytest.mark.parametrize("reads", ["data", "secret", "data and output"])
@pytest.mark.parametrize("seed", [0, 2, 3])
def test_what_meets_the_target_meets_the_relaxed_one(seed: int, reads: str) -> None:
    """The exact optimum, put into the floats of the relaxed problem, stays within its delta."""
    rng = np.random.default_rng(seed)
    data, channel = rng.dirichlet(np.ones(3), size=2).tolist(), rng.dirichlet(np.full(3, 5.0), size=3).tolist()
    world = World(data=data)
    truth = Truth(world, data, [channel], reads=reads)
    delta = truth.before(ODDS) + F(1, 50)
    found = task(world, channel, odds=ODDS, delta=delta, reads=reads)
    problem, certain = relaxed(found)
    assert certain
    optimum = solve_exactly(truth.joint, world.ordered, ODDS, delta, truth.weights(found.cost.exact.tolist()))
    assert optimum.delta == delta
    best = np.array([[float(entry) for entry in row] for row in optimum.channel])
    assert problem.deltas(best).max() <= problem.delta + 1e-15
    assert problem.odds > float(ODDS)
    assert problem.delta > float(delta)
    lower = refine(problem).lower_bound - found.slack
    assert float(optimum.cost) - 1e-11 < lower
    assert F(lower) <= optimum.cost


def test_merged_outputs_do_not_raise_delta() -> None:
    world, channels = smooth(2, 5, (6, 6), (1.0, 1.0))
    found = task(world, *channels, epsilon=0.5, delta=0.1)
    problem, _ = relaxed(found)
    few, _ = relaxed(found, 5)
    assert few.joint.shape[2] <= 5 < problem.joint.shape[2] < 36
    rng = np.random.default_rng(0)
    for _ in range(20):
        channel = rng.dirichlet(np.full(5, 0.3), size=5)
        true = float(found.after(counted(channel, 50)).delta(0.5).upper)
        assert problem.deltas(channel).max() <= true + 1e-12
        assert few.deltas(channel).max() <= true + 1e-12


def wide(table: Any, width: float) -> Laws:
    plain = laws("table", table)
    return Laws(plain.low * (1 - width), np.minimum(plain.high * (1 + width), 1.0))


def test_what_is_hardly_known_loosens_the_relaxed_problem() -> None:
    """Ends 2% apart: the relaxed delta grows by all the mass they leave open, (1 + t) 4% for a row of sum one."""
    world = World(data=DATA)
    sharp = task(world, CHANNEL, epsilon=1.0, delta=0.05)
    loose = task(world, wide(CHANNEL, 0.02), epsilon=1.0, delta=0.05)
    (one, sure), (two, also) = relaxed(sharp), relaxed(loose)
    assert sure
    assert also
    assert one.delta == pytest.approx(0.05, abs=1e-12)
    assert two.delta == pytest.approx(0.05 + 0.04 * (1 + math.e), rel=1e-6)
    assert not relaxed(task(world, wide(CHANNEL, 0.02), epsilon=1.0, delta=0))[1]


def test_faint_probabilities_count_times_the_odds() -> None:
    """A probability of 1e-260 has lost its digits; with odds of 1e200 it can still matter by 1e-60."""
    world = World(data=[[1e-260, 1.0], [0.5, 0.5]])
    found, certain = relaxed(task(world, epsilon=200 * math.log(10), delta=1e-30))
    assert certain
    assert found.delta >= 1e-30
    assert not relaxed(task(world, epsilon=1.0, delta=0))[1]


def test_costs_are_weighed_with_the_law_of_the_data() -> None:
    """Wide ends of what was released before do not touch P(x)."""
    world = World(data=DATA)
    sharp, loose = (task(world, table, epsilon=1.0, delta=0.1) for table in (CHANNEL, wide(CHANNEL, 0.02)))
    assert np.array_equal(sharp.weights, loose.weights)
    assert sharp.slack == loose.slack < 1e-13
    read = task(world, wide(CHANNEL, 0.02), epsilon=1.0, delta=0.2, reads="data and output")
    assert read.slack > 0.02


def test_targets_past_floats_have_no_lower_bound() -> None:
    world = World(data=DATA)
    assert relaxed(task(world, epsilon=690.0, delta=0.1))[1]
    for epsilon in (691.0, 710.0, 1e300):
        found, certain = relaxed(task(world, epsilon=epsilon, delta=0.1))
        assert not certain
        assert math.isfinite(found.odds)


def test_a_delta_below_floats_is_not_taken_for_zero() -> None:
    """A lower bound for delta = 0 would be none for delta = 1e-400."""
    world = World(data=DATA)
    found = task(world, epsilon=1.0, delta=F(1, 10**400))
    assert found.delta == 0.0
    assert relaxed(found)[0].delta > 0
    assert relaxed(task(world, epsilon=1.0, delta=0))[0].delta == 0


def test_a_stated_delta_is_read_both_ways() -> None:
    """The double 0.1 lies above 1/10, the double 0.3 below 3/10: the smaller counts."""
    world = World(data=DATA)
    tenth, three = task(world, epsilon=1.0, delta=0.1), task(world, epsilon=1.0, delta=0.3)
    assert not tenth.allows(0.1)
    assert tenth.allows(math.nextafter(0.1, 0))
    assert three.allows(0.3)
    assert not three.allows(math.nextafter(0.3, 1))
    assert task(world, epsilon=1.0, delta=0).allows(0.0)
    assert not task(world, epsilon=1.0, delta=0).allows(5e-324)


def test_a_silent_table_leaves_the_existing_release() -> None:
    world = World(data=DATA)
    found = task(world, CHANNEL, epsilon=0.5, delta=0.1)
    constant = counted(np.full((3, 2), 0.5), 50)
    assert found.holds(constant)
    before = world.release(CHANNEL)
    for epsilon in (0.0, 0.1, 0.5):
        assert float(found.after(constant).delta(epsilon).upper) == float(before.delta(epsilon).upper)
    nothing = task(World(data=[[1 / 3, 2 / 3], [0.5, 0.5]]), epsilon=0.0, delta=0)
    silent = counted(np.full((2, 2), 0.5), 50)
    assert nothing.holds(silent)
    assert float(nothing.delta_of(nothing.after(silent)).upper) == 0.0


def test_prices_are_rounded_up_and_bounds_of_the_largest_cost_are_true() -> None:
    world = World(data=DATA)
    found = task(world, epsilon=1.0, delta=0.1, cost=[[-3.0, 1.0], [2.0, 0.0], [0.0, -7.0]])
    table = counted(np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]), 50)
    truth = Truth(world, DATA).weights([[F(-3), F(1)], [F(2), F(0)], [F(0), F(-7)]])[0]
    law = [[F(1, 4), F(3, 4)], [F(1, 2), F(1, 2)], [F(1), F(0)]]
    exact = sum(w * g for a, b in zip(truth, law, strict=True) for w, g in zip(a, b, strict=True))
    assert exact <= F(found.price(table.channel)) <= exact + F(1, 10**12)
    assert found.size == pytest.approx(0.35 * 3 + 0.3 * 2 + 0.35 * 7)
    assert found.cheapest()[:, 1].tolist() == [1.0, 1.0, 1.0]
