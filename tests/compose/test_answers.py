"""Directions and sandwiches: how one-sided answers become the answer."""

import math

import pytest

import quiltwork as qw

ASYMMETRIC = [
    200 * qw.poisson(qw.gaussian(0.9), 0.05),
    5 * qw.poisson(qw.pure(1.0), 0.3),
    4 * qw.pair([0.1, 0.4, 0.5], [0.3, 0.3, 0.4]),
    3 * qw.tradeoff([(0.0, 0.75), (0.25, 0.25), (1.0, 0.0)]),
]


@pytest.mark.parametrize("loss", ASYMMETRIC, ids=str)
def test_the_worst_of_both_directions(loss):
    remove, add = loss.direction("remove"), loss.direction("add")
    for epsilon in (0.0, 0.2, 1.0):
        worst = remove.delta(epsilon, rtol=1e-6).worst(add.delta(epsilon, rtol=1e-6))
        found = loss.delta(epsilon, rtol=1e-6)
        assert max(worst.lower, found.lower) <= min(worst.upper, found.upper)
    for delta in (0.3, 0.01):
        worst = remove.epsilon(delta).worst(add.epsilon(delta))
        found = loss.epsilon(delta)
        assert max(worst.lower, found.lower) <= min(worst.upper, found.upper)
    for alpha in (0.05, 0.5):
        worst = remove.beta(alpha).worst(add.beta(alpha))
        found = loss.beta(alpha)
        assert max(worst.lower, found.lower) <= min(worst.upper, found.upper)


@pytest.mark.parametrize("loss", [5 * qw.laplace(1.0), 7 * qw.pure(0.3), 2 * qw.gaussian(1.0)], ids=str)
def test_symmetric_losses_have_one_answer(loss):
    for side in ("remove", "add"):
        assert loss.direction(side).epsilon(1e-3) == loss.epsilon(1e-3)


@pytest.mark.parametrize("loss", ASYMMETRIC, ids=str)
@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_negative_epsilons_are_the_mirror(loss, epsilon):
    """D_remove(-eps) = 1 - e^-eps (1 - D_add(eps))."""
    left = loss.direction("remove").delta(-epsilon, rtol=1e-6)
    right = loss.direction("add").delta(epsilon, rtol=1e-6)
    ends = [1 - math.exp(-epsilon) * (1 - end) for end in (right.lower, right.upper)]
    assert max(left.lower, ends[0]) <= min(left.upper, ends[1]) + 1e-12


def test_regions_hold_and_are_exact_for_finite_losses():
    region = qw.approximate(1.0, 0.01).region(3)
    loss = 3 * qw.approximate(1.0, 0.01)
    for epsilon, delta in zip(region.epsilons, region.deltas, strict=True):
        assert delta >= loss.delta(float(epsilon)).lower
        assert delta == pytest.approx(loss.delta(float(epsilon)).upper, rel=1e-9)


@pytest.mark.parametrize(
    "loss",
    [
        qw.gaussian(1.0),
        qw.laplace(1.0),
        qw.poisson(qw.gaussian(1.0), 0.1),
        qw.zcdp(0.1),
        qw.compose(),
        qw.pair([1.0, 0.0], [0.0, 1.0]),
    ],
    ids=str,
)
def test_every_loss_has_a_region(loss):
    region = loss.region(2)
    assert region.vertices is not None


@pytest.mark.parametrize("bad", [0.5, -1, "2", None, True])
def test_bad_counts_of_a_region(bad):
    with pytest.raises(qw.QuiltworkError):
        qw.pure(1.0).region(bad)
