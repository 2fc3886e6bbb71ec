"""Events of dp_accounting, for records that are added or replaced.

Truth: closed forms in many digits; a replaced record moves what is summed by two bounds, an added one by one.
Questions: delta of what the adapter makes of composed events.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.truth import closed
from tests.truth.numbers import mp

from benchmarks.soundness.claims import Check, Kind, ends, inside
from quiltwork.adapters.dp_accounting import from_dp_accounting

NEAR = mp.mpf(10) ** -40


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A noise multiplier, a number of releases, a relation."""
    return {
        "noise": round(float(10.0 ** rng.uniform(-0.3, 1.0)), 3), "count": int(rng.choice([1, 1, 2, 7])),
        "family": str(rng.choice(["gaussian", "laplace"])), "neighbors": str(rng.choice(["add_remove", "replace"])),
        "epsilons": [0.0, *np.round(rng.exponential(1.0, 8), 4).tolist()],
    }  # fmt: skip


def read(case: dict[str, Any]) -> Iterator[Check]:
    """Gaussian noise any number of times, Laplace noise once."""
    import dp_accounting as peer

    noise, gaussian = case["noise"], case["family"] == "gaussian"
    count = case["count"] if gaussian else 1
    if noise <= 0 or count < 1 or not case["epsilons"]:
        return
    event: Any = (peer.GaussianDpEvent if gaussian else peer.LaplaceDpEvent)(noise)
    event = peer.SelfComposedDpEvent(event, count) if count > 1 else event
    loss = from_dp_accounting(event, neighbors=case["neighbors"])
    moved = (2 if case["neighbors"] == "replace" else 1) / mp.mpf(noise)
    found = ends(loss.delta(np.array(case["epsilons"])))
    for place, (lower, upper) in zip(case["epsilons"], found, strict=True):
        exact = closed.gaussian_delta(moved * mp.sqrt(count), place) if gaussian else closed.laplace_delta(moved, place)
        claim, note = f"event, {case['family']}, {case['neighbors']}: delta", f"epsilon {place!r}"
        yield inside(claim, lower, exact * (1 - NEAR), exact * (1 + NEAR), upper, note)


KINDS = [Kind("ledger", "events of dp_accounting", drawn, read)]
