"""Worlds: what is protected, several priors, words, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from tests.confounding import finite_truth as truth

import quiltwork as qw
from quiltwork.confounding.pairs import within
from quiltwork.confounding.world import World
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.numbers.laws import laws

THREE = [["1/2", "1/2"], ["1/4", "3/4"], ["1/8", "7/8"]]
BITS = [["9/10", "1/10"], ["1/5", "4/5"]]


def ordered(world: World) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in world.ordered]


# ---- pairs


def test_all_pairs_in_both_orders() -> None:
    assert ordered(World(data=THREE)) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]


@pytest.mark.parametrize("pairs", [[(0, 1)], [(1, 0)], [(0, 1), (1, 0)], np.array([[0, 1]]), ([0, 1],)])
def test_listed_pairs_are_protected_in_both_orders(pairs: Any) -> None:
    assert ordered(World(data=THREE, pairs=pairs)) == [(0, 1), (1, 0)]


@pytest.mark.parametrize("distance", [lambda i, j: abs(i - j), [[0, 1, 2], [1, 0, 1], [2, 1, 0]]])
def test_pairs_within_a_radius(distance: Any) -> None:
    assert ordered(World(data=THREE, pairs=within(distance, 1))) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert len(World(data=THREE, pairs=within(distance, 2)).ordered) == 6


def test_only_protected_pairs_count() -> None:
    """Truth over the pairs that are protected, and no others."""
    rows = truth.through(truth.table(THREE), truth.table(BITS))
    for pairs in ([(0, 1)], [(1, 2)], [(0, 2), (1, 2)]):
        both = [pair for i, j in pairs for pair in ((i, j), (j, i))]
        found = World(data=THREE, pairs=pairs).release(BITS)
        assert found.exact_odds() == truth.odds_at(rows, Fraction(0), both)
        assert found.exact_delta(1) == truth.delta_at(rows, Fraction(1), both)


def test_a_secret_that_cannot_occur_is_in_no_pair() -> None:
    assert ordered(World(secret=["1/2", "0", "1/2"], data=THREE)) == [(0, 2), (2, 0)]


# ---- several priors


@given(truth.rational_tables(2, 3), truth.rational_tables(2, 3), truth.rational_tables(3, 2))
def test_every_prior_counts(one: truth.Table, two: truth.Table, channel: truth.Table) -> None:
    """The worst over laws, each with pairs of its own: never a secret under one law against another's."""
    both = World(data=[one, two]).release(channel)
    alone = [World(data=table).release(channel) for table in (one, two)]
    for odds in (Fraction(1), Fraction(3, 2)):
        assert both.exact_delta(odds) == max(release.exact_delta(odds) for release in alone)
    found, parts = both.exact_odds("1/20"), [release.exact_odds("1/20") for release in alone]
    assert found == (None if None in parts else max(parts))  # type: ignore[type-var]


def test_priors_have_rows_of_their_own() -> None:
    world = World(secret=[["1/2", "1/2"], ["1/4", "3/4"]], data=np.array([[[0.5, 0.5], [0.25, 0.75]], np.eye(2)]))
    assert (world.priors, world.count, world.inputs) == (2, 2, 2)
    assert ordered(world) == [(0, 1), (1, 0), (2, 3), (3, 2)]
    assert world.row_name(0) == "secret 0 (prior 0)"
    assert world.row_name(3) == "secret 1 (prior 1)"
    assert world.data_law == pytest.approx(np.array([[0.375, 0.625], [0.25, 0.75]]))
    assert world.release(BITS).effective(0).shape == (4, 2)
    assert "2 stated laws" in world.assumes[0]
    assert repr(world) == "<World: 2 secrets, 2 values of the data, 2 priors>"


def test_one_prior_of_secrets_serves_all_tables() -> None:
    both = World(secret=["1/4", "3/4"], data=[BITS, BITS[::-1]])
    assert both.secret.values == pytest.approx(np.array([[0.25, 0.75]] * 2))


# ---- what it holds


def test_the_law_of_the_data() -> None:
    world = World(secret=[0.25, 0.75], data=[[0.5, 0.5], [0.1, 0.9]])
    assert world.data_law == pytest.approx(np.array([[0.2, 0.8]]))
    assert world.data == pytest.approx(np.array([[0.5, 0.5], [0.1, 0.9]]))


def test_names_and_words() -> None:
    world = World(data=THREE, secrets=["ill", "well", "unsure"], data_names=["low", "high"], values=[1, "5/2"])
    assert world.protects == "which of 3 secrets is true, any two of them"
    assert world.row_name(1) == "well"
    assert world.data_names == ("low", "high")
    assert [Fraction(value) for value in world.values] == [1, Fraction(5, 2)]
    some = World(data=THREE, secrets=["ill", "well", "unsure"], pairs=[(0, 1)])
    assert some.protects == "1 pairs of secrets: ill or well"
    assert repr(some) == "<World: 3 secrets, 2 values of the data>"
    assert [float(value) for value in some.values] == [0.0, 1.0]


def test_tables_of_laws_are_taken() -> None:
    world = World(data=laws("data", BITS), secret=laws("secret", [["1/2", "1/2"]]))
    assert world.release(BITS).exact_odds() == truth.odds_at(
        truth.through(truth.table(BITS), truth.table(BITS)), Fraction(0)
    )


# ---- releases


def test_releasing_nothing_tells_nothing() -> None:
    found = World(data=THREE).release()
    assert found.exact_odds() == 1
    assert found.exact_delta(1) == 0
    assert found.outputs == 1


def test_a_joint_table_and_channels_agree() -> None:
    world = World(data=THREE)
    joint = world.release(joint=truth.beside(truth.table(BITS), truth.table(BITS)), outputs=[2, 2])
    apart = world.release(BITS, BITS)
    assert joint.sizes == apart.sizes == (2, 2)
    for odds in (1, "3/2", 2):
        assert joint.exact_delta(odds) == apart.exact_delta(odds)
        assert joint.ignoring_confounder().exact_delta(odds) == apart.ignoring_confounder().exact_delta(odds)
    assert "stated joint law" in repr(joint)
    assert "independent given the data" in repr(apart)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "P\\(data \\| secret\\)"),
        ({"data": []}, "data"),
        ({"data": [[]]}, "data"),
        ({"data": 3}, "data"),
        ({"data": "ab"}, "data"),
        ({"data": {0: [1, 0]}}, "data"),
        ({"data": np.zeros((0, 2, 3))}, "no table"),
        ({"data": np.zeros((2, 0, 3))}, "data"),
        ({"data": np.zeros((1, 1, 2, 2))}, "shape"),
        ({"data": [[[1, 0], [0, 1]], [[1, 0]]]}, "rows of one length"),
        ({"data": [["1/2", "1/2"]]}, "at least two secrets"),
        ({"data": [[math.nan, 1.0], [0.5, 0.5]]}, "data"),
        ({"data": [[0.5, 0.6], [0.5, 0.5]]}, "sum of row 0"),
        ({"data": THREE, "secret": 0.5}, "secret"),
        ({"data": THREE, "secret": np.array(0.5)}, "secret"),
        ({"data": THREE, "secret": "abc"}, "secret"),
        ({"data": THREE, "secret": []}, "secret"),
        ({"data": THREE, "secret": [0.5, 0.5]}, "3, one for each secret"),
        ({"data": THREE, "secret": [0.5, 0.5, math.nan]}, "secret"),
        ({"data": THREE, "secret": [0.5, 0.5, 0.5]}, "sum of row 0"),
        ({"data": THREE, "secret": [[0.5, 0.5, 0.0], [1.0]]}, "rows of one length"),
        ({"data": THREE, "secret": [[0.5, 0.5, 0.0]] * 2}, "1, one for each table"),
        ({"data": THREE, "secret": [1, 0, 0]}, "at least one pair"),
        ({"data": THREE, "values": 5}, "values"),
        ({"data": THREE, "values": [1]}, "2, one for each value"),
        ({"data": THREE, "values": [1, math.nan]}, "values"),
        ({"data": THREE, "values": [1, "1e400"]}, "values"),
        ({"data": THREE, "values": [1, True]}, "values"),
        ({"data": THREE, "secrets": 5}, "secrets"),
        ({"data": THREE, "secrets": "abc"}, "secrets"),
        ({"data": THREE, "secrets": ["a", "b"]}, "secrets"),
        ({"data": THREE, "secrets": ["a", "b", "a"]}, "different names"),
        ({"data": THREE, "secrets": ["a", "b", " "]}, "non-empty"),
        ({"data": THREE, "data_names": ["a"]}, "data_names"),
        ({"data": THREE, "pairs": None}, "pairs"),
        ({"data": THREE, "pairs": "some"}, "pairs"),
        ({"data": THREE, "pairs": 3}, "pairs"),
        ({"data": THREE, "pairs": []}, "at least one pair"),
        ({"data": THREE, "pairs": [(0, 0)]}, "two different secrets"),
        ({"data": THREE, "pairs": [(0, 3)]}, "two different secrets"),
        ({"data": THREE, "pairs": [(0, -1)]}, "secret in pairs"),
        ({"data": THREE, "pairs": [(0.0, 1.0)]}, "secret in pairs"),
        ({"data": THREE, "pairs": [(False, True)]}, "secret in pairs"),
        ({"data": THREE, "pairs": [(0, 1, 2)]}, "two secrets"),
        ({"data": THREE, "pairs": within([[0, 1]], 1)}, "shape of the distance"),
        ({"data": THREE, "pairs": within("far", 1)}, "distance"),
        ({"data": THREE, "pairs": within(lambda i, j: "far", 1)}, "distance"),
        ({"data": THREE, "pairs": within(lambda i, j: math.nan, 1)}, "distance"),
        ({"data": THREE, "pairs": within(lambda i, j: -1, 1)}, "distance"),
        ({"data": THREE, "pairs": within(lambda i, j: i, 1)}, "same in both orders"),
        ({"data": THREE, "pairs": within(lambda i, j: 2, 1)}, "at least one pair"),
    ],
)  # fmt: skip
def test_worlds_that_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        World(**arguments)


@pytest.mark.parametrize("radius", [-1, math.nan, math.inf, "1", None, True])
def test_a_radius_is_a_number(radius: Any) -> None:
    with pytest.raises(InvalidParameter, match="radius"):
        within([[0, 1], [1, 0]], radius)


@pytest.mark.parametrize(
    ("channels", "options", "words"),
    [
        ([None], {}, "channel 0"),
        (["half"], {}, "channel 0"),
        ([BITS, [["1"]]], {}, "rows of channel 1"),
        ([[[math.nan, 1.0], [0.0, 1.0]]], {}, "channel 0"),
        ([BITS], {"joint": BITS}, "either channels or joint"),
        ([BITS], {"outputs": [2]}, "with joint only"),
        ([], {"joint": BITS, "outputs": [3]}, "product is 2"),
        ([], {"joint": BITS, "outputs": []}, "product is 2"),
        ([], {"joint": BITS, "outputs": 2}, "outputs"),
        ([], {"joint": BITS, "outputs": [0, 2]}, "outputs"),
        ([], {"joint": [["1"]]}, "rows of joint"),
    ],
)
def test_releases_that_are_refused(channels: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        World(data=THREE).release(*channels, **options)


def test_a_joint_table_that_does_not_fit_is_refused_with_what_to_do() -> None:
    wide = np.full((2, 100), 0.01)
    with pytest.raises(Unsupported, match="repeated"):
        World(data=THREE).release(wide, wide, wide, wide)


def test_bounds_need_a_loss_in_both_directions() -> None:
    world = World(data=THREE)
    for loss in (None, 1.0, "pure"):
        with pytest.raises(InvalidParameter, match="loss"):
            world.bound(loss)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="both directions"):
        world.bound(qw.gaussian(1.0).direction("add"))
