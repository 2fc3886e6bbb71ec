"""`PriorFile`: what is assumed about correlated entries, what is secret, and what is released."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from quiltwork.compose.loss import Loss, compose
from quiltwork.pufferfish.prior import Prior as AnyPrior
from quiltwork.pufferfish.secrets import EntryValues, entry_values
from quiltwork.spec.fields.fields import Positive, Probability, Strict, Words, located, refused
from quiltwork.spec.fields.matrices import Pair, beside
from quiltwork.spec.fields.priors import Index, Prior
from quiltwork.spec.files.plan import Release, Target
from quiltwork.spec.text.read import made_from, parse_as, read_as
from quiltwork.spec.text.schema import model_schema
from quiltwork.spec.text.write import yaml_text

__all__ = ["PriorFile", "parse_prior", "prior_from", "prior_schema", "read_prior"]

MOST_SECRETS = 1000
_NAMED = {  # parameters of the library that the file calls otherwise
    **dict.fromkeys(("pairs", "a secret value", "a pair of secret values"), "pairs"),
    **dict.fromkeys(("entries", "entry", "an entry"), "entries"),
}


class Secrets(Strict):
    """Which entries are secret (all, unless named; counted from 0), and which two values must not be told apart."""

    entries: Annotated[tuple[Index, ...], Field(strict=False, min_length=1, max_length=MOST_SECRETS)] | None = None
    pairs: Annotated[tuple[Pair, ...], Field(strict=False, min_length=1, max_length=MOST_SECRETS)] | None = None

    @model_validator(mode="after")
    def _holds(self) -> Self:
        with located(fields=_NAMED):
            self.secrets()
        return self

    def secrets(self) -> EntryValues:
        """The secrets themselves."""
        return entry_values(self.entries, self.pairs)


class PriorTarget(Target):
    """What must hold for the secrets after everything that is released."""

    epsilon: Positive
    delta: Probability = 0.0


class PerEntry(Strict):
    """A release that has this epsilon when one entry changes."""

    epsilon: Positive


class PriorFile(Strict):
    """A prior file."""

    quiltwork: Literal[1]
    title: Words = "Correlated entries"
    assumes: Annotated[tuple[Words, ...], Field(strict=False)] = ()
    prior: Prior
    secrets: Secrets | None = None
    target: PriorTarget | None = None
    per_entry: PerEntry | None = None
    releases: Annotated[tuple[Release, ...], Field(strict=False, min_length=1)] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.per_entry is not None and self.releases is not None:
            raise refused("must be left out beside releases, which say it", ("per_entry",))
        seen: set[str] = set()
        for index, release in enumerate(self.releases or ()):
            if release.name in seen:
                problem = f"must differ from every other release, {release.name!r} is used twice"
                raise refused(problem, ("releases", index, "name"))
            seen.add(release.name)
        if self.secrets is not None:
            with located("secrets", fields=_NAMED):
                self.model().influence(1, self.secrets.secrets())
        return self

    def model(self) -> AnyPrior:
        """The prior itself."""
        return self.prior.prior()

    def asked(self) -> EntryValues | None:
        """The secrets; None for the value of every entry."""
        return None if self.secrets is None else self.secrets.secrets()

    def loss(self) -> Loss | None:
        """What everything that is released does when one entry changes; None when nothing is listed."""
        return None if self.releases is None else compose(*(release.loss() for release in self.releases))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the numbers of CSV files written out; what was not said is not written."""
        return self.model_dump(mode="json", exclude_unset=True, exclude_none=True)

    def to_json(self) -> str:
        """The prior file as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def to_yaml(self) -> str:
        """The prior file as YAML text; `parse_prior` reads the same back."""
        return yaml_text(self.to_dict())


def read_prior(path: str | os.PathLike[str]) -> PriorFile:
    """The prior in a YAML or JSON file; a matrix may stand in a CSV file beside it."""
    with beside(Path(path).parent):
        return read_as(PriorFile, path)


def parse_prior(text: str) -> PriorFile:
    """The prior in a YAML or JSON text."""
    return parse_as(PriorFile, text)


def prior_from(value: Mapping[str, Any]) -> PriorFile:
    """The prior in plain values, such as `PriorFile.to_dict` gives."""
    return made_from(PriorFile, value)


def prior_schema() -> dict[str, Any]:
    """JSON Schema of a prior file."""
    return model_schema(PriorFile, "quiltwork prior")
