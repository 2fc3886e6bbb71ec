"""The numbers of many slices, in columns of doubles: a normal X ~ N(mean, s^2) in the bin (l, h], plus N(0, v).

The law is that of the fractions given.  Widths and distances are differences of fractions; a location is kept as a
double and what it misses, so that y - r is right to two units.  Square roots are right to two, all else here to four.

Let e be the point of the bin nearest the mean and xi_r = (r - mean)/s.  The probability of the bin is phi(xi_e) P' with

    P' = integral over the bin of e^(-(xi^2 - xi_e^2)/2) dxi,

where the exponent is -(r - e)(r - e + 2 (e - mean))/(2 s^2): both factors have one sign, whatever side the bin is on.

Reference: theory/confounding.md section 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.confounding.line.binned.window import OWN, lever, window
from quiltwork.confounding.line.laws.component import root

__all__ = ["Bin", "SliceColumns"]

# mean, variance of X, variance of the noise, ends (None for an infinite one)
Bin = tuple[Fraction, Fraction, Fraction, Fraction | None, Fraction | None]


class SliceColumns:
    """k slices; every attribute is a column of k numbers."""

    def read(self, bins: Sequence[Bin]) -> None:
        """From fractions."""
        rows = []
        for mean, square, variance, low, high in bins:
            sd, noise, total = root(square), root(variance), root(square + variance)
            near = mean if low is None or low < mean else low
            near = near if high is None or near < high else high
            middle = None if low is None or high is None else (low + high) / 2
            width = np.inf if low is None or high is None else float(high - low)
            beside = np.inf if high is None else -np.inf  # where the middle of half a line is
            ends = (-np.inf, np.inf, 0.0 if low is None and high is None else beside, 0.0)
            points = (low, high, middle, near)
            place = [end if point is None else float(point) for point, end in zip(points, ends, strict=True)]
            place[2] = 0.0 if middle is None else place[2]
            rest = [0.0 if point is None else float(point - Fraction(double))
                    for point, double in zip(points, place, strict=True)]  # fmt: skip
            past = [end if point is None else float(point - near) / sd for point, end in zip(points, ends, strict=True)]
            away = [end if point is None else float(point - mean) / sd for point, end in zip(points, ends, strict=True)]
            rows.append([sd, noise, total, width, *place, *rest, *past[:3], *away])
        columns = [column[:, None] for column in np.array(rows).T]
        self.sd, self.noise, self.total, self.width = columns[:4]
        self.low, self.high, self.middle, self.near = columns[4:8]
        self.rest_low, self.rest_high, self.rest_middle, self.rest_near = columns[8:12]  # what those doubles miss
        self.past_low, self.past_high, self.past_middle = columns[12:15]  # (r - e)/s
        self.xi_low, self.xi_high, self.xi_middle, self.xi_near = columns[15:]
        self.rho, self.c, self.ratio = self.sd / self.total, self.noise / self.total, self.sd / self.noise
        self.length = self.width / (self.sd * self.c)  # of the window of the posterior
        self._whole()

    def fall(self, past: FloatArray) -> FloatArray:
        """(xi^2 - xi_e^2)/2 at a point of the bin: how far the log density of X has fallen from its largest value."""
        found: FloatArray = 0.5 * past * (past + 2.0 * self.xi_near)
        return found

    def _whole(self) -> None:
        """log P' and its error in units."""
        found = window(self.xi_low, self.xi_high, self.xi_middle, self.width / self.sd)
        with np.errstate(invalid="ignore"):
            self.falls = [np.where(np.isfinite(past), self.fall(past), 0.0)
                           for past in (self.past_low, self.past_high, self.past_middle)]  # fmt: skip
        fallen = np.choose(found.reference, [np.zeros_like(self.sd), *self.falls])
        self.log_whole = found.log - fallen
        ends = [np.where(np.isfinite(xi), 4.0 * np.abs(xi), 0.0) for xi in (self.xi_low, self.xi_high)]
        moved = lever(self.xi_low, self.xi_high, self.width / self.sd, found.reference, *ends)
        self.whole_units = OWN + 8.0 * fallen + moved
