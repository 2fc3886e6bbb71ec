from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mechanisms.laws import (
    BROKEN,
    discrete_gaussian_cdf,
    discrete_laplace_cdf,
    integers_alarm,
    no_noise,
    scaled_noise,
)

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.mechanisms import (
    gaussian_histogram,
    gaussian_histogram_loss,
    gaussian_histogram_sigma,
    histogram,
    histogram_loss,
    histogram_scale,
)
from quiltwork.mechanisms.histograms import checked_counts

COUNTS = np.arange(20_000)


def laplace_off() -> bool:
    noise = histogram(COUNTS, 6.0).value - COUNTS
    halves = noise[::2], noise[1::2]
    return any(integers_alarm(half, discrete_laplace_cdf(6.0)) for half in (noise, *halves))


def gaussian_off() -> bool:
    noise = gaussian_histogram(COUNTS, 3.0).value - COUNTS
    return integers_alarm(noise, discrete_gaussian_cdf(3.0))


def test_the_noise_has_its_law() -> None:
    # false-alarm rate at most 3e-7 and 1e-7
    assert not laplace_off()
    assert not gaussian_off()


@pytest.mark.parametrize("factor", BROKEN)
def test_noise_of_another_scale_is_caught(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    scaled_noise(monkeypatch, factor)
    assert laplace_off()
    assert gaussian_off()


def test_counts_get_independent_noise() -> None:
    noise = histogram(np.zeros(20_000, dtype=int), 3.0).value
    neighbours = np.sign(noise[:-1:2]) * np.sign(noise[1::2])  # bounded by 1 with mean 0: Hoeffding, rate 1e-7
    assert abs(neighbours.mean()) < math.sqrt(2 * math.log(2e7) / neighbours.size)


def test_one_changed_entry_is_two_releases_of_sensitivity_one() -> None:
    release = histogram([3, 0, 5], 2.0)
    assert release.loss == histogram_loss(2.0) == 2 * qw.discrete_laplace(2.0)
    assert release.loss.epsilon(0.0).upper == pytest.approx(1.0, rel=1e-14)
    assert release.noise.draws == 3
    assert gaussian_histogram([3, 0], 2.0).loss == gaussian_histogram_loss(2.0) == 2 * qw.discrete_gaussian(2.0)


def test_the_profile_is_that_of_two_counts_moved_apart() -> None:
    """Sum over all pairs of noisy counts, of laws (0, 1) and (1, 0)."""
    scale = 1.5
    x = np.arange(-60, 62)
    at_zero, at_one = (math.tanh(0.5 / scale) * np.exp(-np.abs(x - shift) / scale) for shift in (0, 1))
    before, after = np.outer(at_zero, at_one), np.outer(at_one, at_zero)
    loss = histogram_loss(scale)
    for epsilon in (0.0, 0.3, 2 / 3, 1.0, 4 / 3):
        delta = np.maximum(before - math.exp(epsilon) * after, 0).sum()
        found = loss.delta(epsilon)
        assert found.lower - 1e-14 <= delta <= found.upper + 1e-14
    assert loss.delta(4 / 3).upper < 1e-14


@given(st.floats(1e-3, 100.0))
def test_scales_are_safe_and_close(epsilon: float) -> None:
    scale = histogram_scale(epsilon)
    assert histogram_loss(scale).epsilon(0.0).upper <= epsilon
    assert (
        2 / Fraction(repr(epsilon)) <= Fraction(repr(scale)) <= 2 / Fraction(repr(epsilon)) * (1 + Fraction(1, 10**12))
    )


def test_sigmas_are_safe_and_close() -> None:
    sigma = gaussian_histogram_sigma(1.0, 1e-6)
    assert gaussian_histogram_loss(sigma).epsilon(1e-6).upper <= 1.0
    assert gaussian_histogram_loss(0.99 * sigma).epsilon(1e-6).upper > 1.0


def test_values_are_frozen_and_may_be_negative() -> None:
    release = histogram([0] * 100, 5.0)
    assert release.value.dtype == np.int64
    assert (release.value < 0).any()  # false-alarm rate below 1e-20
    with pytest.raises(ValueError, match="read-only"):
        release.value[0] = 3


def test_largest_counts_saturate() -> None:
    values = histogram([2**63 - 1] * 60, 1000.0).value
    assert values.max() == 2**63 - 1  # false-alarm rate 2^-60
    assert values.min() > 2**63 - 10**6


@pytest.mark.parametrize("counts", [range(3), (0, 1, 2), [np.int8(0), 1, 2], np.array([0, 1, 2], dtype=np.uint64)])
def test_any_list_of_integers_is_read(counts: Any) -> None:
    assert histogram(counts, 1e-3).value.tolist() == [0, 1, 2]  # other noise has probability 6 e^-1000


BAD_COUNTS: list[Any] = [
    [],
    np.array([]),
    np.array([], dtype=int),
    [1, -1],
    [1.0, 2.0],
    np.array([1.0, 2.0]),
    [1, math.nan],
    [1, math.inf],
    [1, None],
    [True, 2],
    np.array([True, False]),
    [[1, 2], [3, 4]],
    np.zeros((2, 2), dtype=int),
    np.array(3),
    [2**63],
    np.array([2**63], dtype=np.uint64),
    "123",
    b"123"[:0],
    {0: 3, 1: 4},
    {3, 4},
    None,
    7,
    ["1", "2"],
]


@pytest.mark.parametrize("release", [histogram, gaussian_histogram])
@pytest.mark.parametrize("counts", BAD_COUNTS, ids=repr)
def test_bad_counts_draw_nothing(release: Any, counts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    no_noise(monkeypatch)
    with pytest.raises(InvalidParameter, match="counts"):
        release(counts, 1.0)


@pytest.mark.parametrize("release", [histogram, gaussian_histogram])
@pytest.mark.parametrize("scale", [0, 0.0, -1.0, math.nan, math.inf, True, "1", None, 1e101])
def test_bad_scales_draw_nothing(release: Any, scale: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    no_noise(monkeypatch)
    with pytest.raises(InvalidParameter):
        release([1, 2], scale)


def test_a_tally_of_sequences_is_taken_as_its_counts() -> None:
    from quiltwork.data import Tally

    assert checked_counts(Tally(("home", "out"), [12, 5])) == checked_counts([12, 5]) == [12, 5]
