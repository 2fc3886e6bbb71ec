"""Many small losses together: their D from one transform, certified on one side for every epsilon.

The rounding of a transform grows to the left of its tilt's centre. There D is convex in t = e^eps, from the mass of P
at t = 0 down with the mass of Q: it lies above mass_P - t mass_Q and below the chord from t = 0 to what is known.

Reference: theory/engine.md section 4.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.convolve import Convolution, Measure, convolve
from quiltwork.losses.pair import UNIT
from quiltwork.losses.transform import TooCostly

LEFT = 8.0  # spreads from the centre to where the line takes over


@attrs.frozen(eq=False)
class Crowd:
    """D(eps) on one side: from the transform right of `left`, at and before it `mass` minus `slope` e^eps."""

    law: Convolution | None  # None: nothing is left, and D = (1 - e^eps)+
    side: int
    mass: float
    slope: float
    left: float

    @property
    def centre(self) -> float:
        return 0.0 if self.law is None else self.law.centre

    @property
    def spread(self) -> float:
        return 0.0 if self.law is None else self.law.spread

    def __call__(self, epsilon: FloatArray) -> FloatArray:
        """D where epsilon is above `left`."""
        if self.law is None:
            return np.maximum(-np.expm1(epsilon), 0.0)
        with np.errstate(over="ignore"):
            found = np.exp(self.law.logs(epsilon, self.side))
        found[np.isnan(found)] = self.mass if self.side > 0 else 0.0
        return np.minimum(found, self.mass)


def crowd_of(measure: Measure, tilt: float, side: int) -> Crowd:
    """The sum of all these losses, seen at this tilt, bounded above (side 1) or below (-1)."""
    if not measure.parts:
        return Crowd(None, side, 1.0, 1.0, 0.0)
    law = convolve(measure, tilt)
    if law is None:
        raise TooCostly
    first, second = measure.moments(np.array([0.0, -1.0]))[0].tolist()
    reach = [abs(part.offset) + measure.step * float(np.abs(part.indices).max()) for part in measure.parts]
    wrong = math.fsum(
        part.count * ((64 + 8 * far) * UNIT + part.relative + part.loss_error)
        for part, far in zip(measure.parts, reach, strict=True)
    )
    mass = math.exp(min(first + side * wrong, 700.0))
    left = law.centre - LEFT * law.spread
    if side < 0:
        return Crowd(law, side, mass, math.exp(second + wrong), left)
    there = float(Crowd(law, side, mass, 0.0, left)(np.array([left]))[0])
    return Crowd(law, side, mass, (mass - there) * math.exp(-left) * (1 - 8 * UNIT * (1 + abs(left))), left)
