"""Which queries can be touched at all, and the refusal of infinite distances."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from quiltwork.tables.cells.cells import Arrangement
from quiltwork.tables.cells.sweep import Sweep
from quiltwork.tables.notions.sensitivity import Response
from quiltwork.tables.schema.columns import BoolArray
from quiltwork.tables.worst_step.vectors import Pricing, Reach

LIMIT_NOTE = "there are too many cells to list: those left out are bounded by what they can cost together"


@attrs.frozen
class Unbounded(Exception):
    """Some step moves the input of these queries infinitely far."""

    queries: tuple[int, ...]


def refuse_infinite(queries: Sequence[int], far: Sequence[float]) -> None:
    """Raise `Unbounded` for the queries whose distance is infinite."""
    found = tuple(query for query, distance in zip(queries, far, strict=True) if math.isinf(distance))
    if found:
        raise Unbounded(found)


def possible(arrangement: Arrangement | Sweep) -> BoolArray:
    """Queries that some record can touch: a box needs one fitting class in each column, and columns are free."""
    if isinstance(arrangement, Sweep):
        return arrangement.possible
    boxes = np.ones((1, arrangement.owner.size), dtype=bool)
    for sheet in arrangement.sheets:
        boxes &= sheet.true.any(axis=0)
    found: BoolArray = arrangement.touched(boxes)[0]
    return found


def everything(
    arrangement: Arrangement, responses: Sequence[Response], pricing: Pricing, where: str, *, exact: bool = True
) -> Reach:
    """Any number of records: every query that can be touched is, as far as it goes."""
    can = [int(i) for i in np.flatnonzero(possible(arrangement))]
    far = [responses[i].many(math.inf) for i in can]
    refuse_infinite(can, far)
    real = exact and all(sheet.exact for sheet in arrangement.sheets)
    return Reach((pricing.vector(dict(zip(can, far, strict=True)), where, exact=real),))
