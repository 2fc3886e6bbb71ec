"""From releases and a question to certified ends: directions, sandwiches and Rényi bounds put together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.accountant import methods as route
from quiltwork.compose.accountant import moments as renyi
from quiltwork.compose.accountant.leave_out import Apart
from quiltwork.compose.accountant.solve import Declined
from quiltwork.compose.engines.engine import Engine
from quiltwork.compose.releases import Counted, Part, directed, is_open, is_renyi, refined, sandwiched, telling
from quiltwork.errors import InvalidParameter
from quiltwork.losses.transforms.transform import TooCostly
from quiltwork.numbers.rounding import UNIT

COARSEST, FINEST = 2.0**-4, 2.0**-20  # steps of a sandwich
CELLS, MOST_CELLS = 1 << 16, 1 << 21  # of its grid, for one release and for all of them
WIDE = 0.05  # relative width from which on the moments are asked as well
LEAST = 1e-300  # smaller numbers are reported as below this


@attrs.frozen(eq=False)
class Answer:
    """Certified ends for a flat array of questions."""

    lower: FloatArray
    upper: FloatArray
    method: str
    met: bool


Ask = Callable[[Counted], route.Answer]


def sides(parts: Sequence[Part], side: str, optimistic: bool = False) -> list[Counted]:
    """The tests to answer: one, or both directions, the one that usually decides first."""
    found = directed(parts, optimistic)
    if side != "worst":
        return [found.get(side) or found["both"]]
    return list(found.values())


def _checked(method: str | None) -> str | None:
    if method is not None and method not in route.METHODS:
        raise InvalidParameter("method", method, "one of " + ", ".join(map(repr, route.METHODS)))
    return method


def _run(ask: Ask, pairs: Counted, trivial: Callable[[Counted], tuple[FloatArray, FloatArray]]) -> route.Answer:
    """The routed answer; where it is wide, or every method declines, also what moments and parts of it certify."""
    try:
        low, high, name = ask(pairs)
    except Declined:
        with np.errstate(all="ignore"):
            return (*trivial(pairs), renyi.METHOD)
    with np.errstate(all="ignore"):
        if np.all((low == high) | (np.isfinite(high) & (high - low <= WIDE * high))):
            return low, high, name
        floor, roof = trivial(pairs)
    return np.maximum(low, np.minimum(floor, high)), np.minimum(high, np.maximum(roof, low)), name


def _wide_epsilon(delta: FloatArray) -> Callable[[Counted], tuple[FloatArray, FloatArray]]:
    def ends(pairs: Counted) -> tuple[FloatArray, FloatArray]:
        case = route.case_of(no_engine(), pairs)
        moments = renyi.pair_moments(pairs)
        upper = np.full(delta.size, case.top)
        if moments is not None:
            upper = np.fmin(upper, renyi.epsilon_bound(moments, case.reveal[1], delta))
        upper = np.where(delta < case.reveal[1], np.inf, upper)
        return _cut((np.zeros(delta.size), upper), pairs, lambda apart: apart.epsilon_ends(delta))

    return ends


def _wide_delta(epsilon: FloatArray) -> Callable[[Counted], tuple[FloatArray, FloatArray]]:
    def ends(pairs: Counted) -> tuple[FloatArray, FloatArray]:
        reveal = route.case_of(no_engine(), pairs).reveal
        moments = renyi.pair_moments(pairs)
        upper = np.ones(epsilon.size)
        if moments is not None:
            upper = np.fmin(upper, renyi.delta_bound(moments, reveal[1], epsilon))
        lower = np.maximum(-np.expm1(np.minimum(epsilon, 0.0)) * (1 - 4 * UNIT), reveal[0])
        return _cut((lower, upper), pairs, lambda apart: apart.delta_ends(epsilon))

    return ends


def _wide_beta(alpha: FloatArray) -> Callable[[Counted], tuple[FloatArray, FloatArray]]:
    def ends(pairs: Counted) -> tuple[FloatArray, FloatArray]:
        mirrored = [(pair.swapped(), count) for pair, count in pairs]
        both = [renyi.pair_moments(pairs), renyi.pair_moments(mirrored)]
        reveal = max(route.case_of(no_engine(), side).reveal[1] for side in (pairs, mirrored))
        lower: FloatArray = np.zeros(alpha.size)
        if all(moments is not None for moments in both):
            lower = renyi.beta_bound(renyi.larger([m for m in both if m is not None]), reveal, alpha)
        lower = np.minimum(lower, np.maximum(np.nextafter(1.0 - alpha, -1.0), 0.0))
        return _cut((lower, np.nextafter(1.0 - alpha, 2.0)), pairs, lambda apart: apart.beta_ends(alpha))

    return ends


def _cut(ends: route.Ends, pairs: Counted, ask: Callable[[Apart], route.Ends]) -> route.Ends:
    """The ends, and what leaving the rarely telling releases out adds to them."""
    found = Apart.of(pairs)
    if found is None:
        return ends
    low, high = ask(found)
    return np.maximum(ends[0], low), np.minimum(ends[1], high)


def _slack(parts: Sequence[Part]) -> float:
    """How far the optimistic polygons of sandwiched functions may lie below the functions, all releases together."""
    return math.fsum(part.count * part.family.slack for part in parts if part.family.sandwiched)


def _refining(parts: Sequence[Part], rtol: float, ask: Callable[[Sequence[Part]], Answer]) -> Answer:
    """The answer on finer and finer grids until it is as narrow as asked, or no longer gets narrower.

    A sandwich is second order in its step: the width so far tells whether half of it will do, or a quarter is needed.
    Very fine grids of many releases are too long for the exact engines; hence the coarse start.
    """
    step, finest = COARSEST, _finest(parts)
    best, idle = _named_step(ask(refined(parts, step)), step), 0
    while not best.met and step > finest and idle < 2:
        before = _widths(best)
        step = max(step / (2 if before.max() <= 4 * rtol else 4), finest)
        found = _named_step(ask(refined(parts, step)), step)
        lower, upper = np.maximum(best.lower, found.lower), np.minimum(best.upper, found.upper)
        best = Answer(lower, upper, found.method, found.met)
        after = _widths(best)
        best = attrs.evolve(best, met=found.met or bool(np.all(after <= rtol)))
        idle = 0 if np.any((after < 0.6 * before) & (before > rtol)) else idle + 1
    return attrs.evolve(best, lower=best.lower + 0.0)  # no negative zeros


def _named_step(answer: Answer, step: float) -> Answer:
    return attrs.evolve(answer, method=f"{answer.method}, sandwich step 1/{round(1 / step)}")


def _finest(parts: Sequence[Part]) -> float:
    """The finest step worth trying: a power of 2 that leaves one release CELLS grid points, many of them MOST_CELLS.

    The standard deviation of one loss is about a seventeenth of its range, and an engine looks at 20 of the total.
    """
    held = refined([part for part in parts if is_open(part)], COARSEST)
    widest = max(pair.high - pair.low for part in held for pair in part.family.pairs().values())
    count = sum(part.count for part in held)
    step = max(widest, COARSEST) * max(1 / CELLS, math.sqrt(count) / MOST_CELLS)
    return min(max(2.0 ** math.ceil(math.log2(step)), FINEST), COARSEST)


def _widths(answer: Answer) -> FloatArray:
    """Relative widths; 1 where nothing is known."""
    low, high = answer.lower, answer.upper
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(low == high, 0.0, np.where(np.isfinite(high), (high - low) / high, 1.0))


# ---- epsilon


def epsilon(parts: Sequence[Part], side: str, delta: FloatArray, rtol: float, method: str | None) -> Answer:
    """Smallest epsilon for each delta."""
    parts, method = telling(parts), _checked(method)
    if any(map(is_open, parts)):
        return _refining(parts, rtol, lambda held: epsilon(held, side, delta, rtol, method))
    lower, upper, name = np.zeros(delta.size), np.zeros(delta.size), "closed form"
    inner = (delta > 0) & (delta < 1)
    if parts and inner.any():
        lower[inner], upper[inner], name = _epsilon_inside(parts, side, delta[inner], rtol, method)
        lower, upper = np.maximum(lower, 0.0), np.maximum(upper, 0.0)  # a largest loss below 0 asks for no epsilon
    if parts and (delta == 0).any():
        possible = max(_top(pairs)[0] for pairs in sides(parts, side, optimistic=True))
        promised = math.inf if any(map(is_renyi, parts)) else max(_top(pairs)[1] for pairs in sides(parts, side))
        lower[delta == 0] = min(possible, promised) if not sandwiched(parts) else 0.0
        upper[delta == 0] = promised
    return Answer(lower, upper, name, route.width_met((lower, upper), rtol, 1e-9))


def _top(pairs: Counted) -> tuple[float, float]:
    """Ends of the smallest epsilon with delta = 0: the largest loss."""
    if any(pair.reveal > 0 for pair, _ in pairs):
        return math.inf, math.inf
    top = route.case_of(no_engine(), pairs).top
    if math.isinf(top):
        return top, top
    room = math.fsum(2 * count * pair.rounding for pair, count in pairs)
    return max(top * (1 - 16 * UNIT) - room, 0.0), max(top, 0.0)


def no_engine() -> Engine:
    from quiltwork.compose.engines.characteristic import ContourEngine

    return ContourEngine([])


def _epsilon_inside(
    parts: Sequence[Part], side: str, delta: FloatArray, rtol: float, method: str | None
) -> route.Answer:
    if any(map(is_renyi, parts)) and all(_known(pairs, delta) is None for pairs in sides(parts, side)):
        return _epsilon_renyi(parts, side, delta, rtol, method)

    def answer(sides: list[Counted], delta: FloatArray) -> route.Answer:
        first, *others = sides
        ask, wide = partial(route.epsilon, delta=delta, rtol=rtol, method=method), _wide_epsilon(delta)
        low, high, name = _known(first, delta) or _run(ask, first, wide)
        for pairs in others:
            if method is None and _ruled_out(pairs, delta, low):
                continue
            more = _known(pairs, delta) or _run(ask, pairs, wide)
            low, high = np.maximum(low, more[0]), np.maximum(high, more[1])
            name = _named(name, more[2])
        return low, high, name

    low, high, name = answer(sides(parts, side), delta)
    if sandwiched(parts):  # the lower end from what is possible, a little above the asked delta
        eased = delta + _slack(parts)
        possible = answer(sides(parts, side, optimistic=True), np.minimum(eased, 1.0 - UNIT))[0]
        low = np.where(eased < 1, np.minimum(low, possible), 0.0)
    return low, high, name


def _named(one: str, two: str) -> str:
    return one if one == two else f"{one} + {two}"


def _known(pairs: Counted, delta: FloatArray) -> route.Answer | None:
    """A release that reveals everything needs no engine."""
    if all(pair.reveal < 1 for pair, _ in pairs):
        return None
    ends = np.full(delta.size, math.inf)
    return ends, ends, "closed form"


def _ruled_out(pairs: Counted, delta: FloatArray, lower: FloatArray) -> bool:
    """Whether this direction's Chernoff bound is already below what the other direction is known to cost."""
    try:
        reveal = route.case_of(no_engine(), pairs).reveal[1]
        return bool(np.all(renyi.quick_epsilon_bound(pairs, reveal, delta, lower) <= lower * (1 - 1e-9)))
    except (TooCostly, OverflowError):
        return False


def _below_already(pairs: Counted, epsilon: FloatArray, lower: FloatArray) -> np.ndarray:
    """Where this direction's Chernoff bound on delta is already below what the other direction is known to cost."""
    try:
        reveal = route.case_of(no_engine(), pairs).reveal[1]
        return renyi.quick_delta_bound(pairs, reveal, epsilon) <= lower * (1 - 1e-9)
    except (TooCostly, OverflowError):
        return np.zeros(epsilon.size, dtype=bool)


def _epsilon_renyi(
    parts: Sequence[Part], side: str, delta: FloatArray, rtol: float, method: str | None
) -> route.Answer:
    lower, upper = np.zeros(delta.size), np.zeros(delta.size)
    for direction, pairs in directed(parts, optimistic=True).items():
        if side in ("worst", direction) or direction == "both":
            moments, reveal = renyi.composed_moments(parts, direction)
            upper = np.maximum(upper, renyi.epsilon_bound(moments, reveal, delta, renyi.listed_tilts(parts)))
            eased = np.minimum(delta + _slack(parts), 1.0 - UNIT)
            ask = partial(route.epsilon, delta=eased, rtol=rtol, method=method)
            lower = np.maximum(lower, _run(ask, pairs, _wide_epsilon(eased))[0])
    return np.minimum(lower, upper), upper, renyi.METHOD


# ---- delta


def delta(parts: Sequence[Part], side: str, epsilon: FloatArray, rtol: float, method: str | None) -> Answer:
    """Hockey-stick divergence at each epsilon."""
    parts, method = telling(parts), _checked(method)
    if any(map(is_open, parts)):
        return _refining(parts, rtol, lambda held: delta(held, side, epsilon, rtol, method))
    lower = np.where(epsilon == -np.inf, 1.0, np.maximum(-np.expm1(np.minimum(epsilon, 0.0)), 0.0))
    upper, name = lower.copy(), "closed form"
    inner = np.isfinite(epsilon)
    if parts and inner.any():
        lower[inner], upper[inner], name = _delta_inside(parts, side, epsilon[inner], rtol, method)
    if parts and (epsilon == np.inf).any():
        ends = [route.case_of(no_engine(), pairs).reveal for pairs in sides(parts, side)]
        optimistic = [route.case_of(no_engine(), pairs).reveal for pairs in sides(parts, side, optimistic=True)]
        lower[epsilon == np.inf] = max(low for low, _ in optimistic)
        upper[epsilon == np.inf] = max(high for _, high in ends)
    return Answer(lower, upper, name, route.width_met((lower, upper), rtol, 1e-290))


def _delta_inside(
    parts: Sequence[Part], side: str, epsilon: FloatArray, rtol: float, method: str | None
) -> route.Answer:
    def answer(sides: list[Counted]) -> route.Answer:
        low, high, name = np.zeros(epsilon.size), np.zeros(epsilon.size), ""
        for pairs in sides:
            if any(pair.reveal >= 1 for pair, _ in pairs):
                return np.ones(epsilon.size), np.ones(epsilon.size), "closed form"
            open_ = np.ones(epsilon.size, dtype=bool)
            if name and method is None:
                open_ = ~_below_already(pairs, epsilon, low)
            if not open_.any():
                continue
            at = epsilon[open_]
            more = _run(partial(route.delta, epsilon=at, rtol=rtol, method=method), pairs, _wide_delta(at))
            low[open_], high[open_] = np.maximum(low[open_], more[0]), np.maximum(high[open_], more[1])
            name = _named(name, more[2]) if name else more[2]
        return low, high, name

    low, high, name = answer(sides(parts, side))
    if sandwiched(parts):
        low = np.minimum(low, answer(sides(parts, side, optimistic=True))[0] - _slack(parts))
        low = np.maximum(low, -np.expm1(np.minimum(epsilon, 0.0)) * (1 - 4 * UNIT))
    if any(map(is_renyi, parts)):
        # for eps < 0, D(t) = 1 - t + t D'(1/t) with the worlds exchanged: hence the worse direction for both signs
        at = renyi.delta_bound(*renyi.worst_moments(parts), np.abs(epsilon), renyi.listed_tilts(parts))
        t = np.exp(np.minimum(epsilon, 0.0))
        high = np.maximum(low, np.where(epsilon < 0, 1.0 - t * (1.0 - at), at) * (1 + 4 * UNIT))
        name = renyi.METHOD
    return low, np.minimum(high, 1.0), name


# ---- beta


def beta(parts: Sequence[Part], side: str, alpha: FloatArray, method: str | None) -> Answer:
    """Trade-off function at each alpha: the smaller of the two directions."""
    parts, method = telling(parts), _checked(method)
    if any(map(is_open, parts)):
        return _refining(parts, 1e-3, lambda held: beta(held, side, alpha, method))
    perfect = np.nextafter(1.0 - alpha, -1.0), np.nextafter(1.0 - alpha, 2.0)
    if not parts:
        return Answer(np.maximum(perfect[0], 0.0), np.minimum(perfect[1], 1.0), "closed form", True)

    def answer(sides: list[Counted]) -> route.Answer:
        low, high, name = np.ones(alpha.size), perfect[1], ""
        for pairs in sides:
            if any(pair.reveal >= 1 for pair, _ in pairs):
                more: route.Answer = (np.zeros(alpha.size), np.zeros(alpha.size), "closed form")
            else:
                more = _run(lambda p: route.beta(p, alpha, method), pairs, _wide_beta(alpha))
            low, high = np.minimum(low, more[0]), np.minimum(high, more[1])
            name = _named(name, more[2]) if name else more[2]
        return low, high, name

    low, high, name = answer(sides(parts, side))
    if sandwiched(parts):
        possible = answer(sides(parts, side, optimistic=True))[1] + _slack(parts)
        high = np.minimum(np.maximum(high, possible), perfect[1])
    if any(map(is_renyi, parts)):
        low = np.minimum(low, renyi.beta_bound(*renyi.worst_moments(parts), alpha))
        name = renyi.METHOD
    low, high = np.where(low < LEAST, 0.0, low), np.where((high > 0) & (high < LEAST), LEAST, high)
    return Answer(low, high, name, bool(np.all(high - low <= 1e-3 * high + LEAST)))
