"""Notions of neighbour: their words, their limits, and the tables on which they make no sense."""

import math

import pytest

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.tables import (
    Cat,
    Float,
    Id,
    Int,
    Table,
    add_remove,
    edge,
    entry,
    euclidean,
    free_lunch,
    geo,
    metric,
    node,
    replace_one,
    user,
    window,
)

T = Table(region=Cat("N", "S"), age=Int(0, 9), x=Float(0, 1), y=Float(0, 1), person=Id())


@pytest.mark.parametrize(
    ("notion", "text", "protects"),
    [
        (add_remove(), "add_remove()", "one record, added or removed"),
        (replace_one(), "replace_one()", "one record, replaced by any other"),
        (replace_one(["x", "age"]), "replace_one(fixed=['age', 'x'])", "any other, its age and x unchanged"),
        (user("person"), "user('person', inf)", "all records of one person, added or removed"),
        (user("person", 3, {"age": 1}), "user('person', 3, max_per={'age': 1})", "at most 3) of one person, at most 1"),
        (entry(), "entry()", "one cell of one record"),
        (entry("x", "age"), "entry('age', 'x')", "one cell of one record, in age or x"),
        (window("age", 2), "window('age', 2)", "everything within any 2 consecutive values of age"),
        (window("x", 0.5, 4), "window('x', 0.5, max_records=4)", "up to 4 records within any 0.5"),
        (edge(), "edge()", "one edge, added or removed"),
        (node(3), "node(3)", "one node of degree at most 3, rewired"),
        (node(3, rewire=False), "node(3, rewire=False)", "joins or leaves with its edges"),
        (free_lunch(), "free_lunch()", "the whole table"),
        (metric(euclidean("x", "y"), unit="m"), "metric(euclidean(x, y), unit='m', within=1)", "the x and y of one"),
        (metric(geo("x", "y"), "m", within=200), "metric(geo(x, y), unit='m', within=200)", "by at most 200 m"),
    ],
)  # fmt: skip
def test_notions_in_words(notion, text, protects):
    assert str(notion) == text
    assert protects in notion.protects
    notion.check(T)
    assert notion == notion
    assert hash(notion) == hash(notion)


def test_notions_are_values():
    assert replace_one(["x", "age"]) == replace_one(("age", "x", "age"))
    assert user("person", 3, {"age": 1, "x": 2}) == user("person", 3, {"x": 2, "age": 1})
    assert user("person", 3) != user("person", 4)
    assert entry("x") != entry()
    assert metric(euclidean("x"), unit="m") != metric(euclidean("x"), unit="km")


@pytest.mark.parametrize(
    ("notion", "records"),
    [(node(3), 6), (node(3, rewire=False), 3), (node(), math.inf), (node(rewire=False, nodes=5), 4)],
)
def test_how_many_edges_a_node_changes(notion, records):
    assert notion.records == records


def test_a_node_has_no_more_neighbours_than_there_are():
    assert node(9, nodes=4).max_degree == 3
    assert node(nodes=4).max_degree == 3
    assert node(3, nodes=4).records >= 3  # every pair of a node may change


@pytest.mark.parametrize(
    "make",
    [
        lambda: replace_one(fixed="region"),
        lambda: replace_one(fixed=[3]),
        lambda: replace_one(fixed=[""]),
        lambda: replace_one(fixed=5),
        lambda: user(""),
        lambda: user(3),
        lambda: user("person", 0),
        lambda: user("person", 1.5),
        lambda: user("person", True),
        lambda: user("person", math.inf),
        lambda: user("person", 3, {"age": 0}),
        lambda: user("person", 3, {3: 1}),
        lambda: entry(3),
        lambda: entry(["age"]),
        lambda: window("age", 0),
        lambda: window("age", -1),
        lambda: window("age", math.inf),
        lambda: window("age", 2, 0),
        lambda: window(3, 2),
        lambda: node(0),
        lambda: node(1.5),
        lambda: node(2, rewire=1),
        lambda: node(2, nodes=1),
        lambda: metric("euclidean", unit="m"),
        lambda: metric(euclidean, unit="m"),
        lambda: metric(euclidean("x"), unit=""),
        lambda: metric(euclidean("x"), unit=None),
        lambda: metric(euclidean("x"), unit="m", within=0),
        lambda: metric(euclidean("x"), unit="m", within=math.inf),
        lambda: metric(euclidean("x"), unit="m", diameter=0),
    ],
)
def test_bad_notions_are_refused(make):
    with pytest.raises(InvalidParameter):
        make()


@pytest.mark.parametrize(
    "notion",
    [
        replace_one(fixed=["height"]),
        replace_one(fixed=list(T.columns)),  # nothing could change
        user("height"),
        user("age"),  # no Id
        user("person", 3, {"height": 1}),
        user("person", 3, {"person": 1}),
        entry("height"),
        entry("age", "height"),
        window("height", 1),
        window("region", 1),
        window("person", 1),
        window("age", 1.5),
        metric(euclidean("height"), unit="m"),
        metric(euclidean("region"), unit="m"),
        metric(euclidean("person"), unit="m"),
    ],
    ids=str,
)
def test_notions_must_fit_the_table(notion):
    with pytest.raises(InvalidParameter):
        notion.check(T)


@pytest.mark.parametrize(
    "notion", [window("x", 0.25), window("age", 2), replace_one(fixed=["age"]), user("person", 3, {"age": 1})], ids=str
)
def test_notions_that_fit(notion):
    notion.check(T)


def test_notions_take_columns_as_well_as_their_names():
    t = qw.Table(x=qw.Float(0, 1), y=qw.Float(0, 1), person=qw.Id())
    assert qw.euclidean(t.x, t.y) == qw.euclidean("x", "y")
    assert qw.manhattan(t.x, "y") == qw.manhattan("x", "y")
    assert qw.geo(t.x, t.y) == qw.geo("x", "y")
    assert qw.user(t.person, 3) == qw.user("person", 3)
    assert qw.entry(t.x) == qw.entry("x")
    assert qw.replace_one([t.x, "y"]) == qw.replace_one(["x", "y"])
    assert qw.window(t.x, 2) == qw.window("x", 2)
    assert qw.clip_rows(t.person, 2) == qw.clip_rows("person", 2)
    with pytest.raises(InvalidParameter, match="a column, or its name"):
        qw.euclidean(3)
