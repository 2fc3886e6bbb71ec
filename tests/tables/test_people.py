"""Several records at once: listed choices against every multiset of records, and the bounds against both."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from tests.examples import seeds
from tests.tables import golden, naive

import quiltwork as qw
from quiltwork.compose.scaling import scaled
from quiltwork.errors import UnboundedLossError, Unsupported
from quiltwork.tables import (
    Cat,
    Float,
    Id,
    Int,
    Plan,
    SubsetOf,
    Table,
    add_remove,
    clip_rows,
    edge,
    flat_map,
    free_lunch,
    node,
    on_input,
    on_table,
    user,
    window,
)
from quiltwork.tables.cells import cells
from quiltwork.tables.worst_step import many_records as people
from quiltwork.tables.worst_step.many_records import COVER_NOTE
from quiltwork.tables.worst_step.vectors import LIMIT_NOTE
from quiltwork.tables.worst_step.worst import Worst

STATED = [on_input(add_remove()), on_table]
POOLS = {
    "Gaussian": [qw.gdp(0.3), qw.gdp(0.5), qw.gaussian(4.0, 1.0)],
    "equal": [qw.pure(0.4)],
    "pure": [qw.pure(0.4), qw.pure(0.1), qw.pure(0.7)],
    "mixed": [qw.pure(0.4), qw.approximate(0.2, 1e-3), qw.gdp(0.3)],
}


def person_table():
    return Table(r=Cat("a", "b", "c", nullable=True), n=Int(0, 4), s=SubsetOf(range(4), max_size=1), person=Id())


def moved(query, count):
    """A query stated for rows moves once for each of them, clipped if it is; one stated for the table once."""
    if not count:
        return 0
    if not query.holds.input or query.holds.notion.kind == "user":
        return 1
    if query.via is not None and query.via.kind == "clip_rows":
        return min(count, query.via.most)
    return count * (1 if query.via is None else query.via.max_out)


def several_losses(queries, rows, most, caps=None):
    """The compositions of all multisets of at most so many records that keep the caps."""
    caps = caps or {}
    touched = naive.kept(queries, rows)
    kinds = {}
    for row, seen in zip(rows, touched, strict=True):
        kinds[tuple(row[column] for column in caps), tuple(seen.tolist())] = None
    found = set()
    for size in range(1, most + 1):
        for choice in itertools.combinations_with_replacement(kinds, size):
            used = [Counter(kind[0][k] for kind in choice) for k in range(len(caps))]
            if any(max(one.values()) > cap for one, cap in zip(used, caps.values(), strict=True)):
                continue
            counts = np.sum([kind[1] for kind in choice], axis=0)
            found.add(tuple(moved(query, int(n)) for query, n in zip(queries, counts, strict=True)))
    vectors = np.array(sorted(found))
    best = [v for v in vectors if not any((v <= w).all() and (v < w).any() for w in vectors)]
    return naive.maximal(
        {
            sum((scaled(q.loss, float(d)) for q, d in zip(queries, row.tolist(), strict=True) if d), qw.Loss(()))
            for row in best
        }
    )


def random_people(seed, pool, caps=None, most=3, holds=STATED):
    rng = np.random.default_rng(seed)
    step = user("person", most, max_per=caps)
    return naive.random_plan(rng, step, table=person_table(), losses=POOLS[pool], holds=holds)


def brute(plan, most=3, caps=None):
    rows = [row for row in naive.records(plan.table) if row["person"] == "someone"]
    return several_losses(plan.queries, rows, most, caps)


@pytest.mark.parametrize("seed", seeds(4, least=1))
@pytest.mark.parametrize("pool", POOLS)
def test_choices_against_every_multiset(pool, seed):
    plan = random_people(seed, pool)
    found = plan.guarantee()
    assert found.exact
    naive.check_equal(found, brute(plan))


@pytest.mark.parametrize("seed", seeds(3, least=1))
@pytest.mark.parametrize("caps", [{"n": 1}, {"r": 2}, {"r": 1, "n": 1}, {"s": 1}])
def test_caps_against_every_multiset(caps, seed):
    plan = random_people(seed, "pure", caps)
    found = plan.guarantee()
    if found.exact:
        naive.check_equal(found, brute(plan, caps=caps))
    else:
        naive.check_above(found, brute(plan, caps=caps))


def test_caps_are_listed_exactly_when_there_are_few_choices():
    table = Table(day=Int(0, 2), kind=Cat("x", "y"), person=Id())
    plan = Plan(table, user("person", 3, max_per={"day": 2}))
    plan.split("day", by=table.day, loss=qw.pure(0.5), holds=on_input(add_remove()))
    plan.add("x", where=table.kind == "x", loss=qw.pure(0.3), holds=on_input(add_remove()))
    found = plan.guarantee()
    assert found.exact
    rows = [row for row in naive.records(table) if row["person"] == "someone"]
    naive.check_equal(found, several_losses(plan.queries, rows, 3, {"day": 2}))
    assert found.epsilon(0.0).upper == pytest.approx(2.4, abs=1e-9)


# ---- the bound


@pytest.mark.parametrize("seed", seeds(3, least=1))
@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("holds", [STATED, [on_table]], ids=["both", "table"])
def test_prices_bound_every_multiset(monkeypatch, pool, seed, holds):
    plan = random_people(seed, pool, holds=holds)
    exact = brute(plan)
    monkeypatch.setattr(people, "MOST_CHOICES", 0)
    found = plan.guarantee()
    assert COVER_NOTE in found.found.notes
    assert not found.exact
    naive.check_above(found, exact)
    naive.check_above(Worst((), found.found.bounds), exact)
    assert found.epsilon(1e-4).lower <= max(loss.epsilon(1e-4).upper for loss in exact)


@pytest.mark.parametrize("seed", seeds(3, least=1))
@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("caps", [None, {"n": 1}, {"r": 1, "n": 2}])
def test_cells_that_are_not_listed_bound_every_multiset(monkeypatch, pool, seed, caps):
    """The dearest cell is searched instead: caps are left out, and the bound still stands above."""
    plan = random_people(seed, pool, caps)
    exact = brute(plan, caps=caps)
    monkeypatch.setattr(people, "MOST_LISTED", 0)
    found = plan.guarantee()
    assert LIMIT_NOTE in found.found.notes
    assert COVER_NOTE in found.found.notes
    naive.check_above(found, exact)
    naive.check_above(Worst((), found.found.bounds), exact)


@pytest.mark.parametrize("caps", [{"n": 1}, {"r": 2}, {"r": 1, "n": 1}])
@pytest.mark.parametrize("pool", ["Gaussian", "pure"])
def test_prices_know_one_of_the_caps(monkeypatch, caps, pool):
    plan = random_people(5, pool, caps)
    monkeypatch.setattr(people, "MOST_CHOICES", 0)
    found = plan.guarantee()
    naive.check_above(found, brute(plan, caps=caps))
    # what is listed as reached keeps every cap
    exact = brute(plan, caps=caps)
    for vector in found.vectors:
        assert vector.loss.delta(0.3).lower <= max(loss.delta(0.3).upper for loss in exact)


def test_real_columns_have_room_for_any_number(monkeypatch):
    """One record for each value of x: a span holds infinitely many values, a point one."""
    table = Table(x=Float(0, 1), person=Id())
    for where, expected in (((table.x < 0.5), 3.0), ((table.x >= 0.5) & (table.x <= 0.5), 1.0)):
        for most in (people.MOST_CHOICES, 0):
            monkeypatch.setattr(people, "MOST_CHOICES", most)
            plan = Plan(table, user("person", 3, max_per={"x": 1}))
            plan.add("q", where=where, loss=qw.pure(1.0), holds=on_input(add_remove()))
            assert plan.guarantee().epsilon(0.0).upper == pytest.approx(expected, abs=1e-9)


def test_sets_have_room_for_all_of_their_values():
    """More than ten sets of at most three of fifty hold 0: ten records with different sets can all count."""
    table = Table(tags=SubsetOf(range(50), max_size=3), person=Id())
    plan = Plan(table, user("person", 10, max_per={"tags": 1}))
    plan.add("q", where=table.tags.has(0), loss=qw.pure(1.0), holds=on_input(add_remove()))
    assert plan.guarantee().epsilon(0.0).upper == pytest.approx(10.0)
    small = Table(tags=SubsetOf(range(3), max_size=2), person=Id())
    plan = Plan(small, user("person", 10, max_per={"tags": 1}))
    plan.add("q", where=small.tags.has(0), loss=qw.pure(1.0), holds=on_input(add_remove()))
    assert plan.guarantee().epsilon(0.0).upper == pytest.approx(3.0)  # {0}, {0, 1}, {0, 2}


def test_many_parts_do_not_stop_a_plan(monkeypatch):
    """More cells times queries than are listed at once: the bound is still that of two parts."""
    monkeypatch.setattr(cells, "MOST_WORK", 100)
    table = Table(day=Int(0, 19), person=Id())
    plan = Plan(table, user("person", 2))
    plan.split("day", by=table.day, loss=qw.pure(1.0), count=True, holds=on_input(add_remove()))
    found = plan.guarantee()
    assert LIMIT_NOTE in found.found.notes
    assert found.epsilon(0.0).upper == pytest.approx(2.0, rel=2e-3)
    assert found.epsilon(0.0).lower == pytest.approx(2.0, rel=2e-3)


def test_unbounded_people_are_refused_with_the_way_out():
    table = Table(n=Int(0, 4), person=Id())
    plan = Plan(table, user("person")).add("q", loss=qw.pure(1.0), holds=on_input(add_remove()))
    with pytest.raises(UnboundedLossError, match="clip_rows"):
        plan.guarantee()
    plan = Plan(table, user("person")).split("q", by=table.n, loss=qw.pure(1.0), holds=on_input(user("person")))
    assert plan.guarantee().epsilon(0.0).upper == pytest.approx(5.0)


# ---- clipped rows


def clipped(step, most=2, columns=None):
    table = Table(**(columns or {"n": Int(0, 4), "person": Id(), "device": Id()}))
    plan = Plan(table, step)
    return plan.add("q", loss=qw.pure(1.0), holds=on_input(add_remove()), via=clip_rows("person", most))


def test_clipped_rows_bound_the_person_they_clip():
    assert clipped(user("person")).guarantee().epsilon(0.0).upper == pytest.approx(2.0)
    assert clipped(user("person", 1)).guarantee().epsilon(0.0).upper == pytest.approx(1.0)
    assert clipped(user("person", 9), most=4).guarantee().epsilon(0.0).upper == pytest.approx(4.0)


def test_one_record_may_push_out_another():
    """A single record that comes or goes changes two rows of a clipped table."""
    assert clipped(add_remove()).guarantee().epsilon(0.0).upper == pytest.approx(2.0)


def test_clipped_rows_bound_nobody_else():
    """The records of one device, or of one day, belong to many persons: each may push out another."""
    assert clipped(user("device", 10)).guarantee().epsilon(0.0).upper == pytest.approx(20.0)
    assert clipped(window("n", 1, max_records=10)).guarantee().epsilon(0.0).upper == pytest.approx(20.0)
    assert clipped(node(5, rewire=False)).guarantee().epsilon(0.0).upper == pytest.approx(10.0)
    for step in (user("device"), window("n", 1)):
        with pytest.raises(UnboundedLossError):
            clipped(step).guarantee()


@pytest.mark.parametrize("seed", seeds(3, least=1))
def test_clipped_plans_against_every_multiset(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    table = person_table()
    plan = Plan(table, user("person", 3))
    for i in range(5):
        via = (None, clip_rows("person", 2), flat_map("rows", max_out=2))[int(rng.integers(3))]
        loss = POOLS["pure"][int(rng.integers(3))]
        plan.add(f"q{i}", where=naive.condition(rng, table), loss=loss, holds=on_input(add_remove()), via=via)
    naive.check_equal(plan.guarantee(), brute(plan))
    monkeypatch.setattr(people, "MOST_CHOICES", 0)
    naive.check_above(plan.guarantee(), brute(plan))


# ---- nodes

MIXED = golden.inputs("mixed direction")


def graph(step, **how):
    table = Table(kind=Cat("a", "b"))
    return Plan(table, step).split("q", by=table.kind, holds=on_input(add_remove()), **how)


def test_nodes_change_as_many_edges_as_they_can_have():
    loss = qw.pure(1.0)
    assert graph(edge(), loss=loss).guarantee().epsilon(0.0).upper == pytest.approx(1.0)
    assert graph(node(3, rewire=False), loss=loss).guarantee().epsilon(0.0).upper == pytest.approx(3.0)
    assert graph(node(3), loss=loss).guarantee().epsilon(0.0).upper == pytest.approx(6.0)
    assert graph(node(3, nodes=3), loss=loss).guarantee().epsilon(0.0).upper == pytest.approx(4.0)
    with pytest.raises(UnboundedLossError, match="degree"):
        graph(node(), loss=loss).guarantee()


def test_counts_of_a_rewired_node_change_by_one_side_only():
    """Up to three edges go and three come: no count moves by more than three, but two counts do."""
    found = graph(node(3), loss=qw.pure(1.0), count=True).guarantee()
    assert found.epsilon(0.0).upper == pytest.approx(6.0)
    assert list(found.touched(0.0).values()) == [3.0]  # that three go is certain, that three more come a bound


def test_a_rewired_node_has_no_direction():
    """An edge of one kind goes, one of the other kind comes: losses that are not symmetric are refused."""
    loss = qw.pair(MIXED["P"], MIXED["Q"])
    with pytest.raises(Unsupported, match="not symmetric"):
        graph(node(1), loss=loss, count=True).guarantee()
    graph(node(1, rewire=False), loss=loss, count=True).guarantee()


def test_free_lunch_reaches_everything_that_can_be_reached():
    table = Table(n=Int(0, 4)).rows(0, 3)
    plan = Plan(table, free_lunch())
    plan.split("n", by=table.n, loss=qw.pure(0.1), holds=on_table)
    plan.add("none", where=table.n > 4, loss=qw.pure(0.1), holds=on_table)
    plan.add("rows", loss=qw.pure(0.1), holds=on_input(add_remove()))
    assert plan.guarantee().epsilon(0.0).upper == pytest.approx(0.5 + 0.6)
    assert math.isinf(Table(n=Int(0, 4)).most)
