"""Channels made of channels: repeated, adaptive, independent, merged, noise on a grid."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.confounding import finite_truth as truth
from tests.confounding.test_laws import assert_ends
from tests.examples import examples

from quiltwork.confounding.finite.channels import (
    _compositions,
    adaptive,
    channel,
    independent,
    merged,
    noise_channel,
    randomized_response,
    repeated,
)
from quiltwork.confounding.world import World
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.numbers.laws import Laws

BITS = [["9/10", "1/10"], ["1/5", "4/5"]]


def exact(found: Laws) -> truth.Table:
    assert found.exact is not None
    return [list(row) for row in found.exact]


# ---- repeated


def counted(rows: truth.Table, count: int) -> truth.Table:
    """All sequences of outputs, summed by how often each output came: the definition."""
    size = len(rows[0])
    order = {share: index for index, share in enumerate(map(tuple, _compositions(count, size).tolist()))}
    found = [[Fraction(0)] * len(order) for _ in rows]
    for row, sums in zip(rows, found, strict=True):
        for outputs in itertools.product(range(size), repeat=count):
            share = tuple(outputs.count(y) for y in range(size))
            sums[order[share]] += math.prod((row[y] for y in outputs), start=Fraction(1))
    return found


@pytest.mark.parametrize(("count", "size"), [(1, 1), (4, 1), (1, 5), (3, 2), (4, 3), (2, 6)])
def test_compositions_are_all_and_once(count: int, size: int) -> None:
    found = _compositions(count, size).tolist()
    naive = [part for part in itertools.product(range(count, -1, -1), repeat=size) if sum(part) == count]
    assert [tuple(part) for part in found] == naive


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("rows", [BITS, [["1/2", "1/2", "0"], ["1/3", "1/3", "1/3"]]])
def test_repeated_counts_sequences(rows: Any, count: int) -> None:
    found = repeated(rows, count)
    naive = counted(truth.table(rows), count)
    assert exact(found) == naive
    assert_ends(found, naive)


def test_repeated_tells_as_much_as_the_sequence() -> None:
    """Counts are a sufficient statistic: 2^6 outputs and 7 have the same exact curve."""
    world = World(data=[["3/4", "1/4"], ["1/3", "2/3"]])
    few, many = world.release(repeated(BITS, 6)), world.release(*[BITS] * 6)
    assert (few.outputs, many.outputs) == (7, 64)
    for odds in (Fraction(1), Fraction(3, 2), Fraction(2)):
        assert few.exact_delta(odds) == many.exact_delta(odds)
    for delta in (Fraction(0), Fraction(1, 50)):
        assert few.exact_odds(delta) == many.exact_odds(delta)


HARD = [0.5, 0.9, 0.3, 1e-3, 1e-20, 1e-100, 1e-300, 5e-324, 0.0]


@settings(max_examples=examples(30))
@given(st.sampled_from(HARD), st.sampled_from(HARD), st.sampled_from([1, 2, 20, 59, 60, 61, 90]), st.booleans())
def test_repeated_holds_powers_that_underflow(one: float, two: float, count: int, turned: bool) -> None:
    """Underflow came before the multinomial factor once, and made entries of 1e-400 impossible."""
    rows = [[one, 1.0 - one], [1.0 - two, two] if turned else [two, 1.0 - two]]
    naive = [
        [math.comb(count, k) * row[0] ** (count - k) * row[1] ** k for k in range(count + 1)]
        for row in truth.table(rows)
    ]
    assert_ends(repeated(rows, count), naive)


def test_repeated_is_precise_for_many_uses() -> None:
    """The largest ratio of 5000 uses, through a world that caps it at 3."""
    found = World(data=[["3/4", "1/4"], ["1/4", "3/4"]]).release(repeated([[0.9, 0.1], [0.1, 0.9]], 5000))
    assert found.outputs == 5001
    assert found.epsilon(0.0).contains(math.log(3.0))
    assert found.epsilon(0.0).width < 1e-10
    assert found.delta(0.0).contains(0.5)
    assert found.delta(math.log(3.1)).upper == 0.0


def test_repeated_many_outputs() -> None:
    assert repeated(np.full((2, 1500), 1 / 1500), 1).shape == (2, 1500)
    assert repeated(np.full((2, 100), 0.01), 2).shape == (2, 100 * 101 // 2)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2", None, 2**54, 10**30])
def test_repeated_refuses_counts(count: Any) -> None:
    with pytest.raises(InvalidParameter, match="count"):
        repeated(BITS, count)


@pytest.mark.parametrize(("rows", "count"), [(BITS, 2**53), (np.full((2, 2000), 1 / 2000), 2)])
def test_repeated_refuses_what_does_not_fit(rows: Any, count: int) -> None:
    with pytest.raises(Unsupported, match="joint table"):
        repeated(rows, count)


# ---- independent and adaptive


@given(truth.rational_tables(2, 2), truth.rational_tables(2, 3))
def test_independent_runs_over_products(one: truth.Table, two: truth.Table) -> None:
    found = independent(one, two, one)
    naive = truth.beside(one, two, one)
    assert exact(found) == naive
    assert_ends(found, naive)


def test_independent_of_one_is_itself() -> None:
    assert exact(independent(BITS)) == truth.table(BITS)


def test_independent_refuses() -> None:
    with pytest.raises(InvalidParameter, match="at least one channel"):
        independent()
    with pytest.raises(InvalidParameter, match="rows of channel 1"):
        independent(BITS, [["1"]])
    with pytest.raises(Unsupported, match="limited to"):
        independent(*[np.full((2, 100), 0.01)] * 4)


@given(truth.float_tables(2, 2), truth.float_tables(2, 2), truth.float_tables(2, 3))
def test_adaptive_runs_over_first_and_then(first: Any, low: Any, high: Any) -> None:
    found = adaptive(first, [low, high])
    for start, one, two in zip(*map(truth.both_readings, (first, low, high)), strict=True):
        naive = [[start[x][y] * entry for y in (0, 1) for entry in (one, two)[y][x]] for x in range(2)]
        assert_ends(found, naive)


def test_adaptive_is_exact() -> None:
    then = [BITS, [["1/2", "1/2"], ["1/3", "2/3"]]]
    start, following = truth.table(BITS), [truth.table(rows) for rows in then]
    naive = [[start[x][y] * entry for y in (0, 1) for entry in following[y][x]] for x in range(2)]
    assert exact(adaptive(BITS, then)) == naive


@pytest.mark.parametrize(
    ("then", "words"),
    [(5, "a list of channels"), ([BITS], "one for each first output"), ([BITS, [["1"]]], r"then\[1\]"), (None, "then")],
)
def test_adaptive_refuses(then: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        adaptive(BITS, then)


# ---- merged


@given(truth.rational_tables(3, 4, 3))
def test_merged_fractions_lose_nothing(rows: truth.Table) -> None:
    found, labels = merged(rows)
    rays = defaultdict(list)
    for y, column in enumerate(zip(*rows, strict=True)):
        rays[tuple(entry / sum(column) for entry in column) if any(column) else column].append(y)
    assert found.shape[1] == len(rays)
    for columns in rays.values():
        assert len(set(labels[columns].tolist())) == 1
        merged_column = [sum((row[y] for y in columns), Fraction(0)) for row in rows]
        assert [row[labels[columns[0]]] for row in exact(found)] == merged_column
    for odds in (Fraction(1), Fraction(4, 3), Fraction(3)):
        assert truth.delta_at(exact(found), odds) == truth.delta_at(rows, odds)


def test_merged_floats_are_a_garbling() -> None:
    """Columns that agree to the digits asked for become one, which can only lower delta."""
    rows = np.array([[0.2, 0.3, 0.1, 0.4], [0.1, 0.15 + 1e-7, 0.3, 0.45 - 1e-7]])
    assert merged(rows, digits=9)[0].shape == (2, 4)
    found, labels = merged(rows, digits=4)
    assert labels[0] == labels[1]
    assert found.shape == (2, 3)
    grouped = [[row[0] + row[1], row[2], row[3]] for row in truth.table(rows.tolist())]
    order = np.unique(labels, return_index=True)[1]
    columns = {0: 0, 2: 1, 3: 2}
    assert_ends(found, [[row[columns[int(y)]] for y in order] for row in grouped])
    assert truth.delta_at(grouped, Fraction(1)) <= truth.delta_at(truth.table(rows.tolist()), Fraction(1))


@pytest.mark.parametrize("digits", [0, -1, 1.5, True, "3"])
def test_merged_refuses_digits(digits: Any) -> None:
    with pytest.raises(InvalidParameter, match="digits"):
        merged(BITS, digits=digits)


# ---- families


@pytest.mark.parametrize("size", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0, 40.0])
def test_randomized_response_has_its_odds(size: int, epsilon: float) -> None:
    table = randomized_response(size, epsilon)
    assert np.allclose(table.sum(axis=1), 1.0, rtol=0, atol=1e-15)
    assert np.allclose(np.diag(table) / table[0, 1], math.exp(epsilon), rtol=1e-14)
    world = World(data=np.eye(size))
    assert world.release(table).epsilon(0.0).upper == pytest.approx(epsilon, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize(
    ("size", "epsilon", "name"),
    [(1, 1.0, "size"), (2.0, 1.0, "size"), (2, -1.0, "epsilon"), (2, math.nan, "epsilon"), (2, math.inf, "epsilon")],
)
def test_randomized_response_refuses(size: Any, epsilon: float, name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        randomized_response(size, epsilon)


def test_randomized_response_refuses_what_does_not_fit() -> None:
    with pytest.raises(Unsupported, match="limited to"):
        randomized_response(10**6, 1.0)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0])
def test_noise_channel_is_its_formula(kind: str, scale: float) -> None:
    values, outputs = [-1.0, 0.0, 2.5], [-2.0, -0.5, 0.0, 1.0, 3.0]
    found = noise_channel(values, outputs, scale, kind)
    for row, x in zip(found, values, strict=True):
        ways = [abs(x - z) / scale for z in outputs]
        weights = [math.exp(-way) if kind == "laplace" else math.exp(-(way**2) / 2) for way in ways]
        assert row == pytest.approx(np.array(weights) / math.fsum(weights), rel=1e-13)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_noise_far_from_every_output_takes_the_nearest(kind: str) -> None:
    """All exponents are huge, and their differences decide (they were once cut off, to an even draw)."""
    assert noise_channel([0.0, 2e5], [1e5, 2e5], 1e-10, kind).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert noise_channel([-1e100, 1e100], [-1e100, 1e100], 1e-100, kind).tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("values", "outputs", "scale", "kind", "name"),
    [
        ([0.0], [0.0], 1.0, "cauchy", "kind"),
        ([0.0], [0.0], 1.0, ["gaussian"], "kind"),
        ([0.0], [0.0], 0.0, "gaussian", "scale"),
        ([0.0], [0.0], -1.0, "gaussian", "scale"),
        ([0.0], [0.0], math.nan, "gaussian", "scale"),
        ([math.nan], [0.0], 1.0, "gaussian", "values"),
        ([math.inf], [0.0], 1.0, "gaussian", "values"),
        ([], [0.0], 1.0, "gaussian", "values"),
        ([0.0], ["x"], 1.0, "gaussian", "outputs"),
        ([[0.0]], [0.0], 1.0, "gaussian", "two lists"),
        (0.0, [0.0], 1.0, "gaussian", "two lists"),
    ],
)
def test_noise_channel_refuses(values: Any, outputs: Any, scale: Any, kind: Any, name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        noise_channel(values, outputs, scale, kind)


def test_a_channel_has_a_row_for_each_value() -> None:
    assert channel("channel", BITS, 2).shape == (2, 2)
    with pytest.raises(InvalidParameter, match="3, one for each value of the data"):
        channel("channel", BITS, 3)
