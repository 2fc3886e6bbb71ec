"""Groups of entries: `loss.group(n)`.

Truth: a legal mechanism n steps away (noise that is moved by n, the chance that grows as fast as it may), in many
digits. Questions: delta and epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.truth import closed, convolution
from tests.truth.numbers import mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, covers, ends, inside

NEAR = mp.mpf(10) ** -40
TINY = mp.mpf(10) ** -120


def grouped(rng: np.random.Generator) -> dict[str, Any]:
    """A family and a size."""
    family = str(
        rng.choice(
            ["pure", "laplace", "gaussian", "gdp", "zcdp", "approximate", "discrete_gaussian", "discrete_laplace"]
        )
    )
    size, scale = int(rng.choice([2, 3, 4, 5, 9])), float(10.0 ** rng.uniform(-0.3, 1.3))
    number = round(
        scale if family in ("laplace", "gaussian", "discrete_gaussian", "discrete_laplace") else 1 / scale, 3
    )
    return {
        "family": family,
        "number": number,
        "delta": float(10.0 ** rng.uniform(-8, -1.5)),
        "size": size,
        "epsilons": [0.0, *np.round(rng.exponential(size * min(number, 1.0), 8), 4).tolist()],
        "deltas": (10.0 ** -rng.uniform(0.5, 9, 3)).tolist(),
    }


def _far(case: dict[str, Any]) -> Any:
    """delta of a mechanism that obeys the statement for one step, at `size` steps; exact for noise."""
    family, size, number = case["family"], case["size"], mp.mpf(repr(case["number"]))
    if family in ("pure", "laplace"):
        reach = size * (number if family == "pure" else 1 / number)
        return lambda e: closed.laplace_delta(reach, e)
    if family in ("gaussian", "gdp", "zcdp"):
        mu = (
            size
            * {"gaussian": lambda: 1 / number, "gdp": lambda: number, "zcdp": lambda: mp.sqrt(2 * number)}[family]()
        )
        return lambda e: closed.gaussian_delta(mu, e, 700)
    if family == "approximate":  # the chance that grows as fast as it may, from 0
        chance = [mp.zero]
        for _ in range(size):
            grown = mp.exp(number) * chance[-1] + mp.mpf(case["delta"])
            rest = 1 - (1 - chance[-1] - mp.mpf(case["delta"])) * mp.exp(-number)
            chance.append(min(grown, rest, mp.one))
        return lambda e: max(chance[-1], 1 - mp.exp(mp.mpf(e)) * (1 - chance[-1]), mp.zero)
    law = getattr(convolution, family)(case["number"], size)
    return convolution.lattice(*law).delta


def together(case: dict[str, Any]) -> Iterator[Check]:
    """loss.group(n) is no less than what a legal mechanism tells n steps away."""
    if case["size"] < 1 or case["number"] <= 0:
        return
    family, given = case["family"], [case["number"]] + ([case["delta"]] if case["family"] == "approximate" else [])
    loss, truth = getattr(qw, family)(*given).group(case["size"]), _far(case)
    sharp = family not in ("pure", "zcdp", "approximate")
    for place, (lower, upper) in zip(case["epsilons"], ends(loss.delta(np.array(case["epsilons"]))), strict=True):
        value = truth(place)
        low, high = (value * (1 - NEAR), value * (1 + NEAR)) if value > TINY else (mp.zero, 2 * TINY)
        note = f"epsilon {place!r}"
        yield (
            inside(f"group, {family}: delta", lower, low, high, upper, note)
            if sharp
            else covers(f"group, {family}: delta", low, upper, note)
        )
    for share in case["deltas"]:
        upper = float(loss.epsilon(share).upper)
        if math.isfinite(upper):
            yield Check(
                f"group, {family}: epsilon",
                bool(truth(upper) <= share * (1 + NEAR)),
                note=f"delta {share!r}, said {upper!r}",
            )


KINDS = [Kind("losses", "groups", grouped, together)]
