"""When is one composition certainly at least as revealing as another? Without composing anything.

Laplace releases are ordered by sensitivity / scale, Gaussian ones by mu, pure ones by epsilon: along such a ladder a
stronger release dominates a weaker one. A composition is dominated when its releases can be matched, one to one, with
releases of the other that are at least as strong: on each ladder and for every rung, it has no more releases at or
above it. These counts add over releases, so that they can be summed over the queries that a record touches.

Ladders with many rungs are coarsened: a release counts at the rung above it when it is to be dominated, at the rung
below it when it dominates.

Reference: theory/granularity.md section 4.5 (type-count vectors).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.loss import Loss
from quiltwork.compose.releases import Part
from quiltwork.losses.family import Family

MOST_RUNGS = 24


@attrs.frozen(eq=False)
class Ladders:
    """Rungs of every ladder that some losses stand on, from the highest down, each with a family that stands there.

    A strength vector has one number for each rung, ladder by ladder.
    """

    rungs: dict[object, tuple[tuple[float, Family], ...]]
    coarse: bool = False  # whether heights were rounded, so that equal vectors may hide different losses

    @classmethod
    def of(cls, losses: Iterable[Loss]) -> Ladders:
        """The ladders of these losses; beyond MOST_RUNGS, quantiles that keep both ends."""
        heights: dict[object, dict[float, Family]] = {}
        for loss in losses:
            for part in loss.parts:
                ladder, height = part.family.rung()
                heights.setdefault(ladder, {})[height] = part.family
        coarse = any(len(found) > MOST_RUNGS for found in heights.values())
        return cls({ladder: _coarsened(found) for ladder, found in heights.items()}, coarse)

    @property
    def width(self) -> int:
        """How many numbers a strength vector has."""
        return sum(map(len, self.rungs.values()))

    def strength(self, losses: Sequence[Loss | None], *, up: bool) -> FloatArray:
        """One row for each loss: releases at or above each rung, heights rounded up or down to a rung."""
        starts, total = {}, 0
        for ladder, rungs in self.rungs.items():
            starts[ladder], total = total, total + len(rungs)
        heights = {ladder: np.array([-height for height, _ in rungs]) for ladder, rungs in self.rungs.items()}
        table = np.zeros((len(losses), total))
        for row, loss in zip(table, losses, strict=True):
            for part in loss.parts if loss is not None else ():
                ladder, height = part.family.rung()
                falling = heights[ladder]
                first = int(np.searchsorted(falling, -height, side="left"))  # the first rung that is not above
                if up and first and (first == falling.size or -falling[first] < height):
                    first -= 1
                row[starts[ladder] + first : starts[ladder] + falling.size] += part.count
        return table

    def loss(self, strength: FloatArray) -> Loss:
        """The weakest composition at least as strong as a vector.

        Each rung holds as many releases as its number exceeds that of the rung above.

        A maximum of vectors still rises along each ladder.
        """
        parts, at = [], 0
        for rungs in self.rungs.values():
            counts = np.diff(np.rint(strength[at : at + len(rungs)]).astype(int), prepend=0)
            parts += [Part(family, int(count)) for count, (_, family) in zip(counts, rungs, strict=True)]
            at += len(rungs)
        return Loss(tuple(parts))


def distinct(ladders: Ladders, rows: FloatArray) -> np.ndarray:
    """Indices of rows to look at: one of each when equal rows are equal losses, otherwise all of them."""
    if ladders.coarse:
        return np.arange(rows.shape[0])
    return first_of_each(rows)


def first_of_each(rows: np.ndarray) -> np.ndarray:
    """Indices of the first of equal rows, compared byte by byte: much faster than number by number."""
    if not rows.shape[0] or not rows.shape[1]:
        return np.arange(min(rows.shape[0], 1))
    plain = np.ascontiguousarray(rows if rows.dtype == bool else rows + 0)  # adding 0 leaves one kind of zero
    words = plain.view(np.dtype((np.void, plain.dtype.itemsize * plain.shape[1]))).ravel()
    return np.sort(np.unique(words, return_index=True)[1])


def _coarsened(found: dict[float, Family]) -> tuple[tuple[float, Family], ...]:
    heights = sorted(found, reverse=True)
    if len(heights) > MOST_RUNGS:
        places = np.unique(np.linspace(0, len(heights) - 1, MOST_RUNGS).round().astype(int))
        heights = [heights[i] for i in places]
    return tuple((height, found[height]) for height in heights)


def dominated(rows: FloatArray, by: FloatArray) -> np.ndarray:
    """Which rows lie below some row of `by`, in every number."""
    if not rows.size or not by.size:
        return np.full(rows.shape[0], rows.shape[1] == 0 and by.shape[0] > 0)
    found = np.zeros(rows.shape[0], dtype=bool)
    chunk = max(1, 4_000_000 // max(by.size, 1))
    for start in range(0, rows.shape[0], chunk):
        block = rows[start : start + chunk]
        below = np.all(block[:, None, :] <= by[None, :, :], axis=2)
        found[start : start + chunk] = np.any(below, axis=1)
    return found


def front(up: FloatArray, down: FloatArray) -> np.ndarray:
    """Indices of rows that no other row dominates; of equal rows the first stays."""
    if not up.shape[0]:
        return np.zeros(0, dtype=int)
    order = np.argsort(-up.sum(axis=1), kind="stable")
    kept: list[int] = []
    for start in range(0, order.size, 256):
        block = order[start : start + 256]
        if kept:
            block = block[~dominated(up[block], down[kept])]
        for index in block:  # what is stronger comes first, so that only earlier rows can dominate
            if not kept or not bool(np.any(np.all(up[index] <= down[kept[-256:]], axis=1))):
                kept.append(int(index))
    return np.array(sorted(kept), dtype=int)
