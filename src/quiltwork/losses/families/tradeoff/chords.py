"""A polygon over a convex trade-off function whose slopes are all powers of e^step.

From (0, f(0)) the steepest allowed chord is followed until it meets f again, then the next one, down to slope 1; the
same from the other end with the axes exchanged. Every vertex lies on f (or on an axis, beyond the end of f), so each
chain lies above it. Where the two cross the left one is the steeper, so that together they are convex.

Reference: theory/multi-constraints.md section 5, item "optimistic"; without the symmetry assumed there.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork.checks import FloatArray
from quiltwork.losses.families.tradeoff.vertices import Vertices
from quiltwork.numbers.rounding import UNIT

IntArray = NDArray[np.int64]
ALONG = 1e-14  # slopes that differ by less, relative, are the same: what it costs is counted
Masses = tuple[IntArray, FloatArray, FloatArray, float, float]


@attrs.frozen(eq=False)
class Chain:
    """Vertices x ascending, y falling, and the power i of each piece between them."""

    x: FloatArray
    y: FloatArray
    power: IntArray

    def mirrored(self) -> Chain:
        """The axes exchanged."""
        return Chain(self.y[::-1], self.x[::-1], -self.power[::-1])


def chain(x: FloatArray, y: FloatArray, step: float, tail: float) -> Chain:
    """Chords of slope e^(i step), i falling to 0, from the first vertex of a convex polygon."""
    slope = (-np.diff(y) / np.diff(x)).tolist()
    xs, ys = x.tolist(), y.tolist()
    at, height, j, last = xs[0], ys[0], 0, len(xs) - 1
    i = _steepest(slope[min(int(np.sum(y >= y[0] - tail)), last) - 1], step)
    i = max(i, min(_steepest(slope[0], step), 0))
    found, powers = [(at, height)], []
    while i >= 0 and j < last:
        s = math.exp(i * step)
        while j < last and ys[j + 1] <= height - s * (xs[j + 1] - at):
            j += 1
        if j == last:  # the chord ends with the polygon
            found.append((xs[last], ys[last]))
            powers.append(i)
            break
        if s * (1 - ALONG) <= slope[j]:  # the chord runs along an edge
            gone = xs[j + 1] - xs[j]
        else:
            gone = min(max((height - s * (xs[j] - at) - ys[j]) / (s - slope[j]), 0.0), xs[j + 1] - xs[j])
        reached = xs[j] + gone
        if reached > at:
            at, height = reached, ys[j] - slope[j] * gone
            found.append((at, height))
            powers.append(i)
        i = min(i - 1, _steepest(slope[j], step))
    places = np.array(found)
    return Chain(places[:, 0], places[:, 1], np.array(powers, dtype=np.int64))


def _steepest(slope: float, step: float) -> int:
    """The largest i with e^(i step) <= slope, to rounding: along an edge whose slope is allowed, above every other."""
    return math.floor((math.log(slope) + 0.9 * ALONG) / step) if slope > 0 else -1


def chords(vertices: Vertices, step: float, tail: float) -> tuple[Masses, float]:
    """Index, P and Q masses of the pieces, reveal and vanish mass; and by how much rounding may have lowered them.

    Slopes that f only has in the first `tail` of its fall, from either end, are not used: they would be noise.
    """
    alpha, beta = np.array(vertices).T
    left = chain(alpha, beta, step, tail)  # beyond its end f is 0, and a chord may end there
    end = int(np.argmax(beta <= 0))
    x, y = beta[end::-1], alpha[end::-1]
    if x[-1] < 1:
        x, y = np.append(x, 1.0), np.append(y, 0.0)
    left, right = _joined(left, chain(x, y, step, tail).mirrored(), step)
    power = np.concatenate((left.power, right.power))
    # the small coordinate of each side is the accurate one
    q_left, p_right = np.diff(left.x), -np.diff(right.y)
    p_left, q_right = q_left * np.exp(step * left.power), p_right * np.exp(-step * right.power)
    p, q = np.concatenate((p_left, p_right)), np.concatenate((q_left, q_right))
    drift = np.cumsum(p_left + np.diff(left.y))
    sideways = np.cumsum(q_right - np.diff(right.x))
    live = (p > 1e-300) & (q > 1e-300)
    slack = float(np.abs(drift).max(initial=0.0)) + float(np.abs(sideways).max(initial=0.0)) + 16 * UNIT
    slack += float(np.abs(p[~live]).sum() + np.abs(q[~live]).sum())
    if not live.any():  # all but a rounding of either law is revealed
        both = np.full(1, max(min(float(left.y[0]), float(right.x[-1])), 1e-300))
        return (np.zeros(1, dtype=np.int64), both, both, 1.0 - float(left.y[0]), 1.0 - float(right.x[-1])), slack
    order = np.argsort(power, kind="stable")
    order = order[live[order]]
    power, p, q = power[order], p[order], q[order]
    starts = np.flatnonzero(np.diff(power, prepend=power[0] - 1))  # the middle power may come twice
    p, q = (np.add.reduceat(masses, starts) for masses in (p, q))
    return (power[starts], p, q, 1.0 - float(left.y[0]), 1.0 - float(right.x[-1])), slack


def _joined(left: Chain, right: Chain, step: float) -> tuple[Chain, Chain]:
    """Both chains up to where they cross, or one of them alone that reaches the other axis above the other."""
    height = np.interp(left.x, right.x, right.y) + 4 * UNIT  # chains that touch have crossed
    covered = (left.x >= right.x[0]) & (left.x <= right.x[-1])
    under = np.flatnonzero(covered & (left.y <= height))
    k = int(under[0]) if under.size else left.x.size - 1
    if k == 0 or (not under.size and right.x[0] == 0):
        return Chain(right.x[:1], right.y[:1], left.power[:0]), right
    if not under.size and left.y[-1] == 0:
        return left, Chain(left.x[-1:], left.y[-1:], right.power[:0])
    if left.x[-1] < right.x[0]:  # both end on one edge of slope 1
        return left, Chain(np.append(left.x[-1], right.x), np.append(left.y[-1], right.y), np.append(0, right.power))
    s = math.exp(step * int(left.power[k - 1]))
    line = left.y[k - 1] - s * (right.x - left.x[k - 1])
    b = max(int(np.argmax(np.append(right.y >= line, True))), 1)
    b = min(b, right.x.size - 1)
    flat = int(right.power[b - 1])
    t = math.exp(step * flat)
    gap = left.y[k - 1] - right.y[b] - t * (right.x[b] - left.x[k - 1])  # of the left line over the right one
    x = left.x[k - 1] + (gap / (s - t) if s > t else right.x[b] - left.x[k - 1])
    x = min(max(x, float(left.x[k - 1])), float(left.x[k]))
    y = right.y[b] + t * (right.x[b] - x)  # small things from the side where they are small
    one = Chain(np.append(left.x[:k], x), np.append(left.y[:k], y), left.power[:k])
    return one, Chain(
        np.append(x, right.x[b:]), np.append(y, right.y[b:]), np.append(flat, right.power[b:]).astype(np.int64)
    )
