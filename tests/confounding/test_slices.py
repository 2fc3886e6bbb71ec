"""Slices of normal laws: densities, tails, modes, and sticks of their mixtures, against mpmath."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from tests.examples import examples

from quiltwork.confounding.line.binned import tail as tails
from quiltwork.confounding.line.binned.law import Slice, bin_probability, likelihood_order
from quiltwork.confounding.line.binned.window import window
from quiltwork.confounding.line.enclosure.curve import LawTest
from quiltwork.confounding.line.enclosure.cut import stick
from quiltwork.confounding.line.enclosure.difference import TwoLaws
from quiltwork.confounding.line.laws.components import Mixture, Normal
from quiltwork.errors import InvalidParameter, Unsupported

INF = math.inf
PARTS = [
    Slice(0.3, 0.7, -0.5, 1.1, 0.4),
    Slice(0.3, 0.7, -INF, 0.2, 4.0),
    Slice(0.0, 1.0, -INF, INF, 2.0),  # a normal law
    Slice(0.1, 1.0, 30.0, INF, 0.01),  # far out
    Slice(0.0, 1.0, 1e4, INF, 1.0),  # P(bin) = e^-5e7
    Slice(0.0, 1.0, -1e4, -9999.999, 1e-6),
    Slice(0.0, 1.0, 0.5, 0.500001, 0.3),  # a short bin, much and little noise
    Slice(0.0, 1.0, 0.5, 0.500001, 1e-16),
    Slice(1000.1, 1.0, 1001.3, 1001.3000000001, 0.2),
    Slice(0.0, 1.0, -1.1, 2.0, 1e-12),  # almost no noise
    Slice(0.0, 1.0, -1.1, 2.0, 1e12),  # almost only noise
    Slice(-3.3, 0.01, -3.28, -3.27, 1e-4),
]


# ---- truths


def number(value: Fraction) -> mp.mpf:
    return mp.mpf(value.numerator) / value.denominator


def between(a: mp.mpf, b: mp.mpf) -> mp.mpf:
    """Phi(b) - Phi(a) from the nearer tail."""
    root = mp.sqrt(2)
    if a >= 0:
        return (mp.erfc(a / root) - mp.erfc(b / root)) / 2
    if b <= 0:
        return (mp.erfc(-b / root) - mp.erfc(-a / root)) / 2
    return 1 - mp.erfc(-a / root) / 2 - mp.erfc(b / root) / 2


def numbers(part: Slice) -> tuple[mp.mpf, ...]:
    mean, square, noise, low, high = part.bin
    ends = -mp.inf if low is None else number(low), mp.inf if high is None else number(high)
    return number(mean), mp.sqrt(number(square)), mp.sqrt(number(noise)), *ends


def density(part: Slice, y: mp.mpf) -> mp.mpf:
    """As the brief formula says, with digits to spare."""
    mean, sd, noise, low, high = numbers(part)
    total = mp.sqrt(sd**2 + noise**2)
    centre, w = mean + (sd / total) ** 2 * (y - mean), sd * noise / total
    inside = between((low - centre) / w, (high - centre) / w)
    return mp.npdf(y, mean, total) * inside / between((low - mean) / sd, (high - mean) / sd)


@cache
def rule() -> list[tuple[mp.mpf, mp.mpf]]:
    """Gauss-Legendre with 24 nodes, from scratch."""
    n, found = 24, []
    with mp.workdps(50):
        for start in np.polynomial.legendre.leggauss(n)[0]:
            x = mp.findroot(lambda z: mp.legendre(n, z), mp.mpf(start))
            slope = n * (x * mp.legendre(n, x) - mp.legendre(n - 1, x)) / (x * x - 1)
            found.append((x, 2 / ((1 - x * x) * slope**2)))
    assert len({mp.nstr(x, 20) for x, _ in found}) == n
    return found


def tail(part: Slice, y: float, side: int) -> mp.mpf:
    """log P(Y > y) or log P(Y < y): adaptive halving of the integral over the bin, every half trusted to 1e-20."""
    with mp.workdps(30):
        mean, sd, noise, low, high = numbers(part)
        near = min(max(mean, low), high)
        size = between((low - mean) / sd, (high - mean) / sd)
        scale = sd / (1 + abs(near - mean) / sd)
        low, high = max(low, near - 60 * sd), min(high, near + 60 * sd)
        place = mp.mpf(y)
        middle = mean + sd**2 / (sd**2 + noise**2) * (place - mean)

        def log_q(x: mp.mpf) -> mp.mpf:
            return -(((x - mean) / sd) ** 2) / 2 + mp.log(mp.erfc(side * (place - x) / noise / mp.sqrt(2)) / 2)

        places = {place, middle, *(place + k * noise for k in (-12, -3, 3, 12))}
        places |= {near + k * scale for k in (-30, -10, -3, -1, 1, 3, 10, 30, 100)}
        ends = sorted({low, high} | {x for x in places if low < x < high})
        top = max(log_q(x) for x in ends)

        def once(a: mp.mpf, b: mp.mpf) -> mp.mpf:
            half, centre = (b - a) / 2, (a + b) / 2
            return half * mp.fsum(w * mp.exp(log_q(centre + half * x) - top) for x, w in rule())

        found, least, todo = mp.mpf(0), mp.mpf(0), [(a, b, once(a, b)) for a, b in pairwise(ends)]
        least = max(value for _, _, value in todo)
        while todo:
            a, b, value = todo.pop()
            centre = (a + b) / 2
            first, second = once(a, centre), once(centre, b)
            least = max(least, first, second) if found == 0 else max(least, found)
            if abs(first + second - value) < mp.mpf(10) ** -20 * least:
                found += first + second
            else:
                todo += [(a, centre, first), (centre, b, second)]
        return top + mp.log(found / (sd * mp.sqrt(2 * mp.pi)) / size)


def places(part: Slice, steps: tuple[float, ...]) -> np.ndarray:
    """Around both ends of the bin (or where it is taken to end), on the scale of the noise, and between them."""
    shapes = part.shapes([part])
    noise = math.sqrt(part.variance)
    first, last = shapes._first[0, 0], shapes._last[0, 0]
    ends = [end + noise * step for end in (first, last) for step in steps]
    return np.array([*ends, *(first + (last - first) * np.array([0.1, 0.45, 0.9]))])


# ---- one slice


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_density_to_thirty_digits(part):
    x = places(part, (-25.0, -7.0, -2.0, -0.3, 0.0, 0.2, 1.0, 4.0, 12.0))
    low, high = part.density(x, x)
    value, error = part.shapes([part]).log_density(x)
    with mp.workdps(60):
        for index, y in enumerate(x):
            exact = density(part, mp.mpf(y))
            assert low[index] <= exact <= high[index]
            assert abs(mp.log(exact) - mp.mpf(value[0, index])) <= error[0, index]
            assert error[0, index] <= 2e-12


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_tails_are_proven(part):
    shapes = part.shapes([part])
    centre, noise = shapes.centre[0, 0], math.sqrt(part.variance)
    x = np.array([centre, centre + 1.5 * noise, shapes._last[0, 0] + 9.0 * noise, shapes._first[0, 0] - 3.0 * noise])
    value, error = shapes.log_tail(x)
    for index, y in enumerate(x):
        exact = tail(part, y, 1 if y >= centre else -1)
        assert abs(exact - mp.mpf(value[0, index])) <= error[0, index] <= 1e-12
    far, wrong = shapes.log_tail(np.array([-INF, INF]))
    assert np.all(far == -INF)
    assert np.all(wrong == 0.0)


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_mode_is_enclosed_and_the_peak_above_it(part):
    shapes = part.shapes([part])
    low, high, centre = (mp.mpf(float(end[0, 0])) for end in (shapes.mode_low, shapes.mode_high, shapes.centre))
    assert low <= centre <= high
    assert high - low <= 1e-5 * math.sqrt(part.variance)
    with mp.workdps(70):
        step = mp.mpf(10) ** -20 * mp.sqrt(number(part.bin[2]))  # room for a mode that is one of the ends
        assert density(part, low) > density(part, low - step)
        assert density(part, high + step) < density(part, high)
        top = max(mp.log(density(part, low + (high - low) * k / 8)) for k in range(9))
        assert top <= mp.mpf(float(shapes.peak[0, 0])) <= top + 1e-12


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_slopes_and_bending(part):
    shapes = part.shapes([part])
    x = np.unique(places(part, (-6.0, -1.0, 0.0, 0.5, 3.0)))
    value, error = shapes.slope(x)
    bend = shapes.log_bend(x[:-1], x[1:])[0]
    noise = math.sqrt(part.variance)
    assert np.all(bend <= (1.0 + 1e-5) / part.variance)
    with mp.workdps(80):
        step = mp.mpf(10) ** -25 * mp.mpf(noise)

        def log(y: mp.mpf) -> mp.mpf:
            return mp.log(density(part, y))

        for index, y in enumerate(map(mp.mpf, x.tolist())):
            exact = (log(y + step) - log(y - step)) / (2 * step)
            assert abs(exact - mp.mpf(value[0, index])) <= error[0, index] + mp.mpf(10) ** -30 / noise
        for index in range(x.size - 1):
            for k in range(4):
                y = mp.mpf(x[index]) + (mp.mpf(x[index + 1]) - mp.mpf(x[index])) * k / 3
                assert -(log(y + step) + log(y - step) - 2 * log(y)) / step**2 <= bend[index]


def test_bending_is_small_in_the_middle_of_a_wide_bin():
    shapes = PARTS[9].shapes([PARTS[9]])
    assert shapes.log_bend(np.array([0.1]), np.array([0.3]))[0, 0] < 1.1
    assert shapes.log_bend(np.array([1.9]), np.array([2.1]))[0, 0] == pytest.approx(1e12, rel=1e-3)


@pytest.mark.parametrize("part", PARTS[:2] + PARTS[3:4] + PARTS[6:7] + PARTS[9:10], ids=repr)
def test_probabilities_of_cells(part):
    shapes = part.shapes([part])
    noise, centre = math.sqrt(part.variance), float(shapes.centre[0, 0])
    edges = [centre - 4.0 * noise, centre - 0.2 * noise, centre + 1e-3 * noise, centre + 2.0 * noise]
    above = [mp.exp(tail(part, edge, 1)) for edge in edges]
    for i in range(4):
        for j in range(i + 1, 4):
            low, high = part.probability(edges[i], edges[j])
            assert low[0] <= above[i] - above[j] <= high[0]
            assert high[0] - low[0] <= 1e-12
    low, high = part.probability([-INF, centre], [centre, INF])
    assert low.sum() <= 1.0 <= high.sum()
    low, high = part.probability(-INF, INF)
    assert 1.0 - 1e-12 < low[0] <= 1.0 <= high[0]
    tiny = part.probability(shapes._last[0, 0] + 20.0 * noise, INF)
    assert 0.0 < tiny[0][0] < tiny[1][0] < 1e-40
    assert tiny[1][0] / tiny[0][0] < 1.0 + 1e-11


def test_cells_that_are_infinite():
    part = PARTS[0]
    low, high = part.density([-INF, 0.0], [0.0, INF])
    assert np.all(low == 0.0)
    assert np.all(high >= part.density(0.0, 0.0)[0])
    assert high[1] >= np.exp(part.shapes([part]).peak[0, 0]) > high[0]


@given(
    st.floats(-3.0, 3.0).map(lambda x: round(x, 4)), st.floats(-5.0, 3.0), st.floats(-6.0, 6.0), st.floats(-4.0, 4.0),
    st.sampled_from(["both", "low", "high"]),
)  # fmt: skip
@settings(max_examples=examples(40), deadline=None)
def test_any_slice_has_its_density(low, width, ratio, step, ends):
    high = low + 10.0**width
    part = Slice(0.2, 1.0, -INF if ends == "high" else low, INF if ends == "low" else high, 10.0**ratio)
    y = (low if ends == "low" else high) + step * math.sqrt(part.variance)
    least, most = part.density(y, y)
    with mp.workdps(50):
        exact = density(part, mp.mpf(y))
        assert least[0] <= exact <= most[0] <= exact * (1 + mp.mpf(10) ** -11) + mp.mpf(10) ** -299


# ---- the rule


def test_nodes_and_weights_of_the_rule():
    with mp.workdps(40):
        for power in range(0, 2 * tails.COUNT, 2):
            moment = mp.fsum(mp.mpf(w) * mp.mpf(x) ** power for x, w in zip(tails.NODES, tails.WEIGHTS, strict=True))
            assert abs(moment - mp.mpf(2) / (power + 1)) <= 2**-52
        for x, w in zip(tails.NODES.tolist(), tails.WEIGHTS.tolist(), strict=True):
            exact = mp.findroot(lambda z: mp.legendre(16, z), mp.mpf(x))
            slope = 16 * (exact * mp.legendre(16, exact) - mp.legendre(15, exact)) / (exact * exact - 1)
            assert abs(exact - x) <= 2**-53
            assert abs(2 / ((1 - exact * exact) * slope**2) / w - 1) <= 2**-52


@pytest.mark.parametrize("part", PARTS[:4], ids=repr)
def test_the_error_of_too_coarse_a_rule_is_stated(part, monkeypatch):
    monkeypatch.setattr(tails, "PANELS", 1)
    shapes = part.shapes([part])
    y = float(shapes.centre[0, 0]) + math.sqrt(part.variance)
    value, error = shapes.log_tail(np.array([y]))
    off = abs(tail(part, y, 1) - mp.mpf(value[0, 0]))
    assert off <= error[0, 0]
    if part is PARTS[2]:  # one panel for all of a normal law: badly wrong, and known to be
        assert off > 1e-9
        assert error[0, 0] < 1.0 or error[0, 0] > 100.0


@given(st.floats(-40.0, 40.0), st.floats(-8.0, 2.0))
@settings(max_examples=examples(100), deadline=None)
def test_windows(a, log_length):
    length = 10.0**log_length
    with mp.workdps(60):
        first, size = mp.mpf(a), mp.mpf(length)
        middle = float(first + size / 2)
        found = window(np.array([[a]]), np.array([[a + length]]), np.array([[middle]]), np.array([[length]]))
        r = [mp.mpf(0), first, first + size, mp.mpf(middle)][int(found.reference[0, 0])]
        exact = mp.log(between(first, first + size) * mp.sqrt(2 * mp.pi)) + r * r / 2
        assert abs(exact - mp.mpf(float(found.log[0, 0]))) <= 1e-13 * max(1.0, abs(a))


# ---- probabilities of bins


@pytest.mark.parametrize(
    ("low", "high"),
    [(-1.0, 1.0), (0.3, INF), (-INF, -20.0), (0.5, 0.500001), (8.0, 8.1), (1.0, 1.0 + 1e-12), (-INF, INF), (-2.0, 9.0)],
)
def test_bin_probability(low, high):
    law = Normal(0.1, 0.7)
    least, most = bin_probability(law, low, high)
    part = Slice(0.1, 0.7, low, high, 1.0)
    with mp.workdps(60):
        mean, sd, _, first, last = numbers(part)
        exact = between((first - mean) / sd, (last - mean) / sd)
        assert least <= exact <= most
        assert most - least <= 1e-11 * exact
    assert part.bin_probability == (least, most)
    wide = law.probability(low, high)
    assert wide[0][0] <= most
    assert least <= wide[1][0]


def test_a_bin_of_no_probability():
    assert bin_probability(Normal(0.0, 1.0), 1e6, INF) == (0.0, 5e-324)
    assert Slice(0.0, 1.0, 50.0, 51.0, 1.0).bin_probability[0] == 0.0


# ---- mixtures over a partition


def sliced(mean: float, sd: float, edges: list[float], variance: float) -> Mixture:
    """The law of X + noise, bin by bin."""
    parts = [Slice(mean, sd, a, b, variance) for a, b in pairwise(edges)]
    weights = np.array([sum(part.bin_probability) / 2.0 for part in parts])
    return Mixture(weights, parts)


def edges(count: int, reach: float = 3.1) -> list[float]:
    return [-INF, *np.round(np.linspace(-reach, reach, count - 1), 3).tolist(), INF]


CUTS = [(64, 0.25), (9, 4.0), (12, 1e-4), (5, 1e-8), (5, 1e6)]


@pytest.mark.parametrize(("count", "variance"), CUTS)
def test_slices_over_a_partition_make_the_normal_law(count, variance):
    mixture, law = sliced(0.4, 1.0, edges(count), variance), Normal(0.4, 1.0).plus_gaussian(variance)
    sd = math.sqrt(1.0 + variance)
    x = 0.4 + sd * np.array([-5.0, -2.5, -1.0, -0.1, 0.0, 0.3, 1.7, 4.0])
    cells = [part.density(x, x) for part in mixture.components]
    low, high = (sum(w * cell[end] for w, cell in zip(mixture.weights, cells, strict=True)) for end in (0, 1))
    shares = [part.probability(x[:-1], x[1:]) for part in mixture.components]
    p_low, p_high = (sum(w * cell[end] for w, cell in zip(mixture.weights, shares, strict=True)) for end in (0, 1))
    with mp.workdps(40):
        total = mp.sqrt(number(law.exact[1]))
        for index, y in enumerate(map(mp.mpf, x.tolist())):
            exact = mp.npdf(y, number(law.exact[0]), total)
            assert low[index] * (1 - 1e-15) <= exact <= high[index] * (1 + 1e-15)  # the weights were rounded
            assert high[index] - low[index] <= 1e-11 * exact
        for index in range(x.size - 1):
            ends = [(mp.mpf(float(y)) - number(law.exact[0])) / total for y in x[index : index + 2]]
            assert p_low[index] - 1e-15 <= between(*ends) <= p_high[index] + 1e-15
            assert p_high[index] - p_low[index] <= 1e-12


@pytest.mark.parametrize(("count", "variance"), CUTS)
def test_sticks_of_partitions_are_those_of_normal_laws(count, variance):
    means = ("0.5", "-0.1")
    p, q = (sliced(float(mean), 1.0, edges(count), variance) for mean in means)
    laws = [Normal(float(mean), 1.0).plus_gaussian(variance) for mean in means]
    for epsilon in (-0.5, 0.3, 1.5):
        low, high = stick(p, q, epsilon)
        plain = stick(laws[0], laws[1], epsilon)
        assert low - 1e-14 <= plain[1]
        assert plain[0] <= high + 1e-14
        assert high - low <= 1e-9
        with mp.workdps(40):
            mu = (mp.mpf(means[0]) - mp.mpf(means[1])) / mp.sqrt(1 + mp.mpf(repr(variance)))
            t = mp.mpf(repr(epsilon))
            exact = mp.ncdf(mu / 2 - t / mu) - mp.exp(t) * mp.ncdf(-mu / 2 - t / mu)
            assert low - 1e-14 <= exact <= high + 1e-14  # the weights were rounded


def test_curves_of_partitions():
    p, q = sliced(0.5, 1.0, edges(16), 0.25), sliced(0.0, 1.0, edges(16), 0.25)
    laws = [Mixture.of(Normal(mean, 1.0)).plus_gaussian(0.25) for mean in (0.5, 0.0)]
    ours, plain = LawTest(TwoLaws(p, q)), LawTest(TwoLaws(laws[0], laws[1]))
    assert ours.smallest(0.01) == pytest.approx(plain.smallest(0.01), abs=1e-9)
    alpha = np.array([0.05, 0.5])
    assert np.allclose(ours.beta(alpha), plain.beta(alpha), rtol=0, atol=1e-6)


def test_stick_of_two_slices():
    """Ordered by likelihood ratio: one zero, found here by bisection, and two tails."""
    one, two = Slice(0.5, 1.0, 0.2, 1.0, 0.25), Slice(0.0, 1.0, -0.3, 0.7, 0.25)
    low, high = stick(one, two, 0.5)
    with mp.workdps(40):
        odds = mp.exp(mp.mpf("0.5"))
        a, b = mp.mpf(-3), mp.mpf(5)
        for _ in range(120):
            middle = (a + b) / 2
            below = density(one, middle) < odds * density(two, middle)
            a, b = (middle, b) if below else (a, middle)
        place = float(a)  # delta is flat there: a double will do
        exact = mp.exp(tail(one, place, 1)) - odds * mp.exp(tail(two, place, 1))
        assert low <= exact + mp.mpf(10) ** -25
        assert exact - mp.mpf(10) ** -25 <= high
        assert high - low <= 1e-11


def test_slices_beside_other_laws():
    law = Normal(0.0, 1.0).plus_gaussian(1.0)
    mixed = Mixture([0.5, 0.5], [Slice(0.0, 1.0, -INF, 0.0, 1.0), Slice(0.0, 1.0, 0.0, INF, 1.0)])
    other = Normal(1.0, 1.0).plus_gaussian(1.0)
    assert stick(mixed, other, 0.2) == pytest.approx(stick(law, other, 0.2), abs=1e-10)


# ---- what a component can do


def test_sums_and_multiples_are_exact():
    part = Slice(0.1, 0.3, -0.2, INF, 0.25)
    assert part.plus_gaussian(0.1).exact[2] == Fraction(7, 20)
    assert part.plus_gaussian(0.1).exact[:2] == (Fraction(1, 10), Fraction(9, 100))
    assert part.times(Fraction(-2)) == Slice(-0.2, 0.6, -INF, 0.4, 1)
    assert Slice.of(Fraction(1, 3), Fraction(2), None, Fraction(1, 7), Fraction(3)).bin[4] == Fraction(1, 7)
    assert Slice(0.0, 1.0, 0.0, INF, 1.0).exact != Slice(0.0, 1.0, -INF, 0.0, 1.0).exact
    assert TwoLaws(Mixture.of(part), Mixture.of(Slice(0.1, 0.3, -0.2, INF, 0.25))).count == 1
    with pytest.raises(Unsupported):
        part.plus_laplace(1.0)


@pytest.mark.parametrize(
    "part",
    [
        Slice(0.0, 1.0, 0.5, 0.6, 0.01),
        Slice(0.0, 1.0, 9.0, INF, 0.01),
        Slice(1.0, 2.0, -INF, -3.0, 1.0),
        PARTS[0],
        PARTS[2],
    ],
    ids=repr,
)
def test_draws_follow_the_law(part):
    """Massart's bound at 1e-9: the distribution function is off by at most sqrt(log(2e9)/(2n))."""
    count = 20_000
    drawn = np.sort(part.sample(np.random.default_rng(7), count))
    picked = np.arange(0, count, 400)
    _, high = part.probability(-INF, drawn[picked])
    assert np.max(np.abs(high - picked / count)) <= math.sqrt(math.log(2e9) / (2 * count)) + 1.0 / count


def test_likelihood_order():
    parts = [Slice(m, 1.0, a, b, 0.3) for m, a, b in
             ((0.0, -INF, 0.0), (0.0, -1.0, 1.0), (0.5, -1.0, 1.0), (0.5, 0.0, INF), (0.2, -3.0, 3.0))]  # fmt: skip
    parts.append(Slice(0.5, 1.0, 0.0, INF, 0.4))
    order = likelihood_order(parts, 1)
    assert np.array_equal(order, likelihood_order(parts, -1).T)
    assert np.array_equal(np.flatnonzero(order[0]), [0, 1, 2, 3, 4])
    assert not order[1, 4]
    assert not order[3, 5]
    x = np.linspace(-6.0, 6.0, 60)
    logs = Slice.shapes(parts).log_density(x)[0]
    for i in range(6):
        for j in range(6):
            if order[i, j]:
                assert np.all(np.diff(logs[i] - logs[j]) <= 1e-12)


def test_heaviness_orders_tails():
    open_end, closed = Slice(0.0, 1.0, 0.0, INF, 1.0), Slice(0.0, 1.0, -INF, 3.0, 2.0)
    assert open_end.heaviness(1) == (1, 2, 0, 0)
    assert closed.heaviness(1) == (1, 2, 3, -1)
    assert closed.heaviness(-1) == (1, 3, 0, 0)
    assert closed.heaviness(1) > open_end.heaviness(1)
    x = np.array([30.0, 60.0])
    logs = Slice.shapes([closed, open_end]).log_density(x)[0]
    assert np.diff(logs[0] - logs[1])[0] > 10.0


def test_many_at_once_are_each_alone():
    x = np.linspace(-4.0, 4.0, 23)
    together = Slice.shapes(PARTS[:3] + PARTS[6:7])
    for row, part in enumerate(PARTS[:3] + PARTS[6:7]):
        alone = part.shapes([part])
        assert np.array_equal(together.log_density(x)[0][row], alone.log_density(x)[0][0])
        assert np.allclose(together.log_tail(x)[0][row], alone.log_tail(x)[0][0], rtol=1e-14)
        assert np.array_equal(together.log_bend(x[:-1], x[1:])[row], alone.log_bend(x[:-1], x[1:])[0])


def test_places_that_change_under_our_feet():
    shapes, x = PARTS[0].shapes([PARTS[0]]), np.array([0.0, 1.0])
    before = shapes.log_density(x)[0].copy()
    x += 1.0
    assert not np.array_equal(before, shapes.log_density(x)[0])


def test_far_away_nothing_is_left():
    part = PARTS[0]
    low, high = part.density(1e200, 1e300)
    assert low[0] == 0.0
    assert high[0] <= 2e-300
    assert part.probability(1e200, INF)[1][0] <= 2e-300


# ---- refusals


@pytest.mark.parametrize(
    "given",
    [
        (math.nan, 1.0, 0.0, 1.0, 1.0), (INF, 1.0, 0.0, 1.0, 1.0), (True, 1.0, 0.0, 1.0, 1.0),
        ("0", 1.0, 0.0, 1.0, 1.0), (0.0, 0.0, 0.0, 1.0, 1.0), (0.0, -1.0, 0.0, 1.0, 1.0),
        (0.0, math.nan, 0.0, 1.0, 1.0), (0.0, INF, 0.0, 1.0, 1.0), (0.0, True, 0.0, 1.0, 1.0),
        (0.0, 1.0, 1.0, 1.0, 1.0), (0.0, 1.0, 2.0, 1.0, 1.0), (0.0, 1.0, math.nan, 1.0, 1.0),
        (0.0, 1.0, INF, INF, 1.0), (0.0, 1.0, -INF, -INF, 1.0), (0.0, 1.0, INF, -INF, 1.0),
        (0.0, 1.0, 0.0, None, 1.0), (0.0, 1.0, 0.0, [1.0], 1.0), (0.0, 1.0, False, 1.0, 1.0),
        (0.0, 1.0, 0.0, 1.0, 0.0), (0.0, 1.0, 0.0, 1.0, -1.0), (0.0, 1.0, 0.0, 1.0, math.nan),
        (0.0, 1.0, 0.0, 1.0, INF), (0.0, 1.0, 0.0, 1.0, "1"), (0.0, 1.0, 0.0, 1e101, 1.0),
        (0.0, 1.0, 0.0, 1.0, 1e-25), (0.0, 1.0, 0.0, 1.0, 1e25),  # too little and too much noise
        (0.0, 1.0, 0.0, 1e11, 1.0), (1e13, 1.0, 0.0, INF, 1.0),  # doubles do not resolve the noise there
        (0.0, 1e-3, 1e6, INF, 1.0),  # too far from the mean
    ],
    ids=repr,
)  # fmt: skip
def test_bad_parameters_are_refused(given):
    with pytest.raises(InvalidParameter):
        Slice(*given)


def test_bad_calls_are_refused():
    with pytest.raises(InvalidParameter):
        Slice.of(Fraction(0), Fraction(1), Fraction(1), Fraction(1), Fraction(1))
    with pytest.raises(InvalidParameter):
        PARTS[0].plus_gaussian(-1.0)
    with pytest.raises(InvalidParameter):
        bin_probability(Normal(0.0, 1.0), 1.0, 0.0)
    with pytest.raises(InvalidParameter):
        bin_probability(0.0, 0.0, 1.0)


def test_the_naive_formula_loses_its_digits():
    """Why all this: Phi(b) - Phi(a) as a difference has no digit left where the slice still has thirteen."""
    part = PARTS[8]
    y = 1001.5
    total, w = math.sqrt(1.2), math.sqrt(0.2 / 1.2)
    centre = 1000.1 + (y - 1000.1) / 1.2
    naive = math.exp(-0.5 * ((y - 1000.1) / total) ** 2) / (total * math.sqrt(2 * math.pi))
    naive *= ndtr((1001.3000000001 - centre) / w) - ndtr((1001.3 - centre) / w)
    naive /= ndtr(1001.3000000001 - 1000.1) - ndtr(1001.3 - 1000.1)
    with mp.workdps(60):
        exact = density(part, mp.mpf(y))
    assert abs(naive - float(exact)) > 1e-7 * float(exact)
    low, high = part.density(y, y)
    assert high[0] - low[0] <= 1e-12 * float(exact)
