"""Certificates of tables against exact numbers and sampled log-likelihood ratios."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import laplace as laplace_law
from scipy.stats import norm

import quiltwork as qw
from quiltwork.errors import Unsupported
from quiltwork.game.attackers.knowledge import Budget
from quiltwork.game.classifier import QueryRows, RowAssignment
from quiltwork.game.classifier.table import widest_swap
from quiltwork.game.defenders.noise import Gaussian, Laplace
from quiltwork.game.measures import auc, individual_auc
from quiltwork.game.people.population import Independent, Population


def population(rows, prior=None):
    return Population(rows, rows[:1]) if prior is None else Population(rows, rows[:1], prior)


def rows_of(seed, people=7, classes=5):
    return np.random.default_rng(seed).dirichlet(np.full(classes, 0.3), people)


@pytest.mark.parametrize("seed", range(4))
def test_the_widest_swap_is_rounded_up(seed):
    rows = rows_of(seed)
    exact = [[Fraction(float(value)) for value in row] for row in rows]
    pairs = list(itertools.combinations(range(7), 2))
    squares = {(i, j): sum((a - b) ** 2 for a, b in zip(exact[i], exact[j], strict=True)) for i, j in pairs}
    found, pair = widest_swap(rows, "gaussian")
    most = max(squares.values())
    assert squares[pair] == most
    assert most <= Fraction(found) ** 2 <= most * (1 + Fraction(1, 10**13))
    rise = {
        (i, j): max(
            sum(max(a - b, 0) for a, b in zip(exact[i], exact[j], strict=True)),
            sum(max(b - a, 0) for a, b in zip(exact[i], exact[j], strict=True)),
        )
        for i, j in pairs
    }
    found, pair = widest_swap(rows, "laplace")
    most = max(rise.values())
    assert float(rise[pair]) == pytest.approx(float(most), rel=1e-14)
    assert most <= Fraction(found) <= most * (1 + Fraction(1, 10**13))


@pytest.mark.parametrize("noise", [Gaussian(0.5), Laplace(0.5)])
def test_rows_that_hardly_differ_have_a_bound_that_is_not_zero(noise):
    """Squares of such differences underflow; the bound must not."""
    rows = np.array([[1.0, 0.0], [1.0, 1e-200]])
    assert widest_swap(rows, "gaussian")[0] > 0
    release = QueryRows(population(rows), noise)
    assert 0 < release.certificate("pool").delta(0.0).upper < 1e-12
    assert 0.5 < release.auc_ceiling("pool") < 0.5 + 1e-12


def test_bounds_for_any_rows_hold_for_every_pool():
    """The corners of the simplex are the worst pool; for them the two bounds agree up to the stated roughness."""
    corners, inner = population(np.eye(4)), population(rows_of(1))
    for noise in (Gaussian(0.7), Laplace(0.6)):
        whole = QueryRows(corners, noise).certificate("any")
        pool = QueryRows(corners, noise).certificate("pool")
        inside = QueryRows(inner, noise).certificate("pool")
        for epsilon in (0.0, 0.5, 2.0):
            assert pool.delta(epsilon).lower <= whole.delta(epsilon).upper
            assert inside.delta(epsilon).upper <= whole.delta(epsilon).upper
        assert whole.epsilon(1e-6).upper == pytest.approx(pool.epsilon(1e-6).upper, rel=1e-3)
    gaussian = QueryRows(corners, Gaussian(0.7)).certificate("any").curve
    with mpmath.workdps(40):
        least = mpmath.sqrt(2) / mpmath.mpf("0.7")
        mu = mpmath.mpf(gaussian.single("mu").mu)
        assert least <= mu <= least * (1 + mpmath.mpf("1.1e-6"))
    assert QueryRows(corners, Laplace(0.6)).certificate("any").epsilon(0.0).upper >= 2 / 0.6


def log_law(noise, clip, y, centre):
    """Log-likelihood of rows, by scipy; y is samples x classes."""
    law = norm(centre, noise.sigma) if isinstance(noise, Gaussian) else laplace_law(centre, noise.scale)
    inner = law.logpdf(y)
    if not clip:
        return inner.sum(axis=1)
    return np.where(y <= 0, law.logcdf(0.0), np.where(y >= 1, law.logsf(1.0), inner)).sum(axis=1)


def ratios(release, members, other, count, seed):
    """log of P(table | members) / P(table | other) on tables of the members: the sum over both orders of two rows."""
    classes = release.population.size[1]
    draws = release.draw(1, np.random.default_rng(seed), np.repeat(members[None], count, axis=0))
    tables = draws.outputs.reshape(count, -1, classes)

    def likelihood(chosen):
        people = np.flatnonzero(chosen)
        ways = [
            sum(log_law(release.noise, release.clip, tables[:, i], release.population.candidates[k]) for i, k in way)
            for way in (list(enumerate(order)) for order in itertools.permutations(people))
        ]
        return np.logaddexp.reduce(ways, axis=0)

    return likelihood(members) - likelihood(other)


def sampled_delta(losses, epsilon):
    """The hockey stick E(1 - e^(epsilon - loss))+ and five standard errors of it: one in two million is farther off."""
    parts = -np.expm1(np.minimum(epsilon - losses, 0.0))
    return parts.mean(), 5 * parts.std() / math.sqrt(len(parts))


@pytest.mark.parametrize("noise", [Gaussian(0.5), Laplace(0.4)])
@pytest.mark.parametrize("clip", [True, False])
def test_sampled_ratios_stay_below_the_certificate(noise, clip):
    release = QueryRows(population(rows_of(3, people=4, classes=3)), noise, clip)
    epsilons = (0.0, 0.5, 1.0, 2.0)
    certified = dict(zip(epsilons, release.certificate("pool").delta(np.array(epsilons)).upper, strict=True))
    worst = 0.0
    for k, other in itertools.permutations(range(4), 2):
        rest = next(person for person in range(4) if person not in (k, other))
        first, second = np.zeros((2, 4), dtype=bool)
        first[[k, rest]], second[[other, rest]] = True, True
        losses = ratios(release, first, second, 1500, 10 * k + other)
        for epsilon, bound in certified.items():
            value, slack = sampled_delta(losses, epsilon)
            assert value <= bound + slack
            worst = max(worst, value / bound)
    assert worst > 0.5  # order and clipping hide something, but the bound is no empty one


@pytest.mark.parametrize("noise", [Gaussian(1.0), Laplace(0.8)])
def test_one_row_attains_the_certificate(noise):
    """Corners, one query, no clipping: the certificate is the truth, and one with a fifth more noise would be false."""
    release = QueryRows(population(np.eye(3)), noise, clip=False)
    less = QueryRows(population(np.eye(3)), type(noise)(1.2 * (1.0 if isinstance(noise, Gaussian) else 0.8)))
    losses = ratios(release, np.array([True, False, False]), np.array([False, True, False]), 20_000, 5)
    caught = False
    for epsilon in (0.25, 1.0, 1.5):
        value, slack = sampled_delta(losses, epsilon)
        truth = release.certificate("pool").delta(epsilon)
        assert truth.lower - slack <= value <= truth.upper + slack
        caught = caught or value - slack > less.certificate("pool").delta(epsilon).upper
    assert caught


def test_laplace_noise_on_one_entry_dominates_noise_on_several():
    """The step that the Laplace certificate rests on: d_1 and d_2 in two entries, or d_1 + d_2 in one."""
    for first, second in ((0.5, 0.5), (0.2, 0.8)):
        both = qw.laplace(0.5, first) + qw.laplace(0.5, second)
        epsilons = np.array([0.1, 0.7, 1.5, 1.9])
        assert np.all(both.delta(epsilons).lower <= qw.laplace(0.5, first + second).delta(epsilons).upper)


def test_words_of_the_certificate():
    release = QueryRows(population(rows_of(2)), Gaussian(0.5))
    told = release.certificate("pool")
    assert "all other queries and their number are the same" in told.protects
    assert told.witness == "candidate {} in the place of candidate {}".format(*widest_swap(rows_of(2), "gaussian")[1])
    assert any("pool" in line for line in told.assumes)
    anybody = release.certificate()
    assert anybody.witness is None
    assert any("trained on other images" in line for line in anybody.assumes)
    assert "post-processing" in anybody.explain()


@pytest.mark.parametrize("noise", [Gaussian(1.0), Laplace(1.0)])
def test_no_attacker_passes_the_ceiling(noise):
    release = QueryRows(population(np.eye(4)[[0, 1]]), noise, clip=False)
    draws = release.draw(8_000, np.random.default_rng(0))
    scores = RowAssignment().fit(release, np.random.default_rng(0), Budget()).scores(draws.outputs)
    ceiling = release.auc_ceiling("pool")
    pooled = auc(scores, draws.members)
    slack = 5 * 0.5 / math.sqrt(len(draws))
    assert ceiling - 0.01 - slack < pooled < ceiling + slack
    assert np.all(individual_auc(scores, draws.members) < ceiling + slack)
    if isinstance(noise, Gaussian):  # Phi(mu / sqrt 2) with mu = sqrt 2
        assert ndtr(1.0) <= ceiling <= ndtr(1.0) + 1e-3
    assert release.auc_ceiling() == pytest.approx(ceiling, abs=1e-5)
    varied = QueryRows(population(np.eye(3), Independent(0.5)), noise)
    with pytest.raises(Unsupported, match="number of queries varies"):
        varied.auc_ceiling()
    assert varied.certificate("pool").delta(0.0).upper > 0
