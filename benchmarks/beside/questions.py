"""What is asked, in a form that no library owns: parts, a kind of question, and the truth.

Truths that are cheap are computed here in high precision (closed forms and exact lattices, with mpmath); the others
are stored in benchmarks/truths.json, contour integrals in 30 to 40 digits, computed twice on different contours.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

GAUSSIAN, SAMPLED, LAPLACE, RESPONSE, APPROXIMATE = "gaussian", "sampled", "laplace", "response", "approximate"
EPSILON, SIGMA, DELTAS, BETAS = "epsilon", "sigma", "deltas", "betas"
POINTS = 1000
STORED: dict[str, Any] = json.loads((Path(__file__).parents[1] / "truths.json").read_text(encoding="utf-8"))


@dataclasses.dataclass(frozen=True)
class Part:
    """`count` equal releases. scale: sigma, the scale of Laplace noise, or epsilon; more: rate, or delta."""

    kind: str
    scale: float
    count: int = 1
    more: float = 0.0


@dataclasses.dataclass(frozen=True, eq=False)
class Question:
    """`at`: delta; of a calibration `target` is epsilon; of a curve `points` are where it is asked."""

    key: str
    name: str
    parts: tuple[Part, ...]
    at: float = math.nan
    kind: str = EPSILON
    truth: Any = math.nan
    source: str = ""
    target: float = math.nan
    points: Any = None

    @property
    def kinds(self) -> set[str]:
        return {part.kind for part in self.parts}


def stored(key: str) -> float:
    """The larger of the two directions, from truths.json."""
    return max(float(value) for value in STORED["epsilon"][key].values())


# ---- truths that are computed


def gaussian_delta(mu: Any, epsilon: Any) -> Any:
    """delta of a Gaussian composition."""
    return mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)


@functools.cache
def lattice(groups: tuple[tuple[int, int], ...], step: str) -> list[tuple[Any, Any]]:
    """Losses and masses of randomized responses with epsilon = multiple * step; groups: (multiple, count)."""
    masses = {0: mpmath.mpf(1)}
    base = mpmath.mpf(step)
    for multiple, count in groups:
        p = 1 / (1 + mpmath.exp(-multiple * base))
        found: dict[int, Any] = {}
        for ones in range(count + 1):
            mass = mpmath.binomial(count, ones) * p**ones * (1 - p) ** (count - ones)
            for loss, before in masses.items():
                at = loss + (2 * ones - count) * multiple
                found[at] = found.get(at, 0) + before * mass
        masses = found
    return sorted((base * loss, mass) for loss, mass in masses.items())


def lattice_epsilon(groups: tuple[tuple[int, int], ...], step: str, delta: str, reveal: Any = 0) -> float:
    """Exact: between two losses of the lattice delta is linear in e^epsilon."""
    with mpmath.workdps(60):
        goal = (mpmath.mpf(delta) - reveal) / (1 - reveal)
        above, weighted = mpmath.mpf(0), mpmath.mpf(0)  # masses of P and of Q over the losses taken so far
        points = lattice(groups, step)[::-1]
        for (loss, mass), (after, _) in zip(points, [*points[1:], (-mpmath.inf, 0)], strict=True):
            above, weighted = above + mass, weighted + mass * mpmath.exp(-loss)
            epsilon = mpmath.log((above - goal) / weighted) if above > goal else mpmath.inf
            if above > goal and epsilon >= after:
                return float(min(epsilon, loss))
    raise ArithmeticError("delta is not reached")


def gaussian_epsilon(mu: Any, delta: str) -> float:
    """Root of the closed form in 120 digits."""
    with mpmath.workdps(120):
        goal = mpmath.log(mpmath.mpf(delta))
        gap = lambda epsilon: mpmath.log(gaussian_delta(mu, epsilon)) - goal  # noqa: E731
        return float(mpmath.findroot(gap, (1, 120), solver="anderson", tol=mpmath.mpf(10) ** -60, verify=False))


# ---- the questions


def _gaussian(key: str, delta: str) -> Question:
    with mpmath.workdps(120):
        truth = gaussian_epsilon(mpmath.sqrt(10), delta)
    parts = (Part(GAUSSIAN, 10.0, 1000),)
    return Question(
        key, f"Gaussian mu 0.1 x 1000, delta {delta}", parts, float(delta), truth=truth, source="closed form"
    )


def _laplace(key: str, delta: str) -> Question:
    truth = stored(f"laplace 0.1 1000 {float(delta):g}")
    parts = (Part(LAPLACE, 10.0, 1000),)
    return Question(key, f"Laplace scale 10 x 1000, delta {delta}", parts, float(delta), truth=truth, source="stored")


def _response(key: str, delta: str) -> Question:
    truth = lattice_epsilon(((1, 1000),), "0.1", delta)
    name = f"randomized response 0.1 x 1000, delta {delta}"
    return Question(key, name, (Part(RESPONSE, 0.1, 1000),), float(delta), truth=truth, source="exact lattice")


def dpsgd(key: str, sigma: float, rate: float, count: int, delta: float) -> Question:
    """Poisson-subsampled Gaussian steps; the truth is stored, or there is none."""
    name = f"DP-SGD sigma {sigma:g}, rate {rate:g}, T {count:,}, delta {delta:g}"
    known = STORED["epsilon"].get(f"dpsgd {sigma:g} {rate:g} {count} {delta:g}")
    truth = max(map(float, known.values())) if known else math.nan
    parts = (Part(SAMPLED, sigma, count, rate),)
    return Question(key, name, parts, delta, truth=truth, source="stored" if known else "none")


def _approximate(key: str, delta: str) -> Question:
    with mpmath.workdps(60):
        reveal = 1 - (1 - mpmath.mpf("1e-6")) ** 100
        truth = lattice_epsilon(((1, 100),), "0.5", delta, reveal)
    name = f"(0.5, 1e-6) x 100, delta {delta}"
    return Question(key, name, (Part(APPROXIMATE, 0.5, 100, 1e-6),), float(delta), truth=truth, source="exact lattice")


def mixed() -> tuple[Part, ...]:
    """200 different mechanisms: 70 Gaussian, 65 Laplace, 65 subsampled Gaussian."""
    gaussians = [Part(GAUSSIAN, 20.0 + 0.5 * i) for i in range(70)]
    laplaces = [Part(LAPLACE, 20.0 + 0.75 * i) for i in range(65)]
    return (*gaussians, *laplaces, *(Part(SAMPLED, 0.8 + 0.02 * i, 1, 0.01 + 0.0005 * i) for i in range(65)))


def _profile() -> Question:
    points = np.linspace(0.0, 25.0, POINTS)
    with mpmath.workdps(40):
        truth = np.array([float(gaussian_delta(mpmath.sqrt(10), mpmath.mpf(float(e)))) for e in points])
    parts = (Part(GAUSSIAN, 10.0, 1000),)
    name = f"profile of Gaussian mu 0.1 x 1000 at {POINTS} epsilons"
    return Question("T9a", name, parts, kind=DELTAS, truth=truth, source="closed form", points=points)


def _trade_off() -> Question:
    from scipy.stats import norm

    points = np.linspace(0.0005, 0.9995, POINTS)
    with mpmath.workdps(30):  # the root of a smooth function, once in doubles and once corrected in 30 digits
        shift = mpmath.sqrt(10)
        quantiles = [_quantile(1 - mpmath.mpf(float(a)), float(norm.isf(a))) for a in points]
        truth = np.array([float(mpmath.ncdf(q - shift)) for q in quantiles])
    parts = (Part(GAUSSIAN, 10.0, 1000),)
    name = f"trade-off of Gaussian mu 0.1 x 1000 at {POINTS} alphas"
    return Question("T9b", name, parts, kind=BETAS, truth=truth, source="closed form", points=points)


def _quantile(level: Any, start: float) -> Any:
    """Two Newton steps from a double."""
    x = mpmath.mpf(start)
    for _ in range(2):
        x -= (mpmath.ncdf(x) - level) / mpmath.npdf(x)
    return x


def questions() -> Sequence[Question]:
    """T1 to T10 in order."""
    with mpmath.workdps(60):
        uneven = lattice_epsilon(((2, 500), (1, 500)), "0.05", "1e-6")
    return [
        _gaussian("T1", "1e-6"),
        dpsgd("T2a", 0.8, 0.01, 10_000, 1e-5),
        dpsgd("T2b", 1.0, 0.001, 100_000, 1e-5),
        _laplace("T3", "1e-6"),
        _response("T4a", "1e-6"),
        Question(
            "T4b",
            "randomized response 0.1 x 500 + 0.05 x 500, delta 1e-6",
            (Part(RESPONSE, 0.1, 500), Part(RESPONSE, 0.05, 500)),
            1e-6,
            truth=uneven,
            source="exact lattice",
        ),
        _approximate("T5a", "2e-4"),
        _approximate("T5b", "1e-3"),
        *(
            ask(f"T6 {delta}", delta)
            for delta in ("1e-12", "1e-20", "1e-50")
            for ask in (_gaussian, _laplace, _response)
        ),
        Question(
            "T7",
            "200 different mechanisms, delta 1e-6",
            mixed(),
            1e-6,
            truth=stored("mixed 200 1e-06"),
            source="stored",
        ),
        Question(
            "T8",
            "sigma of DP-SGD for epsilon 1, delta 1e-5, rate 0.01, T 10,000",
            (Part(SAMPLED, math.nan, 10_000, 0.01),),
            1e-5,
            SIGMA,
            float(STORED["sigma"]["epsilon 1 delta 1e-05 rate 0.01 count 10000"]),
            "stored",
            1.0,
        ),
        _profile(),
        _trade_off(),
        dpsgd("T10", 0.8, 0.01, 1_000_000, 1e-5),
    ]
