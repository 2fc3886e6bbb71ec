"""Trade-off functions as losses: vertices of a convex polygon, or two polygons around a function.

Between two vertices the test has one likelihood ratio: Q mass is the step in alpha, P mass the fall of beta. What f(0)
lacks to 1 is revealed; where f is 0 before alpha = 1, Q has mass that P never shows.
"""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.families.finite import FinitePair, from_laws
from quiltwork.losses.family import VERTICES, Entry, Family, Fields
from quiltwork.numbers.stated import typed

Vertices = tuple[tuple[float, float], ...]
SLACK = 1e-15  # vertices of a stated sandwich are rounded: sup norm, per release


def polygon_pair(vertices: Vertices) -> FinitePair:
    """The pair whose trade-off function is this polygon."""
    alpha, beta = np.array([a for a, _ in vertices]), np.array([b for _, b in vertices])
    q = np.concatenate(([0.0], np.diff(alpha)))
    p = np.concatenate(([1.0 - beta[0]], -np.diff(beta)))
    end = min((a for a, b in vertices if b == 0), default=1.0)
    return from_laws(np.maximum(p, 0.0), q, (1 - typed(vertices[0][1]), 1 - typed(end)))


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
    return tuple((float(a), float(b)) for a, b in hull(alpha, beta))


def hull(alpha: FloatArray, beta: FloatArray) -> list[tuple[float, float]]:
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
    """A release whose test has at least the type II error of a convex polygon of [alpha, beta] vertices.

    `above`, when given, is a polygon that the truth does not exceed; it only tightens the lower ends of brackets.
    """

    kind: ClassVar[str] = "tradeoff"
    title: ClassVar[str] = "TradeOff"
    words: ClassVar[str] = "trade-off function with {vertices} vertices"
    because: ClassVar[str] = "the stated trade-off function (Dong, Roth and Su 2022)"
    below: Vertices = attrs.field(converter=_vertices)
    above: Vertices = attrs.field(converter=_vertices)

    def pairs(self) -> dict[str, Pair]:
        """The promised side; `optimistic` has the other."""
        return directed(polygon_pair(self.below))

    @property
    def sandwiched(self) -> bool:
        return self.below != self.above

    def optimistic(self) -> dict[str, Pair]:
        """Pairs of a mechanism that the function still allows: the lower end of every bracket."""
        return directed(polygon_pair(self.above))

    @property
    def slack(self) -> float:
        return SLACK if self.sandwiched else 0.0

    @classmethod
    def entries(cls) -> tuple[Entry, ...]:
        return Entry("vertices", VERTICES), Entry("above", VERTICES, default=None)

    @classmethod
    def from_entries(cls, **entries: Any) -> Family:
        vertices, above = entries["vertices"], entries.get("above")
        return from_vertices(vertices) if above is None else cls(vertices, above)

    @classmethod
    def entries_of(cls, fields: Fields) -> dict[str, Any]:
        below, above = fields["below"], fields["above"]
        return {"vertices": below} if below == above else {"vertices": below, "above": above}

    def __str__(self) -> str:
        return f"tradeoff({len(self.below)} vertices)"


def directed(pair: FinitePair) -> dict[str, Pair]:
    return {"remove": pair, "add": pair.swapped()}


def from_vertices(vertices: Any) -> TradeOffFunction:
    """An exact polygon: both sides are the same."""
    clean = _vertices(vertices)
    return TradeOffFunction(clean, clean)
