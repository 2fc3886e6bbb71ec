"""A plan's guarantee computes nothing until it is asked: no search, no cells, no composition; and nothing twice."""

import pytest

import quiltwork as qw
from quiltwork.compose import loss
from quiltwork.compose.accountant import directions
from quiltwork.errors import UnboundedLossError, Unsupported
from quiltwork.tables import (
    Cat,
    Date,
    Id,
    Int,
    Plan,
    Table,
    add_remove,
    edge,
    entry,
    euclidean,
    free_lunch,
    guarantee,
    metric,
    node,
    on_input,
    on_table,
    replace_one,
    user,
    window,
)
from quiltwork.tables.cells.cells import Arrangement, Sweep
from quiltwork.tables.worst_step.vectors import Pricing
from quiltwork.tables.worst_step.worst import Worst

T = Table(who=Id(), age=Int(0, 99), region=Cat("N", "S"), day=Date("2026-01-01", "2026-12-31"))
NOTIONS = [
    add_remove(),
    replace_one(),
    replace_one(fixed=["region"]),
    entry("age"),
    edge(),
    user("who", 3),
    user("who", 5, max_per={"day": 2}),
    window("day", 7, max_records=4),
    window("day", 7),
    node(3),
    node(3, rewire=False),
    metric(euclidean("age"), "years", within=2.0),
    free_lunch(),
]


def plan_of(notion):
    whole = notion == free_lunch() or notion == window("day", 7)
    holds = on_table if whole else on_input(add_remove())
    plan = Plan(T, notion)
    plan.add("young", loss=qw.gaussian(4.0, sensitivity=1.0), holds=holds, where=T.age < 30, count=True)
    plan.add("south", loss=qw.laplace(10.0, sensitivity=1.0), holds=holds, where=T.region == "S", reads=["age"])
    return plan.split("days", by=T.day, edges=["2026-01-01", "2026-07-01"], loss=qw.pure(0.1), holds=holds)


@pytest.fixture
def work(monkeypatch):
    """How often each piece of the search and of the accountant ran."""
    ran: list[str] = []

    def counted(home, name, how=lambda call: call):
        real = getattr(home, name)
        monkeypatch.setattr(home, name, how(lambda *given, **said: (ran.append(name), real(*given, **said))[1]))

    counted(guarantee, "reach")
    counted(Arrangement, "of", staticmethod)
    counted(Sweep, "of", staticmethod)
    counted(Arrangement, "cells")
    counted(Pricing, "vector")
    counted(Worst, "_worst")
    counted(Worst, "witness")
    counted(directions, "ask")
    counted(loss, "ask")
    return ran


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
def test_nothing_is_computed_before_a_question_and_nothing_twice(notion, work):
    made = plan_of(notion).guarantee()
    assert work == []
    first = made.epsilon(1e-5)
    assert "reach" in work
    assert "_worst" in work
    assert work.count("reach") == 1
    work.clear()
    assert made.epsilon(1e-5) == first
    assert work == []
    made.delta(0.5)
    assert "reach" not in work, "another question searches no second time"


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
def test_carrying_to_another_notion_computes_nothing_either(notion, work):
    made = plan_of(notion).guarantee()
    with_holds = made.to(notion)
    assert work == []
    assert with_holds.protects == notion.protects


@pytest.mark.parametrize("read", ["assumes", "because", "witness", "found", "vectors", "exact"])
def test_words_and_vectors_are_found_when_they_are_read(read, work):
    made = plan_of(add_remove()).guarantee()
    assert work == []
    assert getattr(made, read) is not None
    assert work.count("reach") == (read != "assumes")  # what is assumed follows from the plan alone
    assert made.explain()
    assert work.count("reach") == 1


def test_what_a_query_tells_by_itself_is_refused_at_the_call():
    crossing = Plan(T, replace_one()).add("q", loss=qw.pure(1.0), holds=on_input(replace_one()), where=T.age < 30)
    with pytest.raises(UnboundedLossError, match=r"Example II\.9"):
        crossing.guarantee()
    people = Plan(T, user("who")).add("q", loss=qw.pure(1.0), holds=on_input(add_remove()))
    with pytest.raises(UnboundedLossError, match="bound the records"):
        people.guarantee()
    sampled = qw.poisson(qw.gaussian(1.0, sensitivity=1.0), 0.1)
    with pytest.raises(Unsupported):
        Plan(T, user("who", 3)).add("q", loss=sampled, holds=on_input(add_remove())).guarantee()


def test_rows_that_stay_where_they_are_wait_for_the_question(work):
    """Of a guarantee for replaced rows only a filter that a change can cross is in doubt."""
    plan = Plan(T, replace_one(fixed=["region"]))
    plan.add("q", loss=qw.pure(1.0), holds=on_input(replace_one(fixed=["region"])), where=T.region == "N")
    made = plan.guarantee()
    assert work == []
    assert made.epsilon(0.0).upper == pytest.approx(1.0)


def test_a_session_refuses_before_anything_is_spent():
    session = Plan(T, replace_one()).session(qw.pure(3.0))
    session.spend("fits", loss=qw.pure(1.0), holds=on_input(add_remove()), where=T.age < 30)
    before = (session.spent, session.left, session.queries)
    with pytest.raises(UnboundedLossError):
        session.spend("bad", loss=qw.pure(0.1), holds=on_input(replace_one()), where=T.age < 40)
    assert (session.spent, session.left, session.queries) == before
