"""Designs after releases with continuous noise: the delta of the very table, from the laws of both outputs together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from scipy.special import ndtr
from tests.soundness.confounding_checks import Check
from tests.soundness.confounding_laws import Law, Part, best_test, mp

from quiltwork.confounding import World, noise
from quiltwork.errors import Unreachable

FLOATS = 2e-8  # of the sum over a grid that stands for the integral in the binned case
POINTS = 100_001


@attrs.frozen(eq=False)
class Noisy:
    """A task after continuous noise; `truth` gives delta of a table g[input, z] at an epsilon."""

    make: Callable[..., Any]
    truth: Callable[[np.ndarray, float], Any]
    slack: float
    epsilon: float
    before: float
    words: dict[str, Any]

    @property
    def size(self) -> int:
        """For picking the smallest counterexample."""
        return sum(np.size(value) for value in self.words.values())

    def to_json(self) -> dict[str, Any]:
        """All that is needed to look at it again."""
        return {**self.words, "epsilon": self.epsilon}


def _rounded(rng: np.random.Generator, low: float, high: float) -> float:
    return float(f"{np.exp(rng.uniform(low, high)):.3g}")


def finite(rng: np.random.Generator) -> Noisy:
    """Finite data, one Laplace noise or Gaussian ones; in 50 digits."""
    inputs = int(rng.integers(2, 5))
    values = [round(value, 2) for value in np.cumsum(rng.uniform(0.3, 1.5, inputs)).tolist()]
    data = rng.dirichlet(np.ones(inputs), 2)
    world, kind = World(data=data, values=values), str(rng.choice(["laplace", "gaussian"]))
    scales = [_rounded(rng, 0.0, 2.0) for _ in range(1 if kind == "laplace" else int(rng.integers(1, 3)))]
    release = world.release(*(noise(kind, scale) for scale in scales))
    if kind == "laplace":
        parts = tuple(Part("laplace", (value, scales[0])) for value in values)
    else:
        variance = 1 / sum(1 / Fraction(repr(scale)) ** 2 for scale in scales)
        parts = tuple(Part("normal", (value, 0.0), variance) for value in values)
    rows = [[mp.mpf(float(entry)) for entry in row] for row in data]
    rows = [[entry / sum(row) for entry in row] for row in rows]

    def truth(table: np.ndarray, epsilon: float) -> Any:
        return max(_summed(rows[i], rows[1 - i], parts, table, epsilon) for i in (0, 1))

    epsilon = _rounded(rng, -2.0, 0.7)
    words = {"data": data.tolist(), "values": values, "kind": kind, "scales": scales}
    make = _designer(world.design, release)
    return Noisy(make, truth, 0.0, epsilon, float(release.delta(epsilon).upper), words)


def _designer(design: Callable[..., Any], release: Any, **options: Any) -> Callable[..., Any]:
    return lambda **target: design(release, **target, **options, progress=False)


def _summed(one: Any, two: Any, parts: tuple[Part, ...], table: np.ndarray, epsilon: float) -> Any:
    """sum_z E_t(p_z || q_z) of laws that are not normalised: c E_t'(p_z/c || q_z/c') with t' = t c'/c."""
    total = mp.zero
    for z in range(table.shape[1]):
        kept = [x for x in range(len(parts)) if table[x, z] > 0]
        if not kept:
            continue
        weights = [[row[x] * mp.mpf(float(table[x, z])) for x in kept] for row in (one, two)]
        sizes = [sum(row) for row in weights]
        laws = [Law(tuple(row), tuple(parts[x] for x in kept)) for row in weights]
        total += sizes[0] * best_test(*laws, mp.mpf(epsilon) + mp.log(sizes[1] / sizes[0])).delta
    return total


def binned(rng: np.random.Generator) -> Noisy:
    """Normal data read in bins after Gaussian noise; the integral is a sum over a fine grid."""
    means = [0.0, round(float(rng.uniform(0.2, 1.5)), 2)]
    spread, scale = _rounded(rng, -0.7, 0.7), _rounded(rng, 0.0, 2.0)
    edges = np.unique(np.round(rng.normal(0.5, 1.0, int(rng.integers(1, 4))), 2))
    world = World.gaussian(means, sd=spread)
    release = world.release(scale)
    wide = math.hypot(spread, scale)
    y = np.linspace(-12.0 * wide, means[1] + 12.0 * wide, POINTS)
    pieces = np.array([_slices(mean, spread, scale, edges, y) for mean in means])

    def truth(table: np.ndarray, epsilon: float) -> float:
        joint = np.einsum("sby,bz->szy", pieces, table)
        sums = [np.maximum(joint[i] - math.exp(epsilon) * joint[1 - i], 0.0).sum() for i in (0, 1)]
        return float(max(sums)) * float(y[1] - y[0])

    epsilon = _rounded(rng, -2.0, 0.7)
    words = {"means": means, "sd": spread, "scale": scale, "edges": edges.tolist()}
    make = _designer(world.design, release, edges=edges.tolist())
    return Noisy(make, truth, FLOATS, epsilon, float(release.delta(epsilon).upper), words)


def _slices(mean: float, spread: float, scale: float, edges: np.ndarray, y: np.ndarray) -> np.ndarray:
    """P(x in bin, y) for each bin: the law of y times the posterior of the bin; the outer bins are endless."""
    total = spread**2 + scale**2
    dense = np.exp(-0.5 * (y - mean) ** 2 / total) / math.sqrt(2 * math.pi * total)
    centre, width = mean + (y - mean) * spread**2 / total, spread * scale / math.sqrt(total)
    bounds = np.concatenate([[-np.inf], edges, [np.inf]])
    return np.diff(ndtr((bounds[:, None] - centre) / width), axis=0) * dense


KINDS: dict[str, Callable[[np.random.Generator], Noisy]] = {"finite data": finite, "binned data": binned}


def designed(case: Noisy, rng: np.random.Generator) -> Iterator[Check]:
    """delta of the table lies in the bracket, and below the target."""
    delta = round(min(case.before + float(rng.choice([0.005, 0.02, 0.1])), 0.95), 4) + 1e-4
    note = f"delta {delta!r}"
    try:
        found = case.make(epsilon=case.epsilon, delta=delta)
    except Unreachable as error:
        yield Check("after noise: there is an answer", False, note=f"{note}: {error}")
        return
    exact, low, high = case.truth(found.channel, case.epsilon), float(found.delta.lower), float(found.delta.upper)
    yield Check("after noise: rows of the table", bool((found.counts.sum(axis=1) == 1 << found.bits).all()), note=note)
    room = math.nan if case.slack else float(delta - exact) / delta
    yield Check("after noise: delta <= target", bool(exact <= delta + case.slack), room, note)
    yield Check("after noise: delta, upper end", bool(exact <= high + case.slack), note=f"{note}, {exact}, {high!r}")
    yield Check("after noise: delta, lower end", bool(exact >= low - case.slack), note=f"{note}, {exact}, {low!r}")
    if found.lower_bound is not None:
        yield Check("after noise: lower bound <= cost", found.lower_bound <= found.cost, note=note)
