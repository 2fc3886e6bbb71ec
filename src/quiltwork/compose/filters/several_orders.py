"""The filter of several Rényi orders at once, beside the sum of largest losses, for (epsilon, delta) budgets.

On a path add up S_j, the Rényi divergences of the orders 1 + theta_j; E, the largest losses; and R, the masses that
reveal everything. Fixed before any output: theta_j > 0, weights w_j with sum at most 1, and the share of delta that is
set aside for R; the rest of delta is delta_m. One more release is granted iff afterwards R keeps to its share and

    for every z in (epsilon, E]:   delta_m sum_j w_j e^(theta_j (z - S_j)) >= 1 - e^(epsilon - z).             (*)

Theorem. Whatever adaptive choice of releases, and of when to stop: (epsilon, delta)-differential privacy.
Proof. Let Z = log p/q of all outputs. M = sum_j w_j e^(theta_j (Z - S_j)) is a nonnegative supermartingale under P from
sum w_j <= 1 on, since E_P[e^(theta L)] = e^(theta D_(1+theta)) for the loss L of one release given the past. Z <= E on
every path, so (*) says (1 - e^(epsilon - Z))+ <= delta_m M, and P(A) - e^epsilon Q(A) <= E_P[(1 - e^(epsilon - Z))+] <=
delta_m for every event A. What is revealed outright is cut off P first, and costs no more than its share.

Theorem (odometer). Let spent be the least epsilon for which (*) holds. It is 0 at first, rises with every sum, never
passes the budget's, and P(A) <= E_Q[e^spent 1_A] + delta at every stopping time: the same inequality, path by path.

(*) holds wherever some single order would do, and wherever the largest losses add up to no more than epsilon.

Reference: theory/joining.md section 3, Theorems 5 and 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.engines.characteristic import log_peak
from quiltwork.compose.filters.costs import Cost, divergences, pure_cost, renyi_cost, short
from quiltwork.compose.filters.filter import Filter
from quiltwork.compose.filters.worst_of import WorstOf
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.families.pure import Approximate
from quiltwork.losses.family import Family
from quiltwork.numbers.rounding import UNIT, up
from quiltwork.numbers.stated import above, double_above, double_below, typed, typed_above

UNBOUNDED = Fraction(10**150)  # stands for an infinite amount: sums that reach it stay infinite
LEAST_TILT, MOST_TILT = 0.05, 2e4  # of the orders that are chosen by themselves
MAIN_WEIGHT = Fraction(85, 100)  # of the order that suits the first release; the others share what is left of 1
OTHER_STEPS = (*range(-3, 0), *range(1, 11))  # the other tilts are this many doublings away
REVEAL_SHARE = Fraction(1, 100)  # of delta
LONGEST = 80.0  # excess of z over epsilon past which 1 - e^(epsilon - z) has no more digits
LARGEST_EXPONENT = 600.0  # sums of a few hundred such powers do not overflow
POINTS = 61  # of a grid of tilts
NEAR = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)  # how closely the largest excess is enclosed
LEAST_READING, LARGEST_READING = 1e-200, 1e200  # beyond them the largest losses alone are read
OUTWARD = (1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-6, 1e-4)  # by which a root is raised until it is certified


@attrs.frozen
class _State:
    """The sums of one path as floats, and log((1 - e^(epsilon - z)) / sum_j w_j e^(theta_j (z - S_j))), concave in z.

    Each exponent is lowered by more than the rounding of its product, so that values are never too small.
    """

    tilts: FloatArray
    log_weights: FloatArray
    sums: FloatArray  # rounded up
    top: float  # E, rounded up

    def need(self, epsilon: float) -> float:
        """log of the least delta_m for which (*) holds at this epsilon, rounded up."""
        if self.top <= epsilon:
            return -math.inf
        longest = up(self.top - epsilon) if math.isfinite(self.top) else math.inf
        if not self.sums.size:
            return 0.0 if math.isinf(longest) else _log_within(longest)
        end = min(longest, LONGEST)  # no tilt is so small that the function still rises there
        start = max(1e-12 * end, 1e-290)
        if start < end and self._slope(end, epsilon)[0] > 0:  # still rising: the largest loss is reached first
            return self._value(end, epsilon)
        if start < end and self._rise(start, epsilon) > 0:
            peak = end
            if self._rise(end, epsilon) < 0:
                from scipy.optimize import brentq

                peak = float(brentq(self._rise, start, end, args=(epsilon,), xtol=1e-300, rtol=1e-9))
            for near in NEAR:
                low, high = peak * (1 - near), min(peak * (1 + near), end)
                rising = self._slope(low, epsilon)
                if rising[0] >= 0 and (high == end or self._slope(high, epsilon)[1] <= 0):
                    # concave: below its tangent at low up to high, no more than there beyond, than at low before
                    return up(self._value(low, epsilon) + rising[1] * (high - low) * (1 + 4 * UNIT), 2)
        return _log_within(end) - self._log_sum(0.0, epsilon)  # the sum is least at z = epsilon

    def _terms(self, y: float, epsilon: float) -> FloatArray:
        z = y + epsilon
        room = 8 * UNIT * (self.tilts * (abs(z) + self.sums) + np.abs(self.log_weights) + 1.0)
        lowered: FloatArray = self.log_weights + self.tilts * (z - self.sums) - room
        return lowered

    def _log_sum(self, y: float, epsilon: float) -> float:
        terms = self._terms(y, epsilon)
        largest = float(np.max(terms))
        return largest + math.log(float(np.sum(np.exp(terms - largest)))) - 64 * UNIT * (1 + abs(largest))

    def _value(self, y: float, epsilon: float) -> float:
        return _log_within(y) - self._log_sum(y, epsilon)

    def _rise(self, y: float, epsilon: float) -> float:
        """About the derivative in z."""
        terms = self.log_weights + self.tilts * (y + (epsilon - self.sums))
        shares = np.exp(terms - terms.max())
        return 1.0 / math.expm1(y) - float(shares @ self.tilts) / float(shares.sum())

    def _slope(self, y: float, epsilon: float) -> tuple[float, float]:
        """Ends of the derivative in z: 1/(e^y - 1) less the mean of theta under the terms as weights."""
        z = y + epsilon
        unsure = 16 * UNIT * (self.tilts * (abs(z) + self.sums) + np.abs(self.log_weights) + 1.0)
        terms = self.log_weights + self.tilts * (z - self.sums)
        largest = int(np.argmax(terms))
        shares, wrong = terms - terms[largest], unsure + unsure[largest] + 64 * UNIT
        least, most = (np.exp(np.minimum(shares + sign * wrong, LARGEST_EXPONENT)) for sign in (-1.0, 1.0))
        with np.errstate(divide="ignore"):  # where nothing is sure
            low, high = least @ self.tilts / np.sum(most), most @ self.tilts / np.sum(least)
        rising, room = 1.0 / math.expm1(y), 8 * UNIT
        return rising * (1 - room) - float(high) * (1 + room), rising * (1 + room) - float(low) * (1 - room)


def _log_within(y: float) -> float:
    """log(1 - e^-y), rounded up."""
    found = math.log(-math.expm1(-y))
    return found + 8 * UNIT * (1 + abs(found))


def _orders(value: Any) -> tuple[float, ...]:
    if not isinstance(value, (tuple, list)) or not all(isinstance(one, float) and 1 < one < 1e6 for one in value):
        raise InvalidParameter("orders", value, "floats above 1, or none before the first release")
    return tuple(value)


@attrs.frozen
class SeveralOrdersFilter(Filter):
    """(epsilon, delta) kept by several Rényi orders, the pure sum and a share for what reveals, all at once.

    Without orders it waits for its first release: they are chosen for that loss when it is granted (`chosen_for`), and
    fixed from then on. Nothing was seen before it, so the choice is a constant; a poor one costs utility only. So is
    the share: a first release that needs more gets it, and as much for each run of it that plain addition allows. With
    all of delta delta_m is 0, and (*) says that the largest losses add up to no more than epsilon: plain addition.
    """

    kind: ClassVar[str] = "several_orders"
    because: ClassVar[str] = (
        "a weighted sum of Rényi moments of several fixed orders is a supermartingale on every path"
    )
    units: ClassVar[tuple[str, ...]] = ("epsilon", "delta")
    reveal: Fraction
    orders: tuple[float, ...] = attrs.field(default=(), converter=_orders)
    weights: tuple[Fraction, ...] = ()

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if not 0 < self.limit[1] < 1 or not 0 <= self.reveal <= self.limit[1]:
            raise InvalidParameter("delta and reveal", (self.limit[1], self.reveal), "0 <= reveal <= delta < 1")
        if len(self.weights) != len(self.orders) or sum(self.weights) > 1 or any(one <= 0 for one in self.weights):
            raise InvalidParameter("weights", self.weights, "one above 0 for each order, at most 1 together")

    # ---- orders

    @property
    def is_open(self) -> bool:
        """Whether the orders are still to be chosen."""
        return not self.orders

    def chosen_for(self, loss: Loss | WorstOf) -> SeveralOrdersFilter:
        """The filter with orders that suit this first release, and the share it needs; itself when they are fixed."""
        if not self.is_open:
            return self
        vectors = loss.losses if isinstance(loss, WorstOf) else (loss,)
        dearest = vectors[0]
        if len(vectors) > 1:  # any choice is sound: the vector that costs most decides
            dearest = max(vectors, key=lambda one: float(one.epsilon(typed_above(self.limit[1])).upper))
        main = _main_tilt(dearest, float(self.limit[0]), float(self.limit[1]))
        steps = [step for step in OTHER_STEPS if LEAST_TILT <= main * 2.0**step <= MOST_TILT]
        tilts = [main, *(main * 2.0**step for step in steps)]
        shares = [(1 + abs(step)) ** -1.5 for step in steps]
        rest = float(1 - MAIN_WEIGHT) * (1 - 1e-12) / sum(shares) if shares else 0.0
        weights = (MAIN_WEIGHT, *(Fraction(math.floor(rest * share * 1e12), 10**12) for share in shares))
        found = attrs.evolve(self, orders=tuple(float(f"{1 + tilt:.6g}") for tilt in tilts), weights=weights)
        *_, top, revealed = attrs.evolve(found, reveal=self.limit[1]).cost(loss)
        if revealed <= self.reveal:
            return found
        runs = max(self.limit[0] // top, 1) if top else 1  # of the first release, by plain addition
        return attrs.evolve(found, reveal=min(runs * revealed, self.limit[1]))

    def allows(self, chosen: Filter) -> bool:
        if not self.is_open or not isinstance(chosen, SeveralOrdersFilter):
            return False
        return chosen.limit == self.limit and chosen.reveal >= self.reveal

    # ---- costs

    @property
    def zero(self) -> Cost:
        return (Fraction(0),) * (len(self.orders) + 2)

    def cost(self, loss: Loss | WorstOf) -> Cost:
        if self.is_open:
            raise Unsupported("a cost", "the orders of the budget are chosen with its first release", "ask chosen_for")
        found = super().cost(loss)
        if found[-1] > self.reveal:
            raise Unsupported(
                f"{loss} in this budget",
                f"it has delta {short(found[-1])} for failures that no epsilon covers, "
                f"and {short(self.reveal, left=True)} of the budget's delta is set aside for that",
                "open the budget with a larger reveal=..., or with a larger delta",
            )
        return found

    def _cost(self, family: Family) -> Cost:
        """The divergences, the largest loss and the reveal mass of one release."""
        found = [renyi_cost(family, order) for order in self.orders]
        split = family.unless_revealed()
        inside = family if split is None else split[0]
        top = pure_cost(inside)
        if top is None and not any(found):
            because = "its Rényi divergences and its largest loss are infinite, or could not be bounded"
            raise self._refused(family, because, "state it in another way, or open a planned budget")
        hidden = [one[1] for one in found if one is not None]
        revealed = max(hidden) if hidden else typed(split[1]) if split is not None else Fraction(0)
        sums = (UNBOUNDED if one is None else one[0] for one in found)
        return *sums, UNBOUNDED if top is None else top, revealed

    # ---- the rule

    def admits(self, spent: Cost) -> bool:
        if spent[-1] > self.reveal:
            return False
        if spent[-2] <= self.limit[0] or spent[0] <= self._plenty:
            return True
        return self._state(spent).need(double_below(self.limit[0])) <= self._log_rest

    @cached_property
    def _plenty(self) -> Fraction:
        """Up to here the first sum alone makes the left side of (*) 1 at z = epsilon, and more beyond; rounded down."""
        tilt, most = float(typed(self.orders[0]) - 1), self._log_rest + math.log(self.weights[0])
        if math.isinf(most):
            return Fraction(-1)
        return self.limit[0] + Fraction(most / tilt * (1 + 8 * UNIT) - 8 * UNIT / tilt)

    @lru_cache(maxsize=1024)  # noqa: B019 - filters are values, and few
    def spent(self, total: Cost) -> float:
        """The least epsilon for which (*) holds, rounded up: an odometer, and what a balance shows."""
        if not any(total[:-1]):
            return 0.0
        pure, state, most = total[-2], self._state(total), self._log_rest
        bound = math.inf if pure >= UNBOUNDED else typed_above(pure)  # the largest losses alone
        if math.isinf(most):
            return bound
        if state.need(0.0) <= most:
            return 0.0
        low = high = 1.0
        while state.need(high) > most:
            low, high = high, 4 * high
            if high > LARGEST_READING:
                return bound
        while low == high or state.need(low) <= most:
            low, high = low / 4, low
            if low < LEAST_READING:
                return min(above(Fraction(high)), bound)

        def over(epsilon: float) -> float:
            return max(state.need(epsilon), -1e300) - most

        from scipy.optimize import brentq

        root = float(brentq(over, low, high, xtol=1e-300, rtol=1e-14))
        raised = (min(root * (1 + more), high) for more in OUTWARD)
        return min(above(Fraction(next((one for one in raised if state.need(one) <= most), high))), bound)

    @property
    def _log_rest(self) -> float:
        """log delta_m, rounded down."""
        rest = self.limit[1] - self.reveal
        if not rest:
            return -math.inf
        near = math.log(rest.numerator) - math.log(rest.denominator)
        return near - 8 * UNIT * (1 + abs(math.log(rest.numerator)) + abs(math.log(rest.denominator)))

    def _state(self, total: Cost) -> _State:
        kept = [j for j, one in enumerate(total[:-2]) if one < UNBOUNDED]
        top = math.inf if total[-2] >= UNBOUNDED else double_above(total[-2])
        return _State(
            np.array([float(typed(self.orders[j]) - 1) for j in kept]),
            np.array([math.log(float(self.weights[j])) for j in kept]),
            np.array([double_above(total[j]) for j in kept]),
            top,
        )

    # ---- words

    @property
    def promise(self) -> Loss:
        epsilon, delta = map(typed_above, self.limit)
        return Loss.of(Approximate(epsilon, delta))

    has_reading: ClassVar[bool] = False  # what is spent is an odometer itself
    always_reads: ClassVar[bool] = True

    def epsilon(self, spent: Cost, delta: float) -> float:
        if typed(delta) != self.limit[1]:
            raise Unsupported(f"a reading at delta {delta:g}", "that of the budget was fixed at opening")
        return self.spent(spent)

    def left(self, spent: Cost, shares: int = 1) -> Cost:
        """epsilon that is not spent, and what is left of the share for reveals."""
        gone = self.limit[0] if math.isinf(one := self.spent(spent)) else typed(one)
        if gone > self.limit[0] and self.admits(spent):  # past it by the rounding of what is shown only
            gone = self.limit[0]
        return self.limit[0] - gone, self.reveal - spent[-1]

    # ---- sessions

    def counted(self, loss: Loss) -> Loss:
        self.cost(loss)
        return loss

    def total(self, loss: Loss) -> Cost:
        return super().cost(loss) if loss.parts else self.zero

    def least(self, costs: Sequence[Cost]) -> Cost:
        """One of them as it is: the divergences of one bound do not go with the reveal mass of another."""
        return min(costs, key=lambda cost: (cost[-1] > self.reveal, self.spent(cost)))

    def words(self, cost: Cost) -> str:
        return f"epsilon {self.spent(cost):.6g} at delta {float(self.limit[1]):g}"

    def words_of_limit(self, spent: Cost | None = None) -> str:
        left = self.limit[0] if spent is None else self.left(spent)[0]
        return f"epsilon {float(left):.6g} at delta {float(self.limit[1]):g}"

    def amounts(self, left: Cost) -> tuple[tuple[str, Fraction, Fraction], ...]:
        epsilon = (f"epsilon at delta {float(self.limit[1]):g}", self.limit[0], left[0])
        return (epsilon, ("reveal", self.reveal, left[1])) if left[1] < self.reveal else (epsilon,)

    def shown(self, cost: Cost, *, left: bool = False, digits: int = 6) -> str:
        """The epsilon that a cost alone would be, or, of what is left, what was not spent."""
        epsilon = cost[0] if left else UNBOUNDED if math.isinf(one := self.spent(cost)) else typed(one)
        text = "epsilon " + ("inf" if epsilon >= UNBOUNDED else short(epsilon, left=left, digits=digits))
        text += f" at delta {short(self.limit[1])}"
        return text + (f", reveal {short(cost[-1], left=left, digits=digits)}" if cost[-1] and not left else "")

    def to_json(self) -> dict[str, Any]:
        weights = [f"{one.numerator}/{one.denominator}" for one in self.weights]
        reveal = f"{self.reveal.numerator}/{self.reveal.denominator}"
        return {**super().to_json(), "reveal": reveal, "orders": list(self.orders), "weights": weights}


def several_orders_filter(epsilon: Any, delta: Any, *, reveal: Any = None) -> SeveralOrdersFilter:
    """(epsilon, delta) in all; `reveal` is the part of delta that is set aside for releases that may reveal outright.

    One hundredth of delta unless it is given. The orders are chosen with the first release.
    """
    epsilon, delta = checks.non_negative("epsilon", epsilon), checks.probability("delta", delta)
    share = typed(delta) * REVEAL_SHARE if reveal is None else typed(checks.probability("reveal", reveal))
    if share >= typed(delta):
        raise InvalidParameter("reveal", reveal, f"below delta = {delta:g}", "it is a part of delta")
    return SeveralOrdersFilter((typed(epsilon), typed(delta)), share)


def _main_tilt(loss: Loss, epsilon: float, delta: float) -> float:
    """Of the order that alone would admit most copies of a loss; bounded ones take that of Gaussian noise.

    The pure sum looks after bounded losses, and the best order for them would be too high for whatever follows.
    """
    is_bounded = all(pure_cost(part.family) is not None for part in loss.parts)

    def worth(tilts: FloatArray) -> FloatArray:
        limits = epsilon + (math.log(delta) - log_peak(tilts)) / tilts
        each = 1.0 + tilts if is_bounded else np.array(divergences(loss.parts, tilts)[0])
        found: FloatArray = np.where((each > 0) & (limits > 0), limits / np.where(each > 0, each, 1.0), 0.0)
        return found

    tilts, ratio = np.geomspace(LEAST_TILT, MOST_TILT, POINTS), (MOST_TILT / LEAST_TILT) ** (1 / (POINTS - 1))
    if not np.any(worth(tilts) > 0):  # no order has a finite divergence below its limit
        is_bounded = True
    for _ in range(2):  # a grid, and a finer one around its best
        best = float(tilts[int(np.argmax(worth(tilts)))])
        tilts, ratio = best * np.geomspace(1 / ratio, ratio, POINTS), ratio ** (2 / (POINTS - 1))
    best = float(tilts[int(np.argmax(worth(tilts)))])
    return min(max(best, LEAST_TILT), MOST_TILT)
