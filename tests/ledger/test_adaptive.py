"""Adaptive budgets: what a filter admits, exactly, and what it tells (theory/granularity.md section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.ledger.books import KEPT, Clock, costs, refused, spent_until_refused

import quiltwork as qw
from quiltwork.errors import BudgetExceeded, InvalidParameter
from quiltwork.ledger import Ledger


@pytest.fixture
def ledger(fast_sqlite: str) -> Iterator[Ledger]:
    with Ledger(fast_sqlite, clock=Clock()) as made:
        yield made


# ---- the counterexample of section 3.2


def adaptive_delta(epsilon: float) -> float:
    """delta of A, then B when A said 0 and C when it said 1, by enumeration of all outputs."""
    heads, tails = math.e / (1 + math.e), 1 / (1 + math.e)
    first = {0: (heads, tails), 1: (tails, heads)}
    reveals = {"real": (0.05, 0.0), "fake": (0.0, 0.05), "nothing": (0.95, 0.95)}
    outcomes = [(p * p2, q * q2) for (p, q) in [first[0]] for (p2, q2) in first.values()]
    outcomes += [(p * p2, q * q2) for (p, q) in [first[1]] for (p2, q2) in reveals.values()]
    one = sum(max(p - math.exp(epsilon) * q, 0.0) for p, q in outcomes)
    other = sum(max(q - math.exp(epsilon) * p, 0.0) for p, q in outcomes)
    return max(one, other)


def test_the_shortcut_of_the_counterexample_is_refused(ledger_url: str) -> None:
    """The worst fixed path costs (1.5, 0.2102884), the adaptive choice between paths (1.5, 0.2237354)."""
    a, b, c = qw.pure(1.0), qw.pure(1.0), qw.approximate(0.0, 0.05)
    between = 0.217
    paths = [float((a + b).delta(1.5).upper), float((a + c).delta(1.5).upper)]
    assert max(paths) < between < adaptive_delta(1.5)
    assert adaptive_delta(1.5) == pytest.approx(0.2237354, abs=1e-7)
    with Ledger(ledger_url) as ledger:
        for path in (a + b, a + c):  # each path alone, fixed in advance, keeps the limit: the shortcut would admit it
            ledger.open(f"plan {path}", epsilon=1.5, delta=between, protects="x", kind="planned", plan=[("ab", path)])
        for kind in ("pure", "zcdp", "gdp", "renyi"):
            options: dict[str, Any] = {"reveal": 0.1} if kind == "renyi" else {}
            ledger.open(kind, epsilon=1.5, delta=between, filter=kind, protects="x", **options)
            # whoever may run B after one output of A, and C after the other, has delta above the limit
            assert spent_until_refused(ledger, kind, qw.pure(1.0), most=2) == 1, kind
            if kind in ("pure", "renyi"):  # after A, C fits; these two count what may fail outright
                ledger.spend(kind, c)


# ---- exactly N, and the last unit


EXACT: dict[str, tuple[dict[str, Any], Any, int]] = {
    # in doubles 0.1 added ten times is below 1, 0.1 added three times above 0.3
    "pure, tenths": ({"epsilon": 1.0}, qw.pure(0.1), 10),
    "pure, three tenths": ({"epsilon": 0.3}, qw.pure(0.1), 3),
    "pure, laplace": ({"epsilon": 0.7}, qw.laplace(30.0, 3.0), 7),
    "zcdp": ({"rho": 0.3}, qw.zcdp(0.1), 3),
    "zcdp, gaussian": ({"rho": 0.5}, qw.gaussian(2.0), 4),
    "zcdp, thirds": ({"rho": 0.5}, qw.gaussian(3.0), 9),
    "zcdp, pure": ({"rho": 0.06}, qw.pure(0.2), 3),
    "zcdp, discrete": ({"rho": 0.5}, qw.discrete_gaussian(3.0), 9),
    "gdp": ({"mu": 0.3}, qw.gdp(0.1), 9),
    "gdp, gaussian": ({"mu": 0.7}, qw.gaussian(10.0), 49),
    "approximate, pure": ({"epsilon": 0.3, "delta": 3e-7, "filter": "pure"}, qw.approximate(0.1, 1e-7), 3),
    "approximate, deltas": ({"epsilon": 9.0, "delta": 3e-7, "filter": "pure"}, qw.approximate(0.1, 1e-7), 3),
}


@pytest.mark.parametrize("case", EXACT)
def test_exactly_as_many_as_fit(ledger: Ledger, case: str) -> None:
    limit, loss, count = EXACT[case]
    ledger.open("b", protects="x", **limit)
    assert ledger.forecast("b", loss).count == count
    assert not ledger.would_exceed("b", loss, times=count)
    assert ledger.would_exceed("b", loss, times=count + 1)
    assert spent_until_refused(ledger, "b", loss) == count
    assert ledger.forecast("b", loss).count == 0
    balance = ledger.balance("b")
    if "deltas" not in case:  # there the other component is used up
        assert (balance.left.lower, balance.left.upper) == (0.0, 0.0)
        assert (balance.spent.lower, balance.spent.upper) == (balance.limit.lower, balance.limit.upper)
    assert ledger.verify().holds


def test_renyi_admits_what_its_order_allows(ledger: Ledger) -> None:
    """alpha rho each: at order 12 and limit B exactly floor(B / (12/800)) Gaussians of sigma 20."""
    found = ledger.open("b", epsilon=2.0, delta=1e-6, order=12.0, protects="x").terms.filter
    assert found is not None
    expected = found.limit[0] // (12 * Fraction(1, 800))
    assert spent_until_refused(ledger, "b", qw.gaussian(20.0)) == expected
    # tight composition of that many is below the promise, as it must be
    assert float((int(expected) * qw.gaussian(20.0)).epsilon(1e-6).upper) <= 2.0


def test_the_last_unit_counts(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x")
    ledger.spend("b", qw.pure(0.9999999999999999))
    with refused(ledger, BudgetExceeded):
        ledger.spend("b", qw.pure(1.0000000000000001e-16 * 1.0001))
    ledger.spend("b", qw.pure(1e-16))
    assert ledger.balance("b").left.upper == 0.0
    with refused(ledger, BudgetExceeded):
        ledger.spend("b", qw.pure(1e-90))


def test_a_refused_spend_leaves_room_for_a_smaller_one(ledger_url: str) -> None:
    with Ledger(ledger_url, clock=Clock()) as ledger:
        ledger.open("b", rho=0.5, protects="x")
        ledger.spend("b", qw.gaussian(1.25))
        with refused(ledger, BudgetExceeded, "rho 0.18"):
            ledger.spend("b", qw.gaussian(1.5))
        ledger.spend("b", qw.zcdp(0.18))
        assert ledger.balance("b").left.upper == 0.0


@settings(max_examples=examples(25))
@given(
    steps=st.lists(st.tuples(st.integers(1, 400), st.integers(1, 3)), min_size=1, max_size=12),
    limit=st.integers(1, 1000),
)
def test_granted_if_and_only_if_the_sum_fits(steps: list[tuple[int, int]], limit: int, places: Any) -> None:
    """Against whole numbers of thousandths."""
    name = places()
    ledger = places.ledger
    ledger.open(name, epsilon=limit / 1000, protects="x")
    spent = 0
    for cost, times in steps:
        loss = qw.pure(cost / 1000)
        fits = spent + cost * times <= limit
        assert ledger.would_exceed(name, loss, times=times) != fits
        assert ledger.forecast(name, loss).count == (limit - spent) // cost
        if fits:
            spent += cost * times
            assert costs(ledger.spend(name, loss, times=times))[0] == Fraction(cost * times, 1000)
        else:
            with pytest.raises(BudgetExceeded):
                ledger.spend(name, loss, times=times)
        balance = ledger.balance(name)
        assert float(balance.spent.lower) <= spent / 1000 <= float(balance.spent.upper)
        assert float(balance.left.lower) <= (limit - spent) / 1000 <= float(balance.left.upper)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """New names of budgets in one ledger."""

    class Places:
        def __init__(self, ledger: Ledger) -> None:
            self.ledger, self.count = ledger, 0

        def __call__(self) -> str:
            self.count += 1
            return f"budget {self.count}"

    with Ledger(f"sqlite:///{tmp_path_factory.mktemp('places')}/b.db") as made:
        yield Places(made)


# ---- balance, odometer, forecast


@pytest.mark.parametrize("kept", KEPT)
def test_forecast_balance_and_reading_agree_with_brute_force(ledger: Ledger, kept: str) -> None:
    ledger.open("b", protects="x", **KEPT[kept])
    loss = {"pure": qw.laplace(4.0), "pure with delta": qw.approximate(0.25, 1e-8)}.get(kept, qw.gaussian(4.0))
    assert ledger.balance("b").reading == 0.0
    last, granted = 0.0, 0
    while True:
        forecast = ledger.forecast("b", loss).count
        balance = ledger.balance("b")
        assert float(balance.spent.upper) + float(balance.left.upper) == pytest.approx(float(balance.limit.upper))
        assert 0 <= balance.used <= 1 + 1e-12
        assert balance.reading is not None
        assert balance.reading >= last
        assert ledger.would_exceed("b", loss) == (forecast == 0)
        last = balance.reading
        try:
            ledger.spend("b", loss)
        except BudgetExceeded:
            assert forecast == 0
            break
        assert forecast is not None
        assert ledger.forecast("b", loss).count == forecast - 1
        granted += 1
    assert granted > 2


def test_the_odometer_bounds_the_realised_loss(ledger: Ledger) -> None:
    """Gaussian releases: the realised loss is N(n/2 mu^2, n mu^2); the reading must pass its 1 - delta quantile."""
    from scipy.stats import norm

    ledger.open("b", epsilon=3.0, delta=1e-4, filter="zcdp", protects="x")
    for count in range(1, 10):
        ledger.spend("b", qw.gaussian(10.0))
        balance = ledger.balance("b")
        assert balance.delta == 1e-4
        quantile = count * 0.005 + math.sqrt(count * 0.01) * float(norm.isf(1e-4))
        assert balance.reading is not None
        assert quantile <= balance.reading < 3.0


def test_a_pure_reading_is_the_sum(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x")
    for count in range(1, 5):
        ledger.spend("b", qw.laplace(8.0))
        balance = ledger.balance("b")
        assert balance.reading is not None
        assert count / 8 <= balance.reading <= count / 8 * (1 + 1e-12)
        assert balance.delta == 0.0


def test_what_costs_nothing_fits_for_ever(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x")
    free = qw.pure(0.0)
    ledger.spend("b", qw.pure(1.0))
    assert ledger.forecast("b", free).count is None
    assert not ledger.would_exceed("b", free, times=2**53)
    ledger.spend("b", free)
    assert ledger.balance("b").left.upper == 0.0


def test_a_forecast_of_very_many(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1e90, protects="x")
    found = ledger.forecast("b", qw.pure(1e-90)).count
    assert found is not None
    assert found >= 2**53


def test_a_guarantee_is_spent_when_it_protects_the_same(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="one record, added or removed")
    same = qw.Guarantee(qw.pure(0.25), protects="one record, added or removed")
    other = qw.Guarantee(qw.pure(0.25), protects="one person")
    assert costs(ledger.spend("b", same)) == [Fraction(1, 4), Fraction(0)]
    with refused(ledger, InvalidParameter, "one person"):
        ledger.spend("b", other)


def test_budgets_do_not_touch_each_other(ledger_url: str) -> None:
    with Ledger(ledger_url) as ledger:
        for name in "abc":
            ledger.open(name, epsilon=1.0, protects="x")
        ledger.spend("b", qw.pure(1.0))
        assert [float(ledger.balance(name).left.lower) for name in "abc"] == [1.0, 0.0, 1.0]
