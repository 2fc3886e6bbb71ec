"""Finite pairs: losses that take finitely many values, and the family `pair(p, q)`."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.losses.dominating_pair import TAIL_ULPS, Cells, Lattice, Pair
from quiltwork.losses.family import NUMBERS, Family, parameter
from quiltwork.losses.transforms.transform import TERM_ULPS, Nodes, NodeTransform, Transform, mixed_loss
from quiltwork.numbers.laws import doubles, probabilities
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import Stated, typed

BLOCK = 1 << 20


class FinitePair(Pair):
    """Atoms (loss, P mass, Q mass) sorted by loss, plus reveal and vanish mass.

    Both masses are kept: e^(-loss) overflows where Q does not. `relative` bounds the relative error of each mass,
    `loss_error` what a loss may be off beyond its own rounding, `reveal_error` the relative error of the reveal mass.
    `stated` losses are a user's own numbers, off by no more than the rounding of a decimal.
    `ends` of the support are given where the list of atoms ends before: what it leaves out is below any double.
    """

    def __init__(
        self,
        losses: FloatArray,
        p: FloatArray,
        q: FloatArray,
        *,
        reveal: float = 0.0,
        vanish: float = 0.0,
        log_p: FloatArray | None = None,
        lattice: Lattice | None = None,
        relative: float = 8 * UNIT,
        loss_error: float = 0.0,
        reveal_error: float = 4 * UNIT,
        ends: tuple[float, float] | None = None,
        stated: bool = False,
        stated_masses: tuple[Fraction, Fraction] | None = None,
    ) -> None:
        self.losses, self.p, self.q = losses, p, q
        self.stated, self.stated_masses = stated, stated_masses
        self.reveal, self.vanish, self.relative = reveal, vanish, relative
        self.loss_error, self.reveal_error = loss_error, reveal_error
        self.log_p = np.log(p) if log_p is None else log_p
        self.low, self.high = ends or (float(losses[0]), float(losses[-1]))
        self.whole = ends is None
        self._lattice = lattice

    def above(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        i = np.searchsorted(self.losses, loss, side="right")
        return _suffix(self.p)[i], _suffix(self.q)[i]

    def below(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        i = np.searchsorted(self.losses, loss, side="right")
        return _prefix(self.p)[i], _prefix(self.q)[i]

    def stick(self, loss: FloatArray) -> FloatArray:
        flat = np.ravel(loss)
        rows = max(1, BLOCK // self.losses.size)
        parts = [
            -np.expm1(np.minimum(np.subtract.outer(flat[i : i + rows], self.losses), 0.0)) @ self.p
            for i in range(0, flat.size, rows)
        ]
        return np.concatenate(parts).reshape(np.shape(loss))

    def stick_error(self, loss: FloatArray) -> FloatArray:
        """That of the masses and of the sum; the rounding of the losses is left to `rounding`."""
        return np.full(np.shape(loss), self.relative + (64 + 2 * self.losses.size) * UNIT)

    def tail_error(self, loss: FloatArray) -> FloatArray:
        return np.full(np.shape(loss), self.relative + (TAIL_ULPS + 2 * self.losses.size) * UNIT)

    def swapped(self) -> FinitePair:
        lattice = self._lattice
        if lattice is not None:
            lattice = Lattice(-lattice.offset, lattice.step, -lattice.indices[::-1], self.q[::-1])
        with np.errstate(divide="ignore"):
            log_q = np.where(self.q > 1e-290, np.log(self.q), self.log_p - self.losses)
        return FinitePair(
            -self.losses[::-1],
            self.q[::-1],
            self.p[::-1],
            reveal=self.vanish,
            vanish=self.reveal,
            log_p=log_q[::-1],
            lattice=lattice,
            relative=self.relative,
            loss_error=self.loss_error,
            reveal_error=self.reveal_error,
            ends=None if self.whole else (-self.high, -self.low),
            stated=self.stated,
            stated_masses=None if self.stated_masses is None else self.stated_masses[::-1],
        )

    @property
    def faintest(self) -> float:
        """The largest size of the logarithm of a mass: so many units each may be off by when it is exponentiated."""
        return min(float(np.abs(self.log_p).max()), 745.0)

    @property
    def rounding(self) -> float:
        return 8 * UNIT * float(np.abs(self.losses).max()) + self.loss_error

    def cells(self, edges: FloatArray) -> Cells:
        nothing = np.zeros(edges.size - 1)
        return Cells(nothing, nothing, nothing, nothing)

    def atoms(self) -> tuple[FloatArray, FloatArray]:
        return self.losses, self.p

    def lattice(self) -> Lattice | None:
        return self._lattice if self._lattice is not None else _rounded_lattice(self.losses, self.p)

    def transform(self, count: int) -> Transform:
        return NodeTransform(
            Nodes(
                self.log_p,
                self.losses,
                self.reveal,
                relative=self.relative + TERM_ULPS * UNIT,
                loss_error=self.loss_error,
            ),
            count,
        )

    def subsampled(self, rate: float) -> FinitePair:
        """(1-q) Q0 + q P0 against Q0; what P0 never shows keeps Q0's mass at the least possible loss log(1-q)."""
        mapped = mixed_loss(self.losses, rate)
        reading = self._reading(mapped, rate)
        p, q, log_p = (1 - rate) * self.q + rate * self.p, self.q, self.log_p - self.losses + mapped
        if self.vanish > 0:
            rest = (1 - rate) * self.vanish
            mapped = np.concatenate(([math.log1p(-rate)], mapped))
            p, q = np.concatenate(([rest], p)), np.concatenate(([self.vanish], q))
            log_p = np.concatenate(([math.log(rest)], log_p))
        return FinitePair(
            mapped,
            p,
            q,
            reveal=rate * self.reveal,
            log_p=log_p,
            relative=self.relative + 8 * UNIT + reading,
            loss_error=self.loss_error + (4 * UNIT if rate > 0.5 else 0.0) + reading,
            ends=None if self.whole else _mixed_ends(self, rate, reading),
            stated_masses=None if self.exact is None else (typed(rate) * self.exact[0], Fraction(0)),
        )

    def _reading(self, mapped: FloatArray, rate: float) -> float:
        """How far log(1 - q + q e^l) moves at most when the rate q is read as typed, past the usual rounding.

        Masses move alike: (p - q) / ((1 - rate) q + rate p) is the same quotient.
        """
        least, most = sorted(Stated(rate).readings)
        apart, rise = float(most - least), self.losses > 0
        with np.errstate(all="ignore"):
            change = -np.expm1(-np.abs(self.losses)) * np.exp(np.where(rise, self.losses, 0.0) - mapped)
        worst = float(1 / (1 - most)) if self.vanish > 0 or math.isinf(self.low) else float(change.max())
        moved = apart * worst * (1 + 1e-9)
        return max(moved / (1 - moved) - 4 * UNIT, 0.0) if moved < 1 else math.inf


def _mixed_ends(pair: FinitePair, rate: float, reading: float) -> tuple[float, float]:
    """Outward: past the rounding of the mapped ends, and of the rate."""
    low = (
        math.log1p(-rate)
        if pair.vanish > 0 or math.isinf(pair.low)
        else float(mixed_loss(np.array([pair.low]), rate)[0])
    )
    high = math.inf if math.isinf(pair.high) else float(mixed_loss(np.array([pair.high]), rate)[0])
    return low - 8 * UNIT * abs(low) - reading, high + 8 * UNIT * abs(high) + reading


def _suffix(masses: FloatArray) -> FloatArray:
    return np.concatenate((np.cumsum(masses[::-1])[::-1], [0.0]))


def _prefix(masses: FloatArray) -> FloatArray:
    return np.concatenate(([0.0], np.cumsum(masses)))


def _rounded_lattice(losses: FloatArray, masses: FloatArray) -> Lattice | None:
    """A lattice through atoms that differ from it by rounding only (two atoms always; symmetric triples often)."""
    if losses.size == 1:
        return Lattice(float(losses[0]), 1.0, np.zeros(1, dtype=np.int64), masses)
    gaps = np.diff(losses)
    step = float(gaps.min())
    if step <= 0 or losses[-1] - losses[0] > 1e6 * step:
        return None
    steps = round(float(losses[-1] - losses[0]) / step)
    step = float(losses[-1] - losses[0]) / steps
    indices = np.rint((losses - losses[0]) / step).astype(np.int64)
    wrong = np.abs(losses - (losses[0] + step * indices))
    if float(wrong.max()) > 8 * UNIT * float(np.abs(losses).max()):
        return None
    return Lattice(float(losses[0]), step, indices, masses)


def _log_ratio(p: FloatArray, q: FloatArray) -> FloatArray:
    """log(p / q) of positive numbers, with its digits where they are nearly equal and where the quotient overflows."""
    (a, i), (b, j) = np.frexp(p), np.frexp(q)
    near, far = np.abs(p - q) < 0.5 * q, np.abs(i - j) > 1000
    change = np.where(near, p - q, 0.0) / q
    quotient = np.where(far, 1.0, p) / np.where(far, 1.0, q)
    return np.where(near, np.log1p(change), np.where(far, np.log(a / b) + (i - j) * math.log(2.0), np.log(quotient)))


def from_laws(p: FloatArray, q: FloatArray, stated_masses: tuple[Fraction, Fraction] | None = None) -> FinitePair:
    """The loss of two laws on the same outcomes: atoms merged where the ratio is the same float."""
    both = (p > 0) & (q > 0)
    values, where = np.unique(_log_ratio(p[both], q[both]), return_inverse=True)
    if values.size == 0:
        values, where = np.zeros(1), np.zeros(0, dtype=np.int64)
    return FinitePair(
        values,
        np.maximum(np.bincount(where, weights=p[both], minlength=values.size), 0.0),
        np.maximum(np.bincount(where, weights=q[both], minlength=values.size), 0.0),
        reveal=math.fsum(p[q == 0]),
        vanish=math.fsum(q[p == 0]),
        log_p=None if both.any() else np.full(1, -745.0),
        loss_error=8 * UNIT,
        stated_masses=stated_masses,
    )


def law(name: str, value: Any) -> tuple[float, ...]:
    """A probability vector; sums off by more than rounding are refused, not normalised."""
    masses = doubles(probabilities(name, value, 1, "a vector of probabilities that sum to 1", tolerance=1e-12))
    total = math.fsum(masses)
    return tuple(float(m) / total for m in masses)  # by at most 1e-12: what is left of the sum is rounding


def _only_in(one: tuple[float, ...], other: tuple[float, ...]) -> Fraction | None:
    """The mass of outcomes that the other law never shows; None if the decimals of this one do not sum to 1."""
    masses = list(map(typed, one))
    return (
        sum((mass for mass, x in zip(masses, other, strict=True) if x == 0), Fraction(0)) if sum(masses) == 1 else None
    )


@attrs.frozen
class FiniteLaws(Family):
    """Two explicit laws on the same outcomes: p when the record is there, q when it is not."""

    kind: ClassVar[str] = "pair"
    title: ClassVar[str] = "Pair"
    words: ClassVar[str] = "two explicit laws on {p} outcomes"
    p: tuple[float, ...] = attrs.field(**parameter("p", NUMBERS, check=law))
    q: tuple[float, ...] = attrs.field(**parameter("q", NUMBERS, check=law))

    def __attrs_post_init__(self) -> None:
        if len(self.p) != len(self.q):
            raise InvalidParameter("p and q", (len(self.p), len(self.q)), "of equal length")

    def __str__(self) -> str:
        return f"pair({len(self.p)} outcomes)"

    def pairs(self) -> dict[str, Pair]:
        p, q, shown = np.array(self.p), np.array(self.q), (_only_in(self.p, self.q), _only_in(self.q, self.p))
        masses = None if shown[0] is None or shown[1] is None else (shown[0], shown[1])
        if sorted(self.p) == sorted(self.q) and sorted(zip(p, q, strict=True)) == sorted(zip(q, p, strict=True)):
            return {"both": from_laws(p, q, masses)}
        return {"remove": from_laws(p, q, masses), "add": from_laws(q, p, masses and masses[::-1])}
