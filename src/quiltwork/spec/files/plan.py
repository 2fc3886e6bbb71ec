"""`Plan`: everything that is to be released, whom it protects, and the targets that must hold."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, model_validator

from quiltwork.compose.loss import Loss, compose
from quiltwork.compose.neighbors import check_neighbors
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import Unsupported
from quiltwork.spec.fields.budgets import Budget, BudgetAnswer, answered
from quiltwork.spec.fields.fields import Count, NonNegative, Probability, Strict, Words, distinct_entries
from quiltwork.spec.fields.losses import Recipe
from quiltwork.spec.files.file import File
from quiltwork.spec.text.read import made_from, parse_as, read_as
from quiltwork.spec.text.schema import model_schema


class Target(Strict):
    """What must hold after all releases: epsilon is at most this at this delta."""

    epsilon: NonNegative
    delta: Probability


class _Named(Strict):
    name: Words


class Release(Recipe, _Named):
    """`count` releases of one mechanism under one name."""

    count: Count = 1
    note: Words | None = None

    def loss(self) -> Loss:
        """All `count` releases together."""
        return self.count * self.mechanism.loss()


class Plan(File):
    """A plan file: releases in order, in words and numbers."""

    title: Words = "Privacy plan"
    protects: Words = "one record, added or removed"
    assumes: Annotated[tuple[Words, ...], Field(strict=False)] = ()
    targets: Annotated[tuple[Target, ...], Field(strict=False)] = ()
    budgets: Annotated[tuple[Budget, ...], Field(strict=False, min_length=1)] | None = None
    releases: Annotated[tuple[Release, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _distinct_names(self) -> Self:
        distinct_entries(self.releases, "release", "releases")
        distinct_entries(self.budgets or (), "budget", "budgets")
        return self

    def loss(self) -> Loss:
        """Everything together."""
        return compose(*(release.loss() for release in self.releases))

    def guarantee(self) -> Guarantee:
        """The composed loss with the plan's words."""
        return self.loss().guarantee(protects=self.protects, assumes=self.assumes)

    def budget_answers(self) -> tuple[BudgetAnswer, ...]:
        """What a ledger would say of all releases, in this order, for each budget that the plan names."""
        asked = [(release.name, release.mechanism.loss(), release.count) for release in self.releases]
        return tuple(answered(budget, asked) for budget in self.budgets or ())


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """The plan in a YAML or JSON file."""
    return read_as(Plan, path)


def parse_plan(text: str) -> Plan:
    """The plan in a YAML or JSON text."""
    return parse_as(Plan, text)


def plan_from(value: Mapping[str, Any]) -> Plan:
    """The plan in plain values, such as `Plan.to_dict` gives."""
    return made_from(Plan, value)


def schema(model: type[BaseModel] = Plan, title: str = "quiltwork plan") -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a plan file; numeric cross-checks are left to `read_plan`."""
    return model_schema(model, title)


def plan_of(releases: Iterable[tuple[str, Loss]], **words: Any) -> Plan:
    """Named losses as a plan; a composition becomes one release for each of its parts.

    `words` are the other fields of a plan: title, protects, assumes, targets.
    """
    found: list[dict[str, Any]] = []
    for name, loss in releases:
        if loss.side != "worst":
            raise Unsupported(f"a plan with {loss}", "a plan protects in both directions", "leave the direction out")
        check_neighbors(loss, words.get("protects", Plan.model_fields["protects"].default), "what the plan protects")
        for number, part in enumerate(loss.parts, start=1):
            recipe = Recipe.from_json(part.family.to_json()).model_dump(exclude_unset=True)
            label = name if len(loss.parts) == 1 else f"{name} ({number})"
            found.append({"name": label, **recipe, "count": part.count})
    return plan_from({"quiltwork": 1, **words, "releases": found})
