"""`TablePlan`: a table, what is to be hidden, the queries, and the targets that must hold, as a file writes them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Annotated, Any, Self, TypeAlias

import attrs
from pydantic import BaseModel, Discriminator, Field, Tag, model_validator

from quiltwork import tables
from quiltwork.compose.loss import Loss
from quiltwork.curves.guarantee import later
from quiltwork.errors import DisconnectedDomainWarning
from quiltwork.spec.fields.columns import Table, Values
from quiltwork.spec.fields.conditions import MOST_CHARACTERS, condition
from quiltwork.spec.fields.fields import Count, Positive, Strict, Words, located, refused
from quiltwork.spec.fields.losses import Recipe
from quiltwork.spec.fields.notions import Contribution, Holds, Names, Notion, Via
from quiltwork.spec.fields.statistics import StatisticQuery
from quiltwork.spec.files.file import File
from quiltwork.spec.files.plan import Target
from quiltwork.spec.text.read import made_from, parse_as, read_as
from quiltwork.spec.text.schema import model_schema
from quiltwork.tables.schema.predicates import Predicate

MOST_QUERIES = 10_000  # after every split
_CALLED = {"by": "split_by", "of": "each_of"}  # parameters that the file calls otherwise


class Opaque(Strict):
    """A filter that is only described, with how many rows one record changes."""

    name: Words
    stability: Positive


class _Asked(Strict):
    """What a query reads."""

    name: Words
    note: Words | None = None
    where: Annotated[str, Field(max_length=MOST_CHARACTERS)] | None = None
    opaque: Opaque | None = None
    split_by: Words | None = None
    edges: Values | None = None
    each_of: Words | None = None
    reads: Names | None = None
    count: bool = False
    via: Via | None = None
    adaptive: bool = False


class TableQuery(Recipe, _Asked):
    """One query, or one for every part of the table, with the loss of each and where that loss holds."""

    times: Count = 1
    holds: Holds

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.split_by is not None and self.each_of is not None:
            raise refused("must be left out beside split_by", ("each_of",))
        if self.edges is not None and self.split_by is None:
            raise refused("must be left out without split_by", ("edges",))
        if self.adaptive and (self.split_by is not None or self.each_of is not None):
            raise refused("must be left out of a query that is split", ("adaptive",))
        return self

    @property
    def kind(self) -> str:
        """The mechanism that is named."""
        return self.mechanism.family.kind

    def loss(self) -> Loss:
        """The loss of one part, all its releases together."""
        return self.times * self.mechanism.loss()

    def condition(self, table: tables.Table) -> Predicate | None:
        """The records that it keeps; None for all."""
        found = None if self.where is None else condition(self.where, table)
        if self.opaque is None:
            return found
        declared = tables.opaque(self.opaque.name, stability=self.opaque.stability)
        return declared if found is None else found & declared

    def add_to(self, plan: tables.Plan) -> None:
        """Add it, or all of its parts, to a plan."""
        with located("where"):
            where = self.condition(plan.table)
        said: dict[str, Any] = {
            "loss": self.loss(),
            "holds": self.holds.holds(),
            "where": where,
            "reads": self.reads,
            "count": self.count,
            "via": None if self.via is None else self.via.via(),
        }
        with located(fields={**_own(self), **_CALLED, "loss": self.kind}):
            if self.split_by is not None:
                with located("split_by"):
                    by = plan.table[self.split_by]
                plan.split(self.name, by=by, edges=self.edges, **said)
            elif self.each_of is not None:
                with located("each_of"):
                    of = plan.table[self.each_of]
                plan.each(self.name, of=of, **said)
            else:
                plan.add(self.name, adaptive=self.adaptive, **said)


def _kind_of_query(given: Any) -> str:
    """A query with noise is a statistic that can be run; every other one states its loss."""
    said = given if isinstance(given, Mapping) else {}
    return "(statistic)" if isinstance(given, StatisticQuery) or "noise" in said else "(stated)"


PlanQuery: TypeAlias = Annotated[
    Annotated[TableQuery, Tag("(stated)")] | Annotated[StatisticQuery, Tag("(statistic)")],
    Discriminator(_kind_of_query),
]


class TablePlan(File):
    """A plan file for one table."""

    title: Words = "Table plan"
    assumes: Annotated[tuple[Words, ...], Field(strict=False)] = ()
    targets: Annotated[tuple[Target, ...], Field(strict=False)] = ()
    table: Table
    neighbors: Notion
    contribution: Contribution | None = None
    queries: Annotated[tuple[PlanQuery, ...], Field(strict=False, min_length=1, max_length=MOST_QUERIES)]

    @model_validator(mode="after")
    def _builds(self) -> Self:
        """What the table, the notion and the queries say about each other is checked by building them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DisconnectedDomainWarning)  # told when the plan is used
            self.plan()
        return self

    def plan(self) -> tables.Plan:
        """The plan itself, with every split carried out."""
        return self.parts()[0]

    def parts(self) -> tuple[tables.Plan, tuple[range, ...]]:
        """The plan, and which of its queries each entry of the file became."""
        with located("neighbors", self.neighbors.kind, fields=_own(self.neighbors.chosen)):
            table, notion = self.table.table(), self.neighbors.notion()
            notion.check(table)
        with located("contribution", fields={"contribution": "clip_rows"}):
            bound = None if self.contribution is None else self.contribution.via()
            plan = tables.Plan(table, notion, contribution=bound)
        found: list[range] = []
        for index, query in enumerate(self.queries):
            before = plan.size
            with located("queries", index):
                query.add_to(plan)
            found.append(range(before, plan.size))
            if plan.size > MOST_QUERIES:
                raise refused(f"must be at most {MOST_QUERIES:,} in all, after every split", ("queries", index))
        return plan, tuple(found)

    def calibrated(self, epsilon: float, delta: float) -> TablePlan:
        """The same file with every automatic noise chosen, so that the whole plan costs at most (epsilon, delta)."""
        chosen = {one.name: one.noise for one in self.plan().calibrate(epsilon, delta).statistics}
        found = [
            query.with_noise(chosen[query.name]) if isinstance(query, StatisticQuery) else query
            for query in self.queries
        ]
        return self.model_copy(update={"queries": tuple(found)})

    def guarantee(self) -> tables.PlanGuarantee:
        """What the plan guarantees over its worst step, with the file's own assumptions."""
        found = self.plan().guarantee()
        return attrs.evolve(found, assumes=later(lambda: (*self.assumes, *found.assumes)))


def _own(entry: BaseModel) -> dict[str, str]:
    """Parameters of the library that the file calls by the same name."""
    return {name: name for name in type(entry).model_fields}


def read_table_plan(path: str | os.PathLike[str]) -> TablePlan:
    """The table plan in a YAML or JSON file."""
    return read_as(TablePlan, path)


def parse_table_plan(text: str) -> TablePlan:
    """The table plan in a YAML or JSON text."""
    return parse_as(TablePlan, text)


def table_plan_from(value: Mapping[str, Any]) -> TablePlan:
    """The table plan in plain values, such as `TablePlan.to_dict` gives."""
    return made_from(TablePlan, value)


def table_schema() -> dict[str, Any]:
    """JSON Schema of a table plan file."""
    return model_schema(TablePlan, "quiltwork table plan")
