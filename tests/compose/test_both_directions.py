"""One table of nodes for both directions of sampled Gaussian noise: its errors, its order, and its answers."""

import math

import numpy as np
import pytest
from flint import acb, arb, ctx

import quiltwork as qw
from quiltwork.compose.accountant import both_directions
from quiltwork.compose.accountant.directions import SmallestEpsilon
from quiltwork.compose.releases import directed
from quiltwork.losses.transforms.sampled_gaussian import Line, SampledGaussian


def releases(sigma, rate, count, sides=("remove", "add")):
    pairs = directed((count * qw.poisson(qw.gaussian(sigma), rate)).parts)
    return [pairs[side] for side in sides]


def log_moment(sigma, rate, zeta, far):
    """log E w^zeta by Arb, of numbers as doubles."""
    s, q, power = arb(sigma), arb(rate), acb(*zeta)

    def density(x, _):
        return (-x * x / 2).exp() * (1 - q + q * (x / s - 1 / (2 * s * s)).exp()).log().__mul__(power).exp()

    return (acb.integral(density, -14, far) / (2 * arb.pi()).sqrt()).log()


@pytest.mark.parametrize(("sigma", "rate", "count"), [(0.8, 0.01, 10_000), (1.0, 0.001, 100_000), (2.5, 0.3, 40)])
def test_spectra_are_off_by_their_errors_at_most(sigma, rate, count):
    ctx.dps = 40
    table = SampledGaussian(sigma, rate, count)
    theta = np.array([0.7, 3.1])
    removed, added = table.moments(theta)
    lines = [Line(True, 3.1, removed[0][1] / count), Line(False, 0.7, added[0][0] / count)]
    u = 0.31 * np.arange(40)  # enough of them for a product of matrices
    few = table.spectra(lines, u[:5])
    for frequencies, spectra in ((u, table.spectra(lines, u)), (u[:5], few)):
        for line, found in zip(lines, spectra, strict=True):
            at = log_moment(sigma, rate, (line.zeta, 0), 25).real
            assert abs(float(count * at - found.log_mgf)) <= found.log_mgf_error
            for j in (1, frequencies.size - 1):
                sign = 1 if line.removed else -1
                truth = count * (log_moment(sigma, rate, (line.zeta, sign * float(frequencies[j])), 25) - at)
                turned = math.remainder(float(truth.imag) - found.log_phi.imag[j], 2 * math.pi * count)
                assert abs(float(truth.real - found.log_phi.real[j])) <= found.log_phi_error[j]
                assert abs(math.remainder(turned, 2 * math.pi)) <= found.log_phi_error[j]
            assert found.log_phi_error[1:].max() < 1e-6


def test_log_moments_are_those_of_arb():
    ctx.dps = 40
    table = SampledGaussian(0.8, 0.01, 10_000)
    theta = np.array([0.5, 2.0, 4.0])
    for sign, (found, mean, variance) in zip((1, 0), table.moments(theta), strict=True):
        zetas = [1 + t if sign else -t for t in theta]
        truth = [float(10_000 * log_moment(0.8, 0.01, (zeta, 0), 25).real) for zeta in zetas]
        assert np.abs(found - truth).max() <= table.moments_error
        assert np.all(np.diff(mean) > 0)
        assert np.all(variance > 0)


@pytest.mark.parametrize(("sigma", "rate"), [(0.3, 1e-5), (0.3, 0.3), (0.8, 0.01), (1.0, 1e-9), (6.0, 0.5)])
@pytest.mark.parametrize("removed", [True, False])
@pytest.mark.parametrize("theta", [0.01, 0.8, 6.0])
def test_the_decay_bounds_the_transform_at_all_larger_frequencies(sigma, rate, removed, theta):
    table, zeta = SampledGaussian(sigma, rate, 5), 1 + theta if removed else -theta
    x = np.linspace(-14.0, 14.0 + 10 / sigma, 20_001)
    losses = np.log1p(rate * np.expm1(x / sigma - 0.5 / sigma**2))
    masses = np.exp(zeta * losses - 0.5 * x * x)
    mgf = float(masses.sum() * (x[1] - x[0])) / math.sqrt(2 * math.pi)
    spread = math.sqrt(float(masses @ losses**2 / masses.sum() - (masses @ losses / masses.sum()) ** 2))
    u = np.linspace(0.02, 12.0, 60) / spread
    sizes = np.array([abs(masses @ np.exp(1j * v * losses)) / masses.sum() for v in u])
    following = np.maximum.accumulate(sizes[::-1])[::-1]
    bound = table.decay(Line(removed, theta, math.log(mgf)))(u)
    assert (bound >= 5 * np.log(following) - 1e-9)[following > 1e-9].all()
    assert (np.diff(bound) <= 1e-9).all()
    assert bound[-1] < 0
    assert sigma < 0.5 or bound[10] < -1e-3  # it does decay


@pytest.mark.parametrize(
    ("sigma", "rate", "count", "delta"),
    [
        (0.8, 0.01, 10_000, 1e-5),
        (1.0, 0.001, 100_000, 1e-5),
        (1.0, 0.001, 10_000, 1e-5),  # the ladder sees one of them only
        (1.0, 0.002, 10**4, 1e-30),
        (4.0, 0.4, 200, 1e-3),
    ],
)
def test_both_directions_are_those_asked_one_by_one(sigma, rate, count, delta):
    low, high = both_directions.epsilon_ends(releases(sigma, rate, count), delta)
    assert high - low <= 1e-9 * high
    single = [SmallestEpsilon(np.array([delta]), 1e-10).certified(one) for one in releases(sigma, rate, count)]
    assert max(one.lower[0] for one in single) <= high
    assert low <= max(one.upper[0] for one in single)
    for side in ("remove", "add"):  # and one of them alone
        found = both_directions.epsilon_ends(releases(sigma, rate, count, [side]), delta)
        alone = single[side == "add"]
        assert found is None or (found[0] <= alone.upper[0] and alone.lower[0] <= found[1])


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("decided", [True, False])
def test_a_second_direction_is_read_beside_the_first_or_on_its_own_line(monkeypatch, first, decided):
    asked = releases(30.0, 0.5, 5000)
    found = both_directions.epsilon_ends(asked, 1e-3)
    single = [SmallestEpsilon(np.array([1e-3]), 1e-9).certified(one) for one in asked]
    monkeypatch.setattr(both_directions._Both, "_below", lambda *_: False)  # as if Chernoff's bound never told
    if not decided:
        monkeypatch.setattr(both_directions._Both, "_decided", lambda *_: False)  # nor the nodes of the first
    for both in (found, both_directions.epsilon_ends(asked[:: 1 - 2 * first], 1e-3)):
        assert both[1] - both[0] <= 1e-9 * both[1]
        assert both[0] <= max(one.upper[0] for one in single)
        assert max(one.lower[0] for one in single) <= both[1]


def test_what_is_no_such_release_is_left_to_other_methods():
    two = [(pair, count) for one in releases(1.0, 0.01, 10) for pair, count in one]
    assert both_directions.epsilon_ends([two], 1e-5) is None
    assert both_directions.epsilon_ends(list(directed((10 * qw.laplace(3.0)).parts).values()), 1e-5) is None
    assert both_directions.epsilon_ends(releases(1.0, 0.9, 10), 1e-5) is None  # 1 - q + q e^a near zero
    assert both_directions.epsilon_ends(releases(0.05, 0.01, 10), 1e-5) is None  # powers that overflow
