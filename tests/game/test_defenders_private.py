"""Sup-norm noise and peeling: certificates against every pair of data sets, and the laws that are drawn."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.game.core_cases import moves, people

from quiltwork.errors import InvalidParameter
from quiltwork.game import Half, Independent, PeelingMean, Population, SummaryStatistics, SupNormNoise, ladder
from quiltwork.game.attackers import Budget, LinearGaussian, Ridge

GAMES = [(Half(), "members"), (Half(), "fixed"), (Independent(0.3), "fixed"), (Independent(0.3), "members")]
BINARY = people(5, 4, seed=1).candidates
POOLS = {"binary": BINARY, "other": np.random.default_rng(5).random((5, 4)) * 0.6, "twins": BINARY[[0, 0, 1, 1]]}


def noise_scale(defence) -> float:
    """The scale that the mechanism really draws with."""
    names = defence.draw.__code__.co_freevars
    return defence.draw.__closure__[names.index("scale")].cell_contents


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 600.0])
@pytest.mark.parametrize(("prior", "denominator"), GAMES)
@pytest.mark.parametrize("pool", POOLS)
def test_sup_norm_certificate_covers_every_pair_of_data_sets(pool, prior, denominator, epsilon):
    """The loss of a move is its largest share over the scale, attained at the centre."""
    population = Population(POOLS[pool], np.zeros((1, 4)), prior)
    defence = SupNormNoise(epsilon).prepare(population, denominator=denominator)
    scale = Fraction(noise_scale(defence))
    worst = max(max(abs(x) for x in move) for move in moves(population, denominator)) / scale
    wide, narrow = (defence.certificate(rows).epsilon(0.0) for rows in ("any", "pool"))
    assert worst <= Fraction(narrow.upper) <= Fraction(wide.upper) * (1 + Fraction(1, 10**12))
    assert wide.upper <= epsilon
    assert wide.upper == pytest.approx(epsilon, rel=1e-12)
    if denominator == "fixed" or isinstance(prior, Half):
        assert float(worst) == pytest.approx(narrow.upper, rel=1e-12)


def test_alike_candidates_tell_nothing():
    rows = np.ones((4, 3))
    population = Population(rows, rows, Half())
    assert SupNormNoise(1.0).prepare(population).certificate("pool").epsilon(0.0).safe == 0.0


def test_sup_norm_noise_has_the_density_it_claims():
    """|z|_oo has a Gamma(m) law; with Gamma(m) as the radius it would not, and that is seen."""
    population = people(6, 5, seed=2)
    defence = SupNormNoise(2.0).prepare(population)
    exact = np.full((4000, 5), 0.5)
    noise = defence.defend(exact, np.zeros((4000, 6), dtype=bool), np.random.default_rng(3)) - exact
    sizes = np.abs(noise).max(axis=1) * 2.0 * 3  # in units of the scale: three members
    assert stats.kstest(sizes, stats.gamma(5).cdf).pvalue > 1e-3
    assert stats.kstest(sizes, stats.gamma(4).cdf).pvalue < 1e-9
    directions = noise / np.abs(noise).max(axis=1, keepdims=True)
    assert stats.kstest(directions[np.abs(directions) < 1], stats.uniform(-1, 2).cdf).pvalue > 1e-3


def _name_law(shares: np.ndarray, scale: float) -> np.ndarray:
    """P(each of three shares is the largest after Laplace noise), by quadrature over the winner's noisy value."""
    grid = np.linspace(-60 * scale, 60 * scale + 1, 20_001)
    width = grid[1] - grid[0]
    laws = [stats.laplace(share, scale) for share in shares]
    found = []
    for winner in range(3):
        others = np.prod([laws[other].cdf(grid) for other in range(3) if other != winner], axis=0)
        found.append(float(np.sum(laws[winner].pdf(grid) * others) * width))
    return np.array(found)


@pytest.mark.parametrize("denominator", ["members", "fixed"])
def test_a_name_and_a_share_cost_no_more_than_the_certificate(denominator):
    """All pairs of data sets of 4 candidates with 3 attributes; half of the noise would be caught."""
    rows = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1]], dtype=float)
    population = Population(rows, rows, Half())
    epsilon = 0.9
    defence = PeelingMean(epsilon, named=1).prepare(population, denominator=denominator)
    scale = 3.0 * 0.5 / epsilon
    sets = [np.isin(np.arange(4), pair) for pair in itertools.combinations(range(4), 2)]
    worst = worst_half = 0.0
    for one, two in itertools.permutations(sets, 2):
        if (one != two).sum() != 2:
            continue
        first, second = (population.candidates[inside].mean(axis=0) for inside in (one, two))
        for noise, half in ((scale, False), (scale / 2, True)):
            ratio = np.abs(np.log(_name_law(first, noise) / _name_law(second, noise))) + np.abs(first - second) / noise
            worst, worst_half = (worst, max(worst_half, ratio.max())) if half else (max(worst, ratio.max()), worst_half)
    certified = defence.certificate().epsilon(0.0)
    assert worst <= certified.upper <= epsilon
    assert worst_half > epsilon
    assert certified.upper == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("named", [None, 1, 4])
@pytest.mark.parametrize(("prior", "denominator"), GAMES)
def test_peeling_adds_up_to_its_epsilon_and_composes_below_it(prior, denominator, named):
    population = Population(BINARY, BINARY, prior)
    guarantee = PeelingMean(0.5, named).prepare(population, denominator=denominator).certificate()
    assert guarantee.epsilon(0.0).upper <= 0.5
    assert guarantee.epsilon(0.0).upper == pytest.approx(0.5, rel=1e-12)
    assert guarantee.epsilon(1e-2).upper < 0.5


def test_peeling_publishes_named_shares_and_nothing_of_others():
    population = people(20, 12, seed=4)
    defence = PeelingMean(1e6, 3).prepare(population)
    members = population.prior.draw(5, 20, np.random.default_rng(0))
    exact = defence.statistic.exact(members)
    released = defence.defend(exact, members, np.random.default_rng(1))
    for row, truth in zip(released, exact, strict=True):
        shown = ~np.isclose(row, population.frequencies, atol=1e-12)
        assert shown.sum() <= 3
        assert np.allclose(row[shown], truth[shown], atol=1e-3)
        assert truth[shown].min() >= np.sort(truth)[-3] - 1e-9


def test_sizes_that_make_no_sense_are_refused():
    population = people(6, 4)
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InvalidParameter):
            SupNormNoise(bad)
        with pytest.raises(InvalidParameter):
            PeelingMean(bad)
    with pytest.raises(InvalidParameter, match="at most 4"):
        PeelingMean(1.0, 5).prepare(population)
    with pytest.raises(InvalidParameter):
        PeelingMean(1.0, 0)


def test_attackers_simulate_them():
    """No linear model, so that a regression learns from draws; more noise tells less."""
    population = people(16, 30, seed=6)
    budget = Budget(train=800, calibrate=60, steps=20, batch=32)
    for defender in (SupNormNoise, PeelingMean):
        boards = [
            ladder(
                [Ridge(), LinearGaussian()], SummaryStatistics(defender(e).prepare(population)), budget=budget, test=60
            )
            for e in (1e4, 1.0)
        ]
        assert boards[0].best.auc.estimate > boards[1].best.auc.estimate
