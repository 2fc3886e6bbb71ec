"""Regions: hulls, inclusion, membership and area, on given points and on compositions."""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf
from tests.curves.exact import ExactProfile
from tests.curves.strategies import profiles
from tests.truth import constraints as truth
from tests.truth.numbers import mp

import quiltwork as qw
from quiltwork.curves import Curve, Profile, Region, TradeOff
from quiltwork.errors import InvalidParameter, Unsupported

Pair = tuple[Profile, ExactProfile]
Loss = dict[tuple[int, ...], mpf]


def composed(constraints: list[tuple[str, str]], k: int) -> Region:
    """The exact region of the k-fold composition of one or two constraints, by enumeration at 40 digits.

    Weights by the two-constraint theorem (theory/multi-constraints.md, section 2), then all outputs.
    """
    with mpmath.workdps(40):
        points = [(mpf(e), mpf(d)) for e, d in constraints]
        (e1, d1) = points[0]
        if len(points) == 1:
            classes = [(e1, mpf(1))]
        else:
            e2, d2 = points[1]
            other = (d2 - d1) * (1 + mpmath.exp(-e1)) / ((1 - d1) * -mpmath.expm1(e2 - e1))  # weight of e1
            classes = [(e1, other), (e2, 1 - other)]
        outputs = [(sign * e, w / (1 + mpmath.exp(-sign * e))) for e, w in classes for sign in (1, -1)]
        law: dict[mpf, mpf] = defaultdict(mpf)
        for choice in itertools.product(outputs, repeat=k):
            loss = mpmath.nint(sum(e for e, _ in choice) * 10**20) / 10**20
            law[loss] += mpmath.fprod(p for _, p in choice)
        kept = (1 - d1) ** k
        knots = sorted(loss for loss in law if loss >= 0)
        deltas = [
            1 - kept + kept * sum(p * -mpmath.expm1(e - loss) for loss, p in law.items() if loss > e)
            for e in (mpf(0), *knots)
        ]
        return Region(Profile([0.0, *map(float, knots)], [float(d) for d in deltas], symmetric=True))


def test_composed_reference_values() -> None:
    # reference/multi-constraints.json, fig2, k=3: delta_exact and delta_single_2
    both = composed([("0.3", "0"), ("0.15", "0.02")], 3)
    assert both.delta([0.0, 0.25, 0.5]).midpoint == pytest.approx(
        [0.1396368456027596294, 0.05385332782323497073, 0.01315119778932071743], rel=1e-13
    )
    single = composed([("0.15", "0.02")], 3)
    assert single.delta([0.0, 0.25, 0.5]).midpoint == pytest.approx(
        [0.1642965924650097068, 0.08529103164687204105, 0.058808], rel=1e-13
    )


def test_intersection_is_the_hull_not_the_pointwise_minimum() -> None:
    # theory/multi-constraints.md, item 16 (seed 002, Fig. 2 and Remark 2, k = 3): .0720053 against .0776067
    eta = "0.09336249687374911691223076"  # total variation of (0.15, 0.02), Remark 2 with its typo corrected
    one, two = composed([("0.3", "0"), ("0", eta)], 3), composed([("0.15", "0.02")], 3)
    both = one.intersection(two)
    pointwise = np.minimum(one.delta(0.25).midpoint, two.delta(0.25).midpoint)
    assert pointwise == pytest.approx(0.07760666087613530340, rel=1e-13)
    assert both.delta(0.25).midpoint == pytest.approx(0.07200534267647575603, rel=1e-13)
    assert both.delta([0.0, 0.5, 1.0]).midpoint == pytest.approx(
        [0.1591128664492272620, 0.02922449067717423399, 0.0], rel=1e-13, abs=1e-15
    )
    # Remark 1: the two single constraints, k = 3, epsilon = .5
    remark_1 = composed([("0.3", "0")], 3).intersection(two)
    assert remark_1.delta(0.5).midpoint == pytest.approx(0.05350255219743237305, rel=1e-13)
    exact = composed([("0.3", "0"), ("0.15", "0.02")], 3)
    assert both.includes(exact)
    assert remark_1.includes(both)
    assert not exact.includes(both)
    assert exact.area() < both.area() < remark_1.area()


@given(profiles(), profiles(), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6))
def test_intersection_has_the_larger_tradeoff_function(one: Pair, two: Pair, alphas: list[float]) -> None:
    first, second = Region(one[0]), Region(two[0])
    both = first.intersection(second)
    assert first.includes(both)
    assert second.includes(both)
    higher = np.maximum(first.beta(alphas).midpoint, second.beta(alphas).midpoint)
    if one[0].symmetric and two[0].symmetric:
        # max(f, g) is convex already, so the intersection's boundary is exactly that
        assert np.asarray(both.beta(alphas).midpoint) == pytest.approx(higher, abs=1e-11)
    else:
        assert np.all(np.asarray(both.beta(alphas).upper) >= higher - 1e-11)
    assert both.area() <= min(first.area(), second.area()) + 1e-11


@given(profiles(), st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)), min_size=1, max_size=6))
def test_contains_is_symmetric_under_complement(pair: Pair, points: list[tuple[float, float]]) -> None:
    region = Region(pair[0])
    for alpha, beta in points:
        alpha, beta = round(alpha, 6), round(beta, 6)
        inside = region.contains(alpha, beta)
        if abs(beta - region.beta(alpha).midpoint) > 1e-9 and abs(1 - beta - region.beta(1 - alpha).midpoint) > 1e-9:
            assert inside == region.contains(1 - alpha, 1 - beta)
            assert inside == (region.beta(alpha).midpoint <= beta <= 1 - region.beta(1 - alpha).midpoint)
    corners = region.vertices
    assert np.all(region.tradeoff().beta(corners[:, 0]).lower <= corners[:, 1])
    assert np.all(region.contains([0.0, 0.5, 1.0], [1.0, 0.5, 0.0]))  # blind guessing is always possible


def test_faces_vertices_and_area() -> None:
    region = Region(Profile([0.3, 0.15], [0.0, 0.02], symmetric=True))
    assert isinstance(region, Curve)
    assert region.epsilons.tolist() == [0.15, 0.3]
    assert region.deltas.tolist() == [0.02, 0.0]
    # (0, 1), the meeting of the two lines, the fixed point (c, c), and their mirror images
    x = 0.02 / (np.exp(0.3) - np.exp(0.15))
    c = 0.98 / (1 + np.exp(0.15))
    corners = [(0, 1), (x, 1 - np.exp(0.3) * x), (c, c), (1 - np.exp(0.3) * x, x), (1, 0)]
    assert region.vertices == pytest.approx(np.array(corners), abs=1e-13)
    assert Region(Profile([0.0], [0.0], symmetric=True)).area() == pytest.approx(0.0, abs=1e-14)
    assert Region(Profile([0.0], [1.0], symmetric=True)).area() == 1.0
    coin = Region(Profile([np.log(3)], [0.0], symmetric=True))
    assert coin.area() == pytest.approx(0.5, abs=1e-13)  # the square (0,1), (1/4,1/4), (1,0), (3/4,3/4)
    assert coin.polygon.shape == (6, 2)
    assert coin.epsilon(0.0).upper == np.log(3)


def test_of_accepts_straight_curves_only() -> None:
    profile = Profile([1.0], [0.1], symmetric=True)
    assert Region.of(profile).profile is profile
    assert Region.of(profile.tradeoff()).includes(Region(profile))
    assert Region.of(profile.region()) == profile.region()
    assert TradeOff([0.0, 1.0], [0.5, 0.0]).region().delta(np.inf).upper == 0.5
    with pytest.raises(Unsupported):
        Region.of("a curve")
    with pytest.raises(InvalidParameter):
        Region(profile).contains(0.1, 1.5)


def test_regions_that_hide_nothing() -> None:
    nothing, some = Region(Profile([0.0], [1.0])), Region(Profile([1.0], [0.1], symmetric=True))
    assert nothing.includes(some)
    assert not some.includes(nothing)
    assert nothing.intersection(nothing).area() == 1.0
    assert nothing.intersection(some).delta(1.0).upper == pytest.approx(0.1)


# ---- regions of compositions

FIGURE_2 = [(0.3, 0.0), (0.15, 0.02)]
SETS = {
    "two": [(0.3, 0.0), (0.15, 0.02)],
    "three": [(1.0, 0.01), (0.5, 0.1), (0.0, 0.3)],
    "one": [(0.7, 0.05)],
    "pure": [(0.7, 0.0)],
    "variation": [(0.0, 0.2)],
    "unequal": [(0.813, 0.001), (0.307, 0.11)],
}


def spelled(points: list[tuple[float, float]]) -> list[tuple[str, str]]:
    return [(repr(epsilon), repr(delta)) for epsilon, delta in points]


def test_composed_intersection_is_the_hull() -> None:
    """Figure 2, k = 3, epsilon = .25: .0720053 for both guarantees together, .0776067 for the better of the two."""
    eta = 0.09336249687374911691223076
    one, two = (3 * qw.constraints([(0.3, 0.0), (0.0, eta)])).region(), (3 * qw.approximate(0.15, 0.02)).region()
    both = one.intersection(two)
    smaller = np.minimum(one.delta(0.25).upper, two.delta(0.25).upper)
    assert smaller == pytest.approx(0.07760666087613530340, rel=1e-12)
    assert both.delta(0.25).upper == pytest.approx(0.07200534267647575603, rel=1e-12)
    assert both.delta(0.25).lower == pytest.approx(0.07200534267647575603, rel=1e-12)
    exact, remark_1 = (3 * qw.constraints(FIGURE_2)).region(), (3 * qw.pure(0.3)).region().intersection(two)
    for outer, inner in ((both, exact), (remark_1, both), (remark_1, exact), (one, both), (two, both)):
        assert outer.includes(inner)
        assert not inner.includes(outer)
    assert both.intersection(exact).area() == pytest.approx(exact.area(), rel=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_more_releases_mean_a_larger_region(name: str) -> None:
    once = qw.constraints(SETS[name])
    regions = [once.region(k) for k in range(1, 6)]
    for fewer, more in itertools.pairwise(regions):
        assert more.includes(fewer)
        assert not fewer.includes(more)
        assert fewer.area() < more.area()
        assert fewer.intersection(more).area() == pytest.approx(fewer.area(), rel=1e-12)
    assert all(region.includes(region) for region in regions)


@pytest.mark.parametrize("k", [1, 4])
def test_more_constraints_mean_a_smaller_region(k: int) -> None:
    points = SETS["three"]
    everything = qw.constraints(points).region(k)
    for left_out in range(len(points)):
        fewer = qw.constraints(points[:left_out] + points[left_out + 1 :]).region(k)
        assert fewer.includes(everything)
        assert not everything.includes(fewer)


@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize("name", SETS)
def test_composed_area_and_corners(name: str, k: int) -> None:
    """Against the polygon in many digits; corners that are not known to the last digit are moved outward."""
    law = truth.composed([(spelled(SETS[name]), k)])
    corners = [*truth.vertices(law), (mp.one, mp.zero)]
    region = qw.constraints(SETS[name]).region(k)
    assert region.area() == pytest.approx(float(truth.area(corners)), rel=1e-12)
    for alpha, beta in corners:
        inner = towards_the_middle(float(alpha)), towards_the_middle(float(beta))
        assert region.contains(*inner)
        assert region.contains(1.0 - inner[0], 1.0 - inner[1])
    for alpha, beta in region.vertices:
        assert beta <= law.beta(mp.mpf(float(alpha))) + mp.mpf("1e-16")  # never above the truth
        assert beta >= law.beta(mp.mpf(float(alpha))) * (1 - mp.mpf("1e-12")) - mp.mpf("1e-14")


def towards_the_middle(error: Any) -> Any:
    """An error pair with both of its numbers moved so is nearer to blind guessing, which every region holds."""
    return error + (0.5 - error) * 1e-12


def all_tests(p: list[float], q: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Type I and type II error of every deterministic test: reject Q on each subset of the outcomes."""
    alphas, betas = np.zeros(1), np.ones(1)
    for a, b in zip(p, q, strict=True):
        alphas = np.concatenate((alphas, alphas + b))
        betas = np.concatenate((betas, betas - a))
    return alphas, betas


@pytest.mark.parametrize(
    ("points", "k"), [(SETS["two"], 2), (SETS["pure"], 4), (SETS["one"], 2), ([(1.0, 0.0), (0.4, 0.1)], 2)]
)
def test_every_test_of_the_tight_pair_is_inside_and_the_best_are_on_the_boundary(
    points: list[tuple[float, float]], k: int
) -> None:
    p, q = truth.joint([truth.pair(points)] * k)
    seen = [(float(a), float(b)) for a, b in zip(p, q, strict=True) if a or b]
    region = qw.constraints(points).region(k)
    alphas, betas = (np.clip(x, 0.0, 1.0) for x in all_tests([a for a, _ in seen], [b for _, b in seen]))
    assert len(alphas) >= 2**14
    hair = 1e-14  # rounding of up to sixteen additions
    assert np.all(region.contains(towards_the_middle(alphas), towards_the_middle(betas)))
    # no test does better than the lower boundary, and its corners are tests
    assert np.all(betas >= np.asarray(region.beta(alphas).lower) - hair)
    for alpha, beta in region.vertices[:-1]:
        assert np.min(np.hypot(alphas - alpha, betas - beta)) < 1e-12
    # a step beyond the best tests is outside, on either side of the region
    best = np.nonzero(betas <= np.asarray(region.beta(alphas).upper) + hair)[0]
    best = best[(betas[best] > 1e-6) & (alphas[best] < 1 - 1e-6)]
    assert best.size
    assert not np.any(region.contains(alphas[best], betas[best] - 1e-9))
    assert not np.any(region.contains(1 - alphas[best], 1 - betas[best] + 1e-9 * (betas[best] >= 1e-9)))


def test_composed_region_in_one_order() -> None:
    """Asymmetric laws: intersections and inclusion look at both orders of the two worlds."""
    one = qw.pair([0.5, 0.3, 0.2], [0.25, 0.25, 0.5]).direction("remove")
    twice, thrice = one.region(2), one.region(3)
    assert thrice.includes(twice)
    assert not twice.includes(thrice)
    outcomes = list(itertools.product([Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)], repeat=2))
    others = list(itertools.product([Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)], repeat=2))
    total_variation = sum(max(a * b - c * d, Fraction(0)) for (a, b), (c, d) in zip(outcomes, others, strict=True))
    assert twice.delta(0.0).upper == pytest.approx(float(total_variation), rel=1e-12)
