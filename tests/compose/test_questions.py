"""Vector questions: every entry contains the scalar truth, in any order and from few views."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compose import naive
from tests.examples import examples
from tests.losses import laws
from tests.losses.laws import mp
from tests.truth.closed import gaussian_delta, response_delta
from tests.truth.residues import LaplacePower

import quiltwork as qw
from quiltwork.compose.engines.characteristic import ContourEngine
from quiltwork.compose.engines.lattice import LatticeEngine
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.laplace import LaplacePair
from quiltwork.losses.families.pure import response_pair


def both(ends):
    return ends.lower, ends.upper


def gaussian_engine(mu, count):
    """A Gaussian composition answered by contour, as if no closed form were known."""
    return ContourEngine.of([(GaussianPair(mu), count)])


@settings(max_examples=examples(25))
@given(
    mu=st.floats(0.05, 3.0),
    count=st.integers(1, 200),
    deviations=st.lists(st.floats(-6.0, 25.0), min_size=1, max_size=12),
)
def test_delta_vectors_hold_the_closed_form(mu, count, deviations):
    total = mu * math.sqrt(count)
    epsilon = np.array([total * d + total**2 / 2 for d in deviations])
    lower, upper = both(gaussian_engine(mu, count).delta(epsilon, 1e-6))
    exact = mp.mpf(mu) * mp.sqrt(count)
    for i, at in enumerate(epsilon.tolist()):
        true = gaussian_delta(exact, at)
        assert lower[i] <= true <= upper[i]
        if deviations[i] > 0 and true > 1e-290:
            assert upper[i] - lower[i] <= 1e-5 * upper[i]


@settings(max_examples=examples(25))
@given(
    mu=st.floats(0.05, 3.0),
    count=st.integers(1, 200),
    logs=st.lists(st.floats(-230.0, -0.01), min_size=1, max_size=12),
)
def test_epsilon_vectors_hold_the_closed_form(mu, count, logs):
    delta = np.exp(np.array(logs))
    lower, upper = both(gaussian_engine(mu, count).epsilon(delta, 1e-6))
    exact = mp.mpf(mu) * mp.sqrt(count)
    for i, target in enumerate(delta.tolist()):
        assert gaussian_delta(exact, upper[i]) <= mp.mpf(target)
        assert lower[i] == 0 or gaussian_delta(exact, lower[i]) >= mp.mpf(target)


def test_order_and_shape_do_not_matter():
    loss = 40 * qw.laplace(3.0)
    grid = np.array([[1e-9, 0.2, 1e-3], [0.5, 1e-30, 1e-5]])
    found = loss.epsilon(grid)
    assert found.shape == grid.shape
    for i in range(2):
        for j in range(3):
            one = loss.epsilon(grid[i, j])
            assert max(one.lower, found.lower[i, j]) <= min(one.upper, found.upper[i, j])
    back = loss.epsilon(grid.ravel()[::-1])
    assert (
        np.maximum(back.lower[::-1], found.lower.ravel()) <= np.minimum(back.upper[::-1], found.upper.ravel())
    ).all()


def test_epsilon_falls_with_delta_and_delta_with_epsilon():
    loss = 40 * qw.laplace(3.0) + 10 * qw.poisson(qw.gaussian(0.8), 0.1)
    deltas = np.geomspace(1e-40, 0.9, 60)
    found = loss.epsilon(deltas)
    assert (np.diff(found.lower) <= 1e-3 * found.upper[1:] + 1e-9).all()
    assert (found.upper - found.lower <= 1e-3 * found.upper + 1e-9).all()
    epsilons = np.linspace(-3.0, 25.0, 80)
    profile = loss.delta(epsilons)
    assert (profile.upper[1:] <= profile.upper[:-1] * (1 + 2e-3)).all()


def test_responses_with_a_reveal_against_the_binomial():
    engine = LatticeEngine.of([(response_pair(0.2, 1e-4), 60)])
    epsilon = np.linspace(-2.0, 12.5, 40)
    lower, upper = both(engine.delta(epsilon, 1e-6))
    for i, at in enumerate(epsilon.tolist()):
        true = response_delta(mp.mpf("0.2"), mp.mpf(1e-4), 60, at)
        assert lower[i] <= true <= upper[i]
    assert (upper[epsilon >= 12.0] == engine.known.reveal[1]).all()


def test_deltas_at_below_and_just_above_the_reveal_mass():
    loss = 10 * qw.approximate(0.2, 1e-3)
    reveal = -math.expm1(10 * math.log1p(-1e-3))
    found = loss.epsilon([0.5 * reveal, reveal, reveal * (1 + 1e-6), 2 * reveal])
    assert math.isinf(found.lower[0])
    assert found.lower[1] <= 2.0 <= found.upper[1] * (1 + 1e-12)
    assert 1.5 < found.lower[2] <= found.upper[2] <= 2.0 + 1e-9
    assert 0.0 < found.upper[3] < 2.0


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_the_ends_of_delta(delta):
    assert qw.gaussian(1.0).epsilon(delta).upper == (math.inf if delta == 0 else 0.0)
    assert (3 * qw.laplace(1.0)).epsilon(delta).upper == pytest.approx(3.0 if delta == 0 else 0.0)
    assert qw.approximate(1.0, 1e-9).epsilon(delta).upper == (math.inf if delta == 0 else 0.0)


def test_infinite_and_negative_epsilons():
    loss = 5 * qw.approximate(0.3, 0.01)
    found = loss.delta([-math.inf, -100.0, -1.0, 0.0, math.inf])
    assert found.lower[0] == found.upper[0] == 1.0
    assert found.upper[1] == pytest.approx(1.0)
    assert response_delta(mp.mpf("0.3"), mp.mpf(0.01), 5, -1.0) in found[2]
    assert 1 - mp.mpf("0.99") ** 5 in found[4]
    for entry in found.lower[:3]:
        assert entry >= 0.0


@settings(max_examples=examples(12))
@given(top=st.floats(0.2, 4.0), count=st.integers(2, 12), share=st.floats(-0.9, 0.99))
def test_laplace_powers_by_residues(top, count, share):
    truth = LaplacePower(top, count)
    epsilon = share * top * count
    lower, upper = both(ContourEngine.of([(LaplacePair(top), count)]).delta(np.array([epsilon]), 1e-3))
    assert lower[0] <= truth.delta(epsilon) <= upper[0]


@settings(max_examples=examples(25))
@given(
    losses=st.lists(st.floats(0.05, 3.0), min_size=1, max_size=3),
    counts=st.lists(st.integers(1, 4), min_size=3, max_size=3),
    shares=st.lists(st.floats(-1.0, 0.999), min_size=1, max_size=4),
)
def test_incommensurable_responses_by_enumeration(losses, counts, shares):
    loss = qw.compose(*(k * qw.pure(e) for e, k in zip(losses, counts, strict=False)))
    atoms = [([(at, p) for at, p, _ in laws.response(e).points], k) for e, k in zip(losses, counts, strict=False)]
    law = naive.convolution(atoms)
    top = sum(e * k for e, k in zip(losses, counts, strict=False))
    epsilon = np.array([share * top for share in shares])
    found = loss.delta(epsilon)
    for i, at in enumerate(epsilon.tolist()):
        assert naive.stick(law, at) in found[i]
