"""Channels draw what they say, and their linear models are what they draw."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.game.core_cases import people

from quiltwork.game import Gaussian, Independent, Population, RateDistortion, Statistic, SummaryStatistics, WaterFilling
from quiltwork.game.releases import Channel, LinearModel

COUNT = 4000


@pytest.mark.parametrize(("family", "law"), [("gaussian", stats.norm(0, 0.3)), ("laplace", stats.laplace(0, 0.3))])
def test_the_noise_has_its_law(family, law):
    variance = 0.09 if family == "gaussian" else 0.18
    channel = Channel(family, np.full(2, variance), np.ones(2), np.zeros(2))
    drawn = channel.draw(np.tile([0.2, 0.7], (COUNT, 1)), np.random.default_rng(0)) - [0.2, 0.7]
    # Kolmogorov and Smirnov at 1e-5 for each of two columns; a scale that is 30% off must be caught
    for column in drawn.T:
        assert stats.kstest(column, law.cdf).pvalue > 1e-5
        assert stats.kstest(column * 1.3, law.cdf).pvalue < 1e-5


def test_no_noise_is_the_value_itself():
    values = np.random.default_rng(0).random((5, 3))
    channel = Channel("none", np.zeros(3), np.ones(3), np.zeros(3))
    assert np.array_equal(channel.draw(values, np.random.default_rng(1)), values)
    assert channel.informative
    assert not Channel("none", np.zeros(3), np.zeros(3), np.zeros(3)).informative


def test_draws_follow_the_seed_and_leave_the_input_alone():
    values = np.full((4, 3), 0.5)
    channel = Channel("gaussian", np.full(3, 0.1), np.ones(3), np.zeros(3))
    one, two = (channel.draw(values, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(one, two)
    assert np.all(values == 0.5)


def test_a_basis_gives_noise_of_that_covariance():
    rng = np.random.default_rng(2)
    basis = np.linalg.qr(rng.standard_normal((4, 2)))[0]
    noise, scale, centre = np.array([0.5, 0.1]), np.array([1.0, 0.4]), rng.random(4)
    channel = Channel("gaussian", noise, scale, centre, basis)
    exact = rng.random(4)
    drawn = channel.draw(np.tile(exact, (20000, 1)), rng)
    wanted = centre + basis @ (scale * (basis.T @ (exact - centre)))
    # five standard errors on four means and sixteen covariances: false alarm below 2e-5
    assert np.all(np.abs(drawn.mean(axis=0) - wanted) < 5 * np.sqrt(0.5 / 20000))
    assert np.all(np.abs(np.cov(drawn.T) - (basis * noise) @ basis.T) < 5 * 0.5 * np.sqrt(2 / 20000))
    assert np.allclose(channel.coordinates(drawn), (drawn - centre) @ basis)


@pytest.mark.parametrize("denominator", ["members", "fixed"])
@pytest.mark.parametrize(
    "defender",
    [
        Gaussian(0.1),
        Gaussian(0.1, (1.0, 0.0, 2.0, 0.5)),
        WaterFilling(0.05),
        RateDistortion(0.02),
        RateDistortion(0.02, (1.0, 0.0, 2.0, 0.5)),
    ],
    ids=str,
)
def test_the_linear_model_predicts_every_data_set(defender, denominator):
    """project(output) = mean + gain (b - E b) + noise: the residual has mean 0, and these variances."""
    population = people(6, 4, seed=5)
    release = SummaryStatistics(defender.prepare(population, denominator=denominator), clip=False)
    model = release.linear()
    draws = release.draw(COUNT, np.random.default_rng(6))
    wanted = model.mean + (draws.members - model.prior_rates) @ model.gain.T
    left = model.project(draws.outputs) - wanted
    spread = np.sqrt(model.variance)
    # five deviations for at most 4 means, 4 variances and 24 products: false alarm below 4e-5
    assert np.all(np.abs(left.mean(axis=0)) < 5 * spread / np.sqrt(COUNT))
    assert np.all(np.abs(left.var(axis=0) / model.variance - 1) < 5 * np.sqrt(2 / COUNT))
    centred = draws.members - model.prior_rates
    assert np.all(np.abs(left.T @ centred) / COUNT < 5 * spread[:, None] * 0.5 / np.sqrt(COUNT))
    assert np.allclose(model.prior_variances, 0.25 * 6 / 5)


def test_directions_that_are_not_released_are_not_in_the_model():
    population = people(6, 4)
    model = SummaryStatistics(Gaussian(0.1, (1.0, 0.0, 0.0, 1.0)).prepare(population)).linear()
    assert model.gain.shape == (2, 6)
    assert model.project(np.zeros((3, 4))).shape == (3, 2)


def test_models_side_by_side():
    population = people(6, 4)
    first, second = (SummaryStatistics(Gaussian(s).prepare(population)).linear() for s in (0.1, 0.3))
    both = LinearModel.stacked([first, second], [4, 4])
    outputs = np.random.default_rng(0).random((3, 8))
    apart = np.hstack([first.project(outputs[:, :4]), second.project(outputs[:, 4:])])
    assert np.array_equal(both.project(outputs), apart)
    assert np.array_equal(both.gain, np.vstack([first.gain, second.gain]))
    assert both.variance.tolist() == [*first.variance, *second.variance]
    assert both.mean.tolist() == [*first.mean, *second.mean]


def test_independent_members_enter_with_their_own_variances():
    population = Population(np.eye(3), np.eye(3), Independent((0.1, 0.5, 0.8)))
    model = Gaussian(0.1).prepare(Statistic(population, "fixed")).channel.linear(Statistic(population, "fixed"))
    assert np.allclose(model.prior_variances, [0.09, 0.25, 0.16])
    assert np.allclose(model.prior_rates, [0.1, 0.5, 0.8])
