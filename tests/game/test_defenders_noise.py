"""Gaussian and Laplace noise: certificates against every pair of neighbours, prices, and extreme sizes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.game.core_cases import moves, people, widest_square

from quiltwork.errors import InvalidParameter
from quiltwork.game import Gaussian, Half, Independent, Laplace, Population, SummaryStatistics

BINARY = people(5, 4, seed=1)
RNG = np.random.default_rng(5)
POOLS = {
    "binary": BINARY.candidates,
    "other": RNG.random((5, 4)),
    "three": BINARY.candidates[:3],
    "two": BINARY.candidates[:2],
    "twins": np.repeat(BINARY.candidates[:2], 2, axis=0),
    "close": np.clip(0.7 + 1e-9 * RNG.standard_normal((4, 4)), 0.0, 1.0),
}
GAMES = [(Half(), "members"), (Half(), "fixed"), (Independent(0.3), "fixed"), (Independent(0.3), "members")]
PRICES = [None, (1.0, 0.0, 7.0, 0.3), (1e6, 1e-6, 0.0, 1.0)]


def mu_of(guarantee) -> float:
    (part,) = guarantee.curve.parts
    assert part.count == 1
    return part.family.mu


@pytest.mark.parametrize("weights", PRICES)
@pytest.mark.parametrize(("prior", "denominator"), GAMES)
@pytest.mark.parametrize("pool", POOLS)
def test_gaussian_mu_covers_every_pair_of_data_sets(pool, prior, denominator, weights):
    """In fractions, with the channel's variances as doubles and, without prices, sigma as it is typed."""
    population = Population(POOLS[pool], np.zeros((1, 4)), prior)
    defence = Gaussian(0.07, weights).prepare(population, denominator=denominator)
    square = widest_square(population, denominator, defence.channel)
    if weights is None:
        longest = max(sum((x * x for x in move), Fraction(0)) for move in moves(population, denominator))
        square = max(square, longest / Fraction("0.07") ** 2)
    wide, narrow = mu_of(defence.certificate("any")), mu_of(defence.certificate("pool"))
    assert mu_of(defence.certificate()) == wide
    for mu in (wide, narrow):
        assert Fraction(mu) ** 2 >= square
        assert Fraction(repr(mu)) ** 2 >= square
    assert narrow <= wide * (1 + 1e-12)
    if denominator == "fixed" or isinstance(prior, Half):
        slack = 1e-5 if pool == "close" else 1e-12  # rows of size 0.7 that differ by 1e-9 lose seven digits
        assert narrow <= math.sqrt(square) * (1 + slack) + 1e-11


@pytest.mark.parametrize(("prior", "denominator"), GAMES)
def test_the_bound_for_any_rows_is_reached_by_some(prior, denominator):
    rows = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    population = Population(rows, rows, prior)
    defence = Gaussian(0.2).prepare(population, denominator=denominator)
    square = widest_square(population, denominator, defence.channel)
    assert mu_of(defence.certificate("any")) == pytest.approx(math.sqrt(square), rel=1e-14)


def test_the_formula_of_the_audit():
    """K = 400, m = 1000, sigma = 0.05, fixed denominator: mu = max_k 2 |d_k| / (K sigma), rounded up."""
    rows = (np.random.default_rng(0).random((400, 1000)) < 0.5).astype(float)
    population = Population(rows, rows[:1], Independent(0.5))
    mu = mu_of(Gaussian(0.05).prepare(population, denominator="fixed").certificate("pool"))
    most = int(rows.sum(axis=1).max())
    square = Fraction(4 * most) / (400 * Fraction("0.05")) ** 2
    assert Fraction(mu) ** 2 >= square
    assert mu == pytest.approx(2 * math.sqrt(most) / (400 * 0.05), rel=1e-11)


def laplace_total(population, denominator, scales) -> Fraction:
    """The largest log-likelihood ratio: sum_j |move_j| / scale_j."""
    return max(
        sum((abs(x) / Fraction(float(s)) for x, s in zip(move, scales, strict=True) if s > 0), Fraction(0))
        for move in moves(population, denominator)
    )


@pytest.mark.parametrize("weights", PRICES)
@pytest.mark.parametrize(("prior", "denominator"), GAMES)
@pytest.mark.parametrize("pool", POOLS)
def test_laplace_epsilon_covers_every_pair_of_data_sets(pool, prior, denominator, weights):
    population = Population(POOLS[pool], np.zeros((1, 4)), prior)
    defence = Laplace(0.3, weights).prepare(population, denominator=denominator)
    total = laplace_total(population, denominator, np.sqrt(defence.channel.variance / 2))
    wide, narrow = (defence.certificate(rows).epsilon(0.0).upper for rows in ("any", "pool"))
    assert Fraction(wide) >= total * (1 - Fraction(1, 10**15))  # the root of the variance is rounded here
    assert Fraction(narrow) >= total * (1 - Fraction(1, 10**15))
    assert narrow <= wide
    # one scale, binary rows, a known size: only the shares that one swap really moves are counted
    known = denominator == "fixed" or isinstance(prior, Half)
    if weights is None and known and pool in ("binary", "three", "two", "twins"):
        assert narrow == pytest.approx(float(total), rel=1e-9, abs=1e-9)


def test_laplace_deltas_are_those_of_the_joint_ratio():
    """delta(eps) = E[(1 - e^(eps - L))+] over sampled ratios of the worst swap, two shares that move by 1/2."""
    population = Population([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]], np.zeros((1, 2)))
    certificate = Laplace(0.4).prepare(population).certificate("pool")
    noise = np.random.default_rng(0).laplace(size=(200_000, 2)) * 0.4
    ratio = ((np.abs(noise + 0.5) - np.abs(noise)) / 0.4).sum(axis=1)
    for epsilon in (0.0, 0.5, 1.5, 2.4):
        found = np.maximum(-np.expm1(epsilon - ratio), 0.0)
        bracket = certificate.delta(epsilon)
        # five deviations: false alarm below 1e-5 in all
        assert abs(found.mean() - bracket.upper) < 5 * found.std() / np.sqrt(200_000) + 1e-9


@pytest.mark.parametrize(
    "defender",
    [Gaussian(0.2), Gaussian(0.2, (1, 0, 3, 0.5)), Laplace(0.2, (1, 0, 3, 0.5))],
    ids=["plain", "priced", "Laplace"],
)
def test_sampled_ratios_stay_below_the_certificate(defender):
    """Outputs of one data set, scored against all its neighbours: P(L > eps) - e^eps Q(L > eps) <= delta(eps)."""
    population = BINARY
    defence = defender.prepare(population)
    channel, n = defence.channel, 20_000
    members = np.array([[1, 1, 0, 0, 0]])
    kept = channel.scale > 0
    law = stats.norm(0, 1) if channel.family == "gaussian" else stats.laplace(0, math.sqrt(0.5))
    spread = np.sqrt(channel.variance[kept])
    here = defence.statistic.exact(members)[0, kept]
    drawn = channel.draw(np.tile(defence.statistic.exact(members), (n, 1)), np.random.default_rng(3))[:, kept]
    certificate = defence.certificate("pool")
    for other in ([0, 1, 1, 0, 0], [1, 0, 0, 1, 0], [1, 0, 0, 0, 1]):
        there = defence.statistic.exact(np.array([other]))[0, kept]
        ratio = (law.logpdf((drawn - here) / spread) - law.logpdf((drawn - there) / spread)).sum(axis=1)
        for epsilon in (0.5, 2.0, 4.0):
            found = np.maximum(-np.expm1(epsilon - ratio), 0.0)
            assert found.mean() - 5 * found.std() / np.sqrt(n) <= certificate.delta(epsilon).upper


@pytest.mark.parametrize("kind", [Gaussian, Laplace])
def test_prices_spread_the_noise_best(kind):
    """sum_j kappa_j E|noise_j| is least at the same sum of squared (Gaussian) or plain (Laplace) precisions."""
    price = np.array([0.2, 1.0, 5.0, 30.0])
    channel = kind(0.1, tuple(price)).prepare(BINARY).channel
    sizes = np.sqrt(channel.variance / (2 if kind is Laplace else 1))
    power = 1 if kind is Laplace else 2
    best, held = float(price @ sizes), float(np.sum(sizes**-power))
    assert np.allclose(sizes, 0.1 * price ** (-1 / (power + 1)))
    rng = np.random.default_rng(0)
    for _ in range(100):
        other = sizes * np.exp(rng.normal(0, 0.2, 4))
        other *= (float(np.sum(other**-power)) / held) ** (1 / power)
        assert float(np.sum(other**-power)) == pytest.approx(held)
        assert float(price @ other) >= best * (1 - 1e-12)


@pytest.mark.parametrize("kind", [Gaussian, Laplace])
def test_what_costs_nothing_is_not_published(kind):
    release = SummaryStatistics(kind(0.1, (1.0, 0.0, 0.0, 2.0)).prepare(BINARY), clip=False)
    draws = release.draw(20, np.random.default_rng(0))
    assert np.all(draws.outputs[:, 1:3] == BINARY.frequencies[1:3])
    assert np.ptp(draws.outputs[:, 0]) > 0
    nothing = kind(0.1, (0.0,) * 4).prepare(BINARY)
    assert nothing.certificate().epsilon(0.0).upper == 0.0
    assert nothing.certificate("pool").epsilon(0.0).upper == 0.0
    assert not nothing.channel.informative


@pytest.mark.parametrize("kind", [Gaussian, Laplace])
def test_an_error_is_the_mean_size_of_the_noise(kind):
    release = SummaryStatistics(kind.at_error(0.03).prepare(BINARY), clip=False)
    # 40,000 numbers: a relative error of 5 deviations is 0.025 at most
    assert release.draw(10_000, np.random.default_rng(0)).error == pytest.approx(0.03, rel=0.025)


@pytest.mark.parametrize("kind", [Gaussian, Laplace])
@pytest.mark.parametrize("rows", ["any", "pool"])
def test_extreme_sizes_of_noise(kind, rows):
    many = people(20, 4)  # a swap moves a share by 1/10: mu is below what curves take, and is rounded up to that
    assert kind(1e100).prepare(many).certificate(rows).epsilon(1e-9).upper <= 1e-9
    assert kind(1e60).prepare(BINARY).certificate(rows).delta(0.0).upper <= 1e-50
    assert kind(1e-60).prepare(BINARY).certificate(rows).epsilon(1e-9).upper > 1e59


def test_candidates_who_are_alike_need_no_noise():
    zeros = Population(np.zeros((4, 3)), np.zeros((2, 3)))
    tenths = Population(np.full((5, 3), 0.1), np.zeros((2, 3)))
    for population in (zeros, tenths):
        assert Gaussian(0.1).prepare(population).certificate("pool").epsilon(1e-9).upper == 0.0
    assert Laplace(0.1).prepare(zeros).certificate("pool").epsilon(0.0).upper == 0.0
    alone = Population(np.zeros((1, 3)), np.zeros((2, 3)), Independent(0.5))
    assert Gaussian(0.1).prepare(alone, denominator="fixed").certificate("pool").epsilon(1e-9).upper == 0.0


def test_what_the_certificate_says():
    defence = Gaussian(0.1).prepare(BINARY)
    assert "differ by one swap" in defence.certificate().protects
    assert defence.certificate().witness is None
    assert "in the place of candidate" in defence.certificate("pool").witness
    assert "this pool of candidates and no other" in defence.certificate("pool").assumes[0]
    assert "this pool" not in " ".join(defence.certificate("any").assumes)
    alone = Gaussian(0.1).prepare(
        Population(BINARY.candidates, BINARY.reference, Independent(0.5)), denominator="fixed"
    )
    assert alone.certificate().protects == "whether one of the 5 candidates is in the data"
    assert SummaryStatistics(defence).certificate().delta(1.0) == defence.certificate().delta(1.0)


@pytest.mark.parametrize("kind", [Gaussian, Laplace])
def test_bad_input_is_refused(kind):
    good = kind(0.1)
    calls = [
        lambda bad=bad: kind(bad) for bad in (0.0, -1.0, float("nan"), float("inf"), 1e-101, 1e101, True, "1", None)
    ]
    weights = (1.0, -1.0), (float("nan"),), [], [[1.0]], "ab", (1e7,), (1e-7,), 3.0, (True, "x")
    calls += [lambda bad=bad: kind(0.1, bad) for bad in weights]
    calls += [
        lambda: kind(0.1, (1.0, 2.0)).prepare(BINARY),
        lambda: good.prepare(BINARY.candidates),
        lambda: good.prepare(BINARY, denominator="mean"),
        lambda: good.prepare(BINARY).certificate("all"),
        lambda: kind.at_error(0.0),
        lambda: kind.at_error(float("nan")),
    ]
    for call in calls:
        with pytest.raises(InvalidParameter):
            call()


def test_many_different_prices_compose():
    prices = tuple(float(x) for x in np.random.default_rng(0).uniform(0.5, 2.0, 60))
    defence = Laplace(0.5, prices).prepare(people(10, 60))
    parts = defence.certificate().curve.parts
    assert sum(part.count for part in parts) == 60
    assert "weighted" in defence.name
