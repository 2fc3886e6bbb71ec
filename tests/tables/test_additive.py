"""Price lists: what a bound on a sum says about every composition below it."""

import itertools
import math

import numpy as np
import pytest
from tests.tables import naive

import quiltwork as qw
from quiltwork.losses.families.pure import Approximate
from quiltwork.tables import Cat, Id, Plan, Table, add_remove, clip_rows, on_input, on_table, user
from quiltwork.tables.notions.sensitivity import response
from quiltwork.tables.worst_step import additive
from quiltwork.tables.worst_step.additive import TILTS, loss_moments, quantities, renyi_bound
from quiltwork.tables.worst_step.vectors import Pricing

RECORDS = 3


def priced(losses, holds, vias=None):
    table = Table(r=Cat("a", "b"), person=Id())
    step = user("person", RECORDS)
    plan = Plan(table, step)
    for i, loss in enumerate(losses):
        via = vias[i] if vias else None
        plan.add(f"q{i}", loss=loss, holds=holds[i % len(holds)], via=via)
    responses = [response(query, step, table) for query in plan.queries]
    return Pricing(plan.queries, responses), responses


CASES = {
    "Gaussian": [qw.gdp(0.3), qw.gaussian(4.0, 1.0), 2 * qw.gdp(0.2)],
    "concentrated": [qw.zcdp(0.02), qw.gdp(0.2), qw.zcdp(0.1)],
    "equal": [qw.pure(0.4)] * 3,
    "pure": [qw.pure(0.4), qw.pure(0.1), qw.pure(0.7)],
    "mixed": [qw.pure(0.4), qw.approximate(0.2, 1e-3), qw.gdp(0.3)],
    "Laplace": [qw.laplace(4.0, 1.0), qw.laplace(8.0, 1.0), qw.laplace(3.0, 0.5)],
}
HOLDS = {"rows": [on_input(add_remove())], "table": [on_table], "both": [on_input(add_remove()), on_table]}


@pytest.mark.parametrize("holds", HOLDS)
@pytest.mark.parametrize("name", CASES)
def test_totals_stand_above_every_choice(name, holds):
    """For all numbers of records in each query: rewards and slopes sum to a total whose loss is above."""
    pricing, responses = priced(CASES[name], HOLDS[holds])
    found = quantities(pricing, responses, np.full(3, float(RECORDS)))
    assert found
    for counts in [(1, 0, 0), (0, RECORDS, 0), (1, 1, 1), (2, 1, RECORDS), (RECORDS, RECORDS, RECORDS), (0, 1, 2)]:
        row = np.array(counts)
        parts = [pricing.at(i, responses[i].many(n)) for i, n in enumerate(counts) if n]
        truth = sum((loss for loss in parts if loss is not None), qw.Loss(()))
        for quantity in found:
            totals = [float((reward * (row > 0)).sum() + (slope * row).sum()) for reward, slope in quantity.costs]
            bound = quantity.loss([total * (1 + 1e-12) for total in totals])
            assert np.all(bound.delta(naive.EPSILONS).upper >= truth.delta(naive.EPSILONS).lower)


def test_which_quantity_decides():
    most = np.full(3, float(RECORDS))
    for name, number in (("Gaussian", 1), ("concentrated", 1), ("pure", 2), ("mixed", 1), ("Laplace", 2)):
        assert len(quantities(*priced(CASES[name], HOLDS["rows"]), most)) == number
    assert len(quantities(*priced(CASES["equal"], HOLDS["table"]), most)) == 1
    assert len(quantities(*priced(CASES["equal"], HOLDS["rows"]), most)) == 2  # distances differ: not equal any more


def test_gaussian_totals_are_exact_for_one_record():
    pricing, responses = priced(CASES["Gaussian"], HOLDS["table"])
    (quantity,) = quantities(pricing, responses, np.full(3, 3.0))
    ((reward, slope),) = quantity.costs
    assert not slope.any()
    (part,) = quantity.loss([float(reward.sum())]).parts
    assert part.family.mu == pytest.approx(math.sqrt(0.3**2 + 0.25**2 + 2 * 0.2**2), rel=1e-12)
    assert quantity.loss([0.0]).delta(0.0).upper == 0.0


def test_equal_releases_are_counted_in_whole_numbers():
    pricing, responses = priced(CASES["equal"], HOLDS["table"])
    (quantity,) = quantities(pricing, responses, np.full(3, 3.0))
    assert quantity.loss([2.99]) == 2 * qw.pure(0.4)
    assert quantity.loss([3.0]) == 3 * qw.pure(0.4)


@pytest.mark.parametrize("most", [1.0, 2.0, 3.0, 50.0])
@pytest.mark.parametrize("steps", [2, additive.MOST_STEPS])
def test_chords_lie_above_the_cost_of_any_number(monkeypatch, most, steps):
    """mu^2 n^2 below slope n for all n up to the limit, also where not every n was looked at."""
    monkeypatch.setattr(additive, "MOST_STEPS", steps)
    pricing, responses = priced([qw.gdp(0.3)] * 3, HOLDS["rows"], [None, clip_rows("person", 2), None])
    (quantity,) = quantities(pricing, responses, np.full(3, most))
    ((_, slope),) = quantity.costs
    for i, n in itertools.product(range(3), range(1, int(most) + 1)):
        cost = (0.3 * responses[i].many(n)) ** 2
        assert slope[i] * n >= cost
    assert slope[0] == pytest.approx(0.09 * most * max(1.0, most / steps if most > steps else 1.0), rel=1e-9)


# ---- Rényi bounds


@pytest.mark.parametrize(
    "loss",
    [3 * qw.pure(0.4), qw.gdp(0.7), 2 * qw.approximate(0.3, 1e-2) + qw.pure(0.1), 5 * qw.laplace(3.0), qw.Loss(())],
)
def test_moments_convert_to_a_loss_above(loss):
    found = loss_moments(loss)
    usable = np.isfinite(found.logs)
    bound = renyi_bound(TILTS[usable], found.logs[usable], found.hidden)
    assert np.all(bound.delta(naive.EPSILONS).upper >= loss.delta(naive.EPSILONS).lower)
    for delta in (1e-6, 1e-3, 0.05):
        assert bound.epsilon(delta).upper >= loss.epsilon(delta).lower


def test_without_any_order_nothing_is_promised():
    bound = renyi_bound(np.zeros(0), np.zeros(0), 0.0)
    assert bound == qw.Loss.of(Approximate(0.0, 1.0))
    assert bound.delta(5.0).upper == 1.0


def test_moments_add_up():
    one, two = loss_moments(qw.pure(0.4)), loss_moments(qw.gdp(0.3))
    both = loss_moments(2 * qw.pure(0.4) + qw.gdp(0.3))
    assert np.all(both.logs >= (2 * one.logs + two.logs) * (1 - 1e-12))
    np.testing.assert_allclose(both.logs, 2 * one.logs + two.logs, rtol=1e-12)
    assert one.largest == pytest.approx(0.4)
    assert math.isinf(both.largest)
    assert loss_moments(None).largest == 0.0


def test_moments_of_one_way_losses_take_the_worse_direction():
    p, q = np.array([0.7, 0.3]), np.array([0.2, 0.8])
    found = loss_moments(qw.pair(p, q))
    for k in (3, 10, 15):
        theta = TILTS[k]
        truth = max(math.log(float(np.sum(a * (a / b) ** theta))) for a, b in ((p, q), (q, p)))
        assert found.logs[k] >= truth * (1 - 1e-12)
        assert found.logs[k] == pytest.approx(truth, rel=1e-9)
    assert found.largest == pytest.approx(math.log(3.5))
    hidden = loss_moments(qw.approximate(0.1, 0.25)).hidden
    assert hidden == pytest.approx(-math.log(0.75))
