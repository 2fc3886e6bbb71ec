"""Guarantees as losses: theory/joining.md section 1, its numbers, and what must not become a loss."""

import json
import math

import numpy as np
import pytest

import quiltwork as qw
from quiltwork import confounding as cf
from quiltwork import pufferfish as pf
from quiltwork.compose.loss import Loss
from quiltwork.compose.worst_vector import WorstVector
from quiltwork.errors import Unsupported

CHAIN = pf.MarkovChain([[0.8, 0.2], [0.2, 0.8]], length=5)


def plan(north, south, neighbors=None):
    t = qw.Table(region=qw.Cat("N", "S"))
    made = qw.Plan(t, neighbors=qw.add_remove() if neighbors is None else neighbors)
    for name, loss in (("N", north), ("S", south)):
        made.add(name, where=t.region == name, count=True, loss=loss, holds=qw.on_input(qw.add_remove()))
    return made


@pytest.fixture(scope="module")
def mixed():
    return plan(qw.gaussian(2.0), qw.pure(0.9)).guarantee()


@pytest.mark.parametrize(
    ("delta", "alone", "vectors", "supremum"),
    [
        (1e-2, 0.9194576350492668, 1.722899699510249, 1.725069901091903),
        (1e-4, 1.698072531736776, 2.358730458669479, 2.358730458669479),
        (1e-6, 2.254084650219741, 2.969251522098828, 2.969251522098828),
    ],
)
def test_printed_values(mixed, delta, alone, vectors, supremum):
    loss = mixed.loss()
    found = loss.epsilon(delta)
    assert found.lower <= alone * (1 + 1e-9)
    assert alone * (1 - 1e-9) <= found.upper <= alone * (1 + 1e-3)
    together = qw.compose(mixed, 3 * qw.pure(0.3)).epsilon(delta)
    assert together.lower <= vectors * (1 + 1e-9)
    assert vectors * (1 - 1e-9) <= together.upper <= vectors * (1 + 1e-3)
    above = Loss.of(loss.parts[0].family.above) + 3 * qw.pure(0.3)
    assert supremum * (1 - 1e-6) <= above.epsilon(delta).upper <= supremum * (1 + 2e-3)


def test_squares_of_the_supremum_and_of_vectors():
    """Randomised response (3/4, 1/4) and a coin that reveals with 1/5, both twice: exact values of the theory."""
    twice = plan(qw.randomized_response(math.log(3.0)), qw.approximate(0.0, 0.2)).guarantee()
    epsilons = np.log([1.0, 2.0, 3.0, 5.0])
    vectors, supremum = [1 / 2, 7 / 16, 3 / 8, 9 / 25], [3 / 5, 43 / 80, 19 / 40, 9 / 25]
    joined = qw.compose(twice, twice).delta(epsilons)
    assert np.allclose(joined.upper, vectors, rtol=1e-9)
    repeated = (2 * twice.loss()).delta(epsilons)
    either = [3 / 5, 7 / 16, 3 / 8, 9 / 25]  # a coin and a response may meet, .2 + .8 delta of the response
    assert np.all(repeated.upper >= np.array(either) - 1e-9)
    assert np.all(repeated.upper <= np.array(supremum) + 1e-9)
    assert np.all(repeated.lower <= np.array(vectors) + 1e-9)


def test_one_vector_is_the_composition_itself():
    near = qw.add_remove()
    assert plan(qw.gaussian(2.0), qw.gaussian(2.0)).guarantee().loss() == qw.gaussian(2.0).stated_for(near)
    assert plan(qw.pure(0.5), qw.pure(0.2)).guarantee().loss() == qw.pure(0.5).stated_for(near)
    assert qw.pure(0.5).guarantee().loss() == qw.pure(0.5)


def test_copies_may_have_other_vectors(mixed):
    """Two plans with the same set of losses on other cells cost more than one of them twice on one cell."""
    one, other = (plan(*losses).guarantee() for losses in ((qw.pure(1.0), qw.pure(0.2)), (qw.pure(0.2), qw.pure(1.0))))
    assert qw.compose(one, other).epsilon(0.0).upper >= 1.2 - 1e-9
    assert (2 * mixed.loss()).epsilon(1e-4).upper >= qw.compose(mixed, mixed).epsilon(1e-4).lower


def test_everything_that_takes_a_loss_takes_a_guarantee(mixed):
    strong = qw.gaussian(2.0)  # at 1e-6 the worst vector
    assert (mixed + qw.pure(0.3)).epsilon(1e-6).upper == pytest.approx(
        (strong + qw.pure(0.3)).epsilon(1e-6).upper, rel=2e-3
    )
    assert (qw.pure(0.3) + mixed).epsilon(1e-6).upper == (mixed + qw.pure(0.3)).epsilon(1e-6).upper
    assert qw.poisson(mixed, 0.1).epsilon(1e-6).upper >= qw.poisson(strong, 0.1).epsilon(1e-6).lower
    assert qw.mixture([(0.5, mixed), (0.5, qw.pure(0.2))]).epsilon(1e-6).upper >= 1.9
    assert mixed.loss().group(2).epsilon(1e-6).upper >= strong.group(2).epsilon(1e-6).lower
    assert qw.repeat_and_select(mixed, mean=5.0).epsilon(1e-6).upper > 2.9
    sigma = qw.calibrate(lambda s: plan(qw.gaussian(s), qw.pure(0.9)).guarantee(), 2.0, 1e-6, rtol=1e-4, tolerance=1e-4)
    assert plan(qw.gaussian(sigma), qw.pure(0.9)).guarantee().epsilon(1e-6).upper <= 2.0


def test_it_is_written_and_read(mixed):
    loss = mixed.loss() + qw.pure(0.1)
    again = Loss.from_json(json.loads(json.dumps(loss.to_json())))
    assert again == loss
    assert isinstance(again.parts[0].family, WorstVector)


def test_costs_are_the_largest_of_each_unit():
    family = plan(qw.gaussian(2.0), qw.zcdp(0.3)).guarantee().loss().parts[0].family
    assert isinstance(family, WorstVector)
    assert float(family.costs().rho) == pytest.approx(0.3)
    assert float(family.divergence(4.0)) == pytest.approx(1.2)


def test_divergences_are_the_largest_of_the_vectors(mixed):
    found, largest = (
        mixed.loss().renyi(4.0),
        max(float(one.renyi(4.0).upper) for one in (qw.gaussian(2.0), qw.pure(0.9))),
    )
    assert largest * (1 - 1e-6) <= found.upper <= largest * (1 + 1e-6)
    assert found.lower == pytest.approx(largest, rel=1e-6)


# ---- secrets


def test_a_plan_in_a_world():
    world = cf.World(data=[[0.7, 0.3], [0.3, 0.7]])
    t = qw.Table(region=qw.Cat("N", "S"))
    made = qw.Plan(t, neighbors=qw.add_remove())
    made.add("N", where=t.region == "N", count=True, loss=qw.pure(1.0), holds=qw.on_input(qw.add_remove()))
    right = math.e / (1 + math.e)
    exact = world.release([[right, 1 - right], [1 - right, right]]).epsilon(0.0).upper
    promise = made.guarantee(world=world)
    assert exact * (1 - 1e-9) <= promise.epsilon(0.0).upper <= 1.0
    assert promise.delta(0.1).upper >= world.release([[right, 1 - right], [1 - right, right]]).delta(0.1).lower
    with pytest.raises(Unsupported, match="does not add up"):
        promise.loss()
    with pytest.raises(Unsupported, match="one record that changes"):
        world.bound(made.guarantee())
    assert world.bound(made.guarantee().to(qw.replace_one())).epsilon(0.0).upper == promise.epsilon(0.0).upper


def test_per_entry_losses_are_those_of_a_changed_entry(mixed):
    with pytest.raises(Unsupported, match="change their value"):
        pf.guarantee(mixed, CHAIN)
    translated = pf.guarantee(mixed.to(qw.replace_one()), CHAIN)
    assert translated.epsilon(1e-6).upper >= mixed.to(qw.replace_one()).epsilon(1e-6).lower
    for act in (translated.loss, lambda: 2 * translated, lambda: translated + qw.pure(1.0),
                lambda: qw.compose(translated, qw.pure(1.0)), lambda: qw.poisson(translated, 0.1)):  # fmt: skip
        with pytest.raises(Unsupported):
            act()
    with pytest.raises(Unsupported, match="adding or removing"):
        qw.poisson(mixed.to(qw.replace_one()), 0.1)
