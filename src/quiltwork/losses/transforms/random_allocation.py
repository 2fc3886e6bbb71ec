"""The law of the mean S of t likelihood ratios of Gaussian steps: a hyperbola for each range of its values.

At v = 1 + excess an integral is good where its abscissa is near the saddle point; as few hyperbolas as keep the
integrand within OFF of that serve all v, each made when it is asked for (`hyperbola`). Far out, where nothing is
integrated, Chernoff's inequality bounds what is left.

Reference: theory, sampling, sections 7.1 and 7.2.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.losses.transforms.hyperbola import Hyperbola
from quiltwork.losses.transforms.lognormal import lognormal
from quiltwork.numbers.rounding import UNIT

ABSCISSAS = 2.0**0.25  # by which abscissas that are tried differ
OFF = 0.7  # log of how much larger than at its saddle an integrand may be, at the ends of a range
ROWS = 256  # places at a time
DEEPEST = -330.0  # log of the smallest values that are integrated
FARTHEST_MEAN = 1e9  # v beyond which nothing is integrated


@attrs.frozen(eq=False)
class Integrals:
    """Q(S <= v), E(v - S)+, Q(S > v) and E(S - v)+, and the error of each."""

    under: FloatArray
    put: FloatArray
    over: FloatArray
    call: FloatArray
    under_error: FloatArray
    put_error: FloatArray
    over_error: FloatArray
    call_error: FloatArray


class AllocationLaw:
    """The law of S under Q: one hyperbola for each range of means, made when it is asked for."""

    def __init__(self, s: float, steps: int) -> None:
        self.base, self.steps = lognormal(s), steps
        self.ends, self.abscissas = self._ranges()
        self._made: dict[int, Hyperbola | None] = {}

    def _ranges(self) -> tuple[FloatArray, FloatArray]:
        """Ends of ranges of v - 1, from the right, and the abscissa for each: as few as OFF allows.

        An abscissa c is best where t psi(c/t) + c (v-1) - 2 log c is least: at v - 1 = 2/c - psi'(c/t), about.
        """
        base, t = self.base, float(self.steps)
        c = 2.0 / FARTHEST_MEAN * ABSCISSAS ** np.arange(1600)
        c = c[c / t < 0.5 * base.rates[-1]]
        power = t * base.psi_above(c / t)
        excess = 2 / c - base.slope(c / t)
        keep = (power + c * excess > DEEPEST) & (np.minimum.accumulate(excess) == excess) & (excess > -1)
        count = int(np.argmin(np.append(keep, False)))
        c, power, excess = c[:count], power[:count], excess[:count]
        ends, abscissas, at = list(excess[:1]), [], 0
        while at < count - 1:
            here = power - 2 * np.log(c) + c * excess[at]
            best = at + int(np.argmin(np.append(here[at:] - here[at] <= OFF, False))) - 1
            best = max(best, at)
            off = power[best] + c[best] * excess - 2 * math.log(c[best]) - (power + c * excess - 2 * np.log(c))
            after = best + int(np.argmin(np.append(off[best:] <= OFF, False))) - 1
            after = max(after, at + 1)
            abscissas.append(c[best])
            ends.append(excess[after])
            at = after
        return np.array(ends), np.array(abscissas)

    def places(self, excess: FloatArray) -> FloatArray:
        """Which hyperbola serves each v = 1 + excess; -1: none does."""
        place = np.searchsorted(-self.ends, -excess, side="right") - 1
        return np.where((place < self.ends.size - 1) & (excess <= FARTHEST_MEAN), place, -1)

    def hyperbola(self, place: int) -> Hyperbola | None:
        """The one at this place."""
        if place not in self._made:
            low, high = float(self.ends[place + 1]), float(self.ends[place])
            self._made[place] = Hyperbola.of(self.base, self.steps, float(self.abscissas[place]), low, high)
        return self._made[place]

    def integrals(self, excess: FloatArray) -> Integrals:
        """At v = 1 + excess; infinite errors where nothing is integrated."""
        found = [np.zeros(excess.size) for _ in range(4)] + [np.full(excess.size, np.inf) for _ in range(4)]
        places = self.places(excess)
        for place in np.unique(places[places >= 0]).tolist():
            contour = self.hyperbola(place)
            if contour is None:
                continue
            at = places == place
            here = excess[at]
            first, second = contour.integrals(here)
            wrong, wrong_second = contour.error(1, here), contour.error(2, here)
            if contour.less_one:
                under, put, over, call = 1 + first, second + here, -first, second
            else:
                under, put, over, call = first, second, 1 - first, second - here
            rounded = wrong + 4 * UNIT, wrong_second + 4 * UNIT * (np.abs(here) + np.abs(second))
            exact = wrong, wrong_second
            errors = (*rounded, *exact) if contour.less_one else (*exact, *rounded)
            for column, value in zip(found, (under, put, over, call, *errors), strict=True):
                column[at] = value
        return Integrals(*found)

    def under(self, excess: FloatArray) -> FloatArray:
        """Q(S <= v) from above by Chernoff's inequality: e^(c (v-1) + t psi(c/t)) for any c > 0."""
        rates = self.base.rates
        tilt, power = self.steps * rates, self.steps * self.base.psi_above(rates)
        found = np.ones(excess.size)
        for part in np.array_split(np.arange(excess.size), -(-excess.size // ROWS) or 1):
            logs = np.multiply.outer(excess[part] * (1 - 1e-12), tilt) + power * (1 + 1e-12)
            found[part] = np.exp(np.minimum(logs.min(axis=1) + 1e-9, 0.0))
        return found

    def cells(self, low: FloatArray, width: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Q mass of cells (1 + low, 1 + low + width], E_Q[S - middle; cell], and the error of the mass."""
        middle = low + width / 2
        mass, first, error = np.zeros(low.size), np.zeros(low.size), np.full(low.size, np.inf)
        places = self.places(middle)
        for place in np.unique(places[places >= 0]).tolist():
            contour = self.hyperbola(place)
            if contour is not None:
                at = places == place
                mass[at], first[at], error[at] = contour.cells(middle[at], width[at])
        return mass, first, error
