from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.pufferfish.small_laws import beta_binomial

from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.pufferfish.priors.blocks import Blocks, Independent, _moment, _products
from quiltwork.pufferfish.priors.joint.law import JointLaw
from quiltwork.pufferfish.secrets import entry_values, function_values, joint_values

# reference/pufferfish.json mgf_exact, betabin_1_4, n = 7: eps -> (closed form, Theorem 6)
BLOCK = {
    0.1: (0.20419269599483095, 0.7),
    0.5: (1.0836914243828544, 2.4459101490553126),
    1.5: (3.0181199012747872, 3.4459101490553126),
}


@pytest.mark.parametrize(("size", "alpha", "beta"), [(1, 2, 3), (2, 1, 1), (5, 1, 4), (6, 3, 2)])
def test_equals_the_law_written_out(size, alpha, beta):
    blocks, law = Blocks(size, alpha, beta), JointLaw(beta_binomial(size, alpha, beta))
    curve, whole = blocks.influence(), law.influence(secrets=entry_values([0]))
    assert np.allclose(curve.cases, whole.cases, rtol=0, atol=1e-12)
    assert curve.status == "exact"
    for epsilon in (0.05, 0.6, 3.0):
        found = blocks.translations()[0].epsilons(epsilon)
        assert np.allclose(found, law.translations(entry_values([0]))[0].epsilons(epsilon), rtol=0, atol=1e-12)
        assert np.allclose(found, law.worst_case(epsilon, entry_values([0])).lower, rtol=0, atol=1e-9)
    for case in (0, 1):
        for hidden in range(1, size + 2):
            atoms, written = blocks.atoms(case, hidden), law.atoms(case, hidden, entry_values([0]))
            assert np.sum(atoms.weights) == pytest.approx(1.0, abs=1e-12)
            assert np.sum(atoms.weights) >= 1.0
            for level in (-0.5, 0.1, 0.3, 0.9):
                one = float(np.sum(atoms.weights[atoms.losses >= level]))
                two = float(np.sum(written.weights[written.losses >= level]))
                assert one == pytest.approx(two, abs=1e-12)


def test_reference_household():
    blocks = Blocks(7, 1.0, 4.0)
    curve = blocks.influence()
    for size in range(1, 7):
        assert curve(size) == pytest.approx(math.log(1 + (7 - size) / 1.0), abs=1e-13)
        assert curve(size) >= math.log1p(7 - size)
    assert curve(7) == 0.0
    for epsilon, (exact, theorem_6) in BLOCK.items():
        assert float(blocks.translations()[0].epsilons(epsilon).max()) == pytest.approx(exact, abs=1e-13)
        assert curve.epsilon(epsilon) == pytest.approx(theorem_6, abs=1e-12)


def truth(size, alpha, beta, epsilon):
    """The leak for (1, 0) in high precision: e^eps and two Gauss hypergeometric functions."""
    alpha, beta, t = mpmath.mpf(alpha), mpmath.mpf(beta), -mpmath.expm1(mpmath.mpf(epsilon))
    above = mpmath.hyp2f1(1 - size, alpha + 1, alpha + beta + 1, t)
    below = mpmath.hyp2f1(1 - size, alpha, alpha + beta + 1, t)
    return mpmath.mpf(epsilon) + mpmath.log(above / below)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(2, 60), st.floats(1e-3, 50.0), st.floats(1e-3, 50.0), st.floats(1e-6, 20.0))
def test_leaks_are_rounded_up_and_sharp(size, alpha, beta, epsilon):
    found = Blocks(size, alpha, beta).translations()[0].epsilons(epsilon)
    with mpmath.workdps(60):
        for bound, exact in zip(
            found, (truth(size, beta, alpha, epsilon), truth(size, alpha, beta, epsilon)), strict=True
        ):
            assert exact <= mpmath.mpf(float(bound)) <= exact * (1 + mpmath.mpf(1e-10)) + mpmath.mpf(1e-13)


def test_errors_of_products_are_bounded_and_paid_for():
    rng = np.random.default_rng(3)
    ratios = np.exp(rng.normal(0.0, 3.0, 3000))
    logs, errors = _products(ratios)
    with mpmath.workdps(40):
        total = mpmath.mpf(0)
        for ratio, found, error in zip(ratios.tolist(), logs[1:].tolist(), errors[1:].tolist(), strict=True):
            total += mpmath.log(ratio)
            assert abs(total - found) <= error
    assert errors.max() < 1e-10
    for side in (1.0, -1.0):
        sharp, blunt = _moment((logs[:9], errors[:9]), 0.5, side), _moment((logs[:9], errors[:9] + 0.01), 0.5, side)
        assert side * (blunt - sharp) > 1e-3


def test_a_large_block():
    blocks = Blocks(2000, 0.5, 2.0, count=3)
    assert blocks.entries == 6000
    found = blocks.translations()[0].epsilons(0.01)
    with mpmath.workdps(400):
        assert truth(2000, 0.5, 2.0, 0.01) <= mpmath.mpf(float(found[1])) <= truth(2000, 0.5, 2.0, 0.01) + 1e-9
    assert blocks.atoms(1, 1000).weights.size == 1001
    assert np.all(np.diff(blocks.influence(50).values) < 0)
    assert "3 independent blocks of 2000" in blocks.words


def test_extreme_rates_and_epsilons():
    for alpha, beta in ((1e-100, 1.0), (1.0, 1e-100), (1e100, 1e100)):
        blocks = Blocks(5, alpha, beta)
        assert np.all(np.isfinite(blocks.influence().values))
        for epsilon in (0.0, 1e-12, 1.0, 800.0):
            found = blocks.translations()[0].epsilons(epsilon)
            assert np.all(found >= epsilon)
            assert np.all(found <= 5 * epsilon * (1 + 1e-12))
        atoms = blocks.atoms(1, 2)
        assert np.sum(atoms.weights) >= 1.0
        assert np.max(atoms.losses) == pytest.approx(blocks.influence().cases[1, 1], abs=1e-12)
    # with a tiny beta an entry that is 0 proves nothing, one that is 1 is shared by all: atoms keep that beta
    rare = Blocks(3, 1.0, 1e-12).atoms(1, 1)
    assert rare.weights[-1] == pytest.approx(1.0, abs=1e-9)


def test_curve_never_lies_below_in_high_precision():
    with mpmath.workdps(40):
        for size, alpha, beta in ((7, 0.3, 0.7), (50, 1e-3, 11.0)):
            curve = Blocks(size, alpha, beta).influence()
            for b in range(1, size):
                assert mpmath.log1p((size - b) / mpmath.mpf(beta)) <= mpmath.mpf(float(curve.cases[0, b - 1]))
                assert mpmath.log1p((size - b) / mpmath.mpf(alpha)) <= mpmath.mpf(float(curve.cases[1, b - 1]))


def test_query_laws_attain_the_leak():
    blocks = Blocks(6, 0.7, 2.5)
    for case in (0, 1):
        ours, theirs = blocks.query_laws(case)
        assert len(ours) == len(theirs) == 7
        likelihood = np.exp(0.9 * np.arange(7))
        told = math.log((ours @ likelihood) / (theirs @ likelihood))
        assert told == pytest.approx(float(blocks.translations()[0].epsilons(0.9)[case]), abs=1e-12)
    assert Blocks(3000, 1, 1).query_laws(0) is None
    ours, theirs = Independent().query_laws(0, joint_values([0, 1]))
    assert (ours.tolist(), theirs.tolist()) == ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0])


def test_secrets_of_blocks():
    blocks = Blocks(3, 1, 1, count=2)
    assert blocks.influence(secrets=entry_values([5], pairs=[(0, 1)])).cases.shape == (2, 3)
    assert blocks.influence(2).sizes.tolist() == [1, 2]
    assert blocks.influence().name_of(1) == "any entry: 1 against 0"
    with pytest.raises(InvalidParameter):
        blocks.influence(secrets=entry_values([6]))
    with pytest.raises(InvalidParameter):
        blocks.translations(entry_values(pairs=[(0, 2)]))
    for secrets in (joint_values([0, 1]), function_values(sum)):
        with pytest.raises(Unsupported):
            blocks.influence(secrets=secrets)
    with pytest.raises(InvalidParameter):
        blocks.atoms(2, 1)
    with pytest.raises(InvalidParameter):
        blocks.atoms(0, 0)
    with pytest.raises(InvalidParameter):
        blocks.influence(0)


@pytest.mark.parametrize(
    "given",
    [
        (0, 1, 1),
        (2.5, 1, 1),
        (True, 1, 1),
        (10_001, 1, 1),
        (3, 0, 1),
        (3, 1, -1),
        (3, math.nan, 1),
        (3, 1, math.inf),
        (3, 1, 1e-200),
        (3, 1, 1, 0),
        (3, "a", 1),
    ],
)
def test_bad_blocks(given):
    with pytest.raises(InvalidParameter):
        Blocks(*given)


def test_independent():
    free = Independent()
    assert free.entries is None
    assert free.influence().values.tolist() == [0.0]
    assert free.influence(5).epsilon(0.3) == pytest.approx(0.3)
    (theorem,) = free.translations()
    assert theorem.epsilons(0.3).tolist() == [0.3]
    assert theorem.exact
    atoms = free.atoms(0, 1)
    assert (atoms.weights.tolist(), atoms.losses.tolist()) == ([1.0], [0.0])
    assert Independent(9).entries == 9


def test_independent_entries_together():
    free, secrets = Independent(4), joint_values([0, 2, 3])
    assert free.influence(secrets=secrets).values.tolist() == [math.inf, math.inf, 0.0]
    assert free.influence(2, secrets).values.tolist() == [math.inf, math.inf]
    assert free.translations(secrets)[0].epsilons(0.5)[0] == pytest.approx(1.5)
    assert free.atoms(0, 2, secrets).losses.tolist() == [math.inf]
    assert free.atoms(0, 9, secrets).losses.tolist() == [0.0]
    near = joint_values([0, 2], pairs=[((0, 1), (0, 2))])
    assert free.translations(near)[0].epsilons(0.5).tolist() == [0.5]
    # any product law agrees
    law = np.ones(())
    for chances in ([0.2, 0.8], [0.5, 0.5], [0.3, 0.7], [0.6, 0.4]):
        law = law[..., None] * np.array(chances)
    worst = JointLaw(law / law.sum()).worst_case(0.5, secrets)
    assert np.max(worst.upper) == pytest.approx(1.5, abs=1e-9)


def test_bad_independent():
    with pytest.raises(Unsupported):
        Independent().influence(secrets=function_values(sum))
    for bad in (0, -1, 1.5, True, "many"):
        with pytest.raises(InvalidParameter):
            Independent(bad)
    with pytest.raises(InvalidParameter):
        Independent(2).influence(secrets=entry_values([2]))
    with pytest.raises(InvalidParameter):
        Independent().translations(joint_values([0, 1], pairs=[(0, 1)]))
    with pytest.raises(InvalidParameter):
        Independent().atoms(1, 1)
