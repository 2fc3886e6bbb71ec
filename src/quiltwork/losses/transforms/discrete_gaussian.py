"""Transform of discrete Gaussian noise, in closed form: that of Gaussian noise times a ratio of theta functions.

The loss lies on b (Delta/2 + Z), b = Delta / sigma^2. With v = Delta^2 / sigma^2, by Poisson summation,

    M(z) = e^(v z(z+1)/2) T(z) / T(0),   T(z) = sum over n of e^(-2 pi^2 sigma^2 n^2 + 2 pi i n z Delta).

For 0 <= u <= pi/b no term exceeds that of n = 0: a handful of terms, none where sigma is large. |M(theta+iu)| falls on
(0, pi/b): by Jacobi's triple product it is one of factors |1 + r e^(+-iub)|, r > 0, each of which falls there.

Reference: theory/engine-faster.md section 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.losses.transforms.transform import ComplexArray, Spectrum, log_one_plus
from quiltwork.numbers.rounding import UNIT

LEAST_SIGMA = 0.3  # below, the list of values is shorter than the theta series
FAINT = 45.0  # e^-FAINT is below the roundoff of 1


class DiscreteGaussianTransform:
    """`count` copies of discrete Gaussian noise, sigma from LEAST_SIGMA on."""

    def __init__(self, sigma: float, sensitivity: int, count: int) -> None:
        self.sigma, self.sensitivity, self.count = sigma, sensitivity, count
        self.variance = (sensitivity / sigma) ** 2  # of one copy of Gaussian noise
        self.fall = 2 * math.pi**2 * sigma**2
        self.reach = math.pi * sigma / sensitivity * sigma  # half a period of M
        # at u = pi/b the n-th term is e^(-fall n(n-1)): what is left out is below e^-FAINT there, and smaller elsewhere
        terms = math.ceil(0.5 + math.sqrt(0.25 + FAINT / self.fall)) if self.fall < 2 * FAINT else 1
        self.orders = np.arange(1, terms + 1)

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        k, v = self.count, self.variance
        log_mgf, mean, variance = v / 2 * theta * (theta + 1), v * (theta + 0.5), np.full_like(theta, v)
        weights = 2 * np.exp(-self.fall * self.orders**2)
        if weights[0] > 1e-30:
            turn = 2 * math.pi * self.orders
            angle = np.multiply.outer(np.mod(theta * self.sensitivity, 1.0), turn)
            turn = turn * self.sensitivity
            cosine, sine = np.cos(angle), np.sin(angle)
            excess = cosine @ weights
            first, second = -sine @ (weights * turn) / (1 + excess), -cosine @ (weights * turn**2) / (1 + excess)
            log_mgf = log_mgf + np.log1p(excess) - math.log1p(float(weights.sum()))
            mean, variance = mean + first, variance + second - first**2
        return k * log_mgf, k * mean, k * variance

    @property
    def moments_error(self) -> float:
        """Of the theta functions; the Gaussian part errs relative to itself."""
        return self.count * 64 * UNIT

    def spectrum(self, theta: float, frequencies: FloatArray) -> Spectrum:
        """Folded into one period: M(z + 2 pi i m / b) = (-1)^(m Delta) M(z) for one copy."""
        k, v, size = self.count, self.variance, abs(theta) + 1
        log_mgf = float(self.moments(np.array([theta]))[0][0])
        folds = np.rint(frequencies / (2 * self.reach))
        u = frequencies - folds * (2 * self.reach)
        moved = np.where(folds > 0, 6 * UNIT * frequencies, 0.0)  # what folding may be off by
        wrapped, wrong = self._log_theta(theta, np.abs(u), moved)
        wrapped = np.where(u < 0, wrapped.conj(), wrapped)
        half_turns = np.mod(folds * (self.sensitivity % 2), 2.0)
        one = -v / 2 * u * u + 1j * (u * v * (theta + 0.5) + math.pi * half_turns) + wrapped - wrapped[0]
        error = v * (np.abs(u) + size) * (8 * UNIT * np.abs(u) + moved) + 8 * UNIT * half_turns + wrong + wrong[0]
        mgf_error = k * (8 * UNIT * v * size * size + 2 * wrong[0]) + self.moments_error
        return Spectrum(log_mgf, k * one, mgf_error, k * error)

    def _log_theta(
        self, theta: float, u: FloatArray, moved: FloatArray | float = 0.0
    ) -> tuple[ComplexArray, FloatArray]:
        """log T(theta + iu) up to half a period, and its error: of the terms, of u, and of what is left out.

        An error e of T is one of log(1 + e / |T|), which copies multiply.
        """
        n, last = np.concatenate((-self.orders, self.orders)), float(self.orders[-1]) + 1
        speed = 2 * math.pi * self.sensitivity
        exponent = -self.fall * n * n - np.multiply.outer(u, speed * n)
        size = np.exp(exponent)
        total = (size * np.exp(2j * math.pi * math.fmod(theta * self.sensitivity, 1.0) * n)).sum(axis=1)
        place = 16 + 8 * math.pi * np.abs(n) * (1 + abs(theta) * self.sensitivity)
        wrong = UNIT * (size * (4 * np.abs(exponent) + place)).sum(axis=1) + moved * (size @ np.abs(speed * n))
        wrong = wrong + 4 * np.exp(np.minimum(last * (speed * u - self.fall * last), 700.0))  # the rest is geometric
        logs = log_one_plus(total.real, total.imag)
        return logs, np.log1p(wrong / np.maximum(np.exp(logs.real), 1e-300)) + 4 * UNIT * np.abs(logs)

    def decay(self, theta: float) -> Callable[[FloatArray], FloatArray]:
        """|phi| falls up to `reach`: what it is at the cutoff bounds it from there on."""
        start, start_wrong = self._log_theta(theta, np.zeros(1))

        def bound(cutoff: FloatArray) -> FloatArray:
            u = np.minimum(cutoff, self.reach)
            logs, wrong = self._log_theta(theta, u)
            one = -0.5 * self.variance * u * u * (1 - 1e-14) + (logs - start).real + wrong + start_wrong
            value: FloatArray = self.count * np.minimum(one, 0.0)
            return value

        return bound
