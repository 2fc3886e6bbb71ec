"""Where the formulas of Theorems 1 and 3 meet ties: settings, and what doubles lose there."""

import itertools
import math
from fractions import Fraction

from tests.errata import printed

from quiltwork.curves import Profile, Region

DECIMALS = [Fraction(i, 20) for i in range(1, 21)]
PAIRS = [(e1, e2) for e1 in DECIMALS for e2 in DECIMALS if e2 < e1]
COUNTS = (2, 3, 4, 5, 6, 8, 10, 20)
SIZES = ((2, 3), (3, 4), (5, 5), (10, 10))


def halfway(e1, e2):
    """Two constraints, the second halfway to where it would stop to matter."""
    return (e1, 0.0), (e2, 0.5 * (1 - (1 + math.exp(e2)) / (1 + math.exp(e1))))


def weights(first, second):
    """Reveal, then the weights of the two responses, smaller epsilon first; without subtraction."""
    return Profile(*zip(first, second, strict=True), symmetric=True).weights()


def region(faces):
    """The intersection of faces; what rounding put outside of [0, 1] is moved in."""
    return Region(
        Profile([max(e, 0.0) for e, _ in faces], [min(max(d, 0.0), 1.0) for _, d in faces], symmetric=True)
    )  # fmt: skip


def lost_by_the_ceiling(e1, e2, k):
    """Slopes >= 0, as exact numbers, that the ceiling of Theorem 3 leaves out in doubles."""
    kept = set(printed.theorem_3_slopes(float(e1), float(e2), k))
    exact = {(u, v): e1 * (u + v - k) + e2 * (u - v) for u in range(k + 1) for v in range(k + 1)}
    return [slope for place, slope in exact.items() if slope >= 0 and place not in kept]


def lost_by_the_sign(e1, e2, x, y):
    """Pairs (a*, b*) with a slope >= 0 that line 2 of Algorithm 1 leaves out in doubles, and all true ones."""
    places = itertools.product(range(x + 1), range(y + 1))
    true = {(a, b) for a, b in places if e1 * (x - 2 * a) + e2 * (y - 2 * b) >= 0}
    return true - set(printed.algorithm_1_slopes(float(e1), float(e2), x, y)), true


def late_starts(e1, e2, x, y, true):
    """The (a*, b*, b) at which a_0(b) in doubles is another number, and how many were asked."""
    asked = [(a, b, start) for a, b in true for start in range(y + 1)]

    def differs(place):
        begins = (printed.algorithm_1_start(*pair, x, y, *place) for pair in ((float(e1), float(e2)), (e1, e2)))
        return next(begins) != next(begins)

    return [place for place in asked if differs(place)], len(asked)


def exact_start(e1, e2, *where):
    """a_0(b) for the decimals that two doubles stand for."""
    return printed.algorithm_1_start(Fraction(repr(e1)), Fraction(repr(e2)), *where)
