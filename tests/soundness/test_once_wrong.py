"""Brackets that once missed the truth, each with its truth to many digits: they must never do so again."""

import math

import numpy as np
import pytest

import quiltwork as qw

REMOVED = {
    "narrow": (qw.poisson(qw.gaussian(0.1), 0.1) + qw.gaussian(0.25)).direction("remove"),
    "wider": (qw.poisson(qw.gaussian(0.15), 0.2) + qw.gaussian(0.3)).direction("remove"),
}


@pytest.mark.parametrize(
    ("name", "epsilon", "truth"),
    [
        ("narrow", -7.0, 0.99955496340810434),
        ("narrow", -3.0, 0.99207027167115),
        ("wider", 0.0, 0.914606610648136),
    ],
)
def test_complement_of_a_subsampled_gaussian_holds_all_of_p(name, epsilon, truth):
    assert truth in REMOVED[name].delta(epsilon, rtol=1e-6)


@pytest.mark.parametrize(
    ("loss", "epsilon", "truth"),
    [
        (1000 * qw.poisson(qw.laplace(0.1), 0.999999), 8876.437529555138, 0.973947491857049),
        (1000 * qw.poisson(qw.pure(10.0), 0.999999), 9977.30662264875, 0.56978958734675364),
    ],
)
def test_rates_near_one_keep_the_digits_of_the_loss(loss, epsilon, truth):
    assert truth in loss.direction("add").delta(epsilon, rtol=1e-10)


def test_largest_loss_at_a_rate_near_one():
    assert 9.97821359092086305 in qw.poisson(qw.pure(10.0), 0.999999).direction("add").epsilon(0)


@pytest.mark.parametrize(("mu", "epsilon", "truth"), [(38.0, 722.0, 0.48950877430036), (62.0, 1922.0, 0.4935671197)])
def test_gaussian_profile_past_the_overflow_of_e_to_the_epsilon(mu, epsilon, truth):
    found = qw.gdp(mu).delta(epsilon)
    assert found.lower <= truth * (1 + 1e-9)
    assert found.upper >= truth * (1 - 1e-9)


def test_variances_of_many_gaussians_are_summed_exactly():
    draws = np.random.default_rng(1)
    draws.uniform(20, 400, 300)
    total = qw.compose(*[qw.gaussian(sigma) for sigma in draws.uniform(20, 400, 3000)])
    assert 4.79075951927708e-230 in total.delta(20.0, rtol=1e-9)


def test_polygon_vertices_are_rounded():
    loss = qw.tradeoff([(0, 1), (2 / 3 - 1e-9, 0.3333333), (1, 0)]).direction("remove")
    assert 3.433333334301736e-08 in loss.delta(0.0)


def test_below_the_reveal_mass_no_epsilon_will_do():
    once = qw.approximate(1.0, 1e-5)
    assert once.epsilon(float(np.nextafter(1e-5, 0))).upper == math.inf
    assert once.epsilon(1e-5).upper < 1.0 + 1e-12
    revealed = 2.9999700001e-05  # 1 - (1 - 1e-5)^3, as typed: there the largest finite loss is the answer
    assert (3 * once).epsilon(revealed).upper < 3.0 + 1e-12
    assert (3 * once).epsilon(float(np.nextafter(revealed, 0))).upper == math.inf


def test_lower_ends_come_from_what_is_possible():
    response = qw.tradeoff(lambda a: max(0.0, 1 - math.e * a, (1 - a) / math.e))
    assert response.epsilon(0.0).lower <= 1.0
    assert (response + qw.zcdp(0.001)).epsilon(1e-16).lower < 2.0
    assert qw.rdp([2.0], [0.0]).epsilon(0.0).lower == 0.0


def test_equal_laws_leave_beta_at_its_largest():
    assert 0.75 in (10 * qw.pair([0.25, 0.75], [0.25, 0.75])).beta(0.25)


def test_moments_of_laws_that_hardly_differ_leave_room_for_the_rounding_of_losses():
    """At the tilts that matter here (about a million) a rounding of the losses, or of log g, is 1e-9 of delta."""
    rare, often = 64053 / 2**45, 1822931 / 2**45
    loss = (30 * qw.pair([1 - rare, rare], [1 - often, often])).direction("remove")
    asked = np.array([1.4997053767239413e-06, 4.1217142927652805e-07])
    assert loss.delta(asked).upper[1] >= 1.0875375433598994822e-6
    assert loss.delta(asked[1], method="characteristic function").upper >= 1.0875375433598994822e-6


@pytest.mark.parametrize(
    ("sigma", "rate", "epsilon", "truth"),
    [
        (293.22547919854276, 2.034144701140377e-35, 2.0930180446670726e-37, 2.648651677897325633e-41),
        (293.22547919854276, 2.034144701140377e-35, 2.093018044668032e-37, 2.648651677884520686e-41),
    ],
)
def test_tiny_rates_are_no_difference_of_large_logarithms(sigma, rate, epsilon, truth):
    assert truth in qw.poisson(qw.gaussian(sigma), rate).direction("remove").delta(epsilon)
