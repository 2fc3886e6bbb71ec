"""Subsampled Laplace noise: its spectrum against a finer rule in 50 digits."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.losses import laws
from tests.losses.laws import mp

from quiltwork.losses.families.laplace import LaplacePair
from quiltwork.losses.families.poisson import PoissonPair


@settings(max_examples=examples(20))
@given(
    top=st.floats(0.01, 9.0),
    rate=st.one_of(st.floats(1e-6, 0.05), st.floats(0.05, 0.999999)),
    removed=st.booleans(),
    theta=st.one_of(st.floats(-0.97, -0.03), st.floats(0.02, 12.0)),
    reach=st.floats(0.2, 12.0),
    count=st.sampled_from([1, 50, 10**6]),
)
def test_random_spectra(top, rate, removed, theta, reach, count):
    transform = PoissonPair(LaplacePair(top), rate, removed).transform(count)
    spread = math.sqrt(float(transform.moments(np.array([theta]))[2][0]) / count)
    frequencies = np.linspace(0.0, min(reach / max(spread, 1e-6), 60.0), 12)
    found = transform.spectrum(theta, frequencies)
    assume(found is not None)
    law = laws.Poisson(laws.Laplace(top), rate, removed)
    base = law.mgf(mp.mpf(theta))
    assert abs(found.log_mgf - count * mp.log(base)) <= found.log_mgf_error
    for j in (1, 11):
        true = mp.exp(count * mp.log(law.mgf(mp.mpc(theta, float(frequencies[j]))) / base))
        value = mp.exp(mp.mpc(complex(found.log_phi[j])))
        error = min(float(found.log_phi_error[j]), 600.0)
        assert abs(value - true) <= abs(value) * mp.expm1(error) + mp.mpf("1e-320")


@pytest.mark.parametrize("removed", [True, False])
def test_high_frequencies_take_more_panels(removed):
    """phi at 500 still within its claim: the integrand turns 200 times across the support."""
    transform = PoissonPair(LaplacePair(1.5), 0.2, removed).transform(1)
    law = laws.Poisson(laws.Laplace(1.5), 0.2, removed)
    found = transform.spectrum(0.8, np.array([0.0, 250.0, 500.0]))
    assert found is not None
    for j, u in ((1, 250.0), (2, 500.0)):
        true = law.mgf(mp.mpc(0.8, u)) / law.mgf(mp.mpf(0.8))
        value = mp.exp(mp.mpc(complex(found.log_phi[j])))
        assert abs(value - true) <= abs(value) * mp.expm1(float(found.log_phi_error[j]))
        assert found.log_phi_error[j] < 1e-9


def test_rate_near_one_is_the_base():
    """At rate 1 - 1e-12 the transform is that of the Laplace mechanism to 1e-10."""
    base = LaplacePair(1.5).transform(1)
    theta = np.array([-0.5, 0.5, 3.0])
    for removed in (True, False):
        near = PoissonPair(LaplacePair(1.5), 1 - 1e-12, removed).transform(1)
        for one, two in zip(base.moments(theta), near.moments(theta), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-10)
