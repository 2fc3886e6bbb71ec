"""All small tables, their neighbours and their distances, by enumeration.

Nothing here asks the library what a plan does. Tables are multisets of records, as rows of counts; neighbours are found
from the difference of two tables by the words of each notion; distances are shortest paths.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import attrs
import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import shortest_path

Row = dict[str, Any]

# ---- universes


@attrs.frozen(eq=False)
class Universe:
    """All multisets of some rows up to a size: `counts[table, row]`."""

    rows: list[Row]
    counts: np.ndarray

    @classmethod
    def of(cls, rows: list[Row], sizes: range) -> Universe:
        found = [
            np.bincount(chosen, minlength=len(rows)) if chosen else np.zeros(len(rows), dtype=int)
            for size in sizes
            for chosen in itertools.combinations_with_replacement(range(len(rows)), size)
        ]
        return cls(rows, np.array(found, dtype=np.int64).reshape(-1, len(rows)))

    def where(self, kept: np.ndarray) -> Universe:
        return Universe(self.rows, self.counts[kept])

    def column(self, name: str) -> np.ndarray:
        found = np.empty(len(self.rows), dtype=object)
        found[:] = [row[name] for row in self.rows]
        return found


# ---- neighbours, by definition


def steps(notion: Any, universe: Universe) -> np.ndarray:
    """The length of one step between every two tables: infinite unless they are neighbours.

    Lengths are 1, and for metrics the moved distance in units of `within` (d-privacy speaks of all of them).
    """
    counts = universe.counts
    diff = counts[:, None, :] - counts[None, :, :]
    moved = np.abs(diff).sum(axis=2)
    kind = notion.kind
    if kind in ("add_remove", "edge"):
        near = moved == 1
    elif kind == "free_lunch":
        near = np.ones_like(moved, dtype=bool)
    elif kind == "window":
        near = (moved <= notion.max_records) & _within(universe, diff != 0, notion)
    elif kind == "user":
        near = _one_person(universe, diff != 0, notion)
    elif kind == "node":
        near = _one_node(universe, diff != 0, notion)
    elif kind in ("replace_one", "entry", "metric"):
        swapped = (moved == 2) & (diff.sum(axis=2) == 0)
        length = _turned(universe, notion)[diff.argmin(axis=2), diff.argmax(axis=2)]
        found = np.where(swapped, length, np.inf)
        np.fill_diagonal(found, 0.0)
        return found
    else:
        raise TypeError(kind)
    found = np.where(near, 1.0, np.inf)
    np.fill_diagonal(found, 0.0)
    return found


def _turned(universe: Universe, notion: Any) -> np.ndarray:
    """How far one row is from another that it may turn into."""
    rows = universe.rows
    found = np.full((len(rows), len(rows)), np.inf)
    for (i, one), (j, two) in itertools.product(enumerate(rows), repeat=2):
        changed = {name for name in one if one[name] != two[name]}
        if notion.kind == "replace_one":
            fine = not changed & notion.fixed
            found[i, j] = 1.0 if fine else np.inf
        elif notion.kind == "entry":
            fine = len(changed) <= 1 and (not notion.columns or changed <= notion.columns)
            found[i, j] = 1.0 if fine else np.inf
        else:
            places = notion.distance.columns
            if changed <= set(places) and not any(row[c] is None for row in (one, two) for c in places):
                gaps = [abs(one[c] - two[c]) for c in places]
                far = sum(gaps) if notion.distance.name == "manhattan" else math.sqrt(sum(g * g for g in gaps))
                found[i, j] = far / notion.within
    return found


def _within(universe: Universe, differs: np.ndarray, notion: Any) -> np.ndarray:
    """Everything that differs lies in one stretch of consecutive values, or has no place at all."""
    places = universe.column(notion.column)
    known = [place for place in places if place is not None]
    near = np.zeros(differs.shape[:2], dtype=bool)
    for start in range(min(known, default=0), max(known, default=0) + 1):
        outside = np.array([p is None or not start <= p < start + notion.length for p in places])
        near |= ~differs[:, :, outside].any(axis=2)
    return near | ~differs[:, :, np.array([p is not None for p in places])].any(axis=2)


def _one_person(universe: Universe, differs: np.ndarray, notion: Any) -> np.ndarray:
    owners = universe.column(notion.id)
    near = np.zeros(differs.shape[:2], dtype=bool)
    for owner in set(owners):
        own = owners == owner
        allowed = person_fits(universe, own, notion)
        empty = universe.counts[:, own].sum(axis=1) == 0
        gone = (empty[:, None] | empty[None, :]) & allowed[:, None] & allowed[None, :]
        near |= gone & ~differs[:, :, ~own].any(axis=2)
    return near


def person_fits(universe: Universe, own: np.ndarray, notion: Any) -> np.ndarray:
    """Tables in which one person keeps to the caps."""
    fits = universe.counts[:, own].sum(axis=1) <= notion.max_records
    for column, cap in notion.max_per:
        if column in universe.rows[0]:
            values = universe.column(column)
            for value in {*values}:
                fits &= universe.counts[:, own & (values == value)].sum(axis=1) <= cap
    return np.asarray(fits)


def _one_node(universe: Universe, differs: np.ndarray, notion: Any) -> np.ndarray:
    ends = [set(pair) for pair in zip(universe.column("u"), universe.column("v"), strict=True)]
    near = np.zeros(differs.shape[:2], dtype=bool)
    for place in set().union(*ends):
        own = np.array([place in pair for pair in ends])
        degree = universe.counts[:, own].sum(axis=1)
        fine = (degree[:, None] <= notion.max_degree) & (degree[None, :] <= notion.max_degree)
        if not notion.rewire:
            fine &= (degree[:, None] == 0) | (degree[None, :] == 0)
        near |= fine & ~differs[:, :, ~own].any(axis=2)
    return near


def distances(lengths: np.ndarray) -> np.ndarray:
    """Shortest chains of steps."""
    a, b = np.nonzero(np.isfinite(lengths) & (lengths > 0))
    return np.asarray(shortest_path(coo_matrix((lengths[a, b], (a, b)), shape=lengths.shape).tocsr()))
