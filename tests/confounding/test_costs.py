"""Costs: tables as they were typed, and the best use of an output."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from quiltwork.confounding.design.costs import best_map, cost_of, remapped
from quiltwork.errors import InvalidParameter

F = Fraction
VALUES = (F(0), F(1, 10), F(3))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("absolute", [[F(1, 5), F(2)], [F(1, 10), F(19, 10)], [F(14, 5), F(1)]]),
        ("squared", [[F(1, 25), F(4)], [F(1, 100), F(361, 100)], [F(196, 25), F(1)]]),
        ("zero-one", [[1, 1], [1, 1], [1, 1]]),
    ],
)
def test_named_costs_are_exact_at_the_decimals_typed(name: str, wanted: Any) -> None:
    found = cost_of(name, VALUES, [0.2, 2])
    assert found.exact.tolist() == wanted
    assert found.outputs == (F(1, 5), F(2))
    assert found.name == name
    assert found.output_values.tolist() == [0.2, 2.0]
    assert found.table == pytest.approx(np.array(wanted, dtype=float))


def test_outputs_are_the_values_if_not_given() -> None:
    found = cost_of("zero-one", VALUES)
    assert found.exact.tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert found.outputs == VALUES


def test_a_function_is_asked_for_every_pair() -> None:
    found = cost_of(lambda x, z: 2 * x - z, VALUES, ["1/3"])
    assert found.exact.tolist() == [[F(-1, 3)], [F(-2, 15)], [F(17, 3)]]
    assert found.name == "user's function"
    assert cost_of(lambda x, z: math.sqrt(abs(x - z)), VALUES).table[2, 0] == pytest.approx(math.sqrt(3))


def test_a_table_is_taken_as_typed() -> None:
    found = cost_of(np.array([[0.1, -5.0], [1e12, 0.0], [-1e12, 3.0]]), VALUES)
    assert found.exact.tolist() == [[F(1, 10), -5], [10**12, 0], [-(10**12), 3]]
    assert found.outputs is None
    assert found.output_values.tolist() == [0.0, 1.0]
    assert cost_of([["1/3", 2]] * 3, VALUES, [7, 9]).output_values.tolist() == [7.0, 9.0]


def test_weights_multiply_with_the_law_of_each_prior() -> None:
    found = cost_of("absolute", VALUES, [0]).weights(np.array([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]]))
    assert found == pytest.approx(np.array([[[0.0], [0.025], [0.75]], [[0.0], [0.0], [3.0]]]))


@pytest.mark.parametrize(
    "cost",
    [
        "cubed",
        None,
        5,
        object(),
        [1, 2, 3],
        {0: 1, 1: 2, 2: 3},
        [],
        [[1, 2]] * 2,
        [[1, 2], [3], [4, 5]],
        [[], [], []],
        np.zeros((3, 0)),
        np.zeros((3, 2, 2)),
        [[math.nan, 1]] * 3,
        [[math.inf, 1]] * 3,
        [[True, False]] * 3,
        ["ab", "cd", "ef"],
        [[1e13, 0]] * 3,
        [[F(10) ** 400, 0]] * 3,
        lambda x, z: math.nan,
        lambda x, z: None,
        lambda x, z: 1j,
        lambda x, z: 1e300,
    ],
)
def test_what_is_no_cost_is_refused(cost: Any) -> None:
    with pytest.raises(InvalidParameter, match="cost"):
        cost_of(cost, VALUES)


@pytest.mark.parametrize("outputs", [[], "01", 3, [math.nan], [math.inf], [[1, 2]], [None], [True], b"1"])
def test_what_are_no_outputs_is_refused(outputs: Any) -> None:
    with pytest.raises(InvalidParameter, match="outputs"):
        cost_of("squared", VALUES, outputs)


def test_outputs_beside_a_table_must_match_it() -> None:
    with pytest.raises(InvalidParameter, match="one for each column"):
        cost_of([[1, 2]] * 3, VALUES, [1, 2, 3])
    with pytest.raises(InvalidParameter, match="1e12"):
        cost_of("squared", VALUES, [1e300])


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**6))
def test_the_remap_is_the_best_of_all_maps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    channel, law = rng.dirichlet(np.ones(3), size=3), rng.dirichlet(np.ones(3))
    table = rng.normal(size=(3, 2))
    found, best = remapped(channel, table.tolist(), law, [0, 1, 2])
    cheapest = min(
        sum(law[x] * channel[x, z] * table[x, to[z]] for x in range(3) for z in range(3))
        for to in itertools.product(range(2), repeat=3)
    )
    assert found.sum(axis=1) == pytest.approx(np.ones(3))
    assert float((law[:, None] * table * found).sum()) == pytest.approx(cheapest, abs=1e-12)
    for z in range(2):
        assert found[:, z] == pytest.approx(channel[:, best == z].sum(axis=1))


def test_the_best_map_weighs_the_priors_alike() -> None:
    weights = np.array([[[0.0, 1.0]], [[3.0, 0.0]]])
    assert best_map(np.array([[1.0]]), weights).tolist() == [1]


@pytest.mark.parametrize(
    ("channel", "law", "values"),
    [
        ([[0.5, 0.5]], [1.0], [0, 1]),
        ([[0.5, 0.5]] * 2, [1.0], [0, 1]),
        ([0.5, 0.5], [0.5, 0.5], [0, 1]),
        ([[0.5, 1.5]] * 2, [0.5, 0.5], [0, 1]),
        ([[0.5, 0.5]] * 2, [0.5, math.nan], [0, 1]),
        ([[0.5, 0.5]] * 2, [0.5, 0.5], "ab"),
    ],
)
def test_a_remap_of_other_shapes_is_refused(channel: Any, law: Any, values: Any) -> None:
    with pytest.raises(InvalidParameter):
        remapped(channel, "squared", law, values)
