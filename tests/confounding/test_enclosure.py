"""The certified enclosure on the line, against closed forms and mpmath."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.confounding import line_truth as truth
from tests.examples import examples, some
from tests.ids import named

from quiltwork.compose.constructors import gdp
from quiltwork.compose.constructors import laplace as laplace_loss
from quiltwork.confounding.line.enclosure.curve import EnclosedCurve, LawTest, odds_for
from quiltwork.confounding.line.enclosure.cut import cut, stick
from quiltwork.confounding.line.enclosure.difference import Difference, TwoLaws
from quiltwork.confounding.line.enclosure.tails import TailOrder, revealed, unbounded
from quiltwork.confounding.line.laws.components import Laplace, Mixture, Normal, NormalLaplace, Point, Uniform
from quiltwork.confounding.line.laws.user import Unimodal
from quiltwork.curves.curve import Curve
from quiltwork.errors import InvalidParameter, Unsupported

TWO_BUMPS = Mixture([0.5, 0.5], [Normal(-1, 0.3), Normal(1, 0.3)]).plus_gaussian(0.25)
ONE_BUMP = Mixture.of(Normal(0, 0.5)).plus_gaussian(0.25)
EXACT = mp.mpf


def pair(first, second):
    return Mixture.of(first), Mixture.of(second)


PAIRS = {
    "laplace and normal": pair(Mixture([0.4, 0.6], [Laplace(-1, 0.5), Normal(1, 0.4)]), Normal(0, 1)),
    "normal-laplace": pair(
        NormalLaplace(0, 0.6, 0.4), Mixture([0.3, 0.7], [NormalLaplace(1, 0.6, 0.4), Laplace(0, 1)])
    ),
    "uniform and laplace": pair(Uniform(-0.3, 1.1), Mixture([0.5, 0.5], [Laplace(0, 0.7), Uniform(0.2, 2)])),
    "shared components": pair(
        Mixture([0.5, 0.3, 0.2], [Normal(0, 1), Normal(1, 1), Normal(3, 1)]),
        Mixture([0.3, 0.3, 0.4], [Normal(0, 1), Normal(1, 1), Normal(3, 1)]),
    ),
    "shared laplace": pair(
        Mixture([0.5, 0.3, 0.2], [Laplace(0, 1), Laplace(1, 1), Laplace(3, 1)]),
        Mixture([0.3, 0.3, 0.4], [Laplace(0, 1), Laplace(1, 1), Laplace(3, 1)]),
    ),
    "narrow and wide": pair(Mixture([0.9, 0.1], [Normal(0, 3), Normal(0.5, 0.01)]), Normal(0, 2.9)),
    "near copies": pair(Normal(0, 1), Normal(0.001, 1.0)),
}


@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.5, 1.0, 2.0])
def test_the_mixture_confounder_is_enclosed_to_a_billionth(epsilon):
    for p, q in ((TWO_BUMPS, ONE_BUMP), (ONE_BUMP, TWO_BUMPS)):
        low, high = stick(p, q, epsilon)
        assert high - low <= 1e-9
        with mp.workdps(50):
            assert low <= truth.stick(p, q, epsilon) <= high


def test_values_of_the_prototype():
    low, high = stick(TWO_BUMPS, ONE_BUMP, 0.0)
    assert low == pytest.approx(0.3784921602015, abs=1e-10)
    assert high == pytest.approx(0.3784921602015, abs=1e-10)


@pytest.mark.parametrize(
    ("name", "epsilon"), some([(name, epsilon) for name in PAIRS for epsilon in (-0.7, 0.0, 1.3)], len(PAIRS))
)
def test_mixtures_of_every_kind(name, epsilon):
    p, q = PAIRS[name]
    with mp.workdps(40):
        for one, two in ((p, q), (q, p)):
            found = cut(TwoLaws(one, two), epsilon)
            exact = truth.stick(one, two, epsilon)
            assert found.delta[0] <= exact <= found.delta[1]
            assert found.delta[1] - found.delta[0] <= 1e-11
            assert found.rest[0] <= 1 - exact <= found.rest[1]
            assert found.rest[1] - found.rest[0] <= 1e-11


def unequal(mean, spread, epsilon):
    """E_t(N(mean, spread^2)||N(0, 1)) from the roots of a quadratic; 60 digits."""
    m, s = truth.typed(mean), truth.typed(spread)
    # log p - log q - epsilon = a x^2 + b x + c
    a, b = (1 - 1 / s**2) / 2, m / s**2
    c = -(m**2) / (2 * s**2) - mp.log(s) - truth.typed(epsilon)
    inside = b**2 - 4 * a * c
    ends = [-mp.inf, mp.inf]
    if inside > 0:
        ends = [-mp.inf, *sorted([(-b - mp.sqrt(inside)) / (2 * a), (-b + mp.sqrt(inside)) / (2 * a)]), mp.inf]
    total = mp.mpf(0)
    for left, right in pairwise(ends):
        p = (mp.erfc((left - m) / s / mp.sqrt(2)) - mp.erfc((right - m) / s / mp.sqrt(2))) / 2
        q = (mp.erfc(left / mp.sqrt(2)) - mp.erfc(right / mp.sqrt(2))) / 2
        total += max(p - mp.exp(truth.typed(epsilon)) * q, mp.mpf(0))
    return total


@pytest.mark.parametrize(
    ("mean", "spread", "epsilon"),
    [
        (0.0, 2.0, 0.3),
        (1.0, 0.5, 1.0),
        (0.5, 1.5, 3.0),
        (0.0, 1.2, 9.0),
        (3.0, 2.0, 40.0),
        (0.3, 0.9, -2.0),
        (0, 0.001, 5.0),
    ],
)
def test_normals_of_unequal_variance(mean, spread, epsilon):
    with mp.workdps(120):
        exact = unequal(mean, spread, epsilon)
    low, high = stick(Normal(mean, spread), Normal(0, 1), epsilon)
    assert low <= exact <= high
    assert high - low <= 1e-6 * exact + 1e-300


@pytest.mark.parametrize("epsilon", [7.2, 12.0, 20.0, 30.0])
def test_tiny_deltas_keep_their_digits(epsilon):
    low, high = stick(Normal(1, 1), Normal(0, 1), epsilon)
    with mp.workdps(250):
        mu, e = EXACT(1), truth.typed(epsilon)
        exact = (mp.erfc((e / mu - mu / 2) / mp.sqrt(2)) - mp.exp(e) * mp.erfc((e / mu + mu / 2) / mp.sqrt(2))) / 2
    assert low <= exact <= high
    assert high - low <= 1e-3 * exact
    assert exact < 1e-11


@pytest.mark.parametrize("epsilon", [1000.0, 1200.0, 1249.9])
def test_odds_beyond_the_largest_double(epsilon):
    low, high = stick(Normal(50, 1), Normal(0, 1), epsilon)
    other = gdp(50.0).delta(epsilon, rtol=1e-9)
    assert low <= other.upper
    assert other.lower <= high
    assert high - low <= 1e-10


def test_extreme_epsilons():
    p, q = Normal(1, 1), Normal(0, 1)
    assert stick(p, q, -math.inf) == (1.0, 1.0)
    assert stick(p, q, math.inf) == (0.0, 0.0)
    assert stick(p, q, -1e6)[0] > 1 - 1e-12
    assert stick(p, q, 1e6)[1] < 1e-300
    assert stick(p, q, 1e300)[1] <= 1.0  # blind, but no crash
    assert stick(p, p, 0.0) == (0.0, 0.0)
    low, high = stick(p, p, -1.0)
    assert low <= 1 - math.exp(-1) <= high
    assert stick(Uniform(0, 1), Uniform(0.5, 1.5), math.inf)[0] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 1.0 + 1e-12, 2.0])
def test_laplace_where_the_ratio_is_flat(epsilon):
    """p = e t q on a whole half line at epsilon = 1: the sign is rounding there, and the bounds must say so."""
    low, high = stick(Laplace(1, 1), Laplace(0, 1), epsilon)
    exact = max(-math.expm1((epsilon - 1) / 2), 0.0)
    assert low <= exact + 1e-16
    assert exact <= high
    assert high - low < 1e-13


@settings(max_examples=examples(40), deadline=None)
@given(
    st.sampled_from(sorted(PAIRS)),
    st.floats(-2, 2),
    st.floats(-6, 6),
    st.floats(-8, 0.5),
    st.lists(st.floats(0, 1), min_size=4, max_size=4),
)
def test_cell_bounds_hold_inside_the_cell(name, epsilon, start, log_width, shares):
    p, q = PAIRS[name]
    two = TwoLaws(p, q)
    a, b = start, start + 10.0**log_width
    cells = Difference(two, epsilon).cells(np.array([[a, b]]))
    with mp.workdps(40):
        at, scale = truth.difference(p, q, epsilon, truth.density), mp.exp(mp.mpf(float(cells.reference[0])))
        for share in shares:
            x = mp.mpf(a) + mp.mpf(share) * (mp.mpf(b) - mp.mpf(a))
            value = at(x) / scale
            assert cells.low[0] <= value <= cells.high[0]
        over = mp.quad(lambda x: max(at(x), mp.mpf(0)), mp.linspace(mp.mpf(a), mp.mpf(b), 3), maxdegree=3)
        assert over <= float(cells.most[0]) * (1 + 1e-6) + 1e-30


@pytest.mark.parametrize("gap", [1e-1, 1e-3, 1e-6, 1e-9])
def test_a_dip_between_two_zeros_is_seen(gap):
    """p - t q is zero at both ends of the cell and negative between: second-order bounds must reach the bottom."""
    p, q, epsilon = Normal(0, 2), Normal(0, 1), math.log(0.5) + gap
    end = math.sqrt(8 * gap / 3)
    cells = Difference(TwoLaws(*pair(p, q)), epsilon).cells(np.array([[-end, end]]))
    with mp.workdps(40):
        bottom = truth.difference(*pair(p, q), epsilon, truth.density)(mp.mpf(0))
        bottom = bottom / mp.exp(mp.mpf(float(cells.reference[0])))
    assert cells.low[0] <= bottom < 0
    assert cells.low[0] >= 4 * bottom - 1e-13  # and not much further


@pytest.mark.parametrize(
    "hidden",
    [
        Uniform(-0.1, 0.1),
        Normal(0, 0.2),
        Normal(0.03, 0.1),
        Normal(0, 0.001),
        Laplace(0, 0.05),
        NormalLaplace(0, 0.02, 0.03),
        Unimodal.of(stats.norm(0, 0.1), 0.0),
        Unimodal.of(stats.norm(0, 0.001), 0.0),
    ],
    ids=named,
)
def test_what_hides_inside_a_cell_is_seen(hidden):
    """p - t q is positive at both ends, and deep below zero at a bump of q that the ends do not show."""
    p, q = Mixture.of(Normal(0, 0.7)), Mixture([0.8, 0.2], [Normal(0, 3), hidden])
    for one, two, sign in ((p, q, 1), (q, p, -1)):
        cells = Difference(TwoLaws(one, two), 0.0).cells(np.array([[-0.5, 0.5], [-0.45, 0.55]]))
        peak = float(hidden.density(0.02, 0.02)[0][0]) if hidden.kind != "user" else float(hidden.pdf(0.0))
        peak = max(peak, float(hidden.density(0.0, 0.0)[0][0]))
        bottom = (0.57 - 0.8 * 0.1329 - 0.2 * peak) * np.exp(-cells.reference)
        assert np.all(sign * cells.left > 0)
        assert np.all((cells.low if sign > 0 else -cells.high) <= bottom * 0.99)


def test_large_locations_widen_the_answer_and_do_not_break_it():
    for shift in (1e3, 1e6, 1e9):
        low, high = stick(Normal(shift + 1, 1), Normal(shift, 1), 1.0)
        assert low <= 0.126936737506643946 <= high
        assert high - low <= 1e-14 * shift + 1e-12


def test_a_density_of_the_users_own_agrees():
    user, other = Unimodal.of(stats.norm(1, 1), 1.0), Unimodal.of(stats.norm(0, 1), 0.0)
    low, high = stick(user, other, 1.0)
    assert low <= 0.126936737506643946 <= high
    assert high - low < 1e-10
    low, high = stick(Unimodal.of(stats.expon(), 0.0), Unimodal.of(stats.expon(scale=2.0), 0.0), 0.5)
    t = math.exp(0.5)  # p > t q below 2 log(2/t), both distribution functions are known
    x = 2 * math.log(2 / t)
    assert low <= -math.expm1(-x) + t * math.expm1(-x / 2) <= high
    assert high - low < 1e-10


# ---- tails


def test_signs_of_tails_are_true_far_out():
    laws = [
        (Mixture([0.5, 0.5], [Normal(-1, 0.6), Normal(1, 0.6)]), Mixture.of(Normal(0, 0.7)), -1),
        (Mixture.of(Normal(0, 0.7)), Mixture([0.5, 0.5], [Normal(-1, 0.6), Normal(1, 0.6)]), 1),
        (Mixture.of(Normal(1, 1)), Mixture.of(Normal(0, 1)), 1),
        (Mixture([0.9, 0.1], [Laplace(1, 1), Normal(0, 5)]), Mixture.of(Laplace(0, 1.1)), -1),
        (Mixture.of(NormalLaplace(1, 1, 1)), Mixture.of(NormalLaplace(0, 1, 1)), 1),
        (Mixture.of(Uniform(0, 1)), Mixture.of(Normal(0, 1)), -1),
    ]
    for p, q, expected in laws:
        two = TwoLaws(p, q)
        difference, order = Difference(two, 0.1), TailOrder(two, 1)
        signs = [order.sign(difference, place) for place in (12.0, 60.0, 400.0)]
        assert signs[-1] == expected
        at = truth.difference(p, q, 0.1, truth.density)
        with mp.workdps(40):
            for place, sign in zip((12.0, 60.0, 400.0), signs, strict=True):
                if sign:
                    assert all(sign * at(mp.mpf(place) * k) >= 0 for k in (1, 1.5, 3, 20))


def test_a_tail_whose_sign_turns_later_is_not_decided_early():
    """q has the wider but much lighter component: at 6 p is larger, far out q is."""
    p, q = Mixture.of(Normal(0, 1)), Mixture([1 - 1e-12, 1e-12], [Normal(0, 0.9), Normal(0, 1.1)])
    two = TwoLaws(p, q)
    assert TailOrder(two, 1).sign(Difference(two, 0.0), 6.0) == 0
    assert TailOrder(two, 1).sign(Difference(two, 0.0), 40.0) == -1


def test_a_wider_component_overtakes_a_steeper_one():
    """At 5 the wide law falls faster than the narrow one; far out it is the only one left."""
    two = TwoLaws(*pair(Normal(-100, 10), Normal(4.5, 1)))
    order = TailOrder(two, 1)
    assert order.slopes(5.0)[0] != order.slopes(5.0)[1]
    assert order.sign(Difference(two, 0.0), 5.0) == 0
    assert order.sign(Difference(two, 0.0), 200.0) == 1


def test_bounded_and_unbounded_ratios():
    cases = [
        (Normal(1, 1), Normal(0, 1), True),
        (Normal(0, 1), Normal(0, 2), False),
        (Normal(0, 2), Normal(0, 1), True),
        (Laplace(0, 1), Laplace(3, 1), False),
        (Laplace(0, 1.1), Laplace(3, 1), True),
        (NormalLaplace(0, 1, 1), Laplace(3, 1), False),
        (NormalLaplace(0, 1, 1), Normal(3, 100), True),
        (Uniform(0, 1), Normal(3, 1), False),
        (Normal(3, 1), Uniform(0, 1), True),
    ]
    for p, q, expected in cases:
        assert unbounded(TwoLaws(*pair(p, q))) is expected
    assert revealed(TwoLaws(*pair(Normal(0, 1), Laplace(0, 1)))) == (0.0, 0.0)
    low, high = revealed(TwoLaws(*pair(Laplace(0, 1), Mixture([0.5, 0.5], [Uniform(-2, -1), Uniform(0, 5)]))))
    exact = 0.5 * math.exp(-2) + 0.5 * math.exp(-5) + 0.5 * (1 - math.exp(-1))
    assert low <= exact <= high <= low + 1e-13


# ---- epsilon


@pytest.mark.parametrize("delta", [0.3, 0.01, 1e-5, 1e-12, 1e-50])
def test_epsilon_agrees_with_the_closed_form(delta):
    low, high = odds_for(Normal(1, 1), Normal(0, 1), delta)
    other = gdp(1.0).epsilon(delta, rtol=1e-11)
    assert low <= other.upper
    assert other.lower <= high
    assert high - low <= 1e-7


def test_epsilon_at_delta_zero():
    assert odds_for(Normal(1, 1), Normal(0, 1), 0) == (math.inf, math.inf)
    assert odds_for(Uniform(0, 1), Uniform(0.5, 1.5), 0.4) == (math.inf, math.inf)
    assert odds_for(Uniform(0, 1), Uniform(0.5, 1.5), 0.51) == (0.0, 0.0)
    assert odds_for(Normal(0, 1), Normal(0, 1), 0) == (0.0, 0.0)
    low, high = odds_for(Laplace(0.7, 1), Laplace(0, 1), 0)
    assert low <= 0.7 <= high <= low + 1e-8
    low, high = odds_for(Normal(0, 1), Normal(0, 2), 0)  # the ratio is largest at 0
    assert low <= math.log(2) <= high <= low + 1e-8
    weights = [0.7, 0.3], [0.2, 0.8]
    p, q = (Mixture(row, [Normal(0, 1), Normal(1, 1)]) for row in weights)  # approached far out only
    low, high = odds_for(p, q, 0)
    assert low <= math.log(3.5) <= high <= low + 1e-6


def test_epsilon_is_the_inverse_of_delta():
    test = LawTest(TwoLaws(TWO_BUMPS, ONE_BUMP))
    for delta in (0.2, 1e-3, 1e-9):
        low, high = test.smallest(delta)
        assert test.cut(low).delta[0] > delta or low == 0
        assert test.cut(high).delta[1] <= delta
        assert high - low < 1e-8


# ---- trade-off functions


def test_beta_agrees_with_closed_forms():
    alphas = np.array([0.0, 1e-9, 1e-3, 0.05, 0.5, 0.95, 1 - 1e-6, 1.0])
    for p, q, loss in (
        (Normal(1, 1), Normal(0, 1), gdp(1.0)),
        (Laplace(1, 1), Laplace(0, 1), laplace_loss(1.0)),
    ):
        found = EnclosedCurve.of(list(pair(p, q)), [(0, 1), (1, 0)]).beta(alphas)
        other = loss.beta(alphas)
        assert np.all(found.lower <= np.asarray(other.upper) + 1e-15)
        assert np.all(np.asarray(other.lower) <= np.asarray(found.upper) + 1e-15)
        assert np.all(np.asarray(found.width) <= 1e-7)


def test_beta_lies_above_every_line_and_below_every_test():
    test = LawTest(TwoLaws(TWO_BUMPS, ONE_BUMP))
    alphas = np.linspace(0.01, 0.99, 41)
    low, high = test.beta(alphas)
    assert np.all(low <= high)
    assert np.all(high - low <= 1e-3)
    for epsilon in (-1.0, 0.2, 1.5):
        here = cut(test.laws, epsilon)
        assert np.all(high >= here.rest[0] - math.exp(epsilon) * alphas - 1e-12)
        beta = test.beta(np.array([here.first[1]]))[0][0]
        assert beta <= here.second[1] + 1e-12


# ---- the curve


def test_it_is_a_curve_of_brackets():
    curve = EnclosedCurve.of([TWO_BUMPS, ONE_BUMP], [(0, 1), (1, 0)])
    assert isinstance(curve, Curve)
    single, many = curve.delta(0.5), curve.delta([[0.5, 1.0], [2.0, -1.0]])
    assert single.shape == ()
    assert many.shape == (2, 2)
    assert many.lower[0, 0] == single.lower
    assert single.certified
    assert single.met
    one, two = stick(TWO_BUMPS, ONE_BUMP, 0.5), stick(ONE_BUMP, TWO_BUMPS, 0.5)
    assert single.lower == pytest.approx(max(one[0], two[0]), abs=1e-12)
    assert curve.epsilon([0.1, 0.01]).shape == (2,)
    assert curve.beta(0.05).quantity == "beta"
    assert curve.epsilon(1.0).upper == 0.0


@pytest.mark.parametrize(
    "ask",
    [
        lambda c: c.delta(math.nan),
        lambda c: c.delta([]),
        lambda c: c.delta("1"),
        lambda c: c.delta(True),
        lambda c: c.delta(1.0, rtol=0),
        lambda c: c.epsilon(1.5),
        lambda c: c.epsilon(-0.1),
        lambda c: c.epsilon(math.nan),
        lambda c: c.beta(2.0),
        lambda c: c.beta(math.nan),
        lambda c: stick(Normal(0, 1), Normal(1, 1), math.nan),
        lambda c: stick(Normal(0, 1), Normal(1, 1), 0.0, width=0.0),
        lambda c: stick(Normal(0, 1), 3, 0.0),
        lambda c: odds_for(Normal(0, 1), Normal(1, 1), 2.0),
    ],
)
def test_bad_questions_are_refused(ask):
    curve = EnclosedCurve.of([TWO_BUMPS, ONE_BUMP], [(0, 1)])
    with pytest.raises(InvalidParameter):
        ask(curve)


def test_points_have_no_density():
    with pytest.raises(Unsupported):
        stick(Point(0.0), Normal(0, 1), 0.0)
