"""Trade-off functions that are programs: `tradeoff(f)`.

Truth: the closed form of what the program computes, in many digits. Questions: delta, epsilon and beta of compositions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri
from tests.truth import closed
from tests.truth.numbers import mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, ends, inside

NEAR = mp.mpf(10) ** -40


def programmed(rng: np.random.Generator) -> dict[str, Any]:
    """A Gaussian or a Laplace curve as a function, some times."""
    return {
        "family": str(rng.choice(["gaussian", "laplace"])),
        "number": round(float(10.0 ** rng.uniform(-0.7, 0.4)), 3),
        "count": int(rng.choice([1, 1, 2, 5, 20])),
        "symmetric": bool(rng.random() < 0.5),
        "epsilons": [0.0, *np.round(rng.exponential(1.0, 5), 4).tolist()],
        "deltas": (10.0 ** -rng.uniform(0.5, 6, 3)).tolist(),
        "alphas": [0.0, *rng.uniform(0, 1, 3).tolist()],
    }


def read(case: dict[str, Any]) -> Iterator[Check]:
    """delta and epsilon of the composition; f itself at one copy."""
    number, count, family = case["number"], case["count"], case["family"]
    if number <= 0 or count < 1 or (family == "laplace" and count > 1):
        count, case = 1, {**case, "count": 1}
    if number <= 0:
        return

    def gaussian(alpha: Any) -> Any:
        return ndtr(-ndtri(alpha) - number)

    def laplace(alpha: Any) -> Any:
        alpha = np.asarray(alpha, dtype=float)
        grow = math.exp(number)
        with np.errstate(divide="ignore"):
            middle = np.exp(-number) / (4 * np.maximum(alpha, 1e-320))
        return np.where(
            alpha < np.exp(-number) / 2, 1 - grow * alpha, np.where(alpha <= 0.5, middle, (1 - alpha) / grow)
        )

    loss = count * qw.tradeoff(gaussian if family == "gaussian" else laplace, symmetric=case["symmetric"])
    truth = (
        (lambda e: closed.gaussian_delta(mp.mpf(number) * mp.sqrt(count), e, 500))
        if family == "gaussian"
        else (lambda e: closed.laplace_delta(number, e))
    )
    slack = mp.mpf("4e-16") * count  # of a user's function
    for place, (lower, upper) in zip(case["epsilons"], ends(loss.delta(np.array(case["epsilons"]))), strict=True):
        value = truth(place)
        yield inside(
            f"program, {family}: delta",
            lower,
            value * (1 - NEAR) - slack,
            value * (1 + NEAR) + slack,
            upper,
            f"epsilon {place!r}",
        )
    for share, (lower, upper) in zip(case["deltas"], ends(loss.epsilon(np.array(case["deltas"]))), strict=True):
        holds = math.isinf(upper) or truth(upper) <= share + slack
        holds = holds and (lower <= 0 or truth(lower) >= share - slack)
        yield Check(f"program, {family}: epsilon", bool(holds), note=f"delta {share!r}, said [{lower!r}, {upper!r}]")
    if count == 1 and family == "gaussian":
        for alpha, (lower, upper) in zip(case["alphas"], ends(loss.beta(np.array(case["alphas"]))), strict=True):
            value = closed.gaussian_beta(number, alpha) if 0 < alpha < 1 else mp.mpf(1 - alpha)
            yield inside(
                f"program, {family}: beta", lower, value - slack, value + slack, upper, f"alpha {alpha!r}", "lower"
            )


KINDS = [Kind("compose", "trade-offs as programs", programmed, read)]
