"""Inversion of certified monotone functions, against views whose inverse is known."""

import math

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.truth.closed import gaussian_delta
from tests.truth.numbers import mp

from quiltwork.compose.engines.closed import GaussianEngine
from quiltwork.compose.engines.engine import Logs
from quiltwork.compose.engines.views.solve import enclosures, roots


@attrs.frozen
class Line:
    """log D = -slope (x - at), or log C = slope (x - at), known to a constant error."""

    theta: float
    slope: float
    at: float
    error: float
    centre: float = 0.0
    spread: float = 1.0

    def middle(self, epsilon):
        return self.logs(epsilon).middle

    def logs(self, epsilon):
        value = (-self.slope if self.theta > 0 else self.slope) * (epsilon - self.at)
        return Logs(value, value - self.error, value + self.error)


lines = st.builds(
    Line,
    theta=st.sampled_from([1.0, -0.5]),
    slope=st.floats(0.05, 30.0),
    at=st.floats(-50.0, 50.0),
    error=st.floats(0.0, 0.1),
)


@given(line=lines, targets=st.lists(st.floats(-40.0, 40.0), min_size=1, max_size=5))
def test_roots_of_a_line(line, targets):
    found, slope = roots(line, np.array(targets))
    sign = -1.0 if line.theta > 0 else 1.0
    np.testing.assert_allclose(found, line.at + sign * np.array(targets) / line.slope, rtol=1e-9, atol=1e-9)
    assert (slope < 0).all()  # heights are oriented to fall


@given(line=lines, targets=st.lists(st.floats(-40.0, 40.0), min_size=1, max_size=5))
def test_enclosures_are_certified_and_tight(line, targets):
    target = np.array(targets)
    lower, upper = enclosures(line, target, target)
    if line.theta > 0:
        assert (line.logs(upper).high <= target).all()
        assert (line.logs(lower).low >= target).all()
    else:
        assert (line.logs(upper).low >= target).all()
        assert (line.logs(lower).high <= target).all()
    assert (lower <= upper).all()
    assert (upper - lower <= 6 * line.error / line.slope + 1e-6).all()


@given(line=lines, target=st.floats(-20.0, 20.0), gap=st.floats(0.0, 1.0))
def test_strict_and_loose_targets(line, target, gap):
    """The upper end meets the stricter target, the lower end the looser one."""
    away = -gap if line.theta > 0 else gap
    lower, upper = enclosures(line, np.array([target + away]), np.array([target - away]))
    logs_up, logs_low = line.logs(upper), line.logs(lower)
    if line.theta > 0:
        assert logs_up.high[0] <= target - gap
        assert logs_low.low[0] >= target + gap
    else:
        assert logs_up.low[0] >= target + gap
        assert logs_low.high[0] <= target - gap


def test_no_certificate_no_end():
    """A function that never falls below the target has no upper end; one that never reaches it, no lower."""
    flat = Line(1.0, 1e-300, 0.0, 0.0)
    lower, upper = enclosures(flat, np.array([-1.0]), np.array([1.0]))
    assert math.isinf(upper[0]) or flat.logs(upper).high[0] <= -1.0
    assert math.isinf(lower[0]) or flat.logs(lower).low[0] >= 1.0


@pytest.mark.parametrize("mu", [0.01, 1.0, 20.0])
def test_vectors_of_gaussian_deltas(mu):
    deltas = np.array([0.3, 1e-3, 1e-12, 1e-100, 1e-280])
    view = GaussianEngine(mu).everywhere(False)
    lower, upper = enclosures(view, np.log(deltas), np.log(deltas))
    for i, delta in enumerate(deltas.tolist()):
        if math.isfinite(lower[i]):
            assert gaussian_delta(mu, lower[i]) >= mp.mpf(delta) * (1 - mp.mpf("1e-15"))
        assert gaussian_delta(mu, upper[i]) <= mp.mpf(delta) * (1 + mp.mpf("1e-15"))
        assert upper[i] - lower[i] <= 1e-9 * (abs(upper[i]) + mu)
