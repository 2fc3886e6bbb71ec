"""Designs after continuous noise: the true delta of everything together, and what no mechanism undercuts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from tests.confounding.noisy_truth import Noisy, binned_delta
from tests.examples import seeds

from quiltwork.confounding.line.laws.components import Mixture, Normal
from quiltwork.confounding.line.readings import noise
from quiltwork.confounding.line.world import gaussian_world, mixture_world
from quiltwork.confounding.world import World
from quiltwork.errors import InvalidParameter, Unreachable, Unsupported

HAIR = mp.mpf(10) ** -28  # of the reference
QUADRATURE = 1e-11


def short(value: float, digits: int = 5) -> float:
    return float(f"{value:.{digits}g}")


def law(rng: np.random.Generator, size: int) -> list[float]:
    found = [short(share, 4) for share in rng.dirichlet(np.full(size, rng.choice([0.5, 1.0, 4.0])))]
    found[int(np.argmax(found))] += 1.0 - math.fsum(found)
    return found


def finite_case(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    secrets, size = int(rng.integers(2, 4)), int(rng.integers(2, 7))
    values = np.round(np.sort(rng.normal(size=size) * 2.0) + 0.01 * np.arange(size), 3).tolist()
    copies = 1 if kind == "laplace" else int(rng.integers(1, 4))
    outputs = None if rng.uniform() < 0.5 else np.round(np.sort(rng.normal(size=int(rng.integers(2, 5)))), 3).tolist()
    return {
        "data": [law(rng, size) for _ in range(secrets)], "values": values, "kind": kind,
        "scale": short(rng.uniform(1.0, 9.0)), "copies": copies, "outputs": outputs,
    }  # fmt: skip


def assert_meets(found: Any, real: Any, delta: float, slack: Any) -> None:
    assert real <= mp.mpf(delta) + slack
    assert mp.mpf(float(found.delta.lower)) - slack <= real <= mp.mpf(float(found.delta.upper)) + slack
    assert float(found.delta.upper) <= delta
    assert (found.counts >= 0).all()
    assert (found.counts.sum(axis=1) == 1 << found.bits).all()
    assert found.lower_bound is None or found.lower_bound <= found.cost


# ---- finite data


@pytest.mark.parametrize("seed", seeds(8))
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_everything_together_meets_the_target(kind: str, seed: int) -> None:
    rng = np.random.default_rng([seed, kind == "laplace"])
    case = finite_case(rng, kind)
    world = World(data=case["data"], values=case["values"])
    before = world.release(*[noise(kind, case["scale"])] * case["copies"])
    epsilon = short(rng.uniform(0.05, 2.0))
    delta = short(float(before.delta(epsilon).upper) + float(rng.choice([0.1, 0.01, 1e-4])) * rng.uniform(0.3, 1.0))
    cost = "squared" if case["outputs"] else str(rng.choice(["squared", "zero-one"]))
    found = world.design(before, epsilon=epsilon, delta=delta, cost=cost, outputs=case["outputs"])
    truth = Noisy(case["data"], case["values"], kind, case["scale"], case["copies"])
    assert_meets(found, truth.delta(found.counts, found.bits, world.ordered, epsilon), delta, HAIR)
    other = short(rng.uniform(-0.5, 3.0))
    ends, real = found.after.delta(other), truth.delta(found.counts, found.bits, world.ordered, other)
    assert mp.mpf(float(ends.lower)) - HAIR <= real <= mp.mpf(float(ends.upper)) + HAIR


@pytest.mark.parametrize("seed", seeds(3))
def test_lower_bounds_hold_for_every_channel_of_a_grid(seed: int) -> None:
    """Two values, two outputs: all channels of a fine grid that meet the target cost at least the lower bound."""
    rng = np.random.default_rng(seed)
    data, values, scale = [law(rng, 2), law(rng, 2)], [0.0, 1.0], short(rng.uniform(0.8, 3.0))
    world = World(data=data, values=values)
    before = world.release(noise("gaussian", scale))
    epsilon = short(rng.uniform(0.1, 0.6))
    delta = short(float(before.delta(epsilon).upper) + 0.03)
    found = world.design(before, epsilon=epsilon, delta=delta)
    assert found.lower_bound is not None
    y = np.linspace(-9.0 * scale, 1.0 + 9.0 * scale, 1601)
    shapes = np.exp(-0.5 * ((y - np.array([[0.0], [1.0]])) / scale) ** 2) / (scale * math.sqrt(2.0 * math.pi))
    shares = np.linspace(0.0, 1.0, 61)
    first, second = (grid.ravel() for grid in np.meshgrid(shares, shares))  # P(z = 0 | x) for both x
    real = np.zeros(first.size)
    for i, j in ((0, 1), (1, 0)):
        signed = np.array(data[i]) - math.exp(epsilon) * np.array(data[j])
        total = np.zeros(first.size)
        for table in (np.stack([first, second], 1), np.stack([1.0 - first, 1.0 - second], 1)):
            total += np.trapezoid(np.maximum((table * signed) @ shapes, 0.0), y, axis=1)
        real = np.maximum(real, total)
    chance = 0.5 * (np.array(data[0]) + np.array(data[1]))
    paid = chance[0] * (1.0 - first) + chance[1] * second  # squared distance to the value, outputs 0 and 1
    allowed = real <= delta - 1e-6  # the error of the sum
    assert allowed.any()
    assert found.lower_bound <= paid[allowed].min()
    assert found.cost <= paid[allowed].min() + 0.02


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_lower_bounds_hold_for_designs_with_other_cells(kind: str) -> None:
    rng = np.random.default_rng(7)
    for _ in seeds(3, least=1):
        case = finite_case(rng, kind)
        world = World(data=case["data"], values=case["values"])
        before = world.release(noise(kind, case["scale"]))
        delta = short(float(before.delta(0.6).upper) + 0.02)
        designs = [world.design(before, epsilon=0.6, delta=delta, clusters=cells) for cells in (8, 64, 400)]
        cheapest = min(found.cost for found in designs)
        assert all(found.lower_bound is not None and found.lower_bound <= cheapest for found in designs)


def test_pure_targets_after_laplace_noise() -> None:
    """delta = 0: every output of the pair has a ratio of at most e^epsilon, and something is told."""
    data, values = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], [0, 1, 2]
    world = World(data=data, values=values)
    before = world.release(noise("laplace", 6.0))
    found = world.design(before, epsilon=0.9, delta=0)
    assert float(found.delta.upper) == 0.0
    assert found.cost < 0.02
    y = np.linspace(-40.0, 40.0, 4001)
    shapes = np.exp(-np.abs(y - np.array([[0.0], [1.0], [2.0]])) / 6.0)
    for shares in found.channel.T:
        p, q = (np.array(row) * shares @ shapes for row in data)
        assert np.all(np.maximum(p, q) <= math.exp(0.9) * np.minimum(p, q) * (1.0 + 1e-13))


def test_small_deltas_are_not_given_up() -> None:
    """The enclosures are as fine as the target asks for, and a mechanism that is free to tell all does so."""
    world = World(data=[[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], values=[0, 1, 2])
    for delta in (1e-13, 1e-15):
        found = world.design(world.release(noise("laplace", 6.0)), epsilon=0.9, delta=delta)
        real = Noisy([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], [0, 1, 2], "laplace", 6.0).delta(
            found.counts, found.bits, world.ordered, 0.9
        )
        assert_meets(found, real, delta, HAIR)
        assert found.cost < 0.02
    line = gaussian_world([0, 1], 1)
    assert line.design(line.release(3), edges=[0, 1], epsilon=3.0, delta=1e-12).cost < 1e-9


def test_coarse_tables_still_tell_something() -> None:
    line = gaussian_world([0, 1], 1)
    before = line.release(3)
    found = line.design(before, edges=[0, 1], epsilon=0.7, delta=0.05, bits=8)
    law_of = [[(1.0, 0.0, 1.0)], [(1.0, 1.0, 1.0)]]
    real = binned_delta(law_of, 3.0, [0, 1], found.channel, line.ordered, 0.7)
    assert_meets(found, mp.mpf(real), 0.05, QUADRATURE)
    assert found.cost < 0.4


def test_answers_in_no_time_are_certified() -> None:
    rng = np.random.default_rng(3)
    case = finite_case(rng, "gaussian")
    world = World(data=case["data"], values=case["values"])
    before = world.release(noise("gaussian", 4.0))
    delta = short(float(before.delta(0.5).upper) + 0.05)
    truth = Noisy(case["data"], case["values"], "gaussian", 4.0)
    for limit in (0, 0.01):
        found = world.design(before, epsilon=0.5, delta=delta, time_limit=limit)
        assert_meets(found, truth.delta(found.counts, found.bits, world.ordered, 0.5), delta, HAIR)


def test_epsilon_and_beta_after_a_design() -> None:
    data, values = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], [0, 1, 2]
    world = World(data=data, values=values)
    found = world.design(world.release(noise("gaussian", 3.0)), epsilon=0.5, delta=0.05)
    truth = Noisy(data, values, "gaussian", 3.0)
    ends = found.after.epsilon(0.02)
    assert truth.delta(found.counts, found.bits, world.ordered, float(ends.upper)) <= mp.mpf("0.02")
    assert truth.delta(found.counts, found.bits, world.ordered, float(ends.lower)) >= mp.mpf("0.02")
    # 1 - delta - t alpha never exceeds the trade-off function, and it is met at one alpha
    alphas = np.array([0.05, 0.2, 0.5])
    lower = np.asarray(found.after.beta(alphas).lower)
    lines = [
        1.0 - float(truth.delta(found.counts, found.bits, world.ordered, eps)) - math.exp(eps) * alphas
        for eps in np.linspace(-1.5, 1.5, 61).tolist()
    ]
    assert np.all(lower <= np.max(lines, axis=0) + 1e-3)
    assert np.all(lower >= np.max(lines, axis=0) - 0.02)


# ---- continuous data in bins


@pytest.mark.parametrize("seed", seeds(4, least=1))
def test_bins_of_continuous_data_meet_the_target(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = int(rng.integers(1, 3))
    laws = [
        [(w, short(rng.normal(), 4), short(rng.uniform(0.4, 1.5), 3)) for w in law(rng, parts)]
        for _ in range(int(rng.integers(2, 4)))
    ]
    world = mixture_world([Mixture([w for w, _, _ in row], [Normal(m, s) for _, m, s in row]) for row in laws])
    spread, copies = short(rng.uniform(1.0, 5.0)), int(rng.integers(1, 3))
    before = world.release(*[spread] * copies)
    epsilon = short(rng.uniform(0.1, 2.0))
    delta = short(float(before.delta(epsilon).upper) + float(rng.choice([0.1, 0.01])) * rng.uniform(0.3, 1.0))
    edges = np.unique(np.round(rng.normal(size=int(rng.integers(1, 4))), 2)).tolist()
    found = world.design(before, edges=edges, epsilon=epsilon, delta=delta)
    real = binned_delta(laws, spread / math.sqrt(copies), edges, found.channel, world.ordered, epsilon)
    assert_meets(found, mp.mpf(real), delta, QUADRATURE)


def test_what_is_read_may_be_scaled_and_turned() -> None:
    """-2 x with noise of 3 is x with noise of 3/2."""
    world = gaussian_world([0, 1], 1)
    found = world.design(world.release(noise("gaussian", 3, [-2.0])), edges=[0.5], epsilon=0.5, delta=0.2)
    law_of = [[(1.0, 0.0, 1.0)], [(1.0, 1.0, 1.0)]]
    real = binned_delta(law_of, 1.5, [0.5], found.channel, world.ordered, 0.5)
    assert_meets(found, mp.mpf(real), 0.2, QUADRATURE)


def test_bins_that_hardly_anything_falls_into() -> None:
    """Probabilities too small for doubles are counted on the safe side."""
    world = gaussian_world([0, 1], 1)
    found = world.design(world.release(3), edges=[-40, 0.5, 40], epsilon=0.5, delta=0.1)
    real = binned_delta([[(1.0, 0.0, 1.0)], [(1.0, 1.0, 1.0)]], 3.0, [-40, 0.5, 40], found.channel, world.ordered, 0.5)
    assert_meets(found, mp.mpf(real), 0.1, QUADRATURE)


# ---- what is refused


@pytest.mark.parametrize("edges", [[], [1, 0], [0, 0], [math.nan], ["a"], 0.5, None, [[0, 1]], [True, False], [1e99]])
def test_bad_edges(edges: Any) -> None:
    world = gaussian_world([0, 1], 1)
    with pytest.raises(InvalidParameter):
        world.design(world.release(3), edges=edges, epsilon=0.7, delta=0.05)


def test_values_of_bins_may_be_an_array() -> None:
    world = gaussian_world([0, 1], 1)
    values = np.array([-1.0, 0.5, 2.0])
    one = world.design(world.release(3), edges=[0, 1], values=values, epsilon=0.7, delta=0.05)
    two = world.design(world.release(3), edges=[0, 1], values=values.tolist(), epsilon=0.7, delta=0.05)
    assert one.cost == two.cost
    with pytest.raises(InvalidParameter):
        world.design(world.release(3), edges=[0, 1], values=[1, 2], epsilon=0.7, delta=0.05)


def test_what_cannot_be_done_is_said() -> None:
    world = World(data=[[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], values=[0, 1, 2])
    before = world.release(noise("gaussian", 6.0))
    for options in ({"reads": "secret"}, {"reads": "data and output"}, {"exact": True}):
        with pytest.raises(Unsupported):
            world.design(before, epsilon=1, delta=0.02, **options)
    with pytest.raises(Unsupported):
        world.design(world.release(noise("gaussian", 6.0), noise("laplace", 6.0)), epsilon=1, delta=0.02)
    with pytest.raises(Unreachable):
        world.design(before, epsilon=0, delta=0.02)
    with pytest.raises(InvalidParameter):
        World(data=[[0.5, 0.5], [0.2, 0.8]]).design(before, epsilon=1, delta=0.02)
    line = gaussian_world([0, 1], [1, 2])
    with pytest.raises(Unsupported):
        line.design(line.release(noise("laplace", 3)), edges=[0.5], epsilon=1, delta=0.3)
    with pytest.raises(Unsupported):
        line.design(line.release(0), edges=[0.5], epsilon=5, delta=0.9)


def test_fractions_and_odds() -> None:
    world = World(data=[["1/3", "2/3"], ["2/3", "1/3"]], values=["1/3", "2/3"])
    found = world.design(world.release(noise("gaussian", 1)), odds=Fraction(3, 2), delta=Fraction(1, 20))
    truth = Noisy([[1 / 3, 2 / 3], [2 / 3, 1 / 3]], [1 / 3, 2 / 3], "gaussian", 1.0)
    real = truth.delta(found.counts, found.bits, world.ordered, math.log(1.5))
    assert_meets(found, real, 0.05, mp.mpf(10) ** -14)
