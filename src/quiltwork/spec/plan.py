"""`Plan`: everything that is to be released, whom it protects, and the targets that must hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from quiltwork.compose.loss import Loss, compose
from quiltwork.curves.guarantee import Guarantee
from quiltwork.spec.budgets import Budget, distinct_budgets
from quiltwork.spec.fields import Count, NonNegative, Probability, Strict, Words
from quiltwork.spec.recipes import Recipe
from quiltwork.spec.write import yaml_text

if TYPE_CHECKING:
    from quiltwork.spec.budget_answers import BudgetAnswer


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


class Plan(Strict):
    """A plan file: releases in order, in words and numbers."""

    quiltwork: Literal[1]
    title: Words = "Privacy plan"
    protects: Words = "one record, added or removed"
    assumes: Annotated[tuple[Words, ...], Field(strict=False)] = ()
    targets: Annotated[tuple[Target, ...], Field(strict=False)] = ()
    budgets: Annotated[tuple[Budget, ...], Field(strict=False, min_length=1)] | None = None
    releases: Annotated[tuple[Release, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _distinct_names(self) -> Self:
        seen: set[str] = set()
        for index, release in enumerate(self.releases):
            if release.name in seen:
                problem = f"must differ from every other release, {release.name!r} is used twice"
                at = ("releases", index, "name")
                raise PydanticCustomError("refused", "{problem}", {"problem": problem, "at": at})
            seen.add(release.name)
        distinct_budgets(self.budgets or ())
        return self

    def loss(self) -> Loss:
        """Everything together."""
        return compose(*(release.loss() for release in self.releases))

    def guarantee(self) -> Guarantee:
        """The composed loss with the plan's words."""
        return self.loss().guarantee(protects=self.protects, assumes=self.assumes)

    def budget_answers(self) -> tuple[BudgetAnswer, ...]:
        """What a ledger would say of all releases, in this order, for each budget that the plan names."""
        from quiltwork.spec.budget_answers import answered

        asked = [(release.name, release.mechanism.loss(), release.count) for release in self.releases]
        return tuple(answered(budget, asked) for budget in self.budgets or ())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in the file; what was not said is not written."""
        return self.model_dump(mode="json", exclude_unset=True, exclude_none=True)

    def to_json(self) -> str:
        """The plan file as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def to_yaml(self) -> str:
        """The plan file as YAML text; `parse_plan` reads the same plan back."""
        return yaml_text(self.to_dict())
