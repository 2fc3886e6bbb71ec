"""The paper's approximations by few constraints: golden values, least area by brute force, bounds on both sides."""

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import ndtr
from tests.losses.smooth import gauss, hyperbola, parabola

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.losses.papers.two_constraints import area, chords, gap, tangents

GOLDEN = json.loads((Path(__file__).parents[1] / "reference_multi_constraints.json").read_text())["fig3"]
EXACT = 1e-12


FUNCTIONS = [gauss(1.0), gauss(0.2), gauss(3.0), parabola(1.0), parabola(0.6), hyperbola(1.0), hyperbola(20.0)]
functions = st.one_of(
    st.floats(0.1, 4.0).map(gauss), st.floats(0.2, 1.0).map(parabola), st.floats(0.5, 50.0).map(hyperbola)
)


@pytest.mark.parametrize(
    ("name", "found", "difference"),
    [
        ("lower_prop1_typo_corrected", lambda f, d: tangents(f, d, criterion="rotated"), "area_gap_eq8_prop1"),
        ("lower_true_minimiser_of_eq8", tangents, "area_gap_eq8_true"),
        ("upper_prop2", chords, "area_gap_eq9_prop2"),
    ],
)
def test_golden_values(name, found, difference):
    f, slope = gauss(1.0)
    points = found(f, slope)
    true = [(float(epsilon), float(delta)) for epsilon, delta in GOLDEN[name]]
    assert points == [(pytest.approx(e, rel=EXACT), pytest.approx(d, rel=EXACT, abs=1e-15)) for e, d in true]
    assert abs(gap(f, points)) == pytest.approx(float(GOLDEN[difference]), abs=1e-14)


@pytest.mark.parametrize("count", [3, 10])
def test_golden_compositions(count):
    """Fig. 3: beta of the composed bounds, below and above the exact Gaussian."""
    f, slope = gauss(1.0)
    sides = {
        "lower_prop1": tangents(f, slope, criterion="rotated"),
        "lower_true_opt": tangents(f, slope),
        "upper": chords(f, slope),
    }
    for alpha, row in GOLDEN[f"k={count}"].items():
        for name, points in sides.items():
            found = (count * qw.constraints(points)).beta(float(alpha))
            assert found.lower - 1e-12 <= float(row[name]) <= found.upper + 1e-12
        exact = (count * qw.gdp(1.0)).beta(float(alpha))
        assert float(row["exact"]) in exact


@pytest.mark.parametrize(("f", "slope"), FUNCTIONS)
@pytest.mark.parametrize("pieces", [1, 2, 3, 5])
def test_tangents_lie_below_and_chords_above(f, slope, pieces):
    alpha = np.concatenate((np.geomspace(1e-12, 0.5, 60), np.linspace(0.5, 1.0, 30)))
    true = np.array([f(x) for x in alpha])
    for criterion in ("area", "rotated"):
        points = tangents(f, slope, pieces, criterion)
        assert len(points) == pieces
        assert np.all(curve(points, alpha) <= true + 1e-13)
    assert np.all(curve(chords(f, slope, pieces), alpha) >= true - 1e-13)


def curve(points, alpha):
    """max over constraints of f_(eps, delta), written out."""
    lines = [np.maximum(1 - d - math.exp(e) * alpha, math.exp(-e) * (1 - d - alpha)) for e, d in points]
    return np.maximum(np.max(lines, axis=0), 0.0)


@given(function=functions, pieces=st.integers(1, 6))
def test_constraints_are_sorted_and_all_active(function, pieces):
    for points in (tangents(*function, pieces), tangents(*function, pieces, "rotated"), chords(*function, pieces)):
        epsilons, deltas = zip(*points, strict=True)
        assert list(epsilons) == sorted(epsilons, reverse=True)
        assert epsilons[-1] > 0
        assert list(deltas) == sorted(deltas)
        for left_out in range(pieces):
            fewer = [point for i, point in enumerate(points) if i != left_out]
            assert not fewer or area(fewer) < area(points)


@given(function=functions, pieces=st.integers(1, 5))
def test_each_tangent_touches_in_the_middle_of_its_piece(function, pieces):
    """Contact points read back from the slopes; pieces from where neighbouring lines meet."""
    f, slope = function
    points = tangents(f, slope, pieces)
    ends = [0.0]
    for (e1, d1), (e2, d2) in pairwise(points):
        ends.append((d2 - d1) / (math.exp(e1) - math.exp(e2)))
    ends.append((1 - points[-1][1]) / (1 + math.exp(points[-1][0])))
    for i, (epsilon, _) in enumerate(points):
        middle = (ends[i] + ends[i + 1]) / 2
        assert -slope(middle) == pytest.approx(math.exp(epsilon), rel=1e-7)


@pytest.mark.parametrize(("f", "slope"), FUNCTIONS)
def test_no_other_two_tangents_leave_less_area(f, slope):
    best = tangents(f, slope)

    def tangent(x):
        return math.log(-slope(x)), 1 - f(x) + x * slope(x)

    fixed = brute_fixed_point(f)

    def left(shares):
        x = [fixed / (1 + math.exp(-s)) for s in shares]
        return -area([tangent(point) for point in x])

    found = minimize(left, [-2.0, 0.5], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15})
    assert area(best) >= -found.fun - 1e-14
    assert area(best) == pytest.approx(-found.fun, rel=1e-9)


@pytest.mark.parametrize(("f", "slope"), FUNCTIONS)
@pytest.mark.parametrize("pieces", [2, 3])
def test_no_other_chords_leave_less_area(f, slope, pieces):
    """Nodes on f, moved about: the area under the chords from 0 to the fixed point, by the trapezoid rule."""
    fixed = brute_fixed_point(f)

    def under(shares):
        nodes = sorted([0.0, *(fixed / (1 + math.exp(-s)) for s in shares), fixed])
        heights = [f(x) for x in nodes]
        half = np.trapezoid(heights, nodes)
        return 2 * half - fixed**2

    start = np.linspace(-2.0, 0.5, pieces - 1)
    found = minimize(under, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-16, "maxiter": 2000})
    assert area(chords(f, slope, pieces)) <= found.fun + 1e-14
    assert area(chords(f, slope, pieces)) == pytest.approx(found.fun, rel=1e-9)


def brute_fixed_point(f):
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > middle else (low, middle)
    return low


@pytest.mark.parametrize(("f", "slope"), FUNCTIONS)
def test_more_pieces_close_the_gap_from_both_sides(f, slope):
    below = [gap(f, tangents(f, slope, n)) for n in (1, 2, 4, 8)]
    above = [gap(f, chords(f, slope, n)) for n in (1, 2, 4, 8)]
    assert below == sorted(below, reverse=True)
    assert above == sorted(above)
    assert 0 < below[-1] < below[0] / 20
    assert above[0] / 20 < above[-1] < 0


def test_gap_and_area_by_hand():
    f, slope = parabola(1.0)
    assert area([(0.0, 0.0)]) == 0.5
    assert area([(5.0, 1.0)]) == 0.0
    assert area([(math.log(2.0), 0.0)]) == pytest.approx(1 / 3, rel=1e-15)
    assert gap(f, [(math.log(2.0), 0.0)]) == pytest.approx(1 / 6 - 1 / 3, rel=1e-14)
    assert gap(gauss(2.0)[0], [(0.0, 1.0)]) == pytest.approx(float(ndtr(-math.sqrt(2.0))), rel=1e-14)
    (one,) = chords(f, slope, 1)
    assert one == (pytest.approx(math.log(3.0), rel=1e-15), 0.0)


F, SLOPE = gauss(1.0)


@pytest.mark.parametrize(
    ("ask", "name"),
    [
        (lambda: tangents(3, SLOPE), "f"),
        (lambda: chords(F, None), "slope"),
        (lambda: tangents(F, SLOPE, 0), "pieces"),
        (lambda: tangents(F, SLOPE, 2.0), "pieces"),
        (lambda: chords(F, SLOPE, -1), "pieces"),
        (lambda: tangents(F, SLOPE, criterion="volume"), "criterion"),
        (lambda: tangents(lambda x: 1 - x, lambda x: -1.0), "f"),  # straight
        (lambda: tangents(lambda x: (1 - x) ** 2, lambda x: 2 * x - 2), "f"),  # not its own inverse
        (lambda: tangents(lambda x: 2 - x, lambda x: -1.0), "f"),
        (lambda: tangents(lambda x: 1.0, lambda x: -1.0), "f"),
        (lambda: tangents(F, lambda x: -SLOPE(x)), "slope"),
        (lambda: tangents(F, lambda x: 2 * SLOPE(x)), "slope"),
        (lambda: chords(F, lambda x: math.nan), "slope"),
        (lambda: gap(0.5, [(1.0, 0.0)]), "f"),
        (lambda: gap(F, []), "constraints"),
        (lambda: area([(1.0, 2.0)]), "delta"),
    ],
)
def test_bad_input_is_named(ask, name):
    with pytest.raises(InvalidParameter, match=f"^{name} must be"):
        ask()
