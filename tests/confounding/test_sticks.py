"""Hockey sticks, inverses and trade-off functions of two laws: brackets against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.confounding import finite_truth as truth

from quiltwork.confounding.finite.channels import repeated
from quiltwork.confounding.finite.release import WorstPair
from quiltwork.curves import finite as exact
from quiltwork.curves.finite import contrast, odds_ends
from quiltwork.numbers.laws import laws
from quiltwork.numbers.stated import Stated

BOTH = np.array([(0, 1), (1, 0)])
UNEQUAL = [["1/2", "1/3", "1/6", "0"], ["1/6", "1/3", "1/4", "1/4"]]


def curve(rows: Any) -> WorstPair:
    return WorstPair(laws("rows", rows), BOTH)


# ---- the same in fractions


@given(truth.rational_laws(4), truth.rational_laws(4), st.fractions(0, 8, max_denominator=20))
def test_exact_stick_is_the_definition(p: truth.Law, q: truth.Law, odds: Fraction) -> None:
    assert exact.stick(p, q, odds) == truth.stick(p, q, odds)


@given(truth.rational_laws(4), truth.rational_laws(4), st.fractions(0, 1, max_denominator=30))
def test_exact_odds_solve_the_equation(p: truth.Law, q: truth.Law, delta: Fraction) -> None:
    """Found by sorted ratios there, from the values at the knots here."""
    found = exact.odds_for(p, q, delta)
    assert found == truth.odds_for(p, q, delta)
    if found is not None and found > 1:
        assert truth.stick(p, q, found) <= delta
        assert truth.stick(p, q, found * (1 - Fraction(1, 10**9))) > delta


# ---- brackets


@given(
    st.integers(1, 4).flatmap(lambda n: truth.float_tables(2, n)),
    st.sampled_from(truth.EPSILONS),
    st.sampled_from(truth.DELTAS),
    st.sampled_from(truth.ALPHAS),
)
def test_brackets_hold_the_truth_of_hard_laws(rows: Any, epsilon: float, delta: float, alpha: float) -> None:
    """Zeros, subnormals, rows a hair apart, extreme questions; floats read as decimals and as doubles."""
    truth.assert_curve(curve(rows), truth.both_readings(rows), epsilons=[epsilon], deltas=[delta], alphas=[alpha])


@given(
    truth.rational_tables(2, 4),
    st.floats(-3.0, 3.0),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
)
def test_brackets_are_narrow_where_nothing_is_small(
    rows: truth.Table, epsilon: float, delta: float, alpha: float
) -> None:
    found = curve(rows)
    truth.assert_curve(found, [rows], epsilons=[epsilon], deltas=[delta], alphas=[alpha])
    assert found.delta(epsilon).width < 1e-13
    assert found.beta(alpha).width < 1e-13


HARD_PAIRS = [
    [[0.5, 0.5], [5e-324, 1.0]],
    [[0.25, 0.75, 0.0], [1e-300, 0.5, 0.5]],
    [[1e-320, 1.0], [2e-320, 1.0]],
    [[1e-16, 1.0, 1e-300], [0.0, 1.0, 1e-310]],
    [[1 / 3, 1 / 3, 1 / 3], [0.3333333333333334, 0.3333333333333333, 0.3333333333333333]],
]


@pytest.mark.parametrize("rows", HARD_PAIRS)
def test_every_hard_question_to_every_hard_pair(rows: Any) -> None:
    truth.assert_curve(
        curve(rows), truth.both_readings(rows), epsilons=truth.EPSILONS, deltas=truth.DELTAS, alphas=truth.ALPHAS
    )


def test_epsilon_is_narrow() -> None:
    deltas = [0.0, 1e-12, 1e-6, 0.01, 0.1, 0.2]
    found = curve([["1/2", "1/3", "1/6"], ["1/6", "1/3", "1/2"]]).epsilon(deltas)
    assert np.all(np.asarray(found.width) < 1e-13)
    assert np.all(np.asarray(found.lower)[:5] > 0)


def test_many_questions_at_once_are_the_same_as_one_by_one() -> None:
    found = curve(UNEQUAL)
    epsilons, deltas, alphas = np.linspace(-2, 4, 24).reshape(4, 6), np.linspace(0, 1, 9), np.linspace(0, 1, 8)
    for ask, places in ((found.delta, epsilons), (found.epsilon, deltas), (found.beta, alphas)):
        together = ask(places)  # type: ignore[operator]
        assert together.shape == places.shape
        for index in np.ndindex(places.shape):
            alone = ask(float(places[index]))  # type: ignore[operator]
            assert (alone.lower, alone.upper) == (together.lower[index], together.upper[index])


def test_blocks_of_questions_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = contrast(laws("rows", UNEQUAL), 0, 1)
    odds = np.linspace(0.0, 5.0, 17)
    whole = pair.upper(odds)
    monkeypatch.setattr("quiltwork.curves.finite.BLOCK", 3)
    assert np.array_equal(pair.upper(odds), whole)


# ---- corners


def test_equal_rows_tell_nothing() -> None:
    rows = [[0.3, 0.7], [0.3, 0.7]]
    found = curve(rows)
    assert found.epsilon(0.0).lower == 0.0
    assert found.epsilon(0.0).upper < 1e-14
    assert found.epsilon(1e-9).upper == 0.0
    assert found.delta(1e-9).upper == 0.0
    assert found.delta(0.0).upper < 1e-14
    assert found.beta([0.0, 0.25, 1.0]).contains([1.0, 0.75, 0.0]).all()


def test_disjoint_rows_tell_everything() -> None:
    found = curve([["1", "0"], ["0", "1"]])
    assert found.delta(math.inf).upper == 1.0
    assert found.delta(math.inf).lower > 1 - 1e-13
    assert found.epsilon([0.0, 0.5, 0.9]).lower.tolist() == [math.inf] * 3  # type: ignore[union-attr]
    assert found.epsilon(1.0).upper == 0.0  # delta = 1 promises nothing, and costs nothing
    assert found.beta([0.0, 0.5, 1.0]).upper.max() < 1e-13  # type: ignore[union-attr]


def test_one_outcome() -> None:
    found = curve([["1"], ["1"]])
    truth.assert_curve(found, [truth.table([["1"], ["1"]])], epsilons=truth.EPSILONS, deltas=truth.DELTAS)
    assert found.beta(0.25).contains(0.75)


def test_infinite_epsilon_leaves_what_is_revealed() -> None:
    """Mass of the first law where the second has none, and all of it at minus infinity."""
    found = WorstPair(laws("rows", UNEQUAL), np.array([(1, 0)]))
    assert found.delta(math.inf).contains(0.25)
    assert found.delta(-math.inf).contains(1.0)
    assert found.epsilon(0.2).lower == math.inf
    assert math.isfinite(found.epsilon(0.26).upper)


def test_delta_falls_and_beta_falls() -> None:
    found = curve(UNEQUAL)
    deltas, betas = found.delta(np.linspace(-3, 3, 50)), found.beta(np.linspace(0, 1, 50))
    assert np.all(np.diff(np.asarray(deltas.upper)) <= 1e-15)
    assert np.all(np.diff(np.asarray(betas.lower)) <= 1e-15)


def test_a_quotient_that_overflows_is_not_infinite() -> None:
    """400 uses tell 9^400: more than doubles hold, and not everything (it was once said to be infinite)."""
    found = curve(repeated([[0.9, 0.1], [0.1, 0.9]], 400)).epsilon([0.0, 1e-6])
    assert np.all(np.asarray(found.lower) <= 400 * math.log(9.0))
    assert np.all(np.asarray(found.lower) > 700)
    assert np.all(np.asarray(found.upper) >= 400 * math.log(9.0))


def test_masses_that_underflow_still_have_a_ratio() -> None:
    """Beyond the largest ratio delta is zero, though masses of 1e-400 are not known."""
    rows = laws("rows", [[1e-200, 1.0], [2e-200, 1.0]])
    found = WorstPair(rows.beside(rows), BOTH)
    assert found.epsilon(0.0).contains(math.log(4.0))
    assert found.epsilon(0.0).width < 1e-13
    assert found.delta(1.4).upper == 0.0


# ---- places


@given(st.one_of(st.floats(-800.0, 800.0), st.floats(-1e-300, 1e-300), st.sampled_from(truth.EPSILONS)))
def test_odds_ends_hold_both_readings(epsilon: float) -> None:
    low, high = (float(end) for end in odds_ends(np.array(epsilon)))
    assert not math.isnan(low + high) or math.isinf(low)
    if math.isinf(epsilon):
        assert low == high == (math.inf if epsilon > 0 else 0.0)
        return
    if abs(epsilon) > 1e4:
        assert (low, high) == ((float(np.finfo(float).max), math.inf) if epsilon > 0 else (0.0, 1e-323))
        return
    for read in (Fraction, truth.typed):
        odds = truth.power_of_e(epsilon, read)
        assert Fraction(low) <= odds
        assert high == math.inf or odds <= Fraction(high)
    if abs(epsilon) < 700:
        assert high <= low * (1 + 2e-15 * (4 + abs(epsilon)))


@given(st.one_of(st.floats(0.0, 1.0), st.sampled_from(truth.DELTAS)))
def test_stated_numbers_have_two_readings(value: float) -> None:
    low, high = Stated(value).below, Stated(value).above
    for reading in truth.readings(value):
        assert Fraction(low) <= reading <= Fraction(high)
    assert high <= math.nextafter(math.nextafter(value, 2.0), 2.0)
    assert (low == high) == (len(truth.readings(value)) == 1)


def test_a_decimal_alpha_near_one() -> None:
    """1 - 0.999999999 is not 1e-9 in doubles, and both readings are held (once the upper end was too small)."""
    found = curve([["1/2", "1/2"], ["1/2", "1/2"]]).beta(0.999999999)
    for reading in truth.readings(0.999999999):
        assert truth.holds(found, 1 - reading)
