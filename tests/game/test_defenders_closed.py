"""Water-filling and rate-distortion: optimality, errors, identities and certificates for the pool."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.game.core_cases import people, widest_square

from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game import Half, Independent, Population, RateDistortion, Statistic, SummaryStatistics, WaterFilling

PEOPLE = people(10, 6, seed=2)
GAMES = [(Half(), "members"), (Half(), "fixed"), (Independent(0.3), "fixed")]


def spectrum(statistic: Statistic, price=1.0) -> np.ndarray:
    """Eigenvalues of the covariance of the (priced) statistic, largest first, by the full prior covariance."""
    gain = statistic.gain * np.reshape(price, (-1, 1))
    covariance = gain @ statistic.population.prior.covariance(statistic.population.size[0]) @ gain.T
    return np.linalg.eigvalsh(covariance)[::-1]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", [WaterFilling, RateDistortion])
def test_certificates_cover_every_pair_of_data_sets(kind, seed):
    """mu^2 against all neighbours in fractions, with the channel's doubles as they are."""
    rng = np.random.default_rng(seed)
    people_, attributes = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    rows = [(rng.random((people_, attributes)) < 0.5) * 1.0, rng.random((people_, attributes))][seed % 2]
    if seed == 4:
        rows = np.clip(0.6 + 1e-9 * rng.standard_normal(rows.shape), 0, 1)
    prior, denominator = GAMES[seed % 3]
    weights = None if seed < 3 else (*rng.choice([0.0, 0.1, 1.0, 50.0], attributes - 1), 1.0)
    population = Population(rows, rows[:1], prior)
    for error in (1e-4, 1e-2, 0.1):
        defence = kind(error, weights).prepare(population, denominator=denominator)
        square = widest_square(population, denominator, defence.channel)
        parts = defence.certificate().curve.parts
        mu = parts[0].family.mu if parts else 0.0
        assert Fraction(mu) ** 2 >= square
        assert Fraction(repr(mu)) ** 2 >= square
        assert mu <= math.sqrt(square) * (1 + 1e-4) + 1e-99


def test_sampled_ratios_have_the_mu_of_the_certificate():
    """The worst swap of the pool, drawn and scored in the coordinates of the channel."""
    defence = RateDistortion(0.05).prepare(PEOPLE)
    channel, statistic = defence.channel, defence.statistic
    mu = defence.certificate().curve.parts[0].family.mu
    first, second = (int(word) for word in defence.certificate().witness.split() if word.isdigit())
    inside = np.array([k for k in range(10) if k not in (first, second)][:4])
    worlds = np.zeros((2, 10), dtype=bool)
    worlds[:, inside] = True
    worlds[0, first] = worlds[1, second] = True
    one, zero = channel.coordinates(statistic.exact(worlds)) * channel.scale
    drawn = channel.coordinates(channel.draw(np.tile(statistic.exact(worlds[:1]), (4000, 1)), np.random.default_rng(0)))
    kept = channel.scale > 0
    ratio = (((drawn - zero) ** 2 - (drawn - one) ** 2)[:, kept] / (2 * channel.variance[kept])).sum(axis=1)
    # normal with mean mu^2 / 2 and variance mu^2: five deviations, false alarm below 2e-6
    assert abs(ratio.mean() - mu**2 / 2) < 5 * mu / np.sqrt(4000)
    assert abs(ratio.std() / mu - 1) < 5 / np.sqrt(8000)


@pytest.mark.parametrize(("prior", "denominator"), GAMES)
def test_water_filling_minimises_leakage_plus_error(prior, denominator):
    """nu_i = (-s_i + sqrt(s_i^2 + 2 s_i t)) / 2 for one t; any other noise costs more in the objective of t."""
    population = Population(PEOPLE.candidates, PEOPLE.reference, prior)
    defence = WaterFilling(0.03).prepare(population, denominator=denominator)
    noise = defence.channel.variance
    s = spectrum(defence.statistic)[: len(noise)]
    level = 2 * noise * (noise + s) / s  # solved for t, direction by direction
    assert np.allclose(level, level[0], rtol=1e-9)

    def objective(nu):
        return nu.sum() / level[0] + 0.5 * np.log1p(s / nu).sum()

    rng = np.random.default_rng(0)
    for _ in range(200):
        assert objective(noise * np.exp(rng.normal(0, 0.05, len(noise)))) >= objective(noise) - 1e-12
    assert np.all(defence.channel.scale == 1.0)


@pytest.mark.parametrize(("prior", "denominator"), GAMES)
def test_rate_distortion_identities(prior, denominator):
    """D_i = min(t, s_i), a_i = 1 - D_i/s_i, noise a_i D_i, and 1/2 log(s_i/D_i) of leakage in each direction."""
    population = Population(PEOPLE.candidates, PEOPLE.reference, prior)
    defence = RateDistortion(0.02).prepare(population, denominator=denominator)
    scale, noise = defence.channel.scale, defence.channel.variance
    s = spectrum(defence.statistic)[: len(scale)]
    distortion = (1 - scale) * s
    active = scale > 0
    assert active.any()
    level = distortion[active]
    assert np.allclose(level, level[0], rtol=1e-7)
    assert np.all(s[~active] <= level[0] * (1 + 1e-7))
    assert np.allclose(noise, scale * distortion, rtol=1e-7)
    # I(x; y) of a Gaussian direction through the channel y = a x + noise, and its mean square error
    leak = 0.5 * np.log1p(scale[active] ** 2 * s[active] / noise[active])
    assert np.allclose(leak, 0.5 * np.log(s[active] / distortion[active]), rtol=1e-6)
    assert np.allclose((1 - scale) ** 2 * s + noise, distortion, rtol=1e-7)


def leakage(s, scale, noise):
    kept = scale > 0
    return 0.5 * np.log1p(scale[kept] ** 2 * s[kept] / noise[kept]).sum()


def test_no_channel_of_the_same_square_error_leaks_less():
    defence = RateDistortion(0.02).prepare(PEOPLE)
    scale, noise = defence.channel.scale, defence.channel.variance
    s = spectrum(defence.statistic)[: len(scale)]
    budget = float(((1 - scale) ** 2 * s + noise).sum())
    best = leakage(s, scale, noise)
    rng = np.random.default_rng(1)
    tried = 0
    for _ in range(400):
        gain = np.clip(scale + rng.normal(0, 0.03, len(s)), 1e-3, 1.0)
        rest = budget - float(((1 - gain) ** 2 * s).sum())
        if rest <= 0:
            continue
        share = rng.dirichlet(np.maximum(noise, 1e-9) / noise.sum() * 50 + 1e-3)
        assert leakage(s, gain, np.maximum(rest * share, 1e-300)) >= best - 1e-9
        tried += 1
    assert tried > 100
    # plain noise of the same square error leaks more
    flat = np.full(len(s), budget / len(s))
    assert leakage(s, np.ones(len(s)), flat) > best


@pytest.mark.parametrize("weights", [None, (1.0, 0.0, 3.0, 0.2, 1.0, 10.0)])
@pytest.mark.parametrize("kind", [WaterFilling, RateDistortion])
@pytest.mark.parametrize("error", [1e-12, 1e-3, 0.02])
def test_the_error_is_the_one_asked_for(kind, error, weights):
    """sqrt(2/pi) mean_j kappa_j sd_j of released - exact, by the covariances; 1e-6 of it in closed form."""
    defence = kind(error, weights).prepare(PEOPLE)
    channel, statistic = defence.channel, defence.statistic
    price = np.ones(6) if weights is None else np.array(weights)
    prior = PEOPLE.prior.covariance(10)
    signal = channel.synthesis @ (channel.scale[:, None] * channel.basis.T) - np.eye(6)
    covariance = signal @ statistic.gain @ prior @ statistic.gain.T @ signal.T
    covariance += (channel.synthesis * channel.variance) @ channel.synthesis.T
    found = math.sqrt(2 / math.pi) * float(np.mean(price * np.sqrt(np.maximum(np.diag(covariance), 0.0))))
    assert found == pytest.approx(error, rel=1e-6 if error > 1e-9 else 1e-3)


def test_the_error_of_draws():
    """A hundred candidates: sums are close to normal, so the drawn error is, to a few percent."""
    population = people(100, 30, seed=3)
    for kind in (WaterFilling, RateDistortion):
        release = SummaryStatistics(kind(0.02).prepare(population), clip=False)
        assert release.draw(500, np.random.default_rng(0)).error == pytest.approx(0.02, rel=0.03)
    priced = RateDistortion(0.02, tuple(np.linspace(0.0, 2.0, 30))).prepare(population)
    draws = SummaryStatistics(priced, clip=False).draw(500, np.random.default_rng(0))
    assert draws.weighted_error(np.linspace(0.0, 2.0, 30)) == pytest.approx(0.02, rel=0.03)
    assert np.ptp(draws.outputs[:, 0]) == 0.0


def test_at_equal_error_rate_distortion_promises_more():
    one, two = (
        kind(0.05).prepare(PEOPLE).certificate().curve.parts[0].family.mu for kind in (RateDistortion, WaterFilling)
    )
    assert one < two


def test_an_error_that_the_mean_meets_is_the_constant_release():
    release = SummaryStatistics(RateDistortion(0.5).prepare(PEOPLE))
    draws = release.draw(20, np.random.default_rng(0))
    assert np.ptp(draws.outputs, axis=0).max() == 0.0
    assert np.allclose(draws.outputs[0], PEOPLE.candidates.mean(axis=0))
    assert release.certificate().epsilon(0.0).upper == 0.0


def test_great_and_small_errors():
    release = SummaryStatistics(WaterFilling(1e10).prepare(PEOPLE), clip=False)
    # 6,000 numbers in the directions of the data: 10% is more than five deviations
    assert release.draw(1000, np.random.default_rng(0)).error == pytest.approx(1e10, rel=0.1)
    with pytest.raises(InvalidParameter, match="error must be at most"):
        WaterFilling(1e90).prepare(PEOPLE)
    for kind in (WaterFilling, RateDistortion):
        tiny = kind(1e-90).prepare(PEOPLE)
        assert np.all(tiny.channel.variance > 0)
        assert tiny.certificate().epsilon(1e-5).upper > 1e80


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 1.0])
@pytest.mark.parametrize("kind", [WaterFilling, RateDistortion])
def test_candidates_who_are_alike_tell_nothing(kind, value):
    """Also where the mean of the same numbers is rounded to another one."""
    for size in (3, 7, 10):
        alike = Population(np.full((size, 3), value), np.full((2, 3), value))
        defence = kind(0.1).prepare(alike)
        assert defence.certificate().epsilon(0.0).upper == 0.0
        assert SummaryStatistics(defence, clip=False).draw(5, np.random.default_rng(0)).error < 1e-15


def test_noise_stays_in_the_space_of_the_data():
    """Two candidates span one direction: everything else is the mean, exactly known, and free of noise."""
    population = Population(np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]), np.zeros((1, 3)))
    draws = SummaryStatistics(WaterFilling(0.1).prepare(population), clip=False).draw(50, np.random.default_rng(0))
    assert np.allclose(draws.outputs[:, 1:], [0.0, 1.0], atol=1e-12)
    assert np.std(draws.outputs[:, 0] - draws.exact[:, 0]) > 0.1


@pytest.mark.parametrize("kind", [WaterFilling, RateDistortion])
def test_what_is_not_certified_says_so(kind):
    with pytest.raises(Unsupported, match="follows the candidates"):
        kind(0.05).prepare(PEOPLE).certificate("any")
    coins = Population(PEOPLE.candidates, PEOPLE.reference, Independent(0.5))
    with pytest.raises(Unsupported, match="one person may be all of the data"):
        kind(0.05).prepare(coins).certificate()
    assert "no other" in kind(0.05).prepare(PEOPLE).certificate().assumes[0]


@pytest.mark.parametrize("kind", [WaterFilling, RateDistortion])
def test_bad_input_is_refused(kind):
    calls = [lambda bad=bad: kind(bad) for bad in (0.0, -0.1, float("nan"), float("inf"), True, "1", None)]
    calls += [
        lambda: kind(0.1, (0.0,) * 6).prepare(PEOPLE),
        lambda: kind(0.1, (1.0,) * 5).prepare(PEOPLE),
        lambda: kind(0.1, (-1.0,) * 6),
        lambda: kind(0.1, "abcdef"),
        lambda: kind(0.1).prepare(3),
        lambda: kind(0.1).prepare(PEOPLE, denominator="x"),
        lambda: kind(0.1).prepare(PEOPLE).certificate("x"),
    ]
    for call in calls:
        with pytest.raises(InvalidParameter):
            call()
