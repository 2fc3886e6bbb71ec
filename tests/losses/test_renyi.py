"""zCDP and RDP: what they bound, and the conversion against its definition in many digits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.losses.laws import Gaussian, mp

import quiltwork as qw
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.families.renyi import Renyi, ZeroConcentrated


def converted(curve, delta):
    """min over theta of (K + log g - log delta)/theta, on a very fine grid of tilts (Canonne, Kamath, Steinke)."""
    best = mp.inf
    for theta in np.geomspace(1e-3, 1e4, 6000):
        t = mp.mpf(float(theta))
        value = curve(t)
        if value == mp.inf:
            continue
        peak = t * (mp.log(t) - mp.log1p(t)) - mp.log1p(t)
        best = min(best, (value + peak - mp.log(mp.mpf(delta))) / t)
    return max(best, mp.zero)


@pytest.mark.parametrize("rho", [1e-4, 0.05, 2.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-9, 1e-50])
def test_zcdp_conversion(rho, delta):
    found = qw.zcdp(rho).epsilon(delta)
    true = converted(lambda t: mp.mpf(rho) * t * (1 + t), delta)
    assert found.upper == pytest.approx(float(true), rel=2e-5, abs=1e-9)
    assert found.upper >= true * (1 - mp.mpf("1e-5"))


def test_composition_adds_before_conversion():
    assert (50 * qw.zcdp(0.01)).epsilon(1e-6).upper == pytest.approx(qw.zcdp(0.5).epsilon(1e-6).upper, rel=1e-12)
    mixed = qw.compose(3 * qw.zcdp(0.1), qw.zcdp(0.2))
    assert mixed.epsilon(1e-6).upper == pytest.approx(qw.zcdp(0.5).epsilon(1e-6).upper, rel=1e-12)


@pytest.mark.parametrize("delta", [1e-3, 1e-8])
def test_a_gaussian_is_inside_its_own_zcdp_bracket(delta):
    """rho = mu^2/2 is attained by G_mu: the lower end is its epsilon, the upper end holds for it too."""
    bracket, exact = qw.zcdp(0.125).epsilon(delta), qw.gdp(0.5).epsilon(delta)
    assert bracket.lower <= exact.upper
    assert bracket.lower == pytest.approx(exact.upper, rel=1e-9)
    assert exact.upper <= bracket.upper <= 2 * exact.upper


@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.5, 3.0])
def test_delta_bounds_hold_for_the_gaussian_that_attains_them(epsilon):
    bracket = qw.zcdp(0.125).delta(epsilon)
    true = Gaussian(0.5).stick(epsilon)
    assert bracket.lower <= true * (1 + mp.mpf("1e-12"))
    assert true <= bracket.upper
    assert bracket.upper < 1 or epsilon < 0.5


@pytest.mark.parametrize("alpha", [0.0, 1e-6, 0.1, 0.5, 0.9, 1.0])
def test_beta_bounds_hold_for_the_gaussian_that_attains_them(alpha):
    bracket, exact = qw.zcdp(0.125).beta(alpha), qw.gdp(0.5).beta(alpha)
    assert bracket.lower <= exact.upper
    assert exact.lower <= bracket.upper


def test_nothing_released_is_free():
    """rho = 0 promises that nothing is revealed."""
    loss = qw.zcdp(0.0)
    assert loss.epsilon(1e-9).upper == pytest.approx(0.0, abs=1e-9)
    assert loss.delta(0.5).upper < 1e-9


ORDERS = (1.5, 2.0, 4.0, 16.0, 64.0)


def test_rdp_of_a_gaussian_is_between_its_orders():
    """theta eps(1+theta) is convex: the chord between listed orders is what is used, never less than the curve."""
    family = Renyi(ORDERS, tuple(0.125 * a for a in ORDERS))
    theta = np.linspace(0.01, 63.0, 500)
    bound = family.log_mgf_bound(theta)
    exact = 0.125 * theta * (1 + theta)
    assert (bound >= exact * (1 - 1e-14)).all()
    for order in ORDERS:
        at = np.array([order - 1])
        assert family.log_mgf_bound(at)[0] == pytest.approx(0.125 * order * (order - 1), rel=1e-12)
    assert math.isinf(family.log_mgf_bound(np.array([63.0001]))[0])


@given(
    epsilons=st.lists(st.floats(0.0, 5.0), min_size=5, max_size=5),
    theta=st.floats(0.01, 63.0),
)
def test_the_interpolated_bound_is_the_best_convex_one(epsilons, theta):
    """Brute force: the least chord over the listed points and the origin."""
    family = Renyi(ORDERS, tuple(epsilons))
    knots = [(0.0, 0.0)] + [(a - 1, (a - 1) * e) for a, e in zip(ORDERS, epsilons, strict=True)]
    best = min(
        ya + (yb - ya) * (theta - xa) / (xb - xa)
        for xa, ya in knots
        for xb, yb in knots
        if xa <= theta <= xb and xa < xb
    )
    assert family.log_mgf_bound(np.array([theta]))[0] == pytest.approx(best, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("delta", [1e-3, 1e-8])
def test_rdp_conversion(delta):
    family = Renyi(ORDERS, tuple(0.05 * a for a in ORDERS))

    def curve(theta):
        return mp.mpf(float(family.log_mgf_bound(np.array([float(theta)]))[0]))

    found = (8 * qw.rdp(ORDERS, [0.05 * a for a in ORDERS])).epsilon(delta)
    assert found.upper == pytest.approx(float(converted(lambda t: 8 * curve(t), delta)), rel=2e-3)
    assert found.lower <= found.upper


def test_an_infinite_epsilon_says_nothing_at_its_order():
    some, all_ = qw.rdp([2, 8, 32], [0.1, 0.4, math.inf]), qw.rdp([2, 8], [0.1, 0.4])
    assert some.epsilon(1e-4).upper == pytest.approx(all_.epsilon(1e-4).upper)


def test_mixed_with_exact_losses_it_stays_above_both():
    both = qw.compose(qw.zcdp(0.1), 5 * qw.laplace(4.0), qw.approximate(0.1, 1e-9))
    found = both.epsilon(1e-5)
    assert found.lower >= (5 * qw.laplace(4.0)).epsilon(1e-5).lower
    assert found.lower >= qw.gdp(math.sqrt(0.2)).epsilon(1e-5).lower
    assert math.isfinite(found.upper)
    assert math.isinf(both.epsilon(1e-10).upper)  # below the reveal mass


def test_with_a_full_reveal_nothing_is_left():
    loss = qw.compose(qw.approximate(1.0, 1.0), qw.zcdp(0.1))
    assert math.isinf(loss.epsilon(0.5).upper)
    assert loss.delta(3.0).lower == 1.0
    assert loss.beta(0.3).upper == 0.0


def test_a_sandwiched_trade_off_beside_a_renyi_bound_keeps_its_optimistic_lower_end():
    """zcdp(0) adds nothing, so the truth is that of the trade-off function alone: exactly G_1."""
    from scipy.special import ndtr, ndtri

    alone = qw.tradeoff(lambda a: float(ndtr(-ndtri(a) - 1.0)) if 0 < a < 1 else 1.0 - a)
    loss = qw.compose(alone, qw.zcdp(0.0))
    for delta in (1e-2, 1e-5):
        true = qw.gdp(1.0).epsilon(delta)
        found = loss.epsilon(delta)
        assert found.lower <= true.upper
        assert true.lower <= found.upper


def test_groups():
    assert ZeroConcentrated(0.1).group(3).rho == pytest.approx(0.9, rel=1e-14)
    # Mironov 2017, Proposition 2: order / 2^c, epsilon 3^c
    for size, orders, epsilons in ((2, (4.0, 16.0), (0.3, 1.2)), (3, (2.0, 8.0), (0.9, 3.6))):
        found = Renyi((8.0, 32.0), (0.1, 0.4)).group(size)
        assert found.orders == orders
        assert found.epsilons == pytest.approx(epsilons, rel=1e-14)
    with pytest.raises(Unsupported, match="group of 2"):
        Renyi((2.0,), (0.1,)).group(2)


@pytest.mark.parametrize(
    ("orders", "epsilons", "name"),
    [
        ([], [], "orders"),
        ([2.0], [], "epsilons"),
        ([2.0], [0.1, 0.2], "orders and epsilons"),
        ([1.0], [0.1], "orders"),
        ([0.5], [0.1], "orders"),
        ([3.0, 2.0], [0.1, 0.2], "orders"),
        ([2.0, 2.0], [0.1, 0.2], "orders"),
        ([math.inf], [0.1], "orders"),
        ([math.nan], [0.1], "orders"),
        ([2.0], [-0.1], "epsilons"),
        ([2.0], [math.nan], "epsilons"),
        ([2.0], [math.inf], "epsilons"),
        ("ab", [0.1, 0.2], "orders"),
        ([2.0], ["x"], "epsilons"),
        (2.0, 0.1, "orders"),
        ([[2.0]], [[0.1]], "orders"),
        (None, [0.1], "orders"),
    ],
)
def test_bad_rdp_is_named(orders, epsilons, name):
    with pytest.raises(InvalidParameter, match=f"^{name} must be"):
        qw.rdp(orders, epsilons)


@pytest.mark.parametrize("rho", [-1.0, math.nan, math.inf, "1", None, True, [0.1]])
def test_bad_zcdp_is_named(rho):
    with pytest.raises(InvalidParameter, match=r"^rho must be"):
        qw.zcdp(rho)


def test_no_pair_no_subsampling():
    for loss in (qw.zcdp(0.1), qw.rdp([2.0], [0.1])):
        assert loss.parts[0].family.pairs() == {}
        with pytest.raises(Unsupported, match="subsampling"):
            qw.poisson(loss, 0.5)
