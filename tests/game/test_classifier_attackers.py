"""Attackers of tables against the exact posterior, summed over every query set and every assignment of rows."""

import itertools

import numpy as np
import pytest
from scipy import stats

from quiltwork.game.attackers.knowledge import Budget
from quiltwork.game.classifier import QueryRows, RowAssignment, RowMatching
from quiltwork.game.classifier.table import MARKER
from quiltwork.game.defenders.noise import Gaussian, Laplace
from quiltwork.game.measures import auc
from quiltwork.game.people.population import Half, Independent, Population


def people(candidates, prior, seed=0):
    """Two crowds of similar rows, so that which row is whose stays open."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.dirichlet([6, 1, 1], candidates), rng.dirichlet([1, 4, 2], candidates)])
    return Population(rows[rng.permutation(2 * candidates)[:candidates]], rows[:1], prior)


def chances(tables, release):
    """p(row | candidate) by scipy, number by number: tables x rows x candidates."""
    noise = release.noise
    law = stats.norm if isinstance(noise, Gaussian) else stats.laplace
    size = noise.sigma if isinstance(noise, Gaussian) else noise.scale
    y, centre = tables[:, :, None, :], release.population.candidates[None, None]
    inner = law.pdf(y, centre, size)
    clipped = np.where(y <= 0, law.cdf(0.0, centre, size), np.where(y >= 1, law.sf(1.0, centre, size), inner))
    return (clipped if release.clip else inner).prod(axis=3)


def posterior(outputs, release):
    """P(b_k = 1 | table): every set of candidates of the size seen, every way to give each row another one of them."""
    people, classes = release.population.size
    rates = release.population.prior.rates(people)
    found = np.empty((len(outputs), people))
    for index, table in enumerate(outputs.reshape(len(outputs), -1, classes)):
        rows = table[table[:, 0] != MARKER]
        p = chances(rows[None], release)[0]
        total, each = 0.0, np.zeros(people)
        for chosen in itertools.combinations(range(people), len(rows)):
            inside = np.isin(np.arange(people), chosen)
            prior = np.where(inside, rates, 1 - rates).prod()
            ways = list(itertools.permutations(chosen))
            weight = prior * sum(p[range(len(rows)), list(way)].prod() for way in ways) / len(ways)
            total += weight
            each += weight * inside
        found[index] = each / total
    return found


def scores(attacker, release, outputs):
    return attacker.fit(release, np.random.default_rng(0), Budget()).scores(outputs)


@pytest.mark.parametrize("noise", [Gaussian(0.15), Laplace(0.15)])
@pytest.mark.parametrize("clip", [True, False])
def test_one_row_is_exact(noise, clip):
    release = QueryRows(people(3, Half()), noise, clip)
    outputs = release.draw(40, np.random.default_rng(0)).outputs
    truth = posterior(outputs, release)
    for attacker in (RowMatching(), RowAssignment()):
        odds = scores(attacker, release, outputs)
        assert 1 / (1 + np.exp(-odds)) == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("noise", [Gaussian(0.1), Gaussian(0.25), Laplace(0.15)])
def test_close_to_the_best_attacker_of_all(noise):
    """The exact posterior is the best score there is; the two stay within 0.02 and 0.002 of its AUC."""
    release = QueryRows(people(7, Half()), noise)
    draws = release.draw(150, np.random.default_rng(2))
    truth = posterior(draws.outputs, release)
    best = auc(truth, draws.members)
    assert 0.6 < best < 0.95
    matching, assignment = (scores(each, release, draws.outputs) for each in (RowMatching(), RowAssignment()))
    assert abs(auc(matching, draws.members) - best) < 0.02
    assert abs(auc(assignment, draws.members) - best) < 0.002
    assert np.abs(1 / (1 + np.exp(-assignment)) - truth).mean() < 0.01
    # assigning all rows at once is nearer to the truth than one candidate at a time
    assert np.abs(1 / (1 + np.exp(-matching)) - truth).mean() > np.abs(1 / (1 + np.exp(-assignment)) - truth).mean()


def test_published_sizes_and_uneven_rates():
    """Under independent members the size is public; the exact posterior given it has the prior's rates."""
    release = QueryRows(people(5, Independent([0.1, 0.4, 0.5, 0.6, 0.9])), Gaussian(0.2))
    draws = release.draw(120, np.random.default_rng(3))
    sizes = draws.members.sum(axis=1)
    truth = posterior(draws.outputs, release)
    odds = scores(RowAssignment(), release, draws.outputs)
    guess = 1 / (1 + np.exp(-odds))
    assert guess[sizes == 1] == pytest.approx(truth[sizes == 1], abs=1e-9)
    assert np.abs(guess - truth).mean() < 0.02
    assert auc(odds, draws.members) == pytest.approx(auc(truth, draws.members), abs=0.005)
    matching = scores(RowMatching(), release, draws.outputs)
    assert auc(matching, draws.members) == pytest.approx(auc(truth, draws.members), abs=0.03)
    everybody, nobody = np.ones((1, 5), dtype=bool), np.zeros((1, 5), dtype=bool)
    for attacker in (RowMatching(), RowAssignment()):
        for members, sign in ((everybody, 1), (nobody, -1)):
            outputs = release.draw(1, np.random.default_rng(0), members).outputs
            assert np.all(scores(attacker, release, outputs) == 1000 * sign)


@pytest.mark.parametrize("noise", [Gaussian(1e-6), Laplace(1e-6), Gaussian(1e6)])
def test_extreme_noise_keeps_scores_finite(noise):
    release = QueryRows(people(6, Half()), noise)
    outputs = release.draw(20, np.random.default_rng(0)).outputs
    for attacker in (RowMatching(), RowAssignment()):
        assert np.isfinite(scores(attacker, release, outputs)).all()
    assert np.isfinite(release.features(outputs)).all()
