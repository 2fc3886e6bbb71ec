"""Seed 000, Theorems 1 (iii) and 2: what decides the direction, what a posterior needs, what cannot be repaired."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.errata import printed_confounding as printed
from tests.errata.confounding_worlds import PAD, halves, released, xor_pad

from quiltwork.confounding import World, epsilon_of_posterior_ratio, noise
from quiltwork.errors import Unreachable


def test_a_mechanism_that_tells_the_data_makes_the_product_too_large():
    """The joint law then tells the data and no more; the product tells them and something else besides."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        data = rng.dirichlet(np.ones(3), 2)
        both = released(data, np.eye(3), rng.dirichlet(np.ones(2), 3))
        only = released(data, np.eye(3))
        for epsilon in (0.0, 0.3, 1.0):
            truth = float(both.delta(epsilon).midpoint)
            assert truth == pytest.approx(float(only.delta(epsilon).midpoint), abs=1e-12)
            assert truth <= float(both.ignoring_confounder().delta(epsilon).upper) + 1e-12


@pytest.mark.parametrize(
    ("shift", "correlation", "direction"),
    [
        ((1, 1), 0.5, "overestimates"),
        ((1, 1), -0.5, "underestimates"),
        ((1, 0), 0.5, "underestimates"),
        ((1, 0), -0.5, "underestimates"),
        ((1, 1), 0.0, "agrees"),
    ],
)
def test_for_normal_outputs_one_sign_decides(shift, correlation, direction):
    """Outputs N(s Delta, Sigma): the sign of Delta' (Sigma^-1 - diag(Sigma)^-1) Delta, for all epsilon and delta."""
    given, move = np.array([[1.0, correlation], [correlation, 1.0]]), np.array(shift, float)
    gap = float(move @ (np.linalg.inv(given) - np.eye(2)) @ move)
    assert np.sign(gap) == {"underestimates": 1, "agrees": 0, "overestimates": -1}[direction]
    data = (given - 0.25 * np.eye(2)).tolist()  # noises of 1/2 add the rest
    world = World.gaussian([[0, 0], list(shift)], sd=data)
    found = world.release(*(noise("gaussian", 0.5, reads=row) for row in ((1, 0), (0, 1))))
    assert found.ignoring_confounder().direction == direction


def test_the_lower_side_of_the_posterior_is_enough():
    """J >= P / tau for every output gives pure epsilon(tau), without any condition on delta: 500 random channels."""
    rng = np.random.default_rng(5)
    for _ in range(500):
        count = int(rng.integers(2, 6))
        prior, channel = rng.dirichlet(np.full(count, 3.0)), rng.dirichlet(np.full(4, 3.0), count)
        joint = prior[:, None] * channel
        tau = float((prior[:, None] / (joint / joint.sum(axis=0))).max())
        truth = math.log(float((channel.max(axis=0) / channel.min(axis=0)).max()))
        assert truth <= printed.epsilon_of(tau, prior) + 1e-12
        assert truth <= epsilon_of_posterior_ratio(tau, prior, one_sided=True) + 1e-12


def test_nothing_that_is_added_repairs_a_release():
    """The pad has e^epsilon = 41/9 and Pi[2, 0] is not empty; no strategy brings it to e^epsilon = 3."""
    prior = [Fraction(1, 2)] * 2
    assert printed.in_pi(prior, prior, Fraction(2), 0)
    assert math.exp(printed.epsilon_of(2, [0.5, 0.5])) == pytest.approx(3.0, rel=1e-12)
    world, pad = World(data=PAD), xor_pad("1/10")
    with pytest.raises(Unreachable):
        world.design(world.release(*halves("1/10")), odds=3, delta=0, cost="zero-one")
    rng = np.random.default_rng(6)
    for _ in range(20):
        assert pad.then(rng.dirichlet(np.ones(3), 4)).delta(math.log(3)).upper >= float(pad.exact_delta(3))
