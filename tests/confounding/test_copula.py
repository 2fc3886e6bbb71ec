from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import kstest
from tests.examples import examples

from quiltwork.confounding.copula_noise import CopulaPerturbation, effective_correlation, gaussian_copula, rectangles
from quiltwork.curves import Curve, Guarantee
from quiltwork.errors import InvalidParameter

RHOS = st.decimals("-0.999", "0.999", places=3).map(float)
SPREADS = st.decimals("0.01", "500", places=2).map(float)
SHIFTS = st.tuples(*[st.decimals("-5", "5", places=2).map(float)] * 2)
LOADINGS = st.tuples(*[st.integers(-8, 8)] * 4)


# ---- the paper's printed claims, which fail below


def printed_calibration(epsilon: float, delta: float) -> float:
    """Appendix G: the latent noise has standard deviation w C / epsilon, w = 2 log(2 / delta), here with C = 1."""
    return 2.0 * math.log(2.0 / delta) / epsilon


def optimal_composition(stated: list[tuple[float, float]], delta: float) -> float:
    """OptComp: the least epsilon of independent releases that are each only known as (epsilon_i, delta_i)."""
    p, q = np.ones(1), np.ones(1)
    for e, d in stated:
        share = (1.0 - d) / (1.0 + math.exp(e))
        law = np.array([d, share * math.exp(e), share, 0.0])
        p, q = np.outer(p, law).ravel(), np.outer(q, law[::-1]).ravel()
    low, high = 0.0, 60.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        over = np.maximum(p - math.exp(middle) * q, 0.0).sum() > delta
        low, high = (middle, high) if over else (low, middle)
    return high


def printed_density(points: np.ndarray, joint: Callable[[np.ndarray], np.ndarray], r: float, sd: float) -> np.ndarray:
    """Proposition 3: the density without the copula, times the copula's density at the marginals."""
    u, v = points[..., 0] / sd, points[..., 1] / sd
    copula = np.exp(-(r * r * (u * u + v * v) - 2 * r * u * v) / (2 * (1 - r * r))) / math.sqrt(1 - r * r)
    return joint(points) * copula


# ---- helpers


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The hockey stick of N(mu, 1) against N(0, 1), in high precision."""
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return float(mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m))


def normal(points: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    form = np.einsum("...i,ij,...j->...", points, np.linalg.inv(covariance), points)
    density: np.ndarray = np.exp(-0.5 * form) / (2 * math.pi * math.sqrt(np.linalg.det(covariance)))
    return density


def true_mu_squared(noise: CopulaPerturbation, shift: tuple[float, float], known: Any = None) -> mpmath.mpf:
    """The same number with the irrational correlation in 60 digits, from the inverse of the matrix."""
    rho, sd, a, b = (mpmath.mpf(repr(x)) for x in (noise.rho, noise.sd, *noise.noises))
    r = rho * sd / mpmath.sqrt(rho**2 * sd**2 + 1 - rho**2)
    total = mpmath.matrix([[a * a, r * a * b], [r * a * b, b * b]])
    if known is not None:
        total += mpmath.matrix([[mpmath.mpf(repr(float(x))) for x in row] for row in known])
    move = mpmath.matrix([mpmath.mpf(repr(x)) for x in shift])
    return (move.T * mpmath.inverse(total) * move)[0]


def as_mpf(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def true_rectangle(a: float, b: float, c: float, d: float, correlation: float) -> mpmath.mpf:
    """One rectangle by adaptive quadrature in 30 digits, cut where the integrand moves."""
    r = mpmath.mpf(correlation)
    s = mpmath.sqrt((1 - r) * (1 + r))

    def inside(x: mpmath.mpf) -> mpmath.mpf:
        low, high = (c - r * x) / s, (d - r * x) / s
        if low > 0:
            low, high = -high, -low
        return mpmath.npdf(x) * (mpmath.ncdf(high) - mpmath.ncdf(low))

    least, most = mpmath.mpf(max(a, -14.0)), mpmath.mpf(min(b, 14.0))
    windows = [mpmath.mpf(k) / r + w * s / abs(r) for k in (c, d) if math.isfinite(k) for w in range(-12, 13, 3)]
    cuts = sorted(x for x in [*windows, *range(-14, 15, 2)] if least < x < most)
    return mpmath.quad(inside, [least, *cuts, most])


# ---- the perturbation


@given(st.floats(-0.999999, 0.999999), st.floats(1e-50, 1e50))
def test_effective_correlation_against_high_precision(rho: float, sd: float) -> None:
    with mpmath.workdps(250):
        r, s = mpmath.mpf(rho), mpmath.mpf(sd)
        true = r * s / mpmath.sqrt(r * r * s * s + 1 - r * r)
        assert abs(effective_correlation(rho, sd) - true) <= 1e-15 * abs(true) + mpmath.mpf("1e-320")


def test_printed_calibration_makes_the_noises_almost_one() -> None:
    assert effective_correlation(0.5, printed_calibration(0.1, 0.02)) == pytest.approx(0.99982, abs=5e-6)


def test_noises_have_the_stated_law_whatever_the_state() -> None:
    """KS of both marginals and the normal-score correlation; fixed seed, false-alarm rate 1e-6 for a fresh one."""
    noise = CopulaPerturbation(0.5, 20.0, noises=(2.0, 0.25))
    draws = noise.sample(np.random.default_rng(5), 50_000, state=3.0)
    for column, sd in enumerate(noise.noises):
        assert kstest(ndtr(draws[:, column] / sd), "uniform").pvalue > 2e-7
    covariance = np.cov(draws.T)
    assert np.abs(covariance / noise.covariance - 1.0).max() < 6.0 * math.sqrt(2.0 / 50_000)
    # a mean that is frozen at 0 tells the state, and breaks the marginals: this must be caught
    rng = np.random.default_rng(5)
    frozen = (3.0 + 20.0 * rng.standard_normal(50_000)) / 20.0
    assert kstest(ndtr(frozen), "uniform").pvalue < 1e-100


def test_the_copula_itself_tells_nothing() -> None:
    """Printed: it leaks (epsilon_c, delta_c), tightly.  The same draws give the same noises for every state."""
    noise = CopulaPerturbation(-0.3, 4.0, noises=(1.0, 2.0))
    one, two = (noise.sample(np.random.default_rng(0), 1000, state=state) for state in (0.0, 7.0))
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-13)
    assert noise.curve((0.0, 0.0)).delta(0.0).safe <= 1e-300
    assert noise.curve((0.0, 0.0)).epsilon(0.0).safe == 0.0


@settings(max_examples=examples(60))
@given(RHOS, SPREADS, SHIFTS, st.tuples(SPREADS, SPREADS), st.none() | LOADINGS)
def test_mu_squared_is_enclosed(
    rho: float, sd: float, shift: tuple[float, float], sds: tuple[float, float], loadings: Any
) -> None:
    noise = CopulaPerturbation(rho, sd, sds)
    known = None
    if loadings is not None:
        a, b, c, d = loadings
        known = [[(a * a + b * b) / 4, (a * c + b * d) / 4], [(a * c + b * d) / 4, (c * c + d * d) / 4]]
    low, high = noise.mu_squared(shift, known)
    with mpmath.workdps(60):
        true = true_mu_squared(noise, shift, known)
        assert as_mpf(low) * (1 - mpmath.mpf("1e-45")) <= true <= as_mpf(high) * (1 + mpmath.mpf("1e-45"))
        assert high - low <= high * Fraction(1, 2**64)
        least, most = noise.mu(shift, known)
        assert mpmath.mpf(least) <= mpmath.sqrt(true) <= mpmath.mpf(most)
        assert most - least <= 16 * math.ulp(most)


def test_mu_squared_survives_noises_that_are_almost_one() -> None:
    """Same direction: 2 (1 - r) / (1 - r^2), where 1 - r is about 1e-110 and would be lost in any float."""
    noise = CopulaPerturbation(0.5, 1e55, noises=(1.0, 1.0))
    low, high = noise.mu_squared((1.0, 1.0))
    assert 1 <= low <= high <= 1 + Fraction(1, 2**60)
    assert noise.mu_squared((1.0, -1.0))[0] > 10**109


def test_exact_cases() -> None:
    half, quarter = Fraction(1, 2), Fraction(3, 4)
    free = CopulaPerturbation(0.0, 1.0, noises=(0.5, 0.5))
    # reference/confounding.json: plane_corr_minus_half has mu = 2, location_D1_tau1_sigma1_k2 mu^2 = 2/3
    assert free.mu_squared((1, 1), [[quarter, -half], [-half, quarter]]) == (4, 4)
    ones = CopulaPerturbation(0.0, 1.0, noises=(1.0, 1.0))
    assert ones.mu_squared((1, 1), np.ones((2, 2))) == (Fraction(2, 3), Fraction(2, 3))
    tilted = CopulaPerturbation(0.6, 1.0, noises=(1.0, 1.0))
    assert tilted.correlation == pytest.approx(0.6, rel=1e-15)  # sd = 1 leaves rho as it is
    assert tilted.mu_squared((1, 0)) == (Fraction(25, 16), Fraction(25, 16))


def test_opposite_and_same_direction() -> None:
    noise = CopulaPerturbation(0.5, 2.0, noises=(1.0, 1.0))
    r = noise.correlation
    assert float(noise.mu_squared((1, -1))[1]) == pytest.approx(2.0 / (1.0 - r), rel=1e-14)
    assert float(noise.mu_squared((1, 1))[1]) == pytest.approx(2.0 / (1.0 + r), rel=1e-14)
    mirrored = CopulaPerturbation(-0.5, 2.0, noises=(1.0, 1.0))
    assert mirrored.mu_squared((1, 1)) == noise.mu_squared((1, -1))


@pytest.mark.parametrize("shift", [(1.0, -1.0), (0.3, 0.4), (0.0, 2.0)])
def test_curve_brackets_hold_the_truth(shift: tuple[float, float]) -> None:
    noise = CopulaPerturbation(0.3, 1.7, noises=(1.0, 0.8))
    curve = noise.curve(shift)
    assert isinstance(curve, Curve)
    with mpmath.workdps(60):
        mu = mpmath.sqrt(true_mu_squared(noise, shift))
    for epsilon in (0.0, 0.5, 2.0):
        true = gaussian_delta(mu, epsilon)
        assert true in curve.delta(epsilon)
        assert curve.delta(epsilon).relative_width < 1e-10
        assert curve.epsilon(true, rtol=1e-9).safe == pytest.approx(epsilon, abs=1e-7)
    beta = float(mpmath.ncdf(-mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf("0.05") - 1) - mu))
    assert beta == pytest.approx(curve.beta(0.05).safe, rel=1e-12)
    assert curve.delta(np.array([0.0, 1.0])).shape == (2,)


def test_guarantee_has_its_words() -> None:
    promise = CopulaPerturbation(0.5, 2.0, noises=(1.0, 1.0)).guarantee((0.1, 0.1))
    assert isinstance(promise, Guarantee)
    assert "Gaussian" in promise.explain(0.01)


# ---- what the paper prints


def test_printed_theorem_4_ii_promises_far_too_little() -> None:
    """y_1 = s + v_1, y_2 = -s + v_2, noises of sd 1, copula by the printed calibration at (0.1, 0.02)."""
    noise = CopulaPerturbation(0.5, printed_calibration(0.1, 0.02), noises=(1.0, 1.0))
    single = float(CopulaPerturbation(0.0, 1.0, noises=(1.0, 1.0)).curve((1.0, 0.0)).epsilon(0.02, rtol=1e-9).safe)
    promised = optimal_composition([(0.1, 0.02), (single, 0.02), (single, 0.02)], 0.06)
    true = noise.curve((1.0, -1.0)).epsilon(0.06)
    assert promised == pytest.approx(4.138, abs=5e-4)
    assert 5820.0 < true.lower <= true.upper < 5822.0
    assert noise.mu((1.0, -1.0))[1] == pytest.approx(106.4, abs=0.05)
    # in the same direction the tie helps: less than with independent noises
    free = CopulaPerturbation(0.0, 1.0, noises=(1.0, 1.0))
    assert noise.curve((1.0, 1.0)).epsilon(0.06).safe < free.curve((1.0, 1.0)).epsilon(0.06).lower


def test_printed_proposition_3_is_no_density() -> None:
    """x | s ~ N(s, 1), y_i = x + v_i, correlation 1/2: the printed density integrates to 4/3."""
    line = np.linspace(-12.0, 12.0, 481)
    points = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1)
    cell = (line[1] - line[0]) ** 2
    shared, free = np.ones((2, 2)), np.eye(2)
    printed = printed_density(points, lambda y: normal(y, shared + free), 0.5, math.sqrt(2.0))
    true = normal(points, shared + np.array([[1.0, 0.5], [0.5, 1.0]]))
    assert true.sum() * cell == pytest.approx(1.0, abs=1e-6)
    assert printed.sum() * cell == pytest.approx(4.0 / 3.0, abs=1e-4)
    assert np.abs(printed - true).sum() * cell == pytest.approx(0.3745, abs=1e-3)
    # its privacy loss is not the true one either
    tied = CopulaPerturbation(0.5, 1.0, noises=(1.0, 1.0))
    precision = np.linalg.inv(shared + free) + (np.linalg.inv([[1.0, 0.5], [0.5, 1.0]]) - free) / 2.0
    assert float(tied.mu_squared((1, 1), shared)[1]) == pytest.approx(4.0 / 7.0, rel=1e-15)
    assert precision.sum() == pytest.approx(1.0 / 3.0)


@pytest.mark.parametrize(
    ("delta", "threshold"), [(0.5, 16.3), (0.1, 57.6), (0.02, 133.0), (1e-3, 369.0), (1e-5, 985.0)]
)
def test_printed_calibration_is_unsound_from_some_epsilon_on(delta: float, threshold: float) -> None:
    """w = 2 log(2/delta): enough noise below the threshold (far too much at epsilon = 1), too little above it."""
    for epsilon, sound in ((1.0, True), (0.99 * threshold, True), (1.01 * threshold, False)):
        free = CopulaPerturbation(0.0, 1.0, noises=(printed_calibration(epsilon, delta), 1.0))
        found = free.curve((1.0, 0.0)).delta(epsilon)
        assert (found.upper <= delta) if sound else (found.lower > delta)
    over = CopulaPerturbation(0.0, 1.0, noises=(printed_calibration(1.0, delta) / 4.0, 1.0))
    assert over.curve((1.0, 0.0)).delta(1.0).upper <= delta


# ---- rectangles


@pytest.mark.parametrize("correlation", [0.3, -0.6, 0.95, -0.999, 1 - 1e-7, -1 + 1e-14])
def test_rectangles_against_quadrature(correlation: float) -> None:
    first, second = np.array([-math.inf, -1.3, 0.4, math.inf]), np.array([-math.inf, -0.7, 1.9, math.inf])
    found = rectangles(first, second, correlation)
    with mpmath.workdps(25):
        for i, j in ((0, 0), (0, 2), (1, 1), (2, 0)):
            true = true_rectangle(first[i], first[i + 1], second[j], second[j + 1], correlation)
            assert abs(found[i, j] - true) <= 1e-15 + 1e-13 * true
            if true > 1e-30:
                assert abs(found[i, j] / true - 1) <= (1e-11 if true > 1e-15 else 1e-4)


def test_small_rectangles_keep_their_digits() -> None:
    edges = np.array([-math.inf, -7.0, 7.0, math.inf])
    with mpmath.workdps(40):
        true = true_rectangle(-math.inf, -7.0, 7.0, math.inf, 0.3)
    assert 1e-40 < true < 1e-25
    assert abs(rectangles(edges, edges, 0.3)[0, 2] / true - 1) < 1e-6


@given(st.floats(-0.9999999, 0.9999999))
def test_quadrants_have_a_closed_form(correlation: float) -> None:
    """P(Z_1 < 0, Z_2 < 0) = 1/4 + asin(r) / 2 pi."""
    half = np.array([-math.inf, 0.0, math.inf])
    found = rectangles(half, half, correlation)
    assert found[0, 0] == pytest.approx(0.25 + math.asin(correlation) / (2 * math.pi), abs=1e-14)
    assert found[0, 0] == pytest.approx(found[1, 1], abs=1e-15)


# ---- the finite copula

PARTS = st.lists(st.integers(0, 50), min_size=1, max_size=5).filter(lambda row: sum(row) > 0)


def law(parts: list[int]) -> list[float]:
    return [part / sum(parts) for part in parts]


@settings(max_examples=examples(80))
@given(PARTS, PARTS, st.floats(-1.0, 1.0) | st.sampled_from([-1.0, 0.0, 1.0]))
def test_tables_are_laws_with_the_given_marginals(one: list[int], two: list[int], correlation: float) -> None:
    p, q = law(one), law(two)
    table = gaussian_copula([p], [q], correlation)
    assert table.shape == (1, len(p) * len(q))
    assert table.min() >= 0.0
    assert math.fsum(table[0]) == 1.0
    joint = table.reshape(len(p), len(q))
    np.testing.assert_allclose(joint.sum(axis=1), p, rtol=0, atol=1e-15)
    np.testing.assert_allclose(joint.sum(axis=0), q, rtol=0, atol=1e-15)
    assert not joint[np.array(p) == 0].any()
    assert not joint[:, np.array(q) == 0].any()


def test_rows_are_rectangles() -> None:
    first, second = [[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]], [[0.6, 0.4], [0.25, 0.75]]
    table = gaussian_copula(first, second, -0.45).reshape(2, 3, 2)
    with mpmath.workdps(25):
        for x in range(2):
            cut = [-math.inf, *(float(mpmath.sqrt(2) * mpmath.erfinv(2 * c - 1)) for c in np.cumsum(first[x])[:-1])]
            turn = float(mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(second[x][0]) - 1))
            for y in range(3):
                true = true_rectangle(cut[y], [*cut, math.inf][y + 1], -math.inf, turn, -0.45)
                assert table[x, y, 0] == pytest.approx(float(true), abs=1e-13)


def test_independence_and_both_ends() -> None:
    p, q = [[0.1, 0.2, 0.7], [0.25, 0.5, 0.25]], [[0.3, 0.7], [0.5, 0.5]]
    product = np.einsum("xi,xj->xij", p, q).reshape(2, 6)
    np.testing.assert_allclose(gaussian_copula(p, q, 0.0), product, atol=1e-16)
    # 0.1 + 0.2 is 0.3, though the doubles differ: no outcome of probability 5e-17
    np.testing.assert_array_equal(
        gaussian_copula(p, q, 1.0), [[0.1, 0, 0.2, 0, 0, 0.7], [0.25, 0, 0.25, 0.25, 0, 0.25]]
    )
    against = [[0, 0.1, 0, 0.2, 0.3, 0.4], [0, 0.25, 0.25, 0.25, 0.25, 0]]
    np.testing.assert_array_equal(gaussian_copula(p, q, -1.0), against)
    thirds = gaussian_copula([[1 / 3, 1 / 3, 1 / 3]], [[2 / 3, 1 / 3]], 1.0)
    assert np.count_nonzero(thirds) == 3
    exact = gaussian_copula([[Fraction(1, 3), Fraction(2, 3)]], [["1/2", "1/2"]], 1.0)
    np.testing.assert_allclose(exact, [[1 / 3, 0, 1 / 6, 1 / 2]], atol=1e-16)


def test_ends_are_limits() -> None:
    p, q = [[0.15, 0.25, 0.6]], [[0.35, 0.65]]
    for end in (1.0, -1.0):
        near = gaussian_copula(p, q, end * (1 - 1e-15))
        np.testing.assert_allclose(near, gaussian_copula(p, q, end), atol=1e-7)


def test_tiny_entries_stay() -> None:
    table = gaussian_copula([[1e-25, 1.0]], [[1e-25, 1.0]], 0.2).reshape(2, 2)
    assert 1e-50 < table[0, 0] < 1e-35
    assert gaussian_copula([[1e-25, 1.0]], [[0.5, 0.5]], 1.0)[0, 0] == 1e-25


def test_more_correlation_puts_more_on_the_corner() -> None:
    corners = [gaussian_copula([[0.4, 0.6]], [[0.3, 0.7]], r)[0, 0] for r in (-1, -0.7, -0.1, 0, 0.1, 0.8, 1)]
    assert np.all(np.diff(corners) > 0)


# ---- refusals


@pytest.mark.parametrize("rho", [1.0, -1.0, 2.0, math.nan, True, "half", None])
def test_bad_rho(rho: Any) -> None:
    with pytest.raises(InvalidParameter):
        CopulaPerturbation(rho, 1.0, noises=(1.0, 1.0))
    with pytest.raises(InvalidParameter):
        effective_correlation(rho, 1.0)


@pytest.mark.parametrize("sd", [0.0, -1.0, math.inf, math.nan, 1e200, True, None])
def test_bad_spreads(sd: Any) -> None:
    with pytest.raises(InvalidParameter):
        CopulaPerturbation(0.5, sd, noises=(1.0, 1.0))
    with pytest.raises(InvalidParameter):
        CopulaPerturbation(0.5, 1.0, noises=(1.0, sd))


@pytest.mark.parametrize("noises", [(1.0,), (1.0, 1.0, 1.0), 1.0, "ab", None])
def test_bad_pairs(noises: Any) -> None:
    with pytest.raises(InvalidParameter):
        CopulaPerturbation(0.5, 1.0, noises=noises)


@pytest.mark.parametrize("shift", [(1.0,), (math.nan, 1.0), (True, 1.0), 1.0, (math.inf, 0.0), (1e200, 0.0)])
def test_bad_shifts(shift: Any) -> None:
    with pytest.raises(InvalidParameter):
        CopulaPerturbation(0.5, 1.0, noises=(1.0, 1.0)).curve(shift).delta(1.0)


NOT_COVARIANCES = [
    [[1, 2], [2, 1]],
    [[1, 0.5], [0.4, 1]],
    [[-1, 0], [0, 1]],
    [[1, 0, 0], [0, 1, 0]],
    [[math.nan, 0], [0, 1]],
    3,
]


@pytest.mark.parametrize("covariance", NOT_COVARIANCES)
def test_bad_covariances(covariance: Any) -> None:
    with pytest.raises(InvalidParameter):
        CopulaPerturbation(0.5, 1.0, noises=(1.0, 1.0)).mu_squared((1, 1), covariance)


def test_bad_samples() -> None:
    noise = CopulaPerturbation(0.5, 1.0, noises=(1.0, 1.0))
    for rng, size, state in ((7, 3, 0.0), (np.random.default_rng(0), -1, 0.0), (np.random.default_rng(0), 3, math.nan)):
        with pytest.raises(InvalidParameter):
            noise.sample(rng, size, state)  # type: ignore[arg-type]


@pytest.mark.parametrize("correlation", [1.0000001, -2.0, math.nan, True, None, "0"])
def test_bad_correlations(correlation: Any) -> None:
    with pytest.raises(InvalidParameter):
        gaussian_copula([[1.0]], [[1.0]], correlation)


@pytest.mark.parametrize(
    "table", [[[0.5, 0.6]], [[-0.5, 1.5]], [[math.nan, 1.0]], [], [[]], [0.5, 0.5], [[1.0], [1.0]]]
)
def test_bad_tables(table: Any) -> None:
    with pytest.raises(InvalidParameter):
        gaussian_copula([[1.0]], table, 0.5)
