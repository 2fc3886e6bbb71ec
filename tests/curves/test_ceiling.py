from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.compose.constructors import approximate, gaussian, gdp, laplace, poisson, pure
from quiltwork.curves import Bracket, Curve, Guarantee, Profile, Region, TradeOff, auc_ceiling, auc_ceiling_of
from quiltwork.errors import InvalidParameter, NotCertified

EPSILONS = st.floats(0.0, 800.0)
DELTAS = st.floats(0.0, 1.0)


def exactly(epsilon: float, delta: float) -> mpmath.mpf:
    with mpmath.workdps(40):
        return 1 - (1 - mpmath.mpf(delta)) ** 2 / (1 + mpmath.exp(mpmath.mpf(epsilon)))


@given(EPSILONS, DELTAS)
def test_closed_form_is_rounded_up_and_by_little(epsilon: float, delta: float) -> None:
    found, true = auc_ceiling(epsilon, delta), exactly(epsilon, delta)
    assert isinstance(found, float)
    assert true <= found <= 1.0
    assert found <= true + 4e-15


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (0.25, 0.02), (1.5, 0.02), (3.0, 0.3), (0.0, 0.9)])
def test_closed_form_is_the_area_over_the_trade_off_function(epsilon: float, delta: float) -> None:
    """f(a) = max(0, 1 - delta - e^eps a, e^-eps (1 - delta - a)), by adaptive quadrature over its pieces."""
    t = mpmath.exp(epsilon)

    def f(a: mpmath.mpf) -> mpmath.mpf:
        return max(mpmath.mpf(0), 1 - delta - t * a, (1 - delta - a) / t)

    area = mpmath.quad(f, [0, (1 - delta) / (1 + t), 1 - delta, 1])
    assert auc_ceiling(epsilon, delta) == pytest.approx(float(1 - area), abs=1e-14)


def test_arrays_and_ends() -> None:
    epsilons = np.array([0.0, 1.0, 700.0, 1e308, math.inf])
    assert auc_ceiling(0.0, 0.0) == 0.5
    found = auc_ceiling(epsilons[:, None], [0.0, 0.5, 1.0])
    assert isinstance(found, np.ndarray)
    assert found.shape == (5, 3)
    assert np.all(found[:, 2] == 1.0)
    assert np.all(found[2:] == 1.0)
    assert np.all(np.diff(found, axis=0) >= 0)
    assert found[1, 1] == auc_ceiling(1.0, 0.5)


def test_reference_value() -> None:
    assert auc_ceiling(0.25, 0.02) == pytest.approx(0.579514311450720499, abs=4e-15)


@pytest.mark.parametrize(
    ("epsilon", "reported", "ceiling"), [(0.25, 0.7485, 0.5795), (0.5, 0.8165, 0.6374), (1.5, 0.9056, 0.8248)]
)
def test_printed_table_viii_is_above_what_its_guarantee_allows(epsilon: float, reported: float, ceiling: float) -> None:
    """Seed 000, Table VIII, rows "Single" at delta = 0.02: no (epsilon, delta) mechanism has such an AUC."""
    assert round(float(auc_ceiling(epsilon, 0.02)), 4) == ceiling
    assert reported > auc_ceiling(epsilon, 0.02) + 0.05


@pytest.mark.parametrize("mu", [1e-6, 0.05, 0.5, 1.0, 2.0, 4.0, 30.0])
def test_gaussian_ceiling_is_normal_of_mu_over_root_two(mu: float) -> None:
    true = float(mpmath.ncdf(mpmath.mpf(mu) / mpmath.sqrt(2)))
    assert true <= auc_ceiling_of(gdp(mu)) <= true + 1e-4


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.0), (1.5, 0.02), (6.0, 1e-3)])
def test_every_form_of_one_pair_agrees(epsilon: float, delta: float) -> None:
    true = float(auc_ceiling(epsilon, delta))
    stated = Profile([epsilon], [delta], symmetric=True)
    for curve in (stated, stated.unfolded(), Region(stated), stated.tradeoff(), Guarantee(stated, "a record")):
        assert auc_ceiling_of(curve) == pytest.approx(true, abs=2e-13)
        assert auc_ceiling_of(curve) >= exactly(epsilon, delta)
    assert true <= auc_ceiling_of(approximate(epsilon, delta)) <= true + 1e-4


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), max_size=6))
def test_polygons_against_exact_fractions(points: list[tuple[int, int]]) -> None:
    corners = [(0, 100), *points, (100, 0)]
    curve = TradeOff([a / 100 for a, _ in corners], [b / 100 for _, b in corners], hull=True)
    alphas, betas = [Fraction(x) for x in curve.alphas.tolist()], [Fraction(x) for x in curve.betas.tolist()]
    area = sum((b + c) * (y - x) / 2 for b, c, x, y in zip(betas, betas[1:], alphas, alphas[1:], strict=False))
    found = auc_ceiling_of(curve)
    assert 1 - area <= Fraction(found) <= 1 - area + Fraction(1, 10**12)
    assert auc_ceiling_of(curve.inverse()) == pytest.approx(found, abs=1e-12)


def test_laplace_against_its_trade_off_function() -> None:
    """AUC of Laplace noise moved by one scale: 1 - e^-1 (2 + 1) / 4, by integration of the two densities."""
    true = 1.0 - math.exp(-1.0) * 3.0 / 4.0
    assert true <= auc_ceiling_of(laplace(1.0)) <= true + 1e-4


def test_two_directions_are_asked_apart() -> None:
    """Subsampled noise is not symmetric: the least of its two betas has less area than either."""
    loss = poisson(gaussian(0.4), 0.3)
    p, q = mpmath.mpf("0.3"), mpmath.mpf("0.4")
    # (1 - p) N(0) + p N(1) against N(0): a threshold on x is the likelihood ratio
    auc = (1 - p) / 2 + p * mpmath.ncdf(1 / (q * mpmath.sqrt(2)))
    for side in ("remove", "add"):
        assert auc <= auc_ceiling_of(loss.direction(side)) <= auc + 1e-4
    assert auc <= auc_ceiling_of(loss) <= auc + 1e-4
    # without that knowledge the least beta, which is not convex, still gives a bound, only a larger one
    assert auc + 0.04 <= auc_ceiling_of(Veiled(loss)) <= auc + 0.06


def test_knots_a_hair_apart() -> None:
    curve = Profile([0.9999999999729834, 1.0000000000000018], [1.3509859897362588e-11, 0.0])
    assert auc_ceiling(1.0, 0.0) <= auc_ceiling_of(curve) + 1e-9
    assert auc_ceiling_of(pure(1.0)) == pytest.approx(auc_ceiling(1.0, 0.0), abs=1e-5)


def test_everything_and_nothing() -> None:
    assert auc_ceiling_of(TradeOff([0.0, 1.0 - 2**-53, 1.0], [1.0, 2**-54, 0.0])) == pytest.approx(0.5, abs=1e-13)
    assert auc_ceiling_of(TradeOff([0.0, 1.0], [1.0, 0.0])) == pytest.approx(0.5, abs=1e-13)
    assert auc_ceiling_of(TradeOff([0.0, 1.0], [0.0, 0.0])) == 1.0
    assert auc_ceiling_of(Profile([0.0], [1.0])) == 1.0


class Veiled:
    """The same answers from an object that cannot show its directions."""

    def __init__(self, curve: Curve) -> None:
        self.epsilon, self.delta, self.beta = curve.epsilon, curve.delta, curve.beta


class Rough:
    """A curve whose beta is only an estimate."""

    def epsilon(self, delta: object, *, rtol: float = 1e-3) -> Bracket:
        raise NotImplementedError

    def delta(self, epsilon: object, *, rtol: float = 1e-3) -> Bracket:
        raise NotImplementedError

    def beta(self, alpha: object) -> Bracket:
        values = 1.0 - np.asarray(alpha, dtype=float)
        return Bracket(values, values, "beta", "estimate", certified=False)


def test_estimates_are_refused() -> None:
    with pytest.raises(NotCertified):
        auc_ceiling_of(Rough())


@pytest.mark.parametrize("epsilon", [-1e-9, math.nan, True, "1", None, [], 1j])
def test_bad_epsilon(epsilon: object) -> None:
    with pytest.raises(InvalidParameter):
        auc_ceiling(epsilon, 0.1)


@pytest.mark.parametrize("delta", [-0.1, 1.1, math.nan, False, "0", None, []])
def test_bad_delta(delta: object) -> None:
    with pytest.raises(InvalidParameter):
        auc_ceiling(1.0, delta)


def test_bad_shapes_and_curves() -> None:
    with pytest.raises(InvalidParameter):
        auc_ceiling([1.0, 2.0], [0.1, 0.2, 0.3])
    with pytest.raises(InvalidParameter):
        auc_ceiling_of(3.0)  # type: ignore[arg-type]
