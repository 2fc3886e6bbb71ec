"""Laplace and Gaussian readings together, against quadrature over both outputs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import quiltwork.confounding as cf
from quiltwork.confounding.line.mixed import MixedNoises

WORLD = cf.World(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])  # values 0 and 1


def truth(epsilon, laplace=1.0, sigma=1.0, second=None):
    """delta by the midpoint rule over outputs of one Laplace and one Gaussian reading (or two Laplace ones)."""
    grid = np.linspace(-14.0, 15.0, 1450)
    one = np.stack([stats.laplace(x, laplace).pdf(grid) for x in (0.0, 1.0)])
    other = stats.norm if second is None else stats.laplace
    two = np.stack([other(x, sigma if second is None else second).pdf(grid) for x in (0.0, 1.0)])
    laws = [w * np.outer(one[0], two[0]) + (1 - w) * np.outer(one[1], two[1]) for w in (0.75, 0.25)]
    cell = (grid[1] - grid[0]) ** 2
    return max(np.maximum(a - math.exp(epsilon) * b, 0).sum() * cell for a, b in (laws, laws[::-1]))


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.8])
def test_both_ends_hold_and_are_near(epsilon):
    release = WORLD.release(cf.noise("laplace", 1.0), cf.noise("gaussian", 1.0))
    assert isinstance(release.curve, MixedNoises)
    found, exact = release.delta(epsilon), truth(epsilon)
    assert found.lower <= exact + 1e-4
    assert exact <= found.upper + 1e-4
    # told the variance of each noise as well, one knows more; at large epsilon most of what is left is that
    assert found.upper <= exact * {0.0: 1.25, 0.3: 1.5, 0.8: 3.5}[epsilon]
    assert found.upper <= release.bound().delta(epsilon).upper * (1 + 1e-9)


def test_two_laplace_readings():
    release = WORLD.release(cf.noise("laplace", 1.0), cf.noise("laplace", 2.0))
    for epsilon in (0.0, 0.5):
        found, exact = release.delta(epsilon), truth(epsilon, second=2.0)
        assert found.lower - 1e-4 <= exact <= found.upper + 1e-4


def test_epsilon_and_beta_follow():
    release = WORLD.release(cf.noise("laplace", 2.0), cf.noise("gaussian", 2.0))
    epsilon = release.epsilon(0.02)
    assert 0.0 <= epsilon.lower <= epsilon.upper < math.log(3)  # what the data themselves tell
    assert truth(float(epsilon.upper), 2.0, 2.0) <= 0.02 + 1e-4
    beta = release.beta(0.2)
    assert beta.lower <= beta.upper
    assert release.guarantee().epsilon(0.02).safe == epsilon.upper


def test_normal_data_have_an_epsilon_too():
    """Closed form within each cell; Gaussian readings in place of the Laplace one, with less noise, tell more."""
    world = cf.World.gaussian([0, 1], sd=1)
    both = world.release(cf.noise("laplace", 1.0), cf.noise("gaussian", 1.0)).epsilon(0.01)
    alone = world.release(1.0).epsilon(0.01)
    data = world.release(0.0).epsilon(0.01)
    assert alone.lower <= both.upper <= data.upper * (1 + 1e-6)
    assert both.lower >= alone.lower * (1 - 1e-9)


def test_what_is_read_without_noise_is_told_at_every_epsilon():
    """A coordinate that the secret decides, read without noise beside a Laplace reading: delta is 1 at infinity too."""
    world = cf.World.gaussian([[0, 0], [1, 0]], sd=[[0, 0], [0, 1]])
    release = world.release(cf.noise("gaussian", 0.0, [1, 0]), cf.noise("laplace", 1.0, [0, 1]))
    assert isinstance(release.curve, MixedNoises)
    for epsilon in (0.0, 30.0, math.inf):
        assert release.delta(epsilon).lower == release.delta(epsilon).upper == 1.0
    assert release.epsilon(0.5).lower == math.inf
    assert release.beta(0.0).upper == 0.0
    near = WORLD.release(cf.noise("laplace", 1.0), cf.noise("gaussian", 1.0))
    assert near.delta(math.inf).upper <= 1e-14
    assert "random variance" in " ".join(near.guarantee().because)


def test_a_bound_that_took_the_upper_ends_of_cells_would_be_too_small():
    """With all mass at the largest E of the bulk the noise is large, and the truth is above that."""
    release = WORLD.release(cf.noise("laplace", 1.0), cf.noise("gaussian", 1.0))
    last = release.curve.cells[-1][1]
    assert float(last.delta(0.0).upper) < truth(0.0)
    assert sum(mass for mass, _ in release.curve.cells) + release.curve.rest >= 1.0
