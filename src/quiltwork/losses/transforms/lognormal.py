"""Laplace transform of a lognormal law of mean 1, also in the left half plane, with its error bounded.

X = e^(s x - s^2/2), x standard normal, is the likelihood ratio of one Gaussian step with sensitivity s = mu. With
w = |w| e^(ia) the path of x may be turned, x -> x - ik, since everything is analytic there:

    E e^(-w(X-1)) = int n(x - ik) e^(-u) dx,   u = w (X e^(-isk) - 1),   |n(x - ik)| = n(x) e^(k^2/2).

As long as |a - sk| <= pi/2 the integrand is bounded, for every k. That gives three things.

Bound of the size, for any such k, with r = |w| cos(a - sk) and psi(r) = log E e^(-r(X-1)), which is convex and rises:

    log |E e^(-w(X-1))| <= k^2/2 + psi(r) - (r - Re w).                                               (*)

For small s the best k is |w| s sin a, and (*) is nearly an equation.

Trapezoid rule. Let k be the smallest turn with |a - sk| + sd <= pi/2. The integrand is analytic and integrable for
|Im x| <= d around the path, so that a step of h errs by at most (N+ + N-)/(e^(2 pi d/h) - 1), N+- the integrals of its
size on both edges: by (*) with k +- d for the exponential.

Rounding. Lam - 1 has as many digits as w is small only if it is not computed as a difference. Three ways to write the
same thing are summed, each with a bound of its rounding, and the best is taken for each w:
e^(-u) - 1 + u (E u = 0: second order in w), e^(-wX) - 1 (first order, no cancellation for heavy tails), e^(-wX).

Reference: theory, sampling, section 7.1; Trefethen and Weideman 2014, Theorem 5.1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from quiltwork.checks import FloatArray
from quiltwork.numbers.rounding import UNIT

Complex = NDArray[np.complexfloating]
DECAY = 48.0  # 2 pi d / h: errors of e^-48 beside the sizes of the integrands
REACH = 10.0  # standard deviations, from where the integrand has its centre
TERM_ULPS = 32.0  # rounding of one term, relative to what moves it
ROOM = 1e-9  # of psi in its table, relative; what it is off by is far less
HEAVY = 3.0  # values of s above which X - 1 has no second moment worth using
DEEPEST = 18.0  # standard deviations from 0 to the centre of n(x) e^(-rX), up to which the table goes
SPACING = 0.15  # of log r there
SERIES = [1.0 / math.factorial(k + 2) * (-1) ** k for k in range(15)]
ROOT = math.sqrt(2 * math.pi)


class Lognormal:
    """X = e^(s x - s^2/2) under the law without the record."""

    def __init__(self, s: float) -> None:
        self.s = s
        self.width = min(1.0, math.pi / (2 * s))  # d
        self.variance = math.expm1(min(s * s, 700.0))
        self.rates, self._psi, self._log = self._table()

    # ---- real arguments: upper bounds of psi and of log Lam

    def _table(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """psi and log Lam on a grid of r, rounded up.

        The step makes e^(-2 pi d/h) = e^-100 beside an integrand that is, on the edges of a strip of 0.64 d, at most
        e^20 times what it is on the line, down to the end of the table: far less than the room that is left.
        """
        s = self.s
        step = 2 * math.pi * self.width / 100.0
        x = np.arange(-30.0, 11.0 + (s if s <= HEAVY else 0.0), step)
        weight = np.exp(-0.5 * x * x) * (step / ROOT)
        growth = s * x - s * s / 2
        ratio, over = np.exp(np.minimum(growth, 600.0)), np.expm1(np.minimum(growth, 600.0))
        found: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        start = math.log(1e-9 / max(1.0, s) / (1.0 + math.sqrt(min(self.variance, 1e9))))
        last = math.log(DEEPEST / s) + DEEPEST * s + s * s / 2
        while start < last:
            rates = np.exp(start + SPACING * np.arange(32))
            with np.errstate(all="ignore"):
                sizes = rates[:, None] * ratio[None, :]
                lam = np.exp(-sizes) @ weight
                less = -(np.expm1(-sizes) @ weight)
                log_lam = np.where(less < 0.5, np.log1p(-np.minimum(less, 0.5)), np.log(lam))
                psi = rates + log_lam
                lost, noise = 64 * UNIT * (rates + np.abs(log_lam)), 64 * UNIT * np.abs(log_lam)
                log_lam = log_lam + noise
                if s <= HEAVY:
                    around = rates[:, None] * over[None, :]
                    small = np.abs(around) < 0.5
                    kernel = np.where(small, _series(np.where(small, around, 0.0)), np.expm1(-around) + around)
                    second = kernel @ weight
                    moved = np.where(small, 0.0, (1 + np.abs(around)) * (1 + np.exp(-around)))
                    noise = 64 * UNIT * (moved @ weight) / (1 + second)
                    better = np.isfinite(second) & np.isfinite(noise) & ((noise < lost) | (second < 1e-3))
                    psi = np.where(better, np.log1p(second), psi)
                    log_lam = np.where(better, psi - rates + noise + 4 * UNIT * rates, log_lam)
                    lost = np.where(better, noise, lost)
                found.append((rates, psi * (1 + ROOM) + lost, log_lam + ROOM))
            start += SPACING * 32
        rates, psi, log_lam = (np.concatenate(columns) for columns in zip(*found, strict=True))
        kept = np.log(rates) < last
        return rates[kept], psi[kept], log_lam[kept]

    def psi_above(self, rate: FloatArray) -> FloatArray:
        """psi from above: a convex function lies below its chords, the first of which starts at psi(0) = 0."""
        inside = np.interp(rate, np.append(0.0, self.rates), np.append(0.0, self._psi))
        beyond = rate - self.rates[-1]  # the slope of psi is at most 1
        found: FloatArray = np.where(beyond > 0, self._psi[-1] + beyond, inside)
        return found

    def log_above(self, rate: FloatArray) -> FloatArray:
        """Log Lam from above: it falls, so that the entry below will do."""
        at = np.searchsorted(self.rates, rate, side="right") - 1
        return np.where(at >= 0, self._log[np.maximum(at, 0)], 0.0)

    def slope(self, rate: FloatArray) -> FloatArray:
        """psi', about: it steers only."""
        return np.interp(rate, self.rates, np.clip(np.gradient(self._psi, self.rates), 0.0, 1.0))

    def decline(self, rate: float) -> float:
        """At least -d log Lam / d log r at and beyond r: log Lam is concave in log r, so the chord before r will do."""
        at = int(np.searchsorted(self.rates, rate, side="right")) - 1
        if at < 1:
            return 0.0
        return max(float(self._log[at - 1] - self._log[at] - 4 * ROOM - 1e-12 * abs(self._log[at])) / SPACING, 0.0)

    def log_size(self, modulus: FloatArray, angle: FloatArray, turn: FloatArray) -> FloatArray:
        """The right side of (*)."""
        theta = self.s * turn
        rate = modulus * np.maximum(np.cos(angle - theta), 0.0)
        fall = 2 * modulus * np.sin(angle - theta / 2) * np.sin(theta / 2)
        return turn * turn / 2 + self.psi_above(rate) - fall

    # ---- complex arguments

    def log_transform(self, w: Complex) -> tuple[Complex, FloatArray, FloatArray]:
        """log E e^(-w(X-1)), its absolute error, and the size of its derivative; w[0] is real and has the largest Re w.

        Infinite errors mean that the sum does not reach far enough.
        """
        s, d = self.s, self.width
        modulus, angle = np.abs(w), np.abs(np.angle(w))
        turn = np.maximum(angle + s * d - math.pi / 2, 0.0) / s
        head = modulus[:1]
        extra = float(
            self.log_size(head, np.zeros(1), np.full(1, d))[0] - self.log_size(head, np.zeros(1), np.zeros(1))[0]
        )
        decay = DECAY + max(extra, 0.0)
        h = 2 * math.pi * d / decay
        left = self._centre(float(head[0])) - REACH
        right = REACH + (s if s <= HEAVY else 0.0)
        x = h * np.arange(math.floor(left / h), math.ceil(right / h) + 1)
        growth = np.minimum(s * x - s * s / 2, 600.0)[None, :]
        theta = s * turn[:, None]
        ratio = np.exp(growth) * np.exp(-1j * theta)
        over = (np.expm1(growth) * np.cos(theta) - 2 * np.sin(theta / 2) ** 2) - 1j * (np.exp(growth) * np.sin(theta))
        log_size = -0.5 * (x * x)[None, :] + (turn * turn / 2)[:, None] + math.log(h / ROOT)
        weight = np.exp(log_size + 1j * x[None, :] * turn[:, None])
        size = np.abs(weight) * (
            TERM_ULPS + x * x + np.abs(x)[None, :] * turn[:, None]
        )  # what one term may lose, in UNIT
        # what the sum leaves out on either side
        rest, far = self._left_out(x, h, modulus, angle, turn, w.real)
        edges = [turn + d, turn - d]
        gain = 1.0 / math.expm1(decay)
        swing = np.sqrt(self.variance + 4 * np.sin(theta[:, 0] / 2 + s * d / 2) ** 2)
        path = sum((np.exp(np.minimum(self.log_size(modulus, angle, edge), 700.0)) for edge in edges), np.zeros(()))
        plain = sum((np.exp(edge * edge / 2) for edge in edges), np.zeros(()))
        value: list[Complex] = []
        error: list[FloatArray] = []
        with np.errstate(all="ignore"):
            a = w[:, None] * ratio
            bare = np.exp(-a)
            # e^(-wX): relative to its own size, wherever that is
            lam = (weight * bare).sum(axis=1)
            lost = UNIT * (size * np.abs(bare) * (1 + np.abs(a))).sum(axis=1)
            lost = lost + gain * path * np.exp(-w.real) + far * np.exp(-w.real)
            value.append(np.log(lam) + w)
            error.append(lost / np.abs(lam) + 4 * UNIT * (modulus + np.abs(np.log(lam))))
            # e^(-wX) - 1
            small = np.abs(a) < 0.5
            kernel = np.where(small, _series(np.where(small, a, 0.0)) - a, bare - 1)
            less = (weight * kernel).sum(axis=1)
            lost = UNIT * (size * (np.abs(bare) * np.abs(a) + np.where(small, 2 * np.abs(a), 2.0))).sum(axis=1)
            lost = lost + gain * plain * np.minimum(modulus, 2.0) + 2 * rest
            value.append(_log1p(less) + w)
            error.append(lost / np.abs(1 + less) + 4 * UNIT * modulus)
            derivative = np.abs((weight * bare * over).sum(axis=1) / lam)
            if s <= HEAVY:
                u = w[:, None] * over
                small = np.abs(u) < 0.5
                other = np.exp(-u)
                kernel = np.where(small, _series(np.where(small, u, 0.0)), other - 1 + u)
                bent = (weight * kernel).sum(axis=1)
                moved = np.where(small, np.abs(u) ** 2, (1 + np.abs(u)) * (1 + np.abs(other)))
                lost = UNIT * (size * moved).sum(axis=1)
                lost = lost + gain * (path + plain * (1 + modulus * swing)) + far
                lost = lost + rest * (1 + modulus * (s + 2 * s * s + theta[:, 0]))
                value.append(_log1p(bent))
                error.append(lost / np.abs(1 + bent) + 4 * UNIT * np.abs(_log1p(bent)))
                around = np.abs((weight * other * over).sum(axis=1) / (1 + bent))
            every = np.stack([np.where(np.isnan(one), np.inf, one) for one in error])
            best = every.argmin(axis=0)
            if s <= HEAVY:
                derivative = np.where(best == 2, around, derivative)
            chosen = every[best, np.arange(w.size)]
            # log(1 + e) of a relative error e
            chosen = np.where(chosen < 0.5, 2 * chosen, np.inf)
        return np.stack(value)[best, np.arange(w.size)], chosen, np.where(np.isfinite(derivative), derivative, 1e300)

    def _centre(self, rate: float) -> float:
        """Where n(x) e^(-rX) is largest: x + r s X(x) = 0, from below."""
        s, x = self.s, 0.0
        low, high = -200.0, 0.0
        for _ in range(60):
            x = 0.5 * (low + high)
            if x + rate * s * math.exp(s * x - s * s / 2) > 0:
                high = x
            else:
                low = x
        return low

    def _left_out(
        self, x: FloatArray, h: float, modulus: FloatArray, angle: FloatArray, turn: FloatArray, real: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Bounds of h * sum beyond the nodes: of n(x)(1 + what grows slowly), and of n(x) |e^(-u)|.

        log n(x) |e^(-u)| = -x^2/2 + k^2/2 + Re w - rho X(x) is concave: beyond an edge it falls at least as steeply as
        there.
        """
        s = self.s
        lift = np.exp(turn * turn / 2)
        near = min(-x[0], x[-1] - (s if s <= HEAVY else 0.0)) - h
        rest = lift * 4 * (math.exp(-near * near / 2) / ROOT + math.exp(float(log_ndtr(-near))))
        rho = modulus * np.maximum(np.cos(angle - s * turn), 0.0)
        total = np.zeros(modulus.size)
        for edge, sign in ((float(x[0]), -1.0), (float(x[-1]), 1.0)):
            ratio = math.exp(min(s * edge - s * s / 2, 600.0))
            steep = sign * (edge + rho * s * ratio)
            # r - Re w = |w|(cos(a - sk) - cos a); for small X the exponent is written around X = 1
            fall = 2 * modulus * np.sin(angle - s * turn / 2) * np.sin(s * turn / 2)
            log_edge = -edge * edge / 2 + turn * turn / 2 - rho * math.expm1(min(s * edge - s * s / 2, 600.0)) - fall
            with np.errstate(all="ignore"):
                beyond = np.exp(np.minimum(log_edge, 700.0)) / ROOT * (h + 1 / np.maximum(steep, 1e-300))
            total = total + np.where(steep > 1.0, beyond, np.inf)
        return rest, total


def _series(u: NDArray[np.inexact]) -> NDArray[np.inexact]:
    """e^-u - 1 + u for |u| < 1/2, to rounding."""
    total = np.full_like(u, SERIES[-1])
    for coefficient in SERIES[-2::-1]:
        total = total * u + coefficient
    found: NDArray[np.inexact] = total * u * u
    return found


def _log1p(z: Complex) -> Complex:
    """log(1 + z): as many digits as z has, which numpy does not keep for complex numbers."""
    return 0.5 * np.log1p(2 * z.real + z.real**2 + z.imag**2) + 1j * np.arctan2(z.imag, 1 + z.real)
