"""Budgets speak in epsilon at their delta: balances, forecasts, refusals; and ledgers of before stay as they were."""

import io
import pathlib
from fractions import Fraction

import pytest

import quiltwork as qw
from quiltwork.errors import BudgetExceeded
from quiltwork.ledger.acts.advice import least_adaptive

BEFORE = pathlib.Path(__file__).with_name("kept_by_one_order.jsonl")
HOSPITAL = pathlib.Path(__file__).parents[2] / "examples" / "plans" / "hospital.yaml"


@pytest.fixture
def ledger(tmp_path):
    with qw.Ledger(f"sqlite:///{tmp_path / 'budgets.db'}") as opened:
        yield opened


def test_the_default_keeps_several_orders_and_others_can_be_asked_for(ledger):
    assert ledger.open("a", epsilon=2.0, delta=1e-6, protects="x").terms.filter.kind == "several_orders"
    for kind in ("renyi", "zcdp", "gdp", "pure", "several_orders"):
        assert ledger.open(kind, epsilon=2.0, delta=1e-6, filter=kind, protects="x").terms.filter.kind == kind
    assert ledger.open("b", epsilon=2.0, delta=1e-6, order=8.0, protects="x").terms.filter.kind == "renyi"


def test_ledgers_of_before_keep_their_filter(tmp_path):
    """An export of a ledger whose default was one order: it verifies, and counts as it did."""
    with qw.Ledger.restore(f"sqlite:///{tmp_path / 'b.db'}", io.StringIO(BEFORE.read_text("utf-8"))) as ledger:
        assert ledger.verify()
        kept = ledger.budget("patients").terms.filter
        assert (kept.kind, kept.order) == ("renyi", 12.34)
        assert ledger.forecast("patients", qw.gaussian(40.0)).count == 278
        balance = ledger.balance("patients")
        assert [one.unit for one in balance.amounts] == ["epsilon at delta 1e-06", "divergence at order 12.34"]
        assert 0 < balance.epsilon <= 2.0
        assert balance.reading > 1.2
        assert ledger.budget("several").terms.filter.kind == "several_orders"
        assert ledger.balance("several").epsilon <= 1.5


@pytest.mark.parametrize("kind", ["several_orders", "renyi", "zcdp", "gdp", "pure"])
def test_spent_and_left_are_epsilons_that_rise_from_nothing_and_never_pass(ledger, kind):
    ledger.open("b", epsilon=2.0, delta=1e-6, filter=kind, protects="x")
    loss, last = qw.laplace(25.0), -1.0
    while True:
        balance = ledger.balance("b")
        assert last < balance.epsilon <= 2.0
        spent, left = (Fraction(repr(one)) for one in (balance.epsilon, balance.epsilon_left))
        assert 0 <= left <= 2 - spent
        assert balance.to_json()["epsilon"] == balance.epsilon
        assert balance.to_json()["epsilon_left"] == balance.epsilon_left
        last = balance.epsilon
        if ledger.would_exceed("b", loss, times=4):
            break
        ledger.spend("b", loss, times=4)
    assert last > 1.5


def test_after_one_small_release_little_is_read(ledger):
    ledger.open("b", epsilon=2.0, delta=1e-6, protects="x")
    assert (ledger.balance("b").epsilon, ledger.balance("b").epsilon_left) == (0.0, 2.0)
    ledger.spend("b", qw.gaussian(40.0))
    assert 0.0901 < ledger.balance("b").epsilon <= 0.126


def test_planned_and_pure_budgets_read_too_and_rho_does_not(ledger):
    ledger.open("p", epsilon=1.0, delta=1e-6, protects="x", kind="planned", plan=[("g", qw.gaussian(20.0), 4)])
    ledger.spend("p", release="g", times=3)
    assert ledger.balance("p").epsilon == float((3 * qw.gaussian(20.0)).epsilon(1e-6).upper)
    ledger.open("e", epsilon=1.0, protects="x")
    ledger.spend("e", qw.pure(0.25))
    assert (ledger.balance("e").epsilon, ledger.balance("e").epsilon_left) == (0.25, 0.75)
    ledger.open("r", rho=1.0, protects="x")
    assert (ledger.balance("r").epsilon, ledger.balance("r").epsilon_left) == (None, None)


@pytest.mark.parametrize("kind", ["renyi", "zcdp", "gdp"])
def test_the_filters_own_unit_stands_behind(ledger, kind):
    ledger.open("b", epsilon=2.0, delta=1e-6, filter=kind, protects="x")
    ledger.spend("b", qw.laplace(40.0))
    found = ledger.forecast("b", qw.laplace(40.0))
    assert found.cost.startswith("epsilon 0.")
    assert found.left.startswith("epsilon 1.")
    assert ("(divergence" if kind == "renyi" else "(rho" if kind == "zcdp" else "(mu^2") in found.cost
    assert ledger.balance("b").explain().index("epsilon at delta") < 80


# ---- refusals


def refusal(ledger, loss, **options):
    with pytest.raises(BudgetExceeded) as caught:
        ledger.spend("b", loss, **options)
    return str(caught.value)


def test_a_refusal_says_the_epsilon_that_would_do_and_that_a_plan_fits(ledger):
    ledger.open("b", epsilon=2.0, delta=1e-6, protects="x")
    ledger.spend("b", qw.gaussian(18.0), times=52)
    said = refusal(ledger, qw.laplace(20.0), times=12)
    runs = [(qw.gaussian(18.0), 52), (qw.laplace(20.0), 12)]
    least = least_adaptive(runs, 2.0, 1e-6)
    assert f"with everything before it epsilon {least} would do" in said
    assert "a planned budget takes all of it, which needs epsilon 1.93" in said
    ledger.open("c", epsilon=least, delta=1e-6, protects="x")  # and it does
    for loss, times in runs:
        ledger.spend("c", loss, times=times)
    plan = [("a", *runs[0]), ("b", *runs[1])]
    ledger.open("d", epsilon=2.0, delta=1e-6, protects="x", kind="planned", plan=plan)


def test_a_refusal_names_no_plan_that_would_not_fit(ledger):
    ledger.open("b", epsilon=2.0, delta=1e-6, protects="x")
    said = refusal(ledger, qw.gaussian(1.0))
    assert "would do" in said
    assert "planned" not in said


def test_what_was_given_back_or_ran_in_another_period_does_not_count(ledger):
    ledger.open("b", epsilon=2.0, delta=1e-6, protects="x")
    held = ledger.reserve("b", qw.gaussian(4.0), lease=60)
    ledger.refund(held.seq)
    said = refusal(ledger, qw.gaussian(2.0))
    least = least_adaptive([(qw.gaussian(2.0), 1)], 2.0, 1e-6)
    assert f"epsilon {least} would do" in said


def test_other_kinds_say_what_several_orders_would_take(ledger):
    ledger.open("b", epsilon=2.0, delta=1e-6, filter="renyi", protects="x")
    ledger.spend("b", qw.pure(0.5))
    said = refusal(ledger, qw.pure(1.25))
    assert "needs epsilon" in said
    assert "epsilon 2 would do with filter='several_orders'" in said


def test_blocks_and_budgets_in_rho_refuse_as_before(ledger):
    ledger.open("b", rho=0.1, protects="x")
    assert refusal(ledger, qw.gaussian(1.0)).endswith("lower its cost, or open a new budget")


# ---- the shipped plan


def test_the_hospital_plan_fits_where_the_theory_says(ledger):
    from quiltwork.spec.files.plan import read_plan

    releases = read_plan(HOSPITAL).releases
    ledger.open("b", epsilon=2.4, delta=1e-6, protects="x")
    for one in releases:
        ledger.spend("b", one.mechanism.loss(), times=one.count)
    assert 2.133 < ledger.balance("b").epsilon <= 2.4
