"""The published table as numbers side by side, in an order that depends on nothing but its rows.

Rows are sorted by the class that they name (their largest entry), then by that entry, the surest first, then by all
entries in turn.  Rows that tie in all of them are equal, so every order of the queries gives the same table: order
carries nothing, and a network finds rows of one class side by side.

When the number of queries varies it is published too: missing rows are filled with `MARKER` and come last.

Reference: seed 004 appendix P.5, specified here; theory/game.md section 8.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quiltwork.checks import FloatArray
from quiltwork.game.priors import Members

__all__ = ["MARKER", "arranged", "filled_rows", "order_of"]

MARKER = -1.0  # no probability, so that nobody takes it for one


def order_of(tables: FloatArray) -> NDArray[np.intp]:
    """For each table (B x n x C) the order of its rows."""
    named = tables.argmax(axis=2)
    surest = -np.take_along_axis(tables, named[:, :, None], axis=2)[:, :, 0]
    padding = ~filled_rows(tables)
    columns = [tables[:, :, column] for column in range(tables.shape[2] - 1, -1, -1)]
    return np.lexsort((*columns, surest, named, padding), axis=-1)  # the last key decides first


def arranged(tables: FloatArray, order: NDArray[np.intp]) -> FloatArray:
    """Tables with their rows in this order, one line of numbers each."""
    moved = np.take_along_axis(tables, order[:, :, None], axis=1)
    return np.asarray(moved.reshape(len(tables), -1))


def filled_rows(tables: FloatArray) -> Members:
    """Which rows stand for a query: not all entries are the marker."""
    return np.asarray((tables != MARKER).any(axis=2))
