"""Trade-off functions as losses: vertices of a convex polygon, or any convex function sandwiched by two polygons.

Between two vertices the test has one likelihood ratio: Q mass is the step in alpha, P mass the fall of beta. What f(0)
lacks to 1 is revealed; where f is 0 before alpha = 1, Q has mass that P never shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.family import Family
from quiltwork.losses.finite import FinitePair, from_laws
from quiltwork.losses.pair import Pair

Vertices = tuple[tuple[float, float], ...]
SLACK = 4e-16  # assumed absolute accuracy of a user's function near 1
SAMPLES = 800


def polygon_pair(vertices: Vertices) -> FinitePair:
    """The pair whose trade-off function is this polygon."""
    alpha, beta = np.array([a for a, _ in vertices]), np.array([b for _, b in vertices])
    q = np.concatenate(([0.0], np.diff(alpha)))
    p = np.concatenate(([1.0 - beta[0]], -np.diff(beta)))
    return from_laws(np.maximum(p, 0.0), q)


def _vertices(value: Any) -> Vertices:
    allowed = "vertices (alpha, beta) of a convex falling polygon from (0, f(0)) to (1, 0)"
    try:
        points = np.array([(float(a), float(b)) for a, b in value])
    except (TypeError, ValueError):
        raise InvalidParameter("trade-off", value, allowed) from None
    if points.ndim != 2 or points.shape[0] < 2 or not bool(np.all((points >= 0) & (points <= 1))):
        raise InvalidParameter("trade-off", value, allowed)
    alpha, beta = points[:, 0], points[:, 1]
    if alpha[0] != 0 or alpha[-1] != 1 or beta[-1] != 0 or np.any(np.diff(alpha) <= 0) or np.any(np.diff(beta) > 0):
        raise InvalidParameter("trade-off", value, allowed)
    slopes = np.diff(beta) / np.diff(alpha)
    if np.any(np.diff(slopes) < -1e-9 * (1 + np.abs(slopes[1:]))) or np.any(beta > 1 - alpha + 1e-12):
        raise InvalidParameter("trade-off", value, allowed, "it is not convex, or lies above 1 - alpha")
    return tuple((float(a), float(b)) for a, b in _hull(alpha, beta))


def _hull(alpha: FloatArray, beta: FloatArray) -> list[tuple[float, float]]:
    """Lower convex hull of points sorted by alpha."""
    kept: list[tuple[float, float]] = []
    for a, b in zip(alpha.tolist(), beta.tolist(), strict=True):
        while len(kept) > 1:
            (a0, b0), (a1, b1) = kept[-2], kept[-1]
            if (b1 - b0) * (a - a0) < (b - b0) * (a1 - a0):
                break
            kept.pop()
        kept.append((a, b))
    return kept


@attrs.frozen
class TradeOffFunction(Family):
    """A trade-off function known between two polygons: `below` is what is promised, `above` what is possible."""

    kind: ClassVar[str] = "tradeoff"
    because: ClassVar[str] = "the stated trade-off function (Dong, Roth and Su 2022)"
    below: Vertices = attrs.field(converter=_vertices)
    above: Vertices = attrs.field(converter=_vertices)

    def pairs(self) -> dict[str, Pair]:
        """The promised side; `optimistic` has the other."""
        return _directed(polygon_pair(self.below))

    @property
    def sandwiched(self) -> bool:
        return self.below != self.above

    def subsampled(self, rate: float) -> Family:
        if self.sandwiched:
            raise Unsupported("Poisson subsampling of a sandwiched trade-off function", "its pair is only a bound")
        return super().subsampled(rate)

    def optimistic(self) -> dict[str, Pair]:
        """Pairs of a mechanism that the function still allows: the lower end of every bracket."""
        return _directed(polygon_pair(self.above))

    def fields(self) -> dict[str, Any]:
        return {"below": [list(v) for v in self.below], "above": [list(v) for v in self.above]}

    def __str__(self) -> str:
        return f"tradeoff({len(self.below)} vertices)"


def _directed(pair: FinitePair) -> dict[str, Pair]:
    return {"remove": pair, "add": pair.swapped()}


def sandwich(function: Callable[[float], float]) -> TradeOffFunction:
    """Polygons below and above a convex function from its values alone.

    Chords lie above; the extension of the neighbouring chords lies below. The function is taken as exact up to 4e-16,
    which floors delta near 1e-15 per release.
    """
    tail = np.geomspace(1e-16, 0.5, SAMPLES)
    alpha = np.concatenate(([0.0], tail, 1.0 - tail[-2::-1], [1.0]))
    alpha = np.unique(alpha)
    try:
        beta = np.array([float(function(float(a))) for a in alpha])
    except (TypeError, ValueError) as error:
        raise InvalidParameter("trade-off", function, "a function of one number in [0, 1]", str(error)) from None
    beta[-1] = 0.0 if abs(beta[-1]) <= SLACK else beta[-1]
    if not bool(np.all((beta >= -SLACK) & (beta <= 1 - alpha + 1e-12))) or np.any(np.diff(beta) > 1e-14):
        raise InvalidParameter("trade-off", function, "convex and falling with 0 <= f(alpha) <= 1 - alpha")
    above = np.clip(beta + SLACK, 0.0, 1.0 - alpha)
    lower = _extended(alpha, np.maximum(beta - SLACK, 0.0))
    return TradeOffFunction(tuple(_hull(*lower)), tuple(_hull(alpha, above)))


def _extended(alpha: FloatArray, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The samples joined below the function: where the chords on both sides of an interval meet, or its better end."""
    slope = np.diff(beta) / np.diff(alpha)
    xs, ys = [0.0], [min(float(beta[0]), max(0.0, float(beta[1] - slope[1] * alpha[1])))]
    for i in range(1, alpha.size - 1):
        xs.append(float(alpha[i]))
        ys.append(float(beta[i]))
        left, right = slope[i - 1], slope[i + 1] if i + 1 < slope.size else 0.0
        if right > left:
            # beta_i + left (x - a_i) = beta_(i+1) + right (x - a_(i+1))
            end = beta[i + 1] if i + 1 < slope.size else 0.0
            x = (end - right * alpha[i + 1] - beta[i] + left * alpha[i]) / (left - right)
            x = min(max(float(x), float(alpha[i])), float(alpha[i + 1]))
            if alpha[i] < x < alpha[i + 1]:
                meet = min(float(beta[i] + left * (x - alpha[i])), float(end + right * (x - alpha[i + 1])))
                xs.append(x)
                ys.append(max(0.0, meet - SLACK))
    return np.array([*xs, 1.0]), np.array([*ys, 0.0])


def from_vertices(vertices: Any) -> TradeOffFunction:
    """An exact polygon: both sides are the same."""
    clean = _vertices(vertices)
    return TradeOffFunction(clean, clean)
