"""Adaptive use: conditions may depend on earlier outputs, within a budget that holds on every path.

A block ledger over the domain: what a query costs is charged to the cells it covers, and a query is admitted only if no
reachable step would then cost more than the budget. The ledger knows conditions, never data, so that a refusal tells
nothing about them.

Reference: theory/granularity.md section 3.2 (interactive mode); prior art: Sage block composition.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import attrs

from quiltwork.compose.filters.opening import Cost, Filter, filter_of
from quiltwork.compose.filters.worst_of import WorstOf
from quiltwork.compose.loss import Loss
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import BudgetExceeded, InvalidParameter, Unsupported
from quiltwork.kinds import not_written
from quiltwork.tables.guarantee import searched
from quiltwork.tables.query import Asked, Query
from quiltwork.tables.worst_step.vectors import Bound

if TYPE_CHECKING:
    from quiltwork.tables.plan import Plan
    from quiltwork.tables.schema.table import Reference


@not_written("a session goes on, and a copy of it would spend its budget twice", "keep budgets in a ledger")
class Session:
    """Queries admitted one by one. The guarantee is the budget, whatever is asked and whenever one stops."""

    def __init__(self, plan: Plan, budget: Loss) -> None:
        self._plan, self._budget = plan, budget
        self._filter: Filter = filter_of(budget)
        self._queries: list[Query] = []
        self._counted: list[Query] = []
        self._spent: Cost = self._filter.zero
        for query in plan.queries:
            self._admit(query)

    @property
    def queries(self) -> tuple[Query, ...]:
        """What was admitted."""
        return tuple(self._queries)

    @property
    def spent(self) -> str:
        """What the worst step costs so far."""
        return self._filter.words(self._spent)

    @property
    def left(self) -> str:
        """What a query that touches everything may still cost."""
        return self._filter.words_of_limit(self._spent)

    def spend(self, name: str, **asked: Unpack[Asked]) -> Session:
        """Admit a query, to be run now; BudgetExceeded changes nothing."""
        return self._admit(self._plan.asked(name, **asked))

    def split(self, name: str, *, by: Reference, edges: Iterable[Any] | None = None, **asked: Unpack[Asked]) -> Session:
        """Admit the same query on every part, as `Plan.split` does: all of them, or none."""
        return self._admit(*self._plan.split_queries(name, by, edges, **asked))

    def each(self, name: str, *, of: Reference, **asked: Unpack[Asked]) -> Session:
        """Admit the same query for every member of a set-valued column, as `Plan.each` does: all of them, or none."""
        return self._admit(*self._plan.each_queries(name, of, **asked))

    def would_exceed(self, **asked: Unpack[Asked]) -> bool:
        """Whether such a query would be refused; nothing is spent."""
        query = self._plan.asked("a query", **asked)
        kept = self._kept_for([query])
        return not kept.admits(self._total(kept, [*self._counted, _counted(kept, query)]))

    def guarantee(self) -> Guarantee:
        """The whole budget: it holds for everything that was and will be admitted."""
        promise = self._filter.promise_of(self._budget)
        return Guarantee(
            promise,
            protects=self._plan.neighbors.protects,
            assumes=(
                "every query on this table is admitted by this session before it runs",
                "each query's loss holds whatever the earlier outputs were",
            ),
            because=(
                "costs that add up on every path never pass the budget (pure, zCDP, Rényi and GDP filters)",
                *dict.fromkeys(part.family.because for part in promise.parts),
            ),
        )

    def _admit(self, *queries: Query) -> Session:
        names = {other.name for other in self._queries}
        for query in queries:
            if query.name in names:
                raise InvalidParameter("name", query.name, "new", "each query of a session has its own name")
            names.add(query.name)
        kept = self._kept_for(queries)
        counted = [_counted(kept, query) for query in queries]
        total = self._total(kept, [*self._counted, *counted])
        if not kept.admits(total):
            raise BudgetExceeded(
                budget=self._budget,
                requested=f"{kept.words(total)} in all",
                remaining=self.left,
                hint="ask of other cells, lower its cost, or open a new budget; nothing was spent",
            )
        self._queries += queries
        self._counted += counted
        self._filter, self._spent = kept, total
        return self

    def _kept_for(self, queries: Sequence[Query]) -> Filter:
        """The filter; what it leaves open is chosen for these first queries, and fixed once they are admitted."""
        if not self._filter.is_open or not queries:
            return self._filter
        found = searched(self._plan.table, list(queries), self._plan.neighbors, self._plan.contribution)
        losses = [vector.loss for vector in found.vectors] + [bound.losses[0] for bound in found.bounds]
        telling = [loss for loss in losses if loss.parts]
        return self._filter.chosen_for(WorstOf(tuple(telling)) if telling else queries[0].loss)

    def _total(self, kept: Filter, counted: list[Query]) -> Cost:
        """What the worst step costs, with everything above it that was not listed."""
        found = searched(self._plan.table, counted, self._plan.neighbors, self._plan.contribution)
        totals = [kept.total(vector.loss) for vector in found.vectors]
        totals += [_bounded(kept, bound) for bound in found.bounds]
        return tuple(max(one[j] for one in totals) for j in range(len(kept.zero)))

    def __repr__(self) -> str:
        return f"<Session of {len(self._queries)} queries: {self.spent} of {self._filter.words_of_limit()}>"


def _counted(kept: Filter, query: Query) -> Query:
    """The query with the loss that the filter counts."""
    inside = None if query.inside is None else kept.counted(query.inside)
    return attrs.evolve(query, loss=kept.counted(query.loss), inside=inside)


def _bounded(kept: Filter, bound: Bound) -> Cost:
    """The least of the totals that the losses of a bound give; some of them have none in this filter."""
    known: list[Cost] = []
    for loss in bound.losses:
        with contextlib.suppress(Unsupported):
            known.append(kept.total(loss))
    if not known:
        raise Unsupported("this query", "its cost could only be bounded in another currency", "use another budget")
    return kept.least(known)
