"""Priors: moments by enumeration, draws by counting, bad input refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from quiltwork.errors import InvalidParameter
from quiltwork.game import Half, Independent
from quiltwork.game.people.population import Prior


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8])
def test_half_has_the_moments_of_all_sets_of_half(count: int) -> None:
    sets = np.array([b for b in itertools.product((0.0, 1.0), repeat=count) if sum(b) == count // 2])
    assert np.allclose(Half().rates(count), sets.mean(axis=0), atol=1e-15)
    assert np.allclose(Half().covariance(count), np.cov(sets.T, bias=True), atol=1e-15)
    if count % 2 == 0:  # the form of theory/game.md section 4
        form = count / (4 * (count - 1)) * (np.eye(count) - 1 / count)
        assert np.allclose(Half().covariance(count), form, atol=1e-15)


def test_half_draws_every_set_alike() -> None:
    drawn = Half().draw(6000, 4, np.random.default_rng(0))
    assert drawn.dtype == np.bool_
    assert set(drawn.sum(axis=1).tolist()) == {2}
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 6
    # chi-square with 5 degrees of freedom exceeds 30 with probability 1.5e-5
    assert float(np.sum((counts - 1000.0) ** 2 / 1000.0)) < 30.0


def test_odd_numbers_are_rounded_down() -> None:
    assert set(Half().draw(50, 7, np.random.default_rng(1)).sum(axis=1).tolist()) == {3}
    assert Half().size(7) == 3


def test_independent_members_have_their_rates() -> None:
    rates = (0.1, 0.5, 0.9)
    prior = Independent(rates)
    drawn = prior.draw(20000, 3, np.random.default_rng(2)).astype(float)
    # five standard deviations on 3 means and 6 covariances: false alarm below 1e-5
    assert np.all(np.abs(drawn.mean(axis=0) - rates) < 5 * np.sqrt(0.25 / 20000))
    assert np.all(np.abs(np.cov(drawn.T) - prior.covariance(3)) < 5 * 0.25 / np.sqrt(20000))
    assert prior.rates(3).tolist() == list(rates)
    assert Independent(0.25).rates(4).tolist() == [0.25] * 4
    assert np.allclose(np.diag(Independent(0.25).covariance(4)), 3 / 16)


def test_rates_are_a_fresh_array() -> None:
    prior = Independent(0.25)
    prior.rates(3)[:] = 7.0
    assert prior.rates(3).tolist() == [0.25] * 3


def test_draws_follow_the_seed() -> None:
    for prior in (Half(), Independent(0.3)):
        one, two = (prior.draw(9, 6, np.random.default_rng(5)) for _ in range(2))
        assert np.array_equal(one, two)
        assert isinstance(prior, Prior)


@pytest.mark.parametrize(
    "rate", [0.0, 1.0, -0.1, 1.1, float("nan"), float("inf"), True, "0.5", None, [], [0.5, 1.0], [[0.5]], 1j]
)
def test_bad_rates_are_refused(rate: Any) -> None:
    with pytest.raises(InvalidParameter):
        Independent(rate)


def test_numbers_that_do_not_fit_the_candidates_are_refused() -> None:
    rng = np.random.default_rng(0)
    for call in (
        lambda: Half().check(1),
        lambda: Half().draw(2, 1, rng),
        lambda: Half().covariance(1),
        lambda: Independent((0.2, 0.3)).check(3),
        lambda: Independent((0.2, 0.3)).draw(2, 3, rng),
        lambda: Independent((0.2, 0.3)).rates(3),
        lambda: Independent((0.2, 0.3)).covariance(1),
    ):
        with pytest.raises(InvalidParameter):
            call()
