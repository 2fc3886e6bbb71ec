"""The next sigma for an (epsilon, delta): against the exact profile in many digits, and against the engine."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import quiltwork as qw
from quiltwork.errors import InvalidParameter, NotCertified, Unreachable
from quiltwork.game.composition import largest_mu, next_sigma
from quiltwork.game.gaussian import next_mechanism as calibrated
from quiltwork.game.gaussian.total import forms


def true_delta(mu, epsilon):
    """Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), in 60 digits."""
    mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize(("epsilon", "delta"), list(itertools.product([0.25, 1.0, 6.0], [1e-12, 0.02, 0.5])))
def test_the_largest_mu(epsilon, delta):
    mu = largest_mu(epsilon, delta)
    with mpmath.workdps(60):
        assert true_delta(mu, repr(epsilon)) <= mpmath.mpf(repr(delta))
        assert true_delta(mu * (1 + 1e-9), epsilon) > delta


def test_the_largest_mu_at_epsilon_0_is_total_variation():
    mu = largest_mu(0.0, 0.02)
    with mpmath.workdps(30):
        assert mpmath.erf(mu / (2 * mpmath.sqrt(2))) <= mpmath.mpf("0.02")
        assert mpmath.erf(mu * (1 + 1e-9) / (2 * mpmath.sqrt(2))) > mpmath.mpf("0.02")


@pytest.mark.parametrize("sigmas", [[10.0], [10.0, 12.0, 9.5], [40.0] * 20])
def test_the_engine_agrees_for_independent_noise(sigmas):
    answer = next_sigma(1.0, sigmas, 1.0, 1e-6)
    together = qw.compose(*(qw.gaussian(sigma) for sigma in [*sigmas, answer.sigma]))
    assert together.epsilon(1e-6, rtol=1e-9).upper <= 1.0 + 1e-9
    tighter = qw.compose(*(qw.gaussian(sigma) for sigma in [*sigmas, 0.9999 * answer.sigma]))
    assert tighter.epsilon(1e-6, rtol=1e-9).lower > 1.0
    assert answer.certified.upper <= 1.0
    assert answer.most == math.inf
    assert answer.loss.epsilon(1e-6).upper <= 1.0


@pytest.mark.parametrize("rho", [-0.3, 0.0, 0.4, 0.95])
def test_correlated_noise(rho):
    """From the answer's sigma alone: 1'Sigma^-1 1 in exact fractions, and delta in 60 digits."""
    sigmas, size = [8.0, 11.0], Fraction(3, 2)
    answer = next_sigma(1.5, sigmas, 2.0, 1e-5, rho)
    given = forms([size / Fraction(repr(sigma)) for sigma in sigmas], rho)
    with mpmath.workdps(60):

        def delta(sigma):
            square = given.square(size / sigma)
            return true_delta(mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator), 2)

        assert max(delta(Fraction(answer.sigma)), delta(Fraction(repr(answer.sigma)))) <= mpmath.mpf("1e-5")
        assert delta(Fraction(answer.sigma) * (1 - Fraction(1, 10**9))) > mpmath.mpf("1e-5")


def test_too_much_correlated_noise():
    """Four at mu 1 with correlation 0.9: a fifth has a largest sigma too, and one above it breaks the promise."""
    epsilon = float(qw.gdp(1.05).epsilon(1e-5).upper)
    answer = next_sigma(1, [1, 1, 1, 1], epsilon, 1e-5, 0.9)
    assert answer.sigma < 1.0 < answer.most < 1.1
    for sigma, holds in ((answer.most, True), (1.1, False), (10.0, False)):
        correlation = np.full((5, 5), 0.9) + 0.1 * np.eye(5)
        scales = np.array([1.0, 1.0, 1.0, 1.0, sigma])
        mu = math.sqrt(np.ones(5) @ np.linalg.solve(correlation * np.outer(scales, scales), np.ones(5)))
        assert (mu <= 1.05 * (1 + 1e-9)) == holds


def test_what_is_out_of_reach_says_why():
    with pytest.raises(Unreachable, match=r"total mu of 0.60\d+; the existing mechanisms alone already have 1.41"):
        next_sigma(1.0, [1.0, 1.0], 1.0, 0.02)


def test_targets_without_a_mu():
    with pytest.raises(Unreachable, match="mu from 1e-90 up"):
        largest_mu(0.0, 1e-300)
    with pytest.raises(InvalidParameter, match=r"epsilon must be in \[0, 1e6\]"):
        largest_mu(1e7, 0.1)
    mu = largest_mu(1e6, 1.0 - 1e-9)
    with mpmath.workdps(60):
        assert true_delta(mu, 10**6) <= mpmath.mpf(1.0 - 1e-9) < true_delta(1.000001 * mu, 10**6)


def test_the_answer_is_asked_again(monkeypatch):
    """A search that came back too high is caught, because the certificate rests on the sigmas alone."""
    monkeypatch.setattr(calibrated, "largest_mu", lambda epsilon, delta: 1.0001 * largest_mu(epsilon, delta))
    with pytest.raises(NotCertified, match="asked again"):
        next_sigma(1.0, [10.0], 1.0, 1e-5)


def test_extreme_scales():
    tiny, large = next_sigma(1e-90, [1e-89], 1.0, 1e-5), next_sigma(1e90, [1e91], 1.0, 1e-5)
    plain = next_sigma(1, [10], 1.0, 1e-5)
    assert tiny.sigma / 1e-90 == pytest.approx(plain.sigma, rel=1e-12)
    assert large.sigma / 1e90 == pytest.approx(plain.sigma, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0.0, [1.0], 1.0, 0.1), "sensitivity"),
        ((math.nan, [1.0], 1.0, 0.1), "sensitivity"),
        ((1.0, [], 1.0, 0.1), "sigmas must be one number or more"),
        ((1.0, [0.0], 1.0, 0.1), "sigmas"),
        ((1.0, [True], 1.0, 0.1), "sigmas"),
        ((1.0, [9.0], -1.0, 0.1), "epsilon"),
        ((1.0, [9.0], math.inf, 0.1), "epsilon"),
        ((1.0, [9.0], 1.0, 0.0), r"delta must be in \(0, 1\).*no epsilon at delta 0"),
        ((1.0, [9.0], 1.0, 1.0), r"delta must be in \(0, 1\)"),
        ((1.0, [9.0], 1.0, math.nan), "delta"),
        ((1.0, [9.0], 1.0, 0.1, 1.0), "correlation"),
    ],
)
def test_bad_input(arguments, words):
    with pytest.raises(InvalidParameter, match=words):
        next_sigma(*arguments)


def test_the_answer_says_itself():
    answer = next_sigma(1.0, [10.0], 1.0, 1e-5)
    assert str(answer).startswith("sigma 4.0")
    assert str(answer).endswith("(1, 1e-05)")
