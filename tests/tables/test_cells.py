"""Cells against every record: what a cell touches, which cells are real, and what joining them loses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.tables import naive
from tests.tables.arrangements import arranged

import quiltwork as qw
from quiltwork.tables import Cat, Date, Float, Id, Int, Plan, SubsetOf, Table, add_remove, on_table, opaque, replace_one
from quiltwork.tables.cells import cells
from quiltwork.tables.cells.cells import Arrangement, maximal_rows
from quiltwork.tables.schema import columns


def rows_of(found):
    return set(map(tuple, found.tolist()))


def cell_of(arrangement, queries, record):
    """The touched set of a record, from its conditions."""
    return tuple(query.opaque or query.where.keeps(record) for query in queries)


@pytest.mark.parametrize("records", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_cells_are_what_records_touch(seed, records):
    """Touched sets of cells and of all records are the same sets; members are exchanged only where that is harmless."""
    plan = naive.random_plan(np.random.default_rng(seed), add_remove(), queries=6)
    arrangement = Arrangement.of(plan.table, plan.queries, records=records)
    found = arrangement.all_cells()
    assert found.exact.all()
    seen = {cell_of(arrangement, plan.queries, record) for record in naive.records(plan.table)}
    assert rows_of(found.touched) == seen


def test_alike_members_stand_for_each_other():
    """Fifty members with equal queries: a handful of cells, one for every number of members that a record can have."""
    table = Table(tags=SubsetOf(range(50), max_size=3))
    plan = Plan(table, add_remove()).each("tag", of=table.tags, loss=qw.pure(0.1), holds=on_table)
    one = Arrangement.of(table, plan.queries).all_cells()
    assert sorted(one.touched.sum(axis=1)) == [0, 1, 2, 3]
    two = Arrangement.of(table, plan.queries, records=2).all_cells()
    overlaps = {
        (int(a.sum()), int(b.sum()), int((a & b).sum())) for a in two.touched for b in two.touched
    }  # fmt: skip
    sizes = range(4)
    assert overlaps == {(a, b, c) for a in sizes for b in sizes for c in range(min(a, b) + 1)}


def test_members_with_another_loss_or_filter_are_not_alike():
    table = Table(tags=SubsetOf(range(3), max_size=1), side=Cat("l", "r"))
    plan = Plan(table, add_remove())
    plan.add("0", where=table.tags.has(0), loss=qw.pure(0.1), holds=on_table)
    plan.add("1", where=table.tags.has(1), loss=qw.pure(0.2), holds=on_table)
    plan.add("2", where=table.tags.has(2) & (table.side == "l"), loss=qw.pure(0.1), holds=on_table)
    seen = {cell_of(None, plan.queries, record) for record in naive.records(table)}
    assert rows_of(Arrangement.of(table, plan.queries).all_cells().touched) == seen
    assert len(seen) == 4


def test_too_many_sets_are_taken_as_one(monkeypatch):
    """Beyond the limit every member counts as present at once: a bound, and marked as no real record."""
    monkeypatch.setattr(columns, "MOST_PATTERNS", 5)
    table = Table(tags=SubsetOf(range(6), max_size=2))
    plan = Plan(table, add_remove())
    for i in range(6):
        plan.add(str(i), where=table.tags.has(i), loss=qw.pure(0.1 + i / 100), holds=on_table)
    found = Arrangement.of(table, plan.queries).all_cells()
    assert not found.exact.any()
    for record in naive.records(table):
        touched = np.array(cell_of(None, plan.queries, record))
        assert (touched <= found.touched).all(axis=1).any()
    assert not plan.guarantee().exact
    assert plan.guarantee().epsilon(0.0).upper >= 0.29  # the two largest


def test_ends_of_spans_are_told_apart():
    """x < 1/2, x <= 1/2 and x = 1/2 on a real column: a single point is a cell of its own."""
    table = Table(x=Float(0, 1, nullable=True), day=Date("2026-01-01", "2026-01-03"))
    plan = Plan(table, add_remove())
    for name, where in (
        ("below", table.x < 0.5),
        ("up to", table.x <= 0.5),
        ("at", table.x == 0.5),
        ("null", table.x.is_null()),
        ("not below", ~(table.x < 0.5)),
        ("late", table.day > "2026-01-02"),
    ):
        plan.add(name, where=where, loss=qw.pure(0.1), holds=on_table)
    found = Arrangement.of(table, plan.queries).all_cells()
    values = [0.0, 0.25, 0.5, 0.75, 1.0, None]
    days = [table.record(x=0, day=f"2026-01-0{d}")["day"] for d in (1, 2, 3)]
    records = [{"x": x, "day": day} for x in values for day in days]
    assert rows_of(found.touched) == {cell_of(None, plan.queries, record) for record in records}


def test_opaque_queries_are_touched_by_every_cell():
    table = Table(r=Cat("a", "b"), person=Id())
    plan = Plan(table, add_remove())
    plan.add("a", where=table.r == "a", loss=qw.pure(0.1), holds=on_table)
    plan.add("dark", where=opaque("dark", stability=2), loss=qw.pure(0.1), holds=on_table)
    plan.add("later", where=table.r == "a", loss=qw.pure(0.1), holds=on_table, adaptive=True)
    plan.add("none", where=(table.r == "a") & (table.r == "b"), loss=qw.pure(0.1), holds=on_table)
    found = Arrangement.of(table, plan.queries).all_cells()
    assert rows_of(found.touched) == {(True, True, True, False), (False, True, True, False)}


def test_whole_columns_keep_their_classes():
    """A column that caps count over keeps classes apart that touch the same queries, with their sizes."""
    table = Table(n=Int(0, 9), r=Cat("a", "b"))
    plan = Plan(table, add_remove()).add("q", where=table.n.between(2, 4), loss=qw.pure(0.1), holds=on_table)
    merged = Arrangement.of(table, plan.queries)
    assert [sheet.sizes.tolist() for sheet in merged.sheets] == [[8.0, 2.0]]
    apart = Arrangement.of(table, plan.queries, whole=["n", "r"])
    assert {sheet.column: sheet.sizes.tolist() for sheet in apart.sheets} == {"n": [2.0, 2.0, 6.0], "r": [2.0]}
    inside = apart.within("n", [1])
    assert inside.all_cells().touched.tolist() == [[True]]


def test_plans_without_conditions_have_one_cell():
    table = Table(n=Int(0, 9))
    plan = Plan(table, replace_one()).add("all", loss=qw.pure(0.1), holds=on_table)
    arrangement = Arrangement.of(table, plan.queries)
    found = arrangement.all_cells()
    assert found.touched.tolist() == [[True]]
    assert arrangement.describe(found.picks[0]) == "any record"


def test_too_many_cells_are_not_listed(monkeypatch):
    arrangement = arranged(3, columns=2, queries=8)
    assert arrangement.all_cells() is not None
    monkeypatch.setattr(cells, "MOST_CELLS", 10)
    assert arrangement.all_cells() is None
    monkeypatch.setattr(cells, "MOST_CELLS", 50_000)
    monkeypatch.setattr(cells, "MOST_WORK", 100)
    assert arrangement.all_cells() is None


# ---- maximal rows


@given(arrays.arrays(bool, st.tuples(st.integers(1, 9), st.integers(0, 5))))
def test_maximal_rows_against_all_pairs(rows):
    """Distinct rows that no other row contains; the first of equal ones."""
    found = maximal_rows(rows)
    expected = [
        i
        for i, row in enumerate(rows)
        if not any((row <= other).all() and (row < other).any() for other in rows)
        and not any((row == other).all() for other in rows[:i])
    ]
    assert found.tolist() == expected


def test_many_maximal_rows_still_cover_everything():
    """Beyond the size for which all pairs are compared, more rows may stay, and none is lost."""
    rows = np.random.default_rng(1).integers(2, size=(400, 12)).astype(bool)
    kept = rows[maximal_rows(rows)]
    assert (rows[:, None, :] <= kept[None, :, :]).all(axis=2).any(axis=1).all()
