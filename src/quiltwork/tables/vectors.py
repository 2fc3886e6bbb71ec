"""Distance vectors: what one step of the table does to all queries at once, and the composition it costs.

A vector that some pair of neighbours really has is `exact`; one that only stands above others is a bound. `Bound` holds
losses each of which is above every vector that it stands for, so that the least of their answers is a bound too.

Reference: theory/granularity.md section 3, Theorem 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import attrs

from quiltwork.compose.loss import Loss
from quiltwork.errors import Unsupported
from quiltwork.tables.holds import Response
from quiltwork.tables.queries import Query
from quiltwork.tables.scaling import either, is_symmetric, scaled, total, turned

MOST_SIGNS = 128


@attrs.frozen(eq=False)
class Vector:
    """Distances of the touched queries, the composed loss, and where it happens."""

    loss: Loss
    distances: tuple[tuple[int, float], ...]
    where: str
    exact: bool = True


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

    def compared(self, query: int, distance: float) -> Loss | None:
        """The loss for comparisons: one that may go either way is comparable with its own kind only."""
        loss = self.at(query, distance)
        if loss is None or self.symmetric[query] or self._directed(query, distance):
            return loss
        return either(loss)

    def _directed(self, query: int, distance: float) -> bool:
        return self.responses[query].signed and distance == self.responses[query].one

    def _scaled(self, query: int, distance: float) -> Loss:
        try:
            return scaled(self.queries[query].loss, distance)
        except Unsupported as error:
            raise Unsupported(
                f"query {self.queries[query].name!r} at distance {distance:g}",
                f"one step of the table moves its input by {distance:g} steps of what it is stated for, and "
                f"{error.because}",
                "state it for the plan's own notion with on_table",
            ) from error

    def vector(
        self, distances: dict[int, float], where: str, *, added: frozenset[int] = frozenset(), exact: bool = True
    ) -> list[Vector]:
        """The composition at these distances, once for every way the directions can fall."""
        touched = tuple(sorted((query, d) for query, d in distances.items() if d > 0))
        fixed: list[Loss] = []
        free: dict[Loss, int] = {}
        for query, distance in touched:
            loss = self.at(query, distance)
            if loss is None:
                continue
            if self.symmetric[query]:
                fixed.append(loss)
            elif self._directed(query, distance):
                fixed.append(turned(loss) if query in added else loss)
            else:
                free[loss] = free.get(loss, 0) + 1
        base = total((loss, 1) for loss in fixed)
        return [Vector(base + way, touched, where, exact) for way in _directions(free)]


def _directions(free: dict[Loss, int]) -> list[Loss]:
    """Every split of losses with unknown direction into one way and the other."""
    ways = math.prod(count + 1 for count in free.values())
    if ways > MOST_SIGNS:
        raise Unsupported(
            f"{sum(free.values())} releases that are not symmetric and may go either way",
            f"{ways} mixtures of directions would have to be composed",
            "state them with a symmetric loss, or for add_remove() on their input",
        )
    splits = itertools.product(*(range(count + 1) for count in free.values()))
    return [
        total(
            pair
            for (loss, count), back in zip(free.items(), split, strict=True)
            for pair in ((loss, count - back), (turned(loss), back))
        )
        for split in splits
    ]
