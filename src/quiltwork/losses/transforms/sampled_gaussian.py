"""One kind of Gaussian noise on Poisson samples: both directions from one table of nodes.

With xi ~ N(0, 1), w = 1 - q + q e^(xi/s - 1/(2 s^2)) and A(zeta) = E w^zeta the moment generating functions are
M_remove(z) = A(1 + z) and M_add(z) = A(-z).  So one row of losses log w, one table of its powers and one table of sines
serve both: phi(u) = sum W e^(iu log w), W ~ N w^zeta at zeta = 1 + theta, or its conjugate with zeta = -theta.

Lemma (rounding of a loss).  Let a = xi/s - 1/(2 s^2), g = q e^a / w in (0, 1), q <= 1/2 and let a function be off by
four units at most.  Then log1p(q expm1(a)) is off by at most u (16 |log w| + 4 g (|xi|/s + 1/(2 s^2))).
Proof.  The node, the quotient, the constant and the difference leave a off by 4u (|xi|/s + 1/(2 s^2)), where a moves
log w by g at most; with x = q expm1(a) six units of |x| move it by 6u |x|/(1 + x) <= 12u |log w|, since
x/(1 + x) <= log(1 + x) for x > 0, and 1 + x >= 1/2 otherwise; the logarithm adds four units.

Lemma (sums).  Sums of n products in any order and sines within four units leave sum W (e^(iud) - 1) off by at most
C u times u_j sum W|d|, C = c + sqrt(2) (n + 8), c = sqrt((4+4)^2 + (8+6)^2): `turned_by_product`, without its products.

Reference: theory/engine-faster.md sections 1 and 3; theory/engine.md section 2 (trapezoid rule in xi).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.losses.transforms.poisson_gaussian import HALF_LOG_2PI, REACH, ends_of, evenly
from quiltwork.losses.transforms.transform import (
    MOST_WORK,
    TERM_ULPS,
    ComplexArray,
    Spectrum,
    layer_cake,
    layered_decay,
    log_one_plus,
    sum_error,
    turned_by_product,
)
from quiltwork.numbers.rounding import UNIT

MOST_RATE = 0.5  # beyond it 1 - q + q e^a is no longer 1 and something small
STEEPEST, OVERFLOW, GENTLEST = 600.0, 700.0, 1e-3  # exponents, and tilt
MOST_NODES = 4000
FEW_SINES = 1500  # that are all taken
BENT = np.array([0.4, 1.0, 1.8, 2.6])  # heights of strips
NEEDED = 40.0  # -log of the error of moments at real tilts
CELLS, HEIGHTS = 64, np.array([0.2, 0.6, 1.5, 2.6])[:, None]  # of upper sums on strips, and heights of these
SINES, COSINES, LOG_HALF_COSINES = np.sin(HEIGHTS), np.cos(HEIGHTS), np.log(np.cos(HEIGHTS.T / 2))
CAKE_CELLS = 48
STEERING = np.arange(-9.0, 39.25, 0.25)  # nodes that only steer
STEERING_MASSES, ONES = np.exp(-0.5 * STEERING * STEERING), np.ones(STEERING.size)
Moments = tuple[FloatArray, FloatArray, FloatArray]


class Line(NamedTuple):
    """One direction at one tilt, and log A there, for steering."""

    removed: bool
    theta: float
    log_mgf: float

    @property
    def zeta(self) -> float:
        """The power of w."""
        return 1.0 + self.theta if self.removed else -self.theta


class SampledGaussian:
    """`count` releases of Gaussian noise of this sigma on samples of this rate, in both directions."""

    def __init__(self, sigma: float, rate: float, count: int) -> None:
        self.sigma, self.rate, self.count = sigma, rate, count
        self._nodes = 0

    @property
    def moments_error(self) -> float:
        """What the log moments of `moments` may be off by."""
        return self.count * sum_error(self._nodes)

    def variances(self) -> FloatArray:
        """Of all losses together under Q and under P, roughly."""
        last = math.ceil(4 * (18.0 + min(1 / self.sigma, 30.0)))
        losses, change = self._losses(STEERING[:last])
        masses = STEERING_MASSES[:last]
        powers = np.array((ONES[:last], losses, losses * losses))
        sums = powers @ np.array((masses, masses * (1.0 + change))).T
        mean = sums[1] / sums[0]
        found: FloatArray = self.count * (sums[2] / sums[0] - mean * mean)
        return found

    def _losses(self, xi: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log w and q expm1(a)."""
        change = self.rate * np.expm1(xi / self.sigma - 0.5 / self.sigma**2)
        return np.log1p(change), change

    def steepest(self, theta: float) -> float:
        """This tilt, or the largest up to which powers of w neither overflow nor lose digits; 0 where there is none."""
        while self.rate <= MOST_RATE and theta > GENTLEST:
            largest = ((1.0 + theta) / self.sigma + REACH) / self.sigma
            if largest < STEEPEST and theta * math.log1p(self.rate * math.exp(largest)) < STEEPEST:
                return theta
            theta *= 0.8
        return 0.0

    def moments(self, theta: FloatArray) -> tuple[Moments, Moments]:
        """log M, mean and variance at these positive tilts, when the record is removed and when it is added."""
        sigma, reach = self.sigma, float(theta[-1])
        bend = 0.5 * (BENT * sigma) ** 2 - reach * np.log(np.cos(BENT / 2))
        step = min(float((2 * math.pi * BENT * sigma / (NEEDED + bend)).max()), 0.35)
        low, high = self._ends(-reach, False)[0], (1.0 + reach) / sigma + REACH
        xi = step * np.arange(math.floor(low / step), math.ceil(high / step) + 1)
        self._nodes = xi.size
        losses, change = self._losses(xi)
        masses = np.exp(math.log(step) - HALF_LOG_2PI - 0.5 * xi * xi)
        powers = np.exp(np.multiply.outer(theta, losses))
        linear = masses * losses
        columns = np.array((masses, linear, linear * losses))
        removed, added = (columns * (1.0 + change)) @ powers.T, columns @ (1.0 / powers).T
        return self._three(removed, 1.0), self._three(added, -1.0)

    def _three(self, sums: FloatArray, sign: float) -> Moments:
        mean, square = sums[1] / sums[0], sums[2] / sums[0]
        return self.count * np.log(sums[0]), sign * self.count * mean, self.count * (square - mean * mean)

    def _ends(self, zeta: float, removed: bool) -> tuple[float, float]:
        return ends_of(zeta, removed, self.sigma, self.rate)

    def decay(self, line: Line) -> Callable[[FloatArray], FloatArray]:
        """A bound of |phi|: the layer cake of the tilted loss density N w^zeta / (d log w / d xi) on cells of xi.

        N and w^zeta are least at one end of a cell, q e^a / (s w) is largest at the right one, a = xi/s - 1/(2 s^2);
        the cell of losses is as long as log1p(q (e^a' - e^a) / w), whose digits are all right.
        """
        zeta, sigma = line.zeta, self.sigma
        low, high = self._ends(zeta, line.removed)
        edges = evenly(max(low, -7.0) if zeta >= 0 else low, high - 2.0, CAKE_CELLS)
        a = edges / sigma - 0.5 / sigma**2
        change = self.rate * np.expm1(a)
        w, losses = 1.0 + change, np.log1p(change)
        size = np.abs(edges)
        farthest = np.maximum(size[:-1], size[1:])
        power = zeta * (losses[:-1] if zeta >= 0 else losses[1:])
        logs = power - 0.5 * farthest * farthest - a[1:] - (HALF_LOG_2PI + line.log_mgf)
        density = np.exp(np.minimum(logs, STEEPEST)) * w[1:] * (sigma / self.rate)
        widths = np.log1p(self.rate * math.expm1(float(a[1] - a[0])) * np.exp(a[:-1]) / w[:-1])
        return layered_decay(*layer_cake(widths, density), self.count)

    def spectra(self, lines: Sequence[Line], frequencies: FloatArray) -> list[Spectrum] | None:
        """The transforms on these lines at 0, eta, 2 eta, ...; None when they would cost too much."""
        zeta = np.array([line.zeta for line in lines])[:, None]
        log_mgf = np.array([line.log_mgf for line in lines])[:, None]
        ends = [self._ends(line.zeta, line.removed) for line in lines]
        low, high = min(one for one, _ in ends), max(one for _, one in ends)
        if high / self.sigma > STEEPEST:
            return None
        step, strip = self._step(zeta, log_mgf, low, high, float(frequencies[-1]))
        if not (high - low) / step <= MOST_NODES:
            return None
        xi = step * np.arange(math.floor(low / step), math.ceil(high / step) + 1)
        work = xi.size * frequencies.size
        losses, change = self._losses(xi)
        square, size = xi * xi, np.abs(losses)
        log_masses = (math.log(step) - HALF_LOG_2PI) - 0.5 * square
        masses, power = np.exp(log_masses), zeta * losses
        if work > MOST_WORK or float(power.max()) > STEEPEST:
            return None
        pulled = (self.rate + change) / (1.0 + change)
        loss_error = 16 * UNIT * size + 4 * UNIT * pulled * (np.abs(xi) / self.sigma + 0.5 / self.sigma**2)
        own = UNIT * (TERM_ULPS + square + 3 * np.abs(log_masses))
        relative = own + np.abs(zeta) * (3 * UNIT * size + loss_error)
        grown = np.expm1(power)
        excess = grown @ masses
        total = (1.0 + excess)[:, None]
        weights = masses * np.exp(power) / total
        wrong_total = np.abs(grown) @ ((own + xi.size * UNIT) * masses) / total[:, 0]
        wrong_total += (np.abs(zeta) * weights) @ loss_error
        centre = float(weights[0] @ losses)
        offset = losses - centre
        sums, ulps = self._turned(weights, offset, frequencies, work)
        size = np.abs(offset)
        wrong = (relative + wrong_total[:, None] + np.einsum("ij,ij->i", relative, weights)[:, None]) * weights
        error = np.minimum(np.multiply.outer(wrong @ size, frequencies), 2.0 * wrong.sum(axis=1)[:, None])
        error += np.multiply.outer(weights @ (ulps * UNIT * size + loss_error), frequencies)
        # 1e-18: the mass beyond the nodes, and of the trapezoid sum of the normal density
        quadrature = np.array([[strip + self._cut(line, xi, losses) + 1e-18] for line in lines])
        real, imaginary = sums.real, sums.imag
        one = log_one_plus(real, imaginary)
        left = np.maximum(np.exp(one.real), 1e-300)
        error = (error + 2 * quadrature) / left
        error /= np.maximum(1.0 - error, 0.5)  # |log(1 + x)| <= |x| / (1 - |x|), and what is large stays so
        sizes = np.abs(real), np.abs(imaginary)
        error += 8 * UNIT * (sizes[0] * (2 + sizes[0]) + sizes[1] * (1 + sizes[1])) / (left * left)
        turn = frequencies * (self.count * centre)
        log_phi = self.count * one
        log_phi.imag += turn
        log_phi_error = self.count * error + 8 * UNIT * np.abs(turn)
        spectra = []
        for i, line in enumerate(lines):
            logs = self.count * math.log1p(float(excess[i]))
            logs_error = self.count * (float(wrong_total[i]) + float(quadrature[i, 0])) + 8 * UNIT * abs(logs)
            row = log_phi[i] if line.removed else np.conj(log_phi[i])
            spectra.append(Spectrum(logs, row, logs_error, log_phi_error[i]))
        return spectra

    def _step(
        self, zeta: FloatArray, log_mgf: FloatArray, low: float, high: float, frequency: float
    ) -> tuple[float, float]:
        """A trapezoid step for all these powers and |Im z| <= frequency, and the relative error it guarantees.

        On strips of height phi, as in `poisson_gaussian`: lines x strips x cells.
        """
        sigma, rate = self.sigma, self.rate
        # e^(U arg w) moves mass to the right: the sum reaches as far as a moderate strip can push it
        far = min(max(high + 4.0, min(math.sqrt(2 * (frequency + 60.0)), 80.0)), OVERFLOW * sigma)
        edges = evenly(low - 4.0, far, CELLS)
        losses, change = self._losses(edges)
        log_normal = -0.5 * edges * edges - HALF_LOG_2PI
        peak = np.maximum(log_normal[:-1], log_normal[1:])
        peak[np.searchsorted(edges, 0.0) - 1] = -HALF_LOG_2PI  # low < 0 < far
        power = zeta * np.where(zeta > 0, losses[1:], losses[:-1]) - log_mgf
        base = peak + power + math.log(edges[1] - edges[0])
        odds = self.rate + change[1:]  # q e^a
        turn = np.minimum(np.arctan2(odds * SINES, 1 - rate + odds * COSINES), HEIGHTS)  # heights < pi: not negative
        logs = base[:, None, :] + frequency * turn
        # beyond the last edge the density falls at least like a Gaussian, and arg w <= phi; before the first, arg w
        # is at most its value there, and w >= 1 - q
        ends = log_normal[[0, -1]] + zeta * losses[[0, -1]] - log_mgf
        tail = ends[:, 1:] - np.log(np.maximum(far - np.maximum(zeta, 0.0) / sigma, 0.5)) + frequency * HEIGHTS.T
        least = log_normal[0] + np.minimum(zeta, 0.0) * math.log1p(-rate) - log_mgf
        head = np.maximum(ends[:, :1], np.where(zeta < 0, least, -np.inf)) + frequency * turn[:, 0]
        logs = np.concatenate((logs, tail[:, :, None], head[:, :, None]), axis=2)
        top = logs.max(axis=2)
        size = top + np.log(np.exp(logs - top[:, :, None]).sum(axis=2)) + 0.5 * (HEIGHTS.T * sigma) ** 2
        size = np.maximum(size + np.minimum(zeta, 0.0) * LOG_HALF_COSINES, 0.0)
        need = 37.0 + 0.5 * math.log(self.count)
        steps = 2 * math.pi * sigma * HEIGHTS.T / (size + need)
        return min(float(steps.max(axis=1).min()), 0.5), 2.5 * math.exp(-need)

    def _cut(self, line: Line, xi: FloatArray, losses: FloatArray) -> float:
        """What lies beyond the first and last node, relative to M: the density falls at least like a Gaussian there.

        On the left w >= 1 - q bounds it also where a density with a negative power still rises.
        """
        first, last = float(xi[0]), float(xi[-1])
        down, normal = min(line.zeta, 0.0), -HALF_LOG_2PI - line.log_mgf
        left = math.exp(normal - 0.5 * first * first + line.zeta * float(losses[0]))
        left /= max(abs(first) + down / self.sigma, 0.5)
        if down:
            alone = math.exp(-0.5 * first * first + down * math.log1p(-self.rate) - line.log_mgf) / abs(first)
            left = min(left, alone)
        right = math.exp(normal - 0.5 * last * last + line.zeta * float(losses[-1]))
        return left + right / max(last - max(line.zeta, 0.0) / self.sigma, 0.5)

    def _turned(
        self, weights: FloatArray, offset: FloatArray, frequencies: FloatArray, work: int
    ) -> tuple[ComplexArray, float]:
        """sum W (e^(iud) - 1) for each row of weights, and C."""
        if work > FEW_SINES:
            return turned_by_product(weights, offset, frequencies)
        angle = np.multiply.outer(frequencies, offset)
        half = np.sin(0.5 * angle)
        found = -2.0 * (weights @ (half * half).T) + 1j * (weights @ np.sin(angle).T)
        return found, math.hypot(8.0, 14.0) + math.sqrt(2.0) * (offset.size + 8)
