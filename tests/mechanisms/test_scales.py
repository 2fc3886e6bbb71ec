from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import quiltwork as qw
from quiltwork.errors import InvalidParameter, Unreachable
from quiltwork.mechanisms.scales import LEAST_SIGMA, certified_scale, exact_decimal, stated
from quiltwork.numbers.stated import Stated, above

POSITIVE = st.floats(1e-100, 1e100)


@given(POSITIVE)
@example(0.3)
@example(0.1)
def test_what_is_drawn_is_no_less_than_what_was_typed(scale: float) -> None:
    size = Stated(scale).above
    assert Fraction(size) >= Fraction(repr(scale))
    assert size in (scale, math.nextafter(scale, math.inf))


def test_some_doubles_are_less_than_what_was_typed() -> None:
    assert Fraction(0.3) < Fraction(3, 10)
    assert Stated(0.3).above > 0.3
    assert Stated(0.1).above == 0.1


@given(st.floats(1e-12, 10_000))
@example(0.3)
@example(9.999999999999998)
@example(6459.9999)
def test_exact_decimals_are_exact_and_close(sigma: float) -> None:
    found = exact_decimal(sigma)
    assert Fraction(found) == Fraction(repr(found)) >= max(Fraction(sigma), Fraction(repr(sigma)))
    assert exact_decimal(found) == found
    if sigma >= 1:
        assert found <= sigma * (1 + 5e-5)
    else:
        assert found <= max(LEAST_SIGMA, 2 * sigma)


def test_what_cannot_be_written_exactly_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="sigma"):
        exact_decimal(1.2345678901234567e99)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_above_is_above_both_ways(exact: Fraction) -> None:
    number = above(exact)
    assert Fraction(number) >= exact
    assert Fraction(repr(number)) >= exact
    below = math.nextafter(number, 0.0)
    assert Fraction(below) < exact or Fraction(repr(below)) < exact


@pytest.mark.parametrize("scale", [0, -2.0, math.nan, math.inf, True, "2", None, 1e-101, 1e101])
def test_stated_scales_are_moderate(scale: object) -> None:
    with pytest.raises(InvalidParameter):
        stated("scale", scale)


def test_a_scale_that_is_never_safe_is_not_returned() -> None:
    with pytest.raises(Unreachable):
        certified_scale(lambda scale: qw.pure(2.0), Fraction(1), 1.0)
