"""Theorem 3 as printed, with many digits: decimals are exact, so that the ceiling and the set B are exact too."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tests.truth.numbers import mp

from examples.gallery.constraints.rationals import splits

Stated = tuple[str, str]  # epsilon and delta as decimals


def decimal(text: str) -> Any:
    """A decimal to working precision."""
    value = Fraction(text)
    return mp.mpf(value.numerator) / value.denominator


def alpha(first: Stated, second: Stated) -> Any:
    """The weight of Theorem 2."""
    (e1, d1), (e2, d2) = ([decimal(text) for text in point] for point in (first, second))
    return ((1 - d1) * mp.exp(e2) - (1 - d2) * mp.exp(e1) + (d2 - d1)) / ((mp.exp(e2) - mp.exp(e1)) * (1 - d1))


def slopes(first: Stated, second: Stated, k: int) -> list[tuple[int, int]]:
    """The pairs (u, v) of the intersection."""
    e1, e2 = Fraction(first[0]), Fraction(second[0])
    return [
        (u, v) for v in range(k + 1) for u in range(math.ceil((k * e1 - v * (e1 - e2)) / (e1 + e2)), k + 1)
    ]  # fmt: skip


def theorem_3(first: Stated, second: Stated, k: int, every: int = 1) -> tuple[list[tuple[Fraction, Any]], int]:
    """Faces (epsilon, delta) of every n-th pair (u, v), the reveal mixed in; and how many terms were looked at."""
    e1, e2 = Fraction(first[0]), Fraction(second[0])
    weight, kept = alpha(first, second), (1 - decimal(first[1])) ** k
    grown1, grown2 = (_powers(text, 2 * k) for text in (first[0], second[0]))
    one, two = (1 - weight) / (grown1[1] + 1), weight / (grown2[1] + 1)
    terms = []
    for a, b, c, d in splits(k, 4):
        ways = math.factorial(k) // math.prod(math.factorial(n) for n in (a, b, c, d))
        terms.append((a, b, c, d, (a - d) * e1 + (b - c) * e2, ways * one ** (a + d) * two ** (b + c)))
    faces, looked = [], 0
    for u, v in slopes(first, second, k)[::every]:
        face = e1 * (u + v - k) + e2 * (u - v)
        total = mp.zero
        for a, b, c, d, loss, mass in terms:
            looked += 1
            if loss > face:  # the condition of the set B
                total += mass * (grown1[a] * grown2[b] - grown1[d + u + v - k] * grown2[c + u - v])
        faces.append((face, 1 - kept * (1 - total)))
    return faces, looked


def _powers(epsilon: str, most: int) -> dict[int, Any]:
    """e^(n epsilon) for all n that a term may need."""
    return {n: mp.exp(n * decimal(epsilon)) for n in range(-most, most + 1)}
