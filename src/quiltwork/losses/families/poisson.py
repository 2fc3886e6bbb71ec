"""Poisson subsampling: each record takes part with probability `rate`, independently.

For a base pair (P0, Q0) the pair is P = (1-q) Q0 + q P0 against Q0 when the record is removed, and the swap when it
is added; the loss is +-log(1 - q + q e^(L0)).

Reference: theory/engine.md section 1.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import Unsupported
from quiltwork.losses.dominating_pair import EMPTY, TAIL_ULPS, Cells, Pair, tail_cells
from quiltwork.losses.families.discrete import DiscreteGaussian, DiscreteGaussianPair
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.laplace import LaplacePair
from quiltwork.losses.family import COMES, RATE, RELEASE, Derived, Family, families, parameter
from quiltwork.losses.transforms.poisson_gaussian import PoissonGaussianTransform
from quiltwork.losses.transforms.poisson_laplace import PoissonLaplaceTransform
from quiltwork.losses.transforms.transform import Transform, mixed_loss
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import Stated, times, typed

UNSURE = 2.0**-20  # of 1 - rate


class PoissonPair(Pair):
    """Subsampling of a symmetric base pair with a density (Gaussian or Laplace)."""

    def __init__(self, base: GaussianPair | LaplacePair, rate: float, removed: bool) -> None:
        self.base, self.rate, self.removed = base, rate, removed
        if math.isinf(base.high):
            low, high = math.log1p(-rate) - self._reading, math.inf
        else:
            low, high = mixed_loss(np.array([base.low, base.high]), rate).tolist()
        self.low, self.high = (low, high) if removed else (-high, -low)
        self.tail_mu = base.mu if isinstance(base, GaussianPair) else math.inf

    def _threshold(self, loss: FloatArray) -> FloatArray:
        """The base loss that maps to this one; -inf below the least possible.

        No difference of logarithms, which are large where rates are small.
        """
        with np.errstate(all="ignore"):
            grown = np.expm1(np.minimum(loss, 700.0))
            share, odds = grown / self.rate, grown + self.rate
            near = np.where(share > -0.5, np.log1p(share), np.log(odds / self.rate))
            near = np.where(np.isfinite(share), near, np.log(odds) - math.log(self.rate))
        return np.where(loss > 700.0, loss - math.log(self.rate), np.where(odds > 0, near, -np.inf))

    def above(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.removed:
            p, q = self.base.above(self._threshold(loss))
            return (1 - self.rate) * q + self.rate * p, q
        p, q = _strictly_below(self.base, self._threshold(-loss))
        return q, (1 - self.rate) * q + self.rate * p

    def below(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.removed:
            p, q = self.base.below(self._threshold(loss))
            return (1 - self.rate) * q + self.rate * p, q
        p, q = _at_least(self.base, self._threshold(-loss))
        return q, (1 - self.rate) * q + self.rate * p

    def stick(self, loss: FloatArray) -> FloatArray:
        return self._stick(loss, 0)

    def stick_ends(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._stick(loss, -1), self._stick(loss, 1)

    def _stick(self, loss: FloatArray, way: int) -> FloatArray:
        """q D0(lam) when the record is removed, c D0(log(e^l q / c)) with c = 1 - (1-q) e^l when it is added.

        Never below 1 - e^l. `way` is 0, or -1 or 1 for a lower or an upper end: D falls, so that a place which is
        rounded is moved, and never a value that may have been rounded to 0.
        """
        near = np.minimum(loss, 700.0)
        floor = -np.expm1(np.minimum(loss, 0.0)) * (1 + way * 4 * UNIT)
        with np.errstate(all="ignore"):
            if isinstance(self.base, LaplacePair):
                inside = self._from_top(self.base.top, near, way)
            elif self.removed:
                at = np.maximum(self._threshold(loss), -1e300)
                inside = self.rate * _end(self.base, at - way * self._moved(loss), way)
            else:
                factor = self._weight(near, way)
                at = near + math.log(self.rate) - np.log(factor)
                moved = 8 * UNIT * (1.0 + np.abs(at) + np.abs(near) - math.log(self.rate))
                inside = factor * _end(self.base, np.minimum(at - way * moved, 1e300), way)
        inside = np.where(np.isfinite(inside), inside * (1 + way * 8 * UNIT), 0.0)
        return np.maximum(inside, floor)

    def _weight(self, loss: FloatArray, way: int) -> FloatArray:
        """c = 1 - (1-q) e^l from the distance to -log(1-q), where it ends."""
        edge, reading = -math.log1p(-self.rate), UNIT * self.rate / (1.0 - self.rate)
        room = edge - loss + way * (4 * UNIT * (edge + np.abs(loss)) + reading)
        weight: FloatArray = -np.expm1(-np.maximum(room, 0.0)) * (1 + way * 4 * UNIT)
        return weight

    def _from_top(self, top: float, loss: FloatArray, way: int) -> FloatArray:
        """Laplace noise of epsilon t: D = q (1 - e^(-d/2)), added c (1 - e^(-d/2)), from the distance g to the top.

        d = t - lam is -log(1 - y) with y = (1 + (1-q)/q e^-t)(1 - e^-g) when the record is removed, and log(1 + y)
        with y = (1 + (1-q)/q e^t)(e^g - 1) when it is added; y in logs, since e^t may overflow.
        """
        sign = -1.0 if self.removed else 1.0
        room = np.maximum(self.high - loss + way * (4 * UNIT * (self.high + np.abs(loss)) + self.rounding), 0.0)
        grown = np.logaddexp(0.0, sign * top + math.log1p(-self.rate) - math.log(self.rate))
        log_y = grown + np.log(sign * np.expm1(sign * room))
        size = np.minimum(np.abs(log_y), 1e3) + abs(grown) + top - math.log(self.rate)
        wrong = 8 * UNIT * (4.0 + size) + UNIT / (1.0 - self.rate)
        y = np.exp(np.minimum(log_y + way * wrong, 700.0))
        if self.removed:
            distance, weight = -np.log1p(-np.minimum(y, 1.0)), np.full(np.shape(loss), self.rate)
        else:
            distance = np.where(log_y < 30.0, np.log1p(y), log_y + way * wrong)
            weight = self._weight(loss, way)
        stick: FloatArray = weight * -np.expm1(-distance / 2)
        return stick

    @property
    def rounding(self) -> float:
        """That of the losses, and of a rate that may be meant as typed or as its double: it moves the lower end."""
        return 8 * UNIT * max(abs(self.low), abs(self.high)) + self._reading if math.isfinite(self.base.high) else 0.0

    @property
    def _reading(self) -> float:
        """How far log(1 - q + q e^-t) moves when the rate q moves by half a unit in its last place."""
        sampled = self.rate * -math.expm1(self.base.low)
        return UNIT * sampled / (1.0 - self.rate + self.rate * math.exp(self.base.low))

    def _moved(self, loss: FloatArray) -> FloatArray:
        """Rounding of the mapped threshold."""
        with np.errstate(all="ignore"):
            grown = np.expm1(np.clip(loss, -700.0, 700.0))
            odds = np.maximum(np.abs(grown + self.rate), 1e-300)
            near = 8 * UNIT * (1.0 + np.abs(self._threshold(loss)) + (np.abs(grown) + self.rate) / odds)
        return np.where(np.isfinite(near), near, 0.0)

    def tail_error(self, loss: FloatArray) -> FloatArray:
        """The base tail's error, and the threshold's rounding times the hazard of the base there."""
        inner = loss if self.removed else -loss
        at = self._threshold(inner)
        with np.errstate(all="ignore"):
            error = self.base.tail_error(at) + self.base.hazard(at) * self._moved(inner) + 8 * UNIT
        return np.where(np.isfinite(error), error, TAIL_ULPS * UNIT)

    def swapped(self) -> Pair:
        return PoissonPair(self.base, self.rate, not self.removed)

    def cells(self, edges: FloatArray) -> Cells:
        """Cells through the base cells at the mapped edges; the sign of expm1(a) + q is kept (theory section 10)."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._cells(edges)
        # where e^edge overflows the stick is known only to be at most the mass
        known = np.isfinite(found.stick) & np.isfinite(found.stick_error)
        return Cells(
            found.mass,
            np.where(known, found.stick, found.mass),
            found.mass_error,
            np.where(known, found.stick_error, found.mass + found.mass_error),
        )

    def _cells(self, edges: FloatArray) -> Cells:
        rate, grown, growth = self.rate, np.expm1(edges[:-1]), np.exp(edges[:-1])
        if self.removed:
            p0, q0, p_wrong, q_wrong = self._base_cells(edges)
            weight = grown + rate
            mass = (1 - rate) * q0 + rate * p0
            stick = np.clip(rate * p0 - weight * q0, 0.0, mass)
            lost = 8 * UNIT * (rate * p0 + (np.abs(grown) + rate) * q0)
            return Cells(
                mass,
                stick,
                (1 - rate) * q_wrong + rate * p_wrong + 4 * UNIT * mass,
                rate * p_wrong + np.abs(weight) * q_wrong + lost,
            )
        p0, q0, p_wrong, q_wrong = (v[::-1] for v in self._base_cells(-edges[::-1]))
        weight = rate - (1 - rate) * grown
        stick = np.clip(weight * q0 - growth * rate * p0, 0.0, q0)
        lost = 8 * UNIT * ((rate + np.abs(grown)) * q0 + growth * rate * p0)
        return Cells(q0, stick, q_wrong, np.abs(weight) * q_wrong + growth * rate * p_wrong + lost)

    def _base_cells(self, edges: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """P0 and Q0 masses of the continuous part between mapped edges, with absolute errors.

        A mapped edge is rounded, which moves mass between neighbours: density times that rounding, on both sides.
        """
        mapped, moved = self._threshold(edges), self._moved(edges)
        moved = moved[:-1] + moved[1:]
        if isinstance(self.base, LaplacePair):
            top = self.base.top
            inside = np.clip(mapped, -top, top)
            width = np.diff(inside)
            p = 0.5 * np.exp((inside[:-1] - top) / 2) * np.expm1(width / 2)
            q = -0.5 * np.exp(-(inside[:-1] + top) / 2) * np.expm1(-width / 2)
            p_density, q_density = 0.25 * np.exp((inside[1:] - top) / 2), 0.25 * np.exp(-(inside[:-1] + top) / 2)
            ulps = TAIL_ULPS * UNIT
            return p, q, ulps * p + 2 * p_density * moved, ulps * q + 2 * q_density * moved
        p_mass, q_mass, p_wrong, q_wrong = tail_cells(self.base, mapped)
        with np.errstate(all="ignore"):
            speed = self.base.hazard(mapped)
            speed = np.where(np.isfinite(speed), speed, 0.0)  # an edge beyond the support does not move
            hazard = np.maximum(speed[:-1], speed[1:])
            tails = [np.minimum(a, b) for a, b in zip(self.base.above(mapped), self.base.below(mapped), strict=True)]
            slip = hazard * moved
        p_wrong = p_wrong + slip * np.maximum(tails[0][:-1], tails[0][1:])
        return p_mass, q_mass, p_wrong, q_wrong + slip * np.maximum(tails[1][:-1], tails[1][1:])

    def atoms(self) -> tuple[FloatArray, FloatArray]:
        if math.isinf(self.base.high):
            return EMPTY, EMPTY
        losses, p = self.base.atoms()
        q = self.base.swapped().atoms()[1][::-1]  # p e^-loss overflows where p is below the least double
        mixed = mixed_loss(losses, self.rate)
        if self.removed:
            return mixed, (1 - self.rate) * q + self.rate * p
        return -mixed[::-1], q[::-1]

    def transform(self, count: int) -> Transform:
        if isinstance(self.base, GaussianPair):
            one, many = np.array([1 / self.base.mu]), np.array([float(count)])
            return PoissonGaussianTransform(one, np.array([self.rate]), many, self.removed)
        return PoissonLaplaceTransform(self.base.top, self.rate, self.removed, count)


def _end(base: Pair, loss: FloatArray, way: int) -> FloatArray:
    """The hockey stick of the base, or an end of it."""
    return base.stick(loss) if not way else base.stick_ends(loss)[way > 0]


def _strictly_below(base: Pair, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
    """P0(L < loss), Q0(L < loss): atoms at `loss` itself do not count."""
    return base.below(np.nextafter(loss, -np.inf)) if base.atoms()[0].size else base.below(loss)


def _at_least(base: Pair, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
    return base.above(np.nextafter(loss, -np.inf)) if base.atoms()[0].size else base.above(loss)


@attrs.frozen
class Poisson(Derived):
    """A release run on a Poisson sample: each record takes part with probability `rate`."""

    kind: ClassVar[str] = "poisson"
    words: ClassVar[str] = "{of}, on a Poisson sample of rate {rate:g}"
    because: ClassVar[str] = "Poisson subsampling dominates by the subsampled pair (Zhu, Dong and Wang 2022)"
    base: Family = attrs.field(**parameter("of", RELEASE))
    rate: float = attrs.field(**parameter("rate", RATE, hint="it is the chance that a record is sampled"))

    @property
    def change(self) -> str:
        return COMES

    def __attrs_post_init__(self) -> None:
        subsampled_pair(self.base, self.rate)  # refuse now what could not be answered later

    def pairs(self) -> dict[str, Pair]:
        removed = subsampled_pair(self.base, Stated(self.rate).above if self._unsure else self.rate)
        return {"remove": removed, "add": removed.swapped()}

    @property
    def _unsure(self) -> bool:
        """Whether 1 - rate as typed and as its double are farther apart than what is rounded on the way to an answer.

        A sample is a larger one that is thinned: the pair at the larger reading dominates. Lists count both readings.
        """
        if self.rate < 0.5:
            return False
        least, most = sorted(Stated(self.rate).readings)
        return least < most and 1 - most < UNSURE and isinstance(subsampled_pair(self.base, self.rate), PoissonPair)

    def optimistic(self) -> dict[str, Pair]:
        """Sampling keeps an order by strength: f is mapped to (1 - q)(1 - alpha) + q f, and that to its inverse."""
        rate = Stated(self.rate).below if self._unsure else self.rate
        removed = subsampled_pair(self.base, rate, optimistic=True)
        return {"remove": removed, "add": removed.swapped()}

    @property
    def sandwiched(self) -> bool:
        wide = isinstance(self.base, DiscreteGaussian) and not self.base.listable
        return wide or self._unsure or super().sandwiched

    def subsampled(self, rate: float) -> Family:
        """Sampling twice is sampling once at the product of the rates."""
        return Poisson(self.base, times(typed(rate), self.rate))

    def group(self, size: int) -> Family:
        """Records of a group enter the sample one by one."""
        return families()["sampled_group"](self.base, self.rate, size)  # type: ignore[call-arg]

    def has_moment(self, tilt: float, rate: float = 1.0) -> bool:
        return self.base.has_moment(tilt, rate * self.rate)

    @classmethod
    def from_entries(cls, **entries: Any) -> Family:
        of: Family = entries["of"]
        return of if entries["rate"] == 1 else of.subsampled(entries["rate"])


def subsampled_pair(base: Family, rate: float, optimistic: bool = False) -> Pair:
    """The remove pair of a subsampled family."""
    pairs = base.optimistic() if optimistic else base.pairs()
    if not pairs:
        raise Unsupported(f"Poisson subsampling of {base.kind}", "it has no dominating pair", "subsample the mechanism")
    pair = pairs.get("both") or pairs["remove"]
    if rate == 1:
        return pair
    if isinstance(pair, DiscreteGaussianPair) and not pair.listable:
        return pair.in_cells(dominating=not optimistic).subsampled(rate)
    if isinstance(pair, FinitePair):
        return pair.subsampled(rate)
    if isinstance(pair, (GaussianPair, LaplacePair)) and not base.sandwiched:
        return PoissonPair(pair, rate, True)
    because = "not built here: no tails of its pair on a sample"
    raise Unsupported(f"Poisson subsampling of {base.kind}", because, "without the sampling it costs no less")
