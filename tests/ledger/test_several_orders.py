"""Budgets kept by several Rényi orders, chosen with the first release that is granted, and table plans spent."""

import pytest

import quiltwork as qw
from quiltwork.errors import BudgetExceeded, InvalidParameter, Unsupported


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
    with pytest.raises(BudgetExceeded, match=r"epsilon 0\.5"):
        ledger.spend("b", qw.pure(0.75))
    assert ledger.verify()


def test_one_release_of_exactly_the_budget_fits(ledger):
    whole = qw.approximate(1.0, 1e-6)
    ledger.open("b", epsilon=1.0, delta=1e-6, protects="x")
    ledger.spend("b", whole)
    assert (ledger.balance("b").epsilon, ledger.balance("b").epsilon_left) == (1.0, 0.0)
    with pytest.raises(BudgetExceeded):
        ledger.spend("b", qw.pure(1e-9))
    ledger.open("c", epsilon=1.0, delta=1e-6, protects="x")
    ledger.spend("c", qw.gaussian(40.0))  # the share was fixed with this one
    with pytest.raises(Unsupported, match="set aside"):
        ledger.spend("c", qw.approximate(0.01, 5e-7))
    assert ledger.verify().holds


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


# ---- table plans


def visits():
    """Overlapping counts: a record touches a region, and one of two bands of age."""
    t = qw.Table(region=qw.Cat("N", "S"), age=qw.Int(0, 99))
    plan = qw.Plan(t, neighbors=qw.add_remove())
    plan.split("by region", by=t.region, loss=qw.laplace(20.0), holds=qw.on_input(qw.add_remove()), count=True)
    plan.add("young", where=t.age < 30, loss=qw.gaussian(30.0), holds=qw.on_input(qw.add_remove()), count=True)
    plan.add("old", where=t.age >= 30, loss=qw.laplace(25.0), holds=qw.on_input(qw.add_remove()), count=True)
    return plan


@pytest.mark.parametrize("kept", ["several_orders", "renyi"])
def test_a_table_plan_is_spent_vector_by_vector(ledger, kept):
    promise = visits().guarantee()
    assert len(promise.vectors) > 1
    ledger.open("b", epsilon=2.0, delta=1e-6, protects=promise.protects.upper() + ".", filter=kept)
    ledger.spend("b", promise, times=2)
    terms = ledger.budget("b").terms
    spent = [2 * terms.filter.cost(vector.loss)[j] for vector in promise.vectors for j in range(2)]
    content = next(ledger.history("b", last=1)).content
    assert [str(max(spent[0::2])), str(max(spent[1::2]))] == content["cost"][:2]
    assert ledger.forecast("b", promise).count > 0
    assert not ledger.would_exceed("b", promise)
    assert ledger.verify()


def test_a_plan_with_one_vector_is_its_loss(ledger):
    t = qw.Table(region=qw.Cat("N", "S"))
    plan = qw.Plan(t, neighbors=qw.add_remove())
    plan.split("by region", by=t.region, loss=qw.laplace(20.0), holds=qw.on_input(qw.add_remove()), count=True)
    ledger.open("b", epsilon=2.0, delta=1e-6, protects=plan.guarantee().protects)
    ledger.spend("b", plan.guarantee())
    assert next(ledger.history("b", last=1)).content["loss"] == qw.laplace(20.0).to_json()


def test_guarantees_about_secrets_are_never_added_up(ledger):
    from quiltwork import pufferfish as pf

    promise = pf.guarantee(qw.pure(0.1), pf.MarkovChain([[0.8, 0.2], [0.2, 0.8]], length=8))
    ledger.open("b", epsilon=2.0, delta=1e-6, protects="one person")
    with pytest.raises(Unsupported, match="does not add up"):
        ledger.spend("b", promise)
    with pytest.raises(InvalidParameter, match="protects"):
        ledger.spend("b", visits().guarantee())
