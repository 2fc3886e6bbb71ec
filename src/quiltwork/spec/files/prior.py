"""`PriorFile`: what is assumed about correlated entries, what is secret, and what is released."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from quiltwork.compose.loss import Loss, compose
from quiltwork.pufferfish.prior import ENTRY
from quiltwork.pufferfish.prior import Prior as AnyPrior
from quiltwork.pufferfish.secrets import EntryValues, entry_values
from quiltwork.spec.fields.fields import Positive, Probability, Strict, Words, distinct_entries, located, refused
from quiltwork.spec.fields.matrices import Pair, beside
from quiltwork.spec.fields.priors import Index, Prior
from quiltwork.spec.files.file import File
from quiltwork.spec.files.plan import Release, Target
from quiltwork.spec.text.read import made_from, parse_as, read_as
from quiltwork.spec.text.schema import model_schema

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


class PriorFile(File):
    """A prior file."""

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
        distinct_entries(self.releases or (), "release", "releases")
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
        if self.releases is None:
            return None
        return compose(*(release.loss() for release in self.releases)).stated_for(ENTRY)


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
