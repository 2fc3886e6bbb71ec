from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erfcx, ndtr
from tests.curves.exact import ExactProfile, between, log_between, power_of_e, tradeoff_of
from tests.curves.strategies import profiles

from quiltwork.curves import Curve, Profile
from quiltwork.errors import InvalidParameter

Pair = tuple[Profile, ExactProfile]
places = st.lists(st.one_of(st.floats(-120.0, 120.0), st.floats(-1e-6, 1e-6)), min_size=1, max_size=5)
alphas = st.lists(st.one_of(st.floats(0.0, 1.0), st.floats(0.0, 40.0).map(lambda x: 10.0**-x)), min_size=1, max_size=5)


def gaussian_delta(mu: float, epsilon: np.ndarray) -> np.ndarray:
    a, b = -epsilon / mu + mu / 2, -epsilon / mu - mu / 2
    return ndtr(a) * (1 - erfcx(-b / math.sqrt(2)) / erfcx(-a / math.sqrt(2)))


@given(profiles(), places)
def test_delta_holds_the_rational_truth(pair: Pair, asked: list[float]) -> None:
    profile, exact = pair
    asked = [*asked, *profile.epsilons.tolist()]
    answer = profile.delta(asked)
    for epsilon, lower, upper in zip(asked, answer.lower, answer.upper, strict=True):
        assert between(lower, exact.delta(power_of_e(epsilon)), upper)
    assert np.all(answer.width <= 1e-12 * answer.upper + 1e-320)


@given(profiles(), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5))
def test_epsilon_holds_the_rational_truth(pair: Pair, asked: list[float]) -> None:
    profile, exact = pair
    asked = [*asked, *profile.deltas.tolist()]
    answer = profile.epsilon(asked)
    for delta, lower, upper in zip(asked, answer.lower, answer.upper, strict=True):
        assert log_between(lower, exact.smallest_t(Fraction(delta)), upper)


@given(profiles(), alphas)
def test_beta_holds_the_rational_truth(pair: Pair, asked: list[float]) -> None:
    profile, exact = pair
    asked = [*asked, *profile.tradeoff().alphas.tolist()]
    answer = profile.beta(asked)
    for alpha, lower, upper in zip(asked, answer.lower, answer.upper, strict=True):
        assert between(lower, exact.beta(Fraction(alpha)), upper)
    assert np.all(answer.width <= 1e-12)


@given(profiles(), alphas)
def test_tradeoff_is_the_conjugate_and_never_exceeds_it(pair: Pair, asked: list[float]) -> None:
    profile, exact = pair
    tradeoff = profile.tradeoff()
    if exact.knots():
        assert tradeoff_of(exact).beta(Fraction(asked[0])) == exact.beta(Fraction(asked[0]))
    asked = [*asked, *tradeoff.alphas.tolist()]
    for alpha, lower in zip(asked, tradeoff.beta(asked).lower, strict=True):
        assert Fraction(float(lower)) <= exact.beta(Fraction(alpha))


@given(profiles(), places)
def test_round_trip_is_exact_to_rounding_and_never_below(pair: Pair, asked: list[float]) -> None:
    profile, exact = pair
    asked = [*asked, *profile.epsilons.tolist()]
    back = profile.tradeoff().profile().delta(asked)
    for epsilon, upper in zip(asked, back.upper, strict=True):
        truth = exact.delta(power_of_e(epsilon))
        assert truth <= Fraction(float(upper)) <= truth + Fraction(1e-12)
    if exact.knots():
        assert tradeoff_of(exact).profile().delta(power_of_e(asked[0])) == exact.delta(power_of_e(asked[0]))


@given(profiles(symmetric=True), places)
def test_symmetric_round_trip(pair: Pair, asked: list[float]) -> None:
    profile, exact = pair
    tradeoff = profile.tradeoff()
    assert tradeoff.is_symmetric()
    for epsilon, upper in zip(asked, tradeoff.profile(symmetric=True).delta(asked).upper, strict=True):
        truth = exact.delta(power_of_e(epsilon))
        assert truth <= Fraction(float(upper)) <= truth + Fraction(1e-12)


@given(profiles(symmetric=True), places)
def test_symmetric_identity_and_unfolding(pair: Pair, asked: list[float]) -> None:
    profile, exact = pair
    for epsilon in asked:
        t = power_of_e(epsilon)
        assert exact.delta(t) == 1 - t + t * exact.delta(1 / t)
    unfolded = profile.unfolded()
    assert not unfolded.symmetric
    answer = unfolded.delta(asked)
    for epsilon, lower, upper in zip(asked, answer.lower, answer.upper, strict=True):
        assert between(lower, exact.delta(power_of_e(epsilon)), upper)


@given(profiles())
def test_shape_of_the_curve(pair: Pair) -> None:
    profile, _ = pair
    assert profile.delta(-math.inf).lower == profile.delta(-math.inf).upper == 1.0
    assert profile.delta(math.inf).upper == profile.reveal
    assert np.all(np.diff(profile.epsilons) > 0)
    assert np.all(np.diff(profile.deltas) < 0)
    reveal, weights = profile.weights()
    assert reveal + weights.sum() == pytest.approx(1.0, abs=1e-9)
    assert np.all(weights > 0)  # strictly convex at every knot
    t = np.linspace(0.01, 10.0, 41)
    deltas = profile.delta(np.log(t))
    assert np.all(np.greater_equal(deltas.upper, 1 - t))
    assert np.all(np.diff(deltas.midpoint, 2) >= -1e-12)


@given(profiles())
def test_json_gives_it_back(pair: Pair) -> None:
    profile, _ = pair
    again = Profile.from_json(json.loads(json.dumps(profile.to_json(), allow_nan=False)))
    assert again == profile
    assert hash(again) == hash(profile)


def test_order_and_duplicates_do_not_matter() -> None:
    one = Profile([0.3, 0.15, 0.15, 7.0], [0.0, 0.02, 0.5, 0.0], symmetric=True)
    two = Profile([0.15, 0.3], [0.02, 0.0], symmetric=True)
    assert one == two
    assert (one.pruned, two.pruned) == (2, 0)


def test_points_above_the_envelope_are_pruned() -> None:
    # the line from the anchor t = -1 to (e, 0) passes below (2, 0.4)
    assert Profile([1.0, math.log(2)], [0.0, 0.4], symmetric=True).epsilons.tolist() == [1.0]
    # but the line from t = 0 does not pass below (2, 0.2)
    assert Profile([1.0, math.log(2)], [0.0, 0.2]).epsilons.tolist() == [math.log(2), 1.0]
    straight = np.linspace(0.0, 2.0, 1001)
    line = (np.exp(2.0) - np.exp(straight)) / (np.exp(2.0) + 1.0)
    profile = Profile(straight, np.maximum(line, 0.0), symmetric=True)
    assert profile.epsilons.size <= 3
    assert profile.slack < 1e-12
    assert profile.delta(straight).contains(line).mean() > 0.9  # the given deltas are rounded themselves


def test_seed_weights_of_figure_2() -> None:
    # theory/multi-constraints.md, section 6: alpha = 0.750047680261444529938 is the weight of RR(0.15)
    reveal, weights = Profile([0.3, 0.15], [0.0, 0.02], symmetric=True).weights()
    assert reveal == 0.0
    assert weights == pytest.approx([0.750047680261444529938, 0.249952319738555470062], rel=1e-14)


def test_pure_and_approximate_closed_forms() -> None:
    pure = Profile([1.0], [0.0], symmetric=True)
    assert tuple(pure.epsilon(0.0)) == (1.0, 1.0)
    assert tuple(pure.delta(1.0)) == (0.0, 0.0)
    assert math.tanh(0.5) in pure.delta(0.0)
    assert tuple(pure.beta(0.0)) == (1.0, 1.0)
    assert tuple(pure.beta(1.0)) == (0.0, 0.0)
    approximate = Profile([1.0], [1e-5], symmetric=True)
    assert tuple(approximate.epsilon(1e-6)) == (math.inf, math.inf)
    assert approximate.reveal == 1e-5
    one_order = Profile([1.0], [0.0])
    assert 1 - math.exp(-1) in one_order.delta(0.0)
    assert tuple(one_order.epsilon(1.0)) == (0.0, 0.0)


def test_perfect_privacy_and_none() -> None:
    perfect = Profile([0.0], [0.0], symmetric=True)
    assert np.array_equal(perfect.beta([0.0, 0.25, 1.0]).lower, [1.0, 0.75, 0.0])
    assert tuple(perfect.epsilon(0.0)) == (0.0, 0.0)
    for symmetric in (False, True):
        nothing = Profile([3.0, math.inf], [1.0, 0.0], symmetric=symmetric)
        assert nothing.epsilons.size == 0
        assert nothing.pruned == 2
        assert tuple(nothing.delta(50.0)) == (1.0, 1.0)
        assert tuple(nothing.epsilon(0.5)) == (math.inf, math.inf)
        assert tuple(nothing.epsilon(1.0)) == (0.0, 0.0)
        assert tuple(nothing.beta(0.0)) == (0.0, 0.0)
        assert nothing.weights()[0] == 1.0
        assert nothing.unfolded().epsilons.size == 0
        assert nothing.tradeoff().profile().epsilons.size == 0
        assert "nothing hidden" in repr(nothing)


def test_huge_epsilons_never_overflow() -> None:
    profile = Profile([900.0, 1500.0, 3000.0], [1e-3, 1e-6, 0.0], symmetric=True)
    assert profile.epsilons.size == 3
    assert tuple(profile.epsilon(0.0)) == (3000.0, 3000.0)
    middle = profile.delta(1500.0 - math.log(2))  # half way from t = 0 to t = e^1500: (1e-6 + 1e-3) / 2
    assert middle.safe == pytest.approx(1e-6 + (1e-3 - 1e-6) / 2, rel=1e-12)  # 1500 - log 2 is rounded itself
    assert profile.epsilon(middle.safe).safe == pytest.approx(1500.0 - math.log(2), rel=1e-15)
    assert tuple(profile.beta([0.0, 1.0]).lower) == (1.0, 0.0)
    assert profile.beta(1e-300).upper < 1e-300  # e^900 * 1e-300 is far above 1
    assert profile.tradeoff().beta(0.5).lower == 0.0


def test_dense_gaussian_profile_keeps_tiny_numbers() -> None:
    epsilons = np.linspace(0.0, 12.0, 2001)
    profile = Profile(epsilons, gaussian_delta(1.0, epsilons), symmetric=True)
    assert profile.pruned == 0
    asked = np.linspace(0.0, 11.99, 777)
    assert np.max(profile.epsilon(profile.delta(asked).upper).relative_width[1:]) < 1e-12
    back = profile.tradeoff().profile()
    ratio = np.asarray(back.delta(asked).upper) / np.asarray(profile.delta(asked).upper)
    assert np.all(ratio >= 1 - 1e-13)
    assert np.max(ratio) < 1 + 2e-11  # at delta = 1e-31, through `powers`; a unit of epsilon either way is 1e-11 of it
    tail = profile.beta(1 - 10.0 ** -np.linspace(3, 15, 50))
    assert np.max(tail.relative_width) < 1e-13
    # the hull through points of G_1 lies above G_1's profile, hence its trade-off function below G_1
    truth = ndtr(-3.7190164854556804 - 1.0)  # G_1(1 - 1e-4) = ndtr(ndtri(1e-4) - 1)
    assert truth * (1 - 1e-4) < profile.beta(1 - 1e-4).lower < truth


@pytest.mark.parametrize(
    ("epsilons", "deltas"),
    [
        ([], []),
        ([math.nan], [0.1]),
        ([1.0], [math.nan]),
        ([1.0], [-0.1]),
        ([1.0], [1.1]),
        ([1.0, 2.0], [0.1]),
        ([[1.0]], [[0.1]]),
        (["one"], [0.1]),
        (None, [0.1]),
        (1.0, 0.1),
        ([-1.0], [0.1]),  # below 1 - e^-1
    ],
)
def test_bad_points_are_refused(epsilons: object, deltas: object) -> None:
    with pytest.raises(InvalidParameter):
        Profile(epsilons, deltas)


def test_more_bad_input() -> None:
    with pytest.raises(InvalidParameter, match="symmetric"):
        Profile([-1.0], [0.9], symmetric=True)
    with pytest.raises(InvalidParameter, match="slack"):
        Profile([1.0], [0.1], slack=-1.0)
    profile = Profile([1.0], [0.1])
    for question, value in (
        (profile.delta, math.nan),
        (profile.delta, []),
        (profile.delta, "1"),
        (profile.epsilon, 1.5),
        (profile.epsilon, -0.1),
        (profile.epsilon, math.nan),
        (profile.beta, 2.0),
        (profile.beta, None),
    ):
        with pytest.raises(InvalidParameter):
            question(value)


def test_points_below_the_floor_by_rounding_are_lifted() -> None:
    epsilon = -0.7
    profile = Profile([epsilon], [-np.expm1(epsilon) - 1e-13])
    assert Fraction(float(profile.delta(epsilon).upper)) >= 1 - power_of_e(epsilon)


def test_slack_widens_only_the_lower_side() -> None:
    tight, loose = Profile([1.0], [0.1], symmetric=True), Profile([1.0], [0.1], symmetric=True, slack=0.01)
    assert loose.delta(1.0).upper == tight.delta(1.0).upper
    assert 0.1 / 1.01 in loose.delta(1.0)
    assert loose.epsilon(0.2).upper == tight.epsilon(0.2).upper
    assert loose.epsilon(0.2).lower < tight.epsilon(0.2).lower
    assert loose.beta(0.1).lower == tight.beta(0.1).lower
    assert loose.beta(0.1).upper > tight.beta(0.1).upper


def test_arrays_keep_their_shape_and_the_value_is_frozen() -> None:
    profile = Profile([1.0], [0.1])
    assert isinstance(profile, Curve)
    assert profile.delta(np.zeros((2, 3))).shape == (2, 3)
    assert profile.epsilon(np.full((2, 3), 0.5)).shape == (2, 3)
    assert profile.beta(np.full((2, 3), 0.5)).shape == (2, 3)
    assert type(profile.delta(0.0).upper) is float
    with pytest.raises(AttributeError):
        profile.symmetric = True  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        profile.epsilons[0] = 0.0
    assert repr(Profile(np.linspace(1, 2, 9), np.linspace(0.2, 0.0, 9) ** 2)).endswith("9 points>")


def test_knots_a_hair_apart_have_a_tradeoff_below_the_profile() -> None:
    """The vertex between two such knots is uncertain by far more than rounding; it once raised."""
    profile = Profile([0.9999999999729834, 1.0000000000000018], [1.3509859897362588e-11, 0.0])
    tradeoff = profile.tradeoff()
    for alpha in (0.0, 0.01, 0.1, 0.18, 0.19, 0.3, 0.36, 0.5, 1.0):
        assert float(tradeoff.beta(alpha).lower) <= float(profile.beta(alpha).upper)
        assert float(profile.beta(alpha).lower) - float(tradeoff.beta(alpha).lower) < 1e-4
