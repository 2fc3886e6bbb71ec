"""What the transforms of (subsampled) Laplace noise share: panels of Gauss-Legendre nodes plus two atoms."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.losses.quadrature import panels_needed
from quiltwork.losses.transform import (
    TERM_ULPS,
    UNIT,
    Nodes,
    Spectrum,
    TooCostly,
    layer_cake,
    layered_decay,
    repeated,
)

EllipseBound = Callable[[FloatArray, float, float, float], FloatArray]
LAYER_CELLS = 160
MOST_PANELS = 1 << 11


class PanelTransform(ABC):
    """`count` copies of a loss whose density lives on [-top, top] of the base loss."""

    def __init__(self, top: float, count: int) -> None:
        self.top, self.count = top, count
        self.relative = (TERM_ULPS + 2 * top) * UNIT  # a node is rounded on the scale of the whole support
        self._steering: tuple[float, Nodes] | None = None

    @abstractmethod
    def ellipse_bound(self, theta: float, frequency: float) -> EllipseBound:
        """log |integrand| on Bernstein ellipses with semi-axes (along, across) around panel centres."""

    @abstractmethod
    def least_log_mgf(self, reach: float) -> float:
        """A lower bound of log M at the largest tilt asked for: what relative accuracy is relative to."""

    @abstractmethod
    def nodes(self, panels: int, quadrature: float) -> Nodes:
        """Nodes and atoms of one copy."""

    @abstractmethod
    def layers(self, theta: float, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Widths of the loss cells between base edges, and the log of a minorant of the tilted density times M."""

    def _real(self, theta: FloatArray) -> Nodes:
        """Nodes for real tilts up to a reach that doubles when needed; their relative error is below e^-40."""
        reach = float(np.abs(theta).max())
        if self._steering is None or reach > self._steering[0]:
            reach = max(2 * reach, 8.0)
            target = self.least_log_mgf(reach) - 40.0
            panels, log_error = panels_needed(self.top, self.ellipse_bound(reach, 0.0), target, MOST_PANELS)
            if log_error > target:
                raise TooCostly
            self._steering = reach, self.nodes(panels, 0.0)
        return self._steering[1]

    def _log_mgf(self, theta: float) -> float:
        at = np.array([theta])
        return float(self._real(at).moments(at)[0][0])

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        log_mgf, mean, variance = self._real(theta).moments(theta)
        return self.count * log_mgf, self.count * mean, self.count * variance

    def spectrum(self, theta: float, frequencies: FloatArray) -> Spectrum | None:
        log_mgf = self._log_mgf(theta)
        target = log_mgf - 37.0 - 0.5 * math.log(self.count)
        bound = self.ellipse_bound(theta, float(frequencies[-1]))
        panels, log_error = panels_needed(self.top, bound, target, MOST_PANELS)
        if log_error > target + 20:
            return None
        return repeated(self.nodes(panels, math.exp(log_error - log_mgf)).spectrum(theta, frequencies), self.count)

    def decay(self, theta: float) -> Callable[[FloatArray], FloatArray]:
        widths, log_density = self.layers(theta, np.linspace(-self.top, self.top, LAYER_CELLS + 1))
        density = np.where(widths > 0, np.exp(log_density - self._log_mgf(theta)), 0.0)
        weights, lengths = layer_cake(widths[None, :], density[None, :])
        return layered_decay(weights, lengths, np.array([float(self.count)]))
