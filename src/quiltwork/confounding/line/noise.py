"""Continuous noise added to the data, or to a weighted sum of their coordinates."""

from __future__ import annotations

from typing import Any

import attrs

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document

__all__ = ["Noise", "noise"]

KINDS = ("gaussian", "laplace")


@document("noise/1")
@attrs.frozen
class Noise:
    """Noise of this kind and scale (standard deviation, or Laplace scale; 0 releases the value itself)."""

    kind: str
    scale: float
    reads: tuple[float, ...] | None = None


def noise(kind: str, scale: float, reads: Any = None) -> Noise:
    """Noise on the data: `reads` are the weights of the coordinates that are read, all of x if it is a number."""
    if kind not in KINDS:
        raise InvalidParameter("kind", kind, " or ".join(map(repr, KINDS)))
    spread = checks.non_negative("scale", scale)
    if reads is None:
        return Noise(kind, spread)
    weights = checks.numbers("reads", reads, "finite weights, one for each coordinate", -1e100, 1e100)
    return Noise(kind, spread, tuple(float(weight) for weight in weights.ravel()))
