"""A polygon over a convex trade-off function whose slopes are all powers of e^step.

From (0, f(0)) the steepest allowed chord is followed until it meets f again, then the next one, down to slope 1; the
same from the other end with the axes exchanged. Every vertex lies on f, so the chain lies above it. The two chains
cross, the left one steeper: before its last vertex |f'| >= 1 would contradict convexity otherwise.

Reference: theory/multi-constraints.md section 5, item "optimistic"; without the symmetry assumed there.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork.checks import FloatArray
from quiltwork.losses.pair import UNIT
from quiltwork.losses.tradeoff import Vertices

IntArray = NDArray[np.int64]
Masses = tuple[IntArray, FloatArray, FloatArray, float, float]


@attrs.frozen(eq=False)
class Chain:
    """Vertices x ascending, y falling, and the power i of each piece between them."""

    x: FloatArray
    y: FloatArray
    power: IntArray


def chain(x: FloatArray, y: FloatArray, step: float, steepest: float) -> Chain:
    """Chords of slope e^(i step), i falling to 0, from the first vertex of a convex polygon."""
    fall, width = -np.diff(y), np.diff(x)
    slope = (fall / width).tolist()
    xs, ys = x.tolist(), y.tolist()
    at, height, j, last = xs[0], ys[0], 0, len(xs) - 1
    i = min(_steeper(slope[0], step), math.ceil(steepest / step))
    found, powers = [(at, height)], []
    while i >= 0 and j < last:
        s = math.exp(i * step)
        while j < last and ys[j + 1] <= height - s * (xs[j + 1] - at):
            j += 1
        if j == last:  # the chord ends with the polygon
            found.append((xs[last], ys[last]))
            powers.append(i)
            break
        gone = (height - s * (xs[j] - at) - ys[j]) / (s - slope[j]) if s > slope[j] else 0.0
        gone = min(max(gone, 0.0), xs[j + 1] - xs[j])
        reached = xs[j] + gone
        if reached > at:
            at, height = reached, ys[j] - slope[j] * gone
            found.append((at, height))
            powers.append(i)
        i = min(i - 1, _steeper(slope[j], step))
    places = np.array(found)
    return Chain(places[:, 0], places[:, 1], np.array(powers, dtype=np.int64))


def _steeper(slope: float, step: float) -> int:
    """The largest i with e^(i step) < slope."""
    return math.ceil(math.log(slope) / step) - 1 if slope > 0 else -1


def chords(vertices: Vertices, step: float, caps: tuple[float, float]) -> tuple[Masses, float]:
    """Index, P and Q masses of the pieces, reveal and vanish mass; and by how much rounding may have lowered them."""
    alpha, beta = np.array(vertices).T
    end = int(np.argmax(beta <= 0))
    alpha, beta = alpha[: end + 1], beta[: end + 1]
    left = chain(alpha, beta, step, caps[0])
    mirrored = chain(beta[::-1], alpha[::-1], step, caps[1])
    right = Chain(mirrored.y[::-1], mirrored.x[::-1], -mirrored.power[::-1])
    left, right = _joined(left, right, step)
    power = np.concatenate((left.power, right.power))
    # the small coordinate of each side is the accurate one
    q_left, p_right = np.diff(left.x), -np.diff(right.y)
    p_left, q_right = q_left * np.exp(step * left.power), p_right * np.exp(-step * right.power)
    p, q = np.concatenate((p_left, p_right)), np.concatenate((q_left, q_right))
    drift = np.cumsum(np.concatenate((p_left + np.diff(left.y), np.zeros(p_right.size))))
    sideways = np.cumsum(np.concatenate((np.zeros(q_left.size), q_right - np.diff(right.x))))
    slack = float(np.abs(drift).max(initial=0.0)) + float(np.abs(sideways).max(initial=0.0)) + 16 * UNIT
    order = np.argsort(power, kind="stable")
    power, p, q = power[order], p[order], q[order]
    live = (p > 1e-300) & (q > 1e-300)
    if not live.any():  # the polygon is 1 - alpha: nothing is told
        both = min(float(beta[0]), float(alpha[-1]))
        return (np.zeros(1, dtype=np.int64), np.array([both]), np.array([both]), 1.0 - both, 1.0 - both), slack
    starts = np.flatnonzero(np.diff(power[live], prepend=power[live][0] - 1))  # the middle power may come twice
    p, q = (np.add.reduceat(masses[live], starts) for masses in (p, q))
    return (power[live][starts], p, q, 1.0 - float(beta[0]), 1.0 - float(alpha[-1])), slack


def _joined(left: Chain, right: Chain, step: float) -> tuple[Chain, Chain]:
    """Both chains up to where they cross."""
    # the right chain, extended along its first piece, at the vertices of the left one
    rise = math.exp(step * int(right.power[0])) if right.power.size else 1.0
    height = np.interp(left.x, right.x, right.y)
    height = np.where(left.x < right.x[0], right.y[0] + rise * (right.x[0] - left.x), height)
    under = np.flatnonzero(left.y <= height)
    k = int(under[0]) if under.size else left.x.size - 1
    if k == 0:
        return Chain(left.x[:1], left.y[:1], left.power[:0]), right
    s = math.exp(step * int(left.power[k - 1]))
    line = left.y[k - 1] - s * (right.x - left.x[k - 1])
    over = np.flatnonzero(right.y >= line)
    b = int(over[0]) if over.size else right.x.size - 1
    flat = int(right.power[max(b - 1, 0)]) if right.power.size else 0
    t = math.exp(step * flat)
    gap = left.y[k - 1] - right.y[b] - t * (right.x[b] - left.x[k - 1])  # of the left line over the right one
    x = left.x[k - 1] + (gap / (s - t) if s > t else right.x[b] - left.x[k - 1])
    x = min(max(x, float(left.x[k - 1])), float(left.x[k]))
    y = left.y[k - 1] - s * (x - left.x[k - 1])
    one = Chain(np.append(left.x[:k], x), np.append(left.y[:k], y), left.power[:k])
    return one, Chain(
        np.append(x, right.x[b:]), np.append(y, right.y[b:]), np.append(flat, right.power[b:]).astype(np.int64)
    )
