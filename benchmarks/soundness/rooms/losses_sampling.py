"""Sampling schemes: exchanged and grouped records, random sensitivities, batches of fixed size; choices of candidates.

Truth: the mixtures of moved noise by their definition, in 70 digits; closed forms of one release.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.truth import closed, moved_noise
from tests.truth.numbers import mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, ends, inside, ordered

NEAR = mp.mpf(10) ** -40
TINY = mp.mpf(10) ** -140
SCHEMES = ("exchanged", "group", "random sensitivity", "fixed size", "exponential", "noisy max")
CHOICES = ("exponential", "noisy max")  # whose scale is an epsilon


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A scheme, its noise and rate, usual or extreme, and where to ask."""
    scheme, wide = str(rng.choice(SCHEMES)), bool(rng.random() < 0.3)
    scale = float(10.0 ** (rng.uniform(-2.5, 5) if wide else rng.uniform(-0.5, 1.2)))
    rate = float(10.0 ** rng.uniform(-12, 0)) if wide else float(rng.uniform(0.001, 0.95))
    size = int(rng.choice([1, 2, 3, 5, 12]))
    reach = min(size / scale * (0.5 * size / scale + 8.0) if scheme not in CHOICES else scale, 600.0)
    return {
        "scheme": scheme,
        "noise": str(rng.choice(["gaussian", "laplace"])),
        "scale": scale,
        "rate": rate,
        "size": size,
        "side": str(rng.choice(["remove", "add"])),
        "batch": [int(rng.integers(1, 20)), int(rng.integers(20, 1000))],
        "moves": (10.0 ** rng.uniform(-2, 1.5, 3)).tolist(),
        "epsilons": [0.0, *(reach * 10.0 ** -rng.uniform(0, 4, 4)).tolist(), *(-reach * rng.uniform(0, 1, 1)).tolist()],
        "delta": float(10.0 ** -rng.uniform(0.5, 30)),
    }


def _built(case: dict[str, Any]) -> tuple[Any, Any]:
    """The loss of one release, and delta(epsilon) in many digits."""
    scheme, scale, rate, size = case["scheme"], case["scale"], case["rate"], case["size"]
    if scheme == "exponential":
        top = mp.mpf(scale)
        return qw.exponential(scale), lambda e: _range(top, mp.mpf(e))
    if scheme == "noisy max":
        return qw.noisy_max(scale), lambda e: closed.laplace_delta(mp.mpf(scale), mp.mpf(e))
    base = getattr(qw, case["noise"])(scale)
    move = 1.0 / scale
    if scheme == "fixed size":
        share = mp.mpf(case["batch"][0]) / case["batch"][1]
        known = (
            (lambda e: closed.gaussian_delta(mp.mpf(move), e, 700))
            if case["noise"] == "gaussian"
            else (lambda e: closed.laplace_delta(mp.mpf(move), e))
        )
        return qw.fixed_size(base, *case["batch"]), lambda e: _batch(known, share, mp.mpf(e))
    if scheme == "random sensitivity":
        weights = [1 - rate, rate / 2, rate / 4, rate / 4]
        moves = [0.0, *case["moves"]]
        loss = qw.gaussian_mixture(moves, weights, scale)
        exact = moved_noise.gaussian_mixture([m / scale for m in moves], weights)
    elif scheme == "exchanged":
        loss = qw.poisson(base, rate, "replace_one")
        exact = moved_noise.sampled_group(case["noise"], move, rate, 1, True)
    else:
        loss = qw.poisson(base, rate).group(size)
        exact = moved_noise.sampled_group(case["noise"], move, rate, size)
    if scheme != "exchanged":
        loss, exact = loss.direction(case["side"]), exact.swapped() if case["side"] == "add" else exact
    return loss, exact.delta


def _range(top: Any, epsilon: Any) -> Any:
    if epsilon >= top:
        return mp.zero
    if epsilon <= -top:
        return -mp.expm1(epsilon)
    return mp.expm1((epsilon - top) / 2) ** 2 / -mp.expm1(-top)


def _batch(known: Any, share: Any, epsilon: Any) -> Any:
    if epsilon < 0:
        return -mp.expm1(epsilon) + mp.exp(epsilon) * _batch(known, share, -epsilon)
    return share * known(mp.log(1 + mp.expm1(epsilon) / share))


def compared(case: dict[str, Any]) -> Iterator[Check]:
    """Brackets of delta hold the truth; those of epsilon hold where it meets the delta."""
    if case["scale"] <= 0 or not 0 < case["rate"] <= 1 or case["size"] < 1 or case["batch"][0] >= case["batch"][1]:
        return
    (loss, exact), scheme = _built(case), case["scheme"]
    found = loss.delta(np.array(case["epsilons"]))
    for place, (lower, upper) in zip(case["epsilons"], ends(found), strict=True):
        value = exact(place)
        low, high = (value * (1 - NEAR), value * (1 + NEAR)) if value > TINY else (mp.zero, 2 * TINY)
        yield inside(f"{scheme}: delta", lower, low, high, upper, f"epsilon {place!r}")
    yield ordered(f"{scheme}: delta falls", found, case["epsilons"])
    if case["delta"]:
        lower, upper = next(iter(ends(loss.epsilon(case["delta"]))))
        top = exact(lower) if 0 < lower < math.inf else mp.inf
        bottom = exact(upper) if math.isfinite(upper) else mp.zero
        share = case["delta"]
        holds = bool(lower <= upper and top >= share * (1 - NEAR) and bottom <= share * (1 + NEAR))
        yield Check(f"{scheme}: epsilon", holds, note=f"delta {share!r}, said [{lower!r}, {upper!r}]")


KINDS = [Kind("losses", "sampling schemes", drawn, compared)]
