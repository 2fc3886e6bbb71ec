"""Whole privacy regions against brute force: rationals, the theorem in 70 digits, closed forms, stored deltas.

Reference: seed 002 Theorem 1 (Algorithm 1), Theorem 3 and Conjecture 1; theory/multi-constraints.md sections 2, 3.
"""

import itertools
import json
import math
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from tests.compose.rationals import Composition, number
from tests.examples import seeds
from tests.truth import constraints as truth
from tests.truth.closed import gaussian_delta
from tests.truth.numbers import mp

import quiltwork as qw
from quiltwork.compose import regions as module
from quiltwork.compose.regions import larger
from quiltwork.curves import Profile

EVERY, OUTER = "exact atoms: every face", "outer polygon"
INPUT = mp.mpf(2) ** -52  # a stated delta is a decimal, the end of a bracket is a double
STORED = Path(__file__).resolve().parents[2] / "benchmarks" / "region_truths.json"


def mirrored(delta, epsilon):
    """A profile that holds in both directions, below zero: D(t) = 1 - t + t D(1/t)."""
    epsilon = mp.mpf(epsilon)
    return delta(epsilon) if epsilon >= 0 else -mp.expm1(epsilon) + mp.exp(epsilon) * delta(-epsilon)


def assert_region(region, delta, asked, known=0.0, shared=0.0):
    """The truth in every bracket, both ends within 1e-11 of it, or as near as the faces themselves are known.

    What is left open below is one number for all faces: `shared`, relative, when the last of them are not as sharp.
    """
    found = region.delta(asked)
    for epsilon, lower, upper in zip(asked, found.lower, found.upper, strict=True):
        true = delta(epsilon)
        case = (epsilon, lower, upper, mp.nstr(true, 20))
        assert lower * (1 - INPUT) <= true <= upper * (1 + INPUT), case
        blur = abs(delta(epsilon - known) - delta(epsilon + known)) if known else 0
        room = mp.mpf("1e-11") * true + blur + mp.mpf("1e-299")
        assert upper - true <= room, case
        assert true - lower <= room + shared * true + region.profile.floor, case
    assert region.profile.floor <= 1e-11


def dense(top, faces=()):
    """Epsilons everywhere, past the top, at the faces."""
    return [*np.linspace(0.0, 1.02 * top, 60).tolist(), top + 3.0, *faces]


# ---- nothing, everything, one release


@pytest.mark.parametrize("loss", [qw.compose(), 0 * qw.pure(1.0), 7 * qw.pure(0.0), qw.zcdp(0.0)], ids=str)
def test_nothing_released(loss):
    region = loss.region()
    assert region.epsilons.tolist() == [0.0]
    assert region.deltas.tolist() == [0.0]
    assert region.method == "closed form: every face"
    assert region.area() == 0.0


@pytest.mark.parametrize(
    "loss",
    [qw.approximate(1.0, 1.0), 3 * qw.approximate(0.0, 1.0) + qw.pure(0.2), qw.pair([1.0, 0.0], [0.0, 1.0])],
    ids=str,
)
def test_everything_revealed(loss):
    region = loss.region()
    assert region.delta([0.0, 5.0]).lower.tolist() == [1.0, 1.0]
    assert region.method == "closed form: every face"
    assert region.area() == 1.0


@pytest.mark.parametrize("epsilon", [1e-9, 0.3, 2.5, 40.0])
@pytest.mark.parametrize("delta", [0.0, 1e-30, 0.125, 0.999])
def test_one_stated_release_has_one_face(epsilon, delta):
    region = qw.approximate(epsilon, delta).region()
    assert region.method == EVERY
    assert region.epsilons.tolist() == [epsilon]
    assert region.delta(epsilon).upper == pytest.approx(delta, rel=1e-14)
    law = truth.composed([([(repr(epsilon), repr(delta))], 1)])
    assert_region(region, lambda e: law.delta(mp.mpf(repr(e))), [0.0, epsilon / 2, epsilon, epsilon + 1])


def test_reveals_alone():
    """Total variation: k faces melt into one at epsilon 0."""
    region = (20 * qw.constraints([(0.0, 0.125)])).region()
    assert region.epsilons.tolist() == [0.0]
    assert number(1 - Fraction(7, 8) ** 20) in region.delta(0.0)
    assert number(1 - Fraction(7, 8) ** 20) in region.delta(9.0)


def test_copies_may_be_given_with_the_question():
    loss = qw.constraints([(0.3, 0.0), (0.15, 0.02)])
    assert loss.region(20).profile == (20 * loss).region().profile
    assert loss.region(0).deltas.tolist() == [0.0]


# ---- constraints: faces are the decimals typed


KINDS = [
    [([(0.1, 0.0)], 3)],
    [([(0.1, 0.0)], 1), ([(0.2, 0.0)], 1)],
    [([(0.3, 0.0), (0.15, 0.02)], 3)],
    [([(0.3, 0.0), (0.15, 0.02)], 20)],
    [([(0.5, 0.0)], 10), ([(0.2, 0.0)], 15)],
    [([(1.5, 1e-6), (0.7, 0.05), (0.0, 0.3)], 4)],
    [([(2.0, 0.125)], 4), ([(0.25, 1e-9), (0.1, 0.004)], 3)],
    [([(0.31415926, 0.0), (0.12345678, 0.03)], 12)],
    [([(30.0, 0.0), (1.0, 0.25)], 5)],
]


class Typed:
    """The law of a composition of constraints read as typed."""

    def __init__(self, kinds):
        self.law = truth.composed([([(repr(e), repr(d)) for e, d in points], n) for points, n in kinds])
        self.loss = qw.compose(*(n * qw.constraints(points) for points, n in kinds))

    def delta(self, epsilon):
        """Positive terms only; a stated epsilon is the decimal typed."""
        at = epsilon if isinstance(epsilon, mp.mpf) else mp.mpf(repr(float(epsilon)))
        atoms = self.law.atoms
        return self.law.reveal + mp.fsum(-p * mp.expm1(at - x) for x, p in atoms if x - at > mp.mpf(2) ** -150)

    @property
    def faces(self):
        return [max(float(epsilon), 0.0) for epsilon, _ in truth.faces(self.law)]


@pytest.mark.parametrize("kinds", KINDS)
def test_regions_of_constraints(kinds):
    typed = Typed(kinds)
    region, faces = typed.loss.region(), typed.faces[-60:]
    assert region.method == EVERY
    assert region.profile.floor == 0
    assert_region(region, typed.delta, dense(faces[-1], faces))
    below = [-x for x in dense(faces[-1])[1:]]
    assert_region(region, lambda e: mirrored(typed.delta, e), below)


@pytest.mark.parametrize("kinds", KINDS)
def test_faces_are_the_decimals_typed(kinds):
    """All of the true ones and no other, to the last bit; their deltas are the published ends."""
    typed = Typed(kinds)
    region = typed.loss.region()
    assert region.epsilons.tolist() == typed.faces
    for epsilon, delta in zip(region.epsilons.tolist(), region.deltas.tolist(), strict=True):
        true = typed.delta(epsilon)
        assert true <= delta * (1 + INPUT)
        assert delta <= true * (1 + mp.mpf("1e-11"))


@pytest.mark.parametrize("kinds", KINDS)
def test_nothing_but_the_reveal_is_left_at_the_last_face(kinds):
    """And not before: one rounding below it there is more."""
    typed = Typed(kinds)
    region, top = typed.loss.region(), typed.faces[-1]
    reveal = typed.law.reveal
    at, before = region.delta(top), region.delta([math.nextafter(top, 0.0), top - 1e-6])
    assert (at.upper == 0) == (reveal == 0)
    assert at.lower * (1 - INPUT) <= reveal <= at.upper * (1 + INPUT)
    assert np.all(before.upper > at.upper)
    assert before.lower[1] > at.upper
    assert region.profile.reveal == at.upper


@pytest.mark.parametrize("kinds", KINDS)
def test_a_rounding_beside_a_face(kinds):
    """The distance of a question to a face is known to a rounding of both: the bracket is as wide, and holds."""
    typed = Typed(kinds)
    faces = typed.faces[-40:]
    asked = [e for x in faces for e in (math.nextafter(x, 0.0), math.nextafter(x, math.inf), x - 1e-14 * x) if e >= 0]
    assert_region(typed.loss.region(), typed.delta, asked, known=1e-15 * (1 + typed.faces[-1]))


def test_far_tails_of_constraints():
    """Two releases add 1e-40 to a reveal mass of 2e-22: no face there, and no harm."""
    typed = Typed([([(7.0, 1e-22), (5.0, 1e-20), (3.0, 1e-18), (1.0, 0.1)], 2)])
    region = typed.loss.region()
    assert_region(region, typed.delta, dense(14.0, typed.faces))
    assert region.epsilons[-1] <= 14.0
    assert region.profile.reveal == pytest.approx(2e-22, rel=1e-12)


def test_beta_and_vertices_of_a_region():
    """Theorem 1 of the paper: corners of the trade-off function, and the curve between them."""
    typed = Typed(KINDS[4])
    region = typed.loss.region()
    corners = truth.vertices(typed.law)
    assert corners[-1][1] == 0
    for (alpha, beta), (x, y) in zip(corners, region.vertices.tolist(), strict=True):
        assert x == pytest.approx(float(alpha), rel=1e-11)
        assert y == pytest.approx(float(beta), rel=1e-11)
        assert y <= typed.law.beta(x) + mp.mpf(2) ** -53  # outward, up to the rounding of a number near 1
    for alpha in (1e-9, 0.01, 0.2, 0.77):
        assert typed.law.beta(alpha) in region.beta(alpha)
    assert region.area() == pytest.approx(float(truth.area(corners)), rel=1e-12)


def test_many_digits_are_no_decimals():
    """Sums of 16-digit numbers are moved up by what they may be off; the promise stays."""
    kinds = [([(0.1234567890123456, 0.0), (0.0314159265358979, 0.02)], 7)]
    typed = Typed(kinds)
    region = typed.loss.region()
    assert region.method == EVERY
    top = typed.faces[-1]
    assert top < region.epsilons[-1] <= top + 1e-13
    assert_region(region, typed.delta, dense(top, typed.faces), known=1e-14, shared=2e-9)


# ---- explicit laws: the worse of two directions, and each alone


def masses(rng, size):
    """Sixty-fourths, zeros allowed; or of very different sizes."""
    if rng.random() < 0.7:
        cuts = sorted(rng.choices(range(65), k=size - 1))
        return [(b - a) / 64 for a, b in itertools.pairwise([0, *cuts, 64])]
    small = [rng.randint(0, 7) * 2.0 ** -rng.randint(5, 40) for _ in range(size - 1)]
    return [*small, 1 - sum(small)]


def drawn(seed):
    rng = random.Random(seed)
    while True:
        releases = []
        for _ in range(rng.choice([1, 1, 2, 3])):
            size = rng.randint(2, 4)
            p, q = masses(rng, size), masses(rng, size)
            rng.shuffle(p)
            releases.append((p, q, rng.choice([1, 2, 3, 4])))
        exact = Composition(releases)
        if 0 < len(exact.atoms) <= 120:
            return rng, exact, qw.compose(*(n * qw.pair(p, q) for p, q, n in releases))


def places(rng, *laws):
    """At values, between them, at the ends and past them, zero."""
    losses = sorted(itertools.chain.from_iterable(law.losses for law in laws))
    inside = [rng.uniform(losses[0], losses[-1]) for _ in range(12)]
    return [
        0.0,
        *rng.sample(losses, min(8, len(losses))),
        *inside,
        losses[0],
        losses[-1],
        losses[0] - 1,
        losses[-1] + 1,
    ]


@pytest.mark.parametrize("seed", seeds(40))
def test_one_direction_of_random_pairs(seed):
    """Negative epsilons too: nothing is mirrored there."""
    rng, exact, loss = drawn(seed)
    for side, law in (("remove", exact), ("add", exact.swapped())):
        region = loss.direction(side).region()
        assert region.method == EVERY
        assert not region.profile.symmetric
        scale = 1 + max(abs(law.losses[0]), abs(law.losses[-1]))
        assert_region(region, law.delta, places(rng, law), known=2e-13 * scale, shared=2e-9)


@pytest.mark.parametrize("seed", seeds(40))
def test_the_worse_direction_of_random_pairs(seed):
    rng, exact, loss = drawn(seed)
    both = (exact, exact.swapped())

    def delta(epsilon):
        return max(law.delta(epsilon) for law in both)

    region = loss.region()
    assert region.method == EVERY
    assert region.profile.symmetric
    scale = 1 + max(abs(exact.losses[0]), abs(exact.losses[-1]))
    asked = places(rng, *both)
    assert_region(region, lambda e: mirrored(delta, e), asked, known=2e-13 * scale, shared=2e-9)


CROSSING = [
    (([0.1875, 0.625, 0.1875], [0.25, 0.5, 0.25]), 2),
    (([0.25, 0.4375, 0.3125], [0.6875, 0.125, 0.1875]), 1),
    (([0.1875, 0.125, 0.6875], [0.125, 0.5, 0.375]), 3),
    (([0.3125, 0.25, 0.4375], [0.0625, 0.5625, 0.375]), 1),
    (([0.25, 0.25, 0.5], [0.1875, 0.625, 0.1875]), 1),
    (([0.625, 0.25, 0.125, 0.0], [0.25, 0.5, 0.1875, 0.0625]), 2),
]


def crossings(one, two, knots):
    """Epsilons > 0 at which two profiles cross: both are straight in e^eps between the knots."""
    for a, b in itertools.pairwise(knots):
        left, right = (one.delta(e) - two.delta(e) for e in (a, b))
        if left * right < 0:
            t = mp.exp(a) + (mp.exp(b) - mp.exp(a)) * left / (left - right)
            yield mp.log(t)


@pytest.mark.parametrize(("pair", "count"), CROSSING)
def test_where_the_directions_cross_there_is_a_face(pair, count):
    exact = Composition([(*pair, count)])
    both = (exact, exact.swapped())
    values = sorted({mp.log(number(ratio)) for law in both for ratio, _, _ in law.atoms if ratio > 1} | {mp.zero})
    found = list(crossings(*both, values))
    assert found
    region = (count * qw.pair(*pair)).region()
    for epsilon in found:
        nearest = float(min(abs(face - epsilon) for face in region.epsilons.tolist()))
        assert nearest <= 1e-13, (epsilon, region.epsilons)

    def delta(epsilon):
        return max(law.delta(epsilon) for law in both)

    beside = [float(e) + move for e in found for move in (-1e-3, -1e-9, 0.0, 1e-9, 1e-3)]
    assert_region(region, delta, [*beside, *np.linspace(0.0, float(values[-1]), 50).tolist()], known=2e-13, shared=2e-9)


def test_the_larger_of_two_profiles():
    """Two straight lines in t that cross at t = 2: the larger one is a wedge."""
    steep, flat = Profile([0.0, math.log(3)], [0.5, 0.0]), Profile([0.0, math.log(7)], [0.3, 0.0])
    wedge = larger(steep, flat)
    for t in np.linspace(1.0, 8.0, 71):
        true = max(0.5 * max(3 - t, 0) / 2, 0.3 * max(7 - t, 0) / 6)
        found = wedge.delta(math.log(t))
        assert found.lower - 1e-15 <= true <= found.upper + 1e-15
    cross = math.log((0.75 - 0.35) / 0.2)  # .25 (3 - t) = .05 (7 - t)
    assert float(np.abs(wedge.epsilons - cross).min()) < 1e-15


def test_a_direction_without_a_positive_loss():
    """All that speaks for the record is a reveal: one direction has no face above zero."""
    one, two = ([0.5, 0.25, 0.25], [0.0, 0.5, 0.5]), ([0.25, 0.375, 0.375], [0.0, 0.5, 0.5])
    region = (qw.pair(*one) + qw.pair(*two)).region()
    assert region.method == EVERY
    assert region.epsilons.tolist() == [0.0]
    assert number(Fraction(5, 8)) in region.delta(0.0)


@pytest.mark.parametrize("side", ["remove", "add"])
def test_one_direction_of_a_symmetric_loss_is_the_whole(side):
    loss = 6 * qw.constraints([(0.5, 0.001), (0.25, 0.02)])
    alone, both = loss.direction(side).region(), loss.region()
    asked = np.linspace(-3.5, 3.5, 61)
    one, two = alone.delta(asked), both.delta(asked)
    assert np.all(np.maximum(one.lower, two.lower) <= np.minimum(one.upper, two.upper) * (1 + 1e-15))
    assert np.array_equal(alone.epsilons[alone.epsilons > 0], both.epsilons[both.epsilons > 0])


def test_families_with_finite_losses():
    """Subsampled responses, polygons and mixtures are finite, too."""
    vertices = [(0.0, 0.9375), (0.125, 0.5), (0.5, 0.125), (1.0, 0.0)]
    p, q = [0.0625, 0.4375, 0.375, 0.125], [0.0, 0.125, 0.375, 0.5]
    law = Composition([(p, q, 3)])
    region = (3 * qw.tradeoff(vertices)).region()
    assert region.method == EVERY
    assert_region(region, lambda e: max(law.delta(e), law.swapped().delta(e)), dense(4.0), known=1e-13, shared=2e-9)
    assert (4 * qw.poisson(qw.pure(1.0), 0.25)).region().method == EVERY
    assert (3 * qw.mixture([(0.5, qw.pure(1.0)), (0.5, qw.pure(0.25))])).region().method == EVERY
    assert (4 * qw.discrete_laplace(2.0, 3)).region().method == EVERY


# ---- no list: an outer polygon, and its name


def assert_outer(region, delta, asked, loose):
    """Never below the truth, not far above it; what the lower ends say is true."""
    found = region.delta(asked)
    for epsilon, lower, upper in zip(asked, found.lower, found.upper, strict=True):
        true = delta(epsilon)
        assert lower <= true <= upper, (epsilon, lower, upper, mp.nstr(true, 20))
        assert upper <= true * (1 + loose) + mp.mpf("2e-12"), (epsilon, upper, mp.nstr(true, 20))


@pytest.mark.parametrize(
    ("loss", "mu"),
    [(qw.gaussian(1.0), mp.one), (qw.gdp(0.25), mp.mpf("0.25")), (9 * qw.gaussian(2.0), mp.mpf("1.5"))],
    ids=str,
)
def test_gaussian_regions(loss, mu):
    region = loss.region()
    assert region.method == f"closed form: {OUTER}"
    assert_outer(region, lambda e: gaussian_delta(mu, e), np.linspace(0.0, 12.0, 50).tolist(), 0.01)
    one = loss.direction("remove").region()
    assert one.method == f"closed form: {OUTER}"
    assert_outer(one, lambda e: gaussian_delta(mu, e), np.linspace(-6.0, 12.0, 50).tolist(), 0.01)


def test_concentrated_regions():
    """Only a bound is known: the polygon lies above the Gaussian that attains it."""
    region = (4 * qw.zcdp(0.125)).region()
    assert region.method.endswith(OUTER)
    assert region.method.startswith("Rényi moments")
    for epsilon in np.linspace(0.0, 9.0, 30):
        found = region.delta(float(epsilon))
        assert found.upper >= gaussian_delta(1, float(epsilon))
        assert found.upper >= (4 * qw.zcdp(0.125)).delta(float(epsilon)).lower


def test_sandwiched_regions():
    """A function known between two polygons: the outer one counts."""
    loss = 4 * qw.tradeoff(lambda alpha: float(ndtr(ndtri(1.0 - alpha) - 0.5)), symmetric=True)
    region = loss.region()
    assert region.method.endswith(OUTER)
    assert "sandwich" in region.method
    assert_outer(region, lambda e: gaussian_delta(1, e), np.linspace(0.0, 4.75, 30).tolist(), 0.02)


def binomials(kinds):
    """delta of two kinds of pure releases from the tails of the second: O(k) terms a question."""
    laws = []
    for epsilon, count in kinds:
        up = 1 / (1 + mp.exp(-mp.mpf(epsilon)))
        mass, law = (1 - up) ** count, []
        for j in range(count + 1):
            law.append(((2 * j - count) * mp.mpf(epsilon), mass))
            mass = mass * (count - j) / (j + 1) * mp.exp(mp.mpf(epsilon))
        laws.append(law)
    first, second = laws
    p_tail = list(itertools.accumulate((p for _, p in reversed(second)), initial=mp.zero))[::-1]
    q_tail = list(itertools.accumulate((p * mp.exp(-x) for x, p in reversed(second)), initial=mp.zero))[::-1]
    start, step = second[0][0], second[1][0] - second[0][0]

    def delta(epsilon):
        total = mp.zero
        for x, p in first:
            j = min(max(int(mp.floor((mp.mpf(epsilon) - x - start) / step)) + 1, 0), len(second))
            total += p * (p_tail[j] - mp.exp(mp.mpf(epsilon) - x) * q_tail[j])
        return total

    return delta


def test_lists_that_would_be_too_long():
    """2,600 times 2,600 pairs of values are more than half of what is handled: the road is named, the promise kept."""
    loss = 2600 * qw.pure(0.1) + 2600 * qw.pure(0.25)
    assert module.MOST_VALUES // 2 < 2601**2
    region = loss.region()
    assert region.method == f"lattice: {OUTER}"
    assert_outer(region, binomials([("0.1", 2600), ("0.25", 2600)]), np.linspace(60.0, 190.0, 12).tolist(), 0.05)


@pytest.mark.parametrize(
    ("loss", "road"),
    [
        (100_000 * qw.pure(0.01), EVERY),
        (4000 * qw.constraints([(0.31415926, 0.0), (0.12345678, 0.03)]), f"characteristic function: {OUTER}"),
        (3 * qw.discrete_gaussian(0.5), f"lattice: {OUTER}"),
        (qw.laplace(1.0), f"exact tails: {OUTER}"),
    ],
    ids=str,
)
def test_the_road_is_named(loss, road):
    assert loss.region().method == road


def test_fewer_values_allowed(monkeypatch):
    """The same composition by a list and by a polygon: the polygon includes the region."""
    loss = 30 * qw.constraints([(0.3, 0.0), (0.15, 0.02)])
    exact = loss.region()
    monkeypatch.setattr(module, "MOST_VALUES", 10)
    outer = loss.region()
    assert exact.method == EVERY
    assert outer.method.endswith(OUTER)
    assert outer.includes(exact)
    typed = Typed([([(0.3, 0.0), (0.15, 0.02)], 30)])
    assert_outer(outer, typed.delta, np.linspace(0.0, 9.5, 40).tolist(), 0.1)


# ---- a thousand releases


@pytest.mark.parametrize("name", ["on grid", "off grid"])
@pytest.mark.parametrize("count", [100, 300, 1000])
def test_regions_of_many_releases(name, count):
    """Deltas down to 1e-150, stored to 30 digits: both ends within 1e-11, the published one within 2e-12."""
    if not STORED.exists():
        pytest.skip("the benchmarks are not here")
    data = json.loads(STORED.read_text(encoding="utf-8"))
    points = [(float(e), float(d)) for e, d in data["pairs"][name]]
    region = (count * qw.constraints(points)).region()
    assert region.method == EVERY
    for epsilon, delta in data["delta"][f"{name} {count}"].items():
        found, true = region.delta(float(epsilon)), mp.mpf(delta)
        assert found.lower <= true <= found.upper, (epsilon, found, delta)
        assert true - found.lower <= mp.mpf("1e-11") * true
        assert found.upper - true <= mp.mpf("2e-12") * true
    top = count * Fraction(repr(points[0][0]))
    assert region.epsilons[-1] == float(top)
    assert region.delta(float(top)).upper == 0.0


def test_large_epsilons_and_many_releases():
    """Rows of the lattice that outgrow a double on the way."""
    kinds = [([(25.0, 0.0), (1.0, 0.8)], 400)]
    region = (400 * qw.constraints(kinds[0][0])).region()
    assert region.method == EVERY
    # the responses at 25 are as good as reveals: total loss above 4000 needs more than 160 of them
    share = truth.weights([("25", "0"), ("1", "0.8")])[1][0]
    few = mp.fsum(math.comb(400, j) * share**j * (1 - share) ** (400 - j) for j in range(161))
    found = region.delta(4000.0)
    assert few < 1e-60
    assert found.lower >= 1 - 1e-10
    assert found.upper == 1
    assert region.epsilons[-1] == 10_000.0
