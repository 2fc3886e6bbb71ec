"""Seed 004: the game against membership inference. Printed statements that fail, and what holds instead."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.errata import printed_game as printed
from tests.game.finite_cases import REFERENCE, lie, xor

from quiltwork.game.finite import (
    FiniteGame,
    alpha_critical,
    bwma_loss_identity,
    composition_identity,
    dominates,
    exactly_half,
    gaussian_test,
    implied_level,
    nash,
    odds_test,
    posterior_identity,
    stackelberg,
)
from quiltwork.game.measures import auc, roc

HALF = Fraction(1, 2)
NOISE = [("-1/4", "1/4"), (0, "1/2"), ("1/4", "1/4")]
PEOPLE = FiniteGame.summary([[1, 0], [0, 1], [1, 1]], NOISE)


# ---- Proposition 1: counts, not rates


def test_proposition_1_fails_for_rates():
    """Divided by the expected numbers of members and others the two sides differ; as counts they are one number."""
    game = FiniteGame.product_prior(["1/2", "1/4"], [lie("1/4")[i] for i in (0, 0, 1, 1)])
    strategy = [[1, 0], [0, 0], [0, 0], [0, 1]]  # nobody at the first output, everybody at the second
    found = bwma_loss_identity(game, strategy, "1/3")
    members = game.rates.sum()
    rates = (
        found.counts.expected_true_positives / members,
        found.counts.expected_false_positives / (game.candidates - members),
    )
    assert Fraction(2, 3) * rates[0] - Fraction(1, 3) * rates[1] != -found.loss
    assert found.residual == 0


# ---- Proposition 2


def test_proposition_2_as_printed_fails_backwards():
    """One game tells b1, the other b2 by 0.8: the larger BWMA is not larger for everybody."""
    one = FiniteGame(["1/4"] * 4, [[1, 0], [1, 0], [0, 1], [0, 1]])
    two = FiniteGame(["1/4"] * 4, [["9/10", "1/10"], ["1/10", "9/10"]] * 2)
    assert (one.advantages(), two.advantages()) == ((1, 0), (0, Fraction(4, 5)))
    assert (one.max_bwma(HALF), two.max_bwma(HALF)) == (Fraction(1, 4), Fraction(1, 5))
    assert not printed.proposition_2(one.advantages(), two.advantages(), one.max_bwma(HALF), two.max_bwma(HALF))
    # as corrected: each candidate alone, by trade-off functions
    assert [dominates(one, two, k) for k in (0, 1)] == [True, False]
    assert [dominates(two, one, k) for k in (0, 1)] == [False, True]


def test_proposition_2_as_printed_fails_forwards():
    """Prior rate 0.1: the larger advantage has the smaller BWMA(1/2), which is zero."""
    one = FiniteGame(["9/10", "1/10"], lie("3/10"))
    two = FiniteGame(["9/10", "1/10"], [[1, 0], ["7/10", "3/10"]])
    assert (one.advantages(), two.advantages()) == ((Fraction(2, 5),), (Fraction(3, 10),))
    assert (one.max_bwma(HALF), two.max_bwma(HALF)) == (0, Fraction(3, 200))
    assert not printed.proposition_2(one.advantages(), two.advantages(), one.max_bwma(HALF), two.max_bwma(HALF))
    # as corrected: neither is below the other everywhere, so neither order holds for every gamma
    assert not dominates(one, two)
    assert not dominates(two, one)
    gammas = [Fraction(step, 100) for step in range(1, 100)]
    assert any(one.max_bwma(gamma) > two.max_bwma(gamma) for gamma in gammas)


def test_proposition_2_is_empty_with_the_definition_as_printed():
    """max(TPR - FPR) has no k: it is twice the largest BWMA(1/2) for everybody, and appendix G fails all the same."""
    counts = PEOPLE.bwma_of(PEOPLE.best_response(HALF), HALF)
    literal = counts.expected_true_positives - counts.expected_false_positives
    assert literal == 2 * PEOPLE.max_bwma(HALF)
    assert printed.appendix_g([literal] * 3) != PEOPLE.max_bwma(HALF)


def test_the_sum_of_advantages_is_printed_twice_too_large():
    assert PEOPLE.max_bwma(HALF) == Fraction(161, 256)
    assert printed.appendix_g(PEOPLE.advantages()) == Fraction(161, 128)
    assert PEOPLE.max_bwma(HALF) == sum(PEOPLE.advantages()) / 4


# ---- Theorem 1


def test_theorem_1_i_as_printed_fails():
    """Calling everybody a member has more true positives; and against gamma = 1 the other side is zero."""
    everybody = np.ones((3, len(PEOPLE.outputs)), dtype=int)
    most = PEOPLE.bwma_of(everybody, HALF).expected_true_positives
    sampled = PEOPLE.bwma_of(PEOPLE.marginal_posteriors(), HALF).expected_true_positives
    thresholded = PEOPLE.bwma_of(PEOPLE.best_response(HALF), HALF).expected_true_positives
    nobody = PEOPLE.bwma_of(PEOPLE.best_response(1), 1).expected_true_positives  # gamma = 1: nobody is called one
    assert (most, sampled, thresholded, nobody) == (HALF * 3, Fraction(2107, 1536), Fraction(81, 64), 0)
    for response in (sampled, thresholded):
        assert not printed.theorem_1(most, response, math.inf)
        assert not printed.theorem_1(0, response, nobody)


def test_theorem_1_ii_as_printed_fails_for_posterior_sampling():
    """Propositions 7 and 9: the mirror of the posterior is no best response; the thresholded posterior is."""
    sampled = PEOPLE.bwma_of(PEOPLE.marginal_posteriors(), HALF).advantage
    thresholded = PEOPLE.bwma_of(PEOPLE.best_response(HALF), HALF).advantage
    assert (float(thresholded), float(sampled)) == pytest.approx((0.62890625, 0.6217447916666666), abs=1e-15)
    assert not printed.theorem_1(thresholded, sampled, math.inf)
    # and the other inequality, against the equilibrium at gamma = 1, fails for both
    nobody = PEOPLE.bwma_of(PEOPLE.best_response(1), HALF).advantage
    assert nobody == 0
    assert not any(printed.theorem_1(0, response, nobody) for response in (sampled, thresholded))
    # as corrected (a): no rule that sees x only does better than the thresholded posterior
    assert thresholded == PEOPLE.max_bwma(HALF)
    assert posterior_identity(PEOPLE).true_positives == posterior_identity(PEOPLE).squared_posteriors


def test_proposition_9_as_printed_fails():
    """L(mirror) <= L(best response) in true positives: 1.3717 and 1.2656."""
    sampled = PEOPLE.bwma_of(PEOPLE.marginal_posteriors(), HALF).expected_true_positives
    response = PEOPLE.bwma_of(PEOPLE.best_response(HALF), HALF).expected_true_positives
    assert not sampled <= response


def test_theorem_1_iii_as_printed_fails():
    """True positives plus a price of the channel: the same price on the left, and none on the right, without noise."""
    everybody = np.ones((3, len(PEOPLE.outputs)), dtype=int)
    most, response = (
        PEOPLE.bwma_of(rule, HALF).expected_true_positives for rule in (everybody, PEOPLE.marginal_posteriors())
    )
    price = Fraction(1, 10)  # of this channel, whatever it is
    assert not printed.theorem_1(most + price, response + price, math.inf)
    assert not printed.theorem_1(0, response + price, 0)  # gamma = 1: nobody is accused, and nothing is perturbed


@pytest.mark.parametrize(("kappa", "simultaneous", "committed"), [("3/5", "1/2", "23/50"), ("3/10", "2/5", "151/400")])
def test_definition_3_is_not_the_optimal_commitment(kappa, simultaneous, committed):
    """One bit: the fixed point costs 0.500 and 0.400, commitment 0.460 and 0.3775."""
    bit = FiniteGame(["1/2", "1/2"], [[1, 0], [0, 1]])
    fixed, best = nash(bit, kappa), stackelberg(bit, kappa, loss="tpr")
    for found, value in ((fixed, simultaneous), (best, committed)):
        assert found.regret == 0
        assert found.game.sum_squared_posteriors() + found.expense == Fraction(value)
    # as corrected (b): against the advantage both are one point, a saddle point
    zero_sum = nash(bit, kappa, loss="advantage")
    assert zero_sum.regret == 0
    assert zero_sum.game.bwma_of(zero_sum.attacker, HALF).advantage == zero_sum.game.max_bwma(HALF)


# ---- Proposition 4


def twice(rate, same=False):
    table = np.array(lie(rate), dtype=float)
    return np.array([np.diag(row) for row in table]) if same else table[:, :, None] * table[:, None, :]


def test_proposition_4_as_printed_fails_for_independent_mechanisms():
    """One bit told twice with lies of 0.1: 1.16454 instead of 0.47139."""
    prior = np.array([0.5, 0.5])
    found = composition_identity(twice("1/10"), prior)
    assert printed.proposition_4_independent(twice("1/10"), prior) == pytest.approx(1.1645406673700396, abs=1e-10)
    assert found.overlap == pytest.approx(0.4713934868100943, abs=1e-10)
    assert found.joint.overlap_from_correlations == pytest.approx(found.overlap, abs=1e-12)


def test_proposition_4_as_printed_depends_on_labels_that_tell_nothing():
    """An output split by a fair coin tells nothing more, and the printed Lambda grows by log 2."""
    prior = np.array([0.5, 0.5])
    split = np.repeat(twice("1/10"), 2, axis=2) / 2
    before, after = (printed.proposition_4_independent(joint, prior) for joint in (twice("1/10"), split))
    assert after - before == pytest.approx(math.log(2), abs=1e-12)
    overlaps = [composition_identity(joint, prior).overlap for joint in (twice("1/10"), split)]
    assert overlaps[0] == pytest.approx(overlaps[1], abs=1e-12)


def test_proposition_4_as_printed_fails_for_correlated_mechanisms():
    """Two candidates, one bit told twice with the same lies: -0.69315 instead of 1.01823."""
    prior, joint = np.full(4, 0.25), np.repeat(twice("1/10", same=True), 2, axis=0)
    found = composition_identity(joint, prior)
    assert printed.proposition_4_correlated(joint, prior) == pytest.approx(-0.6931471805599453, abs=1e-10)
    assert found.overlap == pytest.approx(1.0182301539513934, abs=1e-10)
    assert found.joint.overlap_from_correlations == pytest.approx(found.overlap, abs=1e-12)


def test_an_example_in_which_proposition_4_happens_to_hold():
    """Two candidates, one told twice independently: both are 1.16454, since sum_j H(x_j) = (n - 1) H(b)."""
    prior, joint = np.full(4, 0.25), np.repeat(twice("1/10"), 2, axis=0)
    found = composition_identity(joint, prior)
    assert printed.proposition_4_independent(joint, prior) == pytest.approx(found.overlap, abs=1e-12)


# ---- Proposition 6


def test_proposition_6_as_printed_is_not_sufficient_for_one_candidate():
    """Randomised response at the edge of the printed set: 0.8318 and not 0.5; at the worst prior, twice epsilon."""
    epsilon = 0.5
    lies = math.exp(-epsilon) / 2
    game = FiniteGame([0.5, 0.5], [[1 - lies, lies], [lies, 1 - lies]])
    shrunk = 1 - 1e-12  # the edge itself, up to rounding
    assert all(printed.dph(0.5 + (p - 0.5) * shrunk, 0.5, epsilon) for p in game.marginal_posteriors().ravel())
    assert game.informed_level().lower > epsilon
    assert not odds_test(game.channel, epsilon).holds
    assert game.informed_level().upper == pytest.approx(math.log(2 * math.exp(epsilon) - 1), abs=1e-12)
    assert game.informed_level().upper == pytest.approx(implied_level(epsilon, 0.5).upper, abs=1e-12)
    assert implied_level(epsilon, 1 / (1 + math.exp(epsilon))).upper == pytest.approx(2 * epsilon, rel=1e-12)


def test_proposition_6_as_printed_says_nothing_about_two_candidates():
    """x = b1 XOR b2: every posterior is 1/2, which is in the set for epsilon = 0, and no epsilon is enough."""
    game = xor()
    assert all(printed.dph(float(p), 0.5, 0.0) for p in game.marginal_posteriors().ravel())
    assert game.informed_level().upper == math.inf
    assert not odds_test(game.channel, 100.0).holds


def test_proposition_6_read_jointly_is_not_necessary():
    """Three bits with randomised response at 0.5: private, and one posterior is 1.929 times its prior."""
    epsilon = 0.5
    lies = 1 / (1 + math.exp(epsilon))
    bits = list(itertools.product((0, 1), repeat=3))
    channel = [[math.prod(lies if x != y else 1 - lies for x, y in zip(b, z, strict=True)) for z in bits] for b in bits]
    game = FiniteGame([1 / 8] * 8, channel)
    assert odds_test(channel, epsilon + 1e-12).holds
    posterior = (game.joint / game.output_law).max()
    assert posterior * 8 == pytest.approx(1.9294029237864203, abs=1e-10)
    assert not printed.dph(posterior, 1 / 8, epsilon)


# ---- Theorem 2


@pytest.mark.parametrize("entry", REFERENCE["propositions"]["thm2"]["gaussian_uniform_prior"])
def test_theorem_2_as_printed_holds_up_to_a_level_only(entry):
    """Thresholded and sampled posterior against the optimal test, just below and just above the critical level."""
    test = gaussian_test([0.0], [entry["mu"]], [1.0])
    for rule, bayesian in (("threshold", entry["bayes_threshold_TPR"]), ("sampling", entry["bayes_mirror_TPR"])):
        critical = alpha_critical(entry["mu"], rule=rule)
        assert printed.theorem_2(bayesian, test.power(critical * (1 - 1e-6)))
        assert not printed.theorem_2(bayesian, test.power(critical * (1 + 1e-6)))


def test_theorem_2_as_printed_fails_at_a_level_of_one_in_ten():
    """mu = 3: 0.957 against 0.933 and 0.901."""
    entry = REFERENCE["propositions"]["thm2"]["gaussian_uniform_prior"][4]
    power = gaussian_test([0.0], [3.0], [1.0]).power(0.1)
    assert power == pytest.approx(0.9572, abs=1e-4)
    assert not printed.theorem_2(entry["bayes_threshold_TPR"], power)
    assert not printed.theorem_2(entry["bayes_mirror_TPR"], power)


def test_theorem_2_as_printed_compares_unequal_knowledge():
    """XOR: the test given b_-k never errs, the posterior stays at 1/2."""
    game = xor()
    informed = FiniteGame(["1/2", "1/2"], game.channel[[0, 2]].tolist())  # b2 = 0 is known
    assert informed.vertices(0) == ((0, 0),)  # power 1 at every level
    assert game.sum_squared_posteriors() == Fraction(1, 2)  # of two candidates: a rate of 1/2 each
    assert not printed.theorem_2(HALF, 1 - informed.vertices(0)[0][1])


# ---- Lemma 1 and Theorem 3


def test_lemma_1_as_printed_is_one_and_not_the_number_of_attributes():
    expected = REFERENCE["propositions"]["lemma1"]
    count, moment, alpha = expected["Q"], expected["M_j"], expected["alpha"]
    test = gaussian_test([0.0] * count, [moment] * count, [1.0] * count)
    beta = test.type_two(alpha)
    assert printed.lemma_1(alpha, beta, [moment] * count) == pytest.approx(1.0, abs=1e-10)
    assert printed.lemma_1(alpha, beta, [moment] * count) != pytest.approx(count, rel=0.5)
    # with unequal moments too; per-attribute moments give |Q| only when they are equal
    uneven = [0.1 * j for j in range(1, 8)]
    other = gaussian_test([0.0] * 7, uneven, [1.0] * 7)
    assert printed.lemma_1(alpha, other.type_two(alpha), uneven) == pytest.approx(1.0, abs=1e-10)
    assert printed.lemma_1(alpha, beta, [moment]) == pytest.approx(count, abs=1e-9)
    # as corrected: z_alpha + z_beta = mu, mu^2 = sum_j M_j^2
    assert test.power(alpha) == pytest.approx(1 - expected["beta_exact"], abs=1e-10)
    assert test.mu == pytest.approx(math.sqrt(count) * moment, rel=1e-14)


def test_lemma_1_with_the_variances_of_the_statement_has_no_fixed_value():
    """V_j^2 instead of M_j^2: the same test in other units has another F."""
    alpha, moments = 0.05, [0.3] * 5
    beta = gaussian_test([0.0] * 5, moments, [1.0] * 5).type_two(alpha)
    values = [printed.lemma_1_statement(alpha, beta, moments, [v] * 5) for v in (1.0, 2.0)]
    assert values[1] == pytest.approx(4 * values[0])


def test_theorem_3_calls_the_error_of_type_two_power():
    """A better test has a smaller 'power'."""
    assert printed.power(0.05, 1.0) > printed.power(0.05, 2.0)
    weak, strong = (gaussian_test([0.0], [mu], [1.0]) for mu in (1.0, 2.0))
    assert weak.power(0.05) < strong.power(0.05)
    assert printed.power(0.05, 1.0) == pytest.approx(1 - weak.power(0.05), abs=1e-12)


# ---- the sign of the statistic, and areas


def released_statistics():
    """Every exactly-half data set of six people with ten attributes: printed statistics and memberships."""
    rng = np.random.default_rng(4)
    rows = (rng.random((6, 10)) < 0.4).astype(float)
    reference = np.full(10, 0.4)
    game = FiniteGame.summary(rows.tolist(), prior=exactly_half(6))
    for members in game.secrets[np.array([mass > 0 for mass in game.prior])]:
        released = np.clip(rows[members == 1].mean(axis=0), 0.05, 0.95)
        yield [printed.lrs(row, released, reference) for row in rows], members


def test_the_sign_of_the_statistic_in_appendix_c():
    """Small means member: the rule of the appendix finds fewer members than others, that of the main text more."""
    statistics, members = (np.array(part) for part in zip(*released_statistics(), strict=True))
    threshold = np.median(statistics)
    inside = members == 1
    for says, better in ((printed.main_text_says_member, True), (printed.appendix_says_member, False)):
        said = np.vectorize(says)(statistics, threshold)
        assert (said[inside].mean() > said[~inside].mean()) == better
        # P_1 is absence in the appendix: its "privacy loss" counts others, and is not the share of members found
        assert says is printed.main_text_says_member or said[~inside].mean() > said[inside].mean()
    # as corrected: larger is more likely a member
    assert auc(-statistics, inside) > 0.75
    assert auc(statistics, inside) == pytest.approx(1 - auc(-statistics, inside), abs=1e-12)


def test_the_statistic_of_the_optimal_test_lacks_its_logarithm():
    """As printed it is |Q| times the joint ratio and harmless; summed over attributes without log it orders wrongly."""
    one, two, ones = np.array([4.0, 0.2]), np.array([1.5, 1.5]), np.ones(2)  # absent / present of two attributes
    assert np.log(one).sum() < np.log(two).sum()
    assert printed.optimal_statistic(one, ones) < printed.optimal_statistic(two, ones)
    assert printed.optimal_statistic_of_each(one, ones) > printed.optimal_statistic_of_each(two, ones)


def test_an_area_that_is_not_completed():
    """A useless attack swept up to a false positive rate of 0.5 has the area 0.125; completed it has 0.5."""
    rng = np.random.default_rng(0)
    scores, members = rng.permutation(4000).reshape(40, 100), np.tile(np.arange(100) < 50, (40, 1))
    curve = roc(scores, members)
    kept = curve.false_alarms <= 0.5
    assert printed.area(curve.false_alarms[kept], curve.found[kept]) == pytest.approx(0.125, abs=0.02)
    assert printed.area([0.0, 0.56], [0.0, 0.56]) == pytest.approx(0.56**2 / 2, abs=1e-12)
    assert auc(scores, members) == pytest.approx(0.5, abs=0.04)  # four standard deviations, false alarms below 1e-4
    assert (curve.false_alarms[-1], curve.found[-1]) == (1.0, 1.0)
