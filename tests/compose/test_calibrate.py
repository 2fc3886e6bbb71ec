"""Calibration: safe, tight, in whichever direction the parameter works, and honest when nothing works."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples, some
from tests.truth.closed import gaussian_delta
from tests.truth.numbers import mp

import quiltwork as qw
from quiltwork.errors import InvalidParameter, QuiltworkError, Unreachable

NOISE = {
    "gaussian": lambda s: 100 * qw.gaussian(s),
    "laplace": lambda s: 30 * qw.laplace(s),
    "subsampled": lambda s: 1000 * qw.poisson(qw.gaussian(s), 0.01),
    "mixed": lambda s: 10 * qw.gaussian(s) + 5 * qw.laplace(2 * s),
}
USE = {
    "rate": lambda q: 1000 * qw.poisson(qw.gaussian(1.0), min(q, 1.0)),
    "epsilon": lambda e: 20 * qw.pure(e),
    "sensitivity": lambda s: qw.gaussian(5.0, s),
    "rho": qw.zcdp,
}


@pytest.mark.parametrize(
    ("name", "epsilon", "delta"),
    some([(name, *asked) for name in NOISE for asked in ((1.0, 1e-6), (0.1, 1e-9), (8.0, 1e-3))], 6),
)
def test_noise_is_safe_and_tight(name, epsilon, delta):
    value = qw.calibrate(NOISE[name], epsilon, delta)
    assert NOISE[name](value).epsilon(delta, rtol=1e-6).upper <= epsilon
    assert NOISE[name](value * (1 - 1e-5)).epsilon(delta, rtol=1e-6).upper > epsilon


@pytest.mark.parametrize("name", USE)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_use_is_safe_and_tight(name, epsilon):
    value = qw.calibrate(USE[name], epsilon, 1e-6, start=0.01)
    assert USE[name](value).epsilon(1e-6, rtol=1e-6).upper <= epsilon
    assert USE[name](value * (1 + 1e-5)).epsilon(1e-6, rtol=1e-6).upper > epsilon


@settings(max_examples=examples(15))
@given(epsilon=st.floats(0.05, 20.0), log_delta=st.floats(-40.0, -0.7), start=st.floats(1e-3, 1e3))
def test_the_analytic_gaussian_mechanism(epsilon, log_delta, start):
    """Balle and Wang 2018: D(eps; sigma) = delta, checked in many digits on both sides of the answer."""
    delta = math.exp(log_delta)
    sigma = qw.calibrate(qw.gaussian, epsilon, delta, start=start)
    assert gaussian_delta(1 / mp.mpf(sigma), epsilon) <= mp.mpf(delta)
    assert gaussian_delta(1 / (mp.mpf(sigma) * (1 - mp.mpf("1e-6"))), epsilon) > mp.mpf(delta)


@pytest.mark.parametrize("start", [1, 3, 50, 10_000])
def test_most_rounds(start):
    rounds = qw.calibrate(lambda k: k * qw.gaussian(20.0), 1.0, 1e-6, integer=True, start=start)
    assert isinstance(rounds, int)
    assert (rounds * qw.gaussian(20.0)).epsilon(1e-6, rtol=1e-6).upper <= 1.0
    assert ((rounds + 1) * qw.gaussian(20.0)).epsilon(1e-6, rtol=1e-6).upper > 1.0


@pytest.mark.parametrize("start", [1, 7, 400])
def test_least_whole_noise(start):
    noise = qw.calibrate(lambda n: qw.discrete_gaussian(float(n)), 0.5, 1e-6, integer=True, start=start)
    assert isinstance(noise, int)
    assert qw.discrete_gaussian(float(noise)).epsilon(1e-6).upper <= 0.5
    assert qw.discrete_gaussian(float(noise - 1)).epsilon(1e-6, rtol=1e-6).upper > 0.5


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (lambda s: qw.pure(1.0), {}),  # does not depend on the parameter
        (qw.gaussian, {"delta": 0.0}),  # no Gaussian is pure
        (lambda s: qw.approximate(1 / s, 1e-3), {}),  # delta is spent at once
        (lambda k: k * qw.gaussian(0.1), {"integer": True}),  # one is too many
    ],
)
def test_what_cannot_be_reached_is_said(make, options):
    options = {"epsilon": 0.5, "delta": 1e-6, **options}
    with pytest.raises(Unreachable, match=r"epsilon 0\.5 at delta"):
        qw.calibrate(make, **options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("epsilon", {"epsilon": 0.0}),
        ("epsilon", {"epsilon": -1.0}),
        ("epsilon", {"epsilon": math.nan}),
        ("epsilon", {"epsilon": "1"}),
        ("delta", {"delta": -0.1}),
        ("delta", {"delta": 1.1}),
        ("delta", {"delta": None}),
        ("start", {"start": 0.0}),
        ("start", {"start": math.inf}),
        ("tolerance", {"tolerance": 0.0}),
        ("rtol", {"rtol": 2.0}),
        ("rtol", {"rtol": math.nan}),
        ("rtol", {"rtol": "x"}),
        ("make_loss", {"make_loss": 3}),
        ("make_loss", {"make_loss": None}),
        ("make_loss", {"make_loss": lambda s: s}),
        ("make_loss", {"make_loss": lambda s: None}),
    ],
)
def test_bad_arguments_are_named(name, options):
    options = {"make_loss": qw.gaussian, "epsilon": 1.0, "delta": 1e-5, **options}
    with pytest.raises(InvalidParameter, match=f"^{name} must be"):
        qw.calibrate(**options)


def test_errors_of_the_callers_function_are_not_swallowed():
    def broken(value):
        raise RuntimeError("my own bug")

    with pytest.raises(RuntimeError, match="my own bug"):
        qw.calibrate(broken, 1.0, 1e-5)


def test_a_domain_that_ends_is_respected():
    """Rates above 1 are refused by poisson: they count as unsafe, not as an error."""
    value = qw.calibrate(lambda q: qw.poisson(qw.gaussian(0.3), q), 2.0, 1e-6, start=0.5)
    assert 0 < value < 1
    assert qw.poisson(qw.gaussian(0.3), value).epsilon(1e-6).upper <= 2.0


def test_a_target_that_everything_meets():
    with pytest.raises(QuiltworkError):
        qw.calibrate(lambda q: qw.poisson(qw.gaussian(100.0), min(q, 1.0)), 5.0, 1e-3)
