"""The best set H of entries to hide, found by summing their axes out.

For two laws of the whole data (one axis for each entry) and a set H, what is left outside H tells at most
sup q(x_L) / q'(x_L), q and q' the laws with the axes of H summed out.  A value with q > 0 = q' makes it infinite.
Every H gives a valid bound; trying all of them gives the influence curve itself.

Reference: seed 003 Definition 7, corrected for one-sided values; theory/pufferfish.md 3.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from quiltwork.checks import FloatArray

__all__ = ["all_subsets", "greedy_subsets", "ratios", "summed", "work_of"]


def work_of(sizes: Sequence[int], largest: int) -> float:
    """Numbers touched when all sets of at most `largest` entries are tried: the sum of prod_{j not in H} k_j."""
    by_size = np.zeros(largest + 1)
    by_size[0] = 1.0
    for size in sizes:
        by_size[1:], by_size[0] = size * by_size[1:] + by_size[:-1], size * by_size[0]
    return float(by_size.sum())


def ratios(first: FloatArray, second: FloatArray) -> FloatArray:
    """sup q/q' over everything but the first axis; infinite at one-sided values, 0/0 is left out."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = (first / second).reshape(len(first), -1)
    largest: FloatArray = np.fmax.reduce(quotients, axis=1)
    return largest


def summed(law: FloatArray, hidden: int) -> FloatArray:
    """The law of the entries outside H, flat; H is a set of bits.  Axes go one by one, which keeps errors small."""
    for axis in reversed(range(law.ndim)):
        if hidden >> axis & 1:
            law = law.sum(axis=axis)
    return np.ravel(law)


def all_subsets(first: FloatArray, second: FloatArray, largest: int) -> tuple[FloatArray, np.ndarray]:
    """The least ratio over all sets of at most b entries, b = 1 .. largest, and the sets that give it.

    `first` and `second` hold one law for each case, with cases on the first axis.  Sets are walked so that each is one
    sum away from a smaller one; the axes that were summed out always come before those that are left.
    """
    cases, entries = len(first), first.ndim - 1
    best = np.full((cases, largest), math.inf)
    sets = np.full((cases, largest), -1, dtype=np.int64)

    def visit(one: FloatArray, two: FloatArray, after: int, hidden: int, size: int) -> None:
        if size:
            found = ratios(one, two)
            better = (found < best[:, size - 1]) | (sets[:, size - 1] < 0)
            best[better, size - 1], sets[better, size - 1] = found[better], hidden
        if size == largest:
            return
        for axis in range(after, entries):
            place = 1 + axis - size
            visit(one.sum(axis=place), two.sum(axis=place), axis + 1, hidden | 1 << axis, size + 1)

    visit(first, second, 0, 0, 0)
    return _at_most(best, sets)


def greedy_subsets(first: FloatArray, second: FloatArray, largest: int) -> tuple[FloatArray, np.ndarray]:
    """One case: grow H by the entry that leaves the least ratio and, where that is a tie, the least total variation.

    Ties are common, since ratios may be infinite.  Not the best sets, but every set is a valid one.
    """
    best, sets = np.full((1, largest), math.inf), np.full((1, largest), -1, dtype=np.int64)
    left, hidden = list(range(first.ndim)), 0
    one, two, mass, other_mass = first, second, float(first.sum()), float(second.sum())
    for size in range(largest):
        options = []
        for place in range(len(left)):
            rest, other = one.sum(axis=place), two.sum(axis=place)
            ratio = float(ratios(rest.reshape(1, -1), other.reshape(1, -1))[0])
            options.append((ratio, float(np.abs(rest / mass - other / other_mass).sum()), place))
        ratio, _, place = min(options)
        one, two = one.sum(axis=place), two.sum(axis=place)
        hidden |= 1 << left.pop(place)
        best[0, size], sets[0, size] = ratio, hidden
    return _at_most(best, sets)


def _at_most(best: FloatArray, sets: np.ndarray) -> tuple[FloatArray, np.ndarray]:
    """A smaller set is also one of at most b entries."""
    for size in range(1, best.shape[1]):
        smaller = best[:, size - 1] < best[:, size]
        best[smaller, size], sets[smaller, size] = best[smaller, size - 1], sets[smaller, size - 1]
    return best, sets
