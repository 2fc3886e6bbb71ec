"""Clusters of outputs: what they hide is at most eta, and they do hide something."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.confounding.design_truth import Table, Truth, assert_holds, laws_after, normalised, odds_below, smooth, worst
from tests.examples import examples

from quiltwork.confounding.finite.clusters import Clustered, clustered
from quiltwork.confounding.world import World
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.laws import laws


def grouped(channel: Table, labels: np.ndarray) -> Table:
    """The clusters' own channel, in fractions."""
    found = [[Fraction(0)] * (int(labels.max()) + 1) for _ in channel]
    for row, sums in zip(channel, found, strict=True):
        for label, entry in zip(labels.tolist(), row, strict=True):
            sums[label] += entry
    return found


def random_case(seed: int) -> tuple[World, Any, Any, Clustered, float]:
    rng = np.random.default_rng(seed)
    inputs, outputs = int(rng.integers(2, 5)), int(rng.integers(2, 9))
    data = rng.dirichlet(np.full(inputs, 0.7), size=int(rng.integers(2, 4))).tolist()
    channel = rng.dirichlet(np.full(outputs, 0.7), size=inputs)
    channel = (channel / channel.sum(axis=1, keepdims=True)).tolist()
    found = clustered(channel, int(rng.integers(1, outputs + 1)), seed=int(rng.integers(100)))
    return World(data=data), data, channel, found, float(rng.choice([0.0, 0.1, 0.7, 2.0]))


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 10**6))
def test_delta_is_at_most_that_of_the_clusters_plus_eta(seed: int) -> None:
    """For every channel of the next mechanism, in fractions; and never below that of the clusters."""
    world, data, channel, found, epsilon = random_case(seed)
    rng = np.random.default_rng(seed + 1)
    odds, eta = odds_below(epsilon), Fraction(found.eta(world, epsilon))
    rows, table = normalised(data), normalised(channel)
    few = grouped(table, found.labels)
    for sharp in (0.1, 1.0):
        new = normalised(rng.dirichlet(np.full(3, sharp), size=len(table)).round(3).tolist())
        many = worst(laws_after(_joint(rows, table), new), world.ordered, odds)
        fewer = worst(laws_after(_joint(rows, few), new), world.ordered, odds)
        assert fewer <= many + Fraction(1, 10**45)
        assert many <= fewer + eta


def _joint(rows: Table, channel: Table) -> list[Table]:
    return [[[a * k for k in channel[x]] for x, a in enumerate(row)] for row in rows]


def test_clusters_alone_are_optimistic() -> None:
    """Two outputs that tell opposite things in one cluster look like silence; eta covers it."""
    world = World(data=[[1, 0], [0, 1]])
    channel = [["4/5", "1/5"], ["1/5", "4/5"]]
    found = clustered(channel, 1)
    assert float(world.release(joint=found.table).delta(0.0).upper) < 1e-13
    true = float(world.release(channel).exact_delta(1))
    assert true == pytest.approx(0.6)
    assert true <= found.eta(world, 0.0) == pytest.approx(0.6)


def test_optimism_is_usual_for_random_channels() -> None:
    low = 0
    for seed in range(30):
        world, _, channel, found, epsilon = random_case(seed)
        if len(found.table.low[0]) == len(channel[0]):
            continue
        few = world.release(joint=found.table).delta(epsilon).upper
        low += float(few) < float(world.release(channel).delta(epsilon).lower) - 1e-6
    assert low >= 10


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**6))
def test_distances_are_total_variations_from_above(seed: int) -> None:
    """Any common weights will do in a cluster; those of the code are the mean of the columns."""
    _, _, channel, found, _ = random_case(seed)
    table = normalised(channel)
    totals = [sum(row[y] for row in table) for y in range(len(table[0]))]
    groups: dict[int, Fraction] = {}
    for label, total in zip(found.labels.tolist(), totals, strict=True):
        groups[label] = groups.get(label, Fraction(0)) + total
    few = grouped(table, found.labels)
    for x, row in enumerate(table):
        spread = [
            few[x][label] * totals[y] / groups[label] if groups[label] else Fraction(0)
            for y, label in enumerate(found.labels.tolist())
        ]
        distance = sum(abs(a - b) for a, b in zip(row, spread, strict=True)) / 2
        assert distance <= Fraction(float(found.distances[x]))
        assert float(found.distances[x]) <= float(distance) + 1e-12


def test_as_many_clusters_as_outputs_hide_nothing() -> None:
    channel = [[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]]
    for count in (3, 1000):
        found = clustered(channel, count)
        assert found.labels.tolist() == [0, 1, 2]
        assert found.distances.max() < 1e-13
        assert found.eta(World(data=[[0.5, 0.5], [0.2, 0.8]]), 1.0) < 1e-13


def test_proportional_outputs_hide_nothing() -> None:
    found = clustered([[0.2, 0.4, 0.1, 0.3], [0.1, 0.2, 0.175, 0.525]], 2)
    assert found.labels[0] == found.labels[1] != found.labels[2] == found.labels[3]
    assert found.distances.max() < 1e-13


def test_impossible_outputs_do_no_harm() -> None:
    channel = [[0.5, 0.0, 0.5, 0.0], [0.1, 0.0, 0.9, 0.0]]
    for count in (1, 2, 3, 4):
        found = clustered(channel, count)
        assert np.isfinite(found.distances).all()
        assert np.isfinite(found.eta(World(data=[[0.5, 0.5], [0.2, 0.8]]), 1.0))
        assert len(set(found.labels.tolist())) <= count


def test_ends_of_the_table_count() -> None:
    """A table that is only known between wide ends has wide distances."""
    plain = laws("channel", [[0.5, 0.5], [0.5, 0.5]])
    wide = type(plain)(plain.low - 0.1, plain.high + 0.1)
    assert clustered(plain, 1).distances.max() < 1e-13
    assert clustered(wide, 1).distances.min() >= 0.2


def test_the_choice_is_reproducible() -> None:
    table = np.random.default_rng(3).dirichlet(np.ones(40), size=5)
    one, two = clustered(table, 6), clustered(table, 6)
    assert one.labels.tolist() == two.labels.tolist()
    assert len(set(one.labels.tolist())) <= 6
    assert clustered(table, 30).distances.max() < clustered(table, 3).distances.max()


def test_a_design_for_delta_less_eta_on_the_clusters_holds_on_all_outputs() -> None:
    """theory/confounding.md section 4 (ii): no evaluation of the full table is needed."""
    world, channels = smooth(2, 6, (5, 4), (1.5, 1.0))
    full = world.release(*channels)
    found = clustered(full.table, 14)
    eta = found.eta(world, 1.0)
    assert 1e-3 < eta < 0.02
    designed = world.design(world.release(joint=found.table), epsilon=1.0, delta=0.05 - eta)
    truth = Truth(world, world.data.tolist(), [table.tolist() for table in channels])
    real = truth.delta(designed, odds_below(1.0))
    assert Fraction(float(designed.delta.upper)) < real <= Fraction("0.05")


def test_a_design_on_clusters_is_certified_on_all_outputs() -> None:
    world, channels = smooth(2, 6, (5, 5), (1.0, 1.0))
    full = world.release(*channels)
    plain, few = (world.design(full, epsilon=1.0, delta=0.05, clusters=count) for count in (None, 4))
    data = world.data.tolist()
    for found in (plain, few):
        assert_holds(found, world, data, [table.tolist() for table in channels], epsilon=1.0, delta=0.05)
    assert few.lower_bound is not None
    assert plain.lower_bound is not None
    assert few.lower_bound <= plain.cost <= few.cost + 1e-12
    assert plain.gap is not None
    assert plain.gap < 1e-9


@pytest.mark.parametrize("count", [0, -1, 1.5, True, None, "3"])
def test_counts_are_checked(count: Any) -> None:
    with pytest.raises(InvalidParameter, match="count"):
        clustered([[0.5, 0.5]], count)


@pytest.mark.parametrize("epsilon", [math.nan, math.inf, None, "1", True])
def test_eta_refuses_what_is_no_epsilon(epsilon: Any) -> None:
    with pytest.raises(InvalidParameter, match="epsilon"):
        clustered([[0.5, 0.5], [0.1, 0.9]], 1).eta(World(data=[[0.5, 0.5], [0.2, 0.8]]), epsilon)


def test_eta_refuses_another_world() -> None:
    with pytest.raises(InvalidParameter, match="world"):
        clustered([[0.5, 0.5], [0.1, 0.9]], 1).eta(World(data=[[0.5, 0.5, 0.0], [0.2, 0.1, 0.7]]), 1.0)
    assert clustered([[0.5, 0.5], [0.1, 0.9]], 1).eta(World(data=[[0.5, 0.5], [0.2, 0.8]]), 800.0) == 1.0
