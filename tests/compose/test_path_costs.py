"""Costs of single releases against brute force: never too small, and not by much too large."""

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

import quiltwork as qw
from quiltwork.compose.filters.costs import (
    divergences,
    gaussian_cost,
    point_costs,
    pure_cost,
    pure_to_gdp,
    renyi_cost,
    squared_cost,
)

TINY = mpf("1e-28")  # of the arithmetic in 50 digits, where log of a number near 1 loses some
ORDERS = [1.01, 1.5, 2.0, 6.0, 30.0]


def family(loss):
    return loss.parts[0].family


def exact(number):
    return mpf(number.numerator) / mpf(number.denominator)


def divergence(p, q, order):
    """Of the part that q covers, in 50 digits."""
    order = mpf(repr(order))
    total = mp.fsum(mpf(a) ** order * mpf(b) ** (1 - order) for a, b in zip(p, q, strict=True) if a > 0 and b > 0)
    return max(mp.log(total) / (order - 1), mpf(0))


def close(found, true, rtol=1e-9, floor=2e-9):
    """At least the truth, and little more; moments are known to about 1e-11 in absolute terms."""
    return true * (1 - TINY) <= exact(found) <= true * (1 + rtol) + floor


@pytest.mark.parametrize("epsilon", [1e-9, 1e-4, 0.0009999, 0.001, 0.1, 1.0, 10.0, 300.0, 900.0])
def test_pure_to_gdp_is_above_the_truth_and_tight(epsilon):
    with mp.workdps(60):
        x, mu = mpf(epsilon), mpf(pure_to_gdp(epsilon))
        reached = mp.log(mp.ncdf(mu / 2)) - mp.log(mp.ncdf(-mu / 2))  # the epsilon whose least mu this is
        assert x <= reached <= x * (1 + mpf("1e-6" if epsilon < 1e-3 else "1e-11"))
        cost = 2 * gaussian_cost(family(qw.pure(epsilon)))
        assert mu**2 <= exact(cost) <= mu**2 * (1 + mpf("2e-12"))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("epsilon", [0.0, 1e-8, 0.1, 1.0, 20.0, 1e5])
def test_divergence_of_a_response(epsilon, order):
    with mp.workdps(50):
        e, cost = mpf(repr(epsilon)), renyi_cost(family(qw.pure(epsilon)), order)
        high = 1 / (1 + mp.exp(-e))
        true = divergence([high, mp.exp(-e) * high], [mp.exp(-e) * high, high], order) if epsilon < 1e4 else e - 1000
        assert true * (1 - TINY) <= exact(cost[0]) <= min(e, mpf(repr(order)) * e**2 / 2) * (1 + TINY)
        assert close(cost[0], true) or epsilon == 1e5
        assert cost[1] == 0
        leaky = renyi_cost(family(qw.approximate(epsilon, 0.125)), order)
        assert leaky == (cost[0], Fraction(1, 8))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("p", "q"),
    [
        ([0.5, 0.25, 0.25], [0.25, 0.25, 0.5]),
        ([0.875, 0.125], [0.0625, 0.9375]),
        ([0.5, 0.375, 0.125], [0.5, 0.5, 0.0]),
        ([0.25, 0.5, 0.25, 0.0], [0.0, 0.25, 0.5, 0.25]),
    ],
)
def test_divergence_and_reveal_of_a_pair(p, q, order):
    with mp.workdps(50):
        cost, reveal = renyi_cost(family(qw.pair(p, q)), order)
        true = max(divergence(p, q, order), divergence(q, p, order))
        assert close(cost, true)
        shown = max(sum(a for a, b in zip(x, y, strict=True) if b == 0) for x, y in ((p, q), (q, p)))
        assert shown <= reveal <= shown * (1 + Fraction(1, 10**14))


@pytest.mark.parametrize("order", [2, 8, 20, 60])
@pytest.mark.parametrize("rate", [0.01, 0.5])
def test_divergence_of_subsampled_gaussians(order, rate):
    with mp.workdps(50):  # whole orders by the binomial theorem; removing a record is the worse direction
        terms = (
            mp.binomial(order, k) * (1 - mpf(rate)) ** (order - k) * mpf(rate) ** k * mp.exp(mpf(k * k - k) / 2 / 4)
            for k in range(order + 1)
        )
        true = mp.log(mp.fsum(terms)) / (order - 1)
        assert close(renyi_cost(family(qw.poisson(qw.gaussian(2), rate)), float(order))[0], true)


def discrete(sigma, rate, order):
    """Both directions of the subsampled discrete Gaussian, far out."""
    x = range(-int(40 * sigma) - 2 * order, int(40 * sigma) + 2 * order)
    q = [mp.exp(-(mpf(i) ** 2) / 2 / mpf(sigma) ** 2) for i in x]
    shifted = [mp.exp(-(mpf(i - 1) ** 2) / 2 / mpf(sigma) ** 2) for i in x]
    total = mp.fsum(q)
    q, shifted = [v / total for v in q], [v / total for v in shifted]
    p = [(1 - mpf(rate)) * a + mpf(rate) * b for a, b in zip(q, shifted, strict=True)]
    return max(divergence(p, q, order), divergence(q, p, order))


@pytest.mark.parametrize("order", [2, 15, 40, 100])
@pytest.mark.parametrize("sigma", [1.0, 3.0])
def test_discrete_gaussians_are_not_cut_off(sigma, order):
    """The list of atoms ends at 38.7 deviations: orders that look beyond are refused, or bounded by rho."""
    with mp.workdps(50):
        plain = discrete(sigma, 1, order)
        assert close(renyi_cost(family(qw.discrete_gaussian(sigma)), float(order))[0], plain, 0.02)
        assert plain <= order * exact(squared_cost(family(qw.discrete_gaussian(sigma)))) * (1 + TINY)
        found = renyi_cost(family(qw.poisson(qw.discrete_gaussian(sigma), 0.1)), float(order))
        assert found is None or close(found[0], discrete(sigma, mpf("0.1"), order))
        assert (found is None) == (order * 1.0 / sigma > 18)
        mixed = qw.mixture([(0.5, qw.discrete_gaussian(sigma)), (0.5, qw.pure(0.0))])
        found = renyi_cost(family(mixed), float(order))
        truth = mp.log((mp.exp((order - 1) * plain) + 1) / 2) / (order - 1)
        assert found is None or close(found[0], truth)
        assert (found is None) == (order * 1.0 / sigma > 31)
        cut = divergences(qw.discrete_gaussian(sigma).parts, np.array([order - 1.0]))[0][0]
        assert cut >= plain


def test_exact_costs():
    assert pure_cost(family(qw.laplace(10))) == Fraction(1, 10)
    assert pure_cost(family(qw.laplace(0.3, 0.1))) == Fraction(1, 3)
    assert pure_cost(family(qw.discrete_laplace(7))) == Fraction(1, 7)
    assert pure_cost(family(qw.approximate(0.1, 0.0))) == Fraction(1, 10)
    assert pure_cost(family(qw.constraints([(0.1, 0.0), (0.05, 0.1)]))) == Fraction(1, 10)
    assert pure_cost(family(qw.gaussian(1))) is None
    assert pure_cost(family(qw.zcdp(1))) is None
    assert pure_cost(family(qw.approximate(0.1, 0.1))) is None
    assert squared_cost(family(qw.gaussian(10, 3))) == Fraction(9, 200)
    assert squared_cost(family(qw.zcdp(0.1))) == Fraction(1, 10)
    assert squared_cost(family(qw.rdp([2], [0.1]))) is None
    assert gaussian_cost(family(qw.gdp(0.1))) == Fraction(1, 200)
    assert gaussian_cost(family(qw.zcdp(0.1))) is None
    assert point_costs(family(qw.profile([0.1, 0.2], [0.2, 0.1]))) == [
        (Fraction(1, 10), Fraction(1, 5)),
        (Fraction(1, 5), Fraction(1, 10)),
    ]
    assert point_costs(family(qw.gaussian(1))) == []


def test_computed_pure_costs_are_rounded_up():
    ratio = pure_cost(family(qw.pair([0.75, 0.25], [0.25, 0.75])))
    with mp.workdps(40):
        assert mp.log(3) <= exact(ratio) <= mp.log(3) * (1 + mpf("1e-14"))
        sampled = pure_cost(family(qw.poisson(qw.pure(1.0), 0.25)))
        assert mp.log(1 + (mp.e - 1) / 4) <= exact(sampled) <= mp.log(1 + (mp.e - 1) / 4) * (1 + mpf("1e-13"))


def test_nothing_released_has_no_divergence():
    assert divergences((), np.array([1.0, 2.0])) == ([0.0, 0.0], 0.0)
    assert math.isinf(divergences(qw.rdp([2], [0.1]).parts, np.array([5.0]))[0][0])
