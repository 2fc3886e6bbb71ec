from __future__ import annotations

import functools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult
from tests.examples import examples
from tests.pufferfish.random_mechanisms import leak, leak_of, per_entry_loss, random_channel, random_likelihood
from tests.pufferfish.small_laws import random_law

from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.pufferfish.priors.joint import program
from quiltwork.pufferfish.priors.joint.program import worst_leak

SHAPES = [(2,), (2, 2), (2, 2, 2), (3, 2), (2,) * 5, (3, 3, 3), (4, 1, 2), (2,) * 6, (3,) * 4]


def split(law, entry=0, values=(0, 1)):
    """The two unnormalised conditional laws of an entry secret."""
    place = np.moveaxis(np.broadcast_to(np.arange(law.shape[entry]), np.moveaxis(law, entry, -1).shape), -1, entry)
    return law * (place == values[0]), law * (place == values[1])


def test_random_channels_are_private_and_reach_their_epsilon():
    rng = np.random.default_rng(5)
    reached = 0
    for _ in range(120):
        sizes, epsilon = SHAPES[rng.integers(len(SHAPES) - 2)], float(rng.choice([0.01, 0.4, 3.0]))
        channel = random_channel(rng, sizes, epsilon)
        assert channel.min() >= 0
        assert np.allclose(channel.sum(axis=1), 1.0)
        loss = per_entry_loss(channel, sizes)
        assert loss <= epsilon + 1e-12
        reached += loss > 0.99 * epsilon
    assert reached > 30


@pytest.mark.parametrize("epsilon", [0.03, 0.6, 2.5])
def test_no_mechanism_leaks_more(epsilon):
    rng = np.random.default_rng(11)
    for sizes in SHAPES:
        law = random_law(rng, sizes)
        first, second = split(law)
        if not (first.sum() and second.sum()):
            continue
        bracket = worst_leak(first, second, epsilon)
        for _ in range(examples(40)):
            assert leak(random_channel(rng, sizes, epsilon), first, second) <= bracket.upper + 1e-13
            assert leak_of(random_likelihood(rng, sizes, epsilon), first, second) <= bracket.upper + 1e-13


@functools.cache
def legal_heights():
    """All whole heights on three bits that one bit moves by at most 1, as columns: every extreme likelihood."""
    flat = np.array(np.meshgrid(*[np.arange(4)] * 8, indexing="ij")).reshape(8, -1)
    cube = flat.reshape(2, 2, 2, -1)
    legal = np.ones(flat.shape[1], dtype=bool)
    for axis in range(3):
        legal &= np.abs(np.diff(cube, axis=axis)).max(axis=(0, 1, 2)) <= 1
    return flat[:, legal]


def enumerated(first, second, epsilon):
    """The maximum over every extreme likelihood."""
    likelihoods = np.exp(epsilon * legal_heights())
    ratio = (first.ravel() @ likelihoods / first.sum()) / (second.ravel() @ likelihoods / second.sum())
    return math.log(float(ratio.max()))


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 4.0))
def test_equals_the_maximum_over_all_extreme_likelihoods(seed, epsilon):
    law = random_law(np.random.default_rng(seed), (2, 2, 2))
    first, second = split(law, 1)
    if first.sum() > 0 and second.sum() > 0:
        bracket = worst_leak(first, second, epsilon)
        truth = enumerated(first, second, epsilon)
        assert bracket.lower - 1e-13 <= truth <= bracket.upper + 1e-13
        assert bracket.width < 1e-6


def test_two_dependent_bits_from_both_sides_in_high_precision():
    # P(agree) = 0.8 and 2^-k probabilities are exact floats: no error but the program's own
    law = np.array([[0.375, 0.125], [0.125, 0.375]])
    with mpmath.workdps(40):
        for epsilon in (1e-6, 0.1, 1.0, 8.0, 30.0):
            e = mpmath.exp(mpmath.mpf(epsilon))
            truth = epsilon + mpmath.log((3 * e + 1) / (e + 3))
            bracket = worst_leak(*split(law), epsilon)
            assert mpmath.mpf(bracket.lower) <= truth <= mpmath.mpf(bracket.upper)
            assert bracket.width < 1e-12


def test_brackets_are_narrow_at_every_epsilon():
    rng = np.random.default_rng(2)
    law = rng.dirichlet(np.full(64, 0.2)).reshape((2,) * 6)
    before = 0.0
    for epsilon in (1e-6, 1e-3, 0.1, 1.0, 5.0, 12.0, 40.0):
        bracket = worst_leak(*split(law, 3), epsilon)
        assert bracket.met
        assert bracket.width < 1e-6 * max(1.0, epsilon)
        assert before < bracket.upper
        before = bracket.upper


def test_small_coefficients_are_not_dropped():
    """Rare paths weigh less than 1e-9 each, and HiGHS as such loses them (theory 3.3): the optimum was too high."""
    step = np.array([[0.999, 0.001], [0.01, 0.99]])
    law = np.array([0.5, 0.5])
    for _ in range(7):
        law = law[..., None] * step
    assert law.min() < 1e-9
    bracket = worst_leak(*split(law, 4), 0.1)
    assert bracket.width < 1e-12


@pytest.mark.parametrize("failing", ["nothing", "noise"])
def test_certificates_hold_when_the_solver_fails(monkeypatch, failing):
    law = np.random.default_rng(4).dirichlet(np.ones(32)).reshape((2,) * 5)
    good = worst_leak(*split(law), 0.7)
    rng = np.random.default_rng(0)

    def solve(one, two, epsilon, most, factor):
        if failing == "nothing":
            return None
        heights = program._pulled(rng.integers(0, 4, one.shape).astype(float))
        return heights, rng.random(program._edges(one.shape)[0].size) * 0.01

    monkeypatch.setattr(program, "_solve", solve)
    poor = worst_leak(*split(law), 0.7)
    assert poor.lower <= good.lower
    assert good.upper <= poor.upper <= 5 * 0.7 + 1e-12
    assert not poor.met


def test_answers_of_a_lying_solver_are_repaired(monkeypatch):
    """An "optimum" that is neither legal nor a certificate: both sides must still hold."""
    law = np.random.default_rng(4).dirichlet(np.ones(27)).reshape(3, 3, 3)
    good = worst_leak(*split(law), 0.7)
    rng = np.random.default_rng(0)

    def lie(cost, A_ub, **_):  # noqa: N803
        duals = OptimizeResult(marginals=rng.normal(0.0, 1e3, A_ub.shape[0]))
        return OptimizeResult(status=0, x=rng.random(len(cost)) ** 9, ineqlin=duals)

    monkeypatch.setattr("scipy.optimize.linprog", lie)
    for _ in range(20):
        poor = worst_leak(*split(law), 0.7)
        assert poor.lower <= good.upper
        assert good.lower <= poor.upper <= 2.1 + 1e-12


@settings(max_examples=examples(12), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.01, 0.5, 3.0, 9.0]))
def test_both_sides_in_high_precision(seed, epsilon):
    """Weights in 64ths are exact floats, so that the ends must hold without any tolerance."""
    weights = np.random.default_rng(seed).multinomial(64, np.full(8, 1 / 8)).reshape(2, 2, 2)
    first, second = split(weights.astype(float), 2)
    if first.sum() and second.sum():
        bracket = worst_leak(first, second, epsilon)
        heights = legal_heights()
        likelihoods = np.exp(epsilon * heights)
        ratio = (first.ravel() @ likelihoods) / (second.ravel() @ likelihoods)
        best = heights[:, int(np.argmax(ratio))]
        with mpmath.workdps(50):
            powers = [mpmath.exp(mpmath.mpf(epsilon) * int(height)) for height in best]
            one, two = (mpmath.fdot(part.ravel().tolist(), powers) / part.sum() for part in (first, second))
            truth = mpmath.log(one / two)
            assert mpmath.mpf(bracket.lower) <= truth <= mpmath.mpf(bracket.upper)


def test_a_perturbed_flow_still_bounds():
    """Any f >= 0 is a certificate; scale the good one by a per mille and it must pay, not lie."""
    law = np.random.default_rng(9).dirichlet(np.ones(16)).reshape((2,) * 4)
    one, two = (part / part.sum() for part in split(law))
    good = worst_leak(one, two, 1.0)
    heights, flow = program._solve(one, two, 1.0, 4.0, 1e5)
    touched, edges = program._touched(two, 1.0), program._edges(one.shape)
    assert program._upper(one, two, 1.0, touched, edges, flow) == pytest.approx(good.upper, abs=1e-9)
    for factor in (0.999, 1.001):
        assert program._upper(one, two, 1.0, touched, edges, flow * factor) > good.upper
    assert program._lower(one, two, 1.0, heights) <= good.upper


def test_touched_and_pulled_against_definitions():
    rng = np.random.default_rng(1)
    law = rng.dirichlet(np.ones(12)).reshape(2, 3, 2)
    data = list(np.ndindex(law.shape))
    far = np.array([[sum(u != v for u, v in zip(x, y, strict=True)) for y in data] for x in data])
    touched = program._touched(law, 0.3).ravel()
    assert np.allclose(touched, np.exp(-0.3 * far) @ law.ravel(), rtol=1e-13)
    assert np.all(touched <= np.exp(-0.3 * far) @ law.ravel())
    heights = rng.integers(0, 6, law.shape).astype(float)
    assert np.array_equal(program._pulled(heights).ravel(), (heights.ravel()[None] - far).max(axis=1))


def test_zero_epsilon_and_steep_programs():
    law = np.array([[0.4, 0.1], [0.1, 0.4]])
    assert worst_leak(*split(law), 0.0).upper == 0.0
    steep = worst_leak(*split(law), 1000.0)
    assert steep.upper >= 2000.0
    assert not steep.met


def test_datasets_of_probability_zero_stay_inputs():
    """x2 = x1: the data 01 and 10 never occur, but connect 00 with 11, so that the leak is 2 eps and not unbounded."""
    law = np.array([[0.5, 0.0], [0.0, 0.5]])
    bracket = worst_leak(*split(law), 1.0)
    assert bracket.lower == pytest.approx(2.0, abs=1e-12)
    assert bracket.upper == pytest.approx(2.0, abs=1e-12)


def test_relative_error_widens():
    law = np.array([[0.4, 0.1], [0.1, 0.4]])
    sharp, blunt = worst_leak(*split(law), 1.0), worst_leak(*split(law), 1.0, relative_error=1e-6)
    assert blunt.upper >= sharp.upper + 1.9e-6
    assert blunt.lower <= sharp.lower - 1.9e-6


@pytest.mark.parametrize("bad", [np.nan, -0.1, np.inf, True, "one", None])
def test_bad_epsilon(bad):
    with pytest.raises(InvalidParameter):
        worst_leak([0.5, 0.0], [0.0, 0.5], bad)


@pytest.mark.parametrize(
    "bad", [[0.0, 0.0], [-1.0, 2.0], [np.nan, 1.0], [np.inf, 1.0], [], 1.0, "law", None, [1.0, 1e-305], [[0.5, 0.5]]]
)
def test_bad_weights(bad):
    with pytest.raises(InvalidParameter):
        worst_leak(bad, [0.5, 0.5], 1.0)


def test_too_many_datasets():
    with pytest.raises(Unsupported, match="4096"):
        worst_leak(np.ones((2,) * 13), np.ones((2,) * 13), 1.0)
