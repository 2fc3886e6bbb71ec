"""Adaptive releases of bounded range: the recursion, written out naively in many digits, and its closed forms."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from tests.truth.numbers import mp

import quiltwork as qw
from quiltwork.compose.engines import bounded_range
from quiltwork.compose.engines.bounded_range import BoundedRangeEngine
from quiltwork.losses.families.exponential import BoundedRangePair


def _engine(epsilon, count):
    return BoundedRangeEngine.of([(BoundedRangePair(epsilon), count)])


def _naive(epsilon, count, cells, choices):
    """D_k at multiples of eps / cells, the analyst choosing among t = eps j / choices; exact for those."""
    epsilon = mp.mpf(epsilon)
    total = mp.expm1(epsilon)
    grid = [epsilon * j / choices for j in range(choices + 1)]
    chance = [(mp.exp(epsilon) - mp.exp(t)) / total for t in grid]
    fine = cells * choices // math.gcd(cells, choices)  # one lattice for both
    shift = fine // choices
    values = {
        i: max(-mp.expm1(epsilon * i / fine), mp.zero) for i in range(-(count + 1) * fine, (count + 1) * fine + 1)
    }

    def at(i):
        return values[i] if i in values else max(-mp.expm1(epsilon * i / fine), mp.zero) if i < 0 else mp.zero

    for _ in range(count):
        values = {
            i: max(p * at(i - j * shift) + (1 - p) * at(i - j * shift + fine) for j, p in enumerate(chance))
            for i in values
        }
    return {i // (fine // cells): value for i, value in values.items() if i % (fine // cells) == 0}


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("count", [2, 3])
def test_the_lattice_is_the_naive_recursion(epsilon, count, monkeypatch):
    """Below: the same choices. Above: no less than choices that are three times as many."""
    monkeypatch.setattr(bounded_range, "MOST_CELLS", 8)
    engine = _engine(epsilon, count)
    assert engine.cells == 8
    same, finer = _naive(epsilon, count, 8, 8), _naive(epsilon, count, 8, 24)
    middle, missed = engine.x.size // 2, 0
    for i, value in same.items():
        low, high, more = engine.low[middle + i], engine.high[middle + i], finer[i]
        assert low <= value <= high
        assert value <= more * (1 + mp.mpf(10) ** -50)
        assert value - low <= 1e-11 * value
        assert high >= more
        missed += bool(more > value * (1 + mp.mpf(10) ** -9))
    assert missed  # were the lattice taken for an upper bound, this test would see it


@pytest.mark.parametrize(("epsilon", "count"), [(0.3, 2), (1.0, 4), (3.0, 3)])
def test_ends_between_lattice_points(epsilon, count):
    """Two releases from the closed form of one, by a fine choice of t; more by ends that are ordered and fall."""
    engine = _engine(epsilon, count)
    places = np.linspace(-count * epsilon, count * epsilon, 57)[1:-1]
    found = engine.delta(places, 1e-3)
    assert np.all(found.lower <= found.upper)
    assert np.all(np.diff(found.upper) <= 1e-12)
    assert np.all(np.diff(found.lower) <= 1e-12)
    if count == 2:
        one = BoundedRangePair(epsilon).stick
        t = np.linspace(0, epsilon, 20001)[:, None]
        chance = -np.expm1(t - epsilon) / -math.expm1(-epsilon)
        truth = (chance * one(places - t) + (1 - chance) * one(places - t + epsilon)).max(axis=0)
        assert np.all(found.upper >= truth * (1 - 1e-12))
        assert np.all(found.lower <= truth * (1 + 1e-7) + 1e-300)
    low = engine.epsilon(np.array([1e-3, 1e-6, 1e-12, 1e-300]), 1e-3)
    assert np.all(low.lower <= low.upper)
    assert np.all(low.upper <= count * epsilon * (1 + 1e-14))


def test_one_release_in_closed_form():
    for epsilon in (1e-6, 0.2, 1.0, 30.0):
        loss = qw.exponential(epsilon)
        assert loss.advantage().lower <= math.tanh(epsilon / 4) * (1 + 1e-14)
        assert loss.advantage().upper >= math.tanh(epsilon / 4) * (1 - 1e-14)
        for share in (0.01, 0.4, 0.99):
            at = share * epsilon
            exact = (mp.exp(mp.mpf(epsilon) / 2) - mp.exp(mp.mpf(at) / 2)) ** 2 / mp.expm1(epsilon)
            found = loss.delta(at)
            assert found.lower <= exact <= found.upper
            assert found.upper - found.lower <= 1e-9 * exact
        alpha = 0.07
        exact = (1 - mp.mpf(alpha)) / (1 + mp.expm1(epsilon) * mp.mpf(alpha))
        assert loss.beta(alpha).lower <= exact <= loss.beta(alpha).upper
    assert qw.exponential(1.0).delta(0.25).lower <= 0.1546983305530996832909797 <= qw.exponential(1.0).delta(0.25).upper


@pytest.mark.parametrize(
    ("epsilon", "count", "fixed", "low", "high", "envelope"),
    [  # reference/sampling.json: the best fixed t, both ends of the adaptive optimum, and the composed envelope
        (1.0, 30, 15.58546181924812, 15.673223629569085, 15.673679316997482, 17.824652519352808),
        (0.1, 100, 2.24602621245393, 2.2507980196975694, 2.2509767490699963, 2.611773217401370),
    ],
)
def test_adaptive_optimum(epsilon, count, fixed, low, high, envelope):
    found = (count * qw.exponential(epsilon)).epsilon(1e-6)
    assert fixed < found.upper
    assert found.lower <= high
    assert found.upper >= low
    assert found.upper - found.lower <= 1e-3 * found.upper
    assert found.upper < envelope


def test_many_releases_lie_between_the_response_and_the_envelope():
    found = (10_000 * qw.exponential(0.01)).epsilon(1e-6)
    assert found.lower <= 2.254005454809749 * (1 + 1e-3)
    assert 2.254005454809749 <= found.upper < 2.27  # the envelope, composed: 2.640852


@pytest.mark.parametrize(("epsilon", "count"), [(1.0, 7), (0.2, 12)])
def test_blocks_lie_above_the_recursion(epsilon, count, monkeypatch):
    """Releases in blocks of three, each the pair of its own profile, against all of them in one recursion."""
    whole = _engine(epsilon, count)
    monkeypatch.setattr(bounded_range, "MAX_RELEASES", 3)
    bounded_range._blocks.cache_clear()
    blocks = bounded_range.adaptive_pairs([(BoundedRangePair(epsilon), count)])
    bounded_range._blocks.cache_clear()
    assert [n for _, n in blocks] == ([1] if count % 3 else []) + [count // 3]
    masses, losses = np.ones(1), np.zeros(1)
    for pair, n in blocks:
        assert pair.p.sum() == pytest.approx(1.0, abs=1e-8)
        for _ in range(n):
            losses = np.add.outer(losses, pair.losses[pair.p > 1e-12]).ravel()
            masses = np.multiply.outer(masses, pair.p[pair.p > 1e-12]).ravel()
            bins = np.rint(losses / (epsilon / 50)).astype(int)  # a mean keeps P and Q mass only together: up, instead
            top = np.full(bins.max() - bins.min() + 1, -np.inf)
            np.maximum.at(top, bins - bins.min(), losses)
            masses = np.bincount(bins - bins.min(), masses)
            losses, masses = top[masses > 0], masses[masses > 0]
    for place in np.linspace(0.0, 0.8 * count * epsilon, 9):
        above = float((masses * -np.expm1(np.minimum(place - losses, 0.0))).sum())
        least = float(np.interp(place, whole.x, whole.low))
        assert above >= least * (1 - 1e-9) - 1e-10


def test_an_analyst_who_has_seen_all_others():
    """D(x) = E D_k(x - S): attained on the lattice of the recursion, and hardly less than what is said."""
    epsilon, count, sigma = 0.5, 4, 2.0
    loss, engine = count * qw.exponential(epsilon) + qw.gaussian(sigma), _engine(epsilon, count)
    mu = 1 / sigma
    z = np.linspace(-9, 9, 20_001)
    weight = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    for place in (0.0, 0.3, 1.0, 1.5):
        at = place - (mu * z + mu * mu / 2)
        low = np.where(at < engine.x[0], -np.expm1(np.minimum(at, 0)), 0.0)
        inside = (at >= engine.x[0]) & (at < engine.x[-1])
        next_one = np.searchsorted(engine.x, at[inside])  # D falls
        low[inside] = engine.low[np.minimum(next_one, engine.x.size - 1)]
        attained = float((weight * low).sum())
        found = loss.delta(place)
        assert attained <= found.upper * (1 + 1e-9)
        assert found.upper <= attained * 1.02


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
def test_divergences_are_those_of_the_worst_two_outcomes(epsilon):
    t = np.linspace(0.0, epsilon, 200_001)[1:-1]
    likely = np.expm1(t - epsilon) / np.expm1(-epsilon)
    for order in (0.3, 2.0, 30.0, 1000.0):
        tilt = order - 1
        logs = np.logaddexp(np.log(likely) + tilt * t, np.log1p(-likely) + tilt * (t - epsilon))
        truth = 3 * float((logs / tilt).max())
        found = (3 * qw.exponential(epsilon)).renyi(order)
        assert found.lower <= truth * (1 + 1e-6)
        assert truth * (1 - 1e-9) <= found.upper
        assert found.upper - found.lower <= 1e-9 * found.upper
    assert (3 * qw.exponential(epsilon)).renyi(math.inf).lower == pytest.approx(3 * epsilon, rel=1e-12)
    assert (3 * qw.exponential(epsilon)).epsilon(0.0).lower == pytest.approx(3 * epsilon, rel=1e-12)


def test_large_ranges_stay_finite_and_ordered():
    for loss in (2 * qw.exponential(50), 2 * qw.exponential(1e-8)):
        for found in (loss.delta(np.array([-3.0, 0.0, 40.0])), loss.epsilon(np.array([1e-9, 0.5]))):
            assert np.all(found.lower <= found.upper)
            assert not np.any(np.isnan(found.upper))


def test_the_end_of_the_support_is_not_rounded_inward():
    """3 * .1 and the sum of three tenths are different doubles: the divergence at the smaller one is not 0."""
    engine = _engine(0.1, 3)
    top = 3 * mp.mpf(0.1)
    below = np.array([np.nextafter(float(top), 0.0)])
    assert below[0] < top
    assert engine.delta(below, 1e-3).upper[0] > 0


def test_zero_concentrated_cost():
    """E_Q e^(aL) of every release with two outcomes stays below e^(a (a-1) eps^2 / 8)."""
    for epsilon in (0.1, 1.0, 5.0):
        rho = float(qw.exponential(epsilon).parts[0].family.costs().rho)
        assert rho == pytest.approx(epsilon**2 / 8)
        for t in np.linspace(0, epsilon, 41):
            p = math.expm1(epsilon - t) * math.exp(t) / math.expm1(epsilon)
            for order in (1.01, 2.0, 8.0, 64.0):
                moment = np.logaddexp(
                    (np.log(p) if p > 0 else -np.inf) + (order - 1) * t,
                    (np.log1p(-p) if p < 1 else -np.inf) + (order - 1) * (t - epsilon),
                )
                assert moment / (order - 1) <= order * rho * (1 + 1e-9) + 1e-13


def test_where_the_recursion_is_wide_the_dominating_pair_only_helps_from_above():
    """Far in the tail the composed pair tells five thousand times as much as any analyst: no contradiction."""
    size, count = 3.0, 36
    place = 0.8019562015376497 * size * count
    top, t = mpmath.mpf(size), mpmath.mpf(size) * 323 / 400
    likely = (mpmath.exp(top) - mpmath.exp(t)) / mpmath.expm1(top)
    attained = mpmath.fsum(
        mpmath.binomial(count, k) * likely**k * (1 - likely) ** (count - k) * -mpmath.expm1(place - loss)
        for k in range(count + 1)
        if (loss := count * t - (count - k) * top) > place
    )
    found = (count * qw.exponential(size)).delta(place)
    assert attained <= found.upper <= 6e-13
    assert found.lower >= attained * 0.9


def test_far_out_the_response_that_is_attained_does_not_bound_adaptive_releases():
    """Its moments once met the worst adaptive choice, and both were called contradictory."""
    size = 1.1888999123338138 / 20
    places = size * 40 * np.array([0.0, 0.6, 0.75, 0.943])
    found = (40 * qw.exponential(size)).delta(places)
    with mp.workprec(200):
        for t in (size / 2, 0.9 * size, 0.97 * size):
            likely = (mp.exp(size) - mp.exp(t)) / mp.expm1(size)
            for place, upper in zip(places.tolist(), found.upper.tolist(), strict=True):
                attained = mp.fsum(
                    mp.binomial(40, k) * likely**k * (1 - likely) ** (40 - k) * -mp.expm1(place - loss)
                    for k in range(41)
                    if (loss := k * mp.mpf(t) + (40 - k) * (mp.mpf(t) - size)) > place
                )
                assert attained <= upper


def test_what_no_double_holds_is_not_nothing():
    """Blocks end at their largest loss, also where its probability underflows; ranges beyond the recursion are left."""
    for pair, _ in bounded_range.adaptive_pairs([(BoundedRangePair(1.0), 350)]):
        assert pair.high == pytest.approx(200.0 if pair.high > 180 else 150.0, rel=1e-12)
        assert pair.p[-1] >= 1e-300
    assert bounded_range.adaptive_pairs([(BoundedRangePair(60.0), 2), (BoundedRangePair(0.1), 1)]) is None
    loss = 300 * qw.exponential(0.05)
    assert loss.delta(14.99).upper > 0
    assert loss.delta(15.1).upper == 0
    response, alpha = 300 * qw.randomized_response(0.025, 2), np.array([0.01, 0.2, 0.5, 0.9])
    said, attained = loss.beta(alpha), response.beta(alpha)
    assert np.all(said.lower <= attained.upper)
    assert np.all(attained.lower - said.lower <= 0.02)


@pytest.mark.parametrize(("epsilon", "count"), [(1e-6, 8), (1e-4, 3), (1e-3, 8), (1.0, 8), (20.0, 3)])
def test_blocks_are_laws_on_both_sides(epsilon, count):
    """Masses beyond 1 are taken from the upper end of a delta near 1; a mirror has those of Q."""
    choices = count * qw.exponential(epsilon)
    for pair, _ in bounded_range._blocks(epsilon, count):
        assert pair.p.sum() == pytest.approx(1.0, abs=1e-14)
        assert pair.q.sum() == pytest.approx(1.0, abs=1e-14)
    noise = qw.gaussian(50)
    together, alone = (choices + noise).epsilon(1e-6), noise.epsilon(1e-6)
    assert alone.lower <= together.upper
    assert together.lower <= together.upper <= alone.upper + count * epsilon * (1 + 1e-9)
    assert (choices + noise).delta(0.05).upper >= noise.delta(0.05).lower
    said = (choices + noise).beta(0.3)
    assert said.lower <= noise.beta(0.3).upper


@pytest.mark.parametrize(("epsilon", "count"), [(1e-7, 50), (1e-6, 1000), (1e-5, 200)])
def test_ranges_too_small_for_the_recursion_stay_dominating_pairs(epsilon, count):
    """Its rounding once made an upper end 0 where the Gaussian beside the choices alone costs .07."""
    assert bounded_range.adaptive_pairs([(BoundedRangePair(epsilon), count), (BoundedRangePair(1.0), 1)]) is None
    found, noise = (count * qw.exponential(epsilon) + qw.gaussian(50)).epsilon(1e-6), qw.gaussian(50).epsilon(1e-6)
    assert noise.lower <= found.upper <= noise.upper * (1 + 1e-4)


@pytest.mark.parametrize("epsilon", [1e-100, 1e-30, 0.3, 50.0, 1e20])
def test_divergences_of_extreme_ranges_and_orders(epsilon):
    """e^epsilon overflows, or is 1; the order less 1 is -1; all but the last digits of the order are lost."""
    loss = qw.exponential(epsilon)
    found = [loss.renyi(order) for order in (1e-300, 1e-17, 0.5, 2.0, 1e10, 1e300, math.inf)]
    assert all(0 <= one.lower <= one.upper <= epsilon * 1.0001 for one in found[2:5])
    assert all(one.lower <= two.upper for one, two in itertools.pairwise(found))
    with mp.workprec(2000):
        top = mp.mpf(epsilon)
        if epsilon < 1000:
            grown, faded = mp.exp(top), mp.exp(-top)
            y = (grown - faded) / (2 * (1 - faded))
            truth = mp.log(y * (grown - faded - (1 - faded) * y) / (grown - 1))
            assert found[3].lower <= truth <= found[3].upper
