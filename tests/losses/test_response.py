"""Pure and approximate privacy: randomized response, its groups, its extremes."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.losses.laws import mp

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.pure import Approximate, Pure, group_delta, response_pair


@given(epsilon=st.floats(0.0, 3000.0), delta=st.floats(0.0, 0.999))
def test_a_response_is_a_probability_with_the_right_odds(epsilon, delta):
    pair = response_pair(epsilon, delta)
    assert math.fsum(pair.p) + pair.reveal == pytest.approx(1.0, abs=1e-15)
    assert pair.reveal == pair.vanish == delta
    assert pair.high == epsilon
    np.testing.assert_array_equal(pair.p, pair.q[::-1])
    np.testing.assert_allclose(pair.log_p[-1] - pair.log_p[0], epsilon, rtol=1e-13, atol=1e-15)


@given(
    epsilon=st.floats(1e-6, 50.0),
    delta=st.floats(1e-300, 0.5),
    size=st.integers(1, 40),
)
def test_group_delta_is_never_below_the_geometric_sum(epsilon, delta, size):
    true = mp.mpf(delta) * mp.fsum(mp.exp(i * mp.mpf(epsilon)) for i in range(size))
    found = group_delta(epsilon, delta, size)
    assert found >= min(true, 1)
    assert found <= min(true * (1 + mp.mpf("1e-10")), 1) or epsilon * size > 690


def test_group_of_total_variation_and_of_nothing():
    assert group_delta(0.0, 0.125, 4) == pytest.approx(0.5)
    assert group_delta(3.0, 0.0, 9) == 0.0
    assert group_delta(3.0, 0.25, 1) == 0.25
    assert group_delta(100.0, 1e-3, 50) == 1.0


@pytest.mark.parametrize("epsilon", [0.1, 1 / 3, 1e-5, 7.3])
@pytest.mark.parametrize("size", [2, 3, 10])
def test_group_epsilon_is_not_rounded_below_the_product(epsilon, size):
    exact = Fraction(epsilon) * size
    assert Fraction(Pure(epsilon).group(size).epsilon) >= exact * (1 - Fraction(1, 2**52))
    assert Approximate(epsilon, 1e-6).group(size).epsilon == Pure(epsilon).group(size).epsilon


def test_group_is_a_path_of_neighbours():
    """Three steps of (eps, delta): D3(3 eps) <= delta (1 + e^eps + e^2eps), attained by the extreme chain."""
    loss = qw.approximate(0.5, 1e-3).group(3)
    true = 1e-3 * (1 + math.exp(0.5) + math.exp(1.0))
    assert loss.delta(1.5).upper == pytest.approx(true, rel=1e-9)


def test_huge_epsilons_do_not_overflow():
    assert 1.0 in qw.pure(3000.0).delta(10.0)
    found = qw.pure(3000.0).epsilon(0.5)
    assert found.lower <= 3000 + math.log(0.5) <= found.upper
    assert found.relative_width <= 1e-3
    assert qw.pure(3000.0).epsilon(0.5, rtol=1e-9).relative_width <= 1e-9


def test_full_reveal():
    for loss in (qw.approximate(0.0, 1.0), qw.approximate(5.0, 1.0), 3 * qw.approximate(5.0, 1.0)):
        assert loss.delta(2.0).lower == loss.delta(math.inf).upper == 1.0
        assert math.isinf(loss.epsilon(0.5).lower)
        assert loss.epsilon(1.0).upper == 0.0
        assert loss.beta(0.25).upper == 0.0


@pytest.mark.parametrize("bad", [-1e-9, math.nan, math.inf, "0.5", None, True, [1.0], 1j, 10**400])
def test_bad_epsilon_is_named(bad):
    with pytest.raises(InvalidParameter, match=r"^epsilon must be"):
        qw.pure(bad)
    with pytest.raises(InvalidParameter, match=r"^epsilon must be"):
        qw.approximate(bad, 0.1)


@pytest.mark.parametrize("bad", [-1e-9, 1.0000001, math.nan, math.inf, "0.5", None, False])
def test_bad_delta_is_named(bad):
    with pytest.raises(InvalidParameter, match=r"^delta must be"):
        qw.approximate(1.0, bad)


@pytest.mark.parametrize("make", [qw.pure, lambda e: qw.approximate(e, 1e-300), lambda e: qw.constraints([(e, 0.1)])])
def test_no_epsilon_above_1e100(make):
    """Squares of larger ones overflow; at the limit every answer is still finite and in order."""
    with pytest.raises(InvalidParameter, match=r"^epsilon must be a finite number >= 0, at most 1e100"):
        make(1.01e100)
    found = (3 * make(1e100)).epsilon(0.5)
    assert 0 <= found.lower <= found.upper
