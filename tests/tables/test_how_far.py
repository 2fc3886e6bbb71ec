"""The distance of two given tables, against the canonical metric of spaces that are listed whole."""

from __future__ import annotations

import math

import numpy as np
import pytest

import quiltwork as qw
from quiltwork import tables as t
from quiltwork.errors import InvalidParameter, UnboundedLossError, Unsupported
from quiltwork.tables.notions import spaces

PLAIN = t.Table(value=t.Cat("a", "b", "c"))
PAIRS = t.Table(x=t.Cat(0, 1), y=t.Cat(0, 1))
PEOPLE = t.Table(person=t.Id(), value=t.Cat(0, 1))


@pytest.mark.parametrize(("table", "values", "notion", "relation", "most"), [
    (PLAIN, "abc", t.add_remove(), spaces.add_remove, 3),
    (PLAIN, "abc", t.replace_one(), spaces.replace_one, 3),
    (PLAIN, "abc", t.free_lunch(), spaces.free_lunch, 2),
    (PEOPLE, [(p, v) for p in "ab" for v in (0, 1)], t.user("person"), spaces.user, 3),
    (PAIRS, [(x, y) for x in (0, 1) for y in (0, 1)], t.entry(), None, 3),
    (PAIRS, [(x, y) for x in (0, 1) for y in (0, 1)], t.replace_one(fixed=["x"]), None, 3),
])  # fmt: skip
def test_it_is_the_least_number_of_steps_between_neighbours(table, values, notion, relation, most):
    def changed(first, second):
        """One record turns into another: one cell of it, or with its first column kept."""
        if not spaces.replace_one(first, second):
            return False
        (gone,), (new,) = (
            [x for x in one if one.count(x) > two.count(x)][:1] for one, two in ((first, second), (second, first))
        )
        return sum(a != b for a, b in zip(gone, new, strict=True)) == 1 if notion == t.entry() else gone[0] == new[0]

    listed = spaces.Space(spaces.multisets(values, most), relation or changed)
    names = list(table.columns)
    rows = [
        [dict(zip(names, r if isinstance(r, tuple) else (r,), strict=True)) for r in one] for one in listed.databases
    ]
    step = max(1, len(rows) // 12)
    for i in range(0, len(rows), step):
        for j in range(len(rows)):
            assert t.distance(table, rows[i], rows[j], notion) == listed.distances[i, j]


def test_windows_are_as_few_as_can_be():
    table, rng = t.Table(day=t.Int(0, 20)), np.random.default_rng(1)
    for cap in (None, 2):
        for _ in range(30):
            days = sorted(rng.integers(0, 21, int(rng.integers(1, 6))).tolist())
            found = t.distance(table, [{"day": d} for d in days], [], t.window("day", 4, cap))
            assert found == _fewest(days, 4, cap or math.inf)


def _fewest(days, length, cap):
    """Every way to take the first day together with some of those near it."""
    if not days:
        return 0
    near = [d for d in days[1:] if d - days[0] < length]
    best = math.inf
    for mask in range(1 << len(near)):
        taken = [d for place, d in enumerate(near) if mask >> place & 1]
        if len(taken) + 1 <= cap:
            rest = list(days[1:])
            for d in taken:
                rest.remove(d)
            best = min(best, 1 + _fewest(rest, length, cap))
    return best


def test_metric_moves_records_by_the_cheapest_pairing():
    table = t.Table(x=t.Float(0, 10), y=t.Cat("a", "b"))
    first = [{"x": 0.0, "y": "a"}, {"x": 4.0, "y": "a"}]
    second = [{"x": 5.0, "y": "a"}, {"x": 0.5, "y": "a"}]
    notion = t.metric(t.euclidean("x"), unit="km", within=0.5)
    assert t.distance(table, first, second, notion) == pytest.approx(3.0)
    assert t.distance(table, first, [{"x": 5.0, "y": "b"}, {"x": 0.5, "y": "a"}], notion) == math.inf


def test_people_beyond_the_cap_are_no_table_of_the_class():
    many = [{"person": "p", "value": v} for v in (0, 0, 1)]
    assert t.distance(PEOPLE, many, [], t.user("person", max_records=2)) == math.inf
    assert t.distance(PEOPLE, many, [], t.user("person", max_per={"value": 1})) == math.inf
    assert t.distance(PEOPLE, many, [], t.user("person", max_per={"value": 2})) == 1


def test_a_plan_pays_for_what_its_queries_see():
    people = t.Table(region=t.Cat("north", "south"), age=t.Int(0, 110))
    stated = t.on_input(t.add_remove())
    plan = (
        t.Plan(people, t.replace_one())
        .add("north", loss=qw.pure(0.1), where=people.region == "north", count=True, holds=stated)
        .add("ages", loss=qw.pure(0.2), reads=["age"], holds=stated)
        .add("all", loss=qw.pure(0.4), holds=t.on_table)
        .add("rows", loss=qw.pure(0.8), via=t.flat_map("hours", max_out=3), holds=stated)
        .add("count", loss=qw.pure(1.6), count=True, holds=stated)
    )
    first = [{"region": "north", "age": 1}, {"region": "north", "age": 2}, {"region": "south", "age": 3}]
    second = [{"region": "south", "age": 1}, {"region": "south", "age": 2}, {"region": "south", "age": 9}]
    found = plan.how_far(first, second)
    assert found.steps == 3
    assert found.vector == {"north": 2, "ages": 2, "all": 3, "rows": 18, "count": 0}
    assert found.loss.epsilon(0).upper == pytest.approx(2 * 0.1 + 2 * 0.2 + 3 * 0.4 + 18 * 0.8)
    one = plan.how_far(first, [*first[1:], {"region": "south", "age": 1}])
    assert one.loss.epsilon(0).upper <= plan.guarantee().epsilon(0).upper * (1 + 1e-9)  # neighbours: below the worst
    swapped = plan.add("parts", loss=qw.pure(1), where=people.region == "north", holds=t.on_input(t.replace_one()))
    with pytest.raises(UnboundedLossError, match="parts"):
        _ = swapped.how_far(first, second).loss


def test_refusals_show_no_value():
    with pytest.raises(InvalidParameter, match="record 2 of the first table") as told:
        t.distance(PLAIN, [{"value": "a"}, {"value": "secret"}], [], t.add_remove())
    assert "secret" not in str(told.value)
    with pytest.raises(Unsupported, match="vertex cover"):
        t.distance(PLAIN, [{"value": "a"}], [], t.node(3))
    with pytest.raises(InvalidParameter, match="notion"):
        t.distance(PLAIN, [], [], "add_remove")
    person = t.Plan(PEOPLE, t.user("person"), contribution=t.clip_rows("person", 2))
    with pytest.raises(Unsupported, match="contribution"):
        person.how_far([], [])


def test_local_is_any_change_of_one_record():
    assert t.local() == t.replace_one()
    assert t.distance(PLAIN, [{"value": "a"}], [{"value": "c"}], t.local()) == 1
