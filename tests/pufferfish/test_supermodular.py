from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.pufferfish.random_mechanisms import leak, random_channel
from tests.pufferfish.small_laws import beta_binomial, outbreak

from quiltwork.errors import InvalidParameter
from quiltwork.pufferfish.priors.joint.law import JointLaw
from quiltwork.pufferfish.priors.joint.program import worst_leak
from quiltwork.pufferfish.priors.joint.supermodular import Gauge, flipped_supermodular, is_supermodular, moment_leaks
from quiltwork.pufferfish.secrets import joint_values

# reference/pufferfish.json mgf_exact, beta-binomial (1, 4), n = 7, worst of both orders
BLOCK = {0.1: 0.20419269599483095, 0.5: 1.0836914243828544, 1.5: 3.0181199012747872}


def attractive(rng, entries, zeros=False):
    """A random log-supermodular law: nonnegative pairwise terms, or implications."""
    data = np.array(list(np.ndindex((2,) * entries)), dtype=float)
    if zeros:  # implications x_i <= x_j and fields: the support is closed under "and" and "or"
        kept = np.ones(len(data), dtype=bool)
        for i, j in itertools.combinations(range(entries), 2):
            if rng.random() < 0.3:
                kept &= data[:, i] <= data[:, j]
        weights = np.exp(data @ rng.normal(size=entries)) * kept
        return (weights / weights.sum()).reshape((2,) * entries)
    couplings = np.triu(rng.exponential(0.5, (entries, entries)), 1)
    energy = np.einsum("di,ij,dj->d", data, couplings, data) + data @ rng.normal(-1.0, 1.0, entries)
    weights = np.exp(energy)
    return (weights / weights.sum()).reshape((2,) * entries)


def naive_supermodular(law):
    data = list(np.ndindex(law.shape))
    return all(
        law[tuple(map(max, x, y))] * law[tuple(map(min, x, y))] >= law[x] * law[y]
        for x, y in itertools.combinations(data, 2)
    )


def test_reference_block():
    law = JointLaw(beta_binomial(7, 1, 4))
    (theorem,) = law.translations()
    assert theorem.exact
    for epsilon, truth in BLOCK.items():
        found = theorem.epsilons(epsilon)
        assert len(found) == 14
        assert np.ptp(found[0::2]) < 1e-12  # exchangeable: every entry alike
        assert float(found.max()) == pytest.approx(truth, abs=1e-12)
        assert float(found.max()) >= truth - 1e-15


def test_rounded_up_against_high_precision():
    law = beta_binomial(5, 2, 3)
    found = JointLaw(law).translations()[0]
    data = list(np.ndindex(law.shape))
    with mpmath.workdps(40):
        for epsilon in (1e-5, 0.3, 2.0, 25.0):
            rows = found.epsilons(epsilon)
            for index, (entry, first) in enumerate(itertools.product(range(5), (0, 1))):
                sign = 1 if first else -1
                means = []
                for value in (first, 1 - first):
                    chosen = [x for x in data if x[entry] == value]
                    total = sum(
                        mpmath.mpf(law[x].numerator)
                        / law[x].denominator
                        * mpmath.exp(sign * mpmath.mpf(epsilon) * sum(x))
                        for x in chosen
                    )
                    mass = sum(law[x] for x in chosen)
                    means.append(total / mass.numerator * mass.denominator)
                truth = mpmath.log(means[0] / means[1])
                assert truth <= mpmath.mpf(float(rows[index])) <= truth + mpmath.mpf(1e-12) * (1 + truth)


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.booleans(), st.sampled_from([0.05, 0.6, 2.5]))
def test_equals_the_linear_program(seed, entries, zeros, epsilon):
    rng = np.random.default_rng(seed)
    flips = tuple(axis for axis in range(entries) if rng.random() < 0.5)
    law = JointLaw(np.flip(attractive(rng, entries, zeros), flips))
    (theorem,) = law.translations()
    assert theorem.name == "log-supermodular"
    found, program = theorem.epsilons(epsilon), law.worst_case(epsilon)
    assert np.all(found >= np.asarray(program.lower))
    assert np.allclose(found, program.upper, rtol=0, atol=1e-6)
    assert np.all(found <= law.influence().epsilons(epsilon) + 1e-9)
    channel = random_channel(rng, law.law.shape, epsilon)
    for bound, case in zip(found, law.cases(), strict=True):
        assert leak(channel, law.law * case.first, law.law * case.second) <= bound + 1e-12


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
def test_condition_against_the_definition(seed, entries, zeros):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0 if zeros else 1, 5, (2,) * entries)
    numbers.flat[0] += 1
    law = np.vectorize(lambda n: Fraction(int(n), int(numbers.sum())), otypes=[object])(numbers)
    assert is_supermodular(law) == naive_supermodular(law)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_flips_are_found_whenever_there_are_some(seed, entries):
    rng = np.random.default_rng(seed)
    if rng.random() < 0.6:
        law = np.flip(attractive(rng, entries), tuple(axis for axis in range(entries) if rng.random() < 0.5))
    else:
        law = rng.dirichlet(np.full(2**entries, 8.0)).reshape((2,) * entries)
    some = any(
        is_supermodular(np.flip(law, tuple(itertools.compress(range(entries), flips))))
        for flips in itertools.product((False, True), repeat=entries)
    )
    gauge = flipped_supermodular(law, None, 0.0)
    assert (gauge is not None) == some


def test_float_rounding_is_allowed_and_paid_for():
    rng = np.random.default_rng(1)
    marginals = rng.random(6)
    law = np.ones(())
    for one in marginals:
        law = law[..., None] * np.array([1 - one, one])
    law = law / law.sum()
    assert not naive_supermodular(law)  # independent entries, but for the last digits
    gauge = flipped_supermodular(law, None, 0.0)
    assert gauge is not None
    assert 0.0 < gauge.tau < 1e-14
    found = JointLaw(law).translations()[0].epsilons(0.7)
    assert np.all(found >= 0.7)
    assert np.all(found <= 0.7 + 1e-12)


def test_the_slack_covers_a_law_that_misses_the_condition():
    """With tau = 1e-3 the formula plus 4c must still bound the program, and without the slack it does not."""
    rng = np.random.default_rng(8)
    short = 0
    for _ in range(40):  # entries that dislike to agree, by a hair
        p = rng.uniform(0.05, 0.95, 3)
        law = np.array([math.prod(a if x else 1 - a for x, a in zip(d, p, strict=True)) for d in np.ndindex(2, 2, 2)])
        data = np.array(list(np.ndindex(2, 2, 2)), dtype=float)
        law = law * np.exp(-1e-3 * (data[:, 0] * data[:, 1] + data[:, 1] * data[:, 2] + data[:, 0] * data[:, 2]))
        law = (law / law.sum()).reshape(2, 2, 2)
        with_slack = moment_leaks(law, [(0, 1)], Gauge((False,) * 3, 1e-3))(0.5)[0]
        without = moment_leaks(law, [(0, 1)], Gauge((False,) * 3, 0.0))(0.5)[0]
        truth = worst_leak(*((law * mask) for mask in (_is_one(), ~_is_one())), 0.5)
        assert with_slack >= truth.lower
        assert with_slack - without == pytest.approx(4 * 3e-3, rel=1e-6)
        short += without < truth.lower
    assert short > 10


def _is_one():
    return np.broadcast_to(np.array([False, True])[:, None, None], (2, 2, 2))


def test_laws_that_are_not_supermodular():
    assert (
        flipped_supermodular(np.asarray(outbreak(Fraction(1, 10), Fraction(35, 100)), dtype=float), None, 0.0) is None
    )
    frustrated = np.array(
        [math.exp(-sum((-1) ** (x[i] ^ x[j]) for i, j in ((0, 1), (1, 2), (0, 2)))) for x in np.ndindex(2, 2, 2)]
    )
    frustrated = (frustrated / frustrated.sum()).reshape(2, 2, 2)
    assert flipped_supermodular(frustrated, None, 0.0) is None
    assert JointLaw(frustrated).translations()[0].name == "linear program"
    assert flipped_supermodular(np.full((3, 2), 1 / 6), None, 0.0) is None
    with pytest.raises(InvalidParameter):
        is_supermodular(np.full((3, 2), 1 / 6))


def test_zeros_in_a_large_law_are_not_judged():
    law = np.zeros((2,) * 11)
    law.flat[0] = law.flat[-1] = 0.5
    assert flipped_supermodular(law, None, 0.0) is None


def test_constant_entries_do_not_count():
    law = np.array([[0.4, 0.1], [0.1, 0.4]])
    padded = JointLaw(law[:, None, :, None])
    assert np.allclose(
        padded.translations()[0].epsilons(0.9), JointLaw(law).translations()[0].epsilons(0.9), atol=1e-13
    )


def test_other_secrets_go_to_the_program():
    law = JointLaw([[0.4, 0.1], [0.1, 0.4]])
    assert law.translations(joint_values([0, 1]))[0].name == "linear program"
    assert law.translations()[0].name == "log-supermodular"


def test_zero_and_huge_epsilon():
    leaks = JointLaw(beta_binomial(3, 1, 1)).translations()[0].epsilons
    assert leaks(0.0).tolist() == [0.0] * 6
    assert np.all(np.isfinite(leaks(1e5)))
    assert np.all(leaks(1e5) <= 3e5 + 1e-6)
    assert np.all(leaks(1e5) >= 1e5)
