"""Compositions with Rényi bounds: log moments add, then convert once.

For every theta > 0, D(eps) <= g(theta) e^(K(theta) - theta eps), g(theta) = (theta/(1+theta))^theta / (1+theta).
Any theta is valid, so a grid search costs tightness only. The same inequality is a cheap certified upper bound for any
composition whose moments are known.

Reference: Canonne, Kamath and Steinke 2020, Proposition 12; theory/engine.md section 2 (the factor G_max).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.accountant.cell_moments import log_moment_ends
from quiltwork.compose.engines.characteristic import ContourEngine, log_peak, nudged
from quiltwork.compose.releases import Counted, Known, Part, directed, is_renyi, mirrored, slackened, telling
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.families.exponential import AttainedRangePair, BoundedRangePair, worst_range_moment
from quiltwork.losses.families.mixture import MixturePair
from quiltwork.losses.families.renyi import Renyi, RenyiFamily
from quiltwork.losses.families.sampling.fixed_size import SymmetrisedPair
from quiltwork.losses.transforms.transform import TooCostly
from quiltwork.numbers.rounding import UNIT

METHOD = "Rényi moments"
RANGES = (BoundedRangePair, AttainedRangePair)  # whose divergence is the same number from both sides
COARSE = np.geomspace(1e-4, 1e6, 121)
NO_TILTS = np.zeros(0)
NEAR_ONE = 1e-4  # orders so near to 1 are bounded by those this far away
BESIDE_ONE = (NEAR_ONE, 30 * NEAR_ONE)  # a tiny divergence keeps more digits farther away
LogMoments = Callable[[FloatArray], FloatArray]


def pair_moments(pairs: Counted) -> LogMoments | None:
    """K of pairs, nudged up past its rounding; +inf where it overflows. None when some pair has no transform.

    A symmetrised pair has at most the moment M_R + M_A - 1 of the pair it is made of and of that one's swap: of each
    loss -x < 0, of P mass p and Q mass p e^x, it leaves out p (e^(-tx) - 1) + p e^x (e^(tx) - 1) >= 0.
    """
    engine = ContourEngine.of(pairs)
    if engine is None:
        return _symmetrised_moments(pairs)

    def moments(theta: FloatArray) -> FloatArray:
        found = np.full(theta.size, np.inf)
        for i in range(0, theta.size, 8):  # tilts rise: stop where they become too costly
            try:
                with np.errstate(all="ignore"):
                    found[i : i + 8] = engine.moments(theta[i : i + 8])[0]
            except TooCostly:
                break
        return nudged(found, engine.room(theta))

    return moments


def _symmetrised_moments(pairs: Counted) -> LogMoments | None:
    known: list[tuple[LogMoments, LogMoments, int]] = []
    for pair, count in pairs:
        if not isinstance(pair, SymmetrisedPair):
            return None
        removed, added = pair_moments([(pair.removed, 1)]), pair_moments([(pair.added, 1)])
        if removed is None or added is None:
            return None
        known.append((removed, added, count))

    def moments(theta: FloatArray) -> FloatArray:
        logs = [count * np.log1p(np.expm1(one(theta)) + np.expm1(two(theta))) for one, two, count in known]
        return np.asarray(np.sum(logs, axis=0) * (1 + 16 * UNIT))

    return moments


def plain_moments(pairs: Counted) -> LogMoments | None:
    """Bounds of K from above in closed form; None where they tell nothing."""
    if not all(math.isfinite(pair.log_moment_bounds(1.0)[1]) for pair, _ in pairs) or Known.of(pairs).reveal[1] > 0:
        return None

    def moments(theta: FloatArray) -> FloatArray:
        bounds = [math.fsum(count * pair.log_moment_bounds(one)[1] for pair, count in pairs) for one in theta.tolist()]
        return np.array(bounds) * (1 + 4 * UNIT)

    return moments


def epsilon_ends(pairs: Counted, delta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What moments, reveal mass and largest loss alone certify of the smallest epsilon."""
    known, log_mgf = Known.of(pairs), pair_moments(pairs)
    upper = np.full(delta.size, max(known.top, 0.0))  # a largest loss below 0 asks for no epsilon
    if log_mgf is not None:
        upper = np.fmin(upper, np.maximum(epsilon_bound(log_mgf, known.reveal[1], delta), 0.0))
    return np.zeros(delta.size), np.where(delta < known.jump[1], np.inf, upper)


def delta_ends(pairs: Counted, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What they certify of the hockey-stick divergence."""
    reveal, log_mgf, upper = Known.of(pairs).reveal, pair_moments(pairs), np.ones(epsilon.size)
    if log_mgf is not None:
        upper = np.fmin(upper, delta_bound(log_mgf, reveal[1], epsilon))
    return np.maximum(least_divergence(epsilon), reveal[0]), upper


def beta_ends(pairs: Counted, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What they certify of the trade-off function, both directions together."""
    both = [pair_moments(pairs), pair_moments(mirrored(pairs))]
    lower: FloatArray = np.zeros(alpha.size)
    if all(log_mgf is not None for log_mgf in both):
        reveal = max(Known.of(one).reveal[1] for one in (pairs, mirrored(pairs)))
        lower = beta_bound(larger([log_mgf for log_mgf in both if log_mgf is not None]), reveal, alpha)
    lower = np.minimum(lower, np.maximum(np.nextafter(1.0 - alpha, -1.0), 0.0))
    return lower, np.nextafter(1.0 - alpha, 2.0)


def least_divergence(epsilon: FloatArray) -> FloatArray:
    """1 - e^epsilon, which every divergence reaches, a few roundings below."""
    floor: FloatArray = -np.expm1(np.minimum(epsilon, 0.0)) * (1 - 4 * UNIT)
    return floor


def composed_moments(parts: Sequence[Part], direction: str) -> tuple[LogMoments, float]:
    """K of everything, and the reveal mass of the parts that have a pair."""
    others = directed([part for part in parts if not is_renyi(part)])
    pairs = others.get(direction) or others.get("both") or []
    known = pair_moments(pairs) if pairs else None
    reveal = Known.of(pairs).reveal[1] if pairs else 0.0
    bounds = [(part.family, part.count) for part in parts if isinstance(part.family, RenyiFamily)]

    def moments(theta: FloatArray) -> FloatArray:
        total = sum((count * family.log_mgf_bound(theta) for family, count in bounds), np.zeros(theta.size))
        total = total * (1 + 1e-14)
        if not pairs:
            return total
        return total + known(theta) if known is not None else np.full(theta.size, np.inf)

    return moments, reveal


def worst_moments(parts: Sequence[Part]) -> tuple[LogMoments, float]:
    """The larger K of both directions, and the larger reveal mass: valid whichever way the worlds are ordered."""
    found = [composed_moments(parts, direction) for direction in directed(parts)]
    return larger([moments for moments, _ in found]), max(reveal for _, reveal in found)


def larger(several: Sequence[LogMoments]) -> LogMoments:
    """The pointwise maximum of several K."""

    def moments(theta: FloatArray) -> FloatArray:
        largest: FloatArray = np.max([one(theta) for one in several], axis=0)
        return largest

    return moments


def listed_tilts(parts: Sequence[Part]) -> FloatArray:
    """Orders minus one at which some part states its bound: between them the bound is only a chord."""
    orders = {order for part in parts if isinstance(part.family, Renyi) for order in part.family.orders}
    return np.array(sorted(order - 1.0 for order in orders))


def epsilon_bound(moments: LogMoments, reveal: float, delta: FloatArray, listed: FloatArray = NO_TILTS) -> FloatArray:
    """min over theta of (K + log g - log(delta - reveal)) / theta, at least 0, rounded up."""
    with np.errstate(all="ignore"):
        target = np.where(delta > reveal, np.log(np.maximum(delta - reveal * (1 + 1e-15), 1e-320)), -np.inf)

        def bound(theta: FloatArray) -> FloatArray:
            return (moments(theta) + log_peak(theta))[None, :] / theta - target[:, None] / theta

        best = _refined(bound, listed)
    best = np.maximum(best + 1e-12 * (1 + np.abs(best)), 0.0)
    return np.where(delta > reveal, best, np.inf)


def delta_bound(moments: LogMoments, reveal: float, epsilon: FloatArray, listed: FloatArray = NO_TILTS) -> FloatArray:
    """min over theta of g e^(K - theta eps), plus the reveal mass, at most 1, rounded up."""

    def bound(theta: FloatArray) -> FloatArray:
        return (moments(theta) + log_peak(theta))[None, :] - np.multiply.outer(epsilon, theta)

    with np.errstate(all="ignore"):
        best = _refined(bound, listed)
    bound_at = np.exp(np.minimum(best + 1e-12 * (1 + np.abs(best)), 0.0)) + reveal
    value: FloatArray = np.clip(bound_at, 1e-300, 1.0)  # never a zero that is only an underflow
    return value


def _refined(bound: Callable[[FloatArray], FloatArray], listed: FloatArray) -> FloatArray:
    """The least value over the listed and a coarse grid of tilts, then over a fine one around each minimiser."""
    values = bound(COARSE)
    values = np.where(np.isnan(values), np.inf, values)
    best: FloatArray = values.min(axis=1)
    ratio = COARSE[1] / COARSE[0]
    for at in np.unique(values.argmin(axis=1)):
        fine = COARSE[at] * ratio ** np.linspace(-1.0, 1.0, 33)
        found = bound(fine)
        best = np.minimum(best, np.where(np.isnan(found), np.inf, found).min(axis=1))
    if listed.size:
        found = bound(listed)
        best = np.minimum(best, np.where(np.isnan(found), np.inf, found).min(axis=1))
    return best


def beta_bound(moments: LogMoments, reveal: float, alpha: FloatArray) -> FloatArray:
    """max over eps >= 0 of 1 - D - e^eps alpha and of its mirror e^-eps (1 - D - alpha), never below 0."""
    epsilon = np.concatenate((np.linspace(0.0, 2.0, 101), np.geomspace(2.0, 400.0, 200)))
    kept = 1.0 - delta_bound(moments, reveal, epsilon)
    with np.errstate(over="ignore"):
        right = kept[:, None] - np.exp(epsilon)[:, None] * alpha[None, :]
        left = np.exp(-epsilon)[:, None] * (kept[:, None] - alpha[None, :])
    best = np.maximum(right.max(axis=0), left.max(axis=0))
    bound: FloatArray = np.maximum(best * (1 - 1e-12) - 1e-15, 0.0)
    return bound


def renyi_ends(parts: Sequence[Part], side: str, order: float) -> tuple[float, float]:
    """Ends of the Rényi divergence log M(order - 1) / (order - 1) of the worse direction.

    It rises with the order: near order 1, where the quotient loses its digits, orders beside it bound it.
    """
    parts = telling(parts)
    if not parts:
        return 0.0, 0.0
    if order == np.inf:
        upper = max(_tops(parts, side))
        return (0.0 if slackened(parts) else min(max(_tops(parts, side, optimistic=True)), upper)), upper
    lower = max(_divergence(pairs, order, -1) for pairs in _sides(parts, side, optimistic=True))
    if any(map(is_renyi, parts)):
        theta = np.array([max(order - 1.0, NEAR_ONE)])
        found = [composed_moments(parts, name) for name in directed(parts) if side in ("worst", name) or name == "both"]
        upper = max(float((log_mgf(theta) / theta)[0]) if not reveal else np.inf for log_mgf, reveal in found)
    else:
        upper = max(_divergence(pairs, order, 1) for pairs in _sides(parts, side))
    tilt = max(order - 1.0, NEAR_ONE)
    if order > 1 - NEAR_ONE and not all(part.family.has_moment(tilt) for part in parts):
        upper = np.inf  # a table that ends somewhere has the divergence of the whole law only at low orders
    upper = min(upper, max(_tops(parts, side)))
    return max(min(lower, upper), 0.0), upper


def _sides(parts: Sequence[Part], side: str, optimistic: bool = False) -> list[Counted]:
    found = directed(parts, optimistic)
    return list(found.values()) if side == "worst" else [found.get(side) or found["both"]]


def _tops(parts: Sequence[Part], side: str, optimistic: bool = False) -> list[float]:
    """The largest loss of each direction; a full reveal, or a bound on moments alone, leaves it open."""
    if any(map(is_renyi, parts)) and not optimistic:
        return [np.inf]
    known = [Known.of(pairs) for pairs in _sides(parts, side, optimistic)]
    return [np.inf if one.reveal[0] > 0 else one.plain_top if optimistic else one.top for one in known]


def _divergence(pairs: Counted, order: float, outward: int) -> float:
    """One end for one direction: `outward` is 1 for the upper and -1 for the lower one."""
    known = Known.of(pairs)
    if order >= 1 and known.reveal[1] > 0:
        return np.inf if outward > 0 or known.reveal[0] > 0 else 0.0
    theta = order - 1.0
    if abs(theta) < NEAR_ONE and not known.reveal[1] > 0:  # with reveal mass orders above 1 bound nothing
        best: Callable[..., float] = min if outward > 0 else max
        return best(_quotient(pairs, outward * tilt, outward) for tilt in BESIDE_ONE)
    return _quotient(pairs, theta, outward)


def _quotient(pairs: Counted, theta: float, outward: int) -> float:
    """log M / theta, moved outward."""
    up = outward * theta > 0  # which end of the moment gives this end of the divergence
    log_mgf = math.fsum(_log_moment(pair, count, theta, up) for pair, count in pairs)
    return log_mgf / theta if np.isfinite(log_mgf) else np.inf if outward > 0 else 0.0


def _joined(logs: Sequence[tuple[float, float]], up: bool) -> float:
    """log of a weighted sum of moments, outward."""
    value = float(np.logaddexp.reduce([math.log(weight) + log for weight, log in logs]))
    size = 8 * len(logs) + 8 * max(abs(log) for _, log in logs)
    return value + (1 if up else -1) * UNIT * (size + 32)


def _log_moment(pair: Pair, count: int, theta: float, up: bool) -> float:
    """One end of log E_P[e^(theta L)] of `count` releases: from the transform, or from cells where there is none."""
    if isinstance(pair, RANGES):
        value = worst_range_moment(pair.top, theta)
        room = 16 * UNIT * (abs(value) + abs(theta) * pair.top)
        return count * (value + room if up else value - room)
    ranges = isinstance(pair, MixturePair) and any(isinstance(part, RANGES) for _, part in pair.parts)
    engine = None if ranges else ContourEngine.of([(pair, count)])
    if engine is None and isinstance(pair, MixturePair):
        return count * _joined([(w, _log_moment(part, 1, theta, up)) for w, part in pair.parts], up)
    if engine is None and isinstance(pair, SymmetrisedPair) and theta > 0:
        # beside the positive losses of the sampled pair less than 1 is added, and less than 1 taken off
        sampled, cells = _log_moment(pair.removed, 1, theta, up), log_moment_ends(pair, theta)[up]
        if up:
            return count * min(cells, float(np.logaddexp(sampled, 0.0)) * (1 + 4 * UNIT) + 4 * UNIT)
        return count * max(cells, sampled + math.log1p(-math.exp(-sampled)) - 4 * UNIT if sampled > 1 else 0.0)
    if engine is None:
        return count * log_moment_ends(pair, theta)[up]
    try:
        with np.errstate(all="ignore"):
            log_mgf = float(engine.moments(np.array([theta]))[0][0])
            room = float(np.abs(engine.room(np.array([abs(theta)]))[0])) + 1e-11 * (1 + abs(log_mgf))
    except TooCostly:
        return math.nan
    return log_mgf + room if up else log_mgf - room
