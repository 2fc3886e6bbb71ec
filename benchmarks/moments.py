"""Moments of privacy losses in high precision: log E_P[e^(s L)] along a vertical line, step by step.

Remove: the record is in P; add: it is in Q. For Gaussian and Laplace noise both are the same and have closed forms. For
a subsampled Gaussian, with x = sigma u and u standard normal,

    G(z) = E[(1 - q + q e^((2 x - 1) / (2 sigma^2)))^z],    M(s) = G(s + 1) (remove),    M(s) = G(-s) (add).

The integrand is analytic for |Im u| < pi sigma, and on a line u + i v with v > 0 the factor e^(i t log(...)) decays
instead of oscillating. The trapezoidal rule there converges like e^(-2 pi a / h), where a is the distance to the next
line on which the integrand is not small. One step along the contour multiplies every term by a constant; that is done
on whole numbers, because they are exact and twenty times as fast as floats of any precision in Python.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np

GUARD = 60  # bits beyond the precision in use, for rounding that adds up along the contour


@dataclasses.dataclass(frozen=True)
class Gaussian:
    """Noise of standard deviation sigma on something that moves by 1."""

    sigma: str

    def real(self, s: float, direction: str) -> float:
        return s * (s + 1) / (2 * float(self.sigma) ** 2)

    def along(self, c: Any, step: Any, direction: str, slack: float = 1.0) -> Iterator[Any]:
        factor, s = 1 / (2 * mpmath.mpf(self.sigma) ** 2), mpmath.mpc(c)
        while True:
            yield factor * s * (s + 1)
            s += mpmath.mpc(0, step)


@dataclasses.dataclass(frozen=True)
class Laplace:
    """Noise of epsilon = 1 / scale: atoms at both ends and a density between them.

    M(s) = e^(-epsilon / 2) (cosh(a epsilon) + sinh(a epsilon) / (2 a)) with a = s + 1/2.
    """

    epsilon: Any  # a decimal, or a number of mpmath

    def real(self, s: float, direction: str) -> float:
        a, epsilon = s + 0.5, float(self.epsilon)
        return (
            a * epsilon
            - epsilon / 2
            + math.log1p(1 / (2 * a) + math.exp(-2 * a * epsilon) * (1 - 1 / (2 * a)))
            - math.log(2)
        )

    def along(self, c: Any, step: Any, direction: str, slack: float = 1.0) -> Iterator[Any]:
        epsilon, a = mpmath.mpf(self.epsilon), mpmath.mpc(c) + mpmath.mpf(1) / 2
        while True:
            yield mpmath.log(mpmath.cosh(a * epsilon) + mpmath.sinh(a * epsilon) / (2 * a)) - epsilon / 2
            a += mpmath.mpc(0, step)


@dataclasses.dataclass(frozen=True)
class Sampled:
    """Gaussian noise on a Poisson sample."""

    sigma: Any
    rate: str

    def real(self, s: float, direction: str) -> float:
        """In doubles."""
        u, log_ratio = self._doubles
        power = s + 1 if direction == "remove" else -s
        terms = power * log_ratio - u**2 / 2
        top = terms.max()
        return float(top + math.log(np.exp(terms - top).sum() * (u[1] - u[0])) - 0.5 * math.log(2 * math.pi))

    @functools.cached_property
    def _doubles(self) -> Any:
        sigma, rate = float(self.sigma), float(self.rate)
        u = np.linspace(-12.0, 60.0, 3601)
        return u, np.logaddexp(math.log1p(-rate), math.log(rate) + u / sigma - 0.5 / sigma**2)

    def along(self, c: Any, step: Any, direction: str, slack: float = 1.0) -> Iterator[Any]:
        """`slack` above 1 takes more points on another line, for a second opinion."""
        bits = mpmath.mp.prec + GUARD
        with mpmath.workprec(bits):
            sigma, rate = mpmath.mpf(self.sigma), mpmath.mpf(self.rate)
            start = c + 1 if direction == "remove" else -mpmath.mpf(c)
            # for add the power is negative: stay where the base is no smaller than on the real line
            shift = min(sigma * mpmath.pi / (2 if direction == "remove" else 4), mpmath.mpf("1.5")) / mpmath.sqrt(slack)
            reach = mpmath.sqrt(2 * bits * mpmath.ln2) * slack
            width = 2 * mpmath.pi * shift * mpmath.mpf("0.85") / (bits * mpmath.ln2) / slack
            places = mpmath.arange(-reach, reach + max(start, 0) / sigma, width)
            terms, ratios = [], []
            for place in places:
                u = mpmath.mpc(place, shift)
                log_ratio = mpmath.log(1 - rate + rate * mpmath.exp(u / sigma - 1 / (2 * sigma**2)))
                terms.append(width * mpmath.exp(start * log_ratio - u * u / 2) / mpmath.sqrt(2 * mpmath.pi))
                ratios.append(mpmath.exp(mpmath.mpc(0, step) * log_ratio))
        for total in _powers(terms, ratios, bits):
            found = mpmath.log(total)
            yield found if direction == "remove" else mpmath.conj(found)


def _powers(terms: list[Any], ratios: list[Any], bits: int) -> Iterator[Any]:
    """sum_j terms_j ratios_j^n for n = 0, 1, ...; no ratio is larger than 1."""
    (x, y), (a, b) = (_whole(numbers, bits) for numbers in (terms, ratios))
    while True:
        yield mpmath.mpc(mpmath.ldexp(int(x.sum()), -bits), mpmath.ldexp(int(y.sum()), -bits))
        x, y = (x * a - y * b) >> bits, (x * b + y * a) >> bits


def _whole(numbers: list[Any], bits: int) -> tuple[Any, Any]:
    with mpmath.workprec(4 * bits):
        return tuple(
            np.array([int(mpmath.nint(mpmath.ldexp(part, bits))) for part in parts], dtype=object)
            for parts in ([number.real for number in numbers], [number.imag for number in numbers])
        )


@dataclasses.dataclass(frozen=True)
class Table:
    """A release with finitely many outputs, as likely as p under P and as q under Q."""

    p: tuple[float, ...]
    q: tuple[float, ...]

    def _both(self, direction: str) -> tuple[Any, Any]:
        p, q = np.array(self.p), np.array(self.q)
        return (p, q) if direction == "remove" else (q, p)

    def real(self, s: float, direction: str) -> float:
        p, q = self._both(direction)
        return math.log(float(np.sum(p * (p / q) ** s)))

    def along(self, c: Any, step: Any, direction: str, slack: float = 1.0) -> Iterator[Any]:
        bits = mpmath.mp.prec + GUARD
        with mpmath.workprec(bits):
            pairs = [
                (mpmath.mpf(float(p)), mpmath.log(mpmath.mpf(float(p)) / mpmath.mpf(float(q))))
                for p, q in zip(*self._both(direction), strict=True)
            ]
            terms = [mpmath.mpc(p * mpmath.exp(c * loss)) for p, loss in pairs]
            ratios = [mpmath.exp(mpmath.mpc(0, step * loss)) for _, loss in pairs]
        for total in _powers(terms, ratios, bits):
            yield mpmath.log(total)
