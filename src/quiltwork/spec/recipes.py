"""How a plan file writes each family of losses, and how each is read back.

A recipe is a mapping with exactly one mechanism in it, such as `{gaussian: {sigma: 4.0}}`; mechanisms that contain
others hold recipes again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from quiltwork.compose import constructors
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter, QuiltworkError
from quiltwork.losses.tradeoff import TradeOffFunction
from quiltwork.losses.turned import Turned as TurnedFamily
from quiltwork.spec.fields import NonNegative, Numbers, Positive, Probability, Rate, Strict

Fields = Mapping[str, Any]
WholePositive = Annotated[int, Field(ge=1)]
Vertices = Annotated[
    tuple[Annotated[tuple[Probability, Probability], Field(strict=False)], ...], Field(min_length=2, strict=False)
]


def _one_of(schema: dict[str, Any]) -> None:
    """JSON Schema for `_exactly_one`."""
    schema["oneOf"] = [{"required": [kind]} for kind in KINDS]


def shown(value: object, most: int = 60) -> str:
    """A value as it was given, cut short."""
    text = repr(value)
    return text if len(text) <= most else text[: most - 3] + "..."


class Mechanism(Strict):
    """One release of a named family."""

    def loss(self) -> Loss:
        """The symbolic loss."""
        raise NotImplementedError

    def describe(self) -> str:
        """A few words for tables."""
        raise NotImplementedError

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """The inverse of `loss`, from what the family writes about itself."""
        return cls(**fields)

    @model_validator(mode="after")
    def _holds(self) -> Self:
        """What the engine refuses is refused here, where the line is known."""
        try:
            for part in self.loss().parts:
                part.family.pairs()
        except InvalidParameter as error:
            problem = f"must be {error.allowed}, got {shown(error.given)}" + (f": {error.hint}" if error.hint else "")
            own = error.name in type(self).model_fields
            context: dict[str, Any] = {"at": (error.name,) if own else ()}
            text = problem if own else f"{error.name} {problem}"
            raise PydanticCustomError("refused", "{problem}", {"problem": text, **context}) from None
        except QuiltworkError as error:
            raise PydanticCustomError("refused", "{problem}", {"problem": str(error)}) from None
        return self


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


class Poisson(Mechanism):
    """A release run on a Poisson sample: each record takes part with probability `rate`."""

    rate: Rate
    of: Recipe

    def loss(self) -> Loss:
        return constructors.poisson(self.of.loss(), self.rate)

    def describe(self) -> str:
        return f"{self.of.describe()}, on a Poisson sample of rate {self.rate:g}"

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        return cls(rate=fields["rate"], of=Recipe.from_json(fields["base"]))


class Component(Strict):
    """One of the releases of a mixture."""

    weight: Rate
    of: Recipe


class Mixture(Mechanism):
    """One of several releases, chosen at random with the given weights and named in the output."""

    components: Annotated[tuple[Component, ...], Field(min_length=1, strict=False)]

    def loss(self) -> Loss:
        return constructors.mixture([(part.weight, part.of.loss()) for part in self.components])

    def describe(self) -> str:
        return "one of: " + "; ".join(f"{100 * part.weight:g}% {part.of.describe()}" for part in self.components)

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        return cls(components=tuple(Component(weight=w, of=Recipe.from_json(item)) for w, item in fields["components"]))


class Turned(Mechanism):
    """A release whose two laws are exchanged: p when the record is not there, q when it is."""

    of: Recipe

    def loss(self) -> Loss:
        return Loss.of(TurnedFamily(self.of.loss().parts[0].family))

    def describe(self) -> str:
        return f"{self.of.describe()}, with removing and adding exchanged"

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        return cls(of=Recipe.from_json(fields["base"]))


class Recipe(Strict):
    """Exactly one mechanism, by its name."""

    model_config = ConfigDict(json_schema_extra=_one_of)

    gaussian: Gaussian | None = None
    laplace: Laplace | None = None
    discrete_gaussian: DiscreteGaussian | None = None
    discrete_laplace: DiscreteLaplace | None = None
    pure: Pure | None = None
    approximate: Approximate | None = None
    constraints: Constraints | None = None
    profile: Profile | None = None
    gdp: GaussianPrivacy | None = None
    zcdp: ZeroConcentrated | None = None
    rdp: Renyi | None = None
    tradeoff: TradeOff | None = None
    pair: Pair | None = None
    poisson: Poisson | None = None
    mixture: Mixture | None = None
    turned: Turned | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        found = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(found) != 1:
            named = " and ".join(found) if found else "none"
            problem = f"must name exactly one mechanism, got {named}; there are {', '.join(KINDS)}"
            raise PydanticCustomError("refused", "{problem}", {"problem": problem})
        return self

    @property
    def mechanism(self) -> Mechanism:
        """The one that is named."""
        found: Mechanism = next(value for kind in KINDS if (value := getattr(self, kind)) is not None)
        return found

    def loss(self) -> Loss:
        """The symbolic loss."""
        return self.mechanism.loss()

    def describe(self) -> str:
        """A few words for tables."""
        return self.mechanism.describe()

    @classmethod
    def from_json(cls, value: Fields) -> Self:
        """The recipe of a family in its own JSON form, which names its kind."""
        fields = dict(value)
        kind = fields.pop("kind")
        return cls.model_validate({kind: MODELS[kind].from_fields(fields)})


MODELS: dict[str, type[Mechanism]] = {
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
    "poisson": Poisson,
    "mixture": Mixture,
    "turned": Turned,
}
KINDS = tuple(MODELS)

for _model in (Component, Poisson, Mixture, Turned):  # they were written before Recipe existed
    _model.model_rebuild()
