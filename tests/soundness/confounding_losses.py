"""Theorem B with the engine's losses: channels whose loss between any two values of the data is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from tests.soundness import confounding_truth as truth
from tests.soundness import confounding_worlds as worlds
from tests.soundness.confounding_checks import NOTHING, Check, at_most
from tests.soundness.confounding_truth import Table
from tests.soundness.confounding_worlds import Place

import quiltwork as qw
from quiltwork.confounding import noise_channel, randomized_response, repeated
from quiltwork.losses.families.finite import FiniteLaws

ROUNDED = Fraction(1, 10**12)  # a table of floats is a rounding of the mechanism whose loss is stated


@attrs.frozen(eq=False)
class Lossy:
    """A world, a channel and what it loses between values of the data (at distance one, if there is a distance)."""

    place: Place
    channel: Any
    loss: Any
    distance: Any = None

    @property
    def size(self) -> int:
        """For picking the smallest counterexample."""
        return math.prod(self.place.data.shape)

    def to_json(self) -> dict[str, Any]:
        """All that is needed to look at it again."""
        release = self.place.world.release(self.channel)
        return {**self.place.to_json(), "channel": release.channel.tolist(), "loss": repr(self.loss)}


def response(rng: np.random.Generator) -> Lossy:
    """Randomized response, some times."""
    place, epsilon = worlds.world(rng, most=3), float(np.exp(rng.uniform(-3.0, 1.0)))
    times = int(rng.integers(1, 6))
    return Lossy(place, repeated(randomized_response(place.world.inputs, epsilon), times), times * qw.pure(epsilon))


def revealing(rng: np.random.Generator) -> Lossy:
    """Randomized response that now and then tells the data."""
    place, epsilon = worlds.world(rng, floats=True), float(np.exp(rng.uniform(-3.0, 1.0)))
    inputs, share = place.world.inputs, float(10.0 ** rng.uniform(-6, -0.5))
    table = np.hstack([share * np.eye(inputs), (1 - share) * randomized_response(inputs, epsilon)])
    return Lossy(place, table / table.sum(axis=1, keepdims=True), qw.approximate(epsilon, share))


def noise(rng: np.random.Generator) -> Lossy:
    """Cells of Gaussian noise on values within a range of one."""
    from scipy.special import ndtr

    place, sigma = worlds.world(rng), float(np.exp(rng.uniform(-0.7, 2.0)))
    edges = np.concatenate([[-np.inf], np.linspace(-2.0 * sigma, 1.0 + 2.0 * sigma, 8), [np.inf]])
    at = (edges - np.linspace(0.0, 1.0, place.world.inputs)[:, None]) / sigma
    table = np.where(at[:, :-1] > 0, ndtr(-at[:, :-1]) - ndtr(-at[:, 1:]), ndtr(at[:, 1:]) - ndtr(at[:, :-1]))
    return Lossy(place, table / table.sum(axis=1, keepdims=True), qw.gaussian(sigma))


def pair(rng: np.random.Generator) -> Lossy:
    """Two values of the data, so that Theorem B is an equality."""
    place, columns = worlds.world(rng, inputs=2), int(rng.integers(2, 5))
    rows = [worlds.law(rng, columns, zeros=False) for _ in range(2)]
    return Lossy(place, rows, qw.pair(*([float(entry) for entry in row] for row in rows)))


def steps(rng: np.random.Generator) -> Lossy:
    """Geometric noise: its loss is between neighbouring values, and farther ones are groups."""
    place, epsilon = worlds.world(rng), float(np.exp(rng.uniform(-3.0, 1.0)))
    inputs = place.world.inputs
    table = noise_channel(np.arange(inputs), np.arange(-3, inputs + 3), 2.0 / epsilon, "laplace")
    return Lossy(place, table, qw.pure(epsilon), lambda i, j: abs(i - j))


KINDS: dict[str, Callable[[np.random.Generator], Lossy]] = {
    "response": response,
    "revealing": revealing,
    "noise": noise,
    "pair": pair,
    "steps": steps,
}


def bounded(case: Lossy, rng: np.random.Generator) -> Iterator[Check]:
    """truth <= bound from the loss <= min(cap, loss)."""
    place, found = case.place, case.place.world.bound(case.loss, distance=case.distance)
    rows = place.data.through(_exact(case))
    for epsilon in (0.0, float(rng.uniform(0.0, 0.5)), float(rng.exponential(1.0))):
        note = f"epsilon {epsilon!r}"
        low, high = truth.exp_ends(epsilon)
        upper = float(found.delta(epsilon).upper)
        least = truth.delta(rows, place.pairs, high) * (1 - ROUNDED) - ROUNDED
        yield at_most("truth <= bound from a loss", least, upper, note)
        cap = truth.delta(place.data, place.pairs, low) + NOTHING
        yield at_most("bound from a loss <= cap", Fraction(upper) * (1 - Fraction(1, 10**9)), cap, note)
        if case.distance is None:
            level = Fraction(float(case.loss.delta(epsilon).safe)) + NOTHING
            yield at_most("bound from a loss <= its loss", Fraction(upper) * (1 - Fraction(1, 1000)), level, note)
        if isinstance(case.loss.parts[0].family, FiniteLaws):  # the theorem is an equality, for the worse of both ways
            other = place.data.through(Table(_exact(case).rows[::-1], _exact(case).unit))
            told = max(truth.delta(one, place.pairs, low) for one in (rows, other))
            lower = Fraction(float(found.delta(epsilon).lower))
            yield at_most("lower end from a loss <= truth", lower, told + ROUNDED, note)
    share = float(10.0 ** rng.uniform(-4, -0.3))
    odds, top = truth.odds(rows, place.pairs, Fraction(share) + ROUNDED), float(found.epsilon(share).upper)
    if odds is not None and math.isfinite(top):
        room = truth.LARGE.mpf(top) - truth.log(odds)
        yield Check("epsilon <= epsilon from a loss", bool(room >= -1e-9), float(room), f"delta {share!r}")
    else:
        yield Check("epsilon <= epsilon from a loss", math.isinf(top), math.nan, f"delta {share!r}")


def _exact(case: Lossy) -> Table:
    table = case.place.world.release(case.channel).table
    if table.exact is not None:
        return Table.of(table.exact.tolist())
    values = [[Fraction(float(value)) for value in row] for row in table.values]
    return Table.of([value / sum(row) for value in row] for row in values)
