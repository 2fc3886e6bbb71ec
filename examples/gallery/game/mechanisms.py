"""Two private mechanisms that the paper compares with and the library does not have: pure DP noise, and peeling.

pure        noise with density proportional to exp(-epsilon n |z|_oo): a radius from a Gamma law times a uniform point
            of the cube.  One swap of a person moves each share by at most 1/n, so that this is epsilon-DP, exactly.
            This is the noise in the largest norm of Steinke and Ullman 2016, as we read it.
peeling     s times: publish the name of the largest share plus Laplace noise among those left; then these s shares with
            fresh Laplace noise of the same scale b, after Dwork, Su and Zhang 2018; Cai, Wang and Zhang 2021.
            A swap moves two shares against each other by 2/n at most, so that a name costs 2 / (n b) and a share
            1 / (n b): b = 3 s / (epsilon n) makes the sum epsilon.  The smaller scales of those papers are for
            (epsilon, delta) with a small epsilon, and are not used here.  Shares that are not named are filled with
            the public reference frequency, which tells nothing.

Here they are simulated, to be attacked: noise that protects people comes from `quiltwork.mechanisms`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import NotCertified
from quiltwork.game.defenders.certificates import statistic_of
from quiltwork.game.people.population import Members, Population, Statistic


@attrs.frozen(eq=False)
class Simulated:
    """A defence given by a function of exact shares; `channel` None leaves attackers to simulate it."""

    name: str
    statistic: Statistic
    release: Callable[[FloatArray, np.random.Generator], FloatArray]
    channel: None = None

    def defend(self, exact: FloatArray, members: Members, rng: np.random.Generator) -> FloatArray:
        """Simulated outputs."""
        return self.release(exact, rng)

    def certificate(self, rows: Any = None) -> NoReturn:
        """Refused here: these are simulated in floating point, to be attacked."""
        raise NotCertified("a simulated mechanism", "its proof is one of real numbers")


def pure(population: Population, epsilon: float) -> Simulated:
    """Epsilon-DP noise that is small in every share at once."""
    statistic = statistic_of(population, "members")
    scale = 1.0 / (_size(population) * epsilon)

    def release(exact: FloatArray, rng: np.random.Generator) -> FloatArray:
        count, attributes = exact.shape
        radius = rng.gamma(attributes + 1.0, scale, (count, 1))
        return exact + radius * rng.uniform(-1.0, 1.0, (count, attributes))

    return Simulated(f"pure DP, epsilon {epsilon:g}", statistic, release)


def peeling_scale(members: int, named: int, epsilon: float) -> float:
    """Of the Laplace noise: names at 2 / (members scale) each and shares at half of that add up to epsilon."""
    return 3.0 * named / (epsilon * members)


def peeling(population: Population, named: int, epsilon: float) -> Simulated:
    """The `named` largest shares, chosen and published with Laplace noise."""
    statistic = statistic_of(population, "members")
    scale, usual = peeling_scale(_size(population), named, epsilon), population.frequencies

    def release(exact: FloatArray, rng: np.random.Generator) -> FloatArray:
        left = np.ones(exact.shape, dtype=np.bool_)
        rows = np.arange(len(exact))
        for _ in range(named):
            noisy = np.where(left, exact + rng.laplace(0.0, scale, exact.shape), -np.inf)
            left[rows, noisy.argmax(axis=1)] = False
        return np.where(left, usual, exact + rng.laplace(0.0, scale, exact.shape))

    return Simulated(f"peeling, epsilon {epsilon:g}", statistic, release)


def _size(population: Population) -> int:
    people = population.size[0]
    return round(float(population.prior.rates(people).sum()))
