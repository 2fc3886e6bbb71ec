"""Observed-class mixtures: everything is linear in the weights."""

import math

import numpy as np
import pytest
from tests.losses import laws

import quiltwork as qw
from quiltwork.errors import InvalidParameter, QuiltworkError, Unsupported
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.families.mixture import Mixture, MixturePair

PARTS = [(0.25, qw.laplace(2.0)), (0.5, qw.gaussian(1.5)), (0.25, qw.approximate(0.3, 0.01))]


def test_delta_is_the_weighted_mean():
    loss = qw.mixture(PARTS)
    for epsilon in (-1.0, 0.0, 0.2, 0.45, 2.0, 8.0):
        ends = [sum(w * getattr(part.delta(epsilon), end) for w, part in PARTS) for end in ("lower", "upper")]
        found = loss.delta(epsilon)
        assert found.lower == pytest.approx(ends[0], rel=1e-12)
        assert found.upper == pytest.approx(ends[1], rel=1e-12)


def test_one_component_is_that_component():
    for base in (qw.laplace(2.0), qw.gaussian(1.5), qw.pure(0.3)):
        one, two = 6 * qw.mixture([(1.0, base)]), 6 * base
        for epsilon in (0.0, 0.8, 2.5):
            one.delta(epsilon, rtol=1e-6).intersect(two.delta(epsilon, rtol=1e-6))


@pytest.mark.parametrize("alpha", [1e-120, 1e-20, 1e-3, 0.3, 0.9])
@pytest.mark.parametrize("mu", [0.5, 5.0, 33.6])
def test_beta_of_a_lone_gaussian_stays_certified_far_out(mu, alpha):
    """Exact tails lose a^2 ulps at a standard deviations: the claim must know."""
    from tests.truth.closed import gaussian_beta

    assert gaussian_beta(mu, alpha) in qw.mixture([(1.0, qw.gdp(mu))]).beta(alpha)


def test_finite_components_stay_finite():
    pairs = Mixture([(0.5, qw.pure(0.3).single("")), (0.5, qw.pure(0.6).single(""))]).pairs()
    assert isinstance(pairs["both"], FinitePair)
    assert isinstance(qw.mixture(PARTS).single("").pairs()["both"], MixturePair)


def test_equal_losses_in_two_components_compose():
    """The same atom twice: a lattice with repeated indices."""
    one = 9 * qw.mixture([(0.5, qw.pure(0.3)), (0.5, qw.approximate(0.3, 0.125))])
    two = 9 * qw.approximate(0.3, 0.0625)
    for epsilon in (0.0, 0.9, 2.0):
        one.delta(epsilon, rtol=1e-8).intersect(two.delta(epsilon, rtol=1e-8))


def test_asymmetric_components_give_two_directions():
    loss = qw.mixture([(0.5, qw.poisson(qw.gaussian(1.0), 0.125)), (0.5, qw.laplace(2.0))])
    assert set(loss.single("").pairs()) == {"remove", "add"}
    law = laws.Mixture([(0.5, laws.Poisson(laws.Gaussian(1.0), 0.125, False)), (0.5, laws.Laplace(0.5))])
    for epsilon in (-0.3, 0.05, 0.3):
        assert law.stick(epsilon) in loss.direction("add").delta(epsilon)


def test_sampling_moves_inside():
    one = qw.poisson(qw.mixture([(0.5, qw.gaussian(1.0)), (0.5, qw.pure(0.5))]), 0.25)
    two = qw.mixture([(0.5, qw.poisson(qw.gaussian(1.0), 0.25)), (0.5, qw.poisson(qw.pure(0.5), 0.25))])
    assert one == two


def test_groups_move_inside():
    assert qw.mixture([(1.0, qw.pure(0.5))]).group(3) == qw.mixture([(1.0, qw.pure(0.5).group(3))])
    with pytest.raises(Unsupported, match="group"):
        qw.mixture([(1.0, qw.poisson(qw.pure(0.5), 0.5))]).group(2)


def test_reveal_mass_is_the_weighted_mean():
    pair = qw.mixture(PARTS).single("").pairs()["both"]
    assert pair.reveal == pytest.approx(0.0025)
    assert pair.low == -math.inf
    np.testing.assert_allclose(pair.stick(np.array([-50.0])), 1 - 0.0025, rtol=1e-12)


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ([], "components"),
        (3, "components"),
        (None, "components"),
        ([0.5], "components"),
        ([(0.5, qw.pure(1.0))], "weights"),
        ([(0.5, qw.pure(1.0)), (0.6, qw.pure(1.0))], "weights"),
        ([(0.0, qw.pure(1.0)), (1.0, qw.pure(1.0))], "weight"),
        ([(-1.0, qw.pure(1.0)), (2.0, qw.pure(1.0))], "weight"),
        ([(math.nan, qw.pure(1.0))], "weight"),
        ([("1", qw.pure(1.0))], "weight"),
        ([(1.0, 3)], "loss"),
        ([(1.0, "pure")], "loss"),
    ],
)
def test_bad_mixtures_are_named(bad, name):
    with pytest.raises(InvalidParameter, match=f"^{name} must be"):
        qw.mixture(bad)


def test_compositions_and_renyi_bounds_have_no_place_in_a_mixture():
    with pytest.raises(Unsupported, match="mixture"):
        qw.mixture([(1.0, 2 * qw.pure(1.0))])
    with pytest.raises(QuiltworkError, match="mixture"):
        qw.mixture([(1.0, qw.zcdp(0.1))]).epsilon(1e-5)
