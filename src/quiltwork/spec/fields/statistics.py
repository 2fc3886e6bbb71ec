"""How a plan file writes statistics: the verb is a key of the query, the noise stands beside it.

    - {name: visits, count: {by: region}, noise: {laplace: 20.0}}
    - {name: cost, sum: {of: cost, clip: [0, 2500], where: age >= 18}, noise: auto}

Reference: theory/release.md section 1.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from quiltwork import tables
from quiltwork.mechanisms import noise as noises
from quiltwork.spec.fields.columns import Values
from quiltwork.spec.fields.conditions import MOST_CHARACTERS, condition
from quiltwork.spec.fields.fields import Choice, Positive, Probability, Strict, Words, located, refused
from quiltwork.tables.schema.groups import Grouping
from quiltwork.tables.statistics.statistic import VERBS

Levels = Annotated[tuple[Probability, ...], Field(min_length=1, strict=False)]
Ends = Annotated[tuple[float, float], Field(strict=False)]


class Weight(Strict):
    """The share that a statistic gets of what is to be chosen."""

    weight: Positive = 1.0


class Noise(Choice):
    """Noise in units of the answer, or auto."""

    noun: ClassVar[str] = "kind of noise"
    bare: ClassVar[frozenset[str]] = frozenset({"auto"})

    laplace: Positive | None = None
    gaussian: Positive | None = None
    auto: Weight | None = None

    def noise(self) -> noises.Noise:
        """The noise of a statistic."""
        if self.auto is not None:
            return noises.auto(self.auto.weight)
        made = noises.laplace if self.kind == "laplace" else noises.gaussian
        return made(self.chosen)


class Groups(Strict):
    """A column to group by: its values, bands between edges, or the weeks or months of its days."""

    column: Words
    edges: Values | None = None
    every: Literal["week", "month"] | None = None

    @model_validator(mode="before")
    @classmethod
    def _named_alone(cls, given: Any) -> Any:
        return {"column": given} if isinstance(given, str) else given

    def grouping(self) -> Grouping:
        """The grouping of a statistic."""
        return Grouping(self.column, self.edges, self.every)


class Measured(Strict):
    """What a statistic is computed of."""

    of: Words | None = None
    clip: Ends | None = None
    by: Annotated[tuple[Groups, ...], Field(strict=False)] = ()
    where: Annotated[str, Field(max_length=MOST_CHARACTERS)] | None = None
    q: Levels | None = None
    delta: Probability | None = None
    parts: bool | None = None

    @field_validator("by", mode="before")
    @classmethod
    def _one_column(cls, given: Any) -> Any:
        return [given] if isinstance(given, (str, dict)) else given


class StatisticQuery(Strict):
    """A count, sum, mean, variance, distinct count, quantiles or keys, and its noise: its loss is derived."""

    name: Words
    note: Words | None = None
    noise: Noise
    count: Measured | None = None
    distinct: Measured | None = None
    sum: Measured | None = None
    mean: Measured | None = None
    variance: Measured | None = None
    quantiles: Measured | None = None
    keys: Measured | None = None

    @field_validator("count", mode="before")
    @classmethod
    def _of_everything(cls, given: Any) -> Any:
        return {} if given is True else given  # `count: true` counts every record

    @model_validator(mode="after")
    def _one_verb(self) -> Self:
        found = [verb for verb in VERBS if getattr(self, verb) is not None]
        if len(found) != 1:
            named = " and ".join(found) if found else "none"
            raise refused(
                f"must name exactly one statistic beside its noise, got {named}; there are {', '.join(VERBS)}"
            )
        return self

    times: ClassVar[int] = 1

    @property
    def where(self) -> str | None:
        """Which records it keeps, as it is written."""
        return self.measured.where

    def describe(self) -> str:
        """The statistic and its noise in words."""
        asked = self.measured
        what = self.verb if asked.of is None else f"{self.verb} of {asked.of}"
        clip = "" if asked.clip is None else f" within {asked.clip[0]:g} and {asked.clip[1]:g}"
        return f"{what}{clip}, {self.noise.noise()}"

    def records(self, parts: int) -> str:
        """Which records it keeps, and how they are grouped."""
        by = " and ".join(str(one.grouping()) for one in self.measured.by)
        said = [f"each {by} ({parts})"] if by else []
        if self.where is not None:
            said.append(" ".join(self.where.split()))
        return "; ".join(said or ["all"])

    @property
    def verb(self) -> str:
        """Which statistic it is."""
        return next(verb for verb in VERBS if getattr(self, verb) is not None)

    @property
    def measured(self) -> Measured:
        """What it is computed of."""
        found: Measured = getattr(self, self.verb)
        return found

    def with_noise(self, noise: noises.Noise) -> StatisticQuery:
        """The same statistic with another noise."""
        if isinstance(noise, noises.Auto):
            raise TypeError("a noise that is chosen")
        kind = "laplace" if isinstance(noise, noises.Laplace) else "gaussian"
        return self.model_copy(update={"noise": Noise.model_validate({kind: noise.size})})

    def add_to(self, plan: tables.Plan) -> None:
        """Add it to a plan."""
        asked = self.measured
        said: dict[str, Any] = {"noise": self.noise.noise()}
        with located(self.verb, "where"):
            if asked.where is not None:
                said["where"] = condition(asked.where, plan.table)
        if asked.by:
            said["by"] = [one.grouping() for one in asked.by]
        said |= {
            name: given for name in ("of", "clip", "q", "delta", "parts") if (given := getattr(asked, name)) is not None
        }
        with located(self.verb, fields={name: name for name in Measured.model_fields}):
            plan.measure(self.verb, self.name, **said)
