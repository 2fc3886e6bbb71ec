"""Quantities that add up over releases: what a bound on their sum says about the composition.

mu^2 for Gaussian releases, the number of equal releases, log moments at several orders, the largest loss. Each is a
price list for `cover`: a reward for touching a query at all, or a slope for every record in it. A cost that grows
faster than the number of records is replaced by the steepest chord from 0, which lies above it.

K(theta) = log E[e^(theta L); L finite], in the worse direction and nudged up past its rounding; `hidden` is -log(1 - r)
for the mass r that reveals everything; `largest` is the largest loss. All three add up over releases.

Reference: theory/granularity.md sections 3 (corollaries) and 4.5; theory/engine.md section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.accountant.moments import worst_moments
from quiltwork.compose.engines.characteristic import nudged
from quiltwork.compose.loss import Loss
from quiltwork.errors import QuiltworkError
from quiltwork.losses.families.gaussian import GaussianPrivacy
from quiltwork.losses.families.pure import Approximate, Pure
from quiltwork.losses.families.renyi import Renyi, ZeroConcentrated
from quiltwork.losses.family import Family
from quiltwork.numbers.rounding import UNIT
from quiltwork.tables.cover.programs import EFFORT
from quiltwork.tables.notions.sensitivity import Response
from quiltwork.tables.worst_step.vectors import Pricing

TILTS = 2.0 ** np.arange(-5, 9.25, 0.5)  # at which log moments are taken
PRICED = np.arange(4, TILTS.size - 2, 3)  # tilts for which a price list is made
MOST_STEPS = 4_096  # records up to which a chord is looked for one by one
Costs = tuple[FloatArray, FloatArray]


# ---- log moments of releases, once for each family


@attrs.frozen(eq=False)
class Moments:
    """K at TILTS (+inf where it is not known), -log(1 - reveal), and the largest loss."""

    logs: FloatArray
    hidden: float
    largest: float


NOTHING = Moments(np.zeros(TILTS.size), 0.0, 0.0)


@lru_cache(maxsize=8192)
def family_moments(family: Family) -> Moments:
    """The moments of one release."""
    known = family.log_moments(TILTS)
    if known is not None:
        logs = np.maximum(nudged(known[0]), 0.0)
        logs.setflags(write=False)
        return Moments(logs, 0.0, known[1] * (1 + 4 * UNIT))
    loss = Loss.of(family)
    largest = float(np.max(loss.epsilon(0.0).upper))
    try:
        moments, reveal = worst_moments(loss.parts)
        with np.errstate(all="ignore"):
            found = moments(TILTS)
    except (QuiltworkError, OverflowError):
        return Moments(np.full(TILTS.size, math.inf), 0.0, largest)
    logs = np.maximum(np.where(np.isnan(found), math.inf, found), 0.0)
    logs.setflags(write=False)
    return Moments(logs, -math.log1p(-min(reveal, 1 - UNIT)) * (1 + 4 * UNIT), largest)


def loss_moments(loss: Loss | None) -> Moments:
    """The moments of a composition."""
    if loss is None or not loss.parts:
        return NOTHING
    found = [(part.count, family_moments(part.family)) for part in loss.parts]
    logs = np.sum([count * one.logs for count, one in found], axis=0) * (1 + 1e-13)
    hidden = math.fsum(count * one.hidden for count, one in found) * (1 + 1e-13)
    return Moments(logs, hidden, math.fsum(count * one.largest for count, one in found) * (1 + 1e-13))


# ---- price lists


@attrs.frozen(eq=False)
class Quantity:
    """Price lists, the effort for each, and the loss that bounds on their totals amount to."""

    costs: tuple[Costs, ...]
    effort: int
    loss: Callable[[Sequence[float]], Loss]


def quantities(pricing: Pricing, responses: Sequence[Response], most: FloatArray) -> list[Quantity]:
    """Everything that bounds this plan; each is valid by itself."""
    families = [part.family for query in pricing.queries for part in query.loss.parts]
    if all(family.square is not None for family in families):
        return [_quadratic(pricing, responses, most)]
    equal = _equal(pricing, responses)
    if equal is not None:
        return [equal]
    found = [_moments(pricing, responses, most)]
    largest = _largest(pricing, responses, most)
    return found if largest is None else [*found, largest]


def _prices(cost: Callable[[int, float], float], responses: Sequence[Response], most: FloatArray) -> Costs:
    """Rewards where only being touched counts; the steepest chord from 0 where every record does."""
    reward, slope = np.zeros(len(responses)), np.zeros(len(responses))
    for i, found in enumerate(responses):
        if found.each == 0:
            reward[i] = cost(i, found.most)
            continue
        steps = int(min(most[i], MOST_STEPS))
        distances = {found.many(n): n for n in range(steps, 0, -1)}  # the fewest records for each distance
        rates = [cost(i, distance) / n for distance, n in distances.items()]
        if most[i] > steps:  # beyond, the chord from the far end: distances cannot pass what all records reach
            rates.append(cost(i, found.many(most[i])) / steps)
        slope[i] = max(rates) * (1 + 4 * UNIT)
    return reward, slope


def _quadratic(pricing: Pricing, responses: Sequence[Response], most: FloatArray) -> Quantity:
    """mu^2 = 2 rho adds: exactly for Gaussian releases, and for zCDP by definition."""

    def cost(query: int, distance: float) -> float:
        loss = pricing.at(query, distance)
        squares = [(part.count, part.family.square) for part in (loss.parts if loss is not None else ())]
        return math.fsum(math.inf if one is None else count * one for count, one in squares) * (1 + 4 * UNIT)

    concentrated = any(not part.family.has_pair for query in pricing.queries for part in query.loss.parts)

    def loss(totals: Sequence[float]) -> Loss:
        if concentrated:
            return Loss.of(ZeroConcentrated(totals[0] / 2))
        mu = math.sqrt(totals[0]) * (1 + 4 * UNIT)
        return Loss.of(GaussianPrivacy(mu)) if mu > 0 else Loss(())

    return Quantity((_prices(cost, responses, most),), EFFORT, loss)


def _equal(pricing: Pricing, responses: Sequence[Response]) -> Quantity | None:
    """All releases equal, each touched once or not at all: only their number matters, and it is whole."""
    if any(found.each for found in responses):
        return None
    kinds = {pricing.at(i, found.most) for i, found in enumerate(responses)}
    if len(kinds) != 1 or not all(pricing.symmetric):
        return None
    (kind,) = kinds
    if kind is None:
        return None
    return Quantity(
        ((np.ones(len(responses)), np.zeros(len(responses))),), EFFORT, lambda totals: math.floor(totals[0]) * kind
    )


def _moments(pricing: Pricing, responses: Sequence[Response], most: FloatArray) -> Quantity:
    """Log moments at several tilts, and the mass that reveals everything."""

    def moment(tilt: int) -> Callable[[int, float], float]:
        return lambda query, distance: float(loss_moments(pricing.at(query, distance)).logs[tilt])

    def hidden(query: int, distance: float) -> float:
        return loss_moments(pricing.at(query, distance)).hidden

    lists = [_prices(moment(tilt), responses, most) for tilt in map(int, PRICED)]
    usable = [k for k, sides in enumerate(lists) if all(bool(np.isfinite(side).all()) for side in sides)]
    reveals = _prices(hidden, responses, most)

    def loss(totals: Sequence[float]) -> Loss:
        return renyi_bound(TILTS[PRICED][usable], np.array(totals[:-1]), totals[-1])

    return Quantity((*(lists[k] for k in usable), reveals), 0, loss)


def renyi_bound(tilts: FloatArray, totals: FloatArray, hidden: float) -> Loss:
    """A loss above every composition with log moments at most `totals` and reveal mass R at most 1 - e^-hidden.

    D(eps) <= R + g(theta) e^(K - theta eps); dividing the moments by 1 - R makes this the bound of a Rényi-private
    release beside one that reveals with probability R.
    """
    if not tilts.size:
        return Loss.of(Approximate(0.0, 1.0))
    lifted = (totals + hidden + 1e-15) * (1 + 8 * UNIT)
    orders, epsilons = 1.0 + tilts, lifted / tilts * (1 + 4 * UNIT)
    found = Loss.of(Renyi(tuple(map(float, orders)), tuple(map(float, epsilons))))
    reveal = min(1.0, -math.expm1(-hidden) * (1 + 8 * UNIT))
    return found + Loss.of(Approximate(0.0, reveal)) if reveal > 0 else found


def _largest(pricing: Pricing, responses: Sequence[Response], most: FloatArray) -> Quantity | None:
    """The largest loss adds up when it is finite: the pure guarantee."""

    def cost(query: int, distance: float) -> float:
        return loss_moments(pricing.at(query, distance)).largest

    lists = _prices(cost, responses, most)
    if not all(np.isfinite(side).all() for side in lists):
        return None
    return Quantity((lists,), EFFORT, lambda totals: Loss.of(Pure(totals[0])))
