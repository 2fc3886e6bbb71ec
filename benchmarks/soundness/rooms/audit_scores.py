"""Audits of scores: how often the lower bound passes the truth.

Truth: every outcome of a few trials, in fractions; or the level 1 - confidence, which sixty audits of known scores pass
more often than by a chance of 1e-9 only if it is not kept (the false-alarm rate of one case, exact).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from tests.truth import closed

from benchmarks.soundness.claims import Check, Kind
from quiltwork import audit


def scored(rng: np.random.Generator) -> dict[str, Any]:
    """Laws of a score of two or three values with and without the record, a few trials, a seed."""
    values = int(rng.choice([2, 2, 3]))
    trials = [4, 4] if values == 2 else [3, 3]
    trials = [int(n) for n in rng.integers(2, max(trials) + 1, 2)]
    laws = [[int(w) for w in rng.integers(1, 12, values)] for _ in range(2)]
    return {
        "laws": laws,
        "trials": trials,
        "seed": int(rng.integers(10**6)),
        "confidence": float(rng.choice([0.5, 0.6, 0.8, 0.9])),
        "method": "counts",
        "threshold": bool(rng.random() < 0.3),
    }


def passed(case: dict[str, Any]) -> Iterator[Check]:
    """The chance, over all scores, that the bound passes the truth is at most 1 - confidence, for every seed."""
    laws = [[Fraction(w, sum(law)) for w in law] for law in case["laws"]]
    if min(min(law) for law in laws) <= 0 or len(laws[0]) != len(laws[1]) or min(case["trials"]) < 2:
        return
    odds = max(max(a / b, b / a) for a, b in zip(*laws, strict=True))
    one, two = case["trials"]
    options = {"threshold": 1.0} if case["threshold"] else {}
    missed = Fraction(0)
    for scores in itertools.product(range(len(laws[0])), repeat=one + two):
        found = audit.run(
            np.array(scores[:one], float),
            np.array(scores[one:], float),
            0.0,
            case["confidence"],
            method=case["method"],
            seed=case["seed"],
            **options,
        )
        if found.epsilon_lower > math.log(odds) * (1 + 1e-12):
            missed += math.prod(laws[0][x] for x in scores[:one]) * math.prod(laws[1][x] for x in scores[one:])
    level = 1 - Fraction(repr(case["confidence"]))
    yield Check(
        "audit of scores: coverage",
        missed <= level,
        abs(float((level - missed) / level)) if missed else math.nan,
        f"missed {float(missed):.4g} of {float(level):.4g}",
    )


def repeated(rng: np.random.Generator) -> dict[str, Any]:
    """Numbers of trials, a method, a true mu."""
    return {
        "trials": int(10.0 ** rng.uniform(1.5, 3.5)),
        "method": str(rng.choice(["counts", "guesses"])),
        "mu": float(rng.choice([0.0, 0.0, 0.3])),
        "confidence": float(rng.choice([0.5, 0.9, 0.95])),
        "start": int(rng.integers(10**9)),
    }


def false_claims(case: dict[str, Any]) -> Iterator[Check]:
    """Scores N(mu, 1) and N(0, 1): how often epsilon(delta) is passed, against 1 - confidence, at a level of 1e-9."""
    if case["trials"] < 16 or case["mu"] < 0:
        return
    delta, runs = 1e-2 if case["mu"] else 0.0, 60
    truth = float(closed.gaussian_epsilon(case["mu"], delta)) if case["mu"] else 0.0
    draws = np.random.default_rng(case["start"])
    passed_by = 0
    for _ in range(runs):
        scores = draws.normal(case["mu"], 1.0, case["trials"]), draws.normal(0.0, 1.0, case["trials"])
        passed_by += audit.run(
            *scores, delta, case["confidence"], method=case["method"], seed=int(draws.integers(2**31))
        ).epsilon_lower > truth * (1 + 1e-9)
    level = 1 - Fraction(repr(case["confidence"]))
    chance = sum(
        (math.comb(runs, k) * level**k * (1 - level) ** (runs - k) for k in range(passed_by, runs + 1)), Fraction(0)
    )
    yield Check(
        f"audit of scores, {case['method']}: false claims",
        chance > Fraction(1, 10**9),
        note=f"{passed_by} of {runs} at level {float(level):g}",
    )


KINDS = [
    Kind("audit", "scores, every outcome", scored, passed),
    Kind("audit", "scores, usual options", repeated, false_claims),
]
