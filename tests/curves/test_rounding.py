from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.curves.exact import rational

from quiltwork.numbers.rounding import difference, down, scaled, up

finite = st.floats(-1e300, 1e300)


@given(finite, st.integers(1, 5))
def test_steps_are_neighbours_and_undo_each_other(x: float, ulps: int) -> None:
    assert down(x, ulps) < x < up(x, ulps)
    assert up(down(x, ulps), ulps) == x
    assert up(x, 1) == math.nextafter(x, math.inf)


def test_scalars_arrays_and_infinities() -> None:
    assert type(up(1.0)) is float
    assert np.array_equal(down(np.array([0.0, math.inf, -math.inf])), [-5e-324, math.inf, -math.inf])


@given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
def test_difference_loses_nothing(a: float, b: float) -> None:
    rounded, rest = difference(a, b)
    assert Fraction(float(rounded)) + Fraction(float(rest)) == Fraction(a) - Fraction(b)


@given(st.floats(-800.0, 800.0), st.floats(0.0, 1.0))
def test_scaled_error_is_a_bound(exponent: float, x: float) -> None:
    value, error = (float(part) for part in scaled(np.array(exponent), np.array(x)))
    with mpmath.workdps(60):
        truth = rational(mpmath.exp(mpmath.mpf(exponent)) * mpmath.mpf(x)) if x else Fraction(0)
    if math.isinf(value):
        assert truth > Fraction(1.7e308)
    else:
        assert abs(Fraction(value) - truth) <= Fraction(error)
