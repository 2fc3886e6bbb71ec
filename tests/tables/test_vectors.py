"""Distance vectors and their compositions: directions, prices, refusals."""

import math

import pytest

import quiltwork as qw
from quiltwork.errors import Unsupported
from quiltwork.tables import Cat, Int, Plan, Table, add_remove, entry, free_lunch, on_input, on_table, replace_one
from quiltwork.tables.holds import response
from quiltwork.tables.scaling import turned
from quiltwork.tables.vectors import MOST_SIGNS, Pricing

ONE_WAY, OTHER = qw.pair([0.7, 0.3], [0.2, 0.8]), qw.pair([0.6, 0.4], [0.3, 0.7])


def priced(losses, holds=on_input(add_remove()), step=replace_one()):  # noqa: B008
    table = Table(side=Cat("a", "b"), n=Int(0, 9))
    plan = Plan(table, step)
    for i, loss in enumerate(losses):
        plan.add(f"q{i}", loss=loss, holds=holds[i] if isinstance(holds, list) else holds, count=True)
    return Pricing(plan.queries, [response(query, step, table) for query in plan.queries])


def test_losses_at_distances_are_made_once():
    pricing = priced([qw.pure(0.1)])
    assert pricing.at(0, 0.0) is None
    assert pricing.at(0, math.inf) is None
    assert pricing.at(0, 2.0) == qw.pure(0.2)
    assert pricing.at(0, 2.0) is pricing.at(0, 2.0)


def test_known_directions_are_used():
    """Removed here, added there: one vector, the second loss turned."""
    pricing = priced([ONE_WAY, ONE_WAY, qw.pure(0.1)])
    (vector,) = pricing.vector({0: 1.0, 1: 1.0, 2: 1.0}, "a swap", added=frozenset((1, 2)))
    assert vector.loss == ONE_WAY + turned(ONE_WAY) + qw.pure(0.1)
    assert vector.distances == ((0, 1.0), (1, 1.0), (2, 1.0))
    assert vector.exact


def test_unknown_directions_fall_every_way():
    """Three equal losses and one other: four times two mixtures, not two to the fourth."""
    pricing = priced([ONE_WAY, ONE_WAY, ONE_WAY, OTHER], on_table(free_lunch()))
    found = pricing.vector(dict.fromkeys(range(4), 1.0), "any")
    expected = {
        sum([ONE_WAY] * k + [turned(ONE_WAY)] * (3 - k), qw.Loss(())) + last
        for k in range(4)
        for last in (OTHER, turned(OTHER))
    }
    assert {vector.loss for vector in found} == expected
    assert len(found) == 8


def test_known_and_unknown_directions_together():
    pricing = priced([ONE_WAY, ONE_WAY], [on_input(add_remove()), on_table(free_lunch())])
    found = pricing.vector({0: 1.0, 1: 1.0}, "a swap", added=frozenset((0,)))
    assert {vector.loss for vector in found} == {2 * turned(ONE_WAY), turned(ONE_WAY) + ONE_WAY}
    assert pricing.compared(0, 1.0) == ONE_WAY
    assert pricing.compared(1, 1.0) not in (ONE_WAY, turned(ONE_WAY), None)


def test_symmetric_losses_are_compared_as_they_are():
    pricing = priced([qw.pure(0.1)], on_table(free_lunch()))
    assert pricing.compared(0, 1.0) == qw.pure(0.1)
    assert pricing.compared(0, 0.0) is None


def test_too_many_mixtures_are_refused():
    losses = [qw.pair([0.5 + i / 100, 0.5 - i / 100], [0.3, 0.7]) for i in range(8)]
    pricing = priced(losses, on_table(free_lunch()))
    assert 2 ** len(losses) > MOST_SIGNS
    with pytest.raises(Unsupported, match="mixtures"):
        pricing.vector(dict.fromkeys(range(8), 1.0), "any")
    assert len(pricing.vector(dict.fromkeys(range(7), 1.0), "any")) == 2**7


def test_many_equal_mixtures_are_not_refused():
    pricing = priced([ONE_WAY] * 50, on_table(free_lunch()))
    assert len(pricing.vector(dict.fromkeys(range(50), 1.0), "any")) == 51


def test_untouched_and_nothing():
    pricing = priced([ONE_WAY, qw.pure(0.1)])
    (vector,) = pricing.vector({0: 0.0, 1: 1.0}, "one")
    assert vector.distances == ((1, 1.0),)
    assert vector.loss == qw.pure(0.1)
    (empty,) = pricing.vector({}, "none")
    assert empty.loss == qw.Loss(())


def test_distances_without_a_rule_name_the_query():
    table = Table(side=Cat("a", "b"), n=Int(0, 9))
    plan = Plan(table, entry("n")).add("tell me", loss=ONE_WAY, holds=on_input(add_remove()))
    with pytest.raises(Unsupported, match="tell me"):
        plan.guarantee()
