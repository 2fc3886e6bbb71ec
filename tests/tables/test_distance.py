"""dist(G1, G2) against breadth-first search over every table of a small world, and over every small graph."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import worlds

from quiltwork.errors import InvalidParameter
from quiltwork.tables import (
    Cat,
    Float,
    Id,
    Int,
    Table,
    add_remove,
    dist,
    edge,
    entry,
    euclidean,
    free_lunch,
    manhattan,
    metric,
    node,
    replace_one,
    user,
    window,
)
from quiltwork.tables.notions import neighbors
from quiltwork.tables.notions.spaces import Space, conversion, graphs, stability_product

TABLE = worlds.TABLE
NEAR, FAR = (metric(manhattan("d"), unit="days", within=w) for w in (1, 2))
NOTIONS = [
    add_remove(), replace_one(), replace_one(fixed=["u"]), replace_one(fixed=["d"]), entry(), entry("u"), entry("d"),
    user("u", 1), user("u", 2), user("u", 3), user("u", 3, {"d": 1}), window("d", 1), window("d", 2), window("d", 3),
    window("d", 1, 1), window("d", 2, 1), window("d", 2, 2), window("d", 3, 2), NEAR, FAR, free_lunch(),
]  # fmt: skip


def searched(stated, wanted, least=0):
    tables = worlds.of_class(stated, wanted, least=least)
    return conversion(worlds.space(stated, tables), worlds.space(wanted, tables))


@pytest.mark.parametrize("stated", NOTIONS, ids=str)
def test_dist_is_never_below_breadth_first_search(stated):
    for wanted in NOTIONS:
        if (stated, wanted) == (FAR, NEAR):
            continue  # metric statements scale with the distance: half a step costs half, which no count of steps says
        assert dist(stated, wanted, TABLE) >= searched(stated, wanted), wanted


@pytest.mark.parametrize(
    "stated", [replace_one(), replace_one(fixed=["u"]), entry(), entry("d"), free_lunch()], ids=str
)
def test_dist_is_never_below_breadth_first_search_in_tables_of_fixed_size(stated):
    table = TABLE.rows(worlds.MOST, worlds.MOST)
    for wanted in NOTIONS:
        if wanted != user("u", 1):  # two persons cannot have three records then
            assert dist(stated, wanted, table) >= searched(stated, wanted, least=worlds.MOST), wanted


@pytest.mark.parametrize(
    ("stated", "wanted", "steps"),
    [
        (add_remove(), replace_one(), 2),
        (add_remove(), replace_one(fixed=["u"]), 2),
        (add_remove(), entry("d"), 2),
        (add_remove(), user("u", 2), 2),
        (add_remove(), user("u", 3), 3),
        (add_remove(), window("d", 2, 2), 2),
        (add_remove(), NEAR, 2),
        (add_remove(), free_lunch(), 6),
        (replace_one(), add_remove(), math.inf),
        (replace_one(), entry(), 1),
        (replace_one(fixed=["u"]), replace_one(), math.inf),
        (replace_one(fixed=["u"]), entry("d"), 1),
        (replace_one(fixed=["u"]), NEAR, 1),
        (replace_one(), free_lunch(), math.inf),
        (entry(), replace_one(), 2),
        (entry(), replace_one(fixed=["u"]), 1),
        (entry("d"), replace_one(), math.inf),
        (entry("u"), entry("d"), math.inf),
        (entry(), add_remove(), math.inf),
        (user("u", 1), add_remove(), 1),
        (user("u", 2), add_remove(), 2),
        (user("u", 1), replace_one(), 2),
        (user("u", 2), replace_one(), 4),
        (user("u", 2), replace_one(fixed=["u"]), 2),
        (user("u", 2), entry("u"), 4),
        (user("u", 2), entry("d"), 2),
        (user("u", 3), user("u", 2), 1),
        (window("d", 1), add_remove(), 1),
        (window("d", 1), replace_one(), 2),
        (window("d", 1), replace_one(fixed=["d"]), 1),
        (window("d", 1, 1), replace_one(fixed=["d"]), 2),
        (window("d", 1), entry("u"), 1),
        (window("d", 1), window("d", 2), 2),
        (window("d", 1), window("d", 3), 3),
        (window("d", 2), window("d", 3), 2),
        (window("d", 3), window("d", 2), 1),
        (window("d", 3, 1), window("d", 3, 2), 2),
        (window("d", 1, 1), user("u", 3), 3),
        (NEAR, FAR, 2),
        (NEAR, replace_one(), math.inf),
        (free_lunch(), user("u", 3), 1),
    ],
)
def test_dist_is_attained(stated, wanted, steps):
    assert dist(stated, wanted, TABLE) == steps
    assert searched(stated, wanted) == steps


@pytest.mark.parametrize(("stated", "steps"), [(replace_one(), 3), (entry(), 6), (entry("u"), math.inf)])
def test_whole_tables_of_fixed_size(stated, steps):
    assert dist(stated, free_lunch(), TABLE.rows(3, 3)) == steps == searched(stated, free_lunch(), least=3)


def test_without_a_bound_on_the_records_a_whole_table_is_infinitely_far():
    table = Table(a=Int(0, 1))
    assert dist(add_remove(), free_lunch(), table) == math.inf
    assert dist(add_remove(), user("p"), Table(p=Id())) == math.inf
    assert dist(window("a", 1, 1), window("a", 1), table) == math.inf
    assert dist(window("a", 1), window("b", 1), Table(a=Int(0, 1), b=Int(0, 1))) == math.inf
    assert dist(user("p"), user("q"), Table(p=Id(), q=Id())) == math.inf
    assert dist(user("u", 2), user("u", 3), TABLE) == math.inf  # nothing is said of three records
    assert dist(user("u", 3, {"d": 1}), user("u", 3), TABLE) == math.inf
    assert dist(user("u", 3), user("u", 3, {"d": 1}), TABLE) == 1


def test_every_notion_is_one_step_from_itself():
    for notion in NOTIONS:
        assert dist(notion, notion, TABLE) == 1


# ---- graphs


def edges_of(graph, at):
    return {pair for pair in graph if at in pair}


def joins_or_leaves(first, second):
    """One node has all its edges in one graph and none in the other; nothing else differs."""
    difference = set(first) ^ set(second)
    return any(
        difference == edges_of(first, at) | edges_of(second, at)
        and (not edges_of(first, at) or not edges_of(second, at))
        for at in range(6)
        if difference
    )


def rewired(first, second):
    difference = set(first) ^ set(second)
    return any(difference == edges_of(difference, at) for at in range(6) if difference)


def one_edge(first, second):
    return len(set(first) ^ set(second)) == 1


EDGES = Table(a=Cat(*range(6)), b=Cat(*range(6)))


@pytest.mark.parametrize(("nodes", "degree"), [(4, 3), (4, 1), (4, 2), (5, 1), (5, 2)])
def test_notions_of_graphs_against_search(nodes, degree):
    listed = graphs(nodes, degree)
    rules = {
        edge(): one_edge,
        node(degree, nodes=nodes): rewired,
        node(degree, rewire=False, nodes=nodes): joins_or_leaves,
    }
    spaces = {notion: Space(listed, rule) for notion, rule in rules.items()}
    for stated, wanted in itertools.product(rules, repeat=2):
        found = conversion(spaces[stated], spaces[wanted])
        assert dist(stated, wanted, EDGES) >= found, (stated, wanted)
    assert conversion(spaces[edge()], spaces[node(degree, nodes=nodes)]) == min(2 * degree, nodes - 1)
    join = node(degree, rewire=False, nodes=nodes)
    assert dist(join, edge(), EDGES) == conversion(spaces[join], spaces[edge()]) == (1 if degree == 1 else 2)
    rewire = node(degree, nodes=nodes)
    assert dist(rewire, edge(), EDGES) == dist(rewire, join, EDGES) == 1


def test_nodes_with_fewer_edges_than_are_spoken_of():
    assert dist(node(3), node(2), EDGES) == 1
    assert dist(node(2), node(3), EDGES) == math.inf
    assert dist(node(3, rewire=False), node(2), EDGES) == 2
    assert dist(edge(), node(2), EDGES) == 4
    assert dist(edge(), node(2, rewire=False), EDGES) == 2
    assert dist(edge(), node(), EDGES) == math.inf
    assert dist(replace_one(), node(2), EDGES) == math.inf
    assert dist(node(2), replace_one(), EDGES) == 2
    assert dist(node(2, rewire=False), replace_one(), EDGES) == 4
    assert dist(node(2), user("p", 3), Table(p=Id())) == 3
    assert dist(node(2), window("n", 1, 3), Table(n=Int(0, 1))) == 3


# ---- numbers


@given(st.integers(1, 400), st.integers(1, 400))
def test_ratios_of_distances_are_never_rounded_down(one, two):
    table = Table(x=Float(0, 1))
    stated, wanted = (metric(euclidean("x"), unit="m", within=n / 100) for n in (one, two))
    found = dist(stated, wanted, table)
    exact = Fraction(two, one)
    assert exact <= Fraction(repr(found)) <= exact * (1 + Fraction(1, 2**50))  # numbers stand for what is typed
    lengths = dist(window("x", one / 100), window("x", two / 100), table)
    assert lengths >= exact
    assert lengths < exact + 1 + Fraction(1, 10**6)


def test_metrics_in_other_units_do_not_convert():
    table = Table(x=Float(0, 1), y=Float(0, 1))
    metres, feet = (metric(euclidean("x"), unit=unit) for unit in ("m", "ft"))
    assert dist(metres, feet, table) == math.inf
    assert dist(metres, metric(euclidean("y"), unit="m"), table) == math.inf
    assert dist(replace_one(fixed=["y"]), metres, table) == 1


@pytest.mark.parametrize(
    ("one", "two", "product"), [(0, math.inf, math.inf), (math.inf, 0, math.inf), (2, 3, 6), (0, 5, 0)]
)
def test_nothing_times_infinity_is_infinity(one, two, product):
    assert stability_product(one, two) == product


@pytest.mark.parametrize("bad", [add_remove, "add_remove", None, 1])
def test_only_notions_have_a_distance(bad):
    for pair in ((bad, add_remove()), (add_remove(), bad)):
        with pytest.raises(InvalidParameter, match="notion"):
            dist(*pair, TABLE)


class Unheard(neighbors.Notion):
    """A notion that no rule knows."""

    kind = "unheard"
    protects = "something else"

    def check(self, table):
        """Fits every table."""


def test_a_notion_without_a_rule_is_infinitely_far():
    for notion in NOTIONS:
        assert dist(Unheard(), notion, TABLE) == math.inf
        if notion != free_lunch():
            assert dist(notion, Unheard(), TABLE) == math.inf


@pytest.mark.parametrize("missing", [user("q"), entry("q"), window("q", 1), replace_one(fixed=["q"])])
def test_notions_that_name_missing_columns_have_no_distance(missing):
    for pair in ((missing, add_remove()), (add_remove(), missing)):
        with pytest.raises(InvalidParameter):
            dist(*pair, TABLE)
