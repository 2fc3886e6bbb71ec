"""Simpler composition rules, against their formulas and against the certified answer."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

import quiltwork as qw
from quiltwork.compose.papers.simple_rules import advanced
from quiltwork.report.answers.account import compared
from quiltwork.spec import Plan, plan_of, read_plan

DELTA = 1e-6


def rules(plan: Plan, delta: float = DELTA) -> dict[str, float | None]:
    return {baseline.name.split()[0]: baseline.epsilon for baseline in compared(plan, delta)}


def test_pure_releases_add_up():
    found = rules(plan_of([("a", 3 * qw.pure(0.5)), ("b", 2 * qw.laplace(4.0))]))
    assert found["basic"] == pytest.approx(2.0, rel=1e-12)


def test_basic_shares_the_delta():
    found = rules(plan_of([("a", 4 * qw.gaussian(5.0)), ("b", qw.pure(0.1))]))
    each = float(qw.gaussian(5.0).epsilon(DELTA / 4).upper)
    assert found["basic"] == pytest.approx(4 * each + 0.1, rel=1e-9)


def test_basic_keeps_the_deltas_of_releases():
    plan = plan_of([("a", 10 * qw.approximate(0.2, 1e-8)), ("b", qw.pure(0.1))])
    assert rules(plan)["basic"] == pytest.approx(2.1, rel=1e-9)
    assert set(rules(plan, 1e-9).values()) == {None}


def test_advanced_against_the_printed_formula():
    """Theorem 3.5 written out for 1000 releases of 0.1."""
    count, epsilon, slack = 1000, 0.1, 1e-6
    drift = count * epsilon * (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
    second = drift + epsilon * math.sqrt(2 * count * math.log(math.e + math.sqrt(count * epsilon**2) / slack))
    third = drift + epsilon * math.sqrt(2 * count * math.log(1 / slack))
    assert advanced([(epsilon, 0.0, count)], slack)[0] == pytest.approx(min(count * epsilon, second, third), rel=1e-12)
    assert rules(plan_of([("a", count * qw.pure(epsilon))]))["advanced"] == pytest.approx(third, rel=1e-12)


def test_advanced_is_basic_for_few_releases():
    found = rules(plan_of([("a", 2 * qw.gaussian(1.0))]))
    assert found["advanced"] == found["basic"]


def test_concentrated_is_exact_for_gaussians():
    found = rules(plan_of([("a", 8 * qw.gaussian(4.0)), ("b", qw.gdp(0.5)), ("c", qw.zcdp(0.1))]))
    rho = 8 / 32 + 0.125 + 0.1
    assert found["zCDP"] == pytest.approx(float(qw.zcdp(rho).epsilon(DELTA).upper), rel=1e-9)


def test_concentrated_of_bounded_losses():
    mixed = qw.mixture([(0.5, qw.gaussian(2.0)), (0.5, qw.gaussian(4.0))])
    found = rules(plan_of([("a", 10 * qw.pure(0.2)), ("b", qw.discrete_gaussian(5.0, 2)), ("c", mixed)]))
    assert found["zCDP"] == pytest.approx(float(qw.zcdp(10 * 0.02 + 0.08 + 0.125).epsilon(DELTA).upper), rel=1e-6)


def test_concentrated_does_not_apply_to_subsampling():
    baseline = compared(plan_of([("steps", 10 * qw.poisson(qw.gaussian(1.0), 0.1))]), DELTA)[2]
    assert baseline.epsilon is None
    assert baseline.note == "does not apply: 'steps' has no zCDP bound"
    assert baseline.to_json() == {"name": "zCDP composition", "epsilon": None, "note": baseline.note}


def test_delta_zero():
    assert rules(plan_of([("a", 2 * qw.pure(0.5))]), 0.0)["basic"] == pytest.approx(1.0)
    found = compared(plan_of([("a", qw.gaussian(1.0))]), 0.0)[0]
    assert found.to_json()["epsilon"] == "inf"


def test_nothing_released():
    assert set(rules(plan_of([("a", qw.pure(1e-9))])).values()) != {None}


@settings(max_examples=examples(20))
@given(
    st.lists(
        st.tuples(
            st.one_of(
                st.floats(1.0, 20.0).map(qw.gaussian),
                st.floats(0.01, 1.0).map(qw.pure),
                st.floats(1.0, 20.0).map(qw.laplace),
                st.floats(1.0, 4.0).map(lambda sigma: qw.poisson(qw.gaussian(sigma), 0.1)),
            ),
            st.integers(1, 30),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_no_rule_beats_the_truth(releases):
    """A rule below the certified lower end would be unsound, or the engine would."""
    plan = plan_of([(f"release {i}", count * loss) for i, (loss, count) in enumerate(releases)])
    lower = float(plan.loss().epsilon(DELTA).lower)
    assert all(epsilon is None or epsilon >= lower * (1 - 1e-9) for epsilon in rules(plan).values())


def test_the_hospital():
    found = rules(read_plan("examples/plans/hospital.yaml"))
    assert found["zCDP"] is None
    assert found["basic"] > found["advanced"] > found["moments"] > 2.13
