"""Ignoring the confounder: it can say too little, too much, or both, and facts that decide which.

Reference: theory/confounding.md 2.1 and 2.2.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.confounding import finite_truth as truth
from tests.confounding.test_release import xor_pad
from tests.examples import examples

from quiltwork.confounding.finite.channels import repeated
from quiltwork.confounding.finite.ignoring import Ignoring
from quiltwork.confounding.world import World
from quiltwork.errors import InvalidParameter, NotCertified

ODDS = [Fraction(1), Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(3)]
TWIN = [["99/100", "1/100"], ["1/100", "99/100"]]
CROSSING = (
    [["7/10", "1/10", "1/5"], ["1/5", "2/5", "2/5"]],
    [["1/5", "4/5"], ["1/5", "4/5"], ["7/10", "3/10"]],
    [["4/5", "1/5"], ["1/2", "1/2"], ["7/10", "3/10"]],
)
# the curves cross only where the worst pair of secrets changes, between all ratios
CROSSING_BETWEEN = (
    [["1/5", "1/2", "3/10"], ["1/10", "1/2", "2/5"]],
    [["2/5", "3/5"], ["2/5", "3/5"], ["7/10", "3/10"]],
    [["7/10", "3/10"], ["3/5", "2/5"], ["2/5", "3/5"]],
)
UNDER = (
    [["1/10", "9/10"], ["2/5", "3/5"]],
    [["1/2", "1/2"], ["1/5", "4/5"]],
    [["3/10", "7/10"], ["1/2", "1/2"]],
)


def curves(data: Any, *channels: Any) -> tuple[truth.Table, truth.Table]:
    """The true law of all outputs, and that of the product of effective mechanisms."""
    rows, tables = truth.table(data), [truth.table(channel) for channel in channels]
    return truth.through(rows, truth.beside(*tables)), truth.beside(*(truth.through(rows, table) for table in tables))


def ignoring(data: Any, *channels: Any) -> Ignoring:
    return World(data=data).release(*channels).ignoring_confounder()


# ---- the product


@settings(max_examples=examples(40))
@given(truth.rational_tables(3, 3), truth.rational_tables(3, 2), truth.rational_tables(3, 3))
def test_it_is_the_product_of_effective_mechanisms(data: Any, one: Any, two: Any) -> None:
    found, (_, product) = ignoring(data, one, two), curves(data, one, two)
    for odds in ODDS[:3]:
        assert found.exact_delta(odds) == truth.delta_at(product, odds)
    assert found.exact_odds("1/30") == truth.odds_at(product, Fraction(1, 30))
    truth.assert_curve(found, [product], epsilons=[0.2], deltas=[0.01], alphas=[0.3])


def test_it_is_never_a_guarantee() -> None:
    found = ignoring(*CROSSING)
    for bracket in (found.delta(0.1), found.epsilon(0.01), found.beta(0.1)):
        assert not bracket.certified
        with pytest.raises(NotCertified):
            _ = bracket.safe


# ---- named examples


@pytest.mark.parametrize(
    ("data", "channels", "direction"),
    [
        ([["3/4", "1/4"], ["1/4", "3/4"]], [TWIN, TWIN], "overestimates"),
        (CROSSING[0], CROSSING[1:], "crosses"),
        (CROSSING_BETWEEN[0], CROSSING_BETWEEN[1:], "crosses"),
        (UNDER[0], UNDER[1:], "underestimates"),
        (CROSSING[0], CROSSING[1:2], "agrees"),
        ([["1/2", "1/2"], ["1/2", "1/2"]], [TWIN, TWIN], "agrees"),
    ],
)
def test_direction_of_named_examples(data: Any, channels: Any, direction: str) -> None:
    found = ignoring(data, *channels)
    assert found.direction == direction
    assert direction in found.explain()


def test_xor_pad_underestimates() -> None:
    world, one, two = xor_pad(Fraction(1, 10))
    found = world.release(one, two).ignoring_confounder()
    assert found.direction == "underestimates"
    assert found.errs(0.5) == "underestimates"
    assert "more privacy than there is" in found.explain(0.01)


def test_it_errs_in_both_directions_in_one_example() -> None:
    found = ignoring(*CROSSING)
    assert found.errs(0.0) == "underestimates"
    assert found.errs(math.log(1.5)) == "overestimates"
    assert found.errs(math.log(3.0)) == "agrees"


def test_curves_that_cross_between_the_ratios() -> None:
    """Exactly: at every ratio of the laws it says too much or the same, and in between too little."""
    true, product = curves(*CROSSING_BETWEEN)
    places = [
        t for rows in (true, product) for i, j in ((0, 1), (1, 0)) for t in truth.knots(rows[i], rows[j]) if t > 1
    ]
    assert all(truth.delta_at(product, t) >= truth.delta_at(true, t) for t in [*places, Fraction(1)])
    between = [1 + Fraction(k, 1000) for k in range(1, 600)]
    assert any(truth.delta_at(product, t) < truth.delta_at(true, t) for t in between)


@settings(max_examples=examples(40))
@given(truth.rational_tables(3, 3, 4), truth.rational_tables(3, 2, 4), truth.rational_tables(3, 2, 4))
def test_direction_agrees_with_the_exact_curves(data: Any, one: Any, two: Any) -> None:
    found, (true, product) = ignoring(data, one, two), curves(data, one, two)
    places = [1 + Fraction(k, 17) for k in range(40)]
    gaps = [truth.delta_at(product, t) - truth.delta_at(true, t) for t in places]
    if any(gap < -1e-9 for gap in gaps):
        assert found.direction in {"underestimates", "crosses"}
    if any(gap > 1e-9 for gap in gaps):
        assert found.direction in {"overestimates", "crosses"}
    for t, gap in list(zip(places, gaps, strict=True))[:6]:
        said = "agrees" if gap == 0 else "underestimates" if gap < 0 else "overestimates"
        if gap == 0 or abs(gap) > 1e-9:
            assert found.errs(math.log(t)) == said


def test_all_three_errors_are_common() -> None:
    """Random worlds: it errs below, above and both ways, each in at least one of twenty (the draws are fixed)."""
    rng, said = np.random.default_rng(7), Counter()  # type: ignore[var-annotated]
    for _ in range(300):
        data, one, two = (rng.dirichlet(np.ones(n), size=m) for m, n in ((2, 3), (3, 2), (3, 2)))
        said[ignoring(data, one, two).direction] += 1
    assert min(said["underestimates"], said["overestimates"], said["crosses"]) >= 15
    assert set(said) <= {"underestimates", "overestimates", "crosses"}


# ---- facts of 2.2


@given(truth.rational_tables(2, 3), truth.rational_tables(3, 2), truth.rational_tables(3, 2))
def test_fact_1_both_are_at_least_each_single_mechanism(data: Any, one: Any, two: Any) -> None:
    found = World(data=data).release(one, two)
    for odds in ODDS:
        single = max(found.alone(index).exact_delta(odds) for index in (0, 1))
        assert single <= found.exact_delta(odds)
        assert single <= found.ignoring_confounder().exact_delta(odds)


@given(truth.rational_tables(2, 3), truth.rational_tables(3, 2))
def test_fact_2_beside_a_mechanism_that_reveals_the_data_it_overestimates(data: Any, one: Any) -> None:
    found = World(data=data).release(one, np.eye(3, dtype=int))
    for odds in ODDS:
        assert found.exact_delta(odds) == truth.delta_at(truth.table(data), odds)
        assert found.exact_delta(odds) <= found.ignoring_confounder().exact_delta(odds)


def test_fact_3_many_uses_overestimate_without_limit() -> None:
    """The truth stays below the data's own epsilon; composing the effective mechanism grows with the uses."""
    data, bits = [["3/4", "1/4"], ["1/4", "3/4"]], [["7/10", "3/10"], ["3/10", "7/10"]]
    world, effective = World(data=data), truth.through(truth.table(data), truth.table(bits))
    cap = world.release(np.eye(2, dtype=int)).exact_odds()
    claims = []
    for count in (1, 4, 12, 60):
        true = world.release(repeated(bits, count))
        claimed = World(data=np.eye(2, dtype=int)).release(repeated(effective, count))
        assert true.exact_odds() <= cap == 3  # type: ignore[operator]
        claims.append(float(claimed.epsilon(0.1).lower))
        if count == 12:  # values of theory/confounding.md 2.1
            assert true.epsilon(0.0).upper == pytest.approx(1.0985, abs=1e-4)
            assert claimed.epsilon(0.0).upper == pytest.approx(4.8656, abs=1e-4)
    assert claims == sorted(claims)
    assert claims[-1] > 5 * math.log(3)


@given(truth.rational_tables(3, 2), truth.rational_tables(3, 3), st.integers(1, 2))
def test_fact_4_mechanisms_that_tell_nothing_alone_underestimate(one: Any, two: Any, secret: int) -> None:
    """A pad modulo three: x = (r, r + s).  The claim is zero; the truth is not, unless the outputs' laws agree."""
    third = Fraction(1, 3)
    values = [(r, v) for r in range(3) for v in range(3)]
    data = [[third if (r + s) % 3 == v else Fraction(0) for r, v in values] for s in (0, secret)]
    channels = [[one[r] for r, _ in values], [two[v] for _, v in values]]
    found = World(data=data).release(*channels)
    assert found.ignoring_confounder().exact_delta(1) == 0
    first, second = truth.through(data, truth.beside(*channels))
    assert (found.exact_delta(1) > 0) == (first != second)


@given(truth.rational_tables(2, 3, 4), truth.rational_tables(3, 2, 4), truth.rational_tables(3, 2, 4))
def test_fact_6_at_delta_zero_it_is_decided_by_the_dependence(data: Any, one: Any, two: Any) -> None:
    """e^eps_true = max over y of c_s/c_s' prod psi_i(s)/psi_i(s'); ignoring says max of the product alone."""
    found, (true, product) = World(data=data).release(one, two), curves(data, one, two)
    assume(all(entry > 0 for row in true for entry in row))
    best = max(
        ((true[i][y] / true[j][y], i, j, y) for i, j in ((0, 1), (1, 0)) for y in range(4)), key=lambda item: item[0]
    )
    density = [[b / n for b, n in zip(*rows, strict=True)] for rows in zip(true, product, strict=True)]
    ratios = [
        density[i][y] / density[j][y] * product[i][y] / product[j][y] for i, j in ((0, 1), (1, 0)) for y in range(4)
    ]
    assert found.exact_odds() == max(*ratios, Fraction(1)) == max(best[0], Fraction(1))
    _, i, j, y = best
    if density[i][y] <= density[j][y]:
        assert found.exact_odds() <= found.ignoring_confounder().exact_odds()


# ---- the repaired copula bound


@given(
    truth.rational_tables(2, 3),
    truth.rational_tables(3, 2),
    truth.rational_tables(3, 2),
    st.fractions(Fraction(1, 2), 3, max_denominator=8),
    st.sampled_from(ODDS),
)
def test_theorem_b_prime(data: Any, one: Any, two: Any, shift: Fraction, odds: Fraction) -> None:
    """delta <= eta + C E_{t/e^a}(prod psi_s || prod psi_s') if b_s(c_s > e^a c_s') <= eta and c_s <= C (2.3)."""
    true, product = curves(data, one, two)
    for i, j in ((0, 1), (1, 0)):
        kept = [y for y in range(4) if true[i][y] > 0]
        density = {k: [true[k][y] / product[k][y] if product[k][y] else Fraction(0) for y in range(4)] for k in (i, j)}
        eta = sum((true[i][y] for y in kept if density[i][y] > shift * density[j][y]), Fraction(0))
        most = max(density[i][y] for y in kept)
        bound = eta + most * truth.stick(product[i], product[j], odds / shift)
        assert truth.stick(true[i], true[j], odds) <= bound


# ---- refusals


@pytest.mark.parametrize("epsilon", [math.nan, math.inf, [0.0, 1.0], None, "0"])
def test_errs_takes_one_number(epsilon: Any) -> None:
    with pytest.raises(InvalidParameter, match="epsilon"):
        ignoring(*CROSSING).errs(epsilon)


@pytest.mark.parametrize("delta", [math.nan, 2.0, -1.0, None, "0"])
def test_explain_takes_a_delta(delta: Any) -> None:
    with pytest.raises(InvalidParameter, match="delta"):
        ignoring(*CROSSING).explain(delta)
