"""The example's fifth mechanism keeps its target and errs less than independent noise."""

import importlib

import numpy as np
import pytest
from tests.needs import needs

pytestmark = needs("torch")
LITTLE = 0.02


@pytest.fixture(scope="module")
def example():
    return importlib.import_module("examples.game_following")


def test_the_quick_run(example, capsys):
    found = example.main(["--quick"])
    told = capsys.readouterr().out
    epsilon, delta = found.target
    assert found.certificate().epsilon(delta).safe <= epsilon
    assert found.error < found.errors["independent noise"]
    assert "(in force)" in told
    assert f"target epsilon {epsilon:.3f}" in told


def test_nothing_that_meets_the_target_errs_less_than_the_linear_program(example):
    """Every rule is above the least error, and a reading with little noise, which breaks the target, is below it."""
    found = example.fifth(example.six(), example.SIX, 2)
    best = example.least(example.SIX, found.target)
    assert best.finished
    assert best.delta.upper <= found.target[1]
    assert best.cost <= best.lower_bound * (1 + 1e-6)
    assert found.error > 3 * best.lower_bound  # Gaussian readings are far from the best where a share has four values
    broken = LITTLE * np.sqrt(2 / np.pi)  # the mean error of a fresh reading, before clipping
    assert found.sigma / 10 > LITTLE
    assert broken < best.lower_bound
    # the next release alone must meet the target: what is possible without the others is a lower bound, by theory
    swaps, chances = [(0, 1), (1, 2), (2, 3)], [1 / 20, 9 / 20, 9 / 20, 1 / 20]
    world = example.cf.World(secret=chances, data=np.eye(4), pairs=swaps, values=["0", "1/3", "2/3", "1"])
    alone = world.design(epsilon=found.target[0], delta=found.target[1], cost="absolute")
    assert best.lower_bound == pytest.approx(alone.lower_bound, rel=1e-6)
