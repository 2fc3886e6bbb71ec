"""Probabilities of rectangles under two correlated standard normals, all at once and without cancellation.

With s = sqrt(1 - r^2), Z_2 given Z_1 = x is N(r x, s^2), so that

    P(a < Z_1 < b, c < Z_2 < d) = integral over (a, b) of phi(x) [Phi((d - r x)/s) - Phi((c - r x)/s)] dx.

Each term is positive: a rectangle of probability 1e-30 keeps its first digits, which a difference of four distribution
functions would lose.  Gauss-Legendre panels end at the edges a, b, are at most 1 long and at most 1.5 s / |r| where the
bracket moves; there both factors are entire functions that 16 nodes resolve: to 1e-15, and to 1e-11 of what
is above 1e-15 (measured against 25 digits).

Reference: Owen 1956 for the conditional form; theory/confounding.md section 5 for the use.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from quiltwork.checks import FloatArray

__all__ = ["rectangles"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_REACH = 10.0  # beyond the last edge and 0: Phi(-10) is 8e-24 of what is left
_WINDOW = np.linspace(-9.0, 9.0, 13)  # where Phi moves, in panels of 1.5
_LONGEST = 1.0
_CHUNK = 4_000_000  # numbers held at once


def rectangles(first: FloatArray, second: FloatArray, correlation: float) -> FloatArray:
    """(n, m) probabilities between consecutive edges of Z_1 and Z_2; edges rise and may be infinite, |r| < 1.

    >>> edges = np.array([-np.inf, 0.0, np.inf])
    >>> rectangles(edges, edges, 0.5).round(8)
    array([[0.33333333, 0.16666667],
           [0.16666667, 0.33333333]])
    """
    if correlation == 0.0:
        return np.outer(_between(first), _between(second))
    rest = math.sqrt((1.0 - correlation) * (1.0 + correlation))
    ends = _panels(first, second, correlation, rest)
    half, middle = 0.5 * np.diff(ends), 0.5 * (ends[1:] + ends[:-1])
    cell = np.searchsorted(first, middle) - 1
    found = np.zeros((len(first) - 1, len(second) - 1))
    chunk = max(1, _CHUNK // (_NODES.size * len(second)))
    for at in range(0, middle.size, chunk):
        part = slice(at, at + chunk)
        places = middle[part, None] + half[part, None] * _NODES
        with np.errstate(under="ignore"):
            weights = half[part, None] * _WEIGHTS * np.exp(-0.5 * places**2) / math.sqrt(2.0 * math.pi)
            given = _between((second - correlation * places[:, :, None]) / rest)
            np.add.at(found, cell[part], np.einsum("pn,pnm->pm", weights, given))
    return found


def _between(edges: FloatArray) -> FloatArray:
    """Phi(t_j+1) - Phi(t_j) along the last axis, from the tail that is nearer."""
    below, above = ndtr(edges), ndtr(-edges)
    right = edges[..., :-1] > 0
    answer: FloatArray = np.where(right, above[..., :-1] - above[..., 1:], below[..., 1:] - below[..., :-1])
    return answer


def _panels(first: FloatArray, second: FloatArray, correlation: float, rest: float) -> FloatArray:
    """Ends of the panels: the edges, a mesh, and windows around second / r when these are fewer than a fine mesh."""
    inner = first[np.isfinite(first)]
    low, high = min(float(np.min(inner, initial=0.0)), 0.0), max(float(np.max(inner, initial=0.0)), 0.0)
    low = low - _REACH if first[0] == -np.inf else float(first[0])
    high = high + _REACH if first[-1] == np.inf else float(first[-1])
    scale = rest / abs(correlation)
    turns = second[np.isfinite(second)]
    step = min(_LONGEST, 1.5 * scale)
    extra: FloatArray = np.zeros(0)
    if (high - low) / step > (high - low) / _LONGEST + _WINDOW.size * turns.size:
        step, extra = _LONGEST, (turns[:, None] / correlation + scale * _WINDOW).ravel()
    mesh = np.linspace(low, high, 1 + math.ceil((high - low) / step))
    ends = np.unique(np.concatenate((mesh, inner, extra)))
    return ends[(ends >= low) & (ends <= high)]
