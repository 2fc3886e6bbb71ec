"""Seed 000, Theorem 3 (ii): the upper bound that treats the dependence as a mechanism of its own fails."""

import math

import numpy as np
import pytest
from scipy.stats import norm
from tests.errata import printed_confounding as printed
from tests.errata.confounding_worlds import released

from quiltwork.confounding import World, noise


def test_theorem_3_ii_upper_bound_as_printed_is_below_the_truth():
    """Means (1, 1) apart, correlation -1/2, epsilon 4: both readings of the additional mechanism give too little."""
    given, half = [[0.75, -0.5], [-0.5, 0.75]], ((1, 0), (0, 1))
    plane = World.gaussian([[0, 0], [1, 1]], sd=given).release(*(noise("gaussian", 0.5, reads=row) for row in half))
    truth = plane.delta(4.0)
    first, second = printed.upper_bounds((1, 1), -0.5, 4.0)
    assert (first, second) == (pytest.approx(0.059656963, abs=1e-9), pytest.approx(0.005838, abs=1e-6))
    assert truth.lower == pytest.approx(0.084953319, abs=1e-9)
    assert second < first < truth.lower


def test_the_truth_of_that_example_is_a_gaussian_test():
    """By quadrature of the two densities along the direction that tells them apart."""
    inverse = np.linalg.inv([[1.0, -0.5], [-0.5, 1.0]])
    square = np.ones(2) @ inverse @ np.ones(2)
    assert square == pytest.approx(4.0, rel=1e-14)
    place = np.linspace(-12.0, 14.0, 200_001)
    gap = np.maximum(norm.pdf(place, 2.0) - math.exp(4.0) * norm.pdf(place), 0.0)
    assert float(gap.sum() * (place[1] - place[0])) == pytest.approx(0.084953319, abs=1e-8)


def test_the_additional_mechanism_need_not_exist():
    """A privacy loss has E e^-L <= 1; for correlation 1/2 the printed one has e^(1/2)."""
    mean, variance = printed.dependence_loss((1, 1), 0.5)
    assert math.exp(-mean + variance / 2) == pytest.approx(1.6487, abs=1e-4)
    assert math.exp(-mean + variance / 2) == pytest.approx(math.exp(0.5), rel=1e-13)


def test_the_printed_upper_bound_holds_at_delta_zero():
    """The largest loss is at most the sum of the two largest ones, in 200 random worlds."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        found = released(rng.dirichlet(np.ones(3), 2), rng.dirichlet(np.ones(2), 3), rng.dirichlet(np.ones(3), 3))
        true, product = found.laws.values, found.product().values
        alone = np.log(product[0] / product[1])
        rest = np.log(found.dependence()[0] / found.dependence()[1])
        assert np.log(true[0] / true[1]).max() <= alone.max() + rest.max() + 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_theorems_a_and_b_hold_where_the_printed_bound_fails(seed):
    """truth <= Theorem B <= what the data tell, and <= privacy of the data; the xor pad, then random worlds."""
    rng = np.random.default_rng(seed)
    if seed:
        found = released(rng.dirichlet(np.ones(3), 2), rng.dirichlet(np.ones(2), 3), rng.dirichlet(np.ones(3), 3))
    else:
        first, second = [[0.9, 0.1]] * 2 + [[0.1, 0.9]] * 2, [[0.9, 0.1], [0.1, 0.9]] * 2
        found = released([[0.5, 0.0, 0.0, 0.5], [0.0, 0.5, 0.5, 0.0]], first, second)
    bounds = found.bounds()
    for epsilon in (0.0, 0.25, 0.5, 1.0, 2.0):
        amplified = bounds.amplified(epsilon)
        assert float(found.delta(epsilon).lower) <= amplified
        assert amplified <= float(bounds.cap(epsilon).upper) * (1 + 1e-12) + 1e-15
        assert amplified <= float(bounds.data_level(epsilon).upper) * (1 + 1e-12) + 1e-15


def test_the_repaired_bound_of_the_dependence_holds():
    """eta + C E_{e^(epsilon - a)}(product || product'), with b(L^G > a) <= eta and c <= C, in 200 random worlds."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        found = released(rng.dirichlet(np.ones(3), 2), rng.dirichlet(np.ones(2), 3), rng.dirichlet(np.ones(3), 3))
        true, product, density = found.laws.values, found.product().values, found.dependence()
        rest = np.log(density[0] / density[1])
        for level in (float(rest.max()), float(np.median(rest))):
            eta = float(true[0][rest > level].sum())
            for epsilon in (0.0, 0.5, 1.5):
                part = np.maximum(product[0] - math.exp(epsilon - level) * product[1], 0.0).sum()
                truth = np.maximum(true[0] - math.exp(epsilon) * true[1], 0.0).sum()
                assert truth <= eta + density[0].max() * part + 1e-12
