from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.errors import InvalidParameter
from quiltwork.mechanisms import Total, bounded_sum

ENDS = st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)).filter(lambda ends: ends[1] - ends[0] > 1e-90)


@given(st.lists(st.integers(), min_size=1), st.integers(), st.integers(-100, 99))
def test_integers_move_by_no_more_than_the_sensitivity(values: list[int], other: int, low: int) -> None:
    here, there = bounded_sum(values, low, 100), bounded_sum([other, *values[1:]], low, 100)
    assert here.value == sum(min(max(value, low), 100) for value in values)
    assert abs(here.value - there.value) <= here.sensitivity == 100 - low


@given(st.lists(st.floats(-1e9, 1e9), min_size=1), st.floats(-1e9, 1e9), ENDS)
def test_floats_move_by_no_more_than_the_sensitivity(
    values: list[float], other: float, ends: tuple[float, float]
) -> None:
    here, there = bounded_sum(values, *ends), bounded_sum([other, *values[1:]], *ends)
    assert abs(Fraction(here.value) - Fraction(there.value)) <= Fraction(here.sensitivity)
    assert here.sensitivity == there.sensitivity


def test_rounding_needs_its_unit_in_the_sensitivity() -> None:
    """Two neighbouring sums whose doubles differ by more than high - low."""
    low, high = 1.0, 1.0 + 2.0**-52
    many = [1.0] * 9
    for place in range(1, 9):
        many[place] = high
        here, there = bounded_sum(many, low, high), bounded_sum([high, *many[1:]], low, high)
        if abs(here.value - there.value) > high - low:
            assert abs(here.value - there.value) <= here.sensitivity
            return
    pytest.fail("no pair found")


def test_mixed_numbers_are_added_as_floats() -> None:
    total = bounded_sum([1, 2.5, 10**400, np.float32(0.5)], 0, 4.0)
    assert total.value == 8.0
    assert 4.0 <= total.sensitivity <= 4.0 + 1e-14


BAD: list[tuple[Any, Any, Any]] = [
    ([], 0, 1),
    (5, 0, 1),
    ([1.5], 0, 1),
    ([True], 0, 1),
    ([True], 0.0, 1.0),
    ([math.nan], 0.0, 1.0),
    ([math.inf], 0.0, 1.0),
    (["1"], 0.0, 1.0),
    ([1], 1, 1),
    ([1], 2, 1),
    ([1.0], 1.0, 0.0),
    ([1], math.nan, 1.0),
    ([1], 0, math.inf),
    ([1, 2], 0, 2**62),
    ([1.0, 2.0], 0.0, 9e299),
    ([1], None, 1),
    ([1], False, True),
]


@pytest.mark.parametrize(("values", "low", "high"), BAD)
def test_bad_sums_are_refused(values: Any, low: Any, high: Any) -> None:
    with pytest.raises(InvalidParameter):
        bounded_sum(values, low, high)


@pytest.mark.parametrize(
    ("value", "sensitivity"),
    [(1, 1.0), (1.0, 1), (1, 0), (1.0, 0.0), (1.0, math.inf), (2**63, 1), (math.nan, 1.0), (True, 1), (1, True)],
)
def test_bad_totals_are_refused(value: Any, sensitivity: Any) -> None:
    with pytest.raises(InvalidParameter):
        Total(value, sensitivity)
