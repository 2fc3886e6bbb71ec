"""Planned budgets of table plans: every query may run once, and distances add up query by query."""

import pytest

import quiltwork as qw
from quiltwork.errors import BudgetExceeded, InvalidParameter
from quiltwork.ledger import Ledger
from quiltwork.ledger.book.terms import Terms

DELTA = 1e-6


@pytest.fixture
def ledger(tmp_path):
    with Ledger(f"sqlite:///{tmp_path}/b.db") as made:
        yield made


def visits():
    table = qw.Table(region=qw.Cat("N", "S"), age=qw.Int(0, 99))
    plan = qw.Plan(table, neighbors=qw.add_remove())
    plan.split("by region", by=table.region, count=True, loss=qw.laplace(2.0), holds=qw.on_input(qw.add_remove()))
    plan.add("young", where=table.age < 30, count=True, loss=qw.gaussian(10.0), holds=qw.on_input(qw.add_remove()))
    return plan


def test_the_whole_plan_must_fit_when_it_is_opened(ledger):
    plan = visits()
    total = float(plan.guarantee().epsilon(DELTA).upper)
    with pytest.raises(BudgetExceeded, match="plan less"):
        ledger.open("small", epsilon=0.999 * total, delta=DELTA, plan=plan)
    budget = ledger.open("b", epsilon=1.001 * total, delta=DELTA, plan=plan)
    assert (budget.kind, budget.terms.protects) == ("planned", "one record, added or removed")
    assert Terms.from_json(budget.terms.to_json()) == budget.terms


def test_regions_do_not_add_up_and_other_conditions_do(ledger):
    plan = visits()
    ledger.open("b", epsilon=2.0, delta=DELTA, plan=plan)
    assert float(ledger.balance("b").spent.upper) == 0.0
    ledger.spend("b", release="by region: region = N")
    one = float(ledger.balance("b").spent.upper)
    assert one == pytest.approx(float(qw.laplace(2.0).epsilon(DELTA).upper), rel=1e-3)
    ledger.spend("b", release="by region: region = S")  # another record's cell: the worst one costs no more
    assert float(ledger.balance("b").spent.upper) == one
    ledger.spend("b", release="young")
    both = float((qw.laplace(2.0) + qw.gaussian(10.0)).epsilon(DELTA).upper)
    assert float(ledger.balance("b").spent.upper) == pytest.approx(both, rel=2e-3)
    assert ledger.balance("b").runs["young"] == (1, 1)
    assert ledger.forecast("b", release="young").count == 0
    with pytest.raises(BudgetExceeded):
        ledger.spend("b", release="young")
    with pytest.raises(InvalidParameter, match="in the plan"):
        ledger.spend("b", release="old")
    assert ledger.verify().holds


@pytest.mark.parametrize("limit", [{"rho": 0.2}, {"mu": 0.7}])
def test_other_units(ledger, limit):
    table = qw.Table(region=qw.Cat("N", "S"))
    plan = qw.Plan(table, neighbors=qw.add_remove())
    plan.split("by region", by=table.region, count=True, loss=qw.gaussian(2.0), holds=qw.on_input(qw.add_remove()))
    ledger.open("b", plan=plan, **limit)
    for name in ("N", "S"):
        ledger.spend("b", release=f"by region: region = {name}")
    spent = float(ledger.balance("b").spent.upper)
    assert spent == pytest.approx(0.125 if "rho" in limit else 0.25)
    with pytest.raises(BudgetExceeded):
        ledger.open("less", plan=plan, **{name: value / 2 for name, value in limit.items()})


@pytest.mark.parametrize(
    ("notion", "rho"),
    [
        (qw.add_remove(), 0.125),
        (qw.replace_one(), 0.25),
        (qw.replace_one(fixed=["region"]), 0.0),
        (qw.user("person", 3), 9 * 0.125),
    ],
)
def test_a_guarantee_is_derived_anew_for_what_the_budget_protects(ledger, notion, rho):
    table = qw.Table(region=qw.Cat("N", "S"), age=qw.Int(0, 99), person=qw.Id())
    plan = qw.Plan(table, neighbors=qw.add_remove())
    plan.split("by region", by=table.region, count=True, loss=qw.gaussian(2.0), holds=qw.on_input(qw.add_remove()))
    ledger.open("b", rho=2.0, protects=notion)
    if not rho:
        with pytest.raises(InvalidParameter):  # nothing is told about such a change
            ledger.spend("b", plan.guarantee())
        return
    ledger.spend("b", plan.guarantee())
    assert float(ledger.balance("b").spent.upper) == pytest.approx(rho)
    ledger.open("words", rho=2.0, protects="one person")
    with pytest.raises(InvalidParameter, match=r"guarantee\.to"):
        ledger.spend("words", plan.guarantee())


def test_what_is_protected_is_what_the_plan_protects(ledger):
    ledger.open("same", epsilon=2.0, delta=DELTA, plan=visits(), protects=qw.add_remove())
    with pytest.raises(InvalidParameter, match="left out"):
        ledger.open("b", epsilon=2.0, delta=DELTA, plan=visits(), protects="one person")
    with pytest.raises(InvalidParameter, match="at least one query"):
        ledger.open("b", epsilon=2.0, plan=qw.Plan(qw.Table(x=qw.Int(0, 1)), neighbors=qw.add_remove()))


def test_another_process_finds_the_plan(ledger, tmp_path):
    ledger.open("b", epsilon=2.0, delta=DELTA, plan=visits())
    with Ledger(f"sqlite:///{tmp_path}/b.db") as other:
        other.spend("b", release="young")
        assert other.balance("b").runs == ledger.balance("b").runs


def test_a_plan_may_sample_where_records_come_and_go(ledger):
    """Samples are stated for records that come or go: budgets about replaced records do not take them as they are."""
    plan = qw.Plan(qw.Table(region=qw.Cat("N", "S")), neighbors=qw.add_remove())
    step = 10 * qw.poisson(qw.gaussian(4.0, 1.0), 0.01)
    plan.add("training", loss=step, holds=qw.on_input(qw.add_remove()))
    ledger.open("b", epsilon=2.0, delta=DELTA, protects=qw.add_remove())
    ledger.spend("b", plan.guarantee())
    ledger.open("c", epsilon=2.0, delta=DELTA, protects=qw.replace_one())
    with pytest.raises(InvalidParameter, match="comes or goes"):
        ledger.spend("c", step)
