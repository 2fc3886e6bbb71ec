"""The curve of the worst vector, against every vector by itself."""

import math

import numpy as np
import pytest
from tests.examples import seeds

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.tables import Cat, Int, Plan, Table, add_remove, on_input
from quiltwork.tables.worst_step import worst
from quiltwork.tables.worst_step.vectors import Bound, Vector
from quiltwork.tables.worst_step.worst import Worst

DELTAS = np.array([0.0, 1e-6, 1e-3, 0.1, 1.0])
EPSILONS = np.array([-math.inf, -1.0, 0.0, 0.4, 1.3, 3.0, math.inf])
ALPHAS = np.array([0.0, 1e-4, 0.05, 0.5, 1.0])


def vectors(seed, count, kinds="pgl"):
    """Compositions of different kinds whose order depends on the question."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(count):
        kind = kinds[int(rng.integers(len(kinds)))]
        if kind == "p":
            loss = int(rng.integers(1, 12)) * qw.pure(round(float(rng.uniform(0.05, 0.6)), 3))
        elif kind == "g":
            loss = qw.gdp(round(float(rng.uniform(0.05, 1.0)), 3))
        elif kind == "a":
            loss = qw.approximate(round(float(rng.uniform(0.1, 2.0)), 3), 10.0 ** -int(rng.integers(2, 6)))
        else:
            loss = qw.laplace(round(float(rng.uniform(0.5, 4.0)), 2))
        found.append(Vector(loss, ((0, 1.0),), f"vector {i}"))
    return found


def check(curve, given, rtol, *, tight=True):
    """Ends of every quantity, against the largest (for beta: the least) of all vectors."""
    each = [v.loss.epsilon(DELTAS, rtol=1e-3) for v in given]
    lower, upper = (np.max([getattr(one, end) for one in each], axis=0) for end in ("lower", "upper"))
    found = curve.epsilon(DELTAS, rtol=rtol)
    assert np.all(found.upper >= lower)
    assert np.all(found.lower <= upper)
    if tight:
        finite = np.isfinite(upper)
        assert np.all(found.upper[finite] <= upper[finite] * (1 + rtol) + 1e-9)
    each = [v.loss.delta(EPSILONS, rtol=1e-3) for v in given]
    lower, upper = (np.max([getattr(one, end) for one in each], axis=0) for end in ("lower", "upper"))
    found = curve.delta(EPSILONS, rtol=rtol)
    assert np.all(found.upper >= lower)
    assert np.all(found.lower <= upper)
    if tight:
        assert np.all(found.upper <= upper * (1 + rtol) + 1e-12)
    each = [v.loss.beta(ALPHAS) for v in given]
    lower, upper = (np.min([getattr(one, end) for one in each], axis=0) for end in ("lower", "upper"))
    found = curve.beta(ALPHAS)
    assert np.all(found.lower <= upper)
    assert np.all(found.upper >= lower)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kinds", ["pg", "pl", "ga"])
def test_the_largest_of_a_few(seed, kinds):
    given = vectors(seed, 5, kinds)
    check(Worst(given), given, 1e-2)


@pytest.mark.parametrize("seed", range(8))
def test_wide_answers_hold_too(seed):
    """With room of 30 percent many vectors are never composed, and none of them is above the answer."""
    given = vectors(seed, 6, "pg")
    check(Worst(given), given, 0.3)


@pytest.mark.parametrize("seed", seeds(3, least=1))
@pytest.mark.parametrize("kinds", ["p", "pa"])
def test_the_largest_of_many(seed, kinds):
    """More than are composed one by one: envelopes answer for groups."""
    given = vectors(seed, 40, kinds)
    check(Worst(given), given, 2e-3)


@pytest.mark.parametrize("seed", seeds(3, least=1))
@pytest.mark.parametrize("most", [0, 1, 30])
def test_when_few_may_be_composed_the_bound_still_holds(monkeypatch, seed, most):
    monkeypatch.setattr(worst, "MOST_COMPOSED", most)
    monkeypatch.setattr(worst, "FIRST", 1)
    given = vectors(seed, 30, "pa")
    check(Worst(given), given, 1e-3, tight=False)


def test_a_vector_just_below_the_allowed_width_is_not_forgotten():
    """Losses within the width of the answer still raise its upper end."""
    given = [Vector(6 * qw.pure(0.5), (), "six"), Vector(qw.pure(2.9), (), "one"), Vector(qw.gdp(0.6), (), "normal")]
    for delta in (1e-5, 1e-3, 1e-2, 0.05):
        for rtol in (1e-3, 1e-2, 0.3):
            found = Worst(given).epsilon(delta, rtol=rtol)
            truth = max(v.loss.epsilon(delta, rtol=1e-6).lower for v in given)
            assert found.upper >= truth
            assert found.lower <= truth * (1 + 1e-5)
            assert found.upper <= truth * (1 + 1.01 * rtol)


def test_the_maximum_changes_hands():
    """Gaussian and pure losses cross: no single vector is the curve."""
    given = [Vector(qw.gdp(1.0), (), "gaussian"), Vector(qw.pure(1.5), (), "pure")]
    found = Worst(given).delta(np.array([0.5, 1.0, 1.4, 2.0]), rtol=1e-9)
    golden = [0.5168056347754914, 0.32169048978370224, 0.0778024981024851, 0.020923635821113756]
    np.testing.assert_allclose(found.upper, golden, atol=1e-8)
    names = {Worst(given).witness(delta).where for delta in (1e-6, 0.5)}
    assert names == {"gaussian", "pure"}


# ---- shapes and edges


def test_scalars_and_arrays_agree():
    curve = Worst(vectors(1, 4, "pa"))
    for ask, values in ((curve.epsilon, DELTAS), (curve.delta, EPSILONS), (curve.beta, ALPHAS)):
        together = ask(values.reshape(-1, 1))
        assert together.upper.shape == (values.size, 1)
        for i, value in enumerate(values):
            alone = ask(float(value))
            assert isinstance(alone.upper, float)
            assert alone.lower <= together.upper[i, 0]
            assert together.lower[i, 0] <= alone.upper
    with pytest.raises(InvalidParameter, match="empty"):
        curve.epsilon(np.zeros(0))


def test_delta_zero_and_one():
    curve = Worst([Vector(2 * qw.pure(0.5), (), ""), Vector(3 * qw.pure(0.3), (), "")])
    assert curve.epsilon(0.0).upper == pytest.approx(1.0, rel=1e-9)
    assert curve.epsilon(0.0).lower == pytest.approx(1.0, rel=1e-9)
    assert curve.epsilon(1.0).upper == 0.0
    assert curve.delta(math.inf).upper == pytest.approx(0.0, abs=1e-200)
    assert curve.delta(-math.inf).lower == 1.0
    assert curve.beta(0.0).lower == pytest.approx(1.0)
    assert curve.beta(1.0).upper == 0.0
    unbounded = Worst([Vector(qw.gdp(0.1), (), ""), Vector(qw.pure(1.0), (), "")])
    assert math.isinf(unbounded.epsilon(0.0).upper)
    assert math.isinf(unbounded.epsilon(0.0).lower)


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, "much"])
def test_questions_out_of_range_are_refused(bad):
    curve = Worst(vectors(1, 2))
    with pytest.raises(InvalidParameter):
        curve.epsilon(bad)
    with pytest.raises(InvalidParameter):
        curve.beta(bad)
    with pytest.raises(InvalidParameter):
        curve.delta(math.nan)


def test_nothing_released_costs_nothing():
    table = Table(r=Cat("a", "b"), n=Int(0, 9))
    found = Plan(table, add_remove()).guarantee()
    assert found.epsilon(0.0).upper == 0.0
    assert found.delta(np.array([0.0, 1.0])).upper.tolist() == [0.0, 0.0]
    assert found.beta(0.25).lower == pytest.approx(0.75)
    assert found.touched() == {}
    nowhere = Plan(table, add_remove()).add("q", where=table.n > 9, loss=qw.pure(1.0), holds=on_input(add_remove()))
    assert nowhere.guarantee().epsilon(0.0).upper == 0.0


# ---- bounds and inexact vectors


def test_vectors_that_no_record_has_raise_only_the_upper_end():
    real, limit = Vector(qw.pure(0.5), (), "real"), Vector(qw.pure(0.8), (), "limit", exact=False)
    found = Worst([real, limit]).epsilon(0.0)
    assert found.lower == pytest.approx(0.5)
    assert found.upper == pytest.approx(0.8)
    assert Worst([real, limit]).witness(0.0) is real
    assert Worst([limit]).witness(0.0) is None


def test_a_real_vector_stands_for_an_equal_one_that_is_not():
    real, limit = Vector(qw.pure(0.5), (), "real"), Vector(qw.pure(0.5), (), "limit", exact=False)
    for given in ([real, limit], [limit, real]):
        assert Worst(given).vectors == (real,)


def test_of_a_bound_the_least_answer_counts():
    """Each loss of a bound is above the vectors it stands for, so the least is; of several bounds the largest."""
    real = Vector(qw.pure(0.5), (), "real")
    loose = Bound((qw.pure(0.9), qw.gdp(0.5)), "two ways")
    found = Worst([real], [loose])
    for epsilon in (0.2, 0.8, 1.5):
        least = min(qw.pure(0.9).delta(epsilon).upper, qw.gdp(0.5).delta(epsilon).upper)
        expected = max(qw.pure(0.5).delta(epsilon).upper, least)
        assert found.delta(epsilon).upper == pytest.approx(expected, rel=2e-3)
        assert found.delta(epsilon).lower <= qw.pure(0.5).delta(epsilon).upper
    assert found.epsilon(0.0).upper == pytest.approx(0.9)
    assert "two ways" in found.epsilon(0.0).method
    both = Worst([real], [loose, Bound((qw.pure(1.2),), "another")])
    assert both.epsilon(0.0).upper == pytest.approx(1.2)
    low, alone = found.beta(0.05), qw.pure(0.5).beta(0.05)
    assert low.lower <= alone.lower
    assert low.upper >= alone.lower


def test_the_witness_attains_the_lower_end():
    given = vectors(3, 5, "pa")
    curve = Worst(given)
    for delta in (1e-6, 1e-2):
        found = curve.witness(delta)
        assert found.loss.epsilon(delta).upper >= curve.epsilon(delta).lower
