"""Single losses where formulas lose digits: beside the largest and the least loss, rates near 0 and 1, clipped sticks.

Truths are the closed forms of `losses`, in 55 digits. Questions lie some units of roundoff, or a share of 1e-12 to
1e-1, beside the losses where a profile bends, and at the deltas that it has there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.truth.numbers import mp

from benchmarks.soundness.claims import Kind
from benchmarks.soundness.rooms.losses import compared, truth

FAMILIES = ("laplace", "pure", "approximate", "sampled gaussian", "sampled laplace", "sampled pure")
UNIT = 2.0**-53
LEAST_DELTA = 1e-130  # truths are told apart above 1e-140


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A family, its numbers, a direction, and questions beside its bends."""
    family = FAMILIES[int(rng.integers(len(FAMILIES)))]
    first = float(10.0 ** rng.uniform(-1.0, 3.0))
    numbers = [first]
    if family == "laplace":
        numbers.append(1.0)
    elif family == "approximate":
        numbers = [1 / first, float(10.0 ** -rng.uniform(0.01, 30))]
    elif family.startswith("sampled"):
        if family.endswith("pure"):
            numbers = [1 / first]
        numbers.append(_rate(rng))
    elif family == "pure":
        numbers = [1 / first]
    side = str(rng.choice(["remove", "add"])) if "sampled" in family else "worst"
    bends = _bends(family, numbers, side)
    epsilons = [_beside(rng, float(rng.choice(bends))) for _ in range(10)]
    exact = truth(family, numbers, side)
    deltas = [float(exact(epsilon)) for epsilon in epsilons[:6] if epsilon > 0]
    deltas += [_beside(rng, one) for one in deltas[:3]] + [1.0 - UNIT * float(2.0 ** rng.integers(1, 40))]
    if family == "approximate":
        deltas += [_beside(rng, numbers[1]) for _ in range(3)]
    deltas = [delta for delta in deltas if LEAST_DELTA < delta < 1.0]
    return {"family": family, "numbers": numbers, "side": side, "epsilons": epsilons, "deltas": deltas}


def _rate(rng: np.random.Generator) -> float:
    """Near 0, near 1, or anywhere."""
    way = rng.integers(3)
    if way == 0:
        return float(10.0 ** -rng.uniform(2, 40))
    if way == 1:
        return 1.0 - UNIT * float(2.0 ** rng.integers(1, 52))
    return float(rng.uniform(0.001, 0.999))


def _bends(family: str, numbers: list[float], side: str) -> list[float]:
    """The largest and the least loss, and 0; of sampled Gaussian noise the one that is finite, and some steep ones."""
    first = mp.mpf(numbers[0])
    top = first if family.endswith("pure") or family == "approximate" else 1 / first
    if not family.startswith("sampled"):
        return [float(top), -float(top), 0.0]
    rate, sign = mp.mpf(numbers[1]), 1 if side == "remove" else -1
    if family == "sampled gaussian":
        losses = [mp.log1p(-rate), mp.log1p(rate * mp.expm1(min(3 * top + top * top / 2, 700)))]
    else:
        losses = [mp.log1p(rate * mp.expm1(way * min(top, 700))) for way in (1, -1)]
    return [sign * float(loss) for loss in losses] + [0.0]


def _beside(rng: np.random.Generator, value: float) -> float:
    """A number some units of roundoff, or a small share, beside this one; itself now and then."""
    way = rng.integers(4)
    share = 0.0 if way == 0 else UNIT * 2.0 ** rng.integers(1, 20) if way == 1 else 10.0 ** -rng.uniform(1, 12)
    sign = 1.0 if rng.random() < 0.4 else -1.0
    return float(value * (1 + sign * share) if value else sign * (share if way < 3 else 10.0 ** -rng.uniform(1, 300)))


KINDS = [Kind("losses", "edges", drawn, compared)]
