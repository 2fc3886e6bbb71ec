"""Transform of Poisson-subsampled Gaussians, one or many at once: the work horse of DP-SGD.

With w(x) = 1 - q + q e^((2x-1)/(2 s^2)) and x ~ N(0, s^2), M(z) = E[w^zeta], zeta = z + 1 when the record is removed
(loss log w) and zeta = -z when it is added (loss -log w). The trapezoid rule in x converges exponentially: the
integrand is analytic for |Im x| < pi s^2, and with phi = Im x / s^2

    |w| <= w(Re x),   |w| >= w(Re x) cos(phi/2),   arg w = atan2(qR sin phi, 1 - q + qR cos phi) grows with Re x,

so the error is at most 2 I(phi) / (e^(2 pi phi s^2 / h) - 1), I an upper Riemann sum of the shifted integrand.
Everything is in units of s: x = s xi.

Reference: theory/engine.md section 2, quadrature of M.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.losses.transforms.transform import (
    LARGEST,
    REST_ERROR,
    TERM_ULPS,
    Nodes,
    Spectrum,
    TooCostly,
    layer_cake,
    layered_decay,
    log_one_plus,
    repeated,
    sinc_envelope,
    sum_error,
)
from quiltwork.numbers.rounding import UNIT

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
STRIPS = np.array([0.2, 0.4, 0.7, 1.0, 1.4, 1.8, 2.2, 2.6, 2.9])
REACH = 9.2  # standard deviations kept on an unshifted side: N(0,1) is below 1e-19 of its peak there
MOST_NODES = 40_000
RIEMANN_CELLS = 240
LAYER_CELLS, FEW_LAYER_CELLS = 200, 56  # of one row, of each of many


def evenly(low: float, high: float, cells: int) -> FloatArray:
    """Edges of equal cells."""
    found: FloatArray = low + (high - low) / cells * np.arange(cells + 1)
    return found


def ends_of(zeta: float, removed: bool, sigma: float, rate: float) -> tuple[float, float]:
    """Where the tilted density N(xi) w^zeta has died out: it rises before -|zeta^-|/s and falls after zeta^+/s.

    The nodes must also hold all of P itself (N w when the record is removed), since M - 1 is summed against it.
    """
    if zeta >= 0:
        return -REACH, (max(zeta, 1.0) if removed else zeta) / sigma + REACH
    lift = zeta * math.log1p(-rate) if rate < 1 else math.inf
    return -min(math.sqrt(2 * (43.0 + lift)), -zeta / sigma + REACH), REACH


class PoissonGaussianTransform:
    """Rows of (sigma, rate, count), all removed or all added."""

    reach = math.inf

    def __init__(self, sigmas: FloatArray, rates: FloatArray, counts: FloatArray, removed: bool) -> None:
        self.sigma, self.rate = sigmas[:, None], rates[:, None]
        self.counts, self.removed = counts, removed
        self._steering: tuple[float, FloatArray, FloatArray] | None = None
        self._latest: tuple[float, FloatArray] | None = None

    # ---- the integrand

    def _zeta(self, theta: float) -> float:
        return theta + 1.0 if self.removed else -theta

    def _log_w(self, xi: FloatArray) -> FloatArray:
        """log w on a row of xi, accurate for small rates and for huge exponents."""
        a = xi / self.sigma - 0.5 / self.sigma**2
        change = self.rate * np.expm1(np.minimum(a, LARGEST))
        small = np.log1p(np.maximum(change, -0.5))
        if float(self.rate.max()) > 0.5:  # as in finite.mixed_loss: two positive terms instead of 1 + change
            small = np.where(change > -0.5, small, np.log((1 - self.rate) + self.rate * np.exp(np.minimum(a, LARGEST))))
        if float(a.max()) < LARGEST:
            return small
        large = a + np.log(self.rate) + np.log1p((1 - self.rate) / self.rate * np.exp(-np.maximum(a, LARGEST)))
        return np.where(a < LARGEST, small, large)

    def _ends(self, zeta: float) -> tuple[float, float]:
        return ends_of(zeta, self.removed, float(self.sigma.min()), float(self.rate.max()))

    def _grid(self, theta: float, step: float) -> FloatArray | None:
        low, high = self._ends(self._zeta(theta))
        if (high - low) / step > MOST_NODES:
            return None
        return step * np.arange(math.floor(low / step), math.ceil(high / step) + 1)

    def _masses(self, xi: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
        """log P masses and losses of the nodes, rows x nodes."""
        log_w = self._log_w(xi)
        log_normal = math.log(step) - HALF_LOG_2PI - 0.5 * xi * xi
        if self.removed:
            return log_normal + log_w, log_w
        return np.broadcast_to(log_normal, log_w.shape), -log_w

    # ---- real tilts

    def _real(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Nodes good for real tilts up to a reach that doubles when needed; the strip error is below e^-40."""
        reach = float(np.abs(theta).max())
        if self._steering is None or reach > self._steering[0]:
            reach = max(1.6 * reach, 6.0)
            zeta = self._zeta(reach)
            sigma = float(self.sigma.min())
            spread = 0.0 if zeta >= 0 else 1.0
            bend = 0.5 * (STRIPS * sigma) ** 2 + spread * zeta * np.log(np.cos(STRIPS / 2))
            step = min(float((2 * math.pi * STRIPS * sigma / (40.0 + bend)).max()), 0.35)
            low, high = self._ends(zeta)[0], max(zeta, 1.0) / sigma + REACH
            if (high - low) / step > MOST_NODES:
                raise TooCostly
            xi = step * np.arange(math.floor(low / step), math.ceil(high / step) + 1)
            self._steering = (reach, *self._masses(xi, step))
        return self._steering[1], self._steering[2]

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        log_masses, losses = self._real(theta)
        if self.counts.size == 1:
            count = float(self.counts[0])
            log_mgf, mean, variance = Nodes(log_masses[0], losses[0]).moments(theta)
            return count * log_mgf, count * mean, count * variance
        result = np.empty((3, theta.size, losses.shape[0]))  # one tilt at a time over all rows: arrays stay in cache
        for i, tilt in enumerate(theta):
            exponent = log_masses + tilt * losses
            top = exponent.max(axis=1, keepdims=True)
            weights = np.exp(exponent - top)
            total = weights.sum(axis=1)
            mean = (weights * losses).sum(axis=1) / total
            result[0, i] = top[:, 0] + np.log(total)
            result[1, i] = mean
            result[2, i] = (weights * (losses - mean[:, None]) ** 2).sum(axis=1) / total
        return result[0] @ self.counts, result[1] @ self.counts, result[2] @ self.counts

    @property
    def moments_error(self) -> float:
        return float(self.counts.sum()) * sum_error(0 if self._steering is None else self._steering[2].shape[1])

    def _log_mgf(self, theta: float) -> FloatArray:
        """Row by row, without counts; the last answer is kept."""
        if self._latest is None or self._latest[0] != theta:
            self._latest = theta, self._fresh_log_mgf(theta)
        return self._latest[1]

    def _fresh_log_mgf(self, theta: float) -> FloatArray:
        log_masses, losses = self._real(np.array([theta]))
        if losses.shape[0] == 1:
            return Nodes(log_masses[0], losses[0]).moments(np.array([theta]))[0]
        exponent = log_masses + theta * losses
        top = exponent.max(axis=1)
        logs: FloatArray = top + np.log(np.exp(exponent - top[:, None]).sum(axis=1))
        return logs

    # ---- complex tilts

    def _step(self, theta: float, frequency: float) -> tuple[float, float]:
        """A trapezoid step for all |Im z| <= frequency, and the relative error it guarantees."""
        zeta, sigma, rate = self._zeta(theta), self.sigma, self.rate
        low, high = self._ends(zeta)
        # e^(U arg w) moves mass to the right: the sum reaches as far as a moderate strip can push it
        far = max(high + 4.0, min(math.sqrt(2 * (frequency + 60.0)), 80.0))
        edges = evenly(low - 4.0, far, RIEMANN_CELLS)
        log_w = self._log_w(edges)
        log_normal = -0.5 * edges * edges - HALF_LOG_2PI
        peak = np.where(edges[:-1] * edges[1:] <= 0, -HALF_LOG_2PI, np.maximum(log_normal[:-1], log_normal[1:]))
        power = zeta * (log_w[:, 1:] if zeta > 0 else log_w[:, :-1])
        base = peak + power + math.log(edges[1] - edges[0]) - self._log_mgf(theta)[:, None]
        odds = rate * np.exp(np.minimum(edges[1:] / sigma - 0.5 / sigma**2, 600.0))
        need = 37.0 + 0.5 * math.log(max(float(self.counts.sum()), 1.0))
        phi = (STRIPS if self.counts.size == 1 else STRIPS[1::2])[:, None, None]  # strips x rows x cells
        turn = np.minimum(np.arctan2(odds * np.sin(phi), 1 - rate + odds * np.cos(phi)), phi)  # phi < pi: not negative
        logs = base + frequency * turn
        # beyond the last edge the density falls at least like a Gaussian, and arg w <= phi; before the first, arg w
        # is at most its value there
        ends = log_normal[[0, -1]] + zeta * log_w[:, [0, -1]] - self._log_mgf(theta)[:, None]
        tail = ends[:, 1] - np.log(np.maximum(far - max(zeta, 0.0) / sigma[:, 0], 0.5)) + frequency * phi[:, :, 0]
        head = ends[:, 0] + frequency * turn[:, :, 0]
        if zeta < 0:  # w >= 1 - q on the left, whatever the density does
            rest = zeta * np.log1p(-np.minimum(rate[:, 0], 1 - 1e-16)) - self._log_mgf(theta)
            head = np.maximum(head, log_normal[0] + rest + frequency * turn[:, :, 0])
        logs = np.concatenate((logs, tail[:, :, None], head[:, :, None]), axis=2)
        top = logs.max(axis=2)
        size = top + np.log(np.exp(logs - top[:, :, None]).sum(axis=2)) + 0.5 * (phi[:, :, 0] * sigma[:, 0]) ** 2
        if zeta < 0:
            size = size + zeta * np.log(np.cos(phi[:, :, 0] / 2))
        steps = 2 * math.pi * phi[:, :, 0] * sigma[:, 0] / (np.maximum(size, 0.0) + need)
        return min(float(steps.min(axis=1).max()), 0.5), 2.5 * math.exp(-need)

    def _cut(self, theta: float, xi: FloatArray, log_masses: FloatArray, losses: FloatArray) -> FloatArray:
        """What lies beyond the first and last node, relative to M: the density falls at least like a Gaussian there."""
        zeta = self._zeta(theta)
        ends = np.exp(log_masses[:, [0, -1]] + theta * losses[:, [0, -1]] - self._log_mgf(theta)[:, None])
        step = float(xi[1] - xi[0])
        sigma = self.sigma[:, 0]
        left = np.abs(xi[0]) if zeta >= 0 else np.maximum(np.abs(xi[0]) + zeta / sigma, 0.5)
        right = np.maximum(xi[-1] - max(zeta, 0.0) / sigma, 0.5)
        cut: FloatArray = ends[:, 0] / (step * left) + ends[:, 1] / (step * right)
        if zeta < 0:  # w >= 1 - q bounds the left tail also where the density still rises
            rate = np.minimum(self.rate[:, 0], 1 - 1e-16)
            alone = np.exp(-0.5 * xi[0] ** 2 + zeta * np.log1p(-rate) - self._log_mgf(theta)) / abs(xi[0])
            cut = np.minimum(ends[:, 0] / (step * left), alone) + ends[:, 1] / (step * right)
        return cut

    def spectrum(self, theta: float, frequencies: FloatArray) -> Spectrum | None:
        step, strip = self._step(theta, float(frequencies[-1]))
        xi = self._grid(theta, step)
        if xi is None or xi.size * frequencies.size * self.counts.size > 1e8:
            return None
        log_masses, losses = self._masses(xi, step)
        # 1e-18: the P mass beyond 9.2 standard deviations, which the sum for M - 1 takes to be on the nodes
        quadrature = strip + self._cut(theta, xi, log_masses, losses) + 1e-18
        relative = (TERM_ULPS + xi * xi) * UNIT
        if self.counts.size == 1:
            nodes = Nodes(log_masses[0], losses[0], 0.0, relative, float(quadrature[0]))
            return repeated(nodes.spectrum(theta, frequencies), int(self.counts[0]))
        return self._batch_spectrum(theta, frequencies, log_masses, losses, quadrature, relative)

    def _batch_spectrum(
        self,
        theta: float,
        frequencies: FloatArray,
        log_masses: FloatArray,
        losses: FloatArray,
        quadrature: FloatArray,
        relative: FloatArray,
    ) -> Spectrum:
        """All rows at once by the recursion z_(j+1) = z_j + z_1 + z_j z_1 for z = e^(iud) - 1: no sine per frequency.

        The recursion adds at most 4j ulps per term.
        """
        grown, masses = np.expm1(theta * losses), np.exp(log_masses)
        excess = (masses * grown).sum(axis=1)
        weights = masses * (grown + 1.0) / (1.0 + excess)[:, None]
        mean = (weights * losses).sum(axis=1)
        offset = losses - mean[:, None]
        wrong = (relative + 3 * UNIT * np.abs(theta * losses)) * weights
        spread = (weights * np.abs(offset)).sum(axis=1)
        wrong_spread, wrong_mass = (wrong * np.abs(offset)).sum(axis=1), wrong.sum(axis=1)
        counts, size = self.counts, frequencies.size
        step = float(frequencies[1]) if size > 1 else 0.0
        half = np.sin(0.5 * step * offset)
        first = -2.0 * half * half + 1j * np.sin(step * offset)
        current, sums = first.copy(), np.zeros((size, counts.size), dtype=complex)
        for j in range(1, size):
            sums[j] = np.einsum("fn,fn->f", weights, current)
            if j + 1 < size:
                current = current * first + current + first
        one = log_one_plus(sums.real, sums.imag)
        u = frequencies[:, None]
        term = np.minimum(u * wrong_spread, 2 * wrong_mass) + 2 * quadrature
        term = term + (6 + 4 * np.arange(size)[:, None]) * UNIT * np.minimum(u * spread, 2.0)
        error = (term / np.maximum(np.exp(one.real), 1e-300)) @ counts
        error = error + 8 * UNIT * frequencies * float(counts @ (np.abs(mean) + spread))
        log_phi = one @ counts + 1j * frequencies * float(counts @ mean)
        error[0], log_phi[0] = 0.0, 0.0
        mgf_wrong = (relative + 3 * UNIT * np.abs(theta * losses)) * masses * np.abs(grown)
        mgf_error = float(counts @ (mgf_wrong.sum(axis=1) / (1.0 + excess) + quadrature))
        return Spectrum(float(counts @ np.log1p(excess)), log_phi, mgf_error, error)

    def decay(self, theta: float) -> Callable[[FloatArray], FloatArray]:
        """Layer cake of the tilted loss density: N and w^zeta by their ends, d log w / dx by its right end."""
        zeta, sigma = self._zeta(theta), self.sigma
        low, high = self._ends(zeta)
        one = self.counts.size == 1
        cells = LAYER_CELLS if one else FEW_LAYER_CELLS
        edges = evenly(max(low, -7.0 if zeta >= 0 else low), high - 2.0, cells)
        log_w = self._log_w(edges)
        log_normal = -0.5 * edges * edges - HALF_LOG_2PI
        floor = np.minimum(log_normal[:-1], log_normal[1:])
        power = zeta * (log_w[:, :-1] if zeta >= 0 else log_w[:, 1:])
        slope = np.log(self.rate) + edges / sigma - 0.5 / sigma**2 - log_w - np.log(sigma)
        widths = np.diff(log_w, axis=1)
        log_density = floor + power - self._log_mgf(theta)[:, None] - slope[:, 1:]
        density = np.where(widths > 0, np.exp(np.minimum(log_density, 600.0)), 0.0)
        if one:
            return layered_decay(*layer_cake(widths[0], density[0]), float(self.counts[0]))
        weights, lengths = _layer_cakes(widths, density)

        def bound(cutoff: FloatArray) -> FloatArray:
            kept = 1.0 - sinc_envelope(cutoff[:, None, None] * (0.5 * lengths)[None])
            rest = np.maximum(1.0 - (weights[None] * kept).sum(axis=2), 0.0) + REST_ERROR
            logs: FloatArray = np.log(np.minimum(rest, 1.0)) @ self.counts
            return logs

        return bound


def _layer_cakes(widths: FloatArray, density: FloatArray) -> tuple[FloatArray, FloatArray]:
    """`layer_cake` for each row of (rows x cells)."""
    mode, cell = density.argmax(axis=1)[:, None], np.arange(density.shape[1])[None, :]
    right = np.minimum.accumulate(np.where(cell >= mode, density, np.inf), axis=1)
    left = np.minimum.accumulate(np.where(cell <= mode, density, np.inf)[:, ::-1], axis=1)[:, ::-1]
    unimodal, row = np.where(cell >= mode, right, left), np.arange(density.shape[0])[:, None]
    order = np.argsort(-unimodal, axis=1, kind="stable")
    level, length = unimodal[row, order], np.cumsum(widths[row, order], axis=1)
    level[:, :-1] -= level[:, 1:]
    return level * length * (1 - 1e-12), length
