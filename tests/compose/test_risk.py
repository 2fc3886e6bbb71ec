"""Rényi divergence, advantage and Bayes risk of a loss, and calibration for them (theory/sampling.md section 9)."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.truth.numbers import mp

import quiltwork as qw
from quiltwork.errors import InvalidParameter, Unreachable
from quiltwork.numbers.stated import typed

LOSSES = {
    "gaussian": 3 * qw.gaussian(2.0),
    "laplace": 5 * qw.laplace(3.0),
    "sampled": 100 * qw.poisson(qw.gaussian(1.0), 0.02),
    "mixed": 4 * qw.gaussian(3.0) + 2 * qw.laplace(4.0),
    "pure": qw.pure(0.7),
    "exponential": qw.exponential(1.0),
    "response": 3 * qw.randomized_response(1.0, 5),
}
NEAR = (1e-6, 1e-3)  # relative: moments, and the mean loss, which is held between two orders


@pytest.mark.parametrize("name", LOSSES)
def test_even_odds_are_half_of_what_the_advantage_leaves(name):
    loss = LOSSES[name]
    risk, advantage = loss.bayes_risk(0.5), loss.advantage()
    assert risk.lower <= (1 - advantage.lower) / 2 * (1 + 1e-14)
    assert risk.upper >= (1 - advantage.upper) / 2 * (1 - 1e-14)
    assert risk.lower == pytest.approx((1 - advantage.upper) / 2, rel=1e-10)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("prior", [0.0, 1e-9, 0.01, 0.3, 0.5, 0.8, 1.0])
def test_seeing_a_release_never_hurts_a_guess(name, prior):
    risk = LOSSES[name].bayes_risk(prior)
    assert 0 <= risk.lower <= risk.upper
    assert typed(risk.upper) <= min(typed(prior), 1 - typed(prior))


@given(mu=st.floats(0.05, 4.0), prior=st.floats(0.001, 0.999))
def test_bayes_risk_of_a_gaussian(mu, prior):
    """pi Phi(-mu/2 + t/mu) + (1-pi) Phi(-mu/2 - t/mu), t = log((1-pi)/pi): the likelihood ratio test."""
    mu, prior = mp.mpf(mu), mp.mpf(prior)
    t = mp.log((1 - prior) / prior)
    truth = prior * mp.ncdf(-mu / 2 + t / mu) + (1 - prior) * mp.ncdf(-mu / 2 - t / mu)
    found = qw.gdp(float(mu)).bayes_risk(float(prior))
    assert found.lower <= truth * (1 + mp.mpf("1e-15"))
    assert truth * (1 - mp.mpf("1e-15")) <= found.upper


@pytest.mark.parametrize("prior", [-0.1, 1.1, math.nan, None, "half", True])
def test_a_prior_is_a_probability(prior):
    with pytest.raises(InvalidParameter, match=r"^prior must be"):
        qw.gaussian(1.0).bayes_risk(prior)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 7.0])
@pytest.mark.parametrize("order", [0.3, 1.0, 2.0, 8.5, 40.0])
def test_renyi_of_gaussians(sigma, order):
    """Order a of k Gaussians: a k / (2 sigma^2)."""
    found, truth = (6 * qw.gaussian(sigma)).renyi(order), 3 * order / sigma**2
    assert found.lower <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= found.upper
    assert found.upper <= truth * (1 + NEAR[order == 1])


@pytest.mark.parametrize("scale", [0.5, 2.0])
@pytest.mark.parametrize("order", [1.0, 1.5, 2.0, 10.0])
def test_renyi_of_laplace(scale, order):
    """Mironov 2017, Table II; order 1 by its limit, e^(-t) + t - 1."""
    t, a = mp.mpf(1) / mp.mpf(scale), mp.mpf(order)
    truth = mp.exp(-t) + t - 1
    if order != 1:
        moment = a / (2 * a - 1) * mp.exp((a - 1) * t) + (a - 1) / (2 * a - 1) * mp.exp(-a * t)
        truth = mp.log(moment) / (a - 1)
    found = (3 * qw.laplace(scale)).renyi(order)
    assert found.lower <= 3 * truth * (1 + mp.mpf("1e-12"))
    assert 3 * truth * (1 - mp.mpf("1e-12")) <= found.upper
    assert found.upper <= 3 * float(truth) * (1 + NEAR[order == 1])


@pytest.mark.parametrize("name", LOSSES)
def test_renyi_rises_with_its_order_and_bounds_delta(name):
    loss = LOSSES[name]
    orders = [0.5, 1.0, 1.5, 2.0, 4.0, 16.0]
    found = [loss.renyi(order) for order in orders]
    for one, next_one in itertools.pairwise(found):
        assert one.lower <= next_one.upper * (1 + 1e-9)
    for epsilon in (0.5, 1.0, 3.0):
        for order, value in zip(orders[2:], found[2:], strict=True):
            most = math.exp(min((order - 1) * (value.upper - epsilon), 600.0)) / order * (1 - 1 / order) ** (order - 1)
            assert loss.delta(epsilon).lower <= most * (1 + 1e-9)


def test_renyi_adds_up_and_ends_at_the_largest_loss():
    one, two = qw.gaussian(2.0), qw.laplace(3.0)
    assert (one + two).renyi(3.0).upper == pytest.approx(one.renyi(3.0).upper + two.renyi(3.0).upper, rel=1e-9)
    assert qw.pure(0.7).renyi(math.inf).upper == pytest.approx(0.7)
    assert qw.gaussian(1.0).renyi(math.inf).upper == math.inf
    for order in (0.0, -1.0, math.nan, None, "2"):
        with pytest.raises(InvalidParameter, match=r"^order must be"):
            one.renyi(order)


# ---- calibration


def test_the_advantage_of_a_hundred_gaussians():
    """2 Phi(mu/2) - 1 = .2 at mu = 2 Phi^-1(.6), and mu = 10/sigma."""
    truth = 10 / (2 * math.sqrt(2) * float(mp.erfinv(mp.mpf("0.2"))))
    sigma = qw.calibrate(lambda s: 100 * qw.gaussian(s), advantage=0.2)
    assert truth * (1 - 1e-12) <= sigma <= truth * (1 + 1e-6)
    assert (100 * qw.gaussian(sigma)).advantage().upper <= 0.2


def test_a_power_to_keep_from_attackers():
    """At 5 % false alarms at least 90 % are missed: Phi(Phi^-1(.95) - mu) = .9."""
    truth = 1 / float(mp.sqrt(2) * (mp.erfinv(mp.mpf("0.9")) - mp.erfinv(mp.mpf("0.8"))))
    sigma = qw.calibrate(qw.gaussian, alpha=0.05, beta=0.9)
    assert truth * (1 - 1e-9) <= sigma <= truth * (1 + 1e-4)
    assert qw.gaussian(sigma).beta(0.05).lower >= 0.9 - 1e-12


def test_most_releases_for_an_advantage():
    rounds = qw.calibrate(lambda k: k * qw.gaussian(20.0), advantage=0.2, integer=True)
    assert (rounds * qw.gaussian(20.0)).advantage().upper <= 0.2 < ((rounds + 1) * qw.gaussian(20.0)).advantage().lower


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("the target", {}),
        ("delta", {"epsilon": 1.0}),
        ("the target", {"epsilon": 1.0, "delta": 1e-5, "advantage": 0.1}),
        ("the target", {"alpha": 0.1}),
        ("the target", {"advantage": 0.1, "alpha": 0.1, "beta": 0.5}),
        ("advantage", {"advantage": 0.0}),
        ("advantage", {"advantage": 1.5}),
        ("advantage", {"advantage": math.nan}),
        ("alpha", {"alpha": -0.1, "beta": 0.5}),
        ("beta", {"alpha": 0.1, "beta": 0.95}),
        ("beta", {"alpha": 0.1, "beta": "x"}),
    ],
)
def test_targets_are_one_of_three(name, target):
    with pytest.raises(InvalidParameter, match=f"^{name} must be"):
        qw.calibrate(qw.gaussian, **target)


def test_an_advantage_that_noise_cannot_reach_is_said():
    with pytest.raises(Unreachable, match=r"advantage 0\.1"):
        qw.calibrate(lambda s: qw.pure(2.0), advantage=0.1)
