"""The validators: what passes comes back clean, everything else is refused with a name and a domain."""

import decimal
import fractions
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiltwork import checks
from quiltwork.errors import InvalidParameter

NEVER_A_NUMBER = [
    None,
    True,
    False,
    "1",
    b"1",
    "",
    [],
    [1.0, 2.0],
    {},
    object(),
    1j,
    math.nan,
    math.inf,
    -math.inf,
    10**400,
]
SCALARS = [checks.real, checks.positive, checks.non_negative, checks.probability, checks.rate]


@pytest.mark.parametrize("check", SCALARS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("value", NEVER_A_NUMBER, ids=lambda value: repr(value)[:20])
def test_no_scalar_check_accepts_what_is_not_a_finite_number(check, value):
    with pytest.raises(InvalidParameter, match=r"^size must be "):
        check("size", value)


@pytest.mark.parametrize("value", [np.float32(0.5), np.array(0.5), decimal.Decimal("0.5"), fractions.Fraction(1, 2)])
@pytest.mark.parametrize("check", SCALARS, ids=lambda check: check.__name__)
def test_every_kind_of_real_number_becomes_a_float(check, value):
    clean = check("size", value)
    assert type(clean) is float
    assert clean == 0.5


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_each_domain_is_exactly_what_it_says(value):
    domains = {
        checks.real: True,
        checks.positive: value > 0,
        checks.non_negative: value >= 0,
        checks.probability: 0 <= value <= 1,
        checks.rate: 0 < value <= 1,
    }
    for check, inside in domains.items():
        if inside:
            assert check("size", value) == value
        else:
            with pytest.raises(InvalidParameter) as refused:
                check("size", value)
            assert refused.value.given == value
            assert refused.value.name == "size"


@pytest.mark.parametrize(
    ("check", "inside", "outside"),
    [
        (checks.positive, [5e-324, 1.7e308], [0.0, -0.0, -5e-324]),
        (checks.non_negative, [0.0, -0.0], [-5e-324]),
        (checks.probability, [0, 1, 0.0, 1.0], [-5e-324, math.nextafter(1, 2)]),
        (checks.rate, [5e-324, 1], [0, -0.0, math.nextafter(1, 2)]),
    ],
)
def test_ends_of_the_domains(check, inside, outside):
    for value in inside:
        assert check("size", value) == value
    for value in outside:
        with pytest.raises(InvalidParameter):
            check("size", value)


def test_the_hint_reaches_the_message():
    with pytest.raises(InvalidParameter, match=r"give the standard deviation$"):
        checks.positive("sigma", 0, "give the standard deviation")
    with pytest.raises(InvalidParameter, match=r"give the standard deviation$"):
        checks.rate("sigma", 0, "give the standard deviation")


@given(st.integers(min_value=0, max_value=2**53))
def test_count_accepts_exact_integers(value):
    assert checks.count("count", value) == value
    if value < 2**31:
        clean = checks.count("count", np.int64(value))
        assert type(clean) is int
        assert clean == value


@pytest.mark.parametrize("value", [-1, 2**53 + 1, 10**30, 1.0, 2.5, "3", None, True, np.float64(3), [3], math.inf])
def test_count_refuses_everything_else(value):
    with pytest.raises(InvalidParameter, match=r"count must be an integer from 0 to 2\*\*53"):
        checks.count("count", value)


def test_count_has_a_least_value():
    assert checks.count("count", 1, least=1) == 1
    with pytest.raises(InvalidParameter, match="from 1 to"):
        checks.count("count", 0, least=1)


@pytest.mark.parametrize("value", [0.25, 1, [0.0, 1.0], (0.5,), np.ones((2, 3)), np.float32(0.5), range(2)])
def test_numbers_keeps_the_shape(value):
    clean = checks.numbers("delta", value, "in [0, 1]", 0.0, 1.0)
    assert clean.dtype == np.float64
    assert clean.shape == np.shape(value)
    np.testing.assert_array_equal(clean, np.asarray(value, dtype=float))


@pytest.mark.parametrize(
    "value", [None, True, "0.5", b"x", [], np.empty((0, 3)), [0.5, math.nan], [0.5, 1.5], -0.1, [[0.1], [0.2, 0.3]], 1j]
)
def test_numbers_refuses_what_is_outside_or_not_numeric(value):
    with pytest.raises(InvalidParameter, match=r"delta must be in \[0, 1\]"):
        checks.numbers("delta", value, "in [0, 1]", 0.0, 1.0)


def test_numbers_lets_infinity_in_when_the_domain_does():
    assert checks.numbers("epsilon", math.inf, "any", -math.inf, math.inf) == math.inf
    with pytest.raises(InvalidParameter):
        checks.numbers("epsilon", math.nan, "any", -math.inf, math.inf)


def test_numbers_of_an_empty_array_say_so():
    with pytest.raises(InvalidParameter, match="an empty array asks nothing"):
        checks.numbers("delta", [], "in [0, 1]", 0.0, 1.0)
