"""Discrete Gaussians on one period of their lattice: against all sums in many digits, and the line where it is fine."""

import math

import numpy as np
import pytest
from tests.losses.laws import mp
from tests.truth import closed, convolution

import quiltwork as qw
from quiltwork.compose.engines.periodic import PeriodicEngine
from quiltwork.losses.families.discrete import DiscreteGaussianPair
from quiltwork.losses.transforms.discrete_gaussian import DiscreteGaussianTransform

CASES = [(0.3, 1, 5), (0.7, 1, 10), (1.0, 1, 4), (3.0, 2, 20), (5.0, 1, 50), (2.5, 7, 3), (11.3, 3, 1)]


@pytest.mark.parametrize(("sigma", "sensitivity", "count"), CASES)
def test_every_sum_of_values(sigma, sensitivity, count):
    law = convolution.lattice(*convolution.discrete_gaussian(mp.mpf(repr(sigma)), sensitivity), count)
    engine = PeriodicEngine.of([(DiscreteGaussianPair(sigma, sensitivity), max(count, 2))])
    assert engine is not None
    loss = count * qw.discrete_gaussian(sigma, sensitivity)
    for delta in (0.3, 1e-5, 1e-30):
        found = loss.epsilon(delta)
        assert law.delta(found.upper) <= delta
        assert found.lower == 0 or law.delta(found.lower * (1 - 1e-15)) >= delta
        assert found.relative_width < 1e-10
    mean = count * (sensitivity / sigma) ** 2 / 2
    spread = math.sqrt(2 * mean)
    for epsilon in (-0.5 * spread, 0.0, mean, mean + 3 * spread):
        assert law.delta(epsilon) in loss.delta(epsilon)


@pytest.mark.parametrize(
    ("sigma", "sensitivity", "count"), [(1e6, 1, 1), (1e6, 1, 100), (5000.0, 3, 100), (2e4, 999, 7)]
)
def test_wide_noise_is_that_of_the_line(sigma, sensitivity, count):
    """D is linear in e^eps between losses b apart and that of the line, up to (1 + z^2) / sigma^2, at them."""
    loss, mu = count * qw.discrete_gaussian(sigma, sensitivity), mp.sqrt(count) * sensitivity / mp.mpf(sigma)
    for place in (0.0, 0.5, 2.0, 6.0):
        epsilon = float(mu) * place
        found, line = loss.delta(epsilon), closed.gaussian_delta(mu, mp.mpf(epsilon))
        assert found.relative_width < 1e-6
        room = line * 4 * (1 + place**2) / mp.mpf(sigma) ** 2 * (1 + sensitivity**2)
        assert found.lower - room <= line <= found.upper + room


@pytest.mark.parametrize(("sigma", "sensitivity"), [(0.3, 1), (0.45, 3), (1.2, 2), (4.0, 1)])
@pytest.mark.parametrize("theta", [-0.4, 0.7, 6.3])
def test_the_transform_is_that_of_the_law_beyond_its_period_too(sigma, sensitivity, theta):
    transform = DiscreteGaussianTransform(sigma, sensitivity, 3)
    origin, step, masses = convolution.discrete_gaussian(mp.mpf(repr(sigma)), sensitivity, 600)
    u = np.array([0.0, 0.1, 0.6, 0.97, 1.3, 2.0, 5.4]) * transform.reach
    found = transform.spectrum(theta, u)

    def mgf(z):
        return mp.fsum(mass * mp.exp(z * (origin + step * n)) for n, mass in enumerate(masses))

    base = mgf(mp.mpf(theta))
    assert abs(found.log_mgf - 3 * mp.log(base)) <= found.log_mgf_error
    for value, error, at in zip(found.log_phi, found.log_phi_error, u, strict=True):
        true = (mgf(mp.mpc(theta, float(at))) / base) ** 3
        size = mp.exp(mp.mpf(float(value.real)))
        assert abs(mp.exp(mp.mpc(complex(value))) - true) <= size * mp.expm1(float(error)) + mp.mpf("1e-40")
    bound = transform.decay(theta)(u[:4])
    for i in range(4):
        assert mp.log(abs((mgf(mp.mpc(theta, float(u[i]))) / base) ** 3)) <= bound[i]


def test_ten_different_noises_beside_each_other():
    """Lattices that do not agree: smoothed by less than a step."""
    sigmas = [900.0 + 137.3 * i for i in range(10)]
    found = qw.compose(*(qw.discrete_gaussian(s, 40) for s in sigmas)).epsilon(1e-6)
    line = qw.gaussian(1 / math.sqrt(sum((40 / s) ** 2 for s in sigmas))).epsilon(1e-6)
    assert found.relative_width < 1e-3
    assert found.upper == pytest.approx(line.upper, rel=1e-4)
