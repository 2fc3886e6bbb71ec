"""The other release of a classifier's answers: how many queries fall in each bin of each class probability.

Each image has one attribute a class and bin, 1 if that probability of its row lies in the bin.  The shares of the query
set in the bins are ordinary summary statistics, so every defender and attacker of them applies.

Reference: seed 004 section 4 and appendix P.5; theory/game.md section 3.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.people.population import Population

__all__ = ["EDGES", "query_shares"]

EDGES = (0.01, 0.1, 0.5, 0.9, 0.99)  # class probabilities crowd at both ends


def query_shares(population: Population, edges: Any = EDGES) -> Population:
    """The same people, described by the bins of their class probabilities: [0, e1), [e1, e2), ..., [last, 1].

    >>> rows = Population([[0.05, 0.95], [0.6, 0.4]], [[0.5, 0.5]])
    >>> binned = query_shares(rows, [0.5])
    >>> binned.candidates.astype(int).tolist(), binned.attributes[:2]
    ([[1, 0, 0, 1], [0, 1, 1, 0]], ('P(class 0) in [0, 0.5)', 'P(class 0) in [0.5, 1]'))
    """
    if not isinstance(population, Population):
        raise InvalidParameter("population", population, "a Population of class probabilities")
    cuts = checks.numbers("edges", edges, "increasing numbers in (0, 1)", 0.0, 1.0)
    if cuts.ndim != 1 or cuts[0] <= 0.0 or cuts[-1] >= 1.0 or bool(np.any(np.diff(cuts) <= 0)):
        raise InvalidParameter("edges", edges, "increasing numbers in (0, 1)")
    ends = ["0", *(f"{cut:g}" for cut in cuts), "1"]
    bins = [f"[{low}, {high}{']' if high == '1' else ')'}" for low, high in pairwise(ends)]
    names = population.attributes or tuple(f"P(class {label})" for label in range(population.size[1]))
    attributes = [f"{name} in {each}" for name in names for each in bins]
    return Population(
        _binned(population.candidates, cuts),
        _binned(population.reference, cuts),
        population.prior,
        f"{population.source}, in {len(bins)} bins a class",
        attributes,
    )


def _binned(rows: FloatArray, cuts: FloatArray) -> FloatArray:
    place = np.searchsorted(cuts, rows, side="right")
    return np.asarray(np.eye(len(cuts) + 1)[place].reshape(len(rows), -1))
