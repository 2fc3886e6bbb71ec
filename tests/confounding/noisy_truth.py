"""What designs after continuous noise truly do, from the inputs alone.

For every region W, (P - t Q)(W) is at most the hockey stick: zeros found in floats suggest W, and its probabilities
come from distribution functions with 40 digits.  Data in bins are integrated in floats, to about 1e-12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np
from scipy.special import ndtr
from tests.confounding.line_truth import typed

DIGITS = 40
NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
Density = Callable[[np.ndarray], np.ndarray]


def _density(kind: str, place: float, scale: float, y: np.ndarray) -> np.ndarray:
    z = np.abs(y - place) / scale
    return np.exp(-z) / (2 * scale) if kind == "laplace" else np.exp(-0.5 * z * z) / (scale * math.sqrt(2 * math.pi))


def _below(kind: str, place: mp.mpf, scale: mp.mpf, y: mp.mpf) -> mp.mpf:
    if kind == "gaussian":
        return mp.erfc((place - y) / (scale * mp.sqrt(2))) / 2
    tail = mp.exp(-abs(y - place) / scale) / 2
    return tail if y < place else 1 - tail


def zeros(gap: Density, grid: np.ndarray) -> np.ndarray:
    """Zeros by bisection between the places of a grid, in floats."""
    values = gap(grid)
    at = np.flatnonzero((values[1:] > 0) != (values[:-1] > 0))
    a, b, sign = grid[at], grid[at + 1], values[at + 1] > 0
    for _ in range(60):
        middle = 0.5 * (a + b)
        same = (gap(middle) > 0) == sign
        a, b = np.where(same, a, middle), np.where(same, middle, b)
    return np.asarray(b)


class Noisy:
    """Finite data with noise of one kind on their values: `scale` is that of all readings together."""

    def __init__(self, data: Any, values: Sequence[float], kind: str, scale: float, copies: int = 1) -> None:
        self.kind, self.values = kind, [float(value) for value in values]
        with mp.workdps(DIGITS):
            rows = [[typed(entry) for entry in row] for row in data]
            self.rows = [[entry / mp.fsum(row) for entry in row] for row in rows]
            self.scale = typed(scale) / mp.sqrt(copies)
        reach = 14.0 * float(self.scale) if kind == "gaussian" else 60.0 * float(self.scale)
        spread = np.sinh(np.linspace(-5.0, 5.0, 1501)) / math.sinh(5.0) * reach
        self.grid = np.unique(np.concatenate([value + spread for value in self.values]))

    def delta(self, counts: Any, bits: int, pairs: Any, epsilon: float) -> mp.mpf:
        """The worst sum over the new outputs of hockey sticks on the line."""
        with mp.workdps(DIGITS):
            return max(
                mp.fsum(
                    self._stick(i, j, [int(entry) for entry in column], bits, epsilon) for column in np.array(counts).T
                )
                for i, j in pairs
            )

    def _stick(self, i: int, j: int, column: list[int], bits: int, epsilon: float) -> mp.mpf:
        odds, whole = mp.exp(typed(epsilon)), mp.mpf(2) ** bits
        first, second = ([w * c / whole for w, c in zip(self.rows[row], column, strict=True)] for row in (i, j))
        signed = [p - odds * q for p, q in zip(first, second, strict=True)]

        def gap(y: np.ndarray) -> np.ndarray:
            parts = np.array([_density(self.kind, value, float(self.scale), y) for value in self.values])
            return np.array([float(weight) for weight in signed]) @ parts

        cuts = [-mp.inf, *(mp.mpf(float(place)) for place in zeros(gap, self.grid)), mp.inf]
        total = mp.mpf(0)
        for a, b in pairwise(cuts):
            total += max(mp.fsum(w * self._mass(value, a, b) for w, value in zip(signed, self.values, strict=True)), 0)
        return total

    def _mass(self, value: float, a: mp.mpf, b: mp.mpf) -> mp.mpf:
        place = typed(value)
        high = mp.mpf(1) if b == mp.inf else _below(self.kind, place, self.scale, b)
        return high - (mp.mpf(0) if a == -mp.inf else _below(self.kind, place, self.scale, a))


def binned_delta(
    laws: Sequence[Sequence[tuple[float, float, float]]], noise: float, edges: Sequence[float], channel: np.ndarray,
    pairs: Any, epsilon: float,
) -> float:  # fmt: skip
    """The same for mixtures of normal laws (weight, mean, sd), Gaussian noise, and a mechanism that reads the bin."""
    borders = np.array([-np.inf, *edges, np.inf])
    reach = max(abs(mean) + 12.0 * math.hypot(sd, noise) for law in laws for _, mean, sd in law)
    grid = np.linspace(-reach, reach, 4001)

    def density(law: Sequence[tuple[float, float, float]], shares: np.ndarray, y: np.ndarray) -> np.ndarray:
        found = np.zeros_like(y)
        for weight, mean, sd in law:
            total = math.hypot(sd, noise)
            middle, width = mean + (sd / total) ** 2 * (y - mean), sd * noise / total
            ends = (borders[:, None] - middle) / width
            low, high = ends[:-1], ends[1:]
            inside = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
            found += weight * _density("gaussian", mean, total, y) * (shares @ inside)
        return found

    def stick(i: int, j: int, shares: np.ndarray) -> float:
        def gap(y: np.ndarray) -> np.ndarray:
            return density(laws[i], shares, y) - math.exp(epsilon) * density(laws[j], shares, y)

        places = np.unique(np.concatenate([zeros(gap, grid), grid[::8]]))
        middle, half = 0.5 * (places[1:] + places[:-1]), 0.5 * np.diff(places)
        sums = gap((middle[:, None] + half[:, None] * NODES).ravel()).reshape(-1, NODES.size) @ WEIGHTS
        return float(np.maximum(sums * half, 0.0).sum())

    return max(sum(stick(i, j, shares) for shares in channel.T) for i, j in pairs)
