"""The exact statistic and its linear picture, against loops and enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from quiltwork.errors import InvalidParameter
from quiltwork.game import Half, Independent, Population, Statistic
from quiltwork.game.people.population import members_of

RNG = np.random.default_rng(4)
ROWS = RNG.random((5, 3))
HALF = Population(ROWS, ROWS[:2], Half())
ALONE = Population(ROWS, ROWS[:2], Independent((0.2, 0.4, 0.5, 0.6, 0.9)))
EVERY = np.array(list(itertools.product((False, True), repeat=5)))


@pytest.mark.parametrize("denominator", ["members", "fixed"])
def test_exact_values_by_a_loop(denominator: str) -> None:
    found = Statistic(ALONE, denominator).exact(EVERY)
    for b, values in zip(EVERY, found, strict=True):
        chosen = [row for row, inside in zip(ROWS, b, strict=True) if inside]
        divisor = 2.5 if denominator == "fixed" else max(len(chosen), 1)
        wanted = [sum(row[j] for row in chosen) / divisor for j in range(3)]
        assert values == pytest.approx(wanted, abs=1e-15)
    assert found[0].tolist() == [0.0, 0.0, 0.0]  # nobody is in the data


@pytest.mark.parametrize("denominator", ["members", "fixed"])
@pytest.mark.parametrize("count", [4, 5])
def test_exactly_half_is_linear_with_these_moments(denominator: str, count: int) -> None:
    population = Population(ROWS[:count], ROWS[:2])
    statistic = Statistic(population, denominator)
    b = np.array([c for c in itertools.product((0.0, 1.0), repeat=count) if sum(c) == count // 2])
    x = statistic.exact(b)
    assert statistic.fixed_size == count // 2
    assert np.allclose(statistic.mean, x.mean(axis=0), atol=1e-15)
    assert np.allclose(x, statistic.mean + (b - b.mean(axis=0)) @ statistic.gain.T, atol=1e-14)
    assert np.allclose(statistic.gain.sum(axis=1), 0.0, atol=1e-14)
    assert np.allclose(statistic.factor @ statistic.factor.T, np.cov(x.T, bias=True), atol=1e-14)


def test_a_fixed_denominator_is_linear_with_these_moments() -> None:
    statistic = Statistic(ALONE, "fixed")
    rates = ALONE.prior.rates(5)
    chance = np.prod(np.where(EVERY, rates, 1 - rates), axis=1)
    x = statistic.exact(EVERY)
    mean = chance @ x
    assert statistic.fixed_size is None
    assert np.allclose(statistic.mean, mean, atol=1e-15)
    assert np.allclose(x, mean + (EVERY - rates) @ statistic.gain.T, atol=1e-14)
    assert np.allclose(statistic.factor @ statistic.factor.T, ((x - mean).T * chance) @ (x - mean), atol=1e-14)


def test_the_mean_of_a_random_number_is_linear_to_first_order() -> None:
    statistic = Statistic(ALONE)
    rates, step = ALONE.prior.rates(5), 1e-6
    for k in range(5):
        for sign in (-1, 1):
            moved = rates + sign * step * (np.arange(5) == k)
            slope = (moved @ ROWS / moved.sum() - statistic.mean) / (sign * step)
            assert np.allclose(slope, statistic.gain[:, k], atol=1e-6)


def test_inputs_stay_as_they_were() -> None:
    members = EVERY.copy()
    Statistic(ALONE).exact(members)
    assert np.array_equal(members, EVERY)


@pytest.mark.parametrize(
    "bad",
    [None, [1, 0, 1, 0, 1], [[1, 0]], [[1, 0, 1, 0, 2]], [[0.5] * 5], [[1, 0, 1, 0, float("nan")]], [[1], [1, 0]]],
)
def test_bad_members_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidParameter):
        members_of(bad, 5)
    with pytest.raises(InvalidParameter):
        Statistic(HALF).exact(bad)


@pytest.mark.parametrize("bad", ["mean", None, 2, ["fixed"]])
def test_other_denominators_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidParameter):
        Statistic(HALF, bad)


def test_a_statistic_is_of_a_population() -> None:
    with pytest.raises(InvalidParameter):
        Statistic(ROWS)  # type: ignore[arg-type]
