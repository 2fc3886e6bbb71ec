"""How a plan file writes the families of losses that contain no other: noise, stated guarantees and explicit laws."""

from __future__ import annotations

import math
from typing import Annotated, Self

from pydantic import Field

from quiltwork.compose import constructors
from quiltwork.compose.loss import Loss
from quiltwork.losses.families.tradeoff import TradeOffFunction
from quiltwork.spec.fields.fields import NonNegative, Numbers, Positive, Probability, Strict
from quiltwork.spec.mechanism import Fields, Mechanism

__all__ = ["SINGLE"]

WholePositive = Annotated[int, Field(ge=1)]
Vertices = Annotated[
    tuple[Annotated[tuple[Probability, Probability], Field(strict=False)], ...], Field(min_length=2, strict=False)
]


class Gaussian(Mechanism):
    """Gaussian noise of standard deviation sigma on a query of the given l2 sensitivity."""

    sigma: Positive
    sensitivity: Positive = 1.0

    def loss(self) -> Loss:
        return constructors.gaussian(self.sigma, self.sensitivity)

    def describe(self) -> str:
        return f"Gaussian noise, sigma {self.sigma:g}, sensitivity {self.sensitivity:g}"


class Laplace(Mechanism):
    """Laplace noise of the given scale on a query of the given l1 sensitivity."""

    scale: Positive
    sensitivity: Positive = 1.0

    def loss(self) -> Loss:
        return constructors.laplace(self.scale, self.sensitivity)

    def describe(self) -> str:
        return f"Laplace noise, scale {self.scale:g}, sensitivity {self.sensitivity:g}"


class DiscreteGaussian(Mechanism):
    """Discrete Gaussian noise on an integer query."""

    sigma: Positive
    sensitivity: WholePositive = 1

    def loss(self) -> Loss:
        return constructors.discrete_gaussian(self.sigma, self.sensitivity)

    def describe(self) -> str:
        return f"discrete Gaussian noise, sigma {self.sigma:g}, sensitivity {self.sensitivity}"


class DiscreteLaplace(Mechanism):
    """Discrete Laplace (geometric) noise on an integer query."""

    scale: Positive
    sensitivity: WholePositive = 1

    def loss(self) -> Loss:
        return constructors.discrete_laplace(self.scale, self.sensitivity)

    def describe(self) -> str:
        return f"discrete Laplace noise, scale {self.scale:g}, sensitivity {self.sensitivity}"


class Pure(Mechanism):
    """Any epsilon-DP release."""

    epsilon: NonNegative

    def loss(self) -> Loss:
        return constructors.pure(self.epsilon)

    def describe(self) -> str:
        return f"pure, epsilon {self.epsilon:g}"


class Approximate(Mechanism):
    """Any (epsilon, delta)-DP release."""

    epsilon: NonNegative
    delta: Probability

    def loss(self) -> Loss:
        return constructors.approximate(self.epsilon, self.delta)

    def describe(self) -> str:
        return f"approximate, epsilon {self.epsilon:g} at delta {self.delta:g}"


class Point(Strict):
    """One (epsilon, delta) statement."""

    epsilon: NonNegative
    delta: Probability


class Constraints(Mechanism):
    """A release that satisfies every listed (epsilon, delta) at once."""

    points: Annotated[tuple[Point, ...], Field(min_length=1, strict=False)]

    def loss(self) -> Loss:
        return constructors.constraints([(point.epsilon, point.delta) for point in self.points])

    def describe(self) -> str:
        listed = ", ".join(f"({point.epsilon:g}, {point.delta:g})" for point in self.points)
        return f"all of {listed} at once" if len(self.points) <= 3 else f"{len(self.points)} constraints at once"

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        return cls(points=tuple(Point(epsilon=e, delta=d) for e, d in fields["points"]))


class Profile(Mechanism):
    """A release whose privacy profile is known at some points: delta(epsilons[i]) <= deltas[i]."""

    epsilons: Numbers
    deltas: Numbers

    def loss(self) -> Loss:
        return constructors.profile(self.epsilons, self.deltas)

    def describe(self) -> str:
        return f"privacy profile at {len(self.epsilons)} points"

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        epsilons, deltas = zip(*fields["points"], strict=True)
        return cls(epsilons=epsilons, deltas=deltas)


class GaussianPrivacy(Mechanism):
    """A mu-GDP release."""

    mu: Positive

    def loss(self) -> Loss:
        return constructors.gdp(self.mu)

    def describe(self) -> str:
        return f"Gaussian privacy, mu {self.mu:g}"


class ZeroConcentrated(Mechanism):
    """A rho-zCDP release."""

    rho: NonNegative

    def loss(self) -> Loss:
        return constructors.zcdp(self.rho)

    def describe(self) -> str:
        return f"zero-concentrated, rho {self.rho:g}"


class Renyi(Mechanism):
    """A release with Rényi divergence at most epsilons[i] at order orders[i], all at once."""

    orders: Numbers
    epsilons: Numbers

    def loss(self) -> Loss:
        return constructors.rdp(self.orders, self.epsilons)

    def describe(self) -> str:
        return f"Rényi bounds at {len(self.orders)} orders"

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Orders with an infinite bound promise nothing and are left out."""
        kept = [(a, e) for a, e in zip(fields["orders"], fields["epsilons"], strict=True) if math.isfinite(float(e))]
        return cls(orders=tuple(a for a, _ in kept), epsilons=tuple(e for _, e in kept))


class TradeOff(Mechanism):
    """A release whose test has at least the type II error of a convex polygon of [alpha, beta] vertices.

    `above`, when given, is a polygon that the truth does not exceed; it only tightens the lower ends of brackets.
    """

    vertices: Vertices
    above: Vertices | None = None

    def loss(self) -> Loss:
        if self.above is None:
            return constructors.tradeoff(self.vertices)
        return Loss.of(TradeOffFunction(self.vertices, self.above))

    def describe(self) -> str:
        return f"trade-off function with {len(self.vertices)} vertices"

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        below, above = fields["below"], fields["above"]
        return cls(vertices=below) if below == above else cls(vertices=below, above=above)


class Pair(Mechanism):
    """Two explicit laws on the same outcomes: p when the record is there, q when it is not."""

    p: Numbers
    q: Numbers

    def loss(self) -> Loss:
        return constructors.pair(self.p, self.q)

    def describe(self) -> str:
        return f"two explicit laws on {len(self.p)} outcomes"


SINGLE: dict[str, type[Mechanism]] = {
    "gaussian": Gaussian,
    "laplace": Laplace,
    "discrete_gaussian": DiscreteGaussian,
    "discrete_laplace": DiscreteLaplace,
    "pure": Pure,
    "approximate": Approximate,
    "constraints": Constraints,
    "profile": Profile,
    "gdp": GaussianPrivacy,
    "zcdp": ZeroConcentrated,
    "rdp": Renyi,
    "tradeoff": TradeOff,
    "pair": Pair,
}
