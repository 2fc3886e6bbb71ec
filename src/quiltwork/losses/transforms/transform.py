"""The moment generating function of a loss, with every error bounded.

M(z) = E_P[e^(zL); L < inf] on the line z = theta + iu. A transform answers for `count` independent copies:
`moments` steers (where is the saddle, how wide), `spectrum` is what gets integrated, `decay` bounds what is cut off.

A density on [-e, e] becomes panels of Gauss-Legendre nodes with a proven error: for f analytic in the Bernstein ellipse
of parameter rho around a panel of half-width r and |f| <= B there, the n-point rule errs by at most
r (64/15) B rho^(-2(n-1)) / (1 - rho^-2) (Trefethen, Approximation Theory and Approximation Practice, Theorem 19.3).

Reference: theory/engine.md section 2.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.numbers.rounding import UNIT

ComplexArray = np.ndarray[tuple[int], np.dtype[np.complex128]]
TERM_ULPS = 24.0  # rounding of one quadrature term, in units of roundoff (validated against 50-digit contours)
BLOCK = 1 << 19  # most entries of one (frequencies x nodes) block
REST_ERROR = 1e-14  # of one minus a sum of weights, at least
SIDE_LOBE = 0.2173  # of |sin y / y|, at most
NEGLIGIBLE = 1e-22  # tilted mass that a spectrum may leave out
MOST_WORK = 7e7  # frequencies times nodes beyond which a transform declines
LITTLE_WORK = 1e6  # up to which every sine is taken
SUMMED = 128  # nodes that one product of matrices adds up
LARGEST = 600.0  # exponent up to which 1 - q + q e^a is taken as it is: a + log q loses digits where q e^a is small


@attrs.frozen(eq=False)
class Spectrum:
    """log M(theta), log phi(u) = log M(theta+iu) - log M(theta), and absolute error bounds of both."""

    log_mgf: float
    log_phi: ComplexArray
    log_mgf_error: float
    log_phi_error: FloatArray


def mixed_loss(loss: FloatArray, rate: float) -> FloatArray:
    """log(1 - q + q e^l): the loss after Poisson subsampling, accurate for small and huge l and for rates near 1."""
    with np.errstate(over="ignore"):
        change = rate * np.expm1(np.minimum(loss, LARGEST))
        # where the argument falls below a half, adding two positive terms keeps the digits that 1 + change would lose
        direct = np.log((1.0 - rate) + rate * np.exp(np.minimum(loss, LARGEST)))
        small = np.where(change > -0.5, np.log1p(np.maximum(change, -0.5)), direct)
        large = loss + math.log(rate) + np.log1p((1 - rate) / rate * np.exp(-np.maximum(loss, LARGEST)))
    return np.where(loss < LARGEST, small, large)


class TooCostly(Exception):
    """Internal: a transform would need too many nodes; the engine passes on to the next method."""


class Transform(Protocol):
    """What the characteristic-function engine needs to know of some releases."""

    @property
    def reach(self) -> float:
        """The frequency up to which `decay` holds: infinite, or half a period for losses on a lattice."""
        ...

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """log M and its first two derivatives at real tilts."""
        ...

    @property
    def moments_error(self) -> float:
        """What log M in `moments` may be off by at usual tilts: the rounding of its sums, for all copies."""
        ...

    def spectrum(self, theta: float, frequencies: FloatArray) -> Spectrum | None:
        """The transform on equally spaced frequencies 0, eta, 2 eta, ...; None when it would cost too much."""
        ...

    def decay(self, theta: float) -> Callable[[FloatArray], FloatArray]:
        """A function U -> log of a bound on sup over U <= u <= reach of |phi(u)|."""
        ...


def sum_error(terms: int) -> float:
    """Error of the log of a sum of so many positive terms, of 1 plus a sum of smaller ones, or of a quadrature.

    Any order of addition costs a unit a term; a term whose exponents stay below 745 is off by 24 + 3 * 745 units at
    most, and quadratures at real tilts err by e^-40.
    """
    return (terms + TERM_ULPS + 3 * 745.0) * UNIT + 2 * math.exp(-40.0)


def no_decay(cutoff: FloatArray) -> FloatArray:
    """The trivial bound |phi| <= 1."""
    return np.zeros_like(cutoff)


@attrs.frozen(eq=False)
class Nodes:
    """A finite measure standing for a loss law: log masses at losses, total mass 1 - missing.

    `relative` bounds the relative error of each mass, `quadrature` the absolute error of M(theta+iu)/M(theta) that
    comes from replacing the law by nodes.
    """

    log_masses: FloatArray
    losses: FloatArray
    missing: float = 0.0
    relative: FloatArray | float = TERM_ULPS * UNIT
    quadrature: float = 0.0
    loss_error: float = 0.0  # what each loss may be off beyond its own rounding

    @cached_property
    def _masses(self) -> FloatArray:
        masses: FloatArray = np.exp(self.log_masses)
        return masses

    def _wrong(self, exponent: FloatArray) -> FloatArray:
        """Relative error of each tilted mass: its own, that of its logarithm, and that of its exponent."""
        wrong: FloatArray = self.relative + 3 * UNIT * (np.abs(self.log_masses) + np.abs(exponent))
        return wrong

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """log M, mean and variance at several tilts."""
        rows = max(1, BLOCK // self.losses.size)
        if theta.size <= rows:
            return self._moments(theta)
        parts = [self._moments(theta[i : i + rows]) for i in range(0, theta.size, rows)]
        log_mgf, mean, variance = (np.concatenate(column) for column in zip(*parts, strict=True))
        return log_mgf, mean, variance

    def _moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        exponent = np.multiply.outer(theta, self.losses)
        excess = self._excess(exponent)
        if excess is not None:
            weights, log_mgf = np.exp(exponent) * self._masses, np.log1p(excess)
        else:
            exponent += self.log_masses
            top = exponent.max(axis=1)
            weights = np.exp(exponent - top[:, None])
            log_mgf = top + np.log(weights.sum(axis=1))
        weights /= weights.sum(axis=1)[:, None]
        mean = weights @ self.losses
        variance = np.einsum("ij,ij->i", weights, (self.losses[None, :] - mean[:, None]) ** 2)
        return log_mgf, mean, variance

    def _excess(self, exponent: FloatArray) -> FloatArray | None:
        """M - 1 as a sum of expm1, whose error scales with the loss and not with 1; None where M is not of order 1."""
        if exponent.max() > 300 or self.log_masses.min() < -700:
            return None
        excess: FloatArray = np.expm1(exponent) @ self._masses - self.missing
        return excess if bool(np.all(excess > -0.5)) else None

    def tilted(self, theta: float) -> tuple[float, FloatArray, float]:
        """log M(theta), the tilted weights (sum 1) and the error of log M."""
        exponent = theta * self.losses
        excess = self._excess(exponent)
        if excess is not None:
            masses = self._masses
            total = 1.0 + float(excess)
            wrong = float((self._wrong(exponent) * masses) @ np.abs(np.expm1(exponent)))
            error = (wrong + 4 * UNIT * self.missing) / total + abs(theta) * self.loss_error
            return float(np.log1p(excess)), masses * np.exp(exponent) / total, error
        logs = self.log_masses + exponent
        top = float(logs.max())
        weights = np.exp(logs - top)
        total = float(weights.sum())
        wrong = float((self._wrong(exponent) + 3 * UNIT * np.abs(self.log_masses)) @ weights) / total
        error = wrong + 4 * UNIT * (1.0 + abs(top)) + abs(theta) * self.loss_error
        return top + float(np.log(total)), weights / total, error

    def spectrum(self, theta: float, frequencies: FloatArray) -> Spectrum:
        """phi - 1 = sum w (e^(iud) - 1) with d centred, by sin^2 and sin, so that errors scale with |ud|."""
        log_mgf, weights, mgf_error = self.tilted(theta)
        mean = float(weights @ self.losses)
        live = weights > NEGLIGIBLE / weights.size  # what is left out weighs less than NEGLIGIBLE in all
        weights, losses, quadrature = weights[live], self.losses[live], self.quadrature + 2 * NEGLIGIBLE
        wrong = (self._wrong(theta * self.losses)[live] + abs(theta) * self.loss_error) * weights
        offset = losses - mean
        work = frequencies.size * offset.size
        if work > MOST_WORK:
            raise TooCostly
        if work <= LITTLE_WORK:
            excess, ulps = turned(weights, offset, frequencies), 6.0
        else:
            rows, ulps = turned_by_product(weights[None, :], offset, frequencies)
            excess = rows[0, :]
        log_phi = log_one_plus(excess.real, excess.imag)
        spread = float(weights @ np.abs(offset))
        error = np.minimum(frequencies * float(wrong @ np.abs(offset)), 2.0 * float(wrong.sum()))
        # the nodes err at u and at 0, and phi - 1 is the difference
        error = error + (ulps * UNIT * spread + self.loss_error) * frequencies + 2 * quadrature
        error = error / np.maximum(np.exp(log_phi.real), 1e-300) + 8 * UNIT * frequencies * (abs(mean) + spread)
        return Spectrum(log_mgf, log_phi + 1j * (frequencies * mean), mgf_error + self.quadrature, error)


def turned(weights: FloatArray, offset: FloatArray, frequencies: FloatArray) -> ComplexArray:
    """sum w (e^(iud) - 1) at each frequency."""
    found: ComplexArray = np.empty(frequencies.size, dtype=complex)
    rows = max(1, BLOCK // offset.size)
    for start in range(0, frequencies.size, rows):
        angle = np.multiply.outer(frequencies[start : start + rows], offset)
        half = np.sin(0.5 * angle)
        found.imag[start : start + rows] = np.sin(angle) @ weights
        found.real[start : start + rows] = -2.0 * ((half * half) @ weights)
    return found


def turned_by_product(weights: FloatArray, offset: FloatArray, frequencies: FloatArray) -> tuple[ComplexArray, float]:
    """The same at 0, eta, 2 eta, ... for rows of weights, with 2 sqrt(N) rows of sines; they are off by C u E|d|.

    u = (aB + b) eta:  e^(iud) - 1 = z_a + z_b + z_a z_b, whose weighted sums are two products of a matrix and a vector
    and one of two matrices.  With sines within 4 units and sums in blocks of m nodes, one block after another, the sum
    is off by at most C units times u E|d|,  C = 3 c + sqrt(2) (2m + 8 + blocks),  c = sqrt((4+4)^2 + (8+6)^2).

    Reference: theory/engine-faster.md section 3.
    """
    step, size = float(frequencies[1]), frequencies.size
    fine = math.ceil(math.sqrt(size))
    rough = math.ceil(size / fine)
    steps = np.concatenate((np.arange(rough) * (step * fine), np.arange(fine) * step))
    total = np.zeros((weights.shape[0], rough, fine), dtype=complex)
    blocks = math.ceil(offset.size / SUMMED)
    for block in range(blocks):
        here = slice(block * SUMMED, (block + 1) * SUMMED)
        turns = _turn(np.multiply.outer(steps, offset[here]))
        far, near = turns[:rough], turns[rough:]
        for i in range(weights.shape[0]):
            pulled = far * weights[i, here]
            total[i] += pulled @ near.T + (pulled.sum(axis=1)[:, None] + near @ weights[i, here])
    found: ComplexArray = total.reshape(weights.shape[0], -1)[:, :size]
    return found, 3.0 * math.hypot(8.0, 14.0) + math.sqrt(2.0) * (2 * SUMMED + 8 + blocks)


def _turn(angle: FloatArray) -> ComplexArray:
    """e^(i angle) - 1, accurate for small angles."""
    half = np.sin(0.5 * angle)
    turn: ComplexArray = np.empty(angle.shape, dtype=complex)
    turn.real, turn.imag = -2.0 * half * half, np.sin(angle)
    return turn


def log_one_plus(real: FloatArray, imaginary: FloatArray) -> ComplexArray:
    """log(1 + x + iy), accurate for small x and y and near the zero of its argument."""
    whole, power = 1.0 + real, imaginary * imaginary
    excess = real * (2.0 + real) + power
    logs = np.log1p(np.maximum(excess, -0.75))
    if not bool(np.all(excess > -0.75)):
        logs = np.where(excess > -0.75, logs, np.log(np.maximum(whole * whole + power, 1e-300)))
    result: ComplexArray = np.empty(np.shape(real), dtype=complex)
    result.real, result.imag = 0.5 * logs, np.arctan2(imaginary, whole)
    return result


class NodeTransform:
    """`count` copies of a law that is given by fixed nodes (a finite pair); its phi need not decay."""

    reach = math.inf

    def __init__(self, nodes: Nodes, count: int) -> None:
        self.nodes, self.count = nodes, count

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        log_mgf, mean, variance = self.nodes.moments(theta)
        return self.count * log_mgf, self.count * mean, self.count * variance

    @property
    def moments_error(self) -> float:
        return self.count * sum_error(self.nodes.losses.size)

    def spectrum(self, theta: float, frequencies: FloatArray) -> Spectrum | None:
        return repeated(self.nodes.spectrum(theta, frequencies), self.count)

    def decay(self, theta: float) -> Callable[[FloatArray], FloatArray]:
        return no_decay


def repeated(one: Spectrum, count: int) -> Spectrum:
    """The spectrum of `count` independent copies."""
    return Spectrum(count * one.log_mgf, count * one.log_phi, count * one.log_mgf_error, count * one.log_phi_error)


def sinc_envelope(x: FloatArray) -> FloatArray:
    """sup over y >= x of |sin y / y|, at most: the main lobe, or the first side lobe (0.2172...), or 1/x."""
    safe = np.maximum(x, 1e-300)
    inverse = 1.0 / safe
    found: FloatArray = np.maximum(np.sin(safe) * inverse, np.minimum(inverse, SIDE_LOBE)) * (1 + 1e-15)
    return found


def layer_cake(widths: FloatArray, density: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A density minorant on cells as a mixture of uniforms: weights and lengths.

    Running minima outwards from the mode make the step function unimodal (still a minorant); its level sets are
    intervals, so it is a mixture of uniforms of length len_r with weight (c_r - c_(r+1)) len_r, and for all u >= U
    |phi(u)| <= 1 - sum w_r (1 - envelope(U len_r / 2)): the rest of the law has |phi| at most its mass.

    Reference: theory/engine.md section 2, layer-cake lemma.
    """
    mode = int(density.argmax())
    falling, rising = np.minimum.accumulate(density[mode:]), np.minimum.accumulate(density[mode::-1])
    unimodal = np.concatenate((rising[:0:-1], falling))
    order = np.argsort(-unimodal, kind="stable")
    level, length = unimodal[order], np.cumsum(widths[order])
    level[:-1] -= level[1:]
    return level * length * (1 - 1e-12), length


def layered_decay(weights: FloatArray, lengths: FloatArray, count: float) -> Callable[[FloatArray], FloatArray]:
    """The decay bound of a layer cake taken to the power of its count."""
    halves, rounding = 0.5 * lengths, max(REST_ERROR, (weights.size + 8) * UNIT)

    def bound(cutoff: FloatArray) -> FloatArray:
        kept = (1.0 - sinc_envelope(np.multiply.outer(cutoff, halves))) @ weights
        # a small rest is a difference of rounded numbers
        logs: FloatArray = count * np.log(np.minimum(np.maximum(1.0 - kept, 0.0) + rounding, 1.0))
        return logs

    return bound


# ---- panels

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

    reach = math.inf

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

    @property
    def moments_error(self) -> float:
        return self.count * sum_error(0 if self._steering is None else self._steering[1].losses.size)

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
        return layered_decay(*layer_cake(widths, density), float(self.count))
