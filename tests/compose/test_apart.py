"""Bounds by leaving releases out: they hold what the engines certify, and narrow what the engines leave wide."""

import math

import mpmath
import numpy as np
import pytest
from tests.examples import some

import quiltwork as qw
from quiltwork.compose.accountant.directions import Divergence, SmallestEpsilon, TypeTwoError, sides
from quiltwork.compose.accountant.leave_out import Apart

KNOWN = {
    "beside Laplace": 3 * qw.poisson(qw.gaussian(1.0), 0.01) + qw.laplace(2.0),
    "beside a Gaussian": 2 * qw.poisson(qw.laplace(0.5), 0.02) + qw.gaussian(1.5),
    "alone": 4 * qw.poisson(qw.gaussian(0.8), 0.03),
    "two rates": qw.poisson(qw.gaussian(1.0), 0.01) + 2 * qw.poisson(qw.laplace(1.0), 0.04) + qw.pure(0.4),
    "beside one that reveals": 2 * qw.poisson(qw.gaussian(1.0), 0.02) + qw.approximate(0.3, 0.01),
}
DIRECTIONS = ("add", "remove")


def pairs_of(loss, direction):
    (found,) = sides(loss.parts, direction)
    return found


@pytest.mark.parametrize(
    ("name", "direction"), some([(name, direction) for direction in DIRECTIONS for name in KNOWN], 5)
)
def test_ends_hold_what_the_engines_know(name, direction):
    loss = KNOWN[name]
    pairs = pairs_of(loss, direction)
    apart = Apart.of(pairs)
    epsilon = np.array([-1.0, 0.0, 0.1, 0.5, 1.0])
    delta = np.array([1e-8, 1e-4, 0.02, 0.1, 0.3])
    alpha = np.array([0.0, 0.01, 0.3, 0.9, 1.0])
    for inquiry in (Divergence(epsilon, 1e-6), SmallestEpsilon(delta, 1e-6), TypeTwoError(alpha)):
        low, high = inquiry.without_rare(apart)
        known = inquiry.by_methods(pairs)
        assert np.all(low <= known.upper)
        assert np.all(high >= known.lower)


def test_the_upper_ends_are_sharp_when_little_is_told():
    apart = Apart.of(pairs_of(3 * qw.poisson(qw.gaussian(1.0), 1e-9) + qw.laplace(2.0), "remove"))
    assert apart.telling <= 3e-9
    low, high = Divergence(np.array([0.1])).without_rare(apart)
    assert high[0] - low[0] <= 4e-9
    low, high = SmallestEpsilon(np.array([0.01])).without_rare(apart)
    assert high[0] - low[0] <= 1e-6
    low, high = TypeTwoError(np.array([0.1])).without_rare(apart)
    assert high[0] - low[0] <= 1e-8


def test_nothing_is_set_apart_without_small_samples():
    assert Apart.of(pairs_of(3 * qw.poisson(qw.gaussian(1.0), 0.3) + qw.laplace(2.0), "remove")) is None


def sampled(sigma, rate, epsilon):
    """Many digits of delta for one sampled Gaussian, remove."""
    odds = mpmath.expm1(epsilon) + rate
    if odds <= 0:
        return -mpmath.expm1(epsilon)
    cut = mpmath.mpf(sigma) ** 2 * mpmath.log(odds / rate) + mpmath.mpf(1) / 2
    with_, without = mpmath.ncdf((1 - cut) / sigma), mpmath.ncdf(-cut / sigma)
    return rate * with_ + (1 - rate) * without - mpmath.exp(epsilon) * without


def beside_responses(epsilon):
    """Many digits of delta for one sampled Gaussian (0.03, 1e-9) beside three responses (0.3, 1e-9), remove."""
    told, each = mpmath.mpf("1e-9"), mpmath.mpf("0.3")
    yes = (1 - told) / (1 + mpmath.exp(-each))
    no = (1 - told) / (1 + mpmath.exp(each))
    total = 1 - (1 - told) ** 3
    for flips in range(4):
        mass = math.comb(3, flips) * yes ** (3 - flips) * no**flips
        total += mass * sampled(mpmath.mpf("0.03"), mpmath.mpf("1e-9"), epsilon - (3 - 2 * flips) * each)
    return total


@pytest.fixture(scope="module")
def once_useless():
    return (qw.poisson(qw.gaussian(0.03), 1e-9) + 3 * qw.approximate(0.3, 1e-9)).direction("remove")


def test_a_rare_release_beside_responses_has_a_narrow_delta(once_useless):
    epsilons = [0.0, 0.5]
    with mpmath.workdps(40):
        truths = [beside_responses(mpmath.mpf(epsilon)) for epsilon in epsilons]
    found = once_useless.delta(epsilons)
    assert all(low <= truth <= high for low, truth, high in zip(found.lower, truths, found.upper, strict=True))
    assert np.all(found.met)
    assert np.all(found.upper - found.lower <= 1e-3 * found.upper)


def test_a_rare_release_beside_responses_has_a_finite_epsilon(once_useless):
    delta = 1e-7
    found = once_useless.epsilon(delta)
    with mpmath.workdps(40):
        assert beside_responses(mpmath.mpf(found.upper)) <= delta
        assert beside_responses(mpmath.mpf(found.lower) * (1 - mpmath.mpf("1e-12"))) >= delta
    assert found.upper - found.lower <= 0.01


def test_what_is_rarer_than_delta_costs_nothing():
    assert (5 * qw.poisson(qw.laplace(0.001), 1e-6)).epsilon(1e-4).upper == 0.0
