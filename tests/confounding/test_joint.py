"""P(input, earlier outputs | secret) from both sides, against fractions."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.confounding.design_truth import READINGS, Truth, laws_after

from quiltwork.confounding.design.certificate import counted
from quiltwork.confounding.finite import joint as module
from quiltwork.confounding.finite.joint import READS, joint_of
from quiltwork.confounding.world import World
from quiltwork.errors import InvalidParameter, Unsupported

FLOATS = [[0.1, 0.2, 0.7], [1 / 3, 1 / 3, 1 / 3]]
CHANNELS = [[[0.9, 0.1], [0.4, 0.6], [0.123456789, 0.876543211]], [[1.0, 0.0], [0.5, 0.5], [1e-12, 1 - 1e-12]]]


def holds(low: np.ndarray, high: np.ndarray, exact: Any) -> bool:
    """Whether a nested list of fractions lies between two arrays, and is impossible where the upper end is zero."""
    values = np.array(exact, dtype=object).ravel().tolist()
    ends = zip(low.ravel().tolist(), high.ravel().tolist(), values, strict=True)
    return all(Fraction(a) <= value <= Fraction(b) and (b > 0) == (value > 0) for a, b, value in ends)


@pytest.mark.parametrize("reads", READS)
def test_floats_are_enclosed_in_either_reading(reads: str) -> None:
    world = World(data=FLOATS)
    found = joint_of(world.release(*CHANNELS), reads)
    for read in READINGS:
        truth = Truth(world, FLOATS, CHANNELS, reads=reads, read=read)
        assert found.low.shape == (2, len(truth.joint[0]), 4)
        assert found.inputs == len(truth.joint[0])
        assert holds(found.low, found.high, truth.joint)
    assert float(np.max(found.high - found.low)) < 1e-14
    assert found.exact is None


@pytest.mark.parametrize("reads", READS)
def test_fractions_stay_fractions(reads: str) -> None:
    data = [["1/3", "2/3", "0"], ["1/7", "1/7", "5/7"]]
    channel = [["1/2", "1/2"], ["1", "0"], ["1/9", "8/9"]]
    world = World(data=data)
    found = joint_of(world.release(channel), reads)
    truth = Truth(world, data, [channel], reads=reads).joint
    assert found.exact is not None
    assert found.exact.tolist() == truth
    assert holds(found.low, found.high, truth)


def test_the_secret_is_read_under_each_prior() -> None:
    """Row 2 is secret 0 under the second prior: it reaches input 0 and no other."""
    data = [[["1/2", "1/2"], ["1/4", "3/4"]], [["1/3", "2/3"], ["1/5", "4/5"]]]
    channel = [["1", "0"], ["1/2", "1/2"]]
    world = World(data=data)
    found = joint_of(world.release(channel), "secret")
    assert found.exact is not None
    assert found.exact.tolist() == Truth(world, data, [channel], reads="secret").joint
    assert found.exact[2, 0].tolist() == [Fraction(2, 3), Fraction(1, 3)]
    assert not found.high[2, 1].any()


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("seed", range(5))
def test_the_law_of_all_outputs_encloses_the_true_one(reads: str, seed: int) -> None:
    rng, rnd = np.random.default_rng(seed), random.Random(seed)
    data = rng.dirichlet(np.ones(4), size=3).tolist()
    channel = rng.dirichlet(np.full(3, 0.3), size=4).tolist()
    world = World(data=data)
    found = joint_of(world.release(channel), reads)
    table = counted(rng.dirichlet(np.full(2, 0.2), size=found.inputs), rnd.choice([8, 50, 52]))
    after = found.after(table.laws())
    new = [[Fraction(int(entry), 1 << table.bits) for entry in row] for row in table.counts]
    for read in READINGS:
        assert holds(*after.masses, laws_after(Truth(world, data, [channel], reads=reads, read=read).joint, new))


def test_sums_of_many_terms_are_rounded_outward() -> None:
    """A product of n terms may be off by n roundings, and that much is given up on either side."""
    inputs = 400
    data = [[Fraction(2 * (x + 1), inputs * (inputs + 1)) for x in range(inputs)], [Fraction(1, inputs)] * inputs]
    world = World(data=data)
    found = joint_of(world.release(), "data")
    rng = np.random.default_rng(0)
    for _ in range(5):
        table = counted(rng.dirichlet(np.ones(2), size=inputs), 52)
        new = [[Fraction(int(entry), 1 << 52) for entry in row] for row in table.counts]
        exact = [[sum(a * g[z] for a, g in zip(row, new, strict=True)) for z in range(2)] for row in data]
        assert holds(*found.after(table.laws()).masses, exact)
        plain = np.matmul(np.swapaxes(found.low, 1, 2), table.channel).reshape(2, 2)
        assert (found.after(table.laws()).low < plain * (1 - inputs * 2.0**-53)).all()


def test_the_law_of_all_outputs_in_fractions() -> None:
    data, channel = [["1/3", "2/3"], ["3/4", "1/4"]], [["1/5", "4/5"], ["1/2", "1/2"]]
    world = World(data=data)
    found = joint_of(world.release(channel), "data")
    table = counted(np.array([[0.3, 0.7], [0.8, 0.2]]), 20)
    after = found.after(table.laws())
    new = [[Fraction(int(entry), 1 << 20) for entry in row] for row in table.counts]
    assert after.exact is not None
    assert after.exact.tolist() == laws_after(Truth(world, data, [channel]).joint, new)


def test_products_that_underflow_stay_possible() -> None:
    """1e-200 times 1e-200 is not impossible, and what is impossible stays so."""
    world = World(data=[[1e-200, 1.0], [0.5, 0.5]])
    found = joint_of(world.release([[1e-200, 1.0], [0.0, 1.0]]), "data")
    assert found.low[0, 0, 0] == 0.0
    assert found.high[0, 0, 0] > 0.0
    assert found.high[0, 1, 0] == 0.0


@pytest.mark.parametrize("reads", ["x", "", None, 1, "Data"])
def test_unknown_reads_are_refused(reads: Any) -> None:
    with pytest.raises(InvalidParameter, match="reads"):
        joint_of(World(data=FLOATS).release(), reads)


def test_what_would_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    release = World(data=FLOATS).release(*CHANNELS)
    found = joint_of(release, "data")
    monkeypatch.setattr(module, "MOST_ENTRIES", 20)
    with pytest.raises(Unsupported, match="limited to 20"):
        joint_of(release, "data")
    with pytest.raises(Unsupported, match="4 x 3 outputs"):
        found.after(counted(np.ones((3, 3)), 8).laws())
