"""Releases in a form that no library owns, and the lists of them that several questions share."""

from __future__ import annotations

import dataclasses
import math

GAUSSIAN, SAMPLED, LAPLACE, RESPONSE, APPROXIMATE = "gaussian", "sampled", "laplace", "response", "approximate"


@dataclasses.dataclass(frozen=True)
class Part:
    """`count` equal releases. scale: sigma, the scale of Laplace noise, or epsilon; more: rate, or delta."""

    kind: str
    scale: float
    count: int = 1
    more: float = 0.0


def mixed() -> tuple[Part, ...]:
    """200 different mechanisms: 70 Gaussian, 65 Laplace, 65 subsampled Gaussian."""
    gaussians = [Part(GAUSSIAN, 20.0 + 0.5 * i) for i in range(70)]
    laplaces = [Part(LAPLACE, 20.0 + 0.75 * i) for i in range(65)]
    return (*gaussians, *laplaces, *(Part(SAMPLED, 0.8 + 0.02 * i, 1, 0.01 + 0.0005 * i) for i in range(65)))


def distinct(number: int) -> tuple[Part, ...]:
    """Different subsampled Gaussians, fifty times each."""
    return tuple(Part(SAMPLED, 1 + 0.01 * j, 50, 0.005) for j in range(number))


def table(outputs: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """How likely each output is in two worlds; no two ratios are equal, and all are between 1/2 and 2, about."""
    weights = [[1 + math.fmod(j * factor, 1.0) for j in range(outputs)] for factor in (0.6180339887, 0.4142135623)]
    p, q = (tuple(weight / math.fsum(law) for weight in law) for law in weights)
    return p, q
