"""Extreme targets, early stops and refusals of designs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.confounding.design_truth import CASES, assert_holds, smooth

from quiltwork.confounding.line.readings import noise
from quiltwork.confounding.world import World
from quiltwork.errors import InvalidParameter, Unreachable, Unsupported

F = Fraction
DATA = [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]
CHANNEL = [[0.55, 0.45], [0.5, 0.5], [0.45, 0.55]]
WORLD = World(data=DATA)
RELEASE = WORLD.release(CHANNEL)


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
        assert "ended before the gap was closed" in found.explain()


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


def test_a_gap_that_only_the_certificate_leaves_is_said() -> None:
    """Cells of continuous outputs keep a gap that the solver does not see; `finished` is about the answer."""
    world = World(data=[[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    existing = world.release(noise("gaussian", 2.0))
    coarse = world.design(existing, epsilon=0.5, delta=0.05, clusters=6)
    assert coarse.gap is not None
    assert coarse.gap > 1e-6
    assert not coarse.finished
    assert "ended before the gap was closed" in coarse.explain()
    assert world.design(existing, epsilon=0.5, delta=0.05, clusters=6, gap=2 * coarse.gap).finished
