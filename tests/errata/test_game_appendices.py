"""Seed 004, the smaller propositions, Definition 5 and the appendices: what was printed, and where it fails."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtri
from tests.errata import printed_game as printed
from tests.game.finite_cases import lie, xor

from quiltwork.game.finite import FiniteGame, dominates, gaussian_test, nash, odds_test

HALF = Fraction(1, 2)


def posterior_finds(mu, rate=0.5):
    """E[P(b = 1 | y) | b = 1], y ~ N(mu b, 1), for the prior rate: the members that posterior sampling finds."""
    odds = math.log(rate / (1 - rate))

    def part(z):
        return math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / (1 + math.exp(-(odds + mu * mu / 2 + mu * z)))

    return quad(part, -12, 12)[0]


# ---- Propositions 3, 5 and 8


def test_trade_off_functions_of_each_do_not_give_the_order_of_blackwell():
    """x = b1 XOR b2 and a constant: equal trade-off functions of each candidate, and unequal joint cross-entropies."""
    silent, told = FiniteGame(["1/4"] * 4, [[1]] * 4), xor()
    assert dominates(silent, told)
    assert dominates(told, silent)
    assert (silent.cel_joint(), told.cel_joint()) == pytest.approx((2 * math.log(2), math.log(2)), abs=1e-14)
    assert silent.cel_factorised() == pytest.approx(told.cel_factorised(), abs=1e-14)  # the loss of (8) is a sum


def test_proposition_5_is_true_of_a_release_without_noise():
    """At kappa = 1 the fixed point of Definition 3 publishes the bit: for every epsilon its delta is 1, and no less."""
    fixed = nash(FiniteGame(["1/2", "1/2"], [[1, 0], [0, 1]]), 1)
    assert fixed.regret == 0
    absent, present = fixed.game.channel
    for grow in (1, 10, 10**9):  # e^epsilon
        assert sum(max(0, one - grow * zero) for zero, one in zip(absent, present, strict=True)) == 1


def test_proposition_8_gives_marginals_and_no_posterior():
    """x = b1 XOR b2: the product of what the response says is 1/4 for every b, the posterior 1/2 or 0."""
    game = xor()
    marginals, posterior = game.marginal_posteriors(), game.joint / game.output_law
    for b, law in zip(game.secrets, posterior, strict=True):
        for x, mass in enumerate(law):
            said = math.prod(p if bit else 1 - p for p, bit in zip(marginals[:, x], b, strict=True))
            assert said == Fraction(1, 4) != mass
    assert game.cel_factorised() - game.cel_joint() == pytest.approx(math.log(2), abs=1e-14)


# ---- Theorem 2: aligned priors, and the order of the two tests


def test_definition_5_calls_a_prior_informative_that_finds_nobody():
    """One bit with lies of 1/10, theta = 1/2: sigma = 1/100 is strictly informative, and finds less than any test."""
    channel = lie("1/10")

    def found(rate):
        posterior = FiniteGame([1 - Fraction(rate), Fraction(rate)], channel).marginal_posteriors()[0]
        return HALF * sum(mass * p for mass, p in zip(channel[1], posterior, strict=True))

    low, true = found("1/100"), found("1/2")
    assert printed.definition_5(low, true)
    assert low != true
    # the optimal test of level 1/100 accuses one in ten of those with x = 1; its level is far below alpha_crit = 1/10
    assert not printed.theorem_2(low, HALF * Fraction(1, 10) * channel[1][1])
    # and with the sign of the proof a prior that takes everybody for a member is informative
    assert not printed.definition_5(found("99/100"), true)


def test_the_optimal_test_finds_fewer_than_an_adaptive_one():
    """Two people with one attribute, both have it, no noise: level 1/2 for each b_-k, against level 1/2 on average."""
    rows, other, usual = np.ones((2, 1)), np.zeros((1, 1)), np.array([0.5])
    alpha, adaptive, optimal = [], [], []
    for k in (0, 1):
        level = power = best = Fraction(0)
        for rest in (0, 1):
            shares = [np.clip(np.array([float(bool(b or rest))]), 0.05, 0.95) for b in (0, 1)]  # nobody: 0
            says = [
                printed.main_text_says_member(
                    printed.lrs(rows[k], x, usual), np.mean([printed.lrs(one, x, usual) for one in other])
                )
                for x in shares
            ]
            level, power = level + HALF * says[0], power + HALF * says[1]
            best += HALF * (1 if shares[0] != shares[1] else HALF)  # told apart, or power = level
        alpha.append(level)
        adaptive.append(power)
        optimal.append(best)
    assert alpha == [HALF, HALF]
    assert adaptive == [1, 1]
    assert optimal == [Fraction(3, 4)] * 2


# ---- Theorem 3 and its corollaries


def test_theorem_3_as_printed_fails_below_the_number_of_attributes():
    """Four attributes with moments 1/2: F is 3.6, and the posterior finds 0.60 where the test finds 0.26."""
    moments, alpha = [0.5] * 4, 0.05
    bayesian, optimal = posterior_finds(1.0), gaussian_test([0.0] * 4, moments, [1.0] * 4).power(alpha)
    assert not printed.theorem_3(alpha, 1 - bayesian, moments)  # so that the test is said to find at least as many
    assert not optimal >= bayesian


def test_theorem_3_as_printed_fails_where_a_square_hides_the_sign():
    """One attribute, M = 1, sigma = 1/1000, alpha = 1/2: F is 7.7 > 1, and the test finds 0.84 against 0.003."""
    alpha = 0.5
    bayesian, optimal = posterior_finds(1.0, 1e-3), gaussian_test([0.0], [1.0], [1.0]).power(alpha)
    assert printed.theorem_3(alpha, 1 - bayesian, [1.0])
    assert not optimal <= bayesian
    assert ndtri(1 - alpha) + ndtri(bayesian) < 0  # as corrected: this has to be at least mu


@pytest.mark.parametrize(("mu", "alpha"), [(3.0, 0.1), (1.0, 0.05)])
def test_corollary_2_as_printed_has_the_other_sign(mu, alpha):
    bayesian, optimal = posterior_finds(mu), gaussian_test([0.0], [mu], [1.0]).power(alpha)
    assert printed.corollary_2(1 - bayesian, 1 - optimal) != (optimal <= bayesian)
    assert printed.corollary_2(1 - optimal, 1 - bayesian) == (optimal <= bayesian)  # as corrected


@pytest.mark.parametrize("mu", [0.0, 0.5, 1.0])
def test_lemma_7_as_printed_bounds_the_wrong_tail(mu):
    """At level 0.05 P_1[lrs >= tau] is the error of type II: 0.74 at mu = 1, where 0.26 is claimed."""
    assert not printed.lemma_7(0.05, mu)


@pytest.mark.parametrize("attributes", [1, 4, 50])
def test_appendix_e_forgets_that_the_mean_of_the_noise_moves(attributes):
    """Means |Q| / K' apart and shares 1 / K' apart: M (1 + 1 / |Q|) and not M; twice for one attribute."""
    members, moment, alpha = 3, 1.0, 0.05
    deviation = printed.deviation(attributes, members, moment)
    shift = printed.sensitivity(attributes, members) + 1 / members
    test = gaussian_test([0.0], [shift], [deviation**2])
    assert test.mu == pytest.approx(moment * (1 + 1 / attributes))
    assert test.type_two(alpha) < gaussian_test([0.0], [moment], [1.0]).type_two(alpha)
    # as corrected: the deviation of Lemma 6, twice the sensitivity over M, with means no further apart than shares
    safe = gaussian_test([0.0], [2 / members], [(2 / members / moment) ** 2])
    assert safe.mu == pytest.approx(moment)


# ---- Appendices H, K and P.9, and areas


def test_lemma_2_as_printed_fails_for_a_game_and_itself():
    """zeta = -s: who always says 1 has -1, who never does has 0, under the same channel."""
    sums = [-1, 0]
    assert not printed.lemma_2(sums, sums)
    assert min(sums) <= min(sums)  # as corrected: least values


def test_appendix_k_as_printed_fails_for_every_mechanism():
    """f* is 1 at 1, and every trade-off function is 0 there."""
    alphas = [Fraction(step, 20) for step in range(21)]
    for tradeoff in (lambda a: 1 - a, lambda a: max(0, 1 - 3 * a, (1 - a) / 3)):
        assert not printed.appendix_k(tradeoff, alphas)


def test_parameters_are_counted_without_the_biases_that_the_text_counts():
    inputs, first, second, outputs = layers = (5000, 3400, 2000, 800)  # Table 2a
    true = sum(one * two + two for one, two in itertools.pairwise(layers)) + 2 * second
    assert true - printed.attacker_parameters(inputs, first, second, outputs) == first + second
    assert true == 25_410_200


def test_equal_areas_are_no_equal_privacy():
    """A bit with lies of 1/8, and a bit that is told half of the time: both 7/8, log 7 and no epsilon at all."""
    lies, told = lie("1/8"), [["1/2", "1/2", 0], ["1/2", 0, "1/2"]]

    def area(channel):
        absent, present = ([Fraction(mass) for mass in row] for row in channel)
        pairs = itertools.product(zip(absent, present, strict=True), repeat=2)
        return sum(
            p * b * (HALF if p * b == a * q else int(p * b > a * q)) for (a, p), (b, q) in pairs
        )  # member at the first output, other at the second: the likelihood ratio p / a against q / b

    assert area(lies) == area(told) == Fraction(7, 8)
    assert odds_test(lies, math.log(7) + 1e-12).holds
    assert not odds_test(told, 100.0).holds
