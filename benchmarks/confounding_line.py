"""One delta of two mixtures on the line: certified cells, and an integral that certifies nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import log_ndtr

from benchmarks.timing import interleaved, peak_megabytes
from quiltwork.confounding.line.enclosure.cut import cut
from quiltwork.confounding.line.enclosure.difference import TwoLaws
from quiltwork.confounding.line.laws.components import Laplace, Mixture, Normal

HEAD = ["laws", "epsilon", "delta", "width", "cells", "ms", "MB", "quad ms", "quad error"]


def _pairs() -> dict[str, tuple[Mixture, Mixture]]:
    one = Mixture([0.6, 0.4], [Normal(-1.0, 0.5), Normal(1.5, 0.8)])
    two = Mixture([0.3, 0.7], [Normal(-1.0, 0.5), Normal(1.5, 0.8)])
    six = [
        Mixture(np.roll([0.3, 0.25, 0.2, 0.1, 0.1, 0.05], k), [Normal(m - 2.5, 0.4) for m in range(6)]) for k in (0, 2)
    ]
    return {
        "2 normal parts, Gaussian noise": (one.plus_gaussian(0.25), two.plus_gaussian(0.25)),
        "2 normal parts, Laplace noise": (one.plus_laplace(0.5), two.plus_laplace(0.5)),
        "6 normal parts, Gaussian noise": (six[0].plus_gaussian(0.09), six[1].plus_gaussian(0.09)),
        "2 Laplace parts": (
            Mixture([0.8, 0.2], [Laplace(-1.0, 0.5), Laplace(1.0, 1.0)]),
            Mixture([0.3, 0.7], [Laplace(-1.0, 0.5), Laplace(1.0, 1.0)]),
        ),
        "a narrow part": (
            Mixture([0.9, 0.1], [Normal(0.0, 1.0), Normal(6.3, 0.004)]),
            Mixture([0.99, 0.01], [Normal(0.0, 1.0), Normal(6.3, 0.004)]),
        ),
    }


def line() -> tuple[list[list[str]], float, float, float]:
    """One epsilon of a mixture: the certified cells, and an integral without a certificate.

    Also the slowest, the widest, and how far outside of a bracket an integral over small pieces was at most.
    """
    rows, slowest, widest, off = [], 0.0, 0.0, 0.0
    for name, (first, second) in _pairs().items():
        for epsilon in (0.0, 0.5):
            calls = {
                "ours": lambda p=first, q=second, e=epsilon: cut(TwoLaws(p, q), e),
                "quad": lambda p=first, q=second, e=epsilon: _integral(p, q, e),
            }
            found = interleaved(calls, 9)
            ours, value = found["ours"], found["ours"].value
            low, high = value.delta
            error = max(abs(found["quad"].value - low), abs(found["quad"].value - high))
            slowest, widest = max(slowest, ours.milliseconds), max(widest, high - low)
            pieced = _integral(first, second, epsilon, _pieces(first, second))
            off = max(off, low - pieced, pieced - high)
            memory = peak_megabytes(calls["ours"])
            rows.append([name, f"{epsilon:g}", f"{0.5 * (low + high):.10f}", f"{high - low:.0e}", str(value.cells),
                         f"{ours.milliseconds:.1f}", f"{memory:.1f}", f"{found['quad'].milliseconds:.1f}",
                         f"{error:.0e}"])  # fmt: skip
    return rows, slowest, widest, off


def _pieces(*laws: Mixture) -> list[float]:
    """Places between which the densities are tame: quad alone does not see a narrow part."""
    parts = [part for law in laws for part in law.components]
    spreads = [
        (part.mean, spread) for part in parts for spread in (getattr(part, "sd", 0.0), getattr(part, "scale", 0.0))
    ]
    inside = {mean + j * spread for mean, spread in spreads for j in range(-10, 11, 2)}
    return sorted({-15.0, 15.0} | {place for place in inside if -15 < place < 15})


def _integral(first: Mixture, second: Mixture, epsilon: float, pieces: Sequence[float] = (-15.0, 15.0)) -> float:
    """scipy's adaptive rule on the same integrand, densities in plain floats."""
    odds = math.exp(epsilon)
    p, q = ([_weighted(float(w), part) for w, part in zip(law.weights, law.components, strict=True)]
            for law in (first, second))  # fmt: skip

    def value(x: float) -> float:
        return max(sum(dense(x) for dense in p) - odds * sum(dense(x) for dense in q), 0.0)

    rule = {"limit": 500, "epsabs": 1e-12, "epsrel": 1e-12}
    return math.fsum(quad(value, low, high, **rule)[0] for low, high in itertools.pairwise(pieces))


def _weighted(weight: float, part: Any) -> Callable[[float], float]:
    """The density of one component times its weight."""
    if isinstance(part, Normal):
        top, sd = weight / (part.sd * math.sqrt(2 * math.pi)), part.sd
        return lambda x: top * math.exp(-0.5 * ((x - part.mean) / sd) ** 2)
    top, scale = 0.5 * weight / part.scale, part.scale
    if isinstance(part, Laplace):
        return lambda x: top * math.exp(-abs(x - part.mean) / scale)
    ratio, sd = part.sd / scale, part.sd

    def both(x: float) -> float:
        z = x - part.mean
        sides = (math.exp(0.5 * ratio**2 + s * z / scale + log_ndtr(-s * z / sd - ratio)) for s in (1, -1))
        return top * sum(sides)

    return both
