"""Moments as bounds: never below the truth, and close to the best tilt."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.losses.laws import Gaussian, mp
from tests.truth.closed import gaussian_beta

import quiltwork as qw
from quiltwork.compose.accountant.moments import (
    beta_bound,
    composed_moments,
    delta_bound,
    epsilon_bound,
    pair_moments,
)
from quiltwork.compose.engines.characteristic import ContourEngine, log_peak, nudged
from quiltwork.compose.releases import directed
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.laplace import LaplacePair


@given(theta=st.floats(1e-4, 1e4))
def test_log_peak_is_the_maximum_of_the_kernel(theta):
    """e^(-theta y)(1 - e^-y) is largest at y = log(1 + 1/theta)."""
    y = mp.log(1 + 1 / mp.mpf(theta))
    peak = -theta * y + mp.log(-mp.expm1(-y))
    assert float(log_peak(np.array([theta]))[0]) == pytest.approx(float(peak), rel=1e-9, abs=1e-9)
    for other in (y * mp.mpf("0.9"), y * mp.mpf("1.1")):
        assert -theta * other + mp.log(-mp.expm1(-other)) <= peak


def gaussian_moments(mu):
    return lambda theta: mu**2 / 2 * theta * (theta + 1)


@pytest.mark.parametrize("mu", [0.1, 1.0, 5.0])
def test_bounds_hold_for_a_gaussian(mu):
    epsilon = np.array([-1.0, 0.0, 0.5, 3.0, 20.0])
    bound = delta_bound(gaussian_moments(mu), 0.0, epsilon)
    for i, at in enumerate(epsilon.tolist()):
        assert Gaussian(mu).stick(at) <= bound[i] <= 1.0
    deltas = np.array([0.3, 1e-4, 1e-40])
    found = epsilon_bound(gaussian_moments(mu), 0.0, deltas)
    for i, delta in enumerate(deltas.tolist()):
        assert Gaussian(mu).stick(found[i]) <= mp.mpf(delta)
    alphas = np.array([0.0, 1e-6, 0.1, 0.9])
    beta = beta_bound(gaussian_moments(mu), 0.0, alphas)
    for i, alpha in enumerate(alphas.tolist()):
        true = gaussian_beta(mu, alpha) if alpha else 1
        assert 0.0 <= beta[i] <= true


def test_the_bound_is_within_a_hair_of_the_best_tilt():
    deltas = np.array([1e-3, 1e-9])
    found = epsilon_bound(gaussian_moments(1.0), 0.0, deltas)
    theta = np.geomspace(0.05, 200.0, 200_001)
    for i, delta in enumerate(deltas.tolist()):
        best = ((gaussian_moments(1.0)(theta) + log_peak(theta) - math.log(delta)) / theta).min()
        assert found[i] == pytest.approx(best, rel=5e-5)


def test_reveal_mass_is_set_aside():
    found = epsilon_bound(gaussian_moments(1.0), 1e-3, np.array([5e-4, 1e-3, 2e-3]))
    assert math.isinf(found[0])
    assert math.isinf(found[1])
    assert found[2] == pytest.approx(epsilon_bound(gaussian_moments(1.0), 0.0, np.array([1e-3]))[0], rel=1e-9)
    assert delta_bound(gaussian_moments(1.0), 0.25, np.array([1e3]))[0] == pytest.approx(0.25)


@pytest.mark.parametrize("delta", [0.2, 1e-5, 1e-30])
def test_the_quick_bound_is_a_bound(delta):
    for loss in (200 * qw.poisson(qw.gaussian(0.9), 0.05), 50 * qw.laplace(3.0)):
        for side in ("remove", "add"):
            pairs = directed(loss.parts)
            pairs = pairs.get(side) or pairs["both"]
            exact = loss.direction(side).epsilon(delta)
            quick = ContourEngine.of(pairs).chernoff_epsilon(np.array([delta]), np.array([exact.upper]))[0]
            assert exact.lower <= quick
            assert quick <= 1.6 * exact.upper + 1.0


def test_moments_of_pairs_are_nudged_up():
    theta = np.array([0.5, 3.0])
    known = pair_moments([(GaussianPair(1.0), 4), (LaplacePair(0.5), 3)])
    parts = [GaussianPair(1.0).transform(4), LaplacePair(0.5).transform(3)]
    exact = sum(t.moments(theta)[0] for t in parts)
    assert (known(theta) > exact).all()
    np.testing.assert_allclose(known(theta), exact, rtol=1e-9)
    assert nudged(np.array([np.nan, np.inf, 1.0]))[:2].tolist() == [math.inf, math.inf]


def test_moments_add_over_the_parts():
    loss = 3 * qw.zcdp(0.1) + 2 * qw.laplace(2.0) + 5 * qw.approximate(0.1, 1e-4)
    moments, reveal = composed_moments(loss.parts, "remove")
    theta = np.array([1.0])
    laplace = qw.laplace(2.0).parts[0].family.pairs()["both"].transform(2).moments(theta)[0]
    response = qw.approximate(0.1, 1e-4).parts[0].family.pairs()["both"].transform(5).moments(theta)[0]
    assert moments(theta)[0] == pytest.approx(0.6 + laplace[0] + response[0], rel=1e-9)
    assert reveal == pytest.approx(1 - (1 - 1e-4) ** 5, rel=1e-9)


@pytest.mark.parametrize("theta", [1e-4, 0.5, 3.0, 1e3, 1e6, 1e9])
def test_log_peak_keeps_its_digits_at_large_tilts(theta):
    with mpmath.workdps(50):
        exact = mpmath.mpf(theta)
        truth = exact * mpmath.log(exact / (1 + exact)) - mpmath.log(1 + exact)
    assert abs(float(log_peak(np.array([theta]))[0] - truth)) <= 8 * 2.0**-53 * (1 + abs(float(truth)))
