"""Choices of bounded range, up to 100,000 of them, alone and beside Gaussian noise: what two outcomes of any t attain.

Truth: k releases with losses t and t - epsilon have a binomial law; beside Gaussian noise each of its values moves the
closed form of that.  Both are legal, so that no upper end may be below. Sums in 50 digits, terms below e^-80 left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import gammaln
from tests.truth.numbers import mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, at_most, ends

NEAR = mp.mpf(10) ** -30
FAINT = 80.0  # terms of a sum that are left out


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A range, how many, noise beside them, and where to ask in deviations of the total loss."""
    count = int(10.0 ** rng.uniform(0.3, 5))
    return {
        "range": float(min(10.0 ** rng.uniform(-3, 0.5), 20.0 / math.sqrt(count))),
        "count": count,
        "mu": float(10.0 ** rng.uniform(-1, 0.6)) if rng.random() < 0.4 else 0.0,
        "shares": [0.5, *rng.uniform(0.02, 0.98, 2).tolist(), *(0.5 + rng.normal(0, 0.02, 2)).tolist()],
        "places": rng.uniform(-1.0, 6.0, 4).tolist(),
        "orders": [0.5, *(1 + 10.0 ** rng.uniform(-1, 2, 2)).tolist()],
    }


def _below(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _attained(size: float, count: int, share: float, mu: float, places: list[float]) -> list[Any]:
    """delta of two outcomes with losses t and t - size, t = share * size, `count` times, and of a Gaussian beside."""
    top = mp.mpf(size)
    t = top * mp.mpf(share)
    likely = mp.expm1(top - t) / mp.expm1(top) * mp.exp(t)
    hits = np.arange(count + 1)
    chance = float(likely)
    logs = gammaln(count + 1) - gammaln(hits + 1) - gammaln(count - hits + 1)
    logs = logs + hits * math.log(chance) + (count - hits) * math.log1p(-chance)
    kept = np.flatnonzero(logs > logs.max() - FAINT)
    mass = mp.binomial(count, int(kept[0])) * likely ** int(kept[0]) * (1 - likely) ** int(count - kept[0])
    found, odds = [mp.zero] * len(places), likely / (1 - likely)
    for hit in kept.tolist():
        loss = count * (t - top) + hit * top
        for i, place in enumerate(places):
            ahead = mp.mpf(place) - loss
            if mu:
                m = mp.mpf(mu)
                found[i] += mass * (_below(m / 2 - ahead / m) - mp.exp(ahead) * _below(-m / 2 - ahead / m))
            elif ahead < 0:
                found[i] -= mass * mp.expm1(ahead)
        mass *= odds * (count - hit) / (hit + 1)
    return found


def chosen(case: dict[str, Any]) -> Iterator[Check]:
    """No upper end of delta is below what is attained, and no Rényi divergence below that of two outcomes."""
    size, count, mu = case["range"], case["count"], case["mu"]
    shares = [share for share in case["shares"] if 0 < share < 1]
    if not 1e-4 <= size <= 30 or not 1 <= count <= 200_000 or not 0 <= mu <= 10 or not shares:
        return
    loss = count * qw.exponential(size)
    loss = loss + qw.gaussian(1 / mu) if mu else loss
    deviation = math.sqrt(count * size * size / 4 + mu * mu)
    places = [deviation * (deviation / 2 + place) for place in case["places"]]
    found = list(ends(loss.delta(np.array(places))))
    beside = 1 / mp.mpf(1 / mu) if mu else mp.zero  # of the noise that was stated
    with mp.workdps(50):
        for share in shares if count * len(shares) < 100_000 else shares[:2]:
            for place, value, (lower, upper) in zip(
                places, _attained(size, count, share, beside, places), found, strict=True
            ):
                note = f"epsilon {place!r}, t {share!r}"
                yield at_most("choices: two outcomes", value * (1 - NEAR), mp.mpf(upper), note)
                yield Check("choices: ends in order", bool(0 <= lower <= upper <= 1), note=note)
        for order in case["orders"]:
            if not 0 < order < 1000 or order == 1:
                continue
            _, upper = next(iter(ends(loss.renyi(order))))
            tilt, top = mp.mpf(order) - 1, mp.mpf(size)
            for share in shares:
                t = share * top
                likely = mp.expm1(top - t) / mp.expm1(top) * mp.exp(t)
                one = mp.log(likely * mp.exp(tilt * t) + (1 - likely) * mp.exp(tilt * (t - top))) / tilt
                value = count * one + beside**2 * order / 2
                yield at_most("choices: renyi", value * (1 - NEAR), mp.mpf(upper), f"order {order!r}, t {share!r}")


KINDS = [Kind("losses", "choices, composed", drawn, chosen)]
