"""Compositions of simultaneous (epsilon, delta) constraints by the theorem, and by brute force over all outputs.

A mechanism is a list of points (epsilon, delta). Points written as strings are the decimals they spell, floats are the
binary numbers they are: both are exact rationals here, and so are all sums of epsilons.

Reference: seed 002 Conjecture 1, theorem and proof in theory/multi-constraints.md section 2.
"""

import itertools
import math
from fractions import Fraction

from .convolution import Law
from .numbers import mp

SAME = mp.mpf(2) ** -190
"""Slopes this close, relative to the larger, are one slope: far above the working precision, far below any input."""


ANCHOR = (None, Fraction(1))
"""The point (s, delta) = (-1, 1), where every response has delta = 1."""


def exact(value):
    """The rational that a string spells or that a float is."""
    return Fraction(value)


def real(fraction):
    """A rational to working precision."""
    return mp.mpf(fraction.numerator) / fraction.denominator


def active(points):
    """Vertices of the envelope of (e^eps, delta), the anchor (-1, 1) and the direction (1, 0): epsilon falling."""
    best = {}
    for epsilon, delta in points:
        epsilon, delta = exact(epsilon), exact(delta)
        if delta < 1:
            best[epsilon] = min(delta, best.get(epsilon, delta))
    if not best:
        return []
    least = min(best.values())
    top = min(epsilon for epsilon, delta in best.items() if delta == least)
    chain = [ANCHOR]
    for epsilon in sorted(e for e in best if e <= top):
        point = (epsilon, best[epsilon])
        while len(chain) > 1 and not _turns(chain[-2], chain[-1], point):
            chain.pop()
        chain.append(point)
    return chain[:0:-1]


def _turns(left, middle, right):
    """Whether the middle one of three points lies below the chord of the others."""
    before, after = _slope(left, middle), _slope(middle, right)
    return before - after > SAME * max(abs(before), abs(after))


def _slope(left, right):
    """How fast delta falls with s = e^epsilon from one point to the next."""
    end = mp.exp(real(right[0]))
    width = 1 + end if left is ANCHOR else -end * mp.expm1(real(left[0] - right[0]))
    return real(left[1] - right[1]) / width


def weights(points):
    """w_0 and w_j = (1 + s_j)(m_(j-1) - m_j) of the active points, as the theorem has them (m = -slope)."""
    kept = active(points)
    if not kept:
        return mp.one, []
    slopes = [mp.zero] + [_slope(below, here) for here, below in itertools.pairwise([*kept, ANCHOR])]
    jumps = (steep - flat for flat, steep in itertools.pairwise(slopes))
    return real(kept[0][1]), [(1 + mp.exp(real(e))) * jump for (e, _), jump in zip(kept, jumps, strict=True)]


def pair(points):
    """The tight pair as two lists: what only P shows, what only Q shows, two answers of each response."""
    reveal, mass = weights(points)
    p, q = [reveal, mp.zero], [mp.zero, reveal]
    for (epsilon, _), weight in zip(active(points), mass, strict=True):
        likely = weight / (1 + mp.exp(-real(epsilon)))
        rare = weight / (1 + mp.exp(real(epsilon)))
        p += [likely, rare]
        q += [rare, likely]
    return p, q


def joint(pairs):
    """Every joint outcome of independent pairs, written out: P masses and Q masses."""
    p, q = [mp.one], [mp.one]
    for one, two in pairs:
        p = [a * b for a in p for b in one]
        q = [a * b for a in q for b in two]
    return p, q


def brute(mechanisms):
    """The law of the loss of the joint outcomes of a few mechanisms."""
    return Law.of_pair(*joint([pair(points) for points in mechanisms]))


def composed(counted):
    """The same law for many copies [(points, count), ...]: losses are exact multiples of one unit, equal ones merge."""
    unit = math.lcm(*(e.denominator for points, _ in counted for e, _ in active(points)), 1)
    law, kept = {0: mp.one}, mp.one
    for points, count in counted:
        reveal, mass = weights(points)
        kept *= (1 - reveal) ** count
        steps = {}
        for (epsilon, _), weight in zip(active(points), mass, strict=True):
            for loss in (epsilon, -epsilon):
                index = int(loss * unit)
                answer = weight / (1 - reveal) / (1 + mp.exp(-real(loss)))
                steps[index] = steps.get(index, mp.zero) + answer
        for _ in range(count if steps else 0):
            following = {}
            for (place, p), (step, answer) in itertools.product(law.items(), steps.items()):
                following[place + step] = following.get(place + step, mp.zero) + p * answer
            law = following
    return Law(((real(Fraction(n, unit)), kept * p) for n, p in law.items()), 1 - kept)


def merged(law):
    """Atoms of a law with losses that differ by working precision only put together."""
    out = []
    for loss, mass in law.atoms:
        if out and loss - out[-1][0] < mp.mpf(2) ** -180:
            out[-1][1] += mass
        else:
            out.append([loss, mass])
    return [(loss, mass) for loss, mass in out]


def faces(law):
    """(epsilon_j, delta_j) of the region of a symmetric law: its attained losses >= 0, ascending."""
    tiny = mp.mpf(2) ** -180
    return [(abs(loss) if abs(loss) < tiny else loss, law.delta(loss)) for loss, _ in merged(law) if loss > -tiny]


def vertices(law):
    """Corners (alpha, beta) of the trade-off function from (0, f(0)) to its foot on beta = 0.

    Alphas add up from the top, betas from the bottom: positive terms only.
    """
    atoms = merged(law)
    alphas = list(itertools.accumulate((mass * mp.exp(-loss) for loss, mass in reversed(atoms)), initial=mp.zero))
    betas = list(itertools.accumulate((mass for _, mass in atoms), initial=mp.zero))
    return list(zip(alphas, reversed(betas), strict=True))


def area(corners):
    """Area between a trade-off function and its reflection: 1 - 2 * (area under it)."""
    return 1 - mp.fsum((a[1] + b[1]) * (b[0] - a[0]) for a, b in itertools.pairwise(corners))
