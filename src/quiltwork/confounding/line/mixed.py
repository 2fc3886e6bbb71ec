"""Laplace and Gaussian readings of one world together: an epsilon, from both sides.

Laplace noise of scale b is Gaussian noise whose variance was drawn: b sqrt(2 E) z with E exponential and z normal.  Who
is told E as well knows more, and for him all readings are Gaussian, so that

    delta(epsilon) <= E_E [ delta of Gaussian readings with the deviations b sqrt(2 E) ].

The inner delta falls as E grows (more noise is a function of less), so that each cell of E counts at its lower end, and
the sum over cells bounds the mean.  Several Laplace readings take the least of their E, which is exponential too.  The
bound of the world itself (`Readout.bound`) is taken where it is less.  From below, all Gaussian readings together, and
each Laplace reading alone, are functions of the release.

Reference: theory/confounding.md sections 1 (Gaussian readings reduce to one) and 5; data processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.confounding.line.readings import Readings
from quiltwork.curves.curve import Curve
from quiltwork.curves.from_delta import FromDelta
from quiltwork.numbers.rounding import down, up

_TAIL = (1e-15, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)  # cells near 0, where the noise is small and seldom so
_BULK = (0.01, 0.03, 0.06, 0.1, 0.17, 0.27, 0.4, 0.6, 0.9, 1.4, 2.2, 4.0)
_PLACES = np.array([0.0, 0.05, 0.1, 0.2, 0.35, 0.55, 0.8, 1.1, 1.5, 2.0, 3.0])  # where beta is bounded from


class MixedNoises(FromDelta):
    """The mean over cells of the mixing variance from above, the best single part from below."""

    method = "Laplace noise as a mixture of Gaussian noises"
    close = 1e-3
    because = ("Laplace noise is Gaussian noise of a random variance, which is told as well (line/mixed.py)",)

    def __init__(self, cells: list[tuple[float, Curve]], rest: float, parts: list[Curve], cap: Curve | None) -> None:
        self.cells, self.rest, self.parts, self.cap = cells, rest, parts, cap

    def _upper(self, epsilon: float) -> float:
        total = [self.rest]
        for mass, curve in self.cells:
            total.append(mass * float(np.asarray(curve.delta(epsilon).upper)))
        found = up(math.fsum(total) * (1.0 + 1e-12), 4)
        if self.cap is not None:
            found = min(found, float(np.asarray(self.cap.delta(epsilon).upper)))
        return min(found, 1.0)

    @cached_property
    def _points(self) -> tuple[FloatArray, FloatArray]:
        return _PLACES, down(1.0 - np.array([self._upper(float(value)) for value in _PLACES]))

    def _lower_delta(self, epsilon: FloatArray) -> FloatArray:
        found = [super()._lower_delta(epsilon), *(np.asarray(part.delta(epsilon).lower) for part in self.parts)]
        return np.asarray(np.max(found, axis=0))

    def _lower_epsilon(self, delta: FloatArray) -> FloatArray:
        return np.asarray(np.max([np.asarray(part.epsilon(delta).lower) for part in self.parts], axis=0))

    def _upper_beta(self, alpha: FloatArray) -> FloatArray:
        found = [super()._upper_beta(alpha), *(np.asarray(part.beta(alpha).upper) for part in self.parts)]
        return np.asarray(np.min(found, axis=0))


def mixed(found: Readings, curve: Callable[[Readings], Curve | None], cap: Curve | None) -> MixedNoises | None:
    """The curve of these readings, where Gaussian ones in their place have one."""
    laplace = [place for place, kind in enumerate(found.kinds) if kind == "laplace" and any(found.rows[place])]
    parts = [curve(_only(found, [place])) for place in laplace]
    gaussian = [place for place, kind in enumerate(found.kinds) if kind == "gaussian"]
    if gaussian:
        parts.append(curve(_only(found, gaussian)))
    ends, rate = (*_TAIL, *_BULK), len(laplace)
    cells: list[tuple[float, Curve]] = []
    for low, high in zip(ends, (*ends[1:], math.inf), strict=True):
        within = curve(_drawn(found, low))
        if within is None:
            return None
        cells.append((_mass(low, high, rate), within))
    known = [part for part in parts if part is not None]
    return MixedNoises(cells, up(-math.expm1(-rate * ends[0]), 4), known, cap) if known else None


def _mass(low: float, high: float, rate: int) -> float:
    """P(low <= E < high) for the least of so many exponential E, rounded up."""
    share = 1.0 if math.isinf(high) else -math.expm1(-rate * (high - low) * (1.0 + 1e-14))
    return min(up(share * math.exp(-rate * low), 8), 1.0)


def _only(found: Readings, places: list[int]) -> Readings:
    """Some of the readings; the others are not looked at."""
    rows, kinds, scales = found.rows, found.kinds, found.scales
    return Readings(
        tuple(rows[place] for place in places),
        tuple(kinds[place] for place in places),
        tuple(scales[place] for place in places),
    )


def _drawn(found: Readings, least: float) -> Readings:
    """Gaussian readings with at most the noise that each Laplace one has when E is at least this."""
    root = Fraction(down(math.sqrt(2.0 * least), 2))
    read = zip(found.scales, found.kinds, strict=True)
    scales = tuple(scale * root if kind == "laplace" else scale for scale, kind in read)
    return attrs.evolve(found, kinds=("gaussian",) * len(found.kinds), scales=scales)
