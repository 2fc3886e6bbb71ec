from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from quiltwork.confounding.design.program import Problem
from quiltwork.confounding.papers.penalty import paper_objective, penalised
from quiltwork.confounding.world import World
from quiltwork.errors import InvalidParameter, NotCertified

FLIP = [[0.9, 0.1], [0.1, 0.9]]


def smooth_case(outputs: tuple[int, int], noise: float, epsilon: float, delta: float) -> Problem:
    """Cases C1 and C2 of theory/confounding.md section 4: two secrets, 16 values of the data, two noisy readings."""
    x = np.linspace(-1.0, 1.0, 16)
    data = np.exp(-((x - np.array([[-0.25], [0.25]])) ** 2) / (2 * 0.35**2))
    data /= data.sum(axis=1, keepdims=True)
    before = np.ones((16, 1))
    for count in outputs:
        y = np.linspace(-1.5, 1.5, count)
        reading = np.exp(-((y - x[:, None]) ** 2) / (2 * noise**2))
        reading /= reading.sum(axis=1, keepdims=True)
        before = (before[:, :, None] * reading[:, None, :]).reshape(16, -1)
    cost = data.mean(axis=0)[:, None] * (x[:, None] - x) ** 2
    pairs = np.array([[0, 1], [1, 0]])
    return Problem(data[:, :, None] * before, pairs, math.exp(epsilon), delta, cost[None])


C1, C2 = smooth_case((8, 8), 1.0, 1.0, 0.02), smooth_case((6, 6), 3.0, 1.0, 0.02)


def delta_of(problem: Problem, channel: np.ndarray) -> float:
    """The delta of the whole composition from the joint laws themselves."""
    laws = np.einsum("rxy,xz->ryz", problem.joint, channel)
    return float(max(np.maximum(laws[i] - problem.odds * laws[j], 0.0).sum() for i, j in problem.pairs))


@pytest.mark.parametrize(("problem", "optimum"), [(C1, 0.13730), (C2, 0.06724)])
def test_ends_near_the_target_and_near_the_optimum(problem: Problem, optimum: float) -> None:
    """The optimum is the linear program's (theory section 4); being a little infeasible buys a little cost."""
    found = penalised(problem)
    assert found.channel.min() >= 0.0
    np.testing.assert_allclose(found.channel.sum(axis=1), 1.0, atol=1e-14)
    assert found.delta == pytest.approx(delta_of(problem, found.channel), abs=1e-14)
    assert found.cost == pytest.approx(float((problem.weights[0] * found.channel).sum()), abs=1e-14)
    assert found.target < found.delta < 1.02 * found.target  # never quite there: that is why it needs a repair
    assert found.excess == found.delta - 0.02
    assert optimum * 0.98 < found.cost < optimum * 1.05


def test_it_is_refused_as_a_guarantee() -> None:
    found = penalised(C2, steps=20)
    assert found.certified is False
    with pytest.raises(NotCertified, match=r"world\.design"):
        found.guarantee()
    with pytest.raises(TypeError):
        type(found)(found.channel, found.cost, 0.0, 0.02, certified=True)  # type: ignore[call-arg]


def test_a_seed_fixes_the_answer() -> None:
    one, again, other = penalised(C2, 60, seed=4), penalised(C2, 60, seed=4), penalised(C2, 60, seed=5)
    assert one.channel.tobytes() == again.channel.tobytes()
    assert one.channel.tobytes() != other.channel.tobytes()


def test_without_a_binding_target_the_data_are_told() -> None:
    free = Problem(C2.joint, C2.pairs, C2.odds, 1.0, C2.weights)
    assert penalised(free, 1500, rate=0.1).cost < 1e-3


def test_several_priors_lower_the_worst_cost() -> None:
    """Two priors that want opposite answers from a constant channel: the worst of both is 1/2 at best."""
    joint, pairs = np.full((2, 1, 1), 1.0), np.array([[0, 1], [1, 0]])
    weights = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    found = penalised(Problem(joint, pairs, 2.0, 0.1, weights), 500, seed=1)
    assert found.cost == pytest.approx(0.5, abs=0.02)
    assert found.delta == 0.0


def test_printed_objective_ends_without_privacy() -> None:
    """A = BSC(0.1), tau = 2: Theorem 2 (i) promises log 3; the channel found reveals x, which is log 9."""
    found = paper_objective([0.5, 0.5], FLIP, 2.0)
    assert found.promised == pytest.approx(math.log(3.0))
    assert found.epsilon == pytest.approx(2.1972, abs=2e-3)
    assert found.epsilon > found.promised + 1.0
    assert np.sort(found.channel, axis=1)[:, 1].min() > 0.999
    # the response obeys the constraint, and the loss is the least there is
    assert found.response.min() > 0.25 - 1e-3
    np.testing.assert_allclose(found.response.sum(axis=0), 1.0)
    assert found.loss == pytest.approx(-0.9 * math.log(0.75) - 0.1 * math.log(0.25), abs=2e-3)
    # a channel that keeps the promise would cost more: the penalty has no reason to find it
    kept = np.array([[23 / 32, 9 / 32], [9 / 32, 23 / 32]])
    joint = 0.5 * np.array(FLIP) @ kept
    assert np.log(joint / joint[::-1]).max() <= math.log(3.0)
    assert -(joint * np.log(joint / joint.sum(axis=0))).sum() > found.loss + 0.1


def test_printed_objective_is_refused_and_repeatable() -> None:
    one, again = (paper_objective([0.3, 0.7], FLIP, 1.5, outputs=3, steps=50, seed=2) for _ in range(2))
    assert one.channel.shape == (2, 3)
    assert one.channel.tobytes() == again.channel.tobytes()
    assert one.certified is False
    with pytest.raises(NotCertified, match="promised"):
        one.guarantee()


@pytest.mark.parametrize(
    "settings", [{"steps": 0}, {"steps": 2.5}, {"rate": 0.0}, {"rate": math.nan}, {"seed": -1}, {"seed": True}]
)
def test_bad_settings(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        penalised(C2, **settings)
    with pytest.raises(InvalidParameter):
        paper_objective([0.5, 0.5], FLIP, 2.0, **settings)


def test_bad_problems() -> None:
    with pytest.raises(InvalidParameter):
        penalised("C1")  # type: ignore[arg-type]
    for prior, data, tau in (
        ([0.5, 0.6], FLIP, 2.0),
        ([0.2, 0.3, 0.5], FLIP, 2.0),
        ([1.0, 0.0], FLIP, 2.0),
        ([0.5, 0.5], [[0.9, 0.2], [0.1, 0.9]], 2.0),
        ([0.5, 0.5], FLIP, 0.9),
        ([0.5, 0.5], FLIP, math.nan),
        (0.5, FLIP, 2.0),
    ):
        with pytest.raises(InvalidParameter):
            paper_objective(prior, data, tau)
    with pytest.raises(InvalidParameter):
        paper_objective([0.5, 0.5], FLIP, 2.0, outputs=0)


def test_a_world_can_ask_for_the_comparison() -> None:
    """The same task as a design, ended near the target and never certified."""
    world = World(data=[["3/4", "1/4"], ["1/4", "3/4"]])
    existing = world.release([[0.6, 0.4], [0.4, 0.6]])
    found = world.penalised(existing, epsilon=1.0, delta=0.02, cost="zero-one", steps=800)
    best = world.design(existing, epsilon=1.0, delta=0.02, cost="zero-one")
    assert abs(found.delta - 0.02) < 2e-3
    assert found.cost == pytest.approx(best.cost, abs=5e-3)
    with pytest.raises(NotCertified):
        found.guarantee()
