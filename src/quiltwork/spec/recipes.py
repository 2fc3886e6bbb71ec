"""How a plan file writes each family of losses, and how each is read back.

A recipe is a mapping with exactly one mechanism in it, such as `{gaussian: {sigma: 4.0}}`; mechanisms that contain
others hold recipes again.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from quiltwork.compose import constructors
from quiltwork.compose.loss import Loss
from quiltwork.losses.families.swapped import Turned as TurnedFamily
from quiltwork.spec.fields.fields import Rate, Strict
from quiltwork.spec.mechanism import Fields, Mechanism, shown
from quiltwork.spec.single_recipes import (
    SINGLE,
    Approximate,
    Constraints,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    GaussianPrivacy,
    Laplace,
    Pair,
    Profile,
    Pure,
    Renyi,
    TradeOff,
    ZeroConcentrated,
)

__all__ = ["KINDS", "MODELS", "Mechanism", "Recipe", "shown"]


def _one_of(schema: dict[str, Any]) -> None:
    """JSON Schema for `_exactly_one`."""
    schema["oneOf"] = [{"required": [kind]} for kind in KINDS]


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

    @classmethod
    def kinds(cls) -> tuple[str, ...]:
        """The fields of which exactly one is given."""
        return KINDS

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


MODELS: dict[str, type[Mechanism]] = {**SINGLE, "poisson": Poisson, "mixture": Mixture, "turned": Turned}
KINDS = tuple(MODELS)

for _model in (Component, Poisson, Mixture, Turned):  # they were written before Recipe existed
    _model.model_rebuild()
