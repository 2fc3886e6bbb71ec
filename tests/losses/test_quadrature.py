"""Gauss-Legendre panels: the promised error against the true one."""

import math

import numpy as np
import pytest
from tests.losses.laws import mp

from quiltwork.losses.transforms.transform import panel_rule, panels_needed


@pytest.mark.parametrize("panels", [1, 2, 8])
def test_weights_measure_the_interval_and_its_polynomials(panels):
    x, log_weight = panel_rule(2.5, panels)
    weight = np.exp(log_weight)
    assert weight.sum() == pytest.approx(5.0, rel=1e-14)
    assert weight @ x == pytest.approx(0.0, abs=1e-13)
    assert weight @ x**6 == pytest.approx(2 * 2.5**7 / 7, rel=1e-13)
    assert (np.diff(x) > 0).all()
    assert abs(x).max() < 2.5


@pytest.mark.parametrize(
    ("tilt", "frequency", "top"), [(0.5, 3.0, 1.0), (-4.0, 40.0, 3.0), (20.0, 0.0, 2.0), (1.0, 400.0, 0.5)]
)
@pytest.mark.parametrize("target", [-2.0, -12.0, -30.0])
def test_the_promised_error_holds(tilt, frequency, top, target):
    """f = e^((tilt + i frequency) x): its size on an ellipse is known, and so is its integral."""

    def log_bound(centres, radius, along, across):
        return tilt * centres + abs(tilt) * along + frequency * across

    size = abs(tilt) * top
    panels, log_error = panels_needed(top, log_bound, target + size, 1 << 12)
    x, log_weight = panel_rule(top, panels)
    z = mp.mpc(tilt, frequency)
    true = 2 * mp.sinh(z * top) / z
    found = mp.fsum(mp.exp(mp.mpf(w) + z * mp.mpf(t)) for t, w in zip(x.tolist(), log_weight.tolist(), strict=True))
    assert abs(found - true) <= mp.exp(log_error) + 1e-13 * mp.exp(size)
    assert log_error <= target + size


def test_the_limit_on_panels_is_kept_and_reported():
    panels, log_error = panels_needed(1.0, lambda c, r, along, across: 1e4 * across + 0.0 * c, -30.0, 4)
    assert panels == 4
    assert log_error > -30.0


def test_nothing_is_promised_where_the_function_is_not_analytic():
    panels, log_error = panels_needed(1.0, lambda c, r, along, across: np.full(c.shape, np.inf), -30.0, 8)
    assert panels == 8
    assert math.isinf(log_error)
