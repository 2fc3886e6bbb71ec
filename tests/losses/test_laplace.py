"""Laplace noise: the closed profile, its parameters, its groups."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.truth.closed import laplace_delta

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.laplace import Laplace, LaplacePair


@given(scale=st.floats(0.02, 500.0), share=st.floats(-1.5, 1.5))
def test_profile_in_closed_form(scale, share):
    top = Laplace(scale).epsilon
    assert laplace_delta(top, share * top) in qw.laplace(scale).delta(share * top)


@given(scale=st.floats(0.02, 500.0))
def test_pure_privacy_is_the_largest_loss(scale):
    top = Laplace(scale).epsilon
    found = qw.laplace(scale).epsilon(0.0)
    assert found.lower <= top <= found.upper
    assert found.relative_width < 1e-13


def test_one_release_at_a_delta():
    """1 - e^((eps - e)/2) = delta."""
    for delta in (1e-3, 0.1):
        assert 2.0 + 2 * math.log1p(-delta) in qw.laplace(0.5).epsilon(delta, rtol=1e-9)


def test_groups_scale_the_sensitivity():
    assert Laplace(2.0, 0.5).group(4) == Laplace(2.0, 2.0)


def test_cells_left_and_right_of_the_support_are_empty_and_silent():
    cells = LaplacePair(1.0).cells(np.array([-1000.0, -900.0, -0.5, 0.5, 900.0, 1000.0]))
    assert cells.mass[0] == cells.mass[-1] == 0.0
    assert np.isfinite(cells.stick).all()
    assert cells.mass.sum() + 0.5 + 0.5 * math.exp(-1.0) == pytest.approx(1.0, rel=1e-14)


def test_wide_losses_compose_silently():
    found = (10 * qw.laplace(1e-3)).epsilon(1e-5)
    assert 9.9e3 < found.lower <= found.upper <= 10_000.001


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "1", None, True, [1.0]])
def test_bad_parameters_are_named(bad):
    with pytest.raises(InvalidParameter, match=r"^scale must be"):
        qw.laplace(bad)
    with pytest.raises(InvalidParameter, match=r"^sensitivity must be"):
        qw.laplace(1.0, bad)
