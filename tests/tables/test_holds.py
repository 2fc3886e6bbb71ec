"""How far one step moves a query's input, against search over all inputs of a small world.

The world is listed in `worlds`; every pair of neighbours is filtered, mapped and measured by hand, and the distance
that the library gives for what happened must never be smaller. Reference: theory/granularity.md section 2.
"""

import itertools
import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
from tests.tables import worlds

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.tables import (
    Cat,
    Float,
    Id,
    Int,
    Table,
    add_remove,
    clip_rows,
    edge,
    entry,
    euclidean,
    flat_map,
    free_lunch,
    join,
    manhattan,
    metric,
    node,
    on_input,
    on_table,
    opaque,
    replace_one,
    user,
    window,
)
from quiltwork.tables.notions.neighbors import Notion, User
from quiltwork.tables.notions.sensitivity import Holds, changeable, occurring, one_way, response
from quiltwork.tables.notions.spaces import symmetric_difference
from quiltwork.tables.query import Query

TABLE = worlds.TABLE
LOSS = qw.pure(1.0)
FILTERS = [TABLE.everything, TABLE.d < 1, TABLE.d >= 1, (TABLE.d == 0) | (TABLE.d == 2), ~TABLE.everything]
SWAPS = [replace_one(), replace_one(fixed=["u"]), entry(), entry("d"), metric(manhattan("d"), unit="days")]
SINGLE = [add_remove()]
SEVERAL = [user("u", 2), user("u", 3), window("d", 2, 2), window("d", 1), window("d", 3)]


def query(stated, where=TABLE.everything, **more):
    return Query("q", LOSS, stated, where, **more)


KEPT = [{r for r in itertools.product(worlds.PEOPLE, worlds.DAYS) if f.keeps({"u": r[0], "d": r[1]})} for f in FILTERS]


@cache
def kept(where, table):
    """What the filter of that number leaves of a table."""
    return tuple(record for record in table if record in KEPT[where])


@cache
def pairs(step, *notions):
    tables = worlds.of_class(step, *notions)
    return [(tables[i], tables[j]) for i, j in worlds.space(step, tables).neighbours if i < j]


@cache
def events(step, where, *notions):
    """What a step does to a filtered table: how it should be priced, and the inputs before and after, each once."""
    found = set()
    for first, second in pairs(step, *notions):
        gone, new = worlds.changed(first, second)
        inside = sum(record in KEPT[where] for record in (*gone, *new))
        if step == add_remove():
            how = ("nothing", "one")[inside]
        elif step in SWAPS:
            how = ("nothing", "one", "both")[inside]
        else:
            how = inside
        found.add((how, kept(where, first), kept(where, second)))
    return found


def told(found, how):
    """The distance that a response gives for what happened."""
    if isinstance(how, int):
        return found.many(how)
    return {"nothing": 0.0, "one": found.one, "both": found.both}[how]


STATED = [
    add_remove(), replace_one(), replace_one(fixed=["u"]), entry(), entry("u"), entry("d"), user("u", 1), user("u", 2),
    user("u", 3), window("d", 1), window("d", 1, 1), window("d", 2, 2), free_lunch(),
    metric(manhattan("d"), unit="days"), metric(manhattan("d"), unit="days", within=2),
]  # fmt: skip


def whole_steps(steps):
    """All pairs but one: half a step of a metric statement costs half, which no count of steps says."""
    return [(stated, step) for stated in STATED for step in steps if (stated, step) != (STATED[-1], SWAPS[-1])]


def caps(*notions):
    """Those that limit which tables there are."""
    return [notion for notion in notions if isinstance(notion, User)]


@cache
def shown(table, reads):
    """What is left of the rows when only some columns are read; filters look at the day."""
    return tuple(sorted(tuple(row["ud".index(c)] for c in reads) for row in table))


@cache
def as_seen(stated, where, reads):
    """d^f: inputs are as far apart as the nearest tables that have them."""
    space = worlds.space(stated, worlds.of_class(*caps(stated)))
    labels = [shown(kept(where, table), reads) for table in space.databases]
    places = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    at = [places[label] for label in labels]
    nearest = np.full((len(places), len(places)), np.inf)
    np.minimum.at(nearest, np.ix_(at, at), space.distances)
    return places, nearest


@pytest.mark.parametrize(("stated", "step"), whole_steps([*SINGLE, *SWAPS, *SEVERAL]), ids=str)
def test_what_is_stated_on_the_input_is_never_nearer_than_search_says(stated, step):
    inputs = worlds.space(stated, worlds.of_class(stated))
    for number, where in enumerate(FILTERS):
        asked = query(on_input(stated), where)
        found, farthest = response(asked, step, TABLE), max(occurring(asked, step, TABLE))
        for how, one, two in events(step, number, *caps(stated)):
            assert told(found, how) >= inputs.distances[inputs.place(one), inputs.place(two)], (one, two)
            assert told(found, how) <= farthest


NO_PERSONS = [pair for pair in whole_steps([*SINGLE, *SWAPS, *SEVERAL]) if not isinstance(pair[0], User)]


@pytest.mark.parametrize(("stated", "step"), NO_PERSONS, ids=str)
def test_the_same_for_queries_that_read_the_day_alone(stated, step):
    """The input has no persons then: the rows of a table in which everything is one person's."""
    inputs = worlds.space(stated, tuple(table for table in worlds.ALL if all(u == 0 for u, _ in table)))
    for number, where in enumerate(FILTERS):
        asked = query(on_input(stated), where, reads=frozenset("d"))
        found = response(asked, step, TABLE)
        for how, before, after in events(step, number):
            one, two = (tuple((0, d) for (d,) in shown(rows, "d")) for rows in (before, after))
            if one != two:
                assert told(found, how) >= inputs.distances[inputs.place(one), inputs.place(two)], (before, after)


@pytest.mark.parametrize(("stated", "step"), whole_steps([*SINGLE, *SWAPS, *SEVERAL, free_lunch()]), ids=str)
def test_what_is_stated_on_the_table_is_never_nearer_than_search_says(stated, step):
    """M(D) = M*(f(D)): inputs are as far apart as the nearest tables that have them (d^f in seed 001)."""
    for (number, where), reads in itertools.product(enumerate(FILTERS), ("ud", "d")):
        places, nearest = as_seen(stated, number, reads)
        asked = query(on_table(stated), where, reads=None if reads == "ud" else frozenset(reads))
        found = response(asked, step, TABLE)
        for how, before, after in events(step, number, *caps(stated)):
            one, two = shown(before, reads), shown(after, reads)
            if one != two:
                far = found.many(math.inf) if step == free_lunch() else told(found, how)
                assert far >= nearest[places[one], places[two]], (before, after)


@pytest.mark.parametrize(("reads", "counted"), [(None, None), (("d",), 1), (("u",), 0), ((), ())])
@pytest.mark.parametrize("number", range(len(FILTERS)))
def test_the_table_of_distances_is_exact_for_replaced_records(number, reads, counted):
    """theory/granularity.md section 2: 0 when equal, 1 or inf when one is left out, 2 or 1 when both are kept."""
    where = FILTERS[number]

    def projected(table):
        rows = kept(number, table)
        if counted is None:
            return rows
        return tuple(sorted(() if counted == () else row[counted] for row in rows))

    asked = query(on_input(add_remove()), where, reads=None if reads is None else frozenset(reads))
    stated = {notion: response(query(on_input(notion), where), replace_one(), TABLE) for notion in STATED[:2]}
    for first, second in pairs(replace_one()):
        (gone,), (new,) = worlds.changed(first, second)
        how = ("nothing", "one", "both")[(gone in KEPT[number]) + (new in KEPT[number])]
        if how == "both" and not asked.reads_any(frozenset(worlds.swapped(first, second))):
            how = "nothing"
        one, two = projected(first), projected(second)
        difference = symmetric_difference(one, two)
        assert told(stated[add_remove()], how) == difference
        assert told(stated[replace_one()], how) == (difference / 2 if len(one) == len(two) else math.inf)
    assert asked.counts == (reads == ())


# ---- maps between the table and the input


def copies(rows):
    """flat_map: a record of day d becomes d + 1 rows, at most two of them kept."""
    return tuple((*row, k) for row in rows for k in range(min(row[1] + 1, 2)))


def clipped(rows, most):
    """clip_rows: the first rows of each person, in a fixed order of rows."""
    return tuple(row for person in worlds.PEOPLE for row in sorted(r for r in rows if r[0] == person)[:most])


def joined(rows, own, other):
    """join on the day: the first `own` of our rows for each day, each with up to `other` of two rows there."""
    return tuple(
        (*row, k) for day in worlds.DAYS for row in sorted(r for r in rows if r[1] == day)[:own] for k in range(other)
    )


MAPS = [
    (flat_map("copies", max_out=2), copies),
    (clip_rows("u", 1), lambda rows: clipped(rows, 1)),
    (clip_rows("u", 2), lambda rows: clipped(rows, 2)),
    (join(truncate=(1, 1)), lambda rows: joined(rows, 1, 1)),
    (join(truncate=(2, 2)), lambda rows: joined(rows, 2, 2)),
]
EVERY_STEP = [*SINGLE, *SWAPS, *SEVERAL, user("u"), user("u", 3, {"d": 1})]


@pytest.mark.parametrize(("via", "function"), MAPS, ids=lambda value: getattr(value, "kind", ""))
@pytest.mark.parametrize("step", EVERY_STEP, ids=str)
def test_maps_move_no_more_rows_than_they_say(via, function, step):
    for number, where in enumerate(FILTERS[:3]):
        found = response(query(on_input(add_remove()), where, via=via), step, TABLE)
        for how, one, two in events(step, number):
            assert told(found, how) >= symmetric_difference(function(one), function(two)), (one, two)


@pytest.mark.parametrize(
    ("via", "function", "rows"),
    [(*MAPS[0], 2), (*MAPS[1], 2), (*MAPS[3], 2), (*MAPS[4], 4)],
    ids=lambda value: getattr(value, "kind", str(value) if isinstance(value, int) else ""),
)
def test_maps_move_as_many_rows_as_they_say(via, function, rows):
    most = max(symmetric_difference(function(one), function(two)) for one, two in pairs(add_remove()))
    assert response(query(on_input(add_remove()), via=via), add_remove(), TABLE).one == most == rows


@pytest.mark.parametrize("stated", [add_remove(), replace_one(), entry(), user("u", 3), window("d", 1)], ids=str)
@pytest.mark.parametrize(("via", "function"), MAPS, ids=lambda value: getattr(value, "kind", ""))
def test_maps_do_not_matter_for_what_is_stated_on_the_table(stated, via, function):
    space = worlds.space(stated, worlds.of_class(stated))
    for number, where in enumerate(FILTERS[:3]):
        labels = [function(kept(number, table)) for table in space.databases]
        places = {label: i for i, label in enumerate(dict.fromkeys(labels))}
        at = [places[label] for label in labels]
        nearest = np.full((len(places), len(places)), np.inf)
        np.minimum.at(nearest, np.ix_(at, at), space.distances)
        for step in (*SINGLE, *SWAPS, *SEVERAL):
            found = response(query(on_table(stated), where, via=via), step, TABLE)
            for how, before, after in events(step, number, *caps(stated)):
                one, two = places[function(before)], places[function(after)]
                if one != two:
                    assert told(found, how) >= nearest[one, two], (before, after)


def person_steps(first, second):
    """Steps of whole persons between two inputs: leave or come is one, to change is both."""
    one, two = ({u: Counter(r for r in rows if r[0] == u) for u in worlds.PEOPLE} for rows in (first, second))
    return sum(0 if one[u] == two[u] else 1 if not one[u] or not two[u] else 2 for u in worlds.PEOPLE)


def test_steps_of_persons_by_hand_are_those_of_search():
    for most in (1, 2, 3):
        space = worlds.space(user("u", most), worlds.of_class(user("u", most)))
        for (i, one), (j, two) in itertools.product(enumerate(space.databases), repeat=2):
            assert space.distances[i, j] == person_steps(one, two)


@pytest.mark.parametrize("stated", [user("u"), user("u", 6), user("u", 2), user("u", 1)], ids=str)
@pytest.mark.parametrize(("via", "function"), MAPS[:3], ids=lambda value: getattr(value, "kind", ""))
@pytest.mark.parametrize("step", EVERY_STEP, ids=str)
def test_statements_about_persons_after_a_map(stated, via, function, step):
    for number, where in enumerate(FILTERS[:3]):
        found = response(query(on_input(stated), where, via=via), step, TABLE)
        for how, before, after in events(step, number):
            one, two = function(before), function(after)
            most = max((n for rows in (one, two) for n in Counter(row[0] for row in rows).values()), default=0)
            if most <= stated.max_records:
                assert told(found, how) >= person_steps(one, two), (before, after)
            elif isinstance(step, User) and one != two:  # whole persons with more rows than the statement speaks of
                assert told(found, how) == math.inf


def test_a_clip_by_another_person_bounds_nothing():
    table = Table(person=Id(), house=Id(), day=Int(0, 9))
    for step, rows in ((user("house", 5), 10), (window("day", 7, max_records=5), 10), (window("day", 7), math.inf)):
        found = response(query(on_input(add_remove()), table.everything, via=clip_rows("person", 1)), step, table)
        assert found.many(5) >= min(rows, 10)
        assert found.many(math.inf) >= rows
    across = query(on_input(user("person", 3)), table.everything, via=clip_rows("house", 2))
    assert response(across, user("person", 3), table).many(1) == math.inf
    own = query(on_input(add_remove()), table.everything, via=clip_rows("person", 2))
    assert [response(own, user("person"), table).many(n) for n in (0, 1, 2, 9)] == [0, 1, 2, 2]


@pytest.mark.parametrize("step", EVERY_STEP, ids=str)
def test_opaque_maps_move_every_record_as_declared(step):
    where = opaque("each record three times", stability=3) & FILTERS[1]
    found = response(query(on_input(add_remove()), where), step, TABLE)
    assert (found.one, found.both, found.many(2)) == (3, 6, 6)
    for how, one, two in events(step, 1):
        assert told(found, how) >= 3 * symmetric_difference(one, two)
    for stated in (replace_one(), user("u"), entry(), window("d", 1)):
        silent = response(query(on_input(stated), where), step, TABLE)
        assert silent.one == silent.both == silent.many(1) == math.inf
    product = where & opaque("pairs", stability=2)
    assert response(query(on_input(add_remove()), product), step, TABLE).one == 6
    mapped = query(on_input(add_remove()), where, via=clip_rows("u", 1))
    assert response(mapped, step, TABLE).many(2) == 12  # which person's rows an opaque map moves is not known


def test_the_farthest_that_a_step_can_go_without_listing_it():
    rows = query(on_input(add_remove()))
    assert occurring(rows, add_remove(), TABLE) == {1}
    assert occurring(rows, replace_one(), TABLE) == {1, 2}
    assert occurring(query(on_input(add_remove()), reads=frozenset()), replace_one(), TABLE) == {1}
    assert occurring(rows, user("u", 3), TABLE) == {3}
    assert occurring(rows, user("u"), TABLE) == {math.inf}
    assert occurring(rows, node(2), TABLE) == {4}
    assert occurring(rows, free_lunch(), TABLE) == {2 * worlds.MOST}


def test_a_statement_without_a_rule_says_nothing():
    class Unheard(Notion):
        kind = "unheard"
        protects = "something else"

        def check(self, table):
            """Fits every table."""

    found = response(query(on_input(Unheard())), replace_one(), TABLE)
    assert (found.one, found.both, found.many(1)) == (math.inf,) * 3


def test_whole_tables():
    inputs = query(on_input(add_remove()), via=flat_map("copies", max_out=2))
    assert response(inputs, free_lunch(), TABLE).many(math.inf) == 2 * 2 * worlds.MOST
    assert response(query(on_input(add_remove())), free_lunch(), Table(d=Int(0, 2))).many(1) == math.inf
    assert response(query(on_input(free_lunch())), free_lunch(), TABLE).many(5) == 1
    assert response(query(on_input(replace_one())), free_lunch(), TABLE).many(5) == math.inf
    assert response(query(on_table(replace_one())), free_lunch(), TABLE.rows(3, 3)).many(5) == 3


# ---- graphs and metrics


def test_edges_and_nodes():
    table = Table(a=Cat(*range(5)))
    asked = query(on_input(edge()), table.everything)
    assert [response(asked, node(2), table).many(n) for n in (0, 1, 4)] == [0, 1, 4]
    assert response(query(on_input(node(2)), table.everything), node(2), table).many(4) == 1
    assert response(query(on_input(node(2)), table.everything), node(3), table).many(4) == math.inf
    assert response(query(on_input(node(2)), table.everything), edge(), table).one == 1
    assert response(query(on_input(node(2, rewire=False)), table.everything), edge(), table).one == 2
    assert response(query(on_input(node(2)), table.everything), replace_one(), table).both == 2


def test_moves_are_counted_in_units_of_the_statement():
    table = Table(x=Float(0, 1000), y=Float(0, 1000))
    near, far = (metric(euclidean("x", "y"), unit="m", within=w) for w in (100, 300))
    assert response(query(on_input(near), table.everything), far, table).both == 3
    assert response(query(on_input(near), table.everything), far, table).one == math.inf
    bounded = metric(euclidean("x", "y"), unit="m", within=100, diameter=250)
    found = response(query(on_input(bounded), table.everything), far, table)
    assert (found.one, found.both) == (2.5, 2.5)
    other = metric(euclidean("x", "y"), unit="ft")
    assert response(query(on_input(bounded), table.everything), other, table).both == 2.5
    assert response(query(on_input(near), table.everything), other, table).both == math.inf
    tenth = metric(euclidean("x", "y"), unit="m", within=0.1)
    third = metric(euclidean("x", "y"), unit="m", within=0.3)
    assert response(query(on_input(tenth), table.everything), third, table).both == 3  # not 2.9999999999999996


@pytest.mark.parametrize(
    ("step", "columns"),
    [
        (replace_one(), {"u", "d"}),
        (replace_one(fixed=["u"]), {"d"}),
        (entry(), {"u", "d"}),
        (entry("d"), {"d"}),
        (metric(manhattan("d"), unit="days"), {"d"}),
        (add_remove(), {"u", "d"}),
    ],
)
def test_columns_that_a_step_can_change(step, columns):
    assert changeable(step, TABLE) == columns


def test_which_steps_go_one_way():
    """The records of a person all come or all go; within a window, and around a rewired node, some do either."""
    assert all(map(one_way, (add_remove(), replace_one(), user("u"), node(2, rewire=False), edge())))
    assert not any(map(one_way, (window("d", 1), node(2), free_lunch())))
    assert response(query(on_input(add_remove())), user("u", 2), TABLE).signed
    assert not response(query(on_input(add_remove())), window("d", 1, 2), TABLE).signed
    assert not response(query(on_table(add_remove())), window("d", 1, 2), TABLE).signed
    assert not response(query(on_table(replace_one())), replace_one(), TABLE).signed


# ---- the words


def test_statements_in_words_and_with_the_plans_notion():
    assert str(on_table) == "on_table()"
    assert str(on_table(user("u", 2))) == "on_table(user('u', 2))"
    assert str(on_input(add_remove())) == "on_input(add_remove())"
    assert on_table.under(add_remove()) == on_table(add_remove())
    assert on_table(user("u")).under(add_remove()) == on_table(user("u"))
    assert on_input(user("u")).under(add_remove()) == on_input(user("u")) == Holds(True, user("u"))


@pytest.mark.parametrize("bad", [add_remove, "add_remove", None, on_table, 1])
def test_a_statement_needs_a_notion(bad):
    for make in (on_input, on_table):
        with pytest.raises(InvalidParameter, match="parentheses"):
            make(bad)


def test_on_table_is_called_once():
    for made in (on_table(add_remove()), on_input(add_remove())):
        with pytest.raises(InvalidParameter, match="once"):
            made(add_remove())


def test_a_query_outside_a_plan_needs_a_notion():
    with pytest.raises(InvalidParameter, match="holds"):
        response(query(on_table), add_remove(), TABLE)
