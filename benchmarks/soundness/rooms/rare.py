"""Up to three Gaussian releases on small samples, alone or beside another: large losses counted apart, by integrals.

delta_k(e) = E_P delta_(k-1)(e - L), by Gauss and Legendre on panels that shrink towards the places where delta_(k-1)
bends, with closed forms at the bottom. More panels say how well the number is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, Skip, ends, inside
from quiltwork.compose.engines.engine import Declined
from quiltwork.compose.engines.rare_losses import JumpEngine
from quiltwork.compose.releases import directed
from quiltwork.losses.transforms.transform import TooCostly

NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
NEAR, ROUNDING = 1e-9, 4e-16  # of an integral in doubles, relative and absolute
SEEN = 1e-12  # smaller truths have too few digits
LARGEST = 700.0  # exponent
ROUTED = 2  # epsilons for the router, whose last resort is slow
Profile = Callable[[np.ndarray], np.ndarray]


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """Noise from narrow to wide, any small rate, epsilons from the usual loss to the largest."""
    sigma = float(10.0 ** rng.uniform(-1.45, 0.9))
    rate = float(10.0 ** rng.uniform(-10, -1.31)) if rng.random() < 0.8 else float(rng.uniform(0.01, 0.0499))
    other = str(rng.choice(["none", "none", "gaussian", "laplace", "response", "sampled"]))
    nested = rng.random() < 0.2  # a double integral takes a second
    count = (3 if nested else int(rng.integers(1, 3))) if other == "none" else 1 + nested
    reach = count * _loss(sigma, rate, np.array([1 + 6 * sigma]))[0]
    epsilons = np.concatenate((
        rate * rng.normal(size=3), -(10.0 ** rng.uniform(-6, 0, 1)), 10.0 ** rng.uniform(np.log10(rate), 0, 4),
        reach * rng.uniform(0, 1, 4),
    ))  # fmt: skip
    epsilons = rng.permutation(epsilons)[: 1 if nested else 12]
    return {
        "sigma": sigma, "rate": rate, "count": count, "other": other, "size": float(10.0 ** rng.uniform(-3, 0.7)),
        "small": float(10.0 ** rng.uniform(-9, -1.31)), "epsilons": epsilons.tolist(),
    }  # fmt: skip


def compared(case: dict[str, Any]) -> Iterator[Check | Skip]:
    """The method alone, and whatever the library answers with."""
    sigma, rate, count, epsilons = (case[name] for name in ("sigma", "rate", "count", "epsilons"))
    if not (sigma > 0.02 and 0 < rate < 0.05 and 1 <= count <= 3 and case["size"] > 0 and 0 < case["small"] < 0.05):
        return
    other, profile, bends = _beside(case)
    one = count * qw.poisson(qw.gaussian(sigma), rate)
    loss = (one if other is None else qw.compose(one, other)).direction("remove")
    parts = directed(loss.parts)["remove"]
    found = [("router", list(ends(loss.delta(np.array(epsilons[:ROUTED])))))]
    try:
        alone = JumpEngine(parts).delta(np.array(epsilons), 1e-3)
        found.append(("jumps", list(zip(alone.lower.tolist(), alone.upper.tolist(), strict=True))))
    except (TooCostly, Declined):
        yield Skip("the method declines")
    for index, place in enumerate(epsilons):
        value, again = (_composed(sigma, rate, count, profile, bends, place, finer) for finer in (1.0, 1.4))
        room = NEAR * value + ROUNDING * (1 + abs(place)) + 4 * abs(value - again)
        if value < SEEN or room > 1e-6 * value:
            yield Skip("no truth")
            continue
        for name, answers in found:
            title = f"sampled x {count} beside {case['other']}, {name}"
            for lower, upper in answers[index : index + 1]:
                yield inside(title, lower, value - room, value + room, upper, f"epsilon {place!r}")


def _beside(case: dict[str, Any]) -> tuple[Any, Profile, tuple[float, ...]]:
    """The other release, its profile, and the epsilons where that bends."""
    size, small = case["size"], case["small"]
    if case["other"] == "gaussian":
        return qw.gaussian(1 / size), lambda e: _gaussian(size, e), (0.0, -2 * size, 2 * size)
    if case["other"] == "laplace":
        return qw.laplace(1 / size), lambda e: _laplace(size, e), (-size, size)
    if case["other"] == "response":
        return qw.approximate(size, small), lambda e: _response(size, small, e), (-size, size)
    if case["other"] == "sampled":
        sigma = max(size, 0.05)
        return (
            qw.poisson(qw.gaussian(sigma), small),
            lambda e: _sampled(sigma, small, e),
            (math.log1p(-small), 0.0),
        )
    return None, lambda e: np.maximum(-np.expm1(np.minimum(e, 1.0)), 0.0), (0.0,)


def _gaussian(mu: float, epsilon: np.ndarray) -> np.ndarray:
    second = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    return np.asarray(ndtr(mu / 2 - epsilon / mu) - np.exp(np.minimum(second, 0.0)))


def _laplace(top: float, epsilon: np.ndarray) -> np.ndarray:
    inner = np.maximum(-np.expm1(np.minimum(epsilon - top, 0.0) / 2), 0.0)
    return np.where(epsilon <= -top, -np.expm1(np.minimum(epsilon, 0.0)), inner)


def _response(top: float, reveal: float, epsilon: np.ndarray) -> np.ndarray:
    up = 1 / (1 + math.exp(-top))
    high, low = (-np.expm1(np.minimum(epsilon - at, 0.0)) for at in (top, -top))
    return reveal + (1 - reveal) * (up * high + (1 - up) * low)


def _sampled(sigma: float, rate: float, epsilon: np.ndarray) -> np.ndarray:
    """One sampled Gaussian: q D_0 at the base's epsilon."""
    grown = np.expm1(np.minimum(epsilon, LARGEST)) + rate
    base = np.log(np.maximum(grown, 1e-320) / rate) + np.maximum(epsilon - LARGEST, 0.0)
    return np.where(grown > 0, rate * _gaussian(1 / sigma, base), -np.expm1(np.minimum(epsilon, 0.0)))


def _loss(sigma: float, rate: float, outcome: np.ndarray) -> np.ndarray:
    base = (2 * outcome - 1) / (2 * sigma**2)
    near = np.log1p(rate * np.expm1(np.minimum(base, 600.0)))
    return np.where(base > 600.0, math.log(rate) + base, near)


def _outcomes(sigma: float, rate: float, bends: tuple[float, ...], finer: float) -> tuple[np.ndarray, np.ndarray]:
    """Losses and P masses at the nodes of all panels."""
    low, high = -9.5 * sigma, 1 + 9.5 * sigma
    edges = [np.linspace(low, high, int(2 + 1.6 * finer * (high - low) / sigma))]
    for bend in bends:
        grown = math.expm1(min(bend, LARGEST)) + rate
        if grown <= 0:
            continue
        at = sigma**2 * (math.log(grown / rate) + max(bend - LARGEST, 0.0)) + 0.5
        least = max(1e-3 * rate, 1e-15) if bend > 10 * rate else 1e-4
        off = sigma**2 * np.geomspace(least, 8.0, int(4 + finer * math.log10(8 / least)))
        edges += [at + off, at - off, np.array([at])]
    cuts = np.unique(np.clip(np.concatenate(edges), low, high))
    half = np.diff(cuts) / 2
    x = (cuts[:-1, None] + half[:, None] * (1 + NODES)).ravel()
    density = (1 - rate) * np.exp(-(x**2) / (2 * sigma**2)) + rate * np.exp(-((x - 1) ** 2) / (2 * sigma**2))
    return _loss(sigma, rate, x), (half[:, None] * WEIGHTS).ravel() * density / (sigma * math.sqrt(2 * math.pi))


def _composed(
    sigma: float, rate: float, count: int, profile: Profile, bends: tuple[float, ...], epsilon: float, finer: float
) -> float:
    """The profile of that many sampled releases and of the other one; alone, the last is in closed form."""
    alone = bends == (0.0,)
    if alone and count == 1:
        return float(_sampled(sigma, rate, np.array([epsilon]))[0])
    least = (count - 1) * math.log1p(-rate)
    ahead = tuple(epsilon - bend for bend in ((least, 0.0) if alone else (b + x for b in bends for x in (0.0, least))))
    loss, mass = _outcomes(sigma, rate, ahead, finer)
    if count == (2 if alone else 1):
        inner = _sampled(sigma, rate, epsilon - loss) if alone else profile(epsilon - loss)
        return float((mass * inner).sum())
    seen = mass > 1e-18
    return math.fsum(
        m * _composed(sigma, rate, count - 1, profile, bends, epsilon - at, 1.0)
        for at, m in zip(loss[seen].tolist(), mass[seen].tolist(), strict=True)
    )


KINDS = [Kind("compose", "rare large losses", drawn, compared)]
