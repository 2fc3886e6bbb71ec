"""Seed 003, Example 6.2 and Theorem 9: Gaussian entries cut off at a box."""

import itertools

import numpy as np
import pytest
from tests.errata.printed_pufferfish_gaussian import (
    BOUND,
    WIDTH,
    farthest,
    others,
    printed_theorem_9,
    true_ratio,
    worst_vertex,
)

from quiltwork.pufferfish.priors.gaussian.box import GaussianBox, kernel_covariance


@pytest.mark.parametrize(
    ("ell", "printed", "at_its_set", "at_every_set"),
    [(2.0, 122.983, 123.277, 142.969), (5.0, 908.559, 1279.973, 2239.671)],
)
def test_theorem_9_ignores_that_hidden_entries_are_cut_off_too(ell, printed, at_its_set, at_every_set):
    """Five entries, b = 2: more is told than the formula says, whichever entry is hidden with the centre."""
    covariance = kernel_covariance(5, ell)
    formula = min(printed_theorem_9(covariance, 2, told) for told in itertools.combinations(others(2, 5), 3))
    assert formula == pytest.approx(printed, abs=1e-3)
    assert printed_theorem_9(covariance, 2, [0, 1, 4]) == pytest.approx(formula, rel=1e-12)
    assert true_ratio(covariance, (2, 3), BOUND * np.array([-1, 1, 1])) == pytest.approx(at_its_set, abs=1e-3)
    truth = min(worst_vertex(covariance, (2, other)) for other in others(2, 5))
    assert truth > at_every_set > formula


@pytest.mark.parametrize("ell", [0.5, 2.0, 5.0])
def test_theorem_9_is_right_when_only_the_secret_is_hidden(ell):
    covariance = kernel_covariance(5, ell)
    formula = printed_theorem_9(covariance, 2, others(2, 5))
    assert worst_vertex(covariance, (2,)) == pytest.approx(formula, rel=1e-9)


def test_a_sweep_over_means_inside_the_box_is_too_short():
    """The mean of x_i given x_L reaches gamma |w|_1, beyond gamma; nothing in Theorem 9 says how far to sweep."""
    covariance = kernel_covariance(5, 5.0)
    short = printed_theorem_9(covariance, 2, others(2, 5), means=BOUND)
    assert short < 0.5 * worst_vertex(covariance, (2,))


def told(entry, count, ell, size):
    """What the printed formula says that each set of n - b entries tells about this one."""
    covariance = kernel_covariance(count, ell)
    sets = itertools.combinations(others(entry, count), count - size)
    return {chosen: printed_theorem_9(covariance, entry, chosen) for chosen in sets}


def test_the_least_correlated_entries_are_not_the_best_to_tell():
    """Six entries, ell = 5, b = 3, the second one: {1, 5, 6} tells less than the three farthest, {4, 5, 6}."""
    found = told(1, 6, 5.0, 3)
    assert farthest(1, 6, 3) == [(3, 4, 5)]
    assert sorted(np.argsort(kernel_covariance(6, 5.0)[1])[:3]) == [3, 4, 5]  # the smallest of its row
    assert found[3, 4, 5] == pytest.approx(289.102, abs=1e-3)
    assert min(found, key=found.get) == (0, 4, 5)
    assert min(found.values()) == pytest.approx(223.943, abs=1e-3)


@pytest.mark.parametrize("ell", [0.5, 1.0, 2.0, 3.0, 5.0])
def test_for_the_centre_a_farthest_set_is_the_best(ell):
    """Five to eight entries, every size: the best of the sets that are equally far."""
    for count in range(5, 9):
        centre = -(-count // 2) - 1
        for size in range(2, count):
            found = told(centre, count, ell, size)
            best = min(found[chosen] for chosen in farthest(centre, count, count - size))
            assert best == pytest.approx(min(found.values()), rel=1e-9)


def test_equally_far_sets_differ():
    """Six entries, ell = 5, b = 2, the centre: two sets are equally far, and one tells much more."""
    found = told(2, 6, 5.0, 2)
    far = farthest(2, 6, 4)
    assert far == [(0, 1, 4, 5), (0, 3, 4, 5)]
    assert [found[chosen] for chosen in far] == [pytest.approx(1523.384, abs=1e-3), pytest.approx(2294.778, abs=1e-3)]


@pytest.mark.parametrize(("ell", "second", "centre"), [(3.0, 182.379, 181.129), (5.0, 1274.397, 1019.250)])
def test_the_centre_is_not_the_worst_entry(ell, second, centre):
    """Nine entries, b = 3, the formula itself with the best of all sets for each entry."""
    covariance = kernel_covariance(9, ell)
    least = [
        min(printed_theorem_9(covariance, entry, told) for told in itertools.combinations(others(entry, 9), 6))
        for entry in range(9)
    ]
    assert (least[2], least[4]) == (pytest.approx(second, abs=1e-3), pytest.approx(centre, abs=1e-3))
    assert least[2] == pytest.approx(max(least))
    searched = GaussianBox(covariance, BOUND, WIDTH).printed(3)
    np.testing.assert_allclose(searched.cases[:, 2], least, rtol=1e-9)


@pytest.mark.parametrize("ell", [0.5, 1.0, 2.0, 3.0, 5.0])
def test_for_b_1_the_centre_is_the_worst_entry(ell):
    """Where the formula is right, five to nine entries."""
    for count in range(5, 10):
        found = [told(entry, count, ell, 1) for entry in range(count)]
        alone = [value for every in found for value in every.values()]
        assert alone[-(-count // 2) - 1] == pytest.approx(max(alone), rel=1e-9)


@pytest.mark.parametrize("ell", [0.5, 1.0, 2.0, 3.0, 5.0])
def test_the_certified_curve_is_above_the_truth_where_the_formula_is_not(ell):
    covariance = kernel_covariance(5, ell)
    curve = GaussianBox(covariance, BOUND, WIDTH).influence(2)
    for entry in range(5):
        assert curve.cases[entry, 0] >= worst_vertex(covariance, (entry,))
        assert curve.cases[entry, 1] >= min(worst_vertex(covariance, (entry, other)) for other in others(entry, 5))


def test_for_b_1_the_certified_curve_is_attained_as_the_regions_shrink():
    """Five entries, ell = 5, the centre: 7324.3 for delta = 0.1, and 7432.8, the bound, in the limit."""
    covariance = kernel_covariance(5, 5.0)
    bound = GaussianBox(covariance, BOUND, WIDTH).influence(1).cases[2, 0]
    gaps = [bound - worst_vertex(covariance, (2,), width) for width in (0.1, 0.01, 0.001, 0.0001)]
    assert bound == pytest.approx(7432.8, abs=0.1)
    assert bound - gaps[0] == pytest.approx(7324.3, abs=0.1)
    assert all(0 <= small < 0.2 * large for large, small in itertools.pairwise(gaps))
    assert gaps[-1] < 0.2
