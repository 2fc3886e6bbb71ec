"""The next mechanism: reference values, brute force, and what it may read."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.confounding.design_truth import CASES, REFERENCE, Truth, assert_holds, odds_below, smooth
from tests.confounding.naive_program import full_program
from tests.examples import examples

from quiltwork.confounding.design.exact.design import solve_exactly
from quiltwork.confounding.design.program import Problem
from quiltwork.confounding.finite.channels import repeated
from quiltwork.confounding.world import World
from quiltwork.errors import InvalidParameter, Unreachable

F = Fraction
DATA = [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]
CHANNEL = [[0.55, 0.45], [0.5, 0.5], [0.45, 0.55]]
WORLD = World(data=DATA)
RELEASE = WORLD.release(CHANNEL)


# ---- reference values


@pytest.mark.parametrize("name", REFERENCE)
def test_reference_programs_are_solved_exactly(name: str) -> None:
    data, channel, cost, delta, optimum = REFERENCE[name]
    world = World(data=data)
    channels = [] if channel is None else [channel]
    found = world.design(world.release(*channels), odds=2, delta=delta, cost=cost, exact=True)
    assert found.optimum is not None
    assert found.optimum.cost == found.optimum.lower_bound == optimum
    assert found.optimum.gap == 0
    assert found.optimum.delta <= delta
    assert found.finished
    assert F(found.cost) >= optimum >= F(found.lower_bound)
    assert found.cost == pytest.approx(float(optimum), abs=1e-12)
    assert_holds(found, world, data, channels, odds=2, delta=delta)


@pytest.mark.parametrize("name", REFERENCE)
def test_floats_find_the_reference_values(name: str) -> None:
    data, channel, cost, delta, optimum = REFERENCE[name]
    world = World(data=data)
    channels = [] if channel is None else [channel]
    for target in ({"odds": 2}, {"epsilon": math.log(2)}):
        found = world.design(world.release(*channels), delta=delta, cost=cost, **target)
        assert found.cost == pytest.approx(float(optimum), abs=1e-9)
        assert found.lower_bound == pytest.approx(float(optimum), abs=1e-9)
        assert found.gap is not None
        assert found.gap < 1e-9
        assert_holds(found, world, data, channels, delta=delta, **target)
        if "odds" in target:
            assert F(found.lower_bound) <= optimum <= F(found.cost)


@pytest.mark.parametrize("name", CASES)
def test_the_table_of_the_theory(name: str) -> None:
    """LP column, and cheaper than noise, than composition at the level of the data, and than no information."""
    case, epsilon, delta, best, nothing, at_x, laplace, gaussian = CASES[name]
    world, channels = smooth(*case)
    found = world.design(world.release(*channels), epsilon=epsilon, delta=delta)
    assert found.cost == pytest.approx(best, abs=1e-4)
    assert found.finished
    assert found.gap is not None
    assert found.gap <= 1e-6
    assert found.cost < min(laplace, gaussian) - 0.01
    assert found.cost < at_x - 0.03
    law = world.data_law[0]
    silent = min(float(law @ (world.values - z) ** 2) for z in world.values)
    assert silent == pytest.approx(nothing, abs=1e-4)
    assert found.cost < silent - 0.03
    assert _at_the_data(world, channels, epsilon, silent) == pytest.approx(at_x, abs=1e-4)
    tables = [table.tolist() for table in channels]
    assert_holds(found, world, world.data.tolist(), tables, epsilon=epsilon, delta=delta)


def _at_the_data(world: World, channels: list[Any], epsilon: float, silent: float) -> float:
    """The cheapest mechanism if every value of the data is protected and epsilons add up."""
    every = World(secret=world.data_law[0] / world.data_law[0].sum(), data=np.eye(world.inputs), values=world.values)
    left = epsilon - float(every.release(*channels).epsilon(0.0).upper)
    return silent if left <= 0 else every.design(epsilon=left, delta=0, gap=1e-4).cost


# ---- against brute force


def random_world(seed: int, *, priors: int = 1, exact: bool = False) -> tuple[Any, list[Any], Any]:
    """Data, channels and priors; fractions when asked for."""
    rng = np.random.default_rng(seed)
    secrets, inputs = int(rng.integers(2, 4)), int(rng.integers(1, 4))

    def table(rows: int, columns: int) -> Any:
        whole = rng.integers(0, 8, size=(rows, columns)) + (np.arange(columns) == rng.integers(columns))
        if exact:
            return [[F(int(entry), int(row.sum())) for entry in row] for row in whole]
        return (whole / whole.sum(axis=1, keepdims=True)).tolist()

    data = [table(secrets, inputs) for _ in range(priors)]
    channels = [table(inputs, int(rng.integers(1, 4))) for _ in range(int(rng.integers(0, 3)))]
    return data if priors > 1 else data[0], channels, table(priors, secrets)


def chosen(seed: int, truth: Truth, inputs: int) -> tuple[F, F, list[list[float]]]:
    """Odds and a delta that the existing release meets, and costs of either sign."""
    rng = np.random.default_rng(seed + 1)
    odds = F(int(rng.integers(4, 13)), 4)
    room = F(int(rng.integers(0, 3)), 20)
    delta = min(truth.before(odds) + room, F(19, 20)) if truth.before(odds) < F(19, 20) else F(999, 1000)
    return odds, delta, rng.integers(-4, 5, size=(inputs, int(rng.integers(1, 4)))).astype(float).tolist()


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["data", "secret", "data and output"]), st.integers(1, 2))
def test_random_rational_worlds_against_exact_programs(seed: int, reads: str, priors: int) -> None:
    """The lower bound is at most the exact optimum, the answer meets the target and is near it."""
    data, channels, secret = random_world(seed, priors=priors, exact=True)
    try:
        world = World(secret=secret, data=data)
    except InvalidParameter:  # no two secrets can occur
        return
    truth = Truth(world, data, channels, secret=secret, reads=reads)
    odds, delta, cost = chosen(seed, truth, len(truth.joint[0]))
    if truth.before(odds) > delta:
        return
    weights = truth.weights([[F(entry) for entry in row] for row in cost])
    optimum = solve_exactly(truth.joint, world.ordered, odds, delta, weights).cost
    found = world.design(world.release(*channels), odds=odds, delta=delta, cost=cost, reads=reads)
    assert_holds(found, world, data, channels, odds=odds, delta=delta, secret=secret, reads=reads)
    assert found.lower_bound is not None
    assert F(found.lower_bound) <= optimum <= F(found.cost)
    assert found.cost == pytest.approx(float(optimum), abs=4e-6)
    exact = world.design(world.release(*channels), odds=odds, delta=delta, cost=cost, reads=reads, exact=True)
    assert exact.optimum is not None
    assert exact.optimum.cost == optimum
    assert_holds(exact, world, data, channels, odds=odds, delta=delta, secret=secret, reads=reads)


@settings(max_examples=examples(25), deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["data", "secret", "data and output"]),
    st.sampled_from([0.0, 1e-9, 0.1, 1.0, 3.0, 40.0, 800.0]),
    st.sampled_from([0.0, 1e-30, 1e-9, 0.01, 0.3]),
    st.sampled_from([{}, {"bits": 8}, {"bits": 52}, {"time_limit": 0}, {"clusters": 2}]),
)
def test_random_float_worlds_meet_their_target(
    seed: int, reads: str, epsilon: float, delta: float, options: dict[str, Any]
) -> None:
    data, channels, _ = random_world(seed)
    world = World(data=data)
    before = Truth(world, data, channels).before(odds_below(epsilon))
    try:
        found = world.design(world.release(*channels), epsilon=epsilon, delta=delta, reads=reads, **options)
    except Unreachable:
        assert before > F(delta) - F(1, 10**13)
        return
    assert before <= F(delta) + F(1, 10**45)
    assert_holds(found, world, data, channels, epsilon=epsilon, delta=delta, reads=reads)


@pytest.mark.parametrize("seed", range(4))
def test_floats_against_the_full_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data, channel = rng.dirichlet(np.ones(4), size=3), rng.dirichlet(np.ones(6), size=4)
    world = World(data=data)
    release = world.release(0.3 * channel + 0.7 * channel.mean(axis=0))
    found = world.design(release, epsilon=1.0, delta=0.03, cost="absolute")
    joint = world.data[:, :, None] * release.channel[None, :, :]
    wanted, _ = full_program(Problem(joint, world.ordered, math.e, 0.03, found.task.weights))
    assert found.cost == pytest.approx(wanted, abs=1e-7)
    assert found.lower_bound <= wanted + 1e-9


def test_equal_mechanisms_listed_one_by_one_are_merged() -> None:
    """2^7 outputs and their 8 counts are the same release, with the same exact optimum."""
    one = [["3/5", "2/5"], ["1/2", "1/2"], ["9/20", "11/20"]]
    data = [["1/2", "1/4", "1/4"], ["1/5", "2/5", "2/5"]]
    world = World(data=data)
    options = {"odds": F(2), "delta": F(1, 20), "cost": "absolute"}
    exact = world.design(world.release(joint=repeated(one, 7)), exact=True, **options)
    found = world.design(world.release(*[one] * 7), **options)
    assert exact.optimum is not None
    assert F(found.lower_bound) <= exact.optimum.cost <= F(found.cost)
    assert found.cost == pytest.approx(float(exact.optimum.cost), abs=1e-9)


# ---- what the mechanism reads


@pytest.mark.parametrize("delta", [0, 0.01, 0.2])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_a_binary_secret_with_nothing_before_is_randomized_response(epsilon: float, delta: float) -> None:
    """The least P(error) of an (epsilon, delta) channel on a fair bit is (1 - delta) / (1 + e^epsilon)."""
    found = WORLD.design(epsilon=epsilon, delta=delta, reads="secret", cost="zero-one")
    assert found.cost == pytest.approx((1 - delta) / (1 + math.exp(epsilon)), abs=1e-9)
    assert found.channel.shape == (2, 2)
    assert_holds(found, WORLD, DATA, epsilon=epsilon, delta=delta, reads="secret")


@pytest.mark.parametrize("seed", range(3))
def test_a_binary_secret_against_a_grid_of_all_channels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = rng.dirichlet(np.ones(3), size=2)
    world = World(secret=["1/3", "2/3"], data=data)
    release = world.release(0.2 * rng.dirichlet(np.ones(3), size=3) + 0.8 / 3)
    found = world.design(release, epsilon=1.0, delta=0.05, reads="secret", cost=[[0, 1], [3, 0]])
    laws, grid = world.data @ release.channel, np.linspace(0, 1, 301)
    first, second = np.meshgrid(grid, grid, indexing="ij")
    allowed = np.ones_like(first, dtype=bool)
    for i, j in ((0, 1), (1, 0)):
        shown = (first, second)
        hinges = [
            np.maximum(laws[i, y] * side(shown[i]) - math.e * laws[j, y] * side(shown[j]), 0)
            for y in range(3)
            for side in (lambda g: g, lambda g: 1 - g)
        ]
        allowed &= sum(hinges) <= 0.05
    costs = np.where(allowed, (1 - first) / 3 + 2 * second, np.inf)
    assert found.lower_bound <= costs.min() + 1e-12
    assert costs.min() - 0.02 <= found.cost <= costs.min() + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_reading_more_never_costs_more(seed: int) -> None:
    """A mechanism may ignore the earlier outputs."""
    rng = np.random.default_rng(seed)
    data, channel = rng.dirichlet(np.ones(3), size=2).tolist(), rng.dirichlet(np.full(3, 3.0), size=3).tolist()
    world = World(data=data)
    release = world.release(channel)
    delta = float(release.delta(1.0).upper) + 0.03
    plain, adaptive = (
        world.design(release, epsilon=1.0, delta=delta, reads=reads, cost="absolute")
        for reads in ("data", "data and output")
    )
    assert adaptive.channel.shape == (9, 3)
    assert adaptive.cost <= plain.cost + 1e-9
    assert_holds(adaptive, world, data, [channel], epsilon=1.0, delta=delta, reads="data and output")
    after = release.then_adaptive([adaptive.channel.reshape(3, 3, 3)[:, y] for y in range(3)])
    assert float(after.delta(1.0).upper) == pytest.approx(float(adaptive.delta.upper), abs=1e-12)


def test_adapting_can_save() -> None:
    """An earlier output that is free to be repeated leaves room where it was uninformative."""
    world = World(data=[[0.9, 0.1], [0.1, 0.9]])
    release = world.release([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]])
    plain, adaptive = (
        world.design(release, epsilon=1.0, delta=0.4, reads=reads) for reads in ("data", "data and output")
    )
    assert adaptive.cost < plain.cost - 0.01


def test_several_priors_all_hold() -> None:
    first, second = DATA, [[0.8, 0.1, 0.1], [0.3, 0.4, 0.3]]
    world = World(data=[first, second], secret=[[0.5, 0.5], [0.9, 0.1]])
    release = world.release(CHANNEL)
    found = world.design(release, epsilon=0.8, delta=0.05)
    assert_holds(
        found, world, [first, second], [CHANNEL], epsilon=0.8, delta=0.05, secret=[[0.5, 0.5], [0.9, 0.1]]
    )  # fmt: skip
    for data, secret in ((first, [0.5, 0.5]), (second, [0.9, 0.1])):
        alone = World(data=data, secret=secret)
        truth = Truth(alone, data, [CHANNEL], secret=secret)
        assert truth.delta(found, odds_below(0.8)) <= F("0.05")
        assert truth.cost(found) <= F(found.cost)
        assert alone.design(alone.release(CHANNEL), epsilon=0.8, delta=0.05).cost <= found.cost + 1e-9


def test_a_design_for_one_prior_need_not_hold_under_another() -> None:
    found = WORLD.design(RELEASE, epsilon=0.8, delta=0.05)
    other = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    assert Truth(World(data=other), other, [CHANNEL]).delta(found, odds_below(0.8)) > F("0.1")


def test_impossible_secrets_data_and_outputs() -> None:
    data = [[0.5, 0.5, 0.0], [0.2, 0.8, 0.0], [0.0, 0.0, 1.0]]
    channel = [[0.5, 0.5, 0.0], [0.4, 0.6, 0.0], [0.0, 0.0, 1.0]]
    world = World(secret=[0.5, 0.5, 0.0], data=data)
    for reads in ("data", "secret", "data and output"):
        found = world.design(world.release(channel), epsilon=0.3, delta=0.02, reads=reads, clusters=3)
        assert_holds(
            found, world, data, [channel], epsilon=0.3, delta=0.02, secret=[[0.5, 0.5, 0.0]], reads=reads
        )  # fmt: skip
