"""Continuous data read in bins: borders, the probability of each bin given the secret, and a number for each bin."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.laws import Laws
from quiltwork.numbers.rounding import UNIT

if TYPE_CHECKING:
    from quiltwork.confounding.line.world import ContinuousWorld

__all__ = ["binned_table", "checked_edges", "middles"]

STATED = 64.0 * UNIT  # relative error of the weights of a mixture and of its probabilities


def binned_table(world: ContinuousWorld, edges: FloatArray) -> Laws:
    """P(bin | secret) from both sides."""
    low, high = np.zeros((world.count, edges.size - 1)), np.zeros((world.count, edges.size - 1))
    for row, law in enumerate(world.read([Fraction(1)])):
        for weight, part in zip(law.weights, law.components, strict=True):
            ends = part.probability(edges[:-1], edges[1:])
            low[row] += weight * ends[0]
            high[row] += weight * ends[1]
    slack = STATED + 4.0 * UNIT * max(len(law.weights) for law in world.read([Fraction(1)]))
    return Laws(low * (1.0 - slack), np.where(high > 0, high * (1.0 + slack), 0.0))


def checked_edges(edges: Any) -> FloatArray:
    """Borders of bins, in order; the outer bins reach to infinity."""
    inner = checks.numbers("edges", edges, "finite numbers in rising order", -1e100, 1e100)
    if inner.ndim != 1 or not bool(np.all(np.diff(inner) > 0)):
        raise InvalidParameter("edges", edges, "finite numbers in rising order")
    return np.concatenate([[-np.inf], inner, [np.inf]])


def middles(edges: FloatArray) -> list[float]:
    """A number for each bin: its middle, and for the outer two as far beyond the border as their neighbours reach."""
    inner = edges[1:-1]
    if inner.size == 1:
        return [float(inner[0]) - 0.5, float(inner[0]) + 0.5]
    half = 0.5 * np.diff(inner)
    ends = [inner[0] - half[0]], inner[:-1] + half, [inner[-1] + half[-1]]
    return [float(value) for value in np.concatenate(ends)]
