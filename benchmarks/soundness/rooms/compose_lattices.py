"""Discrete Gaussian noise, alone and beside discrete noise of other sizes: all sums of values, in many digits.

Copies of one noise are a power of a polynomial; noises of different sigma are added value by value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.truth import convolution
from tests.truth.numbers import Refused, mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, Skip, ends, inside

NEAR = mp.mpf(10) ** -40
TINY = mp.mpf(10) ** -60  # laws of different noises are cut far below
DIGITS = 110  # of the values that are kept of them


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """Noise from a third to a dozen, any count whose sums can be listed; places around the usual loss and far out."""
    sigma = round(float(10.0 ** rng.uniform(-0.52, 1.0)), int(rng.integers(1, 5)))
    sensitivity = int(rng.choice([1, 1, 2, 3, 7]))
    count = max(1, int(min(10.0 ** rng.uniform(0, 2.2), 400 / sigma)))
    mean, spread = count * (sensitivity / sigma) ** 2 / 2, math.sqrt(count) * sensitivity / sigma
    step = sensitivity / sigma**2
    epsilons = [0.0, *(mean + spread * rng.normal(size=6) * 2), *(mean + spread * rng.uniform(2, 25, 6))]
    epsilons += [mean + step * int(n) for n in rng.integers(-3, 40, 3)]  # on the lattice, or a rounding beside it
    return {
        "sigma": max(sigma, 0.3), "sensitivity": sensitivity, "count": count, "epsilons": [float(e) for e in epsilons],
        "deltas": (10.0 ** -rng.uniform(0.05, 60, 4)).tolist(),
        "alphas": [*(10.0 ** -rng.uniform(0, 12, 2)).tolist(), float(rng.uniform(0, 1))],
    }  # fmt: skip


def composed(case: dict[str, Any]) -> Iterator[Check | Skip]:
    """delta, epsilon and beta of copies of one noise."""
    sigma, sensitivity, count = case["sigma"], case["sensitivity"], case["count"]
    if not (sigma >= 0.05 and sensitivity >= 1 and count >= 1):
        return
    law = convolution.discrete_gaussian(mp.mpf(repr(sigma)), sensitivity)
    truth = convolution.lattice(*law, count)
    yield from _asked("discrete gaussians", count * qw.discrete_gaussian(sigma, sensitivity), truth, case)


def several(rng: np.random.Generator) -> dict[str, Any]:
    """Two or three noises on lattices that need not agree, or that do."""
    together = bool(rng.random() < 0.5)
    sigma = round(float(10.0 ** rng.uniform(-0.45, 0.25)), 2)
    sigmas = [sigma if together else round(float(10.0 ** rng.uniform(-0.45, 0.25)), 2) for _ in range(2)]
    moves = [int(m) for m in rng.choice([1, 2, 3], size=2)]
    mean = sum((m / s) ** 2 / 2 for s, m in zip(sigmas, moves, strict=True))
    spread = math.sqrt(2 * mean)
    return {
        "sigmas": sigmas, "moves": moves, "response": bool(rng.random() < 0.3),
        "epsilons": [0.0, *(mean + spread * np.append(rng.normal(size=4), rng.uniform(2, 12, 4))).tolist()],
        "deltas": (10.0 ** -rng.uniform(0.05, 30, 2)).tolist(), "alphas": [],
    }  # fmt: skip


def beside(case: dict[str, Any]) -> Iterator[Check | Skip]:
    """delta and epsilon of different noises together, and beside a randomized response."""
    if not (case["sigmas"] and min(case["sigmas"]) >= 0.05 and min(case["moves"]) >= 1):
        return
    truth, losses = None, []
    for sigma, move in zip(case["sigmas"], case["moves"], strict=True):
        origin, step, masses = convolution.discrete_gaussian(mp.mpf(repr(sigma)), move, DIGITS)
        one = convolution.Law((origin + step * n, mass) for n, mass in enumerate(masses))
        truth = one if truth is None else truth * one
        losses.append(qw.discrete_gaussian(sigma, move))
    if case["response"]:
        truth, losses = truth * convolution.response(mp.mpf("0.3")), [*losses, qw.pure(0.3)]
    yield from _asked("different discrete gaussians", qw.compose(*losses), truth, case, TINY)


def _asked(
    title: str, loss: Any, truth: Any, case: dict[str, Any], tiny: Any = convolution.TINY
) -> Iterator[Check | Skip]:
    epsilons, deltas = np.array(case["epsilons"]), np.array(case["deltas"])
    for place, (lower, upper) in zip(case["epsilons"], ends(loss.delta(epsilons)), strict=True):
        exact = truth.delta(place)
        if exact < tiny:
            yield Skip("too small")
            continue
        yield inside(f"{title}, delta", lower, exact * (1 - NEAR), exact * (1 + NEAR), upper, f"epsilon {place!r}")
    for delta, (lower, upper) in zip(case["deltas"], ends(loss.epsilon(deltas)), strict=True):
        level, note = mp.mpf(delta), f"delta {delta!r}"
        yield Check(f"{title}, epsilon", bool(truth.delta(upper) <= level * (1 + NEAR)), note=note)
        if lower > 0:  # a hair to the left of it there is more than delta
            holds = bool(truth.delta(lower * (1 - 2.0**-52)) >= level * (1 - NEAR))
            yield Check(f"{title}, epsilon, lower end", holds, note=note)
    alphas = case["alphas"]
    for alpha, (lower, upper) in zip(alphas, ends(loss.beta(np.array(alphas))) if alphas else [], strict=True):
        try:
            exact = truth.beta(alpha)
        except Refused:
            yield Skip("too small")
            continue
        yield inside(
            f"{title}, beta", lower, exact * (1 - NEAR), exact * (1 + NEAR), upper, f"alpha {alpha!r}", "lower"
        )


KINDS = (
    Kind("compose", "discrete gaussians", drawn, composed),
    Kind("compose", "different discrete gaussians", several, beside),
)
