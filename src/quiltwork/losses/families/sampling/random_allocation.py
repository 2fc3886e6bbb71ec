"""Random allocation (balls in bins): each record takes part in some of the steps, drawn for itself and for nobody else.

One of t steps: the pair of all outputs has the ratio S = (X_1 + ... + X_t)/t, X_i independent copies of the ratio of
one step under Q. It dominates every adaptive sequence of steps in both directions (replace one ratio at a time, last
first: what is left is convex in the partial sum), and t independent worst steps attain it. With v = e^l,

    remove   P(L > l) = E_Q[S; S > v]     delta = E_Q(S - v)+ = E_Q(v - S)+ - (v - 1)
    add      L = -log S under Q           delta = E_Q(v - S)+ / v at v = e^-l.

Integrals of `transforms.random_allocation` know them to some 1e-14 of v, with every error counted there. Where less is
left than their error, and where none is made, bounds in closed form take over: `allocation_bounds`.

Several of the steps, k of t = k m + r: a random partition into r blocks of m + 1 steps and k - r of m, one step of
each, is a uniform set of k steps, and telling the partition only helps. So the composition of `AllocationBlock`s is an
upper bound. All outputs together are N(k s / sqrt t): each block's share of that Gaussian is its lower side.

Which neighbours: the record is added, removed or zeroed while all others stay where they are, and the number of
steps is fixed. Shuffled batches of fixed size are another mechanism and are not covered: there the others' places tell.

Reference: theory, sampling, section 7; brute force in `brute.py` 4, 5 there.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.dominating_pair import EMPTY, Cells, Pair
from quiltwork.losses.families.gaussian import GaussianFamily, GaussianPair
from quiltwork.losses.families.sampling.allocation_bounds import EXPONENT, LEAST, AllocationBounds, Two
from quiltwork.losses.families.sampling.allocation_moments import added_moment, removed_moment
from quiltwork.losses.family import RELEASE, WHOLE, Family, parameter
from quiltwork.losses.transforms.random_allocation import AllocationLaw, Integrals
from quiltwork.numbers.rounding import UNIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from quiltwork.checks import FloatArray

LEAST_MU, LARGEST_MU = 0.005, 12.0  # of one step, for which the integrals are built
POOR = 1e-3  # relative error of an integral from which on bounds in closed form are asked as well
SHIFT = 12 * UNIT  # of v - 1, which is computed


@lru_cache(maxsize=8)
def _law(mu: float, steps: int) -> AllocationLaw:
    """Contours are kept: both directions and all questions share them."""
    return AllocationLaw(mu, steps)


@lru_cache(maxsize=8)
def _bounds(mu: float, steps: int) -> AllocationBounds:
    return AllocationBounds(mu, steps)


class AllocationPair(Pair):
    """One of `steps` Gaussian steps, the record being in it (P) or not (Q); the swap if it is added."""

    low, high = -math.inf, math.inf

    def __init__(self, mu: float, steps: int, removed: bool) -> None:
        self.mu, self.steps, self.removed = mu, steps, removed
        # moments of S, and of 1/S, are convex in what one step tells: no larger than those of one step
        self.tail_mu = mu
        self.bounds = _bounds(mu, steps)
        self.scale = math.log1p(2 * math.sqrt(math.expm1(min(mu**2, 4.0)) / steps))
        self._last_tails: tuple[bytes, list[Two]] = (b"", [])
        self._last_stick: tuple[bytes, Two] = (b"", (EMPTY, EMPTY))

    # ---- enclosures, by the loss l = log v of the record's removal

    def _call(self, loss: FloatArray) -> Two:
        """E_Q(S - v)+."""
        known = self._integrals(loss)
        with np.errstate(all="ignore"):  # what v is off moves it by at most Q(S > v)
            error = known.call_error + SHIFT * np.abs(np.expm1(loss)) * (np.abs(known.over) + known.over_error)
        return self._narrowed(loss, known.call, error, self.bounds.call)

    def _put_share(self, loss: FloatArray) -> Two:
        """E_Q(v - S)+ / v: the hockey stick of adding the record, at -l."""
        known, mean = self._integrals(loss), np.exp(np.clip(loss, -EXPONENT, EXPONENT))
        with np.errstate(all="ignore"):
            value = known.put / mean
            error = known.put_error / mean + 2 * SHIFT * np.abs(value)
        return self._narrowed(loss, value, error, self._put_bounds)

    def _put_bounds(self, loss: FloatArray) -> Two:
        """E_Q(v - S)+ / v is at most Q(S <= v), too."""
        low, high = self.bounds.put(loss)
        high = np.minimum(high, self._under(loss))
        return np.minimum(low, high), high

    def _under(self, loss: FloatArray) -> FloatArray:
        """Q(S <= v) from above."""
        return _law(self.mu, self.steps).under(np.expm1(np.maximum(loss, -EXPONENT)))

    def _tail_bounds(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ends of Q(S <= v), P(S <= v), Q(S > v), P(S > v) in closed form; P(S <= v) <= v Q(S <= v)."""
        low, high = (np.stack(ends) for ends in zip(*self.bounds.tails(loss), strict=True))
        under = self._under(loss)
        high[0] = np.fmin(high[0], under)
        high[1] = np.fmin(high[1], under * np.exp(np.clip(loss, -EXPONENT, EXPONENT)) * (1 + 1e-12))
        return np.minimum(low, high), high

    @staticmethod
    def _narrowed(loss: FloatArray, value: FloatArray, error: FloatArray, bounds: Callable[[FloatArray], Two]) -> Two:
        """An integral, and the bounds where it is poor."""
        low, high = np.maximum(value - error, 0.0), value + error
        poor = ~(error <= POOR * np.abs(value))
        if poor.any():
            below, above = bounds(loss[poor])
            low[poor], high[poor] = np.fmax(low[poor], below), np.fmin(high[poor], above)
        return np.minimum(low, high), high

    def _integrals(self, loss: FloatArray) -> Integrals:
        """Infinite errors where no integral can tell more than the bounds."""
        excess = np.expm1(np.where((loss > -EXPONENT) & (loss < self.bounds.unseen), loss, np.inf))
        return _law(self.mu, self.steps).integrals(excess)

    def _tails(self, loss: FloatArray) -> list[Two]:
        """Q(S <= v), P(S <= v), Q(S > v), P(S > v), as narrow as they are known."""
        key = loss.tobytes()
        if self._last_tails[0] == key:
            return self._last_tails[1]
        known = self._integrals(loss)
        mean = np.exp(np.clip(loss, -EXPONENT, EXPONENT))
        with np.errstate(all="ignore"):
            low_p, high_p = mean * known.under - known.put, mean * known.over + known.call
            low_error = (
                mean * known.under_error + known.put_error + SHIFT * (mean * np.abs(known.under) + np.abs(known.put))
            )
            high_error = mean * known.over_error + known.call_error + SHIFT * (mean * np.abs(known.over) + known.call)
            values = np.stack((known.under, low_p, known.over, high_p))
            errors = np.stack((known.under_error, low_error, known.over_error, high_error)) + SHIFT * np.abs(values)
            low, high = np.maximum(values - errors, 0.0), values + errors
            poor = ~(errors <= POOR * np.abs(values)).all(axis=0)
            if poor.any():
                below, above = self._tail_bounds(loss[poor])
                low[:, poor], high[:, poor] = np.fmax(low[:, poor], below), np.fmin(high[:, poor], above)
        high = np.clip(high, LEAST, 1.0)
        low = np.minimum(low, high)
        found = list(zip(low, high, strict=True))
        self._last_tails = (key, found)
        return found

    # ---- what a pair delivers

    def _four(self, loss: FloatArray) -> tuple[Two, Two, Two, Two]:
        """P above, Q above, P below, Q below, for this direction."""
        loss = np.asarray(loss, dtype=float)
        q_low, p_low, q_high, p_high = self._tails(loss if self.removed else -loss)
        return (p_high, q_high, p_low, q_low) if self.removed else (q_low, p_low, q_high, p_high)

    def above(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        p, q, _, _ = self._four(loss)
        return _middle(p), _middle(q)

    def below(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        _, _, p, q = self._four(loss)
        return _middle(p), _middle(q)

    def tail_error(self, loss: FloatArray) -> FloatArray:
        worst: FloatArray = np.max([_relative(one) for one in self._four(loss)], axis=0)
        return worst

    def _stick(self, loss: FloatArray) -> Two:
        loss = np.asarray(loss, dtype=float)
        key = loss.tobytes()
        if self._last_stick[0] != key:
            low, high = self._call(loss) if self.removed else self._put_share(-loss)
            self._last_stick = key, (low, np.clip(high, LEAST, 1.0))
        return self._last_stick[1]

    def stick(self, loss: FloatArray) -> FloatArray:
        return _middle(self._stick(loss))

    def stick_error(self, loss: FloatArray) -> FloatArray:
        return _relative(self._stick(loss))

    def swapped(self) -> Pair:
        return AllocationPair(self.mu, self.steps, not self.removed)

    def log_moment_bounds(self, theta: float) -> tuple[float, float]:
        if self.removed:
            return removed_moment(self.mu, self.steps, 1 + theta)
        return added_moment(self.mu, self.steps, theta)

    def log_moment_sums(self, theta: float) -> tuple[float, float]:
        if self.removed:
            return removed_moment(self.mu, self.steps, 1 + theta, long=True)
        return added_moment(self.mu, self.steps, theta, long=True)

    def cells(self, edges: FloatArray) -> Cells:
        """P mass v_a Q + E_Q[S - v_a], stick the latter; added: Q mass, and E_Q[v_b - S] / v_b."""
        inside = np.clip(edges if self.removed else -edges[::-1], -EXPONENT, EXPONENT)
        whole: FloatArray
        stick: FloatArray
        whole_error: FloatArray
        stick_error: FloatArray
        mass, error, left, right, first_error = self._moments(inside)
        with np.errstate(all="ignore"):
            if self.removed:
                start = np.exp(inside[:-1])
                whole, stick = start * mass + left, left
                whole_error, stick_error = start * error + first_error, first_error
            else:
                end = np.exp(-inside[1:])
                whole, stick = mass, end * right
                whole_error, stick_error = error, end * first_error
            whole_error, stick_error = whole_error + 8 * UNIT * whole, stick_error + 8 * UNIT * stick
            most = whole + whole_error
            poor = ~(whole_error <= POOR * whole)
            if poor.any():
                most[poor] = self._most(inside[:-1][poor], inside[1:][poor])
            lost = ~(whole_error < most)  # nothing is known but that there is hardly any mass
            whole, whole_error = np.where(lost, 0.0, whole), np.where(lost, most, whole_error)
            lost = lost | ~(stick_error < most)
            clipped = np.clip(stick, 0.0, whole)
            stick_error = stick_error + np.abs(stick - clipped)
            stick, stick_error = np.where(lost, 0.0, clipped), np.where(lost, most, stick_error)
        if not self.removed:
            whole, stick, whole_error, stick_error = (v[::-1] for v in (whole, stick, whole_error, stick_error))
        return Cells(whole, stick, whole_error, stick_error)

    def _moments(self, inside: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Q masses of cells and their error, E_Q[S - v_a], E_Q[v_b - S] and the error of both."""
        width = np.exp(inside[:-1]) * np.expm1(np.diff(inside))
        law, low = _law(self.mu, self.steps), np.expm1(inside)
        mass, first, error = law.cells(low[:-1], width)
        with np.errstate(all="ignore"):
            left, right, first_error = width / 2 * mass + first, width / 2 * mass - first, error * width
            wide = ~np.isfinite(error)
            if wide.any():  # cells too wide for Taylor's formula: differences of integrals
                known = law.integrals(low)
                under, put, e1, e2 = known.under, known.put, known.under_error, known.put_error
                gap, gained, wrong = np.diff(under), np.diff(put), e1[1:] + e1[:-1] + 4 * UNIT
                mass, error = np.where(wide, gap, mass), np.where(wide, wrong, error)
                left = np.where(wide, width * under[1:] - gained, left)
                right = np.where(wide, gained - width * under[:-1], right)
                both = e2[1:] + e2[:-1] + width * wrong + 4 * UNIT * (np.abs(put[1:]) + np.abs(put[:-1]) + width)
                first_error = np.where(wide, both, first_error)
            mass = np.maximum(np.nan_to_num(mass), 0.0)
            left, right = (np.maximum(np.nan_to_num(v), 0.0) for v in (left, right))
        return mass, error, left, right, first_error

    def _most(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """An upper bound of the P mass of each cell, or of the Q mass if the record is added, in closed form."""
        under, over = (1, 3) if self.removed else (0, 2)
        found: FloatArray = np.minimum(self._tail_bounds(right)[1][under], self._tail_bounds(left)[1][over])
        return found


def _middle(ends: Two) -> FloatArray:
    return 0.5 * (ends[0] + ends[1])


def _relative(ends: Two) -> FloatArray:
    """How far the ends lie from their middle, relative to it."""
    return np.minimum((ends[1] - ends[0]) / (ends[1] + ends[0]) * (1 + 1e-9) + 4 * UNIT, 1.0)


def _gaussian(base: Any, purpose: str) -> GaussianFamily:
    """The step, which must be Gaussian."""
    if not isinstance(base, GaussianFamily):
        raise Unsupported(
            f"{purpose} of {base.kind}",
            "not built here: only sums of ratios of Gaussian steps are integrated with a certificate",
            "state as many full releases as the record takes part in",
        )
    if not LEAST_MU <= base.mu <= LARGEST_MU:
        raise Unsupported(
            f"{purpose} of {base}",
            f"not built here: its integrals are made for sensitivity / sigma from {LEAST_MU} to {LARGEST_MU}",
            "state as many full releases as the record takes part in, or a step with less noise",
        )
    return base


def allocated_pairs(base: GaussianFamily, steps: int) -> dict[str, Pair]:
    """The pairs of one of `steps` steps."""
    if steps == 1:
        return base.pairs()
    return {"remove": AllocationPair(base.mu, steps, True), "add": AllocationPair(base.mu, steps, False)}


class Allocated(Family):
    """What random allocations have in common: what is refused."""

    def group(self, size: int) -> Family:
        raise Unsupported(
            "group privacy of a random allocation",
            "not built here: the records of a group draw their steps independently",
            "state as many full releases of the step, and their group",
        )

    def subsampled(self, rate: float) -> Family:
        raise Unsupported(
            "Poisson subsampling of a random allocation",
            "not built here: a dominating pair for both together",
            "leave the sampling out: it never costs privacy to assume that all records are there",
        )


@attrs.frozen
class RandomAllocation(Allocated):
    """One of `steps` steps, drawn by each record for itself (balls in bins); not shuffling."""

    kind: ClassVar[str] = "random_allocation"
    words: ClassVar[str] = "{of}, in one of {steps} steps that each record draws for itself"
    title: ClassVar[str] = "RandomAllocation"
    because: ClassVar[str] = "random allocation dominates by the mean of the steps' ratios, in both directions"
    base: Family = attrs.field(**parameter("of", RELEASE))
    steps: int = attrs.field(**parameter("steps", WHOLE))

    def __attrs_post_init__(self) -> None:
        _gaussian(self.base, "random allocation")

    def pairs(self) -> dict[str, Pair]:
        return allocated_pairs(_gaussian(self.base, "random allocation"), self.steps)

    @classmethod
    def from_entries(cls, **entries: Any) -> Family:
        made = cls(entries["of"], entries["steps"])
        return made if made.steps > 1 else made.base


@attrs.frozen
class AllocationBlock(Allocated):
    """One block of a random partition of `steps` steps into `times` blocks: one of its `size` steps is used.

    All blocks together stand for `times` of `steps` steps: above by their composition, below by the Gaussian that all
    outputs together are, of which each block holds an equal share.
    """

    kind: ClassVar[str] = "random_allocation_block"
    words: ClassVar[str] = "{of}, in one of {size} steps: a block of an allocation to {times} of {steps} steps"
    because: ClassVar[str] = (
        "several of many steps are one step of each block of a random partition, which is told; "
        "below, all outputs together"
    )
    base: Family = attrs.field(**parameter("of", RELEASE))
    size: int = attrs.field(**parameter("size", WHOLE))
    steps: int = attrs.field(**parameter("steps", WHOLE))
    times: int = attrs.field(**parameter("times", WHOLE))

    def __attrs_post_init__(self) -> None:
        _gaussian(self.base, "random allocation")
        if self.times > self.steps:
            raise InvalidParameter("times", self.times, f"at most steps = {self.steps}")
        if self.size not in (self.steps // self.times, -(-self.steps // self.times)):
            raise InvalidParameter("size", self.size, "steps / times, rounded up or down")

    @property
    def sandwiched(self) -> bool:
        return True

    def pairs(self) -> dict[str, Pair]:
        return allocated_pairs(_gaussian(self.base, "random allocation"), self.size)

    def optimistic(self) -> dict[str, Pair]:
        """A share 1/k of mu^2 = (k s)^2 / t."""
        mu = _gaussian(self.base, "random allocation").mu
        return {"both": GaussianPair(mu * math.sqrt(self.times / self.steps) * (1 - 8 * UNIT))}


def blocks(base: Family, steps: int, times: int) -> list[tuple[Family, int]]:
    """The blocks whose composition stands for `times` of `steps` steps, and how many there are of each."""
    size, longer = divmod(steps, times)
    found: list[tuple[Family, int]] = [(AllocationBlock(base, size, steps, times), times - longer)]
    return found + ([(AllocationBlock(base, size + 1, steps, times), longer)] if longer else [])
