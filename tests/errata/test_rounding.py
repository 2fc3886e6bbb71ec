"""Theorems 1 to 3 of seed 002 in floating point: thresholds that miss a tie, differences that lose their digits."""

import itertools
from fractions import Fraction

import pytest
from tests.curves.exact import ExactProfile
from tests.errata import printed
from tests.errata.doubles import (
    COUNTS,
    PAIRS,
    SIZES,
    exact_start,
    halfway,
    late_starts,
    lost_by_the_ceiling,
    lost_by_the_sign,
    region,
    weights,
)
from tests.losses.laws import mp

import quiltwork as qw


@pytest.mark.parametrize(
    ("e1", "e2", "literal", "true"),
    [(0.2, 0.05, 0.14427887067057588, 0.14187645889548328), (0.2, 0.15, 0.17233245012672094, 0.16994800721168168)],
)
def test_theorem_3_as_printed_drops_the_only_zero_slope(e1, e2, literal, true):
    """k = 6, (u, v) = (3, 3): the quotient is 3 exactly, its float is above, and its ceiling is 4."""
    first, second = halfway(e1, e2)
    assert (3, 3) not in printed.theorem_3_slopes(e1, e2, 6)
    assert region(printed.theorem_3(first, second, 6)).delta(0.0).upper == pytest.approx(literal, rel=1e-12)
    found = (6 * qw.constraints([first, second])).delta(0.0, rtol=1e-9)
    assert found.lower * (1 - 1e-14) <= true <= found.upper * (1 + 1e-14)
    assert found.upper < literal - 0.002


def test_figure_2_has_such_a_tie():
    """eps = (0.3, 0.15), delta = (0, 0.02): k = 10 is off by 0.0067, k = 3 and 20 are right."""
    from benchmarks import published_code

    for k, lost in ((3, 0.0), (10, 0.0067), (20, 0.0)):
        grid = published_code.GRID[500:1000:10]
        away = published_code.ours(k)(grid) - published_code.typed_in(k)(grid)
        assert float(abs(away).max()) == pytest.approx(lost, abs=3e-4 if lost else 1e-12)


def test_theorem_3_as_printed_is_right_where_no_quotient_is_whole():
    """Away from ties the printed theorem and the engine agree: the theorem itself holds."""
    first, second = halfway(0.31, 0.17)
    found, loss = region(printed.theorem_3(first, second, 5)), 5 * qw.constraints([first, second])
    for epsilon in (0.0, 0.1, 0.5, 0.9, 1.3):
        assert found.delta(epsilon).upper == pytest.approx(loss.delta(epsilon, rtol=1e-9).upper, rel=1e-11)


def test_how_often_the_ceiling_drops_a_slope():
    """Decimals .05 ... 1.00 and eight counts: 126 of 1520 cases, each time a slope that is exactly zero."""
    cases = dropped = 0
    for (e1, e2), k in itertools.product(PAIRS, COUNTS):
        missing = lost_by_the_ceiling(e1, e2, k)
        assert all(slope == 0 for slope in missing)
        cases += 1
        dropped += bool(missing)
    assert (cases, dropped) == (1520, 126)


def test_algorithm_1_starts_one_late_and_loses_nothing():
    """eps = (.2, .15), x = 3, y = 4, a* = 0, b* = b = 4: a_0 is 0, its float is 1. The skipped term is a tie, so 0."""
    place = (3, 4, 0, 4, 4)
    assert printed.algorithm_1_start(0.2, 0.15, *place) == 1
    assert printed.algorithm_1_start(Fraction("0.2"), Fraction("0.15"), *place) == 0
    late = printed.algorithm_1_delta(0.2, 0.15, 3, 4, 0, 4)

    assert late == pytest.approx(printed.algorithm_1_delta(0.2, 0.15, 3, 4, 0, 4, exact_start), rel=1e-14)


def test_algorithm_1_as_printed_drops_a_zero_slope_but_keeps_its_mirror():
    """.3 - 3 * .1 is negative in floats. The mirrored slope has the opposite sign, so one of the two always stays."""
    kept = printed.algorithm_1_slopes(0.3, 0.1, 1, 3)
    assert (0, 3) not in kept
    assert (1, 0) in kept
    found = region(printed.algorithm_1(0.3, 0.1, 1, 3)).delta(0.0).upper
    assert found == pytest.approx((qw.pure(0.3) + 3 * qw.pure(0.1)).delta(0.0, rtol=1e-9).upper, rel=1e-11)


def test_how_often_algorithm_1_is_off():
    """The same decimals, four sizes: 28 of 760 settings lose a slope, 85 of 162,916 sums begin one late."""
    lost = late = settings = asked = 0
    for (e1, e2), (x, y) in itertools.product(PAIRS, SIZES):
        missing, true = lost_by_the_sign(e1, e2, x, y)
        assert all(e1 * (x - 2 * a) + e2 * (y - 2 * b) == 0 for a, b in missing)
        assert not {(x - a, y - b) for a, b in missing} & missing  # the mirror stays
        found, number = late_starts(e1, e2, x, y, true)
        settings, lost = settings + 1, lost + bool(missing)
        late, asked = late + len(found), asked + number
    assert (lost, settings, late, asked) == (28, 760, 85, 162_916)


@pytest.mark.parametrize(("e1", "d2", "lost"), [(1e-3, 1e-5, 2e-13), (1e-5, 1e-6, 4e-11), (1e-8, 1e-9, 3e-8)])
def test_alpha_as_printed_loses_its_digits(e1, d2, lost):
    """Differences of numbers near 1: the relative error grows like 1e-16 / eps; without subtraction there is none."""
    first, second = (e1, 0.0), (e1 / 2, d2)
    a, b, d = mp.mpf(e1), mp.mpf(e1 / 2), mp.mpf(d2)
    true = (mp.exp(b) - (1 - d) * mp.exp(a) + d) / (mp.exp(b) - mp.exp(a))
    assert lost < abs(printed.alpha(first, second) / true - 1) < 1.5 * lost
    _, (second_weight, first_weight) = weights(first, second)
    assert abs(second_weight / true - 1) < 1e-15
    assert abs(first_weight / (1 - true) - 1) < 1e-15


def test_one_minus_alpha_loses_a_small_weight():
    """eps = (1, .5), delta = (0, 1e-12): 1 - alpha is 3.5e-12, and by subtraction its relative error is 3e-5."""
    first, second = (1.0, 0.0), (0.5, 1e-12)
    _, (_, weight) = weights(first, second)
    true = mp.mpf(second[1]) * (1 + mp.exp(-1)) / (1 - mp.exp(mp.mpf("-0.5")))
    assert abs(weight / true - 1) < 1e-15
    assert 1e-5 < abs((1 - printed.alpha(first, second)) / true - 1) < 1e-4


def test_alpha_as_printed_divides_by_zero():
    first, second = (1e-16, 0.0), (5e-17, 1e-17)
    with pytest.raises(ZeroDivisionError):
        printed.alpha(first, second)
    assert sum(weights(first, second)[1]) == pytest.approx(1.0, rel=1e-15)


def test_theorem_3_as_printed_overflows():
    """k = 800, eps1 = 1: e^(a eps1) is beyond the floats."""
    first, second, k = (1.0, 0.0), (0.5, 0.1), 800
    with pytest.raises(OverflowError):
        printed.theorem_3_term(first, second, k, k, k, (k, 0, 0, 0))
    found = (k * qw.constraints([first, second])).delta(150.0)
    assert 0 < found.lower <= found.upper < 1


def test_theorem_3_as_printed_holds_for_total_variation():
    """eps2 = 0 is left out by the paper's assumptions, and every formula holds there."""
    first, second = (0.4, 0.01), (0.0, 0.1)
    found, loss = region(printed.theorem_3(first, second, 4)), 4 * qw.constraints([first, second])
    for epsilon in (0.0, 0.3, 0.8, 1.5, 2.0):
        assert found.delta(epsilon).upper == pytest.approx(loss.delta(epsilon, rtol=1e-9).upper, rel=1e-11)


def test_assumption_1_is_when_both_constraints_matter():
    """On a grid of rationals: the printed condition, the corners of the envelope, and what follows from it."""
    sizes, shares = [1 + Fraction(i, 4) for i in range(7)], [Fraction(i, 10) for i in range(11)]
    met = 0
    for (s1, d1), (s2, d2) in itertools.product(itertools.product(sizes, shares), repeat=2):
        condition = d1 < d2 and (1 - d1) * (1 + s2) < (1 - d2) * (1 + s1)
        corners = set(ExactProfile([(s1, d1), (s2, d2)], symmetric=True).chain)
        assert condition == (d1 < d2 and {(s1, d1), (s2, d2)} <= corners)
        if condition:
            alpha = ((1 - d1) * s2 - (1 - d2) * s1 + d2 - d1) / ((s2 - s1) * (1 - d1))
            assert s1 > s2
            assert d2 < 1
            assert 0 < alpha < 1
            met += 1
    assert met > 100
