from __future__ import annotations

import re
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from quiltwork.numbers.digits import at_least, at_most, pair

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite, finite)
def test_shown_interval_holds_the_true_one(one: float, two: float) -> None:
    lower, upper = sorted((one, two))
    match = re.fullmatch(r"(.*)\[(.+), (.+)\](e-?\d+)?", pair(lower, upper))
    if lower == upper:
        assert match is None
        return
    assert match is not None
    start, low, high, tail = match.groups(default="")
    assert Decimal(start + low + tail) <= Decimal(lower)
    assert Decimal(start + high + tail) >= Decimal(upper)


@given(finite, st.integers(1, 9))
def test_short_numbers_err_on_the_stated_side(value: float, digits: int) -> None:
    assert Decimal(at_least(value, digits)) <= Decimal(value) <= Decimal(at_most(value, digits))
