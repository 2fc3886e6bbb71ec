"""What budgets, balances and forecasts say, in words and as JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from datetime import timedelta
from fractions import Fraction
from typing import Any

import attrs
import pytest
from tests.ledger.books import START, Clock

import quiltwork as qw
from quiltwork.errors import BudgetExceeded
from quiltwork.ledger import Balance, Blocks, Budget, Forecast, Ledger


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(fast_sqlite: str, clock: Clock) -> Iterator[Ledger]:
    with Ledger(fast_sqlite, clock=clock) as made:
        yield made


def number(pattern: str, text: str) -> Fraction:
    found = re.search(pattern, text)
    assert found, (pattern, text)
    return Fraction(found.group(1))


# ---- budgets


def test_a_budget_explains_its_promise(ledger: Ledger) -> None:
    budget = ledger.open(
        "patients",
        epsilon=2.0,
        delta=1e-6,
        protects=qw.user("person", 4),
        blocks=Blocks("ward", most=3),
        refresh=timedelta(days=7),
        expires=START + timedelta(days=365),
    )
    said = budget.explain()
    for words in (
        "'patients' (open)",
        "epsilon 2, delta 1e-06",
        "all records (at most 4) of one person",
        "Adaptive",
        "supermartingale on every path",
        "at most 3 blocks",
        "Each ward",
        "1 week",
        "2031-01-01T12:00:00+00:00",
    ):
        assert words in said, words
    assert str(budget) == "patients: epsilon 2, delta 1e-06 (adaptive, open)"


def test_every_filter_names_its_theorem(ledger: Ledger) -> None:
    names = {"pure": "Rogers", "zcdp": "Feldman", "gdp": "Smith", "renyi": "Feldman"}
    for kind, who in names.items():
        said = ledger.open(kind, epsilon=2.0, delta=1e-6, filter=kind, protects="x").explain()
        assert who in said, kind


def test_a_plan_explains_itself(ledger: Ledger) -> None:
    plan = [("a", qw.pure(0.1), 3), ("c", qw.pure(0.2))]
    said = ledger.open("b", epsilon=1.0, protects="x", kind="planned", plan=plan).explain()
    assert "4 runs of 2 releases" in said
    assert "Adaptive" not in said


def test_a_budget_as_json(ledger: Ledger, clock: Clock) -> None:
    ledger.open("b", mu=0.5, protects="one record", owners=["ada"], note="n")
    clock.forward(days=1)
    ledger.pause("b")
    found = json.loads(json.dumps(ledger.budget("b").to_json(), allow_nan=False))
    assert found["schema"] == "quiltwork/budget/1"
    assert (found["name"], found["state"], found["entries"]) == ("b", "paused", 2)
    assert found["opened"] == "2030-01-01T12:00:00.000000+00:00"
    assert found["limit"]["mu"] == 0.5
    assert found["filter"]["limit"] == ["1/4"]
    assert (found["owners"], found["note"], found["protects"]) == (["ada"], "n", "one record")


# ---- balances


def test_a_balance_explains_itself(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x", refresh=timedelta(days=1))
    ledger.spend("b", qw.pure(0.3))
    ledger.reserve("b", qw.pure(0.03), lease=60)
    said = ledger.balance("b").explain()
    assert number(r"([\d.]+) of 1 \(epsilon\)", said) == Fraction(33, 100)
    assert number(r"at least ([\d.]+) is left", said) == Fraction(67, 100)
    assert number(r" ([\d.]+)% is spent", said) == 33
    assert "1 reservation" in said
    assert "Period 1 ends 2030-01-02T12:00:00+00:00" in said
    assert str(ledger.balance("b")) == "b: epsilon 0.33 of 1 spent"


@pytest.mark.parametrize("cost", [0.123456789, 0.99999999, 1e-9, 0.5, 1 / 3])
def test_numbers_in_words_are_on_the_safe_side(ledger: Ledger, cost: float) -> None:
    ledger.open("b", epsilon=1.0, protects="x")
    ledger.spend("b", qw.pure(cost))
    exact = Fraction(repr(cost))
    balance = ledger.balance("b")
    said = balance.explain()
    assert number(r"([\d.e-]+) of 1 \(epsilon\)", said) >= exact
    assert number(r"at least ([\d.e-]+) is left", said) <= 1 - exact
    assert number(r"([\d.e-]+)% is spent", said) >= 100 * exact
    assert number(r"loss is at most ([\d.e-]*\d)", said) >= exact
    assert max(Fraction(balance.used), Fraction(repr(balance.used))) >= exact  # a double, read as it is typed
    assert Fraction(float(balance.spent.lower)) <= Fraction(float(balance.spent.upper))
    assert Fraction(float(balance.spent.upper)) >= exact or Fraction(repr(float(balance.spent.upper))) >= exact


def test_what_is_said_to_be_left_can_be_spent(ledger: Ledger) -> None:
    """In a refusal and in a forecast too: never more than there is."""
    ledger.open("b", epsilon=1.0, protects="x")
    ledger.spend("b", qw.pure(0.12345678))  # 0.87654322 is left, 0.876543 with six digits, 0.8766 with four rounded up
    ledger.open("c", epsilon=1.0, protects="x")
    ledger.spend("c", qw.pure(0.12345622))  # 0.87654378 is left, and that is 0.876544 to the nearest
    for name, left in (("b", Fraction("0.87654322")), ("c", Fraction("0.87654378"))):
        with pytest.raises(BudgetExceeded) as caught:
            ledger.spend(name, qw.pure(0.9))
        assert number(r"epsilon ([\d.]+)", caught.value.remaining) <= left
        assert number(r"epsilon ([\d.]+)", caught.value.requested) >= Fraction("0.9")
        assert number(r"epsilon ([\d.]+)", ledger.forecast(name, qw.pure(0.1)).left) <= left


def test_a_refusal_never_seems_to_fit(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x")
    ledger.spend("b", qw.pure(0.1))
    with pytest.raises(BudgetExceeded) as caught:
        ledger.spend("b", qw.pure(0.9000000001))
    error = caught.value
    assert number(r"epsilon ([\d.]+)", error.requested) > number(r"epsilon ([\d.]+)", error.remaining)


def test_nothing_spent_and_everything_spent(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x")
    fresh = ledger.balance("b")
    assert (fresh.used, fresh.reading, str(fresh)) == (0.0, 0.0, "b: epsilon 0 of 1 spent")
    assert "0% is spent" in fresh.explain()
    ledger.spend("b", qw.pure(1.0))
    full = ledger.balance("b")
    assert "100% is spent" in full.explain()
    assert "at least 0 is left" in full.explain()


def test_the_balance_of_a_block_names_it(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x", blocks=Blocks("day"))
    ledger.spend("b", qw.pure(0.25), blocks="mon")
    assert "day 'mon'" in ledger.balance("b", "mon").explain()
    assert "day" not in ledger.balance("b").explain()
    assert ledger.balance("b", "mon").to_json()["block"] == "mon"


def test_a_balance_as_json(ledger: Ledger, clock: Clock) -> None:
    ledger.open("b", epsilon=1.0, delta=1e-6, filter="pure", protects="one record", refresh=timedelta(days=1))
    ledger.spend("b", qw.approximate(0.25, 1e-7))
    found = json.loads(json.dumps(ledger.balance("b").to_json(), allow_nan=False))
    assert found["schema"] == "quiltwork/balance/1"
    assert (found["budget"], found["kind"], found["state"], found["unit"]) == ("b", "adaptive", "open", "epsilon")
    assert (found["protects"], found["held"], found["period"]) == ("one record", 0, 0)
    assert found["period_ends"] == "2030-01-02T12:00:00.000000+00:00"
    assert found["spent"]["lower"] <= 0.25 <= found["spent"]["upper"]
    assert found["left"]["lower"] <= 0.75 <= found["left"]["upper"]
    assert found["reading"] >= 0.25


def test_a_planned_balance_as_json(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, delta=1e-6, protects="x", kind="planned", plan=[("g", qw.gaussian(20.0), 4)])
    ledger.spend("b", release="g", times=3)
    balance = ledger.balance("b")
    found = json.loads(json.dumps(balance.to_json(), allow_nan=False))
    assert found["runs"] == {"g": [3, 4]}
    assert "epsilon" in found["unit"]
    assert found["spent"]["upper"] == float((3 * qw.gaussian(20.0)).epsilon(1e-6).upper)
    assert "Odometer" not in balance.explain()


def test_a_reading_that_is_infinite_is_still_json(ledger: Ledger) -> None:
    for kind, reveal in (("pure", 0.0), ("renyi", 9.9999e-7)):
        ledger.open(kind, epsilon=1.0, delta=1e-6, filter=kind, protects="x", reveal=reveal)
        ledger.spend(kind, qw.approximate(0.001, 1e-9))
        balance = ledger.balance(kind)
        assert balance.reading is not None
        assert not math.isnan(balance.reading)
        json.dumps(balance.to_json(), allow_nan=False)
        assert "nan" not in balance.explain()


def test_html_is_escaped(ledger: Ledger) -> None:
    ledger.open("<script>alert(1)</script>", epsilon=1.0, protects="x")
    shown = ledger.balance("<script>alert(1)</script>")._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


# ---- forecasts


def test_a_forecast_says_how_many(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1000.0, protects="x")
    found = ledger.forecast("b", qw.pure(0.5))
    assert found.count == 2000
    assert str(found).startswith("2,000 more fit into 'b'")
    assert "epsilon 0.5" in found.cost
    assert json.loads(json.dumps(found.to_json())) == {
        "schema": "quiltwork/forecast/1",
        "budget": "b",
        "count": 2000,
        "cost": found.cost,
        "left": found.left,
        "state": "open",
    }
    assert str(ledger.forecast("b", qw.pure(0.0))).startswith("any number")
    assert ledger.forecast("b", qw.pure(0.0)).to_json()["count"] is None


def test_a_planned_forecast(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x", kind="planned", plan=[("a", qw.pure(0.1), 3)])
    ledger.spend("b", release="a")
    found = ledger.forecast("b", release="a")
    assert (found.count, found.left) == (2, "2 of 3 runs")
    assert "'a'" in found.cost


def test_what_is_told_cannot_be_changed(ledger: Ledger) -> None:
    budget = ledger.open("b", epsilon=1.0, protects="x")
    for value, field in (
        (budget, "state"),
        (ledger.balance("b"), "spent"),
        (ledger.forecast("b", qw.pure(1.0)), "count"),
    ):
        assert isinstance(value, (Budget, Balance, Forecast))
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(value, field, None)


# ---- more than one unit, and states

AT = "epsilon at delta 1e-05"


@pytest.mark.parametrize(
    ("options", "units", "share"),
    [
        ({"epsilon": 1.0, "delta": 1e-6, "filter": "pure"}, ["epsilon", "delta"], 0.5),
        ({"epsilon": 4.0, "delta": 1e-5, "order": 8.0, "reveal": 1e-6}, [AT, "divergence at order 8", "reveal"], None),
        ({"epsilon": 4.0, "delta": 1e-5, "order": 8.0}, [AT, "divergence at order 8"], None),
        ({"epsilon": 4.0, "delta": 1e-5}, [AT], None),
        ({"epsilon": 4.0, "delta": 1e-5, "units": qw.gaussian(40.0), "most": 9}, [AT, "runs"], None),
        ({"mu": 1.0}, ["mu^2"], None),
    ],
)
def test_every_unit_has_its_amount(
    ledger: Ledger, options: dict[str, Any], units: list[str], share: float | None
) -> None:
    ledger.open("b", protects="x", **options)
    ledger.spend("b", qw.approximate(0.001, 5e-7) if share else qw.gaussian(40.0))
    balance = ledger.balance("b")
    assert [amount.unit for amount in balance.amounts] == units
    first = balance.amounts[0]
    assert (balance.unit, balance.limit, balance.spent, balance.left) == (
        first.unit, first.limit, first.spent, first.left,
    )  # fmt: skip
    for amount in balance.amounts:
        whole, spent, rest = (Fraction(repr(float(one.upper))) for one in (amount.limit, amount.spent, amount.left))
        assert float(whole - spent) == pytest.approx(float(rest), rel=1e-12)
        assert amount.used >= spent / whole * Fraction(999_999_999_999, 10**12)
    assert balance.used == max(amount.used for amount in balance.amounts)
    if share is not None:
        assert first.used < 0.01
        assert balance.used == balance.amounts[1].used == share
        assert balance.percent == "50%"
        assert "50% is spent" in balance.explain()
        assert f"5e-7 of 1e-6 ({units[1]}), at least 5e-7 is left" in balance.explain()
    shown = balance.to_json()
    assert [one["unit"] for one in shown["amounts"]] == units
    assert shown["used"] == balance.used
    assert shown["unit"] == units[0]


def test_a_unit_that_is_used_up_is_seen(ledger: Ledger) -> None:
    """Of epsilon nearly all is left; of delta, nothing."""
    ledger.open("b", epsilon=1.0, delta=1e-6, filter="pure", protects="x")
    ledger.spend("b", qw.approximate(0.001, 1e-6))
    balance = ledger.balance("b")
    assert (balance.used, balance.percent) == (1.0, "100%")
    assert float(balance.left.lower) == 0.999
    assert ledger.would_exceed("b", qw.approximate(0.001, 1e-12))


def test_gdp_is_counted_in_squares(ledger: Ledger) -> None:
    budget = ledger.open("b", mu=1.0, protects="x")
    assert "limit mu^2 1" in budget.explain()
    ledger.spend("b", qw.gaussian(2.0))
    assert str(ledger.balance("b")) == "b: mu^2 0.25 of 1 spent"
    found = ledger.forecast("b", qw.gaussian(2.0))
    assert (found.count, found.cost, found.left) == (3, "mu^2 0.25", "mu^2 0.75")
    with pytest.raises(BudgetExceeded, match=re.escape("has mu^2 0.75 left, this release needs mu^2 1")):
        ledger.spend("b", qw.gaussian(1.0))


def test_the_reading_in_words(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x")
    ledger.spend("b", qw.pure(0.2))
    assert ledger.balance("b").read == "0.2"  # as it was typed
    ledger.open("p", epsilon=1.0, protects="x", kind="planned", plan=[("a", qw.pure(0.1))])
    assert ledger.balance("p").read == ""
    ledger.open("thirds", rho=1.0, protects="x")
    ledger.spend("thirds", qw.zcdp(0.1))
    balance = ledger.balance("thirds")
    assert balance.reading is not None
    assert float(balance.read) >= balance.reading
    assert float(balance.read) == pytest.approx(balance.reading, rel=1e-3)


def test_a_balance_is_true_while_something_can_be_spent(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="one record")
    assert ledger.balance("b")
    ledger.spend("b", qw.pure(0.75))
    assert ledger.balance("b")
    ledger.pause("b")
    assert not ledger.balance("b")
    ledger.resume("b")
    ledger.spend("b", qw.pure(0.25))
    assert not ledger.balance("b")


def test_a_planned_balance_is_true_while_a_run_is_left(ledger: Ledger) -> None:
    ledger.open("b", epsilon=9.0, kind="planned", plan=[("a", qw.pure(0.5)), ("b", qw.pure(0.5), 2)], protects="x")
    ledger.spend("b", release="a")
    assert ledger.balance("b")
    ledger.spend("b", release="b", times=2)
    assert not ledger.balance("b")  # of epsilon much is left, and nothing may take it


def test_a_forecast_is_true_when_one_more_fits(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="one record")
    assert ledger.forecast("b", qw.pure(1.0))
    assert not ledger.forecast("b", qw.pure(1.5))
    ledger.pause("b")
    assert not ledger.forecast("b", qw.pure(1.0))
