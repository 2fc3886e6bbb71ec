"""Regions of losses with a density: their outer polygons.

Truth: closed forms in many digits. Questions: delta and beta of `region()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.truth import closed
from tests.truth.numbers import mp

from benchmarks.soundness.claims import Check, Kind, covers, ends
from benchmarks.soundness.rooms import losses

NEAR = mp.mpf(10) ** -40


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A loss in closed form, as a region."""
    case = losses.drawn(rng)
    while case["family"] in ("pure", "approximate") or max(case["numbers"]) > 50 or min(case["numbers"]) < 1e-3:
        case = losses.drawn(rng)
    reach = losses.reach_of(case["family"], case["numbers"])
    return {**case, "epsilons": [e for e in case["epsilons"] if e >= 0] + (reach * rng.uniform(0, 1, 10)).tolist(),
            "alphas": rng.uniform(0, 1, 8).tolist()}  # fmt: skip


def covered(case: dict[str, Any]) -> Iterator[Check]:
    """The outer polygon lies outside."""
    loss, sides = losses.built(case["family"], case["numbers"]), ["worst"]
    if "sampled" in case["family"]:
        sides = ["remove", "add"]
    found = loss.region()
    truths = [losses.truth(case["family"], case["numbers"], side) for side in sides]
    for place, (_, upper) in zip(case["epsilons"], ends(found.delta(np.array(case["epsilons"]))), strict=True):
        value = max(truth(place) for truth in truths)
        if value > mp.mpf(10) ** -120:
            yield covers(f"outer region, {case['family']}: delta", value * (1 - NEAR), upper, f"epsilon {place!r}")
    if case["family"] in ("gaussian", "gdp"):
        mu = (
            mp.mpf(case["numbers"][-1]) / mp.mpf(case["numbers"][0])
            if case["family"] == "gaussian"
            else mp.mpf(case["numbers"][0])
        )
        for alpha, (lower, _) in zip(case["alphas"], ends(found.beta(np.array(case["alphas"]))), strict=True):
            yield Check(
                f"outer region, {case['family']}: beta",
                bool(lower <= closed.gaussian_beta(mu, alpha)),
                note=f"alpha {alpha!r}, said {lower!r}",
            )


KINDS = [Kind("regions", "outer polygons", drawn, covered)]
