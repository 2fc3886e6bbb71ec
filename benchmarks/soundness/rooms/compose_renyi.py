"""Rényi curves beside responses and noise.

Truth: the Gaussian that has the curve, beside the same responses and noise, in many digits: a legal case, so that it is
within the bound. Questions: delta, epsilon and beta of the composition.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.truth import closed, convolution
from tests.truth.numbers import mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, covers
from benchmarks.soundness.rooms import dyadic

NEAR = mp.mpf(10) ** -40


def mixed(rng: np.random.Generator) -> dict[str, Any]:
    """A Rényi curve that a Gaussian has, beside (epsilon, delta) releases and Gaussian noise."""
    orders = sorted({round(float(1 + 10.0 ** rng.uniform(-1, 2)), 3) for _ in range(int(rng.integers(1, 6)))})
    others = [
        [
            round(float(10.0 ** rng.uniform(-2, 0.3)), 4),
            float(rng.choice([0.0, 10.0 ** rng.uniform(-7, -2)])),
            int(rng.integers(1, 4)),
        ]
        for _ in range(int(rng.integers(0, 3)))
    ]
    return {
        "rho": float(10.0 ** rng.uniform(-4, 0)),
        "count": int(rng.integers(1, 30)),
        "orders": orders if rng.random() < 0.5 else [],
        "others": others,
        "sigma": float(rng.choice([0.0, 10.0 ** rng.uniform(-0.2, 1.5)])),
        "side": str(rng.choice(dyadic.SIDES)),
        "epsilons": [*np.round(rng.exponential(1.0, 6), 4).tolist(), *(-np.round(rng.exponential(0.5, 2), 4)).tolist()],
        "deltas": (10.0 ** -rng.uniform(0.5, 8, 4)).tolist(),
        "alphas": rng.uniform(0, 1, 3).tolist(),
    }


def beside(case: dict[str, Any]) -> Iterator[Check]:
    """The Gaussian with this curve, beside the same responses, tells no more than is said."""
    rho, count, orders, sigma = case["rho"], case["count"], case["orders"], case["sigma"]
    if rho <= 0 or count < 1 or (orders and min(orders) <= 1) or any(c < 1 or e <= 0 for e, _, c in case["others"]):
        return
    parts = [count * (qw.rdp(orders, [rho * order for order in orders]) if orders else qw.zcdp(rho))]
    square = 2 * count * min(mp.mpf(rho), *(mp.mpf(rho * order) / mp.mpf(order) for order in orders or [1]))
    if sigma:
        parts.append(qw.gaussian(sigma))
        square += 1 / mp.mpf(sigma) ** 2
    law = convolution.Law([(0, 1)])
    for epsilon, delta, times in case["others"]:
        parts.append(times * (qw.approximate(epsilon, delta) if delta else qw.pure(epsilon)))
        law = law * convolution.response(mp.mpf(epsilon), mp.mpf(delta)).power(times)
    loss, mu = qw.compose(*parts), mp.sqrt(square)
    loss = loss if case["side"] == "worst" else loss.direction(case["side"])
    name = (
        ("rdp" if orders else "zcdp")
        + (" beside responses" if case["others"] else "")
        + (" and noise" if sigma else "")
    )

    def truth(epsilon: float) -> Any:
        return law.reveal + mp.fsum(
            mass * closed.gaussian_delta(mu, mp.mpf(epsilon) - value, 500) for value, mass in law.atoms
        )

    for place, upper in zip(
        case["epsilons"], np.asarray(loss.delta(np.array(case["epsilons"])).upper).tolist(), strict=True
    ):
        yield covers(f"{name}: delta", truth(place) * (1 - NEAR), upper, f"epsilon {place!r}")
    for share, upper in zip(
        case["deltas"], np.asarray(loss.epsilon(np.array(case["deltas"])).upper).tolist(), strict=True
    ):
        if math.isfinite(upper):
            left = truth(upper)
            yield Check(
                f"{name}: epsilon",
                bool(left <= share * (1 + NEAR)),
                float(abs(1 - left / share)) or math.nan,
                f"delta {share!r}, said {upper!r}",
            )
    if not case["others"]:
        for alpha, lower in zip(
            case["alphas"], np.asarray(loss.beta(np.array(case["alphas"])).lower).tolist(), strict=True
        ):
            exact = closed.gaussian_beta(mu, alpha)
            yield Check(
                f"{name}: beta",
                bool(lower <= exact),
                float(abs(1 - lower / exact)) or math.nan,
                f"alpha {alpha!r}, said {lower!r}",
            )


KINDS = [Kind("compose", "Rényi bounds beside others", mixed, beside)]
