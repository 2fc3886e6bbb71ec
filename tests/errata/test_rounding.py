"""Theorems 1 to 3 of seed 002 in floating point: thresholds that miss a tie, differences that lose their digits."""

import itertools
import math
from fractions import Fraction

import pytest
from tests.errata import printed
from tests.losses.laws import mp

import quiltwork as qw
from quiltwork.curves import Profile, Region

DECIMALS = [Fraction(i, 20) for i in range(1, 21)]
PAIRS = [(e1, e2) for e1 in DECIMALS for e2 in DECIMALS if e2 < e1]
COUNTS = (2, 3, 4, 5, 6, 8, 10, 20)


def halfway(e1, e2):
    """Two constraints, the second halfway to where it would stop to matter."""
    return (e1, 0.0), (e2, 0.5 * (1 - (1 + math.exp(e2)) / (1 + math.exp(e1))))


def weights(first, second):
    """Reveal, then the weights of the two responses, smaller epsilon first; without subtraction."""
    return Profile(*zip(first, second, strict=True), symmetric=True).weights()


def region(faces):
    return Region(
        Profile([max(e, 0.0) for e, _ in faces], [min(max(d, 0.0), 1.0) for _, d in faces], symmetric=True)
    )  # fmt: skip


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
        kept = set(printed.theorem_3_slopes(float(e1), float(e2), k))
        exact = {(u, v): e1 * (u + v - k) + e2 * (u - v) for u in range(k + 1) for v in range(k + 1)}
        missing = [slope for place, slope in exact.items() if slope >= 0 and place not in kept]
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

    def exact_start(e1, e2, *where):
        return printed.algorithm_1_start(Fraction(repr(e1)), Fraction(repr(e2)), *where)

    assert late == pytest.approx(printed.algorithm_1_delta(0.2, 0.15, 3, 4, 0, 4, exact_start), rel=1e-14)


def test_algorithm_1_as_printed_drops_a_zero_slope_but_keeps_its_mirror():
    """.3 - 3 * .1 is negative in floats. The mirrored slope has the opposite sign, so one of the two always stays."""
    kept = printed.algorithm_1_slopes(0.3, 0.1, 1, 3)
    assert (0, 3) not in kept
    assert (1, 0) in kept
    found = region(printed.algorithm_1(0.3, 0.1, 1, 3)).delta(0.0).upper
    assert found == pytest.approx((qw.pure(0.3) + 3 * qw.pure(0.1)).delta(0.0, rtol=1e-9).upper, rel=1e-11)


@pytest.mark.parametrize(("e1", "d2", "lost"), [(1e-3, 1e-5, 1e-14), (1e-5, 1e-6, 1e-12), (1e-8, 1e-9, 1e-9)])
def test_alpha_as_printed_loses_its_digits(e1, d2, lost):
    """Differences of numbers near 1: the relative error grows like 1e-16 / eps; without subtraction there is none."""
    first, second = (e1, 0.0), (e1 / 2, d2)
    a, b, d = mp.mpf(e1), mp.mpf(e1 / 2), mp.mpf(d2)
    true = (mp.exp(b) - (1 - d) * mp.exp(a) + d) / (mp.exp(b) - mp.exp(a))
    assert abs(printed.alpha(first, second) / true - 1) > lost
    _, (second_weight, first_weight) = weights(first, second)
    assert abs(second_weight / true - 1) < 1e-15
    assert abs(first_weight / (1 - true) - 1) < 1e-15


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
