"""Budgets that pay for windows of correlated rows: what they take, what they refuse, and the best adversary."""

from fractions import Fraction

import numpy as np
import pytest
from benchmarks.soundness.rooms import ledger_windows
from tests.examples import seeds

import quiltwork as qw
from quiltwork import pufferfish as pf
from quiltwork.compose.filters.opening import WindowsFilter, filter_from_json
from quiltwork.compose.filters.windows import InWindows
from quiltwork.errors import BudgetExceeded, InvalidParameter, InvalidPlan, Unsupported
from quiltwork.joined.windows import in_windows, keeps_secrets, spent_on_rows, windows_filter
from quiltwork.ledger import Ledger
from quiltwork.report.pages.budget_history import said
from quiltwork.spec import parse_budgets

DELTA, HOURS = 1e-6, 24


def chain(stay=0.9, length=HOURS):
    return pf.MarkovChain([[stay, 1 - stay], [1 - stay, stay]], length=length)


def hourly(sigma=100.0, hours=HOURS, total=None):
    table = qw.Table(person=qw.Id(), hour=qw.Int(0, hours - 1), state=qw.Cat("home", "out"))
    plan, holds = qw.Plan(table, neighbors=qw.user("person", hours)), qw.on_input(qw.add_remove())
    plan.split("hourly", by=table.hour, where=table.state == "out", count=True, loss=qw.gaussian(sigma), holds=holds)
    if total is not None:
        plan.add("total", where=table.state == "out", count=True, loss=qw.gaussian(total), holds=holds)
    return plan


@pytest.fixture
def ledger(tmp_path):
    with Ledger(f"sqlite:///{tmp_path}/b.db") as made:
        yield made


def opened(ledger, name="b", **more):
    asked = {"epsilon": 1.0, "delta": DELTA, "prior": chain(), "person": "person", "when": "hour", "filter": "windows"}
    return ledger.open(name, **(asked | more))


# ---- what windows cost


def test_hours_cost_by_their_number_and_totals_by_its_square():
    plan = hourly(100.0, 5, total=50.0)
    found = in_windows(plan.table, plan.queries, "person", "hour").rhos
    hour, total = Fraction(1, 2 * 100**2), Fraction(1, 2 * 50**2)
    assert [float(one) for one in found] == pytest.approx(
        [float(b * hour + b * b * total) for b in range(1, 6)], rel=1e-12
    )
    assert all(one >= b * hour + b * b * total for b, one in enumerate(found, 1))


def test_a_loss_for_one_row_costs_its_square():
    kept = WindowsFilter((Fraction(1), Fraction(2), Fraction(3)))
    assert kept.cost(qw.gaussian(10.0)) == tuple(Fraction(b * b, 200) for b in (1, 2, 3))
    assert kept.cost(qw.pure(0.1) * 2) == tuple(Fraction(b * b, 100) for b in (1, 2, 3))
    with pytest.raises(Unsupported, match="no conversion to zCDP"):
        kept.cost(qw.poisson(qw.gaussian(1.0), 0.1))
    with pytest.raises(InvalidParameter, match="3 ticks"):
        kept.cost(InWindows.of((Fraction(1), Fraction(2))))
    assert filter_from_json(kept.to_json()) == kept
    for bad in ((), (Fraction(0), Fraction(1)), (Fraction(2), Fraction(1))):
        with pytest.raises(InvalidParameter):
            WindowsFilter(bad)


@pytest.mark.parametrize(("stay", "epsilon"), [(0.8, 1.0), (0.9, 3.0)])
def test_limits_keep_the_secrets_and_hardly_less_would(stay, epsilon):
    prior = chain(stay, 10)
    kept = windows_filter(prior, epsilon, DELTA)
    assert keeps_secrets(kept, prior, epsilon, DELTA)
    assert not keeps_secrets(kept, prior, 0.998 * epsilon, DELTA)
    assert not keeps_secrets(kept, chain(stay + 0.01, 10), epsilon, DELTA)
    assert not keeps_secrets(kept, chain(stay, 11), epsilon, DELTA)
    # a plan of Gaussian noise that costs just that much is one of the things that may be released
    plan = hourly(float((2 * kept.limit[0]) ** Fraction(-1, 2)), 10)
    told = plan.guarantee(prior=prior, person="person", when="hour").epsilon(DELTA)
    assert 0.8 * epsilon < told.upper <= epsilon


def test_rows_without_a_secret_have_a_limit_all_the_same():
    fixed = pf.MarkovChain([[1.0, 0.0], [0.0, 1.0]], initial=[1.0, 0.0], length=3)
    assert 1e5 < windows_filter(fixed, 1.0, DELTA).limit[0] < 1e8


def test_what_was_spent_rises_to_the_limit():
    prior = chain(length=8)
    kept = windows_filter(prior, 1.0, DELTA)
    parts = [tuple(share * one for one in kept.limit) for share in (Fraction(0), Fraction(1, 4), Fraction(1, 2), 1)]
    found = [spent_on_rows(kept, part, prior, 1.0, DELTA) for part in parts]
    assert found[0] == 0.0
    assert found == sorted(found)
    assert 0.999 <= found[-1] <= 1.0


# ---- in a ledger


def test_table_plans_are_taken_four_times_as_often(ledger):
    plan = hourly().guarantee()
    opened(ledger)
    opened(ledger, "entries", filter=None)
    assert ledger.forecast("b", plan).count == 31
    assert ledger.forecast("entries", plan).count == 7
    ledger.spend("b", plan, times=30)
    first = ledger.balance("b")
    ledger.spend("b", plan)
    assert first.epsilon < ledger.balance("b").epsilon <= 1.0
    with pytest.raises(BudgetExceeded, match="epsilon"):
        ledger.spend("b", plan)
    assert [one.unit for one in first.amounts][:2] == ["epsilon at delta 1e-06", "rho of one row of one person"]
    (spend, *_) = [one for one in ledger.history("b") if one.kind == "spend"]
    assert "windows of up to 24 rows" in said(spend.content["loss"])
    assert ledger.verify().holds


def test_single_rows_pay_for_all_windows(ledger):
    opened(ledger)
    ledger.spend("b", qw.gaussian(300.0).stated_for("one entry, alone"))
    limit, spent = ledger.budget("b").terms.filter.limit, ledger.balance("b").amounts[-1]
    assert spent.unit == "rho of 24 neighbouring rows of one person"
    assert float(spent.spent.upper) == pytest.approx(24**2 / (2 * 300.0**2), rel=1e-9)
    assert float(spent.limit.lower) == float(limit[-1])
    with pytest.raises(InvalidParameter, match="one entry"):
        ledger.spend("b", qw.gaussian(300.0).stated_for("one person"))
    with pytest.raises(Unsupported, match="zCDP"):
        ledger.spend("b", qw.approximate(0.01, 1e-9))
    with pytest.raises(InvalidParameter, match="6 ticks"):
        ledger.spend("b", hourly(100.0, 6).guarantee())


def test_what_is_expected_gives_windows_their_shares(ledger):
    plan, prior = hourly(200.0, 8, total=50.0), chain(0.8, 8)
    opened(ledger, prior=prior, expects=plan)
    opened(ledger, "linear", prior=prior)
    assert ledger.forecast("b", plan.guarantee()).count > ledger.forecast("linear", plan.guarantee()).count
    assert ledger.verify().holds


def test_what_opens_none(ledger):
    for bad in (
        {"prior": None, "person": None, "when": None, "protects": "x"}, {"person": None, "when": None},
        {"delta": None}, {"order": 5.0}, {"reveal": 1e-8}, {"secrets": pf.entry_values([0])}, {"units": qw.pure(0.1)},
        {"expects": qw.gaussian(5.0)}, {"expects": hourly(100.0, 6)}, {"prior": chain(0.9, None)},
        {"prior": pf.Independent(24)}, {"prior": chain(0.9, 201)},
    ):  # fmt: skip
        with pytest.raises((InvalidParameter, Unsupported)):
            opened(ledger, **bad)
    assert ledger.budgets() == ()


def test_a_budget_file(ledger):
    text = """
quiltwork: 1
budgets:
  - name: hours
    epsilon: 1.0
    delta: 1.0e-6
    filter: windows
    prior:
      markov_chain: {transition: [[0.9, 0.1], [0.1, 0.9]], length: 24}
"""
    (said,) = parse_budgets(text + "    person: person\n    when: hour\n").budgets
    assert ledger.open(**said.opening()).terms.filter == windows_filter(chain(), 1.0, DELTA)
    with pytest.raises(InvalidPlan, match="filter"):
        parse_budgets(text)


# ---- the best adversary


@pytest.mark.parametrize("seed", seeds(40))
def test_no_adaptive_rule_passes_delta(seed):
    case = ledger_windows.menu_of(np.random.default_rng([2024, seed]))
    assert all(check.holds for check in ledger_windows.resisted(case))


def test_the_adversary_sees_a_group_that_pays_too_little(monkeypatch):
    """Rows that pay b rho where b^2 rho is due, and windows that pay for one row only."""
    monkeypatch.setattr(InWindows, "rhos", property(lambda self: (Fraction(0.0001),) * len(self.losses)))
    drawn = (ledger_windows.menu_of(np.random.default_rng([2024, seed])) for seed in range(30))
    assert any(not check.holds for case in drawn for check in ledger_windows.resisted(case))
