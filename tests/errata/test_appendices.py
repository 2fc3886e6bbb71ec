"""Definitions and proofs of seed 002: words and indices that say something else than what is used."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from tests.compose.naive import trade_off
from tests.errata import printed
from tests.errata.conjugates import conjugate
from tests.errata.rotation import rotation
from tests.losses.smooth import gauss, hyperbola, parabola

import quiltwork as qw
from quiltwork.losses.papers.two_constraints import gap, tangents


def test_definition_2_leaves_out_answers_that_are_turned_round():
    """Randomized response with e^eps = 3, its answer turned round, is a test with both errors 3/4."""
    zero, one = [0.75, 0.25], [0.25, 0.75]
    alpha, beta = zero[0], one[1]  # says 1 on output 0, and 0 on output 1
    bound = qw.pure(math.log(3))
    assert not printed.achievable(lambda t: bound.beta(t).lower, alpha, beta)
    assert printed.achievable(lambda t: bound.beta(t).lower, 1 - alpha, 1 - beta)  # the answer as it is
    assert bound.region().contains(alpha, beta)
    assert not bound.region().contains(alpha + 0.01, beta + 0.01)


def test_appendix_d_never_is_at_least_once():
    """delta_1 = .02, k = 3, by enumerating the picks: never is .941192; the printed .058808 is at least once."""
    delta, k = 0.02, 3
    never = 0.0
    for picks in itertools.product((True, False), repeat=k):
        chance = math.prod(delta if picked else 1 - delta for picked in picks)
        never += chance if not any(picks) else 0.0
    assert never == pytest.approx((1 - delta) ** k, rel=1e-14)
    assert printed.never_revealed(delta, k) == pytest.approx(1 - never, rel=1e-13)
    assert printed.never_revealed(delta, k) == pytest.approx(0.058808, rel=1e-12)
    # the theorem uses the right one: what no epsilon hides is the chance of at least one reveal
    revealed = (k * qw.constraints([(0.3, delta), (0.15, 0.05)])).delta(math.inf)
    assert revealed.upper == pytest.approx(1 - never, rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 5, 12])
def test_appendix_e_slopes_are_pairs(k):
    """The differences (a - d, b - c) are the (k + 1)^2 pairs of the set B, and elements of A are quadruples."""
    quadruples = [c for c in itertools.product(range(k + 1), repeat=4) if sum(c) == k]
    differences = {(a - d, b - c) for a, b, c, d in quadruples}
    wide = itertools.product(range(-k, k + 1), repeat=2)
    assert differences == {(x, y) for x, y in wide if abs(x) + abs(y) <= k and (x + y - k) % 2 == 0}
    assert differences == {(u + v - k, u - v) for u in range(k + 1) for v in range(k + 1)}
    assert len(differences) == (k + 1) ** 2
    assert not differences & set(quadruples)


@pytest.mark.parametrize(("f", "slope"), [gauss(1.0), hyperbola(5.0)])
def test_appendix_f_a_decreasing_convex_function_of_a_convex_one(f, slope):
    """x + f(x) falls on [0, c], so that convexity of the composition does not follow; g'' >= 0 by its formula does."""
    c = brentq(lambda x: f(x) - x, 0.0, 1.0)
    places = np.linspace(0.01 * c, c, 50)
    sums = [x + f(x) for x in places]
    assert np.all(np.diff(sums) < 0)
    for x in places[5:-5:5]:
        step = 1e-5
        bend = (slope(x + step) - slope(x - step)) / (2 * step)
        # g' = (1 + f')/(1 - f') as a function of u = (x - f)/sqrt(2), differentiated along x
        rotated = [(1 + slope(y)) / (1 - slope(y)) for y in (x - step, x + step)]
        along = [(y - f(y)) / math.sqrt(2) for y in (x - step, x + step)]
        found = (rotated[1] - rotated[0]) / (along[1] - along[0])
        assert found == pytest.approx(2 * math.sqrt(2) * bend / (1 - slope(x)) ** 3, rel=1e-6)
        assert found > 0


def test_appendix_f_prints_an_exponential_for_a_line():
    """-e^(eps t) + 1 - delta is -delta at t = 0; the constraint is -e^eps t + 1 - delta."""
    epsilon, delta = 0.5, 0.1
    bound = qw.constraints([(epsilon, delta)])
    for t in (0.0, 0.05, 0.2):
        assert printed.line_of_constraint(epsilon, delta, t) < 0
        assert bound.beta(t).lower == pytest.approx(1 - delta - math.exp(epsilon) * t, rel=1e-9)


def test_appendix_f_the_image_of_s_ends_at_one():
    """s(1) = (1 - f(1)) / sqrt(2), and f(1) = 0; the printed end is f(0) / sqrt(2), less where f(0) < 1."""
    for f, less in ((parabola(0.6)[0], True), (gauss(1.0)[0], False)):
        end = (1.0 - f(1.0)) / math.sqrt(2)
        assert end == 1 / math.sqrt(2)
        assert (printed.image_of_s(f)[1] < end) == less


def test_appendix_f_one_tangent_is_stationary_with_another_multiplier():
    """t_1 = t_2 = z/2 solves the system for every t inside, and never with a multiplier of 0."""
    f, slope = gauss(1.0)
    g, g_slope, z = rotation(f, slope)
    for share in (0.1, 0.3, 0.6, 0.8):
        t = share * z
        multiplier = t * (t - z) / (2 * t - z)
        assert printed.stationary(z / 2, z / 2, t, z, multiplier) == pytest.approx((0, 0), abs=1e-15)
        assert multiplier != 0
        assert min(map(abs, printed.stationary(z / 2, z / 2, t, z, 0.0))) > 0.01
    for t in (0.999 * z, 0.001 * z):  # where the multiplier tends to 0, the tangents of the proposition do not meet
        assert abs(printed.proposition_1_equation(g, g_slope, z, t)) > 0.05
    assert gap(f, tangents(f, slope, 2, "rotated")) < gap(f, tangents(f, slope, 1, "rotated"))  # nothing is lost


def test_appendix_g_a_trade_off_function_need_not_be_its_own_inverse():
    """A fair coin against one that shows heads: f(t) = max(0, 1 - 2 t)."""
    outcomes = [(Fraction(1), Fraction(1, 2)), (Fraction(0), Fraction(1, 2))]  # (alternative, null)
    t = Fraction(1, 8)
    once = trade_off(outcomes, t)
    assert once == 1 - 2 * t == Fraction(3, 4)
    assert trade_off(outcomes, once) == 0 != t


@given(
    corners=st.lists(st.integers(-20, 20), min_size=0, max_size=5, unique=True),
    share=st.floats(0.0, 1.0),
    first=st.integers(-9, 0),
)
def test_proposition_5_uses_corners_that_do_not_exist(corners, share, first):
    """The printed maximum runs over j = 0 ... m, and t_0, t_m are defined nowhere."""
    lines = [(float(first), 0.0)]
    for corner in sorted(corners):  # each next line is steeper by 1 and meets the last one at the corner
        slope, offset = lines[-1]
        lines.append((slope + 1.0, offset - corner))
    s = lines[0][0] + share * (lines[-1][0] - lines[0][0])
    with pytest.raises(KeyError):
        printed.proposition_5(lines, s)
    grid = np.linspace(-25.0, 25.0, 501)  # holds every corner
    brute = np.max(s * grid - np.max([a * grid + b for a, b in lines], axis=0))
    assert conjugate(lines, s) == pytest.approx(float(brute), abs=1e-9)
    assert conjugate(lines, lines[-1][0] + 0.5) == math.inf


def test_conjecture_1_needs_zero_counts():
    """With every j_i >= 1 the weights do not sum to 1: a class that no release drew is allowed."""
    weights, k = (0.25, 0.75), 3

    def total(least):
        counts = [j for j in itertools.product(range(least, k + 1), repeat=2) if sum(j) == k]
        return sum(math.comb(k, j[0]) * weights[0] ** j[0] * weights[1] ** j[1] for j in counts)

    assert total(1) == pytest.approx(0.5625)
    assert total(0) == pytest.approx(1.0)
