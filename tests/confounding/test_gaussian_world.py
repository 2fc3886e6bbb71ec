"""Normal worlds in closed form: exact mu^2, the reference values, and the direction of ignoring the confounder."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from quiltwork.confounding.finite.ignoring import OVER, SAME, UNDER
from quiltwork.confounding.line.gaussian import (
    GaussianCurve,
    marginal_separations,
    product,
    root_ends,
    separations,
    worst_square,
)
from quiltwork.confounding.line.readings import noise
from quiltwork.confounding.line.world import gaussian_world
from quiltwork.curves.curve import Curve
from quiltwork.errors import InvalidParameter, NotCertified

REFERENCE = json.loads((Path(__file__).parent / "reference_confounding.json").read_text())["gaussian"]
RELEASES = {
    "location_D1_tau1_sigma1_k2": lambda: gaussian_world([0, 1], 1).release(1, 1),
    "location_D1_tau1_sigma1_k10": lambda: gaussian_world([0, 1], 1).release(*[1] * 10),
    "plane_corr_minus_half": lambda: gaussian_world([[0, 0], [1, 1]], [[0.75, -0.5], [-0.5, 0.75]]).release(0.5),
    "plane_corr_half_D10": lambda: gaussian_world([[0, 0], [1, 0]], [[1, 0.5], [0.5, 1]]).release(0),
}


def fractions(rows):
    return [[Fraction(repr(float(value))) for value in row] for row in rows]


@pytest.mark.parametrize("name", REFERENCE)
def test_reference_values(name):
    release, expected = RELEASES[name](), REFERENCE[name]
    ignoring = release.ignoring_confounder()
    for curve, word in ((release, "true"), (ignoring, "ignoring")):
        mu = (curve.curve if word == "true" else ignoring.curve).mu
        assert mu[0] <= float(expected[f"mu_{word}"]) <= mu[1]
        for delta in ("0.01", "0.00001"):
            found = curve.epsilon(float(delta), rtol=1e-12)
            assert found.lower == pytest.approx(float(expected[f"eps_delta={delta}"][word]), abs=1e-10)
            assert found.upper == pytest.approx(float(expected[f"eps_delta={delta}"][word]), abs=1e-10)
        for epsilon in ("0", "1", "2"):
            found = curve.delta(float(epsilon), rtol=1e-12)
            assert found.lower == pytest.approx(float(expected[f"delta_eps={epsilon}"][word]), abs=1e-10)
            assert found.upper == pytest.approx(float(expected[f"delta_eps={epsilon}"][word]), abs=1e-10)
    if "mu_cap_X" in expected:
        low, high = release.bound().mu
        assert low <= float(expected["mu_cap_X"]) <= high


def test_the_confounder_is_over_and_underestimated():
    assert RELEASES["location_D1_tau1_sigma1_k2"]().ignoring_confounder().direction == OVER
    assert RELEASES["plane_corr_minus_half"]().ignoring_confounder().direction == UNDER
    assert RELEASES["plane_corr_half_D10"]().ignoring_confounder().direction == UNDER
    single = gaussian_world([0, 1], 1).release(1).ignoring_confounder()
    assert single.direction == SAME
    assert "agrees" in single.explain(1e-3)


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_the_direction_rule(size, seed):
    """The sign of D'(C^-1 - diag(C)^-1)D decides at every epsilon and delta (theory/confounding.md 2.2(5))."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size + 1)).round(2)
    square = (root @ root.T + 0.05 * np.eye(size)).round(6)
    shift = rng.normal(size=size).round(2)
    release = gaussian_world([[0] * size, shift.tolist()], square.tolist()).release(0)
    true = shift @ np.linalg.inv(square) @ shift
    claimed = shift @ (shift / np.diag(square))
    ignoring = release.ignoring_confounder()
    if abs(true - claimed) > 1e-6 * (true + claimed):
        assert ignoring.direction == (OVER if claimed > true else UNDER)
        epsilon = 0.5 * math.sqrt(true * claimed)  # where neither curve is at its end
        truth, claim = release.delta(epsilon), ignoring.delta(epsilon)
        if truth.lower > 1e-280 and truth.upper < 1 - 1e-12 and claim.upper < 1 - 1e-12:
            assert (claim.lower >= truth.lower) == (claimed > true)
        assert ignoring.errs(epsilon) == ignoring.direction


@pytest.mark.parametrize("correlation", [-0.9, -0.5, 0.3, 0.8])
def test_two_correlated_readings(correlation):
    square = [[1, correlation], [correlation, 1]]
    same = gaussian_world([[0, 0], [1, 1]], square).release(0)
    one = gaussian_world([[0, 0], [1, 0]], square).release(0)
    assert same.ignoring_confounder().direction == (OVER if correlation > 0 else UNDER)
    assert one.ignoring_confounder().direction == UNDER
    exact = Fraction(repr(correlation))
    assert same.curve.square == 2 / (1 + exact)
    assert one.curve.square == 1 / (1 - exact**2)


def test_the_location_model_always_overestimates():
    """mu_true^2 = D^2 f(sum p_i), mu_ignoring^2 = D^2 sum f(p_i), f(p) = p/(1 + tau^2 p) subadditive."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        shift, spread = (float(value) for value in rng.uniform(0.1, 3, 2).round(2))
        sigmas = rng.uniform(0.2, 3, rng.integers(2, 6)).round(2).tolist()
        release = gaussian_world([0, shift], spread).release(*sigmas)
        d, tau = Fraction(repr(shift)), Fraction(repr(spread))
        rates = [1 / Fraction(repr(sigma)) ** 2 for sigma in sigmas]
        assert release.curve.square == d**2 * sum(rates) / (1 + tau**2 * sum(rates))
        ignoring = release.ignoring_confounder()
        assert ignoring.claim == d**2 * sum(rate / (1 + tau**2 * rate) for rate in rates)
        assert ignoring.direction == OVER


def test_correlated_noise_of_the_copula_example():
    """y_1 = s + v_1, y_2 = -s + v_2 with corr rho: mu^2 = 2/(1 - rho); the same direction gives 2/(1 + rho)."""
    rho = Fraction("0.99982")
    world = gaussian_world([0, 1], 0)
    noises = noise("gaussian", 1.0, [1.0]), noise("gaussian", 1.0, [-1.0])
    square = [[1, float(rho)], [float(rho), 1]]
    assert world.release(*noises, correlation=square).curve.square == 2 / (1 - rho)
    assert world.release(1, 1, correlation=square).curve.square == 2 / (1 + rho)


# ---- exact arithmetic


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(1, 6), st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_separations_against_floats(size, secrets, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size + 2)).round(3)
    square, means = (root @ root.T).round(9), rng.normal(size=(secrets, size)).round(3)
    found = separations(fractions(square), fractions(means))
    inverse = np.linalg.inv(square)
    for i in range(secrets):
        for j in range(secrets):
            gap = means[i] - means[j]
            assert float(found[i][j]) == pytest.approx(gap @ inverse @ gap, rel=1e-6, abs=1e-12)


def test_separations_solve_the_system_exactly():
    """mu^2 = D'v for the exact solution of C v = D, here by Cramer's rule on a Hilbert matrix."""
    size = 5
    hilbert = [[Fraction(1, i + j + 1) for j in range(size)] for i in range(size)]
    shift = [Fraction(i + 1, 3) for i in range(size)]

    def determinant(rows):
        if len(rows) == 1:
            return rows[0][0]
        return sum(
            (-1) ** j * rows[0][j] * determinant([[*row[:j], *row[j + 1 :]] for row in rows[1:]])
            for j in range(len(rows))
        )

    whole = determinant(hilbert)
    solution = [
        determinant([[shift[i] if j == k else hilbert[i][j] for j in range(size)] for i in range(size)]) / whole
        for k in range(size)
    ]
    exact = sum(a * b for a, b in zip(shift, solution, strict=True))
    assert separations(hilbert, [[Fraction(0)] * size, shift])[0][1] == exact


def test_singular_covariances():
    zero, one = Fraction(0), Fraction(1)
    flat = [[one, one], [one, one]]  # no noise along (1, -1)
    assert separations(flat, [[zero, zero], [one, zero]])[0][1] is None
    assert separations(flat, [[zero, zero], [one, one]])[0][1] == 1
    assert separations(flat, [[5 * one, 2 * one], [6 * one, 3 * one]])[0][1] == 1  # a common offset separates nothing
    assert separations([[zero]], [[zero], [zero]])[0][1] == 0
    assert separations([[zero, zero], [zero, one]], [[zero, zero], [zero, 3 * one]])[0][1] == 9
    assert worst_square(separations(flat, [[zero, zero], [one, zero], [one, one]]), [(0, 2)]) == 1
    assert worst_square(separations(flat, [[zero, zero], [one, zero], [one, one]]), [(0, 2), (0, 1)]) is None
    assert marginal_separations([[zero, zero], [zero, one]], [[zero, zero], [one, one]])[0][1] is None


@pytest.mark.parametrize("square", [[[-1]], [[1, 2], [2, 1]], [[0, 1], [1, 0]], [[0, 1], [1, 5]]])
def test_what_is_no_covariance_is_refused(square):
    rows = [[Fraction(value) for value in row] for row in square]
    with pytest.raises(InvalidParameter, match="semidefinite"):
        separations(rows, [[Fraction(0)] * len(rows)])


def test_forty_dimensions():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(40, 45)).round(2)
    square = (root @ root.T).round(4)
    shift = rng.normal(size=40).round(2)
    release = gaussian_world([[0] * 40, shift.tolist()], square.tolist()).release(0.5)
    expected = shift @ np.linalg.inv(square + 0.25 * np.eye(40)) @ shift
    assert float(release.curve.square) == pytest.approx(expected, rel=1e-9)


@given(st.fractions(min_value=0, max_value=10**30))
def test_roots_are_enclosed_however_they_are_read(square):
    low, high = root_ends(square)
    for reading in (Fraction(low), Fraction(repr(low))):
        assert reading**2 <= square or low == high
    for reading in (Fraction(high), Fraction(repr(high))):
        assert reading**2 >= square or low == high
    assert high - low <= 1e-15 * high


def test_product():
    two = [[Fraction(1), Fraction(2)], [Fraction(3), Fraction(4)]]
    assert product(two, two) == [[7, 10], [15, 22]]


# ---- the curve at its ends


def test_nothing_and_everything():
    nothing, everything = GaussianCurve(Fraction(0)), GaussianCurve(None)
    assert isinstance(nothing, Curve)
    assert nothing.epsilon(0.0).upper == 0.0
    assert nothing.delta(0.0).upper == 0.0
    assert nothing.delta(-1.0).lower == pytest.approx(-math.expm1(-1.0), abs=1e-15)
    assert 0.7 in nothing.beta(0.3)
    assert everything.epsilon(0.5).lower == math.inf
    assert everything.epsilon(1.0).upper == 0.0
    assert everything.delta(50.0).lower == 1.0
    assert everything.beta(0.0).upper == 0.0


def test_mu_beyond_the_engine():
    small, large = GaussianCurve(Fraction(1, 10**220)), GaussianCurve(Fraction(10**220))
    assert small.delta(0.0).lower == 0.0
    assert 0 < small.delta(0.0).upper < 1e-99
    assert large.delta(5.0).upper == 1.0
    assert large.epsilon(0.01).upper == math.inf
    assert large.beta(0.2).lower == 0.0
    assert GaussianCurve(Fraction(10**6)).delta(5.0).lower > 1 - 1e-9


def test_it_keeps_arrays_and_certificates():
    curve = GaussianCurve(Fraction(2, 3), certified=False)
    found = curve.delta([[0.0, 1.0]])
    assert found.shape == (1, 2)
    with pytest.raises(NotCertified):
        _ = found.safe
    with pytest.raises(InvalidParameter):
        curve.delta(math.nan)
