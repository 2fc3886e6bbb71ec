"""Gaussian noise on functions of small priors.

Truth: half-lines of N(h(data), sigma) with h that moves by 1, given every two values of every entry: events that are
legal, so that their delta is within the bound. Questions: delta and epsilon of `guarantee`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import ndtr

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, Skip
from benchmarks.soundness.rooms.pufferfish import heights
from benchmarks.soundness.rooms.small_laws import built, drawn
from quiltwork import pufferfish as pf

SLACK, TINY = 1e-9, 1e-12  # of truths in floating point


def noisy(rng: np.random.Generator) -> dict[str, Any]:
    """The same with Gaussian noise on a function of the data."""
    case = drawn(rng)
    sigma = round(float(np.exp(rng.uniform(-1.2, 2.0))), 3)
    return {
        **case,
        "sigma": sigma,
        "loss": str(rng.choice(["gaussian", "gdp", "zcdp", "twice"])),
        "epsilons": np.round(rng.exponential(1.0, 3), 3).tolist(),
        "deltas": (10.0 ** -rng.uniform(1, 6, 2)).tolist(),
        "picks": [int(n) for n in rng.integers(0, 10**9, 60)],
    }


def blurred(case: dict[str, Any]) -> Iterator[Check | Skip]:
    """N(h(data), sigma) with h that moves by 1: half-lines are events, their delta is within that of the guarantee."""
    found, sigma = built(case), case["sigma"]
    if found is None or sigma <= 0:
        return
    prior, shape, pairs = found.prior, found.shape, found.pairs
    mu = 1 / sigma
    loss = {
        "gaussian": lambda: qw.gaussian(sigma),
        "gdp": lambda: qw.gdp(mu),
        "zcdp": lambda: qw.zcdp(mu * mu / 2),
        "twice": lambda: 2 * qw.gaussian(sigma * math.sqrt(2.0)),
    }[case["loss"]]()
    table = heights(shape)[np.array(case["picks"]) % len(heights(shape))].astype(float)
    laws = np.array([[[float(m) for m in law] for law in pair] for pair in pairs])
    laws /= laws.sum(axis=2, keepdims=True)
    cuts = np.linspace(-4 * sigma, 3 + 4 * sigma, 41)
    tails = np.concatenate([ndtr((table[:, :, None] - cuts) / sigma), ndtr((cuts - table[:, :, None]) / sigma)], axis=2)
    first, second = (np.einsum("pd,hdc->phc", laws[:, side], tails) for side in (0, 1))

    def truth(epsilon: float) -> float:
        return float((first - math.exp(epsilon) * second).max())

    try:
        promise = pf.guarantee(loss, prior)
        deltas = np.asarray(promise.delta(np.array(case["epsilons"])).upper)
        epsilons = [float(promise.epsilon(delta).upper) for delta in case["deltas"]]
    except qw.errors.Unsupported as refusal:
        yield Skip(str(refusal))
        return
    name = f"small prior, {case['loss']} noise"
    for epsilon, bound in zip(case["epsilons"], deltas.tolist(), strict=True):
        least = truth(epsilon)
        margin = (bound - least) / least if least > 1e-9 and bound > least * (1 + SLACK) else math.nan
        note = f"epsilon {epsilon!r}: {least!r}, said {bound!r}"
        yield Check(f"{name}: delta", least <= bound * (1 + SLACK) + TINY, margin, note)
    for delta, bound in zip(case["deltas"], epsilons, strict=True):
        if math.isfinite(bound):
            least = truth(bound)
            note = f"delta {delta!r}, said {bound!r}: {least!r}"
            yield Check(f"{name}: epsilon", least <= delta * (1 + SLACK) + TINY, note=note)


KINDS = [Kind("pufferfish", "small priors, Gaussian noise", noisy, blurred)]
