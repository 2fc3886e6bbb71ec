"""Moment generating functions against 40-digit ones: steering, certified spectra, the decay truncation trusts."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.losses import laws
from tests.losses.laws import mp
from tests.truth.remembered import Remembered

from quiltwork.losses.families.discrete import DiscreteGaussian, DiscreteLaplace
from quiltwork.losses.families.finite import from_laws
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.laplace import LaplacePair
from quiltwork.losses.families.mixture import mixed_pair
from quiltwork.losses.families.poisson import PoissonPair
from quiltwork.losses.families.pure import response_pair
from quiltwork.losses.transforms.poisson_gaussian import PoissonGaussianTransform
from quiltwork.losses.transforms.transform import layer_cake, layered_decay, log_one_plus, no_decay, sinc_envelope

TRUTHS = Remembered(__file__)
P, Q = [0.25, 0.0, 0.125, 0.5, 0.125], [0.125, 0.25, 0.25, 0.375, 0.0]


SMOOTH = {
    "gaussian": (GaussianPair(0.7), laws.Gaussian(0.7)),
    "gaussian narrow": (GaussianPair(1e-3), laws.Gaussian(1e-3)),
    "laplace": (LaplacePair(0.7), laws.Laplace(0.7)),
    "laplace wide": (LaplacePair(12.0), laws.Laplace(12.0)),
    "poisson gaussian remove": (
        PoissonPair(GaussianPair(1.25), 0.01, True),
        laws.Poisson(laws.Gaussian(1.25), 0.01, True),
    ),
    "poisson gaussian add": (
        PoissonPair(GaussianPair(1.25), 0.01, False),
        laws.Poisson(laws.Gaussian(1.25), 0.01, False),
    ),
    "poisson gaussian often": (
        PoissonPair(GaussianPair(0.5), 0.999, False),
        laws.Poisson(laws.Gaussian(0.5), 0.999, False),
    ),
    "poisson gaussian rarely": (
        PoissonPair(GaussianPair(2.0), 1e-6, True),
        laws.Poisson(laws.Gaussian(2.0), 1e-6, True),
    ),
    "poisson laplace remove": (PoissonPair(LaplacePair(1.5), 0.2, True), laws.Poisson(laws.Laplace(1.5), 0.2, True)),
    "poisson laplace add": (PoissonPair(LaplacePair(1.5), 0.2, False), laws.Poisson(laws.Laplace(1.5), 0.2, False)),
    "mixture": (
        mixed_pair([(0.25, LaplacePair(0.7)), (0.5, GaussianPair(0.5)), (0.25, response_pair(0.6, 0.125))]),
        laws.Mixture([(0.25, laws.Laplace(0.7)), (0.5, laws.Gaussian(0.5)), (0.25, laws.response(0.6, 0.125))]),
    ),
}
ATOMS = {
    "response": (response_pair(0.6), laws.response(0.6)),
    "response with a reveal": (response_pair(0.6, 0.125), laws.response(0.6, 0.125)),
    "finite": (from_laws(np.array(P), np.array(Q)), laws.Finite(P, Q)),
    "discrete gaussian": (DiscreteGaussian(1.5).pairs()["both"], laws.discrete_gaussian(1.5)),
    "discrete laplace": (DiscreteLaplace(1.25, 3).pairs()["both"], laws.discrete_laplace(1.25, 3)),
    "poisson response": (response_pair(0.6, 0.125).subsampled(0.25), laws.Poisson(laws.response(0.6, 0.125), 0.25)),
    "poisson response often": (
        response_pair(8.0).subsampled(0.99999).swapped(),
        laws.Poisson(laws.response(8.0), 0.99999, False),
    ),
}
EVERY = {**SMOOTH, **ATOMS}
TILTS = (-0.93, -0.5, -0.07, 0.04, 0.9, 6.0, 30.0)


def tilts_for(name):
    """Tilts at which the naive quadrature is still good to 30 digits."""
    return [t for t in TILTS if t < 10 or "poisson gaussian" not in name]


def check_spectrum(transform, law, count, theta, frequencies, which):
    """Every claim of one spectrum: log M, and phi at some of its frequencies."""
    found = transform.spectrum(theta, frequencies)
    assert found is not None
    base = law.mgf(mp.mpf(theta))
    assert abs(found.log_mgf - count * mp.log(base)) <= found.log_mgf_error
    assert found.log_mgf_error <= 1e-9 * (1 + count) * (1 + abs(found.log_mgf) / count)
    sharp = 0
    for j in which:
        one = law.mgf(mp.mpc(theta, float(frequencies[j]))) / base
        true = mp.exp(count * mp.log(one))
        value = mp.exp(mp.mpc(complex(found.log_phi[j])))
        # what the contour makes of the bound: |phi| (e^error - 1)
        error = float(found.log_phi_error[j])
        assert abs(value - true) <= abs(value) * mp.expm1(min(error, 600.0)) + mp.mpf("1e-320")
        sharp += error < 1e-6
    return sharp


@pytest.mark.parametrize("name", EVERY)
def test_spectrum_keeps_its_promise(name):
    pair, law = EVERY[name]
    rng = np.random.default_rng([ord(letter) for letter in name])
    sharp = 0
    for theta in tilts_for(name):
        count = int(rng.choice([1, 3, 40, 1_000_000]))
        transform = pair.transform(count)
        spread = math.sqrt(float(transform.moments(np.array([theta]))[2][0]) / count)
        top = min(500.0 if "gaussian" not in name else 120.0, float(rng.choice([2.0, 6.0, 30.0])) / max(spread, 1e-6))
        frequencies = np.linspace(0.0, top, 30)
        sharp += check_spectrum(transform, law, count, theta, frequencies, [1, 29])
    assert sharp > 5


@pytest.mark.parametrize("top", [60.0, 133.35, 300.0, 534.6620305711268])
@pytest.mark.parametrize("theta", [-0.7, -0.5, 0.02, 0.125, 2.0])
def test_wide_laplace_spectra(top, theta):
    """Masses of e^-500: their logarithms are rounded too."""
    frequencies = np.linspace(0.0, 4.0 / top, 12)
    check_spectrum(LaplacePair(top).transform(3), laws.Laplace(top), 3, theta, frequencies, [1, 11])


@settings(max_examples=examples(25))
@given(
    top=st.floats(-3, 2.2),
    theta=st.one_of(st.floats(-0.98, -0.02), st.floats(0.01, 30)),
    reach=st.floats(0.1, 60),
    count=st.sampled_from([1, 7, 1000, 10**6]),
)
def test_random_laplace_spectra(top, theta, reach, count):
    """Closed form on the other side, so any width may be tried: also 158, where e^(theta L) underflows."""
    top = 10**top
    transform, law = LaplacePair(top).transform(count), laws.Laplace(top)
    spread = math.sqrt(float(transform.moments(np.array([theta]))[2][0]) / count)
    frequencies = np.linspace(0.0, min(reach / max(spread, 1e-6), 500.0), 20)
    assume(transform.spectrum(theta, frequencies) is not None)
    check_spectrum(transform, law, count, theta, frequencies, [1, 7, 19])


@pytest.mark.parametrize("name", EVERY)
def test_moments_are_the_logarithm_and_its_derivatives(name):
    pair, law = EVERY[name]
    theta = np.array(tilts_for(name)[:6])
    for count in (1, 12):
        log_mgf, mean, variance = pair.transform(count).moments(theta)
        for i, at in enumerate(theta.tolist()):
            step = mp.mpf("1e-8")
            left, here, right = (mp.log(law.mgf(mp.mpf(at) + s)) for s in (-step, 0, step))
            assert log_mgf[i] == pytest.approx(float(count * here), rel=1e-9, abs=1e-12)
            assert mean[i] == pytest.approx(float(count * (right - left) / (2 * step)), rel=1e-6, abs=1e-9)
            true = float(count * (right - 2 * here + left) / step**2)
            assert variance[i] == pytest.approx(true, rel=1e-5, abs=1e-12)


def log_phi(law, theta, frequency):
    """log |phi| at one tilt and frequency."""
    return mp.log(abs(law.mgf(mp.mpc(theta, frequency)) / law.mgf(mp.mpf(theta))))


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("theta", [-0.6, 0.3, 4.0])
def test_decay_bounds_phi_on_all_larger_frequencies(name, theta):
    """A dense grid of frequencies by the transform's own nodes (already certified), from U to 12 U."""
    pair, law = SMOOTH[name]
    transform = pair.transform(1)
    bound = transform.decay(theta)
    spread = math.sqrt(float(transform.moments(np.array([theta]))[2][0]))
    for reach in (0.3, 1.5, 4.0):
        cutoff = reach / spread
        allowed = float(bound(np.array([cutoff]))[0])
        assert allowed <= 0.0
        found = transform.spectrum(theta, np.linspace(0.0, min(12 * cutoff, 3000.0), 400))
        assert found is not None
        beyond = np.linspace(0.0, min(12 * cutoff, 3000.0), 400) >= cutoff
        phi = np.exp(found.log_phi.real) * np.exp(-np.minimum(found.log_phi_error, 700.0))
        assert (phi[beyond] <= math.exp(allowed) * (1 + 1e-12)).all()
        if cutoff < 120:  # the naive quadrature grows with the frequency
            true = TRUTHS(f"{name} {theta} {cutoff!r}", partial(log_phi, law, theta, cutoff))
            assert true <= allowed + mp.mpf("1e-12")


@pytest.mark.parametrize("name", ["gaussian", "laplace wide", "poisson gaussian add", "poisson laplace remove"])
def test_decay_falls_and_multiplies_with_the_count(name):
    pair, _ = SMOOTH[name]
    cutoffs = np.geomspace(0.1, 200.0, 40) / math.sqrt(float(pair.transform(1).moments(np.array([0.5]))[2][0]))
    once, often = pair.transform(1).decay(0.5)(cutoffs), pair.transform(50).decay(0.5)(cutoffs)
    assert (np.diff(once) <= 1e-12).all()
    np.testing.assert_allclose(often, 50 * once, rtol=1e-9, atol=1e-12)
    assert once[-1] < -0.3  # it does decay


@pytest.mark.parametrize("name", ATOMS)
def test_atoms_promise_no_decay(name):
    pair = ATOMS[name][0]
    transform = pair.transform(7)
    bound = transform.decay(0.5)
    assert no_decay(np.array([3.0]))[0] == 0.0
    if not math.isfinite(transform.reach):
        assert (bound(np.array([0.1, 10.0, 1e6])) == 0).all()
        return
    # losses on a lattice: up to half a period what is promised holds of everything that follows
    at = np.linspace(0.0, transform.reach, 200)
    weights = pair.p * np.exp(0.5 * pair.losses)
    sizes = np.abs(np.exp(1j * np.outer(at, pair.losses)) @ weights) / weights.sum()
    following = np.maximum.accumulate(sizes[::-1])[::-1]
    seen = following > 1e-12  # below, the sum is noise
    assert (bound(at) >= 7 * np.log(following) - 1e-9)[seen].all()
    assert seen.sum() > 20


def test_sinc_envelope_is_the_running_supremum():
    x = np.linspace(0.0, 40.0, 40_001)
    sinc = np.abs(np.sinc(x / np.pi))
    supremum = np.maximum.accumulate(sinc[::-1])[::-1]
    envelope = sinc_envelope(x)
    assert (envelope >= supremum - 1e-12).all()
    assert (envelope <= np.maximum(1.02 * supremum, 1.0 / np.maximum(x, 1.0)) + 1e-6).all()


@settings(max_examples=examples(60))
@given(
    heights=st.lists(st.floats(0.0, 1.0), min_size=2, max_size=12),
    widths=st.lists(st.floats(0.01, 1.0), min_size=12, max_size=12),
    reach=st.floats(0.1, 60.0),
)
def test_layer_cake_bounds_the_transform_of_any_step_density(heights, widths, reach):
    """The whole law is the step function itself, so phi is a finite sum of sincs."""
    width = np.array(widths[: len(heights)])
    mass = np.array(heights) * width
    assume(mass.sum() > 1e-3)
    density = np.array(heights) / mass.sum()
    edges = np.concatenate(([0.0], np.cumsum(width)))
    weights, lengths = layer_cake(width, density)
    assert (weights >= -1e-15).all()
    assert weights.sum() <= 1 + 1e-12
    allowed = math.exp(float(layered_decay(weights, lengths, 1.0)(np.array([reach]))[0]))
    for u in reach * np.array([1.0, 1.01, 1.3, 2.0, 3.7, 9.0]):
        pieces = (np.exp(1j * u * edges[1:]) - np.exp(1j * u * edges[:-1])) / (1j * u)
        assert abs((density * pieces).sum()) <= allowed * (1 + 1e-9) + 1e-12


def test_the_decay_of_a_batch_is_that_of_its_rows():
    rows = np.array([[0.8, 0.01, 30.0], [1.5, 0.2, 4.0], [0.4, 0.05, 2.0]]).T
    cutoffs = np.geomspace(0.1, 300.0, 25)
    for removed in (True, False):
        together = PoissonGaussianTransform(*rows, removed).decay(0.7)(cutoffs)
        alone = [PoissonGaussianTransform(*rows[:, i : i + 1], removed).decay(0.7)(cutoffs) for i in range(3)]
        assert np.all(together >= sum(alone) - 0.12 * np.abs(sum(alone)) - 1e-9)  # fewer cells: a little weaker
        assert np.all(together <= 0.25 * sum(alone))


def test_layer_cake_of_a_uniform_is_that_uniform():
    weights, lengths = layer_cake(np.array([0.5, 0.5, 1.0]), np.full(3, 0.5))
    bound = layered_decay(weights, lengths, 1.0)
    assert weights.sum() == pytest.approx(1.0)
    assert math.exp(float(bound(np.array([1.0]))[0])) == pytest.approx(math.sin(1.0), rel=1e-9)


@given(real=st.floats(-0.9, 2.0), imaginary=st.floats(-2.0, 2.0))
def test_log_one_plus(real, imaginary):
    found = log_one_plus(np.array([real]), np.array([imaginary]))[0]
    true = mp.log(1 + mp.mpc(real, imaginary))
    assert abs(mp.mpc(complex(found)) - true) <= 1e-14 * (1 + abs(true))


@pytest.mark.parametrize("size", [1e-9, 1e-13, 1e-200])
def test_log_one_plus_keeps_small_things(size):
    found = log_one_plus(np.array([-size]), np.array([size]))[0]
    assert found.real == pytest.approx(-size, rel=1e-8)
    assert found.imag == pytest.approx(size, rel=1e-8)


@pytest.mark.parametrize("count", [1, 10**8])
@pytest.mark.parametrize("name", ["finite", "laplace", "sampled laplace", "sampled gaussian", "mixture"])
def test_log_moments_are_off_by_no_more_than_they_say(name, count):
    """Chernoff's bounds and alias bounds take the error of each release as often as it occurs."""
    pair, law = {
        "finite": (DiscreteGaussian(1.5).pairs()["both"], laws.discrete_gaussian(1.5, 1)),
        "laplace": (LaplacePair(0.7), laws.Laplace(0.7)),
        "sampled laplace": (PoissonPair(LaplacePair(0.7), 0.01, True), laws.Poisson(laws.Laplace(0.7), 0.01)),
        "sampled gaussian": (PoissonPair(GaussianPair(1.2), 0.01, True), laws.Poisson(laws.Gaussian(1.2), 0.01)),
        "mixture": (
            mixed_pair([(0.25, LaplacePair(0.3)), (0.75, LaplacePair(0.7))]),
            laws.Mixture([(0.25, laws.Laplace(0.3)), (0.75, laws.Laplace(0.7))]),
        ),
    }[name]
    transform = pair.transform(count)
    theta = np.array([-0.5, 0.4, 3.0, 9.0])
    found = transform.moments(theta)[0]
    for value, tilt in zip(found.tolist(), theta.tolist(), strict=True):
        true = count * mp.log(law.mgf(mp.mpf(tilt)))
        assert abs(value - true) <= transform.moments_error + 8 * 2.0**-53 * abs(true)
    assert transform.moments_error < 1e-12 * count
