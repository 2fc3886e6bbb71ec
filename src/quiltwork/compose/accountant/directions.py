"""From a question about releases to certified ends: directions, methods, sandwiches and moment bounds put together.

    ask -> each direction (remove, add) -> methods, best first -> an engine -> ends

The smallest epsilon and the hockey-stick divergence are the larger of both directions, the trade-off function is the
smaller. What is peculiar to one of the three questions stands in its class; the way is the same for all.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar, Self

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.accountant import both_directions, moments
from quiltwork.compose.accountant.leave_out import WIDTH, Apart
from quiltwork.compose.accountant.methods import FEW_RELEASES, METHODS, ORDER, RARE_RATE
from quiltwork.compose.accountant.refine import refine
from quiltwork.compose.engines.bounded_range import adaptive_pairs
from quiltwork.compose.engines.characteristic import FINE, ContourEngine
from quiltwork.compose.engines.engine import Declined, Engine
from quiltwork.compose.releases import (
    Counted,
    Known,
    Part,
    attained,
    directed,
    is_open,
    is_renyi,
    mirrored,
    reveal_everything,
    sandwiched,
    slackened,
    telling,
)
from quiltwork.curves.bracket import Bracket, Quantity
from quiltwork.curves.curve import Ends, Question
from quiltwork.errors import Contradiction, InvalidParameter
from quiltwork.losses.families.exponential import AttainedRangePair, BoundedRangePair
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.families.poisson import PoissonPair
from quiltwork.losses.transforms.transform import TooCostly
from quiltwork.numbers.rounding import UNIT

CLOSED_FORM = "closed form"
WIDE = 0.05  # relative width from which on the moments are asked as well
WIDTHS = tuple(10.0**-n for n in range(3, 13))  # relative ones that methods are asked for
RARE_WIDTH = 1e-4  # and of few releases on small samples
FEW_TABLES, OUTPUTS = 10, 10  # finite losses of many outputs are worth listing though the largest one says enough
CROSSING = 1e-9  # relative distance from which on certificates that cross cannot blame their rounding
LEAST = 1e-300  # smaller numbers are reported as below this
Both = tuple[FloatArray, FloatArray]
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


def ask(question: Question, releases: Sequence[Part], side: str) -> Ends:
    """Certified ends for these releases together, in one direction or the worse of both."""
    method = question.how.get("method")
    if method is not None and method not in METHODS:
        raise InvalidParameter("method", method, "one of " + ", ".join(map(repr, METHODS)))
    return INQUIRIES[question.quantity](np.ravel(question.values), question.rtol, method).answer(releases, side)


def sides(parts: Sequence[Part], side: str, optimistic: bool = False) -> list[Counted]:
    """The tests to answer: one, or both directions, the one that usually decides first."""
    found = directed(parts, optimistic)
    if side != "worst":
        return [found.get(side) or found["both"]]
    return list(found.values())


def engines(pairs: Counted, asked: str | None) -> Iterator[Engine]:
    """Engines that may answer, best first; only those of the method that is asked for, if any is."""
    releases, listed, rare = sum(count for _, count in pairs), False, asked is None and rarely_drawn(pairs, RARE_RATE)
    for method in ORDER:
        suits = len(pairs) <= method.max_kinds and releases <= method.max_releases and method.rare in (None, rare)
        if asked not in (None, method.name) or not suits or not all(isinstance(pair, method.of) for pair, _ in pairs):
            continue
        try:
            engine = None if listed and method.name == "exact atoms" else method.engine(pairs)
        except (TooCostly, OverflowError):
            continue
        if engine is not None:
            listed = listed or engine.whole
            yield engine
            if method.settles:
                return


def rarely_drawn(pairs: Counted, rate: float) -> bool:
    """Whether there are few releases, some of them on samples below this rate."""
    small = any(isinstance(pair, PoissonPair) and pair.rate < rate for pair, _ in pairs)
    return small and sum(count for _, count in pairs) <= FEW_RELEASES


def mirror_of(engine: Engine) -> Engine:
    """An engine of the same method for the exchanged worlds; itself where they look alike."""
    others = mirrored(engine.pairs)
    if all(one is two for (one, _), (two, _) in zip(engine.pairs, others, strict=True)):
        return engine
    for other in engines(others, engine.method):
        return other
    raise Declined


@attrs.frozen(eq=False)
class Inquiry(ABC):
    """One question: a flat array of values, the width asked for, and the method if one is stated."""

    values: FloatArray
    rtol: float = WIDTHS[0]
    method: str | None = None

    quantity: ClassVar[Quantity]
    floor: ClassVar[float]  # absolute widths that are never too wide
    revealed: ClassVar[float]  # the answer when some release shows the record for certain
    join: ClassVar[Callable[..., FloatArray]]  # of two directions

    @abstractmethod
    def put_to(self, engine: Engine) -> Ends:
        """What the engine answers."""

    @abstractmethod
    def trivial(self) -> Both:
        """Ends that hold for every composition."""

    @abstractmethod
    def start(self) -> Both:
        """What is joined with the first direction."""

    @abstractmethod
    def edges(self, parts: Sequence[Part], side: str) -> tuple[FloatArray, FloatArray, Flags]:
        """Ends where no engine is needed, and where one is."""

    @abstractmethod
    def by_moments(self, pairs: Counted) -> Both:
        """What moments alone certify."""

    @abstractmethod
    def without_rare(self, apart: Apart) -> Both:
        """What answers for fewer releases certify."""

    @abstractmethod
    def loosened(self, found: Ends, possible: list[Counted], slack: float) -> Ends:
        """With the end that is only a bound replaced by that of mechanisms which are still possible."""

    @abstractmethod
    def with_renyi(self, found: Ends, parts: Sequence[Part]) -> Ends:
        """With the end that Rényi bounds leave open."""

    def undecided(self, pairs: Counted, lower: FloatArray) -> Flags:
        """Where this direction may be worse than what is known of another."""
        return np.ones(self.values.size, dtype=bool)

    def at(self, values: FloatArray) -> Self:
        """The same question elsewhere."""
        return type(self)(values, self.rtol, self.method)

    def narrow(self, lower: FloatArray, upper: FloatArray) -> Flags:
        """Where ends are as close as asked."""
        return _narrow(lower, upper, self.rtol, self.floor)

    def answer(self, releases: Sequence[Part], side: str) -> Ends:
        """Ends for these releases together, in one direction or the worse of both."""
        parts = telling(releases)
        if any(map(is_open, parts)):
            return refine(self.rtol, self.narrow, parts, lambda held: self.answer(held, side))
        lower, upper, inside = self.edges(parts, side)
        if not inside.any():
            return Ends(lower, upper, CLOSED_FORM)
        found = self.at(self.values[inside]).inside(parts, side)
        lower[inside], upper[inside] = found.lower, found.upper
        return Ends(lower, upper, found.method)

    def inside(self, parts: Sequence[Part], side: str) -> Ends:
        """Ends of the worse direction; sandwiches and Rényi bounds widen them."""
        found = self.worse(sides(parts, side))
        if sandwiched(parts) and not attained(parts):  # both sides of a bracket are composed
            found = self.loosened(found, sides(parts, side, optimistic=True), _slack(parts))
        return self.with_renyi(found, parts) if any(map(is_renyi, parts)) else found

    def worse(self, several: Sequence[Counted]) -> Ends:
        """Ends of the worse of several directions."""
        size = self.values.size
        if any(map(reveal_everything, several)):
            return Ends(np.full(size, self.revealed), np.full(size, self.revealed), CLOSED_FORM)
        (low, high), names = self.start(), list[str]()
        for pairs in several:
            decided = names and self.method is None
            left = self.undecided(pairs, low) if decided else np.ones(size, dtype=bool)
            if left.any():
                found = self.at(self.values[left]).certified(pairs)
                low[left], high[left] = self.join(low[left], found.lower), self.join(high[left], found.upper)
                names.append(found.method)
        return Ends(low, high, " + ".join(dict.fromkeys(names)))

    def certified(self, pairs: Counted) -> Ends:
        """What methods certify in one direction; where that is wide, or all decline, also moments and parts of it."""
        if self.method is None and any(isinstance(pair, BoundedRangePair) for pair, _ in pairs):
            pairs = adaptive_pairs(pairs) or pairs
        try:
            found = self.by_methods(pairs)
        except Declined:
            with np.errstate(all="ignore"):
                return Ends(*self._widely(pairs), moments.METHOD)
        low, high = found.lower, found.upper
        with np.errstate(all="ignore"):
            if np.all((low == high) | (np.isfinite(high) & (high - low <= WIDE * high))):
                return found
            widely = Ends(*self._widely(pairs), moments.METHOD)
        if self.quantity != "beta" and isinstance(pairs[0][0], BoundedRangePair | AttainedRangePair):
            widely = _half(pairs, widely)
        return self._met(found, widely)

    def _widely(self, pairs: Counted) -> Both:
        low, high = self.by_moments(pairs)
        apart = Apart.of(pairs)
        if apart is None:
            return low, high
        floor, roof = self.without_rare(apart)
        return np.maximum(low, floor), np.minimum(high, roof)

    def _alone(self, pairs: Counted, values: FloatArray) -> Ends:
        inquiry = attrs.evolve(self, values=values, rtol=WIDTH, method=None)
        try:
            return inquiry.by_methods(pairs)
        except Declined:
            return Ends(*inquiry.trivial())

    def by_methods(self, pairs: Counted) -> Ends:
        """What the methods certify in one direction: asked for the usual width first, then for finer ones.

        Which widths they are asked for does not depend on the one that is wanted, only where that ends: what is found
        for less is part of what is found for more, and a finer question never has a wider answer. Where no value gets
        as narrow as asked, nothing finer is tried. One question about few releases on small samples is asked more
        finely at once: the grids that are left there could do better.
        """
        one = self.values.size == 1 and self.method is None and self.quantity == "epsilon"
        rare = one and rarely_drawn(pairs, 2 * RARE_RATE)
        asked = attrs.evolve(self, rtol=RARE_WIDTH if rare else WIDTHS[0])
        found = more = asked.by_first(pairs)
        for width in WIDTHS[1 + rare :]:
            met = self.narrow(found.lower, found.upper).all() or asked.rtol <= self.rtol
            if met or not asked.narrow(more.lower, more.upper).any():
                break
            asked = attrs.evolve(self, rtol=width)
            try:
                more = asked.by_first(pairs)
            except Declined:
                break
            found = attrs.evolve(self._met(found, more), method=more.method)
        return found

    def by_first(self, pairs: Counted) -> Ends:
        """Each value by the first method that meets the asked width; otherwise what all that answered agree on."""
        best = Ends(np.full(self.values.size, -np.inf), np.full(self.values.size, np.inf))
        left, less = np.ones(self.values.size, dtype=bool), False
        for engine in engines(pairs, self.method):
            if engine.whole:
                left[:] = True  # a full list answers all as fast as one
            try:
                with np.errstate(all="ignore"):
                    found = self.at(self.values[left]).put_to(engine)
            except (Declined, TooCostly, OverflowError):
                continue
            if np.isnan(found.lower).any() or np.isnan(found.upper).any():
                continue
            found = _half(pairs, found) if less else found
            low, high = best.lower.copy(), best.upper.copy()
            low[left], high[left] = found.lower, found.upper
            less = less or engine.below_pairs
            best = attrs.evolve(self._met(best, Ends(low, high, engine.method)), method=engine.method)
            left = left & ~self.narrow(best.lower, best.upper)
            if not left.any() or engine.whole:  # what a full list leaves open is rounding
                break
        if not best.method:
            raise Declined
        return best

    def _met(self, one: Ends, two: Ends) -> Ends:
        """What two certificates of the same numbers say together; those that cross are a fault, and are shown."""
        low, high = np.maximum(one.lower, two.lower), np.minimum(one.upper, two.upper)
        with np.errstate(invalid="ignore"):
            crossed = low > high + CROSSING * np.abs(high)
        if crossed.any():
            place = int(np.argmax(crossed))
            shown = [
                Bracket(min(e.lower[place], e.upper[place]), e.upper[place], self.quantity, e.method)
                for e in (one, two)
            ]
            raise Contradiction(*shown)
        return Ends(np.minimum(low, high), np.maximum(low, high), one.method)  # a crossing by rounding alone is closed


@attrs.frozen(eq=False)
class SmallestEpsilon(Inquiry):
    """The smallest epsilon >= 0 for each delta in [0, 1]; `values` are deltas."""

    quantity = "epsilon"
    floor, revealed, join = 1e-9, math.inf, staticmethod(np.maximum)

    def put_to(self, engine: Engine) -> Ends:
        found = engine.epsilon(self.values, self.rtol)
        # a largest loss below 0 asks for no epsilon
        return attrs.evolve(found, lower=np.maximum(found.lower, 0.0), upper=np.maximum(found.upper, 0.0))

    def by_moments(self, pairs: Counted) -> Both:
        return moments.epsilon_ends(pairs, self.values)

    def without_rare(self, apart: Apart) -> Both:
        return apart.epsilon_ends(self.values, self._alone)

    def trivial(self) -> Both:
        return np.zeros(self.values.size), np.full(self.values.size, np.inf)

    def start(self) -> Both:
        return np.full(self.values.size, -np.inf), np.full(self.values.size, -np.inf)

    def edges(self, parts: Sequence[Part], side: str) -> tuple[FloatArray, FloatArray, Flags]:
        delta = self.values
        lower, upper, zero = np.zeros(delta.size), np.zeros(delta.size), delta == 0
        if parts and zero.any():
            optimistic = not attained(parts)  # else what is promised is possible
            possible = max(_top(pairs)[0] for pairs in sides(parts, side, optimistic=optimistic))
            promised = math.inf if any(map(is_renyi, parts)) else max(_top(pairs)[1] for pairs in sides(parts, side))
            lower[zero] = 0.0 if slackened(parts) else min(possible, promised)
            upper[zero] = promised
        return lower, upper, (delta > 0) & (delta < 1) & bool(parts)

    def inside(self, parts: Sequence[Part], side: str) -> Ends:
        renyi = any(map(is_renyi, parts)) and not any(map(reveal_everything, sides(parts, side)))
        found = self._by_renyi(parts, side) if renyi else super().inside(parts, side)
        # a largest loss below 0 asks for no epsilon
        return Ends(np.maximum(found.lower, 0.0), np.maximum(found.upper, 0.0), found.method)

    def _by_renyi(self, parts: Sequence[Part], side: str) -> Ends:
        lower, upper = np.zeros(self.values.size), np.zeros(self.values.size)
        eased = self.at(np.minimum(self.values + _slack(parts), 1.0 - UNIT))
        for direction, pairs in directed(parts, optimistic=True).items():
            if side in ("worst", direction) or direction == "both":
                log_mgf, reveal = moments.composed_moments(parts, direction)
                bound = moments.epsilon_bound(log_mgf, reveal, self.values, moments.listed_tilts(parts))
                lower, upper = np.maximum(lower, eased.certified(pairs).lower), np.maximum(upper, bound)
        return Ends(np.minimum(lower, upper), upper, moments.METHOD)

    def worse(self, several: Sequence[Counted]) -> Ends:
        """From one table of nodes for both directions where there is one."""
        if self.values.size > 1 or self.method is not None or any(len(pairs) > 1 for pairs in several):
            return super().worse(several)
        both = both_directions.epsilon_ends(several, float(self.values[0]))
        if both is None:
            return super().worse(several)
        found = Ends(np.array([both[0]]), np.array([both[1]]), both_directions.METHOD)
        if both[1] - both[0] <= min(self.rtol, FINE) * both[1]:
            return found
        return self._met(super().worse(several), found)

    def undecided(self, pairs: Counted, lower: FloatArray) -> Flags:
        """All or none: unless this direction certainly costs less than what the other is known to cost."""
        try:
            engine = ContourEngine.of(pairs)
            if engine is not None:
                below = engine.stay_below(self.values, lower)
            else:
                log_mgf = moments.plain_moments(pairs)
                bound = self.trivial()[1] if log_mgf is None else moments.epsilon_bound(log_mgf, 0.0, self.values)
                below = bool(np.all(bound <= lower * (1 - 1e-9)))
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

    def by_first(self, pairs: Counted) -> Ends:
        quick = Known.of(pairs).epsilon_ends(self.values) if self.method is None else None
        if quick is None:
            return super().by_first(pairs)
        releases = sum(count for _, count in pairs)
        tables = all(isinstance(pair, FinitePair) and pair.losses.size >= OUTPUTS for pair, _ in pairs)
        cheap = releases <= FEW_TABLES and tables
        if _narrow(*quick, min(self.rtol, FINE) if cheap else self.rtol, 0.0).all():
            return Ends(*quick, "largest loss")
        found = super().by_first(pairs)
        return self._met(found, Ends(*quick, "largest loss"))


@attrs.frozen(eq=False)
class Divergence(Inquiry):
    """The hockey-stick divergence delta(epsilon) at each epsilon, also infinite; `values` are epsilons."""

    quantity = "delta"
    floor, revealed, join = 1e-290, 1.0, staticmethod(np.maximum)

    def put_to(self, engine: Engine) -> Ends:
        return engine.delta(self.values, self.rtol)

    def by_moments(self, pairs: Counted) -> Both:
        return moments.delta_ends(pairs, self.values)

    def without_rare(self, apart: Apart) -> Both:
        return apart.delta_ends(self.values, self._alone)

    def trivial(self) -> Both:
        return np.zeros(self.values.size), np.ones(self.values.size)

    def start(self) -> Both:
        return np.zeros(self.values.size), np.zeros(self.values.size)

    def edges(self, parts: Sequence[Part], side: str) -> tuple[FloatArray, FloatArray, Flags]:
        epsilon = self.values
        plain = np.maximum(-np.expm1(np.minimum(epsilon, 0.0)), 0.0)
        room, infinite = np.where(np.isfinite(epsilon), 4 * UNIT, 0.0), epsilon == np.inf
        lower, upper = plain * (1 - room), np.minimum(plain * (1 + room), 1.0)
        if parts and infinite.any():
            lower[infinite] = max(Known.of(pairs).reveal[0] for pairs in sides(parts, side, optimistic=True))
            upper[infinite] = max(Known.of(pairs).reveal[1] for pairs in sides(parts, side))
        return lower, upper, np.isfinite(epsilon) & bool(parts)

    def inside(self, parts: Sequence[Part], side: str) -> Ends:
        found = super().inside(parts, side)
        return attrs.evolve(found, upper=np.minimum(found.upper, 1.0))

    def undecided(self, pairs: Counted, lower: FloatArray) -> Flags:
        """Unless Chernoff's bound for this direction is below what the other is known to cost."""
        try:
            engine, bound = ContourEngine.of(pairs), self.trivial()[1]
            if engine is not None:
                bound = engine.chernoff_delta(self.values)
            elif (log_mgf := moments.plain_moments(pairs)) is not None:
                bound = moments.delta_bound(log_mgf, 0.0, self.values)
        except (TooCostly, OverflowError):
            return super().undecided(pairs, lower)
        return ~(bound <= lower * (1 - 1e-9))

    def loosened(self, found: Ends, possible: list[Counted], slack: float) -> Ends:
        low = np.minimum(found.lower, self.worse(possible).lower - slack)
        return attrs.evolve(found, lower=np.maximum(low, moments.least_divergence(self.values)))

    def with_renyi(self, found: Ends, parts: Sequence[Part]) -> Ends:
        """For eps < 0, D(t) = 1 - t + t D'(1/t) with the worlds exchanged: hence the worse direction for both signs."""
        epsilon = self.values
        at = moments.delta_bound(*moments.worst_moments(parts), np.abs(epsilon), moments.listed_tilts(parts))
        t = np.exp(np.minimum(epsilon, 0.0))
        high = np.maximum(found.lower, np.where(epsilon < 0, 1.0 - t * (1.0 - at), at) * (1 + 4 * UNIT))
        return Ends(found.lower, high, moments.METHOD)

    def by_methods(self, pairs: Counted) -> Ends:
        found = super().by_methods(pairs)
        if self.narrow(found.lower, found.upper).all():
            return found
        return self._met(found, Ends(Known.of(pairs).least_delta(self.values), self.trivial()[1], "largest loss"))


@attrs.frozen(eq=False)
class TypeTwoError(Inquiry):
    """The trade-off function: the least type II error at each type I error in [0, 1]; `values` are the latter."""

    quantity = "beta"
    floor, revealed, join = LEAST, 0.0, staticmethod(np.minimum)

    def put_to(self, engine: Engine) -> Ends:
        return engine.beta(self.values, partial(mirror_of, engine))

    def by_moments(self, pairs: Counted) -> Both:
        return moments.beta_ends(pairs, self.values)

    def without_rare(self, apart: Apart) -> Both:
        return apart.beta_ends(self.values, self._alone)

    def trivial(self) -> Both:
        return np.zeros(self.values.size), np.nextafter(1.0 - self.values, 2.0)

    def start(self) -> Both:
        return np.ones(self.values.size), np.nextafter(1.0 - self.values, 2.0)

    def edges(self, parts: Sequence[Part], side: str) -> tuple[FloatArray, FloatArray, Flags]:
        low, high = np.nextafter(1.0 - self.values, -1.0), np.nextafter(1.0 - self.values, 2.0)
        return np.maximum(low, 0.0), np.minimum(high, 1.0), np.full(self.values.size, bool(parts))

    def inside(self, parts: Sequence[Part], side: str) -> Ends:
        found = super().inside(parts, side)
        low, high = found.lower, found.upper
        high = np.where((high > 0) & (high < LEAST), LEAST, high)
        return Ends(np.where(low < LEAST, 0.0, low), high, found.method)

    def loosened(self, found: Ends, possible: list[Counted], slack: float) -> Ends:
        high = np.maximum(found.upper, self.worse(possible).upper + slack)
        return attrs.evolve(found, upper=np.minimum(high, self.trivial()[1]))

    def with_renyi(self, found: Ends, parts: Sequence[Part]) -> Ends:
        bound = moments.beta_bound(*moments.worst_moments(parts), self.values)
        return Ends(np.minimum(found.lower, bound), found.upper, moments.METHOD)


INQUIRIES: dict[str, type[Inquiry]] = {"epsilon": SmallestEpsilon, "delta": Divergence, "beta": TypeTwoError}


def _slack(parts: Sequence[Part]) -> float:
    """How far the optimistic polygons of sandwiched functions may lie below the functions, all releases together."""
    return math.fsum(part.count * part.family.slack for part in parts if part.family.sandwiched)


def _half(pairs: Counted, found: Ends) -> Ends:
    """What is true of adaptive releases of bounded range in ends about pairs: they tell less than the dominating pair,
    and more than the response that one of them is.
    """
    if isinstance(pairs[0][0], AttainedRangePair):
        return attrs.evolve(found, upper=np.full(found.upper.size, np.inf))
    return attrs.evolve(found, lower=np.full(found.lower.size, -np.inf))


def _top(pairs: Counted) -> tuple[float, float]:
    """Ends of the smallest epsilon with delta = 0: the largest loss."""
    if any(pair.reveal > 0 for pair, _ in pairs):
        return math.inf, math.inf
    top = Known.of(pairs).top
    if math.isinf(top):
        return top, top
    room = math.fsum(2 * count * pair.rounding for pair, count in pairs)
    return max(top * (1 - 16 * UNIT) - room, 0.0), max(top, 0.0)


def _narrow(lower: FloatArray, upper: FloatArray, rtol: float, floor: float) -> Flags:
    """Where ends are as close as asked, or closer than an absolute floor."""
    with np.errstate(invalid="ignore"):
        found: Flags = (lower == upper) | (np.isfinite(upper) & (upper - lower <= rtol * upper + floor))
    return found
