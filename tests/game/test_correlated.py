"""Correlated copies: their reduction to one number is exact, and so is their certificate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.game.core_cases import moves, people

from quiltwork.errors import InvalidParameter
from quiltwork.game import (
    Budget,
    CorrelatedGaussian,
    Gaussian,
    Independent,
    LinearGaussian,
    Population,
    Several,
    Statistic,
    SummaryStatistics,
)

SMALL = people(5, 3, seed=3)
MATRIX = ((1.0, 0.6, -0.2), (0.6, 1.0, 0.1), (-0.2, 0.1, 1.0))
CASES = [((0.1,), None), ((0.1, 0.3), None), ((0.1, 0.3), 0.9), ((0.2, 0.1, 0.4), -0.3), ((0.2, 0.1, 0.4), MATRIX)]


def solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Gauss and Jordan in fractions."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(len(rows)):
            if i != k:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def precision(sigmas, correlation) -> Fraction:
    """1' S^-1 1 with the numbers as they are typed."""
    exact = [Fraction(repr(sigma)) for sigma in sigmas]
    size = len(exact)
    rho = correlation if isinstance(correlation, tuple) else None
    value = Fraction(repr(float(correlation or 0.0))) if rho is None else None
    matrix = [
        [
            (Fraction(1) if i == j else value if rho is None else Fraction(repr(rho[i][j]))) * exact[i] * exact[j]
            for j in range(size)
        ]
        for i in range(size)
    ]
    return sum(solved(matrix, [Fraction(1)] * size), Fraction(0))


@pytest.mark.parametrize(("sigmas", "correlation"), CASES)
@pytest.mark.parametrize(("prior", "denominator"), [("half", "members"), ("half", "fixed"), ("coins", "fixed")])
def test_the_certificate_covers_every_move_in_fractions(sigmas, correlation, prior, denominator):
    population = SMALL if prior == "half" else Population(SMALL.candidates, SMALL.reference, Independent(0.5))
    release = CorrelatedGaussian(Statistic(population, denominator), sigmas, correlation)
    widest = max(sum((x * x for x in move), Fraction(0)) for move in moves(population, denominator))
    square = widest * precision(sigmas, correlation)
    mu = release.certificate("pool").curve.parts[0].family.mu
    assert Fraction(mu) ** 2 >= square
    assert Fraction(repr(mu)) ** 2 >= square
    assert mu**2 == pytest.approx(float(square), rel=1e-12)
    assert release.certificate().curve.parts[0].family.mu >= mu


@pytest.mark.parametrize(("sigmas", "correlation"), CASES)
def test_the_reduction_is_the_full_linear_estimate(sigmas, correlation):
    """The attacker's weights on all numbers against Cov(b) G' (G Cov(b) G' + S)^-1 with the full matrices."""
    population = people(6, 4, seed=8)
    statistic = Statistic(population)
    release = CorrelatedGaussian(statistic, sigmas, correlation)
    copies, prior = len(sigmas), population.prior.covariance(6)
    gain = np.tile(statistic.gain, (copies, 1))
    noise = np.kron(release.covariance, np.eye(4))
    full = prior @ gain.T @ np.linalg.inv(gain @ prior @ gain.T + noise)
    outputs = np.random.default_rng(0).random((7, 4 * copies))
    estimate = (outputs - np.tile(statistic.mean, copies)) @ full.T
    share = np.diag(full @ gain @ prior) / 0.25
    wanted = estimate / ((1 - share) * 0.25)
    found = LinearGaussian().fit(release, np.random.default_rng(0), Budget()).scores(outputs)
    assert np.allclose(found, wanted, rtol=1e-8, atol=1e-8)


def test_independent_copies_are_several_releases():
    population = people(6, 4, seed=8)
    copies = CorrelatedGaussian(Statistic(population), (0.1, 0.3))
    several = Several([SummaryStatistics(Gaussian(s).prepare(population), clip=False) for s in (0.1, 0.3)])
    outputs = np.random.default_rng(0).random((5, 8))
    one, two = (LinearGaussian().fit(r, np.random.default_rng(0), Budget()).scores(outputs) for r in (copies, several))
    assert np.allclose(one, two, rtol=1e-9)


def test_the_noise_has_its_covariance():
    release = CorrelatedGaussian(Statistic(SMALL), (0.2, 0.1, 0.4), MATRIX)
    draws = release.draw(8000, np.random.default_rng(1))
    noise = (draws.outputs - draws.exact).reshape(8000, 3, 3)  # release, copy, attribute
    wanted = np.array(MATRIX) * np.outer((0.2, 0.1, 0.4), (0.2, 0.1, 0.4))
    for attribute in range(3):
        # nine covariances, three times, within 5.5 deviations: false alarm below 2e-6
        found = np.cov(noise[:, :, attribute].T)
        assert np.all(np.abs(found - wanted) < 5.5 * np.outer((0.2, 0.1, 0.4), (0.2, 0.1, 0.4)) * np.sqrt(2 / 8000))
    across = np.corrcoef(noise[:, 0, 0], noise[:, 1, 1])[0, 1]
    assert abs(across) < 5 / np.sqrt(8000)
    assert release.dimension == 9
    assert np.array_equal(draws.exact[:, :3], draws.exact[:, 6:])
    assert release.features(draws.outputs) is None
    clipped = CorrelatedGaussian(Statistic(SMALL), (0.2,), clip=True).draw(50, np.random.default_rng(1))
    assert clipped.outputs.min() >= 0.0


def test_copies_that_agree_can_tell_more_than_independent_ones():
    """Negative correlation cancels the noise: a certificate that assumed independence would be too small."""
    one, two = (CorrelatedGaussian(Statistic(SMALL), (0.1, 0.1), rho).certificate() for rho in (0.0, -0.8))
    assert two.delta(1.0).lower > one.delta(1.0).upper


def test_candidates_who_are_alike_and_noise_without_end():
    zeros = Population(np.zeros((4, 3)), np.zeros((2, 3)))
    assert CorrelatedGaussian(Statistic(zeros), (0.1, 0.2), 0.3).certificate("pool").epsilon(1e-9).upper == 0.0
    assert CorrelatedGaussian(Statistic(zeros), (1e50,)).certificate("pool").epsilon(1e-9).upper == 0.0
    assert CorrelatedGaussian(Statistic(SMALL), (1e100,)).certificate().epsilon(1e-9).upper == 0.0
    assert CorrelatedGaussian(Statistic(SMALL), (1e100, 1e100), -0.9).certificate().epsilon(1e-9).upper == 0.0


def test_bad_input_is_refused():
    statistic = Statistic(SMALL)
    for call in (
        lambda: CorrelatedGaussian(SMALL, (0.1,)),
        lambda: CorrelatedGaussian(statistic, ()),
        lambda: CorrelatedGaussian(statistic, 0.1),
        lambda: CorrelatedGaussian(statistic, "ab"),
        lambda: CorrelatedGaussian(statistic, (0.1, 0.0)),
        lambda: CorrelatedGaussian(statistic, (0.1, float("nan"))),
        lambda: CorrelatedGaussian(statistic, (0.1, True)),
        lambda: CorrelatedGaussian(statistic, (0.1, 0.2), 1.0),
        lambda: CorrelatedGaussian(statistic, (0.1, 0.2, 0.3), -0.5),
        lambda: CorrelatedGaussian(statistic, (0.1, 0.2), ((1.0, 0.2), (0.3, 1.0))),
        lambda: CorrelatedGaussian(statistic, (0.1, 0.2), clip=None),
        lambda: CorrelatedGaussian(statistic, (0.1,)).certificate("all"),
        lambda: CorrelatedGaussian(statistic, (0.1,)).draw(0, np.random.default_rng(0)),
    ):
        with pytest.raises(InvalidParameter):
            call()
