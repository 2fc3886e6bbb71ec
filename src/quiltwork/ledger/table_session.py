"""Adaptive use of a table that lasts: queries admitted one by one, each charged to the blocks that it reads.

A block is a value of one column. A query that keeps no record of a block tells nothing about it, so that queries on
different blocks do not add up; the conditions alone say which blocks those are, and no data are looked at. What cannot
be read off a condition counts as reading every block.

Reference: theory/granularity.md section 3.2 (block ledger), theory/joining.md section 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import attrs

from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.kinds import not_written
from quiltwork.ledger.book.fixed import notion_of
from quiltwork.ledger.book.terms import Blocks, Terms
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.tables.guarantee import PlanGuarantee, guaranteed
from quiltwork.tables.notions.neighbors import RECORD_STEPS, Entry, Metric, Notion, ReplaceOne, User, add_remove
from quiltwork.tables.notions.sensitivity import on_input
from quiltwork.tables.plan import Plan
from quiltwork.tables.query import Asked, Query
from quiltwork.tables.schema.columns import Cat, Column, Date, Int
from quiltwork.tables.schema.table import Reference, Table
from quiltwork.tables.worst_step.reach import reach

if TYPE_CHECKING:
    from quiltwork.ledger.ledger import Ledger


def blocks_by(column: Reference, neighbors: Notion) -> Blocks:
    """A block for each value of a column, and how many of them one step of the notion can touch."""
    names = tuple(_narrowed(column))
    return Blocks(column.name, names, min(_touched(column.name, neighbors), len(names)))


def _narrowed(column: Reference) -> dict[str, Column]:
    """The column with only one of its values, for each of them."""
    kind = column.column
    if getattr(kind, "nullable", False):
        raise InvalidParameter("blocks", column.name, "a column without NULL")
    if isinstance(kind, Cat):
        return dict(zip(column.parts(), (Cat(value) for value in kind.categories), strict=True))
    if isinstance(kind, (Int, Date)):
        first, last = int(kind.domain[0][0]), int(kind.domain[1][0])
        one = (lambda v: Int(v, v)) if isinstance(kind, Int) else (lambda v: Date(*2 * (kind.low.fromordinal(v),)))
        return dict(zip(column.parts(), map(one, range(first, last)), strict=True))
    raise InvalidParameter("blocks", column.name, "a column of categories, whole numbers or days")


def _touched(column: str, step: Notion) -> int:
    """How many values of the column one step can touch."""
    if isinstance(step, RECORD_STEPS):
        return 1
    if isinstance(step, ReplaceOne):
        return 1 if column in step.fixed else 2
    if isinstance(step, Entry):
        return 1 if step.columns and column not in step.columns else 2
    if isinstance(step, Metric):
        return 1 if column not in step.distance.columns else 2
    if isinstance(step, User) and math.isfinite(step.max_records):
        return int(step.max_records)
    return 2**53  # all of them


@not_written("its state is in the ledger", "keep the address of the ledger and the name of the budget")
@attrs.frozen(eq=False)
class TableSession:
    """Queries on one table, paid from one budget whose blocks are the values of a column."""

    ledger: Ledger
    budget: str
    plan: Plan
    label: str  # the column whose values are the blocks

    @classmethod
    def of(cls, ledger: Ledger, terms: Terms, plan: Any) -> TableSession:
        """Refused where the budget is not one about this table and this notion."""
        if not isinstance(plan, Plan):
            raise InvalidParameter("plan", plan, "a table plan", "Plan(table, neighbors=...)")
        if plan.queries:
            raise InvalidParameter("plan", plan, "a plan without queries", "admit them one by one, by spend")
        blocks = terms.blocks
        if blocks is None or blocks.label not in plan.table.columns:
            raise Unsupported(
                f"a session in budget {terms.name!r}", "its blocks are no values of a column of this table",
                "open it with blocks=ledger.blocks_by(table.column, neighbors)",
            )  # fmt: skip
        known = notion_of(terms.notion)
        if known is not None and known != plan.neighbors:
            raise InvalidParameter("plan", str(plan.neighbors), f"of what the budget protects, {known}")
        needed = blocks_by(plan.table[blocks.label], plan.neighbors)
        if blocks.names != needed.names or blocks.most < needed.most:
            asked = f"those of column {blocks.label!r}, of which a step touches at most {needed.most}"
            raise InvalidParameter("blocks", (blocks.names, blocks.most), asked)
        return cls(ledger, terms.name, plan, blocks.label)

    def spend(self, name: str, *, key: str | None = None, **asked: Unpack[Asked]) -> Receipt:
        """Admit a query, to be run now; BudgetExceeded takes nothing. Its name is the note of its entry."""
        return self._take(name, [self.plan.asked(name, **asked)], key)

    def split(
        self, name: str, *, by: Reference, edges: Iterable[Any] | None = None, key: str | None = None,
        **asked: Unpack[Asked],
    ) -> Receipt:  # fmt: skip
        """Admit the same query on every part, as `Plan.split` does: all of them, or none."""
        return self._take(name, self.plan.split_queries(name, by, edges, **asked), key)

    def each(self, name: str, *, of: Reference, key: str | None = None, **asked: Unpack[Asked]) -> Receipt:
        """Admit the same query for every member of a set-valued column, as `Plan.each` does: all of them, or none."""
        return self._take(name, self.plan.each_queries(name, of, **asked), key)

    def would_exceed(self, **asked: Unpack[Asked]) -> bool:
        """Whether such a query would be refused; nothing is spent."""
        queries = [self.plan.asked("a query", **asked)]
        return self.ledger.would_exceed(self.budget, self._promised(queries), blocks=self.read_by(queries))

    def read_by(self, queries: Sequence[Query]) -> tuple[str, ...] | None:
        """The blocks of which some query keeps a record; None when that may be all of them."""
        if self.plan.contribution is not None:  # a row in one block may push out one in another
            return None
        if not all(query.record_by_record and not query.opaque for query in queries):
            return None
        seen = [attrs.evolve(query, holds=on_input(add_remove())) for query in queries]
        found = []
        for value, column in _narrowed(self.plan.table[self.label]).items():
            narrow = Table(**{**self.plan.table.columns, self.label: column})
            here = reach(narrow, seen, add_remove())
            if here.bounds or any(vector.distances for vector in here.vectors):
                found.append(value)
        return tuple(found)

    def _promised(self, queries: Sequence[Query]) -> PlanGuarantee:
        return guaranteed(self.plan.table, queries, self.plan.neighbors, self.plan.contribution)

    def _take(self, name: str, queries: Sequence[Query], key: str | None) -> Receipt:
        blocks = self.read_by(queries)
        if blocks == ():
            raise InvalidParameter("where", name, "a condition that some record meets")
        return self.ledger.spend(self.budget, self._promised(queries), blocks=blocks, note=name, key=key)
