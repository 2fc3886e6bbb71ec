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
from quiltwork.compose.accountant.methods import case_of
from quiltwork.compose.engines.characteristic import ContourEngine
from quiltwork.compose.engines.engine import landmarks, tilt_for_epsilon
from quiltwork.compose.releases import Part, directed, is_renyi
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.families.renyi import Renyi, RenyiFamily
from quiltwork.losses.transforms.transform import TooCostly
from quiltwork.numbers.rounding import UNIT

METHOD = "Rényi moments"
COARSE = np.geomspace(1e-4, 1e6, 121)
NO_TILTS = np.zeros(0)
LogMoments = Callable[[FloatArray], FloatArray]


def log_peak(theta: FloatArray) -> FloatArray:
    """log of max over y of e^(-theta y)(1 - e^-y)+."""
    # log theta - log(1 + theta) = -log(1 + 1 / theta), without the cancellation that a large theta would magnify
    value: FloatArray = -theta * np.log1p(1.0 / theta) - np.log1p(theta)
    return value


def pair_moments(parts: Sequence[tuple[Pair, int]]) -> LogMoments | None:
    """K of pairs, nudged up past its rounding; +inf where it overflows. None when some pair has no transform."""
    engine = ContourEngine.of(parts)
    if engine is None:
        return None
    room = _room(parts)

    def moments(theta: FloatArray) -> FloatArray:
        found = np.full(theta.size, np.inf)
        for i in range(0, theta.size, 8):  # tilts rise: stop where they become too costly
            try:
                with np.errstate(all="ignore"):
                    found[i : i + 8] = engine.moments(theta[i : i + 8])[0]
            except TooCostly:
                break
        return nudged(found, room(theta))

    return moments


def nudged(log_mgf: FloatArray, room: FloatArray | float = 0.0) -> FloatArray:
    """Past the rounding of computed moments, and this much more; +inf stays, NaN becomes +inf."""
    return np.where(np.isfinite(log_mgf), log_mgf + 1e-11 * (1 + np.abs(log_mgf)) + room, np.inf)


def _room(parts: Sequence[tuple[Pair, int]]) -> Callable[[FloatArray], FloatArray]:
    """How far rounded losses and masses may move K at each theta.

    A loss that is off by r moves K by theta r, and each release counts: for laws that hardly differ, whose tilts are
    large, this is more than the rounding of K itself.
    """
    losses = math.fsum(count * pair.rounding for pair, count in parts)
    listed = [(pair, count) for pair, count in parts if isinstance(pair, FinitePair)]
    masses = math.fsum(4 * UNIT * count * (8 + min(float(np.abs(pair.log_p).max()), 745.0)) for pair, count in listed)
    return lambda theta: masses + theta * losses


def quick_epsilon_bound(
    parts: Sequence[tuple[Pair, int]], reveal: float, delta: FloatArray, near: FloatArray
) -> FloatArray:
    """The same bound from one row of tilts, laid out for epsilons near the given ones: cheap, good to compare."""
    engine = ContourEngine.of(parts)
    if engine is None or bool((delta <= reveal).any()) or not bool(np.all((near > 0) & np.isfinite(near))):
        return np.full(delta.size, np.inf)
    room = np.log(delta - reveal * (1 + 1e-15))
    ends = np.unique((-room / near)[[int(np.argmin(delta)), int(np.argmax(delta))]])
    theta = np.multiply.outer(ends, [0.4, 0.6, 0.8, 1.0, 1.3, 1.6, 2.0, 2.5]).ravel()
    found = (nudged(engine.moments(theta)[0], _room(parts)(theta)) + log_peak(theta))[None, :] - room[:, None]
    best: FloatArray = (found / theta).min(axis=1)
    return np.maximum(best + 1e-12 * (1 + np.abs(best)), 0.0)


def quick_delta_bound(parts: Sequence[tuple[Pair, int]], reveal: float, epsilon: FloatArray) -> FloatArray:
    """A Chernoff bound on delta from a few tilts between those of the least and of the greatest epsilon asked."""
    engine = ContourEngine.of(parts)
    if engine is None:
        return np.ones(epsilon.size)
    place = landmarks(engine)
    first, last = (tilt_for_epsilon(engine, place, float(e)) for e in (epsilon.min(), epsilon.max()))
    theta = np.geomspace(first, max(last, 1.0001 * first), 5 if epsilon.size == 1 else 16)
    moments = nudged(engine.moments(theta)[0], _room(parts)(theta))
    logs = (moments + log_peak(theta))[None, :] - np.multiply.outer(epsilon, theta)
    bound: FloatArray = np.minimum(np.exp(np.minimum(logs.min(axis=1), 0.0)) * (1 + 1e-9) + reveal, 1.0)
    return bound


def composed_moments(parts: Sequence[Part], direction: str) -> tuple[LogMoments, float]:
    """K of everything, and the reveal mass of the parts that have a pair."""
    others = directed([part for part in parts if not is_renyi(part)])
    pairs = others.get(direction) or others.get("both") or []
    known = pair_moments(pairs) if pairs else None
    reveal = case_of(ContourEngine([]), pairs).reveal[1] if pairs else 0.0
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
