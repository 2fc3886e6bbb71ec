"""Exact kernels between the datasets of two secrets: rational rows that sum to 1, transports, and their constant.

Reference: theory/pufferfish.md 2.2.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np

from quiltwork.numbers.rounding import UNIT, up
from quiltwork.pufferfish.composable.cases import Case, Law, log_ratio

__all__ = ["Kernel", "constant", "tidy", "transported"]

Kernel = tuple[Law, ...]

_GRID = 2**64  # kernels are multiples of 1/_GRID: exact sums stay small
_SIMPLE = 360  # entries of a kernel are also tried with at most this denominator: what a solver rounded is exact again


def tidy(weights: Any, simple: bool = False) -> Kernel:
    """Nonnegative rows as rationals that sum to 1 exactly, on a fine grid or as simple fractions.

    >>> tidy([[0.5000000001, 0.4999999999]], simple=True)
    ((Fraction(1, 2), Fraction(1, 2)),)
    """
    kernel = []
    for row in np.asarray(weights, dtype=float).tolist():
        if simple:
            entries = [Fraction(entry).limit_denominator(_SIMPLE) for entry in row]
            total = sum(entries, Fraction(0))
            if total:  # many small entries may all be nearest to 0
                kernel.append(tuple(entry / total for entry in entries))
                continue
        scale = math.fsum(row)
        whole = [int(entry / scale * _GRID) for entry in row]
        whole[int(np.argmax(row))] += _GRID - sum(whole)
        kernel.append(tuple(Fraction(entry, _GRID) for entry in whole))
    return tuple(kernel)


def transported(kernel: Kernel, case: Case, alive: np.ndarray) -> Kernel | None:
    """The kernel, changed as little as its rounding needs, so that p beta = p' exactly; None when none can.

    In integers: the mass that it moves is cut down to what p' takes, and what is left over is sent along shortest
    augmenting paths over pairs that may carry weight. If a path is missing, the largest flow falls short, so that no
    kernel on these pairs is a transport.
    """
    scale = math.lcm(*(p.denominator for p in (*case.p_first, *case.p_second))) * _GRID
    supply, demand = [int(p * scale) for p in case.p_first], [int(p * scale) for p in case.p_second]
    flow = [[int(entry * have) for entry in row] for row, have in zip(kernel, supply, strict=True)]
    for column, most in enumerate(demand):
        over = sum(line[column] for line in flow) - most
        for line in flow:
            cut = max(0, min(over, line[column]))
            line[column] -= cut
            over -= cut
    need = [most - sum(line[column] for line in flow) for column, most in enumerate(demand)]
    for at, have in enumerate(supply):
        while (left := have - sum(flow[at])) > 0:
            path = _path(at, flow, need, alive)
            if path is None:
                return None
            back = [flow[row][column] for (_, column), (row, _) in itertools.pairwise(path)]
            amount = min(left, need[path[-1][1]], *back)
            for number, (row, column) in enumerate(path):
                flow[row][column] += amount
                if number:
                    flow[row][path[number - 1][1]] -= amount
            need[path[-1][1]] -= amount
    return tuple(
        tuple(Fraction(entry, have) for entry in row) for row, have in zip(flow, supply, strict=True)
    )  # fmt: skip


def _path(start: int, flow: list[list[int]], need: list[int], alive: np.ndarray) -> list[tuple[int, int]] | None:
    """A shortest path of (row, column) steps from a row to a column in need; between steps, mass is taken back."""
    reached: dict[int, list[tuple[int, int]]] = {start: []}
    front = [start]
    seen: set[int] = set()
    while front:
        following = []
        for row in front:
            for column in np.flatnonzero(alive[row]).tolist():
                if column in seen:
                    continue
                seen.add(column)
                steps = [*reached[row], (row, column)]
                if need[column] > 0:
                    return steps
                for other, line in enumerate(flow):
                    if line[column] > 0 and other not in reached:
                        reached[other] = steps
                        following.append(other)
        front = following
    return None


def constant(kernel: Kernel, case: Case) -> float:
    """The smaller of D_inf(p beta || p') and log E_{D ~ p} exp KL(beta(. | D) || p'), rounded up; 0 for a transport.

    Reference: theory/pufferfish.md 2.2.
    """
    moved = [Fraction(0)] * len(case.p_second)
    for p, row in zip(case.p_first, kernel, strict=True):
        moved = [mass + p * entry for mass, entry in zip(moved, row, strict=True)]
    largest = max(mass / p for mass, p in zip(moved, case.p_second, strict=True))
    if largest == 1:
        return 0.0  # both are laws: no ratio above 1 leaves them equal
    straight = log_ratio(largest.numerator, largest.denominator)
    straight = up(straight + UNIT * (2.0 + 8.0 * straight))
    return min(straight, _averaged(kernel, case))


def _averaged(kernel: Kernel, case: Case) -> float:
    """log E exp KL, rounded up: the error of each KL is bounded, the largest is taken out of the sum."""
    exponents = []
    for p, row in zip(case.p_first, kernel, strict=True):
        parts = [
            (float(w), log_ratio((w / q).numerator, (w / q).denominator))
            for w, q in zip(row, case.p_second, strict=True)
            if w
        ]
        value = math.fsum(w * loss for w, loss in parts) + log_ratio(p.numerator, p.denominator)
        size = math.fsum(w * abs(loss) for w, loss in parts) + abs(log_ratio(p.numerator, p.denominator))
        exponents.append(up(value + UNIT * (16.0 * size + 8.0)))
    largest = max(exponents)
    # rounding a difference d of exponents moves its term by at most 2^-53 |d| e^-|d|, so each term by two units
    total = math.fsum(math.exp(one - largest) for one in exponents) * (1.0 + (2 * len(exponents) + 16) * UNIT)
    return up(largest + math.log(total) + UNIT * (8.0 + 4.0 * math.log(total) + abs(largest)))
