from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.mechanisms.laws import BROKEN, discrete_laplace_cdf, no_noise, noise_alarm, scaled_noise

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.mechanisms import bounded_sum, laplace, laplace_loss, laplace_scale, sampling
from quiltwork.numbers.stated import Stated

DRAWS = 2000
SCALES = st.floats(1e-3, 1e6)


def integer_noise() -> list[float]:
    return [laplace(100, 5.0, 2).value - 100 for _ in range(DRAWS)]


def float_noise() -> list[float]:
    return [laplace(0.25, 0.3, 1.5).value - 0.25 for _ in range(DRAWS)]


def integers_off(noise: list[float]) -> bool:
    return noise_alarm(noise, discrete_laplace_cdf(5.0), [0, 2, 4, 6, 10], 1)


def floats_off(noise: list[float]) -> bool:
    return noise_alarm(noise, stats.laplace(scale=0.3).cdf, [0.1, 0.2, 0.3, 0.4, 0.7], 0)


def test_the_noise_has_its_law() -> None:
    # false-alarm rate at most 1e-7 each
    assert not integers_off(integer_noise())
    assert not floats_off(float_noise())


@pytest.mark.parametrize("factor", BROKEN)
def test_noise_of_another_scale_is_caught(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    scaled_noise(monkeypatch, factor)
    assert integers_off(integer_noise())
    assert floats_off(float_noise())


def test_the_kind_of_the_total_is_kept() -> None:
    whole, real = laplace(np.int64(3), 2, 1), laplace(np.float64(3.0), 2, 1.0)
    assert type(whole.value) is int
    assert type(real.value) is float
    assert whole.loss == laplace_loss(2, 1) == qw.discrete_laplace(2.0)
    assert real.loss == laplace_loss(2, 1.0)
    assert str(whole.noise) == "discrete Laplace, scale 2.0, 1 draw"


def test_a_sum_brings_its_sensitivity() -> None:
    total = bounded_sum([1, 7, 3], 0, 5)
    release = laplace(total, 1e-3)
    assert release.value == 9  # another value has probability 2 e^-1000
    assert release.loss == qw.discrete_laplace(1e-3, 5)


def integer_map(scale: float, step: int) -> float:
    dp = sampling.opendp()
    return float(
        dp.measurements.make_laplace(
            dp.domains.atom_domain(T="i64"), dp.metrics.absolute_distance(T="i64"), scale=scale
        ).map(step)
    )


def float_map(scale: float, reach: float) -> float:
    dp = sampling.opendp()
    space = dp.domains.atom_domain(T="f64", nan=False), dp.metrics.absolute_distance(T="f64")
    return float(dp.measurements.make_laplace(*space, scale=scale).map(reach))


@given(SCALES, st.integers(1, 600_000))
def test_claims_cover_the_map_of_the_sampler_on_integers(scale: float, step: int) -> None:
    claimed, said = laplace_loss(scale, step).epsilon(0.0), integer_map(Stated(scale).above, step)
    assert Fraction(claimed.upper) >= Fraction(step) / Fraction(Stated(scale).above)
    assert said <= claimed.upper
    assert claimed.upper <= said * (1 + 1e-5 if step > 499_999 else 1 + 1e-12)


@given(SCALES, st.floats(1e-6, 1e6))
def test_claims_cover_the_map_of_the_sampler_on_floats(scale: float, reach: float) -> None:
    loss, said = laplace_loss(scale, reach), float_map(Stated(scale).above, reach)
    family = loss.single("a test")
    assert said <= family.epsilon <= said * (1 + 1e-15)  # type: ignore[attr-defined]
    assert Fraction(family.epsilon) > Fraction(reach) / Fraction(Stated(scale).above)  # type: ignore[attr-defined]


def test_noise_on_floats_has_the_granularity_of_doubles() -> None:
    # a coarser lattice would add its step to this distance
    least = sampling.GRANULARITY
    assert float_map(1.0, least) == least == 5e-324


def discrete_profile(epsilon: float, scale: float, step: int) -> float:
    """delta of discrete Laplace noise, summed over its support."""
    a = 1 / scale
    x = np.arange(-math.ceil(60 * scale), math.ceil(60 * scale) + step + 1)
    p, q = (math.tanh(a / 2) * np.exp(-a * np.abs(x - shift)) for shift in (0, step))
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize(("scale", "step"), [(0.4, 1), (1.0, 1), (1.0, 4), (3.0, 5), (20.0, 7)])
def test_a_slightly_wider_laplace_mechanism_dominates_the_discrete_one(scale: float, step: int) -> None:
    reach = step + min(1.0, 1 / (4 * scale))
    a = 1 / scale
    inside = [a * (index - step + part) for index in range(0, 2 * step, 2) for part in (0.01, 0.5, 1.0, 1.5, 1.99)]
    exact = np.array([discrete_profile(x, scale, step) for x in inside])
    wider = np.array([1 - math.exp((x - reach / scale) / 2) for x in inside])
    plain = np.array([1 - math.exp((x - step / scale) / 2) for x in inside])
    assert np.all(exact <= wider + 1e-14)
    assert np.all(exact > plain)  # without the widening the claim would be too small
    middle = a * (1 - step)
    halfway = 2 * math.log(math.cosh(a / 2))  # the tight widening, attained where the chord is farthest from the root
    assert discrete_profile(middle, scale, step) == pytest.approx(1 - math.exp((middle - step * a - halfway) / 2))


def test_large_integer_sensitivities_are_held_by_the_continuous_mechanism() -> None:
    scale, step = 1000.0, 700_000
    loss = laplace_loss(scale, step)
    assert loss.single("a test").kind == "laplace"
    a = 1 / scale
    for index in (0, 3, 400):  # the chord between two losses, in e^epsilon, halfway
        low = a * (step - 2 * (index + 1))
        chord = 0.5 * (-math.expm1(-a * index) - math.expm1(-a * (index + 1)))
        middle = low + math.log((1 + math.exp(2 * a)) / 2)
        assert chord <= loss.delta(middle).upper <= chord + 1e-3


@given(st.floats(1e-3, 100.0), st.integers(1, 1000))
def test_scales_are_safe_and_close(epsilon: float, step: int) -> None:
    for reach in (step, step / 7):
        scale = laplace_scale(epsilon, reach)
        assert laplace_loss(scale, reach).epsilon(0.0).upper <= epsilon
        assert scale <= reach / epsilon * (1 + 1e-12)


BAD = [
    (math.nan, 1.0, 1.0),
    (math.inf, 1.0, 1.0),
    (True, 1.0, 1),
    ("3", 1.0, 1),
    (None, 1.0, 1),
    (3 + 0j, 1.0, 1),
    (np.array([1, 2]), 1.0, 1),
    (2**63, 1.0, 1),
    (-(2**63) - 1, 1.0, 1),
    (1e301, 1.0, 1.0),
    (3, 0.0, 1),
    (3, -1.0, 1),
    (3, math.nan, 1),
    (3, math.inf, 1),
    (3, True, 1),
    (3, 1e-101, 1),
    (3, 1.0, None),
    (3, 1.0, 1.0),
    (3, 1.0, 0),
    (3, 1.0, -1),
    (3, 1.0, True),
    (3.0, 1.0, 1),
    (3.0, 1.0, 0.0),
    (3.0, 1.0, math.nan),
    (3.0, 1e-100, 1e100),
]


@pytest.mark.parametrize(("total", "scale", "sensitivity"), BAD)
def test_bad_input_draws_nothing(total: Any, scale: Any, sensitivity: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    no_noise(monkeypatch)
    with pytest.raises(InvalidParameter):
        laplace(total, scale, sensitivity)


def test_a_total_takes_no_second_sensitivity() -> None:
    with pytest.raises(InvalidParameter, match="left out"):
        laplace(bounded_sum([1], 0, 1), 1.0, 1)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, True, 1e-101])
def test_scales_refuse_what_is_no_epsilon(epsilon: float) -> None:
    with pytest.raises(InvalidParameter):
        laplace_scale(epsilon, 1)


def test_ends_of_the_integers_saturate() -> None:
    top, bottom = 2**63 - 1, -(2**63)
    high = [laplace(top, 1000.0, 1).value for _ in range(60)]
    low = [laplace(bottom, 1000.0, 1).value for _ in range(60)]
    assert max(high) == top  # false-alarm rate 2^-60
    assert min(low) == bottom
    assert all(abs(value - top) < 10**6 for value in high)
    assert all(abs(value - bottom) < 10**6 for value in low)
