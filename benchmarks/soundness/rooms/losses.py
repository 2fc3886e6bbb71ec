"""Single losses: every family in its closed form, to 55 digits, also where numbers are extreme."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from tests.truth import closed
from tests.truth.numbers import mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, ends, inside, ordered

NEAR = mp.mpf(10) ** -45
TINY = mp.mpf(10) ** -140  # truths are no longer told apart below
Truth = Callable[[float], Any]


def _power(rng: np.random.Generator, low: float, high: float) -> float:
    return float(10.0 ** rng.uniform(low, high))


def _numbers(rng: np.random.Generator, family: str) -> list[float]:
    """Parameters: usual, and extreme."""
    wide = rng.random() < 0.3
    noise = _power(rng, -1.6, 4) if wide else _power(rng, -0.5, 1.5)
    rate = _power(rng, -14, 0) if wide else _power(rng, -3, -0.1)
    return {
        "gaussian": [noise, float(rng.choice([1.0, 0.25, 3.0]))],
        "gdp": [1 / noise],
        "laplace": [noise, float(rng.choice([1.0, 0.25, 3.0]))],
        "pure": [_power(rng, -6, 2.8) if wide else _power(rng, -2, 1)],
        "approximate": [_power(rng, -4, 1), _power(rng, -15, -0.1)],
        "sampled gaussian": [noise, rate],
        "sampled laplace": [noise, rate],
        "sampled pure": [_power(rng, -3, 2 if wide else 0.7), rate],
    }[family]


FAMILIES = (
    "gaussian", "gdp", "laplace", "pure", "approximate", "sampled gaussian", "sampled laplace", "sampled pure"
)  # fmt: skip


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A family, its numbers, a direction, and where to ask."""
    family = FAMILIES[int(rng.integers(len(FAMILIES)))]
    numbers = _numbers(rng, family)
    side = str(rng.choice(["remove", "add"])) if "sampled" in family else "worst"
    reach = reach_of(family, numbers)
    epsilons = [0.0, *(reach * rng.uniform(0, 1.05, 8)).tolist(), *(reach * 10.0 ** -rng.uniform(0, 6, 4)).tolist()]
    epsilons += (-reach * rng.uniform(0, 1, 3)).tolist()
    deltas = (10.0 ** -np.append(rng.uniform(0, 8, 5), rng.uniform(8, 100, 2))).tolist()
    return {"family": family, "numbers": numbers, "side": side, "epsilons": epsilons, "deltas": deltas}


def reach_of(family: str, numbers: list[float]) -> float:
    """About the largest loss that matters."""
    first = numbers[0]
    mu = {"gaussian": numbers[-1] / first, "gdp": first, "sampled gaussian": 1 / first}.get(family)
    if mu is not None:
        return min(mu * mu / 2 + 12 * mu, 5000.0)
    if "laplace" in family:
        first = (numbers[1] if family == "laplace" else 1.0) / first
    return min(first, 5000.0)


def built(family: str, numbers: list[float]) -> Any:
    """The loss."""
    if family.startswith("sampled"):
        base = {"gaussian": qw.gaussian, "laplace": qw.laplace, "pure": qw.pure}[family.split()[1]]
        return qw.poisson(base(numbers[0]), numbers[1])
    return getattr(qw, family)(*numbers)


def _response(epsilon_0: Any, delta_0: Any, epsilon: Any) -> Any:
    """One (epsilon_0, delta_0) release: both atoms."""
    e0, d0, e = mp.mpf(epsilon_0), mp.mpf(delta_0), mp.mpf(epsilon)
    if e >= e0:
        return d0
    if e <= -e0:
        return d0 - (1 - d0) * mp.expm1(e)
    return d0 - (1 - d0) * mp.expm1(e - e0) / (1 + mp.exp(-e0))


def truth(family: str, numbers: list[float], side: str) -> Truth:
    """delta(epsilon), many digits."""
    first = mp.mpf(numbers[0])
    bases: dict[str, Callable[[Any], Any]] = {
        "gaussian": lambda e: closed.gaussian_delta(1 / first, e, 700),
        "laplace": lambda e: closed.laplace_delta(1 / first, e),
        "pure": lambda e: _response(first, 0, e),
    }
    if family.startswith("sampled"):
        return lambda e: closed.subsampled_delta(bases[family.split()[1]], numbers[1], side, e, 700)
    return {
        "gaussian": lambda e: closed.gaussian_delta(mp.mpf(numbers[-1]) / first, e, 700),
        "gdp": lambda e: closed.gaussian_delta(first, e, 700),
        "laplace": lambda e: closed.laplace_delta(mp.mpf(numbers[-1]) / first, e),
        "pure": bases["pure"],
        "approximate": lambda e: _response(first, numbers[-1], e),
    }[family]


def compared(case: dict[str, Any]) -> Iterator[Check]:
    """Brackets of delta hold the truth; those of epsilon hold where it meets the delta."""
    family, side = case["family"], case["side"]
    loss = built(family, case["numbers"])
    loss = loss if side == "worst" else loss.direction(side)
    exact = truth(family, case["numbers"], side)
    if case["epsilons"]:
        found = loss.delta(np.array(case["epsilons"]))
        for place, (lower, upper) in zip(case["epsilons"], ends(found), strict=True):
            value = exact(place)
            low, high = (value * (1 - NEAR), value * (1 + NEAR)) if value > TINY else (mp.zero, 2 * TINY)
            yield inside(f"{family}: delta", lower, low, high, upper, f"epsilon {place!r}")
        yield ordered(f"{family}: delta falls", found, case["epsilons"])
    if case["deltas"]:
        found = loss.epsilon(np.array(case["deltas"]))
        for share, (lower, upper) in zip(case["deltas"], ends(found), strict=True):
            top = exact(lower) if 0 < lower < math.inf else mp.inf
            bottom = exact(upper) if math.isfinite(upper) else mp.zero
            holds = bool(lower <= upper and top >= share * (1 - NEAR) and bottom <= share * (1 + NEAR))
            width = (upper - lower) / upper if math.isfinite(upper) and upper else math.nan
            note = f"delta {share!r}, said [{lower!r}, {upper!r}]"
            yield Check(f"{family}: epsilon", holds, float(abs(1 - bottom / share)) or math.nan, note, width)
        yield ordered(f"{family}: epsilon falls", found, case["deltas"])


KINDS = [Kind("losses", "closed forms", drawn, compared)]
