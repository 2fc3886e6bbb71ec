"""Designs after continuous noise: delta on the line against plain quadrature, lower bounds against other designs."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats

from quiltwork.confounding import World, noise
from quiltwork.errors import InvalidParameter, Unreachable, Unsupported

DATA = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
GRID = np.linspace(-60.0, 60.0, 480_001)


def by_quadrature(parts: list[list[Any]], channel: np.ndarray, epsilon: float) -> float:
    """The sum over z of the integral of (sum_x g p - t sum_x g q)_+ for both orders; parts[s][x] are sub-densities."""
    first, second = (np.array([density(GRID) for density in row]) for row in parts)
    deltas = []
    for p, q in ((first, second), (second, first)):
        gap = np.maximum(channel.T @ p - math.exp(epsilon) * (channel.T @ q), 0.0)
        deltas.append(float(np.trapezoid(gap, GRID, axis=1).sum()))
    return max(deltas)


def finite_parts(law: Any) -> list[list[Any]]:
    return [[(lambda y, x=x, w=w: w * law(x).pdf(y)) for x, w in enumerate(row)] for row in DATA]


@pytest.mark.parametrize(
    ("noises", "law"),
    [
        ([noise("gaussian", 2.0)], lambda x: stats.norm(x, 2.0)),
        ([noise("gaussian", 3.0), noise("gaussian", 4.0)], lambda x: stats.norm(x, 2.4)),
        ([noise("laplace", 2.0)], lambda x: stats.laplace(x, 2.0)),
    ],
    ids=["gaussian", "two gaussians", "laplace"],
)
@pytest.mark.parametrize("target", [(0.5, 0.05), (0.8, 0.01)], ids=["loose", "tight"])
def test_everything_together_meets_the_target(noises: list[Any], law: Any, target: tuple[float, float]) -> None:
    world = World(data=DATA)
    epsilon, delta = target
    found = world.design(world.release(*noises), epsilon=epsilon, delta=delta, cost="zero-one")
    shown = by_quadrature(finite_parts(law), found.channel, epsilon)
    assert shown <= delta + 2e-7  # the error of the sum
    assert float(found.delta.lower) - 2e-7 <= shown <= float(found.delta.upper) + 2e-7
    assert float(found.delta.upper) <= delta
    assert found.lower_bound is not None
    assert found.lower_bound <= found.cost
    assert found.gap is not None
    assert found.gap < 0.02
    # some of the room that is left is used
    assert found.cost < min(world.data_law[0].sum() - world.data_law[0]) - 0.01


def test_more_cells_never_pass_the_lower_bound_of_fewer() -> None:
    world = World(data=DATA)
    existing = world.release(noise("gaussian", 2.0))
    coarse, fine = (world.design(existing, epsilon=0.5, delta=0.05, clusters=cells) for cells in (8, 512))
    assert coarse.lower_bound is not None
    assert fine.lower_bound is not None
    assert coarse.lower_bound <= fine.cost
    assert fine.lower_bound <= coarse.cost
    assert fine.cost - fine.lower_bound < coarse.cost - coarse.lower_bound


def test_bins_of_normal_data() -> None:
    """x | s ~ N(s, 1), y = x + N(0, 2^2), and a mechanism that reads the bin of x."""
    world = World.gaussian([0, 1], 1)
    edges = [-0.5, 0.5, 1.5]
    found = world.design(world.release(2), edges=edges, epsilon=0.8, delta=0.05)
    borders = [-math.inf, *edges, math.inf]
    spread, inner = math.sqrt(5.0), math.sqrt(0.8)

    def part(mean: float, low: float, high: float) -> Any:
        def density(y: np.ndarray) -> np.ndarray:
            centre = mean + 0.2 * (y - mean)
            inside = stats.norm.cdf((high - centre) / inner) - stats.norm.cdf((low - centre) / inner)
            return np.asarray(stats.norm.pdf(y, mean, spread) * inside)

        return density

    parts = [[part(mean, *ends) for ends in pairwise(borders)] for mean in (0.0, 1.0)]
    shown = by_quadrature(parts, found.channel, 0.8)
    assert shown <= 0.05 + 2e-7
    assert float(found.delta.lower) - 2e-7 <= shown <= float(found.delta.upper) + 2e-7


def test_bins_alone_are_a_finite_world() -> None:
    world = World.gaussian([0, 1], 1)
    binned = world.binned([0.5])
    tail = stats.norm.sf(0.5)
    assert binned.data == pytest.approx(np.array([[1 - tail, tail], [tail, 1 - tail]]), abs=1e-14)
    assert binned.values.tolist() == [0.0, 1.0]
    found = world.design(edges=[0.5], epsilon=0.5, delta=0.01, cost="zero-one")
    law = binned.data @ found.channel
    assert np.maximum(law[0] - math.exp(0.5) * law[1], 0.0).sum() <= 0.01 + 1e-12


def test_what_is_refused() -> None:
    world, line = World(data=DATA), World.gaussian([0, 1], 1)
    with pytest.raises(Unreachable, match="already has delta"):
        world.design(world.release(noise("gaussian", 0.5)), epsilon=0.1, delta=0.01)
    with pytest.raises(Unsupported, match="reads secret"):
        world.design(world.release(noise("gaussian", 2.0)), epsilon=1.0, delta=0.1, reads="secret")
    with pytest.raises(InvalidParameter, match="this same world"):
        World(data=DATA).design(world.release(noise("gaussian", 2.0)), epsilon=1.0, delta=0.1)
    with pytest.raises(InvalidParameter, match="rising order"):
        line.design(edges=[1.0, 0.0], epsilon=1.0, delta=0.1)
    with pytest.raises(Unsupported, match="Gaussian noise on one number"):
        line.design(line.release(noise("laplace", 2.0)), edges=[0.0], epsilon=1.0, delta=0.1)
