"""What is published of a plan: epsilon at a delta, and beta.

Truth: the worst category, in whole numbers or in many digits. Questions: epsilon(delta > 0) and beta of `guarantee`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.truth import closed
from tests.truth.numbers import mp

from benchmarks.soundness.claims import Check, Kind
from benchmarks.soundness.listed import beta_check, composed, epsilon_check
from benchmarks.soundness.rooms import dyadic, tables

NEAR = mp.mpf(10) ** -40


def asked(rng: np.random.Generator) -> dict[str, Any]:
    """Overlapping counts of up to thirty categories, with deltas and alphas."""
    case = tables.drawn(rng)
    if rng.random() < 0.5:  # more vectors than are composed one by one
        case["categories"] = int(rng.integers(10, 31))
        for query in case["queries"]:
            query["members"] = [c for c in range(case["categories"]) if rng.random() < 0.4] or [0]
    return {
        **case,
        "deltas": (10.0 ** -rng.uniform(0.3, 9, 5)).tolist(),
        "alphas": [0.0, *rng.uniform(0, 1, 4).tolist()],
    }


def inverted(case: dict[str, Any]) -> Iterator[Check]:
    """epsilon(delta) and beta(alpha) of a plan, which are what is published."""
    read = [[q["loss"] for q in case["queries"] if c in q["members"]] for c in range(case["categories"])]
    if (
        not any(read)
        or min(case["deltas"], default=1.0) <= 0
        or not all(q["members"] for q in case["queries"])
        or any(c >= case["categories"] for q in case["queries"] for c in q["members"])
    ):
        return
    said = tables.plan_of(case).guarantee()
    epsilons = [(float(b.lower), float(b.upper)) for b in (said.epsilon(delta) for delta in case["deltas"])]
    betas = [(float(b.lower), float(b.upper)) for b in (said.beta(alpha) for alpha in case["alphas"])]
    if case["kind"] == "law":
        truths = [composed((dyadic.outcomes(law), law["bits"], 1) for law in one) for one in read if one]
        laws = [one for truth in truths if truth is not None for one in (truth, truth.mirrored)]
        for delta, (lower, upper) in zip(case["deltas"], epsilons, strict=True):
            yield epsilon_check("plan: epsilon", laws, delta, lower, upper, f"delta {delta!r}")
        for alpha, (lower, upper) in zip(case["alphas"], betas, strict=True):
            yield beta_check("plan: beta", laws, alpha, lower, upper, f"alpha {alpha!r}")
        return
    if case["kind"] == "gdp":
        mu = mp.sqrt(max(sum(mp.mpf(repr(loss)) ** 2 for loss in one) for one in read))
        truth: Any = lambda e: closed.gaussian_delta(mu, e, 500)  # noqa: E731
        exact = [closed.gaussian_beta(mu, alpha) if 0 < alpha < 1 else mp.mpf(1 - alpha) for alpha in case["alphas"]]
        for alpha, value, (lower, upper) in zip(case["alphas"], exact, betas, strict=True):
            yield Check(
                "plan, gdp: beta", bool(lower <= value <= upper), note=f"alpha {alpha!r}, said [{lower!r}, {upper!r}]"
            )
    else:
        laws = [tables.responses(one) for one in read if one]
        truth = lambda e: max(law.delta(mp.mpf(e)) for law in laws)  # noqa: E731
    for delta, (lower, upper) in zip(case["deltas"], epsilons, strict=True):
        holds = (
            lower <= upper and truth(upper) <= delta * (1 + NEAR) and (lower <= 0 or truth(lower) >= delta * (1 - NEAR))
        )
        yield Check(f"plan, {case['kind']}: epsilon", bool(holds), note=f"delta {delta!r}, said [{lower!r}, {upper!r}]")


KINDS = [Kind("tables", "epsilon and beta of plans", asked, inverted)]
