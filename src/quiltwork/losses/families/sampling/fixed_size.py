"""Batches of a fixed size, drawn without replacement: one record of the table is exchanged for another.

With p = batch / of, the batch holds the record with probability p.  A batch without it is a batch with it after one
other exchange, so that the three laws are pairwise as close as the release promises, and for tau = e^eps >= 1

    H_tau <= p D(1 + (tau - 1) / p)    in both orders (Balle, Barthe and Gaboardi 2018; Dong, Roth and Su 2022).

`SymmetrisedPair` is the test with that profile: where the loss is positive it is Poisson sampling with the record
removed, where it is negative the mirror of that, and what is left over tells nothing.  One release attains it.
Composed, the truth lies between it and what one pair of tables attains, the Poisson pair.

Reference: theory/sampling.md section 4.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.dominating_pair import Cells, Pair
from quiltwork.losses.families.poisson import subsampled_pair
from quiltwork.losses.family import EXCHANGED, RELEASE, WHOLE, Family, parameter
from quiltwork.numbers import stated
from quiltwork.numbers.rounding import UNIT


class SymmetrisedPair(Pair):
    """The positive losses of a pair, their mirror image, and an atom at 0 for the rest."""

    def __init__(self, removed: Pair) -> None:
        """`removed` has no atom at 0 and at least as much P as Q mass on its positive losses."""
        self.removed, self.added = removed, removed.swapped()
        self.high, self.low, self.tail_mu = removed.high, -removed.high, removed.tail_mu
        zero = np.zeros(1)
        p, q = (float(mass[0]) for mass in removed.above(zero))
        self.reveal = self.vanish = removed.reveal  # what shows the record does so in both orders
        self.stated_masses = None if removed.exact is None else (removed.exact[0], removed.exact[0])
        self.reveal_error, self.finite = removed.reveal_error, 1.0 - removed.reveal
        self.rest = max(self.finite - p - q, 0.0)
        self.rest_error = (float(removed.tail_error(zero)[0]) + 4 * UNIT) * (p + q) + 2 * UNIT
        self.rest_error += self.reveal * self.reveal_error
        self.least = max(self.rest + q - self.rest_error, 1e-300)  # no complement of a tail is smaller
        self.relative = max(removed.relative, self.rest_error / max(self.rest, 1e-300))

    def above(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        right, left = self.removed.above(np.maximum(loss, 0.0)), self.added.below(np.minimum(loss, 0.0))
        return tuple(np.where(loss >= 0, r, self.finite - b) for r, b in zip(right, left, strict=True))  # type: ignore[return-value]

    def below(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        right, left = self.removed.above(np.maximum(loss, 0.0)), self.added.below(np.minimum(loss, 0.0))
        return tuple(np.where(loss >= 0, self.finite - r, b) for r, b in zip(right, left, strict=True))  # type: ignore[return-value]

    def tail_error(self, loss: FloatArray) -> FloatArray:
        """What a tail is off by, over the least that its complement may be."""
        right = self.removed.tail_error(np.maximum(loss, 0.0))
        left = self.added.tail_error(np.minimum(loss, 0.0))
        wrong: FloatArray = (np.maximum(right, left) + 8 * UNIT + self.reveal * self.reveal_error) / min(
            self.least, 1.0
        )
        return wrong

    def stick(self, loss: FloatArray) -> FloatArray:
        """D(l) = 1 - e^l + e^l D(-l) for a profile that is its own mirror image, the reveal mass taken off."""
        return self._mirrored(loss, self.removed.stick(np.abs(loss)))

    def stick_ends(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        low, high = (self._mirrored(loss, end) for end in self.removed.stick_ends(np.abs(loss)))
        wrong = self.reveal_error + 8 * UNIT
        return low * (1 - wrong), high * (1 + wrong)

    def _mirrored(self, loss: FloatArray, inner: FloatArray) -> FloatArray:
        back = np.exp(np.minimum(loss, 0.0))
        return np.where(loss >= 0, inner, -np.expm1(np.minimum(loss, 0.0)) * self.finite + back * inner)

    def swapped(self) -> Pair:
        return self

    def cells(self, edges: FloatArray) -> Cells:
        """Right of 0 the cells of the pair, left of it those of its mirror; a cell that holds 0 is put together."""
        place = int(np.searchsorted(edges, 0.0))
        left, right = edges[:place], edges[place:]
        found = []
        if left.size > 1:
            found.append(self.added.cells(left))
        if left.size and right.size and right[0] > 0:
            found.append(self._around(float(left[-1]), float(right[0])))
        elif left.size and right.size:
            found.append(self.added.cells(np.array([left[-1], 0.0])))
        if right.size > 1:
            found.append(self.removed.cells(right))
        columns = [np.concatenate([getattr(one, name) for one in found]) for name in CELL]
        return Cells(*columns)

    def _around(self, low: float, high: float) -> Cells:
        before, after = self.added.cells(np.array([low, 0.0])), self.removed.cells(np.array([0.0, high]))
        shrink, rest = math.exp(low), -math.expm1(low)
        stick = before.stick + rest * after.mass + shrink * after.stick
        error = before.stick_error + rest * after.mass_error + after.stick_error + 8 * UNIT * stick
        mass = before.mass + after.mass
        return Cells(mass, stick, before.mass_error + after.mass_error + 2 * UNIT * mass, error)

    def atoms(self) -> tuple[FloatArray, FloatArray]:
        losses, masses = self.removed.atoms()
        mirrored = self.added.atoms()
        right, left = losses > 0, mirrored[0] < 0
        return (
            np.concatenate((mirrored[0][left], [0.0], losses[right])),
            np.concatenate((mirrored[1][left], [self.rest], masses[right])),
        )

    @property
    def rounding(self) -> float:
        return self.removed.rounding


CELL = ("mass", "stick", "mass_error", "stick_error")


@attrs.frozen
class FixedSize(Family):
    """A release run on a batch of `batch` records, drawn without replacement from `of`; one record is exchanged.

    `loss` is what one exchanged record of the batch costs: Gaussian noise with clipping norm C has sensitivity 2 C.
    """

    kind: ClassVar[str] = "fixed_size"
    words: ClassVar[str] = "{of}, on {batch:g} of {records:g} records"
    because: ClassVar[str] = "subsampling without replacement (Balle, Barthe and Gaboardi 2018), in both orders"
    base: Family = attrs.field(**parameter("of", RELEASE))
    batch: int = attrs.field(**parameter("batch", WHOLE))
    of: int = attrs.field(**parameter("records", WHOLE))

    @property
    def change(self) -> str:
        return EXCHANGED

    def __attrs_post_init__(self) -> None:
        if self.batch > self.of:
            raise InvalidParameter("batch", self.batch, f"at most `of`, {self.of}")
        if not self.base.symmetric or self.base.sandwiched or not self.base.has_pair:
            raise Unsupported(
                f"batches of a fixed size of {self.base}",
                "not built here: the release must have one dominating pair that looks the same in both orders",
                "state what an exchanged record costs, such as gaussian(sigma, 2 * norm)",
            )
        if self.batch < self.of:
            self._sampled(above=True)

    def _sampled(self, above: bool) -> Pair:
        ratio = Fraction(self.batch, self.of)
        return subsampled_pair(self.base, stated.above(ratio) if above else stated.below(ratio))

    def pairs(self) -> dict[str, Pair]:
        if self.batch == self.of:
            return self.base.pairs()
        return {"both": SymmetrisedPair(self._sampled(above=True))}

    def has_moment(self, tilt: float, rate: float = 1.0) -> bool:
        return self.base.has_moment(tilt, rate * self.batch / self.of)

    @property
    def sandwiched(self) -> bool:
        return self.batch < self.of

    def optimistic(self) -> dict[str, Pair]:
        """All other records at the far end: the Poisson pair is attained."""
        if self.batch == self.of:
            return self.base.pairs()
        removed = self._sampled(above=False)
        return {"remove": removed, "add": removed.swapped()}

    def group(self, size: int) -> Family:
        raise Unsupported(
            "group privacy of batches of a fixed size",
            "not built here: several exchanged records are not sampled independently",
            "leave out the sampling: the group privacy of the release itself is safe",
        )

    def subsampled(self, rate: float) -> Family:
        raise Unsupported(
            "Poisson subsampling of batches of a fixed size",
            "not built here: the table they are drawn from is not fixed",
            "without the Poisson sample it costs no less",
        )
