"""What all families share: group privacy by path, or a refusal with a reason; readable names."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

import quiltwork as qw
from quiltwork.errors import Unsupported

GROUPABLE = {
    "gaussian": qw.gaussian(3.0, 0.5),
    "gdp": qw.gdp(0.3),
    "laplace": qw.laplace(3.0),
    "discrete_gaussian": qw.discrete_gaussian(3.0),
    "discrete_laplace": qw.discrete_laplace(3.0),
    "pure": qw.pure(0.3),
    "approximate": qw.approximate(0.3, 1e-4),
    "constraints": qw.constraints([(0.3, 1e-4), (0.1, 0.01)]),
    "profile": qw.profile([0.3, 0.1], [1e-4, 0.01]),
    "zcdp": qw.zcdp(0.05),
    "mixture": qw.mixture([(0.5, qw.pure(0.3)), (0.5, qw.laplace(3.0))]),
}


@pytest.mark.parametrize("name", GROUPABLE)
@pytest.mark.parametrize("size", [2, 5])
def test_groups_cost_more_but_no_more_than_a_path(name, size):
    """A group of n is a path of n neighbours: D_n(n eps) <= sum over i < n of e^(i eps) D(eps)."""
    one, many = GROUPABLE[name], GROUPABLE[name].group(size)
    epsilon = 0.2
    path = sum(math.exp(i * epsilon) for i in range(size)) * one.delta(epsilon).upper
    found = many.delta(size * epsilon)
    assert found.lower <= path * (1 + 1e-9)
    assert many.epsilon(0.02).upper >= one.epsilon(0.02).lower * (1 - 1e-9)
    assert one.group(1) == one


@pytest.mark.parametrize("name", GROUPABLE)
def test_groups_of_groups(name):
    """Twice two is four, up to rounding."""
    one, two = GROUPABLE[name].group(2).group(2).epsilon(0.05), GROUPABLE[name].group(4).epsilon(0.05)
    assert one.upper == pytest.approx(two.upper, rel=2e-3)


@settings(max_examples=examples(30))
@given(size=st.integers(1, 10**6), sigma=st.floats(0.1, 1e3))
def test_gaussian_groups_scale(size, sigma):
    assert qw.gaussian(sigma).group(size).parts[0].family.mu == pytest.approx(size / sigma, rel=1e-14)


@pytest.mark.parametrize(
    "loss",
    [
        qw.pair([0.25, 0.75], [0.5, 0.5]),
        qw.tradeoff([(0, 1), (0.25, 0.25), (1, 0)]),
        qw.gaussian_mixture([1], [1], 2),
        qw.randomized_response(0.3, 5),
    ],
    ids=str,
)
def test_families_without_a_rule_say_so(loss):
    with pytest.raises(Unsupported, match="group privacy"):
        loss.group(2)


@pytest.mark.parametrize("name", GROUPABLE)
def test_names_are_readable(name):
    family = GROUPABLE[name].parts[0].family
    assert str(family).startswith(f"{name}(")
    assert "object at" not in str(family)
    assert len(family.because) > 10
