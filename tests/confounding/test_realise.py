"""Which laws of outputs a mechanism that sees the data only can show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from quiltwork.confounding.finite.channels import realised
from quiltwork.confounding.world import World
from quiltwork.errors import InvalidParameter, Unreachable, Unsupported

WORLD = World(data=[[0.6, 0.4], [0.4, 0.6]])


def test_an_alpha_that_no_channel_shows_is_refused() -> None:
    """theory/confounding.md section 3(b): BSC(.1) would need entries 2.5 and -1.5.

    The most that can be shown is the data themselves, (.6, .4) and (.4, .6): 4 times 0.3 away.
    """
    with pytest.raises(Unreachable, match=r"1\.2 away") as caught:
        realised(WORLD, [[0.9, 0.1], [0.1, 0.9]])
    assert "read the secret" in str(caught.value)


def test_the_edge_can_be_shown() -> None:
    assert realised(WORLD, [[0.6, 0.4], [0.4, 0.6]]) == pytest.approx(np.eye(2), abs=1e-9)
    with pytest.raises(Unreachable):
        realised(WORLD, [[0.601, 0.399], [0.4, 0.6]])


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 10**6))
def test_what_a_channel_shows_is_realised(seed: int) -> None:
    rng = np.random.default_rng(seed)
    secrets, inputs, outputs = (int(rng.integers(2, 5)) for _ in range(3))
    data, channel = rng.dirichlet(np.ones(inputs), size=secrets), rng.dirichlet(np.ones(outputs), size=inputs)
    found = realised(World(data=data), data @ channel)
    assert found.shape == (inputs, outputs)
    assert (found >= 0).all()
    assert found.sum(axis=1) == pytest.approx(np.ones(inputs), abs=1e-12)
    assert np.abs(data @ found - data @ channel).sum() <= 1e-9


def test_with_an_invertible_law_the_channel_is_the_only_one() -> None:
    data = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    channel = np.array([[0.5, 0.5], [0.1, 0.9], [0.25, 0.75]])
    assert realised(World(data=data), data @ channel) == pytest.approx(channel, abs=1e-8)


def test_several_priors_are_refused() -> None:
    world = World(data=[[[0.6, 0.4], [0.4, 0.6]], [[0.5, 0.5], [0.4, 0.6]]])
    with pytest.raises(Unsupported, match="several priors"):
        realised(world, [[0.5, 0.5], [0.5, 0.5]])


@pytest.mark.parametrize("alpha", [[[0.5, 0.5]], [[0.5, 0.6], [0.5, 0.5]], [[float("nan"), 1.0]] * 2, None, "ab", [[]]])
def test_what_is_no_alpha_is_refused(alpha: Any) -> None:
    with pytest.raises(InvalidParameter):
        realised(WORLD, alpha)
