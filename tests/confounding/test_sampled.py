"""Simulation: intervals that cover, and that never pass for a guarantee."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom
from scipy.stats import multivariate_normal as normal

from quiltwork.confounding.line.laws.components import Laplace, Mixture, Normal, Point, Uniform
from quiltwork.confounding.line.laws.vectors import NormalVectors
from quiltwork.confounding.line.readings import noise
from quiltwork.confounding.line.simulation import FiniteDraws, LineDraws, VectorDraws, estimate, half_width
from quiltwork.confounding.line.world import gaussian_world, mixture_world
from quiltwork.confounding.world import World
from quiltwork.errors import InvalidParameter, NotCertified, Unsupported

TRUE = 0.126936737506643946  # delta at epsilon 1 of N(1, 1) against N(0, 1)
VALUES = np.linspace(-1, 1, 8)


def finite_world():
    table = np.exp(-((VALUES[None, :] - np.array([-0.3, 0.3])[:, None]) ** 2) / 0.3)
    return World(data=table / table.sum(axis=1, keepdims=True), values=VALUES)


def test_the_half_width_is_that_of_the_theorem():
    """Maurer and Pontil 2009, Theorem 4, written out by hand for n = 101, V = 0.04, a = 0.02."""
    log = math.log(100.0)
    assert half_width(0.04, 101, 0.02) == pytest.approx(math.sqrt(2 * 0.04 * log / 101) + 7 * log / 300, rel=1e-14)


def test_the_interval_covers():
    """400 simulations at confidence 0.8.

    More than the 1 - 1e-6 quantile of misses means a broken interval: the false-alarm rate is below 1e-6.  An interval
    ten times too narrow must be caught.
    """
    draws = LineDraws((Mixture.of(Normal(1, 1)), Mixture.of(Normal(0, 1))))
    rng, missed, narrow = np.random.default_rng(11), 0, 0
    for _ in range(400):
        found = estimate(draws, [(0, 1)], 1.0, 400, 0.8, rng)
        missed += TRUE not in found
        narrow += not abs(float(found.midpoint) - TRUE) <= 0.05 * float(found.width)
    most = binom.ppf(1 - 1e-6, 400, 0.2)
    assert missed <= most
    assert narrow > most


def test_all_pairs_and_epsilons_share_the_error():
    draws = LineDraws((Mixture.of(Normal(1, 1)), Mixture.of(Normal(0, 1))))
    one = estimate(draws, [(0, 1)], [1.0], 1000, 0.9, np.random.default_rng(5))
    many = estimate(draws, [(0, 1)], [1.0] * 50, 1000, 0.9, np.random.default_rng(5))
    assert many.upper[0] > one.upper[0]
    assert many.lower[0] < one.lower[0]


@pytest.mark.parametrize(
    "release",
    [
        gaussian_world([0, 1], 1).release(1, 1),
        gaussian_world([[0, 0], [1, 1]], [[0.75, -0.5], [-0.5, 0.75]]).release(0.5),
        gaussian_world([0, 1, 2.5], [1, 0.5, 2]).release(0.7),
        mixture_world([Mixture([0.5, 0.5], [Normal(-1, 0.3), Normal(1, 0.3)]), Normal(0, 0.5)]).release(0.7, 0.7),
        mixture_world([Normal(0, 1), Normal(1, 1)]).release(noise("laplace", 0.5)),
        finite_world().release(noise("gaussian", 1.0), noise("gaussian", 0.5)),
        finite_world().release(noise("laplace", 1.0)),
    ],
    ids=repr,
)
def test_simulations_contain_certified_values(release):
    """Three intervals at confidence 1 - 1e-7 for each of seven releases: false-alarm rate below 1e-6."""
    epsilons = [0.0, 0.5, 1.0]
    found = release.estimate(epsilons, 20_000, 1 - 1e-7, rng=np.random.default_rng(2))
    exact = release.delta(epsilons)
    assert np.all(found.lower <= exact.upper)
    assert np.all(exact.lower <= found.upper)
    assert np.all(np.asarray(found.width) < 0.1)


def test_several_laplace_noises_are_simulated_and_bounded():
    release = finite_world().release(*[noise("laplace", 1.0)] * 3)
    certified = release.delta(0.3)
    found = release.estimate([0.0, 0.3], 20_000, 1 - 1e-7, rng=np.random.default_rng(4))
    assert np.all(found.lower <= release.bound().delta([0.0, 0.3]).upper)
    assert found.lower[1] <= certified.upper
    assert certified.lower <= found.upper[1]
    alone = finite_world().release(noise("laplace", 1.0)).delta([0.0, 0.3])
    assert np.all(found.upper >= alone.lower)  # more is told by three than by one


def test_correlated_noise_on_finite_data():
    """Two readings with correlated noise reduce to one; the simulation does not know that (rate below 1e-6)."""
    square = [[1, 0.6], [0.6, 1]]
    world = mixture_world(_points())
    release = world.release(0.8, 1.2, correlation=square)
    found = release.estimate([0.0, 0.4], 20_000, 1 - 1e-7, rng=np.random.default_rng(4))
    exact = release.delta([0.0, 0.4])
    assert np.all((found.lower <= exact.upper) & (exact.lower <= found.upper))
    assert isinstance(world.sampler(release.readings), FiniteDraws)


def _points():
    values = [Point(0.0), Point(1.0), Point(2.5)]
    return Mixture([0.5, 0.3, 0.2], values), Mixture([0.1, 0.3, 0.6], values)


def test_vectors_of_unequal_covariance():
    """Only simulated: compare with a plain average over other draws (rate below 1e-6 from both widths)."""
    laws = [
        NormalVectors([0.4, 0.6], [[0, 0], [1, 0]], [[[1, 0.3], [0.3, 1]], [[0.5, 0], [0, 0.5]]]),
        NormalVectors([1.0], [[0.5, 0.5]], [[[1, 0], [0, 2]]]),
    ]
    release = mixture_world(laws).release(0.5)
    with pytest.raises(Unsupported):
        release.epsilon(0.01)
    found = release.estimate(0.2, 40_000, 1 - 1e-7, rng=np.random.default_rng(8))
    rng = np.random.default_rng(9)
    added = 0.25 * np.eye(2)
    squares = [np.array(m) + added for m in ([[1, 0.3], [0.3, 1]], [[0.5, 0], [0, 0.5]], [[1, 0], [0, 2]])]

    def densities(y):
        p = 0.4 * normal([0, 0], squares[0]).pdf(y) + 0.6 * normal([1, 0], squares[1]).pdf(y)
        return p, normal([0.5, 0.5], squares[2]).pdf(y)

    picked = rng.random(40_000) < 0.4
    drawn = np.where(
        picked[:, None],
        rng.multivariate_normal([0, 0], squares[0], 40_000),
        rng.multivariate_normal([1, 0], squares[1], 40_000),
    )
    p, q = densities(drawn)
    one = np.maximum(1 - math.exp(0.2) * q / p, 0).mean()
    p, q = densities(rng.multivariate_normal([0.5, 0.5], squares[2], 40_000))
    two = np.maximum(1 - math.exp(0.2) * p / q, 0).mean()
    assert found.lower - 0.015 <= max(one, two) <= found.upper + 0.015
    assert isinstance(mixture_world(laws).sampler(release.readings), VectorDraws)


def test_it_is_never_a_guarantee():
    release = finite_world().release(*[noise("laplace", 1.0)] * 2)
    found = release.estimate(0.1, 1000, 0.999, rng=np.random.default_rng(1))
    assert not found.certified
    assert found.method == "Monte Carlo, confidence 99.9%"
    with pytest.raises(NotCertified):
        _ = found.safe


def test_chunks_change_nothing():
    draws = LineDraws((Mixture.of(Normal(1, 1)), Mixture.of(Normal(0, 1))))
    rng = np.random.default_rng(3)
    losses = np.concatenate([draws.losses(0, 1, 700, rng) for _ in range(3)])
    values = -np.expm1(np.minimum(0.5 - losses, 0.0))

    class Fixed:
        def __init__(self):
            self.left = losses.copy()

        def terms(self):
            return (1 << 21) // 700

        def losses(self, first, second, count, rng):
            taken, self.left = self.left[:count], self.left[count:]
            return taken

    found = estimate(Fixed(), [(0, 1)], 0.5, 2100, 0.9, rng)
    reach = half_width(float(values.var(ddof=1)), 2100, 0.05)
    assert float(found.lower) == pytest.approx(values.mean() - reach, abs=1e-9)
    assert float(found.upper) == pytest.approx(values.mean() + reach, abs=1e-9)


def ask(**changes):
    options = {"epsilon": 0.1, "samples": 100, "confidence": 0.99, "rng": np.random.default_rng(1)} | changes
    return (
        gaussian_world([0, 1], 1)
        .release(1)
        .estimate(options["epsilon"], options["samples"], options["confidence"], rng=options["rng"])
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"epsilon": []},
        {"samples": 1},
        {"samples": 10.5},
        {"samples": True},
        {"confidence": 0.0},
        {"confidence": 1.0},
        {"confidence": math.nan},
        {"confidence": 99.9},
        {"rng": None},
        {"rng": 7},
        {"rng": np.random.RandomState(1)},
    ],
)
def test_bad_questions_are_refused(changes):
    with pytest.raises(InvalidParameter):
        ask(**changes)


def test_what_cannot_be_drawn_is_refused():
    rng = np.random.default_rng(1)
    with pytest.raises(Unsupported):
        mixture_world([Normal(0, 1), Normal(1, 1)]).release(*[noise("laplace", 1)] * 2).estimate(0.1, 10, rng=rng)
    with pytest.raises(Unsupported):
        mixture_world([Uniform(0, 1), Laplace(1, 1)]).release(1).estimate(0.1, 10, rng=rng)
    with pytest.raises(Unsupported, match="singular"):
        gaussian_world([[0, 0], [1, 1]], [[1, 1], [1, 1]]).release(0).estimate(0.1, 10, rng=rng)
