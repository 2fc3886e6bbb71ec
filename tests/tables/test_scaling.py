"""Losses at a distance, by the rules of theory section 5; losses added up; losses seen from the other world."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import golden

import quiltwork as qw
from quiltwork.compose.scaling import attained, is_symmetric, scaled, total, turned
from quiltwork.errors import Unsupported

EPSILONS = np.array([0.0, 0.3, 1.0, 2.5])
ONE_WAY = qw.pair([0.7, 0.3], [0.2, 0.8])
numbers = st.integers(1, 999).map(lambda n: n / 100)
distances = st.one_of(st.integers(1, 60).map(float), st.integers(1, 5_000).map(lambda n: n / 1000))


def family(loss):
    (part,) = loss.parts
    return part.family


def exactly(number):
    """The decimal that was typed."""
    return Fraction(repr(number))


@given(size=numbers, distance=distances)
def test_linear_and_quadratic_rules_never_round_down(size, distance):
    """Pure, GDP, Laplace and Gaussian grow with the distance, zCDP with its square; the excess is one rounding."""
    away = exactly(distance)
    rows = [
        (family(scaled(qw.pure(size), distance)).epsilon, exactly(size) * away),
        (family(scaled(qw.gdp(size), distance)).mu, exactly(size) * away),
        (family(scaled(qw.laplace(3.0, size), distance)).sensitivity, exactly(size) * away),
        (family(scaled(qw.gaussian(3.0, size), distance)).sensitivity, exactly(size) * away),
    ]
    if distance != int(distance):
        rows.append((family(scaled(qw.zcdp(size), distance)).rho, exactly(size) * away**2))
    for found, truth in rows:
        assert exactly(found) >= truth or distance == int(distance)  # whole steps are the families' own rule
        assert found == pytest.approx(float(truth), rel=1e-15)
    assert family(scaled(qw.zcdp(size), distance)).rho == pytest.approx(size * distance**2, rel=1e-14)


@given(epsilon=numbers.map(lambda e: e / 5), delta=st.integers(1, 999).map(lambda n: n * 1e-9), distance=distances)
def test_approximate_losses_take_whole_steps(epsilon, delta, distance):
    """(n eps, delta [n]_eps), n the next whole number: half a step is as bad as one."""
    steps = math.ceil(distance)
    found = family(scaled(qw.approximate(epsilon, delta), distance))
    factor = math.fsum(math.exp(i * epsilon) for i in range(steps)) if steps * epsilon < 700 else math.inf
    assert exactly(found.epsilon) >= steps * exactly(epsilon)
    assert found.epsilon == pytest.approx(steps * epsilon, rel=1e-14)
    assert found.delta >= min(1.0, delta * factor) * (1 - 1e-15)
    assert found.delta == pytest.approx(min(1.0, delta * factor), rel=1e-11)


@pytest.mark.parametrize("loss", [qw.pure(0.3), qw.gdp(0.3), qw.laplace(2.0), qw.gaussian(2.0), qw.zcdp(0.05)])
def test_between_whole_steps_losses_lie_between(loss):
    """Fractions of a step: monotone, and never more than the whole step above."""
    deltas = [scaled(loss, d).delta(EPSILONS).upper for d in (0.5, 1.0, 1.5, 2.0, 2.5)]
    for less, more in itertools.pairwise(deltas):
        assert np.all(less <= more * (1 + 2e-3))


def test_distance_one_is_the_loss_itself():
    for loss in (qw.pure(0.3), ONE_WAY, 3 * qw.laplace(2.0) + qw.gdp(0.1)):
        assert scaled(loss, 1.0) is loss


def test_every_part_of_a_composition_grows():
    found = scaled(2 * qw.pure(0.1) + qw.gdp(0.2) + qw.approximate(0.1, 1e-6), 2.5)
    kinds = {part.family.kind: (part.family, part.count) for part in found.parts}
    assert kinds["pure"][0].epsilon == 0.25
    assert kinds["pure"][1] == 2
    assert kinds["gdp"][0].mu == 0.5
    assert kinds["approximate"][0].epsilon == pytest.approx(0.3)


def test_families_without_a_rule_say_so():
    with pytest.raises(Unsupported, match="group"):
        scaled(ONE_WAY, 2.0)
    assert scaled(ONE_WAY, 0.5) == ONE_WAY  # a fraction of a step is at most one


def test_totals_count_copies():
    found = total([(qw.pure(0.1), 2), (qw.pure(0.1) + qw.gdp(0.2), 3), (qw.gdp(0.2), 0)])
    assert found == 5 * qw.pure(0.1) + 3 * qw.gdp(0.2)
    assert total([]) == qw.Loss(())


# ---- directions


def test_symmetric_losses_are_not_turned():
    for loss in (qw.pure(0.1), qw.gdp(0.3), qw.laplace(2.0), qw.zcdp(0.1), qw.approximate(0.1, 0.01)):
        assert is_symmetric(loss)
        assert turned(loss) is loss
    assert not is_symmetric(ONE_WAY)
    assert not is_symmetric(qw.pure(0.1) + ONE_WAY)
    assert not is_symmetric(qw.poisson(qw.gaussian(1.0), 0.1))


def test_turning_twice_changes_nothing():
    loss = 2 * ONE_WAY + qw.pure(0.1)
    there = turned(loss)
    assert there != loss
    assert turned(there) == loss
    assert {part.family.kind for part in there.parts} == {"turned", "pure"}


@pytest.mark.parametrize("loss", [ONE_WAY, qw.poisson(qw.gaussian(1.0), 0.2)])
def test_turned_is_the_other_direction(loss):
    there = turned(loss)
    for side, other in (("remove", "add"), ("add", "remove")):
        found = there.direction(side).delta(EPSILONS)
        expected = loss.direction(other).delta(EPSILONS)
        np.testing.assert_array_equal(found.upper, expected.upper)
        np.testing.assert_array_equal(found.lower, expected.lower)
    np.testing.assert_array_equal(there.delta(EPSILONS).upper, loss.delta(EPSILONS).upper)


def test_mixed_directions_are_worse_than_both_pure_ones():
    wanted = golden.inputs("mixed direction")
    loss = qw.pair(wanted["P"], wanted["Q"])
    found = {
        "(P,Q)^2": (loss + loss).direction("remove").delta(wanted["eps"], rtol=1e-9).upper,
        "(Q,P)^2": (loss + loss).direction("add").delta(wanted["eps"], rtol=1e-9).upper,
        "(P,Q)x(Q,P)": (loss + turned(loss)).delta(wanted["eps"], rtol=1e-9).upper,
    }
    golden.agree("mixed direction", found)
    assert (loss + turned(loss)).direction("remove").delta(wanted["eps"]).upper == pytest.approx(found["(P,Q)x(Q,P)"])


def test_what_is_attained_at_a_distance_is_below_what_is_allowed():
    """Two steps of epsilon-DP lose less than 2 epsilon allows: at most 1 - 1/e of total variation for epsilon 1."""
    for loss in (qw.pure(1.0), qw.approximate(1.0, 1e-3), qw.laplace(1.0), qw.gaussian(2.0), qw.gdp(0.5), qw.zcdp(0.1)):
        for distance in (2, 3, 7):
            real, allowed = attained(loss, distance), scaled(loss, distance)
            assert np.all(real.delta(EPSILONS).upper <= np.asarray(allowed.delta(EPSILONS).upper) * (1 + 1e-9))
    assert attained(qw.pure(1.0), 2).delta(0.0).upper <= (1 - math.exp(-1.0)) * (1 + 1e-9)
    assert attained(qw.pure(1.0), 2).epsilon(0.0).upper == pytest.approx(2.0, rel=1e-12)
    assert attained(qw.gaussian(2.0), 3) == scaled(qw.gaussian(2.0), 3)
    assert attained(qw.rdp([2.0, 4.0], [0.2, 0.4]), 2) == qw.gdp(2 * math.sqrt(0.2) * (1 - 1e-15))
    assert attained(qw.constraints([(0.1, 0.01), (0.5, 0.0)]), 2).count == 0
    assert attained(ONE_WAY, 1) == ONE_WAY
