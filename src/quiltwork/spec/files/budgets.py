"""`BudgetFile`: the budgets that a ledger is to keep, as a file writes them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from quiltwork.compose.filters.opening import FILTERS, WindowsFilter
from quiltwork.pufferfish.secrets import EntryValues
from quiltwork.spec.fields.budgets import Budget
from quiltwork.spec.fields.fields import Words, distinct_entries, located, refused
from quiltwork.spec.fields.notions import Notion
from quiltwork.spec.fields.priors import Prior
from quiltwork.spec.files.file import File
from quiltwork.spec.files.plan import Release
from quiltwork.spec.files.prior import Secrets
from quiltwork.spec.text.read import made_from, parse_as, read_as
from quiltwork.spec.text.schema import model_schema

MOST_BUDGETS = 1000
WINDOWS = WindowsFilter.kind  # where rows of one person are correlated


class FileBudget(Budget):
    """A budget with what it protects: in words, as a notion of neighbour, or as secrets in correlated records.

    A planned one lists its releases. `person` and `when` name the columns by which table plans are paid per entry.
    """

    filter: Annotated[str, Field(json_schema_extra={"enum": [*FILTERS["approximate"], WINDOWS]})] | None = None
    neighbors: Notion | None = None
    prior: Prior | None = None
    secrets: Secrets | None = None
    person: Words | None = None
    when: Words | None = None
    releases: Annotated[tuple[Release, ...], Field(strict=False, min_length=1)] | None = None

    @model_validator(mode="after")
    def _protected(self) -> Self:
        if self.prior is not None:
            self._about_secrets()
        elif beside := next((one for one in ("secrets", "person", "when") if getattr(self, one) is not None), None):
            raise refused("must be left out without a prior", (beside,))
        elif self.protects is None and self.neighbors is None:
            raise refused("is missing; say in words what a release must not tell, or give neighbors", ("protects",))
        if self.protects is not None and self.neighbors is not None:
            raise refused("must be left out beside protects, which says it in words", ("neighbors",))
        if (self.kind == "planned") != (self.releases is not None):
            problem = "is missing; a planned budget lists its releases" if self.releases is None else (
                "must be left out of an adaptive budget; say kind: planned to fix all releases now"
            )  # fmt: skip
            raise refused(problem, ("releases",))
        distinct_entries(self.releases or (), "release", "releases")
        return self

    def _about_secrets(self) -> None:
        for field in ("protects", "neighbors", "rho", "mu", "blocks", "refresh"):
            if getattr(self, field) is not None:
                raise refused("must be left out beside prior: the budget is about its secrets", (field,))
        if self.kind == "planned":
            hint = "open a planned one with `quiltwork ledger open NAME --plan FILE --prior FILE`"
            raise refused(f"must be adaptive beside prior; {hint}", ("kind",))
        if (self.person is None) != (self.when is None):
            missing = "person" if self.person is None else "when"
            raise refused("is missing; person and when are given together", (missing,))
        if self.secrets is not None and self.prior is not None:
            with located("secrets"):
                self.prior.prior().influence(1, self.secrets.secrets())

    def opening(self) -> dict[str, Any]:
        """What `Ledger.open` takes, with the blocks as a mapping."""
        said = super().opening()
        if self.neighbors is not None:
            said["protects"] = self.neighbors.notion()
        if self.prior is not None:
            about: dict[str, Any] = {"prior": self.prior.prior(), "person": self.person, "when": self.when}
            about["secrets"] = None if self.secrets is None else self.secrets.secrets()
            said |= {name: value for name, value in about.items() if value is not None}
        if self.releases is not None:
            said["plan"] = [(one.name, one.mechanism.loss(), one.count) for one in self.releases]
        return said

    @property
    def kinds(self) -> tuple[str, ...]:
        paid_for_rows = self.person is not None and self.limit == "approximate"
        return (*super().kinds, WINDOWS) if paid_for_rows else super().kinds

    @property
    def hides(self) -> str:
        """What it protects, in words."""
        if self.prior is not None:
            return str((EntryValues() if self.secrets is None else self.secrets.secrets()).words)
        return str(self.protects) if self.neighbors is None else self.neighbors.notion().protects


class BudgetFile(File):
    """A budget file."""

    title: Words = "Budgets"
    budgets: Annotated[tuple[FileBudget, ...], Field(strict=False, min_length=1, max_length=MOST_BUDGETS)]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        distinct_entries(self.budgets, "budget", "budgets")
        return self


def read_budgets(path: str | os.PathLike[str]) -> BudgetFile:
    """The budgets in a YAML or JSON file."""
    return read_as(BudgetFile, path)


def parse_budgets(text: str) -> BudgetFile:
    """The budgets in a YAML or JSON text."""
    return parse_as(BudgetFile, text)


def budgets_from(value: Mapping[str, Any]) -> BudgetFile:
    """The budgets in plain values, such as `BudgetFile.to_dict` gives."""
    return made_from(BudgetFile, value)


def budget_schema() -> dict[str, Any]:
    """JSON Schema of a budget file."""
    return model_schema(BudgetFile, "quiltwork budgets")
