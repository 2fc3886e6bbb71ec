"""Planned budgets: everything is fixed at opening, so that the tight composition counts; then only what was planned."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from tests.ledger.books import Clock, refused, spent_until_refused

import quiltwork as qw
from quiltwork.errors import BudgetExceeded, InvalidParameter
from quiltwork.ledger import Ledger


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(fast_sqlite: str, clock: Clock) -> Iterator[Ledger]:
    with Ledger(fast_sqlite, clock=clock) as made:
        yield made


PLAN: list[Any] = [("ages", qw.gaussian(20.0), 10), ("incomes", qw.laplace(20.0), 2), ("total", qw.pure(0.1))]
LIMIT: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-6, "kind": "planned", "protects": "x"}


def test_the_tight_answer_fits_where_every_filter_refuses(ledger_url: str) -> None:
    """1000 releases of mu = 0.01 are mu = sqrt(0.1)-GDP: epsilon 1.3675715 at delta 1e-6 (Balle and Wang 2018, Thm 8).

    That number was solved for with mpmath. Filters of zCDP or of one Rényi order admit about 870 of them.
    """
    noise = qw.gaussian(100.0)
    with Ledger(ledger_url, clock=Clock()) as ledger:
        ledger.open("plan", epsilon=1.3676, delta=1e-6, kind="planned", protects="x", plan=[("g", noise, 1000)])
        for kind in ("zcdp", "renyi"):
            ledger.open(kind, epsilon=1.3676, delta=1e-6, filter=kind, protects="x")
            assert ledger.would_exceed(kind, noise, times=1000)
            assert 800 < (ledger.forecast(kind, noise).count or 0) < 900
            with refused(ledger, BudgetExceeded):
                ledger.spend(kind, noise, times=1000)
        ledger.spend("plan", release="g", times=1000)
        found = ledger.balance("plan").spent
        assert 1.3675714 < float(found.lower) <= float(found.upper) < 1.3675716
        with refused(ledger, BudgetExceeded):
            ledger.spend("plan", release="g")


def test_each_release_runs_as_often_as_planned(ledger_url: str) -> None:
    with Ledger(ledger_url, clock=Clock()) as ledger:
        ledger.open("b", plan=PLAN, **LIMIT)
        assert ledger.forecast("b", release="ages").count == 10
        ledger.spend("b", release="ages", times=4)
        ledger.spend("b", release="ages")
        assert ledger.forecast("b", release="ages").count == 5
        assert ledger.balance("b").runs == {"ages": (5, 10), "incomes": (0, 2), "total": (0, 1)}
        assert not ledger.would_exceed("b", release="ages", times=5)
        assert ledger.would_exceed("b", release="ages", times=6)
        with refused(ledger, BudgetExceeded, "5 runs of 'ages'"):
            ledger.spend("b", release="ages", times=6)
        assert spent_until_refused(ledger, "b", None, release="ages") == 5
        assert spent_until_refused(ledger, "b", None, release="incomes") == 2
        assert spent_until_refused(ledger, "b", None, release="total") == 1
        assert ledger.balance("b").runs == {"ages": (10, 10), "incomes": (2, 2), "total": (1, 1)}
        assert ledger.verify().holds


@pytest.mark.parametrize("limit", [{"epsilon": 2.0, "delta": 1e-6}, {"rho": 0.1}, {"mu": 0.5}], ids=str)
def test_the_balance_is_the_composition_of_what_ran(ledger: Ledger, limit: dict[str, Any]) -> None:
    ledger.open("b", plan=PLAN, kind="planned", protects="x", **limit)
    assert float(ledger.balance("b").spent.upper) == 0.0
    ran: list[qw.Loss] = []
    for name, loss, *_ in PLAN * 2:
        if name == "total" and loss in ran:
            continue
        ledger.spend("b", release=name)
        ran.append(loss)
        balance, total = ledger.balance("b"), qw.compose(*ran)
        if "delta" in limit:
            expected = total.epsilon(1e-6)
            assert (balance.spent.lower, balance.spent.upper) == (expected.lower, expected.upper)
        else:  # zCDP of epsilon-DP is epsilon^2/2; GDP of it is at least that
            rho = sum(1 / 800 if one == PLAN[0][1] else (0.05**2 if one == PLAN[1][1] else 0.1**2) / 2 for one in ran)
            if "rho" in limit:
                assert float(balance.spent.lower) == pytest.approx(rho, rel=1e-12)
            else:
                assert 2 * rho * (1 - 1e-12) <= float(balance.spent.upper) <= 4 * rho
        assert float(balance.left.lower) <= float(balance.limit.lower) - float(balance.spent.lower)
        assert balance.used <= 1.0
    assert balance.runs == {"ages": (2, 10), "incomes": (2, 2), "total": (1, 1)}


def test_a_pure_plan(ledger: Ledger) -> None:
    ledger.open("b", epsilon=0.3, kind="planned", protects="x", plan=[("a", qw.pure(0.1), 3)])
    ledger.spend("b", release="a", times=3)
    balance = ledger.balance("b")
    assert balance.spent.upper == 0.3
    assert balance.used == pytest.approx(1.0)
    assert float(balance.left.lower) <= 0.0 <= float(balance.left.upper)


def test_a_loss_names_the_release_that_has_it(ledger: Ledger) -> None:
    ledger.open("b", plan=[*PLAN, ("twin", qw.laplace(20.0))], **LIMIT)
    ledger.spend("b", qw.gaussian(20.0))
    ledger.spend("b", qw.gaussian(20.0), release="ages")
    assert ledger.balance("b").runs["ages"] == (2, 10)
    with refused(ledger, InvalidParameter, "incomes, twin"):
        ledger.spend("b", qw.laplace(20.0))
    ledger.spend("b", qw.laplace(20.0), release="twin")
    assert ledger.balance("b").runs["twin"] == (1, 1)


WRONG: list[dict[str, Any]] = [
    {"release": "heights"},
    {"release": ""},
    {"release": 5},
    {"release": None},
    {"loss": qw.gaussian(19.0)},
    {"loss": qw.pure(1e-9)},
    {"loss": 2 * qw.gaussian(20.0)},
    {"loss": 0.1},
    {"loss": qw.laplace(20.0), "release": "ages"},
    {"release": "ages", "blocks": "monday"},
]


@pytest.mark.parametrize("given", WRONG, ids=str)
def test_nothing_but_the_plan(ledger: Ledger, given: dict[str, Any]) -> None:
    ledger.open("b", plan=PLAN, **LIMIT)
    for act in (ledger.spend, ledger.would_exceed, ledger.forecast):
        with refused(ledger, InvalidParameter):
            act("b", **given)
    with refused(ledger, InvalidParameter):
        ledger.reserve("b", lease=60, **given)


@pytest.mark.parametrize("times", [0, -1, True, 1.0, "1", 2**53 + 1])
def test_bad_times(ledger: Ledger, times: Any) -> None:
    ledger.open("b", plan=PLAN, **LIMIT)
    with refused(ledger, InvalidParameter):
        ledger.spend("b", release="ages", times=times)


def test_no_block_has_a_balance(ledger: Ledger) -> None:
    ledger.open("b", plan=PLAN, **LIMIT)
    with refused(ledger, InvalidParameter):
        ledger.balance("b", "monday")


def test_refresh_repeats_the_plan(ledger: Ledger, clock: Clock) -> None:
    ledger.open("b", plan=PLAN, refresh=timedelta(days=1), **LIMIT)
    ledger.spend("b", release="incomes", times=2)
    with refused(ledger, BudgetExceeded):
        ledger.spend("b", release="incomes")
    clock.forward(days=1)
    assert ledger.balance("b").runs["incomes"] == (0, 2)
    assert float(ledger.balance("b").spent.upper) == 0.0
    assert ledger.forecast("b", release="incomes").count == 2
    assert not ledger.would_exceed("b", release="incomes", times=2)
    ledger.spend("b", release="incomes", times=2)
    with refused(ledger, BudgetExceeded):
        ledger.spend("b", release="incomes")
    assert ledger.balance("b").period == 1


def test_a_reservation_takes_its_runs(ledger: Ledger, clock: Clock) -> None:
    ledger.open("b", plan=PLAN, **LIMIT)
    held = ledger.reserve("b", release="incomes", times=2, lease=60)
    assert ledger.balance("b").runs["incomes"] == (2, 2)
    assert ledger.would_exceed("b", release="incomes")
    ledger.refund(held.seq)
    assert ledger.balance("b").runs["incomes"] == (0, 2)
    again = ledger.reserve("b", release="incomes", times=2, lease=60)
    clock.forward(seconds=61)
    assert ledger.forecast("b", release="incomes").count == 2
    assert ledger.balance("b").runs["incomes"] == (0, 2)
    assert again.content["times"] == 2
    assert ledger.run("b", None, lambda: 7, release="incomes", times=2) == 7
    assert ledger.balance("b").runs["incomes"] == (2, 2)


def test_a_sum_of_losses_may_be_one_release(ledger: Ledger) -> None:
    both = qw.gaussian(20.0) + qw.laplace(20.0)
    ledger.open("b", plan=[("both", both, 2)], **LIMIT)
    ledger.spend("b", both)
    expected = both.epsilon(1e-6)
    spent = ledger.balance("b").spent
    assert (spent.lower, spent.upper) == (expected.lower, expected.upper)


# ---- table plans whose queries carry more than their loss


AMOUNTS = qw.Table(person=qw.Id(), day=qw.Int(0, 6), amount=qw.Int(0, 50))


def test_some_queries_of_a_plan_cost_what_they_cost_in_it(ledger):
    """A kept row that changes moves a sum by its range; as if it were two rows, 1.1 would read of a limit of 0.5."""
    plan = qw.Plan(AMOUNTS, neighbors=qw.replace_one(fixed=["person"]))
    plan.sum("total", of=AMOUNTS.amount, clip=(10, 50), noise=qw.noise.laplace(100.0))
    plan.count("days", where=AMOUNTS.day < 3, noise=qw.noise.laplace(10.0))
    ledger.open("sums", epsilon=0.5, plan=plan)
    readings = []
    for name in ("total", "days"):
        ledger.spend("sums", release=name)
        readings.append(float(ledger.balance("sums").spent.upper))
    assert readings == pytest.approx([0.4, 0.5])
    assert plan.only(["total"]).guarantee().epsilon(0.0).upper == pytest.approx(0.4)


def test_a_bounded_contribution_stays_bounded_for_some_queries(ledger):
    plan = qw.Plan(AMOUNTS, neighbors=qw.user("person"), contribution=qw.clip_rows("person", 4))
    for name, where in (("early", AMOUNTS.day < 3), ("late", AMOUNTS.day > 1)):
        plan.count(name, where=where, noise=qw.noise.laplace(10.0))
    ledger.open("bounded", epsilon=0.8, plan=plan)
    ledger.spend("bounded", release="early")
    assert ledger.balance("bounded").spent.upper == pytest.approx(0.4)
    ledger.spend("bounded", release="late")
    assert ledger.balance("bounded").spent.upper == pytest.approx(0.8)
