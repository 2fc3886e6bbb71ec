"""Trials for audits: two worlds one change apart, and the exact ratio between them."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from scipy import stats
from tests.game.core_cases import people

from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game import (
    Constant,
    CorrelatedGaussian,
    Exact,
    Gaussian,
    Half,
    Independent,
    Laplace,
    Population,
    RateDistortion,
    Several,
    Statistic,
    SummaryStatistics,
    auc,
)
from quiltwork.game.trials import Trials, trials

HALF = people(7, 5, seed=2)
COINS = Population(HALF.candidates, HALF.reference, Independent(0.5))


def labelled(found: Trials) -> tuple[np.ndarray, np.ndarray]:
    scores = np.concatenate([found.inside, found.outside])
    return scores, np.arange(len(scores)) < len(found.inside)


@pytest.mark.parametrize(("population", "denominator"), [(HALF, "members"), (HALF, "fixed"), (COINS, "fixed")])
def test_gaussian_trials_reach_the_certificate(population, denominator):
    """Without clipping the score is normal with means +-mu^2/2 and variance mu^2, mu that of the certificate."""
    defence = Gaussian(0.3).prepare(population, denominator=denominator)
    mu = defence.certificate("pool").curve.parts[0].family.mu
    found = trials(SummaryStatistics(defence, clip=False), 4000, np.random.default_rng(0))
    # Kolmogorov and Smirnov at 1e-5 twice; a mu that is 10% too small must be caught
    for scores, mean in ((found.inside, mu**2 / 2), (found.outside, -(mu**2) / 2)):
        assert stats.kstest(scores, stats.norm(mean, mu).cdf).pvalue > 1e-5
        assert stats.kstest(scores, stats.norm(mean * 0.81, mu * 0.9).cdf).pvalue < 1e-2
    assert len(found.inside) + len(found.outside) == 4000
    assert abs(len(found.inside) - 2000) < 5 * np.sqrt(1000)


@pytest.mark.parametrize("defender", [Gaussian(0.2), Laplace(0.15), RateDistortion(0.05)], ids=lambda d: d.name)
def test_scores_tell_the_worlds_apart_with_the_right_sign(defender):
    scores, inside = labelled(trials(SummaryStatistics(defender.prepare(HALF)), 600, np.random.default_rng(1)))
    assert auc(scores, inside) > 0.6  # at least 8 deviations above guessing here


def test_log_ratios_of_laplace_noise_stay_within_its_epsilon():
    release = SummaryStatistics(Laplace(0.2).prepare(HALF))
    scores, _ = labelled(trials(release, 500, np.random.default_rng(2)))
    assert np.abs(scores).max() <= release.defence.certificate("pool").epsilon(0.0).upper
    assert np.abs(scores).max() > 0.5 * release.defence.certificate("pool").epsilon(0.0).lower


def test_both_worlds_are_data_sets_of_half(monkeypatch):
    seen = []
    release = SummaryStatistics(Gaussian(0.2).prepare(HALF))
    draw = SummaryStatistics.draw

    def watched(self, count, rng, members=None):
        seen.append(members)
        return draw(self, count, rng, members)

    monkeypatch.setattr(SummaryStatistics, "draw", watched)
    found = trials(release, 300, np.random.default_rng(3))
    members = np.concatenate(seen)
    first, second = (int(word) for word in found.pair.split() if word.isdigit())
    assert first != second
    assert np.all(members.sum(axis=1) == Half().size(7))
    assert np.all(members[:, first] != members[:, second])
    assert members[:, first].sum() == len(found.inside)
    # the rest is half of the others, each alike: chi-square with 4 degrees below 35 but for 5e-7
    others = np.delete(members, [first, second], axis=1).sum(axis=0)
    assert float(np.sum((others - 300 * 2 / 5) ** 2 / (300 * 2 / 5 * 3 / 5))) < 35 * 5 / 4


def test_the_pair_is_the_worst_one():
    rows = np.zeros((6, 4))
    rows[2] = [1, 1, 1, 0]
    rows[5, 3] = 1
    found = trials(SummaryStatistics(Gaussian(0.2).prepare(Population(rows, rows))), 4, np.random.default_rng(0))
    assert sorted(int(word) for word in found.pair.split() if word.isdigit()) == [2, 5]
    alone = Population(rows, rows, Independent(0.5))
    found = trials(SummaryStatistics(Gaussian(0.2).prepare(alone, denominator="fixed")), 4, np.random.default_rng(0))
    assert found.pair == "candidate 2 in or out"


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_candidates_who_are_alike_are_still_two(value):
    """The pair is two people, so that both worlds have half of the candidates; their scores tell nothing."""
    alike = Population(np.full((4, 3), value), np.full((2, 3), value))
    found = trials(SummaryStatistics(Gaussian(0.2).prepare(alike), clip=False), 40, np.random.default_rng(0))
    assert found.pair == "candidate 0 in the place of candidate 1"
    assert np.abs(np.concatenate([found.inside, found.outside])).max() < 1e-12


def test_two_candidates_and_means_of_any_number():
    two = Population(np.eye(2), np.eye(2))
    assert len(trials(SummaryStatistics(Gaussian(0.2).prepare(two)), 50, np.random.default_rng(0)).inside) > 0
    scores, inside = labelled(trials(SummaryStatistics(Gaussian(0.2).prepare(COINS)), 600, np.random.default_rng(0)))
    assert auc(scores, inside) > 0.55


def test_blocks_change_nothing_but_the_draws(monkeypatch):
    """Small blocks hold few releases at once; the scores are those of the same mechanism."""
    release = SummaryStatistics(Gaussian(0.3).prepare(HALF), clip=False)
    mu = release.certificate().curve.parts[0].family.mu
    monkeypatch.setattr(import_module("quiltwork.game.trials"), "_AT_ONCE", 13)
    scores, inside = labelled(trials(release, 1500, np.random.default_rng(5)))
    assert len(scores) == 1500
    pool = release.defence.certificate("pool").curve.parts[0].family.mu
    assert pool <= mu
    # the area of a Gaussian test within five deviations of at most 0.015
    assert abs(auc(scores, inside) - stats.norm.cdf(pool / np.sqrt(2))) < 0.075


def test_what_has_no_law_of_noise_is_refused():
    rng = np.random.default_rng(0)
    noisy = SummaryStatistics(Gaussian(0.1).prepare(HALF))
    for release in (
        SummaryStatistics(Exact().prepare(HALF)),
        SummaryStatistics(Constant().prepare(HALF)),
        Several([noisy, noisy]),
    ):
        with pytest.raises(Unsupported):
            trials(release, 10, rng)
    for count in (1, 2.5, True, -1):
        with pytest.raises(InvalidParameter):
            trials(noisy, count, rng)


@pytest.mark.parametrize("correlation", [None, 0.5, -0.2])
def test_audits_of_correlated_releases_come_near_their_certificate(correlation):
    """The score of the best combination is normal with the certified mu: its mean gap is mu^2 within five errors."""
    rng = np.random.default_rng(5)
    crowd = Population.of((rng.random((60, 30)) < 0.4).astype(float), 20)
    release = CorrelatedGaussian(Statistic(crowd), (0.4, 0.5, 0.6), correlation)
    runs = trials(release, 4000, rng)
    model = release.linear()
    rows = crowd.candidates
    widest = max(((x - y) ** 2).sum() for x in rows for y in rows) / 100 / model.variance[0]
    gap = runs.inside.mean() - runs.outside.mean()
    assert abs(gap - widest) < 5.0 * 2.0 * np.sqrt(widest / 4000)
    mu = float(release.certificate("pool").curve.to_json()["releases"][0]["mu"])
    assert mu == pytest.approx(np.sqrt(widest), rel=1e-9)
