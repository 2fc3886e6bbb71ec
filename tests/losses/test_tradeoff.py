"""Trade-off functions given by the vertices of a polygon: exact finite pairs."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from tests.ids import named
from tests.losses import laws

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.tradeoff.vertices import TradeOffFunction, from_vertices, polygon_pair

TRIANGLE = [(0.0, 0.75), (0.25, 0.25), (1.0, 0.0)]


def profile_of(vertices, t):
    """D(t) = 1 + f*(-t) = max over vertices of 1 - f(a) - t a, in rationals."""
    return max(1 - Fraction(b) - t * Fraction(a) for a, b in vertices)


@given(t=st.fractions(Fraction(1, 30), 30, max_denominator=30))
def test_polygon_profile_is_the_conjugate(t):
    pair = polygon_pair(tuple(TRIANGLE))
    found = float(pair.stick(np.array([math.log(t)]))[0]) + pair.reveal
    assert found == pytest.approx(float(profile_of(TRIANGLE, t)), abs=1e-14)


def test_polygon_directions_are_inverse_functions():
    loss = qw.tradeoff(TRIANGLE)
    assert 0.5 in loss.direction("remove").beta(0.125)
    assert 0.125 in loss.direction("add").beta(0.5)
    assert 0.125 in loss.beta(0.5)
    assert 0.75 in loss.direction("remove").beta(0.0)  # the rest is revealed
    assert loss.beta(1.0).upper <= 1e-299


def test_a_polygon_is_a_finite_pair():
    """Steps of alpha are Q masses, falls of beta P masses."""
    law = laws.Finite([0.25, 0.5, 0.25], [0.0, 0.25, 0.75])
    loss = 3 * qw.tradeoff(TRIANGLE)
    same = 3 * qw.pair([0.25, 0.5, 0.25], [0.0, 0.25, 0.75])
    assert law.stick(0.1) + law.reveal in qw.tradeoff(TRIANGLE).direction("remove").delta(0.1)
    for epsilon in (0.0, 0.5, 1.4):
        loss.delta(epsilon).intersect(same.delta(epsilon))


def test_vertices_on_a_line_are_dropped_and_both_sides_agree():
    family = from_vertices([(0.0, 1.0), (0.25, 0.5), (0.375, 0.25), (0.5, 0.0), (1.0, 0.0)])
    assert family.below == family.above == ((0.0, 1.0), (0.5, 0.0), (1.0, 0.0))


@pytest.mark.parametrize(
    "bad",
    [
        5,
        None,
        "abc",
        [],
        [(0.0, 1.0)],
        [(0.0, 1.0), (1.0, 0.5)],
        [(0.1, 0.9), (1.0, 0.0)],
        [(0.0, 1.0), (0.5, 0.6), (1.0, 0.0)],
        [(0.0, 1.0), (0.5, 0.2), (0.6, 0.05), (0.7, 0.04), (0.8, 0.0), (0.9, 0.01), (1.0, 0.0)],
        [(0.0, 1.0), (0.5, math.nan), (1.0, 0.0)],
        [(0.0, 1.0), (0.5, 0.25), (0.5, 0.2), (1.0, 0.0)],
        [(0.0, 1.5), (1.0, 0.0)],
        [(0.0, 1.0, 2.0), (1.0, 0.0, 1.0)],
        lambda a: math.nan,
        lambda a: 2.0 - a,
        lambda a: -a,
        lambda a: a,
        lambda a: None,
        lambda a: "x",
        lambda a: 1j,
        lambda a, b: 0.0,
    ],
    ids=named,
)
def test_bad_trade_offs_are_refused(bad):
    with pytest.raises(InvalidParameter, match=r"^trade-off must be"):
        qw.tradeoff(bad)


def test_json_of_a_polygon():
    family = from_vertices(TRIANGLE)
    assert TradeOffFunction(**family.fields()) == family
    assert not family.sandwiched


def test_two_polygons_are_a_sandwich():
    """`below` is promised, `above` possible: delta ends above at that of the first, below at that of the other."""
    below, above = TRIANGLE, [(0.0, 0.8), (0.25, 0.3), (1.0, 0.0)]
    both = qw.Loss.of(TradeOffFunction(below, above))
    for epsilon in (0.0, 0.5, 1.4):
        found = both.direction("remove").delta(epsilon)
        assert found.upper == pytest.approx(float(profile_of(below, Fraction(math.exp(epsilon)))), rel=1e-12)
        assert found.lower == pytest.approx(float(profile_of(above, Fraction(math.exp(epsilon)))), rel=1e-12)
    sampled = qw.poisson(both, 0.1).direction("remove").delta(0.01)
    assert sampled.lower < sampled.upper


@pytest.mark.parametrize("mu", [0.3, 2.0])
def test_programs_in_single_precision_are_held_with_their_rounding(mu):
    """They were refused: values above 1 - alpha, or bends, by a rounding of single precision."""

    def single(alpha):
        return np.float32(ndtr(np.float32(-ndtri(np.float32(alpha))) - np.float32(mu)))

    loss, known = qw.tradeoff(single), qw.gdp(mu)
    for epsilon in (0.0, 0.5, 2.0):
        found, truth = loss.delta(epsilon), known.delta(epsilon)
        assert found.lower <= truth.lower <= truth.upper <= found.upper <= truth.upper * (1 + 1e-3) + 4e-6
    assert qw.Loss.from_json(loss.to_json()).epsilon(1e-2) == loss.epsilon(1e-2)
