"""Tilts: the search finds what it is asked for, estimates land where they should."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.truth.closed import gaussian_delta

from quiltwork.compose.engines.characteristic import ContourEngine
from quiltwork.compose.engines.closed import GaussianEngine
from quiltwork.compose.engines.views.solve import (
    STEEPEST_TILT,
    inner_tilt,
    inner_tilt_for_complement,
    landmarks,
    search,
    tilt_for_delta,
    tilt_for_epsilon,
)
from quiltwork.losses.families.laplace import LaplacePair
from quiltwork.losses.families.pure import response_pair


@given(target=st.floats(-12.0, 12.0), start=st.floats(1e-3, 10.0))
def test_search_inverts_a_falling_function(target, start):
    """-log theta falls: the answer is e^-target, never left of the start."""
    found = search(lambda theta: -np.log(theta), target, start)
    assert math.log(found) == pytest.approx(max(-target, math.log(start)), abs=0.05)


def test_search_stops_at_the_steepest_tilt():
    assert search(lambda theta: np.full(theta.shape, 1.0), 0.0, 0.5) >= STEEPEST_TILT
    assert search(lambda theta: np.full(theta.shape, -1.0), 0.0, 0.5) == 0.5


def test_search_survives_overflow_to_nan_and_infinity():
    with np.errstate(all="ignore"):
        found = search(lambda theta: np.where(theta > 3.0, np.nan, 5.0 - theta), 0.0, 0.1)
    assert math.isfinite(found)
    assert 0.1 <= found <= 30.0


@pytest.mark.parametrize("mu", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("epsilon", [3.0, 10.0])
def test_tilts_for_epsilon_have_that_mean(mu, epsilon):
    engine = GaussianEngine(mu)
    theta = tilt_for_epsilon(engine, landmarks(engine), epsilon)
    wanted = epsilon / mu**2 - 0.5
    if wanted > 0.8 / mu:
        assert theta == pytest.approx(wanted, rel=0.1)
    else:
        assert theta == pytest.approx(0.8 / mu)


@pytest.mark.parametrize("mu", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-12, 1e-100])
def test_tilts_for_delta_lead_to_that_delta(mu, delta):
    """The mean of the tilted law is an epsilon whose delta is about the one that was asked for."""
    engine = GaussianEngine(mu)
    theta = tilt_for_delta(engine, landmarks(engine), math.log(delta))
    at = float(engine.moments(np.array([theta]))[1][0])
    assert math.log(gaussian_delta(mu, at)) == pytest.approx(math.log(delta), abs=0.15 * -math.log(delta) + 1)


def test_inner_tilts_stay_inside_the_strip_and_follow_their_target():
    engine = ContourEngine.of([(LaplacePair(1.0), 60)])
    assert engine is not None
    place = landmarks(engine)
    assert place.split
    tilts = [inner_tilt(engine, place, e) for e in np.linspace(place.mirror - 50, place.mean + 50, 15)]
    assert all(-1 < t < 0 for t in tilts)
    assert tilts == sorted(tilts)
    assert inner_tilt(engine, place, 0.0) == pytest.approx(-0.5, abs=1e-6)  # symmetric law
    levels = [inner_tilt_for_complement(engine, place, c) for c in (-60.0, -20.0, -5.0, -1.0, -0.1)]
    assert all(-1 < t < 0 for t in levels)
    assert levels == sorted(levels)


def test_landmarks_of_a_symmetric_law():
    engine = ContourEngine.of([(response_pair(0.3), 10)])
    assert engine is not None
    place = landmarks(engine)
    assert place.mirror == pytest.approx(-place.mean)
    assert place.mean == pytest.approx(10 * 0.3 * math.tanh(0.15))
    assert place.spread == pytest.approx(math.sqrt(10 * 0.09 * (1 - math.tanh(0.15) ** 2)))
    assert not place.split
