"""Budgets are opened: what is fixed and stored, what is taken by default, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

import pytest
from tests.ledger.books import START, Clock, kinds, refused

import quiltwork as qw
from quiltwork.errors import BudgetExceeded, InvalidParameter, QuiltworkError, Unsupported
from quiltwork.ledger import Blocks, Ledger


@pytest.fixture
def ledger(fast_sqlite: str) -> Iterator[Ledger]:
    with Ledger(fast_sqlite, clock=Clock()) as made:
        yield made


LIMITS: dict[str, tuple[dict[str, Any], str, Any]] = {
    "pure": ({"epsilon": 0.3}, "pure", (Fraction(3, 10), Fraction(0))),
    "zcdp": ({"rho": 0.1}, "zcdp", (Fraction(1, 10),)),
    "gdp": ({"mu": 0.7}, "gdp", (Fraction(49, 100),)),
    "approximate": ({"epsilon": 1.0, "delta": 1e-6}, "several_orders", None),
}


@pytest.mark.parametrize("kind", LIMITS)
def test_each_limit_has_its_filter_and_is_read_as_typed(ledger_url: str, kind: str) -> None:
    stated, kept, amounts = LIMITS[kind]
    with Ledger(ledger_url) as ledger:
        budget = ledger.open("b", protects="one record", **stated)
        assert budget.terms.limit.kind == kind
        assert budget.terms.filter is not None
        assert budget.terms.filter.kind == kept
        if amounts is not None:
            assert budget.terms.filter.limit == amounts
        assert (budget.name, budget.kind, budget.state, budget.entries) == ("b", "adaptive", "open", 1)
    with Ledger(ledger_url) as again:  # nothing of it lives in memory only
        assert again.budget("b") == budget
        assert again.budgets() == (budget,)


@pytest.mark.parametrize("kept", ["pure", "zcdp", "gdp", "renyi"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-6), (8.0, 1e-3)])
def test_what_a_filter_admits_is_within_epsilon_and_delta(
    ledger: Ledger, kept: str, epsilon: float, delta: float
) -> None:
    budget = ledger.open("b", epsilon=epsilon, delta=delta, filter=kept, protects="one record")
    found = budget.terms.filter
    assert found is not None
    assert found.kind == kept
    assert float(found.promise.delta(epsilon).upper) <= delta
    # and not much is given away: an epsilon a tenth smaller is not promised
    assert float(found.promise.delta(0.9 * epsilon).lower) > delta


def test_order_and_reveal_choose_the_renyi_filter(ledger: Ledger) -> None:
    found = ledger.open("b", epsilon=2.0, delta=1e-6, order=12.0, reveal=1e-7, protects="x").terms.filter
    assert found is not None
    assert found.to_json()["order"] == 12.0
    assert found.limit[1] == Fraction(1, 10**7)
    assert float(found.promise.delta(2.0).upper) <= 1e-6


def test_defaults(ledger: Ledger) -> None:
    terms = ledger.open("b", epsilon=1.0, protects="one record").terms
    assert (terms.plan, terms.notion, terms.expires, terms.refresh, terms.blocks) == ((), None, None, None, None)
    assert (terms.owners, terms.note) == ((), "")
    assert ledger.budget("b").opened == START


def test_everything_that_was_said_is_stored(ledger: Ledger) -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    given = ledger.open(
        "b",
        rho=0.5,
        protects=qw.user("person", 4),
        expires=datetime(2031, 1, 1, 5, 30, tzinfo=east),
        refresh=timedelta(days=7, microseconds=1),
        blocks=Blocks("day", ["mon", "tue"], most=2),
        owners=["ada", "grace"],
        note="für alle\nand a second line",
    )
    entry = next(ledger.history("b"))
    content = entry.content
    assert (entry.kind, entry.budget, entry.seq) == ("open", "b", 2)
    assert content["schema"] == "quiltwork/budget/1"
    assert content["limit"] == {"schema": "quiltwork/limit/1", "kind": "zcdp", "rho": 0.5}
    assert content["filter"]["limit"] == ["1/2"]
    assert content["protects"] == "all records (at most 4) of one person, added or removed"
    assert content["neighbors"]["kind"] == "user"
    assert 4 in content["neighbors"].values()
    assert content["expires"] == "2031-01-01T00:00:00.000000+00:00"
    assert content["refresh"] == 604800.000001
    assert content["blocks"] == {"label": "day", "names": ["mon", "tue"], "most": 2}
    assert content["owners"] == ["ada", "grace"]
    assert content["note"] == "für alle\nand a second line"
    assert given.terms.refresh == timedelta(days=7, microseconds=1)
    assert given.terms.expires == datetime(2031, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "notion",
    [qw.add_remove(), qw.replace_one(), qw.entry(), qw.window("day", 7), qw.edge(), qw.node(3), qw.user("p", 2)],
    ids=str,
)
def test_every_notion_of_neighbour_is_kept_in_words_and_as_data(ledger: Ledger, notion: Any) -> None:
    terms = ledger.open("b", epsilon=1.0, protects=notion).terms
    assert terms.protects == notion.protects
    assert terms.notion is not None
    assert terms.notion["kind"] == notion.kind
    assert ledger.verify().holds


NAMES = ["b", "Ελλάδα 🏛 数据", "a'; DROP TABLE ledger_entries; --", "%s {0} ' \" \\", "x" * 200, "é" * 200]
NAMES += ["\U0001d4b3" * 200]


def test_names_of_any_language(ledger_url: str) -> None:
    with Ledger(ledger_url) as ledger:
        for name in NAMES:
            ledger.open(name, epsilon=1.0, protects=name, owners=[name], note=name * 10, blocks=Blocks(name, [name]))
            ledger.spend(name, qw.pure(0.25), key=name, blocks=name, note=name)
            assert float(ledger.balance(name, name).spent.upper) == 0.25
            assert [entry.budget for entry in ledger.history(name)] == [name, name]
        assert [budget.name for budget in ledger.budgets()] == NAMES
        assert ledger.verify().holds


def test_one_name_in_two_spellings_is_one_budget(ledger: Ledger) -> None:
    """Unicode writes é in two ways; two budgets that look the same would be spent by mistake."""
    composed, decomposed = "\u00e9t\u00e9", "e\u0301te\u0301"
    ledger.open(composed, epsilon=1.0, protects="x")
    with refused(ledger, InvalidParameter, "opened before"):
        ledger.open(decomposed, epsilon=1.0, protects="x")
    ledger.spend(decomposed, qw.pure(0.25))
    assert float(ledger.balance(composed).left.lower) == 0.75
    ledger.open("\u00c9T\u00c9", epsilon=1.0, protects="x")  # another case is another name


PLANS: dict[str, tuple[dict[str, Any], Any, Any]] = {
    # a limit, a plan that just fits, a plan that is just too much
    "pure": ({"epsilon": 1.0}, [("a", qw.pure(0.1), 10)], [("a", qw.pure(0.1), 10), ("b", qw.pure(1e-9))]),
    "zcdp": ({"rho": 0.5}, [("a", qw.gaussian(2.0), 4)], [("a", qw.gaussian(2.0), 4), ("b", qw.zcdp(1e-9))]),
    "gdp": ({"mu": 1.0}, [("a", qw.gaussian(2.0), 4)], [("a", qw.gaussian(2.0), 4), ("b", qw.gdp(1e-4))]),
    # G_mu is (1, 1e-5)-DP up to mu = 0.268051123...: Balle and Wang 2018, Theorem 8, solved with mpmath
    "approximate": ({"epsilon": 1.0, "delta": 1e-5}, [("a", qw.gdp(0.26805))], [("a", qw.gdp(0.26806))]),
}


@pytest.mark.parametrize("kind", PLANS)
def test_a_plan_that_fits_is_opened_and_one_that_does_not_is_refused(ledger: Ledger, kind: str) -> None:
    limit, fits, too_much = PLANS[kind]
    with refused(ledger, BudgetExceeded, "nothing was opened"):
        ledger.open("b", protects="x", kind="planned", plan=too_much, **limit)
    budget = ledger.open("b", protects="x", kind="planned", plan=fits, **limit)
    assert budget.terms.filter is None
    assert [(one.name, one.loss, one.times) for one in budget.terms.plan] == [
        (name, loss, *(times or [1])) for name, loss, *times in fits
    ]


@pytest.mark.parametrize("stray", [{"order": 8.0}, {"reveal": 1e-7}], ids=str)
def test_a_plan_has_no_filter_to_tune(ledger: Ledger, stray: dict[str, Any]) -> None:
    with refused(ledger, QuiltworkError):
        ledger.open("b", epsilon=1.0, delta=1e-6, protects="x", kind="planned", plan=[("a", qw.pure(0.1))], **stray)


def test_a_plan_may_be_a_mapping(ledger: Ledger) -> None:
    budget = ledger.open("b", epsilon=1.0, protects="x", kind="planned", plan={"a": qw.pure(0.4), "c": qw.pure(0.6)})
    assert [one.name for one in budget.terms.plan] == ["a", "c"]


def test_a_plan_without_a_finite_cost_is_unsupported(ledger: Ledger) -> None:
    with refused(ledger, Unsupported, "unbounded"):
        ledger.open("b", epsilon=1.0, protects="x", kind="planned", plan=[("a", qw.gaussian(100.0))])


def test_a_name_is_used_once(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x")
    with refused(ledger, InvalidParameter, "opened before"):
        ledger.open("b", epsilon=1.0, protects="x")
    ledger.close("b")
    with refused(ledger, InvalidParameter, "opened before"):  # a second budget of that name would double the first
        ledger.open("b", epsilon=1.0, protects="x")
    assert kinds(ledger, "b") == ["open", "close"]


def test_budgets_are_listed_as_they_were_opened(ledger: Ledger) -> None:
    for name in ("c", "a", "b"):
        ledger.open(name, epsilon=1.0, protects="x")
    ledger.spend("a", qw.pure(0.1))
    assert [(budget.name, budget.entries) for budget in ledger.budgets()] == [("c", 1), ("a", 2), ("b", 1)]


@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_a_delta_of_zero_opens_a_pure_budget(ledger: Ledger, zero: float) -> None:
    budget = ledger.open("b", epsilon=0.3, delta=zero, protects="one record")
    assert budget.terms.limit == ledger.open("c", epsilon=0.3, protects="one record").terms.limit
    assert budget.terms.limit.kind == "pure"
    assert budget.to_json()["limit"] == {"schema": "quiltwork/limit/1", "kind": "pure", "epsilon": 0.3}
