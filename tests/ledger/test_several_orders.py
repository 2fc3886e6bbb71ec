"""A budget kept by several Rényi orders: orders chosen by the first release that is granted, verified, and read as epsilon."""

import pytest

import quiltwork as qw
from quiltwork.errors import BudgetExceeded


@pytest.fixture
def ledger(tmp_path):
    with qw.Ledger(f"sqlite:///{tmp_path / 'budgets.db'}") as opened:
        yield opened


def opened(ledger, epsilon=2.0, delta=1e-6, **options):
    return ledger.open("b", epsilon=epsilon, delta=delta, protects="one record", filter="several_orders", **options)


def test_orders_are_fixed_by_the_first_release_that_is_granted(ledger):
    assert opened(ledger).terms.filter.is_open
    with pytest.raises(BudgetExceeded):
        ledger.spend("b", qw.pure(5.0))
    assert ledger.budget("b").terms.filter.is_open  # a refusal fixes nothing
    ledger.spend("b", qw.gaussian(40.0))
    kept = ledger.budget("b").terms.filter
    assert not kept.is_open
    ledger.spend("b", qw.laplace(20.0))
    assert ledger.budget("b").terms.filter == kept
    assert ledger.verify()


def test_what_plain_addition_allows_fits(ledger):
    opened(ledger)
    ledger.spend("b", qw.pure(0.75))
    ledger.spend("b", qw.pure(0.75))
    balance = ledger.balance("b")
    assert balance.unit == "epsilon at delta 1e-06"
    assert balance.spent.upper <= 1.5
    assert balance.left.lower >= 0.5
    with pytest.raises(BudgetExceeded, match="epsilon 0.5"):
        ledger.spend("b", qw.pure(0.75))
    assert ledger.verify()


def test_a_small_release_reads_small_and_never_above_the_budget(ledger):
    opened(ledger)
    ledger.spend("b", qw.gaussian(40.0))
    assert ledger.balance("b").spent.upper <= 0.126
    more = ledger.forecast("b", qw.gaussian(40.0)).count
    ledger.spend("b", qw.gaussian(40.0), times=more)
    assert ledger.would_exceed("b", qw.gaussian(40.0))
    assert ledger.balance("b").spent.upper <= 2.0
    assert "odometer" in ledger.balance("b").explain()
    assert ledger.verify()


def test_a_training_run_fits_where_one_order_refuses(ledger):
    run = 60 * qw.poisson(qw.gaussian(0.97784), 0.05)
    opened(ledger, 3.6, 1e-5)
    ledger.spend("b", run)
    ledger.open("one order", epsilon=3.6, delta=1e-5, protects="one record", filter="renyi")
    with pytest.raises(BudgetExceeded):
        ledger.spend("one order", run)


def test_reservations_blocks_periods_and_copies(ledger, tmp_path):
    opened(ledger, blocks=qw.ledger.Blocks("day", None, 2), refresh=3600)
    held = ledger.reserve("b", qw.gaussian(40.0), lease=60, blocks="mon")
    ledger.refund(held.seq)
    ledger.spend("b", qw.gaussian(40.0), blocks=["mon", "tue"])
    ledger.spend("b", qw.gaussian(40.0))
    assert 0 < ledger.balance("b", "wed").spent.upper < ledger.balance("b", "mon").spent.upper < 1.0
    assert ledger.verify()
    with open(tmp_path / "copy.jsonl", "w+", encoding="utf-8") as stream:
        ledger.export(stream)
        stream.seek(0)
        with qw.Ledger.restore(f"sqlite:///{tmp_path / 'copy.db'}", stream) as copy:
            assert copy.balance("b", "mon").spent.upper == ledger.balance("b", "mon").spent.upper
            assert copy.verify()


def test_two_first_spenders_agree_on_one_choice(tmp_path):
    url = f"sqlite:///{tmp_path / 'budgets.db'}"
    with qw.Ledger(url) as one, qw.Ledger(url) as two:
        opened(one)
        waiting = two._request("b", "spend", qw.pure(0.1), None, 1, None)  # priced while nothing was chosen
        one.spend("b", qw.gaussian(40.0))
        from quiltwork.ledger.acts import spending

        spending.take(two._session, waiting, "", None)
        assert two.budget("b").terms.filter == one.budget("b").terms.filter
        assert one.verify()


def test_a_plan_file_asks_the_same_filter(tmp_path):
    (tmp_path / "plan.yaml").write_text(
        "quiltwork: 1\nreleases:\n- {name: a, pure: {epsilon: 0.75}, count: 2}\n"
        "budgets: [{name: b, epsilon: 2, delta: 1e-6, filter: several_orders, protects: one record}]\n"
    )
    from quiltwork.spec.fields.budgets import answered
    from quiltwork.spec.files.plan import read_plan

    plan = read_plan(tmp_path / "plan.yaml")
    (budget,) = plan.budgets
    assert answered(budget, [("a", qw.pure(0.75), 2)]).fits
    found = answered(budget, [("a", qw.pure(0.75), 3)])
    assert (found.fits, found.refused, found.count) == (False, "a", 2)
