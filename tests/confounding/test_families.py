"""Calibrated noise: the whole composition is evaluated, and the answer is certified like any other design."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.confounding.design_truth import CASES, assert_holds, smooth

from quiltwork.confounding.design import noise_families as families
from quiltwork.confounding.design.certificate import counted
from quiltwork.confounding.finite.channels import noise_channel
from quiltwork.confounding.world import World
from quiltwork.errors import InvalidParameter, Unreachable, Unsupported

DATA = [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]
CHANNEL = [[0.55, 0.45], [0.5, 0.5], [0.45, 0.55]]


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("name", CASES)
def test_the_table_of_the_theory(name: str, family: str) -> None:
    """theory/confounding.md section 4, columns Laplace* and Gauss*."""
    case, epsilon, delta, _, _, _, laplace, gaussian = CASES[name]
    world, channels = smooth(*case)
    found = world.calibrated(world.release(*channels), epsilon=epsilon, delta=delta, family=family)
    assert found.cost == pytest.approx(laplace if family == "laplace" else gaussian, abs=1e-4)
    tables = [table.tolist() for table in channels]
    assert_holds(found, world, world.data.tolist(), tables, epsilon=epsilon, delta=delta)
    assert found.lower_bound is None
    assert found.gap is None
    assert found.method == f"calibrated {family} noise"


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_the_scale_is_the_least_that_holds(family: str) -> None:
    world = World(data=DATA)
    release = world.release(CHANNEL)
    found = world.calibrated(release, epsilon=0.5, delta=0.02, family=family, remap=False)
    assert found.scale is not None
    assert found.channel == pytest.approx(noise_channel([0, 1, 2], [0, 1, 2], found.scale, family), abs=1e-14)
    assert found.task.holds(found.table)
    assert not found.task.holds(counted(noise_channel([0, 1, 2], [0, 1, 2], found.scale * (1 - 1e-9), family), 50))
    assert_holds(found, world, DATA, [CHANNEL], epsilon=0.5, delta=0.02)


def test_the_remap_only_saves() -> None:
    """Theory: .19 to .32 without it on the four cases."""
    for case, epsilon, delta, *_ in (CASES["C1"], CASES["C2"]):
        world, channels = smooth(*case)
        release = world.release(*channels)
        plain, mapped = (
            world.calibrated(release, epsilon=epsilon, delta=delta, remap=remap) for remap in (False, True)
        )
        assert plain.scale == mapped.scale
        assert 0.185 < plain.cost < 0.325
        assert mapped.cost < plain.cost - 0.03


def test_little_noise_is_enough_for_a_loose_target() -> None:
    found = World(data=DATA).calibrated(epsilon=20.0, delta=0.5)
    assert found.cost < 1e-12
    assert found.scale == pytest.approx(2e-3)


def test_several_priors_all_hold() -> None:
    data = [DATA, [[0.5, 0.25, 0.25], [0.2, 0.2, 0.6]]]
    world = World(data=data)
    found = world.calibrated(world.release(CHANNEL), epsilon=0.5, delta=0.05)
    assert_holds(found, world, data, [CHANNEL], epsilon=0.5, delta=0.05)


def test_odds_as_fractions_and_a_table_of_costs() -> None:
    data = [["1/2", "1/4", "1/4"], ["1/5", "1/5", "3/5"]]
    world = World(data=data)
    cost = [[0, 1], [2, 1], [5, 0]]
    found = world.calibrated(odds=Fraction(2), delta=Fraction(1, 50), cost=cost, outputs=[0, 2], bits=20)
    assert found.bits == 20
    assert_holds(found, world, data, odds=Fraction(2), delta=Fraction(1, 50))


def test_a_family_whose_tails_stay_apart_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "MAX_RELATIVE_SCALE", 2.0)
    with pytest.raises(Unreachable, match="use design"):
        World(data=[[1, 0], [0, 1]]).calibrated(epsilon=1e-6, delta=0)


def test_a_violated_target_is_refused() -> None:
    world = World(data=[[1, 0], [0, 1]])
    with pytest.raises(Unreachable, match="already has delta"):
        world.calibrated(world.release([[0.9, 0.1], [0.1, 0.9]]), epsilon=1.0, delta=0.01)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"family": "cauchy"}, "family"),
        ({"family": None}, "family"),
        ({"remap": 1}, "remap"),
        ({"bits": 7}, "bits"),
        ({"bits": 60}, "bits"),
        ({"bits": -3}, "bits"),
        ({"bits": "a"}, "bits"),
        ({"bits": 50.0}, "bits"),
        ({"cost": [[0, 1], [1, 0], [1, 1]]}, "outputs"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"outputs": []}, "outputs"),
    ],
)
def test_bad_input_is_refused(wrong: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        World(data=DATA).calibrated(**{"epsilon": 1.0, "delta": 0.01, **wrong})


def test_equal_values_have_no_grid() -> None:
    with pytest.raises(Unsupported, match="values are equal"):
        World(data=DATA, values=[1, 1, 1]).calibrated(epsilon=1.0, delta=0.01)


def test_the_scale_follows_the_unit_of_the_values() -> None:
    small, large = (World(data=DATA, values=[0, unit, 2 * unit]) for unit in (1, 1000))
    one, two = (world.calibrated(epsilon=0.5, delta=0.02) for world in (small, large))
    assert one.scale is not None
    assert two.scale == pytest.approx(1000 * one.scale, rel=1e-9)
    assert two.cost == pytest.approx(1e6 * one.cost, rel=1e-9)
    assert np.array_equal(two.outputs, 1000 * one.outputs)
