"""Composite Gauss-Legendre rules on [-e, e] with a proven error.

For f analytic in the Bernstein ellipse of parameter rho around a panel of half-width r and |f| <= B there, the
n-point rule errs by at most r (64/15) B rho^(-2(n-1)) / (1 - rho^-2) (Trefethen, Approximation Theory and
Approximation Practice, Theorem 19.3).

What the transforms of (subsampled) Laplace noise share: panels of Gauss-Legendre nodes plus two atoms.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.losses.transforms.transform import (
    TERM_ULPS,
    Nodes,
    Spectrum,
    TooCostly,
    layer_cake,
    layered_decay,
    repeated,
)
from quiltwork.numbers.rounding import UNIT

POINTS = 24
RADII = (1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0, 40.0, 80.0)


# The positive nodes and their weights, correctly rounded from 50 digits: library routines lose a thousand ulps.
RULE = (
    (0.06405689286260563, 0.12793819534675216),
    (0.1911188674736163, 0.1258374563468283),
    (0.3150426796961634, 0.12167047292780339),
    (0.4337935076260451, 0.1155056680537256),
    (0.5454214713888396, 0.10744427011596563),
    (0.6480936519369755, 0.09761865210411388),
    (0.7401241915785544, 0.08619016153195327),
    (0.820001985973903, 0.0733464814110803),
    (0.8864155270044011, 0.05929858491543678),
    (0.9382745520027328, 0.04427743881741981),
    (0.9747285559713095, 0.028531388628933663),
    (0.9951872199970213, 0.0123412297999872),
)
HALF = np.array(RULE)
NODES = np.concatenate((-HALF[::-1, 0], HALF[:, 0]))
LOG_WEIGHTS = np.log(np.concatenate((HALF[::-1, 1], HALF[:, 1])))


def panel_rule(top: float, panels: int) -> tuple[FloatArray, FloatArray]:
    """Nodes on [-top, top] and the logs of their weights."""
    radius = top / panels
    centres = -top + radius * (2 * np.arange(panels) + 1)
    return (centres[:, None] + radius * NODES[None, :]).ravel(), np.tile(LOG_WEIGHTS + math.log(radius), panels)


def panels_needed(
    top: float, log_bound: Callable[[FloatArray, float, float, float], FloatArray], target: float, most: int
) -> tuple[int, float]:
    """The fewest panels (a power of two) whose log error is below the target, and that log error.

    `log_bound(centres, radius, along, across)` bounds log |f| on the ellipses with these semi-axes; it may return
    +inf where f is not analytic.
    """
    panels, best = 1, math.inf
    while True:
        radius = top / panels
        centres = -top + radius * (2 * np.arange(panels) + 1)
        best = math.inf
        for rho in RADII:
            along, across = radius * (rho + 1 / rho) / 2, radius * (rho - 1 / rho) / 2
            logs = log_bound(centres, radius, along, across)
            size = float(np.max(logs))
            if not math.isfinite(size):
                continue
            total = size + math.log(float(np.exp(logs - size).sum()))
            error = total + math.log(64 / 15 * radius) - 2 * (POINTS - 1) * math.log(rho) - math.log1p(-(rho**-2))
            best = min(best, error)
        if best <= target or 2 * panels > most:
            return panels, best
        panels *= 2


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
