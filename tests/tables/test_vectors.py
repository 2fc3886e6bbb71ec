"""Distance vectors and their compositions: directions, prices, refusals."""

import math

import pytest

import quiltwork as qw
from quiltwork.compose.scaling import attained, turned
from quiltwork.errors import Unsupported
from quiltwork.tables import (
    Cat,
    Float,
    Int,
    Plan,
    Table,
    add_remove,
    entry,
    euclidean,
    free_lunch,
    metric,
    on_input,
    on_table,
    replace_one,
)
from quiltwork.tables.notions.sensitivity import response
from quiltwork.tables.worst_step.vectors import Pricing

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
    vector = pricing.vector({0: 1.0, 1: 1.0, 2: 1.0}, "a swap", added=frozenset((1, 2)))
    assert vector.loss == ONE_WAY + turned(ONE_WAY) + qw.pure(0.1)
    assert vector.distances == ((0, 1.0), (1, 1.0), (2, 1.0))
    assert vector.exact


def test_unknown_directions_are_refused():
    pricing = priced([ONE_WAY, qw.pure(0.1)], on_table(free_lunch()))
    with pytest.raises(Unsupported, match="not symmetric"):
        pricing.at(0, 1.0)
    assert pricing.at(1, 1.0) == qw.pure(0.1)


def test_what_is_attained_is_kept_beside_what_is_allowed():
    vector = priced([qw.pure(0.1), qw.pure(0.2)]).vector({0: 1.0, 1: 2.0}, "a change")
    assert vector.loss == qw.pure(0.1) + qw.pure(0.4)
    assert vector.attained == qw.pure(0.1) + attained(qw.pure(0.2), 2.0)


def test_metric_statements_grow_only_when_they_are_linear():
    table = Table(x=Float(0, 100))
    plan = Plan(table, metric(euclidean("x"), "m", within=5.0))
    stated = on_table(metric(euclidean("x"), "m", within=1.0))
    plan.add("linear", loss=qw.pure(0.1), holds=stated)
    assert plan.guarantee().epsilon(0.0).upper == pytest.approx(0.5)
    plan.add("not", loss=qw.approximate(0.1, 1e-6), holds=stated)
    with pytest.raises(Unsupported, match="all distances"):
        plan.guarantee()


def test_untouched_and_nothing():
    pricing = priced([ONE_WAY, qw.pure(0.1)])
    vector = pricing.vector({0: 0.0, 1: 1.0}, "one")
    assert vector.distances == ((1, 1.0),)
    assert vector.loss == qw.pure(0.1)
    empty = pricing.vector({}, "none")
    assert empty.loss == qw.Loss(())


def test_distances_without_a_rule_name_the_query():
    table = Table(side=Cat("a", "b"), n=Int(0, 9))
    plan = Plan(table, entry("n")).add("tell me", loss=ONE_WAY, holds=on_input(add_remove()))
    with pytest.raises(Unsupported, match="tell me"):
        plan.guarantee()
