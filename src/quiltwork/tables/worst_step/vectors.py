"""Distance vectors: what one step of the table does to all queries at once, and the composition it costs.

A vector that some pair of neighbours really has is `exact`; one that only stands above others is a bound. `Bound` holds
losses each of which is above every vector that it stands for, so that the least of their answers is a bound too.
Infinite distances of queries that some record can touch are refused.

Reference: theory/granularity.md section 3, Theorem 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from quiltwork.compose.loss import Loss
from quiltwork.compose.scaling import attained, is_symmetric, scaled, total, turned
from quiltwork.errors import Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.stated import typed, typed_below
from quiltwork.tables.cells.cells import Arrangement
from quiltwork.tables.notions.neighbors import Metric
from quiltwork.tables.notions.sensitivity import Response
from quiltwork.tables.query import Query
from quiltwork.tables.schema.columns import BoolArray


@document("vector/1")
@attrs.frozen(eq=False)
class Vector:
    """Distances of the touched queries, the composed loss, and where it happens."""

    loss: Loss
    distances: tuple[tuple[int, float], ...]
    where: str
    exact: bool = True
    real: Loss | None = None

    @property
    def attained(self) -> Loss:
        """Releases that obey all statements and really lose this much: the lower side."""
        return self.loss if self.real is None else self.real


@document("vector_bound/1")
@attrs.frozen(eq=False)
class Bound:
    """Losses above every vector that was not listed, and how they were found."""

    losses: tuple[Loss, ...]
    method: str


@attrs.frozen(eq=False)
class Reach:
    """Everything that one step can do: vectors, bounds for those that were not listed, and what to say about it."""

    vectors: tuple[Vector, ...]
    bounds: tuple[Bound, ...] = ()
    notes: tuple[str, ...] = ()


LIMIT_NOTE = "kinds of records that are too many to list are bounded by what they can cost together"


class Pricing:
    """Losses of every query at the distances that occur, made once."""

    def __init__(self, queries: Sequence[Query], responses: Sequence[Response]) -> None:
        self.queries, self.responses = queries, responses
        self._made: dict[tuple[int, float], Loss] = {}
        self.symmetric = [is_symmetric(query.loss) for query in queries]

    def at(self, query: int, distance: float) -> Loss | None:
        """The loss of a query at a distance; None when it is 0 or infinite."""
        if distance == 0 or math.isinf(distance):
            return None
        key = (query, distance)
        if key not in self._made:
            self._made[key] = self._scaled(query, distance)
        return self._made[key]

    def _inside(self, query: int, distance: float) -> Loss | None:
        """What is known of a kept record that turns into another kept one."""
        found = self.responses[query]
        return found.inside if distance == found.both else None

    def _scaled(self, query: int, distance: float) -> Loss:
        inside = self._inside(query, distance)
        if inside is not None:
            return inside
        name, loss, stated = self.queries[query].name, self.queries[query].loss, self.queries[query].holds.notion
        directed = self.responses[query].signed and distance == self.responses[query].one  # which world has the row
        if not self.symmetric[query] and not directed:
            # after one output it may go one way, after another the other: no mixture of fixed directions bounds that
            raise Unsupported(
                f"query {name!r}",
                "its loss is not symmetric, and which of the two worlds comes first is not known under this notion",
                "state it with a symmetric loss, such as constraints or a profile that hold in both directions",
            )
        if isinstance(stated, Metric) and distance > 1 and not all(part.family.linear for part in loss.parts):
            raise Unsupported(
                f"query {name!r} at distance {distance:g}",
                "a guarantee for one unit of a metric adds up over several only if it is stated for all distances",
                "state it as pure, zcdp, gdp, laplace or gaussian",
            )
        try:
            return scaled(loss, distance)
        except Unsupported as error:
            raise Unsupported(
                f"query {name!r} at distance {distance:g}",
                f"one step of the table moves its input by {distance:g} steps of what it is stated for, and "
                f"{error.because}",
                "state it for the plan's own notion with on_table",
            ) from error

    def vector(
        self, distances: dict[int, float], where: str, *, added: frozenset[int] = frozenset(), exact: bool = True,
        moved: float = 0.0,
    ) -> Vector:  # fmt: skip
        """The composition at these distances; what is `added`, not removed, has its two worlds exchanged.

        `moved`: how far the record of this step really moves, for steps of a metric.
        """
        touched = tuple(sorted((query, d) for query, d in distances.items() if d > 0))
        losses, real = [], []
        for query, distance in touched:
            loss = self.at(query, distance)
            if loss is not None:
                losses.append(turned(loss) if query in added else loss)
                sure = self._certain(query, distance, moved)
                known = sure == distance == 1 or self._inside(query, distance) is not None
                real.append(losses[-1] if known else attained(self.queries[query].loss, sure))
        return Vector(total((loss, 1) for loss in losses), touched, where, exact, total((loss, 1) for loss in real))

    def _certain(self, query: int, distance: float, moved: float) -> float:
        """A distance that the input of a touched query is certainly apart, no more than the one that bounds it.

        Statements for a metric speak of every length of a move: a row that is moved, and that the query reads, is as
        far from where it was as it moved; a chain of moves that the query does not see may make all others shorter.
        """
        found, asked = self.responses[query], self.queries[query]
        if found.sure:
            return distance
        stated = asked.holds.notion
        if not isinstance(stated, Metric):
            return min(distance, 1.0)
        read = asked.reads is None or set(stated.distance.columns) <= asked.reads
        seen = asked.holds.input and asked.via is None and read and distance == found.both != found.one
        return min(distance, typed_below(typed(moved) / typed(stated.within))) if seen else 0.0


# ---- which queries can be touched at all


@attrs.frozen
class Unbounded(Exception):
    """Some step moves the input of these queries infinitely far."""

    queries: tuple[int, ...]


def refuse(infinite: BoolArray) -> None:
    """Raise `Unbounded` for the queries that some step moves infinitely far."""
    if infinite.any():
        raise Unbounded(tuple(np.flatnonzero(infinite).tolist()))


def everything(
    arrangement: Arrangement, responses: Sequence[Response], pricing: Pricing, where: str, *, exact: bool = True
) -> Reach:
    """Any number of records: every query that can be touched is, as far as it goes."""
    can, far = arrangement.possible, np.array([found.many(math.inf) for found in responses])
    refuse(can & np.isinf(far))
    real = exact and all(sheet.exact for sheet in arrangement.sheets)
    return Reach((pricing.vector({int(i): float(far[i]) for i in np.flatnonzero(can)}, where, exact=real),))
