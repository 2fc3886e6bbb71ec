"""What a plan guarantees: the worst curve, with the words, the witness, and the way to other notions."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from quiltwork import checks
from quiltwork.curves.digits import at_most, single
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter
from quiltwork.tables.neighbors import Notion, User
from quiltwork.tables.predicates import opaque_parts
from quiltwork.tables.queries import Query
from quiltwork.tables.reach import reach
from quiltwork.tables.refusal import unbounded
from quiltwork.tables.table import Table
from quiltwork.tables.touch import Unbounded
from quiltwork.tables.vectors import Reach, Vector
from quiltwork.tables.worst import Worst

__all__ = ["PlanGuarantee", "guaranteed"]

USUAL_DELTA = 1e-6  # at which the witness is chosen when no other delta is asked for
SHOWN = 8  # queries named in a sentence
BECAUSE = (
    "distance-vector composition: each reachable step is composed by itself and the worst is taken last "
    "(Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe, Theorems IV.10 and V.5, generalised)"
)


@attrs.frozen
class PlanGuarantee(Guarantee):
    """A guarantee that knows its plan: its notion, its reachable vectors, and what other notions would give."""

    notion: Notion = attrs.field(kw_only=True)
    table: Table = attrs.field(kw_only=True, repr=False)
    queries: tuple[Query, ...] = attrs.field(kw_only=True, repr=False)
    found: Reach = attrs.field(kw_only=True, repr=False)

    def to(self, other: Notion) -> PlanGuarantee:
        """The same plan under another notion, derived anew from its queries, never from this guarantee."""
        if not isinstance(other, Notion):
            raise InvalidParameter("other", other, "a notion such as add_remove()")
        other.check(self.table)
        return guaranteed(self.table, self.queries, other)

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
        """The guarantee in plain language, then each query that the worst step touches."""
        lines = [Guarantee.explain(self, delta)]
        names = self.touched(USUAL_DELTA if delta is None else delta)
        lines.append(f"The worst step touches {len(names)} of {len(self.queries)} queries.")
        for query in self.queries:
            if query.name in names:
                text = f"- {query.name}: distance {single(names[query.name])}, {query.loss}, {query.holds}"
                lines.append(text + (f", via {query.via}" if query.via is not None else ""))
        return "\n".join(lines)


def guaranteed(table: Table, queries: Sequence[Query], step: Notion) -> PlanGuarantee:
    """The worst of all vectors that one step can reach, or UnboundedLossError with what to do."""
    try:
        found = reach(table, queries, step)
    except Unbounded as stopped:
        raise unbounded(table, queries, step, stopped.queries) from None
    curve = Worst(found.vectors, found.bounds)
    families = [part.family for vector in found.vectors for part in vector.loss.parts]
    return PlanGuarantee(
        curve,
        protects=step.protects,
        assumes=_assumptions(queries, step, found),
        because=(BECAUSE, *dict.fromkeys(family.because for family in families)),
        witness=_words(curve.witness(USUAL_DELTA), queries),
        notion=step,
        table=table,
        queries=tuple(queries),
        found=found,
    )


def _words(vector: Vector | None, queries: Sequence[Query]) -> str | None:
    if vector is None:
        return None
    names = [queries[i].name + ("" if d == 1 else f" (distance {at_most(d, 6)})") for i, d in vector.distances]
    shown = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    return f"{vector.where} touches {shown}" if names else f"{vector.where}: nothing is touched"


def _assumptions(queries: Sequence[Query], step: Notion, found: Reach) -> tuple[str, ...]:
    """Everything that was taken on trust."""
    said = ["the conditions of all queries that are not adaptive were fixed before any result was seen"]
    for query in queries:
        for part in opaque_parts(query.where):
            said.append(f"{query.name!r} reads through {part}, as declared: it counts as touching every record")
        if query.adaptive:
            said.append(f"{query.name!r} is chosen after earlier outputs: it counts as touching every record")
        elif query.opaque and not list(opaque_parts(query.where)):
            said.append(
                f"the condition of {query.name!r} has too many alternatives: it counts as touching every record"
            )
        if query.via is not None:
            said.append(f"{query.name!r} reads via {query.via}, and no record changes more rows than that says")
    stated = [query.holds.notion for query in queries]
    limits = list(dict.fromkeys(notion for notion in (*stated, step) if isinstance(notion, User)))
    said += [f"no {n.id} has more than {n.max_records:g} records" for n in limits if n.max_records < float("inf")]
    said += [f"no {n.id} has more than {cap} records for one {c}" for n in limits for c, cap in n.max_per]
    return tuple(dict.fromkeys((*said, *found.notes)))
