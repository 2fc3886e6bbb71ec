"""Theorems 1 to 3 and Conjecture 1 with s = e^epsilon a rational: both sides of an equation are then exact.

The printed sums need powers of s and comparisons of such powers, and nothing else, so that a rational s makes every
number of the theorem a rational.  Regions are compared by their profiles: two are equal when their deltas are equal at
all knots of both.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Sequence
from fractions import Fraction

from tests.compose.naive import hockey_stick, product
from tests.curves.exact import ExactProfile

Point = tuple[Fraction, Fraction]  # s = e^epsilon, and delta
Pair = tuple[list[Fraction], list[Fraction]]  # probabilities of all outputs in the two worlds
ONE = Fraction(1)


def alpha(first: Point, second: Point) -> Fraction:
    """The weight of Theorem 2, as printed."""
    (s1, d1), (s2, d2) = first, second
    return ((1 - d1) * s2 - (1 - d2) * s1 + (d2 - d1)) / ((s2 - s1) * (1 - d1))


def algorithm_1(s1: Fraction, s2: Fraction, x: int, y: int) -> list[Point]:
    """The faces of x and y responses; a_0(b) is the first a with s1^a s2^b >= s1^(x - a*) s2^(y - b*)."""
    scale, faces = (s1 + 1) ** x * (s2 + 1) ** y, []
    for a_star, b_star in itertools.product(range(x + 1), range(y + 1)):
        face = s1 ** (x - 2 * a_star) * s2 ** (y - 2 * b_star)
        if face < 1:
            continue
        total = Fraction(0)
        for a, b in itertools.product(range(x + 1), range(y + 1)):
            if s1**a * s2**b >= s1 ** (x - a_star) * s2 ** (y - b_star):
                far = s1 ** (2 * (x - a_star) - a) * s2 ** (2 * (y - b_star) - b)
                total += math.comb(x, a) * math.comb(y, b) * (s1**a * s2**b - far)
        faces.append((face, total / scale))
    return faces


def theorem_2(first: Point, second: Point, k: int, at: Sequence[Fraction]) -> list[Fraction]:
    """Deltas of the mixture of heterogeneous compositions; a weighted sum of regions averages their deltas."""
    (s1, d1), (s2, _) = first, second
    share, kept = alpha(first, second), (1 - d1) ** k
    parts = [ExactProfile(algorithm_1(s1, s2, i, k - i), symmetric=True) for i in range(k + 1)]
    weights = [math.comb(k, i) * (1 - share) ** i * share ** (k - i) for i in range(k + 1)]
    return [1 - kept + kept * sum(w * part.delta(t) for w, part in zip(weights, parts, strict=True)) for t in at]


def theorem_3(first: Point, second: Point, k: int) -> list[Point]:
    """The faces of Theorem 3, with the reveal mixed in."""
    (s1, d1), (s2, _) = first, second
    share, kept = alpha(first, second), (1 - d1) ** k
    one, two = (1 - share) / (s1 + 1), share / (s2 + 1)
    faces = []
    for u, v in itertools.product(range(k + 1), repeat=2):
        face = s1 ** (u + v - k) * s2 ** (u - v)
        if face < 1:
            continue
        total = Fraction(0)
        for a, b, c, d in splits(k, 4):
            if s1 ** (a + k - d - u - v) * s2 ** (b + v - c - u) > 1:
                ways = math.factorial(k) // math.prod(math.factorial(n) for n in (a, b, c, d))
                gap = s1**a * s2**b - s1 ** (d + u + v - k) * s2 ** (c + u - v)
                total += ways * one ** (a + d) * two ** (b + c) * gap
        faces.append((face, 1 - kept * (1 - total)))
    return faces


def splits(total: int, parts: int) -> Iterable[tuple[int, ...]]:
    """All ways to write a number as an ordered sum of numbers >= 0."""
    for cuts in itertools.combinations(range(total + parts - 1), parts - 1):
        edges = (-1, *cuts, total + parts - 1)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(edges))


def responses(points: Sequence[Point]) -> tuple[Fraction, list[tuple[Fraction, Fraction]]]:
    """The reveal weight, and (s_j, w_j) of each active constraint: w_j = (1 + s_j) times the jump of slope at s_j."""
    chain = ExactProfile(points, symmetric=True).chain
    slopes = [(p - q) / (b - a) for (a, p), (b, q) in itertools.pairwise(chain)] + [Fraction(0)]
    jumps = [steep - flat for steep, flat in itertools.pairwise(slopes)]
    return chain[-1][1], [(s, (1 + s) * jump) for (s, _), jump in zip(chain[1:], jumps, strict=True)]


def tight_pair(points: Sequence[Point]) -> Pair:
    """The observed-class mixture: a reveal, and randomized response at each active constraint."""
    reveal, classes = responses(points)
    p, q = [reveal, Fraction(0)], [Fraction(0), reveal]
    for s, weight in classes:
        p += [weight * s / (1 + s), weight / (1 + s)]
        q += [weight / (1 + s), weight * s / (1 + s)]
    return p, q


def knots(outcomes: Iterable[tuple[Fraction, Fraction]]) -> list[Fraction]:
    """Likelihood ratios from 1 up: where the profile of these outcomes bends."""
    return sorted({ONE, *(p / q for p, q in outcomes if q and p > q)})


def composed(pair: Pair, k: int) -> list[tuple[Fraction, Fraction]]:
    """Every joint output of k copies, written out."""
    return product([pair] * k)


def conjecture_1(points: Sequence[Point], k: int, at: Sequence[Fraction]) -> list[Fraction]:
    """Deltas of the printed mixture over all counts j, each class of responses enumerated by itself."""
    reveal, classes = responses(points)
    kept = (1 - reveal) ** k
    found = [1 - kept for _ in at]
    for counts in splits(k, len(classes)):
        ways = math.factorial(k) // math.prod(math.factorial(n) for n in counts)
        weight = kept * ways * math.prod((w / (1 - reveal)) ** n for (_, w), n in zip(classes, counts, strict=True))
        pairs = [([s / (1 + s), 1 / (1 + s)], [1 / (1 + s), s / (1 + s)]) for s, _ in classes]
        outputs = product([pair for pair, n in zip(pairs, counts, strict=True) for _ in range(n)])
        found = [so_far + weight * hockey_stick(outputs, t) for so_far, t in zip(found, at, strict=True)]
    return found


# ---- random cases


def two_constraints(rng: random.Random) -> tuple[Point, Point]:
    """A pair that meets Assumption 1."""
    s2 = 1 + Fraction(rng.randint(1, 30), 20)
    s1 = s2 + Fraction(rng.randint(1, 40), 20)
    d1 = Fraction(rng.choice((0, rng.randint(1, 20))), 100)
    limit = 1 - (1 - d1) * (1 + s2) / (1 + s1)  # from there on the first constraint alone says as much
    return (s1, d1), (s2, d1 + (limit - d1) * Fraction(rng.randint(1, 9), 10))


def law(rng: random.Random, size: int) -> list[Fraction]:
    """A random law on a few outputs, all possible."""
    parts = [rng.randint(1, 30) for _ in range(size)]
    return [Fraction(part, sum(parts)) for part in parts]


def mechanism(rng: random.Random) -> Pair:
    """What a random mechanism shows in two neighbouring worlds."""
    size = rng.randint(2, 4)
    return law(rng, size), law(rng, size)


def promised(mechanisms: Sequence[Pair], places: Sequence[Fraction]) -> list[Point]:
    """The smallest delta at each place that holds for all of these mechanisms, in both orders."""
    outcomes = [list(zip(*pair, strict=True)) for pair in mechanisms]
    both = outcomes + [[(q, p) for p, q in one] for one in outcomes]
    return [(s, max(hockey_stick(one, s) for one in both)) for s in places]


def adaptive(first: Pair, after: Sequence[Pair]) -> list[tuple[Fraction, Fraction]]:
    """Two rounds: which mechanism runs second depends on the first output."""
    return [(a * p, b * q) for a, b, (ps, qs) in zip(*first, after, strict=True) for p, q in zip(ps, qs, strict=True)]
