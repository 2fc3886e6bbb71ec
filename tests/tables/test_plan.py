"""Plans: what is accepted, what is refused, and that a refusal leaves the plan as it was."""

import math

import pytest

import quiltwork as qw
from quiltwork.errors import DisconnectedDomainWarning, InvalidParameter
from quiltwork.tables import (
    Cat,
    Date,
    Float,
    Id,
    Int,
    Plan,
    SubsetOf,
    Table,
    add_remove,
    clip_rows,
    edge,
    entry,
    euclidean,
    flat_map,
    free_lunch,
    join,
    metric,
    node,
    on_input,
    on_table,
    opaque,
    replace_one,
    user,
    window,
)

T = Table(
    region=Cat("N", "S", nullable=True),
    age=Int(0, 99),
    x=Float(0, 1),
    day=Date("2026-01-01", "2026-01-03"),
    tags=SubsetOf(range(5), max_size=2),
    person=Id(),
)
LOSS = qw.pure(0.5)
ROWS = on_input(add_remove())


def plan(notion=add_remove()):  # noqa: B008
    return Plan(T, neighbors=notion).add("first", loss=LOSS, holds=ROWS, where=T.age < 30, count=True)


# ---- what is accepted


def test_queries_are_kept_in_order_with_what_was_said():
    made = plan()
    assert made.add("second", loss=LOSS, holds=on_table, where=T.x > 0.5, reads=["age", T.x]) is made
    assert [query.name for query in made.queries] == ["first", "second"]
    first, second = made.queries
    assert first.reads == frozenset()
    assert second.reads == {"age", "x"}
    assert second.holds == on_table(add_remove())  # filled in
    assert first.holds == ROWS
    assert repr(made) == "<Plan of 2 queries, hiding one record, added or removed>"


def test_no_columns_read_is_a_count():
    made = (
        plan().add("second", loss=LOSS, holds=ROWS, reads=[]).add("third", loss=LOSS, holds=ROWS, reads=[], count=True)
    )
    assert [query.counts for query in made.queries] == [True, True, True]


def test_a_split_has_a_query_for_every_part():
    made = plan().split("by region", by=T.region, loss=LOSS, holds=ROWS, count=True)
    names = [query.name for query in made.queries[1:]]
    assert names == ["by region: region = N", "by region: region = S", "by region: region = NULL"]
    made.split("by day", by="day", loss=LOSS, holds=ROWS, where=T.age < 9, reads=["x"], via=clip_rows("person", 2))
    assert len(made.queries) == 7
    assert made.queries[-1].where.columns == {"day", "age"}
    assert made.queries[-1].via == clip_rows("person", 2)
    made.split("by age", by=T.age, edges=[18, 65], loss=LOSS, holds=ROWS)
    assert [query.name for query in made.queries[-2:]] == ["by age: age = 18..65", "by age: age = other"]


def test_a_split_of_disjoint_parts_costs_one_part_and_overlapping_members_their_most():
    split = Plan(T, add_remove()).split("r", by=T.region, loss=LOSS, holds=ROWS)
    assert float(split.guarantee().epsilon(0.0).upper) == pytest.approx(0.5, rel=1e-9)
    each = Plan(T, add_remove()).each("t", of=T.tags, loss=LOSS, holds=ROWS)
    assert float(each.guarantee().epsilon(0.0).upper) == pytest.approx(1.0, rel=1e-9)  # max_size = 2


def test_one_query_for_each_member():
    made = plan().each("tag", of="tags", loss=LOSS, holds=ROWS, where=T.age < 9, reads=iter(["x"]))
    assert [query.name for query in made.queries[1:]] == [f"tag: tags has {n}" for n in range(5)]
    assert {query.reads for query in made.queries[1:]} == {frozenset({"x"})}
    assert all(query.where.columns == {"tags", "age"} for query in made.queries[1:])


@pytest.mark.parametrize(
    "where",
    [
        opaque("search", stability=2),
        opaque("search", stability=1) & (T.age < 3),
        (T.age < 3) & opaque("search", stability=1) & (T.x > 0),
    ],
)
def test_opaque_maps_alone_or_beside_conditions(where):
    assert plan().add("opaque", loss=LOSS, holds=ROWS, where=where).queries[-1].opaque


def test_an_empty_plan_costs_nothing():
    found = Plan(T, add_remove()).guarantee()
    assert float(found.epsilon(0.0).upper) == 0
    assert found.touched() == {}


def test_a_session_starts_from_the_plan():
    session = plan().session(qw.pure(2.0))
    assert [query.name for query in session.queries] == ["first"]


# ---- what is refused, and changes nothing


BAD = {
    "no name": {"name": ""},
    "blank name": {"name": "  "},
    "a number as name": {"name": 3},
    "a name twice": {"name": "first"},
    "a number as loss": {"loss": 0.5},
    "no loss": {"loss": None},
    "one direction": {"loss": LOSS.direction("remove")},
    "no statement": {"holds": None},
    "a notion as statement": {"holds": add_remove()},
    "a function as statement": {"holds": on_input},
    "a text as statement": {"holds": "on_table"},
    "a statement about missing columns": {"holds": on_input(user("household"))},
    "a statement about an unordered column": {"holds": on_table(window("region", 2))},
    "a function as condition": {"where": lambda record: record["age"] < 3},
    "a truth value as condition": {"where": True},
    "a text as condition": {"where": "age < 3"},
    "a column as condition": {"where": T.age},
    "a condition on another table": {"where": Table(height=Int(0, 9)).height < 3},
    "categories of another table": {"where": Table(region=Cat("N", "W")).region == "W"},
    "members of another table": {"where": Table(tags=SubsetOf(range(9))).tags.has(8)},
    "another kind of column": {"where": Table(region=Int(0, 9)).region < 3},
    "fractions of whole numbers": {"where": Table(age=Float(0, 99)).age <= 3},
    "a column that is never NULL": {"where": Table(age=Int(0, 9, nullable=True)).age.is_null()},
    "an alternative of opaque maps": {"where": opaque("a", stability=1) | (T.age < 3)},
    "an alternative inside": {"where": (T.x > 0.5) & (opaque("a", stability=1) | (T.age < 3))},
    "a text as columns": {"reads": "age"},
    "a column as columns": {"reads": T.age},
    "missing columns": {"reads": ["height"]},
    "no columns": {"reads": 3},
    "a count that reads": {"count": True, "reads": ["age"]},
    "a count that is no truth value": {"count": 1},
    "a text as map": {"via": "flat_map"},
    "a clip by a missing column": {"via": clip_rows("household", 2)},
    "a clip by no Id": {"via": clip_rows("age", 2)},
    "adaptive that is no truth value": {"adaptive": "yes"},
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD.keys())
def test_a_refused_query_leaves_the_plan_unchanged(change):
    made = plan()
    before, cost = made.queries, float(made.guarantee().epsilon(0.0).upper)
    arguments = {"name": "second", "loss": LOSS, "holds": ROWS} | change
    with pytest.raises(InvalidParameter):
        made.add(arguments.pop("name"), **arguments)
    assert made.queries == before
    assert float(made.guarantee().epsilon(0.0).upper) == cost


SHARED = [key for key in BAD if "name" not in key and "adaptive" not in key]


@pytest.mark.parametrize("change", [BAD[key] for key in SHARED], ids=SHARED)
def test_a_refused_split_leaves_the_plan_unchanged(change):
    made = plan()
    for way in ({"by": T.day}, {"of": T.tags}):
        with pytest.raises(InvalidParameter):
            (made.split if "by" in way else made.each)("more", **{"loss": LOSS, "holds": ROWS} | way | change)
    assert [query.name for query in made.queries] == ["first"]


def test_one_text_is_no_list_of_columns():
    table = Table(a=Int(0, 1), b=SubsetOf(range(2)))
    made = Plan(table, add_remove())
    for ask in (
        lambda: made.add("q", reads="ab", loss=LOSS, holds=ROWS),
        lambda: made.split("q", by=table.a, reads="ab", loss=LOSS, holds=ROWS),
        lambda: made.each("q", of=table.b, reads="ab", loss=LOSS, holds=ROWS),
    ):
        with pytest.raises(InvalidParameter, match="reads"):
            ask()
    assert not made.queries


def test_a_clash_of_names_refuses_all_parts():
    made = plan().add("more: region = S", loss=LOSS, holds=ROWS).add("more: tags has 4", loss=LOSS, holds=ROWS)
    before = made.queries
    with pytest.raises(InvalidParameter, match="its own name"):
        made.split("more", by=T.region, loss=LOSS, holds=ROWS)
    with pytest.raises(InvalidParameter, match="its own name"):
        made.each("more", of=T.tags, loss=LOSS, holds=ROWS)
    assert made.queries == before


@pytest.mark.parametrize(
    "by", [T.person, T.tags, T.x, Table(region=Cat("N", "S")).region, "height", None, 3, T.age < 3, ["region"]]
)
def test_bad_splits_are_refused(by):
    made = plan()
    with pytest.raises(InvalidParameter):
        made.split("more", by=by, loss=LOSS, holds=ROWS)
    assert len(made.queries) == 1


@pytest.mark.parametrize("edges", [[], [3], [5, 3], [3, 3], [3, float("nan")], "ab", 7])
def test_bad_edges_are_refused(edges):
    made = plan()
    with pytest.raises(InvalidParameter):
        made.split("more", by=T.age, edges=edges, loss=LOSS, holds=ROWS)
    assert len(made.queries) == 1


@pytest.mark.parametrize("of", [T.region, T.age, T.person, "age", None, Table(tags=SubsetOf(range(5))).tags])
def test_members_of_other_columns_are_refused(of):
    made = plan()
    with pytest.raises(InvalidParameter):
        made.each("more", of=of, loss=LOSS, holds=ROWS)
    assert len(made.queries) == 1


@pytest.mark.parametrize("name", ["", "  ", 3, None])
def test_splits_have_names_too(name):
    made = plan()
    with pytest.raises(InvalidParameter, match="name"):
        made.split(name, by=T.region, loss=LOSS, holds=ROWS)
    with pytest.raises(InvalidParameter, match="name"):
        made.each(name, of=T.tags, loss=LOSS, holds=ROWS)
    assert len(made.queries) == 1


def test_where_a_loss_holds_has_no_default():
    with pytest.raises(TypeError, match="holds"):
        plan().add("second", loss=LOSS)
    with pytest.raises(InvalidParameter, match="no default"):
        plan().add("second", loss=LOSS, holds=None)


def test_a_function_is_told_to_be_declared():
    with pytest.raises(InvalidParameter, match="opaque"):
        plan().add("second", loss=LOSS, holds=ROWS, where=lambda record: True)


# ---- notions and tables


@pytest.mark.parametrize("bad", [add_remove, None, "add_remove", on_table])
def test_a_plan_needs_a_notion(bad):
    with pytest.raises(InvalidParameter, match="parentheses"):
        Plan(T, neighbors=bad)


@pytest.mark.parametrize("bad", [None, dict(T.columns), Table])
def test_a_plan_needs_a_table(bad):
    with pytest.raises(InvalidParameter, match="Table"):
        Plan(bad, neighbors=add_remove())


@pytest.mark.parametrize(
    "notion",
    [
        user("household"),
        user("age"),
        entry("height"),
        window("height", 1),
        window("region", 1),
        replace_one(fixed=["height"]),
        metric(euclidean("height"), unit="m"),
    ],
    ids=str,
)
def test_a_notion_must_fit_the_table(notion):
    with pytest.raises(InvalidParameter):
        Plan(T, neighbors=notion)
    with pytest.raises(InvalidParameter):
        plan().add("second", loss=LOSS, holds=on_table(notion))
    with pytest.raises(InvalidParameter):
        plan().guarantee().to(notion)


@pytest.mark.parametrize("notion", [add_remove(), user("person", 2), window("age", 3), edge(), node(2)], ids=str)
def test_tables_of_fixed_size_have_no_neighbours_of_another_size(notion):
    with pytest.warns(DisconnectedDomainWarning, match="replace_one"):
        made = Plan(T.rows(10, 10), neighbors=notion)
    made.add("first", loss=LOSS, holds=on_table, count=True)
    assert float(made.guarantee().epsilon(0.0).upper) >= 0.5  # and not the 0 that an empty promise would allow


@pytest.mark.parametrize("notion", [replace_one(), entry(), free_lunch(), metric(euclidean("x"), unit="m")], ids=str)
def test_tables_of_fixed_size_have_neighbours_of_their_own_size(notion):
    Plan(T.rows(10, 10), neighbors=notion)
    Plan(T.rows(9, 10), neighbors=add_remove())


# ---- costs of maps, by hand


@pytest.mark.parametrize(
    ("notion", "via", "where", "epsilon"),
    [
        (add_remove(), flat_map("visits", max_out=5), None, 2.5),
        (replace_one(), flat_map("visits", max_out=5), None, 5.0),
        (add_remove(), join(truncate=(2, 3)), None, 3.0),
        (add_remove(), clip_rows("person", 3), None, 1.0),
        (user("person"), clip_rows("person", 3), None, 1.5),
        (user("person", 2), clip_rows("person", 3), None, 1.0),
        (user("person", 2), flat_map("visits", max_out=5), None, 5.0),
        (add_remove(), None, opaque("search", stability=3), 1.5),
        (add_remove(), flat_map("visits", max_out=5), opaque("search", stability=2), 5.0),
    ],
)
def test_maps_cost_what_they_move(notion, via, where, epsilon):
    made = Plan(T, notion).add("q", loss=LOSS, holds=ROWS, via=via, where=where)
    assert float(made.guarantee().epsilon(0.0).upper) == pytest.approx(epsilon, rel=1e-9)


def test_adaptive_queries_touch_everything():
    made = Plan(T, add_remove())
    made.add("north", loss=LOSS, holds=ROWS, where=T.region == "N")
    made.add("south", loss=LOSS, holds=ROWS, where=T.region == "S", adaptive=True)
    found = made.guarantee()
    assert float(found.epsilon(0.0).upper) == pytest.approx(1.0, rel=1e-9)
    assert any("'south' is chosen after earlier outputs" in line for line in found.assumes)
    assert not math.isinf(float(found.epsilon(0.0).upper))
