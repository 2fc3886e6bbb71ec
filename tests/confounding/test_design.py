"""The next mechanism: certified, optimal, and refused when nothing can help."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from tests.confounding.design_truth import CASES, Truth, assert_holds, fractions_of, odds_below, smooth
from tests.confounding.naive_program import full_program

from quiltwork.confounding import design as module
from quiltwork.confounding import progress
from quiltwork.confounding.certificate import Counts
from quiltwork.confounding.channels import repeated
from quiltwork.confounding.problem import Problem
from quiltwork.confounding.rational import solve_exactly
from quiltwork.confounding.world import World
from quiltwork.errors import InvalidParameter, Unreachable, Unsupported

F = Fraction
BINARY = [["1/2", "3/10", "3/20", "1/20"], ["1/20", "3/20", "3/10", "1/2"]]
TERNARY = [BINARY[0], ["1/5", "3/10", "3/10", "1/5"], BINARY[1]]
ONE = [["3/5", "2/5"], ["11/20", "9/20"], ["9/20", "11/20"], ["2/5", "3/5"]]
TWO = [
    ["33/100", "27/100", "11/50", "9/50"],
    ["11/40", "11/40", "9/40", "9/40"],
    ["9/40", "9/40", "11/40", "11/40"],
    ["9/50", "11/50", "27/100", "33/100"],
]
REFERENCE = {
    # theory/confounding.md section 4: exact primal and dual certificates
    "one release, absolute": (BINARY, ONE, "absolute", F(1, 20), F(627, 1240)),
    "one release, zero-one": (BINARY, ONE, "zero-one", F(1, 20), F(209, 1240)),
    "nothing before": (BINARY, None, "absolute", F(0), F(22, 45)),
    "three secrets": (TERNARY, TWO, "absolute", F(1, 20), F(57, 124)),
}

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


@settings(max_examples=25, deadline=None)
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


@settings(max_examples=25, deadline=None)
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


# ---- edges of the target


@pytest.mark.parametrize("epsilon", [0.0, 30.0, 100.0, 700.0, 800.0, 1e300])
@pytest.mark.parametrize("delta", [0, F(1, 10**400), 5e-324, 1e-20, 1e-16, 1e-9, 0.1, 1 - F(1, 10**20)])
def test_extreme_targets_are_met_and_used(epsilon: float, delta: Any) -> None:
    """With a large epsilon nearly everything may be told; with epsilon = delta = 0 only whether x is even.

    That is a fair coin whatever the secret, and saves 1/6: x is 0 or 2 (1/6 and 1/3), and 1 is the best answer, or
    1 or 3, and 2 is; each is off by one.
    """
    data = [["1/2", "1/2", "0", "0"], ["0", "1/2", "1/2", "0"], ["0", "0", "1/2", "1/2"]]
    world = World(data=data)
    found = world.design(epsilon=epsilon, delta=delta)
    if epsilon < 800:
        assert_holds(found, world, data, epsilon=epsilon, delta=delta)
    silent = min(_constant_costs(world))
    assert found.cost <= silent + 1e-12
    if epsilon >= 30:
        assert found.cost <= 1e-8
    elif delta == 0:
        assert silent == pytest.approx(7 / 6)
        assert found.cost == pytest.approx(1.0, abs=1e-9)


def test_nothing_released_never_violates_a_target() -> None:
    """Rows of floats that do not sum to one exactly: what tells nothing still tells nothing."""
    world = World(data=[[1 / 3, 1 / 3, 1 / 3], [0.3, 0.3, 0.4]])
    for delta in (0, 1e-16):
        found = world.design(epsilon=0.0, delta=delta)
        assert found.table.silent
        assert float(found.delta.upper) == 0.0
        assert found.cost == pytest.approx(min(_constant_costs(world)))


def _constant_costs(world: World) -> list[float]:
    return [float(world.data_law[0] @ (world.values - z) ** 2) for z in world.values]


def test_a_release_with_no_room_to_spare_leaves_a_constant() -> None:
    """The whole delta is spent, in floats that are certified from above only: a silent table is still an answer."""
    epsilon = 0.5
    release = WORLD.release([[0.8, 0.2], [0.5, 0.5], [0.2, 0.8]])
    delta = float(np.nextafter(float(release.delta(epsilon).upper), 1.0))
    found = WORLD.design(release, epsilon=epsilon, delta=delta)
    assert float(found.delta.upper) <= delta
    assert found.cost <= min(_constant_costs(WORLD)) + 1e-12


@pytest.mark.parametrize("delta", [0.1, 0.3, F(1, 3), 0.7])
def test_the_stated_delta_is_not_passed_by_a_unit(delta: Any) -> None:
    """0.1 as a double lies above 1/10: the certificate must not use the difference."""
    data = [[1 / 7, 6 / 7], [6 / 7, 1 / 7]]
    world = World(data=data)
    for bits in (50, 52):
        found = world.design(epsilon=0.1, delta=delta, cost="zero-one", bits=bits)
        assert_holds(found, world, data, epsilon=0.1, delta=delta)


@pytest.mark.parametrize(
    "cost",
    [
        [[0, 0], [0, 0], [0, 0]],
        [[7, 7], [7, 7], [7, 7]],
        [[-1e12, 1e12], [1e12, -1e12], [3, 1e-9]],
        [[0], [5], [-2]],
        [[1, 1, 2], [2, 1, 1], [1, 2, 1]],
        lambda x, z: -abs(x - z),
        "zero-one",
    ],
)
def test_costs_of_every_kind(cost: Any) -> None:
    for delta in (0, 0.05):
        found = WORLD.design(RELEASE, epsilon=0.5, delta=delta, cost=cost)
        assert_holds(found, WORLD, DATA, [CHANNEL], epsilon=0.5, delta=delta)
        assert found.gap is not None
        assert found.gap <= 1e-6


def test_one_value_of_the_data() -> None:
    world = World(data=[[1.0], [1.0]])
    found = world.design(world.release([[0.3, 0.7]]), epsilon=0.0, delta=0, outputs=[-1, 2])
    assert found.cost == pytest.approx(1.0)
    assert found.counts.tolist() == [[1 << 50, 0]]


# ---- stopping early


@pytest.mark.parametrize("limit", [0, 1e-9, 0.02])
def test_a_time_limit_gives_a_certified_answer(limit: float) -> None:
    world, channels = smooth(2, 16, (8, 8), (1.0, 1.0))
    release = world.release(*channels)
    found = world.design(release, epsilon=1.0, delta=0.02, time_limit=limit)
    tables = [table.tolist() for table in channels]
    assert_holds(found, world, world.data.tolist(), tables, epsilon=1.0, delta=0.02)
    best = CASES["C1"][3]
    assert found.lower_bound is not None
    assert found.lower_bound <= best + 1e-5
    assert found.cost >= best - 1e-5
    if limit == 0:
        assert not found.finished
        assert found.rounds == 0
        assert "stopped before" in found.explain()


def test_a_wide_gap_stops_earlier() -> None:
    world, channels = smooth(2, 16, (8, 8), (1.0, 1.0))
    loose, tight = (
        world.design(world.release(*channels), epsilon=1.0, delta=0.02, gap=gap) for gap in (0.5, 1e-9)
    )  # fmt: skip
    assert loose.rounds < tight.rounds
    assert loose.gap is not None
    assert tight.gap is not None
    assert tight.gap <= 1e-9 < loose.gap <= 0.5


# ---- refusals


def test_a_violated_target_is_refused_with_its_reason() -> None:
    world = World(data=[["1", "0"], ["0", "1"]])
    release = world.release([["9/10", "1/10"], ["1/10", "9/10"]])
    for options in ({}, {"exact": True}, {"reads": "secret"}):
        with pytest.raises(Unreachable) as caught:
            world.design(release, odds=3, delta=F(1, 10), **options)
        text = str(caught.value)
        assert "epsilon 1.09861 at delta 0.1" in text
        assert "already has delta 0.6" in text
        assert "an attacker may ignore what is added" in text
        assert "weaker target, or taking back a release" in text


def test_the_edge_of_a_violation_is_decided_in_fractions() -> None:
    world = World(data=[["1", "0"], ["0", "1"]])
    release = world.release([["9/10", "1/10"], ["1/10", "9/10"]])
    assert release.exact_delta(3) == F(3, 5)
    found = world.design(release, odds=3, delta=F(3, 5), cost="zero-one")
    assert F(float(found.delta.lower)) <= F(3, 5)
    with pytest.raises(Unreachable, match="already has delta"):
        world.design(release, odds=3, delta=F(3, 5) - F(1, 10**30), cost="zero-one")


def test_what_floats_cannot_decide_is_said() -> None:
    world = World(data=[[1 / 3, 2 / 3], [2 / 3, 1 / 3]])
    release = world.release([[1, 0], [0, 1]])
    bracket = release.delta(0.25)
    middle = 0.5 * (float(bracket.lower) + float(bracket.upper))
    with pytest.raises(Unreachable, match="give fractions and odds") as caught:
        world.design(release, epsilon=0.25, delta=middle)
    assert "with a certificate" in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"epsilon": None}, "epsilon and odds"),
        ({"odds": F(2)}, "epsilon and odds"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": None, "odds": F(1, 2)}, "odds"),
        ({"epsilon": None, "odds": math.nan}, "odds"),
        ({"epsilon": None, "odds": True}, "odds"),
        ({"epsilon": None, "odds": F(10) ** 301}, "odds"),
        ({"delta": -0.1}, "delta"),
        ({"delta": 1}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"delta": True}, "delta"),
        ({"delta": None}, "delta"),
        ({"reads": "everything"}, "reads"),
        ({"cost": "cubed"}, "cost"),
        ({"cost": [1, 2, 3]}, "cost"),
        ({"cost": [[1, 2]] * 2}, "cost"),
        ({"outputs": []}, "outputs"),
        ({"outputs": [math.nan]}, "outputs"),
        ({"exact": 1}, "exact"),
        ({"gap": -1.0}, "gap"),
        ({"gap": math.nan}, "gap"),
        ({"time_limit": -1.0}, "time_limit"),
        ({"time_limit": math.inf}, "time_limit"),
        ({"clusters": 0}, "clusters"),
        ({"clusters": 1.5}, "clusters"),
        ({"clusters": "x", "reads": "secret"}, "clusters"),
        ({"bits": 7}, "bits"),
        ({"bits": 53}, "bits"),
        ({"bits": True}, "bits"),
        ({"progress": "yes"}, "progress"),
        ({"epsilon": None, "odds": 3, "exact": True, "gap": -1}, "gap"),
        ({"epsilon": None, "odds": 3, "exact": True, "time_limit": math.nan}, "time_limit"),
    ],
)
def test_bad_input_is_refused(wrong: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        WORLD.design(RELEASE, **{"epsilon": 1.0, "delta": 0.1, **wrong})


@pytest.mark.parametrize("existing", [[[1, 0], [0, 1]], World(data=DATA).release(CHANNEL), "release"])
def test_only_releases_of_this_world_are_built_upon(existing: Any) -> None:
    with pytest.raises(InvalidParameter, match="existing"):
        WORLD.design(existing, epsilon=1.0, delta=0.1)


def test_exact_designs_need_fractions() -> None:
    with pytest.raises(Unsupported, match="odds"):
        WORLD.design(RELEASE, epsilon=1.0, delta=0.1, exact=True)
    world = World(data=[[1 / 3, 2 / 3], [0.5, 0.5]])
    with pytest.raises(Unsupported, match="fractions"):
        world.design(odds=F(2), delta=0, exact=True)


# ---- the answer


def test_the_answer_explains_itself() -> None:
    found = WORLD.design(RELEASE, epsilon=0.5, delta=0.05)
    text = found.explain()
    assert "Target: epsilon 0.5 at delta 0.05" in text
    assert "which of 2 secrets is true" in text
    assert f"at most {found.cost:.9g}" in text
    assert f"costs less than {found.lower_bound:.9g}" in text
    assert "the data follow the stated law" in text
    assert "stopped" not in text
    secret = WORLD.design(RELEASE, epsilon=0.5, delta=0.05, reads="secret")
    assert "the new mechanism alone reads the secret itself" in secret.explain()
    assert repr(found) == f"<Design: 3 x 3 table for epsilon 0.5 at delta 0.05, cost at most {found.cost:.6g}>"


def test_the_table_survives_json() -> None:
    found = WORLD.design(RELEASE, epsilon=0.5, delta=0.05, cost="absolute")
    told = json.loads(json.dumps(found.to_json()))
    assert told["schema"] == "quiltwork/design/1"
    assert told["target"] == {"epsilon": 0.5, "delta": 0.05}
    table = Counts(np.array(told["counts"], dtype=np.int64), told["bits"])
    assert table.counts.tolist() == found.counts.tolist()
    assert found.task.holds(table)
    assert [[F(count, 1 << told["bits"]) for count in row] for row in told["counts"]] == fractions_of(found)
    assert told["cost"]["upper"] == found.cost
    assert told["lower_bound"] == found.lower_bound
    assert told["exact"] is None


def test_exact_optima_survive_json() -> None:
    data, channel, cost, delta, optimum = REFERENCE["one release, absolute"]
    world = World(data=data)
    found = world.design(world.release(channel), odds=2, delta=delta, cost=cost, exact=True)
    told = json.loads(json.dumps(found.to_json()))["exact"]
    assert F(told["cost"]) == F(told["lower_bound"]) == optimum
    assert all(sum(map(F, row)) == 1 for row in told["channel"])


def test_the_curve_of_everything_together() -> None:
    found = WORLD.design(RELEASE, epsilon=0.5, delta=0.05)
    assert found.before is RELEASE
    for curve in (found.after, found.release, found.guarantee().curve):
        assert float(curve.delta(0.5).upper) == pytest.approx(0.05, abs=1e-9)
        assert float(curve.delta(0.5).upper) >= float(RELEASE.delta(0.5).lower)
    assert float(found.epsilon(0.05).upper) == pytest.approx(0.5, abs=1e-9)
    again = RELEASE.then(found.channel)
    assert float(again.delta(0.2).upper) == pytest.approx(float(found.release.delta(0.2).upper), abs=1e-12)
    assert "exactly this table of whole numbers" in found.guarantee().explain(1e-3)


def test_a_large_joint_table_is_guaranteed_at_its_target_only(monkeypatch: pytest.MonkeyPatch) -> None:
    found = WORLD.design(RELEASE, epsilon=0.5, delta=0.05)
    monkeypatch.setattr(module, "SMALL", 3)
    promised = found.guarantee().curve
    assert float(found.delta.upper) <= float(promised.delta(0.5).upper) <= 0.05
    for epsilon in (0.1, 1.0):
        assert float(promised.delta(epsilon).upper) >= float(found.after.delta(epsilon).lower)
    assert found.release is found.after


def test_fewer_bits_make_a_coarser_certified_table() -> None:
    coarse, fine = (WORLD.design(RELEASE, epsilon=0.5, delta=0.05, bits=bits) for bits in (8, 52))
    assert coarse.bits == 8
    assert coarse.counts.max() <= 256
    assert fine.cost <= coarse.cost <= fine.cost + 0.1
    assert_holds(coarse, WORLD, DATA, [CHANNEL], epsilon=0.5, delta=0.05)


def test_draws_follow_the_certified_table() -> None:
    """Chi-square with a false alarm in 1e-9 of runs, and a table off by 5% that must be caught."""
    found = WORLD.design(epsilon=0.5, delta=0.05, outputs=[0, 1, 2], bits=12)
    index = int(np.argmax((found.channel > 0.02).sum(axis=1)))
    law = found.channel[index]
    kept = law > 0
    assert kept.sum() > 1
    drawn = np.bincount(found.draw(np.full(20_000, index)), minlength=3)
    assert drawn[~kept].sum() == 0
    limit = float(chi2.isf(1e-9, int(kept.sum()) - 1))

    def statistic(stated: np.ndarray) -> float:
        expected = 20_000 * stated[kept]
        return float(((drawn[kept] - expected) ** 2 / expected).sum())

    assert statistic(law) < limit
    order = np.argsort(law)[-2:]
    broken = law.copy()
    broken[order[0]] += 0.05
    broken[order[1]] -= 0.05
    assert statistic(broken) > limit


def test_draws_keep_the_shape_of_their_inputs() -> None:
    found = WORLD.design(RELEASE, epsilon=0.5, delta=0.05)
    assert found.draw([[0, 1], [2, 0]]).shape == (2, 2)
    assert isinstance(found.draw(0), int)


@pytest.mark.parametrize("inputs", [0.0, True, [], -1, 3, "0", None, [0, 3], [0.5]])
def test_draws_of_what_is_no_input_are_refused(inputs: Any) -> None:
    with pytest.raises(InvalidParameter, match="inputs"):
        WORLD.design(RELEASE, epsilon=0.5, delta=0.05).draw(inputs)


# ---- progress


def test_progress_is_silent_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with progress.reporting(None) as report:
        assert report is None
    with progress.reporting(False) as report:
        assert report is None
    with progress.reporting(True) as report:
        assert report is not None
        report(1, 0.5, 0.75, 10)
    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: None)
    with progress.reporting(True) as report:
        assert report is None
    assert WORLD.design(RELEASE, epsilon=0.5, delta=0.05, progress=True).finished
