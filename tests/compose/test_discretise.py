"""One pair on a grid: the upper measure above the profile, the lower below, for every pair and any grid."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples, some
from tests.losses.laws import mp
from tests.losses.test_pair import CASES

from quiltwork.compose.engines.discretise import convex, discretise

MODERATE = [name for name in CASES if "wide" not in name and "narrow" not in name and "1e-06" not in name]


def curve(origin, step, first, masses, loss):
    """psi(l) = sum m (1 - e^(l - knot))+ of a discrete measure, in 50 digits."""
    knots = [mp.mpf(origin) + mp.mpf(step) * (first + i) for i in range(masses.size)]
    return mp.fsum(
        -mp.mpf(float(m)) * mp.expm1(mp.mpf(loss) - k) for k, m in zip(knots, masses, strict=True) if m and k > loss
    )


def check_order(pair, law, step, low, high, spots):
    found = discretise(pair, step, low, high)
    assert (found.upper >= 0).all()
    assert (found.lower >= 0).all()
    for loss in spots:
        true = law.stick(loss)
        upper = curve(found.origin, step, found.first, found.upper, loss) + found.revealed
        lower = curve(found.origin, step, found.first, found.lower, loss)
        assert lower <= true * (1 + mp.mpf("1e-13")) + mp.mpf("1e-16")
        assert true <= upper * (1 + mp.mpf("1e-13")) + mp.mpf("1e-16")
    return found


@pytest.mark.parametrize(("name", "step"), some(itertools.product(MODERATE, [0.02, 0.11, 0.5]), len(MODERATE)))
def test_order_principle(name, step):
    """phi is convex and psi is piecewise linear in t: checked on, beside and between knots, and beyond the ends."""
    pair, law, centre, scale = CASES[name]
    step *= scale
    low, high = max(pair.low, centre - 4 * scale), min(pair.high, centre + 5 * scale)
    rng = np.random.default_rng([ord(letter) for letter in name])
    spots = [*(rng.uniform(low - 2 * step, high + 2 * step, 12)), low - 1.0, high + 0.5, low, high, 0.0]
    found = check_order(pair, law, step, low, high, [float(x) for x in spots])
    knots = found.origin + step * (found.first + np.arange(found.upper.size))
    check_order(pair, law, step, low, high, [float(x) for x in knots[:: max(1, knots.size // 9)]])


@settings(max_examples=examples(40))
@given(
    name=st.sampled_from(MODERATE),
    step=st.floats(0.01, 2.0),
    left=st.floats(-6.0, -0.1),
    right=st.floats(0.1, 7.0),
    share=st.floats(-0.1, 1.1),
)
def test_order_principle_on_random_grids(name, step, left, right, share):
    pair, law, centre, scale = CASES[name]
    low, high = centre + left * scale, centre + right * scale
    check_order(pair, law, step * scale, low, high, [low + share * (high - low)])


@pytest.mark.parametrize("name", ["gaussian", "laplace", "poisson(0.5) gaussian remove", "poisson(0.5) gaussian add"])
def test_both_sides_are_second_order(name):
    """Halving the step quarters the gap of the mean profile error."""
    pair, _, centre, scale = CASES[name]
    low, high = max(pair.low, centre - 8 * scale), min(pair.high, centre + 8 * scale)
    gaps = []
    for step in (0.2, 0.1, 0.05):
        found = discretise(pair, step * scale, low, high)
        knots = found.origin + step * scale * (found.first + np.arange(found.upper.size))
        loss = centre + scale * 0.37
        sides = [(m * np.maximum(-np.expm1(loss - knots), 0.0)).sum() for m in (found.upper, found.lower)]
        gaps.append(sides[0] + found.revealed - sides[1])
    assert gaps[2] > 0
    assert gaps[1] < 0.45 * gaps[0]
    assert gaps[2] < 0.45 * gaps[1]


def test_atoms_on_the_grid_stay_where_they_are():
    pair, _, _, _ = CASES["response"]
    found = discretise(pair, 0.6, -0.6, 0.6)
    np.testing.assert_allclose(found.upper, found.lower, rtol=1e-12, atol=1e-300)
    assert found.revealed == 0.0


def test_mass_beyond_the_grid_is_revealed_or_floored():
    pair, law, _, _ = CASES["gaussian"]
    found = check_order(pair, law, 0.1, -0.5, 0.5, [-2.0, 0.0, 0.45, 0.8])
    assert found.revealed == pytest.approx(float(law.stick(0.6)), rel=0.3)
    assert found.upper.sum() + found.revealed == pytest.approx(1.0, abs=1e-9)


def naive_hull(mass, step):
    """The largest convex function below the knots' values, by all chords; returned as values at the knots.

    A measure on knots t_i has curve psi(t) = sum over i of m_i (1 - t/t_i)+, piecewise linear in t with value 0 at
    the last knot.
    """
    knots = np.exp(step * np.arange(mass.size))
    value = np.array([(mass * np.maximum(1 - t / knots, 0.0)).sum() for t in knots])
    hull = value.copy()
    for i in range(mass.size):
        for a in range(i + 1):
            for b in range(i, mass.size):
                if a < b:
                    share = (knots[i] - knots[a]) / (knots[b] - knots[a])
                    hull[i] = min(hull[i], value[a] + share * (value[b] - value[a]))
    return knots, hull


@settings(max_examples=examples(150))
@given(
    masses=st.lists(st.floats(-0.3, 1.0), min_size=3, max_size=9),
    step=st.sampled_from([0.01, 0.2, 1.0]),
)
def test_convex_is_the_lower_hull(masses, step):
    mass = np.array(masses)
    mass[0], mass[-1] = abs(mass[0]), abs(mass[-1])
    knots, hull = naive_hull(mass, step)
    found = convex(mass, step)
    value = np.array([(found * np.maximum(1 - t / knots, 0.0)).sum() for t in knots])
    assert (found[1:-1] >= -1e-12).all()
    scale = 1e-9 * (1 + np.abs(mass).sum())
    assert (value[1:] <= hull[1:] + scale).all()
    if (found >= 0).all() and found[0] > 0:  # nothing had to move at the left end: then it is exactly the hull
        np.testing.assert_allclose(value, hull, atol=scale)


def test_convex_moves_a_negative_left_end_to_the_safe_side():
    """(tau_1 - t)+ >= (tau_0 - t)+: less mass further right is still a lower curve."""
    mass = np.array([-0.125, 0.75, 0.25])
    found = convex(mass, 0.5)
    assert (found >= 0).all()
    knots = np.exp(0.5 * np.arange(3))
    for t in (0.2, 0.9, 1.2, 1.5, 2.0):
        after, before = ((m * np.maximum(1 - t / knots, 0.0)).sum() for m in (found, mass))
        assert after <= before + 1e-15


def test_empty_continuous_parts_cost_nothing():
    pair, _, _, _ = CASES["finite"]
    found = discretise(pair, 0.25, pair.low, pair.high)
    assert math.fsum(found.upper) + found.revealed == pytest.approx(1 - pair.reveal, abs=1e-12)
