"""Tables of laws: their ends hold what was typed, and what is made of it."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.confounding import finite_truth as truth

from quiltwork.errors import InvalidParameter
from quiltwork.numbers.laws import LEAST, Laws, laws, outward
from quiltwork.numbers.stated import fraction


def assert_ends(found: Laws, exact: truth.Table) -> None:
    """Every entry between its ends, in its column's scale and as a plain probability; zero only where impossible."""
    low, high = found.masses
    for i, row in enumerate(exact):
        for j, entry in enumerate(row):
            scale = Fraction(2) ** int(found.exponents[j])
            assert Fraction(float(found.low[i, j])) * scale <= entry <= Fraction(float(found.high[i, j])) * scale
            assert Fraction(float(low[i, j])) <= entry <= Fraction(float(high[i, j]))
            assert bool(found.possible[i, j]) == (entry > 0)


@pytest.mark.parametrize(
    ("given_value", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.5), Fraction(1, 2)),
        (5e-324, Fraction("5e-324")),
        (1, Fraction(1)),
        (np.int64(3), Fraction(3)),
        ("1/3", Fraction(1, 3)),
        ("0.25", Fraction(1, 4)),
        ("1e-3", Fraction(1, 1000)),
        (Fraction(2, 7), Fraction(2, 7)),
        (Decimal("0.5"), Fraction(1, 2)),
    ],
)
def test_fraction_reads_what_was_typed(given_value: Any, meant: Fraction) -> None:
    assert fraction(given_value) == meant


@pytest.mark.parametrize(
    "given_value",
    [
        True,
        np.True_,
        None,
        math.nan,
        math.inf,
        "x",
        "1/0",
        "",
        "1e999999999",
        "1" * 2000,
        1j,
        Decimal("nan"),
        [1],
        b"1",
    ],
)
def test_fraction_is_none_for_anything_else(given_value: Any) -> None:
    assert fraction(given_value) is None


@given(st.integers(1, 4).flatmap(lambda n: truth.float_tables(2, n)))
def test_ends_hold_decimals_and_doubles(rows: list[list[float]]) -> None:
    for given_rows in (rows, np.array(rows)):
        found = laws("table", given_rows)
        for exact in truth.both_readings(rows):
            assert_ends(found, exact)
        assert np.all(found.high <= found.low * (1 + 1e-14) + 40 * LEAST)


@given(st.integers(1, 4).flatmap(lambda n: truth.rational_tables(2, n, 30)))
def test_ends_hold_fractions(rows: truth.Table) -> None:
    found = laws("table", rows)
    assert_ends(found, rows)
    assert found.exact is not None
    assert found.exact.tolist() == rows
    assert found.shape == (2, len(rows[0]))


def test_the_upper_end_of_a_third_is_not_below_a_third() -> None:
    """1 + 2^-53 is 1 in floats: a margin of one unit would not move anything."""
    found = laws("table", [["1/3", "2/3"]])
    assert Fraction(float(found.low[0, 0])) < Fraction(1, 3) < Fraction(float(found.high[0, 0]))


def test_fractions_that_underflow_stay_possible() -> None:
    tiny = Fraction(1, 10**400)
    found = laws("table", [[tiny, 1 - tiny], [0, 1]])
    assert_ends(found, [[tiny, 1 - tiny], [Fraction(0), Fraction(1)]])


def test_rows_of_floats_are_divided_by_their_sum() -> None:
    rows = [[0.25 + 3e-10, 0.25, 0.5], [1 / 3, 1 / 3, 1 / 3]]
    found = laws("table", rows)
    for exact in truth.both_readings(rows):
        assert_ends(found, exact)
    assert found.exact is None  # neither row sums to one as typed


def test_an_entry_a_hair_above_one_is_a_rounded_law() -> None:
    rows = [[1.0000000000000002], [1.0]]
    for given_rows in (rows, np.array(rows)):
        assert_ends(laws("table", given_rows), [[Fraction(1)], [Fraction(1)]])


def test_decimals_that_sum_to_one_are_exact() -> None:
    found = laws("table", np.array([[0.1, 0.2, 0.7]]))
    assert found.exact is not None
    assert found.exact.tolist() == [[Fraction(1, 10), Fraction(1, 5), Fraction(7, 10)]]


def test_texts_and_floats_may_be_mixed() -> None:
    rows = [["1/3", 0.6666666666666667], [Fraction(1, 2), 0.5]]
    for exact in (truth.table([["1/3", "0.6666666666666667"], ["1/2", "1/2"]]), truth.table(rows, Fraction)):
        assert_ends(laws("table", rows), exact)


@given(st.tuples(st.integers(1, 4), st.integers(1, 3)).flatmap(
    lambda n: st.tuples(truth.float_tables(2, n[0]), truth.float_tables(n[0], n[1]))
))  # fmt: skip
def test_through_is_the_matrix_product(tables: tuple[Any, Any]) -> None:
    found = laws("data", tables[0]).through(laws("channel", tables[1]))
    for data, channel in zip(*(truth.both_readings(rows) for rows in tables), strict=True):
        assert_ends(found, truth.through(data, channel))


@given(truth.float_tables(2, 2), truth.float_tables(2, 3))
def test_beside_is_the_product(one: Any, two: Any) -> None:
    found = laws("one", one).beside(laws("two", two)).beside(laws("one", one))
    for left, right in zip(truth.both_readings(one), truth.both_readings(two), strict=True):
        assert_ends(found, truth.beside(left, right, left))


def test_exact_tables_are_carried_along() -> None:
    data, channel = truth.table([["1/2", "1/2"], ["1/3", "2/3"]]), truth.table([["1/4", "3/4"], ["1", "0"]])
    one, two = laws("data", data), laws("channel", channel)
    product, pair = one.through(two), one.beside(two)
    assert product.exact is not None
    assert product.exact.tolist() == truth.through(data, channel)
    assert pair.exact is not None
    assert pair.exact.tolist() == truth.beside(data, channel)
    some = pair.rows([1])
    assert some.exact is not None
    assert some.exact.tolist() == truth.beside(data, channel)[1:]
    assert one.beside(laws("channel", [[1 / 3] * 3, [1.0, 0.0, 0.0]])).exact is None


def test_small_columns_get_an_exponent_and_lose_nothing() -> None:
    """Seven uses of a table with entries of 1e-100: the smallest product is 1e-700, and still known to its digits."""
    rows = [[1e-100, 1.0], [3e-100, 1.0]]
    found = laws("one", rows)
    exact = truth.table(rows)
    power = exact
    for _ in range(6):
        found, power = found.beside(laws("one", rows)), truth.beside(power, exact)
    assert_ends(found, power)
    assert int(found.exponents.min()) < -2200
    assert np.all(found.low[:, 0] > 0)
    assert np.all(found.high[:, 0] <= found.low[:, 0] * (1 + 1e-13))


@given(st.floats(0.0, 1.0), st.floats(0.0, 64.0))
def test_outward_moves_both_ends_by_what_is_stated(value: float, units: float) -> None:
    low, high = outward(np.array([value]), np.array([value]), units, np.array([True]))
    margin = Fraction(units) * Fraction(value) / 2**53
    absolute = Fraction(units) * Fraction(LEAST)
    assert Fraction(float(low[0])) <= max(Fraction(value) - margin - absolute, Fraction(0))
    assert Fraction(float(high[0])) >= Fraction(value) + margin + absolute
    impossible = outward(np.array([value]), np.array([value]), units, np.array([False]))
    assert [float(end[0]) for end in impossible] == [0.0, 0.0]


def test_tables_cannot_be_changed() -> None:
    found = laws("table", [[0.5, 0.5]])
    with pytest.raises(ValueError, match="read-only"):
        found.low[0, 0] = 0.0


def test_laws_are_taken_as_they_are() -> None:
    found = laws("table", [[0.5, 0.5]])
    assert laws("again", found) is found
    with pytest.raises(InvalidParameter, match="rows of again"):
        laws("again", found, 2)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "a table"),
        (3, "a table"),
        ("half", "a table"),
        (b"half", "a table"),
        ([], "shape"),
        ([1.0], "shape"),
        ([[]], "shape"),
        ([[[1.0]]], "shape"),
        (np.array([0.5, 0.5]), "shape"),
        (np.zeros((0, 2)), "shape"),
        ([[1.0], [0.5, 0.5]], "rows of one length"),
        ([[0.5, math.nan]], "probabilit"),
        (np.array([[0.5, math.nan]]), "probabilit"),
        ([[math.inf, 0.0]], "probabilit"),
        ([[-0.1, 1.1]], "probabilit"),
        (np.array([[-0.1, 1.1]]), "probabilit"),
        ([[1.1, 0.0]], "probabilit"),
        ([["4/3", "-1/3"]], "probabilit"),
        ([[True, False]], "probabilit"),
        (np.array([[True, False]]), "True and False"),
        ([[None, 1.0]], "probabilit"),
        ([["x", "1"]], "probabilit"),
        ([["1/0", "1"]], "probabilit"),
        ([[1j, 0.0]], "probabilit"),
        (np.array([[1j, 0.0]]), "probabilit"),
        ([[0.5, 0.4]], "sum of row 0"),
        (np.array([[1.0, 0.0], [0.5, 0.6]]), "sum of row 1"),
        ([["1/2", "1/3"]], "sum of row 0"),
        ([[Fraction(1, 3), Fraction(1, 3)]], "1 exactly"),
        (np.array([[0, 0]]), "sum of row 0"),
    ],
)
def test_what_is_no_table_is_refused(value: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        laws("table", value)


def test_the_number_of_rows_is_checked() -> None:
    with pytest.raises(InvalidParameter, match="2, one for each value of the data"):
        laws("channel 0", [[1.0]], 2, row_word="value of the data")
