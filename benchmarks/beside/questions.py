"""What is asked, in a form that no library owns: parts, a kind of question, and the truth.

Truths that are cheap are computed here in high precision (closed forms and exact lattices, with mpmath); the others
are stored in benchmarks/truths.json, which benchmarks/truths.py writes.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from benchmarks.beside.parts import APPROXIMATE, GAUSSIAN, LAPLACE, RESPONSE, SAMPLED, Part, mixed
from benchmarks.exact_sums import gaussian_delta, gaussian_epsilon, lattice_epsilon, response_epsilon
from benchmarks.verdicts import WIDE

EPSILON, SIGMA, DELTAS, BETAS = "epsilon", "sigma", "deltas", "betas"
POINTS = 1000
STORED: dict[str, Any] = json.loads((Path(__file__).parents[1] / "truths.json").read_text(encoding="utf-8"))


@dataclasses.dataclass(frozen=True, eq=False)
class Question:
    """`at`: delta; of a calibration `target` is epsilon; of a curve `points` are where it is asked.

    `widest`: the width that a bracket of ours may have before the run counts as failed.
    """

    key: str
    name: str
    parts: tuple[Part, ...]
    at: float = math.nan
    kind: str = EPSILON
    truth: Any = math.nan
    source: str = ""
    target: float = math.nan
    points: Any = None
    widest: float = math.inf

    @property
    def kinds(self) -> set[str]:
        return {part.kind for part in self.parts}


def stored(key: str) -> float:
    """The larger of the two directions, from truths.json."""
    return max(float(value) for value in STORED["epsilon"][key].values())


# ---- the questions


def _gaussian(key: str, delta: str) -> Question:
    truth = float(gaussian_epsilon("10", delta))
    parts = (Part(GAUSSIAN, 10.0, 1000),)
    return Question(
        key, f"Gaussian mu 0.1 x 1000, delta {delta}", parts, float(delta), truth=truth, source="closed form"
    )


def laplace(key: str, scale: float, count: int, delta: float) -> Question:
    """Laplace noise; the truth is stored."""
    truth = stored(f"laplace {1 / scale:g} {count} {delta:g}")
    name = f"Laplace scale {scale:g} x {count:,}, delta {delta:g}"
    return Question(key, name, (Part(LAPLACE, scale, count),), delta, truth=truth, source="stored")


def _response(key: str, delta: str) -> Question:
    truth = float(response_epsilon("0.1", 1000, delta))
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
        truth = float(lattice_epsilon(((1, 100),), "0.5", delta, reveal))
    name = f"(0.5, 1e-6) x 100, delta {delta}"
    return Question(key, name, (Part(APPROXIMATE, 0.5, 100, 1e-6),), float(delta), truth=truth, source="exact lattice")


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
    """T1 to T13 in order; those to T10 are what our default promises its width on."""
    return [*(dataclasses.replace(question, widest=WIDE) for question in _first()), *_few()]


def _few() -> list[Question]:
    """Few releases, weak ones or rare samples: where single outputs show, and grids of peers are at their best."""
    return [
        *(laplace(f"T11{mark}", 100.0, count, 1e-6) for mark, count in zip("abc", (10, 100, 1000), strict=True)),
        *(dpsgd(f"T12{mark}", 1.0, 0.005, count, 1e-6) for mark, count in zip("abc", (1, 10, 50), strict=True)),
        dpsgd("T13", 1.0, 1e-4, 1000, 1e-8),
    ]


def _first() -> list[Question]:
    uneven = float(lattice_epsilon(((2, 500), (1, 500)), "0.05", "1e-6"))
    return [
        _gaussian("T1", "1e-6"),
        dpsgd("T2a", 0.8, 0.01, 10_000, 1e-5),
        dpsgd("T2b", 1.0, 0.001, 100_000, 1e-5),
        laplace("T3", 10.0, 1000, 1e-6),
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
            asked
            for delta in ("1e-12", "1e-20", "1e-50")
            for asked in (
                _gaussian(f"T6 {delta}", delta),
                laplace(f"T6 {delta}", 10.0, 1000, float(delta)),
                _response(f"T6 {delta}", delta),
            )
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
