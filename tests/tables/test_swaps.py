"""One record turns into another: vectors against every pair of records."""

import numpy as np
import pytest
from tests.examples import seeds
from tests.tables import golden, naive

import quiltwork as qw
from quiltwork.compose import dominance
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
    entry,
    euclidean,
    free_lunch,
    metric,
    on_input,
    on_table,
    opaque,
    replace_one,
    window,
)
from quiltwork.tables.schema import columns
from quiltwork.tables.worst_step import fronts, pairs
from quiltwork.tables.worst_step import one_record as swaps
from quiltwork.tables.worst_step.one_record import PAIR_NOTE
from quiltwork.tables.worst_step.worst import Worst

ROWS = on_input(add_remove())
STATED = [ROWS, on_table]
STEPS = {
    "any": (replace_one(), lambda differ: True),
    "fixed": (replace_one(fixed=["r"]), lambda differ: "r" not in differ),
    "two fixed": (replace_one(fixed=["n", "s"]), lambda differ: not differ & {"n", "s"}),
    "entry": (entry(), lambda differ: len(differ) <= 1),
    "entry n": (entry("n"), lambda differ: differ <= {"n"}),
    "entry s or c": (entry("s", "c"), lambda differ: len(differ) <= 1 and differ <= {"s", "c"}),
    "metric": (metric(euclidean("n"), "steps", within=4.0), lambda differ: differ <= {"n"}),
}


@pytest.mark.parametrize("seed", seeds(4, least=1))
@pytest.mark.parametrize("name", STEPS)
def test_pairs_against_brute_force(name, seed):
    notion, allowed = STEPS[name]
    plan = naive.random_plan(np.random.default_rng(seed), notion, holds=STATED)
    found = plan.guarantee()
    assert found.exact or name.startswith("metric")  # whole numbers may have no two values exactly that far apart
    naive.check_equal(found, naive.pair_losses(plan.queries, naive.records(plan.table), allowed))


@pytest.mark.parametrize("seed", seeds(3, least=1))
@pytest.mark.parametrize("name", ["any", "fixed", "entry", "entry n", "metric"])
@pytest.mark.parametrize("elements", [0, 8])
def test_too_many_pairs_are_bounded_from_above(monkeypatch, name, seed, elements):
    monkeypatch.setattr(swaps, "MOST_PAIRS", 0)
    monkeypatch.setattr(swaps, "MOST_ELEMENTS", elements)
    notion, allowed = STEPS[name]
    plan = naive.random_plan(np.random.default_rng(seed), notion, holds=STATED)
    found = plan.guarantee()
    assert PAIR_NOTE in found.found.notes
    assert PAIR_NOTE in found.because
    assert found.found.bounds
    losses = naive.pair_losses(plan.queries, naive.records(plan.table), allowed)
    naive.check_above(found, losses)
    naive.check_above(Worst((), found.found.bounds), losses)  # the bounds alone stand above every pair


@pytest.mark.parametrize("seed", seeds(3))
def test_bounds_hold_when_cells_are_left_out_too(monkeypatch, seed):
    monkeypatch.setattr(swaps, "MOST_PAIRS", 0)
    monkeypatch.setattr(fronts, "MOST_LISTED", 0)
    monkeypatch.setattr(fronts, "MOST_COMPARED", 2)
    plan = naive.random_plan(np.random.default_rng(seed), replace_one(), holds=STATED)
    found = plan.guarantee()
    losses = naive.pair_losses(plan.queries, naive.records(plan.table), lambda differ: True)
    naive.check_above(found, losses)
    naive.check_above(Worst((), found.found.bounds), losses)


@pytest.mark.parametrize("kept", [{1e-2: 3, 1e-6: 2}, {1e-2: 1000, 1e-6: 1}])
def test_levels_whose_noises_all_differ(monkeypatch, kept):
    """Few dominate each other: some pairs are kept, on one grid, and what bounds the others stands above all."""
    monkeypatch.setattr(dominance, "MOST_RUNGS", 4)
    monkeypatch.setattr(pairs, "RANKED", kept)
    rng, table = np.random.default_rng(len(kept) + kept[1e-2]), Table(n=Int(0, 7))
    plan = Plan(table, replace_one())
    for width in (1, 2, 4):
        for start in range(0, 8, width):
            loss = (qw.laplace, qw.gaussian)[int(rng.integers(2))](float(rng.uniform(1.0, 8.0)))
            where = table.n.between(start, start + width)
            plan.add(f"{width}, {start}", where=where, count=True, loss=loss, holds=ROWS)
    found = plan.guarantee()
    losses = naive.pair_losses(plan.queries, naive.records(table), lambda differ: True)
    few = kept[1e-2] == 3
    assert bool(found.found.bounds) == few
    naive.check_above(found, losses)
    if few:
        reached = {vector.loss for vector in found.found.vectors}
        naive.check_above(Worst((), found.found.bounds), [loss for loss in losses if loss not in reached])
    else:
        assert found.curve._many is not None
        truth = max(float(loss.epsilon(1e-2, rtol=1e-6).lower) for loss in losses)
        assert float(found.epsilon(1e-2).upper) <= truth * (1 + 2e-3)


@pytest.mark.parametrize("seed", seeds(4, least=1))
def test_alike_members_lose_no_pair(seed):
    """The same loss for every member: only windows of members are looked at, brute force looks at all sets."""
    rng = np.random.default_rng(seed)
    table = Table(s=SubsetOf(range(5), max_size=3), r=Cat("a", "b"), c=Cat(0, 1))
    plan = Plan(table, replace_one())
    for name, where in (("all", None), ("a", table.r == "a")):
        count, holds = bool(rng.integers(2)), STATED[int(rng.integers(2))]
        loss = naive.LOSSES[int(rng.integers(4))]
        plan.each(name, of=table.s, loss=loss, holds=holds, where=where, count=count)
    plan.add("one", where=table.s.has(0) & ~table.s.has(1), loss=qw.pure(0.3), holds=on_table)
    found = plan.guarantee()
    assert found.exact
    naive.check_equal(found, naive.pair_losses(plan.queries, naive.records(table), lambda differ: True))


# ---- the table of theory section 2


def moved(notion, holds, **how):
    """The distances of one query on region N."""
    table = Table(region=Cat("N", "S"), age=Int(0, 9))
    plan = Plan(table, notion).add("q", where=table.region == "N", loss=qw.pure(1.0), holds=holds, **how)
    return plan.guarantee().touched(0.0)


def test_distances_of_the_definition():
    rows, table = on_input(add_remove()), on_table
    assert moved(replace_one(), rows) == {"q": 2.0}
    assert moved(replace_one(), rows, count=True) == {"q": 1.0}
    assert moved(replace_one(), rows, reads=["age"]) == {"q": 2.0}
    assert moved(replace_one(), rows, reads=["region"]) == {"q": 1.0}  # inside the filter the region does not change
    assert moved(replace_one(), table) == {"q": 1.0}
    assert moved(replace_one(fixed=["region"]), rows, count=True) == {}
    assert moved(replace_one(fixed=["region"]), on_input(replace_one())) == {"q": 1.0}
    assert moved(entry("age"), rows, count=True) == {}
    assert moved(entry("age"), rows, reads=["age"]) == {"q": 2.0}
    assert moved(entry("region"), rows, reads=["age"]) == {"q": 1.0}
    assert moved(metric(euclidean("age"), "years"), rows, reads=["region"]) == {}


@pytest.mark.parametrize("notion", [replace_one(), entry("region"), entry(), replace_one(fixed=["age"])])
@pytest.mark.parametrize("work", [swaps.MOST_PAIRS, 0])
def test_replaced_rows_that_leave_the_filter_are_refused(monkeypatch, notion, work):
    monkeypatch.setattr(swaps, "MOST_PAIRS", work)
    with pytest.raises(UnboundedLossError, match=r"II\.9"):
        moved(notion, on_input(replace_one()), count=True)


@pytest.mark.parametrize("work", [swaps.MOST_PAIRS, 0])
def test_opaque_and_adaptive_queries_count_as_changed(monkeypatch, work):
    """An opaque map of stability 3 moves by 6; an adaptive count by 1, even where nothing it reads can change."""
    monkeypatch.setattr(swaps, "MOST_PAIRS", work)
    table = Table(region=Cat("N", "S"), age=Int(0, 9))
    plan = Plan(table, entry("age"))
    plan.add("dark", where=opaque("dark", stability=3), loss=qw.pure(0.1), holds=on_input(add_remove()))
    north = {"where": table.region == "N", "count": True, "loss": qw.pure(0.1), "holds": on_input(add_remove())}
    plan.add("later", **north, adaptive=True)
    plan.add("still", **north)
    found = plan.guarantee()
    assert found.epsilon(0.0).upper == pytest.approx(0.7, abs=1e-12)
    assert found.touched(0.0) == {"dark": 6.0, "later": 1.0}


def test_columns_with_one_value_never_change():
    table = Table(only=Cat("x"), n=Int(3, 3), region=Cat("N", "S"))
    plan = Plan(table, replace_one(fixed=["region"]))
    plan.add("q", where=table.region == "N", loss=qw.pure(1.0), holds=on_input(add_remove()))
    assert plan.guarantee().epsilon(0.0).upper == 0.0
    wider = Table(only=Cat("x", nullable=True), n=Int(3, 3), region=Cat("N", "S"))
    plan = Plan(wider, replace_one(fixed=["region"]))
    plan.add("q", where=wider.region == "N", loss=qw.pure(1.0), holds=on_input(add_remove()))
    assert plan.guarantee().epsilon(0.0).upper == pytest.approx(2.0)


def test_real_columns_and_ids_can_always_change():
    for column in (Float(0, 1), Id()):
        table = Table(x=column, region=Cat("N", "S"))
        plan = Plan(table, replace_one(fixed=["region"]))
        plan.add("q", where=table.region == "N", loss=qw.pure(1.0), holds=on_input(add_remove()))
        assert plan.guarantee().touched(0.0) == {"q": 2.0}


def test_a_single_point_of_a_real_column_does_not_change_within():
    table = Table(x=Float(0, 1))
    plan = Plan(table, entry("x"))
    plan.add("q", where=(table.x >= 0.5) & (table.x <= 0.5), loss=qw.pure(1.0), holds=on_input(add_remove()))
    assert plan.guarantee().touched(0.0) == {"q": 1.0}


def test_metric_steps_in_units_of_the_statement():
    """Stated a metre, asked for moves of 2.5: the loss grows by 2.5, and no further than the diameter."""
    table = Table(x=Float(0, 9), y=Float(0, 9), region=Cat("N", "S"))
    place = euclidean("x", "y")
    for diameter, expected in ((None, 2.5), (2.0, 2.0)):
        plan = Plan(table, metric(place, "m", within=2.5))
        stated = on_input(metric(place, "m", diameter=diameter))
        plan.add("q", where=table.region == "N", loss=qw.pure(0.1), holds=stated)
        assert plan.guarantee().touched(0.0) == {"q": expected}
        assert plan.guarantee().epsilon(0.0).upper == pytest.approx(expected / 10, abs=1e-12)


# ---- directions (theory section 3.3)

MIXED = golden.inputs("mixed direction")
WANTED = golden.ENTRIES["mixed direction"]["expected"]
ONE_WAY = qw.pair(MIXED["P"], MIXED["Q"])


def mixed_delta(plan):
    return plan.guarantee().delta(MIXED["eps"], rtol=1e-9).upper


def two_sides(notion, **how):
    table = Table(side=Cat("a", "b"), n=Int(0, 9))
    return Plan(table, notion).split("q", by=table.side, loss=ONE_WAY, **how)


def test_a_swap_between_counts_mixes_directions():
    """Removed from one side, added to the other: worse than twice removed and than twice added."""
    found = mixed_delta(two_sides(replace_one(), count=True, holds=on_input(add_remove())))
    assert found == pytest.approx(WANTED["(P,Q)x(Q,P)"], abs=1e-9)
    assert found > max(WANTED["(P,Q)^2"], WANTED["(Q,P)^2"])


@pytest.mark.parametrize("stated", [on_table, on_table(free_lunch())])
def test_one_way_losses_need_a_known_direction(stated):
    """A symmetric statement leaves open which world comes first, and that may even depend on earlier outputs."""
    table = Table(side=Cat("a", "b"), n=Int(0, 9))
    for notion in (entry("n"), replace_one(), window("n", 2)):
        plan = Plan(table, notion).add("p", where=table.side == "a", loss=ONE_WAY, holds=stated)
        with pytest.raises(Unsupported, match="not symmetric"):
            plan.guarantee()


def test_one_way_losses_are_refused_when_not_all_pairs_can_be_looked_at(monkeypatch):
    monkeypatch.setattr(swaps, "MOST_PAIRS", 0)
    with pytest.raises(Unsupported, match="symmetric"):
        two_sides(replace_one(), count=True, holds=on_table).guarantee()


@pytest.mark.parametrize("seed", seeds(4))
def test_one_way_counts_against_brute_force(seed):
    losses = [ONE_WAY, qw.pair([0.7, 0.3], [0.2, 0.8]), qw.pure(0.3)]
    plan = naive.random_plan(
        np.random.default_rng(seed), replace_one(), queries=5, losses=losses, holds=[on_input(add_remove())], count=True
    )
    naive.check_equal(plan.guarantee(), naive.pair_losses(plan.queries, naive.records(plan.table), lambda differ: True))


def test_sets_too_many_to_list_leave_a_count_when_they_change(monkeypatch):
    """One class for all sets would keep both records in every count, as if nothing moved."""
    table = Table(s=SubsetOf(range(12), max_size=3))
    plan = Plan(table, replace_one())
    for member in range(12):
        loss = qw.pure(round(0.01 * (member + 1), 2))
        plan.add(f"{member}", where=table.s.has(member), count=True, loss=loss, holds=on_input(add_remove()))
    known = plan.guarantee()
    assert known.epsilon(0.0).upper == pytest.approx(0.57, abs=1e-9)  # the six largest: three left, three entered
    monkeypatch.setattr(columns, "MOST_PATTERNS", 10)
    found = plan.guarantee()
    assert found.epsilon(0.0).upper >= 0.57
    assert not found.exact


def test_a_record_moves_no_farther_than_the_step():
    table = Table(x=Int(0, 100))
    plan = Plan(table, metric(euclidean("x"), "m", within=1.0))
    for name, where in (("low", table.x < 10), ("high", table.x >= 90)):
        plan.add(name, where=where, count=True, loss=qw.pure(1.0), holds=on_input(add_remove()))
    assert plan.guarantee().epsilon(0.0).upper == 1.0
