"""Laplace beside Gaussian readings of one finite world.

Truth: which cell each output falls into is a function of it, so that no law of cells is told apart better than the
outputs; cells are many, so that it is hardly told apart worse.  Questions: delta from both sides, epsilon, beta.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import ndtr

from benchmarks.soundness.claims import Check, Kind, at_most
from quiltwork.confounding import World, noise

SURE = 1 - 1e-9  # of what is summed in doubles
COARSE = 5e-3  # what cells may lose


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """P(data | secret) by whole weights, values, and two noises of which one at least is Laplace."""
    secrets, values = (int(n) for n in rng.integers(2, 4, 2))
    most = int(rng.choice([3, 10, 1000]))
    rows = rng.integers(0, most + 1, (secrets, values))
    rows[:, 0] += 1
    places = rng.choice(np.arange(-40, 41), values, replace=False)
    kinds = ["laplace", str(rng.choice(["gaussian", "gaussian", "laplace"]))]
    return {
        "data": [[int(entry) for entry in row] for row in rows], "places": [int(place) for place in places],
        "kinds": kinds, "scales": [round(float(np.exp(rng.uniform(-1.5, 1.5))), 3) for _ in kinds],
        **_asked(rng),
    }  # fmt: skip


def _asked(rng: np.random.Generator) -> dict[str, list[float]]:
    """Questions of one kind: inverting a curve asks for many of its values."""
    kind = int(rng.choice(3, p=(0.6, 0.2, 0.2)))
    return {
        "epsilons": [0.0, float(rng.exponential(1.5))] if kind == 0 else [],
        "deltas": [float(10.0 ** rng.uniform(-4, -0.5))] if kind == 1 else [],
        "alphas": rng.uniform(size=3).tolist() if kind == 2 else [],
    }


def _cells(kind: str, scale: float, values: np.ndarray) -> np.ndarray:
    """The law of the cell of one output, given each value."""
    cuts = np.linspace(values.min() - 7 * scale, values.max() + 7 * scale, 300)
    cuts = np.unique(np.concatenate([cuts, values]))
    moved = (cuts - values[:, None]) / scale
    below = ndtr(moved) if kind == "gaussian" else np.where(
        moved < 0, 0.5 * np.exp(np.minimum(moved, 0.0)), 1.0 - 0.5 * np.exp(-np.maximum(moved, 0.0))
    )  # fmt: skip
    ends = np.ones((len(values), 1))
    return np.diff(np.concatenate([0.0 * ends, below, ends], axis=1), axis=1)


def told(case: dict[str, Any]) -> Iterator[Check]:
    """All cells of both outputs."""
    weights, values = np.array(case["data"], dtype=float), np.array(case["places"]) / 20.0
    if len(weights) < 2 or weights.min() < 0 or len(set(case["places"])) < len(values) or min(case["scales"]) <= 0:
        return
    if len(case["kinds"]) != 2 or "laplace" not in case["kinds"]:
        return
    data = weights / weights.sum(axis=1, keepdims=True)
    world = World(data=[[f"{entry}/{sum(row)}" for entry in row] for row in case["data"]], values=values.tolist())
    release = world.release(*(noise(kind, scale) for kind, scale in zip(case["kinds"], case["scales"], strict=True)))
    one, two = (_cells(kind, scale, values) for kind, scale in zip(case["kinds"], case["scales"], strict=True))
    laws = [np.einsum("v,va,vb->ab", row, one, two).ravel() for row in data]
    pairs = list(itertools.permutations(laws, 2))

    def delta(epsilon: float) -> float:
        return max(float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()) for p, q in pairs)

    for epsilon in case["epsilons"]:
        found, least = release.delta(epsilon), delta(epsilon)
        note = f"epsilon {epsilon!r}, [{float(found.lower)!r}, {float(found.upper)!r}]"
        yield at_most("mixed noises: delta", least * SURE - 1e-13, float(found.upper), note)
        yield at_most("mixed noises: delta, lower end", float(found.lower), least + COARSE, note)
    for share in case["deltas"]:
        most = float(release.epsilon(share).upper)
        if math.isfinite(most):
            note = f"delta {share!r}, epsilon {most!r}"
            yield at_most("mixed noises: epsilon", delta(most) * SURE - 1e-13, share, note)
    for alpha in case["alphas"]:
        lower = float(release.beta(alpha).lower)
        attained = min(_beta(p, q, alpha) for p, q in pairs)
        yield at_most("mixed noises: beta", lower, attained + 1e-9, f"alpha {alpha!r}")


def _beta(p: np.ndarray, q: np.ndarray, alpha: float) -> float:
    """The least type II error of a test of q against p at this type I error, randomised at one cell."""
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.where(q > 0, p / q, np.where(p > 0, np.inf, 0.0)))
    used, hit = np.cumsum(q[order]), np.cumsum(p[order])
    return float(1.0 - np.interp(alpha, np.concatenate([[0.0], used]), np.concatenate([[0.0], hit])))


KINDS = [Kind("confounding", "Laplace beside Gaussian readings", drawn, told)]
