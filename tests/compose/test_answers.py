"""Directions and sandwiches: how one-sided answers become the answer."""

import math

import pytest
from scipy.special import ndtr, ndtri
from tests.truth import closed
from tests.truth.numbers import mp

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


# ---- functions that leave their accuracy open: finer and finer grids


def gaussian_curve(mu):
    return lambda alpha: ndtr(-ndtri(alpha) - mu)


def step_of(bracket):
    return float(bracket.method.rpartition("1/")[2])


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_bar_for_a_hundred_gaussians(symmetric):
    """mu = 1, k = 100: a width of 1e-3 at delta of about 1e-5, without asking for anything."""
    loss = 100 * qw.tradeoff(gaussian_curve(1.0), symmetric=symmetric)
    epsilon = 91.82
    found, true = loss.delta(epsilon), closed.gaussian_delta(10, epsilon)
    assert 9e-6 < true < 1.1e-5
    assert mp.mpf(found.lower) <= true <= mp.mpf(found.upper)
    assert found.upper - found.lower <= 1e-3 * found.lower
    assert found.met


@pytest.mark.parametrize("rtol", [0.1, 1e-2, 1e-3, 1e-4, 1e-5])
def test_grids_become_as_fine_as_the_asked_width_needs(rtol):
    loss = 10 * qw.tradeoff(gaussian_curve(0.5), symmetric=True)
    found, true = loss.delta(4.0, rtol=rtol), closed.gaussian_delta(math.sqrt(2.5), 4)
    assert mp.mpf(found.lower) <= true <= mp.mpf(found.upper)
    assert found.met
    assert found.upper - found.lower <= rtol * found.upper
    first = loss.delta(4.0, rtol=0.5)
    needed = step_of(first) * math.sqrt(first.relative_width / rtol)  # second order
    assert step_of(found) <= max(step_of(first), 4 * needed)  # it never goes further than to a quarter


@pytest.mark.parametrize(
    ("mu", "count", "symmetric", "epsilon"),
    [
        (3.0, 1, False, 16.0),  # f is too small on the right to have digits
        (1.0, 10, True, 60.0),  # delta is below what 1e-16 can tell
        (1.0, 1000, False, 900.0),
    ],
)
def test_a_width_that_is_not_met_is_not_claimed(mu, count, symmetric, epsilon):
    loss = count * qw.tradeoff(gaussian_curve(mu), symmetric=symmetric)
    found, true = loss.delta(epsilon, rtol=1e-6), closed.gaussian_delta(mu * math.sqrt(count), epsilon)
    assert not found.met
    assert found.upper - found.lower > 1e-6 * found.upper
    assert mp.mpf(found.lower) <= true <= mp.mpf(found.upper)


def test_a_hopeless_question_does_not_spoil_the_others():
    loss = 50 * qw.tradeoff(gaussian_curve(0.3), symmetric=True)
    alone, together = loss.delta(5.0), loss.delta([5.0, 500.0])
    assert not together.met
    assert together.upper[0] - together.lower[0] <= 1e-3 * together.upper[0]
    assert max(alone.lower, together.lower[0]) <= min(alone.upper, together.upper[0])
    assert together.lower[1] == 0.0
    assert math.copysign(1.0, together.lower[1]) == 1.0


def test_asking_for_more_gives_no_less():
    loss = 7 * qw.tradeoff(lambda a: (1 - a) ** 3)
    coarse, fine = loss.epsilon(1e-4, rtol=1e-2), loss.epsilon(1e-4, rtol=1e-5)
    assert coarse.lower <= fine.lower <= fine.upper <= coarse.upper


def test_every_method_that_answers_holds_the_truth():
    loss, true = 3 * qw.tradeoff(gaussian_curve(1.0), symmetric=True), closed.gaussian_delta(math.sqrt(3), 3)
    for method in ("exact atoms", "lattice", "characteristic function", "grid", "closed form"):
        found = loss.delta(3.0, rtol=1e-2, method=method)
        assert mp.mpf(found.lower) <= true <= mp.mpf(found.upper)
        assert found.method.startswith(method) == (method != "closed form")


def test_the_exact_part_of_a_composition_is_not_refined():
    """Only the function waits for the question."""
    loss = qw.tradeoff(gaussian_curve(1.0), symmetric=True) + qw.tradeoff([(0.0, 0.75), (0.25, 0.25), (1.0, 0.0)])
    same = qw.gdp(1.0) + qw.tradeoff([(0.0, 0.75), (0.25, 0.25), (1.0, 0.0)])
    found, true = loss.delta(0.5), same.delta(0.5)
    assert max(found.lower, true.lower) <= min(found.upper, true.upper)
    assert "sandwich step" in found.method
    assert "sandwich step" not in true.method
