"""Tests between Gaussian releases: reference values, mpmath, and sampled statistics."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.game.finite_cases import REFERENCE

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.game.finite import alpha_critical, gaussian_test

THEOREM_2 = REFERENCE["propositions"]["thm2"]["gaussian_uniform_prior"]


def apart(mu):
    """One number that moves by mu standard deviations."""
    return gaussian_test([0.0], [mu], [1.0])


@pytest.mark.parametrize("entry", REFERENCE["gaussian_tradeoff"]["rows"], ids=lambda entry: f"mu {entry['mu']}")
def test_gaussian_reference(entry):
    found = apart(entry["mu"])
    for alpha, power in entry["power"].items():
        assert found.power(float(alpha)) == pytest.approx(power, abs=1e-10)
        assert found.type_two(float(alpha)) == pytest.approx(1 - power, abs=1e-10)
    assert found.auc == pytest.approx(entry["auc"], abs=1e-10)
    assert found.total_variation == pytest.approx(entry["tv"], abs=1e-10)
    for epsilon, delta in entry["delta_at_eps"].items():
        assert found.loss.delta(float(epsilon)).upper == pytest.approx(delta, abs=1e-10)
    assert found.loss.epsilon(1e-5, rtol=1e-12).upper == pytest.approx(entry["eps_at_delta_1e5"], abs=1e-10)


def test_the_optimal_test_reference():
    expected = REFERENCE["optimal_lrt_example"]
    found = gaussian_test(expected["x0"], expected["x1"], expected["V"])
    assert found.mu == pytest.approx(expected["mu"], abs=1e-10)
    assert found.power(0.05) == pytest.approx(expected["power_alpha_05"], abs=1e-10)
    assert found.power(0.1) == pytest.approx(expected["power_alpha_10"], abs=1e-10)
    assert found.auc == pytest.approx(expected["auc"], abs=1e-10)
    full = gaussian_test(expected["x0"], expected["x1"], np.diag(expected["V"]))
    assert full.mu == pytest.approx(found.mu, rel=1e-14)
    assert full.weights == pytest.approx(found.weights, rel=1e-14)
    centres = np.array([expected["x0"], expected["x1"]])
    assert found.statistic(centres) == pytest.approx([-(found.mu**2) / 2, found.mu**2 / 2], rel=1e-12)


def test_lemma_1_reference():
    """z_alpha + z_beta = mu with mu^2 = sum_j M_j^2."""
    expected = REFERENCE["propositions"]["lemma1"]
    found = gaussian_test([0.0] * expected["Q"], [expected["M_j"]] * expected["Q"], [1.0] * expected["Q"])
    assert found.mu == pytest.approx(math.sqrt(expected["Q"]) * expected["M_j"], rel=1e-14)
    assert found.type_two(expected["alpha"]) == pytest.approx(expected["beta_exact"], abs=1e-10)


@pytest.mark.parametrize("entry", REFERENCE["composition"]["correlated"], ids=lambda entry: f"rho {entry['rho']}")
def test_five_correlated_releases_of_one_statistic(entry):
    """Noise of scale 1/eps_i and correlation rho: the fifth level in the reference meets five times the others."""
    closed = REFERENCE["composition"]["closed_form"]
    assert closed["eps5_over_eps"] == pytest.approx(math.sqrt(21), abs=1e-10)
    assert closed["total_if_naive_over_eps"] == pytest.approx(math.sqrt(5), abs=1e-10)

    def total(fifth):
        scales = 1 / np.array([1.0, 1.0, 1.0, 1.0, fifth])
        spread = entry["rho"] * np.outer(scales, scales)
        np.fill_diagonal(spread, scales**2)
        return gaussian_test(np.zeros(5), np.ones(5), spread).mu

    for root in entry["eps5_over_eps_roots"]:
        assert total(root) == pytest.approx(5.0, abs=1e-10)
    assert total(closed["eps5_over_eps"]) == pytest.approx(entry["naive_total_mu_over_eps_at_sqrt21"], abs=1e-9)


@pytest.mark.parametrize(
    "entry", REFERENCE["propositions"]["thm2"]["gaussian_uniform_prior"], ids=lambda e: f"mu {e['mu']}"
)
def test_theorem_2_reference(entry):
    mu = entry["mu"]
    found = apart(mu)
    assert alpha_critical(mu) == pytest.approx(entry["alpha_crit_threshold"], abs=1e-10)
    assert alpha_critical(mu, rule="sampling") == pytest.approx(entry["alpha_crit_mirror"], abs=1e-10)
    # at its critical level the test has exactly the true positives of the attacker
    assert found.power(alpha_critical(mu)) == pytest.approx(entry["bayes_threshold_TPR"], abs=1e-10)
    assert found.power(alpha_critical(mu, rule="sampling")) == pytest.approx(entry["bayes_mirror_TPR"], abs=1e-10)
    assert found.power(0.05) == pytest.approx(entry["opt_power_at_alpha05"], abs=1e-10)
    assert found.power(0.5) == pytest.approx(entry["opt_power_at_alpha50"], abs=1e-10)
    assert found.auc == pytest.approx(entry["auc"], abs=1e-10)


@given(st.floats(0.05, 12.0), st.floats(0.02, 0.98), st.floats(0.02, 0.98))
@settings(max_examples=examples(8))
def test_critical_levels_against_mpmath(mu, gamma, theta):
    """The definition by numerical integration in 30 digits."""
    with mpmath.workdps(30):
        cut = mpmath.log(mpmath.mpf(gamma) * (1 - theta) / ((1 - mpmath.mpf(gamma)) * theta))
        threshold = mpmath.ncdf(-cut / mu - mpmath.mpf(mu) / 2)
        prior = (1 - mpmath.mpf(theta)) / theta

        def missed(y):
            odds = prior * mpmath.exp(-mu * y + mpmath.mpf(mu) ** 2 / 2)
            return mpmath.npdf(y, mu, 1) * odds / (1 + odds)

        miss = mpmath.quad(missed, [-14, -7, -2, 0, mu / 2, mu, mu + 3, mu + 7, mu + 14])
        beta = -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * miss)
        sampling = mpmath.ncdf(-beta - mu)
    assert alpha_critical(mu, gamma, theta) == pytest.approx(float(threshold), rel=1e-9, abs=1e-300)
    assert alpha_critical(mu, gamma, theta, rule="sampling") == pytest.approx(float(sampling), rel=1e-8)


def test_critical_levels_at_the_ends():
    assert alpha_critical(1.0, 0.0) == 1.0
    assert alpha_critical(1.0, 1.0) == 0.0
    assert 0.0 <= alpha_critical(100.0, rule="sampling") < 1e-300
    assert alpha_critical(1e-6, rule="sampling") == pytest.approx(0.5, abs=1e-6)


def test_the_statistic_has_the_stated_law():
    """60,000 draws each: means within 5 standard errors (false alarms below 1e-5), and the power they show."""
    rng = np.random.default_rng(7)
    spread = np.array([[0.04, 0.01], [0.01, 0.09]])
    found = gaussian_test([0.1, 0.2], [0.3, 0.1], spread)
    factor = np.linalg.cholesky(spread)
    noise = rng.normal(size=(60_000, 2)) @ factor.T
    absent, present = (found.statistic(np.array(centre) + noise) for centre in ([0.1, 0.2], [0.3, 0.1]))
    error = 5 * found.mu / math.sqrt(60_000)
    assert absent.mean() == pytest.approx(-(found.mu**2) / 2, abs=error)
    assert present.mean() == pytest.approx(found.mu**2 / 2, abs=error)
    cut = np.quantile(absent, 0.9)
    assert (present > cut).mean() == pytest.approx(found.power(0.1), abs=0.015)


def test_the_loss_is_a_safe_gaussian_curve():
    found = gaussian_test([0.0, 0.0], [1.0, 1.0], [[2.0, 1.0], [1.0, 2.0]])
    assert found.loss.delta(0.5).upper >= qw.gdp(math.sqrt(2 / 3)).delta(0.5).lower
    nothing = gaussian_test([0.5], [0.5], [1.0])
    assert (nothing.mu, nothing.power(0.1), nothing.auc, nothing.total_variation) == (0.0, pytest.approx(0.1), 0.5, 0.0)
    assert nothing.loss.delta(0.0).upper == 0.0


@pytest.mark.parametrize(
    ("x0", "x1", "variances"),
    [
        ([0.0], [1.0, 2.0], [1.0]),
        ([0.0], [1.0], [0.0]),
        ([0.0], [1.0], [-1.0]),
        ([0.0], [1.0], [math.nan]),
        ([math.nan], [1.0], [1.0]),
        ([], [], []),
        ([[0.0]], [[1.0]], [1.0]),
        ([0.0], [1.0], [1.0, 1.0]),
        ([0.0, 0.0], [1.0, 1.0], [[1.0, 0.5], [0.4, 1.0]]),
        ([0.0, 0.0], [1.0, 1.0], [[1.0, 2.0], [2.0, 1.0]]),
        ([0.0, 0.0], [1.0, 1.0], [[1.0, 1.0 - 1e-14], [1.0 - 1e-14, 1.0]]),
        ("x", [1.0], [1.0]),
        ([0.0], [1e101], [1.0]),
    ],
)
def test_gaussian_tests_that_are_none(x0, x1, variances):
    with pytest.raises(InvalidParameter):
        gaussian_test(x0, x1, variances)


def test_questions_that_are_none():
    found = apart(1.0)
    for alpha in (-0.1, 1.1, math.nan, "a", []):
        with pytest.raises(InvalidParameter):
            found.power(alpha)
        with pytest.raises(InvalidParameter):
            found.type_two(alpha)
    for y in (1.0, [1.0, 2.0], [math.nan]):
        with pytest.raises(InvalidParameter):
            found.statistic(y)
    for options in (
        {"mu": 0},
        {"mu": math.nan},
        {"mu": 101},
        {"mu": True},
        {"mu": 1, "gamma": 2},
        {"mu": 1, "theta": 0},
    ):
        with pytest.raises(InvalidParameter):
            alpha_critical(**options)
    with pytest.raises(InvalidParameter, match="rule"):
        alpha_critical(1.0, rule="coin")
