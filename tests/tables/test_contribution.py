"""A bound on the rows of each person for a whole plan, and the order of condition and clip, by listing small tables."""

import itertools

import numpy as np
import pytest
from tests.examples import examples
from tests.tables.enumeration import Universe, steps
from tests.tables.random_plans import _first, all_records

import quiltwork as qw
from quiltwork.errors import InvalidParameter, UnboundedLossError, Unsupported
from quiltwork.tables import (
    Cat,
    Id,
    Int,
    Plan,
    Table,
    add_remove,
    clip_rows,
    entry,
    join,
    on_input,
    on_table,
    replace_one,
    user,
    window,
)

T = Table(a=Cat("x", "y"), day=Int(0, 1), person=Id())
ROWS = on_input(add_remove())
STEPS = [add_remove(), replace_one(), replace_one(fixed=["person"]), entry("a"), user("person"), user("person", 2)]


def inputs(universe, queries, clip, order):
    """Counts of rows that each query sees of every table, clipped once for all of them."""
    used = universe.counts if clip is None else _first(universe.counts, universe.column("person"), clip.most, order)
    return [used * np.array([q.where.keeps(row) for row in universe.rows]) for q in queries]


def moved(before, after, query):
    """Distance of two inputs for a statement about added and removed rows: of counts, that of the numbers."""
    if query.counted:
        return abs(int(before.sum()) - int(after.sum()))
    return int(np.abs(before - after).sum())


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_no_table_moves_more_than_a_bounded_contribution_says(step):
    rng = np.random.default_rng([3, len(str(step))])
    records = all_records(T)
    universe = Universe.of(records, range(4))
    lengths = steps(step, universe)
    first, second = np.nonzero(np.triu(lengths == 1))
    for _ in range(max(2, examples(60) // 10)):
        clip = clip_rows("person", int(rng.integers(1, 3)))
        plan = Plan(T, step, contribution=clip)
        for i in range(int(rng.integers(1, 4))):
            where = [None, T.a == "x", T.day == 0, (T.a == "y") & (T.day == 1)][int(rng.integers(4))]
            epsilon = round(float(rng.uniform(0.1, 1.0)), 2)
            plan.add(f"q{i}", where=where, count=bool(rng.integers(2)), loss=qw.pure(epsilon), holds=ROWS)
        said = plan.guarantee().epsilon(0.0)
        seen = inputs(universe, plan.queries, clip, rng.permutation(len(records)))
        costs = np.zeros(first.size)
        for query, held in zip(plan.queries, seen, strict=True):
            far = [moved(held[i], held[j], query) for i, j in zip(first, second, strict=True)]
            costs += query.loss.parts[0].family.epsilon * np.array(far)
        assert costs.max() <= said.upper * (1 + 1e-12)


def test_a_person_has_no_number_of_records_to_promise():
    plan = Plan(T, user("person"), contribution=clip_rows("person", 3))
    plan.split("by a", by=T.a, count=True, loss=qw.pure(0.2), holds=ROWS)
    found = plan.guarantee()
    assert found.epsilon(0.0).lower <= 0.6 <= found.epsilon(0.0).upper
    assert found.protects.endswith("at most 3 of them are used")
    assert not any("no person has more than" in said for said in found.assumes)
    assert any("picked once" in said for said in found.assumes)
    assert found.to(add_remove()).epsilon(0.0).upper == pytest.approx(0.4)  # a row in, another one out
    bare = Plan(T, user("person")).split("by a", by=T.a, count=True, loss=qw.pure(0.2), holds=ROWS)
    with pytest.raises(UnboundedLossError):
        bare.guarantee()


def test_sessions_keep_the_bound():
    session = Plan(T, user("person"), contribution=clip_rows("person", 2)).session(qw.pure(1.0))
    session.spend("all", count=True, loss=qw.pure(0.5), holds=ROWS)
    assert session.spent == "epsilon 1"


def test_what_a_bound_cannot_follow_is_refused():
    with pytest.raises(InvalidParameter, match="contribution"):
        Plan(T, add_remove(), contribution=clip_rows("day", 2))
    with pytest.raises(InvalidParameter, match="contribution"):
        Plan(T, add_remove(), contribution=3)
    windows = Plan(T, window("day", 1, 2), contribution=clip_rows("person", 2))
    with pytest.raises(Unsupported):
        windows.add("q", count=True, loss=qw.pure(0.1), holds=ROWS).guarantee()
    whole = Plan(T, add_remove(), contribution=clip_rows("person", 2))
    with pytest.raises(Unsupported, match="whole table"):
        whole.add("q", loss=qw.pure(0.1), holds=on_table).guarantee()
    with pytest.raises(Unsupported, match="prior"):
        whole.guarantee(prior=object(), person=T.person, when=T.day)


# ---- the order of condition and clip


@pytest.mark.parametrize("count", [True, False])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    "step", [add_remove(), replace_one(), replace_one(fixed=["person"]), user("person", 3)], ids=str
)
def test_both_orders_by_listing(step, first, count):
    """The worst over all fixed orders of the rows is found by none that is larger, and is attained where it is said."""
    records = all_records(T)[:6]
    universe = Universe.of(records, range(4))
    kept = np.array([row["a"] == "x" for row in records])
    lengths = steps(step, universe)
    pairs = list(zip(*np.nonzero(np.triu(lengths == 1)), strict=True))
    worst = 0
    for order in itertools.islice(itertools.permutations(range(len(records))), 0, None, 37):
        counts = _first(universe.counts * (1 if first else kept), universe.column("person"), 1, np.array(order)) * kept
        far = [abs(int(counts[i].sum() - counts[j].sum())) if count else int(np.abs(counts[i] - counts[j]).sum())
               for i, j in pairs]  # fmt: skip
        worst = max(worst, *far)
    plan = Plan(T, step)
    plan.add("q", where=T.a == "x", via=clip_rows("person", 1, first=first), count=count, loss=qw.pure(1.0), holds=ROWS)
    said = plan.guarantee().epsilon(0.0)
    assert said.lower <= worst + 1e-12
    assert worst <= said.upper + 1e-12


def test_the_order_is_said():
    for first, word in ((False, "before"), (True, "after")):
        for via in (clip_rows("person", 2, first=first), join(truncate=(1, 2), first=first)):
            plan = Plan(T, add_remove()).add("q", where=T.a == "x", via=via, loss=qw.pure(1.0), holds=ROWS)
            assert any(f"its condition is applied {word} that" in said for said in plan.guarantee().assumes)
            assert ("first=True" in str(via)) == first


def test_a_record_outside_pushes_out_one_inside_when_the_clip_comes_first():
    """One row of each person: somebody's y, added, takes the place of the x that was counted."""
    for first, touched in ((True, 1.0), (False, 0.0)):
        via = clip_rows("person", 1, first=first)
        plan = Plan(Table(a=Cat("x", "y"), person=Id()), add_remove())
        outside = plan.table.a == "x"
        plan.add("q", where=outside, via=via, count=True, loss=qw.pure(1.0), holds=ROWS)
        plan.add("others", where=plan.table.a == "y", count=True, loss=qw.pure(1.0), holds=ROWS)
        assert plan.guarantee().epsilon(0.0).upper == pytest.approx(1.0 + touched)
