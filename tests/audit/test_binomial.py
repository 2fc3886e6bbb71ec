"""Binomial tails and Clopper-Pearson limits against exact fractions and many digits."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from quiltwork.audit.bounds.binomial import log_mass, lower_tail, upper_limit


def exact_tail(k, n, p):
    """P(Bin(n, p) <= k) as a fraction."""
    p = Fraction(p)
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


def long_tail(k, n, p):
    """The same in 30 digits, for large n, by its own summation."""
    with mpmath.workdps(30):
        p = mpmath.mpf(p)
        log = mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)
        term = mpmath.exp(log + k * mpmath.log(p) + (n - k) * mpmath.log1p(-p))
        total, odds = term, (1 - p) / p
        for i in range(k):
            term *= mpmath.mpf(k - i) / (n - k + 1 + i) * odds
            total += term
            if term < total * mpmath.mpf(10) ** -22:
                break
        return total


@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 17, 40])
@pytest.mark.parametrize("p", [0.001, 0.2, 0.5, 0.7, 0.97])
def test_tails_against_fractions(n, p):
    for k in range(n):
        found, truth = lower_tail(k, n, p, 1 - p), exact_tail(k, n, p if p <= 0.5 else 1 - Fraction(1 - p))
        assert found >= truth
        if k < n * p:
            assert found <= float(truth) * (1 + 1e-12)
        else:
            assert found == 1.0


def test_tails_at_the_ends():
    assert lower_tail(-1, 10, 0.5, 0.5) == 0.0
    assert lower_tail(10, 10, 0.5, 0.5) == 1.0
    assert lower_tail(9, 10, 1.0, 0.0) == 0.0
    assert 0 < lower_tail(0, 10**6, 0.5, 0.5) <= 1e-300  # underflows, and stays an upper bound
    assert lower_tail(5, 10**6, 0.9, 0.1) >= long_tail(5, 10**6, 0.9)


@pytest.mark.parametrize(("n", "p"), [(5, 0.3), (20, 0.9), (400, 0.02), (10**6, 0.25), (10**9, 1e-7)])
def test_masses_and_their_error(n, p):
    places = np.unique(np.clip(np.rint(n * p + np.linspace(-4, 4, 7) * math.sqrt(n * p * (1 - p))), 1, n - 1))
    value, error = log_mass(places, float(n), p, 1 - p)
    assert error.max() < 1e-10
    with mpmath.workdps(40):
        for k, found, off in zip(places.astype(int).tolist(), value, error, strict=True):
            small = mpmath.mpf(p) if p <= 0.5 else 1 - mpmath.mpf(1 - p)
            log = mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)
            truth = log + k * mpmath.log(small) + (n - k) * mpmath.log1p(-small)
            assert abs(mpmath.mpf(float(found)) - truth) <= off


@given(st.integers(1, 60), st.data(), st.sampled_from([1e-12, 1e-3, 0.025, 0.05, 0.3, 0.499]))
@settings(max_examples=examples(60))
def test_the_limit_is_safe_and_tight(n, data, level):
    k = data.draw(st.integers(0, n - 1))
    rate, rest = upper_limit(k, n, level)
    assert k / n < rate <= 1
    assert Fraction(rest) <= 1 - Fraction(rate) + Fraction(1, 2**52)
    small = Fraction(rate) if rate <= 0.5 else 1 - Fraction(rest)
    assert exact_tail(k, n, small) <= Fraction(level)
    assert exact_tail(k, n, small * (1 - Fraction(1, 10**9)) if rate <= 0.5 else small - (1 - small) / 10**9) > level


@pytest.mark.parametrize(
    ("k", "n"),
    [(1, 10**9), (20, 10**9), (10**3, 10**6), (10**5 // 7, 10**5), (10**7 // 2, 10**7), (10**7 - 9, 10**7)],
)
def test_large_numbers_of_trials(k, n):
    """Safe, and closer than anybody will ever need."""
    rate, rest = upper_limit(k, n, 0.025)
    with mpmath.workdps(30):
        tail = long_tail(k, n, mpmath.mpf(rate) if rate <= 0.5 else 1 - mpmath.mpf(rest))
    assert 0.025 * (1 - 1e-6) <= tail <= 0.025


def test_no_and_only_successes():
    for n in (1, 10, 1000, 10**9, 2**53):
        rate, _ = upper_limit(0, n, 0.025)
        truth = -mpmath.expm1(mpmath.log(mpmath.mpf(0.025)) / n)
        assert truth <= rate <= truth * (1 + 1e-12)
        assert upper_limit(n, n, 0.025) == (1.0, 0.0)
        rest = upper_limit(n - 1, n, 0.025)[1]  # all but one: 1 - p^n = level
        truth = -mpmath.expm1(mpmath.log1p(-mpmath.mpf(0.025)) / n)
        assert truth * (1 - 1e-9) <= rest <= truth


def test_more_trials_than_doubles_can_sum():
    """Past a million terms the rest is bounded by a geometric series, so the answer is wider, never wrong."""
    n = 2**53
    rate, _ = upper_limit(n // 2, n, 0.025)
    assert 0.5 < rate < 0.5 + 1e-6
