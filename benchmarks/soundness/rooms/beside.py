"""One release with extreme numbers beside responses: narrow noise, tiny sampling rates, large losses, mixed plans."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.truth import convolution
from tests.truth.numbers import mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, ends, inside, ordered
from benchmarks.soundness.rooms import losses

TINY = mp.mpf(10) ** -120  # truths are no longer told apart below


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A loss in closed form, and one or two kinds of pure or (epsilon, delta) releases."""
    one = losses.drawn(rng)
    others = []
    for _ in range(int(rng.choice([1, 1, 2]))):
        delta = float(rng.choice([0.0, 10.0 ** rng.uniform(-12, -2)]))
        epsilon = float(10.0 ** rng.uniform(-3, 0.7 if rng.random() < 0.8 else 2.5))
        others.append({"epsilon": epsilon, "delta": delta, "count": int(rng.integers(1, 8))})
    reach = losses.reach_of(one["family"], one["numbers"]) + sum(each["epsilon"] * each["count"] for each in others)
    epsilons = [0.0, *(reach * rng.uniform(0, 1.02, 5)).tolist(), *(reach * 10.0 ** -rng.uniform(0, 5, 3)).tolist()]
    return {
        "family": one["family"], "numbers": one["numbers"], "side": one["side"], "others": others,
        "epsilons": epsilons, "deltas": one["deltas"][:3], "rtol": float(rng.choice([1e-3, 1e-3, 1e-6])),
    }  # fmt: skip


def compared(case: dict[str, Any]) -> Iterator[Check]:
    """delta(e) = reveal + sum of mass times delta_1(e - loss) over the values of all responses together."""
    family, side = case["family"], case["side"]
    parts, law = [losses.built(family, case["numbers"])], convolution.Law([(0, 1)])
    for other in case["others"]:
        if other["count"] < 1 or other["epsilon"] <= 0 or not 0 <= other["delta"] < 1:
            return
        one = qw.approximate(other["epsilon"], other["delta"]) if other["delta"] else qw.pure(other["epsilon"])
        parts.append(other["count"] * one)
        law = law * convolution.response(other["epsilon"], other["delta"]).power(other["count"])
    loss = qw.compose(*parts)
    loss = loss if side == "worst" else loss.direction(side)
    single = losses.truth(family, case["numbers"], side)

    def truth(epsilon: float) -> Any:
        place = mp.mpf(epsilon)
        return law.reveal + mp.fsum(mass * single(place - value) for value, mass in law.atoms)

    yield from _asked(f"{family} beside responses", loss, truth, case)


def _asked(name: str, loss: Any, truth: Any, case: dict[str, Any]) -> Iterator[Check]:
    if case["epsilons"]:
        found = loss.delta(np.array(case["epsilons"]), rtol=case["rtol"])
        for place, (lower, upper) in zip(case["epsilons"], ends(found), strict=True):
            value = truth(place)
            near = losses.NEAR
            low, high = (value * (1 - near), value * (1 + near)) if value > TINY else (mp.zero, 2 * TINY)
            yield inside(f"{name}: delta", lower, low, high, upper, f"epsilon {place!r}")
        yield ordered(f"{name}: delta falls", found, case["epsilons"])
    if case["deltas"]:
        found = loss.epsilon(np.array(case["deltas"]), rtol=case["rtol"])
        for share, (lower, upper) in zip(case["deltas"], ends(found), strict=True):
            top = truth(lower) if 0 < lower < math.inf else mp.inf
            bottom = truth(upper) if math.isfinite(upper) else mp.zero
            holds = bool(lower <= upper and top >= share * (1 - losses.NEAR) and bottom <= share * (1 + losses.NEAR))
            width = (upper - lower) / upper if math.isfinite(upper) and upper else math.nan
            note = f"delta {share!r}, said [{lower!r}, {upper!r}]"
            yield Check(f"{name}: epsilon", holds, float(abs(1 - bottom / share)) or math.nan, note, width)


KINDS = [Kind("compose", "extremes beside responses", drawn, compared)]
