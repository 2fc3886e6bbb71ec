"""What happens far out: the sign of p - t q on a whole tail, and whether p/q is bounded.

On [R, inf), right of all modes, a pivot k with a negative coefficient decides: if f_j/f_k falls for every component j
with a positive coefficient, then for x >= R

    sum of c_j f_j(x)/f_k(x) over positive c  <=  the same at R,

and negative components whose ratio to f_k rises count with their value at R.  So the sign at R is the sign beyond.
A Laplace law, or the sum of a normal and a Laplace variable, may also be compared with a plain exponential.  Both logs
are concave, which leaves to compare slopes: those of a normal fall without end, those of a Laplace law are
-1/b, and those of a sum of both fall towards -1/b.  Equal parameters are compared as fractions.

Reference: theory/confounding.md section 1 (tails), extended.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.confounding.line.binned.law import Slice, likelihood_order, ranks
from quiltwork.confounding.line.enclosure.difference import Difference, TwoLaws
from quiltwork.confounding.line.laws.components import Component
from quiltwork.confounding.line.laws.densities import NormalLaplaceShapes
from quiltwork.numbers.rounding import UNIT

LARGE, TINY = 600.0, 1e-290
MIN_SLOPE_GAP = 1e-9  # slopes computed in floats must differ by this much of their size
GAUSS, EXPONENTIAL, MIXED, SLICED = "normal", "laplace", "normal-laplace", "slice"


class TailOrder:
    """Which ratios of components fall on a tail; side is +1 for the right tail and -1 for the left one."""

    def __init__(self, laws: TwoLaws, side: int) -> None:
        self.laws, self.side = laws, side
        zero = Fraction(0)
        kinds = np.array([part.kind for part in laws.parts])
        self.normal, self.laplace, self.mixed = kinds == GAUSS, kinds == EXPONENTIAL, kinds == MIXED
        self.known = self.normal | self.laplace | self.mixed | (kinds == SLICED)
        means = [side * part.exact[0] if known else zero for part, known in zip(laws.parts, self.known, strict=True)]
        variances = [part.exact[1] if part.kind in (GAUSS, MIXED) else zero for part in laws.parts]
        scales = [part.exact[-1] if part.kind in (EXPONENTIAL, MIXED) else zero for part in laws.parts]
        mean, variance, scale = ranks(means), ranks(variances), ranks(scales)
        self.rank = scale
        self.means, self.variances = np.array(means, dtype=float), np.array(variances, dtype=float)
        self.scales = np.array(scales, dtype=float)
        before = mean[:, None] <= mean[None, :]
        same = (variance[:, None] == variance[None, :]) & (scale[:, None] == scale[None, :])
        alike = (self.normal[:, None] & self.normal[None, :]) | (self.mixed[:, None] & self.mixed[None, :])
        flat = self.laplace[:, None] & (self.laplace | self.mixed)[None, :]
        # a fixed order, whatever R: shifts of one shape, and Laplace laws by their scale
        self.fixed = (
            (alike & same & before) | (flat & (scale[:, None] <= scale[None, :])) | np.eye(len(kinds), dtype=bool)
        )
        sliced = np.flatnonzero(kinds == SLICED)
        bins = [part for part in laws.parts if isinstance(part, Slice)]
        self.fixed[np.ix_(sliced, sliced)] |= likelihood_order(bins, side)
        self.narrower = self.normal[:, None] & self.normal[None, :] & (variance[:, None] <= variance[None, :])
        self.ends = np.array([part.support[1] if side > 0 else -part.support[0] for part in laws.parts], dtype=float)

    def slopes(self, place: float) -> FloatArray:
        """Derivatives of the log densities at a place right of all modes (of the mirrored line, for a left tail)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(self.normal, -(place - self.means) / np.where(self.normal, self.variances, 1.0), 0.0)
            found = np.where(self.laplace, -1.0 / np.where(self.laplace, self.scales, 1.0), found)
        if self.mixed.any():
            at = np.array([self.side * place])
            values = [s.log_slope(at)[:, 0] for s in self.laws.shapes if isinstance(s, NormalLaplaceShapes)]
            found[self.mixed] = self.side * np.concatenate(values)
        return found

    def falling(self, place: float) -> np.ndarray:
        """(K, K): whether f_j/f_k falls from this place on."""
        slope, error = self.slopes(place), self.laws.slope_error[:, 0]
        room = MIN_SLOPE_GAP * np.abs(slope) + error
        with np.errstate(divide="ignore"):
            floor = np.where(self.scales > 0, -1.0 / np.where(self.scales > 0, self.scales, 1.0), -np.inf)
        steeper = self.known[:, None] & ((slope + room)[:, None] <= floor[None, :] * (1.0 + MIN_SLOPE_GAP))
        normals = self.narrower & ((slope + room)[:, None] <= (slope - room)[None, :])
        return np.asarray(self.fixed | steeper | normals)

    def sign(self, difference: Difference, place: float) -> int:
        """+1 or -1 when p - t q surely has this sign beyond `place` (a point of the line), 0 when it is not known."""
        laws, mirrored = self.laws, self.side * place
        modes = laws.mode_high[:, 0] if self.side > 0 else -laws.mode_low[:, 0]
        gone = self.ends < mirrored  # nothing of these is left
        if bool(np.any((modes >= mirrored) & difference.used & ~gone)):
            return 0
        logs, errors = laws.log_density(np.array([place]))
        terms, _ = difference.terms(logs)
        size = np.where(gone, 0.0, terms[:, 0])
        relative = errors[:, 0] + difference.size_error + 1e3 * UNIT
        falling = self.falling(mirrored)
        for sign in (1, -1):  # +1: the negative part must be outweighed for ever
            least = np.maximum(sign * difference.sign - difference.sign_error, 0.0) * size * (1.0 - relative)
            against = np.maximum(-sign * difference.sign + difference.sign_error, 0.0)
            most = against * size * (1.0 + relative)
            present = difference.used & ~gone & (against > 0)
            if not bool(present.any()):
                return sign
            pivots = self.known & (least > 0) & (falling | ~present[:, None]).all(axis=0)
            if bool(np.any(falling[pivots] @ least >= most.sum() * (1.0 + 1e-9) + 1e-290)):
                return sign
            if self._outweighed(mirrored, least, most, present):
                return sign
        return 0

    def _outweighed(self, mirrored: float, least: FloatArray, most: FloatArray, present: np.ndarray) -> bool:
        """The same with e^(-x/b) as pivot, for the scale b of some component.

        Beyond R Laplace laws and sums of scale >= b fall more slowly than it; of scale <= b they stay below their
        asymptotes, which fall faster, and so does a normal law that is steeper at R.
        """
        slow = (self.laplace | self.mixed) & (least > 0)
        if not bool(slow.any()):
            return False
        slope, error = self.slopes(mirrored), self.laws.slope_error[:, 0]
        steep = np.where(self.normal, slope + MIN_SLOPE_GAP * np.abs(slope) + error, np.inf)
        grown, at = np.zeros(least.size), np.array([self.side * mirrored])
        if self.mixed.any():
            shapes = [shape for shape in self.laws.shapes if isinstance(shape, NormalLaplaceShapes)]
            grown[self.mixed] = np.concatenate([shape.ceiling(at)[:, 0] for shape in shapes])
        # a density that underflowed may yet rise to its asymptote
        most = np.where(present, np.maximum(most, TINY) * np.exp(np.minimum(grown, LARGE)), 0.0)
        for rank in np.unique(self.rank[slow]):
            floor = -1.0 / self.scales[self.rank == rank][0]
            fits = ((self.laplace | self.mixed) & (self.rank <= rank)) | (steep <= floor * (1.0 + MIN_SLOPE_GAP))
            fits &= grown < LARGE
            if bool(fits[present].all()) and least[slow & (self.rank >= rank)].sum() >= most.sum() * (1.0 + 1e-9):
                return True
        return False


def _heaviness(part: Component, side: int) -> tuple[Fraction | int, ...]:
    """Tails in order: bounded, normal by variance and mean, exponential by scale."""
    if part.kind in (EXPONENTIAL, MIXED):
        return (2, part.exact[-1])
    if part.kind == GAUSS:
        return (1, part.exact[1], side * part.exact[0], 0)
    if isinstance(part, Slice):
        return part.heaviness(side)
    return (0,)


def unbounded(laws: TwoLaws) -> bool:
    """Whether p/q surely has no bound on some tail."""
    first = [part for part, weight in zip(laws.parts, laws.first, strict=True) if weight > 0]
    second = [part for part, weight in zip(laws.parts, laws.second, strict=True) if weight > 0]
    if any(part.kind == "user" for part in second):
        return False
    return any(
        max(_heaviness(part, side) for part in first) > max(_heaviness(part, side) for part in second)
        for side in (1, -1)
    )


def revealed(laws: TwoLaws) -> tuple[float, float]:
    """Both ends of P(q = 0): what no epsilon can hide."""
    ends = sorted(part.support for part, weight in zip(laws.parts, laws.second, strict=True) if weight > 0)
    gaps, reach = [], -math.inf
    for low, high in ends:
        if low > reach:
            gaps.append((reach, low))
        reach = max(reach, high)
    if reach < math.inf:
        gaps.append((reach, math.inf))
    if not gaps:
        return 0.0, 0.0
    lows, highs = (np.array(column) for column in zip(*gaps, strict=True))
    p = Difference(laws, 0.0).runs(lows, highs).p
    edges = sum(abs(end) for gap in gaps for end in gap if math.isfinite(end))  # each known to a unit
    room = 4.0 * UNIT * edges * float(laws.first @ np.exp(laws.peak[:, 0]))
    return max(float(p[0].sum()) - room, 0.0), min(float(p[1].sum()) + room, 1.0)
