"""Random allocation (balls in bins): each record takes part in some of the steps, drawn for itself and for nobody else.

One of t steps: the pair of all outputs has the ratio S = (X_1 + ... + X_t)/t, X_i independent copies of the ratio of
one
step under Q. It dominates every adaptive sequence of steps in both directions (replace one ratio at a time, last first:
what is left is convex in the partial sum), and t independent worst steps attain it. With v = e^l,

    remove   P(L > l) = E_Q[S; S > v]     delta = E_Q(S - v)+ = E_Q(v - S)+ - (v - 1)
    add      L = -log S under Q           delta = E_Q(v - S)+ / v at v = e^-l.

Integrals of `transforms.random_allocation` know them to about 1e-15 of the larger of the two laws. Where less is left
than their error, and where none is made, bounds in closed form take over:

    delta >= that of gdp(s / sqrt t)        (the sum of all outputs)
    delta >= E(X - (1 + t(v-1)))+ / t       (Jensen, all ratios but one replaced by their mean; remove)
    delta <= that of one step               (Jensen: S is a mean of copies of X)
    delta <= E(X - b)+ + e^(t log(1 + var (e^y - 1 - y)/(b-1)^2) - a (v-1) - 1) / a,   y = a (b-1) / t   (Bennett;
    remove)
    max(X)/t <= S <= max(X)                 (for the tails).

Several of the steps, k of t = k m + r: a random partition into r blocks of m + 1 steps and k - r of m, one step of
each,
is a uniform set of k steps, and telling the partition only helps. So the composition of `AllocationBlock`s is an upper
bound. All outputs together are N(k s / sqrt t): each block's share of that Gaussian is its lower side.

Which neighbours: the record is added, removed or zeroed while all others stay where they are, and the number of
steps is
fixed. Shuffled batches of fixed size are another mechanism and are not covered: there the others' places tell.

Reference: theory, sampling, section 7; brute force in `brute.py` 4, 5 there.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import attrs
import numpy as np
from scipy.special import log_ndtr

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.dominating_pair import Cells, Pair
from quiltwork.losses.families.gaussian import GaussianFamily, GaussianPair, log_stick
from quiltwork.losses.family import RELEASE, WHOLE, Family, parameter
from quiltwork.losses.transforms.random_allocation import AllocationLaw
from quiltwork.numbers.rounding import UNIT

LEAST_MU, LARGEST_MU = 0.005, 12.0  # of one step, for which the integrals are built
EXPONENT = 600.0  # losses beyond are known by their bounds only
POOR = 1e-6  # relative error of an integral from which on Bennett's bound is worth its while
LEAST = 1e-300  # below, only upper bounds are known
TRUNCATIONS = np.linspace(1.5, 37.0, 25)  # standard deviations at which ratios are cut in Bennett's inequality
TILTS = np.geomspace(0.01, 40.0, 41)  # values of y there
Two = tuple[FloatArray, FloatArray]  # lower and upper ends


@lru_cache(maxsize=8)
def _law(mu: float, steps: int) -> AllocationLaw:
    """Contours are kept: both directions and all questions share them."""
    return AllocationLaw(mu, steps)


class AllocationPair(Pair):
    """One of `steps` Gaussian steps, the record being in it (P) or not (Q); the swap if it is added."""

    low, high = -math.inf, math.inf

    def __init__(self, mu: float, steps: int, removed: bool) -> None:
        self.mu, self.steps, self.removed = mu, steps, removed
        self.tail_mu = (
            mu  # moments of S, and of 1/S, are convex in what one step tells: no larger than those of one step
        )
        self._last: tuple[bytes, list[Two]] = (b"", [])

    # ---- enclosures, by the loss l = log v of the record's removal

    @cached_property
    def _references(self) -> tuple[FloatArray, FloatArray]:
        """Losses, and the least upper end of E_Q(S - v)+ up to each: it falls, so that this holds beyond as well."""
        spread = math.sqrt(math.expm1(min(self.mu**2, 2.0)) / self.steps)
        places = np.log1p(spread * np.concatenate((np.arange(1.0, 13.0), 16.0 * 2.0 ** (0.5 * np.arange(16)))))
        return places, np.append(np.inf, np.minimum.accumulate(self._call(places, refer=True)[1]))

    def _call(self, loss: FloatArray, refer: bool = False) -> Two:
        """E_Q(S - v)+."""
        mu, t = self.mu, float(self.steps)
        excess = np.expm1(np.clip(loss, -EXPONENT, EXPONENT))
        with np.errstate(all="ignore"):
            jump = np.where(loss < EXPONENT, np.log1p(np.maximum(t * excess, -1 + 1e-300)), loss + math.log(t))
            jump = jump + 1e-13 * (1 + np.abs(jump))
            low = np.maximum(_gauss(mu / math.sqrt(t) * (1 - 4 * UNIT), loss)[0], -excess * (1 - 4 * UNIT))
            alone = _gauss(mu * (1 - 4 * UNIT), np.where(t * excess > -0.5, jump, 0.0))[0] / t * (1 - 1e-13)
            low = np.maximum(low, np.where(t * excess > -0.5, alone, 0.0))
            high = _gauss(mu * (1 + 4 * UNIT), loss)[1]
        known = self._integrals(loss)
        value, error = known[1] - excess, known[3] + 4 * UNIT * (np.abs(excess) + np.abs(known[1]))
        low, high = np.maximum(low, value - error), np.minimum(high, value + error)
        poor = (loss > 0) & (loss < EXPONENT) & (high > (1 + POOR) * low)
        if poor.any() and not refer:
            high[poor] = np.minimum(high[poor], self._bennett(excess[poor]))
            places, ends = self._references
            at = np.searchsorted(places, loss[poor], side="right")
            high[poor] = np.minimum(high[poor], ends[at])
        return np.minimum(np.maximum(low, 0.0), high), high

    def _put_share(self, loss: FloatArray, refer: bool = False) -> Two:
        """E_Q(v - S)+ / v: the hockey stick of adding the record, at -l."""
        low = _gauss(self.mu / math.sqrt(self.steps) * (1 - 4 * UNIT), -loss)[0]
        high = _gauss(self.mu * (1 + 4 * UNIT), -loss)[1]
        known = self._integrals(loss)
        mean = np.exp(np.clip(loss, -EXPONENT, EXPONENT))
        with np.errstate(all="ignore"):
            value, error = known[1] / mean, known[3] / mean
            error = error + 8 * UNIT * np.abs(value)
        low, high = np.maximum(low, value - error), np.minimum(high, value + error)
        beyond = (loss < 0) & ~np.isfinite(error)
        if beyond.any() and not refer:  # it rises with v: what is known nearest above holds
            place = self._deepest
            high[beyond & (loss < place[0])] = np.minimum(high[beyond & (loss < place[0])], place[1])
        return np.minimum(np.maximum(low, 0.0), high), high

    @cached_property
    def _deepest(self) -> tuple[float, float]:
        """The least loss that is integrated, and the upper end of E_Q(v - S)+ / v there."""
        law = _law(self.mu, self.steps)
        for end in law.ends[:0:-1].tolist():
            place = math.log1p(end) + 1e-9
            high = float(self._put_share(np.array([place]), refer=True)[1][0])
            if high < 1e-3:
                return place, high
            if place > -1e-3:
                break
        return -math.inf, 1.0

    def _bennett(self, excess: FloatArray) -> FloatArray:
        """Ratios above b are cut off: what is cut costs E(X - b)+, the rest has an exponential moment (Bennett)."""
        mu, t = self.mu, float(self.steps)
        cut = mu * TRUNCATIONS - mu * mu / 2
        cut = cut[cut > 1e-3 * mu]
        if not cut.size:
            return np.full(excess.size, np.inf)
        over = np.expm1(np.minimum(cut, EXPONENT))[:, None]
        variance = math.expm1(min(mu * mu, EXPONENT)) * (1 + 1e-12)
        y = TILTS[None, :]
        with np.errstate(all="ignore"):
            bent = np.where(y < 1e-2, y * y * 0.51, (np.expm1(y) - y) * (1 + 1e-12))
            power = t * np.log1p(variance * bent / over**2) * (1 + 1e-12)
            tilt = t * y / over
            rest = _gauss(mu * (1 + 4 * UNIT), np.minimum(cut, EXPONENT))[1][:, None]
            best = np.full(excess.size, np.inf)
            for i, one in enumerate(excess.tolist()):
                exponent = power - tilt * one * (1 - 1e-12) - 1
                found = rest + np.exp(np.minimum(exponent + 1e-9, EXPONENT)) / tilt
                best[i] = np.nanmin(found) * (1 + 1e-9)
        return best

    def _integrals(self, loss: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Q(S <= v), E(v - S)+ and their errors; infinite ones where no integral can tell more than the bounds."""
        found = tuple(np.full(loss.size, end) for end in (0.0, 0.0, np.inf, np.inf))
        with np.errstate(all="ignore"):
            over = _gauss(self.mu, loss)[1]
        at = (np.abs(loss) < EXPONENT) & ((loss < 0) | (over > 1e-19))
        if at.any():
            for column, values in zip(found, _law(self.mu, self.steps).integrals(np.expm1(loss[at])), strict=True):
                column[at] = values
        return found[0], found[1], found[2], found[3]

    def _extremes(self, loss: FloatArray) -> list[Two]:
        """Q(S <= v), P(S <= v), Q(S > v), P(S > v) from max(X)/t <= S <= max(X); one X of P has the larger law."""
        mu, t = self.mu, self.steps
        ends = []
        for at in (loss / mu, (loss + math.log(t)) / mu):
            without = log_ndtr(at + mu / 2)
            ends.append((t * without, log_ndtr(at - mu / 2) + (t - 1) * without))
        found: list[Two] = []
        with np.errstate(all="ignore"):
            for law in range(2):
                low, high = (end[law] * (1 + sign * 1e-12) for end, sign in zip(ends, (1, -1), strict=True))
                found.append((np.exp(low) * (1 - 1e-12), np.exp(high) * (1 + 1e-12)))
            for law in range(2):
                high, low = (end[law] * (1 + sign * 1e-12) for end, sign in zip(ends, (1, -1), strict=True))
                found.append((-np.expm1(low) * (1 - 1e-12), -np.expm1(high) * (1 + 1e-12)))
        return found

    def _tails(self, loss: FloatArray) -> list[Two]:
        """The same four, as narrow as they are known."""
        key = loss.tobytes()
        if self._last[0] == key:
            return self._last[1]
        found = self._extremes(loss)
        under, put, under_error, put_error = self._integrals(loss)
        mean = np.exp(np.clip(loss, -EXPONENT, EXPONENT))
        with np.errstate(all="ignore"):
            above_one = (loss > 1e-12) & (loss < EXPONENT)
            # Markov: for v' < v, 1{S > v} <= (S - v')+ / (v - v'), and S 1{S > v} <= v times that
            near = np.where(above_one, np.log1p(0.9 * np.expm1(np.minimum(loss, EXPONENT))), 0.0)
            over = np.where(above_one, self._call(near)[1] / (0.1 * (mean - 1)) * (1 + 1e-9), np.inf)
            tilted = mean * under - put
            tilted_error = mean * under_error + put_error + 8 * UNIT * (mean * np.abs(under) + np.abs(put))
            values = [
                (under, under_error),
                (tilted, tilted_error),
                (1 - under, under_error),
                (1 - tilted, tilted_error),
            ]
            markov = [np.full(loss.size, np.inf)] * 2 + [over, over * mean]
            for i, (value, error) in enumerate(values):
                error = error + 4 * UNIT
                if i < 2:
                    error = error - 4 * UNIT + 8 * UNIT * np.abs(value)
                low = np.fmax(np.fmax(found[i][0], value - error), 0.0)
                high = np.fmin(np.fmin(np.fmin(found[i][1], value + error), markov[i]), 1.0)
                high = np.maximum(high, LEAST)
                found[i] = (np.minimum(low, high), high)
        self._last = (key, found)
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
        low, high = self._call(loss) if self.removed else self._put_share(-loss)
        return low, np.clip(high, LEAST, 1.0)

    def stick(self, loss: FloatArray) -> FloatArray:
        return _middle(self._stick(loss))

    def stick_error(self, loss: FloatArray) -> FloatArray:
        return _relative(self._stick(loss))

    def swapped(self) -> Pair:
        return AllocationPair(self.mu, self.steps, not self.removed)

    def cells(self, edges: FloatArray) -> Cells:
        """P mass v_a Q + E_Q[S - v_a], stick the latter; added: Q mass, and E_Q[v_b - S] / v_b."""
        inside = np.clip(edges if self.removed else -edges[::-1], -EXPONENT, EXPONENT)
        whole: FloatArray
        stick: FloatArray
        whole_error: FloatArray
        stick_error: FloatArray
        mass, error, left, right, first_error = self._moments(inside)
        q_most, p_most = self._most(inside)
        with np.errstate(all="ignore"):
            if self.removed:
                start = np.exp(inside[:-1])
                whole, stick = start * mass + left, left
                whole_error, stick_error = start * error + first_error, first_error
                most = p_most
            else:
                end = np.exp(-inside[1:])
                whole, stick = mass, end * right
                whole_error, stick_error = error, end * first_error
                most = q_most
            whole_error, stick_error = whole_error + 8 * UNIT * whole, stick_error + 8 * UNIT * stick
            lost = ~(whole_error < most)  # nothing is known but that there is hardly any mass
            whole, whole_error = np.where(lost, 0.0, whole), np.where(lost, most, whole_error)
            lost = lost | ~(stick_error < most)
            stick, stick_error = np.where(lost, 0.0, np.clip(stick, 0.0, whole)), np.where(lost, most, stick_error)
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
                under, put, e1, e2 = law.integrals(low)
                gap, gained, wrong = np.diff(under), np.diff(put), e1[1:] + e1[:-1] + 4 * UNIT
                mass, error = np.where(wide, gap, mass), np.where(wide, wrong, error)
                left = np.where(wide, gained - width * under[:-1], left)
                right = np.where(wide, width * under[1:] - gained, right)
                both = e2[1:] + e2[:-1] + width * wrong + 4 * UNIT * (np.abs(put[1:]) + np.abs(put[:-1]) + width)
                first_error = np.where(wide, both, first_error)
            mass = np.maximum(np.nan_to_num(mass), 0.0)
            left, right = (np.clip(np.nan_to_num(v), 0.0, width * mass) for v in (left, right))
        return mass, error, left, right, first_error

    def _most(self, inside: FloatArray) -> Two:
        """Upper bounds of the Q and P mass of each cell, in closed form."""
        q_low, p_low, q_high, p_high = self._extremes(inside)
        return np.minimum(q_low[1][1:], q_high[1][:-1]), np.minimum(p_low[1][1:], p_high[1][:-1])


def _gauss(mu: float, loss: FloatArray) -> Two:
    """Ends of the hockey stick of G_mu."""
    with np.errstate(all="ignore"):
        value, error = log_stick(mu, loss)
        most = np.exp(log_ndtr(mu / 2 - loss / mu) * (1 - 1e-12) + 1e-12)
        low, high = np.exp(value - error), np.exp(value + error)
        low, high = np.where(np.isnan(low), 0.0, low), np.where(np.isnan(high), 1.0, high)
    return low, np.minimum(high, most)


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
            "it is not built here: only sums of ratios of Gaussian steps are integrated with a certificate",
            "state as many full releases as the record takes part in",
        )
    if not LEAST_MU <= base.mu <= LARGEST_MU:
        raise Unsupported(
            f"{purpose} of {base}",
            f"its integrals are built for sensitivity / sigma from {LEAST_MU} to {LARGEST_MU}",
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
            "the records of a group draw their steps independently and no dominating pair is proved here",
            "state as many full releases of the step, and their group",
        )

    def subsampled(self, rate: float) -> Family:
        raise Unsupported(
            "Poisson subsampling of a random allocation",
            "no dominating pair is built for both together",
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
