"""Seed 003, sections 4 and 5: collapse and necessary conditions. Printed statements that fail, and what holds."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.errata import printed_pufferfish_necessary as printed

from quiltwork.pufferfish.collapse import case_labels, xor_of_bits
from quiltwork.pufferfish.composable import composable, leakage

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
SECRETS = ([0, 1], [2, 3])


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
    """P(1a | true) = L_T and P(2a | false) = U_F are allowed: the ratio is L_T/U_F, below U_T/U_F."""
    low, _ = printed.theorem_3_first_interval(0.1, 0.2, 0.5, 0.6)
    assert low > 0.1 / 0.6


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


def test_theorem_4_holds_on_possible_datasets():
    """Where no number of runs leaks anything, the restricted condition asks for epsilon 0, in 20 random cases."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        law, other = ([Fraction(int(x), 20) for x in rng.multinomial(20, [1 / 3] * 3)] for _ in range(2))
        channel, prior = [law, other, law, law], [HALF, 0, QUARTER, QUARTER]
        assert composable(channel, SECRETS, 0, prior).rates == (0.0,)
        assert leakage(channel, SECRETS, prior, 5).epsilon.upper == 0.0


def test_equation_2_is_not_sufficient():
    """Found by a random search: equation (1) holds with less than the epsilon of one run, and two leak too much."""
    first = [Fraction(9305, 10000), Fraction(263, 10000), Fraction(233, 10000), Fraction(4076, 10000)]
    channel = [[share, 1 - share] for share in first]
    prior = [Fraction(325, 10000), Fraction(4216, 10000), Fraction(5446, 10000), Fraction(13, 10000)]
    once, twice = (leakage(channel, SECRETS, prior, runs).epsilon for runs in (1, 2))
    verdict = composable(channel, SECRETS, once.upper, prior)
    assert verdict.rate.upper < once.lower < 1.34
    assert twice.lower > 2 * once.upper + 1.5
    assert twice.upper <= verdict.bound(2)
    # the printed equation itself, for each ordered pair and dataset, with the kernels that were found
    for kernel in (options[0] for options in verdict.certificates):
        for data, weights in zip(kernel.first, kernel.kernel, strict=True):
            assert printed.equation_1(channel, data, kernel.second, [float(w) for w in weights]) <= once.upper


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
