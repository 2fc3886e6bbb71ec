"""Upper ends of many compositions at once stand above what the engine certifies from below, and hardly above."""

import math

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.tables.worst_step.additive import TILTS, loss_moments
from quiltwork.tables.worst_step.many_compositions import OUTSIDE, ManyCompositions

LOSSES = [
    qw.laplace(5.0) + qw.laplace(7.3) + 3 * qw.laplace(11.0),
    2 * qw.gaussian(3.0) + qw.laplace(4.0),
    qw.pure(0.3) + qw.pure(0.7) + qw.discrete_laplace(3.0),
    12 * qw.gaussian(20.0) + 40 * qw.laplace(60.0),
    qw.randomized_response(1.5) + qw.discrete_gaussian(4.0),
    qw.laplace(0.5) + qw.gaussian(1.0),
    qw.pure(0.01),
]
DELTAS = np.array([0.3, 1e-2, 1e-4, 1e-6])
EPSILONS = np.array([0.0, 0.013, 0.4, 1.1, 2.9, 50.0])


def tops(losses):
    found = []
    for loss in losses:
        known = loss_moments(loss)
        found.append(min(float(np.min((known.logs - math.log(OUTSIDE)) / TILTS)), known.largest))
    return np.array(found)


@pytest.mark.parametrize("share", [1.0, 0.5, 3.0])
def test_above_what_is_certified_from_below(share):
    """Windows that are half as wide lose what lies above them, and say so."""
    many = ManyCompositions(LOSSES, share * tops(LOSSES))
    for k, loss in enumerate(LOSSES):
        truth = loss.epsilon(DELTAS, rtol=1e-6)
        found = many.epsilon(DELTAS)[k]
        assert (found >= truth.lower).all(), loss
        below = loss.delta(EPSILONS, rtol=1e-6)
        chances = many.delta(EPSILONS)[k]
        assert (chances >= below.lower).all(), loss
        if share == 1.0:
            alone = ManyCompositions([loss], tops([loss]))
            assert (alone.epsilon(DELTAS)[0] <= truth.upper * 1.005 + 1e-6).all(), loss
            assert (alone.delta(EPSILONS)[0] <= below.upper * 1.02 + 1e-8).all(), loss


def test_a_chord_is_no_smaller_than_its_release():
    """One release against its closed form: 1 - e^((x - e) / 2) for Laplace noise."""
    many = ManyCompositions([qw.laplace(1.0)], np.array([1.0]))
    exact = -np.expm1((EPSILONS[:4] - 1.0) / 2)
    found = many.delta(EPSILONS[:4])[0]
    assert (found[:3] >= exact[:3]).all()
    assert found[:3] == pytest.approx(exact[:3], rel=1e-3)
    assert found[3] < 1e-3


@pytest.mark.parametrize(
    "loss", [qw.zcdp(0.1), qw.poisson(qw.gaussian(1.0), 0.1), qw.approximate(0.5, 0.1), qw.laplace(0.001)]
)
def test_of_what_it_does_not_know_it_says_nothing(loss):
    many = ManyCompositions([loss + qw.pure(0.1)], np.array([1e3]))
    assert math.isinf(many.epsilon(np.array([1e-3]))[0, 0])
    assert many.delta(np.array([0.1]))[0, 0] == 1.0


def test_deltas_below_rounding_are_not_answered():
    many = ManyCompositions([LOSSES[0]], tops(LOSSES[:1]))
    assert np.isinf(many.epsilon(np.array([0.0, 1e-30, 1e-11]))).all()
