"""Chords over a convex polygon with slopes e^(i step), against exact arithmetic and a slow construction."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from tests.truth.numbers import mp

from quiltwork.losses.families.tradeoff.chords import chain, chords
from quiltwork.losses.families.tradeoff.function import polygons
from quiltwork.losses.families.tradeoff.vertices import hull

REFERENCE = json.loads((Path(__file__).parents[1] / "reference_multi_constraints.json").read_text())
CASES = REFERENCE["gaussian_sandwich_grid"]["cases"]


def polygon_of(weights, heights):
    """The lower hull of random points below 1 - alpha, from (0, f(0)) to (1, 0)."""
    alpha = np.cumsum([0.0, *weights])
    alpha /= alpha[-1]
    beta = np.minimum(np.array([*heights, 0.0]), 1.0) * (1.0 - alpha)
    return tuple(hull(alpha, beta))


def drawn(masses, step):
    """Vertices of the polygon that these masses make, exactly: losses fall along alpha."""
    index, p, q, reveal, vanish = masses
    x, y = [Fraction(0)], [1 - Fraction(reveal)]
    for i in np.argsort(-index):
        x.append(x[-1] + Fraction(q[i]))
        y.append(y[-1] - Fraction(p[i]))
    return x, y, 1 - Fraction(vanish)


def shortfall(vertices, masses, step):
    """How far the drawn polygon lies below the given one, at most; both are convex, so at the drawn vertices.

    Measured downwards where the slope is at least 1, sideways where it is less, as the two tests feel it.
    """
    a, b = (np.array([Fraction(v[i]) for v in vertices], dtype=object) for i in (0, 1))
    x, y, end = drawn(masses, step)
    worst = max(abs(y[-1]), abs(x[-1] - end))
    for place, height in zip(x, y, strict=True):
        if place <= a[0] or place >= a[-1]:
            worst = max(worst, b[0] - height if place <= a[0] else -height)
            continue
        j = max(int(np.searchsorted(a, place)), 1)
        down = b[j - 1] + (b[j] - b[j - 1]) * (place - a[j - 1]) / (a[j] - a[j - 1]) - height
        steep = (b[j - 1] - b[j]) / (a[j] - a[j - 1])
        worst = max(worst, down / max(steep, 1))
    return worst


shares = st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=6)


@given(weights=shares, data=st.data(), step=st.sampled_from([1.0, 0.25, 1 / 16, 1 / 64]))
def test_chords_lie_over_any_polygon(weights, data, step):
    heights = data.draw(st.lists(st.floats(1e-9, 1.0), min_size=len(weights), max_size=len(weights)))
    vertices = polygon_of(weights, heights)
    masses, slack = chords(vertices, step, 1e-15)
    index, p, q, reveal, vanish = masses
    assert np.all(np.diff(index) > 0)
    assert np.all(p > 0)
    assert np.all(q > 0)
    assert p == pytest.approx(q * np.exp(step * index), rel=1e-13)
    assert 0 <= reveal <= 1 - vertices[0][1] + 1e-15
    assert 0 <= vanish <= 1
    assert slack < 1e-13
    assert shortfall(vertices, masses, step) <= slack


@given(weights=shares, data=st.data())
def test_smaller_steps_come_nearer(weights, data):
    heights = data.draw(st.lists(st.floats(0.01, 1.0), min_size=len(weights), max_size=len(weights)))
    vertices = polygon_of(weights, heights)
    area = []
    for step in (1 / 4, 1 / 16, 1 / 64):
        (index, p, q, reveal, vanish), _ = chords(vertices, step, 1e-15)
        x, y, _ = drawn((index, p, q, reveal, vanish), step)
        area.append(float(sum((y[i] + y[i + 1]) * (x[i + 1] - x[i]) for i in range(len(x) - 1))))
    assert area[2] <= area[0] + 1e-12


def test_nodes_lie_on_the_polygon_and_slopes_are_powers():
    vertices = polygons(lambda a: ndtr(-ndtri(a) - 1.0), 1 / 256, False)[1]
    alpha, beta = np.array(vertices).T
    found = chain(alpha, beta, 0.125, 1e-12)
    assert np.all(np.diff(found.power) < 0)
    assert found.power[-1] == 0
    assert found.y == pytest.approx(np.interp(found.x, alpha, beta), abs=1e-15)
    falls, widths = -np.diff(found.y), np.diff(found.x)
    assert falls == pytest.approx(widths * np.exp(0.125 * found.power), abs=4e-16)


# ---- special polygons


def profile(masses, step, t):
    _index, p, q, reveal, _ = masses
    return reveal + float(np.maximum(p - t * q, 0.0).sum())


@pytest.mark.parametrize(
    ("vertices", "index", "reveal", "vanish"),
    [
        (((0.0, 1.0), (1.0, 0.0)), [0], 0.0, 0.0),  # nothing is told
        (((0.0, 1.0), (0.5, 0.0), (1.0, 0.0)), [2], 0.0, 1 - math.exp(-0.5)),  # 0 before alpha = 1
        (((0.0, 0.5), (1.0, 0.0)), [-2], 1 - math.exp(-0.5), 0.0),  # the mirror image
        (((0.0, 0.5), (0.5, 0.0), (1.0, 0.0)), [0], 0.5, 0.5),  # half of each is revealed
        (((0.0, 1.0), (0.25, 0.25), (1.0, 0.0)), [-4, 4], 0.0, 0.0),
    ],
)
def test_straight_pieces(vertices, index, reveal, vanish):
    """Steps of a quarter; log 2 = 0.69 becomes 0.5, log 3 = 1.10 becomes 1."""
    masses, slack = chords(vertices, 0.25, 1e-15)
    assert masses[0].tolist() == index
    assert masses[3:] == pytest.approx((reveal, vanish), abs=1e-15)
    assert shortfall(vertices, masses, 0.25) <= slack < 1e-14


def test_pieces_on_the_grid_are_kept():
    s = math.exp(0.5)
    corner = 0.99 / (1 + s)
    vertices = ((0.0, 0.99), (corner, corner), (0.99, 0.0), (1.0, 0.0))
    masses, slack = chords(vertices, 0.125, 1e-15)
    for t in (0.3, 1.0, 1.4, 5.0):
        true = max(1 - b - t * a for a, b in vertices)
        assert profile(masses, 0.125, t) == pytest.approx(true, abs=1e-14)
    assert slack < 1e-14


def test_an_edge_of_slope_1_joins_both_chains():
    vertices = ((0.0, 1.0), (0.1, 0.3), (0.3, 0.1), (1.0, 0.0))
    masses, slack = chords(vertices, 0.25, 1e-15)
    assert 0 in masses[0]
    assert masses[1][masses[0] == 0][0] == pytest.approx(0.2, abs=0.06)
    assert shortfall(vertices, masses, 0.25) <= slack < 1e-14


@pytest.mark.parametrize("mu", [0.0193574, 0.05, 0.068, 0.1, 3.0])
@pytest.mark.parametrize("step", [1.0, 1 / 16, 1 / 64, 1 / 512])
def test_chains_that_only_touch_are_counted_once(mu, step):
    """A symmetric f: the last chords of both chains are the same line."""
    vertices = polygons(lambda a: ndtr(-ndtri(a) - mu), 1 / 64, True)[1]
    (_, p, q, reveal, vanish), slack = chords(vertices, step, 1e-15)
    assert math.fsum(p) + reveal == pytest.approx(1.0, abs=1e-13)
    assert math.fsum(q) + vanish == pytest.approx(1.0, abs=1e-13)
    assert slack < 1e-13


@pytest.mark.parametrize(
    "vertices",
    [
        ((0.0, 1e-15), (1.0, 0.0)),
        ((0.0, 1e-15), (1e-15, 0.0), (1.0, 0.0)),
        ((0.0, 1.0), (1e-90, 1e-15), (1.0, 0.0)),
        ((0.0, 1.0), (1e-44, 1e-44), (1.0, 0.0)),
        ((0.0, 1e-15), (0.5, 1e-300), (1.0, 0.0)),
    ],
)
def test_almost_everything_revealed(vertices):
    masses, slack = chords(vertices, 1 / 16, 5e-15)
    assert shortfall(vertices, masses, 1 / 16) <= slack < 1e-13
    # D at 1, from the masses of each side: nearly everything
    assert profile(masses, 1 / 16, 1.0) > 1 - 1e-13


# ---- against theory section 5


def constraints_of(found, step):
    """Lines 1 - delta - e^epsilon alpha through the pieces of a chain."""
    slopes = np.exp(step * found.power)
    return step * found.power, 1.0 - (found.y[:-1] + slopes * found.x[:-1])


@pytest.mark.parametrize("name", ["n=4", "n=8", "n=16"])
def test_the_chords_of_the_reference(name):
    """G_1 with slopes e^(ih), i < n, started at (0, 1): computed to 40 digits.

    There the steepest slope is given; `chords` starts as steep as the digits of f allow, which is nearer to f. Here a
    tail is chosen beyond which f has no steeper slope than the given one.
    """
    case = CASES[name]
    known = [(float(e), float(d)) for e, d in case["upper_constraints"]]
    step, top = float(case["h"]), known[0][0]
    alpha, beta = np.array(polygons(lambda a: ndtr(-ndtri(a) - 1.0), 1 / 1024, True)[1]).T
    tail = float(ndtr(0.5 - top - 0.3 * step))  # P(loss > top + 0.3 step)
    epsilons, deltas = constraints_of(chain(alpha, beta, step, tail), step)
    assert epsilons == pytest.approx([e for e, _ in known], abs=1e-12)
    assert deltas == pytest.approx([d for _, d in known], abs=2e-7)


@pytest.mark.parametrize("name", ["n=4", "n=8", "n=16"])
def test_a_steeper_start_is_nearer_to_f(name):
    """The sandwich of the reference gives up what lies beyond its steepest slope: its deltas are below ours there."""
    case = CASES[name]
    step = float(case["h"])
    vertices = polygons(lambda a: ndtr(-ndtri(a) - 1.0), 1 / 1024, True)[1]
    masses, slack = chords(vertices, step, 1e-14)
    top = float(case["upper_constraints"][0][0])
    exact = float(ndtr(0.5 - top) - math.exp(top) * ndtr(-0.5 - top))
    assert 0 < profile(masses, step, math.exp(top)) <= exact + slack


@pytest.mark.parametrize("step", [0.25, 0.0625])
def test_powers_against_their_recursion(step):
    """f = (1 - alpha)^2 = u^2: the chord of slope s from u ends at s - u, on either side."""
    vertices = polygons(lambda a: (1 - a) * (1 - a), 1 / 1024, False)[1]
    alpha, beta = np.array(vertices).T
    left = chain(alpha, beta, step, 1e-12)
    u, powers = [mp.one], []
    for i in range(math.floor(math.log(2) / step), -1, -1):
        if mp.exp(i * mp.mpf(step)) < 2 * u[-1]:  # less steep than f
            u.append(mp.exp(i * mp.mpf(step)) - u[-1])
            powers.append(i)
    assert left.power.tolist() == powers
    assert 1 - left.x == pytest.approx([float(x) for x in u], abs=3e-5)  # a polygon, and chords nearly along it
    right = chain(beta[::-1], alpha[::-1], step, 1e-6)
    u = [mp.zero]
    for i in right.power.tolist():
        u.append(mp.exp(-mp.mpf(i) * step) - u[-1])
    assert 1 - right.y == pytest.approx([float(x) for x in u], abs=3e-5)
