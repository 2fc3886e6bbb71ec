"""From a question about releases to certified ends: directions, methods, sandwiches and moment bounds put together.

    ask -> each direction (remove, add) -> methods, best first -> an engine -> ends

The smallest epsilon and the hockey-stick divergence are the larger of both directions, the trade-off function is the
smaller. What is peculiar to one of the three questions stands in its class; the way is the same for all.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Self

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.accountant import moments
from quiltwork.compose.accountant.leave_out import OUTWARD, WIDTH, Apart
from quiltwork.compose.accountant.methods import METHODS, Inquiry, answer
from quiltwork.compose.accountant.refine import refine
from quiltwork.compose.engines.characteristic import ContourEngine
from quiltwork.compose.engines.engine import Declined, Ends, Engine
from quiltwork.compose.releases import (
    Counted,
    Known,
    Part,
    directed,
    is_open,
    is_renyi,
    mirrored,
    reveal_everything,
    sandwiched,
    telling,
)
from quiltwork.errors import InvalidParameter
from quiltwork.losses.dominating_pair import UNIT
from quiltwork.losses.transforms.transform import TooCostly

CLOSED_FORM = "closed form"
WIDE = 0.05  # relative width from which on the moments are asked as well
USUAL_WIDTH = 1e-3  # that is asked for when nobody says
LEAST = 1e-300  # smaller numbers are reported as below this
Both = tuple[FloatArray, FloatArray]
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


def sides(parts: Sequence[Part], side: str, optimistic: bool = False) -> list[Counted]:
    """The tests to answer: one, or both directions, the one that usually decides first."""
    found = directed(parts, optimistic)
    if side != "worst":
        return [found.get(side) or found["both"]]
    return list(found.values())


def ask(inquiry: DirectedInquiry, releases: Sequence[Part], side: str) -> Ends:
    """Certified ends for these releases together, in one direction or the worse of both."""
    if inquiry.method is not None and inquiry.method not in METHODS:
        raise InvalidParameter("method", inquiry.method, "one of " + ", ".join(map(repr, METHODS)))
    parts = telling(releases)
    if any(map(is_open, parts)):
        return refine(inquiry, parts, lambda held: ask(inquiry, held, side))
    lower, upper, inside = inquiry.edges(parts, side)
    if not inside.any():
        return Ends(lower, upper, CLOSED_FORM)
    found = inquiry.at(inquiry.values[inside]).inside(parts, side)
    lower[inside], upper[inside] = found.lower, found.upper
    return Ends(lower, upper, found.method)


class DirectedInquiry(Inquiry):
    """What the three questions share: one or both directions, by engines, moments, and leaving releases out."""

    floor: ClassVar[float]  # absolute widths that are never too wide

    def at(self, values: FloatArray) -> Self:
        """The same question elsewhere."""
        return attrs.evolve(self, values=values)

    def narrow(self, lower: FloatArray, upper: FloatArray) -> Flags:
        return _narrow(lower, upper, self.rtol, self.floor)

    @abstractmethod
    def edges(self, parts: Sequence[Part], side: str) -> tuple[FloatArray, FloatArray, Flags]:
        """Ends where no engine is needed, and where one is."""

    def inside(self, parts: Sequence[Part], side: str) -> Ends:
        """Ends of the worse direction; sandwiches and Rényi bounds widen them."""
        found = self.worse(sides(parts, side))
        if sandwiched(parts):  # both sides of a bracket are composed
            slack = math.fsum(part.count * part.family.slack for part in parts if part.family.sandwiched)
            found = self.loosened(found, sides(parts, side, optimistic=True), slack)
        return self.with_renyi(found, parts) if any(map(is_renyi, parts)) else found

    def worse(self, several: Sequence[Counted]) -> Ends:
        """Ends of the worse of several directions."""
        size = self.values.size
        if any(map(reveal_everything, several)):
            return Ends(np.full(size, self.revealed), np.full(size, self.revealed), CLOSED_FORM)
        (low, high), names = self.start(), list[str]()
        for pairs in several:
            undecided = np.ones(size, dtype=bool)
            if names and self.method is None:
                undecided = self.undecided(pairs, low)
            if undecided.any():
                found = self.at(self.values[undecided]).certified(pairs)
                low[undecided] = self.join(low[undecided], found.lower)
                high[undecided] = self.join(high[undecided], found.upper)
                names.append(found.method)
        return Ends(low, high, " + ".join(dict.fromkeys(names)))

    revealed: ClassVar[float]  # the answer when some release shows the record for certain
    join: ClassVar[Callable[..., FloatArray]]  # of two directions

    @abstractmethod
    def start(self) -> Both:
        """What is joined with the first direction."""

    def undecided(self, pairs: Counted, lower: FloatArray) -> Flags:
        """Where this direction may be worse than what is known of another."""
        return np.ones(self.values.size, dtype=bool)

    @abstractmethod
    def loosened(self, found: Ends, possible: list[Counted], slack: float) -> Ends:
        """With the end that is only a bound replaced by that of mechanisms which are still possible."""

    @abstractmethod
    def with_renyi(self, found: Ends, parts: Sequence[Part]) -> Ends:
        """With the end that Rényi bounds leave open."""

    def certified(self, pairs: Counted) -> Ends:
        """What methods certify in one direction; where that is wide, or all decline, also moments and parts of it."""
        try:
            found = self.by_methods(pairs)
        except Declined:
            with np.errstate(all="ignore"):
                return Ends(*self._widely(pairs), moments.METHOD)
        low, high = found.lower, found.upper
        with np.errstate(all="ignore"):
            if np.all((low == high) | (np.isfinite(high) & (high - low <= WIDE * high))):
                return found
            floor, roof = self._widely(pairs)
        return Ends(np.maximum(low, np.minimum(floor, high)), np.minimum(high, np.maximum(roof, low)), found.method)

    def by_methods(self, pairs: Counted) -> Ends:
        """What the methods certify in one direction."""
        return self._at_least_usual(answer(self, pairs), pairs)

    def _at_least_usual(self, found: Ends, pairs: Counted) -> Ends:
        """Asking for too much must not give less than asking for the usual."""
        if self.rtol >= USUAL_WIDTH or _narrow(found.lower, found.upper, USUAL_WIDTH, self.floor).all():
            return found
        more = attrs.evolve(self, rtol=USUAL_WIDTH).by_methods(pairs)
        return Ends(np.maximum(found.lower, more.lower), np.minimum(found.upper, more.upper), more.method)

    def _widely(self, pairs: Counted) -> Both:
        """What moments certify, and what leaving the rarely telling releases out adds to it."""
        low, high = self.by_moments(pairs)
        apart = Apart.of(pairs)
        if apart is None:
            return low, high
        floor, roof = self.without_rare(apart)
        return np.maximum(low, floor), np.minimum(high, roof)

    @abstractmethod
    def by_moments(self, pairs: Counted) -> Both:
        """What the moments alone certify."""

    @abstractmethod
    def without_rare(self, apart: Apart) -> Both:
        """What follows from answers for some of the releases."""

    def _lower(self, pairs: Counted, otherwise: FloatArray) -> FloatArray:
        """The lower end for these releases alone, if some method has one."""
        try:
            return attrs.evolve(self, rtol=WIDTH, method=None).by_methods(pairs).lower
        except Declined:
            return otherwise

    def _upper(self, pairs: Counted, otherwise: FloatArray) -> FloatArray:
        try:
            return attrs.evolve(self, rtol=WIDTH, method=None).by_methods(pairs).upper
        except Declined:
            return otherwise


@attrs.frozen(eq=False)
class SmallestEpsilon(DirectedInquiry):
    """The smallest epsilon >= 0 for each delta in [0, 1]; `values` are deltas."""

    floor, revealed, join = 1e-9, math.inf, staticmethod(np.maximum)

    def put_to(self, engine: Engine, mirror: Callable[[], Engine]) -> Ends:
        return engine.epsilon(self.values, self.rtol)

    def edges(self, parts: Sequence[Part], side: str) -> tuple[FloatArray, FloatArray, Flags]:
        delta = self.values
        lower, upper, zero = np.zeros(delta.size), np.zeros(delta.size), delta == 0
        if parts and zero.any():
            possible = max(_top(pairs)[0] for pairs in sides(parts, side, optimistic=True))
            promised = math.inf if any(map(is_renyi, parts)) else max(_top(pairs)[1] for pairs in sides(parts, side))
            lower[zero] = min(possible, promised) if not sandwiched(parts) else 0.0
            upper[zero] = promised
        return lower, upper, (delta > 0) & (delta < 1) & bool(parts)

    def inside(self, parts: Sequence[Part], side: str) -> Ends:
        if any(map(is_renyi, parts)) and not any(map(reveal_everything, sides(parts, side))):
            return self._by_renyi(parts, side)
        found = super().inside(parts, side)
        # a largest loss below 0 asks for no epsilon
        return Ends(np.maximum(found.lower, 0.0), np.maximum(found.upper, 0.0), found.method)

    def start(self) -> Both:
        return np.full(self.values.size, -np.inf), np.full(self.values.size, -np.inf)

    def undecided(self, pairs: Counted, lower: FloatArray) -> Flags:
        """All or none: unless Chernoff's bound for this direction is below what the other is known to cost."""
        try:
            engine = ContourEngine.of(pairs)
            below = engine is not None and np.all(engine.chernoff_epsilon(self.values, lower) <= lower * (1 - 1e-9))
        except (TooCostly, OverflowError):
            below = False
        return np.full(self.values.size, not below)

    def loosened(self, found: Ends, possible: list[Counted], slack: float) -> Ends:
        """The lower end from what is possible, a little above the asked delta."""
        eased = self.values + slack
        low = self.at(np.minimum(eased, 1.0 - UNIT)).worse(possible).lower
        return attrs.evolve(found, lower=np.where(eased < 1, np.minimum(found.lower, low), 0.0))

    def with_renyi(self, found: Ends, parts: Sequence[Part]) -> Ends:
        return found  # everything is revealed, whatever the moments say

    def _by_renyi(self, parts: Sequence[Part], side: str) -> Ends:
        lower, upper = np.zeros(self.values.size), np.zeros(self.values.size)
        slack = math.fsum(part.count * part.family.slack for part in parts if part.family.sandwiched)
        eased = self.at(np.minimum(self.values + slack, 1.0 - UNIT))
        for direction, pairs in directed(parts, optimistic=True).items():
            if side in ("worst", direction) or direction == "both":
                log_mgf, reveal = moments.composed_moments(parts, direction)
                bound = moments.epsilon_bound(log_mgf, reveal, self.values, moments.listed_tilts(parts))
                lower, upper = np.maximum(lower, eased.certified(pairs).lower), np.maximum(upper, bound)
        return Ends(np.maximum(np.minimum(lower, upper), 0.0), np.maximum(upper, 0.0), moments.METHOD)

    def by_methods(self, pairs: Counted) -> Ends:
        if self.method is not None:
            return super().by_methods(pairs)
        quick = self._largest_loss(pairs)
        if quick is None:
            return super().by_methods(pairs)
        if _narrow(*quick, self.rtol, 0.0).all():
            return Ends(*quick, "largest loss")
        found = answer(self, pairs)
        low, high = np.maximum(found.lower, quick[0]), np.minimum(found.upper, quick[1])
        return self._at_least_usual(Ends(low, high, found.method), pairs)

    def _largest_loss(self, pairs: Counted) -> Both | None:
        """S reaches its largest value with probability m, so D(eps) >= m (1 - e^(eps - top)).

        For a delta well below m that alone settles epsilon, where every other method would need an absurd tilt.
        """
        known, delta = Known.of(pairs), self.values
        log_mass, top = known.log_top_mass, known.plain_top
        small = np.log(delta) <= log_mass - 1e-6
        if any(pair.reveal for pair, _ in pairs) or not small.any():
            return None
        low = top + np.log1p(-np.exp(np.where(small, np.log(delta) - log_mass, -1.0))) - known.top_room
        high = max(top * (1 + 4 * UNIT) + known.top_room, 0.0)
        return np.where(small, np.maximum(low, 0.0), 0.0), np.where(small, high, np.inf)

    def by_moments(self, pairs: Counted) -> Both:
        delta, known, log_mgf = self.values, Known.of(pairs), moments.pair_moments(pairs)
        upper = np.full(delta.size, known.top)
        if log_mgf is not None:
            upper = np.fmin(upper, moments.epsilon_bound(log_mgf, known.reveal[1], delta))
        return np.zeros(delta.size), np.where(delta < known.reveal[1], np.inf, upper)

    def without_rare(self, apart: Apart) -> Both:
        """The upper end only where more delta is asked than the rare releases tell."""
        delta, low, high = self.values, np.zeros(self.values.size), np.full(self.values.size, math.inf)
        for pairs in apart.alone:
            low = np.maximum(low, self._lower(pairs, low))
        able = delta > apart.telling
        if able.any() and not apart.rest:
            high[able] = 0.0
        elif able.any():
            left = (delta[able] - apart.telling) / (1 - apart.telling) / OUTWARD
            high[able] = self.at(left)._upper(apart.rest, high[able])
        return low, high


@attrs.frozen(eq=False)
class Divergence(DirectedInquiry):
    """The hockey-stick divergence delta(epsilon) at each epsilon, also infinite; `values` are epsilons."""

    floor, revealed, join = 1e-290, 1.0, staticmethod(np.maximum)

    def put_to(self, engine: Engine, mirror: Callable[[], Engine]) -> Ends:
        return engine.delta(self.values, self.rtol)

    def edges(self, parts: Sequence[Part], side: str) -> tuple[FloatArray, FloatArray, Flags]:
        epsilon = self.values
        lower = np.where(epsilon == -np.inf, 1.0, np.maximum(-np.expm1(np.minimum(epsilon, 0.0)), 0.0))
        upper, infinite = lower.copy(), epsilon == np.inf
        if parts and infinite.any():
            lower[infinite] = max(Known.of(pairs).reveal[0] for pairs in sides(parts, side, optimistic=True))
            upper[infinite] = max(Known.of(pairs).reveal[1] for pairs in sides(parts, side))
        return lower, upper, np.isfinite(epsilon) & bool(parts)

    def inside(self, parts: Sequence[Part], side: str) -> Ends:
        found = super().inside(parts, side)
        return attrs.evolve(found, upper=np.minimum(found.upper, 1.0))

    def start(self) -> Both:
        return np.zeros(self.values.size), np.zeros(self.values.size)

    def undecided(self, pairs: Counted, lower: FloatArray) -> Flags:
        """Unless Chernoff's bound for this direction is below what the other is known to cost."""
        try:
            engine = ContourEngine.of(pairs)
            bound = np.ones(self.values.size) if engine is None else engine.chernoff_delta(self.values)
        except (TooCostly, OverflowError):
            return np.ones(self.values.size, dtype=bool)
        return ~(bound <= lower * (1 - 1e-9))

    def loosened(self, found: Ends, possible: list[Counted], slack: float) -> Ends:
        low = np.minimum(found.lower, self.worse(possible).lower - slack)
        return attrs.evolve(found, lower=np.maximum(low, _least_divergence(self.values)))

    def with_renyi(self, found: Ends, parts: Sequence[Part]) -> Ends:
        """For eps < 0, D(t) = 1 - t + t D'(1/t) with the worlds exchanged: hence the worse direction for both signs."""
        epsilon = self.values
        at = moments.delta_bound(*moments.worst_moments(parts), np.abs(epsilon), moments.listed_tilts(parts))
        t = np.exp(np.minimum(epsilon, 0.0))
        high = np.maximum(found.lower, np.where(epsilon < 0, 1.0 - t * (1.0 - at), at) * (1 + 4 * UNIT))
        return Ends(found.lower, high, moments.METHOD)

    def by_methods(self, pairs: Counted) -> Ends:
        """Also from the mass at the largest loss, as in `SmallestEpsilon._largest_loss`."""
        found = super().by_methods(pairs)
        if self.narrow(found.lower, found.upper).all():
            return found
        known = Known.of(pairs)
        if math.isinf(known.log_top_mass):
            return found
        below = np.minimum(self.values - known.plain_top + known.top_room, 0.0)
        low = np.maximum(found.lower, math.exp(known.log_top_mass) * -np.expm1(below))
        return attrs.evolve(found, lower=np.minimum(low, found.upper))

    def by_moments(self, pairs: Counted) -> Both:
        epsilon, reveal, log_mgf = self.values, Known.of(pairs).reveal, moments.pair_moments(pairs)
        upper = np.ones(epsilon.size)
        if log_mgf is not None:
            upper = np.fmin(upper, moments.delta_bound(log_mgf, reveal[1], epsilon))
        return np.maximum(_least_divergence(epsilon), reveal[0]), upper

    def without_rare(self, apart: Apart) -> Both:
        low, high = np.zeros(self.values.size), np.ones(self.values.size)
        for pairs in apart.alone:
            low = np.maximum(low, self._lower(pairs, low))
        perfect = np.maximum(-np.expm1(np.minimum(self.values, 0.0)), 0.0)
        others = self._upper(apart.rest, high) if apart.rest else perfect * OUTWARD
        return low, np.minimum((apart.telling + (1 - apart.telling) * others) * OUTWARD, 1.0)


@attrs.frozen(eq=False)
class TypeTwoError(DirectedInquiry):
    """The trade-off function, the least type II error at each type I error in [0, 1]; `values` are the latter."""

    floor, revealed, join = LEAST, 0.0, staticmethod(np.minimum)

    def put_to(self, engine: Engine, mirror: Callable[[], Engine]) -> Ends:
        return engine.beta(self.values, mirror)

    @property
    def perfect(self) -> Both:
        """Ends of 1 - alpha."""
        return np.nextafter(1.0 - self.values, -1.0), np.nextafter(1.0 - self.values, 2.0)

    def edges(self, parts: Sequence[Part], side: str) -> tuple[FloatArray, FloatArray, Flags]:
        low, high = self.perfect
        return np.maximum(low, 0.0), np.minimum(high, 1.0), np.full(self.values.size, bool(parts))

    def inside(self, parts: Sequence[Part], side: str) -> Ends:
        found = super().inside(parts, side)
        low, high = found.lower, found.upper
        high = np.where((high > 0) & (high < LEAST), LEAST, high)
        return Ends(np.where(low < LEAST, 0.0, low), high, found.method)

    def start(self) -> Both:
        return np.ones(self.values.size), self.perfect[1]

    def loosened(self, found: Ends, possible: list[Counted], slack: float) -> Ends:
        high = np.maximum(found.upper, self.worse(possible).upper + slack)
        return attrs.evolve(found, upper=np.minimum(high, self.perfect[1]))

    def with_renyi(self, found: Ends, parts: Sequence[Part]) -> Ends:
        bound = moments.beta_bound(*moments.worst_moments(parts), self.values)
        return Ends(np.minimum(found.lower, bound), found.upper, moments.METHOD)

    def by_moments(self, pairs: Counted) -> Both:
        both = [moments.pair_moments(pairs), moments.pair_moments(mirrored(pairs))]
        reveal = max(Known.of(one).reveal[1] for one in (pairs, mirrored(pairs)))
        lower: FloatArray = np.zeros(self.values.size)
        if all(log_mgf is not None for log_mgf in both):
            larger = moments.larger([log_mgf for log_mgf in both if log_mgf is not None])
            lower = moments.beta_bound(larger, reveal, self.values)
        low, high = self.perfect
        return np.minimum(lower, np.maximum(low, 0.0)), high

    def without_rare(self, apart: Apart) -> Both:
        low: FloatArray = np.zeros(self.values.size)
        high = self.perfect[1]
        for pairs in apart.alone:
            high = np.minimum(high, self._upper(pairs, high))
        if apart.telling < 1:
            moved = np.minimum(self.values / (1 - apart.telling) * OUTWARD, 1.0)
            others = self.at(moved)._lower(apart.rest, low) if apart.rest else np.maximum(1 - moved, 0.0)
            low = (1 - apart.telling) * others / OUTWARD
        return low, high


INQUIRIES: dict[str, type[DirectedInquiry]] = {"epsilon": SmallestEpsilon, "delta": Divergence, "beta": TypeTwoError}


def _top(pairs: Counted) -> tuple[float, float]:
    """Ends of the smallest epsilon with delta = 0: the largest loss."""
    if any(pair.reveal > 0 for pair, _ in pairs):
        return math.inf, math.inf
    top = Known.of(pairs).top
    if math.isinf(top):
        return top, top
    room = math.fsum(2 * count * pair.rounding for pair, count in pairs)
    return max(top * (1 - 16 * UNIT) - room, 0.0), max(top, 0.0)


def _least_divergence(epsilon: FloatArray) -> FloatArray:
    """1 - e^epsilon, which every divergence reaches, a few roundings below."""
    floor: FloatArray = -np.expm1(np.minimum(epsilon, 0.0)) * (1 - 4 * UNIT)
    return floor


def _narrow(lower: FloatArray, upper: FloatArray, rtol: float, floor: float) -> Flags:
    """Where ends are as close as asked, or closer than an absolute floor."""
    with np.errstate(invalid="ignore"):
        found: Flags = (lower == upper) | (np.isfinite(upper) & (upper - lower <= rtol * upper + floor))
    return found
