"""Seed 003, sections 2, 4 and 5: collapse and necessary conditions. Printed statements that fail, and what holds."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.errata import printed_pufferfish_necessary as printed

from quiltwork.pufferfish.composable.verdict import composable, leakage
from quiltwork.pufferfish.papers.collapse import case_labels, xor_of_bits

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
SECRETS = ([0, 1], [2, 3])


# ---- Definition 5 and the priors of section 4


def test_definition_5_bounds_the_odds_from_below_only_if_both_orders_are_in_s():
    """P(. | s_i) = (1, 0), P(. | s_j) = (1/2, 1/2): log 2 for (s_i, s_j); the second output rules s_i out."""
    first, second = (Fraction(1), Fraction(0)), (HALF, HALF)
    odds = [p / q for p, q in zip(first, second, strict=True)]
    assert max(odds) == 2  # epsilon = log 2, if (s_j, s_i) is not in S
    assert min(odds) == 0 < 1 / max(odds)  # the odds fall by more than e^-epsilon
    assert leakage([first, second], ([0], [1]), [HALF, HALF], 1).epsilon.upper == math.inf  # both orders


def test_all_priors_are_more_than_differential_privacy():
    """Randomised response with epsilon 1 on two bits is 1-private; copies of one bit, a possible prior, leak 2."""
    tell = math.e / (1 + math.e)
    response = np.array([[tell, 1 - tell], [1 - tell, tell]])
    data = list(itertools.product((0, 1), repeat=2))
    channel = [np.outer(response[a], response[b]).ravel() for a, b in data]
    for one, two in itertools.permutations(range(4), 2):
        if sum(x != y for x, y in zip(data[one], data[two], strict=True)) == 1:
            assert np.log(channel[one] / channel[two]).max() == pytest.approx(1.0, rel=1e-12)
    independent, copies = (leakage(channel, SECRETS, prior).epsilon for prior in ([0.25] * 4, [0.5, 0.0, 0.0, 0.5]))
    assert (independent.upper, copies.lower) == (pytest.approx(1.0, rel=1e-12), pytest.approx(2.0, rel=1e-12))


# ---- Theorem 2


@pytest.mark.parametrize("bits", [3, 4, 5])
def test_theorem_2_counts_each_tuple_twice(bits):
    made = xor_of_bits(bits)
    tuples = [at for at, output in enumerate(made.outputs) if output[0] == "A"]
    for first, second in made.secrets:
        for side in (first, second):
            law = [sum(made.channel[d][at] for d in side) / len(side) for at in range(len(made.outputs))]
            assert sum(law) == 1
            assert {law[at] for at in tuples} == {Fraction(1, 2**bits)}
    # as printed the tuples alone have probability 1, and the parity 1/2 more
    assert len(tuples) * printed.theorem_2_tuple(bits) == 1
    assert printed.theorem_2_tuple(bits) == 2 * 2.0**-bits


@pytest.mark.parametrize("bits", [3, 4])
def test_one_run_of_example_4_2_tells_what_is_no_secret(bits):
    """Half of the runs tell x_1 xor x_2, and all the others; zero leakage is about the bits that are listed."""
    made = xor_of_bits(bits)
    assert made.leakage(1).epsilon.upper == 0.0
    for data, row in zip(itertools.product((0, 1), repeat=bits), made.channel, strict=True):
        told = {output[1:]: row[at] for at, output in enumerate(made.outputs) if output[0] == "A" and row[at]}
        assert told == {tuple(bit ^ data[0] for bit in data[1:]): HALF}


# ---- Theorem 3


def test_theorem_3_as_printed_is_less_than_what_leaks():
    made = case_labels((0.1, 0.2), (0.5, 0.6))
    truth = made.leakage(1).epsilon
    assert printed.theorem_3(0.1, 0.2, 0.5, 0.6) == pytest.approx(0.8109302162163288, rel=1e-14)
    assert truth.lower == pytest.approx(math.log(6), rel=1e-14)
    assert truth.lower > printed.theorem_3(0.1, 0.2, 0.5, 0.6) + 0.98


def test_theorem_3_holds_with_the_absolute_value_outside():
    """Both are the largest log-ratio of eight, either way round; over random intervals, some of which are unharmed."""
    rng = np.random.default_rng(0)
    harmed = 0
    for _ in range(200):
        lt, ut, lf, uf = (int(x) for pair in rng.integers(1, 100, (2, 2)) for x in sorted(pair))
        truth = case_labels((Fraction(lt, 100), Fraction(ut, 100)), (Fraction(lf, 100), Fraction(uf, 100))).leakage(1)
        lt, ut, lf, uf = lt / 100, ut / 100, lf / 100, uf / 100
        turned = printed.theorem_3(lf, uf, lt, ut)  # the reciprocals of all eight
        assert max(printed.theorem_3(lt, ut, lf, uf), turned) == pytest.approx(truth.epsilon.upper, abs=1e-12)
        harmed += printed.theorem_3(lt, ut, lf, uf) < truth.epsilon.lower - 1e-9
    assert 20 < harmed < 180


def test_the_first_interval_of_theorem_3_begins_too_high():
    """The output (1a, 2a) over the corners of Theta: the least ratio is L_T / U_F = 1/6, below U_T / U_F = 1/3."""
    made = case_labels((Fraction(1, 10), Fraction(1, 5)), (HALF, Fraction(3, 5)))
    low, high = printed.theorem_3_first_interval(0.1, 0.2, 0.5, 0.6)
    at, ((true, false),) = made.outputs.index(("1a", "2a")), made.secrets
    ratios = []
    for prior in made.prior:
        one, two = (
            sum(prior[d] * made.channel[d][at] for d in side) / sum(prior[d] for d in side) for side in (true, false)
        )
        ratios.append(one / two)
    assert (min(ratios), max(ratios)) == (Fraction(1, 6), Fraction(2, 5))
    assert float(min(ratios)) < low == pytest.approx(1 / 3)
    assert float(max(ratios)) == pytest.approx(high)


def test_theorem_3_is_attained_if_theta_has_every_combination_of_the_ends():
    """Theta with (P(U_T), P(U_F)) = (0.1, 0.5) and (0.2, 0.6) only leaks log 5; the eight ratios allow log 6."""
    made = case_labels((Fraction(1, 10), Fraction(1, 5)), (HALF, Fraction(3, 5)))
    ends = {(Fraction(1, 10), HALF), (Fraction(1, 5), Fraction(3, 5))}
    few = [prior for prior in made.prior if (2 * prior[0], 2 * prior[2]) in ends]
    assert (len(few), len(made.prior)) == (2, 4)
    every, some = (leakage(made.channel, made.secrets, priors).epsilon for priors in (made.prior, few))
    assert (every.upper, some.upper) == (pytest.approx(math.log(6), rel=1e-12), pytest.approx(math.log(5), rel=1e-12))


# ---- Theorem 4


def test_theorem_4_as_printed_constrains_impossible_datasets():
    """Dataset 1 has prior 0. Everything else has the same law, so that no number of runs tells anything."""
    prior = [HALF, 0, QUARTER, QUARTER]
    channel = [[HALF, HALF], [Fraction(9999, 10000), Fraction(1, 10000)], [HALF, HALF], [HALF, HALF]]
    for runs in (1, 2, 10, 40):
        assert leakage(channel, SECRETS, prior, runs).epsilon.upper == 0.0
    for weight in np.linspace(0, 1, 11):
        assert printed.equation_1(channel, 1, [2, 3], [weight, 1 - weight]) == pytest.approx(
            math.log(1.9998), rel=1e-12
        )
        assert printed.equation_1(channel, 0, [2, 3], [weight, 1 - weight]) == pytest.approx(0, abs=1e-15)
    verdict = composable(channel, SECRETS, 0, prior)
    assert (verdict.status, verdict.rates, verdict.holds) == ("linear", (0.0,), True)


def test_theorem_4_as_printed_may_ask_for_an_infinite_epsilon():
    """An output that only the impossible dataset has."""
    channel = [[HALF, HALF, 0], [0, 0, 1], [HALF, HALF, 0], [HALF, HALF, 0]]
    prior = [HALF, 0, QUARTER, QUARTER]
    assert printed.equation_1(channel, 1, [2, 3], [0.5, 0.5]) == math.inf
    assert leakage(channel, SECRETS, prior, 20).epsilon.upper == 0.0
    assert composable(channel, SECRETS, 0, prior).holds is True
    assert composable(channel, SECRETS, prior=[QUARTER] * 4).status == "fails"


def test_theorem_4_needs_a_prior_that_allows_both_secrets():
    """Dataset 1 is possible under a second prior, which rules the other secret out: nothing is asked of that prior."""
    priors = ([HALF, 0, QUARTER, QUARTER], [0, 1, 0, 0])
    assert all(any(prior[data] > 0 for prior in priors) for data in range(4))
    assert sum(priors[1][data] for data in SECRETS[1]) == 0  # Definition 5 asks for both secrets
    channel = [[HALF, HALF], [Fraction(9999, 10000), Fraction(1, 10000)], [HALF, HALF], [HALF, HALF]]
    assert leakage(channel, SECRETS, priors, 40).epsilon.upper == 0.0
    assert printed.equation_1(channel, 1, [2, 3], [0.5, 0.5]) == pytest.approx(math.log(1.9998), rel=1e-12)
    assert composable(channel, SECRETS, 0, priors).holds is True


def test_theorem_4_holds_on_possible_datasets():
    """In 20 random cases the restricted condition asks for what each of 400 runs leaks, from both sides.

    Dataset 1 has prior 0 and is told apart more easily: as printed, the condition asks for more.
    """
    rng, runs, prior = np.random.default_rng(1), 400, [HALF, 0, QUARTER, QUARTER]
    weights = np.linspace(0, 1, 101)
    for _ in range(20):
        first, *rest = (Fraction(int(x), 20) for x in rng.integers(8, 13, 3))
        channel = [[share, 1 - share] for share in (first, Fraction(1, 20), *rest)]
        rate, leaks = composable(channel, SECRETS, prior=prior).rate, leakage(channel, SECRETS, prior, runs).epsilon
        # from below: what composes linearly satisfies the condition; from above: p_2 is at least 1/2 where it is not 0
        assert leaks.upper > runs * rate.lower - math.log(2) - 1e-9
        assert leaks.lower < runs * rate.upper + math.log(2) + 1e-9
        asked = min(printed.equation_1(channel, 1, [2, 3], [weight, 1 - weight]) for weight in weights)
        assert asked > rate.upper + 0.05


def test_equation_2_is_not_sufficient():
    """Lies of 1/10 about a bit that is 0 with probability 1/10 and 1/100: (1) asks for 0, two runs tell log 5."""
    often, seldom = [Fraction(9, 10), Fraction(1, 10)], [Fraction(1, 10), Fraction(9, 10)]
    channel, prior = [often, seldom, often, seldom], [Fraction(n, 200) for n in (10, 90, 1, 99)]
    for data, other in ((0, 2), (1, 3), (2, 0), (3, 1)):
        assert printed.equation_1(channel, data, [other], [1.0]) == 0.0
    once, twice, many = (leakage(channel, SECRETS, prior, runs).epsilon for runs in (1, 2, 40))
    assert once.upper == pytest.approx(math.log(5 / 3), rel=1e-12)
    assert twice.lower == pytest.approx(math.log(5), rel=1e-12)
    assert twice.lower > 2 * once.upper + 0.5
    assert many.lower == pytest.approx(math.log(10), abs=1e-9)
    verdict = composable(channel, SECRETS, once.upper, prior)
    assert (verdict.rate.upper, verdict.status) == (pytest.approx(0.0, abs=1e-12), "rate")
    assert many.upper <= verdict.bound(40) + 1e-12
    assert verdict.bound(40) == pytest.approx(math.log(10), abs=1e-9)  # the rate is 0, and the constant is paid once


# ---- Theorem 5


def test_the_construction_of_theorem_5_relaxes_the_constraint():
    """beta = (1/2, 1/2), epsilon = 1/2: both outputs are tight, and merged they are at -0.244, not above 1/2."""
    channel = printed.theorem_5_mechanism(0.5, [-3.0, -5.0], [-6.0, -2.5])
    assert np.all(channel > 0)
    assert channel.sum(axis=1) == pytest.approx([1.0] * 3, rel=1e-15)
    for output in (0, 2):
        loss = printed.equation_1(channel[:, [output]], 0, [1, 2], [0.5, 0.5])
        assert loss == pytest.approx(0.5, abs=1e-14)
    merged = printed.theorem_5_merge(channel, 0, 0, 2)
    assert printed.equation_1(merged[:, None], 0, [1, 2], [0.5, 0.5]) == pytest.approx(-0.244, abs=5e-4)


def test_equation_3_flips_the_inequality_of_means():
    """w is negative but at one place, where both ratios are 1: the left side is at most the right one."""
    rng = np.random.default_rng(2)
    fails = 0
    for _ in range(500):
        channel = rng.dirichlet(np.ones(4), 4)
        weights = np.array([1.0, *-rng.dirichlet(np.ones(3))])
        left, right = printed.equation_3(channel, 0, weights, 0, 2)
        assert left <= right + 1e-12
        fails += left < right - 1e-6
    assert fails > 490


def test_constraints_of_several_datasets_survive_post_processing():
    """v_D <= e^epsilon prod v_l^beta_l is a convex cone: 600 random mechanisms, combinations and post-processings."""
    rng = np.random.default_rng(3)
    for _ in range(600):
        count, outputs = int(rng.integers(3, 6)), int(rng.integers(2, 6))
        channel = np.maximum(rng.dirichlet(np.full(outputs, 0.6), count), 1e-6)
        weights = rng.dirichlet(np.ones(count - 1))
        coarser = channel @ rng.dirichlet(np.full(int(rng.integers(1, 5)), 0.5), outputs)
        others = list(range(1, count))
        before = printed.equation_1(channel, 0, others, weights)
        kept = coarser[:, coarser[0] > 1e-14]
        assert printed.equation_1(kept, 0, others, weights) <= before + 1e-9


def test_the_least_rate_survives_post_processing():
    """Merging outputs of two smoothed runs: the rate of what is left is no larger."""
    made = case_labels(smoothing=0.1)
    before = made.composable().rate
    for merge in ([0, 0, 1, 2], [0, 1, 1, 2], [0, 1, 1, 0], [0, 0, 0, 1]):
        merged = [
            [sum(row[i] for i in range(4) if merge[i] == name) for name in range(max(merge) + 1)]
            for row in made.channel
        ]
        after = composable(merged, made.secrets, prior=made.prior).rate
        assert after.lower <= before.upper
