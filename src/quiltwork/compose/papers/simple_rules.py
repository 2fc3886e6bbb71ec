"""Simpler composition rules, for comparison: what would be promised without the exact engine.

Rules that end in one (epsilon, delta) take releases as triples (epsilon, delta, count). Rules that end in a region take
the (epsilon, delta) constraints of one release, and how often it is made. All are sound: numbers are rounded up, and a
region of these includes the exact one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import constraints as all_of
from quiltwork.curves.polygons.profile import Profile, from_ends
from quiltwork.curves.polygons.region import Region
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.constraints import Constraint, Constraints
from quiltwork.numbers.rounding import UNIT, up
from quiltwork.numbers.stated import typed, typed_above

Release = tuple[float, float, int]
MOST = 10**6  # faces are listed one by one
CLOSED = "closed form: every face"
LEAST = float(np.finfo(float).smallest_subnormal)


def basic(parts: Iterable[Release]) -> Constraint:
    """Epsilons add up, and so do deltas.

    Reference: Dwork, Kenthapadi, McSherry, Mironov and Naor 2006, Theorem 1.

    >>> basic([(0.5, 0.0, 3), (0.25, 0.125, 2)])
    (2.0, 0.25)
    """
    return _basic(_releases(parts))


def _basic(releases: list[Release]) -> Constraint:
    epsilon = _sum((epsilon, count) for epsilon, _, count in releases)
    return epsilon, min(_sum((delta, count) for _, delta, count in releases), 1.0)


def dwork_rothblum_vadhan(parts: Iterable[Release], slack: float) -> Constraint:
    """The first advanced composition theorem: epsilon grows with the root of the count when `slack` of delta is given.

    epsilon = sqrt(2 ln(1/slack) sum eps^2) + sum eps (e^eps - 1), and delta = slack + sum delta. For few
    releases, or large epsilons, it is worse than `basic`.

    Reference: Dwork, Rothblum and Vadhan 2010, Theorem III.3.

    >>> round(dwork_rothblum_vadhan([(0.1, 0.0, 1000)], 1e-6)[0], 4)
    27.1397
    """
    releases, slack = _releases(parts), _slack(slack)
    drift = _sum((_times(epsilon, _expm1(epsilon)), count) for epsilon, _, count in releases)
    delta = _sum([*((delta, count) for _, delta, count in releases), (slack, 1)])
    return _raised(drift + _spread(_root(releases), _log_inverse(slack))), min(delta, 1.0)


def advanced(parts: Iterable[Release], slack: float) -> Constraint:
    """The improved advanced composition theorem: the least of three sums, when `slack` of delta is given.

    The drift is eps tanh(eps/2) instead of eps (e^eps - 1), and deltas compose to 1 - (1 - slack) prod (1 - delta).

    Reference: Kairouz, Oh and Viswanath 2015, Theorem 3.5.

    >>> round(advanced([(0.1, 0.0, 1000)], 1e-6)[0], 4)
    21.6184
    """
    releases, slack = _releases(parts), _slack(slack)
    plain, _ = _basic(releases)
    delta = _either([(slack, 1), *((delta, count) for _, delta, count in releases)])
    if plain in (0.0, math.inf) or slack == 0:
        return plain, delta
    drift = _sum((_times(epsilon, math.tanh(epsilon / 2)), count) for epsilon, _, count in releases)
    root = _root(releases)
    log = min(math.log(math.e + root / slack), _log_inverse(slack))
    return min(plain, _raised(drift + _spread(root, log))), delta


def kairouz_oh_viswanath(epsilon: float, delta: float, count: int) -> Region:
    """The exact region of `count` releases of one (epsilon, delta), in closed form.

    Its faces are ((k - 2i) eps, 1 - (1 - delta)^k (1 - delta_i)) for i = 0 ... k/2. Here delta_i is the sum over l < i
    of b_l (1 - e^{-2(i - l) eps}), and b_l the chance of l tails in k tosses of a coin with odds e^eps for heads.
    Ratios of neighbouring b are multiplied from the largest b outward: nothing overflows, nothing is subtracted.

    The same as `(count * qw.approximate(epsilon, delta)).region()`.

    Reference: Kairouz, Oh and Viswanath 2015, Theorem 3.3.

    >>> kairouz_oh_viswanath(0.3, 0.0, 3).epsilons
    array([0.3, 0.9])
    """
    epsilon, delta = checks.non_negative("epsilon", epsilon), checks.probability("delta", delta)
    count = _count(count)
    if delta == 1.0:
        return Region(Profile([0.0], [1.0], symmetric=True), method=CLOSED)
    log_kept = count * math.log1p(-delta)
    reveal, kept = -math.expm1(log_kept), math.exp(log_kept)
    if epsilon == 0:
        return Region(Profile([0.0], [min(_raised(reveal), 1.0)], symmetric=True, slack=64.0 * UNIT), method=CLOSED)
    sticks, tails = _sticks(epsilon, count)
    deltas = reveal + kept * sticks
    # in units: 6 for each of at most k/2 ratios, 5 for each step of the two sums, 3 sqrt(k) for the normalisation, and
    # eps for each toss, since a decimal is half a unit away; underflow loses at most a least float in each step
    margin = ((8.0 + epsilon) * count + 64.0) * UNIT
    lost = 4.0 * count * count * LEAST
    upper = np.minimum(up(deltas * (1.0 + margin) + lost), 1.0)
    upper[0] = min(_raised(reveal), 1.0)  # nothing lies above the last face
    places = np.array([_sum([(epsilon, count - 2 * i)]) for i in range(len(sticks))])
    # a face may lie a unit right of the exact one, which raises the curve on its left
    lower = deltas * (1.0 - margin) - lost - 8.0 * UNIT * places * kept * tails
    return Region(from_ends(places, lower, upper, symmetric=True), method=CLOSED)


def one_at_a_time(constraints: Iterable[Constraint], count: int) -> Region:
    """Each constraint composed alone, then the intersection: sound, and loose when several constraints matter.

    Reference: seed 002, Remark 1; the intersection is a convex hull (theory/multi-constraints.md, item 16).

    >>> bool(one_at_a_time([(0.3, 0.0), (0.15, 0.02)], 20).delta(1.0).upper > 0.26)  # exact: 0.0887
    True
    """
    points = Constraints(constraints).points
    return reduce(Region.intersection, [kairouz_oh_viswanath(*one, count) for one in points])


def with_total_variation(constraints: Iterable[Constraint], count: int) -> Region:
    """Each constraint composed together with the total variation that all of them imply, then the intersection.

    A constraint that implies this total variation by itself is composed alone; for two constraints, both active, this
    is the paper's bound R_k((eps_1, 0), (delta_1, eta)) and R_k(eps_2, delta_2).

    Reference: seed 002, Remark 2, with the eta of theory/multi-constraints.md, item 1.

    >>> bool(with_total_variation([(0.3, 0.0), (0.15, 0.02)], 20).delta(1.0).upper < 0.16)  # exact: 0.0887
    True
    """
    points, count = Constraints(constraints).points, _count(count)
    eta = total_variation(points)

    def composed(one: Constraint) -> Region:
        if total_variation([one]) <= eta:
            return kairouz_oh_viswanath(*one, count)
        if one[1] * (1.0 + 64.0 * UNIT) >= eta:  # then total variation implies it, up to rounding
            return kairouz_oh_viswanath(0.0, eta, count)
        return (count * all_of([one, (0.0, eta)])).region()

    return reduce(Region.intersection, [composed(one) for one in points])


def total_variation(constraints: Iterable[Constraint]) -> float:
    """The total variation that (epsilon, delta) constraints imply: the least delta + (1 - delta) tanh(epsilon/2).

    Reference: seed 002, Remark 2, corrected in theory/multi-constraints.md, item 1.

    >>> round(total_variation([(0.3, 0.0), (0.15, 0.02)]), 6)
    0.093362
    """
    points = Constraints(constraints).points
    return min(1.0, *(_raised(delta + (1.0 - delta) * math.tanh(epsilon / 2)) for epsilon, delta in points))


def _releases(parts: Any) -> list[Release]:
    allowed = "a list of (epsilon, delta, count)"
    try:
        triples = [(epsilon, delta, count) for epsilon, delta, count in parts]
    except (TypeError, ValueError):
        raise InvalidParameter("parts", parts, allowed) from None
    out = []
    for epsilon, delta, count in triples:
        place = checks.numbers("epsilon", epsilon, "a number >= 0 (infinite allowed)", 0.0, math.inf)
        if place.ndim:
            raise InvalidParameter("epsilon", epsilon, "one number >= 0 (infinite allowed)")
        number = checks.count("count", count)
        if number:
            out.append((float(place), checks.probability("delta", delta), number))
    return out


def _slack(value: Any) -> float:
    return checks.probability("slack", value, "it is the delta that the rule may spend")


def _count(value: Any) -> int:
    number = checks.count("count", value, least=1)
    if number > MOST:
        hint = "ask (count * loss).delta or .epsilon, which list no faces"
        raise InvalidParameter("count", value, f"an integer from 1 to {MOST}", hint)
    return number


def _log_inverse(slack: float) -> float:
    return -math.log(slack) if slack > 0 else math.inf


def _expm1(x: float) -> float:
    return math.expm1(x) if x < 700.0 else math.inf


def _sum(terms: Iterable[tuple[float, int]]) -> float:
    """The sum of the products of stated numbers, never smaller."""
    pairs = list(terms)
    if any(math.isinf(value) for value, _ in pairs):
        return math.inf
    return typed_above(sum((typed(value) * count for value, count in pairs), Fraction(0)))


def _times(epsilon: float, factor: float) -> float:
    """A product that stays above 0 when it underflows."""
    return up(epsilon * factor) if epsilon > 0 else 0.0


def _root(releases: list[Release]) -> float:
    """sqrt(sum eps^2), without overflow or underflow of a square."""
    return math.hypot(*(math.sqrt(count) * epsilon for epsilon, _, count in releases))


def _spread(root: float, log: float) -> float:
    return root * math.sqrt(2.0 * log) if root > 0 else 0.0


def _either(deltas: list[tuple[float, int]]) -> float:
    """1 - prod (1 - delta)^count."""
    if any(delta == 1.0 for delta, _ in deltas):
        return 1.0
    return min(_raised(-math.expm1(math.fsum(count * math.log1p(-delta) for delta, count in deltas))), 1.0)


def _raised(value: float) -> float:
    """A sum of a few positive rounded terms, moved above the exact one; subnormal terms round by whole steps."""
    return up(value * (1.0 + 16.0 * UNIT)) + 32 * LEAST if value > 0 else 0.0


def _sticks(epsilon: float, count: int) -> tuple[FloatArray, FloatArray]:
    """At each face, without a reveal: delta, and e^eps Q(L >= eps), by which delta falls to its left."""
    shrink = math.exp(-2.0 * epsilon)
    tosses = _tosses(epsilon, count)[: count // 2 + 1].tolist()
    tails = list(accumulate(tosses, lambda total, new: new + total * shrink))
    sticks = np.array(list(accumulate(tails[:-1], initial=0.0)))
    return sticks * -math.expm1(-2.0 * epsilon), np.array(tails)


def _tosses(epsilon: float, count: int) -> FloatArray:
    """Probabilities of 0 ... count tails in `count` tosses of a coin with heads e^eps/(1 + e^eps).

    Ratios of neighbours, multiplied from the most likely number outward, and normalised: errors stay relative.
    """
    odds = math.exp(-epsilon)
    tails = np.arange(count, dtype=float)
    ratios = (count - tails) / (tails + 1.0) * odds
    mode = min(int((count + 1) * odds / (1.0 + odds)), count)
    with np.errstate(under="ignore"):
        right = np.cumprod(np.concatenate(([1.0], ratios[mode:])))
        left = np.cumprod(1.0 / ratios[:mode][::-1])[::-1]
    heads = np.concatenate((left, right))
    return np.asarray(heads / math.fsum(heads))
