"""From notions to vectors: which search answers, windows against every position, and what is said about it."""

import itertools

import numpy as np
import pytest
from tests.examples import seeds
from tests.tables import naive

import quiltwork as qw
from quiltwork.errors import Unsupported
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
    edge,
    on_input,
    on_table,
    opaque,
    user,
    window,
)
from quiltwork.tables.cells.cells import Arrangement
from quiltwork.tables.worst_step import fronts
from quiltwork.tables.worst_step.reach import reach, stretches
from quiltwork.tables.worst_step.vectors import LIMIT_NOTE

# ---- one record


def single_losses(plan):
    """One record in or out: everything that keeps it, once."""
    touched = np.unique(naive.kept(plan.queries, naive.records(plan.table)), axis=0)
    return naive.maximal({kept_losses(plan, row) for row in touched})


def kept_losses(plan, row):
    return sum((query.loss for query, seen in zip(plan.queries, row, strict=True) if seen), qw.Loss(()))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("notion", [add_remove(), edge()])
@pytest.mark.parametrize("listed", [fronts.MOST_LISTED, 0])
def test_one_record_against_brute_force(monkeypatch, seed, notion, listed):
    monkeypatch.setattr(fronts, "MOST_LISTED", listed)
    plan = naive.random_plan(np.random.default_rng(seed), notion, queries=7, holds=[on_input(add_remove()), on_table])
    found = plan.guarantee()
    if found.exact:
        naive.check_equal(found, single_losses(plan))
    else:
        assert LIMIT_NOTE in found.because
        naive.check_above(found, single_losses(plan))
    assert found.exact or not listed


@pytest.mark.parametrize("seed", range(3))
def test_one_record_of_a_person_is_one_record(seed):
    def plan(notion):
        table = naive.small_table(person=Id())
        return naive.random_plan(np.random.default_rng(seed), notion, table=table, holds=[on_input(add_remove())])

    naive.check_equal(plan(user("person", 1)).guarantee(), single_losses(plan(add_remove())))


def test_nothing_released_has_one_empty_vector():
    found = reach(Table(n=Int(0, 9)), (), add_remove())
    assert [vector.loss for vector in found.vectors] == [qw.Loss(())]
    assert not found.bounds


# ---- windows

SPANS = [[(2, 5), (4, 9)], [(0, 3), (3, 4), (7, 10)], [(1, 2), (2, 3), (3, 5), (8, 9)], [(0, 10)]]


def sheet_of(column, spans):
    table = Table(x=column)
    plan = Plan(table, window("x", 1))
    for low, high in spans:
        plan.add(f"{low}-{high}", where=table.x.between(low, high), loss=qw.pure(0.1), holds=on_table)
    (sheet,) = Arrangement.of(table, plan.queries, records=3, whole=["x"]).sheets
    return sheet


@pytest.mark.parametrize("spans", SPANS)
@pytest.mark.parametrize("length", [1, 2, 3, 5, 9, 10, 40])
@pytest.mark.parametrize("nullable", [False, True])
def test_stretches_of_whole_numbers_against_every_position(spans, length, nullable):
    sheet = sheet_of(Int(0, 9, nullable=nullable), spans)
    known = [(i, span) for i, span in enumerate(sheet.spans) if span is not None]
    place = {v: next(i for i, (start, end) in known if start[0] <= v < end[0]) for v in range(10)}
    runs = [frozenset(run) for run, _ in stretches(sheet, float(length), discrete=True)]
    met = {frozenset(place[v] for v in range(start, min(start + length, 10))) for start in range(10)}
    nulls = {frozenset((i,)) for i, span in enumerate(sheet.spans) if span is None}
    assert bool(nulls) == nullable
    for one in met | nulls:
        assert any(one <= run for run in runs)
    for run in runs:
        assert run in met | nulls


@pytest.mark.parametrize("spans", SPANS)
@pytest.mark.parametrize("length", [0.5, 1.0, 2.5, 5.0, 20.0])
def test_stretches_of_real_numbers_against_every_position(spans, length):
    """Windows from v to v + length, both included; a run may at most need a hair more."""
    sheet = sheet_of(Float(0, 10), spans)
    grid = sorted({v + e for v in np.arange(0, 10.25, 0.25) for e in (-1e-9, 0.0, 1e-9) if 0 <= v + e <= 10})
    place = {v: next(i for i, (a, b) in enumerate(sheet.spans) if a <= (v, 0) and (v, 1) <= b) for v in grid}
    runs = [frozenset(run) for run, _ in stretches(sheet, length, discrete=False)]
    met = {frozenset(place[v] for v in grid if start <= v <= start + length) for start in grid}
    hair = {frozenset(place[v] for v in grid if start <= v <= start + length + 1e-8) for start in grid}
    for one in met:
        assert any(one <= run for run in runs)
    for run in runs:
        assert run in hair


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("length", [1, 2, 4])
def test_windows_against_every_position(seed, length):
    """All records of any stretch may change at once: every query that keeps one of them is touched."""
    plan = naive.random_plan(np.random.default_rng(seed), window("n", length), queries=6, holds=[on_table])
    rows = naive.records(plan.table)
    touched = naive.kept(plan.queries, rows)
    losses = set()
    for start in range(5):
        inside = touched[[start <= row["n"] < start + length for row in rows]].any(axis=0)
        losses.add(kept_losses(plan, inside))
    found = plan.guarantee()
    assert found.exact
    naive.check_equal(found, naive.maximal(losses))


@pytest.mark.parametrize("seed", seeds(3))
def test_windows_of_few_records_against_every_choice(seed):
    """At most two records of a stretch, each query moved once for each that it keeps."""
    plan = naive.random_plan(
        np.random.default_rng(seed), window("n", 2, max_records=2), queries=5, holds=[on_input(add_remove())]
    )
    rows = naive.records(plan.table)
    touched, losses = naive.kept(plan.queries, rows), set()
    for start in range(5):
        kinds = np.unique(touched[[start <= row["n"] < start + 2 for row in rows]], axis=0).astype(int)
        for one, two in itertools.combinations_with_replacement(kinds, 2):
            counts = (one + two).tolist()
            losses.add(sum((q.loss.group(n) for q, n in zip(plan.queries, counts, strict=True) if n), qw.Loss(())))
    naive.check_above(plan.guarantee(), naive.maximal(losses))
    naive.check_equal(plan.guarantee(), [loss for loss in losses if loss.parts] or [qw.Loss(())])


def test_a_window_of_days():
    table = Table(day=Date("2026-01-01", "2026-01-31"), kind=Cat("a", "b"))
    plan = Plan(table, window("day", 7))
    plan.split("day", by=table.day, loss=qw.pure(0.1), holds=on_table)
    assert plan.guarantee().epsilon(0.0).upper == pytest.approx(0.7, abs=1e-9)
    assert len(plan.guarantee().touched(0.0)) == 7


def test_null_days_are_a_stretch_of_their_own():
    table = Table(day=Int(0, 9, nullable=True))
    plan = Plan(table, window("day", 10))
    plan.add("known", where=~table.day.is_null(), loss=qw.pure(0.1), holds=on_table)
    plan.add("null", where=table.day.is_null(), loss=qw.pure(0.5), holds=on_table)
    assert plan.guarantee().epsilon(0.0).upper == pytest.approx(0.5, abs=1e-9)


def test_sets_within_a_window():
    """Any number of records: every member can be met, however few one record has."""
    table = Table(day=Int(0, 9), tags=SubsetOf(range(6), max_size=1))
    plan = Plan(table, window("day", 1)).each("tag", of=table.tags, loss=qw.pure(0.1), holds=on_table)
    assert plan.guarantee().epsilon(0.0).upper == pytest.approx(0.6, abs=1e-9)


def test_lengths_add_up_as_they_were_typed():
    """0.7 + 0.1 is less than 0.8 in binary; a window of 0.1 meets both ends all the same."""
    table = Table(x=Float(0, 1))
    plan = Plan(table, window("x", 0.1))
    plan.add("low", where=table.x <= 0.7, loss=qw.pure(1.0), holds=on_table)
    plan.add("high", where=table.x >= 0.8, loss=qw.pure(1.0), holds=on_table)
    assert plan.guarantee().epsilon(0.0).upper == 2.0


def test_opaque_maps_have_no_direction():
    """A map of stability 1 may drop a row when a record is added."""
    table = Table(r=Cat("a", "b"))
    loss = qw.pair([0.646, 0.23, 0.124], [0.196, 0.002, 0.802])
    plan = Plan(table, add_remove()).add("a", loss=loss, holds=on_input(add_remove()))
    assert plan.guarantee().delta(2.0).upper > 0
    plan.add("b", where=opaque("those without a partner", stability=1), loss=loss, holds=on_input(add_remove()))
    with pytest.raises(Unsupported, match="not symmetric"):
        plan.guarantee()
