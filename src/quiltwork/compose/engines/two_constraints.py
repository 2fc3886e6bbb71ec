"""Two constraints, any real epsilons: the law of k releases on a (k+1) x (k+1) lattice, in O(k^2) operations.

A release has losses +-e1, +-e2. Count u, the outcomes e1 or e2, and v, the outcomes e1 or -e2; then the total loss is
e1 (u + v - k) + e2 (u - v), and (u, v) is a bivariate binomial with increments

    (1, 1): pa    (1, 0): pb    (0, 1): pc    (0, 0): pd.

Given u, the law of v obeys a three-term recurrence. Its ratios f(v+1)/f(v) are computed upwards below the centre v0(u)
and downwards above it: on its own side each recurrence adds non-negative terms only. Every mass comes with a running
bound of its rounding error, which is small where the mass is large.

Reference: seed 002 Theorem 3; theory/multi-constraints.md section 3a.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork.checks import FloatArray
from quiltwork.numbers.rounding import UNIT

Errors = NDArray[np.float32]
Real = float | np.floating[Any]
ROOM = 1.01  # errors are added up in single precision
LARGE = 2.0**500
FINE = float(np.finfo(np.longdouble).eps) / 2  # unit roundoff of extended precision
EXTENDED = 140, 1100  # below, rounding is small anyway; above, it would take seconds


def is_extended(count: int) -> bool:
    """Whether `bivariate` works in extended precision: it then takes four times as long."""
    return EXTENDED[0] < count <= EXTENDED[1]


def binomial(count: int, up: Real, down: Real) -> tuple[FloatArray, FloatArray]:
    """Masses of a binomial law with odds up : down, by ratios from its mode, and their relative errors.

    In extended precision where the processor has it: only the input and the last rounding count then.
    """
    step, odds = np.arange(count, dtype=np.longdouble), np.longdouble(up) / np.longdouble(down)
    mode = min(max(math.floor((count + 1) * (up / (up + down))), 0), count)
    with np.errstate(under="ignore"):
        right = np.cumprod((count - step[mode:]) / (step[mode:] + 1) * odds)
        left = np.cumprod(((step[:mode] + 1) / (count - step[:mode]) / odds)[::-1])[::-1]
        masses = np.concatenate((left, [np.longdouble(1)], right)).astype(float)
        # each ratio is off by 3 units and its product by one more
        wrong = 4 * np.abs(np.arange(count + 1) - mode) * FINE + (2 * math.log2(count + 2) + 8) * UNIT
        total = float(masses.sum())
        wrong += float(masses @ wrong) / total
    return masses / total, wrong


def bivariate(count: int, increments: tuple[float, float, float, float]) -> tuple[FloatArray, Errors]:
    """Masses indexed [v, u], summing to 1, and their relative errors given the increments (pa, pb, pc, pd).

    Masses below the smallest double are zero.
    """
    pa, pb, pc, pd = increments
    kind = np.longdouble if is_extended(count) else np.float64
    rows = Rows(count, kind(pa) / kind(pb), kind(pc) / kind(pd), kind)
    with np.errstate(all="ignore"):
        rows.fill_below()
        rows.fill_above()
        masses, errors = rows.masses.astype(float, copy=False), rows.errors
        totals = masses.sum(axis=0)
        up, down = (np.longdouble(one) + np.longdouble(two) for one, two in ((pa, pb), (pc, pd)))
        outer, outer_errors = binomial(count, up, down)  # of sums that are rounded, too
        outer_errors += 2 * count * FINE
        average = np.einsum("vu,vu->u", masses, errors) / totals
        masses /= totals  # which may be large where `outer` is small
        masses *= outer
    errors += ((average + outer_errors) * ROOM + (2 * math.log2(count + 2) + 16) * UNIT).astype(np.float32)
    errors *= np.float32(ROOM)
    return masses, errors


@attrs.define(eq=False)
class Rows:
    """The two recurrences, vectorised over u. Row v holds f(v) for all u, relative to the row at the centre."""

    count: int
    first: Any  # pa / pb
    second: Any  # pc / pd
    kind: Any  # of number to compute with
    unit: float = attrs.field(init=False)
    u: FloatArray = attrs.field(init=False)
    centre: NDArray[np.int64] = attrs.field(init=False)
    masses: FloatArray = attrs.field(init=False)
    errors: Errors = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        count, size = self.count, self.count + 1
        self.unit = float(np.finfo(self.kind).eps) / 2
        self.u = np.arange(size, dtype=self.kind)
        share = self.first / (self.first + self.second)
        centre = self.u * share + (count - self.u) * (self.second / (self.first + self.second))
        self.centre = np.clip(np.floor(centre), 0, count).astype(np.int64)
        self.masses, self.errors = np.ones((size, size), self.kind), np.zeros((size, size), dtype=np.float32)

    def fill_below(self) -> None:
        """f(v) = f(v+1) / r_v with r_v = f(v+1)/f(v) from r_(v-1), for v below the centre."""
        count, last = self.count, int(self.centre.max())
        product = self.first * self.second
        ratio: FloatArray = np.ones(count + 1, self.kind)
        error: FloatArray = np.zeros(count + 1)
        for v in range(last):
            own = (self.u - v) * self.first, (count - self.u - v) * self.second
            carried = product * (count - v + 1) / ratio if v else 0.0
            ratio, error = self._next(*own, carried, error, v + 1, v < self.centre)
            self.masses[v], self.errors[v] = ratio, error
        above = np.ones(count + 1, self.kind)
        for v in range(last - 1, -1, -1):  # entries on the other side are 1 and 0: they change nothing
            above = self.masses[v] = above / self.masses[v]
            self.errors[v] += self.errors[v + 1] * (v + 1 < last)
            self._shrink(above, slice(v, None))

    def fill_above(self) -> None:
        """f(v) = f(v-1) / r_v with r_v = f(v-1)/f(v) from r_(v+1), for v above the centre."""
        count, first_row = self.count, int(self.centre.min()) + 1
        product = self.first * self.second
        ratio: FloatArray = np.ones(count + 1, self.kind)
        error: FloatArray = np.zeros(count + 1)
        for v in range(count, first_row - 1, -1):
            own = (v - self.u) / self.second, (v + self.u - count) / self.first
            carried = (v + 1) / product / ratio if v < count else 0.0
            live = v > self.centre
            ratio, error = self._next(*own, carried, error, count - v + 1, live)
            self.masses[v] = np.where(live, ratio, self.masses[v])
            self.errors[v] = np.where(live, error, self.errors[v])
        below, wrong = self.masses[self.centre, np.arange(count + 1)], np.zeros(count + 1, dtype=np.float32)
        for v in range(first_row, count + 1):
            live = v > self.centre
            below, wrong = below / np.where(live, self.masses[v], 1.0), wrong + np.where(live, self.errors[v], 0.0)
            self.masses[v] = np.where(live, below, self.masses[v])
            self.errors[v] = np.where(live, wrong, self.errors[v])
            self._shrink(below, slice(v + 1))

    def _shrink(self, level: FloatArray, done: slice) -> None:
        """Far below the most likely v a row may outgrow a double: what is done of its column is scaled down."""
        large = level > LARGE
        if large.any():
            level[large] /= LARGE
            self.masses[done, large] /= LARGE

    def _next(
        self,
        first: FloatArray,
        second: FloatArray,
        carried: FloatArray | float,
        error: FloatArray,
        scale: int,
        live: NDArray[np.bool_],
    ) -> tuple[FloatArray, FloatArray]:
        """(first + second + carried) / scale and the relative error of a quotient by it; 1 and 0 on the other side."""
        total, unit = first + second + carried, 3 * self.unit
        wrong = (unit * (np.abs(first) + np.abs(second)) + carried * (error + unit)) / total + unit
        return np.where(live, total / scale, self.kind(1)), np.where(live, wrong, 0.0)
