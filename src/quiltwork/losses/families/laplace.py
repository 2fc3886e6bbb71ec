"""Laplace noise: loss in [-e, e], e = sensitivity / scale, with atoms at both ends and a density between.

P has mass 1/2 at e, e^(-e)/2 at -e and density e^((l-e)/2)/4 between; Q is its mirror image.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.losses.dominating_pair import TAIL_ULPS, Cells, Pair
from quiltwork.losses.family import ASSUMED, POSITIVE, Costs, Family, marked, parameter
from quiltwork.losses.transforms.transform import EllipseBound, Nodes, PanelTransform, Transform, panel_rule
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import times, typed


class LaplacePair(Pair):
    """The shifted Laplace law against the unshifted one."""

    def __init__(self, top: float) -> None:
        self.top = self.high = top
        self.low = -top

    def above(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        inside = np.clip(loss, self.low, self.top)
        p = 1.0 - 0.5 * np.exp(-(self.top - inside) / 2)
        q = 0.5 * np.exp(-(self.top + inside) / 2)
        return _outside(loss, self.top, p, 0.0, 1.0), _outside(loss, self.top, q, 0.0, 1.0)

    def below(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        inside = np.clip(loss, self.low, self.top)
        p = 0.5 * np.exp(-(self.top - inside) / 2)
        q = 1.0 - 0.5 * np.exp(-(self.top + inside) / 2)
        return _outside(loss, self.top, p, 1.0, 0.0), _outside(loss, self.top, q, 1.0, 0.0)

    def stick(self, loss: FloatArray) -> FloatArray:
        inside: FloatArray = -np.expm1(-np.maximum(self.top - loss, 0.0) / 2)
        below: FloatArray = -np.expm1(np.minimum(loss, 0.0))
        return np.where(loss < self.low, below, inside)

    def stick_error(self, loss: FloatArray) -> FloatArray:
        room = np.maximum(self.top - loss, 1e-300)
        moved = (self.top + np.abs(loss)) * np.maximum(1.0, 1.0 / room)
        error: FloatArray = UNIT * (64 + 8 * moved)
        return error

    def hazard(self, loss: FloatArray) -> FloatArray:
        """A bound on how fast the log of a tail moves with the loss, atoms apart."""
        return np.ones(np.shape(loss))

    def swapped(self) -> Pair:
        return self

    def cells(self, edges: FloatArray) -> Cells:
        inside = np.clip(edges, self.low, self.top)
        start, width = inside[:-1], np.diff(inside)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return self._cells(edges, start, width)

    def _cells(self, edges: FloatArray, start: FloatArray, width: FloatArray) -> Cells:
        p_mass = 0.5 * np.exp((start - self.top) / 2) * np.expm1(width / 2)
        q_mass = -0.5 * np.exp(-(start + self.top) / 2) * np.expm1(-width / 2)
        # within the support P - e^a Q = e^((a-e)/2) * 2 sinh^2(d/4): no cancellation
        stick = 2.0 * np.exp((start - self.top) / 2) * np.sinh(width / 4) ** 2
        # e^a (e^(start-a) - 1) = e^start - e^a for edges left of the support, 0 elsewhere
        left = np.minimum(edges[:-1], start)
        stick = np.minimum(stick - np.exp(start) * np.expm1(left - start) * q_mass, p_mass)
        return Cells(p_mass, stick, TAIL_ULPS * UNIT * p_mass, 2 * TAIL_ULPS * UNIT * p_mass)

    @property
    def rounding(self) -> float:
        return 8 * UNIT * self.top

    def atoms(self) -> tuple[FloatArray, FloatArray]:
        return np.array([self.low, self.top]), np.array([0.5 * math.exp(-self.top), 0.5])

    def transform(self, count: int) -> Transform:
        return LaplaceTransform(self.top, count)


def _outside(loss: FloatArray, top: float, inside: FloatArray, right: float, left: float) -> FloatArray:
    return np.where(loss >= top, right, np.where(loss < -top, left, inside))


class LaplaceTransform(PanelTransform):
    """Gauss-Legendre panels on the density plus the two atoms."""

    def ellipse_bound(self, theta: float, frequency: float) -> EllipseBound:
        tilt = theta + 0.5

        def bound(centre: FloatArray, radius: float, along: float, across: float) -> FloatArray:
            return math.log(0.25) - self.top / 2 + tilt * centre + abs(tilt) * along + frequency * across

        return bound

    def least_log_mgf(self, reach: float) -> float:
        return reach * self.top + math.log(0.5)  # the atom at the top alone

    def nodes(self, panels: int, quadrature: float) -> Nodes:
        x, log_weight = panel_rule(self.top, panels)
        losses = np.concatenate(([-self.top], x, [self.top]))
        inside = math.log(0.25) + (x - self.top) / 2 + log_weight
        logs = np.concatenate(([math.log(0.5) - self.top], inside, [math.log(0.5)]))
        return Nodes(logs, losses, 0.0, self.relative, quadrature)

    def layers(self, theta: float, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
        log_density = math.log(0.25) - self.top / 2 + (theta + 0.5) * edges
        return np.diff(edges), np.minimum(log_density[:-1], log_density[1:])


@attrs.frozen
class Laplace(Family):
    """Laplace noise of the given scale on a query of the given l1 sensitivity."""

    kind: ClassVar[str] = "laplace"
    words: ClassVar[str] = "Laplace noise, scale {scale:g}, sensitivity {sensitivity:g}"
    label: ClassVar[str] = "Laplace noise"
    dial: ClassVar[str] = "scale"
    linear: ClassVar[bool] = True
    because: ClassVar[str] = "Laplace mechanism, exact loss law (Dwork et al. 2006)"
    scale: float = attrs.field(**parameter("scale", POSITIVE, "Scale", "40"))
    sensitivity: float = attrs.field(
        default=marked(1.0, ASSUMED), **parameter("sensitivity", POSITIVE, "Sensitivity (l1)", "1")
    )

    def __attrs_post_init__(self) -> None:
        checks.moderate("sensitivity / scale", self.sensitivity / self.scale)

    @property
    def epsilon(self) -> float:
        """The pure differential privacy of one release."""
        return self.sensitivity / self.scale

    def pairs(self) -> dict[str, Pair]:
        return {"both": LaplacePair(self.epsilon)}

    def at(self, distance: Fraction) -> Family:
        return attrs.evolve(self, sensitivity=times(distance, self.sensitivity))

    def costs(self) -> Costs:
        return Costs(epsilon=typed(self.sensitivity) / typed(self.scale))

    def log_moments(self, theta: FloatArray) -> tuple[FloatArray, float]:
        """E[e^(theta L)] = ((1 + theta) e^(theta eps) + theta e^(-(1 + theta) eps)) / (1 + 2 theta).

        Reference: Mironov 2017, Table II.
        """
        first = np.log1p(theta) + theta * self.epsilon
        second = np.log(theta) - (1 + theta) * self.epsilon
        return np.logaddexp(first, second) - np.log1p(2 * theta), self.epsilon

    def rung(self) -> tuple[object, float]:
        return self.kind, self.epsilon
