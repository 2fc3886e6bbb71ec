from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.mechanisms.laws import BROKEN, discrete_gaussian_cdf, no_noise, noise_alarm, scaled_noise

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.mechanisms import gaussian, gaussian_loss, gaussian_sigma, sampling
from quiltwork.mechanisms.totals import integer_sigma
from quiltwork.numbers.stated import Stated

DRAWS = 2000


def integer_noise() -> list[float]:
    return [gaussian(-7, 3.0, 2).value + 7 for _ in range(DRAWS)]


def float_noise() -> list[float]:
    return [gaussian(0.25, 0.3, 1.5).value - 0.25 for _ in range(DRAWS)]


def integers_off(noise: list[float]) -> bool:
    return noise_alarm(noise, discrete_gaussian_cdf(3.0), [1, 2, 3, 4, 6], 1)


def floats_off(noise: list[float]) -> bool:
    return noise_alarm(noise, stats.norm(scale=0.3).cdf, [0.1, 0.2, 0.3, 0.4, 0.6], 0)


def test_the_noise_has_its_law() -> None:
    # false-alarm rate at most 1e-7 each
    assert not integers_off(integer_noise())
    assert not floats_off(float_noise())


@pytest.mark.parametrize("factor", BROKEN)
def test_noise_of_another_scale_is_caught(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    scaled_noise(monkeypatch, factor)
    assert integers_off(integer_noise())
    assert floats_off(float_noise())


def test_what_is_claimed_on_integers_is_what_is_drawn() -> None:
    release = gaussian(5, 7.3, 1)
    family = release.loss.single("a test")
    assert type(release.value) is int
    assert family.sigma == release.noise.scale >= 7.3  # type: ignore[attr-defined]
    assert Fraction(repr(release.noise.scale)) == Fraction(release.noise.scale)
    assert gaussian(5, 2.5, 1).loss == qw.discrete_gaussian(2.5)
    assert release.loss == gaussian_loss(7.3, 1)


def map_of_the_sampler(sigma: float, reach: float, kind: str) -> float:
    dp = sampling.opendp()
    domain = dp.domains.atom_domain(T="f64", nan=False) if kind == "f64" else dp.domains.atom_domain(T=kind)
    return float(dp.measurements.make_gaussian(domain, dp.metrics.absolute_distance(T=kind), scale=sigma).map(reach))


@given(st.floats(1e-3, 1e6), st.floats(1e-6, 1e6))
def test_floats_claim_at_least_the_map_of_the_sampler(sigma: float, reach: float) -> None:
    rho = gaussian_loss(sigma, reach).single("a test").rho  # type: ignore[attr-defined]
    exact = (Fraction(reach) / Fraction(Stated(sigma).above)) ** 2 / 2
    assert Fraction(rho) >= exact
    assert exact >= Fraction(rho) * (1 - Fraction(1, 10**14))
    assert map_of_the_sampler(Stated(sigma).above, reach, "f64") <= math.nextafter(rho, math.inf)


@given(st.floats(6600, 1e9), st.integers(1, 2**30))
def test_wide_noise_on_integers_claims_the_exact_loss_of_what_is_drawn(sigma: float, step: int) -> None:
    family: Any = gaussian_loss(sigma, step).single("a test")
    drawn = integer_sigma(sigma, step)
    assert (family.kind, family.sigma, family.sensitivity) == ("discrete_gaussian", drawn, step)
    assert sigma <= drawn <= sigma * (1 + 1e-4)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.3])
@pytest.mark.parametrize("step", [1, 3])
def test_the_exact_loss_is_that_of_the_sum_over_the_support(sigma: float, step: int) -> None:
    loss, size = gaussian_loss(sigma, step), integer_sigma(sigma, step)
    reach = math.ceil(40 * size)
    weights = {x: math.exp(-0.5 * (x / size) ** 2) for x in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    for epsilon in (0.0, 0.5, 2.0):
        terms = (w - math.exp(epsilon) * math.exp(-0.5 * ((x - step) / size) ** 2) for x, w in weights.items())
        delta = math.fsum(max(term, 0.0) for term in terms) / total
        found = loss.delta(epsilon)
        assert found.lower - 1e-13 <= delta <= found.upper + 1e-13


@pytest.mark.parametrize("sensitivity", [1, 4, 0.5])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (3.0, 1e-9)])
def test_sigmas_are_safe_and_close(sensitivity: float, epsilon: float, delta: float) -> None:
    sigma = gaussian_sigma(epsilon, delta, sensitivity)
    assert gaussian_loss(sigma, sensitivity).epsilon(delta).upper <= epsilon
    assert gaussian_loss(0.99 * sigma, sensitivity).epsilon(delta).upper > epsilon


BAD = [
    (math.nan, 1.0, 1.0),
    (math.inf, 1.0, 1.0),
    (True, 1.0, 1),
    (2**63, 1.0, 1),
    (3, 0.0, 1),
    (3, -1.0, 1),
    (3, math.nan, 1),
    (3, 1.0, None),
    (3, 1.0, 1.0),
    (3, 1.0, 0),
    (3.0, 1.0, 1),
    (3.0, 1.0, -1.0),
]


@pytest.mark.parametrize(("total", "sigma", "sensitivity"), BAD)
def test_bad_input_draws_nothing(total: Any, sigma: Any, sensitivity: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    no_noise(monkeypatch)
    with pytest.raises(InvalidParameter):
        gaussian(total, sigma, sensitivity)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-6), (math.nan, 1e-6), (1.0, 0.0), (1.0, 1.0), (1.0, 2.0)])
def test_sigmas_refuse_what_cannot_be_met(epsilon: float, delta: float) -> None:
    with pytest.raises(InvalidParameter):
        gaussian_sigma(epsilon, delta, 1)


def test_ends_of_the_integers_saturate() -> None:
    values = [gaussian(2**63 - 1, 1000.0, 1).value for _ in range(60)]
    assert max(values) == 2**63 - 1  # false-alarm rate 2^-60
    assert min(values) > 2**63 - 10**6
