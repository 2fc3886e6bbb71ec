"""The refusal of a plan without a finite epsilon: what went wrong, and what the honest alternatives cost."""

import re

import pytest

import quiltwork as qw
from quiltwork.errors import QuiltworkError, UnboundedLossError
from quiltwork.tables import (
    Cat,
    Id,
    Int,
    Plan,
    Table,
    add_remove,
    entry,
    euclidean,
    flat_map,
    free_lunch,
    metric,
    node,
    on_input,
    on_table,
    opaque,
    replace_one,
    user,
    window,
)
from quiltwork.tables.guarantee import unbounded
from quiltwork.tables.query import Query

T = Table(region=Cat("N", "S"), age=Int(0, 99), person=Id())
PER_ROW = on_input(replace_one())


def refused(plan):
    with pytest.raises(UnboundedLossError) as caught:
        plan.guarantee()
    return caught.value


def numbers(text, pattern):
    return [float(number) for number in re.findall(pattern, text)]


def pitfall(notion=replace_one(), **more):  # noqa: B008
    """Bounded 'parallel composition' over regions: seed 001, Example II.9."""
    plan = Plan(T, neighbors=notion)
    plan.add("north", loss=qw.pure(0.5), holds=PER_ROW, where=T.region == "N", **more)
    return plan.add("south", loss=qw.pure(0.3), holds=PER_ROW, where=T.region == "S", **more)


def test_counts_of_two_regions():
    error = refused(pitfall(count=True))
    text = str(error)
    assert error.queries == ("north", "south")
    assert isinstance(error, ValueError)
    assert isinstance(error, QuiltworkError)
    first, *lines = text.splitlines()
    assert first.startswith("'north' (and 1 more) is stated for replace_one() changes of ITS OWN rows")
    assert "region = 'N'" in first
    assert "changing how many rows 'north' sees" in first
    assert "No finite epsilon follows" in first
    assert "Example II.9" in first
    assert lines[0] == "Do one of:"
    assert numbers(lines[1], r"([\d.]+)-DP") == [0.8]
    assert "on_input(add_remove())" in lines[1]
    assert "holds=on_table" in lines[2]
    assert "replace_one(fixed=['region'])" in lines[3]
    assert numbers(lines[4], r"Not accepted: ([\d.]+)-DP") == [0.5]
    assert "add/remove answer" in lines[4]
    assert len(lines) == 5


def test_sums_of_two_regions_also_change_inside_one():
    text = str(refused(pitfall(reads=["age"])))
    assert numbers(text, r"the plan is then replace_one\(\) ([\d.]+)-DP") == [1.0]
    assert numbers(text, r"Not accepted: ([\d.]+)-DP") == [0.5]


@pytest.mark.parametrize(("more", "epsilon"), [({"count": True}, 0.8), ({"reads": ["age"]}, 1.0)])
def test_the_alternatives_are_accepted_and_cost_what_was_said(more, epsilon):
    restated = Plan(T, replace_one())
    restated.add("north", loss=qw.pure(0.5), holds=on_input(add_remove()), where=T.region == "N", **more)
    restated.add("south", loss=qw.pure(0.3), holds=on_input(add_remove()), where=T.region == "S", **more)
    assert float(restated.guarantee().epsilon(0.0).upper) == pytest.approx(epsilon, rel=1e-9)
    proved = Plan(T, replace_one())
    proved.add("north", loss=qw.pure(0.5), holds=on_table, where=T.region == "N", **more)
    proved.add("south", loss=qw.pure(0.3), holds=on_table, where=T.region == "S", **more)
    assert float(proved.guarantee().epsilon(0.0).upper) == pytest.approx(0.8, rel=1e-9)
    fixed = pitfall(replace_one(fixed=["region"]), reads=["age"])
    assert float(fixed.guarantee().epsilon(0.0).upper) == pytest.approx(0.5, rel=1e-9)


def test_losses_without_a_pure_epsilon_are_named_at_a_delta():
    plan = Plan(T, replace_one())
    plan.add("north", loss=qw.gdp(0.5), holds=PER_ROW, where=T.region == "N", count=True)
    plan.add("south", loss=qw.gdp(0.5), holds=PER_ROW, where=T.region == "S", count=True)
    named = numbers(str(refused(plan)), r"replace_one\(\) \(([\d.]+), 1e-06\)-DP")
    exact = float(qw.gdp(0.5 * 2**0.5).epsilon(1e-6).upper)
    assert named == [pytest.approx(exact, rel=1e-2)]
    assert named[0] >= exact * (1 - 1e-9)


def test_only_queries_at_fault_are_named():
    plan = pitfall(count=True)
    plan.add("all", loss=qw.pure(0.1), holds=on_table, count=True)
    assert refused(plan).queries == ("north", "south")
    single = Plan(T, replace_one()).add("north", loss=qw.pure(0.5), holds=PER_ROW, where=T.region == "N", count=True)
    assert str(refused(single)).startswith("'north' is stated")
    assert "Not accepted" not in str(refused(single))  # both answers are 0.5


def test_replaced_rows_under_added_ones():
    text = str(refused(Plan(T, add_remove()).add("all", loss=qw.pure(0.5), holds=PER_ROW)))
    assert "is no number of such changes" in text
    assert numbers(text, r"the plan is then add_remove\(\) ([\d.]+)-DP") == [0.5]
    assert "fixed" not in text
    entries = Plan(T, entry("region")).add(
        "n", loss=qw.pure(0.5), holds=on_input(entry()), where=T.region == "N", count=True
    )
    assert "can move a record out" in str(refused(entries))


def test_an_alternative_that_is_none_has_no_number():
    plan = Plan(T, user("person"))
    plan.add("all", loss=qw.pure(0.5), holds=PER_ROW)
    text = str(refused(plan))
    assert "(a) state it for add/remove, on_input(add_remove());" in text
    assert "changes more rows at once" in text


@pytest.mark.parametrize(
    ("notion", "words"),
    [
        (user("person"), ["user('person', max_records=...)", "clip_rows('person'", "on_input(user('person'))"]),
        (window("age", 3), ["max_records=...", "state the loss for windows"]),
        (node(), ["node(max_degree=...)", "state the loss for nodes"]),
        (free_lunch(), ["any table may take the place", "rows(most"]),
    ],
    ids=str,
)
def test_steps_without_a_bound_are_refused_with_the_bound_to_give(notion, words):
    error = refused(Plan(T, notion).add("all", loss=qw.pure(0.5), holds=on_input(add_remove())))
    assert error.queries == ("all",)
    assert "ITS OWN rows" in str(error)
    for word in words:
        assert word in str(error)


@pytest.mark.parametrize(
    "plan",
    [
        Plan(T, user("person")).add("all", loss=qw.pure(0.5), holds=on_input(user("person"))),
        Plan(T, user("person", 3)).add("all", loss=qw.pure(0.5), holds=on_input(add_remove())),
        Plan(T, window("age", 3)).add("all", loss=qw.pure(0.5), holds=on_input(window("age", 3))),
        Plan(T, window("age", 3, max_records=2)).add("all", loss=qw.pure(0.5), holds=on_input(add_remove())),
        Plan(T, node(2)).add("all", loss=qw.pure(0.5), holds=on_input(add_remove())),
        Plan(T, node()).add("all", loss=qw.pure(0.5), holds=on_input(node())),
        Plan(T.rows(0, 4), free_lunch()).add("all", loss=qw.pure(0.5), holds=on_input(add_remove())),
        Plan(T, free_lunch()).add("all", loss=qw.pure(0.5), holds=on_table),
    ],
    ids=repr,
)
def test_what_the_refusals_advise_is_accepted(plan):
    assert 0.5 <= float(plan.guarantee().epsilon(0.0).upper) <= 4.0 + 1e-9


def test_statements_about_the_table_in_another_notion():
    error = refused(Plan(T, add_remove()).add("all", loss=qw.pure(0.5), holds=on_table(replace_one())))
    assert "is stated for replace_one() changes of the table" in str(error)
    assert "State the loss of 'all' for add_remove()" in str(error)


def test_statements_after_a_map_or_in_other_metrics():
    mapped = Plan(T, replace_one()).add("v", loss=qw.pure(0.5), holds=PER_ROW, via=flat_map("visits", max_out=2))
    assert refused(mapped).queries == ("v",)
    hidden = Plan(T, replace_one()).add("v", loss=qw.pure(0.5), holds=PER_ROW, where=opaque("search", stability=1))
    assert refused(hidden).queries == ("v",)
    years = on_input(metric(euclidean("age"), unit="years"))
    moved = Plan(T, replace_one()).add("v", loss=qw.pure(0.5), holds=years, where=T.age < 30)
    assert refused(moved).queries == ("v",)


def test_a_statement_whose_notion_is_still_open():
    """Plans fill it in; the words must not fail without."""
    error = unbounded(T, [Query("q", qw.pure(0.5), on_table)], add_remove(), [0])
    assert "'q' is stated for the plan's own notion" in str(error)


def test_a_query_that_no_record_reaches_is_never_at_fault():
    plan = Plan(T, add_remove())
    plan.add("none", loss=qw.pure(0.5), holds=PER_ROW, where=(T.age < 3) & (T.age > 5))
    assert float(plan.guarantee().epsilon(0.0).upper) == 0


@pytest.mark.parametrize("notion", [qw.entry(), qw.entry("region", "age"), qw.replace_one(), qw.replace_one(["age"])])
def test_what_the_refusal_recommends_for_fixed_columns_works(notion):
    table = qw.Table(region=qw.Cat("N", "S"), age=qw.Int(0, 99), kind=qw.Cat("a", "b"))

    def plan(step):
        own = qw.on_input(qw.entry() if isinstance(notion, type(qw.entry())) else qw.replace_one())
        return qw.Plan(table, step).add(
            "q", loss=qw.pure(0.1), holds=own, where=table.region == "N", reads=["age", "kind"]
        )

    with pytest.raises(UnboundedLossError) as refusal:
        plan(notion).guarantee()
    (said,) = re.findall(r"\(c\) if these columns cannot change, say so: (.*)\.", str(refusal.value))
    recommended = eval(said, {"entry": qw.entry, "replace_one": qw.replace_one})
    assert plan(recommended).guarantee().epsilon(0.0).upper == pytest.approx(0.1)


def test_nothing_is_recommended_when_no_column_is_left_to_change():
    table = qw.Table(region=qw.Cat("N", "S"))
    plan = qw.Plan(table, qw.entry()).add(
        "q", loss=qw.pure(0.1), holds=qw.on_input(qw.entry()), where=table.region == "N", reads=[]
    )
    with pytest.raises(UnboundedLossError) as refusal:
        plan.guarantee()
    assert "(b)" in str(refusal.value)
    assert "(c)" not in str(refusal.value)
