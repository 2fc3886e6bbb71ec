"""Several epochs of random allocation: the loss of one between two laws on a lattice.

G(v) = E(v - S)+ of S = dP/dQ says everything of one epoch, and a law whose G is larger (smaller) everywhere bounds
every composition from above (below), in both directions.  Above: chords of G between points e^(ih), 0 on the left,
slope 1 on the right; what is then missing of the mean reveals.  Below: chords under the tangent of G in the middle of
each cell, 0 on the left and v - 1 on the right, and their lower convex hull, whose corners are points e^(ih) too.

Reference: theory/sampling.md sections 1.2 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from flint import arb

from quiltwork.proof.contour.balls import Budget, Undecided, exact, hi, lo, near, precision
from quiltwork.proof.contour.law import Finite
from quiltwork.proof.contour.random_allocation.mean import MAX_STEPS, Mean
from quiltwork.proof.contour.random_allocation.puts import Put, on_hyperbola, on_line

BITS = 160
WORK = 2e7  # products of balls
CELLS_OF_SPREAD, LONGEST_STEP = 80, 0.008
FAINT = 1e-15  # chance beyond the points
MAX_POINTS = 4000
LINE = 2.5  # v up to here by the line

Corner = tuple[int, arb, arb]  # i, e^(ih), value


def _ends(mean: Mean) -> tuple[float, float, float]:
    """(lowest v, highest v, spread of log S), by floats."""
    spread = math.sqrt(math.log1p(math.expm1(mean.float**2) / mean.steps))
    starts = np.geomspace(1e-2, 1e5 * mean.steps, 300)
    logs = np.array([mean.steps * mean.rough(c / mean.steps) for c in starts])
    low = 1.0
    while low > 1e-6 and float(np.min(low * starts + logs)) > math.log(FAINT):
        low *= 1 - spread / 10 if spread < 1 else 0.9
    jump = math.exp(7.5 * mean.float + mean.float**2 / 2) / mean.steps
    return low, 1 + jump + 10 * spread, spread


def _puts(mean: Mean, places: Sequence[arb]) -> list[Put]:
    """Of increasing places: the least by one line, each four-fold range above by a hyperbola."""
    budget, found, start = Budget(WORK), [], 0
    while start < len(places):
        top = max(LINE, 4 * near(places[start])) if start else LINE
        end = start
        while end < len(places) and near(places[end]) <= top:
            end += 1
        if end > start:
            found += (on_hyperbola if start else on_line)(mean, places[start:end], budget)
        elif not start:
            raise Undecided("an epoch without small ratios")
        start = end
    return found


def _hull(corners: list[Corner], below: bool) -> list[Corner]:
    """The lower convex hull; a corner that lies on no side surely ends it, unless the chord may be taken instead."""
    kept: list[Corner] = []
    for corner in corners:
        while len(kept) > 1:
            (_, x0, y0), (_, x1, y1), (_, x2, y2) = kept[-2], kept[-1], corner
            bend = (y2 - y1) * (x1 - x0) - (y1 - y0) * (x2 - x1)
            if bend > 0:
                break
            if below and not bend <= 0:
                raise Undecided("a corner of a hull")
            kept.pop()
        kept.append(corner)
    return kept


@lru_cache(maxsize=64)
def _sides(move: Fraction, steps: int) -> tuple[tuple[tuple[tuple[arb, arb], Fraction | None], ...], ...]:
    """((p, q), loss) of both laws, above and below, for a record that is removed."""
    if not (move > 0 and 1 <= steps <= MAX_STEPS):
        raise Undecided("random allocation of this size")
    with precision(BITS):
        mean = Mean(exact(move), steps, BITS)
        low, high, spread = _ends(mean)
        h = Fraction(max(1, round(1e7 * min(spread / CELLS_OF_SPREAD, LONGEST_STEP))), 10**7)
        first, last = math.floor(math.log(low) / h), math.ceil(math.log(high) / h)
        if last - first > MAX_POINTS:
            raise Undecided("an epoch of so many ratios")
        points = [exact(h * i).exp() for i in range(first, last + 1)]
        middles = [arb(near((a + b) / 2)) for a, b in pairwise(points)]
        together = [points[0]]
        for middle, point in zip(middles, points[1:], strict=True):
            together += [middle, point]
        found = _puts(mean, together)
        at, inside = found[::2], found[1::2]
        above = [(first + i, x, hi(put)) for i, (x, (_, put)) in enumerate(zip(points, at, strict=True))]
        tangents = list(zip(middles, inside, strict=True))
        below = _under(first, points, at, tangents)
        return _law(above, h, True), _law(below, h, False)


def _tangent(middle: arb, put: Put, x: arb) -> arb:
    return lo(put[1] + put[0] * (x - middle))


def _under(first: int, points: Sequence[arb], at: Sequence[Put], tangents: Sequence[tuple[arb, Put]]) -> list[Corner]:
    """Values under the tangents of both cells; the first chord rises no faster than Q(S <= its point), the last one no
    slower than Q(S <= last point), so that they lie under the tangents of the ends.
    """
    last = len(points) - 1
    sides = [
        (_tangent(*tangents[i - 1], points[i]), _tangent(*tangents[i], points[i])) if 0 < i < last else None
        for i in range(last + 1)
    ]
    # a tangent below 0 at an end of its cell says nothing: the values are 0 up to the last of these
    start = max((i for i, both in enumerate(sides) if both is not None and not lo(both[0].min(both[1])) > 0), default=0)
    if start > last - 3:
        raise Undecided("an epoch of so few ratios")
    values = [arb(0) if i <= start or both is None else lo(both[0].min(both[1])) for i, both in enumerate(sides)]
    values[last] = points[last] - 1
    values[start + 1] = lo(values[start + 1].min((points[start + 1] - points[start]) * at[start][0])).max(arb(0))
    values[-2] = lo(values[-2].min(values[-1] - (points[-1] - points[-2]) * at[-1][0]))
    return [(first + i, x, value) for i, (x, value) in enumerate(zip(points, values, strict=True))]


def _law(corners: list[Corner], h: Fraction, above: bool) -> tuple[tuple[tuple[arb, arb], Fraction | None], ...]:
    """The law whose put function has these corners: Q-masses are the changes of slope."""
    zero = arb(0)
    if above:
        kept = _hull([(0, zero, zero), *corners], False)[1:]
        slopes = [kept[0][2] / kept[0][1]]
    else:
        kept = _hull([(0, zero, zero), *corners], True)
        kept = kept[1:] if kept[0][1].is_zero() else kept
        slopes = [kept[0][2] / kept[0][1]]
    slopes += [(b[2] - a[2]) / (b[1] - a[1]) for a, b in pairwise(kept)] + [arb(1)]
    masses = [b - a for a, b in pairwise(slopes)]
    missing = 1 - kept[-1][1] + kept[-1][2]
    if not (all(q > 0 for q in masses) and slopes[0] >= 0 and (missing > 0 or not above)):
        raise Undecided("an epoch without convex ratios")
    found: list[tuple[tuple[arb, arb], Fraction | None]] = [
        ((q * x, q), h * i) for q, (i, x, _) in zip(masses, kept, strict=True)
    ]
    if not slopes[0].is_zero():
        found.append(((zero, slopes[0]), None))
    if above:
        found.append(((missing, zero), None))
    return tuple(found)


def epoch(move: Fraction, steps: int, upper: bool) -> Finite:
    """The law above or below one epoch, for a record that is removed."""
    side = _sides(move, steps)[0 if upper else 1]
    return Finite([pair for pair, _ in side], [loss for _, loss in side])
