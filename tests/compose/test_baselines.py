"""Simpler rules: against their formulas in many digits, against golden values, and never below the exact answer."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.losses.laws import mp
from tests.truth.remembered import Remembered

import quiltwork as qw
from quiltwork.compose.papers.simple_rules import (
    MOST,
    advanced,
    basic,
    dwork_rothblum_vadhan,
    kairouz_oh_viswanath,
    one_at_a_time,
    total_variation,
    with_total_variation,
)
from quiltwork.errors import InvalidParameter

FIGURE_2 = [(0.3, 0.0), (0.15, 0.02)]
GOLDEN = json.loads((Path(__file__).parents[1] / "reference_multi_constraints.json").read_text())["fig2"]
TRUTHS = Remembered(__file__)
EXACT = 1e-11  # relative error of what is computed exactly
HAIR = mp.mpf("1e-45")  # rounding of the truth itself

epsilons = st.floats(0.0, 5.0)
deltas = st.one_of(st.just(0.0), st.floats(0.0, 0.5))
releases = st.lists(st.tuples(epsilons, deltas, st.integers(1, 50)), min_size=1, max_size=4)


# ---- one pair out


def test_basic_adds_up_and_rounds_up():
    epsilon, delta = basic([(0.1, 1e-9, 3), (0.2, 0.0, 5), (7.0, 0.5, 0)])
    assert epsilon == 1.3  # as typed
    assert delta == pytest.approx(3e-9, rel=1e-15)
    assert basic([(1.0, 0.3, 4)]) == (4.0, 1.0)
    assert basic([(math.inf, 0.0, 1)])[0] == math.inf
    assert basic([(1e300, 0.0, 2**40)])[0] == math.inf
    assert basic([]) == (0.0, 0.0)


@given(parts=releases, slack=st.floats(1e-300, 0.9))
def test_the_advanced_rules_follow_their_formulas_and_round_up(parts, slack):
    exact = [(typed(e), typed(d), k) for e, d, k in parts]
    square = mp.fsum(k * e * e for e, _, k in exact)
    log = -mp.log(typed(slack))
    first = mp.fsum(k * e * mp.expm1(e) for e, _, k in exact) + mp.sqrt(2 * square * log)
    found, spent = dwork_rothblum_vadhan(parts, slack)
    assert first * (1 - HAIR) <= typed(found) <= above(first)
    assert spent == pytest.approx(float(min(1, mp.mpf(slack) + mp.fsum(k * d for _, d, k in exact))), rel=1e-14)
    drift = mp.fsum(k * e * mp.tanh(e / 2) for e, _, k in exact)
    middle = drift + mp.sqrt(2 * square * mp.log(mp.e + mp.sqrt(square) / typed(slack)))
    least = min(mp.fsum(k * e for e, _, k in exact), middle, drift + mp.sqrt(2 * square * log))
    found, spent = advanced(parts, slack)
    assert least * (1 - HAIR) <= typed(found) <= above(least)
    either = -mp.expm1(mp.fsum(k * mp.log1p(-d) for _, d, k in [*exact, (0, typed(slack), 1)]))
    assert either * (1 - HAIR) <= typed(spent) <= above(either)


def typed(x):
    """The number that was typed, in many digits."""
    return mp.mpf(repr(float(x)))


def above(value):
    """A little more than this: what rounding up may add."""
    return value * (1 + mp.mpf(1e-14)) + mp.mpf(1e-320)


def test_advanced_rules_at_the_edges():
    assert advanced([(0.1, 0.0, 1000)], 0.0) == (pytest.approx(100.0), 0.0)
    assert dwork_rothblum_vadhan([(0.1, 0.0, 1000)], 0.0) == (math.inf, 0.0)
    assert advanced([(1.0, 0.0, 2), (0.5, 1.0, 1)], 1e-6)[1] == 1.0
    assert advanced([], 1e-6) == (0.0, pytest.approx(1e-6))
    assert dwork_rothblum_vadhan([(0.0, 0.0, 9)], 1e-6) == (0.0, 1e-6)
    assert dwork_rothblum_vadhan([(800.0, 0.0, 1)], 1e-6)[0] == math.inf
    assert advanced([(1e200, 0.0, 3), (1e-200, 0.0, 3)], 5e-324)[0] == pytest.approx(3e200)
    assert advanced([(1e-200, 0.0, 10**6)], 0.5)[0] == pytest.approx(1e-197 * math.sqrt(2 * math.log(2)), rel=1e-12)


@given(parts=releases, slack=st.floats(1e-12, 0.5))
def test_no_rule_is_below_the_exact_answer(parts, slack):
    total = qw.compose(*(count * qw.approximate(epsilon, delta) for epsilon, delta, count in parts))
    for epsilon, delta in (basic(parts), advanced(parts, slack), dwork_rothblum_vadhan(parts, slack)):
        assert epsilon == math.inf or total.delta(epsilon).lower <= delta


# ---- one constraint, in closed form


def kov(epsilon, delta, count, i):
    """Theorem 3.3 of Kairouz, Oh and Viswanath as printed, in many digits."""
    e, d = typed(epsilon), typed(delta)
    terms = (mp.binomial(count, j) * (mp.exp((count - j) * e) - mp.exp((count - 2 * i + j) * e)) for j in range(i))
    return 1 - (1 - d) ** count * (1 - mp.fsum(terms) / (1 + mp.exp(e)) ** count)


def multiple(count, epsilon):
    """The least float that reaches the product of the decimals that were typed."""
    found = count * epsilon * (1 - 1e-15)
    while decimal(found) < count * decimal(epsilon):
        found = math.nextafter(found, math.inf)
    return found


@given(epsilon=st.floats(1e-6, 40.0), delta=deltas, count=st.integers(1, 40))
def test_the_region_of_one_constraint_follows_the_theorem(epsilon, delta, count):
    region = kairouz_oh_viswanath(epsilon, delta, count)
    with mp.workdps(900):
        for i in range(count // 2 + 1):
            true = kov(epsilon, delta, count, i)
            found = region.delta(multiple(count - 2 * i, epsilon))
            assert true * (1 - mp.mpf(10) ** -500) <= found.upper <= true * (1 + mp.mpf(EXACT)) + mp.mpf(1e-315)


def decimal(x):
    """The number that was typed."""
    return Fraction(repr(float(x)))


def composed(epsilon, delta, count, at):
    """delta of `count` randomized responses with a reveal, by the sum over all outputs; exact where losses tie."""
    e, d = (mp.mpf(x.numerator) / x.denominator for x in (decimal(epsilon), decimal(delta)))
    chances = [mp.binomial(count, j) * mp.exp((count - j) * e) / (1 + mp.exp(e)) ** count for j in range(count + 1)]
    gaps = [decimal(at) - (count - 2 * j) * decimal(epsilon) for j in range(count + 1)]
    reached = [(p, x) for p, x in zip(chances, gaps, strict=True) if x < 0]
    stick = mp.fsum(-p * mp.expm1(mp.mpf(x.numerator) / x.denominator) for p, x in reached)
    return 1 - (1 - d) ** count * (1 - stick)


@given(
    epsilon=st.one_of(st.floats(0.01, 10.0), st.integers(1, 999).map(lambda n: n / 100)),
    delta=st.sampled_from([0.0, 1e-12, 0.02]),
    count=st.integers(1, 25),
    share=st.floats(0.0, 1.05),
)
def test_both_ends_hold_the_truth(epsilon, delta, count, share):
    """Anywhere, at each face, and one float beside the last."""
    region = kairouz_oh_viswanath(epsilon, delta, count)
    faces = [multiple(n, epsilon) for n in range(count, -1, -2)]
    beside = [math.nextafter(faces[0], towards) for towards in (0.0, math.inf)]
    with mp.workdps(120):
        for at in (*faces, *beside, 0.0, share * faces[0]):
            found = region.delta(at)
            assert typed(found.lower) <= composed(epsilon, delta, count, at) <= typed(found.upper)


@pytest.mark.parametrize(
    ("epsilon", "delta", "count", "i"),
    [(1.0, 0.0, 800, 200), (1.0, 0.0, 800, 399), (0.3, 1e-6, 1001, 499), (50.0, 0.0, 100, 3), (0.01, 0.0, 3000, 700)],
)
def test_large_counts_and_losses_neither_overflow_nor_lose_digits(epsilon, delta, count, i):
    """k eps beyond 709, where the printed formula overflows."""
    place = (count - 2 * i) * epsilon
    found = kairouz_oh_viswanath(epsilon, delta, count).delta(place).upper
    with mp.workdps(1500):
        true = TRUTHS(f"{epsilon} {delta} {count} {i}", lambda: kov(epsilon, delta, count, i))
        assert true <= found <= true * (1 + mp.mpf(EXACT))


@given(epsilon=st.floats(0.01, 3.0), delta=st.sampled_from([0.0, 1e-6, 0.1]), count=st.integers(1, 30))
def test_the_closed_form_is_the_region_of_the_composed_loss(epsilon, delta, count):
    closed, engine = kairouz_oh_viswanath(epsilon, delta, count), (count * qw.approximate(epsilon, delta)).region()
    for at in np.linspace(0.0, 1.1 * count * epsilon, 7):
        assert closed.delta(at).upper == pytest.approx(engine.delta(at).upper, rel=EXACT, abs=1e-15)


def test_one_constraint_at_the_edges():
    assert kairouz_oh_viswanath(0.5, 1.0, 3).delta(2.0).lower == 1.0
    assert kairouz_oh_viswanath(0.0, 0.125, 3).delta(0.0).upper == pytest.approx(1 - 0.875**3, rel=1e-14)
    assert kairouz_oh_viswanath(0.0, 0.0, 3).delta(0.0).upper == 0.0
    one = kairouz_oh_viswanath(0.5, 0.0, 1)
    assert one.epsilons.tolist() == [0.5]
    assert one.deltas.tolist() == [0.0]
    huge = kairouz_oh_viswanath(900.0, 0.0, 4)
    assert huge.epsilons.tolist() == [3600.0]  # a delta that is 1 as a float bounds nothing
    assert len(kairouz_oh_viswanath(1e-3, 1e-9, 10**5).epsilons) > 1000


# ---- several constraints


@pytest.mark.parametrize("count", [3, 20])
@pytest.mark.parametrize("name", ["delta_single_1", "delta_single_2", "delta_remark1_region", "delta_remark2_region"])
def test_golden_regions(name, count):
    region = {
        "delta_single_1": lambda: kairouz_oh_viswanath(*FIGURE_2[0], count),
        "delta_single_2": lambda: kairouz_oh_viswanath(*FIGURE_2[1], count),
        "delta_remark1_region": lambda: one_at_a_time(FIGURE_2, count),
        "delta_remark2_region": lambda: with_total_variation(FIGURE_2, count),
    }[name]()
    for epsilon, true in GOLDEN[f"k={count}"][name].items():
        found = region.delta(float(epsilon))
        assert found.upper == pytest.approx(float(true), rel=EXACT)
        assert found.upper >= float(true) * (1 - 4e-16)


def test_golden_total_variation():
    true = mp.mpf(GOLDEN["eta_corrected_remark2"])
    assert total_variation(FIGURE_2) == pytest.approx(float(true), rel=1e-14)
    assert total_variation(FIGURE_2) in qw.Bracket(float(true) * (1 - 1e-14), float(true) * (1 + 1e-14), "delta")
    assert total_variation([(0.0, 0.125)]) == pytest.approx(0.125, rel=1e-14)
    assert total_variation([(3.0, 1.0)]) == 1.0


constraint_sets = st.lists(
    st.tuples(st.one_of(st.just(0.0), st.floats(0.01, 2.0)), st.one_of(st.just(0.0), st.floats(1e-9, 0.4))),
    min_size=1,
    max_size=4,
)


@given(points=constraint_sets, count=st.integers(1, 12))
def test_regions_nest(points, count):
    """Exact inside Remark 2 inside Remark 1: what each rule forgets only enlarges the region."""
    exact = count * qw.constraints(points)
    narrow, wide = with_total_variation(points, count), one_at_a_time(points, count)
    for at in np.linspace(0.0, 2.5 * count, 9):
        assert exact.delta(at).lower <= narrow.delta(at).upper
        assert narrow.delta(at).upper <= wide.delta(at).upper * (1 + EXACT) + 2e-15  # tiny weights may be left out


@given(points=constraint_sets)
def test_the_total_variation_is_delta_at_zero(points):
    assert qw.constraints(points).delta(0.0).upper == pytest.approx(total_variation(points), rel=1e-12, abs=2e-15)


def test_constraints_may_come_from_a_generator():
    again = one_at_a_time((point for point in FIGURE_2), 3)
    assert again == one_at_a_time(FIGURE_2, 3)
    assert with_total_variation((point for point in FIGURE_2), 3) == with_total_variation(FIGURE_2, 3)


# ---- what is refused


@pytest.mark.parametrize(
    ("ask", "name"),
    [
        (lambda: basic(3), "parts"),
        (lambda: basic([(0.1, 5)]), "parts"),
        (lambda: basic([(-0.1, 0.0, 5)]), "epsilon"),
        (lambda: basic([(math.nan, 0.0, 5)]), "epsilon"),
        (lambda: basic([([1.0], 0.0, 5)]), "epsilon"),
        (lambda: basic([(0.1, 1.5, 5)]), "delta"),
        (lambda: basic([(0.1, 0.0, 1.5)]), "count"),
        (lambda: advanced([(0.1, 0.0, 5)], -1e-6), "slack"),
        (lambda: dwork_rothblum_vadhan([(0.1, 0.0, 5)], 2.0), "slack"),
        (lambda: kairouz_oh_viswanath(math.inf, 0.0, 3), "epsilon"),
        (lambda: kairouz_oh_viswanath(1.0, 2.0, 3), "delta"),
        (lambda: kairouz_oh_viswanath(1.0, 0.0, 0), "count"),
        (lambda: kairouz_oh_viswanath(1.0, 0.0, MOST + 1), "count"),
        (lambda: one_at_a_time([], 3), "constraints"),
        (lambda: one_at_a_time([(1.0,)], 3), "constraints"),
        (lambda: with_total_variation(FIGURE_2, 0), "count"),
        (lambda: with_total_variation([(0.3, -0.1)], 3), "delta"),
        (lambda: total_variation(None), "constraints"),
    ],
)
def test_bad_input_is_named(ask, name):
    with pytest.raises(InvalidParameter, match=f"^{name} must be"):
        ask()
