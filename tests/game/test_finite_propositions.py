"""The corrected propositions on finite games: identities in fractions, orders over all gamma, levels against mpmath."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.game.finite_cases import REFERENCE, games, laws, lie, xor

from quiltwork.errors import InvalidParameter
from quiltwork.game.finite import (
    FiniteGame,
    bwma_loss_identity,
    composition_identity,
    dominates,
    implied_level,
    odds_test,
    posterior_identity,
)

PROPOSITIONS = REFERENCE["propositions"]


# ---- Propositions 1 and 2


@given(games(outputs=2), st.data())
@settings(max_examples=examples(25))
def test_proposition_1_holds_exactly_for_counts(game, data):
    """L_A from its definition, over guesses, secrets and outputs, is minus the advantage."""
    columns = [data.draw(laws(len(game.prior))) for _ in game.outputs]
    strategy = [list(row) for row in zip(*columns, strict=True)]
    gamma = data.draw(st.fractions(0, 1, max_denominator=12))
    found = bwma_loss_identity(game, strategy, gamma)
    loss = Fraction(0)
    for (i, s), (j, b) in itertools.product(enumerate(game.secrets.tolist()), repeat=2):
        pays = -sum(p * q for p, q in zip(s, b, strict=True)) + gamma * sum(s)
        loss += pays * sum(strategy[i][x] * game.joint[j, x] for x in range(len(game.outputs)))
    assert found.loss == loss
    assert found.residual == 0


def test_proposition_1_in_floats():
    found = bwma_loss_identity(FiniteGame([0.5, 0.5], lie("1/4")), [[0.3, 0.2], [0.7, 0.8]], 0.4)
    assert found.residual == pytest.approx(0.0, abs=1e-15)


@given(laws(3, positive=True), laws(3), laws(3), laws(3))
@settings(max_examples=examples(60))
def test_dominance_is_the_order_of_the_advantage_for_every_gamma(prior, one, two, three):
    """One candidate.  BWMA(gamma) is linear between posteriors, so these decide about all gamma."""
    law = [prior[0], 1 - prior[0]]
    first, second = FiniteGame(law, [one, two]), FiniteGame(law, [one, three])
    gammas = {gamma for game in (first, second) for gamma in game.marginal_posteriors().ravel() if 0 < gamma < 1}
    everywhere = all(first.max_bwma(gamma) >= second.max_bwma(gamma) for gamma in gammas)
    assert dominates(first, second) == everywhere


def test_proposition_2_reference():
    """Adv and the largest BWMA(1/2) of the two counterexamples."""
    converse = PROPOSITIONS["prop2"]["converse_counterexample"]
    one = FiniteGame(["1/4"] * 4, [[1, 0], [1, 0], [0, 1], [0, 1]])
    two = FiniteGame(["1/4"] * 4, [["9/10", "1/10"], ["1/10", "9/10"]] * 2)
    forward = PROPOSITIONS["prop2"]["forward_counterexample_nonuniform"]
    three = FiniteGame(["9/10", "1/10"], lie("3/10"))
    four = FiniteGame(["9/10", "1/10"], [[1, 0], ["7/10", "3/10"]])
    for game, expected in (
        (one, converse["gA"]),
        (two, converse["gB"]),
        (three, forward["g"]),
        (four, forward["gprime"]),
    ):
        assert [float(value) for value in game.advantages()] == pytest.approx(np.ravel(expected["Adv"]), abs=1e-10)
        assert float(game.max_bwma("1/2")) == pytest.approx(expected["maxBWMA"], abs=1e-10)
    assert dominates(one, two, 0)
    assert not dominates(one, two, 1)
    assert not dominates(one, two)
    assert not dominates(three, four)


def test_dominance_of_floats_allows_rounding():
    game = FiniteGame([0.5, 0.5], [[0.7, 0.3], [0.1, 0.9]])
    assert dominates(game, game.after([[0.8, 0.2], [0.3, 0.7]]))
    assert dominates(game, game)


@given(games(most=3))
@settings(max_examples=examples(25))
def test_the_identity_of_the_posterior(game):
    found = posterior_identity(game)
    assert found.true_positives == found.squared_posteriors


# ---- Proposition 4


def twice(rate, same=False):
    """One bit released twice with lies of this rate, which are independent or the same."""
    table = np.array(lie(rate), dtype=object)
    if same:
        return np.array([np.diag(row) for row in table], dtype=object)
    return table[:, :, None] * table[:, None, :]


@pytest.mark.parametrize("expected", REFERENCE["prop4_reference_K1"], ids=lambda entry: f"lies {entry['e']}")
def test_proposition_4_reference_of_one_candidate(expected):
    found = composition_identity(twice(str(expected["e"])), ["1/2", "1/2"]).joint
    assert found.entropy == pytest.approx(expected["H_b"], abs=1e-10)
    assert found.entropies_given_each == pytest.approx([expected["H_b_given_xj"]] * 2, abs=1e-10)
    assert found.entropy_given_all == pytest.approx(expected["H_b_given_x"], abs=1e-10)
    assert found.total_correlation == pytest.approx(expected["TC_x"], abs=1e-10)
    assert found.conditional_total_correlation == pytest.approx(expected["TC_x_given_b"], abs=1e-10)
    assert found.overlap == pytest.approx(expected["Lambda_true"], abs=1e-10)
    assert found.overlap_from_correlations == pytest.approx(expected["Lambda_true"], abs=1e-10)
    assert found.sub_additive


@pytest.mark.parametrize("same", [False, True])
def test_proposition_4_reference_of_two_candidates(same):
    expected = PROPOSITIONS["prop4"]["reference_bsc01_" + ("identical_noise" if same else "independent")]
    joint = np.repeat(twice("1/10", same), 2, axis=0)  # the first candidate's bit is told, the second's is not
    found = composition_identity(joint, ["1/4"] * 4)
    assert found.overlap == pytest.approx(expected["Lambda_true"], abs=1e-10)
    assert found.joint.entropy_given_all == pytest.approx(expected["H_b_given_x"], abs=1e-10)
    assert found.joint.entropies_given_each[0] == pytest.approx(expected["H_b_given_xj"], abs=1e-10)
    assert found.joint.total_correlation == pytest.approx(expected["TC_x"], abs=1e-10)
    assert found.joint.conditional_total_correlation == pytest.approx(expected["TC_x_given_b"], abs=1e-10)
    assert found.individuals[1].overlap == pytest.approx(math.log(2), abs=1e-12)  # two releases that tell nothing


@given(st.integers(1, 2), st.lists(st.integers(2, 3), min_size=1, max_size=3), st.randoms(use_true_random=False))
@settings(max_examples=examples(30))
def test_both_sides_of_the_composition_identity_agree(people, sizes, random):
    """Any dependence, any prior: joint and for each candidate, against entropies of the tables."""
    rng = np.random.default_rng(random.randrange(2**32))
    prior = rng.dirichlet(np.ones(2**people))
    joint = rng.dirichlet(np.full(math.prod(sizes), 0.4), 2**people).reshape(2**people, *sizes)
    found = composition_identity(joint, prior)
    for terms in (found.joint, *found.individuals):
        assert terms.overlap == pytest.approx(terms.overlap_from_correlations, abs=1e-12)
        assert terms.information == pytest.approx(sum(terms.informations) + terms.excess, abs=1e-12)
    flat = FiniteGame(prior, joint.reshape(2**people, -1))
    assert found.joint.entropy_given_all == pytest.approx(flat.cel_joint(), abs=1e-12)
    assert sum(terms.entropy_given_all for terms in found.individuals) == pytest.approx(
        flat.cel_factorised(), abs=1e-12
    )
    each = [
        FiniteGame(prior, joint.sum(axis=tuple(i + 1 for i in range(len(sizes)) if i != j))) for j in range(len(sizes))
    ]
    factorised = sum(game.cel_factorised() for game in each) - flat.cel_factorised()
    assert found.factorised_overlap == pytest.approx(factorised, abs=1e-12)


def test_noise_that_cancels_breaks_sub_additivity():
    """x1 = r and x2 = r XOR b with a fair r: nothing alone, everything together."""
    joint = np.zeros((2, 2, 2), dtype=object)
    for b, r in itertools.product((0, 1), repeat=2):
        joint[b, r, r ^ b] = Fraction(1, 2)
    found = composition_identity(joint, ["1/2", "1/2"])
    assert found.joint.informations == pytest.approx((0.0, 0.0), abs=1e-15)
    assert found.joint.information == pytest.approx(math.log(2), abs=1e-15)
    assert not found.sub_additive
    assert not found.factorised_sub_additive
    assert composition_identity(twice("1/4"), ["1/2", "1/2"]).factorised_sub_additive


@pytest.mark.parametrize(
    ("joint", "prior"),
    [
        (np.full((2, 2, 2), 0.25), [0.5, 0.6]),
        (np.full((2, 2, 2), 0.3), [0.5, 0.5]),
        (np.full((2, 2), np.nan), [0.5, 0.5]),
        (np.full((3, 2), 0.5), [0.5, 0.5]),
        (np.full((3, 2), 0.5), [1 / 3, 1 / 3, 1 / 3]),
        (np.array([1.0, 0.0]), [0.5, 0.5]),
        (np.zeros((2, 0)), [0.5, 0.5]),
        ([["1/2", "1/2"], ["3/2", "-1/2"]], ["1/2", "1/2"]),
        ([[1, 0], [1]], ["1/2", "1/2"]),
        ("joint", ["1/2", "1/2"]),
    ],
)
def test_compositions_that_are_none(joint, prior):
    with pytest.raises(InvalidParameter):
        composition_identity(joint, prior)


# ---- Proposition 6


@pytest.mark.parametrize("entry", PROPOSITIONS["prop6"]["table"], ids=lambda e: f"{e['eps']} {e['theta']:.2f}")
def test_implied_levels_reference(entry):
    """1e-10 below what the reference itself computes with cancellation, which is another 1e-15."""
    found = implied_level(entry["eps"], entry["theta"])
    assert found.upper == pytest.approx(entry["implied_eps_formula"], abs=1e-10)
    assert found.upper == pytest.approx(entry["implied_eps_bruteforce"], abs=1e-10)
    assert found.width <= 1e-13


@given(st.floats(1e-12, 300.0), st.floats(1e-9, 1 - 1e-9))
@settings(max_examples=examples(60))
def test_implied_levels_hold_the_worst_posterior(epsilon, theta):
    """The two extreme posteriors the printed bounds allow, in 400 digits; and never more than twice epsilon."""
    found = implied_level(epsilon, theta)
    with mpmath.workdps(400):
        rate, growth = mpmath.mpf(theta), mpmath.exp(mpmath.mpf(epsilon))
        low = max(rate / growth, 1 - (1 - rate) * growth)
        high = min(rate * growth, 1 - (1 - rate) / growth)
        prior = rate / (1 - rate)
        truth = max(mpmath.log(high / (1 - high) / prior), -mpmath.log(low / (1 - low) / prior))
        assert mpmath.mpf(found.lower) <= truth <= mpmath.mpf(found.upper)
    assert found.upper <= 2 * epsilon


def test_implied_levels_at_the_worst_prior_and_at_zero():
    for epsilon in (0.01, 0.5, 3.0):
        assert implied_level(epsilon, 1 / (1 + math.exp(epsilon))).lower == pytest.approx(2 * epsilon, rel=1e-12)
    assert implied_level(0, 0.3).upper == 0.0
    for epsilon, theta in ((-1, 0.5), (math.nan, 0.5), (math.inf, 0.5), (701, 0.5), (1, 0), (1, 1), (1, math.nan)):
        with pytest.raises(InvalidParameter):
            implied_level(epsilon, theta)


def test_the_odds_test_given_all_others():
    found = odds_test(xor().channel, 100.0)
    assert not found.holds
    assert found.worst.odds == math.inf
    assert found.members == (0, 0)
    response = odds_test(lie("1/4"), odds=3)
    assert response.holds
    assert math.log(3) in response.level
    assert response.epsilon == pytest.approx(math.log(3), abs=1e-14)
    assert odds_test(lie("1/4"), math.log(3) + 1e-12).holds
    assert not odds_test(lie("1/4"), math.log(3) - 1e-12).holds
    assert odds_test([["1/2", "1/2"]] * 4, 0).holds
    assert odds_test([[0.25, 0.75], [0.75, 0.25]], math.log(3) + 1e-12).holds
    assert not odds_test([[0.25, 0.75], [0.75, 0.25]], odds=3).holds  # floats: not decided within rounding


@given(games(most=2, positive=True), st.integers(1, 12))
@settings(max_examples=examples(30))
def test_informed_posteriors_decide_and_product_priors_approach_them(game, target):
    """The odds test is the bound on P(b_k = 1 | x, b_-k); vertex priors nearly reach it by marginals alone."""
    odds = Fraction(target)
    holds = odds_test(game.channel, odds=odds).holds
    informed = True
    for i, j in itertools.combinations(range(len(game.prior)), 2):
        if abs(game.secrets[i] - game.secrets[j]).sum() == 1:
            theta = game.prior[j] / (game.prior[i] + game.prior[j])  # P(b_k = 1 | b_-k)
            for x in range(len(game.outputs)):
                posterior = game.joint[j, x] / (game.joint[i, x] + game.joint[j, x])
                ratio = posterior / (1 - posterior) / (theta / (1 - theta))
                informed &= 1 / odds <= ratio <= odds
    assert holds == informed
    small = Fraction(1, 10**8)
    vertex = max(
        FiniteGame.product_prior([1 - small if bit else small for bit in corner], game.channel).worst_marginal().odds
        for corner in game.secrets
    )
    assert vertex <= game.informed_odds()
    assert float(vertex) == pytest.approx(float(game.informed_odds()), rel=1e-5)


def test_proposition_6_reference():
    expected = PROPOSITIONS["prop6"]
    entry = expected["rr_counterexample"]
    assert implied_level(entry["eps"], 0.5).upper == pytest.approx(entry["true_eps"], abs=1e-10)
    assert implied_level(entry["eps"], 0.5).upper == pytest.approx(entry["log_2eeps_minus_1"], abs=1e-10)
    hidden = xor()
    assert hidden.marginal_posteriors().astype(float).tolist() == expected["xor_counterexample"]["marginal_posteriors"]
    assert hidden.marginal_level().upper == expected["xor_counterexample"]["marginal_eps"]
    joint = expected["joint_reading_necessity_fails"]
    lies = 1 / (1 + math.exp(joint["eps"]))
    bits = list(itertools.product((0, 1), repeat=joint["K"]))
    channel = [[math.prod(lies if x != y else 1 - lies for x, y in zip(b, z, strict=True)) for z in bits] for b in bits]
    game = FiniteGame([1 / 8] * 8, channel)
    assert joint["eps"] in game.informed_level()
    ratios = game.joint / game.output_law / game.prior[:, None]
    assert ratios.max() == pytest.approx(joint["max_mu_over_theta"], abs=1e-10)


@pytest.mark.parametrize(
    ("channel", "options"),
    [
        (lie("1/4"), {}),
        (lie("1/4"), {"epsilon": 1, "odds": 3}),
        (lie("1/4"), {"epsilon": -1}),
        (lie("1/4"), {"epsilon": math.nan}),
        (lie("1/4"), {"odds": "1/2"}),
        (lie("1/4"), {"odds": math.nan}),
        ([["1/2", "1/2"]], {"epsilon": 1}),
        ([["1/2", "1/2"]] * 3, {"epsilon": 1}),
        ([[0.5, 0.4]] * 2, {"epsilon": 1}),
    ],
)
def test_odds_tests_that_are_none(channel, options):
    with pytest.raises(InvalidParameter):
        odds_test(channel, **options)


def test_propositions_refuse_what_is_no_strategy():
    game = FiniteGame(["1/2", "1/2"], lie("1/4"))
    for strategy in ([[1, 1], [1, 0]], [[1, 0]], [[math.nan, 1], [0, 0]], [[1], [0, 1]], 3):
        with pytest.raises(InvalidParameter):
            bwma_loss_identity(game, strategy, "1/2")
    with pytest.raises(InvalidParameter, match="candidates"):
        dominates(game, xor())
