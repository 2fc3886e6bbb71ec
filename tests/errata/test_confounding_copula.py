"""Seed 000, appendices G to I and N: copula perturbation and the experiments. Printed statements that fail."""

import math
from functools import partial

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import multivariate_normal
from tests.errata import printed_confounding as printed

import quiltwork as qw
from quiltwork.confounding import CopulaPerturbation, effective_correlation
from quiltwork.curves.auc_ceiling import auc_ceiling

RHO, EPSILON_C, DELTA_C = 0.5, 0.1, 0.02
SD = printed.weight(DELTA_C) / EPSILON_C
printed_noises = partial(printed.noises, rho=RHO, sd=SD)


# ---- appendix G


def test_the_copula_is_not_tight_it_tells_nothing():
    """Printed: (eps_c, delta_c), tight. The state cancels, draw by draw, so the law is one for all secrets: (0, 0)."""
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((2, 1000))
    here = printed_noises(0.0, first, second)
    for state in (1.0, -3.0, 50.0):
        there = printed_noises(state, first, second)
        np.testing.assert_allclose(here, there, atol=1e-9)
    made = CopulaPerturbation(RHO, SD, noises=(1.0, 1.0))
    np.testing.assert_allclose(
        made.sample(np.random.default_rng(1), 100), made.sample(np.random.default_rng(1), 100, state=50.0), atol=1e-9
    )
    assert made.curve((0.0, 0.0)).delta(0.0).upper == 0.0


def test_not_even_the_latent_variable_is_tight():
    """z_1 alone is Gaussian noise of w C / epsilon: at epsilon_c its delta is far below delta_c."""
    assert qw.gdp(EPSILON_C / printed.weight(DELTA_C)).delta(EPSILON_C).upper < 1e-15 < DELTA_C


def test_without_the_state_in_the_distribution_functions_the_marginals_break():
    """The mean of u_1 must be 1/2. The other reading of the construction, with one CDF for all states, loses that."""
    rng = np.random.default_rng(2)
    draws = rng.standard_normal((2, 20_000))
    for known, centred in ((None, True), (0.0, False)):
        first, _ = printed_noises(SD, *draws, known=known)
        assert (abs(float(ndtr(first).mean()) - 0.5) < 0.02) is centred  # 10 standard errors


def test_the_printed_joint_function_is_no_copula():
    """Phi_rho(F_1^-1(u), F_rho^-1(v)) with unit variances inside: its first marginal is Phi(sd Phi^-1(u)), not u."""
    assert printed.copula_marginal(0.6, SD) > 0.999
    assert printed.copula_marginal(0.6, 1.0) == pytest.approx(0.6, rel=1e-12)  # standardised first


def test_the_correlation_is_another_one():
    """rho = 0.5 becomes 0.99982: the noise of z_1 drowns that of z_2."""
    first, second = printed_noises(0.0, *np.random.default_rng(3).standard_normal((2, 5000)))
    assert effective_correlation(RHO, SD) == pytest.approx(0.99982, abs=1e-5)
    assert float(np.corrcoef(first, second)[0, 1]) == pytest.approx(0.99982, abs=1e-4)


# ---- Theorem 4 (ii)


def test_theorem_4_ii_as_printed_is_below_the_truth():
    """y_1 = s + v_1, y_2 = -s + v_2, unit noises: promised 4.138 at delta 0.06, and it is 5821."""
    alone = qw.gdp(1.0).epsilon(0.02).safe
    promised = qw.compose(qw.approximate(EPSILON_C, DELTA_C), 2 * qw.approximate(alone, 0.02)).epsilon(0.06)
    assert promised.upper == pytest.approx(4.138, abs=1e-3)
    made = CopulaPerturbation(RHO, SD, noises=(1.0, 1.0))
    truth = made.curve((1.0, -1.0)).epsilon(0.06)
    assert truth.lower == pytest.approx(5821, abs=1)
    assert made.mu((1.0, -1.0))[0] == pytest.approx(math.sqrt(2 / (1 - made.correlation)), rel=1e-9)
    # noises that are nearly one cancel in y_1 - y_2 = 2 s + v_1 - v_2; with y_2 = s + v_2 they do no harm
    assert made.curve((1.0, 1.0)).epsilon(0.06).upper < 1.5


def test_theorem_4_ii_is_corrected_by_the_covariance():
    """With x ~ N(s, C) the square of mu is Delta' (C + N)^-1 Delta."""
    made = CopulaPerturbation(RHO, 2.0, noises=(1.0, 2.0))
    given = [[1.0, 0.25], [0.25, 0.5]]
    shift = np.array([1.0, -0.5])
    square = shift @ np.linalg.solve(np.array(given) + made.covariance, shift)
    low, high = made.mu(shift, given)
    assert low <= math.sqrt(square) * (1 + 1e-12)
    assert high >= math.sqrt(square) * (1 - 1e-12)
    assert high - low < 1e-12


# ---- Proposition 3


def test_proposition_3_as_printed_is_no_density():
    """tau = sigma = 1, correlation 1/2: it integrates to 4/3, and lies 0.3745 from the joint law."""
    place = np.linspace(-14, 14, 281)
    points = np.dstack(np.meshgrid(place, place))
    cell = (place[1] - place[0]) ** 2
    claimed, truth = (
        printed.proposition_3_density(points, 0.5),
        multivariate_normal([0, 0], [[2, 1.5], [1.5, 2]]).pdf(points),
    )
    assert float(truth.sum() * cell) == pytest.approx(1.0, abs=1e-9)
    assert float(claimed.sum() * cell) == pytest.approx(4 / 3, abs=1e-6)
    assert float(np.abs(claimed - truth).sum() * cell) == pytest.approx(0.3745, abs=1e-4)


def test_proposition_3_as_printed_loses_privacy_loss():
    """Its exponent has Delta' Lambda Delta = 1/3 for means (1, 1) apart; the joint law has 4/7."""
    shift = np.ones(2)
    assert shift @ printed.proposition_3_precision(0.5) @ shift == pytest.approx(1 / 3, rel=1e-12)
    made = CopulaPerturbation(0.5, 1.0, noises=(1.0, 1.0))  # with sd = 1 the correlation is rho itself
    low, high = made.mu_squared((1.0, 1.0), [[1.0, 1.0], [1.0, 1.0]])
    assert float(low) == pytest.approx(4 / 7, rel=1e-12)
    assert float(high) == pytest.approx(4 / 7, rel=1e-12)


def test_proposition_3_holds_when_the_data_are_the_secret():
    """x = s: the joint density is the product times the copula of the noises, so that the printed form is right."""
    place = np.array([[-0.4, 1.3], [0.2, 0.1], [2.0, -1.0]])
    one, two = place[:, 0], place[:, 1]
    copula = np.exp(-(0.25 * (one**2 + two**2) - one * two) / 1.5) / math.sqrt(0.75)
    alone = multivariate_normal([0, 0], np.eye(2)).pdf(place)
    np.testing.assert_allclose(alone * copula, multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]]).pdf(place), rtol=1e-12)


def test_lemma_1_gives_another_law():
    """x ~ N(s, 1), unit noises of correlation 1/2: both are below s with probability 0.385, printed 1/3."""
    truth = float(multivariate_normal([0, 0], [[2, 1.5], [1.5, 2]]).cdf([0, 0]))
    assert truth == pytest.approx(0.25 + math.asin(0.75) / (2 * math.pi), abs=1e-6)
    assert truth == pytest.approx(0.385, abs=5e-4)
    assert printed.lemma_1(0.5, 0.5, 0.5, falling=False) == pytest.approx(1 / 3, abs=1e-6)
    # (ii), for a falling A: P(Y_1 <= y, Y_2 <= y) would tend to 0 as y grows
    assert printed.lemma_1(0.999, 0.999, 0.5, falling=True) < 0.001


def test_a_joint_cdf_is_no_argument_of_a_copula():
    """Independent uniform outputs: Psi_[2] = y_1 y_2 has mean 1/4, and the law of the third output is lost."""
    place = (np.arange(200) + 0.5) / 200
    joint = np.multiply.outer(place, place)
    assert joint.mean() == pytest.approx(0.25, abs=1e-9)
    third = [float((1 + (2 * joint - 1) * (2 * y - 1)).mean()) for y in (0.0, 1.0)]  # c(u, v) = 1 + (2u - 1)(2v - 1)
    assert third == [pytest.approx(1.5, abs=1e-9), pytest.approx(0.5, abs=1e-9)]  # a density of 1 was meant


# ---- the calibration


@pytest.mark.parametrize(("delta", "last"), [(0.5, 16.3), (0.1, 57.6), (0.02, 133.0), (1e-3, 369.4), (1e-5, 984.8)])
def test_the_printed_calibration_is_unsound_for_large_epsilon(delta, last):
    """sd = w / epsilon has mu = epsilon / w, whose delta at epsilon passes delta at 1.6 to 2.1 times w^2."""
    w = printed.weight(delta)
    assert 1.6 < 1.03 * last / w**2 < 2.2
    assert qw.gdp(last / w).delta(last).upper <= delta
    assert qw.gdp(1.01 * last / w).delta(1.01 * last).lower > delta


@pytest.mark.parametrize(("epsilon", "factor"), [(0.1, 12.7), (1.0, 5.5), (3.0, 4.0)])
def test_the_printed_calibration_wastes_noise_for_usual_epsilon(epsilon, factor):
    """Against the least Gaussian noise at delta = 0.02."""
    needed = qw.calibrate(qw.gaussian, epsilon, 0.02)
    assert printed.weight(0.02) / epsilon > factor * needed


# ---- Table VIII


@pytest.mark.parametrize(
    ("epsilon", "reported", "deviation", "ceiling"),
    [(0.25, 0.7485, 0.0064, 0.5795), (0.5, 0.8165, 0.0044, 0.6374), (1.5, 0.9056, 0.0029, 0.8248)],
)
def test_table_viii_reports_more_than_any_attack_can_reach(epsilon, reported, deviation, ceiling):
    """The AUC of a single mechanism said to be (epsilon, 0.02)-private, beyond 1 - (1 - delta)^2 / (1 + e^epsilon)."""
    most = auc_ceiling(epsilon, 0.02)
    assert most == pytest.approx(ceiling, abs=1e-4)
    assert reported > most + 20 * deviation
    # the area above the curve max(0, 1 - delta - e^eps a, e^-eps (1 - delta - a)), by quadrature
    alpha = (np.arange(200_000) + 0.5) / 200_000
    beta = np.maximum(0.98 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (0.98 - alpha)).clip(0)
    assert 1 - float(beta.mean()) == pytest.approx(most, abs=1e-8)


@pytest.mark.parametrize(
    ("epsilon", "reported", "deviation"), [(0.25, 0.7441, 0.0055), (0.5, 0.8093, 0.0042), (1.5, 0.8921, 0.0031)]
)
def test_table_viii_reports_as_much_of_the_compositions(epsilon, reported, deviation):
    """Five mechanisms that are said to have the same target together have the same ceiling."""
    assert reported > auc_ceiling(epsilon, 0.02) + 20 * deviation


@pytest.mark.parametrize(
    ("epsilon", "reported"), [(3.0, 0.9175), (5.0, 0.9308), (0.4, 0.5745), (0.6, 0.6388), (1.0, 0.7086)]
)
def test_the_other_rows_are_below_the_ceiling(epsilon, reported):
    assert reported < auc_ceiling(epsilon, 0.02)
