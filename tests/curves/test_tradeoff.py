from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.curves.exact import ExactTradeOff, between, log_between, lower_hull, power_of_e

from quiltwork.curves import Curve, Profile, TradeOff
from quiltwork.errors import InvalidParameter

unit = st.one_of(
    st.floats(0.0, 1.0), st.floats(0.0, 60.0).map(lambda x: 10.0**-x), st.integers(0, 8).map(lambda k: k / 8)
)


@st.composite
def tradeoffs(draw: st.DrawFn) -> tuple[TradeOff, ExactTradeOff]:
    """The lower hull of random points, which may be anything, and the same in rational arithmetic."""
    points = draw(st.lists(st.tuples(unit, unit), max_size=8))
    points = [(0.0, draw(unit)), *points, (1.0, 0.0)]
    exact = ExactTradeOff([(Fraction(a), Fraction(b)) for a, b in points])
    return TradeOff([a for a, _ in points], [b for _, b in points], hull=True), exact


Pair = tuple[TradeOff, ExactTradeOff]


@given(tradeoffs())
def test_vertices_are_the_exact_hull(pair: Pair) -> None:
    tradeoff, exact = pair
    vertices = [
        (Fraction(a), Fraction(b)) for a, b in zip(tradeoff.alphas.tolist(), tradeoff.betas.tolist(), strict=True)
    ]
    lowest = min(y for _, y in exact.chain)
    first = next(i for i, (_, y) in enumerate(exact.chain) if y == lowest)
    assert vertices == lower_hull([*exact.chain[: first + 1], (Fraction(1), Fraction(0))])


@given(tradeoffs(), st.lists(unit, min_size=1, max_size=5))
def test_beta_holds_the_rational_truth(pair: Pair, asked: list[float]) -> None:
    tradeoff, exact = pair
    asked = [*asked, *tradeoff.alphas.tolist()]
    answer = tradeoff.beta(asked)
    for alpha, lower, upper in zip(asked, answer.lower, answer.upper, strict=True):
        assert between(lower, exact.beta(Fraction(alpha)), upper)
    assert np.all(answer.width <= 1e-14)


@given(tradeoffs(), st.lists(st.floats(-150.0, 150.0), min_size=1, max_size=5))
def test_delta_holds_the_rational_truth(pair: Pair, asked: list[float]) -> None:
    tradeoff, exact = pair
    answer = tradeoff.delta(asked)
    for epsilon, lower, upper in zip(asked, answer.lower, answer.upper, strict=True):
        assert between(lower, exact.delta(power_of_e(epsilon)), upper)
    assert np.all(answer.width <= 1e-13)


@given(tradeoffs(), st.lists(unit, min_size=1, max_size=5))
def test_epsilon_holds_the_rational_truth(pair: Pair, asked: list[float]) -> None:
    tradeoff, exact = pair
    asked = [*asked, 1.0 - float(tradeoff.betas[0])]
    answer = tradeoff.epsilon(asked)
    for delta, lower, upper in zip(asked, answer.lower, answer.upper, strict=True):
        assert log_between(lower, exact.smallest_t(Fraction(delta)), upper)


@given(tradeoffs(), st.lists(st.floats(-50.0, 50.0), min_size=1, max_size=5))
def test_profile_is_the_conjugate_and_never_below(pair: Pair, asked: list[float]) -> None:
    tradeoff, exact = pair
    for epsilon, upper in zip(asked, tradeoff.profile().delta(asked).upper, strict=True):
        truth = exact.delta(power_of_e(epsilon))
        assert truth <= Fraction(float(upper)) <= truth + Fraction(1e-11)


@given(tradeoffs(), st.lists(unit, min_size=1, max_size=5))
def test_inverse_swaps_the_worlds(pair: Pair, asked: list[float]) -> None:
    tradeoff, exact = pair
    other = tradeoff.inverse()
    swapped = ExactTradeOff([*((b, a) for a, b in exact.chain), (Fraction(1), Fraction(0)), (Fraction(1), Fraction(1))])
    for alpha, lower in zip(asked, other.beta(asked).lower, strict=True):
        assert Fraction(float(lower)) <= swapped.beta(Fraction(alpha))
    # D of the swapped pair: D'(t) = 1 - t + t D(1/t)
    t = power_of_e(0.3)
    assert between(0.0, 1 - t + t * exact.delta(1 / t), float(other.delta(0.3).upper))


@given(tradeoffs(), st.lists(unit, min_size=1, max_size=5))
def test_symmetrised_is_symmetric_and_below_both(pair: Pair, asked: list[float]) -> None:
    tradeoff, _ = pair
    both = tradeoff.symmetrised()
    assert both.is_symmetric()
    assert np.all(np.less_equal(both.beta(asked).lower, tradeoff.beta(asked).upper))
    assert np.all(np.less_equal(both.beta(asked).lower, tradeoff.inverse().beta(asked).upper))


@given(tradeoffs())
def test_json_gives_it_back(pair: Pair) -> None:
    tradeoff, _ = pair
    again = TradeOff.from_json(json.loads(json.dumps(tradeoff.to_json(), allow_nan=False)))
    assert again == tradeoff
    assert hash(again) == hash(tradeoff)


def test_randomized_response() -> None:
    coin = TradeOff([0.0, 0.25, 1.0], [1.0, 0.25, 0.0])
    assert isinstance(coin, Curve)
    assert coin.is_symmetric()
    assert math.log(3) in coin.epsilon(0.0)
    assert 0.5 in coin.delta(0.0)
    profile = coin.profile(symmetric=True)
    assert profile.symmetric
    assert math.log(3) in profile.epsilon(1e-15) or profile.epsilon(1e-15).upper == pytest.approx(math.log(3))
    assert coin.vertices.tolist() == [[0.0, 1.0], [0.25, 0.25], [1.0, 0.0]]


def test_asymmetric_function_and_its_inverse() -> None:
    f = TradeOff([0.0, 0.2, 1.0], [0.9, 0.1, 0.0])
    assert not f.is_symmetric()
    back = f.inverse()
    assert back.alphas.tolist() == [0.0, 0.1, 0.9, 1.0]
    assert back.betas.tolist() == [1.0, 0.2, 0.0, 0.0]
    assert back.inverse() == f
    with pytest.raises(InvalidParameter, match="symmetrised"):
        f.profile(symmetric=True)
    assert f.symmetrised().profile(symmetric=True).symmetric


def test_powers_carry_deltas_far_below_rounding() -> None:
    tradeoff = Profile([5.0, 2.0], [1e-100, 1e-90], symmetric=True).tradeoff()
    assert tradeoff.delta(math.inf).upper == 1e-100
    assert tradeoff.delta(2.0).upper == pytest.approx(1e-90, rel=1e-9)
    plain = TradeOff(tradeoff.alphas, tradeoff.betas, hull=True)
    assert plain.delta(2.0).upper > 1e-17


def test_no_privacy_and_perfect_privacy() -> None:
    none = TradeOff([0.0, 1.0], [0.0, 0.0])
    assert tuple(none.delta(100.0)) == (1.0, 1.0)
    assert tuple(none.epsilon(0.5)) == (math.inf, math.inf)
    assert tuple(none.epsilon(1.0)) == (0.0, 0.0)
    assert none.profile().epsilons.size == 0
    perfect = TradeOff([0.0, 1.0], [1.0, 0.0])
    assert tuple(perfect.delta([0.0, 1.0]).upper) == (0.0, 0.0)
    assert perfect.epsilon(0.0).upper < 1e-14
    assert perfect.delta(-1.0).contains(-math.expm1(-1.0))


def test_end_is_continued_and_collinear_vertices_go() -> None:
    f = TradeOff([0.0, 0.25, 0.5], [0.5, 0.25, 0.0])
    assert f.vertices.tolist() == [[0.0, 0.5], [0.5, 0.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("alphas", "betas"),
    [
        ([], []),
        ([0.0, math.nan, 1.0], [1.0, 0.5, 0.0]),
        ([0.0, 0.5, 1.0], [1.0, math.nan, 0.0]),
        ([0.0, 1.0], [1.2, 0.0]),
        ([0.0, 1.0], [1.0]),
        ([[0.0, 1.0]], [[1.0, 0.0]]),
        (["zero", 1.0], [1.0, 0.0]),
        ([0.0, 1.0], None),
        ([0.1, 1.0], [0.9, 0.0]),  # starts late
        ([0.0, 1.0], [1.0, 0.1]),  # never reaches 0
        ([0.0, 0.6, 0.4, 1.0], [1.0, 0.2, 0.3, 0.0]),  # unsorted
        ([0.0, 0.5, 0.5, 1.0], [1.0, 0.3, 0.2, 0.0]),  # two values at one alpha
        ([0.0, 0.4, 0.6, 1.0], [0.5, 0.2, 0.3, 0.0]),  # rises
        ([0.0, 0.5, 1.0], [1.0, 0.6, 0.0]),  # not convex
    ],
)
def test_bad_vertices_are_refused(alphas: object, betas: object) -> None:
    with pytest.raises(InvalidParameter):
        TradeOff(alphas, betas)


def test_the_hull_is_taken_when_asked() -> None:
    f = TradeOff([0.0, 0.5, 0.5, 0.2, 1.0], [1.0, 0.6, 0.9, 0.2, 0.0], hull=True)
    assert f.vertices.tolist() == [[0.0, 1.0], [0.2, 0.2], [1.0, 0.0]]


def test_powers_must_be_one_minus_betas() -> None:
    with pytest.raises(InvalidParameter, match="powers"):
        TradeOff([0.0, 1.0], [0.9, 0.0], [0.2, 1.0])
    with pytest.raises(InvalidParameter, match="powers"):
        TradeOff([0.0, 1.0], [0.9, 0.0], [0.1])


def test_questions_are_validated_and_keep_their_shape() -> None:
    f = TradeOff([0.0, 0.25, 1.0], [1.0, 0.25, 0.0])
    assert f.beta(np.full((2, 3), 0.5)).shape == (2, 3)
    assert f.delta(np.zeros((2, 3))).shape == (2, 3)
    assert f.epsilon(np.full((2, 3), 0.5)).shape == (2, 3)
    assert type(f.epsilon(0.1).upper) is float
    for question, value in ((f.beta, -0.1), (f.delta, math.nan), (f.epsilon, 2.0)):
        with pytest.raises(InvalidParameter):
            question(value)
    assert "vertices" in repr(TradeOff(np.linspace(0, 1, 9), (1 - np.linspace(0, 1, 9)) ** 2))
