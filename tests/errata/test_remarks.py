"""Remarks 1 and 2 of seed 002: a total variation that is negative, and the minimum of two profiles."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests.errata import printed

import quiltwork as qw
from quiltwork.compose.papers.simple_rules import kairouz_oh_viswanath, total_variation, with_total_variation
from quiltwork.errors import InvalidParameter

FIGURE_2 = [(0.3, 0.0), (0.15, 0.02)]
GOLDEN = json.loads((Path(__file__).parents[1] / "reference_multi_constraints.json").read_text())["fig2"]


def test_remark_2_eta_as_printed_is_negative():
    """eta = d2 + (1 - d2)(eps2 - 1)/(eps2 + 1) is -.704 for Fig. 2, and no total variation."""
    eta = printed.remark_2_eta(*FIGURE_2[1])
    assert eta == pytest.approx(float(GOLDEN["eta_as_printed_remark2"]), rel=1e-15)
    assert eta < 0
    with pytest.raises(InvalidParameter):
        qw.constraints([FIGURE_2[0], (0.0, eta)])


@pytest.mark.parametrize(("epsilon", "found", "true"), [(1.0, 0.01, 0.467), (2.0, 0.34, 0.764), (5.0, 0.67, 0.987)])
def test_remark_2_eta_as_printed_is_too_small_where_it_is_not_negative(epsilon, found, true):
    """delta2 = .01: a mechanism that keeps both promises may have a larger total variation, so that it is no bound."""
    points = [(epsilon + 1, 0.0), (epsilon, 0.01)]
    eta, allowed = printed.remark_2_eta(*points[1]), qw.constraints(points).delta(0.0)
    assert eta == pytest.approx(found, abs=5e-4)
    assert allowed.lower == pytest.approx(true, abs=5e-4)
    assert allowed.lower > eta
    assert total_variation(points) == pytest.approx(true, abs=5e-4)


def test_remark_2_eta_with_exponentials_is_the_total_variation():
    """With e^eps2 for eps2 it is the sum of |P - Q| / 2 over the outputs of the worst pair."""
    epsilon, delta = FIGURE_2[1]
    assert total_variation(FIGURE_2) == pytest.approx(float(GOLDEN["eta_corrected_remark2"]), rel=1e-14)
    assert total_variation(FIGURE_2) == pytest.approx(delta + (1 - delta) * math.tanh(epsilon / 2), rel=1e-14)
    alpha = float(GOLDEN["alpha"])
    law = [(1 - alpha, FIGURE_2[0][0]), (alpha, FIGURE_2[1][0])]
    distance = sum(weight * (math.exp(e) - 1) / (math.exp(e) + 1) for weight, e in law)
    assert total_variation(FIGURE_2) == pytest.approx(distance, rel=1e-14)
    assert float(GOLDEN["eta_corrected_remark2"]) in qw.constraints(FIGURE_2).delta(0.0)


def test_a_minimum_of_two_profiles_is_not_the_intersection_of_their_regions():
    """Fig. 2, k = 3, epsilon = .25: the smaller delta is .0776, the intersection has .0720."""
    count, at = 3, 0.25
    alone = kairouz_oh_viswanath(*FIGURE_2[1], count)
    joined = (count * qw.constraints([FIGURE_2[0], (0.0, total_variation(FIGURE_2))])).region()
    smaller = min(alone.delta(at).upper, joined.delta(at).upper)
    both = with_total_variation(FIGURE_2, count)
    assert smaller == pytest.approx(float(GOLDEN["k=3"]["delta_remark2_pointwise_min"]["0.25"]), rel=1e-11)
    assert both.delta(at).upper == pytest.approx(float(GOLDEN["k=3"]["delta_remark2_region"]["0.25"]), rel=1e-11)
    assert both.delta(at).upper < smaller
    # D is convex in e^epsilon for every pair of laws, and the minimum is not: it cannot be a profile
    left, right = 0.15, 0.3
    low, high = (min(alone.delta(e).upper, joined.delta(e).upper) for e in (left, right))
    share = (math.exp(at) - math.exp(left)) / (math.exp(right) - math.exp(left))
    assert smaller > (1 - share) * low + share * high


def test_the_hull_is_reached_by_both_regions_and_by_nothing_outside():
    """The intersection consists of the error pairs that are in both regions."""
    one, two = (kairouz_oh_viswanath(*point, 3) for point in FIGURE_2)
    both = one.intersection(two)
    alpha, beta = np.meshgrid(np.linspace(0.0, 1.0, 61), np.linspace(0.0, 1.0, 61))
    inside = both.contains(alpha, beta)
    np.testing.assert_array_equal(inside, one.contains(alpha, beta) & two.contains(alpha, beta))
    assert 0 < inside.sum() < min(one.contains(alpha, beta).sum(), two.contains(alpha, beta).sum())
