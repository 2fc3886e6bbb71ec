"""Brackets that once missed the truth, each with its truth to many digits: they must never do so again."""

import math
from fractions import Fraction

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.audit import from_counts
from quiltwork.tables.statistics.intervals import half_width

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


@pytest.mark.parametrize(
    ("epsilon", "truth"),
    [(-1.0, "0.63212055882855767840447622983853913"), (-40.0, "0.99999999999999999575164574110780456")],
)
def test_releases_of_nothing_below_epsilon_zero_are_rounded_outward(epsilon, truth):
    nobody = qw.gaussian_mixture([1.0, 0.0], [0.0, 1.0], 0.5)
    for loss in (qw.compose(), nobody.direction("add")):
        found = loss.delta(epsilon)
        assert Fraction(found.lower) <= Fraction(truth) <= Fraction(found.upper)


NEAR_ONE, NEARER_ONE = 0.99999999, 0.999999999  # which are not the doubles that they print as


@pytest.mark.parametrize(
    ("loss", "typed", "double"),
    [
        (qw.poisson(qw.pure(30.0), NEAR_ONE), 18.42067138637327248801, 18.42067138134856024466),
        (qw.poisson(qw.pure(30.0), NEARER_ONE), 20.72317226509479858865, 20.72317229337408418305),
        (qw.poisson(qw.gaussian(0.5), NEAR_ONE).group(2), 36.84136148790473094429, 36.84136147785521241888),
        (qw.poisson(qw.gaussian(0.5), NEARER_ONE).group(2), 41.44653167389282231232, 41.44653173045668603904),
    ],
)
def test_largest_loss_at_a_rate_near_one_in_both_readings_of_the_rate(loss, typed, double):
    found = loss.direction("add").epsilon(0.0)
    assert typed in found
    assert double in found


@pytest.mark.parametrize(
    ("loss", "epsilon", "typed", "double"),
    [
        (qw.poisson(qw.pure(30.0), NEAR_ONE), 15.0, 0.9673095203728709336265, 0.9673095202086106799911),
        (
            qw.poisson(qw.gaussian(0.5), NEAR_ONE, neighbors="replace_one"),
            20.0,
            0.0007275882541945055144777,
            0.0007275882541875321081558,
        ),
        (2 * qw.poisson(qw.gaussian(1 / 6), 0.9999999999999), 55.0, 0.00467058157402185, 0.00467014687223207),
    ],
)
def test_divergence_at_a_rate_near_one_in_both_readings_of_the_rate(loss, epsilon, typed, double):
    found = loss.direction("add").delta(epsilon, rtol=1e-11)
    assert typed in found
    assert double in found


def test_a_random_sensitivity_on_a_sample_near_one_is_sampled_as_typed():
    loss = qw.poisson(qw.gaussian_mixture([1.0], [1.0], 0.5), NEARER_ONE)
    assert 20.72326583694641115616 in loss.direction("add").epsilon(0.0)


def test_renyi_bounds_of_groups_are_no_smaller_than_three_times_what_was_typed():
    (bound,) = qw.rdp([8.0], [0.7]).group(2).parts[0].family.epsilons
    assert Fraction(repr(bound)) >= Fraction("2.1")


def test_confidences_near_one_leave_no_more_than_was_typed():
    """All of 100 found and no false alarm: with l = (5e-17)^(1/100) epsilon is at least log(l / (1 - l)), no more."""
    assert 0.78 < from_counts(100, 100, 0, 100, 0.0, 0.9999999999999999) <= 0.78637361413645358331
    assert half_width("gaussian", 10.0, 0.9999999999999999) == 83  # P(|Z| > 82) = 1.54e-16
    assert half_width("gaussian", 1e6, 0.9999999999999999) >= 8_304_785


@pytest.mark.parametrize(
    ("prior", "typed", "double"),
    [
        (0.99999999, "1e-8", "1.00000000502475927e-8"),
        (0.9999999999999999, "1e-16", "1.1102230246251565e-16"),
        (0.9, "0.1", "0.0999999999999999777"),
    ],
)
def test_errors_of_a_guess_under_a_prior_near_one_in_both_readings(prior, typed, double):
    """With sigma 100 the blind guess is the best one, up to far less than a rounding."""
    found = qw.gaussian(100.0).bayes_risk(prior)
    for truth in (typed, double):
        assert Fraction(found.lower) <= Fraction(truth) <= Fraction(found.upper)
