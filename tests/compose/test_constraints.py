"""Compositions of constraint sets against brute force over all outputs, adaptive attackers and convex conjugates.

Reference: seed 002 Theorem 3, Conjecture 1 and Lemma 1; theory/multi-constraints.md section 2.
"""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from tests.examples import seeds
from tests.truth import constraints as truth
from tests.truth import convolution
from tests.truth.numbers import mp

import quiltwork as qw
from quiltwork.curves import Profile, TradeOff, mixture

BAR = mp.mpf("1e-12")
INPUT = mp.mpf(2) ** -52  # stated numbers are the decimals typed, ends of brackets are doubles
UNITS = (
    16 * mp.mpf(2) ** -53
)  # a question and a sum of four losses, each a few units off: no answer is better than that


# ---- the truth is reached on roads that share no formula


def drawn(rng, most=6):
    """Up to six points; half of the time on one convex curve, so that nearly all are active."""
    size, digits = rng.randint(1, most), rng.choice([1, 2, 6])
    epsilons = [0.0 if rng.random() < 0.1 else round(rng.uniform(0.0, 2.5), digits) for _ in range(size)]
    if rng.random() < 0.5:
        return [(e, 0.0 if rng.random() < 0.2 else round(rng.uniform(0.0, 0.6), 6)) for e in epsilons]
    floor, bend = rng.choice([0.0, 1e-5, 0.01]), rng.uniform(0.5, 2.0)
    return [(e, round(floor + 0.4 * math.exp(-bend * e) * (1 - e / 3), 9)) for e in epsilons]


@pytest.mark.parametrize("seed", range(20))
def test_weights_of_the_theorem_and_the_envelope_of_the_lines(seed):
    """The mixture has the trade-off function max_i f_i: slope jumps on one side, upper envelope on the other."""
    points = drawn(random.Random(seed))
    one, two = truth.brute([points]), convolution.constraints(points)
    reveal, mass = truth.weights(points)
    assert abs(reveal + mp.fsum(mass) - 1) < mp.mpf("1e-60")
    for alpha in np.linspace(0.0, 1.0, 23):
        assert abs(one.beta(alpha) - two.beta(alpha)) < mp.mpf("1e-55")
    for epsilon, delta in points:
        assert one.delta(epsilon) <= mp.mpf(delta) + mp.mpf("1e-60")


@pytest.mark.parametrize("seed", range(6))
def test_enumeration_and_merging_of_equal_losses(seed):
    rng = random.Random(100 + seed)
    first, second = drawn(rng, 3), drawn(rng, 3)
    one, two = truth.brute([first, second, first]), truth.composed([(first, 2), (second, 1)])
    for epsilon in (-1.0, 0.0, 0.3, 1.0, 2.4):
        assert abs(one.delta(epsilon) - two.delta(epsilon)) < mp.mpf("1e-60")
    for alpha in (0.0, 0.01, 0.4, 0.97):
        assert abs(one.beta(alpha) - two.beta(alpha)) < mp.mpf("1e-60")
    assert len(truth.merged(one)) == len(two.atoms)


# ---- random sets, up to four different mechanisms


def mechanisms(seed):
    rng = random.Random(1000 + seed)
    return [drawn(rng) for _ in range(rng.randint(1, 4))]


def composition(sets):
    return qw.compose(*(qw.constraints(points) for points in sets))


def spelled(points):
    """The decimals that were typed."""
    return [(repr(epsilon), repr(delta)) for epsilon, delta in points]


def answered(bracket, law_at, questions, spans, bar=BAR):
    """The truth is in each bracket, both ends within the bar of it or as near as the question itself is known."""
    for lower, upper, at, span in zip(bracket.lower, bracket.upper, questions, spans, strict=True):
        typed = mp.mpf(repr(at))
        value, blur = law_at(typed), abs(law_at(typed - span) - law_at(typed + span))
        value = value if value > mp.mpf("1e-60") else mp.zero  # what 70 digits leave of a zero
        case = (at, lower, upper, mp.nstr(value, 20), bracket.method)
        # a question, too, is a double that stands for a decimal: the last of its units may not decide
        room = INPUT * value + blur / 16
        assert lower - room <= value <= upper + room, case
        assert max(upper - value, value - lower) <= bar * value + blur, case


SEEDS = range(24)


@pytest.mark.parametrize("seed", SEEDS)
def test_delta_by_brute_force(seed):
    """At zero, at attainable sums, between them, below zero, at the largest loss and past it."""
    sets, rng = mechanisms(seed), random.Random(seed)
    law = truth.brute([spelled(points) for points in sets])
    attained = [float(loss) for loss, _ in law.atoms]
    top = attained[-1]
    asked = [0.0, 1e-9, top, top + 0.25, top * 7 + 1.0, -top, -top - 0.5, -0.3]
    asked += rng.sample(attained, min(8, len(attained))) + [rng.uniform(-top, top) for _ in range(6)]
    answered(composition(sets).delta(asked, rtol=1e-12), law.delta, asked, [UNITS * abs(e) for e in asked])


@pytest.mark.parametrize("seed", SEEDS)
def test_beta_by_brute_force(seed):
    """At corners of the trade-off function, between them, at both ends."""
    sets, rng = mechanisms(seed), random.Random(seed)
    law = truth.brute([spelled(points) for points in sets])
    corners = [min(1.0, float(a)) for a, _ in truth.vertices(law)]
    asked = [0.0, 1.0, 1e-9, 0.5, *rng.sample(corners, min(8, len(corners))), *(rng.random() for _ in range(6))]
    # near its foot the curve depends on 1 - reveal - alpha, a difference of numbers of order 1
    spans = [UNITS * (alpha if alpha < corners[-1] / 2 else 2) for alpha in asked]

    def beta(alpha):
        return law.beta(min(max(alpha, mp.zero), mp.one))

    answered(composition(sets).beta(asked), beta, asked, spans)


@pytest.mark.parametrize("seed", SEEDS)
def test_epsilon_by_brute_force(seed):
    """delta falls through the asked level between the two ends; they differ by at most 1e-11 of the largest loss."""
    sets, rng = mechanisms(seed), random.Random(seed)
    law = truth.brute([spelled(points) for points in sets])
    most, least, top = law.delta(0), law.reveal, law.atoms[-1][0]
    levels = [float(least + (most - least) * mp.mpf(rng.random()) ** 3) for _ in range(6)]
    asked = [level for level in levels if level > least * 1.001] + [min(1.0, float(most) + 0.01), 1.0]
    found = composition(sets).epsilon(asked, rtol=1e-12)
    for level, lower, upper in zip(asked, found.lower, found.upper, strict=True):
        typed, room = mp.mpf(repr(level)), UNITS * max(1, top)
        assert law.delta(upper + room) <= typed * (1 + INPUT), (level, upper, found.method)
        assert lower == 0 or law.delta(lower - room) >= typed * (1 - INPUT), (level, lower, found.method)
        assert upper - lower <= 10 * BAR * top, (level, lower, upper, found.method)
    assert np.all(np.isinf(composition(sets).epsilon([float(least) * 0.99], rtol=1e-9).lower)) or least == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_faces_by_brute_force(seed):
    """The faces are attainable sums of the decimals typed, and the region is right at every one of them."""
    sets = mechanisms(seed)
    law = truth.composed([(spelled(points), 1) for points in sets])
    region, known = composition(sets).region(), truth.faces(law)
    places = np.array([float(epsilon) for epsilon, _ in known])
    nearest = np.abs(region.epsilons[:, None] - places[None, :]).min(axis=1)
    assert float(nearest.max()) <= 1e-14 * (1 + places[-1])
    found = region.delta(places)
    for lower, upper, (epsilon, delta) in zip(found.lower, found.upper, known, strict=True):
        # the floats given to the library are not the decimals: a few units either way
        blur = UNITS * delta + law.delta(epsilon * (1 - UNITS)) - delta
        assert lower - blur <= delta <= upper + blur, (float(epsilon), lower, upper, mp.nstr(delta, 20))
        assert max(upper - delta, delta - lower) <= BAR * delta + blur, (float(epsilon), lower, upper)


@pytest.mark.parametrize("seed", seeds(10))
def test_many_copies_of_two_kinds(seed):
    """Up to 40 releases, by a dictionary of exact sums; epsilons on a common lattice or not."""
    rng = random.Random(2000 + seed)
    kinds = [(drawn(rng, 3), rng.randint(1, 20)) for _ in range(2)]
    law = truth.composed([(spelled(points), count) for points, count in kinds])
    loss = qw.compose(*(count * qw.constraints(points) for points, count in kinds))
    many = sum(count for _, count in kinds)
    top = float(law.atoms[-1][0])
    asked = [0.0, top + 1.0, *(rng.uniform(-0.2, 0.9) * top for _ in range(8)), *rng.choices(places(law), k=3)]
    answered(loss.delta(asked, rtol=1e-12), law.delta, asked, [many * UNITS * abs(e) for e in asked], bar=1e-11)
    alphas = [10.0 ** -rng.uniform(0.0, 9.0) for _ in range(6)]
    answered(loss.beta(alphas), law.beta, alphas, [many * UNITS * alpha for alpha in alphas], bar=1e-6)


def places(law):
    """Attained losses in the middle of a law, as doubles."""
    losses = [float(loss) for loss, _ in law.atoms]
    return losses[len(losses) // 4 : -1 - len(losses) // 4] or losses


@pytest.mark.parametrize("seed", range(6))
def test_several_constraints_are_the_mixture_of_their_responses(seed):
    """The theorem, inside the library: a reveal and randomized responses, chosen at random and named."""
    points = drawn(random.Random(500 + seed))
    reveal, mass = truth.weights(spelled(points))
    kinds = [qw.pure(float(epsilon)) for epsilon, _ in truth.active(spelled(points))]
    parts = [(float(weight), loss) for weight, loss in zip(mass, kinds, strict=True)]
    parts += [(float(reveal), qw.approximate(0.0, 1.0))] if reveal else []
    asked = [0.0, 0.2, 1.1, 3.0]
    one, two = (3 * qw.constraints(points)).delta(asked), (3 * qw.mixture(parts)).delta(asked)
    both = one.intersect(two)
    assert np.all(both.width <= 1e-3 * np.asarray(both.upper) + 1e-14)
    assert one.upper == pytest.approx(two.upper, rel=2e-3, abs=1e-14)


# ---- adaptive attackers, in whole numbers


class Finite:
    """A pair of laws on a few outputs: whole numbers over one denominator."""

    def __init__(self, p, q):
        self.p, self.q, self.total = list(p), list(q), sum(p)
        assert sum(q) == self.total

    def swapped(self):
        return Finite(self.q, self.p)

    def delta(self, t):
        """The hockey stick at a rational t."""
        excess = (max(p * t.denominator - q * t.numerator, 0) for p, q in zip(self.p, self.q, strict=True))
        return Fraction(sum(excess), self.total * t.denominator)

    def reveal(self):
        return Fraction(sum(p for p, q in zip(self.p, self.q, strict=True) if q == 0), self.total)

    def through(self, kernel):
        """The output seen through a channel: rows of whole numbers with one sum."""
        columns = list(zip(*kernel, strict=True))
        return Finite(*([sum(map(int.__mul__, side, column)) for column in columns] for side in (self.p, self.q)))

    def then(self, following):
        """Adaptively: output i is followed by the i-th mechanism."""
        common = math.lcm(*(second.total for second in following))
        p, q = [], []
        for a, b, second in zip(self.p, self.q, following, strict=True):
            scale = common // second.total
            p += [a * scale * x for x in second.p]
            q += [b * scale * x for x in second.q]
        return Finite(p, q)

    def holds(self, limits):
        """Whether delta(s) <= delta for every (s, delta), in both orders."""
        return all(side.delta(s) <= d for side in (self, self.swapped()) for s, d in limits)


def tight(limits):
    """The pair of the theorem for rational e^epsilon, in whole numbers; all points must be active."""
    knots = [*sorted(limits, reverse=True), (Fraction(-1), Fraction(1))]
    slopes = [Fraction(0)] + [-(b[1] - a[1]) / (a[0] - b[0]) for a, b in itertools.pairwise(knots)]
    p, q = [knots[0][1], Fraction(0)], [Fraction(0), knots[0][1]]
    for j, (s, _) in enumerate(knots[:-1]):
        weight = (1 + s) * (slopes[j] - slopes[j + 1])
        assert weight > 0
        p += [weight * s / (1 + s), weight / (1 + s)]
        q += [weight / (1 + s), weight * s / (1 + s)]
    unit = math.lcm(*(x.denominator for x in p))
    return Finite([int(x * unit) for x in p], [int(x * unit) for x in q])


F = Fraction
LIMITS = [  # (e^epsilon, delta)
    [(F(3, 2), F(0)), (F(5, 4), F(1, 25))],
    [(F(3), F(1, 100)), (F(3, 2), F(1, 5)), (F(1), F(7, 20))],
    [(F(9, 4), F(1, 10**6)), (F(7, 4), F(1, 20)), (F(5, 4), F(1, 6)), (F(11, 10), F(13, 60))],
    [(F(2), F(1, 50))],
    [(F(1), F(1, 8))],
]


def rounded_log(t, direction):
    """log t rounded outward."""
    return math.nextafter(math.log(t), direction * math.inf) if t != 1 else 0.0


def released(limits):
    """What the library is told: rounded up twice, so that the mechanism satisfies the decimals it reads them as."""
    return qw.constraints([(_up(math.log(s)) if s > 1 else 0.0, _up(float(d)) if d else 0.0) for s, d in limits])


def _up(x):
    return math.nextafter(math.nextafter(x, math.inf), math.inf)


def knots(one, two):
    """Every t >= 1 where the composed profile bends."""
    places = {a * b for a in _around(one) for b in _around(two)}
    return sorted(t for t in places | {F(1)} if t >= 1)


def _around(limits):
    return {t for s, _ in limits for t in (s, 1 / s)}


class Promise:
    """The library's composed profile of two releases, at all of its bends and at infinity.

    A profile is convex in t and the promise is straight between its bends: no more at all of them means no more
    anywhere. Questions are rounded down, which only raises what is promised.
    """

    def __init__(self, one, two):
        self.loss, self.places = released(one) + released(two), knots(one, two)
        asked = [rounded_log(t, -1) if t > 1 else 0.0 for t in self.places]
        self.found = self.loss.delta([*asked, math.inf], rtol=1e-12)
        *self.upper, self.reveal = (F(float(x)) for x in self.found.upper)

    def kept(self, mechanism):
        return all(
            side.reveal() <= self.reveal
            and all(side.delta(t) <= most for t, most in zip(self.places, self.upper, strict=True))
            for side in (mechanism, mechanism.swapped())
        )


def random_kernel(rng, rows):
    """Whole numbers, each row with sum 64; often sparse, sometimes the identity."""
    columns = rng.randint(2, rows)
    if rng.random() < 0.15:
        return [[64 * (i == j) for j in range(rows)] for i in range(rows)]
    cuts = [sorted(rng.choices([0, 64, *range(0, 65, 4)], k=columns - 1)) for _ in range(rows)]
    return [[b - a for a, b in itertools.pairwise([0, *row, 64])] for row in cuts]


def processed(rng, limits):
    """The tight pair seen through a random channel: it satisfies the constraints."""
    pair = tight(limits)
    pair = pair.through(random_kernel(rng, len(pair.p)))
    return pair.swapped() if rng.random() < 0.5 else pair


def squeezed(rng, limits):
    """Two random laws, moved towards each other in steps of 1/512 until every constraint holds in both orders."""
    size = rng.randint(2, 5)
    p, q = ([rng.choice([0, 1, 2, 5, 20, 100]) for _ in range(size)] for _ in range(2))
    p, q = [*p, 1], [*q, 1]
    p, q = [x * sum(q) for x in p], [x * sum(p) for x in q]

    def moved(step):
        keep = 1024 - step
        return Finite(
            [keep * a + step * b for a, b in zip(p, q, strict=True)],
            [keep * b + step * a for a, b in zip(p, q, strict=True)],
        )

    least, most = 0, 512  # both laws are equal at the end
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if moved(middle).holds(limits) else (middle + 1, most)
    return moved(least)


@pytest.mark.parametrize("one", range(len(LIMITS)))
@pytest.mark.parametrize("two", range(len(LIMITS)))
def test_adaptive_mechanisms_keep_the_promise(one, two):
    """48 mechanisms for each of 25 pairs of constraint sets: 1200 in all, no tolerance."""
    rng, promise = random.Random(31 * one + two), Promise(LIMITS[one], LIMITS[two])
    for draw in range(48):
        make = (processed, squeezed)[draw % 2]
        first = make(rng, LIMITS[one])
        assert first.holds(LIMITS[one])
        following = [rng.choice((processed, squeezed))(rng, LIMITS[two]) for _ in first.p]
        assert promise.kept(first.then(following))


@pytest.mark.parametrize("one", range(len(LIMITS)))
@pytest.mark.parametrize("two", range(len(LIMITS)))
def test_the_promise_is_attained(one, two):
    """The tight pairs, one after the other, need all of it: both ends of each bracket meet their profile."""
    promise = Promise(LIMITS[one], LIMITS[two])
    first, second = tight(LIMITS[one]), tight(LIMITS[two])
    joint = first.then([second] * len(first.p))
    assert promise.kept(joint)
    top = promise.places[-1]
    for t, lower, upper in zip(promise.places, promise.found.lower, promise.found.upper, strict=False):
        # inputs and questions are rounded by a unit or two each: that much of the tail, beside 1e-12 of the value
        moved = joint.delta(t - t / 2**48) - joint.delta(t) if t == top else 0
        assert joint.delta(t) <= F(float(upper)) <= joint.delta(t) * (1 + F(1, 10**12)) + moved
        assert F(float(lower)) <= joint.delta(t) + F(4, 2**52)
    assert float(joint.reveal()) == pytest.approx(float(promise.found.upper[-1]), rel=1e-12)


@pytest.mark.parametrize("excess", [F(1, 10**3), F(1, 10**6), F(1, 10**9)])
@pytest.mark.parametrize(("which", "index"), [(i, j) for i, limits in enumerate(LIMITS) for j in range(len(limits))])
def test_a_mechanism_that_breaks_a_constraint_is_caught(which, index, excess):
    """One delta is exceeded a little, in the second round, and only after the likeliest of the first outputs."""
    limits = LIMITS[which]
    broken = tight([(s, d + excess * (i == index)) for i, (s, d) in enumerate(limits)])
    assert not broken.holds(limits)
    first = honest = tight(limits)
    promise = Promise(limits, limits)
    loud = max(range(len(first.p)), key=lambda i: first.p[i])
    assert promise.kept(first.then([honest] * len(first.p)))
    assert not promise.kept(first.then([broken if i == loud else honest for i in range(len(first.p))]))


# ---- Lemma 1, through profiles and through convex conjugates


def random_polygon(rng):
    """A convex falling polygon with corners on a grid of 1/1024, often with f(0) < 1 or a foot before 1."""
    count = rng.randint(1, 5)
    widths = _parts(rng, rng.choice([1024, 1024, 700]), count)
    falls = _parts(rng, rng.choice([1024, 1024, 900]), count)
    widths, falls = sorted(widths), sorted(falls, reverse=True)  # slopes rise
    alphas = [F(x, 1024) for x in itertools.accumulate(widths, initial=0)]
    betas = [F(sum(falls) - x, 1024) for x in itertools.accumulate(falls, initial=0)]
    return list(zip(alphas, betas, strict=True)) + ([] if alphas[-1] == 1 else [(F(1), F(0))])


def _parts(rng, total, count):
    cuts = sorted(rng.sample(range(1, total), count - 1))
    return [b - a for a, b in itertools.pairwise([0, *cuts, total])]


def conjugate(corners, slope):
    """f*(y) = max of y x - f(x) over the corners."""
    return max(slope * x - y for x, y in corners)


def mixed_by_conjugates(weighted, alpha):
    """(sum_i w_i f_i*)*: the maximum of a concave function with bends at the slopes of the polygons."""
    slopes = {(b[1] - a[1]) / (b[0] - a[0]) for _, corners in weighted for a, b in itertools.pairwise(corners)}
    return max(alpha * y - sum(w * conjugate(corners, y) for w, corners in weighted) for y in slopes)


@pytest.mark.parametrize("seed", seeds(40))
def test_mixture_by_profiles_and_by_conjugates(seed):
    rng = random.Random(seed)
    polygons = [random_polygon(rng) for _ in range(rng.randint(1, 4))]
    shares = [F(x, 256) for x in _parts(rng, 256, len(polygons))]
    weighted = list(zip(shares, polygons, strict=True))
    mixed = mixture([(float(w), TradeOff([float(a) for a, _ in c], [float(b) for _, b in c])) for w, c in weighted])
    asked = [F(0), F(1), *(F(rng.randint(1, 4095), 4096) for _ in range(12))]
    found = mixed.beta([float(alpha) for alpha in asked])
    for alpha, lower, upper in zip(asked, found.lower, found.upper, strict=True):
        value = mixed_by_conjugates(weighted, alpha)
        assert F(float(lower)) <= value <= F(float(upper))
        assert upper - lower <= 1e-12
    corners = mixed.tradeoff()
    for alpha in asked:
        value = mixed_by_conjugates(weighted, alpha)
        assert F(float(corners.beta(float(alpha)).lower)) <= value
        assert corners.beta(float(alpha)).lower == pytest.approx(float(value), rel=1e-12, abs=1e-13)
    # delta(t) = 1 + f*(-t), and conjugates add up: no second conjugate here
    for t in (F(1, 7), F(1), F(5, 3), F(40)):
        value = 1 + sum(w * conjugate(c, -t) for w, c in weighted)
        down, up = (mixed.delta(rounded_log(t, way)) for way in (-1, 1))
        assert F(float(up.lower)) <= value <= F(float(down.upper))
        assert down.upper == pytest.approx(float(value), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize(
    ("reveal", "epsilon", "delta"),
    [(0.25, 1.0, 0.0), (0.1, 0.3, 0.02), (1e-12, 2.5, 1e-9), (0.5, 0.0, 0.125), (0.999, 4.0, 0.5), (0.0, 0.7, 0.3)],
)
def test_a_reveal_mixed_in_raises_delta_alone(reveal, epsilon, delta):
    """d R(0, 1) + (1 - d) R(eps, delta) = R(eps, 1 - (1 - d)(1 - delta)): theory item 15."""
    nothing, some = Profile([0.0], [1.0], symmetric=True), Profile([epsilon], [delta], symmetric=True)
    mixed = mixture([(reveal, nothing), (1.0 - reveal, some)])
    total = 1 - (1 - mp.mpf(reveal)) * (1 - mp.mpf(delta))
    assert mixed.epsilons.tolist() == [epsilon]
    assert mixed.delta(epsilon).lower <= total <= mixed.delta(epsilon).upper
    one, asked = Profile([epsilon], [float(total)], symmetric=True), [-1.0, 0.0, epsilon / 2, epsilon, 9.0]
    assert mixed.delta(asked).upper == pytest.approx(one.delta(asked).upper, rel=1e-14)
    assert mixed.beta([0.0, 0.1, 0.6]).lower == pytest.approx(one.beta([0.0, 0.1, 0.6]).lower, rel=1e-13, abs=1e-14)
    parts = [(1.0 - reveal, qw.approximate(epsilon, delta)), (reveal, qw.approximate(0.0, 1.0))]
    loss = qw.mixture([(weight, part) for weight, part in parts if weight])
    assert loss.delta(asked, rtol=1e-12).upper == pytest.approx(one.delta(asked).upper, rel=1e-13)
