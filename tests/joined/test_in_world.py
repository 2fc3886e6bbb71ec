"""Plans in worlds: brute force over the rows of one person, also where a plan uses some of them only."""

import itertools
import math

import numpy as np
import pytest
from benchmarks.soundness.rooms.joined_worlds import asked, drawn
from tests.examples import seeds

import quiltwork as qw
from quiltwork import confounding as cf

WORLD = cf.World(data=[["9/10", "1/10"], ["1/5", "4/5"]])


def counting(noise, contribution=None):
    """How many rows are of day 5, whatever their state."""
    t = qw.Table(person=qw.Id(), day=qw.Int(0, 6), state=qw.Cat(0, 1))
    plan = qw.Plan(t, neighbors=qw.user("person", 3), contribution=contribution)
    return plan.add("day 5", where=t.day == 5, count=True, loss=noise, holds=qw.on_input(qw.add_remove()))


@pytest.mark.parametrize("seed", seeds(60))
def test_no_mechanism_tells_more(seed):
    checks = list(asked(drawn(np.random.default_rng([24, seed]))))
    assert checks
    assert all(check.holds for check in checks), [check.note for check in checks if not check.holds]


def test_a_row_that_changes_may_push_out_another_one():
    """Of a row of day 1 and one of day 5 the one with the smaller state is used: then the state decides about day 5."""
    assert counting(qw.pure(1.0)).guarantee(world=WORLD, changes=["state"]).epsilon(0.0).upper == 0.0
    bound = counting(qw.pure(1.0), qw.clip_rows("person", 1)).guarantee(world=WORLD, changes=["state"])
    right = math.e / (1 + math.e)
    told = WORLD.release([[1 - right, right], [right, 1 - right]]).epsilon(0.0)
    assert told.lower > 0.5
    assert bound.epsilon(0.0).upper >= told.lower
    assert any("used by the whole plan" in line for line in bound.assumes)


@pytest.mark.parametrize("loss", [qw.pure(0.7), qw.gaussian(1.5), qw.approximate(0.4, 1e-3)])
def test_two_contents_of_a_record_are_told_as_the_bound_says(loss):
    """With two values nothing is averaged over: the theorem is an equality, and both ends say so."""
    t = qw.Table(state=qw.Cat(0, 1))
    plan = qw.Plan(t, neighbors=qw.replace_one())
    plan.add("ones", where=t.state == 1, count=True, loss=loss, holds=qw.on_input(qw.add_remove()))
    promise = plan.guarantee(world=WORLD)
    for found in (promise.delta(0.2), promise.epsilon(0.01)):
        assert 0.0 < found.lower <= found.upper <= found.lower * (1 + 1e-5)


def test_of_several_contents_of_a_plan_nothing_is_claimed_from_below():
    """Which contents are alike the plan decides, and not whoever looks for the worst one."""
    t = qw.Table(state=qw.Cat(0, 1, 2))
    plan = qw.Plan(t, neighbors=qw.replace_one())
    for state in range(3):
        plan.add(f"{state}", where=t.state == state, count=True, loss=qw.pure(1.0), holds=qw.on_input(qw.add_remove()))
    world = cf.World(data=[[0.5, 0.5, 0.0], [0.1, 0.1, 0.8]])
    found = plan.guarantee(world=world).epsilon(0.0)
    truth = _told(world, [[0, 1, 2], [0, 2, 1]])
    assert found.lower == 0.0 < truth <= found.upper


def _told(world, orders):
    """epsilon at delta 0 of three randomised responses, for the worst of some ways to name contents."""
    right, outputs = math.e / (1 + math.e), list(itertools.product((0, 1), repeat=3))
    worst = 0.0
    for order in orders:
        channel = [
            [math.prod(right if out[q] == (place == q) else 1 - right for q in range(3)) for out in outputs]
            for place in order
        ]
        channel = np.array(channel) / np.sum(channel, axis=1, keepdims=True)
        worst = max(worst, float(world.release(channel).epsilon(0.0).lower))
    return worst
