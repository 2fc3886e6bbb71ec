"""Transform of Poisson-subsampled Laplace noise: panels in the base loss, mapped through log(1 - q + q e^l)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.losses.finite import mixed_loss
from quiltwork.losses.quadrature import panel_rule, panels_needed
from quiltwork.losses.transform import Nodes, Spectrum, layer_cake, layered_decay, repeated

LAYER_CELLS = 160


class PoissonLaplaceTransform:
    """E_Q0[w^zeta], w = 1 - q + q e^l0; zeta = z + 1 when the record is removed, -z when it is added."""

    def __init__(self, top: float, rate: float, removed: bool, count: int) -> None:
        self.top, self.rate, self.removed, self.count = top, rate, removed, count
        self._steering: tuple[float, Nodes] | None = None

    def _zeta(self, theta: float) -> float:
        return theta + 1.0 if self.removed else -theta

    def _log_bound(self, theta: float, frequency: float) -> Callable[[FloatArray, float, float, float], FloatArray]:
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

    def _nodes(self, panels: int, quadrature: float) -> Nodes:
        x, log_weight = panel_rule(self.top, panels)
        base = np.concatenate(([-self.top], x, [self.top]))
        ends = math.log(0.5), math.log(0.5) - self.top
        log_q = np.concatenate(([ends[0]], math.log(0.25) - (x + self.top) / 2 + log_weight, [ends[1]]))
        mixed = mixed_loss(base, self.rate)
        if self.removed:
            return Nodes(log_q + mixed, mixed, 0.0, quadrature=quadrature)
        return Nodes(log_q, -mixed, 0.0, quadrature=quadrature)

    def _real(self, theta: FloatArray) -> Nodes:
        reach = float(np.abs(theta).max())
        if self._steering is None or reach > self._steering[0]:
            reach = max(2 * reach, 8.0)
            panels, _ = panels_needed(self.top, self._log_bound(reach, 0.0), -40.0, 1 << 8)
            self._steering = reach, self._nodes(panels, 0.0)
        return self._steering[1]

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        log_mgf, mean, variance = self._real(theta).moments(theta)
        return self.count * log_mgf, self.count * mean, self.count * variance

    def spectrum(self, theta: float, frequencies: FloatArray) -> Spectrum | None:
        log_mgf = float(self._real(np.array([theta])).moments(np.array([theta]))[0][0])
        target = log_mgf - 37.0 - 0.5 * math.log(self.count)
        panels, log_error = panels_needed(self.top, self._log_bound(theta, float(frequencies[-1])), target, 1 << 10)
        if log_error > target + 20:
            return None
        return repeated(self._nodes(panels, math.exp(log_error - log_mgf)).spectrum(theta, frequencies), self.count)

    def decay(self, theta: float) -> Callable[[FloatArray], FloatArray]:
        zeta = self._zeta(theta)
        log_mgf = float(self._real(np.array([theta])).moments(np.array([theta]))[0][0])
        edges = np.linspace(-self.top, self.top, LAYER_CELLS + 1)
        mixed = mixed_loss(edges, self.rate)
        slope = math.log(self.rate) + edges - mixed  # log d(mixed)/d(base), increasing
        power = zeta * mixed
        log_density = math.log(0.25) - (edges[1:] + self.top) / 2 + np.minimum(power[:-1], power[1:]) - slope[1:]
        widths = np.diff(mixed)
        density = np.where(widths > 0, np.exp(log_density - log_mgf), 0.0)
        weights, lengths = layer_cake(widths[None, :], density[None, :])
        return layered_decay(weights, lengths, np.array([float(self.count)]))
