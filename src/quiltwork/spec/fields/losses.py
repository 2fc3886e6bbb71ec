"""How a plan file writes each family of losses, and how each is read back: models that follow from the families.

A recipe is a mapping with exactly one mechanism in it, such as `{gaussian: {sigma: 4.0}}`; mechanisms that contain
others hold recipes again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import ConfigDict, Field, create_model, model_validator

from quiltwork.compose.loss import Loss
from quiltwork.losses import family as families
from quiltwork.losses.family import Domain, Entry, Family, Fields, Rows, origin, unmarked
from quiltwork.spec.fields.fields import (
    NonNegative,
    Numbers,
    Positive,
    Probability,
    Rate,
    Strict,
    located,
    refused,
)

Vertices = Annotated[
    tuple[Annotated[tuple[Probability, Probability], Field(strict=False)], ...], Field(min_length=2, strict=False)
]
TYPES: dict[Domain, Any] = {
    families.POSITIVE: Positive,
    families.NON_NEGATIVE: NonNegative,
    families.PROBABILITY: Probability,
    families.RATE: Rate,
    families.WHOLE: Annotated[int, Field(ge=1)],
    families.FLAG: bool,
    families.NUMBERS: Numbers,
    families.VERTICES: Vertices,
    families.RELEASE: "Recipe",  # known once all mechanisms are
}


class Mechanism(Strict):
    """One release of a named family."""

    family: ClassVar[type[Family]]

    @cached_property
    def _loss(self) -> Loss:
        return Loss.of(self.family.from_entries(**self._entries(lambda recipe: recipe.loss().parts[0].family)))

    def loss(self) -> Loss:
        """The symbolic loss, built once: some tabulate their noise."""
        return self._loss

    def describe(self) -> str:
        """A few words for tables."""
        return self.family.describe(**self._entries(lambda recipe: recipe.describe()))

    def _entries(self, inside: Callable[[_OneMechanism], Any]) -> dict[str, Any]:
        """What is written, as plain values; of recipes inside, what is asked for.

        What is not written is the family's own default, which knows that nobody stated it.
        """
        own = {entry.name: entry.default for entry in self.family.entries() if entry.name not in self.model_fields_set}
        return {name: own.get(name, _plain(getattr(self, name), inside)) for name in type(self).model_fields}

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """The inverse of `loss`, from what the family writes about itself."""
        domains = {entry.name: entry.domain for entry in cls.family.entries()}
        return cls(**{name: _written(domains.get(name), v) for name, v in cls.family.entries_of(fields).items()})

    @model_validator(mode="after")
    def _holds(self) -> Self:
        """What the engine refuses is refused here, where the line is known."""
        with located(fields={name: name for name in type(self).model_fields}):
            for part in self.loss().parts:
                part.family.pairs()
        return self


class _OneMechanism(Strict):
    """Exactly one mechanism, by its name."""

    model_config = ConfigDict(
        json_schema_extra=lambda schema: schema.update(oneOf=[{"required": [kind]} for kind in KINDS])
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        found = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(found) != 1:
            named = " and ".join(found) if found else "none"
            raise refused(f"must name exactly one mechanism, got {named}; there are {', '.join(KINDS)}")
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
        fields = {name: field for name, field in value.items() if name != families.MARKS}
        kind = fields.pop("kind")
        return cls.model_validate({kind: MODELS[kind].from_fields(fields)})


def _plain(value: Any, inside: Callable[[_OneMechanism], Any]) -> Any:
    if isinstance(value, _OneMechanism):
        return inside(value)
    if isinstance(value, tuple):
        return tuple(_plain(one, inside) for one in value)
    if isinstance(value, Strict):  # a row of its entries
        return tuple(_plain(getattr(value, name), inside) for name in type(value).model_fields)
    return value


def _written(domain: Domain | None, value: Any) -> Any:
    if domain == families.RELEASE:
        return Recipe.from_json(value)
    if isinstance(domain, Rows):
        return tuple(
            {entry.name: _written(entry.domain, one) for entry, one in zip(domain.entries, row, strict=True)}
            for row in value
        )
    return value


# ---- models from families


def _model(name: str, base: type[Any], about: str, entries: tuple[Entry, ...]) -> Any:
    fields: dict[str, Any] = {
        entry.name: (_type(entry), entry.default if origin(entry.default) is None else unmarked(entry.default))
        for entry in entries
    }
    return create_model(name, __base__=base, __doc__=about, __module__=__name__, **fields)


def _type(entry: Entry) -> Any:
    if isinstance(entry.domain, Rows):
        row = _model(entry.domain.name, Strict, entry.domain.about, entry.domain.entries)
        return Annotated[tuple[row, ...], Field(min_length=1, strict=False)]  # type: ignore[valid-type]
    found = TYPES[entry.domain]
    return found | None if entry.default is None else found


def _mechanism(family: type[Family]) -> type[Mechanism]:
    name, about = family.title or family.__name__, inspect.cleandoc(family.__doc__ or "")
    found: type[Mechanism] = _model(name, Mechanism, about, family.entries())
    found.family = family
    return found


MODELS: dict[str, type[Mechanism]] = {kind: _mechanism(family) for kind, family in families.families().items()}
KINDS: tuple[str, ...] = tuple(MODELS)

if TYPE_CHECKING:

    class Recipe(_OneMechanism):
        """Exactly one mechanism, by its name."""
else:
    _entries = {kind: (model | None, None) for kind, model in MODELS.items()}
    Recipe = create_model(
        "Recipe", __base__=_OneMechanism, __doc__=_OneMechanism.__doc__, __module__=__name__, **_entries
    )
    for _mechanism_before in MODELS.values():  # they were written before Recipe existed
        _mechanism_before.model_rebuild()
