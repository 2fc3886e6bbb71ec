"""Adaptive sessions on tables that last: blocks are read off conditions, and one budget keeps every process."""

import random

import pytest

import quiltwork as qw
from quiltwork.errors import BudgetExceeded, InvalidParameter, Unsupported
from quiltwork.ledger import Blocks, Ledger, blocks_by

TABLE = qw.Table(region=qw.Cat("N", "S", "E"), day=qw.Int(1, 4), age=qw.Int(0, 99), person=qw.Id())
COUNT = {"count": True, "holds": qw.on_input(qw.add_remove())}


@pytest.fixture
def ledger(tmp_path):
    with Ledger(f"sqlite:///{tmp_path}/b.db") as made:
        yield made


def opened(ledger, notion=None, column="region", rho=0.5):
    notion = qw.add_remove() if notion is None else notion
    ledger.open("b", rho=rho, protects=notion, blocks=blocks_by(TABLE[column], notion))
    return ledger.session("b", qw.Plan(TABLE, neighbors=notion))


@pytest.mark.parametrize(
    ("notion", "column", "most"),
    [
        (qw.add_remove(), "region", 1),
        (qw.replace_one(), "region", 2),
        (qw.replace_one(fixed=["region"]), "region", 1),
        (qw.user("person", 2), "day", 2),
        (qw.user("person", 9), "day", 4),
        (qw.user("person"), "day", 4),
        (qw.entry(), "region", 2),
        (qw.entry("age"), "region", 1),
    ],
)
def test_how_many_blocks_a_step_touches(notion, column, most):
    assert blocks_by(TABLE[column], notion).most == most


def test_blocks_are_read_off_the_condition(ledger):
    session = opened(ledger, column="day")
    t = TABLE
    for where, found in (
        (t.day == 2, ("2",)),
        (t.day >= 3, ("3", "4")),
        ((t.day <= 2) & (t.age < 30) | (t.day == 4), ("1", "2", "4")),
        (t.age < 30, ("1", "2", "3", "4")),
        (None, ("1", "2", "3", "4")),
        (qw.opaque("who knows", stability=1), None),
    ):
        assert session.read_by([session.plan.asked("q", where=where, loss=qw.gaussian(9.0), **COUNT)]) == found
    clipped = session.plan.asked("q", where=t.day == 2, via=qw.clip_rows("person", 1), loss=qw.gaussian(9.0, 1.0),
                                 holds=qw.on_input(qw.add_remove()))  # fmt: skip
    assert session.read_by([clipped]) is None  # which rows are kept may depend on other days


def test_other_blocks_do_not_add_up(ledger):
    session, t = opened(ledger), TABLE
    for region in ("N", "S", "E"):
        session.spend(f"in {region}", where=t.region == region, loss=qw.gaussian(1.0), **COUNT)
    assert float(ledger.balance("b").spent.upper) == 0.5
    with pytest.raises(BudgetExceeded):
        session.spend("one more", where=t.region == "S", loss=qw.gaussian(40.0), **COUNT)
    assert session.would_exceed(where=t.age < 30, loss=qw.gaussian(40.0), **COUNT)
    assert ledger.verify().holds
    assert [entry.content["note"] for entry in ledger.history("b", last=3)] == ["in N", "in S", "in E"]


@pytest.mark.parametrize("notion", [qw.add_remove(), qw.replace_one(), qw.user("person", 2)])
def test_never_below_the_session_in_memory(ledger, notion):
    """The session of `tables` looks for the worst step of all queries at once: blocks may only cost more."""
    rng, t, budget = random.Random(5), TABLE, 100.0
    session = opened(ledger, notion, rho=budget)
    memory = qw.Plan(TABLE, neighbors=notion).session(qw.zcdp(budget))
    conditions = [t.region == "N", t.region == "S", t.age < 30, (t.region != "E") & (t.age >= 30), t.day == 2]
    for number in range(12):
        asked = {"where": rng.choice(conditions), "loss": qw.gaussian(rng.choice([5.0, 20.0])), **COUNT}
        session.spend(f"q{number}", **asked)
        memory.spend(f"q{number}", **asked)
    spent = float(memory.spent.split()[1])
    assert float(ledger.balance("b").spent.upper) >= spent * (1 - 1e-5)


def test_another_process_goes_on(ledger, tmp_path):
    session = opened(ledger)
    session.split("by region", by=TABLE.region, loss=qw.gaussian(2.0), key="first", **COUNT)
    with Ledger(f"sqlite:///{tmp_path}/b.db") as other:
        again = other.session("b", qw.Plan(TABLE, neighbors=qw.add_remove()))
        again.split("by region", by=TABLE.region, loss=qw.gaussian(2.0), key="first", **COUNT)  # done once
        again.spend("in N", where=TABLE.region == "N", loss=qw.gaussian(2.0), **COUNT)
    assert [float(ledger.balance("b", name).spent.upper) for name in ("N", "S")] == [0.25, 0.125]


def test_what_is_no_session(ledger):
    ledger.open("plain", rho=0.5, protects=qw.add_remove())
    with pytest.raises(Unsupported, match="blocks_by"):
        ledger.session("plain", qw.Plan(TABLE, neighbors=qw.add_remove()))
    ledger.open("one", rho=0.5, protects=qw.replace_one(), blocks=Blocks("region", ["N", "S", "E"]))
    with pytest.raises(InvalidParameter, match="at most 2"):
        ledger.session("one", qw.Plan(TABLE, neighbors=qw.replace_one()))
    session = opened(ledger)
    for plan in (None, TABLE, qw.Plan(TABLE, neighbors=qw.add_remove()).add("a", loss=qw.pure(0.1), **COUNT)):
        with pytest.raises(InvalidParameter, match="plan"):
            ledger.session("b", plan)
    with pytest.raises(InvalidParameter, match="protects"):  # another notion than that of the budget
        ledger.session("b", qw.Plan(TABLE, neighbors=qw.replace_one(fixed=["region"])))
    replaced = qw.Plan(TABLE, neighbors=qw.replace_one())
    ledger.open("same", rho=0.5, protects=qw.replace_one(), blocks=blocks_by(TABLE.region, qw.replace_one()))
    with pytest.raises(InvalidParameter, match="nothing has to be spent"):  # the number of records does not change
        ledger.session("same", replaced).spend("all", loss=qw.pure(0.1), **COUNT)
    with pytest.raises(InvalidParameter, match="some record meets"):
        session.spend("nobody", where=(TABLE.age < 3) & (TABLE.age > 9), loss=qw.pure(0.1), **COUNT)
    with pytest.raises(InvalidParameter, match="column"):
        blocks_by(TABLE.person, qw.add_remove())


def test_a_bounded_contribution_reads_every_block_and_counts_rows_that_are_pushed_out(ledger):
    """Of two rows of a person, on two days, one is used: a row more on day 1 may be a row less on day 2."""
    clip = qw.clip_rows("person", 1)
    ledger.open("b", epsilon=1.0, protects=qw.add_remove(), blocks=blocks_by(TABLE.day, qw.add_remove()))
    session = ledger.session("b", qw.Plan(TABLE, neighbors=qw.add_remove(), contribution=clip))
    plan = qw.Plan(TABLE, neighbors=qw.add_remove(), contribution=clip)
    for day in (1, 2):
        asked = {"where": TABLE.day == day, "loss": qw.laplace(4.0), **COUNT}
        assert session.read_by([session.plan.asked("q", **asked)]) is None
        session.spend(f"day {day}", **asked)
        plan.add(f"day {day}", **asked)
    assert ledger.balance("b").spent.upper >= plan.guarantee().epsilon(0.0).upper * (1 - 1e-9)
    assert plan.guarantee().epsilon(0.0).upper == pytest.approx(0.5)
