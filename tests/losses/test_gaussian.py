"""Gaussian noise: the closed form with every digit, its parameters, its groups."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.truth.closed import gaussian_delta
from tests.truth.numbers import mp

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.gaussian import Gaussian, GaussianPrivacy, log_stick


@settings(max_examples=examples(150))
@given(scale=st.floats(-4, math.log10(40)), deviations=st.floats(-36, 36))
def test_log_stick_within_its_claim(scale, deviations):
    mu = 10**scale
    loss = mu * deviations + mu * mu / 2
    value, error = log_stick(mu, np.array([loss]))
    true = gaussian_delta(mu, loss)
    if np.isfinite(error[0]) and true > 0:
        assert abs(mp.mpf(float(value[0])) - mp.log(true)) <= error[0]


@pytest.mark.parametrize("mu", [1e-4, 0.1, 1.0, 30.0])
def test_log_stick_is_sharp_where_it_matters(mu):
    loss = mu * np.linspace(0.0, 30.0, 61) + mu * mu / 2
    _, error = log_stick(mu, loss)
    assert error.max() < 1e-8


@given(sigma=st.floats(0.1, 100.0), sensitivity=st.floats(0.1, 10.0))
def test_only_the_ratio_matters(sigma, sensitivity):
    assert Gaussian(sigma, sensitivity).mu == sensitivity / sigma
    one, two = qw.gaussian(sigma, sensitivity).epsilon(1e-5), qw.gdp(sensitivity / sigma).epsilon(1e-5)
    assert (one.lower, one.upper) == (two.lower, two.upper)


def test_variances_add():
    """Any Gaussians compose to one: 3-4-5."""
    one, two = qw.compose(qw.gdp(3.0), qw.gaussian(0.25)), qw.gdp(5.0)
    assert one.epsilon(1e-6).intersect(two.epsilon(1e-6)).relative_width < 1e-12


def test_groups_scale_the_sensitivity():
    assert Gaussian(2.0, 0.5).group(3) == Gaussian(2.0, 1.5)
    assert GaussianPrivacy(0.5).group(3) == GaussianPrivacy(1.5)


def test_extreme_scales_answer():
    assert qw.gaussian(1e80).epsilon(1e-5).upper < 1e-9
    assert qw.gaussian(1e80).delta(0.0).upper < 1e-6
    assert qw.gaussian(1e80).delta(1.0).upper < 1e-200
    assert qw.gaussian(1e-5).epsilon(1e-5).lower > 1e9
    assert 1.0 in qw.gaussian(1e-80).delta(1.0)


@pytest.mark.parametrize("sigma", [1e-200, 1e200])
def test_scales_whose_squares_leave_the_doubles_are_refused(sigma):
    with pytest.raises(InvalidParameter, match="sigma must be"):
        qw.gaussian(sigma)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "1", None, True, [1.0], np.array([1.0, 2.0]), 1j])
def test_bad_parameters_are_named(bad):
    with pytest.raises(InvalidParameter, match=r"^sigma must be"):
        qw.gaussian(bad)
    with pytest.raises(InvalidParameter, match=r"^sensitivity must be"):
        qw.gaussian(1.0, bad)
    with pytest.raises(InvalidParameter, match=r"^mu must be"):
        qw.gdp(bad)


def test_ratios_that_vanish_or_overflow_are_refused():
    with pytest.raises(InvalidParameter, match="sensitivity"):
        qw.gaussian(1e-300, 1e300)
    with pytest.raises(InvalidParameter, match="sensitivity"):
        qw.gaussian(1e300, 1e-300)
