"""Propositions 1 and 2 of seed 002, and the assumption that both make."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from tests.errata import printed
from tests.errata.rotation import fixed_point, rotated_touching, rotation
from tests.losses.smooth import gauss, hyperbola, parabola

import quiltwork as qw
from quiltwork.losses.papers.two_constraints import area, chords, gap, tangents

GOLDEN = json.loads((Path(__file__).parents[1] / "reference_multi_constraints.json").read_text())["fig3"]
FUNCTIONS = [gauss(1.0), gauss(0.3), gauss(2.5), parabola(1.0), parabola(0.6), hyperbola(5.0)]
each_function = pytest.mark.parametrize(("f", "slope"), FUNCTIONS)


@each_function
def test_definition_5_names_an_empty_domain(f, slope):
    """z is negative, so [0, z] is empty; the rotation lives on [z, 0], and is convex there."""
    g, _, z = rotation(f, slope)
    assert z < 0
    places = np.linspace(0.95 * z, 0.02 * z, 30)
    values = [g(u) for u in places]
    assert np.all(np.diff(values, 2) > 0)


@each_function
def test_proposition_1_as_printed_takes_the_logarithm_of_minus_one(f, slope):
    """(-g' - 1)/(g' + 1) is -1 whatever g' is; with (1 - g')/(1 + g') it is the slope of f."""
    g, g_slope, _ = rotation(f, slope)
    for t, (epsilon, delta) in zip(rotated_touching(f, slope), tangents(f, slope, 2, "rotated"), strict=True):
        steep = g_slope(t)
        with pytest.raises(ValueError, match=r"domain|positive"):
            printed.proposition_1_epsilon(steep)
        assert math.log((1 - steep) / (1 + steep)) == pytest.approx(epsilon, abs=1e-9)
        assert printed.proposition_1_delta(g(t), steep, t) == pytest.approx(delta, abs=1e-9)


@each_function
def test_proposition_1_does_not_minimise_the_area(f, slope):
    """Eq. (8) is smaller at another pair of tangents."""
    assert gap(f, tangents(f, slope)) < gap(f, tangents(f, slope, 2, "rotated")) * (1 - 1e-3)


def test_proposition_1_golden_gaps():
    f, slope = gauss(1.0)
    assert gap(f, tangents(f, slope, 2, "rotated")) == pytest.approx(float(GOLDEN["area_gap_eq8_prop1"]), rel=1e-11)
    assert gap(f, tangents(f, slope)) == pytest.approx(float(GOLDEN["area_gap_eq8_true"]), rel=1e-11)


@each_function
def test_proposition_1_minimises_the_area_and_a_triangle_outside_the_square(f, slope):
    """Over both halves the triangle measures (f(0) - 1 + d1)^2/(1 + e^eps1)."""
    c, top = fixed_point(f), f(0.0)

    def tangent(x):
        return math.log(-slope(x)), 1 - f(x) + x * slope(x)

    def objective(shares):
        points = [tangent(c / (1 + math.exp(-share))) for share in sorted(shares)]
        epsilon, delta = points[0]
        return -area(points) + (top - 1 + delta) ** 2 / (1 + math.exp(epsilon))

    found = minimize(objective, [-2.0, 0.5], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-16})
    touching = [tangent(c / (1 + math.exp(-share))) for share in sorted(found.x)]
    for (epsilon, delta), (other, another) in zip(touching, tangents(f, slope, 2, "rotated"), strict=True):
        assert epsilon == pytest.approx(other, rel=1e-5)
        assert delta == pytest.approx(another, rel=1e-5)


def test_the_smaller_area_is_the_worse_bound_after_composition():
    """Fig. 3: at five rates Proposition 1 beats the true minimiser of (8), since it reveals less each time."""
    f, slope = gauss(1.0)
    one, two = tangents(f, slope, 2, "rotated"), tangents(f, slope)
    assert one[0][1] < two[0][1]
    for count in (3, 10):
        for alpha in (0.01, 0.05, 0.1, 0.2, 0.3):
            assert (count * qw.constraints(one)).beta(alpha).lower > (count * qw.constraints(two)).beta(alpha).upper
    # and not at every rate
    found = [(3 * qw.constraints(points)).beta(0.33) for points in (one, two)]
    assert found[0].upper < found[1].lower
    assert [beta.upper for beta in found] == pytest.approx([0.0713396, 0.0715130], rel=1e-6)


ERRORS = np.array([0.01, 0.05, 0.1, 0.2, 0.3])


def bounds(count, pieces, errors=ERRORS):
    """Misses after some releases: under tangents, exact, and under chords."""
    f, slope = gauss(1.0)
    below, above = tangents(f, slope, pieces, "rotated"), chords(f, slope, pieces)
    exact = (count * qw.gdp(1.0)).beta(errors)
    low, high = ((count * qw.constraints(points)).beta(errors) for points in (below, above))
    assert np.all(low.lower <= exact.upper)
    assert np.all(exact.lower <= high.upper)
    return low.lower, exact.lower, high.upper


def test_two_constraints_are_not_close_after_ten_releases():
    """Fig. 3: a factor of at most 1.6 between the bounds at k = 3, and of 22 at k = 10."""
    low, _, high = bounds(3, 2)
    assert max(high / low) < 1.6
    low, exact, high = bounds(10, 2)
    assert high[0] / low[0] > 2.5
    assert high[-1] / low[-1] > 22
    assert (low[-1], exact[-1], high[-1]) == pytest.approx((0.000344244, 0.00417134, 0.00764724), rel=1e-5)
    first = tangents(*gauss(1.0), criterion="rotated")[0]
    assert 1 - (1 - first[1]) ** 10 == pytest.approx(0.553, abs=5e-4)


def test_more_constraints_come_closer_after_ten_releases():
    found = [bounds(10, pieces) for pieces in (2, 4, 8)]
    under, over = ([max(gap) for gap in gaps] for gaps in zip(*((e - a, b - e) for a, e, b in found), strict=True))
    assert under == sorted(under, reverse=True)
    assert over == sorted(over, reverse=True)
    assert (under[0], over[0], under[-1], over[-1]) == pytest.approx((0.0994, 0.0624, 0.0150, 0.0057), rel=5e-3)
    low, exact, high = bounds(10, 2, np.array([1e-6, 1e-3]))  # towards 0 the distances are larger
    assert (exact[0] - low[0], high[1] - exact[1]) == pytest.approx((0.5086, 0.0904), rel=1e-3)


@each_function
def test_the_equation_of_proposition_1_has_its_root_inside(f, slope):
    """It is positive near z and negative near 0: t* = z, and with it the last line of the proposition, cannot occur."""
    g, g_slope, z = rotation(f, slope)
    assert printed.proposition_1_equation(g, g_slope, z, 0.98 * z) > 0
    assert printed.proposition_1_equation(g, g_slope, z, 0.02 * z) < 0


@each_function
def test_proposition_2_never_takes_its_first_branch(f, slope):
    """h(t*) is c times how far f lies below its chord, so it is negative; one constraint would leave more area."""
    c = fixed_point(f)
    t = brentq(lambda x: slope(x) - (f(c) - f(0.0)) / c, 1e-12, c)
    assert printed.proposition_2_test(f, c, t) < 0
    if (f, slope) == FUNCTIONS[0]:  # the Gaussian with mu = 1
        assert printed.proposition_2_test(f, c, t) == pytest.approx(-0.0509576, abs=5e-8)
    for share in (0.01, 0.3, 0.7, 0.99):
        assert printed.proposition_2_test(f, c, share * c) < 0
    assert area(chords(f, slope, 2)) < area(chords(f, slope, 1))
    if f(0.0) == 1.0:
        (epsilon, delta), _ = chords(f, slope, 2)
        assert epsilon == pytest.approx(math.log((f(0.0) - f(t)) / t), rel=1e-9)
        assert delta == 0.0


def test_assumption_2_forces_a_full_range():
    """A strictly convex f on [0, 1] that is its own inverse has f(0) = 1; f(0) = .6 is allowed, flat from .6 on."""
    f, slope = parabola(0.6)
    assert f(f(0.3)) == pytest.approx(0.3, rel=1e-14)
    assert f(0.8) == (f(0.7) + f(0.9)) / 2 == 0.0  # not strictly convex on [0, 1]
    assert f(0.3) < (f(0.1) + f(0.5)) / 2  # strictly convex on [0, f(0)]
    assert chords(f, slope)[0][1] == pytest.approx(1 - f(0.0), rel=1e-12)
    assert tangents(f, slope)[0][1] > 1 - f(0.0)
    assert gap(f, tangents(f, slope)) > 0 > gap(f, chords(f, slope))
