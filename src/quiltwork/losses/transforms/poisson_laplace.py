"""Transform of Poisson-subsampled Laplace noise: panels in the base loss, mapped through log(1 - q + q e^l)."""

from __future__ import annotations

import math

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.losses.transforms.transform import EllipseBound, Nodes, PanelTransform, mixed_loss, panel_rule


class PoissonLaplaceTransform(PanelTransform):
    """E_Q0[w^zeta], w = 1 - q + q e^l0; zeta = z + 1 when the record is removed, -z when it is added."""

    def __init__(self, top: float, rate: float, removed: bool, count: int) -> None:
        super().__init__(top, count)
        self.rate, self.removed = rate, removed

    def _zeta(self, theta: float) -> float:
        return theta + 1.0 if self.removed else -theta

    def ellipse_bound(self, theta: float, frequency: float) -> EllipseBound:
        """On |Im l| <= b < pi: |w| <= w(Re l), |w| >= w(Re l) cos(b/2), and arg w grows with Re l."""
        zeta, rate = self._zeta(theta), self.rate

        def bound(centre: FloatArray, radius: float, along: float, across: float) -> FloatArray:
            if across >= 3.0:
                return np.full(centre.shape, np.inf)
            right, left = centre + along, centre - along
            if zeta >= 0:
                size = zeta * mixed_loss(right, rate)
            else:
                size = zeta * (mixed_loss(left, rate) + math.log(math.cos(across / 2)))
            turn = np.full(centre.shape, across)
            if across < math.pi / 2:
                odds = rate * np.exp(np.minimum(right, 600.0))
                turn = np.minimum(turn, np.arctan2(odds * math.sin(across), 1 - rate + odds * math.cos(across)))
            return math.log(0.25) - self.top / 2 - left / 2 + size + frequency * turn

        return bound

    def least_log_mgf(self, reach: float) -> float:
        return 0.0  # E w = 1 and a power above 1 or below 0 is convex

    def nodes(self, panels: int, quadrature: float) -> Nodes:
        x, log_weight = panel_rule(self.top, panels)
        mixed = mixed_loss(np.concatenate(([-self.top], x, [self.top])), self.rate)
        inside = math.log(0.25) - (x + self.top) / 2 + log_weight
        log_q = np.concatenate(([math.log(0.5)], inside, [math.log(0.5) - self.top]))
        if self.removed:
            return Nodes(log_q + mixed, mixed, 0.0, self.relative, quadrature)
        return Nodes(log_q, -mixed, 0.0, self.relative, quadrature)

    def layers(self, theta: float, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
        mixed = mixed_loss(edges, self.rate)
        slope = math.log(self.rate) + edges - mixed  # log d(mixed)/d(base), increasing
        power = self._zeta(theta) * mixed
        floor = math.log(0.25) - (edges[1:] + self.top) / 2
        return np.diff(mixed), floor + np.minimum(power[:-1], power[1:]) - slope[1:]
