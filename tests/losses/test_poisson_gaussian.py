"""The work horse of DP-SGD: its spectrum against a trapezoid rule in longer doubles and in 50 digits."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.losses import laws
from tests.losses.laws import mp
from tests.truth.remembered import Remembered

from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.poisson import PoissonPair
from quiltwork.losses.transforms.poisson_gaussian import PoissonGaussianTransform
from quiltwork.losses.transforms.transform import TooCostly

TRUTHS = Remembered(__file__)


@settings(max_examples=examples(60))
@given(
    mu=st.floats(0.05, 8.0),
    rate=st.one_of(st.floats(1e-6, 0.02), st.floats(0.02, 0.999999)),
    removed=st.booleans(),
    theta=st.one_of(st.floats(-0.97, -0.03), st.floats(0.02, 6.0)),
    reach=st.floats(0.2, 12),
    count=st.sampled_from([1, 100]),
)
def test_random_subsampled_gaussian_spectra(mu, rate, removed, theta, reach, count):
    transform = PoissonPair(GaussianPair(mu), rate, removed).transform(count)
    spread = math.sqrt(float(transform.moments(np.array([theta]))[2][0]) / count)
    frequencies = np.linspace(0.0, min(reach / max(spread, 1e-6), 500.0), 20)
    try:
        found = transform.spectrum(theta, frequencies)
    except TooCostly:
        found = None
    assume(found is not None)
    phi, log_mgf = laws.Poisson(laws.Gaussian(mu), rate, removed).phi(theta, frequencies)
    assert abs(found.log_mgf - count * log_mgf) <= found.log_mgf_error + 1e-18 * count * (1 + abs(log_mgf))
    for j in (1, 9, 19):
        true = count * np.log(phi[j])
        error = float(found.log_phi_error[j])
        if error < 0.1:
            distance = found.log_phi[j] - true
            turns = np.round(distance.imag / (2 * np.pi)) * 2 * np.pi
            assert abs(distance - 1j * turns) <= error * (1 + error) + 1e-17 * count * float(frequencies[j]) * spread


def test_batched_subsampled_gaussians_keep_their_promise():
    """The recursion over frequencies, against each row on its own in 40 digits."""
    rows = [(0.8, 0.01, 10.0), (1.1, 0.2, 3.0), (2.5, 1e-4, 200.0), (0.6, 0.95, 1.0)]
    table = np.array(rows)
    for removed in (True, False):
        transform = PoissonGaussianTransform(table[:, 0], table[:, 1], table[:, 2], removed)
        for theta in (-0.4, 2.0):
            frequencies = np.linspace(0.0, 6.0, 61)
            found = transform.spectrum(theta, frequencies)
            assert found is not None
            parts = [(laws.Poisson(laws.Gaussian(1 / mp.mpf(s)), q, removed), k) for s, q, k in rows]
            log_mgf = mp.fsum(k * mp.log(law.mgf(mp.mpf(theta))) for law, k in parts)
            assert abs(found.log_mgf - log_mgf) <= found.log_mgf_error < 1e-10
            for j in (5, 60):
                z = mp.mpc(theta, float(frequencies[j]))
                true = mp.exp(mp.fsum(k * mp.log(law.mgf(z)) for law, k in parts) - log_mgf)
                value = mp.exp(mp.mpc(complex(found.log_phi[j])))
                assert abs(value - true) <= abs(value) * mp.expm1(float(found.log_phi_error[j]))


@pytest.mark.parametrize("mu", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("rate", [1e-4, 0.3, 0.99])
@pytest.mark.parametrize("removed", [True, False])
@pytest.mark.parametrize("theta", [-0.95, -0.5, -0.05])
def test_left_of_zero_no_mass_is_forgotten(mu, rate, removed, theta):
    """The tilted density and P itself live far apart when mu is large; log M needs both ends."""
    found = PoissonPair(GaussianPair(mu), rate, removed).transform(1).spectrum(theta, np.array([0.0, 0.5]))
    assert found is not None
    law = laws.Poisson(laws.Gaussian(mu), rate, removed)
    true = TRUTHS(f"{mu} {rate} {removed} {theta}", lambda: mp.log(law.mgf(mp.mpf(theta))))
    assert abs(found.log_mgf - true) <= found.log_mgf_error
    assert found.log_mgf_error < 1e-11


def test_the_reference_itself():
    """The fast reference agrees with the slow one."""
    law = laws.Poisson(laws.Gaussian(1.25), 0.2, True)
    phi, log_mgf = law.phi(0.7, np.array([0.0, 3.0, 11.0]))
    base = law.mgf(mp.mpf(0.7))
    assert abs(mp.mpf(str(log_mgf)) - mp.log(base)) < mp.mpf("1e-17")
    for value, u in zip(phi, (0.0, 3.0, 11.0), strict=True):
        true = law.mgf(mp.mpc(0.7, u)) / base
        assert abs(mp.mpc(str(value.real), str(value.imag)) - true) < mp.mpf("1e-17")


def test_too_many_nodes_are_declined():
    """A steep tilt of narrow noise: more nodes than it is worth."""
    transform = PoissonPair(GaussianPair(50.0), 0.5, True).transform(1)
    with pytest.raises(TooCostly):
        transform.moments(np.array([1e7]))
