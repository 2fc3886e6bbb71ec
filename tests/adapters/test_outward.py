"""Rounding to the safe side, against exact fractions and many digits."""

import math
import subprocess
import sys
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.stated import Stated, log_above, root
from quiltwork.numbers.stated import above as no_smaller
from quiltwork.numbers.stated import below as no_larger

POSITIVE = st.fractions(Fraction(1, 10**30), 10**30)


@given(st.floats(-1e300, 1e300))
def test_both_readings(number):
    assert {Stated(number).least, Stated(number).most} == {Fraction(number), Fraction(repr(number))}
    assert Stated(number).least <= Stated(number).most


@given(st.fractions(-(10**30), 10**30))
def test_no_smaller_and_no_larger(exact):
    above, below = no_smaller(exact), no_larger(exact)
    assert Stated(below).most <= exact <= Stated(above).least
    assert above - below <= 4 * math.ulp(float(exact))


def test_past_the_largest_double():
    assert no_smaller(Fraction(10) ** 400) == math.inf
    assert no_smaller(Fraction(1, 10**400)) > 0
    assert no_larger(Fraction(1, 10**400)) == 0


@given(POSITIVE)
def test_root(exact):
    found = no_smaller(root(exact)[1])
    assert Stated(found).least ** 2 >= exact
    assert Fraction(found) ** 2 <= exact * (1 + Fraction(1, 10**14))


@given(st.fractions(1, 10**30) | st.integers(1, 10**40).map(lambda n: 1 + Fraction(1, n)))
def test_log_above(exact):
    found = log_above(exact)
    with mpmath.workdps(80):
        real = mpmath.log(mpmath.mpf(exact.numerator) / exact.denominator)
        assert mpmath.mpf(found) >= real
        assert mpmath.mpf(repr(found)) >= real
        assert found <= real * (1 + mpmath.mpf(10) ** -14) + mpmath.mpf(10) ** -39


def test_counts_too_long_to_print():
    assert checks.count("n", 3) == 3
    for value in (10**5000, -(10**5000), 2**300):
        with pytest.raises(InvalidParameter, match="bits"):
            checks.count("n", value)
    with pytest.raises(InvalidParameter, match="from 2"):
        checks.count("n", 1, 2)


def test_the_room_is_light():
    """No peer is imported in order to read its records."""
    code = (
        "import sys, quiltwork.adapters as a;"
        "a.from_opacus, a.from_dp_accounting, a.from_opendp;"
        "assert not {'opacus', 'torch', 'dp_accounting', 'opendp'} & set(sys.modules);"
        "assert not hasattr(a, 'from_nowhere')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
