"""What a plan guarantees: the worst curve, with the words, the witness, and the way to other notions.

The refusal of a plan for which no finite epsilon follows, with what would be accepted instead.

Reference: seed 001, Example II.9; theory/granularity.md section 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import attrs

from quiltwork import checks
from quiltwork.compose.loss import Loss
from quiltwork.curves.guarantee import Guarantee, later, value_of
from quiltwork.errors import InvalidParameter, QuiltworkError, UnboundedLossError
from quiltwork.numbers.digits import NOISE, at_most, single
from quiltwork.tables.notions.neighbors import (
    SWAP_STEPS,
    Entry,
    FreeLunch,
    Node,
    Notion,
    ReplaceOne,
    User,
    Window,
    add_remove,
)
from quiltwork.tables.notions.sensitivity import on_input
from quiltwork.tables.notions.transformations import ClipRows, FlatMap
from quiltwork.tables.query import Query
from quiltwork.tables.schema.predicates import opaque_parts
from quiltwork.tables.schema.table import Table
from quiltwork.tables.worst_step.contribution import clipped
from quiltwork.tables.worst_step.reach import may_refuse, reach
from quiltwork.tables.worst_step.vectors import Reach, Unbounded, Vector
from quiltwork.tables.worst_step.worst import Worst

USUAL_DELTA = 1e-6  # for the witness when no delta is asked for, and for alternatives that have no pure epsilon


def unbounded(table: Table, queries: Sequence[Query], step: Notion, bad: Sequence[int]) -> UnboundedLossError:
    """The error, with the numbers of the alternatives where they exist."""
    names = tuple(queries[i].name for i in bad)
    first = queries[bad[0]]
    others = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    why = _why(table, first, step)
    lines = [f"{first.name!r}{others} is stated {_statement(first)}, but {why} No finite epsilon follows."]
    if isinstance(first.holds.notion, (ReplaceOne, Entry)) and first.holds.input:
        lines[0] += " This is Example II.9: guarantees of replaced rows do not compose over parts."
        lines += _instead_of_replacing(table, queries, step, bad)
    else:
        lines += _instead(first, step)
    return UnboundedLossError("\n".join(lines), names)


def _statement(query: Query) -> str:
    notion = query.holds.notion
    if notion is None:
        return "for the plan's own notion"
    if query.holds.input:
        return f"for {notion} changes of ITS OWN rows"
    return f"for {notion} changes of the table"


def _why(table: Table, query: Query, step: Notion) -> str:
    where = f"with {table.words(query.where)}" if query.where.columns else "of the table"
    if isinstance(step, SWAP_STEPS) and query.where.columns:
        return (
            f"one step of the table ({step.protects}) can move a record out of the rows {where}, changing how many "
            f"rows {query.name!r} sees."
        )
    if isinstance(step, (User, Window, Node)):
        return f"one step of the table ({step.protects}) changes more rows at once than it speaks of."
    if isinstance(step, FreeLunch):
        return "any table may take the place of any other."
    return f"one step of the table ({step.protects}) is no number of such changes."


def _instead_of_replacing(table: Table, queries: Sequence[Query], step: Notion, bad: Sequence[int]) -> list[str]:
    restated = [
        attrs.evolve(query, holds=on_input(add_remove())) if i in bad else query for i, query in enumerate(queries)
    ]
    answer = _epsilon(table, restated, step)
    then = "" if answer is None else f": the plan is then {step} {answer}"
    lines = ["Do one of:", f"(a) state it for add/remove, on_input(add_remove()){then};"]
    lines.append("(b) use holds=on_table if it was proved for the whole table;")
    columns: frozenset[str] = frozenset().union(*(queries[i].where.columns for i in bad))
    fixed = _fixed(table, step, columns) if columns else None
    if fixed is not None:
        lines.append(f"(c) if these columns cannot change, say so: {fixed}.")
    naive = _epsilon(table, restated, add_remove())
    if naive is not None and naive != answer:
        lines.append(f"Not accepted: {naive}. That is the add/remove answer.")
    return lines


def _fixed(table: Table, step: Notion, columns: frozenset[str]) -> Notion | None:
    """The same step with these columns left alone; None if nothing is left to change."""
    if isinstance(step, Entry):
        left = (step.columns or frozenset(table.columns)) - columns
        return Entry(left) if left else None
    fixed = columns | (step.fixed if isinstance(step, ReplaceOne) else frozenset())
    return ReplaceOne(fixed) if fixed != set(table.columns) else None


def _instead(query: Query, step: Notion) -> list[str]:
    if isinstance(step, User) and math.isinf(step.max_records):
        return [
            f"Do one of: (a) bound the records of a person, user({step.id!r}, max_records=...); (b) keep at most some "
            f"rows of each, via=clip_rows({step.id!r}, most); (c) state the loss for whole persons, "
            f"on_input(user({step.id!r}))."
        ]
    if isinstance(step, Window) and math.isinf(step.max_records):
        return [
            "Do one of: (a) bound the records in a window, window(..., max_records=...); "
            "(b) state the loss for windows."
        ]
    if isinstance(step, Node) and math.isinf(step.max_degree):
        return ["Do one of: (a) bound the degree, node(max_degree=...); (b) state the loss for nodes."]
    if isinstance(step, FreeLunch):
        return ["Give the table a public bound on its rows, table.rows(most=...), or state the loss for free_lunch()."]
    return [f"State the loss of {query.name!r} for {step}, or for add_remove() on its input."]


def _epsilon(table: Table, queries: Sequence[Query], step: Notion) -> str | None:
    """The epsilon that a corrected plan would have, in words."""
    try:
        found = reach(table, queries, step)
        curve = Worst(found.vectors, found.bounds)
        pure = float(curve.epsilon(0.0).upper)
        if math.isfinite(pure):
            return f"{at_most(pure, 6, NOISE)}-DP"
        return f"({at_most(float(curve.epsilon(USUAL_DELTA).upper), 6)}, {USUAL_DELTA:g})-DP"
    except (QuiltworkError, Unbounded):
        return None


MAX_NAMED_QUERIES = 8  # queries named in a sentence
BECAUSE = (
    "distance-vector composition: each reachable step is composed by itself and the worst is taken last "
    "(Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe, Theorems IV.10 and V.5, generalised)"
)


@attrs.frozen(repr=False)
class PlanGuarantee(Guarantee):
    """A guarantee that knows its plan: its notion, its reachable vectors, and what other notions would give."""

    notion: Notion = attrs.field(kw_only=True)
    table: Table = attrs.field(kw_only=True, repr=False)
    queries: tuple[Query, ...] = attrs.field(kw_only=True, repr=False)
    contribution: ClipRows | None = attrs.field(kw_only=True, default=None, repr=False)
    _found: Reach = attrs.field(kw_only=True, repr=False, alias="found", eq=value_of)

    def to(self, other: Notion) -> PlanGuarantee:
        """The same plan under another notion, derived anew from its queries, never from this guarantee."""
        if not isinstance(other, Notion):
            raise InvalidParameter("other", other, "a notion such as add_remove()")
        other.check(self.table)
        return guaranteed(self.table, self.queries, other, self.contribution)

    def loss(self) -> Any:
        """This guarantee as a loss, which says for which change of the data it was stated."""
        found: Loss = super().loss()
        return found.stated_for(self.protects) if found.parts else found

    def beside(self, other: Guarantee) -> Guarantee | None:
        """Both plans as one, when they are about one table under one notion: distances of each step are added up.

        Two plans that each cut the rows of a person may use different rows of that person: they are not joined.
        """
        if not isinstance(other, PlanGuarantee) or other.notion != self.notion or other.table is not self.table:
            return None
        if self.contribution is not None or other.contribution is not None:
            return None
        taken = {query.name for query in self.queries}
        fresh = [attrs.evolve(query, name=_fresh(query.name, taken)) for query in other.queries]
        return guaranteed(self.table, (*self.queries, *fresh), self.notion)

    @property
    def found(self) -> Reach:
        """Everything that one step can do: searched for with the first question."""
        return cast(Reach, value_of(self._found))

    @property
    def vectors(self) -> tuple[Vector, ...]:
        """The steps that matter, with the distance of every query that they touch."""
        return self.found.vectors

    @property
    def exact(self) -> bool:
        """Whether the worst step was found, and not only bounded."""
        return not self.found.bounds and all(vector.exact for vector in self.found.vectors)

    def worst_case(self, delta: float = USUAL_DELTA) -> Vector | None:
        """The reachable step with the largest epsilon at this delta."""
        delta = checks.probability("delta", delta)
        return self.curve.witness(delta) if isinstance(self.curve, Worst) else None

    def touched(self, delta: float = USUAL_DELTA) -> dict[str, float]:
        """Queries that the worst step touches, and how far it moves each of them."""
        vector = self.worst_case(delta)
        return {} if vector is None else {self.queries[i].name: distance for i, distance in vector.distances}

    def explain(self, delta: float | None = None) -> str:
        """The guarantee in plain language, then each query in which the worst pair of neighbouring tables differs."""
        lines = [Guarantee.explain(self, delta)]
        names = self.touched(USUAL_DELTA if delta is None else delta)
        lines.append(f"The worst pair of neighbouring tables differs in {len(names)} of {len(self.queries)} queries.")
        for query in self.queries:
            if query.name in names:
                text = f"- {query.name}: at distance {single(names[query.name])}; {query.in_words()}"
                via = "" if query.via is None else f", via {query.via}"
                lines.append(f"{text}, {query.holds.words}{via}")
        return "\n".join(lines)


def _fresh(name: str, taken: set[str]) -> str:
    """A name that no other query has."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name} ({number})", number + 1
    taken.add(found)
    return found


def guaranteed(
    table: Table, queries: Sequence[Query], step: Notion, contribution: ClipRows | None = None
) -> PlanGuarantee:
    """The worst of all vectors that one step can reach, or UnboundedLossError with what to do.

    The search waits for the first question, unless a query by itself says that the plan may be refused.
    """
    queries = tuple(queries)
    found = later(partial(searched, table, queries, step, contribution))
    if contribution is not None or may_refuse(table, queries, step):
        value_of(found)
    curve = Worst((), reach=found)
    return PlanGuarantee(
        curve,
        protects=_protected(step, contribution),
        assumes=later(lambda: _assumptions(queries, step, contribution)),
        because=later(lambda: _reasons(curve.reach)),
        witness=later(lambda: _words(curve.witness(USUAL_DELTA), queries)),
        notion=step,
        table=table,
        queries=queries,
        contribution=contribution,
        found=found,
    )


def _protected(step: Notion, contribution: ClipRows | None) -> str:
    """What is hidden: with a bounded contribution all rows of a person, however many there are."""
    if contribution is None or not isinstance(step, User) or step.id != contribution.id:
        return step.protects
    return f"{attrs.evolve(step, max_records=math.inf).protects}; at most {contribution.most} of them are used"


def searched(table: Table, queries: Sequence[Query], step: Notion, contribution: ClipRows | None = None) -> Reach:
    """What one step can do, or UnboundedLossError with what to do."""
    try:
        return reach(table, queries, step) if contribution is None else clipped(table, queries, step, contribution)
    except Unbounded as stopped:
        raise unbounded(table, queries, step, stopped.queries) from None


def _reasons(found: Reach) -> tuple[str, ...]:
    families = [part.family for vector in found.vectors for part in vector.loss.parts]
    return BECAUSE, *found.notes, *dict.fromkeys(family.because for family in families)


def _words(vector: Vector | None, queries: Sequence[Query]) -> str | None:
    if vector is None:
        return None
    names = [queries[i].name + ("" if d == 1 else f" (distance {at_most(d, 6)})") for i, d in vector.distances]
    shown = ", ".join(names[:MAX_NAMED_QUERIES]) + (
        f" and {len(names) - MAX_NAMED_QUERIES} more" if len(names) > MAX_NAMED_QUERIES else ""
    )
    return f"{vector.where} touches {shown}" if names else f"{vector.where}: nothing is touched"


def _assumptions(queries: Sequence[Query], step: Notion, contribution: ClipRows | None) -> tuple[str, ...]:
    """Everything that was taken on trust."""
    said = ["the conditions of all queries that are not adaptive were fixed before any result was seen"]
    if contribution is not None:
        said.append(
            f"of each {contribution.id} at most {contribution.most} rows are used by the whole plan, picked once "
            f"before any query, by a rule that looks at the rows of that {contribution.id} alone"
        )
    for query in queries:
        for part in opaque_parts(query.where):
            said.append(f"{query.name!r} reads through {part}, as declared: it counts as touching every record")
        if query.adaptive:
            said.append(f"{query.name!r} is chosen after earlier outputs: it counts as touching every record")
        elif query.opaque and not opaque_parts(query.where):
            said.append(
                f"the condition of {query.name!r} has too many alternatives: it counts as touching every record"
            )
        if query.via is not None:
            said.append(
                f"{query.name!r} reads via {query.via}, and no record changes more rows than that says{_order(query)}"
            )
    stated = [query.holds.notion for query in queries]
    if contribution is not None and isinstance(step, User) and step.id == contribution.id:
        step = attrs.evolve(step, max_records=math.inf)  # enforced, not assumed
    for notion in dict.fromkeys(notion for notion in (*stated, step) if isinstance(notion, User)):
        said += contribution_bounds(notion)
    return tuple(dict.fromkeys(said))


def contribution_bounds(notion: Notion) -> list[str]:
    """What a notion takes for granted about the records of one person."""
    if not isinstance(notion, User):
        return []
    whole = [] if math.isinf(notion.max_records) else [f"no {notion.id} has more than {notion.max_records:g} records"]
    return whole + [f"no {notion.id} has more than {cap} records for one {c}" for c, cap in notion.max_per]


def _order(query: Query) -> str:
    """Whether its condition comes before its map or after it, and what the map looks at."""
    said = ""
    if isinstance(query.via, FlatMap) and query.reads:
        said = f"; it looks at {', '.join(sorted(query.reads))} alone"
    if not query.where.columns:
        return said
    last = query.filtered_last
    return f"{said}; its condition is applied {'after' if last else 'before'} that"
